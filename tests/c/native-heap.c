/* Heaps of the 2.x interface: what differs from 3.x (native2.md 3.2, 5, 6, 7.7). */
#include "native-kit.h"
#include <native/heap.h>

static RT_HEAP heap;

static void inquire(RT_HEAP_INFO *info)
{
	memset(info, 0x5a, sizeof(*info));
	CHECK_EQ(rt_heap_inquire(&heap, info), 0);
	CHECK_EQ(info->phys_addr, 0);
}

static void *get(size_t size)
{
	void *block = NULL;

	CHECK_EQ(rt_heap_alloc(&heap, size, TM_NONBLOCK, &block), 0);
	CHECK(block != NULL);
	return block;
}

static void refused(size_t size)
{
	void *block;

	CHECK_EQ(rt_heap_alloc(&heap, size, TM_NONBLOCK, &block), -EINVAL);
	CHECK_EQ(rt_heap_alloc(&heap, size, TM_INFINITE, &block), -EINVAL);
}

/* Mode 0, and bits that mean nothing here, among them 0x4, which is H_SINGLE in 3.x. */
static void other_bits_are_ignored(void)
{
	static const int modes[] = { 0, H_DMA, H_MAPPABLE, H_NONCACHED, H_DMA32, 0x2, 0x4, 0x10, 0x10000, -1 & ~H_SINGLE };
	RT_HEAP_INFO info;
	void *a, *b;
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		CHECK_EQ(rt_heap_create(&heap, NULL, 1024, modes[i]), 0);
		a = get(100);
		b = get(100);
		CHECK(a != b);
		inquire(&info);
		CHECK_EQ(info.usedmem, 256);
		CHECK_EQ(info.heapsize, 1024);
		CHECK_EQ(info.mode & (H_PRIO | H_SINGLE), modes[i] & H_PRIO);
		CHECK_EQ(rt_heap_free(&heap, a), 0);
		CHECK_EQ(rt_heap_free(&heap, b), 0);
		CHECK_EQ(rt_heap_free(&heap, b), -EINVAL);
		CHECK_EQ(rt_heap_free(&heap, NULL), -EINVAL);
		inquire(&info);
		CHECK_EQ(info.usedmem, 0);
		CHECK_EQ(rt_heap_delete(&heap), 0);
	}
}

/* native2.md 1.8, 7.7: H_SHARED is one block, too. */
static void single_block(void)
{
	static const int modes[] = { H_SINGLE, H_SHARED, H_SHARED | H_PRIO, H_SINGLE | H_DMA | H_NONCACHED };
	RT_HEAP_INFO info;
	unsigned char *block;
	size_t i, k;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		CHECK_EQ(rt_heap_create(&heap, "segment", 5000, modes[i]), 0);
		refused(1);
		refused(4999);
		refused(5001);
		refused((size_t)-1);
		inquire(&info);
		CHECK_EQ(info.usedmem, 0);
		CHECK_EQ(info.mode & (H_PRIO | H_SINGLE), modes[i] & (H_PRIO | H_SINGLE));
		block = (unsigned char *)get(i % 2 ? 0 : 5000);
		CHECK_EQ((uintptr_t)block % (uintptr_t)sysconf(_SC_PAGESIZE), 0);
		for (k = 0; k < 5000; k++)
			CHECK_EQ(block[k], 0);
		memset(block, 0x41, 5000);
		CHECK(get(0) == block);
		CHECK(get(5000) == block);
		/* 3.x does not look at the size any more. */
		refused(7);
		refused(5001);
		CHECK_EQ(rt_heap_free(&heap, block), 0);
		CHECK_EQ(rt_heap_free(&heap, NULL), -EINVAL);
		CHECK(get(0) == block);
		CHECK_EQ(block[0] + block[4999], 2 * 0x41);
		inquire(&info);
		CHECK(info.usedmem >= 5000);
		CHECK_EQ(rt_heap_delete(&heap), 0);
	}
}

static void *segment;

static void use_the_segment(void *arg)
{
	RT_HEAP bound;
	void *block;

	(void)arg;
	CHECK_EQ(rt_heap_bind(&bound, "segment", TM_NONBLOCK), 0);
	CHECK_EQ(rt_heap_alloc(&bound, 0, TM_NONBLOCK, &block), 0);
	CHECK(block == segment);
	CHECK_STR((char *)block, "shared");
	CHECK_EQ(rt_heap_unbind(&bound), 0);
	CHECK_EQ(bound.opaque, 0);
	CHECK_EQ(rt_heap_unbind(&bound), 0);
	CHECK_EQ(rt_heap_free(&bound, block), -EINVAL);
}

/* native2.md 11.7, within a process. */
static void segment_by_name(void)
{
	CHECK_EQ(rt_heap_create(&heap, "segment", 4096, H_SHARED), 0);
	segment = get(0);
	strcpy((char *)segment, "shared");
	use_the_segment(NULL);
	kit_plain(use_the_segment, NULL);
	as_task(10, use_the_segment, NULL);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

static void descriptor_is_written_as_a_whole(void)
{
	RT_HEAP bound, before, zero;

	memset(&zero, 0, sizeof(zero));
	memset(&heap, 0x5a, sizeof(heap));
	memset(&bound, 0x5a, sizeof(bound));
	before = heap;
	CHECK_EQ(rt_heap_create(&heap, "whole", 0, H_FIFO), -EINVAL);
	CHECK_EQ(rt_heap_create(&heap, "whole", 0x80000000UL, H_SHARED), -EINVAL);
	CHECK_SAME_BYTES(&heap, &before, sizeof(heap));
	CHECK_EQ(rt_heap_bind(&bound, "whole", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_SAME_BYTES(&bound, &before, sizeof(bound));
	CHECK_EQ(rt_heap_create(&heap, "whole", 1000, H_FIFO), 0);
	CHECK_EQ(rt_heap_bind(&bound, "whole", TM_NONBLOCK), 0);
	CHECK(heap.opaque != 0);
	CHECK_EQ(bound.opaque, heap.opaque);
	CHECK(!heap.opaque2 && !heap.mapbase && !heap.mapsize && !heap.area);
	CHECK(!bound.opaque2 && !bound.mapbase && !bound.mapsize && !bound.area);
	/* Deletion clears it; a copy becomes stale. */
	CHECK_EQ(rt_heap_delete(&heap), 0);
	CHECK_EQ(heap.opaque, 0);
	before = bound;
	CHECK_EQ(rt_heap_delete(&bound), -EINVAL);
	CHECK_SAME_BYTES(&bound, &before, sizeof(bound));
	CHECK_EQ(rt_heap_delete(&heap), -EINVAL);
	CHECK_SAME_BYTES(&heap, &zero, sizeof(heap.opaque));
}

struct asker {
	RT_TASK task;
	size_t size;
	void *block;
	int result;
	const char *tag;
};

static void ask(void *asker_)
{
	struct asker *asker = (struct asker *)asker_;

	asker->block = &heap;
	asker->result = rt_heap_alloc(&heap, asker->size, TM_INFINITE, &asker->block);
	mark(asker->tag);
}

/* Waits mean what they do in 3.x. */
static void waiters(void)
{
	struct asker askers[4];
	RT_HEAP_INFO info;
	void *block;
	int i;

	askers[0].tag = "A";
	askers[1].tag = "B";
	askers[2].tag = "unblocked";
	askers[3].tag = "removed";
	CHECK_EQ(rt_heap_create(&heap, NULL, 1024, H_PRIO | H_MAPPABLE), 0);
	block = get(1024);
	for (i = 0; i < 4; i++) {
		askers[i].size = 512;
		spawn_blocked(&askers[i].task, 40 - 10 * (i ^ 1), ask, &askers[i]);
	}
	inquire(&info);
	CHECK_EQ(info.nwaiters, 4);
	CHECK_EQ(rt_task_unblock(&askers[2].task), 0);
	join(&askers[2].task);
	CHECK_EQ(askers[2].result, -EINTR);
	CHECK(askers[2].block == NULL);
	CHECK_EQ(rt_heap_free(&heap, block), 0);
	for (i = 0; i < 2; i++) {
		join(&askers[i].task);
		CHECK_EQ(askers[i].result, 0);
	}
	CHECK_EQ(rt_heap_alloc(&heap, 1, MS, &block), -ETIMEDOUT);
	CHECK_EQ(rt_heap_alloc(&heap, 1, TM_NONBLOCK, &block), -EWOULDBLOCK);
	refused(1025);
	CHECK_EQ(rt_heap_delete(&heap), 0);
	join(&askers[3].task);
	CHECK_EQ(askers[3].result, -EIDRM);
	CHECK(askers[3].block == &heap);
}

static void bind_outside_a_task(void *arg)
{
	RT_HEAP bound;

	(void)arg;
	/* 3.x: -EPERM where it would have to wait. */
	CHECK_EQ(rt_heap_bind(&bound, "missing", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_heap_bind(&bound, "missing", MS), -EWOULDBLOCK);
	CHECK_EQ(rt_heap_bind(&bound, "missing", TM_INFINITE), -EWOULDBLOCK);
	CHECK_EQ(rt_heap_bind(&bound, "present", TM_INFINITE), 0);
}

static void binding_and_names(void)
{
	RT_HEAP bound;
	RT_HEAP_INFO info;

	CHECK_EQ(rt_heap_create(&heap, "present", 1000, H_FIFO), 0);
	kit_plain(bind_outside_a_task, NULL);
	CHECK_EQ(rt_heap_bind(&bound, "missing", MS), -ETIMEDOUT);
	CHECK_EQ(rt_heap_create(&bound, "present", 1000, H_FIFO), -EEXIST);
	CHECK_EQ(rt_heap_delete(&heap), 0);
	CHECK_EQ(rt_heap_create(&heap, NULL, 1000, H_SHARED), 0);
	inquire(&info);
	CHECK_STR(info.name, "heap@1");
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

KIT_CASES(
	CASE(other_bits_are_ignored), CASE(single_block), CASE(segment_by_name), CASE(descriptor_is_written_as_a_whole),
	CASE(waiters), CASE(binding_and_names))
