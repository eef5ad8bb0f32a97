//! Ticks, dates and timeouts. One clock for everything: the monotonic one, in ticks of a fixed number of nanoseconds.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use posix_backend::time::{self as clock, Deadline, NANOS};

use crate::error::{Error, Result};

/// The length of a tick in nanoseconds. A plain value, no model needs it: it is set at start-up and rarely changed.
static RESOLUTION: AtomicU64 = AtomicU64::new(1);

/// The largest tick: one second.
pub const MAX_RESOLUTION: u64 = NANOS;

/// The length of a tick in nanoseconds.
#[inline]
pub fn resolution() -> u64 {
    RESOLUTION.load(Relaxed)
}

/// Sets the length of a tick, from 1 to [`MAX_RESOLUTION`] nanoseconds; `Invalid` otherwise. Counts already in the hands
/// of the program change their meaning.
pub fn set_resolution(ns: u64) -> Result<()> {
    if !(1..=MAX_RESOLUTION).contains(&ns) {
        return Err(Error::Invalid);
    }
    RESOLUTION.store(ns, Relaxed);
    Ok(())
}

/// `ticks` in nanoseconds; the last date of the clock where it does not fit.
fn ticks_to_ns(ticks: u64) -> u64 {
    ticks.saturating_mul(resolution())
}

/// How long a call may wait.
///
/// A `Duration` converts into it. The clock is read only by calls that find that they must wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeout(Limit);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Limit {
    Infinite,
    NonBlock,
    /// Nanoseconds from the moment the call finds that it must wait.
    Relative(u64),
    /// A date in nanoseconds.
    Absolute(u64),
    /// A timespec whose nanoseconds are out of range: an error, but only if the call must wait.
    Malformed,
}

impl Timeout {
    /// Without limit.
    pub const INFINITE: Timeout = Timeout(Limit::Infinite);
    /// Not at all: `WouldBlock` instead of waiting.
    pub const NONE: Timeout = Timeout(Limit::NonBlock);

    /// Until a date. One already past gives `TimedOut`, not `WouldBlock`.
    pub fn until(date: Date) -> Timeout {
        Timeout(Limit::Absolute(date.0))
    }

    /// From the absolute timespec of a C call: all zero polls, negative seconds are a past date.
    pub fn from_timespec(seconds: i64, nanoseconds: i64) -> Timeout {
        Timeout(match (seconds, nanoseconds) {
            (0, 0) => Limit::NonBlock,
            (_, ns) if !(0..NANOS as i64).contains(&ns) => Limit::Malformed,
            (..0, _) => Limit::Absolute(0),
            (seconds, ns) => Limit::Absolute((seconds as u64).saturating_mul(NANOS).saturating_add(ns as u64)),
        })
    }

    /// Until when a call may wait that finds that it must: `WouldBlock` for a poll, `Invalid` for a malformed date.
    pub(crate) fn deadline(self) -> Result<Deadline> {
        match self.0 {
            Limit::NonBlock => Err(Error::WouldBlock),
            Limit::Malformed => Err(Error::Invalid),
            Limit::Infinite => Ok(Deadline::NEVER),
            Limit::Relative(ns) => Ok(Deadline::after(ns)),
            Limit::Absolute(ns) => Ok(Deadline::at(ns)),
        }
    }

    /// For a call that finds that it must wait. In this order: `WouldBlock` for a poll, whatever `may_wait` refuses with,
    /// `Invalid` for a malformed date, `TimedOut` for a past one.
    pub(crate) fn admit<T>(self, may_wait: impl FnOnce() -> Result<T>) -> Result<(T, Deadline)> {
        if self.0 == Limit::NonBlock {
            return Err(Error::WouldBlock);
        }
        let caller = may_wait()?;
        let deadline = self.deadline()?;
        if matches!(self.0, Limit::Absolute(_)) && deadline.is_over() {
            return Err(Error::TimedOut);
        }
        Ok((caller, deadline))
    }
}

/// The relative tick count of a C call: 0 is infinite, 2⁶⁴−1 polls. Converted only when the call must wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RelativeTicks(pub u64);

impl From<RelativeTicks> for Timeout {
    fn from(RelativeTicks(ticks): RelativeTicks) -> Timeout {
        match ticks {
            0 => Timeout::INFINITE,
            u64::MAX => Timeout::NONE,
            ticks => Timeout(Limit::Relative(ticks_to_ns(ticks))),
        }
    }
}

/// The absolute tick count of a C call: 0 is infinite, 2⁶⁴−1 polls. Converted only when the call must wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DateTicks(pub u64);

impl From<DateTicks> for Timeout {
    fn from(DateTicks(ticks): DateTicks) -> Timeout {
        match ticks {
            0 => Timeout::INFINITE,
            u64::MAX => Timeout::NONE,
            ticks => Timeout(Limit::Absolute(ticks_to_ns(ticks))),
        }
    }
}

impl From<Duration> for Timeout {
    fn from(duration: Duration) -> Timeout {
        Timeout(Limit::Relative(duration.as_nanos().min(u64::MAX.into()) as u64))
    }
}

/// A date on the clock of this library: nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Date(u64);

impl Date {
    /// The present.
    pub fn now() -> Date {
        Date(clock::now())
    }

    /// Nanoseconds since the origin of the clock.
    pub fn as_nanos(self) -> u64 {
        self.0
    }

    pub(crate) fn from_nanos(ns: u64) -> Date {
        Date(ns)
    }

    /// From a tick count; the last date of the clock where it does not fit.
    pub fn from_ticks(ticks: u64) -> Date {
        Date(ticks_to_ns(ticks))
    }

    pub(crate) fn deadline(self) -> Deadline {
        Deadline::at(self.0)
    }
}

impl core::ops::Add<Duration> for Date {
    type Output = Date;

    fn add(self, duration: Duration) -> Date {
        Date(self.0.saturating_add(duration.as_nanos().min(u64::MAX.into()) as u64))
    }
}

impl core::ops::Sub<Date> for Date {
    type Output = Duration;

    /// The time from `earlier` to `self`; zero if there is none.
    fn sub(self, earlier: Date) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn timespecs() {
        assert_eq!(Timeout::from_timespec(0, 0), Timeout::NONE);
        assert_eq!(Timeout::from_timespec(0, 1), Timeout(Limit::Absolute(1)));
        assert_eq!(Timeout::from_timespec(-5, 1), Timeout(Limit::Absolute(0)));
        assert_eq!(Timeout::from_timespec(1, 1_000_000_000), Timeout(Limit::Malformed));
        assert_eq!(Timeout::from_timespec(1, -1), Timeout(Limit::Malformed));
        assert_eq!(Timeout::from_timespec(i64::MAX, 0), Timeout(Limit::Absolute(u64::MAX)));
    }

    #[test]
    fn tick_counts() {
        assert_eq!(Timeout::from(RelativeTicks(0)), Timeout::INFINITE);
        assert_eq!(Timeout::from(DateTicks(0)), Timeout::INFINITE);
        assert_eq!(Timeout::from(RelativeTicks(u64::MAX)), Timeout::NONE);
        assert_eq!(Timeout::from(RelativeTicks(u64::MAX - 1)), Timeout(Limit::Relative(u64::MAX - 1)));
    }

    #[test]
    fn admission_refuses_in_the_documented_order() {
        let refuse = || Err::<(), _>(Error::Permission);
        let allow = || Ok(());
        assert_eq!(Timeout::NONE.admit(refuse), Err(Error::WouldBlock));
        assert_eq!(Timeout::from_timespec(1, -1).admit(refuse), Err(Error::Permission));
        assert_eq!(Timeout::from_timespec(1, -1).admit(allow), Err(Error::Invalid));
        assert_eq!(Timeout::from_timespec(0, 1).admit(allow), Err(Error::TimedOut));
        assert_eq!(Timeout::INFINITE.admit(allow), Ok(((), Deadline::NEVER)));
    }
}
