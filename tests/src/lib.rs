//! What the tests of this package share.

pub mod cprog;
pub mod watchdog;
