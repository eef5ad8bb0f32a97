//! What is special about the thread that runs `main`, and what belongs to the whole process: the resolution of the clock.
//! The cases run in that thread, one after the other.

mod kit;

use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use alchemy::task::{self, Status};
use alchemy::{
    Date, DateTicks, Error, MAX_RESOLUTION, Mutex, RelativeTicks, Semaphore, Task, Timeout, resolution, set_resolution,
    timer,
};
use kit::{LONG, SHORT, Watchdog, as_plain, until_waiters, value};
use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let mut args = Arguments::from_args();
    args.test_threads = Some(1);
    let trials = cases().map(|(name, case)| {
        Trial::test(name, move || {
            let _dog = Watchdog::over(name, alchemy_tests::watchdog::LIMIT);
            case();
            Ok(())
        })
    });
    libtest_mimic::run(&args, trials.into()).exit_code()
}

/// In this order.
fn cases() -> [(&'static str, fn()); 13] {
    [
        ("it_is_no_task", it_is_no_task),
        ("it_may_wait", it_may_wait),
        ("it_waits_with_priority_0", it_waits_with_priority_0),
        ("it_may_sleep_and_yield", it_may_sleep_and_yield),
        ("it_binds", it_binds),
        ("it_may_join", it_may_join),
        ("it_may_not_lock", it_may_not_lock),
        ("it_ranks_as_priority_0_in_a_start", it_ranks_as_priority_0_in_a_start),
        ("other_threads_may_not_wait", other_threads_may_not_wait),
        ("a_resolution_scales_ticks", a_resolution_scales_ticks),
        ("a_resolution_that_divides_no_second", a_resolution_that_divides_no_second),
        ("the_largest_resolution", the_largest_resolution),
        // It stays one.
        ("it_can_become_a_task", it_can_become_a_task),
    ]
}

fn it_is_no_task() {
    assert_eq!(task::current(), None);
    assert!(!task::request_end_pending());
}

fn it_may_wait() {
    let sem = Semaphore::new(0).unwrap();
    let start = Date::now();
    assert_eq!(sem.wait(SHORT), Err(Error::TimedOut));
    assert!(Date::now() - start >= SHORT);
    assert_eq!(sem.wait(Timeout::until(Date::from_ticks(1))), Err(Error::TimedOut));
    assert_eq!(sem.wait(Timeout::from_timespec(0, -1)), Err(Error::Invalid));
    assert_eq!(sem.try_wait(), Err(Error::WouldBlock));

    let reference = *sem;
    let poster = Task::builder()
        .spawn(move || {
            until_waiters(reference, 1);
            reference.post()
        })
        .unwrap();
    assert_eq!(sem.wait(Timeout::INFINITE), Ok(()));
    assert_eq!(value(poster), Ok(()));

    let deleter = Task::builder()
        .spawn(move || {
            until_waiters(reference, 1);
            reference.delete()
        })
        .unwrap();
    assert_eq!(sem.wait(Timeout::INFINITE), Err(Error::Removed));
    assert_eq!(value(deleter), Ok(()));
}

fn it_waits_with_priority_0() {
    let sem = Semaphore::new(0).unwrap();
    let reference = *sem;
    let (mark, marks) = mpsc::channel();
    let waiter = |label: &'static str, priority| {
        let mark = mark.clone();
        Task::builder()
            .priority(priority)
            .spawn(move || {
                reference.wait(Timeout::INFINITE).unwrap();
                mark.send(label).unwrap();
            })
            .unwrap()
    };
    let early = waiter("0, first", 0);
    until_waiters(reference, 1);
    let rest = {
        let mark = mark.clone();
        let late = Task::builder().spawn(move || {
            // The initial thread is queued second.
            until_waiters(reference, 2);
            let own = |label: &'static str, priority| {
                let mark = mark.clone();
                Task::builder()
                    .priority(priority)
                    .spawn(move || {
                        reference.wait(Timeout::INFINITE).unwrap();
                        mark.send(label).unwrap();
                    })
                    .unwrap()
            };
            let last = own("0, last", 0);
            until_waiters(reference, 3);
            let above = own("1", 1);
            until_waiters(reference, 4);
            for left in [3, 2, 1, 0] {
                reference.post().unwrap();
                until_waiters(reference, left);
            }
            [last, above].into_iter().for_each(value);
        });
        late.unwrap()
    };
    sem.wait(Timeout::INFINITE).unwrap();
    // Served before the initial thread, whenever they ran: these two need not wait for it.
    let before = [marks.recv().unwrap(), marks.recv().unwrap(), marks.recv().unwrap()];
    assert!(before.contains(&"0, first") && before.contains(&"1"));
    value(early);
    value(rest);
    assert_eq!(sem.inquire().unwrap().count, 0);
}

fn it_may_sleep_and_yield() {
    let start = Date::now();
    assert_eq!(task::sleep(SHORT), Ok(()));
    assert!(Date::now() - start >= SHORT);
    assert_eq!(task::sleep_until(Some(start)), Err(Error::TimedOut));
    assert_eq!(task::yield_now(), Ok(()));
}

fn it_binds() {
    let start = Date::now();
    assert_eq!(Semaphore::bind("initial-absent", SHORT), Err(Error::TimedOut));
    assert!(Date::now() - start >= SHORT);
    let creator = Task::builder()
        .spawn(|| Semaphore::create("initial-late", 1, alchemy::SemMode::PRIORITY).map(Semaphore::leak))
        .unwrap();
    let found = Semaphore::bind("initial-late", LONG).unwrap();
    assert_eq!(value(creator), Ok(found));
    assert_eq!(found.delete(), Ok(()));
}

fn it_may_join() {
    let task = Task::builder().priority(30).spawn(|| 30).unwrap();
    assert_eq!(value(task), 30);
}

fn it_may_not_lock() {
    let mutex = Mutex::new().unwrap();
    for timeout in [Timeout::INFINITE, Timeout::NONE, LONG.into(), Timeout::until(Date::from_ticks(1))] {
        assert_eq!(mutex.lock(timeout).map(drop).map_err(Error::from), Err(Error::Permission));
    }
    assert_eq!(mutex.release(), Err(Error::Permission));
    assert_eq!(mutex.inquire().unwrap().owner(), None);
}

fn it_ranks_as_priority_0_in_a_start() {
    let task = Task::builder().priority(1).spawn(|| task::sleep_until(None)).unwrap();
    assert!(task.task().inquire().unwrap().status.contains(Status::ACTIVE));
    task.task().request_end().unwrap();
    assert_eq!(value(task), Err(Error::Cancelled));
}

fn other_threads_may_not_wait() {
    let sem = Semaphore::new(0).unwrap();
    let reference = *sem;
    assert_eq!(as_plain(move || reference.wait(SHORT)), Err(Error::Permission));
}

/// Runs `body` at a resolution of `ns`, and restores the default.
fn at_resolution(ns: u64, body: impl FnOnce()) {
    struct Default;
    impl Drop for Default {
        fn drop(&mut self) {
            set_resolution(1).unwrap();
        }
    }
    let _default = Default;
    set_resolution(ns).unwrap();
    assert_eq!(resolution(), ns);
    body();
}

fn a_resolution_scales_ticks() {
    at_resolution(1000, || {
        assert_eq!((timer::ns_to_ticks(1999), timer::ns_to_ticks(-1999)), (1, -1));
        assert_eq!((timer::ticks_to_ns(3), timer::ticks_to_ns(-3)), (3000, -3000));
        assert_eq!(timer::ticks_to_ns(i64::MAX), i64::MAX);
        let (before, info, after) = (timer::read(), timer::inquire(), timer::read());
        assert_eq!(info.period, 1000);
        assert!(before <= info.date && info.date <= after);
        let (before, ticks, after) = (Date::now().as_nanos(), timer::read(), Date::now().as_nanos());
        assert!(before / 1000 <= ticks && ticks <= after / 1000);

        let sem = Semaphore::new(0).unwrap();
        let start = Date::now();
        assert_eq!(sem.wait(RelativeTicks(5000)), Err(Error::TimedOut));
        assert!(Date::now() - start >= Duration::from_millis(5));
        let date = timer::read() + 5000;
        assert_eq!(sem.wait(DateTicks(date)), Err(Error::TimedOut));
        assert!(timer::read() >= date);
        // Nanoseconds, not ticks.
        let start = Date::now();
        timer::spin(5_000_000);
        assert!(Date::now() - start >= Duration::from_millis(5));
    });
}

fn a_resolution_that_divides_no_second() {
    at_resolution(300, || {
        assert_eq!(Date::from_ticks(10_000_000_007).as_nanos(), 3_000_000_002_100);
        let date = timer::read() + 10_000_000 / 300;
        assert_eq!(task::sleep_until(Some(Date::from_ticks(date))), Ok(()));
        assert!(timer::read() >= date);
    });
}

fn the_largest_resolution() {
    at_resolution(MAX_RESOLUTION, || {
        assert_eq!(timer::ns_to_ticks(2_999_999_999), 2);
        assert_eq!(Date::from_ticks(u64::MAX).as_nanos(), u64::MAX);
        assert!(Date::from_ticks(timer::read()) <= Date::now());
    });
}

fn it_can_become_a_task() {
    assert_eq!(Task::shadow("initial", 100), Err(Error::Invalid));
    assert_eq!(task::current(), None);
    // It may still wait.
    let sem = Semaphore::new(0).unwrap();
    assert_eq!(sem.wait(SHORT), Err(Error::TimedOut));

    let main = Task::shadow("initial", 2).unwrap();
    assert_eq!(task::current(), Some(main));
    assert_eq!(Task::shadow("initial-again", 2), Err(Error::Busy));
    assert_eq!(main.join(), Err(Error::Deadlock));
    assert_eq!(Task::bind("initial", Timeout::NONE), Ok(main));
    assert_eq!(main.inquire().unwrap().priority, 2);
    let mutex = Mutex::new().unwrap();
    let guard = mutex.lock(Timeout::INFINITE).unwrap();
    assert_eq!(guard.inquire().unwrap().owner(), Some(main));
    drop(guard);
    let asker = Task::builder()
        .spawn(move || {
            kit::until_status(main, Status::WAIT);
            main.request_end()
        })
        .unwrap();
    assert_eq!(sem.wait(Timeout::INFINITE), Err(Error::Cancelled));
    assert!(task::request_end_pending());
    assert_eq!(value(asker), Ok(()));
}
