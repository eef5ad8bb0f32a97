//! What an operation that neither waits nor wakes costs: no system call, no allocation, no look at the clock. Through the C
//! symbols and through the Rust interface, as a task, as the initial thread and as a plain thread.
//!
//! Each case is a process of its own. After a few rounds to warm up, the measured thread installs a system call filter that
//! traps whatever it calls, has the processor trap reads of its time stamp counter (which is how the vDSO reads the clock),
//! and goes on for a million rounds. The controls show that the traps see what they are for.

/// Calls a C function.
macro_rules! c {
    ($call:expr) => {
        // SAFETY: the descriptors and outputs of this file are null or leaked boxes.
        unsafe { $call }
    };
}

mod calls;
mod mutexes;
mod objects;
mod traps;

use std::ffi::{c_char, c_int, c_long};
use std::process::ExitCode;
use std::time::Duration;

use alchemy_tests::cprog::fifo_usable;
use libtest_mimic::{Arguments, Completion, Failed, Trial};

unsafe extern "C" {
    fn rt_fprintf(stream: *mut libc::FILE, format: *const c_char, ...) -> c_int;
}

const ROUNDS: u32 = 1_000_000;
const WARM_UP: u32 = 10;

/// Seconds after which a process is killed.
const LIMIT: u32 = 120;

const TM_INFINITE: u64 = 0;
const TM_NONBLOCK: u64 = u64::MAX;
/// A date long past, and a delay that would be noticed.
const PAST: u64 = 1;
const LONG: u64 = 600_000_000_000;
const LONG_TIME: Duration = Duration::from_nanos(LONG);

fn main() -> ExitCode {
    let mut args = Arguments::from_args();
    // Processes are forked off the only thread.
    args.test_threads = Some(1);
    be_quiet();
    let mut trials = Vec::new();
    let mut add = |name: String, trial: fn(Measured) -> Trialled, measured: Measured| {
        trials.push(Trial::ignorable_test(name, move || trial(measured)));
    };
    let priorities = if fifo_usable() { Priorities::Real } else { Priorities::Logical };
    for (name, prepare, expected) in calls::controls().into_iter().chain(objects::controls()) {
        let measured = Measured { caller: Caller::Initial, priorities, clock: Clock::Trapped, prepare, expected };
        add(format!("control::{name}"), must_be_seen, measured);
    }
    for (name, clock, prepare) in calls::cases().into_iter().chain(objects::cases()) {
        for caller in [Caller::Task, Caller::Initial, Caller::Plain] {
            let measured = Measured { caller, priorities, clock, prepare, expected: Seen::NOTHING };
            add(format!("{name} [{caller:?}]"), must_be_free, measured);
        }
    }
    for (name, caller, clock, prepare) in calls::special_cases() {
        let measured = Measured { caller, priorities, clock, prepare, expected: Seen::NOTHING };
        add(format!("{name} [{caller:?}]"), must_be_free, measured);
    }
    for priorities in [Priorities::Real, Priorities::Logical] {
        for (name, prepare, expected) in mutexes::controls() {
            let measured = Measured { caller: Caller::Task, priorities, clock: Clock::Trapped, prepare, expected };
            add(format!("control::{name} [{priorities:?}]"), must_be_seen, measured);
        }
        for (name, prepare) in mutexes::cases() {
            let measured =
                Measured { caller: Caller::Task, priorities, clock: Clock::Trapped, prepare, expected: Seen::NOTHING };
            add(format!("{name} [{priorities:?}]"), must_be_free, measured);
        }
    }
    libtest_mimic::run(&args, trials).exit_code()
}

/// Keeps each process from telling what it lacks.
fn be_quiet() {
    let fifo = fifo_usable();
    // SAFETY: this process has one thread.
    unsafe { std::env::set_var("ALCHEMY_MLOCK", "off") };
    if !fifo {
        // SAFETY: likewise.
        unsafe { std::env::set_var("ALCHEMY_SCHED", "other") };
    }
}

type Trialled = Result<Completion, Failed>;

/// A round; false if its result is wrong.
type Round = Box<dyn FnMut() -> bool>;
/// Makes what the rounds need; in the measured thread.
type Prepare = fn() -> Round;

#[derive(Clone, Copy)]
struct Measured {
    caller: Caller,
    priorities: Priorities,
    clock: Clock,
    prepare: Prepare,
    expected: Seen,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Caller {
    Task,
    Initial,
    Plain,
}

/// Mutexes are waited for in the kernel's queue, or in one of the library's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Priorities {
    Real,
    Logical,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Clock {
    /// Not to be read.
    Trapped,
    /// May be read, without a system call.
    Free,
}

/// Why the case cannot run here.
const NO_FIFO: &str = "SKIPPED: no SCHED_FIFO for this process";

fn must_be_free(measured: Measured) -> Trialled {
    if measured.priorities == Priorities::Real && !fifo_usable() {
        return Ok(Completion::ignored_with(NO_FIFO));
    }
    judge(measured, measured.watch())
}

fn must_be_seen(measured: Measured) -> Trialled {
    if measured.priorities == Priorities::Real && !fifo_usable() {
        return Ok(Completion::ignored_with(NO_FIFO));
    }
    let seen = measured.watch();
    if seen == Ok(Seen::NOTHING) && measured.expected == Seen::CLOCK && !clock_is_a_counter() {
        return Ok(Completion::ignored_with("SKIPPED: the clock is not the processor's counter here"));
    }
    judge(measured, seen)
}

fn judge(measured: Measured, seen: Result<Seen, String>) -> Trialled {
    match seen {
        Ok(seen) if seen.is(measured.expected) => Ok(Completion::Completed),
        Ok(seen) if seen.unavailable => Ok(Completion::ignored_with("SKIPPED: no system call filters here")),
        Ok(seen) => Err(format!("expected {:?}\nbut saw  {seen:?}", measured.expected).into()),
        Err(end) => Err(end.into()),
    }
}

/// Whether the kernel lets programs read the clock from the time stamp counter.
fn clock_is_a_counter() -> bool {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    std::fs::read_to_string(SOURCE).is_ok_and(|source| source.trim() == "tsc")
}

/// What was seen in the measured rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seen {
    /// The number of the first system call.
    call: Option<c_long>,
    clock: bool,
    allocated: bool,
    /// The C library's heap changed.
    heap: bool,
    wrong_result: bool,
    /// Nothing was measured: the system has no filters.
    unavailable: bool,
}

impl Seen {
    const NOTHING: Seen =
        Seen { call: None, clock: false, allocated: false, heap: false, wrong_result: false, unavailable: false };
    const CLOCK: Seen = Seen { clock: true, ..Seen::NOTHING };

    fn call(number: c_long) -> Seen {
        Seen { call: Some(number), ..Seen::NOTHING }
    }

    fn is(self, expected: Seen) -> bool {
        // A clock that is not read in user space is read by a system call.
        self == expected
            || expected == Seen::CLOCK && self == Seen::call(libc::SYS_clock_gettime)
            // A wait in the kernel's queue begins with the signal mask.
            || expected == Seen::call(libc::SYS_futex) && self == Seen::call(libc::SYS_rt_sigprocmask)
    }
}
