//! The end of a task: what it returns, panics, and who may end its last remains; joins by reference against the
//! [`JoinHandle`], and starts by others.

mod kit;

use std::ffi::c_void;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use alchemy::{Error, Handle, JoinError, JoinHandle, Semaphore, Task, Timeout, task};
use kit::{Watchdog, as_plain, as_task, behind, failure, gate, until, until_ended, until_waiters, value};

fn gettid() -> u32 {
    // SAFETY: no arguments; it cannot fail.
    unsafe { libc::gettid() as u32 }
}

/// Whether the kernel has this thread asleep.
fn sleeps(tid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).expect("the thread has ended");
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

/// All slots are given back once: tasks that live side by side have a slot each.
fn check_slots() {
    // The tests of this file run side by side.
    let name = |i: usize| format!("join-slot-{i}-{}", gettid());
    let gate = Semaphore::new(0).unwrap();
    let sem = *gate;
    let spawn =
        |i: usize| Task::builder().name(&name(i)).spawn(move || sem.wait(Timeout::INFINITE).map(|()| i)).unwrap();
    let tasks: Vec<_> = (0..8).map(spawn).collect();
    for (i, task) in tasks.iter().enumerate() {
        let others = || tasks.iter().filter(|other| other.task() == task.task());
        assert_eq!(others().count(), 1, "{:?}", task.task());
        assert_eq!(task.task().inquire().unwrap().name.to_text(), name(i));
    }
    tasks.iter().for_each(|_| gate.post().unwrap());
    for (i, task) in tasks.into_iter().enumerate() {
        assert_eq!(value(task), Ok(i));
    }
}

#[test]
fn join_returns_what_the_body_returned() {
    let _dog = Watchdog::new();
    let words = ["one".to_owned(), "two".to_owned()];
    let task = Task::builder().spawn(move || words.join(" ")).unwrap();
    assert_eq!(value(task), "one two");
    assert_eq!(value(Task::builder().spawn(|| ()).unwrap()), ());
    assert_eq!(value(Task::builder().spawn(|| [7u64; 512]).unwrap()), [7; 512]);
}

#[test]
fn a_panic_ends_the_task_and_is_handed_to_the_joiner() {
    let _dog = Watchdog::new();
    // Without the message of `panic!`.
    let task = Task::builder().name("task-panic").spawn(|| -> u32 { resume_unwind(Box::new("overboard")) }).unwrap();
    let reference = task.task();
    let Err(JoinError::Panicked(payload)) = task.join() else { panic!("no panic") };
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"overboard"));
    assert_eq!(reference.inquire(), Err(Error::Invalid));
    assert_eq!(reference.join(), Err(Error::NotFound));
    let again = Task::builder().name("task-panic").spawn(|| 5).unwrap();
    assert_eq!(value(again), 5);
}

#[test]
fn a_panic_after_a_wait_drops_what_the_body_owned() {
    let _dog = Watchdog::new();
    let sem = gate();
    let gate = *sem;
    let owned = Arc::new(());
    let moved = owned.clone();
    let task = Task::builder()
        .spawn(move || {
            let _moved = moved;
            gate.wait(Timeout::INFINITE).unwrap();
            resume_unwind(Box::new(17u8));
        })
        .unwrap();
    sem.post().unwrap();
    let joined: Result<(), JoinError> = task.join();
    let Err(JoinError::Panicked(payload)) = joined else { panic!("no panic") };
    assert_eq!(payload.downcast_ref(), Some(&17u8));
    assert_eq!(Arc::strong_count(&owned), 1);
}

#[test]
fn nothing_of_the_body_outlives_the_join() {
    let _dog = Watchdog::new();
    let owned = Arc::new(());
    let moved = owned.clone();
    let task = Task::builder().spawn(move || moved).unwrap();
    let returned = value(task);
    assert_eq!(Arc::strong_count(&owned), 2);
    drop(returned);
    assert_eq!(Arc::strong_count(&owned), 1);
}

#[test]
fn a_task_whose_handle_is_dropped_runs_on_and_cleans_up() {
    let _dog = Watchdog::new();
    let sem = gate();
    let owned = Arc::new(());
    let (gate, moved) = (*sem, owned.clone());
    let task = Task::builder().name("task-loose").spawn(move || gate.wait(Timeout::INFINITE).map(|()| moved)).unwrap();
    let reference = task.task();
    drop(task);
    until_waiters(gate, 1);
    assert_eq!(reference.join(), Err(Error::Invalid));
    sem.post().unwrap();
    until_ended(reference);
    assert_eq!(reference.join(), Err(Error::NotFound));
    // The value that nobody asks for is dropped.
    until(|| Arc::strong_count(&owned) == 1);
    until(|| Task::bind("task-loose", Timeout::NONE) == Err(Error::WouldBlock));
}

#[test]
fn the_handle_of_an_ended_task_can_be_dropped() {
    let _dog = Watchdog::new();
    let task = Task::builder().name("task-over").spawn(|| 3).unwrap();
    let reference = task.task();
    until_ended(reference);
    drop(task);
    assert_eq!(reference.join(), Err(Error::NotFound));
    assert_eq!(value(Task::builder().name("task-over").spawn(|| 4).unwrap()), 4);
}

#[test]
fn a_second_join_by_reference_finds_nothing() {
    let _dog = Watchdog::new();
    let task = Task::builder().spawn(|| 1).unwrap();
    let reference = task.task();
    assert_eq!(reference.join(), Ok(()));
    assert_eq!(reference.join(), Err(Error::NotFound));
    assert_eq!(failure(task.join()), Error::NotFound);
}

#[test]
fn a_join_after_the_value_was_joined_finds_nothing() {
    let _dog = Watchdog::new();
    let task = Task::builder().spawn(|| 1).unwrap();
    let reference = task.task();
    assert_eq!(value(task), 1);
    assert_eq!(reference.join(), Err(Error::NotFound));
}

#[test]
fn one_of_two_joiners_is_refused_while_the_other_waits() {
    let _dog = Watchdog::new();
    let sem = gate();
    let task = behind(*sem);
    let reference = task.task();
    let (tell, told) = mpsc::channel();
    let joiners = [tell.clone(), tell].map(|tell| thread::spawn(move || tell.send(reference.join())));
    // The task has not ended: only a refusal can come.
    assert_eq!(told.recv(), Ok(Err(Error::Invalid)));
    sem.post().unwrap();
    assert_eq!(told.recv(), Ok(Ok(())));
    joiners.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
    assert_eq!(failure(task.join()), Error::NotFound);
}

#[test]
fn a_task_cannot_join_itself() {
    let _dog = Watchdog::new();
    assert_eq!(as_task(|| task::current().unwrap().join()), Err(Error::Deadlock));
}

#[test]
fn what_never_was_joinable_cannot_be_joined() {
    let _dog = Watchdog::new();
    let sem = gate();
    for handle in [Handle::NONE, sem.handle(), Handle::from_raw(usize::MAX)] {
        assert_eq!(Task::from_handle(handle).join(), Err(Error::Invalid));
    }
    let (gate, (tell, told)) = (*sem, mpsc::channel());
    let thread = thread::spawn(move || {
        tell.send(Task::shadow("", 0).unwrap()).unwrap();
        gate.wait(Timeout::INFINITE)
    });
    let shadowed = told.recv().unwrap();
    assert_eq!(shadowed.join(), Err(Error::Invalid));
    sem.post().unwrap();
    assert_eq!(thread.join().unwrap(), Ok(()));
    assert_eq!(shadowed.join(), Err(Error::NotFound));
}

#[test]
fn plain_threads_and_tasks_may_join() {
    let _dog = Watchdog::new();
    let task = Task::builder().spawn(|| 6).unwrap();
    assert_eq!(as_plain(move || value(task)), 6);
    let task = Task::builder().spawn(|| 7).unwrap();
    assert_eq!(as_task(move || value(task)), 7);
}

#[test]
fn dropping_the_handle_leaves_a_join_by_reference_alone() {
    let _dog = Watchdog::new();
    for _ in 0..10 {
        let gate = Semaphore::new(0).unwrap();
        let sem = *gate;
        let task = Task::builder().spawn(move || sem.wait(Timeout::INFINITE).unwrap()).unwrap();
        let reference = task.task();
        let (tell, told) = mpsc::channel();
        let joiner = thread::spawn(move || {
            tell.send(gettid()).unwrap();
            reference.join()
        });
        let tid = told.recv().unwrap();
        until(|| sleeps(tid));
        drop(task);
        gate.post().unwrap();
        match joiner.join().unwrap() {
            Ok(()) => {}
            // It slept elsewhere, on its way to the join: the drop came first.
            Err(error) => assert!(matches!(error, Error::Invalid | Error::NotFound), "{error:?}"),
        }
        until_ended(reference);
        assert_eq!(reference.join(), Err(Error::NotFound));
        check_slots();
    }
}

#[test]
fn a_handle_joined_by_its_own_task_is_dropped_like_any_other() {
    let _dog = Watchdog::new();
    for _ in 0..10 {
        let (give, given) = mpsc::channel::<JoinHandle<()>>();
        let (tell, told) = mpsc::channel();
        let task = Task::builder()
            .spawn(move || {
                let own = given.recv().unwrap();
                tell.send(matches!(own.join(), Err(JoinError::Failed(Error::Deadlock)))).unwrap();
            })
            .unwrap();
        let reference = task.task();
        give.send(task).unwrap();
        assert!(told.recv().unwrap());
        until_ended(reference);
        // It cleaned up after itself: nothing is left to be joined.
        assert_eq!(reference.join(), Err(Error::NotFound));
    }
    check_slots();
}

unsafe extern "C-unwind" fn foreign_entry(_: *mut c_void) {}

/// Starts every task of this name that it gets hold of before its maker does, and hands it on.
fn start_first(name: &str, started: &mpsc::Sender<Task>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let Ok(task) = Task::bind(name, Duration::from_millis(10)) else { continue };
        // SAFETY: `foreign_entry` takes any argument on any thread.
        if unsafe { task.start(foreign_entry, std::ptr::null_mut()) } == Ok(true) && started.send(task).is_err() {
            return;
        }
    }
}

#[test]
fn a_task_that_somebody_else_started_is_given_up() {
    const NAME: &str = "join-hijacked";
    let _dog = Watchdog::new();
    let stop = Arc::new(AtomicBool::new(false));
    let (tell, started) = mpsc::channel();
    // Above the maker, so that it comes in between on one CPU too, where it may.
    let hijacker = {
        let stop = stop.clone();
        Task::builder().priority(10).spawn(move || start_first(NAME, &tell, &stop)).unwrap()
    };
    let witness = Arc::new(());
    let until_then = Instant::now() + Duration::from_secs(2);
    let mut hijacked = 0;
    // By chance, so there may be none.
    while hijacked < 10 && Instant::now() < until_then {
        let body = witness.clone();
        match Task::builder().name(NAME).spawn(move || Arc::strong_count(&body)) {
            Ok(task) => assert!(value(task) >= 2),
            Err(Error::Busy) => {
                hijacked += 1;
                let task = started.recv().unwrap();
                until_ended(task);
                // Nobody has to join it.
                assert_eq!(task.join(), Err(Error::NotFound));
            }
            Err(error) => panic!("{error}"),
        }
        // Nothing of the body is left, whether it ran or not.
        assert_eq!(Arc::strong_count(&witness), 1);
    }
    stop.store(true, Ordering::Relaxed);
    value(hijacker);
    check_slots();
}
