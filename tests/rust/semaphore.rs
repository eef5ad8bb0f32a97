//! Semaphores through the Rust interface.

mod kit;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use alchemy::task::Status;
use alchemy::{
    Date, DateTicks, Error, Handle, JoinHandle, MAX_COUNT, RelativeTicks, SemMode, SemRef, Semaphore, Task, Timeout,
};
use kit::{LONG, SHORT, Watchdog, as_plain, as_task, until_status, until_waiters, value};

type Waited = JoinHandle<alchemy::Result<()>>;

fn empty() -> Semaphore {
    Semaphore::new(0).unwrap()
}

/// A task of this priority that is queued on the semaphore when this returns.
fn waiter(sem: SemRef, priority: u32) -> Waited {
    let queued = sem.inquire().unwrap().waiters;
    let task = Task::builder().priority(priority).spawn(move || sem.wait(Timeout::INFINITE)).unwrap();
    until_waiters(sem, queued + 1);
    task
}

fn count(sem: SemRef) -> u32 {
    sem.inquire().unwrap().count
}

#[test]
fn a_unit_that_is_there_is_taken_whatever_the_timeout() {
    let _dog = Watchdog::new();
    let timeouts = || {
        [
            Timeout::INFINITE,
            Timeout::NONE,
            Timeout::from(Duration::ZERO),
            Timeout::from(LONG),
            Timeout::until(Date::from_ticks(1)),
            Timeout::from_timespec(-5, 0),
            // Out of range.
            Timeout::from_timespec(1, 2_000_000_000),
        ]
    };
    let all = timeouts().len() as u32;
    let sem = Semaphore::new(2 * all).unwrap();
    let reference = *sem;
    let take = move || timeouts().into_iter().for_each(|timeout| assert_eq!(reference.wait(timeout), Ok(())));
    as_plain(take);
    assert_eq!(count(*sem), all);
    as_task(take);
    assert_eq!(count(*sem), 0);
}

#[test]
fn a_poll_of_an_empty_one_would_block_for_every_caller() {
    let _dog = Watchdog::new();
    let sem = empty();
    let reference = *sem;
    assert_eq!(as_plain(move || reference.try_wait()), Err(Error::WouldBlock));
    assert_eq!(as_task(move || reference.try_wait()), Err(Error::WouldBlock));
    assert_eq!(as_plain(move || reference.wait(RelativeTicks(u64::MAX))), Err(Error::WouldBlock));
    assert_eq!(as_plain(move || reference.wait(DateTicks(u64::MAX))), Err(Error::WouldBlock));
    assert_eq!(as_task(move || reference.wait(Timeout::from_timespec(0, 0))), Err(Error::WouldBlock));
}

#[test]
fn a_plain_thread_that_would_have_to_wait_is_refused_and_leaves_no_trace() {
    let _dog = Watchdog::new();
    let sem = empty();
    let reference = *sem;
    for timeout in [Timeout::INFINITE, LONG.into(), Timeout::until(Date::from_ticks(1)), Timeout::from_timespec(1, -1)]
    {
        assert_eq!(as_plain(move || reference.wait(timeout)), Err(Error::Permission), "{timeout:?}");
    }
    let seen = sem.inquire().unwrap();
    assert_eq!((seen.count, seen.waiters), (0, 0));
    sem.post().unwrap();
    assert_eq!(count(*sem), 1);
}

#[test]
fn dates_that_are_malformed_or_past_are_told_apart() {
    let _dog = Watchdog::new();
    let sem = empty();
    let reference = *sem;
    as_task(move || {
        assert_eq!(reference.wait(Timeout::from_timespec(1, 1_000_000_000)), Err(Error::Invalid));
        assert_eq!(reference.wait(Timeout::from_timespec(1, -1)), Err(Error::Invalid));
        assert_eq!(reference.wait(Timeout::from_timespec(0, 1)), Err(Error::TimedOut));
        assert_eq!(reference.wait(Timeout::from_timespec(-1, 0)), Err(Error::TimedOut));
        assert_eq!(reference.wait(Timeout::until(Date::now())), Err(Error::TimedOut));
        assert_eq!(reference.wait(DateTicks(1)), Err(Error::TimedOut));
        assert_eq!(reference.wait(Duration::ZERO), Err(Error::TimedOut));
    });
    assert_eq!(sem.inquire().unwrap().waiters, 0);
}

#[test]
fn a_wait_does_not_time_out_before_its_date() {
    let _dog = Watchdog::new();
    let sem = empty();
    let reference = *sem;
    as_task(move || {
        let start = Date::now();
        assert_eq!(reference.wait(SHORT), Err(Error::TimedOut));
        assert!(Date::now() - start >= SHORT);

        let date = Date::now() + SHORT;
        assert_eq!(reference.wait(Timeout::until(date)), Err(Error::TimedOut));
        assert!(Date::now() >= date);

        let start = Date::now();
        assert_eq!(reference.wait(RelativeTicks(SHORT.as_nanos() as u64)), Err(Error::TimedOut));
        assert!(Date::now() - start >= SHORT);
    });
    let seen = sem.inquire().unwrap();
    assert_eq!((seen.count, seen.waiters), (0, 0));
    // The next unit is nobody's but the next taker's.
    sem.post().unwrap();
    assert_eq!(sem.try_wait(), Ok(()));
}

#[test]
fn a_timeout_beyond_the_end_of_the_clock_waits() {
    let _dog = Watchdog::new();
    let timeouts = [
        Timeout::from(Duration::MAX),
        Timeout::from(RelativeTicks(u64::MAX - 1)),
        Timeout::from(DateTicks(u64::MAX - 1)),
        Timeout::from_timespec(i64::MAX, 999_999_999),
        Timeout::until(Date::now() + Duration::MAX),
    ];
    for timeout in timeouts {
        let sem = empty();
        let reference = *sem;
        let task = Task::builder().spawn(move || reference.wait(timeout)).unwrap();
        until_status(task.task(), Status::TIMED_WAIT);
        sem.post().unwrap();
        assert_eq!(value(task), Ok(()), "{timeout:?}");
    }
}

#[test]
fn zero_ticks_wait_without_limit() {
    let _dog = Watchdog::new();
    for timeout in [Timeout::from(RelativeTicks(0)), Timeout::from(DateTicks(0))] {
        let sem = empty();
        let reference = *sem;
        let task = Task::builder().spawn(move || reference.wait(timeout)).unwrap();
        until_status(task.task(), Status::WAIT);
        sem.post().unwrap();
        assert_eq!(value(task), Ok(()));
    }
}

#[test]
fn a_post_hands_the_unit_to_the_waiter() {
    let _dog = Watchdog::new();
    let sem = empty();
    let task = waiter(*sem, 0);
    sem.post().unwrap();
    // Whether or not the waiter has run.
    assert_eq!(sem.try_wait(), Err(Error::WouldBlock));
    assert_eq!(sem.inquire().unwrap().waiters, 0);
    assert_eq!(value(task), Ok(()));
    assert_eq!(count(*sem), 0);
}

/// Queues tasks of these priorities in this order and posts for each: the places in which they were served.
fn service_order(mode: SemMode, priorities: &[u32]) -> Vec<usize> {
    let sem = Semaphore::create("", 0, mode).unwrap();
    let reference = *sem;
    let (mark, marks) = mpsc::channel();
    let tasks: Vec<_> = priorities
        .iter()
        .enumerate()
        .map(|(place, &priority)| {
            let mark = mark.clone();
            let body = move || {
                reference.wait(Timeout::INFINITE).unwrap();
                mark.send(place).unwrap();
            };
            let task = Task::builder().priority(priority).spawn(body).unwrap();
            until_waiters(reference, place as u32 + 1);
            task
        })
        .collect();
    let served = priorities
        .iter()
        .map(|_| {
            sem.post().unwrap();
            marks.recv().unwrap()
        })
        .collect();
    tasks.into_iter().for_each(value);
    served
}

#[test]
fn waiters_are_served_by_priority_and_equals_by_arrival() {
    let _dog = Watchdog::new();
    assert_eq!(service_order(SemMode::PRIORITY, &[10, 20, 15, 20]), [1, 3, 2, 0]);
    assert_eq!(service_order(SemMode::PRIORITY, &[0, 1, 99, 0]), [2, 1, 0, 3]);
}

#[test]
fn waiters_are_served_by_arrival_without_the_mode() {
    let _dog = Watchdog::new();
    assert_eq!(service_order(SemMode::empty(), &[10, 30, 20]), [0, 1, 2]);
}

#[test]
fn deletion_ends_the_waits_and_all_references() {
    let _dog = Watchdog::new();
    let sem = Semaphore::create("semaphore-deleted", 0, SemMode::PRIORITY).unwrap().leak();
    let tasks = [waiter(sem, 0), waiter(sem, 7)];
    assert_eq!(sem.delete(), Ok(()));
    assert_eq!(tasks.map(value), [Err(Error::Removed); 2]);
    assert_stale(sem);
    let again = Semaphore::create("semaphore-deleted", 3, SemMode::PRIORITY).unwrap();
    assert_stale(sem);
    assert_eq!(count(*again), 3);
}

fn assert_stale(sem: SemRef) {
    assert_eq!(sem.wait(Timeout::INFINITE), Err(Error::Invalid));
    assert_eq!(sem.wait(LONG), Err(Error::Invalid));
    assert_eq!(sem.try_wait(), Err(Error::Invalid));
    assert_eq!(sem.post(), Err(Error::Invalid));
    assert_eq!(sem.broadcast(), Err(Error::Invalid));
    assert_eq!(sem.inquire(), Err(Error::Invalid));
    assert_eq!(sem.delete(), Err(Error::Invalid));
}

#[test]
fn a_grant_outlives_the_semaphore() {
    let _dog = Watchdog::new();
    for _ in 0..50 {
        let sem = empty();
        let task = waiter(*sem, 0);
        sem.post().unwrap();
        drop(sem);
        assert_eq!(value(task), Ok(()));
    }
}

#[test]
fn dropping_the_owner_deletes() {
    let _dog = Watchdog::new();
    let sem = Semaphore::create("semaphore-dropped", 1, SemMode::PRIORITY).unwrap();
    let reference = *sem;
    let task = {
        sem.wait(Timeout::NONE).unwrap();
        waiter(reference, 0)
    };
    drop(sem);
    assert_eq!(value(task), Err(Error::Removed));
    assert_stale(reference);
    assert_eq!(Semaphore::bind("semaphore-dropped", Timeout::NONE), Err(Error::WouldBlock));
}

#[test]
fn dropping_the_owner_after_a_deletion_by_reference_spares_the_successor() {
    let _dog = Watchdog::new();
    let sem = Semaphore::create("semaphore-successor", 0, SemMode::PRIORITY).unwrap();
    let reference = *sem;
    reference.delete().unwrap();
    let successor = Semaphore::create("semaphore-successor", 2, SemMode::PRIORITY).unwrap();
    drop(sem);
    assert_eq!(count(*successor), 2);
    assert_eq!(Semaphore::bind("semaphore-successor", Timeout::NONE), Ok(*successor));
}

#[test]
fn a_leaked_one_lives_on() {
    let _dog = Watchdog::new();
    let reference = thread::spawn(|| Semaphore::create("semaphore-leaked", 4, SemMode::PRIORITY).unwrap().leak());
    let reference = reference.join().unwrap();
    assert_eq!(count(reference), 4);
    assert_eq!(Semaphore::bind("semaphore-leaked", Timeout::NONE), Ok(reference));
    assert_eq!(reference.delete(), Ok(()));
}

#[test]
fn one_of_several_deleters_wins() {
    let _dog = Watchdog::new();
    for _ in 0..100 {
        let sem = empty().leak();
        let deleters: Vec<_> = (0..3).map(|_| thread::spawn(move || sem.delete())).collect();
        let mut results: Vec<_> = deleters.into_iter().map(|thread| thread.join().unwrap()).collect();
        results.sort_by_key(|result| result.is_err());
        assert_eq!(results, [Ok(()), Err(Error::Invalid), Err(Error::Invalid)]);
    }
}

#[test]
fn a_pulse_that_nobody_waits_for_is_lost() {
    let _dog = Watchdog::new();
    for mode in [SemMode::PULSE, SemMode::PULSE | SemMode::PRIORITY] {
        let sem = Semaphore::create("", 0, mode).unwrap();
        for _ in 0..3 {
            assert_eq!(sem.post(), Ok(()));
        }
        assert_eq!(count(*sem), 0);
        assert_eq!(sem.try_wait(), Err(Error::WouldBlock));
        let [first, second] = [waiter(*sem, 5), waiter(*sem, 5)];
        sem.post().unwrap();
        assert_eq!(value(first), Ok(()));
        let seen = sem.inquire().unwrap();
        assert_eq!((seen.count, seen.waiters), (0, 1));
        sem.post().unwrap();
        assert_eq!(value(second), Ok(()));
        assert_eq!(count(*sem), 0);
    }
}

#[test]
fn counts_and_modes_out_of_range_are_refused() {
    let _dog = Watchdog::new();
    let create = |count, mode| Semaphore::create("semaphore-refused", count, mode).map(drop);
    assert_eq!(create(MAX_COUNT + 1, SemMode::PRIORITY), Err(Error::Invalid));
    assert_eq!(create(u32::MAX, SemMode::empty()), Err(Error::Invalid));
    assert_eq!(create(1, SemMode::PULSE), Err(Error::Invalid));
    assert_eq!(create(0, SemMode::from_bits_retain(4)), Err(Error::Invalid));
    assert_eq!(create(0, SemMode::from_bits_retain(u32::MAX)), Err(Error::Invalid));
    assert_eq!(create(0, SemMode::PULSE), Ok(()));
}

#[test]
fn a_full_count_refuses_further_units() {
    let _dog = Watchdog::new();
    let sem = Semaphore::new(MAX_COUNT).unwrap();
    assert_eq!(sem.post(), Err(Error::Invalid));
    assert_eq!(count(*sem), MAX_COUNT);
    sem.try_wait().unwrap();
    assert_eq!(sem.post(), Ok(()));
    assert_eq!(count(*sem), MAX_COUNT);
}

#[test]
fn a_broadcast_releases_those_who_wait_and_empties_the_count() {
    let _dog = Watchdog::new();
    let sem = empty();
    let tasks = [waiter(*sem, 1), waiter(*sem, 2), waiter(*sem, 1)];
    sem.broadcast().unwrap();
    let late = waiter(*sem, 0);
    assert_eq!(tasks.map(value), [Ok(()); 3]);
    assert_eq!(sem.inquire().unwrap().waiters, 1);
    sem.post().unwrap();
    assert_eq!(value(late), Ok(()));

    let full = Semaphore::new(5).unwrap();
    full.broadcast().unwrap();
    assert_eq!(count(*full), 0);
    let pulse = Semaphore::create("", 0, SemMode::PULSE).unwrap();
    pulse.broadcast().unwrap();
    assert_eq!(count(*pulse), 0);
}

#[test]
fn a_broadcast_releases_more_than_it_tells_at_once() {
    let _dog = Watchdog::new();
    let sem = empty();
    let tasks: Vec<_> = (0..100).map(|i| waiter(*sem, i % 3)).collect();
    sem.broadcast().unwrap();
    assert!(tasks.into_iter().map(value).all(|result| result == Ok(())));
    let seen = sem.inquire().unwrap();
    assert_eq!((seen.count, seen.waiters), (0, 0));
}

#[test]
fn inquire_shows_count_waiters_and_name() {
    let _dog = Watchdog::new();
    let sem = Semaphore::create("semaphore-seen", 2, SemMode::PRIORITY).unwrap();
    let seen = sem.inquire().unwrap();
    assert_eq!((seen.count, seen.waiters, seen.name.to_text().as_str()), (2, 0, "semaphore-seen"));
    sem.wait(Timeout::NONE).unwrap();
    sem.wait(Timeout::NONE).unwrap();
    let tasks = [waiter(*sem, 3), waiter(*sem, 3)];
    let seen = sem.inquire().unwrap();
    assert_eq!((seen.count, seen.waiters), (0, 2));
    drop(sem);
    assert_eq!(tasks.map(value), [Err(Error::Removed); 2]);
}

#[test]
fn handles_of_nothing_and_of_other_types_are_refused() {
    let _dog = Watchdog::new();
    let task = Task::builder().spawn(|| alchemy::task::sleep_until(None)).unwrap();
    let real = empty();
    let strangers = [
        Handle::NONE,
        task.task().handle(),
        Handle::from_raw(usize::MAX),
        Handle::from_raw(0x1000),
        // Right type, no such slot; right slot, generation to come.
        Handle::from_raw(real.handle().to_raw() | 0xffff_0000),
        Handle::from_raw(real.handle().to_raw() + (1 << 32)),
    ];
    strangers.into_iter().map(SemRef::from_handle).for_each(assert_stale);
    assert_eq!(SemRef::from_handle(Handle::from_raw(real.handle().to_raw())), *real);
    task.task().request_end().unwrap();
    assert_eq!(value(task), Err(Error::Cancelled));
}

#[test]
fn a_cancelled_waiter_leaves_no_trace() {
    let _dog = Watchdog::new();
    let sem = empty();
    let tasks = [waiter(*sem, 9), waiter(*sem, 8), waiter(*sem, 7)];
    tasks[0].task().request_end().unwrap();
    // It is out of the queue when the request returns.
    assert_eq!(sem.inquire().unwrap().waiters, 2);
    sem.post().unwrap();
    assert_eq!(sem.inquire().unwrap().waiters, 1);
    tasks[2].task().request_end().unwrap();
    assert_eq!(sem.inquire().unwrap().waiters, 0);
    sem.post().unwrap();
    assert_eq!(count(*sem), 1);
    assert_eq!(tasks.map(value), [Err(Error::Cancelled), Ok(()), Err(Error::Cancelled)]);
}

#[test]
fn a_grant_comes_before_a_later_request_to_end() {
    let _dog = Watchdog::new();
    for _ in 0..50 {
        let sem = empty();
        let task = waiter(*sem, 0);
        sem.post().unwrap();
        // It may have ended.
        let _ = task.task().request_end();
        assert_eq!(value(task), Ok(()));
        assert_eq!(count(*sem), 0);
    }
}

#[test]
fn what_the_poster_wrote_the_taker_sees() {
    let _dog = Watchdog::new();
    const ROUNDS: u64 = 20_000;
    let (ball, bat) = (empty(), empty());
    let (there, back) = (*ball, *bat);
    let cell = Arc::new(AtomicU64::new(0));
    let mirror = cell.clone();
    let task = Task::builder()
        .spawn(move || {
            for round in 0..ROUNDS {
                there.wait(Timeout::INFINITE)?;
                assert_eq!(mirror.load(Relaxed), 2 * round + 1);
                mirror.store(2 * round + 2, Relaxed);
                back.post()?;
            }
            Ok::<(), Error>(())
        })
        .unwrap();
    let partner = Task::builder()
        .spawn(move || {
            for round in 0..ROUNDS {
                cell.store(2 * round + 1, Relaxed);
                there.post()?;
                back.wait(Timeout::INFINITE)?;
                assert_eq!(cell.load(Relaxed), 2 * round + 2);
            }
            Ok::<(), Error>(())
        })
        .unwrap();
    assert_eq!((value(task), value(partner)), (Ok(()), Ok(())));
}

#[test]
fn owners_and_references_cross_threads() {
    let _dog = Watchdog::new();
    let sem = Arc::new(Semaphore::new(0).unwrap());
    let posters: Vec<_> = (0..4)
        .map(|_| {
            let sem = sem.clone();
            thread::spawn(move || (0..1000).for_each(|_| sem.post().unwrap()))
        })
        .collect();
    posters.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(count(**sem), 4000);
}

#[test]
fn errors_have_the_numbers_of_c() {
    let numbers = [
        (Error::Invalid, libc::EINVAL),
        (Error::WouldBlock, libc::EWOULDBLOCK),
        (Error::Permission, libc::EPERM),
        (Error::TimedOut, libc::ETIMEDOUT),
        (Error::Interrupted, libc::EINTR),
        (Error::Removed, libc::EIDRM),
        (Error::Exists, libc::EEXIST),
        (Error::NoMemory, libc::ENOMEM),
        (Error::Busy, libc::EBUSY),
        (Error::NotFound, libc::ESRCH),
        (Error::Deadlock, libc::EDEADLK),
        (Error::ThreadLimit, libc::EAGAIN),
        (Error::Cancelled, libc::ECANCELED),
    ];
    for (error, number) in numbers {
        assert_eq!(error.errno(), number, "{error}");
    }
}
