//! Names and binding through the Rust interface.

mod kit;

use std::sync::mpsc;
use std::thread;

use alchemy::task::{self, Status};
use alchemy::{Date, Error, JoinHandle, NAME_LEN, Name, SemMode, SemRef, Semaphore, Task, Timeout};
use kit::{LONG, SHORT, Watchdog, as_plain, as_task, until, until_ended, until_status, value};

fn named(name: &str) -> Semaphore {
    Semaphore::create(name, 0, SemMode::PRIORITY).unwrap()
}

fn poll(name: &str) -> alchemy::Result<SemRef> {
    Semaphore::bind(name, Timeout::NONE)
}

/// A task that waits for a semaphore of this name when this returns.
fn binder(name: &'static str) -> JoinHandle<alchemy::Result<SemRef>> {
    let task = Task::builder().spawn(move || Semaphore::bind(name, Timeout::INFINITE)).unwrap();
    until_status(task.task(), Status::WAIT);
    task
}

/// The number in a generated name.
fn number(name: Name, radix: &str) -> u32 {
    let text = name.to_text();
    text.strip_prefix(radix).and_then(|rest| rest.strip_prefix('@')).expect(&text).parse().expect(&text)
}

#[test]
fn names_are_cut_to_31_bytes_everywhere() {
    let _dog = Watchdog::new();
    let long = "names-long-0123456789012345678901234567890";
    let cut = &long[..NAME_LEN - 1];
    let sem = named(long);
    assert_eq!(sem.inquire().unwrap().name.to_text(), cut);
    assert_eq!((poll(long), poll(cut)), (Ok(*sem), Ok(*sem)));
    assert_eq!(poll(&long[..NAME_LEN - 2]), Err(Error::WouldBlock));
    assert_eq!(Semaphore::create(cut, 0, SemMode::PRIORITY).err(), Some(Error::Exists));
    let other_tail = format!("{cut}-another");
    assert_eq!(Semaphore::create(&other_tail, 0, SemMode::PRIORITY).err(), Some(Error::Exists));

    let task = Task::builder().name(long).spawn(|| task::sleep_until(None)).unwrap();
    assert_eq!(task.task().inquire().unwrap().name.to_text(), cut);
    assert_eq!(Task::bind(long, Timeout::NONE), Ok(task.task()));
    task.task().request_end().unwrap();
    assert_eq!(value(task), Err(Error::Cancelled));
}

#[test]
fn names_are_bytes() {
    let _dog = Watchdog::new();
    let odd = Name::new(&[0xff, b'/', 0x80, b' ', 7, 0, b'x']);
    let sem = SemRef::create(odd, 0, SemMode::empty(), |_| ()).unwrap();
    assert_eq!(sem.inquire().unwrap().name, odd);
    assert_eq!(&odd.to_bytes()[..6], &[0xff, b'/', 0x80, b' ', 7, 0]);
    assert_eq!(SemRef::bind(odd, Timeout::NONE), Ok(sem));
    sem.delete().unwrap();
    let text = named("names-Größe-µ");
    assert_eq!(poll("names-Größe-µ"), Ok(*text));
    assert_eq!(text.inquire().unwrap().name.to_text(), "names-Größe-µ");
}

#[test]
fn a_name_is_unique_within_its_type_only() {
    let _dog = Watchdog::new();
    let sem = named("names-shared");
    let task = Task::builder().name("names-shared").spawn(|| task::sleep_until(None)).unwrap();
    assert_eq!(Semaphore::create("names-shared", 0, SemMode::PRIORITY).err(), Some(Error::Exists));
    assert_eq!(Task::builder().name("names-shared").spawn(|| ()).err(), Some(Error::Exists));
    // The first ones are unharmed.
    assert_eq!(poll("names-shared"), Ok(*sem));
    assert_eq!(Task::bind("names-shared", Timeout::NONE), Ok(task.task()));
    assert_eq!(sem.post(), Ok(()));
    task.task().request_end().unwrap();
    assert_eq!(value(task), Err(Error::Cancelled));
}

#[test]
fn generated_names_count_up_and_skip_chosen_ones() {
    let _dog = Watchdog::new();
    let own = |sem: &Semaphore| number(sem.inquire().unwrap().name, "sem");
    let first = Semaphore::new(0).unwrap();
    let chosen: Vec<_> =
        (1..=50).map(|i| Semaphore::create(&format!("sem@{}", own(&first) + i), 0, SemMode::empty())).collect();
    let next = Semaphore::new(0).unwrap();
    let after = Semaphore::create("", 0, SemMode::empty()).unwrap();
    assert!(own(&first) < own(&next) && own(&next) < own(&after));
    // Other tests may have had some of the numbers.
    let chosen: Vec<_> = chosen.into_iter().flatten().map(|sem| own(&sem)).collect();
    assert!(!chosen.contains(&own(&next)) && !chosen.contains(&own(&after)));

    // A number is not used again.
    let gone = own(&after);
    drop(after);
    assert!(own(&Semaphore::new(0).unwrap()) > gone);
    assert_eq!(poll(&format!("sem@{}", own(&first))), Ok(*first));
}

#[test]
fn generated_task_names_have_their_own_numbers() {
    let _dog = Watchdog::new();
    let own = || as_task(|| number(task::current().unwrap().inquire().unwrap().name, "task"));
    let first = own();
    assert!(own() > first);
}

#[test]
fn a_bind_finds_what_is_there_for_every_caller() {
    let _dog = Watchdog::new();
    let sem = named("names-there");
    for timeout in [Timeout::NONE, Timeout::INFINITE, LONG.into(), Timeout::until(Date::from_ticks(1))] {
        assert_eq!(as_plain(move || Semaphore::bind("names-there", timeout)), Ok(*sem));
        assert_eq!(as_task(move || Semaphore::bind("names-there", timeout)), Ok(*sem));
    }
}

#[test]
fn a_bind_of_what_is_not_there_waits_if_it_may() {
    let _dog = Watchdog::new();
    assert_eq!(as_plain(|| poll("names-absent")), Err(Error::WouldBlock));
    assert_eq!(as_task(|| poll("names-absent")), Err(Error::WouldBlock));
    assert_eq!(as_plain(|| Semaphore::bind("names-absent", SHORT)), Err(Error::Permission));
    assert_eq!(as_plain(|| Semaphore::bind("names-absent", Timeout::INFINITE)), Err(Error::Permission));
    assert_eq!(as_plain(|| Task::bind("names-absent", Timeout::INFINITE)), Err(Error::Permission));
    as_task(|| {
        let start = Date::now();
        assert_eq!(Semaphore::bind("names-absent", SHORT), Err(Error::TimedOut));
        assert!(Date::now() - start >= SHORT);
        let date = Date::now() + SHORT;
        assert_eq!(Task::bind("names-absent", Timeout::until(date)), Err(Error::TimedOut));
        assert!(Date::now() >= date);
        assert_eq!(Task::bind("names-absent", Timeout::until(date)), Err(Error::TimedOut));
        assert_eq!(Semaphore::bind("names-absent", Timeout::from_timespec(1, -1)), Err(Error::Invalid));
    });
}

#[test]
fn the_empty_name_matches_nothing() {
    let _dog = Watchdog::new();
    let _anonymous = Semaphore::new(0).unwrap();
    assert_eq!(poll(""), Err(Error::WouldBlock));
    assert_eq!(poll("\0x"), Err(Error::WouldBlock));
    assert_eq!(as_task(|| Semaphore::bind("", SHORT)), Err(Error::TimedOut));
}

#[test]
fn a_creation_wakes_all_who_wait_for_its_name_and_nobody_else() {
    let _dog = Watchdog::new();
    let [first, second, other] = ["names-awaited", "names-awaited", "names-other"].map(binder);
    // Of another type.
    let task = Task::builder().name("names-awaited").spawn(|| task::sleep_until(None)).unwrap();
    for binder in [&first, &second, &other] {
        assert!(binder.task().inquire().unwrap().status.contains(Status::WAIT));
    }
    let sem = named("names-awaited");
    assert_eq!((value(first), value(second)), (Ok(*sem), Ok(*sem)));
    assert!(other.task().inquire().unwrap().status.contains(Status::WAIT));
    let sem = named("names-other");
    assert_eq!(value(other), Ok(*sem));
    task.task().request_end().unwrap();
    assert_eq!(value(task), Err(Error::Cancelled));
}

#[test]
fn a_bind_waits_for_a_task() {
    let _dog = Watchdog::new();
    let wait = || Task::builder().spawn(|| Task::bind("names-awaited-task", LONG)).unwrap();
    let (binder, shadow_binder) = (wait(), Task::builder().spawn(|| Task::bind("names-shadow", LONG)).unwrap());
    until_status(binder.task(), Status::TIMED_WAIT);
    until_status(shadow_binder.task(), Status::TIMED_WAIT);
    let task = Task::builder().name("names-awaited-task").spawn(|| task::sleep_until(None)).unwrap();
    assert_eq!(value(binder), Ok(task.task()));

    let (tell, told) = mpsc::channel();
    let thread = thread::spawn(move || {
        tell.send(Task::shadow("names-shadow", 0).unwrap()).unwrap();
        task::sleep_until(None)
    });
    let shadowed = told.recv().unwrap();
    assert_eq!(value(shadow_binder), Ok(shadowed));
    shadowed.request_end().unwrap();
    assert_eq!(thread.join().unwrap(), Err(Error::Cancelled));

    // A reference that was found can be used as one that was given.
    let found = Task::bind("names-awaited-task", Timeout::NONE).unwrap();
    found.request_end().unwrap();
    assert_eq!(found.join(), Ok(()));
    assert!(task.join().is_err());
}

#[test]
fn a_request_ends_the_bind_of_its_target_only() {
    let _dog = Watchdog::new();
    let [first, second] = ["names-cancelled", "names-cancelled"].map(binder);
    first.task().request_end().unwrap();
    assert_eq!(value(first), Err(Error::Cancelled));
    assert!(second.task().inquire().unwrap().status.contains(Status::WAIT));
    let sem = named("names-cancelled");
    assert_eq!(value(second), Ok(*sem));
}

#[test]
fn a_bind_that_timed_out_is_out_of_the_queue() {
    let _dog = Watchdog::new();
    let waiting = binder("names-outlasting");
    assert_eq!(as_task(|| Semaphore::bind("names-outlasting", SHORT)), Err(Error::TimedOut));
    let sem = named("names-outlasting");
    assert_eq!(value(waiting), Ok(*sem));
}

#[test]
fn a_bound_reference_does_not_keep_the_object() {
    let _dog = Watchdog::new();
    let sem = named("names-bound");
    let found = poll("names-bound").unwrap();
    assert_eq!(found, *sem);
    drop(sem);
    assert_eq!(found.post(), Err(Error::Invalid));
    let again = named("names-bound");
    assert_eq!(poll("names-bound"), Ok(*again));
    assert_ne!(found, *again);
    assert_eq!(found.post(), Err(Error::Invalid));
    // Anybody may delete.
    assert_eq!(poll("names-bound").unwrap().delete(), Ok(()));
    assert_eq!(poll("names-bound"), Err(Error::WouldBlock));
}

#[test]
fn a_name_is_free_once_its_object_is_gone() {
    let _dog = Watchdog::new();
    for _ in 0..100 {
        let sem = named("names-free");
        let reference = *sem;
        let waiter = Task::builder().spawn(move || reference.wait(Timeout::INFINITE)).unwrap();
        until(|| reference.inquire().unwrap().waiters == 1);
        drop(sem);
        // The waiter need not have run.
        let _again = named("names-free");
        assert_eq!(value(waiter), Err(Error::Removed));
    }
}

#[test]
fn an_ended_task_does_not_hold_its_name_until_it_is_joined() {
    let _dog = Watchdog::new();
    let first = Task::builder().name("names-ended").spawn(|| 1).unwrap();
    until_ended(first.task());
    until(|| Task::bind("names-ended", Timeout::NONE) == Err(Error::WouldBlock));
    // Its handles are stale a moment before its name is free.
    let mut second = Err(Error::Exists);
    until(|| {
        second = Task::builder().name("names-ended").spawn(|| 2);
        second.is_ok()
    });
    assert_eq!((value(first), value(second.unwrap())), (1, 2));
}

#[test]
fn a_joined_task_has_given_up_its_name() {
    let _dog = Watchdog::new();
    for round in 0..200 {
        assert_eq!(value(Task::builder().name("names-joined").spawn(move || round).unwrap()), round);
    }
}

#[test]
fn refused_creations_leave_no_name() {
    let _dog = Watchdog::new();
    assert_eq!(Semaphore::create("names-refused", u32::MAX, SemMode::empty()).err(), Some(Error::Invalid));
    assert_eq!(poll("names-refused"), Err(Error::WouldBlock));
    let sem = named("names-refused");
    assert_eq!(poll("names-refused"), Ok(*sem));
}

#[test]
fn creators_of_one_name_at_once() {
    let _dog = Watchdog::new();
    for _ in 0..200 {
        let creators: Vec<_> =
            (0..3).map(|_| thread::spawn(|| Semaphore::create("names-contested", 0, SemMode::PRIORITY))).collect();
        let results: Vec<_> = creators.into_iter().map(|thread| thread.join().unwrap()).collect();
        // All results are alive here.
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        assert!(results.iter().all(|result| matches!(result, Ok(_) | Err(Error::Exists))));
    }
}

#[test]
fn many_names() {
    let _dog = Watchdog::new();
    const MANY: usize = 2000;
    let name = |i: usize| format!("names-many-{i}");
    let sems: Vec<_> = (0..MANY).map(|i| named(&name(i))).collect();
    assert!((0..MANY).all(|i| poll(&name(i)) == Ok(*sems[i])));
    // Every other one.
    let (kept, gone): (Vec<_>, Vec<_>) = sems.into_iter().enumerate().partition(|(i, _)| i % 2 == 0);
    drop(gone);
    for i in 0..MANY {
        let expected = if i % 2 == 0 { Ok(*kept[i / 2].1) } else { Err(Error::WouldBlock) };
        assert_eq!(poll(&name(i)), expected);
    }
    drop(kept);
    assert!((0..MANY).all(|i| poll(&name(i)) == Err(Error::WouldBlock)));
}
