//! Alarms through the Rust interface, and what only a whole process shows: forks, its end, and limits.

mod kit;

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex as StdMutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use alchemy::task::Status;
use alchemy::{Alarm, AlarmRef, Date, Error, Mutex, SemMode, Semaphore, Task, Timeout};
use kit::{LONG, Random, SHORT, Watchdog, as_plain, as_task, behind, gate, until, until_status, value};

const ONCE: Duration = Duration::ZERO;
const NOW: Duration = Duration::ZERO;

/// An alarm that counts its calls.
fn counter() -> (Alarm, Arc<AtomicU32>) {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let alarm = Alarm::new("", move || {
        counted.fetch_add(1, SeqCst);
    });
    (alarm.unwrap(), calls)
}

/// Runs this in a handler and returns what it returns.
fn in_handler<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    let mut work = Some(work);
    let alarm = Alarm::new("", move || {
        if let Some(work) = work.take() {
            tell.send(work()).unwrap();
        }
    });
    let alarm = alarm.unwrap();
    alarm.start(NOW, ONCE).unwrap();
    told.recv().unwrap()
}

/// Runs this in a child of a fork, which ends with the status it returns; returns the status.
#[allow(unsafe_code)]
fn in_child(work: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child runs `work` and nothing else of this process.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            libc::_exit(result.unwrap_or(99));
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert!(libc::WIFEXITED(status), "{status:x}");
        libc::WEXITSTATUS(status)
    }
}

#[test]
fn expiries_are_on_a_grid_and_counted() {
    let _dog = Watchdog::new();
    let dates = Arc::new(StdMutex::new(Vec::new()));
    let noted = dates.clone();
    let alarm = Alarm::new("grid", move || noted.lock().unwrap().push(Date::now())).unwrap();
    let (begun, period) = (Date::now(), Duration::from_millis(4));
    alarm.start(SHORT, period).unwrap();
    until(|| dates.lock().unwrap().len() >= 10);
    alarm.stop().unwrap();
    let info = alarm.inquire().unwrap();
    let dates = dates.lock().unwrap();
    assert!(!info.active && info.remaining == Duration::ZERO && info.name.to_text() == "grid");
    assert!(info.expiries >= dates.len() as u64);
    for (i, &date) in dates.iter().enumerate() {
        assert!(date - begun >= SHORT + period * i as u32, "call {i} was early");
    }
}

#[test]
fn a_single_expiry_disarms_before_the_call() {
    let _dog = Watchdog::new();
    let own = Arc::new(StdMutex::new(None::<AlarmRef>));
    let (tell, told) = mpsc::channel();
    let known = own.clone();
    let alarm = Alarm::new("", move || {
        let alarm = known.lock().unwrap().unwrap();
        let before = alarm.inquire().unwrap();
        if before.expiries < 3 {
            alarm.start(SHORT, ONCE).unwrap();
        }
        tell.send((before, alarm.inquire().unwrap())).unwrap();
    });
    let alarm = alarm.unwrap();
    *own.lock().unwrap() = Some(*alarm);
    alarm.start(NOW, ONCE).unwrap();
    for call in 1..=3 {
        let (before, after) = told.recv().unwrap();
        assert_eq!((before.expiries, before.active), (call, false));
        assert_eq!(after.active, call < 3);
        assert!(call == 3 || after.remaining <= SHORT);
    }
    assert!(!alarm.inquire().unwrap().active);
}

#[test]
fn what_a_handler_may_and_may_not() {
    let _dog = Watchdog::new();
    let empty = gate();
    let suspended = Task::builder().spawn(|| alchemy::task::current().unwrap().suspend()).unwrap();
    until_status(suspended.task(), Status::SUSPENDED);
    let mutex = Mutex::new().unwrap();
    let (sem, task, mutex_ref, sem_ref) = (*empty, suspended.task(), *mutex, *empty);
    in_handler(move || {
        let denied = Error::Permission;
        assert_eq!(alchemy::task::current(), None);
        assert_eq!(alchemy::task::sleep(SHORT), Err(denied));
        assert_eq!(alchemy::task::sleep(Duration::ZERO), Err(denied));
        assert_eq!(alchemy::task::yield_now(), Err(denied));
        assert_eq!(alchemy::task::wait_period(), Err(denied));
        assert_eq!(alchemy::task::set_scheduler_lock(true), Ok(false));
        assert_eq!(alchemy::task::scheduler_lock(), Ok(false));
        assert_eq!(Task::builder().spawn(|| ()).err(), Some(denied));
        assert_eq!(Task::shadow("", 0).err(), Some(denied));
        assert_eq!(task.delete(), Err(denied));
        assert_eq!(task.join(), Err(denied));
        assert_eq!(Semaphore::create("", 0, SemMode::PRIORITY).err(), Some(denied));
        assert_eq!(sem_ref.delete(), Err(denied));
        assert_eq!(sem.wait(Duration::from_millis(1)), Err(denied));
        assert_eq!(sem.wait(Timeout::INFINITE), Err(denied));
        assert_eq!(sem.wait(Timeout::NONE), Err(Error::WouldBlock));
        assert_eq!(sem.post(), Ok(()));
        assert_eq!(sem.wait(Timeout::INFINITE), Ok(()));
        assert_eq!(Semaphore::bind("nobody's", Timeout::NONE).err(), Some(Error::WouldBlock));
        assert_eq!(Semaphore::bind("nobody's", SHORT).err(), Some(denied));
        assert_eq!(Mutex::new().err(), Some(denied));
        assert_eq!(mutex_ref.acquire(Timeout::NONE), Err(denied));
        assert_eq!(mutex_ref.inquire().err(), Some(denied));
        assert_eq!(mutex_ref.delete(), Err(denied));
        assert_eq!(mutex_ref.delete_by_force(), Err(denied));
        assert!(task.inquire().is_ok());
        assert_eq!(task.set_priority(3), Ok(0));
        let alarm = Alarm::new("in a handler", || ()).unwrap();
        assert_eq!(alarm.wait(), Err(denied));
        assert_eq!(alarm.start(LONG, ONCE), Ok(()));
        assert_eq!(alarm.stop(), Ok(()));
        assert_eq!(alarm.delete(), Ok(()));
        assert_eq!(alarm.inquire().err(), Some(Error::Invalid));
        assert_eq!(task.resume(), Ok(()));
    });
    assert_eq!(value(suspended), Ok(()));
    assert_eq!(mutex.inquire().unwrap().depth, 0);
}

#[test]
fn a_panic_ends_the_call_and_not_the_alarm() {
    let _dog = Watchdog::new();
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let alarm = Alarm::new("", move || {
        if counted.fetch_add(1, SeqCst) < 2 {
            panic!("as planned");
        }
    });
    let alarm = alarm.unwrap();
    alarm.start(NOW, Duration::from_millis(1)).unwrap();
    until(|| calls.load(SeqCst) >= 4);
    let (other, called) = counter();
    other.start(NOW, ONCE).unwrap();
    until(|| called.load(SeqCst) == 1);
}

/// Says that it is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn a_closure_lives_as_long_as_its_call() {
    let _dog = Watchdog::new();
    let gone = Arc::new(AtomicBool::new(false));
    // Idle: dropped by the deleter.
    let mark = Dropped(gone.clone());
    let alarm = Alarm::new("", move || _ = &mark).unwrap();
    drop(alarm);
    assert!(gone.swap(false, SeqCst));
    // A name that is taken: dropped at once.
    let mark = Dropped(gone.clone());
    let first = Alarm::new("twice", || ()).unwrap();
    assert_eq!(Alarm::new("twice", move || _ = &mark).err(), Some(Error::Exists));
    assert!(gone.swap(false, SeqCst));
    drop(first);
    // In the middle of its call: by the server, afterwards.
    for by_itself in [false, true] {
        let (tell, told) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let own = Arc::new(StdMutex::new(None::<AlarmRef>));
        let (mark, known, seen) = (Dropped(gone.clone()), own.clone(), gone.clone());
        let alarm = Alarm::new("busy", move || {
            let _ = &mark;
            if by_itself {
                known.lock().unwrap().unwrap().delete().unwrap();
            }
            tell.send(()).unwrap();
            wait.recv().unwrap();
            assert!(!seen.load(SeqCst));
        });
        let alarm = alarm.unwrap().leak();
        *own.lock().unwrap() = Some(alarm);
        alarm.start(NOW, Duration::from_millis(1)).unwrap();
        told.recv().unwrap();
        assert_eq!(alarm.delete(), if by_itself { Err(Error::Invalid) } else { Ok(()) });
        assert!(!gone.load(SeqCst));
        // Name and slot are free, while the old one still runs.
        let again = Alarm::new("busy", || ()).unwrap();
        assert_eq!(again.start(LONG, ONCE), Ok(()));
        drop(again);
        assert!(!gone.load(SeqCst));
        go.send(()).unwrap();
        until(|| gone.load(SeqCst));
        gone.store(false, SeqCst);
        assert_eq!(told.recv().err(), Some(mpsc::RecvError), "it was called again");
    }
}

#[test]
fn a_slow_handler_leaves_time_to_others() {
    let _dog = Watchdog::new();
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let alarm = Alarm::new("", move || {
        counted.fetch_add(1, SeqCst);
        alchemy::timer::spin(12_000_000);
    });
    let alarm = alarm.unwrap();
    // On its CPU, and below it.
    let runs = Arc::new(AtomicU32::new(0));
    let end = Arc::new(AtomicBool::new(false));
    let (ran, ends) = (runs.clone(), end.clone());
    let low = Task::builder().priority(1).spawn(move || {
        while !ends.load(SeqCst) {
            ran.fetch_add(1, SeqCst);
            alchemy::task::sleep(Duration::from_micros(100)).unwrap();
        }
    });
    let low = low.unwrap();
    alarm.start(NOW, Duration::from_millis(4)).unwrap();
    until(|| calls.load(SeqCst) >= 4);
    let before = runs.load(SeqCst);
    until(|| runs.load(SeqCst) > before + 3);
    alarm.stop().unwrap();
    let info = alarm.inquire().unwrap();
    assert!(info.expiries > u64::from(calls.load(SeqCst)) + 2, "{info:?}");
    end.store(true, SeqCst);
    value(low);
}

#[test]
fn equal_dates_in_order_of_arming_and_the_rest_by_date() {
    let _dog = Watchdog::new();
    let count = 12_000;
    let order = Arc::new(StdMutex::new(Vec::with_capacity(count)));
    let mut random = Random::new(5);
    let alarms: Vec<_> = (0..count)
        .map(|i| {
            let noted = order.clone();
            Alarm::new("", move || noted.lock().unwrap().push(i)).unwrap()
        })
        .collect();
    let mut due = vec![0; count];
    for (i, alarm) in alarms.iter().enumerate() {
        // Far enough for all to be armed before the first is due.
        let delay = 2_000 + random.below(200);
        due[i] = Date::now().as_nanos() / 1_000_000 + delay;
        alarm.start(Duration::from_millis(delay), ONCE).unwrap();
    }
    until(|| order.lock().unwrap().len() == count);
    let order = order.lock().unwrap();
    // The dates are known to a millisecond, or what preemption made of it; so only larger steps back are wrong.
    let mut latest = 0;
    for &i in order.iter() {
        assert!(due[i] + 1_000 > latest, "{} after {latest}", due[i]);
        latest = latest.max(due[i]);
    }
    let mut each = order.clone();
    each.sort_unstable();
    assert!(each.iter().copied().eq(0..count), "each once");
    assert!(alarms.iter().all(|alarm| alarm.inquire().unwrap().expiries == 1));
}

#[test]
fn waiters_wait_for_the_next_expiry() {
    let _dog = Watchdog::new();
    let alarm = Alarm::silent("2.x").unwrap();
    let shared = *alarm;
    let wait = || Task::builder().priority(7).spawn(move || shared.wait()).unwrap();
    // An expiry without waiters is not remembered.
    alarm.start(NOW, ONCE).unwrap();
    until(|| alarm.inquire().unwrap().expiries == 1);
    let waiters = [wait(), wait(), wait()];
    for waiter in &waiters {
        until_status(waiter.task(), Status::WAIT);
        let info = waiter.task().inquire().unwrap();
        assert_eq!((info.priority, info.effective_priority()), (7, 99));
    }
    alarm.start(NOW, ONCE).unwrap();
    for waiter in waiters {
        assert_eq!(value(waiter), Ok(()));
    }
    let unblocked = wait();
    until_status(unblocked.task(), Status::WAIT);
    unblocked.task().unblock().unwrap();
    assert_eq!(value(unblocked), Err(Error::Interrupted));
    let ended = wait();
    until_status(ended.task(), Status::WAIT);
    ended.task().request_end().unwrap();
    assert_eq!(value(ended), Err(Error::Cancelled));
    assert_eq!(as_plain(move || shared.wait()), Err(Error::Permission));
    let removed = [wait(), wait()];
    removed.iter().for_each(|task| until_status(task.task(), Status::WAIT));
    alarm.delete().unwrap();
    for waiter in removed {
        assert_eq!(value(waiter), Err(Error::Removed));
    }
    assert_eq!(as_task(move || shared.wait()), Err(Error::Invalid));
}

#[test]
fn who_is_raised_can_be_lowered_again() {
    let _dog = Watchdog::new();
    let alarm = Alarm::silent("").unwrap();
    let shared = *alarm;
    alarm.start(NOW, Duration::from_millis(1)).unwrap();
    let task = Task::builder().priority(7).spawn(move || {
        let me = alchemy::task::current().unwrap();
        let level = || me.inquire().unwrap().effective_priority();
        shared.wait().unwrap();
        assert_eq!(level(), 99);
        alchemy::task::set_scheduler_lock(true).unwrap();
        alchemy::task::set_scheduler_lock(false).unwrap();
        assert_eq!(level(), 99);
        assert_eq!(me.set_priority(7), Ok(7));
        assert_eq!(level(), 7);
        // Raised once only.
        shared.wait().unwrap();
        assert_eq!(level(), 7);
    });
    value(task.unwrap());
}

#[test]
fn creations_and_deletions_from_several_threads() {
    let _dog = Watchdog::new();
    let alive = Arc::new(());
    thread::scope(|scope| {
        for seed in 1..=4 {
            let alive = &alive;
            scope.spawn(move || {
                let mut random = Random::new(seed);
                for _ in 0..2_500 {
                    let held = alive.clone();
                    let (entered, left) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
                    let (enters, leaves) = (entered.clone(), left.clone());
                    let alarm = Alarm::new("", move || {
                        enters.fetch_add(1, SeqCst);
                        let _ = &held;
                        leaves.fetch_add(1, SeqCst);
                    });
                    let alarm = alarm.unwrap();
                    let interval = Duration::from_micros(random.below(100));
                    alarm.start(Duration::from_micros(random.below(200)), interval).unwrap();
                    if random.below(2) == 0 {
                        thread::yield_now();
                    }
                    if random.below(4) == 0 {
                        alarm.start(Duration::from_micros(random.below(20)), interval).unwrap();
                    }
                    alarm.delete().unwrap();
                    assert_eq!(alarm.start(NOW, ONCE), Err(Error::Invalid));
                    assert!(entered.load(SeqCst) - left.load(SeqCst) <= 1);
                }
            });
        }
    });
    // All closures are gone, those that were running last after their call.
    until(|| Arc::strong_count(&alive) == 1);
    let (alarm, calls) = counter();
    alarm.start(NOW, ONCE).unwrap();
    until(|| calls.load(SeqCst) == 1);
}

#[test]
fn in_the_child_of_a_fork_all_are_stopped_and_work() {
    let _dog = Watchdog::new();
    let (alarm, calls) = counter();
    alarm.start(Duration::from_micros(10), Duration::from_micros(500)).unwrap();
    until(|| calls.load(SeqCst) > 3);
    for _ in 0..20 {
        let status = in_child(|| {
            let seen = alarm.inquire().unwrap();
            if seen.active || seen.expiries < 3 {
                return 1;
            }
            let before = calls.load(SeqCst);
            alarm.start(NOW, Duration::from_micros(100)).unwrap();
            until(|| calls.load(SeqCst) >= before + 3);
            let (own, called) = counter();
            own.start(NOW, ONCE).unwrap();
            until(|| called.load(SeqCst) == 1);
            alarm.delete().unwrap();
            7
        });
        assert_eq!(status, 7);
    }
    let before = calls.load(SeqCst);
    until(|| calls.load(SeqCst) > before);
}

/// What a child counts, where its parent sees it.
#[allow(unsafe_code)]
fn shared_count() -> &'static AtomicI32 {
    // SAFETY: fresh pages, which are zero and stay.
    unsafe {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        let page = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert_ne!(page, libc::MAP_FAILED);
        &*page.cast::<AtomicI32>()
    }
}

#[test]
#[allow(unsafe_code)]
fn an_armed_alarm_keeps_the_process_alive_and_a_stopped_one_does_not() {
    let _dog = Watchdog::new();
    let calls = shared_count();
    let status = in_child(|| {
        let own = Arc::new(StdMutex::new(None::<AlarmRef>));
        let known = own.clone();
        let alarm = Alarm::new("", move || {
            if calls.fetch_add(1, SeqCst) + 1 == 15 {
                known.lock().unwrap().unwrap().stop().unwrap();
            }
        });
        let alarm = alarm.unwrap().leak();
        *own.lock().unwrap() = Some(alarm);
        alarm.start(NOW, Duration::from_millis(20)).unwrap();
        // The initial thread ends, the process does not.
        // SAFETY: nothing that this thread has is needed any more.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
        unreachable!()
    });
    assert_eq!((status, calls.load(SeqCst)), (0, 15));
}

#[test]
#[allow(unsafe_code)]
fn a_quantum_without_a_timer_of_the_kernel() {
    let _dog = Watchdog::new();
    let status = in_child(|| {
        // The limit counts timers; with none left the kernel refuses one.
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the structure outlives the call.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_SIGPENDING, &none) }, 0);
        let served = Arc::new(AtomicBool::new(false));
        let (first_serves, second_serves) = (served.clone(), served.clone());
        let (ready, go) = (gate(), gate());
        let (tell, come) = (*ready, *go);
        let first = Task::builder().priority(4).spawn(move || {
            alchemy::task::current().unwrap().set_affinity([0]).unwrap();
            tell.post().unwrap();
            come.wait(Timeout::INFINITE).unwrap();
            // Its equal runs on this CPU only if this one is put behind it.
            let begun = Instant::now();
            while !first_serves.load(SeqCst) && begun.elapsed() < Duration::from_millis(700) {}
            first_serves.load(SeqCst)
        });
        let first = first.unwrap();
        ready.wait(Timeout::INFINITE).unwrap();
        first.task().set_slice(Some(Duration::from_millis(2))).unwrap();
        let second = behind_and_then(*go, move || second_serves.store(true, SeqCst));
        until_status(second.task(), Status::WAIT);
        go.broadcast().unwrap();
        let was_served = value(first);
        value(second);
        i32::from(was_served)
    });
    assert_eq!(status, 1);
}

/// A task of priority 4 on CPU 0 that does this behind the gate.
fn behind_and_then(gate: alchemy::SemRef, work: impl FnOnce() + Send + 'static) -> alchemy::JoinHandle<()> {
    let task = Task::builder().priority(4).spawn(move || {
        alchemy::task::current().unwrap().set_affinity([0]).unwrap();
        gate.wait(Timeout::INFINITE).unwrap();
        work();
    });
    task.unwrap()
}

#[test]
fn alarms_wake_tasks() {
    let _dog = Watchdog::new();
    let ticks = gate();
    let woken = behind(*ticks);
    let tick = *ticks;
    let posts = Arc::new(AtomicU64::new(0));
    let posted = posts.clone();
    let alarm = Alarm::new("", move || {
        posted.fetch_add(1, SeqCst);
        tick.post().unwrap();
    });
    let alarm = alarm.unwrap();
    alarm.start(SHORT, ONCE).unwrap();
    assert_eq!(value(woken), Ok(()));
    assert_eq!(posts.load(SeqCst), 1);
}
