//! Message queues through the Rust interface.

mod kit;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use alchemy::task::Status;
use alchemy::{
    Alarm, Date, Error, Handle, JoinHandle, Name, Plain, Queue, QueueMode, QueueRef, QueueSettings, SendMode, Task,
    Timeout,
};
use kit::{LONG, SHORT, Watchdog, as_plain, as_task, gate, until, until_status, value};

/// A message with several fields, and without padding.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
struct Sample {
    value: f64,
    channel: u32,
    number: u32,
}

// SAFETY: numbers, of 16 bytes in all.
unsafe impl Plain for Sample {}
const _: () = assert!(size_of::<Sample>() == 8 + 4 + 4);

fn until_waiters(queue: QueueRef, waiters: u32) {
    until(|| queue.inquire().expect("the queue is gone").waiters == waiters);
}

/// A task of this priority that waits for a message of four bytes when this returns.
fn waiter(queue: QueueRef, priority: u32) -> JoinHandle<alchemy::Result<u32>> {
    let queued = queue.inquire().unwrap().waiters;
    let body = move || {
        let mut bytes = [0; 4];
        queue.read(&mut bytes, Timeout::INFINITE).map(|size| {
            assert_eq!(size, 4);
            u32::from_ne_bytes(bytes)
        })
    };
    let task = Task::builder().priority(priority).spawn(body).unwrap();
    until_waiters(queue, queued + 1);
    task
}

fn messages<T: Plain>(queue: &Queue<T>) -> u32 {
    queue.inquire().unwrap().messages
}

fn assert_stale(queue: QueueRef) {
    let mut byte = [0];
    assert_eq!(queue.write(&byte, SendMode::empty()), Err(Error::Invalid));
    assert_eq!(queue.read(&mut byte, Timeout::INFINITE), Err(Error::Invalid));
    assert_eq!(queue.read(&mut byte, Timeout::NONE), Err(Error::Invalid));
    assert_eq!(queue.alloc_raw(1), Err(Error::NoMemory));
    assert_eq!(queue.free_raw(byte.as_ptr()), Err(Error::Invalid));
    assert_eq!(queue.send_raw(byte.as_ptr(), 1, SendMode::empty()), Err(Error::Invalid));
    assert_eq!(queue.receive_raw(LONG), Err(Error::Invalid));
    assert_eq!(queue.flush(), Err(Error::Invalid));
    assert_eq!(queue.inquire(), Err(Error::Invalid));
    assert_eq!(queue.delete(), Err(Error::Invalid));
}

#[test]
fn messages_come_in_order_and_urgent_ones_first() {
    let _dog = Watchdog::new();
    let queue = Queue::new(10).unwrap();
    let sample = |number| Sample { value: f64::from(number) / 3.0, channel: u32::MAX, number };
    for number in [1, 2] {
        queue.send(sample(number)).unwrap();
    }
    for number in [3, 4] {
        queue.send_urgent(sample(number)).unwrap();
    }
    queue.send(sample(5)).unwrap();
    assert_eq!(messages(&queue), 5);
    for number in [4, 3, 1, 2, 5] {
        assert_eq!(queue.receive(Timeout::NONE), Ok(sample(number)));
    }
    assert_eq!(queue.receive(Timeout::NONE), Err(Error::WouldBlock));
    assert_eq!(queue.inquire().unwrap().used, 0);
}

/// The limit, and so much room for any size.
fn fills<T: Plain + PartialEq + std::fmt::Debug>(message: T) {
    for limit in [1, 7, 100] {
        let queue = Queue::new(limit).unwrap();
        for _ in 0..3 {
            for _ in 0..limit {
                assert_eq!(queue.send(message), Ok(()));
            }
            assert_eq!(queue.send(message), Err(Error::NoMemory));
            assert_eq!(queue.send_urgent(message), Err(Error::NoMemory));
            assert_eq!(messages(&queue), limit as u32);
            for _ in 0..limit {
                assert_eq!(queue.receive(Timeout::INFINITE), Ok(message));
            }
        }
        assert_eq!(queue.inquire().unwrap().limit, limit as u32);
    }
}

#[test]
fn there_is_room_for_as_many_messages_as_the_limit_says() {
    let _dog = Watchdog::new();
    fills(());
    fills(7u8);
    fills(-7i128);
    fills([1u16; 50]);
    fills([[0xffu8; 600]; 5]);
}

#[test]
fn arguments_out_of_range_are_refused() {
    let _dog = Watchdog::new();
    let create = |limit, mode| Queue::<u64>::create("queue-refused", limit, mode).map(drop);
    assert_eq!(create(0, QueueMode::PRIORITY), Err(Error::Invalid));
    assert_eq!(create(1 << 31, QueueMode::PRIORITY), Err(Error::Invalid));
    assert_eq!(create(1, QueueMode::from_bits_retain(2)), Err(Error::Invalid));
    assert_eq!(create(usize::MAX, QueueMode::PRIORITY), Err(Error::NoMemory));
    let queue = Queue::<u64>::create("queue-refused", 1, QueueMode::PRIORITY).unwrap();
    assert_eq!(create(1, QueueMode::PRIORITY), Err(Error::Exists));
    assert_eq!(queue.write(&[1], SendMode::from_bits_retain(4)), Err(Error::Invalid));
    assert_eq!(messages(&queue), 0);
}

#[test]
fn a_message_that_is_there_is_taken_whatever_the_timeout() {
    let _dog = Watchdog::new();
    let queue = Queue::<u8>::new(4).unwrap().leak();
    let take = move || {
        for timeout in [
            Timeout::INFINITE,
            Timeout::NONE,
            LONG.into(),
            Timeout::until(Date::from_ticks(1)),
            // Out of range.
            Timeout::from_timespec(1, 2_000_000_000),
        ] {
            queue.write(&[9], SendMode::empty()).unwrap();
            let mut byte = [0];
            assert_eq!((queue.read(&mut byte, timeout), byte), (Ok(1), [9]));
        }
    };
    as_plain(take);
    as_task(take);
    queue.delete().unwrap();
}

#[test]
fn who_may_wait() {
    let _dog = Watchdog::new();
    let queue = Queue::<u32>::new(4).unwrap();
    thread::scope(|scope| {
        let plain = scope.spawn(|| (queue.receive(Timeout::NONE), queue.receive(Timeout::INFINITE)));
        assert_eq!(plain.join().unwrap(), (Err(Error::WouldBlock), Err(Error::Permission)));
    });
    let reference = *queue;
    as_task(move || {
        let mut bytes = [0; 4];
        assert_eq!(reference.read(&mut bytes, Timeout::NONE), Err(Error::WouldBlock));
        assert_eq!(reference.read(&mut bytes, Timeout::until(Date::from_ticks(1))), Err(Error::TimedOut));
        assert_eq!(reference.read(&mut bytes, Timeout::from_timespec(1, -1)), Err(Error::Invalid));
        let start = Date::now();
        assert_eq!(reference.read(&mut bytes, SHORT), Err(Error::TimedOut));
        assert!(Date::now() - start >= SHORT);
        assert_eq!(reference.receive_raw(SHORT), Err(Error::TimedOut));
    });
    // Who gave up gets nothing.
    queue.send(1).unwrap();
    assert_eq!((queue.inquire().unwrap().waiters, messages(&queue)), (0, 1));
}

#[test]
fn a_message_goes_to_the_first_waiter() {
    let _dog = Watchdog::new();
    for (mode, order) in [(QueueMode::PRIORITY, [1, 2, 0]), (QueueMode::empty(), [0, 1, 2])] {
        let queue = Queue::create("", 4, mode).unwrap();
        let tasks = [10, 30, 20].map(|priority| waiter(*queue, priority));
        // Urgent or not: nothing is queued.
        for place in 0..3 {
            if place == 1 { queue.send_urgent(place) } else { queue.send(place) }.unwrap();
            assert_eq!(messages(&queue), 0);
        }
        let got = tasks.map(value).map(Result::unwrap);
        for (place, waiter) in order.into_iter().enumerate() {
            assert_eq!(got[waiter], place as u32, "{mode:?}");
        }
    }
}

#[test]
fn a_broadcast_goes_to_all_who_wait_and_to_nobody_else() {
    let _dog = Watchdog::new();
    let queue = Queue::new(4).unwrap();
    assert_eq!(queue.broadcast(1u32), Ok(0));
    assert_eq!(messages(&queue), 0);
    let tasks: Vec<_> = (0..40).map(|i| waiter(*queue, i % 3)).collect();
    assert_eq!(queue.broadcast(77), Ok(40));
    assert!(tasks.into_iter().map(value).all(|got| got == Ok(77)));
    let seen = queue.inquire().unwrap();
    assert_eq!((seen.waiters, seen.messages, seen.used), (0, 0, 0));
}

#[test]
fn bytes_of_another_length_are_refused_and_lost() {
    let _dog = Watchdog::new();
    let queue = Queue::<u32>::new(20).unwrap();
    for len in [0, 3, 5] {
        queue.write(&[1; 5][..len], SendMode::empty()).unwrap();
        queue.send(2).unwrap();
        assert_eq!(queue.receive(Timeout::NONE), Err(Error::Invalid));
        assert_eq!(queue.receive(Timeout::NONE), Ok(2));
    }
    // As bytes they are cut, and the size is told.
    queue.write(b"12345", SendMode::empty()).unwrap();
    let mut bytes = [0; 2];
    assert_eq!(queue.read(&mut [], Timeout::NONE), Ok(0));
    assert_eq!((queue.read(&mut bytes, Timeout::NONE), &bytes), (Ok(5), b"12"));
    assert_eq!(messages(&queue), 0);
}

#[test]
fn messages_without_copies() {
    let _dog = Watchdog::new();
    let settings = QueueSettings { pool_size: 4096, limit: 0, mode: QueueMode::PRIORITY, shown: 1 };
    let queue = QueueRef::create(Name::new(b""), settings, |_| ()).unwrap();
    let content = queue.alloc_raw(100).unwrap();
    assert_eq!(content.as_ptr() as usize % 16, 0);
    // SAFETY: 100 bytes that nobody else has.
    unsafe { content.write_bytes(5, 100) };
    assert_eq!(queue.send_raw(content.as_ptr(), 5000, SendMode::empty()), Err(Error::Invalid));
    assert_eq!(queue.send_raw(content.as_ptr(), 60, SendMode::BROADCAST), Ok(0));
    assert_eq!(queue.send_raw(content.as_ptr(), 60, SendMode::empty()), Ok(0));
    // It is queued, and nobody's.
    assert_eq!(queue.send_raw(content.as_ptr(), 60, SendMode::empty()), Err(Error::Invalid));
    assert_eq!(queue.free_raw(content.as_ptr()), Err(Error::Invalid));
    assert_eq!(queue.receive_raw(Timeout::NONE), Ok((content, 60)));
    // SAFETY: received, and not yet freed.
    assert_eq!(unsafe { content.add(59).read() }, 5);
    assert_eq!(queue.free_raw(content.as_ptr()), Ok(()));
    assert_eq!(queue.free_raw(content.as_ptr()), Err(Error::Invalid));
    assert_eq!(queue.inquire().unwrap().used, 0);
    assert_eq!(queue.alloc_raw(1 << 20), Err(Error::NoMemory));
    queue.delete().unwrap();
    assert_stale(queue);
}

#[test]
fn a_flush_frees_what_is_queued() {
    let _dog = Watchdog::new();
    let queue = Queue::new(3).unwrap();
    assert_eq!(queue.flush(), Ok(0));
    (0..3u32).for_each(|message| queue.send(message).unwrap());
    assert_eq!(queue.flush(), Ok(3));
    let seen = queue.inquire().unwrap();
    assert_eq!((seen.messages, seen.used), (0, 0));
    let task = waiter(*queue, 0);
    assert_eq!(queue.flush(), Ok(0));
    queue.send(5).unwrap();
    assert_eq!(value(task), Ok(5));
}

#[test]
fn deletion_ends_the_waits_and_all_references() {
    let _dog = Watchdog::new();
    let queue = Queue::<u32>::create("queue-deleted", 3, QueueMode::PRIORITY).unwrap();
    let reference = *queue;
    let tasks = [waiter(reference, 0), waiter(reference, 7)];
    drop(queue);
    assert_eq!(tasks.map(value), [Err(Error::Removed); 2]);
    assert_stale(reference);
    assert_eq!(Queue::<u32>::bind("queue-deleted", Timeout::NONE), Err(Error::WouldBlock));
    let again = Queue::<u32>::create("queue-deleted", 3, QueueMode::PRIORITY).unwrap();
    assert_stale(reference);

    again.delete().unwrap();
    assert_eq!(again.send(1), Err(Error::Invalid));
    assert_eq!(again.receive(LONG), Err(Error::Invalid));
    let successor = Queue::<u32>::create("queue-deleted", 3, QueueMode::PRIORITY).unwrap();
    drop(again);
    assert_eq!(Queue::<u32>::bind("queue-deleted", Timeout::NONE), Ok(*successor));
    let leaked = successor.leak();
    assert_eq!(leaked.inquire().unwrap().name.to_text().as_str(), "queue-deleted");
    assert_eq!(leaked.delete(), Ok(()));
}

#[test]
fn a_message_outlives_the_queue_once_it_is_given() {
    let _dog = Watchdog::new();
    for _ in 0..50 {
        let queue = Queue::new(1).unwrap();
        let task = waiter(*queue, 0);
        queue.send(42).unwrap();
        drop(queue);
        assert_eq!(value(task), Ok(42));
    }
}

#[test]
fn a_bind_waits_for_the_creation() {
    let _dog = Watchdog::new();
    assert_eq!(as_plain(|| Queue::<u8>::bind("queue-to-come", LONG)), Err(Error::Permission));
    assert_eq!(as_task(|| Queue::<u8>::bind("queue-to-come", SHORT)), Err(Error::TimedOut));
    let task = Task::builder().spawn(|| Queue::<u8>::bind("queue-to-come", Timeout::INFINITE)).unwrap();
    until_status(task.task(), Status::WAIT);
    let queue = Queue::<u8>::create("queue-to-come", 1, QueueMode::empty()).unwrap();
    assert_eq!(value(task), Ok(*queue));
}

#[test]
fn unblocked_and_cancelled_waiters_lose_no_message() {
    let _dog = Watchdog::new();
    let queue = Queue::new(4).unwrap();
    let tasks = [3, 2, 1].map(|priority| waiter(*queue, priority));
    tasks[0].task().unblock().unwrap();
    assert_eq!(queue.inquire().unwrap().waiters, 2);
    tasks[1].task().request_end().unwrap();
    assert_eq!(queue.inquire().unwrap().waiters, 1);
    queue.send(1).unwrap();
    queue.send(2).unwrap();
    assert_eq!(tasks.map(value), [Err(Error::Interrupted), Err(Error::Cancelled), Ok(1)]);
    assert_eq!(queue.receive(Timeout::NONE), Ok(2));
}

#[test]
fn alarm_handlers_send_but_do_not_make_or_delete() {
    let _dog = Watchdog::new();
    let queue = Queue::<u32>::new(2).unwrap();
    let reference = *queue;
    let (tell, told) = mpsc::channel();
    let alarm = Alarm::new("", move || {
        let settings = QueueSettings { pool_size: 1, limit: 0, mode: QueueMode::empty(), shown: 0 };
        let raw = QueueRef::create(Name::new(b""), settings, |_| ()).map(drop);
        let made = [Queue::<u32>::new(1).map(drop), raw];
        tell.send((made, reference.delete(), reference.write(&[1; 4], SendMode::empty()))).unwrap();
    })
    .unwrap();
    alarm.start(Duration::from_nanos(1), Duration::ZERO).unwrap();
    assert_eq!(told.recv().unwrap(), ([Err(Error::Permission); 2], Err(Error::Permission), Ok(0)));
    assert_eq!(queue.receive(Timeout::NONE), Ok(0x0101_0101));
}

#[test]
fn handles_of_nothing_and_of_other_types_are_refused() {
    let _dog = Watchdog::new();
    let (queue, other) = (Queue::<u8>::new(1).unwrap(), gate());
    let strangers = [
        Handle::NONE,
        other.handle(),
        Handle::from_raw(usize::MAX),
        Handle::from_raw(queue.handle().to_raw() + (1 << 32)),
    ];
    strangers.into_iter().map(QueueRef::from_handle).for_each(assert_stale);
    assert_eq!(QueueRef::from_handle(Handle::from_raw(queue.handle().to_raw())), *queue);
}

/// Several senders, one receiver that waits: each sender's messages arrive once, whole, in its order.
#[test]
fn streams_of_several_senders() {
    const SENDERS: usize = 3;
    const EACH: u64 = 3_000;
    let _dog = Watchdog::new();
    let queue = std::sync::Arc::new(Queue::<[u64; 3]>::new(8).unwrap());
    let receiver = {
        let queue = queue.clone();
        let body = move || {
            let mut next = [0; SENDERS];
            for _ in 0..SENDERS as u64 * EACH {
                let [sender, number, check] = queue.receive(Timeout::INFINITE).unwrap();
                assert_eq!((number, check), (next[sender as usize], !number));
                next[sender as usize] += 1;
            }
        };
        Task::builder().spawn(body).unwrap()
    };
    thread::scope(|scope| {
        for sender in 0..SENDERS as u64 {
            let queue = &queue;
            scope.spawn(move || {
                for number in 0..EACH {
                    while let Err(error) = queue.send([sender, number, !number]) {
                        assert_eq!(error, Error::NoMemory);
                        thread::yield_now();
                    }
                }
            });
        }
    });
    value(receiver);
    assert_eq!(messages(&queue), 0);
}
