//! Sections: parts of the library's work in which a thread must not be stopped, or ended.
//!
//! A thread in a section is somewhere in the library: it may hold a lock, or have half-changed an object, or owe a wake-up. A
//! request that finds it there is put off to the end of the outermost section.
//!
//! ```text
//! enter:  depth += 1; fence
//! leave:  fence; depth -= 1; fence; depth == 0 and pending?  → pending = false; act
//! signal: depth > 0?  → pending = true, return               else act
//! ```
//!
//! The fences are the compiler's: handler and thread are one thread. `pending` must be tested after the decrement, or a
//! signal between the two would be put off for good.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst, compiler_fence};

/// What the signal's handler and the rest of a thread tell each other. The layout is the mutex stub's, too.
#[repr(C)]
pub(crate) struct Flags {
    /// A request came in a section.
    pending: Cell<bool>,
    /// The thread is in the stub, or in a handler on top of it.
    in_stub: Cell<bool>,
    depth: Cell<u32>,
}

impl Flags {
    /// What a thread begins with: all zero.
    #[cfg(any(loom, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    pub(crate) const NONE: Flags = Flags { pending: Cell::new(false), in_stub: Cell::new(false), depth: Cell::new(0) };
}

#[cfg(not(loom))]
mod system {
    use super::Flags;

    /// Does something with the calling thread's flags.
    #[inline(always)]
    pub(super) fn with<R>(work: impl FnOnce(&Flags) -> R) -> R {
        work(&crate::local::local().flags)
    }

    /// The calling thread's flags, for the stub.
    pub(crate) fn flags() -> *const Flags {
        &raw const crate::local::local().flags
    }

    pub(super) fn act() {
        crate::signal::act(None);
    }

    /// Where models deliver signals.
    #[inline(always)]
    pub(super) fn point() {}
}
#[cfg(not(loom))]
pub(crate) use system::flags;
#[cfg(not(loom))]
use system::{act, point, with};

/// Signals for the model checker: delivered at points, which each thread passes, and never lost.
#[cfg(loom)]
pub mod model {
    use core::cell::{Cell, RefCell};
    use std::rc::Rc;

    use super::{Flags, put_off};
    use crate::thread;

    loom::lazy_static! {
        static ref SIGNALS: loom::sync::Mutex<Vec<u32>> = loom::sync::Mutex::new(Vec::new());
    }

    loom::thread_local! {
        static FLAGS: Flags = Flags::NONE;
        static ACT: RefCell<Option<Rc<dyn Fn()>>> = RefCell::new(None);
        static HANDLING: Cell<bool> = Cell::new(false);
    }

    pub(super) fn with<R>(work: impl FnOnce(&Flags) -> R) -> R {
        FLAGS.with(work)
    }

    pub(super) fn act() {
        if let Some(act) = ACT.with(|act| act.borrow().clone()) {
            act();
        }
    }

    /// What the calling thread does about a request.
    pub fn on_request(act: impl Fn() + 'static) {
        ACT.with(|slot| *slot.borrow_mut() = Some(Rc::new(act)));
    }

    /// Sends the signal.
    pub fn request(tid: u32) {
        SIGNALS.lock().unwrap().push(tid);
    }

    /// The handler runs here if the signal has been sent. Handlers are not interrupted.
    pub fn point() {
        let me = thread::tid();
        let sent = !HANDLING.with(Cell::get) && {
            let mut signals = SIGNALS.lock().unwrap();
            let sent = signals.contains(&me);
            signals.retain(|&tid| tid != me);
            sent
        };
        if sent && !put_off() {
            HANDLING.with(|handling| handling.set(true));
            act();
            HANDLING.with(|handling| handling.set(false));
        }
    }
}
#[cfg(loom)]
use model::{act, point, with};

/// Says that the caller is going to look at the requests itself, in the middle of a section; the end of the section need not
/// for those that came so far.
pub fn take_pending() -> bool {
    let pending = with(|flags| flags.pending.replace(false));
    compiler_fence(SeqCst);
    pending
}

/// Whether a request came since the last look.
pub fn is_pending() -> bool {
    with(|flags| flags.pending.get())
}

/// Whether the thread is in the mutex stub, or in a handler on top of it.
#[cfg(not(loom))]
pub(crate) fn is_in_stub() -> bool {
    with(|flags| flags.in_stub.get())
}

/// For the signal's handler: leaves the request to the end of the section that the thread is in; false if it is in none.
pub(crate) fn put_off() -> bool {
    with(|flags| {
        let in_section = flags.depth.get() > 0;
        if in_section {
            flags.pending.set(true);
        }
        in_section
    })
}

/// A part of the library's work in which the thread must not be stopped. Sections nest.
#[must_use]
pub struct Section(());

impl Section {
    /// Enters a section.
    #[inline]
    pub fn enter() -> Section {
        point();
        with(|flags| flags.depth.set(flags.depth.get() + 1));
        compiler_fence(SeqCst);
        point();
        Section(())
    }
}

impl Drop for Section {
    #[inline]
    fn drop(&mut self) {
        point();
        compiler_fence(SeqCst);
        let depth = with(|flags| flags.depth.get()) - 1;
        with(|flags| flags.depth.set(depth));
        compiler_fence(SeqCst);
        point();
        if depth == 0 && (is_pending() || ALWAYS.load(Relaxed)) {
            act_pending();
        }
        point();
    }
}

/// Does something that a request must not interrupt, at the end of an outermost section or behind it: where a section would end as
/// this one does. Tells whether a request came meanwhile, which is the caller's to see to.
pub fn undisturbed(work: impl FnOnce()) -> bool {
    with(|flags| flags.depth.set(flags.depth.get() + 1));
    compiler_fence(SeqCst);
    work();
    compiler_fence(SeqCst);
    let depth = with(|flags| flags.depth.get()) - 1;
    with(|flags| flags.depth.set(depth));
    compiler_fence(SeqCst);
    depth == 0 && take_pending()
}

#[cfg(not(loom))]
impl Section {
    /// The section that the calling thread has entered and forgotten.
    #[inline(always)]
    pub(crate) fn resume() -> Section {
        Section(())
    }

    /// Leaves the section, and returns `result`: which need not be kept by the caller then.
    #[inline(always)]
    pub fn leave_with<R>(self, result: R) -> R {
        core::mem::forget(self);
        compiler_fence(SeqCst);
        let depth = with(|flags| flags.depth.get()) - 1;
        with(|flags| flags.depth.set(depth));
        compiler_fence(SeqCst);
        if depth == 0 && (is_pending() || ALWAYS.load(Relaxed)) { act_pending_with(result) } else { result }
    }
}

#[cfg(not(loom))]
#[cold]
#[inline(never)]
fn act_pending_with<R>(result: R) -> R {
    act_pending();
    result
}

/// Whether each outermost section ends as if a request had come.
static ALWAYS: AtomicBool = AtomicBool::new(false);

/// From now on each outermost section ends as if a request had come, so that the layer above gets to act.
pub fn act_always() {
    ALWAYS.store(true, Relaxed);
}

#[cold]
fn act_pending() {
    with(|flags| flags.pending.set(false));
    compiler_fence(SeqCst);
    act();
}
