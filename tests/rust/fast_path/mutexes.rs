//! Mutexes; and what the traps must see of them.

use std::ffi::c_int;
use std::ptr::{null, null_mut};
use std::thread;

use alchemy::{Date, DateTicks, Handle, Mutex, MutexRef, RelativeTicks, Task, Timeout, task};
use alchemy_ffi::mutex::*;
use alchemy_ffi::types::{RT_MUTEX, RT_MUTEX_INFO, RT_TASK};

use super::*;

/// Each round leaves the mutex as it found it.
pub fn cases() -> [(&'static str, Prepare); 14] {
    [
        ("c::acquire_and_release", || {
            let mutex = c_mutex();
            Box::new(move || c!(rt_mutex_acquire(mutex, TM_INFINITE)) == 0 && c!(rt_mutex_release(mutex)) == 0)
        }),
        ("c::acquire_again_and_release", || {
            let mutex = c_mutex();
            assert_eq!(c!(rt_mutex_acquire(mutex, TM_INFINITE)), 0);
            Box::new(move || c!(rt_mutex_acquire(mutex, TM_INFINITE)) == 0 && c!(rt_mutex_release(mutex)) == 0)
        }),
        ("c::timed_acquire_of_what_is_free", || {
            let mutex = c_mutex();
            Box::new(move || acquire_in_all_forms(mutex))
        }),
        ("c::timed_acquire_again", || {
            let mutex = c_mutex();
            assert_eq!(c!(rt_mutex_acquire(mutex, LONG)), 0);
            Box::new(move || acquire_in_all_forms(mutex))
        }),
        ("c::lock_and_unlock", || {
            let mutex = c_mutex();
            Box::new(move || c!(rt_mutex_lock(mutex, LONG)) == 0 && c!(rt_mutex_unlock(mutex)) == 0)
        }),
        ("c::two_at_once", || {
            let (outer, inner) = (c_mutex(), c_mutex());
            Box::new(move || {
                // Released in the other order than is usual.
                c!(rt_mutex_acquire(outer, LONG)) == 0
                    && c!(rt_mutex_acquire(inner, LONG)) == 0
                    && c!(rt_mutex_release(outer)) == 0
                    && c!(rt_mutex_release(inner)) == 0
            })
        }),
        ("c::poll_and_release_of_what_another_owns", || {
            let mutex = held_by_another();
            Box::new(move || {
                c!(rt_mutex_acquire(mutex, TM_NONBLOCK)) == -libc::EWOULDBLOCK
                    && c!(rt_mutex_release(mutex)) == -libc::EPERM
                    && c!(rt_mutex_delete(mutex)) == -libc::EBUSY
            })
        }),
        ("c::mutex_inquire", || {
            let mutex = c_mutex();
            assert_eq!(c!(rt_mutex_acquire(mutex, LONG)), 0);
            let own = task::current().map(|task| task.handle().to_raw());
            let info = Box::leak(Box::new(RT_MUTEX_INFO { owner: RT_TASK { handle: 0, thread: 0 }, name: [0; 32] }));
            Box::new(move || c!(rt_mutex_inquire(mutex, info)) == 0 && Some(info.owner.handle) == own)
        }),
        ("c::stale_and_null_mutexes", || {
            let stale = c_mutex();
            assert_eq!(c!(rt_mutex_delete(stale)), 0);
            Box::new(move || {
                [stale, null_mut()].into_iter().all(|mutex| {
                    c!(rt_mutex_acquire(mutex, LONG)) == -libc::EINVAL
                        && c!(rt_mutex_release(mutex)) == -libc::EINVAL
                        && c!(rt_mutex_delete(mutex)) == -libc::EINVAL
                })
            })
        }),
        ("c::acquire_of_what_was_contended", || {
            let mutex = c_mutex();
            let reference = reference(mutex);
            assert_eq!(c!(rt_mutex_acquire(mutex, LONG)), 0);
            let other = Task::builder().spawn(move || reference.acquire(Timeout::INFINITE).and(reference.release()));
            while reference.inquire().unwrap().waiters == 0 {
                thread::yield_now();
            }
            assert_eq!(c!(rt_mutex_release(mutex)), 0);
            assert_eq!(other.unwrap().join().ok(), Some(Ok(())));
            // The first one cleans up behind the kernel, if need be.
            Box::new(move || c!(rt_mutex_acquire(mutex, LONG)) == 0 && c!(rt_mutex_release(mutex)) == 0)
        }),
        ("rust::lock_and_unlock", || {
            let mutex = Mutex::new().unwrap().leak();
            Box::new(move || mutex.lock(Timeout::INFINITE).is_ok())
        }),
        ("rust::lock_again_and_unlock", || {
            let mutex = Mutex::new().unwrap().leak();
            std::mem::forget(mutex.lock(Timeout::INFINITE).unwrap());
            Box::new(move || mutex.lock(Timeout::INFINITE).is_ok_and(|guard| guard.try_lock().is_ok()))
        }),
        ("rust::timed_lock_of_what_is_free", || {
            let mutex = Mutex::new().unwrap().leak();
            let date = Date::now() + Duration::from_secs(600);
            Box::new(move || {
                let timeouts = [
                    Timeout::from(Duration::from_secs(600)),
                    Timeout::until(date),
                    RelativeTicks(LONG).into(),
                    DateTicks(PAST).into(),
                    Timeout::NONE,
                    Timeout::from_timespec(-1, 0),
                ];
                timeouts.into_iter().all(|timeout| mutex.lock(timeout).is_ok())
            })
        }),
        ("rust::stale_mutexes", || {
            let stale = Mutex::new().unwrap().leak();
            stale.delete().unwrap();
            Box::new(move || {
                [stale, MutexRef::from_handle(Handle::NONE)]
                    .into_iter()
                    .all(|mutex| mutex.lock(Timeout::INFINITE).is_err() && mutex.inquire().is_err())
            })
        }),
    ]
}

fn acquire_in_all_forms(mutex: *mut RT_MUTEX) -> bool {
    const DATE: alchemy::c::timespec = alchemy::c::timespec { tv_sec: 1 << 40, tv_nsec: 999_999_999 };
    let release = |acquired: c_int| acquired == 0 && c!(rt_mutex_release(mutex)) == 0;
    release(c!(rt_mutex_acquire(mutex, LONG)))
        && release(c!(rt_mutex_acquire(mutex, TM_NONBLOCK)))
        && release(c!(rt_mutex_acquire_until(mutex, u64::MAX - 1)))
        && release(c!(rt_mutex_acquire_until(mutex, PAST)))
        && release(c!(rt_mutex_acquire_timed(mutex, &DATE)))
        && release(c!(rt_mutex_acquire_timed(mutex, null())))
}

/// What the traps must see of mutexes.
pub fn controls() -> [(&'static str, Prepare, Seen); 4] {
    [
        (
            "a_contended_acquire",
            || {
                let (free, held) = (c_mutex(), held_by_another());
                let mut rounds = 0;
                Box::new(move || {
                    rounds += 1;
                    if rounds <= WARM_UP {
                        return c!(rt_mutex_acquire(free, TM_INFINITE)) == 0;
                    }
                    c!(rt_mutex_acquire(held, TM_INFINITE)) == 0
                })
            },
            Seen::call(libc::SYS_futex),
        ),
        (
            "a_late_contended_lock",
            || {
                let (free, held) = (Mutex::new().unwrap().leak(), reference(held_by_another()));
                let mut rounds = 0;
                Box::new(move || {
                    rounds += 1;
                    if rounds < ROUNDS { free.lock(LONG_TIME).is_ok() } else { held.lock(Timeout::INFINITE).is_ok() }
                })
            },
            Seen::call(libc::SYS_futex),
        ),
        (
            "a_contended_release",
            || {
                let mutex = c_mutex();
                let reference = reference(mutex);
                let mut rounds = 0;
                Box::new(move || {
                    rounds += 1;
                    let acquired = c!(rt_mutex_acquire(mutex, TM_INFINITE)) == 0;
                    if rounds == WARM_UP {
                        let waiter = Task::builder().spawn(move || reference.acquire(Timeout::INFINITE)).unwrap();
                        let stat = format!("/proc/self/task/{}/stat", waiter.task().inquire().unwrap().tid);
                        let sleeps = || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") S "));
                        // In the kernel's queue it is a little later than in the library's.
                        while reference.inquire().unwrap().waiters == 0 || !sleeps() {
                            thread::yield_now();
                        }
                        return acquired;
                    }
                    acquired && c!(rt_mutex_release(mutex)) == 0 && c!(rt_mutex_release(mutex)) == 0
                })
            },
            Seen::call(libc::SYS_futex),
        ),
        (
            "a_clock_read_of_a_timed_contended_acquire",
            || {
                let held = held_by_another();
                let mut rounds = 0;
                Box::new(move || {
                    rounds += 1;
                    let timeout = if rounds > WARM_UP { LONG } else { TM_NONBLOCK };
                    c!(rt_mutex_acquire(held, timeout)) != 0
                })
            },
            Seen::CLOCK,
        ),
    ]
}

/// A mutex as C programs have one.
fn c_mutex() -> *mut RT_MUTEX {
    let mutex = Box::leak(Box::new(RT_MUTEX { handle: 0 }));
    assert_eq!(c!(rt_mutex_create(mutex, null())), 0);
    mutex
}

fn reference(mutex: *mut RT_MUTEX) -> MutexRef {
    // SAFETY: descriptors of this file are leaked boxes.
    MutexRef::from_handle(Handle::from_raw(unsafe { (*mutex).handle }))
}

/// The owner sleeps until the process ends.
fn held_by_another() -> *mut RT_MUTEX {
    let mutex = c_mutex();
    let reference = reference(mutex);
    let hold = move || reference.acquire(Timeout::INFINITE).and_then(|()| task::sleep_until(None));
    Task::builder().spawn(hold).unwrap();
    while reference.inquire().unwrap().owner().is_none() {
        thread::yield_now();
    }
    mutex
}
