//! Buffers whose lock holder died at each step: what it did has happened wholly or not at all, and waiters are served.
#![allow(unsafe_code)]

use super::*;
use crate::buffer::{self, Direction, Mode, Piece};
use crate::step::die_at;

type Transferred = crate::Result<Vec<u8>>;

fn made(space: &'static Space) -> Handle {
    buffer::create(space, Name::default(), 8, Mode::PRIORITY, |_| ()).unwrap()
}

fn transfer(
    space: &'static Space,
    buffer: Handle,
    direction: Direction,
    bytes: &mut [u8],
    timeout: Timeout,
    me: Option<Me<'static>>,
) -> crate::Result<usize> {
    let piece = Piece { address: bytes.as_mut_ptr(), len: bytes.len() };
    // SAFETY: a slice that is borrowed for the call.
    unsafe { buffer::transfer(space, buffer, direction, piece, timeout, || me.ok_or(Error::Permission)) }
}

fn write(space: &'static Space, buffer: Handle, bytes: &str) -> crate::Result<usize> {
    transfer(space, buffer, Direction::Write, &mut bytes.as_bytes().to_vec(), Timeout::NONE, None)
}

fn read(space: &'static Space, buffer: Handle, len: usize) -> Transferred {
    let mut bytes = vec![0; len];
    let count = transfer(space, buffer, Direction::Read, &mut bytes, Timeout::NONE, None)?;
    bytes.truncate(count);
    Ok(bytes)
}

/// Starts a waiter; it sends the bytes that it has read or written.
fn waits(space: &'static Space, buffer: Handle, direction: Direction, bytes: &str) -> mpsc::Receiver<Transferred> {
    let me = enlist(space, 10);
    let mut bytes = bytes.as_bytes().to_vec();
    let (ended, end) = mpsc::channel();
    thread::spawn(move || {
        let count = transfer(space, buffer, direction, &mut bytes, Timeout::INFINITE, Some(me));
        ended.send(count.map(|count| bytes[..count].to_vec())).unwrap();
    });
    until(|| me.slot.node.park.load(Acquire) == WAITING && me.slot.node.is_queued());
    end
}

fn got(end: &mpsc::Receiver<Transferred>) -> String {
    String::from_utf8(end.recv_timeout(Duration::from_secs(30)).expect("never served").unwrap()).unwrap()
}

/// Nothing is stored and nobody waits; what is written is read.
fn is_in_order(space: &'static Space, buffer: Handle) {
    let info = buffer::inquire(space, buffer).unwrap();
    assert_eq!((info.free, info.readers, info.writers), (8, 0, 0));
    for record in ["efghi", "jklmn"] {
        assert_eq!(write(space, buffer, record), Ok(5));
        assert_eq!(read(space, buffer, 5), Ok(record.into()));
    }
}

/// The steps of serving a waiter; from the third on it counts.
const SERVING: [&str; 5] = ["buffer: copied", "buffer: noted", "buffer: serving", "buffer: moved", "buffer: decided"];

fn own_and_serving() -> impl Iterator<Item = &'static str> {
    ["buffer: own copied", "buffer: own moved"].into_iter().chain(SERVING)
}

#[test]
fn a_writer_that_dies_while_a_reader_waits() {
    for label in own_and_serving() {
        let space = space();
        let buffer = made(space);
        let reader = waits(space, buffer, Direction::Read, "....");
        assert!(
            die_at(label, 1, move || {
                let _ = write(space, buffer, "abcd");
            }),
            "{label}"
        );
        let free = buffer::inquire(space, buffer).unwrap().free;
        assert_eq!(free, 8, "{label}");
        if label == "buffer: own copied" {
            assert_eq!(reader.try_recv(), Err(mpsc::TryRecvError::Empty));
            write(space, buffer, "ABCD").unwrap();
            assert_eq!(got(&reader), "ABCD");
        } else {
            assert_eq!(got(&reader), "abcd", "{label}");
        }
        is_in_order(space, buffer);
    }
}

#[test]
fn a_reader_that_dies_while_a_writer_waits() {
    for label in own_and_serving() {
        let space = space();
        let buffer = made(space);
        write(space, buffer, "12345678").unwrap();
        let writer = waits(space, buffer, Direction::Write, "abcd");
        assert!(
            die_at(label, 1, move || {
                let _ = read(space, buffer, 4);
            }),
            "{label}"
        );
        buffer::inquire(space, buffer).unwrap();
        if label == "buffer: own copied" {
            assert_eq!(read(space, buffer, 4), Ok("1234".into()));
        }
        assert_eq!(got(&writer), "abcd", "{label}");
        assert_eq!(read(space, buffer, 8), Ok("5678abcd".into()), "{label}");
        is_in_order(space, buffer);
    }
}

#[test]
fn a_clearer_that_dies_while_a_writer_waits() {
    for label in ["buffer: cleared"].into_iter().chain(SERVING) {
        let space = space();
        let buffer = made(space);
        write(space, buffer, "12345678").unwrap();
        let writer = waits(space, buffer, Direction::Write, "abcd");
        assert!(
            die_at(label, 1, move || {
                let _ = buffer::clear(space, buffer);
            }),
            "{label}"
        );
        buffer::inquire(space, buffer).unwrap();
        assert_eq!(got(&writer), "abcd", "{label}");
        assert_eq!(read(space, buffer, 4), Ok("abcd".into()), "{label}");
        is_in_order(space, buffer);
    }
}

/// Dies as a writer that would wait.
fn writer_dies(space: &'static Space, buffer: Handle, label: &'static str, bytes: &'static str) {
    let me = enlist(space, 5);
    let work = move || {
        let mut bytes = bytes.as_bytes().to_vec();
        let _ = transfer(space, buffer, Direction::Write, &mut bytes, Timeout::INFINITE, Some(me));
    };
    assert!(die_at(label, 1, work), "{label}");
    // What the end of the thread tells of it.
    me.slot.tid.store(0, Relaxed);
}

#[test]
fn a_writer_that_dies_while_it_makes_room() {
    for label in SERVING.into_iter().chain(["buffer: own copied", "buffer: own moved"]) {
        let space = space();
        let buffer = made(space);
        let reader = waits(space, buffer, Direction::Read, "......");
        write(space, buffer, "1234").unwrap();
        writer_dies(space, buffer, label, "abcdef");
        buffer::inquire(space, buffer).unwrap();
        if label == SERVING[0] || label == SERVING[1] {
            write(space, buffer, "56").unwrap();
            assert_eq!(got(&reader), "123456", "{label}");
        } else {
            assert_eq!(got(&reader), "1234", "{label}");
        }
        if label == "buffer: own moved" {
            assert_eq!(read(space, buffer, 6), Ok("abcdef".into()));
        }
        is_in_order(space, buffer);
    }
}

#[test]
fn a_writer_that_dies_while_it_queues() {
    for label in ["buffer: prepared", "buffer: queued"] {
        let space = space();
        let buffer = made(space);
        write(space, buffer, "12345678").unwrap();
        let first = waits(space, buffer, Direction::Write, "ABCD");
        writer_dies(space, buffer, label, "abcdef");
        assert_eq!(buffer::inquire(space, buffer).unwrap().writers, 1, "{label}");
        assert_eq!(read(space, buffer, 8), Ok("12345678".into()));
        assert_eq!(got(&first), "ABCD");
        assert_eq!(read(space, buffer, 4), Ok("ABCD".into()));
        is_in_order(space, buffer);
    }
}
