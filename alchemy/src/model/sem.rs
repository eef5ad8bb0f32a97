//! Semaphores.

use super::*;
use crate::error::Error;

const FOREVER: Timeout = Timeout::INFINITE;

/// A wait without limit ends with the unit, wherever the post comes in between; what the poster did before is visible.
// Catches: `WAITERS` by a plain store; a wake-up before the outcome; a unit counted as well as handed over; enqueueing
// outside the marking section; any Relaxed in `wait_fast`, `try_take`, `take_or_mark`, `post_fast`, `tell` or `sleep`.
#[test]
fn p_against_v() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let sem = w.sem("s", 0).unwrap();
        let waiter = w.spawn(move |w| {
            w.p(1, sem, FOREVER).unwrap();
            w.assert_written();
        });
        w.write();
        w.v(sem).unwrap();
        waiter.join().unwrap();
        assert_eq!(w.count(sem), 0);
    });
}

/// The same where the fast paths have failed because of a stale hint.
// Catches: Relaxed in `post_slow`.
#[test]
fn p_against_v_without_fast_paths() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let sem = w.sem("s", 0).unwrap();
        let waiter = w.spawn(move |w| {
            w.turn();
            wait_slow(w, sem, FOREVER, || Ok(w.me(1))).unwrap();
            w.assert_written();
        });
        w.write();
        w.turn();
        post_slow(&w, sem).unwrap();
        waiter.join().unwrap();
        assert_eq!(w.count(sem), 0);
    });
}

/// Two posts serve two waiters, one of them queued already.
// Catches: `WAITERS` by a plain store; `WAITERS` cleared while somebody is left.
#[test]
fn two_ps_against_two_vs() {
    check(|| {
        let w = World::new(&[1, 1], 1);
        let sem = w.sem("s", 0).unwrap();
        w.queue(1, sem);
        let waiter = w.spawn(move |w| w.p(2, sem, FOREVER).unwrap());
        w.v(sem).unwrap();
        w.v(sem).unwrap();
        waiter.join().unwrap();
        assert_eq!(w.outcome(1), Ok(()));
        assert_eq!(w.count(sem), 0);
    });
}

/// Of two posts at a time one serves the waiter, the other is counted.
// Catches: a wake-up that is decided outside the lock.
#[test]
fn v_against_v() {
    check(|| {
        let w = World::new(&[1], 1);
        let sem = w.sem("s", 0).unwrap();
        w.queue(1, sem);
        let poster = w.spawn(move |w| w.v(sem).unwrap());
        w.v(sem).unwrap();
        poster.join().unwrap();
        assert_eq!(w.outcome(1), Ok(()));
        assert_eq!(w.count(sem), 1);
    });
}

/// A unit is either taken or still there, whenever the date passes.
// Catches: `withdraw` without a second look at `park`; `WAITERS` cleared after the unlock, or never.
#[test]
fn a_deadline_loses_no_unit() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let sem = w.sem("s", 0).unwrap();
        let waiter = w.spawn(move |w| w.p(1, sem, limited()));
        w.v(sem).unwrap();
        let taken = match waiter.join().unwrap() {
            Ok(()) => 1,
            Err(error) => {
                assert_eq!(error, Error::TimedOut);
                0
            }
        };
        assert_eq!(taken + w.count(sem), 1);
    });
}

/// A waiter that leaves takes `WAITERS` along only if nobody has come meanwhile.
// Catches: `WAITERS` cleared after the unlock, so that it takes a new waiter's along.
#[test]
fn a_deadline_beside_another_waiter() {
    check_contended(|| {
        let w = World::new(&[1, 1], 1);
        let sem = w.sem("s", 0).unwrap();
        w.queue(1, sem);
        let other = w.spawn(move |w| w.p(2, sem, FOREVER).unwrap());
        assert_eq!(w.resume(1, sem, limited()), Err(Error::TimedOut));
        w.v(sem).unwrap();
        other.join().unwrap();
        assert_eq!(w.count(sem), 0);
    });
}

/// A broadcast lets all waiters go, also one whose date passes, and leaves none and no count.
// Catches: a broadcast that leaves `WAITERS` set; Relaxed in `tell` or `sleep`.
#[test]
fn broadcast() {
    check(|| {
        let w = World::new(&[1, 1], 1);
        let sem = w.sem("s", 0).unwrap();
        w.queue(1, sem);
        w.queue(2, sem);
        let endless = w.spawn(move |w| {
            w.resume(1, sem, FOREVER).unwrap();
            w.assert_written();
        });
        let limited = w.spawn(move |w| match w.resume(2, sem, limited()) {
            Ok(()) => w.assert_written(),
            other => assert_eq!(other, Err(Error::TimedOut)),
        });
        w.write();
        w.broadcast(sem).unwrap();
        endless.join().unwrap();
        limited.join().unwrap();
        assert_eq!(w.count(sem), 0);
    });
}

/// Who comes while a broadcast is under way is let go by it, or waits for a post.
// Catches: `WAITERS` cleared after the unlock.
#[test]
fn broadcast_against_p() {
    check(|| {
        let w = World::new(&[1, 1], 1);
        let sem = w.sem("s", 0).unwrap();
        w.queue(1, sem);
        let second = w.spawn(move |w| w.p(2, sem, FOREVER).unwrap());
        w.broadcast(sem).unwrap();
        assert_eq!(w.outcome(1), Ok(()));
        w.v(sem).unwrap();
        second.join().unwrap();
        assert!(w.count(sem) <= 1);
    });
}

/// A broadcast and a post: the waiter goes, and at most the posted unit is left.
// Catches: a broadcast that leaves `WAITERS` set.
#[test]
fn broadcast_against_v() {
    check(|| {
        let w = World::new(&[1], 1);
        let sem = w.sem("s", 0).unwrap();
        w.queue(1, sem);
        let poster = w.spawn(move |w| w.v(sem).unwrap());
        w.broadcast(sem).unwrap();
        poster.join().unwrap();
        assert_eq!(w.outcome(1), Ok(()));
        assert!(w.count(sem) <= 1);
    });
}

/// A post hands its unit to the waiter: nobody else gets it in between.
// Catches: a unit counted as well as handed over; a post that ignores `WAITERS`.
#[test]
fn nobody_barges() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let sem = w.sem("s", 0).unwrap();
        w.queue(1, sem);
        let waiter = w.spawn(move |w| w.resume(1, sem, FOREVER).unwrap());
        let poller = w.spawn(move |w| assert_eq!(w.poll(sem), Err(Error::WouldBlock)));
        w.v(sem).unwrap();
        waiter.join().unwrap();
        poller.join().unwrap();
        assert_eq!(w.count(sem), 0);
    });
}

/// The waiter of the highest priority is served, also while another one leaves.
// Catches: `WAITERS` cleared while somebody is left.
#[test]
fn the_highest_priority_is_served() {
    check_contended(|| {
        let w = World::new(&[1, 2], 1);
        let sem = w.sem("s", 0).unwrap();
        w.queue(1, sem);
        w.queue(2, sem);
        let low = w.spawn(move |w| assert_eq!(w.resume(1, sem, limited()), Err(Error::TimedOut)));
        let high = w.spawn(move |w| w.resume(2, sem, FOREVER).unwrap());
        w.v(sem).unwrap();
        low.join().unwrap();
        high.join().unwrap();
        assert_eq!(w.count(sem), 0);
    });
}

/// A post to a pulse semaphore serves who waits, or is lost.
// Catches: a pulse that is counted.
#[test]
fn pulse() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let sem = crate::sem::create(&w, Name::new(b"s"), 0, Mode::PULSE, |_| ()).unwrap();
        let waiter = w.spawn(move |w| w.p(1, sem, limited()));
        w.v(sem).unwrap();
        assert!(matches!(waiter.join().unwrap(), Ok(()) | Err(Error::TimedOut)));
        assert_eq!(w.count(sem), 0);
    });
}

/// With `SLOW` set everything goes through the lock, with the same outcome.
// Catches: a poll that gives up without the lock.
#[test]
fn slow() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let sem = w.sem("s", 0).unwrap();
        w.object::<SemaphoreSlot>(sem).unwrap().head.state.set_slow(true);
        let waiter = w.spawn(move |w| {
            w.p(1, sem, FOREVER).unwrap();
            w.assert_written();
        });
        w.write();
        w.v(sem).unwrap();
        waiter.join().unwrap();
        assert_eq!(w.poll(sem), Err(Error::WouldBlock));
        w.v(sem).unwrap();
        assert_eq!(w.poll(sem), Ok(()));
        assert_eq!(w.count(sem), 0);
    });
}

/// A change of priority reaches a thread that is about to wait: it queues by the new one, or is moved.
// Catches: the rank read before `prepare`; `requeue` without its read-modify-write; a queue that ignores priorities.
#[test]
fn a_new_priority_against_p() {
    check(|| {
        let w = World::new(&[1, 2], 1);
        let sem = w.sem("s", 0).unwrap();
        w.queue(2, sem);
        let waiter = w.spawn(move |w| w.p(1, sem, FOREVER).unwrap());
        let slot = w.me(1).slot;
        w.turn();
        slot.priority.store(3, Relaxed);
        w.requeue(1, slot);
        while crate::sem::inquire(&w, sem).unwrap().waiters < 2 {
            loom::thread::yield_now();
        }
        w.v(sem).unwrap();
        waiter.join().unwrap();
        w.v(sem).unwrap();
        assert_eq!(w.outcome(2), Ok(()));
        assert_eq!(w.count(sem), 0);
    });
}
