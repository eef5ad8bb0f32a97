//! A thread in the segment: its place in queues, and, if it is a task, its identity and phase.
//!
//! *Phases.* `phase` says how far the task has come; `events` counts its changes and is the futex word that all who wait for
//! a change sleep on: the creator (for the thread to be set up), the thread (for the start), the starter (for the body to be
//! entered), the joiner (for the end). A waiter reads `events`, tests what it wants to know, and sleeps on the value read:
//! a change in between makes the sleep end at once.

use posix_backend::arena::Arena;
use posix_backend::atomic::{AtomicU32, AtomicU64, Ordering::*};
use posix_backend::time::Deadline;
use posix_backend::wait::WaitNode;
use posix_backend::{futex, thread, zeroed_struct};

use crate::error::{Error, Result};
use crate::handle::{GENERATION_BITS, Handle, Kind};
use crate::head::{Head, Object, Place};
use crate::lockstep;
use crate::space::Space;
use crate::wait;

zeroed_struct! {
    /// A thread that may wait.
    pub(crate) struct ThreadSlot {
        pub head: Head,
        pub node: WaitNode,
        /// The name that the thread waits for in a bind. Registry lock.
        pub wanted: [AtomicU64; 4],
        /// The C library's thread, meaningful in the owning process only.
        pub pthread: AtomicU64,
        /// The kernel's thread id; 0 when the thread has ended.
        pub tid: AtomicU32,
        /// The base priority, 0 to 99.
        pub priority: AtomicU32,
        /// [`JOINABLE`], [`LOCKED`], [`CO_OPERATIVE`].
        pub mode: AtomicU32,
        /// [`JOINER`], [`ZOMBIE`], [`CANCELLING`], [`ENDING`]. Under the slot's lock.
        pub join: AtomicU32,
        /// Who keeps the slot from being given back: the thread, the right to join, a deleter. Under the slot's lock.
        holders: AtomicU32,
        /// How often the task is suspended. Changed under the slot's lock.
        pub suspends: AtomicU32,
        /// The slot whose phases the thread waits for (as a joiner), 0 for none.
        pub watching: AtomicU32,
        /// The mutex that the thread waits for, 0 for none. Where mutexes have queues of their own: set under the lock of the
        /// mutexes' registry, and cleared by whoever ends the wait.
        pub wants: AtomicU32,
        /// Periodic timing, in nanoseconds; 0 is off. Under the slot's lock.
        pub period: AtomicU64,
        /// The oldest release point not consumed. Under the slot's lock.
        pub release: AtomicU64,
        /// What the thread asks of the object that it waits for, which gives the words their meaning. Written by the thread before
        /// it is queued, under the object's lock; read, and perhaps answered, by lock holders while it is queued.
        pub ask: [AtomicU64; 6],
        /// The mutex that the thread will come back to from a condition variable, 0 for none: until it has, nobody unblocks it
        /// there. Under the mutex's lock.
        pub bound: AtomicU32,
        /// The number of the last message queued for the thread. Under the slot's lock.
        pub flows: AtomicU32,
        phase: AtomicU32,
        events: AtomicU32,
    }
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<ThreadSlot>() == 304);

/// The rank at which a thread queues at its own place, above all who send it messages.
pub(crate) const OWNER: u32 = 255;

/// Generations by which places of one thread are told apart. Nobody checks them against the slot's.
const TIME: u32 = 0;
const RECEIVE: u32 = 1;
const SEND: u32 = 2;

/// `mode`: must be joined.
pub(crate) const JOINABLE: u32 = 1;
/// `mode`: holds the scheduler lock.
pub(crate) const LOCKED: u32 = 2;

/// `mode`: ends by returning only; deletion asks it to.
pub(crate) const CO_OPERATIVE: u32 = 4;

/// `mode`: waits for a release point. Under the slot's lock.
pub(crate) const PERIOD_WAIT: u32 = 8;

/// `mode`: suspended by itself so that `unblock` ends it. Under the slot's lock.
pub(crate) const SUSPEND_WAIT: u32 = 16;

/// `mode`: runs at the highest priority, since it waits for alarms (2.x).
pub(crate) const RAISED: u32 = 32;
/// `mode`: has been raised so; it is done once.
pub(crate) const WAS_RAISED: u32 = 64;

/// `join`: somebody is joining.
pub(crate) const JOINER: u32 = 1;
/// `join`: the task has ended and waits to be joined.
pub(crate) const ZOMBIE: u32 = 2;

/// `join`: the deleter uses the thread's `pthread_t`; the thread waits for it before it ends.
pub(crate) const CANCELLING: u32 = 4;
/// `join`: the thread is ending; its `pthread_t` is not to be used any more.
pub(crate) const ENDING: u32 = 8;

/// `join`: somebody deletes the task; it has not ended yet.
pub(crate) const DYING: u32 = 16;
/// `join`: the thread will never end; there is nothing to join.
pub(crate) const PARKED: u32 = 32;

/// How far a task has come. A word in the segment; the order matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u32)]
pub(crate) enum Phase {
    /// The thread is setting itself up.
    New = 0,
    /// The thread waits to be started.
    Dormant = 1,
    /// Started; the body has not been entered.
    Started = 2,
    /// In its body.
    Entered = 3,
    /// Ended, or given up before its start.
    Ended = 4,
}

impl Object for ThreadSlot {
    const KIND: Kind = Kind::Task;
    const RADIX: &'static str = "task";
    /// Each needs a stack, too.
    const SCARCITY: u32 = 8;

    fn head(&self) -> &Head {
        &self.head
    }

    fn arena(space: &Space) -> &Arena<Self> {
        &space.threads
    }

    fn place(&self, _space: &Space, handle: Handle) -> Place<'_> {
        Place { site: &self.head.site, state: None, id: handle, in_kernel: false }
    }

    /// The thread itself first, then those who send it messages, by priority.
    fn rank(&self, _index: u32, thread: &ThreadSlot) -> u32 {
        if core::ptr::eq(self, thread) { OWNER } else { thread.priority.load(Relaxed) }
    }
}

impl ThreadSlot {
    /// Where the thread waits for nothing but time.
    pub fn own_place(&self, index: u32) -> Place<'_> {
        self.place_for(TIME, index)
    }

    /// Where the thread waits for messages: the same lock and queue.
    pub fn receive_place(&self, index: u32) -> Place<'_> {
        self.place_for(RECEIVE, index)
    }

    /// Where others wait for the thread's replies: the same lock and queue.
    pub fn send_place(&self, index: u32) -> Place<'_> {
        self.place_for(SEND, index)
    }

    fn place_for(&self, purpose: u32, index: u32) -> Place<'_> {
        Place { site: &self.head.site, state: None, id: Handle::new(Kind::Task, purpose, index), in_kernel: false }
    }

    /// Whether the thread waits for a message, and nobody has ended that. Under the slot's lock.
    pub fn is_receiving(&self, index: u32) -> bool {
        let place = self.receive_place(index);
        // Queued here, so what it waits for was written under this lock.
        place.site.first() == index && self.node.waiting_on.load(Relaxed) == place.id.to_word()
    }

    /// The handle of the task that this slot holds at present, if it holds one.
    pub fn handle(&self, index: u32) -> Option<Handle> {
        let word = self.head.state.load();
        word.is_live().then(|| Handle::new(Kind::Task, word.generation(), index))
    }

    /// The handle under which the slot's own thread knows itself: while it is being deleted, still the old one.
    pub fn own_handle(&self, index: u32) -> Option<Handle> {
        // Acquire pairs with the `kill` of a deletion: who finds it dead sees DYING.
        let word = self.head.state.load_acquire();
        let generation = if word.is_live() {
            word.generation()
        } else if self.join.load(Relaxed) & DYING != 0 {
            word.generation().wrapping_sub(1) & ((1 << GENERATION_BITS) - 1)
        } else {
            return None;
        };
        Some(Handle::new(Kind::Task, generation, index))
    }

    pub fn phase(&self) -> Phase {
        // Acquire pairs with the Release in `set_phase`.
        match self.phase.load(Acquire) {
            0 => Phase::New,
            1 => Phase::Dormant,
            2 => Phase::Started,
            3 => Phase::Entered,
            _ => Phase::Ended,
        }
    }

    /// Goes to a phase and wakes all who wait for a change. The wake-up uses the address only.
    pub fn set_phase(&self, space: &Space, phase: Phase) {
        let events: *const AtomicU32 = &self.events;
        self.note_phase(phase);
        futex::wake(events, u32::MAX, space.scope);
    }

    /// Goes to a phase; `wake_phase` must follow if anybody may wait.
    pub fn note_phase(&self, phase: Phase) {
        // Release: who sees the phase sees what was done before it.
        self.phase.store(phase as u32, Release);
        // Release pairs with the Acquire in `wait_phase`.
        self.events.fetch_add(1, Release);
    }

    /// Makes all who wait for a change of phase look again, at what else they wait for.
    pub fn nudge(&self, space: &Space) {
        // Release pairs with the Acquire in `wait_phase`.
        self.events.fetch_add(1, Release);
        self.wake_phase(space);
    }

    /// Wakes all who wait for a change of phase.
    pub fn wake_phase(&self, space: &Space) {
        futex::wake(&self.events, u32::MAX, space.scope);
    }

    /// Waits until `done` says so; it is asked again after each change of phase.
    pub fn wait_phase(&self, space: &Space, done: impl Fn() -> bool) {
        self.wait_phase_until(space, Deadline::NEVER, done);
    }

    /// Waits until `done` says so, or until the deadline; tells whether `done` did.
    pub fn wait_phase_until(&self, space: &Space, deadline: Deadline, done: impl Fn() -> bool) -> bool {
        loop {
            // Acquire pairs with the Release in `note_phase` and `nudge`: `done` sees at least the change counted here.
            let seen = self.events.load(Acquire);
            if done() {
                return true;
            }
            if futex::wait(&self.events, seen, deadline, space.scope).is_err() {
                return done();
            }
        }
    }

    /// Whether the task is to stop where it is.
    pub fn is_suspended(&self) -> bool {
        // Acquire: a resumed task sees what its resumer did before.
        self.suspends.load(Acquire) > 0
    }

    /// Whether the task is to end.
    pub fn is_deleted(&self) -> bool {
        // Acquire as above.
        self.node.requests.load(Acquire) & wait::DELETE != 0
    }

    /// Stays here for as long as the task is suspended and not to end. Signals are handled after that.
    pub fn stop_while_suspended(&self, space: &Space) {
        if self.is_suspended() {
            let stopped = || self.wait_phase(space, || !self.is_suspended() || self.is_deleted());
            let index = space.threads.slots().index_of(core::ptr::from_ref(self).addr()).unwrap_or(0);
            thread::with_signals_blocked(|| lockstep::stop(index, stopped));
        }
    }

    /// In the child of a fork, for the only thread: nobody suspends it, joins it or deletes it.
    pub fn reset_joining(&self) {
        self.join.store(0, Relaxed);
        self.suspends.store(0, Relaxed);
        self.watching.store(0, Relaxed);
        self.bound.store(0, Relaxed);
        self.holders.store(if self.mode.load(Relaxed) & JOINABLE != 0 { 2 } else { 1 }, Relaxed);
    }

    /// Makes the slot's fields those of a new thread. Under the slot's lock.
    pub fn fill(&self, priority: u32, mode: u32) {
        self.priority.store(priority, Relaxed);
        self.mode.store(mode, Relaxed);
        self.join.store(0, Relaxed);
        self.holders.store(if mode & JOINABLE != 0 { 2 } else { 1 }, Relaxed);
        self.suspends.store(0, Relaxed);
        self.watching.store(0, Relaxed);
        self.wants.store(0, Relaxed);
        self.bound.store(0, Relaxed);
        self.period.store(0, Relaxed);
        self.flows.store(0, Relaxed);
        self.node.requests.store(0, Relaxed);
        self.tid.store(0, Relaxed);
        self.pthread.store(0, Relaxed);
        self.phase.store(Phase::New as u32, Relaxed);
    }
}

impl Space {
    /// The task is over: its handles are stale, its name is free. First half of the end; the thread leaves its slot in
    /// between. Runs with requests blocked, in a section.
    pub fn end_task(&self, index: u32, slot: &ThreadSlot) {
        let place = slot.own_place(index);
        let senders = loop {
            let held = self.lock(&place);
            slot.join.store(slot.join.load(Relaxed) | ENDING, Relaxed);
            if slot.join.load(Relaxed) & CANCELLING != 0 {
                drop(held);
                // Relaxed: looked at again under the lock.
                slot.wait_phase(self, || slot.join.load(Relaxed) & CANCELLING == 0);
                continue;
            }
            if let Some(handle) = slot.handle(index) {
                // Not deleted yet: nobody else kills it under this lock.
                let _ = slot.head.state.kill(handle);
            }
            if slot.mode.load(Relaxed) & JOINABLE != 0 {
                slot.join.store(slot.join.load(Relaxed) | ZOMBIE, Relaxed);
            }
            slot.tid.store(0, Relaxed);
            // Nobody will reply to them; nobody can queue any more.
            self.decide_all(&place, wait::REMOVED);
            break place.site.has_decided();
        };
        self.leave::<ThreadSlot>(index, &slot.head);
        if senders {
            self.tell_decided(&place);
        }
    }

    /// Second half: tells starters, joiners and deleters, and lets go of the slot.
    pub fn finish_task(&self, index: u32, slot: &ThreadSlot) {
        slot.set_phase(self, Phase::Ended);
        self.release_slot(index, slot);
    }

    /// One more who needs the slot. Under the slot's lock, by somebody who knows that there is another.
    pub fn hold_slot(&self, slot: &ThreadSlot) {
        slot.holders.store(slot.holders.load(Relaxed) + 1, Relaxed);
    }

    /// Nobody will join the task. Under the slot's lock, while its thread still holds the slot.
    pub fn drop_join_right(&self, slot: &ThreadSlot) {
        slot.holders.store(slot.holders.load(Relaxed).saturating_sub(1), Relaxed);
    }

    /// One less; the last one gives the slot back.
    pub fn release_slot(&self, index: u32, slot: &ThreadSlot) {
        let left = {
            let _held = self.lock(&slot.own_place(index));
            let left = slot.holders.load(Relaxed).saturating_sub(1);
            slot.holders.store(left, Relaxed);
            left
        };
        if left == 0 {
            self.give::<ThreadSlot>(index);
        }
    }

    /// Reserves the right to join a task: at most one joiner, live or ended task. `caller` is the calling thread's slot, 0
    /// if it has none.
    pub fn begin_join(&self, handle: Handle, caller: u32) -> Result<&ThreadSlot> {
        let slot = self.object::<ThreadSlot>(handle)?;
        let _held = self.lock(&slot.own_place(handle.index()));
        let word = slot.head.state.load();
        let joining = slot.join.load(Relaxed);
        let age = word.generation().wrapping_sub(handle.generation()) & ((1 << GENERATION_BITS) - 1);
        let alive = handle.check(word).is_ok();
        if alive && handle.index() == caller {
            return Err(Error::Deadlock);
        }
        if alive && slot.mode.load(Relaxed) & JOINABLE == 0 {
            return Err(Error::Invalid);
        }
        let joinable = slot.mode.load(Relaxed) & JOINABLE != 0;
        let ended = age == 1 && !word.is_live() && joinable && joining & (ZOMBIE | DYING) != 0;
        if !alive && !ended {
            // A handle of an earlier generation was a task once; one of a later generation never was.
            let was_a_task = (1..1 << (GENERATION_BITS - 1)).contains(&age);
            return Err(if was_a_task { Error::NotFound } else { Error::Invalid });
        }
        if joining & JOINER != 0 {
            return Err(Error::Invalid);
        }
        slot.join.store(joining | JOINER, Relaxed);
        Ok(slot)
    }

    /// Gives up a join before the task has ended: somebody else may join.
    pub fn abandon_join(&self, index: u32, slot: &ThreadSlot) {
        let _held = self.lock(&slot.own_place(index));
        slot.join.store(slot.join.load(Relaxed) & !JOINER, Relaxed);
    }

    /// Ends a join whose task has ended and whose thread is gone.
    pub fn finish_join(&self, index: u32, slot: &ThreadSlot) {
        {
            let _held = self.lock(&slot.own_place(index));
            slot.join.store(slot.join.load(Relaxed) & !(JOINER | ZOMBIE | DYING), Relaxed);
        }
        self.release_slot(index, slot);
    }
}
