//! The only import of atomics: the standard ones, or loom's under `cfg(loom)`, so that models run the very code.

#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

pub use core::sync::atomic::compiler_fence;

/// An all-zero value, for slots that live in ordinary memory (models, tests).
/// In a segment the same state comes from fresh, zero-filled pages.
///
/// # Safety
///
/// Outside loom, the type must be valid when all its bytes are zero, and sharing it between threads must be sound: all
/// fields are atomics or made of atomics.
#[allow(unsafe_code)]
pub unsafe trait Zeroed: Sized {
    /// The value whose bytes are all zero.
    fn zeroed() -> Self;
}

macro_rules! zeroed_atomics {
    ($($atomic:ty),*) => { $(
        // SAFETY: an atomic integer is valid for every bit pattern and made for sharing.
        #[allow(unsafe_code)]
        unsafe impl Zeroed for $atomic {
            fn zeroed() -> Self {
                <$atomic>::new(0)
            }
        }
    )* };
}

zeroed_atomics!(AtomicU32, AtomicU64);

// SAFETY: all bytes zero are the null pointer, and an atomic is made for sharing.
#[allow(unsafe_code)]
unsafe impl<T> Zeroed for AtomicPtr<T> {
    fn zeroed() -> Self {
        AtomicPtr::new(core::ptr::null_mut())
    }
}

// SAFETY: arrays of such values have no bytes of their own.
#[allow(unsafe_code)]
unsafe impl<T: Zeroed, const N: usize> Zeroed for [T; N] {
    fn zeroed() -> Self {
        core::array::from_fn(|_| T::zeroed())
    }
}

/// Declares a `repr(C)` structure whose fields are all [`Zeroed`].
#[macro_export]
macro_rules! zeroed_struct {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$fmeta:meta])* $fvis:vis $field:ident : $ty:ty),* $(,)? }) => {
        $(#[$meta])*
        #[repr(C)]
        $vis struct $name { $($(#[$fmeta])* $fvis $field: $ty),* }

        // SAFETY: every field is `Zeroed`, and padding may hold anything.
        #[allow(unsafe_code)]
        unsafe impl $crate::atomic::Zeroed for $name {
            fn zeroed() -> Self {
                $name { $($field: $crate::atomic::Zeroed::zeroed()),* }
            }
        }
    };
}
