//! Mutexes, with a model of the kernel's side. Each model runs with both protocols.

use posix_backend::thread;

use super::*;
use crate::error::Error;
use crate::mutex::{self, MutexSlot};
use crate::space::{IN_KERNEL, IN_QUEUES};
use crate::wait::{CANCELLED, END, INTERRUPTED};

const FOREVER: Timeout = Timeout::INFINITE;

/// What a model is given: a world with some tasks, room for some mutexes, and one of the protocols.
fn check_both(tasks: &'static [u32], mutexes: u32, model: impl Fn(World) + Send + Sync + Clone + 'static) {
    check_in(move || World::new(tasks, mutexes), model);
}

/// Runs a model in a world with each of the protocols.
pub(super) fn check_in(
    world: impl Fn() -> World + Send + Sync + Clone + 'static,
    model: impl Fn(World) + Send + Sync + Clone + 'static,
) {
    for protocol in [IN_KERNEL, IN_QUEUES] {
        let (world, model) = (world.clone(), model.clone());
        check(move || {
            let w = world();
            w.header().unwrap().protocol.store(protocol, Relaxed);
            model(w);
        });
    }
}

impl World {
    /// The calling thread is the task in slot `index` from now on.
    pub(super) fn become_task(&self, index: u32) {
        thread::set_identity(index);
        self.me(index).slot.tid.store(thread::tid(), Relaxed);
    }

    pub(super) fn spawn_task<T: 'static>(
        &self,
        index: u32,
        body: impl FnOnce(&World) -> T + 'static,
    ) -> loom::thread::JoinHandle<T> {
        self.spawn(move |w| {
            w.become_task(index);
            body(w)
        })
    }

    pub(super) fn mutex(&self) -> Result<Handle> {
        self.turn();
        mutex::create(self, Name::new(b"m"), |_| ())
    }

    pub(super) fn acquire(&self, mutex: Handle, timeout: Timeout) -> Result<()> {
        self.turn();
        let me = || Ok(self.me(thread::current().identity()));
        if mutex::acquire_fast(self, mutex) { Ok(()) } else { mutex::acquire_slow(self, mutex, timeout, me) }
    }

    pub(super) fn release(&self, mutex: Handle) -> Result<()> {
        self.turn();
        if mutex::release_fast(self, mutex) { Ok(()) } else { mutex::release_slow(self, mutex) }
    }

    pub(super) fn delete_mutex(&self, mutex: Handle, by_force: bool) -> Result<()> {
        self.turn();
        mutex::delete(self, mutex, by_force)
    }

    /// The calling task ends as the owner of this mutex.
    fn abandon(&self, mutex: Handle) {
        self.turn();
        mutex::abandon(self, mutex.index(), self.object::<MutexSlot>(mutex).unwrap());
    }

    /// Uses the data under the mutex as a program does.
    pub(super) fn count_up(&self) {
        let data = &self.0.data;
        data.store(data.load(Relaxed) + 1, Relaxed);
    }

    pub(super) fn counted(&self) -> u32 {
        self.0.data.load(Relaxed)
    }

    /// Nobody has or wants the mutex, and it works.
    pub(super) fn assert_unused(&self, mutex: Handle) {
        let info = mutex::inquire(self, mutex).unwrap();
        assert_eq!((info.owner, info.depth, info.waiters), (None, 0, 0));
        self.assert_deserted(mutex);
        assert_eq!(self.acquire(mutex, Timeout::NONE), Ok(()));
        assert_eq!(self.release(mutex), Ok(()));
        assert_eq!(self.delete_mutex(mutex, false), Ok(()));
    }
}

/// One owner at a time, who sees what the last one did.
// Catches: Relaxed in `acquire_fast`, `release_fast`, `try_take` or `queue_up`; a release that ignores waiters.
#[test]
fn exclusion() {
    check_both(&[1, 1], 1, |w| {
        let mutex = w.mutex().unwrap();
        let other = w.spawn_task(2, move |w| {
            w.acquire(mutex, FOREVER).unwrap();
            w.count_up();
            w.release(mutex).unwrap();
        });
        w.become_task(1);
        w.acquire(mutex, FOREVER).unwrap();
        w.count_up();
        w.release(mutex).unwrap();
        other.join().unwrap();
        assert_eq!(w.counted(), 2);
        w.assert_unused(mutex);
    });
}

/// A release at depth one hands over to the waiter, wherever it is on its way; the releaser does not get it back before.
// Catches: a waiter that queues without marking the word; a release that ignores waiters.
#[test]
fn hand_over() {
    check_both(&[1, 1], 1, |w| {
        let mutex = w.mutex().unwrap();
        w.become_task(1);
        w.acquire(mutex, FOREVER).unwrap();
        w.acquire(mutex, FOREVER).unwrap();
        let waiter = w.spawn_task(2, move |w| {
            w.acquire(mutex, FOREVER).unwrap();
            assert_eq!(w.counted(), 1);
            w.release(mutex).unwrap();
        });
        w.release(mutex).unwrap();
        w.count_up();
        w.release(mutex).unwrap();
        waiter.join().unwrap();
        w.assert_unused(mutex);
    });
}

/// A waiter whose date passes, or that is unblocked, has the mutex or has not; the owner's release finds the right one.
// Catches: Relaxed in `acquire_fast`, `release_fast`, `try_take` or `queue_up`.
#[test]
fn release_against_the_date_and_unblock() {
    check_both(&[1, 1], 1, |w| {
        let mutex = w.mutex().unwrap();
        w.become_task(1);
        w.acquire(mutex, FOREVER).unwrap();
        let task = w.task(2);
        let waiter = w.spawn_task(2, move |w| {
            let waited = w.acquire(mutex, limited());
            if waited.is_ok() {
                w.release(mutex).unwrap();
            }
            waited
        });
        w.interrupt(task, 0, INTERRUPTED).unwrap();
        w.release(mutex).unwrap();
        assert!(matches!(waiter.join().unwrap(), Ok(()) | Err(Error::TimedOut | Error::Interrupted)));
        w.assert_unused(mutex);
    });
}

/// A request to end reaches a thread that is about to wait for a mutex that nobody will release.
// Catches: an interruption that is lost before the kernel's wait; a wait that ends without a look at its outcome.
#[test]
fn end_request_against_acquire() {
    check_both(&[1, 1], 1, |w| {
        let mutex = w.mutex().unwrap();
        w.become_task(1);
        w.acquire(mutex, FOREVER).unwrap();
        let task = w.task(2);
        let waiter = w.spawn_task(2, move |w| w.acquire(mutex, FOREVER));
        w.interrupt(task, END, CANCELLED).unwrap();
        assert_eq!(waiter.join().unwrap(), Err(Error::Cancelled));
        w.release(mutex).unwrap();
        w.assert_unused(mutex);
    });
}

/// An owner that ends tells the next one, once.
// Catches: the orphan's mark set after the word is given up; a mark that is not cleared; Relaxed in `hand_over`.
#[test]
fn end_of_the_owner() {
    check_both(&[1, 1], 1, |w| {
        let mutex = w.mutex().unwrap();
        let owner = w.spawn_task(1, move |w| {
            w.acquire(mutex, FOREVER).unwrap();
            w.count_up();
            w.abandon(mutex);
        });
        w.become_task(2);
        match w.acquire(mutex, FOREVER) {
            Ok(()) => assert_eq!(w.counted(), 0),
            Err(error) => {
                assert_eq!(error, Error::OwnerDead);
                assert_eq!(w.counted(), 1);
            }
        }
        let early = w.counted() == 0;
        w.release(mutex).unwrap();
        owner.join().unwrap();
        assert_eq!(w.acquire(mutex, FOREVER), if early { Err(Error::OwnerDead) } else { Ok(()) });
        w.release(mutex).unwrap();
        w.assert_unused(mutex);
    });
}

/// A mutex that is in use is not deleted; a task that comes too late finds it gone.
#[test]
fn delete_against_acquire() {
    check_both(&[1], 1, |w| {
        let mutex = w.mutex().unwrap();
        let user = w.spawn_task(1, move |w| {
            let acquired = w.acquire(mutex, FOREVER);
            if acquired.is_ok() {
                assert_eq!(w.release(mutex), Ok(()));
            }
            acquired
        });
        let deleted = w.delete_mutex(mutex, false);
        let used = user.join().unwrap();
        assert!(matches!((deleted, used), (Ok(()), Ok(()) | Err(Error::Invalid)) | (Err(Error::Busy), Ok(()))));
        if deleted.is_err() {
            w.become_task(1);
            w.assert_unused(mutex);
        }
    });
}

/// Deleted by force under its owner and a waiter: both find out, and the slot has another life only when neither has to do with
/// it any more.
// Catches: a slot that is used again although somebody is on its way into the kernel, or still owns it; waiters that are
// not told; a wait that ends without a look at its outcome.
#[test]
fn delete_by_force_and_create_again() {
    check_both(&[1, 1], 1, |w| {
        let mutex = w.mutex().unwrap();
        w.become_task(1);
        w.acquire(mutex, FOREVER).unwrap();
        let waiter = w.spawn_task(2, move |w| w.acquire(mutex, FOREVER));
        // By somebody else, who is no task: the owner itself would let go at once.
        thread::set_identity(0);
        w.delete_mutex(mutex, true).unwrap();
        thread::set_identity(1);
        // The owner has not let go.
        assert_eq!(w.mutex(), Err(Error::NoMemory));
        assert_eq!(w.release(mutex), Err(Error::Invalid));
        let next = w.mutex();
        if let Ok(next) = next {
            // Nobody else knows it.
            assert_eq!(w.acquire(next, Timeout::NONE), Ok(()));
        }
        assert!(matches!(waiter.join().unwrap(), Err(Error::Removed | Error::Invalid)));
        let next = match next {
            Ok(next) => {
                w.release(next).unwrap();
                next
            }
            Err(error) => {
                assert_eq!(error, Error::NoMemory);
                w.mutex().unwrap()
            }
        };
        w.assert_unused(next);
    });
}

/// Of two tasks that want what the other one has one is told so.
// Catches: an edge entered after the lock.
#[test]
fn cycle_in_queues() {
    check(|| {
        let w = World::new(&[1, 1], 2);
        w.header().unwrap().protocol.store(IN_QUEUES, Relaxed);
        let [a, b] = ["a", "b"].map(|name| mutex::create(&w, Name::new(name.as_bytes()), |_| ()).unwrap());
        let cross = move |w: &World, first, second| {
            let crossed = w.acquire(second, FOREVER);
            if crossed.is_ok() {
                w.release(second).unwrap();
            }
            w.release(first).unwrap();
            crossed
        };
        w.become_task(1);
        w.acquire(a, FOREVER).unwrap();
        let (tell, told) = loom::sync::mpsc::channel();
        let other = w.spawn_task(2, move |w| {
            w.acquire(b, FOREVER).unwrap();
            tell.send(()).unwrap();
            cross(w, b, a)
        });
        told.recv().unwrap();
        let mine = cross(&w, a, b);
        let others = other.join().unwrap();
        assert!(matches!((mine, others), (Ok(()), Ok(()) | Err(Error::Deadlock)) | (Err(Error::Deadlock), Ok(()))));
        w.assert_unused(a);
        w.assert_unused(b);
    });
}

/// A waiter that is suspended steps back, and comes again when it is resumed.
// Catches: a waiter that keeps what it is handed after it was told to leave.
#[test]
fn suspension_of_a_waiter() {
    check_both(&[1, 1], 1, |w| {
        let mutex = w.mutex().unwrap();
        w.become_task(1);
        w.acquire(mutex, FOREVER).unwrap();
        let waiter = w.spawn_task(2, move |w| {
            w.acquire(mutex, FOREVER).unwrap();
            w.release(mutex).unwrap();
        });
        let slot = w.me(2).slot;
        w.turn();
        slot.suspends.store(1, Release);
        w.leave_mutex(2, slot);
        w.release(mutex).unwrap();
        slot.suspends.store(0, Release);
        slot.nudge(&w);
        waiter.join().unwrap();
        w.assert_unused(mutex);
    });
}
