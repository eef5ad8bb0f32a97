//! What condition variables need of a mutex: giving it up altogether and coming back to it.

use posix_backend::atomic::Ordering::*;
use posix_backend::thread;
use posix_backend::time::Deadline;

use super::acquire::wait_for;
use super::{MutexSlot, claim, release_fast, release_slow};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::head::Object;
use crate::space::{Me, Space};
use crate::step::step;
use crate::task::slot::ThreadSlot;

impl MutexSlot {
    /// Whether the calling thread owns the mutex of this handle.
    pub fn is_mine(&self, handle: Handle) -> bool {
        // Acquire pairs with the Release in `delete`: who misses its claim sees the word that is why.
        self.held.load(Acquire) == claim(handle, thread::current())
    }

    /// Its owner will give the mutex up and come back to it: until then it must not be deleted.
    pub fn bind(&self, space: &Space, handle: Handle, me: Me<'_>) {
        let _held = space.lock(&self.place(space, handle));
        // In this order: the thread slots are the truth.
        me.slot.bound.store(handle.index(), Relaxed);
        step("mutex: bound thread");
        self.bound.store(self.bound.load(Relaxed) + 1, Relaxed);
    }

    /// Takes `bind` back: the thread has come back, or will not. The slot may be waiting for that to have another life.
    pub fn unbind(&self, space: &Space, handle: Handle, me: Me<'_>) {
        let _held = space.lock(&self.place(space, handle));
        me.slot.bound.store(0, Relaxed);
        step("mutex: unbound thread");
        self.bound.store(self.bound.load(Relaxed).saturating_sub(1), Relaxed);
    }

    /// Counts anew how many threads are bound, after a lock holder died. Under the lock.
    pub(super) fn count_bound(&self, space: &Space) {
        let own = space.mutexes.slots().index_of(core::ptr::from_ref(self).addr());
        let (Ok(arena), Some(own)) = (space.arena_header::<ThreadSlot>(), own) else { return };
        let is_bound = |thread: &ThreadSlot| thread.bound.load(Relaxed) == own && thread.tid.load(Relaxed) != 0;
        let bound = space.threads.iter(arena).filter(|(_, thread)| is_bound(thread)).count();
        self.bound.store(bound as u32, Relaxed);
    }

    /// The owner releases the mutex, whatever the depth, which this returns.
    pub fn release_all(&self, space: &Space, handle: Handle) -> u32 {
        let depth = self.depth.load(Relaxed);
        self.depth.store(1, Relaxed);
        if !release_fast(space, handle) {
            // It fails if the mutex has just been deleted by force: it is let go of all the same.
            let _ = release_slow(space, handle);
        }
        depth
    }

    /// A bound thread acquires the mutex again, at the depth at which it gave it up, however long that takes. `OwnerDead`:
    /// acquired, at that depth. `Removed`: deleted by force. Any other error: not acquired.
    pub fn reacquire(&self, space: &Space, handle: Handle, me: Me<'_>, depth: u32) -> Result<()> {
        let gone = |error| if error == Error::Invalid { Error::Removed } else { error };
        let result = match self.try_take(handle, thread::current()).map_err(gone)? {
            Some(result) => result,
            None => wait_for(space, self, &self.place(space, handle), me, Deadline::NEVER).map_err(gone),
        };
        if matches!(result, Ok(()) | Err(Error::OwnerDead)) {
            self.depth.store(depth, Relaxed);
        }
        result
    }
}
