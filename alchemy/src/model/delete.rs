//! Deletion, and the next life of a slot.

use super::*;
use crate::error::Error;

/// A post, the date and a deletion: the waiter gets one of them, and the unit only if it was posted.
// Catches: `withdraw` that does not ask for a decision.
#[test]
fn a_deadline_against_v_and_delete() {
    check(|| {
        let w = World::new(&[1], 1);
        let sem = w.sem("s", 0).unwrap();
        w.queue(1, sem);
        let waiter = w.spawn(move |w| w.resume(1, sem, limited()));
        let poster = w.spawn(move |w| w.v(sem));
        w.delete(sem).unwrap();
        let (waited, posted) = (waiter.join().unwrap(), poster.join().unwrap());
        assert!(matches!(posted, Ok(()) | Err(Error::Invalid)));
        match waited {
            Ok(()) => assert_eq!(posted, Ok(())),
            Err(error) => assert!(matches!(error, Error::TimedOut | Error::Removed)),
        }
        w.assert_deserted(sem);
        assert_eq!(w.poll(sem), Err(Error::Invalid));
    });
}

/// A waiter is told of the deletion, and finds the name free and what the deleter did before visible.
// Catches: `take_or_mark` without a check of the handle; a late wake-up; Relaxed in `tell` or `sleep`.
#[test]
fn delete_with_a_waiter() {
    check_contended(|| {
        let w = World::new(&[1], 2);
        let sem = w.sem("s", 0).unwrap();
        let waiter = w.spawn(move |w| match w.p(1, sem, Timeout::INFINITE) {
            Err(Error::Removed) => {
                w.assert_written();
                w.sem("s", 0).unwrap();
            }
            other => assert_eq!(other, Err(Error::Invalid)),
        });
        w.write();
        w.delete(sem).unwrap();
        waiter.join().unwrap();
        w.assert_deserted(sem);
    });
}

/// Of two deleters one wins, and each waiter is told once.
// Catches: an outcome stored after the unlock; `withdraw` without a second look.
#[test]
fn delete_against_delete() {
    check(|| {
        let w = World::new(&[1, 1], 1);
        let sem = w.sem("s", 0).unwrap();
        w.queue(1, sem);
        w.queue(2, sem);
        let limited = w.spawn(move |w| w.resume(1, sem, limited()));
        let deleter = w.spawn(move |w| w.delete(sem));
        let results = [w.delete(sem), deleter.join().unwrap()];
        assert!(results == [Ok(()), Err(Error::Invalid)] || results == [Err(Error::Invalid), Ok(())]);
        assert!(matches!(limited.join().unwrap(), Err(Error::Removed | Error::TimedOut)));
        assert_eq!(w.outcome(2), Err(Error::Removed));
        w.assert_deserted(sem);
    });
}

/// Deletes a semaphore, makes another one in its slot, and returns that; checks that nobody is left of the old one.
fn replace(w: &World, old: Handle, count: u32) -> Handle {
    w.delete(old).unwrap();
    let new = w.sem("s", count).unwrap();
    assert_eq!(new.index(), old.index());
    new
}

/// A wait on a semaphore whose slot gets another life never takes from the new one, nor waits on it.
// Catches: `take_or_mark` without a check of the handle; a generation that stays.
#[test]
fn reuse_against_p() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let old = w.sem("s", 0).unwrap();
        let waiter = w.spawn(move |w| w.p(1, old, Timeout::INFINITE));
        let new = replace(&w, old, 1);
        assert!(matches!(waiter.join().unwrap(), Err(Error::Removed | Error::Invalid)));
        assert_eq!(w.count(new), 1);
    });
}

/// Nor does one whose date passes.
#[test]
fn reuse_against_a_deadline() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let old = w.sem("s", 0).unwrap();
        let waiter = w.spawn(move |w| w.p(1, old, limited()));
        let new = replace(&w, old, 0);
        assert!(matches!(waiter.join().unwrap(), Err(Error::Removed | Error::Invalid | Error::TimedOut)));
        assert_eq!(w.count(new), 0);
    });
}

/// A post to the old semaphore serves the old waiter or is refused; the new count stays.
// Catches: `post_slow` without a second check of the handle; a generation that stays.
#[test]
fn reuse_against_v() {
    check(|| {
        let w = World::new(&[1], 1);
        let old = w.sem("s", 0).unwrap();
        w.queue(1, old);
        let poster = w.spawn(move |w| w.v(old));
        let new = replace(&w, old, 1);
        match (w.outcome(1), poster.join().unwrap()) {
            (Ok(()), Ok(())) | (Err(Error::Removed), Err(Error::Invalid)) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(w.count(new), 1);
    });
}

/// A post to the old semaphore does not serve who waits for the new one.
// Catches: `post_slow` without a second check of the handle.
#[test]
fn reuse_with_a_new_waiter() {
    check(|| {
        let w = World::new(&[1], 1);
        let old = w.sem("s", 0).unwrap();
        w.queue(1, old);
        let poster = w.spawn(move |w| w.v(old));
        let new = replace(&w, old, 0);
        // Told by the deletion, or by the post.
        let first = w.resume(1, old, Timeout::INFINITE);
        assert_eq!(w.p(1, new, limited()), Err(Error::TimedOut));
        let posted = poster.join().unwrap();
        assert!(matches!((first, posted), (Ok(()), Ok(())) | (Err(Error::Removed), Err(Error::Invalid))));
        assert_eq!(w.count(new), 0);
    });
}

/// A slot does not get another life while somebody of its old one is in a list.
// Catches: the slot given back before its waiters are told.
#[test]
fn reuse_only_without_waiters() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let old = w.sem("s", 0).unwrap();
        w.queue(1, old);
        let waiter = w.spawn(move |w| w.resume(1, old, Timeout::INFINITE));
        let creator = w.spawn(move |w| match w.sem("t", 0) {
            Ok(new) => w.assert_deserted(new),
            Err(error) => assert_eq!(error, Error::NoMemory),
        });
        w.delete(old).unwrap();
        assert_eq!(waiter.join().unwrap(), Err(Error::Removed));
        creator.join().unwrap();
    });
}
