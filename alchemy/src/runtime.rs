//! The one space of a program: set up on first use, and the calling thread's place in it.

use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::OnceLock;

use parking_lot::Mutex;
use posix_backend::arena::{Array, Region};
use posix_backend::atomic::{AtomicU32, Zeroed};
use posix_backend::memory::page_size;
use posix_backend::process;
use posix_backend::section::Section;
use posix_backend::segment::Segment;
use posix_backend::signal;
use posix_backend::thread::{self, EXIT_ROUNDS, ExitKey};
use posix_backend::time::Deadline;
use posix_backend::{Errno, Scope, extent, futex, report};

use crate::error::{Error, Result};
use crate::exit;
use crate::fork;
use crate::handle::Handle;
use crate::head::Object;
use crate::lockstep;
use crate::mutex;
use crate::name::Name;
use crate::policy;
use crate::space::{IN_KERNEL, IN_QUEUES, Me, Space, Visitor};
use crate::task::slot::{Phase, ThreadSlot};
use crate::task::{body, control};
use crate::time::Timeout;

/// The space of this process. Without elements until it is set up, so that handles are stale and look-ups need no test of
/// their own.
pub(crate) static SPACE: Space = Space::new();

static READY: AtomicBool = AtomicBool::new(false);
pub(crate) static SEGMENT: OnceLock<Segment> = OnceLock::new();
static EXIT: OnceLock<ExitKey> = OnceLock::new();

thread_local! {
    /// The calling thread's slot, 0 if it has none (yet). A constant initialiser and no destructor: an access is a load.
    static ME: Cell<u32> = const { Cell::new(0) };
}

/// How many objects of each type there can be where nothing limits the memory, slot 0 not counted.
pub const MAX_OBJECTS: u32 = 65_536;

/// Sets up the library, which else happens on first use. Harmless when it is done already.
///
/// # Errors
///
/// [`Error::NoMemory`]: the system does not let the process reserve memory for a single object.
pub fn init() -> Result<()> {
    space().map(|_| ())
}

/// The space, set up.
#[inline]
pub(crate) fn space() -> Result<&'static Space> {
    // Acquire pairs with the Release in `set_up`.
    if READY.load(Acquire) { Ok(&SPACE) } else { set_up() }
}

/// Registers what is to be done around a fork. Best done when the library is loaded, before the program registers handlers of
/// its own; else it happens when the library is set up.
///
/// # Errors
///
/// [`Error::NoMemory`].
pub fn prepare_for_forks() -> Result<()> {
    // Without the lock, which a handler's thread may hold.
    if fork::is_installed() {
        return Ok(());
    }
    let _held = SET_UP.lock();
    fork::install()
}

/// Whether the space is set up.
pub(crate) fn is_ready() -> bool {
    // Acquire as in `space`.
    READY.load(Acquire)
}

/// Held by whoever sets something up, and across a fork, so that no child finds it half done.
pub(crate) static SET_UP: Mutex<()> = Mutex::new(());

#[cold]
fn set_up() -> Result<&'static Space> {
    let _held = SET_UP.lock();
    if READY.load(Relaxed) {
        return Ok(&SPACE);
    }
    if SEGMENT.get().is_none() {
        if Segment::exists_elsewhere() {
            report::line(
                "a second copy of this library in one process: link a Rust program that has C code of this API with the \
                 crate alchemy_ffi, not with libalchemy.so",
            );
            return Err(Error::NoMemory);
        }
        let (segment, objects) = reserve()?;
        let segment = SEGMENT.get_or_init(|| segment);
        extent::set_base(segment.at(0));
        lay_out(Some(segment), objects);
    }
    SPACE.header.grow(1)?;
    lockstep::set_up();
    let protocol = if policy::has_real_priorities() && !lockstep::is_on() { IN_KERNEL } else { IN_QUEUES };
    SPACE.fill_header(SPACE.threads.slots().capacity(), protocol);
    fork::install()?;
    control::install()?;
    exit::install()?;
    if EXIT.get().is_none() {
        let key = ExitKey::new(on_thread_exit)?;
        EXIT.get_or_init(|| key);
    }
    let initial = SPACE.take::<ThreadSlot>()?;
    if let Some(slot) = SPACE.threads.get(initial) {
        slot.fill(0, 0);
        slot.tid.store(process::pid(), Relaxed);
    }
    SPACE.header()?.initial.store(initial, Relaxed);
    READY.store(true, Release);
    Ok(&SPACE)
}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Error {
        match errno {
            Errno::INVAL => Error::Invalid,
            Errno::AGAIN => Error::ThreadLimit,
            Errno::PERM => Error::Permission,
            Errno::SRCH => Error::NotFound,
            _ => Error::NoMemory,
        }
    }
}

/// The regions of a segment, one behind the other.
struct Layout {
    /// Where the regions are put; nowhere if only the length is wanted.
    segment: Option<&'static Segment>,
    /// How many objects there may be of the most frequent types.
    objects: u32,
    end: usize,
}

impl Layout {
    fn next<T: Zeroed>(&mut self, array: &'static Array<T>, capacity: u32) {
        let region = Region { offset: self.end, capacity };
        self.end += Region::bytes::<T>(capacity);
        if let Some(segment) = self.segment {
            array.place(segment, region);
        }
    }
}

impl Visitor for Layout {
    fn visit<T: Object>(&mut self) -> core::result::Result<(), Errno> {
        /// A program has so many of anything before it lacks memory for what else they need.
        const FEW: u32 = 64;
        let share = if self.objects < MAX_OBJECTS { self.objects / T::SCARCITY } else { MAX_OBJECTS };
        let objects = share.max(FEW).min(self.objects);
        // Slot 0 is nobody's.
        self.next(T::arena(&SPACE).slots(), objects + 1);
        self.next(&SPACE.buckets[T::KIND as usize], objects + 1);
        Ok(())
    }
}

/// Puts the regions for `objects` of the most frequent types into a segment, and tells their length.
fn lay_out(segment: Option<&'static Segment>, objects: u32) -> usize {
    let mut layout = Layout { segment, objects, end: 0 };
    layout.next(&SPACE.header, 1);
    // It does not fail.
    let _ = Space::for_each_type(&mut layout);
    layout.end
}

/// Reserves a segment as large as is useful, or as the limits allow, and tells for how many objects of the most frequent types.
fn reserve() -> Result<(Segment, u32)> {
    let allowed = allowance();
    let mut objects = MAX_OBJECTS;
    loop {
        let len = lay_out(None, objects);
        if len <= allowed
            && let Ok(segment) = Segment::reserve(len)
        {
            return Ok((segment, objects));
        }
        objects -= objects.div_ceil(16);
        if objects == 0 {
            return Err(Error::NoMemory);
        }
    }
}

/// How much of the address space the segment may take. Unopened parts cost no memory, but they count against two limits.
fn allowance() -> usize {
    /// The program needs the rest for its own code, stacks and heap.
    const SHARE: u64 = 4;
    /// Below this no program can lock all its memory, so the limit need not be spared.
    const LOCKABLE: u64 = 1 << 20;
    let lockable = process::memlock_limit().filter(|&limit| limit >= LOCKABLE).map(|limit| limit / SHARE);
    let address_space = process::address_space_limit().map(|limit| limit / SHARE);
    let shared = [lockable, address_space].into_iter().flatten().min().unwrap_or(u64::MAX);
    let smallest = shared.max(8 * page_size() as u64).min(process::file_size_limit().unwrap_or(u64::MAX));
    usize::try_from(smallest).unwrap_or(usize::MAX)
}

/// The calling thread, if it may wait: a task, or the initial thread.
pub(crate) fn me() -> Result<Me<'static>> {
    let mut index = ME.get();
    if index == 0 {
        // `main` runs in the thread whose id is the process's.
        // (Nor does a handler's, although that is the only thread of a child that a handler forks.)
        if thread::tid() != process::pid() || HANDLER.get() {
            return Err(Error::Permission);
        }
        index = space()?.header()?.initial.load(Relaxed);
        ME.set(index);
    }
    let slot = SPACE.threads.get(index).filter(|_| index != 0).ok_or(Error::Permission)?;
    Ok(Me { index, slot })
}

/// The slot of the thread that runs `main`, 0 if that has ended.
pub(crate) fn initial() -> u32 {
    SPACE.header().map_or(0, |header| header.initial.load(Relaxed))
}

/// The calling thread, if it is a task.
pub(crate) fn task() -> Option<(Me<'static>, Handle)> {
    let (index, slot) = my_slot()?;
    Some((Me { index, slot }, slot.own_handle(index)?))
}

/// The calling thread as a task: [`Error::Permission`] if it is none.
pub(crate) fn task_only() -> Result<Me<'static>> {
    task().map(|(me, _)| me).ok_or(Error::Permission)
}

thread_local! {
    /// Whether the calling thread runs alarm handlers.
    static HANDLER: Cell<bool> = const { Cell::new(false) };
}

/// `Permission` if the caller is an alarm handler: for what must not be done there, such as making and deleting objects.
#[inline]
pub fn refuse_handlers() -> Result<()> {
    if HANDLER.get() { Err(Error::Permission) } else { Ok(()) }
}

/// The calling thread runs alarm handlers from now on.
pub(crate) fn become_handler() {
    HANDLER.set(true);
}

/// The calling thread's slot, 0 if it has none.
pub(crate) fn my_index() -> u32 {
    ME.get()
}

/// The calling thread's slot, if it has one.
pub(crate) fn my_slot() -> Option<(u32, &'static ThreadSlot)> {
    let index = ME.get();
    Some((index, SPACE.threads.get(index).filter(|_| index != 0)?))
}

/// Whether the calling thread is a task that is being deleted.
pub(crate) fn is_deleted() -> bool {
    my_slot().is_some_and(|(_, slot)| slot.is_deleted())
}

/// Makes `index` the calling thread's slot, to be given up when the thread ends. `late`: the thread may be running its
/// destructors already, and in the last round of them; so nothing can be put off.
pub(crate) fn enrol(index: u32, late: bool) -> Result<()> {
    let round = if late { EXIT_ROUNDS - 1 } else { 0 };
    EXIT.get().ok_or(Error::NoMemory)?.set(round_value(round, index))?;
    ME.set(index);
    thread::set_identity(index);
    Ok(())
}

/// Takes `enrol` back.
pub(crate) fn disown() {
    if let Some(key) = EXIT.get() {
        // Clearing a value that was set needs no memory: it cannot fail.
        let _ = key.set(core::ptr::null_mut());
    }
    ME.set(0);
    thread::set_identity(0);
}

const ROUND_SHIFT: u32 = usize::BITS - 3;

/// The exit key's value: the round of destructors in the upper bits, the slot in the lower ones.
fn round_value(round: usize, index: u32) -> *mut c_void {
    core::ptr::without_provenance_mut(round << ROUND_SHIFT | index as usize)
}

/// Runs when a thread with a slot ends, however it ends, after the program's own destructors of the same round: those still
/// run in a task. It puts itself off to the last round, for the sake of destructors that do the same, if it is known which
/// round this is.
extern "C" fn on_thread_exit(value: *mut c_void) {
    let (round, index) = (value.addr() >> ROUND_SHIFT, (value.addr() & ((1 << ROUND_SHIFT) - 1)) as u32);
    let last = round + 1 == EXIT_ROUNDS;
    if !last && EXIT.get().is_some_and(|key| key.set(round_value(round + 1, index)).is_ok()) {
        return;
    }
    leave_task();
}

/// The calling thread stops being a task, as the last thing that it does in one.
pub(crate) fn leave_task() {
    let (Some((index, slot)), Ok(header)) = (my_slot(), SPACE.header()) else { return };
    // No request is for this thread any more: it must neither stop here nor look at a slot that is another's.
    signal::block_requests(true);
    let section = Section::enter();
    body::set_slice(index, None);
    mutex::abandon_all(&SPACE);
    SPACE.end_task(index, slot);
    // The thread that ran `main` may end before the process; its slot is nobody's then. Relaxed: only it looks.
    let _ = header.initial.compare_exchange(index, 0, Relaxed, Relaxed);
    // From here on this thread is a plain one; the slot may soon be another's.
    ME.set(0);
    thread::set_identity(0);
    lockstep::reached(index, Phase::Ended);
    lockstep::leave(index);
    SPACE.finish_task(index, slot);
    // A destructor of the program's may make it a task once more, which must be within reach of requests.
    drop(section);
}

/// [`Space::bind`] for the calling thread, with the hint about private names.
pub(crate) fn bind<T: Object, R>(name: Name, timeout: Timeout, accept: impl Fn(Handle) -> Option<R>) -> Result<R> {
    let _section = Section::enter();
    let hint = || {
        static TOLD: AtomicBool = AtomicBool::new(false);
        if !TOLD.swap(true, Relaxed) {
            report::line(&format!(
                "still waiting for the {} \"{}\": names are private to a process, so nobody else can make it; sessions \
                 that processes share are not there yet",
                T::RADIX,
                name.to_text()
            ));
        }
    };
    space()?.bind::<T, R>(name, timeout, me, hint, accept)
}

/// Whether this library has locked the process's memory.
static LOCKED: AtomicBool = AtomicBool::new(false);

/// Locks all present and future memory, so that no page fault delays a task; C programs get this at start-up. Under a limit
/// ([`process::memlock_limit`]) only what is there now, since each further stack would count against it: a program's own
/// `pthread_create` would fail. A refusal is one line on standard error, or [`Error::Permission`] in strict mode
/// ([`crate::policy`]). `ALCHEMY_MLOCK=off` in the environment skips it; memory that the program has locked already stays as
/// it is.
pub fn lock_memory() -> Result<()> {
    static DONE: AtomicBool = AtomicBool::new(false);
    // Acquire pairs with the Release below.
    if DONE.load(Acquire) {
        return Ok(());
    }
    // The segment is sized by the limits as they are before anything is locked. A failure is not the end: the next call
    // tries again.
    space()?;
    let _held = SET_UP.lock();
    if !DONE.load(Relaxed) {
        lock_memory_now()?;
        DONE.store(true, Release);
    }
    Ok(())
}

fn lock_memory_now() -> Result<()> {
    let off = std::env::var_os("ALCHEMY_MLOCK").is_some_and(|value| value == "off");
    if off || process::has_locked_memory() {
        return Ok(());
    }
    match process::lock_memory(process::memlock_limit().is_none()) {
        Ok(()) => LOCKED.store(true, Relaxed),
        Err(_) if crate::policy::is_strict() => return Err(Error::Permission),
        Err(errno) => report::line(&format!(
            "memory is not locked ({errno:?}): page faults may delay tasks; raise the memlock limit (ulimit -l unlimited), \
             grant CAP_IPC_LOCK, or set ALCHEMY_MLOCK=off"
        )),
    }
    Ok(())
}

/// Gives up locked memory, the program's own lock included, if that may be why the system refuses a thread; tells whether
/// to try again.
pub(crate) fn unlock_memory_for_threads() -> bool {
    if process::memlock_limit().is_none() || !process::has_locked_memory() {
        return false;
    }
    LOCKED.store(false, Relaxed);
    process::unlock_memory();
    report::line("memory is no longer locked: a thread's stack did not fit into the memlock limit (ulimit -l)");
    true
}

pub use posix_backend::thread::{test_cancel, uncancelled, uncancelled_briefly};

pub use posix_backend::process::exit_at_once;

/// Writes a line on standard error, as the library's own messages look.
pub fn report(text: &str) {
    report::line(text);
}

/// Sleeps for a while, perhaps less: for what there is no event to wait for. No cancellation point.
pub(crate) fn nap(ns: u64) {
    // Nobody changes it or wakes its sleepers.
    static NEVER: AtomicU32 = AtomicU32::new(0);
    let _ = futex::wait(&NEVER, 0, Deadline::after(ns), Scope::Private);
}

/// In the child of a fork: memory locks are not inherited.
pub(crate) fn relock_memory() {
    if LOCKED.load(Relaxed) && process::lock_memory(process::memlock_limit().is_none()).is_err() {
        LOCKED.store(false, Relaxed);
    }
}
