//! Condition variables: `rt_cond_*`.
//!
//! No value, only a queue, by priority. A signal that finds nobody is one load: a waiter is in the queue, and `WAITERS` set,
//! before it releases its mutex, so whoever holds the mutex after it and then signals finds it.
//!
//! A waiter gives its mutex up at whatever depth it holds it, sleeps as for any object, and comes back to the mutex as
//! everybody does who acquires it, except that only deletion ends that wait. Meanwhile it is *bound* to the mutex, which
//! must not be deleted.
//!
//! A signal is for one waiter. One that ends before it has its mutex back passes the signal on.

#[cfg(not(loom))]
mod api;
#[cfg(all(test, not(loom)))]
mod tests;

use posix_backend::arena::Arena;
use posix_backend::atomic::Ordering::*;
use posix_backend::zeroed_struct;

use crate::error::{Error, Result};
use crate::handle::{Handle, Kind};
use crate::head::{Head, Object, Place};
use crate::mutex::MutexSlot;
use crate::name::Name;
use crate::space::{Me, Space};
use crate::step::step;
use crate::task::slot::ThreadSlot;
use crate::time::Timeout;
use crate::wait;

#[cfg(not(loom))]
pub use api::{Condition, ConditionRef};

zeroed_struct! {
    /// A condition variable in the segment.
    pub(crate) struct ConditionSlot {
        pub head: Head,
    }
}

/// `WaitNode::result`: granted by a broadcast, or not yet.
const FOR_ALL: u64 = 0;
/// `WaitNode::result`: granted by a signal, which must not be lost.
const FOR_ONE: u64 = 1;

impl Object for ConditionSlot {
    const KIND: Kind = Kind::Condition;
    const RADIX: &'static str = "cond";

    #[inline]
    fn head(&self) -> &Head {
        &self.head
    }

    #[inline]
    fn arena(space: &Space) -> &Arena<Self> {
        &space.conditions
    }

    fn rank(&self, _index: u32, thread: &ThreadSlot) -> u32 {
        thread.priority.load(Relaxed)
    }

    /// A signaller may have died before it told the waiter that it had chosen, which is queued again.
    fn repair(&self, space: &Space) {
        let site = &self.head.site;
        let mut next = site.first();
        while let Some(thread) = space.threads.get(next).filter(|_| next != 0) {
            thread.node.result.store(FOR_ALL, Relaxed);
            next = site.after(space, next);
        }
    }
}

/// What a look at a condition variable shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// Threads queued: those that no signal has released.
    pub waiters: u32,
    /// The name, given or generated.
    pub name: Name,
}

pub(crate) fn create(space: &Space, name: Name, ready: impl FnOnce(Handle)) -> Result<Handle> {
    space.create::<ConditionSlot>(
        name,
        (false, 0),
        |_| (),
        |handle, _| {
            ready(handle);
            Ok(())
        },
    )
}

/// The signal, or broadcast, that finds nobody: one load. False decides nothing.
#[inline]
pub(crate) fn signal_fast(space: &Space, handle: Handle) -> bool {
    let Ok(slot) = space.object::<ConditionSlot>(handle) else { return false };
    // Relaxed: a caller that has held the mutex after a waiter gave it up sees that waiter's mark, by the mutex's own Release and
    // Acquire. One that has not may miss a waiter, which may as well have come later.
    slot.head.state.load().is_plain(handle, Kind::Condition)
}

/// The signal where `signal_fast` failed.
#[cold]
pub(crate) fn signal_slow(space: &Space, handle: Handle) -> Result<()> {
    let slot = space.object::<ConditionSlot>(handle)?;
    let place = slot.head.place(handle);
    let held = space.lock(&place);
    handle.check(slot.head.state.load())?;
    let first = place.site.first();
    let wake = match space.threads.get(first).filter(|_| first != 0) {
        Some(thread) => {
            thread.node.result.store(FOR_ONE, Relaxed);
            step("cond: result");
            space.release_first(&place, wait::GRANTED)
        }
        None => None,
    };
    space.settle(&place, held);
    if let Some(wake) = wake {
        wake.send(space.scope);
    }
    Ok(())
}

/// The broadcast where `signal_fast` failed.
#[cold]
pub(crate) fn broadcast_slow(space: &Space, handle: Handle) -> Result<()> {
    let slot = space.object::<ConditionSlot>(handle)?;
    let place = slot.head.place(handle);
    let held = space.lock(&place);
    handle.check(slot.head.state.load())?;
    space.decide_all(&place, wait::GRANTED);
    step("cond: all decided");
    slot.head.state.clear_waiters();
    space.settle(&place, held);
    Ok(())
}

/// Waits for a signal with the mutex given up. Its errors are tested in the order of the specification; whether the caller
/// owns the mutex afterwards is [`MutexSlot::is_mine`].
#[cold]
pub(crate) fn wait<'a>(
    space: &'a Space,
    handle: Handle,
    mutex: Handle,
    timeout: Timeout,
    me: impl FnOnce() -> Result<Me<'a>>,
) -> Result<()> {
    if timeout == Timeout::NONE {
        return Err(Error::WouldBlock);
    }
    let slot = space.object::<ConditionSlot>(handle)?;
    handle.check(slot.head.state.load())?;
    let lock = space.object::<MutexSlot>(mutex)?;
    mutex.check(lock.head.state.load())?;
    let deadline = timeout.deadline()?;
    if !lock.is_mine(mutex) {
        // Deleted by force meanwhile, or never the caller's.
        return mutex.check(lock.head.state.load()).and(Err(Error::Permission));
    }
    let me = me()?;
    let place = slot.head.place(handle);
    lock.bind(space, mutex, me);
    {
        let held = space.lock(&place);
        me.slot.node.result.store(FOR_ALL, Relaxed);
        let ready = space.prepare(&me, &place, deadline);
        if let Err(error) = ready.and_then(|()| slot.mark(handle).inspect_err(|_| space.retract(&me))) {
            drop(held);
            lock.unbind(space, mutex, me);
            return Err(error);
        }
        // The rank after `prepare`: whoever changes the priority later finds this thread waiting.
        place.site.enqueue(space, me.index, slot.rank(me.index, me.slot));
        space.settle(&place, held);
    }
    // Only now: see `signal_fast`.
    let depth = lock.release_all(space, mutex);
    let outcome = space.sleep(&me, &place, deadline);
    // Visible by the Acquire in `sleep`.
    let is_owed = outcome == wait::GRANTED && me.slot.node.result.load(Relaxed) == FOR_ONE;
    // Not with the mutex: a suspended task does not contend for one.
    me.slot.stop_while_suspended(space);
    let ends = outcome == wait::CANCELLED || me.slot.is_deleted();
    let returned = if ends { Err(Error::Cancelled) } else { lock.reacquire(space, mutex, me, depth) };
    lock.unbind(space, mutex, me);
    match returned {
        Ok(()) => wait::result(outcome),
        Err(Error::OwnerDead) => Err(Error::OwnerDead),
        Err(error) => {
            if is_owed {
                // It will not see to what it was woken for. The condition variable may be gone, and everybody with it.
                let _ = signal_slow(space, handle);
            }
            Err(error)
        }
    }
}

impl ConditionSlot {
    /// Sets `WAITERS`. Under the lock.
    fn mark(&self, handle: Handle) -> Result<()> {
        let state = &self.head.state;
        let word = state.load();
        handle.check(word)?;
        // Relaxed: see `signal_fast`. Nobody changes a live word but lock holders.
        let _ = state.swap(word, word.with_waiters(), Relaxed);
        Ok(())
    }
}

/// Deletes a condition variable: `Busy` if somebody is queued. `by_force`: even then; they are told, and come back to their
/// mutexes. Those that were signalled before and are on their way back do not count.
pub(crate) fn delete(space: &Space, handle: Handle, by_force: bool) -> Result<()> {
    let may = |place: &Place<'_>| if by_force || place.site.is_empty() { Ok(()) } else { Err(Error::Busy) };
    space.delete_with::<ConditionSlot, _>(handle, may, |_| ())
}

pub(crate) fn inquire(space: &Space, handle: Handle) -> Result<Info> {
    let slot = space.object::<ConditionSlot>(handle)?;
    let _held = space.lock(&slot.head.place(handle));
    // Acquire pairs with the Release in `publish`.
    handle.check(slot.head.state.load_acquire())?;
    Ok(Info { waiters: slot.head.site.waiting(), name: slot.head.name() })
}
