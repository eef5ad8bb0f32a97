//! Control over tasks: the rest of `rt_task_*`, see `include/alchemy/task.h`.

use core::ffi::{c_int, c_ulong};
use core::time::Duration;

use alchemy::task as tasks;
use alchemy::{Date, Error, Result, Task};

use crate::convert::{cold, ret, task, task_or_self, waiting};
use crate::init;
use crate::task::{T_LOCK, T_WARNSW};
use crate::types::{RT_TASK, RTIME};

/// Mode: accepted, no effect.
const T_CONFORMING: u32 = 0x4;

/// Ticks in nanoseconds, saturating.
fn nanoseconds(ticks: RTIME) -> Duration {
    init::ensure_clock();
    Duration::from_nanos(ticks.saturating_mul(alchemy::resolution()))
}

pub(crate) unsafe fn set_priority(desc: *mut RT_TASK, prio: c_int) -> Result<u32> {
    let priority =
        u32::try_from(prio).ok().filter(|&prio| prio <= alchemy::policy::MAX_PRIORITY).ok_or(Error::Invalid)?;
    // SAFETY: the shims' contract.
    unsafe { task_or_self(desc) }?.set_priority(priority)
}

/// Ends a task, or the calling one.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_delete(desc: *mut RT_TASK) -> c_int {
    if let refused @ Err(_) = alchemy::runtime::refuse_handlers() {
        return ret(refused);
    }
    alchemy::task::obey_requests();
    // SAFETY: the shims' contract.
    let target = match unsafe { task_or_self(desc) } {
        Ok(target) => target,
        Err(error) => return ret(Err(error)),
    };
    if Some(target) == tasks::current() {
        // SAFETY: nothing is alive here, and a task that calls this has a C body.
        unsafe { tasks::exit() };
    }
    waiting(|| target.delete())
}

/// Stops a task.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_suspend(desc: *mut RT_TASK) -> c_int {
    // SAFETY: the shims' contract.
    waiting(|| unsafe { task_or_self(desc) }.and_then(Task::suspend))
}

/// Takes a suspension back.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_resume(desc: *mut RT_TASK) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| unsafe { task(desc) }.and_then(Task::resume))
}

/// Ends the wait that a task is in.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_unblock(desc: *mut RT_TASK) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| unsafe { task(desc) }.and_then(Task::unblock))
}

/// Changes a task's base priority.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_set_priority(desc: *mut RT_TASK, prio: c_int) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| unsafe { set_priority(desc, prio) }.map(|_| ()))
}

/// What an alarm's handler is told that changes these bits of its mode, `None` for other callers: it may change nothing but the
/// scheduler lock, and that has no effect.
pub(crate) fn mode_of_handler(bits: u32, lock: u32) -> Option<Result<()>> {
    let refused = alchemy::runtime::refuse_handlers();
    refused.is_err().then_some(if bits & !lock == 0 { Ok(()) } else { refused })
}

/// Changes the calling task's mode. What is in both masks ends set.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_set_mode(clrmask: c_int, setmask: c_int, mode_r: *mut c_int) -> c_int {
    let (clear, set) = (clrmask as u32, setmask as u32);
    if let Some(result) = mode_of_handler(clear | set, T_LOCK) {
        return ret(result);
    }
    if (clear | set) & !(T_LOCK | T_WARNSW | T_CONFORMING) != 0 {
        return ret(Err(Error::Invalid));
    }
    cold(|| {
        let held = tasks::scheduler_lock()?;
        if set & T_LOCK != 0 {
            tasks::set_scheduler_lock(true)?;
        } else if clear & T_LOCK != 0 {
            tasks::set_scheduler_lock(false)?;
        }
        // SAFETY: the shims' contract; null asks for nothing.
        if let Some(mode) = unsafe { mode_r.as_mut() } {
            *mode = if held { T_LOCK as c_int } else { 0 };
        }
        Ok(())
    })
}

/// Round robin for a task, with a quantum in ticks of CPU time.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_slice(desc: *mut RT_TASK, quantum: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| unsafe { task_or_self(desc) }.and_then(|task| task.set_slice((quantum != 0).then(|| nanoseconds(quantum)))))
}

/// Gives a task release points.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_set_periodic(desc: *mut RT_TASK, idate: RTIME, period: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| unsafe { task_or_self(desc) }.and_then(|task| set_periodic(task, idate, period)))
}

pub(crate) fn set_periodic(task: Task, idate: RTIME, period: RTIME) -> Result<()> {
    let period = nanoseconds(period);
    task.set_periodic((idate != 0).then(|| Date::from_ticks(idate)), period)
}

/// Waits for the next release point.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_wait_period(overruns_r: *mut c_ulong) -> c_int {
    waiting(|| {
        let missed = tasks::wait_period()?;
        if !overruns_r.is_null() {
            // SAFETY: the shims' contract.
            unsafe { overruns_r.write(missed as c_ulong) };
        }
        if missed == 0 { Ok(()) } else { Err(Error::TimedOut) }
    })
}
