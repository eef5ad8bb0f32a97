//! 2.x condition variables.

use core::ffi::{c_char, c_int};

use alchemy::ConditionRef;

use super::would_block;
use crate::cond;
use crate::convert::{cold, condition, making, name_buffer, output, waiting};
use crate::types::{NATIVE_COND_INFO, RT_COND, RTIME};

/// 2.x `rt_cond_delete`: also of a condition variable that is waited for.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_cond_delete(cond: *mut RT_COND) -> c_int {
    // SAFETY: the shims' contract.
    making(|| unsafe { condition(cond) }.and_then(ConditionRef::delete_by_force))
}

/// 2.x `rt_cond_inquire`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_cond_inquire(cond: *mut RT_COND, info: *mut NATIVE_COND_INFO) -> c_int {
    cold(|| {
        // SAFETY: the shims' contract.
        let seen = unsafe { condition(cond) }?.inquire()?;
        // SAFETY: the shims' contract.
        let info = unsafe { output(info) }?;
        info.write(NATIVE_COND_INFO { nwaiters: seen.waiters as c_int, name: name_buffer(seen.name) });
        Ok(())
    })
}

/// 2.x `rt_cond_bind`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_cond_bind(
    cond: *mut RT_COND,
    name: *const c_char,
    timeout: RTIME,
) -> c_int {
    // SAFETY: the shims' contract.
    waiting(|| unsafe { cond::bind(cond, name, timeout) }.map_err(would_block))
}
