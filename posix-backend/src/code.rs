//! Where code lies: whether a thread found at some instruction may be ended there.
//!
//! # Safety
//!
//! Unsafe code here reads what the dynamic loader tells of the loaded objects, during its callback, and walks the calling
//! thread's own stack with the unwinder of the C compiler's runtime, which only reads it. It also reads the exception tables that
//! the unwinder points to, which the compiler made.

#![allow(unsafe_code)]

use core::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

/// Address ranges, start and end.
type Ranges = Vec<(usize, usize)>;

/// Objects in which a thread may hold a lock or be half-way through a change that others see. The kernel's is the vDSO.
const PROTECTED: [&str; 8] =
    ["libc.so", "libc-", "ld-linux", "libgcc_s", "libstdc++", "libc++", "libpthread", "linux-vdso"];

struct Layout {
    protected: Ranges,
    /// This library is an object of its own, not part of the program.
    is_separate: bool,
    /// The C library is an object of its own.
    has_libc: bool,
}

fn layout() -> &'static Layout {
    static LAYOUT: OnceLock<Layout> = OnceLock::new();
    LAYOUT.get_or_init(|| {
        let mut layout = Layout { protected: Vec::new(), is_separate: false, has_libc: false };
        // SAFETY: the callback gets the address of `layout`, which outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut layout).cast()) };
        layout
    })
}

/// Does now what would need memory later, when a stopped thread may hold the heap's lock: finds the ranges, and makes the C
/// library load the unwinder, which it else does at the first cancellation.
pub fn prepare() {
    layout();
    let mut frame = core::ptr::null_mut();
    // SAFETY: room for one entry.
    unsafe { libc::backtrace(&mut frame, 1) };
}

unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _: usize, layout: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid description, and `layout` is what `layout()` passed.
    let (info, layout) = unsafe { (&*info, &mut *layout.cast::<Layout>()) };
    // SAFETY: the name is a string of the loader's, empty for the program itself.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy();
    // SAFETY: the loader's table has this many entries.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let code: Ranges = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0)
        .map(|header| (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize))
        .zip(headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0))
        .map(|(start, header)| (start, start + header.p_memsz as usize))
        .collect();
    let own = (collect as *const () as usize, !name.is_empty());
    let is_own = code.iter().any(|&(start, end)| (start..end).contains(&own.0));
    layout.is_separate |= is_own && own.1;
    layout.has_libc |= name.contains("libc.so") || name.contains("libc-");
    if is_own || PROTECTED.iter().any(|part| name.contains(part)) {
        layout.protected.extend(code);
    }
    0
}

/// Whether a thread interrupted at `pc` is in the program's own code. Never, where this library or the C library is linked
/// into the program: then they cannot be told apart.
pub fn is_program_code(pc: usize) -> bool {
    let layout = layout();
    layout.is_separate && layout.has_libc && !is_protected(pc)
}

fn is_protected(pc: usize) -> bool {
    layout().protected.iter().any(|&(start, end)| (start..end).contains(&pc))
}

/// How far a stack can be unwound from an interrupted instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unwinding {
    /// To the beginning of the thread.
    Whole,
    /// The tables end on the way: the C library jumps to the beginning from there. That is right for C, whose cleanup handlers
    /// it knows.
    Partial,
    /// Somebody on the way cannot be unwound, and would end the process.
    Fatal,
}

mod unwind {
    use core::ffi::{c_int, c_void};

    #[repr(C)]
    pub struct Context {
        _private: [u8; 0],
    }

    pub type Trace = extern "C" fn(*mut Context, *mut c_void) -> c_int;

    unsafe extern "C" {
        pub fn _Unwind_Backtrace(trace: Trace, argument: *mut c_void) -> c_int;
        pub fn _Unwind_GetIPInfo(context: *mut Context, before: *mut c_int) -> usize;
        pub fn _Unwind_GetRegionStart(context: *mut Context) -> usize;
        pub fn _Unwind_GetLanguageSpecificData(context: *mut Context) -> *const u8;
    }

    pub const CONTINUE: c_int = 0;
    pub const STOP: c_int = 4;
}

struct Search {
    pc: usize,
    is_found: bool,
    verdict: Unwinding,
}

extern "C" fn look(context: *mut unwind::Context, search: *mut c_void) -> c_int {
    let mut interrupted = 0;
    // SAFETY: `unwinding_from` passed a `Search`, and the unwinder a context.
    let (search, ip, function, table) = unsafe {
        (
            &mut *search.cast::<Search>(),
            unwind::_Unwind_GetIPInfo(context, &mut interrupted),
            unwind::_Unwind_GetRegionStart(context),
            unwind::_Unwind_GetLanguageSpecificData(context),
        )
    };
    if !search.is_found && ip != search.pc {
        // The signal handler itself.
        return unwind::CONTINUE;
    }
    let is_innermost = !search.is_found;
    search.is_found = true;
    let is_safe = if is_innermost || interrupted != 0 {
        // An outer frame may be an interrupted one, too, if the signal found the thread in a handler of the program.
        table.is_null() && is_program_code(ip)
    } else {
        // SAFETY: the compiler's table of the function that begins at `function`.
        table.is_null() || unsafe { tables::covers(table, function, ip - 1) }
    };
    if !is_safe {
        search.verdict = Unwinding::Fatal;
        return unwind::STOP;
    }
    // Threads begin in the C library. Frames of which nothing is known come here, too, as the last ones.
    if is_protected(ip) {
        search.verdict = Unwinding::Whole;
    } else if is_innermost {
        search.verdict = Unwinding::Partial;
    }
    unwind::CONTINUE
}

/// Called by a signal handler: how far the stack can be unwound from the instruction `pc`, at which the signal interrupted the
/// program.
///
/// It is fatal if the interrupted function has an exception table (C++ or Rust with destructors in scope): its tables are
/// right at calls only. Likewise if a caller has one that does not list the call: the compiler knew that the callee throws
/// nothing. A frame that is not found counts as such a one.
pub fn unwinding_from(pc: usize) -> Unwinding {
    let mut search = Search { pc, is_found: false, verdict: Unwinding::Fatal };
    // SAFETY: the callback gets the address of `search`, which outlives the call.
    unsafe { unwind::_Unwind_Backtrace(look, (&raw mut search).cast()) };
    search.verdict
}

/// The exception tables of C++, Rust and C, as far as the list of calls goes.
mod tables {
    const OMITTED: u8 = 0xff;
    const ULEB128: u8 = 0x01;
    const UDATA2: u8 = 0x02;
    const UDATA4: u8 = 0x03;
    const UDATA8: u8 = 0x04;

    struct Reader(*const u8);

    impl Reader {
        /// # Safety
        ///
        /// There are `N` more bytes.
        unsafe fn bytes<const N: usize>(&mut self) -> [u8; N] {
            // SAFETY: the caller's contract; an array of bytes has no alignment.
            let bytes = unsafe { self.0.cast::<[u8; N]>().read() };
            // SAFETY: likewise.
            self.0 = unsafe { self.0.add(N) };
            bytes
        }

        /// # Safety
        ///
        /// There is a number of this kind.
        unsafe fn uleb128(&mut self) -> usize {
            let (mut value, mut shift) = (0, 0);
            loop {
                // SAFETY: the caller's contract: the last byte of the number has its upper bit clear.
                let [byte] = unsafe { self.bytes() };
                value |= usize::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
                shift += 7;
                if byte & 0x80 == 0 {
                    return value;
                }
            }
        }

        /// A number in one of the encodings that compilers use here.
        ///
        /// # Safety
        ///
        /// There is a number of this kind.
        unsafe fn number(&mut self, encoding: u8) -> Option<usize> {
            // SAFETY: the caller's contract, in each arm.
            Some(unsafe {
                match encoding {
                    ULEB128 => self.uleb128(),
                    UDATA2 => u16::from_ne_bytes(self.bytes()).into(),
                    UDATA4 => u32::from_ne_bytes(self.bytes()) as usize,
                    UDATA8 => u64::from_ne_bytes(self.bytes()) as usize,
                    _ => return None,
                }
            })
        }
    }

    /// Whether the list of calls in an exception table has one at address `at`. No, where it cannot be read.
    ///
    /// # Safety
    ///
    /// `table` is the exception table of the function that begins at `function`.
    pub unsafe fn covers(table: *const u8, function: usize, at: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { find(table, at.wrapping_sub(function)) }.unwrap_or(false)
    }

    unsafe fn find(table: *const u8, offset: usize) -> Option<bool> {
        let mut reader = Reader(table);
        // SAFETY: the header of every such table: where landing pads are counted from, where the types are, the list's
        // encoding and length.
        let (encoding, length) = unsafe {
            let [pads] = reader.bytes();
            if pads != OMITTED {
                reader.number(pads)?;
            }
            let [types] = reader.bytes();
            if types != OMITTED {
                reader.uleb128();
            }
            let [encoding] = reader.bytes();
            (encoding, reader.uleb128())
        };
        let end = reader.0.addr() + length;
        while reader.0.addr() < end {
            // SAFETY: an entry of the list: start, length, landing pad, action.
            let (start, length) = unsafe {
                let (start, length) = (reader.number(encoding)?, reader.number(encoding)?);
                reader.number(encoding)?;
                reader.uleb128();
                (start, length)
            };
            if (start..start.saturating_add(length)).contains(&offset) {
                return Some(true);
            }
        }
        Some(false)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn covers_each(table: &[u8]) -> [bool; 5] {
            // SAFETY: the tables below are whole.
            [0x10, 0x1f, 0x20, 0x2f, 0x30].map(|at| unsafe { covers(table.as_ptr(), 0x1000, 0x1000 + at) })
        }

        #[test]
        fn calls_listed_as_leb128_are_found() {
            let table = [OMITTED, OMITTED, ULEB128, 4, 0x10, 0x10, 0, 0];
            assert_eq!(covers_each(&table), [true, true, false, false, false]);
            let table = [OMITTED, 0x9b, 0x20, ULEB128, 9, 0x10, 0x01, 0, 0, 0xa0, 0x00, 0x10, 0x40, 1];
            assert_eq!(covers_each(&table), [true, false, true, true, false]);
        }

        #[test]
        fn calls_listed_as_32_bits_are_found() {
            let table = [OMITTED, OMITTED, UDATA4, 13, 0x20, 0, 0, 0, 0x11, 0, 0, 0, 0x40, 0, 0, 0, 0];
            assert_eq!(covers_each(&table), [false, false, true, true, true]);
        }

        #[test]
        fn an_unknown_encoding_or_an_empty_list_covers_nothing() {
            assert_eq!(covers_each(&[OMITTED, OMITTED, 0x1b, 4, 0x10, 0x10, 0, 0]), [false; 5]);
            assert_eq!(covers_each(&[OMITTED, OMITTED, ULEB128, 0]), [false; 5]);
        }
    }
}
