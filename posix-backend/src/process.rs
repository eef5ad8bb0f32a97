//! What the process may use, and what happens to it: limits, capabilities, fork.
//!
//! # Safety
//!
//! Unsafe code here passes local structures to system calls and registers fork handlers with the C library.

#![allow(unsafe_code)]

use crate::Errno;
use crate::errno::{ret, ret_number};

/// A resource limit's soft value; `None` means unlimited.
fn soft_limit(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: `limit` outlives the call.
    unsafe { libc::getrlimit(resource, &mut limit) };
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Bytes of locked memory the process may have; `None` means unlimited (by limit or by capability).
pub fn memlock_limit() -> Option<u64> {
    if may_lock_memory() { None } else { soft_limit(libc::RLIMIT_MEMLOCK) }
}

/// Bytes of address space the process may have; `None` means unlimited.
pub fn address_space_limit() -> Option<u64> {
    soft_limit(libc::RLIMIT_AS)
}

/// The largest file the process may make; `None` means unlimited. A memory file counts.
pub fn file_size_limit() -> Option<u64> {
    soft_limit(libc::RLIMIT_FSIZE)
}

/// Whether the process has `CAP_IPC_LOCK`.
pub fn may_lock_memory() -> bool {
    const CAP_IPC_LOCK: u32 = 14;
    const VERSION_3: u32 = 0x2008_0522;
    #[repr(C)]
    struct Header {
        version: u32,
        pid: libc::c_int,
    }
    #[repr(C)]
    #[derive(Default)]
    struct Data {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    let mut header = Header { version: VERSION_3, pid: 0 };
    let mut data: [Data; 2] = Default::default();
    // SAFETY: version 3 takes one header and two data words, which outlive the call.
    let got = unsafe { libc::syscall(libc::SYS_capget, &mut header, data.as_mut_ptr()) };
    got == 0 && data[0].effective & (1 << CAP_IPC_LOCK) != 0
}

/// The process id, which is also the thread id of the thread that runs `main`.
pub fn pid() -> u32 {
    // SAFETY: no arguments; it cannot fail.
    unsafe { libc::getpid() as u32 }
}

/// Locks all present memory, and with `future` all that will be mapped.
pub fn lock_memory(future: bool) -> Result<(), Errno> {
    let flags = if future { libc::MCL_CURRENT | libc::MCL_FUTURE } else { libc::MCL_CURRENT };
    // SAFETY: no memory is passed.
    ret(unsafe { libc::mlockall(flags) }.into()).map(|_| ())
}

/// Whether some of the process's memory is locked, by whomever.
pub fn has_locked_memory() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:"));
    locked.is_some_and(|line| line.split_whitespace().next() != Some("0"))
}

/// Ends the locking of memory.
pub fn unlock_memory() {
    // SAFETY: no arguments; it cannot fail.
    unsafe { libc::munlockall() };
}

/// What to do around each later fork: `before` in the forking thread, then `in_parent` or `in_child`, before `fork` returns.
pub struct ForkHooks {
    /// Before the fork.
    pub before: extern "C" fn(),
    /// After it, in the parent.
    pub in_parent: extern "C" fn(),
    /// After it, in the child's only thread.
    pub in_child: extern "C" fn(),
}

/// Registers the hooks, for good.
pub fn on_fork(hooks: ForkHooks) -> Result<(), Errno> {
    let (before, parent, child) = (hooks.before, hooks.in_parent, hooks.in_child);
    // SAFETY: the handlers are functions of this library, which is never unloaded.
    ret_number(unsafe { libc::pthread_atfork(Some(before), Some(parent), Some(child)) })
}

/// Registers what is to be done when the process ends by `exit`, or by returning from `main`. Handlers run in the reverse order
/// of their registration.
pub fn at_exit(handler: extern "C" fn()) -> Result<(), Errno> {
    // SAFETY: the handler is a function of this library, which is never unloaded.
    if unsafe { libc::atexit(handler) } == 0 { Ok(()) } else { Err(Errno::NOMEM) }
}

/// Sends the process a signal, for a thread that does not block it.
pub fn send_itself(signal: libc::c_int) {
    // SAFETY: no memory is passed.
    unsafe { libc::kill(libc::getpid(), signal) };
}

/// Whether the program's threads have all ended, the one that ran `main` included, so that only the library's own keep the
/// process alive. Allocates nothing.
#[cfg(not(loom))]
pub fn is_deserted() -> bool {
    /// Fields of `stat` behind the name.
    const STATE: usize = 0;
    const THREADS: usize = 17;
    let mut buffer = [0; 512];
    let stat = crate::sched::read_file(c"/proc/self/stat", &mut buffer).unwrap_or_default();
    let mut fields = crate::sched::behind_name(stat);
    // The thread that ran `main` remains as a zombie as long as there are others.
    fields.nth(STATE) == Some("Z")
        && fields.nth(THREADS - STATE - 1).and_then(|count| count.parse().ok()) == Some(1 + crate::thread::helpers())
}

/// Ends the process without running exit handlers.
pub fn exit_at_once(status: i32) -> ! {
    // SAFETY: does not return, and touches no memory of the program.
    unsafe { libc::_exit(status) }
}
