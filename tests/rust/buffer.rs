//! Byte buffers through the Rust interface.

mod kit;

use std::thread;

use alchemy::task::Status;
use alchemy::{Buffer, BufferMode, BufferRef, Date, Error, JoinHandle, Task, Timeout};
use kit::{LONG, Random, SHORT, Watchdog, as_plain, as_task, until, until_status, value};

type Read = JoinHandle<alchemy::Result<Vec<u8>>>;
type Written = JoinHandle<alchemy::Result<usize>>;

fn until_waiting(buffer: BufferRef, readers: u32, writers: u32) {
    until(|| {
        let info = buffer.inquire().expect("the buffer is gone");
        (info.readers, info.writers) == (readers, writers)
    });
}

/// A task of this priority that is queued to read when this returns.
fn reader(buffer: BufferRef, priority: u32, len: usize) -> Read {
    let before = buffer.inquire().unwrap().readers;
    let task = Task::builder()
        .priority(priority)
        .spawn(move || {
            let mut bytes = vec![0; len];
            buffer.read(&mut bytes, Timeout::INFINITE).map(|count| bytes[..count].to_vec())
        })
        .unwrap();
    until_waiting(buffer, before + 1, 0);
    task
}

/// A task of this priority that is queued to write when this returns.
fn writer(buffer: BufferRef, priority: u32, bytes: &'static [u8]) -> Written {
    let before = buffer.inquire().unwrap().writers;
    let task = Task::builder().priority(priority).spawn(move || buffer.write(bytes, Timeout::INFINITE)).unwrap();
    until_waiting(buffer, 0, before + 1);
    task
}

fn put(buffer: BufferRef, bytes: &[u8]) {
    assert_eq!(buffer.write(bytes, Timeout::NONE), Ok(bytes.len()));
}

fn take(buffer: BufferRef, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    assert_eq!(buffer.read(&mut bytes, Timeout::NONE), Ok(len));
    bytes
}

fn stored(buffer: BufferRef) -> usize {
    let info = buffer.inquire().unwrap();
    info.size - info.free
}

#[test]
fn arguments() {
    let _dog = Watchdog::new();
    assert_eq!(Buffer::new(0).unwrap_err(), Error::Invalid);
    assert_eq!(Buffer::create("", 1, BufferMode::from_bits_retain(2)).unwrap_err(), Error::Invalid);
    assert_eq!(Buffer::new(usize::MAX).unwrap_err(), Error::NoMemory);
    let buffer = Buffer::create("arguments", 8, BufferMode::empty()).unwrap();
    assert_eq!(Buffer::create("arguments", 8, BufferMode::empty()).unwrap_err(), Error::Exists);
    assert_eq!(Buffer::bind("arguments", Timeout::NONE), Ok(*buffer));
    assert_eq!(buffer.read(&mut [0; 9], Timeout::NONE), Err(Error::Invalid));
    assert_eq!(buffer.write(&[0; 9], LONG), Err(Error::Invalid));
    let stale = *buffer;
    drop(buffer);
    assert_eq!(stale.read(&mut [0], Timeout::INFINITE), Err(Error::Invalid));
    assert_eq!(stale.write(&[0], Timeout::INFINITE), Err(Error::Invalid));
    assert_eq!(stale.clear(), Err(Error::Invalid));
    assert_eq!(stale.inquire().unwrap_err(), Error::Invalid);
    assert_eq!(stale.delete(), Err(Error::Invalid));
    // Nothing is nothing, whatever the buffer.
    assert_eq!(stale.read(&mut [], Timeout::INFINITE), Ok(0));
    assert_eq!(stale.write(&[], Timeout::INFINITE), Ok(0));
}

/// Every length at every position, against a plain queue.
#[test]
fn bytes_come_out_as_they_went_in() {
    let _dog = Watchdog::new();
    let mut random = Random::new(7);
    for size in [1, 2, 3, 5, 8, 64, 4096, 5000] {
        let buffer = Buffer::new(size).unwrap();
        let mut model = std::collections::VecDeque::new();
        let mut next = 0u8;
        for _ in 0..3000 {
            let len = 1 + random.below(size as u64) as usize;
            if random.below(2) == 0 {
                let bytes: Vec<u8> = (0..len).map(|i| next.wrapping_add(i as u8)).collect();
                let written = buffer.write(&bytes, Timeout::NONE);
                if model.len() + len <= size {
                    assert_eq!(written, Ok(len));
                    next = next.wrapping_add(len as u8);
                    model.extend(bytes);
                } else {
                    assert_eq!(written, Err(Error::WouldBlock));
                }
            } else {
                let mut bytes = vec![0; len];
                let read = buffer.read(&mut bytes, Timeout::NONE);
                if len <= model.len() {
                    assert_eq!(read, Ok(len));
                    assert_eq!(bytes, model.drain(..len).collect::<Vec<u8>>());
                } else {
                    assert_eq!(read, Err(Error::WouldBlock));
                }
            }
            assert_eq!(stored(*buffer), model.len());
        }
        buffer.clear().unwrap();
        assert_eq!(stored(*buffer), 0);
    }
}

#[test]
fn who_may_wait() {
    let _dog = Watchdog::new();
    let buffer = Buffer::new(8).unwrap();
    let reference = *buffer;
    put(reference, b"123");
    as_plain(move || {
        let mut bytes = [0; 4];
        assert_eq!(reference.read(&mut bytes, Timeout::NONE), Err(Error::WouldBlock));
        assert_eq!(reference.read(&mut bytes, Timeout::INFINITE), Err(Error::Permission));
        assert_eq!(reference.write(&[0; 6], LONG), Err(Error::Permission));
        assert_eq!(reference.read(&mut bytes[..3], Timeout::INFINITE), Ok(3));
        put(reference, b"123");
    });
    as_task(move || {
        let past = || Timeout::until(Date::from_ticks(1));
        let mut bytes = [0; 4];
        assert_eq!(reference.read(&mut bytes, past()), Err(Error::TimedOut));
        assert_eq!(reference.read(&mut bytes, Timeout::from_timespec(1, -1)), Err(Error::Invalid));
        let start = Date::now();
        assert_eq!(reference.read(&mut bytes, SHORT), Err(Error::TimedOut));
        assert_eq!(reference.write(&[0; 6], SHORT), Err(Error::TimedOut));
        assert!(Date::now() - start >= 2 * SHORT);
        assert_eq!(reference.read(&mut bytes[..3], past()), Ok(3));
    });
    assert_eq!(stored(reference), 0);
}

#[test]
fn the_first_reader_holds_the_others_back() {
    let _dog = Watchdog::new();
    let buffer = Buffer::create("", 8, BufferMode::empty()).unwrap();
    let (a, b) = (reader(*buffer, 0, 4), reader(*buffer, 0, 2));
    put(*buffer, b"12");
    until_waiting(*buffer, 2, 0);
    put(*buffer, b"34");
    assert_eq!(value(a), Ok(b"1234".to_vec()));
    until_waiting(*buffer, 1, 0);
    // Who comes along and finds enough takes it.
    put(*buffer, b"5");
    assert_eq!(take(*buffer, 1), b"5");
    put(*buffer, b"67");
    assert_eq!(value(b), Ok(b"67".to_vec()));
}

#[test]
fn behind_one_who_is_served_all_are_who_fit() {
    let _dog = Watchdog::new();
    let buffer = Buffer::create("", 8, BufferMode::empty()).unwrap();
    let (a, b, c) = (reader(*buffer, 0, 2), reader(*buffer, 0, 6), reader(*buffer, 0, 2));
    put(*buffer, b"1234");
    assert_eq!((value(a), value(c)), (Ok(b"12".to_vec()), Ok(b"34".to_vec())));
    until_waiting(*buffer, 1, 0);
    put(*buffer, b"567890");
    assert_eq!(value(b), Ok(b"567890".to_vec()));
}

#[test]
fn priorities_order_both_queues() {
    let _dog = Watchdog::new();
    let buffer = Buffer::new(4).unwrap();
    let readers = [(10, reader(*buffer, 10, 1)), (30, reader(*buffer, 30, 1)), (20, reader(*buffer, 20, 1))];
    put(*buffer, b"abc");
    for (priority, task) in readers {
        let expected = match priority {
            30 => b"a",
            20 => b"b",
            _ => b"c",
        };
        assert_eq!(value(task), Ok(expected.to_vec()));
    }
    put(*buffer, b"1234");
    let writers = [writer(*buffer, 10, b"low."), writer(*buffer, 20, b"high")];
    assert_eq!(take(*buffer, 4), b"1234");
    assert_eq!(take(*buffer, 4), b"high");
    assert_eq!(take(*buffer, 4), b"low.");
    writers.into_iter().for_each(|task| assert_eq!(value(task), Ok(4)));
}

#[test]
fn a_new_priority_may_let_another_first_reader_through() {
    let _dog = Watchdog::new();
    let buffer = Buffer::new(8).unwrap();
    let (large, small) = (reader(*buffer, 20, 4), reader(*buffer, 10, 2));
    put(*buffer, b"12");
    until_waiting(*buffer, 2, 0);
    small.task().set_priority(30).unwrap();
    assert_eq!(value(small), Ok(b"12".to_vec()));
    put(*buffer, b"3456");
    assert_eq!(value(large), Ok(b"3456".to_vec()));
}

#[test]
fn whoever_leaves_lets_the_next_through() {
    let _dog = Watchdog::new();
    let leave: [fn(&Read); 3] = [
        |first| first.task().unblock().unwrap(),
        |first| first.task().request_end().unwrap(),
        // Its date passes.
        |_| (),
    ];
    for (case, leave) in leave.into_iter().enumerate() {
        let buffer = Buffer::create("", 8, BufferMode::empty()).unwrap();
        let reference = *buffer;
        let first = if case == 2 {
            let task = Task::builder().spawn(move || reference.read(&mut [0; 8], 20 * SHORT).map(|_| Vec::new()));
            until_waiting(reference, 1, 0);
            task.unwrap()
        } else {
            reader(reference, 0, 8)
        };
        let second = reader(reference, 0, 3);
        put(reference, b"123");
        leave(&first);
        assert_eq!(value(first), Err([Error::Interrupted, Error::Cancelled, Error::TimedOut][case]));
        assert_eq!(value(second), Ok(b"123".to_vec()));
    }
}

#[test]
fn a_writer_that_leaves_lets_the_next_through() {
    let _dog = Watchdog::new();
    let buffer = Buffer::create("", 4, BufferMode::empty()).unwrap();
    put(*buffer, b"123");
    let (large, small) = (writer(*buffer, 0, b"abcd"), writer(*buffer, 0, b"ef"));
    assert_eq!(take(*buffer, 1), b"1");
    until_waiting(*buffer, 0, 2);
    large.task().unblock().unwrap();
    assert_eq!((value(large), value(small)), (Err(Error::Interrupted), Ok(2)));
    assert_eq!(take(*buffer, 4), b"23ef");
}

#[test]
fn a_reader_that_comes_while_writers_wait_takes_what_there_is() {
    let _dog = Watchdog::new();
    let buffer = Buffer::new(8).unwrap();
    put(*buffer, b"1");
    let task = writer(*buffer, 0, b"abcdefgh");
    let mut bytes = [0; 8];
    assert_eq!(buffer.read(&mut bytes, Timeout::NONE), Err(Error::WouldBlock));
    until_waiting(*buffer, 0, 1);
    let reference = *buffer;
    // It need not wait, so any thread may.
    let read = as_plain(move || {
        let mut bytes = [0; 8];
        (reference.read(&mut bytes, Timeout::INFINITE), bytes[0])
    });
    assert_eq!(read, (Ok(1), b'1'));
    assert_eq!(value(task), Ok(8));
    assert_eq!(take(*buffer, 8), b"abcdefgh");
}

#[test]
fn a_writer_that_would_wait_gives_the_first_reader_what_there_is() {
    let _dog = Watchdog::new();
    let buffer = Buffer::create("", 8, BufferMode::empty()).unwrap();
    let reference = *buffer;
    let (first, second) = (reader(reference, 0, 6), reader(reference, 0, 5));
    put(reference, b"1234");
    // None of these has to wait, or may.
    assert_eq!(reference.write(b"abcdef", Timeout::NONE), Err(Error::WouldBlock));
    assert_eq!(as_plain(move || reference.write(b"abcdef", Timeout::INFINITE)), Err(Error::Permission));
    let past = Timeout::until(Date::from_ticks(1));
    assert_eq!(as_task(move || reference.write(b"abcdef", past)), Err(Error::TimedOut));
    until_waiting(reference, 2, 0);
    assert_eq!(as_task(move || reference.write(b"abcdef", Timeout::INFINITE)), Ok(6));
    assert_eq!((value(first), value(second)), (Ok(b"1234".to_vec()), Ok(b"abcde".to_vec())));
    assert_eq!(take(reference, 1), b"f");
}

#[test]
fn clearing_lets_writers_proceed_and_no_readers() {
    let _dog = Watchdog::new();
    let buffer = Buffer::new(8).unwrap();
    put(*buffer, b"12345678");
    let task = writer(*buffer, 0, b"abc");
    buffer.clear().unwrap();
    assert_eq!(value(task), Ok(3));
    assert_eq!(take(*buffer, 3), b"abc");
    let task = reader(*buffer, 0, 2);
    buffer.clear().unwrap();
    until_waiting(*buffer, 1, 0);
    put(*buffer, b"xy");
    assert_eq!(value(task), Ok(b"xy".to_vec()));
}

#[test]
fn waiters_are_told_of_the_end() {
    let _dog = Watchdog::new();
    let buffer = Buffer::new(8).unwrap();
    let tasks = [reader(*buffer, 0, 2), reader(*buffer, 9, 2)];
    drop(buffer);
    tasks.into_iter().for_each(|task| assert_eq!(value(task), Err(Error::Removed)));
}

#[test]
fn a_suspended_reader_keeps_its_place_and_is_served() {
    let _dog = Watchdog::new();
    let buffer = Buffer::new(8).unwrap();
    let task = reader(*buffer, 5, 2);
    task.task().suspend().unwrap();
    put(*buffer, b"12");
    until_waiting(*buffer, 0, 0);
    until_status(task.task(), Status::SUSPENDED);
    assert_eq!(stored(*buffer), 0);
    task.task().resume().unwrap();
    assert_eq!(value(task), Ok(b"12".to_vec()));
}

/// Readers and writers of random lengths who all wait: nobody is left behind, and no byte is lost or doubled.
#[test]
fn streams_of_random_lengths() {
    const BYTES: usize = 30_000;
    const SIZE: u64 = 16;
    let _dog = Watchdog::new();
    for mode in [BufferMode::empty(), BufferMode::PRIORITY] {
        let buffer = Buffer::create("", SIZE as usize, mode).unwrap();
        let reference = *buffer;
        let write = Task::builder()
            .spawn(move || {
                let (mut random, mut written) = (Random::new(1), 0);
                while written < BYTES {
                    let len = (1 + random.below(SIZE) as usize).min(BYTES - written);
                    let bytes: Vec<u8> = (written..written + len).map(|i| i as u8).collect();
                    assert_eq!(reference.write(&bytes, Timeout::INFINITE), Ok(len));
                    written += len;
                }
            })
            .unwrap();
        let read = Task::builder()
            .spawn(move || {
                let (mut random, mut read) = (Random::new(2), 0);
                while read < BYTES {
                    let len = (1 + random.below(SIZE) as usize).min(BYTES - read);
                    let mut bytes = vec![0; len];
                    let count = reference.read(&mut bytes, Timeout::INFINITE).unwrap();
                    assert!((1..=len).contains(&count));
                    for (i, &byte) in bytes[..count].iter().enumerate() {
                        assert_eq!(byte, (read + i) as u8);
                    }
                    read += count;
                }
            })
            .unwrap();
        value(write);
        value(read);
        assert_eq!(stored(reference), 0);
    }
}

/// Several on each side, some of whom leave: as many bytes are read as were written.
#[test]
fn a_crowd_that_comes_and_goes() {
    const SIDES: u64 = 3;
    const TURNS: u32 = 3000;
    let _dog = Watchdog::new();
    let buffer = Buffer::new(16).unwrap();
    let reference = *buffer;
    let timeout = |random: &mut Random| match random.below(3) {
        0 => Timeout::NONE,
        _ => Timeout::from(std::time::Duration::from_micros(random.below(200))),
    };
    let side = move |seed: u64, writes: bool| {
        let work = move || {
            let (mut random, mut sum) = (Random::new(seed), 0);
            for _ in 0..TURNS {
                let mut bytes = [0; 16];
                let len = 1 + random.below(16) as usize;
                let limit = timeout(&mut random);
                let bytes = &mut bytes[..len];
                let done = if writes { reference.write(bytes, limit) } else { reference.read(bytes, limit) };
                match done {
                    Ok(count) => sum += count,
                    Err(error) => assert!(matches!(error, Error::WouldBlock | Error::TimedOut | Error::Interrupted)),
                }
            }
            sum
        };
        Task::builder().priority(seed as u32).spawn(work).unwrap()
    };
    let tasks: Vec<(bool, JoinHandle<usize>)> =
        (1..=2 * SIDES).map(|seed| (seed % 2 == 0, side(seed, seed % 2 == 0))).collect();
    let disturbed: Vec<Task> = tasks.iter().map(|(_, task)| task.task()).collect();
    let disturber = thread::spawn(move || {
        let mut random = Random::new(99);
        loop {
            let alive = disturbed.iter().filter(|task| task.unblock().is_ok()).count();
            if alive == 0 {
                return;
            }
            let _ = disturbed[random.below(2 * SIDES) as usize].set_priority(random.below(50) as u32);
            thread::sleep(std::time::Duration::from_micros(100));
        }
    });
    let mut balance = 0i64;
    for (writes, task) in tasks {
        let sum = value(task) as i64;
        balance += if writes { sum } else { -sum };
    }
    disturber.join().unwrap();
    assert_eq!(balance, stored(reference) as i64);
    let info = reference.inquire().unwrap();
    assert_eq!((info.readers, info.writers), (0, 0));
}
