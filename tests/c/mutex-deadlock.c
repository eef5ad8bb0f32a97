/* Cycles of owners that wait for one another: whoever would close one is told, nobody hangs, all go on. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"

enum { LONGEST = 10 };

static RT_MUTEX m[LONGEST];
static struct puppet t[LONGEST];

/* t[i] owns m[i] and waits for m[i + 1], but for the last, which only owns. */
static void chain_of(int count, RTIME limit)
{
	int i;

	for (i = 0; i < count; i++) {
		MAKE_MUTEX(&m[i]);
		start(&t[i], 10 + i, NULL);
		CHECK_EQ(acquire(&t[i], &m[i], TM_INFINITE), 0);
	}
	for (i = 0; i < count - 1; i++)
		enqueue(&t[i], &m[i + 1], limit);
}

/* All own what they owned, wait as they waited. */
static void check_chain(int count)
{
	int i;

	for (i = 0; i < count; i++)
		CHECK_OWNER(&m[i], &t[i].task);
	for (i = 0; i < count - 1; i++)
		CHECK(is_queued(&t[i]));
}

/* The last lets go; each then gets what it waited for, and gives both back. */
static void unwind(int count)
{
	int i;

	CHECK_EQ(release(&t[count - 1], &m[count - 1]), 0);
	for (i = count - 2; i >= 0; i--) {
		CHECK_EQ(outcome(&t[i]), 0);
		CHECK_EQ(release(&t[i], &m[i + 1]), 0);
		CHECK_EQ(release(&t[i], &m[i]), 0);
	}
	for (i = 0; i < count; i++)
		use_once(&t[count - 1 - i], &m[i], 0);
	for (i = 0; i < count; i++) {
		dismiss(&t[i]);
		CHECK_EQ(rt_mutex_delete(&m[i]), 0);
	}
}

static int step_acquire_timed(RT_MUTEX *mutex, RTIME seconds)
{
	struct timespec date;

	clock_gettime(CLOCK_MONOTONIC, &date);
	date.tv_sec += (time_t)seconds;
	return rt_mutex_acquire_timed(mutex, seconds ? &date : NULL);
}

static void close_cycle_of(int count)
{
	struct puppet *last = &t[count - 1];

	chain_of(count, TM_INFINITE);
	CHECK_EQ(acquire(last, &m[0], TM_INFINITE), -EDEADLK);
	check_chain(count);
	CHECK_EQ(acquire(last, &m[0], HOUR), -EDEADLK);
	check_chain(count);
	CHECK_EQ(ask(last, step_acquire_until, &m[0], rt_timer_read() + HOUR), -EDEADLK);
	check_chain(count);
	CHECK_EQ(ask(last, step_acquire_until, &m[0], TM_INFINITE), -EDEADLK);
	CHECK_EQ(ask(last, step_acquire_timed, &m[0], 0), -EDEADLK);
	CHECK_EQ(ask(last, step_acquire_timed, &m[0], 3600), -EDEADLK);
	check_chain(count);
	unwind(count);
}

/* --- One after the other ------------------------------------------------------------------------------------------ */

/* mutex.md 10.25 */
static void second_of_two_is_told(void)
{
	close_cycle_of(2);
}

static void third_of_three_is_told(void)
{
	close_cycle_of(3);
}

static void tenth_of_ten_is_told(void)
{
	close_cycle_of(LONGEST);
}

/* Any link of the cycle, not only the next owner: t[2] waits for t[0]'s mutex behind another waiter. */
static void waiters_outside_the_cycle_do_not_matter(void)
{
	static struct puppet outsider;

	chain_of(3, TM_INFINITE);
	start(&outsider, 40, NULL);
	enqueue(&outsider, &m[0], TM_INFINITE); /* no cycle: it owns nothing */
	CHECK_EQ(acquire(&t[2], &m[0], TM_INFINITE), -EDEADLK);
	CHECK_EQ(acquire(&t[2], &m[1], TM_INFINITE), -EDEADLK);
	check_chain(3);
	CHECK(is_queued(&outsider));
	CHECK_EQ(release(&t[2], &m[2]), 0);
	CHECK_EQ(outcome(&t[1]), 0);
	CHECK_EQ(release(&t[1], &m[2]), 0);
	CHECK_EQ(release(&t[1], &m[1]), 0);
	CHECK_EQ(outcome(&t[0]), 0);
	CHECK_EQ(release(&t[0], &m[1]), 0);
	CHECK_EQ(release(&t[0], &m[0]), 0);
	CHECK_EQ(outcome(&outsider), 0);
	CHECK_EQ(release(&outsider, &m[0]), 0);
}

/* mutex.md 3: the order of the errors. */
static int step_malformed(RT_MUTEX *mutex, RTIME unused)
{
	static const struct timespec malformed = { 1, 2000000000 };

	(void)unused;
	return rt_mutex_acquire_timed(mutex, &malformed);
}

static void polls_and_malformed_dates_come_first(void)
{
	chain_of(2, TM_INFINITE);
	CHECK_EQ(poll_for(&t[1], &m[0]), -EWOULDBLOCK);
	CHECK_EQ(ask(&t[1], step_malformed, &m[0], 0), -EINVAL);
	check_chain(2);
	unwind(2);
}

static void cycle_is_told_before_a_past_date(void)
{
	chain_of(2, TM_INFINITE);
	CHECK_EQ(ask(&t[1], step_acquire_until, &m[0], 1), -EDEADLK);
	check_chain(2);
	unwind(2);
}

/* The told one backs off and tries again: an ordinary wait. */
static void told_task_waits_after_it_has_backed_off(void)
{
	chain_of(2, TM_INFINITE);
	CHECK_EQ(acquire(&t[1], &m[0], TM_INFINITE), -EDEADLK);
	CHECK_EQ(release(&t[1], &m[1]), 0);
	CHECK_EQ(outcome(&t[0]), 0);
	enqueue(&t[1], &m[0], TM_INFINITE);
	CHECK_EQ(release(&t[0], &m[1]), 0);
	CHECK(is_queued(&t[1]));
	CHECK_EQ(release(&t[0], &m[0]), 0);
	CHECK_EQ(outcome(&t[1]), 0);
	CHECK_OWNER(&m[0], &t[1].task);
	CHECK_EQ(release(&t[1], &m[0]), 0);
}

static void nested_ownership_makes_a_cycle_too(void)
{
	MAKE_MUTEX(&m[0]);
	MAKE_MUTEX(&m[1]);
	start(&t[0], 10, NULL);
	start(&t[1], 20, NULL);
	CHECK_EQ(acquire(&t[0], &m[0], TM_INFINITE), 0);
	CHECK_EQ(acquire(&t[0], &m[0], TM_INFINITE), 0);
	CHECK_EQ(acquire(&t[1], &m[1], TM_INFINITE), 0);
	CHECK_EQ(acquire(&t[1], &m[1], TM_INFINITE), 0); /* nesting is none by itself */
	enqueue(&t[0], &m[1], TM_INFINITE);
	CHECK_EQ(acquire(&t[1], &m[0], TM_INFINITE), -EDEADLK);
	CHECK_EQ(release(&t[1], &m[1]), 0);
	CHECK_EQ(acquire(&t[1], &m[0], TM_INFINITE), -EDEADLK);
	CHECK(is_queued(&t[0]));
	CHECK_EQ(release(&t[1], &m[1]), 0);
	CHECK_EQ(outcome(&t[0]), 0);
}

/* --- No cycle, or none any more ----------------------------------------------------------------------------------- */

static void chain_without_a_cycle_is_none(void)
{
	RT_MUTEX extra;

	chain_of(LONGEST, HOUR);
	check_chain(LONGEST);
	MAKE_MUTEX(&extra);
	CHECK_EQ(acquire(&t[LONGEST - 1], &extra, TM_INFINITE), 0);
	CHECK_EQ(release(&t[LONGEST - 1], &extra), 0);
	unwind(LONGEST);
}

static void timed_out_link_opens_the_cycle(void)
{
	chain_of(2, 1000 * MS);
	CHECK_EQ(acquire(&t[1], &m[0], TM_INFINITE), -EDEADLK);
	CHECK_EQ(outcome(&t[0]), -ETIMEDOUT);
	enqueue(&t[1], &m[0], TM_INFINITE);
	CHECK_EQ(acquire(&t[0], &m[1], HOUR), -EDEADLK); /* now it is this one that would close it */
	CHECK_EQ(release(&t[0], &m[0]), 0);
	CHECK_EQ(outcome(&t[1]), 0);
}

static void unblocked_link_opens_the_cycle(void)
{
	needs_interruptible_waits();
	chain_of(2, TM_INFINITE);
	CHECK_EQ(rt_task_unblock(&t[0].task), 0);
	CHECK_EQ(outcome(&t[0]), -EINTR);
	enqueue(&t[1], &m[0], TM_INFINITE);
	CHECK_EQ(acquire(&t[0], &m[1], TM_INFINITE), -EDEADLK);
	CHECK_EQ(release(&t[0], &m[0]), 0);
	CHECK_EQ(outcome(&t[1]), 0);
}

static void deleted_link_opens_the_cycle(void)
{
	needs_interruptible_waits();
	chain_of(2, TM_INFINITE);
	CHECK_EQ(rt_task_delete(&t[0].task), 0);
	kit_join(&t[0].task);
	CHECK_EQ(acquire(&t[1], &m[0], TM_INFINITE), -EOWNERDEAD);
	CHECK_EQ(release(&t[1], &m[0]), 0);
	CHECK_EQ(release(&t[1], &m[1]), 0);
}

/* A call that was refused lends nobody its priority. */
static void refused_wait_leaves_no_boost(void)
{
	chain_of(2, TM_INFINITE);
	CHECK_EQ(acquire(&t[1], &m[0], TM_INFINITE), -EDEADLK);
	CHECK_EQ(effective_prio(&t[0]), 10);
	CHECK_EQ(effective_prio(&t[1]), 11);
	CHECK_EQ(rt_task_set_priority(&t[0].task, 30), 0);
	CHECK_EQ(effective_prio(&t[1]), 30);
	CHECK_EQ(rt_task_set_priority(&t[0].task, 10), 0);
	CHECK_EQ(effective_prio(&t[1]), 11);
	unwind(2);
}

/* --- At the same time, on all CPUs -------------------------------------------------------------------------------- */

enum { ROUNDS = 2000 };

static int arrived[2][ROUNDS], told[ROUNDS];

static void meet(int stage, int round)
{
	__atomic_fetch_add(&arrived[stage][round], 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&arrived[stage][round], __ATOMIC_ACQUIRE) < 2)
		sched_yield();
}

static void embrace(void *mine_)
{
	RT_MUTEX *mine = (RT_MUTEX *)mine_, *theirs = mine == &m[0] ? &m[1] : &m[0];
	int round, result;

	for (round = 0; round < ROUNDS; round++) {
		CHECK_EQ(rt_mutex_acquire(mine, TM_INFINITE), 0);
		meet(0, round);
		result = rt_mutex_acquire(theirs, round % 2 ? TM_INFINITE : (RTIME)HOUR);
		CHECK(result == 0 || result == -EDEADLK);
		if (result == 0)
			CHECK_EQ(rt_mutex_release(theirs), 0);
		else
			__atomic_fetch_add(&told[round], 1, __ATOMIC_RELAXED);
		CHECK_OWNER(mine, rt_task_self());
		CHECK_EQ(rt_mutex_release(mine), 0);
		CHECK_EQ(rt_mutex_release(mine), -EPERM);
		meet(1, round);
	}
}

/* Each owns one and wants the other's: no round hangs, one at least is told. Two that look at the same moment may both
 * find themselves closing the cycle. */
static void two_that_close_a_cycle_together_both_go_on(void)
{
	RT_TASK task[2];
	int i;

	kit_unpin();
	MAKE_MUTEX(&m[0]);
	MAKE_MUTEX(&m[1]);
	for (i = 0; i < 2; i++)
		kit_spawn(&task[i], 0, embrace, &m[i]);
	for (i = 0; i < 2; i++)
		kit_join(&task[i]);
	for (i = 0; i < ROUNDS; i++)
		CHECK(told[i] == 1 || told[i] == 2);
	for (i = 0; i < 2; i++) {
		CHECK_UNOWNED(&m[i]);
		CHECK_EQ(rt_mutex_delete(&m[i]), 0);
	}
}

KIT_CASES(
	CASE(second_of_two_is_told), CASE(third_of_three_is_told), CASE(tenth_of_ten_is_told),
	CASE(waiters_outside_the_cycle_do_not_matter), CASE(polls_and_malformed_dates_come_first),
	CASE(cycle_is_told_before_a_past_date), CASE(told_task_waits_after_it_has_backed_off),
	CASE(nested_ownership_makes_a_cycle_too), CASE(chain_without_a_cycle_is_none),
	CASE(timed_out_link_opens_the_cycle), CASE(unblocked_link_opens_the_cycle), CASE(deleted_link_opens_the_cycle),
	CASE_KERNEL(refused_wait_leaves_no_boost), CASE(two_that_close_a_cycle_together_both_go_on))
