//! Tables of what belongs to this process alone: they grow, never shrink and never move, and looking something up takes no lock.
//!
//! # Safety
//!
//! Unsafe code here turns fresh pages into `&T`. It relies on `T: Zeroed` and on pages never being unmapped once they are in the
//! table.

#![allow(unsafe_code)]

use core::sync::atomic::{AtomicPtr, Ordering::*};

use crate::Errno;
use crate::atomic::Zeroed;
use crate::memory;

/// How many elements a table grows by.
const CHUNK: usize = 1024;

/// A table with room for `CHUNKS` times 1,024 elements. The child of a fork has a copy of it.
pub struct Table<T, const CHUNKS: usize> {
    chunks: [AtomicPtr<T>; CHUNKS],
}

/// How many chunks a table with indexes up to this one needs.
pub const fn chunks_for(last: u32) -> usize {
    last as usize / CHUNK + 1
}

impl<T: Zeroed, const CHUNKS: usize> Table<T, CHUNKS> {
    /// A table without elements.
    #[expect(clippy::new_without_default, reason = "it is for statics")]
    pub const fn new() -> Table<T, CHUNKS> {
        Table { chunks: [const { AtomicPtr::new(core::ptr::null_mut()) }; CHUNKS] }
    }

    /// Makes all elements up to this one usable. Takes no lock of the C library's. `NOMEM` if there is no memory, or no such
    /// element.
    pub fn reach(&self, index: u32) -> Result<(), Errno> {
        let chunks = self.chunks.get(..chunks_for(index)).ok_or(Errno::NOMEM)?;
        chunks.iter().try_for_each(|chunk| {
            // Relaxed: nothing is read through it.
            if !chunk.load(Relaxed).is_null() {
                return Ok(());
            }
            let bytes = (CHUNK * size_of::<T>()).next_multiple_of(memory::page_size());
            let fresh = memory::present_pages(bytes)?;
            // Release pairs with the Acquire in `get`.
            let placed = chunk.compare_exchange(core::ptr::null_mut(), fresh.as_ptr().cast(), Release, Relaxed);
            if placed.is_err() {
                // SAFETY: mapped above, and nobody else knows it.
                unsafe { memory::unmap(fresh, bytes) };
            }
            Ok(())
        })
    }

    /// Element `index`, if it is usable.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&T> {
        let index = index as usize;
        // Acquire pairs with the Release in `reach`: the elements are zero, not what was there before.
        let chunk = self.chunks.get(index / CHUNK)?.load(Acquire);
        // SAFETY: null, or a chunk of valid elements that stays for good.
        if chunk.is_null() { None } else { Some(unsafe { &*chunk.add(index % CHUNK) }) }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::atomic::AtomicU64;

    #[test]
    fn a_table_grows_up_to_its_room() {
        static TABLE: Table<AtomicU64, { chunks_for(2000) }> = Table::new();
        assert!(TABLE.get(0).is_none());
        TABLE.reach(1500).unwrap();
        TABLE.get(1500).unwrap().store(5, Relaxed);
        assert_eq!(TABLE.get(0).unwrap().load(Relaxed), 0);
        TABLE.reach(3).unwrap();
        assert_eq!(TABLE.get(1500).unwrap().load(Relaxed), 5);
        assert_eq!(TABLE.reach(2048), Err(Errno::NOMEM));
        assert!(TABLE.get(2048).is_none());
    }

    #[test]
    fn many_may_grow_it_at_once() {
        static TABLE: Table<AtomicU64, 8> = Table::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for index in 0..8 * CHUNK as u32 {
                        TABLE.reach(index).unwrap();
                        TABLE.get(index).unwrap().fetch_add(1, Relaxed);
                    }
                });
            }
        });
        assert!((0..8 * CHUNK as u32).all(|index| TABLE.get(index).unwrap().load(Relaxed) == 4));
    }
}
