//! The safe interface.

use core::marker::PhantomData;
use core::ops::Deref;

use posix_backend::section::Section;

use super::*;
use crate::runtime::{self, SPACE};
use crate::task::Task;
use crate::time::Timeout;

/// A mutex, by reference: what threads share, and what [`Mutex::bind`] finds. It may be stale; then every method returns
/// [`Error::Invalid`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MutexRef(Handle);

/// A mutex that this value owns: dropping it deletes the mutex, unless that is in use.
///
/// It guards no data, since it is recursive and C programs may share it. Only tasks may lock it.
///
/// ```
/// use alchemy::{Mutex, Task, Timeout};
///
/// let _main = Task::shadow("", 0)?;
/// let mutex = Mutex::new()?;
/// {
///     let _guard = mutex.lock(Timeout::INFINITE)?;
///     assert_eq!(mutex.inquire()?.owner(), alchemy::task::current());
/// }
/// assert_eq!(mutex.inquire()?.owner(), None);
/// # Ok::<(), alchemy::Error>(())
/// ```
#[derive(Debug)]
pub struct Mutex(MutexRef);

/// A mutex that is locked by this thread. Dropping it unlocks.
#[derive(Debug)]
#[must_use = "dropping the guard unlocks the mutex"]
pub struct MutexGuard {
    mutex: MutexRef,
    /// The owner is a thread.
    _not_send: PhantomData<*const ()>,
}

/// Why [`MutexRef::lock`] did not succeed, or not quite.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The mutex is locked, but its last owner ended without unlocking it: what it stands for may be half done. Told once.
    #[error("acquired from an owner that ended")]
    OwnerDied(MutexGuard),
    /// It is not locked.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// Unlocks what was locked.
impl From<LockError> for Error {
    fn from(error: LockError) -> Error {
        match error {
            LockError::OwnerDied(_) => Error::OwnerDead,
            LockError::Failed(error) => error,
        }
    }
}

impl Info {
    /// The owning task; `None` if the mutex is free, or an orphan.
    pub fn owner(&self) -> Option<Task> {
        self.owner.map(Task::from_handle)
    }
}

impl Mutex {
    /// A mutex with a generated name. Errors as for [`Mutex::create`].
    pub fn new() -> Result<Mutex> {
        Mutex::create("")
    }

    /// Makes a mutex, free (`rt_mutex_create`). Any thread may; it does not block.
    ///
    /// `name`: at most 31 bytes, longer ones are cut; empty for a generated one.
    ///
    /// # Errors
    ///
    /// [`Error::NoMemory`]: no memory, or too many mutexes. [`Error::Exists`]: a live mutex has the name.
    /// [`Error::Permission`]: called by an alarm's handler.
    #[doc(alias = "rt_mutex_create")]
    pub fn create(name: &str) -> Result<Mutex> {
        MutexRef::create(Name::new(name.as_bytes()), |_| ()).map(Mutex)
    }

    /// Finds the mutex with this name, waiting for its creation as long as `timeout` says (`rt_mutex_bind`).
    ///
    /// # Errors
    ///
    /// [`Error::WouldBlock`], [`Error::Permission`], [`Error::TimedOut`], [`Error::Interrupted`],
    /// [`Error::Cancelled`], as for [`crate::SemRef::wait`].
    #[doc(alias = "rt_mutex_bind")]
    pub fn bind(name: &str, timeout: impl Into<Timeout>) -> Result<MutexRef> {
        MutexRef::bind(Name::new(name.as_bytes()), timeout.into())
    }

    /// Gives up ownership: the mutex lives until somebody deletes it by reference, or until the process ends.
    pub fn leak(self) -> MutexRef {
        let reference = self.0;
        core::mem::forget(self);
        reference
    }
}

impl Deref for Mutex {
    type Target = MutexRef;

    fn deref(&self) -> &MutexRef {
        &self.0
    }
}

impl Drop for Mutex {
    fn drop(&mut self) {
        // It may be deleted already, by reference, or be in use: then it lives on.
        let _ = self.0.delete();
    }
}

impl MutexGuard {
    /// Whether the calling task owns the mutex: always, unless the program has released it by reference, deleted it by force,
    /// or lost it in [`crate::ConditionRef::wait`].
    pub fn is_locked(&self) -> bool {
        SPACE.object::<MutexSlot>(self.mutex.0).is_ok_and(|slot| slot.is_mine(self.mutex.0))
    }
}

impl Deref for MutexGuard {
    type Target = MutexRef;

    fn deref(&self) -> &MutexRef {
        &self.mutex
    }
}

impl Drop for MutexGuard {
    fn drop(&mut self) {
        // It fails if the program has released it by reference, or deleted it by force.
        let _ = self.mutex.release();
    }
}

impl MutexRef {
    /// As [`Mutex::create`], for the C interface: unowned, and `ready` gets the handle before anybody can bind.
    pub fn create(name: Name, ready: impl FnOnce(Handle)) -> Result<MutexRef> {
        runtime::refuse_handlers()?;
        let _section = Section::enter();
        create(runtime::space()?, name, ready).map(MutexRef)
    }

    /// As [`Mutex::bind`], for any bytes.
    pub fn bind(name: Name, timeout: Timeout) -> Result<MutexRef> {
        runtime::bind::<MutexSlot, _>(name, timeout, |handle| Some(MutexRef(handle)))
    }

    /// The mutex of a handle, which need not be valid.
    #[inline]
    pub const fn from_handle(handle: Handle) -> MutexRef {
        MutexRef(handle)
    }

    /// The handle.
    pub const fn handle(self) -> Handle {
        self.0
    }

    /// Locks the mutex, waiting for it as long as `timeout` says. A mutex that is free, or locked by the caller, is
    /// locked whatever the timeout says, in one atomic operation at most. It takes as many unlocks.
    ///
    /// # Errors
    ///
    /// [`LockError::OwnerDied`]: locked, see there. [`LockError::Failed`] with what [`MutexRef::acquire`] returns.
    pub fn lock(self, timeout: impl Into<Timeout>) -> core::result::Result<MutexGuard, LockError> {
        let guard = || MutexGuard { mutex: self, _not_send: PhantomData };
        match self.acquire(timeout) {
            Ok(()) => Ok(guard()),
            Err(Error::OwnerDead) => Err(LockError::OwnerDied(guard())),
            Err(error) => Err(error.into()),
        }
    }

    /// [`MutexRef::lock`] without waiting.
    pub fn try_lock(self) -> core::result::Result<MutexGuard, LockError> {
        self.lock(Timeout::NONE)
    }

    /// Locks the mutex without a guard (`rt_mutex_acquire`, `rt_mutex_acquire_until`, `rt_mutex_acquire_timed`).
    ///
    /// # Errors
    ///
    /// [`Error::OwnerDead`]: **locked**, but the last owner ended without unlocking.
    /// [`Error::Permission`]: the caller is no task. [`Error::Invalid`]: stale. [`Error::TooDeep`]: locked 2³²−1 times.
    /// [`Error::WouldBlock`]: locked by another task and [`Timeout::NONE`]. [`Error::Deadlock`]: its owner waits,
    /// perhaps through others, for a mutex of the caller. [`Error::TimedOut`]: the date passed.
    /// [`Error::Interrupted`]: unblocked. [`Error::Removed`]: deleted by force. [`Error::Cancelled`]: the task was asked
    /// to end.
    #[inline]
    #[doc(alias = "rt_mutex_acquire")]
    pub fn acquire(self, timeout: impl Into<Timeout>) -> Result<()> {
        if self.acquire_uncontended() { Ok(()) } else { self.acquire_contended(timeout) }
    }

    /// The first half of [`MutexRef::acquire`]: one attempt that succeeds if nothing is out of the ordinary. False
    /// decides nothing; [`MutexRef::acquire_contended`] does.
    #[inline]
    pub fn acquire_uncontended(self) -> bool {
        acquire_fast(&SPACE, self.0)
    }

    /// The second half of [`MutexRef::acquire`], by itself a complete acquisition.
    pub fn acquire_contended(self, timeout: impl Into<Timeout>) -> Result<()> {
        let _section = Section::enter();
        acquire_slow(&SPACE, self.0, timeout.into(), runtime::task_only)
    }

    /// Undoes one acquisition (`rt_mutex_release`); the last makes the first waiter the owner. It does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale. [`Error::Permission`]: the caller does not own it.
    #[inline]
    #[doc(alias = "rt_mutex_release")]
    pub fn release(self) -> Result<()> {
        if self.release_uncontended() { Ok(()) } else { self.release_contended() }
    }

    /// The first half of [`MutexRef::release`]: as [`MutexRef::acquire_uncontended`].
    #[inline]
    pub fn release_uncontended(self) -> bool {
        release_fast(&SPACE, self.0)
    }

    /// The second half of [`MutexRef::release`], by itself a complete release.
    pub fn release_contended(self) -> Result<()> {
        let _section = Section::enter();
        release_slow(&SPACE, self.0)
    }

    /// Deletes a mutex that nobody uses (`rt_mutex_delete`). Any thread may; it does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale. [`Error::Busy`]: a task owns it, waits for it, or waits with it for a condition variable;
    /// nothing is changed. [`Error::Permission`]: called by an alarm's handler.
    #[doc(alias = "rt_mutex_delete")]
    pub fn delete(self) -> Result<()> {
        runtime::refuse_handlers()?;
        let _section = Section::enter();
        delete(&SPACE, self.0, false)
    }

    /// Deletes a mutex whoever uses it, as the 2.x interface does: waiters return [`Error::Removed`], and the owner's
    /// release [`Error::Invalid`].
    pub fn delete_by_force(self) -> Result<()> {
        runtime::refuse_handlers()?;
        let _section = Section::enter();
        delete(&SPACE, self.0, true)
    }

    /// Looks at a mutex (`rt_mutex_inquire`). It changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale. [`Error::Permission`]: called by an alarm's handler.
    #[doc(alias = "rt_mutex_inquire")]
    pub fn inquire(self) -> Result<Info> {
        runtime::refuse_handlers()?;
        let _section = Section::enter();
        inquire(&SPACE, self.0)
    }
}
