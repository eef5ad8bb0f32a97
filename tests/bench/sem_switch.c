/* Ping-pong of two tasks of one priority on one CPU: semaphores against bare futexes used in the same way. */
#include "bench.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#define ROUNDS 5000
#define TRIPS 200 /* round trips, in each round */

enum { OURS, BARE, KINDS };

static struct series series[KINDS] = {
	{ .name = "rt_sem_p, rt_sem_v" },
	{ .name = "futex wait, wake" },
};

/* 0: the task that measures waits here, 1: its partner does. */
static RT_SEM sems[2];
static struct {
	unsigned word __attribute__((aligned(128)));
} futexes[2];

static void ours_p(int side)
{
	rt_sem_p(&sems[side], TM_INFINITE);
}

static void ours_v(int side)
{
	rt_sem_v(&sems[side]);
}

/* The least that hands over: no count of waiters, no queue, every post is a wake-up. */
static void bare_p(int side)
{
	unsigned *word = &futexes[side].word, one = 1;

	while (!__atomic_compare_exchange_n(word, &one, 0, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL);
		one = 1;
	}
}

static void bare_v(int side)
{
	unsigned *word = &futexes[side].word;

	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
}

static void partner(void *arg)
{
	(void)arg;
	for (int round = 0; round < ROUNDS; round++) {
		for (int n = 0; n < TRIPS; n++) {
			ours_p(1);
			ours_v(0);
		}
		for (int n = 0; n < TRIPS; n++) {
			bare_p(1);
			bare_v(0);
		}
	}
}

static void measure(void *arg)
{
	RT_TASK other;

	(void)arg;
	MUST(rt_task_spawn(&other, NULL, 0, 50, T_JOINABLE, partner, NULL) == 0);
	for (int round = 0; round < ROUNDS; round++) {
		double start, middle, end;

		progress("semaphore ping-pong", round, ROUNDS);
		start = now();
		for (int n = 0; n < TRIPS; n++) {
			ours_v(1);
			ours_p(0);
		}
		middle = now();
		for (int n = 0; n < TRIPS; n++) {
			bare_v(1);
			bare_p(0);
		}
		end = now();
		series[OURS].ns[round] = (middle - start) / TRIPS;
		series[BARE].ns[round] = (end - middle) / TRIPS;
	}
	progress("semaphore ping-pong", ROUNDS, ROUNDS);
	MUST(rt_task_join(&other) == 0);
}

int main(void)
{
	pin();
	table("Ping-pong of two tasks on one CPU: one round trip");
	if (!fifo_usable("left out"))
		return 0;
	for (int side = 0; side < 2; side++)
		MUST(rt_sem_create(&sems[side], NULL, 0, S_PRIO) == 0);
	run_task(measure);
	row(&series[OURS], &series[BARE], ROUNDS, 1.10);
	return 0;
}
