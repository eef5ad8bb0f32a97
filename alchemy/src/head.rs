//! What every slot begins with, and what every object type says of itself.

use posix_backend::arena::{Arena, Slot};
use posix_backend::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use posix_backend::wait::WaitSite;
use posix_backend::zeroed_struct;

use crate::handle::{Handle, Kind};
use crate::name::Name;
use crate::space::Space;
use crate::state::State;
use crate::task::slot::ThreadSlot;

zeroed_struct! {
    /// The first part of every slot.
    pub(crate) struct Head {
        pub site: WaitSite,
        /// Hash of the name while it is entered in the registry, else 0. This and the next two: registry lock.
        pub hash: AtomicU32,
        /// The next slot in the bucket.
        pub chain: AtomicU32,
        /// The generation for which the name was entered.
        pub entered: AtomicU32,
        /// The free list's link; the arena's.
        pub free: AtomicU32,
        pad: AtomicU32,
        /// Constant from before the slot is live until it is recycled.
        pub name: [AtomicU64; 4],
        /// Last, so that what operations use besides can lie close to it.
        pub state: State,
    }
}

impl Head {
    pub fn name(&self) -> Name {
        Name::load(&self.name)
    }

    /// The place where threads wait for this object.
    pub fn place(&self, handle: Handle) -> Place<'_> {
        Place { site: &self.site, state: Some(&self.state), id: handle, in_kernel: false }
    }

    /// Whether the name in the registry belongs to an object that is dead, its deleter not having come to take it out.
    pub fn is_stale_entry(&self) -> bool {
        self.state.load().generation() != self.entered.load(Relaxed)
    }
}

/// Somewhere a thread can wait.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub site: &'a WaitSite,
    /// The word whose `WAITERS` bit mirrors the queue, where there is one.
    pub state: Option<&'a State>,
    /// What [`Space::place`] finds it by.
    pub id: Handle,
    /// Whether waiters sleep in the kernel's queue of a PI word, not on their own words. The queue here says who does.
    pub in_kernel: bool,
}

/// An object type.
pub(crate) trait Object: Slot + 'static {
    const KIND: Kind;
    /// What generated names begin with.
    const RADIX: &'static str;
    /// Where memory is limited there is room for one of these for so many of the most frequent types.
    const SCARCITY: u32 = 1;
    fn head(&self) -> &Head;
    fn arena(space: &Space) -> &Arena<Self>;

    /// Where threads wait for this object.
    fn place(&self, _space: &Space, handle: Handle) -> Place<'_> {
        self.head().place(handle)
    }

    /// Where thread `index` stands in the queue: the higher, the earlier. Needs the lock.
    fn rank(&self, _index: u32, _thread: &ThreadSlot) -> u32 {
        0
    }

    /// A waiter has left the queue, or moved in it, by no deed of this object's: serves whom that lets through, by deciding, and
    /// tells whether anybody is decided now. Needs the lock.
    fn left(&self, _space: &Space) -> bool {
        false
    }

    /// After a holder of the lock died: makes the type's own fields consistent. The queue has been rebuilt, and the object is
    /// live, unless its word does not mirror the queue. Needs the lock.
    fn repair(&self, _space: &Space) {}

    /// In the child of a fork, whose only thread has slot `me` (0: none): what waiters and other threads have left behind.
    /// The queue is empty; the object need not be live.
    fn inherit(&self, _space: &Space, _index: u32, _me: u32) {
        if self.head().state.load().is_live() {
            self.head().state.clear_waiters();
        }
    }

    /// Whether a slot that is free may be used again already.
    fn is_quiet(&self) -> bool {
        true
    }

    /// Where a slot that is not notes the next one, while it is out of the free list. `None` for types whose slots are always quiet.
    fn aside(&self) -> Option<&AtomicU32> {
        None
    }
}
