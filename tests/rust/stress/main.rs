//! Many rounds of what single tests show once, with an account at the end. The cases run one after the other, in the
//! initial thread, and say how far they are.

mod generations;
#[path = "../kit.rs"]
mod kit;
mod mutexes;
mod names;
mod semaphores;
mod tasks;

use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use alchemy::{Semaphore, Task, Timeout, timer};
use kit::{Watchdog, until_waiters, value};
use libtest_mimic::{Arguments, Trial};

/// How long a case may take on a machine that is slow and busy. They are made for seconds.
const LIMIT: Duration = Duration::from_secs(240);

fn main() -> ExitCode {
    if std::env::var_os(FIRST_OBJECTS).is_some() {
        make_first_objects();
        return ExitCode::SUCCESS;
    }
    let mut args = Arguments::from_args();
    args.test_threads = Some(1);
    let trials = cases().map(|(name, case)| {
        Trial::test(name, move || {
            let _dog = Watchdog::over(name, LIMIT);
            case(&mut Progress::of(name));
            Ok(())
        })
    });
    libtest_mimic::run(&args, trials.into()).exit_code()
}

type Case = fn(&mut Progress);

fn cases() -> [(&'static str, Case); 17] {
    [
        ("first_objects_at_once", first_objects_at_once),
        // Before the others: it finds the arenas small.
        ("arenas_grow_under_load", arenas_grow_under_load),
        ("grants_against_timeouts_of_equals", semaphores::grants_against_timeouts_of_equals),
        ("grants_against_timeouts_of_ranks", semaphores::grants_against_timeouts_of_ranks),
        ("grants_against_requests_to_end", semaphores::grants_against_requests_to_end),
        ("requests_to_end_against_waits", semaphores::requests_to_end_against_waits),
        ("requests_to_end_against_locks", mutexes::requests_to_end_against_locks),
        ("pulses_and_broadcasts_under_load", semaphores::pulses_and_broadcasts_under_load),
        ("deletion_under_load", semaphores::deletion_under_load),
        ("spawns_and_joins", tasks::spawns_and_joins),
        ("spawns_without_joins", tasks::spawns_without_joins),
        ("generations_of_a_semaphore", generations::generations_of_a_semaphore),
        ("generations_of_a_task", generations::generations_of_a_task),
        ("names_contested", names::names_contested),
        ("start_handshakes", tasks::start_handshakes),
        ("starters_at_once", tasks::starters_at_once),
        ("a_clock_for_all", a_clock_for_all),
    ]
}

/// Lines on standard error, at most two a second.
struct Progress {
    name: &'static str,
    start: Instant,
    last: Instant,
}

impl Progress {
    fn of(name: &'static str) -> Progress {
        let start = Instant::now();
        Progress { name, start, last: start }
    }

    fn at(&mut self, done: u64, all: u64) {
        if self.last.elapsed() >= Duration::from_millis(500) {
            self.last = Instant::now();
            eprintln!("{}: {done} of {all}, {:.1} s", self.name, self.start.elapsed().as_secs_f32());
        }
    }
}

/// In the environment: this process is one of those of `first_objects_at_once`.
const FIRST_OBJECTS: &str = "STRESS_FIRST_OBJECTS";

/// The first objects of a process are made by several threads at once. Found missing: buckets for the names of slots that
/// were usable already, `NoMemory` to whoever took one just then.
fn first_objects_at_once(progress: &mut Progress) {
    const PROCESSES: u64 = 200;
    let program = std::env::current_exe().unwrap();
    for process in 0..PROCESSES {
        let output = Command::new(&program).env(FIRST_OBJECTS, "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        progress.at(process, PROCESSES);
    }
}

fn make_first_objects() {
    const MAKERS: usize = 6;
    let together = Barrier::new(MAKERS);
    thread::scope(|scope| {
        for maker in 0..MAKERS {
            let together = &together;
            scope.spawn(move || {
                together.wait();
                // One after the other, so that they do not all queue up for the first one.
                timer::spin(maker as u64 * 4000);
                let sem = Semaphore::new(1).unwrap();
                let task = Task::builder().spawn(|| ()).unwrap();
                assert_eq!(sem.try_wait(), Ok(()));
                value(task);
            });
        }
    });
}

/// Threads make objects at once while the memory for them grows.
fn arenas_grow_under_load(progress: &mut Progress) {
    const MAKERS: usize = 4;
    // The limits of an ordinary user's locked memory allow 4096 objects.
    const SEMAPHORES: usize = 800;
    const TASKS: usize = 100;
    let gate = Semaphore::new(0).unwrap();
    let closed = *gate;
    let makers: Vec<_> = (0..MAKERS)
        .map(|_| {
            thread::spawn(move || {
                let sems: Vec<_> = (0..SEMAPHORES).map(|_| Semaphore::new(0).unwrap()).collect();
                let wait = move || closed.wait(Timeout::INFINITE);
                let tasks: Vec<_> = (0..TASKS).map(|_| Task::builder().spawn(wait).unwrap()).collect();
                (sems, tasks)
            })
        })
        .collect();
    let made: Vec<_> = makers.into_iter().map(|maker| maker.join().unwrap()).collect();
    progress.at(1, 1);
    until_waiters(closed, (MAKERS * TASKS) as u32);
    gate.broadcast().unwrap();
    let tasks = made.into_iter().flat_map(|(_, tasks)| tasks);
    assert!(tasks.map(value).all(|waited| waited == Ok(())));
}

/// No reading is below one that was published before.
fn a_clock_for_all(progress: &mut Progress) {
    const READINGS: u64 = 1_000_000;
    let latest = Arc::new(AtomicU64::new(0));
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let latest = latest.clone();
            thread::spawn(move || {
                for _ in 0..READINGS {
                    // Acquire pairs with the Release below: the other reading came first.
                    let published = latest.load(Acquire);
                    let now = timer::read();
                    assert!(now >= published, "{now} after {published}");
                    latest.fetch_max(now, AcqRel);
                }
            })
        })
        .collect();
    for reader in readers {
        reader.join().unwrap();
        progress.at(READINGS, READINGS);
    }
}
