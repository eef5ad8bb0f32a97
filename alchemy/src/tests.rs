//! What only the inside can show: objects whose lock holder died, and words that are always slow.

mod buffer;
mod message;

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use posix_backend::atomic::Ordering::*;
use posix_backend::wait::WAITING;

use crate::error::Error;
use crate::handle::Handle;
use crate::name::Name;
use crate::sem::{self, Mode, SemaphoreSlot};
use crate::space::{Me, Space};
use crate::task::slot::ThreadSlot;
use crate::time::Timeout;

pub(crate) fn space() -> &'static Space {
    Box::leak(Box::new(Space::in_memory(|_| 8)))
}

/// A thread slot for a test's thread.
pub(crate) fn enlist(space: &'static Space, priority: u32) -> Me<'static> {
    let index = space.take::<ThreadSlot>().unwrap();
    let slot = space.threads.get(index).unwrap();
    slot.fill(priority, 0);
    slot.tid.store(index, Relaxed);
    Me { index, slot }
}

fn semaphore(space: &Space, count: u32) -> Handle {
    sem::create(space, Name::default(), count, Mode::PRIORITY, |_| ()).unwrap()
}

/// Waits until `condition` holds; fails the test if it never does.
pub(crate) fn until(condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < end, "it never happened");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Starts a waiter; it sends its priority when it has got a unit.
fn waiter(space: &'static Space, sem: Handle, priority: u32, served: &mpsc::Sender<u32>) -> Me<'static> {
    let me = enlist(space, priority);
    let served = served.clone();
    thread::spawn(move || {
        sem::wait_slow(space, sem, Timeout::INFINITE, || Ok(me)).unwrap();
        served.send(priority).unwrap();
    });
    until(|| me.slot.node.park.load(Acquire) == WAITING && me.slot.node.is_queued());
    me
}

/// Runs `last_act` in a thread that takes the object's lock and ends with it.
fn die_with_lock(space: &'static Space, sem: Handle, last_act: impl FnOnce(&SemaphoreSlot) + Send + 'static) {
    thread::spawn(move || {
        let slot = space.object::<SemaphoreSlot>(sem).unwrap();
        let held = space.lock(&slot.head.place(sem));
        last_act(slot);
        std::mem::forget(held);
    })
    .join()
    .unwrap();
}

#[test]
fn waiters_survive_a_dead_lock_holder() {
    let space = space();
    let sem = semaphore(space, 0);
    let (served, order) = mpsc::channel();
    let waiters: Vec<_> = [10, 30, 20].map(|priority| waiter(space, sem, priority, &served)).into();
    // In the middle of a hand-over: the first is unlinked, but not told.
    let first = waiters[1].index;
    die_with_lock(space, sem, move |slot| slot.head.site.dequeue(space, first));
    for expected in [30, 20, 10] {
        sem::post_slow(space, sem).unwrap();
        assert_eq!(order.recv_timeout(Duration::from_secs(30)), Ok(expected));
    }
    sem::post_slow(space, sem).unwrap();
    let info = sem::inquire(space, sem).unwrap();
    assert_eq!((info.count, info.waiters), (1, 0));
}

/// Told by whoever comes next, whatever for.
#[test]
fn whom_a_dead_lock_holder_has_decided_is_told() {
    let space = space();
    let sem = semaphore(space, 0);
    let (served, order) = mpsc::channel();
    let lucky = waiter(space, sem, 10, &served).index;
    waiter(space, sem, 20, &served);
    die_with_lock(space, sem, move |slot| slot.head.site.decide(space, lucky, crate::wait::GRANTED));
    assert_eq!(sem::inquire(space, sem).unwrap().waiters, 1);
    assert_eq!(order.recv_timeout(Duration::from_secs(30)), Ok(10));
    sem::post_slow(space, sem).unwrap();
    assert_eq!(order.recv_timeout(Duration::from_secs(30)), Ok(20));
}

#[test]
fn the_waiters_bit_is_rederived() {
    let space = space();
    let sem = semaphore(space, 0);
    // Marked, but the thread that was about to queue is no more.
    die_with_lock(space, sem, |slot| slot.head.state.set_waiters(true));
    sem::post_slow(space, sem).unwrap();
    assert_eq!(sem::inquire(space, sem).unwrap().count, 1);
    assert!(sem::wait_fast(space, sem) || sem::wait_slow(space, sem, Timeout::NONE, || Err(Error::Permission)).is_ok());
}

#[test]
fn waiters_of_a_half_deleted_object_are_told() {
    let space = space();
    let sem = semaphore(space, 0);
    let me = enlist(space, 5);
    let (ended, end) = mpsc::channel();
    thread::spawn(move || ended.send(sem::wait_slow(space, sem, Timeout::INFINITE, || Ok(me))).unwrap());
    until(|| me.slot.node.is_queued() && me.slot.node.park.load(Acquire) == WAITING);
    die_with_lock(space, sem, move |slot| slot.head.state.kill(sem).unwrap());
    // The next one who comes with a stale handle repairs the object, and tells those who wait.
    let slot = space.object::<SemaphoreSlot>(sem).unwrap();
    let place = slot.head.place(sem);
    space.tell_decided(&place);
    assert_eq!(end.recv_timeout(Duration::from_secs(30)), Ok(Err(Error::Removed)));
    assert_eq!(sem::post_slow(space, sem), Err(Error::Invalid));
}

#[test]
fn a_slow_word_serves_through_the_lock() {
    let space = space();
    let sem = semaphore(space, 2);
    let slot = space.object::<SemaphoreSlot>(sem).unwrap();
    {
        let _held = space.lock(&slot.head.place(sem));
        slot.head.state.set_slow(true);
    }
    let poll = || sem::wait_slow(space, sem, Timeout::NONE, || Err(Error::Permission));
    assert!(!sem::wait_fast(space, sem) && !sem::post_fast(space, sem));
    assert_eq!([poll(), poll(), poll()], [Ok(()), Ok(()), Err(Error::WouldBlock)]);
    sem::post_slow(space, sem).unwrap();
    assert_eq!(sem::inquire(space, sem).unwrap().count, 1);
    poll().unwrap();
    let (served, order) = mpsc::channel();
    waiter(space, sem, 10, &served);
    sem::post_slow(space, sem).unwrap();
    assert_eq!(order.recv_timeout(Duration::from_secs(30)), Ok(10));
    sem::broadcast(space, sem).unwrap();
    {
        let _held = space.lock(&slot.head.place(sem));
        slot.head.state.set_slow(false);
    }
    assert!(sem::post_fast(space, sem) && sem::wait_fast(space, sem));
}

#[test]
fn a_registry_left_half_changed_is_rebuilt() {
    let space = space();
    let names: Vec<Name> = (0..4).map(|i| Name::new(format!("name-{i}").as_bytes())).collect();
    for &name in &names {
        sem::create(space, name, 0, Mode::PRIORITY, |_| ()).unwrap();
    }
    thread::spawn(move || {
        let place = space.place(Handle::new(crate::handle::Kind::Registry, 0, 2)).unwrap();
        std::mem::forget(space.lock(&place));
        for bucket in 0..4 {
            space.buckets[2].get(bucket).unwrap().store(0, Relaxed);
        }
    })
    .join()
    .unwrap();
    let bind = |name| space.bind::<SemaphoreSlot, _>(name, Timeout::NONE, || Err(Error::Permission), || (), Some);
    for &name in &names {
        assert!(bind(name).is_ok());
    }
    assert_eq!(bind(Name::new(b"name-4")), Err(Error::WouldBlock));
    assert_eq!(sem::create(space, names[2], 0, Mode::PRIORITY, |_| ()), Err(Error::Exists));
}
