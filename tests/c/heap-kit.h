/* What the heap tests share: tasks that ask for one block, and a look at a heap's state. Include it after kit.h. */
#ifndef HEAP_KIT_H
#define HEAP_KIT_H

#include <alchemy/heap.h>

#ifndef MS
#define MS 1000000LL
#endif

/* What the address of a block is set to, to see whether a call leaves it alone. */
#define NOWHERE ((void *)(uintptr_t)0x5a5a5a50)

/* Bytes a block of `size` takes (heap.md 3). */
KIT_UNUSED static size_t block_of(size_t size)
{
	size_t power = 16;

	if (size >= 512)
		return (size + 511) / 512 * 512;
	while (power < size)
		power *= 2;
	return power;
}

/* A task that asks for one block, leaves its tag as a mark and ends. */
struct asker {
	RT_TASK task;
	RT_HEAP *heap;
	size_t size;
	RTIME timeout;
	const char *tag;
	void *block;
	int result;
};

KIT_UNUSED static void asker_body(void *asker_)
{
	struct asker *asker = (struct asker *)asker_;

	asker->result = rt_heap_alloc(asker->heap, asker->size, asker->timeout, &asker->block);
	mark(asker->tag);
}

/* Starts one and returns when it is queued. */
KIT_UNUSED static void start_timed_asker(struct asker *asker, RT_HEAP *heap, size_t size, int prio, const char *tag, RTIME timeout)
{
	asker->heap = heap;
	asker->size = size;
	asker->timeout = timeout;
	asker->tag = tag;
	asker->block = NOWHERE;
	asker->result = 4711;
	kit_spawn_blocked(&asker->task, prio, asker_body, asker);
}

KIT_UNUSED static void start_asker(struct asker *asker, RT_HEAP *heap, size_t size, int prio, const char *tag)
{
	start_timed_asker(asker, heap, size, prio, tag, TM_INFINITE);
}

/* It got a block, which is its own to the last byte. */
KIT_UNUSED static void expect_block(struct asker *asker)
{
	kit_join(&asker->task);
	CHECK_EQ(asker->result, 0);
	CHECK(asker->block && asker->block != NOWHERE);
	memset(asker->block, 0x33, asker->size);
}

/* It failed so; `block` is what its address must have become. */
KIT_UNUSED static void expect_failure(struct asker *asker, int error, void *block)
{
	kit_join(&asker->task);
	CHECK_EQ(asker->result, error);
	CHECK(asker->block == block);
}

/* The heap shows exactly this. */
#define CHECK_HEAP(heap, nwaiters_, usedmem_) \
	do { \
		RT_HEAP_INFO info_; \
		CHECK_EQ(rt_heap_inquire((heap), &info_), 0); \
		CHECK_EQ(info_.nwaiters, (nwaiters_)); \
		CHECK_EQ(info_.usedmem, (usedmem_)); \
	} while (0)

KIT_UNUSED static size_t heap_used(RT_HEAP *heap)
{
	RT_HEAP_INFO info;

	CHECK_EQ(rt_heap_inquire(heap, &info), 0);
	CHECK(info.usedmem <= info.usablemem);
	return info.usedmem;
}

KIT_UNUSED static size_t heap_usable(RT_HEAP *heap)
{
	RT_HEAP_INFO info;

	CHECK_EQ(rt_heap_inquire(heap, &info), 0);
	return info.usablemem;
}

KIT_UNUSED static int heap_waiters(RT_HEAP *heap)
{
	RT_HEAP_INFO info;

	CHECK_EQ(rt_heap_inquire(heap, &info), 0);
	return info.nwaiters;
}

/* A live unnamed heap. */
#define MAKE_HEAP(heap, size, mode) CHECK_EQ(rt_heap_create((heap), NULL, (size), (mode)), 0)

/* A block of that size, which must be there; NULL where it must not. */
KIT_UNUSED static void *poll_block(RT_HEAP *heap, size_t size)
{
	void *block = NOWHERE;
	int result = rt_heap_alloc(heap, size, TM_NONBLOCK, &block);

	if (result == 0) {
		CHECK(block && block != NOWHERE);
		CHECK_EQ((uintptr_t)block % 16, 0);
		return block;
	}
	CHECK_EQ(result, -EWOULDBLOCK);
	CHECK(block == NULL);
	return NULL;
}

#define MUST_ALLOC(heap, size) must_alloc(__LINE__, (heap), (size))

KIT_UNUSED static void *must_alloc(int line, RT_HEAP *heap, size_t size)
{
	void *block = poll_block(heap, size);

	if (!block)
		kit_fail(__FILE__, __LINE__, "line %d: no block of %zu bytes", line, size);
	return block;
}

#endif /* HEAP_KIT_H */
