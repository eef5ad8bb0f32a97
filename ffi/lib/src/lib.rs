//! Packages the C symbols of `alchemy_ffi` as `libalchemy.so` and `libalchemy.a`.

pub use alchemy_ffi::*;
