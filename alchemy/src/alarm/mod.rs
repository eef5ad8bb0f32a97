//! Alarms: `rt_alarm_*`.
//!
//! One thread of the process, the *server*, runs the handlers of all alarms, one at a time, at the highest priority. Armed alarms
//! are in a heap by date; so starting, stopping and expiring take a number of steps that grows with the logarithm of the number of
//! armed alarms, and no alarm needs a timer of the kernel. ARCHITECTURE.md has the protocol between the server and those who
//! start, stop and delete.
//!
//! Alarms belong to the process: what is to be called, the heap, and the server are outside the segment.

mod api;
mod queue;
mod server;

use posix_backend::arena::Arena;
use posix_backend::atomic::{AtomicU32, AtomicU64, Ordering::*};
use posix_backend::time;
use posix_backend::time::Deadline;
use posix_backend::{thread, zeroed_struct};

use crate::error::Result;
use crate::handle::{Handle, Kind};
use crate::head::{Head, Object};
use crate::name::Name;
use crate::policy;
use crate::runtime::{self, SPACE};
use crate::space::Space;
use crate::task::slot::{RAISED, WAS_RAISED};
use crate::wait;

pub use api::{Alarm, AlarmRef, Info};
pub use server::Entry;
use server::{Action, SERVER};
pub(crate) use server::{in_child, is_busy};

zeroed_struct! {
    /// An alarm in the segment. All but the head: under the server's lock.
    pub(crate) struct AlarmSlot {
        pub head: Head,
        /// The oldest expiry not served, in nanoseconds.
        date: AtomicU64,
        /// When the server is to look at it: `date`, or later for the sake of others. What the heap is ordered by.
        key: AtomicU64,
        /// Nanoseconds between expiries, 0 for a single one.
        interval: AtomicU64,
        /// Which arming of the process this was: the order of equal keys.
        sequence: AtomicU64,
        /// Expiries since the alarm was made.
        expiries: AtomicU64,
        /// Whether it is armed. This is the truth, of which the heap can be made again.
        armed: AtomicU32,
        /// Its place in the heap, 0 for none.
        position: AtomicU32,
        /// In which stretch of the server's work it was called last.
        stretch: AtomicU32,
        pad: AtomicU32,
    }
}

impl Object for AlarmSlot {
    const KIND: Kind = Kind::Alarm;
    const RADIX: &'static str = "alarm";
    /// Each needs room in the heap of dates, too.
    const SCARCITY: u32 = 2;

    fn head(&self) -> &Head {
        &self.head
    }

    fn arena(space: &Space) -> &Arena<Self> {
        &space.alarms
    }

    /// All alarms of a child are stopped, as timers are not inherited.
    fn inherit(&self, _space: &Space, index: u32, _me: u32) {
        self.armed.store(0, Relaxed);
        self.position.store(0, Relaxed);
        let word = self.head.state.load();
        if !word.is_live() {
            return;
        }
        self.head.state.clear_waiters();
        if server::action(index).owner() != Handle::new(Kind::Alarm, word.generation(), index) {
            // Deleted, and perhaps another one made, after this slot was copied: there is nothing to call.
            self.head.state.skip_generations();
        }
    }
}

impl AlarmSlot {
    /// Makes the fields those of a stopped alarm that never expired.
    fn fill(&self) {
        for word in [&self.date, &self.key, &self.interval, &self.sequence, &self.expiries] {
            word.store(0, Relaxed);
        }
        for word in [&self.armed, &self.position, &self.stretch] {
            word.store(0, Relaxed);
        }
    }
}

/// Makes a stopped alarm. `action` is what to do at each expiry; this takes it over if it succeeds.
fn create(name: Name, action: Action, ready: impl FnOnce(Handle)) -> Result<Handle> {
    let space = runtime::space()?;
    server::ensure()?;
    space.create::<AlarmSlot>(name, (false, 0), AlarmSlot::fill, |handle, index| {
        server::set_action(index, handle, action)?;
        ready(handle);
        Ok(())
    })
}

/// Arms an alarm anew, for `delay` nanoseconds from now.
fn start(handle: Handle, delay: u64, interval: u64) -> Result<()> {
    let slot = SPACE.object::<AlarmSlot>(handle)?;
    // Only in the child of a fork there may be none.
    server::ensure()?;
    let date = time::now().saturating_add(delay);
    let wake = {
        let _held = server::lock();
        handle.check(slot.head.state.load())?;
        server::disarm(handle, slot);
        slot.date.store(date, Relaxed);
        slot.key.store(date, Relaxed);
        slot.interval.store(interval, Relaxed);
        slot.sequence.store(SERVER.next_sequence(), Relaxed);
        step("alarm: dated");
        slot.armed.store(1, Relaxed);
        step("alarm: armed");
        queue::insert(&SERVER.queue, handle.index(), slot);
        SERVER.summon(date)
    };
    if wake {
        server::wake();
    }
    Ok(())
}

/// Disarms an alarm; nothing if it is not armed. No call starts after that.
fn stop(handle: Handle) -> Result<()> {
    let slot = SPACE.object::<AlarmSlot>(handle)?;
    let _held = server::lock();
    handle.check(slot.head.state.load())?;
    server::disarm(handle, slot);
    Ok(())
}

/// Ends an alarm as [`Space::delete`] does, with the server's part in between: the slot is not given back before the server has
/// forgotten it. What the alarm would have called is returned, unless it is being called: then the server gets rid of it.
fn delete(handle: Handle) -> Result<Action> {
    let slot = SPACE.object::<AlarmSlot>(handle)?;
    let place = slot.head.place(handle);
    {
        let _held = SPACE.lock(&place);
        slot.head.state.kill(handle)?;
        SPACE.decide_all(&place, wait::REMOVED);
    }
    let action = {
        let _held = server::lock();
        server::disarm(handle, slot);
        server::take_action(handle)
    };
    // First the name, so that a waiter that runs at once finds it free.
    SPACE.leave::<AlarmSlot>(handle.index(), &slot.head);
    SPACE.tell_decided(&place);
    SPACE.give::<AlarmSlot>(handle.index());
    Ok(action)
}

fn inquire(handle: Handle) -> Result<Info> {
    let slot = SPACE.object::<AlarmSlot>(handle)?;
    let now = time::now();
    let _held = server::lock();
    handle.check(slot.head.state.load())?;
    // What a stop would take back has not happened yet.
    let revocable = server::revocable(handle);
    let active = slot.armed.load(Relaxed) != 0 || revocable > 0;
    let left = slot.date.load(Relaxed).saturating_sub(now);
    Ok(Info {
        name: slot.head.name(),
        expiries: slot.expiries.load(Relaxed).saturating_sub(revocable),
        active,
        remaining: core::time::Duration::from_nanos(if active { left } else { 0 }),
    })
}

/// Waits for the next expiry (2.x).
fn wait_for_expiry(handle: Handle) -> Result<()> {
    let slot = SPACE.object::<AlarmSlot>(handle)?;
    handle.check(slot.head.state.load())?;
    let me = runtime::me()?;
    // Once: who lowers itself again stays there.
    if me.slot.mode.load(Relaxed) & WAS_RAISED == 0 {
        let _held = SPACE.lock(&me.slot.own_place(me.index));
        me.slot.mode.fetch_or(RAISED | WAS_RAISED, Relaxed);
        // A refusal is no reason not to wait.
        let _ = policy::apply(thread::tid(), policy::MAX_PRIORITY);
    }
    let place = slot.head.place(handle);
    {
        let _held = SPACE.lock(&place);
        handle.check(slot.head.state.load())?;
        // What has been decided by now is no expiry for this wait.
        me.slot.ask[0].store(SERVER.last_call(), Relaxed);
        SPACE.prepare(&me, &place, Deadline::NEVER)?;
        slot.head.state.set_waiters(true);
        place.site.enqueue(&SPACE, me.index, 0);
    }
    let outcome = SPACE.sleep(&me, &place, Deadline::NEVER);
    me.slot.stop_while_suspended(&SPACE);
    wait::result(outcome)
}

/// Lets all threads go that waited for the expiry of this alarm when call `number` was decided.
fn tell_waiters(handle: Handle, number: u64) {
    let Ok(slot) = SPACE.object::<AlarmSlot>(handle) else { return };
    // Who is about to wait waits for the next one.
    if !slot.head.state.load().has_waiters() {
        return;
    }
    let place = slot.head.place(handle);
    {
        let _held = SPACE.lock(&place);
        // Deleted: they have been told so.
        if handle.check(slot.head.state.load()).is_err() {
            return;
        }
        // In order of arrival, hence of what they saw.
        while let Some(waiter) = SPACE.threads.get(place.site.first()).filter(|_| !place.site.is_empty())
            && waiter.ask[0].load(Relaxed) < number
        {
            place.site.decide(&SPACE, place.site.first(), wait::GRANTED);
        }
        if place.site.is_empty() {
            slot.head.state.clear_waiters();
        }
    }
    SPACE.tell_decided(&place);
}

use crate::step::step;

#[cfg(test)]
mod tests;
