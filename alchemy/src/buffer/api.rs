//! The safe interface to buffers.

use core::ops::Deref;

use posix_backend::section::Section;

use super::{BufferSlot, Direction, Info, Mode, Piece};
use crate::error::Result;
use crate::handle::Handle;
use crate::name::Name;
use crate::runtime::{self, SPACE};
use crate::time::Timeout;

/// A byte buffer, by reference: what threads share, and what [`Buffer::bind`] finds. It may be stale; then every method returns
/// [`Error::Invalid`](crate::Error::Invalid).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferRef(Handle);

/// A byte buffer that this value owns: dropping it deletes the buffer.
///
/// A bounded stream of bytes without records: what two writes stored, one read may take, and the other way round. Each write
/// stores all its bytes or none.
///
/// ```
/// use alchemy::{Buffer, Error, Timeout};
///
/// let buffer = Buffer::new(8)?;
/// assert_eq!(buffer.write(b"hello", Timeout::INFINITE)?, 5);
/// assert_eq!(buffer.write(b"world", Timeout::NONE), Err(Error::WouldBlock));
/// let mut bytes = [0; 4];
/// assert_eq!(buffer.read(&mut bytes, Timeout::INFINITE)?, 4);
/// assert_eq!(&bytes, b"hell");
/// assert_eq!(buffer.inquire()?.free, 7);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Buffer(BufferRef);

impl Buffer {
    /// A buffer of `size` bytes with a generated name, whose waiters are served by priority. Errors as for [`Buffer::create`].
    pub fn new(size: usize) -> Result<Buffer> {
        Buffer::create("", size, Mode::PRIORITY)
    }

    /// Makes an empty buffer (`rt_buffer_create`). Any thread but alarm handlers may; it does not block.
    ///
    /// * `name`: at most 31 bytes, longer ones are cut; empty for a generated one.
    /// * `size`: how many bytes it can store, exactly; at least 1.
    ///
    /// # Errors
    ///
    /// [`Error::Permission`](crate::Error::Permission): the caller is an alarm handler. [`Error::Invalid`](crate::Error::Invalid):
    /// `size` is 0, or `mode` out of range. [`Error::NoMemory`](crate::Error::NoMemory): no memory, or too many buffers.
    /// [`Error::Exists`](crate::Error::Exists): a live buffer has the name.
    #[doc(alias = "rt_buffer_create")]
    pub fn create(name: &str, size: usize, mode: Mode) -> Result<Buffer> {
        BufferRef::create(Name::new(name.as_bytes()), size, mode, |_| ()).map(Buffer)
    }

    /// Finds the buffer with this name, waiting for its creation as long as `timeout` says (`rt_buffer_bind`).
    ///
    /// # Errors
    ///
    /// As for [`Semaphore::bind`](crate::Semaphore::bind).
    #[doc(alias = "rt_buffer_bind")]
    pub fn bind(name: &str, timeout: impl Into<Timeout>) -> Result<BufferRef> {
        BufferRef::bind(Name::new(name.as_bytes()), timeout.into())
    }

    /// Gives up ownership: the buffer lives until somebody deletes it by reference, or until the process ends.
    pub fn leak(self) -> BufferRef {
        let reference = self.0;
        core::mem::forget(self);
        reference
    }
}

impl Deref for Buffer {
    type Target = BufferRef;

    fn deref(&self) -> &BufferRef {
        &self.0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // It may be deleted already, by reference.
        let _ = self.0.delete();
    }
}

impl BufferRef {
    /// As [`Buffer::create`], for the C interface: unowned, and `ready` gets the handle before anybody can bind.
    pub fn create(name: Name, size: usize, mode: Mode, ready: impl FnOnce(Handle)) -> Result<BufferRef> {
        let _section = Section::enter();
        runtime::refuse_handlers()?;
        super::create(runtime::space()?, name, size, mode, ready).map(BufferRef)
    }

    /// As [`Buffer::bind`], for any bytes.
    pub fn bind(name: Name, timeout: Timeout) -> Result<BufferRef> {
        runtime::bind::<BufferSlot, _>(name, timeout, |handle| Some(BufferRef(handle)))
    }

    /// The buffer of a handle, which need not be valid.
    #[inline]
    pub const fn from_handle(handle: Handle) -> BufferRef {
        BufferRef(handle)
    }

    /// The handle.
    pub const fn handle(self) -> Handle {
        self.0
    }

    /// Fills `bytes` from the buffer, waiting for as many as long as `timeout` says (`rt_buffer_read`, `rt_buffer_read_until`,
    /// `rt_buffer_read_timed`). Returns how many were read: all, or less in one case.
    ///
    /// *Short reads.* A reader that wants more than is stored, and a writer that wants more than is free, would wait for each other.
    /// Then the reader gets what is stored, at least one byte. A poll never reads less than all.
    ///
    /// Whoever can be served at once is, whoever waits. Nothing is read on an error, and for no `bytes` nothing is done, not even
    /// the buffer looked at. A task that is deleted while it is suspended may have been served before; those bytes are gone.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid): stale, or more bytes than the buffer can store.
    /// [`Error::WouldBlock`](crate::Error::WouldBlock): not as many are stored, and [`Timeout::NONE`].
    /// [`Error::Permission`](crate::Error::Permission): not as many are stored, and the caller may not wait.
    /// [`Error::TimedOut`](crate::Error::TimedOut): the date passed. [`Error::Interrupted`](crate::Error::Interrupted),
    /// [`Error::Removed`](crate::Error::Removed): unblocked, or the buffer was deleted, during the wait.
    /// [`Error::Cancelled`](crate::Error::Cancelled): the task was asked to end.
    #[doc(alias = "rt_buffer_read")]
    pub fn read(self, bytes: &mut [u8], timeout: impl Into<Timeout>) -> Result<usize> {
        let (memory, len) = (bytes.as_mut_ptr(), bytes.len());
        // SAFETY: a slice that is borrowed for the call.
        unsafe { if self.read_uncontended(memory, len) { Ok(len) } else { self.read_to(memory, len, timeout.into()) } }
    }

    /// Stores all of `bytes`, waiting for the room as long as `timeout` says (`rt_buffer_write`, `rt_buffer_write_until`,
    /// `rt_buffer_write_timed`). Returns how many that are. Nothing is stored on an error.
    ///
    /// # Errors
    ///
    /// As for [`BufferRef::read`], with room in place of bytes.
    #[doc(alias = "rt_buffer_write")]
    pub fn write(self, bytes: &[u8], timeout: impl Into<Timeout>) -> Result<usize> {
        let (memory, len) = (bytes.as_ptr(), bytes.len());
        // SAFETY: a slice that is borrowed for the call.
        unsafe {
            if self.write_uncontended(memory, len) { Ok(len) } else { self.write_from(memory, len, timeout.into()) }
        }
    }

    /// As [`BufferRef::read`], for the C interface.
    ///
    /// # Safety
    ///
    /// `memory` is valid for writes of `len` bytes during the call.
    pub unsafe fn read_to(self, memory: *mut u8, len: usize, timeout: Timeout) -> Result<usize> {
        let _section = Section::enter();
        let piece = Piece { address: memory, len };
        // SAFETY: the caller's contract.
        unsafe { super::transfer(&SPACE, self.0, Direction::Read, piece, timeout, runtime::me) }
    }

    /// As [`BufferRef::write`], for the C interface.
    ///
    /// # Safety
    ///
    /// `memory` is valid for reads of `len` bytes during the call.
    pub unsafe fn write_from(self, memory: *const u8, len: usize, timeout: Timeout) -> Result<usize> {
        let _section = Section::enter();
        let piece = Piece { address: memory.cast_mut(), len };
        // SAFETY: the caller's contract.
        unsafe { super::transfer(&SPACE, self.0, Direction::Write, piece, timeout, runtime::me) }
    }

    /// What [`BufferRef::read_to`] mostly comes to, in line, for the C interface: a few bytes, all of which are stored. False decides
    /// nothing.
    ///
    /// # Safety
    ///
    /// As for [`BufferRef::read_to`].
    #[inline(always)]
    pub unsafe fn read_at_once(self, memory: *mut u8, len: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { super::transfer_uncontended::<true>(&SPACE, self.0, Direction::Read, Piece { address: memory, len }) }
    }

    /// What it comes to next: all of the bytes, if nobody waits. False decides nothing.
    ///
    /// # Safety
    ///
    /// As for [`BufferRef::read_to`].
    pub unsafe fn read_uncontended(self, memory: *mut u8, len: usize) -> bool {
        let piece = Piece { address: memory, len };
        // SAFETY: the caller's contract.
        unsafe { super::transfer_uncontended::<false>(&SPACE, self.0, Direction::Read, piece) }
    }

    /// What [`BufferRef::write_from`] mostly comes to, likewise.
    ///
    /// # Safety
    ///
    /// As for [`BufferRef::write_from`].
    #[inline(always)]
    pub unsafe fn write_at_once(self, memory: *const u8, len: usize) -> bool {
        let piece = Piece { address: memory.cast_mut(), len };
        // SAFETY: the caller's contract.
        unsafe { super::transfer_uncontended::<true>(&SPACE, self.0, Direction::Write, piece) }
    }

    /// What it comes to next, likewise.
    ///
    /// # Safety
    ///
    /// As for [`BufferRef::write_from`].
    pub unsafe fn write_uncontended(self, memory: *const u8, len: usize) -> bool {
        let piece = Piece { address: memory.cast_mut(), len };
        // SAFETY: the caller's contract.
        unsafe { super::transfer_uncontended::<false>(&SPACE, self.0, Direction::Write, piece) }
    }

    /// Drops all that is stored; then waiting writers are served (`rt_buffer_clear`). Any thread may; it does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid): stale.
    #[doc(alias = "rt_buffer_clear")]
    pub fn clear(self) -> Result<()> {
        let _section = Section::enter();
        super::clear(&SPACE, self.0)
    }

    /// A consistent look at the buffer (`rt_buffer_inquire`). Any thread may; it does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid): stale.
    #[doc(alias = "rt_buffer_inquire")]
    pub fn inquire(self) -> Result<Info> {
        let _section = Section::enter();
        super::inquire(&SPACE, self.0)
    }

    /// Deletes the buffer and what is stored (`rt_buffer_delete`). Waiters return [`Error::Removed`](crate::Error::Removed); the name
    /// is free.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid): stale; also for all but one of several callers at once.
    /// [`Error::Permission`](crate::Error::Permission): the caller is an alarm handler.
    #[doc(alias = "rt_buffer_delete")]
    pub fn delete(self) -> Result<()> {
        let _section = Section::enter();
        runtime::refuse_handlers()?;
        super::delete(&SPACE, self.0)
    }
}
