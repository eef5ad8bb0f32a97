//! A look at a task.

use posix_backend::atomic::Ordering::*;
use posix_backend::{sched, time};

use crate::error::Result;
use crate::handle::Handle;
use crate::name::Name;
use crate::policy;
use crate::runtime::SPACE;
use crate::task::slot::{LOCKED, Phase, RAISED, ThreadSlot};
use crate::time::Date;
use crate::wait::is_waiting;

bitflags::bitflags! {
    /// What a task is doing; the bits of `stat.status` in C.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Status: u32 {
        /// Started, or shadowed.
        const STARTED = 0x1;
        /// In its body.
        const ACTIVE = 0x10;
        /// Suspended.
        const SUSPENDED = 0x20;
        /// Has release points.
        const PERIODIC = 0x80;
        /// Not started yet.
        const DORMANT = 0x10000;
        /// Waiting without limit.
        const WAIT = 0x20000;
        /// Waiting until a date.
        const TIMED_WAIT = 0x40000;
        /// Sleeping.
        const DELAYED = 0x80000;
    }
}

/// What a look at a task shows (`rt_task_inquire`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// The name, given or generated.
    pub name: Name,
    /// The base priority.
    pub priority: u32,
    /// What it is doing.
    pub status: Status,
    /// Nanoseconds left of a wait with a date, at least 1; 0 if there is none.
    pub timeout: u64,
    /// The CPU it ran on last.
    pub cpu: i32,
    /// The next release point of a periodic task.
    pub release: Option<Date>,
    /// Whether it holds the scheduler lock.
    pub locked: bool,
    /// Whether it runs at the highest priority, since it waits for alarms (2.x).
    pub raised: bool,
    /// The kernel's thread id.
    pub tid: u32,
}

pub use posix_backend::sched::Usage;

impl Info {
    /// The priority at which the task runs at present: the highest if it waits for alarms (2.x), that of the scheduler lock while
    /// it holds it, else its base priority.
    pub fn effective_priority(&self) -> u32 {
        match (self.raised, self.locked) {
            (true, _) => policy::MAX_PRIORITY,
            (false, true) => policy::LOCK_LEVEL,
            (false, false) => self.priority,
        }
    }

    /// What the task has used of the machine so far. Reads files of the system; zero where they cannot be read.
    pub fn usage(&self) -> Usage {
        sched::usage(self.tid)
    }
}

pub(crate) fn inquire(handle: Handle) -> Result<Info> {
    let slot = SPACE.object::<ThreadSlot>(handle)?;
    let mut info = {
        let _held = SPACE.lock(&slot.own_place(handle.index()));
        handle.check(slot.head.state.load())?;
        let (mut status, timeout) = activity(slot, handle.index());
        status.set(Status::SUSPENDED, slot.is_suspended());
        status.set(Status::PERIODIC, slot.period.load(Relaxed) != 0);
        Info {
            name: slot.head.name(),
            priority: slot.priority.load(Relaxed),
            status,
            timeout,
            cpu: 0,
            release: status.contains(Status::PERIODIC).then(|| Date::from_nanos(slot.release.load(Relaxed))),
            locked: slot.mode.load(Relaxed) & LOCKED != 0 && slot.phase() == Phase::Entered,
            raised: slot.mode.load(Relaxed) & RAISED != 0,
            tid: slot.tid.load(Relaxed),
        }
    };
    // Reads a file: not under the lock.
    info.cpu = sched::cpu_of(info.tid);
    Ok(info)
}

/// Status and remaining time. The wait belongs to the object waited for, whose lock is not taken: the fields are read until
/// they agree.
fn activity(slot: &ThreadSlot, index: u32) -> (Status, u64) {
    let node = &slot.node;
    let status = match slot.phase() {
        Phase::New | Phase::Dormant => return (Status::DORMANT, 0),
        Phase::Started => return (Status::STARTED | Status::DORMANT, 0),
        Phase::Entered | Phase::Ended => Status::STARTED | Status::ACTIVE,
    };
    loop {
        // Acquire pairs with the Release in `Space::prepare`: what the wait is for.
        if !is_waiting(node.park.load(Acquire)) {
            return (status, 0);
        }
        let on = node.waiting_on.load(Acquire);
        let until = node.until.load(Acquire);
        // Relaxed: the Acquire loads above keep these two behind them.
        if !is_waiting(node.park.load(Relaxed)) || node.waiting_on.load(Relaxed) != on {
            continue;
        }
        let left = if until == 0 { 0 } else { until.saturating_sub(time::now()).max(1) };
        let asleep = on == slot.own_place(index).id.to_word();
        let kind = match (asleep, until) {
            (true, _) => Status::DELAYED,
            (false, 0) => Status::WAIT,
            (false, _) => Status::TIMED_WAIT,
        };
        return (status | kind, left);
    }
}
