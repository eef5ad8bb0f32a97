/* Who gets a mutex, and when: order of service, changes of priority, hand-over. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"

enum { MOST = 5 };

static RT_MUTEX mutex, second;
static struct puppet owner, waiters[MOST];

static void hold_it(void)
{
	MAKE_MUTEX(&mutex);
	start(&owner, 5, NULL);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
}

static void queue_up(int i, int prio, const char *tag)
{
	start(&waiters[i], prio, tag);
	enqueue(&waiters[i], &mutex, TM_INFINITE);
}

/* Passes the mutex from waiter to waiter, without their marks for releases, and expects this order of service. Holds
 * with and without SCHED_FIFO: each waiter is asked to release after it has left its mark. */
static void serve(int count, const char *order)
{
	struct puppet *turn = &owner;
	int served, i;

	for (served = 0; served < count; served++) {
		RT_MUTEX_INFO info;
		struct puppet *next = NULL;

		CHECK_EQ(release(turn, &mutex), 0);
		until(mark_count() == served + 1);
		CHECK_EQ(rt_mutex_inquire(&mutex, &info), 0);
		for (i = 0; i < count; i++) {
			if (rt_task_same(&info.owner, &waiters[i].task))
				next = &waiters[i];
		}
		CHECK(next != NULL);
		CHECK_EQ(outcome(next), 0);
		next->tag = NULL;
		turn = next;
	}
	expect_marks(order);
	CHECK_EQ(release(turn, &mutex), 0);
	CHECK_UNOWNED(&mutex);
	dismiss(&owner);
	for (i = 0; i < count; i++)
		dismiss(&waiters[i]);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	clear_marks();
}

/* --- Order of service --------------------------------------------------------------------------------------------- */

/* mutex.md 10.15 */
static void highest_priority_is_served_first(void)
{
	hold_it();
	queue_up(0, 10, "10");
	queue_up(1, 30, "30");
	queue_up(2, 20, "20");
	serve(3, "30 20 10");
}

static void equals_are_served_in_order_of_arrival(void)
{
	hold_it();
	queue_up(0, 20, "20a");
	queue_up(1, 10, "10a");
	queue_up(2, 20, "20b");
	queue_up(3, 10, "10b");
	queue_up(4, 20, "20c");
	serve(5, "20a 20b 20c 10a 10b");
}

static void priority_zero_is_served_last(void)
{
	hold_it();
	queue_up(0, 0, "0a");
	queue_up(1, 99, "99");
	queue_up(2, 0, "0b");
	queue_up(3, 1, "1");
	queue_up(4, 0, "0c");
	serve(5, "99 1 0a 0b 0c");
}

static void timed_and_unlimited_waiters_share_the_order(void)
{
	hold_it();
	start(&waiters[0], 10, "10");
	enqueue(&waiters[0], &mutex, HOUR);
	queue_up(1, 30, "30");
	start(&waiters[2], 20, "20");
	tell_to_wait(&waiters[2], step_acquire_until, &mutex, rt_timer_read() + HOUR);
	serve(3, "30 20 10");
}

static void timed_out_waiter_leaves_the_others_queued(void)
{
	hold_it();
	queue_up(0, 10, "10");
	start(&waiters[1], 30, NULL);
	CHECK_EQ(acquire(&waiters[1], &mutex, 20 * MS), -ETIMEDOUT);
	CHECK(is_queued(&waiters[0]));
	waiters[1].tag = "late";
	enqueue(&waiters[1], &mutex, TM_INFINITE);
	serve(2, "late 10");
}

/* --- Changes of priority while waiting ---------------------------------------------------------------------------- */

static void set_prio(int i, int prio)
{
	RT_TASK_INFO info;

	CHECK_EQ(rt_task_set_priority(&waiters[i].task, prio), 0);
	CHECK_EQ(rt_task_inquire(&waiters[i].task, &info), 0);
	CHECK_EQ(info.prio, prio);
	CHECK(is_queued(&waiters[i]));
}

/* mutex.md 10.15 */
static void raised_waiter_overtakes(void)
{
	hold_it();
	queue_up(0, 10, "10-60");
	queue_up(1, 30, "30");
	queue_up(2, 20, "20");
	set_prio(0, 60);
	serve(3, "10-60 30 20");
}

static void lowered_waiter_falls_back(void)
{
	hold_it();
	queue_up(0, 30, "30-5");
	queue_up(1, 10, "10");
	queue_up(2, 20, "20");
	set_prio(0, 5);
	serve(3, "20 10 30-5");
}

static void changed_waiter_goes_behind_its_new_equals(void)
{
	hold_it();
	queue_up(0, 10, "10-20");
	queue_up(1, 30, "30-20");
	queue_up(2, 20, "20");
	set_prio(0, 20);
	set_prio(1, 20);
	serve(3, "20 10-20 30-20");
}

static void unchanged_priority_keeps_the_place(void)
{
	hold_it();
	queue_up(0, 20, "first");
	queue_up(1, 20, "second");
	set_prio(0, 20);
	serve(2, "first second");
}

static void waiter_crosses_priority_zero(void)
{
	hold_it();
	queue_up(0, 0, "0-20");
	queue_up(1, 10, "10");
	queue_up(2, 30, "30-0");
	set_prio(0, 20);
	set_prio(2, 0);
	serve(3, "0-20 10 30-0");
}

/* mutex.md 4: rank is by current priority, inheritance included. */
static void waiter_that_inherits_overtakes(void)
{
	struct puppet client;

	hold_it();
	MAKE_MUTEX(&second);
	start(&waiters[0], 10, NULL);
	CHECK_EQ(acquire(&waiters[0], &second, TM_INFINITE), 0);
	waiters[0].tag = "10-60";
	enqueue(&waiters[0], &mutex, TM_INFINITE);
	queue_up(1, 30, "30");
	start(&client, 60, NULL);
	enqueue(&client, &second, TM_INFINITE);
	serve(2, "10-60 30"); /* waiters[0] is dismissed as the owner of `second` */
	CHECK_EQ(outcome(&client), -EOWNERDEAD);
	CHECK_EQ(release(&client, &second), 0);
	dismiss(&client);
}

/* --- Hand-over ---------------------------------------------------------------------------------------------------- */

static int step_release_and_poll(RT_MUTEX *target, RTIME unused)
{
	(void)unused;
	CHECK_EQ(rt_mutex_release(target), 0);
	return rt_mutex_acquire(target, TM_NONBLOCK);
}

/* mutex.md 10.19 */
static void releaser_does_not_get_it_back(int owner_prio, int waiter_prio)
{
	MAKE_MUTEX(&mutex);
	start(&owner, owner_prio, NULL);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	queue_up(0, waiter_prio, NULL);
	CHECK_EQ(ask(&owner, step_release_and_poll, &mutex, 0), -EWOULDBLOCK);
	CHECK_EQ(outcome(&waiters[0]), 0);
	CHECK_OWNER(&mutex, &waiters[0].task);
	CHECK_EQ(release(&owner, &mutex), -EPERM);
	CHECK_EQ(release(&waiters[0], &mutex), 0);
	dismiss(&owner);
	dismiss(&waiters[0]);
}

static void releasers_poll_fails_with_a_lower_waiter(void)
{
	releaser_does_not_get_it_back(30, 10);
	releaser_does_not_get_it_back(30, 0);
}

static void releasers_poll_fails_with_a_higher_or_equal_waiter(void)
{
	releaser_does_not_get_it_back(10, 30);
	releaser_does_not_get_it_back(10, 10);
	releaser_does_not_get_it_back(0, 0);
}

/* mutex.md 10.20 */
static void only_the_last_release_hands_over(void)
{
	hold_it();
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	queue_up(0, 20, NULL);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK(is_queued(&waiters[0]));
	CHECK_OWNER(&mutex, &owner.task);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&waiters[0]), 0);
	CHECK_EQ(release(&owner, &mutex), -EPERM);
	/* Its depth is 1. */
	CHECK_EQ(release(&waiters[0], &mutex), 0);
	CHECK_EQ(release(&waiters[0], &mutex), -EPERM);
	dismiss(&owner);
	dismiss(&waiters[0]);
}

/* In a task that the others cannot preempt: what release() left, before the waiter runs. */
static void hand_over_and_look(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	queue_up(0, 10, NULL);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_OWNER(&mutex, &waiters[0].task);
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY);
	CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
	mark("looked");
}

static void waiter_is_the_owner_before_it_runs(void)
{
	MAKE_MUTEX(&mutex);
	kit_boss(hand_over_and_look);
	CHECK_EQ(outcome(&waiters[0]), 0);
	CHECK_EQ(release(&waiters[0], &mutex), 0);
	dismiss(&waiters[0]);
}

static void hand_over_and_mark(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	queue_up(0, 60, "higher");
	queue_up(1, 40, "lower");
	mark("release");
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	mark("released");
	CHECK_EQ(outcome(&waiters[0]), 0);
	waiters[0].tag = NULL;
	CHECK_EQ(release(&waiters[0], &mutex), 0);
	mark("released-again");
}

/* A waiter above the releaser runs before release returns, one below after. */
static void priority_decides_who_runs_after_a_release(void)
{
	MAKE_MUTEX(&mutex);
	kit_boss(hand_over_and_mark);
	CHECK_EQ(outcome(&waiters[1]), 0);
	expect_marks("release higher released released-again lower");
	waiters[1].tag = NULL;
	CHECK_EQ(release(&waiters[1], &mutex), 0);
}

static RT_SEM gate;

/* Let through before the release, of the same priority: it runs before the waiter. */
static void barge(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_sem_p(&gate, TM_INFINITE), 0);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_NONBLOCK), -EWOULDBLOCK);
	mark("refused");
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	mark("barger");
	CHECK_EQ(rt_mutex_release(&mutex), 0);
}

static void open_the_gate_and_release(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	queue_up(0, 10, "waiter");
	CHECK_EQ(rt_sem_v(&gate), 0);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	mark("released");
}

static void newcomer_does_not_overtake_the_waiter(void)
{
	RT_TASK barger;

	MAKE_MUTEX(&mutex);
	CHECK_EQ(rt_sem_create(&gate, NULL, 0, S_FIFO), 0);
	kit_spawn_blocked(&barger, 10, barge, NULL);
	kit_boss(open_the_gate_and_release);
	CHECK_EQ(outcome(&waiters[0]), 0);
	waiters[0].tag = NULL;
	CHECK_EQ(release(&waiters[0], &mutex), 0);
	kit_join(&barger);
	expect_marks("released refused waiter barger");
	dismiss(&waiters[0]);
}

static void release_and_outlast_the_date(void *arg)
{
	RTIME date;

	(void)arg;
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	start(&waiters[0], 10, "got-it");
	date = rt_timer_read() + 300 * MS;
	tell_to_wait(&waiters[0], step_acquire_until, &mutex, date);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	while (rt_timer_read() < date + 10 * MS)
		;
	mark("late");
}

static void hand_over_stands_though_the_date_passes_before_the_waiter_runs(void)
{
	MAKE_MUTEX(&mutex);
	kit_boss(release_and_outlast_the_date);
	CHECK_EQ(outcome(&waiters[0]), 0);
	expect_marks("late got-it");
	CHECK_OWNER(&mutex, &waiters[0].task);
}

KIT_CASES(
	CASE(highest_priority_is_served_first), CASE(equals_are_served_in_order_of_arrival),
	CASE(priority_zero_is_served_last), CASE(timed_and_unlimited_waiters_share_the_order),
	CASE(timed_out_waiter_leaves_the_others_queued), CASE(raised_waiter_overtakes), CASE(lowered_waiter_falls_back),
	CASE(changed_waiter_goes_behind_its_new_equals), CASE(unchanged_priority_keeps_the_place),
	CASE(waiter_crosses_priority_zero), CASE_KERNEL(waiter_that_inherits_overtakes),
	CASE(releasers_poll_fails_with_a_lower_waiter), CASE(releasers_poll_fails_with_a_higher_or_equal_waiter),
	CASE(only_the_last_release_hands_over), CASE_FIFO(waiter_is_the_owner_before_it_runs),
	CASE_FIFO(priority_decides_who_runs_after_a_release), CASE_FIFO(newcomer_does_not_overtake_the_waiter),
	CASE_FIFO(hand_over_stands_though_the_date_passes_before_the_waiter_runs))
