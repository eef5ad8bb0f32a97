//! The object lock: short sections, priority inheritance, and a holder's death is told by the kernel.
//!
//! The word is 0 or the owner's thread id, with the kernel's `WAITERS` and `OWNER_DIED` bits. It is valid when zero,
//! so it needs no set-up in a segment, and it holds no pointer.
//!
//! Before its compare-and-swap the locker announces the word in its robust-list head (`list_op_pending`), and withdraws
//! it after the unlock. If the thread dies in between, the kernel finds the announcement, sees whether the word is really
//! the dead thread's, and sets `OWNER_DIED` before the thread id can be reused; the next holder is told.

use crate::atomic::{AtomicU32, Ordering::*};
use crate::futex::{self, OWNER_DIED, Scope};
use crate::robust::Announcement;
#[cfg(not(loom))]
use crate::section::Section;
use crate::thread;
use crate::{Errno, report, zeroed_struct};

#[cfg(not(loom))]
zeroed_struct! {
    /// A priority-inheriting lock, four bytes, usable in memory that processes share.
    pub struct PiLock {
        word: AtomicU32,
    }
}

#[cfg(loom)]
zeroed_struct! {
    /// The lock, with the model's way to leave contention for it out.
    pub struct PiLock {
        word: AtomicU32,
        gate: futex::Gate,
    }
}

/// How a lock was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// The last holder left it properly.
    Clean,
    /// The last holder died inside; what the lock protects may be half-changed. Told once.
    Abandoned,
}

/// The lock, held. Dropping it unlocks.
#[must_use]
pub struct Held<'a> {
    lock: &'a PiLock,
    announcement: Announcement,
    tid: u32,
    scope: Scope,
    /// Left after the unlock.
    #[cfg(loom)]
    _gate: futex::Passage<'a>,
}

impl PiLock {
    /// A free lock, for a static. In a segment zeroed memory is one.
    #[cfg(not(loom))]
    pub const fn new() -> PiLock {
        PiLock { word: AtomicU32::new(0) }
    }

    /// Takes the lock. The caller must not hold another one: a thread has room for one announcement.
    #[inline]
    pub fn lock(&self, scope: Scope) -> (Held<'_>, Entry) {
        #[cfg(loom)]
        let _gate = self.gate.enter();
        let me = thread::current();
        let announcement = me.list().announce_word((&raw const self.word).addr());
        // Acquire pairs with the Release in `drop`, or with the kernel's hand-over.
        let entry = match self.word.compare_exchange(0, me.tid(), Acquire, Relaxed) {
            Ok(_) => Entry::Clean,
            Err(_) => self.lock_slow(me.tid(), scope),
        };
        (
            Held {
                lock: self,
                announcement,
                tid: me.tid(),
                scope,
                #[cfg(loom)]
                _gate,
            },
            entry,
        )
    }

    #[cold]
    fn lock_slow(&self, tid: u32, scope: Scope) -> Entry {
        loop {
            match futex::lock_pi(&self.word, scope) {
                Ok(()) => break,
                // The owner is exiting; the kernel wants us to come again.
                Err(Errno::AGAIN) | Err(Errno::INTR) => {
                    // It may be free meanwhile. Acquire as in `lock`.
                    if self.word.compare_exchange(0, tid, Acquire, Relaxed).is_ok() {
                        return Entry::Clean;
                    }
                }
                // ESRCH, EPERM, EINVAL, EDEADLK: the word holds what no locker ever wrote.
                Err(errno) => report::fatal(&format!("an object lock is corrupt ({errno:?}): memory was overwritten")),
            }
        }
        // The sanitizer does not see that the kernel handed the lock over. Acquire pairs with the Release in `drop`.
        let word = self.word.load(if cfg!(alchemy_tsan) { Acquire } else { Relaxed });
        if word & OWNER_DIED == 0 {
            return Entry::Clean;
        }
        // Only the owner clears the bit; the kernel may set WAITERS meanwhile, hence no plain store.
        self.word.fetch_and(!OWNER_DIED, Relaxed);
        Entry::Abandoned
    }

    /// Makes the lock free, whoever held it: for the only thread of a forked child, on its own copy of the memory.
    pub fn reset(&self) {
        self.word.store(0, Relaxed);
    }
}

#[cfg(not(loom))]
impl Default for PiLock {
    fn default() -> Self {
        PiLock::new()
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        let word = &self.lock.word;
        // Release pairs with the Acquire in `lock`.
        if word.compare_exchange(self.tid, 0, Release, Relaxed).is_err() {
            unlock_slow(word, self.scope);
        }
        self.announcement.withdraw();
    }
}

/// A section of the caller's own with a lock that was free. End it by [`Attempt::leave_with`].
///
/// It costs little: what is not inlined is called last, with what remains to be done, so that nothing has to be kept for its sake.
/// A locked instruction waits for all stores before it, those that save registers included.
#[cfg(not(loom))]
#[must_use]
pub struct Attempt<'a> {
    lock: &'a PiLock,
    announcement: Announcement,
    tid: u32,
}

#[cfg(not(loom))]
impl PiLock {
    /// Takes the lock if it is free and was left properly, in a section; `None` if not, or if the thread does not know itself yet.
    #[inline(always)]
    pub fn attempt(&self) -> Option<Attempt<'_>> {
        let local = crate::local::local();
        let tid = local.tid.get();
        if tid == 0 {
            return None;
        }
        let section = Section::enter();
        let announcement = local.list.get().announce_word((&raw const self.word).addr());
        // Acquire as in `lock`.
        if self.word.compare_exchange(0, tid, Acquire, Relaxed).is_err() {
            return give_up(announcement, section);
        }
        core::mem::forget(section);
        Some(Attempt { lock: self, announcement, tid })
    }
}

#[cfg(not(loom))]
impl Attempt<'_> {
    /// Unlocks, leaves the section, and returns `result`.
    #[inline(always)]
    pub fn leave_with<R>(self, scope: Scope, result: R) -> R {
        let Attempt { lock, announcement, tid } = self;
        // Release as in `Held::drop`.
        if lock.word.compare_exchange(tid, 0, Release, Relaxed).is_err() {
            return leave_slow(lock, announcement, scope, result);
        }
        announcement.withdraw();
        Section::resume().leave_with(result)
    }
}

#[cfg(not(loom))]
#[cold]
#[inline(never)]
fn give_up<'a>(announcement: Announcement, _section: Section) -> Option<Attempt<'a>> {
    announcement.withdraw();
    None
}

#[cfg(not(loom))]
#[cold]
#[inline(never)]
fn leave_slow<R>(lock: &PiLock, announcement: Announcement, scope: Scope, result: R) -> R {
    unlock_slow(&lock.word, scope);
    announcement.withdraw();
    Section::resume().leave_with(result)
}

#[cold]
fn unlock_slow(word: &AtomicU32, scope: Scope) {
    if cfg!(alchemy_tsan) {
        // What the kernel does for us, told to the sanitizer. Release pairs with the load in `lock_slow`.
        word.fetch_or(0, Release);
    }
    if let Err(errno) = futex::unlock_pi(word, scope) {
        report::fatal(&format!("an object lock is corrupt ({errno:?}): memory was overwritten"));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::atomic::Zeroed;
    use std::cell::Cell;
    use std::sync::Arc;
    use std::thread;

    struct Shared {
        lock: PiLock,
        value: Cell<u64>,
    }

    // SAFETY: `value` is touched under `lock` only.
    #[allow(unsafe_code)]
    unsafe impl Sync for Shared {}

    #[test]
    fn excludes() {
        let shared = Arc::new(Shared { lock: PiLock::zeroed(), value: Cell::new(0) });
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    for _ in 0..50_000 {
                        let (_held, entry) = shared.lock.lock(Scope::Private);
                        assert_eq!(entry, Entry::Clean);
                        shared.value.set(shared.value.get() + 1);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        let (_held, _) = shared.lock.lock(Scope::Private);
        assert_eq!(shared.value.get(), 200_000);
    }

    #[test]
    fn death_of_the_holder_is_told_once() {
        for waiters in [false, true] {
            let lock = Arc::new(PiLock::zeroed());
            let (taken, wait_taken) = std::sync::mpsc::channel();
            let (go, wait_go) = std::sync::mpsc::channel::<()>();
            let dying = lock.clone();
            let holder = thread::spawn(move || {
                // Never unlocked: the thread ends with the lock held and announced.
                std::mem::forget(dying.lock(Scope::Private));
                taken.send(()).unwrap();
                wait_go.recv().unwrap();
            });
            wait_taken.recv().unwrap();
            let next = lock.clone();
            let locker = move || next.lock(Scope::Private).1;
            let entry = if waiters {
                let locker = thread::spawn(locker);
                // The kernel sets WAITERS when the locker sleeps.
                while lock.word.load(Relaxed) & futex::WAITERS == 0 {
                    thread::yield_now();
                }
                go.send(()).unwrap();
                locker.join().unwrap()
            } else {
                go.send(()).unwrap();
                holder.join().unwrap();
                locker()
            };
            assert_eq!(entry, Entry::Abandoned, "waiters: {waiters}");
            assert_eq!(lock.lock(Scope::Private).1, Entry::Clean);
        }
    }
}
