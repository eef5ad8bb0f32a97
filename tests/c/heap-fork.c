/* Heaps across a fork: the child has a copy of each, blocks included, and nobody waits there (heap.md 8.17 is about
 * processes that share a session). */
#include "kit.h"
#include "heap-kit.h"
#include "tasks.h"
#include "child.h"

static RT_HEAP heap;
static char *block;

static void make_it(int mode)
{
	CHECK_EQ(rt_heap_create(&heap, "copied", 4096, mode), 0);
	block = (char *)MUST_ALLOC(&heap, mode & H_SINGLE ? 0 : 1000);
	memset(block, 'p', 1000);
}

static void check_it(size_t used)
{
	CHECK_HEAP(&heap, 0, used);
	CHECK_EQ(block[0], 'p');
	CHECK_EQ(block[999], 'p');
}

/* ---- Copies ------------------------------------------------------------------------------------------------------- */

static void uses_and_deletes_it(void *arg)
{
	RT_HEAP bound;
	void *all;

	(void)arg;
	check_it(1024);
	memset(block, 'c', 1000);
	CHECK_EQ(rt_heap_bind(&bound, "copied", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, heap.handle);
	CHECK_EQ(rt_heap_free(&heap, block), 0);
	CHECK_EQ(rt_heap_free(&heap, block), -EINVAL);
	all = MUST_ALLOC(&heap, 4096);
	memset(all, 'c', 4096);
	CHECK(poll_block(&heap, 1) == NULL);
	CHECK_EQ(rt_heap_free(&heap, all), 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
	CHECK_EQ(rt_heap_create(&heap, "copied", 100, H_FIFO), 0);
}

static void fork_as_task(void *child)
{
	CHECK_EQ(in_child((void (*)(void *))(uintptr_t)child, NULL), 0);
}

static void child_has_a_copy(void)
{
	make_it(H_PRIO);
	CHECK_EQ(in_child(uses_and_deletes_it, NULL), 0);
	check_it(1024);
	as_task(10, fork_as_task, (void *)(uintptr_t)uses_and_deletes_it);
	check_it(1024);
	CHECK_EQ(rt_heap_free(&heap, block), 0);
	CHECK_EQ(rt_heap_free(&heap, MUST_ALLOC(&heap, 4096)), 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

static void forks_again(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_heap_free(&heap, block), 0);
	CHECK_EQ(rt_heap_free(&heap, MUST_ALLOC(&heap, 4096)), 0);
	block = (char *)MUST_ALLOC(&heap, 1000);
	memset(block, 'p', 1000);
	CHECK_EQ(in_child(uses_and_deletes_it, NULL), 0);
	check_it(1024);
}

static void grandchild_has_a_copy_of_the_copy(void)
{
	make_it(H_FIFO);
	CHECK_EQ(in_child(forks_again, NULL), 0);
	check_it(1024);
}

static void uses_the_single_block(void *arg)
{
	(void)arg;
	check_it(4096);
	CHECK(MUST_ALLOC(&heap, 0) == block);
	memset(block, 'c', 1000);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

static void child_has_a_copy_of_the_single_block(void)
{
	make_it(H_SINGLE);
	CHECK_EQ(in_child(uses_the_single_block, NULL), 0);
	check_it(4096);
	CHECK(MUST_ALLOC(&heap, 0) == block);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* ---- Waiters ------------------------------------------------------------------------------------------------------ */

static void is_alone(void *arg)
{
	struct asker asker;

	(void)arg;
	CHECK_HEAP(&heap, 0, 4096);
	CHECK_EQ(rt_heap_free(&heap, block), 0);
	CHECK_HEAP(&heap, 0, 0);
	block = (char *)MUST_ALLOC(&heap, 4096);
	start_asker(&asker, &heap, 4096, 0, "w");
	CHECK_EQ(rt_heap_free(&heap, block), 0);
	expect_block(&asker);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

static void waiters_are_gone_in_the_child(void)
{
	struct asker asker;

	no_thread_sanitizer();
	MAKE_HEAP(&heap, 4096, H_PRIO);
	block = (char *)MUST_ALLOC(&heap, 4096);
	start_asker(&asker, &heap, 100, 10, "w");
	CHECK_EQ(in_child(is_alone, NULL), 0);
	CHECK_HEAP(&heap, 1, 4096);
	CHECK_EQ(rt_heap_free(&heap, block), 0);
	expect_block(&asker);
	CHECK_HEAP(&heap, 0, 128);
	CHECK_EQ(rt_heap_free(&heap, asker.block), 0);
}

/* ---- Amid use ----------------------------------------------------------------------------------------------------- */

enum { USERS = 3 };

static int stop;

static void use_it(void *number)
{
	unsigned round = (unsigned)(uintptr_t)number;
	RT_HEAP own;
	void *mine;

	for (; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); round++) {
		size_t size = round % 700 + 1;
		int result = rt_heap_alloc(&heap, size, 100000, &mine);

		CHECK(result == 0 || result == -ETIMEDOUT);
		if (result == 0) {
			memset(mine, (int)round & 0xff, size);
			CHECK_EQ(rt_heap_free(&heap, mine), 0);
		}
		if (round % 16 == 0) {
			MAKE_HEAP(&own, 1000, round % 32 ? H_FIFO : H_SINGLE);
			MUST_ALLOC(&own, 1000);
			CHECK_EQ(rt_heap_delete(&own), 0);
		}
	}
}

/* Whatever the others were at: here everything is whole, and they hold what they held. */
static void finds_it_whole(void *arg)
{
	static void *mine[4096];
	size_t used = heap_used(&heap);
	RT_HEAP own;
	int count, i;

	(void)arg;
	CHECK_HEAP(&heap, 0, used);
	CHECK(used <= USERS * 1024);
	for (count = 0; (mine[count] = poll_block(&heap, 16)) != NULL; count++)
		CHECK(count < 4095);
	for (i = 0; i < count; i++)
		CHECK_EQ(rt_heap_free(&heap, mine[i]), 0);
	CHECK_HEAP(&heap, 0, used);
	CHECK_EQ(rt_heap_delete(&heap), 0);
	MAKE_HEAP(&own, 1000, H_FIFO);
	MUST_ALLOC(&own, 1000);
	CHECK_EQ(rt_heap_delete(&own), 0);
}

static void fork_while_others_use_it(void)
{
	long long end = kit_now() + 1500 * MS;
	RT_TASK tasks[USERS];
	int i;

	no_thread_sanitizer();
	kit_unpin();
	MAKE_HEAP(&heap, 1536, H_FIFO);
	for (i = 0; i < USERS; i++)
		kit_spawn(&tasks[i], 0, use_it, (void *)(uintptr_t)i);
	while (kit_now() < end)
		CHECK_EQ(in_child(finds_it_whole, NULL), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < USERS; i++)
		kit_join(&tasks[i]);
	CHECK_HEAP(&heap, 0, 0);
	CHECK_EQ(rt_heap_free(&heap, MUST_ALLOC(&heap, 1536)), 0);
}

KIT_CASES(
	CASE(child_has_a_copy), CASE(grandchild_has_a_copy_of_the_copy), CASE(child_has_a_copy_of_the_single_block),
	CASE(waiters_are_gone_in_the_child), CASE(fork_while_others_use_it))
