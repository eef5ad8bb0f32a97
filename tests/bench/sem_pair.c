/* P and V on a free semaphore, back to back and with work after each call, against glibc's and two bare swaps. */
#include "pair.h"

#include <semaphore.h>

/* Each on cache lines of its own. */
static struct {
	RT_SEM sem __attribute__((aligned(128)));
	sem_t posix __attribute__((aligned(128)));
	long cells[20] __attribute__((aligned(128)));
} shared;

/* Twenty stores. */
#define WORK()                                                     \
	do {                                                       \
		_Pragma("GCC unroll 20") for (int i = 0; i < 20; i++) \
			((volatile long *)shared.cells)[i] = n;    \
	} while (0)

LOOP(bare, bare_take(), bare_give(), NOTHING)
LOOP(posix, sem_wait(&shared.posix), sem_post(&shared.posix), NOTHING)
LOOP(ours, rt_sem_p(&shared.sem, TM_INFINITE), rt_sem_v(&shared.sem), NOTHING)
LOOP(ours_timed, rt_sem_p(&shared.sem, 1000000), rt_sem_v(&shared.sem), NOTHING)
LOOP(only_work, (void)0, (void)0, WORK)
LOOP(bare_work, bare_take(), bare_give(), WORK)
LOOP(posix_work, sem_wait(&shared.posix), sem_post(&shared.posix), WORK)
LOOP(ours_work, rt_sem_p(&shared.sem, TM_INFINITE), rt_sem_v(&shared.sem), WORK)

enum { BARE, POSIX, OURS, TIMED, WORKING, BARE_WORK, POSIX_WORK, OURS_WORK, KINDS };

static void (*const loops[KINDS])(void) = {
	bare, posix, ours, ours_timed, only_work, bare_work, posix_work, ours_work,
};

static struct series series[KINDS] = {
	{ .name = "2 CAS" },
	{ .name = "sem_wait + sem_post" },
	{ .name = "rt_sem_p + rt_sem_v" },
	{ .name = "the same, relative timeout" },
	{ .name = "40 stores" },
	{ .name = "2 CAS among stores" },
	{ .name = "sem_wait + sem_post among stores" },
	{ .name = "rt_sem_p + rt_sem_v among stores" },
};

static void set_up(void)
{
	MUST(sem_init(&shared.posix, 0, 1) == 0);
	MUST(rt_sem_create(&shared.sem, NULL, 1, S_PRIO) == 0);
}

int main(int argc, char **argv)
{
	struct pairs pairs = { "Semaphore that is free: P + V", KINDS, loops, series, set_up, 0 };

	run_pairs(&pairs, argc, argv);
	row(&series[OURS], &series[BARE], ALL, 1.45);
	row(&series[OURS], &series[POSIX], ALL, 0.99);
	row(&series[TIMED], &series[BARE], ALL, 1.45);
	row(&series[POSIX], &series[BARE], ALL, 0);
	for (int kind = BARE_WORK; kind <= OURS_WORK; kind++)
		take_off(&series[kind], &series[WORKING], ALL);
	row(&series[OURS_WORK], &series[BARE], ALL, 1.20);
	row(&series[POSIX_WORK], &series[BARE], ALL, 0);
	row(&series[OURS_WORK], &series[BARE_WORK], ALL, 0);
	return 0;
}
