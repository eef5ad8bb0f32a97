//! Deletion by force, as the 2.x interface has it.

use std::collections::BTreeSet;

use alchemy::{Error, Mutex, MutexRef, Task, Timeout, task};

use super::kit::{LONG, Watchdog, as_task, value};
use super::worker::*;

/// The number of the slot in a handle.
fn slot(mutex: MutexRef) -> u32 {
    mutex.handle().to_raw() as u32
}

#[test]
fn a_deletion_by_force_tells_the_waiters() {
    let _dog = Watchdog::new();
    let mutex = Mutex::create("mutex-forced").unwrap().leak();
    let (holder, a, b) = (Worker::start(0), Worker::start(0), Worker::start(7));
    holder.lock(mutex, Timeout::INFINITE).unwrap();
    holder.lock(mutex, Timeout::INFINITE).unwrap();
    let waits = [a.queue_up(mutex, Timeout::INFINITE), b.queue_up(mutex, LONG)];
    mutex.delete_by_force().unwrap();
    assert_eq!(waits.map(|waits| waits.recv().unwrap()), [Err(Error::Removed); 2]);
    assert_stale(mutex);
    let again = Mutex::create("mutex-forced").unwrap();
    a.lock(*again, Timeout::INFINITE).unwrap();
    // What the owner drops hits nobody.
    holder.unlock();
    assert_eq!(owner(*again), Some(a.task()));
    assert_eq!(holder.ask(move |_| mutex.release()), Err(Error::Invalid));
    holder.unlock();
    assert_eq!((owner(*again), depth(*again)), (Some(a.task()), 1));
    a.unlock();
    end_all([holder, a, b]);
    assert_free(*again);
    assert_stale(mutex);
}

/// Not even if the slot is its own again by then.
#[test]
fn guards_of_a_mutex_deleted_by_force_spare_its_successor() {
    let _dog = Watchdog::new();
    let holder = Worker::start(0);
    holder.ask(|held| {
        let old = Mutex::new().unwrap().leak();
        let guards = [(); 3].map(|()| old.lock(Timeout::INFINITE).unwrap());
        old.delete_by_force().unwrap();
        let [first, others @ ..] = guards;
        drop(first);
        assert_eq!(old.release(), Err(Error::Invalid));
        let mut successors = Vec::new();
        while successors.last().is_none_or(|last: &Mutex| slot(**last) != slot(old)) {
            assert!(successors.len() < 10_000, "the slot does not come again");
            successors.push(Mutex::new().unwrap());
        }
        let last = successors.pop().unwrap();
        let successor = *last;
        held.push(successor.lock(Timeout::INFINITE).unwrap());
        drop(others);
        assert_eq!((owner(successor), depth(successor)), (task::current(), 1));
        assert_eq!(old.release(), Err(Error::Invalid));
        held.pop();
        assert_eq!(last.delete(), Ok(()));
    });
    holder.end();
}

/// Who deletes what it owns has released it, whether or not it says so.
#[test]
fn slots_of_owners_that_delete_by_force_come_again() {
    let _dog = Watchdog::new();
    // Far more than other tests of this file leave behind in the free list.
    const MANY: usize = 8000;
    let used = as_task(|| {
        let mut slots = BTreeSet::new();
        for round in 0..MANY {
            let mutex = Mutex::new().unwrap().leak();
            slots.insert(slot(mutex));
            let guard = mutex.lock(Timeout::INFINITE).unwrap();
            mutex.delete_by_force().unwrap();
            if round % 2 == 0 { std::mem::forget(guard) } else { drop(guard) }
        }
        slots.len()
    });
    assert!(used < MANY * 3 / 8, "{used} slots for one mutex at a time");
}

/// The slot is nobody else's until the owner has let go; creations look further, however many of them there are, on however
/// small a stack.
#[test]
fn slots_of_mutexes_deleted_under_their_owner_wait_for_it() {
    let _dog = Watchdog::new();
    const MANY: usize = 1500;
    let holder = Worker::start(0);
    let mut left = BTreeSet::new();
    for _ in 0..MANY {
        let mutex = Mutex::new().unwrap().leak();
        assert!(left.insert(slot(mutex)), "a slot in use has come again");
        holder.lock(mutex, Timeout::INFINITE).unwrap();
        mutex.delete_by_force().unwrap();
    }
    let create = || Mutex::new().map(|mutex| slot(*mutex)).unwrap();
    let spawn = || Task::builder().stack_size(alchemy::task::MIN_STACK).spawn(create).unwrap();
    for _ in 0..10 {
        assert!(!left.contains(&value(spawn())));
    }
    // Half of them one by one, the others by dying.
    (0..MANY / 2).for_each(|_| holder.unlock());
    holder.die();
    let mutexes: Vec<_> = (0..MANY).map(|_| Mutex::new().unwrap()).collect();
    assert!(mutexes.iter().any(|mutex| left.contains(&slot(**mutex))), "the slots do not come again");
}
