/* Random suspensions, unblocks and priorities of tasks at one semaphore, some seconds of them: exact accounts. What
 * deletion does to them is control-random.c's matter. */
#define KIT_STORM
#include "kit.h"
#include "control-kit.h"

#define TEST_TIME (2000 * MS)

static unsigned long seed = 88172645463325252UL;

/* For the one who controls. */
static unsigned long draw(unsigned long below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % below;
}

/* ---- Tokens are conserved: sem.md 9.29 ------------------------------------------------------------------------ */

enum { POSTERS = 4, TAKERS = 4 };

static RT_SEM tokens;
static RT_TASK posters[POSTERS], takers[TAKERS];
static int posted, taken, done;

static void post(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; !__atomic_load_n(&done, __ATOMIC_ACQUIRE); i++) {
		int slept;

		CHECK_EQ(rt_sem_v(&tokens), 0);
		__atomic_add_fetch(&posted, 1, __ATOMIC_RELAXED);
		if (i % 4)
			continue;
		slept = rt_task_sleep(20000);
		CHECK(slept == 0 || slept == -EINTR);
	}
}

static void try_to_take(RTIME timeout)
{
	int got = rt_sem_p(&tokens, timeout);

	CHECK(got == 0 || got == -EINTR || (got == -ETIMEDOUT && timeout != TM_INFINITE));
	if (got == 0)
		__atomic_add_fetch(&taken, 1, __ATOMIC_RELAXED);
}

static void take_tokens(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; !__atomic_load_n(&done, __ATOMIC_ACQUIRE); i++)
		try_to_take(i % 3 ? TM_INFINITE : 30000);
}

/* A suspension is over at once: who is stopped holds nothing that the others need. */
static void disturb(RT_TASK *target)
{
	switch (draw(4)) {
	case 0:
		CHECK_EQ(rt_task_suspend(target), 0);
		CHECK_EQ(rt_sem_v(&tokens), 0);
		__atomic_add_fetch(&posted, 1, __ATOMIC_RELAXED);
		CHECK_EQ(rt_task_resume(target), 0);
		break;
	case 1:
		CHECK_EQ(rt_task_set_priority(target, (int)draw(3)), 0);
		break;
	default:
		CHECK_EQ(rt_task_unblock(target), 0);
		break;
	}
}

/* Takers still in a wait are let out one by one. */
static void let_out(RT_TASK *task)
{
	while (rt_task_unblock(task) == 0)
		kit_nap(100000);
	kit_join(task);
}

static void disturb_everybody(void *arg)
{
	long long start = kit_now();
	int i;

	(void)arg;
	while (since(start) < TEST_TIME) {
		disturb(draw(2) ? &posters[draw(POSTERS)] : &takers[draw(TAKERS)]);
		if (draw(4) == 0)
			kit_nap((long long)draw(200000));
	}
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	for (i = 0; i < POSTERS; i++)
		kit_join(&posters[i]);
	for (i = 0; i < TAKERS; i++)
		let_out(&takers[i]);
}

static void conserve(int mode)
{
	RT_SEM_INFO info;
	int i;

	MAKE_SEM(&tokens, 0, mode);
	for (i = 0; i < TAKERS; i++)
		kit_spawn(&takers[i], 0, take_tokens, NULL);
	for (i = 0; i < POSTERS; i++)
		kit_spawn(&posters[i], 0, post, NULL);
	as_task(10, disturb_everybody, NULL);
	CHECK_EQ(rt_sem_inquire(&tokens, &info), 0);
	CHECK_EQ(info.nwaiters, 0);
	CHECK_EQ(posted, taken + (int)info.count);
	CHECK(taken > 0);
}

static void tokens_are_conserved_on_one_cpu(void)
{
	conserve(S_PRIO);
}

static void tokens_are_conserved_on_all_cpus(void)
{
	kit_unpin();
	conserve(S_FIFO);
}

KIT_CASES(CASE(tokens_are_conserved_on_one_cpu), CASE(tokens_are_conserved_on_all_cpus))
