//! Semaphores, tasks, timers and printing; and what the traps must see.

use std::ffi::c_int;
use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::thread;

use alchemy::task::{self, request_end_pending};
use alchemy::{Date, DateTicks, Error, Handle, RelativeTicks, SemMode, SemRef, Semaphore, Task, Timeout, timer};
use alchemy_ffi::sem::*;
use alchemy_ffi::task::*;
use alchemy_ffi::timer::*;
use alchemy_ffi::types::{RT_SEM, RT_SEM_INFO, RT_TASK, RT_TIMER_INFO};

use super::*;

/// Each round takes a unit and gives one, or finds that there is none.
pub fn cases() -> [(&'static str, Clock, Prepare); 23] {
    [
        ("c::p_and_v", Clock::Trapped, || {
            let sem = c_sem(1, 0);
            Box::new(move || c!(rt_sem_p(sem, TM_INFINITE)) == 0 && c!(rt_sem_v(sem)) == 0)
        }),
        ("c::timed_p_of_what_is_there", Clock::Trapped, || {
            let sem = c_sem(1, 1);
            let date = Box::leak(Box::new(alchemy::c::timespec { tv_sec: 1 << 40, tv_nsec: 999_999_999 }));
            Box::new(move || {
                let taken = c!(rt_sem_p(sem, LONG)) == 0
                    && c!(rt_sem_v(sem)) == 0
                    && c!(rt_sem_p_until(sem, u64::MAX - 1)) == 0
                    && c!(rt_sem_v(sem)) == 0
                    && c!(rt_sem_p_until(sem, PAST)) == 0
                    && c!(rt_sem_v(sem)) == 0
                    && c!(rt_sem_p_timed(sem, date)) == 0
                    && c!(rt_sem_v(sem)) == 0;
                taken && c!(rt_sem_p_timed(sem, null())) == 0 && c!(rt_sem_v(sem)) == 0
            })
        }),
        ("c::poll_of_an_empty_one", Clock::Trapped, || {
            let sem = c_sem(0, 0);
            let poll = Box::leak(Box::new(alchemy::c::timespec { tv_sec: 0, tv_nsec: 0 }));
            Box::new(move || {
                c!(rt_sem_p(sem, TM_NONBLOCK)) == -libc::EWOULDBLOCK
                    && c!(rt_sem_p_until(sem, TM_NONBLOCK)) == -libc::EWOULDBLOCK
                    && c!(rt_sem_p_timed(sem, poll)) == -libc::EWOULDBLOCK
            })
        }),
        ("c::v_up_and_p_down", Clock::Trapped, || {
            let sem = c_sem(0, 0);
            let mut round = 0u32;
            Box::new(move || {
                round += 1;
                if round & 1024 != 0 { c!(rt_sem_p(sem, TM_NONBLOCK)) <= 0 } else { c!(rt_sem_v(sem)) == 0 }
            })
        }),
        ("c::v_of_a_pulse_without_waiters", Clock::Trapped, || {
            let sem = c_sem(0, 2);
            Box::new(move || c!(rt_sem_v(sem)) == 0)
        }),
        ("c::broadcast_without_waiters", Clock::Trapped, || {
            let sem = c_sem(3, 0);
            Box::new(move || c!(rt_sem_broadcast(sem)) == 0)
        }),
        ("c::sem_inquire", Clock::Trapped, || {
            let sem = c_sem(7, 0);
            let info = Box::leak(Box::new(RT_SEM_INFO { count: 0, nwaiters: 0, name: [0; 32] }));
            Box::new(move || c!(rt_sem_inquire(sem, info)) == 0 && info.count == 7)
        }),
        ("c::bind_of_what_is_there", Clock::Trapped, || {
            let mut made = RT_SEM { handle: 0 };
            assert_eq!(c!(rt_sem_create(&mut made, c"fast-path".as_ptr(), 0, 0)), 0);
            let found = Box::leak(Box::new(RT_SEM { handle: 0 }));
            Box::new(move || {
                c!(rt_sem_bind(found, c"fast-path".as_ptr(), TM_INFINITE)) == 0 && found.handle == made.handle
            })
        }),
        ("c::stale_and_null_descriptors", Clock::Trapped, || {
            let stale = c_sem(1, 0);
            assert_eq!(c!(rt_sem_delete(stale)), 0);
            Box::new(move || {
                [stale, null_mut()].into_iter().all(|sem| {
                    c!(rt_sem_p(sem, LONG)) == -libc::EINVAL
                        && c!(rt_sem_v(sem)) == -libc::EINVAL
                        && c!(rt_sem_broadcast(sem)) == -libc::EINVAL
                        && c!(rt_sem_delete(sem)) == -libc::EINVAL
                })
            })
        }),
        ("c::self_and_same", Clock::Trapped, || {
            let expected = c_int::from(task::current().is_some());
            Box::new(move || {
                let own: *mut RT_TASK = rt_task_self();
                c!(rt_task_same(own, own)) == expected
            })
        }),
        ("c::ticks", Clock::Trapped, || Box::new(|| rt_timer_ns2ticks(black_box(77)) == rt_timer_ticks2ns(77))),
        ("c::timer_read", Clock::Free, || {
            let mut last = 0;
            Box::new(move || {
                let now = rt_timer_read();
                let in_order = now >= last;
                last = now;
                in_order
            })
        }),
        ("c::timer_inquire", Clock::Free, || {
            let info = Box::leak(Box::new(RT_TIMER_INFO { period: 0, date: 0 }));
            Box::new(move || {
                // SAFETY: a reference is a valid pointer.
                unsafe { rt_timer_inquire(info) };
                info.period == 1
            })
        }),
        ("c::printf", Clock::Trapped, || {
            let nowhere = c!(libc::fopen(c"/dev/null".as_ptr(), c"w".as_ptr()));
            // The ring is full most of the time; then the text is cut.
            Box::new(move || c!(rt_fprintf(nowhere, c"%s %d\n".as_ptr(), c"text".as_ptr(), 5 as c_int)) >= 0)
        }),
        ("rust::wait_and_post", Clock::Trapped, || {
            let sem = rust_sem(1);
            Box::new(move || sem.wait(Timeout::INFINITE).is_ok() && sem.post().is_ok())
        }),
        ("rust::timed_wait_for_what_is_there", Clock::Trapped, || {
            let sem = rust_sem(1);
            let date = Date::now() + Duration::from_secs(600);
            Box::new(move || {
                let timeouts = [
                    Timeout::from(Duration::from_secs(600)),
                    Timeout::until(date),
                    RelativeTicks(LONG).into(),
                    DateTicks(PAST).into(),
                    Timeout::from_timespec(-1, 0),
                ];
                timeouts.into_iter().all(|timeout| sem.wait(timeout).is_ok() && sem.post().is_ok())
            })
        }),
        ("rust::poll_of_an_empty_one", Clock::Trapped, || {
            let sem = rust_sem(0);
            Box::new(move || sem.try_wait() == Err(Error::WouldBlock))
        }),
        ("rust::post_of_a_pulse_without_waiters", Clock::Trapped, || {
            let sem = Semaphore::create("", 0, SemMode::PULSE).unwrap().leak();
            Box::new(move || sem.post().is_ok())
        }),
        ("rust::broadcast_without_waiters", Clock::Trapped, || {
            let sem = rust_sem(4);
            Box::new(move || sem.broadcast().is_ok())
        }),
        ("rust::sem_inquire", Clock::Trapped, || {
            let sem = rust_sem(9);
            Box::new(move || sem.inquire().is_ok_and(|seen| seen.count == 9))
        }),
        ("rust::stale_references", Clock::Trapped, || {
            let stale = rust_sem(1);
            stale.delete().unwrap();
            Box::new(move || {
                [stale, SemRef::from_handle(Handle::NONE)]
                    .into_iter()
                    .all(|sem| sem.wait(Timeout::INFINITE).is_err() && sem.post().is_err() && sem.inquire().is_err())
            })
        }),
        ("rust::current_and_request_end_pending", Clock::Trapped, || {
            let own = task::current();
            Box::new(move || task::current() == own && !request_end_pending())
        }),
        ("rust::timer_read", Clock::Free, || Box::new(|| timer::read() <= timer::read())),
    ]
}

/// What depends on who calls.
pub fn special_cases() -> [(&'static str, Caller, Clock, Prepare); 3] {
    let past: Prepare = || {
        let sem = c_sem(0, 0);
        Box::new(move || c!(rt_sem_p_until(sem, PAST)) == -libc::ETIMEDOUT)
    };
    [
        ("p_until_a_past_date", Caller::Task, Clock::Free, past),
        ("p_until_a_past_date", Caller::Initial, Clock::Free, past),
        ("sleep_of_no_length", Caller::Task, Clock::Trapped, || Box::new(|| rt_task_sleep(0) == 0)),
    ]
}

/// What the traps must see.
pub fn controls() -> [(&'static str, Prepare, Seen); 10] {
    [
        (
            "a_system_call",
            || {
                Box::new(|| {
                    // SAFETY: no arguments.
                    unsafe { libc::syscall(libc::SYS_getppid) > 0 }
                })
            },
            Seen::call(libc::SYS_getppid),
        ),
        (
            "a_late_system_call",
            || {
                let mut rounds = 0;
                Box::new(move || {
                    rounds += 1;
                    // SAFETY: no arguments.
                    rounds < ROUNDS || unsafe { libc::syscall(libc::SYS_getppid) > 0 }
                })
            },
            Seen::call(libc::SYS_getppid),
        ),
        ("a_clock_read_in_c", || Box::new(|| rt_timer_read() > 0), Seen::CLOCK),
        ("a_clock_read_in_rust", || Box::new(|| timer::read() > 0), Seen::CLOCK),
        (
            "a_clock_read_of_a_wait_that_is_late",
            || {
                let sem = c_sem(0, 0);
                Box::new(move || c!(rt_sem_p_until(sem, PAST)) == -libc::ETIMEDOUT)
            },
            Seen::CLOCK,
        ),
        ("an_allocation", || Box::new(|| *black_box(Box::new(5)) == 5), Seen { allocated: true, ..Seen::NOTHING }),
        (
            "an_allocation_in_c",
            || {
                let mut rounds = 0;
                Box::new(move || {
                    rounds += 1;
                    // Few enough not to make the heap grow, which would be a system call.
                    // SAFETY: any size will do.
                    rounds > WARM_UP + 10 || !black_box(unsafe { libc::malloc(100) }).is_null()
                })
            },
            Seen { heap: true, ..Seen::NOTHING },
        ),
        (
            "a_wait",
            || {
                let sem = rust_sem(WARM_UP);
                // The first wait of the initial thread asks for its process's number.
                assert_eq!(rust_sem(0).wait(Duration::ZERO), Err(Error::TimedOut));
                Box::new(move || sem.wait(Timeout::INFINITE).is_ok())
            },
            Seen::call(libc::SYS_futex),
        ),
        (
            "a_wake_up",
            || {
                let sem = rust_sem(0);
                let mut rounds = 0;
                Box::new(move || {
                    rounds += 1;
                    if rounds == WARM_UP {
                        sem.broadcast().unwrap();
                        Task::builder().spawn(move || sem.wait(Timeout::INFINITE)).unwrap();
                        while sem.inquire().unwrap().waiters == 0 {
                            thread::yield_now();
                        }
                        return true;
                    }
                    sem.post().is_ok()
                })
            },
            Seen::call(libc::SYS_futex),
        ),
        ("a_wrong_result", || Box::new(|| false), Seen { wrong_result: true, ..Seen::NOTHING }),
    ]
}

/// A semaphore as C programs have one.
fn c_sem(count: u64, mode: c_int) -> *mut RT_SEM {
    let sem = Box::leak(Box::new(RT_SEM { handle: 0 }));
    assert_eq!(c!(rt_sem_create(sem, null(), count, mode)), 0);
    sem
}

fn rust_sem(count: u32) -> SemRef {
    Semaphore::new(count).unwrap().leak()
}
