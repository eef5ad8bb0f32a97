/*
 * V on a semaphore that many tasks wait for, against one that a single task waits for; and the bare wake-up of a futex.
 *
 * All run on one CPU: the waiters at low priorities, the measuring task above them, so that nobody preempts it, and an
 * idle task below them. The measuring task gives one unit and then lets the others run; the idle task gets the CPU when
 * the one woken has queued up again, and calls the measuring task for the next round.
 */
#include "bench.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#define ROUNDS 12000
#define WAITERS 1000
#define STACK (64 * 1024)

enum { CROWD, LEVELS, EQUALS, SINGLE, BARE, BARE_EQUALS, KINDS };

static struct series series[KINDS] = {
	{ .name = "rt_sem_v, 1000 waiters, one best" },
	{ .name = "rt_sem_v, 1000 on 40 levels" },
	{ .name = "rt_sem_v, 1000 equal waiters" },
	{ .name = "rt_sem_v, one waiter" },
	{ .name = "FUTEX_WAKE, one sleeper" },
	{ .name = "FUTEX_WAKE, 1000 in turn" },
};

static RT_SEM sems[BARE], turn;
/* One for each sleeper. */
static unsigned words[WAITERS + 1];

static void wait_here(void *arg)
{
	for (;;)
		MUST(rt_sem_p(arg, TM_INFINITE) == 0);
}

static void sleep_here(void *arg)
{
	unsigned *word = arg;

	for (;;) {
		while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0)
			syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL);
		__atomic_store_n(word, 0, __ATOMIC_RELAXED);
	}
}

static void idle(void *arg)
{
	(void)arg;
	for (;;)
		MUST(rt_sem_v(&turn) == 0);
}

/* Until all others have nothing to do. */
static void let_run(void)
{
	MUST(rt_sem_p(&turn, TM_INFINITE) == 0);
}

static double one_wake(int kind, int round)
{
	unsigned *word = &words[kind == BARE ? WAITERS : round % WAITERS];
	double start = now();

	if (kind >= BARE) {
		__atomic_store_n(word, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
	} else {
		rt_sem_v(&sems[kind]);
	}
	return now() - start;
}

static void spawn(int prio, void (*body)(void *), void *arg)
{
	RT_TASK task;

	MUST(rt_task_spawn(&task, NULL, STACK, prio, 0, body, arg) == 0);
}

static void measure(void *arg)
{
	(void)arg;
	for (int i = 0; i < WAITERS; i++) {
		/* The best one is alone on its level. */
		spawn(i == WAITERS / 2 ? 45 : 2 + i % 40, wait_here, &sems[CROWD]);
		spawn(2 + i % 40, wait_here, &sems[LEVELS]);
		spawn(20, wait_here, &sems[EQUALS]);
		spawn(20, sleep_here, &words[i]);
	}
	spawn(45, wait_here, &sems[SINGLE]);
	spawn(45, sleep_here, &words[WAITERS]);
	spawn(1, idle, NULL);
	for (int round = 0; round < ROUNDS; round++) {
		progress("one wake-up of many", round, ROUNDS);
		for (int kind = 0; kind < KINDS; kind++) {
			let_run();
			series[kind].ns[round] = one_wake(kind, round);
		}
	}
	progress("one wake-up of many", ROUNDS, ROUNDS);
}

int main(void)
{
	RT_SEM_INFO info;

	pin();
	table("V that wakes one of many");
	if (!fifo_usable("left out"))
		return 0;
	MUST(rt_sem_create(&turn, NULL, 0, S_PRIO) == 0);
	for (int kind = 0; kind < BARE; kind++)
		MUST(rt_sem_create(&sems[kind], NULL, 0, S_PRIO) == 0);
	run_task(measure);
	MUST(rt_sem_inquire(&sems[CROWD], &info) == 0 && info.nwaiters >= WAITERS - 1);
	row(&series[CROWD], &series[SINGLE], ROUNDS, 1.50);
	row(&series[LEVELS], &series[SINGLE], ROUNDS, 1.50);
	/* Here each wake-up is that of a task whose data the caches have long forgotten. */
	row(&series[EQUALS], &series[SINGLE], ROUNDS, 0);
	row(&series[EQUALS], &series[BARE_EQUALS], ROUNDS, 0);
	row(&series[SINGLE], &series[BARE], ROUNDS, 0);
	/* The tasks end with the process. */
	_exit(0);
}
