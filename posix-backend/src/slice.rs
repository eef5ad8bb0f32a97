//! Round robin by consumed CPU time: a timer on a thread's CPU clock whose signal makes the thread yield.
//!
//! # Safety
//!
//! Unsafe code here installs a handler that calls `sched_yield`, and creates and deletes kernel timers by the numbers that
//! the kernel returned.

#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};
use std::sync::OnceLock;

use crate::Errno;
use crate::errno::ret;
use crate::time::NANOS;

/// One of the numbers that the original reserves (45).
fn yield_signal() -> c_int {
    libc::SIGRTMIN() + 11
}

unsafe extern "C" fn on_quantum(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: `errno` is the calling thread's; sched_yield takes nothing.
    unsafe {
        let errno = *libc::__errno_location();
        libc::sched_yield();
        *libc::__errno_location() = errno;
    }
}

fn install() -> Result<(), Errno> {
    static INSTALLED: OnceLock<Result<(), Errno>> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        // SAFETY: an all-zero action is valid.
        let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
        action.sa_sigaction = on_quantum as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        // SAFETY: the action outlives the call.
        ret(unsafe { libc::sigaction(yield_signal(), &action, core::ptr::null_mut()) }.into()).map(|_| ())
    })
}

/// The kernel's number of a thread's CPU clock: per thread, scheduler's time.
fn cpu_clock(tid: u32) -> c_int {
    const THREAD_CPU_TIME: u32 = 6;
    ((!tid << 3) | THREAD_CPU_TIME) as c_int
}

/// The CPU time that a thread of this process has used, in nanoseconds.
pub fn cpu_time(tid: u32) -> Result<u64, Errno> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call; a number that is no clock's is refused.
    ret(unsafe { libc::clock_gettime(cpu_clock(tid), &mut time) }.into())?;
    Ok(time.tv_sec as u64 * NANOS + time.tv_nsec as u64)
}

/// A quantum in force. Dropping it ends it.
#[derive(Debug)]
pub struct Slice(c_int);

impl Slice {
    /// Makes a thread of this process yield each time it has used `quantum` nanoseconds of CPU time.
    pub fn start(tid: u32, quantum: u64) -> Result<Slice, Errno> {
        install()?;
        // SAFETY: an all-zero event is valid.
        let mut event: libc::sigevent = unsafe { core::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = yield_signal();
        event.sigev_notify_thread_id = tid as c_int;
        let mut timer: c_int = 0;
        // SAFETY: event and timer outlive the call. The kernel's timer number is an int; the C library's type is a pointer.
        ret(unsafe { libc::syscall(libc::SYS_timer_create, cpu_clock(tid), &mut event, &mut timer) })?;
        let slice = Slice(timer);
        let span =
            libc::timespec { tv_sec: (quantum / NANOS) as libc::time_t, tv_nsec: (quantum % NANOS) as libc::c_long };
        let spec = libc::itimerspec { it_interval: span, it_value: span };
        let none = core::ptr::null_mut::<libc::itimerspec>();
        // SAFETY: the specification outlives the call.
        ret(unsafe { libc::syscall(libc::SYS_timer_settime, timer, 0, &spec, none) })?;
        Ok(slice)
    }
}

impl Drop for Slice {
    fn drop(&mut self) {
        // SAFETY: the number is that of a timer of ours.
        unsafe { libc::syscall(libc::SYS_timer_delete, self.0) };
    }
}
