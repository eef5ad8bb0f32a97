//! Event flag groups.

use super::*;
use crate::error::Error;
use crate::event::{self, EventSlot, Match, Request};
use crate::wait::INTERRUPTED;

const FOREVER: Timeout = Timeout::INFINITE;

fn any(mask: u32) -> Request {
    Request { mask, how: Match::Any }
}

fn all(mask: u32) -> Request {
    Request { mask, how: Match::All }
}

fn world(priorities: &[u32]) -> World {
    World::with_room(priorities, |kind| u32::from(kind == Kind::Event))
}

impl World {
    fn event(&self, flags: u32) -> Handle {
        event::create(self, Name::new(b"e"), flags, event::Mode::PRIORITY, |_| ()).unwrap()
    }

    fn wait_flags(&self, index: u32, event: Handle, request: Request, timeout: Timeout) -> Result<u32> {
        self.turn();
        match event::wait_fast(self, event, request) {
            Some(found) => Ok(found),
            None => event::wait_slow(self, event, request, timeout, || Ok(self.me(index))),
        }
    }

    fn signal_flags(&self, event: Handle, mask: u32) -> Result<()> {
        self.turn();
        if event::signal_fast(self, event, mask) { Ok(()) } else { event::signal_slow(self, event, mask) }
    }

    fn clear_flags(&self, event: Handle, mask: u32) -> Result<u32> {
        self.turn();
        event::clear_fast(self, event, mask).map_or_else(|| event::clear_slow(self, event, mask), Ok)
    }

    /// Queues a thread for these flags as the first half of a wait does, for models that start there.
    fn queue_for(&self, index: u32, event: Handle, request: Request) {
        let (me, head) = (self.me(index), &self.object::<EventSlot>(event).unwrap().head);
        let place = head.place(event);
        let _held = self.lock(&place);
        request.ask(me.slot);
        self.prepare(&me, &place, Deadline::NEVER).unwrap();
        let word = head.state.load();
        assert!(head.state.swap(word, word.with_waiters(), Relaxed).is_ok());
        place.site.enqueue(&self.0.space, index, me.slot.priority.load(Relaxed));
    }

    /// The other half.
    fn resume_for(&self, index: u32, event: Handle, timeout: Timeout) -> Result<u32> {
        self.turn();
        let head = &self.object::<EventSlot>(event).unwrap().head;
        let (me, deadline) = timeout.admit(|| Ok(self.me(index))).unwrap();
        wait::result(self.sleep(&me, &head.place(event), deadline)).map(|()| self.found(index))
    }

    fn found(&self, index: u32) -> u32 {
        self.me(index).slot.node.result.load(Relaxed) as u32
    }

    /// The flags of a group that nobody uses at present; checks that no trace of a waiter is left.
    fn flags(&self, event: Handle) -> u32 {
        let head = &self.object::<EventSlot>(event).unwrap().head;
        let word = head.state.load();
        event.check(word).unwrap();
        self.assert_deserted(event);
        assert!(!word.has_waiters() && head.site.waiting() == 0);
        word.value()
    }
}

/// A wait without limit ends with the signal, wherever that comes in between; what the signaller did before is visible.
// Catches: Relaxed in `signal_fast`; a change without the lock while `WAITERS` is set.
#[test]
fn wait_against_signal() {
    check_contended(|| {
        let w = world(&[1]);
        let event = w.event(0);
        let waiter = w.spawn(move |w| {
            assert_eq!(w.wait_flags(1, event, any(3), FOREVER), Ok(2));
            w.assert_written();
        });
        w.write();
        w.signal_flags(event, 2).unwrap();
        waiter.join().unwrap();
        assert_eq!(w.flags(event), 2);
    });
}

/// The same where the fast paths have failed because of a stale hint.
// Catches: a change without the lock while `WAITERS` is set.
#[test]
fn wait_against_signal_without_fast_paths() {
    check_contended(|| {
        let w = world(&[1]);
        let event = w.event(0);
        let waiter = w.spawn(move |w| {
            w.turn();
            assert_eq!(event::wait_slow(w, event, all(2), FOREVER, || Ok(w.me(1))), Ok(2));
            w.assert_written();
        });
        w.write();
        w.turn();
        event::signal_slow(&w, event, 2).unwrap();
        waiter.join().unwrap();
        assert_eq!(w.flags(event), 2);
    });
}

/// A signal releases who is queued even if a clear follows or comes at the same time.
// Catches: a change without the lock while `WAITERS` is set.
#[test]
fn signal_against_clear() {
    check_contended(|| {
        let w = world(&[1]);
        let event = w.event(0);
        w.queue_for(1, event, any(1));
        let clearer = w.spawn(move |w| w.clear_flags(event, 1).unwrap());
        w.signal_flags(event, 1).unwrap();
        let before = clearer.join().unwrap();
        assert_eq!((w.outcome(1), w.found(1)), (Ok(()), 1));
        assert_eq!(w.flags(event), 1 - before);
    });
}

/// Flags of two signals add up for a waiter that wants both, wherever it is on its way.
// Catches: a change without the lock while `WAITERS` is set.
#[test]
fn two_signals_for_one_wait() {
    check(|| {
        let w = world(&[1]);
        let event = w.event(0);
        let waiter = w.spawn(move |w| assert_eq!(w.wait_flags(1, event, all(3), FOREVER), Ok(3)));
        let other = w.spawn(move |w| w.signal_flags(event, 1).unwrap());
        w.signal_flags(event, 2).unwrap();
        other.join().unwrap();
        waiter.join().unwrap();
        assert_eq!(w.flags(event), 3);
    });
}

/// One signal releases all, one of them queued, one on its way, and not the one whom it does not satisfy.
// Catches: a change without the lock while `WAITERS` is set; Relaxed in `wait_fast`.
#[test]
fn one_signal_for_all() {
    check(|| {
        let w = world(&[1, 1, 2]);
        let event = w.event(0);
        w.queue_for(1, event, any(1));
        w.queue_for(3, event, all(3));
        let second = w.spawn(move |w| {
            assert_eq!(w.wait_flags(2, event, all(1), FOREVER), Ok(1));
            w.assert_written();
        });
        w.write();
        w.signal_flags(event, 1).unwrap();
        second.join().unwrap();
        assert_eq!((w.outcome(1), w.found(1)), (Ok(()), 1));
        w.signal_flags(event, 2).unwrap();
        assert_eq!((w.outcome(3), w.found(3)), (Ok(()), 3));
        assert_eq!(w.flags(event), 3);
    });
}

/// A waiter whose date passes leaves no trace, and takes nobody else's mark along.
// Catches: a change without the lock while `WAITERS` is set.
#[test]
fn a_deadline_against_signal() {
    check(|| {
        let w = world(&[1, 1]);
        let event = w.event(0);
        w.queue_for(1, event, any(1));
        let late = w.spawn(move |w| w.resume_for(1, event, limited()));
        let other = w.spawn(move |w| assert_eq!(w.wait_flags(2, event, any(2), FOREVER), Ok(2)));
        w.signal_flags(event, 3).unwrap();
        assert!(matches!(late.join().unwrap(), Ok(1) | Err(Error::TimedOut)));
        other.join().unwrap();
        assert_eq!(w.flags(event), 3);
    });
}

/// A waiter that is unblocked was either released, with its flags, or interrupted; another one is not touched.
// Catches: a change without the lock while `WAITERS` is set.
#[test]
fn unblock_against_signal() {
    check(|| {
        let w = world(&[1, 1]);
        let event = w.event(0);
        w.queue_for(1, event, any(1));
        w.queue_for(2, event, any(1));
        let unblocker = w.spawn(move |w| w.interrupt(w.task(1), 0, INTERRUPTED).unwrap());
        w.signal_flags(event, 1).unwrap();
        unblocker.join().unwrap();
        match w.outcome(1) {
            Ok(()) => assert_eq!(w.found(1), 1),
            other => assert_eq!(other, Err(Error::Interrupted)),
        }
        assert_eq!((w.outcome(2), w.found(2)), (Ok(()), 1));
        assert_eq!(w.flags(event), 1);
    });
}

/// A clear reports each flag of a signal once, and what the signaller did before is visible to whoever takes it so.
// Catches: Relaxed in `signal_fast`; a `clear_fast` without Acquire.
#[test]
fn clear_takes_each_flag_once() {
    check_contended(|| {
        let w = world(&[]);
        let event = w.event(0);
        let other = w.spawn(move |w| {
            let taken = w.clear_flags(event, 1).unwrap();
            if taken != 0 {
                w.assert_written();
            }
            taken
        });
        w.write();
        w.signal_flags(event, 1).unwrap();
        let taken = w.clear_flags(event, 1).unwrap() + other.join().unwrap();
        assert_eq!((taken, w.flags(event)), (1, 0));
    });
}

/// Who finds a flag cleared sees what the one who cleared it did before.
// Catches: Relaxed in `wait_fast`; a `clear_fast` without Release.
#[test]
fn a_clear_is_seen_with_what_was_before_it() {
    check_contended(|| {
        let w = world(&[]);
        let event = w.event(1);
        let other = w.spawn(move |w| {
            w.write();
            w.clear_flags(event, 1).unwrap();
        });
        if w.wait_flags(0, event, all(0), Timeout::NONE) == Ok(0) {
            w.assert_written();
        }
        other.join().unwrap();
    });
}

/// A deletion tells the waiter, unless a signal has; whoever comes later finds a stale handle.
// Catches: a change without the lock while `WAITERS` is set.
#[test]
fn delete_against_signal() {
    check(|| {
        let w = world(&[1]);
        let event = w.event(0);
        w.queue_for(1, event, any(1));
        let signaller = w.spawn(move |w| w.signal_flags(event, 1));
        w.turn();
        w.0.space.delete::<EventSlot>(event).unwrap();
        let signalled = signaller.join().unwrap();
        match w.outcome(1) {
            Ok(()) => assert_eq!((w.found(1), signalled), (1, Ok(()))),
            other => assert_eq!((other, signalled), (Err(Error::Removed), Err(Error::Invalid))),
        }
        w.assert_deserted(event);
        assert_eq!(w.clear_flags(event, 0), Err(Error::Invalid));
    });
}

/// With `SLOW` set everything goes through the lock, with the same outcome.
#[test]
fn slow() {
    check_contended(|| {
        let w = world(&[1]);
        let event = w.event(0);
        w.object::<EventSlot>(event).unwrap().head.state.set_slow(true);
        let waiter = w.spawn(move |w| {
            assert_eq!(w.wait_flags(1, event, any(1), FOREVER), Ok(1));
            w.assert_written();
        });
        w.write();
        w.signal_flags(event, 1).unwrap();
        waiter.join().unwrap();
        assert_eq!(w.clear_flags(event, 3), Ok(1));
        assert_eq!(w.wait_flags(1, event, any(1), Timeout::NONE), Err(Error::WouldBlock));
        assert_eq!(w.flags(event), 0);
    });
}
