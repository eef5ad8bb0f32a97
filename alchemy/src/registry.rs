//! Names: per type a table from name to slot, and the threads that wait for a name to appear.
//!
//! The table is a linear hash: buckets are added one at a time, so that no create pays for a rebuild. Everything is under
//! the registry lock of the type, `RegistrySlot::site.lock`. A name counts as used from the moment it is entered, and as
//! present once its slot is live.

use posix_backend::atomic::{AtomicU32, Ordering::Relaxed};
use posix_backend::time::Deadline;
use posix_backend::wait::WaitSite;
use posix_backend::{Errno, zeroed_struct};

use crate::error::{Error, Result};
use crate::handle::{Handle, Kind};
use crate::head::{Head, Object, Place};
use crate::name::Name;
use crate::space::{Me, Space, Visitor};
use crate::time::Timeout;
use crate::wait;

zeroed_struct! {
    /// The shared part of a type's registry.
    pub(crate) struct RegistrySlot {
        pub site: WaitSite,
        /// Buckets in use.
        buckets: AtomicU32,
        /// Names entered.
        entries: AtomicU32,
        /// The last number used for a generated name.
        generated: AtomicU32,
    }
}

/// The bucket of a hash when there are `buckets` of them.
fn bucket_of(hash: u32, buckets: u32) -> u32 {
    let half = 1 << buckets.ilog2();
    let bucket = hash & (2 * half - 1);
    if bucket < buckets { bucket } else { bucket - half }
}

/// After this long in a bind, the program is told why the name may never appear.
const HINT_AFTER: core::time::Duration = core::time::Duration::from_secs(1);

fn live_handle<T: Object>(index: u32, head: &Head) -> Option<Handle> {
    // Acquire pairs with the Release of `State::publish`.
    let word = head.state.load_acquire();
    word.is_live().then(|| Handle::new(T::KIND, word.generation(), index))
}

/// A type's table, with the registry lock held.
struct Table<'a, T: Object> {
    space: &'a Space,
    registry: &'a RegistrySlot,
    _type: core::marker::PhantomData<T>,
}

impl<T: Object> Table<'_, T> {
    fn head(&self, index: u32) -> Option<&Head> {
        if index == 0 { None } else { Some(T::arena(self.space).get(index)?.head()) }
    }

    fn bucket(&self, number: u32) -> Result<&AtomicU32> {
        self.space.buckets[T::KIND as usize].get(number).ok_or(Error::NoMemory)
    }

    fn bucket_for(&self, hash: u32) -> Option<&AtomicU32> {
        let buckets = self.registry.buckets.load(Relaxed);
        if buckets == 0 { None } else { self.bucket(bucket_of(hash, buckets)).ok() }
    }

    fn find(&self, name: Name) -> Option<(u32, &Head)> {
        let hash = name.hash();
        let mut index = self.bucket_for(hash)?.load(Relaxed);
        while let Some(head) = self.head(index) {
            if head.hash.load(Relaxed) == hash && head.name() == name {
                return Some((index, head));
            }
            index = head.chain.load(Relaxed);
        }
        None
    }

    /// Adds a bucket: the entries of the one that it splits are dealt out again.
    fn split(&self) -> Result<()> {
        let buckets = self.registry.buckets.load(Relaxed);
        let new = self.bucket(buckets)?;
        new.store(0, Relaxed);
        self.registry.buckets.store(buckets + 1, Relaxed);
        if buckets == 0 {
            return Ok(());
        }
        let half = 1 << buckets.ilog2();
        let old = self.bucket(buckets - half)?;
        let mut index = old.load(Relaxed);
        old.store(0, Relaxed);
        while let Some(head) = self.head(index) {
            let next = head.chain.load(Relaxed);
            self.push(index, head);
            index = next;
        }
        Ok(())
    }

    fn push(&self, index: u32, head: &Head) {
        if let Some(bucket) = self.bucket_for(head.hash.load(Relaxed)) {
            head.chain.store(bucket.load(Relaxed), Relaxed);
            bucket.store(index, Relaxed);
        }
    }

    fn insert(&self, index: u32, head: &Head, name: Name) -> Result<()> {
        let entries = self.registry.entries.load(Relaxed) + 1;
        if entries > self.registry.buckets.load(Relaxed) {
            self.split()?;
        }
        name.store(&head.name);
        head.entered.store(head.state.load().generation(), Relaxed);
        head.hash.store(name.hash(), Relaxed);
        self.push(index, head);
        self.registry.entries.store(entries, Relaxed);
        Ok(())
    }

    /// Takes an entry out, if it still is one.
    fn remove(&self, index: u32, head: &Head) {
        let hash = head.hash.load(Relaxed);
        let Some(mut link) = self.bucket_for(hash).filter(|_| hash != 0) else { return };
        loop {
            let at = link.load(Relaxed);
            if at == index {
                link.store(head.chain.load(Relaxed), Relaxed);
                head.hash.store(0, Relaxed);
                self.registry.entries.store(self.registry.entries.load(Relaxed).saturating_sub(1), Relaxed);
                return;
            }
            match self.head(at) {
                Some(next) => link = &next.chain,
                None => return,
            }
        }
    }

    /// The whole table anew from the slots, after a holder of the lock died or in the child of a fork.
    fn rebuild(&self) {
        self.registry.buckets.store(0, Relaxed);
        self.registry.entries.store(0, Relaxed);
        let Ok(arena) = self.space.arena_header::<T>() else { return };
        for (index, slot) in T::arena(self.space).iter(arena) {
            let head = slot.head();
            if head.hash.load(Relaxed) == 0 {
                continue;
            }
            if head.is_stale_entry() {
                head.hash.store(0, Relaxed);
                continue;
            }
            if self.find(head.name()).is_some() {
                // Only in the child of a fork (see `fork`): the name can have one object only.
                head.state.skip_generations();
                head.hash.store(0, Relaxed);
                continue;
            }
            let entries = self.registry.entries.load(Relaxed) + 1;
            if self.split().is_err() {
                return;
            }
            self.push(index, head);
            self.registry.entries.store(entries, Relaxed);
        }
    }
}

impl Space {
    fn registry_place(&self, kind: Kind) -> Result<Place<'_>> {
        self.place(Handle::new(Kind::Registry, 0, kind as u32)).ok_or(Error::NoMemory)
    }

    fn table<T: Object>(&self) -> Result<Table<'_, T>> {
        let registry = &self.header()?.registries[T::KIND as usize];
        Ok(Table { space: self, registry, _type: core::marker::PhantomData })
    }

    /// Enters the name of an object that is being made; an empty one is replaced by a generated one. `Exists` if a live
    /// object has it, or one that is being made.
    pub fn enter<T: Object>(&self, index: u32, head: &Head, name: Name) -> Result<Name> {
        let table = self.table::<T>()?;
        let _held = self.lock(&self.registry_place(T::KIND)?);
        let generate = name.is_empty();
        loop {
            let name = if generate {
                let number = table.registry.generated.load(Relaxed).wrapping_add(1);
                table.registry.generated.store(number, Relaxed);
                Name::generated(T::RADIX, number)
            } else {
                name
            };
            match table.find(name) {
                None => return table.insert(index, head, name).map(|()| name),
                // Its deleter has not come to do it yet.
                Some((old, stale)) if stale.is_stale_entry() => table.remove(old, stale),
                // A program chose this name itself: on to the next number.
                Some(_) if generate => {}
                Some(_) => return Err(Error::Exists),
            }
        }
    }

    /// Takes the name of an object out; harmless if it is out already.
    pub fn leave<T: Object>(&self, index: u32, head: &Head) {
        if let (Ok(table), Ok(place)) = (self.table::<T>(), self.registry_place(T::KIND)) {
            let _held = self.lock(&place);
            table.remove(index, head);
        }
    }

    /// A new object can be found: grants those who wait for its name.
    pub fn announce<T: Object>(&self, head: &Head, name: Name, handle: Handle) {
        let Ok(place) = self.registry_place(T::KIND) else { return };
        let held = self.lock(&place);
        // Somebody may have deleted it already, and the slot may have another name.
        if handle.check(head.state.load()).is_ok() {
            let mut next = place.site.first();
            while let Some(thread) = self.threads.get(next).filter(|_| next != 0) {
                let index = next;
                next = place.site.after(self, index);
                if Name::load(&thread.wanted) == name {
                    thread.node.result.store(handle.to_word(), Relaxed);
                    place.site.decide(self, index, wait::GRANTED);
                }
            }
        }
        let decided = place.site.has_decided();
        drop(held);
        if decided {
            self.tell_decided(&place);
        }
    }

    /// Finds the live object with this name, waiting for its creation if there is none. An empty name matches nothing.
    /// `hint` is called once if the wait outlasts [`HINT_AFTER`].
    ///
    /// `accept` turns the handle into what the caller wants; `None` says that the object is gone again, and the search goes
    /// on.
    pub fn bind<'a, T: Object, R>(
        &'a self,
        name: Name,
        timeout: Timeout,
        me: impl FnOnce() -> Result<Me<'a>>,
        hint: impl FnOnce(),
        accept: impl Fn(Handle) -> Option<R>,
    ) -> Result<R> {
        let table = self.table::<T>()?;
        let place = self.registry_place(T::KIND)?;
        let find = || table.find(name).and_then(|(index, head)| live_handle::<T>(index, head));
        let found = {
            let _held = self.lock(&place);
            find()
        };
        if let Some(result) = found.and_then(&accept) {
            return Ok(result);
        }
        let (me, deadline) = timeout.admit(me)?;
        let mut hint = Some((Deadline::after(HINT_AFTER.as_nanos() as u64), hint)).filter(|(date, _)| *date < deadline);
        loop {
            let held = self.lock(&place);
            if let Some(handle) = find() {
                drop(held);
                match accept(handle) {
                    Some(result) => return Ok(result),
                    None => continue,
                }
            }
            self.prepare(&me, &place, deadline)?;
            name.store(&me.slot.wanted);
            place.site.enqueue(self, me.index, 0);
            drop(held);
            if let Some((_, hint)) = hint.take_if(|(date, _)| self.outlasts(&me, *date)) {
                hint();
            }
            wait::result(self.sleep(&me, &place, deadline))?;
            let handle = Handle::from_word(me.slot.node.result.load(Relaxed));
            let is_live = handle.check(self.object::<T>(handle)?.head().state.load_acquire()).is_ok();
            // Deleted again before this thread ran: wait on, until the same date.
            if let Some(result) = Some(handle).filter(|_| is_live).and_then(&accept) {
                return Ok(result);
            }
        }
    }

    pub fn rebuild_registry(&self, kind: u32) {
        struct Rebuild<'a>(&'a Space);
        impl Visitor for Rebuild<'_> {
            fn visit<T: Object>(&mut self) -> core::result::Result<(), Errno> {
                if let Ok(table) = self.0.table::<T>() {
                    table.rebuild();
                }
                Ok(())
            }
        }
        Space::for_type(kind, &mut Rebuild(self));
    }
}
