/* rt_event_wait and its forms, signal, clear: flags, polls, dates, who may wait. */
#include "kit.h"
#include "tasks.h"
#include "event-kit.h"

static const struct timespec poll_date = { 0, 0 };

static const struct timespec bad_dates[] = {
	{ 0, -1 }, { 0, 1000000000 }, { 1, 2000000000 }, { 1, LONG_MAX }, { 1, LONG_MIN }, { LONG_MAX, 1000000000 },
	{ -1, -1 }, { -1, 1000000000 },
};
#define BAD_DATES (sizeof(bad_dates) / sizeof(bad_dates[0]))

static const struct timespec past_dates[] = { { 0, 1 }, { 1, 0 }, { -1, 0 }, { -1, 999999999 }, { LONG_MIN, 0 } };
#define PAST_DATES (sizeof(past_dates) / sizeof(past_dates[0]))

static RT_EVENT event;
static struct event_waiter waiter;

/* The same for the initial thread, a plain thread and a task. */
static void for_every_caller(void (*body)(void *))
{
	body(NULL);
	kit_plain(body, NULL);
	as_task(10, body, NULL);
}

#define CHECK_WAIT(call, result, want) \
	do { \
		unsigned got = UNTOUCHED; \
		CHECK_EQ(call, (result)); \
		CHECK_EQ(got, (want)); \
	} while (0)

/* --- Conditions --------------------------------------------------------------------------------------------------- */

static const struct request {
	unsigned value, mask;
	int mode, result;
	unsigned got;
} requests[] = {
	{ 3, 1, EV_ALL, 0, 1 }, /* event.md 9.1 */
	{ 3, 1, EV_ANY, 0, 1 },
	{ 3, 3, EV_ALL, 0, 3 },
	{ 3, 2, EV_ALL, 0, 2 },
	{ 3, 7, EV_ALL, -EWOULDBLOCK, UNTOUCHED },
	{ 3, 7, EV_ANY, 0, 3 },
	{ 0xf2, 3, EV_ANY, 0, 2 },
	{ 0xf2, 3, EV_ALL, -EWOULDBLOCK, UNTOUCHED },
	{ 0xf2, 0xd, EV_ANY, -EWOULDBLOCK, UNTOUCHED },
	{ 0xf2, 0, EV_ALL, 0, 0xf2 }, /* event.md 9.6 */
	{ 0xf2, 0, EV_ANY, 0, 0xf2 },
	{ 0, 0, EV_ALL, 0, 0 },
	{ 0, 0, EV_ANY, 0, 0 },
	{ 0, ~0U, EV_ANY, -EWOULDBLOCK, UNTOUCHED },
	{ ~0U, 0x80000000U, EV_ALL, 0, 0x80000000U }, /* event.md 9.17 */
	{ ~0U, ~0U, EV_ALL, 0, ~0U },
	{ ~0U, 0, EV_ANY, 0, ~0U },
	{ 0x80000000U, ~0U, EV_ANY, 0, 0x80000000U },
	{ 0x7fffffffU, ~0U, EV_ALL, -EWOULDBLOCK, UNTOUCHED },
	{ 0x7fffffffU, 0x80000000U, EV_ANY, -EWOULDBLOCK, UNTOUCHED },
	{ 0x80000001U, 0x80000001U, EV_ALL, 0, 0x80000001U },
};

/* By poll in all forms; satisfied ones whatever the date, too. event.md 9.7, 9.14, 9.16, 9.26 */
static void try_requests(void *arg)
{
	unsigned i, k;

	(void)arg;
	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		const struct request *r = &requests[i];

		MAKE_EVENT(&event, r->value, EV_FIFO);
		CHECK_WAIT(rt_event_wait(&event, r->mask, &got, r->mode, TM_NONBLOCK), r->result, r->got);
		CHECK_WAIT(rt_event_wait_until(&event, r->mask, &got, r->mode, TM_NONBLOCK), r->result, r->got);
		CHECK_WAIT(rt_event_wait_timed(&event, r->mask, &got, r->mode, &poll_date), r->result, r->got);
		CHECK_EQ(rt_event_wait(&event, r->mask, NULL, r->mode, TM_NONBLOCK), r->result);
		if (r->result == 0) {
			CHECK_WAIT(rt_event_wait(&event, r->mask, &got, r->mode, TM_INFINITE), 0, r->got);
			CHECK_WAIT(rt_event_wait(&event, r->mask, &got, r->mode, MS), 0, r->got);
			CHECK_WAIT(rt_event_wait_until(&event, r->mask, &got, r->mode, TM_INFINITE), 0, r->got);
			CHECK_WAIT(rt_event_wait_until(&event, r->mask, &got, r->mode, 1), 0, r->got);
			CHECK_WAIT(rt_event_wait_timed(&event, r->mask, &got, r->mode, NULL), 0, r->got);
			CHECK_EQ(rt_event_wait(&event, r->mask, NULL, r->mode, TM_INFINITE), 0);
			CHECK_EQ(rt_event_wait_timed(&event, r->mask, NULL, r->mode, NULL), 0);
			for (k = 0; k < PAST_DATES; k++)
				CHECK_WAIT(rt_event_wait_timed(&event, r->mask, &got, r->mode, &past_dates[k]), 0, r->got);
			for (k = 0; k < BAD_DATES; k++)
				CHECK_WAIT(rt_event_wait_timed(&event, r->mask, &got, r->mode, &bad_dates[k]), 0, r->got);
		}
		/* Nothing of this clears anything. */
		CHECK_EVENT(&event, r->value, 0);
		CHECK_EQ(rt_event_delete(&event), 0);
	}
}

static void condition_decides_for_every_caller(void)
{
	for_every_caller(try_requests);
}

static void signal_and_clear(void *arg)
{
	unsigned old = UNTOUCHED;

	(void)arg;
	MAKE_EVENT(&event, 0, EV_PRIO);
	CHECK_EQ(rt_event_signal(&event, 0), 0);
	CHECK_EVENT(&event, 0, 0);
	CHECK_EQ(rt_event_signal(&event, 0xf2), 0);
	CHECK_EQ(rt_event_signal(&event, 0x12), 0);
	CHECK_EVENT(&event, 0xf2, 0);
	/* event.md 9.11 */
	CHECK_EQ(rt_event_clear(&event, 0xf0, &old), 0);
	CHECK_EQ(old, 0xf2);
	CHECK_EVENT(&event, 2, 0);
	CHECK_EQ(rt_event_clear(&event, 0, &old), 0);
	CHECK_EQ(old, 2);
	CHECK_EQ(rt_event_clear(&event, 0, NULL), 0);
	CHECK_EVENT(&event, 2, 0);
	CHECK_EQ(rt_event_clear(&event, 0xf1, &old), 0);
	CHECK_EQ(old, 2);
	CHECK_EVENT(&event, 2, 0);
	CHECK_EQ(rt_event_clear(&event, 2, NULL), 0);
	CHECK_EVENT(&event, 0, 0);
	CHECK_EQ(rt_event_signal(&event, ~0U), 0);
	CHECK_EVENT(&event, ~0U, 0);
	CHECK_EQ(rt_event_clear(&event, 0x80000000U, &old), 0);
	CHECK_EQ(old, ~0U);
	CHECK_EVENT(&event, 0x7fffffffU, 0);
	CHECK_EQ(rt_event_clear(&event, ~0U, &old), 0);
	CHECK_EQ(old, 0x7fffffffU);
	CHECK_EVENT(&event, 0, 0);
	CHECK_EQ(rt_event_delete(&event), 0);
}

static void signal_sets_and_clear_clears(void)
{
	for_every_caller(signal_and_clear);
}

static void wait_twice(void *arg)
{
	(void)arg;
	MAKE_EVENT(&event, 1, EV_FIFO);
	CHECK_WAIT(rt_event_wait(&event, 1, &got, EV_ALL, TM_INFINITE), 0, 1);
	CHECK_WAIT(rt_event_wait(&event, 1, &got, EV_ALL, TM_INFINITE), 0, 1);
	CHECK_EQ(rt_event_clear(&event, 1, NULL), 0);
	CHECK_WAIT(rt_event_wait(&event, 1, &got, EV_ALL, TM_NONBLOCK), -EWOULDBLOCK, UNTOUCHED);
	CHECK_EVENT(&event, 0, 0);
	CHECK_EQ(rt_event_delete(&event), 0);
}

/* event.md 9.10 */
static void satisfied_wait_consumes_nothing(void)
{
	for_every_caller(wait_twice);
	MAKE_EVENT(&event, 1, EV_FIFO);
	CHECK_EQ(rt_event_clear(&event, 1, NULL), 0);
	await(&waiter, &event, 1, EV_ALL, 10, "woken");
	CHECK_EVENT(&event, 0, 1);
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_ENDED(&waiter, 0, 1);
	CHECK_EVENT(&event, 1, 0);
	CHECK_WAIT(rt_event_wait(&event, 1, &got, EV_ALL, TM_INFINITE), 0, 1);
}

static void pass_the_queue(void *arg)
{
	(void)arg;
	CHECK_WAIT(rt_event_wait(&event, 2, &got, EV_ALL, TM_INFINITE), 0, 2);
	CHECK_WAIT(rt_event_wait(&event, 3, &got, EV_ANY, MS), 0, 2);
	CHECK_WAIT(rt_event_wait(&event, 0, &got, EV_ALL, TM_INFINITE), 0, 2);
	CHECK_WAIT(rt_event_wait(&event, 3, &got, EV_ALL, TM_NONBLOCK), -EWOULDBLOCK, UNTOUCHED);
	CHECK_EVENT(&event, 2, 1);
}

/* A newcomer whose request is satisfied does not queue behind others, whatever its priority (event.md 4). */
static void satisfied_newcomer_passes_the_queue(void)
{
	int mode;

	for (mode = EV_FIFO; mode <= EV_PRIO; mode++) {
		MAKE_EVENT(&event, 2, mode);
		await(&waiter, &event, 1, EV_ALL, 10, "woken");
		for_every_caller(pass_the_queue);
		as_task(5, pass_the_queue, NULL);
		CHECK_EQ(rt_event_signal(&event, 1), 0);
		CHECK_ENDED(&waiter, 0, 1);
		CHECK_EQ(rt_event_delete(&event), 0);
	}
}

/* --- Who may wait, and until when --------------------------------------------------------------------------------- */

static void miss_every_date(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < PAST_DATES; i++)
		CHECK_WAIT(rt_event_wait_timed(&event, 5, &got, EV_ALL, &past_dates[i]), -ETIMEDOUT, UNTOUCHED);
	/* event.md 9.26 */
	CHECK_WAIT(rt_event_wait_until(&event, 4, &got, EV_ANY, 1), -ETIMEDOUT, UNTOUCHED);
	CHECK_WAIT(rt_event_wait_until(&event, 4, &got, EV_ANY, rt_timer_read()), -ETIMEDOUT, UNTOUCHED);
	for (i = 0; i < BAD_DATES; i++)
		CHECK_WAIT(rt_event_wait_timed(&event, 5, &got, EV_ALL, &bad_dates[i]), -EINVAL, UNTOUCHED);
	CHECK_EQ(rt_event_wait_until(&event, 4, NULL, EV_ANY, 1), -ETIMEDOUT);
	CHECK_EVENT(&event, 1, 0);
}

static void unsatisfied_with_past_or_malformed_date(void)
{
	MAKE_EVENT(&event, 1, EV_FIFO);
	miss_every_date(NULL);
	as_task(10, miss_every_date, NULL);
}

static void refused_waits(void *arg)
{
	struct timespec date = { 4000000000LL, 0 };
	unsigned i;

	(void)arg;
	/* event.md 9.14 */
	CHECK_WAIT(rt_event_wait(&event, 5, &got, EV_ALL, TM_INFINITE), -EPERM, UNTOUCHED);
	CHECK_WAIT(rt_event_wait(&event, 4, &got, EV_ANY, MS), -EPERM, UNTOUCHED);
	CHECK_WAIT(rt_event_wait_until(&event, 4, &got, EV_ALL, TM_INFINITE), -EPERM, UNTOUCHED);
	CHECK_WAIT(rt_event_wait_until(&event, 4, &got, EV_ALL, rt_timer_read() + MS), -EPERM, UNTOUCHED);
	CHECK_WAIT(rt_event_wait_timed(&event, 4, &got, EV_ALL, NULL), -EPERM, UNTOUCHED);
	CHECK_WAIT(rt_event_wait_timed(&event, 4, &got, EV_ALL, &date), -EPERM, UNTOUCHED);
	/* Who asks is looked at before the date is. */
	for (i = 0; i < BAD_DATES; i++)
		CHECK_WAIT(rt_event_wait_timed(&event, 4, &got, EV_ALL, &bad_dates[i]), -EPERM, UNTOUCHED);
	for (i = 0; i < PAST_DATES; i++)
		CHECK_WAIT(rt_event_wait_timed(&event, 4, &got, EV_ALL, &past_dates[i]), -EPERM, UNTOUCHED);
	CHECK_WAIT(rt_event_wait(&event, 4, &got, EV_ALL, TM_NONBLOCK), -EWOULDBLOCK, UNTOUCHED);
	/* What needs no wait is granted. */
	CHECK_WAIT(rt_event_wait(&event, 5, &got, EV_ANY, TM_INFINITE), 0, 1);
	CHECK_WAIT(rt_event_wait(&event, 0, &got, EV_ALL, TM_INFINITE), 0, 1);
	CHECK_EVENT(&event, 1, 0);
}

static void plain_thread_may_not_wait_and_leaves_no_trace(void)
{
	MAKE_EVENT(&event, 1, EV_PRIO);
	kit_plain(refused_waits, NULL);
	CHECK_EQ(rt_event_signal(&event, 4), 0);
	CHECK_EVENT(&event, 5, 0);
}

static void shadow_and_wait(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_shadow(NULL, NULL, 0, 0), 0);
	CHECK_WAIT(rt_event_wait(&event, 1, &got, EV_ALL, MS), -ETIMEDOUT, UNTOUCHED);
}

static void shadowed_thread_may_wait(void)
{
	MAKE_EVENT(&event, 0, EV_FIFO);
	kit_plain(shadow_and_wait, NULL);
	CHECK_EVENT(&event, 0, 0);
}

static void timed_forms(void *arg)
{
	struct timespec date;
	long long start = kit_now();

	(void)arg;
	CHECK_WAIT(rt_event_wait(&event, 2, &got, EV_ALL, 20 * MS), -ETIMEDOUT, UNTOUCHED);
	CHECK(kit_now() - start >= 20 * MS);
	start = kit_now();
	CHECK_WAIT(rt_event_wait_until(&event, 3, &got, EV_ALL, rt_timer_read() + 20 * MS), -ETIMEDOUT, UNTOUCHED);
	CHECK(kit_now() - start >= 20 * MS);
	start = kit_now();
	date.tv_sec = (start + 20 * MS) / 1000000000;
	date.tv_nsec = (start + 20 * MS) % 1000000000;
	CHECK_WAIT(rt_event_wait_timed(&event, 2, &got, EV_ANY, &date), -ETIMEDOUT, UNTOUCHED);
	CHECK(kit_now() - start >= 20 * MS);
	CHECK_EQ(rt_event_wait(&event, 2, NULL, EV_ANY, 1), -ETIMEDOUT);
	CHECK_EVENT(&event, 1, 0);
}

/* event.md 9.25: the initial thread, never shadowed, waits too. */
static void timed_wait_is_never_short(void)
{
	MAKE_EVENT(&event, 1, EV_FIFO);
	CHECK_WAIT(rt_event_wait(&event, 2, &got, EV_ALL, MS), -ETIMEDOUT, UNTOUCHED);
	timed_forms(NULL);
	as_task(10, timed_forms, NULL);
}

static void signal_when_one_waits(void *arg)
{
	(void)arg;
	until(event_waiters(&event) == 1);
	CHECK_EQ(rt_event_signal(&event, 0x30), 0);
}

static void initial_thread_is_released_like_a_task(void)
{
	RT_TASK task;

	MAKE_EVENT(&event, 0, EV_PRIO);
	kit_spawn(&task, 10, signal_when_one_waits, NULL);
	CHECK_WAIT(rt_event_wait(&event, 0x11, &got, EV_ANY, TM_INFINITE), 0, 0x10);
	kit_join(&task);
	CHECK_EVENT(&event, 0x30, 0);
}

static void huge_timeouts_saturate(void)
{
	static const RTIME values[] = { TM_NONBLOCK - 1, TM_NONBLOCK - 2, TM_NONBLOCK / 2, TM_NONBLOCK / 2 + 1 };
	unsigned i;

	MAKE_EVENT(&event, 0, EV_FIFO);
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		await_for(&waiter, &event, 1, EV_ALL, 10, "woken", values[i]);
		CHECK_EVENT(&event, 0, 1);
		CHECK_EQ(rt_event_signal(&event, 1), 0);
		CHECK_ENDED(&waiter, 0, 1);
		CHECK_EQ(rt_event_clear(&event, 1, NULL), 0);
	}
}

static void wait_without_result(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_event_wait(&event, 1, NULL, EV_ALL, TM_INFINITE), 0);
}

/* event.md 9.16, where it has to wait */
static void result_may_be_left_out(void)
{
	RT_TASK task;

	MAKE_EVENT(&event, 0, EV_FIFO);
	kit_spawn_blocked(&task, 10, wait_without_result, NULL);
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	kit_join(&task);
	CHECK_EVENT(&event, 1, 0);
}

KIT_CASES(
	CASE(condition_decides_for_every_caller), CASE(signal_sets_and_clear_clears), CASE(satisfied_wait_consumes_nothing),
	CASE(satisfied_newcomer_passes_the_queue), CASE(unsatisfied_with_past_or_malformed_date),
	CASE(plain_thread_may_not_wait_and_leaves_no_trace), CASE(shadowed_thread_may_wait), CASE(timed_wait_is_never_short),
	CASE(initial_thread_is_released_like_a_task), CASE(huge_timeouts_saturate), CASE(result_may_be_left_out))
