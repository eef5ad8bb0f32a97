//! Futexes: sleeping on a 32-bit word, with absolute monotonic deadlines, and the kernel's PI locks.
//!
//! Every sleep may end early for no reason; callers look at the word again. Under loom the kernel side is modelled in
//! `model`, with a deadline that fires at once: the model checker decides when "at once" is.
//!
//! # Safety
//!
//! Unsafe code here is the `futex` system call. Words are passed by reference where the kernel reads or writes them; a
//! wake-up takes only an address, which the kernel uses as a key and does not dereference for private futexes, and
//! answers `EFAULT` for if it is shared and gone.

#![allow(unsafe_code)]

#[cfg(loom)]
pub use model::*;

#[cfg(not(loom))]
pub use system::*;

/// The deadline passed.
#[derive(Debug, PartialEq, Eq)]
pub struct TimedOut;

/// Whether a futex word is used by one process or by several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Within this process; cheaper.
    Private,
    /// Between processes that map the same memory.
    Shared,
}

/// In a PI word: the owner's thread id.
pub const TID_MASK: u32 = 0x3fff_ffff;
/// In a PI word: the owner died holding it.
pub const OWNER_DIED: u32 = 0x4000_0000;
/// In a PI word: the kernel has waiters.
pub const WAITERS: u32 = 0x8000_0000;

#[cfg(not(loom))]
mod system {
    use super::{Scope, TimedOut};
    use crate::Errno;
    use crate::atomic::AtomicU32;
    use crate::errno::ret;
    use crate::time::Deadline;

    impl Scope {
        pub(crate) fn flag(self) -> libc::c_int {
            match self {
                Scope::Private => libc::FUTEX_PRIVATE_FLAG,
                Scope::Shared => 0,
            }
        }
    }

    fn pointer(ts: &Option<libc::timespec>) -> *const libc::timespec {
        ts.as_ref().map_or(core::ptr::null(), |ts| ts)
    }

    /// Sleeps while `word` is `expected`, until woken or until the deadline. Returns at once if the word differs;
    /// signals and late wake-ups end it early.
    pub fn wait(word: &AtomicU32, expected: u32, deadline: Deadline, scope: Scope) -> Result<(), TimedOut> {
        let timeout = deadline.timespec();
        let op = libc::FUTEX_WAIT_BITSET | scope.flag();
        // SAFETY: the word and the timespec outlive the call; a bitset wait takes an absolute monotonic date.
        let slept = ret(unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                op,
                expected,
                pointer(&timeout),
                core::ptr::null::<u32>(),
                libc::FUTEX_BITSET_MATCH_ANY,
            )
        });
        if slept == Err(Errno::TIMEDOUT) { Err(TimedOut) } else { Ok(()) }
    }

    /// Wakes up to `count` sleepers on the word at `address`, which need not be in use any more.
    #[expect(clippy::not_unsafe_ptr_arg_deref, reason = "the kernel uses the address as a key")]
    pub fn wake(address: *const AtomicU32, count: u32, scope: Scope) {
        let count = count.min(i32::MAX as u32);
        // SAFETY: FUTEX_WAKE takes the address as a key and does not access the memory.
        unsafe { libc::syscall(libc::SYS_futex, address, libc::FUTEX_WAKE | scope.flag(), count) };
    }

    /// Takes a PI word that is not free, waiting without limit for its owner, who inherits the caller's priority.
    pub fn lock_pi(word: &AtomicU32, scope: Scope) -> Result<(), Errno> {
        // SAFETY: the word outlives the call.
        ret(unsafe {
            let none = core::ptr::null::<libc::timespec>();
            libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_LOCK_PI | scope.flag(), 0, none)
        })
        .map(|_| ())
    }

    /// Gives up a PI word that has waiters.
    pub fn unlock_pi(word: &AtomicU32, scope: Scope) -> Result<(), Errno> {
        // SAFETY: the word outlives the call.
        ret(unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_UNLOCK_PI | scope.flag()) }).map(|_| ())
    }
}

/// The kernel side for the model checker: per word one lock and one list of sleepers.
#[cfg(loom)]
mod model {
    use super::{OWNER_DIED, Scope, TID_MASK, TimedOut, WAITERS};
    use crate::Errno;
    use crate::atomic::{AtomicU32, Ordering::*, Zeroed};
    use crate::time::Deadline;
    use core::cell::Cell;
    use loom::sync::{Condvar, Mutex, MutexGuard};

    #[derive(Default)]
    struct Sleepers {
        /// Who sleeps on which word, in order of arrival.
        queue: Vec<(usize, u32)>,
        tickets: u32,
    }

    #[derive(Default)]
    struct Bucket {
        sleepers: Mutex<Sleepers>,
        wakes: Condvar,
    }

    /// Words beyond this many share.
    const BUCKETS: usize = 8;

    struct Kernel {
        buckets: [Bucket; BUCKETS],
        /// The words seen so far. Addresses differ between executions, the order in which words are used does not.
        words: std::sync::Mutex<Vec<usize>>,
    }

    loom::lazy_static! {
        static ref KERNEL: Kernel = Kernel { buckets: Default::default(), words: Default::default() };
    }

    fn bucket(address: usize) -> &'static Bucket {
        let mut words = KERNEL.words.lock().unwrap();
        let number = words.iter().position(|&word| word == address).unwrap_or_else(|| {
            words.push(address);
            words.len() - 1
        });
        &KERNEL.buckets[number % BUCKETS]
    }

    impl Bucket {
        fn sleep<'a>(&'a self, mut held: MutexGuard<'a, Sleepers>, address: usize) -> MutexGuard<'a, Sleepers> {
            held.tickets += 1;
            let me = (address, held.tickets);
            held.queue.push(me);
            while held.queue.contains(&me) {
                held = self.wakes.wait(held).unwrap();
            }
            held
        }

        fn wake(&self, held: &mut Sleepers, address: usize, count: u32) {
            let before = held.queue.len();
            for _ in 0..count {
                match held.queue.iter().position(|sleeper| sleeper.0 == address) {
                    Some(first) => held.queue.remove(first),
                    None => break,
                };
            }
            if held.queue.len() < before {
                self.wakes.notify_all();
            }
        }
    }

    fn key(word: &AtomicU32) -> usize {
        word as *const AtomicU32 as usize
    }

    /// Sleeps as the system's does. A deadline is over at once: loom tries all moments at which that may be.
    pub fn wait(word: &AtomicU32, expected: u32, deadline: Deadline, _: Scope) -> Result<(), TimedOut> {
        let bucket = bucket(key(word));
        let held = bucket.sleepers.lock().unwrap();
        if word.load(Relaxed) != expected {
            return Ok(());
        }
        if deadline != Deadline::NEVER {
            return Err(TimedOut);
        }
        drop(bucket.sleep(held, key(word)));
        Ok(())
    }

    /// Wakes up to `count` sleepers, first come, first served.
    pub fn wake(address: *const AtomicU32, count: u32, _: Scope) {
        let bucket = bucket(address as usize);
        bucket.wake(&mut bucket.sleepers.lock().unwrap(), address as usize, count);
    }

    /// Takes a PI word. Whoever waits may be overtaken, other than with the system's.
    pub fn lock_pi(word: &AtomicU32, _: Scope) -> Result<(), Errno> {
        let me = crate::thread::tid();
        let bucket = bucket(key(word));
        let mut held = bucket.sleepers.lock().unwrap();
        loop {
            let seen = word.load(Relaxed);
            if seen & TID_MASK == 0 {
                let more = held.queue.iter().any(|sleeper| sleeper.0 == key(word));
                let next = me | (seen & OWNER_DIED) | if more { WAITERS } else { 0 };
                if word.compare_exchange(seen, next, Acquire, Relaxed).is_ok() {
                    return Ok(());
                }
            } else if word.compare_exchange(seen, seen | WAITERS, Relaxed, Relaxed).is_ok() {
                held = bucket.sleep(held, key(word));
            }
        }
    }

    /// Gives up a PI word and wakes one sleeper.
    pub fn unlock_pi(word: &AtomicU32, _: Scope) -> Result<(), Errno> {
        let bucket = bucket(key(word));
        let mut held = bucket.sleepers.lock().unwrap();
        word.store(0, Release);
        bucket.wake(&mut held, key(word), 1);
        Ok(())
    }

    std::thread_local! {
        static CLOSED: Cell<bool> = const { Cell::new(false) };
    }

    /// Whether threads come to a lock only while it is free, in the models that this thread runs from now on: models of
    /// what is built on locks are spared the ways to contend for one.
    pub fn close_gates(closed: bool) {
        CLOSED.set(closed);
    }

    /// Stands in front of a lock.
    pub struct Gate(Mutex<()>);

    /// The way back through a gate.
    pub struct Passage<'a>(#[allow(dead_code)] Option<MutexGuard<'a, ()>>);

    impl Gate {
        /// Waits until nobody is inside, if gates are closed.
        pub fn enter(&self) -> Passage<'_> {
            Passage(CLOSED.get().then(|| self.0.lock().unwrap()))
        }
    }

    // SAFETY: models share it between loom's threads only.
    unsafe impl Zeroed for Gate {
        fn zeroed() -> Gate {
            Gate(Mutex::new(()))
        }
    }
}
