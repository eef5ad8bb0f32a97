//! `rt_heap_*` where 2.x differs: larger descriptors, values of constants, and sizes that are always checked.

use core::ffi::{c_char, c_int, c_void};

use alchemy::{Error, HeapMode, HeapRef, RelativeTicks};

use super::would_block;
use crate::convert::{self, cold, making, output, ret, waiting};
use crate::heap;
use crate::types::{NATIVE_AREA, NATIVE_HEAP_INFO, RT_HEAP, RTIME};

const H_PRIO: c_int = 0x1;
const H_SINGLE: c_int = 0x400;

/// 2.x `rt_heap_create`: its own value of `H_SINGLE`; unknown bits are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_heap_create(
    heap: *mut NATIVE_AREA,
    name: *const c_char,
    heapsize: usize,
    mode: c_int,
) -> c_int {
    let mut flags = HeapMode::empty();
    flags.set(HeapMode::PRIORITY, mode & H_PRIO != 0);
    flags.set(HeapMode::SINGLE, mode & H_SINGLE != 0);
    making(|| {
        // SAFETY: the shims' contract.
        let heap = unsafe { output(heap) }?;
        // SAFETY: the shims' contract.
        unsafe { heap::create(name, heapsize, flags, |handle| heap.write(NATIVE_AREA::of(handle))) }
    })
}

/// 2.x `rt_heap_delete`: clears the descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_heap_delete(desc: *mut NATIVE_AREA) -> c_int {
    making(|| {
        // SAFETY: the shims' contract.
        let heap = unsafe { output(desc) }?;
        // SAFETY: the shims' contract; the larger descriptor begins with the smaller one.
        unsafe { convert::heap(desc.cast()) }.and_then(HeapRef::delete)?;
        heap.write(NATIVE_AREA::of(0));
        Ok(())
    })
}

/// 2.x `rt_heap_alloc`: the size of a single block is checked each time.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_heap_alloc(
    heap: *mut RT_HEAP,
    size: usize,
    timeout: RTIME,
    blockp: *mut *mut c_void,
) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { heap::alloc(heap, size, true, || RelativeTicks(timeout).into(), blockp) }
}

/// 2.x `rt_heap_free`: null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_heap_free(heap: *mut RT_HEAP, block: *mut c_void) -> c_int {
    if block.is_null() {
        return ret(Err(Error::Invalid));
    }
    // SAFETY: the shims' contract.
    unsafe { heap::free(heap, block) }
}

/// 2.x `rt_heap_inquire`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_heap_inquire(heap: *mut RT_HEAP, info: *mut NATIVE_HEAP_INFO) -> c_int {
    cold(|| {
        // SAFETY: the shims' contract.
        let seen = unsafe { convert::heap(heap) }?.inquire()?;
        let mut mode = 0;
        if seen.mode.contains(HeapMode::PRIORITY) {
            mode |= H_PRIO;
        }
        if seen.mode.contains(HeapMode::SINGLE) {
            mode |= H_SINGLE;
        }
        // SAFETY: the shims' contract.
        unsafe { output(info) }?.write(NATIVE_HEAP_INFO { heap: heap::info(&seen, mode), phys_addr: 0 });
        Ok(())
    })
}

/// 2.x `rt_heap_bind`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_heap_bind(
    heap: *mut NATIVE_AREA,
    name: *const c_char,
    timeout: RTIME,
) -> c_int {
    waiting(|| {
        // SAFETY: the shims' contract.
        let heap = unsafe { output(heap) }?;
        // SAFETY: the shims' contract.
        heap.write(NATIVE_AREA::of(unsafe { heap::bind(name, timeout) }.map_err(would_block)?));
        Ok(())
    })
}
