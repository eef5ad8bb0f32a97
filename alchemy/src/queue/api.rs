//! The safe interface.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::ptr::NonNull;

use posix_backend::section::Section;

use super::receive::Buffer;
use super::send::Data;
use super::{Info, Mode, QueueSlot, SendMode, Settings};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::name::Name;
use crate::runtime::{self, SPACE};
use crate::time::Timeout;

/// Types whose values are their bytes: whatever the bytes are, they are a value, and no byte is padding. Numbers, arrays of such
/// types, and `repr(C)` structures of them without padding.
///
/// # Safety
///
/// Just that.
pub unsafe trait Plain: Copy + 'static {}

macro_rules! plain {
    ($($type:ty),*) => { $(
        // SAFETY: a number.
        unsafe impl Plain for $type {}
    )* };
}

plain!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64, ());

// SAFETY: nothing but its elements.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// A queue of bytes, by reference: what threads share, and what [`Queue::bind`] finds. It may be stale; then every method returns
/// [`Error::Invalid`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueRef(Handle);

/// A message queue that this value owns, for messages of one type: dropping it deletes the queue.
///
/// ```
/// use alchemy::{Error, Queue, Timeout};
///
/// let queue = Queue::<[u32; 2]>::new(10)?;
/// queue.send([1, 2])?;
/// queue.send([3, 4])?;
/// queue.send_urgent([5, 6])?;
/// assert_eq!(queue.receive(Timeout::INFINITE)?, [5, 6]);
/// assert_eq!(queue.receive(Timeout::INFINITE)?, [1, 2]);
/// assert_eq!(queue.flush()?, 1);
/// assert_eq!(queue.receive(Timeout::NONE), Err(Error::WouldBlock));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Queue<T> {
    queue: QueueRef,
    messages: PhantomData<fn(T) -> T>,
}

impl<T: Plain> Queue<T> {
    /// A queue with room for `limit` messages, with a generated name, whose waiters are served by priority. Errors as for
    /// [`Queue::create`].
    pub fn new(limit: usize) -> Result<Queue<T>> {
        Queue::create("", limit, Mode::PRIORITY)
    }

    /// Makes a queue (`rt_queue_create`). Any thread may, but no alarm handler; it does not block.
    ///
    /// * `name`: at most 31 bytes, longer ones are cut; empty for a generated one.
    /// * `limit`: how many messages can be queued at a time, from 1 to 2³¹ − 1. There is room for so many.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: `limit` or `mode` out of range. [`Error::NoMemory`]: no memory, or too many queues.
    /// [`Error::Exists`]: a live queue has the name. [`Error::Permission`]: in an alarm handler.
    #[doc(alias = "rt_queue_create")]
    pub fn create(name: &str, limit: usize, mode: Mode) -> Result<Queue<T>> {
        runtime::refuse_handlers()?;
        if limit == 0 {
            return Err(Error::Invalid);
        }
        let pool_size = size_of::<T>().max(1).checked_mul(limit).ok_or(Error::NoMemory)?;
        let settings = Settings { pool_size, limit, mode, shown: mode.bits() };
        let queue = QueueRef::create(Name::new(name.as_bytes()), settings, |_| ())?;
        Ok(Queue { queue, messages: PhantomData })
    }

    /// Sends a message: to the first waiter, or to the end of the queue (`rt_queue_write`). Any thread may; it does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale. [`Error::NoMemory`]: the queue is full.
    #[doc(alias = "rt_queue_write")]
    pub fn send(&self, message: T) -> Result<()> {
        self.send_as(message, SendMode::empty()).map(|_| ())
    }

    /// As [`Queue::send`], but to the front of the queue.
    pub fn send_urgent(&self, message: T) -> Result<()> {
        self.send_as(message, SendMode::URGENT).map(|_| ())
    }

    /// Sends a message to all who wait at this moment, and tells how many they are. Errors as for [`Queue::send`].
    pub fn broadcast(&self, message: T) -> Result<u32> {
        self.send_as(message, SendMode::BROADCAST)
    }

    fn send_as(&self, message: T, mode: SendMode) -> Result<u32> {
        let _section = Section::enter();
        let data = Data { start: (&raw const message).cast(), size: size_of::<T>() as u64 };
        // SAFETY: the message, which has no padding.
        unsafe { super::write(&SPACE, self.queue.0, data, mode) }
    }

    /// Takes the first message, waiting for one as long as `timeout` says (`rt_queue_read`).
    ///
    /// A message that is there is taken whatever the timeout says, by any thread. Else a task, or the initial thread, queues up.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale; or somebody wrote bytes of another length through the reference, which are lost.
    /// [`Error::WouldBlock`]: none there and [`Timeout::NONE`]. [`Error::Permission`]: none there and the caller may not wait.
    /// [`Error::TimedOut`]: the date passed. [`Error::Interrupted`], [`Error::Removed`]: unblocked, or the queue was deleted,
    /// during the wait. [`Error::Cancelled`]: the task was asked to end.
    #[doc(alias = "rt_queue_read")]
    pub fn receive(&self, timeout: impl Into<Timeout>) -> Result<T> {
        let mut message = MaybeUninit::<T>::uninit();
        // SAFETY: room for the message.
        let size = unsafe { self.queue.read_raw(message.as_mut_ptr().cast(), size_of::<T>(), timeout)? };
        if size != size_of::<T>() {
            return Err(Error::Invalid);
        }
        // SAFETY: all its bytes have been written, and they are a value whatever they are.
        Ok(unsafe { message.assume_init() })
    }

    /// Finds the queue with this name, waiting for its creation as long as `timeout` says (`rt_queue_bind`). What is found is a
    /// queue of bytes.
    ///
    /// # Errors
    ///
    /// [`Error::WouldBlock`], [`Error::Permission`], [`Error::TimedOut`], [`Error::Interrupted`], [`Error::Cancelled`], as for
    /// [`Queue::receive`].
    #[doc(alias = "rt_queue_bind")]
    pub fn bind(name: &str, timeout: impl Into<Timeout>) -> Result<QueueRef> {
        QueueRef::bind(Name::new(name.as_bytes()), timeout.into())
    }

    /// Gives up ownership: the queue lives until somebody deletes it by reference, or until the process ends.
    pub fn leak(self) -> QueueRef {
        let reference = self.queue;
        core::mem::forget(self);
        reference
    }
}

impl<T> Deref for Queue<T> {
    type Target = QueueRef;

    fn deref(&self) -> &QueueRef {
        &self.queue
    }
}

impl<T> Drop for Queue<T> {
    fn drop(&mut self) {
        // It may be deleted already, by reference.
        let _ = self.queue.delete();
    }
}

impl QueueRef {
    /// As [`Queue::create`], for bytes, without ownership; `ready` is called with the handle before anybody else can see the queue.
    pub fn create(name: Name, settings: Settings, ready: impl FnOnce(Handle)) -> Result<QueueRef> {
        runtime::refuse_handlers()?;
        let _section = Section::enter();
        super::create(runtime::space()?, name, settings, ready).map(QueueRef)
    }

    /// As [`Queue::bind`].
    pub fn bind(name: Name, timeout: Timeout) -> Result<QueueRef> {
        runtime::bind::<QueueSlot, _>(name, timeout, |handle| Some(QueueRef(handle)))
    }

    /// The queue of a handle, which need not be valid.
    #[inline]
    pub const fn from_handle(handle: Handle) -> QueueRef {
        QueueRef(handle)
    }

    /// The handle.
    pub const fn handle(self) -> Handle {
        self.0
    }

    /// Sends a copy of some bytes, and tells how many waiters got it (`rt_queue_write`): the first one, or none and the
    /// bytes are queued; or all of them. Any thread may; it does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale, or `mode` is out of range. [`Error::NoMemory`]: no room in the pool, or as many messages are
    /// queued as may be.
    #[doc(alias = "rt_queue_write")]
    pub fn write(self, bytes: &[u8], mode: SendMode) -> Result<u32> {
        let (data, size) = (bytes.as_ptr(), bytes.len());
        // SAFETY: a slice.
        unsafe { if self.write_uncontended(data, size, mode) { Ok(0) } else { self.write_raw(data, size, mode) } }
    }

    /// Takes the first message, waiting for one as long as `timeout` says, and copies what there is room for (`rt_queue_read`).
    /// Tells the message's size, which may be more. Who has no room does not even look.
    ///
    /// # Errors
    ///
    /// As for [`Queue::receive`], whatever the size.
    #[doc(alias = "rt_queue_read")]
    pub fn read(self, buffer: &mut [u8], timeout: impl Into<Timeout>) -> Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let (start, room) = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: a slice.
        unsafe {
            match self.read_uncontended(start, room) {
                Some(size) => Ok(size),
                None => self.read_raw(start, room, timeout),
            }
        }
    }

    /// As [`QueueRef::write`].
    ///
    /// # Safety
    ///
    /// `data` is valid for reads of `size` bytes; it may be null if there are none, and is refused if there are some.
    pub unsafe fn write_raw(self, data: *const u8, size: usize, mode: SendMode) -> Result<u32> {
        let _section = Section::enter();
        // SAFETY: the caller's contract.
        unsafe { super::write(&SPACE, self.0, Data { start: data, size: size as u64 }, mode) }
    }

    /// As [`QueueRef::read`], also with no room.
    ///
    /// # Safety
    ///
    /// `buffer` is valid for writes of `room` bytes until this returns.
    pub unsafe fn read_raw(self, buffer: *mut u8, room: usize, timeout: impl Into<Timeout>) -> Result<usize> {
        let _section = Section::enter();
        let buffer = Buffer { start: buffer, room: room as u64 };
        // SAFETY: the caller's contract.
        unsafe { super::read(&SPACE, self.0, buffer, timeout.into(), runtime::me) }.map(|size| size as usize)
    }

    /// Allocates a message for `size` bytes, and tells the address of its content, which is a multiple of 16
    /// (`rt_queue_alloc`). The caller holds it, and sends it or lets go of it. Any thread may; it does not block.
    ///
    /// # Errors
    ///
    /// [`Error::NoMemory`]: no room in the pool, or stale.
    #[doc(alias = "rt_queue_alloc")]
    pub fn alloc_raw(self, size: usize) -> Result<NonNull<u8>> {
        let _section = Section::enter();
        super::alloc(&SPACE, self.0, size as u64).ok_or(Error::NoMemory)
    }

    /// Lets go of a message that the caller holds; the last holder frees it (`rt_queue_free`). Any thread may; it does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale, or not the address of a message of this queue that somebody holds.
    #[doc(alias = "rt_queue_free")]
    pub fn free_raw(self, content: *const u8) -> Result<()> {
        let _section = Section::enter();
        super::free(&SPACE, self.0, content)
    }

    /// Sends a message that the caller holds, and does not hold any more then; its first `size` bytes are the content
    /// (`rt_queue_send`). Tells how many waiters got it. A broadcast that nobody gets stays with the caller.
    ///
    /// # Errors
    ///
    /// As for [`QueueRef::write`]; the caller still holds the message then. [`Error::Invalid`]: also if `content` is not the
    /// address of a message of this queue that somebody holds, if it is queued already, or if `size` is more than it has
    /// room for.
    #[doc(alias = "rt_queue_send")]
    pub fn send_raw(self, content: *const u8, size: usize, mode: SendMode) -> Result<u32> {
        let _section = Section::enter();
        super::send(&SPACE, self.0, content, size as u64, mode)
    }

    /// Takes the first message, waiting for one as long as `timeout` says: the address of its content, and its size
    /// (`rt_queue_receive`). The caller holds it from then on.
    ///
    /// # Errors
    ///
    /// As for [`Queue::receive`], whatever the size.
    #[doc(alias = "rt_queue_receive")]
    pub fn receive_raw(self, timeout: impl Into<Timeout>) -> Result<(NonNull<u8>, usize)> {
        let _section = Section::enter();
        let received = super::receive(&SPACE, self.0, timeout.into(), runtime::me);
        received.map(|(content, size)| (content, size as usize))
    }

    /// What [`QueueRef::write_raw`] mostly comes to, in line, for the C interface: whether the data, which is short, has been queued.
    /// False decides nothing; then [`QueueRef::write_uncontended`] is next.
    ///
    /// # Safety
    ///
    /// As for [`QueueRef::write_raw`].
    #[inline(always)]
    pub unsafe fn write_at_once(self, data: *const u8, size: usize, mode: SendMode) -> bool {
        // SAFETY: the caller's contract.
        unsafe { super::write_uncontended::<true>(&SPACE, self.0, Data { start: data, size: size as u64 }, mode) }
    }

    /// The same for any data: queued if nobody waits.
    ///
    /// # Safety
    ///
    /// As for [`QueueRef::write_raw`].
    pub unsafe fn write_uncontended(self, data: *const u8, size: usize, mode: SendMode) -> bool {
        // SAFETY: the caller's contract.
        unsafe { super::write_uncontended::<false>(&SPACE, self.0, Data { start: data, size: size as u64 }, mode) }
    }

    /// What [`QueueRef::read_raw`] mostly comes to, likewise. `None` decides nothing.
    ///
    /// # Safety
    ///
    /// As for [`QueueRef::read_raw`].
    #[inline(always)]
    pub unsafe fn read_at_once(self, buffer: *mut u8, room: usize) -> Option<usize> {
        let buffer = Buffer { start: buffer, room: room as u64 };
        // SAFETY: the caller's contract.
        unsafe { super::read_uncontended::<true>(&SPACE, self.0, buffer) }.map(|size| size as usize)
    }

    /// The same for any message.
    ///
    /// # Safety
    ///
    /// As for [`QueueRef::read_raw`].
    pub unsafe fn read_uncontended(self, buffer: *mut u8, room: usize) -> Option<usize> {
        let buffer = Buffer { start: buffer, room: room as u64 };
        // SAFETY: the caller's contract.
        unsafe { super::read_uncontended::<false>(&SPACE, self.0, buffer) }.map(|size| size as usize)
    }

    /// What [`QueueRef::alloc_raw`] mostly comes to, likewise.
    #[inline(always)]
    pub fn alloc_at_once(self, size: usize) -> Option<NonNull<u8>> {
        super::alloc_uncontended::<true>(&SPACE, self.0, size as u64)
    }

    /// The same for any size.
    pub fn alloc_uncontended(self, size: usize) -> Option<NonNull<u8>> {
        super::alloc_uncontended::<false>(&SPACE, self.0, size as u64)
    }

    /// What [`QueueRef::free_raw`] mostly comes to, likewise.
    #[inline(always)]
    pub fn free_at_once(self, content: *const u8) -> bool {
        super::free_uncontended::<true>(&SPACE, self.0, content)
    }

    /// The same for any message.
    pub fn free_uncontended(self, content: *const u8) -> bool {
        super::free_uncontended::<false>(&SPACE, self.0, content)
    }

    /// What [`QueueRef::send_raw`] mostly comes to, likewise.
    #[inline(always)]
    pub fn send_at_once(self, content: *const u8, size: usize, mode: SendMode) -> bool {
        super::send_uncontended::<true>(&SPACE, self.0, content, size as u64, mode)
    }

    /// The same for any message.
    pub fn send_uncontended(self, content: *const u8, size: usize, mode: SendMode) -> bool {
        super::send_uncontended::<false>(&SPACE, self.0, content, size as u64, mode)
    }

    /// What [`QueueRef::receive_raw`] mostly comes to, likewise.
    #[inline(always)]
    pub fn receive_at_once(self) -> Option<(NonNull<u8>, usize)> {
        super::receive_uncontended(&SPACE, self.0).map(|(content, size)| (content, size as usize))
    }

    /// Frees all queued messages, and tells how many (`rt_queue_flush`). Any thread may; it wakes nobody.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale.
    #[doc(alias = "rt_queue_flush")]
    pub fn flush(self) -> Result<u32> {
        let _section = Section::enter();
        super::flush(&SPACE, self.0)
    }

    /// A consistent look at the queue (`rt_queue_inquire`).
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale.
    #[doc(alias = "rt_queue_inquire")]
    pub fn inquire(self) -> Result<Info> {
        let _section = Section::enter();
        super::inquire(&SPACE, self.0)
    }

    /// Deletes the queue with all its messages (`rt_queue_delete`). Waiters return [`Error::Removed`]; the name is free;
    /// addresses of messages are void.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale; also for all but one of several callers at once. [`Error::Permission`]: in an alarm handler.
    #[doc(alias = "rt_queue_delete")]
    pub fn delete(self) -> Result<()> {
        runtime::refuse_handlers()?;
        let _section = Section::enter();
        super::delete(&SPACE, self.0)
    }
}
