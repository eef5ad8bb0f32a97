//! Periodic tasks: release points on an absolute grid, and how many were missed.

use posix_backend::atomic::Ordering::*;
use posix_backend::section::Section;
use posix_backend::time::{self, Deadline};

use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::runtime::{self, SPACE};
use crate::task::slot::{OWNER, PERIOD_WAIT, ThreadSlot};
use crate::time::Date;
use crate::wait;

/// Sets release points at `first` and every `period` nanoseconds from then on; a period of 0 ends periodic timing. Without
/// a first date: one period from now, or, if the task is periodic already, at the end of its present period.
pub(crate) fn set(handle: Handle, first: Option<Date>, period: u64) -> Result<()> {
    let _section = Section::enter();
    let slot = SPACE.object::<ThreadSlot>(handle)?;
    let place = slot.own_place(handle.index());
    let held = SPACE.lock(&place);
    handle.check(slot.head.state.load())?;
    if period == 0 {
        slot.period.store(0, Relaxed);
        return Ok(());
    }
    let now = time::now();
    let release = match (first, slot.period.load(Relaxed)) {
        (Some(date), _) if date.as_nanos() < now => return Err(Error::TimedOut),
        (Some(date), _) => date.as_nanos(),
        (None, 0) => now.saturating_add(period),
        (None, old) => next_release(slot.release.load(Relaxed), old, now),
    };
    slot.release.store(release, Relaxed);
    slot.period.store(period, Relaxed);
    // If it waits for a release point, then from now on for one of the new ones.
    let waits = slot.mode.load(Relaxed) & PERIOD_WAIT != 0;
    // It, and not who may have sent it a message.
    let wake = if waits { SPACE.release(&place, handle.index(), wait::REARMED) } else { None };
    drop(held);
    if let Some(wake) = wake {
        wake.send(SPACE.scope);
    }
    Ok(())
}

/// The first release point after `now`, of those at `oldest` and every `period` from then on.
fn next_release(oldest: u64, period: u64, now: u64) -> u64 {
    if now < oldest { oldest } else { oldest + ((now - oldest) / period + 1) * period }
}

/// Waits for the next release point; returns how many more have passed.
pub(crate) fn wait() -> Result<u64> {
    let _section = Section::enter();
    let me = runtime::me()?;
    let place = me.slot.own_place(me.index);
    let mut first = true;
    loop {
        let deadline = {
            let _held = SPACE.lock(&place);
            me.slot.mode.fetch_and(!PERIOD_WAIT, Relaxed);
            let (period, release) = (me.slot.period.load(Relaxed), me.slot.release.load(Relaxed));
            if period == 0 && first {
                return Err(Error::WouldBlock);
            }
            let now = time::now();
            if period != 0 && now >= release {
                let missed = (now - release) / period;
                me.slot.release.store(release + (missed + 1) * period, Relaxed);
                return Ok(missed);
            }
            // Switched off during the wait: until it is switched on again.
            let deadline = if period == 0 { Deadline::NEVER } else { Deadline::at(release) };
            SPACE.prepare(&me, &place, deadline)?;
            me.slot.mode.fetch_or(PERIOD_WAIT, Relaxed);
            place.site.enqueue(&SPACE, me.index, OWNER);
            deadline
        };
        first = false;
        match SPACE.sleep(&me, &place, deadline) {
            wait::TIMED_OUT | wait::REARMED => {}
            outcome => {
                let _held = SPACE.lock(&place);
                me.slot.mode.fetch_and(!PERIOD_WAIT, Relaxed);
                let (period, release) = (me.slot.period.load(Relaxed), me.slot.release.load(Relaxed));
                if period != 0 {
                    // What was missed meanwhile is forgotten.
                    me.slot.release.store(next_release(release, period, time::now()), Relaxed);
                }
                return wait::result(outcome).map(|()| 0);
            }
        }
    }
}
