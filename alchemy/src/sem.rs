//! Counting semaphores: `rt_sem_*`.
//!
//! The value of the state word is the count; the variant bit marks pulse mode. A wait on a positive count and a post without
//! waiters are one compare-and-swap. A post with waiters hands the unit to the first of them: nobody barges.

use posix_backend::arena::Arena;
use posix_backend::atomic::{AtomicU32, Ordering::*};
use posix_backend::zeroed_struct;

use crate::error::{Error, Result};
use crate::handle::{Handle, Kind};
use crate::head::{Head, Object};
use crate::name::Name;
use crate::space::{Me, Space};
use crate::state::Word;
use crate::task::slot::ThreadSlot;
use crate::time::Timeout;
use crate::wait;

/// The largest count.
pub const MAX_COUNT: u32 = i32::MAX as u32;

bitflags::bitflags! {
    /// How a semaphore is made.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Mode: u32 {
        /// Waiters are served by priority, equals in order of arrival; without it, all in order of arrival (`S_PRIO`).
        const PRIORITY = 1;
        /// A post that finds nobody waiting is lost; the count stays 0 (`S_PULSE`).
        const PULSE = 2;
    }
}

zeroed_struct! {
    /// A semaphore in the segment.
    pub(crate) struct SemaphoreSlot {
        pub head: Head,
        mode: AtomicU32,
    }
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<SemaphoreSlot>() == 96);

impl Object for SemaphoreSlot {
    const KIND: Kind = Kind::Semaphore;
    const RADIX: &'static str = "sem";

    #[inline]
    fn head(&self) -> &Head {
        &self.head
    }

    #[inline]
    fn arena(space: &Space) -> &Arena<Self> {
        &space.semaphores
    }

    fn rank(&self, _index: u32, thread: &ThreadSlot) -> u32 {
        if self.mode.load(Relaxed) & Mode::PRIORITY.bits() != 0 { thread.priority.load(Relaxed) } else { 0 }
    }
}

/// What a look at a semaphore shows: one consistent snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// Units available; 0 while there are waiters.
    pub count: u32,
    /// Threads queued.
    pub waiters: u32,
    /// The name, given or generated.
    pub name: Name,
}

pub(crate) fn create(space: &Space, name: Name, count: u32, mode: Mode, ready: impl FnOnce(Handle)) -> Result<Handle> {
    let pulse = mode.contains(Mode::PULSE);
    if !(Mode::all().contains(mode) && count <= MAX_COUNT) || pulse && count > 0 {
        return Err(Error::Invalid);
    }
    let fill = |slot: &SemaphoreSlot| slot.mode.store(mode.bits(), Relaxed);
    space.create::<SemaphoreSlot>(name, (pulse, count), fill, |handle, _| {
        ready(handle);
        Ok(())
    })
}

/// The uncontended wait: one compare-and-swap on the word that the hint proposes. A failure decides nothing.
#[inline]
pub(crate) fn wait_fast(space: &Space, handle: Handle) -> bool {
    let Ok(slot) = space.object::<SemaphoreSlot>(handle) else { return false };
    let state = &slot.head.state;
    let word = state.hint();
    let next = word.decremented();
    // Acquire pairs with the Release of the post whose unit this takes.
    next.is_plain(handle, Kind::Semaphore) && state.swap(word, next, Acquire).is_ok()
}

/// The uncontended post, likewise.
#[inline]
pub(crate) fn post_fast(space: &Space, handle: Handle) -> bool {
    let Ok(slot) = space.object::<SemaphoreSlot>(handle) else { return false };
    let state = &slot.head.state;
    let word = state.hint();
    let next = word.incremented();
    // Release pairs with the Acquire of whoever takes the unit.
    next.is_plain(handle, Kind::Semaphore) && state.swap(word, next, Release).is_ok()
}

/// A post on a word without waiters: the next word, `None` for a pulse that is lost, `Invalid` for a full count.
fn posted(word: Word) -> Result<Option<Word>> {
    match word.value() {
        _ if word.variant() => Ok(None),
        MAX_COUNT => Err(Error::Invalid),
        _ => Ok(Some(word.incremented())),
    }
}

impl SemaphoreSlot {
    /// Takes a unit if there is one and nobody waits. Without the lock, except for a slow word.
    fn try_take(&self, handle: Handle) -> Result<bool> {
        let mut word = self.head.state.load();
        loop {
            handle.check(word)?;
            if word.has_waiters() || word.is_slow() || word.value() == 0 {
                return Ok(false);
            }
            // Acquire as in `wait_fast`.
            match self.head.state.swap(word, word.decremented(), Acquire) {
                Ok(()) => return Ok(true),
                Err(found) => word = found,
            }
        }
    }
}

/// The wait where `wait_fast` failed.
#[cold]
pub(crate) fn wait_slow<'a>(
    space: &'a Space,
    handle: Handle,
    timeout: Timeout,
    me: impl FnOnce() -> Result<Me<'a>>,
) -> Result<()> {
    let slot = space.object::<SemaphoreSlot>(handle)?;
    if slot.try_take(handle)? {
        return Ok(());
    }
    let place = slot.head.place(handle);
    if slot.head.state.load().is_slow() {
        let _held = space.lock(&place);
        if take_or_mark(slot, handle, false)? {
            return Ok(());
        }
    }
    let (me, deadline) = timeout.admit(me)?;
    let held = space.lock(&place);
    space.prepare(&me, &place, deadline)?;
    if take_or_mark(slot, handle, true).inspect_err(|_| space.retract(&me))? {
        space.retract(&me);
        return Ok(());
    }
    // The rank after `prepare`: whoever changes the priority later finds this thread waiting.
    place.site.enqueue(space, me.index, slot.rank(me.index, me.slot));
    drop(held);
    let outcome = space.sleep(&me, &place, deadline);
    // Here and not on the way out: whoever is deleted while suspended must not take the unit along.
    me.slot.stop_while_suspended(space);
    if outcome == wait::GRANTED && me.slot.is_deleted() {
        // It will not live to use the unit: pass it on. The semaphore may be gone, and the unit with it.
        let _ = post_slow(space, handle);
        return Err(Error::Cancelled);
    }
    wait::result(outcome)
}

/// Under the lock: takes a unit, or, if `mark`, sets `WAITERS` on the very word that has none.
fn take_or_mark(slot: &SemaphoreSlot, handle: Handle, mark: bool) -> Result<bool> {
    let state = &slot.head.state;
    let mut word = state.load();
    loop {
        handle.check(word)?;
        if word.has_waiters() {
            return Ok(false);
        }
        let take = word.value() > 0;
        if !take && !mark {
            return Ok(false);
        }
        let next = if take { word.decremented() } else { word.with_waiters() };
        // Acquire as in `wait_fast`.
        match state.swap(word, next, Acquire) {
            Ok(()) => return Ok(take),
            Err(found) => word = found,
        }
    }
}

/// The post where `post_fast` failed.
#[cold]
pub(crate) fn post_slow(space: &Space, handle: Handle) -> Result<()> {
    let slot = space.object::<SemaphoreSlot>(handle)?;
    let state = &slot.head.state;
    let mut word = state.load();
    loop {
        handle.check(word)?;
        if word.has_waiters() || word.is_slow() {
            break;
        }
        let Some(next) = posted(word)? else { return Ok(()) };
        // Release as in `post_fast`.
        match state.swap(word, next, Release) {
            Ok(()) => return Ok(()),
            Err(found) => word = found,
        }
    }
    let place = slot.head.place(handle);
    let held = space.lock(&place);
    word = state.load();
    loop {
        handle.check(word)?;
        if word.has_waiters() {
            // Hand-over: the count does not change, so that nobody else can take the unit.
            let wake = space.release_first(&place, wait::GRANTED);
            drop(held);
            if let Some(wake) = wake {
                wake.send(space.scope);
            }
            return Ok(());
        }
        // The waiter left meanwhile, or the word is slow.
        let Some(next) = posted(word)? else { return Ok(()) };
        match state.swap(word, next, Release) {
            Ok(()) => return Ok(()),
            Err(found) => word = found,
        }
    }
}

pub(crate) fn broadcast(space: &Space, handle: Handle) -> Result<()> {
    let slot = space.object::<SemaphoreSlot>(handle)?;
    let state = &slot.head.state;
    let place = slot.head.place(handle);
    // Without waiters: the count becomes 0. Release, as for every operation that ends a wait.
    let reset = |word: Word| -> Result<bool> {
        let mut word = word;
        while !word.has_waiters() {
            handle.check(word)?;
            match state.swap(word, word.with_value(0), Release) {
                Ok(()) => return Ok(true),
                Err(found) => word = found,
            }
        }
        handle.check(word)?;
        Ok(false)
    };
    let word = state.load();
    if !word.is_slow() && reset(word)? {
        return Ok(());
    }
    {
        let _held = space.lock(&place);
        if reset(state.load())? {
            return Ok(());
        }
        space.decide_all(&place, wait::GRANTED);
        state.clear_waiters();
    }
    space.tell_decided(&place);
    Ok(())
}

pub(crate) fn inquire(space: &Space, handle: Handle) -> Result<Info> {
    let slot = space.object::<SemaphoreSlot>(handle)?;
    let _held = space.lock(&slot.head.place(handle));
    let word = slot.head.state.load();
    handle.check(word)?;
    Ok(Info { count: word.value(), waiters: slot.head.site.waiting(), name: slot.head.name() })
}

#[cfg(not(loom))]
pub use api::{SemRef, Semaphore};

#[cfg(not(loom))]
mod api {
    use core::ops::Deref;

    use super::*;
    use posix_backend::section::Section;

    use crate::runtime::{self, SPACE};

    /// A counting semaphore, by reference: what threads share, and what [`Semaphore::bind`] finds. It may be stale; then
    /// every method returns [`Error::Invalid`].
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct SemRef(Handle);

    /// A counting semaphore that this value owns: dropping it deletes the semaphore.
    ///
    /// ```
    /// use alchemy::{Semaphore, Timeout};
    ///
    /// let sem = Semaphore::new(1)?;
    /// sem.wait(Timeout::INFINITE)?;
    /// assert_eq!(sem.try_wait(), Err(alchemy::Error::WouldBlock));
    /// sem.post()?;
    /// assert_eq!(sem.inquire()?.count, 1);
    /// # Ok::<(), alchemy::Error>(())
    /// ```
    #[derive(Debug)]
    pub struct Semaphore(SemRef);

    impl Semaphore {
        /// A semaphore with a generated name whose waiters are served by priority. Errors as for [`Semaphore::create`].
        pub fn new(count: u32) -> Result<Semaphore> {
            Semaphore::create("", count, Mode::PRIORITY)
        }

        /// Makes a semaphore (`rt_sem_create`). Any thread may; it does not block.
        ///
        /// * `name`: at most 31 bytes, longer ones are cut; empty for a generated one.
        /// * `count`: 0 to [`MAX_COUNT`]; 0 in pulse mode.
        ///
        /// # Errors
        ///
        /// [`Error::Invalid`]: `count` or `mode` out of range. [`Error::NoMemory`]: no memory, or too many semaphores.
        /// [`Error::Exists`]: a live semaphore has the name. [`Error::Permission`]: called by an alarm's handler.
        #[doc(alias = "rt_sem_create")]
        pub fn create(name: &str, count: u32, mode: Mode) -> Result<Semaphore> {
            SemRef::create(Name::new(name.as_bytes()), count, mode, |_| ()).map(Semaphore)
        }

        /// Finds the semaphore with this name, waiting for its creation as long as `timeout` says (`rt_sem_bind`).
        ///
        /// # Errors
        ///
        /// [`Error::WouldBlock`], [`Error::Permission`], [`Error::TimedOut`], [`Error::Interrupted`],
        /// [`Error::Cancelled`], as for [`SemRef::wait`].
        #[doc(alias = "rt_sem_bind")]
        pub fn bind(name: &str, timeout: impl Into<Timeout>) -> Result<SemRef> {
            SemRef::bind(Name::new(name.as_bytes()), timeout.into())
        }

        /// Gives up ownership: the semaphore lives until somebody deletes it by reference, or until the process ends.
        pub fn leak(self) -> SemRef {
            let reference = self.0;
            core::mem::forget(self);
            reference
        }
    }

    impl Deref for Semaphore {
        type Target = SemRef;

        fn deref(&self) -> &SemRef {
            &self.0
        }
    }

    impl Drop for Semaphore {
        fn drop(&mut self) {
            // It may be deleted already, by reference.
            let _ = self.0.delete();
        }
    }

    impl SemRef {
        /// As [`Semaphore::create`], for the C interface: unowned, and `ready` gets the handle before anybody can bind.
        pub fn create(name: Name, count: u32, mode: Mode, ready: impl FnOnce(Handle)) -> Result<SemRef> {
            runtime::refuse_handlers()?;
            let _section = Section::enter();
            create(runtime::space()?, name, count, mode, ready).map(SemRef)
        }

        /// As [`Semaphore::bind`], for any bytes.
        pub fn bind(name: Name, timeout: Timeout) -> Result<SemRef> {
            runtime::bind::<SemaphoreSlot, _>(name, timeout, |handle| Some(SemRef(handle)))
        }

        /// The semaphore of a handle, which need not be valid.
        #[inline]
        pub const fn from_handle(handle: Handle) -> SemRef {
            SemRef(handle)
        }

        /// The handle.
        pub const fn handle(self) -> Handle {
            self.0
        }

        /// Takes a unit, waiting for one as long as `timeout` says (`rt_sem_p`, `rt_sem_p_until`, `rt_sem_p_timed`).
        ///
        /// A unit that is there is taken whatever the timeout says, in one atomic operation, by any thread. Else a task, or
        /// the initial thread, queues up.
        ///
        /// # Errors
        ///
        /// [`Error::Invalid`]: stale. [`Error::WouldBlock`]: none there and [`Timeout::NONE`].
        /// [`Error::Permission`]: none there and the caller may not wait. [`Error::TimedOut`]: the date passed.
        /// [`Error::Interrupted`], [`Error::Removed`]: unblocked, or the semaphore was deleted, during the wait.
        /// [`Error::Cancelled`]: the task was asked to end.
        #[inline]
        #[doc(alias = "rt_sem_p")]
        pub fn wait(self, timeout: impl Into<Timeout>) -> Result<()> {
            if self.wait_uncontended() { Ok(()) } else { self.wait_contended(timeout) }
        }

        /// The first half of [`SemRef::wait`]: one attempt that succeeds if nothing is out of the ordinary. False decides
        /// nothing; [`SemRef::wait_contended`] does.
        #[inline]
        pub fn wait_uncontended(self) -> bool {
            wait_fast(&SPACE, self.0)
        }

        /// The second half of [`SemRef::wait`], by itself a complete wait.
        pub fn wait_contended(self, timeout: impl Into<Timeout>) -> Result<()> {
            let _section = Section::enter();
            wait_slow(&SPACE, self.0, timeout.into(), runtime::me)
        }

        /// Takes a unit if one is there; `WouldBlock` if not.
        pub fn try_wait(self) -> Result<()> {
            self.wait(Timeout::NONE)
        }

        /// Gives a unit: to the first waiter, or to the count (`rt_sem_v`). Any thread may; it does not block. In pulse
        /// mode a unit that nobody waits for is lost.
        ///
        /// # Errors
        ///
        /// [`Error::Invalid`]: stale, or the count is [`MAX_COUNT`] already.
        #[inline]
        #[doc(alias = "rt_sem_v")]
        pub fn post(self) -> Result<()> {
            if self.post_uncontended() { Ok(()) } else { self.post_contended() }
        }

        /// The first half of [`SemRef::post`]: one attempt that succeeds if nothing is out of the ordinary. False decides
        /// nothing; [`SemRef::post_contended`] does.
        #[inline]
        pub fn post_uncontended(self) -> bool {
            post_fast(&SPACE, self.0)
        }

        /// The second half of [`SemRef::post`], by itself a complete post.
        pub fn post_contended(self) -> Result<()> {
            let _section = Section::enter();
            post_slow(&SPACE, self.0)
        }

        /// Lets everybody go who waits at this moment, and sets the count to 0 (`rt_sem_broadcast`). Any thread may; it
        /// does not block.
        ///
        /// # Errors
        ///
        /// [`Error::Invalid`]: stale.
        #[doc(alias = "rt_sem_broadcast")]
        pub fn broadcast(self) -> Result<()> {
            let _section = Section::enter();
            broadcast(&SPACE, self.0)
        }

        /// A consistent look at the semaphore (`rt_sem_inquire`).
        ///
        /// # Errors
        ///
        /// [`Error::Invalid`]: stale.
        #[doc(alias = "rt_sem_inquire")]
        pub fn inquire(self) -> Result<Info> {
            let _section = Section::enter();
            inquire(&SPACE, self.0)
        }

        /// Deletes the semaphore (`rt_sem_delete`). Waiters return [`Error::Removed`]; the name is free.
        ///
        /// # Errors
        ///
        /// [`Error::Invalid`]: stale; also for all but one of several callers at once. [`Error::Permission`]: called by an
        /// alarm's handler.
        #[doc(alias = "rt_sem_delete")]
        pub fn delete(self) -> Result<()> {
            runtime::refuse_handlers()?;
            let _section = Section::enter();
            SPACE.delete::<SemaphoreSlot>(self.0)
        }
    }
}
