//! Condition variables, with both protocols of mutexes.

use super::mutex::check_in;
use super::*;
use crate::cond::{self, ConditionSlot};
use crate::error::Error;
use crate::wait::INTERRUPTED;

const FOREVER: Timeout = Timeout::INFINITE;

/// Runs a model with a condition variable and a mutex. Task 1 is the calling thread's.
fn check_both(tasks: &'static [u32], model: impl Fn(World, Handle, Handle) + Send + Sync + Clone + 'static) {
    let room = |kind| u32::from(matches!(kind, Kind::Condition | Kind::Mutex));
    check_in(
        move || World::with_room(tasks, room),
        move |w| {
            let cond = cond::create(&w, Name::new(b"c"), |_| ()).unwrap();
            let mutex = w.mutex().unwrap();
            w.become_task(1);
            model(w, cond, mutex);
        },
    );
}

impl World {
    fn wait_for_signal(&self, cond: Handle, mutex: Handle, timeout: Timeout) -> Result<()> {
        self.turn();
        let me = || Ok(self.me(posix_backend::thread::current().identity()));
        cond::wait(self, cond, mutex, timeout, me)
    }

    fn signal(&self, cond: Handle) -> Result<()> {
        self.turn();
        if cond::signal_fast(self, cond) { Ok(()) } else { cond::signal_slow(self, cond) }
    }

    fn signal_all(&self, cond: Handle) -> Result<()> {
        self.turn();
        if cond::signal_fast(self, cond) { Ok(()) } else { cond::broadcast_slow(self, cond) }
    }

    /// Until this many are queued.
    fn until_queued(&self, cond: Handle, waiters: u32) {
        while cond::inquire(self, cond).unwrap().waiters != waiters {
            loom::thread::yield_now();
        }
    }

    /// Nobody is left, nobody is bound, and both can be deleted.
    fn assert_left(&self, cond: Handle, mutex: Handle) {
        let slot = self.object::<ConditionSlot>(cond).unwrap();
        assert!(!slot.head.state.load().has_waiters());
        self.assert_deserted(cond);
        self.assert_unused(mutex);
        assert_eq!(cond::delete(self, cond, false), Ok(()));
    }
}

/// Waits until something has happened, as programs do, and leaves the mutex as it was.
fn consume(w: &World, cond: Handle, mutex: Handle) {
    w.acquire(mutex, FOREVER).unwrap();
    while w.counted() == 0 {
        w.wait_for_signal(cond, mutex, FOREVER).unwrap();
    }
    w.release(mutex).unwrap();
}

/// Whoever changes something under the mutex and then signals, still with the mutex, is not missed.
#[test]
fn wait_against_signal() {
    check_both(&[1, 1], |w, cond, mutex| {
        let waiter = w.spawn_task(2, move |w| consume(w, cond, mutex));
        w.acquire(mutex, FOREVER).unwrap();
        w.count_up();
        w.signal(cond).unwrap();
        w.release(mutex).unwrap();
        waiter.join().unwrap();
        w.assert_left(cond, mutex);
    });
}

/// Nor if it has released the mutex before, or broadcasts.
#[test]
fn wait_against_signal_after_release() {
    check_both(&[1, 1], |w, cond, mutex| {
        let waiter = w.spawn_task(2, move |w| consume(w, cond, mutex));
        w.acquire(mutex, FOREVER).unwrap();
        w.count_up();
        w.release(mutex).unwrap();
        w.signal_all(cond).unwrap();
        waiter.join().unwrap();
        w.assert_left(cond, mutex);
    });
}

/// A mutex is not deleted while somebody will come back to it.
#[test]
fn delete_of_the_mutex() {
    check_both(&[1, 1], |w, cond, mutex| {
        let waiter = w.spawn_task(2, move |w| {
            match w.acquire(mutex, FOREVER) {
                Err(error) => assert_eq!(error, Error::Invalid),
                Ok(()) => {
                    assert_eq!(w.wait_for_signal(cond, mutex, limited()), Err(Error::TimedOut));
                    assert_eq!(w.release(mutex), Ok(()));
                }
            };
        });
        let deleted = w.delete_mutex(mutex, false);
        assert!(matches!(deleted, Ok(()) | Err(Error::Busy)));
        waiter.join().unwrap();
        if deleted.is_err() {
            w.assert_left(cond, mutex);
        }
    });
}

/// A mutex that is deleted by force does not hold its waiters up.
#[test]
fn delete_of_the_mutex_by_force() {
    check_both(&[1, 1], |w, cond, mutex| {
        let waiter = w.spawn_task(2, move |w| {
            if w.acquire(mutex, FOREVER).is_ok() {
                match w.wait_for_signal(cond, mutex, limited()) {
                    Err(Error::TimedOut) => assert!(matches!(w.release(mutex), Ok(()) | Err(Error::Invalid))),
                    result => {
                        assert!(matches!(result, Err(Error::Removed | Error::Invalid)));
                        // Before the wait it was the owner still, and has to let go.
                        assert_eq!(w.release(mutex), Err(Error::Invalid));
                    }
                }
            }
        });
        assert_eq!(w.delete_mutex(mutex, true), Ok(()));
        waiter.join().unwrap();
        assert_eq!(cond::delete(&w, cond, false), Ok(()));
        // The slot has another life as soon as nobody has anything to do with this one.
        let next = w.mutex().unwrap();
        w.assert_unused(next);
    });
}

/// An unblock ends the wait for the signal, but not the way back to the mutex.
#[test]
fn unblock() {
    check_both(&[1, 1], |w, cond, mutex| {
        let waiter = w.spawn_task(2, move |w| {
            w.acquire(mutex, FOREVER).unwrap();
            let result = w.wait_for_signal(cond, mutex, FOREVER);
            w.release(mutex).unwrap();
            result
        });
        w.until_queued(cond, 1);
        w.acquire(mutex, FOREVER).unwrap();
        w.signal(cond).unwrap();
        w.interrupt(w.task(2), 0, INTERRUPTED).unwrap();
        w.release(mutex).unwrap();
        assert_eq!(waiter.join().unwrap(), Ok(()));
        w.assert_left(cond, mutex);
    });
}
