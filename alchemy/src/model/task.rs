//! Tasks: the hand-shakes of their lives, as `task::body` does them.

use super::*;
use crate::error::Error;
use crate::task::slot::{JOINABLE, Phase};

/// Creator, new thread and starter: each sees the step that it waits for, and what came before it.
// Catches: a wait that asks before it reads `events`; the event before the phase; the wake-up before either; any
// Relaxed.
#[test]
fn start() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        let slot = w.me(1).slot;
        slot.fill(1, 0);
        let task = w.spawn(|w| {
            let slot = w.me(1).slot;
            slot.tid.store(7, Relaxed);
            slot.set_phase(w, Phase::Dormant);
            slot.wait_phase(w, || slot.phase() != Phase::Dormant);
            w.assert_written();
            slot.set_phase(w, Phase::Entered);
        });
        slot.wait_phase(&w, || slot.phase() != Phase::New);
        assert_eq!((slot.phase(), slot.tid.load(Relaxed)), (Phase::Dormant, 7));
        w.write();
        {
            let _held = w.lock(&slot.own_place(1));
            slot.note_phase(Phase::Started);
        }
        slot.wake_phase(&w);
        slot.wait_phase(&w, || slot.phase() >= Phase::Entered);
        task.join().unwrap();
    });
}

/// A task of the model: in its body it writes, then it ends.
fn run(w: &World) {
    let slot = w.me(1).slot;
    slot.set_phase(w, Phase::Entered);
    w.write();
    w.end_task(1, slot);
    w.finish_task(1, slot);
}

fn join(w: &World, task: Handle) -> Result<()> {
    let slot = w.begin_join(task, 0)?;
    slot.wait_phase(w, || slot.phase() == Phase::Ended);
    w.assert_written();
    Ok(())
}

/// A joiner waits for the end and sees what the body did. Then the slot has another life, in which its old handles are
/// those of a task that was.
// Catches: `ZOMBIE` in another section than the kill; a slot given back by the task alone; a join that takes any
// earlier generation.
#[test]
fn join_against_end() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        w.me(1).slot.fill(1, JOINABLE);
        let old = w.task(1);
        let task = w.spawn(run);
        join(&w, old).unwrap();
        // As the C library's join does.
        task.join().unwrap();
        assert_eq!(w.take::<ThreadSlot>(), Err(Error::NoMemory));
        w.finish_join(1, w.me(1).slot);
        assert_eq!(w.begin_join(old, 0).map(|_| ()), Err(Error::NotFound));
        assert_eq!(w.take::<ThreadSlot>(), Ok(1));
        w.me(1).slot.fill(1, JOINABLE);
        w.me(1).slot.head.state.publish(false, 0);
        let new = w.task(1);
        run(&w);
        assert_eq!(w.begin_join(old, 0).map(|_| ()), Err(Error::NotFound));
        join(&w, new).unwrap();
        w.finish_join(1, w.me(1).slot);
        assert_eq!(w.take::<ThreadSlot>(), Ok(1));
    });
}

/// Of two joiners one gets in, and the slot goes back once.
// Catches: no `JOINER`; a look at `join`, or at `holders`, without the lock.
#[test]
fn join_against_join() {
    check_contended(|| {
        let w = World::new(&[1], 1);
        w.me(1).slot.fill(1, JOINABLE);
        let old = w.task(1);
        let body = move |w: &World| {
            join(w, old)?;
            w.finish_join(1, w.me(1).slot);
            Ok(())
        };
        let other = w.spawn(body);
        run(&w);
        let results = [body(&w), other.join().unwrap()];
        assert!(matches!(
            results,
            [Ok(()), Err(Error::Invalid | Error::NotFound)] | [Err(Error::Invalid | Error::NotFound), Ok(())]
        ));
        assert_eq!(w.take::<ThreadSlot>(), Ok(1));
        assert_eq!(w.take::<ThreadSlot>(), Err(Error::NoMemory));
    });
}

/// A change is told to all who wait for one.
// Catches: a wake-up of one waiter only.
#[test]
fn starter_and_joiner() {
    check(|| {
        let w = World::new(&[1], 1);
        w.me(1).slot.fill(1, 0);
        let others = [Phase::Entered, Phase::Ended].map(|phase| {
            w.spawn(move |w| {
                let slot = w.me(1).slot;
                slot.wait_phase(w, || slot.phase() >= phase);
            })
        });
        w.me(1).slot.set_phase(&w, Phase::Ended);
        for other in others {
            other.join().unwrap();
        }
    });
}

/// A task that nobody joins gives its slot back itself, and the starter does not wait for it in vain, even if the slot is in
/// its next life meanwhile.
// Catches: the phase after the slot is given back.
#[test]
fn start_against_end_and_reuse() {
    check(|| {
        let w = World::new(&[1], 1);
        let slot = w.me(1).slot;
        slot.fill(1, 0);
        let old = w.task(1);
        let task = w.spawn(run);
        let other = w.spawn(|w| {
            let index = w.take::<ThreadSlot>().ok()?;
            let slot = w.me(index).slot;
            let _held = w.lock(&slot.own_place(index));
            slot.fill(1, 0);
            slot.head.state.publish(false, 0);
            Some(slot.handle(index))
        });
        let is_alive = || old.check(slot.head.state.load()).is_ok();
        slot.wait_phase(&w, || slot.phase() >= Phase::Entered || !is_alive());
        task.join().unwrap();
        if other.join().unwrap().is_some() {
            assert_eq!(slot.phase(), Phase::New);
        }
        assert_eq!(w.begin_join(old, 0).map(|_| ()), Err(Error::NotFound));
    });
}
