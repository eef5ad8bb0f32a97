//! Hands the names of the platforms to the tests that call a C compiler.

fn main() {
    for (ours, cargos) in [("HOST_TRIPLE", "HOST"), ("TARGET_TRIPLE", "TARGET")] {
        let triple = std::env::var(cargos).expect("cargo sets HOST and TARGET");
        println!("cargo:rustc-env={ours}={triple}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
