//! Requests to another thread of this process, delivered by a signal.
//!
//! The signal carries nothing: the request word in the thread's own slot says what is wanted, and it alone is the truth. It acts
//! where the thread is in no section of the library; see [`crate::section`].
//!
//! One wait cannot just be left asleep meanwhile: that for a mutex, which the kernel goes on with after every signal. It has
//! its system call in a stub ([`crate::pi_mutex`]). A signal that finds the thread there, *before* the call or restarting it,
//! sends it to the stub's exit; one that comes earlier is seen by the stub, which tests *pending*; and one that comes
//! while a handler of the program runs on top of the stub is raised again, blocked until that handler returns.
//!
//! # Safety
//!
//! Unsafe code here installs a handler and sends signals to threads of this process by number; a number that is not in use
//! any more gives `ESRCH`.

#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicPtr, Ordering::*};

use crate::Errno;
use crate::errno::ret;
use crate::pi_mutex::stub;
use crate::section;

/// What to do about a request, in the thread that it is for. `interrupted` is the program counter where the signal found the
/// thread, `None` at the end of a section.
pub type Act = extern "C-unwind" fn(interrupted: Option<NonZeroUsize>);

static ACT: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// The request signal: one of the numbers that the original reserves (42), so that programs leave it alone.
pub fn request_signal() -> c_int {
    libc::SIGRTMIN() + 8
}

/// Installs the handler of the request signal, for good.
pub fn install(act: Act) -> Result<(), Errno> {
    ACT.store(act as *mut (), Release);
    // SAFETY: an all-zero action is valid.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = on_request as *const () as usize;
    // SA_RESTART: the program's system calls in user code go on afterwards.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // A stopped thread handles no signal until it goes on.
    // SAFETY: the set is a local.
    unsafe { libc::sigfillset(&mut action.sa_mask) };
    // SAFETY: the action outlives the call; the handler has the form that SA_SIGINFO asks for.
    ret(unsafe { libc::sigaction(request_signal(), &action, core::ptr::null_mut()) }.into()).map(|_| ())
}

/// Lets the request signal through, or not, to the calling thread.
pub fn block_requests(block: bool) {
    // SAFETY: the set is a local.
    unsafe {
        let mut set: libc::sigset_t = core::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, request_signal());
        let how = if block { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
        libc::pthread_sigmask(how, &set, core::ptr::null_mut());
    }
}

/// Runs `work`, which is in a section, with the request signal let through to the calling thread.
pub fn with_requests<R>(work: impl FnOnce() -> R) -> R {
    // SAFETY: all sets are locals; the old mask is put back.
    unsafe {
        let mut set: libc::sigset_t = core::mem::zeroed();
        let mut old: libc::sigset_t = core::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, request_signal());
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, &mut old);
        let result = work();
        if libc::sigismember(&old, request_signal()) == 1 {
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, core::ptr::null_mut());
        }
        result
    }
}

/// Lets the signals that the original reserves through to the calling thread: ours are among them.
pub(crate) fn unblock_own() {
    const RESERVED: core::ops::RangeInclusive<c_int> = 8..=13;
    // SAFETY: the set is a local.
    unsafe {
        let mut set: libc::sigset_t = core::mem::zeroed();
        libc::sigemptyset(&mut set);
        for number in RESERVED {
            libc::sigaddset(&mut set, libc::SIGRTMIN() + number);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, core::ptr::null_mut());
    }
}

/// Sends the request signal to a thread of this process.
pub fn request(tid: u32) {
    // SAFETY: no memory is passed; the thread may be gone, which is no error here.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, request_signal()) };
}

pub(crate) fn act(interrupted: Option<NonZeroUsize>) {
    let act = ACT.load(Acquire);
    if !act.is_null() {
        // SAFETY: `install` stored an `Act` here.
        let act = unsafe { core::mem::transmute::<*mut (), Act>(act) };
        act(interrupted);
    }
}

/// The handler. It may be left by unwinding, so nothing in it has a destructor.
unsafe extern "C-unwind" fn on_request(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the interrupted context of a SA_SIGINFO handler, which is this handler's alone.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let pc = program_counter(context);
    if section::put_off() {
        if let Some(exit) = stub::way_out(*pc as usize) {
            *pc = exit as _;
        } else if section::is_in_stub() && !stub::contains(*pc as usize) {
            raise_again(context);
        }
        return;
    }
    // SAFETY: always valid for the calling thread.
    let errno = unsafe { *libc::__errno_location() };
    act(NonZeroUsize::new(*pc as usize));
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Has the request come again once the interrupted handler of the program returns: to whatever it interrupted, whose signal
/// mask comes back with it.
fn raise_again(context: &mut libc::ucontext_t) {
    // SAFETY: a set that the kernel filled; the signal's bit lies in its first word, which is all the kernel has.
    unsafe { libc::sigaddset(&mut context.uc_sigmask, request_signal()) };
    // Blocked here as in all of this handler: it stays pending.
    request(crate::thread::tid());
}

#[cfg(target_arch = "x86_64")]
fn program_counter(context: &mut libc::ucontext_t) -> &mut i64 {
    &mut context.uc_mcontext.gregs[libc::REG_RIP as usize]
}

#[cfg(target_arch = "aarch64")]
fn program_counter(context: &mut libc::ucontext_t) -> &mut u64 {
    &mut context.uc_mcontext.pc
}
