//! `rt_event_*`: see `include/alchemy/event.h`.

use core::ffi::{c_char, c_int, c_uint};

use alchemy::c::timespec;
use alchemy::{DateTicks, Error, EventMode, EventRef, Match, RelativeTicks, Result, Timeout};

use crate::convert::{
    brief, cold, event, making, name, name_buffer, output, ret, timeout, waiting, waiting_briefly, wanted,
};
use crate::init;
use crate::types::{RT_EVENT, RT_EVENT_INFO, RTIME};

const EV_ALL: c_int = 0;
const EV_ANY: c_int = 1;

pub(crate) unsafe fn create(desc: *mut RT_EVENT, label: *const c_char, flags: u32, mode: EventMode) -> Result<()> {
    init::ensure();
    // SAFETY: the shims' contract.
    let desc = unsafe { output(desc) }?;
    // SAFETY: the shims' contract.
    let label = unsafe { name(label) };
    EventRef::create(label, flags, mode, |handle| desc.write(RT_EVENT { handle: handle.to_raw() })).map(|_| ())
}

pub(crate) unsafe fn bind(desc: *mut RT_EVENT, label: *const c_char, limit: RTIME) -> Result<()> {
    init::ensure();
    // SAFETY: the shims' contract.
    let desc = unsafe { output(desc) }?;
    // SAFETY: the shims' contract.
    let found = EventRef::bind(unsafe { wanted(label) }?, RelativeTicks(limit).into())?;
    desc.write(RT_EVENT { handle: found.handle().to_raw() });
    Ok(())
}

/// What a wait is for; `Invalid` for an unknown mode.
#[inline]
fn matching(mode: c_int) -> Result<Match> {
    match mode {
        EV_ALL => Ok(Match::All),
        EV_ANY => Ok(Match::Any),
        _ => Err(Error::Invalid),
    }
}

/// Reports flags, if C wants to know.
///
/// # Safety
///
/// Null, or valid for writes.
#[inline]
pub(crate) unsafe fn report<T>(flags_r: *mut T, flags: T) {
    if !flags_r.is_null() {
        // SAFETY: the caller vouches for it; it need not be aligned.
        unsafe { flags_r.write_unaligned(flags) };
    }
}

/// Makes an event flag group.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_event_create(
    event: *mut RT_EVENT,
    name: *const c_char,
    ivalue: c_uint,
    mode: c_int,
) -> c_int {
    // SAFETY: the shims' contract.
    making(|| unsafe { create(event, name, ivalue, EventMode::from_bits_retain(mode as u32)) })
}

/// The strong name of `rt_event_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __current_rt_event_create(
    event: *mut RT_EVENT,
    name: *const c_char,
    ivalue: c_uint,
    mode: c_int,
) -> c_int {
    // SAFETY: the shims' contract.
    making(|| unsafe { create(event, name, ivalue, EventMode::from_bits_retain(mode as u32)) })
}

/// Deletes an event flag group.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_event_delete(desc: *mut RT_EVENT) -> c_int {
    // SAFETY: the shims' contract.
    making(|| unsafe { event(desc) }.and_then(EventRef::delete))
}

/// The body of the waits.
#[inline(always)]
unsafe fn wait(
    desc: *mut RT_EVENT,
    mask: c_uint,
    mask_r: *mut c_uint,
    mode: c_int,
    limit: impl FnOnce() -> Timeout,
) -> c_int {
    // SAFETY: the shims' contract.
    let (how, event) = match (matching(mode), unsafe { event(desc) }) {
        (Ok(how), Ok(event)) => (how, event),
        _ => return ret(Err(Error::Invalid)),
    };
    match event.wait_uncontended(mask, how) {
        Some(flags) => {
            // SAFETY: the shims' contract.
            unsafe { report(mask_r, flags) };
            0
        }
        None => wait_contended(event, mask, mask_r, how, limit()),
    }
}

/// Out of line, and of the same kind as the shim, so that the common case needs no stack frame.
#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
extern "C-unwind" fn wait_contended(
    event: EventRef,
    mask: c_uint,
    mask_r: *mut c_uint,
    how: Match,
    timeout: Timeout,
) -> c_int {
    waiting_briefly(|| {
        let flags = event.wait_contended(mask, how, timeout)?;
        // SAFETY: the shims' contract.
        unsafe { report(mask_r, flags) };
        Ok(())
    })
}

/// Waits for flags; relative timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_event_wait(
    event: *mut RT_EVENT,
    mask: c_uint,
    mask_r: *mut c_uint,
    mode: c_int,
    timeout: RTIME,
) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { wait(event, mask, mask_r, mode, || RelativeTicks(timeout).into()) }
}

/// Waits for flags; date in ticks.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_event_wait_until(
    event: *mut RT_EVENT,
    mask: c_uint,
    mask_r: *mut c_uint,
    mode: c_int,
    date: RTIME,
) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { wait(event, mask, mask_r, mode, || DateTicks(date).into()) }
}

/// Waits for flags; date as a timespec.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_event_wait_timed(
    event: *mut RT_EVENT,
    mask: c_uint,
    mask_r: *mut c_uint,
    mode: c_int,
    date: *const timespec,
) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { wait(event, mask, mask_r, mode, || timeout(date)) }
}

/// The body of the signals.
#[inline(always)]
pub(crate) unsafe fn signal(desc: *mut RT_EVENT, mask: u32) -> c_int {
    // SAFETY: the shims' contract.
    match unsafe { event(desc) } {
        Ok(event) if event.signal_uncontended(mask) => 0,
        Ok(event) => signal_contended(event, mask),
        Err(error) => ret(Err(error)),
    }
}

/// Out of line, as `wait_contended`.
#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
extern "C-unwind" fn signal_contended(event: EventRef, mask: u32) -> c_int {
    brief(|| event.signal_contended(mask))
}

/// Sets flags.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_event_signal(event: *mut RT_EVENT, mask: c_uint) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { signal(event, mask) }
}

/// The strong name of `rt_event_signal`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __current_rt_event_signal(event: *mut RT_EVENT, mask: c_uint) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { signal(event, mask) }
}

/// The body of the clears.
#[inline(always)]
unsafe fn clear(desc: *mut RT_EVENT, mask: c_uint, mask_r: *mut c_uint) -> c_int {
    // SAFETY: the shims' contract.
    let event = match unsafe { event(desc) } {
        Ok(event) => event,
        Err(error) => return ret(Err(error)),
    };
    match event.clear_uncontended(mask) {
        Some(before) => {
            // SAFETY: the shims' contract.
            unsafe { report(mask_r, before) };
            0
        }
        None => clear_contended(event, mask, mask_r),
    }
}

/// Out of line, as `wait_contended`.
#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "C does not call it")]
extern "C-unwind" fn clear_contended(event: EventRef, mask: c_uint, mask_r: *mut c_uint) -> c_int {
    brief(|| {
        let before = event.clear_contended(mask)?;
        // SAFETY: the shims' contract.
        unsafe { report(mask_r, before) };
        Ok(())
    })
}

/// Clears flags.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_event_clear(event: *mut RT_EVENT, mask: c_uint, mask_r: *mut c_uint) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { clear(event, mask, mask_r) }
}

/// The strong name of `rt_event_clear`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __current_rt_event_clear(
    event: *mut RT_EVENT,
    mask: c_uint,
    mask_r: *mut c_uint,
) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { clear(event, mask, mask_r) }
}

/// Looks at an event flag group.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_event_inquire(desc: *mut RT_EVENT, info: *mut RT_EVENT_INFO) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| {
        // SAFETY: the shims' contract.
        let seen = unsafe { event(desc) }?.inquire()?;
        // SAFETY: the shims' contract.
        unsafe { output(info) }?.write(RT_EVENT_INFO {
            value: seen.flags,
            nwaiters: seen.waiters as c_int,
            name: name_buffer(seen.name),
        });
        Ok(())
    })
}

/// Finds an event flag group by name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_event_bind(event: *mut RT_EVENT, name: *const c_char, timeout: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    waiting(|| unsafe { bind(event, name, timeout) })
}

/// Zeroes a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_event_unbind(event: *mut RT_EVENT) -> c_int {
    // SAFETY: the shims' contract.
    ret(unsafe { output(event) }.map(|event| event.write(RT_EVENT { handle: 0 })))
}
