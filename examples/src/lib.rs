//! Examples are in `rust/` and `c/`.
