//! The library's binary interface: its name, the exact list of its symbols, and that every function the headers declare is
//! among them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The library that cargo built beside this test.
fn library() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("libalchemy.so")
}

fn output(tool: &str, args: &[&str]) -> String {
    let output = Command::new(tool).args(args).arg(library()).output();
    let output = output.unwrap_or_else(|error| panic!("{tool}: {error}; it comes with binutils"));
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn exported() -> BTreeSet<String> {
    let symbols = output("nm", &["-D", "--defined-only"]);
    symbols.lines().filter_map(|line| line.split_whitespace().nth(2)).map(String::from).collect()
}

#[test]
fn exports_are_exactly_those_listed() {
    // A sanitizer's runtime exports itself.
    if exported().iter().any(|name| name.starts_with("__asan_") || name.starts_with("__tsan_")) {
        println!("SKIPPED: a sanitizer build exports more");
        return;
    }
    let listed = fs::read_to_string(root().join("ffi/exports.txt")).unwrap();
    let listed: BTreeSet<String> = listed.lines().map(String::from).collect();
    let missing: Vec<_> = listed.difference(&exported()).cloned().collect();
    let unexpected: Vec<_> = exported().difference(&listed).cloned().collect();
    assert!(
        missing.is_empty() && unexpected.is_empty(),
        "missing: {missing:?}, not in ffi/exports.txt: {unexpected:?}"
    );
}

#[test]
fn soname_and_nodelete() {
    let dynamic = output("readelf", &["-dW"]);
    assert!(dynamic.contains("[libalchemy.so.0]"), "{dynamic}");
    assert!(dynamic.contains("NODELETE"), "{dynamic}");
}

/// All that looks like a function in the headers: an identifier `rt_…` or `assert_nrt…` before a bracket, `__native_rt_…` in a label.
fn declared() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for directory in ["", "alchemy", "native", "trank"] {
        for entry in fs::read_dir(root().join("include").join(directory)).unwrap().map(Result::unwrap) {
            if !entry.file_type().unwrap().is_file() {
                continue;
            }
            let text = without_comments(&fs::read_to_string(entry.path()).unwrap());
            let mut word = String::new();
            for c in text.chars() {
                if c.is_ascii_alphanumeric() || c == '_' {
                    word.push(c);
                    continue;
                }
                // A function's name stands before its parameters; a label stands in quotes.
                let is_service = word.starts_with("rt_") || word.starts_with("assert_nrt");
                let is_function = is_service && c == '(' || word.starts_with("__native_rt_") && c == '"';
                if is_function {
                    names.insert(word.clone());
                }
                word.clear();
            }
        }
    }
    names
}

fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once("/*") {
        kept.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    kept + rest
}

#[test]
fn every_declared_function_is_exported() {
    let declared = declared();
    assert!(declared.len() > 40, "the headers were not understood: {declared:?}");
    let missing: Vec<_> = declared.difference(&exported()).cloned().collect();
    assert!(missing.is_empty(), "declared but not exported: {missing:?}");
}

#[test]
fn every_export_is_declared() {
    // Called by object files that were compiled against other headers.
    let is_for_objects = |name: &str| name.ends_with("_chk") || name == "assert_nrt_fast";
    let services = exported().into_iter().filter(|name| name.contains("rt_") && !is_for_objects(name));
    // The second names of some services are for libraries that define the first ones themselves.
    let first = |name: &str| name.strip_prefix("__current_").unwrap_or(name).to_string();
    let undeclared: Vec<_> = services.filter(|name| !declared().contains(&first(name))).collect();
    assert!(undeclared.is_empty(), "exported but in no header: {undeclared:?}");
}
