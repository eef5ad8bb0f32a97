/* A wait for flags ended or held up by others: unblock, suspend, delete, signals of Linux. */
#include "kit.h"
#include "tasks.h"
#include "event-kit.h"

static RT_EVENT event;
static struct event_waiter waiters[3];
static struct event_waiter *const one = &waiters[0], *const two = &waiters[1], *const three = &waiters[2];

/* Nobody has returned, though all had the time to. */
static void nobody_has_returned(void)
{
	if (!kit_fifo())
		kit_nap(5 * MS);
	CHECK_EQ(mark_count(), 0);
}

/* --- Unblock ------------------------------------------------------------------------------------------------------ */

/* event.md 9.13, 9.7 */
static void unblock_hits_one_waiter_only(void)
{
	int mode;

	for (mode = EV_FIFO; mode <= EV_PRIO; mode++) {
		clear_marks();
		MAKE_EVENT(&event, 4, mode);
		await(one, &event, 1, EV_ALL, 10, "one");
		await_for(two, &event, 1, EV_ALL, 10, "two", HOUR);
		await(three, &event, 1, EV_ANY, 10, "three");
		CHECK_EQ(rt_task_unblock(&two->task), 0);
		CHECK_EVENT(&event, 4, 2); /* at once */
		CHECK_ENDED(two, -EINTR, UNTOUCHED);
		CHECK(kit_blocked(&one->task));
		CHECK(kit_blocked(&three->task));
		expect_marks("two");
		CHECK_EQ(rt_event_signal(&event, 1), 0);
		CHECK_ENDED(one, 0, 1);
		CHECK_ENDED(three, 0, 1);
		CHECK_EVENT(&event, 5, 0);
		CHECK_EQ(rt_event_delete(&event), 0);
	}
}

static void unblock_then_signal(void *arg)
{
	(void)arg;
	await(one, &event, 1, EV_ALL, 10, "one");
	CHECK_EQ(rt_task_unblock(&one->task), 0);
	CHECK_EVENT(&event, 0, 0);
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_EQ(rt_event_delete(&event), 0);
}

/* The first to decide wins. */
static void unblocked_waiter_takes_no_signal(void)
{
	MAKE_EVENT(&event, 0, EV_FIFO);
	kit_boss(unblock_then_signal);
	CHECK_ENDED(one, -EINTR, UNTOUCHED);
}

static int running, unblocked;

static void run_then_wait(void *arg)
{
	(void)arg;
	__atomic_store_n(&running, 1, __ATOMIC_RELEASE);
	until(__atomic_load_n(&unblocked, __ATOMIC_ACQUIRE)); /* sleeps, but not in the library */
	CHECK_EQ(rt_event_wait(&event, 1, NULL, EV_ALL, 20 * MS), -ETIMEDOUT);
}

static void unblock_is_not_remembered(void)
{
	RT_TASK task;

	MAKE_EVENT(&event, 0, EV_FIFO);
	kit_spawn(&task, 10, run_then_wait, NULL);
	until(__atomic_load_n(&running, __ATOMIC_ACQUIRE));
	CHECK_EQ(rt_task_unblock(&task), 0);
	__atomic_store_n(&unblocked, 1, __ATOMIC_RELEASE);
	kit_join(&task);
	CHECK_EVENT(&event, 0, 0);
}

/* --- Suspend ------------------------------------------------------------------------------------------------------ */

/* event.md 9.24 */
static void suspended_waiter_is_released(void)
{
	MAKE_EVENT(&event, 0, EV_PRIO);
	await(one, &event, 3, EV_ANY, 10, "one");
	CHECK_EQ(rt_task_suspend(&one->task), 0);
	CHECK_EVENT(&event, 0, 1); /* it keeps its place */
	CHECK_EQ(rt_event_signal(&event, 2), 0);
	CHECK_EVENT(&event, 2, 0);
	CHECK_EQ(rt_event_clear(&event, 2, NULL), 0);
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	nobody_has_returned();
	CHECK_EQ(rt_task_resume(&one->task), 0);
	CHECK_ENDED(one, 0, 2);
	CHECK_EVENT(&event, 1, 0);
}

/* common.md 14.13, 14.14: the date runs on, a release before it stands. */
static void date_passes_during_the_suspension(void)
{
	long long start = kit_now();

	MAKE_EVENT(&event, 0, EV_FIFO);
	await_for(one, &event, 1, EV_ALL, 10, "one", 200 * MS);
	await_for(two, &event, 2, EV_ALL, 10, "two", 200 * MS);
	CHECK_EQ(rt_task_suspend(&one->task), 0);
	CHECK_EQ(rt_task_suspend(&two->task), 0);
	if (event_waiters(&event) != 2)
		SKIP("too slow a machine: the date has passed already");
	CHECK_EQ(rt_event_signal(&event, 2), 0);
	until(kit_now() - start > 300 * MS);
	CHECK_EQ(mark_count(), 0);
	CHECK_EQ(rt_task_resume(&one->task), 0);
	CHECK_EQ(rt_task_resume(&two->task), 0);
	CHECK_ENDED(one, -ETIMEDOUT, UNTOUCHED);
	CHECK_ENDED(two, 0, 2);
	CHECK_EVENT(&event, 2, 0);
}

static void suspended_waiter_is_unblocked_or_its_group_deleted(void)
{
	MAKE_EVENT(&event, 0, EV_FIFO);
	await(one, &event, 1, EV_ALL, 10, "one");
	await(two, &event, 1, EV_ALL, 10, "two");
	CHECK_EQ(rt_task_suspend(&one->task), 0);
	CHECK_EQ(rt_task_suspend(&two->task), 0);
	CHECK_EQ(rt_task_unblock(&one->task), 0);
	CHECK_EVENT(&event, 0, 1);
	CHECK_EQ(rt_event_delete(&event), 0);
	nobody_has_returned();
	CHECK_EQ(rt_task_resume(&one->task), 0);
	CHECK_EQ(rt_task_resume(&two->task), 0);
	CHECK_ENDED(one, -EINTR, UNTOUCHED);
	CHECK_ENDED(two, -EIDRM, UNTOUCHED);
}

static void suspending_and_resuming_keeps_the_wait_alive(void)
{
	int i;

	MAKE_EVENT(&event, 0, EV_PRIO);
	await(one, &event, 1, EV_ALL, 10, "one");
	for (i = 0; i < 200; i++) {
		CHECK_EQ(rt_task_suspend(&one->task), 0);
		CHECK_EQ(rt_task_resume(&one->task), 0);
	}
	CHECK_EVENT(&event, 0, 1);
	nobody_has_returned();
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_ENDED(one, 0, 1);
}

/* --- Delete ------------------------------------------------------------------------------------------------------- */

static void note_cleanup(void *arg)
{
	(void)arg;
	mark("cleanup");
}

static void wait_with_cleanup(void *arg)
{
	(void)arg;
	pthread_cleanup_push(note_cleanup, NULL);
	rt_event_wait(&event, 1, NULL, EV_ALL, TM_INFINITE);
	mark("returned");
	pthread_cleanup_pop(0);
}

/* event.md 9.23, 5 */
static void deleted_waiter_leaves_no_trace(void)
{
	RT_TASK task;
	int suspended;

	for (suspended = 0; suspended <= 1; suspended++) {
		clear_marks();
		MAKE_EVENT(&event, 0, EV_FIFO);
		await(one, &event, 1, EV_ALL, 10, "one");
		kit_spawn_blocked(&task, 20, wait_with_cleanup, NULL);
		CHECK_EVENT(&event, 0, 2);
		if (suspended)
			CHECK_EQ(rt_task_suspend(&task), 0);
		CHECK_EQ(rt_task_delete(&task), 0);
		CHECK_EVENT(&event, 0, 1);
		expect_marks("cleanup");
		kit_join(&task);
		CHECK(kit_blocked(&one->task));
		CHECK_EQ(rt_event_signal(&event, 2), 0);
		CHECK_EQ(rt_event_clear(&event, 2, NULL), 0);
		CHECK_EVENT(&event, 0, 1);
		CHECK_EQ(rt_event_signal(&event, 1), 0);
		CHECK_ENDED(one, 0, 1);
		CHECK_EQ(rt_event_delete(&event), 0);
	}
}

static void last_waiter_is_deleted(void)
{
	RT_TASK task;

	MAKE_EVENT(&event, 0, EV_PRIO);
	kit_spawn_blocked(&task, 20, wait_with_cleanup, NULL);
	CHECK_EQ(rt_task_delete(&task), 0);
	CHECK_EVENT(&event, 0, 0);
	kit_join(&task);
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_EQ(rt_event_clear(&event, 1, NULL), 0);
	CHECK_EVENT(&event, 0, 0);
	await(one, &event, 1, EV_ALL, 10, "one");
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_ENDED(one, 0, 1);
	CHECK_EQ(rt_event_delete(&event), 0);
}

static RT_TASK victim;

static void signal_then_delete(void *arg)
{
	(void)arg;
	kit_spawn_blocked(&victim, 20, wait_with_cleanup, NULL);
	await(one, &event, 3, EV_ALL, 10, "one");
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_EQ(rt_task_delete(&victim), 0);
	CHECK_EVENT(&event, 1, 1);
	CHECK_EQ(rt_event_signal(&event, 2), 0);
	CHECK_EVENT(&event, 3, 0);
	CHECK_EQ(rt_event_clear(&event, 3, NULL), 0);
	CHECK_EQ(rt_event_delete(&event), 0);
}

/* Released, and deleted before it ran: where the Reference leaves a lock owned by the dead. */
static void released_waiter_is_deleted(void)
{
	MAKE_EVENT(&event, 0, EV_FIFO);
	kit_boss(signal_then_delete);
	kit_join(&victim);
	CHECK_ENDED(one, 0, 3);
}

/* --- Signals of Linux --------------------------------------------------------------------------------------------- */

static int signals_seen;

static void count_signal(int signal)
{
	(void)signal;
	__atomic_add_fetch(&signals_seen, 1, __ATOMIC_RELAXED);
}

static void count_sigusr1(int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = count_signal;
	action.sa_flags = flags;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
}

/* event.md 9.22 */
static void signal_handlers_do_not_end_the_wait(void)
{
	long long start;
	int flags, i;

#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer holds signals back");
#endif
	for (flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		count_sigusr1(flags);
		MAKE_EVENT(&event, 0, EV_FIFO);
		await(two, &event, 1, EV_ALL, 10, "two");
		start = kit_now();
		await_for(one, &event, 2, EV_ALL, 10, "one", 100 * MS);
		for (i = 0; i < 5; i++) {
			int seen = __atomic_load_n(&signals_seen, __ATOMIC_RELAXED);

			CHECK_EQ(pthread_kill(two->task.thread, SIGUSR1), 0);
			until(__atomic_load_n(&signals_seen, __ATOMIC_RELAXED) == seen + 1);
		}
		i = __atomic_load_n(&signals_seen, __ATOMIC_RELAXED);
		if (event_waiters(&event) == 2) { /* else the machine was too slow */
			CHECK_EQ(pthread_kill(one->task.thread, SIGUSR1), 0);
			until(__atomic_load_n(&signals_seen, __ATOMIC_RELAXED) == i + 1);
		}
		CHECK_ENDED(one, -ETIMEDOUT, UNTOUCHED);
		CHECK(kit_now() - start >= 100 * MS);
		CHECK_EVENT(&event, 0, 1);
		CHECK_EQ(rt_event_signal(&event, 1), 0);
		CHECK_ENDED(two, 0, 1);
		CHECK_EQ(rt_event_delete(&event), 0);
	}
}

KIT_CASES(
	CASE(unblock_hits_one_waiter_only), CASE(unblocked_waiter_takes_no_signal), CASE(unblock_is_not_remembered),
	CASE(suspended_waiter_is_released), CASE(date_passes_during_the_suspension),
	CASE(suspended_waiter_is_unblocked_or_its_group_deleted), CASE(suspending_and_resuming_keeps_the_wait_alive),
	CASE(deleted_waiter_leaves_no_trace), CASE(last_waiter_is_deleted), CASE_FIFO(released_waiter_is_deleted),
	CASE(signal_handlers_do_not_end_the_wait))
