//! Tasks through the Rust interface.

mod kit;

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use alchemy::task::{self, MIN_STACK, Settings, Status, request_end_pending};
use alchemy::{Error, Handle, Name, Task, Timeout};
use kit::{LONG, Watchdog, as_plain, as_task, behind, gate, until_ended, until_status, until_waiters, value};

fn gettid() -> u32 {
    // SAFETY: no arguments; it cannot fail.
    unsafe { libc::gettid() as u32 }
}

/// The calling thread's scheduling class and level.
fn class() -> (i32, i32) {
    let mut param = libc::sched_param { sched_priority: -1 };
    // SAFETY: pid 0 is the calling thread; `param` is valid for writing.
    unsafe {
        (libc::sched_getscheduler(0), if libc::sched_getparam(0, &mut param) == 0 { param.sched_priority } else { -1 })
    }
}

#[test]
fn the_builder_sets_name_priority_and_stack() {
    let _dog = Watchdog::new();
    let sem = gate();
    let gate = *sem;
    let task = Task::builder()
        .name("task-built")
        .priority(42)
        .stack_size(8 << 20)
        .spawn(move || {
            // More than the least stack.
            let large = std::hint::black_box([1u8; 1 << 20]);
            gate.wait(Timeout::INFINITE).map(|()| large.iter().map(|&byte| u64::from(byte)).sum::<u64>())
        })
        .unwrap();
    let seen = task.task().inquire().unwrap();
    assert_eq!((seen.name.to_text().as_str(), seen.priority, seen.effective_priority()), ("task-built", 42, 42));
    sem.post().unwrap();
    assert_eq!(value(task), Ok(1 << 20));
}

#[test]
fn without_settings_a_task_has_a_generated_name_and_priority_0() {
    let _dog = Watchdog::new();
    let info = as_task(|| task::current().unwrap().inquire().unwrap());
    assert!(info.name.to_text().starts_with("task@"), "{}", info.name.to_text());
    assert_eq!(info.priority, 0);
}

#[test]
fn the_kernel_schedules_by_the_priority_where_it_may() {
    let _dog = Watchdog::new();
    let at = |priority| value(Task::builder().priority(priority).spawn(class).unwrap());
    assert_eq!(at(0), (libc::SCHED_OTHER, 0));
    if alchemy_tests::cprog::fifo_usable() {
        assert_eq!(at(1), (libc::SCHED_FIFO, 1));
        assert_eq!(at(99), (libc::SCHED_FIFO, 99));
        // Not inherited.
        let child = Task::builder().priority(9).spawn(|| as_task(class)).unwrap();
        assert_eq!(value(child), (libc::SCHED_OTHER, 0));
    } else {
        assert_eq!(at(1), (libc::SCHED_OTHER, 0));
    }
}

#[test]
fn settings_out_of_range_are_refused_and_leave_no_trace() {
    let _dog = Watchdog::new();
    let ran = Arc::new(AtomicBool::new(false));
    let spawn = |priority, stack| {
        let ran = ran.clone();
        let task = Task::builder().name("task-refused").priority(priority).stack_size(stack);
        task.spawn(move || ran.store(true, Relaxed)).map(drop)
    };
    assert_eq!(spawn(100, 0), Err(Error::Invalid));
    assert_eq!(spawn(u32::MAX, 0), Err(Error::Invalid));
    assert_eq!(spawn(0, usize::MAX), Err(Error::Invalid));
    assert!(spawn(0, 1 << 60).is_err());
    assert_eq!(Task::bind("task-refused", Timeout::NONE), Err(Error::WouldBlock));
    assert!(!ran.load(Relaxed));
    // Nothing of the bodies is left either.
    assert_eq!(Arc::strong_count(&ran), 1);
    let task = Task::builder().name("task-refused").spawn(|| 1).unwrap();
    assert_eq!(value(task), 1);
}

#[test]
fn a_name_in_use_is_refused() {
    let _dog = Watchdog::new();
    let sem = gate();
    let gate = *sem;
    let spawn = || Task::builder().name("task-twin").spawn(move || gate.wait(Timeout::INFINITE));
    let first = spawn().unwrap();
    assert_eq!(spawn().err(), Some(Error::Exists));
    assert_eq!(Task::bind("task-twin", Timeout::NONE), Ok(first.task()));
    sem.post().unwrap();
    assert_eq!(value(first), Ok(()));
}

#[test]
fn tasks_make_tasks() {
    let _dog = Watchdog::new();
    fn sum(depth: u32) -> u32 {
        if depth == 0 {
            return 1;
        }
        let tasks = [0, 1].map(|_| Task::builder().priority(depth).spawn(move || sum(depth - 1)).unwrap());
        tasks.into_iter().map(value).sum()
    }
    assert_eq!(sum(4), 16);
}

#[test]
fn many_tasks_at_once() {
    let _dog = Watchdog::new();
    let sem = gate();
    let tasks: Vec<_> = (0..64).map(|_| behind(*sem)).collect();
    until_waiters(*sem, 64);
    (0..64).for_each(|_| sem.post().unwrap());
    assert!(tasks.into_iter().map(value).all(|waited| waited == Ok(())));
}

#[test]
fn references_to_an_ended_task_are_stale() {
    let _dog = Watchdog::new();
    let task = Task::builder().name("task-stale").spawn(|| ()).unwrap();
    let reference = task.task();
    let check = || {
        assert_eq!(reference.inquire(), Err(Error::Invalid));
        assert_eq!(reference.request_end(), Err(Error::Invalid));
        assert_eq!(reference.set_affinity([0]), Err(Error::Invalid));
        assert_eq!(reference.pthread(), Err(Error::Invalid));
        assert_eq!(Task::bind("task-stale", Timeout::NONE), Err(Error::WouldBlock));
    };
    // Ended, not joined.
    until_ended(reference);
    check();
    value(task);
    check();
    assert_eq!(reference.join(), Err(Error::NotFound));
}

#[test]
fn inquire_shows_what_a_task_does() {
    let _dog = Watchdog::new();
    let sem = gate();
    let gate = *sem;
    let (tell, told) = mpsc::channel();
    let task = Task::builder()
        .name("task-shown")
        .priority(11)
        .spawn(move || {
            let own = task::current().unwrap().inquire().unwrap();
            tell.send((own, gettid())).unwrap();
            gate.wait(Timeout::INFINITE).unwrap();
            gate.wait(LONG).unwrap();
            task::sleep(LONG)
        })
        .unwrap();
    let reference = task.task();
    let (own, tid) = told.recv().unwrap();
    assert_eq!((own.status, own.timeout, own.tid, own.locked), (Status::STARTED | Status::ACTIVE, 0, tid, false));
    assert!(own.cpu >= 0);

    until_status(reference, Status::WAIT);
    let seen = reference.inquire().unwrap();
    assert_eq!((seen.status, seen.timeout), (Status::STARTED | Status::ACTIVE | Status::WAIT, 0));
    assert_eq!((seen.name, seen.priority, seen.tid), (Name::new(b"task-shown"), 11, tid));
    sem.post().unwrap();

    until_status(reference, Status::TIMED_WAIT);
    let seen = reference.inquire().unwrap();
    assert_eq!(seen.status, Status::STARTED | Status::ACTIVE | Status::TIMED_WAIT);
    assert!((1..=LONG.as_nanos() as u64).contains(&seen.timeout));
    sem.post().unwrap();

    until_status(reference, Status::DELAYED);
    let seen = reference.inquire().unwrap();
    assert_eq!(seen.status, Status::STARTED | Status::ACTIVE | Status::DELAYED);
    assert!((1..=LONG.as_nanos() as u64).contains(&seen.timeout));
    reference.request_end().unwrap();
    assert_eq!(value(task), Err(Error::Cancelled));
}

#[test]
fn a_dormant_task_shows_so_and_takes_the_first_start() {
    let _dog = Watchdog::new();
    static ENTERED: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C-unwind" fn entry(arg: *mut c_void) {
        ENTERED.fetch_add(arg.addr() as u32, Relaxed);
        let _ = task::sleep_until(None);
    }
    let settings = Settings {
        name: Name::new(b"task-dormant"),
        stack: MIN_STACK,
        priority: 5,
        joinable: true,
        lock: false,
        co_operative: false,
    };
    let created = Task::create(settings, |handle, _| assert!(handle != Handle::NONE)).unwrap();
    let seen = created.inquire().unwrap();
    assert_eq!((seen.status, seen.priority), (Status::DORMANT, 5));
    assert!(seen.tid > 0);
    assert_eq!(Task::bind("task-dormant", Timeout::NONE), Ok(created));
    assert_eq!(ENTERED.load(Relaxed), 0);
    let start = |number: usize| {
        // SAFETY: `entry` takes any argument on any thread.
        unsafe { created.start(entry, std::ptr::without_provenance_mut(number)) }
    };
    assert_eq!(start(1), Ok(true));
    assert_eq!(start(10), Ok(false));
    until_status(created, Status::DELAYED);
    assert_eq!(start(100), Ok(false));
    created.request_end().unwrap();
    assert_eq!(created.join(), Ok(()));
    assert_eq!(ENTERED.load(Relaxed), 1);
    assert_eq!(start(1000), Err(Error::Invalid));
}

#[test]
fn a_spawn_of_a_higher_task_returns_after_it_is_about_to_enter() {
    let _dog = Watchdog::new();
    let sem = gate();
    let gate = *sem;
    let spawn_and_look = move |priority| {
        let task = Task::builder().priority(priority).spawn(move || gate.wait(Timeout::INFINITE)).unwrap();
        let status = task.task().inquire().unwrap().status;
        gate.post().unwrap();
        assert_eq!(value(task), Ok(()));
        assert!(status.contains(Status::STARTED | Status::ACTIVE), "{status:?}");
    };
    // Plain threads are below every task.
    as_plain(move || spawn_and_look(0));
    value(Task::builder().priority(5).spawn(move || spawn_and_look(6)).unwrap());
}

#[test]
fn a_task_knows_itself() {
    let _dog = Watchdog::new();
    assert_eq!(as_plain(task::current), None);
    let (tell, told) = mpsc::channel();
    let sem = gate();
    let gate = *sem;
    let task = Task::builder()
        .spawn(move || {
            tell.send((task::current(), task::this_thread())).unwrap();
            gate.wait(Timeout::INFINITE)
        })
        .unwrap();
    let (own, thread) = told.recv().unwrap();
    assert_eq!(own, Some(task.task()));
    assert_eq!(task.task().pthread(), Ok(thread));
    sem.post().unwrap();
    assert_eq!(value(task), Ok(()));
}

#[test]
fn destructors_of_a_thread_still_run_in_the_task() {
    let _dog = Watchdog::new();
    struct Last(Cell<Option<mpsc::Sender<Option<Task>>>>);
    impl Drop for Last {
        fn drop(&mut self) {
            if let Some(tell) = self.0.take() {
                tell.send(task::current()).unwrap();
            }
        }
    }
    thread_local!(static LAST: Last = const { Last(Cell::new(None)) });
    let (tell, told) = mpsc::channel();
    let task = Task::builder().spawn(|| LAST.with(|last| last.0.set(Some(tell)))).unwrap();
    let reference = task.task();
    value(task);
    assert_eq!(told.recv(), Ok(Some(reference)));
}

#[test]
fn shadow_makes_a_thread_a_task() {
    let _dog = Watchdog::new();
    let sem = gate();
    let gate = *sem;
    let (tell, told) = mpsc::channel();
    let thread = thread::spawn(move || {
        assert_eq!(gate.wait(Timeout::INFINITE), Err(Error::Permission));
        let task = Task::shadow("task-shadow", 4).unwrap();
        assert_eq!(task::current(), Some(task));
        assert_eq!(Task::shadow("task-shadow-2", 4), Err(Error::Busy));
        assert_eq!(Task::shadow("", 100), Err(Error::Busy));
        let seen = task.inquire().unwrap();
        assert_eq!((seen.status, seen.priority, seen.tid), (Status::STARTED | Status::ACTIVE, 4, gettid()));
        if alchemy_tests::cprog::fifo_usable() {
            assert_eq!(class(), (libc::SCHED_FIFO, 4));
        }
        tell.send(task).unwrap();
        gate.wait(Timeout::INFINITE)
    });
    let task = told.recv().unwrap();
    assert_eq!(Task::bind("task-shadow", Timeout::NONE), Ok(task));
    assert_eq!(Task::bind("task-shadow-2", Timeout::NONE), Err(Error::WouldBlock));
    until_status(task, Status::WAIT);
    sem.post().unwrap();
    assert_eq!(thread.join().unwrap(), Ok(()));
    // It ends with its thread.
    assert_eq!(task.inquire(), Err(Error::Invalid));
    assert_eq!(Task::bind("task-shadow", Timeout::NONE), Err(Error::WouldBlock));
}

#[test]
fn a_refused_shadow_changes_nothing() {
    let _dog = Watchdog::new();
    let sem = gate();
    let gate = *sem;
    let twin = Task::builder().name("task-taken").spawn(move || gate.wait(Timeout::INFINITE)).unwrap();
    as_plain(move || {
        let before = class();
        assert_eq!(Task::shadow("task-taken", 8), Err(Error::Exists));
        assert_eq!(Task::shadow("task-fresh", 100), Err(Error::Invalid));
        assert_eq!((class(), task::current()), (before, None));
        assert_eq!(gate.wait(LONG), Err(Error::Permission));
        assert_eq!(Task::bind("task-fresh", Timeout::NONE), Err(Error::WouldBlock));
        let task = Task::shadow("task-fresh", 8).unwrap();
        assert_eq!(task::current(), Some(task));
    });
    sem.post().unwrap();
    assert_eq!(value(twin), Ok(()));
}

#[test]
fn a_task_cannot_shadow() {
    let _dog = Watchdog::new();
    assert_eq!(as_task(|| Task::shadow("", 0)), Err(Error::Busy));
}

#[test]
fn plain_threads_neither_sleep_nor_yield() {
    let _dog = Watchdog::new();
    as_plain(|| {
        assert_eq!(task::sleep(Duration::ZERO), Err(Error::Permission));
        assert_eq!(task::sleep(LONG), Err(Error::Permission));
        assert_eq!(task::sleep_until(None), Err(Error::Permission));
        assert_eq!(task::sleep_until(Some(alchemy::Date::from_ticks(1))), Err(Error::Permission));
        assert_eq!(task::yield_now(), Err(Error::Permission));
        assert!(!request_end_pending());
    });
    assert_eq!(as_task(task::yield_now), Ok(()));
}

#[test]
fn affinity_is_applied_at_once() {
    let _dog = Watchdog::new();
    let cpus = || {
        // SAFETY: all zero is the empty set.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: pid 0 is the calling thread; `set` is valid for writing.
        assert_eq!(unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) }, 0);
        // SAFETY: the numbers are within the set.
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect::<Vec<_>>()
    };
    let usable = cpus();
    let last = usable[usable.len() - 1];
    let (sem, other) = (gate(), gate());
    let (gate, ready) = (*sem, *other);
    let task = Task::builder()
        .spawn(move || {
            ready.post().unwrap();
            gate.wait(Timeout::INFINITE).unwrap();
            cpus()
        })
        .unwrap();
    let reference = task.task();
    assert_eq!(reference.set_affinity([]), Err(Error::Invalid));
    assert_eq!(reference.set_affinity([1000]), Err(Error::Invalid));
    assert_eq!(reference.set_affinity([usize::MAX]), Err(Error::Invalid));
    assert_eq!(reference.set_affinity([last]), Ok(()));
    sem.post().unwrap();
    assert_eq!(value(task), [last]);
}

#[test]
fn usage_tells_consumed_time() {
    let _dog = Watchdog::new();
    let used = as_task(|| {
        alchemy::timer::spin(30_000_000);
        task::current().unwrap().inquire().unwrap().usage()
    });
    assert!(used.cpu_time > 0, "{used:?}");
}

#[test]
fn handles_of_nothing_and_of_other_types_are_refused() {
    let _dog = Watchdog::new();
    let sem = gate();
    for handle in [Handle::NONE, sem.handle(), Handle::from_raw(usize::MAX), Handle::from_raw(8)] {
        let task = Task::from_handle(handle);
        assert_eq!(task.inquire(), Err(Error::Invalid));
        assert_eq!(task.request_end(), Err(Error::Invalid));
        assert_eq!(task.set_affinity([0]), Err(Error::Invalid));
    }
}
