//! `rt_task_send`, `rt_task_receive`, `rt_task_reply`: see `include/alchemy/task.h`.

use core::ffi::{c_int, c_void};

use alchemy::c::timespec;
use alchemy::task::{self as tasks, Flow};
use alchemy::{DateTicks, Error, RelativeTicks, Result, Timeout};

use crate::convert::{self, Output, brief, output, timeout, waiting_for_count};
use crate::types::{RT_TASK, RT_TASK_MCB, RTIME};

/// A block of which only some members are written: what the program does with the others meanwhile stays.
impl Output<RT_TASK_MCB> {
    /// Where the data are, or go to, and how many: none without a pointer.
    fn room(&self) -> (*mut u8, usize) {
        let RT_TASK_MCB { data, size, .. } = self.read();
        let len = if data.is_null() { 0 } else { usize::try_from(size).unwrap_or(0) };
        (data.cast(), len)
    }

    /// The data to be copied: `Invalid` for what cannot be.
    fn data(&self) -> Result<(*const u8, usize)> {
        let RT_TASK_MCB { data, size, .. } = self.read();
        let len = usize::try_from(size).map_err(|_| Error::Invalid)?;
        if data.is_null() && len > 0 { Err(Error::Invalid) } else { Ok((data.cast_const().cast(), len)) }
    }
}

unsafe fn send(task: *mut RT_TASK, mcb_s: *mut RT_TASK_MCB, mcb_r: *mut RT_TASK_MCB, limit: Timeout) -> isize {
    waiting_for_count(|| {
        tasks::may_wait()?;
        // SAFETY: the shims' contract.
        let (task, message) = unsafe { (convert::task(task)?, output(mcb_s)?) };
        // SAFETY: the shims' contract; null asks for no reply.
        let room = if mcb_r.is_null() { None } else { Some(unsafe { output(mcb_r) }?) };
        let reply = room.as_ref().map_or((core::ptr::null_mut::<c_void>().cast(), 0), Output::room);
        // SAFETY: the shims' contract.
        let answer = unsafe { task.send_from(message.read().opcode, message.data()?, reply, limit) }?;
        if let Some(room) = room {
            let size = answer.len.map_or(room.read().size, |len| len as isize);
            room.write(RT_TASK_MCB { opcode: answer.opcode, size, ..room.read() });
        }
        answer.len.ok_or(Error::TooLong)
    })
}

unsafe fn receive(mcb_r: *mut RT_TASK_MCB, limit: Timeout) -> c_int {
    let flow = waiting_for_count(|| {
        tasks::current().ok_or(Error::Permission)?;
        // SAFETY: the shims' contract.
        let block = unsafe { output(mcb_r) }?;
        let (room, len) = block.room();
        let mut needed = None;
        // SAFETY: the shims' contract.
        let received = unsafe { tasks::receive_into(room, len, limit, &mut needed) };
        if let Some(needed) = needed {
            block.write(RT_TASK_MCB { size: needed as isize, ..block.read() });
        }
        let message = received?;
        let (flowid, opcode, size) = (message.flow.id(), message.opcode, message.len as isize);
        block.write(RT_TASK_MCB { flowid, opcode, size, ..block.read() });
        Ok(flowid as usize)
    });
    flow as c_int
}

/// Sends a message and waits for the reply; relative timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_send(
    task: *mut RT_TASK,
    mcb_s: *mut RT_TASK_MCB,
    mcb_r: *mut RT_TASK_MCB,
    timeout: RTIME,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { send(task, mcb_s, mcb_r, RelativeTicks(timeout).into()) }
}

/// Sends a message and waits for the reply; date in ticks.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_send_until(
    task: *mut RT_TASK,
    mcb_s: *mut RT_TASK_MCB,
    mcb_r: *mut RT_TASK_MCB,
    date: RTIME,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { send(task, mcb_s, mcb_r, DateTicks(date).into()) }
}

/// Sends a message and waits for the reply; date as a timespec.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_send_timed(
    task: *mut RT_TASK,
    mcb_s: *mut RT_TASK_MCB,
    mcb_r: *mut RT_TASK_MCB,
    date: *const timespec,
) -> isize {
    // SAFETY: the shims' contract.
    unsafe { send(task, mcb_s, mcb_r, timeout(date)) }
}

/// Receives a message; relative timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_receive(mcb_r: *mut RT_TASK_MCB, timeout: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { receive(mcb_r, RelativeTicks(timeout).into()) }
}

/// Receives a message; date in ticks.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_receive_until(mcb_r: *mut RT_TASK_MCB, date: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { receive(mcb_r, DateTicks(date).into()) }
}

/// Receives a message; date as a timespec.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_receive_timed(mcb_r: *mut RT_TASK_MCB, date: *const timespec) -> c_int {
    // SAFETY: the shims' contract.
    unsafe { receive(mcb_r, timeout(date)) }
}

/// Replies to a message.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_reply(flowid: c_int, mcb_s: *mut RT_TASK_MCB) -> c_int {
    brief(|| {
        tasks::current().ok_or(Error::Permission)?;
        let (mut opcode, mut data) = (0, (core::ptr::null(), 0));
        if !mcb_s.is_null() {
            // SAFETY: the shims' contract.
            let block = unsafe { output(mcb_s) }?;
            opcode = block.read().opcode;
            data = block.data()?;
        }
        // SAFETY: the shims' contract.
        unsafe { Flow::from_id(flowid).reply_from(opcode, data.0, data.1) }
    })
}
