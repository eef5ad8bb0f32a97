//! Tasks by the thousand: what they leave behind, and how they are started.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

use alchemy::task::{MIN_STACK, Settings, Status};
use alchemy::{Error, Name, Semaphore, Task, Timeout};

use super::Progress;
use super::kit::{until, until_ended, until_waiters, value};

/// What the process holds.
#[derive(Clone, Copy, Debug)]
struct Holdings {
    /// KiB in memory.
    resident: u64,
    /// KiB of data and stacks.
    data: u64,
    /// Kernel threads.
    threads: usize,
    /// Bytes of slots in use or used before.
    slots: u64,
}

impl Holdings {
    fn now() -> Holdings {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let field = |name: &str| -> u64 {
            let line = status.lines().find(|line| line.starts_with(name)).expect(name);
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        Holdings {
            resident: field("VmRSS:"),
            data: field("VmData:"),
            threads: std::fs::read_dir("/proc/self/task").unwrap().count(),
            slots: slots(),
        }
    }

    /// Nothing was kept per task: for 100,000 tasks a single byte each would show.
    fn assert_no_more_than(&self, before: &Holdings) {
        eprintln!("{before:?}\n{self:?}");
        assert!(self.resident <= before.resident + 2048, "memory grew");
        assert!(self.data <= before.data + 2048, "data grew");
        assert!(self.threads <= before.threads, "threads are left");
        assert_eq!(self.slots, before.slots, "slots are left");
    }
}

/// The size of the opened part of the segment.
fn slots() -> u64 {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let sizes = maps.lines().filter(|line| line.contains("/memfd:alchemy") && line.contains(" rw")).map(|line| {
        let (start, end) = line.split_whitespace().next().unwrap().split_once('-').unwrap();
        u64::from_str_radix(end, 16).unwrap() - u64::from_str_radix(start, 16).unwrap()
    });
    sizes.sum()
}

pub fn spawns_and_joins(progress: &mut Progress) {
    const WARM_UP: u64 = 2000;
    const ALL: u64 = 100_000;
    let mut before = None;
    for round in 0..WARM_UP + ALL {
        if round == WARM_UP {
            before = Some(Holdings::now());
        }
        let task = Task::builder().priority((round % 3) as u32).spawn(move || vec![round; 10]).unwrap();
        assert_eq!(value(task)[9], round);
        progress.at(round, ALL);
    }
    Holdings::now().assert_no_more_than(&before.unwrap());
}

/// The tasks clean up after themselves, whether they end before or after their handles are dropped.
pub fn spawns_without_joins(progress: &mut Progress) {
    const WARM_UP: u64 = 2000;
    const ALL: u64 = 20_000;
    let mut before = None;
    for round in 0..WARM_UP + ALL {
        if round == WARM_UP {
            before = Some(Holdings::now());
        }
        let task = Task::builder().priority((round % 2) as u32).spawn(move || vec![round; 10]).unwrap();
        let reference = task.task();
        if round % 3 == 0 {
            until_ended(reference);
        }
        drop(task);
        until_ended(reference);
        progress.at(round, ALL);
    }
    // The last ones may still be on their way out.
    let before = before.unwrap();
    until(|| std::fs::read_dir("/proc/self/task").unwrap().count() <= before.threads);
    Holdings::now().assert_no_more_than(&before);
}

/// Creators below, at and above the priority of what they spawn.
pub fn start_handshakes(progress: &mut Progress) {
    const ROUNDS: u64 = 20_000;
    let rounds = Arc::new(AtomicU64::new(0));
    let creators: Vec<_> = [0, 2]
        .map(|own| {
            let rounds = rounds.clone();
            let create = move || {
                let mut ran = 0;
                while rounds.fetch_add(1, Relaxed) < ROUNDS {
                    let count = Arc::new(AtomicU32::new(0));
                    let priority = (rounds.load(Relaxed) % 4) as u32;
                    let body = {
                        let count = count.clone();
                        move || count.fetch_add(1, Relaxed)
                    };
                    let task = Task::builder().priority(priority).spawn(body).unwrap();
                    if priority > own {
                        // In its body, or past it.
                        let seen = task.task().inquire();
                        assert!(seen.is_err() || seen.unwrap().status.contains(Status::ACTIVE), "{seen:?}");
                    }
                    assert_eq!(value(task), 0);
                    assert_eq!(count.load(Relaxed), 1);
                    ran += 1;
                }
                ran
            };
            Task::builder().priority(own).spawn(create).unwrap()
        })
        .into();
    until(|| {
        progress.at(rounds.load(Relaxed), ROUNDS);
        rounds.load(Relaxed) >= ROUNDS
    });
    assert_eq!(creators.into_iter().map(value).sum::<u64>(), ROUNDS);
}

/// One of several starters wins, and its argument is the one that counts.
pub fn starters_at_once(progress: &mut Progress) {
    const ROUNDS: u64 = 2000;
    static STARTED_WITH: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C-unwind" fn entry(arg: *mut std::ffi::c_void) {
        STARTED_WITH.store(arg.addr() as u32, Relaxed);
    }
    for round in 0..ROUNDS {
        STARTED_WITH.store(0, Relaxed);
        let settings = Settings {
            name: Name::default(),
            stack: MIN_STACK,
            priority: (round % 3) as u32,
            joinable: true,
            lock: false,
            co_operative: false,
        };
        let created = Task::create(settings, |_, _| ()).unwrap();
        let go = Semaphore::new(0).unwrap();
        let gate = *go;
        let starters: Vec<_> = (1..=3usize)
            .map(|number| {
                let start = move || {
                    gate.wait(Timeout::INFINITE).unwrap();
                    // SAFETY: `entry` takes any argument on any thread.
                    match unsafe { created.start(entry, std::ptr::without_provenance_mut(number)) } {
                        Ok(first) => first,
                        // It has ended already.
                        Err(error) => error != Error::Invalid,
                    }
                };
                Task::builder().priority(number as u32 - 1).spawn(start).unwrap()
            })
            .collect();
        until_waiters(gate, 3);
        go.broadcast().unwrap();
        let won: Vec<bool> = starters.into_iter().map(value).collect();
        assert_eq!(won.iter().filter(|&&won| won).count(), 1, "{won:?}");
        created.join().unwrap();
        assert!(won[STARTED_WITH.load(Relaxed) as usize - 1]);
        progress.at(round, ROUNDS);
    }
}
