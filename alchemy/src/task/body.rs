//! The thread under a task: creation, the gate where it waits for its start, the body.
//!
//! # Safety
//!
//! Unsafe code here creates threads and calls the entry routine that the creator vouched for. Threads end by returning, or
//! by unwinding out of the entry routine (`pthread_exit`, cancellation): `thread_main` keeps nothing alive across the call.

#![allow(unsafe_code)]

use core::ffi::c_void;
use std::sync::OnceLock;

use parking_lot::Mutex;

use posix_backend::atomic::{AtomicPtr, Ordering::*};
use posix_backend::section::Section;
use posix_backend::signal;
use posix_backend::{Errno, c, memory, thread};

use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::lockstep;
use crate::name::Name;
use crate::policy;
use crate::runtime::{self, SPACE};
use crate::task::slot::{CO_OPERATIVE, JOINABLE, JOINER, LOCKED, PARKED, Phase, ThreadSlot};
use crate::task::watch::Quantum;

/// A task's entry routine. It may end its thread by unwinding.
pub type Entry = unsafe extern "C-unwind" fn(*mut c_void);

/// How a task is made.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Empty for a generated one.
    pub name: Name,
    /// Bytes of stack; less than [`MIN_STACK`] counts as that.
    pub stack: usize,
    /// 0 to 99.
    pub priority: u32,
    /// Whether it must be joined.
    pub joinable: bool,
    /// Whether it starts with the scheduler lock held.
    pub lock: bool,
    /// Whether it ends by returning only: its frames must not be unwound. Deletion asks it to, and waits.
    pub co_operative: bool,
}

/// The least stack of a task: bodies of old programs call `printf` and have large arrays.
pub const MIN_STACK: usize = 256 * 1024;

/// What a started task is to run. Process-local: addresses mean nothing to others.
#[derive(Default)]
struct Launch {
    entry: AtomicPtr<()>,
    arg: AtomicPtr<c_void>,
    slice: Mutex<Option<Quantum>>,
}

/// Replaces a task's quantum; the old one ends.
pub(crate) fn set_slice(index: u32, slice: Option<Quantum>) {
    *launch(index).slice.lock() = slice;
}

const LAUNCHES_PER_CHUNK: usize = 256;
const CHUNKS: usize = runtime::MAX_OBJECTS as usize / LAUNCHES_PER_CHUNK + 1;

/// In the child of a fork, when its objects are there: timers are not inherited, and their numbers may soon be those of other
/// timers.
pub(crate) fn forget_slices() {
    for launch in LAUNCHES.iter().filter_map(OnceLock::get).flatten() {
        // A lock that another thread held at the fork is nobody's now; its timer is leaked in the table, as it must be.
        if let Some(mut slice) = launch.slice.try_lock()
            && let Some(Quantum::Timer(timer)) = slice.take()
        {
            core::mem::forget(timer);
        }
    }
}

static LAUNCHES: [OnceLock<Box<[Launch]>>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];

/// One launch per thread slot, made when the first task of a chunk is created.
fn launch(index: u32) -> &'static Launch {
    let index = index as usize;
    let chunk = LAUNCHES[index / LAUNCHES_PER_CHUNK]
        .get_or_init(|| (0..LAUNCHES_PER_CHUNK).map(|_| Launch::default()).collect());
    &chunk[index % LAUNCHES_PER_CHUNK]
}

/// Makes a dormant task. `ready` gets its handle and thread before anybody can find it.
pub(crate) fn create(settings: Settings, ready: impl FnOnce(Handle, c::pthread_t)) -> Result<Handle> {
    runtime::refuse_handlers()?;
    if settings.priority > policy::MAX_PRIORITY {
        return Err(Error::Invalid);
    }
    let mut mode = 0;
    if settings.joinable {
        mode |= JOINABLE;
    }
    if settings.lock {
        mode |= LOCKED;
    }
    if settings.co_operative {
        mode |= CO_OPERATIVE;
    }
    let _section = Section::enter();
    let fill = |slot: &ThreadSlot| slot.fill(settings.priority, mode);
    runtime::space()?.create::<ThreadSlot>(settings.name, (false, 0), fill, |handle, index| {
        let slot = SPACE.threads.get(index).ok_or(Error::NoMemory)?;
        launch(index);
        let thread = spawn(settings.stack, index)?;
        slot.wait_phase(&SPACE, || slot.phase() != Phase::New);
        // The creator applies the class: the new thread runs in the creator's until it waits at its gate, so that no third
        // task can get between the two.
        let prepared = match slot.phase() {
            Phase::Dormant => policy::apply(slot.tid.load(Relaxed), settings.priority),
            _ => Err(Error::NoMemory),
        };
        if let Err(error) = prepared {
            slot.set_phase(&SPACE, Phase::Ended);
            // SAFETY: created above, neither joined nor detached; it ends at its gate.
            let _ = unsafe { thread::join(thread) };
            return Err(error);
        }
        if !settings.joinable {
            // SAFETY: created above, not joined.
            unsafe { thread::detach(thread) };
        }
        slot.pthread.store(thread as u64, Relaxed);
        ready(handle, thread);
        Ok(())
    })
}

fn spawn(stack: usize, index: u32) -> Result<c::pthread_t> {
    let stack = stack.max(MIN_STACK);
    let arg = core::ptr::without_provenance_mut(index as usize);
    // SAFETY: `thread_main` takes any index.
    let mut spawned = unsafe { thread::spawn(stack, thread_main, arg) };
    if spawned == Err(Errno::AGAIN) && stack > MIN_STACK && !memory::is_obtainable(stack) {
        return Err(Error::Invalid);
    }
    if spawned == Err(Errno::AGAIN) && runtime::unlock_memory_for_threads() {
        // SAFETY: as above.
        spawned = unsafe { thread::spawn(stack, thread_main, arg) };
    }
    Ok(spawned?)
}

/// What every task's thread runs.
unsafe extern "C-unwind" fn thread_main(arg: *mut c_void) -> *mut c_void {
    let index = arg.addr() as u32;
    if let Some(slot) = SPACE.threads.get(index).filter(|slot| pass_gate(index, slot)) {
        // Written before the phase that `pass_gate` saw (Acquire there, Release in `set_phase`).
        let entry = launch(index).entry.load(Relaxed);
        let arg = launch(index).arg.load(Relaxed);
        {
            // No request is to interrupt the wait for the pretended processor.
            let _section = Section::enter();
            lockstep::arrive(index);
            lockstep::reached(index, Phase::Entered);
        }
        slot.set_phase(&SPACE, Phase::Entered);
        // SAFETY: `start` stored an `Entry` here, and nothing else does.
        let entry = unsafe { core::mem::transmute::<*mut (), Entry>(entry) };
        // SAFETY: whoever started the task vouched for entry and argument. Nothing here has a destructor to run.
        unsafe { entry(arg) };
    }
    core::ptr::null_mut()
}

/// Sets the thread up and waits for the start. False if there will be none.
fn pass_gate(index: u32, slot: &ThreadSlot) -> bool {
    let _section = Section::enter();
    signal::block_requests(false);
    slot.tid.store(thread::tid(), Relaxed);
    let bytes = slot.head.name().to_bytes();
    thread::set_name(&bytes[..bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len())]);
    if runtime::enrol(index, false).is_err() {
        slot.set_phase(&SPACE, Phase::Ended);
        return false;
    }
    slot.set_phase(&SPACE, Phase::Dormant);
    slot.wait_phase(&SPACE, || slot.phase() != Phase::Dormant || slot.is_deleted());
    // Suspended before it could run: it stays in front of its body.
    slot.stop_while_suspended(&SPACE);
    if slot.is_deleted() {
        return false;
    }
    if slot.phase() != Phase::Started {
        // Given up: the creator takes the slot back, so this thread must not.
        runtime::disown();
        return false;
    }
    if slot.mode.load(Relaxed) & LOCKED != 0 {
        // The creator was allowed to set a level, or was told otherwise.
        let _ = policy::apply(thread::tid(), policy::LOCK_LEVEL);
    }
    true
}

/// Starts a dormant task; the first start wins, later ones do nothing. Returns whether this call started it. Where the task
/// has a higher priority than the caller, returns after it is about to enter its body, or is gone.
///
/// # Safety
///
/// `entry` must be safe to call with `arg` on another thread.
pub(crate) unsafe fn start(handle: Handle, entry: Entry, arg: *mut c_void) -> Result<bool> {
    let _section = Section::enter();
    let slot = SPACE.object::<ThreadSlot>(handle)?;
    let is_alive = || handle.check(slot.head.state.load()).is_ok();
    {
        // One section, so that two starters do not mix entry and argument.
        let _held = SPACE.lock(&slot.own_place(handle.index()));
        if !is_alive() {
            return Err(Error::Invalid);
        }
        if slot.phase() != Phase::Dormant {
            return Ok(false);
        }
        let launch = launch(handle.index());
        launch.entry.store(entry as *mut (), Relaxed);
        launch.arg.store(arg, Relaxed);
        slot.note_phase(Phase::Started);
    }
    lockstep::started(handle);
    slot.wake_phase(&SPACE);
    let mine = match runtime::me() {
        Err(_) => None,
        Ok(me) if me.slot.mode.load(Relaxed) & LOCKED != 0 => Some(policy::LOCK_LEVEL),
        Ok(me) => Some(me.slot.priority.load(Relaxed)),
    };
    // Plain threads count as below any task.
    if mine.is_none_or(|mine| slot.priority.load(Relaxed) > mine) {
        let entered = || slot.phase() >= Phase::Entered || slot.is_suspended() || !is_alive();
        let (me, target) = (runtime::my_index(), handle.index());
        lockstep::watching(me, target, Phase::Entered, || slot.wait_phase(&SPACE, entered));
    }
    Ok(true)
}

/// Makes the calling thread a task. `ready` gets the handle before anybody can find it.
pub(crate) fn shadow(
    name: Name,
    priority: u32,
    (lock, co_operative): (bool, bool),
    ready: impl FnOnce(Handle),
) -> Result<Handle> {
    runtime::refuse_handlers()?;
    let _section = Section::enter();
    let space = runtime::space()?;
    if runtime::task().is_some() {
        return Err(Error::Busy);
    }
    if priority > policy::MAX_PRIORITY {
        return Err(Error::Invalid);
    }
    // The initial thread has a slot already.
    let own = runtime::me().ok().map(|me| me.index);
    let index = match own {
        Some(index) => index,
        None => space.take::<ThreadSlot>()?,
    };
    let slot = space.threads.get(index).ok_or(Error::NoMemory)?;
    let tid = thread::tid();
    let fill = |slot: &ThreadSlot| {
        slot.fill(priority, if lock { LOCKED } else { 0 } | if co_operative { CO_OPERATIVE } else { 0 });
        slot.tid.store(tid, Relaxed);
        slot.pthread.store(thread::this() as u64, Relaxed);
        slot.note_phase(Phase::Entered);
    };
    let take_identity = |handle, index| {
        signal::block_requests(false);
        runtime::enrol(index, true)?;
        policy::apply(tid, if lock { policy::LOCK_LEVEL } else { priority })?;
        thread::set_name(&slot.head.name().to_bytes());
        ready(handle);
        Ok(())
    };
    let shadowed = space.publish(index, slot, name, (false, 0), fill, take_identity);
    if shadowed.is_ok() {
        lockstep::arrive(index);
    }
    shadowed.inspect_err(|_| {
        runtime::disown();
        if own.is_none() {
            space.give::<ThreadSlot>(index);
        } else {
            slot.fill(0, 0);
            slot.tid.store(tid, Relaxed);
        }
    })
}

/// Waits for the end of a joinable task and releases what is left of it.
pub(crate) fn join(handle: Handle) -> Result<()> {
    runtime::refuse_handlers()?;
    let _section = Section::enter();
    let slot = SPACE.begin_join(handle, runtime::my_index())?;
    let me = runtime::my_slot();
    if let Some((_, me)) = me {
        // Whoever deletes this task nudges the slot that it waits at.
        me.watching.store(handle.index(), Relaxed);
    }
    let over = || slot.phase() == Phase::Ended || runtime::is_deleted();
    let (me_index, target) = (runtime::my_index(), handle.index());
    lockstep::watching(me_index, target, Phase::Ended, || slot.wait_phase(&SPACE, over));
    if let Some((_, me)) = me {
        me.watching.store(0, Relaxed);
    }
    if slot.phase() != Phase::Ended {
        SPACE.abandon_join(handle.index(), slot);
        return Err(Error::Cancelled);
    }
    if slot.join.load(Relaxed) & PARKED == 0 {
        // SAFETY: joinable tasks are never detached, and `begin_join` lets one joiner in. If the program joined the thread
        // itself, that is an error of the program which the C library answers with ESRCH or EINVAL as far as it can tell.
        let _ = unsafe { thread::join(slot.pthread.load(Relaxed) as c::pthread_t) };
    }
    SPACE.finish_join(handle.index(), slot);
    Ok(())
}

/// Gives up the right to join: the task cleans up after itself.
pub(crate) fn detach(handle: Handle) -> Result<()> {
    let _section = Section::enter();
    let slot = SPACE.object::<ThreadSlot>(handle)?;
    {
        let _held = SPACE.lock(&slot.own_place(handle.index()));
        if handle.check(slot.head.state.load()).is_ok() {
            let mode = slot.mode.load(Relaxed);
            // Somebody who joins it by reference cleans up.
            if mode & JOINABLE != 0 && slot.join.load(Relaxed) & JOINER == 0 {
                slot.mode.store(mode & !JOINABLE, Relaxed);
                SPACE.drop_join_right(slot);
                // SAFETY: joinable until this line, and alive: its end takes this lock first.
                unsafe { thread::detach(slot.pthread.load(Relaxed) as c::pthread_t) };
            }
            return Ok(());
        }
    }
    // It has ended: joining does not wait.
    join(handle)
}
