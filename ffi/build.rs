//! Compiles the variadic functions.

fn main() {
    println!("cargo:rerun-if-changed=src/variadic.c");
    cc::Build::new()
        .file("src/variadic.c")
        .flags(["-Wall", "-Wextra", "-Wpedantic"])
        // A task that is deleted ends behind them: its stack is unwound through their frames.
        .flag("-fexceptions")
        .compile("alchemy_variadic");
}
