//! `rt_sem_*`: see `include/alchemy/sem.h`.

use core::ffi::{c_char, c_int, c_ulong};

use alchemy::c::timespec;
use alchemy::{DateTicks, Error, RelativeTicks, Result, SemMode, SemRef, Timeout};

use crate::convert::{
    brief, cold, making, name, name_buffer, output, ret, semaphore, timeout, waiting, waiting_briefly, wanted,
};
use crate::init;
use crate::types::{RT_SEM, RT_SEM_INFO, RTIME};

pub(crate) unsafe fn create(sem: *mut RT_SEM, label: *const c_char, count: c_ulong, mode: SemMode) -> Result<()> {
    init::ensure();
    // SAFETY: the shims' contract.
    let sem = unsafe { output(sem) }?;
    let count = u32::try_from(count).map_err(|_| Error::Invalid)?;
    // SAFETY: the shims' contract.
    SemRef::create(unsafe { name(label) }, count, mode, |handle| sem.write(RT_SEM { handle: handle.to_raw() }))
        .map(|_| ())
}

pub(crate) unsafe fn bind(sem: *mut RT_SEM, label: *const c_char, limit: RTIME) -> Result<()> {
    init::ensure();
    // SAFETY: the shims' contract.
    let sem = unsafe { output(sem) }?;
    // SAFETY: the shims' contract.
    let found = SemRef::bind(unsafe { wanted(label) }?, RelativeTicks(limit).into())?;
    sem.write(RT_SEM { handle: found.handle().to_raw() });
    Ok(())
}

/// Makes a semaphore.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_sem_create(
    sem: *mut RT_SEM,
    name: *const c_char,
    icount: c_ulong,
    mode: c_int,
) -> c_int {
    let mode = SemMode::from_bits_retain(mode as u32);
    // SAFETY: the shims' contract.
    making(|| unsafe { create(sem, name, icount, mode) })
}

/// Deletes a semaphore.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_sem_delete(sem: *mut RT_SEM) -> c_int {
    // SAFETY: the shims' contract.
    making(|| unsafe { semaphore(sem) }.and_then(SemRef::delete))
}

/// Takes a unit; relative timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_sem_p(sem: *mut RT_SEM, timeout: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    match unsafe { semaphore(sem) } {
        Ok(sem) if sem.wait_uncontended() => 0,
        Ok(sem) => wait_contended(sem, RelativeTicks(timeout).into()),
        Err(error) => ret(Err(error)),
    }
}

/// Out of line, and of the same kind as the shim, so that the common case needs no stack frame.
#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
extern "C-unwind" fn wait_contended(sem: SemRef, timeout: Timeout) -> c_int {
    waiting_briefly(|| sem.wait_contended(timeout))
}

/// Takes a unit; date in ticks.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_sem_p_until(sem: *mut RT_SEM, date: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    match unsafe { semaphore(sem) } {
        Ok(sem) if sem.wait_uncontended() => 0,
        Ok(sem) => wait_contended(sem, DateTicks(date).into()),
        Err(error) => ret(Err(error)),
    }
}

/// Takes a unit; date as a timespec.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_sem_p_timed(sem: *mut RT_SEM, date: *const timespec) -> c_int {
    // SAFETY: the shims' contract.
    match unsafe { semaphore(sem) } {
        Ok(sem) if sem.wait_uncontended() => 0,
        // SAFETY: the shims' contract.
        Ok(sem) => wait_contended(sem, unsafe { timeout(date) }),
        Err(error) => ret(Err(error)),
    }
}

/// Gives a unit.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_sem_v(sem: *mut RT_SEM) -> c_int {
    // SAFETY: the shims' contract.
    match unsafe { semaphore(sem) } {
        Ok(sem) if sem.post_uncontended() => 0,
        Ok(sem) => post_contended(sem),
        Err(error) => ret(Err(error)),
    }
}

/// Out of line, as `wait_contended`.
#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
extern "C-unwind" fn post_contended(sem: SemRef) -> c_int {
    brief(|| sem.post_contended())
}

/// Lets all waiters go.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_sem_broadcast(sem: *mut RT_SEM) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| unsafe { semaphore(sem) }.and_then(SemRef::broadcast))
}

/// Looks at a semaphore.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_sem_inquire(sem: *mut RT_SEM, info: *mut RT_SEM_INFO) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| {
        // SAFETY: the shims' contract.
        let seen = unsafe { semaphore(sem) }?.inquire()?;
        // SAFETY: the shims' contract.
        unsafe { output(info) }?.write(RT_SEM_INFO {
            count: seen.count.into(),
            nwaiters: seen.waiters as c_int,
            name: name_buffer(seen.name),
        });
        Ok(())
    })
}

/// Finds a semaphore by name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_sem_bind(sem: *mut RT_SEM, name: *const c_char, timeout: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    waiting(|| unsafe { bind(sem, name, timeout) })
}

/// Zeroes a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_sem_unbind(sem: *mut RT_SEM) -> c_int {
    // SAFETY: the shims' contract.
    ret(unsafe { output(sem) }.map(|sem| sem.write(RT_SEM { handle: 0 })))
}
