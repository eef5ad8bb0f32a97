//! Acquiring a mutex that may have to be waited for.

use posix_backend::atomic::Ordering::*;
use posix_backend::pi_mutex::{self, OWNER_DIED};
use posix_backend::time::Deadline;
use posix_backend::wait::WAITING;
use posix_backend::{Errno, report, thread};

use super::{MutexSlot, claim, give_up, is_free, is_orphan, owner};
use crate::error::{Error, Result};
use crate::handle::{Handle, Kind};
use crate::head::{Object, Place};
use crate::space::{Me, Space};
use crate::time::Timeout;
use crate::wait::{self, GRANTED, LEFT};

/// The acquisition where `acquire_fast` failed, by itself a complete one. `OwnerDead`: acquired.
#[cold]
pub(crate) fn acquire_slow<'a>(
    space: &'a Space,
    handle: Handle,
    timeout: Timeout,
    me: impl FnOnce() -> Result<Me<'a>>,
) -> Result<()> {
    let me = me()?;
    let current = thread::current();
    let slot = space.object::<MutexSlot>(handle)?;
    if slot.held.load(Relaxed) == claim(handle, current) {
        return slot.deepen();
    }
    if let Some(result) = slot.try_take(handle, current)? {
        return result;
    }
    let deadline = timeout.deadline()?;
    wait_for(space, slot, &slot.place(space, handle), me, deadline)
}

/// Waits for the mutex, and keeps it unless the caller has been deleted meanwhile.
pub(super) fn wait_for(
    space: &Space,
    slot: &MutexSlot,
    place: &Place<'_>,
    me: Me<'_>,
    deadline: Deadline,
) -> Result<()> {
    let result = contend(space, slot, place, me, deadline);
    // Here and not on the way out: whoever is deleted while suspended must not leave an orphan that was never used.
    me.slot.stop_while_suspended(space);
    let acquired = matches!(result, Ok(()) | Err(Error::OwnerDead));
    if acquired && me.slot.is_deleted() {
        slot.disown(thread::current());
        give_up(space, slot, place, result.is_err());
        return Err(Error::Cancelled);
    }
    result
}

fn contend(space: &Space, slot: &MutexSlot, place: &Place<'_>, me: Me<'_>, deadline: Deadline) -> Result<()> {
    let mut step = queue_up(space, slot, place, me, deadline, false);
    loop {
        let (outcome, result) = match step {
            Step::Queued if place.in_kernel => wait_in_kernel(space, slot, place, me, deadline),
            Step::Queued => match space.sleep(&me, place, deadline) {
                GRANTED => (GRANTED, slot.received(space, place)),
                outcome => (outcome, wait::result(outcome)),
            },
            Step::Taken => (GRANTED, slot.received(space, place)),
            Step::Stop => (LEFT, Ok(())),
            Step::Failed(error) => (wait::TIMED_OUT, Err(error)),
        };
        if outcome != LEFT {
            // It wants nothing any more, whether or not somebody has said so.
            me.slot.wants.store(0, Relaxed);
            return result;
        }
        me.slot.stop_while_suspended(space);
        step = queue_up(space, slot, place, me, deadline, true);
    }
}

/// How an attempt to queue ends.
enum Step {
    Queued,
    /// The caller's id is in the word.
    Taken,
    /// The thread is suspended: it is to stop, and then to try again.
    Stop,
    Failed(Error),
}

/// Queues for the mutex, or takes it. `again`: this wait has been in the queue, or stopped on its way there.
fn queue_up(space: &Space, slot: &MutexSlot, place: &Place<'_>, me: Me<'_>, deadline: Deadline, again: bool) -> Step {
    if let Some(error) = if place.in_kernel { None } else { want(space, me, place.id, deadline).err() } {
        return Step::Failed(error);
    }
    let node = &me.slot.node;
    let _held = space.lock(place);
    // Told while it was stopped. Acquire as in `Space::sleep`.
    let told = node.park.load(Acquire);
    if again && told != LEFT {
        return Step::Failed(wait::result(told).err().unwrap_or(Error::Interrupted));
    }
    let mut word = slot.state().load();
    if let Err(error) = place.id.check(word).and_then(|()| space.prepare(&me, place, deadline)) {
        space.retract(&me);
        return Step::Failed(if again && error == Error::Invalid { Error::Removed } else { error });
    }
    // After `prepare`, whose partner is in `Space::leave_mutex`.
    if me.slot.is_suspended() {
        node.park.store(LEFT, Relaxed);
        return Step::Stop;
    }
    loop {
        let free = is_free(word);
        let next = match free {
            true => word.with_value(word.value() | thread::tid()),
            // The kernel marks the word.
            false if place.in_kernel => break,
            false => word.with_waiters(),
        };
        // Acquire as in `acquire_fast`.
        match slot.state().exchange(word, next, Acquire) {
            Ok(()) if free => {
                space.retract(&me);
                return Step::Taken;
            }
            Ok(()) => break,
            Err(found) => word = found,
        }
    }
    place.site.enqueue(space, me.index, me.slot.priority.load(Relaxed));
    Step::Queued
}

/// Waits in the kernel's queue; how the wait ended, and what came of it.
fn wait_in_kernel(
    space: &Space,
    slot: &MutexSlot,
    place: &Place<'_>,
    me: Me<'_>,
    deadline: Deadline,
) -> (u32, Result<()>) {
    // While this thread is counted the slot has no other life; see `is_quiet`.
    slot.lockers.fetch_add(1, Relaxed);
    me.slot.wants.store(place.id.index(), Relaxed);
    let locked = pi_mutex::interruptible(|| lock_in_kernel(space, slot, place, me, deadline));
    me.slot.wants.store(0, Relaxed);
    let told = space.withdraw(&me, place);
    let result = match locked {
        Ok(()) if told == wait::TIMED_OUT => slot.received(space, place),
        // Told before it was handed over, if only by a moment: it is for somebody else.
        Ok(()) => {
            let orphan = is_orphan(slot.state().load());
            give_up(space, slot, place, orphan);
            wait::result(told)
        }
        Err(_) if told != wait::TIMED_OUT => wait::result(told),
        Err(error) => Err(error),
    };
    // Release pairs with the Acquire in `is_quiet`.
    slot.lockers.fetch_sub(1, Release);
    (told, result)
}

fn lock_in_kernel(space: &Space, slot: &MutexSlot, place: &Place<'_>, me: Me<'_>, deadline: Deadline) -> Result<()> {
    /// Some kernels answer `EINVAL` now and then to a waiter when another one is interrupted while the owner unlocks.
    const PATIENCE: u32 = 1000;
    /// How often to ask again about a cycle that cannot be seen here: it has just vanished, or it is another thread's, which was in
    /// the queue for as long as the kernel took to refuse it. What persists goes through other locks of the program.
    const UNSEEN: u32 = 100;
    let node = &me.slot.node;
    let (mut refusals, mut unseen) = (0, 0);
    loop {
        // The reasons are looked at from here on; whatever comes later ends the wait below at once.
        pi_mutex::take_interruptions();
        // Acquire pairs with the Release in `tell`.
        if node.park.load(Acquire) != WAITING {
            return Err(Error::Interrupted);
        }
        // Release pairs with the Acquire of the swap that ends this generation, in `delete`.
        let word = slot.state().confirm(Release);
        place.id.check(word)?;
        // Named in case this thread is killed as the owner before it links the mutex.
        let announcement = thread::current().list().announce(&slot.links);
        let locked = pi_mutex::lock(slot.state().word(), deadline, space.scope);
        announcement.withdraw();
        match locked {
            Ok(()) => return Ok(()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(Errno::TIMEDOUT) => return Err(Error::TimedOut),
            Err(Errno::NOMEM) => return Err(Error::NoMemory),
            Err(Errno::DEADLK) => match cycle_through(space, me, place.id) {
                Some(Cycle::Firm) => return Err(Error::Deadlock),
                None if unseen == UNSEEN => return Err(Error::Deadlock),
                _ if deadline.is_over() => return Err(Error::TimedOut),
                cycle => {
                    unseen += u32::from(cycle.is_none());
                    // Asleep, since whoever leaves it may need the processor for that.
                    space.outlasts(&me, Deadline::after(LEAVING).min(deadline));
                }
            },
            // Dead, as the look at the handle will say; or the owner's id is no thread's, and nobody else will say so.
            Err(Errno::SRCH | Errno::PERM) => {
                let found = slot.state().load();
                if word.is_live() && owner(word) != 0 && found.with_value(owner(found)) == word.with_value(owner(word))
                {
                    let _ = slot.state().exchange(found, found.with_value(OWNER_DIED), Acquire);
                }
            }
            Err(Errno::INVAL) if refusals < PATIENCE => refusals += 1,
            Err(errno) => report::fatal(&format!("a mutex is corrupt ({errno:?}): memory was overwritten")),
        }
    }
}

/// How long to sleep before the kernel is asked again about a cycle that is about to vanish, in nanoseconds.
const LEAVING: u64 = 100_000;

/// Several threads that each want what the next one owns.
enum Cycle {
    /// All of them wait.
    Firm,
    /// Somebody is on its way out of it: told, or late.
    Loose,
}

/// Follows owners and what they want, from a mutex on: whether that leads to `me`.
fn cycle_through(space: &Space, me: Me<'_>, mutex: Handle) -> Option<Cycle> {
    let mut wanted = mutex.index();
    let mut cycle = Cycle::Firm;
    for _ in 0..space.header().ok()?.capacity.load(Relaxed) {
        let slot = space.mutexes.get(wanted)?;
        let (index, thread) = slot.owning_thread(space, slot.state().load_acquire())?;
        if index == me.index {
            return Some(cycle);
        }
        let next = thread.wants.load(Relaxed);
        // Nothing; or it has got it.
        if next == 0 || next == wanted {
            return None;
        }
        let until = thread.node.until.load(Relaxed);
        let late = until != 0 && Deadline::at(until).is_over();
        let told = slot.place(space, mutex).in_kernel && thread.node.park.load(Relaxed) != WAITING;
        if late || told {
            cycle = Cycle::Loose;
        }
        wanted = next;
    }
    None
}

/// Says what the caller is going to wait for, unless that closes a cycle.
///
/// Under one lock, so that of several threads that close a cycle the last one finds it. What else happens meanwhile can only
/// take threads out of a wait.
fn want(space: &Space, me: Me<'_>, mutex: Handle, deadline: Deadline) -> Result<()> {
    let registry = space.place(Handle::new(Kind::Registry, 0, Kind::Mutex as u32)).ok_or(Error::NoMemory)?;
    let _held = space.lock(&registry);
    if matches!(cycle_through(space, me, mutex), Some(Cycle::Firm)) {
        return Err(Error::Deadlock);
    }
    me.slot.node.until.store(deadline.date().unwrap_or(0), Relaxed);
    me.slot.wants.store(mutex.index(), Relaxed);
    Ok(())
}
