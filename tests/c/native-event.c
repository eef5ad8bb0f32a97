/* Event groups of the 2.x interface: what differs from 3.x (native2.md 3.2, 5, 6, 7.5; abi.md 7.2). */
#include "native-kit.h"
#include <native/event.h>

#define HIGH (1UL << 32)
#define UNTOUCHED 0xdeadbeefdeadbeefUL

static RT_EVENT event;

static void check_event(unsigned long value, int nwaiters)
{
	RT_EVENT_INFO info;

	memset(&info, 0x5a, sizeof(info));
	CHECK_EQ(rt_event_inquire(&event, &info), 0);
	CHECK_STR(info.name, "the group");
	CHECK(info.value == value);
	CHECK_EQ(info.nwaiters, nwaiters);
}

static void make(unsigned long ivalue, int mode)
{
	CHECK_EQ(rt_event_create(&event, "the group", ivalue, mode), 0);
}

#define CHECK_WAIT(call, result, want) \
	do { \
		unsigned long got = UNTOUCHED; \
		CHECK_EQ(call, (result)); \
		CHECK(got == (want)); \
	} while (0)

/* --- Masks -------------------------------------------------------------------------------------------------------- */

/* native2.md 11.8: the high half of a result is written, and 0. */
static void results_are_clean_longs(void)
{
	unsigned long old = UNTOUCHED;

	make(0xfffffff2UL, EV_FIFO);
	check_event(0xfffffff2UL, 0);
	CHECK_WAIT(rt_event_wait(&event, 0, &got, EV_ALL, TM_INFINITE), 0, 0xfffffff2UL);
	CHECK_WAIT(rt_event_wait(&event, 3, &got, EV_ANY, TM_INFINITE), 0, 2UL);
	CHECK_WAIT(rt_event_wait(&event, 0x80000000UL, &got, EV_ALL, TM_INFINITE), 0, 0x80000000UL);
	CHECK_WAIT(rt_event_wait_until(&event, 2, &got, EV_ALL, 1), 0, 2UL);
	CHECK_WAIT(rt_event_wait(&event, 3, &got, EV_ALL, TM_NONBLOCK), -EWOULDBLOCK, UNTOUCHED);
	CHECK_EQ(rt_event_wait(&event, 2, NULL, EV_ALL, TM_INFINITE), 0);
	CHECK_EQ(rt_event_clear(&event, 0xf0000000UL, &old), 0);
	CHECK(old == 0xfffffff2UL);
	check_event(0x0ffffff2UL, 0);
	CHECK_EQ(rt_event_clear(&event, 2, NULL), 0);
	old = UNTOUCHED;
	CHECK_EQ(rt_event_clear(&event, 0, &old), 0);
	CHECK(old == 0x0ffffff0UL);
	CHECK_EQ(rt_event_signal(&event, 0xffffffffUL), 0);
	check_event(0xffffffffUL, 0);
	CHECK_EQ(rt_event_delete(&event), 0);
}

/* There are 32 flags (decision 37): more is refused, and nothing is changed. */
static void higher_flags_are_refused(void)
{
	static const unsigned long masks[] = { HIGH, HIGH | 1, 1UL << 63, ~0UL, ~0xffffffffUL };
	unsigned long old = UNTOUCHED;
	RT_EVENT none, before;
	unsigned i;

	memset(&none, 0x5a, sizeof(none));
	before = none;
	make(1, EV_PRIO);
	for (i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		CHECK_EQ(rt_event_create(&none, "none", masks[i], EV_FIFO), -EINVAL);
		CHECK_SAME_BYTES(&none, &before, sizeof(none));
		CHECK_EQ(rt_event_signal(&event, masks[i]), -EINVAL);
		CHECK_EQ(rt_event_clear(&event, masks[i], &old), -EINVAL);
		CHECK_EQ(rt_event_clear(&event, masks[i], NULL), -EINVAL);
		CHECK(old == UNTOUCHED);
		CHECK_WAIT(rt_event_wait(&event, masks[i], &got, EV_ANY, TM_INFINITE), -EINVAL, UNTOUCHED);
		CHECK_WAIT(rt_event_wait(&event, masks[i], &got, EV_ALL, TM_NONBLOCK), -EINVAL, UNTOUCHED);
		CHECK_WAIT(rt_event_wait_until(&event, masks[i], &got, EV_ALL, 1), -EINVAL, UNTOUCHED);
	}
	check_event(1, 0);
	CHECK_EQ(rt_event_bind(&none, "none", TM_NONBLOCK), -EWOULDBLOCK);
}

/* 2.x ignores unknown bits of modes. */
static void unknown_mode_bits_are_ignored(void)
{
	static const int bits[] = { 0x2, 0x4, 0x100, 0x10000, -2 };
	unsigned i;

	for (i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		make(1, EV_PRIO | bits[i]);
		CHECK_WAIT(rt_event_wait(&event, 3, &got, EV_ANY | bits[i], TM_NONBLOCK), 0, 1UL);
		CHECK_WAIT(rt_event_wait(&event, 3, &got, EV_ALL | bits[i], TM_NONBLOCK), -EWOULDBLOCK, UNTOUCHED);
		CHECK_WAIT(rt_event_wait_until(&event, 3, &got, EV_ANY | bits[i], 1), 0, 1UL);
		CHECK_WAIT(rt_event_wait_until(&event, 3, &got, EV_ALL | bits[i], 1), -ETIMEDOUT, UNTOUCHED);
		CHECK_EQ(rt_event_delete(&event), 0);
	}
}

/* --- Waiting ------------------------------------------------------------------------------------------------------ */

struct waiter {
	RT_TASK task;
	unsigned long mask, got;
	int mode, result;
	const char *tag;
};

static void wait_and_mark(void *waiter_)
{
	struct waiter *waiter = (struct waiter *)waiter_;

	waiter->got = UNTOUCHED;
	waiter->result = rt_event_wait(&event, waiter->mask, &waiter->got, waiter->mode, TM_INFINITE);
	mark(waiter->tag);
}

static void await(struct waiter *waiter, int prio, unsigned long mask, int mode, const char *tag)
{
	waiter->mask = mask;
	waiter->mode = mode;
	waiter->tag = tag;
	spawn_blocked(&waiter->task, prio, wait_and_mark, waiter);
}

static void check_ended(struct waiter *waiter, int result, unsigned long got)
{
	join(&waiter->task);
	CHECK_EQ(waiter->result, result);
	CHECK(waiter->got == got);
}

/* Of several signals, and never consumed (since 2.1). */
static void flags_add_up_and_stay(void)
{
	struct waiter one, two;

	make(0, EV_FIFO);
	await(&one, 10, 0x80000001UL, EV_ALL, "one");
	await(&two, 10, 0x80000002UL, EV_ANY, "two");
	check_event(0, 2);
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	check_event(1, 2);
	CHECK_EQ(rt_event_signal(&event, 0x80000000UL), 0);
	check_ended(&one, 0, 0x80000001UL);
	check_ended(&two, 0, 0x80000000UL);
	check_event(0x80000001UL, 0);
	CHECK_WAIT(rt_event_wait(&event, 1, &got, EV_ALL, TM_INFINITE), 0, 1UL);
}

static void order_of_release(int mode, const char *want)
{
	struct waiter waiters[3];

	clear_marks();
	make(0, mode);
	await(&waiters[0], 20, 1, EV_ALL, "a");
	await(&waiters[1], 40, 1, EV_ALL, "b");
	await(&waiters[2], 30, 1, EV_ALL, "c");
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	check_ended(&waiters[0], 0, 1);
	check_ended(&waiters[1], 0, 1);
	check_ended(&waiters[2], 0, 1);
	expect_marks(want);
	CHECK_EQ(rt_event_delete(&event), 0);
}

/* The initial thread signals: each runs when it is readied. */
static void modes(void)
{
	order_of_release(EV_PRIO, "b c a");
	order_of_release(EV_FIFO, "a b c");
	order_of_release(EV_PRIO | 0x400, "b c a");
}

static void unblock_and_deletion_end_waits(void)
{
	struct waiter one, two;

	make(0, EV_PRIO);
	await(&one, 10, 1, EV_ALL, "one");
	await(&two, 10, 1, EV_ALL, "two");
	CHECK_EQ(rt_task_unblock(&one.task), 0);
	check_ended(&one, -EINTR, UNTOUCHED);
	check_event(0, 1);
	CHECK_EQ(rt_event_delete(&event), 0);
	check_ended(&two, -EIDRM, UNTOUCHED);
	/* Later calls: the 3.x code. */
	CHECK_EQ(rt_event_signal(&event, 1), -EINVAL);
	CHECK_EQ(rt_event_clear(&event, 1, NULL), -EINVAL);
	CHECK_WAIT(rt_event_wait(&event, 1, &got, EV_ALL, TM_INFINITE), -EINVAL, UNTOUCHED);
	CHECK_EQ(rt_event_delete(&event), -EINVAL);
}

static void timeouts(void)
{
	long long start = kit_now();

	make(1, EV_FIFO);
	CHECK_WAIT(rt_event_wait(&event, 2, &got, EV_ALL, 5 * MS), -ETIMEDOUT, UNTOUCHED);
	CHECK(kit_now() - start >= 5 * MS);
	start = kit_now();
	CHECK_WAIT(rt_event_wait_until(&event, 3, &got, EV_ALL, rt_timer_read() + 5 * MS), -ETIMEDOUT, UNTOUCHED);
	CHECK(kit_now() - start >= 5 * MS);
	CHECK_WAIT(rt_event_wait_until(&event, 2, &got, EV_ALL, 1), -ETIMEDOUT, UNTOUCHED);
	CHECK_WAIT(rt_event_wait_until(&event, 2, &got, EV_ALL, TM_NONBLOCK), -EWOULDBLOCK, UNTOUCHED);
	CHECK_WAIT(rt_event_wait(&event, 2, &got, EV_ANY, TM_NONBLOCK), -EWOULDBLOCK, UNTOUCHED);
	check_event(1, 0);
}

static void use_outside_a_task(void *arg)
{
	RT_EVENT bound;

	(void)arg;
	CHECK_WAIT(rt_event_wait(&event, 2, &got, EV_ALL, MS), -EPERM, UNTOUCHED);
	CHECK_WAIT(rt_event_wait(&event, 2, &got, EV_ALL, TM_INFINITE), -EPERM, UNTOUCHED);
	CHECK_WAIT(rt_event_wait(&event, 2, &got, EV_ALL, TM_NONBLOCK), -EWOULDBLOCK, UNTOUCHED);
	CHECK_WAIT(rt_event_wait(&event, 3, &got, EV_ANY, TM_INFINITE), 0, 1UL);
	CHECK_EQ(rt_event_bind(&bound, "absent", MS), -EWOULDBLOCK);
	CHECK_EQ(rt_event_bind(&bound, "absent", TM_INFINITE), -EWOULDBLOCK);
	CHECK_EQ(rt_event_bind(&bound, "the group", TM_INFINITE), 0);
	CHECK_EQ(bound.opaque, event.opaque);
}

static void plain_thread(void)
{
	make(1, EV_PRIO);
	kit_plain(use_outside_a_task, NULL);
	check_event(1, 0);
}

static void names_and_descriptors(void)
{
	RT_EVENT other, before, zeroed;
	RT_EVENT_INFO info, untouched;

	memset(&zeroed, 0, sizeof(zeroed));
	CHECK_EQ(rt_event_create(&other, NULL, 0, EV_FIFO), 0);
	CHECK_EQ(rt_event_inquire(&other, &info), 0);
	CHECK_STR(info.name, "event@1");
	make(3, EV_FIFO);
	memset(&other, 0x5a, sizeof(other));
	before = other;
	CHECK_EQ(rt_event_create(&other, "the group", 0, EV_FIFO), -EEXIST);
	CHECK_SAME_BYTES(&other, &before, sizeof(other));
	CHECK_EQ(rt_event_bind(&other, "the group", TM_NONBLOCK), 0);
	CHECK_EQ(other.opaque, event.opaque);
	CHECK_EQ(rt_event_signal(&other, 4), 0);
	check_event(7, 0);
	CHECK_EQ(rt_event_unbind(&other), 0);
	CHECK_EQ(other.opaque, 0);
	memset(&info, 0x5a, sizeof(info));
	untouched = info;
	CHECK_EQ(rt_event_inquire(&other, &info), -EINVAL);
	CHECK_EQ(rt_event_inquire(NULL, &info), -EINVAL);
	CHECK_SAME_BYTES(&info, &untouched, sizeof(info));
	CHECK_EQ(rt_event_inquire(&event, NULL), -EINVAL);
	CHECK_EQ(rt_event_create(NULL, NULL, 0, EV_FIFO), -EINVAL);
	CHECK_EQ(rt_event_signal(NULL, 1), -EINVAL);
	CHECK_EQ(rt_event_signal(&zeroed, 1), -EINVAL);
	CHECK_EQ(rt_event_clear(NULL, 1, NULL), -EINVAL);
	CHECK_WAIT(rt_event_wait(NULL, 0, &got, EV_ALL, TM_INFINITE), -EINVAL, UNTOUCHED);
	CHECK_WAIT(rt_event_wait(&zeroed, 1, &got, EV_ALL, TM_NONBLOCK), -EINVAL, UNTOUCHED);
	CHECK_WAIT(rt_event_wait_until(&zeroed, 1, &got, EV_ALL, TM_NONBLOCK), -EINVAL, UNTOUCHED);
	CHECK_EQ(rt_event_bind(NULL, "the group", TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_event_unbind(NULL), -EINVAL);
	check_event(7, 0);
}

KIT_CASES(
	CASE(results_are_clean_longs), CASE(higher_flags_are_refused), CASE(unknown_mode_bits_are_ignored),
	CASE(flags_add_up_and_stay), CASE_FIFO(modes), CASE(unblock_and_deletion_end_waits), CASE(timeouts),
	CASE(plain_thread), CASE(names_and_descriptors))
