/* What the queue tests share: tasks that take one message, and a look at a queue's state. Include it after kit.h. */
#ifndef QUEUE_KIT_H
#define QUEUE_KIT_H

#include <alchemy/queue.h>

#ifndef MS
#define MS 1000000LL
#endif

/* What the address of a message is set to where a call must leave it alone. */
#define NOWHERE ((void *)(uintptr_t)0x5a5a5a50)

/* Bytes a message of `size` takes of the pool (queue.md 4). */
KIT_UNUSED static size_t cost_of(size_t size)
{
	size_t block = size + 32, power = 16;

	if (block >= 512)
		return (block + 511) / 512 * 512;
	while (power < block)
		power *= 2;
	return power;
}

/* A task that takes one message, leaves its tag as a mark and ends. */
struct taker {
	RT_TASK task;
	RT_QUEUE *queue;
	int receives; /* rt_queue_receive, else rt_queue_read */
	RTIME timeout;
	const char *tag;
	void *buf;     /* out: what a receiver got */
	char *room;    /* where a reader reads to */
	size_t size;   /* how much is there */
	char own[256]; /* where that is if nothing else is said */
	ssize_t result;
};

KIT_UNUSED static void taker_body(void *taker_)
{
	struct taker *taker = (struct taker *)taker_;

	if (taker->receives)
		taker->result = rt_queue_receive(taker->queue, &taker->buf, taker->timeout);
	else
		taker->result = rt_queue_read(taker->queue, taker->room, taker->size, taker->timeout);
	mark(taker->tag);
}

KIT_UNUSED static void prepare(struct taker *taker, RT_QUEUE *queue, int receives, const char *tag, RTIME timeout)
{
	taker->queue = queue;
	taker->receives = receives;
	taker->timeout = timeout;
	taker->tag = tag;
	taker->buf = NOWHERE;
	memset(taker->own, 0x5a, sizeof(taker->own));
	taker->room = taker->own;
	taker->size = sizeof(taker->own);
	taker->result = 4711;
}

/* Starts one and returns when it is queued. */
KIT_UNUSED static void start_receiver(struct taker *taker, RT_QUEUE *queue, int prio, const char *tag)
{
	prepare(taker, queue, 1, tag, TM_INFINITE);
	kit_spawn_blocked(&taker->task, prio, taker_body, taker);
}

KIT_UNUSED static void start_timed_receiver(struct taker *taker, RT_QUEUE *queue, int prio, const char *tag, RTIME timeout)
{
	prepare(taker, queue, 1, tag, timeout);
	kit_spawn_blocked(&taker->task, prio, taker_body, taker);
}

KIT_UNUSED static void start_reader(struct taker *taker, RT_QUEUE *queue, int prio, const char *tag)
{
	prepare(taker, queue, 0, tag, TM_INFINITE);
	kit_spawn_blocked(&taker->task, prio, taker_body, taker);
}

/* With room of its own. */
KIT_UNUSED static void start_reader_to(struct taker *taker, RT_QUEUE *queue, int prio, const char *tag, void *room, size_t size)
{
	prepare(taker, queue, 0, tag, TM_INFINITE);
	taker->room = (char *)room;
	taker->size = size;
	kit_spawn_blocked(&taker->task, prio, taker_body, taker);
}

/* What its call returned. */
KIT_UNUSED static ssize_t end_taker(struct taker *taker)
{
	kit_join(&taker->task);
	return taker->result;
}

/* It got exactly this text; a receiver still holds the message. */
KIT_UNUSED static void expect_text(struct taker *taker, const char *text)
{
	CHECK_EQ(end_taker(taker), strlen(text));
	CHECK_SAME_BYTES(taker->receives ? (char *)taker->buf : taker->room, text, strlen(text));
}

/* It failed so, and nothing was written. */
KIT_UNUSED static void expect_failure(struct taker *taker, int error)
{
	size_t i;

	CHECK_EQ(end_taker(taker), error);
	CHECK(taker->buf == NOWHERE);
	for (i = 0; taker->room == taker->own && i < sizeof(taker->own); i++)
		CHECK_EQ(taker->own[i], 0x5a);
}

/* The queue shows exactly this. */
#define CHECK_QUEUE(queue, nwaiters_, nmessages_, usedmem_) \
	do { \
		RT_QUEUE_INFO info_; \
		CHECK_EQ(rt_queue_inquire((queue), &info_), 0); \
		CHECK_EQ(info_.nwaiters, (nwaiters_)); \
		CHECK_EQ(info_.nmessages, (nmessages_)); \
		CHECK_EQ(info_.usedmem, (usedmem_)); \
	} while (0)

KIT_UNUSED static size_t queue_used(RT_QUEUE *queue)
{
	RT_QUEUE_INFO info;

	CHECK_EQ(rt_queue_inquire(queue, &info), 0);
	CHECK(info.usedmem <= info.poolsize);
	return info.usedmem;
}

KIT_UNUSED static size_t queue_pool(RT_QUEUE *queue)
{
	RT_QUEUE_INFO info;

	CHECK_EQ(rt_queue_inquire(queue, &info), 0);
	return info.poolsize;
}

KIT_UNUSED static int queue_waiters(RT_QUEUE *queue)
{
	RT_QUEUE_INFO info;

	CHECK_EQ(rt_queue_inquire(queue, &info), 0);
	return info.nwaiters;
}

/* A live unnamed queue. */
#define MAKE_QUEUE(queue, poolsize, qlimit, mode) CHECK_EQ(rt_queue_create((queue), NULL, (poolsize), (qlimit), (mode)), 0)

/* A message of the caller with this text. */
KIT_UNUSED static void *make_message(RT_QUEUE *queue, const char *text)
{
	void *buf = rt_queue_alloc(queue, strlen(text));

	CHECK(buf != NULL);
	memcpy(buf, text, strlen(text));
	return buf;
}

KIT_UNUSED static int write_text(RT_QUEUE *queue, const char *text, int mode)
{
	return rt_queue_write(queue, text, strlen(text), mode);
}

/* The first message is there and has this text; it is taken. */
#define EXPECT_READ(queue, text) \
	do { \
		char room_[256]; \
		CHECK_EQ(rt_queue_read((queue), room_, sizeof(room_), TM_NONBLOCK), strlen(text)); \
		CHECK_SAME_BYTES(room_, (text), strlen(text)); \
	} while (0)

/* There is no message. */
#define EXPECT_EMPTY(queue) \
	do { \
		char room_; \
		void *buf_ = NOWHERE; \
		CHECK_EQ(rt_queue_read((queue), &room_, 1, TM_NONBLOCK), -EWOULDBLOCK); \
		CHECK_EQ(rt_queue_receive((queue), &buf_, TM_NONBLOCK), -EWOULDBLOCK); \
		CHECK(buf_ == NOWHERE); \
	} while (0)

#endif /* QUEUE_KIT_H */
