//! Object names: up to 31 bytes of any value, zero-padded to 32, so that they compare and hash as four words.

use posix_backend::atomic::{AtomicU64, Ordering::Relaxed};

/// The size of a name with its terminating NUL.
pub const NAME_LEN: usize = 32;

/// A name. Longer ones are cut to 31 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Name([u64; 4]);

impl Name {
    /// The name made of these bytes, up to the first NUL or to 31 bytes.
    pub fn new(bytes: &[u8]) -> Name {
        let mut padded = [0u8; NAME_LEN];
        let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()).min(NAME_LEN - 1);
        padded[..len].copy_from_slice(&bytes[..len]);
        let mut words = [0u64; 4];
        for (word, chunk) in words.iter_mut().zip(padded.as_chunks::<8>().0) {
            *word = u64::from_ne_bytes(*chunk);
        }
        Name(words)
    }

    /// A generated name: `RADIX@NUMBER`. Needs no memory.
    pub(crate) fn generated(radix: &str, number: u32) -> Name {
        let mut digits = [0u8; 10];
        let mut first = digits.len();
        let mut rest = number;
        loop {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let mut bytes = [0u8; NAME_LEN];
        let text = radix.bytes().chain([b'@']).chain(digits[first..].iter().copied());
        bytes.iter_mut().zip(text).for_each(|(to, from)| *to = from);
        Name::new(&bytes)
    }

    /// Whether the name is empty.
    pub fn is_empty(&self) -> bool {
        self.0[0] == 0
    }

    /// The bytes, NUL-padded.
    pub fn to_bytes(self) -> [u8; NAME_LEN] {
        let mut bytes = [0u8; NAME_LEN];
        for (chunk, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.0) {
            *chunk = word.to_ne_bytes();
        }
        bytes
    }

    /// The text without padding; bytes that are not UTF-8 are replaced.
    pub fn to_text(self) -> String {
        let bytes = self.to_bytes();
        let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(NAME_LEN);
        String::from_utf8_lossy(&bytes[..len]).into_owned()
    }

    /// A hash, never 0.
    pub(crate) fn hash(&self) -> u32 {
        let mixed =
            self.0.iter().fold(0u64, |hash, &word| (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // The upper half of the last product depends on all bytes.
        ((mixed >> 32) as u32).max(1)
    }

    pub(crate) fn load(words: &[AtomicU64; 4]) -> Name {
        Name(core::array::from_fn(|i| words[i].load(Relaxed)))
    }

    pub(crate) fn store(&self, words: &[AtomicU64; 4]) {
        for (to, &from) in words.iter().zip(&self.0) {
            to.store(from, Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn cuts_at_31_bytes_and_at_nul() {
        let long = [b'x'; 40];
        assert_eq!(Name::new(&long), Name::new(&long[..31]));
        assert_eq!(Name::new(&long).to_text().len(), 31);
        assert_eq!(Name::new(b"ab\0cd").to_text(), "ab");
        assert!(Name::new(b"").is_empty());
    }

    #[test]
    fn generated_names() {
        assert_eq!(Name::generated("sem", 1).to_text(), "sem@1");
        assert_eq!(Name::generated("task", 4_294_967_295).to_text(), "task@4294967295");
    }

    #[test]
    fn similar_names_spread() {
        let mut low: Vec<u32> = (0..4096).map(|i| Name::new(format!("sem@{i}").as_bytes()).hash() % 4096).collect();
        low.sort_unstable();
        low.dedup();
        // Random placement fills 63 % of the buckets.
        assert!(low.len() > 2400, "{}", low.len());
    }
}
