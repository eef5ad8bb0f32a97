//! Heaps: `rt_heap_*`.
//!
//! A heap is a pool of memory (`posix_backend::pool`) with waiters: whoever asks for more than there is waits until enough has been
//! freed. Each free goes through all waiters in order, in the same critical section, and gives those their blocks whose requests
//! fit now; the others keep their places. A block belongs to its waiter from that moment on.
//!
//! A waiter's `ask`: the size, and whether the memory is to be pinned. Its `result`: the block's offset.
//!
//! # Safety
//!
//! Unsafe code here attaches to the pool. That is done under the slot's lock while the object is live; the deleter takes the
//! memory out of the slot under that lock, and gives it back after that.

#![allow(unsafe_code)]

mod api;
#[cfg(test)]
mod tests;

use core::ptr::NonNull;

use posix_backend::arena::Arena;
use posix_backend::atomic::{AtomicU32, AtomicU64, Ordering::*};
use posix_backend::extent::Extent;
use posix_backend::pool::{self, Owner, Pool, PoolPlace};
use posix_backend::zeroed_struct;

pub use api::{Block, Heap, HeapRef};

use crate::error::{Error, Result};
use crate::handle::{Handle, Kind};
use crate::head::{Head, Object, Place};
use crate::name::Name;
use crate::space::{Me, Space};
use crate::step::step;
use crate::task::slot::ThreadSlot;
use crate::time::Timeout;
use crate::wait;

/// Heaps are smaller than this many bytes.
const SIZE_LIMIT: u64 = 1 << 31;

bitflags::bitflags! {
    /// How a heap is made.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Mode: u32 {
        /// Waiters are served by priority, equals in order of arrival; without it, all in order of arrival (`H_PRIO`).
        const PRIORITY = 1;
        /// The heap is one block, which all callers share (`H_SINGLE`).
        const SINGLE = 4;
    }
}

zeroed_struct! {
    /// A heap in the segment.
    pub(crate) struct HeapSlot {
        pub head: Head,
        memory: PoolPlace,
        mode: AtomicU32,
        pad: AtomicU32,
        /// As asked for at creation.
        size: AtomicU64,
    }
}

const _: () = assert!(size_of::<HeapSlot>() == 128);

/// What pools need to know of heaps.
pub(crate) struct Heaps;

impl Owner for Heaps {
    type Record = AtomicU32;
    const RECORDS: u32 = 0;

    #[inline(always)]
    fn step(label: &'static str) {
        step(label);
    }
}

/// What a caller asks for.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub size: u64,
    /// The memory is not to be taken away, even if the heap is deleted, before it is unpinned.
    pub pinned: bool,
    /// The size is to be right even if the block of a single-block heap is there already.
    pub strict: bool,
}

/// A block.
#[derive(Clone, Copy)]
pub(crate) struct Granted {
    pub at: u64,
    pub address: NonNull<u8>,
    pub extent: Extent,
}

/// What a look at a heap shows: one consistent snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// Threads waiting for memory.
    pub waiters: u32,
    /// As given at creation.
    pub mode: Mode,
    /// As given at creation, in bytes.
    pub size: u64,
    /// Bytes that blocks can have in all.
    pub usable: u64,
    /// Bytes that live blocks have, rounding included.
    pub used: u64,
    /// The name, given or generated.
    pub name: Name,
}

impl Object for HeapSlot {
    const KIND: Kind = Kind::Heap;
    const RADIX: &'static str = "heap";
    /// Each needs an area, too.
    const SCARCITY: u32 = 6;

    #[inline]
    fn head(&self) -> &Head {
        &self.head
    }

    #[inline]
    fn arena(space: &Space) -> &Arena<Self> {
        &space.heaps
    }

    fn rank(&self, _index: u32, thread: &ThreadSlot) -> u32 {
        if self.mode().contains(Mode::PRIORITY) { thread.priority.load(Relaxed) } else { 0 }
    }

    fn repair(&self, space: &Space) {
        let Some(pool) = self.pool() else { return };
        let claim = pool.claim();
        pool.rebuild(|block| match claim {
            // Nobody knows of the block but the holder that died, unless it had given it to a waiter.
            Some((at, whom)) if at == block.at => self.is_granted(space, whom, at),
            _ => true,
        });
    }

    fn inherit(&self, _space: &Space, _index: u32, _me: u32) {
        if !self.head.state.load().is_live() {
            return;
        }
        self.head.state.clear_waiters();
        if let Some(pool) = self.pool() {
            pool.adopt();
            // Whoever was allocating is not here.
            let claim = pool.claim().map(|(at, _)| at);
            pool.rebuild(|block| Some(block.at) != claim);
        }
    }
}

impl HeapSlot {
    fn mode(&self) -> Mode {
        Mode::from_bits_retain(self.mode.load(Relaxed))
    }

    /// The memory. Under the lock, of a live heap.
    #[inline(always)]
    fn pool(&self) -> Option<Pool<'_, Heaps>> {
        // SAFETY: see the module.
        unsafe { self.memory.attach() }
    }

    /// Whether a block was decided to be this waiter's before the holder died.
    fn is_granted(&self, space: &Space, whom: u32, at: u64) -> bool {
        let here = space.heaps.slots().index_of(core::ptr::from_ref(self).addr());
        space.threads.get(whom).filter(|_| whom != 0).is_some_and(|thread| {
            let on = Handle::from_word(thread.node.waiting_on.load(Relaxed));
            thread.node.decision() == Some(wait::GRANTED)
                && on.is(Kind::Heap)
                && Some(on.index()) == here
                && thread.node.result.load(Relaxed) == at
        })
    }

    /// Under the lock: a block if there is one now.
    fn take(&self, handle: Handle, request: &Request) -> Result<Option<Granted>> {
        handle.check(self.head.state.load())?;
        let pool = self.pool().ok_or(Error::Invalid)?;
        let at = if self.mode().contains(Mode::SINGLE) {
            let first = pool.used() == 0;
            if (first || request.strict) && request.size != 0 && request.size != self.size.load(Relaxed) {
                return Err(Error::Invalid);
            }
            if first && pool.alloc(pool.usable()).is_none() {
                return Ok(None);
            }
            // It is the whole area.
            0
        } else {
            if request.size > pool.usable() {
                return Err(Error::Invalid);
            }
            let Some(block) = pool.alloc(request.size) else { return Ok(None) };
            block.at
        };
        step("heap: allocated");
        if request.pinned {
            pool.pin();
        }
        let granted = pool.address(at).map(|address| Granted { at, address, extent: self.memory.extent() });
        pool.settle();
        Ok(granted)
    }

    /// Under the lock: blocks for all waiters whose requests fit now. Decides only.
    #[cold]
    fn serve(&self, space: &Space, place: &Place<'_>, pool: &Pool<'_, Heaps>) {
        let mut at = place.site.first();
        while let Some(thread) = space.threads.get(at).filter(|_| at != 0) {
            let next = place.site.after(space, at);
            pool.claim_for(at);
            if let Some(block) = pool.alloc(thread.ask[0].load(Relaxed)) {
                if thread.ask[1].load(Relaxed) != 0 {
                    pool.pin();
                }
                thread.node.result.store(block.at, Relaxed);
                step("heap: allocated for a waiter");
                place.site.decide(space, at, wait::GRANTED);
                step("heap: decided for a waiter");
                pool.settle();
            }
            at = next;
        }
        pool.claim_for(0);
    }
}

pub(crate) fn create(space: &Space, name: Name, size: u64, mode: Mode, ready: impl FnOnce(Handle)) -> Result<Handle> {
    if !(1..SIZE_LIMIT).contains(&size) || !Mode::all().contains(mode) {
        return Err(Error::Invalid);
    }
    let area = pool::obtain::<Heaps>(size).map_err(|_| Error::NoMemory)?;
    let fill = |slot: &HeapSlot| {
        slot.memory.set(area);
        slot.mode.store(mode.bits(), Relaxed);
        slot.size.store(size, Relaxed);
    };
    let ready = |handle, _| {
        ready(handle);
        Ok(())
    };
    space.create::<HeapSlot>(name, (false, 0), fill, ready).inspect_err(|_| {
        // SAFETY: the heap never became live: nobody has used the memory.
        unsafe { pool::abandon(area.extent) };
    })
}

pub(crate) fn delete(space: &Space, handle: Handle) -> Result<()> {
    let extent = space.delete_with(handle, |_| Ok(()), |slot: &HeapSlot| slot.memory.take())?;
    // SAFETY: it is out of the slot, which was the only way to it. Once, since one deleter wins.
    unsafe { pool::abandon(extent) };
    Ok(())
}

/// Allocates a block that is there, if nobody waits; see [`Space::attempt`]. `LEAF`: in line, if that needs no call.
#[inline(always)]
pub(crate) fn alloc_uncontended<const LEAF: bool>(space: &Space, handle: Handle, size: u64) -> Option<NonNull<u8>> {
    let slot = space.candidate::<HeapSlot>(handle)?;
    let (memory, mode) = (slot.memory.locate(), slot.mode());
    let attempt = space.attempt(slot, handle)?;
    // SAFETY: see the module; the heap is live, and the lock is held.
    let allocated = unsafe { memory.attach() }.and_then(|pool| alloc_now::<LEAF>(pool, mode, size));
    attempt.leave_with(space.scope, allocated)
}

/// Frees a block, likewise.
#[inline(always)]
pub(crate) fn free_uncontended<const LEAF: bool>(space: &Space, handle: Handle, address: *const u8) -> bool {
    let Some(slot) = space.candidate::<HeapSlot>(handle) else { return false };
    let (memory, mode) = (slot.memory.locate(), slot.mode());
    let Some(attempt) = space.attempt(slot, handle) else { return false };
    // SAFETY: as in `alloc_uncontended`.
    let freed = unsafe { memory.attach() }.and_then(|pool| free_now::<LEAF>(pool, mode, address));
    attempt.leave_with(space.scope, freed.is_some())
}

/// Under the lock: a block, unless there is more to it.
#[inline(always)]
fn alloc_now<const LEAF: bool>(pool: Pool<'_, Heaps>, mode: Mode, size: u64) -> Option<NonNull<u8>> {
    if mode.contains(Mode::SINGLE) {
        return None;
    }
    let block = if LEAF { pool.alloc_at_once(size) } else { pool.alloc(size) }?;
    step("heap: allocated");
    let address = pool.address_in(block, 0);
    pool.settle();
    Some(address)
}

/// Under the lock: frees a block, likewise.
#[inline(always)]
fn free_now<const LEAF: bool>(pool: Pool<'_, Heaps>, mode: Mode, address: *const u8) -> Option<()> {
    if mode.contains(Mode::SINGLE) {
        return None;
    }
    let at = pool.offset_of(address)?;
    if LEAF { pool.free_at_once(pool.small_block(at)?) } else { pool.free_block(pool.block(at)?) }
}

/// Allocates a block, waiting for it as long as `timeout` says.
pub(crate) fn alloc<'a>(
    space: &'a Space,
    handle: Handle,
    request: Request,
    timeout: Timeout,
    me: impl FnOnce() -> Result<Me<'a>>,
) -> Result<Granted> {
    let slot = space.object::<HeapSlot>(handle)?;
    let place = slot.head.place(handle);
    if let Some(granted) = space.section(&place, || slot.take(handle, &request))? {
        return Ok(granted);
    }
    alloc_slow(space, slot, &place, request, timeout, me)
}

#[cold]
fn alloc_slow<'a>(
    space: &'a Space,
    slot: &HeapSlot,
    place: &Place<'_>,
    request: Request,
    timeout: Timeout,
    me: impl FnOnce() -> Result<Me<'a>>,
) -> Result<Granted> {
    let handle = place.id;
    let (me, deadline) = timeout.admit(me)?;
    let queued = space.section(place, || -> Result<_> {
        if let Some(granted) = slot.take(handle, &request)? {
            return Ok(Err(granted));
        }
        // Before the wait: after it the slot may be another's.
        let extent = slot.memory.extent();
        let start = slot.pool().and_then(|pool| pool.address(0)).ok_or(Error::Invalid)?;
        space.prepare(&me, place, deadline)?;
        me.slot.ask[0].store(request.size, Relaxed);
        me.slot.ask[1].store(request.pinned.into(), Relaxed);
        place.site.enqueue(space, me.index, slot.rank(me.index, me.slot));
        Ok(Ok((extent, start)))
    });
    let (extent, start) = match queued? {
        Ok(area) => area,
        Err(granted) => return Ok(granted),
    };
    let outcome = space.sleep(&me, place, deadline);
    // Here and not on the way out: whoever is deleted while suspended must not take the block along.
    me.slot.stop_while_suspended(space);
    wait::result(outcome)?;
    let at = me.slot.node.result.load(Relaxed);
    let error = if me.slot.is_deleted() {
        // It will not live to use the block. The heap may be gone, and the block with it.
        let _ = free_at(space, handle, at);
        Error::Cancelled
    } else if handle.check(slot.head.state.load_acquire()).is_err() {
        Error::Removed
    } else {
        // SAFETY: the block lies in the area that begins there.
        return Ok(Granted { at, address: unsafe { start.add(at as usize) }, extent });
    };
    if request.pinned {
        // SAFETY: whoever granted the block pinned the memory for us.
        unsafe { pool::unpin(extent) };
    }
    Err(error)
}

/// Frees the block at this address of the calling process, and serves those who wait for memory.
pub(crate) fn free(space: &Space, handle: Handle, address: *const u8) -> Result<()> {
    free_where(space, handle, |pool| pool.offset_of(address))
}

/// Frees the block at this offset.
pub(crate) fn free_at(space: &Space, handle: Handle, at: u64) -> Result<()> {
    free_where(space, handle, |_| Some(at))
}

fn free_where(space: &Space, handle: Handle, locate: impl FnOnce(&Pool<'_, Heaps>) -> Option<u64>) -> Result<()> {
    let slot = space.object::<HeapSlot>(handle)?;
    let place = slot.head.place(handle);
    space.section(&place, || {
        handle.check(slot.head.state.load())?;
        if slot.mode().contains(Mode::SINGLE) {
            return Ok(());
        }
        let pool = slot.pool().ok_or(Error::Invalid)?;
        let freed = locate(&pool).and_then(|at| pool.free(at));
        if freed.is_some() && !place.site.is_empty() {
            step("heap: freed");
            slot.serve(space, &place, &pool);
        }
        freed.map(|_| ()).ok_or(Error::Invalid)
    })
}

pub(crate) fn inquire(space: &Space, handle: Handle) -> Result<Info> {
    let slot = space.object::<HeapSlot>(handle)?;
    let place = slot.head.place(handle);
    space.section(&place, || {
        handle.check(slot.head.state.load())?;
        let pool = slot.pool().ok_or(Error::Invalid)?;
        Ok(Info {
            waiters: place.site.waiting(),
            mode: slot.mode(),
            size: slot.size.load(Relaxed),
            usable: pool.usable(),
            used: pool.used(),
            name: slot.head.name(),
        })
    })
}
