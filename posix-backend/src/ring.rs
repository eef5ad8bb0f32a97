//! Rings: text on its way from the threads that print it to whoever writes it out.
//!
//! Each printing thread has a ring of its own and shares nothing with the others but a counter of tickets. A record is a
//! ticket, a tag (the destination), a length, and text. One thread at a time puts records in ([`Writing`] is the right to),
//! one at a time takes them out (the lock of [`Rings`]); neither waits for the other.
//!
//! ```text
//! put:    text into the scratch room; ticket := tickets++ (Release); record behind head; head := … (Release)
//! drain:  limit := tickets (Acquire); always the record with the lowest ticket below the limit; tail := … (Release)
//! ```
//!
//! *Order.* If one put returned before another began, as far as the program can tell, the first has the lower ticket; and a
//! drain that read a limit above the second's ticket sees the first's record, since the second's ticket published it. So a
//! drain hands the two over in order, or leaves the second for the next one. A ticket without a record yet belongs to a put
//! that has not returned.
//!
//! Rings are never given back to the system: whoever needs one takes one that nobody owns, with the text that is still in it.
//!
//! # Safety
//!
//! Unsafe code here makes rings out of fresh pages, which are never unmapped, and accesses the bytes behind them. What lies
//! from tail to head is the drain's to read; the rest, and the scratch room, belongs to the one who has entered the ring.

#![allow(unsafe_code)]

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};

use crate::Errno;
use crate::futex::Scope;
use crate::memory;
use crate::pi_lock::PiLock;

/// A thread's ring.
pub struct Ring {
    next: *const Ring,
    /// Bytes of the ring, a power of two; behind it lies scratch room for as many and a NUL.
    size: usize,
    data: *mut u8,
    /// How many of the bytes may be in use. Changed by the owner.
    limit: AtomicUsize,
    owned: AtomicBool,
    /// Somebody has entered: the owner, or nobody.
    entered: AtomicBool,
    /// Bytes put in so far; by who has entered.
    head: AtomicUsize,
    /// Bytes taken out so far; under the lock of `Rings`.
    tail: AtomicUsize,
}

// SAFETY: the fields that change are atomics; what `data` leads to is shared out as the module says.
unsafe impl Sync for Ring {}

/// What precedes the text of a record: ticket, tag, length.
type Lead = [u64; 3];
const LEAD: usize = size_of::<Lead>();

/// All rings.
pub struct Rings {
    first: AtomicPtr<Ring>,
    tickets: AtomicU64,
    /// Held by who takes records out, across the writing of each, so perhaps for long. Not an object lock: nobody takes it who
    /// holds one of those, and that its holder dies without the process needs no telling.
    lock: PiLock,
}

/// How a drain ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drained {
    /// There was nothing.
    Nothing,
    /// All that had been put in before is written.
    All,
    /// The destination of the next record was busy.
    Busy,
}

/// The right to put records into a ring, and its scratch room.
#[must_use]
pub struct Writing<'a>(&'a Ring);

impl Ring {
    /// A new one, owned, on pages that are present.
    fn make(size: usize, limit: usize) -> Result<&'static mut Ring, Errno> {
        let bytes =
            size.checked_mul(2).and_then(|bytes| bytes.checked_add(size_of::<Ring>() + 1)).ok_or(Errno::NOMEM)?;
        let base = memory::pages(bytes)?;
        let ring = base.cast::<Ring>();
        // SAFETY: the pages are ours, for good, and there is room for the structure, the ring and the scratch room.
        unsafe {
            ring.write(Ring {
                next: core::ptr::null(),
                size,
                data: base.add(size_of::<Ring>()).as_ptr(),
                limit: AtomicUsize::new(limit),
                owned: AtomicBool::new(true),
                entered: AtomicBool::new(false),
                head: AtomicUsize::new(0),
                tail: AtomicUsize::new(0),
            });
            Ok(&mut *ring.as_ptr())
        }
    }

    /// The right to put records in. `None` if somebody has it: the calling thread itself, interrupted by a signal whose handler
    /// prints.
    #[inline]
    pub fn enter(&self) -> Option<Writing<'_>> {
        // Acquire pairs with the Release in `drop`: the next one finds head and scratch room as the last one left them.
        if self.entered.swap(true, Acquire) { None } else { Some(Writing(self)) }
    }

    /// Makes this many bytes usable. False if there are not so many.
    pub fn limit(&self, limit: usize) -> bool {
        if limit <= self.size {
            self.limit.store(limit, Relaxed);
        }
        limit <= self.size
    }

    /// Lets others own the ring. What is in it stays.
    pub fn release(&self) {
        // Release pairs with the Acquire in `claim`.
        self.owned.store(false, Release);
    }

    /// Whether somebody may take it who wants to put in up to `limit` bytes. Not more than half of them are in use.
    fn suits(&self, limit: usize) -> bool {
        let used = self.head.load(Relaxed).wrapping_sub(self.tail.load(Relaxed));
        !self.owned.load(Relaxed) && !self.entered.load(Relaxed) && limit <= self.size && used <= limit / 2
    }

    /// The bytes of a part of the ring, in one or two pieces: addresses and lengths.
    fn pieces(&self, at: usize, len: usize) -> [(*mut u8, usize); 2] {
        let start = at & (self.size - 1);
        let first = len.min(self.size - start);
        // SAFETY: the ring has `size` bytes, and `start` is below that.
        [(unsafe { self.data.add(start) }, first), (self.data, len - first)]
    }

    /// Copies bytes into the ring.
    ///
    /// # Safety
    ///
    /// The caller has entered the ring, and the part is free.
    unsafe fn store(&self, at: usize, bytes: &[u8]) {
        let [(first, len), (second, rest)] = self.pieces(at, bytes.len());
        // SAFETY: both pieces lie in the ring and are as long as what is copied.
        unsafe {
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), first, len);
            core::ptr::copy_nonoverlapping(bytes.as_ptr().add(len), second, rest);
        }
    }

    /// The bytes of a part of the ring.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and the part lies between tail and head, as long as the result is in use.
    unsafe fn load(&self, at: usize, len: usize) -> [&[u8]; 2] {
        // SAFETY: both pieces lie in the ring; the caller vouches that nobody writes them.
        self.pieces(at, len).map(|(piece, len)| unsafe { core::slice::from_raw_parts(piece, len) })
    }

    /// The next record: ticket, tag, length of the text.
    ///
    /// # Safety
    ///
    /// The caller holds the lock.
    unsafe fn first(&self) -> Option<Lead> {
        let tail = self.tail.load(Relaxed);
        // Acquire pairs with the Release in `put`: the record is complete.
        if self.head.load(Acquire) == tail {
            return None;
        }
        let mut lead = [0; LEAD];
        // SAFETY: there is a record between tail and head.
        let [first, second] = unsafe { self.load(tail, LEAD) };
        lead[..first.len()].copy_from_slice(first);
        lead[first.len()..].copy_from_slice(second);
        let word = |i: usize| u64::from_ne_bytes(core::array::from_fn(|byte| lead[i * 8 + byte]));
        Some([word(0), word(1), word(2)])
    }
}

impl Writing<'_> {
    /// Room for a text as long as the ring, and a NUL.
    fn scratch(&mut self) -> &mut [u8] {
        // SAFETY: it lies behind the ring, was zero-filled, and belongs to who has entered, which this value says.
        unsafe { core::slice::from_raw_parts_mut(self.0.data.add(self.0.size), self.0.size + 1) }
    }
}

impl Drop for Writing<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release pairs with the Acquire in `enter`.
        self.0.entered.store(false, Release);
    }
}

impl Default for Rings {
    fn default() -> Self {
        Rings::new()
    }
}

impl Rings {
    /// None yet.
    pub const fn new() -> Rings {
        Rings { first: AtomicPtr::new(core::ptr::null_mut()), tickets: AtomicU64::new(0), lock: PiLock::new() }
    }

    fn iter(&self) -> impl Iterator<Item = &'static Ring> {
        // Acquire pairs with the Release in `claim`: the ring is complete, and so are those behind it.
        // SAFETY: what is in the list is a ring, and stays one.
        let first = unsafe { self.first.load(Acquire).as_ref() };
        // SAFETY: likewise.
        core::iter::successors(first, |ring| unsafe { ring.next.as_ref() })
    }

    /// A ring for the caller, of which `limit` bytes may be in use. Takes no lock.
    pub fn claim(&self, limit: usize) -> Result<&'static Ring, Errno> {
        let found = self.iter().find(|ring| {
            // Acquire pairs with the Release in `release`.
            ring.suits(limit) && ring.owned.compare_exchange(false, true, Acquire, Relaxed).is_ok()
        });
        if let Some(ring) = found {
            ring.limit.store(limit, Relaxed);
            return Ok(ring);
        }
        let ring = Ring::make(limit.checked_next_power_of_two().ok_or(Errno::NOMEM)?, limit)?;
        let mut first = self.first.load(Relaxed);
        loop {
            ring.next = first;
            // Release pairs with the Acquire in `iter`.
            match self.first.compare_exchange_weak(first, ring, Release, Relaxed) {
                Ok(_) => return Ok(ring),
                Err(other) => first = other,
            }
        }
    }

    /// Puts in a record whose text `fill` writes into the room that it gets; it returns the length of the whole text, which may
    /// be more. Returns how much of it found room: a full ring cuts it.
    #[inline]
    pub fn put<E>(
        &self,
        mut writing: Writing<'_>,
        tag: u64,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        let room = writing.scratch();
        let len = fill(room)?.min(room.len() - 1);
        let ring = writing.0;
        let head = ring.head.load(Relaxed);
        // Acquire pairs with the Release in `drain`: what was there has been read.
        let used = head.wrapping_sub(ring.tail.load(Acquire));
        let len = ring.limit.load(Relaxed).saturating_sub(used).saturating_sub(LEAD).min(len);
        if len == 0 {
            return Ok(0);
        }
        // Release pairs with the Acquire in `drain`: see the module for what that orders.
        let ticket = self.tickets.fetch_add(1, Release);
        let lead: Lead = [ticket, tag, len as u64];
        for (i, word) in lead.into_iter().enumerate() {
            // SAFETY: entered, and the part is free, as `used` and the limit say.
            unsafe { ring.store(head.wrapping_add(i * 8), &word.to_ne_bytes()) };
        }
        // SAFETY: likewise. The scratch room does not overlap the ring.
        unsafe { ring.store(head.wrapping_add(LEAD), &writing.scratch()[..len]) };
        // Release pairs with the Acquire in `first`.
        ring.head.store(head.wrapping_add(LEAD + len), Release);
        Ok(len)
    }

    /// Takes out all records that were put in before, in order, and hands each to `write`: its tag, and its text in one or two
    /// pieces. A record for which `write` returns false stays, and with it all that follow.
    ///
    /// Not to be called by `write`, or by a handler that interrupts the calling thread here.
    pub fn drain(&self, mut write: impl FnMut(u64, [&[u8]; 2]) -> bool) -> Drained {
        let _held = self.lock.lock(Scope::Private);
        // Acquire pairs with the Release in `put`: see the module.
        let limit = self.tickets.load(Acquire);
        let mut drained = Drained::Nothing;
        while let Some((ring, until)) = self.next(limit) {
            // SAFETY: the lock is held.
            while let Some([_, tag, len]) = unsafe { ring.first() }.filter(|&[ticket, ..]| ticket < until) {
                let tail = ring.tail.load(Relaxed);
                // SAFETY: the lock is held, and the record lies between tail and head until tail is stored below.
                if !write(tag, unsafe { ring.load(tail.wrapping_add(LEAD), len as usize) }) {
                    return Drained::Busy;
                }
                // Release pairs with the Acquire in `put`.
                ring.tail.store(tail.wrapping_add(LEAD + len as usize), Release);
                drained = Drained::All;
            }
        }
        drained
    }

    /// The ring with the lowest ticket below the limit, and the ticket up to which it goes on being that. Under the lock.
    fn next(&self, limit: u64) -> Option<(&'static Ring, u64)> {
        let (mut best, mut lowest, mut until) = (None, limit, limit);
        for ring in self.iter() {
            // SAFETY: the caller holds the lock.
            let Some([ticket, ..]) = (unsafe { ring.first() }) else { continue };
            if ticket < lowest {
                (best, lowest, until) = (Some(ring), ticket, lowest);
            } else {
                until = until.min(ticket);
            }
        }
        best.map(|ring| (ring, until))
    }

    /// In the child of a fork: what was printed before is the parent's to write, and the rings of its threads are free. One that
    /// was being written stays out of use, since it may be the calling thread that was interrupted.
    pub fn after_fork(&self) {
        self.lock.reset();
        for ring in self.iter() {
            ring.tail.store(ring.head.load(Relaxed), Relaxed);
            ring.owned.store(false, Relaxed);
        }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::thread;

    fn put(rings: &Rings, ring: &Ring, tag: u64, text: &[u8]) -> usize {
        let writing = ring.enter().expect("nobody else puts in");
        let fill = |room: &mut [u8]| {
            room.iter_mut().zip(text).for_each(|(to, byte)| *to = *byte);
            Ok::<usize, ()>(text.len())
        };
        rings.put(writing, tag, fill).unwrap()
    }

    fn drained(rings: &Rings) -> Vec<(u64, Vec<u8>)> {
        let mut records = Vec::new();
        rings.drain(|tag, text| {
            records.push((tag, text.concat()));
            true
        });
        records
    }

    /// Texts of all lengths, so that each part of a record comes to lie across the end of the ring.
    #[test]
    fn records_come_out_as_they_went_in() {
        let rings = Rings::new();
        let ring = rings.claim(256).unwrap();
        for round in 0..2000 {
            let text: Vec<u8> = (0..1 + round % 150).map(|i| (round + i) as u8).collect();
            assert_eq!(put(&rings, ring, round as u64, &text), text.len());
            assert_eq!(drained(&rings), [(round as u64, text)]);
        }
        assert_eq!(rings.drain(|_, _| true), Drained::Nothing);
    }

    #[test]
    fn a_full_ring_cuts() {
        let rings = Rings::new();
        let ring = rings.claim(256).unwrap();
        assert_eq!(put(&rings, ring, 1, &[7; 1000]), 256 - LEAD);
        assert_eq!(put(&rings, ring, 2, b"x"), 0);
        assert_eq!(drained(&rings), [(1, vec![7; 256 - LEAD])]);
        assert_eq!(put(&rings, ring, 3, &[7; 200]), 200);
        assert_eq!(put(&rings, ring, 4, b""), 0);
        assert!(ring.limit(100) && !ring.limit(257));
        assert_eq!(put(&rings, ring, 5, b"x"), 0);
        assert_eq!(drained(&rings), [(3, vec![7; 200])]);
    }

    #[test]
    fn who_has_entered_is_alone() {
        let rings = Rings::new();
        let ring = rings.claim(256).unwrap();
        let first = ring.enter();
        assert!(first.is_some());
        // The failure must not let a third one in.
        assert!(ring.enter().is_none() && ring.enter().is_none());
        drop(first);
        assert!(ring.enter().is_some());
    }

    #[test]
    fn a_ring_that_nobody_owns_is_used_again() {
        let rings = Rings::new();
        let first = rings.claim(1000).unwrap();
        assert!(!core::ptr::eq(first, rings.claim(1000).unwrap()), "it has an owner");
        put(&rings, first, 1, &[1; 100]);
        first.release();
        let again = rings.claim(900).unwrap();
        assert!(core::ptr::eq(first, again));
        put(&rings, again, 2, &[2; 500]);
        again.release();
        assert!(!core::ptr::eq(first, rings.claim(1000).unwrap()), "it is too full");
        assert_eq!(drained(&rings), [(1, vec![1; 100]), (2, vec![2; 500])]);
        assert!(core::ptr::eq(first, rings.claim(1000).unwrap()));
    }

    #[test]
    fn a_busy_destination_keeps_the_order() {
        let rings = Rings::new();
        let (a, b) = (rings.claim(1000).unwrap(), rings.claim(1000).unwrap());
        for (ring, tag) in [(a, 1), (b, 2), (a, 3), (b, 4)] {
            put(&rings, ring, tag, b"text");
        }
        let mut tags = Vec::new();
        let mut until = |last: u64| {
            rings.drain(|tag, _| {
                let taken = tag <= last;
                tags.extend(taken.then_some(tag));
                taken
            })
        };
        assert_eq!(
            [until(0), until(3), until(4), until(4)].map(|drained| drained == Drained::Busy),
            [true, true, false, false]
        );
        assert_eq!(tags, [1, 2, 3, 4]);
    }

    /// Threads that put in one after the other, while somebody takes out all the time: what was put in later never comes out
    /// before.
    #[test]
    fn order_among_threads_is_that_of_the_calls() {
        const THREADS: u64 = 3;
        const TURNS: u64 = 3_000;
        let rings = Rings::new();
        let turn = AtomicU64::new(0);
        let seen = thread::scope(|scope| {
            for me in 0..THREADS {
                let (rings, turn) = (&rings, &turn);
                scope.spawn(move || {
                    let ring = rings.claim(1 << 20).unwrap();
                    for mine in (0..TURNS).map(|round| round * THREADS + me) {
                        // Acquire pairs with the Release below: the put before has returned.
                        while turn.load(Acquire) != mine || put(rings, ring, mine, b"text") == 0 {
                            thread::yield_now();
                        }
                        turn.store(mine + 1, Release);
                    }
                });
            }
            let mut seen = Vec::new();
            while seen.len() < (THREADS * TURNS) as usize {
                seen.extend(drained(&rings).into_iter().map(|(tag, _)| tag));
            }
            seen
        });
        assert!(seen.iter().copied().eq(0..THREADS * TURNS));
    }
}
