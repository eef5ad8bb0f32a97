/*
 * Kit for benchmarks: a quiet CPU, series of samples, rows with a verdict. Include it first.
 *
 * What is compared takes turns, in many short rounds; a row shows the medians, and the median of the rounds' ratios with
 * the least one and the 90th percentile. Rounds that something else disturbed, which is known by their times, are left
 * out. Nothing here fails: a row over its budget says so.
 */
#ifndef BENCH_H
#define BENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <alchemy/sem.h>
#include <alchemy/task.h>

#define BENCH_UNUSED __attribute__((unused))
#define ROUNDS_MAX 20000

/* Must hold, or the figures mean nothing. */
#define MUST(condition) ((condition) ? (void)0 : give_up(#condition, __LINE__))

/* Samples of one thing, in nanoseconds, one for each round. */
struct series {
	const char *name;
	double ns[ROUNDS_MAX];
};

BENCH_UNUSED static void give_up(const char *what, int line)
{
	fprintf(stderr, "\nline %d: %s does not hold (%s)\n", line, what, strerror(errno));
	_exit(1);
}

BENCH_UNUSED static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* Keeps the compiler from moving or dropping accesses to memory. */
BENCH_UNUSED static inline void barrier(void)
{
	__asm__ volatile("" ::: "memory");
}

/* ---- The machine ---------------------------------------------------------------------------------------------- */

/* Pins the process to its last CPU: interrupts and tests prefer the first. Threads made later inherit it. */
BENCH_UNUSED static void pin(void)
{
	cpu_set_t cpus, one;
	int cpu = CPU_SETSIZE - 1;

	MUST(sched_getaffinity(0, sizeof(cpus), &cpus) == 0);
	while (cpu > 0 && !CPU_ISSET(cpu, &cpus))
		cpu--;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	MUST(sched_setaffinity(0, sizeof(one), &one) == 0);
}

/* Whether this process may use SCHED_FIFO; if not, says that figures suffer, or that rows are missing. */
BENCH_UNUSED static int fifo_usable(const char *without)
{
	struct sched_param param = { .sched_priority = 1 };
	struct sched_param normal = { .sched_priority = 0 };

	if (sched_setscheduler(0, SCHED_FIFO, &param) == 0)
		return sched_setscheduler(0, SCHED_OTHER, &normal) == 0;
	printf("  no SCHED_FIFO for this process: %s\n", without);
	setenv("ALCHEMY_SCHED", "other", 1);
	return 0;
}

/* Runs `body` in a task of priority 50, on our CPU, to its end. */
BENCH_UNUSED static void run_task_with(void (*body)(void *), void *arg)
{
	RT_TASK task;

	MUST(rt_task_spawn(&task, NULL, 0, 50, T_JOINABLE, body, arg) == 0);
	MUST(rt_task_join(&task) == 0);
}

BENCH_UNUSED static void run_task(void (*body)(void *))
{
	run_task_with(body, NULL);
}

/* ---- Output --------------------------------------------------------------------------------------------------- */

/* The live line on standard error: what is being measured and how far it is. */
BENCH_UNUSED static void progress(const char *what, int done, int all)
{
	static double told;
	double time = now();

	if (!isatty(STDERR_FILENO)) {
		if (done == 0)
			fprintf(stderr, "%s ...\n", what);
	} else if (done == all) {
		fprintf(stderr, "\r\033[K");
	} else if (done == 0 || time - told > 2e8) {
		fprintf(stderr, "\r\033[K%s: %d of %d rounds", what, done, all);
		told = time;
	}
}

BENCH_UNUSED static void table(const char *title)
{
	printf("\n%s\n  %-32s %8s  %-32s %8s %7s %7s %7s %8s\n", title, "operation", "ns", "compared with", "ns", "ratio", "min",
	       "p90", "budget");
	fflush(stdout);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

BENCH_UNUSED static double percentile(const double *values, int n, int percent)
{
	static double sorted[ROUNDS_MAX];

	memcpy(sorted, values, (size_t)n * sizeof(*values));
	qsort(sorted, (size_t)n, sizeof(*sorted), ascending);
	return sorted[(long)(n - 1) * percent / 100];
}

static int near(double ns, double median)
{
	return ns > median * 0.6 && ns < median * 1.6;
}

/* One row: `mine` as a multiple of `other`, `rounds` samples of each. A budget of 0: no verdict. */
BENCH_UNUSED static void row(const struct series *mine, const struct series *other, int rounds, double budget)
{
	static double ratio[ROUNDS_MAX];
	double ours = percentile(mine->ns, rounds, 50), theirs = percentile(other->ns, rounds, 50), median;
	int i, n = 0;

	for (i = 0; i < rounds; i++) {
		if (near(mine->ns[i], ours) && near(other->ns[i], theirs))
			ratio[n++] = mine->ns[i] / other->ns[i];
	}
	MUST(n > 0);
	median = percentile(ratio, n, 50);
	printf("  %-32s %8.1f  %-32s %8.1f %7.2f %7.2f %7.2f", mine->name, ours, other->name, theirs, median,
	       percentile(ratio, n, 0), percentile(ratio, n, 90));
	if (budget > 0)
		printf(" %8.2f  %s", budget, median <= budget ? "ok" : "over");
	printf("\n");
	fflush(stdout);
}

/* Takes the cost of `work` off `with`. */
BENCH_UNUSED static void take_off(struct series *with, const struct series *work, int rounds)
{
	int i;

	for (i = 0; i < rounds; i++)
		with->ns[i] -= work->ns[i];
}

#endif /* BENCH_H */
