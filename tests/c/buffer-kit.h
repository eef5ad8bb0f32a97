/*
 * What the buffer tests share: tasks that read or write once, and a look at a buffer. Include it after kit.h.
 *
 *     start_reader(&r, &bf, 10, "r", 4);          returns when it waits
 *     put(&bf, "abcd");
 *     CHECK_EQ(end_mover(&r), 4);
 *     CHECK_GOT(&r, "abcd");
 */
#ifndef BUFFER_KIT_H
#define BUFFER_KIT_H

#include <alchemy/buffer.h>

#ifndef MS
#define MS 1000000LL
#endif

enum { ROOM = 64 };

struct mover {
	RT_TASK task;
	RT_BUFFER *bf;
	int writes;
	char data[ROOM];
	size_t size;
	RTIME timeout;
	const char *tag; /* a mark when it is through, unless NULL */
	ssize_t result;
	int over;
};

KIT_UNUSED static void mover_body(void *mover_)
{
	struct mover *mover = (struct mover *)mover_;

	if (mover->writes)
		mover->result = rt_buffer_write(mover->bf, mover->data, mover->size, mover->timeout);
	else
		mover->result = rt_buffer_read(mover->bf, mover->data, mover->size, mover->timeout);
	if (mover->tag)
		mark(mover->tag);
	__atomic_store_n(&mover->over, 1, __ATOMIC_RELEASE);
}

KIT_UNUSED static void prepare_mover(struct mover *mover, RT_BUFFER *bf, const char *tag, RTIME timeout)
{
	memset(mover, 0, sizeof(*mover));
	mover->bf = bf;
	mover->tag = tag;
	mover->timeout = timeout;
	mover->result = -1000;
}

KIT_UNUSED static int is_over(struct mover *mover)
{
	return __atomic_load_n(&mover->over, __ATOMIC_ACQUIRE);
}

/* Starts a reader that has to wait; its room is full of '.'. */
KIT_UNUSED static void start_timed_reader(struct mover *mover, RT_BUFFER *bf, int prio, const char *tag, size_t size, RTIME timeout)
{
	prepare_mover(mover, bf, tag, timeout);
	memset(mover->data, '.', sizeof(mover->data) - 1);
	mover->size = size;
	kit_spawn_blocked(&mover->task, prio, mover_body, mover);
}

KIT_UNUSED static void start_reader(struct mover *mover, RT_BUFFER *bf, int prio, const char *tag, size_t size)
{
	start_timed_reader(mover, bf, prio, tag, size, TM_INFINITE);
}

/* Starts a writer that has to wait. */
KIT_UNUSED static void start_timed_writer(struct mover *mover, RT_BUFFER *bf, int prio, const char *tag, const char *text, RTIME timeout)
{
	prepare_mover(mover, bf, tag, timeout);
	mover->writes = 1;
	mover->size = strlen(text);
	memcpy(mover->data, text, mover->size);
	kit_spawn_blocked(&mover->task, prio, mover_body, mover);
}

KIT_UNUSED static void start_writer(struct mover *mover, RT_BUFFER *bf, int prio, const char *tag, const char *text)
{
	start_timed_writer(mover, bf, prio, tag, text, TM_INFINITE);
}

/* What its call returned. */
KIT_UNUSED static ssize_t end_mover(struct mover *mover)
{
	kit_join(&mover->task);
	return mover->result;
}

/* A reader that is through got exactly this, and nothing else was written to. */
#define CHECK_GOT(mover, text) \
	do { \
		char want_[ROOM]; \
		memset(want_, '.', ROOM - 1); \
		want_[ROOM - 1] = '\0'; \
		memcpy(want_, (text), strlen(text)); \
		CHECK_STR((mover)->data, want_); \
	} while (0)

/* The buffer holds so many bytes, and so many readers and writers wait. */
#define CHECK_BUFFER(bf, stored_, readers_, writers_) \
	do { \
		RT_BUFFER_INFO info_; \
		CHECK_EQ(rt_buffer_inquire((bf), &info_), 0); \
		CHECK_EQ(info_.totalmem - info_.availmem, (stored_)); \
		CHECK_EQ(info_.iwaiters, (readers_)); \
		CHECK_EQ(info_.owaiters, (writers_)); \
	} while (0)

#define MAKE_BUFFER(bf, size, mode) CHECK_EQ(rt_buffer_create((bf), NULL, (size), (mode)), 0)

/* Writes the text, which has room. */
#define PUT(bf, text) CHECK_EQ(rt_buffer_write((bf), (text), strlen(text), TM_NONBLOCK), (ssize_t)strlen(text))

/* Reads exactly this, which is there. */
#define GET(bf, text) \
	do { \
		char got_[ROOM] = ""; \
		CHECK_EQ(rt_buffer_read((bf), got_, strlen(text), TM_NONBLOCK), (ssize_t)strlen(text)); \
		CHECK_STR(got_, (text)); \
	} while (0)

#endif /* BUFFER_KIT_H */
