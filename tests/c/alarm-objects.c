/*
 * What an alarm handler may do with events, condition variables, queues, heaps and buffers (common.md 3; decisions.md 31):
 * all that does not wait; making and deleting objects is -EPERM, before anything else is looked at.
 * Types whose header does not exist yet are left out.
 */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include "alarm-kit.h"
#include "buffer-kit.h"

#if __has_include(<alchemy/event.h>)
#include <alchemy/event.h>
#define EVENT_CASE CASE(events),
#else
#define EVENT_CASE
#endif
#if __has_include(<alchemy/cond.h>)
#include <alchemy/cond.h>
#define COND_CASE CASE(conditions),
#else
#define COND_CASE
#endif
#if __has_include(<alchemy/queue.h>)
#include <alchemy/queue.h>
#define QUEUE_CASE CASE(queues),
#else
#define QUEUE_CASE
#endif
#if __has_include(<alchemy/heap.h>)
#include <alchemy/heap.h>
#define HEAP_CASE CASE(heaps),
#else
#define HEAP_CASE
#endif

static const struct timespec poll_date = { 0, 0 }, far_date = { 1000000000, 0 };

/* What every type has in common. A macro, since the types differ: bind, its time-outs, and unbind. */
#define CHECK_BINDS(type, bind, unbind, live) \
	do { \
		type bound_, untouched_; \
		memset(&bound_, 0x5a, sizeof(bound_)); \
		untouched_ = bound_; \
		CHECK_EQ(bind(&bound_, "absent", TM_NONBLOCK), -EWOULDBLOCK); \
		CHECK_EQ(bind(&bound_, "absent", MS), -EPERM); \
		CHECK_EQ(bind(&bound_, "absent", TM_INFINITE), -EPERM); \
		CHECK_EQ(bind(&bound_, "handler's", TM_NONBLOCK), -EWOULDBLOCK); \
		CHECK_SAME_BYTES(&bound_, &untouched_, sizeof(bound_)); \
		CHECK_EQ(bind(&bound_, "present", TM_INFINITE), 0); \
		CHECK_EQ(bound_.handle, (live)->handle); \
		CHECK_EQ(unbind(&bound_), 0); \
		CHECK_EQ(bound_.handle, 0); \
	} while (0)

/* --- Buffers ------------------------------------------------------------------------------------------------------ */

static RT_BUFFER bf;

static void use_buffer(void *arg)
{
	char data[ROOM] = "";
	RT_BUFFER made, before;

	(void)arg;
	memset(&made, 0x5a, sizeof(made));
	before = made;
	CHECK_EQ(rt_buffer_create(&made, "handler's", 8, B_FIFO), -EPERM);
	CHECK_EQ(rt_buffer_create(NULL, NULL, 0, -1), -EPERM);
	CHECK_SAME_BYTES(&made, &before, sizeof(made));
	CHECK_EQ(rt_buffer_delete(&bf), -EPERM);
	CHECK_EQ(rt_buffer_delete(NULL), -EPERM);

	CHECK_EQ(rt_buffer_read(&bf, data, 2, TM_INFINITE), 2); /* they are there */
	CHECK_STR(data, "ab");
	CHECK_EQ(rt_buffer_write(&bf, "123", 3, TM_INFINITE), 3);
	CHECK_EQ(rt_buffer_write(&bf, "4567", 4, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_buffer_write(&bf, "4567", 4, MS), -EPERM);
	CHECK_EQ(rt_buffer_write(&bf, "4567", 4, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_buffer_write_timed(&bf, "4567", 4, &far_date), -EPERM);
	CHECK_EQ(rt_buffer_write_timed(&bf, "4567", 4, &poll_date), -EWOULDBLOCK);
	CHECK_EQ(rt_buffer_read(&bf, data, 4, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_buffer_read(&bf, data, 4, MS), -EPERM);
	CHECK_EQ(rt_buffer_read(&bf, data, 4, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_buffer_read_until(&bf, data, 4, rt_timer_read() + MS), -EPERM);
	CHECK_EQ(rt_buffer_read(&bf, data, 7, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_buffer_read(NULL, NULL, 0, TM_INFINITE), 0);
	CHECK_BUFFER(&bf, 3, 0, 0);
	CHECK_EQ(rt_buffer_clear(&bf), 0);
	CHECK_BUFFER(&bf, 0, 0, 0);
	CHECK_BINDS(RT_BUFFER, rt_buffer_bind, rt_buffer_unbind, &bf);
}

static void write_four(void *arg)
{
	(void)arg;
	PUT(&bf, "abcd");
	mark("written");
}

static void buffers(void)
{
	struct mover reader;

	CHECK_EQ(rt_buffer_create(&bf, "present", 6, B_FIFO), 0);
	PUT(&bf, "ab");
	in_handler(use_buffer, NULL);
	start_reader(&reader, &bf, 98, "read", 4);
	in_handler(write_four, NULL);
	CHECK_EQ(end_mover(&reader), 4);
	CHECK_GOT(&reader, "abcd");
	if (kit_fifo())
		expect_marks("written read");
	CHECK_EQ(rt_buffer_delete(&bf), 0);
}

/* --- Events ------------------------------------------------------------------------------------------------------- */

#if __has_include(<alchemy/event.h>)
static RT_EVENT event;

static void use_event(void *arg)
{
	RT_EVENT made, before;
	RT_EVENT_INFO info;
	unsigned int mask = 77;

	(void)arg;
	memset(&made, 0x5a, sizeof(made));
	before = made;
	CHECK_EQ(rt_event_create(&made, "handler's", 0, EV_FIFO), -EPERM);
	CHECK_EQ(rt_event_create(NULL, NULL, 0, -1), -EPERM);
	CHECK_SAME_BYTES(&made, &before, sizeof(made));
	CHECK_EQ(rt_event_delete(&event), -EPERM);
	CHECK_EQ(rt_event_delete(NULL), -EPERM);

	CHECK_EQ(rt_event_wait(&event, 4, &mask, EV_ANY, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_event_wait(&event, 4, &mask, EV_ANY, MS), -EPERM);
	CHECK_EQ(rt_event_wait(&event, 5, &mask, EV_ALL, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_event_wait_until(&event, 4, &mask, EV_ANY, rt_timer_read() + MS), -EPERM);
	CHECK_EQ(rt_event_wait_timed(&event, 4, &mask, EV_ANY, &far_date), -EPERM);
	CHECK_EQ(rt_event_wait_timed(&event, 4, &mask, EV_ANY, &poll_date), -EWOULDBLOCK);
	CHECK_EQ(rt_event_wait(NULL, 4, &mask, EV_ANY, MS), -EINVAL);
	CHECK_EQ(mask, 77);
	CHECK_EQ(rt_event_wait(&event, 1, &mask, EV_ALL, TM_INFINITE), 0); /* it is set */
	CHECK_EQ(mask, 1);
	CHECK_EQ(rt_event_wait(&event, 0, &mask, EV_ALL, MS), 0);
	CHECK_EQ(mask, 1);
	CHECK_EQ(rt_event_signal(&event, 6), 0);
	CHECK_EQ(rt_event_clear(&event, 1, &mask), 0);
	CHECK_EQ(mask, 7);
	CHECK_EQ(rt_event_inquire(&event, &info), 0);
	CHECK_EQ(info.value, 6);
	CHECK_EQ(info.nwaiters, 0);
	CHECK_BINDS(RT_EVENT, rt_event_bind, rt_event_unbind, &event);
}

static void wait_for_8(void *arg)
{
	unsigned int mask = 0;

	(void)arg;
	CHECK_EQ(rt_event_wait(&event, 8, &mask, EV_ALL, TM_INFINITE), 0);
	CHECK_EQ(mask, 8);
	mark("woken");
}

static void signal_8(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_event_signal(&event, 8), 0);
	mark("signalled");
}

static void events(void)
{
	RT_TASK task;

	CHECK_EQ(rt_event_create(&event, "present", 1, EV_PRIO), 0);
	in_handler(use_event, NULL);
	kit_spawn_blocked(&task, 98, wait_for_8, NULL);
	in_handler(signal_8, NULL);
	kit_join(&task);
	if (kit_fifo())
		expect_marks("signalled woken");
	CHECK_EQ(rt_event_delete(&event), 0);
}
#endif

/* --- Condition variables ------------------------------------------------------------------------------------------ */

#if __has_include(<alchemy/cond.h>)
static RT_COND cond;
static RT_MUTEX mutex;

static void use_cond(void *arg)
{
	RT_COND made, before;
	RT_COND_INFO info;

	(void)arg;
	memset(&made, 0x5a, sizeof(made));
	before = made;
	CHECK_EQ(rt_cond_create(&made, "handler's"), -EPERM);
	CHECK_EQ(rt_cond_create(NULL, NULL), -EPERM);
	CHECK_SAME_BYTES(&made, &before, sizeof(made));
	CHECK_EQ(rt_cond_delete(&cond), -EPERM);
	CHECK_EQ(rt_cond_delete(NULL), -EPERM);
	CHECK_EQ(rt_cond_wait(&cond, &mutex, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_wait(&cond, &mutex, MS), -EPERM); /* it does not own the mutex */
	CHECK_EQ(rt_cond_wait(&cond, &mutex, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_cond_wait_until(&cond, &mutex, 1), -EPERM);
	CHECK_EQ(rt_cond_wait_timed(&cond, &mutex, &far_date), -EPERM);
	CHECK_EQ(rt_cond_wait(NULL, &mutex, MS), -EINVAL);
	CHECK_EQ(rt_cond_inquire(&cond, &info), 0);
	CHECK_STR(info.name, "present");
	CHECK_EQ(rt_cond_signal(&cond), 0);
	CHECK_EQ(rt_cond_broadcast(&cond), 0);
	CHECK_BINDS(RT_COND, rt_cond_bind, rt_cond_unbind, &cond);
}

static void wait_for_signal(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_cond_wait(&cond, &mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	mark("woken");
}

static void signal_cond(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_cond_signal(&cond), 0);
	mark("signalled");
}

static void conditions(void)
{
	RT_TASK task;

	CHECK_EQ(rt_cond_create(&cond, "present"), 0);
	CHECK_EQ(rt_mutex_create(&mutex, NULL), 0);
	in_handler(use_cond, NULL);
	kit_spawn_blocked(&task, 98, wait_for_signal, NULL);
	in_handler(signal_cond, NULL);
	kit_join(&task);
	if (kit_fifo())
		expect_marks("signalled woken");
	CHECK_EQ(rt_cond_delete(&cond), 0);
}
#endif

/* --- Queues ------------------------------------------------------------------------------------------------------- */

#if __has_include(<alchemy/queue.h>)
static RT_QUEUE queue;

static void use_queue(void *arg)
{
	RT_QUEUE made, before;
	RT_QUEUE_INFO info;
	char data[8] = "";
	void *message = NULL, *sent;

	(void)arg;
	memset(&made, 0x5a, sizeof(made));
	before = made;
	CHECK_EQ(rt_queue_create(&made, "handler's", 1024, 4, Q_FIFO), -EPERM);
	CHECK_EQ(rt_queue_create(NULL, NULL, 0, 0, -1), -EPERM);
	CHECK_SAME_BYTES(&made, &before, sizeof(made));
	CHECK_EQ(rt_queue_delete(&queue), -EPERM);
	CHECK_EQ(rt_queue_delete(NULL), -EPERM);

	CHECK_EQ(rt_queue_read(&queue, data, 8, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_queue_read(&queue, data, 8, MS), -EPERM);
	CHECK_EQ(rt_queue_read(&queue, data, 8, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_queue_receive(&queue, &message, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_queue_receive(&queue, &message, MS), -EPERM);
	CHECK_EQ(rt_queue_receive_timed(&queue, &message, &far_date), -EPERM);
	CHECK_EQ(rt_queue_receive(NULL, &message, MS), -EINVAL);
	CHECK(message == NULL);
	CHECK_EQ(rt_queue_write(&queue, "abc", 3, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_read(&queue, data, 8, TM_INFINITE), 3); /* it is there */
	CHECK_STR(data, "abc");
	sent = rt_queue_alloc(&queue, 4);
	CHECK(sent != NULL);
	memcpy(sent, "wxyz", 4);
	CHECK_EQ(rt_queue_send(&queue, sent, 4, Q_URGENT), 0);
	CHECK_EQ(rt_queue_receive(&queue, &message, MS), 4);
	CHECK(message == sent);
	CHECK_EQ(rt_queue_free(&queue, message), 0);
	CHECK_EQ(rt_queue_write(&queue, "abc", 3, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_inquire(&queue, &info), 0);
	CHECK_EQ(info.nmessages, 1);
	CHECK_EQ(rt_queue_flush(&queue), 1);
	CHECK_BINDS(RT_QUEUE, rt_queue_bind, rt_queue_unbind, &queue);
}

static void read_queue(void *arg)
{
	char data[8] = "";

	(void)arg;
	CHECK_EQ(rt_queue_read(&queue, data, 8, TM_INFINITE), 3);
	CHECK_STR(data, "new");
	mark("read");
}

static void write_queue(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_queue_write(&queue, "new", 3, Q_NORMAL), 1);
	mark("written");
}

static void queues(void)
{
	RT_TASK task;

	CHECK_EQ(rt_queue_create(&queue, "present", 4096, 4, Q_FIFO), 0);
	in_handler(use_queue, NULL);
	kit_spawn_blocked(&task, 98, read_queue, NULL);
	in_handler(write_queue, NULL);
	kit_join(&task);
	if (kit_fifo())
		expect_marks("written read");
	CHECK_EQ(rt_queue_delete(&queue), 0);
}
#endif

/* --- Heaps -------------------------------------------------------------------------------------------------------- */

#if __has_include(<alchemy/heap.h>)
static RT_HEAP heap;
static void *held[4096];
static int holds;

static void use_heap(void *arg)
{
	void *block = &holds;
	RT_HEAP made, before;
	RT_HEAP_INFO info;

	(void)arg;
	memset(&made, 0x5a, sizeof(made));
	before = made;
	CHECK_EQ(rt_heap_create(&made, "handler's", 1024, H_FIFO), -EPERM);
	CHECK_EQ(rt_heap_create(NULL, NULL, 0, -1), -EPERM);
	CHECK_SAME_BYTES(&made, &before, sizeof(made));
	CHECK_EQ(rt_heap_delete(&heap), -EPERM);
	CHECK_EQ(rt_heap_delete(NULL), -EPERM);

	/* There is some, then there is none. */
	while (holds < 4096 && rt_heap_alloc(&heap, 64, holds ? TM_NONBLOCK : TM_INFINITE, &held[holds]) == 0)
		holds++;
	CHECK(holds > 0 && holds < 4096);
	CHECK_EQ(rt_heap_alloc(&heap, 64, TM_NONBLOCK, &block), -EWOULDBLOCK);
	CHECK(block == NULL);
	block = &holds;
	CHECK_EQ(rt_heap_alloc(&heap, 64, MS, &block), -EPERM);
	CHECK_EQ(rt_heap_alloc(&heap, 64, TM_INFINITE, &block), -EPERM);
	CHECK_EQ(rt_heap_alloc_timed(&heap, 64, &far_date, &block), -EPERM);
	CHECK(block == &holds);
	CHECK_EQ(rt_heap_inquire(&heap, &info), 0);
	CHECK_EQ(info.nwaiters, 0);
	CHECK_BINDS(RT_HEAP, rt_heap_bind, rt_heap_unbind, &heap);
}

static void take_block(void *arg)
{
	void *block;

	(void)arg;
	CHECK_EQ(rt_heap_alloc(&heap, 64, TM_INFINITE, &block), 0);
	CHECK(block != NULL);
	mark("got");
}

static void free_block(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_heap_free(&heap, held[0]), 0);
	CHECK_EQ(rt_heap_free(&heap, NULL), -EINVAL);
	mark("freed");
}

static void heaps(void)
{
	RT_TASK task;

	CHECK_EQ(rt_heap_create(&heap, "present", 8192, H_PRIO), 0);
	in_handler(use_heap, NULL);
	kit_spawn_blocked(&task, 98, take_block, NULL);
	in_handler(free_block, NULL);
	kit_join(&task);
	if (kit_fifo())
		expect_marks("freed got");
	CHECK_EQ(rt_heap_delete(&heap), 0);
}
#endif

KIT_CASES(EVENT_CASE COND_CASE QUEUE_CASE HEAP_CASE CASE(buffers))
