use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::*;
use crate::step::die_at;
use crate::tests::{enlist, space, until};

/// Whoever dies while it allocates, frees or serves: the waiter gets its block all the same, and none is lost.
#[test]
fn holders_die_at_every_step() {
    let labels = [
        "heap: allocated",
        "heap: freed",
        "heap: allocated for a waiter",
        "heap: decided for a waiter",
        "pool: claimed a small block",
        "pool: took a small block",
        "pool: opened a page",
        "pool: took a range",
        "pool: freed a range",
        "pool: merged a range",
    ];
    for label in labels {
        let space = space();
        let heap = create(space, Name::default(), 4096, Mode::PRIORITY, |_| ()).unwrap();
        let ask = |size| Request { size, pinned: false, strict: false };
        let poll =
            move |size| alloc(space, heap, ask(size), Timeout::NONE, || Err(Error::Permission)).map(|block| block.at);
        let all = poll(4096).unwrap();
        let (tell, got) = mpsc::channel();
        let me = enlist(space, 10);
        thread::spawn(move || {
            tell.send(alloc(space, heap, ask(100), Timeout::INFINITE, || Ok(me)).unwrap().at).unwrap()
        });
        until(|| me.slot.node.is_queued());
        let died = die_at(label, 1, move || {
            free_at(space, heap, all).unwrap();
            poll(600).unwrap();
        });
        assert!(died, "never came to {label}");
        // The first to come tells whom the dead had decided.
        let waiting = inquire(space, heap).unwrap().waiters > 0;
        if waiting && free_at(space, heap, all).is_err() {
            free_at(space, heap, poll(16).unwrap()).unwrap();
        }
        let at = got.recv_timeout(Duration::from_secs(30)).unwrap();
        free_at(space, heap, at).unwrap();
        assert_eq!(inquire(space, heap).unwrap().used, 0, "{label}");
        assert!(poll(4096).is_ok());
    }
}

/// Whoever dies in an attempt leaves no block that nobody knows of, and frees one or does not.
#[test]
fn those_who_attempt_die_at_every_step() {
    let labels = [
        "heap: allocated",
        "pool: claimed a small block",
        "pool: took a small block",
        "pool: opened a page",
        "pool: closed a full page",
        "pool: took a range",
        "pool: freed a small block",
        "pool: opened a page that was full",
        "pool: freed a range",
        "pool: merged a range",
    ];
    for label in labels {
        let space = space();
        let heap = create(space, Name::default(), 8192, Mode::PRIORITY, |_| ()).unwrap();
        // The sizes that the thread came to know of.
        let (tell, told) = mpsc::channel();
        let died = die_at(label, 1, move || {
            // Attempts are for threads that know themselves.
            posix_backend::thread::current();
            let blocks: Vec<_> = [600, 256, 256, 256]
                .map(|size| {
                    alloc_uncontended::<true>(space, heap, size)
                        .or_else(|| alloc_uncontended::<false>(space, heap, size))
                        .inspect(|_| tell.send(size).unwrap())
                })
                .into();
            for block in blocks {
                let block = block.unwrap().as_ptr();
                assert!(free_uncontended::<true>(space, heap, block) || free_uncontended::<false>(space, heap, block));
            }
        });
        assert!(died, "never came to {label}");
        let known: u64 = told.try_iter().map(|size| if size == 600 { 1024 } else { size }).sum();
        let used = inquire(space, heap).unwrap().used;
        let is_freeing = label.contains("freed") || label.contains("merged") || label.contains("was full");
        assert!(if is_freeing { used < known } else { used == known }, "{label}: {used} of {known}");
        assert!(alloc_uncontended::<false>(space, heap, 16).is_some());
        delete(space, heap).unwrap();
    }
}
