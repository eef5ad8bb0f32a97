//! Message queues: `rt_queue_*`.
//!
//! A message is a block of the queue's pool. Its first 32 bytes are left free, as a distance from its neighbour; the content
//! follows. What the library knows of it (who holds it, whether it is queued, its size, the next one) is in a [`store::Record`] in
//! front of the user area, where the program's mistakes do not reach it.
//!
//! Whoever waits asks either for the message itself ([`RECEIVE`]) or for a copy ([`READ`]). A reader gets its copy from the sender,
//! under the lock, while it sleeps. `ask` of a waiter: what for; the buffer and its size; the answer of a sender to a receiver,
//! which is the message's size. `result`: a reader's is the message's size, a receiver's the message's number.
//!
//! # Safety
//!
//! Unsafe code here attaches to the pool and copies contents. Both are done under the slot's lock while the queue is live; the
//! deleter takes the memory out of the slot under that lock, and gives it back after that. The buffer of a queued waiter is
//! valid: the waiter cannot return before it has left the queue, under the lock.

#![allow(unsafe_code)]

mod api;
mod receive;
mod send;
mod store;
#[cfg(test)]
mod tests;

use core::ptr::NonNull;

use posix_backend::arena::Arena;
use posix_backend::atomic::{AtomicU32, Ordering::*};
use posix_backend::pool::{self, PoolPlace};
use posix_backend::zeroed_struct;

pub use api::{Plain, Queue, QueueRef};
pub(crate) use receive::{flush, read, read_uncontended, receive, receive_uncontended};
pub(crate) use send::{send, send_uncontended, write, write_uncontended};
use store::{HEADER, Queues, Store};

use crate::error::{Error, Result};
use crate::handle::{Handle, Kind};
use crate::head::{Head, Object};
use crate::name::Name;
use crate::space::Space;
use crate::task::slot::ThreadSlot;

/// `ask[0]`: a copy of the content.
const READ: u64 = 1;
/// `ask[0]`: the message itself.
const RECEIVE: u64 = 2;

/// The largest limit of queued messages.
const MAX_LIMIT: usize = i32::MAX as usize;

bitflags::bitflags! {
    /// How a queue is made.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Mode: u32 {
        /// Waiters are served by priority, equals in order of arrival; without it, all in order of arrival (`Q_PRIO`).
        const PRIORITY = 1;
    }
}

bitflags::bitflags! {
    /// How a message is sent.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct SendMode: u32 {
        /// In front of all queued messages (`Q_URGENT`).
        const URGENT = 1;
        /// To all who wait at this moment, and to nobody else (`Q_BROADCAST`).
        const BROADCAST = 2;
    }
}

/// What a queue is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The size of the pool in bytes; messages need some more each, for which there is room.
    pub pool_size: usize,
    /// How many messages can be queued at a time; 0 for no limit.
    pub limit: usize,
    /// How waiters are served.
    pub mode: Mode,
    /// What [`Info::mode`] shows; usually the bits of `mode`.
    pub shown: u32,
}

/// What a look at a queue shows: one consistent snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// Threads waiting for a message.
    pub waiters: u32,
    /// Messages queued; those held by somebody do not count.
    pub messages: u32,
    /// As said at creation.
    pub mode: u32,
    /// As given at creation.
    pub limit: u32,
    /// The size of the pool in bytes.
    pub pool_size: u64,
    /// Bytes of the pool in messages, queued or held, rounding included.
    pub used: u64,
    /// The name, given or generated.
    pub name: Name,
}

zeroed_struct! {
    /// A queue in the segment.
    pub(crate) struct QueueSlot {
        pub head: Head,
        memory: PoolPlace,
        mode: AtomicU32,
        shown: AtomicU32,
        limit: AtomicU32,
        pad: AtomicU32,
    }
}

const _: () = assert!(size_of::<QueueSlot>() == 128);

impl Object for QueueSlot {
    const KIND: Kind = Kind::Queue;
    const RADIX: &'static str = "queue";
    /// Each needs a pool, too.
    const SCARCITY: u32 = 6;

    #[inline]
    fn head(&self) -> &Head {
        &self.head
    }

    #[inline]
    fn arena(space: &Space) -> &Arena<Self> {
        &space.queues
    }

    fn rank(&self, _index: u32, thread: &ThreadSlot) -> u32 {
        if self.mode.load(Relaxed) & Mode::PRIORITY.bits() != 0 { thread.priority.load(Relaxed) } else { 0 }
    }

    fn repair(&self, space: &Space) {
        if let Some(store) = self.store() {
            store.finish_grant(|waiter| self.has_queued(space, waiter));
            store.rebuild(false);
        }
    }

    fn inherit(&self, _space: &Space, _index: u32, _me: u32) {
        if !self.head.state.load().is_live() {
            return;
        }
        self.head.state.clear_waiters();
        if let Some(store) = self.store() {
            store.finish_grant(|_| true);
            store.rebuild(true);
        }
    }
}

impl QueueSlot {
    /// Whether this thread is queued here.
    fn has_queued(&self, space: &Space, waiter: u32) -> bool {
        let here = space.queues.slots().index_of(core::ptr::from_ref(self).addr());
        space.threads.get(waiter).is_some_and(|thread| {
            let on = Handle::from_word(thread.node.waiting_on.load(Relaxed));
            thread.node.is_queued() && on.is(Kind::Queue) && Some(on.index()) == here
        })
    }

    /// The messages. Under the lock, of a live queue.
    #[inline(always)]
    fn store(&self) -> Option<Store<'_>> {
        // SAFETY: see the module.
        unsafe { Store::attach(self.memory.locate()) }
    }

    /// The messages, if the queue is the one that is meant. Under the lock.
    fn live_store(&self, handle: Handle) -> Result<Store<'_>> {
        handle.check(self.head.state.load())?;
        self.store().ok_or(Error::Invalid)
    }

    /// `NoMemory` if there are as many messages queued as there may be.
    #[inline(always)]
    fn check_limit(&self, store: &Store<'_>) -> Result<()> {
        if store.is_full(self.limit.load(Relaxed)) { Err(Error::NoMemory) } else { Ok(()) }
    }
}

/// How many bytes the pool must have. `None` if they are too many to count.
fn pool_bytes(size: u64, limit: u64) -> Option<u64> {
    match size.checked_div(limit) {
        // A little more than asked for.
        None => size.checked_add(u64::try_from(u128::from(size) * 5 / 100).ok()?),
        Some(each) => pool::block_size(each.checked_add(HEADER)?)?.checked_mul(limit),
    }
}

pub(crate) fn create(space: &Space, name: Name, settings: Settings, ready: impl FnOnce(Handle)) -> Result<Handle> {
    let Settings { pool_size, limit, mode, shown } = settings;
    if pool_size == 0 || !Mode::all().contains(mode) || limit > MAX_LIMIT {
        return Err(Error::Invalid);
    }
    let bytes = pool_bytes(pool_size as u64, limit as u64).ok_or(Error::NoMemory)?;
    let area = pool::obtain::<Queues>(bytes).map_err(|_| Error::NoMemory)?;
    let fill = |slot: &QueueSlot| {
        slot.memory.set(area);
        slot.mode.store(mode.bits(), Relaxed);
        slot.shown.store(shown, Relaxed);
        slot.limit.store(limit as u32, Relaxed);
    };
    let ready = |handle, _| {
        ready(handle);
        Ok(())
    };
    space.create::<QueueSlot>(name, (false, 0), fill, ready).inspect_err(|_| {
        // SAFETY: the queue never became live: nobody has used the memory.
        unsafe { pool::abandon(area.extent) };
    })
}

pub(crate) fn delete(space: &Space, handle: Handle) -> Result<()> {
    let extent = space.delete_with(handle, |_| Ok(()), |slot: &QueueSlot| slot.memory.take())?;
    // SAFETY: it is out of the slot, which was the only way to it. Once, since one deleter wins.
    unsafe { pool::abandon(extent) };
    Ok(())
}

/// Allocates a message, if nobody waits; see [`Space::attempt`]. `LEAF`: in line, if that needs no call.
#[inline(always)]
pub(crate) fn alloc_uncontended<const LEAF: bool>(space: &Space, handle: Handle, size: u64) -> Option<NonNull<u8>> {
    let slot = space.candidate::<QueueSlot>(handle)?;
    let memory = slot.memory.locate();
    let attempt = space.attempt(slot, handle)?;
    // SAFETY: see the module; the queue is live, and the lock is held.
    let allocated = unsafe { Store::attach(memory) }.and_then(|store| {
        let message = store.alloc_at_once::<LEAF>(size)?;
        message.record.refs.store(1, Release);
        Some(store.content_of(&message))
    });
    attempt.leave_with(space.scope, allocated)
}

/// Lets go of a message, likewise.
#[inline(always)]
pub(crate) fn free_uncontended<const LEAF: bool>(space: &Space, handle: Handle, content: *const u8) -> bool {
    let Some(slot) = space.candidate::<QueueSlot>(handle) else { return false };
    let memory = slot.memory.locate();
    let Some(attempt) = space.attempt(slot, handle) else { return false };
    // SAFETY: as in `alloc_uncontended`.
    let freed = unsafe { Store::attach(memory) }.and_then(|store| {
        let message = store.locate::<LEAF>(content).filter(|message| message.holders() > 0)?;
        if LEAF && !store.frees_at_once(&message) {
            return None;
        }
        store.let_go::<LEAF>(&message);
        Some(())
    });
    attempt.leave_with(space.scope, freed.is_some())
}

/// Allocates a message for content of this size; the caller holds it. `None` if there is no room, or no such queue.
pub(crate) fn alloc(space: &Space, handle: Handle, size: u64) -> Option<NonNull<u8>> {
    let slot = space.object::<QueueSlot>(handle).ok()?;
    space.section(&slot.head.place(handle), || {
        let store = slot.live_store(handle).ok()?;
        let message = store.alloc(size)?;
        message.record.refs.store(1, Release);
        store.content(message.number)
    })
}

/// Lets go of a message at this address of the calling process.
pub(crate) fn free(space: &Space, handle: Handle, content: *const u8) -> Result<()> {
    free_where(space, handle, |store| store.locate::<false>(content))
}

fn free_where(
    space: &Space,
    handle: Handle,
    locate: impl for<'a> FnOnce(&Store<'a>) -> Option<store::Message<'a>>,
) -> Result<()> {
    let slot = space.object::<QueueSlot>(handle)?;
    let place = slot.head.place(handle);
    space.section(&place, || {
        let store = slot.live_store(handle)?;
        let message = locate(&store).filter(|message| message.holders() > 0).ok_or(Error::Invalid)?;
        store.let_go::<false>(&message);
        Ok(())
    })
}

pub(crate) fn inquire(space: &Space, handle: Handle) -> Result<Info> {
    let slot = space.object::<QueueSlot>(handle)?;
    let place = slot.head.place(handle);
    space.section(&place, || {
        let store = slot.live_store(handle)?;
        Ok(Info {
            waiters: place.site.waiting(),
            messages: store.count(),
            mode: slot.shown.load(Relaxed),
            limit: slot.limit.load(Relaxed),
            pool_size: store.0.usable(),
            used: store.0.used(),
            name: slot.head.name(),
        })
    })
}
