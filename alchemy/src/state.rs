//! The state word, and its transitions.
//!
//! | bits | name | meaning | changed by |
//! |---|---|---|---|
//! | 63 | `VARIANT` | one bit for the type | creator |
//! | 62 | `SLOW` | every operation takes the lock | under the object lock |
//! | 61 | `WAITERS` | the queue is not empty | under the object lock; set by a swap that proves the object cannot serve |
//! | 60 | `LIVE` | handles of this generation are valid | creator, deleter, under the object lock |
//! | 59–32 | generation, where handles have it | of the live object, or of the next one | creator, deleter, under the object lock |
//! | 31–0 | value | count, mask, a mutex's PI word, … | anybody by compare-and-swap while `WAITERS` is clear; else the lock holder |

use posix_backend::atomic::{AtomicU64, Ordering, Ordering::*};
use posix_backend::zeroed_struct;

use crate::handle::{GENERATION_BITS, Handle, Kind};
use crate::lockstep;

const GENERATION_SHIFT: u32 = 32;
const GENERATION: u64 = ((1 << GENERATION_BITS) - 1) << GENERATION_SHIFT;
const LIVE: u64 = 1 << 60;
const WAITERS: u64 = 1 << 61;
const SLOW: u64 = 1 << 62;
const VARIANT: u64 = 1 << 63;

/// A value of the state word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    #[inline]
    pub fn is_live(self) -> bool {
        self.0 & LIVE != 0
    }

    #[inline]
    pub fn generation(self) -> u32 {
        ((self.0 & GENERATION) >> GENERATION_SHIFT) as u32
    }

    #[inline]
    pub fn has_waiters(self) -> bool {
        self.0 & WAITERS != 0
    }

    /// Whether operations must go through the lock whatever the value is.
    #[inline]
    pub fn is_slow(self) -> bool {
        self.0 & SLOW != 0
    }

    #[inline]
    pub fn variant(self) -> bool {
        self.0 & VARIANT != 0
    }

    #[inline]
    pub fn value(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub fn with_value(self, value: u32) -> Word {
        Word(self.0 & !0xffff_ffff | u64::from(value))
    }

    #[inline]
    pub fn with_waiters(self) -> Word {
        Word(self.0 | WAITERS)
    }

    /// The word of a newly published object.
    pub fn published(self, variant: bool, value: u32) -> Word {
        let flags = if variant { VARIANT } else { 0 } | if lockstep::is_on() { SLOW } else { 0 };
        Word(self.0 & GENERATION | LIVE | flags | u64::from(value))
    }

    /// The word of the slot after deletion: not live, next generation.
    pub fn killed(self) -> Word {
        let next = (self.generation() + 1) & ((1 << GENERATION_BITS) - 1);
        Word(u64::from(next) << GENERATION_SHIFT)
    }

    /// Whether this is a word of the live object that `handle`, which is of this kind, names, with a value below 2³¹ and no
    /// other flag: all that a fast path must know, in one comparison. Handle and word agree from bit 31 up, but for the kind
    /// on one side and `LIVE` on the other; bit 31 is 0 in every index that is in use. For a handle of another kind the
    /// answer means nothing.
    #[inline]
    pub fn is_plain(self, handle: Handle, kind: Kind) -> bool {
        let difference = (kind as u64) << 60 ^ LIVE;
        (self.0 ^ handle.to_word() ^ difference) >> 31 == 0
    }

    /// As [`Word::is_plain`], for types whose values have all 32 bits.
    #[inline]
    pub fn is_plain_wide(self, handle: Handle, kind: Kind) -> bool {
        let difference = (kind as u64) << 60 ^ LIVE;
        (self.0 ^ handle.to_word() ^ difference) >> 32 == 0
    }

    /// As [`Word::is_plain_wide`], with waiters or without: all that a look at the value must know.
    #[inline]
    pub fn is_readable(self, handle: Handle, kind: Kind) -> bool {
        Word(self.0 & !WAITERS).is_plain_wide(handle, kind)
    }

    /// The word of the live object that `handle`, which is of this kind, names, with this value and no flag.
    #[inline]
    pub fn plain(handle: Handle, kind: Kind, value: u32) -> Word {
        Word((handle.to_word() ^ (kind as u64) << 60 ^ LIVE) & !0xffff_ffff | u64::from(value))
    }

    /// The word whose value is one higher; not plain if there was no room below 2³¹.
    #[inline]
    pub fn incremented(self) -> Word {
        Word(self.0.wrapping_add(1))
    }

    /// The word whose value is one lower; not plain if the value was 0.
    #[inline]
    pub fn decremented(self) -> Word {
        Word(self.0.wrapping_sub(1))
    }
}

zeroed_struct! {
    /// The word, and a plain copy beside it.
    ///
    /// A load of the word right behind a locked operation on it stalls until that has left the store buffer; the copy does
    /// not. It is stored after each successful swap and may be stale or even go back: it only proposes what the word might
    /// be, and the swap decides.
    pub(crate) struct State {
        word: AtomicU64,
        hint: AtomicU64,
    }
}

impl State {
    /// The word, for decisions that a swap or the object lock confirms.
    #[inline]
    pub fn load(&self) -> Word {
        Word(self.word.load(Relaxed))
    }

    /// The word, with what its last writer did before. Acquire pairs with the Release of `publish`, of `kill` and of posting swaps.
    #[inline]
    pub fn load_acquire(&self) -> Word {
        Word(self.word.load(Acquire))
    }

    /// What the word probably is.
    #[inline]
    pub fn hint(&self) -> Word {
        Word(self.hint.load(Relaxed))
    }

    /// Replaces `from` by `to`, or returns what is there instead. `order` is for success; its partner is named by the
    /// caller.
    #[inline]
    pub fn swap(&self, from: Word, to: Word, order: Ordering) -> Result<(), Word> {
        match self.word.compare_exchange(from.0, to.0, order, Relaxed) {
            Ok(_) => {
                self.hint.store(to.0, Relaxed);
                Ok(())
            }
            Err(found) => Err(Word(found)),
        }
    }

    /// As [`State::swap`], for types that do without the hint.
    #[inline]
    pub fn exchange(&self, from: Word, to: Word, order: Ordering) -> Result<(), Word> {
        self.word.compare_exchange(from.0, to.0, order, Relaxed).map(|_| ()).map_err(Word)
    }

    /// Sets the type's own bit; the word as it is then. For types that do without the hint.
    pub fn set_variant(&self) {
        self.word.fetch_or(VARIANT, Relaxed);
    }

    /// Clears the type's own bit, and these bits of the value. For types that do without the hint.
    pub fn clear_variant_and(&self, value: u32) {
        self.word.fetch_and(!(VARIANT | u64::from(value)), Relaxed);
    }

    /// The word as of a read-modify-write, which no earlier or later one can be reordered with. `order` as for `swap`.
    pub fn confirm(&self, order: Ordering) -> Word {
        Word(self.word.fetch_or(0, order))
    }

    /// The word itself, for what the kernel does to its lower half.
    pub fn word(&self) -> &AtomicU64 {
        &self.word
    }

    /// Makes the slot live. Needs the object lock; nobody else changes a word that is not live.
    pub fn publish(&self, variant: bool, value: u32) -> Word {
        let word = self.load().published(variant, value);
        self.hint.store(word.0, Relaxed);
        // Release pairs with the Acquire of a bind that finds the object live.
        self.word.store(word.0, Release);
        word
    }

    /// Ends the object: the first caller with a valid handle wins. Needs the object lock.
    pub fn kill(&self, handle: Handle) -> crate::Result<()> {
        let mut word = self.load();
        loop {
            handle.check(word)?;
            // AcqRel: what users did before their last swap happens before what the next life of the slot does.
            match self.swap(word, word.killed(), AcqRel) {
                Ok(()) => return Ok(()),
                Err(found) => word = found,
            }
        }
    }

    /// In the child of a fork: no handle that anybody ever had may be valid again, although the word is that of a moment
    /// before the fork. Far more generations than could have passed in between.
    pub fn skip_generations(&self) {
        const STEP: u32 = 1 << (GENERATION_BITS / 2);
        let next = self.load().generation().wrapping_add(STEP) & ((1 << GENERATION_BITS) - 1);
        self.word.store(u64::from(next) << GENERATION_SHIFT, Relaxed);
    }

    /// The queue is empty again. Needs the object lock. A read-modify-write, since fast paths go on as soon as it is done.
    pub fn clear_waiters(&self) {
        let word = self.word.fetch_and(!WAITERS, Relaxed) & !WAITERS;
        self.hint.store(word, Relaxed);
    }

    /// After a lock holder died: makes `WAITERS` agree with the queue. Needs the object lock.
    pub fn set_waiters(&self, waiting: bool) {
        if waiting {
            self.word.fetch_or(WAITERS, Relaxed);
        } else {
            self.clear_waiters();
        }
    }

    /// Sends every operation through the lock, or no longer. Needs the object lock.
    #[cfg(test)]
    pub fn set_slow(&self, slow: bool) {
        if slow {
            self.word.fetch_or(SLOW, Relaxed);
        } else {
            self.word.fetch_and(!SLOW, Relaxed);
        }
        self.hint.store(self.word.load(Relaxed), Relaxed);
    }
}
