//! `rt_queue_*` where 2.x differs: larger descriptors, ignored mode bits, and the whole length from a read.

use core::ffi::{c_char, c_int, c_void};

use alchemy::{DateTicks, QueueMode, QueueSettings, RelativeTicks};

use super::would_block;
use crate::convert::{making, output, waiting};
use crate::queue;
use crate::types::{NATIVE_AREA, RT_QUEUE, RTIME};

impl NATIVE_AREA {
    /// The descriptor of an object; of none if `handle` is 0.
    pub(super) fn of(handle: usize) -> NATIVE_AREA {
        NATIVE_AREA { handle, opaque2: 0, mapbase: 0, mapsize: 0, area: 0 }
    }
}

/// 2.x `rt_queue_create`: unknown bits are ignored, but shown.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_queue_create(
    queue: *mut NATIVE_AREA,
    name: *const c_char,
    poolsize: usize,
    qlimit: usize,
    mode: c_int,
) -> c_int {
    making(|| {
        // SAFETY: the shims' contract.
        let queue = unsafe { output(queue) }?;
        let shown = mode as u32;
        let mode = QueueMode::from_bits_truncate(shown);
        let settings = QueueSettings { pool_size: poolsize, limit: qlimit, mode, shown };
        // SAFETY: the shims' contract.
        unsafe { queue::create(name, settings, |handle| queue.write(NATIVE_AREA::of(handle))) }
    })
}

/// 2.x `rt_queue_read`: tells the length of the message.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_queue_read(
    queue: *mut RT_QUEUE,
    buf: *mut c_void,
    size: usize,
    timeout: RTIME,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { queue::read(queue, buf, size, true, || RelativeTicks(timeout).into()) }
}

/// 2.x `rt_queue_read_until`, likewise.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_queue_read_until(
    queue: *mut RT_QUEUE,
    buf: *mut c_void,
    size: usize,
    date: RTIME,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { queue::read(queue, buf, size, true, || DateTicks(date).into()) }
}

/// 2.x `rt_queue_bind`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_queue_bind(
    queue: *mut NATIVE_AREA,
    name: *const c_char,
    timeout: RTIME,
) -> c_int {
    waiting(|| {
        // SAFETY: the shims' contract.
        let queue = unsafe { output(queue) }?;
        // SAFETY: the shims' contract.
        queue.write(NATIVE_AREA::of(unsafe { queue::bind(name, timeout) }.map_err(would_block)?));
        Ok(())
    })
}
