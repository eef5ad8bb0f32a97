//! Every header, alone and twice, in every dialect that its users have, without a warning.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const C: [&str; 6] = ["gnu89", "c99", "gnu99", "c11", "gnu11", "gnu17"];
const CPP: [&str; 4] = ["c++11", "gnu++14", "c++17", "c++20"];

fn headers() -> Vec<String> {
    let include = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../include"));
    let mut headers = Vec::new();
    for directory in ["", "alchemy/", "boilerplate/", "native/", "nucleus/", "trank/", "trank/native/", "xenomai/"] {
        for entry in fs::read_dir(include.join(directory)).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                headers.push(format!("{directory}{}", entry.file_name().to_string_lossy()));
            }
        }
    }
    headers.sort();
    headers
}

fn compiles(compiler: &str, language: &str, dialect: &str, headers: &[&str]) {
    let source: String = headers.iter().map(|header| format!("#include <{header}>\n")).collect();
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = dir.join(format!("headers-{}", if language == "c" { "c.c" } else { "cpp.cc" }));
    fs::write(&file, source + "int main(void) { return 0; }\n").unwrap();
    let output = Command::new(compiler)
        .arg(format!("-std={dialect}"))
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-x", language])
        .arg(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../include"))
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{dialect} {headers:?}:\n{}", String::from_utf8_lossy(&output.stderr));
}

fn check(compiler: &str, language: &str, dialects: &[&str]) {
    let found = Command::new(compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_err() {
        println!("SKIPPED: no {compiler}");
        return;
    }
    let headers = headers();
    assert!(headers.len() >= 10);
    for dialect in dialects {
        for header in &headers {
            compiles(compiler, language, dialect, &[header, header]);
        }
        let mut all: Vec<&str> = headers.iter().map(String::as_str).collect();
        compiles(compiler, language, dialect, &all);
        // It says that it must be the first.
        all.retain(|header| *header != "alchemy-test.h");
        all.reverse();
        compiles(compiler, language, dialect, &all);
    }
}

#[test]
fn c() {
    check("cc", "c", &C);
}

#[test]
fn cpp() {
    check("c++", "c++", &CPP);
}
