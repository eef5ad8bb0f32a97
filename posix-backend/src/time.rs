//! The clock: `CLOCK_MONOTONIC` in nanoseconds, read through the vDSO.
//!
//! # Safety
//!
//! Unsafe code here passes a pointer to a local `timespec` to the C library.

#![allow(unsafe_code)]

/// Nanoseconds in a second.
pub const NANOS: u64 = 1_000_000_000;

/// A date on the monotonic clock, in nanoseconds; `NEVER` is no date at all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Deadline(u64);

impl Deadline {
    /// Waits without limit.
    pub const NEVER: Deadline = Deadline(u64::MAX);

    /// The date `ns` nanoseconds after the clock's origin. Values beyond what the kernel can express (292 years) count
    /// as the last date that it can.
    pub const fn at(ns: u64) -> Deadline {
        const LAST: u64 = i64::MAX as u64;
        Deadline(if ns > LAST { LAST } else { ns })
    }

    /// The date `ns` nanoseconds from now, saturating.
    pub fn after(ns: u64) -> Deadline {
        Deadline::at(now().saturating_add(ns))
    }

    /// The date, or `None` for `NEVER`.
    pub fn date(self) -> Option<u64> {
        (self != Deadline::NEVER).then_some(self.0)
    }

    /// Whether the date has been reached.
    pub fn is_over(self) -> bool {
        self.date().is_some_and(|date| now() >= date)
    }

    #[cfg(not(loom))]
    pub(crate) fn timespec(self) -> Option<libc::timespec> {
        self.date().map(timespec)
    }
}

#[cfg(not(loom))]
impl Deadline {
    /// The same moment by the wall clock, as that is set now.
    pub(crate) fn wall_clock_timespec(self) -> Option<libc::timespec> {
        let mut wall = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `wall` outlives the call.
        unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut wall) };
        let wall = (wall.tv_sec as u64).wrapping_mul(NANOS).wrapping_add(wall.tv_nsec as u64);
        let date = self.date()?;
        Some(timespec(wall.saturating_add(date.saturating_sub(now())).min(i64::MAX as u64)))
    }
}

#[cfg(not(loom))]
fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / NANOS) as libc::time_t, tv_nsec: (ns % NANOS) as libc::c_long }
}

/// Nanoseconds since the origin of the monotonic clock.
#[inline]
pub fn now() -> u64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `ts` outlives the call. It cannot fail: the clock exists since Linux 2.6.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut ts) };
    (ts.tv_sec as u64).wrapping_mul(NANOS).wrapping_add(ts.tv_nsec as u64)
}
