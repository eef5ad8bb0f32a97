//! 2.x `rt_alarm_*`: alarms have no handler; tasks wait for them.

use core::ffi::{c_char, c_int, c_ulong};

use alchemy::AlarmRef;

use crate::alarm;
use crate::convert::{self, cold, name, name_buffer, output, waiting};
use crate::init;
use crate::types::{NATIVE_ALARM_INFO, RT_ALARM, RTIME};

/// 2.x `rt_alarm_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_alarm_create(alarm: *mut RT_ALARM, label: *const c_char) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| unsafe { alarm::create(alarm, |ready| AlarmRef::create_silent(name(label), ready)) })
}

/// 2.x `rt_alarm_start`: a value of 0 (`TM_INFINITE`) stops.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_alarm_start(alarm: *mut RT_ALARM, value: RTIME, interval: RTIME) -> c_int {
    cold(|| {
        if value == 0 {
            // SAFETY: the shims' contract.
            return unsafe { convert::alarm(alarm) }.and_then(AlarmRef::stop);
        }
        // SAFETY: the shims' contract.
        unsafe { alarm::start(alarm, value, interval) }
    })
}

/// 2.x `rt_alarm_wait`: sleeps until the next expiry.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_alarm_wait(alarm: *mut RT_ALARM) -> c_int {
    // SAFETY: the shims' contract.
    waiting(|| unsafe { convert::alarm(alarm) }.and_then(AlarmRef::wait))
}

/// The same by its plain name, which nothing else has.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_alarm_wait(alarm: *mut RT_ALARM) -> c_int {
    // SAFETY: the shims' contract.
    waiting(|| unsafe { convert::alarm(alarm) }.and_then(AlarmRef::wait))
}

/// 2.x `rt_alarm_inquire`: with the delay to the next expiry.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_alarm_inquire(alarm: *mut RT_ALARM, info: *mut NATIVE_ALARM_INFO) -> c_int {
    init::ensure_clock();
    cold(|| {
        // SAFETY: the shims' contract.
        let seen = unsafe { convert::alarm(alarm) }?.inquire()?;
        let left = seen.remaining.as_nanos() as u64 / alchemy::resolution();
        // SAFETY: the shims' contract.
        unsafe { output(info) }?.write(NATIVE_ALARM_INFO {
            // 0 is said of stopped alarms only.
            expiration: if seen.active { left.max(1) } else { 0 },
            expiries: seen.expiries as c_ulong,
            name: name_buffer(seen.name),
        });
        Ok(())
    })
}
