//! Sending: a message that the caller holds, or a copy of its data.

use posix_backend::atomic::Ordering::*;
use posix_backend::copy::FEW;
use posix_backend::wait::WaitNode;

use super::store::{Message, Store};
use super::{QueueSlot, READ, SendMode};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::head::Place;
use crate::space::Space;
use crate::step::step;
use crate::task::slot::ThreadSlot;
use crate::wait::{self, Wake};

/// Data in the calling process.
#[derive(Clone, Copy)]
pub(crate) struct Data {
    pub start: *const u8,
    pub size: u64,
}

/// Queues a copy of some data, if nobody waits; see [`Space::attempt`]. `LEAF`: in line, if that needs no call.
///
/// # Safety
///
/// The data is valid for reads.
#[inline(always)]
pub(crate) unsafe fn write_uncontended<const LEAF: bool>(
    space: &Space,
    handle: Handle,
    data: Data,
    mode: SendMode,
) -> bool {
    if !SendMode::URGENT.contains(mode) || data.start.is_null() && data.size > 0 || LEAF && data.size > FEW {
        return false;
    }
    let Some(slot) = space.candidate::<QueueSlot>(handle) else { return false };
    let (memory, limit) = (slot.memory.locate(), slot.limit.load(Relaxed));
    let Some(attempt) = space.attempt(slot, handle) else { return false };
    // SAFETY: see the module; the queue is live, and the lock is held. For the data see the caller's contract.
    let queued = unsafe { Store::attach(memory) }.filter(|store| !store.is_full(limit)).and_then(|store| {
        let message = store.alloc_at_once::<LEAF>(data.size)?;
        // SAFETY: the caller's contract.
        unsafe { store.fill::<LEAF>(&message, data.start, data.size) };
        step("queue: filled");
        store.push(&message, 0, mode.contains(SendMode::URGENT));
        Some(())
    });
    attempt.leave_with(space.scope, queued.is_some())
}

/// Sends a copy of some data. Returns how many waiters have got it.
///
/// # Safety
///
/// The data is valid for reads.
pub(crate) unsafe fn write(space: &Space, handle: Handle, data: Data, mode: SendMode) -> Result<u32> {
    if !SendMode::all().contains(mode) || data.start.is_null() && data.size > 0 {
        return Err(Error::Invalid);
    }
    let slot = space.object::<QueueSlot>(handle)?;
    let place = slot.head.place(handle);
    let sent = space.section(&place, || -> Result<_> {
        let store = slot.live_store(handle)?;
        if !place.site.is_empty() {
            // SAFETY: the caller's contract.
            return unsafe { write_to_waiters(space, &place, &store, data, mode) };
        }
        if !mode.contains(SendMode::BROADCAST) {
            slot.check_limit(&store)?;
            // SAFETY: the caller's contract.
            unsafe { write_to_queue(&store, data, mode) }?;
        }
        Ok(Sent::TO_NOBODY)
    });
    sent.map(|sent| sent.finish(space))
}

/// # Safety
///
/// As for [`write`].
unsafe fn write_to_queue(store: &Store<'_>, data: Data, mode: SendMode) -> Result<()> {
    let message = store.alloc(data.size).ok_or(Error::NoMemory)?;
    // SAFETY: the caller's contract.
    unsafe { store.fill::<false>(&message, data.start, data.size) };
    step("queue: filled");
    store.push(&message, 0, mode.contains(SendMode::URGENT));
    Ok(())
}

/// # Safety
///
/// As for [`write`].
#[cold]
unsafe fn write_to_waiters(
    space: &Space,
    place: &Place<'_>,
    store: &Store<'_>,
    data: Data,
    mode: SendMode,
) -> Result<Sent> {
    let index = place.site.first();
    let first = space.threads.get(index).ok_or(Error::Invalid)?;
    if !mode.contains(SendMode::BROADCAST) && first.ask[0].load(Relaxed) == READ {
        // SAFETY: the caller's contract; the reader is queued.
        unsafe { copy_to_reader(first, data) };
        step("queue: copied to a reader");
        return Ok(Sent { count: 1, wake: space.release_first(place, wait::GRANTED) });
    }
    let message = store.alloc(data.size).ok_or(Error::NoMemory)?;
    // SAFETY: the caller's contract.
    unsafe { store.fill::<false>(&message, data.start, data.size) };
    step("queue: filled");
    if !mode.contains(SendMode::BROADCAST) {
        return Ok(give_to_receiver(space, place, store, &message, index, first));
    }
    let count = give_to_all(space, place, store, &message);
    store.settle(&message);
    Ok(Sent { count, wake: None })
}

/// Queues a message that the caller holds, if nobody waits; see [`Space::attempt`]. `LEAF`: in line, if it is small.
#[inline(always)]
pub(crate) fn send_uncontended<const LEAF: bool>(
    space: &Space,
    handle: Handle,
    content: *const u8,
    size: u64,
    mode: SendMode,
) -> bool {
    if !SendMode::URGENT.contains(mode) {
        return false;
    }
    let Some(slot) = space.candidate::<QueueSlot>(handle) else { return false };
    let (memory, limit) = (slot.memory.locate(), slot.limit.load(Relaxed));
    let Some(attempt) = space.attempt(slot, handle) else { return false };
    // SAFETY: as in `write_uncontended`.
    let queued = unsafe { Store::attach(memory) }.filter(|store| !store.is_full(limit)).and_then(|store| {
        let message = store.locate::<LEAF>(content).filter(|message| may_be_sent(message, size))?;
        message.record.size.store(size, Relaxed);
        store.push(&message, message.holders() - 1, mode.contains(SendMode::URGENT));
        Some(())
    });
    attempt.leave_with(space.scope, queued.is_some())
}

/// Whether somebody holds the message, it is not queued, and there is room for so much content.
#[inline(always)]
fn may_be_sent(message: &Message<'_>, size: u64) -> bool {
    message.holders() > 0 && !message.is_linked() && size <= message.capacity
}

/// Sends a message that the caller holds, whose content begins at `content`; it has `size` bytes from now on. Returns how many
/// waiters have got it.
pub(crate) fn send(space: &Space, handle: Handle, content: *const u8, size: u64, mode: SendMode) -> Result<u32> {
    if !SendMode::all().contains(mode) || content.is_null() {
        return Err(Error::Invalid);
    }
    let slot = space.object::<QueueSlot>(handle)?;
    let place = slot.head.place(handle);
    let sent = space.section(&place, || -> Result<_> {
        let store = slot.live_store(handle)?;
        slot.check_limit(&store)?;
        let message =
            store.locate::<false>(content).filter(|message| may_be_sent(message, size)).ok_or(Error::Invalid)?;
        if !place.site.is_empty() {
            message.record.size.store(size, Relaxed);
            return Ok(send_to_waiters(space, &place, &store, &message, mode));
        }
        if !mode.contains(SendMode::BROADCAST) {
            message.record.size.store(size, Relaxed);
            store.push(&message, message.holders() - 1, mode.contains(SendMode::URGENT));
        }
        Ok(Sent::TO_NOBODY)
    });
    sent.map(|sent| sent.finish(space))
}

#[cold]
fn send_to_waiters(space: &Space, place: &Place<'_>, store: &Store<'_>, message: &Message<'_>, mode: SendMode) -> Sent {
    let index = place.site.first();
    let Some(first) = space.threads.get(index) else { return Sent::TO_NOBODY };
    if mode.contains(SendMode::BROADCAST) {
        let count = give_to_all(space, place, store, message);
        store.let_go::<false>(message);
        return Sent { count, wake: None };
    }
    if first.ask[0].load(Relaxed) != READ {
        // What the sender held, the receiver holds.
        answer(first, message);
        step("queue: passed on");
        return Sent { count: 1, wake: space.release_first(place, wait::GRANTED) };
    }
    if let Some(content) = store.content(message.number) {
        // SAFETY: the content has this size; the reader is queued.
        unsafe { copy_to_reader(first, Data { start: content.as_ptr(), size: message.size() }) };
    }
    step("queue: copied to a reader");
    let wake = space.release_first(place, wait::GRANTED);
    store.let_go::<false>(message);
    Sent { count: 1, wake }
}

/// Who has got it, and who of them is to be woken. Others are decided, and told at the end of the section.
struct Sent {
    count: u32,
    wake: Option<Wake>,
}

impl Sent {
    const TO_NOBODY: Sent = Sent { count: 0, wake: None };

    #[inline]
    fn finish(self, space: &Space) -> u32 {
        if let Some(wake) = self.wake {
            wake.send(space.scope);
        }
        self.count
    }
}

/// Gives a new message to the first waiter, a receiver.
fn give_to_receiver(
    space: &Space,
    place: &Place<'_>,
    store: &Store<'_>,
    message: &Message<'_>,
    index: u32,
    receiver: &ThreadSlot,
) -> Sent {
    answer(receiver, message);
    let wake = store.grant(message, index, || space.release_first(place, wait::GRANTED));
    Sent { count: 1, wake }
}

/// Gives a message to all who wait: the readers a copy, the receivers a hold each. Decides only.
fn give_to_all(space: &Space, place: &Place<'_>, store: &Store<'_>, message: &Message<'_>) -> u32 {
    let mut count = 0;
    loop {
        let index = place.site.first();
        let Some(thread) = space.threads.get(index).filter(|_| index != 0) else { return count };
        let decide = || place.site.decide(space, index, wait::GRANTED);
        if thread.ask[0].load(Relaxed) == READ {
            if let Some(content) = store.content(message.number) {
                // SAFETY: as in `send_to_waiters`.
                unsafe { copy_to_reader(thread, Data { start: content.as_ptr(), size: message.size() }) };
            }
            step("queue: copied to one of many");
            decide();
        } else {
            answer(thread, message);
            store.grant(message, index, decide);
        }
        count += 1;
    }
}

/// Tells a receiver which message it gets.
fn answer(receiver: &ThreadSlot, message: &Message<'_>) {
    receiver.ask[3].store(message.size(), Relaxed);
    result(&receiver.node, message.number.into());
}

fn result(node: &WaitNode, value: u64) {
    node.result.store(value, Relaxed);
}

/// Copies into the buffer of a reader, as much as there is room for, and tells it how much there was.
///
/// # Safety
///
/// The data is valid for reads. The reader is queued, and of this process.
unsafe fn copy_to_reader(reader: &ThreadSlot, data: Data) {
    let buffer = core::ptr::with_exposed_provenance_mut::<u8>(reader.ask[1].load(Relaxed) as usize);
    let len = reader.ask[2].load(Relaxed).min(data.size);
    // SAFETY: the caller's contract; the reader gave a buffer of that size, see the module. They may overlap if the program uses
    // the same memory for both.
    unsafe { core::ptr::copy(data.start, buffer, len as usize) };
    result(&reader.node, data.size);
}
