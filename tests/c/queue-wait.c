/* rt_queue_receive, rt_queue_read and their forms on an empty queue: polls, dates, who may wait (queue.md 7). */
#include "kit.h"
#include "queue-kit.h"
#include "tasks.h"
#include <limits.h>

static RT_QUEUE queue;

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

/* ---- The same call by both services and in all forms -------------------------------------------------------------- */

enum form { RELATIVE, ABSOLUTE, TIMESPEC, FORMS };

struct wait {
	int receives;
	enum form form;
	RTIME value;
	const struct timespec *date;
};

/* Makes the call; outputs are only written if it succeeds. A message is given back. */
static ssize_t take_one(const struct wait *wait)
{
	void *buf = NOWHERE;
	char room[8], before[8];
	ssize_t result;

	memset(room, 0x5a, sizeof(room));
	memcpy(before, room, sizeof(room));
	if (wait->form == RELATIVE)
		result = wait->receives ? rt_queue_receive(&queue, &buf, wait->value) : rt_queue_read(&queue, room, 8, wait->value);
	else if (wait->form == ABSOLUTE)
		result = wait->receives ? rt_queue_receive_until(&queue, &buf, wait->value)
					: rt_queue_read_until(&queue, room, 8, wait->value);
	else
		result = wait->receives ? rt_queue_receive_timed(&queue, &buf, wait->date)
					: rt_queue_read_timed(&queue, room, 8, wait->date);
	if (result < 0) {
		CHECK(buf == NOWHERE);
		CHECK_SAME_BYTES(room, before, sizeof(room));
	} else if (wait->receives) {
		CHECK_EQ(rt_queue_free(&queue, buf), 0);
	}
	return result;
}

static ssize_t ticks(int receives, enum form form, RTIME value)
{
	struct wait wait = { receives, form, value, NULL };

	return take_one(&wait);
}

static ssize_t timespec(int receives, const struct timespec *date)
{
	struct wait wait = { receives, TIMESPEC, 0, date };

	return take_one(&wait);
}

/* ---- Who, how long ------------------------------------------------------------------------------------------------ */

static const struct timespec poll = { 0, 0 };

static void poll_in_vain(void *arg)
{
	int receives;

	(void)arg;
	for (receives = 0; receives < 2; receives++) {
		CHECK_EQ(ticks(receives, RELATIVE, TM_NONBLOCK), -EWOULDBLOCK);
		CHECK_EQ(ticks(receives, ABSOLUTE, TM_NONBLOCK), -EWOULDBLOCK);
		CHECK_EQ(timespec(receives, &poll), -EWOULDBLOCK);
	}
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* queue.md 11.25, 11.27 */
static void poll_never_waits_for_any_caller(void)
{
	MAKE_QUEUE(&queue, 1000, 0, Q_PRIO);
	poll_in_vain(NULL);
	kit_plain(poll_in_vain, NULL);
	as_task(10, poll_in_vain, NULL);
}

static void miss_every_date(void *arg)
{
	int receives;
	unsigned i;

	(void)arg;
	for (receives = 0; receives < 2; receives++) {
		for (i = 0; i < PAST_DATES; i++)
			CHECK_EQ(timespec(receives, &past_dates[i]), -ETIMEDOUT);
		CHECK_EQ(ticks(receives, ABSOLUTE, 1), -ETIMEDOUT);
		CHECK_EQ(ticks(receives, ABSOLUTE, rt_timer_read()), -ETIMEDOUT);
		for (i = 0; i < BAD_DATES; i++)
			CHECK_EQ(timespec(receives, &bad_dates[i]), -EINVAL);
	}
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(write_text(&queue, "to nobody", Q_NORMAL), 0);
	EXPECT_READ(&queue, "to nobody");
}

static void past_or_malformed_date(void)
{
	MAKE_QUEUE(&queue, 1000, 0, Q_FIFO);
	miss_every_date(NULL);
	as_task(10, miss_every_date, NULL);
}

static void be_refused(void *arg)
{
	struct timespec date = date_of(kit_now() + 1000000);
	int receives;
	unsigned i;

	(void)arg;
	for (receives = 0; receives < 2; receives++) {
		CHECK_EQ(ticks(receives, RELATIVE, TM_INFINITE), -EPERM);
		CHECK_EQ(ticks(receives, RELATIVE, MS), -EPERM);
		CHECK_EQ(ticks(receives, ABSOLUTE, TM_INFINITE), -EPERM);
		CHECK_EQ(ticks(receives, ABSOLUTE, rt_timer_read() + MS), -EPERM);
		CHECK_EQ(timespec(receives, NULL), -EPERM);
		CHECK_EQ(timespec(receives, &date), -EPERM);
		/* Who asks is looked at before the date is. */
		for (i = 0; i < BAD_DATES; i++)
			CHECK_EQ(timespec(receives, &bad_dates[i]), -EPERM);
		for (i = 0; i < PAST_DATES; i++)
			CHECK_EQ(timespec(receives, &past_dates[i]), -EPERM);
	}
}

/* queue.md 11.27, decision 31 */
static void plain_thread_may_not_wait_and_leaves_no_trace(void)
{
	MAKE_QUEUE(&queue, 1000, 0, Q_FIFO);
	kit_plain(be_refused, NULL);
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(write_text(&queue, "to nobody", Q_NORMAL), 0);
	EXPECT_READ(&queue, "to nobody");
}

static void shadow_and_wait(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_shadow(NULL, NULL, 0, 0), 0);
	CHECK_EQ(ticks(0, RELATIVE, MS), -ETIMEDOUT);
	CHECK_EQ(ticks(1, RELATIVE, MS), -ETIMEDOUT);
}

static void shadowed_thread_may_wait(void)
{
	MAKE_QUEUE(&queue, 1000, 0, Q_FIFO);
	kit_plain(shadow_and_wait, NULL);
}

/* queue.md 11.25: each form waits at least as long as it was told, and no trace stays. */
static void wait_for_a_while(void *arg)
{
	struct timespec date;
	long long start;
	int receives;

	(void)arg;
	for (receives = 0; receives < 2; receives++) {
		start = kit_now();
		CHECK_EQ(ticks(receives, RELATIVE, MS), -ETIMEDOUT);
		CHECK(kit_now() - start >= MS);
		start = kit_now();
		CHECK_EQ(ticks(receives, RELATIVE, 10 * MS), -ETIMEDOUT);
		CHECK(kit_now() - start >= 10 * MS);
		start = kit_now();
		CHECK_EQ(ticks(receives, ABSOLUTE, rt_timer_read() + 10 * MS), -ETIMEDOUT);
		CHECK(kit_now() - start >= 10 * MS);
		start = kit_now();
		date = date_of(start + 10 * MS);
		CHECK_EQ(timespec(receives, &date), -ETIMEDOUT);
		CHECK(kit_now() - start >= 10 * MS);
		CHECK_EQ(ticks(receives, RELATIVE, 1), -ETIMEDOUT);
	}
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(write_text(&queue, "to nobody", Q_NORMAL), 0);
	EXPECT_READ(&queue, "to nobody");
}

static void timed_wait_is_never_short(void)
{
	MAKE_QUEUE(&queue, 1000, 0, Q_FIFO);
	wait_for_a_while(NULL); /* the initial thread, never shadowed, may wait */
	as_task(10, wait_for_a_while, NULL);
}

/* ---- Waits that end with a message -------------------------------------------------------------------------------- */

static void take_a_text(void *wait)
{
	CHECK_EQ(take_one((const struct wait *)wait), 4);
}

#define STATUS_WAIT 0x20011
#define STATUS_TIMEDWAIT 0x40011

static void zero_and_null_wait_without_limit(void)
{
	struct wait wait;
	RT_TASK_INFO info;
	RT_TASK task;
	int i;

	memset(&wait, 0, sizeof(wait));
	MAKE_QUEUE(&queue, 1000, 0, Q_FIFO);
	for (i = 0; i < 2 * FORMS; i++) {
		wait.receives = i % 2;
		wait.form = (enum form)(i / 2);
		kit_spawn_blocked(&task, 10, take_a_text, &wait);
		CHECK_EQ(rt_task_inquire(&task, &info), 0);
		CHECK_EQ(info.stat.status, STATUS_WAIT);
		CHECK_EQ(info.stat.timeout, 0);
		CHECK_QUEUE(&queue, 1, 0, 0);
		CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 1);
		kit_join(&task);
		CHECK_QUEUE(&queue, 0, 0, 0);
	}
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

	MAKE_QUEUE(&queue, 1000, 0, Q_FIFO);
	for (i = 0; i < 4 * VALUES + 2; i++) {
		wait.receives = i % 2;
		wait.value = values[i / 4 % VALUES];
		wait.form = i >= 4 * VALUES ? TIMESPEC : i / 2 % 2 ? ABSOLUTE : RELATIVE;
		wait.date = &last;
		kit_spawn_blocked(&task, 10, take_a_text, &wait);
		kit_nap(MS);
		CHECK_QUEUE(&queue, 1, 0, 0); /* a wrapped date would have passed */
		CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 1);
		kit_join(&task);
	}
}

static void timed_waiter_takes_a_message_in_time(void)
{
	struct taker taker;
	RT_TASK_INFO info;

	MAKE_QUEUE(&queue, 1000, 0, Q_FIFO);
	start_timed_receiver(&taker, &queue, 10, "w", 3600000 * MS);
	CHECK_EQ(rt_task_inquire(&taker.task, &info), 0);
	CHECK_EQ(info.stat.status, STATUS_TIMEDWAIT);
	CHECK(info.stat.timeout >= 1 && info.stat.timeout <= (RTIME)(3600000 * MS));
	CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 1);
	expect_text(&taker, "text");
	CHECK_EQ(rt_queue_free(&queue, taker.buf), 0);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

static void timed_out_waiter_leaves_the_others_queued(void)
{
	struct taker patient, hasty;

	MAKE_QUEUE(&queue, 1000, 0, Q_FIFO);
	start_timed_receiver(&hasty, &queue, 10, "hasty", 100 * MS);
	start_reader(&patient, &queue, 10, "patient");
	expect_failure(&hasty, -ETIMEDOUT);
	CHECK_QUEUE(&queue, 1, 0, 0);
	CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 1);
	expect_text(&patient, "text");
	CHECK_QUEUE(&queue, 0, 0, 0);
	expect_marks("hasty patient");
}

static void write_after_ms(void *text)
{
	CHECK_EQ(rt_task_sleep(5 * MS), 0);
	mark("write");
	CHECK_EQ(write_text(&queue, (const char *)text, Q_NORMAL), 1);
}

static void initial_thread_waits_like_a_task(void)
{
	static char text[] = "text";
	char room[8];
	RT_TASK task;
	void *buf;

	MAKE_QUEUE(&queue, 1000, 0, Q_PRIO);
	CHECK(rt_task_self() == NULL);
	kit_spawn(&task, 10, write_after_ms, text);
	CHECK_EQ(rt_queue_read(&queue, room, sizeof(room), TM_INFINITE), 4);
	mark("main");
	CHECK_SAME_BYTES(room, "text", 4);
	kit_join(&task);
	kit_spawn(&task, 10, write_after_ms, text);
	CHECK_EQ(rt_queue_receive(&queue, &buf, TM_INFINITE), 4);
	CHECK_SAME_BYTES(buf, "text", 4);
	CHECK_EQ(rt_queue_free(&queue, buf), 0);
	kit_join(&task);
	expect_marks("write main write");
	CHECK(rt_task_self() == NULL);
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
	struct taker taker;
	int receives;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal; /* no SA_RESTART */
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	MAKE_QUEUE(&queue, 1000, 0, Q_FIFO);
	for (receives = 0; receives < 2; receives++) {
		if (receives)
			start_receiver(&taker, &queue, 10, "w");
		else
			start_reader(&taker, &queue, 10, "w");
		CHECK_EQ(pthread_kill(taker.task.thread, SIGUSR1), 0);
		until(__atomic_load_n(&handled, __ATOMIC_RELAXED) == receives + 1);
		kit_nap(MS);
		CHECK_QUEUE(&queue, 1, 0, 0);
		CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 1);
		expect_text(&taker, "text");
	}
	CHECK_EQ(rt_queue_free(&queue, taker.buf), 0);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* ---- Producers need no context ------------------------------------------------------------------------------------ */

static void produce(void *taker_)
{
	struct taker *taker = (struct taker *)taker_;
	void *buf = make_message(&queue, "sent");

	CHECK_EQ(rt_queue_send(&queue, buf, 4, Q_NORMAL), 1);
	expect_text(taker, "sent");
	CHECK_EQ(write_text(&queue, "queued", Q_URGENT), 0);
	CHECK_EQ(rt_queue_flush(&queue), 1);
}

/* queue.md 8: a task, the initial thread and a plain one serve a waiter alike. */
static void any_thread_serves_a_waiter(void)
{
	struct taker taker;
	int i;

	MAKE_QUEUE(&queue, 1000, 0, Q_FIFO);
	for (i = 0; i < 3; i++) {
		start_receiver(&taker, &queue, 10, "w");
		if (i == 0)
			produce(&taker);
		else if (i == 1)
			kit_plain(produce, &taker);
		else
			as_task(5, produce, &taker);
		CHECK_EQ(rt_queue_free(&queue, taker.buf), 0);
		CHECK_QUEUE(&queue, 0, 0, 0);
	}
}

KIT_CASES(
	CASE(poll_never_waits_for_any_caller), CASE(past_or_malformed_date),
	CASE(plain_thread_may_not_wait_and_leaves_no_trace), CASE(shadowed_thread_may_wait), CASE(timed_wait_is_never_short),
	CASE(zero_and_null_wait_without_limit), CASE(huge_timeouts_saturate), CASE(timed_waiter_takes_a_message_in_time),
	CASE(timed_out_waiter_leaves_the_others_queued), CASE(initial_thread_waits_like_a_task),
	CASE(linux_signals_do_not_end_a_wait), CASE(any_thread_serves_a_waiter))
