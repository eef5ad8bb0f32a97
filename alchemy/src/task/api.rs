//! The safe interface to tasks.

use core::any::Any;
use core::ffi::c_void;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::sync::Arc;

use parking_lot::Mutex;
use posix_backend::atomic::Ordering::Relaxed;
use posix_backend::section::Section;
use posix_backend::time::Deadline;
use posix_backend::{c, sched};

use super::body::{self, Entry, MIN_STACK, Settings};
use super::inquire::{self, Info};
use super::slot::{LOCKED, OWNER, ThreadSlot};
use super::{control, period};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::lockstep;
use crate::name::Name;
use crate::runtime::{self, SPACE};
use crate::time::{Date, Timeout};
use crate::wait;

/// A task, by reference. It may be stale; then every method returns [`Error::Invalid`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Task(Handle);

impl Task {
    /// Starts the description of a new task.
    pub fn builder() -> Builder {
        Builder(Settings {
            name: Name::default(),
            stack: MIN_STACK,
            priority: 0,
            joinable: true,
            lock: false,
            co_operative: true,
        })
    }

    /// Makes the calling thread a task until it ends (`rt_task_shadow`). Does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`]: it is one. [`Error::Invalid`]: `priority` above 99. [`Error::Permission`]: refused by the system,
    /// in strict mode; or called by an alarm's handler. [`Error::NoMemory`], [`Error::Exists`]: as for [`Builder::spawn`]. A
    /// failure changes nothing.
    #[doc(alias = "rt_task_shadow")]
    pub fn shadow(name: &str, priority: u32) -> Result<Task> {
        body::shadow(Name::new(name.as_bytes()), priority, (false, true), |_| ()).map(Task)
    }

    /// Finds the task with this name, waiting for its creation as long as `timeout` says (`rt_task_bind`).
    ///
    /// # Errors
    ///
    /// [`Error::WouldBlock`], [`Error::Permission`], [`Error::TimedOut`], [`Error::Interrupted`], [`Error::Cancelled`]: as
    /// for [`crate::SemRef::wait`].
    #[doc(alias = "rt_task_bind")]
    pub fn bind(name: &str, timeout: impl Into<Timeout>) -> Result<Task> {
        runtime::bind::<ThreadSlot, _>(Name::new(name.as_bytes()), timeout.into(), |handle| Some(Task(handle)))
    }

    /// The task of a handle, which need not be valid.
    pub const fn from_handle(handle: Handle) -> Task {
        Task(handle)
    }

    /// The handle.
    pub const fn handle(self) -> Handle {
        self.0
    }

    /// A consistent look at the task (`rt_task_inquire`). Does not block.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale, or ended.
    #[doc(alias = "rt_task_inquire")]
    pub fn inquire(self) -> Result<Info> {
        let _section = Section::enter();
        inquire::inquire(self.0)
    }

    /// Restricts the task to these CPUs, at once (`rt_task_set_affinity`).
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale, or none of the CPUs can be used.
    #[doc(alias = "rt_task_set_affinity")]
    pub fn set_affinity(self, cpus: impl IntoIterator<Item = usize>) -> Result<()> {
        self.set_cpu_set(&sched::cpu_set(cpus))
    }

    /// As [`Task::set_affinity`], for a set in the C library's terms.
    pub fn set_cpu_set(self, cpus: &c::cpu_set_t) -> Result<()> {
        let _section = Section::enter();
        let slot = SPACE.object::<ThreadSlot>(self.0)?;
        // Under the lock the task cannot end, so the id is not another thread's.
        let _held = SPACE.lock(&slot.own_place(self.0.index()));
        self.0.check(slot.head.state.load())?;
        Ok(sched::set_affinity(slot.tid.load(Relaxed), cpus)?)
    }

    /// Asks the task to end: the wait it is in, and every later one, returns [`Error::Cancelled`]. Does not wait for it.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale, or ended.
    pub fn request_end(self) -> Result<()> {
        let _section = Section::enter();
        SPACE.interrupt(self.0, wait::END, wait::CANCELLED)
    }

    /// Stops the task wherever it is, until it is resumed as often as it was suspended (`rt_task_suspend`). A wait that it
    /// is in goes on and may be served; the task returns from it once it is resumed. The caller may suspend itself.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale, or ended.
    #[doc(alias = "rt_task_suspend")]
    pub fn suspend(self) -> Result<()> {
        control::suspend(self.0)
    }

    /// Takes one suspension back; nothing if there is none (`rt_task_resume`).
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale, or ended.
    #[doc(alias = "rt_task_resume")]
    pub fn resume(self) -> Result<()> {
        control::resume(self.0)
    }

    /// Ends the wait that the task is in, with [`Error::Interrupted`]; nothing if it is in none (`rt_task_unblock`).
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale, or ended.
    #[doc(alias = "rt_task_unblock")]
    pub fn unblock(self) -> Result<()> {
        control::unblock(self.0)
    }

    /// Changes the base priority at once, also in queues; returns the old one (`rt_task_set_priority`). The same value again
    /// makes the calling task let its equals run.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale, ended, or above 99. [`Error::Permission`]: refused by the system, in strict mode.
    #[doc(alias = "rt_task_set_priority")]
    pub fn set_priority(self, priority: u32) -> Result<u32> {
        control::set_priority(self.0, priority)
    }

    /// Round robin among equals: the task lets others of its priority run each time it has used `quantum` of CPU time
    /// (`rt_task_slice`). `None` ends that.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale, ended, of priority 0, or it holds the scheduler lock. [`Error::NoMemory`], [`Error::ThreadLimit`]: no
    /// timer, nor an alarm in its place.
    #[doc(alias = "rt_task_slice")]
    pub fn set_slice(self, quantum: Option<Duration>) -> Result<()> {
        control::set_slice(self.0, quantum)
    }

    /// Gives the task release points, at `first` and every `period` from then on (`rt_task_set_periodic`). Without a first
    /// date: one period from now, or at the end of the present period. A period of zero ends periodic timing.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale, or ended. [`Error::TimedOut`]: `first` has passed; nothing is changed.
    #[doc(alias = "rt_task_set_periodic")]
    pub fn set_periodic(self, first: Option<Date>, period: Duration) -> Result<()> {
        period::set(self.0, first, period.as_nanos().min(u64::MAX.into()) as u64)
    }

    /// Ends another task and waits until it has ended (`rt_task_delete`). One with a Rust body is asked to end, as by
    /// [`Task::request_end`].
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale, ended, or being deleted by somebody else. [`Error::Deadlock`]: the caller itself.
    /// [`Error::Permission`]: called by an alarm's handler.
    #[doc(alias = "rt_task_delete")]
    pub fn delete(self) -> Result<()> {
        control::delete(self.0)
    }

    /// The C library's thread of the task.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale, or ended.
    pub fn pthread(self) -> Result<c::pthread_t> {
        let _section = Section::enter();
        let slot = SPACE.object::<ThreadSlot>(self.0)?;
        let _held = SPACE.lock(&slot.own_place(self.0.index()));
        self.0.check(slot.head.state.load())?;
        Ok(slot.pthread.load(Relaxed) as c::pthread_t)
    }

    /// Waits for the end of a joinable task and releases what is left of it (`rt_task_join`). Any thread may; unblocking
    /// the caller does not end it. For tasks made with [`Task::create`]; [`JoinHandle`] has its own.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: never a task, not joinable, or somebody else is joining it. [`Error::NotFound`]: joined already,
    /// or ended and not joinable. [`Error::Deadlock`]: the caller itself. [`Error::Permission`]: called by an alarm's handler.
    #[doc(alias = "rt_task_join")]
    pub fn join(self) -> Result<()> {
        body::join(self.0)
    }

    /// Makes a dormant task (`rt_task_create`), for the C interface. `ready` gets the task and its thread before anybody
    /// can find it. The new thread is set up when this returns; it inherits the creator's signal mask and affinity.
    ///
    /// # Errors
    ///
    /// As for [`Builder::spawn`].
    #[doc(alias = "rt_task_create")]
    pub fn create(settings: Settings, ready: impl FnOnce(Handle, c::pthread_t)) -> Result<Task> {
        body::create(settings, ready).map(Task)
    }

    /// As [`Task::shadow`], for the C interface.
    pub fn shadow_with(name: Name, priority: u32, lock: bool, ready: impl FnOnce(Handle)) -> Result<Task> {
        body::shadow(name, priority, (lock, false), ready).map(Task)
    }

    /// Starts a dormant task (`rt_task_start`), for the C interface; tells whether it was this call that did. Where the
    /// task has the higher priority, it is about to enter its body when this returns.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stale.
    ///
    /// # Safety
    ///
    /// `entry` must be safe to call with `arg` on another thread.
    #[doc(alias = "rt_task_start")]
    #[allow(unsafe_code)]
    pub unsafe fn start(self, entry: Entry, arg: *mut c_void) -> Result<bool> {
        // SAFETY: the caller's contract.
        unsafe { body::start(self.0, entry, arg) }
    }

    /// As [`Task::bind`], for any bytes; with the task's thread.
    pub fn bind_name(name: Name, timeout: Timeout) -> Result<(Task, c::pthread_t)> {
        runtime::bind::<ThreadSlot, _>(name, timeout, |handle| {
            let task = Task(handle);
            // Fails if it has ended since it was found.
            Some((task, task.pthread().ok()?))
        })
    }
}

/// The calling thread's task, if it is one (`rt_task_self`).
#[doc(alias = "rt_task_self")]
pub fn current() -> Option<Task> {
    runtime::task().map(|(_, handle)| Task(handle))
}

/// Whether the calling task was asked to end ([`Task::request_end`]), for bodies that compute without waiting.
pub fn request_end_pending() -> bool {
    // Acquire: what the requester did before is visible.
    runtime::task()
        .is_some_and(|(me, _)| me.slot.node.requests.load(posix_backend::atomic::Ordering::Acquire) & wait::END != 0)
}

/// Whether the calling thread may wait: it is a task, or the initial thread; [`Error::Permission`] if not.
pub fn may_wait() -> Result<()> {
    runtime::me().map(|_| ())
}

/// The calling thread, in the C library's terms.
pub fn this_thread() -> c::pthread_t {
    posix_backend::thread::this()
}

/// Waits for the calling task's next release point and returns how many more have passed since it (`rt_task_wait_period`).
///
/// # Errors
///
/// [`Error::Permission`]: neither a task nor the initial thread. [`Error::WouldBlock`]: the task is not periodic.
/// [`Error::Interrupted`]: unblocked. [`Error::Cancelled`]: the task was asked to end.
#[doc(alias = "rt_task_wait_period")]
pub fn wait_period() -> Result<u64> {
    period::wait()
}

/// Takes the scheduler lock for the calling task, or gives it up; returns whether it was held (`rt_task_set_mode`). While a
/// task holds it, no task of a priority below 98 preempts it on its CPU. It may wait; then others run.
///
/// # Errors
///
/// [`Error::Permission`]: not a task, or refused by the system, in strict mode. An alarm's handler may call it, without effect.
#[doc(alias = "rt_task_set_mode")]
pub fn set_scheduler_lock(lock: bool) -> Result<bool> {
    control::set_lock(lock)
}

/// Suspends the calling task until it is resumed, or until somebody unblocks it: [`Error::Interrupted`] then (2.x
/// `rt_task_suspend`).
///
/// # Errors
///
/// [`Error::Permission`]: not a task. [`Error::Interrupted`]: unblocked; this suspension is taken back.
pub fn suspend_until_unblocked() -> Result<()> {
    control::suspend_until_unblocked()
}

/// Whether the calling task holds the scheduler lock.
///
/// # Errors
///
/// [`Error::Permission`]: not a task.
pub fn scheduler_lock() -> Result<bool> {
    if runtime::refuse_handlers().is_err() {
        return Ok(false);
    }
    let (me, _) = runtime::task().ok_or(Error::Permission)?;
    Ok(me.slot.mode.load(Relaxed) & LOCKED != 0)
}

/// Lets equal tasks that are ready run first (`rt_task_yield`).
///
/// # Errors
///
/// [`Error::Permission`]: neither a task nor the initial thread.
#[doc(alias = "rt_task_yield")]
pub fn yield_now() -> Result<()> {
    let _section = Section::enter();
    runtime::me()?;
    sched::yield_now();
    lockstep::yield_now();
    Ok(())
}

/// Sleeps for a time; zero returns at once (`rt_task_sleep`). Signals do not end it.
///
/// # Errors
///
/// [`Error::Permission`]: neither a task nor the initial thread. [`Error::Interrupted`]: unblocked.
/// [`Error::Cancelled`]: the task was asked to end.
#[doc(alias = "rt_task_sleep")]
pub fn sleep(duration: Duration) -> Result<()> {
    let me = runtime::me()?;
    match duration {
        Duration::ZERO => Ok(()),
        time => sleep_until_deadline(me, (Date::now() + time).deadline()),
    }
}

/// Sleeps until a date; `None` sleeps until somebody ends it (`rt_task_sleep_until`).
///
/// # Errors
///
/// As for [`sleep`], and [`Error::TimedOut`]: the date has passed already.
#[doc(alias = "rt_task_sleep_until")]
pub fn sleep_until(date: Option<Date>) -> Result<()> {
    let me = runtime::me()?;
    let deadline = date.map_or(Deadline::NEVER, Date::deadline);
    if deadline.is_over() {
        return Err(Error::TimedOut);
    }
    sleep_until_deadline(me, deadline)
}

fn sleep_until_deadline(me: crate::space::Me<'static>, deadline: Deadline) -> Result<()> {
    let _section = Section::enter();
    let place = me.slot.own_place(me.index);
    {
        let _held = SPACE.lock(&place);
        SPACE.prepare(&me, &place, deadline)?;
        place.site.enqueue(&SPACE, me.index, OWNER);
    }
    match wait::result(SPACE.sleep(&me, &place, deadline)) {
        // What it waited for.
        Err(Error::TimedOut) => Ok(()),
        other => other,
    }
}

/// A task to be made.
///
/// ```
/// let task = alchemy::Task::builder().name("sum").priority(20).spawn(|| (1..=10).sum::<u32>())?;
/// assert_eq!(task.join().unwrap(), 55);
/// # Ok::<(), alchemy::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Builder(Settings);

impl Builder {
    /// At most 31 bytes, longer ones are cut; empty, or not set, for a generated one.
    pub fn name(mut self, name: &str) -> Builder {
        self.0.name = Name::new(name.as_bytes());
        self
    }

    /// 0 to 99; 0 if not set.
    pub fn priority(mut self, priority: u32) -> Builder {
        self.0.priority = priority;
        self
    }

    /// Bytes of stack; [`MIN_STACK`] if not set or less.
    pub fn stack_size(mut self, bytes: usize) -> Builder {
        self.0.stack = bytes;
        self
    }

    /// Makes and starts the task (`rt_task_spawn`). Where it has the higher priority, it is about to enter `body` when this
    /// returns.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: priority above 99, or a stack of absurd size. [`Error::Exists`]: a live task has the name.
    /// [`Error::NoMemory`]: no memory, or too many tasks. [`Error::ThreadLimit`]: the system refuses another thread.
    /// [`Error::Permission`]: refused by the system, in strict mode; or called by an alarm's handler. [`Error::Busy`]: somebody else found the task by its
    /// name and started it first, with an entry of theirs.
    #[doc(alias = "rt_task_spawn")]
    pub fn spawn<T, F>(self, body: F) -> Result<JoinHandle<T>>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        struct Job<T, F> {
            body: F,
            packet: Arc<Packet<T>>,
        }
        #[allow(unsafe_code)]
        unsafe extern "C-unwind" fn run<T, F: FnOnce() -> T>(job: *mut c_void) {
            // SAFETY: `spawn` leaked a box of this very type for the one start of this task.
            let job = unsafe { Box::from_raw(job.cast::<Job<T, F>>()) };
            let Job { body, packet } = *job;
            let result = std::panic::catch_unwind(AssertUnwindSafe(body));
            *packet.lock() = Some(result);
        }
        let task = Task::create(self.0, |_, _| ())?;
        let packet = Arc::new(Packet::new(None));
        let job = Box::into_raw(Box::new(Job { body, packet: packet.clone() }));
        // SAFETY: `run` gets the box it expects, once; body and result may cross threads.
        #[allow(unsafe_code)]
        let started = unsafe { task.start(run::<T, F>, job.cast()) };
        if started == Ok(true) {
            return Ok(JoinHandle { task, packet: Some(packet) });
        }
        // SAFETY: `run` did not get the box and will not.
        #[allow(unsafe_code)]
        drop(unsafe { Box::from_raw(job) });
        // Not ours any more; it may have ended.
        let _ = body::detach(task.0);
        Err(Error::Busy)
    }
}

type Packet<T> = Mutex<Option<std::thread::Result<T>>>;

/// The right to join a task and to get what its body returned. Dropping it lets the task run on by itself.
#[derive(Debug)]
pub struct JoinHandle<T> {
    task: Task,
    packet: Option<Arc<Packet<T>>>,
}

/// Why a join has no value.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The join failed.
    #[error(transparent)]
    Failed(#[from] Error),
    /// The body panicked, with this payload.
    #[error("the task panicked")]
    Panicked(Box<dyn Any + Send>),
}

impl<T> JoinHandle<T> {
    /// The task.
    pub fn task(&self) -> Task {
        self.task
    }

    /// Waits for the end of the task and returns what its body returned (`rt_task_join`).
    ///
    /// # Errors
    ///
    /// [`JoinError::Panicked`]: the body panicked. [`JoinError::Failed`]: somebody joined it by reference, or it is the
    /// caller itself.
    pub fn join(mut self) -> core::result::Result<T, JoinError> {
        // If this fails the packet stays, and dropping the handle detaches the task.
        self.task.join()?;
        match self.packet.take().and_then(|packet| packet.lock().take()) {
            Some(Ok(value)) => Ok(value),
            Some(Err(payload)) => Err(JoinError::Panicked(payload)),
            None => Err(JoinError::Failed(Error::NotFound)),
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if self.packet.is_some() {
            // It may have been joined by reference.
            let _ = body::detach(self.task.0);
        }
    }
}
