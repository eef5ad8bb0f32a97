//! A slot through many lives: no handle of an earlier one hits the present one.

use alchemy::task::Status;
use alchemy::{Error, Handle, JoinHandle, Semaphore, Task, Timeout};

use super::Progress;
use super::kit::{until_status, value};

/// The slot in a handle.
fn slot(handle: Handle) -> u32 {
    handle.to_raw() as u32
}

const GENERATIONS: u64 = 2000;

/// All handles that a slot ever had are tried in each of its generations.
pub fn generations_of_a_semaphore(progress: &mut Progress) {
    let first = Semaphore::new(0).unwrap();
    let wanted = slot(first.handle());
    let mut stale = vec![*first];
    drop(first);
    // The other slots that are free, so that the wanted one is the next in each generation.
    let mut others = Vec::new();
    for generation in 0..GENERATIONS {
        let sem = loop {
            let sem = Semaphore::new(1).unwrap();
            if slot(sem.handle()) == wanted {
                break sem;
            }
            assert!(generation == 0, "another slot is free");
            others.push(sem);
        };
        for old in &stale {
            assert_eq!(old.try_wait(), Err(Error::Invalid));
            assert_eq!(old.post(), Err(Error::Invalid));
            assert_eq!(old.delete(), Err(Error::Invalid));
            assert_eq!(old.inquire(), Err(Error::Invalid));
        }
        assert_eq!(sem.inquire().unwrap().count, 1);
        stale.push(*sem);
        progress.at(generation, GENERATIONS);
    }
    assert_eq!(stale.len() as u64, GENERATIONS + 1);
}

pub fn generations_of_a_task(progress: &mut Progress) {
    let sem = Semaphore::new(0).unwrap();
    let gate = *sem;
    let spawn = || Task::builder().spawn(move || gate.wait(Timeout::INFINITE)).unwrap();
    let finish = |task: JoinHandle<_>| {
        until_status(task.task(), Status::WAIT);
        task.task().request_end().unwrap();
        assert_eq!(value(task), Err(Error::Cancelled));
    };
    let first = spawn();
    let (wanted, mut stale) = (slot(first.task().handle()), vec![first.task()]);
    finish(first);
    let mut others = Vec::new();
    for generation in 0..GENERATIONS {
        let task = loop {
            let task = spawn();
            if slot(task.task().handle()) == wanted {
                break task;
            }
            assert!(generation == 0, "another slot is free");
            others.push(task);
        };
        until_status(task.task(), Status::WAIT);
        for old in &stale {
            assert_eq!(old.request_end(), Err(Error::Invalid));
            assert_eq!(old.join(), Err(Error::NotFound));
            assert_eq!(old.pthread(), Err(Error::Invalid));
        }
        assert_eq!(stale[generation as usize / 2].inquire(), Err(Error::Invalid));
        // Nothing hit the present one.
        assert!(task.task().inquire().unwrap().status.contains(Status::WAIT));
        stale.push(task.task());
        finish(task);
        progress.at(generation, GENERATIONS);
    }
    others.into_iter().for_each(finish);
    assert_eq!(sem.inquire().unwrap().waiters, 0);
}
