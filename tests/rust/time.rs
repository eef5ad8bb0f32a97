//! Clock, dates and sleeping through the Rust interface, at the default resolution.

mod kit;

use std::time::Duration;

use alchemy::task::{self, Status};
use alchemy::{
    Date, DateTicks, Error, MAX_RESOLUTION, RelativeTicks, Task, Timeout, resolution, set_resolution, timer,
};
use kit::{LONG, SHORT, Watchdog, as_plain, as_task, until_status, value};

fn monotonic() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is valid for writing.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) }, 0);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[test]
fn the_clock_is_the_monotonic_one() {
    for _ in 0..1000 {
        let before = monotonic();
        let ticks = timer::read();
        let date = Date::now().as_nanos();
        let info = timer::inquire();
        let after = monotonic();
        assert!(before <= ticks && ticks <= date && date <= info.date && info.date <= after);
        assert_eq!(info.period, 1);
    }
}

#[test]
fn ticks_are_nanoseconds() {
    assert_eq!(resolution(), 1);
    for ns in [-7, 0, 1, i64::MAX, i64::MIN] {
        assert_eq!((timer::ns_to_ticks(ns), timer::ticks_to_ns(ns)), (ns, ns));
    }
    assert_eq!(Date::from_ticks(12_345).as_nanos(), 12_345);
}

#[test]
fn absurd_resolutions_are_refused() {
    for ns in [0, MAX_RESOLUTION + 1, u64::MAX] {
        assert_eq!(set_resolution(ns), Err(Error::Invalid));
    }
    assert_eq!(resolution(), 1);
}

#[test]
fn dates_saturate() {
    let now = Date::now();
    assert_eq!((now + Duration::from_nanos(5)) - now, Duration::from_nanos(5));
    assert_eq!(now - (now + SHORT), Duration::ZERO);
    assert_eq!((now + Duration::MAX).as_nanos(), u64::MAX);
    assert!(now < now + Duration::from_nanos(1));
}

#[test]
fn timeouts_compare_by_meaning() {
    assert_eq!(Timeout::from(RelativeTicks(0)), Timeout::INFINITE);
    assert_eq!(Timeout::from(DateTicks(u64::MAX)), Timeout::NONE);
    assert_eq!(Timeout::from(RelativeTicks(1000)), Timeout::from(Duration::from_micros(1)));
    assert_eq!(Timeout::from(DateTicks(1000)), Timeout::until(Date::from_ticks(1000)));
    assert_eq!(Timeout::from_timespec(0, 0), Timeout::NONE);
    assert_ne!(Timeout::from_timespec(0, 1), Timeout::NONE);
    assert_ne!(Timeout::from(Duration::ZERO), Timeout::NONE);
}

#[test]
fn a_sleep_lasts() {
    let _dog = Watchdog::new();
    as_task(|| {
        let start = Date::now();
        assert_eq!(task::sleep(SHORT), Ok(()));
        assert!(Date::now() - start >= SHORT);
        let date = Date::now() + SHORT;
        assert_eq!(task::sleep_until(Some(date)), Ok(()));
        assert!(Date::now() >= date);
        assert_eq!(task::sleep(Duration::from_nanos(1)), Ok(()));
        assert_eq!(task::sleep(Duration::ZERO), Ok(()));
    });
}

#[test]
fn a_sleep_until_a_past_date_is_told_so() {
    let _dog = Watchdog::new();
    as_task(|| {
        assert_eq!(task::sleep_until(Some(Date::now())), Err(Error::TimedOut));
        assert_eq!(task::sleep_until(Some(Date::from_ticks(0))), Err(Error::TimedOut));
    });
}

#[test]
fn endless_sleeps_end_on_request_only() {
    let _dog = Watchdog::new();
    let sleeps: [fn() -> alchemy::Result<()>; 4] = [
        || task::sleep_until(None),
        || task::sleep(Duration::MAX),
        || task::sleep_until(Some(Date::now() + Duration::MAX)),
        || task::sleep_until(Some(Date::now() + LONG)),
    ];
    for sleep in sleeps {
        let task = Task::builder().spawn(sleep).unwrap();
        until_status(task.task(), Status::DELAYED);
        task.task().request_end().unwrap();
        assert_eq!(value(task), Err(Error::Cancelled));
    }
}

#[test]
fn the_rest_of_a_sleep_is_told() {
    let _dog = Watchdog::new();
    let timed = Task::builder().spawn(|| task::sleep(LONG)).unwrap();
    let endless = Task::builder().spawn(|| task::sleep_until(None)).unwrap();
    until_status(timed.task(), Status::DELAYED);
    until_status(endless.task(), Status::DELAYED);
    let first = timed.task().inquire().unwrap().timeout;
    let second = timed.task().inquire().unwrap().timeout;
    assert!(second <= first && first <= LONG.as_nanos() as u64 && second > 0);
    assert_eq!(endless.task().inquire().unwrap().timeout, 0);
    for task in [timed, endless] {
        task.task().request_end().unwrap();
        assert_eq!(value(task), Err(Error::Cancelled));
    }
}

#[test]
fn a_spin_lasts_for_every_caller() {
    let _dog = Watchdog::new();
    let spin = || {
        let start = monotonic();
        timer::spin(2_000_000);
        assert!(monotonic() - start >= 2_000_000);
        timer::spin(0);
    };
    as_plain(spin);
    as_task(spin);
    value(Task::builder().priority(1).spawn(spin).unwrap());
}
