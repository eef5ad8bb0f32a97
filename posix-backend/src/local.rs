//! The library's variables of the calling thread, at a fixed distance from its thread pointer.
//!
//! A `thread_local!` of a shared library is found by a call into the loader, 1.5 nanoseconds each time, and in a library that the
//! program has loaded later the first access of a thread calls `malloc`, perhaps in a signal handler. These variables lie in the
//! static block that each thread has from the start: two loads.
//!
//! # Safety
//!
//! Unsafe code here declares the variable in assembler, all zero at a thread's start, and computes its address.

#![allow(unsafe_code)]

use core::cell::Cell;

use crate::robust::List;
use crate::section::Flags;

/// All of them; valid when zero.
#[repr(C)]
pub(crate) struct Local {
    /// See [`crate::thread::Current`].
    pub tid: Cell<u32>,
    pub identity: Cell<u32>,
    pub list: Cell<List>,
    /// See [`crate::section`].
    pub flags: Flags,
}

const _: () = assert!(size_of::<Local>() == 24 && align_of::<Local>() == 8);

// Known to the assembler, not to the program.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
core::arch::global_asm!(
    ".pushsection .tbss.alchemy_local, \"awT\", %nobits",
    ".hidden alchemy_local",
    ".globl alchemy_local",
    ".type alchemy_local, %object",
    ".size alchemy_local, 24",
    ".balign 8",
    "alchemy_local:",
    ".zero 24",
    ".popsection",
);

/// The calling thread's.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn local() -> &'static Local {
    let address: *const Local;
    // SAFETY: reads a constant of the process and the thread pointer. The reference does not leave the thread: `Local` is not
    // `Sync`, and it lives as long as the thread.
    unsafe {
        core::arch::asm!(
            "mov {address}, qword ptr [rip + alchemy_local@GOTTPOFF]",
            "add {address}, qword ptr fs:[0]",
            address = out(reg) address,
            options(pure, readonly, nostack),
        );
        &*address
    }
}

/// The calling thread's.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn local() -> &'static Local {
    let address: *const Local;
    // SAFETY: as on x86_64.
    unsafe {
        core::arch::asm!(
            "mrs {address}, tpidr_el0",
            "adrp {offset}, :gottprel:alchemy_local",
            "ldr {offset}, [{offset}, :gottprel_lo12:alchemy_local]",
            "add {address}, {address}, {offset}",
            address = out(reg) address,
            offset = out(reg) _,
            options(pure, readonly, nostack, preserves_flags),
        );
        &*address
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
thread_local! {
    static LOCAL: Local = const {
        Local { tid: Cell::new(0), identity: Cell::new(0), list: Cell::new(List::NONE), flags: Flags::NONE }
    };
}

/// The calling thread's.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
pub(crate) fn local() -> &'static Local {
    // SAFETY: it has no destructor, so it lives as long as the thread, which the reference does not leave.
    unsafe { &*LOCAL.with(|local| &raw const *local) }
}
