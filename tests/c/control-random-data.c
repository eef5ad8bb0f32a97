/* Random requests to tasks that use queues, heaps and buffers: see random-kit.h. Of each there are two: one that lasts, and what
 * goes in there comes out again; one that rulers delete and replace, where a call may come too late. */
#define KIT_STORM
#include "kit.h"
#include "random-kit.h"
#include <alchemy/buffer.h>
#include <alchemy/heap.h>
#include <alchemy/queue.h>

/* Before the victim gives it back, or away: whoever finds it is the only one who has it. */
static void *hand_over(int i)
{
	void *held = me->held[i];

	__atomic_store_n(&me->held[i], NULL, __ATOMIC_RELEASE);
	return held;
}

/* Those who were ended in the few instructions between a call and the note of what it has given, or before a call that gives
 * it back. */
static long few(long dead)
{
	return 4 + dead / 8;
}

/* ---- With a queue --------------------------------------------------------------------------------------------- */

enum { LIMIT = 8, NOTE = 200 };

/* A message is as many of its number as fit. A broadcast has the number 0. */
static RT_QUEUE mail;
static uintptr_t brief_mail;
static char *mail_area;
static long mailed, got_mail; /* counted before the one and after the other */
static long next_note;
static struct once notes;

static uintptr_t make_mail(RT_QUEUE *queue, size_t size)
{
	CHECK_EQ(rt_queue_create(queue, NULL, LIMIT * size, LIMIT, Q_PRIO), 0);
	return queue->handle;
}

static void open_mail(void)
{
	RT_QUEUE queue;

	make_mail(&mail, 40 * NOTE);
	mail_area = (char *)rt_queue_alloc(&mail, 1);
	CHECK(mail_area != NULL);
	CHECK_EQ(rt_queue_free(&mail, mail_area), 0);
	brief_mail = make_mail(&queue, NOTE);
}

static void write_note(long *note, long number, size_t size)
{
	size_t i;

	for (i = 0; i < size / sizeof(long); i++)
		note[i] = number;
}

static size_t some_size(void)
{
	return sizeof(long) * (1 + chance(NOTE / sizeof(long)));
}

static void count_note(const long *note, ssize_t size)
{
	ssize_t i;

	CHECK(size > 0 && size % (ssize_t)sizeof(long) == 0);
	for (i = 1; i < size / (ssize_t)sizeof(long); i++)
		CHECK_EQ(note[i], note[0]);
	if (note[0] == 0)
		return;
	check_once(&notes, note[0]);
	bump(&got_mail);
}

static void write_mail(void)
{
	long note[NOTE / sizeof(long)];
	size_t size = some_size();
	int sent;

	write_note(note, bump(&next_note), size);
	bump(&mailed);
	sent = rt_queue_write(&mail, note, size, chance(4) ? Q_NORMAL : Q_URGENT);
	CHECK(sent == 0 || sent == 1 || sent == -ENOMEM);
	if (sent == -ENOMEM)
		add(&mailed, -1);
}

static void send_mail(void)
{
	size_t size = some_size();
	long *note = (long *)rt_queue_alloc(&mail, size);
	int sent;

	__atomic_store_n(&me->held[0], note, __ATOMIC_RELEASE);
	if (!note)
		return;
	write_note(note, bump(&next_note), size);
	bump(&mailed);
	hand_over(0);
	sent = rt_queue_send(&mail, note, size, chance(4) ? Q_NORMAL : Q_URGENT);
	CHECK(sent == 0 || sent == 1 || sent == -ENOMEM);
	if (sent == -ENOMEM) {
		add(&mailed, -1);
		CHECK_EQ(rt_queue_free(&mail, note), 0);
	}
}

static void broadcast_mail(void)
{
	long note[NOTE / sizeof(long)] = { 0 };
	void *held;
	int sent;

	if (chance(2)) {
		sent = rt_queue_write(&mail, note, sizeof(note), Q_BROADCAST);
		CHECK(sent >= 0 || sent == -ENOMEM);
		return;
	}
	held = rt_queue_alloc(&mail, sizeof(note));
	__atomic_store_n(&me->held[0], held, __ATOMIC_RELEASE);
	if (!held)
		return;
	memset(held, 0, sizeof(note));
	hand_over(0);
	sent = rt_queue_send(&mail, held, sizeof(note), Q_BROADCAST);
	CHECK(sent >= 0 || sent == -ENOMEM);
	if (sent <= 0)
		CHECK_EQ(rt_queue_free(&mail, held), 0);
}

static void receive_mail(void)
{
	RTIME timeout = some_time();
	ssize_t size = rt_queue_receive(&mail, &me->held[0], timeout);

	if (size < 0) {
		check_in_vain(size, timeout);
		return;
	}
	if (((long *)me->held[0])[0] && chance(4) == 0) {
		void *note = hand_over(0);
		int sent = rt_queue_send(&mail, note, (size_t)size, Q_URGENT);

		CHECK(sent == 0 || sent == 1 || sent == -ENOMEM);
		if (sent != -ENOMEM)
			return;
		__atomic_store_n(&me->held[0], note, __ATOMIC_RELEASE);
	}
	count_note((long *)me->held[0], size);
	CHECK_EQ(rt_queue_free(&mail, hand_over(0)), 0);
}

static void read_mail(void)
{
	long note[NOTE / sizeof(long)];
	RTIME timeout = some_time();
	ssize_t size = rt_queue_read(&mail, note, sizeof(note), timeout);

	if (size < 0)
		check_in_vain(size, timeout);
	else
		count_note(note, size);
}

/* Messages of the pool that may be gone are not looked at. */
static void use_brief_mail(void)
{
	RT_QUEUE queue = { current(&brief_mail) };
	RTIME timeout = 1000 + chance(20000);
	long note[NOTE / sizeof(long)];
	void *held;
	int sent;

	switch (chance(4)) {
	case 0:
		found(rt_queue_read(&queue, note, sizeof(note), timeout), timeout);
		break;
	case 1:
		if (found(rt_queue_receive(&queue, &held, timeout), timeout))
			found(rt_queue_free(&queue, held), TM_NONBLOCK);
		break;
	case 2:
		held = rt_queue_alloc(&queue, NOTE);
		sent = held ? rt_queue_send(&queue, held, NOTE, Q_NORMAL) : 0;
		CHECK(sent == 0 || sent == 1 || sent == -EINVAL || sent == -ENOMEM);
		break;
	default:
		memset(note, 0, sizeof(note));
		sent = rt_queue_write(&queue, note, sizeof(note), chance(2) ? Q_BROADCAST : Q_NORMAL);
		CHECK(sent >= 0 || sent == -EINVAL || sent == -ENOMEM);
		break;
	}
}

static void look_at_mail(RT_QUEUE_INFO *info)
{
	CHECK_EQ(rt_queue_inquire(&mail, info), 0);
	CHECK(info->nwaiters == 0 || info->nmessages == 0);
	CHECK(info->nmessages <= LIMIT);
	CHECK(info->usedmem <= info->poolsize);
}

static void use_queue(void)
{
	RT_QUEUE_INFO info;
	int i;

	for (i = 0; i < 5; i++) {
		switch (chance(12)) {
		case 0: case 1:
			write_mail();
			break;
		case 2: case 3: case 4:
			send_mail();
			break;
		case 5:
			broadcast_mail();
			break;
		case 6: case 7: case 8:
			receive_mail();
			break;
		case 9:
			read_mail();
			break;
		case 10:
			use_brief_mail();
			break;
		default:
			look_at_mail(&info);
			break;
		}
	}
}

static void upset_queue(void)
{
	RT_QUEUE queue;

	if (chance(4) == 0) {
		int flushed = rt_queue_flush(&mail);

		CHECK(flushed >= 0);
		add(&got_mail, flushed);
		return;
	}
	make_mail(&queue, NOTE);
	queue.handle = exchange(&brief_mail, queue.handle);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

static void mourn_queue_user(struct victim *victim)
{
	if (victim->held[0])
		CHECK_EQ(rt_queue_free(&mail, victim->held[0]), 0);
	victim->held[0] = NULL;
}

static long free_what_the_dead_hold(void)
{
	RT_QUEUE_INFO info;
	long freed = 0, at;

	look_at_mail(&info);
	for (at = -(long)info.poolsize; at < (long)info.poolsize; at += 16)
		while (rt_queue_free(&mail, mail_area + at) == 0)
			freed++;
	return freed;
}

static void check_queue(long dead)
{
	RT_QUEUE queue = { brief_mail };
	RT_QUEUE_INFO info;
	long expected = value(&mailed) - value(&got_mail);

	look_at_mail(&info);
	CHECK_EQ(info.nwaiters, 0);
	/* One each may have been lost with those who were about to send or to count it. */
	CHECK(info.nmessages <= expected);
	CHECK(info.nmessages >= expected - dead);
	CHECK_EQ(rt_queue_flush(&mail), info.nmessages);
	CHECK(free_what_the_dead_hold() <= few(dead));
	look_at_mail(&info);
	CHECK_EQ(info.usedmem, 0);
	CHECK_EQ(info.nmessages, 0);
	CHECK_EQ(rt_queue_write(&mail, &expected, sizeof(expected), Q_NORMAL), 0);
	CHECK_EQ(rt_queue_read(&mail, &expected, sizeof(expected), TM_NONBLOCK), sizeof(expected));
	CHECK_EQ(rt_queue_delete(&mail), 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* ---- With a heap ---------------------------------------------------------------------------------------------- */

enum { STORE = 4096, BLOCK = 1000 };

static RT_HEAP store;
static uintptr_t brief_store;
static char *store_area;

static uintptr_t make_store(RT_HEAP *heap)
{
	CHECK_EQ(rt_heap_create(heap, NULL, STORE, H_PRIO), 0);
	return heap->handle;
}

static void open_store(void)
{
	RT_HEAP heap;
	void *block;

	make_store(&store);
	CHECK_EQ(rt_heap_alloc(&store, 1, TM_NONBLOCK, &block), 0);
	store_area = (char *)block;
	CHECK_EQ(rt_heap_free(&store, block), 0);
	brief_store = make_store(&heap);
}

static void look_at_store(RT_HEAP_INFO *info)
{
	CHECK_EQ(rt_heap_inquire(&store, info), 0);
	CHECK(info->nwaiters == 0 || info->usedmem > 0);
	CHECK(info->usedmem <= info->usablemem);
}

static void use_brief_store(void)
{
	RT_HEAP heap = { current(&brief_store) };
	RTIME timeout = 1000 + chance(20000);
	void *block = NULL;

	if (found(rt_heap_alloc(&heap, 1 + chance(STORE), timeout, &block), timeout))
		found(rt_heap_free(&heap, block), TM_NONBLOCK);
}

static void fill(int i)
{
	memset(me->held[i], (int)(me - victims) + 16 * i, me->sizes[i]);
}

/* Nobody else has written to it. */
static void check_filled(int i)
{
	size_t at;

	for (at = 0; at < me->sizes[i]; at++)
		CHECK_EQ(((unsigned char *)me->held[i])[at], (me - victims) + 16 * i);
}

static void use_store(void)
{
	RT_HEAP_INFO info;
	int i;

	for (i = 0; i < HELD; i++) {
		RTIME timeout = some_time();
		int got;

		/* Who holds something does not wait for ever. */
		if (timeout == TM_INFINITE && i > 0)
			timeout = 30000;
		me->sizes[i] = 1 + chance(BLOCK);
		got = rt_heap_alloc(&store, me->sizes[i], timeout, &me->held[i]);
		if (got == 0)
			fill(i);
		else
			check_in_vain(got, timeout);
		CHECK_EQ(got == 0, me->held[i] != NULL);
	}
	if (chance(2))
		use_brief_store();
	look_at_store(&info);
	for (i = HELD; i-- > 0;)
		if (me->held[i]) {
			check_filled(i);
			CHECK_EQ(rt_heap_free(&store, hand_over(i)), 0);
		}
}

static void upset_store(void)
{
	RT_HEAP heap;

	make_store(&heap);
	heap.handle = exchange(&brief_store, heap.handle);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

static void mourn_store_user(struct victim *victim)
{
	int i;

	for (i = 0; i < HELD; i++) {
		if (victim->held[i])
			CHECK_EQ(rt_heap_free(&store, victim->held[i]), 0);
		victim->held[i] = NULL;
	}
}

/* Those who wait without limit hold nothing: what the others free is enough. */
static void feed_nothing(void)
{
}

static void check_store(long dead)
{
	RT_HEAP heap = { brief_store };
	RT_HEAP_INFO info;
	long freed = 0, at;
	void *block;

	look_at_store(&info);
	CHECK_EQ(info.nwaiters, 0);
	for (at = -STORE; at < STORE; at += 16)
		freed += rt_heap_free(&store, store_area + at) == 0;
	CHECK(freed <= few(dead));
	look_at_store(&info);
	CHECK_EQ(info.usedmem, 0);
	CHECK_EQ(rt_heap_alloc(&store, STORE, TM_NONBLOCK, &block), 0);
	CHECK_EQ(rt_heap_free(&store, block), 0);
	CHECK_EQ(rt_heap_delete(&store), 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* ---- With a buffer -------------------------------------------------------------------------------------------- */

enum { RECORDS = 8, MOST = 4 };

struct record {
	int writer, number;
};

static RT_BUFFER stream;
static uintptr_t brief_stream;
static long put, got_records; /* counted before the one and after the other */
static long next_record;
static struct once records;

static uintptr_t make_stream(RT_BUFFER *buffer)
{
	CHECK_EQ(rt_buffer_create(buffer, NULL, RECORDS * sizeof(struct record), B_PRIO), 0);
	return buffer->handle;
}

static void open_stream(void)
{
	RT_BUFFER buffer;

	make_stream(&stream);
	brief_stream = make_stream(&buffer);
}

/* Gives the number of records stored. */
static long look_at_stream(RT_BUFFER_INFO *info)
{
	size_t stored;

	CHECK_EQ(rt_buffer_inquire(&stream, info), 0);
	stored = info->totalmem - info->availmem;
	CHECK(info->availmem <= info->totalmem);
	CHECK_EQ(stored % sizeof(struct record), 0);
	/* Nobody waits for what is there, and the two sides never for each other. */
	CHECK(info->iwaiters == 0 || info->owaiters == 0);
	CHECK(info->iwaiters == 0 || stored < MOST * sizeof(struct record));
	CHECK(info->owaiters == 0 || info->availmem < MOST * sizeof(struct record));
	return (long)(stored / sizeof(struct record));
}

static void write_records(int writer, int count, RTIME timeout)
{
	ssize_t size = count * (ssize_t)sizeof(struct record), written;
	struct record record[MOST];
	int i;

	for (i = 0; i < count; i++) {
		record[i].writer = writer;
		record[i].number = (int)bump(&next_record);
	}
	add(&put, count);
	written = rt_buffer_write(&stream, record, (size_t)size, timeout);
	if (written != size) {
		check_in_vain(written, timeout);
		add(&put, -count);
	}
}

static void read_records(int count, RTIME timeout)
{
	ssize_t size = count * (ssize_t)sizeof(struct record), got;
	struct record record[MOST];
	int i, last[VICTIMS + 1] = { 0 };

	got = rt_buffer_read(&stream, record, (size_t)size, timeout);
	if (got < 0) {
		check_in_vain(got, timeout);
		return;
	}
	CHECK(got > 0 && got <= size && got % (ssize_t)sizeof(struct record) == 0);
	count = (int)(got / (ssize_t)sizeof(struct record));
	for (i = 0; i < count; i++) {
		CHECK(record[i].writer >= 0 && record[i].writer <= VICTIMS);
		CHECK(record[i].number > last[record[i].writer]);
		last[record[i].writer] = record[i].number;
		check_once(&records, record[i].number);
	}
	add(&got_records, count);
}

static void use_brief_stream(void)
{
	RT_BUFFER buffer = { current(&brief_stream) };
	size_t size = 1 + chance(RECORDS * sizeof(struct record));
	char bytes[RECORDS * sizeof(struct record)] = { 0 };
	RTIME timeout = 1000 + chance(20000);
	ssize_t done;

	if (chance(8) == 0) {
		found(rt_buffer_clear(&buffer), TM_NONBLOCK);
		return;
	}
	if (chance(2))
		done = rt_buffer_write(&buffer, bytes, size, timeout);
	else
		done = rt_buffer_read(&buffer, bytes, size, timeout);
	if (found(done, timeout))
		CHECK(done > 0 && done <= (ssize_t)size);
}

static void use_stream(void)
{
	RT_BUFFER_INFO info;
	int i;

	for (i = 0; i < 5; i++) {
		switch (chance(8)) {
		case 0: case 1: case 2:
			write_records((int)(me - victims), 1 + (int)chance(MOST), some_time());
			break;
		case 3: case 4: case 5:
			read_records(1 + (int)chance(MOST), some_time());
			break;
		case 6:
			use_brief_stream();
			break;
		default:
			look_at_stream(&info);
			break;
		}
	}
}

static void upset_stream(void)
{
	RT_BUFFER buffer;

	make_stream(&buffer);
	buffer.handle = exchange(&brief_stream, buffer.handle);
	CHECK_EQ(rt_buffer_delete(&buffer), 0);
}

static void feed_stream(void)
{
	RT_BUFFER_INFO info;

	look_at_stream(&info);
	if (info.iwaiters > 0)
		write_records(VICTIMS, 1, TM_NONBLOCK);
	if (info.owaiters > 0)
		read_records(1, TM_NONBLOCK);
}

static void check_stream(long dead)
{
	RT_BUFFER buffer = { brief_stream };
	long expected = value(&put) - value(&got_records), stored;
	RT_BUFFER_INFO info;

	stored = look_at_stream(&info);
	CHECK_EQ(info.iwaiters + info.owaiters, 0);
	/* One transfer each may have been lost with those who were about to write, or had read. */
	CHECK(stored <= expected);
	CHECK(stored >= expected - MOST * dead);
	for (; stored > 0; stored--)
		read_records(1, TM_NONBLOCK);
	for (stored = 0; stored < RECORDS; stored++)
		write_records(VICTIMS, 1, TM_NONBLOCK);
	CHECK_EQ(look_at_stream(&info), RECORDS);
	CHECK_EQ(rt_buffer_delete(&stream), 0);
	CHECK_EQ(rt_buffer_delete(&buffer), 0);
}

RANDOM_TRADES(
	{ .open = open_mail, .work = use_queue, .close = check_queue, .upset = upset_queue,
	  .mourn = mourn_queue_user, .feed = write_mail },
	{ .open = open_store, .work = use_store, .close = check_store, .upset = upset_store,
	  .mourn = mourn_store_user, .feed = feed_nothing },
	{ .open = open_stream, .work = use_stream, .close = check_stream, .upset = upset_stream, .feed = feed_stream })

KIT_CASES(RANDOM_CASES, CASE_FIFO(a_short_reign))
