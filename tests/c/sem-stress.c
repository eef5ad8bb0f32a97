/* Semaphores under contention, on all CPUs: tokens are conserved, one deleter wins, data arrives with the token. */
#define KIT_STORM
#include "kit.h"
#include "sem-kit.h"

static RT_SEM sem;

/* Threads of priority 0 throughout: they share the CPUs fairly whatever their number. */

/* --- Conservation ------------------------------------------------------------------------------------------------- */

enum { POSTERS = 4, TAKERS = 4, POSTS = 10000 };

static int posted, taken, posters_left;

static void post_many(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < POSTS; i++) {
		CHECK_EQ(rt_sem_v(&sem), 0);
		__atomic_fetch_add(&posted, 1, __ATOMIC_RELAXED);
	}
	__atomic_fetch_sub(&posters_left, 1, __ATOMIC_RELEASE);
}

/* Polls, waits briefly, waits for a date; gives up when nothing is left to come. */
static void take_many(void *arg)
{
	int i;

	(void)arg;
	for (i = 0;; i++) {
		int last = __atomic_load_n(&posters_left, __ATOMIC_ACQUIRE) == 0;
		int result;

		switch (i % 3) {
		case 0:
			result = rt_sem_p(&sem, TM_NONBLOCK);
			CHECK(result == 0 || result == -EWOULDBLOCK);
			break;
		case 1:
			result = rt_sem_p(&sem, (RTIME)(i % 64) * 1000 + 1);
			CHECK(result == 0 || result == -ETIMEDOUT);
			break;
		default:
			result = rt_sem_p_until(&sem, rt_timer_read() + 100);
			CHECK(result == 0 || result == -ETIMEDOUT);
			break;
		}
		if (result == 0)
			__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
		else if (last)
			break;
	}
}

static void conserve(int mode)
{
	RT_TASK posters[POSTERS], takers[TAKERS];
	RT_SEM_INFO info;
	int i;

	posted = taken = 0;
	posters_left = POSTERS;
	MAKE_SEM(&sem, 0, mode);
	for (i = 0; i < TAKERS; i++)
		kit_spawn(&takers[i], 0, take_many, NULL);
	for (i = 0; i < POSTERS; i++)
		kit_spawn(&posters[i], 0, post_many, NULL);
	for (i = 0; i < POSTERS; i++)
		kit_join(&posters[i]);
	for (i = 0; i < TAKERS; i++)
		kit_join(&takers[i]);
	CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
	CHECK_EQ(info.nwaiters, 0);
	CHECK_EQ(posted, POSTERS * POSTS);
	CHECK_EQ(posted, taken + (int)info.count);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void tokens_are_conserved_fifo(void)
{
	kit_unpin();
	conserve(S_FIFO);
}

static void tokens_are_conserved_prio(void)
{
	kit_unpin();
	conserve(S_PRIO);
}

static void take_exactly(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < POSTS; i++)
		CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
}

static void post_exactly(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < POSTS; i++)
		CHECK_EQ(rt_sem_v(&sem), 0);
}

/* As many unlimited waits as posts: one lost wake-up and this hangs. */
static void no_wake_up_is_lost(void)
{
	RT_TASK posters[POSTERS], takers[POSTERS];
	int i;

	kit_unpin();
	MAKE_SEM(&sem, 0, S_FIFO);
	for (i = 0; i < POSTERS; i++) {
		kit_spawn(&takers[i], 0, take_exactly, NULL);
		kit_spawn(&posters[i], 0, post_exactly, NULL);
	}
	for (i = 0; i < POSTERS; i++) {
		kit_join(&posters[i]);
		kit_join(&takers[i]);
	}
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

/* --- Data with the token ------------------------------------------------------------------------------------------ */

enum { ROUNDS = 20000 };

static RT_SEM full, empty;
static int cell[8];

static void produce(void *arg)
{
	int i, k;

	(void)arg;
	for (i = 1; i <= ROUNDS; i++) {
		CHECK_EQ(rt_sem_p(&empty, TM_INFINITE), 0);
		for (k = 0; k < 8; k++)
			cell[k] = i;
		CHECK_EQ(rt_sem_v(&full), 0);
	}
}

static void writes_before_a_post_are_seen_after_the_wait(void)
{
	RT_TASK producer;
	int i, k;

	kit_unpin();
	MAKE_SEM(&full, 0, S_FIFO);
	MAKE_SEM(&empty, 1, S_FIFO);
	kit_spawn(&producer, 0, produce, NULL);
	for (i = 1; i <= ROUNDS; i++) {
		CHECK_EQ(rt_sem_p(&full, TM_INFINITE), 0);
		for (k = 0; k < 8; k++)
			CHECK_EQ(cell[k], i);
		CHECK_EQ(rt_sem_v(&empty), 0);
	}
	kit_join(&producer);
	CHECK_EQ(rt_sem_delete(&full), 0);
	CHECK_EQ(rt_sem_delete(&empty), 0);
}

/* --- Deletion races ----------------------------------------------------------------------------------------------- */

/* Few where each step is slow: the two wait for each other in every round. */
#ifdef __SANITIZE_THREAD__
enum { RACES = 20000 };
#else
enum { RACES = 100000 };
#endif

static int made, answered, deleted, refused;

static void wait_for_round(int *round, int i)
{
	while (__atomic_load_n(round, __ATOMIC_ACQUIRE) < i)
		sched_yield();
}

static void delete_at(long long when)
{
	int result;

	while (kit_now() < when)
		;
	result = rt_sem_delete(&sem);
	CHECK(result == 0 || result == -EINVAL);
	__atomic_fetch_add(result == 0 ? &deleted : &refused, 1, __ATOMIC_RELAXED);
}

static void delete_each(void *arg)
{
	int i;

	(void)arg;
	for (i = 1; i <= RACES; i++) {
		wait_for_round(&made, i);
		delete_at(0);
		__atomic_store_n(&answered, i, __ATOMIC_RELEASE);
	}
}

/* The creator's own delete comes earlier or later by some tens of nanoseconds from round to round. */
static void one_of_two_deleters_wins(void)
{
	RT_TASK other;
	int i;

	kit_unpin();
	kit_spawn(&other, 0, delete_each, NULL);
	for (i = 1; i <= RACES; i++) {
		CHECK_EQ(rt_sem_create(&sem, "prey", 0, S_FIFO), 0);
		__atomic_store_n(&made, i, __ATOMIC_RELEASE);
		delete_at(kit_now() + i % 64 * 30);
		wait_for_round(&answered, i);
		CHECK_EQ(__atomic_load_n(&deleted, __ATOMIC_RELAXED), i);
		CHECK_EQ(__atomic_load_n(&refused, __ATOMIC_RELAXED), i);
	}
	kit_join(&other);
}

static uintptr_t current;
static int stop;

/* Uses whatever semaphore was last announced, dead or not. */
static void hammer(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); i++) {
		RT_SEM_INFO info;
		RT_SEM mine;
		int result;

		mine.handle = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
		switch (i % 4) {
		case 0:
			result = rt_sem_v(&mine);
			CHECK(result == 0 || result == -EINVAL);
			break;
		case 1:
			result = rt_sem_p(&mine, TM_NONBLOCK);
			CHECK(result == 0 || result == -EWOULDBLOCK || result == -EINVAL);
			break;
		case 2:
			result = rt_sem_p(&mine, 20000);
			CHECK(result == 0 || result == -ETIMEDOUT || result == -EINVAL || result == -EIDRM);
			break;
		default:
			result = rt_sem_inquire(&mine, &info);
			CHECK(result == 0 || result == -EINVAL);
			if (result == 0) {
				CHECK_STR(info.name, "target");
				CHECK(info.nwaiters >= 0 && info.nwaiters <= 3);
				CHECK(info.nwaiters == 0 || info.count == 0); /* one snapshot */
			}
			break;
		}
	}
}

static void services_stand_a_deletion_at_any_time(void)
{
	RT_TASK hammers[3];
	RT_SEM target;
	int i;

	kit_unpin();
	for (i = 0; i < 3; i++)
		kit_spawn(&hammers[i], 0, hammer, NULL);
	for (i = 0; i < 2000; i++) {
		CHECK_EQ(rt_sem_create(&target, "target", 0, i % 2 ? S_PRIO : S_FIFO), 0);
		__atomic_store_n(&current, target.handle, __ATOMIC_RELEASE);
		kit_nap(i % 8 * 10000);
		CHECK_EQ(rt_sem_delete(&target), 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 3; i++)
		kit_join(&hammers[i]);
}

KIT_CASES(
	CASE(tokens_are_conserved_fifo),
	CASE(tokens_are_conserved_prio),
	CASE(no_wake_up_is_lost),
	CASE(writes_before_a_post_are_seen_after_the_wait),
	CASE(one_of_two_deleters_wins),
	CASE(services_stand_a_deletion_at_any_time)
)
