/* Acquire and release of a free mutex, and of one that the caller owns, against glibc's PI mutex and two bare swaps. */
#include "pair.h"

#include <alchemy/mutex.h>

static struct {
	RT_MUTEX free __attribute__((aligned(128)));
	RT_MUTEX owned __attribute__((aligned(128)));
	pthread_mutex_t posix __attribute__((aligned(128)));
	pthread_mutex_t robust __attribute__((aligned(128)));
} shared;

LOOP(bare, bare_take(), bare_give(), NOTHING)
LOOP(posix, pthread_mutex_lock(&shared.posix), pthread_mutex_unlock(&shared.posix), NOTHING)
LOOP(robust, pthread_mutex_lock(&shared.robust), pthread_mutex_unlock(&shared.robust), NOTHING)
LOOP(ours, rt_mutex_acquire(&shared.free, TM_INFINITE), rt_mutex_release(&shared.free), NOTHING)
LOOP(ours_timed, rt_mutex_acquire(&shared.free, 1000000), rt_mutex_release(&shared.free), NOTHING)
LOOP(calls, rt_mutex_unbind(NULL), rt_mutex_unbind(NULL), NOTHING) /* refused at once */
LOOP(again, rt_mutex_acquire(&shared.owned, TM_INFINITE), rt_mutex_release(&shared.owned), NOTHING)

enum { BARE, POSIX, ROBUST, OURS, TIMED, AGAIN, CALLS, KINDS };

/* The task that measures is the owner of `owned` for the whole of its life. */
static void recursive(void)
{
	static int owns;

	if (!owns)
		MUST(rt_mutex_acquire(&shared.owned, TM_INFINITE) == 0);
	owns = 1;
	again();
}

static void (*const loops[KINDS])(void) = { bare, posix, robust, ours, ours_timed, recursive, calls };

static struct series series[KINDS] = {
	{ .name = "2 CAS" },
	{ .name = "glibc PI mutex" },
	{ .name = "glibc PI mutex, robust" },
	{ .name = "rt_mutex_acquire + _release" },
	{ .name = "the same, relative timeout" },
	{ .name = "the same, owned already" },
	{ .name = "2 calls that do nothing" },
};

static void init(pthread_mutex_t *mutex, int robustness)
{
	pthread_mutexattr_t attr;

	MUST(pthread_mutexattr_init(&attr) == 0);
	MUST(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE) == 0);
	MUST(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT) == 0);
	MUST(pthread_mutexattr_setrobust(&attr, robustness) == 0);
	MUST(pthread_mutex_init(mutex, &attr) == 0);
}

static void set_up(void)
{
	init(&shared.posix, PTHREAD_MUTEX_STALLED);
	init(&shared.robust, PTHREAD_MUTEX_ROBUST);
	MUST(rt_mutex_create(&shared.free, NULL) == 0);
	MUST(rt_mutex_create(&shared.owned, NULL) == 0);
}

int main(int argc, char **argv)
{
	struct pairs pairs = { "Mutex that is free: acquire + release", KINDS, loops, series, set_up, 0 };

	run_pairs(&pairs, argc, argv);
	row(&series[OURS], &series[BARE], ALL, 1.6);
	row(&series[OURS], &series[POSIX], ALL, 0.99);
	row(&series[TIMED], &series[BARE], ALL, 1.6);
	row(&series[AGAIN], &series[BARE], ALL, 0.9);
	/* What two calls into the library cost, for the row above. */
	row(&series[CALLS], &series[BARE], ALL, 0);
	row(&series[POSIX], &series[BARE], ALL, 0);
	row(&series[ROBUST], &series[BARE], ALL, 0);
	return 0;
}
