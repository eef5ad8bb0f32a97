//! Mutexes: `rt_mutex_*`. Recursive, with an owner that inherits its waiters' priority.
//!
//! The value of the state word is a PI word ([`posix_backend::pi_mutex`]): 0, or the owner's thread id with two bits of the
//! kernel's. The variant bit says that the last owner ended without releasing. An acquisition of a free mutex and a release
//! without waiters are one compare-and-swap each; the first takes no more from the handle than the word that it expects, so
//! that it proves the handle, too.
//!
//! Waiters sleep in the kernel's queue of the word, which inherits priorities; a thread that is to give up is told by a signal.
//! Where the process may not use real-time priorities the kernel would queue in order of arrival: there they sleep in the
//! object's own queue, by logical priority, and a release hands the word over. The segment's header says which.
//!
//! `held` and `depth` are the owner's own. A mutex that is held is in its owner's robust list, which is how a task that ends
//! finds what it holds.

mod acquire;
#[cfg(not(loom))]
mod api;
mod condition;

#[cfg(not(loom))]
use core::mem::offset_of;

use posix_backend::arena::Arena;
use posix_backend::atomic::{AtomicU32, AtomicU64, Ordering::*};
use posix_backend::pi_mutex::{self, OWNER_DIED, TID_MASK};
use posix_backend::robust::Links;
#[cfg(not(loom))]
use posix_backend::robust::WORD_TO_ENTRY;
use posix_backend::thread::{self, Current};
#[cfg(not(loom))]
use posix_backend::wait::WAITING;
use posix_backend::{Errno, report, zeroed_struct};

use crate::error::{Error, Result};
use crate::handle::{Handle, Kind};
use crate::head::{Head, Object, Place};
use crate::name::Name;
use crate::space::{IN_KERNEL, Space};
use crate::state::{State, Word};
use crate::task::slot::ThreadSlot;
use crate::wait::{self, GRANTED};

pub(crate) use acquire::acquire_slow;
#[cfg(not(loom))]
pub use api::{LockError, Mutex, MutexGuard, MutexRef};

zeroed_struct! {
    /// A mutex in the segment.
    pub(crate) struct MutexSlot {
        pub head: Head,
        /// The owner's claim: upper half as in the handle, lower half the owner's slot; 0 while nobody has made it.
        held: AtomicU64,
        links: Links,
        /// How often the owner has acquired it.
        depth: AtomicU32,
        /// Threads that may be in the kernel with this word, whatever its generation.
        lockers: AtomicU32,
        /// Of a free slot: [`Object::aside`].
        aside: AtomicU32,
        /// Threads that will come back to the mutex from a condition variable, whatever its generation. Under the lock.
        bound: AtomicU32,
    }
}

#[cfg(not(loom))]
const _: () = assert!(
    size_of::<MutexSlot>() == 128
        && offset_of!(MutexSlot, links) + size_of::<usize>()
            == offset_of!(MutexSlot, head) + offset_of!(Head, state) + WORD_TO_ENTRY
);

/// The owner in the word of a mutex that is no more: no thread's id. The kernel answers that there is no such thread.
const NOBODY: u32 = TID_MASK;

impl Object for MutexSlot {
    const KIND: Kind = Kind::Mutex;
    const RADIX: &'static str = "mutex";

    #[inline]
    fn head(&self) -> &Head {
        &self.head
    }

    #[inline]
    fn arena(space: &Space) -> &Arena<Self> {
        &space.mutexes
    }

    fn place(&self, space: &Space, handle: Handle) -> Place<'_> {
        let in_kernel = space.header().is_ok_and(|header| header.protocol.load(Relaxed) == IN_KERNEL);
        let state = if in_kernel { None } else { Some(&self.head.state) };
        Place { site: &self.head.site, state, id: handle, in_kernel }
    }

    fn rank(&self, _index: u32, thread: &ThreadSlot) -> u32 {
        thread.priority.load(Relaxed)
    }

    /// Whoever died may have been bound to the mutex, or been about to say so.
    fn repair(&self, space: &Space) {
        self.count_bound(space);
    }

    /// What the forking thread holds it goes on holding, under the id that it has now; what others held are orphans. Nobody is on
    /// the way into the kernel with this word, or with that of an earlier life of a free slot, which else would never be used again.
    #[cfg(not(loom))]
    fn inherit(&self, _space: &Space, index: u32, me: u32) {
        self.lockers.store(0, Relaxed);
        self.bound.store(0, Relaxed);
        let word = self.state().load();
        if !word.is_live() {
            return;
        }
        let handle = Handle::new(Kind::Mutex, word.generation(), index);
        let current = thread::current();
        let mine = me != 0 && owner(word) != 0 && self.held.load(Relaxed) as u32 == me;
        let value = if mine { current.tid() } else { 0 };
        self.state().publish(!mine && owner(word) != 0 || is_orphan(word), value);
        if mine {
            // Its list is the C library's, which has made it anew.
            let depth = self.depth.load(Relaxed);
            self.own(handle, current);
            self.depth.store(depth, Relaxed);
        } else {
            self.held.store(0, Relaxed);
        }
    }

    /// Whether nobody has anything to do with an earlier life of the slot: neither on its way into the kernel, nor as an owner
    /// under whom the mutex was deleted, nor with a condition variable from which it wants to come back.
    fn is_quiet(&self) -> bool {
        // Acquire pairs with the decrement in `wait_in_kernel`. Whoever found the old generation valid is counted: it counted itself
        // before its read-modify-write of the word, which came before the one that ended the generation.
        // Acquire on `bound` pairs with the unlocking in `unbind`.
        self.lockers.load(Acquire) == 0
            && self.bound.load(Acquire) == 0
            && matches!(owner(self.head.state.load_acquire()), 0 | NOBODY)
    }

    fn aside(&self) -> Option<&AtomicU32> {
        Some(&self.aside)
    }
}

/// What a look at a mutex shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// The name, given or generated.
    pub name: Name,
    /// How often the owner has acquired it; 0 if there is none.
    pub depth: u32,
    /// Threads queued.
    pub waiters: u32,
    /// The owning task.
    pub(crate) owner: Option<Handle>,
}

/// The thread id in a word.
fn owner(word: Word) -> u32 {
    word.value() & TID_MASK
}

/// Whether the word may be taken by a swap.
fn is_free(word: Word) -> bool {
    word.value() & !OWNER_DIED == 0 && !word.has_waiters()
}

/// Whether the last owner ended without releasing.
fn is_orphan(word: Word) -> bool {
    word.variant() || word.value() & OWNER_DIED != 0
}

/// What `held` is while this thread holds the mutex of this handle.
#[inline]
fn claim(handle: Handle, me: Current) -> u64 {
    handle.to_word() & !0xffff_ffff | u64::from(me.identity())
}

pub(crate) fn create(space: &Space, name: Name, ready: impl FnOnce(Handle)) -> Result<Handle> {
    let fill = |slot: &MutexSlot| slot.held.store(0, Relaxed);
    space.create::<MutexSlot>(name, (false, 0), fill, |handle, _| {
        ready(handle);
        Ok(())
    })
}

/// The uncontended acquisition. A failure decides nothing.
#[inline]
pub(crate) fn acquire_fast(space: &Space, handle: Handle) -> bool {
    let Ok(slot) = space.object::<MutexSlot>(handle) else { return false };
    let me = thread::identified();
    let claim = claim(handle, me);
    if slot.held.load(Relaxed) == claim {
        return slot.deepen().is_ok();
    }
    if me.identity() == 0 {
        return false;
    }
    let announcement = me.list().announce(&slot.links);
    let free = Word::plain(handle, Kind::Mutex, 0);
    // Acquire pairs with the Release of the release before.
    let taken = slot.head.state.exchange(free, free.with_value(me.tid()), Acquire).is_ok();
    if taken {
        slot.held.store(claim, Relaxed);
        slot.depth.store(1, Relaxed);
        announcement.link(&slot.links);
    }
    announcement.withdraw();
    taken
}

/// The uncontended release, likewise.
#[inline]
pub(crate) fn release_fast(space: &Space, handle: Handle) -> bool {
    let Ok(slot) = space.object::<MutexSlot>(handle) else { return false };
    let me = thread::identified();
    let claim = claim(handle, me);
    if slot.held.load(Relaxed) != claim {
        return false;
    }
    if slot.surface() {
        return true;
    }
    let announcement = me.list().announce(&slot.links);
    // Before the swap: after it the links and the claim may be the next owner's.
    announcement.unlink(&slot.links);
    slot.held.store(0, Relaxed);
    let free = Word::plain(handle, Kind::Mutex, 0);
    // Release pairs with the Acquire of the next owner.
    let given = slot.head.state.exchange(free.with_value(me.tid()), free, Release).is_ok();
    if !given {
        slot.held.store(claim, Relaxed);
        announcement.link(&slot.links);
    }
    announcement.withdraw();
    given
}

impl MutexSlot {
    fn state(&self) -> &State {
        &self.head.state
    }

    /// Once more for the owner.
    #[inline]
    fn deepen(&self) -> Result<()> {
        let depth = self.depth.load(Relaxed).checked_add(1).ok_or(Error::TooDeep)?;
        self.depth.store(depth, Relaxed);
        Ok(())
    }

    /// Once less for the owner; false if that would be the last.
    #[inline]
    fn surface(&self) -> bool {
        let depth = self.depth.load(Relaxed);
        if depth > 1 {
            self.depth.store(depth - 1, Relaxed);
        }
        depth > 1
    }

    /// The calling thread, whose id is in the word, becomes the owner in every other respect. Tells whether the last one
    /// ended as such.
    fn own(&self, handle: Handle, me: Current) -> bool {
        let announcement = me.list().announce(&self.links);
        self.held.store(claim(handle, me), Relaxed);
        self.depth.store(1, Relaxed);
        announcement.link(&self.links);
        announcement.withdraw();
        let orphan = is_orphan(self.state().load());
        if orphan {
            self.state().clear_variant_and(OWNER_DIED);
        }
        orphan
    }

    /// The calling thread is the owner in no respect but that its id is in the word.
    fn disown(&self, me: Current) {
        let announcement = me.list().announce(&self.links);
        announcement.unlink(&self.links);
        self.held.store(0, Relaxed);
        announcement.withdraw();
    }

    /// The calling thread's id has been put into the word: by itself or by whoever handed the mutex over.
    fn received(&self, space: &Space, place: &Place<'_>) -> Result<()> {
        let me = thread::current();
        if place.id.check(self.state().load()).is_err() {
            // Deleted meanwhile, by a program that may do that.
            give_up(space, self, place, false);
            return Err(Error::Removed);
        }
        taken(self.own(place.id, me))
    }

    /// Whether the word names this thread.
    pub fn is_owner(&self, tid: u32) -> bool {
        owner(self.state().load()) == tid
    }

    /// Whether the mutex of `handle` was deleted while this thread owned it, and the thread has not let go of it.
    fn is_left_over(&self, word: Word, handle: Handle, me: Current) -> bool {
        !word.is_live()
            && owner(word) == me.tid()
            && word.generation() == Word::plain(handle, Kind::Mutex, 0).killed().generation()
    }

    /// The thread that owns the mutex, if it has made its claim.
    fn owning_thread<'a>(&self, space: &'a Space, word: Word) -> Option<(u32, &'a ThreadSlot)> {
        let index = self.held.load(Relaxed) as u32;
        let thread = space.threads.get(index).filter(|_| index != 0)?;
        (thread.tid.load(Relaxed) == owner(word)).then_some((index, thread))
    }

    /// The slot of the owning thread, if it has made its claim.
    #[cfg(not(loom))]
    pub fn owner(&self, space: &Space) -> Option<u32> {
        self.owning_thread(space, self.state().load_acquire()).map(|(index, _)| index)
    }

    /// Takes the mutex if it is free. `None` if it is not.
    fn try_take(&self, handle: Handle, me: Current) -> Result<Option<Result<()>>> {
        let mut word = self.state().load();
        loop {
            handle.check(word)?;
            if !is_free(word) {
                return Ok(None);
            }
            // Acquire as in `acquire_fast`. The bits of an orphan stay for `own`.
            match self.state().exchange(word, word.with_value(word.value() | me.tid()), Acquire) {
                Ok(()) => return Ok(Some(taken(self.own(handle, me)))),
                Err(found) => word = found,
            }
        }
    }
}

/// The result of an acquisition.
fn taken(orphan: bool) -> Result<()> {
    if orphan { Err(Error::OwnerDead) } else { Ok(()) }
}

/// Lets go of a mutex that the caller has disowned: to the first waiter, if there is one. `orphan`: unreleased.
fn give_up(space: &Space, slot: &MutexSlot, place: &Place<'_>, orphan: bool) {
    if orphan {
        slot.state().set_variant();
    }
    if place.in_kernel { unlock_in_kernel(space, slot) } else { hand_over(space, slot, place) }
}

fn unlock_in_kernel(space: &Space, slot: &MutexSlot) {
    loop {
        let word = slot.state().load();
        let done = if word.value() == thread::tid() {
            // Release pairs with the Acquire of the next owner.
            slot.state().exchange(word, word.with_value(0), Release).is_ok()
        } else {
            match pi_mutex::unlock(slot.state().word(), space.scope) {
                Ok(()) => true,
                Err(Errno::AGAIN | Errno::INTR) => false,
                Err(errno) => report::fatal(&format!("a mutex is corrupt ({errno:?}): memory was overwritten")),
            }
        };
        if done {
            return;
        }
    }
}

fn hand_over(space: &Space, slot: &MutexSlot, place: &Place<'_>) {
    let held = space.lock(place);
    let mut word = slot.state().load();
    let heir = loop {
        let first = if word.has_waiters() { place.site.first() } else { 0 };
        let heir = space.threads.get(first).filter(|_| first != 0);
        let next = word.with_value(heir.map_or(0, |heir| heir.tid.load(Relaxed)));
        // Release as above.
        match slot.state().exchange(word, next, Release) {
            Ok(()) => break heir,
            Err(found) => word = found,
        }
    };
    let wake = heir.and_then(|_| space.release_first(place, GRANTED));
    drop(held);
    if let Some(wake) = wake {
        wake.send(space.scope);
    }
}

/// The release where `release_fast` failed, by itself a complete one.
#[cold]
pub(crate) fn release_slow(space: &Space, handle: Handle) -> Result<()> {
    let slot = space.object::<MutexSlot>(handle)?;
    let me = thread::current();
    // The claim first. Acquire pairs with the Release in `delete`: who misses the claim sees the word that is why.
    let claimed = slot.held.load(Acquire) == claim(handle, me);
    let word = slot.state().load();
    let alive = handle.check(word);
    if !claimed && !slot.is_left_over(word, handle, me) {
        return alive.and(Err(Error::Permission));
    }
    if alive.is_ok() && slot.surface() {
        return Ok(());
    }
    slot.disown(me);
    give_up(space, slot, &slot.place(space, handle), false);
    alive
}

/// The calling thread, which has the slot of `me`, ends: what it holds becomes the next owner's, who is told.
#[cfg(not(loom))]
pub(crate) fn abandon_all(space: &Space) {
    let me = thread::current();
    let index_of = |address| space.mutexes.slots().index_of(address);
    // The thread may have been ended between two steps of an operation: then this one may be held, linked or not.
    let announced = index_of(me.list().announced());
    while let Some(index) = me.list().find(|address| index_of(address).is_some()).and_then(index_of) {
        if let Some(slot) = space.mutexes.get(index) {
            slot.disown(me);
            abandon(space, index, slot);
        }
    }
    if let Some((index, slot)) = announced.and_then(|index| Some((index, space.mutexes.get(index)?))) {
        abandon(space, index, slot);
    }
}

/// Lets go of a mutex that is in no list, if the calling thread's id is in its word.
pub(crate) fn abandon(space: &Space, index: u32, slot: &MutexSlot) {
    let word = slot.state().load();
    if owner(word) == thread::tid() {
        slot.held.store(0, Relaxed);
        let handle = Handle::new(Kind::Mutex, word.generation(), index);
        give_up(space, slot, &slot.place(space, handle), word.is_live());
    }
}

/// The thread of the highest priority that waits in the kernel for a mutex of the thread with this id.
#[cfg(not(loom))]
pub(crate) fn top_waiter(space: &Space, tid: u32) -> Option<(u32, &ThreadSlot)> {
    let waits = |thread: &ThreadSlot| {
        // Acquire pairs with the Release in `Space::prepare`: what it waits for.
        if thread.node.park.load(Acquire) != WAITING {
            return false;
        }
        let mutex = Handle::from_word(thread.node.waiting_on.load(Relaxed));
        space.object::<MutexSlot>(mutex).is_ok_and(|slot| owner(slot.state().load()) == tid)
    };
    if space.header().ok()?.protocol.load(Relaxed) != IN_KERNEL {
        return None;
    }
    let waiters = space.threads.iter(space.arena_header::<ThreadSlot>().ok()?).filter(|(_, thread)| waits(thread));
    // Of equals the last one, which loses no place by being touched.
    waiters.max_by_key(|(_, thread)| (thread.priority.load(Relaxed), thread.node.arrival()))
}

/// Deletes a mutex: `Busy` if it is in use, be it by somebody who will come back to it. `by_force`: whatever it is in; its waiters are told, its owner will find out.
pub(crate) fn delete(space: &Space, handle: Handle, by_force: bool) -> Result<()> {
    let slot = space.object::<MutexSlot>(handle)?;
    let place = slot.place(space, handle);
    let me = thread::current();
    let own = slot.held.load(Relaxed) == claim(handle, me);
    {
        let _held = space.lock(&place);
        let mut word = slot.state().load();
        loop {
            handle.check(word)?;
            let unused = word.value() & !OWNER_DIED == 0;
            // Who is bound said so under this lock, before it gave the word up.
            let in_use = !unused || !place.site.is_empty() || slot.bound.load(Relaxed) != 0;
            if in_use && !by_force {
                return Err(Error::Busy);
            }
            // While it is owned the lower half stays the kernel's and the owner's.
            let dead = word.killed().with_value(if unused { NOBODY } else { word.value() });
            // AcqRel: what owners did before happens before what the next life of the slot does.
            match slot.state().exchange(word, dead, AcqRel) {
                Ok(()) => break,
                Err(found) => word = found,
            }
        }
        // Release pairs with the Acquire in `release_slow`.
        slot.held.store(0, Release);
        space.decide_all(&place, wait::REMOVED);
    }
    // First the name, so that a waiter that runs at once finds it free.
    space.leave::<MutexSlot>(handle.index(), &slot.head);
    space.tell_decided(&place);
    if own {
        // Who deletes what it owns knows that there is nothing left to release; the slot must not wait for that.
        slot.disown(me);
        give_up(space, slot, &place, false);
    }
    space.give::<MutexSlot>(handle.index());
    Ok(())
}

pub(crate) fn inquire(space: &Space, handle: Handle) -> Result<Info> {
    let slot = space.object::<MutexSlot>(handle)?;
    let _held = space.lock(&slot.place(space, handle));
    let word = slot.state().load_acquire();
    handle.check(word)?;
    let owner = slot.owning_thread(space, word).or_else(|| {
        // Between its swap and its claim, or with the mutex handed over and not running yet.
        let tid = owner(word);
        let threads = space.threads.iter(space.arena_header::<ThreadSlot>().ok().filter(|_| tid != 0)?);
        threads.into_iter().find(|(_, thread)| thread.tid.load(Relaxed) == tid)
    });
    let owner = owner.and_then(|(index, thread)| thread.own_handle(index));
    let depth = if owner.is_some() { slot.depth.load(Relaxed).max(1) } else { 0 };
    Ok(Info { name: slot.head.name(), depth, waiters: slot.head.site.waiting(), owner })
}
