//! Mechanism: what a stock Linux kernel and its C library give to the objects above.
//!
//! This crate knows no real-time API and has no policy. Each module wraps one facility: [`futex`], [`pi_lock`] and [`pi_mutex`] for
//! blocking, [`wait`] for ordered wait queues, [`segment`], [`arena`], `extent` and `table` for memory, [`thread`] and [`sched`]
//! for threads, [`time`] for the clock, `ring` and `stream` for output.
//!
//! # Safety
//!
//! Unsafe code is denied here and allowed again at the head of the modules that talk to the kernel or own raw memory;
//! each of those says what it relies on.

#![deny(unsafe_code)]

pub mod arena;
pub mod atomic;
#[cfg(not(loom))]
pub mod code;
pub mod copy;
pub mod errno;
#[cfg(not(loom))]
pub mod extent;
pub mod futex;
#[cfg(not(loom))]
mod local;
pub mod memory;
pub mod pi_lock;
pub mod pi_mutex;
#[cfg(not(loom))]
pub mod pool;
pub mod process;
pub mod report;
#[cfg(not(loom))]
pub mod ring;
pub mod robust;
pub mod sched;
pub mod section;
pub mod segment;
#[cfg(not(loom))]
pub mod signal;
#[cfg(not(loom))]
pub mod slice;
#[cfg(not(loom))]
pub mod stream;
#[cfg(not(loom))]
pub mod table;
pub mod thread;
pub mod time;
pub mod wait;

pub use errno::Errno;
pub use futex::Scope;

/// The C types that the layers above need.
pub mod c {
    pub use libc::SIGPIPE;
    pub use libc::{FILE, c_char, c_int, c_long, c_uint, c_ulong, c_void, cpu_set_t, pid_t, pthread_t, timespec};
}
