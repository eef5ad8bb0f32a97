//! Tasks: `rt_task_*`.
//!
//! A task is a thread with an identity: a name, a base priority from 0 to 99, a handle. Its priority orders it in every queue;
//! the kernel schedules it as `SCHED_FIFO` at that level, or as `SCHED_OTHER` for 0 and where the system grants no more
//! ([`crate::policy`]).
//!
//! Tasks with a Rust body end by returning. [`Task::request_end`] asks one to: its waits return [`crate::Error::Cancelled`]
//! from then on.

pub(crate) mod slot;

#[cfg(not(loom))]
mod api;
#[cfg(not(loom))]
pub(crate) mod body;
#[cfg(not(loom))]
pub(crate) mod control;
#[cfg(not(loom))]
mod inquire;
#[cfg(not(loom))]
pub(crate) mod message;
#[cfg(not(loom))]
mod period;
#[cfg(not(loom))]
pub(crate) mod watch;

#[cfg(not(loom))]
pub use api::{
    Builder, JoinError, JoinHandle, Task, current, may_wait, request_end_pending, scheduler_lock, set_scheduler_lock,
    sleep, sleep_until, suspend_until_unblocked, this_thread, wait_period, yield_now,
};
#[cfg(not(loom))]
pub use body::{Entry, MIN_STACK, Settings};
#[cfg(not(loom))]
pub use control::{exit, obey_requests};
#[cfg(not(loom))]
pub use inquire::{Info, Status, Usage};
#[cfg(not(loom))]
pub use message::{Answer, Flow, Message, Reply, receive, receive_into};
