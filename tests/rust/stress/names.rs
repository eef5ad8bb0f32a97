//! A few names that everybody wants.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::Duration;

use alchemy::{Error, SemMode, Semaphore, Task, Timeout, task};

use super::Progress;
use super::kit::{Random, until, value};

/// Tasks make, look up and delete semaphores under the same few names.
pub fn names_contested(progress: &mut Progress) {
    const ROUNDS: u64 = 20_000;
    const NAMES: [&str; 3] = ["stress-a", "stress-b", "stress-c"];
    #[derive(Default)]
    struct Name {
        made: AtomicU64,
        deleted: AtomicU64,
    }
    let names: Arc<[Name; 3]> = Arc::default();
    let rounds = Arc::new(AtomicU64::new(0));
    let workers: Vec<_> = (0..)
        .zip([0, 0, 1, 2])
        .map(|(seed, priority)| {
            let (names, rounds) = (names.clone(), rounds.clone());
            let work = move || {
                let mut random = Random::new(seed + 5);
                while rounds.fetch_add(1, Relaxed) < ROUNDS {
                    let which = random.below(3) as usize;
                    let found = match random.below(4) {
                        0 => match Semaphore::create(NAMES[which], 1, SemMode::PRIORITY) {
                            Ok(sem) => {
                                names[which].made.fetch_add(1, Relaxed);
                                Ok(sem.leak())
                            }
                            Err(error) => {
                                assert_eq!(error, Error::Exists);
                                continue;
                            }
                        },
                        1 => Semaphore::bind(NAMES[which], Timeout::NONE),
                        _ => Semaphore::bind(NAMES[which], Duration::from_nanos(1000 + random.below(100_000))),
                    };
                    let sem = match found {
                        Ok(sem) => sem,
                        Err(error) => {
                            assert!(matches!(error, Error::WouldBlock | Error::TimedOut), "{error:?}");
                            continue;
                        }
                    };
                    match sem.inquire() {
                        Ok(seen) => assert_eq!(seen.name, alchemy::Name::new(NAMES[which].as_bytes())),
                        Err(error) => assert_eq!(error, Error::Invalid),
                    }
                    assert!(matches!(sem.post(), Ok(()) | Err(Error::Invalid)));
                    // Everybody deletes what they find; for each object one does.
                    if random.below(2) == 0 {
                        match sem.delete() {
                            Ok(()) => _ = names[which].deleted.fetch_add(1, Relaxed),
                            Err(error) => assert_eq!(error, Error::Invalid),
                        }
                        assert_eq!(sem.delete(), Err(Error::Invalid));
                    }
                }
            };
            Task::builder().priority(priority).spawn(work).unwrap()
        })
        .collect();
    // Without a limit: whoever waits for a name that comes again and again gets it.
    let over = Arc::new(AtomicBool::new(false));
    let patient: Vec<_> = NAMES
        .map(|name| {
            let over = over.clone();
            let bind = move || {
                let mut found = 0u64;
                while !over.load(Relaxed) {
                    match Semaphore::bind(name, Timeout::INFINITE) {
                        Ok(sem) => found += u64::from(matches!(sem.post(), Ok(()) | Err(Error::Invalid))),
                        Err(error) => assert_eq!(error, Error::Cancelled),
                    }
                    let _ = task::sleep(Duration::from_micros(50));
                }
                found
            };
            Task::builder().spawn(bind).unwrap()
        })
        .into();
    until(|| {
        progress.at(rounds.load(Relaxed), ROUNDS);
        rounds.load(Relaxed) >= ROUNDS
    });
    workers.into_iter().for_each(value);
    over.store(true, Relaxed);
    for task in patient {
        // It may have seen the end by itself.
        let _ = task.task().request_end();
        assert!(value(task) > 0);
    }
    for (text, name) in NAMES.into_iter().zip(&*names) {
        let left = name.made.load(Relaxed) - name.deleted.load(Relaxed);
        let found = Semaphore::bind(text, Timeout::NONE);
        eprintln!("{text}: {} made, {left} left", name.made.load(Relaxed));
        assert_eq!(left, found.is_ok().into(), "{text}");
        found.into_iter().for_each(|sem| sem.delete().unwrap());
        assert_eq!(Semaphore::bind(text, Timeout::NONE), Err(Error::WouldBlock));
    }
}
