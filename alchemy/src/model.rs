//! Models of the protocols, run by loom on the very code: `RUSTFLAGS="--cfg loom" cargo test -p alchemy --release model`.
//!
//! Each model is a few threads in a small space. Loom runs them in every order that matters, up to [`PREEMPTIONS`], and with
//! every value that a load may return; a wait that nobody ends is a deadlock, which it reports. *Catches* lists planted errors
//! under which the model was seen to fail.

mod cond;
mod delete;
mod event;
mod interrupt;
mod mechanism;
mod mutex;
mod registry;
mod section;
mod sem;
mod task;

use core::time::Duration;
use std::sync::Arc;

use posix_backend::atomic::{AtomicU32, Ordering::*};
use posix_backend::time::Deadline;
use posix_backend::wait::WAITING;
use posix_backend::{Scope, futex};

use crate::error::Result;
use crate::handle::{Handle, Kind};
use crate::name::Name;
use crate::sem::{Mode, SemaphoreSlot, post_fast, post_slow, wait_fast, wait_slow};
use crate::space::{Me, Space};
use crate::task::slot::ThreadSlot;
use crate::time::Timeout;
use crate::wait;

/// How often running threads are preempted in one execution.
const PREEMPTIONS: usize = 4;

/// Runs a model in all executions in which threads wait for locks outside of them. How they contend is
/// [`check_contended`]'s matter.
fn check(model: impl Fn() + Send + Sync + 'static) {
    run(model, true);
}

/// Runs a model in all executions.
fn check_contended(model: impl Fn() + Send + Sync + 'static) {
    run(model, false);
}

fn run(model: impl Fn() + Send + Sync + 'static, gates: bool) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.max_branches = 10_000;
    futex::close_gates(gates);
    builder.check(model);
}

/// A limited wait. Under loom the date passes at any moment.
fn limited() -> Timeout {
    Duration::from_secs(1).into()
}

/// What the threads of a model share.
#[derive(Clone)]
struct World(Arc<Shared>);

struct Shared {
    space: Space,
    /// Written before something happens, read by those who found that it did.
    data: AtomicU32,
    turns: AtomicU32,
}

impl core::ops::Deref for World {
    type Target = Space;

    fn deref(&self) -> &Space {
        &self.0.space
    }
}

impl World {
    /// A space with a thread slot, from 1 on, for each of these priorities, and room for some more objects.
    fn new(priorities: &[u32], objects: u32) -> World {
        World::with_room(priorities, |kind| if matches!(kind, Kind::Semaphore | Kind::Mutex) { objects } else { 0 })
    }

    /// The same with room for as many objects of each type as `room` says.
    fn with_room(priorities: &[u32], room: impl Fn(Kind) -> u32) -> World {
        let room = |kind| if kind == Kind::Task { priorities.len() as u32 } else { room(kind) };
        let space = Space::in_memory(room);
        for &priority in priorities {
            let index = space.take::<ThreadSlot>().unwrap();
            let slot = space.threads.get(index).unwrap();
            slot.fill(priority, 0);
            slot.tid.store(index, Relaxed);
            // The thread is a task.
            slot.head.state.publish(false, 0);
        }
        let data = AtomicU32::new(0);
        // Made here, so that no thread is ordered behind the one that happens to make it.
        futex::wake(&data, 0, Scope::Private);
        World(Arc::new(Shared { space, data, turns: AtomicU32::new(0) }))
    }

    /// Every operation begins with it, so that loom tries both orders of any two. By itself it overlooks that of a load and
    /// another thread's later store if that thread has loaded in between: it knows only the last access.
    fn turn(&self) {
        self.0.turns.fetch_add(1, Relaxed);
    }

    fn spawn<T: 'static>(&self, body: impl FnOnce(&World) -> T + 'static) -> loom::thread::JoinHandle<T> {
        let world = self.clone();
        loom::thread::spawn(move || body(&world))
    }

    fn write(&self) {
        self.0.data.store(1, Relaxed);
    }

    fn assert_written(&self) {
        assert_eq!(self.0.data.load(Relaxed), 1, "what happened before is not visible");
    }

    fn me(&self, index: u32) -> Me<'_> {
        Me { index, slot: self.threads.get(index).unwrap() }
    }

    /// The task in a thread slot.
    fn task(&self, index: u32) -> Handle {
        self.me(index).slot.handle(index).unwrap()
    }

    fn sem(&self, name: &str, count: u32) -> Result<Handle> {
        self.turn();
        crate::sem::create(self, Name::new(name.as_bytes()), count, Mode::PRIORITY, |_| ())
    }

    fn p(&self, index: u32, sem: Handle, timeout: Timeout) -> Result<()> {
        self.turn();
        if wait_fast(self, sem) { Ok(()) } else { wait_slow(self, sem, timeout, || Ok(self.me(index))) }
    }

    fn poll(&self, sem: Handle) -> Result<()> {
        self.p(0, sem, Timeout::NONE)
    }

    fn v(&self, sem: Handle) -> Result<()> {
        self.turn();
        if post_fast(self, sem) { Ok(()) } else { post_slow(self, sem) }
    }

    fn delete(&self, sem: Handle) -> Result<()> {
        self.turn();
        self.0.space.delete::<SemaphoreSlot>(sem)
    }

    fn broadcast(&self, sem: Handle) -> Result<()> {
        self.turn();
        crate::sem::broadcast(self, sem)
    }

    fn interrupt(&self, task: Handle, request: u32, outcome: u32) -> Result<()> {
        self.turn();
        self.0.space.interrupt(task, request, outcome)
    }

    fn bind(&self, index: u32, name: &str, timeout: Timeout) -> Result<Handle> {
        self.turn();
        let me = || Ok(self.me(index));
        self.0.space.bind::<SemaphoreSlot, _>(Name::new(name.as_bytes()), timeout, me, || (), Some)
    }

    /// Queues a thread as the first half of a P does: for models that start there. `resume` is the other half.
    fn queue(&self, index: u32, sem: Handle) {
        let (me, head) = (self.me(index), &self.object::<SemaphoreSlot>(sem).unwrap().head);
        let place = head.place(sem);
        let _held = self.lock(&place);
        self.prepare(&me, &place, Deadline::NEVER).unwrap();
        let word = head.state.load();
        assert!(head.state.swap(word, word.with_waiters(), Acquire).is_ok());
        place.site.enqueue(&self.0.space, index, me.slot.priority.load(Relaxed));
    }

    fn resume(&self, index: u32, sem: Handle, timeout: Timeout) -> Result<()> {
        self.turn();
        let head = &self.object::<SemaphoreSlot>(sem).unwrap().head;
        let (me, deadline) = timeout.admit(|| Ok(self.me(index))).unwrap();
        wait::result(self.sleep(&me, &head.place(sem), deadline))
    }

    /// What a thread was told that was queued and does not run.
    fn outcome(&self, index: u32) -> Result<()> {
        match self.me(index).slot.node.park.load(Acquire) {
            WAITING => panic!("nobody told it"),
            outcome => wait::result(outcome),
        }
    }

    /// The count of a semaphore that nobody uses at present; checks that no trace of a waiter is left.
    fn count(&self, sem: Handle) -> u32 {
        let head = &self.object::<SemaphoreSlot>(sem).unwrap().head;
        let word = head.state.load();
        sem.check(word).unwrap();
        self.assert_deserted(sem);
        assert!(!word.has_waiters() && head.site.waiting() == 0);
        word.value()
    }

    /// Nobody is in a list of the semaphore's slot, whatever its generation.
    fn assert_deserted(&self, sem: Handle) {
        let place = self.place(sem).unwrap();
        let _held = self.lock(&place);
        assert!(place.site.is_empty() && !place.site.has_decided());
    }
}
