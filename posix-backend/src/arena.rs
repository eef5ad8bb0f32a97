//! Arrays that grow in a segment, and arenas of type-stable slots on top of them.
//!
//! An [`Array`] is this process's view of one region of the segment: it grows, never shrinks and never moves. An
//! [`Arena`] adds a free list, oldest slot first. Both are generic over their backing: under the model checker, and in
//! tests, the elements live in ordinary memory.
//!
//! # Safety
//!
//! Unsafe code here turns parts of the segment into `&T`. It relies on `T: Zeroed` (fresh pages are zero-filled and hold
//! valid values), on the segment never unmapping or moving an opened part, and on `opened` being raised only after the
//! part was opened.

#![allow(unsafe_code)]

// An array's own fields do not change in models, which need not look at them.
use core::sync::atomic::{AtomicPtr, AtomicU32 as LocalU32, AtomicUsize};

use crate::Errno;
use crate::atomic::{AtomicU32, Ordering::*, Zeroed};
use crate::futex::Scope;
use crate::memory::page_size;
use crate::pi_lock::{Entry, Held, PiLock};
use crate::segment::{Copy, Segment};
use crate::zeroed_struct;

/// Where an array lies in the segment.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// Offset of the first element; a multiple of the page size.
    pub offset: usize,
    /// How many elements it may grow to.
    pub capacity: u32,
}

impl Region {
    /// The bytes that `capacity` elements of `T` take in a segment.
    pub fn bytes<T>(capacity: u32) -> usize {
        (capacity as usize * size_of::<T>()).next_multiple_of(page_size())
    }
}

/// A growing array of shared elements.
pub struct Array<T> {
    base: AtomicPtr<T>,
    /// Elements usable by this process. Raised (Release) after the memory is there; Acquire in `get`.
    opened: LocalU32,
    capacity: LocalU32,
    offset: AtomicUsize,
    /// Null if the elements live in ordinary memory, which does not grow.
    segment: AtomicPtr<Segment>,
}

impl<T: Zeroed> Array<T> {
    /// An array without elements and without backing.
    #[cfg(not(loom))]
    pub const fn new() -> Array<T> {
        Array {
            base: AtomicPtr::new(core::ptr::null_mut()),
            opened: LocalU32::new(0),
            capacity: LocalU32::new(0),
            offset: AtomicUsize::new(0),
            segment: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// An array of `len` zeroed elements in ordinary memory, which is never freed.
    pub fn in_memory(len: u32) -> Array<T> {
        let elements: Box<[T]> = (0..len).map(|_| T::zeroed()).collect();
        Array {
            base: AtomicPtr::new(Box::leak(elements).as_mut_ptr()),
            opened: LocalU32::new(len),
            capacity: LocalU32::new(len),
            offset: AtomicUsize::new(0),
            segment: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// Gives the array its place. Called once, before any other thread uses it.
    pub fn place(&self, segment: &'static Segment, region: Region) {
        assert!(size_of::<T>() > 0 && align_of::<T>() <= page_size());
        let end = region.offset + Region::bytes::<T>(region.capacity);
        assert!(region.offset.is_multiple_of(page_size()) && end <= segment.len(), "region outside the segment");
        self.offset.store(region.offset, Relaxed);
        self.segment.store(core::ptr::from_ref(segment).cast_mut(), Relaxed);
        self.base.store(segment.at(region.offset).as_ptr().cast(), Relaxed);
        self.capacity.store(region.capacity, Relaxed);
    }

    /// Element `index`, if it is usable.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&T> {
        // Acquire pairs with the Release in `grow`: the memory is mapped.
        if index < self.opened.load(Acquire) {
            let base = self.base.load(Relaxed);
            // SAFETY: `opened` is raised after the base is set. Spares the look-up a test.
            unsafe { core::hint::assert_unchecked(!base.is_null()) };
            // SAFETY: elements below `opened` are mapped, valid and never moved; see the module.
            Some(unsafe { &*base.add(index as usize) })
        } else {
            None
        }
    }

    /// The index of the usable element that has this address in it.
    pub fn index_of(&self, address: usize) -> Option<u32> {
        // Relaxed: the address came from an element.
        let offset = address.checked_sub(self.base.load(Relaxed).addr())?;
        u32::try_from(offset / size_of::<T>()).ok().filter(|&index| index < self.opened())
    }

    /// How many elements are usable.
    pub fn opened(&self) -> u32 {
        self.opened.load(Acquire)
    }

    /// How many elements there can be.
    pub fn capacity(&self) -> u32 {
        self.capacity.load(Relaxed)
    }

    /// Makes at least `len` elements usable. Callers are serialised by a lock of their own. `NOMEM` if there is no room.
    pub fn grow(&self, len: u32) -> Result<(), Errno> {
        let opened = self.opened.load(Relaxed);
        if len <= opened {
            return Ok(());
        }
        let capacity = self.capacity.load(Relaxed);
        let segment = self.segment.load(Relaxed);
        if len > capacity || segment.is_null() {
            return Err(Errno::NOMEM);
        }
        // SAFETY: `place` stored a reference that lives as long as the process.
        let segment = unsafe { &*segment };
        let start = self.opened_bytes();
        segment.open(self.offset.load(Relaxed) + start, self.grown_bytes(len) - start)?;
        // Release pairs with the Acquire in `get`.
        self.opened.store(self.grown(len), Release);
        Ok(())
    }

    /// How many elements are usable after a `grow` to `len`: it grows by more than a few at a time.
    pub fn grown(&self, len: u32) -> u32 {
        let usable = (self.grown_bytes(len) / size_of::<T>()) as u32;
        usable.min(self.capacity()).max(self.opened.load(Relaxed))
    }

    fn grown_bytes(&self, len: u32) -> usize {
        (len as usize * size_of::<T>()).next_multiple_of(CHUNK).min(Region::bytes::<T>(self.capacity()))
    }

    /// In the child of a fork, on its own copy of the memory: opens what is usable, which may be more than was copied.
    pub fn reopen(&self) -> Result<(), Errno> {
        let segment = self.segment.load(Relaxed);
        if segment.is_null() {
            return Ok(());
        }
        // SAFETY: `place` stored a reference that lives as long as the process.
        let segment = unsafe { &*segment };
        segment.open(self.offset.load(Relaxed), self.opened_bytes())
    }

    /// Takes all elements away, for good: nothing is found any more, and nothing can be made.
    pub fn close(&self) {
        self.segment.store(core::ptr::null_mut(), Relaxed);
        self.opened.store(0, Release);
    }

    fn opened_bytes(&self) -> usize {
        (self.opened.load(Relaxed) as usize * size_of::<T>()).next_multiple_of(page_size())
    }

    /// Copies the elements in `used` for the child of a fork, each while `lock` holds it still; the other opened ones are
    /// fresh in the copy.
    pub fn copy<'a, G>(
        &'a self,
        copy: &mut Copy,
        used: core::ops::Range<u32>,
        lock: impl Fn(u32, &'a T) -> G,
    ) -> Result<(), Errno> {
        const { assert!(size_of::<T>().is_multiple_of(align_of::<T>()) && matches!(align_of::<T>(), 4 | 8)) };
        let to = copy.part(self.offset.load(Relaxed), self.opened_bytes())?;
        for index in used {
            let Some(element) = self.get(index) else {
                break;
            };
            let _held = lock(index, element);
            let at = index as usize * size_of::<T>();
            // Word by word and atomically, since fast paths change words without the lock.
            if align_of::<T>() == 8 {
                let words = core::ptr::from_ref(element).cast::<core::sync::atomic::AtomicU64>();
                for word in 0..size_of::<T>() / 8 {
                    // SAFETY: the element is made of atomics, so any thread may read its aligned words atomically.
                    let value = unsafe { &*words.add(word) }.load(Relaxed);
                    to.write(at + word * 8, value);
                }
            } else {
                let words = core::ptr::from_ref(element).cast::<core::sync::atomic::AtomicU32>();
                for word in 0..size_of::<T>() / 4 {
                    // SAFETY: as above.
                    let value = unsafe { &*words.add(word) }.load(Relaxed);
                    to.write(at + word * 4, value);
                }
            }
        }
        Ok(())
    }
}

/// Models make a space for each execution.
#[cfg(loom)]
impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: `in_memory`, which is the only way to make an array under loom, leaked a box of this length, and
            // whoever drops the array is the last to use it.
            unsafe {
                let len = *self.capacity.get_mut() as usize;
                drop(Box::from_raw(core::ptr::slice_from_raw_parts_mut(*self.base.get_mut(), len)));
            }
        }
    }
}

#[cfg(not(loom))]
impl<T: Zeroed> Default for Array<T> {
    fn default() -> Self {
        Array::new()
    }
}

/// How much an array grows at a time.
const CHUNK: usize = 64 * 1024;

/// What an arena needs of its slots.
pub trait Slot: Zeroed {
    /// The link of the free list; only the arena touches it.
    fn free_link(&self) -> &AtomicU32;
}

/// In `free_link`: the slot is not in the free list.
const TAKEN: u32 = u32::MAX;

zeroed_struct! {
    /// An arena's shared part.
    pub struct ArenaHeader {
        lock: PiLock,
        /// Held while the arena grows, which may take the kernel a while; never together with `lock`.
        growth: PiLock,
        /// Slots ever taken are below; 0 stands for 1, since slot 0 is nobody.
        fresh: AtomicU32,
        /// The free list: the slot free for the longest time first. 0 is the end.
        head: AtomicU32,
        tail: AtomicU32,
    }
}

/// Slots of one type. Slot 0 is never used.
pub struct Arena<T> {
    slots: Array<T>,
}

impl<T: Slot> Arena<T> {
    /// An arena without slots and without backing.
    #[cfg(not(loom))]
    pub const fn new() -> Arena<T> {
        Arena { slots: Array::new() }
    }

    /// An arena of `len` slots in ordinary memory.
    pub fn in_memory(len: u32) -> Arena<T> {
        Arena { slots: Array::in_memory(if len > 0 { len + 1 } else { 0 }) }
    }

    /// The slots.
    #[inline]
    pub fn slots(&self) -> &Array<T> {
        &self.slots
    }

    /// Slot `index`, if it is usable.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&T> {
        self.slots.get(index)
    }

    /// Takes the slot that has been free for the longest time, or a fresh one. `NOMEM` when there is none. `grow` opens
    /// more slots, and what else is to grow with them.
    pub fn take(
        &self,
        header: &ArenaHeader,
        scope: Scope,
        grow: impl Fn(&Array<T>, u32) -> Result<(), Errno>,
    ) -> Result<u32, Errno> {
        loop {
            if let Some(index) = self.take_opened(header, scope) {
                return Ok(index);
            }
            // Whatever a grower that died left undone, growing again completes.
            let _held = header.growth.lock(scope);
            let fresh = header.fresh.load(Relaxed).max(1);
            grow(&self.slots, fresh.checked_add(1).ok_or(Errno::NOMEM)?)?;
        }
    }

    fn take_opened(&self, header: &ArenaHeader, scope: Scope) -> Option<u32> {
        let _held = self.lock(header, scope);
        let first = header.head.load(Relaxed);
        if let Some(slot) = self.get(first).filter(|_| first != 0) {
            let next = slot.free_link().load(Relaxed);
            // Marked before it is unlinked: whoever dies in between loses a slot, but none is handed out twice.
            slot.free_link().store(TAKEN, Relaxed);
            header.head.store(next, Relaxed);
            return Some(first);
        }
        let index = header.fresh.load(Relaxed).max(1);
        self.get(index)?.free_link().store(TAKEN, Relaxed);
        header.fresh.store(index + 1, Relaxed);
        Some(index)
    }

    fn lock<'a>(&self, header: &'a ArenaHeader, scope: Scope) -> Held<'a> {
        let (held, entry) = header.lock.lock(scope);
        if entry == Entry::Abandoned {
            self.rebuild_where(header, |_, slot| slot.free_link().load(Relaxed) != TAKEN);
        }
        held
    }

    /// Gives a slot back.
    pub fn give(&self, header: &ArenaHeader, index: u32, scope: Scope) {
        let Some(slot) = self.get(index) else { return };
        let _held = self.lock(header, scope);
        self.append(header, index, slot);
    }

    fn append(&self, header: &ArenaHeader, index: u32, slot: &T) {
        slot.free_link().store(0, Relaxed);
        let last = header.tail.load(Relaxed);
        match self.get(last).filter(|_| header.head.load(Relaxed) != 0) {
            Some(last) => last.free_link().store(index, Relaxed),
            None => header.head.store(index, Relaxed),
        }
        header.tail.store(index, Relaxed);
    }

    /// Rebuilds the free list from the slots that `is_free` accepts.
    fn rebuild_where(&self, header: &ArenaHeader, is_free: impl Fn(u32, &T) -> bool) {
        header.head.store(0, Relaxed);
        for index in 1..header.fresh.load(Relaxed) {
            match self.get(index) {
                Some(slot) if is_free(index, slot) => self.append(header, index, slot),
                Some(slot) => slot.free_link().store(TAKEN, Relaxed),
                None => break,
            }
        }
    }

    /// Copies the slots ever taken for the child of a fork, each while `lock` holds it still.
    pub fn copy<'a, G>(
        &'a self,
        header: &ArenaHeader,
        copy: &mut Copy,
        lock: impl Fn(u32, &'a T) -> G,
    ) -> Result<(), Errno> {
        self.slots.copy(copy, 1..header.fresh.load(Acquire), lock)
    }

    /// In the child of a fork, on its own copy of the memory: all usable slots, those never taken included.
    pub fn usable(&self) -> impl Iterator<Item = (u32, &T)> {
        (1..self.slots.opened()).map_while(|index| Some((index, self.get(index)?)))
    }

    /// In the child of a fork, on its own copy of the memory: makes the lock free and keeps the slots that `is_used`
    /// accepts.
    pub fn reset(&self, header: &ArenaHeader, is_used: impl Fn(u32, &T) -> bool) {
        header.lock.reset();
        header.growth.reset();
        self.rebuild_where(header, |index, slot| !is_used(index, slot));
    }

    /// All slots ever taken, with their indexes.
    pub fn iter<'a>(&'a self, header: &'a ArenaHeader) -> impl Iterator<Item = (u32, &'a T)> {
        (1..header.fresh.load(Acquire)).map_while(|index| Some((index, self.get(index)?)))
    }
}

#[cfg(not(loom))]
impl<T: Slot> Default for Arena<T> {
    fn default() -> Self {
        Arena::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    zeroed_struct! {
        struct Thing {
            free: AtomicU32,
            pad: [AtomicU32; 7],
        }
    }

    impl Slot for Thing {
        fn free_link(&self) -> &AtomicU32 {
            &self.free
        }
    }

    #[test]
    fn slots_are_reused_oldest_first() {
        let arena: Arena<Thing> = Arena::in_memory(4);
        let header = ArenaHeader::zeroed();
        let take = || arena.take(&header, Scope::Private, Array::grow);
        assert_eq!([take(), take(), take(), take()], [Ok(1), Ok(2), Ok(3), Ok(4)]);
        assert_eq!(take(), Err(Errno::NOMEM));
        for index in [3, 1, 2] {
            arena.give(&header, index, Scope::Private);
        }
        assert_eq!([take(), take(), take()], [Ok(3), Ok(1), Ok(2)]);
        assert_eq!(take(), Err(Errno::NOMEM));
    }

    #[test]
    fn a_free_list_left_half_changed_is_rebuilt() {
        let arena: Arena<Thing> = Arena::in_memory(4);
        let header = ArenaHeader::zeroed();
        for _ in 0..4 {
            arena.take(&header, Scope::Private, Array::grow).unwrap();
        }
        arena.give(&header, 2, Scope::Private);
        arena.give(&header, 4, Scope::Private);
        std::thread::scope(|s| {
            s.spawn(|| {
                // Dies between the two stores of `take`.
                let held = header.lock.lock(Scope::Private);
                arena.get(2).unwrap().free_link().store(TAKEN, Relaxed);
                std::mem::forget(held);
            });
        });
        assert_eq!(arena.take(&header, Scope::Private, Array::grow), Ok(4));
        assert_eq!(arena.take(&header, Scope::Private, Array::grow), Err(Errno::NOMEM));
    }

    #[test]
    fn an_array_grows_in_a_segment_up_to_its_capacity() {
        let region = Region { offset: page_size(), capacity: 3000 };
        let len = region.offset + Region::bytes::<Thing>(region.capacity);
        let segment = Box::leak(Box::new(Segment::reserve(len).unwrap()));
        let array: Array<Thing> = Array::new();
        assert!(array.get(0).is_none());
        array.place(segment, region);
        assert!(array.get(0).is_none());
        let grown = array.grown(1);
        array.grow(1).unwrap();
        assert_eq!(array.opened() as usize, CHUNK / size_of::<Thing>());
        assert_eq!(array.opened(), grown);
        array.get(5).unwrap().free.store(9, Relaxed);
        array.grow(3000).unwrap();
        assert_eq!(array.opened(), 3000);
        assert_eq!(array.get(5).unwrap().free.load(Relaxed), 9);
        assert!(array.get(3000).is_none());
        assert_eq!(array.grow(3001), Err(Errno::NOMEM));
    }
}
