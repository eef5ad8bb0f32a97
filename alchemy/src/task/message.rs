//! Synchronous messages between tasks: `rt_task_send`, `rt_task_receive`, `rt_task_reply`.
//!
//! A sender waits in the queue of the receiver's slot until it gets a reply, and its message with it: data are copied from its memory
//! when they are received, and into its memory when they are replied to, under the lock, while it sleeps. Receiving takes the
//! message of the first sender and leaves the sender where it is; who leaves takes the message along. The receiver's own waits
//! are in the same queue, above all senders.
//!
//! # Safety
//!
//! Unsafe code here copies between memory of the caller and that of a sender. A sender's memory is valid during its call, by the contract of
//! [`send`]; the call goes on while the sender is queued, and only lock holders take it out.

#![allow(unsafe_code)]

use posix_backend::atomic::Ordering::*;
use posix_backend::section::Section;
use posix_backend::time::Deadline;

use super::Task;
use super::slot::{OWNER, ThreadSlot};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::runtime::{self, SPACE};
use crate::space::{Me, Space};
use crate::step::step;
use crate::time::Timeout;
use crate::wait;

/// What a sender asks for, in [`ThreadSlot::ask`]: where its message is and how long.
const DATA: usize = 0;
const DATA_LEN: usize = 1;
/// Where the room for the reply is and how long.
const REPLY: usize = 2;
const REPLY_LEN: usize = 3;
/// The flow in the upper half, the opcode in the lower one.
const FLOW: usize = 4;
/// [`DELIVERED`]; the reply's opcode in the lower half.
const ANSWER: usize = 5;

/// `ask[ANSWER]`: the message has been received.
const DELIVERED: u64 = 1 << 32;

/// `WaitNode::result`: the reply is longer than the room for it. Else its length.
const TOO_LONG: u64 = u64::MAX;

/// A reply, as its receiver sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply {
    /// What the replier put there.
    pub opcode: i32,
    /// How many bytes it has.
    pub len: usize,
}

/// What became of a message that was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The reply's opcode.
    pub opcode: i32,
    /// The reply's length; `None` if there was no room for it.
    pub len: Option<usize>,
}

/// A message, as its receiver sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// By which to reply.
    pub flow: Flow,
    /// What the sender put there.
    pub opcode: i32,
    /// How many bytes it has.
    pub len: usize,
}

/// A message that was received by the calling task and waits for its reply. It is that task's only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow(i32);

/// Memory of the calling process.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub address: *mut u8,
    pub len: usize,
}

fn pointer(word: u64) -> *mut u8 {
    core::ptr::with_exposed_provenance_mut(word as usize)
}

/// Sends a message and waits for the reply.
///
/// # Safety
///
/// `data` is valid for reads, `reply` for writes, during the call.
pub(crate) unsafe fn send(
    space: &Space,
    target: Handle,
    opcode: i32,
    data: Memory,
    reply: Memory,
    timeout: Timeout,
    me: Me<'_>,
) -> Result<Answer> {
    let slot = space.object::<ThreadSlot>(target)?;
    target.check(slot.head.state.load())?;
    let poll = timeout == Timeout::NONE;
    let deadline = if poll { Deadline::NEVER } else { timeout.admit(|| Ok(()))?.1 };
    let index = target.index();
    let place = slot.send_place(index);
    let held = space.lock(&place);
    target.check(slot.head.state.load())?;
    let receiving = slot.is_receiving(index);
    if poll && !receiving {
        return Err(Error::WouldBlock);
    }
    let last = slot.flows.load(Relaxed);
    let flow = if last >= i32::MAX as u32 { 1 } else { last + 1 };
    let ask = &me.slot.ask;
    ask[DATA].store(data.address.expose_provenance() as u64, Relaxed);
    ask[DATA_LEN].store(data.len as u64, Relaxed);
    ask[REPLY].store(reply.address.expose_provenance() as u64, Relaxed);
    ask[REPLY_LEN].store(reply.len as u64, Relaxed);
    ask[FLOW].store(u64::from(flow) << 32 | u64::from(opcode as u32), Relaxed);
    ask[ANSWER].store(0, Relaxed);
    space.prepare(&me, &place, deadline)?;
    step("message: prepared");
    slot.flows.store(flow, Relaxed);
    step("message: numbered");
    // The rank after `prepare`: whoever changes the priority later finds this thread waiting.
    place.site.enqueue(space, me.index, space.rank_at(&place, me.index, me.slot));
    step("message: queued");
    let wake = if receiving { space.release(&place, index, wait::GRANTED) } else { None };
    drop(held);
    if let Some(wake) = wake {
        wake.send(space.scope);
    }
    let outcome = space.sleep(&me, &place, deadline);
    me.slot.stop_while_suspended(space);
    wait::result(outcome)?;
    let len = me.slot.node.result.load(Relaxed);
    Ok(Answer { opcode: ask[ANSWER].load(Relaxed) as u32 as i32, len: (len != TOO_LONG).then_some(len as usize) })
}

/// Receives the message of the first sender. `needed` is set if it is too long.
///
/// # Safety
///
/// `room` is valid for writes during the call.
pub(crate) unsafe fn take(
    space: &Space,
    me: Me<'_>,
    room: Memory,
    timeout: Timeout,
    needed: &mut Option<usize>,
) -> Result<Message> {
    let place = me.slot.receive_place(me.index);
    let mut deadline = None;
    loop {
        let held = space.lock(&place);
        let first = place.site.first_below(space, OWNER);
        if let Some(sender) = space.threads.get(first).filter(|_| first != 0) {
            // SAFETY: the caller's contract; the sender is queued here.
            return unsafe { deliver(sender, room) }.inspect_err(|&len| *needed = Some(len)).or(Err(Error::TooLong));
        }
        let Some(deadline) = deadline else {
            drop(held);
            deadline = Some(timeout.admit(|| Ok(()))?.1);
            continue;
        };
        space.prepare(&me, &place, deadline)?;
        place.site.enqueue(space, me.index, OWNER);
        drop(held);
        let outcome = space.sleep(&me, &place, deadline);
        me.slot.stop_while_suspended(space);
        // Granted: a message has come, which may have left again.
        wait::result(outcome)?;
    }
}

/// Copies a queued sender's message; its length if it is longer than the room. Needs the lock.
///
/// # Safety
///
/// `room` is valid for writes, and the sender is queued.
unsafe fn deliver(sender: &ThreadSlot, room: Memory) -> core::result::Result<Message, usize> {
    let len = sender.ask[DATA_LEN].load(Relaxed) as usize;
    if len > room.len {
        return Err(len);
    }
    if len > 0 {
        // Perhaps the same memory.
        // SAFETY: the contracts of this function and of `send`.
        unsafe { room.address.copy_from(pointer(sender.ask[DATA].load(Relaxed)), len) };
    }
    step("message: copied");
    sender.ask[ANSWER].store(DELIVERED, Relaxed);
    step("message: delivered");
    let word = sender.ask[FLOW].load(Relaxed);
    Ok(Message { flow: Flow((word >> 32) as i32), opcode: word as u32 as i32, len })
}

/// Replies to a message that was received.
///
/// # Safety
///
/// `data` is valid for reads during the call.
pub(crate) unsafe fn answer(space: &Space, me: Me<'_>, flow: i32, opcode: i32, data: Memory) -> Result<()> {
    if flow <= 0 {
        return Err(Error::Invalid);
    }
    let place = me.slot.send_place(me.index);
    let held = space.lock(&place);
    let mut index = place.site.first_below(space, OWNER);
    let sender = loop {
        let sender = space.threads.get(index).filter(|_| index != 0).ok_or(Error::NoFlow)?;
        if sender.ask[FLOW].load(Relaxed) >> 32 == flow as u64 {
            break sender;
        }
        index = place.site.after(space, index);
    };
    if sender.ask[ANSWER].load(Relaxed) & DELIVERED == 0 {
        return Err(Error::NoFlow);
    }
    let fits = data.len as u64 <= sender.ask[REPLY_LEN].load(Relaxed);
    if fits && data.len > 0 {
        // Perhaps the same memory.
        // SAFETY: the contracts of this function and of `send`: the sender is queued here.
        unsafe { pointer(sender.ask[REPLY].load(Relaxed)).copy_from(data.address, data.len) };
    }
    step("message: replied");
    sender.node.result.store(if fits { data.len as u64 } else { TOO_LONG }, Relaxed);
    sender.ask[ANSWER].store(DELIVERED | u64::from(opcode as u32), Relaxed);
    step("message: answered");
    let wake = space.release(&place, index, wait::GRANTED);
    drop(held);
    if let Some(wake) = wake {
        wake.send(space.scope);
    }
    if fits { Ok(()) } else { Err(Error::TooLong) }
}

impl Task {
    /// Sends a message to the task and waits for its reply as long as `timeout` says (`rt_task_send`, `rt_task_send_until`,
    /// `rt_task_send_timed`). The task gets it with [`receive`], those of higher priority first, and ends this wait with
    /// [`Flow::reply`]. A task that is dormant or suspended gets it later.
    ///
    /// With [`Timeout::NONE`] the call only asks whether the task waits for a message; if so, it waits for the reply without limit. A
    /// sender that leaves early takes its message along, received or not.
    ///
    /// ```
    /// use alchemy::task::{self, Task};
    /// use alchemy::{Error, Timeout};
    ///
    /// let server = Task::builder().name("doubler").spawn(|| {
    ///     let mut bytes = [0];
    ///     let message = task::receive(&mut bytes, Timeout::INFINITE)?;
    ///     message.flow.reply(message.opcode + 1, &[2 * bytes[0]])
    /// })?;
    /// let mut answer = [0];
    /// let reply = server.task().send(7, &[21], &mut answer, Timeout::INFINITE)?;
    /// assert_eq!((reply.opcode, reply.len, answer), (8, 1, [42]));
    /// server.join().unwrap()?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Permission`]: the caller is neither a task nor the initial thread. [`Error::Invalid`]: stale, or ended.
    /// [`Error::WouldBlock`]: the task does not wait for a message, and [`Timeout::NONE`]. [`Error::TimedOut`]: no reply in
    /// time. [`Error::Interrupted`]: unblocked. [`Error::Removed`]: the task ended. [`Error::TooLong`]: the reply does not fit
    /// into `reply`, which is unchanged. [`Error::Cancelled`]: the caller was asked to end.
    #[doc(alias = "rt_task_send")]
    pub fn send(self, opcode: i32, data: &[u8], reply: &mut [u8], timeout: impl Into<Timeout>) -> Result<Reply> {
        // SAFETY: slices that are borrowed for the call.
        let answer = unsafe {
            self.send_from(opcode, (data.as_ptr(), data.len()), (reply.as_mut_ptr(), reply.len()), timeout.into())
        }?;
        let len = answer.len.ok_or(Error::TooLong)?;
        Ok(Reply { opcode: answer.opcode, len })
    }

    /// As [`Task::send`], for the C interface: tells the opcode of a reply that is too long, too.
    ///
    /// # Safety
    ///
    /// `data` is valid for reads, `reply` for writes, of so many bytes during the call.
    pub unsafe fn send_from(
        self,
        opcode: i32,
        data: (*const u8, usize),
        reply: (*mut u8, usize),
        timeout: Timeout,
    ) -> Result<Answer> {
        let _section = Section::enter();
        let me = runtime::me()?;
        let data = Memory { address: data.0.cast_mut(), len: data.1 };
        let reply = Memory { address: reply.0, len: reply.1 };
        // SAFETY: the caller's contract.
        unsafe { send(&SPACE, self.handle(), opcode, data, reply, timeout, me) }
    }
}

/// Receives the message of the sender of highest priority, waiting for one as long as `timeout` says (`rt_task_receive`,
/// `rt_task_receive_until`, `rt_task_receive_timed`).
///
/// The sender stays first in the queue until it gets its reply: receiving again gives the same message, unless a sender of higher
/// priority has come. Messages may be answered in any order.
///
/// # Errors
///
/// [`Error::Permission`]: the caller is no task. [`Error::WouldBlock`]: there is none, and [`Timeout::NONE`]. [`Error::TimedOut`]:
/// none in time. [`Error::Interrupted`]: unblocked. [`Error::TooLong`]: the message is longer than `room`; it stays where it
/// is. [`Error::Cancelled`]: the task was asked to end.
#[doc(alias = "rt_task_receive")]
pub fn receive(room: &mut [u8], timeout: impl Into<Timeout>) -> Result<Message> {
    // SAFETY: a slice that is borrowed for the call.
    unsafe { receive_into(room.as_mut_ptr(), room.len(), timeout.into(), &mut None) }
}

/// As [`receive`], for the C interface; sets `needed` to the length of a message that is too long.
///
/// # Safety
///
/// `room` is valid for writes of `len` bytes during the call.
pub unsafe fn receive_into(room: *mut u8, len: usize, timeout: Timeout, needed: &mut Option<usize>) -> Result<Message> {
    let _section = Section::enter();
    let me = runtime::task_only()?;
    // SAFETY: the caller's contract.
    unsafe { take(&SPACE, me, Memory { address: room, len }, timeout, needed) }
}

impl Flow {
    /// The number that C programs see, above 0.
    pub const fn id(self) -> i32 {
        self.0
    }

    /// The flow of a number, which need not be valid.
    pub const fn from_id(id: i32) -> Flow {
        Flow(id)
    }

    /// Replies to the message, which ends the wait of its sender (`rt_task_reply`). Does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Permission`]: the caller is no task. [`Error::Invalid`]: the number is not above 0. [`Error::NoFlow`]: no such
    /// message: not received by the caller, answered already, or its sender has left. [`Error::TooLong`]: the sender has not
    /// so much room; it is told so, and the message is answered.
    #[doc(alias = "rt_task_reply")]
    pub fn reply(self, opcode: i32, data: &[u8]) -> Result<()> {
        // SAFETY: a slice that is borrowed for the call.
        unsafe { self.reply_from(opcode, data.as_ptr(), data.len()) }
    }

    /// As [`Flow::reply`], for the C interface.
    ///
    /// # Safety
    ///
    /// `data` is valid for reads of `len` bytes during the call.
    pub unsafe fn reply_from(self, opcode: i32, data: *const u8, len: usize) -> Result<()> {
        let _section = Section::enter();
        let me = runtime::task_only()?;
        // SAFETY: the caller's contract.
        unsafe { answer(&SPACE, me, self.0, opcode, Memory { address: data.cast_mut(), len }) }
    }
}
