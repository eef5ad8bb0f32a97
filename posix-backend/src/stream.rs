//! Streams of the C library: formatting, and writing past their buffers.
//!
//! # Safety
//!
//! Unsafe code here calls functions of the C library on streams that whoever made the [`Stream`] vouched for, and formats by a
//! format and arguments that the caller vouches for.

#![allow(unsafe_code)]

use core::ffi::{c_char, c_int, c_void};
use core::ptr::NonNull;

use libc::FILE;

use crate::Errno;
use crate::errno::ret;

mod sys {
    use super::*;

    unsafe extern "C" {
        pub static stdout: *mut FILE;
        pub fn ftrylockfile(stream: *mut FILE) -> c_int;
        pub fn funlockfile(stream: *mut FILE);
        pub fn fflush_unlocked(stream: *mut FILE) -> c_int;
        pub fn fwrite_unlocked(data: *const c_void, size: usize, count: usize, stream: *mut FILE) -> usize;
        pub fn syslog(priority: c_int, format: *const c_char, ...);
        pub fn vsnprintf(room: *mut c_char, len: usize, format: *const c_char, arguments: VaList) -> c_int;
    }
}

/// A `va_list` as it is passed to a function: on every platform of Linux one pointer, or a structure passed as one.
pub type VaList = *mut c_void;

/// Formats as `printf` does. Writes what fits, with a NUL behind it, and returns the length of the whole text.
///
/// # Safety
///
/// `format` is null or a string, and `arguments` suits it.
pub unsafe fn format(room: &mut [u8], format: *const c_char, arguments: VaList) -> Result<usize, Errno> {
    if format.is_null() {
        return Err(Errno::INVAL);
    }
    // SAFETY: the room has the length given; the caller vouches for the rest.
    let len = unsafe { sys::vsnprintf(room.as_mut_ptr().cast(), room.len(), format, arguments) };
    usize::try_from(len).map_err(|_| Errno::last())
}

/// An open stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stream(NonNull<FILE>);

// SAFETY: the C library's streams may be used by all threads.
unsafe impl Send for Stream {}
// SAFETY: likewise.
unsafe impl Sync for Stream {}

impl Stream {
    /// The stream at an address. `None` for null.
    ///
    /// # Safety
    ///
    /// Null, or a stream that stays open as long as the value, or a copy, is in use.
    pub unsafe fn new(stream: *mut FILE) -> Option<Stream> {
        NonNull::new(stream).map(Stream)
    }

    /// The standard output.
    pub fn stdout() -> Option<Stream> {
        // SAFETY: the C library sets it before any other code runs; programs may set it to another open stream.
        NonNull::new(unsafe { sys::stdout }).map(Stream)
    }

    /// The stream as a number.
    pub fn to_bits(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    /// The stream that [`Stream::to_bits`] gave.
    ///
    /// # Safety
    ///
    /// The number is a stream's, and that is still open.
    pub unsafe fn from_bits(bits: u64) -> Option<Stream> {
        NonNull::new(core::ptr::with_exposed_provenance_mut(bits as usize)).map(Stream)
    }

    /// Writes bytes behind all that the stream has been given so far. False, and nothing is done, if another thread is using the
    /// stream.
    pub fn try_write(self, text: [&[u8]; 2]) -> Option<Result<(), Errno>> {
        // SAFETY: whoever made this value vouched for the stream. The lock is recursive.
        if unsafe { sys::ftrylockfile(self.0.as_ptr()) } != 0 {
            return None;
        }
        // SAFETY: likewise; locked.
        unsafe { sys::fflush_unlocked(self.0.as_ptr()) };
        // Not through the stream's buffer: a fork at that moment would leave a copy of it, to be written twice.
        let written = match self.descriptor() {
            Some(descriptor) => write(descriptor, text),
            None => {
                for part in text {
                    // SAFETY: as above; the part is as long as it is said to be.
                    unsafe { sys::fwrite_unlocked(part.as_ptr().cast(), 1, part.len(), self.0.as_ptr()) };
                }
                // SAFETY: as above.
                unsafe { sys::fflush_unlocked(self.0.as_ptr()) };
                Ok(())
            }
        };
        // SAFETY: locked above.
        unsafe { sys::funlockfile(self.0.as_ptr()) };
        Some(written)
    }

    /// Writes bytes whoever is using the stream: past it, or not at all if it has no descriptor.
    pub fn write_past(self, text: [&[u8]; 2]) {
        if let Some(descriptor) = self.descriptor() {
            // Nobody is left who could be told of a failure.
            let _ = write(descriptor, text);
        }
    }

    fn descriptor(self) -> Option<c_int> {
        // SAFETY: whoever made this value vouched for the stream.
        let descriptor = unsafe { libc::fileno(self.0.as_ptr()) };
        (descriptor >= 0).then_some(descriptor)
    }
}

/// Gives one entry to the system's log. May wait for it, and for a thread that is in the C library's `syslog`.
pub fn log(priority: c_int, text: [&[u8]; 2]) {
    let len = |part: &[u8]| c_int::try_from(part.len()).unwrap_or(c_int::MAX);
    let [first, second] = text;
    // SAFETY: two pieces, as long as they are said to be.
    unsafe {
        sys::syslog(priority, c"%.*s%.*s".as_ptr(), len(first), first.as_ptr(), len(second), second.as_ptr());
    }
}

/// Writes all of it, however often the descriptor refuses to take more for now.
fn write(descriptor: c_int, text: [&[u8]; 2]) -> Result<(), Errno> {
    let mut left = text;
    while !left.iter().all(|part| part.is_empty()) {
        let parts = left.map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
        // SAFETY: both parts are as long as they are said to be, and are not written to.
        match ret(unsafe { libc::writev(descriptor, parts.as_ptr(), 2) } as libc::c_long) {
            Ok(0) => return Err(Errno::IO),
            Ok(written) => {
                let first = left[0].len().min(written as usize);
                left = [&left[0][first..], &left[1][written as usize - first..]];
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let mut ready = libc::pollfd { fd: descriptor, events: libc::POLLOUT, revents: 0 };
                // SAFETY: one structure, which outlives the call.
                unsafe { libc::poll(&mut ready, 1, -1) };
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
