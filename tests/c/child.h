/*
 * Child processes for C tests. Include it after kit.h.
 *
 *     static void ticks_are_microseconds(void)
 *     {
 *         if (!rerun_with("ALCHEMY_CLOCK_RESOLUTION=1000"))
 *             return;
 *         ... in a fresh process that was started with this environment ...
 *     }
 */
#ifndef CHILD_H
#define CHILD_H

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Exit status of a child, or 256 + the signal that ended it. */
KIT_UNUSED static int child_status(pid_t pid)
{
	siginfo_t info;
	int status;

	/* A SCHED_FIFO task must not reap a child whose threads have priorities below its own: the last of them may still be
	 * on its way out of /proc, and the kernel spins until it is, on this CPU for ever. So it gives way before. */
	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0)
		CHECK_EQ(errno, EINTR);
	kit_nap(1000000);
	while (waitpid(pid, &status, 0) < 0)
		CHECK_EQ(errno, EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

/* ---- The same program once more ------------------------------------------------------------------------------- */

struct rerun {
	const char *environment[4]; /* "NAME=value" sets, "NAME" removes */
	const char *argument;       /* argv[1]; NULL: the running case */
	void (*prepare)(void);      /* called in the child before exec, may be NULL */
	char text[16384];           /* out: what it wrote to stderr */
};

/* Whether this process was started by rerun(). */
KIT_UNUSED static int rerunning(void)
{
	return getenv("KIT_RERUN") != NULL;
}

/* Becomes this program, in its beginning; comes back if that fails. */
KIT_UNUSED static void execute_again(const char *argument)
{
	const char *runner = getenv("KIT_RUNNER");
	char path[4096];
	ssize_t length;

	if (!runner) {
		execl("/proc/self/exe", "rerun", argument, (char *)NULL);
		return;
	}
	length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (length > 0) {
		path[length] = '\0';
		execlp(runner, runner, path, argument, (char *)NULL);
	}
}

/* Executes this program once more; returns what child_status() does. No fork handler of the library runs. */
KIT_UNUSED static int rerun(struct rerun *how)
{
	size_t used = 0, i;
	ssize_t got;
	int ends[2];
	pid_t pid;

	CHECK_EQ(pipe(ends), 0);
	fflush(stdout);
	pid = _Fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		setenv("KIT_RERUN", "1", 1);
		for (i = 0; i < sizeof(how->environment) / sizeof(how->environment[0]); i++) {
			if (!how->environment[i])
				continue;
			if (strchr(how->environment[i], '='))
				putenv((char *)(uintptr_t)how->environment[i]);
			else
				unsetenv(how->environment[i]);
		}
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		if (how->prepare)
			how->prepare();
		execute_again(how->argument ? how->argument : kit_name);
		_exit(127);
	}
	close(ends[1]);
	while ((got = read(ends[0], how->text + used, sizeof(how->text) - 1 - used)) != 0) {
		if (got > 0)
			used += (size_t)got;
		else
			CHECK_EQ(errno, EINTR);
	}
	how->text[used] = '\0';
	close(ends[0]);
	return child_status(pid);
}

/* Runs the case once more; the new process must pass or skip, and so does this one. */
KIT_UNUSED static void rerun_passes(struct rerun *how)
{
	int status = rerun(how);

	if (status != 0)
		fputs(how->text, stderr);
	if (status == KIT_EXIT_SKIPPED)
		_exit(KIT_EXIT_SKIPPED);
	CHECK_EQ(status, 0);
}

/* True in a process started with that variable; elsewhere starts one, which must pass. */
KIT_UNUSED static int rerun_with(const char *variable)
{
	struct rerun how;

	if (rerunning())
		return 1;
	memset(&how, 0, sizeof(how));
	how.environment[0] = variable;
	rerun_passes(&how);
	return 0;
}

/* ---- Fewer rights, for `prepare` ------------------------------------------------------------------------------ */

/* Takes a capability away for good, exec included. Without effect on those who never had it. */
KIT_UNUSED static void drop_capability(int capability)
{
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[2];
	unsigned bit = 1U << (capability % 32);

	memset(&header, 0, sizeof(header));
	header.version = _LINUX_CAPABILITY_VERSION_3;
	prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
	if (syscall(SYS_capget, &header, data) != 0)
		return;
	data[capability / 32].inheritable &= ~bit;
	data[capability / 32].permitted &= ~bit;
	data[capability / 32].effective &= ~bit;
	syscall(SYS_capset, &header, data);
}

/* Lowers a soft limit; the hard one too if `hard`. */
KIT_UNUSED static void set_limit(__rlimit_resource_t resource, rlim_t value, int hard)
{
	struct rlimit limit;

	CHECK_EQ(getrlimit(resource, &limit), 0);
	if (limit.rlim_max != RLIM_INFINITY && value > limit.rlim_max)
		value = limit.rlim_max;
	limit.rlim_cur = value;
	if (hard)
		limit.rlim_max = value;
	CHECK_EQ(setrlimit(resource, &limit), 0);
}

/* For cases about address space and locked memory: sanitizers need more than such limits leave. */
KIT_UNUSED static void no_sanitizer(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	SKIP("does not fit beside a sanitizer");
#endif
}

/* For cases that end a task while it computes: beside a sanitizer the library is linked statically, where nothing tells its code
 * from the program's. */
KIT_UNUSED static void needs_shared_library(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	SKIP("linked statically: a task that computes is not ended");
#endif
}

/* For cases about signals: the thread sanitizer holds them back while a thread waits in a system call that it does not know,
 * and has handlers of its own. */
KIT_UNUSED static void no_held_back_signals(void)
{
#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer holds signals back");
#endif
}

/* For cases that make threads in the child of a fork, or look for the last thread of a process. */
KIT_UNUSED static void no_thread_sanitizer(void)
{
#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer knows no threads after a fork, and has one of its own");
#endif
}

/* No SCHED_FIFO after exec. */
KIT_UNUSED static void no_fifo(void)
{
	set_limit(RLIMIT_RTPRIO, 0, 1);
	drop_capability(CAP_SYS_NICE);
}

/* At most `bytes` of locked memory after exec. */
KIT_UNUSED static void lock_at_most(rlim_t bytes)
{
	set_limit(RLIMIT_MEMLOCK, bytes, 1);
	drop_capability(CAP_IPC_LOCK);
}

/* ---- Forked children ------------------------------------------------------------------------------------------ */

/* Runs `run(arg)` in a forked child; returns what child_status() does, 0 if it came back. */
KIT_UNUSED static int in_child(void (*run)(void *), void *arg)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		kit_watch(); /* timers are not inherited */
		run(arg);
		_exit(0);
	}
	return child_status(pid);
}

#endif /* CHILD_H */
