//! The armed alarms: a binary heap of slot indexes, by key, equals in order of arming.
//!
//! All of this needs the server's lock. Nothing here allocates: the heap lies in the table that each creation makes long enough.

use posix_backend::atomic::{AtomicU32, Ordering::Relaxed};

use super::{AlarmSlot, server};
use crate::runtime::SPACE;
use crate::step::step;

/// How many alarms are in the heap; they have the positions from 1 on.
pub(super) struct Queue {
    len: AtomicU32,
}

impl Queue {
    pub const fn new() -> Queue {
        Queue { len: AtomicU32::new(0) }
    }

    pub fn len(&self) -> u32 {
        self.len.load(Relaxed)
    }

    /// Forgets all of them.
    pub fn clear(&self) {
        self.len.store(0, Relaxed);
    }
}

type Member = (u32, &'static AlarmSlot);

fn member(position: u32) -> Option<Member> {
    let index = server::heap_cell(position)?.load(Relaxed);
    Some((index, SPACE.alarms.get(index)?))
}

fn put(position: u32, (index, slot): Member) {
    if let Some(cell) = server::heap_cell(position) {
        cell.store(index, Relaxed);
    }
    slot.position.store(position, Relaxed);
}

/// What the order is by.
fn rank(slot: &AlarmSlot) -> (u64, u64) {
    (slot.key.load(Relaxed), slot.sequence.load(Relaxed))
}

/// Which is to be looked at first.
pub(super) fn first(queue: &Queue) -> Option<Member> {
    if queue.len() == 0 { None } else { member(1) }
}

/// Adds an alarm.
pub(super) fn insert(queue: &Queue, index: u32, slot: &'static AlarmSlot) {
    let position = queue.len() + 1;
    queue.len.store(position, Relaxed);
    step("alarm: counted");
    rise(position, (index, slot));
}

/// Takes an alarm out; nothing if it is not in.
pub(super) fn remove(queue: &Queue, slot: &AlarmSlot) {
    let position = slot.position.load(Relaxed);
    let len = queue.len();
    if position == 0 || position > len {
        return;
    }
    slot.position.store(0, Relaxed);
    step("alarm: taken out");
    queue.len.store(len - 1, Relaxed);
    if let Some(last) = member(len).filter(|_| position < len) {
        put(position, last);
        settle(queue, last.1);
    }
}

/// Moves an alarm whose key has changed to where it belongs.
pub(super) fn settle(queue: &Queue, slot: &'static AlarmSlot) {
    let position = slot.position.load(Relaxed);
    let Some(it) = member(position).filter(|_| position != 0) else { return };
    let position = rise(position, it);
    sink(queue, position, it);
}

/// Towards the front; returns where it came to be.
fn rise(mut position: u32, it: Member) -> u32 {
    let own = rank(it.1);
    while position > 1
        && let Some(parent) = member(position / 2)
        && own < rank(parent.1)
    {
        put(position, parent);
        step("alarm: moved");
        position /= 2;
    }
    put(position, it);
    position
}

fn sink(queue: &Queue, mut position: u32, it: Member) {
    let (len, own) = (queue.len(), rank(it.1));
    loop {
        let child = |at: u32| if at <= len { member(at) } else { None };
        let (left, right) = (2 * position, 2 * position + 1);
        let Some(mut least) = child(left) else { break };
        let mut at = left;
        if let Some(other) = child(right).filter(|other| rank(other.1) < rank(least.1)) {
            (least, at) = (other, right);
        }
        if own < rank(least.1) {
            break;
        }
        put(position, least);
        step("alarm: moved");
        position = at;
    }
    put(position, it);
}
