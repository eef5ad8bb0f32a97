/* A wait on a queue ended, held up or moved by others: unblock, suspend, delete, priorities (queue.md 8, Q6, Q13). */
#include "kit.h"
#include "queue-kit.h"
#include "tasks.h"

static RT_QUEUE queue;
static struct taker takers[4];

static void start_either(struct taker *taker, int receives, int prio, const char *tag)
{
	if (receives)
		start_receiver(taker, &queue, prio, tag);
	else
		start_reader(taker, &queue, prio, tag);
}

/* ---- Unblock ------------------------------------------------------------------------------------------------------ */

/* queue.md 11.23, Q6 */
static void unblock_hits_its_target_only(void)
{
	int receives;

	for (receives = 0; receives < 2; receives++) {
		MAKE_QUEUE(&queue, 4000, 0, Q_PRIO);
		start_either(&takers[0], receives, 20, "target");
		start_either(&takers[1], receives, 10, "other");
		start_either(&takers[2], !receives, 10, "third");
		CHECK_EQ(rt_task_unblock(&takers[0].task), 0);
		expect_failure(&takers[0], -EINTR);
		CHECK_QUEUE(&queue, 2, 0, 0);
		CHECK(kit_blocked(&takers[1].task) && kit_blocked(&takers[2].task));
		CHECK_EQ(write_text(&queue, "one", Q_NORMAL), 1);
		expect_text(&takers[1], "one");
		CHECK_EQ(write_text(&queue, "two", Q_NORMAL), 1);
		expect_text(&takers[2], "two");
		CHECK_EQ(rt_queue_free(&queue, takers[receives ? 1 : 2].buf), 0);
		CHECK_QUEUE(&queue, 0, 0, 0);
		CHECK_EQ(rt_queue_delete(&queue), 0);
	}
}

static void unblock_any_number_of_times(void)
{
	int i;

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	for (i = 0; i < 100; i++) {
		start_either(&takers[0], i % 2, 10, "w");
		CHECK_EQ(rt_task_unblock(&takers[0].task), 0);
		expect_failure(&takers[0], -EINTR);
		CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 0);
		EXPECT_READ(&queue, "text");
		clear_marks();
	}
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* Without real priorities the task may have run, and ended, already. */
static void unblock_or_miss(RT_TASK *task)
{
	int result = rt_task_unblock(task);

	CHECK(result == 0 || result == -EINVAL);
}

static void write_then_unblock(void *arg)
{
	(void)arg;
	start_either(&takers[0], 1, 10, "receiver");
	start_either(&takers[1], 0, 10, "reader");
	CHECK_EQ(write_text(&queue, "one", Q_NORMAL), 1);
	CHECK_EQ(write_text(&queue, "two", Q_NORMAL), 1);
	unblock_or_miss(&takers[0].task);
	unblock_or_miss(&takers[1].task);
}

/* queue.md 8: the message came first, though the waiter has not run yet. */
static void granted_message_stays_with_an_unblocked_waiter(void)
{
	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	kit_boss(write_then_unblock);
	expect_text(&takers[0], "one");
	expect_text(&takers[1], "two");
	CHECK_QUEUE(&queue, 0, 0, cost_of(3));
	CHECK_EQ(rt_queue_free(&queue, takers[0].buf), 0);
}

/* ---- Suspend ------------------------------------------------------------------------------------------------------ */

/* queue.md 11.30 */
static void suspended_waiter_is_served_and_returns_after_resume(void)
{
	int receives, sends;

	for (receives = 0; receives < 2; receives++)
		for (sends = 0; sends < 2; sends++) {
			MAKE_QUEUE(&queue, 4000, 0, Q_PRIO);
			start_either(&takers[0], receives, 20, "woken");
			CHECK_EQ(rt_task_suspend(&takers[0].task), 0);
			CHECK_QUEUE(&queue, 1, 0, 0);
			if (sends)
				CHECK_EQ(rt_queue_send(&queue, make_message(&queue, "text"), 4, Q_NORMAL), 1);
			else
				CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 1);
			CHECK_EQ(queue_waiters(&queue), 0);
			EXPECT_EMPTY(&queue);
			kit_nap(5 * MS);
			mark("resume");
			CHECK_EQ(rt_task_resume(&takers[0].task), 0);
			expect_text(&takers[0], "text");
			expect_marks("resume woken");
			clear_marks();
			if (receives)
				CHECK_EQ(rt_queue_free(&queue, takers[0].buf), 0);
			CHECK_QUEUE(&queue, 0, 0, 0);
			CHECK_EQ(rt_queue_delete(&queue), 0);
		}
}

static void wait_times_out_in_suspension(void)
{
	MAKE_QUEUE(&queue, 4000, 0, Q_PRIO);
	start_timed_receiver(&takers[0], &queue, 20, "woken", 200 * MS);
	CHECK_EQ(rt_task_suspend(&takers[0].task), 0);
	kit_nap(250 * MS);
	mark("resume");
	CHECK_EQ(rt_task_resume(&takers[0].task), 0);
	expect_failure(&takers[0], -ETIMEDOUT);
	expect_marks("resume woken");
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 0);
	EXPECT_READ(&queue, "text");
}

/* common.md 14.14 */
static void grant_in_suspension_outlives_the_date(void)
{
	MAKE_QUEUE(&queue, 4000, 0, Q_PRIO);
	start_timed_receiver(&takers[0], &queue, 20, "woken", 300 * MS);
	CHECK_EQ(rt_task_suspend(&takers[0].task), 0);
	CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 1);
	kit_nap(350 * MS);
	CHECK_EQ(rt_task_resume(&takers[0].task), 0);
	expect_text(&takers[0], "text");
	CHECK_QUEUE(&queue, 0, 0, cost_of(4));
}

/* Decision 32: who reads has the data already; who receives has a pointer into a pool that is gone. */
static void queue_deleted_under_a_granted_waiter(void)
{
	int broadcast;

	for (broadcast = 0; broadcast < 2; broadcast++) {
		int i;

		MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
		start_either(&takers[0], 1, 20, "receiver");
		start_either(&takers[1], 0, 20, "reader");
		start_either(&takers[2], 0, 20, "another");
		for (i = 0; i < 3; i++)
			CHECK_EQ(rt_task_suspend(&takers[i].task), 0);
		if (broadcast) {
			CHECK_EQ(write_text(&queue, "text", Q_BROADCAST), 3);
		} else {
			CHECK_EQ(write_text(&queue, "lost", Q_NORMAL), 1);
			CHECK_EQ(rt_queue_send(&queue, make_message(&queue, "text"), 4, Q_NORMAL), 1);
			CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 1);
		}
		CHECK_EQ(rt_queue_delete(&queue), 0);
		for (i = 0; i < 3; i++)
			CHECK_EQ(rt_task_resume(&takers[i].task), 0);
		expect_failure(&takers[0], -EIDRM);
		expect_text(&takers[1], "text");
		expect_text(&takers[2], "text");
	}
}

/* ---- Delete ------------------------------------------------------------------------------------------------------- */

/* queue.md 11.31 */
static void deleted_waiter_takes_no_message(void)
{
	int receives;

	MAKE_QUEUE(&queue, 4000, 0, Q_PRIO);
	for (receives = 0; receives < 2; receives++) {
		start_either(&takers[0], receives, 20, "dead");
		start_either(&takers[1], receives, 10, "alive");
		CHECK_EQ(rt_task_delete(&takers[0].task), 0);
		CHECK_QUEUE(&queue, 1, 0, 0);
		CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 1);
		expect_text(&takers[1], "text");
		if (receives)
			CHECK_EQ(rt_queue_free(&queue, takers[1].buf), 0);
		kit_join(&takers[0].task);
		CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 0);
		CHECK_QUEUE(&queue, 0, 1, cost_of(4));
		EXPECT_READ(&queue, "text");
	}
	expect_marks("alive alive");
}

/* queue.md 8, Q13: suspended, so that it cannot run before it is deleted. */
static void message_of_a_deleted_grantee_is_dropped(void)
{
	int receives, way;

	MAKE_QUEUE(&queue, 4000, 0, Q_PRIO);
	for (receives = 0; receives < 2; receives++)
		for (way = 0; way < 4; way++) {
			start_either(&takers[0], receives, 20, "dead");
			CHECK_EQ(rt_task_suspend(&takers[0].task), 0);
			if (way < 2)
				CHECK_EQ(write_text(&queue, "text", way ? Q_BROADCAST : Q_NORMAL), 1);
			else
				CHECK_EQ(rt_queue_send(&queue, make_message(&queue, "text"), 4, way > 2 ? Q_BROADCAST : Q_NORMAL), 1);
			CHECK_EQ(rt_task_delete(&takers[0].task), 0);
			kit_join(&takers[0].task);
			CHECK_QUEUE(&queue, 0, 0, 0);
			EXPECT_EMPTY(&queue);
		}
	expect_marks("");
}

static void delete_the_grantee(void *arg)
{
	(void)arg;
	start_either(&takers[0], 1, 10, "dead");
	start_either(&takers[1], 1, 5, "next");
	CHECK_EQ(write_text(&queue, "lost", Q_NORMAL), 1);
	CHECK_EQ(rt_task_delete(&takers[0].task), 0);
	kit_join(&takers[0].task);
	CHECK_QUEUE(&queue, 1, 0, 0);
	CHECK_EQ(write_text(&queue, "next", Q_NORMAL), 1);
	expect_text(&takers[1], "next");
	CHECK_EQ(rt_queue_free(&queue, takers[1].buf), 0);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

static void grantee_deleted_before_it_runs(void)
{
	MAKE_QUEUE(&queue, 4000, 0, Q_PRIO);
	kit_boss(delete_the_grantee);
	expect_marks("next");
}

/* A broadcast that one of its receivers does not live to see is still one block for the others. */
static void one_grantee_of_a_broadcast_is_deleted(void)
{
	int i;

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	for (i = 0; i < 3; i++) {
		start_either(&takers[i], 1, 20, "w");
		CHECK_EQ(rt_task_suspend(&takers[i].task), 0);
	}
	CHECK_EQ(write_text(&queue, "text", Q_BROADCAST), 3);
	CHECK_EQ(rt_task_delete(&takers[1].task), 0);
	kit_join(&takers[1].task);
	for (i = 0; i < 3; i += 2) {
		CHECK_QUEUE(&queue, 0, 0, cost_of(4));
		CHECK_EQ(rt_task_resume(&takers[i].task), 0);
		expect_text(&takers[i], "text");
		CHECK_EQ(rt_queue_free(&queue, takers[i].buf), 0);
	}
	CHECK_QUEUE(&queue, 0, 0, 0);
}

static RT_SEM never;
static void *held;

static void hold_one(void *arg)
{
	(void)arg;
	held = make_message(&queue, "held");
	rt_sem_p(&never, TM_INFINITE);
}

/* queue.md 3: messages belong to no task. */
static void end_of_a_task_frees_no_message(void)
{
	RT_TASK task;

	CHECK_EQ(rt_sem_create(&never, NULL, 0, S_FIFO), 0);
	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	kit_spawn_blocked(&task, 10, hold_one, NULL);
	CHECK_EQ(rt_task_delete(&task), 0);
	kit_join(&task);
	CHECK_QUEUE(&queue, 0, 0, cost_of(4));
	CHECK_EQ(rt_queue_send(&queue, held, 4, Q_NORMAL), 0);
	EXPECT_READ(&queue, "held");
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* ---- Priorities --------------------------------------------------------------------------------------------------- */

static void change_and_serve(int mode, int whose, int prio, const char *order)
{
	static const int prios[] = { 10, 20, 30 };
	static const char *const tags[] = { "A", "B", "C" };
	int i;

	MAKE_QUEUE(&queue, 4000, 0, mode);
	for (i = 0; i < 3; i++)
		start_either(&takers[i], 0, prios[i], tags[i]);
	CHECK_EQ(rt_task_set_priority(&takers[whose].task, prio), 0);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 1);
		until(mark_count() == i + 1);
	}
	expect_marks(order);
	for (i = 0; i < 3; i++)
		expect_text(&takers[i], "text");
	CHECK_EQ(rt_queue_delete(&queue), 0);
	clear_marks();
}

/* common.md 9 */
static void changed_priority_moves_a_waiter(void)
{
	change_and_serve(Q_PRIO, 0, 40, "A C B");
	change_and_serve(Q_PRIO, 2, 5, "B A C");
	change_and_serve(Q_PRIO, 0, 20, "C B A");
	change_and_serve(Q_PRIO, 2, 20, "B C A");
	change_and_serve(Q_PRIO, 1, 20, "C B A");
	change_and_serve(Q_FIFO, 2, 99, "A B C");
}

KIT_CASES(
	CASE(unblock_hits_its_target_only), CASE(unblock_any_number_of_times), CASE(granted_message_stays_with_an_unblocked_waiter),
	CASE(suspended_waiter_is_served_and_returns_after_resume), CASE(wait_times_out_in_suspension),
	CASE(grant_in_suspension_outlives_the_date), CASE(queue_deleted_under_a_granted_waiter),
	CASE(deleted_waiter_takes_no_message), CASE(message_of_a_deleted_grantee_is_dropped),
	CASE_FIFO(grantee_deleted_before_it_runs), CASE(one_grantee_of_a_broadcast_is_deleted),
	CASE(end_of_a_task_frees_no_message), CASE(changed_priority_moves_a_waiter))
