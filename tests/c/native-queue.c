/* Message queues of the 2.x interface: what differs from 3.x (native2.md 3.2, 5, 6, 7.6). */
#include "native-kit.h"
#include <native/queue.h>

static RT_QUEUE queue;

static void check_queue(int waiters, int messages)
{
	RT_QUEUE_INFO info;

	CHECK_EQ(rt_queue_inquire(&queue, &info), 0);
	CHECK_EQ(info.nwaiters, waiters);
	CHECK_EQ(info.nmessages, messages);
}

static int mode_of(RT_QUEUE *of)
{
	RT_QUEUE_INFO info;

	CHECK_EQ(rt_queue_inquire(of, &info), 0);
	return info.mode;
}

/* Among them 0x2 and 0x4, which 3.x refuses. */
static void unknown_bits_are_ignored(void)
{
	static const int modes[] = { Q_SHARED, Q_DMA, Q_SHARED | Q_DMA, 0x2, 0x4, 0x10, 0x400, 0x10000, -2 };
	char room[8];
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		CHECK_EQ(rt_queue_create(&queue, NULL, 1000, 0, modes[i]), 0);
		CHECK_EQ(rt_queue_write(&queue, "text", 4, Q_NORMAL), 0);
		check_queue(0, 1);
		CHECK_EQ(rt_queue_read(&queue, room, sizeof(room), TM_NONBLOCK), 4);
		CHECK_EQ(rt_queue_delete(&queue), 0);
	}
}

/* native2.md 5: the bits given at creation. */
static void inquire_shows_the_mode(void)
{
	CHECK_EQ(rt_queue_create(&queue, NULL, 1000, 0, Q_PRIO | Q_SHARED), 0);
	CHECK_EQ(mode_of(&queue) & (Q_PRIO | Q_SHARED), Q_PRIO | Q_SHARED);
	CHECK_EQ(rt_queue_delete(&queue), 0);
	CHECK_EQ(rt_queue_create(&queue, NULL, 1000, 0, Q_PRIO), 0);
	CHECK_EQ(mode_of(&queue) & ~Q_SHARED, Q_PRIO);
	CHECK_EQ(rt_queue_delete(&queue), 0);
	CHECK_EQ(rt_queue_create(&queue, NULL, 1000, 0, Q_FIFO), 0);
	CHECK_EQ(mode_of(&queue) & ~Q_SHARED, Q_FIFO);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* The words that the original keeps its mapping in: an unmapped queue has none. */
static void descriptor_is_written_as_a_whole(void)
{
	RT_QUEUE bound, before;

	memset(&queue, 0x5a, sizeof(queue));
	memset(&bound, 0x5a, sizeof(bound));
	before = queue;
	CHECK_EQ(rt_queue_create(&queue, "whole", 0, 0, Q_FIFO), -EINVAL);
	CHECK_SAME_BYTES(&queue, &before, sizeof(queue));
	CHECK_EQ(rt_queue_bind(&bound, "whole", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_SAME_BYTES(&bound, &before, sizeof(bound));
	CHECK_EQ(rt_queue_create(&queue, "whole", 1000, 0, Q_FIFO), 0);
	CHECK_EQ(rt_queue_bind(&bound, "whole", TM_NONBLOCK), 0);
	CHECK(queue.opaque != 0);
	CHECK_EQ(bound.opaque, queue.opaque);
	CHECK(!queue.opaque2 && !queue.mapbase && !queue.mapsize && !queue.area);
	CHECK(!bound.opaque2 && !bound.mapbase && !bound.mapsize && !bound.area);
	memset(&bound, 0x5a, sizeof(bound));
	before = bound;
	CHECK_EQ(rt_queue_create(&bound, "whole", 1000, 0, Q_FIFO), -EEXIST);
	CHECK_SAME_BYTES(&bound, &before, sizeof(bound));
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* native2.md 7.6: the full length, though only the beginning was copied. */
static void read_tells_the_full_length(void)
{
	char room[8];

	CHECK_EQ(rt_queue_create(&queue, NULL, 1000, 0, Q_FIFO), 0);
	CHECK_EQ(rt_queue_write(&queue, "0123456789", 10, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_write(&queue, "0123456789", 10, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_write(&queue, "abc", 3, Q_NORMAL), 0);
	memset(room, 0x5a, sizeof(room));
	CHECK_EQ(rt_queue_read(&queue, room, 4, TM_NONBLOCK), 10);
	CHECK_SAME_BYTES(room, "0123\x5a\x5a\x5a\x5a", 8);
	CHECK_EQ(rt_queue_read_until(&queue, room, 4, TM_INFINITE), 10);
	CHECK_EQ(rt_queue_read(&queue, room, 8, TM_INFINITE), 3);
	check_queue(0, 0);
	CHECK_EQ(rt_queue_read(&queue, room, 0, TM_INFINITE), 0);
	CHECK_EQ(rt_queue_read(&queue, room, 8, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

struct reader {
	RT_TASK task;
	char room[8];
	ssize_t result;
	int until;
};

static void read_four(void *reader_)
{
	struct reader *reader = (struct reader *)reader_;

	memset(reader->room, 0x5a, sizeof(reader->room));
	reader->result = reader->until ? rt_queue_read_until(&queue, reader->room, 4, TM_INFINITE)
				       : rt_queue_read(&queue, reader->room, 4, TM_INFINITE);
}

/* Whichever way the message comes to a waiter. */
static void waiting_reader_is_told_the_full_length(void)
{
	struct reader readers[2];
	int way, i;
	void *buf;

	CHECK_EQ(rt_queue_create(&queue, NULL, 1000, 0, Q_PRIO | Q_SHARED), 0);
	for (way = 0; way < 4; way++) {
		for (i = 0; i < 2; i++) {
			readers[i].until = way % 2;
			spawn_blocked(&readers[i].task, 10, read_four, &readers[i]);
		}
		if (way < 2) {
			CHECK_EQ(rt_queue_write(&queue, "0123456789", 10, Q_NORMAL), 1);
			buf = rt_queue_alloc(&queue, 10);
			CHECK(buf != NULL);
			memcpy(buf, "0123456789", 10);
			CHECK_EQ(rt_queue_send(&queue, buf, 10, Q_URGENT), 1);
		} else {
			CHECK_EQ(rt_queue_write(&queue, "0123456789", 10, Q_BROADCAST), 2);
		}
		for (i = 0; i < 2; i++) {
			join(&readers[i].task);
			CHECK_EQ(readers[i].result, 10);
			CHECK_SAME_BYTES(readers[i].room, "0123\x5a\x5a\x5a\x5a", 8);
		}
		check_queue(0, 0);
	}
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* A writer that claims to have more than can be: the reader gets what it has room for, and no error. */
static void absurd_length_is_no_error(void)
{
	static char data[64];
	struct reader reader;

	CHECK_EQ(rt_queue_create(&queue, NULL, 1000, 0, Q_PRIO | Q_SHARED), 0);
	reader.until = 0;
	spawn_blocked(&reader.task, 10, read_four, &reader);
	CHECK_EQ(rt_queue_write(&queue, data, (size_t)-1, Q_NORMAL), 1);
	join(&reader.task);
	CHECK(reader.result >= 4);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* The name before 2.2. */
static void recv_is_receive(void)
{
	void *buf = NULL, *got = NULL;

	CHECK_EQ(rt_queue_create(&queue, NULL, 1000, 2, Q_FIFO), 0);
	CHECK_EQ(rt_queue_recv(&queue, &got, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_queue_recv(&queue, &got, MS), -ETIMEDOUT);
	CHECK(got == NULL);
	buf = rt_queue_alloc(&queue, 10);
	CHECK_EQ(rt_queue_send(&queue, buf, 10, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_recv(&queue, &got, TM_INFINITE), 10);
	CHECK(got == buf);
	CHECK_EQ(rt_queue_free(&queue, got), 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
	CHECK_EQ(rt_queue_recv(&queue, &got, TM_INFINITE), -EINVAL);
}

/* native2.md 7.6 */
static void broadcast_write_without_reader_is_dropped(void)
{
	RT_QUEUE_INFO info;

	CHECK_EQ(rt_queue_create(&queue, NULL, 1000, 0, Q_FIFO), 0);
	CHECK_EQ(rt_queue_write(&queue, "text", 4, Q_BROADCAST), 0);
	CHECK_EQ(rt_queue_inquire(&queue, &info), 0);
	CHECK_EQ(info.nmessages, 0);
	CHECK_EQ(info.usedmem, 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* native2.md 11.6: the consumer ends when the queue is deleted. */
static int consumed;
static ssize_t last;

static void consume(void *arg)
{
	void *buf;

	(void)arg;
	while ((last = rt_queue_receive(&queue, &buf, TM_INFINITE)) > 0) {
		CHECK_EQ(last, sizeof(int));
		CHECK_EQ(*(int *)buf, consumed);
		CHECK_EQ(rt_queue_free(&queue, buf), 0);
		__atomic_add_fetch(&consumed, 1, __ATOMIC_RELEASE);
	}
}

static void producer_and_consumer(void)
{
	RT_TASK task;
	int i;

	CHECK_EQ(rt_queue_create(&queue, "messages", 10000, Q_UNLIMITED, Q_PRIO | Q_SHARED), 0);
	spawn_blocked(&task, 10, consume, NULL);
	for (i = 0; i < 1000; i++) {
		int *buf;

		until((buf = (int *)rt_queue_alloc(&queue, sizeof(int))) != NULL);
		*buf = i;
		CHECK(rt_queue_send(&queue, buf, sizeof(int), Q_NORMAL) >= 0);
	}
	until(__atomic_load_n(&consumed, __ATOMIC_ACQUIRE) == 1000);
	until(status_of(&task) & T_BLOCKED);
	CHECK_EQ(rt_queue_delete(&queue), 0);
	join(&task);
	CHECK_EQ(last, -EIDRM);
}

static void bind_outside_a_task(void *arg)
{
	RT_QUEUE bound;

	(void)arg;
	/* 3.x: -EPERM where it would have to wait. */
	CHECK_EQ(rt_queue_bind(&bound, "missing", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_queue_bind(&bound, "missing", MS), -EWOULDBLOCK);
	CHECK_EQ(rt_queue_bind(&bound, "missing", TM_INFINITE), -EWOULDBLOCK);
	CHECK_EQ(rt_queue_bind(&bound, "present", TM_INFINITE), 0);
	CHECK_EQ(bound.opaque, queue.opaque);
	CHECK_EQ(rt_queue_unbind(&bound), 0);
	CHECK_EQ(bound.opaque, 0);
	CHECK_EQ(rt_queue_unbind(&bound), 0);
	CHECK_EQ(rt_queue_flush(&bound), -EINVAL);
}

static void binding(void)
{
	RT_QUEUE bound;

	CHECK_EQ(rt_queue_create(&queue, "present", 1000, 0, Q_FIFO), 0);
	kit_plain(bind_outside_a_task, NULL);
	CHECK_EQ(rt_queue_bind(&bound, "missing", MS), -ETIMEDOUT);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* native2.md 6: anonymous queues are allowed, other codes are those of 3.x. */
static void names_and_codes(void)
{
	RT_QUEUE_INFO info;

	CHECK_EQ(rt_queue_create(&queue, NULL, 1000, 0, Q_FIFO), 0);
	CHECK_EQ(rt_queue_inquire(&queue, &info), 0);
	CHECK_STR(info.name, "queue@1");
	CHECK_EQ(rt_queue_delete(&queue), 0);
	CHECK_EQ(rt_queue_delete(&queue), -EINVAL);
	CHECK_EQ(rt_queue_create(NULL, NULL, 1000, 0, Q_FIFO), -EINVAL);
	CHECK_EQ(rt_queue_create(&queue, NULL, 1000, (size_t)INT_MAX + 1, Q_FIFO), -EINVAL);
	CHECK_EQ(rt_queue_create(&queue, "with space [1]", 1000, 0, Q_FIFO), 0);
	CHECK_EQ(rt_queue_flush(&queue), 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

KIT_CASES(
	CASE(unknown_bits_are_ignored), CASE(inquire_shows_the_mode), CASE(descriptor_is_written_as_a_whole),
	CASE(read_tells_the_full_length), CASE(waiting_reader_is_told_the_full_length), CASE(absurd_length_is_no_error),
	CASE(recv_is_receive), CASE(broadcast_write_without_reader_is_dropped), CASE(producer_and_consumer),
	CASE(binding), CASE(names_and_codes))
