/* Queues across a fork: the child has a copy of each, messages and references included, and nobody waits there. */
#include "kit.h"
#include "queue-kit.h"
#include "tasks.h"
#include "child.h"

static RT_QUEUE queue;
static void *held;

/* One message queued, one held, and more room. */
static void make_it(void)
{
	CHECK_EQ(rt_queue_create(&queue, "copied", 4000, 5, Q_PRIO), 0);
	CHECK_EQ(write_text(&queue, "queued", Q_NORMAL), 0);
	held = make_message(&queue, "held");
}

static void check_it(int waiters)
{
	CHECK_QUEUE(&queue, waiters, 1, 2 * cost_of(6));
	CHECK_SAME_BYTES(held, "held", 4);
}

static void empty_it(void)
{
	CHECK_EQ(rt_queue_send(&queue, held, 4, Q_NORMAL), 0);
	EXPECT_READ(&queue, "queued");
	EXPECT_READ(&queue, "held");
	EXPECT_EMPTY(&queue);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------- */

static void uses_and_deletes_it(void *arg)
{
	RT_QUEUE bound;
	void *buf;
	int i;

	(void)arg;
	check_it(0);
	CHECK_EQ(rt_queue_bind(&bound, "copied", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, queue.handle);
	memcpy(held, "HELD", 4);
	CHECK_EQ(rt_queue_free(&queue, held), 0);
	CHECK_EQ(rt_queue_free(&queue, held), -EINVAL);
	for (i = 0; i < 4; i++)
		CHECK_EQ(write_text(&queue, "childs", Q_URGENT), 0);
	CHECK_EQ(write_text(&queue, "childs", Q_URGENT), -ENOMEM);
	CHECK_EQ(rt_queue_receive(&queue, &buf, TM_NONBLOCK), 6);
	CHECK_SAME_BYTES(buf, "childs", 6);
	memset(buf, 0, 6);
	CHECK_EQ(rt_queue_free(&queue, buf), 0);
	CHECK_EQ(rt_queue_flush(&queue), 4);
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
	CHECK_EQ(rt_queue_free(&queue, buf), -EINVAL);
	CHECK_EQ(rt_queue_create(&queue, "copied", 100, 0, Q_FIFO), 0);
}

static void fork_as_task(void *child)
{
	CHECK_EQ(in_child((void (*)(void *))(uintptr_t)child, NULL), 0);
}

static void child_has_a_copy(void)
{
	make_it();
	CHECK_EQ(in_child(uses_and_deletes_it, NULL), 0);
	check_it(0);
	as_task(10, fork_as_task, (void *)(uintptr_t)uses_and_deletes_it);
	check_it(0);
	empty_it();
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

static void forks_again(void *arg)
{
	(void)arg;
	memcpy(held, "grand", 4);
	CHECK_EQ(rt_queue_free(&queue, held), 0);
	held = make_message(&queue, "held");
	CHECK_EQ(in_child(uses_and_deletes_it, NULL), 0);
	check_it(0);
	empty_it();
}

static void grandchild_has_a_copy_of_the_copy(void)
{
	make_it();
	CHECK_EQ(in_child(forks_again, NULL), 0);
	check_it(0);
	empty_it();
}

static int ends[2][2];

static void waits_for_the_parent(void *arg)
{
	char byte;

	(void)arg;
	CHECK_EQ(rt_queue_flush(&queue), 1);
	CHECK_EQ(write_text(&queue, "child", Q_NORMAL), 0);
	CHECK_EQ(write(ends[0][1], "x", 1), 1);
	CHECK_EQ(read(ends[1][0], &byte, 1), 1); /* the parent has deleted its own */
	CHECK_SAME_BYTES(held, "held", 4);
	CHECK_QUEUE(&queue, 0, 1, cost_of(4) + cost_of(5));
	EXPECT_READ(&queue, "child");
	CHECK_EQ(rt_queue_free(&queue, held), 0);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

static void both_go_on_at_once(void)
{
	char byte;
	pid_t pid;

	make_it();
	CHECK_EQ(pipe(ends[0]), 0);
	CHECK_EQ(pipe(ends[1]), 0);
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		kit_watch();
		waits_for_the_parent(NULL);
		_exit(0);
	}
	CHECK_EQ(read(ends[0][0], &byte, 1), 1);
	check_it(0);
	memcpy(held, "mine", 4);
	EXPECT_READ(&queue, "queued");
	CHECK_EQ(rt_queue_delete(&queue), 0);
	CHECK_EQ(write(ends[1][1], "x", 1), 1);
	CHECK_EQ(child_status(pid), 0);
}

/* ---- Waiters ------------------------------------------------------------------------------------------------------ */

static void is_alone(void *arg)
{
	struct taker taker;

	(void)arg;
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 0);
	CHECK_EQ(write_text(&queue, "text", Q_BROADCAST), 0);
	EXPECT_READ(&queue, "text");
	start_receiver(&taker, &queue, 0, "w");
	CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 1);
	expect_text(&taker, "text");
	CHECK_EQ(rt_queue_free(&queue, taker.buf), 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

static void waiters_are_gone_in_the_child(void)
{
	struct taker reader, receiver;

	no_thread_sanitizer();
	MAKE_QUEUE(&queue, 4000, 0, Q_PRIO);
	start_reader(&reader, &queue, 10, "reader");
	start_receiver(&receiver, &queue, 10, "receiver");
	CHECK_EQ(in_child(is_alone, NULL), 0);
	CHECK_QUEUE(&queue, 2, 0, 0);
	CHECK_EQ(write_text(&queue, "text", Q_BROADCAST), 2);
	expect_text(&reader, "text");
	expect_text(&receiver, "text");
	CHECK_EQ(rt_queue_free(&queue, receiver.buf), 0);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* ---- Amid use ----------------------------------------------------------------------------------------------------- */

enum { USERS = 3 };

static int stop;
static long long balance; /* messages the parent has queued more than taken */

static void use_it(void *number)
{
	unsigned round = (unsigned)(uintptr_t)number;
	char room[100];
	RT_QUEUE own;
	void *buf;

	for (; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); round++) {
		ssize_t result = rt_queue_write(&queue, room, round % 100 + 1, Q_NORMAL);

		CHECK(result >= 0 || result == -ENOMEM);
		if (result >= 0)
			__atomic_fetch_add(&balance, 1, __ATOMIC_RELAXED);
		result = round % 2 ? rt_queue_read(&queue, room, sizeof(room), 1000) : rt_queue_receive(&queue, &buf, 1000);
		CHECK(result > 0 || result == -ETIMEDOUT);
		if (result > 0)
			__atomic_fetch_sub(&balance, 1, __ATOMIC_RELAXED);
		if (result > 0 && round % 2 == 0)
			CHECK_EQ(rt_queue_free(&queue, buf), 0);
		if (round % 16 == 0) {
			MAKE_QUEUE(&own, 1000, 0, Q_FIFO);
			CHECK_EQ(rt_queue_write(&own, room, 10, Q_NORMAL), 0);
			CHECK_EQ(rt_queue_delete(&own), 0);
		}
	}
}

/* Whatever the others were at: here everything is whole, and they hold what they held. */
static void finds_it_whole(void *arg)
{
	RT_QUEUE_INFO info;
	char room[100];
	RT_QUEUE own;
	int i;

	(void)arg;
	CHECK_EQ(rt_queue_inquire(&queue, &info), 0);
	CHECK_EQ(info.nwaiters, 0);
	CHECK(info.nmessages >= 0 && info.nmessages <= 5);
	CHECK_EQ(rt_queue_flush(&queue), info.nmessages);
	CHECK(queue_used(&queue) <= (USERS + 1) * cost_of(100)); /* what somebody held */
	CHECK_EQ(rt_queue_flush(&queue), 0);
	for (i = 0; i < 5; i++)
		CHECK_EQ(rt_queue_write(&queue, room, 10, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_write(&queue, room, 10, Q_NORMAL), -ENOMEM);
	for (i = 0; i < 5; i++)
		CHECK_EQ(rt_queue_read(&queue, room, sizeof(room), TM_INFINITE), 10);
	CHECK_EQ(rt_queue_delete(&queue), 0);
	MAKE_QUEUE(&own, 1000, 0, Q_FIFO);
	CHECK_EQ(rt_queue_write(&own, room, 10, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_delete(&own), 0);
}

static void fork_while_others_use_it(void)
{
	long long end = kit_now() + 1500 * MS;
	RT_TASK tasks[USERS];
	RT_QUEUE_INFO info;
	int i;

	no_thread_sanitizer();
	kit_unpin();
	MAKE_QUEUE(&queue, 4000, 5, Q_FIFO);
	for (i = 0; i < USERS; i++)
		kit_spawn(&tasks[i], 0, use_it, (void *)(uintptr_t)i);
	while (kit_now() < end)
		CHECK_EQ(in_child(finds_it_whole, NULL), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < USERS; i++)
		kit_join(&tasks[i]);
	CHECK_EQ(rt_queue_inquire(&queue, &info), 0);
	CHECK_EQ(info.nmessages, balance);
	CHECK_EQ(rt_queue_flush(&queue), balance);
	CHECK_QUEUE(&queue, 0, 0, 0);
}

KIT_CASES(
	CASE(child_has_a_copy), CASE(grandchild_has_a_copy_of_the_copy), CASE(both_go_on_at_once),
	CASE(waiters_are_gone_in_the_child), CASE(fork_while_others_use_it))
