//! Handles: what a descriptor holds. Type, generation and slot index; checked, never trusted.

use crate::error::{Error, Result};
use crate::state::Word;

/// The type of an object. The values are part of the handle format and of the segment layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    Task = 1,
    Semaphore = 2,
    Mutex = 3,
    Condition = 4,
    Event = 5,
    Queue = 6,
    Heap = 7,
    Buffer = 8,
    Alarm = 9,
    /// Not an object: the registry of a type, which bind waits on. Index = the type.
    Registry = 15,
}

/// How many types there can be; index of the per-type tables. Models make no room for types to come.
pub(crate) const KINDS: usize = if cfg!(loom) { 6 } else { 16 };

/// On 64-bit targets 28 bits of generation and 32 of index; on 32-bit targets 12 and 16 (65,535 objects of each type, and
/// an old handle may be taken for a new one after 4,096 reuses of a slot).
const NARROW: bool = cfg!(target_pointer_width = "32");
pub(crate) const GENERATION_BITS: u32 = if NARROW { 12 } else { 28 };
const RAW_INDEX_BITS: u32 = if NARROW { 16 } else { 32 };
/// The largest index that fits into a handle.
pub(crate) const MAX_INDEX: u32 = if NARROW { 0xffff } else { u32::MAX - 1 };

/// A checked reference to an object: type 63–60, generation 59–32, index 31–0. Zero refers to nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Handle(u64);

impl Handle {
    /// Refers to nothing.
    pub const NONE: Handle = Handle(0);

    pub(crate) const fn new(kind: Kind, generation: u32, index: u32) -> Handle {
        Handle((kind as u64) << 60 | (generation as u64) << 32 | index as u64)
    }

    /// The value for a C descriptor.
    #[inline]
    pub const fn to_raw(self) -> usize {
        if NARROW {
            let index = self.0 & 0xffff;
            let generation = self.0 >> 32 & 0xfff;
            ((self.0 >> 60) << 28 | generation << 16 | index) as usize
        } else {
            self.0 as usize
        }
    }

    /// Takes a value from a C descriptor, whatever it is; the next use checks it.
    #[inline]
    pub const fn from_raw(raw: usize) -> Handle {
        let raw = raw as u64;
        if NARROW {
            let index = raw & ((1 << RAW_INDEX_BITS) - 1);
            let generation = raw >> 16 & 0xfff;
            Handle((raw >> 28) << 60 | generation << 32 | index)
        } else {
            Handle(raw)
        }
    }

    /// The value as stored in the segment.
    pub(crate) const fn to_word(self) -> u64 {
        self.0
    }

    pub(crate) const fn from_word(word: u64) -> Handle {
        Handle(word)
    }

    #[inline]
    pub(crate) const fn is(self, kind: Kind) -> bool {
        self.0 >> 60 == kind as u64
    }

    #[inline]
    pub(crate) const fn index(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub(crate) const fn generation(self) -> u32 {
        (self.0 >> 32) as u32 & ((1 << GENERATION_BITS) - 1)
    }

    /// The same slot whatever its generation: what a site's repair looks for.
    pub(crate) const fn same_slot(self, other: Handle) -> bool {
        self.0 >> 60 == other.0 >> 60 && self.index() == other.index()
    }

    /// `Invalid` unless `word` is that of a live object of this generation.
    #[inline]
    pub(crate) fn check(self, word: Word) -> Result<()> {
        if word.is_live() && word.generation() == self.generation() { Ok(()) } else { Err(Error::Invalid) }
    }
}

impl core::fmt::Debug for Handle {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}:{}.{}", self.0 >> 60, self.index(), self.generation())
    }
}
