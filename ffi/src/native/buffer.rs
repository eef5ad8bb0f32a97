//! 2.x `rt_buffer_*`, where it differs.

use core::ffi::{c_char, c_int};

use alchemy::BufferMode;

use super::would_block;
use crate::buffer;
use crate::convert::{making, waiting};
use crate::types::{RT_BUFFER, RTIME};

/// 2.x `rt_buffer_create`: unknown bits are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_buffer_create(
    bf: *mut RT_BUFFER,
    name: *const c_char,
    bufsz: usize,
    mode: c_int,
) -> c_int {
    let mode = BufferMode::from_bits_truncate(mode as u32);
    // SAFETY: the shims' contract.
    making(|| unsafe { buffer::create(bf, name, bufsz, mode) })
}

/// 2.x `rt_buffer_bind`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_buffer_bind(
    bf: *mut RT_BUFFER,
    name: *const c_char,
    timeout: RTIME,
) -> c_int {
    // SAFETY: the shims' contract.
    waiting(|| unsafe { buffer::bind(bf, name, timeout) }.map_err(would_block))
}
