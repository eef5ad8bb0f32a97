//! Condition variables through the Rust interface.

mod kit;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

use alchemy::task::{self, Status};
use alchemy::{
    Alarm, Condition, ConditionRef, Date, Error, Handle, JoinHandle, LockError, Mutex, MutexGuard, MutexRef, Task,
    Timeout,
};
use kit::{LONG, SHORT, Watchdog, as_plain, as_task, gate, until, until_status, value};

type Waited = JoinHandle<alchemy::Result<()>>;

fn pair() -> (Mutex, Condition) {
    (Mutex::new().unwrap(), Condition::new().unwrap())
}

fn lock(mutex: MutexRef) -> MutexGuard {
    mutex.lock(Timeout::INFINITE).unwrap()
}

fn until_waiters(condition: ConditionRef, waiters: u32) {
    until(|| condition.inquire().expect("the condition variable is gone").waiters == waiters);
}

/// A task of this priority that is queued when this returns, and returns what the wait returned. Its guard is right.
fn waiter(mutex: MutexRef, condition: ConditionRef, priority: u32) -> Waited {
    let queued = condition.inquire().unwrap().waiters;
    let body = move || {
        let mut guard = lock(mutex);
        let waited = condition.wait(&mut guard, Timeout::INFINITE);
        assert_eq!(guard.is_locked(), !matches!(waited, Err(Error::Cancelled)));
        waited
    };
    let task = Task::builder().priority(priority).spawn(body).unwrap();
    until_waiters(condition, queued + 1);
    task
}

fn assert_stale(condition: ConditionRef) {
    as_task(move || {
        let mutex = Mutex::new().unwrap();
        let mut guard = lock(*mutex);
        assert_eq!(condition.wait(&mut guard, Timeout::INFINITE), Err(Error::Invalid));
        assert!(guard.is_locked());
    });
    assert_eq!(condition.signal(), Err(Error::Invalid));
    assert_eq!(condition.broadcast(), Err(Error::Invalid));
    assert_eq!(condition.inquire(), Err(Error::Invalid));
    assert_eq!(condition.delete(), Err(Error::Invalid));
    assert_eq!(condition.delete_by_force(), Err(Error::Invalid));
}

#[test]
fn a_signal_without_waiters_is_lost() {
    let _dog = Watchdog::new();
    let (mutex, condition) = pair();
    condition.signal().unwrap();
    condition.broadcast().unwrap();
    let (mutex, condition) = (*mutex, *condition);
    as_task(move || {
        let mut guard = lock(mutex);
        assert_eq!(condition.wait(&mut guard, SHORT), Err(Error::TimedOut));
    });
}

#[test]
fn a_signal_releases_the_first_by_priority() {
    let _dog = Watchdog::new();
    let (mutex, condition) = pair();
    let tasks = [10, 30, 20].map(|priority| waiter(*mutex, *condition, priority));
    let mut tasks = tasks.map(Some);
    for (waiters, first) in [(2, 1), (1, 2), (0, 0)] {
        condition.signal().unwrap();
        assert_eq!(condition.inquire().unwrap().waiters, waiters);
        assert_eq!(value(tasks[first].take().unwrap()), Ok(()));
    }
}

#[test]
fn a_broadcast_releases_all_who_wait() {
    let _dog = Watchdog::new();
    let (mutex, condition) = pair();
    let tasks: Vec<_> = (0..40).map(|i| waiter(*mutex, *condition, i % 3)).collect();
    condition.broadcast().unwrap();
    assert_eq!(condition.inquire().unwrap().waiters, 0);
    assert!(tasks.into_iter().map(value).all(|waited| waited == Ok(())));
    let (mutex, condition) = (*mutex, *condition);
    // It left no signal for those who come later.
    as_task(move || assert_eq!(condition.wait(&mut lock(mutex), SHORT), Err(Error::TimedOut)));
}

/// Nobody who holds the mutex sees a waiter that holds it too.
#[test]
fn the_mutex_is_free_during_the_wait_and_locked_after_it() {
    let _dog = Watchdog::new();
    let (mutex, condition) = pair();
    let task = waiter(*mutex, *condition, 0);
    let (mutex, condition) = (*mutex, *condition);
    as_task(move || {
        let guard = mutex.try_lock().expect("the waiter has given the mutex up");
        condition.signal().unwrap();
        // It is released, and comes back to the mutex.
        until(|| mutex.inquire().unwrap().waiters == 1);
        assert_eq!(mutex.inquire().unwrap().owner(), task::current());
        drop(guard);
        assert_eq!(value(task), Ok(()));
    });
    assert_eq!(mutex.inquire().unwrap().owner(), None);
}

#[test]
fn a_mutex_that_is_locked_several_times_is_given_up_and_locked_as_often() {
    let _dog = Watchdog::new();
    let (mutex, condition) = pair();
    let (mutex, condition) = (*mutex, *condition);
    let (tell, told) = mpsc::channel();
    let task = Task::builder()
        .spawn(move || {
            let (outer, middle) = (lock(mutex), lock(mutex));
            let mut inner = lock(mutex);
            assert_eq!(condition.wait(&mut inner, Timeout::INFINITE), Ok(()));
            assert_eq!(condition.wait(&mut inner, SHORT), Err(Error::TimedOut));
            for guard in [inner, middle, outer] {
                assert!(guard.is_locked());
                tell.send(mutex.inquire().unwrap().owner()).unwrap();
                drop(guard);
            }
            tell.send(mutex.inquire().unwrap().owner()).unwrap();
        })
        .unwrap();
    until_waiters(condition, 1);
    let own = Some(task.task());
    as_task(move || drop(mutex.try_lock().expect("all is given up")));
    condition.signal().unwrap();
    value(task);
    assert_eq!(told.iter().collect::<Vec<_>>(), [own, own, own, None]);
}

#[test]
fn a_poll_would_block_and_changes_nothing() {
    let _dog = Watchdog::new();
    let (mutex, condition) = pair();
    let (mutex, condition) = (*mutex, *condition);
    as_task(move || {
        let mut guard = lock(mutex);
        assert_eq!(condition.wait(&mut guard, Timeout::NONE), Err(Error::WouldBlock));
        assert!(guard.is_locked());
        assert_eq!(condition.inquire().unwrap().waiters, 0);
    });
}

#[test]
fn who_does_not_own_the_mutex_may_not_wait() {
    let _dog = Watchdog::new();
    let (mutex, condition) = pair();
    let (mutex, condition) = (*mutex, *condition);
    assert_eq!(as_plain(move || condition.wait_with(mutex, LONG)), Err(Error::Permission));
    as_task(move || {
        assert_eq!(condition.wait_with(mutex, Timeout::INFINITE), Err(Error::Permission));
        let mut guard = lock(mutex);
        mutex.release().unwrap();
        assert_eq!(condition.wait(&mut guard, Timeout::INFINITE), Err(Error::Permission));
        assert!(!guard.is_locked());
    });
    as_task(move || {
        let _guard = lock(mutex);
        let other = as_task(move || condition.wait_with(mutex, Timeout::INFINITE));
        assert_eq!(other, Err(Error::Permission));
        assert_eq!(condition.wait_with(MutexRef::from_handle(Handle::NONE), LONG), Err(Error::Invalid));
    });
    assert_eq!(condition.inquire().unwrap().waiters, 0);
}

#[test]
fn a_wait_does_not_time_out_before_its_date() {
    let _dog = Watchdog::new();
    let (mutex, condition) = pair();
    let (mutex, condition) = (*mutex, *condition);
    as_task(move || {
        let mut guard = lock(mutex);
        let start = Date::now();
        assert_eq!(condition.wait(&mut guard, SHORT), Err(Error::TimedOut));
        assert!(Date::now() - start >= SHORT);
        let date = Date::now() + SHORT;
        assert_eq!(condition.wait(&mut guard, Timeout::until(date)), Err(Error::TimedOut));
        assert!(Date::now() >= date);
        assert_eq!(condition.wait(&mut guard, Timeout::until(Date::from_ticks(1))), Err(Error::TimedOut));
        assert_eq!(condition.wait(&mut guard, Timeout::from_timespec(1, -1)), Err(Error::Invalid));
        assert!(guard.is_locked());
    });
    let seen = (condition.inquire().unwrap().waiters, mutex.inquire().unwrap().owner());
    assert_eq!(seen, (0, None));
}

#[test]
fn an_unblocked_waiter_comes_back_with_the_mutex() {
    let _dog = Watchdog::new();
    let (mutex, condition) = pair();
    let tasks = [waiter(*mutex, *condition, 5), waiter(*mutex, *condition, 4)];
    tasks[0].task().unblock().unwrap();
    assert_eq!(condition.inquire().unwrap().waiters, 1);
    condition.signal().unwrap();
    assert_eq!(tasks.map(value), [Err(Error::Interrupted), Ok(())]);
}

#[test]
fn a_cancelled_waiter_comes_back_without_the_mutex() {
    let _dog = Watchdog::new();
    let (mutex, condition) = pair();
    let tasks = [waiter(*mutex, *condition, 5), waiter(*mutex, *condition, 4)];
    tasks[0].task().request_end().unwrap();
    assert_eq!(condition.inquire().unwrap().waiters, 1);
    // The signal is for the one who is left.
    condition.signal().unwrap();
    assert_eq!(tasks.map(value), [Err(Error::Cancelled), Ok(())]);
    assert_eq!(mutex.inquire().unwrap().owner(), None);
    mutex.delete().unwrap();
}

/// At whatever depth: the guards that are dropped later unlock nothing.
#[test]
fn cancelled_with_several_guards() {
    let _dog = Watchdog::new();
    let (mutex, condition) = pair();
    let (mutex, condition) = (*mutex, *condition);
    let task = Task::builder()
        .spawn(move || {
            let outer = lock(mutex);
            let mut inner = lock(mutex);
            let waited = condition.wait(&mut inner, Timeout::INFINITE);
            (waited, outer.is_locked(), inner.is_locked())
        })
        .unwrap();
    until_waiters(condition, 1);
    let target = task.task();
    as_task(move || {
        let guard = lock(mutex);
        target.request_end().unwrap();
        assert_eq!(value(task), (Err(Error::Cancelled), false, false));
        assert!(guard.is_locked());
    });
    assert_eq!(mutex.inquire().unwrap().owner(), None);
}

#[test]
fn a_condition_variable_that_is_waited_for_is_not_deleted_but_by_force() {
    let _dog = Watchdog::new();
    let (mutex, condition) = (Mutex::new().unwrap(), Condition::create("condition-busy").unwrap());
    let reference = *condition;
    let tasks = [waiter(*mutex, reference, 0), waiter(*mutex, reference, 1)];
    assert_eq!(reference.delete(), Err(Error::Busy));
    // Nor by its owner.
    drop(condition);
    assert_eq!(Condition::bind("condition-busy", Timeout::NONE), Ok(reference));
    assert_eq!(reference.inquire().unwrap().waiters, 2);
    // Nor is the mutex.
    assert_eq!(mutex.delete(), Err(Error::Busy));
    reference.delete_by_force().unwrap();
    assert_eq!(tasks.map(value), [Err(Error::Removed); 2]);
    assert_stale(reference);
    assert_eq!(mutex.delete(), Ok(()));
}

#[test]
fn a_signal_outlives_the_condition_variable() {
    let _dog = Watchdog::new();
    for _ in 0..50 {
        let (mutex, condition) = pair();
        let task = waiter(*mutex, *condition, 0);
        condition.signal().unwrap();
        assert_eq!(condition.delete(), Ok(()));
        assert_eq!(value(task), Ok(()));
    }
}

#[test]
fn a_waiter_whose_mutex_is_gone_is_told() {
    let _dog = Watchdog::new();
    let (mutex, condition) = pair();
    let (mutex, condition) = (*mutex, *condition);
    let task = Task::builder()
        .spawn(move || {
            let mut guard = lock(mutex);
            let waited = condition.wait(&mut guard, Timeout::INFINITE);
            (waited, guard.is_locked())
        })
        .unwrap();
    until_waiters(condition, 1);
    mutex.delete_by_force().unwrap();
    condition.signal().unwrap();
    assert_eq!(value(task), (Err(Error::Removed), false));
}

#[test]
fn a_waiter_is_told_that_the_last_owner_died() {
    let _dog = Watchdog::new();
    let (mutex, condition) = pair();
    let task = waiter(*mutex, *condition, 0);
    let (mutex, condition) = (*mutex, *condition);
    as_task(move || {
        std::mem::forget(lock(mutex));
        condition.signal().unwrap();
        // It ends with the mutex.
    });
    assert_eq!(value(task), Err(Error::OwnerDead));
    as_task(move || match mutex.try_lock() {
        Ok(_) => (),
        Err(LockError::OwnerDied(_)) => panic!("told twice"),
        Err(LockError::Failed(error)) => panic!("{error}"),
    });
}

#[test]
fn the_owner_deletes_when_it_is_dropped_but_not_a_successor() {
    let _dog = Watchdog::new();
    let condition = Condition::create("condition-owned").unwrap();
    assert_eq!(Condition::create("condition-owned").unwrap_err(), Error::Exists);
    let reference = *condition;
    assert_eq!(condition.inquire().unwrap().name.to_text().as_str(), "condition-owned");
    drop(condition);
    assert_stale(reference);
    assert_eq!(Condition::bind("condition-owned", Timeout::NONE), Err(Error::WouldBlock));

    let condition = Condition::create("condition-owned").unwrap();
    condition.delete().unwrap();
    let successor = Condition::create("condition-owned").unwrap();
    drop(condition);
    assert_eq!(Condition::bind("condition-owned", Timeout::NONE), Ok(*successor));
    let leaked = successor.leak();
    assert_eq!(Condition::bind("condition-owned", Timeout::NONE), Ok(leaked));
    assert_eq!(leaked.delete(), Ok(()));
}

#[test]
fn a_bind_waits_for_the_creation() {
    let _dog = Watchdog::new();
    assert_eq!(as_plain(|| Condition::bind("condition-to-come", LONG)), Err(Error::Permission));
    assert_eq!(as_task(|| Condition::bind("condition-to-come", SHORT)), Err(Error::TimedOut));
    let task = Task::builder().spawn(|| Condition::bind("condition-to-come", Timeout::INFINITE)).unwrap();
    until_status(task.task(), Status::WAIT);
    let condition = Condition::create("condition-to-come").unwrap();
    assert_eq!(value(task), Ok(*condition));
}

#[test]
fn alarm_handlers_signal_but_do_not_make_or_delete() {
    let _dog = Watchdog::new();
    let (mutex, condition) = pair();
    let task = waiter(*mutex, *condition, 0);
    let reference = *condition;
    let (tell, told) = mpsc::channel();
    let alarm = Alarm::new("", move || {
        let made = Condition::new().map(drop);
        tell.send((made, reference.delete_by_force(), reference.signal())).unwrap();
    })
    .unwrap();
    alarm.start(Duration::from_nanos(1), Duration::ZERO).unwrap();
    assert_eq!(told.recv().unwrap(), (Err(Error::Permission), Err(Error::Permission), Ok(())));
    assert_eq!(value(task), Ok(()));
}

#[test]
fn handles_of_nothing_and_of_other_types_are_refused() {
    let _dog = Watchdog::new();
    let (condition, other) = (Condition::new().unwrap(), gate());
    let strangers = [
        Handle::NONE,
        other.handle(),
        Handle::from_raw(usize::MAX),
        Handle::from_raw(condition.handle().to_raw() + (1 << 32)),
    ];
    strangers.into_iter().map(ConditionRef::from_handle).for_each(assert_stale);
    assert_eq!(ConditionRef::from_handle(Handle::from_raw(condition.handle().to_raw())), *condition);
}

/// Producers and consumers of a store with room for one: each item is taken once.
#[test]
fn a_store_with_room_for_one() {
    const EACH: u32 = 2_000;
    let _dog = Watchdog::new();
    let (mutex, changed) = pair();
    let (mutex, changed) = (*mutex, *changed);
    let (stored, taken) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let tasks = (0..4u32).map(|i| {
        let (stored, taken) = (stored.clone(), taken.clone());
        let body = move || {
            let (full, next) = if i % 2 == 0 { (1, 0) } else { (0, 1) };
            for _ in 0..EACH {
                let mut guard = mutex.lock(Timeout::INFINITE)?;
                while stored.load(Relaxed) != full {
                    changed.wait(&mut guard, Timeout::INFINITE)?;
                }
                stored.store(next, Relaxed);
                taken.fetch_add(full, Relaxed);
                changed.broadcast()?;
            }
            Ok::<(), Error>(())
        };
        Task::builder().priority(i / 2).spawn(body).unwrap()
    });
    for task in tasks.collect::<Vec<_>>() {
        assert_eq!(value(task), Ok(()));
    }
    assert_eq!((stored.load(Relaxed), taken.load(Relaxed)), (0, 2 * EACH));
}
