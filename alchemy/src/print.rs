//! Printing without waiting for the output: `rt_printf` and its family, to streams and to the system's log.
//!
//! A thread formats into a ring of its own; a helper thread writes the rings out, merged in the order of the calls, every 100 ms.
//! In between no system call is made, no lock taken, no memory asked for. The first print of a thread claims a ring, that of the
//! process also makes the helper.
//!
//! Text reaches its stream by whoever drains first: the helper, a call of [`flush`], the end of the process. A drain writes
//! behind what the stream's own buffer holds, to the descriptor: what is printed here never lies in a buffer of the C library,
//! of which a fork would make a copy. The helper waits for no stream that somebody else is using (a stopped task, perhaps); it
//! comes again.
//!
//! While the process ends each print is written at once, since nobody may come to write it later: the program's own exit handlers
//! print, too.
//!
//! A handler that interrupts its thread in a print finds the ring in use and borrows another one. So does a thread in the very
//! last of its destructors.
//!
//! # Safety
//!
//! Unsafe code here turns a record's tag back into the stream that it was made of; the caller of [`print()`] vouched that it
//! stays open.

#![allow(unsafe_code)]

use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use posix_backend::ring::{Drained, Ring, Rings, Writing};
use posix_backend::sched::Class;
use posix_backend::section::Section;
use posix_backend::thread::{self, EXIT_ROUNDS, LazyExitKey};
use posix_backend::time::Deadline;
use posix_backend::{c, process, report, stream};

pub use posix_backend::Errno;
pub use posix_backend::stream::{Stream, VaList, format};

use crate::error::{Error, Result};
use crate::{alarm, exit, runtime};

/// The least size of a ring.
pub const MIN_SIZE: usize = 256;
const DEFAULT_SIZE: usize = 16 * 1024;
const DEFAULT_PERIOD_MS: u64 = 100;
const MILLISECOND: u64 = 1_000_000;
/// How long the end of the process waits for a stream that is in use, before it writes past it.
const PATIENCE: u64 = 200 * MILLISECOND;

/// The length of a ring's name, NUL included.
const NAME_LEN: usize = 32;

static RINGS: Rings = Rings::new();
static HAS_HELPER: AtomicBool = AtomicBool::new(false);
static ENDING: AtomicBool = AtomicBool::new(false);
static THREAD_END: LazyExitKey = LazyExitKey::new();

thread_local! {
    static RING: Cell<Option<&'static Ring>> = const { Cell::new(None) };
    /// What `init` asked for; 0 is the default.
    static SIZE: Cell<usize> = const { Cell::new(0) };
    /// Empty as long as the thread has had no ring.
    static NAME: Cell<[u8; NAME_LEN]> = const { Cell::new([0; NAME_LEN]) };
    /// The last of the thread's destructors that are ours has run.
    static GONE: Cell<bool> = const { Cell::new(false) };
    static DRAINING: Cell<bool> = const { Cell::new(false) };
}

/// Where text goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// To a stream of the C library.
    Stream(Stream),
    /// To the system's log, as an entry of this priority.
    Log(c::c_int),
}

impl Target {
    /// In a record's tag. Addresses of streams are even.
    fn to_bits(self) -> u64 {
        match self {
            Target::Stream(stream) => stream.to_bits(),
            Target::Log(priority) => u64::from(priority as u32) << 1 | 1,
        }
    }

    /// # Safety
    ///
    /// The bits are a target's. If that is a stream, it is still open.
    unsafe fn from_bits(bits: u64) -> Option<Target> {
        if bits & 1 != 0 {
            Some(Target::Log((bits >> 1) as c::c_int))
        } else {
            // SAFETY: the caller's contract.
            unsafe { Stream::from_bits(bits) }.map(Target::Stream)
        }
    }

    /// `None`, and nothing is done, if another thread is using the stream.
    fn try_write(self, text: [&[u8]; 2]) -> Option<core::result::Result<(), Errno>> {
        match self {
            Target::Stream(stream) => stream.try_write(text),
            Target::Log(priority) => {
                stream::log(priority, text);
                Some(Ok(()))
            }
        }
    }
}

/// Puts text into the calling thread's ring: `fill` writes it into the room that it gets and returns its whole length. Returns how
/// much found room, in bytes; a full ring cuts the text.
///
/// # Errors
///
/// `fill`'s. [`Errno::IO`]: there is no memory for a ring.
///
/// # Safety
///
/// A stream stays open until the text is written.
pub unsafe fn print(
    target: Target,
    fill: impl FnOnce(&mut [u8]) -> core::result::Result<usize, Errno>,
) -> core::result::Result<usize, Errno> {
    let _section = Section::enter();
    let printed = match RING.get().and_then(Ring::enter) {
        Some(own) => RINGS.put(own, target.to_bits(), fill),
        None => print_slow(target, fill),
    };
    if ENDING.load(Relaxed) {
        // A stream that is in use is left to the end itself.
        drain(use_stream);
    }
    printed
}

#[cold]
fn print_slow(
    target: Target,
    fill: impl FnOnce(&mut [u8]) -> core::result::Result<usize, Errno>,
) -> core::result::Result<usize, Errno> {
    let is_inside = RING.get().is_some();
    if !is_inside && !GONE.get() {
        own_ring(SIZE.get()).map_err(|_| Errno::IO)?;
        name_ring(&[]);
    }
    let own: Option<Writing<'_>> = RING.get().and_then(Ring::enter);
    if let Some(own) = own {
        return RINGS.put(own, target.to_bits(), fill);
    }
    let borrowed = RINGS.claim(default_size()).map_err(|_| Errno::IO)?;
    let printed = borrowed.enter().map_or(Err(Errno::IO), |writing| RINGS.put(writing, target.to_bits(), fill));
    borrowed.release();
    printed
}

/// Gives the calling thread a ring of this size (0: the default), or another one, and a name for it. Text in the old one is
/// written in its order.
///
/// # Errors
///
/// [`Error::Invalid`]: a size below [`MIN_SIZE`]. [`Error::NoMemory`]; nothing has changed.
pub fn init(size: usize, name: &[u8]) -> Result<()> {
    if (1..MIN_SIZE).contains(&size) {
        return Err(Error::Invalid);
    }
    let _section = Section::enter();
    let limit = if size == 0 { default_size() } else { size };
    match RING.get() {
        Some(ring) if ring.limit(limit) => {}
        _ => own_ring(size)?,
    }
    SIZE.set(size);
    NAME.set([0; NAME_LEN]);
    name_ring(name);
    Ok(())
}

/// Claims a ring for the calling thread, instead of the one that it may have.
fn own_ring(size: usize) -> Result<()> {
    set_up()?;
    let ring = RINGS.claim(if size == 0 { default_size() } else { size })?;
    let Some(old) = RING.replace(Some(ring)) else {
        // The first of the rounds of destructors.
        let set = THREAD_END.get().map(|key| key.set(core::ptr::without_provenance_mut(1)));
        if set != Some(Ok(())) {
            RING.set(None);
            ring.release();
            return Err(Error::NoMemory);
        }
        return Ok(());
    };
    old.release();
    Ok(())
}

/// The name, if there is none yet: eight digits that tell the thread, a blank, and what was given.
fn name_ring(given: &[u8]) {
    if NAME.get()[0] != 0 {
        return;
    }
    let mut name = [0; NAME_LEN];
    let digits = (0..8).map(|place| b"0123456789abcdef"[thread::this() as usize >> (28 - 4 * place) & 0xf]);
    let text = digits.chain([b' ']).chain(given.iter().copied()).take(NAME_LEN - 1);
    name.iter_mut().zip(text).for_each(|(to, byte)| *to = byte);
    NAME.set(name);
}

/// The name of the calling thread's ring, a string that is good until the thread ends or calls [`init`]. `None` if it has had none
/// so far.
pub fn ring_name() -> Option<*const c::c_char> {
    NAME.with(|name| (name.get()[0] != 0).then_some(name.as_ptr().cast_const().cast()))
}

/// Writes out all that was printed before the call, and tells whether that is done: else it has waited a little for a stream that
/// another thread is using, and wants to be called again.
///
/// May wait for the output, in a system call: with cancellation disabled.
pub fn flush() -> bool {
    let _section = Section::enter();
    let done = drain(use_stream) != Drained::Busy;
    if !done {
        runtime::nap(MILLISECOND);
    }
    done
}

/// Takes out what is there and hands it to `write`, unless the calling thread is doing so already: then it is a stream's own
/// function that prints, or a handler, and who began goes on.
fn drain(mut write: impl FnMut(Target, [&[u8]; 2]) -> bool) -> Drained {
    if DRAINING.replace(true) {
        return Drained::Nothing;
    }
    let drained = RINGS.drain(|tag, text| {
        // SAFETY: `print` made the tag; its caller promised to keep the stream open.
        unsafe { Target::from_bits(tag) }.is_none_or(|target| write(target, text))
    });
    DRAINING.set(false);
    drained
}

/// Writes, if nobody else is using the stream. What the system refuses is lost, as the C library loses it.
fn use_stream(target: Target, text: [&[u8]; 2]) -> bool {
    target.try_write(text).is_some()
}

/// Before the first ring.
fn set_up() -> Result<()> {
    static READY: AtomicBool = AtomicBool::new(false);
    // Acquire pairs with the Release below: the key is there.
    if !READY.load(Acquire) {
        runtime::prepare_for_forks()?;
        exit::install()?;
        THREAD_END.make(on_thread_end)?;
        READY.store(true, Release);
    }
    make_helper();
    Ok(())
}

/// Makes the helper, for what else it looks at: whether the process has anything left to do.
pub(crate) fn keep_watch() {
    make_helper();
}

fn make_helper() {
    // Relaxed: who comes second relies on nothing that the first one does.
    if !HAS_HELPER.swap(true, Relaxed) {
        // Here, not in the helper: reading the environment may ask for memory, and a stopped task may hold the heap's lock.
        period();
        let mut made = thread::spawn_helper(Class::Other, helper);
        if made == Err(Errno::AGAIN) && runtime::unlock_memory_for_threads() {
            made = thread::spawn_helper(Class::Other, helper);
        }
        if let Err(errno) = made {
            // The next thread that needs a ring tries again.
            HAS_HELPER.store(false, Relaxed);
            report::line(&format!(
                "no thread for the output of rt_printf ({errno:?}): it appears at rt_print_flush_buffers and at the end only"
            ));
        }
    }
}

/// Runs when a thread with a ring ends; puts itself off to the last round, so that the program's destructors print as ever.
extern "C" fn on_thread_end(round: *mut c_void) {
    let round = round.addr();
    let next = core::ptr::without_provenance_mut(round + 1);
    if round < EXIT_ROUNDS && THREAD_END.get().is_some_and(|key| key.set(next).is_ok()) {
        return;
    }
    GONE.set(true);
    if let Some(ring) = RING.take() {
        ring.release();
    }
}

/// What the helper thread does.
extern "C" fn helper() -> ! {
    thread::set_name(b"rt_print");
    let mut pause = period();
    loop {
        runtime::nap(pause);
        let mut is_broken = false;
        let drained = drain(|target, text| match target.try_write(text) {
            Some(written) => {
                is_broken |= written == Err(Errno::PIPE);
                true
            }
            None => false,
        });
        if is_broken {
            // This thread blocks the signal; the program gets it as if it had written itself.
            process::send_itself(c::SIGPIPE);
        }
        pause = if drained == Drained::Busy { MILLISECOND } else { period() };
        if drained == Drained::Nothing && process::is_deserted() && !alarm::is_busy() {
            // As the C library does after the last thread, which this one is not to outlive.
            std::process::exit(0);
        }
    }
}

/// Nanoseconds between two looks of the helper.
fn period() -> u64 {
    static PERIOD: AtomicU64 = AtomicU64::new(0);
    learnt(&PERIOD, || {
        let ms = from_environment("RT_PRINT_PERIOD").filter(|&ms| ms > 0).unwrap_or(DEFAULT_PERIOD_MS);
        ms.saturating_mul(MILLISECOND)
    })
}

fn default_size() -> usize {
    static SIZE: AtomicU64 = AtomicU64::new(0);
    let size = learnt(&SIZE, || {
        from_environment("RT_PRINT_BUFFER").filter(|&bytes| bytes >= MIN_SIZE as u64).unwrap_or(DEFAULT_SIZE as u64)
    });
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// A number that does not change once it is known, and is never 0. Takes no lock, which a handler's thread may hold.
fn learnt(number: &AtomicU64, learn: impl FnOnce() -> u64) -> u64 {
    match number.load(Relaxed) {
        0 => {
            let learnt = learn();
            number.store(learnt, Relaxed);
            learnt
        }
        known => known,
    }
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The process is about to end: what has been printed is written, and from now on each print at once.
pub(crate) fn write_at_once() {
    // Relaxed: a print that misses it is written by `finish`, or as ever.
    ENDING.store(true, Relaxed);
    drain(use_stream);
}

/// Last, when the process ends.
pub(crate) fn finish() {
    let patience = Deadline::after(PATIENCE);
    while drain(use_stream) == Drained::Busy {
        if patience.is_over() {
            // Its user is stopped for good, or the C library would not end the process either.
            drain(|target, text| {
                match target {
                    Target::Stream(stream) if !use_stream(target, text) => stream.write_past(text),
                    Target::Stream(_) => {}
                    Target::Log(_) => _ = use_stream(target, text),
                }
                true
            });
            return;
        }
        runtime::nap(MILLISECOND);
    }
}

/// In the child of a fork, in its only thread.
pub(crate) fn in_child() {
    RINGS.after_fork();
    HAS_HELPER.store(false, Relaxed);
    // The next print claims a ring and makes a helper.
    RING.set(None);
}
