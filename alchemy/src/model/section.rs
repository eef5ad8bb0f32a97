//! Requests to stop and to end against sections: the very `Section`, and a handler that runs wherever a signal can find the
//! thread.

use posix_backend::section::{Section, model as signals};
use posix_backend::thread;

use super::*;
use crate::error::Error;
use crate::wait::{CANCELLED, DELETE};
use loom::sync::mpsc::{Receiver, Sender, channel};

/// How the victim of a request and its sender tell each other what they have done.
struct Link {
    /// The victim's thread id.
    tid: Receiver<u32>,
    /// The victim has acted.
    acted: Receiver<()>,
    /// The signal has been sent: the kernel delivers it before the next instruction of the program.
    sent: Sender<()>,
}

/// Runs `body` in the task of slot 1, which acts on requests as tasks do, and tells when it does.
fn victim(w: &World, body: impl FnOnce(&World) + 'static) -> (Link, loom::thread::JoinHandle<()>) {
    let (tell_tid, tid) = channel();
    let (tell_acted, acted) = channel();
    let (sent, was_sent) = channel();
    let victim = w.spawn(move |w| {
        let world = w.clone();
        signals::on_request(move || {
            let slot = world.me(1).slot;
            if slot.is_suspended() || slot.is_deleted() {
                tell_acted.send(()).unwrap();
            }
            slot.stop_while_suspended(&world);
        });
        w.me(1).slot.tid.store(thread::tid(), Relaxed);
        tell_tid.send(thread::tid()).unwrap();
        body(w);
        was_sent.recv().unwrap();
        signals::point();
    });
    (Link { tid, acted, sent }, victim)
}

impl Link {
    fn request(&self) {
        signals::request(self.tid.recv().unwrap());
        self.sent.send(()).unwrap();
    }
}

/// A task that is suspended stops, holds no lock when it does, and has changed things wholly or not at all.
// Catches: `pending` tested before the decrement; a handler that ignores the depth, or sets nothing; an inner section that
// acts.
#[test]
fn suspension_against_a_section() {
    check(|| {
        let w = World::new(&[1], 1);
        let (link, victim) = victim(&w, |w| {
            let _section = Section::enter();
            let held = w.lock(&w.me(1).slot.own_place(1));
            w.0.data.store(1, Relaxed);
            drop(Section::enter());
            w.0.data.store(2, Relaxed);
            drop(held);
            signals::point();
        });
        let slot = w.me(1).slot;
        slot.suspends.store(1, Release);
        link.request();
        link.acted.recv().unwrap();
        {
            let _held = w.lock(&slot.own_place(1));
            assert!(matches!(w.0.data.load(Relaxed), 0 | 2));
        }
        slot.suspends.store(0, Release);
        slot.nudge(&w);
        victim.join().unwrap();
    });
}

/// A task that is deleted while it waits, or is about to, gets out, and then finds that it is to end.
// Catches: `pending` tested before the decrement; a handler that sets nothing.
#[test]
fn deletion_against_a_wait() {
    check(|| {
        let w = World::new(&[1], 1);
        let sem = w.sem("s", 0).unwrap();
        let task = w.task(1);
        let (link, victim) = victim(&w, move |w| {
            let _section = Section::enter();
            assert_eq!(w.p(1, sem, Timeout::INFINITE), Err(Error::Cancelled));
            signals::point();
        });
        w.interrupt(task, DELETE, CANCELLED).unwrap();
        link.request();
        link.acted.recv().unwrap();
        victim.join().unwrap();
        assert_eq!(w.count(sem), 0);
    });
}
