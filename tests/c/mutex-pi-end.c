/* Priority inheritance ends with the wait it comes from, and follows changes of priority. One CPU, SCHED_FIFO. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include "mutex-pi-kit.h"

/* --- The end of the boost ----------------------------------------------------------------------------------------- */

static void boost_ends_with_the_last_release(void)
{
	boost_it();
	CHECK_EQ(acquire(&low, &m1, TM_INFINITE), 0);
	CHECK_EQ(release(&low, &m1), 0);
	check_prio(&low, 40, 5);
	CHECK_EQ(release(&low, &m1), 0);
	CHECK_EQ(outcome(&high), 0);
	check_prio(&low, 5, 5);
	check_prio(&high, 40, 40);
	CHECK_EQ(release(&high, &m1), 0);
	end_both();
}

static void each_mutex_lends_its_own(void)
{
	boost_it();
	CHECK_EQ(acquire(&low, &m2, TM_INFINITE), 0);
	start(&mid, 20, NULL);
	enqueue(&mid, &m2, TM_INFINITE);
	check_prio(&low, 40, 5);
	CHECK_EQ(release(&low, &m1), 0);
	CHECK_EQ(outcome(&high), 0);
	check_prio(&low, 20, 5);
	CHECK_EQ(release(&low, &m2), 0);
	CHECK_EQ(outcome(&mid), 0);
	check_prio(&low, 5, 5);
	CHECK_EQ(release(&high, &m1), 0);
	CHECK_EQ(release(&mid, &m2), 0);
	dismiss(&mid);
	end_both();
}

/* mutex.md 10.18 */
static void boost_ends_when_the_waiter_times_out(void)
{
	make_both();
	start(&low, 5, NULL);
	start(&high, 40, NULL);
	CHECK_EQ(acquire(&low, &m1, TM_INFINITE), 0);
	enqueue(&high, &m1, 500 * MS);
	check_prio(&low, 40, 5);
	CHECK_EQ(outcome(&high), -ETIMEDOUT);
	check_prio(&low, 5, 5);
	CHECK_EQ(release(&low, &m1), 0);
	end_both();
}

static void boost_ends_when_the_waiter_is_unblocked(void)
{
	needs_interruptible_waits();
	boost_it();
	CHECK_EQ(rt_task_unblock(&high.task), 0);
	CHECK_EQ(outcome(&high), -EINTR);
	check_prio(&low, 5, 5);
	CHECK_EQ(release(&low, &m1), 0);
	end_both();
}

static void boost_ends_when_the_waiter_is_deleted(void)
{
	needs_interruptible_waits();
	boost_it();
	CHECK_EQ(rt_task_delete(&high.task), 0);
	check_prio(&low, 5, 5);
	CHECK_EQ(rt_task_join(&high.task), 0);
	CHECK_EQ(release(&low, &m1), 0);
	dismiss(&low);
}

static void boost_rests_while_the_waiter_is_suspended(void)
{
	needs_interruptible_waits();
	boost_it();
	CHECK_EQ(rt_task_suspend(&high.task), 0);
	check_prio(&low, 5, 5); /* one CPU: high has left the queue before this thread goes on */
	CHECK_EQ(rt_task_resume(&high.task), 0);
	until(is_queued(&high));
	check_prio(&low, 40, 5);
	CHECK_EQ(release(&low, &m1), 0);
	CHECK_EQ(outcome(&high), 0);
	CHECK_EQ(release(&high, &m1), 0);
	end_both();
}

static void dead_owners_boost_goes_to_nobody(void)
{
	boost_it();
	dismiss(&low);
	CHECK_EQ(outcome(&high), -EOWNERDEAD);
	check_prio(&high, 40, 40);
	start(&low, 5, NULL);
	check_prio(&low, 5, 5);
	CHECK_EQ(release(&high, &m1), 0);
	end_both();
}

/* --- Changes of priority ------------------------------------------------------------------------------------------ */

static void set_priority_changes_the_base_of_a_boosted_owner(void)
{
	boost_it();
	CHECK_EQ(rt_task_set_priority(&low.task, 10), 0);
	check_prio(&low, 40, 10);
	CHECK_EQ(rt_task_set_priority(&low.task, 45), 0);
	check_prio(&low, 45, 45);
	CHECK_EQ(rt_task_set_priority(&low.task, 0), 0);
	check_prio(&low, 40, 0);
	CHECK_EQ(rt_task_set_priority(&low.task, 7), 0);
	check_prio(&low, 40, 7);
	CHECK_EQ(release(&low, &m1), 0);
	CHECK_EQ(outcome(&high), 0);
	check_prio(&low, 7, 7);
	CHECK_EQ(release(&high, &m1), 0);
	CHECK_EQ(rt_task_set_priority(&low.task, 5), 0);
	end_both();
}

static void change_of_a_waiter_changes_the_boost(void)
{
	boost_it();
	CHECK_EQ(rt_task_set_priority(&high.task, 60), 0);
	check_prio(&low, 60, 5);
	CHECK_EQ(rt_task_set_priority(&high.task, 20), 0);
	check_prio(&low, 20, 5);
	CHECK_EQ(rt_task_set_priority(&high.task, 3), 0);
	check_prio(&low, 5, 5);
	CHECK_EQ(rt_task_set_priority(&high.task, 40), 0);
	check_prio(&low, 40, 5);
	CHECK(is_queued(&high));
	CHECK_EQ(release(&low, &m1), 0);
	CHECK_EQ(outcome(&high), 0);
	CHECK_EQ(release(&high, &m1), 0);
	end_both();
}

KIT_CASES(
	CASE_KERNEL(boost_ends_with_the_last_release), CASE_KERNEL(each_mutex_lends_its_own),
	CASE_KERNEL(boost_ends_when_the_waiter_times_out), CASE_KERNEL(boost_ends_when_the_waiter_is_unblocked),
	CASE_KERNEL(boost_ends_when_the_waiter_is_deleted), CASE_KERNEL(boost_rests_while_the_waiter_is_suspended),
	CASE_KERNEL(dead_owners_boost_goes_to_nobody), CASE_KERNEL(set_priority_changes_the_base_of_a_boosted_owner),
	CASE_KERNEL(change_of_a_waiter_changes_the_boost))
