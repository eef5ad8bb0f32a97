/* Whose wait a signal ends: priorities, arrival, changes of priority; broadcast. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include "cond-kit.h"

enum { MOST = 5 };

static struct puppet waiters[MOST];
static struct puppet boss;

/* Queues waiters with these priorities in this order; each leaves its tag when it owns the mutex after the wait. */
static int step_tagged(RT_MUTEX *target, RTIME index)
{
	static const char *const tags[] = { "a", "b", "c", "d", "e" };

	CHECK_EQ(rt_mutex_acquire(target, TM_INFINITE), 0);
	CHECK_EQ(rt_cond_wait(&cond, target, TM_INFINITE), 0);
	CHECK_OWNER(target, rt_task_self());
	mark(tags[index]);
	CHECK_EQ(rt_mutex_release(target), 0);
	return 0;
}

static void queue_up(const int *prios, int count)
{
	int i;

	make_cond_and_mutex();
	for (i = 0; i < count; i++) {
		start(&waiters[i], prios[i], NULL);
		tell_to_wait(&waiters[i], step_tagged, &mutex, (RTIME)i);
	}
}

/* One after the other: the next signal waits until the last one's waiter has left its mark. */
static void signal_each(int count, const char *order)
{
	int i, before = mark_count();

	for (i = 1; i <= count; i++) {
		CHECK_EQ(rt_cond_signal(&cond), 0);
		until(mark_count() == before + i);
	}
	expect_marks(order);
}

static void end_all(int count)
{
	int i;

	for (i = 0; i < count; i++) {
		CHECK_EQ(outcome(&waiters[i]), 0);
		dismiss(&waiters[i]);
	}
	delete_cond_and_mutex();
	clear_marks();
}

/* cond.md 9.8, 9.10; without SCHED_FIFO as well */
static void highest_then_first(void)
{
	static const int mixed[] = { 10, 30, 20 }, equal[] = { 20, 20, 20 }, both[] = { 10, 20, 10, 20, 0 };
	static const int extremes[] = { 0, 99, 1, 0 };

	queue_up(mixed, 3);
	signal_each(3, "b c a");
	end_all(3);
	queue_up(equal, 3);
	signal_each(3, "a b c");
	end_all(3);
	queue_up(both, 5);
	signal_each(5, "b d a c e");
	end_all(5);
	queue_up(extremes, 4);
	signal_each(4, "b c a d");
	end_all(4);
}

/* cond.md 9.9: no generations */
static void later_waiter_of_higher_priority_is_served_first(void)
{
	static const int prios[] = { 10, 20 };

	queue_up(prios, 2);
	signal_each(1, "b");
	start(&waiters[2], 50, NULL);
	tell_to_wait(&waiters[2], step_tagged, &mutex, 2);
	signal_each(2, "b c a");
	end_all(3);
}

/* cond.md 9.11 */
static void priority_change_moves_a_waiter(void)
{
	static const int prios[] = { 10, 30 }, equal[] = { 20, 20, 30 };

	queue_up(prios, 2);
	CHECK_EQ(rt_task_set_priority(&waiters[0].task, 50), 0);
	signal_each(2, "a b");
	end_all(2);
	queue_up(prios, 2);
	CHECK_EQ(rt_task_set_priority(&waiters[1].task, 5), 0);
	signal_each(2, "a b");
	end_all(2);
	/* Behind its equals if it changes; in its place if it does not. */
	queue_up(equal, 3);
	CHECK_EQ(rt_task_set_priority(&waiters[0].task, 20), 0);
	CHECK_EQ(rt_task_set_priority(&waiters[2].task, 20), 0);
	signal_each(3, "a b c");
	end_all(3);
	queue_up(equal, 3);
	CHECK_EQ(rt_task_set_priority(&waiters[0].task, 30), 0);
	signal_each(3, "c a b");
	end_all(3);
}

static int step_signal_thrice_and_delete(RT_MUTEX *target, RTIME unused)
{
	(void)unused;
	CHECK_EQ(rt_mutex_acquire(target, TM_INFINITE), 0);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	CHECK_EQ(rt_cond_delete(&cond), -EBUSY);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	CHECK_EQ(rt_cond_delete(&cond), 0);
	CHECK_EQ(mark_count(), 0);
	return rt_mutex_release(target);
}

/* Signals in a row, before anybody could react, end different waits. */
static void each_signal_reaches_another_waiter(void)
{
	static const int prios[] = { 10, 10, 10 };

	queue_up(prios, 3);
	start(&boss, 50, NULL);
	CHECK_EQ(ask(&boss, step_signal_thrice_and_delete, &mutex, 0), 0);
	MAKE_COND(&cond);
	until(mark_count() == 3);
	dismiss(&boss);
	end_all(3);
}

/* cond.md 9.12 */
static void broadcast_lets_them_in_one_by_one(void)
{
	static const int prios[] = { 10, 30, 20, 40, 15 };
	int i;

	queue_up(prios, 5);
	start(&boss, 50, NULL);
	CHECK_EQ(acquire(&boss, &mutex, TM_INFINITE), 0);
	CHECK_EQ(ask(&boss, step_broadcast, &mutex, 0), 0);
	for (i = 0; i < 5; i++)
		until(is_queued(&waiters[i])); /* for the mutex, now */
	CHECK_EQ(mark_count(), 0);
	CHECK_EQ(rt_cond_delete(&cond), 0);
	MAKE_COND(&cond);
	CHECK_EQ(release(&boss, &mutex), 0);
	until(mark_count() == 5);
	expect_marks("d b c e a");
	dismiss(&boss);
	end_all(5);
}

static int step_wait_again(RT_MUTEX *target, RTIME unused)
{
	(void)unused;
	CHECK_EQ(rt_mutex_acquire(target, TM_INFINITE), 0);
	CHECK_EQ(rt_cond_wait(&cond, target, TM_INFINITE), 0);
	mark("first");
	CHECK_EQ(rt_cond_wait(&cond, target, TM_INFINITE), 0);
	mark("second");
	return rt_mutex_release(target);
}

/* It ends the waits of that moment: who waits again waits for the next. */
static void broadcast_does_not_reach_later_waits(void)
{
	make_cond_and_mutex();
	start(&waiters[0], 10, NULL);
	start(&waiters[1], 20, NULL);
	tell_to_wait(&waiters[0], step_wait_again, &mutex, 0);
	tell_to_wait(&waiters[1], step_wait_again, &mutex, 0);
	CHECK_EQ(rt_cond_broadcast(&cond), 0);
	until(mark_count() == 2);
	until(is_queued(&waiters[0]) && is_queued(&waiters[1]));
	expect_marks("first first");
	CHECK_EQ(rt_cond_broadcast(&cond), 0);
	CHECK_EQ(outcome(&waiters[0]), 0);
	CHECK_EQ(outcome(&waiters[1]), 0);
	expect_marks("first first second second");
	dismiss(&waiters[0]);
	dismiss(&waiters[1]);
	delete_cond_and_mutex();
}

static int step_signal_and_mark(RT_MUTEX *unused, RTIME unused_too)
{
	(void)unused;
	(void)unused_too;
	mark("signal");
	CHECK_EQ(rt_cond_signal(&cond), 0);
	mark("signalled");
	return 0;
}

static void higher_waiter_runs_before_signal_returns(void)
{
	static const int prios[] = { 20 };

	queue_up(prios, 1);
	start(&boss, 10, NULL);
	CHECK_EQ(ask(&boss, step_signal_and_mark, &mutex, 0), 0);
	expect_marks("signal a signalled");
	dismiss(&boss);
	end_all(1);
}

KIT_CASES(
	CASE(highest_then_first), CASE(later_waiter_of_higher_priority_is_served_first), CASE(priority_change_moves_a_waiter),
	CASE(each_signal_reaches_another_waiter), CASE(broadcast_lets_them_in_one_by_one),
	CASE(broadcast_does_not_reach_later_waits), CASE_FIFO(higher_waiter_runs_before_signal_returns))
