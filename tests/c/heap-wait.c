/* rt_heap_alloc and its forms where there is no block: polls, dates, who may wait (heap.md 4, 8.4, 8.18, 8.19). */
#include "kit.h"
#include "heap-kit.h"
#include "tasks.h"
#include <limits.h>

static RT_HEAP heap;
static void *all;

static const struct timespec bad_dates[] = {
	{ 0, -1 }, { 0, 1000000000 }, { 1, 2000000000 }, { 1, LONG_MAX }, { 1, LONG_MIN }, { LONG_MAX, 1000000000 },
	{ -1, -1 }, { -1, 1000000000 },
};
#define BAD_DATES (sizeof(bad_dates) / sizeof(bad_dates[0]))

static const struct timespec past_dates[] = { { 0, 1 }, { 1, 0 }, { -1, 0 }, { -1, 999999999 }, { LONG_MIN, 0 } };
#define PAST_DATES (sizeof(past_dates) / sizeof(past_dates[0]))

static struct timespec date_of(long long ns)
{
	struct timespec date;

	date.tv_sec = ns / 1000000000LL;
	date.tv_nsec = ns % 1000000000LL;
	return date;
}

/* A heap of which nothing is left. */
static void make_full(int mode)
{
	MAKE_HEAP(&heap, 1024, mode);
	all = MUST_ALLOC(&heap, 1024);
}

/* It is as it was, and all of it can be had again. */
static void end_full(void)
{
	CHECK_HEAP(&heap, 0, 1024);
	CHECK_EQ(rt_heap_free(&heap, all), 0);
	CHECK_HEAP(&heap, 0, 0);
	CHECK_EQ(rt_heap_free(&heap, MUST_ALLOC(&heap, 1024)), 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* A call that fails so; `want` is what the address must have become. */
#define FAILS(call, error, want) \
	do { \
		void *block = NOWHERE; \
		CHECK_EQ(call, (error)); \
		CHECK(block == (want)); \
	} while (0)

static void poll_in_vain(void *arg)
{
	static const struct timespec poll = { 0, 0 };
	size_t size;

	(void)arg;
	for (size = 0; size <= 1024; size += 512) {
		FAILS(rt_heap_alloc(&heap, size, TM_NONBLOCK, &block), -EWOULDBLOCK, NULL);
		FAILS(rt_heap_alloc_until(&heap, size, TM_NONBLOCK, &block), -EWOULDBLOCK, NULL);
		FAILS(rt_heap_alloc_timed(&heap, size, &poll, &block), -EWOULDBLOCK, NULL);
	}
}

static void poll_never_waits_for_any_caller(void)
{
	make_full(H_PRIO);
	poll_in_vain(NULL);
	kit_plain(poll_in_vain, NULL);
	as_task(10, poll_in_vain, NULL);
	end_full();
}

static void miss_every_date(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < PAST_DATES; i++)
		FAILS(rt_heap_alloc_timed(&heap, 1, &past_dates[i], &block), -ETIMEDOUT, NULL);
	FAILS(rt_heap_alloc_until(&heap, 1, 1, &block), -ETIMEDOUT, NULL);
	FAILS(rt_heap_alloc_until(&heap, 1, rt_timer_read(), &block), -ETIMEDOUT, NULL);
	for (i = 0; i < BAD_DATES; i++)
		FAILS(rt_heap_alloc_timed(&heap, 1, &bad_dates[i], &block), -EINVAL, NULL);
}

static void past_or_malformed_date(void)
{
	make_full(H_FIFO);
	miss_every_date(NULL);
	as_task(10, miss_every_date, NULL);
	end_full();
}

static void be_refused(void *arg)
{
	struct timespec date = date_of(kit_now() + 1000000);
	size_t size;
	unsigned i;

	(void)arg;
	for (size = 0; size <= 1024; size += 512) {
		FAILS(rt_heap_alloc(&heap, size, TM_INFINITE, &block), -EPERM, NOWHERE);
		FAILS(rt_heap_alloc(&heap, size, MS, &block), -EPERM, NOWHERE);
		FAILS(rt_heap_alloc_until(&heap, size, TM_INFINITE, &block), -EPERM, NOWHERE);
		FAILS(rt_heap_alloc_until(&heap, size, rt_timer_read() + MS, &block), -EPERM, NOWHERE);
		FAILS(rt_heap_alloc_timed(&heap, size, NULL, &block), -EPERM, NOWHERE);
		FAILS(rt_heap_alloc_timed(&heap, size, &date, &block), -EPERM, NOWHERE);
		/* Who asks is looked at before the date is. */
		for (i = 0; i < BAD_DATES; i++)
			FAILS(rt_heap_alloc_timed(&heap, size, &bad_dates[i], &block), -EPERM, NOWHERE);
		for (i = 0; i < PAST_DATES; i++)
			FAILS(rt_heap_alloc_timed(&heap, size, &past_dates[i], &block), -EPERM, NOWHERE);
	}
}

/* heap.md 8.18, decision 31 */
static void plain_thread_may_not_wait_and_leaves_no_trace(void)
{
	make_full(H_FIFO);
	kit_plain(be_refused, NULL);
	end_full();
}

static void shadow_and_wait(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_shadow(NULL, NULL, 0, 0), 0);
	FAILS(rt_heap_alloc(&heap, 1, MS, &block), -ETIMEDOUT, NULL);
}

static void shadowed_thread_may_wait(void)
{
	make_full(H_FIFO);
	kit_plain(shadow_and_wait, NULL);
	end_full();
}

/* Each form waits at least as long as it was told, and no trace stays. */
static void wait_for_a_while(void *arg)
{
	struct timespec date;
	long long start;

	(void)arg;
	start = kit_now();
	FAILS(rt_heap_alloc(&heap, 1, 10 * MS, &block), -ETIMEDOUT, NULL);
	CHECK(kit_now() - start >= 10 * MS);
	start = kit_now();
	FAILS(rt_heap_alloc_until(&heap, 1, rt_timer_read() + 10 * MS, &block), -ETIMEDOUT, NULL);
	CHECK(kit_now() - start >= 10 * MS);
	start = kit_now();
	date = date_of(start + 10 * MS);
	FAILS(rt_heap_alloc_timed(&heap, 1, &date, &block), -ETIMEDOUT, NULL);
	CHECK(kit_now() - start >= 10 * MS);
	FAILS(rt_heap_alloc(&heap, 1, 1, &block), -ETIMEDOUT, NULL);
	CHECK_HEAP(&heap, 0, 1024);
}

/* heap.md 8.19 */
static void timed_wait_is_never_short(void)
{
	make_full(H_FIFO);
	CHECK(rt_task_self() == NULL);
	wait_for_a_while(NULL); /* the initial thread, never shadowed, may wait */
	as_task(10, wait_for_a_while, NULL);
	end_full();
}

/* ---- Waits that end with a block ---------------------------------------------------------------------------------- */

struct wait {
	enum { RELATIVE, ABSOLUTE, TIMESPEC } form;
	RTIME value;
	const struct timespec *date;
};

static void take_all(void *wait_)
{
	struct wait *wait = (struct wait *)wait_;

	if (wait->form == RELATIVE)
		CHECK_EQ(rt_heap_alloc(&heap, 1024, wait->value, &all), 0);
	else if (wait->form == ABSOLUTE)
		CHECK_EQ(rt_heap_alloc_until(&heap, 1024, wait->value, &all), 0);
	else
		CHECK_EQ(rt_heap_alloc_timed(&heap, 1024, wait->date, &all), 0);
}

static void zero_and_null_wait_without_limit(void)
{
	struct wait wait;
	RT_TASK_INFO info;
	RT_TASK task;
	int i;

	memset(&wait, 0, sizeof(wait));
	make_full(H_FIFO);
	for (i = RELATIVE; i <= TIMESPEC; i++) {
		wait.form = i == RELATIVE ? RELATIVE : i == ABSOLUTE ? ABSOLUTE : TIMESPEC;
		kit_spawn_blocked(&task, 10, take_all, &wait);
		CHECK_EQ(rt_task_inquire(&task, &info), 0);
		CHECK_EQ(info.stat.status, 0x20011);
		CHECK_EQ(info.stat.timeout, 0);
		CHECK_HEAP(&heap, 1, 1024);
		CHECK_EQ(rt_heap_free(&heap, all), 0);
		kit_join(&task);
	}
	end_full();
}

static void huge_timeouts_saturate(void)
{
	static const RTIME values[] = {
		TM_NONBLOCK - 1, TM_NONBLOCK - 2, TM_NONBLOCK / 2, TM_NONBLOCK / 2 + 1, TM_NONBLOCK - 1000000000ULL,
	};
	static const struct timespec last = { LONG_MAX, 999999999 };
	enum { VALUES = sizeof(values) / sizeof(values[0]) };
	struct wait wait;
	RT_TASK task;
	unsigned i;

	make_full(H_FIFO);
	for (i = 0; i <= 2 * VALUES; i++) {
		wait.value = values[i / 2 % VALUES];
		wait.form = i == 2 * VALUES ? TIMESPEC : i % 2 ? ABSOLUTE : RELATIVE;
		wait.date = &last;
		kit_spawn_blocked(&task, 10, take_all, &wait);
		kit_nap(MS);
		CHECK_HEAP(&heap, 1, 1024); /* a wrapped date would have passed */
		CHECK_EQ(rt_heap_free(&heap, all), 0);
		kit_join(&task);
	}
	end_full();
}

static void timed_out_waiter_leaves_the_others_queued(void)
{
	struct asker patient, hasty;

	make_full(H_FIFO);
	start_timed_asker(&hasty, &heap, 512, 10, "hasty", 100 * MS);
	start_asker(&patient, &heap, 512, 10, "patient");
	expect_failure(&hasty, -ETIMEDOUT, NULL);
	CHECK_HEAP(&heap, 1, 1024);
	CHECK_EQ(rt_heap_free(&heap, all), 0);
	expect_block(&patient);
	CHECK_HEAP(&heap, 0, 512);
	expect_marks("hasty patient");
}

static void free_after_ms(void *block)
{
	CHECK_EQ(rt_task_sleep(5 * MS), 0);
	mark("free");
	CHECK_EQ(rt_heap_free(&heap, block), 0);
}

static void initial_thread_waits_like_a_task(void)
{
	RT_TASK task;

	make_full(H_PRIO);
	kit_spawn(&task, 10, free_after_ms, all);
	CHECK_EQ(rt_heap_alloc(&heap, 1024, TM_INFINITE, &all), 0);
	mark("main");
	kit_join(&task);
	expect_marks("free main");
	CHECK(rt_task_self() == NULL);
	end_full();
}

static int handled;

static void on_signal(int signal)
{
	(void)signal;
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void linux_signals_do_not_end_a_wait(void)
{
	struct sigaction action;
	struct asker asker;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal; /* no SA_RESTART */
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	make_full(H_FIFO);
	start_asker(&asker, &heap, 1024, 10, "w");
	CHECK_EQ(pthread_kill(asker.task.thread, SIGUSR1), 0);
	until(__atomic_load_n(&handled, __ATOMIC_RELAXED) == 1);
	kit_nap(MS);
	CHECK_HEAP(&heap, 1, 1024);
	CHECK_EQ(rt_heap_free(&heap, all), 0);
	expect_block(&asker);
	all = asker.block;
	end_full();
}

static void free_it(void *block)
{
	CHECK_EQ(rt_heap_free(&heap, block), 0);
}

/* heap.md 5: blocks have no owner. */
static void any_thread_may_free_and_serves_waiters(void)
{
	struct asker asker;
	int i;

	make_full(H_FIFO);
	for (i = 0; i < 3; i++) {
		start_asker(&asker, &heap, 1024, 10, "w");
		if (i == 0)
			free_it(all);
		else if (i == 1)
			kit_plain(free_it, all);
		else
			as_task(5, free_it, all);
		expect_block(&asker);
		all = asker.block;
	}
	end_full();
}

KIT_CASES(
	CASE(poll_never_waits_for_any_caller), CASE(past_or_malformed_date),
	CASE(plain_thread_may_not_wait_and_leaves_no_trace), CASE(shadowed_thread_may_wait), CASE(timed_wait_is_never_short),
	CASE(zero_and_null_wait_without_limit), CASE(huge_timeouts_saturate), CASE(timed_out_waiter_leaves_the_others_queued),
	CASE(initial_thread_waits_like_a_task), CASE(linux_signals_do_not_end_a_wait),
	CASE(any_thread_may_free_and_serves_waiters))
