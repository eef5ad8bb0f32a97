/* pthread_cancel on tasks. A wait honours it at its entry, and at its end if it came to nothing: who has got something keeps
 * it until the next wait. It wakes nobody, and whatever its type, it leaves no trace in a queue. */
#include "kit.h"
#include "tasks.h"
#include "child.h"
#include "sem-kit.h"

static RT_SEM sem;
static RT_TASK target;

/* ---- A request from before the wait ------------------------------------------------------------------------------ */

/* They end by themselves, where the request is not honoured. */
static int call_p(void) { return rt_sem_p(&sem, 20 * MS); }
static int call_p_until(void) { return rt_sem_p_until(&sem, rt_timer_read() + 20 * MS); }
static int call_sleep(void) { return rt_task_sleep(20 * MS); }
static int call_sleep_until(void) { return rt_task_sleep_until(rt_timer_read() + 20 * MS); }
static int call_join(void) { return rt_task_join(&target); }

static int call_p_timed(void)
{
	struct timespec past = { 1, 0 };

	return rt_sem_p_timed(&sem, &past);
}

static int call_sem_bind(void)
{
	RT_SEM bound;

	return rt_sem_bind(&bound, "absent", 20 * MS);
}

static int call_task_bind(void)
{
	RT_TASK bound;

	return rt_task_bind(&bound, "absent", 20 * MS);
}

struct victim {
	RT_TASK task;
	int (*first)(void);
	int (*second)(void); /* may be NULL */
	int may_go;
	int calls;           /* that have returned */
	int result;          /* of the last one */
};

static void call_when_told(void *victim_)
{
	struct victim *victim = (struct victim *)victim_;

	while (!__atomic_load_n(&victim->may_go, __ATOMIC_ACQUIRE))
		sched_yield();
	victim->result = victim->first();
	victim->calls++;
	if (victim->second) {
		victim->result = victim->second();
		victim->calls++;
	}
}

/* Cancels a task that then makes the calls; tells how many of them returned. */
static int calls_of_a_cancelled_task(struct victim *victim)
{
	victim->may_go = victim->calls = 0;
	victim->result = 1;
	kit_spawn(&victim->task, 0, call_when_told, victim);
	CHECK_EQ(pthread_cancel(victim->task.thread), 0);
	__atomic_store_n(&victim->may_go, 1, __ATOMIC_RELEASE);
	kit_join(&victim->task);
	return victim->calls;
}

static void pending_cancel_ends_each_wait_at_its_entry(void)
{
	static const struct {
		const char *name;
		int (*call)(void);
	} waits[] = {
		{ "rt_sem_p", call_p }, { "rt_sem_p_until", call_p_until }, { "rt_sem_p_timed", call_p_timed },
		{ "rt_task_sleep", call_sleep }, { "rt_task_sleep_until", call_sleep_until },
		{ "rt_sem_bind", call_sem_bind }, { "rt_task_bind", call_task_bind },
	};
	struct victim victim = { .second = NULL };
	unsigned i;

	MAKE_SEM(&sem, 0, S_PRIO);
	for (i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		victim.first = waits[i].call;
		if (calls_of_a_cancelled_task(&victim) != 0)
			kit_fail(__FILE__, __LINE__, "%s returned %d", waits[i].name, victim.result);
		CHECK_SEM(&sem, 0, 0);
	}
}

/* No wait, no cancellation point. */
static void unit_at_hand_is_taken_all_the_same(void)
{
	struct victim victim = { .first = call_p, .second = call_p };

	MAKE_SEM(&sem, 1, S_PRIO);
	CHECK_EQ(calls_of_a_cancelled_task(&victim), 1);
	CHECK_EQ(victim.result, 0);
	CHECK_SEM(&sem, 0, 0);
}

static void wait_a_little(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_sem_p(&sem, 50 * MS), -ETIMEDOUT);
}

static void cancelled_joiner_leaves_the_task_joinable(void)
{
	struct victim joiner = { .first = call_join, .second = NULL };

	MAKE_SEM(&sem, 0, S_PRIO);
	kit_spawn(&target, 0, wait_a_little, NULL);
	CHECK_EQ(calls_of_a_cancelled_task(&joiner), 0);
	kit_join(&target);
}

/* ---- A request during the wait ----------------------------------------------------------------------------------- */

static int first_result, second_returned;

static void take_two(void *arg)
{
	(void)arg;
	first_result = rt_sem_p(&sem, TM_INFINITE);
	rt_sem_p(&sem, 20 * MS);
	second_returned = 1;
}

static void start_and_cancel(RT_TASK *task)
{
	first_result = 1;
	second_returned = 0;
	MAKE_SEM(&sem, 0, S_PRIO);
	kit_spawn_blocked(task, 10, take_two, NULL);
	CHECK_EQ(pthread_cancel(task->thread), 0);
	kit_nap(2 * MS);
	CHECK(kit_blocked(task)); /* a sleeper is not woken */
	CHECK_SEM(&sem, 0, 1);
}

static void cancelled_waiter_that_is_served_keeps_its_unit(void)
{
	RT_TASK task;

	start_and_cancel(&task);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
	CHECK_EQ(first_result, 0);
	CHECK(!second_returned);
	CHECK_SEM(&sem, 0, 0);
}

static void cancelled_waiter_that_is_not_served_ends_there(void)
{
	RT_TASK task;

	start_and_cancel(&task);
	CHECK_EQ(rt_sem_delete(&sem), 0);
	kit_join(&task);
	CHECK_EQ(first_result, 1);
}

static void wait_for_ever(void *calls)
{
	for (;;) {
		CHECK_EQ(rt_sem_p(&sem, MS), -ETIMEDOUT);
		__atomic_fetch_add((int *)calls, 1, __ATOMIC_RELAXED);
	}
}

static void sleep_for_ever(void *calls)
{
	for (;;) {
		CHECK_EQ(rt_task_sleep(MS), 0);
		__atomic_fetch_add((int *)calls, 1, __ATOMIC_RELAXED);
	}
}

static void cancel_amid(void (*body)(void *))
{
	int calls = 0;
	RT_TASK task;

	kit_spawn(&task, 10, body, &calls);
	until(__atomic_load_n(&calls, __ATOMIC_RELAXED) >= 3);
	CHECK_EQ(pthread_cancel(task.thread), 0);
	kit_join(&task);
}

static void row_of_waits_ends(void)
{
	MAKE_SEM(&sem, 0, S_PRIO);
	cancel_amid(wait_for_ever);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 1, 0);
}

static void row_of_sleeps_ends(void)
{
	cancel_amid(sleep_for_ever);
}

/* ---- Asynchronous ------------------------------------------------------------------------------------------------ */

static void be_cancelled_at_once(void)
{
	CHECK_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
}

static void take_once(void *arg)
{
	(void)arg;
	be_cancelled_at_once();
	rt_sem_p(&sem, TM_INFINITE);
}

static void take_in_time(void *arg)
{
	(void)arg;
	be_cancelled_at_once();
	for (;;)
		rt_sem_p(&sem, 50 * MS);
}

static void sleep_on(void *arg)
{
	(void)arg;
	be_cancelled_at_once();
	for (;;)
		rt_task_sleep(20 * MS);
}

static void start_and_cancel_at_once(RT_TASK *task, void (*body)(void *))
{
	kit_spawn_blocked(task, 10, body, NULL);
	CHECK_EQ(pthread_cancel(task->thread), 0);
}

static void asynchronous_cancel_leaves_no_trace(void)
{
	struct waiter other;
	RT_TASK task;

	no_held_back_signals();
	MAKE_SEM(&sem, 0, S_PRIO);
	start_and_cancel_at_once(&task, take_in_time);
	kit_join(&task);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 1, 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);

	/* Between others. */
	start_waiter(&other, &sem, 5, "other");
	start_and_cancel_at_once(&task, take_in_time);
	kit_join(&task);
	CHECK_SEM(&sem, 0, 1);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(end_waiter(&other), 0);

	start_and_cancel_at_once(&task, sleep_on);
	kit_join(&task);
}

static void asynchronous_cancel_of_a_waiter_that_is_served(void)
{
	RT_TASK task;

	no_held_back_signals();
	MAKE_SEM(&sem, 0, S_PRIO);
	start_and_cancel_at_once(&task, take_once);
	kit_nap(2 * MS);
	CHECK(kit_blocked(&task));
	CHECK_SEM(&sem, 0, 1);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
	/* The unit was the task's. */
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 1, 0);
}

KIT_CASES(
	CASE(pending_cancel_ends_each_wait_at_its_entry), CASE(unit_at_hand_is_taken_all_the_same),
	CASE(cancelled_joiner_leaves_the_task_joinable), CASE(cancelled_waiter_that_is_served_keeps_its_unit),
	CASE(cancelled_waiter_that_is_not_served_ends_there), CASE(row_of_waits_ends), CASE(row_of_sleeps_ends),
	CASE(asynchronous_cancel_leaves_no_trace), CASE(asynchronous_cancel_of_a_waiter_that_is_served))
