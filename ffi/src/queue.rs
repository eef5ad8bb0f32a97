//! `rt_queue_*`: see `include/alchemy/queue.h`.

use core::ffi::{c_char, c_int, c_void};

use alchemy::c::timespec;
use alchemy::{DateTicks, Error, QueueMode, QueueRef, QueueSettings, RelativeTicks, Result, SendMode, Timeout};

use crate::convert::{
    cold, making, name, name_buffer, output, queue, ret, ret_count, timeout as limit, waiting, waiting_for_count,
    wanted,
};
use crate::init;
use crate::types::{RT_QUEUE, RT_QUEUE_INFO, RTIME};

pub(crate) unsafe fn create(label: *const c_char, settings: QueueSettings, ready: impl FnOnce(usize)) -> Result<()> {
    init::ensure();
    // SAFETY: the shims' contract.
    QueueRef::create(unsafe { name(label) }, settings, |handle| ready(handle.to_raw())).map(|_| ())
}

pub(crate) unsafe fn bind(label: *const c_char, limit: RTIME) -> Result<usize> {
    init::ensure();
    // SAFETY: the shims' contract.
    QueueRef::bind(unsafe { wanted(label) }?, RelativeTicks(limit).into()).map(|found| found.handle().to_raw())
}

/// How many bytes were copied, or, `whole`, the size of the message, which may be more than there is room for.
#[inline(always)]
pub(crate) unsafe fn read(
    desc: *mut RT_QUEUE,
    buf: *mut c_void,
    size: usize,
    whole: bool,
    timeout: impl FnOnce() -> Timeout,
) -> isize {
    if size == 0 {
        return 0;
    }
    // SAFETY: the shims' contract.
    if let Ok(queue) = unsafe { queue(desc) }
        && !buf.is_null()
        // SAFETY: the shims' contract.
        && let Some(found) = unsafe { queue.read_at_once(buf.cast(), size) }
    {
        return count_of(found, size, whole) as isize;
    }
    // SAFETY: the shims' contract.
    unsafe { read_otherwise(desc, buf, size, whole, timeout()) }
}

/// Whoever wrote the message may have said anything of its size; a count is not negative.
#[inline(always)]
fn count_of(found: usize, room: usize, whole: bool) -> usize {
    found.min(if whole { isize::MAX as usize } else { room })
}

/// Out of line, and of the same kind as the shims, so that the common case needs little of the stack; as are those below.
#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
unsafe extern "C-unwind" fn read_otherwise(
    desc: *mut RT_QUEUE,
    buf: *mut c_void,
    size: usize,
    whole: bool,
    timeout: Timeout,
) -> isize {
    // SAFETY: the shims' contract.
    if let Ok(queue) = unsafe { queue(desc) }
        && !buf.is_null()
        // SAFETY: the shims' contract.
        && let Some(found) = unsafe { queue.read_uncontended(buf.cast(), size) }
    {
        return count_of(found, size, whole) as isize;
    }
    waiting_for_count(|| {
        if buf.is_null() {
            return Err(Error::Invalid);
        }
        // SAFETY: the shims' contract.
        let found = unsafe { queue(desc)?.read_raw(buf.cast(), size, timeout) }?;
        Ok(count_of(found, size, whole))
    })
}

#[inline(always)]
unsafe fn receive(desc: *mut RT_QUEUE, bufp: *mut *mut c_void, timeout: impl FnOnce() -> Timeout) -> isize {
    // SAFETY: the shims' contract.
    if let (Ok(queue), Ok(buf)) = unsafe { (queue(desc), output(bufp)) }
        && let Some((content, size)) = queue.receive_at_once()
    {
        buf.write(content.as_ptr().cast());
        return size as isize;
    }
    // SAFETY: the shims' contract.
    unsafe { receive_otherwise(desc, bufp, timeout()) }
}

#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
unsafe extern "C-unwind" fn receive_otherwise(desc: *mut RT_QUEUE, bufp: *mut *mut c_void, timeout: Timeout) -> isize {
    waiting_for_count(|| {
        // SAFETY: the shims' contract.
        let (queue, buf) = unsafe { (queue(desc)?, output(bufp)?) };
        let (content, size) = queue.receive_raw(timeout)?;
        buf.write(content.as_ptr().cast());
        Ok(size)
    })
}

fn count(work: impl Fn() -> Result<u32>) -> c_int {
    ret_count(work().map(|count| count as usize)) as c_int
}

#[cold]
#[inline(never)]
unsafe extern "C-unwind" fn alloc_otherwise(desc: *mut RT_QUEUE, size: usize) -> *mut c_void {
    // SAFETY: the shims' contract.
    let wanted = unsafe { queue(desc) };
    match wanted.and_then(|queue| queue.alloc_uncontended(size).map_or_else(|| queue.alloc_raw(size), Ok)) {
        Ok(content) => content.as_ptr().cast(),
        Err(_) => core::ptr::null_mut(),
    }
}

#[cold]
#[inline(never)]
unsafe extern "C-unwind" fn free_otherwise(desc: *mut RT_QUEUE, buf: *mut c_void) -> c_int {
    let freed = |queue: QueueRef| if queue.free_uncontended(buf.cast()) { Ok(()) } else { queue.free_raw(buf.cast()) };
    // SAFETY: the shims' contract.
    ret(unsafe { queue(desc) }.and_then(freed))
}

#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
unsafe extern "C-unwind" fn send_otherwise(
    desc: *mut RT_QUEUE,
    buf: *const c_void,
    size: usize,
    mode: SendMode,
) -> c_int {
    count(|| {
        // SAFETY: the shims' contract.
        let queue = unsafe { queue(desc) }?;
        let sent = queue.send_uncontended(buf.cast(), size, mode);
        if sent { Ok(0) } else { queue.send_raw(buf.cast(), size, mode) }
    })
}

#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
unsafe extern "C-unwind" fn write_otherwise(
    desc: *mut RT_QUEUE,
    buf: *const c_void,
    size: usize,
    mode: SendMode,
) -> c_int {
    // SAFETY: the shims' contract.
    count(|| unsafe {
        let queue = queue(desc)?;
        if queue.write_uncontended(buf.cast(), size, mode) { Ok(0) } else { queue.write_raw(buf.cast(), size, mode) }
    })
}

/// Makes a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_create(
    queue: *mut RT_QUEUE,
    name: *const c_char,
    poolsize: usize,
    qlimit: usize,
    mode: c_int,
) -> c_int {
    making(|| {
        // SAFETY: the shims' contract.
        let queue = unsafe { output(queue) }?;
        let bits = mode as u32;
        let mode = QueueMode::from_bits_retain(bits);
        let settings = QueueSettings { pool_size: poolsize, limit: qlimit, mode, shown: bits };
        // SAFETY: the shims' contract.
        unsafe { create(name, settings, |handle| queue.write(RT_QUEUE { handle })) }
    })
}

/// Deletes a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_delete(desc: *mut RT_QUEUE) -> c_int {
    // SAFETY: the shims' contract.
    making(|| unsafe { queue(desc) }.and_then(QueueRef::delete))
}

/// Allocates a message.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_alloc(desc: *mut RT_QUEUE, size: usize) -> *mut c_void {
    // SAFETY: the shims' contract.
    if let Ok(queue) = unsafe { queue(desc) }
        && let Some(content) = queue.alloc_at_once(size)
    {
        return content.as_ptr().cast();
    }
    // SAFETY: the shims' contract.
    unsafe { alloc_otherwise(desc, size) }
}

/// Lets go of a message.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_free(desc: *mut RT_QUEUE, buf: *mut c_void) -> c_int {
    // SAFETY: the shims' contract.
    if let Ok(queue) = unsafe { queue(desc) }
        && queue.free_at_once(buf.cast())
    {
        return 0;
    }
    // SAFETY: the shims' contract.
    unsafe { free_otherwise(desc, buf) }
}

/// Sends a message.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_send(
    desc: *mut RT_QUEUE,
    buf: *const c_void,
    size: usize,
    mode: c_int,
) -> c_int {
    let mode = SendMode::from_bits_retain(mode as u32);
    // SAFETY: the shims' contract.
    if let Ok(queue) = unsafe { queue(desc) }
        && queue.send_at_once(buf.cast(), size, mode)
    {
        return 0;
    }
    // SAFETY: the shims' contract.
    unsafe { send_otherwise(desc, buf, size, mode) }
}

/// Sends a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_write(
    desc: *mut RT_QUEUE,
    buf: *const c_void,
    size: usize,
    mode: c_int,
) -> c_int {
    let mode = SendMode::from_bits_retain(mode as u32);
    // SAFETY: the shims' contract.
    if let Ok(queue) = unsafe { queue(desc) }
        // SAFETY: the shims' contract.
        && unsafe { queue.write_at_once(buf.cast(), size, mode) }
    {
        return 0;
    }
    // SAFETY: the shims' contract.
    unsafe { write_otherwise(desc, buf, size, mode) }
}

/// Receives a message; relative timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_receive(
    queue: *mut RT_QUEUE,
    bufp: *mut *mut c_void,
    timeout: RTIME,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { receive(queue, bufp, || RelativeTicks(timeout).into()) }
}

/// Receives a message; date in ticks.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_receive_until(
    queue: *mut RT_QUEUE,
    bufp: *mut *mut c_void,
    timeout: RTIME,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { receive(queue, bufp, || DateTicks(timeout).into()) }
}

/// Receives a message: the name before 2.2.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_recv(queue: *mut RT_QUEUE, bufp: *mut *mut c_void, timeout: RTIME) -> isize {
    // SAFETY: the shims' contract.
    unsafe { receive(queue, bufp, || RelativeTicks(timeout).into()) }
}

/// Receives a message; date as a timespec.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_receive_timed(
    queue: *mut RT_QUEUE,
    bufp: *mut *mut c_void,
    date: *const timespec,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { receive(queue, bufp, || limit(date)) }
}

/// Copies a message; relative timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_read(
    queue: *mut RT_QUEUE,
    buf: *mut c_void,
    size: usize,
    timeout: RTIME,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { read(queue, buf, size, false, || RelativeTicks(timeout).into()) }
}

/// Copies a message; date in ticks.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_read_until(
    queue: *mut RT_QUEUE,
    buf: *mut c_void,
    size: usize,
    timeout: RTIME,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { read(queue, buf, size, false, || DateTicks(timeout).into()) }
}

/// Copies a message; date as a timespec.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_read_timed(
    queue: *mut RT_QUEUE,
    buf: *mut c_void,
    size: usize,
    date: *const timespec,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { read(queue, buf, size, false, || limit(date)) }
}

/// Frees all queued messages.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_flush(desc: *mut RT_QUEUE) -> c_int {
    // SAFETY: the shims' contract.
    count(|| unsafe { queue(desc) }?.flush())
}

/// Looks at a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_inquire(desc: *mut RT_QUEUE, info: *mut RT_QUEUE_INFO) -> c_int {
    cold(|| {
        // SAFETY: the shims' contract.
        let seen = unsafe { queue(desc) }?.inquire()?;
        // SAFETY: the shims' contract.
        unsafe { output(info) }?.write(RT_QUEUE_INFO {
            nwaiters: seen.waiters as c_int,
            nmessages: seen.messages as c_int,
            mode: seen.mode as c_int,
            qlimit: seen.limit as usize,
            poolsize: seen.pool_size as usize,
            usedmem: seen.used as usize,
            name: name_buffer(seen.name),
        });
        Ok(())
    })
}

/// Finds a queue by name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_bind(queue: *mut RT_QUEUE, name: *const c_char, timeout: RTIME) -> c_int {
    waiting(|| {
        // SAFETY: the shims' contract.
        let queue = unsafe { output(queue) }?;
        // SAFETY: the shims' contract.
        queue.write(RT_QUEUE { handle: unsafe { bind(name, timeout) }? });
        Ok(())
    })
}

/// Zeroes a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_queue_unbind(queue: *mut RT_QUEUE) -> c_int {
    // SAFETY: the shims' contract.
    ret(unsafe { output(queue) }.map(|queue| queue.write(RT_QUEUE { handle: 0 })))
}
