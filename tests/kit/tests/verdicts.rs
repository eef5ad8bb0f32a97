//! What the kit says of cases that fail, hang or cannot run.

use std::path::PathBuf;
use std::process::Command;

/// The example of this name, which cargo built beside this test.
fn cases() -> Command {
    let deps = std::env::current_exe().unwrap();
    let program: PathBuf = deps.ancestors().nth(2).unwrap().join("examples/verdict_cases");
    let mut command = Command::new(program);
    command.env("AT_SECONDS", "1");
    command
}

#[test]
fn each_case_gets_its_verdict() {
    let output = cases().output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    let verdict = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {text}"));
        line.split_whitespace().last().unwrap().to_owned()
    };
    assert_eq!(["passes", "fails", "hangs", "is_skipped"].map(verdict), ["ok", "FAILED", "FAILED", "skipped"]);
    assert!(text.contains("got:  a b\n  want: b a"), "{text}");
    assert!(text.contains("watchdog: hangs does not end; marks: waits"), "{text}");
    assert!(text.contains("SKIPPED: for a reason"), "{text}");
    assert!(text.ends_with("1 passed, 2 failed, 1 skipped\n"), "{text}");
}

#[test]
fn some_cases_can_be_chosen() {
    let output = cases().arg("pass").output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().ends_with("1 passed, 0 failed, 0 skipped\n"));
    assert_eq!(cases().arg("--unknown").output().unwrap().status.code(), Some(2));
}
