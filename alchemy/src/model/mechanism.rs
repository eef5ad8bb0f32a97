//! Locks and arenas. Here threads contend for locks in all ways.

use posix_backend::arena::{Arena, ArenaHeader, Array};
use posix_backend::atomic::Zeroed;
use posix_backend::pi_lock::{Entry, PiLock};

use super::*;

struct Counted {
    lock: PiLock,
    /// Under the lock.
    value: AtomicU32,
}

impl Counted {
    fn new() -> Arc<Counted> {
        futex::wake(core::ptr::null(), 0, Scope::Private);
        Arc::new(Counted { lock: PiLock::zeroed(), value: AtomicU32::new(0) })
    }

    /// Two accesses that must not be torn apart, and must see those of the last holder.
    fn count(&self) {
        let (_held, entry) = self.lock.lock(Scope::Private);
        assert_eq!(entry, Entry::Clean);
        self.value.store(self.value.load(Relaxed) + 1, Relaxed);
    }

    fn spawn(self: &Arc<Counted>, sections: usize) -> loom::thread::JoinHandle<()> {
        let counted = self.clone();
        loom::thread::spawn(move || (0..sections).for_each(|_| counted.count()))
    }
}

/// The lock excludes, gets free, and shows the next holder what the last one did.
// Catches: unlock by a store; a locker that ignores sleepers; Relaxed in lock or unlock.
#[test]
fn lock_of_three() {
    check_contended(|| {
        let counted = Counted::new();
        let others = [counted.spawn(1), counted.spawn(1)];
        counted.count();
        for other in others {
            other.join().unwrap();
        }
        counted.count();
        assert_eq!(counted.value.load(Relaxed), 4);
    });
}

/// So it does over and over.
// Catches: unlock by a store; Relaxed in lock or unlock.
#[test]
fn lock_again_and_again() {
    check_contended(|| {
        let counted = Counted::new();
        let other = counted.spawn(2);
        counted.count();
        counted.count();
        other.join().unwrap();
        assert_eq!(counted.value.load(Relaxed), 4);
    });
}

posix_backend::zeroed_struct! {
    struct Thing {
        free: AtomicU32,
        owners: AtomicU32,
    }
}

impl posix_backend::arena::Slot for Thing {
    fn free_link(&self) -> &AtomicU32 {
        &self.free
    }
}

struct Things {
    header: ArenaHeader,
    arena: Arena<Thing>,
}

impl Things {
    fn new(slots: u32) -> Arc<Things> {
        futex::wake(core::ptr::null(), 0, Scope::Private);
        Arc::new(Things { header: ArenaHeader::zeroed(), arena: Arena::in_memory(slots) })
    }

    fn take(&self) -> Option<u32> {
        let index = self.arena.take(&self.header, Scope::Private, Array::grow).ok()?;
        let thing = self.arena.get(index).unwrap();
        // Relaxed, as all accesses to the slot: the arena's lock orders its owners.
        assert_eq!(thing.owners.load(Relaxed), 0, "handed out twice");
        thing.owners.store(1, Relaxed);
        Some(index)
    }

    fn give(&self, index: u32) {
        self.arena.get(index).unwrap().owners.store(0, Relaxed);
        self.arena.give(&self.header, index, Scope::Private);
    }
}

/// A slot has one owner at a time, and none is lost. There is one for each who wants one.
// Catches: taking, or giving, without the lock; an append to the tail of an empty list.
#[test]
fn take_and_give() {
    check_contended(|| {
        let things = Things::new(2);
        let other = things.clone();
        let other = loom::thread::spawn(move || {
            for _ in 0..2 {
                other.give(other.take().unwrap());
            }
        });
        let first = things.take().unwrap();
        things.give(first);
        let second = things.take().unwrap();
        other.join().unwrap();
        assert!(things.take().is_some_and(|third| third != second));
        assert_eq!(things.take(), None);
    });
}

/// The last slot goes to one of those who want it.
// Catches: taking without the lock.
#[test]
fn the_last_slot() {
    check_contended(|| {
        let things = Things::new(1);
        let others = [0, 1].map(|_| {
            let things = things.clone();
            loom::thread::spawn(move || things.take().is_some())
        });
        let taken = others.map(|other| other.join().unwrap());
        assert!(taken[0] != taken[1]);
    });
}
