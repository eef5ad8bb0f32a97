/*
 * Kit for benchmarks of pairs of calls that do not wait, in loops that a task runs by turns.
 *
 * Where code and data happen to lie is worth a cycle or two. So the rounds are spread over many processes, each with its
 * own random addresses.
 */
#ifndef PAIR_H
#define PAIR_H

#include "bench.h"

#include <sys/wait.h>

#define PROCESSES 400
#define ROUNDS 50 /* in each process */
#define PAIRS 500
#define ALL (PROCESSES * ROUNDS)

_Static_assert(ALL <= ROUNDS_MAX, "room for all samples");

#define NOTHING() barrier()

/* A loop that has a name, that the compiler may not merge with others. */
#define LOOP(name, first, second, work)                           \
	__attribute__((noinline)) static void name(void)          \
	{                                                         \
		for (long n = 0; n < PAIRS; n++) {                \
			first;                                    \
			work();                                   \
			second;                                   \
			work();                                   \
		}                                                 \
	}

/* What takes turns; the first `count` entries. */
struct pairs {
	const char *title;
	int count;
	void (*const *loops)(void);
	struct series *series;
	void (*set_up)(void); /* in each process, before the task */
	int process;
};

/* The two bare swaps, on a word of their own. */
static unsigned long bare_word __attribute__((aligned(128)));

BENCH_UNUSED static inline void bare_swap(unsigned long from, unsigned long to, int order)
{
	__atomic_compare_exchange_n(&bare_word, &from, to, 0, order, __ATOMIC_RELAXED);
}

BENCH_UNUSED static inline void bare_take(void)
{
	bare_swap(0, 1, __ATOMIC_ACQUIRE);
}

BENCH_UNUSED static inline void bare_give(void)
{
	bare_swap(1, 0, __ATOMIC_RELEASE);
}

/* In a task: a second thread exists, so glibc does not save its atomic operations. */
static void measure(void *pairs_)
{
	struct pairs *pairs = pairs_;

	for (int round = 0; round < ROUNDS; round++) {
		for (int kind = 0; kind < pairs->count; kind++) {
			double start = now();

			pairs->loops[kind]();
			pairs->series[kind].ns[pairs->process * ROUNDS + round] = (now() - start) / PAIRS;
		}
	}
}

/* The samples of one process, to standard output. */
static void child(struct pairs *pairs)
{
	pin();
	pairs->set_up();
	run_task_with(measure, pairs);
	for (int kind = 0; kind < pairs->count; kind++)
		MUST(fwrite(pairs->series[kind].ns, sizeof(double), ROUNDS, stdout) == ROUNDS);
	exit(0);
}

static void run_child(struct pairs *pairs, char *program)
{
	int ends[2], status;
	FILE *samples;
	pid_t pid;

	MUST(pipe(ends) == 0);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl("/proc/self/exe", program, "child", (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	samples = fdopen(ends[0], "r");
	MUST(samples);
	for (int kind = 0; kind < pairs->count; kind++)
		MUST(fread(pairs->series[kind].ns + pairs->process * ROUNDS, sizeof(double), ROUNDS, samples) == ROUNDS);
	fclose(samples);
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
}

/* Fills all series with ALL samples. Call it first in main(). */
BENCH_UNUSED static void run_pairs(struct pairs *pairs, int argc, char **argv)
{
	if (argc > 1)
		child(pairs);
	table(pairs->title);
	fifo_usable("other processes disturb the figures");
	for (; pairs->process < PROCESSES; pairs->process++) {
		progress("pairs", pairs->process, PROCESSES);
		run_child(pairs, argv[0]);
	}
	progress("pairs", PROCESSES, PROCESSES);
}

#endif /* PAIR_H */
