//! Copies of a few bytes, without a call.
//!
//! # Safety
//!
//! Unsafe code here reads and writes what the caller vouches for.

#![allow(unsafe_code)]

/// How many bytes [`copy_few`] copies at most.
pub const FEW: u64 = 64;

/// Copies up to [`FEW`] bytes, which may overlap, as `core::ptr::copy` does: but in line, so that the caller needs to keep nothing for
/// the sake of a call. More are not copied.
///
/// # Safety
///
/// `from` is valid for reads, `to` for writes of `len` bytes.
#[inline(always)]
pub unsafe fn copy_few(from: *const u8, to: *mut u8, len: u64) {
    /// The first and the last bytes of a piece, which overlap unless it is twice as long. All is read before anything is written.
    #[inline(always)]
    unsafe fn both_ends<T: Copy>(from: *const u8, to: *mut u8, len: usize) {
        let last = len - size_of::<T>();
        // SAFETY: the piece is at least as long as `T`.
        unsafe {
            let head = from.cast::<T>().read_unaligned();
            let tail = from.add(last).cast::<T>().read_unaligned();
            to.cast::<T>().write_unaligned(head);
            to.add(last).cast::<T>().write_unaligned(tail);
        }
    }
    let len = len as usize;
    // SAFETY: each reads and writes inside the piece.
    unsafe {
        match len {
            32..=64 => both_ends::<[u64; 4]>(from, to, len),
            16..32 => both_ends::<[u64; 2]>(from, to, len),
            8..16 => both_ends::<u64>(from, to, len),
            4..8 => both_ends::<u32>(from, to, len),
            2..4 => both_ends::<u16>(from, to, len),
            1 => both_ends::<u8>(from, to, len),
            _ => (),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_as_the_c_library_does() {
        let numbers: Vec<u8> = (0..200).collect();
        for len in 0..=FEW as usize {
            for (from, to) in [(0, 100), (3, 101), (10, 13), (13, 10), (20, 20), (40, 71), (71, 40)] {
                let (mut ours, mut theirs) = (numbers.clone(), numbers.clone());
                // SAFETY: inside the vectors.
                unsafe { copy_few(ours.as_ptr().add(from), ours.as_mut_ptr().add(to), len as u64) };
                theirs.copy_within(from..from + len, to);
                assert_eq!(ours, theirs, "{len} bytes from {from} to {to}");
            }
        }
    }
}
