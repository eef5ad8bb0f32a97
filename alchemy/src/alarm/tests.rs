//! What only the inside can show: a heap whose changer died.

use std::sync::Arc;
use std::sync::atomic::AtomicU32 as Count;
use std::thread;
use std::time::{Duration, Instant};

use posix_backend::atomic::Ordering::*;

use super::*;
use crate::step::die_at;

const FAR: Duration = Duration::from_secs(3600);

fn until(condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < end, "it never happened");
        thread::sleep(Duration::from_micros(100));
    }
}

/// The heap has all armed alarms, each where it says it is, none before its parent.
fn check_heap() {
    let _held = server::lock();
    let arena = SPACE.arena_header::<AlarmSlot>().unwrap();
    let armed = SPACE.alarms.iter(arena).filter(|(_, slot)| slot.armed.load(Relaxed) != 0).count();
    assert_eq!(armed as u32, SERVER.queue.len());
    let key = |position: u32| {
        let index = server::heap_cell(position).unwrap().load(Relaxed);
        let slot = SPACE.alarms.get(index).unwrap();
        assert_eq!(slot.position.load(Relaxed), position);
        (slot.key.load(Relaxed), slot.sequence.load(Relaxed))
    };
    for position in 2..=SERVER.queue.len() {
        assert!(key(position / 2) < key(position), "position {position}");
    }
}

#[test]
fn the_heap_survives_the_death_of_its_changer_at_each_step() {
    let mut reached = 0;
    for label in
        ["alarm: disarmed", "alarm: dated", "alarm: armed", "alarm: counted", "alarm: taken out", "alarm: moved"]
    {
        for count in 1..=3 {
            for change in [
                |alarm: AlarmRef| _ = alarm.start(Duration::from_secs(60), FAR),
                |alarm: AlarmRef| _ = alarm.start(2 * FAR, Duration::ZERO),
                |alarm: AlarmRef| _ = alarm.stop(),
                |alarm: AlarmRef| _ = alarm.delete(),
            ] {
                let calls = Arc::new(Count::new(0));
                let alarms: Vec<_> = (1..=15)
                    .map(|i| {
                        let calls = calls.clone();
                        let alarm = Alarm::new("", move || _ = calls.fetch_add(1, Relaxed)).unwrap();
                        alarm.start(FAR + Duration::from_secs(i), Duration::ZERO).unwrap();
                        alarm
                    })
                    .collect();
                let victim = *alarms[6];
                reached += u32::from(die_at(label, count, move || change(victim)));
                check_heap();
                let mut left = 15;
                for alarm in &alarms {
                    // Dead, if its deleter got so far.
                    if alarm.start(Duration::ZERO, Duration::ZERO).is_err() {
                        left -= 1;
                    }
                }
                assert!(left >= 14);
                until(|| calls.load(Relaxed) == left);
                check_heap();
            }
        }
    }
    assert!(reached >= 20, "{reached}");
}

#[test]
fn the_heap_orders_any_arming() {
    let mut seed = 7_u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let alarms: Vec<_> = (0..200).map(|_| Alarm::silent("").unwrap()).collect();
    for round in 0..4000 {
        let alarm = *alarms[random(200) as usize];
        match random(3) {
            0 => alarm.stop().unwrap(),
            _ => alarm.start(FAR + Duration::from_secs(random(50)), Duration::ZERO).unwrap(),
        }
        if round % 16 == 0 {
            check_heap();
        }
    }
}
