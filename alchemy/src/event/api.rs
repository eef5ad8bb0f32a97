//! The safe interface.

use core::ops::Deref;

use posix_backend::section::Section;

use super::*;
use crate::runtime::{self, SPACE};

/// An event flag group, by reference: what threads share, and what [`Event::bind`] finds. It may be stale; then every method
/// returns [`Error::Invalid`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventRef(Handle);

/// A group of 32 flags to wait for, which this value owns: dropping it deletes the group.
///
/// Flags are set by [`EventRef::signal`] and stay set until [`EventRef::clear`]; a wait consumes nothing.
///
/// ```
/// use alchemy::{Event, Match, Timeout};
///
/// let event = Event::new()?;
/// event.signal(0b0101)?;
/// assert_eq!(event.wait(0b0011, Match::Any, Timeout::INFINITE)?, 0b0001);
/// assert_eq!(event.wait(0b0011, Match::All, Timeout::NONE), Err(alchemy::Error::WouldBlock));
/// assert_eq!(event.clear(0b0001)?, 0b0101);
/// assert_eq!(event.flags()?, 0b0100);
/// # Ok::<(), alchemy::Error>(())
/// ```
#[derive(Debug)]
pub struct Event(EventRef);

impl Event {
    /// A group with a generated name and no flag set, whose waiters queue by priority. Errors as for [`Event::create`].
    pub fn new() -> Result<Event> {
        Event::create("", 0, Mode::PRIORITY)
    }

    /// Makes an event flag group (`rt_event_create`). Any thread may but an alarm handler; it does not block.
    ///
    /// * `name`: at most 31 bytes, longer ones are cut; empty for a generated one.
    /// * `flags`: those set from the beginning.
    ///
    /// # Errors
    ///
    /// [`Error::Permission`]: called from an alarm handler. [`Error::Invalid`]: unknown bits in `mode`.
    /// [`Error::NoMemory`]: no memory, or too many groups. [`Error::Exists`]: a live group has the name.
    #[doc(alias = "rt_event_create")]
    pub fn create(name: &str, flags: u32, mode: Mode) -> Result<Event> {
        EventRef::create(Name::new(name.as_bytes()), flags, mode, |_| ()).map(Event)
    }

    /// Finds the group with this name, waiting for its creation as long as `timeout` says (`rt_event_bind`).
    ///
    /// # Errors
    ///
    /// [`Error::WouldBlock`], [`Error::Permission`], [`Error::TimedOut`], [`Error::Interrupted`],
    /// [`Error::Cancelled`], as for [`EventRef::wait`].
    #[doc(alias = "rt_event_bind")]
    pub fn bind(name: &str, timeout: impl Into<Timeout>) -> Result<EventRef> {
        EventRef::bind(Name::new(name.as_bytes()), timeout.into())
    }

    /// Gives up ownership: the group lives until somebody deletes it by reference, or until the process ends.
    pub fn leak(self) -> EventRef {
        let reference = self.0;
        core::mem::forget(self);
        reference
    }
}

impl Deref for Event {
    type Target = EventRef;

    fn deref(&self) -> &EventRef {
        &self.0
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // It may be deleted already, by reference.
        let _ = self.0.delete();
    }
}

impl EventRef {
    /// As [`Event::create`], for the C interface: unowned, and `ready` gets the handle before anybody can bind.
    pub fn create(name: Name, flags: u32, mode: Mode, ready: impl FnOnce(Handle)) -> Result<EventRef> {
        runtime::refuse_handlers()?;
        let _section = Section::enter();
        create(runtime::space()?, name, flags, mode, ready).map(EventRef)
    }

    /// As [`Event::bind`], for any bytes.
    pub fn bind(name: Name, timeout: Timeout) -> Result<EventRef> {
        runtime::bind::<EventSlot, _>(name, timeout, |handle| Some(EventRef(handle)))
    }

    /// The group of a handle, which need not be valid.
    #[inline]
    pub const fn from_handle(handle: Handle) -> EventRef {
        EventRef(handle)
    }

    /// The handle.
    pub const fn handle(self) -> Handle {
        self.0
    }

    /// Waits until flags of `mask` are set, as long as `timeout` says, and tells which (`rt_event_wait`,
    /// `rt_event_wait_until`, `rt_event_wait_timed`). They stay set.
    ///
    /// Flags that are set already, and a mask of 0, are answered whatever the timeout says, in one load, to any thread; a mask
    /// of 0 with all flags that are set. Else a task, or the initial thread, queues up, and the answer is what the signal that
    /// released it found, even if the flags are cleared before it runs.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale. [`Error::WouldBlock`]: not set and [`Timeout::NONE`].
    /// [`Error::Permission`]: not set and the caller may not wait. [`Error::TimedOut`]: the date passed.
    /// [`Error::Interrupted`], [`Error::Removed`]: unblocked, or the group was deleted, during the wait.
    /// [`Error::Cancelled`]: the task was asked to end.
    #[inline]
    #[doc(alias = "rt_event_wait")]
    pub fn wait(self, mask: u32, how: Match, timeout: impl Into<Timeout>) -> Result<u32> {
        self.wait_uncontended(mask, how).map_or_else(|| self.wait_contended(mask, how, timeout), Ok)
    }

    /// The flags that are set, without waiting: a wait for a mask of 0.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale.
    #[inline]
    pub fn flags(self) -> Result<u32> {
        self.wait(0, Match::All, Timeout::NONE)
    }

    /// The first half of [`EventRef::wait`]: succeeds if the flags are set and nothing is out of the ordinary. `None` decides
    /// nothing; [`EventRef::wait_contended`] does.
    #[inline]
    pub fn wait_uncontended(self, mask: u32, how: Match) -> Option<u32> {
        wait_fast(&SPACE, self.0, Request { mask, how })
    }

    /// The second half of [`EventRef::wait`], by itself a complete wait.
    pub fn wait_contended(self, mask: u32, how: Match, timeout: impl Into<Timeout>) -> Result<u32> {
        let _section = Section::enter();
        wait_slow(&SPACE, self.0, Request { mask, how }, timeout.into(), runtime::me)
    }

    /// Sets flags, and releases all whose requests are met by what is set then, in queue order (`rt_event_signal`). Any
    /// thread may; it does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale.
    #[inline]
    #[doc(alias = "rt_event_signal")]
    pub fn signal(self, mask: u32) -> Result<()> {
        if self.signal_uncontended(mask) { Ok(()) } else { self.signal_contended(mask) }
    }

    /// The first half of [`EventRef::signal`], as [`EventRef::wait_uncontended`] is of the wait.
    #[inline]
    pub fn signal_uncontended(self, mask: u32) -> bool {
        signal_fast(&SPACE, self.0, mask)
    }

    /// The second half of [`EventRef::signal`], by itself a complete signal.
    pub fn signal_contended(self, mask: u32) -> Result<()> {
        let _section = Section::enter();
        signal_slow(&SPACE, self.0, mask)
    }

    /// Clears flags, and tells which were set before, of all (`rt_event_clear`). Any thread may; it does not block. It takes
    /// nothing back from waiters that a signal has released.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale.
    #[inline]
    #[doc(alias = "rt_event_clear")]
    pub fn clear(self, mask: u32) -> Result<u32> {
        self.clear_uncontended(mask).map_or_else(|| self.clear_contended(mask), Ok)
    }

    /// The first half of [`EventRef::clear`], as [`EventRef::wait_uncontended`] is of the wait.
    #[inline]
    pub fn clear_uncontended(self, mask: u32) -> Option<u32> {
        clear_fast(&SPACE, self.0, mask)
    }

    /// The second half of [`EventRef::clear`], by itself a complete clear.
    pub fn clear_contended(self, mask: u32) -> Result<u32> {
        let _section = Section::enter();
        clear_slow(&SPACE, self.0, mask)
    }

    /// A consistent look at the group (`rt_event_inquire`). Any thread may; it does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale.
    #[doc(alias = "rt_event_inquire")]
    pub fn inquire(self) -> Result<Info> {
        let _section = Section::enter();
        inquire(&SPACE, self.0)
    }

    /// Deletes the group (`rt_event_delete`). Waiters return [`Error::Removed`]; the name is free. Any thread may but an alarm
    /// handler; it does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Permission`]: called from an alarm handler. [`Error::Invalid`]: stale; also for all but one of several callers
    /// at once.
    #[doc(alias = "rt_event_delete")]
    pub fn delete(self) -> Result<()> {
        runtime::refuse_handlers()?;
        let _section = Section::enter();
        SPACE.delete::<EventSlot>(self.0)
    }
}
