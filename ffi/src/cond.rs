//! `rt_cond_*`: see `include/alchemy/cond.h`.

use core::ffi::{c_char, c_int};

use alchemy::c::timespec;
use alchemy::{ConditionRef, DateTicks, Handle, MutexRef, RelativeTicks, Result, Timeout};

use crate::convert::{
    brief, cold, condition, making, mutex, name, name_buffer, output, ret, timeout, waiting, waiting_briefly, wanted,
};
use crate::init;
use crate::types::{RT_COND, RT_COND_INFO, RT_MUTEX, RTIME};

pub(crate) unsafe fn bind(desc: *mut RT_COND, label: *const c_char, limit: RTIME) -> Result<()> {
    init::ensure();
    // SAFETY: the shims' contract.
    let desc = unsafe { output(desc) }?;
    // SAFETY: the shims' contract.
    let found = ConditionRef::bind(unsafe { wanted(label) }?, RelativeTicks(limit).into())?;
    desc.write(RT_COND { handle: found.handle().to_raw() });
    Ok(())
}

/// Makes a condition variable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_cond_create(cond: *mut RT_COND, label: *const c_char) -> c_int {
    making(|| {
        init::ensure();
        // SAFETY: the shims' contract.
        let cond = unsafe { output(cond) }?;
        // SAFETY: the shims' contract.
        let label = unsafe { name(label) };
        ConditionRef::create(label, |handle| cond.write(RT_COND { handle: handle.to_raw() })).map(|_| ())
    })
}

/// Deletes a condition variable that nobody waits for.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_cond_delete(cond: *mut RT_COND) -> c_int {
    // SAFETY: the shims' contract.
    making(|| unsafe { condition(cond) }.and_then(ConditionRef::delete))
}

/// The body of the waits. Who only polls is told so even of bad descriptors; hence they are looked at inside.
unsafe fn wait(cond: *mut RT_COND, lock: *mut RT_MUTEX, limit: Timeout) -> c_int {
    // SAFETY: the shims' contract.
    let cond = unsafe { condition(cond) }.unwrap_or(ConditionRef::from_handle(Handle::NONE));
    // SAFETY: the shims' contract.
    let lock = unsafe { mutex(lock) }.unwrap_or(MutexRef::from_handle(Handle::NONE));
    waiting_briefly(|| cond.wait_with(lock, limit))
}

/// Waits for a signal; relative timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_cond_wait(cond: *mut RT_COND, mutex: *mut RT_MUTEX, timeout: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { wait(cond, mutex, RelativeTicks(timeout).into()) }
}

/// Waits for a signal; date in ticks.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_cond_wait_until(cond: *mut RT_COND, mutex: *mut RT_MUTEX, date: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { wait(cond, mutex, DateTicks(date).into()) }
}

/// Waits for a signal; date as a timespec.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_cond_wait_timed(
    cond: *mut RT_COND,
    mutex: *mut RT_MUTEX,
    date: *const timespec,
) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { wait(cond, mutex, timeout(date)) }
}

/// Releases the first waiter.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_cond_signal(cond: *mut RT_COND) -> c_int {
    // SAFETY: the shims' contract.
    match unsafe { condition(cond) } {
        Ok(cond) if cond.signal_uncontended() => 0,
        Ok(cond) => signal_contended(cond),
        Err(error) => ret(Err(error)),
    }
}

/// Out of line, and of the same kind as the shim, so that the common case needs no stack frame.
#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
extern "C-unwind" fn signal_contended(cond: ConditionRef) -> c_int {
    brief(|| cond.signal_contended())
}

/// Releases all waiters.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_cond_broadcast(cond: *mut RT_COND) -> c_int {
    // SAFETY: the shims' contract.
    match unsafe { condition(cond) } {
        Ok(cond) if cond.signal_uncontended() => 0,
        Ok(cond) => broadcast_contended(cond),
        Err(error) => ret(Err(error)),
    }
}

/// Out of line, as `signal_contended`.
#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
extern "C-unwind" fn broadcast_contended(cond: ConditionRef) -> c_int {
    brief(|| cond.broadcast_contended())
}

/// Looks at a condition variable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_cond_inquire(cond: *mut RT_COND, info: *mut RT_COND_INFO) -> c_int {
    cold(|| {
        // SAFETY: the shims' contract.
        let seen = unsafe { condition(cond) }?.inquire()?;
        // SAFETY: the shims' contract.
        unsafe { output(info) }?.write(RT_COND_INFO { name: name_buffer(seen.name) });
        Ok(())
    })
}

/// Finds a condition variable by name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_cond_bind(cond: *mut RT_COND, name: *const c_char, timeout: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    waiting(|| unsafe { bind(cond, name, timeout) })
}

/// Zeroes a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_cond_unbind(cond: *mut RT_COND) -> c_int {
    // SAFETY: the shims' contract.
    ret(unsafe { output(cond) }.map(|cond| cond.write(RT_COND { handle: 0 })))
}
