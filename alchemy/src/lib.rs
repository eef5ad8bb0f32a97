//! The Alchemy real-time objects, on a stock Linux kernel.
//!
//! Tasks with fixed priorities, semaphores, mutexes, condition variables, event flags, queues, heaps, buffers, alarms, messages,
//! names, and one monotonic clock: the objects of Xenomai's native API, behind a safe interface. C programs see the same objects through `libalchemy.so`.
//!
//! An operation that need not wait or wake makes no system call, reads no clock and allocates nothing.
//!
//! ```
//! use alchemy::{Semaphore, Task, Timeout};
//!
//! let ready = Semaphore::new(0)?;
//! let posted = ready.handle();
//! let task = Task::builder().name("worker").priority(10).spawn(move || {
//!     alchemy::SemRef::from_handle(posted).post().map(|()| 42)
//! })?;
//! ready.wait(Timeout::INFINITE)?;
//! assert_eq!(task.join().unwrap()?, 42);
//! # Ok::<(), alchemy::Error>(())
//! ```
//!
//! # Who may wait
//!
//! Tasks may, and the thread that runs `main`. Other threads become tasks with [`Task::shadow`]; without it, a call of
//! theirs that would have to wait returns [`Error::Permission`].
//!
//! # Without real-time privileges
//!
//! Priorities order every queue whether or not the system grants `SCHED_FIFO`. The first refusal puts one line on standard
//! error; see [`policy`].

#![deny(unsafe_code)]
// Models call what the interfaces below call.
#![cfg_attr(loom, allow(dead_code))]

mod cond;
mod error;
mod event;
mod handle;
mod head;
mod mutex;
mod name;
mod registry;
mod sem;
mod space;
mod state;
mod step;
pub mod task;
mod time;
mod wait;

#[cfg(not(loom))]
mod alarm;
#[cfg(not(loom))]
mod buffer;
#[cfg(not(loom))]
mod exit;
#[cfg(not(loom))]
mod fork;
#[cfg(not(loom))]
mod heap;
#[cfg(not(loom))]
mod lockstep;
#[cfg(loom)]
mod lockstep {
    //! Models have no such mode.
    pub fn is_on() -> bool {
        false
    }
    pub fn sleep(_: u32, doze: impl FnOnce() -> bool) -> bool {
        doze()
    }
    pub fn stop<R>(_: u32, stopped: impl FnOnce() -> R) -> R {
        stopped()
    }
    pub fn ready(_: u32) {}
    pub fn preempt() {}
}
#[cfg(all(test, loom))]
mod model;
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
#[cfg(not(loom))]
pub mod policy;
#[cfg(not(loom))]
pub mod print;
#[cfg(not(loom))]
mod queue;
#[cfg(not(loom))]
pub mod runtime;
#[cfg(all(test, not(loom)))]
mod tests;
#[cfg(not(loom))]
pub mod timer;

pub use cond::Info as ConditionInfo;
pub use error::{Error, Result};
pub use event::{Info as EventInfo, Match, Mode as EventMode};
pub use handle::Handle;
pub use mutex::Info as MutexInfo;
pub use name::{NAME_LEN, Name};
pub use sem::{Info as SemInfo, MAX_COUNT, Mode as SemMode};
pub use time::{Date, DateTicks, MAX_RESOLUTION, RelativeTicks, Timeout, resolution, set_resolution};

#[cfg(not(loom))]
pub use alarm::{Alarm, AlarmRef, Entry as AlarmEntry, Info as AlarmInfo};
#[cfg(not(loom))]
pub use buffer::{Buffer, BufferRef, Info as BufferInfo, Mode as BufferMode};
#[cfg(not(loom))]
pub use cond::{Condition, ConditionRef};
#[cfg(not(loom))]
pub use event::{Event, EventRef};
#[cfg(not(loom))]
pub use heap::{Block, Heap, HeapRef, Info as HeapInfo, Mode as HeapMode};
#[cfg(not(loom))]
pub use mutex::{LockError, Mutex, MutexGuard, MutexRef};
#[cfg(not(loom))]
pub use queue::{Info as QueueInfo, Mode as QueueMode, Plain, Queue, QueueRef, SendMode, Settings as QueueSettings};
#[cfg(not(loom))]
pub use sem::{SemRef, Semaphore};
#[cfg(not(loom))]
pub use task::{JoinError, JoinHandle, Task};

/// The C types that appear in this crate's interface.
pub use posix_backend::c;
