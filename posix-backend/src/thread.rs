//! Threads: creation with a stack size, names, exit hooks, and what the kernel knows of the calling one.
//!
//! # Safety
//!
//! Unsafe code here calls pthread functions with attributes that live on the stack.

#![allow(unsafe_code)]

use core::ffi::{CStr, c_int, c_void};

use crate::Errno;
#[cfg(not(loom))]
use crate::atomic::{AtomicU32, Ordering::Relaxed};
use crate::errno::ret_number;
#[cfg(not(loom))]
use crate::local::{Local, local};
use crate::robust::List;
#[cfg(not(loom))]
use crate::sched::Class;

/// What the calling thread knows of itself, cached in thread-local storage.
#[derive(Clone, Copy)]
pub struct Current {
    tid: u32,
    identity: u32,
    list: List,
}

impl Current {
    /// The kernel's thread id.
    #[inline]
    pub fn tid(self) -> u32 {
        self.tid
    }

    /// What [`set_identity`] stored, 0 if nothing.
    #[inline]
    pub fn identity(self) -> u32 {
        self.identity
    }

    /// The list of what this thread holds.
    #[inline]
    pub fn list(self) -> List {
        self.list
    }
}

/// The calling thread.
#[cfg(not(loom))]
#[inline]
pub fn current() -> Current {
    let local = local();
    if local.tid.get() == 0 {
        learn(local);
    }
    Current { tid: local.tid.get(), identity: local.identity.get(), list: local.list.get() }
}

/// The calling thread, which has an identity; else what this returns has none and is good for nothing.
#[cfg(not(loom))]
#[inline]
pub fn identified() -> Current {
    let local = local();
    Current { tid: local.tid.get(), identity: local.identity.get(), list: local.list.get() }
}

/// The calling thread's id.
#[cfg(not(loom))]
#[inline]
pub fn tid() -> u32 {
    current().tid
}

#[cfg(not(loom))]
#[cold]
fn learn(local: &Local) {
    // SAFETY: no arguments; it cannot fail.
    local.tid.set(unsafe { libc::syscall(libc::SYS_gettid) } as u32);
    local.list.set(List::of_this_thread());
}

/// Gives the calling thread a number that means something to the layer above.
#[cfg(not(loom))]
pub fn set_identity(identity: u32) {
    current();
    local().identity.set(identity);
}

/// In the child of a fork: learns the thread id anew; there are no helpers.
#[cfg(not(loom))]
pub fn renew() {
    learn(local());
    HELPERS.store(0, Relaxed);
}

#[cfg(loom)]
mod loom_thread {
    use super::*;
    use core::cell::Cell;
    use core::sync::atomic::{AtomicU32 as Plain, Ordering::Relaxed};

    static NEXT: Plain = Plain::new(1);
    loom::thread_local! {
        // Never 0, which says free, however many executions there are.
        static TID: Cell<u32> = Cell::new(NEXT.fetch_add(1, Relaxed) & 0xffff | 0x1_0000);
        static IDENTITY: Cell<u32> = Cell::new(0);
    }

    /// The calling thread.
    pub fn current() -> Current {
        Current { tid: TID.with(Cell::get), identity: IDENTITY.with(Cell::get), list: List::NONE }
    }

    /// The calling thread, which has an identity.
    pub fn identified() -> Current {
        current()
    }

    /// The calling thread's id.
    pub fn tid() -> u32 {
        current().tid
    }

    /// Gives the calling thread a number that means something to the layer above.
    pub fn set_identity(identity: u32) {
        IDENTITY.with(|cell| cell.set(identity));
    }
}
#[cfg(loom)]
pub use loom_thread::{current, identified, set_identity, tid};

/// A thread's start routine. It may be left by unwinding: `pthread_exit` and cancellation do.
pub type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

mod sys {
    use super::*;

    // Declared here because `libc` declares the start routine `extern "C"`, through which unwinding is not allowed.
    unsafe extern "C" {
        pub fn pthread_create(
            thread: *mut libc::pthread_t,
            attr: *const libc::pthread_attr_t,
            start: Start,
            arg: *mut c_void,
        ) -> c_int;
    }
}

/// Creates a joinable thread with at least `stack` bytes of stack and a guard page. It inherits the creator's scheduling
/// class, signal mask and affinity.
///
/// # Safety
///
/// `start` must be safe to call with `arg` on another thread.
pub unsafe fn spawn(stack: usize, start: Start, arg: *mut c_void) -> Result<libc::pthread_t, Errno> {
    let mut attr = core::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: `attr` is a local that the call initialises.
    ret_number(unsafe { libc::pthread_attr_init(attr.as_mut_ptr()) })?;
    let attr = attr.as_mut_ptr();
    let mut thread: libc::pthread_t = 0;
    let page = crate::memory::page_size();
    let created = match stack.checked_next_multiple_of(page) {
        None => Err(Errno::INVAL),
        // SAFETY: `attr` was initialised above.
        Some(size) => ret_number(unsafe { libc::pthread_attr_setstacksize(attr, size) })
            // SAFETY: likewise; the caller vouches for `start` and `arg`.
            .and_then(|()| ret_number(unsafe { sys::pthread_create(&mut thread, attr, start, arg) })),
    };
    // SAFETY: initialised above, not used any more.
    unsafe { libc::pthread_attr_destroy(attr) };
    created.map(|()| thread)
}

/// Threads of this library's own.
#[cfg(not(loom))]
static HELPERS: AtomicU32 = AtomicU32::new(0);

/// How many threads of this library's own there are ([`spawn_helper`]).
#[cfg(not(loom))]
pub fn helpers() -> u32 {
    HELPERS.load(Relaxed)
}

/// The stack of a helper: functions of the program may run on it, as part of its streams.
#[cfg(not(loom))]
const HELPER_STACK: usize = 256 * 1024;

/// Creates a thread of this library's own, which never ends. It runs in this class from its first instruction on, wherever the
/// initial thread may, and handles no signal of the program's: all but the library's own are blocked. `PERM` if the process may
/// not use the class.
#[cfg(not(loom))]
pub fn spawn_helper(class: Class, run: extern "C" fn() -> !) -> Result<(), Errno> {
    let mut attr = core::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: `attr` is a local that the call initialises.
    ret_number(unsafe { libc::pthread_attr_init(attr.as_mut_ptr()) })?;
    let attr = attr.as_mut_ptr();
    let mut thread: libc::pthread_t = 0;
    // Blocked from its first instruction on, since it inherits the mask.
    let created = with_signals_blocked(|| {
        // SAFETY: `attr` was initialised above; what it is set to is valid. `helper_main` takes any function of this type.
        unsafe {
            libc::pthread_attr_setstacksize(attr, HELPER_STACK);
            libc::pthread_attr_setdetachstate(attr, libc::PTHREAD_CREATE_DETACHED);
            // Not the class of the task that happens to need it; the default of explicit scheduling is `SCHED_OTHER`.
            libc::pthread_attr_setinheritsched(attr, libc::PTHREAD_EXPLICIT_SCHED);
            if let Class::Fifo(level) = class {
                let param = libc::sched_param { sched_priority: level.into() };
                libc::pthread_attr_setschedpolicy(attr, libc::SCHED_FIFO);
                libc::pthread_attr_setschedparam(attr, &param);
            }
            ret_number(sys::pthread_create(&mut thread, attr, helper_main, run as *mut c_void))
        }
    });
    // SAFETY: initialised above, not used any more.
    unsafe { libc::pthread_attr_destroy(attr) };
    created?;
    HELPERS.fetch_add(1, Relaxed);
    Ok(())
}

#[cfg(not(loom))]
unsafe extern "C-unwind" fn helper_main(run: *mut c_void) -> *mut c_void {
    crate::signal::unblock_own();
    crate::sched::share_affinity(crate::process::pid());
    // SAFETY: `spawn_helper` passed a function of this type.
    let run = unsafe { core::mem::transmute::<*mut c_void, extern "C" fn() -> !>(run) };
    run()
}

/// Waits for the end of a thread and releases its stack.
///
/// # Safety
///
/// `thread` must have been created by this process and neither joined nor detached.
pub unsafe fn join(thread: libc::pthread_t) -> Result<(), Errno> {
    // SAFETY: the caller's contract.
    ret_number(unsafe { libc::pthread_join(thread, core::ptr::null_mut()) })
}

/// As [`join`], and tells what the thread returned: null if it did not return.
///
/// # Safety
///
/// As for [`join`].
pub unsafe fn join_with_result(thread: libc::pthread_t) -> Result<*mut c_void, Errno> {
    let mut result = core::ptr::null_mut();
    // SAFETY: the caller's contract.
    ret_number(unsafe { libc::pthread_join(thread, &mut result) })?;
    Ok(result)
}

/// Ends the calling thread where it is, as if it were killed: no destructor runs, nothing is released. For tests.
pub fn die() -> ! {
    loop {
        // SAFETY: ends this thread only; what it leaves behind stays valid memory.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    }
}

/// Lets a thread release its stack by itself when it ends.
///
/// # Safety
///
/// As for [`join`].
pub unsafe fn detach(thread: libc::pthread_t) {
    // SAFETY: the caller's contract.
    unsafe { libc::pthread_detach(thread) };
}

/// The calling thread, in the C library's terms.
pub fn this() -> libc::pthread_t {
    // SAFETY: no arguments; it cannot fail.
    unsafe { libc::pthread_self() }
}

/// Gives the calling thread a name for the system's tools: its first 15 bytes.
pub fn set_name(name: &[u8]) {
    let mut cut = [0u8; 16];
    let len = name.len().min(15);
    cut[..len].copy_from_slice(&name[..len]);
    // SAFETY: the array is NUL-terminated and outlives the call; a name of at most 15 bytes is always accepted.
    unsafe { libc::prctl(libc::PR_SET_NAME, CStr::from_ptr(cut.as_ptr().cast()).as_ptr()) };
}

mod cancel {
    use core::ffi::c_int;

    // All of them may act on a pending request, that is unwind.
    unsafe extern "C-unwind" {
        pub fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
        pub fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int;
        pub fn pthread_testcancel();
    }

    pub const DISABLE: c_int = 1;
    pub const DEFERRED: c_int = 0;
}

/// Ends the calling thread here if its cancellation is pending and enabled.
///
/// It may unwind: callers have nothing alive to drop.
#[inline]
pub fn test_cancel() {
    // SAFETY: no arguments; that it may unwind is said above.
    unsafe { cancel::pthread_testcancel() };
}

/// As [`uncancelled`], for less: C libraries before 2.34 may still act on a signal for asynchronous cancellation that was under
/// way already.
#[inline]
pub fn uncancelled_briefly<R>(work: impl FnOnce() -> R) -> R {
    let (mut state, mut ignored) = (0, 0);
    // SAFETY: a known value, and a local that outlives the call.
    unsafe { cancel::pthread_setcancelstate(cancel::DISABLE, &mut state) };
    let result = work();
    // SAFETY: a value that the C library returned. It may unwind, as in `uncancelled`.
    unsafe { cancel::pthread_setcancelstate(state, &mut ignored) };
    result
}

/// Runs `work` with cancellation of the calling thread disabled: the system calls in it, and those of the program's signal
/// handlers on top of it, would else be points at which a pending cancellation unwinds through frames that own something.
pub fn uncancelled<R>(work: impl FnOnce() -> R) -> R {
    let (mut state, mut kind, mut ignored) = (0, 0, 0);
    // The type first: the C library's signal for asynchronous cancellation looks at nothing else.
    // SAFETY: known values, and locals that outlive the calls.
    unsafe {
        cancel::pthread_setcanceltype(cancel::DEFERRED, &mut kind);
        cancel::pthread_setcancelstate(cancel::DISABLE, &mut state);
    }
    let result = work();
    // SAFETY: values that the C library returned. Either may unwind: nothing is alive here that has a destructor, since `R`
    // is a number where cancellation can be enabled.
    unsafe {
        cancel::pthread_setcancelstate(state, &mut ignored);
        cancel::pthread_setcanceltype(kind, &mut ignored);
    }
    result
}

/// A per-process thread-specific key whose destructor runs when a thread ends, however it ends.
///
/// An ending thread goes through the keys with a destructor and a value in rounds, in the order of the keys' numbers, as long
/// as values are left, [`EXIT_ROUNDS`] times at most. This key has so high a number that its destructor comes last in each
/// round: also one that was set by another key's destructor runs in the same round, though it were the last.
pub struct ExitKey(libc::pthread_key_t);

impl ExitKey {
    /// Creates the key. `destructor` runs in the ending thread, with the value that was set.
    pub fn new(destructor: unsafe extern "C" fn(*mut c_void)) -> Result<ExitKey, Errno> {
        /// Numbers above, so that whoever needs a key just now finds one. A program that has nearly all of them in use has a
        /// few whose destructors come later.
        const LEFT: libc::c_long = 64;
        // SAFETY: no memory is passed.
        let keys = unsafe { libc::sysconf(libc::_SC_THREAD_KEYS_MAX) };
        let high = libc::pthread_key_t::try_from(keys - LEFT).unwrap_or(0);
        let create = || {
            let mut key = 0;
            // SAFETY: `key` outlives the call.
            ret_number(unsafe { libc::pthread_key_create(&mut key, Some(destructor)) }).map(|()| key)
        };
        let mut best = create()?;
        let mut spare = Vec::new();
        // The C library gives out the lowest free number, so each is higher than the one before.
        while best < high
            && let Ok(key) = create()
        {
            let (lower, higher) = (best.min(key), best.max(key));
            spare.push(lower);
            best = higher;
        }
        for key in spare {
            // SAFETY: created above, and no thread has a value for it.
            unsafe { libc::pthread_key_delete(key) };
        }
        Ok(ExitKey(best))
    }

    /// Sets the calling thread's value; a non-null one makes the destructor run.
    #[expect(clippy::not_unsafe_ptr_arg_deref, reason = "the value is stored, not followed")]
    pub fn set(&self, value: *mut c_void) -> Result<(), Errno> {
        // SAFETY: the key exists as long as this value; any pointer may be stored.
        ret_number(unsafe { libc::pthread_setspecific(self.0, value) })
    }
}

/// An [`ExitKey`] made when it is needed first, without a lock, in which a signal handler could find its own thread.
#[cfg(not(loom))]
pub struct LazyExitKey {
    /// The key and 1; 0 while there is none.
    key: AtomicU32,
}

#[cfg(not(loom))]
impl LazyExitKey {
    /// No key yet.
    #[expect(clippy::new_without_default, reason = "it is for statics")]
    pub const fn new() -> LazyExitKey {
        LazyExitKey { key: AtomicU32::new(0) }
    }

    /// The key, if it has been made.
    pub fn get(&self) -> Option<ExitKey> {
        // Relaxed: the number is all there is.
        self.key.load(Relaxed).checked_sub(1).map(ExitKey)
    }

    /// Makes the key, unless it is there. Who comes second leaves one that nobody uses.
    pub fn make(&self, destructor: unsafe extern "C" fn(*mut c_void)) -> Result<(), Errno> {
        if self.get().is_none() {
            let ExitKey(key) = ExitKey::new(destructor)?;
            // Relaxed, as above.
            let _ = self.key.compare_exchange(0, key + 1, Relaxed, Relaxed);
        }
        Ok(())
    }
}

/// How many rounds of destructors a thread runs at its end, if values are left. The thread sanitizer leaves a thread in the last one, and no
/// instrumented code may run after it.
pub const EXIT_ROUNDS: usize = if cfg!(alchemy_tsan) { 3 } else { 4 };

/// Requests deferred cancellation of a thread: the C library ends it at its next cancellation point.
///
/// # Safety
///
/// `thread` is a thread of this process that has not ended, or has neither been joined nor detached.
pub unsafe fn cancel(thread: libc::pthread_t) {
    // SAFETY: the caller's contract.
    unsafe { libc::pthread_cancel(thread) };
}

/// Disables cancellation of the calling thread for good: it is about to end the process.
pub fn disable_cancel() {
    let mut ignored = 0;
    // The type first, as in `uncancelled`.
    // SAFETY: known values, and a local that outlives the calls.
    unsafe {
        cancel::pthread_setcanceltype(cancel::DEFERRED, &mut ignored);
        cancel::pthread_setcancelstate(cancel::DISABLE, &mut ignored);
    }
}

/// Whether the calling thread has disabled its cancellation.
pub fn is_cancel_disabled() -> bool {
    let (mut old, mut ignored) = (0, 0);
    // SAFETY: a known state and a local; then what it was.
    unsafe {
        cancel::pthread_setcancelstate(cancel::DISABLE, &mut old);
        cancel::pthread_setcancelstate(old, &mut ignored);
    }
    old == cancel::DISABLE
}

mod exit {
    unsafe extern "C-unwind" {
        pub fn pthread_exit(value: *mut core::ffi::c_void) -> !;
    }
}

/// Ends the calling thread: cleanup handlers and destructors of thread-specific data run.
///
/// # Safety
///
/// It unwinds: no frame of Rust above may have anything to drop, and all must be `extern "C-unwind"` or Rust functions.
pub unsafe fn exit() -> ! {
    // SAFETY: the caller's contract.
    unsafe { exit::pthread_exit(core::ptr::null_mut()) }
}

/// Makes the calling thread ignore cancellation from here on.
pub fn disable_cancellation() {
    let mut ignored = 0;
    // SAFETY: a known value, and a local that outlives the call. Disabling does not act on a pending request.
    unsafe { cancel::pthread_setcancelstate(cancel::DISABLE, &mut ignored) };
}

/// Keeps the calling thread where it is, for good; with cancellation disabled, or it may end all the same.
pub fn stay() -> ! {
    loop {
        // SAFETY: no arguments.
        unsafe { libc::pause() };
    }
}

/// Runs `work` with all signals blocked.
#[cfg(loom)]
pub fn with_signals_blocked<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Runs `work` with all signals blocked.
#[cfg(not(loom))]
pub fn with_signals_blocked<R>(work: impl FnOnce() -> R) -> R {
    // SAFETY: both sets are locals; the old mask is put back.
    unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        let mut old: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        let result = work();
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, core::ptr::null_mut());
        result
    }
}
