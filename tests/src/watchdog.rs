//! Ends a test run that hangs, and says which test it was.

use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How long a test may take where it does not say otherwise.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Aborts the process unless it is dropped in time.
#[derive(Debug)]
#[must_use]
pub struct Watchdog(#[allow(dead_code, reason = "its end is the signal")] Sender<()>);

impl Watchdog {
    /// For the test that runs on the calling thread.
    pub fn new() -> Watchdog {
        let name = thread::current().name().unwrap_or("a test").to_owned();
        Watchdog::over(&name, LIMIT)
    }

    /// For a test of this name that may take this long.
    pub fn over(name: &str, limit: Duration) -> Watchdog {
        let (alive, watch) = mpsc::channel();
        let name = name.to_owned();
        thread::spawn(move || {
            if watch.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                // Not with `eprintln`, which the test harness captures.
                let _ = writeln!(std::io::stderr(), "watchdog: {name} hangs ({limit:?})");
                std::process::abort();
            }
        });
        Watchdog(alive)
    }
}

impl Default for Watchdog {
    fn default() -> Self {
        Watchdog::new()
    }
}
