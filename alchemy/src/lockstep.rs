//! Lockstep: a mode for tests in which base priorities decide which task runs, whatever the kernel does.
//!
//! With `ALCHEMY_LOCKSTEP=1` in the environment the tasks of a process share one pretended processor. One of them runs; the others
//! wait for it here, although the kernel would let them run. A task gives the processor up when it waits, stops or ends, and at the
//! end of each call of this library if a task of a higher priority has become ready: as on one CPU under `SCHED_FIFO`, but
//! without privileges, on any number of CPUs, and with preemption at calls of this library only.
//!
//! - Among equals the one that became ready first runs first; who is preempted stays in front of its equals.
//! - Whoever makes a task ready says so on its behalf, so that the order does not depend on when the kernel wakes it. What the
//!   clock makes ready takes its place when it wakes.
//! - The thread that runs `main` comes behind all tasks as long as it is none: its calls return when no task can run.
//! - Alarm handlers come before all tasks; they preempt one as tasks do.
//! - Plain threads are not held. A task that sleeps, or waits for another, by means that this library does not see keeps the
//!   processor meanwhile.
//!
//! All objects are marked slow (`SLOW` of the state word), so that each operation on them comes by here.

use core::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::OnceLock;

use parking_lot::{Condvar, Mutex, MutexGuard};
use posix_backend::section;
use posix_backend::wait::WAITING;

use crate::handle::Handle;
use crate::policy::{LOCK_LEVEL, MAX_PRIORITY};
use crate::runtime::{self, SPACE};
use crate::task::slot::{LOCKED, Phase, ThreadSlot};

static ON: AtomicBool = AtomicBool::new(false);

/// No slot.
const NOBODY: u32 = 0;
/// The thread that runs alarm handlers. It has no slot, and comes before all tasks.
const SERVER: u32 = u32::MAX;

/// Whether the mode is on.
#[inline]
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
}

/// Reads the environment, once; before the first object is made.
pub(crate) fn set_up() {
    static ASKED: OnceLock<bool> = OnceLock::new();
    if *ASKED.get_or_init(|| std::env::var_os("ALCHEMY_LOCKSTEP").is_some_and(|value| value == "1")) {
        ON.store(true, Relaxed);
        section::act_always();
    }
}

/// The pretended processor.
pub(crate) struct Processor {
    /// The slot of the task that runs; [`NOBODY`] if all wait.
    running: u32,
    /// The tasks that wait for it, and their places among equals: the least first.
    ready: Vec<(u32, i64)>,
    /// The least and the greatest place given so far.
    front: i64,
    back: i64,
    /// Who sleeps on its parking word: becomes ready when it is woken.
    asleep: Vec<u32>,
    /// Who is stopped: becomes ready when it is resumed.
    stopped: Vec<u32>,
    /// Who waits for another task to come to a phase: becomes ready when it does.
    watchers: Vec<(u32, u32, Phase)>,
}

static PROCESSOR: Mutex<Processor> = Mutex::new(Processor {
    running: NOBODY,
    ready: Vec::new(),
    front: 0,
    back: 0,
    asleep: Vec::new(),
    stopped: Vec::new(),
    watchers: Vec::new(),
});
/// Somebody else runs.
static SWITCHED: Condvar = Condvar::new();

fn slot(index: u32) -> Option<&'static ThreadSlot> {
    SPACE.threads.get(index).filter(|_| index != NOBODY)
}

/// The level of a task, what it inherits from those who wait for its mutexes included.
fn rank(index: u32) -> u32 {
    /// Longer chains of owners and waiters are followed no further.
    const CHAIN: u32 = 16;
    if index == SERVER {
        return MAX_PRIORITY + 1;
    }
    fn follow(index: u32, links: u32) -> u32 {
        let own = slot(index).map_or(0, |slot| match slot.mode.load(Relaxed) & LOCKED {
            0 => slot.priority.load(Relaxed),
            _ => LOCK_LEVEL,
        });
        let lent = waiters_of(index).map(|waiter| if links > 0 { follow(waiter, links - 1) } else { 0 });
        lent.max().unwrap_or(0).max(own)
    }
    follow(index, CHAIN)
}

/// The threads that wait for a mutex of this one's.
fn waiters_of(owner: u32) -> impl Iterator<Item = u32> {
    let arena = SPACE.arena_header::<ThreadSlot>().ok();
    let waits = move |thread: &ThreadSlot| {
        let mutex = SPACE.mutexes.get(thread.wants.load(Relaxed));
        thread.wants.load(Relaxed) != 0 && mutex.and_then(|mutex| mutex.owner(&SPACE)) == Some(owner)
    };
    let threads = arena.into_iter().flat_map(|arena| SPACE.threads.iter(arena));
    threads.filter(move |(_, thread)| waits(thread)).map(|(index, _)| index)
}

/// A stopped task does not run, ready or not; but one that is deleted does, to end.
fn may_run(index: u32) -> bool {
    slot(index).is_none_or(|slot| !slot.is_suspended() || slot.is_deleted())
}

impl Processor {
    fn best(&self) -> Option<usize> {
        let candidates = self.ready.iter().enumerate().filter(|(_, (index, _))| may_run(*index));
        candidates.min_by_key(|(_, (index, place))| (core::cmp::Reverse(rank(*index)), *place)).map(|(at, _)| at)
    }

    /// Lets the best one run if nobody does.
    fn dispatch(&mut self) {
        if self.running == NOBODY
            && let Some(at) = self.best()
        {
            self.running = self.ready.remove(at).0;
            SWITCHED.notify_all();
        }
    }

    fn is_idle(&self) -> bool {
        self.running == NOBODY && self.best().is_none()
    }

    /// Behind its equals, unless it is in the line already, or runs.
    fn line_up(&mut self, index: u32) {
        if self.running != index && self.ready.iter().all(|(other, _)| *other != index) {
            self.back += 1;
            self.ready.push((index, self.back));
        }
    }

    fn give_up(&mut self, index: u32) {
        self.ready.retain(|(other, _)| *other != index);
        if self.running == index {
            self.running = NOBODY;
        }
        self.dispatch();
        if self.is_idle() {
            SWITCHED.notify_all();
        }
    }

    fn wait_for(processor: &mut MutexGuard<'_, Processor>, index: u32) {
        processor.dispatch();
        while processor.running != index {
            SWITCHED.wait(processor);
        }
    }
}

/// Whether the calling thread, which has this slot, takes turns with others.
fn takes_turns(index: u32) -> bool {
    is_on() && slot(index).is_some_and(|slot| slot.own_handle(index).is_some())
}

/// The calling thread, in slot `index`, is about to run as a task.
pub(crate) fn arrive(index: u32) {
    if takes_turns(index) {
        let mut processor = PROCESSOR.lock();
        processor.line_up(index);
        Processor::wait_for(&mut processor, index);
    }
}

/// The calling thread, in slot `index`, is no task any more.
pub(crate) fn leave(index: u32) {
    if is_on() {
        PROCESSOR.lock().give_up(index);
    }
}

/// Sleeps on the parking word of slot `index`, without the processor. `doze` tells whether somebody has ended the wait: then it
/// is whose wake-up that says when this thread is ready.
#[inline]
pub(crate) fn sleep(index: u32, doze: impl FnOnce() -> bool) -> bool {
    if takes_turns(index) { sleep_now(index, doze) } else { doze() }
}

#[cold]
fn sleep_now(index: u32, doze: impl FnOnce() -> bool) -> bool {
    {
        let mut processor = PROCESSOR.lock();
        // Acquire as in `Space::sleep`. Told already: it need not sleep.
        if slot(index).is_none_or(|slot| slot.node.park.load(Acquire) != WAITING) {
            return true;
        }
        processor.asleep.push(index);
        processor.give_up(index);
    }
    let told = doze();
    let mut processor = PROCESSOR.lock();
    if !told {
        processor.asleep.retain(|other| *other != index);
        processor.line_up(index);
    }
    Processor::wait_for(&mut processor, index);
    told
}

/// The task in slot `index` is being woken.
#[inline]
pub(crate) fn ready(index: u32) {
    if takes_turns(index) {
        let mut processor = PROCESSOR.lock();
        // Relaxed: a wake-up that comes late, in its next wait, finds it so again.
        let told = slot(index).is_some_and(|slot| slot.node.park.load(Relaxed) != WAITING);
        if told && processor.asleep.contains(&index) {
            processor.asleep.retain(|other| *other != index);
            processor.line_up(index);
            processor.dispatch();
        }
    }
}

/// Is stopped, without the processor.
pub(crate) fn stop<R>(index: u32, stopped: impl FnOnce() -> R) -> R {
    if !takes_turns(index) {
        return stopped();
    }
    {
        let mut processor = PROCESSOR.lock();
        processor.stopped.push(index);
        processor.give_up(index);
    }
    let result = stopped();
    PROCESSOR.lock().stopped.retain(|other| *other != index);
    arrive(index);
    result
}

/// The task in slot `index` is not suspended any more.
pub(crate) fn resumed(index: u32) {
    if is_on() {
        let mut processor = PROCESSOR.lock();
        if processor.stopped.contains(&index) {
            processor.line_up(index);
        }
        processor.dispatch();
    }
}

/// A dormant task has been started.
pub(crate) fn started(task: Handle) {
    if is_on() {
        let mut processor = PROCESSOR.lock();
        // If the starter is late it may be further, or gone: it is dead before it leaves, which takes the lock.
        let is_to_come =
            |slot: &ThreadSlot| task.check(slot.head.state.load()).is_ok() && slot.phase() == Phase::Started;
        if slot(task.index()).is_some_and(is_to_come) {
            processor.line_up(task.index());
        }
        processor.dispatch();
    }
}

/// Does something that waits until task `target` has come to `phase`, without the processor.
pub(crate) fn watching<R>(index: u32, target: u32, phase: Phase, wait: impl FnOnce() -> R) -> R {
    if !takes_turns(index) {
        return wait();
    }
    {
        let mut processor = PROCESSOR.lock();
        if slot(target).is_some_and(|slot| slot.phase() < phase) {
            processor.watchers.push((index, target, phase));
            processor.give_up(index);
        }
    }
    let result = wait();
    PROCESSOR.lock().watchers.retain(|(watcher, ..)| *watcher != index);
    arrive(index);
    result
}

/// A task is coming to a phase: who waits for that is ready.
pub(crate) fn reached(target: u32, phase: Phase) {
    if is_on() {
        let mut processor = PROCESSOR.lock();
        let due: Vec<u32> = processor.watchers.iter().filter(|w| w.1 == target && w.2 <= phase).map(|w| w.0).collect();
        due.into_iter().for_each(|index| processor.line_up(index));
    }
}

/// An alarm is due at once: its handler comes before whoever runs.
pub(crate) fn server_due() {
    if is_on() {
        let mut processor = PROCESSOR.lock();
        processor.line_up(SERVER);
        processor.dispatch();
    }
}

/// The calling thread is about to run handlers.
pub(crate) fn server_arrives() {
    if is_on() {
        let mut processor = PROCESSOR.lock();
        processor.line_up(SERVER);
        Processor::wait_for(&mut processor, SERVER);
    }
}

/// It has none to run.
pub(crate) fn server_leaves() {
    leave(SERVER);
}

/// Where a task that has become ready preempts the caller: at the end of a call, and behind a wake-up.
#[inline]
pub(crate) fn preempt() {
    if is_on() {
        let_others_run(false);
    }
}

/// Lets equals run first, too.
pub(crate) fn yield_now() {
    if is_on() {
        let_others_run(true);
    }
}

#[cold]
fn let_others_run(equals: bool) {
    let Ok(me) = runtime::me() else { return };
    let index = me.index;
    let mut processor = PROCESSOR.lock();
    if processor.running != index {
        drop(processor);
        return settle(index);
    }
    let mine = rank(index);
    let is_higher = |other: u32| if equals { rank(other) >= mine } else { rank(other) > mine };
    let Some(at) = processor.best().filter(|&at| is_higher(processor.ready[at].0)) else { return };
    let place = if equals {
        processor.back += 1;
        processor.back
    } else {
        processor.front -= 1;
        processor.front
    };
    processor.running = processor.ready.remove(at).0;
    processor.ready.push((index, place));
    SWITCHED.notify_all();
    Processor::wait_for(&mut processor, index);
}

/// The initial thread goes on when no task can run.
fn settle(index: u32) {
    // Else it is a task that ends, or has not arrived yet.
    if takes_turns(index) || runtime::initial() != index {
        return;
    }
    let mut processor = PROCESSOR.lock();
    processor.dispatch();
    while !processor.is_idle() {
        SWITCHED.wait(&mut processor);
    }
}

/// Held across a fork, so that the child finds it whole.
pub(crate) fn hold() -> MutexGuard<'static, Processor> {
    PROCESSOR.lock()
}

/// In the child of a fork: only the thread in slot `index` is left.
pub(crate) fn in_child(index: u32) {
    let mut processor = PROCESSOR.lock();
    processor.ready.clear();
    processor.asleep.clear();
    processor.stopped.clear();
    processor.watchers.clear();
    processor.running = if takes_turns(index) { index } else { NOBODY };
}
