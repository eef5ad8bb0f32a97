//! Control over other tasks: suspending, resuming, unblocking, priorities, modes, slices, deletion.
//!
//! A task that is to stop or to end is reached in three ways, whatever it is doing: through its parking word if it waits in
//! this library, through the request signal if it runs (or waits elsewhere), and, for deletion, through `pthread_cancel` if
//! it sits in a cancellation point of the C library. The signal's handler acts only outside the library's sections; the end
//! of the outermost section makes up for it.
//!
//! # Safety
//!
//! Unsafe code here cancels a thread whose `pthread_t` cannot go stale meanwhile (`CANCELLING`), and ends the calling thread
//! from frames that have nothing to drop.

#![allow(unsafe_code)]

use core::num::NonZeroUsize;
use core::time::Duration;

use posix_backend::atomic::Ordering::*;
use posix_backend::c::pthread_t;
use posix_backend::code::Unwinding;
use posix_backend::section::{self, Section};
use posix_backend::signal;
use posix_backend::slice::Slice;
use posix_backend::time::{self, Deadline};
use posix_backend::{code, report, sched, thread};

use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::lockstep;
use crate::mutex;
use crate::policy::{self, LOCK_LEVEL, MAX_PRIORITY};
use crate::runtime::{self, SPACE};
use crate::task::body;
use crate::task::slot::{
    CANCELLING, CO_OPERATIVE, DYING, ENDING, LOCKED, PARKED, Phase, RAISED, SUSPEND_WAIT, ThreadSlot,
};
use crate::task::watch::{self, Quantum};
use crate::wait;

/// Prepares the process for requests between its threads. Under `SET_UP`.
pub(crate) fn install() -> Result<()> {
    code::prepare();
    Ok(signal::install(act)?)
}

/// What a thread does about requests, at the end of a section or, interrupted, in the signal's handler.
extern "C-unwind" fn act(interrupted: Option<NonZeroUsize>) {
    let Some((_, slot)) = runtime::my_slot() else {
        return lockstep::preempt();
    };
    slot.stop_while_suspended(&SPACE);
    // Undisturbed: the handler would wait for the pretended processor on top of a wait for it.
    while interrupted.is_none() && section::undisturbed(lockstep::preempt) {
        slot.stop_while_suspended(&SPACE);
    }
    if let Some(pc) = interrupted.filter(|_| slot.is_deleted()) {
        end_interrupted(slot, pc.get());
    }
}

/// The task is to end, and the signal found it in the program. Ends it if that can be done at this instruction.
fn end_interrupted(slot: &ThreadSlot, pc: usize) {
    if slot.mode.load(Relaxed) & CO_OPERATIVE != 0 || thread::is_cancel_disabled() || !code::is_program_code(pc) {
        return;
    }
    let is_patient = slot.node.requests.load(Relaxed) & wait::PARK == 0;
    match code::unwinding_from(pc) {
        // At the next request it may be where more can be unwound.
        Unwinding::Partial | Unwinding::Fatal if is_patient => {}
        Unwinding::Fatal => park_for_good(slot),
        // The cancellation is pending. It unwinds through this handler's frames, which have nothing to drop, unless the thread
        // is unwinding already and the signal found it in a cleanup handler: then nothing happens here.
        Unwinding::Whole | Unwinding::Partial => thread::test_cancel(),
    }
}

/// Unwinding from here would abort the process. The task counts as ended; its thread stays where it is.
fn park_for_good(slot: &ThreadSlot) -> ! {
    // The cancellation stays pending, and the thread will sleep in the C library.
    thread::disable_cancellation();
    report::line(
        "a deleted task was in a function with destructors and cannot be unwound: its thread is parked for good",
    );
    slot.join.fetch_or(PARKED, Relaxed);
    runtime::leave_task();
    thread::stay()
}

/// Stops the calling task here while it is suspended, and ends it if it is being deleted: for programs that block the request
/// signal. For the shims of calls that wait, as their first and last act, and of those that a task may spend its life in: it may
/// unwind, and only C lies between them and the thread's start.
pub fn obey_requests() {
    let Some((_, slot)) = runtime::my_slot() else { return };
    act(None);
    if slot.is_deleted() && slot.mode.load(Relaxed) & CO_OPERATIVE == 0 {
        // The deleter may not have come to that yet; it nudges this slot when it has.
        slot.wait_phase(&SPACE, || slot.join.load(Acquire) & CANCELLING == 0);
        thread::test_cancel();
        // Still here: it is in a cleanup handler, which may wait like anybody, or it has disabled its cancellation.
        slot.node.requests.fetch_and(!(wait::END | wait::DELETE), AcqRel);
    }
}

/// Ends the calling task.
///
/// # Safety
///
/// As for [`thread::exit`].
pub unsafe fn exit() -> ! {
    // SAFETY: the caller's contract.
    unsafe { thread::exit() }
}

pub(crate) fn suspend(handle: Handle) -> Result<()> {
    let _section = Section::enter();
    let slot = SPACE.object::<ThreadSlot>(handle)?;
    let own = runtime::my_index() == handle.index();
    {
        let _held = SPACE.lock(&slot.own_place(handle.index()));
        handle.check(slot.head.state.load())?;
        let before = slot.suspends.load(Relaxed);
        // Release pairs with the Acquire in `is_suspended`.
        slot.suspends.store(before.saturating_add(1), Release);
        if before == 0 && !own {
            // Under the lock, so that the number is the task's.
            signal::request(slot.tid.load(Relaxed));
        }
    }
    if own {
        slot.stop_while_suspended(&SPACE);
    } else {
        SPACE.leave_mutex(handle.index(), slot);
        // A starter does not wait for a suspended task.
        slot.nudge(&SPACE);
    }
    Ok(())
}

pub(crate) fn resume(handle: Handle) -> Result<()> {
    let _section = Section::enter();
    let slot = SPACE.object::<ThreadSlot>(handle)?;
    {
        let _held = SPACE.lock(&slot.own_place(handle.index()));
        handle.check(slot.head.state.load())?;
        let before = slot.suspends.load(Relaxed);
        if before == 0 {
            return Ok(());
        }
        // Release as in `suspend`.
        slot.suspends.store(before - 1, Release);
        if before > 1 {
            return Ok(());
        }
    }
    lockstep::resumed(handle.index());
    slot.nudge(&SPACE);
    Ok(())
}

/// Suspends the calling task as [`suspend`] does, but so that `unblock` takes this suspension back: `Interrupted` then.
pub(crate) fn suspend_until_unblocked() -> Result<()> {
    let _section = Section::enter();
    let (me, _) = runtime::task().ok_or(Error::Permission)?;
    let place = me.slot.own_place(me.index);
    {
        let _held = SPACE.lock(&place);
        me.slot.suspends.store(me.slot.suspends.load(Relaxed).saturating_add(1), Release);
        me.slot.mode.fetch_or(SUSPEND_WAIT, Relaxed);
    }
    me.slot.stop_while_suspended(&SPACE);
    let _held = SPACE.lock(&place);
    // Still set: it was resumed, not unblocked.
    if me.slot.mode.fetch_and(!SUSPEND_WAIT, Relaxed) & SUSPEND_WAIT != 0 { Ok(()) } else { Err(Error::Interrupted) }
}

pub(crate) fn unblock(handle: Handle) -> Result<()> {
    let _section = Section::enter();
    SPACE.interrupt(handle, 0, wait::INTERRUPTED)?;
    let slot = SPACE.object::<ThreadSlot>(handle)?;
    {
        let _held = SPACE.lock(&slot.own_place(handle.index()));
        // It may have ended since: then there is nothing to end.
        let waits = handle.check(slot.head.state.load()).is_ok() && slot.mode.load(Relaxed) & SUSPEND_WAIT != 0;
        if !waits {
            return Ok(());
        }
        slot.mode.fetch_and(!SUSPEND_WAIT, Relaxed);
        slot.suspends.store(slot.suspends.load(Relaxed).saturating_sub(1), Release);
    }
    lockstep::resumed(handle.index());
    slot.nudge(&SPACE);
    Ok(())
}

/// Returns the old base priority.
pub(crate) fn set_priority(handle: Handle, priority: u32) -> Result<u32> {
    if priority > MAX_PRIORITY {
        return Err(Error::Invalid);
    }
    let _section = Section::enter();
    let slot = SPACE.object::<ThreadSlot>(handle)?;
    let old = {
        let _held = SPACE.lock(&slot.own_place(handle.index()));
        handle.check(slot.head.state.load())?;
        let old = slot.priority.load(Relaxed);
        let mode = slot.mode.load(Relaxed);
        if (old != priority || mode & RAISED != 0) && mode & LOCKED == 0 {
            policy::apply(slot.tid.load(Relaxed), priority)?;
        }
        slot.priority.store(priority, Relaxed);
        slot.mode.fetch_and(!RAISED, Relaxed);
        old
    };
    if priority == 0 {
        body::set_slice(handle.index(), None);
    }
    if priority < old {
        lend_again(slot.tid.load(Relaxed), priority);
    }
    if old != priority {
        SPACE.requeue(handle.index(), slot);
    } else if runtime::my_index() == handle.index() {
        sched::yield_now();
        lockstep::yield_now();
    }
    Ok(old)
}

/// A task runs at a lower priority from now on. If it waits for no mutex but was handed one that others wait for, the kernel has
/// not noted what they lend it: until one of them changes, which this does for it.
fn lend_again(tid: u32, priority: u32) {
    let Some((index, waiter)) = mutex::top_waiter(&SPACE, tid) else { return };
    let _held = SPACE.lock(&waiter.own_place(index));
    let level = waiter.priority.load(Relaxed);
    let (waiter_tid, locked) = (waiter.tid.load(Relaxed), waiter.mode.load(Relaxed) & LOCKED != 0);
    if level > priority && waiter_tid != 0 && !locked {
        // It sleeps. Where the process may not do this there is nothing to lend.
        let _ = policy::apply(waiter_tid, if level < MAX_PRIORITY { level + 1 } else { level - 1 });
        let _ = policy::apply(waiter_tid, level);
    }
}

/// Takes or gives up the scheduler lock; returns whether it was held.
pub(crate) fn set_lock(lock: bool) -> Result<bool> {
    if runtime::refuse_handlers().is_err() {
        // Nobody preempts a handler.
        return Ok(false);
    }
    let _section = Section::enter();
    let (me, _) = runtime::task().ok_or(Error::Permission)?;
    let held = SPACE.lock(&me.slot.own_place(me.index));
    let mode = me.slot.mode.load(Relaxed);
    let was = mode & LOCKED != 0;
    if was != lock {
        let level = if lock { LOCK_LEVEL } else { me.slot.priority.load(Relaxed) };
        policy::apply(thread::tid(), if mode & RAISED != 0 { MAX_PRIORITY } else { level })?;
        me.slot.mode.store(mode ^ LOCKED, Relaxed);
    }
    drop(held);
    if was && !lock {
        lend_again(thread::tid(), me.slot.priority.load(Relaxed));
    }
    Ok(was)
}

/// Round robin among equals with this quantum of CPU time, or `None` for none.
pub(crate) fn set_slice(handle: Handle, quantum: Option<Duration>) -> Result<()> {
    let _section = Section::enter();
    let slot = SPACE.object::<ThreadSlot>(handle)?;
    let timer = {
        let _held = SPACE.lock(&slot.own_place(handle.index()));
        handle.check(slot.head.state.load())?;
        let lockless = slot.mode.load(Relaxed) & LOCKED == 0 || slot.phase() < Phase::Entered;
        if !lockless || quantum.is_some() && slot.priority.load(Relaxed) == 0 {
            return Err(Error::Invalid);
        }
        let quantum = quantum.map(|quantum| quantum.as_nanos().clamp(1, i64::MAX as u128) as u64);
        quantum.map(|quantum| (Slice::start(slot.tid.load(Relaxed), quantum), quantum))
    };
    let slice = match timer {
        None => None,
        Some((Ok(timer), _)) => Some(Quantum::Timer(timer)),
        // Without the lock: making an alarm takes others.
        Some((Err(_), quantum)) => Some(Quantum::Watch(watch::watch(handle, quantum)?)),
    };
    body::set_slice(handle.index(), slice);
    Ok(())
}

/// How often the deleter asks a task that goes on running: one that is nearly always in the library, or reading the clock, is
/// rarely found in code of its own.
const ASK_SOON: u64 = 200_000;
const ASK_LATER: u64 = 1_000_000;
/// How long the deleter asks that often.
const SOON: u64 = 10_000_000;
/// After how long a task that cannot be unwound is parked.
const PARK_AFTER: u64 = 100_000_000;

/// Ends another task, and waits for it.
pub(crate) fn delete(handle: Handle) -> Result<()> {
    runtime::refuse_handlers()?;
    let _section = Section::enter();
    let slot = SPACE.object::<ThreadSlot>(handle)?;
    let index = handle.index();
    if runtime::my_index() == index {
        handle.check(slot.head.state.load())?;
        return Err(Error::Deadlock);
    }
    let (co_operative, cancels) = {
        let _held = SPACE.lock(&slot.own_place(index));
        handle.check(slot.head.state.load())?;
        SPACE.hold_slot(slot);
        let co_operative = slot.mode.load(Relaxed) & CO_OPERATIVE != 0;
        let request = if co_operative { wait::END } else { wait::END | wait::DELETE };
        let join = slot.join.load(Relaxed);
        let cancels = !co_operative && join & ENDING == 0;
        // Before the request, which publishes it: who sees DELETE knows whether the cancellation is still to come.
        slot.join.store(join | DYING | if cancels { CANCELLING } else { 0 }, Relaxed);
        // After DYING, by which the task still knows itself. From here on the handle is stale for everybody else.
        slot.head.state.kill(handle)?;
        // Paired with the read-modify-write in `Space::prepare`.
        slot.node.requests.fetch_or(request, AcqRel);
        // Nobody between the two may keep it from ending; but this thread must get at it when it comes to ask again.
        if let Ok(me) = runtime::me() {
            let mine = me.slot.priority.load(Relaxed).saturating_sub(1);
            if mine > slot.priority.load(Relaxed) && slot.mode.load(Relaxed) & LOCKED == 0 {
                let _ = policy::apply(slot.tid.load(Relaxed), mine);
            }
        }
        (co_operative, cancels)
    };
    if cancels {
        // First, so that it is pending when the task comes out of whatever it is in.
        // SAFETY: the thread waits for CANCELLING to be clear before it ends.
        unsafe { thread::cancel(slot.pthread.load(Relaxed) as pthread_t) };
        {
            let _held = SPACE.lock(&slot.own_place(index));
            // Release pairs with the Acquire in `obey_requests`: the cancellation is pending.
            slot.join.store(slot.join.load(Relaxed) & !CANCELLING, Release);
        }
    }
    // It may be at its gate, suspended, joining somebody, or waiting for CANCELLING to be clear.
    slot.nudge(&SPACE);
    if let Some(watched) = SPACE.threads.get(slot.watching.load(Relaxed)) {
        watched.nudge(&SPACE);
    }
    // The slot is held: it is still the same thread's.
    SPACE.end_wait(index, slot, || true, wait::CANCELLED);
    let begun = time::now();
    let mut pause = ASK_SOON;
    loop {
        if !co_operative {
            let _held = SPACE.lock(&slot.own_place(index));
            let tid = slot.tid.load(Relaxed);
            if tid != 0 {
                signal::request(tid);
            }
        }
        let over = || slot.phase() == Phase::Ended || runtime::is_deleted();
        let deadline = if co_operative { Deadline::NEVER } else { Deadline::after(pause) };
        let me = runtime::my_index();
        if lockstep::watching(me, index, Phase::Ended, || slot.wait_phase_until(&SPACE, deadline, over)) {
            break;
        }
        let asked_for = time::now().saturating_sub(begun);
        if asked_for > SOON {
            pause = ASK_LATER;
        }
        if asked_for > PARK_AFTER {
            slot.node.requests.fetch_or(wait::PARK, Relaxed);
        }
    }
    SPACE.release_slot(index, slot);
    Ok(())
}
