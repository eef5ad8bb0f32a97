/* Whom a signal releases, in which order they run; deletion under waiters. */
#include "kit.h"
#include "tasks.h"
#include "event-kit.h"

static RT_EVENT event;
static struct event_waiter waiters[4];
static struct event_waiter *const one = &waiters[0], *const two = &waiters[1], *const three = &waiters[2];

/* --- Whom --------------------------------------------------------------------------------------------------------- */

/* event.md 9.2; 9.3 and 9.4 below */
static void flags_of_several_signals_add_up(void)
{
	MAKE_EVENT(&event, 0, EV_FIFO);
	await(one, &event, 3, EV_ALL, 10, "woken");
	CHECK_EVENT(&event, 0, 1);
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_EVENT(&event, 1, 1);
	CHECK(kit_blocked(&one->task));
	CHECK_EQ(rt_event_signal(&event, 2), 0);
	CHECK_ENDED(one, 0, 3);
	CHECK_EVENT(&event, 3, 0);
}

static void flags_set_before_the_wait_count(void)
{
	MAKE_EVENT(&event, 1, EV_PRIO);
	await(one, &event, 3, EV_ALL, 10, "woken");
	CHECK_EQ(rt_event_signal(&event, 0x12), 0);
	CHECK_ENDED(one, 0, 3);
	CHECK_EVENT(&event, 0x13, 0);
}

static void cleared_flags_do_not_count(void)
{
	unsigned old;

	MAKE_EVENT(&event, 0, EV_FIFO);
	await(one, &event, 3, EV_ALL, 10, "woken");
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_EQ(rt_event_clear(&event, 1, &old), 0);
	CHECK_EQ(old, 1);
	CHECK_EQ(rt_event_signal(&event, 2), 0);
	CHECK_EVENT(&event, 2, 1);
	CHECK(kit_blocked(&one->task));
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_ENDED(one, 0, 3);
}

/* event.md 9.5 */
static void any_reports_the_flags_that_are_set(void)
{
	MAKE_EVENT(&event, 0, EV_FIFO);
	await(one, &event, 3, EV_ANY, 10, "one");
	await(two, &event, 0x800000c0U, EV_ANY, 10, "two");
	CHECK_EQ(rt_event_signal(&event, 0xf2), 0);
	CHECK_ENDED(one, 0, 2);
	CHECK_ENDED(two, 0, 0xc0);
	CHECK_EVENT(&event, 0xf2, 0);
	/* Flags from before, which alone would have satisfied it, are none. */
	CHECK_EQ(rt_event_clear(&event, 3, NULL), 0);
	await(one, &event, 3, EV_ANY, 10, "one");
	CHECK_EQ(rt_event_signal(&event, 3), 0);
	CHECK_ENDED(one, 0, 3);
}

/* event.md 9.9, 9.12, 9.28 */
static void all_who_are_satisfied_are_released(void)
{
	RT_EVENT_INFO info;

	CHECK_EQ(rt_event_create(&event, "the group", 0, EV_FIFO), 0);
	await(one, &event, 1, EV_ANY, 10, "one");
	await(two, &event, 1, EV_ANY, 20, "two");
	await(three, &event, 2, EV_ANY, 30, "three");
	memset(&info, 0x5a, sizeof(info));
	CHECK_EQ(rt_event_inquire(&event, &info), 0);
	CHECK_EQ(info.value, 0);
	CHECK_EQ(info.nwaiters, 3);
	CHECK_STR(info.name, "the group");
	CHECK_EQ(rt_event_signal(&event, 0), 0);
	CHECK_EQ(rt_event_signal(&event, 0x8), 0);
	CHECK_EVENT(&event, 8, 3);
	CHECK_EQ(rt_event_clear(&event, ~0U, NULL), 0); /* never releases anybody */
	CHECK_EVENT(&event, 0, 3);
	CHECK_EQ(mark_count(), 0);
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_ENDED(one, 0, 1);
	CHECK_ENDED(two, 0, 1);
	CHECK_EVENT(&event, 1, 1);
	CHECK(kit_blocked(&three->task));
	/* Already set: nothing new, nobody released. */
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_EVENT(&event, 1, 1);
	CHECK_EQ(rt_event_signal(&event, 2), 0);
	CHECK_ENDED(three, 0, 2);
	CHECK_EVENT(&event, 3, 0);
}

/* The first in the queue may be the one who is not satisfied. */
static void unsatisfied_head_does_not_block_the_rest(void)
{
	int mode;

	for (mode = EV_FIFO; mode <= EV_PRIO; mode++) {
		MAKE_EVENT(&event, 0, mode);
		await(one, &event, 3, EV_ALL, 30, "one");
		await(two, &event, 1, EV_ALL, 10, "two");
		await(three, &event, 5, EV_ANY, 20, "three");
		CHECK_EQ(rt_event_signal(&event, 1), 0);
		CHECK_ENDED(two, 0, 1);
		CHECK_ENDED(three, 0, 1);
		CHECK_EVENT(&event, 1, 1);
		CHECK_EQ(rt_event_signal(&event, 2), 0);
		CHECK_ENDED(one, 0, 3);
		CHECK_EQ(rt_event_delete(&event), 0);
	}
}

static void many_waiters_are_released_at_once(void)
{
	enum { MANY = 40 };
	static struct event_waiter many[MANY];
	int i;

	MAKE_EVENT(&event, 0, EV_PRIO);
	for (i = 0; i < MANY; i++)
		await(&many[i], &event, i % 2 ? 1U << i % 32 : ~0U, EV_ANY, i % 10, "many");
	CHECK_EVENT(&event, 0, MANY);
	CHECK_EQ(rt_event_signal(&event, ~0U), 0);
	for (i = 0; i < MANY; i++)
		CHECK_ENDED(&many[i], 0, i % 2 ? 1U << i % 32 : ~0U);
	CHECK_EVENT(&event, ~0U, 0);
}

/* --- In which order ----------------------------------------------------------------------------------------------- */

static int group_mode;
static int prios[3];
static void (*change)(void);

/* The waiters are above the boss: each runs when it is readied, so that the marks tell the order of the queue. */
static void queue_and_signal(void *arg)
{
	static const char *const tags[] = { "one", "two", "three" };
	int i;

	(void)arg;
	for (i = 0; i < 3; i++)
		await(&waiters[i], &event, 1U << i, EV_ALL, prios[i], tags[i]);
	if (change)
		change();
	CHECK_EVENT(&event, 0, 3);
	CHECK_EQ(rt_event_signal(&event, 7), 0);
	mark("done");
	CHECK_EVENT(&event, 7, 0);
}

static void expect_order(int mode, int first, int second, int third, void (*changing)(void), const char *order)
{
	int i;

	group_mode = mode;
	prios[0] = first;
	prios[1] = second;
	prios[2] = third;
	change = changing;
	clear_marks();
	MAKE_EVENT(&event, 0, mode);
	kit_boss(queue_and_signal);
	for (i = 0; i < 3; i++)
		CHECK_ENDED(&waiters[i], 0, 1U << i);
	expect_marks(order);
	CHECK_EQ(rt_event_delete(&event), 0);
}

/* event.md 9.21, 4 */
static void queue_order_is_the_order_of_release(void)
{
	expect_order(EV_PRIO, 60, 80, 70, NULL, "two three one done");
	expect_order(EV_FIFO, 60, 80, 70, NULL, "one two three done");
	expect_order(EV_PRIO, 70, 70, 70, NULL, "one two three done");
	expect_order(EV_FIFO, 70, 70, 70, NULL, "one two three done");
	expect_order(EV_PRIO, 10, 30, 20, NULL, "done two three one");
	/* Below the boss and equal: still as readied. */
	expect_order(EV_PRIO, 10, 10, 10, NULL, "done one two three");
	expect_order(EV_FIFO, 10, 10, 10, NULL, "done one two three");
}

static void raise_one(void)
{
	CHECK_EQ(rt_task_set_priority(&one->task, 90), 0);
}

static void lower_two(void)
{
	CHECK_EQ(rt_task_set_priority(&two->task, 55), 0);
}

static void level_one_with_the_rest(void)
{
	CHECK_EQ(rt_task_set_priority(&one->task, 70), 0);
}

static void priority_change_moves_a_waiter(void)
{
	expect_order(EV_PRIO, 60, 80, 70, raise_one, "one two three done");
	expect_order(EV_PRIO, 60, 80, 70, lower_two, "three one two done");
	expect_order(EV_PRIO, 60, 70, 70, level_one_with_the_rest, "two three one done"); /* behind its equals */
	expect_order(EV_PRIO, 70, 70, 70, level_one_with_the_rest, "one two three done"); /* no change: it stays */
	expect_order(EV_FIFO, 60, 80, 70, raise_one, "one two three done");
	expect_order(EV_FIFO, 60, 80, 70, lower_two, "one two three done");
}

static void higher_waiter_runs_before_signal_returns(void)
{
	MAKE_EVENT(&event, 0, EV_FIFO);
	await(one, &event, 1, EV_ALL, 10, "woken");
	mark("signal");
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	mark("signalled");
	CHECK_ENDED(one, 0, 1);
	expect_marks("signal woken signalled");
}

/* --- A release stands --------------------------------------------------------------------------------------------- */

static void (*afterwards)(void);

static void release_and_go_on(void *arg)
{
	(void)arg;
	await_for(one, &event, 5, EV_ANY, 10, "woken", 200 * MS);
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_EVENT(&event, 3, 0); /* it is queued no more, though it has not run */
	afterwards();
	mark("done");
}

/* The waiter is below the boss: it runs when all this is over. */
static void released_waiter_returns_0(void (*what)(void), unsigned value)
{
	clear_marks();
	MAKE_EVENT(&event, 2, EV_PRIO);
	afterwards = what;
	kit_boss(release_and_go_on);
	CHECK_ENDED(one, 0, 1);
	expect_marks("done woken");
	if (value != UNTOUCHED) {
		CHECK_EVENT(&event, value, 0);
		CHECK_EQ(rt_event_delete(&event), 0);
	}
}

static void clear_again(void)
{
	unsigned old;

	CHECK_EQ(rt_event_clear(&event, 1, &old), 0);
	CHECK_EQ(old, 3);
}

static void signal_more(void)
{
	CHECK_EQ(rt_event_signal(&event, 4), 0);
}

static void unblock_it(void)
{
	CHECK_EQ(rt_task_unblock(&one->task), 0);
}

static void outlast_the_date(void)
{
	RTIME date = rt_timer_read() + 210 * MS;

	while (rt_timer_read() < date)
		;
}

static void delete_it(void)
{
	CHECK_EQ(rt_event_delete(&event), 0);
	CHECK_EQ(rt_event_signal(&event, 1), -EINVAL);
}

static void delete_and_create(void)
{
	delete_it();
	MAKE_EVENT(&event, 8, EV_PRIO);
}

/* event.md 9.19, 5 */
static void nothing_takes_a_release_back(void)
{
	released_waiter_returns_0(clear_again, 2);
	released_waiter_returns_0(signal_more, 7);
	released_waiter_returns_0(unblock_it, 3);
	released_waiter_returns_0(outlast_the_date, 3);
	released_waiter_returns_0(delete_it, UNTOUCHED);
	released_waiter_returns_0(delete_and_create, 8);
}

static void signal_and_clear(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_EQ(rt_event_clear(&event, 1, NULL), 0);
}

/* event.md 9.19 without SCHED_FIFO, 9.20 in small */
static void pulse_releases_who_is_queued(void)
{
	int i;

	MAKE_EVENT(&event, 0, EV_FIFO);
	for (i = 0; i < 200; i++) {
		clear_marks();
		await(one, &event, 1, EV_ANY, 10, "one");
		await(two, &event, 3, EV_ALL, 10, "two");
		signal_and_clear(NULL);
		CHECK_ENDED(one, 0, 1);
		CHECK_EVENT(&event, 0, 1);
		CHECK_EQ(rt_event_signal(&event, 3), 0);
		CHECK_EQ(rt_event_clear(&event, 3, NULL), 0);
		CHECK_ENDED(two, 0, 3);
		CHECK_EVENT(&event, 0, 0);
	}
}

/* --- Deletion ----------------------------------------------------------------------------------------------------- */

static void queue_three_and_delete(void *arg)
{
	RT_EVENT again, bound;

	(void)arg;
	CHECK_EQ(rt_event_create(&event, "lingering", 8, group_mode), 0);
	await(one, &event, 1, EV_ALL, 60, "60");
	await_for(two, &event, 2, EV_ANY, 80, "80", HOUR);
	await(three, &event, 7, EV_ALL, 10, "10");
	CHECK_EQ(rt_event_delete(&event), 0);
	mark("deleted");
	CHECK_EQ(rt_event_signal(&event, 7), -EINVAL);
	CHECK_EQ(rt_event_wait(&event, 8, NULL, EV_ALL, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_event_delete(&event), -EINVAL);
	CHECK_EQ(rt_event_bind(&bound, "lingering", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_event_create(&again, "lingering", 0, EV_FIFO), 0);
	CHECK_EVENT(&again, 0, 0); /* the removed waiters leave it alone */
	event = again;
}

static void delete_with_waiters(int mode)
{
	group_mode = mode;
	clear_marks();
	kit_boss(queue_three_and_delete);
	CHECK_ENDED(one, -EIDRM, UNTOUCHED);
	CHECK_ENDED(two, -EIDRM, UNTOUCHED);
	CHECK_ENDED(three, -EIDRM, UNTOUCHED);
	CHECK_EVENT(&event, 0, 0);
	CHECK_EQ(rt_event_delete(&event), 0);
}

/* event.md 9.18, 9.7 */
static void deletion_tells_every_waiter(void)
{
	delete_with_waiters(EV_FIFO);
	delete_with_waiters(EV_PRIO);
}

static void deletion_readies_in_queue_order_before_it_returns(void)
{
	delete_with_waiters(EV_FIFO);
	expect_marks("60 80 deleted 10");
	delete_with_waiters(EV_PRIO);
	expect_marks("80 60 deleted 10");
}

KIT_CASES(
	CASE(flags_of_several_signals_add_up), CASE(flags_set_before_the_wait_count), CASE(cleared_flags_do_not_count),
	CASE(any_reports_the_flags_that_are_set), CASE(all_who_are_satisfied_are_released),
	CASE(unsatisfied_head_does_not_block_the_rest), CASE(many_waiters_are_released_at_once),
	CASE_FIFO(queue_order_is_the_order_of_release), CASE_FIFO(priority_change_moves_a_waiter),
	CASE_FIFO(higher_waiter_runs_before_signal_returns), CASE_FIFO(nothing_takes_a_release_back),
	CASE(pulse_releases_who_is_queued), CASE(deletion_tells_every_waiter),
	CASE_FIFO(deletion_readies_in_queue_order_before_it_returns))
