//! The C examples build and run to a good end, with the rights of this process and with those of an ordinary user.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use alchemy_tests::cprog::{Mode, Outcome, Workshop};
use libtest_mimic::{Arguments, Trial};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut args = Arguments::from_args();
    args.test_threads = Some(1);
    let workshop = Arc::new(Workshop::new()?);
    let mut trials = Vec::new();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/c"))? {
        let source = entry?.path();
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for (mode, tag) in [(Mode::Fifo, "as is"), (Mode::User, "user")] {
            let (workshop, source) = (workshop.clone(), source.clone());
            trials.push(Trial::test(format!("{name} [{tag}]"), move || {
                match workshop.compile(&source)?.run_whole(mode) {
                    Outcome::Failed(text) => Err(text.into()),
                    _ => Ok(()),
                }
            }));
        }
    }
    trials.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(libtest_mimic::run(&args, trials).exit_code())
}
