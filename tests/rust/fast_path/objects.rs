//! Events, condition variables, queues, buffers, heaps and alarms; and what the traps must see of them.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::thread;

use alchemy::{Alarm, Buffer, Condition, Error, Event, Heap, Match, Queue, SendMode, Task, Timeout};
use alchemy_ffi::alarm::*;
use alchemy_ffi::buffer::*;
use alchemy_ffi::cond::*;
use alchemy_ffi::event::*;
use alchemy_ffi::heap::*;
use alchemy_ffi::queue::*;
use alchemy_ffi::types::{RT_ALARM, RT_BUFFER, RT_COND, RT_EVENT, RT_HEAP, RT_QUEUE};

use super::*;

const EV_ALL: c_int = 0;
const Q_URGENT: c_int = 1;
const Q_BROADCAST: c_int = 2;
const NO_BLOCK: c_int = -libc::EWOULDBLOCK;

/// Each round leaves the object as it found it.
pub fn cases() -> [(&'static str, Clock, Prepare); 20] {
    [
        ("c::event_signal_wait_and_clear", Clock::Trapped, || {
            let event = c_event();
            let flags: *mut c_uint = Box::leak(Box::new(0));
            Box::new(move || {
                c!(rt_event_signal(event, 5)) == 0
                    && c!(rt_event_wait(event, 5, flags, EV_ALL, TM_INFINITE)) == 0
                    && c!(rt_event_wait_until(event, 4, flags, EV_ALL, PAST)) == 0
                    && c!(rt_event_clear(event, 7, flags)) == 0
                    && c!(*flags) == 5
            })
        }),
        ("c::poll_of_flags_that_are_not_set", Clock::Trapped, || {
            let event = c_event();
            let flags: *mut c_uint = Box::leak(Box::new(0));
            Box::new(move || c!(rt_event_wait(event, 1, flags, EV_ALL, TM_NONBLOCK)) == NO_BLOCK)
        }),
        ("c::cond_signal_and_broadcast_without_waiters", Clock::Trapped, || {
            let cond = Box::leak(Box::new(RT_COND { handle: 0 }));
            assert_eq!(c!(rt_cond_create(cond, null())), 0);
            Box::new(move || c!(rt_cond_signal(cond)) == 0 && c!(rt_cond_broadcast(cond)) == 0)
        }),
        ("c::queue_write_and_read", Clock::Trapped, || {
            let queue = c_queue();
            let text: *mut [u8; 8] = Box::leak(Box::new(*b"message."));
            let memory: *mut c_void = text.cast();
            Box::new(move || {
                c!(rt_queue_write(queue, memory, 8, 0)) == 0
                    && c!(rt_queue_write(queue, memory, 3, Q_URGENT)) == 0
                    && c!(rt_queue_read(queue, memory, 8, TM_INFINITE)) == 3
                    && c!(rt_queue_read_until(queue, memory, 8, PAST)) == 8
            })
        }),
        ("c::queue_alloc_send_receive_and_free", Clock::Trapped, || {
            let queue = c_queue();
            let received: *mut *mut c_void = Box::leak(Box::new(null_mut()));
            Box::new(move || {
                let message = c!(rt_queue_alloc(queue, 100));
                c!(rt_queue_send(queue, message, 100, 0)) == 0
                    && c!(rt_queue_receive(queue, received, LONG)) == 100
                    && c!(*received) == message
                    && c!(rt_queue_free(queue, message)) == 0
            })
        }),
        ("c::queue_without_messages_or_waiters", Clock::Trapped, || {
            let queue = c_queue();
            let byte: *mut u8 = Box::leak(Box::new(0));
            Box::new(move || {
                c!(rt_queue_write(queue, byte.cast(), 1, Q_BROADCAST)) == 0
                    && c!(rt_queue_read(queue, byte.cast(), 1, TM_NONBLOCK)) == NO_BLOCK as isize
                    && c!(rt_queue_flush(queue)) == 0
            })
        }),
        ("c::buffer_write_and_read", Clock::Trapped, || {
            let buffer = c_buffer();
            let bytes: *mut [u8; 8] = Box::leak(Box::new([1; 8]));
            let memory: *mut c_void = bytes.cast();
            Box::new(move || {
                c!(rt_buffer_write(buffer, memory, 8, TM_INFINITE)) == 8
                    && c!(rt_buffer_write_until(buffer, memory, 5, PAST)) == 5
                    && c!(rt_buffer_read(buffer, memory, 8, LONG)) == 8
                    && c!(rt_buffer_read_until(buffer, memory, 5, PAST)) == 5
            })
        }),
        ("c::poll_of_an_empty_and_of_a_full_buffer", Clock::Trapped, || {
            let buffer = c_buffer();
            let bytes: *mut [u8; 64] = Box::leak(Box::new([1; 64]));
            let memory: *mut c_void = bytes.cast();
            Box::new(move || {
                c!(rt_buffer_read(buffer, memory, 1, TM_NONBLOCK)) == NO_BLOCK as isize
                    && c!(rt_buffer_write(buffer, memory, 64, TM_NONBLOCK)) == 64
                    && c!(rt_buffer_write(buffer, memory, 1, TM_NONBLOCK)) == NO_BLOCK as isize
                    && c!(rt_buffer_clear(buffer)) == 0
            })
        }),
        ("c::heap_alloc_and_free", Clock::Trapped, || {
            let heap = c_heap();
            let block: *mut *mut c_void = Box::leak(Box::new(null_mut()));
            Box::new(move || {
                [1, 100, 1000, 8192].into_iter().all(|size| {
                    c!(rt_heap_alloc(heap, size, TM_INFINITE, block)) == 0 && c!(rt_heap_free(heap, *block)) == 0
                })
            })
        }),
        ("c::poll_of_a_full_heap", Clock::Trapped, || {
            let heap = c_heap();
            let block: *mut *mut c_void = Box::leak(Box::new(null_mut()));
            assert_eq!(c!(rt_heap_alloc(heap, 8192, TM_NONBLOCK, block)), 0);
            Box::new(move || c!(rt_heap_alloc(heap, 1, TM_NONBLOCK, block)) == NO_BLOCK)
        }),
        ("rust::event_signal_wait_and_clear", Clock::Trapped, || {
            let event = Event::new().unwrap().leak();
            Box::new(move || {
                event.signal(3) == Ok(())
                    && event.wait(1, Match::Any, Timeout::INFINITE) == Ok(1)
                    && event.wait(4, Match::Any, Timeout::NONE) == Err(Error::WouldBlock)
                    && event.clear(3) == Ok(3)
            })
        }),
        ("rust::condition_signal_and_broadcast_without_waiters", Clock::Trapped, || {
            let condition = Condition::new().unwrap().leak();
            Box::new(move || condition.signal().is_ok() && condition.broadcast().is_ok())
        }),
        ("rust::queue_send_and_receive", Clock::Trapped, || {
            let queue = Queue::new(4).unwrap();
            Box::new(move || {
                queue.send([1u64, 2]).is_ok()
                    && queue.send_urgent([3, 4]).is_ok()
                    && queue.receive(LONG_TIME) == Ok([3, 4])
                    && queue.receive(Timeout::INFINITE) == Ok([1, 2])
                    && queue.receive(Timeout::NONE) == Err(Error::WouldBlock)
            })
        }),
        ("rust::queue_alloc_send_receive_and_free", Clock::Trapped, || {
            let queue = Queue::<[u8; 100]>::new(4).unwrap().leak();
            Box::new(move || {
                let Ok(message) = queue.alloc_raw(100) else { return false };
                queue.send_raw(message.as_ptr(), 50, SendMode::empty()) == Ok(0)
                    && queue.receive_raw(Timeout::INFINITE) == Ok((message, 50))
                    && queue.free_raw(message.as_ptr()).is_ok()
            })
        }),
        ("rust::a_full_queue", Clock::Trapped, || {
            let queue = Queue::new(1).unwrap();
            queue.send(1u32).unwrap();
            Box::new(move || queue.send(2) == Err(Error::NoMemory))
        }),
        ("rust::buffer_write_and_read", Clock::Trapped, || {
            let buffer = Buffer::new(16).unwrap().leak();
            let mut bytes = [7; 9];
            Box::new(move || {
                buffer.write(&bytes, Timeout::INFINITE) == Ok(9) && buffer.read(&mut bytes, LONG_TIME) == Ok(9)
            })
        }),
        ("rust::heap_blocks", Clock::Trapped, || {
            let heap = Heap::new(8192).unwrap().leak();
            Box::new(move || {
                let (Ok(one), Ok(two)) = (heap.alloc(40, Timeout::INFINITE), heap.alloc(2000, LONG_TIME)) else {
                    return false;
                };
                one.len() + two.len() == 2040
            })
        }),
        ("rust::inquiries", Clock::Trapped, || {
            let (event, condition) = (Event::new().unwrap().leak(), Condition::new().unwrap().leak());
            let (queue, heap) = (Queue::<u8>::new(1).unwrap().leak(), Heap::new(1).unwrap().leak());
            Box::new(move || {
                event.inquire().is_ok()
                    && condition.inquire().is_ok()
                    && queue.inquire().is_ok()
                    && heap.inquire().is_ok()
            })
        }),
        ("c::start_and_stop_of_a_far_alarm", Clock::Free, || {
            let alarm = Box::leak(Box::new(RT_ALARM { handle: 0 }));
            assert_eq!(c!(rt_alarm_create(alarm, null(), Some(never), null_mut())), 0);
            earlier_alarm();
            Box::new(move || c!(rt_alarm_start(alarm, LONG, 0)) == 0 && c!(rt_alarm_stop(alarm)) == 0)
        }),
        ("rust::start_and_stop_of_a_far_alarm", Clock::Free, || {
            let alarm = Alarm::new("", || ()).unwrap().leak();
            earlier_alarm();
            Box::new(move || alarm.start(LONG_TIME, LONG_TIME).is_ok() && alarm.stop().is_ok())
        }),
    ]
}

/// What the traps must see of these objects.
pub fn controls() -> [(&'static str, Prepare, Seen); 3] {
    [
        (
            "a_signal_to_a_waiter",
            || {
                let event = Event::new().unwrap().leak();
                let mut rounds = 0;
                Box::new(move || {
                    rounds += 1;
                    if rounds == WARM_UP {
                        Task::builder().spawn(move || event.wait(1, Match::All, Timeout::INFINITE)).unwrap();
                        while event.inquire().unwrap().waiters == 0 {
                            thread::yield_now();
                        }
                    }
                    rounds == WARM_UP || event.signal(u32::from(rounds > WARM_UP)).is_ok()
                })
            },
            Seen::call(libc::SYS_futex),
        ),
        (
            "a_wait_for_a_message",
            || {
                let queue = Queue::new(WARM_UP as usize).unwrap();
                (0..WARM_UP).for_each(|message| queue.send(message).unwrap());
                // The first wait of the initial thread asks for its process's number.
                assert_eq!(queue_of_none().read(&mut [0], Duration::ZERO), Err(Error::TimedOut));
                Box::new(move || queue.receive(Timeout::INFINITE).is_ok())
            },
            Seen::call(libc::SYS_futex),
        ),
        (
            "a_clock_read_of_a_wait_for_memory",
            || {
                let heap = Heap::new(512).unwrap().leak();
                std::mem::forget(heap.alloc(512, Timeout::NONE).unwrap());
                assert_eq!(heap.alloc(512, Duration::ZERO).unwrap_err(), Error::TimedOut);
                Box::new(move || heap.alloc(1, alchemy::DateTicks(PAST)).is_err_and(|error| error == Error::TimedOut))
            },
            Seen::CLOCK,
        ),
    ]
}

unsafe extern "C-unwind" fn never(_: *mut c_void) {}

/// An alarm that is due before the measured one, whose server then need not be told.
fn earlier_alarm() {
    Alarm::new("", || ()).unwrap().leak().start(LONG_TIME / 2, Duration::ZERO).unwrap();
}

fn queue_of_none() -> alchemy::QueueRef {
    Queue::<u8>::new(1).unwrap().leak()
}

fn c_event() -> *mut RT_EVENT {
    let event = Box::leak(Box::new(RT_EVENT { handle: 0 }));
    assert_eq!(c!(rt_event_create(event, null(), 0, 0)), 0);
    event
}

fn c_queue() -> *mut RT_QUEUE {
    let queue = Box::leak(Box::new(RT_QUEUE { handle: 0 }));
    assert_eq!(c!(rt_queue_create(queue, null(), 4096, 0, 0)), 0);
    queue
}

fn c_buffer() -> *mut RT_BUFFER {
    let buffer = Box::leak(Box::new(RT_BUFFER { handle: 0 }));
    assert_eq!(c!(rt_buffer_create(buffer, null(), 64, 0)), 0);
    buffer
}

fn c_heap() -> *mut RT_HEAP {
    let heap = Box::leak(Box::new(RT_HEAP { handle: 0 }));
    assert_eq!(c!(rt_heap_create(heap, null(), 8192, 0)), 0);
    heap
}
