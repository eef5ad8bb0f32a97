//! What only the inside can show: condition variables, and mutexes bound to them, whose lock holder died.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use posix_backend::atomic::Ordering::*;
use posix_backend::wait::WAITING;

use super::*;
use crate::mutex;
use crate::space::{IN_KERNEL, IN_QUEUES};
use crate::step::die_at;
use crate::tests::{enlist, space, until};

const PATIENCE: Duration = Duration::from_secs(30);

fn spaces() -> [&'static Space; 2] {
    [IN_KERNEL, IN_QUEUES].map(|protocol| {
        let space = space();
        space.header().unwrap().protocol.store(protocol, Relaxed);
        space
    })
}

/// The calling thread is the task of this slot.
fn become_task(me: Me<'_>) {
    posix_backend::thread::set_identity(me.index);
    me.slot.tid.store(posix_backend::thread::tid(), Relaxed);
}

fn acquire(space: &Space, mutex: Handle, me: Me<'static>) {
    assert!(
        mutex::acquire_fast(space, mutex) || mutex::acquire_slow(space, mutex, Timeout::INFINITE, || Ok(me)).is_ok()
    );
}

/// Starts a waiter; it sends its priority and the result, and releases the mutex.
fn waiter(
    space: &'static Space,
    (cond, mutex): (Handle, Handle),
    priority: u32,
    done: &mpsc::Sender<(u32, Result<()>)>,
) -> Me<'static> {
    let me = enlist(space, priority);
    let done = done.clone();
    thread::spawn(move || {
        become_task(me);
        acquire(space, mutex, me);
        let result = wait(space, cond, mutex, Timeout::INFINITE, || Ok(me));
        assert!(mutex::release_fast(space, mutex) || mutex::release_slow(space, mutex).is_ok());
        done.send((priority, result)).unwrap();
    });
    until(|| me.slot.node.park.load(Acquire) == WAITING && me.slot.node.is_queued());
    // It has given the mutex up.
    until(|| mutex::inquire(space, mutex).unwrap().depth == 0);
    me
}

fn objects(space: &Space) -> (Handle, Handle) {
    let cond = create(space, Name::default(), |_| ()).unwrap();
    (cond, mutex::create(space, Name::default(), |_| ()).unwrap())
}

/// A signal that died before it told anybody has not happened.
#[test]
fn a_signal_that_dies_leaves_the_waiters_queued() {
    for space in spaces() {
        let (cond, mutex) = objects(space);
        let (send, done) = mpsc::channel();
        let chosen = waiter(space, (cond, mutex), 20, &send);
        waiter(space, (cond, mutex), 10, &send);
        assert!(die_at("cond: result", 1, move || signal_slow(space, cond).unwrap()));
        assert_eq!(inquire(space, cond).unwrap().waiters, 2);
        assert_eq!(chosen.slot.node.result.load(Relaxed), FOR_ALL);
        for priority in [20, 10] {
            signal_slow(space, cond).unwrap();
            assert_eq!(done.recv_timeout(PATIENCE), Ok((priority, Ok(()))));
        }
        assert!(signal_fast(space, cond));
        assert_eq!(mutex::delete(space, mutex, false), Ok(()));
        assert_eq!(delete(space, cond, false), Ok(()));
    }
}

/// A broadcast that died before it told anybody is completed by whoever comes next.
#[test]
fn a_broadcast_that_dies_is_completed() {
    for space in spaces() {
        let (cond, mutex) = objects(space);
        let (send, done) = mpsc::channel();
        for priority in [10, 20, 30] {
            waiter(space, (cond, mutex), priority, &send);
        }
        assert!(die_at("cond: all decided", 1, move || broadcast_slow(space, cond).unwrap()));
        assert_eq!(inquire(space, cond).unwrap().waiters, 0);
        let mut ended: Vec<_> = (0..3).map(|_| done.recv_timeout(PATIENCE).unwrap()).collect();
        ended.sort_unstable_by_key(|&(priority, _)| priority);
        assert_eq!(ended, [(10, Ok(())), (20, Ok(())), (30, Ok(()))]);
        assert!(signal_fast(space, cond));
    }
}

/// Threads that are no more bind no mutex; the others go on doing so.
#[test]
fn bound_threads_are_counted_anew() {
    for label in ["mutex: bound thread", "mutex: unbound thread"] {
        for space in spaces() {
            let (cond, mutex) = objects(space);
            let (send, done) = mpsc::channel();
            waiter(space, (cond, mutex), 10, &send);
            let me = enlist(space, 20);
            let dead = die_at(label, 1, move || {
                become_task(me);
                acquire(space, mutex, me);
                // Over at once, so that it comes to both.
                let past = Timeout::from_timespec(0, 1);
                assert_eq!(wait(space, cond, mutex, past, || Ok(me)), Err(Error::TimedOut));
            });
            assert!(dead, "{label}");
            // As whoever finds out that a process is no more does.
            me.slot.tid.store(0, Relaxed);
            assert_eq!(mutex::delete(space, mutex, false), Err(Error::Busy), "{label}");
            signal_slow(space, cond).unwrap();
            // The dead thread held the mutex.
            assert_eq!(done.recv_timeout(PATIENCE), Ok((10, Err(Error::OwnerDead))));
            assert_eq!(mutex::delete(space, mutex, false), Ok(()), "{label}");
        }
    }
}
