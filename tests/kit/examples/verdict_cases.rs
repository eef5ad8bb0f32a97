//! Cases that do what `verdicts.rs` expects of them.

use std::process::ExitCode;

use alchemy_test::{Case, Mode, expect, mark, skip};

fn passes() {
    mark("a");
    expect("a");
}

fn fails() {
    mark("a");
    mark("b");
    expect("b a");
}

fn hangs() {
    mark("waits");
    loop {
        std::thread::park();
    }
}

fn is_skipped() {
    skip("for a reason");
}

fn main() -> ExitCode {
    const LOCKSTEP: &[Mode] = &[Mode::Lockstep];
    alchemy_test::main(&[
        Case::new("passes", passes).only_in(LOCKSTEP),
        Case::new("fails", fails).only_in(LOCKSTEP),
        Case::new("hangs", hangs).only_in(LOCKSTEP),
        Case::new("is_skipped", is_skipped).only_in(LOCKSTEP),
    ])
}
