//! `rt_mutex_*`: see `include/alchemy/mutex.h`.

use core::ffi::{c_char, c_int};

use alchemy::c::timespec;
use alchemy::task::Task;
use alchemy::{DateTicks, Handle, MutexRef, RelativeTicks, Result, Timeout};

use crate::convert::{brief, making, mutex, name, name_buffer, output, ret, timeout, waiting, waiting_briefly, wanted};
use crate::init;
use crate::types::{RT_MUTEX, RT_MUTEX_INFO, RT_TASK, RTIME};

pub(crate) unsafe fn create(label: *const c_char, ready: impl FnOnce(RT_MUTEX)) -> Result<()> {
    init::ensure();
    // SAFETY: the shims' contract.
    MutexRef::create(unsafe { name(label) }, |handle| ready(RT_MUTEX { handle: handle.to_raw() })).map(|_| ())
}

pub(crate) unsafe fn bind(label: *const c_char, limit: RTIME) -> Result<RT_MUTEX> {
    init::ensure();
    // SAFETY: the shims' contract.
    let found = MutexRef::bind(unsafe { wanted(label) }?, RelativeTicks(limit).into())?;
    Ok(RT_MUTEX { handle: found.handle().to_raw() })
}

/// Makes a mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_mutex_create(mutex: *mut RT_MUTEX, name: *const c_char) -> c_int {
    making(|| {
        // SAFETY: the shims' contract.
        let mutex = unsafe { output(mutex) }?;
        // SAFETY: the shims' contract.
        unsafe { create(name, |made| mutex.write(made)) }
    })
}

/// Deletes a mutex that nobody uses.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_mutex_delete(desc: *mut RT_MUTEX) -> c_int {
    // SAFETY: the shims' contract.
    making(|| unsafe { mutex(desc) }.and_then(MutexRef::delete))
}

/// Acquires a mutex; relative timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_mutex_acquire(desc: *mut RT_MUTEX, timeout: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    match unsafe { mutex(desc) } {
        Ok(mutex) if mutex.acquire_uncontended() => 0,
        mutex => acquire_contended(mutex, RelativeTicks(timeout).into()),
    }
}

/// Acquires a mutex; date in ticks.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_mutex_acquire_until(desc: *mut RT_MUTEX, date: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    match unsafe { mutex(desc) } {
        Ok(mutex) if mutex.acquire_uncontended() => 0,
        mutex => acquire_contended(mutex, DateTicks(date).into()),
    }
}

/// Acquires a mutex; date as a timespec.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_mutex_acquire_timed(desc: *mut RT_MUTEX, date: *const timespec) -> c_int {
    // SAFETY: the shims' contract.
    match unsafe { mutex(desc) } {
        Ok(mutex) if mutex.acquire_uncontended() => 0,
        // SAFETY: the shims' contract.
        mutex => acquire_contended(mutex, unsafe { timeout(date) }),
    }
}

/// Out of line, and of the same kind as the shim, so that the common case needs no stack frame. Who is no task is told so
/// even of a bad descriptor.
#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
extern "C-unwind" fn acquire_contended(mutex: Result<MutexRef>, timeout: Timeout) -> c_int {
    let mutex = mutex.unwrap_or(MutexRef::from_handle(Handle::NONE));
    waiting_briefly(|| mutex.acquire_contended(timeout))
}

/// Releases a mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_mutex_release(desc: *mut RT_MUTEX) -> c_int {
    // SAFETY: the shims' contract.
    match unsafe { mutex(desc) } {
        Ok(mutex) if mutex.release_uncontended() => 0,
        Ok(mutex) => release_contended(mutex),
        Err(error) => ret(Err(error)),
    }
}

/// Out of line, as `acquire_contended`.
#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
extern "C-unwind" fn release_contended(mutex: MutexRef) -> c_int {
    brief(|| mutex.release_contended())
}

/// 2.x name of `rt_mutex_acquire`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_mutex_lock(desc: *mut RT_MUTEX, timeout: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    match unsafe { mutex(desc) } {
        Ok(mutex) if mutex.acquire_uncontended() => 0,
        mutex => acquire_contended(mutex, RelativeTicks(timeout).into()),
    }
}

/// 2.x name of `rt_mutex_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_mutex_unlock(desc: *mut RT_MUTEX) -> c_int {
    // SAFETY: the shims' contract.
    match unsafe { mutex(desc) } {
        Ok(mutex) if mutex.release_uncontended() => 0,
        Ok(mutex) => release_contended(mutex),
        Err(error) => ret(Err(error)),
    }
}

/// Looks at a mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_mutex_inquire(desc: *mut RT_MUTEX, info: *mut RT_MUTEX_INFO) -> c_int {
    // SAFETY: the shims' contract.
    making(|| {
        // SAFETY: the shims' contract.
        let seen = unsafe { mutex(desc) }?.inquire()?;
        let owner = seen.owner().map(Task::handle).unwrap_or_default();
        // SAFETY: the shims' contract.
        unsafe { output(info) }?.write(RT_MUTEX_INFO {
            owner: RT_TASK { handle: owner.to_raw(), thread: 0 },
            name: name_buffer(seen.name),
        });
        Ok(())
    })
}

/// Finds a mutex by name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_mutex_bind(mutex: *mut RT_MUTEX, name: *const c_char, timeout: RTIME) -> c_int {
    waiting(|| {
        // SAFETY: the shims' contract.
        let mutex = unsafe { output(mutex) }?;
        // SAFETY: the shims' contract.
        mutex.write(unsafe { bind(name, timeout) }?);
        Ok(())
    })
}

/// Zeroes a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_mutex_unbind(mutex: *mut RT_MUTEX) -> c_int {
    // SAFETY: the shims' contract.
    ret(unsafe { output(mutex) }.map(|mutex| mutex.write(RT_MUTEX { handle: 0 })))
}
