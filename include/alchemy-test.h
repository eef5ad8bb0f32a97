/*
 * <alchemy-test.h> - a kit for regression tests of programs that use this API.
 * Include it first.
 *
 *     #include <alchemy-test.h>
 *     #include <alchemy/sem.h>
 *
 *     static RT_SEM sem;
 *
 *     static void consumer(void *arg)
 *     {
 *             at_check_eq(rt_sem_p(&sem, TM_INFINITE), 0);
 *             at_mark("consumed");
 *     }
 *
 *     static void consumer_preempts_producer(void)
 *     {
 *             RT_TASK task;
 *
 *             at_check_eq(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
 *             at_check_eq(rt_task_spawn(&task, NULL, 0, 10, T_JOINABLE, consumer, NULL), 0);
 *             at_mark("post");
 *             at_check_eq(rt_sem_v(&sem), 0);
 *             at_mark("posted");
 *             at_check_eq(rt_task_join(&task), 0);
 *             at_expect("post consumed posted");
 *     }
 *
 *     AT_CASES(AT_CASE(consumer_preempts_producer))
 *
 * The program then runs all its cases, each in a process of its own, and in two modes:
 *
 *   fifo      on one CPU, under SCHED_FIFO, as on a real-time target; skipped where the system does not permit that
 *   lockstep  without privileges, on any machine: the library lets one task at a time run, the ready one of the highest
 *             base priority. A task is preempted at calls of the library only. The thread that runs main() comes behind
 *             all tasks. A task that waits by other means than this library (read(), pthread_cond_wait(), a loop on
 *             a variable) keeps the others from running meanwhile.
 *
 * In both the order of events is determined by priorities alone: a test says what it expects, and does not sleep to get it.
 *
 *     prog                      all cases, a line each; what failing ones wrote; exit status 1 if one failed
 *     prog --list               the names
 *     prog NAME [MODE]          one case, in this process; exit status 0 passed, 1 failed, 77 skipped
 *
 * A case that does not end is ended after AT_SECONDS (define it before including, or set the environment variable; 20).
 *
 * Checks may fail in any thread. The process ends then at once, without running exit handlers.
 */
#ifndef _ALCHEMY_TEST_H
#define _ALCHEMY_TEST_H

/* Variadic macros, whatever the dialect of the program. */
#pragma GCC system_header

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef AT_SECONDS
#define AT_SECONDS 20
#endif

#define AT_UNUSED __attribute__((unused))

/* ---- Cases ------------------------------------------------------------------------------------------------------------ */

struct at_case {
	const char *name;
	void (*run)(void);
	int modes;
};

#define AT_FIFO 1
#define AT_LOCKSTEP 2

/** A case named like its function, in both modes. */
#define AT_CASE(function) { #function, function, AT_FIFO | AT_LOCKSTEP }
/** A case in one mode only: AT_FIFO or AT_LOCKSTEP. */
#define AT_CASE_IN(function, mode) { #function, function, mode }

/** The table of cases, and main(). */
#define AT_CASES(...)                                                                                                     \
	static const struct at_case at_cases[] = { __VA_ARGS__ };                                                         \
	int main(int argc, char *argv[])                                                                                  \
	{                                                                                                                 \
		return at_main(argc, argv, at_cases, sizeof(at_cases) / sizeof(at_cases[0]));                              \
	}

/* ---- Checks ----------------------------------------------------------------------------------------------------------- */

/** The case fails unless @a cond holds. */
#define at_check(cond)                                                                                                    \
	do {                                                                                                              \
		if (!(cond))                                                                                              \
			at_fail(__FILE__, __LINE__, "at_check(%s)", #cond);                                                \
	} while (0)

/** The case fails unless two integers are equal, whatever their types. */
#define at_check_eq(got, want) at_compare(__FILE__, __LINE__, #got, (long long)(got), #want, (long long)(want))

/** The case fails unless the marks so far, in order, are those of this list, with one space between two. */
#define at_expect(list) at_compare_marks(__FILE__, __LINE__, (list))

/** Ends the case as skipped; the reason is shown. */
#define at_skip(reason)                                                                                                   \
	do {                                                                                                              \
		printf("SKIPPED: %s\n", reason);                                                                          \
		fflush(stdout);                                                                                           \
		_exit(77);                                                                                                \
	} while (0)

/* ---- Marks ------------------------------------------------------------------------------------------------------------ */

#define AT_MARKS 1024
#define AT_MARK_LEN 32

struct at_mark {
	char text[AT_MARK_LEN];
	int written; /* stored with release after the text */
};

static struct at_mark at_marks[AT_MARKS];
static int at_mark_count;
static const char *at_name = "?";
static int at_limit;

AT_UNUSED static void at_join_marks(char *list, size_t size)
{
	int i, count = __atomic_load_n(&at_mark_count, __ATOMIC_ACQUIRE);
	size_t used = 0;

	list[0] = '\0';
	for (i = 0; i < count && i < AT_MARKS; i++) {
		const char *text = __atomic_load_n(&at_marks[i].written, __ATOMIC_ACQUIRE) ? at_marks[i].text : "?";
		size_t length = strlen(text);

		if (used + length + 2 > size)
			break;
		if (used)
			list[used++] = ' ';
		memcpy(list + used, text, length + 1);
		used += length;
	}
}

AT_UNUSED static void at_write(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(1);
}

AT_UNUSED __attribute__((format(printf, 3, 4))) static void at_fail(const char *file, int line, const char *format, ...)
{
	static char text[1024], list[AT_MARKS * AT_MARK_LEN];
	va_list args;
	int used;

	used = snprintf(text, sizeof(text), "%s:%d: %s: ", file, line, at_name);
	va_start(args, format);
	vsnprintf(text + used, sizeof(text) - (size_t)used, format, args);
	va_end(args);
	at_join_marks(list, sizeof(list));
	at_write(text);
	at_write("\nmarks: ");
	at_write(list);
	at_write("\n");
	_exit(1);
}

/** Notes that this happened now. Any thread; at most AT_MARKS marks of at most 31 bytes, without spaces. */
AT_UNUSED static void at_mark(const char *text)
{
	int at = __atomic_fetch_add(&at_mark_count, 1, __ATOMIC_ACQ_REL);

	if (at >= AT_MARKS)
		at_fail(__FILE__, __LINE__, "more than %d marks", AT_MARKS);
	strncpy(at_marks[at].text, text, AT_MARK_LEN - 1);
	__atomic_store_n(&at_marks[at].written, 1, __ATOMIC_RELEASE);
}

/** As at_mark(), with a number behind the text. */
AT_UNUSED static void at_mark_number(const char *text, long number)
{
	char mark[AT_MARK_LEN];

	snprintf(mark, sizeof(mark), "%.10s%ld", text, number);
	at_mark(mark);
}

/** Forgets all marks. While no other thread leaves any. */
AT_UNUSED static void at_forget_marks(void)
{
	memset(at_marks, 0, sizeof(at_marks));
	__atomic_store_n(&at_mark_count, 0, __ATOMIC_RELEASE);
}

AT_UNUSED static void at_compare(const char *file, int line, const char *got_text, long long got, const char *want_text,
				 long long want)
{
	const char *meaning = got < 0 && got > -4096 ? strerror((int)-got) : "";

	if (got != want)
		at_fail(file, line, "%s is %lld %s%s%s, not %s (%lld)", got_text, got, *meaning ? "(" : "", meaning,
			*meaning ? ")" : "", want_text, want);
}

AT_UNUSED static void at_compare_marks(const char *file, int line, const char *list)
{
	static char marks[AT_MARKS * AT_MARK_LEN];

	at_join_marks(marks, sizeof(marks));
	if (strcmp(marks, list) != 0)
		at_fail(file, line, "expected: %s", list);
}

/* ---- One case in this process ----------------------------------------------------------------------------------------- */

AT_UNUSED static void at_hung(int number)
{
	static char list[AT_MARKS * AT_MARK_LEN];

	(void)number;
	at_join_marks(list, sizeof(list));
	at_write("watchdog: ");
	at_write(at_name);
	at_write(" does not end; marks: ");
	at_write(list);
	at_write("\n");
	_exit(1);
}

/* SIGVTALRM: programs under test use SIGALRM. Whatever thread it hits. */
AT_UNUSED static void at_watch(void)
{
	struct sigaction action;
	struct sigevent event;
	struct itimerspec limit;
	timer_t timer;

	memset(&action, 0, sizeof(action));
	action.sa_handler = at_hung;
	sigaction(SIGVTALRM, &action, NULL);
	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGVTALRM;
	memset(&limit, 0, sizeof(limit));
	limit.it_value.tv_sec = at_limit;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &limit, NULL) != 0)
		at_fail(__FILE__, __LINE__, "no watchdog: %s", strerror(errno));
}

AT_UNUSED static void at_use_one_cpu(void)
{
	struct sched_param fifo, other;
	cpu_set_t allowed, one;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		at_fail(__FILE__, __LINE__, "no affinity: %s", strerror(errno));
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	memset(&fifo, 0, sizeof(fifo));
	memset(&other, 0, sizeof(other));
	fifo.sched_priority = sched_get_priority_max(SCHED_FIFO);
	if (sched_setaffinity(0, sizeof(one), &one) != 0 || sched_setscheduler(0, SCHED_FIFO, &fifo) != 0)
		at_skip("the system does not permit SCHED_FIFO");
	sched_setscheduler(0, SCHED_OTHER, &other);
}

AT_UNUSED static int at_run(const struct at_case *this_case, int mode)
{
	at_name = this_case->name;
	if (!(this_case->modes & mode))
		at_skip("not a case for this mode");
	if (mode == AT_FIFO) {
		unsetenv("ALCHEMY_LOCKSTEP");
		at_use_one_cpu();
	} else {
		/* Read by the library at its first call. */
		setenv("ALCHEMY_LOCKSTEP", "1", 1);
	}
	at_watch();
	this_case->run();
	return 0;
}

/* ---- All cases, in processes of their own ----------------------------------------------------------------------------- */

struct at_result {
	int status;
	size_t length;
	char text[16384];
};

/* Runs the program again, for one case; collects what it writes. */
AT_UNUSED static void at_run_apart(const char *name, const char *mode, struct at_result *result)
{
	time_t end = time(NULL) + at_limit + 5;
	struct pollfd input;
	int ends[2];
	pid_t pid;

	result->length = 0;
	if (pipe(ends) != 0 || (pid = fork()) < 0)
		at_fail(__FILE__, __LINE__, "cannot start a case: %s", strerror(errno));
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl("/proc/self/exe", "case", name, mode, (char *)NULL);
		_exit(1);
	}
	close(ends[1]);
	input.fd = ends[0];
	input.events = POLLIN;
	while (time(NULL) < end) {
		char rest[512];
		size_t room = sizeof(result->text) - 1 - result->length;
		ssize_t got;

		if (poll(&input, 1, 1000) <= 0)
			continue;
		/* What does not fit is dropped, so that the case can go on. */
		got = room ? read(ends[0], result->text + result->length, room) : read(ends[0], rest, sizeof(rest));
		if (got <= 0)
			break;
		if (room)
			result->length += (size_t)got;
	}
	result->text[result->length] = '\0';
	if (time(NULL) >= end)
		kill(pid, SIGKILL);
	close(ends[0]);
	waitpid(pid, &result->status, 0);
}

AT_UNUSED static int at_run_all(const struct at_case *cases, size_t count)
{
	static const char *const modes[] = { "fifo", "lockstep" };
	static struct at_result result;
	int passed = 0, failed = 0, skipped = 0;
	size_t i;
	int m;

	for (i = 0; i < count; i++) {
		for (m = 0; m < 2; m++) {
			const char *verdict;

			if (!(cases[i].modes & (1 << m)))
				continue;
			at_run_apart(cases[i].name, modes[m], &result);
			if (WIFEXITED(result.status) && WEXITSTATUS(result.status) == 0) {
				verdict = "ok";
				passed++;
			} else if (WIFEXITED(result.status) && WEXITSTATUS(result.status) == 77) {
				verdict = "skipped";
				skipped++;
			} else {
				verdict = "FAILED";
				failed++;
			}
			printf("%-50s %-9s %s\n", cases[i].name, modes[m], verdict);
			if (*verdict != 'o')
				printf("%s", result.text);
			fflush(stdout);
		}
	}
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed ? 1 : 0;
}

AT_UNUSED static int at_main(int argc, char *argv[], const struct at_case *cases, size_t count)
{
	const char *seconds = getenv("AT_SECONDS");
	size_t i;

	at_limit = seconds ? atoi(seconds) : AT_SECONDS;
	if (argc == 1)
		return at_run_all(cases, count);
	for (i = 0; i < count; i++) {
		if (strcmp(argv[1], "--list") == 0)
			printf("%s\n", cases[i].name);
		else if (strcmp(argv[1], cases[i].name) == 0)
			return at_run(&cases[i], argc > 2 && strcmp(argv[2], "fifo") == 0 ? AT_FIFO : AT_LOCKSTEP);
	}
	if (strcmp(argv[1], "--list") == 0)
		return 0;
	fprintf(stderr, "usage: %s [--list | NAME [fifo | lockstep]]\n", argv[0]);
	return 2;
}

#endif /* _ALCHEMY_TEST_H */
