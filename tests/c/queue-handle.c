/* Descriptors that name no queue: every service answers -EINVAL or NULL, and touches nothing. Bind and unbind. */
#include "kit.h"
#include "queue-kit.h"
#include "tasks.h"

/* --- Every service with a descriptor ------------------------------------------------------------------------------ */

static RT_QUEUE_INFO info, info_before;
static char data[64];
static void *buf;

static int call_delete(RT_QUEUE *queue) { return rt_queue_delete(queue); }
static int call_alloc(RT_QUEUE *queue) { return rt_queue_alloc(queue, 10) ? 0 : -EINVAL; }
static int call_free(RT_QUEUE *queue) { return rt_queue_free(queue, buf ? buf : data); }
static int call_free_null(RT_QUEUE *queue) { return rt_queue_free(queue, NULL); }
static int call_send(RT_QUEUE *queue) { return rt_queue_send(queue, buf ? buf : data, 1, Q_NORMAL); }
static int call_send_null(RT_QUEUE *queue) { return rt_queue_send(queue, NULL, 1, Q_NORMAL); }
static int call_broadcast(RT_QUEUE *queue) { return rt_queue_send(queue, buf ? buf : data, 1, Q_BROADCAST); }
static int call_write(RT_QUEUE *queue) { return rt_queue_write(queue, data, 10, Q_NORMAL); }
static int call_write_nothing(RT_QUEUE *queue) { return rt_queue_write(queue, NULL, 0, Q_NORMAL); }
static int call_write_all(RT_QUEUE *queue) { return rt_queue_write(queue, data, 10, Q_BROADCAST); }
static int call_write_huge(RT_QUEUE *queue) { return rt_queue_write(queue, data, (size_t)-1, Q_URGENT); }
static int call_flush(RT_QUEUE *queue) { return rt_queue_flush(queue); }

/* A receive that fails leaves the address alone. */
#define RECEIVE(name, call) \
	static int name(RT_QUEUE *queue) \
	{ \
		void *got = NOWHERE; \
		int result = (int)call; \
		if (result < 0) \
			CHECK(got == NOWHERE); \
		return result; \
	}

static const struct timespec poll_date = { 0, 0 }, past_date = { 1, 0 }, bad_date = { 1, 2000000000 };

RECEIVE(call_receive_poll, rt_queue_receive(queue, &got, TM_NONBLOCK))
RECEIVE(call_receive_infinite, rt_queue_receive(queue, &got, TM_INFINITE))
RECEIVE(call_receive_delay, rt_queue_receive(queue, &got, MS))
RECEIVE(call_receive_until_infinite, rt_queue_receive_until(queue, &got, TM_INFINITE))
RECEIVE(call_receive_until_past, rt_queue_receive_until(queue, &got, 1))
RECEIVE(call_receive_timed_infinite, rt_queue_receive_timed(queue, &got, NULL))
RECEIVE(call_receive_timed_poll, rt_queue_receive_timed(queue, &got, &poll_date))
RECEIVE(call_receive_timed_past, rt_queue_receive_timed(queue, &got, &past_date))
RECEIVE(call_receive_timed_bad, rt_queue_receive_timed(queue, &got, &bad_date))

#define READ(name, call) \
	static int name(RT_QUEUE *queue) \
	{ \
		char into[64], before[64]; \
		int result; \
		memset(into, 0x5a, sizeof(into)); \
		memcpy(before, into, sizeof(into)); \
		result = (int)call; \
		if (result < 0) \
			CHECK_SAME_BYTES(into, before, sizeof(into)); \
		return result; \
	}

READ(call_read_poll, rt_queue_read(queue, into, 64, TM_NONBLOCK))
READ(call_read_infinite, rt_queue_read(queue, into, 64, TM_INFINITE))
READ(call_read_delay, rt_queue_read(queue, into, 1, MS))
READ(call_read_until_infinite, rt_queue_read_until(queue, into, 64, TM_INFINITE))
READ(call_read_until_past, rt_queue_read_until(queue, into, 64, 1))
READ(call_read_timed_infinite, rt_queue_read_timed(queue, into, 64, NULL))
READ(call_read_timed_poll, rt_queue_read_timed(queue, into, 64, &poll_date))
READ(call_read_timed_past, rt_queue_read_timed(queue, into, 64, &past_date))
READ(call_read_timed_bad, rt_queue_read_timed(queue, into, 64, &bad_date))

static int call_inquire(RT_QUEUE *queue)
{
	int result;

	memset(&info, 0x5a, sizeof(info));
	info_before = info;
	result = rt_queue_inquire(queue, &info);
	if (result != 0)
		CHECK_SAME_BYTES(&info, &info_before, sizeof(info));
	return result;
}

static const struct service {
	const char *name;
	int (*call)(RT_QUEUE *queue);
} services[] = {
	{ "rt_queue_alloc", call_alloc },
	{ "rt_queue_free", call_free },
	{ "rt_queue_free NULL", call_free_null },
	{ "rt_queue_send", call_send },
	{ "rt_queue_send NULL", call_send_null },
	{ "rt_queue_send broadcast", call_broadcast },
	{ "rt_queue_write", call_write },
	{ "rt_queue_write nothing", call_write_nothing },
	{ "rt_queue_write broadcast", call_write_all },
	{ "rt_queue_write huge", call_write_huge },
	{ "rt_queue_flush", call_flush },
	{ "rt_queue_inquire", call_inquire },
	{ "rt_queue_receive poll", call_receive_poll },
	{ "rt_queue_receive infinite", call_receive_infinite },
	{ "rt_queue_receive delay", call_receive_delay },
	{ "rt_queue_receive_until infinite", call_receive_until_infinite },
	{ "rt_queue_receive_until past", call_receive_until_past },
	{ "rt_queue_receive_timed infinite", call_receive_timed_infinite },
	{ "rt_queue_receive_timed poll", call_receive_timed_poll },
	{ "rt_queue_receive_timed past", call_receive_timed_past },
	{ "rt_queue_receive_timed malformed", call_receive_timed_bad },
	{ "rt_queue_read poll", call_read_poll },
	{ "rt_queue_read infinite", call_read_infinite },
	{ "rt_queue_read delay", call_read_delay },
	{ "rt_queue_read_until infinite", call_read_until_infinite },
	{ "rt_queue_read_until past", call_read_until_past },
	{ "rt_queue_read_timed infinite", call_read_timed_infinite },
	{ "rt_queue_read_timed poll", call_read_timed_poll },
	{ "rt_queue_read_timed past", call_read_timed_past },
	{ "rt_queue_read_timed malformed", call_read_timed_bad },
	{ "rt_queue_delete", call_delete },
};

/* Every service refuses the descriptor and leaves its bytes alone. */
static void refused_by_every_service(RT_QUEUE *queue, const char *what)
{
	unsigned i;

	for (i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
		RT_QUEUE before;
		int result;

		if (queue)
			memcpy(&before, queue, sizeof(before));
		result = services[i].call(queue);
		if (result != -EINVAL)
			kit_fail(__FILE__, __LINE__, "%s on %s gave %d%s", services[i].name, what, result,
				 kit_errno_name(result));
		if (queue)
			CHECK_SAME_BYTES(queue, &before, sizeof(before));
	}
	/* Nothing to do: not even the descriptor is looked at (queue.md 7). */
	CHECK_EQ(rt_queue_read(queue, data, 0, TM_INFINITE), 0);
	CHECK_EQ(rt_queue_read(queue, NULL, 0, TM_NONBLOCK), 0);
	CHECK_EQ(rt_queue_read_until(queue, data, 0, 1), 0);
	CHECK_EQ(rt_queue_read_timed(queue, data, 0, &bad_date), 0);
}

/* A live queue with a message queued and one held, at `buf`. */
static void make_live(RT_QUEUE *live)
{
	CHECK_EQ(rt_queue_create(live, NULL, 1000, 10, Q_PRIO), 0);
	buf = make_message(live, "held");
	CHECK_EQ(write_text(live, "queued", Q_NORMAL), 0);
}

/* It is as it was. */
static void end_live(RT_QUEUE *live)
{
	CHECK_QUEUE(live, 0, 1, cost_of(4) + cost_of(6));
	CHECK_EQ(rt_queue_free(live, buf), 0);
	EXPECT_READ(live, "queued");
	CHECK_QUEUE(live, 0, 0, 0);
	CHECK_EQ(rt_queue_delete(live), 0);
	buf = NULL;
}

/* --- Cases -------------------------------------------------------------------------------------------------------- */

static void try_null_and_zeroed(void *arg)
{
	RT_QUEUE zeroed = { 0 };

	(void)arg;
	refused_by_every_service(NULL, "NULL");
	refused_by_every_service(&zeroed, "a zeroed descriptor");
	CHECK_EQ(rt_queue_unbind(NULL), -EINVAL);
	CHECK_EQ(rt_queue_bind(NULL, "x", TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_queue_bind(NULL, "x", TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_queue_bind(&zeroed, NULL, TM_INFINITE), -EINVAL);
}

/* The same answers for the initial thread, a plain thread and a task: nobody has to wait (decision 31). */
static void null_or_zeroed_descriptor(void)
{
	try_null_and_zeroed(NULL);
	kit_plain(try_null_and_zeroed, NULL);
	as_task(10, try_null_and_zeroed, NULL);
}

static void misaligned_descriptor(void)
{
	RT_QUEUE queue, at[2];
	int offset;

	make_live(&queue);
	for (offset = 1; offset < 8; offset++) {
		RT_QUEUE *misaligned = (RT_QUEUE *)(void *)((char *)at + offset);
		RT_QUEUE before[2];

		/* It holds a good handle all the same. */
		memcpy(misaligned, &queue, sizeof(queue));
		refused_by_every_service(misaligned, "a misaligned descriptor");
		memcpy(before, at, sizeof(at));
		CHECK_EQ(rt_queue_create(misaligned, "askew", 100, 0, Q_FIFO), -EINVAL);
		CHECK_EQ(rt_queue_bind(misaligned, "askew", TM_NONBLOCK), -EINVAL);
		CHECK_EQ(rt_queue_unbind(misaligned), -EINVAL);
		CHECK_SAME_BYTES(at, before, sizeof(at));
	}
	end_live(&queue);
}

static void try_foreign(void *arg)
{
	RT_QUEUE foreign;
	RT_SEM sem, of_queue;
	RT_TASK task;

	(void)arg;
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_FIFO), 0);
	memcpy(&foreign, &sem, sizeof(foreign));
	refused_by_every_service(&foreign, "a semaphore's handle");
	kit_spawn_blocked(&task, 10, take, &sem);
	memcpy(&foreign, &task, sizeof(foreign));
	refused_by_every_service(&foreign, "a task's handle");
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
	refused_by_every_service(&foreign, "a dead task's handle");
	make_live(&foreign);
	memcpy(&of_queue, &foreign, sizeof(of_queue));
	CHECK_EQ(rt_sem_v(&of_queue), -EINVAL);
	CHECK_EQ(rt_sem_p(&of_queue, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_sem_delete(&of_queue), -EINVAL);
	end_live(&foreign);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void descriptor_of_another_type(void)
{
	try_foreign(NULL);
	as_task(20, try_foreign, NULL);
}

/* Q12 */
static void stale_descriptor(void)
{
	RT_QUEUE queue, copy, other;

	CHECK_EQ(rt_queue_create(&queue, "gone", 1000, 0, Q_FIFO), 0);
	copy = queue;
	CHECK_EQ(rt_queue_delete(&queue), 0);
	refused_by_every_service(&queue, "a stale descriptor");
	make_live(&other);
	CHECK(other.handle != queue.handle);
	refused_by_every_service(&queue, "a stale descriptor beside a new queue");
	refused_by_every_service(&copy, "a copy of a stale descriptor");
	end_live(&other);
}

static void garbage_descriptor(void)
{
	unsigned long long state = 88172645463325252ULL;
	const int top = (int)(8 * sizeof(uintptr_t)) - 4;
	RT_QUEUE queue, live;
	uintptr_t kind;
	int i;

	make_live(&live);
	for (kind = 0; kind < 16; kind++) {
		queue.handle = (live.handle & (((uintptr_t)1 << top) - 1)) | kind << top;
		if (queue.handle != live.handle)
			refused_by_every_service(&queue, "a handle of another kind");
	}
	for (i = 0; i < 2 * (int)(8 * sizeof(live.handle)); i++) {
		queue.handle = live.handle ^ ((uintptr_t)1 << i / 2) ^ (uintptr_t)(i % 2 ? 1 : 0);
		if (queue.handle != live.handle)
			refused_by_every_service(&queue, "a handle with one or two bits flipped");
	}
	for (i = 0; i < 4096; i++) {
		queue.handle = (uintptr_t)i;
		refused_by_every_service(&queue, "a small number");
		queue.handle = ~(uintptr_t)i;
		refused_by_every_service(&queue, "a small negative number");
	}
	queue.handle = (uintptr_t)&queue;
	refused_by_every_service(&queue, "an address on the stack");
	queue.handle = (uintptr_t)&info;
	refused_by_every_service(&queue, "an address of data");
	queue.handle = (uintptr_t)buf;
	refused_by_every_service(&queue, "an address of a message");
	for (i = 0; i < 5000; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		queue.handle = (uintptr_t)state;
		if (queue.handle != live.handle)
			refused_by_every_service(&queue, "a random number");
	}
	end_live(&live);
}

/* Each generation of a slot has a handle of its own: none of the older ones reaches the live queue. */
static void handles_of_500_generations_stay_dead(void)
{
	enum { GENERATIONS = 500 };
	static RT_QUEUE old[GENERATIONS];
	RT_QUEUE queue;
	int i, k;

	for (i = 0; i < GENERATIONS; i++) {
		MAKE_QUEUE(&queue, 512, 0, Q_FIFO);
		for (k = 0; k < i; k++) {
			CHECK(old[k].handle != queue.handle);
			CHECK_EQ(rt_queue_write(&old[k], data, 1, Q_NORMAL), -EINVAL);
			CHECK_EQ(rt_queue_flush(&old[k]), -EINVAL);
		}
		CHECK_QUEUE(&queue, 0, 0, 0);
		old[i] = queue;
		CHECK_EQ(rt_queue_delete(&queue), 0);
	}
	for (k = 0; k < GENERATIONS; k++)
		refused_by_every_service(&old[k], "a handle of an old generation");
}

static void copies_are_as_good_as_the_original(void)
{
	RT_QUEUE queue, copy, bound;
	void *message;

	CHECK_EQ(rt_queue_create(&queue, "shared", 1000, 0, Q_FIFO), 0);
	copy = queue;
	CHECK_EQ(rt_queue_bind(&bound, "shared", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, queue.handle);
	message = make_message(&queue, "text");
	CHECK_EQ(rt_queue_send(&copy, message, 4, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_receive(&bound, &message, TM_NONBLOCK), 4);
	CHECK_EQ(rt_queue_free(&queue, message), 0);
	CHECK_EQ(rt_queue_delete(&copy), 0);
	refused_by_every_service(&queue, "the creator's descriptor after a copy deleted it");
	refused_by_every_service(&bound, "a bound descriptor after a copy deleted it");
}

/* Nor are held messages released (queue.md 7). */
static void unbind_forgets_the_descriptor_only(void)
{
	struct taker taker;
	RT_QUEUE queue, copy;
	void *message;

	CHECK_EQ(rt_queue_create(&queue, "unbound", 1000, 0, Q_FIFO), 0);
	copy = queue;
	message = make_message(&queue, "held");
	start_reader(&taker, &queue, 10, "reader");
	CHECK_EQ(rt_queue_unbind(&queue), 0);
	CHECK_EQ(queue.handle, 0);
	refused_by_every_service(&queue, "an unbound descriptor");
	CHECK_QUEUE(&copy, 1, 0, cost_of(4));
	CHECK_EQ(rt_queue_bind(&queue, "unbound", TM_NONBLOCK), 0);
	CHECK_EQ(queue.handle, copy.handle);
	CHECK_EQ(rt_queue_send(&queue, message, 4, Q_NORMAL), 1);
	expect_text(&taker, "held");
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
	/* Works on any descriptor. */
	CHECK_EQ(rt_queue_unbind(&queue), 0);
	CHECK_EQ(rt_queue_unbind(&queue), 0);
	copy.handle = (uintptr_t)0xdeadbeef;
	CHECK_EQ(rt_queue_unbind(&copy), 0);
	CHECK_EQ(copy.handle, 0);
}

/* --- Bind --------------------------------------------------------------------------------------------------------- */

static int bind_results[3];
static RT_QUEUE bound_by[3];

static void bind_later(void *number_)
{
	int number = (int)(uintptr_t)number_;

	bind_results[number] = rt_queue_bind(&bound_by[number], number < 2 ? "later" : "never", TM_INFINITE);
}

static void bind_waits_for_the_creation(void)
{
	RT_TASK tasks[3];
	RT_QUEUE queue;
	int i;

	for (i = 0; i < 3; i++)
		kit_spawn_blocked(&tasks[i], 10, bind_later, (void *)(uintptr_t)i);
	CHECK_EQ(rt_queue_create(&queue, "later", 1000, 0, Q_FIFO), 0);
	kit_join(&tasks[0]);
	kit_join(&tasks[1]);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(bind_results[i], 0);
		CHECK_EQ(bound_by[i].handle, queue.handle);
	}
	CHECK(kit_blocked(&tasks[2]));
	CHECK_EQ(rt_task_unblock(&tasks[2]), 0);
	kit_join(&tasks[2]);
	CHECK_EQ(bind_results[2], -EINTR);
	CHECK_EQ(bound_by[2].handle, 0);
}

static void bind_as_plain_thread(void *arg)
{
	RT_QUEUE queue = { 77 };

	(void)arg;
	CHECK_EQ(rt_queue_bind(&queue, "missing", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_queue_bind(&queue, "missing", MS), -EPERM);
	CHECK_EQ(rt_queue_bind(&queue, "missing", TM_INFINITE), -EPERM);
	CHECK_EQ(queue.handle, 77);
	CHECK_EQ(rt_queue_bind(&queue, "present", TM_INFINITE), 0);
	CHECK(queue.handle != 77);
}

static void bind_by_every_caller(void)
{
	long long start = kit_now();
	RT_QUEUE queue, bound;

	CHECK_EQ(rt_queue_create(&queue, "present", 1000, 0, Q_FIFO), 0);
	kit_plain(bind_as_plain_thread, NULL);
	CHECK_EQ(rt_queue_bind(&bound, "missing", 5 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 5 * MS);
	CHECK_EQ(rt_queue_bind(&bound, "", TM_NONBLOCK), -EWOULDBLOCK);
}

KIT_CASES(
	CASE(null_or_zeroed_descriptor), CASE(misaligned_descriptor), CASE(descriptor_of_another_type),
	CASE(stale_descriptor), CASE(garbage_descriptor), CASE(handles_of_500_generations_stay_dead),
	CASE(copies_are_as_good_as_the_original), CASE(unbind_forgets_the_descriptor_only), CASE(bind_waits_for_the_creation),
	CASE(bind_by_every_caller))
