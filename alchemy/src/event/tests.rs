//! What only the inside can show: groups whose lock holder died, and words that are always slow.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use posix_backend::atomic::Ordering::*;
use posix_backend::wait::WAITING;

use super::*;
use crate::step::die_at;
use crate::tests::{enlist, space, until};

const PATIENCE: Duration = Duration::from_secs(30);

fn group(space: &Space, flags: u32) -> Handle {
    create(space, Name::default(), flags, Mode::PRIORITY, |_| ()).unwrap()
}

/// Starts a waiter; it sends its priority and what it found.
fn waiter(
    space: &'static Space,
    event: Handle,
    priority: u32,
    request: Request,
    released: &mpsc::Sender<(u32, Result<u32>)>,
) -> Me<'static> {
    let me = enlist(space, priority);
    let released = released.clone();
    thread::spawn(move || {
        let found = wait_slow(space, event, request, Timeout::INFINITE, || Ok(me));
        released.send((priority, found)).unwrap();
    });
    until(|| me.slot.node.park.load(Acquire) == WAITING && me.slot.node.is_queued());
    me
}

fn any(mask: u32) -> Request {
    Request { mask, how: Match::Any }
}

fn all(mask: u32) -> Request {
    Request { mask, how: Match::All }
}

/// Once the flags are set everybody whom they satisfy is released, whoever does it.
#[test]
fn a_signal_that_dies_half_way_is_completed() {
    for (label, count) in [
        ("event: flags", 1),
        ("event: result", 1),
        ("event: result", 2),
        ("event: result", 3),
        ("event: decided", 1),
        ("event: decided", 2),
        ("event: decided", 3),
    ] {
        for left in [false, true] {
            let space = space();
            let event = group(space, 0b1000);
            let (send, released) = mpsc::channel();
            waiter(space, event, 30, any(0b0101), &send);
            waiter(space, event, 20, all(0b1001), &send);
            waiter(space, event, 10, any(0b0001), &send);
            if left {
                waiter(space, event, 25, all(0b0011), &send);
            }
            assert!(die_at(label, count, move || signal_slow(space, event, 0b0001).unwrap()), "{label}");
            // It finds what the dead thread left, and takes nothing back.
            assert_eq!(clear_slow(space, event, 0b0001), Ok(0b1001), "{label} {count}");
            let mut found: Vec<_> = (0..3).map(|_| released.recv_timeout(PATIENCE).unwrap()).collect();
            found.sort_unstable_by_key(|&(priority, _)| priority);
            assert_eq!(found, [(10, Ok(0b0001)), (20, Ok(0b1001)), (30, Ok(0b0001))], "{label} {count}");
            let seen = inquire(space, event).unwrap();
            assert_eq!((seen.flags, seen.waiters), (0b1000, u32::from(left)));
            if left {
                signal_slow(space, event, 0b0011).unwrap();
                assert_eq!(released.recv_timeout(PATIENCE), Ok((25, Ok(0b0011))));
            }
            assert!(signal_fast(space, event, 1 << 31), "the group is not as good as new");
            assert_eq!(wait_fast(space, event, all(1 << 31)), Some(1 << 31));
        }
    }
}

/// Whoever comes next need not change anything, nor wait.
#[test]
fn a_look_completes_a_signal_that_dies() {
    for look in [
        |space: &'static Space, event| assert_eq!(inquire(space, event).unwrap().flags, 1),
        |space: &'static Space, event| {
            let me = enlist(space, 1);
            let poll = |mask| wait_slow(space, event, any(mask), Timeout::from(Duration::from_millis(1)), || Ok(me));
            assert_eq!(poll(2), Err(Error::TimedOut));
        },
    ] {
        let space = space();
        let event = group(space, 0);
        let (send, released) = mpsc::channel();
        waiter(space, event, 30, any(1), &send);
        assert!(die_at("event: flags", 1, move || signal_slow(space, event, 1).unwrap()));
        look(space, event);
        assert_eq!(released.recv_timeout(PATIENCE), Ok((30, Ok(1))));
    }
}

/// A waiter whose date passes after the death finds out by itself.
#[test]
fn a_late_waiter_finds_the_decision_of_the_dead() {
    let space = space();
    let event = group(space, 0);
    let me = enlist(space, 10);
    let found = thread::spawn(move || {
        let limit = Timeout::from(Duration::from_millis(300));
        wait_slow(space, event, any(2), limit, || Ok(me))
    });
    until(|| me.slot.node.park.load(Acquire) == WAITING && me.slot.node.is_queued());
    assert!(die_at("event: flags", 1, move || signal_slow(space, event, 2).unwrap()));
    assert_eq!(found.join().unwrap(), Ok(2));
    assert_eq!(inquire(space, event).unwrap().waiters, 0);
}

#[test]
fn a_slow_word_works_through_the_lock() {
    let space = space();
    let event = group(space, 0b100);
    let slot = space.object::<EventSlot>(event).unwrap();
    let set_slow = |slow| {
        let _held = space.lock(&slot.head.place(event));
        slot.head.state.set_slow(slow);
    };
    set_slow(true);
    assert!(!signal_fast(space, event, 1) && clear_fast(space, event, 1).is_none());
    assert_eq!(wait_fast(space, event, any(0b100)), None);
    let poll = |request| wait_slow(space, event, request, Timeout::NONE, || Err(Error::Permission));
    assert_eq!([poll(any(0b101)), poll(all(0b101)), poll(all(0))], [Ok(0b100), Err(Error::WouldBlock), Ok(0b100)]);
    signal_slow(space, event, 1).unwrap();
    assert_eq!(poll(all(0b101)), Ok(0b101));
    assert_eq!(clear_slow(space, event, 0b101), Ok(0b101));
    let (send, released) = mpsc::channel();
    waiter(space, event, 10, all(3), &send);
    signal_slow(space, event, 1).unwrap();
    assert_eq!(inquire(space, event).unwrap().waiters, 1);
    signal_slow(space, event, 2).unwrap();
    assert_eq!(released.recv_timeout(PATIENCE), Ok((10, Ok(3))));
    set_slow(false);
    assert!(signal_fast(space, event, 4));
    assert_eq!(clear_fast(space, event, u32::MAX), Some(7));
}
