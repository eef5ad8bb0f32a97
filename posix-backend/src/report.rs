//! Lines on standard error: one `write` each, so that lines of several threads do not mix.
//!
//! # Safety
//!
//! Unsafe code here passes the addresses and lengths of strings to `writev`.

#![allow(unsafe_code)]

/// Writes `alchemy: TEXT` and a newline to standard error. Errors are ignored: there is nowhere to report them.
pub fn line(text: &str) {
    // No memory of the heap, whose lock a stopped thread may hold.
    let parts = ["alchemy: ", text, "\n"]
        .map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
    // Not `writev`: that one is a cancellation point.
    // SAFETY: the strings outlive the call, which only reads them.
    unsafe { libc::syscall(libc::SYS_writev, libc::STDERR_FILENO, parts.as_ptr(), parts.len()) };
}

/// Reports a state that no correct program can bring about, and aborts: going on would corrupt more.
#[cold]
pub fn fatal(text: &str) -> ! {
    line(text);
    std::process::abort()
}
