//! Round robin where the kernel has no timer for a task's CPU clock (the limit of pending signals counts timers, too): an alarm
//! looks at the clock instead.
//!
//! It sends no signal, which would be refused for the same reason: it lowers the task for a moment and puts it back, which leaves
//! it behind its equals.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed as Plain};
use core::time::Duration;

use posix_backend::atomic::Ordering::*;
use posix_backend::slice::{self, Slice};

use super::slot::{LOCKED, RAISED, ThreadSlot};
use crate::alarm::Alarm;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::policy;
use crate::runtime::SPACE;

/// A task's quantum in force; dropping it ends it.
pub(crate) enum Quantum {
    /// The kernel's timer.
    Timer(Slice),
    /// An alarm of ours.
    Watch(#[expect(dead_code, reason = "it is for its end")] Alarm),
}

/// The server does not look more often than that.
const LEAST: u64 = 100_000;

/// Looks at a task's CPU clock once in `quantum` nanoseconds. A task that used nearly all of them has used up its quantum: the
/// handler itself takes some.
pub(crate) fn watch(task: Handle, quantum: u64) -> Result<Alarm> {
    let quantum = quantum.max(LEAST);
    let mut seen = None;
    let look = move || {
        let Ok(slot) = SPACE.object::<ThreadSlot>(task) else { return };
        // Under the lock the task cannot end, so the id is not another thread's.
        let _held = SPACE.lock(&slot.own_place(task.index()));
        if task.check(slot.head.state.load()).is_err() {
            return;
        }
        let tid = slot.tid.load(Relaxed);
        let Ok(used) = slice::cpu_time(tid) else { return };
        let spent = used.saturating_sub(*seen.get_or_insert(used));
        if spent >= quantum - quantum / 8 {
            seen = Some(used);
            if slot.mode.load(Relaxed) & (LOCKED | RAISED) == 0 {
                yield_for(tid, slot.priority.load(Relaxed));
            }
        }
    };
    let alarm = loop {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        // A name that no program would choose.
        let name = format!("\u{1}slice@{}", NUMBER.fetch_add(1, Plain));
        match Alarm::new(&name, look) {
            Err(Error::Exists) => {}
            made => break made?,
        }
    };
    let interval = Duration::from_nanos(quantum);
    alarm.start(Duration::ZERO, interval)?;
    Ok(alarm)
}

/// Puts a task behind its equals.
fn yield_for(tid: u32, priority: u32) {
    // Where the process may not do this, equals share the CPU anyway.
    if priority > 0 {
        let _ = policy::apply(tid, priority - 1);
        let _ = policy::apply(tid, priority);
    }
}
