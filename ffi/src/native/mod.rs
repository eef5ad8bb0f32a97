//! The Xenomai 2 services that differ from their namesakes: `__native_rt_*`, reached from `include/native/*.h` by assembler
//! labels. They take the constants and layouts of 2.6, ignore unknown mode bits, and else do what the 3.x services do.

mod alarm;
pub mod buffer;
mod cond;
mod event;
mod heap;
mod queue;

use core::cell::Cell;
use core::ffi::{c_char, c_int, c_uint, c_ulong, c_void};
use core::time::Duration;

use alchemy::task::{self as tasks, Status};
use alchemy::{Error, MutexRef, Name, Result, SemMode, Task};

use crate::convert::{self, cold, making, name_buffer, output, ret, task_or_self, waiting, waiting_outside_handlers};
use crate::types::{
    Entry, NATIVE_MUTEX, NATIVE_MUTEX_INFO, NATIVE_TASK_INFO, NATIVE_TIMER_INFO, RT_MUTEX, RT_SEM, RT_TASK, RTIME,
    SRTIME,
};
use crate::{control, init, mutex, sem, task};

const T_SUSP: u32 = 0x1;
const T_JOINABLE: u32 = 0x400;
const T_CPU_SHIFT: u32 = 24;
const S_PRIO: c_int = 0x1;
const S_PULSE: c_int = 0x100;

/// `RT_TASK_INFO.status`.
mod status {
    pub const SUSP: u32 = 0x1;
    pub const BLOCKED: u32 = 0x2;
    pub const DELAYED: u32 = 0x4;
    pub const READY: u32 = 0x8;
    pub const DORMANT: u32 = 0x10;
    pub const STARTED: u32 = 0x80;
    pub const MAPPED: u32 = 0x100;
    pub const LOCK: u32 = 0x4000;
    pub const FPU: u32 = 0x10_0000;
    pub const SHADOW: u32 = 0x20_0000;
    pub const NON_RT: u32 = 0x80_0000;
}

/// A caller that may not wait is told that it would have to, not that it may not.
fn would_block(error: Error) -> Error {
    if error == Error::Permission { Error::WouldBlock } else { error }
}

/// Applies `T_CPU(n)`. A set without a usable CPU is ignored, as is an empty one.
fn set_cpus(task: Task, mode: c_int) {
    let mask = mode as u32 >> T_CPU_SHIFT;
    if mask != 0 {
        let _ = task.set_affinity((0..8).filter(|cpu| mask >> cpu & 1 != 0));
    }
}

unsafe fn create(task: *mut RT_TASK, name: *const c_char, stack: c_int, prio: c_int, mode: c_int) -> Result<Task> {
    init::ensure();
    // SAFETY: the shims' contract.
    let task = unsafe { output(task) }?;
    let joinable = mode as u32 & T_JOINABLE != 0;
    // SAFETY: the shims' contract.
    let settings = unsafe { task::settings(name, stack, prio, (joinable, false)) }?;
    let created = task::create(&task, settings)?;
    set_cpus(created, mode);
    if mode as u32 & T_SUSP != 0 {
        // Started, it stays in front of its body until it is resumed.
        created.suspend()?;
    }
    Ok(created)
}

/// 2.x `rt_task_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_task_create(
    task: *mut RT_TASK,
    name: *const c_char,
    stksize: c_int,
    prio: c_int,
    mode: c_int,
) -> c_int {
    // SAFETY: the shims' contract.
    making(|| unsafe { create(task, name, stksize, prio, mode) }.map(|_| ()))
}

/// 2.x `rt_task_start`: a second start is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_task_start(task: *mut RT_TASK, entry: Entry, arg: *mut c_void) -> c_int {
    cold(|| {
        // SAFETY: the shims' contract.
        let started = unsafe { convert::task(task) }.and_then(|task| unsafe { task::start(task, entry, arg) });
        started.and_then(|first| if first { Ok(()) } else { Err(Error::Busy) })
    })
}

/// 2.x `rt_task_spawn`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_task_spawn(
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
        let created = unsafe { create(task, name, stksize, prio, mode) };
        // SAFETY: the shims' contract.
        created.and_then(|task| unsafe { task::start(task, entry, arg) }).map(|_| ())
    })
}

/// 2.x `rt_task_shadow`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_task_shadow(
    task: *mut RT_TASK,
    name: *const c_char,
    prio: c_int,
    mode: c_int,
) -> c_int {
    waiting_outside_handlers(|| {
        // SAFETY: the shims' contract.
        let own = unsafe { task::shadow(task, name, prio, false) }?;
        set_cpus(own, mode);
        if mode as u32 & T_SUSP != 0 { own.suspend() } else { Ok(()) }
    })
}

/// 2.x `rt_task_join`: a bound descriptor has no thread to join.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_task_join(task: *mut RT_TASK) -> c_int {
    waiting_outside_handlers(|| {
        // SAFETY: the shims' contract.
        let desc = unsafe { output(task) }?.read();
        if desc.handle != 0 && desc.thread == 0 {
            return Err(Error::NotFound);
        }
        // SAFETY: the shims' contract.
        unsafe { convert::task(task) }?.join()
    })
}

/// 2.x `rt_task_bind`: leaves no thread in the descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_task_bind(
    task: *mut RT_TASK,
    name: *const c_char,
    timeout: RTIME,
) -> c_int {
    waiting(|| {
        // SAFETY: the shims' contract.
        let bound = unsafe { task::bind(task, name, timeout) };
        bound.map(|(task, handle, _)| task.write(RT_TASK { handle, thread: 0 })).map_err(would_block)
    })
}

/// 2.x `rt_task_inquire`: the layout of 2.6; a null `info` only asks whether the task is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_task_inquire(task: *mut RT_TASK, info: *mut NATIVE_TASK_INFO) -> c_int {
    cold(|| {
        // SAFETY: the shims' contract.
        let seen = unsafe { task_or_self(task) }?.inquire()?;
        if info.is_null() {
            return Ok(());
        }
        let usage = seen.usage();
        // SAFETY: the shims' contract.
        unsafe { output(info) }?.write(NATIVE_TASK_INFO {
            bprio: seen.priority as c_int,
            cprio: seen.effective_priority() as c_int,
            status: status_word(&seen),
            relpoint: seen.release.map_or(0, |date| date.as_nanos() / alchemy::resolution()),
            name: name_buffer(seen.name),
            exectime: usage.cpu_time,
            modeswitches: 0,
            ctxswitches: usage.switches as c_int,
            pagefaults: usage.faults as c_int,
        });
        Ok(())
    })
}

fn status_word(seen: &tasks::Info) -> c_uint {
    let when = |condition: bool, bits: u32| if condition { bits } else { 0 };
    let has = |bits: Status| seen.status.intersects(bits);
    let blocked = has(Status::WAIT | Status::TIMED_WAIT);
    let delayed = has(Status::TIMED_WAIT | Status::DELAYED);
    status::SHADOW
        | status::FPU
        | status::MAPPED
        | when(has(Status::STARTED), status::STARTED)
        | when(has(Status::DORMANT), status::DORMANT)
        | when(has(Status::SUSPENDED), status::SUSP)
        | when(blocked, status::BLOCKED)
        | when(delayed, status::DELAYED)
        | when(has(Status::ACTIVE) && !blocked && !delayed, status::READY)
        | when(seen.locked, status::LOCK)
        | when(seen.priority == 0, status::NON_RT)
}

/// 2.x `rt_task_suspend`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_task_suspend(task: *mut RT_TASK) -> c_int {
    waiting(|| {
        // SAFETY: the shims' contract.
        let task = unsafe { task_or_self(task) }?;
        if Some(task) == tasks::current() { tasks::suspend_until_unblocked() } else { task.suspend() }
    })
}

thread_local! {
    /// Mode bits that have no effect here, but that programs read back.
    static PSEUDO_MODE: Cell<u32> = const { Cell::new(0) };
    static ROUND_ROBIN: Cell<bool> = const { Cell::new(false) };
}

/// 2.x `rt_task_set_mode`: only `T_LOCK` and `T_RRB` act; unknown bits are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_task_set_mode(clrmask: c_int, setmask: c_int, mode_r: *mut c_int) -> c_int {
    let (clear, set) = (clrmask as u32, setmask as u32);
    if let Some(result) = control::mode_of_handler(clear | set, status::LOCK) {
        return ret(result);
    }
    cold(|| {
        let was_locked = tasks::scheduler_lock()?;
        let was = PSEUDO_MODE.get()
            | if was_locked { status::LOCK } else { 0 }
            | if ROUND_ROBIN.get() { mode::RRB } else { 0 };
        if set & status::LOCK != 0 {
            tasks::set_scheduler_lock(true)?;
        } else if clear & status::LOCK != 0 {
            tasks::set_scheduler_lock(false)?;
        }
        if (clear | set) & mode::RRB != 0
            && let Some(task) = tasks::current()
        {
            let on = set & mode::RRB != 0;
            // At priority 0, and with the scheduler lock held, there is none.
            ROUND_ROBIN.set(task.set_slice(on.then_some(DEFAULT_SLICE)).is_ok() && on);
        }
        PSEUDO_MODE.set(PSEUDO_MODE.get() & !clear | set & mode::PSEUDO);
        if !mode_r.is_null() {
            // SAFETY: the shims' contract.
            unsafe { mode_r.write(was as c_int) };
        }
        Ok(())
    })
}

/// The quantum of `T_RRB`.
const DEFAULT_SLICE: Duration = Duration::from_millis(1);

mod mode {
    pub const RRB: u32 = 0x8000;
    /// `T_CONFORMING` or `T_PRIMARY`, `T_NOSIG`, `T_WARNSW`, `T_RPIOFF`: remembered, without effect.
    pub const PSEUDO: u32 = 0x200 | 0x1_0000 | 0x4_0000 | 0x8_0000;
}

/// 2.x `rt_task_set_periodic`: a task that sets its own start date waits for it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_task_set_periodic(
    task: *mut RT_TASK,
    idate: RTIME,
    period: RTIME,
) -> c_int {
    waiting(|| {
        // SAFETY: the shims' contract.
        let target = unsafe { task_or_self(task) }?;
        control::set_periodic(target, idate, period)?;
        if idate != 0 && period != 0 && Some(target) == tasks::current() {
            tasks::wait_period()?;
        }
        Ok(())
    })
}

/// 2.x `rt_task_wait_period`: always writes the count.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_task_wait_period(overruns_r: *mut c_ulong) -> c_int {
    waiting(|| {
        let missed = tasks::wait_period();
        if !overruns_r.is_null() {
            // SAFETY: the shims' contract.
            unsafe { overruns_r.write(missed.unwrap_or(0) as c_ulong) };
        }
        if missed? == 0 { Ok(()) } else { Err(Error::TimedOut) }
    })
}

/// 2.x `rt_task_notify`: no task here has a handler for it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rt_task_notify(task: *mut RT_TASK, _signals: c_ulong) -> c_int {
    // SAFETY: the shims' contract.
    cold(|| unsafe { task_or_self(task) }.and_then(Task::inquire).and(Err(Error::NotFound)))
}

/// 2.x `rt_task_set_priority`: returns the old base priority.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_task_set_priority(task: *mut RT_TASK, prio: c_int) -> c_int {
    let mut old = 0;
    // SAFETY: the shims' contract.
    let result = cold(|| unsafe { control::set_priority(task, prio) }.map(|was| old = was as c_int));
    if result == 0 { old } else { result }
}

/// 2.x `rt_sem_create`: its own value of `S_PULSE`; unknown bits are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_sem_create(
    sem: *mut RT_SEM,
    name: *const c_char,
    icount: c_ulong,
    mode: c_int,
) -> c_int {
    let mut flags = SemMode::empty();
    flags.set(SemMode::PRIORITY, mode & S_PRIO != 0);
    flags.set(SemMode::PULSE, mode & S_PULSE != 0);
    // SAFETY: the shims' contract.
    making(|| unsafe { sem::create(sem, name, icount, flags) })
}

/// 2.x `rt_sem_bind`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_sem_bind(sem: *mut RT_SEM, name: *const c_char, timeout: RTIME) -> c_int {
    // SAFETY: the shims' contract.
    waiting(|| unsafe { sem::bind(sem, name, timeout) }.map_err(would_block))
}

/// 2.x `rt_timer_inquire`: a period of 0 says that there is no tick.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_timer_inquire(info: *mut NATIVE_TIMER_INFO) -> c_int {
    init::ensure_clock();
    // SAFETY: the shims' contract.
    ret(unsafe { output(info) }.map(|info| {
        let resolution = alchemy::resolution();
        let now = alchemy::Date::now().as_nanos();
        let period = if resolution == 1 { 0 } else { resolution };
        info.write(NATIVE_TIMER_INFO { period, date: now / resolution, tsc: now });
    }))
}

/// 2.x `rt_timer_set_mode`: 0 is tickless, else the nanoseconds of a tick from now on.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __native_rt_timer_set_mode(nstick: RTIME) -> c_int {
    init::ensure_clock();
    ret(alchemy::set_resolution(nstick.max(1)))
}

/// 2.0 `rt_timer_start`: `rt_timer_set_mode` that never fails.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_timer_start(nstick: RTIME) -> c_int {
    __native_rt_timer_set_mode(nstick);
    0
}

/// 2.0 `rt_timer_stop`: nothing to stop.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_timer_stop() {}

/// The "time-stamp counter" of 2.x: monotonic nanoseconds.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_timer_tsc() -> RTIME {
    alchemy::Date::now().as_nanos()
}

/// Counter units are nanoseconds.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_timer_ns2tsc(ns: SRTIME) -> SRTIME {
    ns
}

/// Counter units are nanoseconds.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rt_timer_tsc2ns(ticks: SRTIME) -> SRTIME {
    ticks
}

fn native_mutex(mutex: RT_MUTEX) -> NATIVE_MUTEX {
    NATIVE_MUTEX { mutex, fastlock: 0, lockcnt: 0 }
}

/// 2.x `rt_mutex_create`: the descriptor is larger.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_mutex_create(mutex: *mut NATIVE_MUTEX, name: *const c_char) -> c_int {
    making(|| {
        // SAFETY: the shims' contract.
        let mutex = unsafe { output(mutex) }?;
        // SAFETY: the shims' contract.
        unsafe { mutex::create(name, |made| mutex.write(native_mutex(made))) }
    })
}

/// 2.x `rt_mutex_delete`: also of a mutex that is in use.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_mutex_delete(mutex: *mut RT_MUTEX) -> c_int {
    // SAFETY: the shims' contract.
    making(|| unsafe { convert::mutex(mutex) }.and_then(MutexRef::delete_by_force))
}

/// 2.x `rt_mutex_inquire`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_mutex_inquire(mutex: *mut RT_MUTEX, info: *mut NATIVE_MUTEX_INFO) -> c_int {
    making(|| {
        // SAFETY: the shims' contract.
        let seen = unsafe { convert::mutex(mutex) }?.inquire()?;
        // An owner that ends between the two looks has no name any more.
        let owner = seen.owner().and_then(|owner| owner.inquire().ok()).map_or(Name::default(), |owner| owner.name);
        // SAFETY: the shims' contract.
        unsafe { output(info) }?.write(NATIVE_MUTEX_INFO {
            locked: seen.depth.min(c_int::MAX as u32) as c_int,
            nwaiters: seen.waiters as c_int,
            name: name_buffer(seen.name),
            owner: name_buffer(owner),
        });
        Ok(())
    })
}

/// 2.x `rt_mutex_bind`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __native_rt_mutex_bind(
    mutex: *mut NATIVE_MUTEX,
    name: *const c_char,
    timeout: RTIME,
) -> c_int {
    waiting(|| {
        // SAFETY: the shims' contract.
        let mutex = unsafe { output(mutex) }?;
        // SAFETY: the shims' contract.
        mutex.write(native_mutex(unsafe { mutex::bind(name, timeout) }.map_err(would_block)?));
        Ok(())
    })
}
