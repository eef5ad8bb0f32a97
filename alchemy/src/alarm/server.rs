//! The thread that runs the handlers, and what it shares with those who start and stop alarms.
//!
//! # Safety
//!
//! Unsafe code here calls the entry routines that the makers of alarms vouched for. An action is called and got rid of as long
//! as its alarm owns it; whoever deletes the alarm while its action is being called leaves it to the server.

#![allow(unsafe_code)]

use core::ffi::c_void;
use core::sync::atomic::AtomicBool;

use posix_backend::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use posix_backend::pi_lock::{Entry as Found, Held, PiLock};
use posix_backend::table::{Table, chunks_for};
use posix_backend::time::{self, Deadline};
use posix_backend::{Scope, futex, slice, thread, zeroed_struct};

use super::queue::{self, Queue};
use super::{AlarmSlot, tell_waiters};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::lockstep;
use crate::policy;
use crate::runtime::{self, SET_UP, SPACE};
use crate::step::step;

/// An alarm's routine; it gets what the alarm was made with.
pub type Entry = unsafe extern "C-unwind" fn(*mut c_void);
/// Gets rid of what a routine would have got.
pub(super) type Discard = unsafe fn(*mut c_void);

zeroed_struct! {
    /// What belongs to slot `index` but to this process only; and, in `heap`, what belongs to position `index` of the heap.
    pub(super) struct Local {
        /// The handle of the alarm that the rest is for. Under the server's lock, as all of this.
        owner: AtomicU64,
        entry: AtomicPtr<()>,
        arg: AtomicPtr<c_void>,
        discard: AtomicPtr<()>,
        heap: AtomicU32,
        pad: AtomicU32,
    }
}

static TABLE: Table<Local, { chunks_for(runtime::MAX_OBJECTS) }> = Table::new();

/// What to do at an expiry besides letting waiters go.
#[derive(Clone, Copy)]
pub(super) struct Action {
    owner: Handle,
    entry: *mut (),
    arg: *mut c_void,
    discard: *mut (),
}

impl Action {
    /// Nothing.
    pub const NONE: Action = Action {
        owner: Handle::NONE,
        entry: core::ptr::null_mut(),
        arg: core::ptr::null_mut(),
        discard: core::ptr::null_mut(),
    };

    /// To call `entry` with `arg`; `discard` is what gets rid of `arg`, if that needs to be done.
    pub fn new(entry: Entry, arg: *mut c_void, discard: Option<Discard>) -> Action {
        let discard = discard.map_or(core::ptr::null_mut(), |discard| discard as *mut ());
        Action { owner: Handle::NONE, entry: entry as *mut (), arg, discard }
    }

    pub fn owner(&self) -> Handle {
        self.owner
    }

    /// Gets rid of what the routine would have got.
    ///
    /// # Safety
    ///
    /// At most once, and no call is in progress or to come.
    pub unsafe fn discard(self) {
        if !self.discard.is_null() {
            // SAFETY: `new` stored a `Discard` here.
            let discard = unsafe { core::mem::transmute::<*mut (), Discard>(self.discard) };
            // SAFETY: the maker of the alarm vouched for it; the caller says that it is time.
            unsafe { discard(self.arg) };
        }
    }
}

/// `Server::stage`: nothing is being called.
const IDLE: u32 = 0;
/// `Server::stage`: the server is going to call what `call` says; who stops that alarm takes this back.
const DECIDED: u32 = 1;
/// `Server::stage`: it is being called.
const RUNNING: u32 = 2;

pub(super) struct Server {
    /// Guards the heap, the slots' own fields, the table, and all of this but `stage` and `wakes`.
    lock: PiLock,
    pub queue: Queue,
    sequence: AtomicU64,
    /// Until when the server sleeps; 0 while it is awake.
    until: AtomicU64,
    /// The futex word that it sleeps on: another number after each wake-up.
    wakes: AtomicU32,
    /// Whose expiry it serves, or served last.
    call: AtomicU64,
    /// How many expiries that call stands for.
    counted: AtomicU64,
    /// The number of that call.
    calls: AtomicU64,
    /// [`IDLE`], [`DECIDED`], [`RUNNING`].
    stage: AtomicU32,
    /// The alarm being served was deleted: what it would have called is the server's to get rid of.
    orphaned: AtomicU32,
    /// The number of the present stretch of work.
    stretch: AtomicU32,
}

pub(super) static SERVER: Server = Server {
    lock: PiLock::new(),
    queue: Queue::new(),
    sequence: AtomicU64::new(0),
    until: AtomicU64::new(0),
    wakes: AtomicU32::new(0),
    call: AtomicU64::new(0),
    counted: AtomicU64::new(0),
    calls: AtomicU64::new(0),
    stage: AtomicU32::new(IDLE),
    orphaned: AtomicU32::new(0),
    stretch: AtomicU32::new(1),
};

impl Server {
    pub fn next_sequence(&self) -> u64 {
        let next = self.sequence.load(Relaxed) + 1;
        self.sequence.store(next, Relaxed);
        next
    }

    /// The number of the call that was decided last. Who has had the lock since that was decided sees it, or a later one.
    pub fn last_call(&self) -> u64 {
        self.calls.load(Relaxed)
    }

    /// For the date of the alarm that is first now: whether the server would sleep longer. Who is told so wakes it.
    pub fn summon(&self, date: u64) -> bool {
        // Awake or not.
        if lockstep::is_on() && date <= time::now() {
            lockstep::server_due();
        }
        let late = date < self.until.load(Relaxed);
        if late {
            // Who comes with a later date need not wake it again.
            self.until.store(date, Relaxed);
            // Under the lock, so that it does not fall asleep after all.
            self.wakes.fetch_add(1, Relaxed);
        }
        late
    }
}

pub(super) fn wake() {
    futex::wake(&SERVER.wakes, 1, Scope::Private);
}

/// Whether handlers run, or are going to, as far as can be told without the lock.
pub(crate) fn is_busy() -> bool {
    SERVER.queue.len() > 0 || SERVER.stage.load(Relaxed) != IDLE
}

/// Takes the lock of the heap and of all that is about arming. The caller must not hold another object lock.
pub(super) fn lock() -> Held<'static> {
    let (held, found) = SERVER.lock.lock(Scope::Private);
    if found == Found::Abandoned {
        rebuild();
    }
    held
}

/// Makes the heap anew from the alarms that are armed, after a holder of the lock died.
#[cold]
fn rebuild() {
    SERVER.queue.clear();
    let Ok(arena) = SPACE.arena_header::<AlarmSlot>() else { return };
    for (index, slot) in SPACE.alarms.iter(arena) {
        slot.position.store(0, Relaxed);
        if slot.armed.load(Relaxed) != 0 {
            queue::insert(&SERVER.queue, index, slot);
        }
    }
}

/// The cell of the heap at a position.
pub(super) fn heap_cell(position: u32) -> Option<&'static AtomicU32> {
    TABLE.get(position).map(|local| &local.heap)
}

/// What a slot's alarm is to do.
pub(super) fn action(index: u32) -> Action {
    TABLE.get(index).map_or(Action::NONE, |local| Action {
        owner: Handle::from_word(local.owner.load(Relaxed)),
        entry: local.entry.load(Relaxed),
        arg: local.arg.load(Relaxed),
        discard: local.discard.load(Relaxed),
    })
}

/// Says what a new alarm is to do, and makes room for one more in the heap.
pub(super) fn set_action(index: u32, owner: Handle, action: Action) -> Result<()> {
    TABLE.reach(index)?;
    let _held = lock();
    store_action(index, Action { owner, ..action });
    Ok(())
}

fn store_action(index: u32, action: Action) {
    let Some(local) = TABLE.get(index) else { return };
    // Nobody's as long as it is half written: the child of a fork may find it so. Release, each for the next one, pairs with the
    // fork, whose child sees a store only if it sees those before it.
    local.owner.store(Handle::NONE.to_word(), Relaxed);
    local.entry.store(action.entry, Release);
    local.arg.store(action.arg, Release);
    local.discard.store(action.discard, Release);
    local.owner.store(action.owner.to_word(), Release);
}

/// For the deleter, under the lock: what the alarm would have done from now on, to get rid of; nothing if that is the server's
/// business, which is doing it.
pub(super) fn take_action(handle: Handle) -> Action {
    let action = action(handle.index());
    store_action(handle.index(), Action::NONE);
    // Whoever sees RUNNING here does so before the server comes to look at `orphaned`, which it does under the lock.
    if SERVER.call.load(Relaxed) == handle.to_word() && SERVER.stage.load(Relaxed) == RUNNING {
        SERVER.orphaned.store(1, Relaxed);
        return Action::NONE;
    }
    action
}

/// How many expiries the call stands for that is about to be made for this alarm, and can be taken back. Under the lock.
pub(super) fn revocable(handle: Handle) -> u64 {
    let is_decided = SERVER.call.load(Relaxed) == handle.to_word() && SERVER.stage.load(Relaxed) == DECIDED;
    if is_decided { SERVER.counted.load(Relaxed) } else { 0 }
}

/// Disarms an alarm, and takes back the call that is about to be made for it. Under the lock.
pub(super) fn disarm(handle: Handle, slot: &AlarmSlot) {
    slot.armed.store(0, Relaxed);
    step("alarm: disarmed");
    queue::remove(&SERVER.queue, slot);
    // AcqRel pairs with the swap in `claim`: one of the two succeeds. Acquire, since the server has been here for this call.
    if SERVER.call.load(Relaxed) == handle.to_word()
        && SERVER.stage.compare_exchange(DECIDED, IDLE, AcqRel, Relaxed).is_ok()
    {
        let expiries = slot.expiries.load(Relaxed);
        slot.expiries.store(expiries.saturating_sub(SERVER.counted.load(Relaxed)), Relaxed);
    }
}

/// What the server is to do next.
enum Next {
    /// To serve an expiry.
    Serve(Action),
    /// To sleep until the date, on the word as it was.
    Sleep { word: u32, date: Deadline },
}

/// How much CPU time the server may use, pauses taken off, before an alarm has to wait that has had its turn.
const LONG_STRETCH: u64 = 10_000_000;
/// How many times its length a pause takes off.
const PAUSE_WORTH: u64 = 16;

/// Decides what to do at the moment `now`, the server having used `worked` nanoseconds of CPU time that no pause has taken off.
///
/// An alarm that is due, and has been called in this stretch already, would keep this thread, and so the CPU, for good if its
/// handler is slower than its interval, or if several together are. After a while it has to let others have the CPU.
fn next(now: u64, worked: u64) -> Next {
    let _held = lock();
    SERVER.until.store(0, Relaxed);
    let stretch = SERVER.stretch.load(Relaxed);
    loop {
        let Some((index, slot)) = queue::first(&SERVER.queue) else { return sleep_until(u64::MAX) };
        let key = slot.key.load(Relaxed);
        if key > now {
            return sleep_until(key);
        }
        if worked >= LONG_STRETCH && slot.stretch.load(Relaxed) == stretch {
            slot.key.store(now.saturating_add(worked / PAUSE_WORTH), Relaxed);
            queue::settle(&SERVER.queue, slot);
            continue;
        }
        slot.stretch.store(stretch, Relaxed);
        let (date, interval) = (slot.date.load(Relaxed), slot.interval.load(Relaxed));
        // All that have passed are one call.
        let passed = now.saturating_sub(date).checked_div(interval).map_or(1, |missed| missed.saturating_add(1));
        slot.expiries.store(slot.expiries.load(Relaxed).wrapping_add(passed), Relaxed);
        if interval == 0 {
            slot.armed.store(0, Relaxed);
            queue::remove(&SERVER.queue, slot);
        } else {
            let date = date.saturating_add(passed.saturating_mul(interval));
            slot.date.store(date, Relaxed);
            slot.key.store(date, Relaxed);
            queue::settle(&SERVER.queue, slot);
        }
        let action = action(index);
        SERVER.call.store(action.owner.to_word(), Relaxed);
        SERVER.counted.store(passed, Relaxed);
        SERVER.calls.store(SERVER.calls.load(Relaxed) + 1, Relaxed);
        SERVER.orphaned.store(0, Relaxed);
        SERVER.stage.store(DECIDED, Relaxed);
        return Next::Serve(action);
    }
}

/// Under the lock: the server is going to sleep.
fn sleep_until(key: u64) -> Next {
    SERVER.until.store(key, Relaxed);
    let date = if key == u64::MAX { Deadline::NEVER } else { Deadline::at(key) };
    Next::Sleep { word: SERVER.wakes.load(Relaxed), date }
}

/// Serves an expiry. No lock is held.
fn serve(action: Action) {
    // AcqRel pairs with the swap in `disarm`. From here on the call is in progress.
    if SERVER.stage.compare_exchange(DECIDED, RUNNING, AcqRel, Relaxed).is_ok() {
        // Not before: an expiry that was taken back is none for them either.
        tell_waiters(action.owner, SERVER.last_call());
        call(action);
    }
    let orphaned = {
        let _held = lock();
        SERVER.stage.store(IDLE, Relaxed);
        SERVER.orphaned.swap(0, Relaxed) != 0
    };
    if orphaned {
        // SAFETY: its deleter left it to this thread, which has just called it for the last time.
        unsafe { action.discard() };
    }
}

/// Calls the routine, if there is one.
fn call(action: Action) {
    if !action.entry.is_null() {
        // SAFETY: `Action::new` stored an `Entry` here.
        let entry = unsafe { core::mem::transmute::<*mut (), Entry>(action.entry) };
        // SAFETY: whoever made the alarm vouched for routine and argument; it is not got rid of while the stage is RUNNING.
        unsafe { entry(action.arg) };
    }
}

/// The CPU time that this thread has used: while it is kept from running others have the CPU. Where the system does not tell, all
/// time counts.
fn cpu_time() -> u64 {
    slice::cpu_time(thread::tid()).unwrap_or_else(|_| time::now())
}

extern "C" fn run() -> ! {
    thread::set_name(b"timer-internal");
    runtime::become_handler();
    let (mut now, mut worked) = (time::now(), 0_u64);
    loop {
        match next(now, worked) {
            Next::Serve(action) => {
                lockstep::server_arrives();
                let before = cpu_time();
                serve(action);
                worked = worked.saturating_add(cpu_time().saturating_sub(before));
                now = time::now();
            }
            Next::Sleep { word, date } => {
                lockstep::server_leaves();
                let begun = time::now();
                // Whatever it returns, time tells.
                let _ = futex::wait(&SERVER.wakes, word, date, Scope::Private);
                now = time::now();
                // Each pause counts, however short: whoever starts alarms all the time wakes this thread all the time.
                worked = worked.saturating_sub(now.saturating_sub(begun).saturating_mul(PAUSE_WORTH));
                if worked < LONG_STRETCH {
                    SERVER.stretch.fetch_add(1, Relaxed);
                }
            }
        }
    }
}

/// Whether this process has a server.
static MADE: AtomicBool = AtomicBool::new(false);

/// Makes the server, unless there is one.
///
/// Errors: [`Error::ThreadLimit`], [`Error::NoMemory`]; [`Error::Permission`] in strict mode.
#[inline]
pub(super) fn ensure() -> Result<()> {
    // Acquire pairs with the Release in `make`.
    if MADE.load(Acquire) { Ok(()) } else { make() }
}

#[cold]
fn make() -> Result<()> {
    {
        let _held = SET_UP.lock();
        if MADE.load(Relaxed) {
            return Ok(());
        }
        let spawn = |class| thread::spawn_helper(class, run);
        let mut made = policy::with_level(policy::MAX_PRIORITY, spawn);
        if made == Err(Error::ThreadLimit) && runtime::unlock_memory_for_threads() {
            made = policy::with_level(policy::MAX_PRIORITY, spawn);
        }
        made?;
        MADE.store(true, Release);
    }
    // It notices when the process has nothing left to do, and this server must not get up for that.
    crate::print::keep_watch();
    Ok(())
}

/// In the child of a fork, before its objects are looked at: there is no server, unless the child was made by a handler, and
/// nothing is armed.
pub(crate) fn in_child() {
    SERVER.lock.reset();
    SERVER.queue.clear();
    SERVER.until.store(0, Relaxed);
    if runtime::refuse_handlers().is_ok() {
        SERVER.stage.store(IDLE, Relaxed);
        MADE.store(false, Relaxed);
    }
}
