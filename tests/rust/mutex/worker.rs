//! Tasks that lock when told to, and what a look at a mutex shows.

use std::sync::mpsc;

use alchemy::{Date, Error, JoinHandle, LockError, MutexGuard, MutexRef, Task, Timeout};

use super::kit::{LONG, as_task, until, value};

pub type Outcome = Result<(), Error>;
pub type Order = Box<dyn FnOnce(&mut Vec<MutexGuard>) + Send>;

/// A task that does one thing at a time when told to, and keeps what it locks.
pub struct Worker {
    task: JoinHandle<()>,
    pub tid: u32,
    orders: mpsc::Sender<Order>,
}

impl Worker {
    pub fn start(priority: u32) -> Worker {
        let (orders, told) = mpsc::channel::<Order>();
        let body = move || {
            let mut held = Vec::new();
            told.into_iter().for_each(|order| order(&mut held));
            // The last one locked first.
            while held.pop().is_some() {}
        };
        let task = Task::builder().priority(priority).spawn(body).unwrap();
        let tid = task.task().inquire().unwrap().tid;
        Worker { task, tid, orders }
    }

    pub fn task(&self) -> Task {
        self.task.task()
    }

    /// Tells it; does not wait for it.
    pub fn tell<T: Send + 'static>(
        &self,
        order: impl FnOnce(&mut Vec<MutexGuard>) -> T + Send + 'static,
    ) -> mpsc::Receiver<T> {
        let (tell, told) = mpsc::channel();
        self.orders.send(Box::new(move |held| tell.send(order(held)).unwrap_or_default())).unwrap();
        told
    }

    pub fn ask<T: Send + 'static>(&self, order: impl FnOnce(&mut Vec<MutexGuard>) -> T + Send + 'static) -> T {
        self.tell(order).recv().expect("the worker panicked")
    }

    pub fn lock(&self, mutex: MutexRef, timeout: impl Into<Timeout>) -> Outcome {
        let timeout = timeout.into();
        self.ask(move |held| keep(held, mutex.lock(timeout)))
    }

    pub fn try_lock(&self, mutex: MutexRef) -> Outcome {
        self.ask(move |held| keep(held, mutex.try_lock()))
    }

    /// Has it lock what it has to wait for; returns when it sleeps.
    pub fn queue_up(&self, mutex: MutexRef, timeout: impl Into<Timeout>) -> mpsc::Receiver<Outcome> {
        let waiters = mutex.inquire().unwrap().waiters;
        let timeout = timeout.into();
        let outcome = self.tell(move |held| keep(held, mutex.lock(timeout)));
        until(|| mutex.inquire().unwrap().waiters > waiters && is_asleep(self.tid));
        outcome
    }

    /// Drops the guard that it got last.
    pub fn unlock(&self) {
        self.ask(|held| drop(held.pop().expect("nothing is locked")));
    }

    /// Ends it, with what it holds.
    pub fn die(self) {
        self.ask(|held| held.drain(..).for_each(std::mem::forget));
        self.end();
    }

    pub fn end(self) {
        drop(self.orders);
        value(self.task);
    }
}

pub fn end_all(workers: impl IntoIterator<Item = Worker>) {
    workers.into_iter().for_each(Worker::end);
}

pub fn keep(held: &mut Vec<MutexGuard>, locked: Result<MutexGuard, LockError>) -> Outcome {
    match locked {
        Ok(guard) => {
            held.push(guard);
            Ok(())
        }
        Err(LockError::OwnerDied(guard)) => {
            held.push(guard);
            Err(Error::OwnerDead)
        }
        Err(LockError::Failed(error)) => Err(error),
    }
}

/// Whether the kernel has put the thread to sleep.
pub fn is_asleep(tid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

/// Whether the thread runs, or sleeps in the kernel's queue of a mutex.
pub fn may_be_queued_in_kernel(tid: u32) -> bool {
    // The number of the system call and its arguments, or "running".
    let call = std::fs::read_to_string(format!("/proc/self/task/{tid}/syscall")).expect("no look at system calls here");
    let mut numbers = call.split_whitespace();
    if numbers.next() != Some(libc::SYS_futex.to_string().as_str()) {
        return true;
    }
    let operation = numbers.nth(1).and_then(|hex| i32::from_str_radix(hex.trim_start_matches("0x"), 16).ok());
    let operation = operation.expect("an argument") & !libc::FUTEX_PRIVATE_FLAG;
    operation == libc::FUTEX_LOCK_PI || operation == libc::FUTEX_LOCK_PI2
}

/// What locking gives, undone at once.
pub fn outcome(locked: Result<MutexGuard, LockError>) -> Outcome {
    locked.map(drop).map_err(Error::from)
}

pub fn depth(mutex: MutexRef) -> u32 {
    mutex.inquire().unwrap().depth
}

pub fn owner(mutex: MutexRef) -> Option<Task> {
    mutex.inquire().unwrap().owner()
}

/// Nobody has it and nobody wants it, a task can lock it, and its last owner unlocked it.
pub fn assert_free(mutex: MutexRef) {
    let seen = mutex.inquire().unwrap();
    assert_eq!((seen.owner(), seen.depth, seen.waiters), (None, 0, 0));
    assert_eq!(as_task(move || outcome(mutex.try_lock())), Ok(()));
}

pub fn assert_stale(mutex: MutexRef) {
    as_task(move || {
        assert_eq!(outcome(mutex.lock(Timeout::INFINITE)), Err(Error::Invalid));
        assert_eq!(outcome(mutex.lock(LONG)), Err(Error::Invalid));
        assert_eq!(outcome(mutex.try_lock()), Err(Error::Invalid));
        assert_eq!(mutex.acquire(Timeout::until(Date::from_ticks(1))), Err(Error::Invalid));
    });
    assert_eq!(mutex.release(), Err(Error::Invalid));
    assert_eq!(mutex.inquire().map(|_| ()), Err(Error::Invalid));
    assert_eq!(mutex.delete(), Err(Error::Invalid));
    assert_eq!(mutex.delete_by_force(), Err(Error::Invalid));
}
