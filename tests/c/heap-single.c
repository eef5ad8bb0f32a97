/* Heaps of one block, H_SINGLE (heap.md 4, 8.14-8.17, H1). */
#include "kit.h"
#include "heap-kit.h"
#include "tasks.h"

static RT_HEAP heap;

static void *get(size_t size, RTIME timeout)
{
	void *block = NOWHERE;

	CHECK_EQ(rt_heap_alloc(&heap, size, timeout, &block), 0);
	CHECK(block && block != NOWHERE);
	CHECK_EQ((uintptr_t)block % 16, 0);
	return block;
}

static void refused(size_t size)
{
	void *block = NOWHERE;

	CHECK_EQ(rt_heap_alloc(&heap, size, TM_NONBLOCK, &block), -EINVAL);
	CHECK(block == NULL);
	block = NOWHERE;
	CHECK_EQ(rt_heap_alloc(&heap, size, TM_INFINITE, &block), -EINVAL);
	CHECK(block == NULL);
	block = NOWHERE;
	CHECK_EQ(rt_heap_alloc_until(&heap, size, 1, &block), -EINVAL);
	CHECK(block == NULL);
	block = NOWHERE;
	CHECK_EQ(rt_heap_alloc_timed(&heap, size, NULL, &block), -EINVAL);
	CHECK(block == NULL);
	CHECK_HEAP(&heap, 0, 0);
}

static const size_t sizes[] = { 1, 16, 500, 512, 513, 4096, 10000, 100001 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static size_t rounded(size_t size)
{
	return (size + 511) / 512 * 512;
}

/* heap.md 8.14, H1: whichever of 0 and H comes first, the same block is everybody's, all of it. */
static void everybody_gets_the_same_block(void)
{
	unsigned i, first;

	for (i = 0; i < SIZES; i++)
		for (first = 0; first < 2; first++) {
			char *block, *again;
			size_t k;

			MAKE_HEAP(&heap, sizes[i], first ? H_SINGLE | H_PRIO : H_SINGLE);
			CHECK_HEAP(&heap, 0, 0);
			block = (char *)get(first ? sizes[i] : 0, TM_NONBLOCK);
			CHECK_HEAP(&heap, 0, heap_used(&heap));
			CHECK(heap_used(&heap) >= rounded(sizes[i]));
			for (k = 0; k < sizes[i]; k++)
				CHECK_EQ(block[k], 0); /* cleared */
			memset(block, 0x41, sizes[i]);
			CHECK(get(0, TM_NONBLOCK) == block);
			CHECK(get(sizes[i], TM_INFINITE) == block);
			CHECK(get(7, TM_NONBLOCK) == block);
			CHECK(get(sizes[i] + 1, 1) == block);
			CHECK(get((size_t)-1, TM_INFINITE) == block);
			CHECK_EQ(rt_heap_alloc_until(&heap, 3, 1, (void **)&again), 0);
			CHECK(again == block);
			CHECK_EQ(rt_heap_alloc_timed(&heap, 3, NULL, (void **)&again), 0);
			CHECK(again == block);
			CHECK_EQ(block[0] + block[sizes[i] - 1], 2 * 0x41); /* not cleared again */
			CHECK_EQ(rt_heap_delete(&heap), 0);
		}
}

/* heap.md 4: the rounded size, for ever. */
static void the_block_costs_the_heap(void)
{
	unsigned i;

	for (i = 0; i < SIZES; i++) {
		MAKE_HEAP(&heap, sizes[i], H_SINGLE);
		get(0, TM_NONBLOCK);
		CHECK_HEAP(&heap, 0, rounded(sizes[i]));
		get(0, TM_NONBLOCK);
		CHECK_HEAP(&heap, 0, rounded(sizes[i]));
		CHECK_EQ(rt_heap_delete(&heap), 0);
	}
}

/* heap.md 8.15 */
static void first_request_must_be_for_all_of_it(void)
{
	unsigned i;

	for (i = 0; i < SIZES; i++) {
		MAKE_HEAP(&heap, sizes[i], H_SINGLE);
		refused(sizes[i] + 1);
		refused(rounded(sizes[i]) + 512);
		refused((size_t)-1);
		refused((size_t)-511);
		if (sizes[i] > 1) {
			refused(1);
			refused(sizes[i] - 1);
		}
		if (rounded(sizes[i]) != sizes[i])
			refused(rounded(sizes[i]));
		get(sizes[i], TM_NONBLOCK);
		CHECK_EQ(rt_heap_delete(&heap), 0);
	}
}

/* heap.md 8.16 */
static void free_does_nothing(void)
{
	char local[8];
	char *block;

	MAKE_HEAP(&heap, 1000, H_SINGLE);
	CHECK_EQ(rt_heap_free(&heap, NULL), 0);
	CHECK_EQ(rt_heap_free(&heap, local), 0);
	CHECK_HEAP(&heap, 0, 0);
	block = (char *)get(0, TM_NONBLOCK);
	memset(block, 0x41, 1000);
	CHECK_EQ(rt_heap_free(&heap, block), 0);
	CHECK_EQ(rt_heap_free(&heap, block), 0);
	CHECK_EQ(rt_heap_free(&heap, block + 100), 0);
	CHECK_EQ(rt_heap_free(&heap, NULL), 0);
	CHECK_EQ(rt_heap_free(&heap, local), 0);
	CHECK_EQ(rt_heap_free(&heap, (void *)(uintptr_t)-1), 0);
	CHECK_HEAP(&heap, 0, 1024);
	CHECK(get(0, TM_NONBLOCK) == block);
	CHECK_EQ(block[999], 0x41);
	CHECK_EQ(rt_heap_delete(&heap), 0);
	CHECK_EQ(rt_heap_free(&heap, block), -EINVAL);
	CHECK_EQ(rt_heap_free(&heap, NULL), -EINVAL);
}

static void *first;

static void get_as_anybody(void *arg)
{
	RT_HEAP bound;
	void *block;

	(void)arg;
	CHECK(get(0, TM_INFINITE) == first);
	CHECK(get(0, MS) == first);
	CHECK_EQ(rt_heap_bind(&bound, "segment", TM_INFINITE), 0);
	CHECK_EQ(rt_heap_alloc(&bound, 0, TM_NONBLOCK, &block), 0);
	CHECK(block == first);
	CHECK_EQ(rt_heap_unbind(&bound), 0);
}

/* Nobody ever waits, so anybody may ask in any form (decision 31). */
static void any_thread_may_ask(void)
{
	CHECK_EQ(rt_heap_create(&heap, "segment", 5000, H_SINGLE | H_PRIO), 0);
	first = get(5000, TM_INFINITE);
	get_as_anybody(NULL);
	kit_plain(get_as_anybody, NULL);
	as_task(10, get_as_anybody, NULL);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

static int go;
static void *gotten[4];

static void get_in_a_race(void *number)
{
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		sched_yield();
	gotten[(uintptr_t)number] = get((uintptr_t)number % 2 ? 0 : 4000, TM_NONBLOCK);
}

static void first_requests_at_once_get_the_same(void)
{
	RT_TASK tasks[4];
	int round, i;

	kit_unpin();
	for (round = 0; round < 200; round++) {
		MAKE_HEAP(&heap, 4000, H_SINGLE);
		for (i = 0; i < 4; i++)
			kit_spawn(&tasks[i], 0, get_in_a_race, (void *)(uintptr_t)i);
		__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
		for (i = 0; i < 4; i++) {
			kit_join(&tasks[i]);
			CHECK(gotten[i] == gotten[0]);
		}
		__atomic_store_n(&go, 0, __ATOMIC_RELEASE);
		CHECK_HEAP(&heap, 0, 4096);
		CHECK_EQ(rt_heap_delete(&heap), 0);
	}
}

KIT_CASES(
	CASE(everybody_gets_the_same_block), CASE(the_block_costs_the_heap), CASE(first_request_must_be_for_all_of_it),
	CASE(free_does_nothing), CASE(any_thread_may_ask), CASE(first_requests_at_once_get_the_same))
