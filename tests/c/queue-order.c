/* Who gets a message, and when: queue order, broadcast, direct copies, deletion under waiters (queue.md 6, 8, Q1, Q5). */
#include "kit.h"
#include "queue-kit.h"
#include "tasks.h"

static RT_QUEUE queue;
static struct taker takers[4];

static void free_it(struct taker *taker)
{
	CHECK_EQ(rt_queue_free(&queue, taker->buf), 0);
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

/* Starts waiters, receivers and readers in turn, and writes as often; the next write waits for the last one's mark. */
static void serve_in_turn(int mode, const int *prios, const char *const *tags, int count, const char *order)
{
	int i;

	MAKE_QUEUE(&queue, 4000, 0, mode);
	for (i = 0; i < count; i++) {
		if (i % 2)
			start_receiver(&takers[i], &queue, prios[i], tags[i]);
		else
			start_reader(&takers[i], &queue, prios[i], tags[i]);
		CHECK_QUEUE(&queue, i + 1, 0, 0);
	}
	for (i = 0; i < count; i++) {
		CHECK_EQ(i % 2 ? write_text(&queue, "text", Q_NORMAL) : rt_queue_send(&queue, make_message(&queue, "text"), 4, Q_URGENT), 1);
		CHECK_EQ(queue_waiters(&queue), count - i - 1);
		until(mark_count() == i + 1);
	}
	expect_marks(order);
	for (i = 0; i < count; i++) {
		expect_text(&takers[i], "text");
		if (i % 2)
			free_it(&takers[i]);
	}
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
	clear_marks();
}

/* queue.md 11.22 */
static void waiters_are_served_in_queue_order(void)
{
	static const int two[] = { 10, 20 }, prios[] = { 10, 20, 15, 20 }, extremes[] = { 0, 99, 1, 0 };
	static const char *const twos[] = { "10", "20" }, *const tags[] = { "10", "20a", "15", "20b" };
	static const char *const ends[] = { "0a", "99", "1", "0b" };

	serve_in_turn(Q_PRIO, two, twos, 2, "20 10");
	serve_in_turn(Q_FIFO, two, twos, 2, "10 20");
	serve_in_turn(Q_PRIO, prios, tags, 4, "20a 20b 15 10");
	serve_in_turn(Q_FIFO, prios, tags, 4, "10 20a 15 20b");
	serve_in_turn(Q_PRIO, extremes, ends, 4, "99 1 0a 0b");
}

static void higher_waiter_runs_before_write_returns(void)
{
	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	start_reader(&takers[0], &queue, 10, "reader");
	mark("write");
	CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 1);
	mark("written");
	expect_text(&takers[0], "text");
	start_receiver(&takers[0], &queue, 10, "receiver");
	mark("send");
	CHECK_EQ(rt_queue_send(&queue, make_message(&queue, "text"), 4, Q_NORMAL), 1);
	mark("sent");
	expect_text(&takers[0], "text");
	expect_marks("write reader written send receiver sent");
}

static void write_thrice_then_poll(void *arg)
{
	(void)arg;
	start_reader(&takers[0], &queue, 10, "reader");
	start_receiver(&takers[1], &queue, 10, "receiver");
	CHECK_EQ(write_text(&queue, "one", Q_NORMAL), 1);
	EXPECT_EMPTY(&queue);
	CHECK_EQ(write_text(&queue, "two", Q_NORMAL), 1);
	EXPECT_EMPTY(&queue);
	CHECK_EQ(write_text(&queue, "three", Q_NORMAL), 0);
	CHECK_QUEUE(&queue, 0, 1, cost_of(3) + cost_of(5));
	EXPECT_READ(&queue, "three");
	mark("written");
}

/* A message goes to a waiter and not to a newcomer; in a row they reach different waiters, then the queue. */
static void messages_go_to_waiters_not_to_newcomers(void)
{
	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	kit_boss(write_thrice_then_poll);
	expect_text(&takers[0], "one");
	expect_text(&takers[1], "two");
	free_it(&takers[1]);
	CHECK_QUEUE(&queue, 0, 0, 0);
	if (kit_fifo())
		expect_marks("written reader receiver");
}

static void write_and_outlast_the_date(void *arg)
{
	RTIME date;

	(void)arg;
	start_timed_receiver(&takers[0], &queue, 10, "woken", 100 * MS);
	date = rt_timer_read() + 100 * MS;
	CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 1);
	while (rt_timer_read() < date + 10 * MS)
		;
	mark("late");
}

static void grant_stands_though_the_date_passes_before_the_waiter_runs(void)
{
	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	kit_boss(write_and_outlast_the_date);
	expect_text(&takers[0], "text");
	expect_marks("late woken");
	CHECK_QUEUE(&queue, 0, 0, cost_of(4));
}

/* ---- What a waiter gets ------------------------------------------------------------------------------------------ */

static void sent_message_reaches_its_receiver_uncopied(void)
{
	void *buf;

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	start_receiver(&takers[0], &queue, 10, "w");
	buf = make_message(&queue, "text");
	CHECK_EQ(rt_queue_send(&queue, buf, 3, Q_NORMAL), 1);
	expect_text(&takers[0], "tex");
	CHECK(takers[0].buf == buf);
	CHECK_QUEUE(&queue, 0, 0, cost_of(4));
	free_it(&takers[0]);
	CHECK_EQ(rt_queue_free(&queue, buf), -EINVAL); /* that was the only reference */
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* Q2 */
static void sent_message_is_freed_by_its_reader(void)
{
	void *buf;

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	start_reader(&takers[0], &queue, 10, "w");
	buf = make_message(&queue, "text");
	CHECK_EQ(rt_queue_send(&queue, buf, 4, Q_NORMAL), 1);
	expect_text(&takers[0], "text");
	CHECK_EQ(rt_queue_free(&queue, buf), -EINVAL);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* An empty message is one, too. */
static void waiters_get_empty_messages(void)
{
	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	start_receiver(&takers[0], &queue, 10, "receiver");
	start_reader(&takers[1], &queue, 10, "reader");
	CHECK_EQ(rt_queue_write(&queue, NULL, 0, Q_NORMAL), 1);
	CHECK_EQ(rt_queue_write(&queue, NULL, 0, Q_NORMAL), 1);
	expect_text(&takers[0], "");
	CHECK(takers[0].buf && takers[0].buf != NOWHERE);
	expect_text(&takers[1], "");
	CHECK_EQ(takers[1].own[0], 0x5a);
	CHECK_QUEUE(&queue, 0, 0, cost_of(0));
	free_it(&takers[0]);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

static void reader_with_little_room_gets_what_fits(void)
{
	static char room[8];
	int sends;

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	for (sends = 0; sends < 2; sends++) {
		memset(room, 0x5a, sizeof(room));
		start_reader_to(&takers[0], &queue, 10, "w", room, 4);
		if (sends)
			CHECK_EQ(rt_queue_send(&queue, make_message(&queue, "0123456789"), 10, Q_NORMAL), 1);
		else
			CHECK_EQ(write_text(&queue, "0123456789", Q_NORMAL), 1);
		CHECK_EQ(end_taker(&takers[0]), 4);
		CHECK_SAME_BYTES(room, "0123\x5a\x5a\x5a\x5a", 8);
		CHECK_QUEUE(&queue, 0, 0, 0);
	}
}

/* queue.md 11.20: what goes straight to a reader needs nothing of the pool, and is cut to the reader's room first. */
static void write_to_a_reader_needs_no_pool(void)
{
	enum { BIG = 100000 };
	static char data[BIG], room[BIG];
	void *buf[64];
	int count = 0, i;

	MAKE_QUEUE(&queue, 1000, 0, Q_FIFO);
	while ((buf[count] = rt_queue_alloc(&queue, 10)) != NULL)
		CHECK(++count < 64);
	for (i = 0; i < BIG; i++)
		data[i] = (char)(i * 7 + i / 251);
	start_reader_to(&takers[0], &queue, 10, "w", room, BIG);
	CHECK_EQ(rt_queue_write(&queue, data, BIG, Q_NORMAL), 1);
	CHECK_EQ(end_taker(&takers[0]), BIG);
	CHECK_SAME_BYTES(room, data, BIG);
	start_reader_to(&takers[0], &queue, 10, "w", room, 8);
	CHECK_EQ(rt_queue_write(&queue, data + 50, (size_t)-1, Q_URGENT), 1); /* a lie, but no byte beyond 8 is looked at */
	CHECK_EQ(end_taker(&takers[0]), 8);
	CHECK_SAME_BYTES(room, data + 50, 8);
	CHECK_QUEUE(&queue, 0, 0, (size_t)count * cost_of(10));
	while (count > 0)
		CHECK_EQ(rt_queue_free(&queue, buf[--count]), 0);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* queue.md 11.21; and a broadcast needs the pool whoever waits. */
static void write_to_a_receiver_needs_the_pool(void)
{
	static char data[10000];

	MAKE_QUEUE(&queue, 1000, 0, Q_FIFO);
	start_receiver(&takers[0], &queue, 10, "receiver");
	CHECK_EQ(rt_queue_write(&queue, data, sizeof(data), Q_NORMAL), -ENOMEM);
	CHECK_EQ(rt_queue_write(&queue, data, (size_t)-1, Q_NORMAL), -ENOMEM);
	start_reader(&takers[1], &queue, 10, "reader"); /* behind the receiver: not its turn */
	CHECK_EQ(rt_queue_write(&queue, data, sizeof(data), Q_NORMAL), -ENOMEM);
	CHECK_EQ(rt_queue_write(&queue, data, sizeof(data), Q_BROADCAST), -ENOMEM);
	CHECK_QUEUE(&queue, 2, 0, 0);
	CHECK(kit_blocked(&takers[0].task) && kit_blocked(&takers[1].task));
	CHECK_EQ(write_text(&queue, "fits", Q_NORMAL), 1);
	expect_text(&takers[0], "fits");
	CHECK_EQ(rt_queue_write(&queue, data, sizeof(data), Q_NORMAL), 1);
	CHECK_EQ(end_taker(&takers[1]), sizeof(takers[1].own));
	free_it(&takers[0]);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* ---- Broadcast --------------------------------------------------------------------------------------------------- */

/* queue.md 11.17, for both producers. */
static void broadcast_to_receivers_is_one_block(void)
{
	int sends, i;

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	for (sends = 0; sends < 2; sends++) {
		for (i = 0; i < 3; i++)
			start_receiver(&takers[i], &queue, 10, "w");
		if (sends)
			CHECK_EQ(rt_queue_send(&queue, make_message(&queue, "all"), 3, Q_BROADCAST), 3);
		else
			CHECK_EQ(write_text(&queue, "all", Q_BROADCAST), 3);
		for (i = 0; i < 3; i++) {
			expect_text(&takers[i], "all");
			CHECK(takers[i].buf == takers[0].buf);
		}
		for (i = 0; i < 3; i++) {
			CHECK_QUEUE(&queue, 0, 0, cost_of(3));
			free_it(&takers[i]);
		}
		CHECK_QUEUE(&queue, 0, 0, 0);
		CHECK_EQ(rt_queue_free(&queue, takers[0].buf), -EINVAL);
	}
}

/* queue.md 11.18, Q1 */
static void broadcast_to_readers_leaves_nothing(void)
{
	int sends, i;

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	for (sends = 0; sends < 2; sends++) {
		for (i = 0; i < 4; i++)
			start_reader(&takers[i], &queue, 10, "w");
		if (sends)
			CHECK_EQ(rt_queue_send(&queue, make_message(&queue, "all"), 3, Q_BROADCAST | Q_URGENT), 4);
		else
			CHECK_EQ(write_text(&queue, "all", Q_BROADCAST | Q_URGENT), 4);
		for (i = 0; i < 4; i++)
			expect_text(&takers[i], "all");
		CHECK_QUEUE(&queue, 0, 0, 0);
	}
}

/* queue.md 11.19, in both orders. */
static void broadcast_to_a_receiver_and_a_reader(void)
{
	int turn;

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	for (turn = 0; turn < 4; turn++) {
		if (turn % 2)
			start_reader(&takers[1], &queue, 10, "reader");
		start_receiver(&takers[0], &queue, 10, "receiver");
		if (turn % 2 == 0)
			start_reader(&takers[1], &queue, 10, "reader");
		if (turn < 2)
			CHECK_EQ(write_text(&queue, "both", Q_BROADCAST), 2);
		else
			CHECK_EQ(rt_queue_send(&queue, make_message(&queue, "both"), 4, Q_BROADCAST), 2);
		expect_text(&takers[1], "both");
		expect_text(&takers[0], "both");
		CHECK_QUEUE(&queue, 0, 0, cost_of(4));
		free_it(&takers[0]);
		CHECK_QUEUE(&queue, 0, 0, 0);
	}
}

static void broadcast_to_three(void *arg)
{
	static const int prios[] = { 60, 80, 70 };
	static const char *const tags[] = { "60", "80", "70" };
	int i;

	(void)arg;
	for (i = 0; i < 3; i++)
		start_reader(&takers[i], &queue, prios[i], tags[i]);
	CHECK_EQ(write_text(&queue, "all", Q_BROADCAST), 3);
	mark("done");
	CHECK_QUEUE(&queue, 0, 0, 0);
}

static void broadcast_readies_in_queue_order(void)
{
	static const int modes[] = { Q_FIFO, Q_PRIO };
	int i, k;

	for (i = 0; i < 2; i++) {
		MAKE_QUEUE(&queue, 4000, 0, modes[i]);
		kit_boss(broadcast_to_three);
		for (k = 0; k < 3; k++)
			expect_text(&takers[k], "all");
		expect_marks(i == 0 ? "60 80 70 done" : "80 70 60 done");
		clear_marks();
	}
}

/* Q5 */
static void shared_message_is_queued_once(void)
{
	char room[8];
	int order;
	void *buf;

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	for (order = 0; order < 2; order++) {
		start_receiver(&takers[0], &queue, 10, "A");
		start_receiver(&takers[1], &queue, 10, "B");
		CHECK_EQ(write_text(&queue, "both", Q_BROADCAST), 2);
		expect_text(&takers[0], "both");
		expect_text(&takers[1], "both");
		buf = takers[0].buf;
		CHECK_EQ(rt_queue_send(&queue, buf, 4, Q_NORMAL), 0); /* A */
		CHECK_EQ(rt_queue_send(&queue, buf, 4, Q_NORMAL), -EINVAL); /* B */
		CHECK_EQ(rt_queue_send(&queue, buf, 4, Q_URGENT), -EINVAL);
		CHECK_QUEUE(&queue, 0, 1, cost_of(4));
		if (order == 0) {
			/* The queue's link keeps it. */
			CHECK_EQ(rt_queue_free(&queue, buf), 0);
			CHECK_QUEUE(&queue, 0, 1, cost_of(4));
			EXPECT_READ(&queue, "both");
		} else {
			/* B keeps it. */
			CHECK_EQ(rt_queue_read(&queue, room, sizeof(room), TM_NONBLOCK), 4);
			CHECK_QUEUE(&queue, 0, 0, cost_of(4));
			CHECK_SAME_BYTES(buf, "both", 4);
			CHECK_EQ(rt_queue_free(&queue, buf), 0);
		}
		CHECK_QUEUE(&queue, 0, 0, 0);
		CHECK_EQ(rt_queue_free(&queue, buf), -EINVAL);
	}
}

/* Flushing a shared message takes the queue's reference only. */
static void shared_message_survives_a_flush(void)
{
	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	start_receiver(&takers[0], &queue, 10, "A");
	start_receiver(&takers[1], &queue, 10, "B");
	CHECK_EQ(write_text(&queue, "both", Q_BROADCAST), 2);
	expect_text(&takers[0], "both");
	expect_text(&takers[1], "both");
	CHECK_EQ(rt_queue_send(&queue, takers[0].buf, 4, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_flush(&queue), 1);
	CHECK_QUEUE(&queue, 0, 0, cost_of(4));
	CHECK_EQ(rt_queue_send(&queue, takers[0].buf, 4, Q_NORMAL), 0);
	EXPECT_READ(&queue, "both");
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* ---- Deletion ---------------------------------------------------------------------------------------------------- */

static void delete_under_three(void *arg)
{
	static const int prios[] = { 60, 80, 70 };
	static const char *const tags[] = { "60", "80", "70" };
	int i;

	(void)arg;
	for (i = 0; i < 3; i++)
		if (i == 1)
			start_receiver(&takers[i], &queue, prios[i], tags[i]);
		else
			start_reader(&takers[i], &queue, prios[i], tags[i]);
	CHECK_EQ(rt_queue_delete(&queue), 0);
	mark("deleted");
	CHECK_EQ(write_text(&queue, "text", Q_NORMAL), -EINVAL);
	CHECK_EQ(rt_queue_delete(&queue), -EINVAL);
}

/* queue.md 11.24 */
static void delete_tells_every_waiter(void)
{
	static const int modes[] = { Q_FIFO, Q_PRIO };
	int i, k;

	for (i = 0; i < 2; i++) {
		MAKE_QUEUE(&queue, 4000, 0, modes[i]);
		kit_boss(delete_under_three);
		for (k = 0; k < 3; k++)
			expect_failure(&takers[k], -EIDRM);
		if (kit_fifo())
			expect_marks(i == 0 ? "60 80 70 deleted" : "80 70 60 deleted");
		clear_marks();
	}
}

KIT_CASES(
	CASE(waiters_are_served_in_queue_order), CASE_FIFO(higher_waiter_runs_before_write_returns),
	CASE(messages_go_to_waiters_not_to_newcomers), CASE_FIFO(grant_stands_though_the_date_passes_before_the_waiter_runs),
	CASE(sent_message_reaches_its_receiver_uncopied), CASE(sent_message_is_freed_by_its_reader),
	CASE(waiters_get_empty_messages), CASE(reader_with_little_room_gets_what_fits), CASE(write_to_a_reader_needs_no_pool),
	CASE(write_to_a_receiver_needs_the_pool), CASE(broadcast_to_receivers_is_one_block),
	CASE(broadcast_to_readers_leaves_nothing), CASE(broadcast_to_a_receiver_and_a_reader),
	CASE_FIFO(broadcast_readies_in_queue_order), CASE(shared_message_is_queued_once), CASE(shared_message_survives_a_flush),
	CASE(delete_tells_every_waiter))
