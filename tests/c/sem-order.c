/* Who gets the token, and when the others notice: queue order, hand-off, broadcast, deletion under waiters. */
#include "kit.h"
#include "sem-kit.h"

enum { MOST = 4 };

/* Queues waiters in the given order of arrival, posts as often, and expects this order of service. Holds with and
 * without SCHED_FIFO: the next post waits until the last grantee has left its mark. */
static void serve_in_turn(int mode, const int *prios, const char *const *tags, int count, const char *order)
{
	struct waiter waiters[MOST];
	RT_SEM sem;
	int i;

	MAKE_SEM(&sem, 0, mode);
	for (i = 0; i < count; i++) {
		start_waiter(&waiters[i], &sem, prios[i], tags[i]);
		CHECK_SEM(&sem, 0, i + 1);
	}
	for (i = 0; i < count; i++) {
		CHECK_EQ(rt_sem_v(&sem), 0);
		CHECK_SEM(&sem, 0, count - i - 1);
		until(mark_count() == i + 1);
	}
	expect_marks(order);
	for (i = 0; i < count; i++)
		CHECK_EQ(end_waiter(&waiters[i]), 0);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void prio_queue_serves_highest_then_first(void)
{
	static const int prios[] = { 10, 20, 15, 20 };
	static const char *const tags[] = { "10", "20a", "15", "20b" };

	serve_in_turn(S_PRIO, prios, tags, 4, "20a 20b 15 10");
}

static void fifo_queue_serves_in_order_of_arrival(void)
{
	static const int prios[] = { 10, 30, 20 };
	static const char *const tags[] = { "10", "30", "20" };

	serve_in_turn(S_FIFO, prios, tags, 3, "10 30 20");
}

static void prio_queue_ranks_the_extremes(void)
{
	static const int prios[] = { 0, 99, 1, 0 };
	static const char *const tags[] = { "0a", "99", "1", "0b" };

	serve_in_turn(S_PRIO, prios, tags, 4, "99 1 0a 0b");
}

static void pulse_queue_keeps_its_order(void)
{
	static const int prios[] = { 10, 30, 20 };
	static const char *const tags[] = { "10", "30", "20" };

	serve_in_turn(S_PULSE, prios, tags, 3, "10 30 20");
	clear_marks();
	serve_in_turn(S_PULSE | S_PRIO, prios, tags, 3, "30 20 10");
}

/* --- The initial thread in the queue ------------------------------------------------------------------------------ */

static RT_SEM shared;
static struct waiter others[MOST];

static void queue_behind_main_and_post(void *prio)
{
	until(sem_waiters(&shared) == 1);
	start_waiter(&others[0], &shared, *(int *)prio, "task");
	CHECK_SEM(&shared, 0, 2);
	CHECK_EQ(rt_sem_v(&shared), 0);
	until(mark_count() == 1);
	CHECK_EQ(rt_sem_v(&shared), 0);
}

static void wait_before_a_task_of(int prio, const char *order)
{
	RT_TASK poster;

	MAKE_SEM(&shared, 0, S_PRIO);
	kit_spawn(&poster, 5, queue_behind_main_and_post, &prio);
	CHECK_EQ(rt_sem_p(&shared, TM_INFINITE), 0);
	mark("main");
	kit_join(&poster);
	CHECK_EQ(end_waiter(&others[0]), 0);
	expect_marks(order);
	CHECK_EQ(rt_sem_delete(&shared), 0);
}

static void initial_thread_ranks_below_tasks(void)
{
	wait_before_a_task_of(1, "task main");
}

static void initial_thread_ranks_with_priority_zero(void)
{
	wait_before_a_task_of(0, "main task");
}

/* --- Hand-off ----------------------------------------------------------------------------------------------------- */

static void higher_waiter_runs_before_post_returns(void)
{
	struct waiter waiter;
	RT_SEM sem;

	MAKE_SEM(&sem, 0, S_FIFO);
	start_waiter(&waiter, &sem, 10, "woken");
	mark("post");
	CHECK_EQ(rt_sem_v(&sem), 0);
	mark("posted");
	CHECK_EQ(end_waiter(&waiter), 0);
	expect_marks("post woken posted");
}

static void post_then_poll(void *arg)
{
	(void)arg;
	start_waiter(&others[0], &shared, 10, "woken");
	CHECK_EQ(rt_sem_v(&shared), 0);
	CHECK_EQ(rt_sem_p(&shared, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_SEM(&shared, 0, 0);
	mark("refused");
}

static void post_hands_token_to_waiter_not_to_newcomer(void)
{
	MAKE_SEM(&shared, 0, S_FIFO);
	kit_boss(post_then_poll);
	CHECK_EQ(end_waiter(&others[0]), 0);
	CHECK_SEM(&shared, 0, 0);
}

static void lower_waiter_runs_after_post(void)
{
	MAKE_SEM(&shared, 0, S_FIFO);
	kit_boss(post_then_poll);
	CHECK_EQ(end_waiter(&others[0]), 0);
	expect_marks("refused woken");
}

static void post_twice(void *arg)
{
	(void)arg;
	start_waiter(&others[0], &shared, 10, "first");
	start_waiter(&others[1], &shared, 20, "second");
	CHECK_EQ(rt_sem_v(&shared), 0);
	CHECK_SEM(&shared, 0, 1);
	CHECK_EQ(rt_sem_v(&shared), 0);
	CHECK_SEM(&shared, 0, 0);
	CHECK_EQ(rt_sem_v(&shared), 0);
	CHECK_SEM(&shared, 1, 0);
}

/* Posts in a row, before any grantee runs, reach different waiters, then the count. */
static void each_post_serves_another_waiter(void)
{
	MAKE_SEM(&shared, 0, S_FIFO);
	kit_boss(post_twice);
	CHECK_EQ(end_waiter(&others[0]), 0);
	CHECK_EQ(end_waiter(&others[1]), 0);
	CHECK_SEM(&shared, 1, 0);
}

static void pulse_once(void *arg)
{
	(void)arg;
	start_waiter(&others[0], &shared, 10, "head");
	start_waiter(&others[1], &shared, 20, "next");
	CHECK_EQ(rt_sem_v(&shared), 0);
	CHECK_SEM(&shared, 0, 1);
	until(mark_count() == 1);
	expect_marks("head");
	CHECK(kit_blocked(&others[1].task));
	CHECK_EQ(rt_sem_v(&shared), 0);
	CHECK_SEM(&shared, 0, 0);
	CHECK_EQ(rt_sem_v(&shared), 0);
	CHECK_SEM(&shared, 0, 0);
}

static void pulse_wakes_the_head_alone(void)
{
	MAKE_SEM(&shared, 0, S_PULSE);
	kit_boss(pulse_once);
	CHECK_EQ(end_waiter(&others[0]), 0);
	CHECK_EQ(end_waiter(&others[1]), 0);
	expect_marks("head next");
}

static void post_and_outlast_the_date(void *arg)
{
	RTIME date;

	(void)arg;
	start_timed_waiter(&others[0], &shared, 10, "woken", 200 * MS);
	date = rt_timer_read() + 200 * MS; /* no earlier than the waiter's */
	CHECK_SEM(&shared, 0, 1);
	CHECK_EQ(rt_sem_v(&shared), 0);
	while (rt_timer_read() < date + 10 * MS)
		;
	mark("late");
}

static void grant_stands_though_the_date_passes_before_the_waiter_runs(void)
{
	MAKE_SEM(&shared, 0, S_FIFO);
	kit_boss(post_and_outlast_the_date);
	CHECK_EQ(end_waiter(&others[0]), 0);
	expect_marks("late woken");
	CHECK_SEM(&shared, 0, 0);
}

static void outlast_the_date_and_post(void *arg)
{
	RTIME date;

	(void)arg;
	start_timed_waiter(&others[0], &shared, 10, "woken", 100 * MS);
	date = rt_timer_read() + 100 * MS;
	while (rt_timer_read() < date + 10 * MS)
		;
	CHECK_EQ(rt_sem_v(&shared), 0);
	mark("posted");
}

/* Either may win, but the token goes to exactly one place. */
static void post_after_the_date_neither_loses_nor_doubles_the_token(void)
{
	RT_SEM_INFO info;
	int result;

	MAKE_SEM(&shared, 0, S_FIFO);
	kit_boss(outlast_the_date_and_post);
	result = end_waiter(&others[0]);
	expect_marks("posted woken");
	CHECK_EQ(rt_sem_inquire(&shared, &info), 0);
	CHECK_EQ(info.nwaiters, 0);
	CHECK(result == 0 || result == -ETIMEDOUT);
	CHECK_EQ(info.count, result == 0 ? 0 : 1);
}

static void timed_out_waiter_leaves_the_others_queued(void)
{
	struct waiter patient, hasty;
	RT_SEM sem;

	MAKE_SEM(&sem, 0, S_FIFO);
	start_timed_waiter(&hasty, &sem, 10, "hasty", 200 * MS);
	start_waiter(&patient, &sem, 10, "patient");
	CHECK_EQ(end_waiter(&hasty), -ETIMEDOUT);
	CHECK_SEM(&sem, 0, 1);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(end_waiter(&patient), 0);
	CHECK_SEM(&sem, 0, 0);
	expect_marks("hasty patient");
}

/* --- Broadcast ---------------------------------------------------------------------------------------------------- */

static int boss_mode;
static const int wake_prios[3] = { 60, 80, 70 };
static const char *const wake_tags[3] = { "60", "80", "70" };

static void queue_three(void)
{
	int i;

	for (i = 0; i < 3; i++)
		start_waiter(&others[i], &shared, wake_prios[i], wake_tags[i]);
	CHECK_SEM(&shared, 0, 3);
}

static void end_three(int result)
{
	int i;

	for (i = 0; i < 3; i++)
		CHECK_EQ(end_waiter(&others[i]), result);
}

static void queue_three_and_broadcast(void *arg)
{
	(void)arg;
	queue_three();
	CHECK_EQ(rt_sem_broadcast(&shared), 0);
	mark("done");
	CHECK_SEM(&shared, 0, 0);
}

static void broadcast_wakes_everybody(void)
{
	static const int modes[] = { S_FIFO, S_PRIO, S_PULSE, S_PULSE | S_PRIO };
	unsigned i;

	for (i = 0; i < 4; i++) {
		MAKE_SEM(&shared, 0, modes[i]);
		kit_boss(queue_three_and_broadcast);
		end_three(0);
		CHECK_SEM(&shared, 0, 0);
		CHECK_EQ(rt_sem_p(&shared, TM_NONBLOCK), -EWOULDBLOCK);
		CHECK_EQ(rt_sem_delete(&shared), 0);
	}
}

static void broadcast_readies_in_queue_order(void)
{
	MAKE_SEM(&shared, 0, S_FIFO);
	kit_boss(queue_three_and_broadcast);
	end_three(0);
	expect_marks("60 80 70 done");
	CHECK_EQ(rt_sem_delete(&shared), 0);
	clear_marks();
	MAKE_SEM(&shared, 0, S_PRIO);
	kit_boss(queue_three_and_broadcast);
	end_three(0);
	expect_marks("80 70 60 done");
}

static void broadcast_then_fourth(void *arg)
{
	(void)arg;
	queue_three();
	CHECK_EQ(rt_sem_broadcast(&shared), 0);
	start_waiter(&others[3], &shared, 10, "fourth");
	end_three(0);
	CHECK_SEM(&shared, 0, 1);
	CHECK(kit_blocked(&others[3].task));
	CHECK_EQ(mark_count(), 3);
	CHECK_EQ(rt_sem_v(&shared), 0);
}

static void broadcast_does_not_reach_later_arrivals(void)
{
	MAKE_SEM(&shared, 0, S_FIFO);
	kit_boss(broadcast_then_fourth);
	CHECK_EQ(end_waiter(&others[3]), 0);
	CHECK_SEM(&shared, 0, 0);
}

/* --- Deletion ----------------------------------------------------------------------------------------------------- */

static void queue_three_and_delete(void *arg)
{
	(void)arg;
	queue_three();
	CHECK_EQ(rt_sem_delete(&shared), 0);
	mark("deleted");
	CHECK_EQ(rt_sem_v(&shared), -EINVAL);
	CHECK_EQ(rt_sem_p(&shared, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_sem_broadcast(&shared), -EINVAL);
	CHECK_EQ(rt_sem_delete(&shared), -EINVAL);
}

static void delete_tells_every_waiter(void)
{
	MAKE_SEM(&shared, 0, boss_mode);
	kit_boss(queue_three_and_delete);
	end_three(-EIDRM);
}

static void delete_readies_in_queue_order_before_it_returns(void)
{
	boss_mode = S_FIFO;
	delete_tells_every_waiter();
	expect_marks("60 80 70 deleted");
	clear_marks();
	boss_mode = S_PRIO;
	delete_tells_every_waiter();
	expect_marks("80 70 60 deleted");
}

static void delete_and_create_again(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_sem_create(&shared, "lingering", 0, S_FIFO), 0);
	start_waiter(&others[0], &shared, 10, "removed");
	CHECK_EQ(rt_sem_delete(&shared), 0);
	CHECK_EQ(rt_sem_create(&shared, "lingering", 1, S_FIFO), 0);
	CHECK_SEM(&shared, 1, 0);
	mark("created");
}

static void name_is_free_before_the_removed_waiter_runs(void)
{
	kit_boss(delete_and_create_again);
	CHECK_EQ(end_waiter(&others[0]), -EIDRM);
	CHECK_SEM(&shared, 1, 0); /* the removed waiter left the new one alone */
	if (kit_fifo())
		expect_marks("created removed");
}

static void post_and_delete(void *arg)
{
	(void)arg;
	start_waiter(&others[0], &shared, 10, "granted");
	start_waiter(&others[1], &shared, 10, "removed");
	CHECK_EQ(rt_sem_v(&shared), 0);
	CHECK_EQ(rt_sem_delete(&shared), 0);
	mark("deleted");
}

static void grant_before_deletion_stands(void)
{
	MAKE_SEM(&shared, 0, S_FIFO);
	kit_boss(post_and_delete);
	CHECK_EQ(end_waiter(&others[0]), 0);
	CHECK_EQ(end_waiter(&others[1]), -EIDRM);
	if (kit_fifo())
		expect_marks("deleted granted removed");
}

KIT_CASES(
	CASE(prio_queue_serves_highest_then_first),
	CASE(fifo_queue_serves_in_order_of_arrival),
	CASE(prio_queue_ranks_the_extremes),
	CASE(pulse_queue_keeps_its_order),
	CASE(initial_thread_ranks_below_tasks),
	CASE(initial_thread_ranks_with_priority_zero),
	CASE_FIFO(higher_waiter_runs_before_post_returns),
	CASE(post_hands_token_to_waiter_not_to_newcomer),
	CASE_FIFO(lower_waiter_runs_after_post),
	CASE(each_post_serves_another_waiter),
	CASE(pulse_wakes_the_head_alone),
	CASE_FIFO(grant_stands_though_the_date_passes_before_the_waiter_runs),
	CASE_FIFO(post_after_the_date_neither_loses_nor_doubles_the_token),
	CASE(timed_out_waiter_leaves_the_others_queued),
	CASE(broadcast_wakes_everybody),
	CASE_FIFO(broadcast_readies_in_queue_order),
	CASE(broadcast_does_not_reach_later_arrivals),
	CASE(delete_tells_every_waiter),
	CASE_FIFO(delete_readies_in_queue_order_before_it_returns),
	CASE(name_is_free_before_the_removed_waiter_runs),
	CASE(grant_before_deletion_stands)
)
