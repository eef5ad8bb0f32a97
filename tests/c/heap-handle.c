/* Descriptors that name no heap: every service answers -EINVAL, and touches nothing. Bind and unbind. */
#include "kit.h"
#include "heap-kit.h"
#include "tasks.h"

/* --- Every service with a descriptor ------------------------------------------------------------------------------ */

static RT_HEAP_INFO info, info_before;
static char data[64];
static void *buf;

static const struct timespec poll_date = { 0, 0 }, past_date = { 1, 0 }, bad_date = { 1, 2000000000 };

static int call_delete(RT_HEAP *heap) { return rt_heap_delete(heap); }
static int call_free(RT_HEAP *heap) { return rt_heap_free(heap, buf ? buf : data); }
static int call_free_null(RT_HEAP *heap) { return rt_heap_free(heap, NULL); }

/* An allocation on such a descriptor leaves the address alone (heap.md 4). */
#define ALLOC(name, call) \
	static int name(RT_HEAP *heap) \
	{ \
		void *got = NOWHERE; \
		int result = call; \
		if (result != 0) \
			CHECK(got == NOWHERE); \
		return result; \
	}

ALLOC(call_alloc_poll, rt_heap_alloc(heap, 10, TM_NONBLOCK, &got))
ALLOC(call_alloc_nothing, rt_heap_alloc(heap, 0, TM_NONBLOCK, &got))
ALLOC(call_alloc_huge, rt_heap_alloc(heap, (size_t)-1, TM_INFINITE, &got))
ALLOC(call_alloc_infinite, rt_heap_alloc(heap, 10, TM_INFINITE, &got))
ALLOC(call_alloc_delay, rt_heap_alloc(heap, 10, MS, &got))
ALLOC(call_alloc_until_infinite, rt_heap_alloc_until(heap, 10, TM_INFINITE, &got))
ALLOC(call_alloc_until_past, rt_heap_alloc_until(heap, 10, 1, &got))
ALLOC(call_alloc_timed_infinite, rt_heap_alloc_timed(heap, 10, NULL, &got))
ALLOC(call_alloc_timed_poll, rt_heap_alloc_timed(heap, 10, &poll_date, &got))
ALLOC(call_alloc_timed_past, rt_heap_alloc_timed(heap, 10, &past_date, &got))
ALLOC(call_alloc_timed_bad, rt_heap_alloc_timed(heap, 10, &bad_date, &got))

static int call_inquire(RT_HEAP *heap)
{
	int result;

	memset(&info, 0x5a, sizeof(info));
	info_before = info;
	result = rt_heap_inquire(heap, &info);
	if (result != 0)
		CHECK_SAME_BYTES(&info, &info_before, sizeof(info));
	return result;
}

static const struct service {
	const char *name;
	int (*call)(RT_HEAP *heap);
} services[] = {
	{ "rt_heap_free", call_free },
	{ "rt_heap_free NULL", call_free_null },
	{ "rt_heap_alloc poll", call_alloc_poll },
	{ "rt_heap_alloc nothing", call_alloc_nothing },
	{ "rt_heap_alloc huge", call_alloc_huge },
	{ "rt_heap_alloc infinite", call_alloc_infinite },
	{ "rt_heap_alloc delay", call_alloc_delay },
	{ "rt_heap_alloc_until infinite", call_alloc_until_infinite },
	{ "rt_heap_alloc_until past", call_alloc_until_past },
	{ "rt_heap_alloc_timed infinite", call_alloc_timed_infinite },
	{ "rt_heap_alloc_timed poll", call_alloc_timed_poll },
	{ "rt_heap_alloc_timed past", call_alloc_timed_past },
	{ "rt_heap_alloc_timed malformed", call_alloc_timed_bad },
	{ "rt_heap_inquire", call_inquire },
	{ "rt_heap_delete", call_delete },
};

/* Every service refuses the descriptor and leaves its bytes alone. */
static void refused_by_every_service(RT_HEAP *heap, const char *what)
{
	unsigned i;

	for (i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
		RT_HEAP before;
		int result;

		if (heap)
			memcpy(&before, heap, sizeof(before));
		result = services[i].call(heap);
		if (result != -EINVAL)
			kit_fail(__FILE__, __LINE__, "%s on %s gave %d%s", services[i].name, what, result,
				 kit_errno_name(result));
		if (heap)
			CHECK_SAME_BYTES(heap, &before, sizeof(before));
	}
}

/* A live heap with a block in use, at `buf`. */
static void make_live(RT_HEAP *live)
{
	CHECK_EQ(rt_heap_create(live, NULL, 1000, H_PRIO), 0);
	buf = MUST_ALLOC(live, 100);
}

/* It is as it was. */
static void end_live(RT_HEAP *live)
{
	CHECK_HEAP(live, 0, 128);
	CHECK_EQ(rt_heap_free(live, buf), 0);
	CHECK_HEAP(live, 0, 0);
	CHECK_EQ(rt_heap_delete(live), 0);
	buf = NULL;
}

/* --- Cases -------------------------------------------------------------------------------------------------------- */

static void try_null_and_zeroed(void *arg)
{
	RT_HEAP zeroed = { 0 };

	(void)arg;
	refused_by_every_service(NULL, "NULL");
	refused_by_every_service(&zeroed, "a zeroed descriptor");
	CHECK_EQ(rt_heap_unbind(NULL), -EINVAL);
	CHECK_EQ(rt_heap_bind(NULL, "x", TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_heap_bind(NULL, "x", TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_heap_bind(&zeroed, NULL, TM_INFINITE), -EINVAL);
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
	RT_HEAP heap, at[2];
	int offset;

	make_live(&heap);
	for (offset = 1; offset < 8; offset++) {
		RT_HEAP *misaligned = (RT_HEAP *)(void *)((char *)at + offset);
		RT_HEAP before[2];

		/* It holds a good handle all the same. */
		memcpy(misaligned, &heap, sizeof(heap));
		refused_by_every_service(misaligned, "a misaligned descriptor");
		memcpy(before, at, sizeof(at));
		CHECK_EQ(rt_heap_create(misaligned, "askew", 100, H_FIFO), -EINVAL);
		CHECK_EQ(rt_heap_bind(misaligned, "askew", TM_NONBLOCK), -EINVAL);
		CHECK_EQ(rt_heap_unbind(misaligned), -EINVAL);
		CHECK_SAME_BYTES(at, before, sizeof(at));
	}
	end_live(&heap);
}

static void try_foreign(void *arg)
{
	RT_HEAP foreign;
	RT_SEM sem, of_heap;
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
	memcpy(&of_heap, &foreign, sizeof(of_heap));
	CHECK_EQ(rt_sem_v(&of_heap), -EINVAL);
	CHECK_EQ(rt_sem_p(&of_heap, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_sem_delete(&of_heap), -EINVAL);
	end_live(&foreign);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void descriptor_of_another_type(void)
{
	try_foreign(NULL);
	as_task(20, try_foreign, NULL);
}

/* H11 */
static void stale_descriptor(void)
{
	RT_HEAP heap, copy, other;

	CHECK_EQ(rt_heap_create(&heap, "gone", 1000, H_FIFO), 0);
	copy = heap;
	CHECK_EQ(rt_heap_delete(&heap), 0);
	refused_by_every_service(&heap, "a stale descriptor");
	make_live(&other);
	CHECK(other.handle != heap.handle);
	refused_by_every_service(&heap, "a stale descriptor beside a new heap");
	refused_by_every_service(&copy, "a copy of a stale descriptor");
	end_live(&other);
}

static void garbage_descriptor(void)
{
	unsigned long long state = 88172645463325252ULL;
	const int top = (int)(8 * sizeof(uintptr_t)) - 4;
	RT_HEAP heap, live;
	uintptr_t kind;
	int i;

	make_live(&live);
	for (kind = 0; kind < 16; kind++) {
		heap.handle = (live.handle & (((uintptr_t)1 << top) - 1)) | kind << top;
		if (heap.handle != live.handle)
			refused_by_every_service(&heap, "a handle of another kind");
	}
	for (i = 0; i < 2 * (int)(8 * sizeof(live.handle)); i++) {
		heap.handle = live.handle ^ ((uintptr_t)1 << i / 2) ^ (uintptr_t)(i % 2 ? 1 : 0);
		if (heap.handle != live.handle)
			refused_by_every_service(&heap, "a handle with one or two bits flipped");
	}
	for (i = 0; i < 4096; i++) {
		heap.handle = (uintptr_t)i;
		refused_by_every_service(&heap, "a small number");
		heap.handle = ~(uintptr_t)i;
		refused_by_every_service(&heap, "a small negative number");
	}
	heap.handle = (uintptr_t)&heap;
	refused_by_every_service(&heap, "an address on the stack");
	heap.handle = (uintptr_t)&info;
	refused_by_every_service(&heap, "an address of data");
	heap.handle = (uintptr_t)buf;
	refused_by_every_service(&heap, "an address of a block");
	for (i = 0; i < 5000; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		heap.handle = (uintptr_t)state;
		if (heap.handle != live.handle)
			refused_by_every_service(&heap, "a random number");
	}
	end_live(&live);
}

/* Each generation of a slot has a handle of its own: none of the older ones reaches the live heap. */
static void handles_of_500_generations_stay_dead(void)
{
	enum { GENERATIONS = 500 };
	static RT_HEAP old[GENERATIONS];
	RT_HEAP heap;
	void *block;
	int i, k;

	for (i = 0; i < GENERATIONS; i++) {
		MAKE_HEAP(&heap, 512, H_FIFO);
		for (k = 0; k < i; k++) {
			CHECK(old[k].handle != heap.handle);
			CHECK_EQ(rt_heap_alloc(&old[k], 1, TM_NONBLOCK, &block), -EINVAL);
			CHECK_EQ(rt_heap_free(&old[k], data), -EINVAL);
		}
		CHECK_HEAP(&heap, 0, 0);
		old[i] = heap;
		CHECK_EQ(rt_heap_delete(&heap), 0);
	}
	for (k = 0; k < GENERATIONS; k++)
		refused_by_every_service(&old[k], "a handle of an old generation");
}

static void copies_are_as_good_as_the_original(void)
{
	RT_HEAP heap, copy, bound;
	void *block;

	CHECK_EQ(rt_heap_create(&heap, "shared", 1000, H_FIFO), 0);
	copy = heap;
	CHECK_EQ(rt_heap_bind(&bound, "shared", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, heap.handle);
	block = MUST_ALLOC(&heap, 100);
	CHECK_HEAP(&copy, 0, 128);
	CHECK_EQ(rt_heap_free(&bound, block), 0);
	CHECK_EQ(rt_heap_delete(&copy), 0);
	refused_by_every_service(&heap, "the creator's descriptor after a copy deleted it");
	refused_by_every_service(&bound, "a bound descriptor after a copy deleted it");
}

/* Nor are blocks released (heap.md 4). */
static void unbind_forgets_the_descriptor_only(void)
{
	struct asker asker;
	RT_HEAP heap, copy;
	void *block;

	CHECK_EQ(rt_heap_create(&heap, "unbound", 1024, H_FIFO), 0);
	copy = heap;
	block = MUST_ALLOC(&heap, 1024);
	start_asker(&asker, &heap, 1024, 10, "w");
	CHECK_EQ(rt_heap_unbind(&heap), 0);
	CHECK_EQ(heap.handle, 0);
	refused_by_every_service(&heap, "an unbound descriptor");
	CHECK_HEAP(&copy, 1, 1024);
	CHECK_EQ(rt_heap_bind(&heap, "unbound", TM_NONBLOCK), 0);
	CHECK_EQ(heap.handle, copy.handle);
	CHECK_EQ(rt_heap_free(&heap, block), 0);
	expect_block(&asker);
	CHECK_EQ(rt_heap_free(&heap, asker.block), 0);
	CHECK_HEAP(&heap, 0, 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
	/* Works on any descriptor. */
	CHECK_EQ(rt_heap_unbind(&heap), 0);
	CHECK_EQ(rt_heap_unbind(&heap), 0);
	copy.handle = (uintptr_t)0xdeadbeef;
	CHECK_EQ(rt_heap_unbind(&copy), 0);
	CHECK_EQ(copy.handle, 0);
}

/* --- Bind --------------------------------------------------------------------------------------------------------- */

static int bind_results[3];
static RT_HEAP bound_by[3];

static void bind_later(void *number_)
{
	int number = (int)(uintptr_t)number_;

	bind_results[number] = rt_heap_bind(&bound_by[number], number < 2 ? "later" : "never", TM_INFINITE);
}

static void bind_waits_for_the_creation(void)
{
	RT_TASK tasks[3];
	RT_HEAP heap;
	int i;

	for (i = 0; i < 3; i++)
		kit_spawn_blocked(&tasks[i], 10, bind_later, (void *)(uintptr_t)i);
	CHECK_EQ(rt_heap_create(&heap, "later", 1000, H_FIFO), 0);
	kit_join(&tasks[0]);
	kit_join(&tasks[1]);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(bind_results[i], 0);
		CHECK_EQ(bound_by[i].handle, heap.handle);
	}
	CHECK(kit_blocked(&tasks[2]));
	CHECK_EQ(rt_task_unblock(&tasks[2]), 0);
	kit_join(&tasks[2]);
	CHECK_EQ(bind_results[2], -EINTR);
	CHECK_EQ(bound_by[2].handle, 0);
}

static void bind_as_plain_thread(void *arg)
{
	RT_HEAP heap = { 77 };

	(void)arg;
	CHECK_EQ(rt_heap_bind(&heap, "missing", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_heap_bind(&heap, "missing", MS), -EPERM);
	CHECK_EQ(rt_heap_bind(&heap, "missing", TM_INFINITE), -EPERM);
	CHECK_EQ(heap.handle, 77);
	CHECK_EQ(rt_heap_bind(&heap, "present", TM_INFINITE), 0);
	CHECK(heap.handle != 77);
}

static void bind_by_every_caller(void)
{
	long long start = kit_now();
	RT_HEAP heap, bound;

	CHECK_EQ(rt_heap_create(&heap, "present", 1000, H_FIFO), 0);
	kit_plain(bind_as_plain_thread, NULL);
	CHECK_EQ(rt_heap_bind(&bound, "missing", 5 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 5 * MS);
	CHECK_EQ(rt_heap_bind(&bound, "", TM_NONBLOCK), -EWOULDBLOCK);
}

KIT_CASES(
	CASE(null_or_zeroed_descriptor), CASE(misaligned_descriptor), CASE(descriptor_of_another_type),
	CASE(stale_descriptor), CASE(garbage_descriptor), CASE(handles_of_500_generations_stay_dead),
	CASE(copies_are_as_good_as_the_original), CASE(unbind_forgets_the_descriptor_only), CASE(bind_waits_for_the_creation),
	CASE(bind_by_every_caller))
