/* Messages while nobody waits: order, sizes, who holds what, limits, flush (queue.md 3, 6, 7, 11.4-11.16, 11.26-11.29). */
#include "kit.h"
#include "queue-kit.h"
#include "tasks.h"
#include <limits.h>

static RT_QUEUE queue;

/* ---- Order ------------------------------------------------------------------------------------------------------ */

static void messages_leave_in_order_of_arrival(void)
{
	char text[16];
	int i, round;

	MAKE_QUEUE(&queue, 4000, 0, Q_PRIO);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 20; i++) {
			snprintf(text, sizeof(text), "m%d", i);
			CHECK_EQ(write_text(&queue, text, Q_NORMAL), 0);
			CHECK_QUEUE(&queue, 0, i + 1, (size_t)(i + 1) * cost_of(2));
		}
		for (i = 0; i < 20; i++) {
			snprintf(text, sizeof(text), "m%d", i);
			EXPECT_READ(&queue, text);
		}
		EXPECT_EMPTY(&queue);
		CHECK_QUEUE(&queue, 0, 0, 0);
	}
}

/* queue.md 11.6 */
static void urgent_messages_leave_last_in_first_out(void)
{
	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	CHECK_EQ(write_text(&queue, "A", Q_URGENT), 0);
	CHECK_EQ(write_text(&queue, "B", Q_URGENT), 0);
	CHECK_EQ(rt_queue_send(&queue, make_message(&queue, "C"), 1, Q_URGENT), 0);
	EXPECT_READ(&queue, "C");
	EXPECT_READ(&queue, "B");
	EXPECT_READ(&queue, "A");
	EXPECT_EMPTY(&queue);
}

/* queue.md 11.7 */
static void urgent_message_overtakes(void)
{
	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	CHECK_EQ(write_text(&queue, "A", Q_NORMAL), 0);
	CHECK_EQ(rt_queue_send(&queue, make_message(&queue, "B"), 1, Q_NORMAL), 0);
	CHECK_EQ(write_text(&queue, "U", Q_URGENT), 0);
	EXPECT_READ(&queue, "U");
	CHECK_EQ(write_text(&queue, "C", Q_NORMAL), 0);
	CHECK_EQ(rt_queue_send(&queue, make_message(&queue, "V"), 1, Q_URGENT), 0);
	EXPECT_READ(&queue, "V");
	EXPECT_READ(&queue, "A");
	EXPECT_READ(&queue, "B");
	EXPECT_READ(&queue, "C");
	EXPECT_EMPTY(&queue);
}

/* ---- Sizes ------------------------------------------------------------------------------------------------------ */

/* queue.md 11.8 */
static void read_cuts_off_what_does_not_fit(void)
{
	char room[16];

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	CHECK_EQ(write_text(&queue, "0123456789", Q_NORMAL), 0);
	CHECK_EQ(write_text(&queue, "next", Q_NORMAL), 0);
	memset(room, 0x5a, sizeof(room));
	CHECK_EQ(rt_queue_read(&queue, room, 4, TM_NONBLOCK), 4);
	CHECK_SAME_BYTES(room, "0123\x5a\x5a\x5a\x5a\x5a\x5a", 10);
	CHECK_QUEUE(&queue, 0, 1, cost_of(4));
	EXPECT_READ(&queue, "next");
	CHECK_QUEUE(&queue, 0, 0, 0);
}

static void read_writes_no_more_than_the_message(void)
{
	char room[16];

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	CHECK_EQ(write_text(&queue, "abc", Q_NORMAL), 0);
	memset(room, 0x5a, sizeof(room));
	CHECK_EQ(rt_queue_read(&queue, room, sizeof(room), TM_INFINITE), 3);
	CHECK_SAME_BYTES(room, "abc\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a", 16);
}

/* queue.md 11.9 */
static void read_of_nothing_takes_nothing(void)
{
	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	CHECK_EQ(rt_queue_read(&queue, NULL, 0, TM_INFINITE), 0); /* empty, and does not wait */
	CHECK_EQ(write_text(&queue, "there", Q_NORMAL), 0);
	CHECK_EQ(rt_queue_read(&queue, NULL, 0, TM_NONBLOCK), 0);
	CHECK_EQ(rt_queue_read_until(&queue, NULL, 0, TM_INFINITE), 0);
	CHECK_EQ(rt_queue_read_timed(&queue, NULL, 0, NULL), 0);
	CHECK_QUEUE(&queue, 0, 1, cost_of(5));
	EXPECT_READ(&queue, "there");
}

/* queue.md 11.10, 11.11 */
static void empty_message_is_a_message(void)
{
	void *buf = NULL;
	char room;

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	CHECK_EQ(rt_queue_write(&queue, NULL, 0, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_write(&queue, &room, 0, Q_NORMAL), 0);
	buf = rt_queue_alloc(&queue, 0);
	CHECK(buf != NULL);
	CHECK_EQ(rt_queue_send(&queue, buf, 0, Q_NORMAL), 0);
	CHECK_QUEUE(&queue, 0, 3, 3 * cost_of(0));
	CHECK_EQ(rt_queue_read(&queue, &room, 1, TM_NONBLOCK), 0);
	CHECK_QUEUE(&queue, 0, 2, 2 * cost_of(0));
	buf = NULL;
	CHECK_EQ(rt_queue_receive(&queue, &buf, TM_NONBLOCK), 0);
	CHECK(buf != NULL);
	CHECK_QUEUE(&queue, 0, 1, 2 * cost_of(0));
	CHECK_EQ(rt_queue_free(&queue, buf), 0);
	CHECK_EQ(rt_queue_read(&queue, &room, 1, TM_INFINITE), 0);
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(rt_queue_write(&queue, NULL, 1, Q_NORMAL), -EINVAL);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* queue.md 3: in one address space the receiver sees the sender's pointer, and the content as it left it. */
static void message_is_passed_on_without_a_copy(void)
{
	void *buf, *got = NULL;

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	buf = make_message(&queue, "text");
	CHECK_EQ(rt_queue_send(&queue, buf, 2, Q_NORMAL), 0);
	memcpy(buf, "TE", 2);
	CHECK_EQ(rt_queue_receive(&queue, &got, TM_NONBLOCK), 2);
	CHECK(got == buf);
	CHECK_SAME_BYTES(got, "TExt", 4);
	CHECK_QUEUE(&queue, 0, 0, cost_of(4));
	CHECK_EQ(rt_queue_free(&queue, got), 0);
}

/* queue.md 11.29 */
static void received_message_is_sent_again(void)
{
	void *buf, *got = NULL;
	int size;

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	buf = make_message(&queue, "abcdefghijklmnopqrstuvwxyz");
	for (size = 26; size >= 0; size--) {
		CHECK_EQ(rt_queue_send(&queue, buf, (size_t)size, size % 2 ? Q_URGENT : Q_NORMAL), 0);
		CHECK_QUEUE(&queue, 0, 1, cost_of(26));
		CHECK_EQ(rt_queue_receive(&queue, &got, TM_NONBLOCK), size);
		CHECK(got == buf);
	}
	/* And with more than it had: there is room. */
	CHECK_EQ(rt_queue_send(&queue, buf, 32, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_receive(&queue, &got, TM_NONBLOCK), 32);
	CHECK_SAME_BYTES(got, "abcdefghijklmnopqrstuvwxyz", 26);
	CHECK_EQ(rt_queue_free(&queue, got), 0);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* ---- Who holds it ------------------------------------------------------------------------------------------------ */

/* queue.md 11.12 */
static void queued_message_is_nobodys(void)
{
	void *buf, *got;

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	buf = make_message(&queue, "mine");
	CHECK_EQ(rt_queue_send(&queue, buf, 4, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_free(&queue, buf), -EINVAL);
	CHECK_EQ(rt_queue_send(&queue, buf, 4, Q_NORMAL), -EINVAL);
	CHECK_EQ(rt_queue_send(&queue, buf, 4, Q_URGENT), -EINVAL);
	CHECK_EQ(rt_queue_send(&queue, buf, 4, Q_BROADCAST), -EINVAL);
	CHECK_QUEUE(&queue, 0, 1, cost_of(4));
	CHECK_EQ(rt_queue_receive(&queue, &got, TM_NONBLOCK), 4);
	CHECK_EQ(rt_queue_free(&queue, got), 0);
	CHECK_EQ(rt_queue_free(&queue, got), -EINVAL);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* Q2 */
static void message_that_was_read_is_gone(void)
{
	void *buf;

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	buf = make_message(&queue, "mine");
	CHECK_EQ(rt_queue_send(&queue, buf, 4, Q_NORMAL), 0);
	EXPECT_READ(&queue, "mine");
	CHECK_EQ(rt_queue_free(&queue, buf), -EINVAL);
	CHECK_EQ(rt_queue_send(&queue, buf, 4, Q_NORMAL), -EINVAL);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* queue.md 11.15 */
static void broadcast_to_nobody_stays_with_the_sender(void)
{
	void *buf;

	MAKE_QUEUE(&queue, 4000, 2, Q_FIFO);
	buf = make_message(&queue, "again");
	CHECK_EQ(rt_queue_send(&queue, buf, 5, Q_BROADCAST), 0);
	CHECK_EQ(rt_queue_send(&queue, buf, 5, Q_BROADCAST | Q_URGENT), 0);
	CHECK_QUEUE(&queue, 0, 0, cost_of(5));
	EXPECT_EMPTY(&queue);
	CHECK_EQ(rt_queue_send(&queue, buf, 5, Q_NORMAL), 0);
	EXPECT_READ(&queue, "again");
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(write_text(&queue, "dropped", Q_BROADCAST), 0);
	CHECK_EQ(write_text(&queue, "dropped", Q_BROADCAST | Q_URGENT), 0);
	CHECK_QUEUE(&queue, 0, 0, 0);
	EXPECT_EMPTY(&queue);
	buf = make_message(&queue, "freed");
	CHECK_EQ(rt_queue_send(&queue, buf, 5, Q_BROADCAST), 0);
	CHECK_EQ(rt_queue_free(&queue, buf), 0);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

/* queue.md 11.4; errors in the order of the table. */
static void full_queue_leaves_the_message_with_the_sender(void)
{
	void *buf;
	char local[8];

	MAKE_QUEUE(&queue, 4000, 2, Q_FIFO);
	CHECK_EQ(write_text(&queue, "one", Q_NORMAL), 0);
	CHECK_EQ(write_text(&queue, "two", Q_NORMAL), 0);
	buf = make_message(&queue, "three");
	CHECK_EQ(rt_queue_send(&queue, buf, 5, Q_NORMAL), -ENOMEM);
	CHECK_EQ(rt_queue_send(&queue, buf, 5, Q_URGENT), -ENOMEM);
	CHECK_EQ(rt_queue_send(&queue, NULL, 5, Q_NORMAL), -EINVAL);
	CHECK_EQ(rt_queue_send(&queue, buf, 5, 4), -EINVAL);
	CHECK_EQ(rt_queue_send(&queue, local, 5, Q_NORMAL), -ENOMEM);
	CHECK_EQ(rt_queue_send(&queue, buf, 5000, Q_NORMAL), -ENOMEM);
	CHECK_EQ(write_text(&queue, "three", Q_NORMAL), -ENOMEM);
	CHECK_EQ(write_text(&queue, "three", Q_URGENT), -ENOMEM);
	CHECK_QUEUE(&queue, 0, 2, 3 * cost_of(5));
	EXPECT_READ(&queue, "one");
	CHECK_EQ(rt_queue_send(&queue, buf, 5, Q_URGENT), 0);
	EXPECT_READ(&queue, "three");
	buf = make_message(&queue, "four");
	CHECK_EQ(rt_queue_free(&queue, buf), 0);
	EXPECT_READ(&queue, "two");
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* queue.md 11.5; promise 2 */
static void held_messages_do_not_count_against_the_limit(void)
{
	void *buf[8], *got[2];
	int i;

	MAKE_QUEUE(&queue, 4000, 2, Q_FIFO);
	for (i = 0; i < 8; i++)
		buf[i] = make_message(&queue, "held");
	CHECK_QUEUE(&queue, 0, 0, 8 * cost_of(4));
	CHECK_EQ(rt_queue_send(&queue, buf[0], 4, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_send(&queue, buf[1], 4, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_send(&queue, buf[2], 4, Q_NORMAL), -ENOMEM);
	for (i = 0; i < 2; i++)
		CHECK_EQ(rt_queue_receive(&queue, &got[i], TM_NONBLOCK), 4);
	CHECK_EQ(rt_queue_send(&queue, buf[2], 4, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_send(&queue, buf[3], 4, Q_NORMAL), 0);
	CHECK_QUEUE(&queue, 0, 2, 8 * cost_of(4));
	CHECK_EQ(rt_queue_flush(&queue), 2);
	CHECK_QUEUE(&queue, 0, 0, 6 * cost_of(4));
	for (i = 0; i < 2; i++)
		CHECK_EQ(rt_queue_free(&queue, got[i]), 0);
	for (i = 4; i < 8; i++)
		CHECK_EQ(rt_queue_free(&queue, buf[i]), 0);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* queue.md 11.16 */
static void broadcast_on_a_full_queue(void)
{
	void *buf;

	MAKE_QUEUE(&queue, 4000, 1, Q_FIFO);
	buf = make_message(&queue, "held");
	CHECK_EQ(write_text(&queue, "full", Q_NORMAL), 0);
	CHECK_EQ(write_text(&queue, "dropped", Q_BROADCAST), 0);
	CHECK_EQ(rt_queue_send(&queue, buf, 4, Q_BROADCAST), -ENOMEM);
	CHECK_QUEUE(&queue, 0, 1, 2 * cost_of(4));
	CHECK_EQ(rt_queue_free(&queue, buf), 0);
	EXPECT_READ(&queue, "full");
	EXPECT_EMPTY(&queue);
}

static void unknown_modes_are_refused(void)
{
	static const int modes[] = { 4, 5, 6, 7, 8, 0x10, 0x100, 0x10000, 0x40000000, -1, -4, INT_MIN, INT_MAX };
	void *buf;
	unsigned i;

	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	buf = make_message(&queue, "held");
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		CHECK_EQ(rt_queue_send(&queue, buf, 4, modes[i]), -EINVAL);
		CHECK_EQ(rt_queue_write(&queue, "text", 4, modes[i]), -EINVAL);
		CHECK_EQ(rt_queue_write(&queue, NULL, 0, modes[i]), -EINVAL);
	}
	CHECK_EQ(rt_queue_send(&queue, NULL, 0, Q_NORMAL), -EINVAL);
	CHECK_QUEUE(&queue, 0, 0, cost_of(4));
	CHECK_EQ(rt_queue_free(&queue, buf), 0);
}

static void outputs_without_room_are_refused(void)
{
	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	CHECK_EQ(write_text(&queue, "stays", Q_NORMAL), 0);
	CHECK_EQ(rt_queue_receive(&queue, NULL, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_queue_receive(&queue, NULL, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_queue_read(&queue, NULL, 5, TM_NONBLOCK), -EINVAL);
	CHECK_QUEUE(&queue, 0, 1, cost_of(5));
	EXPECT_READ(&queue, "stays");
}

/* ---- Flush ------------------------------------------------------------------------------------------------------- */

/* queue.md 11.28 */
static void flush_removes_what_is_queued(void)
{
	void *held[2];
	int i, round;

	MAKE_QUEUE(&queue, 4000, 5, Q_FIFO);
	CHECK_EQ(rt_queue_flush(&queue), 0);
	for (round = 0; round < 3; round++) {
		held[0] = make_message(&queue, "first");
		for (i = 0; i < 5; i++)
			CHECK_EQ(write_text(&queue, "queued", i % 2 ? Q_URGENT : Q_NORMAL), 0);
		held[1] = make_message(&queue, "second");
		CHECK_QUEUE(&queue, 0, 5, 7 * cost_of(6));
		CHECK_EQ(rt_queue_flush(&queue), 5);
		CHECK_QUEUE(&queue, 0, 0, 2 * cost_of(6));
		CHECK_EQ(rt_queue_flush(&queue), 0);
		CHECK_SAME_BYTES(held[0], "first", 5);
		CHECK_EQ(rt_queue_send(&queue, held[0], 5, Q_NORMAL), 0);
		EXPECT_READ(&queue, "first");
		CHECK_SAME_BYTES(held[1], "second", 6);
		CHECK_EQ(rt_queue_free(&queue, held[1]), 0);
		EXPECT_EMPTY(&queue);
		CHECK_QUEUE(&queue, 0, 0, 0);
	}
}

/* ---- Callers ----------------------------------------------------------------------------------------------------- */

/* queue.md 11.26, 11.27: what is there is taken, whatever the time-out, by whomever. */
static void take_in_every_form(void *arg)
{
	static const struct timespec dates[] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { -1, 0 }, { 1, 2000000000 }, { 1, -1 } };
	static const RTIME limits[] = { TM_INFINITE, TM_NONBLOCK, 1 };
	void *buf;
	char room[8];
	unsigned i;

	(void)arg;
	for (i = 0; i < 3 + 6 + 1; i++) {
		int k;

		for (k = 0; k < 4; k++)
			CHECK_EQ(write_text(&queue, "there", Q_NORMAL), 0);
		if (i < 3) {
			CHECK_EQ(rt_queue_read(&queue, room, 8, limits[i]), 5);
			CHECK_EQ(rt_queue_read_until(&queue, room, 8, limits[i]), 5);
			CHECK_EQ(rt_queue_receive(&queue, &buf, limits[i]), 5);
			CHECK_EQ(rt_queue_free(&queue, buf), 0);
			CHECK_EQ(rt_queue_receive_until(&queue, &buf, limits[i]), 5);
		} else {
			CHECK_EQ(rt_queue_flush(&queue), 4);
			CHECK_EQ(write_text(&queue, "there", Q_NORMAL), 0);
			CHECK_EQ(rt_queue_read_timed(&queue, room, 8, i < 9 ? &dates[i - 3] : NULL), 5);
			CHECK_EQ(write_text(&queue, "there", Q_NORMAL), 0);
			CHECK_EQ(rt_queue_receive_timed(&queue, &buf, i < 9 ? &dates[i - 3] : NULL), 5);
		}
		CHECK_EQ(rt_queue_free(&queue, buf), 0);
		CHECK_QUEUE(&queue, 0, 0, 0);
	}
}

static void message_is_taken_whatever_the_date_and_the_caller(void)
{
	MAKE_QUEUE(&queue, 4000, 0, Q_FIFO);
	take_in_every_form(NULL);
	kit_plain(take_in_every_form, NULL);
	as_task(10, take_in_every_form, NULL);
}

KIT_CASES(
	CASE(messages_leave_in_order_of_arrival), CASE(urgent_messages_leave_last_in_first_out), CASE(urgent_message_overtakes),
	CASE(read_cuts_off_what_does_not_fit), CASE(read_writes_no_more_than_the_message), CASE(read_of_nothing_takes_nothing),
	CASE(empty_message_is_a_message), CASE(message_is_passed_on_without_a_copy), CASE(received_message_is_sent_again),
	CASE(queued_message_is_nobodys), CASE(message_that_was_read_is_gone), CASE(broadcast_to_nobody_stays_with_the_sender),
	CASE(full_queue_leaves_the_message_with_the_sender), CASE(held_messages_do_not_count_against_the_limit),
	CASE(broadcast_on_a_full_queue), CASE(unknown_modes_are_refused), CASE(outputs_without_room_are_refused),
	CASE(flush_removes_what_is_queued), CASE(message_is_taken_whatever_the_date_and_the_caller))
