//! The safe interface.

use core::ops::Deref;

use posix_backend::section::Section;

use super::*;
use crate::mutex::{MutexGuard, MutexRef};
use crate::runtime::{self, SPACE};

/// A condition variable, by reference: what threads share, and what [`Condition::bind`] finds. It may be stale; then every
/// method returns [`Error::Invalid`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConditionRef(Handle);

/// A condition variable that this value owns: dropping it deletes the variable, unless somebody waits for it.
///
/// ```
/// use alchemy::{Condition, Mutex, Task, Timeout};
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
///
/// static READY: AtomicBool = AtomicBool::new(false);
///
/// let _main = Task::shadow("", 0)?;
/// let (mutex, changed) = (Mutex::new()?, Condition::new()?);
/// let (mutex_ref, changed_ref) = (mutex.handle(), changed.handle());
/// let mut guard = mutex.lock(Timeout::INFINITE)?;
/// let task = Task::builder().spawn(move || -> alchemy::Result<()> {
///     let _guard = alchemy::MutexRef::from_handle(mutex_ref).lock(Timeout::INFINITE)?;
///     READY.store(true, Relaxed);
///     alchemy::ConditionRef::from_handle(changed_ref).signal()
/// })?;
/// while !READY.load(Relaxed) {
///     changed.wait(&mut guard, Timeout::INFINITE)?;
/// }
/// drop(guard);
/// task.join().unwrap()?;
/// # Ok::<(), alchemy::Error>(())
/// ```
#[derive(Debug)]
pub struct Condition(ConditionRef);

impl Condition {
    /// A condition variable with a generated name. Errors as for [`Condition::create`].
    pub fn new() -> Result<Condition> {
        Condition::create("")
    }

    /// Makes a condition variable (`rt_cond_create`). Any thread may but an alarm handler; it does not block.
    ///
    /// `name`: at most 31 bytes, longer ones are cut; empty for a generated one.
    ///
    /// # Errors
    ///
    /// [`Error::Permission`]: called from an alarm handler. [`Error::NoMemory`]: no memory, or too many condition variables.
    /// [`Error::Exists`]: a live condition variable has the name.
    #[doc(alias = "rt_cond_create")]
    pub fn create(name: &str) -> Result<Condition> {
        ConditionRef::create(Name::new(name.as_bytes()), |_| ()).map(Condition)
    }

    /// Finds the condition variable with this name, waiting for its creation as long as `timeout` says (`rt_cond_bind`).
    ///
    /// # Errors
    ///
    /// [`Error::WouldBlock`], [`Error::Permission`], [`Error::TimedOut`], [`Error::Interrupted`],
    /// [`Error::Cancelled`], as for [`crate::SemRef::wait`].
    #[doc(alias = "rt_cond_bind")]
    pub fn bind(name: &str, timeout: impl Into<Timeout>) -> Result<ConditionRef> {
        ConditionRef::bind(Name::new(name.as_bytes()), timeout.into())
    }

    /// Gives up ownership: the variable lives until somebody deletes it by reference, or until the process ends.
    pub fn leak(self) -> ConditionRef {
        let reference = self.0;
        core::mem::forget(self);
        reference
    }
}

impl Deref for Condition {
    type Target = ConditionRef;

    fn deref(&self) -> &ConditionRef {
        &self.0
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        // It may be deleted already, by reference, or be waited for: then it lives on.
        let _ = self.0.delete();
    }
}

impl ConditionRef {
    /// As [`Condition::create`], for the C interface: unowned, and `ready` gets the handle before anybody can bind.
    pub fn create(name: Name, ready: impl FnOnce(Handle)) -> Result<ConditionRef> {
        runtime::refuse_handlers()?;
        let _section = Section::enter();
        create(runtime::space()?, name, ready).map(ConditionRef)
    }

    /// As [`Condition::bind`], for any bytes.
    pub fn bind(name: Name, timeout: Timeout) -> Result<ConditionRef> {
        runtime::bind::<ConditionSlot, _>(name, timeout, |handle| Some(ConditionRef(handle)))
    }

    /// The condition variable of a handle, which need not be valid.
    #[inline]
    pub const fn from_handle(handle: Handle) -> ConditionRef {
        ConditionRef(handle)
    }

    /// The handle.
    pub const fn handle(self) -> Handle {
        self.0
    }

    /// Unlocks the mutex, however often the caller has locked it, waits for a signal as long as `timeout` says, and locks it
    /// again as often. Nobody can lock the mutex and signal in between unseen. Locking it again may take longer than `timeout`.
    ///
    /// A wait ends with `Ok` only for a signal or a broadcast, but what it was for may be over: look again.
    ///
    /// # Errors
    ///
    /// The mutex is locked as before:
    /// [`Error::WouldBlock`]: [`Timeout::NONE`], whatever else. [`Error::Invalid`]: stale, this or the mutex.
    /// [`Error::Permission`]: the caller does not own the mutex after all. [`Error::TimedOut`]: the date passed.
    /// [`Error::Interrupted`]: unblocked. [`Error::Removed`]: the condition variable was deleted by force.
    /// [`Error::OwnerDead`]: whoever had the mutex meanwhile ended without unlocking it.
    ///
    /// It is not, and the guard stands for nothing any more:
    /// [`Error::Cancelled`]: the task was asked to end during the wait. [`Error::Removed`]: the mutex was deleted by force.
    /// [`Error::Deadlock`]: whoever has the mutex waits, perhaps through others, for another mutex of the caller.
    /// [`MutexGuard::is_locked`] tells the difference.
    #[doc(alias = "rt_cond_wait")]
    pub fn wait(self, guard: &mut MutexGuard, timeout: impl Into<Timeout>) -> Result<()> {
        self.wait_with(**guard, timeout)
    }

    /// As [`ConditionRef::wait`], with a mutex that was locked without a guard (`rt_cond_wait`, `rt_cond_wait_until`,
    /// `rt_cond_wait_timed`).
    pub fn wait_with(self, mutex: MutexRef, timeout: impl Into<Timeout>) -> Result<()> {
        let _section = Section::enter();
        wait(&SPACE, self.0, mutex.handle(), timeout.into(), runtime::task_only)
    }

    /// Releases the first waiter, if there is one (`rt_cond_signal`). Any thread may, with the mutex or without; it does not
    /// block. Without waiters it is one load.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale.
    #[inline]
    #[doc(alias = "rt_cond_signal")]
    pub fn signal(self) -> Result<()> {
        if self.signal_uncontended() { Ok(()) } else { self.signal_contended() }
    }

    /// Releases all who wait at this moment (`rt_cond_broadcast`). As [`ConditionRef::signal`] otherwise.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale.
    #[inline]
    #[doc(alias = "rt_cond_broadcast")]
    pub fn broadcast(self) -> Result<()> {
        if self.signal_uncontended() { Ok(()) } else { self.broadcast_contended() }
    }

    /// The first half of [`ConditionRef::signal`] and of [`ConditionRef::broadcast`]: true if nobody waits. False decides
    /// nothing.
    #[inline]
    pub fn signal_uncontended(self) -> bool {
        signal_fast(&SPACE, self.0)
    }

    /// The second half of [`ConditionRef::signal`], by itself a complete signal.
    pub fn signal_contended(self) -> Result<()> {
        let _section = Section::enter();
        signal_slow(&SPACE, self.0)
    }

    /// The second half of [`ConditionRef::broadcast`], by itself a complete broadcast.
    pub fn broadcast_contended(self) -> Result<()> {
        let _section = Section::enter();
        broadcast_slow(&SPACE, self.0)
    }

    /// Looks at the condition variable (`rt_cond_inquire`). Any thread may; it does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale.
    #[doc(alias = "rt_cond_inquire")]
    pub fn inquire(self) -> Result<Info> {
        let _section = Section::enter();
        inquire(&SPACE, self.0)
    }

    /// Deletes a condition variable that nobody waits for (`rt_cond_delete`). Any thread may but an alarm handler; it does not
    /// block.
    ///
    /// # Errors
    ///
    /// [`Error::Permission`]: called from an alarm handler. [`Error::Invalid`]: stale. [`Error::Busy`]: somebody waits and has
    /// not been signalled; nothing is changed.
    #[doc(alias = "rt_cond_delete")]
    pub fn delete(self) -> Result<()> {
        runtime::refuse_handlers()?;
        let _section = Section::enter();
        delete(&SPACE, self.0, false)
    }

    /// Deletes a condition variable whoever waits, as the 2.x interface does: waiters return [`Error::Removed`] with their
    /// mutexes.
    ///
    /// # Errors
    ///
    /// [`Error::Permission`]: called from an alarm handler. [`Error::Invalid`]: stale.
    pub fn delete_by_force(self) -> Result<()> {
        runtime::refuse_handlers()?;
        let _section = Section::enter();
        delete(&SPACE, self.0, true)
    }
}
