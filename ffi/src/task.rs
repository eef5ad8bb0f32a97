//! `rt_task_*`: see `include/alchemy/task.h`.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_void};
use core::time::Duration;

use alchemy::c::cpu_set_t;
use alchemy::task::{self as tasks, Settings};
use alchemy::{Error, RelativeTicks, Result, Task};

use crate::convert::{
    self, Output, cold, making, name, name_buffer, output, ret, task_or_self, waiting, waiting_outside_handlers, wanted,
};
use crate::init;
use crate::types::{Entry, RT_TASK, RT_TASK_INFO, RTIME, threadobj_stat};

/// Mode: holds the scheduler lock.
pub(crate) const T_LOCK: u32 = 0x1;
/// Mode: accepted, no effect.
pub(crate) const T_WARNSW: u32 = 0x2;
/// Mode: must be joined.
pub(crate) const T_JOINABLE: u32 = 0x1_0000;

/// What `rt_task_create` takes, checked in the documented order.
pub(crate) unsafe fn settings(
    label: *const c_char,
    stack: c_int,
    prio: c_int,
    (joinable, lock): (bool, bool),
) -> Result<Settings> {
    let priority = u32::try_from(prio).map_err(|_| Error::Invalid)?;
    let stack = usize::try_from(stack).map_err(|_| Error::Invalid)?;
    // SAFETY: the shims' contract.
    Ok(Settings { name: unsafe { name(label) }, stack, priority, joinable, lock, co_operative: false })
}

/// Creates a dormant task and writes its descriptor.
pub(crate) fn create(task: &Output<RT_TASK>, settings: Settings) -> Result<Task> {
    Task::create(settings, |handle, thread| task.write(RT_TASK { handle: handle.to_raw(), thread }))
}

pub(crate) unsafe fn start(task: Task, entry: Entry, arg: *mut c_void) -> Result<bool> {
    // SAFETY: C vouches for entry and argument.
    unsafe { task.start(entry.ok_or(Error::Invalid)?, arg) }
}

unsafe fn create_3x(task: *mut RT_TASK, label: *const c_char, stack: c_int, prio: c_int, mode: c_int) -> Result<Task> {
    init::ensure();
    // SAFETY: the shims' contract.
    let task = unsafe { output(task) }?;
    let mode = mode as u32;
    if mode & !(T_LOCK | T_WARNSW | T_JOINABLE) != 0 {
        return Err(Error::Invalid);
    }
    // SAFETY: the shims' contract.
    let settings = unsafe { settings(label, stack, prio, (mode & T_JOINABLE != 0, mode & T_LOCK != 0)) }?;
    create(&task, settings)
}

pub(crate) unsafe fn shadow(task: *mut RT_TASK, label: *const c_char, prio: c_int, lock: bool) -> Result<Task> {
    init::ensure();
    if tasks::current().is_some() {
        return Err(Error::Busy);
    }
    let priority = u32::try_from(prio).map_err(|_| Error::Invalid)?;
    // SAFETY: the shims' contract; null asks for no descriptor.
    let desc = if task.is_null() { None } else { Some(unsafe { output(task) }?) };
    let write = |handle: alchemy::Handle| {
        if let Some(desc) = desc {
            desc.write(RT_TASK { handle: handle.to_raw(), thread: tasks::this_thread() });
        }
    };
    // SAFETY: the shims' contract.
    Task::shadow_with(unsafe { name(label) }, priority, lock, write)
}

/// Makes a dormant task.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_create(
    task: *mut RT_TASK,
    name: *const c_char,
    stksize: c_int,
    prio: c_int,
    mode: c_int,
) -> c_int {
    // SAFETY: the shims' contract.
    making(|| unsafe { create_3x(task, name, stksize, prio, mode) }.map(|_| ()))
}

/// Starts a dormant task.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_start(task: *mut RT_TASK, entry: Entry, arg: *mut c_void) -> c_int {
    // SAFETY: the shims' contract. A second start does nothing.
    cold(|| unsafe { convert::task(task) }.and_then(|task| unsafe { start(task, entry, arg) }).map(|_| ()))
}

/// Makes and starts a task.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_spawn(
    task: *mut RT_TASK,
    name: *const c_char,
    stksize: c_int,
    prio: c_int,
    mode: c_int,
    entry: Entry,
    arg: *mut c_void,
) -> c_int {
    making(|| {
        entry.ok_or(Error::Invalid)?;
        // SAFETY: the shims' contract.
        let created = unsafe { create_3x(task, name, stksize, prio, mode) };
        // SAFETY: the shims' contract.
        created.and_then(|task| unsafe { start(task, entry, arg) }).map(|_| ())
    })
}

/// Makes the calling thread a task.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_shadow(
    task: *mut RT_TASK,
    name: *const c_char,
    prio: c_int,
    mode: c_int,
) -> c_int {
    let mode = mode as u32;
    making(|| {
        if mode & !(T_LOCK | T_WARNSW) != 0 {
            return Err(Error::Invalid);
        }
        // SAFETY: the shims' contract.
        unsafe { shadow(task, name, prio, mode & T_LOCK != 0) }.map(|_| ())
    })
}

/// Waits for the end of a task.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_join(task: *mut RT_TASK) -> c_int {
    // SAFETY: the shims' contract.
    waiting_outside_handlers(|| unsafe { convert::task(task) }.and_then(Task::join))
}

/// Sleeps for a delay in ticks.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_task_sleep(delay: RTIME) -> c_int {
    init::ensure_clock();
    let ns = delay.saturating_mul(alchemy::resolution());
    waiting(|| tasks::sleep(Duration::from_nanos(ns)))
}

/// Sleeps until a date in ticks; 0 has no end.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_task_sleep_until(date: RTIME) -> c_int {
    init::ensure_clock();
    waiting(|| tasks::sleep_until((date != 0).then(|| alchemy::Date::from_ticks(date))))
}

/// Lets equal tasks run.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_task_yield() -> c_int {
    ret(tasks::yield_now())
}

/// Restricts a task to CPUs.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_set_affinity(task: *mut RT_TASK, cpus: *const cpu_set_t) -> c_int {
    // SAFETY: the shims' contract.
    ret(unsafe { task_or_self(task) }.and_then(|task| {
        // SAFETY: the shims' contract.
        let cpus = unsafe { cpus.as_ref() }.ok_or(Error::Invalid)?;
        task.set_cpu_set(cpus)
    }))
}

/// Looks at a task; a null `info` only asks whether it is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_inquire(task: *mut RT_TASK, info: *mut RT_TASK_INFO) -> c_int {
    cold(|| {
        // SAFETY: the shims' contract.
        let seen = unsafe { task_or_self(task) }?.inquire()?;
        if info.is_null() {
            return Ok(());
        }
        // SAFETY: the shims' contract.
        unsafe { output(info) }?.write(RT_TASK_INFO {
            prio: seen.priority as c_int,
            stat: threadobj_stat {
                timeout: seen.timeout,
                cpu: seen.cpu,
                schedlock: seen.locked.into(),
                status: seen.status.bits(),
            },
            name: name_buffer(seen.name),
            pid: seen.tid as c_int,
        });
        Ok(())
    })
}

/// Whether two descriptors name one task. Handles are compared, not looked up.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_same(task1: *mut RT_TASK, task2: *mut RT_TASK) -> c_int {
    // SAFETY: the shims' contract.
    match unsafe { (convert::task(task1), convert::task(task2)) } {
        (Ok(first), Ok(second)) => (first == second).into(),
        _ => 0,
    }
}

thread_local! {
    /// What `rt_task_self` points to. A constant initialiser and no destructor, so the address is good until the end.
    static SELF: UnsafeCell<RT_TASK> = const { UnsafeCell::new(RT_TASK { handle: 0, thread: 0 }) };
}

/// The calling task's descriptor, null if the caller is none.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_task_self() -> *mut RT_TASK {
    let Some(task) = tasks::current() else {
        return core::ptr::null_mut();
    };
    SELF.with(|own| {
        let own = own.get();
        // SAFETY: the calling thread's own memory, to which no reference exists.
        unsafe { *own = RT_TASK { handle: task.handle().to_raw(), thread: tasks::this_thread() } };
        own
    })
}

/// Finds a task by name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_bind(task: *mut RT_TASK, name: *const c_char, timeout: RTIME) -> c_int {
    waiting(|| {
        // SAFETY: the shims' contract.
        let (task, handle, thread) = unsafe { bind(task, name, timeout) }?;
        task.write(RT_TASK { handle, thread });
        Ok(())
    })
}

/// The descriptor to write, and what to write.
pub(crate) unsafe fn bind(
    task: *mut RT_TASK,
    label: *const c_char,
    limit: RTIME,
) -> Result<(Output<RT_TASK>, usize, alchemy::c::pthread_t)> {
    init::ensure();
    // SAFETY: the shims' contract.
    let task = unsafe { output(task) }?;
    // SAFETY: the shims' contract.
    let (found, thread) = Task::bind_name(unsafe { wanted(label) }?, RelativeTicks(limit).into())?;
    Ok((task, found.handle().to_raw(), thread))
}

/// Zeroes a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_unbind(task: *mut RT_TASK) -> c_int {
    // SAFETY: the shims' contract.
    ret(unsafe { output(task) }.map(|task| task.write(RT_TASK { handle: 0, thread: 0 })))
}
