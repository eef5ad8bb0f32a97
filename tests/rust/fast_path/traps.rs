//! How a case is measured: in a process of its own, with traps for what it must not do.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::*};
use std::thread;

use alchemy::Task;

use super::*;

impl Measured {
    /// Measures in a process of its own.
    pub fn watch(self) -> Result<Seen, String> {
        let report = Report::shared();
        // SAFETY: this process has one thread, so the child may do whatever it likes.
        let child = unsafe { libc::fork() };
        match child {
            -1 => return Err(format!("fork: {}", std::io::Error::last_os_error())),
            0 => self.run(report),
            _ => {}
        }
        let mut status = 0;
        // SAFETY: the child is ours; `status` is valid for writing.
        if unsafe { libc::waitpid(child, &mut status, 0) } != child {
            return Err(format!("waitpid: {}", std::io::Error::last_os_error()));
        }
        if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
            return Err(format!("the process ended with status {status:#x}"));
        }
        let read = |field: &AtomicI64| field.load(Acquire);
        Ok(Seen {
            call: (read(&report.call) >= 0).then(|| read(&report.call)),
            clock: read(&report.clock) != 0,
            allocated: read(&report.allocations) != 0,
            heap: read(&report.heap) != 0,
            wrong_result: read(&report.wrong) != 0,
            unavailable: read(&report.unavailable) != 0,
        })
    }

    /// The child.
    fn run(self, report: &'static Report) -> ! {
        // SAFETY: the default action ends this process.
        unsafe { libc::alarm(LIMIT) };
        REPORT.store(report as *const Report as u64, Release);
        if self.priorities == Priorities::Logical {
            // SAFETY: this process has one thread.
            unsafe { std::env::set_var("ALCHEMY_SCHED", "other") };
        }
        let measure = move || self.measure(report);
        match self.caller {
            Caller::Initial => measure(),
            Caller::Plain => _ = thread::spawn(measure).join(),
            Caller::Task => _ = Task::builder().priority(50).spawn(move || self.measure_task(report)).unwrap().join(),
        }
        exit(1)
    }

    fn measure_task(self, report: &Report) {
        // SAFETY: 0 is the calling thread.
        let class = unsafe { libc::sched_getscheduler(0) };
        let expected = if self.priorities == Priorities::Real { libc::SCHED_FIFO } else { libc::SCHED_OTHER };
        assert_eq!(class, expected, "{:?}", self.priorities);
        self.measure(report);
    }

    /// In the thread that is to be measured, to its end.
    fn measure(self, report: &Report) {
        let mut round = (self.prepare)();
        let mut right = true;
        for _ in 0..WARM_UP {
            right &= round();
        }
        install(libc::SIGSYS, on_call);
        install(libc::SIGSEGV, on_fault);
        let (allocations, heap) = (ALLOCATIONS.load(Relaxed), heap_in_use());
        if self.clock == Clock::Trapped {
            trap_counter();
        }
        if !trap_calls() {
            report.unavailable.store(1, Release);
            exit(0);
        }
        for _ in 0..ROUNDS {
            right &= round();
        }
        report.wrong.store((!right).into(), Release);
        report.allocations.store((ALLOCATIONS.load(Relaxed) - allocations) as i64, Release);
        report.heap.store(heap_in_use() as i64 - heap as i64, Release);
        exit(0);
    }
}

/// What the child tells, in memory that it shares with its parent.
struct Report {
    call: AtomicI64,
    clock: AtomicI64,
    allocations: AtomicI64,
    heap: AtomicI64,
    wrong: AtomicI64,
    unavailable: AtomicI64,
}

/// For the signal handlers: the address of the report.
static REPORT: AtomicU64 = AtomicU64::new(0);

impl Report {
    fn shared() -> &'static Report {
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let page = unsafe { libc::mmap(null_mut(), size_of::<Report>(), prot, flags, -1, 0) };
        assert_ne!(page, libc::MAP_FAILED);
        // SAFETY: zeroed, aligned, large enough, never unmapped, and made of atomics.
        let report = unsafe { &*page.cast::<Report>() };
        report.call.store(-1, Relaxed);
        report
    }
}

fn exit(status: c_int) -> ! {
    // SAFETY: ends the process without running anything of it.
    unsafe { libc::_exit(status) }
}

type Handler = extern "C" fn(c_int, *const libc::siginfo_t, *mut c_void);

fn install(signal: c_int, handler: Handler) {
    // SAFETY: all zero is a valid action; what matters is set below.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the action is complete; the handler only stores to shared memory and ends the process.
    assert_eq!(unsafe { libc::sigaction(signal, &action, null_mut()) }, 0);
}

/// The kernel's `siginfo_t` for `SIGSYS`.
#[repr(C)]
struct CallInfo {
    numbers: [c_int; 3],
    address: *mut c_void,
    call: c_int,
    arch: u32,
}

extern "C" fn on_call(_: c_int, info: *const libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel passes a signal's information, which for this signal has this form.
    let call = unsafe { (*info.cast::<CallInfo>()).call };
    tell(|report| report.call.store(call.into(), Release))
}

extern "C" fn on_fault(_: c_int, info: *const libc::siginfo_t, _: *mut c_void) {
    /// A general protection fault, which a trapped instruction raises.
    const SI_KERNEL: c_int = 0x80;
    // SAFETY: the kernel passes a signal's information.
    if unsafe { (*info).si_code } != SI_KERNEL {
        exit(2);
    }
    tell(|report| report.clock.store(1, Release))
}

fn tell(note: impl FnOnce(&Report)) -> ! {
    // SAFETY: `run` stored the address of the report before there were handlers.
    note(unsafe { &*std::ptr::without_provenance::<Report>(REPORT.load(Acquire) as usize) });
    exit(0)
}

/// From here on the calling thread faults if it reads the time stamp counter. Where there is none, clocks are read by
/// other means, and the control for it says whether they show.
fn trap_counter() {
    // SAFETY: changes how the calling thread executes one instruction.
    unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) };
}

/// From here on every system call of the calling thread but the one that ends the process raises `SIGSYS`. False where
/// there is no such thing.
fn trap_calls() -> bool {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut filter = [
        // The number of the call is the first field of what a filter looks at.
        step(LOAD, 0, 0, 0),
        step(IF_EQUAL, 0, 1, libc::SYS_exit_group as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(RETURN, 0, 0, libc::SECCOMP_RET_TRAP),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: `program` and the filter that it points to are valid during the calls.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
    }
}

/// Bytes that the C library's heap has handed out.
fn heap_in_use() -> usize {
    // SAFETY: no arguments; takes the heap's own locks.
    unsafe { libc::mallinfo2() }.uordblks
}

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, with a count of what is asked of it.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
