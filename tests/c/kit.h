/*
 * Kit for C tests: a table of cases, checks, ordered marks, a watchdog. Include it first.
 *
 *     #include "kit.h"
 *     #include <alchemy/sem.h>
 *
 *     static void post_adds_a_unit(void) { ... CHECK_EQ(rt_sem_v(&sem), 0); ... }
 *     static void waiter_preempts_poster(void) { ... expect_marks("wait post woken"); }
 *
 *     KIT_CASES(CASE(post_adds_a_unit), CASE_FIFO(waiter_preempts_poster))
 *
 * `prog --list` prints one case a line ("name"; "name fifo" where base priorities must decide who runs, be it by SCHED_FIFO or in
 * lockstep; "name kernel" where it must be by SCHED_FIFO); `prog NAME` runs one case in this process. Exit status: 0 passed, 1 failed (text on stderr), 77 skipped ("SKIPPED: reason" on stdout).
 *
 * A case runs on the initial thread, SCHED_OTHER, pinned to one CPU (0 if allowed). Threads inherit the pin: a
 * SCHED_FIFO task started from here runs before the start returns, so the order of marks is fully determined.
 * Give helpers no priority they do not need, and let every task end before the case returns.
 *
 * Checks may fail in any thread: the process ends at once, without running exit hooks.
 *
 * Define KIT_NO_ALCHEMY before including to leave <alchemy/task.h> and what needs it out (native/ tests),
 * KIT_SECONDS to change the watchdog's limit (60; the environment variable of that name wins), KIT_STORM where tasks of
 * several priorities contend for long: the thread sanitizer's own locks spin, for ever if who spins keeps the CPU from the
 * task that holds one, so such cases do not run beside it under SCHED_FIFO.
 */
#ifndef KIT_H
#define KIT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef KIT_NO_ALCHEMY
#include <alchemy/task.h>
#endif

#ifndef KIT_SECONDS
#define KIT_SECONDS 60
#endif

#define KIT_UNUSED __attribute__((unused))
#define KIT_EXIT_SKIPPED 77

/* ---- Cases ---------------------------------------------------------------------------------------------------- */

enum kit_tag { runs_anywhere, needs_fifo, needs_kernel };

struct kit_case {
	const char *name;
	void (*run)(void);
	enum kit_tag tag;
};

/* A case named like its function. CASE_FIFO: only where base priorities decide who runs: under SCHED_FIFO, and in lockstep (see
 * <alchemy-test.h>). CASE_KERNEL: only under SCHED_FIFO; it looks at what the kernel does, or its tasks compute or wait elsewhere. */
#define CASE(function) { #function, function, runs_anywhere }
#define CASE_FIFO(function) { #function, function, needs_fifo }
#define CASE_KERNEL(function) { #function, function, needs_kernel }

/* The table, and main. Entries: CASE(f), CASE_FIFO(f), CASE_KERNEL(f) or { "name", f, tag }. */
#define KIT_CASES(...) \
	static const struct kit_case kit_cases[] = { __VA_ARGS__ }; \
	int main(int argc, char *argv[]) \
	{ \
		return kit_main(argc, argv, kit_cases, sizeof(kit_cases) / sizeof(kit_cases[0])); \
	}

/* ---- Checks --------------------------------------------------------------------------------------------------- */

/* `cond` holds, or the case fails. */
#define CHECK(cond) \
	do { \
		if (!(cond)) \
			kit_fail(__FILE__, __LINE__, "CHECK(%s)", #cond); \
	} while (0)

/* Integers of any type, compared as long long; negative errno values are printed by name. */
#define CHECK_EQ(got, want) kit_check_eq(__FILE__, __LINE__, #got, (long long)(got), #want, (long long)(want))

/* NUL-terminated strings. */
#define CHECK_STR(got, want) kit_check_str(__FILE__, __LINE__, #got, (got), #want, (want))

/* `size` bytes are equal: for "the descriptor is untouched". */
#define CHECK_SAME_BYTES(got, want, size) \
	do { \
		if (memcmp((got), (want), (size)) != 0) \
			kit_fail(__FILE__, __LINE__, "%s differs from %s", #got, #want); \
	} while (0)

/* The marks left so far, in order, are exactly the space-separated `list`. */
#define expect_marks(list) kit_expect_marks(__FILE__, __LINE__, (list))

/* Ends the case as skipped; the reason is shown. */
#define SKIP(...) \
	do { \
		printf("SKIPPED: "); \
		printf(__VA_ARGS__); \
		printf("\n"); \
		fflush(stdout); \
		_exit(KIT_EXIT_SKIPPED); \
	} while (0)

/* Waits until `cond` holds, looking every millisecond. For a state that is about to be reached (a task blocks), never
 * as a stand-in for an order of events. The watchdog bounds it. */
#define until(cond) \
	do { \
		while (!(cond)) \
			kit_nap(1000000); \
	} while (0)

/* ---- Marks ---------------------------------------------------------------------------------------------------- */

#define KIT_MARKS 256
#define KIT_MARK_LEN 24

struct kit_mark {
	char text[KIT_MARK_LEN];
	int written; /* stored with release after the text */
};

static struct kit_mark kit_marks[KIT_MARKS];
static int kit_mark_count;
static const char *kit_name = "?";
static int kit_fifo_usable;
static cpu_set_t kit_cpus;

/* Space-separated marks into `list`; async-signal-safe. */
KIT_UNUSED static void kit_join_marks(char *list, size_t size)
{
	size_t used = 0;
	int i, count = __atomic_load_n(&kit_mark_count, __ATOMIC_ACQUIRE);

	for (i = 0; i < count && i < KIT_MARKS; i++) {
		const char *text = __atomic_load_n(&kit_marks[i].written, __ATOMIC_ACQUIRE) ? kit_marks[i].text : "(unwritten)";

		if (i > 0 && used + 1 < size)
			list[used++] = ' ';
		while (*text && used + 1 < size)
			list[used++] = *text++;
	}
	list[used] = '\0';
}

__attribute__((noreturn, format(printf, 3, 4), unused))
static void kit_fail(const char *file, int line, const char *format, ...)
{
	char list[KIT_MARKS * KIT_MARK_LEN];
	va_list arguments;

	/* A task that is being deleted must not end in here: nobody would hear of the failure. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	fflush(stdout);
	fprintf(stderr, "%s:%d: case %s: ", file, line, kit_name);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	kit_join_marks(list, sizeof(list));
	if (list[0])
		fprintf(stderr, "marks so far: %s\n", list);
	_exit(1);
}

/* Appends a mark (up to 23 characters, no spaces); any thread, no lock, no system call. */
KIT_UNUSED static void mark(const char *text)
{
	int i = __atomic_fetch_add(&kit_mark_count, 1, __ATOMIC_ACQ_REL);
	size_t used = 0;

	if (i >= KIT_MARKS)
		kit_fail(__FILE__, __LINE__, "more than %d marks", KIT_MARKS);
	while (text[used] && used + 1 < KIT_MARK_LEN) {
		kit_marks[i].text[used] = text[used];
		used++;
	}
	kit_marks[i].text[used] = '\0';
	__atomic_store_n(&kit_marks[i].written, 1, __ATOMIC_RELEASE);
}

/* How many marks there are, up to the first that is still being written: `until(mark_count() == n)` lets others leave
 * theirs where SCHED_FIFO does not order them. */
KIT_UNUSED static int mark_count(void)
{
	int i = 0;

	while (i < KIT_MARKS && __atomic_load_n(&kit_marks[i].written, __ATOMIC_ACQUIRE))
		i++;
	return i;
}

/* Forgets the marks; only while no other thread leaves any. */
KIT_UNUSED static void clear_marks(void)
{
	int i;

	for (i = 0; i < KIT_MARKS; i++)
		__atomic_store_n(&kit_marks[i].written, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&kit_mark_count, 0, __ATOMIC_RELEASE);
}

KIT_UNUSED static void kit_expect_marks(const char *file, int line, const char *want)
{
	char list[KIT_MARKS * KIT_MARK_LEN];

	kit_join_marks(list, sizeof(list));
	if (strcmp(list, want) != 0)
		kit_fail(file, line, "order of events\n  got:  %s\n  want: %s", list, want);
}

/* ---- Values --------------------------------------------------------------------------------------------------- */

/* The name of a negated errno this API uses, or "". */
KIT_UNUSED static const char *kit_errno_name(long long value)
{
	switch (value) {
	case -EPERM: return " (-EPERM)";
	case -ESRCH: return " (-ESRCH)";
	case -EINTR: return " (-EINTR)";
	case -ENXIO: return " (-ENXIO)";
	case -EAGAIN: return " (-EWOULDBLOCK)";
	case -ENOMEM: return " (-ENOMEM)";
	case -EFAULT: return " (-EFAULT)";
	case -EBUSY: return " (-EBUSY)";
	case -EEXIST: return " (-EEXIST)";
	case -ENODEV: return " (-ENODEV)";
	case -EINVAL: return " (-EINVAL)";
	case -EPIPE: return " (-EPIPE)";
	case -EDEADLK: return " (-EDEADLK)";
	case -ENOSYS: return " (-ENOSYS)";
	case -EIDRM: return " (-EIDRM)";
	case -ENOBUFS: return " (-ENOBUFS)";
	case -ECONNRESET: return " (-ECONNRESET)";
	case -ETIMEDOUT: return " (-ETIMEDOUT)";
	case -EOWNERDEAD: return " (-EOWNERDEAD)";
	default: return "";
	}
}

KIT_UNUSED static void kit_check_eq(const char *file, int line, const char *got_text, long long got,
				    const char *want_text, long long want)
{
	if (got != want)
		kit_fail(file, line, "CHECK_EQ(%s, %s)\n  got:  %lld%s\n  want: %lld%s", got_text, want_text, got,
			 kit_errno_name(got), want, kit_errno_name(want));
}

KIT_UNUSED static void kit_check_str(const char *file, int line, const char *got_text, const char *got,
				     const char *want_text, const char *want)
{
	if (!got || !want || strcmp(got, want) != 0)
		kit_fail(file, line, "CHECK_STR(%s, %s)\n  got:  \"%s\"\n  want: \"%s\"", got_text, want_text,
			 got ? got : "(null)", want ? want : "(null)");
}

/* ---- Time and threads ----------------------------------------------------------------------------------------- */

/* CLOCK_MONOTONIC in nanoseconds. */
KIT_UNUSED static long long kit_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Whether the library lets one task at a time run, by base priority: see <alchemy-test.h>. */
KIT_UNUSED static int kit_lockstep(void)
{
	return getenv("ALCHEMY_LOCKSTEP") != NULL;
}

/* Sleeps about `ns`, on any thread, without the library; but in lockstep a task would keep the others from running. */
KIT_UNUSED static void kit_nap(long long ns)
{
	struct timespec delay;

#ifndef KIT_NO_ALCHEMY
	if (kit_lockstep() && rt_task_self()) {
		rt_task_sleep((RTIME)ns);
		return;
	}
#endif
	delay.tv_sec = ns / 1000000000LL;
	delay.tv_nsec = ns % 1000000000LL;
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &delay, &delay) == EINTR)
		;
}

/* Whether base priorities decide who runs: this process may use SCHED_FIFO, or is in lockstep. */
KIT_UNUSED static int kit_fifo(void)
{
	return kit_fifo_usable;
}

struct kit_call {
	void (*run)(void *arg);
	void *arg;
};

KIT_UNUSED static void *kit_thread_body(void *call_)
{
	struct kit_call *call = (struct kit_call *)call_;

	call->run(call->arg);
	return NULL;
}

/* Runs `run(arg)` in a plain thread (no Alchemy task, SCHED_OTHER) and joins it. */
KIT_UNUSED static void kit_plain(void (*run)(void *), void *arg)
{
	struct kit_call call;
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	call.run = run;
	call.arg = arg;
	pthread_attr_init(&attr);
	/* Small: where memory is locked, all of it counts against RLIMIT_MEMLOCK. */
	pthread_attr_setstacksize(&attr, 256 * 1024);
	error = pthread_create(&thread, &attr, kit_thread_body, &call);
	pthread_attr_destroy(&attr);
	if (error)
		kit_fail(__FILE__, __LINE__, "pthread_create: %s", strerror(error));
	pthread_join(thread, NULL);
}

/* Undoes the pin for the calling thread and those it creates from now on: for stress, where order does not matter. */
KIT_UNUSED static void kit_unpin(void)
{
	if (sched_setaffinity(0, sizeof(kit_cpus), &kit_cpus) != 0)
		kit_fail(__FILE__, __LINE__, "cannot unpin: %s", strerror(errno));
}

#ifndef KIT_NO_ALCHEMY
/* The run state and flags of a live task. */
KIT_UNUSED static unsigned kit_status(RT_TASK *task)
{
	RT_TASK_INFO info;

	CHECK_EQ(rt_task_inquire(task, &info), 0);
	return info.stat.status;
}

/* Whether `task` sleeps in a service of the library: WAIT, TIMEDWAIT or DELAYED. */
KIT_UNUSED static int kit_blocked(RT_TASK *task)
{
	return (kit_status(task) & (0x20000 | 0x40000 | 0x80000)) != 0;
}

/* An unnamed joinable task, started. */
KIT_UNUSED static void kit_spawn(RT_TASK *task, int prio, void (*body)(void *), void *arg)
{
	CHECK_EQ(rt_task_spawn(task, NULL, 0, prio, T_JOINABLE, body, arg), 0);
}

/* kit_spawn, then waits until the task sleeps in the library; its body must do so. */
KIT_UNUSED static void kit_spawn_blocked(RT_TASK *task, int prio, void (*body)(void *), void *arg)
{
	kit_spawn(task, prio, body, arg);
	until(kit_blocked(task));
}

/* Waits until the task has ended. */
KIT_UNUSED static void kit_join(RT_TASK *task)
{
	CHECK_EQ(rt_task_join(task), 0);
}

#define KIT_BOSS_PRIO 50

/* Runs `body(NULL)` in a task of priority 50 and waits for its end. Under SCHED_FIFO no task of lower priority runs
 * between two steps of the boss, unless it blocks: what it does to a waiter happens before that waiter can react. */
KIT_UNUSED static void kit_boss(void (*body)(void *))
{
	RT_TASK task;

	kit_spawn(&task, KIT_BOSS_PRIO, body, NULL);
	kit_join(&task);
}
#endif

/* ---- Watchdog and main ---------------------------------------------------------------------------------------- */

/* Not SIGALRM: programs under test use that. Nothing uses this one. */
#define KIT_WATCHDOG_SIGNAL SIGVTALRM

KIT_UNUSED static void kit_write(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(1);
}

KIT_UNUSED static void kit_hung(int signal)
{
	/* Static: the thread it hits may have a small stack. */
	static char list[KIT_MARKS * KIT_MARK_LEN];

	(void)signal;
	kit_write("watchdog: case ");
	kit_write(kit_name);
	kit_write(" hung; marks: ");
	kit_join_marks(list, sizeof(list));
	kit_write(list);
	kit_write("\n");
	_exit(1);
}

/* A timer signal to the process: it reaches the initial thread even blocked, or another thread if that one is gone
 * or keeps the signal blocked. The driver has a second, longer limit. */
KIT_UNUSED static void kit_watch(void)
{
	const char *seconds = getenv("KIT_SECONDS");
	struct sigaction action;
	struct sigevent event;
	struct itimerspec limit;
	timer_t timer;
	sigset_t set;

	memset(&action, 0, sizeof(action));
	action.sa_handler = kit_hung;
	sigfillset(&action.sa_mask);
	sigaction(KIT_WATCHDOG_SIGNAL, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, KIT_WATCHDOG_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = KIT_WATCHDOG_SIGNAL;
	memset(&limit, 0, sizeof(limit));
	limit.it_value.tv_sec = seconds ? atoi(seconds) : KIT_SECONDS;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &limit, NULL) != 0)
		kit_fail(__FILE__, __LINE__, "no watchdog: %s", strerror(errno));
}

/* Pins the process to CPU 0, or to the first it may use. */
KIT_UNUSED static void kit_pin(void)
{
	cpu_set_t one;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(kit_cpus), &kit_cpus) != 0)
		kit_fail(__FILE__, __LINE__, "no affinity: %s", strerror(errno));
	while (!CPU_ISSET(cpu, &kit_cpus))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		kit_fail(__FILE__, __LINE__, "cannot pin to CPU %d: %s", cpu, strerror(errno));
}

KIT_UNUSED static void kit_probe_fifo(void)
{
	struct sched_param fifo, other;

	memset(&fifo, 0, sizeof(fifo));
	memset(&other, 0, sizeof(other));
	fifo.sched_priority = 99;
	kit_fifo_usable = kit_lockstep() || pthread_setschedparam(pthread_self(), SCHED_FIFO, &fifo) == 0;
	if (pthread_setschedparam(pthread_self(), SCHED_OTHER, &other) != 0)
		kit_fail(__FILE__, __LINE__, "cannot go back to SCHED_OTHER");
}

KIT_UNUSED static int kit_main(int argc, char *argv[], const struct kit_case *cases, size_t count)
{
	static const char *const tags[] = { "", " fifo", " kernel" };
	size_t i;

	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		for (i = 0; i < count; i++)
			printf("%s%s\n", cases[i].name, tags[cases[i].tag]);
		return 0;
	}
	for (i = 0; argc >= 2 && i < count; i++) {
		if (strcmp(argv[1], cases[i].name) != 0)
			continue;
		kit_name = cases[i].name;
		kit_pin();
		kit_watch();
		kit_probe_fifo();
		if (cases[i].tag != runs_anywhere && !kit_fifo())
			SKIP("no SCHED_FIFO for this process");
		if (cases[i].tag == needs_kernel && kit_lockstep())
			SKIP("not in lockstep");
#if defined(KIT_STORM) && defined(__SANITIZE_THREAD__)
		if (kit_fifo() && !kit_lockstep())
			SKIP("the thread sanitizer's locks spin at real priorities");
#endif
		cases[i].run();
		return 0;
	}
	fprintf(stderr, "usage: %s --list | NAME\n", argv[0]);
	return 2;
}

#endif /* KIT_H */
