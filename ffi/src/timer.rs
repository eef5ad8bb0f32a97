//! `rt_timer_*`: see `include/alchemy/timer.h`.

use core::ffi::c_int;

use alchemy::timer;

use crate::convert::{ENODEV, output};
use crate::init;
use crate::types::{RT_TIMER_INFO, RTIME, SRTIME};

/// The present in ticks.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_timer_read() -> RTIME {
    init::ensure_clock();
    timer::read()
}

/// Nanoseconds in ticks.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_timer_ns2ticks(ns: SRTIME) -> SRTIME {
    init::ensure_clock();
    timer::ns_to_ticks(ns)
}

/// Ticks in nanoseconds.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_timer_ticks2ns(ticks: SRTIME) -> SRTIME {
    init::ensure_clock();
    timer::ticks_to_ns(ticks)
}

/// The tick and the present.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_timer_inquire(info: *mut RT_TIMER_INFO) {
    init::ensure_clock();
    // SAFETY: the shims' contract.
    if let Ok(info) = unsafe { output(info) } {
        let timer::Info { period, date } = timer::inquire();
        info.write(RT_TIMER_INFO { period, date });
    }
}

/// Keeps the CPU busy.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_timer_spin(ns: RTIME) {
    timer::spin(ns);
}

/// The tick cannot be changed in 3.x: agrees to 0 and to the present one.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_timer_set_mode(nstick: RTIME) -> c_int {
    init::ensure_clock();
    if nstick == 0 || nstick == alchemy::resolution() { 0 } else { -ENODEV }
}
