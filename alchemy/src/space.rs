//! The space: everything that the objects of a program share. In a program there is one, in a segment; models make small
//! ones in ordinary memory.

use posix_backend::arena::{Arena, ArenaHeader, Array, Slot};
use posix_backend::atomic::{AtomicU32, Ordering::*};
#[cfg(not(loom))]
use posix_backend::pi_lock::Attempt;
use posix_backend::pi_lock::{Entry, Held};
use posix_backend::wait::{Nodes, WAITING, WaitNode};
use posix_backend::{Errno, Scope, zeroed_struct};

#[cfg(not(loom))]
use crate::alarm::AlarmSlot;
#[cfg(not(loom))]
use crate::buffer::BufferSlot;
use crate::cond::ConditionSlot;
use crate::error::{Error, Result};
use crate::event::EventSlot;
use crate::handle::{Handle, KINDS, Kind, MAX_INDEX};
use crate::head::{Object, Place};
#[cfg(not(loom))]
use crate::heap::HeapSlot;
use crate::mutex::MutexSlot;
use crate::name::Name;
#[cfg(not(loom))]
use crate::queue::QueueSlot;
use crate::registry::RegistrySlot;
use crate::sem::SemaphoreSlot;
use crate::task::slot::ThreadSlot;

zeroed_struct! {
    /// The first part of the segment.
    pub(crate) struct Header {
        /// [`MAGIC`] once the header is complete; a reader maps nothing without it.
        pub magic: AtomicU32,
        /// [`LAYOUT`]: what the rest looks like.
        pub layout: AtomicU32,
        /// The slot of the thread that runs `main`, which may wait although it is no task.
        pub initial: AtomicU32,
        /// How many slots each arena may have, slot 0 included.
        pub capacity: AtomicU32,
        /// How mutexes are waited for: [`IN_KERNEL`] or [`IN_QUEUES`], for as long as the segment lives.
        pub protocol: AtomicU32,
        pad: AtomicU32,
        pub arenas: [ArenaHeader; KINDS],
        pub registries: [RegistrySlot; KINDS],
    }
}

pub(crate) const MAGIC: u32 = u32::from_ne_bytes(*b"alch");
pub(crate) const LAYOUT: u32 = 1;

/// `Header::protocol`: in the kernel's queue, which inherits priorities.
pub(crate) const IN_KERNEL: u32 = 1;
/// `Header::protocol`: in queues of this library, by logical priority. Where no priority is more than logical, the kernel
/// queues in order of arrival.
pub(crate) const IN_QUEUES: u32 = 2;

/// Calls a macro with all object types: the name of the arena in [`Space`], the type of the slots. Whoever adds a type adds it
/// here and in [`Kind`]; the rest follows.
#[cfg(not(loom))]
macro_rules! object_types {
    ($with:ident) => {
        $with! {
            threads: ThreadSlot,
            semaphores: SemaphoreSlot,
            mutexes: MutexSlot,
            conditions: ConditionSlot,
            events: EventSlot,
            queues: QueueSlot,
            heaps: HeapSlot,
            buffers: BufferSlot,
            alarms: AlarmSlot,
        }
    };
}

/// The types that have models: those with operations outside of their lock.
#[cfg(loom)]
macro_rules! object_types {
    ($with:ident) => {
        $with! {
            threads: ThreadSlot,
            semaphores: SemaphoreSlot,
            mutexes: MutexSlot,
            conditions: ConditionSlot,
            events: EventSlot,
        }
    };
}

/// Something to be done for each object type.
pub(crate) trait Visitor {
    fn visit<T: Object>(&mut self) -> core::result::Result<(), Errno>;
}

macro_rules! define_space {
    ($($arena:ident: $slot:ty,)*) => {
        /// All objects of a program, as this process sees them.
        pub(crate) struct Space {
            pub header: Array<Header>,
            $(pub $arena: Arena<$slot>,)*
            pub buckets: [Array<AtomicU32>; KINDS],
            pub scope: Scope,
        }

        impl Space {
            /// A space without objects, and without room for any.
            #[cfg(not(loom))]
            pub const fn new() -> Space {
                Space {
                    header: Array::new(),
                    $($arena: Arena::new(),)*
                    buckets: [const { Array::new() }; KINDS],
                    scope: Scope::Private,
                }
            }

            /// A space in ordinary memory, with room for as many objects of each type as `room` says.
            #[cfg(any(loom, test))]
            pub fn in_memory(room: impl Fn(Kind) -> u32) -> Space {
                let mut most = 0;
                let mut buckets: [Array<AtomicU32>; KINDS] = core::array::from_fn(|_| Array::in_memory(0));
                let mut room = |kind: Kind| {
                    let count = room(kind);
                    most = most.max(count);
                    buckets[kind as usize] = Array::in_memory(if count > 0 { count + 1 } else { 0 });
                    count
                };
                let ($($arena,)*) = ($(Arena::in_memory(room(<$slot>::KIND)),)*);
                let space = Space { header: Array::in_memory(1), $($arena,)* buckets, scope: Scope::Private };
                space.fill_header(most + 1, IN_KERNEL);
                space
            }

            /// For each object type.
            pub fn for_each_type(visitor: &mut impl Visitor) -> core::result::Result<(), Errno> {
                $(visitor.visit::<$slot>()?;)*
                Ok(())
            }

            /// For the type of this number, if there is one.
            pub fn for_type(kind: u32, visitor: &mut impl Visitor) {
                $(if kind == <$slot>::KIND as u32 {
                    let _ = visitor.visit::<$slot>();
                })*
            }

            fn object_place(&self, id: Handle) -> Option<Place<'_>> {
                $(if id.is(<$slot>::KIND) {
                    return Some(self.$arena.get(id.index())?.place(self, id));
                })*
                None
            }

            /// Where a thread stands in the queue of a place. Needs the lock.
            pub fn rank_at(&self, place: &Place<'_>, index: u32, thread: &ThreadSlot) -> u32 {
                $(if place.id.is(<$slot>::KIND) {
                    return self.$arena.get(place.id.index()).map_or(0, |slot| slot.rank(index, thread));
                })*
                0
            }

            /// What the object does about a waiter that has left. Needs the lock.
            pub fn left(&self, place: &Place<'_>) -> bool {
                $(if place.id.is(<$slot>::KIND) {
                    return self.$arena.get(place.id.index()).is_some_and(|slot| slot.left(self));
                })*
                false
            }

            fn repair_object(&self, place: &Place<'_>) {
                $(if let Some(slot) = self.$arena.get(place.id.index()).filter(|_| place.id.is(<$slot>::KIND)) {
                    slot.repair(self);
                })*
            }
        }

        $(impl Slot for $slot {
            fn free_link(&self) -> &AtomicU32 {
                &self.head.free
            }
        })*
    };
}

object_types!(define_space);

/// A thread that may wait, with its slot.
#[derive(Clone, Copy)]
pub(crate) struct Me<'a> {
    pub index: u32,
    pub slot: &'a ThreadSlot,
}

impl Nodes for Space {
    #[inline]
    fn node(&self, index: u32) -> Option<&WaitNode> {
        if index == 0 { None } else { Some(&self.threads.get(index)?.node) }
    }
}

impl Space {
    pub fn fill_header(&self, capacity: u32, protocol: u32) {
        if let Some(header) = self.header.get(0) {
            header.capacity.store(capacity, Relaxed);
            header.protocol.store(protocol, Relaxed);
            header.layout.store(LAYOUT, Relaxed);
            // Release pairs with the Acquire of a reader that maps the segment: what it reads next is complete.
            header.magic.store(MAGIC, Release);
        }
    }

    /// The header. There is one as soon as anything can be created.
    pub fn header(&self) -> Result<&Header> {
        self.header.get(0).ok_or(Error::NoMemory)
    }

    pub fn arena_header<T: Object>(&self) -> Result<&ArenaHeader> {
        Ok(&self.header()?.arenas[T::KIND as usize])
    }

    /// The slot that a handle names, if the type is right and there is such a slot. The generation is not checked.
    #[inline]
    pub fn object<T: Object>(&self, handle: Handle) -> Result<&T> {
        if !handle.is(T::KIND) {
            return Err(Error::Invalid);
        }
        T::arena(self).get(handle.index()).ok_or(Error::Invalid)
    }

    /// Where a thread that said it waits on `id` waits.
    pub fn place(&self, id: Handle) -> Option<Place<'_>> {
        if id.is(Kind::Registry) {
            let registry = self.header().ok()?.registries.get(id.index() as usize)?;
            Some(Place { site: &registry.site, state: None, id, in_kernel: false })
        } else {
            self.object_place(id)
        }
    }

    /// Takes the lock of a place, repairing it if its last holder died.
    #[inline]
    pub fn lock<'a>(&self, place: &Place<'a>) -> Held<'a> {
        let (held, entry) = place.site.lock.lock(self.scope);
        if entry == Entry::Abandoned {
            self.repair(place);
        }
        held
    }

    /// The slot that a handle names, for an attempt: what does not change while the object is live may be read before the lock is taken.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn candidate<T: Object>(&self, handle: Handle) -> Option<&T> {
        let slot = self.object::<T>(handle).ok()?;
        // Acquire pairs with the Release of `publish`: however the handle came here, what is read next is not older than the object.
        // x86-64 keeps stores in order, and loads, without being told.
        if cfg!(not(target_arch = "x86_64")) && handle.check(slot.head().state.load_acquire()).is_err() {
            return None;
        }
        Some(slot)
    }

    /// Begins an operation on an object of which nobody waits, in a section and under the lock: what most calls come to. The caller ends
    /// it with the result. `None`, here or of the operation, decides nothing, and nothing has been changed then: the ordinary way
    /// is to find out why.
    ///
    /// Whatever follows should be inlined, or be called last: see [`Attempt`]. What does not change while the object is live should be
    /// read before: it is of this object if it is found live here, and the locked instruction keeps nobody from waiting for it.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn attempt<'a, T: Object>(&self, slot: &'a T, handle: Handle) -> Option<Attempt<'a>> {
        let head = slot.head();
        let attempt = head.site.lock.attempt()?;
        if handle.check(head.state.load()).is_ok() && head.site.is_quiet() {
            Some(attempt)
        } else {
            attempt.leave_with(self.scope, ());
            None
        }
    }

    /// The queue and the decided list anew from the thread slots; the `WAITERS` bit from the queue. Whoever is decided is told here,
    /// under the lock for once: what follows may be a look, or fail, and tell nobody.
    #[cold]
    fn repair(&self, place: &Place<'_>) {
        let Ok(arena) = self.arena_header::<ThreadSlot>() else { return };
        let mut waiters: Vec<u32> = self
            .threads
            .iter(arena)
            .filter(|(_, thread)| {
                let node = &thread.node;
                // Acquire: `waiting_on` is that of this wait or of a later one.
                node.park.load(Acquire) == WAITING
                    && Handle::from_word(node.waiting_on.load(Relaxed)).same_slot(place.id)
                    && thread.tid.load(Relaxed) != 0
            })
            .map(|(index, _)| index)
            .collect();
        place.site.rebuild(self, &mut waiters);
        if let Some(state) = place.state {
            if state.load().is_live() {
                state.set_waiters(!place.site.is_empty());
                self.repair_object(place);
            } else {
                // Its deleter died between the kill and the last decision.
                self.decide_all(place, crate::wait::REMOVED);
            }
        } else {
            self.repair_object(place);
        }
        if place.id.is(Kind::Registry) {
            self.rebuild_registry(place.id.index());
        }
        while let Some(wake) = self.tell_first_decided(place) {
            wake.send(self.scope);
        }
    }

    /// Makes a new object: takes a slot, lets `fill` write it (under its lock), enters the name, lets `ready` do what must
    /// be done before anybody can see the object, publishes it, and serves those who wait for the name. A failure, that of
    /// `ready` included, leaves no trace.
    pub fn create<T: Object>(
        &self,
        name: Name,
        (variant, value): (bool, u32),
        fill: impl FnOnce(&T),
        ready: impl FnOnce(Handle, u32) -> Result<()>,
    ) -> Result<Handle> {
        let index = self.take_quiet::<T>()?;
        let slot = T::arena(self).get(index).ok_or(Error::NoMemory)?;
        self.publish(index, slot, name, (variant, value), fill, ready).inspect_err(|_| self.give::<T>(index))
    }

    /// The rest of [`Space::create`], for a slot that the caller has taken and gives back on failure.
    pub fn publish<T: Object>(
        &self,
        index: u32,
        slot: &T,
        name: Name,
        (variant, value): (bool, u32),
        fill: impl FnOnce(&T),
        ready: impl FnOnce(Handle, u32) -> Result<()>,
    ) -> Result<Handle> {
        let head = slot.head();
        let handle = Handle::new(T::KIND, head.state.load().generation(), index);
        let place = slot.place(self, handle);
        {
            let _held = self.lock(&place);
            fill(slot);
        }
        let name = self.enter::<T>(index, head, name)?;
        ready(handle, index).inspect_err(|_| self.leave::<T>(index, head))?;
        {
            let _held = self.lock(&place);
            head.state.publish(variant, value);
        }
        self.announce::<T>(head, name, handle);
        Ok(handle)
    }

    /// Ends an object: invalidates its handles, frees its name, tells its waiters, and gives its slot back. One of several
    /// deleters wins; the others get `Invalid`.
    pub fn delete<T: Object>(&self, handle: Handle) -> Result<()> {
        self.delete_with::<T, _>(handle, |_| Ok(()), |_| ())
    }

    /// As [`Space::delete`], if `may` allows it, which looks at the live object under its lock; `last` takes out of the slot, under
    /// the lock, what is to be disposed of after that.
    pub fn delete_with<T: Object, R>(
        &self,
        handle: Handle,
        may: impl FnOnce(&Place<'_>) -> Result<()>,
        last: impl FnOnce(&T) -> R,
    ) -> Result<R> {
        let slot = self.object::<T>(handle)?;
        let place = slot.place(self, handle);
        let rest = {
            let _held = self.lock(&place);
            handle.check(slot.head().state.load())?;
            may(&place)?;
            slot.head().state.kill(handle)?;
            self.decide_all(&place, crate::wait::REMOVED);
            last(slot)
        };
        // First the name, so that a waiter that runs at once finds it free.
        self.leave::<T>(handle.index(), slot.head());
        self.tell_decided(&place);
        self.give::<T>(handle.index());
        Ok(rest)
    }

    /// Takes a slot that is quiet. The others go to the end of the line. They are few as a rule, but a program can make them many:
    /// so they are chained meanwhile, and not kept on the stack.
    fn take_quiet<T: Object>(&self) -> Result<u32> {
        let arena = T::arena(self);
        let link_of = |index| arena.get(index).and_then(T::aside);
        let mut aside = 0;
        let taken = loop {
            let index = match self.take::<T>() {
                Ok(index) if arena.get(index).is_none_or(T::is_quiet) => break Ok(index),
                Ok(index) => index,
                Err(error) => break Err(error),
            };
            if let Some(link) = link_of(index) {
                link.store(aside, Relaxed);
            }
            aside = index;
        };
        while aside != 0 {
            let next = link_of(aside).map_or(0, |link| link.load(Relaxed));
            self.give::<T>(aside);
            aside = next;
        }
        taken
    }

    pub fn take<T: Object>(&self) -> Result<u32> {
        let buckets = &self.buckets[T::KIND as usize];
        let grow = |slots: &Array<T>, len: u32| {
            // A bucket per slot, so that entering a name needs no memory; before the slots, which others may take at once.
            buckets.grow(slots.grown(len))?;
            slots.grow(len)
        };
        T::arena(self)
            .take(self.arena_header::<T>()?, self.scope, grow)
            .ok()
            .filter(|&index| index <= MAX_INDEX)
            .ok_or(Error::NoMemory)
    }

    pub fn give<T: Object>(&self, index: u32) {
        if let Ok(header) = self.arena_header::<T>() {
            T::arena(self).give(header, index, self.scope);
        }
    }
}
