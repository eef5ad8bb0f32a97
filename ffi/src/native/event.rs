//! 2.x event flag groups: masks are `unsigned long`, of which 32 bits are flags.

use core::ffi::{c_char, c_int, c_ulong};

use alchemy::{DateTicks, Error, EventMode, Match, RelativeTicks, Result, Timeout};

use super::would_block;
use crate::convert::{self, cold, making, name_buffer, output, ret, waiting, waiting_briefly};
use crate::event;
use crate::types::{NATIVE_EVENT_INFO, RT_EVENT, RTIME};

const EV_PRIO: c_int = 0x1;
const EV_ANY: c_int = 0x1;

/// The flags of a mask: `Invalid` for bits that are none.
fn flags(mask: c_ulong) -> Result<u32> {
    u32::try_from(mask).map_err(|_| Error::Invalid)
}

/// 2.x `rt_event_create`: unknown mode bits are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_event_create(
    event: *mut RT_EVENT,
    name: *const c_char,
    ivalue: c_ulong,
    mode: c_int,
) -> c_int {
    let order = if mode & EV_PRIO != 0 { EventMode::PRIORITY } else { EventMode::empty() };
    // SAFETY: the shims' contract.
    making(|| unsafe { event::create(event, name, flags(ivalue)?, order) })
}

unsafe fn wait(event: *mut RT_EVENT, mask: c_ulong, mask_r: *mut c_ulong, mode: c_int, limit: Timeout) -> c_int {
    let how = if mode & EV_ANY != 0 { Match::Any } else { Match::All };
    // SAFETY: the shims' contract.
    let (event, mask) = match (unsafe { convert::event(event) }, flags(mask)) {
        (Ok(event), Ok(mask)) => (event, mask),
        _ => return ret(Err(Error::Invalid)),
    };
    // SAFETY: the shims' contract.
    let report = |found: u32| unsafe { event::report(mask_r, c_ulong::from(found)) };
    match event.wait_uncontended(mask, how) {
        Some(found) => {
            report(found);
            0
        }
        None => waiting_briefly(|| event.wait_contended(mask, how, limit).map(report)),
    }
}

/// 2.x `rt_event_wait`: unknown mode bits are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_event_wait(
    event: *mut RT_EVENT,
    mask: c_ulong,
    mask_r: *mut c_ulong,
    mode: c_int,
    timeout: RTIME,
) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { wait(event, mask, mask_r, mode, RelativeTicks(timeout).into()) }
}

/// 2.x `rt_event_wait_until`, likewise.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_event_wait_until(
    event: *mut RT_EVENT,
    mask: c_ulong,
    mask_r: *mut c_ulong,
    mode: c_int,
    date: RTIME,
) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { wait(event, mask, mask_r, mode, DateTicks(date).into()) }
}

/// 2.x `rt_event_signal`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_event_signal(event: *mut RT_EVENT, mask: c_ulong) -> c_int {
    match flags(mask) {
        // SAFETY: the shims' contract.
        Ok(mask) => unsafe { event::signal(event, mask) },
        Err(error) => ret(Err(error)),
    }
}

/// 2.x `rt_event_clear`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_event_clear(
    event: *mut RT_EVENT,
    mask: c_ulong,
    mask_r: *mut c_ulong,
) -> c_int {
    // SAFETY: the shims' contract.
    let (event, mask) = match (unsafe { convert::event(event) }, flags(mask)) {
        (Ok(event), Ok(mask)) => (event, mask),
        _ => return ret(Err(Error::Invalid)),
    };
    // SAFETY: the shims' contract.
    let report = |before: u32| unsafe { event::report(mask_r, c_ulong::from(before)) };
    match event.clear_uncontended(mask) {
        Some(before) => {
            report(before);
            0
        }
        None => convert::brief(|| event.clear_contended(mask).map(report)),
    }
}

/// 2.x `rt_event_inquire`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_event_inquire(event: *mut RT_EVENT, info: *mut NATIVE_EVENT_INFO) -> c_int {
    cold(|| {
        // SAFETY: the shims' contract.
        let seen = unsafe { convert::event(event) }?.inquire()?;
        // SAFETY: the shims' contract.
        unsafe { output(info) }?.write(NATIVE_EVENT_INFO {
            value: seen.flags.into(),
            nwaiters: seen.waiters as c_int,
            name: name_buffer(seen.name),
        });
        Ok(())
    })
}

/// 2.x `rt_event_bind`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_event_bind(
    event: *mut RT_EVENT,
    name: *const c_char,
    timeout: RTIME,
) -> c_int {
    // SAFETY: the shims' contract.
    waiting(|| unsafe { event::bind(event, name, timeout) }.map_err(would_block))
}
