//! The end of the process: started tasks get as far as they would have on one processor.
//!
//! Programs start tasks of high priority and return from `main`. Where there is one processor, such a task has run until it blocked
//! before `main` could go on. Here it may not even have begun. So an exit handler waits until each started task of a priority above 0
//! has blocked or ended; then what they printed is written. `ALCHEMY_EXIT_GRACE_MS` in the environment limits the wait, 200 if not
//! set; 0 is none.
//!
//! *At rest.* A task rests if it is queued for something in this library, or if the kernel says that it sleeps. One look at several
//! tasks proves nothing: one that was just seen resting may have been woken by another, seen resting a moment later. So each look sums
//! up what would have changed if any of them had run (the number of its wait; its run time and slices), and two looks in a row must
//! agree: then all of them rested at the moment between the two. Where the kernel was asked, the looks are a millisecond apart.
//!
//! The handler may run in a signal handler that interrupted its thread anywhere, so it takes no object lock and asks for no memory.
//! Slots are read as they are; what is read from one that changes hands only leads to another look.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed as Plain};

use posix_backend::atomic::Ordering::*;
use posix_backend::section::Section;
use posix_backend::time::Deadline;
use posix_backend::wait::WAITING;
use posix_backend::{process, report, sched, thread};

use crate::error::Result;
use crate::print;
use crate::runtime::{self, SPACE};
use crate::task::slot::{Phase, ThreadSlot};

const GRACE: &str = "ALCHEMY_EXIT_GRACE_MS";
const DEFAULT_GRACE_MS: u64 = 200;
const MILLISECOND: u64 = 1_000_000;

static GRACE_MS: AtomicU64 = AtomicU64::new(DEFAULT_GRACE_MS);

/// The process that the handler is for: a child made behind the C library's back has the handler, and none of the threads.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Registers the handler, once; when the library is used first, so that it runs before what the program registered earlier.
pub(crate) fn install() -> Result<()> {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    // Relaxed: who comes second relies on nothing that the first one does.
    if !INSTALLED.swap(true, Plain) {
        note_process();
        read_grace();
        process::at_exit(at_exit).inspect_err(|_| INSTALLED.store(false, Plain))?;
    }
    Ok(())
}

/// The handler is for this process; called in the child of a fork, too.
pub(crate) fn note_process() {
    PROCESS.store(process::pid(), Plain);
}

fn read_grace() {
    let Ok(value) = std::env::var(GRACE) else { return };
    match value.parse() {
        Ok(ms) => GRACE_MS.store(ms, Plain),
        Err(_) => report::line(&format!("{GRACE}={value} is no number of milliseconds and ignored")),
    }
}

extern "C" fn at_exit() {
    if process::pid() != PROCESS.load(Plain) {
        return;
    }
    // A task that is being deleted must not end in here, or in what comes after: nobody would end the process.
    thread::disable_cancel();
    let _section = Section::enter();
    print::write_at_once();
    wait_for_rest();
    print::finish();
}

/// What a look at the tasks shows.
#[derive(PartialEq, Eq)]
enum Look {
    /// No task to wait for.
    Empty,
    Busy,
    /// All rest; the sum of what would change if one ran, and whether the kernel was asked.
    Rest {
        sum: u64,
        sampled: bool,
    },
}

fn wait_for_rest() {
    let ms = GRACE_MS.load(Plain);
    if ms == 0 || !runtime::is_ready() {
        return;
    }
    let deadline = Deadline::after(ms.saturating_mul(MILLISECOND));
    let mut before = look(deadline);
    while before != Look::Empty && !deadline.is_over() {
        if !matches!(before, Look::Rest { sampled: false, .. }) {
            runtime::nap(MILLISECOND);
        }
        let now = look(deadline);
        if now != Look::Busy && now == before {
            return;
        }
        before = now;
    }
}

/// Ends early, as if a task were busy, when the date is over: asking the kernel about very many tasks takes long.
fn look(deadline: Deadline) -> Look {
    let mut seen = Look::Empty;
    for (index, slot) in SPACE.threads.usable() {
        // Acquire, in `phase`: the priority is that of the task which is that far.
        let started = matches!(slot.phase(), Phase::Started | Phase::Entered);
        if !started || slot.priority.load(Relaxed) == 0 || index == runtime::my_index() {
            continue;
        }
        let Some((number, asked)) = rest(slot) else { return Look::Busy };
        if asked && deadline.is_over() {
            return Look::Busy;
        }
        let (sum, sampled) = match seen {
            Look::Rest { sum, sampled } => (sum, sampled),
            _ => (0, false),
        };
        let sum = sched::digest(sum, &index.to_ne_bytes());
        seen = Look::Rest { sum: sched::digest(sum, &number.to_ne_bytes()), sampled: sampled || asked };
    }
    seen
}

/// A number that is another one once the task has run again, and whether the kernel was asked for it. `None` if it does not rest.
fn rest(slot: &ThreadSlot) -> Option<(u64, bool)> {
    let node = &slot.node;
    // Acquire pairs with the Release in `Space::prepare`: `waiting_on` is that of this wait or of a later one.
    if node.park.load(Acquire) == WAITING {
        // Decided, or not queued yet: it is about to run, or running.
        let queued = node.is_queued();
        let wait = sched::digest(node.waiting_on.load(Relaxed), &node.arrival().to_ne_bytes());
        return queued.then_some((wait, false));
    }
    sched::sleeping(slot.tid.load(Relaxed)).map(|number| (number, true))
}
