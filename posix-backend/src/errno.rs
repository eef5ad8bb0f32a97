//! Error numbers of the system, and the only readers of `errno`.
//!
//! # Safety
//!
//! Unsafe code here is the call of `__errno_location`, which is always valid for the calling thread.

#![allow(unsafe_code)]

/// A positive error number. The kernel may return any, so this is a number and not an enumeration.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(pub i32);

impl Errno {
    /// Operation not permitted.
    pub const PERM: Errno = Errno(libc::EPERM);
    /// Interrupted.
    pub const INTR: Errno = Errno(libc::EINTR);
    /// The call would wait for its own caller.
    pub const DEADLK: Errno = Errno(libc::EDEADLK);
    /// No such thread.
    pub const SRCH: Errno = Errno(libc::ESRCH);
    /// Resource temporarily unavailable.
    pub const AGAIN: Errno = Errno(libc::EAGAIN);
    /// Not enough memory.
    pub const NOMEM: Errno = Errno(libc::ENOMEM);
    /// Invalid argument.
    pub const INVAL: Errno = Errno(libc::EINVAL);
    /// Timed out.
    pub const TIMEDOUT: Errno = Errno(libc::ETIMEDOUT);

    /// A pipe whose reading end is closed.
    pub const PIPE: Errno = Errno(libc::EPIPE);
    /// Input or output error.
    pub const IO: Errno = Errno(libc::EIO);

    /// Makes this the calling thread's `errno`.
    pub fn set(self) {
        // SAFETY: the C library keeps this address valid for the calling thread.
        unsafe { *libc::__errno_location() = self.0 };
    }

    /// The calling thread's `errno`.
    pub fn last() -> Errno {
        // SAFETY: the C library keeps this address valid for the calling thread.
        Errno(unsafe { *libc::__errno_location() })
    }
}

impl core::fmt::Debug for Errno {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", std::io::Error::from_raw_os_error(self.0))
    }
}

/// The result of a call that returns -1 and sets `errno`.
pub(crate) fn ret(result: libc::c_long) -> Result<libc::c_long, Errno> {
    if result == -1 { Err(Errno::last()) } else { Ok(result) }
}

/// The result of a call that returns the error number itself.
pub(crate) fn ret_number(result: libc::c_int) -> Result<(), Errno> {
    if result == 0 { Ok(()) } else { Err(Errno(result)) }
}
