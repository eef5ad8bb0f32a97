//! The segment: one contiguous range of shared memory, reserved at once, opened as it is needed.
//!
//! The range is backed by a memory file whose size is set once; the descriptor is closed then, since programs that become
//! daemons close all of theirs. Opening a part makes it readable and writable and allocates its pages, so that no later
//! access can fault for lack of memory. Nothing is ever closed again or moved.
//!
//! # Safety
//!
//! Unsafe code here maps memory. The base and length of the range are private to this module and change only in the single
//! thread of a forked child, so every address handed out lies in a mapping that is never removed.

#![allow(unsafe_code)]

use core::ffi::c_int;
use core::ptr::NonNull;

use crate::Errno;
use crate::errno::ret;
use crate::memory;
use crate::process;

/// A reserved range. It is never given back: objects in it may be used until the process ends.
pub struct Segment {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the fields never change; what they lead to is shared memory, which `arena` hands out as atomics only.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// Reserves `len` bytes, a multiple of the page size, without committing any.
    pub fn reserve(len: usize) -> Result<Segment, Errno> {
        let file = memory_file(len)?;
        let base = map_reserved(core::ptr::null_mut(), len, file.0, 0)?;
        Ok(Segment { base, len })
    }

    /// Whether this process has a segment already, by another copy of this library.
    pub fn exists_elsewhere() -> bool {
        std::fs::read_to_string("/proc/self/maps").is_ok_and(|maps| maps.contains("/memfd:alchemy "))
    }

    /// The length of the range in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the range is empty; it never is.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address `offset` bytes into the range.
    ///
    /// # Panics
    ///
    /// If the offset lies outside.
    pub fn at(&self, offset: usize) -> NonNull<u8> {
        assert!(offset < self.len, "offset outside the segment");
        // SAFETY: the range is one mapping and the offset lies inside it.
        unsafe { self.base.add(offset) }
    }

    /// Makes a part of the range usable and its pages present. Both bounds are multiples of the page size. Opening a part
    /// again is harmless. `NOMEM` if the memory is not there.
    pub fn open(&self, offset: usize, len: usize) -> Result<(), Errno> {
        if offset.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(Errno::NOMEM);
        }
        if len == 0 {
            return Ok(());
        }
        let start = self.at(offset).as_ptr();
        // SAFETY: the part lies inside our own mapping.
        ret(unsafe { libc::mprotect(start.cast(), len, libc::PROT_READ | libc::PROT_WRITE) }.into())
            .map_err(|_| Errno::NOMEM)?;
        // SAFETY: likewise; segments are used by atomic accesses only.
        unsafe { memory::populate(self.at(offset), len) }
    }

    /// Starts a copy for the child of a fork.
    pub fn start_copy(&self) -> Result<Copy, Errno> {
        Ok(Copy { file: memory_file(self.len)?, parts: Vec::new() })
    }

    /// In the child of a fork, which is its only thread: replaces the memory shared with the parent by the copy, at the
    /// same addresses.
    ///
    /// # Safety
    ///
    /// No other thread may exist in the process, and no reference into the segment may be in use.
    pub unsafe fn become_copy(&self, copy: &Copy) -> Result<(), Errno> {
        map_reserved(self.base.as_ptr(), self.len, copy.file.0, libc::MAP_FIXED)?;
        copy.parts.iter().try_for_each(|part| self.open(part.offset, part.len))
    }
}

/// A copy of the parts of a segment that are in use, made before a fork for the child to take over.
pub struct Copy {
    file: File,
    parts: Vec<Part>,
}

/// A part of a copy, mapped for writing.
pub struct Part {
    offset: usize,
    len: usize,
    base: NonNull<u8>,
}

// SAFETY: a part is a mapping owned by its value; the address means the same in each thread.
unsafe impl Send for Part {}

impl Copy {
    /// Opens the part of the copy at the same place as `len` bytes at `offset` of the original.
    pub(crate) fn part(&mut self, offset: usize, len: usize) -> Result<&Part, Errno> {
        let base = if len == 0 {
            NonNull::dangling()
        } else {
            let prot = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: a new mapping at an address of the kernel's choice.
            let base = unsafe {
                libc::mmap(core::ptr::null_mut(), len, prot, libc::MAP_SHARED, self.file.0, offset as libc::off_t)
            };
            if base == libc::MAP_FAILED {
                return Err(Errno::last());
            }
            NonNull::new(base.cast()).ok_or(Errno::NOMEM)?
        };
        self.parts.push(Part { offset, len, base });
        self.parts.last().ok_or(Errno::NOMEM)
    }
}

impl Part {
    /// Writes a value into the copy, which nobody else uses yet.
    pub(crate) fn write<V: core::marker::Copy>(&self, at: usize, value: V) {
        assert!(at + size_of::<V>() <= self.len, "outside the part");
        // SAFETY: inside the mapping that this part owns.
        unsafe { self.base.add(at).cast::<V>().write_unaligned(value) };
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: the mapping belongs to this value alone.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
        }
    }
}

struct File(c_int);

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours and is not used any more.
        unsafe { libc::close(self.0) };
    }
}

fn memory_file(len: usize) -> Result<File, Errno> {
    if process::file_size_limit().is_some_and(|limit| limit < len as u64) {
        // Setting the size would be answered by a signal.
        return Err(Errno::NOMEM);
    }
    // SAFETY: the name is a NUL-terminated literal.
    let fd = ret(unsafe { libc::memfd_create(c"alchemy".as_ptr(), libc::MFD_CLOEXEC) }.into())?;
    let file = File(fd as c_int);
    // SAFETY: the descriptor is open.
    ret(unsafe { libc::ftruncate(file.0, len as libc::off_t) }.into())?;
    Ok(file)
}

fn map_reserved(at: *mut u8, len: usize, file: c_int, flags: c_int) -> Result<NonNull<u8>, Errno> {
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE | flags;
    // SAFETY: without MAP_FIXED a new range is chosen; with it, `at` and `len` are those of our own earlier mapping.
    let base = unsafe { libc::mmap(at.cast(), len, libc::PROT_NONE, flags, file, 0) };
    if base == libc::MAP_FAILED {
        return Err(Errno::last());
    }
    NonNull::new(base.cast()).ok_or(Errno::NOMEM)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::page_size;
    use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

    fn word(segment: &Segment, offset: usize) -> &AtomicU32 {
        // SAFETY: the tests open the page first; offsets are aligned.
        unsafe { segment.at(offset).cast::<AtomicU32>().as_ref() }
    }

    #[test]
    fn opens_in_parts_and_refuses_what_lies_outside() {
        let page = page_size();
        let segment = Segment::reserve(16 * page).unwrap();
        segment.open(0, page).unwrap();
        word(&segment, 0).store(7, Relaxed);
        segment.open(0, 2 * page).unwrap();
        assert_eq!(word(&segment, 0).load(Relaxed), 7);
        assert_eq!(word(&segment, page).load(Relaxed), 0);
        assert_eq!(segment.open(15 * page, 2 * page), Err(Errno::NOMEM));
        assert_eq!(segment.open(usize::MAX, 2), Err(Errno::NOMEM));
    }

    #[test]
    fn a_range_of_absurd_size_is_refused() {
        assert!(Segment::reserve(usize::MAX / page_size() / 2 * page_size()).is_err());
    }
}
