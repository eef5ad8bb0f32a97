//! `rt_printf` and its family: see `include/rtdk.h`.
//!
//! Variadic functions begin in `variadic.c`. It and this file reach each other by jumps: what C defines is not exported by a Rust
//! library, and what Rust defines for C would be.

use core::arch::{global_asm, naked_asm};
use core::ffi::{CStr, c_char, c_int, c_void};

use alchemy::c::FILE;
use alchemy::print::{self, Errno, Stream, Target, VaList};
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

/// Defines `$name` for `variadic.c` as a jump to a function of this file.
macro_rules! define {
    ($name:literal, $target:ident) => {
        global_asm!(
            concat!(".pushsection .text.", $name, ", \"ax\", %progbits"),
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ", %function"),
            concat!($name, ":"),
            jump!(),
            concat!(".size ", $name, ", . - ", $name),
            ".popsection",
            sym $target
        );
    };
}

define!("alchemy_print", vprint);
define!("alchemy_log", vlog);

unsafe extern "C-unwind" {
    fn alchemy_printf(format: *const c_char, ...) -> c_int;
    fn alchemy_fprintf(stream: *mut FILE, format: *const c_char, ...) -> c_int;
    fn alchemy_syslog(priority: c_int, format: *const c_char, ...);
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

/// Makes an entry in the system's log; with arguments.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn rt_syslog() {
    naked_asm!(jump!(), sym alchemy_syslog)
}

/// Prints to the standard output.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_vprintf(format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: the shims' contract.
    queued(standard_output(), |room| unsafe { print::format(room, format, arguments) })
}

/// Prints to a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_vfprintf(stream: *mut FILE, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { vprint(stream, format, arguments) }
}

unsafe extern "C-unwind" fn vprint(stream: *mut FILE, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: the shims' contract.
    queued(unsafe { to(stream) }, |room| unsafe { print::format(room, format, arguments) })
}

/// As [`rt_vfprintf`], called by programs that were compiled with checks of buffers, which do not apply here.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __rt_vfprintf_chk(
    stream: *mut FILE,
    _level: c_int,
    format: *const c_char,
    arguments: VaList,
) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { vprint(stream, format, arguments) }
}

/// Makes an entry in the system's log.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_vsyslog(priority: c_int, format: *const c_char, arguments: VaList) {
    // SAFETY: the shims' contract.
    unsafe { vlog(priority, format, arguments) }
}

/// As [`rt_vsyslog`], called as [`__rt_vfprintf_chk`] is.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __rt_vsyslog_chk(
    priority: c_int,
    _level: c_int,
    format: *const c_char,
    arguments: VaList,
) {
    // SAFETY: the shims' contract.
    unsafe { vlog(priority, format, arguments) }
}

unsafe extern "C-unwind" fn vlog(priority: c_int, format: *const c_char, arguments: VaList) {
    // SAFETY: the shims' contract.
    queued(Some(Target::Log(priority)), |room| unsafe { print::format(room, format, arguments) });
}

fn standard_output() -> Option<Target> {
    Stream::stdout().map(Target::Stream)
}

/// # Safety
///
/// Null, or a stream that C keeps open until the text is written.
unsafe fn to(stream: *mut FILE) -> Option<Target> {
    // SAFETY: the caller's contract.
    unsafe { Stream::new(stream) }.map(Target::Stream)
}

/// Prints a line to the standard output.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_puts(s: *const c_char) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { put_string(standard_output(), s, b"\n") }
}

/// Prints a string to a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_fputs(s: *const c_char, stream: *mut FILE) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { put_string(to(stream), s, b"") }
}

unsafe fn put_string(target: Option<Target>, s: *const c_char, end: &[u8]) -> c_int {
    queued(target, |room| {
        if s.is_null() {
            return Err(Errno::INVAL);
        }
        // SAFETY: not null; the shims' contract.
        let text = unsafe { CStr::from_ptr(s) }.to_bytes();
        Ok(copy(room, text.iter().chain(end)))
    })
}

/// Copies what there is room for; tells how much there was.
fn copy<'a>(room: &mut [u8], bytes: impl Iterator<Item = &'a u8>) -> usize {
    let mut len = 0;
    for byte in bytes {
        if let Some(to) = room.get_mut(len) {
            *to = *byte;
        }
        len += 1;
    }
    len
}

/// Prints a character to a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_fputc(c: c_int, stream: *mut FILE) -> c_int {
    // SAFETY: the shims' contract.
    put_character(unsafe { to(stream) }, c)
}

/// Prints a character to the standard output.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_putchar(c: c_int) -> c_int {
    put_character(standard_output(), c)
}

fn put_character(target: Option<Target>, c: c_int) -> c_int {
    let byte = c as u8;
    match queued(target, |room| Ok(copy(room, [byte].iter()))) {
        1 => byte.into(),
        _ => -1,
    }
}

/// Prints bytes to a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_fwrite(ptr: *const c_void, size: usize, count: usize, stream: *mut FILE) -> usize {
    let Some(len) = size.checked_mul(count).filter(|&len| len > 0) else { return 0 };
    // SAFETY: the shims' contract.
    let bytes = queued(unsafe { to(stream) }, |room| {
        if ptr.is_null() {
            return Err(Errno::INVAL);
        }
        // SAFETY: not null; the shims' contract.
        let bytes = unsafe { core::slice::from_raw_parts(ptr.cast::<u8>(), len.min(room.len())) };
        room[..bytes.len()].copy_from_slice(bytes);
        Ok(len)
    });
    // What is cut in the middle of an item does not count.
    usize::try_from(bytes).map_or(0, |bytes| bytes / size)
}

/// No effect: checks on other systems that the caller is not in the real-time domain.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn assert_nrt() {}

/// No effect, as [`assert_nrt`].
#[unsafe(no_mangle)]
pub extern "C-unwind" fn assert_nrt_fast() {}

/// The number of bytes queued, or -1 and `errno`. A task that is being deleted ends here, behind its text.
fn queued(target: Option<Target>, fill: impl FnOnce(&mut [u8]) -> core::result::Result<usize, Errno>) -> c_int {
    let result = uncancelled(|| {
        let Some(target) = target else { return Err(Errno::INVAL) };
        // SAFETY: C keeps the stream open until the text is written.
        unsafe { print::print(target, fill) }
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
