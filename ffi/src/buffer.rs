//! `rt_buffer_*`: see `include/alchemy/buffer.h`.

use core::ffi::{c_char, c_int, c_void};

use alchemy::c::timespec;
use alchemy::{BufferMode, BufferRef, DateTicks, Error, RelativeTicks, Result, Timeout};

use crate::convert::{
    brief, buffer, cold, making, name, name_buffer, output, ret, ret_count, timeout, waiting, waiting_for_count, wanted,
};
use crate::init;
use crate::types::{RT_BUFFER, RT_BUFFER_INFO, RTIME};

pub(crate) unsafe fn create(bf: *mut RT_BUFFER, label: *const c_char, size: usize, mode: BufferMode) -> Result<()> {
    init::ensure();
    // SAFETY: the shims' contract.
    let bf = unsafe { output(bf) }?;
    // SAFETY: the shims' contract.
    BufferRef::create(unsafe { name(label) }, size, mode, |handle| bf.write(RT_BUFFER { handle: handle.to_raw() }))
        .map(|_| ())
}

pub(crate) unsafe fn bind(bf: *mut RT_BUFFER, label: *const c_char, limit: RTIME) -> Result<()> {
    init::ensure();
    // SAFETY: the shims' contract.
    let bf = unsafe { output(bf) }?;
    // SAFETY: the shims' contract.
    let found = BufferRef::bind(unsafe { wanted(label) }?, RelativeTicks(limit).into())?;
    bf.write(RT_BUFFER { handle: found.handle().to_raw() });
    Ok(())
}

/// Makes a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_buffer_create(
    bf: *mut RT_BUFFER,
    name: *const c_char,
    bufsz: usize,
    mode: c_int,
) -> c_int {
    let mode = BufferMode::from_bits_retain(mode as u32);
    // SAFETY: the shims' contract.
    making(|| unsafe { create(bf, name, bufsz, mode) })
}

/// Deletes a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_buffer_delete(bf: *mut RT_BUFFER) -> c_int {
    // SAFETY: the shims' contract.
    making(|| unsafe { buffer(bf) }.and_then(BufferRef::delete))
}

/// The buffer of a transfer of at least one byte.
#[inline(always)]
unsafe fn target(bf: *mut RT_BUFFER, memory: *const c_void) -> Result<BufferRef> {
    // SAFETY: the shims' contract.
    let buffer = unsafe { buffer(bf) }?;
    if memory.is_null() { Err(Error::Invalid) } else { Ok(buffer) }
}

#[inline(always)]
unsafe fn read(bf: *mut RT_BUFFER, memory: *mut c_void, size: usize, limit: impl FnOnce() -> Timeout) -> isize {
    if size == 0 {
        return 0;
    }
    // SAFETY: the shims' contract.
    match unsafe { target(bf, memory) } {
        // SAFETY: the shims' contract.
        Ok(buffer) if unsafe { buffer.read_at_once(memory.cast(), size) } => size as isize,
        Ok(buffer) => read_otherwise(buffer, memory, size, limit()),
        Err(error) => ret_count(Err(error)),
    }
}

/// Out of line, and of the same kind as the shim, so that the common case needs little of the stack.
#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
extern "C-unwind" fn read_otherwise(buffer: BufferRef, memory: *mut c_void, size: usize, limit: Timeout) -> isize {
    // SAFETY: the shims' contract.
    if unsafe { buffer.read_uncontended(memory.cast(), size) } {
        return size as isize;
    }
    // SAFETY: the shims' contract.
    waiting_for_count(|| unsafe { buffer.read_to(memory.cast(), size, limit) })
}

#[inline(always)]
unsafe fn write(bf: *mut RT_BUFFER, memory: *const c_void, size: usize, limit: impl FnOnce() -> Timeout) -> isize {
    if size == 0 {
        return 0;
    }
    // SAFETY: the shims' contract.
    match unsafe { target(bf, memory) } {
        // SAFETY: the shims' contract.
        Ok(buffer) if unsafe { buffer.write_at_once(memory.cast(), size) } => size as isize,
        Ok(buffer) => write_otherwise(buffer, memory, size, limit()),
        Err(error) => ret_count(Err(error)),
    }
}

/// Out of line, as `read_otherwise`.
#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
extern "C-unwind" fn write_otherwise(buffer: BufferRef, memory: *const c_void, size: usize, limit: Timeout) -> isize {
    // SAFETY: the shims' contract.
    if unsafe { buffer.write_uncontended(memory.cast(), size) } {
        return size as isize;
    }
    // SAFETY: the shims' contract.
    waiting_for_count(|| unsafe { buffer.write_from(memory.cast(), size, limit) })
}

/// Reads bytes; relative timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_buffer_read(
    bf: *mut RT_BUFFER,
    ptr: *mut c_void,
    size: usize,
    timeout: RTIME,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { read(bf, ptr, size, || RelativeTicks(timeout).into()) }
}

/// Reads bytes; date in ticks.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_buffer_read_until(
    bf: *mut RT_BUFFER,
    ptr: *mut c_void,
    size: usize,
    date: RTIME,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { read(bf, ptr, size, || DateTicks(date).into()) }
}

/// Reads bytes; date as a timespec.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_buffer_read_timed(
    bf: *mut RT_BUFFER,
    ptr: *mut c_void,
    size: usize,
    date: *const timespec,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { read(bf, ptr, size, || timeout(date)) }
}

/// Writes bytes; relative timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_buffer_write(
    bf: *mut RT_BUFFER,
    ptr: *const c_void,
    size: usize,
    timeout: RTIME,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { write(bf, ptr, size, || RelativeTicks(timeout).into()) }
}

/// Writes bytes; date in ticks.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_buffer_write_until(
    bf: *mut RT_BUFFER,
    ptr: *const c_void,
    size: usize,
    date: RTIME,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { write(bf, ptr, size, || DateTicks(date).into()) }
}

/// Writes bytes; date as a timespec.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_buffer_write_timed(
    bf: *mut RT_BUFFER,
    ptr: *const c_void,
    size: usize,
    date: *const timespec,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { write(bf, ptr, size, || timeout(date)) }
}

/// Drops what is stored.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_buffer_clear(bf: *mut RT_BUFFER) -> c_int {
    // SAFETY: the shims' contract.
    brief(|| unsafe { buffer(bf) }.and_then(BufferRef::clear))
}

/// Looks at a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_buffer_inquire(bf: *mut RT_BUFFER, info: *mut RT_BUFFER_INFO) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| {
        // SAFETY: the shims' contract.
        let seen = unsafe { buffer(bf) }?.inquire()?;
        // SAFETY: the shims' contract.
        unsafe { output(info) }?.write(RT_BUFFER_INFO {
            iwaiters: seen.readers as c_int,
            owaiters: seen.writers as c_int,
            totalmem: seen.size,
            availmem: seen.free,
            name: name_buffer(seen.name),
        });
        Ok(())
    })
}

/// Finds a buffer by name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_buffer_bind(bf: *mut RT_BUFFER, name: *const c_char, timeout: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    waiting(|| unsafe { bind(bf, name, timeout) })
}

/// Zeroes a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_buffer_unbind(bf: *mut RT_BUFFER) -> c_int {
    // SAFETY: the shims' contract.
    ret(unsafe { output(bf) }.map(|bf| bf.write(RT_BUFFER { handle: 0 })))
}
