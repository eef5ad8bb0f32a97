//! The clock of this library in ticks: `rt_timer_*`. Nothing here waits in the kernel; every thread may call it.

use posix_backend::time;

use crate::time::resolution;

/// Ticks since the origin of the monotonic clock (`rt_timer_read`). Never decreases. One read through the vDSO.
#[inline]
#[doc(alias = "rt_timer_read")]
pub fn read() -> u64 {
    match resolution() {
        1 => time::now(),
        resolution => time::now() / resolution,
    }
}

/// Nanoseconds in ticks, towards zero (`rt_timer_ns2ticks`).
#[inline]
#[doc(alias = "rt_timer_ns2ticks")]
pub fn ns_to_ticks(ns: i64) -> i64 {
    match resolution() {
        1 => ns,
        resolution => ns / resolution as i64,
    }
}

/// Ticks in nanoseconds, saturating (`rt_timer_ticks2ns`).
#[inline]
#[doc(alias = "rt_timer_ticks2ns")]
pub fn ticks_to_ns(ticks: i64) -> i64 {
    ticks.saturating_mul(resolution() as i64)
}

/// What `rt_timer_inquire` tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// Nanoseconds in a tick.
    pub period: u64,
    /// The present, in ticks.
    pub date: u64,
}

/// The tick and the present (`rt_timer_inquire`).
#[doc(alias = "rt_timer_inquire")]
pub fn inquire() -> Info {
    Info { period: resolution(), date: read() }
}

/// Keeps the CPU busy for at least `ns` nanoseconds of the monotonic clock, preemption included (`rt_timer_spin`).
#[doc(alias = "rt_timer_spin")]
pub fn spin(ns: u64) {
    let end = time::now().saturating_add(ns);
    while time::now() < end {
        core::hint::spin_loop();
    }
}
