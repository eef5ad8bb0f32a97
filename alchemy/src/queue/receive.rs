//! Receiving: the message itself, or a copy of its content. Flushing.

use core::ptr::NonNull;

use posix_backend::atomic::Ordering::*;
use posix_backend::copy::FEW;

use super::store::{HEADER, Store};
use super::{QueueSlot, READ, RECEIVE, free_where};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::head::{Object, Place};
use crate::space::{Me, Space};
use crate::time::Timeout;
use crate::wait;

/// A buffer in the calling process.
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    pub start: *mut u8,
    pub room: u64,
}

/// Reads the first message, if nobody waits; see [`Space::attempt`]. `LEAF`: in line, if that needs no call.
///
/// # Safety
///
/// The buffer is valid for writes.
#[inline(always)]
pub(crate) unsafe fn read_uncontended<const LEAF: bool>(space: &Space, handle: Handle, buffer: Buffer) -> Option<u64> {
    let slot = space.candidate::<QueueSlot>(handle)?;
    let memory = slot.memory.locate();
    let attempt = space.attempt(slot, handle)?;
    // SAFETY: see the module; the queue is live, and the lock is held. For the buffer see the caller's contract.
    let size = unsafe { Store::attach(memory).and_then(|store| read_from::<LEAF>(&store, buffer)) };
    attempt.leave_with(space.scope, size)
}

/// Receives the first message, if nobody waits, in line; see [`Space::attempt`].
#[inline(always)]
pub(crate) fn receive_uncontended(space: &Space, handle: Handle) -> Option<(NonNull<u8>, u64)> {
    let slot = space.candidate::<QueueSlot>(handle)?;
    let memory = slot.memory.locate();
    let attempt = space.attempt(slot, handle)?;
    // SAFETY: as in `read_uncontended`.
    let received = unsafe { Store::attach(memory) }.and_then(|store| receive_from(&store));
    attempt.leave_with(space.scope, received)
}

/// Takes the first message, copies what there is room for, and tells its size; waits for one as long as `timeout` says.
///
/// # Safety
///
/// The buffer is valid for writes, until this returns.
pub(crate) unsafe fn read<'a>(
    space: &'a Space,
    handle: Handle,
    buffer: Buffer,
    timeout: Timeout,
    me: impl FnOnce() -> Result<Me<'a>>,
) -> Result<u64> {
    let slot = space.object::<QueueSlot>(handle)?;
    let place = slot.head.place(handle);
    // SAFETY: the caller's contract.
    let take = || slot.live_store(handle).map(|store| unsafe { read_from::<false>(&store, buffer) });
    if let Some(size) = space.section(&place, take)? {
        return Ok(size);
    }
    let ask = [READ, buffer.start.expose_provenance() as u64, buffer.room];
    match wait_for_message(space, slot, &place, ask, take, timeout, me)? {
        Outcome::Now(size) => Ok(size),
        Outcome::Granted(me, _) if me.slot.is_deleted() => Err(Error::Cancelled),
        // What was copied has been had: a queue that is deleted meanwhile takes nothing back.
        Outcome::Granted(me, _) => Ok(me.slot.node.result.load(Relaxed)),
    }
}

/// Takes the first message, which the caller holds from then on: the address of its content in this process, and its size. Waits
/// for one as long as `timeout` says.
pub(crate) fn receive<'a>(
    space: &'a Space,
    handle: Handle,
    timeout: Timeout,
    me: impl FnOnce() -> Result<Me<'a>>,
) -> Result<(NonNull<u8>, u64)> {
    let slot = space.object::<QueueSlot>(handle)?;
    let place = slot.head.place(handle);
    let take = || slot.live_store(handle).map(|store| receive_from(&store));
    if let Some(received) = space.section(&place, take)? {
        return Ok(received);
    }
    match wait_for_message(space, slot, &place, [RECEIVE, 0, 0], take, timeout, me)? {
        Outcome::Now(received) => Ok(received),
        Outcome::Granted(me, start) => {
            let (number, size) = (me.slot.node.result.load(Relaxed) as u32, me.slot.ask[3].load(Relaxed));
            if me.slot.is_deleted() {
                // It will not live to free the message. The queue may be gone, and the message with it.
                let _ = free_where(space, handle, |store| store.by_number(number));
                return Err(Error::Cancelled);
            }
            if handle.check(slot.head.state.load_acquire()).is_err() {
                return Err(Error::Removed);
            }
            // SAFETY: the message lies in the area that begins there.
            Ok((unsafe { start.add((u64::from(number) * HEADER + HEADER) as usize) }, size))
        }
    }
}

enum Outcome<'a, T> {
    /// A message came before the wait began.
    Now(T),
    /// A sender had one for the caller. The area that it was in.
    Granted(Me<'a>, NonNull<u8>),
}

#[cold]
fn wait_for_message<'a, T>(
    space: &'a Space,
    slot: &QueueSlot,
    place: &Place<'_>,
    ask: [u64; 3],
    take: impl Fn() -> Result<Option<T>>,
    timeout: Timeout,
    me: impl FnOnce() -> Result<Me<'a>>,
) -> Result<Outcome<'a, T>> {
    let (me, deadline) = timeout.admit(me)?;
    let queued = space.section(place, || -> Result<_> {
        if let Some(taken) = take()? {
            return Ok(Err(taken));
        }
        // Before the wait: after it the slot may be another's.
        let start = slot.store().and_then(|store| store.0.address(0)).ok_or(Error::Invalid)?;
        space.prepare(&me, place, deadline)?;
        for (word, value) in me.slot.ask.iter().zip(ask) {
            word.store(value, Relaxed);
        }
        place.site.enqueue(space, me.index, slot.rank(me.index, me.slot));
        Ok(Ok(start))
    });
    let start = match queued? {
        Ok(start) => start,
        Err(taken) => return Ok(Outcome::Now(taken)),
    };
    let outcome = space.sleep(&me, place, deadline);
    // Here and not on the way out: whoever is deleted while suspended must not take the message along.
    me.slot.stop_while_suspended(space);
    wait::result(outcome)?;
    Ok(Outcome::Granted(me, start))
}

/// Under the lock: reads a message if there is one. `LEAF`: if that needs no call.
///
/// # Safety
///
/// The buffer is valid for writes.
#[inline(always)]
unsafe fn read_from<const LEAF: bool>(store: &Store<'_>, buffer: Buffer) -> Option<u64> {
    let message = store.first::<LEAF>()?;
    let size = message.size();
    if LEAF && (size.min(buffer.room) > FEW || !store.frees_at_once(&message)) {
        return None;
    }
    store.unlink_first(&message);
    // SAFETY: the caller's contract.
    unsafe { store.read::<LEAF>(&message, buffer.start, buffer.room) };
    store.settle_at_once::<LEAF>(&message);
    Some(size)
}

/// Under the lock: receives a message if there is one.
#[inline(always)]
fn receive_from(store: &Store<'_>) -> Option<(NonNull<u8>, u64)> {
    let message = store.pop()?;
    store.hold(&message);
    Some((store.content_of(&message), message.size()))
}

/// Frees all queued messages; tells how many. They leave the queue at once, and are freed in sections of bounded length.
pub(crate) fn flush(space: &Space, handle: Handle) -> Result<u32> {
    let slot = space.object::<QueueSlot>(handle)?;
    let place = slot.head.place(handle);
    let count = space.section(&place, || -> Result<u32> {
        let store = slot.live_store(handle)?;
        let count = store.flush();
        store.free_flushed();
        Ok(count)
    })?;
    let frees_some = || {
        // A queue that was deleted meanwhile has no messages.
        slot.live_store(handle).is_ok_and(|store| store.free_flushed())
    };
    while space.section(&place, frees_some) {}
    Ok(count)
}
