//! The C symbols. A shim converts, calls the object, and maps the error; it decides nothing.
//!
//! The contract of each function is in the headers under `include/`. All are `extern "C-unwind"` and have nothing alive to
//! drop: a wait may be left by its thread's end, and if a program makes its cancellation asynchronous, any of them.
//!
//! # Safety
//!
//! All shims have the same contract with C: pointers are null, or point to objects of the declared type that stay valid
//! during the call and are not written by other threads meanwhile. Null and misaligned descriptors, and descriptors with any
//! content, are refused by `convert`. An output is written only on success.

#![allow(clippy::missing_safety_doc)]
#![allow(non_camel_case_types)]

pub mod alarm;
pub mod buffer;
pub mod cond;
pub mod control;
mod convert;
pub mod event;
pub mod heap;
mod init;
pub mod message;
pub mod mutex;
pub mod native;
pub mod print;
pub mod queue;
pub mod sem;
pub mod task;
pub mod timer;
pub mod types;
