//! The thread's robust list: what it holds, for the kernel to mark if the thread dies.
//!
//! The C library registers one list per thread and there can be no other, so ours is that one, in its layout: an entry is the
//! address of the forward link in [`Links`], 32 bytes behind the lock word that it stands for; bit 0 marks a word with a PI owner.
//! An entry that is about to change is named in the head's `list_op_pending` before; the kernel looks there, too.
//!
//! Every step leaves a list that can be walked forwards, so that a thread which is ended by unwinding at any instruction can
//! still find what it holds: in the list, or pending with its own thread id in the word, or both.
//!
//! # Safety
//!
//! Unsafe code here reads and writes the calling thread's own list head and the links of entries in it. Entries are locks that
//! the thread holds, ours or the C library's, and their memory stays mapped while they are held. The kernel reads the list
//! only when the thread exits. The C library changes it inside its own robust mutex functions only, which are not called
//! between an announcement and its withdrawal.

#![allow(unsafe_code)]

use core::sync::atomic::AtomicUsize;
#[cfg(not(loom))]
use core::sync::atomic::{Ordering::*, compiler_fence};

use crate::atomic::Zeroed;

/// Where an entry lies relative to its lock word (`futex_offset` is the negative of it).
pub const WORD_TO_ENTRY: usize = 32;
/// Marks an entry as a PI word.
#[cfg(not(loom))]
const PI: usize = 1;
/// More entries than anybody holds: where a walk over a list that was overwritten ends.
#[cfg(not(loom))]
const TOO_MANY: usize = 1 << 20;

/// The links of a lock that stays in its holder's list while it is held.
#[repr(C)]
pub struct Links {
    prev: AtomicUsize,
    next: AtomicUsize,
}

// SAFETY: integers, changed by the holder only.
unsafe impl Zeroed for Links {
    fn zeroed() -> Links {
        Links { prev: AtomicUsize::new(0), next: AtomicUsize::new(0) }
    }
}

#[cfg(not(loom))]
impl Links {
    fn entry(&self) -> usize {
        self.next.as_ptr().addr()
    }
}

/// The kernel's `struct robust_list_head`, with what the C library has before it.
#[cfg(not(loom))]
#[repr(C)]
struct Head {
    prev: AtomicUsize,
    next: AtomicUsize,
    futex_offset: AtomicUsize,
    pending: AtomicUsize,
}

/// The calling thread's list.
#[derive(Clone, Copy)]
pub struct List(#[cfg(not(loom))] *const Head);

/// An entry that is named in the list's head. One that was named before, by an operation which this one interrupted, is
/// named again afterwards.
pub struct Announcement {
    #[cfg(not(loom))]
    list: List,
    #[cfg(not(loom))]
    before: usize,
}

#[cfg(not(loom))]
mod of_thread {
    use super::*;

    thread_local! {
        /// Stands in where the C library registered no list of the known layout: the thread still finds what it holds.
        static STAND_IN: Head = const {
            Head {
                prev: AtomicUsize::new(0),
                next: AtomicUsize::new(0),
                futex_offset: AtomicUsize::new(0),
                pending: AtomicUsize::new(0),
            }
        };
    }

    impl List {
        /// No list yet; not to be used.
        pub const NONE: List = List(core::ptr::null());

        /// The calling thread's list.
        pub fn of_this_thread() -> List {
            registered().unwrap_or_else(|| {
                STAND_IN.with(|head| {
                    if head.next.load(Relaxed) == 0 {
                        head.next.store(head.next.as_ptr().addr(), Relaxed);
                    }
                    List(head)
                })
            })
        }
    }

    fn registered() -> Option<List> {
        if cfg!(miri) {
            return None;
        }
        let mut next: *const AtomicUsize = core::ptr::null();
        let mut len = 0usize;
        // SAFETY: both outlive the call; 0 is the calling thread.
        let got = unsafe { libc::syscall(libc::SYS_get_robust_list, 0, &mut next, &mut len) };
        if got != 0 || next.is_null() || len != size_of::<Head>() - size_of::<usize>() {
            return None;
        }
        // SAFETY: the kernel returned the head that this thread's C library registered; it lives as long as the thread, and the
        // back link lies before it.
        let list = List(unsafe { next.byte_sub(core::mem::offset_of!(Head, next)) }.cast());
        // SAFETY: as above.
        let offset = unsafe { &*list.0 }.futex_offset.load(Relaxed);
        (offset == WORD_TO_ENTRY.wrapping_neg()).then_some(list)
    }

    impl List {
        #[inline]
        fn head(&self) -> &Head {
            // SAFETY: made by `of_this_thread`; `NONE` is replaced before use.
            unsafe { &*self.0 }
        }

        /// Names the lock at `word`, which will not be linked.
        #[inline]
        pub fn announce_word(self, word: usize) -> Announcement {
            self.announce_entry(word.wrapping_add(WORD_TO_ENTRY))
        }

        /// Names a lock that is about to be linked or unlinked.
        #[inline]
        pub fn announce(self, links: &Links) -> Announcement {
            self.announce_entry(links.entry())
        }

        #[inline]
        fn announce_entry(self, entry: usize) -> Announcement {
            let before = self.head().pending.load(Relaxed);
            self.head().pending.store(entry | PI, Relaxed);
            // The kernel reads the field as this thread left it: program order suffices, the compiler must keep it.
            compiler_fence(SeqCst);
            Announcement { list: self, before }
        }

        /// The address within the lock that is named, 0 if none is.
        pub fn announced(self) -> usize {
            self.head().pending.load(Relaxed) & !PI
        }

        /// The address within the lock linked last of those that `is_ours` accepts by that address.
        pub fn find(self, is_ours: impl Fn(usize) -> bool) -> Option<usize> {
            let end = self.head().next.as_ptr().addr();
            let mut entry = self.head().next.load(Relaxed) & !PI;
            for _ in 0..TOO_MANY {
                if entry == end || entry == 0 {
                    return None;
                }
                if is_ours(entry) {
                    return Some(entry);
                }
                entry = next_of(entry).load(Relaxed) & !PI;
            }
            None
        }
    }

    fn next_of(entry: usize) -> &'static AtomicUsize {
        // SAFETY: an entry of the calling thread's list, or the head's; see the module.
        unsafe { &*core::ptr::with_exposed_provenance(entry) }
    }

    fn prev_of(entry: usize) -> &'static AtomicUsize {
        // SAFETY: as in `next_of`; the back link lies before the forward one everywhere.
        unsafe { &*core::ptr::with_exposed_provenance(entry - size_of::<usize>()) }
    }

    impl Announcement {
        /// Puts the named lock, which this thread holds now, into the list.
        #[inline]
        pub fn link(&self, links: &Links) {
            let head = self.list.head();
            let first = head.next.load(Relaxed);
            let end = head.next.as_ptr().expose_provenance();
            links.next.store(first, Relaxed);
            links.prev.store(end, Relaxed);
            compiler_fence(SeqCst);
            let entry = links.next.as_ptr().expose_provenance();
            prev_of(first & !PI).store(entry, Relaxed);
            head.next.store(entry | PI, Relaxed);
        }

        /// Takes the named lock, which this thread still holds, out of the list.
        #[inline]
        pub fn unlink(&self, links: &Links) {
            let (prev, next) = (links.prev.load(Relaxed), links.next.load(Relaxed));
            prev_of(next & !PI).store(prev, Relaxed);
            next_of(prev & !PI).store(next, Relaxed);
            compiler_fence(SeqCst);
        }

        /// Names this lock no more.
        #[inline]
        pub fn withdraw(&self) {
            compiler_fence(SeqCst);
            self.list.head().pending.store(self.before, Relaxed);
        }
    }
}

/// Nobody dies in a model, and models say what a thread holds.
#[cfg(loom)]
mod of_model {
    #![allow(missing_docs)]

    use super::*;

    impl List {
        pub const NONE: List = List();

        pub fn announce_word(self, _: usize) -> Announcement {
            Announcement {}
        }

        pub fn announce(self, _: &Links) -> Announcement {
            Announcement {}
        }
    }

    impl Announcement {
        pub fn link(&self, _: &Links) {}

        pub fn unlink(&self, _: &Links) {}

        pub fn withdraw(&self) {}
    }
}
