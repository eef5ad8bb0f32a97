//! Names.

use super::*;
use crate::error::Error;
use crate::head::Place;

/// A bind without limit finds the object, however its creation goes on meanwhile, and all that its creator did before
/// anybody was to find it.
// Catches: `LIVE` before `fill`, before `ready` or before the name; `announce` before `LIVE`; no second look before
// queueing; the result after the decision; Relaxed in `publish` or `live_handle`.
#[test]
fn bind_against_create() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let binder = w.spawn(|w| {
            let sem = w.bind(1, "s", Timeout::INFINITE).unwrap();
            w.assert_written();
            sem
        });
        let made = w.make("s").unwrap();
        assert_eq!(binder.join().unwrap(), made);
    });
}

/// A bind whose date passes finds the object or not; nothing is left of it.
// Catches: `withdraw` that does not ask for a decision.
#[test]
fn limited_bind_against_create() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let binder = w.spawn(|w| w.bind(1, "s", limited()));
        let made = w.sem("s", 0).unwrap();
        let bound = binder.join().unwrap();
        assert!(bound == Ok(made) || bound == Err(Error::TimedOut));
        w.assert_no_binder();
    });
}

/// Two who wait for the same name both get it.
// Catches: `announce` to the first waiter only.
#[test]
fn two_binds_against_create() {
    check(|| {
        let w = World::new(&[1, 1], 1);
        w.queue_binder(1, "s");
        let binder = w.spawn(|w| w.bind(2, "s", Timeout::INFINITE).unwrap());
        let made = w.sem("s", 0).unwrap();
        assert_eq!(binder.join().unwrap(), made);
        assert_eq!(w.outcome(1), Ok(()));
        assert_eq!(w.me(1).slot.node.result.load(Relaxed), made.to_word());
        w.assert_no_binder();
    });
}

/// Who waits for another name stays.
// Catches: `announce` to all waiters.
#[test]
fn bind_against_create_of_another_name() {
    check(|| {
        let w = World::new(&[1], 2);
        let binder = w.spawn(|w| w.bind(1, "s", Timeout::INFINITE).unwrap());
        w.sem("t", 0).unwrap();
        let made = w.sem("s", 0).unwrap();
        assert_eq!(binder.join().unwrap(), made);
        w.assert_no_binder();
    });
}

/// A request to end reaches a thread that waits for a name, or is about to.
// Catches: as in `interrupt::end_request_against_p`.
#[test]
fn end_request_against_bind() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let task = w.task(1);
        let binder = w.spawn(|w| assert_eq!(w.bind(1, "s", Timeout::INFINITE), Err(Error::Cancelled)));
        w.interrupt(task, wait::END, wait::CANCELLED).unwrap();
        binder.join().unwrap();
        w.assert_no_binder();
    });
}

/// Of two who make an object with the same name one succeeds; the other leaves no trace.
// Catches: search and entry in two sections; a loser that keeps its slot.
#[test]
fn create_against_create() {
    check_contended(|| {
        let w = World::new(&[1], 2);
        let other = w.spawn(|w| w.sem("s", 1));
        let results = [w.sem("s", 2), other.join().unwrap()];
        let ([Ok(winner), Err(Error::Exists)] | [Err(Error::Exists), Ok(winner)]) = results else {
            panic!("{results:?}");
        };
        assert_eq!(w.bind(1, "s", Timeout::NONE), Ok(winner));
        // The loser's slot is free.
        let next = w.sem("t", 0).unwrap();
        assert_ne!(next.index(), winner.index());
        assert_eq!(w.sem("u", 0), Err(Error::NoMemory));
    });
}

/// A bind finds an object that lives a short time, or does not; it never finds one that is not live yet.
// Catches: `LIVE` before `ready`; Relaxed in `publish`, `live_handle`, `tell` or `sleep`.
#[test]
fn bind_against_create_and_delete() {
    check(|| {
        let w = World::new(&[1], 1);
        let binder = w.spawn(|w| {
            let bound = w.bind(1, "s", limited());
            if bound.is_ok() {
                w.assert_written();
            }
            bound
        });
        let made = w.make("s").unwrap();
        w.delete(made).unwrap();
        let bound = binder.join().unwrap();
        assert!(bound == Ok(made) || bound == Err(Error::TimedOut));
        w.assert_no_binder();
    });
}

/// A bind that misses one object of the name finds the next.
// Catches: `announce` before `LIVE`; no second look before queueing.
#[test]
fn bind_against_create_again() {
    check(|| {
        let w = World::new(&[1], 1);
        let binder = w.spawn(|w| w.bind(1, "s", Timeout::INFINITE).unwrap());
        let first = w.sem("s", 0).unwrap();
        w.delete(first).unwrap();
        let second = w.sem("s", 0).unwrap();
        let bound = binder.join().unwrap();
        assert!(bound == first || bound == second);
        w.assert_no_binder();
    });
}

/// Whoever looks for a name after its object was deleted does not get that one, late as its creator may announce it.
// Catches: neither `announce` nor `bind` looking whether the object is live (one of them would do).
#[test]
fn bind_after_delete() {
    check(|| {
        let w = World::new(&[1], 1);
        let creator = w.spawn(|w| w.sem("s", 0).unwrap());
        if let Ok(found) = w.bind(1, "s", Timeout::NONE) {
            w.delete(found).unwrap();
            assert_eq!(w.bind(1, "s", limited()), Err(Error::TimedOut));
        }
        creator.join().unwrap();
        w.assert_no_binder();
    });
}

/// Once an object is seen to be dead its name is free, whether or not its deleter has come to take it out.
// Catches: stale entries that count; the name taken out after the slot is given back.
#[test]
fn a_dead_object_has_no_name() {
    check_contended(|| {
        let w = World::new(&[1], 2);
        let first = w.sem("s", 0).unwrap();
        let other = w.spawn(move |w| (w.poll(first) == Err(Error::Invalid)).then(|| w.sem("s", 0).unwrap()));
        w.delete(first).unwrap();
        match other.join().unwrap() {
            Some(second) => {
                assert_eq!(w.bind(1, "s", Timeout::NONE), Ok(second));
                w.delete(second).unwrap();
            }
            None => assert_eq!(w.bind(1, "s", Timeout::NONE), Err(Error::WouldBlock)),
        }
        w.sem("s", 0).unwrap();
    });
}

/// Whoever deletes an object may use its name again at once, unless somebody else was faster.
// Catches: search and entry in two sections; the name taken out after the slot is given back.
#[test]
fn delete_and_create_again() {
    check_contended(|| {
        let w = World::new(&[1], 2);
        let first = w.sem("s", 0).unwrap();
        let other = w.spawn(|w| w.sem("s", 0));
        w.delete(first).unwrap();
        match (w.sem("s", 0), other.join().unwrap()) {
            (Ok(made), Err(Error::Exists)) | (Err(Error::Exists), Ok(made)) => {
                assert_eq!(w.bind(1, "s", Timeout::NONE), Ok(made));
            }
            other => panic!("{other:?}"),
        }
    });
}

/// Generated names differ, also from one that the program chose.
// Catches: the number taken outside the lock.
#[test]
fn generated_names() {
    check_contended(|| {
        let w = World::new(&[1], 3);
        let other = w.spawn(|w| w.sem("", 0).unwrap());
        // It exists if the other one was faster.
        let chosen = w.sem("sem@1", 0);
        let names = [w.sem("", 0), other.join().map_err(|_| Error::Invalid), chosen].map(|sem| match sem {
            Ok(sem) => Some(w.object::<SemaphoreSlot>(sem).unwrap().head.name().to_text()),
            Err(error) => {
                assert_eq!(error, Error::Exists);
                None
            }
        });
        assert!(names[0] != names[1] && names[1] != names[2] && names[0] != names[2], "{names:?}");
    });
}

impl World {
    /// Makes a semaphore step by step: what `assert_written` looks for is there after the last one.
    fn make(&self, name: &str) -> Result<Handle> {
        let data = &self.0.data;
        let fill = |_: &SemaphoreSlot| data.store(2, Relaxed);
        self.0.space.create::<SemaphoreSlot>(Name::new(name.as_bytes()), (false, 0), fill, |_, _| {
            data.store(data.load(Relaxed) / 2, Relaxed);
            Ok(())
        })
    }

    fn registry(&self) -> Place<'_> {
        self.place(Handle::new(Kind::Registry, 0, Kind::Semaphore as u32)).unwrap()
    }

    /// Queues a thread as a bind does that does not find the name.
    fn queue_binder(&self, index: u32, name: &str) {
        let (me, place) = (self.me(index), self.registry());
        let _held = self.lock(&place);
        self.prepare(&me, &place, Deadline::NEVER).unwrap();
        Name::new(name.as_bytes()).store(&me.slot.wanted);
        place.site.enqueue(&self.0.space, index, 0);
    }

    fn assert_no_binder(&self) {
        let place = self.registry();
        let _held = self.lock(&place);
        assert!(place.site.is_empty() && !place.site.has_decided());
    }
}
