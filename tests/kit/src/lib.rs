//! A kit for regression tests of programs on this library: run a case under fixed scheduling, record what happens in which order,
//! say what is expected, end what hangs. C programs have the same in `<alchemy-test.h>`.
//!
//! ```no_run
//! // tests/orders.rs, with `harness = false` in Cargo.toml
//! use alchemy::{Semaphore, Task, Timeout};
//! use alchemy_test::{Case, expect, mark};
//!
//! fn consumer_preempts_producer() {
//!     let sem = Semaphore::new(0).unwrap();
//!     let shared = *sem;
//!     let consumer = Task::builder().priority(10).spawn(move || {
//!         shared.wait(Timeout::INFINITE).unwrap();
//!         mark("consumed");
//!     });
//!     mark("post");
//!     sem.post().unwrap();
//!     mark("posted");
//!     consumer.unwrap().join().unwrap();
//!     expect("post consumed posted");
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     alchemy_test::main(&[Case::new("consumer_preempts_producer", consumer_preempts_producer)])
//! }
//! ```
//!
//! # Modes
//!
//! Each case runs in a process of its own, once in each of its modes. In both, base priorities alone decide what happens in which
//! order: a test says what it expects, and does not sleep to get it.
//!
//! - [`Mode::Fifo`]: on one CPU, under `SCHED_FIFO`, as on a real-time target; skipped where the system does not permit that.
//! - [`Mode::Lockstep`]: without privileges, on any machine. The library lets one task at a time run, the ready one of the
//!   highest base priority, and preempts it at calls of the library only. The thread that runs `main` comes behind all tasks.
//!   A task that waits by other means than this library keeps the others from running meanwhile.
//!
//! # Arguments of the test program
//!
//! None: all cases; `NAME`: those whose names contain it; `--list`; `--case NAME MODE`: one case in this process, exit status 0
//! passed, 1 failed, 77 skipped. A case that does not end in 20 seconds, or `AT_SECONDS` of the environment, has failed.

use std::io::Write;
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use posix_backend::sched::{self, Class};

/// How scheduling is fixed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// One CPU, `SCHED_FIFO`.
    Fifo,
    /// One task at a time, by the library.
    Lockstep,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::Fifo => "fifo",
            Mode::Lockstep => "lockstep",
        }
    }
}

/// Something to be tested.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    name: &'static str,
    run: fn(),
    modes: &'static [Mode],
}

impl Case {
    /// A case for both modes. It fails if `run` panics.
    pub const fn new(name: &'static str, run: fn()) -> Case {
        Case { name, run, modes: &[Mode::Fifo, Mode::Lockstep] }
    }

    /// The same for these modes only.
    pub const fn only_in(self, modes: &'static [Mode]) -> Case {
        Case { modes, ..self }
    }
}

static MARKS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn marks() -> std::sync::MutexGuard<'static, Vec<String>> {
    // A panic in between leaves the list whole.
    MARKS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Notes that this happened now. Any thread may; a mark has no spaces.
pub fn mark(text: impl Into<String>) {
    let text = text.into();
    assert!(!text.contains(' '), "a mark is one word: {text:?}");
    marks().push(text);
}

/// Panics unless the marks so far, in order, are the words of this list; forgets them.
#[track_caller]
pub fn expect(list: &str) {
    let got = std::mem::take(&mut *marks()).join(" ");
    assert!(got == list, "order of events\n  got:  {got}\n  want: {list}");
}

const SKIPPED: i32 = 77;

/// Ends the case as skipped, for this reason.
pub fn skip(reason: &str) -> ! {
    println!("SKIPPED: {reason}");
    std::process::exit(SKIPPED)
}

/// Runs the cases that the arguments ask for: the `main` of a test program.
pub fn main(cases: &[Case]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--list"] => {
            cases.iter().for_each(|case| println!("{}", case.name));
            ExitCode::SUCCESS
        }
        ["--case", name, mode] => {
            let mode = if mode == Mode::Fifo.name() { Mode::Fifo } else { Mode::Lockstep };
            match cases.iter().find(|case| case.name == name) {
                Some(case) => run_here(case, mode),
                None => usage(),
            }
        }
        [] => run_all(cases, ""),
        [name] if !name.starts_with("--") => run_all(cases, name),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: [NAME | --list | --case NAME fifo|lockstep]");
    ExitCode::from(2)
}

fn limit() -> Duration {
    let seconds = std::env::var("AT_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(20))
}

fn run_here(case: &Case, mode: Mode) -> ExitCode {
    let name = case.name;
    thread::spawn(move || {
        thread::sleep(limit());
        let _ = writeln!(std::io::stderr(), "watchdog: {name} does not end; marks: {}", marks().join(" "));
        std::process::abort();
    });
    if mode == Mode::Fifo {
        let one_cpu = sched::set_affinity(0, &sched::cpu_set([first_cpu()]));
        if one_cpu.is_err() || !sched::may_use_fifo() || sched::set_class(0, Class::Other).is_err() {
            skip("the system does not permit SCHED_FIFO");
        }
    }
    (case.run)();
    ExitCode::SUCCESS
}

fn first_cpu() -> usize {
    let allowed = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = allowed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("0");
    list.trim().split([',', '-']).next().and_then(|first| first.parse().ok()).unwrap_or(0)
}

fn run_all(cases: &[Case], filter: &str) -> ExitCode {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for case in cases.iter().filter(|case| case.name.contains(filter)) {
        for mode in case.modes {
            let (verdict, output) = match run_apart(case, *mode) {
                Ok(output) => (output.status.code(), output),
                Err(error) => panic!("cannot start {}: {error}", case.name),
            };
            let (text, count) = match verdict {
                Some(0) => ("ok", &mut passed),
                Some(SKIPPED) => ("skipped", &mut skipped),
                _ => ("FAILED", &mut failed),
            };
            *count += 1;
            println!("{:<50} {:<9} {text}", case.name, mode.name());
            if text != "ok" {
                print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            }
        }
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the program again, for one case.
fn run_apart(case: &Case, mode: Mode) -> std::io::Result<Output> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--case", case.name, mode.name()]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    match mode {
        Mode::Fifo => command.env_remove("ALCHEMY_LOCKSTEP"),
        Mode::Lockstep => command.env("ALCHEMY_LOCKSTEP", "1"),
    };
    let child = command.spawn()?;
    // Its own watchdog comes first, unless a task keeps it from running.
    let id = child.id();
    let (ended, wait) = std::sync::mpsc::channel::<()>();
    thread::spawn(move || {
        if wait.recv_timeout(limit() + Duration::from_secs(5)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
        }
    });
    let output = child.wait_with_output();
    drop(ended);
    output
}
