/* A task that uses a queue is not held up by one of middle priority through another that uses it, too. One CPU. */
#define KIT_STORM
#include "kit.h"
#include "queue-kit.h"
#include "inversion-kit.h"

static RT_QUEUE queue;
static char data[64];

static void alloc_and_free(void)
{
	void *buf = rt_queue_alloc(&queue, 100);

	CHECK(buf != NULL);
	CHECK_EQ(rt_queue_free(&queue, buf), 0);
}

static void write_and_read(void)
{
	char room[64];

	CHECK_EQ(rt_queue_write(&queue, data, sizeof(room), Q_URGENT), 0);
	CHECK(rt_queue_read(&queue, room, sizeof(room), TM_NONBLOCK) >= 0);
}

static void fill_and_flush(void)
{
	int i;

	for (i = 0; i < 50; i++)
		CHECK_EQ(rt_queue_write(&queue, data, 10, Q_NORMAL), 0);
	CHECK(rt_queue_flush(&queue) >= 0);
}

static void ask(void)
{
	CHECK(queue_waiters(&queue) >= 0);
}

static void middle_does_not_hold_up_an_allocation(void)
{
	MAKE_QUEUE(&queue, 100000, 0, Q_PRIO);
	no_inversion(alloc_and_free, alloc_and_free, 8000);
}

static void middle_does_not_hold_up_a_message(void)
{
	MAKE_QUEUE(&queue, 100000, 0, Q_PRIO);
	no_inversion(write_and_read, write_and_read, 8000);
}

static void middle_does_not_hold_up_a_look_while_another_flushes(void)
{
	MAKE_QUEUE(&queue, 100000, 0, Q_PRIO);
	no_inversion(fill_and_flush, ask, 8000);
}

KIT_CASES(
	CASE_KERNEL(middle_does_not_hold_up_an_allocation), CASE_KERNEL(middle_does_not_hold_up_a_message),
	CASE_KERNEL(middle_does_not_hold_up_a_look_while_another_flushes))
