//! Messages between tasks through the Rust interface.

mod kit;

use alchemy::task::{self, Flow, Reply, Status};
use alchemy::{Date, Error, JoinHandle, SemRef, Task, Timeout};
use kit::{LONG, SHORT, Watchdog, as_plain, as_task, gate, until, until_status, value};

type Sent = JoinHandle<alchemy::Result<(Reply, Vec<u8>)>>;

/// A task of this priority that waits for its reply when this returns. It has room for four bytes.
fn sender(target: Task, priority: u32, text: &'static [u8]) -> Sent {
    let task = Task::builder()
        .priority(priority)
        .spawn(move || {
            let mut room = [0; 4];
            target
                .send(priority as i32, text, &mut room, Timeout::INFINITE)
                .map(|reply| (reply, room[..reply.len].to_vec()))
        })
        .unwrap();
    until_status(task.task(), Status::WAIT);
    task
}

/// Runs `body` as a task, which others can send to.
fn server<T: Send + 'static>(body: impl FnOnce(Task) -> T + Send + 'static) -> T {
    as_task(move || body(task::current().unwrap()))
}

fn receive(len: usize) -> alchemy::Result<(Flow, i32, Vec<u8>)> {
    let mut room = vec![0; len];
    let message = task::receive(&mut room, Timeout::NONE)?;
    Ok((message.flow, message.opcode, room[..message.len].to_vec()))
}

#[test]
fn a_message_and_its_reply() {
    let _dog = Watchdog::new();
    server(|me| {
        let sent = sender(me, 3, b"ping");
        let (flow, opcode, data) = receive(8).unwrap();
        assert_eq!((flow.id(), opcode, &data[..]), (1, 3, &b"ping"[..]));
        flow.reply(42, b"pong").unwrap();
        assert_eq!(value(sent), Ok((Reply { opcode: 42, len: 4 }, b"pong".to_vec())));
        assert_eq!(flow.reply(42, b"pong"), Err(Error::NoFlow));
        assert_eq!(receive(8), Err(Error::WouldBlock));
    });
}

#[test]
fn a_server_that_waits_is_woken() {
    let _dog = Watchdog::new();
    let server = Task::builder()
        .spawn(|| {
            for _ in 0..3 {
                let mut room = [0; 8];
                let message = task::receive(&mut room, Timeout::INFINITE)?;
                message.flow.reply(-message.opcode, &room[..message.len])?;
            }
            Ok::<(), Error>(())
        })
        .unwrap();
    let target = server.task();
    // The first thread of this test is plain: it may not.
    assert_eq!(as_plain(move || target.send(1, b"", &mut [], LONG)), Err(Error::Permission));
    for text in [&b"abc"[..], b"", b"12345678"] {
        until_status(target, Status::WAIT);
        assert!(!target.inquire().unwrap().status.contains(Status::DELAYED));
        // A poll waits for the reply if the task waits for the message.
        let (reply, room) = as_task(move || {
            let mut room = [0; 8];
            (target.send(7, text, &mut room, Timeout::NONE), room)
        });
        assert_eq!(reply, Ok(Reply { opcode: -7, len: text.len() }));
        assert_eq!(&room[..text.len()], text);
    }
    value(server).unwrap();
    assert_eq!(as_task(move || target.send(1, b"", &mut [], LONG)), Err(Error::Invalid));
}

#[test]
fn a_poll_of_a_busy_task_would_block() {
    let _dog = Watchdog::new();
    let gate = gate();
    let busy = kit::behind(*gate);
    let target = busy.task();
    until_status(target, Status::WAIT);
    as_task(move || {
        assert_eq!(target.send(1, b"", &mut [], Timeout::NONE), Err(Error::WouldBlock));
        assert_eq!(target.send(1, b"", &mut [], Timeout::until(Date::from_ticks(1))), Err(Error::TimedOut));
        assert_eq!(target.send(1, b"", &mut [], Timeout::from_timespec(1, -1)), Err(Error::Invalid));
        let start = Date::now();
        assert_eq!(target.send(1, b"", &mut [], SHORT), Err(Error::TimedOut));
        assert!(Date::now() - start >= SHORT);
        // Oneself does not wait for a message meanwhile.
        let me = task::current().unwrap();
        assert_eq!(me.send(1, b"", &mut [], Timeout::NONE), Err(Error::WouldBlock));
        assert_eq!(me.send(1, b"", &mut [], SHORT), Err(Error::TimedOut));
    });
    gate.post().unwrap();
    value(busy).unwrap();
}

#[test]
fn the_first_sender_stays_first_until_it_is_answered() {
    let _dog = Watchdog::new();
    server(|me| {
        let low = sender(me, 60, b"low");
        assert_eq!(receive(8).unwrap().1, 60);
        let high = sender(me, 61, b"high");
        let (first, ..) = receive(8).unwrap();
        assert_eq!(receive(8), Ok((first, 61, b"high".to_vec())));
        // Received before, so it can be answered before.
        Flow::from_id(1).reply(1, b"").unwrap();
        assert_eq!(value(low), Ok((Reply { opcode: 1, len: 0 }, vec![])));
        first.reply(2, b"x").unwrap();
        assert_eq!(value(high), Ok((Reply { opcode: 2, len: 1 }, b"x".to_vec())));
    });
}

#[test]
fn a_new_priority_moves_a_sender() {
    let _dog = Watchdog::new();
    server(|me| {
        let tasks = [sender(me, 10, b"a"), sender(me, 20, b"b")];
        tasks[0].task().set_priority(30).unwrap();
        for expected in [b"a", b"b"] {
            let (flow, _, data) = receive(8).unwrap();
            assert_eq!(data, expected);
            flow.reply(0, b"").unwrap();
        }
        tasks.into_iter().for_each(|task| drop(value(task).unwrap()));
    });
}

#[test]
fn what_is_too_long() {
    let _dog = Watchdog::new();
    server(|me| {
        let sent = sender(me, 1, b"1234");
        assert_eq!(receive(2), Err(Error::TooLong));
        let (flow, _, data) = receive(4).unwrap();
        assert_eq!((flow.id(), &data[..]), (1, &b"1234"[..]));
        assert_eq!(flow.reply(9, b"12345"), Err(Error::TooLong));
        assert_eq!(value(sent), Err(Error::TooLong));
        assert_eq!(flow.reply(9, b""), Err(Error::NoFlow));
    });
}

#[test]
fn replies_to_what_nobody_waits_for() {
    let _dog = Watchdog::new();
    assert_eq!(as_plain(|| Flow::from_id(1).reply(0, b"")), Err(Error::Permission));
    assert_eq!(as_plain(|| task::receive(&mut [], Timeout::NONE).map(|_| ())), Err(Error::Permission));
    server(|me| {
        for id in [0, -1, i32::MIN] {
            assert_eq!(Flow::from_id(id).reply(0, b""), Err(Error::Invalid));
        }
        assert_eq!(Flow::from_id(1).reply(0, b""), Err(Error::NoFlow));
        let sent = sender(me, 1, b"");
        // Not received yet.
        assert_eq!(Flow::from_id(1).reply(0, b""), Err(Error::NoFlow));
        let (flow, ..) = receive(0).unwrap();
        sent.task().unblock().unwrap();
        assert_eq!(value(sent), Err(Error::Interrupted));
        assert_eq!(flow.reply(0, b""), Err(Error::NoFlow));
        assert_eq!(receive(8), Err(Error::WouldBlock));
        // The next one has the next number.
        let sent = sender(me, 1, b"");
        assert_eq!(receive(0).unwrap().0.id(), 2);
        Flow::from_id(2).reply(5, b"").unwrap();
        assert_eq!(value(sent).unwrap().0.opcode, 5);
    });
}

#[test]
fn senders_are_told_of_the_end() {
    let _dog = Watchdog::new();
    let gate = gate();
    let busy = kit::behind(*gate);
    let senders = [sender(busy.task(), 5, b"x"), sender(busy.task(), 6, b"y")];
    gate.post().unwrap();
    value(busy).unwrap();
    senders.into_iter().for_each(|task| assert_eq!(value(task), Err(Error::Removed)));
}

#[test]
fn a_receive_that_nobody_answers() {
    let _dog = Watchdog::new();
    as_task(|| {
        let mut room = [0; 4];
        assert_eq!(task::receive(&mut room, Timeout::NONE).unwrap_err(), Error::WouldBlock);
        let start = Date::now();
        assert_eq!(task::receive(&mut room, SHORT).unwrap_err(), Error::TimedOut);
        assert!(Date::now() - start >= SHORT);
        assert_eq!(task::receive(&mut room, Timeout::until(Date::from_ticks(1))).unwrap_err(), Error::TimedOut);
    });
    let task = Task::builder().spawn(|| task::receive(&mut [], Timeout::INFINITE).map(|_| ())).unwrap();
    until_status(task.task(), Status::WAIT);
    task.task().unblock().unwrap();
    assert_eq!(value(task), Err(Error::Interrupted));
}

/// The task's own waits are at the same place as those who send to it.
#[test]
fn senders_do_not_disturb_other_waits() {
    let _dog = Watchdog::new();
    let task = Task::builder()
        .spawn(|| {
            let me = task::current().unwrap();
            let slept = task::sleep_until(None);
            me.set_periodic(None, LONG).unwrap();
            let waited = task::wait_period();
            let answered = receive(8).and_then(|(flow, _, data)| flow.reply(1, &data));
            (slept, waited, answered)
        })
        .unwrap();
    let target = task.task();
    until_status(target, Status::DELAYED);
    let sent = sender(target, 70, b"abc");
    let other = sender(target, 71, b"left");
    other.task().unblock().unwrap();
    assert_eq!(value(other), Err(Error::Interrupted));
    assert!(target.inquire().unwrap().status.contains(Status::DELAYED));
    target.unblock().unwrap();
    until(|| target.inquire().unwrap().status.contains(Status::DELAYED | Status::PERIODIC));
    // Its release points change while a sender is queued: it is the task that is told.
    target.set_periodic(Some(Date::now() + SHORT), LONG).unwrap();
    let (slept, waited, answered) = value(task);
    assert_eq!((slept, waited, answered), (Err(Error::Interrupted), Ok(0), Ok(())));
    assert_eq!(value(sent), Ok((Reply { opcode: 1, len: 3 }, b"abc".to_vec())));
}

/// Clients that leave at any moment, and a server that answers whom it can.
#[test]
fn a_busy_server() {
    const CLIENTS: u32 = 4;
    const TURNS: u32 = 2000;
    let _dog = Watchdog::new();
    let stop = gate();
    let stop_ref: SemRef = *stop;
    let server = Task::builder()
        .priority(10)
        .spawn(move || {
            let mut served = 0u32;
            loop {
                let mut room = [0; 8];
                match task::receive(&mut room, SHORT) {
                    Ok(message) => match message.flow.reply(message.opcode + 1, &room[..message.len]) {
                        Ok(()) => served += 1,
                        Err(error) => assert_eq!(error, Error::NoFlow),
                    },
                    Err(Error::TimedOut) if stop_ref.try_wait().is_ok() => return served,
                    Err(error) => assert_eq!(error, Error::TimedOut),
                }
            }
        })
        .unwrap();
    let target = server.task();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let work = move || {
                let (mut random, mut answered) = (kit::Random::new(client.into()), 0u32);
                for turn in 0..TURNS {
                    let (data, mut room) = (u64::from(turn << 8 | client).to_ne_bytes(), [0; 8]);
                    let limit = std::time::Duration::from_micros(1 + random.below(300));
                    match target.send(turn as i32, &data, &mut room, limit) {
                        Ok(reply) => {
                            assert_eq!((reply.opcode, reply.len, room), (turn as i32 + 1, 8, data));
                            answered += 1;
                        }
                        Err(error) => assert_eq!(error, Error::TimedOut),
                    }
                }
                answered
            };
            Task::builder().priority(client * 5).spawn(work).unwrap()
        })
        .collect();
    let answered: u32 = clients.into_iter().map(value).sum();
    stop.post().unwrap();
    assert_eq!(value(server), answered);
}
