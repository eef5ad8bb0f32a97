//! Waits that somebody else ends.

use super::*;
use crate::error::Error;
use crate::wait::{CANCELLED, DELETE, END, INTERRUPTED};

/// A wait that is interrupted and posted to has one outcome, and the unit is taken or still there.
// Catches: `WAITERS` by a plain store; a post that ignores `WAITERS`.
#[test]
fn unblock_against_v() {
    check(|| {
        let w = World::new(&[1], 1);
        let sem = w.sem("s", 0).unwrap();
        let task = w.task(1);
        let waiter = w.spawn(move |w| w.p(1, sem, Timeout::INFINITE));
        let other = w.spawn(move |w| w.interrupt(task, 0, INTERRUPTED).unwrap());
        w.v(sem).unwrap();
        other.join().unwrap();
        let waited = waiter.join().unwrap();
        assert!(matches!(waited, Ok(()) | Err(Error::Interrupted)));
        assert_eq!(w.count(sem), u32::from(waited.is_err()));
    });
}

/// So it is with a request to end, which also ends the next wait.
#[test]
fn end_request_against_v() {
    check(|| {
        let w = World::new(&[1], 1);
        let sem = w.sem("s", 0).unwrap();
        let task = w.task(1);
        w.queue(1, sem);
        let other = w.spawn(move |w| w.interrupt(task, END, CANCELLED).unwrap());
        w.v(sem).unwrap();
        other.join().unwrap();
        let waited = w.outcome(1);
        assert!(matches!(waited, Ok(()) | Err(Error::Cancelled)));
        assert_eq!(w.count(sem), u32::from(waited.is_err()));
        if waited.is_ok() {
            assert_eq!(w.p(1, sem, Timeout::INFINITE), Err(Error::Cancelled));
        }
    });
}

/// A task that has been granted a unit and is deleted either returns with it or passes it on.
// Catches: a unit that is not passed on.
#[test]
fn deletion_after_v() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let sem = w.sem("s", 0).unwrap();
        let task = w.task(1);
        let waiter = w.spawn(move |w| w.p(1, sem, Timeout::INFINITE));
        w.v(sem).unwrap();
        w.interrupt(task, DELETE, CANCELLED).unwrap();
        let waited = waiter.join().unwrap();
        assert!(matches!(waited, Ok(()) | Err(Error::Cancelled)));
        assert_eq!(w.count(sem), u32::from(waited.is_err()));
    });
}

/// A request to end reaches a thread that is about to wait: it finds the request, or the requester finds it waiting.
// Catches: the waiter's read-modify-write made a load, or before its other stores; the requester's made a load and a
// store.
#[test]
fn end_request_against_p() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let sem = w.sem("s", 0).unwrap();
        let task = w.task(1);
        let waiter = w.spawn(move |w| {
            assert_eq!(w.p(1, sem, Timeout::INFINITE), Err(Error::Cancelled));
            w.assert_written();
        });
        w.write();
        w.interrupt(task, END, CANCELLED).unwrap();
        waiter.join().unwrap();
        assert_eq!(w.count(sem), 0);
    });
}

/// Also one that goes from one wait to another.
// Catches: the same.
#[test]
fn end_request_between_two_waits() {
    check_contended(|| {
        let w = World::new(&[1], 2);
        let [first, second] = ["s", "t"].map(|name| w.sem(name, 0).unwrap());
        let task = w.task(1);
        let waiter = w.spawn(move |w| {
            if w.p(1, first, limited()) == Err(Error::TimedOut) {
                assert_eq!(w.p(1, second, Timeout::INFINITE), Err(Error::Cancelled));
            }
        });
        w.interrupt(task, END, CANCELLED).unwrap();
        waiter.join().unwrap();
        assert_eq!([w.count(first), w.count(second)], [0, 0]);
    });
}

/// A waiter whose fate is decided cannot be interrupted.
// Catches: `release` of a thread that is decided already.
#[test]
fn unblock_against_delete() {
    check(|| {
        let w = World::new(&[1, 1], 1);
        let sem = w.sem("s", 0).unwrap();
        let task = w.task(1);
        w.queue(1, sem);
        w.queue(2, sem);
        let first = w.spawn(move |w| w.resume(1, sem, Timeout::INFINITE));
        let other = w.spawn(move |w| w.interrupt(task, 0, INTERRUPTED).unwrap());
        w.delete(sem).unwrap();
        other.join().unwrap();
        assert!(matches!(first.join().unwrap(), Err(Error::Removed | Error::Interrupted)));
        assert_eq!(w.outcome(2), Err(Error::Removed));
        w.assert_deserted(sem);
    });
}

/// An interruption ends the wait that it found, not a wait on something else that follows it.
// Catches: `interrupt` without a second look under the lock, at either word; `park` stored before `waiting_on`, or
// Relaxed.
#[test]
fn unblock_of_a_wait_that_is_over() {
    check(|| {
        let w = World::new(&[1], 2);
        let [first, second] = ["s", "t"].map(|name| w.sem(name, 0).unwrap());
        let task = w.task(1);
        w.queue(1, first);
        let waiter = w.spawn(move |w| (w.resume(1, first, limited()), w.p(1, second, limited())));
        w.interrupt(task, 0, INTERRUPTED).unwrap();
        let (one, two) = waiter.join().unwrap();
        let over = Err(Error::TimedOut);
        let interrupted = Err(Error::Interrupted);
        assert!([(over, over), (interrupted, over), (over, interrupted)].contains(&(one, two)));
        assert_eq!([w.count(first), w.count(second)], [0, 0]);
    });
}

/// An interruption of a task that has ended does not reach the next user of its slot.
// Catches: the request outside the target's lock; no check of the target before it; no check before the removal.
#[test]
fn end_request_against_reuse_of_the_thread() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let sem = w.sem("s", 0).unwrap();
        let old = w.task(1);
        let waiter = w.spawn(move |w| {
            let (me, head) = (w.me(1), &w.me(1).slot.head);
            w.end_task(1, me.slot);
            {
                let _held = w.lock(&me.slot.own_place(1));
                me.slot.fill(1, 0);
                head.state.publish(false, 0);
            }
            w.p(1, sem, Timeout::INFINITE).unwrap();
        });
        assert!(matches!(w.interrupt(old, END, CANCELLED), Ok(()) | Err(Error::Invalid)));
        w.v(sem).unwrap();
        waiter.join().unwrap();
        assert_eq!(w.count(sem), 0);
    });
}
