//! Mutexes whose owners and waiters are asked to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::thread;
use std::time::Duration;

use alchemy::{Error, LockError, Mutex, Task, Timeout, task, timer};

use super::Progress;
use super::kit::{Random, value};

/// Tasks are asked to end while they wait for a mutex, are handed it, or have it. Their guards are dropped in any case: nobody is
/// ever told of a death, and nobody was in there with another.
pub(super) fn requests_to_end_against_locks(progress: &mut Progress) {
    const ENDS: u64 = 4000;
    let mutex = Mutex::new().unwrap();
    let reference = *mutex;
    // Changed by the owner only, in two steps; and the same by all of them at once.
    let (inside, entered) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let worker = |seed: u64| {
        let (inside, entered) = (inside.clone(), entered.clone());
        let work = move || {
            let mut random = Random::new(seed);
            loop {
                let timeout = match random.below(4) {
                    0 => Duration::from_nanos(random.below(40_000)).into(),
                    1 => Timeout::NONE,
                    _ => Timeout::INFINITE,
                };
                match reference.lock(timeout) {
                    Ok(_guard) => {
                        let seen = inside.load(Relaxed);
                        if seen % 16 == 0 {
                            thread::yield_now();
                        }
                        inside.store(seen + 1, Relaxed);
                        entered.fetch_add(1, Relaxed);
                    }
                    Err(LockError::OwnerDied(_)) => panic!("nobody died"),
                    Err(LockError::Failed(Error::TimedOut | Error::WouldBlock)) => {}
                    Err(LockError::Failed(error)) => assert_eq!(error, Error::Cancelled),
                }
                if task::request_end_pending() {
                    return;
                }
            }
        };
        Task::builder().spawn(work).unwrap()
    };
    let mut random = Random::new(78);
    let mut workers: Vec<_> = (0..4).map(worker).collect();
    for round in 0..ENDS {
        timer::spin(random.below(50_000));
        let victim = workers.swap_remove(random.below(4) as usize);
        victim.task().request_end().unwrap();
        value(victim);
        workers.push(worker(round));
        progress.at(round, ENDS);
    }
    for worker in workers {
        worker.task().request_end().unwrap();
        value(worker);
    }
    let seen = mutex.inquire().unwrap();
    assert_eq!((seen.owner(), seen.depth, seen.waiters), (None, 0, 0));
    assert_eq!(inside.load(Relaxed), entered.load(Relaxed));
    eprintln!("{} times locked", entered.load(Relaxed));
    assert_eq!(mutex.delete(), Ok(()));
}
