//! `rt_alarm_*`: see `include/alchemy/alarm.h`.

use core::ffi::{c_char, c_int, c_ulong, c_void};
use core::time::Duration;

use alchemy::{AlarmRef, Error, Handle, Result};

use crate::convert::{alarm, cold, name, name_buffer, output};
use crate::init;
use crate::types::{Entry, RT_ALARM, RT_ALARM_INFO, RTIME};

/// Ticks in nanoseconds, saturating.
fn nanoseconds(ticks: RTIME) -> Duration {
    init::ensure_clock();
    Duration::from_nanos(ticks.saturating_mul(alchemy::resolution()))
}

/// Makes an alarm with `make`, which gets what writes the descriptor.
pub(crate) unsafe fn create(
    alarm: *mut RT_ALARM,
    make: impl FnOnce(&dyn Fn(Handle)) -> Result<AlarmRef>,
) -> Result<()> {
    init::ensure();
    // SAFETY: the shims' contract.
    let alarm = unsafe { output(alarm) }?;
    make(&|handle| alarm.write(RT_ALARM { handle: handle.to_raw() })).map(|_| ())
}

pub(crate) unsafe fn start(desc: *mut RT_ALARM, value: RTIME, interval: RTIME) -> Result<()> {
    // SAFETY: the shims' contract.
    unsafe { alarm(desc) }?.start(nanoseconds(value), nanoseconds(interval))
}

/// With a handler. Alarm handlers may do this, as on the original.
unsafe fn create_calling(alarm: *mut RT_ALARM, label: *const c_char, handler: Entry, arg: *mut c_void) -> Result<()> {
    let handler = handler.ok_or(Error::Invalid)?;
    // SAFETY: the shims' contract; C vouches for handler and argument.
    unsafe { create(alarm, |ready| AlarmRef::create(name(label), handler, arg, ready)) }
}

/// Makes a stopped alarm.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_alarm_create(
    alarm: *mut RT_ALARM,
    name: *const c_char,
    handler: Entry,
    arg: *mut c_void,
) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| unsafe { create_calling(alarm, name, handler, arg) })
}

/// Deletes an alarm. Alarm handlers may, as on the original.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_alarm_delete(desc: *mut RT_ALARM) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| unsafe { alarm(desc) }.and_then(AlarmRef::delete))
}

/// The name of `rt_alarm_create` for libraries that define that themselves.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __current_rt_alarm_create(
    alarm: *mut RT_ALARM,
    name: *const c_char,
    handler: Entry,
    arg: *mut c_void,
) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| unsafe { create_calling(alarm, name, handler, arg) })
}

/// The name of `rt_alarm_delete` for libraries that define that themselves.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __current_rt_alarm_delete(desc: *mut RT_ALARM) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| unsafe { alarm(desc) }.and_then(AlarmRef::delete))
}

/// Arms an alarm.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_alarm_start(alarm: *mut RT_ALARM, value: RTIME, interval: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| unsafe { start(alarm, value, interval) })
}

/// Disarms an alarm.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_alarm_stop(desc: *mut RT_ALARM) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| unsafe { alarm(desc) }.and_then(AlarmRef::stop))
}

/// Looks at an alarm.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_alarm_inquire(desc: *mut RT_ALARM, info: *mut RT_ALARM_INFO) -> c_int {
    cold(|| {
        // SAFETY: the shims' contract.
        let seen = unsafe { alarm(desc) }?.inquire()?;
        // SAFETY: the shims' contract.
        unsafe { output(info) }?.write(RT_ALARM_INFO {
            expiries: seen.expiries as c_ulong,
            name: name_buffer(seen.name),
            active: seen.active.into(),
        });
        Ok(())
    })
}
