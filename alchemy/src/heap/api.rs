//! The safe interface.

use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use posix_backend::extent::Extent;
use posix_backend::pool;
use posix_backend::section::Section;

use super::{Granted, HeapSlot, Info, Mode, Request};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::name::Name;
use crate::runtime::{self, SPACE};
use crate::time::Timeout;

/// A heap, by reference: what threads share, and what [`Heap::bind`] finds. It may be stale; then every method returns
/// [`Error::Invalid`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapRef(Handle);

/// A heap that this value owns: dropping it deletes the heap.
///
/// ```
/// use alchemy::{Error, Heap, Timeout};
///
/// let heap = Heap::new(4096)?;
/// let mut block = heap.alloc(4000, Timeout::INFINITE)?;
/// block[..5].copy_from_slice(b"hello");
/// assert_eq!(heap.alloc(1000, Timeout::NONE).err(), Some(Error::WouldBlock));
/// drop(block);
/// assert_eq!(heap.inquire()?.used, 0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Heap(HeapRef);

/// A block of a heap, as a slice of the bytes asked for. Dropping it frees the block, and serves those who wait for memory.
///
/// It outlives its heap: the memory stays until the last block is dropped. The content is whatever is there; fresh memory is zero.
#[derive(Debug)]
pub struct Block {
    heap: HeapRef,
    at: u64,
    address: NonNull<u8>,
    len: usize,
    extent: Extent,
}

// SAFETY: the block is bytes that nobody else has a reference to.
unsafe impl Send for Block {}
// SAFETY: as above; a shared block can only be read.
unsafe impl Sync for Block {}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: initialised memory of that length, kept by the pin, and nobody else's until this value frees it.
        unsafe { core::slice::from_raw_parts(self.address.as_ptr(), self.len) }
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`.
        unsafe { core::slice::from_raw_parts_mut(self.address.as_ptr(), self.len) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let _section = Section::enter();
        // The heap may be deleted; then there is nothing to give back but the memory as a whole.
        let _ = super::free_at(&SPACE, self.heap.0, self.at);
        // SAFETY: pinned when it was allocated.
        unsafe { pool::unpin(self.extent) };
    }
}

impl Heap {
    /// A heap of so many bytes with a generated name whose waiters are served by priority. Errors as for [`Heap::create`].
    pub fn new(size: usize) -> Result<Heap> {
        Heap::create("", size, Mode::PRIORITY)
    }

    /// Makes a heap (`rt_heap_create`). Any thread may, but no alarm handler; it does not block.
    ///
    /// * `name`: at most 31 bytes, longer ones are cut; empty for a generated one.
    /// * `size`: in bytes, from 1 to 2³¹ − 1; rounded up to a multiple of 512.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: `size` or `mode` out of range. [`Error::NoMemory`]: no memory, or too many heaps.
    /// [`Error::Exists`]: a live heap has the name. [`Error::Permission`]: in an alarm handler.
    #[doc(alias = "rt_heap_create")]
    pub fn create(name: &str, size: usize, mode: Mode) -> Result<Heap> {
        HeapRef::create(Name::new(name.as_bytes()), size, mode, |_| ()).map(Heap)
    }

    /// Finds the heap with this name, waiting for its creation as long as `timeout` says (`rt_heap_bind`).
    ///
    /// # Errors
    ///
    /// [`Error::WouldBlock`], [`Error::Permission`], [`Error::TimedOut`], [`Error::Interrupted`],
    /// [`Error::Cancelled`], as for [`HeapRef::alloc`].
    #[doc(alias = "rt_heap_bind")]
    pub fn bind(name: &str, timeout: impl Into<Timeout>) -> Result<HeapRef> {
        HeapRef::bind(Name::new(name.as_bytes()), timeout.into())
    }

    /// Gives up ownership: the heap lives until somebody deletes it by reference, or until the process ends.
    pub fn leak(self) -> HeapRef {
        let reference = self.0;
        core::mem::forget(self);
        reference
    }
}

impl Deref for Heap {
    type Target = HeapRef;

    fn deref(&self) -> &HeapRef {
        &self.0
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // It may be deleted already, by reference.
        let _ = self.0.delete();
    }
}

impl HeapRef {
    /// As [`Heap::create`], without ownership; `ready` is called with the handle before anybody else can see the heap.
    pub fn create(name: Name, size: usize, mode: Mode, ready: impl FnOnce(Handle)) -> Result<HeapRef> {
        runtime::refuse_handlers()?;
        let _section = Section::enter();
        super::create(runtime::space()?, name, size as u64, mode, ready).map(HeapRef)
    }

    /// As [`Heap::bind`].
    pub fn bind(name: Name, timeout: Timeout) -> Result<HeapRef> {
        runtime::bind::<HeapSlot, _>(name, timeout, |handle| Some(HeapRef(handle)))
    }

    /// The heap that a handle refers to, if it is valid; each use checks it.
    pub const fn from_handle(handle: Handle) -> HeapRef {
        HeapRef(handle)
    }

    /// The handle.
    pub const fn handle(self) -> Handle {
        self.0
    }

    /// Allocates a block of at least `size` bytes, waiting for it as long as `timeout` says.
    ///
    /// A block that is there is taken whatever the timeout says and whoever waits, by any thread. Else a task, or the initial
    /// thread, queues up.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale; or `size` is more than the heap can ever give; or the heap is a single block, which has
    /// several users and is to be had by [`HeapRef::alloc_raw`] only. [`Error::WouldBlock`]: none there and [`Timeout::NONE`];
    /// no block of 0 bytes is ever there. [`Error::Permission`]: none there and the caller may not wait. [`Error::TimedOut`]:
    /// the date passed. [`Error::Interrupted`], [`Error::Removed`]: unblocked, or the heap was deleted, during the wait.
    /// [`Error::Cancelled`]: the task was asked to end.
    #[doc(alias = "rt_heap_alloc")]
    pub fn alloc(self, size: usize, timeout: impl Into<Timeout>) -> Result<Block> {
        let _section = Section::enter();
        if super::inquire(&SPACE, self.0)?.mode.contains(Mode::SINGLE) {
            return Err(Error::Invalid);
        }
        let request = Request { size: size as u64, pinned: true, strict: true };
        let Granted { at, address, extent } = super::alloc(&SPACE, self.0, request, timeout.into(), runtime::me)?;
        Ok(Block { heap: self, at, address, len: size, extent })
    }

    /// Allocates a block as [`HeapRef::alloc`] does, and tells its address (`rt_heap_alloc`, `rt_heap_alloc_until`,
    /// `rt_heap_alloc_timed`). The block goes with the heap.
    ///
    /// The block of a single-block heap is all of it, zeroed at first, the same for all callers; nobody waits for it. `size` is 0
    /// or that of the heap; anything will do once the block has been allocated, unless `strict`.
    ///
    /// # Errors
    ///
    /// As for [`HeapRef::alloc`]. [`Error::Invalid`]: also a wrong size for a single block.
    #[doc(alias = "rt_heap_alloc")]
    pub fn alloc_raw(self, size: usize, strict: bool, timeout: impl Into<Timeout>) -> Result<NonNull<u8>> {
        let _section = Section::enter();
        let request = Request { size: size as u64, pinned: false, strict };
        super::alloc(&SPACE, self.0, request, timeout.into(), runtime::me).map(|granted| granted.address)
    }

    /// Frees a block of [`HeapRef::alloc_raw`], and serves those who wait for memory (`rt_heap_free`). Any thread may; it does
    /// not block. Does nothing to a single-block heap.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale, or not the address of a live block of this heap.
    ///
    /// # Safety
    ///
    /// The block is not that of a [`Block`], and nobody uses it any more.
    #[doc(alias = "rt_heap_free")]
    pub unsafe fn free_raw(self, address: *const u8) -> Result<()> {
        let _section = Section::enter();
        super::free(&SPACE, self.0, address)
    }

    /// What [`HeapRef::alloc_raw`] mostly comes to, in line, for the C interface: a small block that is there. `None` decides nothing.
    #[inline(always)]
    pub fn alloc_at_once(self, size: usize) -> Option<NonNull<u8>> {
        super::alloc_uncontended::<true>(&SPACE, self.0, size as u64)
    }

    /// What it comes to next: any block that is there, if nobody waits. `None` decides nothing.
    pub fn alloc_uncontended(self, size: usize) -> Option<NonNull<u8>> {
        super::alloc_uncontended::<false>(&SPACE, self.0, size as u64)
    }

    /// What [`HeapRef::free_raw`] mostly comes to, likewise: whether the block has been freed.
    ///
    /// # Safety
    ///
    /// As for [`HeapRef::free_raw`].
    #[inline(always)]
    pub unsafe fn free_at_once(self, address: *const u8) -> bool {
        super::free_uncontended::<true>(&SPACE, self.0, address)
    }

    /// What it comes to next.
    ///
    /// # Safety
    ///
    /// As for [`HeapRef::free_raw`].
    pub unsafe fn free_uncontended(self, address: *const u8) -> bool {
        super::free_uncontended::<false>(&SPACE, self.0, address)
    }

    /// A consistent look at the heap (`rt_heap_inquire`).
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale.
    #[doc(alias = "rt_heap_inquire")]
    pub fn inquire(self) -> Result<Info> {
        let _section = Section::enter();
        super::inquire(&SPACE, self.0)
    }

    /// Deletes the heap (`rt_heap_delete`). Waiters return [`Error::Removed`]; the name is free. Addresses from
    /// [`HeapRef::alloc_raw`] are void; a [`Block`] keeps the memory that it is in.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale; also for all but one of several callers at once. [`Error::Permission`]: in an alarm handler.
    #[doc(alias = "rt_heap_delete")]
    pub fn delete(self) -> Result<()> {
        runtime::refuse_handlers()?;
        let _section = Section::enter();
        super::delete(&SPACE, self.0)
    }
}
