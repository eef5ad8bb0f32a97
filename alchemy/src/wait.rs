//! Waiting: from the decision to wait to the outcome, the same for every object. ARCHITECTURE.md has the protocol and the
//! argument that no wake-up is lost; the names here are those of that text.

use posix_backend::atomic::{AtomicU32, Ordering::*};
use posix_backend::pi_lock::Held;
use posix_backend::time::Deadline;
use posix_backend::wait::{WAITING, WaitNode};
use posix_backend::{Scope, futex, pi_mutex};

use crate::error::{Error, Result};
use crate::handle::{Handle, Kind};
use crate::head::Place;
use crate::lockstep;
use crate::space::{Me, Space};
use crate::task::slot::ThreadSlot;

/// `WaitNode::park`: not waiting, nothing to tell. Fresh memory says so.
const IDLE: u32 = 0;
/// `WaitNode::park`: the waiter has what it waited for.
pub(crate) const GRANTED: u32 = 2;
/// `WaitNode::park`: somebody ended the wait.
pub(crate) const INTERRUPTED: u32 = 3;
/// `WaitNode::park`: the object is gone.
pub(crate) const REMOVED: u32 = 4;
/// `WaitNode::park`: the thread is to end.
pub(crate) const CANCELLED: u32 = 5;
/// `WaitNode::park`: the release point waited for has changed.
pub(crate) const REARMED: u32 = 7;
/// `WaitNode::park`: out of the queue, for as long as the thread is suspended; it comes back by itself. The wait goes on.
pub(crate) const LEFT: u32 = 8;
/// `WaitNode::park`: the date passed. Stored by the waiter itself.
pub(crate) const TIMED_OUT: u32 = 6;

/// `WaitNode::requests`: the thread is to end; it does not wait any more.
pub(crate) const END: u32 = 1;
/// `WaitNode::requests`: the thread is being deleted; it ends at the next opportunity.
pub(crate) const DELETE: u32 = 2;
/// `WaitNode::requests`: the deleted thread could not be unwound for a while; where it is, it is to stay.
pub(crate) const PARK: u32 = 4;

/// How many decided waiters are told in one lock section.
const BATCH: usize = 32;

/// A wake-up that is due once the lock is free. The word, or the thread, may do something else by then, and takes the wake-up
/// for a spurious one.
#[must_use]
pub(crate) enum Wake {
    /// Who sleeps on this word: the thread in this slot.
    Sleeper(*const AtomicU32, u32),
    /// The thread with this id, which sleeps in the kernel's queue of a mutex.
    Locker(u32),
}

impl Wake {
    pub fn send(self, scope: Scope) {
        match self {
            Wake::Sleeper(word, index) => {
                lockstep::ready(index);
                futex::wake(word, 1, scope);
                lockstep::preempt();
            }
            Wake::Locker(tid) => pi_mutex::interrupt(tid),
        }
    }
}

/// Whether a thread whose word says so is in a wait that nobody has ended.
pub(crate) fn is_waiting(park: u32) -> bool {
    park == WAITING || park == LEFT
}

/// What an outcome means to the caller.
pub(crate) fn result(outcome: u32) -> Result<()> {
    match outcome {
        GRANTED => Ok(()),
        INTERRUPTED => Err(Error::Interrupted),
        REMOVED => Err(Error::Removed),
        CANCELLED => Err(Error::Cancelled),
        _ => Err(Error::TimedOut),
    }
}

impl Space {
    /// First step of a wait, under the lock of `place`: says what `me` is going to wait for, and finds out whether it still
    /// may. Must be followed by `retract`, or by queueing and `sleep`.
    pub fn prepare(&self, me: &Me<'_>, place: &Place<'_>, deadline: Deadline) -> Result<()> {
        let node = &me.slot.node;
        node.waiting_on.store(place.id.to_word(), Relaxed);
        node.until.store(deadline.date().unwrap_or(0), Relaxed);
        // Release: whoever sees WAITING (Acquire, in `interrupt` and `repair`) sees what for.
        node.park.store(WAITING, Release);
        // Paired with the read-modify-write in `interrupt`: either this one sees the request, or that one sees WAITING.
        if node.requests.fetch_add(0, AcqRel) & (END | DELETE) != 0 {
            self.retract(me);
            return Err(Error::Cancelled);
        }
        Ok(())
    }

    /// Takes `prepare` back: the caller need not wait after all. Under the same lock section.
    pub fn retract(&self, me: &Me<'_>) {
        me.slot.node.park.store(IDLE, Relaxed);
    }

    /// Last step of a wait, without the lock: sleeps until told, or until the date. `me` is queued at `place`.
    pub fn sleep(&self, me: &Me<'_>, place: &Place<'_>, deadline: Deadline) -> u32 {
        let node = &me.slot.node;
        loop {
            // Acquire pairs with the Release in `tell`: the result, and what the remover did before.
            let outcome = node.park.load(Acquire);
            if outcome != WAITING {
                return outcome;
            }
            if !lockstep::sleep(me.index, || self.doze(node, deadline)) {
                return self.withdraw(me, place);
            }
        }
    }

    /// Sleeps until told: true; or until the date: false.
    fn doze(&self, node: &WaitNode, deadline: Deadline) -> bool {
        // Relaxed: whoever goes by it looks again.
        while node.park.load(Relaxed) == WAITING {
            if futex::wait(&node.park, WAITING, deadline, self.scope).is_err() {
                return false;
            }
        }
        true
    }

    /// Sleeps as `sleep` does, but only until `date`, and tells whether the wait goes on then.
    pub fn outlasts(&self, me: &Me<'_>, date: Deadline) -> bool {
        !lockstep::sleep(me.index, || self.doze(&me.slot.node, date))
    }

    /// The date passed, or the wait is over for another reason of the waiter's own: leaves the queue, unless the fate was
    /// decided meanwhile.
    #[cold]
    pub fn withdraw(&self, me: &Me<'_>, place: &Place<'_>) -> u32 {
        let node = &me.slot.node;
        let held = self.lock(place);
        // Acquire as in `sleep`. Once it is not WAITING the place may be another object's by now: touch nothing.
        let outcome = node.park.load(Acquire);
        if outcome != WAITING {
            return outcome;
        }
        let (outcome, decided) = match node.decision() {
            Some(decision) => {
                place.site.undecide(self, me.index);
                (decision, self.left(place))
            }
            None => {
                self.unqueue(place, me.index);
                (TIMED_OUT, self.left(place))
            }
        };
        node.park.store(outcome, Relaxed);
        drop(held);
        if decided {
            self.tell_decided(place);
        }
        outcome
    }

    /// Takes a thread out of the queue; the last one takes the `WAITERS` bit with it. Needs the lock of `place`.
    fn unqueue(&self, place: &Place<'_>, index: u32) {
        place.site.dequeue(self, index);
        if let Some(state) = place.state.filter(|_| place.site.is_empty()) {
            state.clear_waiters();
        }
    }

    /// Tells a thread that is in no list any more. Needs the lock of `place`; the wake-up is to be sent after it.
    fn tell(place: &Place<'_>, index: u32, thread: &ThreadSlot, outcome: u32) -> Wake {
        let word: *const AtomicU32 = &thread.node.park;
        if !place.in_kernel {
            // It is on nobody's way any more; if it comes back it says so again.
            thread.wants.store(0, Relaxed);
        }
        let wake = if place.in_kernel { Wake::Locker(thread.tid.load(Relaxed)) } else { Wake::Sleeper(word, index) };
        // Release pairs with the Acquire in `sleep`. The last access to the thread's slot.
        thread.node.park.store(outcome, Release);
        wake
    }

    /// Ends the wait of the thread that is to be served first. Needs the lock of `place`.
    pub fn release_first(&self, place: &Place<'_>, outcome: u32) -> Option<Wake> {
        self.release(place, place.site.first(), outcome)
    }

    /// Ends the wait of a queued thread. Needs the lock of `place`.
    pub fn release(&self, place: &Place<'_>, index: u32, outcome: u32) -> Option<Wake> {
        let thread = self.threads.get(index)?;
        if !thread.node.is_queued() {
            return None;
        }
        self.unqueue(place, index);
        Some(Self::tell(place, index, thread, outcome))
    }

    /// Ends the wait of a thread that waits here, queued or not, unless its fate is decided. Needs the lock of `place`.
    fn end(&self, place: &Place<'_>, index: u32, outcome: u32) -> Option<Wake> {
        let thread = self.threads.get(index)?;
        // On its way back to a mutex from a condition variable: it owes the program that mutex.
        let owes = place.id.is(Kind::Mutex) && thread.bound.load(Relaxed) != 0;
        if outcome == INTERRUPTED && owes {
            return None;
        }
        if thread.node.park.load(Relaxed) != LEFT {
            return if self.is_served(place, thread) { None } else { self.release(place, index, outcome) };
        }
        Some(Self::tell(place, index, thread, outcome))
    }

    /// Whether the kernel has handed a mutex to a thread that has not come to see it.
    fn is_served(&self, place: &Place<'_>, thread: &ThreadSlot) -> bool {
        let mutex = || self.mutexes.get(place.id.index());
        place.in_kernel && mutex().is_some_and(|mutex| mutex.is_owner(thread.tid.load(Relaxed)))
    }

    /// Decides the fate of all queued threads, in queue order. Needs the lock of `place`; follow with `tell_decided`. The
    /// `WAITERS` bit is the caller's, who changes the word anyway.
    pub fn decide_all(&self, place: &Place<'_>, outcome: u32) {
        while place.site.first() != 0 {
            place.site.decide(self, place.site.first(), outcome);
        }
    }

    /// Tells and wakes all decided threads, in order, in lock sections of bounded length. Without the lock.
    pub fn tell_decided(&self, place: &Place<'_>) {
        loop {
            let mut wakes: [Option<Wake>; BATCH] = [const { None }; BATCH];
            let held = self.lock(place);
            for wake in &mut wakes {
                *wake = self.tell_first_decided(place);
                if wake.is_none() {
                    break;
                }
            }
            let more = place.site.has_decided();
            drop(held);
            wakes.into_iter().flatten().for_each(|wake| wake.send(self.scope));
            if !more {
                return;
            }
        }
    }

    /// Tells the first decided thread, if there is one. Needs the lock of `place`.
    pub fn tell_first_decided(&self, place: &Place<'_>) -> Option<Wake> {
        let index = place.site.first_decided();
        let thread = self.threads.get(index).filter(|_| index != 0)?;
        let decision = thread.node.decision()?;
        place.site.undecide(self, index);
        Some(Self::tell(place, index, thread, decision))
    }

    /// Ends a lock section that may have decided waiters, or found some: they are told.
    #[inline]
    pub fn settle(&self, place: &Place<'_>, held: Held<'_>) {
        let decided = place.site.has_decided();
        drop(held);
        if decided {
            self.tell_decided(place);
        }
    }

    /// Does something under the lock of `place`, and ends the section as [`Space::settle`] does.
    #[inline(always)]
    pub fn section<R>(&self, place: &Place<'_>, work: impl FnOnce() -> R) -> R {
        let held = self.lock(place);
        let result = work();
        self.settle(place, held);
        result
    }

    /// Ends whatever wait a task is in, with `outcome`; nothing if it is in none, or if its fate is decided. `request` is
    /// left behind for its next wait (0: nothing is left).
    pub fn interrupt(&self, target: Handle, request: u32, outcome: u32) -> Result<()> {
        let thread = self.object::<ThreadSlot>(target)?;
        {
            // Under the lock, so that the request cannot hit the slot's next user.
            let _held = self.lock(&thread.own_place(target.index()));
            target.check(thread.head.state.load())?;
            // Paired with the read-modify-write in `prepare`.
            thread.node.requests.fetch_or(request, AcqRel);
        }
        let is_target = || target.check(thread.head.state.load()).is_ok();
        self.end_wait(target.index(), thread, is_target, outcome);
        Ok(())
    }

    /// Ends the wait that a thread is in, if it is in one. `is_target` says, under the lock of what it waits for, whether
    /// the slot is still that of the thread that is meant.
    pub fn end_wait(&self, index: u32, thread: &ThreadSlot, is_target: impl Fn() -> bool, outcome: u32) {
        self.at_wait(thread, |place| if is_target() { self.end(place, index, outcome) } else { None });
    }

    /// The priority of a thread has changed: it moves to where it belongs now, behind its equals.
    pub fn requeue(&self, index: u32, thread: &ThreadSlot) {
        // Paired with the read-modify-write in `prepare`: either the waiter reads the new priority, or this finds it waiting.
        thread.node.requests.fetch_or(0, AcqRel);
        self.at_wait(thread, |place| {
            let node = &thread.node;
            let rank = self.rank_at(place, index, thread);
            if node.is_queued() && node.rank() != rank {
                place.site.dequeue(self, index);
                place.site.enqueue(self, index, rank);
            }
            None
        });
    }

    /// A thread has been suspended: it gives up its place in the queue of a mutex until it goes on.
    pub fn leave_mutex(&self, index: u32, thread: &ThreadSlot) {
        // Paired with the read-modify-write in `prepare`: either the waiter sees that it is suspended, or this finds it waiting.
        thread.node.requests.fetch_or(0, AcqRel);
        self.at_wait(thread, |place| {
            let leaves = place.id.is(Kind::Mutex) && thread.node.park.load(Relaxed) != LEFT;
            if leaves { self.end(place, index, LEFT) } else { None }
        });
    }

    /// Does something about the wait that a thread is in: under the lock of what it waits for, the wait still going on.
    fn at_wait(&self, thread: &ThreadSlot, work: impl FnOnce(&Place<'_>) -> Option<Wake>) {
        let node = &thread.node;
        // Acquire pairs with the Release in `prepare`.
        if !is_waiting(node.park.load(Acquire)) {
            return;
        }
        let on = Handle::from_word(node.waiting_on.load(Relaxed));
        let Some(place) = self.place(on) else { return };
        let held = self.lock(&place);
        // Acquire as above: under this lock, WAITING with this place means queued here or decided here, LEFT neither.
        let waits_here = is_waiting(node.park.load(Acquire)) && node.waiting_on.load(Relaxed) == on.to_word();
        let wake = if waits_here { work(&place) } else { None };
        // Whatever was done, it may let others through.
        let decided = waits_here && self.left(&place);
        drop(held);
        if let Some(wake) = wake {
            wake.send(self.scope);
        }
        if decided {
            self.tell_decided(&place);
        }
    }
}
