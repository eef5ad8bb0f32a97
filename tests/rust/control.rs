//! Control over tasks through the safe interface, and requests to end.

mod kit;

use std::sync::atomic::{AtomicU32, Ordering::*};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use alchemy::task::{self, Status, request_end_pending};
use alchemy::{Date, Error, SemMode, SemRef, Semaphore, Task, Timeout};
use kit::*;

/// A task that counts until it is asked to end; with each turn it passes through the library.
fn counter() -> (alchemy::JoinHandle<()>, Arc<AtomicU32>) {
    let count = Arc::new(AtomicU32::new(0));
    let turns = count.clone();
    let task = Task::builder().spawn(move || {
        while !task::request_end_pending() {
            turns.fetch_add(1, Relaxed);
            task::yield_now().unwrap();
        }
    });
    (task.unwrap(), count)
}

#[test]
fn suspensions_nest() {
    let _watchdog = Watchdog::new();
    let (task, count) = counter();
    until(|| count.load(Relaxed) > 10);
    task.task().suspend().unwrap();
    task.task().suspend().unwrap();
    let mut before;
    loop {
        before = count.load(Relaxed);
        thread::sleep(SHORT);
        if count.load(Relaxed) == before {
            break;
        }
    }
    assert!(task.task().inquire().unwrap().status.contains(Status::SUSPENDED));
    task.task().resume().unwrap();
    thread::sleep(SHORT);
    assert_eq!(count.load(Relaxed), before);
    task.task().resume().unwrap();
    until(|| count.load(Relaxed) > before);
    task.task().request_end().unwrap();
    value(task);
}

#[test]
fn unblock_ends_one_wait() {
    let _watchdog = Watchdog::new();
    let sem = Semaphore::new(0).unwrap();
    let gate = *sem;
    let tasks: Vec<_> = (0..2).map(|_| Task::builder().spawn(move || gate.wait(Timeout::INFINITE)).unwrap()).collect();
    until_waiters(gate, 2);
    tasks[0].task().unblock().unwrap();
    until_waiters(gate, 1);
    gate.post().unwrap();
    let results: Vec<_> = tasks.into_iter().map(value).collect();
    assert_eq!(results, [Err(Error::Interrupted), Ok(())]);
}

#[test]
fn a_raised_waiter_is_served_first() {
    let _watchdog = Watchdog::new();
    let sem = Semaphore::create("", 0, SemMode::PRIORITY).unwrap();
    let gate = *sem;
    let served = Arc::new(AtomicU32::new(0));
    let start = |priority: u32| {
        let served = served.clone();
        let body = move || {
            gate.wait(Timeout::INFINITE).unwrap();
            served.compare_exchange(0, priority, Relaxed, Relaxed).is_ok()
        };
        Task::builder().priority(priority).spawn(body).unwrap()
    };
    let (low, high) = (start(10), start(15));
    until_waiters(gate, 2);
    assert_eq!(low.task().set_priority(50), Ok(10));
    assert_eq!(low.task().inquire().unwrap().priority, 50);
    gate.post().unwrap();
    assert!(value(low));
    gate.post().unwrap();
    assert!(!value(high));
    assert_eq!(task::current().map(|task| task.set_priority(100)), None);
}

#[test]
fn periods_are_on_a_grid() {
    let _watchdog = Watchdog::new();
    const PERIOD: Duration = Duration::from_millis(4);
    as_task(|| {
        let me = task::current().unwrap();
        assert_eq!(task::wait_period(), Err(Error::WouldBlock));
        let start = Date::now() + PERIOD;
        me.set_periodic(Some(start), PERIOD).unwrap();
        let mut points = 0;
        for _ in 0..5 {
            points += 1 + task::wait_period().unwrap() as u32;
            assert!(Date::now() >= start + PERIOD * (points - 1));
        }
        alchemy::timer::spin(3 * PERIOD.as_nanos() as u64);
        assert!(task::wait_period().unwrap() >= 1);
        assert_eq!(me.set_periodic(Some(start), PERIOD), Err(Error::TimedOut));
        me.set_periodic(None, Duration::ZERO).unwrap();
        assert_eq!(task::wait_period(), Err(Error::WouldBlock));
    });
}

#[test]
fn deletion_asks_a_rust_body_to_end() {
    let _watchdog = Watchdog::new();
    struct Dropped(Arc<AtomicU32>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let drops = Arc::new(AtomicU32::new(0));
    let held = Dropped(drops.clone());
    let task = Task::builder().spawn(move || {
        let _held = held;
        task::sleep(LONG)
    });
    let task = task.unwrap();
    until_status(task.task(), Status::DELAYED);
    task.task().delete().unwrap();
    assert_eq!(drops.load(Relaxed), 1);
    assert_eq!(task.task().delete(), Err(Error::Invalid));
    assert_eq!(value(task), Err(Error::Cancelled));
    assert_eq!(as_task(|| task::current().unwrap().delete()), Err(Error::Deadlock));
}

#[test]
fn the_scheduler_lock_shows() {
    let _watchdog = Watchdog::new();
    as_task(|| {
        assert_eq!(task::set_scheduler_lock(true), Ok(false));
        let seen = task::current().unwrap().inquire().unwrap();
        assert!(seen.locked && seen.priority == 0);
        assert_eq!(task::set_scheduler_lock(true), Ok(true));
        assert_eq!(task::set_scheduler_lock(false), Ok(true));
        assert_eq!(task::scheduler_lock(), Ok(false));
    });
    assert_eq!(as_plain(|| task::set_scheduler_lock(true)), Err(Error::Permission));
}

#[test]
fn a_request_to_end_ends_the_wait_it_meets() {
    let _dog = Watchdog::new();
    let sem = gate();
    let gate = *sem;
    let waits: [fn(SemRef) -> Result<(), Error>; 5] = [
        |gate| gate.wait(Timeout::INFINITE),
        |gate| gate.wait(LONG),
        |_| task::sleep(LONG),
        |_| task::sleep_until(None),
        |_| Semaphore::bind("task-never-made", Timeout::INFINITE).map(|_| ()),
    ];
    for (wait, status) in
        waits.into_iter().zip([Status::WAIT, Status::TIMED_WAIT, Status::DELAYED, Status::DELAYED, Status::WAIT])
    {
        let task = Task::builder().spawn(move || (wait(gate), request_end_pending())).unwrap();
        until_status(task.task(), status);
        assert_eq!(task.task().request_end(), Ok(()));
        assert_eq!(value(task), (Err(Error::Cancelled), true), "{status:?}");
    }
    assert_eq!(sem.inquire().unwrap().waiters, 0);
}

#[test]
fn after_a_request_to_end_every_wait_is_cancelled() {
    let _dog = Watchdog::new();
    let (sem, stocked) = (gate(), Semaphore::new(1).unwrap());
    let (gate, stock) = (*sem, *stocked);
    let task = Task::builder()
        .spawn(move || {
            assert!(!request_end_pending());
            assert_eq!(gate.wait(Timeout::INFINITE), Err(Error::Cancelled));
            for _ in 0..3 {
                assert_eq!(gate.wait(Timeout::INFINITE), Err(Error::Cancelled));
                assert_eq!(gate.wait(LONG), Err(Error::Cancelled));
                assert_eq!(task::sleep(LONG), Err(Error::Cancelled));
                assert_eq!(task::sleep_until(None), Err(Error::Cancelled));
                assert_eq!(Task::bind("task-never-made", LONG), Err(Error::Cancelled));
                assert!(request_end_pending());
            }
            // Only waits are: the rest goes on.
            assert_eq!(gate.try_wait(), Err(Error::WouldBlock));
            assert_eq!(stock.wait(Timeout::INFINITE), Ok(()));
            assert_eq!(stock.post(), Ok(()));
            assert_eq!(task::sleep(Duration::ZERO), Ok(()));
        })
        .unwrap();
    until_waiters(gate, 1);
    task.task().request_end().unwrap();
    value(task);
    assert_eq!(sem.inquire().unwrap().waiters, 0);
    assert_eq!(stocked.inquire().unwrap().count, 1);
}

#[test]
fn a_request_before_the_wait_is_remembered() {
    let _dog = Watchdog::new();
    let sem = gate();
    let gate = *sem;
    let (go, gone) = mpsc::channel();
    let task = Task::builder()
        .spawn(move || {
            gone.recv().unwrap();
            gate.wait(Timeout::INFINITE)
        })
        .unwrap();
    task.task().request_end().unwrap();
    task.task().request_end().unwrap();
    go.send(()).unwrap();
    assert_eq!(value(task), Err(Error::Cancelled));
}

#[test]
fn a_computing_body_sees_the_request() {
    let _dog = Watchdog::new();
    let (tell, told) = mpsc::channel();
    let task = Task::builder()
        .spawn(move || {
            tell.send(()).unwrap();
            let mut rounds = 0u64;
            while !request_end_pending() {
                rounds += 1;
                task::yield_now().unwrap();
            }
            rounds
        })
        .unwrap();
    told.recv().unwrap();
    task.task().request_end().unwrap();
    let _rounds: u64 = value(task);
}

#[test]
fn a_request_can_be_a_tasks_own() {
    let _dog = Watchdog::new();
    let waited = as_task(|| {
        task::current().unwrap().request_end().unwrap();
        task::sleep(LONG)
    });
    assert_eq!(waited, Err(Error::Cancelled));
}

#[test]
fn a_request_reaches_a_shadowed_thread() {
    let _dog = Watchdog::new();
    let (tell, told) = mpsc::channel();
    let thread = thread::spawn(move || {
        tell.send(Task::shadow("", 3).unwrap()).unwrap();
        task::sleep_until(None)
    });
    let task = told.recv().unwrap();
    until_status(task, Status::DELAYED);
    task.request_end().unwrap();
    assert_eq!(thread.join().unwrap(), Err(Error::Cancelled));
}

#[test]
fn a_request_does_not_outlive_its_task() {
    let _dog = Watchdog::new();
    for _ in 0..400 {
        let task = Task::builder().spawn(|| task::sleep_until(None)).unwrap();
        task.task().request_end().unwrap();
        assert_eq!(value(task), Err(Error::Cancelled));
        // One of these gets the slot sooner or later.
        assert!(!as_task(request_end_pending));
    }
}
