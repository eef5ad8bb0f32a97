//! A lock for the program: a PI futex in the lower half of a 64-bit word, whose waiters can be told to give up.
//!
//! The lower half is 0 or the owner's thread id, with the kernel's [`WAITERS`] and [`OWNER_DIED`] bits; the upper half is the
//! layer's above, which changes the word with 64-bit operations only. What the kernel does to the lower half is as if it
//! did it to the whole word and kept the rest. Taking a free word and giving up one without waiters is a compare-and-swap of
//! the layer above; this module is the rest.
//!
//! The kernel goes on with `FUTEX_LOCK_PI` after every signal. So the call is made in a stub: when a request finds the thread at
//! or before the call, its handler moves the thread to the stub's exit; see [`crate::signal`].
//!
//! # Safety
//!
//! Unsafe code here is the `futex` system call, by itself and in the stub, with a word and a date that outlive it.

#![allow(unsafe_code)]

#[cfg(loom)]
pub use model::*;
#[cfg(not(loom))]
pub use system::*;

pub use crate::futex::{OWNER_DIED, TID_MASK, WAITERS};

#[cfg(not(loom))]
mod system {
    use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use super::stub;
    use crate::atomic::AtomicU64;
    use crate::errno::ret;
    use crate::time::Deadline;
    use crate::{Errno, Scope, section, signal};

    /// `FUTEX_LOCK_PI` by the wall clock only, where the kernel is older than the other form (Linux 5.14).
    static WALL_CLOCK: AtomicBool = AtomicBool::new(false);

    /// Where there is no stub, or it cannot work (the thread sanitizer holds signals back), a wait looks for requests this often.
    const SLICE: Option<u64> = if cfg!(alchemy_tsan) || !stub::EXISTS { Some(50_000_000) } else { None };

    fn lower_half(word: &AtomicU64) -> *const u32 {
        let halves: *const u32 = word.as_ptr().cast();
        if cfg!(target_endian = "big") { halves.wrapping_add(1) } else { halves }
    }

    /// Takes a word that is not free, waiting for its owner, who inherits the caller's priority, until the deadline.
    ///
    /// * `INTR`: a request is pending that the caller has not taken ([`section::take_pending`]), or came.
    /// * `TIMEDOUT`: the date passed. `DEADLK`: the owner waits, directly or not, for what the caller owns.
    /// * `SRCH`: the word names no thread. `AGAIN`: come again.
    pub fn lock(word: &AtomicU64, deadline: Deadline, scope: Scope) -> Result<(), Errno> {
        if !WALL_CLOCK.load(Relaxed) {
            match lock_by(Clock::Monotonic, word, deadline, scope) {
                Err(Errno(libc::ENOSYS)) => WALL_CLOCK.store(true, Relaxed),
                result => return result,
            }
        }
        lock_by(Clock::Wall, word, deadline, scope)
    }

    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(super) enum Clock {
        Monotonic,
        Wall,
    }

    pub(super) fn lock_by(clock: Clock, word: &AtomicU64, deadline: Deadline, scope: Scope) -> Result<(), Errno> {
        let op = if clock == Clock::Monotonic { libc::FUTEX_LOCK_PI2 } else { libc::FUTEX_LOCK_PI };
        loop {
            let slice = SLICE.map_or(deadline, |slice| deadline.min(Deadline::after(slice)));
            let timeout = if clock == Clock::Monotonic { slice.timespec() } else { slice.wall_clock_timespec() };
            let timeout = timeout.as_ref().map_or(core::ptr::null(), |timeout| timeout);
            let result = if section::is_pending() {
                Err(Errno::INTR)
            } else {
                // SAFETY: word and date outlive the call.
                unsafe { stub::lock(lower_half(word), op | scope.flag(), timeout, section::flags()) }
            };
            return match result {
                // A slice ended, or the wall clock was set forward.
                Err(Errno::TIMEDOUT) if !deadline.is_over() => continue,
                Ok(()) if cfg!(alchemy_tsan) => {
                    // The sanitizer does not see that the kernel handed the word over. Acquire pairs with the Release in `unlock`.
                    word.load(core::sync::atomic::Ordering::Acquire);
                    Ok(())
                }
                result => result,
            };
        }
    }

    /// Gives up a word that has waiters: the first of them owns it when this returns.
    pub fn unlock(word: &AtomicU64, scope: Scope) -> Result<(), Errno> {
        if cfg!(alchemy_tsan) {
            // Release pairs with the load in `lock`.
            word.fetch_or(0, core::sync::atomic::Ordering::Release);
        }
        // SAFETY: the word outlives the call.
        ret(unsafe { libc::syscall(libc::SYS_futex, lower_half(word), libc::FUTEX_UNLOCK_PI | scope.flag()) })
            .map(|_| ())
    }

    /// Runs `work`, in which [`lock`] is called, so that interruptions get through, whatever signals the program has blocked.
    pub fn interruptible<R>(work: impl FnOnce() -> R) -> R {
        signal::with_requests(work)
    }

    /// Makes a thread that waits in [`lock`], or is about to, return `INTR`.
    pub fn interrupt(tid: u32) {
        signal::request(tid);
    }

    /// Forgets the interruptions so far: the caller looks for their reasons now.
    pub fn take_interruptions() {
        section::take_pending();
    }
}

/// The system call with known bounds.
#[cfg(not(loom))]
pub(crate) mod stub {
    use crate::section::Flags;

    /// Whether this architecture has one.
    pub const EXISTS: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

    // `flags` are two bytes: is a request pending, is the thread in here. Between `begin` and `end` the second is set, or will be
    // by the next instruction, or has just been cleared. From `called` on the call has happened.
    #[cfg(target_arch = "x86_64")]
    core::arch::global_asm!(
        ".pushsection .text.alchemy_lock_pi, \"ax\", @progbits",
        ".hidden alchemy_lock_pi, alchemy_lock_pi_begin, alchemy_lock_pi_called, alchemy_lock_pi_out, alchemy_lock_pi_end",
        ".globl alchemy_lock_pi, alchemy_lock_pi_begin, alchemy_lock_pi_called, alchemy_lock_pi_out, alchemy_lock_pi_end",
        ".type alchemy_lock_pi, @function",
        "alchemy_lock_pi:",
        ".cfi_startproc",
        "mov r8, rcx",
        "mov r10, rdx",
        "xor edx, edx",
        "mov eax, {futex}",
        "alchemy_lock_pi_begin:",
        "mov byte ptr [r8 + 1], 1",
        "cmp byte ptr [r8], 0",
        "jne alchemy_lock_pi_out",
        "syscall",
        "alchemy_lock_pi_called:",
        "mov byte ptr [r8 + 1], 0",
        "ret",
        "alchemy_lock_pi_out:",
        "mov rax, -{eintr}",
        "mov byte ptr [r8 + 1], 0",
        "ret",
        "alchemy_lock_pi_end:",
        ".cfi_endproc",
        ".size alchemy_lock_pi, . - alchemy_lock_pi",
        ".popsection",
        futex = const libc::SYS_futex,
        eintr = const libc::EINTR,
    );

    #[cfg(target_arch = "aarch64")]
    core::arch::global_asm!(
        ".pushsection .text.alchemy_lock_pi, \"ax\", @progbits",
        ".hidden alchemy_lock_pi",
        ".hidden alchemy_lock_pi_begin",
        ".hidden alchemy_lock_pi_called",
        ".hidden alchemy_lock_pi_out",
        ".hidden alchemy_lock_pi_end",
        ".globl alchemy_lock_pi, alchemy_lock_pi_begin, alchemy_lock_pi_called, alchemy_lock_pi_out, alchemy_lock_pi_end",
        ".type alchemy_lock_pi, @function",
        "alchemy_lock_pi:",
        ".cfi_startproc",
        "mov x4, x3",
        "mov x3, x2",
        "mov x2, xzr",
        "mov x8, {futex}",
        "alchemy_lock_pi_begin:",
        "mov w9, 1",
        "strb w9, [x4, 1]",
        "ldrb w9, [x4]",
        "cbnz w9, alchemy_lock_pi_out",
        "svc 0",
        "alchemy_lock_pi_called:",
        "strb wzr, [x4, 1]",
        "ret",
        "alchemy_lock_pi_out:",
        "mov x0, -{eintr}",
        "strb wzr, [x4, 1]",
        "ret",
        "alchemy_lock_pi_end:",
        ".cfi_endproc",
        ".size alchemy_lock_pi, . - alchemy_lock_pi",
        ".popsection",
        futex = const libc::SYS_futex,
        eintr = const libc::EINTR,
    );

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    mod symbols {
        use super::Flags;

        unsafe extern "C" {
            pub fn alchemy_lock_pi(
                word: *const u32,
                op: libc::c_int,
                timeout: *const libc::timespec,
                flags: *const Flags,
            ) -> isize;
            pub static alchemy_lock_pi_begin: u8;
            pub static alchemy_lock_pi_called: u8;
            pub static alchemy_lock_pi_out: u8;
            pub static alchemy_lock_pi_end: u8;
        }
    }

    /// The call. `INTR` if a request came before it was over.
    ///
    /// # Safety
    ///
    /// `word`, `timeout` (or null) and `flags` are valid during the call.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub unsafe fn lock(
        word: *const u32,
        op: libc::c_int,
        timeout: *const libc::timespec,
        flags: *const Flags,
    ) -> Result<(), crate::Errno> {
        // SAFETY: the caller's contract.
        match unsafe { symbols::alchemy_lock_pi(word, op, timeout, flags) } {
            0 => Ok(()),
            negative => Err(crate::Errno(-negative as i32)),
        }
    }

    /// As the other; requests do not end it.
    ///
    /// # Safety
    ///
    /// `word` and `timeout` (or null) are valid during the call.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub unsafe fn lock(
        word: *const u32,
        op: libc::c_int,
        timeout: *const libc::timespec,
        _: *const Flags,
    ) -> Result<(), crate::Errno> {
        // SAFETY: the caller's contract.
        crate::errno::ret(unsafe { libc::syscall(libc::SYS_futex, word, op, 0, timeout) }).map(|_| ())
    }

    /// For a thread at `pc`: where the stub ends without the call, if the thread is about to make it, or to repeat it.
    pub fn way_out(pc: usize) -> Option<usize> {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        {
            let begin = (&raw const symbols::alchemy_lock_pi_begin).addr();
            let called = (&raw const symbols::alchemy_lock_pi_called).addr();
            return (begin..called).contains(&pc).then_some((&raw const symbols::alchemy_lock_pi_out).addr());
        }
        #[allow(unreachable_code)]
        None
    }

    /// Whether a thread at `pc` is in the stub.
    pub fn contains(pc: usize) -> bool {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        {
            let begin = (&raw const symbols::alchemy_lock_pi_begin).addr();
            let end = (&raw const symbols::alchemy_lock_pi_end).addr();
            return (begin..end).contains(&pc);
        }
        #[allow(unreachable_code)]
        false
    }
}

/// The kernel side for the model checker. Waiters come first, served: other than with the system's, in order of arrival.
#[cfg(loom)]
mod model {
    use super::{OWNER_DIED, TID_MASK, WAITERS};
    use crate::atomic::{AtomicU64, Ordering::*};
    use crate::time::Deadline;
    use crate::{Errno, Scope, thread};
    use loom::sync::{Condvar, Mutex};

    /// A thread id that no thread has.
    const LARGEST_TID: u32 = 1 << 22;

    #[derive(Default)]
    struct Waiters {
        /// Who waits for which word.
        queue: Vec<(usize, u32)>,
        interrupted: Vec<u32>,
    }

    loom::lazy_static! {
        static ref WAITERS_OF_ALL: Mutex<Waiters> = Mutex::new(Waiters::default());
        static ref CHANGES: Condvar = Condvar::new();
    }

    fn key(word: &AtomicU64) -> usize {
        word as *const AtomicU64 as usize
    }

    fn with_lower(word: u64, lower: u32) -> u64 {
        word & !0xffff_ffff | u64::from(lower)
    }

    /// Takes a word as the system's does. A deadline is over at once: loom tries all moments at which that may be.
    pub fn lock(word: &AtomicU64, deadline: Deadline, _: Scope) -> Result<(), Errno> {
        let me = thread::tid();
        let mut held = WAITERS_OF_ALL.lock().unwrap();
        if held.interrupted.contains(&me) {
            return Err(Errno::INTR);
        }
        loop {
            let seen = word.load(Relaxed);
            let lower = seen as u32;
            let waits = held.queue.iter().any(|waiter| waiter.0 == key(word));
            let next = match lower & TID_MASK {
                0 => me | lower & OWNER_DIED | if waits { WAITERS } else { 0 },
                _ => lower | WAITERS,
            };
            // Acquire pairs with the Release of whoever gave the word up.
            if word.compare_exchange(seen, with_lower(seen, next), Acquire, Relaxed).is_err() {
                continue;
            }
            match lower & TID_MASK {
                0 => return Ok(()),
                owner if owner == me => return Err(Errno::DEADLK),
                owner if owner > LARGEST_TID => return Err(Errno::SRCH),
                _ => {}
            }
            break;
        }
        if deadline != Deadline::NEVER {
            return Err(Errno::TIMEDOUT);
        }
        held.queue.push((key(word), me));
        loop {
            held = CHANGES.wait(held).unwrap();
            if !held.queue.contains(&(key(word), me)) {
                // Handed over. Acquire as above.
                word.load(Acquire);
                return Ok(());
            }
            if held.interrupted.contains(&me) {
                held.queue.retain(|waiter| *waiter != (key(word), me));
                return Err(Errno::INTR);
            }
        }
    }

    /// Hands a word over, or makes it free.
    pub fn unlock(word: &AtomicU64, _: Scope) -> Result<(), Errno> {
        let mut held = WAITERS_OF_ALL.lock().unwrap();
        let next = held.queue.iter().position(|waiter| waiter.0 == key(word)).map(|first| held.queue.remove(first));
        let lower = next.map_or(0, |(_, tid)| tid | WAITERS);
        // Release pairs with the Acquire of the next owner.
        word.fetch_update(Release, Relaxed, |seen| Some(with_lower(seen, lower))).unwrap();
        CHANGES.notify_all();
        Ok(())
    }

    /// As the system's.
    pub fn interruptible<R>(work: impl FnOnce() -> R) -> R {
        work()
    }

    /// As the system's.
    pub fn interrupt(tid: u32) {
        WAITERS_OF_ALL.lock().unwrap().interrupted.push(tid);
        CHANGES.notify_all();
    }

    /// As the system's.
    pub fn take_interruptions() {
        let me = thread::tid();
        WAITERS_OF_ALL.lock().unwrap().interrupted.retain(|&tid| tid != me);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::*};
    use std::thread;

    use super::system::{Clock, lock_by};
    use super::*;
    use crate::time::{Deadline, now};
    use crate::{Errno, Scope};

    const UPPER: u64 = 0x1234_5678 << 32;

    /// Both forms of the call, in both directions, keep the upper half.
    #[test]
    fn dates_and_hand_over() {
        for clock in [Clock::Monotonic, Clock::Wall] {
            let word = Arc::new(AtomicU64::new(UPPER | u64::from(crate::thread::tid())));
            let (tell, told) = std::sync::mpsc::channel();
            let other = thread::spawn({
                let word = word.clone();
                move || {
                    let date = now() + 20_000_000;
                    let late = lock_by(clock, &word, Deadline::at(date), Scope::Private);
                    assert_eq!(late, Err(Errno::TIMEDOUT));
                    assert!(now() >= date);
                    tell.send(()).unwrap();
                    lock_by(clock, &word, Deadline::NEVER, Scope::Private).unwrap();
                    assert_eq!(word.load(Relaxed) & u64::from(TID_MASK), u64::from(crate::thread::tid()));
                }
            });
            told.recv().unwrap();
            while word.load(Relaxed) & u64::from(WAITERS) == 0 {
                thread::yield_now();
            }
            unlock(&word, Scope::Private).unwrap();
            other.join().unwrap();
            assert_eq!(word.load(Relaxed) >> 32, UPPER >> 32);
        }
    }

    #[test]
    fn a_word_that_names_no_thread() {
        let word = AtomicU64::new(UPPER | u64::from(TID_MASK));
        assert_eq!(lock(&word, Deadline::NEVER, Scope::Private), Err(Errno::SRCH));
        assert_eq!(word.load(Relaxed) | u64::from(WAITERS), UPPER | u64::from(TID_MASK | WAITERS));
    }
}
