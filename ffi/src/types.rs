//! Descriptors and information structures, as C sees them; `include/` documents their fields. The assertions at the end are
//! the layout.

#![allow(missing_docs)]

use core::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

use alchemy::NAME_LEN;
use alchemy::c::pthread_t;

/// A date or a delay in ticks.
pub type RTIME = u64;
/// A signed number of ticks.
pub type SRTIME = i64;
/// An entry routine.
pub type Entry = Option<unsafe extern "C-unwind" fn(*mut c_void)>;
/// A name in an information structure: NUL-terminated.
pub type NameBuffer = [c_char; NAME_LEN];

/// An alarm's descriptor, in both APIs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_ALARM {
    pub handle: usize,
}

/// `rt_alarm_inquire`, 3.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_ALARM_INFO {
    pub expiries: c_ulong,
    pub name: NameBuffer,
    pub active: c_int,
}

/// `rt_alarm_inquire`, 2.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NATIVE_ALARM_INFO {
    pub expiration: RTIME,
    pub expiries: c_ulong,
    pub name: NameBuffer,
}

/// A semaphore's descriptor.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_SEM {
    pub handle: usize,
}

/// `rt_sem_inquire`, in both APIs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_SEM_INFO {
    pub count: c_ulong,
    pub nwaiters: c_int,
    pub name: NameBuffer,
}

/// A mutex's descriptor; in 2.x the first part of it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_MUTEX {
    pub handle: usize,
}

/// A mutex's descriptor, 2.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NATIVE_MUTEX {
    pub mutex: RT_MUTEX,
    pub fastlock: usize,
    pub lockcnt: c_int,
}

/// `rt_mutex_inquire`, 3.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_MUTEX_INFO {
    pub owner: RT_TASK,
    pub name: NameBuffer,
}

/// `rt_mutex_inquire`, 2.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NATIVE_MUTEX_INFO {
    pub locked: c_int,
    pub nwaiters: c_int,
    pub name: NameBuffer,
    pub owner: NameBuffer,
}

/// An event flag group's descriptor.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_EVENT {
    pub handle: usize,
}

/// `rt_event_inquire`, 3.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_EVENT_INFO {
    pub value: c_uint,
    pub nwaiters: c_int,
    pub name: NameBuffer,
}

/// `rt_event_inquire`, 2.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NATIVE_EVENT_INFO {
    pub value: c_ulong,
    pub nwaiters: c_int,
    pub name: NameBuffer,
}

/// A condition variable's descriptor.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_COND {
    pub handle: usize,
}

/// `rt_cond_inquire`, 3.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_COND_INFO {
    pub name: NameBuffer,
}

/// `rt_cond_inquire`, 2.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NATIVE_COND_INFO {
    pub nwaiters: c_int,
    pub name: NameBuffer,
}

/// A queue's descriptor; in 2.x the first part of it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_QUEUE {
    pub handle: usize,
}

/// A heap's descriptor; in 2.x the first part of it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_HEAP {
    pub handle: usize,
}

/// A queue's or a heap's descriptor, 2.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NATIVE_AREA {
    pub handle: usize,
    pub opaque2: usize,
    pub mapbase: usize,
    pub mapsize: usize,
    pub area: usize,
}

/// `rt_queue_inquire`, in both APIs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_QUEUE_INFO {
    pub nwaiters: c_int,
    pub nmessages: c_int,
    pub mode: c_int,
    pub qlimit: usize,
    pub poolsize: usize,
    pub usedmem: usize,
    pub name: NameBuffer,
}

/// `rt_heap_inquire`, 3.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_HEAP_INFO {
    pub nwaiters: c_int,
    pub mode: c_int,
    pub heapsize: usize,
    pub usablemem: usize,
    pub usedmem: usize,
    pub name: NameBuffer,
}

/// `rt_heap_inquire`, 2.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NATIVE_HEAP_INFO {
    pub heap: RT_HEAP_INFO,
    pub phys_addr: c_ulong,
}

/// A buffer's descriptor, in both APIs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_BUFFER {
    pub handle: usize,
}

/// `rt_buffer_inquire`, in both APIs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_BUFFER_INFO {
    pub iwaiters: c_int,
    pub owaiters: c_int,
    pub totalmem: usize,
    pub availmem: usize,
    pub name: NameBuffer,
}

/// A message or a reply, in both APIs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_TASK_MCB {
    pub flowid: c_int,
    pub opcode: c_int,
    pub data: *mut c_void,
    pub size: isize,
}

/// A task's descriptor, in both APIs (`opaque` and `opaque2` in 2.x).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_TASK {
    pub handle: usize,
    pub thread: pthread_t,
}

/// `RT_TASK_INFO.stat`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct threadobj_stat {
    pub timeout: u64,
    pub cpu: c_int,
    pub schedlock: c_int,
    pub status: c_uint,
}

/// `rt_task_inquire`, 3.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_TASK_INFO {
    pub prio: c_int,
    pub stat: threadobj_stat,
    pub name: NameBuffer,
    pub pid: c_int,
}

/// `rt_task_inquire`, 2.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NATIVE_TASK_INFO {
    pub bprio: c_int,
    pub cprio: c_int,
    pub status: c_uint,
    pub relpoint: RTIME,
    pub name: NameBuffer,
    pub exectime: RTIME,
    pub modeswitches: c_int,
    pub ctxswitches: c_int,
    pub pagefaults: c_int,
}

/// `rt_timer_inquire`, 3.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RT_TIMER_INFO {
    pub period: RTIME,
    pub date: RTIME,
}

/// `rt_timer_inquire`, 2.x.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NATIVE_TIMER_INFO {
    pub period: RTIME,
    pub date: RTIME,
    pub tsc: RTIME,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<RT_ALARM>() == 8);
    assert!(size_of::<RT_ALARM_INFO>() == 48 && offset_of!(RT_ALARM_INFO, name) == 8);
    assert!(offset_of!(RT_ALARM_INFO, active) == 40);
    assert!(size_of::<NATIVE_ALARM_INFO>() == 48 && offset_of!(NATIVE_ALARM_INFO, expiries) == 8);
    assert!(offset_of!(NATIVE_ALARM_INFO, name) == 16);
    assert!(size_of::<RT_SEM>() == 8);
    assert!(size_of::<RT_SEM_INFO>() == 48 && offset_of!(RT_SEM_INFO, name) == 12);
    assert!(size_of::<RT_MUTEX>() == 8 && size_of::<NATIVE_MUTEX>() == 24);
    assert!(size_of::<RT_MUTEX_INFO>() == 48 && offset_of!(RT_MUTEX_INFO, name) == 16);
    assert!(size_of::<NATIVE_MUTEX_INFO>() == 72 && offset_of!(NATIVE_MUTEX_INFO, name) == 8);
    assert!(offset_of!(NATIVE_MUTEX_INFO, owner) == 40);
    assert!(size_of::<RT_EVENT>() == 8 && size_of::<RT_COND>() == 8);
    assert!(size_of::<RT_EVENT_INFO>() == 40 && align_of::<RT_EVENT_INFO>() == 4);
    assert!(offset_of!(RT_EVENT_INFO, nwaiters) == 4 && offset_of!(RT_EVENT_INFO, name) == 8);
    assert!(size_of::<NATIVE_EVENT_INFO>() == 48 && offset_of!(NATIVE_EVENT_INFO, nwaiters) == 8);
    assert!(offset_of!(NATIVE_EVENT_INFO, name) == 12);
    assert!(size_of::<RT_COND_INFO>() == 32 && align_of::<RT_COND_INFO>() == 1);
    assert!(size_of::<NATIVE_COND_INFO>() == 36 && offset_of!(NATIVE_COND_INFO, name) == 4);
    assert!(size_of::<RT_QUEUE>() == 8 && size_of::<RT_HEAP>() == 8 && size_of::<NATIVE_AREA>() == 40);
    assert!(size_of::<RT_QUEUE_INFO>() == 72 && offset_of!(RT_QUEUE_INFO, mode) == 8);
    assert!(offset_of!(RT_QUEUE_INFO, qlimit) == 16 && offset_of!(RT_QUEUE_INFO, poolsize) == 24);
    assert!(offset_of!(RT_QUEUE_INFO, usedmem) == 32 && offset_of!(RT_QUEUE_INFO, name) == 40);
    assert!(size_of::<RT_HEAP_INFO>() == 64 && offset_of!(RT_HEAP_INFO, heapsize) == 8);
    assert!(offset_of!(RT_HEAP_INFO, usedmem) == 24 && offset_of!(RT_HEAP_INFO, name) == 32);
    assert!(size_of::<NATIVE_HEAP_INFO>() == 72 && offset_of!(NATIVE_HEAP_INFO, phys_addr) == 64);
    assert!(size_of::<RT_BUFFER>() == 8 && size_of::<RT_BUFFER_INFO>() == 56);
    assert!(offset_of!(RT_BUFFER_INFO, owaiters) == 4 && offset_of!(RT_BUFFER_INFO, totalmem) == 8);
    assert!(offset_of!(RT_BUFFER_INFO, availmem) == 16 && offset_of!(RT_BUFFER_INFO, name) == 24);
    assert!(size_of::<RT_TASK_MCB>() == 24 && offset_of!(RT_TASK_MCB, opcode) == 4);
    assert!(offset_of!(RT_TASK_MCB, data) == 8 && offset_of!(RT_TASK_MCB, size) == 16);
    assert!(size_of::<RT_TASK>() == 16 && offset_of!(RT_TASK, thread) == 8);
    assert!(size_of::<RT_TASK_INFO>() == 72);
    assert!(offset_of!(RT_TASK_INFO, stat) == 8 && offset_of!(RT_TASK_INFO, stat.status) == 24);
    assert!(offset_of!(RT_TASK_INFO, name) == 32 && offset_of!(RT_TASK_INFO, pid) == 64);
    assert!(size_of::<NATIVE_TASK_INFO>() == 80 && offset_of!(NATIVE_TASK_INFO, relpoint) == 16);
    assert!(offset_of!(NATIVE_TASK_INFO, exectime) == 56 && offset_of!(NATIVE_TASK_INFO, pagefaults) == 72);
    assert!(size_of::<RT_TIMER_INFO>() == 16 && size_of::<NATIVE_TIMER_INFO>() == 24);
};
