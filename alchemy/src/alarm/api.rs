//! The safe interface.
//!
//! # Safety
//!
//! Unsafe code here passes closures through the server as pointers to boxes. The box of an alarm is made with it and dropped
//! once: by whoever deletes the alarm, or by the server if that is in the middle of a call.

#![allow(unsafe_code)]

use core::ffi::c_void;
use core::ops::Deref;
use core::panic::AssertUnwindSafe;
use core::time::Duration;

use posix_backend::report;
use posix_backend::section::Section;

use super::server::{Action, Entry};
use crate::error::Result;
use crate::handle::Handle;
use crate::name::Name;

/// An alarm, by reference: what threads share. It may be stale; then every method returns [`Error::Invalid`].
///
/// [`Error::Invalid`]: crate::Error::Invalid
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AlarmRef(Handle);

/// An alarm that this value owns: dropping it deletes the alarm.
///
/// All handlers run in one thread of the process, at the highest priority, one at a time, in the order of their dates. That
/// thread is no task: a handler that would have to wait gets [`Error::Permission`], and it must neither make nor delete objects
/// other than alarms. It may do everything that does not wait: post, signal, resume, unblock, start and stop alarms.
///
/// Where a handler takes longer than the alarm's interval, expiries are counted but their calls are merged into one. If
/// handlers keep their thread busy for longer than 10 ms without a pause, alarms that have had their turn are put off for a
/// sixteenth of that time, so that others get the CPU.
///
/// Alarms belong to their process; in the child of a fork all are stopped. An armed alarm keeps the process alive when all of
/// its other threads have ended.
///
/// ```
/// use std::time::Duration;
/// use alchemy::{Alarm, Semaphore, Timeout};
///
/// let ticks = Semaphore::new(0)?;
/// let tick = *ticks;
/// let alarm = Alarm::new("metronome", move || tick.post().unwrap())?;
/// alarm.start(Duration::from_millis(1), Duration::from_millis(2))?;
/// ticks.wait(Timeout::INFINITE)?;
/// ticks.wait(Timeout::INFINITE)?;
/// alarm.stop()?;
/// assert!(alarm.inquire()?.expiries >= 2);
/// # Ok::<(), alchemy::Error>(())
/// ```
///
/// [`Error::Permission`]: crate::Error::Permission
#[derive(Debug)]
pub struct Alarm(AlarmRef);

/// What a look at an alarm shows: one consistent snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// The name, given or generated.
    pub name: Name,
    /// Expiries since the alarm was made, those of merged calls included.
    pub expiries: u64,
    /// Whether it is armed. A single expiry ends that before its handler is called.
    pub active: bool,
    /// The time to the next expiry; zero if there is none, or if it is due.
    pub remaining: Duration,
}

/// A closure that an alarm calls.
struct Body<F> {
    handler: F,
    /// Whether a panic has been reported.
    panicked: bool,
}

unsafe extern "C-unwind" fn call<F: FnMut()>(body: *mut c_void) {
    // SAFETY: the server passes what `Alarm::new` leaked, in one thread, and nobody drops it meanwhile.
    let body = unsafe { &mut *body.cast::<Body<F>>() };
    if std::panic::catch_unwind(AssertUnwindSafe(&mut body.handler)).is_err() && !body.panicked {
        body.panicked = true;
        report::line("the handler of an alarm panicked: the alarm goes on, and this is not said again for it");
    }
}

unsafe fn discard<F>(body: *mut c_void) {
    // SAFETY: what `Alarm::new` leaked, and this is its only end.
    let body = unsafe { Box::from_raw(body.cast::<Body<F>>()) };
    // A panic of a destructor must not end the server.
    let _ = std::panic::catch_unwind(AssertUnwindSafe(|| drop(body)));
}

impl Alarm {
    /// Makes a stopped alarm that calls `handler` at each expiry (`rt_alarm_create`). Any thread may, handlers included; it does
    /// not block. The first one of a process makes the thread that runs handlers.
    ///
    /// `name`: at most 31 bytes, longer ones are cut; empty for a generated one. A panic of the handler is reported once; the
    /// alarm goes on.
    ///
    /// The closure is dropped when the alarm is deleted, by the deleter; or, if it is running then, by the thread that runs it,
    /// when it has returned.
    ///
    /// # Errors
    ///
    /// [`Error::NoMemory`]: no memory, or too many alarms. [`Error::Exists`]: a live alarm has the name. [`Error::ThreadLimit`]:
    /// the system refuses the thread. [`Error::Permission`]: refused by the system, in strict mode.
    ///
    /// [`Error::NoMemory`]: crate::Error::NoMemory
    /// [`Error::Exists`]: crate::Error::Exists
    /// [`Error::ThreadLimit`]: crate::Error::ThreadLimit
    /// [`Error::Permission`]: crate::Error::Permission
    #[doc(alias = "rt_alarm_create")]
    pub fn new<F: FnMut() + Send + 'static>(name: &str, handler: F) -> Result<Alarm> {
        let body = Box::into_raw(Box::new(Body { handler, panicked: false })).cast::<c_void>();
        let action = Action::new(call::<F>, body, Some(discard::<F>));
        let created = {
            let _section = Section::enter();
            super::create(Name::new(name.as_bytes()), action, |_| ())
        };
        // SAFETY: there is no alarm that it belongs to.
        created.map(|handle| Alarm(AlarmRef(handle))).inspect_err(|_| unsafe { action.discard() })
    }

    /// Makes a stopped alarm without a handler, for threads that wait for its expiries with [`AlarmRef::wait`]. Errors as for
    /// [`Alarm::new`].
    pub fn silent(name: &str) -> Result<Alarm> {
        AlarmRef::create_silent(Name::new(name.as_bytes()), |_| ()).map(Alarm)
    }

    /// Gives up ownership: the alarm lives until somebody deletes it by reference, or until the process ends.
    pub fn leak(self) -> AlarmRef {
        let reference = self.0;
        core::mem::forget(self);
        reference
    }
}

impl Deref for Alarm {
    type Target = AlarmRef;

    fn deref(&self) -> &AlarmRef {
        &self.0
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // It may be deleted already, by reference.
        let _ = self.0.delete();
    }
}

impl AlarmRef {
    /// As [`Alarm::new`], for the C interface: unowned, and `ready` gets the handle before the alarm can be used.
    ///
    /// # Errors
    ///
    /// As for [`Alarm::new`].
    ///
    /// # Safety
    ///
    /// `handler` must be safe to call with `arg`, on another thread, until the alarm is deleted and a call that was in progress
    /// then has returned. It must not unwind.
    pub unsafe fn create(name: Name, handler: Entry, arg: *mut c_void, ready: impl FnOnce(Handle)) -> Result<AlarmRef> {
        let _section = Section::enter();
        super::create(name, Action::new(handler, arg, None), ready).map(AlarmRef)
    }

    /// As [`Alarm::silent`], for the C interface.
    ///
    /// # Errors
    ///
    /// As for [`Alarm::new`].
    pub fn create_silent(name: Name, ready: impl FnOnce(Handle)) -> Result<AlarmRef> {
        let _section = Section::enter();
        super::create(name, Action::NONE, ready).map(AlarmRef)
    }

    /// The alarm of a handle, which need not be valid.
    pub const fn from_handle(handle: Handle) -> AlarmRef {
        AlarmRef(handle)
    }

    /// The handle.
    pub const fn handle(self) -> Handle {
        self.0
    }

    /// Arms the alarm: for `delay` from now, and every `interval` from then on; an interval of zero is a single expiry
    /// (`rt_alarm_start`). A delay of zero is over at once; delays that the clock cannot express never are. It replaces what was
    /// set before; an expiry not served is dropped. Any thread may; it does not block, and allocates nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale. In the child of a fork, which has no thread for handlers until it is needed, also those of
    /// [`Alarm::new`].
    ///
    /// [`Error::Invalid`]: crate::Error::Invalid
    #[doc(alias = "rt_alarm_start")]
    pub fn start(self, delay: Duration, interval: Duration) -> Result<()> {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let _section = Section::enter();
        super::start(self.0, nanoseconds(delay), nanoseconds(interval))
    }

    /// Disarms the alarm; nothing if it is not armed (`rt_alarm_stop`). No call of its handler starts after this has returned;
    /// one in progress goes on. Any thread may; it does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale.
    ///
    /// [`Error::Invalid`]: crate::Error::Invalid
    #[doc(alias = "rt_alarm_stop")]
    pub fn stop(self) -> Result<()> {
        let _section = Section::enter();
        super::stop(self.0)
    }

    /// A consistent look at the alarm (`rt_alarm_inquire`).
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale.
    ///
    /// [`Error::Invalid`]: crate::Error::Invalid
    #[doc(alias = "rt_alarm_inquire")]
    pub fn inquire(self) -> Result<Info> {
        let _section = Section::enter();
        super::inquire(self.0)
    }

    /// Deletes the alarm (`rt_alarm_delete`). No call of its handler starts after this has returned; one in progress goes on,
    /// and may be the caller. Threads that wait for it return [`Error::Removed`]; the name is free. It does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale; also for all but one of several callers at once.
    ///
    /// [`Error::Invalid`]: crate::Error::Invalid
    /// [`Error::Removed`]: crate::Error::Removed
    #[doc(alias = "rt_alarm_delete")]
    pub fn delete(self) -> Result<()> {
        let action = {
            let _section = Section::enter();
            super::delete(self.0)?
        };
        // SAFETY: the alarm is no more, and `delete` says that nobody calls it.
        unsafe { action.discard() };
        Ok(())
    }

    /// Waits for the next expiry, of which every waiter is told (2.x `rt_alarm_wait`). Expiries while nobody waits are not
    /// remembered. The first wait puts the calling thread at the highest priority, and leaves it there; its base priority does
    /// not change.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale. [`Error::Permission`]: neither a task nor the initial thread. [`Error::Interrupted`]:
    /// unblocked. [`Error::Removed`]: the alarm was deleted. [`Error::Cancelled`]: the task was asked to end.
    ///
    /// [`Error::Invalid`]: crate::Error::Invalid
    /// [`Error::Permission`]: crate::Error::Permission
    /// [`Error::Interrupted`]: crate::Error::Interrupted
    /// [`Error::Removed`]: crate::Error::Removed
    /// [`Error::Cancelled`]: crate::Error::Cancelled
    #[doc(alias = "rt_alarm_wait")]
    pub fn wait(self) -> Result<()> {
        let _section = Section::enter();
        super::wait_for_expiry(self.0)
    }
}
