//! Event flag groups through the Rust interface.

mod kit;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use alchemy::task::Status;
use alchemy::{Alarm, Date, DateTicks, Error, Event, EventMode, EventRef, Handle, JoinHandle, Match, Task, Timeout};
use kit::{LONG, SHORT, Watchdog, as_plain, as_task, gate, until, until_status, value};

type Waited = JoinHandle<alchemy::Result<u32>>;

fn until_waiters(event: EventRef, waiters: u32) {
    until(|| event.inquire().expect("the group is gone").waiters == waiters);
}

/// A task of this priority that is queued for these flags when this returns.
fn waiter(event: EventRef, priority: u32, mask: u32, how: Match) -> Waited {
    let queued = event.inquire().unwrap().waiters;
    let body = move || event.wait(mask, how, Timeout::INFINITE);
    let task = Task::builder().priority(priority).spawn(body).unwrap();
    until_waiters(event, queued + 1);
    task
}

fn assert_stale(event: EventRef) {
    assert_eq!(event.wait(1, Match::Any, Timeout::INFINITE), Err(Error::Invalid));
    assert_eq!(event.wait(1, Match::All, Timeout::NONE), Err(Error::Invalid));
    assert_eq!(event.wait(0, Match::All, LONG), Err(Error::Invalid));
    assert_eq!(event.flags(), Err(Error::Invalid));
    assert_eq!(event.signal(1), Err(Error::Invalid));
    assert_eq!(event.clear(1), Err(Error::Invalid));
    assert_eq!(event.inquire(), Err(Error::Invalid));
    assert_eq!(event.delete(), Err(Error::Invalid));
}

#[test]
fn flags_are_set_and_cleared() {
    let _dog = Watchdog::new();
    let event = Event::create("event-flags", 0b1000, EventMode::empty()).unwrap();
    assert_eq!(event.flags(), Ok(0b1000));
    event.signal(0b0011).unwrap();
    event.signal(0).unwrap();
    assert_eq!(event.flags(), Ok(0b1011));
    assert_eq!(event.clear(0b0110), Ok(0b1011));
    assert_eq!(event.clear(0), Ok(0b1001));
    event.signal(1 << 31).unwrap();
    assert_eq!(event.clear(u32::MAX), Ok(1 << 31 | 0b1001));
    let seen = event.inquire().unwrap();
    assert_eq!((seen.flags, seen.waiters, seen.name.to_text().as_str()), (0, 0, "event-flags"));
}

#[test]
fn flags_that_are_set_are_told_whatever_the_timeout() {
    let _dog = Watchdog::new();
    let event = Event::create("", 0b0110, EventMode::PRIORITY).unwrap();
    let reference = *event;
    let look = move || {
        for timeout in [
            Timeout::INFINITE,
            Timeout::NONE,
            LONG.into(),
            Duration::ZERO.into(),
            Timeout::until(Date::from_ticks(1)),
            Timeout::from_timespec(-5, 0),
            // Out of range.
            Timeout::from_timespec(1, 2_000_000_000),
        ] {
            assert_eq!(reference.wait(0b0011, Match::Any, timeout), Ok(0b0010));
            assert_eq!(reference.wait(0b0100, Match::All, timeout), Ok(0b0100));
            assert_eq!(reference.wait(0, Match::Any, timeout), Ok(0b0110));
        }
    };
    as_plain(look);
    as_task(look);
    assert_eq!(event.flags(), Ok(0b0110));
}

#[test]
fn flags_that_are_not_set_are_refused_to_those_who_may_not_wait() {
    let _dog = Watchdog::new();
    let event = Event::create("", 0b01, EventMode::PRIORITY).unwrap();
    let reference = *event;
    let poll =
        move || (reference.wait(0b11, Match::All, Timeout::NONE), reference.wait(0b10, Match::Any, Timeout::NONE));
    let would_block = (Err(Error::WouldBlock), Err(Error::WouldBlock));
    assert_eq!(as_plain(poll), would_block);
    assert_eq!(as_task(poll), would_block);
    for timeout in [Timeout::INFINITE, LONG.into(), Timeout::until(Date::from_ticks(1))] {
        assert_eq!(as_plain(move || reference.wait(0b10, Match::Any, timeout)), Err(Error::Permission));
    }
    assert_eq!(event.inquire().unwrap().waiters, 0);
}

#[test]
fn a_wait_does_not_time_out_before_its_date() {
    let _dog = Watchdog::new();
    let event = Event::new().unwrap();
    let reference = *event;
    as_task(move || {
        let start = Date::now();
        assert_eq!(reference.wait(1, Match::All, SHORT), Err(Error::TimedOut));
        assert!(Date::now() - start >= SHORT);
        let date = Date::now() + SHORT;
        assert_eq!(reference.wait(1, Match::Any, Timeout::until(date)), Err(Error::TimedOut));
        assert!(Date::now() >= date);
        assert_eq!(reference.wait(1, Match::Any, DateTicks(1)), Err(Error::TimedOut));
        assert_eq!(reference.wait(1, Match::Any, Timeout::from_timespec(1, -1)), Err(Error::Invalid));
    });
    // Who gave up is not released.
    event.signal(1).unwrap();
    let seen = event.inquire().unwrap();
    assert_eq!((seen.flags, seen.waiters), (1, 0));
}

#[test]
fn a_signal_releases_all_who_are_satisfied_and_nobody_else() {
    let _dog = Watchdog::new();
    let event = Event::new().unwrap();
    let any = waiter(*event, 5, 0b0101, Match::Any);
    let all = waiter(*event, 9, 0b0101, Match::All);
    let same = waiter(*event, 1, 0b0100, Match::All);
    event.signal(0b0010).unwrap();
    assert_eq!(event.inquire().unwrap().waiters, 3);
    event.signal(0b1100).unwrap();
    // Whether or not they have run.
    assert_eq!(event.inquire().unwrap().waiters, 1);
    assert_eq!((value(any), value(same)), (Ok(0b0100), Ok(0b0100)));
    event.signal(0b0001).unwrap();
    assert_eq!(value(all), Ok(0b0101));
    assert_eq!(event.flags(), Ok(0b1111));
}

#[test]
fn one_signal_releases_more_than_it_tells_at_once() {
    let _dog = Watchdog::new();
    let event = Event::new().unwrap();
    let tasks: Vec<_> = (0..100).map(|i| waiter(*event, i % 3, 1 << (i % 5), Match::All)).collect();
    event.signal(0b11111).unwrap();
    for (i, task) in tasks.into_iter().enumerate() {
        assert_eq!(value(task), Ok(1 << (i % 5)));
    }
    assert_eq!(event.inquire().unwrap().waiters, 0);
}

#[test]
fn a_clear_takes_nothing_back() {
    let _dog = Watchdog::new();
    for _ in 0..50 {
        let event = Event::new().unwrap();
        let task = waiter(*event, 0, 0b11, Match::Any);
        event.signal(0b10).unwrap();
        assert_eq!(event.clear(u32::MAX), Ok(0b10));
        drop(event);
        assert_eq!(value(task), Ok(0b10));
    }
}

#[test]
fn a_clear_with_waiters_counts() {
    let _dog = Watchdog::new();
    let event = Event::new().unwrap();
    let task = waiter(*event, 0, 0b11, Match::All);
    event.signal(0b01).unwrap();
    assert_eq!(event.clear(0b01), Ok(0b01));
    event.signal(0b10).unwrap();
    assert_eq!(event.inquire().unwrap().waiters, 1);
    event.signal(0b01).unwrap();
    assert_eq!(value(task), Ok(0b11));
}

#[test]
fn deletion_ends_the_waits_and_all_references() {
    let _dog = Watchdog::new();
    let event = Event::create("event-deleted", 0, EventMode::PRIORITY).unwrap().leak();
    let tasks = [waiter(event, 0, 1, Match::Any), waiter(event, 7, 3, Match::All)];
    assert_eq!(event.delete(), Ok(()));
    assert_eq!(tasks.map(value), [Err(Error::Removed); 2]);
    assert_stale(event);
    let again = Event::create("event-deleted", 3, EventMode::empty()).unwrap();
    assert_stale(event);
    assert_eq!(again.flags(), Ok(3));
}

#[test]
fn the_owner_deletes_when_it_is_dropped_but_not_a_successor() {
    let _dog = Watchdog::new();
    let event = Event::create("event-owned", 0, EventMode::PRIORITY).unwrap();
    assert_eq!(Event::create("event-owned", 0, EventMode::PRIORITY).unwrap_err(), Error::Exists);
    let reference = *event;
    let task = waiter(reference, 0, 1, Match::All);
    drop(event);
    assert_eq!(value(task), Err(Error::Removed));
    assert_stale(reference);
    assert_eq!(Event::bind("event-owned", Timeout::NONE), Err(Error::WouldBlock));

    let event = Event::create("event-owned", 0, EventMode::PRIORITY).unwrap();
    event.delete().unwrap();
    let successor = Event::create("event-owned", 6, EventMode::PRIORITY).unwrap();
    drop(event);
    assert_eq!(successor.flags(), Ok(6));
    assert_eq!(Event::bind("event-owned", Timeout::NONE), Ok(*successor));
}

#[test]
fn a_leaked_one_lives_on() {
    let _dog = Watchdog::new();
    let leak = || Event::create("event-leaked", 4, EventMode::PRIORITY).unwrap().leak();
    let reference = thread::spawn(leak).join().unwrap();
    assert_eq!(reference.flags(), Ok(4));
    assert_eq!(Event::bind("event-leaked", Timeout::NONE), Ok(reference));
    assert_eq!(reference.delete(), Ok(()));
}

#[test]
fn a_bind_waits_for_the_creation() {
    let _dog = Watchdog::new();
    assert_eq!(as_plain(|| Event::bind("event-to-come", Timeout::INFINITE)), Err(Error::Permission));
    assert_eq!(as_task(|| Event::bind("event-to-come", SHORT)), Err(Error::TimedOut));
    let task = Task::builder().spawn(|| Event::bind("event-to-come", Timeout::INFINITE)).unwrap();
    until_status(task.task(), Status::WAIT);
    let event = Event::create("event-to-come", 0, EventMode::PRIORITY).unwrap();
    assert_eq!(value(task), Ok(*event));
}

#[test]
fn unblocked_and_cancelled_waiters_leave_no_trace() {
    let _dog = Watchdog::new();
    let event = Event::new().unwrap();
    let tasks = [1, 2, 3].map(|priority| waiter(*event, priority, 1, Match::All));
    tasks[1].task().unblock().unwrap();
    assert_eq!(event.inquire().unwrap().waiters, 2);
    tasks[0].task().request_end().unwrap();
    assert_eq!(event.inquire().unwrap().waiters, 1);
    event.signal(1).unwrap();
    assert_eq!(tasks.map(value), [Err(Error::Cancelled), Err(Error::Interrupted), Ok(1)]);
}

#[test]
fn a_grant_comes_before_a_later_request_to_end() {
    let _dog = Watchdog::new();
    for _ in 0..50 {
        let event = Event::new().unwrap();
        let task = waiter(*event, 0, 1, Match::All);
        event.signal(1).unwrap();
        // It may have ended.
        let _ = task.task().request_end();
        assert_eq!(value(task), Ok(1));
    }
}

#[test]
fn a_suspended_waiter_is_released_and_runs_when_it_is_resumed() {
    let _dog = Watchdog::new();
    let event = Event::new().unwrap();
    let task = waiter(*event, 0, 1, Match::All);
    task.task().suspend().unwrap();
    event.signal(1).unwrap();
    assert_eq!(event.inquire().unwrap().waiters, 0);
    until_status(task.task(), Status::SUSPENDED);
    event.clear(1).unwrap();
    task.task().resume().unwrap();
    assert_eq!(value(task), Ok(1));
}

#[test]
fn unknown_modes_are_refused() {
    let _dog = Watchdog::new();
    for bits in [2, 4, u32::MAX] {
        let create = Event::create("event-refused", 0, EventMode::from_bits_retain(bits));
        assert_eq!(create.unwrap_err(), Error::Invalid);
    }
    Event::create("event-refused", 0, EventMode::PRIORITY).unwrap();
}

#[test]
fn alarm_handlers_signal_but_do_not_make_or_delete() {
    let _dog = Watchdog::new();
    let event = Event::new().unwrap();
    let reference = *event;
    let (tell, told) = mpsc::channel();
    let alarm = Alarm::new("", move || {
        let made = Event::new().map(drop);
        let waited = reference.wait(2, Match::All, Timeout::INFINITE);
        tell.send((made, reference.delete(), waited, reference.signal(1))).unwrap();
    })
    .unwrap();
    alarm.start(Duration::from_nanos(1), Duration::ZERO).unwrap();
    let refused = Error::Permission;
    assert_eq!(told.recv().unwrap(), (Err(refused), Err(refused), Err(refused), Ok(())));
    assert_eq!(event.flags(), Ok(1));
}

#[test]
fn handles_of_nothing_and_of_other_types_are_refused() {
    let _dog = Watchdog::new();
    let (event, other) = (Event::new().unwrap(), gate());
    let strangers = [
        Handle::NONE,
        other.handle(),
        Handle::from_raw(usize::MAX),
        // Right type, no such slot; right slot, generation to come.
        Handle::from_raw(event.handle().to_raw() | 0xffff_0000),
        Handle::from_raw(event.handle().to_raw() + (1 << 32)),
    ];
    strangers.into_iter().map(EventRef::from_handle).for_each(assert_stale);
    assert_eq!(EventRef::from_handle(Handle::from_raw(event.handle().to_raw())), *event);
}

/// Two tasks take turns by two flags: no signal is lost, and what one wrote the other sees.
#[test]
fn flags_hand_a_turn_to_and_fro() {
    const ROUNDS: u32 = 10_000;
    let _dog = Watchdog::new();
    let event = Event::create("", 1, EventMode::empty()).unwrap();
    let reference = *event;
    let player = move |mine: u32, theirs: u32| {
        let body = move || {
            for _ in 0..ROUNDS {
                reference.wait(mine, Match::All, Timeout::INFINITE)?;
                assert_eq!(reference.clear(mine)? & (mine | theirs), mine);
                reference.signal(theirs)?;
            }
            Ok::<(), Error>(())
        };
        Task::builder().spawn(body).unwrap()
    };
    let players = [player(1, 2), player(2, 1)];
    assert_eq!(players.map(value), [Ok(()); 2]);
    assert_eq!(event.flags(), Ok(1));
}
