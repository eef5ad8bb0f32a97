/* A wait for memory ended, held up or moved by others: unblock, suspend, delete, priorities (heap.md 5, 8.12, 8.21). */
#include "kit.h"
#include "heap-kit.h"
#include "tasks.h"

static RT_HEAP heap;
static struct asker askers[4];
static void *all;

/* A heap of which nothing is left. */
static void make_full(int mode)
{
	MAKE_HEAP(&heap, 1024, mode);
	all = MUST_ALLOC(&heap, 1024);
}

static void free_block(void *block)
{
	CHECK_EQ(rt_heap_free(&heap, block), 0);
}

/* Nothing has been lost. */
static void end_empty(void)
{
	CHECK_HEAP(&heap, 0, 0);
	free_block(MUST_ALLOC(&heap, 1024));
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* ---- Unblock ------------------------------------------------------------------------------------------------------ */

/* heap.md 8.12, H4 */
static void unblock_hits_its_target_only(void)
{
	make_full(H_FIFO);
	start_asker(&askers[0], &heap, 512, 10, "target");
	start_asker(&askers[1], &heap, 512, 10, "other");
	start_timed_asker(&askers[2], &heap, 512, 10, "third", 3600000 * MS);
	CHECK_EQ(rt_task_unblock(&askers[0].task), 0);
	expect_failure(&askers[0], -EINTR, NULL);
	CHECK_HEAP(&heap, 2, 1024);
	CHECK(kit_blocked(&askers[1].task) && kit_blocked(&askers[2].task));
	CHECK_EQ(rt_task_unblock(&askers[2].task), 0);
	expect_failure(&askers[2], -EINTR, NULL);
	free_block(all);
	expect_block(&askers[1]);
	free_block(askers[1].block);
	end_empty();
}

static void free_then_unblock(void *block)
{
	int result;

	start_asker(&askers[0], &heap, 512, 10, "w");
	free_block(block);
	/* Without real priorities the task may have run, and ended, already. */
	result = rt_task_unblock(&askers[0].task);
	CHECK(result == 0 || result == -EINVAL);
}

static void granted_block_stays_with_an_unblocked_waiter(void)
{
	make_full(H_FIFO);
	as_task(KIT_BOSS_PRIO, free_then_unblock, all);
	expect_block(&askers[0]);
	CHECK_HEAP(&heap, 0, 512);
	free_block(askers[0].block);
	end_empty();
}

/* ---- Suspend ------------------------------------------------------------------------------------------------------ */

/* heap.md 5 */
static void suspended_waiter_is_served_and_returns_after_resume(void)
{
	make_full(H_PRIO);
	start_asker(&askers[0], &heap, 1024, 20, "woken");
	CHECK_EQ(rt_task_suspend(&askers[0].task), 0);
	CHECK_HEAP(&heap, 1, 1024);
	free_block(all);
	CHECK_HEAP(&heap, 0, 1024);
	CHECK(poll_block(&heap, 1) == NULL);
	kit_nap(5 * MS);
	mark("resume");
	CHECK_EQ(rt_task_resume(&askers[0].task), 0);
	expect_block(&askers[0]);
	expect_marks("resume woken");
	free_block(askers[0].block);
	end_empty();
}

static void wait_times_out_in_suspension(void)
{
	make_full(H_PRIO);
	start_timed_asker(&askers[0], &heap, 1024, 20, "woken", 200 * MS);
	CHECK_EQ(rt_task_suspend(&askers[0].task), 0);
	kit_nap(250 * MS);
	mark("resume");
	CHECK_EQ(rt_task_resume(&askers[0].task), 0);
	expect_failure(&askers[0], -ETIMEDOUT, NULL);
	expect_marks("resume woken");
	free_block(all);
	end_empty();
}

/* common.md 14.14 */
static void grant_in_suspension_outlives_the_date(void)
{
	make_full(H_PRIO);
	start_timed_asker(&askers[0], &heap, 1024, 20, "woken", 300 * MS);
	CHECK_EQ(rt_task_suspend(&askers[0].task), 0);
	free_block(all);
	kit_nap(350 * MS);
	CHECK_EQ(rt_task_resume(&askers[0].task), 0);
	expect_block(&askers[0]);
	free_block(askers[0].block);
	end_empty();
}

/* heap.md 4, decision 32 */
static void heap_deleted_under_a_granted_waiter(void)
{
	make_full(H_FIFO);
	start_asker(&askers[0], &heap, 512, 20, "granted");
	start_asker(&askers[1], &heap, 1024, 20, "waiting");
	CHECK_EQ(rt_task_suspend(&askers[0].task), 0);
	CHECK_EQ(rt_task_suspend(&askers[1].task), 0);
	free_block(all);
	CHECK_HEAP(&heap, 1, 512);
	CHECK_EQ(rt_heap_delete(&heap), 0);
	CHECK_EQ(rt_task_resume(&askers[0].task), 0);
	CHECK_EQ(rt_task_resume(&askers[1].task), 0);
	expect_failure(&askers[0], -EIDRM, NOWHERE);
	expect_failure(&askers[1], -EIDRM, NOWHERE);
}

/* ---- Delete ------------------------------------------------------------------------------------------------------- */

/* heap.md 8.21 */
static void deleted_waiter_takes_no_block(void)
{
	make_full(H_PRIO);
	start_asker(&askers[0], &heap, 1024, 20, "dead");
	CHECK_EQ(rt_task_delete(&askers[0].task), 0);
	kit_join(&askers[0].task);
	CHECK_HEAP(&heap, 0, 1024);
	free_block(all);
	CHECK_HEAP(&heap, 0, 0);
	all = MUST_ALLOC(&heap, 1024);
	start_asker(&askers[0], &heap, 1024, 20, "dead");
	start_asker(&askers[1], &heap, 1024, 10, "alive");
	CHECK_EQ(rt_task_delete(&askers[0].task), 0);
	kit_join(&askers[0].task);
	free_block(all);
	expect_block(&askers[1]);
	free_block(askers[1].block);
	expect_marks("alive");
	end_empty();
}

/* heap.md 5: given back, and the waiters served again. Suspended, so that it cannot run before it is deleted. */
static void block_of_a_deleted_grantee_is_given_back(void)
{
	make_full(H_PRIO);
	start_asker(&askers[0], &heap, 1024, 20, "dead");
	CHECK_EQ(rt_task_suspend(&askers[0].task), 0);
	free_block(all);
	CHECK_HEAP(&heap, 0, 1024);
	CHECK_EQ(rt_task_delete(&askers[0].task), 0);
	kit_join(&askers[0].task);
	CHECK_HEAP(&heap, 0, 0);
	expect_marks("");
	end_empty();

	make_full(H_PRIO);
	start_asker(&askers[0], &heap, 1024, 20, "dead");
	start_asker(&askers[1], &heap, 512, 10, "heir");
	start_asker(&askers[2], &heap, 512, 10, "other");
	CHECK_EQ(rt_task_suspend(&askers[0].task), 0);
	free_block(all);
	CHECK_HEAP(&heap, 2, 1024);
	CHECK_EQ(rt_task_delete(&askers[0].task), 0);
	kit_join(&askers[0].task);
	expect_block(&askers[1]);
	expect_block(&askers[2]);
	free_block(askers[1].block);
	free_block(askers[2].block);
	end_empty();
}

static void delete_the_grantee(void *block)
{
	start_asker(&askers[0], &heap, 1024, 10, "dead");
	start_asker(&askers[1], &heap, 512, 5, "heir");
	free_block(block);
	CHECK_EQ(rt_task_delete(&askers[0].task), 0);
	kit_join(&askers[0].task);
	expect_block(&askers[1]);
	free_block(askers[1].block);
}

static void grantee_deleted_before_it_runs(void)
{
	make_full(H_PRIO);
	as_task(KIT_BOSS_PRIO, delete_the_grantee, all);
	expect_marks("heir");
	end_empty();
}

static RT_SEM never;

static void hold_one(void *arg)
{
	(void)arg;
	all = MUST_ALLOC(&heap, 1024);
	rt_sem_p(&never, TM_INFINITE);
}

/* heap.md 5: blocks have no owner. */
static void end_of_a_task_frees_no_block(void)
{
	RT_TASK task;

	CHECK_EQ(rt_sem_create(&never, NULL, 0, S_FIFO), 0);
	MAKE_HEAP(&heap, 1024, H_FIFO);
	kit_spawn_blocked(&task, 10, hold_one, NULL);
	CHECK_EQ(rt_task_delete(&task), 0);
	kit_join(&task);
	CHECK_HEAP(&heap, 0, 1024);
	free_block(all);
	end_empty();
}

/* ---- Priorities --------------------------------------------------------------------------------------------------- */

static void change_and_serve(int mode, int whose, int prio, const char *order)
{
	static const int prios[] = { 10, 20, 30 };
	static const char *const tags[] = { "A", "B", "C" };
	int i;

	make_full(mode);
	for (i = 0; i < 3; i++)
		start_asker(&askers[i], &heap, 1024, prios[i], tags[i]);
	CHECK_EQ(rt_task_set_priority(&askers[whose].task, prio), 0);
	for (i = 0; i < 3; i++) {
		/* A block as large as the heap has but one place to be. */
		free_block(all);
		until(mark_count() == i + 1);
	}
	expect_marks(order);
	for (i = 0; i < 3; i++) {
		expect_block(&askers[i]);
		CHECK(askers[i].block == all);
	}
	free_block(all);
	end_empty();
	clear_marks();
}

/* common.md 9 */
static void changed_priority_moves_a_waiter(void)
{
	change_and_serve(H_PRIO, 0, 40, "A C B");
	change_and_serve(H_PRIO, 2, 5, "B A C");
	change_and_serve(H_PRIO, 0, 20, "C B A");
	change_and_serve(H_PRIO, 2, 20, "B C A");
	change_and_serve(H_PRIO, 1, 20, "C B A");
	change_and_serve(H_FIFO, 2, 99, "A B C");
}

KIT_CASES(
	CASE(unblock_hits_its_target_only), CASE(granted_block_stays_with_an_unblocked_waiter),
	CASE(suspended_waiter_is_served_and_returns_after_resume), CASE(wait_times_out_in_suspension),
	CASE(grant_in_suspension_outlives_the_date), CASE(heap_deleted_under_a_granted_waiter),
	CASE(deleted_waiter_takes_no_block), CASE(block_of_a_deleted_grantee_is_given_back),
	CASE_FIFO(grantee_deleted_before_it_runs), CASE(end_of_a_task_frees_no_block), CASE(changed_priority_moves_a_waiter))
