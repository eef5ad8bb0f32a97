/* Priority inheritance: whoever owns what others wait for runs at their priority. One CPU, SCHED_FIFO. Its end is in
 * mutex-pi-end. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include "mutex-pi-kit.h"

static struct puppet other;

/* Lets a puppet release and computes for at most 300 ms, or until `marks` are there. With inheritance the puppet
 * preempts it within rt_sem_v; without, the puppet's steps come when it has given up. */
struct spinner {
	struct puppet *puppet;
	RT_MUTEX *mutex;
	int marks;
};

static void spin(void *spinner_)
{
	struct spinner *spinner = (struct spinner *)spinner_;
	long long end = kit_now() + 300 * MS;

	mark("spin");
	tell(spinner->puppet, step_release, spinner->mutex, 0);
	while (mark_count() < spinner->marks && kit_now() < end)
		;
	mark("spun");
}

/* --- The boost ---------------------------------------------------------------------------------------------------- */

/* mutex.md 10.16 */
static void middle_priority_does_not_starve_the_owner(void)
{
	struct spinner spinner = { &low, &m1, 2 };
	RT_TASK task;

	boost_it();
	high.tag = "high";
	low.tag = "low";
	kit_spawn(&task, 20, spin, &spinner);
	kit_join(&task);
	CHECK_EQ(outcome(&high), 0);
	CHECK_EQ(outcome(&low), 0);
	/* low hands over and is low again: its own mark comes last. */
	expect_marks("spin high spun low");
	high.tag = NULL;
	CHECK_EQ(release(&high, &m1), 0);
	low.tag = NULL;
	end_both();
}

static RT_SEM held;

static void work(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_mutex_acquire(&m1, TM_INFINITE), 0);
	CHECK_EQ(rt_sem_v(&held), 0); /* the boss goes on here */
	mark("works");
	CHECK_EQ(rt_mutex_release(&m1), 0);
	mark("back");
}

static void want(void *arg)
{
	(void)arg;
	mark("wants");
	CHECK_EQ(rt_mutex_acquire(&m1, TM_INFINITE), 0);
	mark("has");
	CHECK_EQ(rt_mutex_release(&m1), 0);
}

static void interrupt_the_work(void *arg)
{
	RT_TASK worker, wanter;

	(void)arg;
	kit_spawn(&worker, 5, work, NULL);
	CHECK_EQ(rt_sem_p(&held, TM_INFINITE), 0);
	mark("boss");
	kit_spawn(&wanter, 60, want, NULL); /* the boss (50) is the middle priority */
	mark("boss-again");
	kit_join(&worker);
	kit_join(&wanter);
}

/* An owner preempted in its own code goes on at once, at the waiter's level, until it releases. */
static void preempted_owner_goes_on_when_a_higher_task_waits(void)
{
	MAKE_MUTEX(&m1);
	CHECK_EQ(rt_sem_create(&held, NULL, 0, S_FIFO), 0);
	kit_boss(interrupt_the_work);
	expect_marks("boss wants works has boss-again back");
}

static void owner_of_priority_zero_is_boosted(void)
{
	MAKE_MUTEX(&m1);
	start(&low, 0, NULL);
	start(&high, 40, NULL);
	CHECK_EQ(acquire(&low, &m1, TM_INFINITE), 0);
	check_prio(&low, 0, 0);
	enqueue(&high, &m1, TM_INFINITE);
	check_prio(&low, 40, 0);
	CHECK_EQ(release(&low, &m1), 0);
	CHECK_EQ(outcome(&high), 0);
	check_prio(&low, 0, 0);
	dismiss(&low);
	dismiss(&high);
}

static void owner_runs_at_the_highest_of_its_waiters(void)
{
	boost_it();
	start(&mid, 20, NULL);
	enqueue(&mid, &m1, TM_INFINITE);
	check_prio(&low, 40, 5);
	start(&other, 70, NULL);
	CHECK_EQ(acquire(&other, &m1, 10 * MS), -ETIMEDOUT);
	check_prio(&low, 40, 5);
	enqueue(&other, &m1, TM_INFINITE);
	check_prio(&low, 70, 5);
	/* The next owner inherits from those that stay. */
	CHECK_EQ(release(&low, &m1), 0);
	CHECK_EQ(outcome(&other), 0);
	check_prio(&low, 5, 5);
	CHECK_EQ(rt_task_set_priority(&other.task, 10), 0);
	check_prio(&other, 40, 10);
	CHECK_EQ(release(&other, &m1), 0);
	CHECK_EQ(outcome(&high), 0);
	check_prio(&other, 10, 10);
	check_prio(&high, 40, 40);
	CHECK_EQ(release(&high, &m1), 0);
	CHECK_EQ(outcome(&mid), 0);
	CHECK_EQ(release(&mid, &m1), 0);
	dismiss(&mid);
	dismiss(&other);
	end_both();
}

static void new_owner_is_boosted_by_newcomers(void)
{
	boost_it();
	CHECK_EQ(release(&low, &m1), 0);
	CHECK_EQ(outcome(&high), 0);
	start(&other, 70, NULL);
	enqueue(&other, &m1, TM_INFINITE);
	check_prio(&high, 70, 40);
	check_prio(&low, 5, 5);
	CHECK_EQ(release(&high, &m1), 0);
	CHECK_EQ(outcome(&other), 0);
	check_prio(&high, 40, 40);
	CHECK_EQ(release(&other, &m1), 0);
	dismiss(&other);
	end_both();
}

/* --- Chains ------------------------------------------------------------------------------------------------------- */

/* `low` owns m1; `mid` (20) owns m2 and waits for m1; `high` (40) is still free. */
static void chain_up(void)
{
	make_both();
	start(&low, 5, NULL);
	start(&mid, 20, NULL);
	start(&high, 40, NULL);
	CHECK_EQ(acquire(&low, &m1, TM_INFINITE), 0);
	CHECK_EQ(acquire(&mid, &m2, TM_INFINITE), 0);
	enqueue(&mid, &m1, TM_INFINITE);
	check_prio(&low, 20, 5);
}

/* mutex.md 10.17 */
static void boost_travels_along_a_chain(void)
{
	struct spinner spinner = { &low, &m1, 2 };
	RT_TASK task;

	chain_up();
	enqueue(&high, &m2, TM_INFINITE);
	check_prio(&low, 40, 5);
	check_prio(&mid, 40, 20);
	mid.tag = "mid";
	kit_spawn(&task, 30, spin, &spinner);
	kit_join(&task);
	CHECK_EQ(outcome(&mid), 0);
	CHECK_EQ(outcome(&low), 0);
	expect_marks("spin mid spun");
	mid.tag = NULL;
	check_prio(&low, 5, 5);
	check_prio(&mid, 40, 20);
	CHECK_EQ(release(&mid, &m2), 0);
	CHECK_EQ(outcome(&high), 0);
	check_prio(&mid, 20, 20);
	CHECK_EQ(release(&mid, &m1), 0);
	CHECK_EQ(release(&high, &m2), 0);
	dismiss(&mid);
	end_both();
}

static void end_of_a_wait_shows_along_the_chain(void)
{
	chain_up();
	CHECK_EQ(acquire(&high, &m2, 20 * MS), -ETIMEDOUT);
	check_prio(&mid, 20, 20);
	check_prio(&low, 20, 5);
	enqueue(&high, &m2, TM_INFINITE);
	check_prio(&low, 40, 5);
	CHECK_EQ(rt_task_set_priority(&high.task, 60), 0);
	check_prio(&mid, 60, 20);
	check_prio(&low, 60, 5);
	CHECK_EQ(rt_task_set_priority(&high.task, 40), 0);
	check_prio(&low, 40, 5);
	CHECK_EQ(release(&low, &m1), 0);
	CHECK_EQ(outcome(&mid), 0);
	CHECK_EQ(release(&mid, &m1), 0);
	check_prio(&mid, 40, 20);
	CHECK_EQ(release(&mid, &m2), 0);
	CHECK_EQ(outcome(&high), 0);
	CHECK_EQ(release(&high, &m2), 0);
	dismiss(&mid);
	end_both();
}

/* The link in the middle leaves: low loses what came through it. */
static void unblocked_link_cuts_the_chain(void)
{
	needs_interruptible_waits();
	chain_up();
	enqueue(&high, &m2, TM_INFINITE);
	CHECK_EQ(rt_task_unblock(&mid.task), 0);
	CHECK_EQ(outcome(&mid), -EINTR);
	check_prio(&low, 5, 5);
	check_prio(&mid, 40, 20);
	CHECK_EQ(release(&mid, &m2), 0);
	CHECK_EQ(outcome(&high), 0);
	CHECK_EQ(release(&high, &m2), 0);
	CHECK_EQ(release(&low, &m1), 0);
	dismiss(&mid);
	end_both();
}

KIT_CASES(
	CASE_KERNEL(middle_priority_does_not_starve_the_owner),
	CASE_FIFO(preempted_owner_goes_on_when_a_higher_task_waits), CASE_KERNEL(owner_of_priority_zero_is_boosted),
	CASE_KERNEL(owner_runs_at_the_highest_of_its_waiters), CASE_KERNEL(new_owner_is_boosted_by_newcomers),
	CASE_KERNEL(boost_travels_along_a_chain), CASE_KERNEL(end_of_a_wait_shows_along_the_chain),
	CASE_KERNEL(unblocked_link_cuts_the_chain))
