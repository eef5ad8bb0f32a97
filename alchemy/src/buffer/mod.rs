//! Byte buffers: `rt_buffer_*`.
//!
//! A bounded stream of bytes. A write stores all its bytes or none; a read takes as many as it asks for, with one exception. All
//! under the object lock: one section where nobody has to wait.
//!
//! *Two queues in one.* Readers and writers wait at the same site, readers at higher ranks ([`READERS`] and above), so that the
//! first reader is the first node and the first writer is found by stepping over the readers' levels.
//!
//! *Serving.* Whoever changes the contents serves the waiters that this lets through, in the same section: it copies between the
//! storage and the waiter's memory while the waiter sleeps, and decides it. The first of a queue must fit, else nobody of that
//! queue is served; behind it, each who fits is. The same is done whenever a waiter leaves or moves ([`Object::left`]).
//!
//! *Never both.* At the end of each section there are no readers and writers waiting at once. A writer waits only if bytes are stored, and a
//! reader that comes then takes those instead of waiting (a short read); a writer that would have to wait while readers do gives
//! the first of them what is stored, and finds the buffer empty.
//!
//! *Contents.* `read` and `written` go round from 0 to twice the size, so that their difference tells empty from full and each
//! operation takes effect with one store. Serving a waiter takes two, the position and the decision: `serving` and `next` tell
//! whoever comes after a dead holder to do the rest.
//!
//! # Safety
//!
//! Unsafe code here copies between the storage and memory of callers. The storage is mapped while the object is live, which lock
//! holders have checked: the deleter takes it out of the slot in the section that kills the object, and releases it later. A
//! caller's memory is valid during its call, by the contract of [`transfer`]; a waiter's call goes on until somebody takes it out of
//! the queue, under the lock.

#![allow(unsafe_code)]

mod api;

use posix_backend::arena::Arena;
use posix_backend::atomic::{AtomicU32, AtomicU64, Ordering::*};
use posix_backend::copy::{FEW, copy_few};
use posix_backend::extent::Extent;
use posix_backend::zeroed_struct;

use crate::error::{Error, Result};
use crate::handle::{Handle, Kind};
use crate::head::{Head, Object, Place};
use crate::name::Name;
use crate::space::{Me, Space};
use crate::step::step;
use crate::task::slot::ThreadSlot;
use crate::time::Timeout;
use crate::wait;

pub use api::{Buffer, BufferRef};

bitflags::bitflags! {
    /// How a buffer is made.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Mode: u32 {
        /// Waiting readers and writers are served by priority, equals in order of arrival; without it, all in order of arrival
        /// (`B_PRIO`).
        const PRIORITY = 1;
    }
}

zeroed_struct! {
    /// A buffer in the segment.
    pub(crate) struct BufferSlot {
        pub head: Head,
        mode: AtomicU32,
        /// The waiter that is being served and whose bytes have been copied, 0 for none.
        serving: AtomicU32,
        /// Where the contents begin or end once it has been.
        next: AtomicU64,
        /// How many bytes can be stored.
        size: AtomicU64,
        /// Where the contents begin, and end, modulo twice the size.
        read: AtomicU64,
        written: AtomicU64,
        /// The storage.
        offset: AtomicU64,
        len: AtomicU64,
    }
}

const _: () = assert!(size_of::<BufferSlot>() == 144);

/// What a look at a buffer shows: one consistent snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// Threads that wait to read.
    pub readers: u32,
    /// Threads that wait to write.
    pub writers: u32,
    /// How many bytes it can store.
    pub size: usize,
    /// How many more it can store at present.
    pub free: usize,
    /// The name, given or generated.
    pub name: Name,
}

/// Readers are ranked from here on, writers below.
const READERS: u32 = 128;

/// What a waiter asks for, in [`ThreadSlot::ask`]: where its memory is, how long, and which way.
const ADDRESS: usize = 0;
const LENGTH: usize = 1;
const DIRECTION: usize = 2;

/// Which way bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Read,
    Write,
}

impl Direction {
    fn of(waiter: &ThreadSlot) -> Direction {
        if waiter.ask[DIRECTION].load(Relaxed) == Direction::Read as u64 { Direction::Read } else { Direction::Write }
    }
}

/// Memory of a caller, to be filled or to be copied from.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    pub address: *mut u8,
    pub len: usize,
}

/// Where the bytes of a buffer are in this process: null, if it is being deleted; and how many there may be.
#[derive(Clone, Copy)]
struct Storage {
    start: *mut u8,
    size: u64,
}

/// # Safety
///
/// Both are valid for `count` bytes, a few if `LEAF`, and do not overlap.
#[inline(always)]
unsafe fn copy_one<const LEAF: bool>(direction: Direction, storage: *mut u8, memory: *mut u8, count: usize) {
    let (from, to) = match direction {
        Direction::Read => (storage, memory),
        Direction::Write => (memory, storage),
    };
    // SAFETY: the caller's contract.
    unsafe { if LEAF { copy_few(from, to, count as u64) } else { to.copy_from_nonoverlapping(from, count) } }
}

impl Object for BufferSlot {
    const KIND: Kind = Kind::Buffer;
    const RADIX: &'static str = "buffer";
    /// Each needs its storage, too.
    const SCARCITY: u32 = 6;

    #[inline]
    fn head(&self) -> &Head {
        &self.head
    }

    #[inline]
    fn arena(space: &Space) -> &Arena<Self> {
        &space.buffers
    }

    fn rank(&self, _index: u32, thread: &ThreadSlot) -> u32 {
        let by_priority = self.mode.load(Relaxed) & Mode::PRIORITY.bits() != 0;
        let priority = if by_priority { thread.priority.load(Relaxed) } else { 0 };
        match Direction::of(thread) {
            Direction::Read => READERS + priority,
            Direction::Write => priority,
        }
    }

    fn left(&self, space: &Space) -> bool {
        self.settle(space);
        self.head.site.has_decided()
    }

    fn repair(&self, space: &Space) {
        let index = self.serving.load(Relaxed);
        if let Some(waiter) = space.threads.get(index).filter(|_| index != 0) {
            self.position(Direction::of(waiter)).store(self.next.load(Relaxed), Relaxed);
            if self.waiters(space).any(|queued| queued == index) {
                self.head.site.decide(space, index, wait::GRANTED);
            }
        }
        self.serving.store(0, Relaxed);
        self.settle(space);
        self.head.state.set_waiters(!self.head.site.is_empty());
    }

    fn inherit(&self, _space: &Space, _index: u32, _me: u32) {
        // Nobody is served any more. The bytes are those of a moment later than the positions: some may be newer.
        self.serving.store(0, Relaxed);
        let size = self.size.load(Relaxed);
        if self.stored(size) > size || self.read.load(Relaxed) >= 2 * size || self.written.load(Relaxed) >= 2 * size {
            self.read.store(0, Relaxed);
            self.written.store(0, Relaxed);
        }
        if self.head.state.load().is_live() {
            self.head.state.clear_waiters();
        }
    }
}

/// All methods need the lock.
impl BufferSlot {
    /// Where the bytes are in this process. May be asked without the lock.
    #[inline(always)]
    fn storage(&self) -> Storage {
        let extent = Extent { offset: self.offset.load(Relaxed), len: self.len.load(Relaxed) };
        let start = extent.start().map_or(core::ptr::null_mut(), |start| start.as_ptr());
        Storage { start, size: self.size.load(Relaxed) }
    }

    /// How many bytes are stored.
    #[inline(always)]
    fn stored(&self, size: u64) -> u64 {
        let (read, written) = (self.read.load(Relaxed), self.written.load(Relaxed));
        if written >= read { written - read } else { written + 2 * size - read }
    }

    /// How many bytes can go this way.
    #[inline(always)]
    fn available(&self, direction: Direction, size: u64) -> u64 {
        match direction {
            Direction::Read => self.stored(size),
            Direction::Write => size.saturating_sub(self.stored(size)),
        }
    }

    #[inline]
    fn position(&self, direction: Direction) -> &AtomicU64 {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.written,
        }
    }

    /// Copies `count` available bytes, and tells where the position goes.
    ///
    /// # Safety
    ///
    /// `memory` is valid for `count` bytes, for writes if they are read from the buffer.
    #[inline(always)]
    unsafe fn copy<const LEAF: bool>(
        &self,
        direction: Direction,
        storage: Storage,
        memory: *mut u8,
        count: u64,
    ) -> u64 {
        let Storage { start: storage, size } = storage;
        let from = self.position(direction).load(Relaxed);
        let start = if from >= size { from - size } else { from };
        if storage.is_null() {
            return from;
        }
        let before_end = size - start;
        // SAFETY: `start`, which is below the size, and as many bytes lie within the storage, the second piece of them before
        // `start`; the caller vouches for the memory, which cannot overlap storage that nobody else knows.
        unsafe {
            if count <= before_end {
                copy_one::<LEAF>(direction, storage.add(start as usize), memory, count as usize);
            } else {
                let before_end = before_end as usize;
                copy_one::<LEAF>(direction, storage.add(start as usize), memory, before_end);
                copy_one::<LEAF>(direction, storage, memory.add(before_end), count as usize - before_end);
            }
        }
        let next = from + count;
        if next >= 2 * size { next - 2 * size } else { next }
    }

    /// The waiters, in the order of the queue.
    fn waiters(&self, space: &Space) -> impl Iterator<Item = u32> {
        let site = &self.head.site;
        core::iter::successors(Some(site.first()), move |&at| Some(site.after(space, at))).take_while(|&at| at != 0)
    }

    /// The first waiter of a queue, 0 if there is none.
    fn first(&self, space: &Space, direction: Direction) -> u32 {
        let first = match direction {
            Direction::Read => self.head.site.first(),
            Direction::Write => self.head.site.first_below(space, READERS),
        };
        let is_one = |index| space.threads.get(index).is_some_and(|waiter| Direction::of(waiter) == direction);
        if first != 0 && is_one(first) { first } else { 0 }
    }

    /// Gives a waiter `count` available bytes, or takes them from it.
    fn serve(&self, space: &Space, index: u32, waiter: &ThreadSlot, count: u64) {
        let direction = Direction::of(waiter);
        let memory = core::ptr::with_exposed_provenance_mut(waiter.ask[ADDRESS].load(Relaxed) as usize);
        // SAFETY: the waiter is queued, so its call goes on, and it asked for at least so many bytes.
        let next = unsafe { self.copy::<false>(direction, self.storage(), memory, count) };
        step("buffer: copied");
        waiter.node.result.store(count, Relaxed);
        self.next.store(next, Relaxed);
        step("buffer: noted");
        // From here on whoever comes after this thread's death does the rest.
        self.serving.store(index, Relaxed);
        step("buffer: serving");
        self.position(direction).store(next, Relaxed);
        step("buffer: moved");
        self.head.site.decide(space, index, wait::GRANTED);
        step("buffer: decided");
        self.serving.store(0, Relaxed);
    }

    /// Serves those of a queue who can be: nobody if the first cannot, else each who fits. Tells whether anybody was.
    fn serve_queue(&self, space: &Space, direction: Direction) -> bool {
        let mut index = self.first(space, direction);
        let mut served = false;
        while let Some(waiter) = space.threads.get(index).filter(|_| index != 0) {
            let next = self.head.site.after(space, index);
            let available = self.available(direction, self.size.load(Relaxed));
            let wanted = waiter.ask[LENGTH].load(Relaxed);
            if Direction::of(waiter) != direction || available == 0 {
                break;
            }
            if wanted <= available {
                self.serve(space, index, waiter, wanted);
                served = true;
            } else if !served {
                break;
            }
            index = next;
        }
        served
    }

    /// Serves all who can be. They are decided then, and to be told.
    fn settle(&self, space: &Space) {
        if self.head.site.is_empty() {
            return;
        }
        while self.serve_queue(space, Direction::Read) || self.serve_queue(space, Direction::Write) {}
        if self.head.site.is_empty() {
            self.head.state.clear_waiters();
        }
    }

    /// Copies what a caller asks for, if that is possible at once, and serves those whom it lets through. `short`: a read takes what
    /// there is if writers wait.
    #[inline]
    fn attempt(
        &self,
        space: &Space,
        handle: Handle,
        direction: Direction,
        piece: Piece,
        short: bool,
    ) -> Result<Option<usize>> {
        handle.check(self.head.state.load())?;
        let wanted = piece.len as u64;
        if wanted > self.size.load(Relaxed) {
            return Err(Error::Invalid);
        }
        let available = self.available(direction, self.size.load(Relaxed));
        let takes_less =
            || short && direction == Direction::Read && available > 0 && self.first(space, Direction::Write) != 0;
        let count = if wanted <= available {
            wanted
        } else if takes_less() {
            available
        } else {
            return Ok(None);
        };
        // SAFETY: the contract of `transfer`; `count` is at most the length.
        let next = unsafe { self.copy::<false>(direction, self.storage(), piece.address, count) };
        step("buffer: own copied");
        self.position(direction).store(next, Relaxed);
        step("buffer: own moved");
        self.settle(space);
        Ok(Some(count as usize))
    }

    /// A writer that would have to wait: gives the first of the waiting readers what is stored, if there is both.
    fn make_room(&self, space: &Space) {
        let (index, stored) = (self.first(space, Direction::Read), self.stored(self.size.load(Relaxed)));
        if let Some(reader) = space.threads.get(index).filter(|_| index != 0 && stored > 0) {
            self.serve(space, index, reader, stored);
            self.settle(space);
        }
    }
}

pub(crate) fn create(space: &Space, name: Name, size: usize, mode: Mode, ready: impl FnOnce(Handle)) -> Result<Handle> {
    if size == 0 || !Mode::all().contains(mode) {
        return Err(Error::Invalid);
    }
    // More cannot be told to C.
    if size > isize::MAX as usize {
        return Err(Error::NoMemory);
    }
    let storage = Extent::obtain(size).map_err(|_| Error::NoMemory)?;
    let fill = |slot: &BufferSlot| {
        slot.mode.store(mode.bits(), Relaxed);
        slot.serving.store(0, Relaxed);
        slot.size.store(size as u64, Relaxed);
        slot.read.store(0, Relaxed);
        slot.written.store(0, Relaxed);
        slot.offset.store(storage.offset, Relaxed);
        slot.len.store(storage.len, Relaxed);
    };
    let made = space.create::<BufferSlot>(name, (false, 0), fill, |handle, _| {
        ready(handle);
        Ok(())
    });
    // SAFETY: it was not published, so nobody has come to use it.
    made.inspect_err(|_| unsafe { storage.release() })
}

pub(crate) fn delete(space: &Space, handle: Handle) -> Result<()> {
    let take = |slot: &BufferSlot| {
        let storage = Extent { offset: slot.offset.load(Relaxed), len: slot.len.load(Relaxed) };
        slot.len.store(0, Relaxed);
        storage
    };
    let storage = space.delete_with(handle, |_| Ok(()), take)?;
    // SAFETY: the object is dead, and this call has taken it; lock holders check that it is live before they use it.
    unsafe { storage.release() };
    Ok(())
}

/// Does something under the lock, and tells those whom it has decided.
#[inline]
fn in_section<R>(space: &Space, handle: Handle, work: impl FnOnce(&BufferSlot, &Place<'_>) -> Result<R>) -> Result<R> {
    let slot = space.object::<BufferSlot>(handle)?;
    let place = slot.head.place(handle);
    space.section(&place, || work(slot, &place))
}

/// Copies all of a piece, if nobody waits; see [`Space::attempt`]. `LEAF`: a few bytes, in line.
///
/// # Safety
///
/// As for [`transfer`].
#[inline(always)]
pub(crate) unsafe fn transfer_uncontended<const LEAF: bool>(
    space: &Space,
    handle: Handle,
    direction: Direction,
    piece: Piece,
) -> bool {
    let Some(slot) = space.candidate::<BufferSlot>(handle) else { return false };
    let storage = slot.storage();
    let Some(attempt) = space.attempt(slot, handle) else { return false };
    let fits = piece.len as u64 <= slot.available(direction, storage.size) && !(LEAF && piece.len as u64 > FEW);
    if fits {
        // SAFETY: the caller's contract; so many bytes are available, and the buffer is live.
        let next = unsafe { slot.copy::<LEAF>(direction, storage, piece.address, piece.len as u64) };
        slot.position(direction).store(next, Relaxed);
    }
    attempt.leave_with(space.scope, fits)
}

/// Reads or writes; returns how many bytes.
///
/// # Safety
///
/// The piece is valid during the call: for writes if bytes are read from the buffer, for reads if they are written to it.
pub(crate) unsafe fn transfer<'a>(
    space: &'a Space,
    handle: Handle,
    direction: Direction,
    piece: Piece,
    timeout: Timeout,
    me: impl FnOnce() -> Result<Me<'a>>,
) -> Result<usize> {
    if piece.len == 0 {
        return Ok(0);
    }
    // The caller would wait, so that a read may be short.
    let short = timeout != Timeout::NONE;
    let attempt = in_section(space, handle, |slot, _| slot.attempt(space, handle, direction, piece, short))?;
    if let Some(count) = attempt {
        return Ok(count);
    }
    let (me, deadline) = timeout.admit(me)?;
    let count = in_section(space, handle, |slot, place| {
        me.slot.ask[ADDRESS].store(piece.address.expose_provenance() as u64, Relaxed);
        me.slot.ask[LENGTH].store(piece.len as u64, Relaxed);
        me.slot.ask[DIRECTION].store(direction as u64, Relaxed);
        space.prepare(&me, place, deadline)?;
        let mut result = slot.attempt(space, handle, direction, piece, true);
        if result == Ok(None) && direction == Direction::Write {
            slot.make_room(space);
            result = slot.attempt(space, handle, direction, piece, true);
        }
        if result == Ok(None) {
            step("buffer: prepared");
            slot.head.state.set_waiters(true);
            // The rank after `prepare`: whoever changes the priority later finds this thread waiting.
            place.site.enqueue(space, me.index, slot.rank(me.index, me.slot));
            step("buffer: queued");
        } else {
            space.retract(&me);
        }
        result
    })?;
    if let Some(count) = count {
        return Ok(count);
    }
    let place = space.object::<BufferSlot>(handle)?.head.place(handle);
    let outcome = space.sleep(&me, &place, deadline);
    me.slot.stop_while_suspended(space);
    // Who is deleted only now has read or written all the same: bytes that went one way cannot come back in their place.
    wait::result(outcome).map(|()| me.slot.node.result.load(Relaxed) as usize)
}

pub(crate) fn clear(space: &Space, handle: Handle) -> Result<()> {
    in_section(space, handle, |slot, _| {
        handle.check(slot.head.state.load())?;
        slot.read.store(slot.written.load(Relaxed), Relaxed);
        step("buffer: cleared");
        slot.settle(space);
        Ok(())
    })
}

pub(crate) fn inquire(space: &Space, handle: Handle) -> Result<Info> {
    in_section(space, handle, |slot, _| {
        handle.check(slot.head.state.load())?;
        let waiting = slot.head.site.waiting();
        // Never both.
        let readers = if slot.first(space, Direction::Read) != 0 { waiting } else { 0 };
        Ok(Info {
            readers,
            writers: waiting - readers,
            size: slot.size.load(Relaxed) as usize,
            free: slot.available(Direction::Write, slot.size.load(Relaxed)) as usize,
            name: slot.head.name(),
        })
    })
}
