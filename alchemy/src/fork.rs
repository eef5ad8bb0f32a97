//! `fork` without sharing: the child gets a copy of the objects at the same addresses, without the parent's other tasks.
//!
//! The copy is made before the fork, by the parent, slot by slot under each object's lock, so that nothing is half-changed in
//! it. The child puts it in place of the shared memory. Its only thread is the one that forked: all other tasks, and whoever
//! waited anywhere, are dropped; counts, names and the forking thread's identity stay.

use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed as Plain};

use parking_lot::MutexGuard;
use posix_backend::atomic::Ordering::Relaxed;
use posix_backend::pi_lock::Held;
use posix_backend::process::{self, ForkHooks};
use posix_backend::segment::{Copy, Segment};
use posix_backend::{Errno, extent, report, thread};

use crate::alarm;
use crate::error::Result;
use crate::exit;
use crate::handle::{Handle, Kind};
use crate::head::Object;
use crate::lockstep::{self, Processor};
use crate::print;
use crate::runtime::{self, SEGMENT, SET_UP, SPACE};
use crate::space::{Space, Visitor};
use crate::task::body;
use crate::task::slot::Phase;

/// What is kept between the hooks, which all run in the forking thread.
struct Between {
    /// Keeps forks of several threads apart, and no child finds something half set up, which it could never finish.
    _set_up: MutexGuard<'static, ()>,
    /// The pretended processor of [`lockstep`], whole.
    processor: MutexGuard<'static, Processor>,
    /// What the objects in the copy store is still there when the child comes to see it.
    extents: Held<'static>,
    /// `None` if there is nothing to copy.
    copy: Option<core::result::Result<Copy, Errno>>,
}

/// Owned by the forking thread. Not thread-local: it must work while a thread, or the process, is taken down.
static BETWEEN: AtomicPtr<Between> = AtomicPtr::new(core::ptr::null_mut());

static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Whether the hooks are registered.
pub(crate) fn is_installed() -> bool {
    INSTALLED.load(Plain)
}

/// Registers the hooks, once. Under `SET_UP`.
pub(crate) fn install() -> Result<()> {
    if !INSTALLED.load(Plain) {
        process::on_fork(ForkHooks { before, in_parent, in_child })?;
        INSTALLED.store(true, Plain);
    }
    Ok(())
}

extern "C" fn before() {
    let set_up = SET_UP.lock();
    let between = Between {
        _set_up: set_up,
        processor: lockstep::hold(),
        extents: extent::hold_all(),
        copy: runtime::is_ready().then(copy),
    };
    BETWEEN.store(Box::into_raw(Box::new(between)), Plain);
}

/// What `before` made, which ends with it.
#[allow(unsafe_code)]
fn after() -> Option<Box<Between>> {
    let between = BETWEEN.swap(core::ptr::null_mut(), Plain);
    if between.is_null() {
        return None;
    }
    // SAFETY: `before` made the box in this thread, and the swap takes it once.
    Some(unsafe { Box::from_raw(between) })
}

extern "C" fn in_parent() {
    after();
}

extern "C" fn in_child() {
    thread::renew();
    alarm::in_child();
    print::in_child();
    exit::note_process();
    let Some(between) = after() else { return };
    let Between { copy, extents, processor, .. } = *between;
    drop(processor);
    // The parent's thread holds it, and those who wait for it are not here.
    core::mem::forget(extents);
    extent::reset();
    let Some(copy) = copy else { return };
    let adopted = copy.and_then(|copy| SEGMENT.get().map_or(Err(Errno::NOMEM), |segment| adopt(segment, &copy)));
    match adopted {
        Ok(()) => {
            SPACE.keep_only(runtime::my_index());
            lockstep::in_child(runtime::my_index());
            body::forget_slices();
            runtime::relock_memory();
        }
        Err(errno) => {
            SPACE.close();
            report::line(&format!("no memory for the objects of a forked child ({errno:?}): it has none"));
        }
    }
}

#[allow(unsafe_code)]
fn adopt(segment: &Segment, copy: &Copy) -> core::result::Result<(), Errno> {
    // SAFETY: `in_child` runs in the only thread of a forked child, before `fork` returns to it, and uses no reference into
    // the segment across this call.
    unsafe { segment.become_copy(copy) }?;
    // Another thread may have opened more between the copy and the fork.
    SPACE.header.reopen()?;
    Space::for_each_type(&mut Reopen)?;
    SPACE.buckets.iter().try_for_each(|buckets| buckets.reopen())
}

struct Reopen;

impl Visitor for Reopen {
    fn visit<T: Object>(&mut self) -> core::result::Result<(), Errno> {
        T::arena(&SPACE).slots().reopen()
    }
}

struct CopySlots<'a>(&'a mut Copy);

impl Visitor for CopySlots<'_> {
    fn visit<T: Object>(&mut self) -> core::result::Result<(), Errno> {
        let arena = SPACE.arena_header::<T>().map_err(|_| Errno::NOMEM)?;
        let lock = |index, slot: &'static T| SPACE.lock(&slot.place(&SPACE, Handle::new(T::KIND, 0, index)));
        T::arena(&SPACE).copy(arena, self.0, lock)
    }
}

/// In the child: what is left of the objects of a type.
struct Inherit<'a> {
    space: &'a Space,
    me: u32,
}

impl Visitor for Inherit<'_> {
    fn visit<T: Object>(&mut self) -> core::result::Result<(), Errno> {
        // Threads are not inherited, but for one.
        if T::KIND == Kind::Task {
            return Ok(());
        }
        for (index, slot) in T::arena(self.space).usable() {
            let head = slot.head();
            head.site.reset();
            slot.inherit(self.space, index, self.me);
            if !head.state.load().is_live() {
                head.state.skip_generations();
                head.hash.store(0, Relaxed);
            }
        }
        Ok(())
    }
}

/// In the child: the free list of a type.
struct FreeSlots<'a> {
    space: &'a Space,
    me: u32,
    initial: u32,
}

impl Visitor for FreeSlots<'_> {
    fn visit<T: Object>(&mut self) -> core::result::Result<(), Errno> {
        let arena = self.space.arena_header::<T>().map_err(|_| Errno::NOMEM)?;
        let is_used = |index, slot: &T| match T::KIND {
            Kind::Task => index == self.me || index == self.initial,
            _ => slot.head().state.load().is_live(),
        };
        T::arena(self.space).reset(arena, is_used);
        Ok(())
    }
}

struct Close<'a>(&'a Space);

impl Visitor for Close<'_> {
    fn visit<T: Object>(&mut self) -> core::result::Result<(), Errno> {
        T::arena(self.0).slots().close();
        Ok(())
    }
}

fn copy() -> core::result::Result<Copy, Errno> {
    let space = &SPACE;
    let mut copy = SEGMENT.get().ok_or(Errno::NOMEM)?.start_copy()?;
    Space::for_each_type(&mut CopySlots(&mut copy))?;
    for buckets in &space.buckets {
        // They are built anew; only the room is needed.
        buckets.copy(&mut copy, 0..0, |_, _| ())?;
    }
    // Last, so that it counts every slot that was copied. Slots taken in the meantime are all zero in the copy: free.
    space.header.copy(&mut copy, 0..1, |_, _| ())?;
    Ok(copy)
}

impl Space {
    /// In the child: drops all threads but `me` (0: the forking thread has no slot), and makes everything consistent.
    fn keep_only(&self, me: u32) {
        let Ok(header) = self.header() else { return };
        let initial = header.initial.load(Relaxed);
        for kind in &header.registries {
            kind.site.reset();
        }
        for (index, slot) in self.threads.usable() {
            slot.head.site.reset();
            slot.node.park.store(0, Relaxed);
            slot.node.requests.store(0, Relaxed);
            if index == me {
                slot.tid.store(thread::tid(), Relaxed);
                // Whoever was joining it is gone.
                slot.reset_joining();
                continue;
            }
            slot.head.state.skip_generations();
            slot.head.hash.store(0, Relaxed);
            slot.fill(0, 0);
            slot.set_phase(self, Phase::Ended);
        }
        // Neither this nor the last step fails: there is a header.
        let _ = Space::for_each_type(&mut Inherit { space: self, me });
        for kind in 0..header.registries.len() {
            self.rebuild_registry(kind as u32);
        }
        // Last, since a rebuilt registry drops all but one of several objects of one name: the copy takes time, in which an
        // object can be deleted and another one made under its name.
        let _ = Space::for_each_type(&mut FreeSlots { space: self, me, initial });
    }

    /// Leaves the space without objects and without room for any: all handles are stale.
    fn close(&self) {
        self.header.close();
        // It does not fail.
        let _ = Space::for_each_type(&mut Close(self));
    }
}
