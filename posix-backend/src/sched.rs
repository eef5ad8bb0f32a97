//! Scheduling classes, affinity, yielding.
//!
//! # Safety
//!
//! Unsafe code here passes local structures, or a CPU set whose address the caller vouches for, to system calls that take
//! a thread id; ids of ended threads give `ESRCH`.

#![allow(unsafe_code)]

use core::ffi::CStr;
use std::io::Write;

use crate::Errno;
use crate::errno::ret;

/// A scheduling class with its level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// `SCHED_OTHER`.
    Other,
    /// `SCHED_FIFO` at a level from 1 to 99.
    Fifo(u8),
}

/// Puts a thread into a class at once. `PERM` if the process may not use it.
pub fn set_class(tid: u32, class: Class) -> Result<(), Errno> {
    let (policy, level) = match class {
        Class::Other => (libc::SCHED_OTHER, 0),
        Class::Fifo(level) => (libc::SCHED_FIFO, level),
    };
    let param = libc::sched_param { sched_priority: level.into() };
    // SAFETY: `param` outlives the call.
    ret(unsafe { libc::sched_setscheduler(tid as libc::pid_t, policy, &param) }.into()).map(|_| ())
}

/// Whether the process may put its threads into `SCHED_FIFO`: with the capability at any level, else up to its limit.
pub fn may_use_fifo() -> bool {
    let tid = crate::thread::tid() as libc::pid_t;
    let mut param = libc::sched_param { sched_priority: 0 };
    // SAFETY: `param` outlives the calls.
    let policy = unsafe { libc::sched_getscheduler(tid) };
    // SAFETY: as above.
    if policy < 0 || unsafe { libc::sched_getparam(tid, &mut param) } != 0 {
        return false;
    }
    if policy & !libc::SCHED_RESET_ON_FORK == libc::SCHED_FIFO {
        return true;
    }
    let lowest = libc::sched_param { sched_priority: 1 };
    // The kernel's own answer, which limits, capabilities and containers all have a part in; the thread goes back at once.
    // SAFETY: as above.
    unsafe {
        libc::sched_setscheduler(tid, libc::SCHED_FIFO, &lowest) == 0 && {
            libc::sched_setscheduler(tid, policy, &param);
            true
        }
    }
}

/// Lets ready threads of the same level on this CPU run first.
pub fn yield_now() {
    // SAFETY: no arguments; it cannot fail on Linux.
    unsafe { libc::sched_yield() };
}

/// Restricts a thread to a set of CPUs. `INVAL` if none of them can be used.
pub fn set_affinity(tid: u32, cpus: &libc::cpu_set_t) -> Result<(), Errno> {
    // SAFETY: the set outlives the call and has the size given.
    ret(unsafe { libc::sched_setaffinity(tid as libc::pid_t, size_of::<libc::cpu_set_t>(), cpus) }.into()).map(|_| ())
}

/// A set made of the CPUs whose numbers are given; numbers beyond its size are left out.
pub fn cpu_set(cpus: impl IntoIterator<Item = usize>) -> libc::cpu_set_t {
    // SAFETY: a CPU set is an array of integers, valid when zero.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    for cpu in cpus {
        if cpu < libc::CPU_SETSIZE as usize {
            // SAFETY: the number was checked against the set's size.
            unsafe { libc::CPU_SET(cpu, &mut set) };
        }
    }
    set
}

/// Lets the calling thread run wherever another one may.
pub fn share_affinity(tid: u32) {
    let mut set = cpu_set([]);
    // SAFETY: the set outlives the call and has the size given.
    let got = unsafe { libc::sched_getaffinity(tid as libc::pid_t, size_of::<libc::cpu_set_t>(), &mut set) };
    if got == 0 {
        // It stays where it is if that is refused.
        let _ = set_affinity(0, &set);
    }
}

/// A thread of this process, asleep: a number that another look gives again only if it has not run in between. `None` if it is
/// not asleep, sleeps for a disk, or cannot be looked at. Allocates nothing.
pub fn sleeping(tid: u32) -> Option<u64> {
    let mut buffer = [0; 512];
    let asleep = behind_name(read_thread_file(tid, "stat", &mut buffer)?).next() == Some("S");
    // Run time, waiting time, number of slices: all stand still while a thread sleeps. A kernel without them gives less certainty.
    asleep.then(|| digest(0, read_thread_file(tid, "schedstat", &mut buffer).unwrap_or_default()))
}

/// Mixes bytes into a number, so that two that differ in one of them hardly ever agree.
pub fn digest(seed: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(seed ^ 0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

fn read_thread_file<'a>(tid: u32, file: &str, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut path = [0; 64];
    write!(&mut path[..], "/proc/self/task/{tid}/{file}\0").ok()?;
    read_file(CStr::from_bytes_until_nul(&path).ok()?, buffer)
}

/// The beginning of a file, as much as the buffer takes. Allocates nothing.
pub(crate) fn read_file<'a>(path: &CStr, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: the path ends.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // SAFETY: the buffer outlives the call and has the length given.
    let got = unsafe { libc::read(file, buffer.as_mut_ptr().cast(), buffer.len()) };
    // SAFETY: opened above.
    unsafe { libc::close(file) };
    buffer.get(..usize::try_from(got).ok()?)
}

/// What a thread has used of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    /// CPU time in nanoseconds.
    pub cpu_time: u64,
    /// Context switches, voluntary or not.
    pub switches: u64,
    /// Page faults, minor and major.
    pub faults: u64,
}

/// What a thread has used so far, 0 for what cannot be told.
pub fn usage(tid: u32) -> Usage {
    let read = |file: &str| std::fs::read_to_string(thread_file(tid, file)).unwrap_or_default();
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let stat = stat_fields(tid);
    let field = |index: usize| number(stat.get(index).map(String::as_str));
    let status = read("status");
    let switches = status.lines().filter(|line| line.contains("voluntary_ctxt_switches"));
    Usage {
        cpu_time: number(read("schedstat").split_whitespace().next()),
        switches: switches.map(|line| number(line.split_whitespace().nth(1))).sum(),
        faults: field(MINOR_FAULTS) + field(MAJOR_FAULTS),
    }
}

const MINOR_FAULTS: usize = 7;
const MAJOR_FAULTS: usize = 9;
const LAST_CPU: usize = 36;

/// The file of a single thread; without `task` some of them add up the whole process.
fn thread_file(tid: u32, file: &str) -> String {
    format!("/proc/{tid}/task/{tid}/{file}")
}

/// The fields of a thread's `stat` behind its name.
fn stat_fields(tid: u32) -> Vec<String> {
    let stat = std::fs::read(thread_file(tid, "stat")).unwrap_or_default();
    behind_name(&stat).map(String::from).collect()
}

/// The fields of a `stat` behind the name. That may hold any bytes, brackets included: so from the last one on.
pub(crate) fn behind_name(stat: &[u8]) -> impl Iterator<Item = &str> {
    let name_end = stat.iter().rposition(|&byte| byte == b')').map_or(stat.len(), |at| at + 1);
    core::str::from_utf8(&stat[name_end..]).unwrap_or_default().split_whitespace()
}

/// The CPU that a thread used last, 0 if it cannot be told.
pub fn cpu_of(tid: u32) -> i32 {
    if tid == crate::thread::tid() {
        // SAFETY: no arguments.
        return unsafe { libc::sched_getcpu() }.max(0);
    }
    stat_fields(tid).get(LAST_CPU).and_then(|cpu| cpu.parse().ok()).unwrap_or(0)
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_thread_sleeps_until_it_runs_again() {
        let (wake, woken) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            tell.send(crate::thread::tid()).unwrap();
            while woken.recv().is_ok() {
                tell.send(0).unwrap();
            }
        });
        let tid = told.recv().unwrap();
        let asleep = || loop {
            if let Some(number) = sleeping(tid) {
                return number;
            }
            std::thread::yield_now();
        };
        let mut before = asleep();
        // It may have been seen in a sleep of another kind, on its way to the one that lasts.
        while before != asleep() {
            before = asleep();
        }
        assert_eq!(sleeping(tid), Some(before));
        wake.send(()).unwrap();
        told.recv().unwrap();
        assert_ne!(asleep(), before);
        assert_eq!(sleeping(crate::thread::tid()), None, "the calling thread runs");
        drop(wake);
        thread.join().unwrap();
        assert_eq!(sleeping(tid), None, "it has ended");
    }
}
