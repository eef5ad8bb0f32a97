//! Messages whose lock holder died at each step.
#![allow(unsafe_code)]

use super::*;
use crate::step::die_at;
use crate::task::message::{self, Memory};
use crate::task::{Answer, Message};

/// A task that is sent messages. Its part is played by whatever thread has its slot at hand.
fn server(space: &'static Space) -> (Me<'static>, Handle) {
    let me = enlist(space, 20);
    me.slot.head.state.publish(false, 0);
    (me, me.slot.handle(me.index).unwrap())
}

fn memory(bytes: &mut [u8]) -> Memory {
    Memory { address: bytes.as_mut_ptr(), len: bytes.len() }
}

fn send(space: &'static Space, target: Handle, me: Me<'static>, text: &str) -> crate::Result<(Answer, String)> {
    let (mut data, mut room) = (text.as_bytes().to_vec(), [0; 16]);
    // SAFETY: memory of this call's.
    let answer =
        unsafe { message::send(space, target, 7, memory(&mut data), memory(&mut room), Timeout::INFINITE, me) }?;
    Ok((answer, String::from_utf8(room[..answer.len.unwrap()].to_vec()).unwrap()))
}

type Sent = mpsc::Receiver<crate::Result<(Answer, String)>>;

/// Starts a sender, which is queued when this returns.
fn sends(space: &'static Space, target: Handle, text: &'static str) -> Sent {
    let me = enlist(space, 10);
    let (ended, end) = mpsc::channel();
    thread::spawn(move || ended.send(send(space, target, me, text)).unwrap());
    until(|| me.slot.node.park.load(Acquire) == WAITING && me.slot.node.is_queued());
    end
}

fn receive(space: &'static Space, me: Me<'static>) -> crate::Result<(Message, String)> {
    let mut room = [0; 16];
    // SAFETY: memory of this call's.
    let message = unsafe { message::take(space, me, memory(&mut room), Timeout::NONE, &mut None) }?;
    Ok((message, String::from_utf8(room[..message.len].to_vec()).unwrap()))
}

fn reply(space: &'static Space, me: Me<'static>, message: Message, opcode: i32, text: &str) -> crate::Result<()> {
    let mut data = text.as_bytes().to_vec();
    // SAFETY: memory of this call's.
    unsafe { message::answer(space, me, message.flow.id(), opcode, memory(&mut data)) }
}

/// The one message that is queued is received and answered.
fn is_served(space: &'static Space, server: Me<'static>, sent: &Sent, text: &str) {
    let (message, received) = receive(space, server).unwrap();
    assert_eq!((message.opcode, &received[..]), (7, text));
    assert_eq!(reply(space, server, message, 8, "done"), Ok(()));
    let (answer, got) = sent.recv_timeout(Duration::from_secs(30)).expect("no reply").unwrap();
    assert_eq!((answer.opcode, &got[..]), (8, "done"));
    assert_eq!(reply(space, server, message, 8, "again"), Err(Error::NoFlow));
    assert_eq!(receive(space, server).unwrap_err(), Error::WouldBlock);
}

#[test]
fn a_sender_that_dies() {
    for label in ["message: prepared", "message: numbered", "message: queued"] {
        let space = space();
        let (me, target) = server(space);
        let dead = enlist(space, 30);
        assert!(
            die_at(label, 1, move || {
                let _ = send(space, target, dead, "dead");
            }),
            "{label}"
        );
        // What the end of the thread tells of it.
        dead.slot.tid.store(0, Relaxed);
        let sent = sends(space, target, "alive");
        is_served(space, me, &sent, "alive");
    }
}

#[test]
fn a_receiver_that_dies() {
    for label in ["message: copied", "message: delivered"] {
        let space = space();
        let (me, target) = server(space);
        let sent = sends(space, target, "text");
        assert!(
            die_at(label, 1, move || {
                let _ = receive(space, me);
            }),
            "{label}"
        );
        is_served(space, me, &sent, "text");
    }
}

#[test]
fn a_replier_that_dies() {
    for label in ["message: replied", "message: answered"] {
        let space = space();
        let (me, target) = server(space);
        let sent = sends(space, target, "text");
        let (message, _) = receive(space, me).unwrap();
        assert!(
            die_at(label, 1, move || {
                let _ = reply(space, me, message, 9, "dead");
            }),
            "{label}"
        );
        is_served(space, me, &sent, "text");
    }
}

#[test]
fn senders_are_told_the_end_of_the_receiver() {
    let space = space();
    let (me, target) = server(space);
    let sent = [sends(space, target, "one"), sends(space, target, "two")];
    receive(space, me).unwrap();
    space.end_task(me.index, me.slot);
    for sent in sent {
        assert_eq!(sent.recv_timeout(Duration::from_secs(30)).expect("never told"), Err(Error::Removed));
    }
    assert_eq!(send(space, target, enlist(space, 1), "late").unwrap_err(), Error::Invalid);
}

#[test]
fn flow_numbers_begin_anew_after_the_last() {
    let space = space();
    let (me, target) = server(space);
    for (last, next) in [(0, 1), (1, 2), (i32::MAX - 1, i32::MAX), (i32::MAX, 1)] {
        me.slot.flows.store(last as u32, Relaxed);
        let sent = sends(space, target, "text");
        let (message, _) = receive(space, me).unwrap();
        assert_eq!(message.flow.id(), next);
        is_served(space, me, &sent, "text");
    }
}
