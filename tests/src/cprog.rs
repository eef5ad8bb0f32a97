//! C programs as tests: compile one against `include/` and the built library, list its cases, run one case.
//!
//! The programs follow the protocol of `c/kit.h`: `--list`, exit status 0, 1 or 77. The environment may replace what
//! they are linked with, for sanitizer builds:
//!
//! | variable | meaning |
//! |---|---|
//! | `ALCHEMY_TEST_LIB` | a `libalchemy.a` to link statically, or another `.so`; default: the one cargo has just built |
//! | `ALCHEMY_TEST_CFLAGS` | further compiler flags, separated by blanks (`-fsanitize=thread`) |
//! | `KIT_RUNNER` | a program that runs those of another machine (`qemu-aarch64`); the programs read it too |
//! | `KIT_SECONDS` | limit of one case; the programs read it too |

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use cc::Tool;

/// Warnings that must not occur, in test programs and in the headers they include.
const FLAGS: [&str; 6] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-O1"];

/// What a static `libalchemy.a` needs (`rustc --print native-static-libs`).
const STATIC_LIBS: [&str; 7] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];

/// `nobody`, the user without any privilege.
const NOBODY: u32 = 65534;

/// The lockable memory systems commonly grant to users.
const USER_MEMLOCK: libc::rlim_t = 8 << 20;

/// The exit status of a case that cannot run here.
const SKIPPED: i32 = 77;

/// The rights a case runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As this process runs, which may use `SCHED_FIFO`.
    Fifo,
    /// As an ordinary user: no real-time priorities, 8 MiB of lockable memory.
    User,
    /// As an ordinary user, with the library in lockstep: one task at a time runs, by base priority.
    Lockstep,
}

/// How a case ended.
#[derive(Debug)]
pub enum Outcome {
    /// It held.
    Passed,
    /// It cannot run here, for this reason.
    Skipped(String),
    /// It did not hold; the program's output and its end.
    Failed(String),
}

/// One case of a program.
#[derive(Clone, Debug)]
pub struct Case {
    /// As the program knows it.
    pub name: String,
    /// What it is meaningful under.
    pub modes: &'static [Mode],
}

/// Whether a test program is C++.
pub fn is_cxx(source: &Path) -> bool {
    source.extension().is_some_and(|extension| extension == "cc")
}

/// The compiler that the target's programs are built with.
fn compiler(cxx: bool) -> Result<Tool, cc::Error> {
    cc::Build::new()
        .cpp(cxx)
        .opt_level(1)
        .debug(true)
        .cargo_metadata(false)
        .host(env!("HOST_TRIPLE"))
        .target(env!("TARGET_TRIPLE"))
        .try_get_compiler()
}

/// Whether there is a compiler for C++.
pub fn cxx_usable() -> bool {
    compiler(true)
        .is_ok_and(|tool| tool.to_command().arg("--version").output().is_ok_and(|output| output.status.success()))
}

/// Whether a thread of this process may use `SCHED_FIFO`.
pub fn fifo_usable() -> bool {
    let probe = std::thread::spawn(|| {
        let param = libc::sched_param { sched_priority: 99 };
        // SAFETY: `param` outlives the call; pid 0 is the calling thread, which ends right after.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &param) == 0 }
    });
    probe.join().unwrap_or(false)
}

/// A directory with the library in it, where programs are built and run. Removed when dropped.
#[derive(Debug)]
pub struct Workshop {
    dir: PathBuf,
    library: PathBuf,
    runs: AtomicU32,
}

impl Workshop {
    /// Makes the directory, readable for every user, and puts the library there.
    pub fn new() -> io::Result<Self> {
        let library = match std::env::var_os("ALCHEMY_TEST_LIB") {
            Some(path) => PathBuf::from(path),
            None => std::env::current_exe()?.with_file_name("libalchemy.so"),
        };
        if !library.exists() {
            return Err(io::Error::other(format!("no library at {}", library.display())));
        }
        let dir = std::env::temp_dir().join(format!("alchemy-tests-{}", std::process::id()));
        fs::create_dir(&dir)?;
        let workshop = Self { dir, library, runs: AtomicU32::new(0) };
        fs::set_permissions(&workshop.dir, Permissions::from_mode(0o755))?;
        if !workshop.is_static() {
            // A copy and no link: the target directory may be closed to the user of `Mode::User`.
            let copy = workshop.dir.join("libalchemy.so.0");
            fs::copy(&workshop.library, &copy)?;
            fs::set_permissions(&copy, Permissions::from_mode(0o755))?;
        }
        Ok(workshop)
    }

    fn is_static(&self) -> bool {
        self.library.extension().is_some_and(|extension| extension == "a")
    }

    /// Compiles and links one source file, C or C++; the error is the compiler's text.
    pub fn compile(self: &Arc<Self>, source: &Path) -> Result<Program, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let exe = self.dir.join(source.file_stem().unwrap_or_default());
        let cxx = is_cxx(source);
        let mut command = compiler(cxx).map_err(|error| error.to_string())?.to_command();
        command.arg(if cxx { "-std=gnu++17" } else { "-std=gnu11" });
        command.args(FLAGS).arg("-I").arg(root.join("../include"));
        if let Ok(flags) = std::env::var("ALCHEMY_TEST_CFLAGS") {
            command.args(flags.split_whitespace());
        }
        command.arg(source).arg("-o").arg(&exe);
        if self.is_static() {
            command.arg(&self.library).args(STATIC_LIBS);
        } else {
            command.arg(self.dir.join("libalchemy.so.0")).arg("-lpthread");
            command.arg(format!("-Wl,-rpath,{}", self.dir.display()));
        }
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        if output.status.success() {
            Ok(Program { workshop: self.clone(), exe })
        } else {
            Err(format!("{}:\n{}", source.display(), String::from_utf8_lossy(&output.stderr)))
        }
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // Left-overs in the temporary directory hurt nobody.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// A compiled test program.
#[derive(Debug)]
pub struct Program {
    workshop: Arc<Workshop>,
    exe: PathBuf,
}

impl Program {
    fn command(&self) -> Command {
        match std::env::var_os("KIT_RUNNER") {
            None => Command::new(&self.exe),
            Some(runner) => {
                let mut command = Command::new(runner);
                command.arg(&self.exe);
                command
            }
        }
    }

    /// The cases it offers.
    pub fn cases(&self) -> Result<Vec<Case>, String> {
        let output =
            self.command().arg("--list").env_remove("LD_LIBRARY_PATH").output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("--list: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
        }
        let cases = String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(|line| match line.split_once(' ') {
                Some((name, "fifo")) => (name, &[Mode::Fifo, Mode::Lockstep][..]),
                Some((name, _)) => (name, &[Mode::Fifo][..]),
                None => (line, &[Mode::Fifo, Mode::User][..]),
            })
            .map(|(name, modes)| Case { name: name.to_owned(), modes })
            .collect();
        Ok(cases)
    }

    /// Runs one case in a process of its own.
    pub fn run(&self, case: &str, mode: Mode) -> Outcome {
        self.judged(Some(case), mode)
    }

    /// Runs a program that has no cases.
    pub fn run_whole(&self, mode: Mode) -> Outcome {
        self.judged(None, mode)
    }

    fn judged(&self, case: Option<&str>, mode: Mode) -> Outcome {
        match self.try_run(case, mode) {
            Ok(outcome) => outcome,
            Err(error) => Outcome::Failed(format!("cannot run {}: {error}", self.exe.display())),
        }
    }

    fn try_run(&self, case: Option<&str>, mode: Mode) -> io::Result<Outcome> {
        // A file takes the output of both streams in order, and no process left behind can hold it open against us.
        let run = self.workshop.runs.fetch_add(1, Relaxed);
        let log = self.workshop.dir.join(format!("log-{run}"));
        let out = File::create(&log)?;
        let mut command = self.command();
        command
            .args(case)
            .current_dir(&self.workshop.dir)
            // Cargo's would come before the program's own path to the library.
            .env_remove("LD_LIBRARY_PATH")
            .process_group(0)
            .stdin(Stdio::null())
            .stderr(out.try_clone()?)
            .stdout(out);
        if mode == Mode::Lockstep {
            command.env("ALCHEMY_LOCKSTEP", "1");
        }
        if mode != Mode::Fifo {
            drop_privileges(&mut command);
        }
        let ended = wait(command.spawn()?, limit())?;
        let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        fs::remove_file(&log)?;
        Ok(judge(ended, text))
    }
}

fn judge(ended: Option<ExitStatus>, text: String) -> Outcome {
    match ended {
        None => Outcome::Failed(format!("{text}killed: it outlived its own watchdog")),
        Some(status) if status.success() => Outcome::Passed,
        Some(status) if status.code() == Some(SKIPPED) => {
            let reason = text.lines().find_map(|line| line.strip_prefix("SKIPPED: "));
            Outcome::Skipped(reason.unwrap_or("no reason given").to_owned())
        }
        Some(status) => {
            let end = match status.signal() {
                Some(signal) => format!("ended by signal {signal}"),
                None => format!("exit status {}", status.code().unwrap_or(-1)),
            };
            Outcome::Failed(format!("{text}{end}"))
        }
    }
}

/// Past the program's own watchdog, which says more.
fn limit() -> Duration {
    let seconds = std::env::var("KIT_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(60) + 10)
}

/// Waits for the end, `None` if it had to be killed (with the processes it started).
fn wait(mut child: Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    // SAFETY: the child leads a process group of its own and is not reaped yet, so the number is still its own.
    unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL) };
    child.wait()?;
    Ok(None)
}

/// Makes the program run as an ordinary user, whoever runs the tests.
fn drop_privileges(command: &mut Command) {
    // SAFETY: reads a number.
    if unsafe { libc::geteuid() } == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    let lower = || {
        lower_limit(libc::RLIMIT_RTPRIO, 0)?;
        lower_limit(libc::RLIMIT_MEMLOCK, USER_MEMLOCK)
    };
    // SAFETY: the closure calls only getrlimit and setrlimit, which are plain system calls, and does not allocate.
    unsafe { command.pre_exec(lower) };
}

fn lower_limit(resource: libc::__rlimit_resource_t, most: libc::rlim_t) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for writing.
    if unsafe { libc::getrlimit(resource, &mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    limit.rlim_cur = limit.rlim_cur.min(most);
    limit.rlim_max = limit.rlim_max.min(most);
    // SAFETY: `limit` is valid for reading.
    match unsafe { libc::setrlimit(resource, &limit) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
