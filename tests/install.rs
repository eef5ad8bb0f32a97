//! What `make install` lays out is enough for the build systems of programs of all generations, and `make uninstall` removes it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PREFIX: &str = "/usr/xenomai";

/// In the manner of 3.x. Prints the version that it was compiled for.
const ALCHEMY: &str = r#"
#include <stdio.h>
#include <alchemy/task.h>
#include <alchemy/sem.h>
#include <xeno_config.h>
static RT_SEM sem;
static void body(void *arg) { (void)arg; rt_sem_v(&sem); }
int main(void)
{
	RT_TASK task;
	if (rt_sem_create(&sem, "sem", 0, S_PRIO)) return 1;
	if (rt_task_create(&task, "task", 0, 50, T_JOINABLE)) return 2;
	if (rt_task_start(&task, body, NULL)) return 3;
	if (rt_sem_p(&sem, TM_INFINITE) || rt_task_join(&task)) return 4;
	printf("%d.%d\n", CONFIG_XENO_VERSION_MAJOR, CONFIG_XENO_VERSION_MINOR);
	return 0;
}
"#;

/// In the manner of 2.x.
const NATIVE: &str = r#"
#include <native/task.h>
#include <native/sem.h>
#include <rtdk.h>
static RT_SEM sem;
static void body(void *arg) { (void)arg; rt_sem_v(&sem); }
int main(void)
{
	RT_TASK task;
	mlockall(MCL_CURRENT | MCL_FUTURE);
	rt_print_auto_init(1);
	if (rt_sem_create(&sem, "sem", 0, S_PRIO)) return 1;
	if (rt_task_create(&task, "task", 0, 50, T_FPU | T_CPU(0) | T_JOINABLE)) return 2;
	if (rt_task_start(&task, &body, NULL)) return 3;
	if (rt_sem_p(&sem, TM_INFINITE) || rt_task_join(&task)) return 4;
	rt_printf("%d.%d\n", CONFIG_XENO_VERSION_MAJOR, CONFIG_XENO_VERSION_MINOR);
	return 0;
}
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// An installation of its own, removed at the end.
struct Installed {
    dir: PathBuf,
}

impl Installed {
    fn new(name: &str) -> Installed {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("install-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let installed = Installed { dir };
        installed.make("install-built");
        installed
    }

    fn make(&self, target: &str) {
        let built = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
        let mut command = Command::new("make");
        command
            .arg("-C")
            .arg(root())
            .args([target, &format!("BUILT={}", built.display()), &format!("DESTDIR={}", self.dest().display())])
            .arg(format!("PREFIX={PREFIX}"));
        // Not a part of the make that runs the tests.
        for variable in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL"] {
            command.env_remove(variable);
        }
        good(&mut command);
    }

    fn dest(&self) -> PathBuf {
        self.dir.join("dest")
    }

    fn prefix(&self) -> PathBuf {
        self.dest().join(&PREFIX[1..])
    }

    fn lib(&self) -> PathBuf {
        self.prefix().join("lib")
    }

    fn config(&self, arguments: &[&str]) -> Output {
        let program = self.prefix().join("bin/xeno-config");
        Command::new(program).args(arguments).env("DESTDIR", self.dest()).output().unwrap()
    }

    /// The words of one answer of `xeno-config`.
    fn flags(&self, arguments: &[&str]) -> Vec<String> {
        let output = self.config(arguments);
        assert!(output.status.success(), "{arguments:?}");
        text(&output.stdout).split_whitespace().map(String::from).collect()
    }

    /// Compiles a program by a command line, in which `@` is the prefix and `SOURCE` the program, runs it, and returns its output.
    fn build_and_run(&self, source: &str, line: &[String]) -> String {
        let (file, program) = (self.dir.join("program.c"), self.dir.join("program"));
        fs::write(&file, source).unwrap();
        let prefix = self.prefix().display().to_string();
        let words = line.iter().map(|word| match word.as_str() {
            "SOURCE" => file.display().to_string(),
            word => word.replace('@', &prefix).replace("<at>", "@"),
        });
        let mut compiler = Command::new("cc");
        good(compiler.args(words).arg("-o").arg(&program));
        self.run(&program)
    }

    fn run(&self, program: &Path) -> String {
        let output = good(Command::new(program).env("LD_LIBRARY_PATH", self.lib()).env("ALCHEMY_SCHED", "other"));
        text(&output.stdout)
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn good(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}:\n{}{}", text(&output.stdout), text(&output.stderr));
    output
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}

fn files(dir: &Path, into: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        into.insert(entry.path());
        if entry.file_type().unwrap().is_dir() {
            files(&entry.path(), into);
        }
    }
}

/// setup.md 7: what build systems ask, and what programs of both generations are then built with.
#[test]
fn xeno_config_has_the_flags() {
    let installed = Installed::new("config");
    for (skin, source, version) in
        [("--skin=alchemy", ALCHEMY, "3.3\n"), ("--alchemy", ALCHEMY, "3.3\n"), ("--skin=native", NATIVE, "2.6\n")]
    {
        let mut line = installed.flags(&[skin, "--cflags"]);
        line.push("SOURCE".into());
        line.extend(installed.flags(&[skin, "--ldflags", "--no-auto-init"]));
        assert_eq!(installed.build_and_run(source, &line), version);
    }
    // As a Makefile of 2.4 does.
    let mut line = installed.flags(&["--xeno-cflags"]);
    line.push("SOURCE".into());
    line.extend(installed.flags(&["--xeno-ldflags"]));
    line.push("-lnative".into());
    assert_eq!(installed.build_and_run(NATIVE, &line), "2.6\n");
}

#[test]
fn xeno_config_answers() {
    let installed = Installed::new("answers");
    let answer = |arguments: &[&str]| {
        let output = installed.config(arguments);
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(answer(&["--version"]), (Some(0), "3.3\n".into(), String::new()));
    assert_eq!(answer(&["--prefix", "--core"]).1, format!("mercury\n{PREFIX}\n"));
    for option in ["--libdir", "--library-dir", "--user-libdir"] {
        assert_eq!(answer(&[option]).1, format!("{PREFIX}/lib\n"));
    }
    assert_eq!(answer(&["--skin=native", "--ldflags", "--cflags"]).1.lines().count(), 2);
    assert!(answer(&["--skin", "native", "--cflags"]).1.starts_with("-I"));
    assert_eq!(answer(&["--linux-dir"]), (Some(0), "\n".into(), String::new()));
    assert_eq!(answer(&["--info"]).1.lines().count(), 5);
    for arguments in [&[][..], &["--verbose"]] {
        let (status, dump, _) = answer(arguments);
        assert_eq!((status, dump.lines().next()), (Some(0), Some("xeno-config --verbose")));
        assert!(dump.contains("        --version=\"3.3\"\n"), "{dump}");
    }
    let (status, out, err) = answer(&["--help"]);
    assert!(status == Some(0) && out.is_empty() && err.contains("usage"));
    for wrong in [&["--nonsense"][..], &["--skin=vrtx", "--cflags"], &["--skin"], &["--cflags", "nonsense"]] {
        let (status, out, err) = answer(wrong);
        assert!(status == Some(1) && out.is_empty() && !err.is_empty(), "{wrong:?}: {out}");
    }
}

/// abi.md 5: link lines that Makefiles know by heart.
#[test]
fn hard_coded_link_lines_work() {
    let installed = Installed::new("lines");
    let lines = [
        (
            ALCHEMY,
            "-I@/include/mercury -I@/include -D_GNU_SOURCE -D_REENTRANT -D__MERCURY__ -I@/include/alchemy SOURCE \
            -Wl,--no-as-needed -lalchemy -lcopperplate -L@/lib -lmercury -lpthread -lrt",
        ),
        (
            ALCHEMY,
            "-I@/include/cobalt -I@/include -D_GNU_SOURCE -D_REENTRANT -D__COBALT__ -I@/include/alchemy SOURCE \
            -Wl,--no-as-needed -Wl,<at>@/lib/modechk.wrappers -lalchemy -lcopperplate -L@/lib -lcobalt -lmodechk -lpthread -lrt",
        ),
        (ALCHEMY, "-I@/include -L@/lib -lmercury SOURCE"),
        (
            NATIVE,
            "-I@/include -D_GNU_SOURCE -D_REENTRANT -D__XENO__ SOURCE -lnative -L@/lib -lxenomai -lrtdk -lpthread -lrt",
        ),
        (NATIVE, "-I@/include -L@/lib -lpthread -lnative -lrtdm SOURCE"),
        (NATIVE, "-Wl,--as-needed -I@/include -L@/lib -lnative -lxenomai SOURCE"),
        (NATIVE, "-I@/include SOURCE -L@/lib -Wl,<at>@/lib/posix.wrappers -lnative -lpthread_rt -lpthread -lrt"),
    ];
    for (source, line) in lines {
        let version = if source == NATIVE { "2.6\n" } else { "3.3\n" };
        assert_eq!(installed.build_and_run(source, &words(line)), version, "{line}");
    }
}

/// abi.md 4: executables that were linked against the original's libraries.
#[test]
fn old_executables_find_what_they_ask_for() {
    let installed = Installed::new("sonames");
    let originals = installed.dir.join("originals");
    fs::create_dir(&originals).unwrap();
    let (stand_in, program) = (installed.dir.join("stand-in.c"), installed.dir.join("program"));
    let functions = ["rt_sem_create", "rt_task_create", "rt_task_start", "rt_sem_p", "rt_sem_v", "rt_task_join"];
    let defined: String = functions.iter().map(|name| format!("void {name}(void) {{}}\n")).collect();
    fs::write(installed.dir.join("program.c"), ALCHEMY).unwrap();
    for sonames in
        [&["libalchemy.so.0", "libcopperplate.so.0", "libmercury.so.0"][..], &["libnative.so.3", "libxenomai.so.0"]]
    {
        let mut link = Command::new("cc");
        link.arg(installed.dir.join("program.c")).arg(format!("-I{}", installed.prefix().join("include").display()));
        link.arg("-o").arg(&program).arg("-Wl,--no-as-needed");
        for (number, soname) in sonames.iter().enumerate() {
            let library = originals.join(soname);
            fs::write(&stand_in, if number == 0 { defined.as_str() } else { "typedef int not_empty;\n" }).unwrap();
            let mut compiler = Command::new("cc");
            good(
                compiler
                    .args(["-shared", "-fPIC", &format!("-Wl,-soname,{soname}")])
                    .arg(&stand_in)
                    .arg("-o")
                    .arg(&library),
            );
            link.arg(&library);
        }
        good(&mut link);
        assert_eq!(installed.run(&program), "3.3\n", "{sonames:?}");
    }
}

#[test]
fn pkg_config_has_the_flags() {
    if Command::new("pkg-config").arg("--version").output().is_err() {
        println!("SKIPPED: no pkg-config");
        return;
    }
    let installed = Installed::new("pkg-config");
    for (name, source, version) in
        [("alchemy", ALCHEMY, "3.3\n"), ("xenomai-alchemy", ALCHEMY, "3.3\n"), ("libxenomai_native", NATIVE, "2.6\n")]
    {
        let mut pkg_config = Command::new("pkg-config");
        pkg_config
            .env("PKG_CONFIG_LIBDIR", installed.lib().join("pkgconfig"))
            .env("PKG_CONFIG_SYSROOT_DIR", installed.dest());
        let output = good(pkg_config.args(["--cflags", "--libs", name]));
        let mut line = vec!["SOURCE".to_string()];
        line.extend(words(&text(&output.stdout)));
        assert_eq!(installed.build_and_run(source, &line), version);
    }
}

#[test]
fn uninstall_removes_what_install_laid_out() {
    let installed = Installed::new("uninstall");
    let mut laid_out = BTreeSet::new();
    files(&installed.dest(), &mut laid_out);
    assert!(laid_out.contains(&installed.prefix().join("include/native/task.h")));
    let kept = installed.lib().join("somebody-elses");
    fs::write(&kept, "").unwrap();
    installed.make("uninstall");
    let mut left = BTreeSet::new();
    files(&installed.dest(), &mut left);
    let expected = [installed.dest().join("usr"), installed.prefix(), installed.lib(), kept.clone()];
    assert_eq!(left, BTreeSet::from(expected));
    fs::remove_file(&kept).unwrap();
    installed.make("uninstall");
    assert!(!installed.prefix().exists());
}
