//! Event flag groups: `rt_event_*`.
//!
//! The value of the state word is the flags, all 32 of them. A wait for flags that are set is one load, with waiters or
//! without; a signal and a clear without waiters are one compare-and-swap each. With waiters both go through the lock: a clear
//! between a signal's change of the flags and its look at the waiters would hide the signal from them.
//!
//! Flags stay set until they are cleared, so one signal can release any number of waiters. It decides all of them in the lock
//! section in which it sets the flags. What each waits for is in the first of its [`ThreadSlot::ask`] words; what it finds, in
//! its node's result.

#[cfg(not(loom))]
mod api;
#[cfg(all(test, not(loom)))]
mod tests;

use posix_backend::arena::Arena;
use posix_backend::atomic::{AtomicU32, Ordering::*};
use posix_backend::zeroed_struct;

use crate::error::{Error, Result};
use crate::handle::{Handle, Kind};
use crate::head::{Head, Object};
use crate::name::Name;
use crate::space::{Me, Space};
use crate::state::Word;
use crate::step::step;
use crate::task::slot::ThreadSlot;
use crate::time::Timeout;
use crate::wait;

#[cfg(not(loom))]
pub use api::{Event, EventRef};

bitflags::bitflags! {
    /// How an event flag group is made.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Mode: u32 {
        /// Waiters queue by priority, equals in order of arrival; without it, all in order of arrival (`EV_PRIO`).
        const PRIORITY = 1;
    }
}

/// Which flags of a mask a wait is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Match {
    /// All of them (`EV_ALL`).
    All,
    /// At least one (`EV_ANY`).
    Any,
}

zeroed_struct! {
    /// An event flag group in the segment.
    pub(crate) struct EventSlot {
        pub head: Head,
        mode: AtomicU32,
    }
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<EventSlot>() == 96);

impl Object for EventSlot {
    const KIND: Kind = Kind::Event;
    const RADIX: &'static str = "event";

    #[inline]
    fn head(&self) -> &Head {
        &self.head
    }

    #[inline]
    fn arena(space: &Space) -> &Arena<Self> {
        &space.events
    }

    fn rank(&self, _index: u32, thread: &ThreadSlot) -> u32 {
        if self.mode.load(Relaxed) & Mode::PRIORITY.bits() != 0 { thread.priority.load(Relaxed) } else { 0 }
    }

    /// A signaller may have died between the flags and the last of its decisions.
    fn repair(&self, space: &Space) {
        self.decide_satisfied(space);
    }
}

/// What a wait is for.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub mask: u32,
    pub how: Match,
}

impl Request {
    /// What a wait returns if the group's flags are these; `None` if it must go on. A mask of 0 asks for all flags as they are.
    #[inline]
    fn matched(self, flags: u32) -> Option<u32> {
        if self.mask == 0 {
            return Some(flags);
        }
        let found = flags & self.mask;
        let enough = match self.how {
            Match::All => found == self.mask,
            Match::Any => found != 0,
        };
        enough.then_some(found)
    }

    /// Leaves the request where signals find it. Needs the lock of the group.
    pub fn ask(self, thread: &ThreadSlot) {
        let any = u64::from(self.how == Match::Any);
        thread.ask[0].store(any << 32 | u64::from(self.mask), Relaxed);
    }

    /// The request of a queued thread. Needs the lock of the group.
    fn of(thread: &ThreadSlot) -> Request {
        let asked = thread.ask[0].load(Relaxed);
        Request { mask: asked as u32, how: if asked >> 32 != 0 { Match::Any } else { Match::All } }
    }
}

/// What a look at an event flag group shows: one consistent snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// The flags that are set.
    pub flags: u32,
    /// Threads queued.
    pub waiters: u32,
    /// The name, given or generated.
    pub name: Name,
}

pub(crate) fn create(space: &Space, name: Name, flags: u32, mode: Mode, ready: impl FnOnce(Handle)) -> Result<Handle> {
    if !Mode::all().contains(mode) {
        return Err(Error::Invalid);
    }
    let fill = |slot: &EventSlot| slot.mode.store(mode.bits(), Relaxed);
    space.create::<EventSlot>(name, (false, flags), fill, |handle, _| {
        ready(handle);
        Ok(())
    })
}

/// The wait for flags that are set: one load. `None` decides nothing.
#[inline]
pub(crate) fn wait_fast(space: &Space, handle: Handle, request: Request) -> Option<u32> {
    let slot = space.object::<EventSlot>(handle).ok()?;
    // Acquire pairs with the Release of the signals whose flags this sees, and of the clears whose effect it sees.
    let word = slot.head.state.load_acquire();
    if word.is_readable(handle, Kind::Event) { request.matched(word.value()) } else { None }
}

/// The signal without waiters: one compare-and-swap on the word that the hint proposes. A failure decides nothing.
#[inline]
pub(crate) fn signal_fast(space: &Space, handle: Handle, mask: u32) -> bool {
    let Ok(slot) = space.object::<EventSlot>(handle) else { return false };
    let state = &slot.head.state;
    let word = state.hint();
    // Release pairs with the Acquire of whoever sees the flags.
    word.is_plain_wide(handle, Kind::Event) && state.swap(word, raised(word, mask), Release).is_ok()
}

/// The clear without waiters, likewise; the flags before it.
#[inline]
pub(crate) fn clear_fast(space: &Space, handle: Handle, mask: u32) -> Option<u32> {
    let slot = space.object::<EventSlot>(handle).ok()?;
    let state = &slot.head.state;
    let word = state.hint();
    // Acquire pairs with the Release of the signals whose flags this reports; Release with the Acquire of whoever finds them
    // clear.
    let done = word.is_plain_wide(handle, Kind::Event) && state.swap(word, lowered(word, mask), AcqRel).is_ok();
    done.then(|| word.value())
}

#[inline]
fn raised(word: Word, mask: u32) -> Word {
    word.with_value(word.value() | mask)
}

#[inline]
fn lowered(word: Word, mask: u32) -> Word {
    word.with_value(word.value() & !mask)
}

impl EventSlot {
    /// Under the lock: decides all waiters whose requests the flags meet, in queue order; the last one takes `WAITERS` along.
    /// Follow with [`Space::settle`].
    fn decide_satisfied(&self, space: &Space) {
        let (site, flags) = (&self.head.site, self.head.state.load().value());
        let mut next = site.first();
        while let Some(thread) = space.threads.get(next).filter(|_| next != 0) {
            let index = next;
            // Before the decision, which takes it out of the queue.
            next = site.after(space, index);
            if let Some(found) = Request::of(thread).matched(flags) {
                thread.node.result.store(found.into(), Relaxed);
                step("event: result");
                site.decide(space, index, wait::GRANTED);
                step("event: decided");
            }
        }
        if site.is_empty() {
            self.head.state.clear_waiters();
        }
    }

    /// What a request finds, if it is met. If not and `mark` is set, sets `WAITERS` on the very word that does not meet it.
    /// Under the lock.
    fn look_or_mark(&self, handle: Handle, request: Request, mark: bool) -> Result<Option<u32>> {
        let state = &self.head.state;
        let mut word = state.load_acquire();
        loop {
            handle.check(word)?;
            let found = request.matched(word.value());
            if found.is_some() || word.has_waiters() || !mark {
                return Ok(found);
            }
            // Relaxed: it takes nothing and gives nothing. If it fails the next round decides by a fresh load.
            match state.swap(word, word.with_waiters(), Relaxed) {
                Ok(()) => return Ok(None),
                Err(_) => word = state.load_acquire(),
            }
        }
    }
}

/// The wait where `wait_fast` failed.
#[cold]
pub(crate) fn wait_slow<'a>(
    space: &'a Space,
    handle: Handle,
    request: Request,
    timeout: Timeout,
    me: impl FnOnce() -> Result<Me<'a>>,
) -> Result<u32> {
    let slot = space.object::<EventSlot>(handle)?;
    let place = slot.head.place(handle);
    // Acquire as in `wait_fast`.
    let word = slot.head.state.load_acquire();
    handle.check(word)?;
    let found = if word.is_slow() {
        let _held = space.lock(&place);
        slot.look_or_mark(handle, request, false)?
    } else {
        request.matched(word.value())
    };
    if let Some(found) = found {
        return Ok(found);
    }
    let (me, deadline) = timeout.admit(me)?;
    let held = space.lock(&place);
    request.ask(me.slot);
    space.prepare(&me, &place, deadline)?;
    if let Some(found) = slot.look_or_mark(handle, request, true).inspect_err(|_| space.retract(&me))? {
        space.retract(&me);
        return Ok(found);
    }
    // The rank after `prepare`: whoever changes the priority later finds this thread waiting.
    place.site.enqueue(space, me.index, slot.rank(me.index, me.slot));
    space.settle(&place, held);
    let outcome = space.sleep(&me, &place, deadline);
    // Acquire by the load in `sleep`.
    let found = me.slot.node.result.load(Relaxed) as u32;
    me.slot.stop_while_suspended(space);
    if outcome == wait::GRANTED && me.slot.is_deleted() {
        // It took nothing from anybody: there is nothing to give back.
        return Err(Error::Cancelled);
    }
    wait::result(outcome).map(|()| found)
}

/// Replaces the flags as `change` says, wherever that may be done without the lock. `None` if it may not.
fn change_unlocked(slot: &EventSlot, handle: Handle, change: impl Fn(Word) -> Word) -> Result<Option<u32>> {
    let state = &slot.head.state;
    let mut word = state.load();
    loop {
        handle.check(word)?;
        if word.has_waiters() || word.is_slow() {
            return Ok(None);
        }
        // AcqRel as in `clear_fast` and `signal_fast`.
        match state.swap(word, change(word), AcqRel) {
            Ok(()) => return Ok(Some(word.value())),
            Err(found) => word = found,
        }
    }
}

/// The same under the lock. With `WAITERS` set nobody else changes the word, but without it fast paths do.
fn change_locked(slot: &EventSlot, handle: Handle, change: impl Fn(Word) -> Word) -> Result<u32> {
    let state = &slot.head.state;
    let mut word = state.load();
    loop {
        handle.check(word)?;
        // AcqRel as above.
        match state.swap(word, change(word), AcqRel) {
            Ok(()) => return Ok(word.value()),
            Err(found) => word = found,
        }
    }
}

/// The signal where `signal_fast` failed.
#[cold]
pub(crate) fn signal_slow(space: &Space, handle: Handle, mask: u32) -> Result<()> {
    let slot = space.object::<EventSlot>(handle)?;
    let change = |word| raised(word, mask);
    if change_unlocked(slot, handle, change)?.is_some() {
        return Ok(());
    }
    let place = slot.head.place(handle);
    let held = space.lock(&place);
    change_locked(slot, handle, change)?;
    step("event: flags");
    // Unless the waiters have left meanwhile, or the word is slow.
    if slot.head.state.load().has_waiters() {
        slot.decide_satisfied(space);
    }
    space.settle(&place, held);
    Ok(())
}

/// The clear where `clear_fast` failed.
#[cold]
pub(crate) fn clear_slow(space: &Space, handle: Handle, mask: u32) -> Result<u32> {
    let slot = space.object::<EventSlot>(handle)?;
    let change = |word| lowered(word, mask);
    if let Some(before) = change_unlocked(slot, handle, change)? {
        return Ok(before);
    }
    let place = slot.head.place(handle);
    let held = space.lock(&place);
    let before = change_locked(slot, handle, change)?;
    space.settle(&place, held);
    Ok(before)
}

pub(crate) fn inquire(space: &Space, handle: Handle) -> Result<Info> {
    let slot = space.object::<EventSlot>(handle)?;
    let _held = space.lock(&slot.head.place(handle));
    // Acquire as in `wait_fast`. The number of waiters is that of the whole lock section.
    let word = slot.head.state.load_acquire();
    handle.check(word)?;
    Ok(Info { flags: word.value(), waiters: slot.head.site.waiting(), name: slot.head.name() })
}
