//! The kit at work: orders that priorities alone decide, the same in both modes.

use std::process::ExitCode;
use std::time::Duration;

use alchemy::task::{self, Task};
use alchemy::{Mutex, Semaphore, Timeout};
use alchemy_test::{Case, expect, mark};

fn consumer_preempts_producer() {
    let sem = Semaphore::new(0).unwrap();
    let shared = *sem;
    let consumer = Task::builder().priority(10).spawn(move || {
        shared.wait(Timeout::INFINITE).unwrap();
        mark("consumed");
    });
    mark("post");
    sem.post().unwrap();
    mark("posted");
    consumer.unwrap().join().unwrap();
    expect("post consumed posted");
}

fn waiters_are_served_by_priority() {
    let sem = Semaphore::new(0).unwrap();
    let shared = *sem;
    let waiters = [10, 30, 20].map(|priority| {
        let body = move || {
            shared.wait(Timeout::INFINITE).unwrap();
            mark(priority.to_string());
        };
        Task::builder().priority(priority).spawn(body).unwrap()
    });
    (0..3).for_each(|_| sem.post().unwrap());
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    expect("30 20 10");
}

/// The owner inherits from the task that waits, so that one of middle priority cannot keep both from going on.
fn owner_inherits() {
    let mutex = Mutex::new().unwrap();
    let shared = *mutex;
    let boss = Task::builder().priority(40).spawn(move || {
        let low = Task::builder().priority(10).spawn(move || {
            let _guard = shared.lock(Timeout::INFINITE).unwrap();
            mark("low-has-it");
            task::sleep(Duration::from_millis(1)).unwrap();
            mark("low-goes-on");
        });
        task::sleep(Duration::from_micros(100)).unwrap();
        let high = Task::builder().priority(30).spawn(move || {
            mark("high-wants-it");
            let _guard = shared.lock(Timeout::INFINITE).unwrap();
            mark("high-has-it");
        });
        // Time for both.
        task::sleep(Duration::from_millis(20)).unwrap();
        low.unwrap().join().unwrap();
        high.unwrap().join().unwrap();
    });
    boss.unwrap().join().unwrap();
    expect("low-has-it high-wants-it low-goes-on high-has-it");
}

fn suspended_task_stays_where_it_is() {
    let sem = Semaphore::new(0).unwrap();
    let shared = *sem;
    let waiter = Task::builder().priority(20).spawn(move || {
        shared.wait(Timeout::INFINITE).unwrap();
        mark("served");
    });
    let waiter = waiter.unwrap();
    waiter.task().suspend().unwrap();
    sem.post().unwrap();
    mark("posted");
    waiter.task().resume().unwrap();
    mark("resumed");
    waiter.join().unwrap();
    expect("posted served resumed");
}

fn equals_take_turns_when_they_yield() {
    let boss = Task::builder().priority(50).spawn(|| {
        let tasks = ["a", "b"].map(|name| {
            let body = move || {
                for _ in 0..3 {
                    mark(name);
                    task::yield_now().unwrap();
                }
            };
            Task::builder().priority(20).spawn(body).unwrap()
        });
        mark("started");
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
    boss.unwrap().join().unwrap();
    expect("started a b a b a b");
}

fn main() -> ExitCode {
    alchemy_test::main(&[
        Case::new("consumer_preempts_producer", consumer_preempts_producer),
        Case::new("waiters_are_served_by_priority", waiters_are_served_by_priority),
        Case::new("owner_inherits", owner_inherits),
        Case::new("suspended_task_stays_where_it_is", suspended_task_stays_where_it_is),
        Case::new("equals_take_turns_when_they_yield", equals_take_turns_when_they_yield),
    ])
}
