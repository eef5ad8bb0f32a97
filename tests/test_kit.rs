//! What `<alchemy-test.h>` says of cases that fail, hang or cannot run.

use std::path::Path;
use std::sync::Arc;

use alchemy_tests::cprog::{Mode, Outcome, Workshop};

#[test]
fn each_case_gets_its_verdict() {
    let workshop = Arc::new(Workshop::new().unwrap());
    let program = workshop.compile(&Path::new(env!("CARGO_MANIFEST_DIR")).join("test_kit.c")).unwrap();
    let text = match program.run_whole(Mode::Fifo) {
        Outcome::Failed(text) => text,
        other => panic!("one of its cases fails: {other:?}"),
    };
    let verdict = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {text}"));
        line.split_whitespace().last().unwrap().to_owned()
    };
    assert_eq!(["passes", "fails", "hangs", "is_skipped"].map(verdict), ["ok", "FAILED", "FAILED", "skipped"]);
    assert!(text.contains("-EINVAL is -22 (Invalid argument), not 0 (0)\nmarks: a\n"), "{text}");
    assert!(text.contains("watchdog: hangs does not end; marks: waits\n"), "{text}");
    assert!(text.contains("SKIPPED: for a reason\n"), "{text}");
    assert!(text.contains("1 passed, 2 failed, 1 skipped\n"), "{text}");
}
