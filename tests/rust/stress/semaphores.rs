//! Posts, waits, broadcasts and deletions against each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::Duration;

use alchemy::task;
use alchemy::{Date, Error, JoinHandle, RelativeTicks, SemMode, SemRef, Semaphore, Task, Timeout, timer};

use super::Progress;
use super::kit::{self, Random, until, value};

/// What posters and waiters did.
#[derive(Default)]
struct Account {
    /// Posts that somebody does or did, or found to be too many.
    claimed: AtomicU64,
    posted: AtomicU64,
    taken: AtomicU64,
    /// Waits that ended otherwise.
    missed: AtomicU64,
    over: AtomicBool,
}

impl Account {
    fn note(&self, waited: alchemy::Result<()>, expected: &[Error]) {
        match waited {
            Ok(()) => self.taken.fetch_add(1, Relaxed),
            Err(error) if expected.contains(&error) => self.missed.fetch_add(1, Relaxed),
            Err(error) => panic!("a wait ended with {error:?}"),
        };
    }

    /// Posts until there were `all` or all is over, never far ahead of the takers. Priority 0, so that it may look about meanwhile.
    fn poster(self: &Arc<Self>, sem: SemRef, all: u64) -> JoinHandle<()> {
        let account = self.clone();
        let over = move |account: &Account| account.over.load(Relaxed);
        let post = move || {
            while !over(&account) && account.claimed.fetch_add(1, Relaxed) < all {
                sem.post().unwrap();
                account.posted.fetch_add(1, Relaxed);
                // The account first, which is the cheaper one; the count lest a lost unit stop the posters.
                while !over(&account)
                    && account.posted.load(Relaxed).saturating_sub(account.done()) > 8
                    && sem.inquire().unwrap().count > 8
                {
                    task::yield_now().unwrap();
                }
            }
        };
        Task::builder().spawn(post).unwrap()
    }

    fn done(&self) -> u64 {
        self.taken.load(Relaxed)
    }

    fn settle(&self, sem: SemRef, all: u64) {
        let seen = sem.inquire().unwrap();
        assert_eq!(seen.waiters, 0);
        assert_eq!(self.posted.load(Relaxed), all);
        assert_eq!(self.taken.load(Relaxed) + u64::from(seen.count), all, "units are missing, or too many");
        eprintln!("{} taken, {} waits missed, {} left", self.done(), self.missed.load(Relaxed), seen.count);
    }
}

/// `all` posts against the waits of tasks of these priorities, each with timeouts that `choose` makes.
fn grants(progress: &mut Progress, all: u64, priorities: &[u32], choose: fn(&mut Random) -> Timeout) {
    let sem = Semaphore::create("", 0, SemMode::PRIORITY).unwrap();
    let reference = *sem;
    let account = Arc::new(Account::default());
    let waiters: Vec<_> = (0..)
        .zip(priorities)
        .map(|(seed, &priority)| {
            let account = account.clone();
            let wait = move || {
                let mut random = Random::new(seed);
                while !account.over.load(Relaxed) {
                    account.note(reference.wait(choose(&mut random)), &[Error::TimedOut, Error::WouldBlock]);
                }
            };
            Task::builder().priority(priority).spawn(wait).unwrap()
        })
        .collect();
    let posters = [account.poster(reference, all), account.poster(reference, all)];
    until(|| {
        progress.at(account.done(), all);
        account.posted.load(Relaxed) >= all
    });
    posters.into_iter().for_each(value);
    account.over.store(true, Relaxed);
    waiters.into_iter().for_each(value);
    account.settle(reference, all);
}

pub fn grants_against_timeouts_of_equals(progress: &mut Progress) {
    grants(progress, 500_000, &[0, 0, 0], |random| match random.below(8) {
        0 => Timeout::NONE,
        1 => Duration::ZERO.into(),
        2 => Timeout::until(Date::now()),
        3 => Duration::from_nanos(random.below(2000)).into(),
        _ => Duration::from_nanos(random.below(60_000)).into(),
    });
}

pub fn grants_against_timeouts_of_ranks(progress: &mut Progress) {
    // Above the posters, so never without a sleep.
    grants(progress, 500_000, &[1, 2, 2, 3], |random| match random.below(4) {
        0 => RelativeTicks(20_000 + random.below(20_000)).into(),
        1 => Timeout::until(Date::now() + Duration::from_nanos(15_000 + random.below(50_000))),
        _ => Duration::from_nanos(20_000 + random.below(100_000)).into(),
    });
}

/// The waiters are asked to end at random, in and out of waits, and others take their places.
pub fn grants_against_requests_to_end(progress: &mut Progress) {
    const ENDS: u64 = 4000;
    let sem = Semaphore::create("", 0, SemMode::PRIORITY).unwrap();
    let reference = *sem;
    let account = Arc::new(Account::default());
    let posters = [account.poster(reference, u64::MAX), account.poster(reference, u64::MAX)];
    let ended = Arc::new(AtomicU64::new(0));
    // Above the waiters: it hits them wherever they are.
    let account_of_waiters = account.clone();
    let count = ended.clone();
    let hunter = Task::builder().priority(3).spawn(move || {
        let waiter = |priority, seed| {
            let account = account_of_waiters.clone();
            Task::builder().priority(priority).spawn(move || wait_to_the_end(reference, &account, seed)).unwrap()
        };
        let mut waiters: Vec<_> = [0, 0, 1, 2].map(|priority| (priority, waiter(priority, 1))).into();
        let mut random = Random::new(77);
        for round in 0..ENDS {
            let (priority, victim) = waiters.swap_remove(random.below(4) as usize);
            victim.task().request_end().unwrap();
            value(victim);
            waiters.push((priority, waiter(priority, round)));
            count.store(round, Relaxed);
            if random.below(4) == 0 {
                task::sleep(Duration::from_nanos(random.below(300_000))).unwrap();
            }
        }
        // The posters first, who need takers.
        account_of_waiters.over.store(true, Relaxed);
        posters.into_iter().for_each(value);
        for (_, waiter) in waiters {
            waiter.task().request_end().unwrap();
            value(waiter);
        }
    });
    let hunter = hunter.unwrap();
    until(|| {
        progress.at(ended.load(Relaxed), ENDS);
        hunter.task().inquire().is_err()
    });
    value(hunter);
    account.settle(reference, account.posted.load(Relaxed));
}

/// Waits again and again until asked to end.
fn wait_to_the_end(sem: SemRef, account: &Account, seed: u64) {
    let mut random = Random::new(seed);
    loop {
        let timeout = match random.below(3) {
            0 => Timeout::INFINITE,
            1 => Duration::from_nanos(20_000 + random.below(40_000)).into(),
            _ => Duration::from_millis(5).into(),
        };
        let waited = sem.wait(timeout);
        account.note(waited, &[Error::TimedOut, Error::Cancelled]);
        // A unit that is there is taken all the same.
        if waited == Err(Error::Cancelled) || waited.is_ok() && task::request_end_pending() {
            return;
        }
    }
}

/// A request meets a wait just as it begins; nothing else would ever end it.
pub fn requests_to_end_against_waits(progress: &mut Progress) {
    const ROUNDS: u64 = 20_000;
    let sem = Semaphore::new(0).unwrap();
    let gate = *sem;
    let mut random = Random::new(5);
    for round in 0..ROUNDS {
        let wait = move || match round % 4 {
            0 => task::sleep_until(None),
            1 => Semaphore::bind("stress-never-made", Timeout::INFINITE).map(|_| ()),
            2 => gate.wait(kit::LONG),
            _ => gate.wait(Timeout::INFINITE),
        };
        let task = Task::builder().priority((round % 3) as u32).spawn(wait).unwrap();
        timer::spin(random.below(10_000));
        task.task().request_end().unwrap();
        assert_eq!(value(task), Err(Error::Cancelled));
        progress.at(round, ROUNDS);
    }
    assert_eq!(sem.inquire().unwrap().waiters, 0);
}

/// Nobody hangs, and a pulse never leaves a unit.
pub fn pulses_and_broadcasts_under_load(progress: &mut Progress) {
    const ROUNDS: u64 = 50_000;
    let sem = Semaphore::create("", 0, SemMode::PULSE | SemMode::PRIORITY).unwrap();
    let reference = *sem;
    let account = Arc::new(Account::default());
    let waiters: Vec<_> = [0, 0, 1, 2]
        .map(|priority| {
            let account = account.clone();
            let wait = move || {
                let mut random = Random::new(3);
                while !account.over.load(Relaxed) {
                    let timeout = Duration::from_nanos(10_000 + random.below(50_000));
                    account.note(reference.wait(timeout), &[Error::TimedOut]);
                }
            };
            Task::builder().priority(priority).spawn(wait).unwrap()
        })
        .into();
    for round in 0..ROUNDS {
        match round % 3 {
            0 => reference.broadcast(),
            _ => reference.post(),
        }
        .unwrap();
        assert_eq!(reference.inquire().unwrap().count, 0);
        progress.at(round, ROUNDS);
    }
    account.over.store(true, Relaxed);
    waiters.into_iter().for_each(value);
    let seen = reference.inquire().unwrap();
    assert_eq!((seen.count, seen.waiters), (0, 0));
}

/// A semaphore is deleted and made anew under its name while tasks wait for it, post to it and look it up.
pub fn deletion_under_load(progress: &mut Progress) {
    const ROUNDS: u64 = 1000;
    const NAME: &str = "stress-deleted";
    let make = || Semaphore::create(NAME, 0, SemMode::PRIORITY).unwrap().leak();
    let counts: Arc<[AtomicU64; 3]> = Arc::default();
    let worker = |seed: u64, priority: u32| {
        let counts = counts.clone();
        let work = move || {
            let mut random = Random::new(seed);
            'bind: loop {
                // Absent for a moment in each round.
                let sem = match Semaphore::bind(NAME, Timeout::INFINITE) {
                    Ok(sem) => sem,
                    Err(error) => return assert_eq!(error, Error::Cancelled),
                };
                loop {
                    let result = match random.below(5) {
                        0 => sem.post(),
                        1 => sem.wait(Duration::from_nanos(random.below(20_000))),
                        _ => sem.wait(Timeout::INFINITE),
                    };
                    match result {
                        Ok(()) | Err(Error::TimedOut) => counts[0].fetch_add(1, Relaxed),
                        Err(Error::Removed) => counts[1].fetch_add(1, Relaxed),
                        Err(Error::Invalid) => counts[2].fetch_add(1, Relaxed),
                        Err(Error::Cancelled) => return,
                        Err(error) => panic!("{error:?}"),
                    };
                    if matches!(result, Err(Error::Removed | Error::Invalid)) {
                        continue 'bind;
                    }
                }
            }
        };
        Task::builder().priority(priority).spawn(work).unwrap()
    };
    let mut sem = make();
    let workers: Vec<_> = (1..).zip([0, 0, 1, 2]).map(|(seed, priority)| worker(seed, priority)).collect();
    let mut random = Random::new(99);
    for round in 0..ROUNDS {
        // At a different depth each time: somewhere between at once and everybody waiting.
        let waiters = random.below(5) as u32;
        let mut patience = random.below(200);
        until(|| {
            patience = patience.saturating_sub(1);
            patience == 0 || sem.inquire().unwrap().waiters >= waiters
        });
        sem.delete().unwrap();
        assert_eq!(sem.post(), Err(Error::Invalid));
        sem = make();
        progress.at(round, ROUNDS);
    }
    for worker in workers {
        worker.task().request_end().unwrap();
        value(worker);
    }
    assert_eq!(sem.inquire().unwrap().waiters, 0);
    sem.delete().unwrap();
    let [done, removed, stale] = [0, 1, 2].map(|i| counts[i].load(Relaxed));
    eprintln!("{done} done, {removed} removed, {stale} stale");
    assert!(removed > 0);
}
