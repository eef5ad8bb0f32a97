//! `rt_heap_*`: see `include/alchemy/heap.h`.

use core::ffi::{c_char, c_int, c_void};

use alchemy::c::timespec;
use alchemy::{DateTicks, Error, HeapInfo, HeapMode, HeapRef, RelativeTicks, Result, Timeout};

use crate::convert::{
    cold, heap, making, name, name_buffer, output, ret, timeout as limit, waiting, waiting_briefly, wanted,
};
use crate::init;
use crate::types::{RT_HEAP, RT_HEAP_INFO, RTIME};

pub(crate) unsafe fn create(
    label: *const c_char,
    size: usize,
    mode: HeapMode,
    ready: impl FnOnce(usize),
) -> Result<()> {
    init::ensure();
    // SAFETY: the shims' contract.
    HeapRef::create(unsafe { name(label) }, size, mode, |handle| ready(handle.to_raw())).map(|_| ())
}

pub(crate) unsafe fn bind(label: *const c_char, limit: RTIME) -> Result<usize> {
    init::ensure();
    // SAFETY: the shims' contract.
    HeapRef::bind(unsafe { wanted(label) }?, RelativeTicks(limit).into()).map(|found| found.handle().to_raw())
}

#[inline(always)]
pub(crate) unsafe fn alloc(
    desc: *mut RT_HEAP,
    size: usize,
    strict: bool,
    timeout: impl FnOnce() -> Timeout,
    blockp: *mut *mut c_void,
) -> c_int {
    // SAFETY: the shims' contract.
    if let (Ok(heap), Ok(block)) = unsafe { (heap(desc), output(blockp)) }
        && let Some(address) = heap.alloc_at_once(size)
    {
        block.write(address.as_ptr().cast());
        return 0;
    }
    // SAFETY: the shims' contract.
    unsafe { alloc_otherwise(desc, size, strict, timeout(), blockp) }
}

/// Out of line, and of the same kind as the shim, so that the common case needs little of the stack.
#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
unsafe extern "C-unwind" fn alloc_otherwise(
    desc: *mut RT_HEAP,
    size: usize,
    strict: bool,
    timeout: Timeout,
    blockp: *mut *mut c_void,
) -> c_int {
    // SAFETY: the shims' contract.
    if let (Ok(heap), Ok(block)) = unsafe { (heap(desc), output(blockp)) }
        && let Some(address) = heap.alloc_uncontended(size)
    {
        block.write(address.as_ptr().cast());
        return 0;
    }
    waiting_briefly(|| {
        // SAFETY: the shims' contract.
        let (heap, block) = unsafe { (heap(desc)?, output(blockp)?) };
        match heap.alloc_raw(size, strict, timeout) {
            Ok(address) => {
                block.write(address.as_ptr().cast());
                Ok(())
            }
            Err(error) => {
                let heap_is_there = || error != Error::Invalid || heap.inquire().is_ok();
                let untouched = matches!(error, Error::Permission | Error::Removed | Error::Cancelled);
                if !untouched && heap_is_there() {
                    block.write(core::ptr::null_mut());
                }
                Err(error)
            }
        }
    })
}

#[inline(always)]
pub(crate) unsafe fn free(desc: *mut RT_HEAP, block: *mut c_void) -> c_int {
    // SAFETY: the shims' contract; that nobody uses the block any more is the program's.
    match unsafe { heap(desc) } {
        // SAFETY: as above.
        Ok(heap) if unsafe { heap.free_at_once(block.cast()) } => 0,
        Ok(heap) => free_otherwise(heap, block),
        Err(error) => ret(Err(error)),
    }
}

/// Out of line, as `alloc_otherwise`.
#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
extern "C-unwind" fn free_otherwise(heap: HeapRef, block: *mut c_void) -> c_int {
    // SAFETY: as in `free`.
    unsafe { if heap.free_uncontended(block.cast()) { 0 } else { ret(heap.free_raw(block.cast())) } }
}

pub(crate) fn info(seen: &HeapInfo, mode: c_int) -> RT_HEAP_INFO {
    RT_HEAP_INFO {
        nwaiters: seen.waiters as c_int,
        mode,
        heapsize: seen.size as usize,
        usablemem: seen.usable as usize,
        usedmem: seen.used as usize,
        name: name_buffer(seen.name),
    }
}

/// Makes a heap.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_heap_create(
    heap: *mut RT_HEAP,
    name: *const c_char,
    heapsize: usize,
    mode: c_int,
) -> c_int {
    making(|| {
        // SAFETY: the shims' contract.
        let heap = unsafe { output(heap) }?;
        let mode = HeapMode::from_bits_retain(mode as u32);
        // SAFETY: the shims' contract.
        unsafe { create(name, heapsize, mode, |handle| heap.write(RT_HEAP { handle })) }
    })
}

/// Deletes a heap.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_heap_delete(desc: *mut RT_HEAP) -> c_int {
    // SAFETY: the shims' contract.
    making(|| unsafe { heap(desc) }.and_then(HeapRef::delete))
}

/// Allocates a block; relative timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_heap_alloc(
    heap: *mut RT_HEAP,
    size: usize,
    timeout: RTIME,
    blockp: *mut *mut c_void,
) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { alloc(heap, size, false, || RelativeTicks(timeout).into(), blockp) }
}

/// Allocates a block; date in ticks.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_heap_alloc_until(
    heap: *mut RT_HEAP,
    size: usize,
    timeout: RTIME,
    blockp: *mut *mut c_void,
) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { alloc(heap, size, false, || DateTicks(timeout).into(), blockp) }
}

/// Allocates a block; date as a timespec.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_heap_alloc_timed(
    heap: *mut RT_HEAP,
    size: usize,
    date: *const timespec,
    blockp: *mut *mut c_void,
) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { alloc(heap, size, false, || limit(date), blockp) }
}

/// Frees a block.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_heap_free(heap: *mut RT_HEAP, block: *mut c_void) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { free(heap, block) }
}

/// Looks at a heap.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_heap_inquire(desc: *mut RT_HEAP, info: *mut RT_HEAP_INFO) -> c_int {
    cold(|| {
        // SAFETY: the shims' contract.
        let seen = unsafe { heap(desc) }?.inquire()?;
        // SAFETY: the shims' contract.
        unsafe { output(info) }?.write(self::info(&seen, seen.mode.bits() as c_int));
        Ok(())
    })
}

/// Finds a heap by name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_heap_bind(heap: *mut RT_HEAP, name: *const c_char, timeout: RTIME) -> c_int {
    waiting(|| {
        // SAFETY: the shims' contract.
        let heap = unsafe { output(heap) }?;
        // SAFETY: the shims' contract.
        heap.write(RT_HEAP { handle: unsafe { bind(name, timeout) }? });
        Ok(())
    })
}

/// Zeroes a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_heap_unbind(heap: *mut RT_HEAP) -> c_int {
    // SAFETY: the shims' contract.
    ret(unsafe { output(heap) }.map(|heap| heap.write(RT_HEAP { handle: 0 })))
}
