//! Every case of every program in `tests/c`, as one test each: `sem::post_adds_a_unit [fifo]` with the rights of this
//! process, `… [user]` with those of an ordinary user. One after the other: a real-time task shares its CPU with
//! nobody else's.

use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use alchemy_tests::cprog::{Mode, Outcome, Program, Workshop, cxx_usable, fifo_usable, is_cxx};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// Compilers running at once.
const JOBS: usize = 2;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut args = Arguments::from_args();
    args.test_threads = Some(1);

    let fifo = fifo_usable();
    let (sources, unbuildable): (Vec<_>, Vec<_>) = {
        let cxx = cxx_usable();
        sources(&args)?.into_iter().partition(|source| cxx || !is_cxx(source))
    };
    let workshop = Arc::new(Workshop::new()?);
    let mut trials = Vec::new();
    for source in unbuildable {
        let why = "SKIPPED: no C++ compiler (apt-get install g++)";
        trials.push(Trial::ignorable_test(format!("{}::builds", stem(&source)), move || {
            Ok(Completion::ignored_with(why))
        }));
    }
    for (source, built) in sources.iter().zip(build(&workshop, &sources)) {
        trials.extend(offer(source, built, fifo));
    }
    if !fifo {
        let why = "SKIPPED: no SCHED_FIFO for this process";
        trials.push(Trial::ignorable_test("every case [fifo]", move || Ok(Completion::ignored_with(why))));
    }
    Ok(libtest_mimic::run(&args, trials).exit_code())
}

/// The programs, in order of their names. A runner that asks for one test by its full name gets by with one program.
fn sources(args: &Arguments) -> io::Result<Vec<PathBuf>> {
    let only = match &args.filter {
        Some(name) if args.exact => name.split_once("::").map(|(program, _)| program),
        _ => None,
    };
    let mut sources = Vec::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("c"))? {
        let path = entry?.path();
        let wanted = only.is_none_or(|program| *program == *stem(&path));
        if wanted && path.extension().is_some_and(|extension| extension == "c" || extension == "cc") {
            sources.push(path);
        }
    }
    sources.sort();
    Ok(sources)
}

fn stem(source: &Path) -> String {
    source.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// What building each source gave, in the same order.
fn build(workshop: &Arc<Workshop>, sources: &[PathBuf]) -> Vec<Result<Program, String>> {
    let next = AtomicUsize::new(0);
    let work = || {
        // Relaxed: only hands out numbers.
        let mut done = Vec::new();
        while let Some((i, source)) = Some(next.fetch_add(1, Relaxed)).and_then(|i| Some((i, sources.get(i)?))) {
            done.push((i, workshop.compile(source)));
        }
        done
    };
    let mut built: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..JOBS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a compiler thread panicked")).collect()
    });
    built.sort_by_key(|(i, _)| *i);
    built.into_iter().map(|(_, result)| result).collect()
}

/// The tests one program gives; one that fails where it could not be built.
fn offer(source: &Path, built: Result<Program, String>, fifo: bool) -> Vec<Trial> {
    let program = stem(source);
    let listed = built.and_then(|built| {
        let cases = built.cases()?;
        if cases.is_empty() { Err("it offers no case".to_owned()) } else { Ok((Arc::new(built), cases)) }
    });
    let (built, cases) = match listed {
        Ok(listed) => listed,
        Err(text) => {
            return vec![Trial::test(format!("{program}::builds"), move || Err(text.into()))];
        }
    };
    let mut trials = Vec::new();
    for case in cases {
        for &mode in case.modes.iter().filter(|&&mode| fifo || mode != Mode::Fifo) {
            let tag = match mode {
                Mode::Fifo => "fifo",
                Mode::User => "user",
                Mode::Lockstep => "lockstep",
            };
            let (built, name) = (built.clone(), case.name.clone());
            let run = move || run(&built, &name, mode);
            trials.push(Trial::ignorable_test(format!("{program}::{} [{tag}]", case.name), run));
        }
    }
    trials
}

fn run(program: &Program, case: &str, mode: Mode) -> Result<Completion, Failed> {
    // Runners that start one process a test may run several of us at once.
    let turn = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-programs.lock"))?;
    turn.lock()?;
    match program.run(case, mode) {
        Outcome::Passed => Ok(Completion::Completed),
        Outcome::Skipped(reason) => Ok(Completion::ignored_with(format!("SKIPPED: {reason}"))),
        Outcome::Failed(text) => Err(text.into()),
    }
}
