//! What the tests of the Rust interface share: threads of each class, and waiting for a state instead of for a time.

// Each test program uses a part.
#![allow(dead_code)]

use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use alchemy::task::Status;
use alchemy::{Error, JoinError, JoinHandle, SemRef, Semaphore, Task, Timeout};

pub use alchemy_tests::watchdog::Watchdog;

/// A time that passes while nobody watches; tests only say that no less than this passed.
pub const SHORT: Duration = Duration::from_millis(5);
/// A limit that no test means to reach.
pub const LONG: Duration = Duration::from_secs(600);

/// Runs `body` as a task of priority 0; a panic in it is the caller's.
pub fn as_task<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    value(Task::builder().spawn(body).expect("spawn"))
}

/// Runs `body` in a thread that is no task.
pub fn as_plain<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    thread::spawn(body).join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// What a task's body returned; a panic in it is the caller's.
pub fn value<T>(task: JoinHandle<T>) -> T {
    match task.join() {
        Ok(value) => value,
        Err(JoinError::Panicked(panic)) => resume_unwind(panic),
        Err(error) => panic!("join: {error}"),
    }
}

/// A semaphore to wait at.
pub fn gate() -> Semaphore {
    Semaphore::new(0).unwrap()
}

/// A task that waits at the gate and returns what the wait returned.
pub fn behind(gate: SemRef) -> JoinHandle<alchemy::Result<()>> {
    Task::builder().spawn(move || gate.wait(Timeout::INFINITE)).unwrap()
}

/// Why a join failed; a panic in the task is the caller's.
pub fn failure<T>(joined: Result<T, JoinError>) -> Error {
    match joined {
        Err(JoinError::Failed(error)) => error,
        Err(JoinError::Panicked(panic)) => resume_unwind(panic),
        Ok(_) => panic!("the join succeeded"),
    }
}

/// Returns once `holds` does. The watchdog ends a wait in vain.
pub fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        thread::sleep(Duration::from_micros(50));
    }
}

/// Returns once the task waits as `status` says.
pub fn until_status(task: Task, status: Status) {
    until(|| task.inquire().expect("the task ended instead of waiting").status.contains(status));
}

/// Returns once this many threads wait for the semaphore.
pub fn until_waiters(sem: SemRef, waiters: u32) {
    until(|| sem.inquire().expect("the semaphore is gone").waiters == waiters);
}

/// Returns once the task has ended, joined or not.
pub fn until_ended(task: Task) {
    until(|| task.inquire().is_err());
}

/// Small random numbers, the same in each run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// From 0 to `below` − 1.
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }
}
