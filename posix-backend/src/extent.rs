//! Extents: memory for what objects store, such as messages and buffered bytes; as much as the system gives.
//!
//! An extent is named by its offset from a base, so that what lies in a segment holds no pointer: the offset means the same in
//! every process that has the extent, the address does not. In a private run each extent is a mapping of its own, and the child
//! of a fork has a copy of it without further ado.
//!
//! # Safety
//!
//! Unsafe code here maps and unmaps memory. Addresses come from mappings that this module made; whoever uses one keeps the
//! extent from being released meanwhile, by the lock of the object that owns it.

#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::memory::page_size;
use crate::pi_lock::{Held, PiLock};
use crate::{Errno, Scope, memory};

/// What offsets count from in this process.
static BASE: AtomicUsize = AtomicUsize::new(0);

/// Taken by whoever takes an extent away, and across a fork: the child finds every extent that the objects in its copy of the
/// segment have.
static RELEASE: PiLock = PiLock::new();

/// Some memory. Zero offset and length: none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    /// Offset of the first byte, a multiple of the page size.
    pub offset: u64,
    /// Length in bytes, a multiple of the page size.
    pub len: u64,
}

/// Sets what offsets count from. Once, before the first extent.
pub fn set_base(base: NonNull<u8>) {
    BASE.store(base.addr().get(), Relaxed);
}

impl Extent {
    /// Memory for at least this many bytes, zero and present. `NOMEM` if there is none.
    pub fn obtain(bytes: usize) -> Result<Extent, Errno> {
        let len = bytes.checked_next_multiple_of(page_size()).filter(|&len| len > 0).ok_or(Errno::NOMEM)?;
        let address = memory::present_pages(len)?.as_ptr().expose_provenance();
        Ok(Extent { offset: (address as u64).wrapping_sub(BASE.load(Relaxed) as u64), len: len as u64 })
    }

    /// Gives the memory back to the system.
    ///
    /// # Safety
    ///
    /// The extent comes from [`Extent::obtain`], has not been released, and this library does not use it any more.
    pub unsafe fn release(self) {
        let Some(start) = self.start() else { return };
        let (_held, _) = RELEASE.lock(Scope::Private);
        // SAFETY: the caller's contract.
        unsafe { memory::unmap(start, self.len as usize) };
    }

    /// The address of the first byte in this process; `None` if there is no memory.
    #[inline]
    pub fn start(self) -> Option<NonNull<u8>> {
        if self.len == 0 { None } else { NonNull::new(address(self.offset)) }
    }

    /// The address `at` bytes into the extent, if it lies inside.
    #[inline]
    pub fn at(self, at: u64) -> Option<NonNull<u8>> {
        if at < self.len { NonNull::new(address(self.offset.wrapping_add(at))) } else { None }
    }

    /// How far into the extent this address lies, if it does.
    #[inline]
    pub fn offset_of(self, pointer: *const u8) -> Option<u64> {
        let at = (pointer.addr() as u64).wrapping_sub(address(self.offset).addr() as u64);
        (at < self.len).then_some(at)
    }
}

#[inline]
fn address(offset: u64) -> *mut u8 {
    core::ptr::with_exposed_provenance_mut(offset.wrapping_add(BASE.load(Relaxed) as u64) as usize)
}

/// Keeps all extents from being released, while a process forks.
pub fn hold_all() -> Held<'static> {
    RELEASE.lock(Scope::Private).0
}

/// In the child of a fork: nobody is releasing anything.
pub fn reset() {
    RELEASE.reset();
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_extent_is_zeroed_and_knows_its_addresses() {
        let extent = Extent::obtain(5000).unwrap();
        assert!(extent.len >= 5000 && extent.len.is_multiple_of(page_size() as u64));
        let last = extent.at(extent.len - 1).unwrap();
        // SAFETY: inside an extent that only this test uses.
        unsafe {
            assert_eq!(last.read(), 0);
            last.write(7);
        }
        assert_eq!(extent.offset_of(last.as_ptr()), Some(extent.len - 1));
        assert!(extent.at(extent.len).is_none());
        let start = extent.start().unwrap().as_ptr();
        assert_eq!(extent.offset_of(start.wrapping_sub(1)), None);
        assert_eq!(extent.offset_of(start.wrapping_add(extent.len as usize)), None);
        // SAFETY: nobody uses it any more.
        unsafe { extent.release() };
    }

    #[test]
    fn absurd_sizes_are_refused() {
        assert_eq!(Extent::obtain(0), Err(Errno::NOMEM));
        assert_eq!(Extent::obtain(usize::MAX), Err(Errno::NOMEM));
        assert_eq!(Extent::obtain(usize::MAX / 4), Err(Errno::NOMEM));
    }
}
