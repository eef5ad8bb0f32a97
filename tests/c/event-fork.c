/* Event groups across a fork: the child has the flags but not the waiters; the parent notices nothing. */
#include "kit.h"
#include "tasks.h"
#include "event-kit.h"
#include "child.h"

static RT_EVENT event;
static struct event_waiter waiter;

static void check_group(unsigned value, int nwaiters)
{
	RT_EVENT_INFO info;

	CHECK_EQ(rt_event_inquire(&event, &info), 0);
	CHECK_STR(info.name, "shared?");
	CHECK_EQ(info.value, value);
	CHECK_EQ(info.nwaiters, nwaiters);
}

static void release_one_here(void)
{
	struct event_waiter here;

	await(&here, &event, 0x100, EV_ALL, 0, "here");
	check_group(3, 1);
	CHECK_EQ(rt_event_signal(&event, 0x100), 0);
	CHECK_ENDED(&here, 0, 0x100);
	CHECK_EQ(rt_event_clear(&event, 0x100, NULL), 0);
}

static void use_in_child(void *arg)
{
	RT_EVENT bound;
	unsigned old, got;

	(void)arg;
	check_group(2, 0); /* the waiter has not come along */
	CHECK_EQ(rt_event_wait(&event, 3, &got, EV_ANY, TM_INFINITE), 0);
	CHECK_EQ(got, 2);
	CHECK_EQ(rt_event_wait(&event, 1, &got, EV_ANY, MS), -ETIMEDOUT);
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	check_group(3, 0);
	release_one_here();
	CHECK_EQ(rt_event_clear(&event, ~0U, &old), 0);
	CHECK_EQ(old, 3);
	CHECK_EQ(rt_event_bind(&bound, "shared?", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, event.handle);
	CHECK_EQ(rt_event_delete(&bound), 0);
	CHECK_EQ(rt_event_signal(&event, 1), -EINVAL);
	CHECK_EQ(rt_event_create(&bound, "shared?", 9, EV_FIFO), 0);
	CHECK_EQ(rt_event_create(&bound, "child's", 0, EV_FIFO), 0);
}

static void fork_here(void *arg)
{
	(void)arg;
	CHECK_EQ(in_child(use_in_child, NULL), 0);
}

static void child_has_the_flags_and_no_waiter(void)
{
	RT_EVENT bound;
	int mode;

	no_thread_sanitizer();
	for (mode = EV_FIFO; mode <= EV_PRIO; mode++) {
		CHECK_EQ(rt_event_create(&event, "shared?", 2, mode), 0);
		await(&waiter, &event, 1, EV_ALL, 10, "parent's");
		CHECK_EQ(in_child(use_in_child, NULL), 0);
		check_group(2, 1);
		as_task(0, fork_here, NULL);
		CHECK_EQ(mark_count(), 0);
		check_group(2, 1);
		CHECK(kit_blocked(&waiter.task));
		CHECK_EQ(rt_event_bind(&bound, "child's", TM_NONBLOCK), -EWOULDBLOCK);
		CHECK_EQ(rt_event_signal(&event, 1), 0);
		CHECK_ENDED(&waiter, 0, 1);
		check_group(3, 0);
		CHECK_EQ(rt_event_delete(&event), 0);
		clear_marks();
	}
}

static int stop;

static void churn(void *number)
{
	unsigned i;

	for (i = (unsigned)(uintptr_t)number; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		int result = rt_event_wait(&event, 1U << i % 3, NULL, EV_ALL, 50000);

		CHECK(result == 0 || result == -ETIMEDOUT);
		CHECK_EQ(rt_event_signal(&event, 1U << (i + 1) % 3), 0);
		CHECK_EQ(rt_event_clear(&event, 1U << i % 3, NULL), 0);
	}
}

static void nothing_is_stuck(void *arg)
{
	struct event_waiter here;

	(void)arg;
	CHECK_EQ(event_waiters(&event), 0);
	CHECK_EQ(rt_event_clear(&event, ~0U, NULL), 0);
	await(&here, &event, 8, EV_ALL, 0, "here");
	CHECK_EQ(rt_event_signal(&event, 8), 0);
	CHECK_ENDED(&here, 0, 8);
	CHECK_EQ(rt_event_delete(&event), 0);
}

static void fork_amid_contention(void)
{
	RT_TASK task[3];
	int i;

	no_thread_sanitizer();
	kit_unpin();
	MAKE_EVENT(&event, 1, EV_PRIO);
	for (i = 0; i < 3; i++)
		kit_spawn(&task[i], 0, churn, (void *)(uintptr_t)i);
	for (i = 0; i < 100; i++)
		CHECK_EQ(in_child(nothing_is_stuck, NULL), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		kit_join(&task[i]);
	CHECK_EQ(event_waiters(&event), 0);
}

KIT_CASES(CASE(child_has_the_flags_and_no_waiter), CASE(fork_amid_contention))
