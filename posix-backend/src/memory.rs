//! Page arithmetic, pages, and whether there is room.
//!
//! # Safety
//!
//! Unsafe code here calls `sysconf`, and makes and removes mappings that nobody else knows.

#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::Errno;
use crate::errno::ret;

/// The size of a page.
pub fn page_size() -> usize {
    // SAFETY: no memory is passed; the value always exists.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Whether the process could map this many bytes more.
pub fn is_obtainable(bytes: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let base = unsafe { libc::mmap(core::ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return false;
    }
    // SAFETY: the mapping made above.
    unsafe { libc::munmap(base, bytes) };
    true
}

/// Fresh pages with room for this many bytes, present and zero, for good. Takes no lock of the C library's.
pub fn pages(bytes: usize) -> Result<NonNull<u8>, Errno> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let base = unsafe { libc::mmap(core::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(Errno::last());
    }
    NonNull::new(base.cast()).ok_or(Errno::NOMEM)
}

/// Fresh zeroed pages of `len` bytes, a multiple of the page size. `NOMEM` if they cannot be present at once.
pub fn present_pages(len: usize) -> Result<NonNull<u8>, Errno> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let base = unsafe { libc::mmap(core::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    let start = NonNull::new(base.cast()).filter(|_| base != libc::MAP_FAILED).ok_or(Errno::NOMEM)?;
    // SAFETY: the mapping made above, which nobody else knows.
    match unsafe { populate(start, len) } {
        Ok(()) => Ok(start),
        Err(errno) => {
            // SAFETY: as above.
            unsafe { unmap(start, len) };
            Err(errno)
        }
    }
}

/// Removes a mapping.
///
/// # Safety
///
/// It was made by this library, and nobody uses it any more.
pub unsafe fn unmap(start: NonNull<u8>, len: usize) {
    // SAFETY: the caller's contract.
    unsafe { libc::munmap(start.as_ptr().cast(), len) };
}

/// Makes the pages of a writable mapping present. `NOMEM` if there is no memory for them.
///
/// # Safety
///
/// The range lies in a writable mapping; whoever else uses it does so by atomic accesses.
pub(crate) unsafe fn populate(start: NonNull<u8>, len: usize) -> Result<(), Errno> {
    /// Since Linux 5.14; not in all versions of the bindings.
    const MADV_POPULATE_WRITE: libc::c_int = 23;
    // SAFETY: the caller's contract.
    match ret(unsafe { libc::madvise(start.as_ptr().cast(), len, MADV_POPULATE_WRITE) }.into()) {
        Ok(_) => Ok(()),
        // Linux before 5.14: touch each page. Shortage then shows as a signal, which a private run meets only when the machine
        // has no memory left.
        Err(Errno::INVAL) => {
            for page in (0..len).step_by(page_size()) {
                // SAFETY: inside the range; an atomic OR with 0 changes nothing under other users' hands.
                unsafe { core::sync::atomic::AtomicU32::from_ptr(start.as_ptr().add(page).cast()) }
                    .fetch_or(0, core::sync::atomic::Ordering::Relaxed);
            }
            Ok(())
        }
        Err(_) => Err(Errno::NOMEM),
    }
}
