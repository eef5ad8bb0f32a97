//! Mutexes through the Rust interface, as this process waits for them; and once more as one does that may not use real-time
//! priorities.

mod by_force;
#[path = "../kit.rs"]
mod kit;
mod worker;

use std::process::Command;
use std::sync::{Arc, Mutex as StdMutex, mpsc};
use std::time::Duration;

use alchemy::task::{self, Status};
use alchemy::{
    Date, DateTicks, Error, Handle, LockError, Mutex, MutexGuard, MutexInfo, MutexRef, RelativeTicks, Semaphore, Task,
    Timeout,
};
use kit::{LONG, SHORT, Watchdog, as_plain, as_task, until, value};
use worker::*;

/// A guard stays in the thread that locked; everything else goes where it likes. Two implementations apply to a type that is
/// `Send`, and then it is not clear which one is meant.
const _: () = {
    trait NotSend<Hint> {
        fn holds() {}
    }
    struct Send_;
    impl<T: ?Sized> NotSend<()> for T {}
    impl<T: ?Sized + Send> NotSend<Send_> for T {}
    let _ = <MutexGuard as NotSend<_>>::holds;
    let _ = <LockError as NotSend<_>>::holds;

    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Mutex>();
    is_shared::<MutexRef>();
    is_shared::<MutexInfo>();
};

/// All timeouts there are, the absurd ones too.
fn timeouts() -> [Timeout; 9] {
    [
        Timeout::INFINITE,
        Timeout::NONE,
        Timeout::from(Duration::ZERO),
        Timeout::from(LONG),
        Timeout::until(Date::from_ticks(1)),
        RelativeTicks(0).into(),
        DateTicks(u64::MAX).into(),
        Timeout::from_timespec(-5, 0),
        // Out of range.
        Timeout::from_timespec(1, 2_000_000_000),
    ]
}

#[test]
fn the_same_without_real_time_priorities() {
    const SCHED: &str = "ALCHEMY_SCHED";
    if std::env::var_os(SCHED).is_some_and(|value| value == "other") {
        return;
    }
    let _dog = Watchdog::over("the_same_without_real_time_priorities", Duration::from_secs(180));
    let output = Command::new(std::env::current_exe().unwrap()).env(SCHED, "other").output().unwrap();
    assert!(output.status.success(), "with {SCHED}=other:\n{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_free_one_is_locked_whatever_the_timeout() {
    let _dog = Watchdog::new();
    let mutex = Mutex::new().unwrap();
    let reference = *mutex;
    as_task(move || {
        for timeout in timeouts() {
            let guard = reference.lock(timeout).unwrap();
            assert_eq!(owner(*guard), task::current());
            // And so is its owner's.
            let again: Vec<_> = timeouts().into_iter().map(|timeout| guard.lock(timeout).unwrap()).collect();
            assert_eq!(depth(reference), 1 + again.len() as u32);
            drop(again);
            assert_eq!(depth(reference), 1);
        }
    });
    assert_free(reference);
}

#[test]
fn guards_are_dropped_in_any_order() {
    let _dog = Watchdog::new();
    let (a, b) = (Mutex::new().unwrap(), Mutex::new().unwrap());
    let (first, second) = (*a, *b);
    let other = Worker::start(0);
    let order = |step: usize| [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1], [1, 0, 3, 2]][step];
    for step in 0..5 {
        let (at, go) = (mpsc::channel(), mpsc::channel::<()>());
        let (tell, told) = (at.0, at.1);
        let owner = Task::builder().spawn(move || {
            // Of each mutex two.
            let mut guards = [first, second, first, second].map(|mutex| Some(mutex.lock(Timeout::INFINITE).unwrap()));
            for which in order(step) {
                guards[which] = None;
                tell.send(()).unwrap();
                go.1.recv().unwrap();
            }
        });
        let mut left = [2, 2];
        for which in order(step) {
            told.recv().unwrap();
            left[which % 2] -= 1;
            assert_eq!([first, second].map(depth), left);
            let taken = [first, second].map(|mutex| other.try_lock(mutex));
            assert_eq!(taken.map(|taken| taken.is_ok()), left.map(|left| left == 0));
            taken.iter().filter(|taken| taken.is_ok()).for_each(|_| other.unlock());
            go.0.send(()).unwrap();
        }
        value(owner.unwrap());
    }
    other.end();
    assert_free(first);
    assert_free(second);
}

#[test]
fn a_panic_unlocks() {
    let _dog = Watchdog::new();
    let mutex = Mutex::new().unwrap();
    let reference = *mutex;
    let task = Task::builder().spawn(move || {
        let _guard = reference.lock(Timeout::INFINITE).unwrap();
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert!(matches!(task.unwrap().join(), Err(alchemy::JoinError::Panicked(_))));
    assert_free(reference);
}

#[test]
fn a_guard_whose_lock_was_released_by_reference_spares_the_next_owner() {
    let _dog = Watchdog::new();
    let mutex = Mutex::new().unwrap();
    let reference = *mutex;
    let (holder, heir) = (Worker::start(0), Worker::start(0));
    holder.lock(reference, Timeout::INFINITE).unwrap();
    let waits = heir.queue_up(reference, Timeout::INFINITE);
    assert_eq!(holder.ask(move |_| reference.release()), Ok(()));
    assert_eq!(waits.recv().unwrap(), Ok(()));
    assert_eq!(holder.ask(move |_| reference.release()), Err(Error::Permission));
    holder.unlock();
    assert_eq!((owner(reference), depth(reference)), (Some(heir.task()), 1));
    end_all([holder, heir]);
    assert_free(reference);
}

#[test]
fn only_tasks_lock_and_only_the_owner_unlocks() {
    let _dog = Watchdog::new();
    let mutex = Mutex::new().unwrap();
    let reference = *mutex;
    let refuse = move || {
        for timeout in timeouts() {
            assert_eq!(outcome(reference.lock(timeout)), Err(Error::Permission), "{timeout:?}");
            assert_eq!(MutexRef::from_handle(Handle::NONE).acquire(timeout), Err(Error::Permission), "{timeout:?}");
        }
        assert_eq!(reference.release(), Err(Error::Permission));
    };
    as_plain(refuse);
    let holder = Worker::start(0);
    holder.lock(reference, Timeout::NONE).unwrap();
    as_plain(refuse);
    as_task(move || assert_eq!(reference.release(), Err(Error::Permission)));
    assert_eq!((owner(reference), depth(reference)), (Some(holder.task()), 1));
    holder.unlock();
    assert_eq!(holder.ask(move |_| reference.release()), Err(Error::Permission));
    holder.end();
    // A thread that has become a task may.
    as_plain(move || {
        Task::shadow("", 0).unwrap();
        outcome(reference.lock(Timeout::INFINITE)).unwrap();
    });
    assert_free(reference);
}

#[test]
fn a_held_one_refuses_polls_and_dates() {
    let _dog = Watchdog::new();
    let mutex = Mutex::new().unwrap();
    let (reference, holder) = (*mutex, Worker::start(0));
    holder.lock(reference, Timeout::INFINITE).unwrap();
    as_task(move || {
        assert_eq!(outcome(reference.try_lock()), Err(Error::WouldBlock));
        assert_eq!(outcome(reference.lock(RelativeTicks(u64::MAX))), Err(Error::WouldBlock));
        assert_eq!(outcome(reference.lock(Timeout::from_timespec(0, 0))), Err(Error::WouldBlock));
        assert_eq!(outcome(reference.lock(Timeout::from_timespec(1, 1_000_000_000))), Err(Error::Invalid));
        assert_eq!(outcome(reference.lock(Timeout::from_timespec(1, -1))), Err(Error::Invalid));
        assert_eq!(outcome(reference.lock(DateTicks(1))), Err(Error::TimedOut));
        assert_eq!(outcome(reference.lock(Duration::ZERO)), Err(Error::TimedOut));

        let start = Date::now();
        assert_eq!(outcome(reference.lock(SHORT)), Err(Error::TimedOut));
        assert!(Date::now() - start >= SHORT);
        let date = Date::now() + SHORT;
        assert_eq!(outcome(reference.lock(Timeout::until(date))), Err(Error::TimedOut));
        assert!(Date::now() >= date);
    });
    let seen = reference.inquire().unwrap();
    assert_eq!((seen.owner(), seen.depth, seen.waiters), (Some(holder.task()), 1, 0));
    holder.unlock();
    holder.end();
    assert_free(reference);
}

#[test]
fn the_last_unlock_hands_over() {
    let _dog = Watchdog::new();
    let mutex = Mutex::new().unwrap();
    let reference = *mutex;
    let (holder, heir) = (Worker::start(0), Worker::start(0));
    for _ in 0..3 {
        holder.lock(reference, Timeout::INFINITE).unwrap();
    }
    let waits = heir.queue_up(reference, LONG);
    for left in [2, 1] {
        holder.unlock();
        let seen = reference.inquire().unwrap();
        assert_eq!((seen.owner(), seen.depth, seen.waiters), (Some(holder.task()), left, 1));
    }
    // Whether or not the heir has run.
    let polled = holder.ask(move |held| {
        held.pop();
        outcome(reference.try_lock())
    });
    assert_eq!(polled, Err(Error::WouldBlock));
    assert_eq!(waits.recv().unwrap(), Ok(()));
    assert_eq!((owner(reference), depth(reference)), (Some(heir.task()), 1));
    end_all([holder, heir]);
    assert_free(reference);
}

/// Queues tasks of these priorities in this order: the places in which they got the mutex.
fn service_order(priorities: &[u32]) -> Vec<usize> {
    let mutex = Mutex::new().unwrap();
    let (reference, holder) = (*mutex, Worker::start(0));
    let marks = Arc::new(StdMutex::new(Vec::new()));
    holder.lock(reference, Timeout::INFINITE).unwrap();
    let waiters: Vec<_> = priorities
        .iter()
        .enumerate()
        .map(|(place, &priority)| {
            let (worker, marks) = (Worker::start(priority), marks.clone());
            let done = worker.tell(move |_| {
                let _guard = reference.lock(Timeout::INFINITE).unwrap();
                // In the order of owners, since each is one.
                marks.lock().unwrap().push(place);
            });
            until(|| reference.inquire().unwrap().waiters > place as u32 && is_asleep(worker.tid));
            (worker, done)
        })
        .collect();
    holder.unlock();
    for (worker, done) in waiters {
        done.recv().unwrap();
        worker.end();
    }
    holder.end();
    assert_free(reference);
    let marks = marks.lock().unwrap();
    marks.clone()
}

#[test]
fn waiters_are_served_by_priority_and_equals_by_arrival() {
    let _dog = Watchdog::new();
    assert_eq!(service_order(&[10, 20, 15, 20]), [1, 3, 2, 0]);
    assert_eq!(service_order(&[0, 1, 90, 0]), [2, 1, 0, 3]);
}

#[test]
fn the_last_of_a_cycle_is_told() {
    let _dog = Watchdog::new();
    for length in [2, 3, 5] {
        let mutexes: Vec<_> = (0..length).map(|_| Mutex::new().unwrap()).collect();
        let workers: Vec<_> = (0..length).map(|_| Worker::start(0)).collect();
        for (worker, mutex) in workers.iter().zip(&mutexes) {
            worker.lock(**mutex, Timeout::INFINITE).unwrap();
        }
        let (last, others) = workers.split_last().unwrap();
        let waits: Vec<_> =
            others.iter().zip(&mutexes[1..]).map(|(worker, next)| worker.queue_up(**next, Timeout::INFINITE)).collect();
        for timeout in [Timeout::INFINITE, LONG.into()] {
            assert_eq!(last.lock(*mutexes[0], timeout), Err(Error::Deadlock), "{length}");
        }
        // A poll waits for nothing, so it closes nothing.
        assert_eq!(last.try_lock(*mutexes[0]), Err(Error::WouldBlock));
        assert_eq!(owner(*mutexes[length - 1]), Some(last.task()));
        // It backs off; the others get what they wait for, one after the other.
        last.unlock();
        for (worker, waits) in others.iter().zip(waits).rev() {
            assert_eq!(waits.recv().unwrap(), Ok(()));
            worker.unlock();
            worker.unlock();
        }
        end_all(workers);
        mutexes.iter().for_each(|mutex| assert_free(**mutex));
    }
}

#[test]
fn unblock_ends_one_wait() {
    let _dog = Watchdog::new();
    let mutex = Mutex::new().unwrap();
    let reference = *mutex;
    let (holder, a, b) = (Worker::start(0), Worker::start(0), Worker::start(0));
    holder.lock(reference, Timeout::INFINITE).unwrap();
    // Not waiting: nothing happens, and nothing is remembered.
    a.task().unblock().unwrap();
    let (first, second) = (a.queue_up(reference, Timeout::INFINITE), b.queue_up(reference, LONG));
    a.task().unblock().unwrap();
    assert_eq!(first.recv().unwrap(), Err(Error::Interrupted));
    assert_eq!(reference.inquire().unwrap().waiters, 1);
    holder.unlock();
    assert_eq!(second.recv().unwrap(), Ok(()));
    b.unlock();
    assert_eq!(a.lock(reference, Timeout::INFINITE), Ok(()));
    end_all([holder, a, b]);
    assert_free(reference);
}

#[test]
fn a_suspended_waiter_is_passed_over() {
    let _dog = Watchdog::new();
    let mutex = Mutex::new().unwrap();
    let reference = *mutex;
    let (holder, a, b) = (Worker::start(0), Worker::start(20), Worker::start(10));
    holder.lock(reference, Timeout::INFINITE).unwrap();
    let (first, second) = (a.queue_up(reference, Timeout::INFINITE), b.queue_up(reference, Timeout::INFINITE));
    a.task().suspend().unwrap();
    // From the kernel's queue it goes by itself.
    until(|| !may_be_queued_in_kernel(a.tid));
    holder.unlock();
    assert_eq!(second.recv().unwrap(), Ok(()));
    assert_eq!(owner(reference), Some(b.task()));
    a.task().resume().unwrap();
    b.unlock();
    assert_eq!(first.recv().unwrap(), Ok(()));
    end_all([holder, a, b]);
    assert_free(reference);
}

#[test]
fn a_task_asked_to_end_stops_waiting_and_leaves_no_orphan() {
    let _dog = Watchdog::new();
    let mutex = Mutex::new().unwrap();
    let reference = *mutex;
    let (holder, a, b) = (Worker::start(0), Worker::start(0), Worker::start(0));
    holder.lock(reference, Timeout::INFINITE).unwrap();
    let (first, second) = (a.queue_up(reference, Timeout::INFINITE), b.queue_up(reference, LONG));
    a.task().request_end().unwrap();
    assert_eq!(first.recv().unwrap(), Err(Error::Cancelled));
    // It waits no more; what need not be waited for it gets.
    assert_eq!(a.lock(reference, Timeout::INFINITE), Err(Error::Cancelled));
    assert_eq!(a.try_lock(reference), Err(Error::WouldBlock));
    let free = Mutex::new().unwrap();
    assert_eq!(a.lock(*free, Timeout::INFINITE), Ok(()));
    a.end();
    assert_free(*free);
    b.task().request_end().unwrap();
    assert_eq!(second.recv().unwrap(), Err(Error::Cancelled));
    b.end();
    assert_eq!((owner(reference), reference.inquire().unwrap().waiters), (Some(holder.task()), 0));
    holder.end();
    assert_free(reference);
}

/// Who is handed the mutex has it, or does not and leaves it free: never neither.
#[test]
fn a_hand_over_meets_a_request_to_end() {
    let _dog = Watchdog::new();
    let mutex = Mutex::new().unwrap();
    let (reference, holder) = (*mutex, Worker::start(0));
    for round in 0..300 {
        holder.lock(reference, Timeout::INFINITE).unwrap();
        let waiter = Task::builder().spawn(move || outcome(reference.lock(Timeout::INFINITE))).unwrap();
        until(|| reference.inquire().unwrap().waiters == 1);
        let released = holder.tell(|held| drop(held.pop()));
        alchemy::timer::spin(round * 100);
        // It may have ended.
        let _ = waiter.task().request_end();
        released.recv().unwrap();
        assert!(matches!(value(waiter), Ok(()) | Err(Error::Cancelled)));
        assert_eq!(holder.try_lock(reference), Ok(()));
        holder.unlock();
    }
    holder.end();
    assert_free(reference);
}

#[test]
fn deletion_of_a_waiter_ends_its_wait() {
    let _dog = Watchdog::new();
    let mutex = Mutex::new().unwrap();
    let (reference, holder) = (*mutex, Worker::start(0));
    holder.lock(reference, Timeout::INFINITE).unwrap();
    let waiter = Task::builder().spawn(move || outcome(reference.lock(Timeout::INFINITE))).unwrap();
    until(|| reference.inquire().unwrap().waiters == 1);
    // By the owner, whom nobody waits for then.
    let victim = waiter.task();
    holder.ask(move |_| victim.delete()).unwrap();
    assert_eq!(value(waiter), Err(Error::Cancelled));
    assert_eq!((owner(reference), reference.inquire().unwrap().waiters), (Some(holder.task()), 0));
    holder.end();
    assert_free(reference);
}

#[test]
fn the_death_of_an_owner_is_told_once() {
    let _dog = Watchdog::new();
    let mutex = Mutex::new().unwrap();
    let reference = *mutex;
    let owner_dies = |depth| {
        let worker = Worker::start(0);
        (0..depth).for_each(|_| worker.lock(reference, Timeout::INFINITE).unwrap());
        worker.die();
    };
    for timeout in timeouts() {
        owner_dies(3);
        for _ in 0..2 {
            let seen = reference.inquire().unwrap();
            assert_eq!((seen.owner(), seen.depth, seen.waiters), (None, 0, 0));
        }
        as_task(move || {
            let Err(LockError::OwnerDied(guard)) = reference.lock(timeout) else { panic!("not told: {timeout:?}") };
            assert_eq!(guard.inquire().unwrap().owner(), task::current());
            // Once, and as deep as ever.
            let again = guard.lock(Timeout::INFINITE).unwrap();
            assert_eq!(depth(reference), 2);
            drop(guard);
            assert_eq!(outcome_of_another(reference), Err(Error::WouldBlock));
            drop(again);
            outcome(reference.lock(Timeout::INFINITE)).unwrap();
        });
        assert_free(reference);
    }
    // As an error it says so, and unlocks.
    owner_dies(1);
    assert_eq!(as_task(move || outcome(reference.try_lock())), Err(Error::OwnerDead));
    assert_free(reference);
    // Without a guard it is locked, too.
    owner_dies(1);
    as_task(move || {
        assert_eq!(reference.acquire(Timeout::INFINITE), Err(Error::OwnerDead));
        assert_eq!(reference.release(), Ok(()));
        assert_eq!(reference.release(), Err(Error::Permission));
    });
    assert_free(reference);
}

fn outcome_of_another(mutex: MutexRef) -> Outcome {
    as_task(move || outcome(mutex.try_lock()))
}

#[test]
fn the_first_waiter_inherits() {
    let _dog = Watchdog::new();
    let mutex = Mutex::new().unwrap();
    let reference = *mutex;
    let (holder, low, high) = (Worker::start(0), Worker::start(5), Worker::start(9));
    holder.lock(reference, Timeout::INFINITE).unwrap();
    let (second, first) = (low.queue_up(reference, LONG), high.queue_up(reference, Timeout::INFINITE));
    holder.die();
    assert_eq!(first.recv().unwrap(), Err(Error::OwnerDead));
    assert_eq!(owner(reference), Some(high.task()));
    high.unlock();
    assert_eq!(second.recv().unwrap(), Ok(()));
    end_all([low, high]);
    assert_free(reference);
}

#[test]
fn everybody_sees_the_owner() {
    let _dog = Watchdog::new();
    let mutex = Mutex::create("mutex-seen").unwrap();
    let (reference, holder) = (*mutex, Worker::start(0));
    let seen = reference.inquire().unwrap();
    assert_eq!((seen.name.to_text().as_str(), seen.owner(), seen.depth), ("mutex-seen", None, 0));
    holder.lock(reference, Timeout::INFINITE).unwrap();
    let task = holder.task();
    let look = move || assert_eq!((owner(reference), depth(reference)), (Some(task), 1));
    look();
    as_plain(look);
    as_task(look);
    holder.ask(move |_| look());
    holder.unlock();
    holder.end();
    assert_free(reference);
}

#[test]
fn what_is_in_use_is_not_deleted() {
    let _dog = Watchdog::new();
    let mutex = Mutex::create("mutex-busy").unwrap().leak();
    let (holder, heir) = (Worker::start(0), Worker::start(0));
    holder.lock(mutex, Timeout::INFINITE).unwrap();
    assert_eq!(mutex.delete(), Err(Error::Busy));
    assert_eq!(holder.ask(move |_| mutex.delete()), Err(Error::Busy));
    assert_eq!(Mutex::create("mutex-busy").map(drop), Err(Error::Exists));
    let waits = heir.queue_up(mutex, Timeout::INFINITE);
    assert_eq!(mutex.delete(), Err(Error::Busy));
    holder.unlock();
    assert_eq!(mutex.delete(), Err(Error::Busy));
    assert_eq!(waits.recv().unwrap(), Ok(()));
    // Free, or without an owner.
    heir.die();
    assert_eq!(mutex.delete(), Ok(()));
    assert_stale(mutex);
    let again = Mutex::create("mutex-busy").unwrap();
    assert_stale(mutex);
    assert_eq!(holder.try_lock(*again), Ok(()));
    holder.unlock();
    assert_eq!(again.delete(), Ok(()));
    holder.end();
    assert_stale(*again);
}

#[test]
fn dropping_the_value_deletes_what_is_not_in_use() {
    let _dog = Watchdog::new();
    let mutex = Mutex::create("mutex-dropped").unwrap();
    let (reference, holder) = (*mutex, Worker::start(0));
    holder.lock(reference, Timeout::INFINITE).unwrap();
    drop(mutex);
    assert_eq!(Mutex::bind("mutex-dropped", Timeout::NONE), Ok(reference));
    assert_eq!(owner(reference), Some(holder.task()));
    holder.unlock();
    holder.end();
    assert_free(reference);
    assert_eq!(reference.delete(), Ok(()));

    let mutex = Mutex::create("mutex-dropped").unwrap();
    let reference = *mutex;
    drop(mutex);
    assert_stale(reference);
    assert_eq!(Mutex::bind("mutex-dropped", Timeout::NONE), Err(Error::WouldBlock));

    // After a deletion by reference it spares the successor.
    let mutex = Mutex::create("mutex-dropped").unwrap();
    mutex.delete().unwrap();
    let successor = Mutex::create("mutex-dropped").unwrap();
    drop(mutex);
    assert_free(*successor);
}

#[test]
fn a_leaked_one_lives_on() {
    let _dog = Watchdog::new();
    let reference = as_plain(|| Mutex::create("mutex-leaked").unwrap().leak());
    assert_eq!(Mutex::bind("mutex-leaked", Timeout::NONE), Ok(reference));
    assert_free(reference);
    assert_eq!(reference.delete(), Ok(()));
}

#[test]
fn bind_waits_for_the_name() {
    let _dog = Watchdog::new();
    assert_eq!(Mutex::bind("mutex-later", Timeout::NONE), Err(Error::WouldBlock));
    assert_eq!(Mutex::bind("mutex-later", LONG), Err(Error::Permission));
    assert_eq!(as_task(|| Mutex::bind("mutex-later", SHORT)), Err(Error::TimedOut));
    let binder = Task::builder().spawn(|| Mutex::bind("mutex-later", Timeout::INFINITE)).unwrap();
    until(|| binder.task().inquire().unwrap().status.contains(Status::WAIT));
    // Another type's name is another name.
    let _sem = Semaphore::create("mutex-later", 0, alchemy::SemMode::PRIORITY).unwrap();
    assert!(binder.task().inquire().unwrap().status.contains(Status::WAIT));
    let mutex = Mutex::create("mutex-later").unwrap();
    assert_eq!(value(binder), Ok(*mutex));
    assert_eq!(Mutex::bind("mutex-later", LONG), Ok(*mutex));
}
