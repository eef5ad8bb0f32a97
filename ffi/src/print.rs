//! `rt_printf` and its family: see `include/rtdk.h`.
//!
//! Variadic functions begin in `variadic.c`. It and this file reach each other by jumps: what C defines is not exported by a Rust
//! library, and what Rust defines for C would be.

use core::arch::{global_asm, naked_asm};
use core::ffi::{CStr, c_char, c_int};

use alchemy::c::FILE;
use alchemy::print::{self, Errno, Stream, VaList};
use alchemy::runtime::uncancelled;
use alchemy::task::obey_requests;
use alchemy::{Error, Result};

#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "jmp {}"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b {}"
    };
}

global_asm!(
    ".pushsection .text.alchemy_print, \"ax\", %progbits",
    ".globl alchemy_print",
    ".hidden alchemy_print",
    ".type alchemy_print, %function",
    "alchemy_print:",
    jump!(),
    ".size alchemy_print, . - alchemy_print",
    ".popsection",
    sym vprint
);

unsafe extern "C-unwind" {
    fn alchemy_printf(format: *const c_char, ...) -> c_int;
    fn alchemy_fprintf(stream: *mut FILE, format: *const c_char, ...) -> c_int;
}

/// Prints to the standard output; with arguments.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn rt_printf() -> c_int {
    naked_asm!(jump!(), sym alchemy_printf)
}

/// Prints to a stream; with arguments.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn rt_fprintf() -> c_int {
    naked_asm!(jump!(), sym alchemy_fprintf)
}

/// Prints to the standard output.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_vprintf(format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: the shims' contract.
    queued(Stream::stdout(), |room| unsafe { print::format(room, format, arguments) })
}

/// Prints to a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_vfprintf(stream: *mut FILE, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { vprint(stream, format, arguments) }
}

unsafe extern "C-unwind" fn vprint(stream: *mut FILE, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: the shims' contract.
    queued(unsafe { Stream::new(stream) }, |room| unsafe { print::format(room, format, arguments) })
}

/// Prints a line to the standard output.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_puts(s: *const c_char) -> c_int {
    queued(Stream::stdout(), |room| {
        if s.is_null() {
            return Err(Errno::INVAL);
        }
        // SAFETY: not null; the shims' contract.
        let text = unsafe { CStr::from_ptr(s) }.to_bytes();
        room.iter_mut().zip(text.iter().chain(b"\n")).for_each(|(to, byte)| *to = *byte);
        Ok(text.len() + 1)
    })
}

/// The number of bytes queued, or -1 and `errno`. A task that is being deleted ends here, behind its text.
fn queued(stream: Option<Stream>, fill: impl FnOnce(&mut [u8]) -> core::result::Result<usize, Errno>) -> c_int {
    let result = uncancelled(|| {
        let Some(stream) = stream else { return Err(Errno::INVAL) };
        // SAFETY: C keeps the stream open until the text is written.
        unsafe { print::print(stream, fill) }
    });
    obey_requests();
    match result {
        Ok(bytes) => c_int::try_from(bytes).unwrap_or(c_int::MAX),
        Err(errno) => {
            errno.set();
            -1
        }
    }
}

/// No effect: threads always get a buffer when they print first.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_print_auto_init(_enable: c_int) {}

/// Makes or changes the calling thread's buffer. The error number is not negated.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_print_init(buffer_size: usize, name: *const c_char) -> c_int {
    // SAFETY: null, or a string, which the shims' contract says.
    let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    uncancelled(|| positive(print::init(buffer_size, name.to_bytes())))
}

fn positive(result: Result<()>) -> c_int {
    result.err().map_or(0, Error::errno)
}

/// The name of the calling thread's buffer.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_print_buffer_name() -> *const c_char {
    print::ring_name().unwrap_or(core::ptr::null())
}

/// Writes out what has been printed.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_print_flush_buffers() {
    flush();
}

/// Writes out what has been printed.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_print_cleanup() {
    flush();
}

fn flush() {
    // A task that is suspended or deleted meanwhile does not wait here for a stream that another one keeps.
    while !uncancelled(print::flush) {
        obey_requests();
    }
}
