use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::receive::Buffer;
use super::send::Data;
use super::*;
use crate::step::die_at;
use crate::tests::{enlist, space, until};
use crate::time::Timeout;

/// Every label between two stores of a queue, and of its pool, that is come to without waiters.
const LABELS: &[&str] = &[
    "queue: allocated",
    "queue: filled",
    "queue: about to link",
    "queue: linked in front",
    "queue: linked behind",
    "queue: unlinked",
    "queue: held",
    "queue: not linked any more",
    "queue: let go",
    "queue: flushed",
    "queue: emptied",
    "queue: about to unlink a flushed one",
    "queue: unlinked a flushed one",
    "pool: claimed a small block",
    "pool: took a small block",
    "pool: closed a full page",
    "pool: opened a page",
    "pool: unlinked a free range",
    "pool: split a free range",
    "pool: took a range",
    "pool: freed a small block",
    "pool: keeps an empty page",
    "pool: freed a page's last block",
    "pool: opened a page that was full",
    "pool: gave an empty page back",
    "pool: unlinked the neighbours",
    "pool: freed a range",
    "pool: merged a range",
];

fn queue(space: &Space) -> Handle {
    let settings = Settings { pool_size: 20_000, limit: 0, mode: Mode::PRIORITY, shown: 1 };
    create(space, Name::default(), settings, |_| ()).unwrap()
}

fn put(space: &Space, queue: Handle, bytes: &[u8], mode: SendMode) -> Result<u32> {
    let data = Data { start: bytes.as_ptr(), size: bytes.len() as u64 };
    // SAFETY: a slice.
    unsafe { write(space, queue, data, mode) }
}

fn poll(space: &Space, queue: Handle) -> Result<Vec<u8>> {
    let mut room = vec![0; 4096];
    let buffer = Buffer { start: room.as_mut_ptr(), room: room.len() as u64 };
    // SAFETY: a vector.
    let size = unsafe { read(space, queue, buffer, Timeout::NONE, || Err(Error::Permission)) }?;
    room.truncate(size as usize);
    Ok(room)
}

/// All that can be done without waiting, over small and large messages, in the ordinary way.
fn everything(space: &Space, queue: Handle) {
    let mut held = Vec::new();
    for round in 0..12_usize {
        let size = [0, 10, 60, 200, 480, 481, 1500][round % 7];
        put(space, queue, &vec![round as u8; size], SendMode::empty()).unwrap();
        put(space, queue, &vec![round as u8; size / 2], SendMode::URGENT).unwrap();
        held.push(alloc(space, queue, size as u64 / 4).unwrap());
    }
    for (round, &content) in held.iter().enumerate() {
        if round % 2 == 0 {
            send(space, queue, content.as_ptr(), 0, SendMode::empty()).unwrap();
        } else {
            free(space, queue, content.as_ptr()).unwrap();
        }
    }
    for _ in 0..6 {
        poll(space, queue).unwrap();
        let (content, size) = receive(space, queue, Timeout::NONE, || Err(Error::Permission)).unwrap();
        send(space, queue, content.as_ptr(), size, SendMode::empty()).unwrap();
    }
    finish(space, queue);
}

/// The same by attempts, which succeed as long as nobody waits: in line where that can be.
fn everything_at_once(space: &Space, queue: Handle) {
    // Attempts are for threads that know themselves.
    posix_backend::thread::current();
    let mut held = Vec::new();
    for round in 0..12_usize {
        let size = [0, 10, 60, 200, 480, 481, 1500][round % 7];
        for (size, mode) in [(size, SendMode::empty()), (size / 2, SendMode::URGENT)] {
            let bytes = vec![round as u8; size];
            let data = Data { start: bytes.as_ptr(), size: size as u64 };
            // SAFETY: a vector.
            let at_once = unsafe { write_uncontended::<true>(space, queue, data, mode) };
            // SAFETY: a vector.
            assert!(at_once || unsafe { write_uncontended::<false>(space, queue, data, mode) });
        }
        let at_once = alloc_uncontended::<true>(space, queue, size as u64 / 4);
        held.push(at_once.or_else(|| alloc_uncontended::<false>(space, queue, size as u64 / 4)).unwrap());
    }
    for (round, &content) in held.iter().enumerate() {
        if round % 2 == 0 {
            assert!(send_uncontended::<false>(space, queue, content.as_ptr(), 0, SendMode::empty()));
        } else {
            let at_once = free_uncontended::<true>(space, queue, content.as_ptr());
            assert!(at_once || free_uncontended::<false>(space, queue, content.as_ptr()));
        }
    }
    for _ in 0..6 {
        let mut room = [0; 1500];
        let buffer = Buffer { start: room.as_mut_ptr(), room: room.len() as u64 };
        // SAFETY: an array.
        let at_once = unsafe { read_uncontended::<true>(space, queue, buffer) };
        // SAFETY: an array.
        at_once.or_else(|| unsafe { read_uncontended::<false>(space, queue, buffer) }).unwrap();
        let (content, size) = receive_uncontended(space, queue).unwrap();
        let sent = |at_once| {
            let content = content.as_ptr();
            if at_once {
                send_uncontended::<true>(space, queue, content, size, SendMode::empty())
            } else {
                send_uncontended::<false>(space, queue, content, size, SendMode::empty())
            }
        };
        assert!(sent(true) || sent(false));
    }
    finish(space, queue);
}

fn finish(space: &Space, queue: Handle) {
    flush(space, queue).unwrap();
    // The whole pool, which takes the pages that are kept though empty.
    let all = inquire(space, queue).unwrap().pool_size - HEADER;
    free(space, queue, alloc(space, queue, all).unwrap().as_ptr()).unwrap();
}

/// What somebody who died held stays allocated until it is freed; nothing else does, and the rest works.
#[test]
fn senders_and_receivers_die_at_every_step() {
    let mut reached = BTreeSet::new();
    let works = [everything, everything_at_once];
    for (&label, work) in LABELS.iter().flat_map(|label| works.map(|work| (label, work))) {
        for count in 1..40 {
            let space = space();
            let queue = queue(space);
            if !die_at(label, count, move || work(space, queue)) {
                break;
            }
            reached.insert(label);
            // The first to come repairs the queue.
            let info = inquire(space, queue).unwrap();
            let slot = space.object::<QueueSlot>(queue).unwrap();
            let held: Vec<*const u8> = {
                let _held = space.lock(&slot.head.place(queue));
                let store = slot.store().unwrap();
                let live = (0..(store.0.usable() / HEADER) as u32).filter_map(|number| store.by_number(number));
                let held = live.filter(|message| message.holders() > 0);
                held.map(|message| store.content(message.number).unwrap().as_ptr().cast_const()).collect()
            };
            let mut taken = 0;
            while poll(space, queue).is_ok() {
                taken += 1;
            }
            assert_eq!(taken, info.messages, "{label} {count}");
            for content in held {
                free(space, queue, content).unwrap();
            }
            assert_eq!(inquire(space, queue).unwrap().used, 0, "{label} {count}");
            work(space, queue);
            assert_eq!(inquire(space, queue).unwrap().used, 0);
            delete(space, queue).unwrap();
        }
    }
    for label in LABELS {
        assert!(reached.contains(label), "never came to {label}");
    }
}

/// Whoever dies serving waiters: each of them is served once, by it or by the next, and every hold is somebody's.
#[test]
fn waiters_survive_those_who_die_serving_them() {
    let labels =
        ["queue: about to grant", "queue: granted", "queue: told", "queue: copied to one of many", "queue: filled"];
    for mode in [SendMode::empty(), SendMode::BROADCAST] {
        let mut deaths = 0;
        for (label, count) in labels.iter().flat_map(|&label| [(label, 1), (label, 2)]) {
            let space = space();
            let queue = queue(space);
            let (tell, got) = mpsc::channel();
            for (priority, reads) in [(40, false), (30, true), (20, false), (10, true)] {
                let (me, tell) = (enlist(space, priority), tell.clone());
                thread::spawn(move || {
                    let content = if reads {
                        let mut room = [0; 8];
                        let buffer = Buffer { start: room.as_mut_ptr(), room: 8 };
                        // SAFETY: an array.
                        assert_eq!(unsafe { read(space, queue, buffer, Timeout::INFINITE, || Ok(me)) }, Ok(5));
                        assert!(room.starts_with(b"words"));
                        0
                    } else {
                        let (content, size) = receive(space, queue, Timeout::INFINITE, || Ok(me)).unwrap();
                        assert_eq!(size, 5);
                        content.as_ptr().expose_provenance()
                    };
                    tell.send(content).unwrap();
                });
                until(|| me.slot.node.is_queued());
            }
            deaths += u32::from(die_at(label, count, move || {
                for _ in 0..4 {
                    put(space, queue, b"words", mode).unwrap();
                }
            }));
            // The first to come tells those who were decided; the others are served.
            while inquire(space, queue).unwrap().waiters > 0 {
                put(space, queue, b"words", SendMode::empty()).unwrap();
            }
            // A waiter that was told by the dead may miss its wake-up only.
            for index in 1..8 {
                let thread = space.threads.get(index).unwrap();
                posix_backend::futex::wake(&thread.node.park, 1, space.scope);
            }
            for _ in 0..4 {
                let content = got.recv_timeout(Duration::from_secs(30)).unwrap();
                if content != 0 {
                    free(space, queue, core::ptr::with_exposed_provenance(content)).unwrap();
                }
            }
            flush(space, queue).unwrap();
            assert_eq!(inquire(space, queue).unwrap().used, 0, "{label} {count}");
        }
        assert!(deaths >= 5, "few deaths: {deaths}");
    }
}

/// Whoever needs the room need not wait until a flush, which is preempted, has freed all that it took out.
#[test]
fn what_is_flushed_is_room() {
    let space = space();
    let queue = queue(space);
    while put(space, queue, &[0; 32], SendMode::empty()).is_ok() {}
    let slot = space.object::<QueueSlot>(queue).unwrap();
    {
        let _held = space.lock(&slot.head.place(queue));
        assert!(slot.store().unwrap().flush() > 100);
    }
    let all = inquire(space, queue).unwrap().pool_size - HEADER;
    free(space, queue, alloc(space, queue, all).unwrap().as_ptr()).unwrap();
}

/// The child of a fork that found another thread in the midst of something: the messages are there in their order, and what is
/// flushed does not come back.
#[test]
fn a_child_inherits_the_work_of_one_that_dies() {
    fn texts(space: &Space, queue: Handle) -> String {
        core::iter::from_fn(|| poll(space, queue).ok()).map(|text| String::from_utf8(text).unwrap()).collect()
    }
    type Work = fn(&Space, Handle);
    let poll: Work = |space, queue| {
        let _ = poll(space, queue);
    };
    let put: Work = |space, queue| {
        let _ = put(space, queue, b"D", SendMode::empty());
    };
    let hurry: Work = |space, queue| {
        let _ = self::put(space, queue, b"D", SendMode::URGENT);
    };
    let flush: Work = |space, queue| {
        let _ = flush(space, queue);
    };
    for (label, work, expected) in [
        ("queue: unlinked", poll, "ABC"),
        ("queue: not linked any more", poll, "BC"),
        ("queue: about to link", put, "ABCD"),
        ("queue: linked behind", put, "ABCD"),
        ("queue: about to link", hurry, "DABC"),
        ("queue: linked in front", hurry, "DABC"),
        ("queue: flushed", flush, ""),
        ("queue: emptied", flush, ""),
        ("queue: about to unlink a flushed one", flush, ""),
        ("queue: unlinked a flushed one", flush, ""),
    ] {
        let space = space();
        let queue = queue(space);
        for text in [b"A", b"B", b"C"] {
            self::put(space, queue, text, SendMode::empty()).unwrap();
        }
        assert!(die_at(label, 1, move || work(space, queue)), "never came to {label}");
        let slot = space.object::<QueueSlot>(queue).unwrap();
        slot.head.site.reset();
        slot.inherit(space, queue.index(), 0);
        let info = inquire(space, queue).unwrap();
        assert_eq!((texts(space, queue).as_str(), info.messages), (expected, expected.len() as u32), "{label}");
        assert_eq!(inquire(space, queue).unwrap().used, 0, "{label}");
    }
}
