//! Pools: blocks of memory out of an extent, for heaps and for the messages of queues.
//!
//! An extent of a pool begins with a header, the page map and the owner's records; the user area, pages of 512 bytes, lies behind
//! them. So what the program writes past a block's end never hits them, and every byte of the user area can be had.
//!
//! Blocks below 512 bytes come from pages that are cut into 16, 32, 64, 128 or 256 bytes, with a bitmap for each page. Larger ones
//! are ranges of pages. Free ranges are in lists by length: one for each length below 64 pages, eight for each power of two above.
//! A freed range is merged with its neighbours at once.
//!
//! *The truth is in the page map*: the tag of the first page of each range, and the bitmaps. Each change of it is one store, and the
//! lists and counts follow from it. So [`Pool::rebuild`] makes a pool whole again whose lock holder died at any point. It also
//! copes with a map whose parts are not of one moment, as the child of a fork finds it.
//!
//! Every method needs the lock of the object that owns the pool. Fields are atomics because the memory is shared, not because they
//! race; Release marks the stores that the others must not overtake.
//!
//! # Safety
//!
//! Unsafe code here turns the beginning of an extent into references to atomics. It relies on the extent being as long as the
//! pool's shape says, zeroed when the pool was made, and not released while a [`Pool`] exists.

#![allow(unsafe_code)]

mod ranges;
mod rebuild;
#[cfg(all(test, not(loom)))]
mod tests;

use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::Errno;
use crate::atomic::{AtomicU32, AtomicU64, Ordering::*, Zeroed};
use crate::extent::Extent;
use crate::zeroed_struct;

/// The size of a page of a pool in bytes.
pub const PAGE: u64 = 512;

/// The size of the largest blocks of which a page has several.
const HALF: u64 = PAGE / 2;

/// How many pages a pool may have.
pub const MAX_PAGES: u64 = 1 << 27;

/// The user area begins at a multiple of this.
const ALIGNMENT: u64 = 4096;

/// Left free in front of the user area and behind it: for what a program writes in front of its first block and behind its last
/// one, and so that the address where the area ends, the content of an empty message there, is the pool's.
const GAP: u64 = 64;

/// Block sizes below a page: 16 << class.
const CLASSES: usize = 5;
const MIN_SHIFT: u32 = 4;

/// Free ranges of fewer pages have a list for each length.
const EXACT: u32 = 64;
const BINS: usize = 256;

/// `Page::tag`: not the first page of anything.
const INSIDE: u32 = 0;
/// `Page::tag`: the first page of a free range. The low bits are its length.
const FREE: u32 = 1 << 28;
/// `Page::tag`: the last page of a free range of more than one page. The low bits are its length.
const END: u32 = 2 << 28;
/// `Page::tag`: the first page of a block. The low bits are its length.
const LARGE: u32 = 3 << 28;
/// `Page::tag`: cut into small blocks. The low bits are the class.
const SMALL: u32 = 4 << 28;
const KIND: u32 = 7 << 28;

/// `Header::pins`: the owner is gone; the last pin takes the extent away.
const ORPHAN: u32 = 1 << 31;

zeroed_struct! {
    struct Header {
        /// Bytes in live blocks.
        used: AtomicU64,
        /// The block that was allocated last, plus one, until the owner says that its user is known.
        claim: AtomicU64,
        /// Whom the owner is allocating for, as it likes.
        claimant: AtomicU32,
        /// Users of the memory that the pool must not be taken away from.
        pins: AtomicU32,
        /// The owner's own.
        words: [AtomicU32; 8],
        /// Page plus one: the first of the pages of a class that have room.
        open: [AtomicU32; CLASSES],
        /// Page plus one: the page of a class that is kept although it is empty.
        empty: [AtomicU32; CLASSES],
        pad: [AtomicU32; 4],
        /// Which bins are not empty.
        occupied: [AtomicU64; BINS / 64],
        /// Page plus one: the first free range of a bin.
        bins: [AtomicU32; BINS],
    }
}

zeroed_struct! {
    struct Page {
        tag: AtomicU32,
        /// Of a small page: which blocks are live.
        bits: AtomicU32,
        /// Page plus one, in the list that this page is in.
        next: AtomicU32,
        prev: AtomicU32,
    }
}

const _: () = assert!(size_of::<Header>().is_multiple_of(16) && size_of::<Page>() == 16);

/// What uses a pool.
pub trait Owner {
    /// What the owner keeps about blocks, out of the program's reach.
    type Record: Zeroed;
    /// Records for each page. The owner allocates no blocks smaller than a page by this.
    const RECORDS: u32;
    /// Called between the stores of a change, for tests that stop there.
    #[inline(always)]
    fn step(_label: &'static str) {}
}

zeroed_struct! {
    /// Where an object's pool is; part of the object's slot. Constant while the object is live.
    pub struct PoolPlace {
        offset: AtomicU64,
        len: AtomicU64,
        pages: AtomicU32,
        /// Where in the extent the user area begins, in units of its alignment.
        user: AtomicU32,
    }
}

/// A pool, attached. Small, and passed by value to whatever is not inlined: so that its fields stay in registers.
pub struct Pool<'a, O: Owner> {
    header: &'a Header,
    pages: u32,
    /// How far behind the header the user area begins.
    user: u64,
    owner: PhantomData<&'a O>,
}

impl<O: Owner> Clone for Pool<'_, O> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<O: Owner> Copy for Pool<'_, O> {}

/// A live block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Offset in the user area.
    pub at: u64,
    /// Size in bytes, as counted.
    pub size: u64,
    /// Of its first page.
    tag: u32,
    /// Of a small block: its bit in the page's bitmap.
    bit: u32,
}

/// The size of the block that a request for so many bytes gets; `None` if it does not fit into 64 bits.
#[inline]
pub fn block_size(bytes: u64) -> Option<u64> {
    if bytes <= HALF { Some(16 << class_of(bytes.max(1))) } else { bytes.checked_next_multiple_of(PAGE) }
}

/// The class of a request of at most half a page.
#[inline(always)]
fn class_of(bytes: u64) -> u32 {
    // The number of bits of the largest offset in the block, less those of 16 bytes.
    ((bytes - 1) | 15).ilog2() + 1 - MIN_SHIFT
}

/// Which blocks a page of this class has.
#[inline(always)]
fn all_of(class: u32) -> u32 {
    const ALL: [u32; CLASSES] = [u32::MAX, 0xffff, 0xff, 0xf, 0x3];
    ALL.get(class as usize).copied().unwrap_or(0)
}

#[inline(always)]
fn lowest(bits: u32) -> u32 {
    bits & bits.wrapping_neg()
}

/// The list for free ranges of this many pages.
fn bin_of(pages: u32) -> usize {
    if pages < EXACT {
        return pages as usize;
    }
    let top = pages.ilog2();
    (EXACT + (top - EXACT.ilog2()) * 8 + (pages >> (top - 3) & 7)) as usize
}

fn user_start<O: Owner>(pages: u64) -> u64 {
    let map = pages * size_of::<Page>() as u64;
    let records = pages * u64::from(O::RECORDS) * size_of::<O::Record>() as u64;
    (size_of::<Header>() as u64 + map + records + GAP).next_multiple_of(ALIGNMENT)
}

/// The memory of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    /// All of it.
    pub extent: Extent,
    pages: u32,
    /// See `PoolPlace::user`.
    user: u32,
}

/// Memory for a pool of so many bytes, all free. `NOMEM` if there is none, or not so much.
pub fn obtain<O: Owner>(bytes: u64) -> Result<Area, Errno> {
    let pages = bytes.div_ceil(PAGE);
    if !(1..=MAX_PAGES).contains(&pages) {
        return Err(Errno::NOMEM);
    }
    let user = user_start::<O>(pages);
    let len = usize::try_from(user + pages * PAGE + GAP).map_err(|_| Errno::NOMEM)?;
    let area = Area { extent: Extent::obtain(len)?, pages: pages as u32, user: (user / ALIGNMENT) as u32 };
    let place = PoolPlace::zeroed();
    place.set(area);
    // SAFETY: nobody else knows the memory.
    if let Some(pool) = unsafe { place.attach::<O>() } {
        pool.put_free(0, area.pages);
    }
    Ok(area)
}

impl PoolPlace {
    /// Says where the pool is.
    pub fn set(&self, area: Area) {
        self.offset.store(area.extent.offset, Relaxed);
        self.len.store(area.extent.len, Relaxed);
        self.pages.store(area.pages, Relaxed);
        self.user.store(area.user, Relaxed);
    }

    /// The memory.
    pub fn extent(&self) -> Extent {
        Extent { offset: self.offset.load(Relaxed), len: self.len.load(Relaxed) }
    }

    /// The size of the user area in bytes.
    pub fn usable(&self) -> u64 {
        u64::from(self.pages.load(Relaxed)) * PAGE
    }

    /// Takes the memory out, when the object ends: nobody finds it any more.
    pub fn take(&self) -> Extent {
        let extent = self.extent();
        self.len.store(0, Relaxed);
        extent
    }

    /// Where the pool is in this process. May be asked without the lock, before it is known whether the object is live.
    #[inline(always)]
    pub fn locate(&self) -> Location {
        let header = self.extent().start().map_or(core::ptr::null_mut(), |start| start.as_ptr().cast());
        let user = u64::from(self.user.load(Relaxed)) * ALIGNMENT;
        Location { header, pages: self.pages.load(Relaxed), user }
    }

    /// The pool, if there is one.
    ///
    /// # Safety
    ///
    /// As for [`Location::attach`].
    #[inline(always)]
    pub unsafe fn attach<O: Owner>(&self) -> Option<Pool<'_, O>> {
        // SAFETY: the caller's contract.
        unsafe { self.locate().attach() }
    }
}

/// Where a pool is in this process, or is not any more.
#[derive(Clone, Copy)]
pub struct Location {
    header: *const Header,
    pages: u32,
    user: u64,
}

impl Location {
    /// The pool, if there is one.
    ///
    /// # Safety
    ///
    /// What was `set` came from [`obtain`] of the same owner, was set already when it was located, and is not released for the life of
    /// the result.
    #[inline(always)]
    pub unsafe fn attach<'a, O: Owner>(self) -> Option<Pool<'a, O>> {
        // SAFETY: the extent begins with a header; the caller vouches for the life of the memory.
        let header = unsafe { self.header.as_ref() }?;
        Some(Pool { header, pages: self.pages, user: self.user, owner: PhantomData })
    }
}

impl<'a, O: Owner> Pool<'a, O> {
    /// The page map.
    #[inline(always)]
    fn map(self) -> &'a [Page] {
        // SAFETY: it lies behind the header, in the extent that the header was found in; all of it is atomics, zeroed at first.
        unsafe {
            let start = core::ptr::from_ref(self.header).add(1).cast();
            core::slice::from_raw_parts(start, self.pages as usize)
        }
    }

    /// The owner's records.
    #[inline(always)]
    fn records(self) -> &'a [O::Record] {
        // SAFETY: they lie behind the page map; otherwise as there.
        unsafe {
            let start = self.map().as_ptr().add(self.pages as usize).cast();
            core::slice::from_raw_parts(start, self.pages as usize * O::RECORDS as usize)
        }
    }

    /// Allocates a block of at least this many bytes. `None` if there is none, and for 0 bytes.
    pub fn alloc(self, bytes: u64) -> Option<Block> {
        match bytes {
            0 => None,
            1..=HALF => self.alloc_at_once(bytes).or_else(|| {
                self.open_page(class_of(bytes))?;
                self.alloc_at_once(bytes)
            }),
            _ => self.alloc_large(bytes),
        }
    }

    /// A small block out of a page that is open. Inlined, and calls nothing.
    #[inline(always)]
    pub fn alloc_at_once(self, bytes: u64) -> Option<Block> {
        if !(1..=HALF).contains(&bytes) {
            return None;
        }
        let class = class_of(bytes);
        let (open, empty) = self.lists(class)?;
        let first = open.load(Relaxed);
        let page = self.linked(first)?;
        let bits = page.bits.load(Relaxed);
        let free = !bits & all_of(class);
        if free == 0 {
            return None;
        }
        let next = bits | lowest(free);
        let at = u64::from(first - 1) * PAGE + (u64::from(free.trailing_zeros()) << (MIN_SHIFT + class));
        let block = Block { at, size: 16 << class, tag: SMALL | class, bit: lowest(free) };
        self.header.claim.store(at + 1, Relaxed);
        O::step("pool: claimed a small block");
        // The change. Release: the claim is there before.
        page.bits.store(next, Release);
        O::step("pool: took a small block");
        if empty.load(Relaxed) == first {
            empty.store(0, Relaxed);
        }
        if next == all_of(class) {
            self.unlink(open, first - 1);
            O::step("pool: closed a full page");
        }
        self.add_used(block.size);
        Some(block)
    }

    /// The lists of a class: the pages that have room, and the one that is kept empty.
    #[inline(always)]
    fn lists(self, class: u32) -> Option<(&'a AtomicU32, &'a AtomicU32)> {
        let class = class as usize;
        Some((self.header.open.get(class)?, self.header.empty.get(class)?))
    }

    /// Cuts a page into blocks, unless one with room is open.
    fn open_page(self, class: u32) -> Option<()> {
        let (open, empty) = self.lists(class)?;
        if open.load(Relaxed) == 0 {
            let page = self.take_range(1, SMALL | class)?;
            self.link(open, page);
            O::step("pool: opened a page");
            empty.store(page + 1, Relaxed);
        }
        Some(())
    }

    fn alloc_large(self, bytes: u64) -> Option<Block> {
        let pages = bytes.div_ceil(PAGE);
        if pages > u64::from(self.pages) {
            return None;
        }
        let tag = LARGE | pages as u32;
        let page = self.take_range(pages as u32, tag)?;
        let block = Block { at: u64::from(page) * PAGE, size: pages * PAGE, tag, bit: 0 };
        self.add_used(block.size);
        Some(block)
    }

    /// The live block that begins here, if there is one.
    #[inline(always)]
    pub fn block(self, at: u64) -> Option<Block> {
        self.small_block(at).or_else(|| {
            let tag = self.map().get((at / PAGE) as usize)?.tag.load(Relaxed);
            let size = u64::from(tag & !KIND) * PAGE;
            (tag & KIND == LARGE && at.is_multiple_of(PAGE)).then_some(Block { at, size, tag, bit: 0 })
        })
    }

    /// The live block that begins here, if there is one and it is small.
    #[inline(always)]
    pub fn small_block(self, at: u64) -> Option<Block> {
        let page = self.map().get((at / PAGE) as usize)?;
        let tag = page.tag.load(Relaxed);
        let class = tag & !KIND;
        if tag & KIND != SMALL || class as usize >= CLASSES {
            return None;
        }
        let size = 16 << class;
        let bit = 1 << ((at % PAGE) >> (MIN_SHIFT + class));
        (at & (size - 1) == 0 && page.bits.load(Relaxed) & bit != 0).then_some(Block { at, size, tag, bit })
    }

    /// Frees the block that begins here. `None`, and nothing happens, if no live block does.
    pub fn free(self, at: u64) -> Option<Block> {
        let block = self.block(at)?;
        self.free_block(block)?;
        Some(block)
    }

    /// Frees a block that [`Pool::block`] or [`Pool::alloc`] has just found live.
    pub fn free_block(self, block: Block) -> Option<()> {
        if block.tag & KIND == SMALL {
            return self.free_at_once(block).or_else(|| self.free_last(block));
        }
        self.free_range((block.at / PAGE) as u32, block.tag & !KIND);
        self.drop_used(block.size);
        Some(())
    }

    /// As [`Pool::free_block`], of a small block, unless another page has to be given back for it. Inlined, and calls nothing.
    #[inline(always)]
    pub fn free_at_once(self, block: Block) -> Option<()> {
        if block.tag & KIND != SMALL {
            return None;
        }
        let (number, class) = ((block.at / PAGE) as u32, block.tag & !KIND);
        let (open, empty) = self.lists(class)?;
        let page = self.map().get(number as usize)?;
        let (bits, bit) = (page.bits.load(Relaxed), block.bit);
        if bits == bit {
            // One empty page is kept, so that a block that comes and goes does not cost more.
            if empty.load(Relaxed) != 0 {
                return None;
            }
            empty.store(number + 1, Relaxed);
            O::step("pool: keeps an empty page");
        }
        // The change.
        page.bits.store(bits & !bit, Release);
        O::step("pool: freed a small block");
        if bits == all_of(class) {
            self.link(open, number);
            O::step("pool: opened a page that was full");
        }
        self.drop_used(block.size);
        Some(())
    }

    /// Whether [`Pool::free_at_once`] would do it.
    #[inline(always)]
    pub fn frees_at_once(self, block: Block) -> bool {
        let Some((_, empty)) = self.lists(block.tag & !KIND) else { return false };
        let Some(page) = self.map().get((block.at / PAGE) as usize) else { return false };
        block.tag & KIND == SMALL && (page.bits.load(Relaxed) != block.bit || empty.load(Relaxed) == 0)
    }

    /// Frees the only block of a page, and the page.
    fn free_last(self, block: Block) -> Option<()> {
        let number = (block.at / PAGE) as u32;
        let (open, _) = self.lists(block.tag & !KIND)?;
        let page = self.map().get(number as usize)?;
        // The change.
        page.bits.store(0, Release);
        O::step("pool: freed a page's last block");
        self.unlink(open, number);
        O::step("pool: closed an empty page");
        self.free_range(number, 1);
        self.drop_used(block.size);
        Some(())
    }

    #[inline(always)]
    fn add_used(self, bytes: u64) {
        self.header.used.store(self.used() + bytes, Relaxed);
    }

    #[inline(always)]
    fn drop_used(self, bytes: u64) {
        self.header.used.store(self.used().wrapping_sub(bytes), Relaxed);
    }

    /// Bytes in live blocks.
    #[inline]
    pub fn used(self) -> u64 {
        self.header.used.load(Relaxed)
    }

    /// The size of the user area in bytes.
    #[inline]
    pub fn usable(self) -> u64 {
        u64::from(self.pages) * PAGE
    }

    /// The address of a byte of the user area, or of its end, in this process.
    #[inline]
    pub fn address(self, at: u64) -> Option<NonNull<u8>> {
        let start = core::ptr::from_ref(self.header).addr() as u64 + self.user;
        if at <= self.usable() {
            NonNull::new(core::ptr::with_exposed_provenance_mut((start + at) as usize))
        } else {
            None
        }
    }

    /// The address `distance` bytes into a block that has just been found live. It is inside, or the block's end.
    #[inline(always)]
    pub fn address_in(self, block: Block, distance: u64) -> NonNull<u8> {
        let start = core::ptr::from_ref(self.header).addr() as u64 + self.user;
        let at = start + block.at + distance;
        // SAFETY: not zero, as it is greater than the header's address.
        unsafe { NonNull::new_unchecked(core::ptr::with_exposed_provenance_mut(at as usize)) }
    }

    /// Where in the user area this address lies, if it does, or is its end.
    #[inline]
    pub fn offset_of(self, address: *const u8) -> Option<u64> {
        let start = core::ptr::from_ref(self.header).addr() as u64 + self.user;
        Some((address.addr() as u64).wrapping_sub(start)).filter(|&at| at <= self.usable())
    }

    /// The record of the block that begins here.
    #[inline]
    pub fn record(self, at: u64) -> Option<&'a O::Record> {
        self.record_by_index((at / (PAGE / u64::from(O::RECORDS.max(1)))) as u32)
    }

    /// The record of this number: those of a page are numbered from page × [`Owner::RECORDS`] on.
    #[inline]
    pub fn record_by_index(self, index: u32) -> Option<&'a O::Record> {
        self.records().get(index as usize)
    }

    /// One of eight words for the owner's own use, zero at first. Others do not exist.
    #[inline]
    pub fn word(self, number: usize) -> &'a AtomicU32 {
        &self.header.words[number % 8]
    }

    /// Says whom the owner is going to allocate for.
    #[inline]
    pub fn claim_for(self, whom: u32) {
        self.header.claimant.store(whom, Relaxed);
    }

    /// The block that was allocated last, and for whom, if nobody has settled that since.
    pub fn claim(self) -> Option<(u64, u32)> {
        Some((self.header.claim.load(Relaxed).checked_sub(1)?, self.header.claimant.load(Relaxed)))
    }

    /// Whoever the last block was allocated for has it.
    #[inline]
    pub fn settle(self) {
        // Release: what the owner did for the block comes before.
        self.header.claim.store(0, Release);
    }

    /// One more user whom the memory must not be taken away from; see [`unpin`].
    pub fn pin(self) {
        self.header.pins.fetch_add(1, Relaxed);
    }

    /// In the child of a fork, for an object that is live: nobody is taking its memory away.
    pub fn adopt(self) {
        self.header.pins.fetch_and(!ORPHAN, Relaxed);
    }
}

fn pins(extent: Extent) -> Option<NonNull<AtomicU32>> {
    let header = extent.start()?.cast::<Header>();
    // SAFETY: inside the header.
    Some(unsafe { NonNull::new_unchecked(&raw mut (*header.as_ptr()).pins) })
}

/// Takes away the memory of a pool whose owner has ended: now, or when the last pin is gone.
///
/// # Safety
///
/// The extent is that of a pool. Nobody uses it any more but those who have it pinned. Once for each pool.
pub unsafe fn abandon(extent: Extent) {
    let Some(pins) = pins(extent) else { return };
    // SAFETY: the caller's contract. AcqRel: what the others did with the memory comes before its release.
    if unsafe { pins.as_ref() }.fetch_or(ORPHAN, AcqRel) == 0 {
        // SAFETY: the caller's contract.
        unsafe { extent.release() };
    }
}

/// Takes a pin back. The last one of a pool without owner takes the memory away.
///
/// # Safety
///
/// The caller has a pin on the pool of this extent, and does not use the memory any more.
pub unsafe fn unpin(extent: Extent) {
    let Some(pins) = pins(extent) else { return };
    // SAFETY: pinned until here. AcqRel as in `abandon`.
    if unsafe { pins.as_ref() }.fetch_sub(1, AcqRel) == ORPHAN + 1 {
        // SAFETY: no owner, no other pin.
        unsafe { extent.release() };
    }
}
