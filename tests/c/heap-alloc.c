/* Blocks of an ordinary heap while nobody waits: sizes, accounting, addresses, frees (heap.md 3, 4, 8.2-8.8, 8.20, H3). */
#include "kit.h"
#include "heap-kit.h"
#include "tasks.h"
#include <limits.h>

static RT_HEAP heap;

enum { MOST = 8192 };

static unsigned char *held[MOST];

/* Allocates until there is no block left; returns how many there are. Every one is written to its end. */
static int exhaust(size_t size)
{
	int count;

	for (count = 0; count < MOST; count++) {
		held[count] = (unsigned char *)poll_block(&heap, size);
		if (!held[count])
			break;
		memset(held[count], count & 0xff, size);
		CHECK_EQ(heap_used(&heap), block_of(size) * (size_t)(count + 1));
	}
	CHECK(count < MOST);
	return count;
}

/* Frees them; nobody has written to another's block. */
static void release(int count, size_t size)
{
	size_t k;
	int i;

	for (i = 0; i < count; i++) {
		for (k = 0; k < size; k++)
			CHECK_EQ(held[i][k], i & 0xff);
		CHECK_EQ(rt_heap_free(&heap, held[i]), 0);
	}
	CHECK_HEAP(&heap, 0, 0);
}

/* ---- Promises ----------------------------------------------------------------------------------------------------- */

/* heap.md 8.2 */
static void three_thirds_fit_and_no_more(void)
{
	MAKE_HEAP(&heap, 30720, H_FIFO);
	CHECK_EQ(exhaust(10240), 3); /* the fourth: -EWOULDBLOCK and NULL, see poll_block() */
	release(3, 10240);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* heap.md 3: one request of all, k requests of a k-th where that is a multiple of 512, and the next fails. */
static void heap_gives_all_of_itself(void)
{
	static const size_t sizes[] = { 1, 16, 17, 500, 512, 513, 1000, 1024, 4096, 10000, 65536, 300000 };
	unsigned i;
	size_t k;
	int count;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = sizes[i];

		MAKE_HEAP(&heap, size, H_PRIO);
		count = exhaust(size);
		CHECK(count >= 1);
		release(count, size);
		CHECK_EQ(rt_heap_delete(&heap), 0);
	}
	for (i = 1; i <= 8; i++)
		for (k = 1; k <= 12; k++) {
			MAKE_HEAP(&heap, 512 * i * k, H_FIFO);
			CHECK_EQ(exhaust(512 * i), k);
			release((int)k, 512 * i);
			CHECK_EQ(rt_heap_delete(&heap), 0);
		}
}

/* heap.md 8.3, decision 16 */
static void more_than_the_heap_is_refused_at_once(void)
{
	static const size_t sizes[] = {
		5121, 5632, 10000, (size_t)INT_MAX, (size_t)UINT_MAX, (size_t)UINT_MAX + 1, (size_t)UINT_MAX + 100,
		(size_t)LONG_MAX, (size_t)LONG_MAX + 1, ULONG_MAX - 511, ULONG_MAX - 510, ULONG_MAX - 15, ULONG_MAX,
	};
	struct timespec past = { 1, 0 };
	void *block, *all;
	unsigned i, full;

	MAKE_HEAP(&heap, 5120, H_FIFO);
	for (full = 0; full < 2; full++) {
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			block = NOWHERE;
			CHECK_EQ(rt_heap_alloc(&heap, sizes[i], TM_INFINITE, &block), -EINVAL);
			CHECK_EQ(rt_heap_alloc(&heap, sizes[i], TM_NONBLOCK, &block), -EINVAL);
			CHECK_EQ(rt_heap_alloc(&heap, sizes[i], MS, &block), -EINVAL);
			CHECK_EQ(rt_heap_alloc_until(&heap, sizes[i], TM_INFINITE, &block), -EINVAL);
			CHECK_EQ(rt_heap_alloc_until(&heap, sizes[i], 1, &block), -EINVAL);
			CHECK_EQ(rt_heap_alloc_timed(&heap, sizes[i], NULL, &block), -EINVAL);
			CHECK_EQ(rt_heap_alloc_timed(&heap, sizes[i], &past, &block), -EINVAL);
			CHECK(block == NOWHERE || block == NULL);
		}
		if (!full)
			all = MUST_ALLOC(&heap, 5120);
		CHECK_HEAP(&heap, 0, 5120);
	}
	CHECK_EQ(rt_heap_free(&heap, all), 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* heap.md 4, 8.4 */
static void block_of_nothing_is_never_there(void)
{
	struct timespec past = { 1, 0 }, bad = { 1, 2000000000 };
	long long start = kit_now();
	void *block = NOWHERE;

	MAKE_HEAP(&heap, 5120, H_FIFO);
	CHECK_EQ(rt_heap_alloc(&heap, 0, TM_NONBLOCK, &block), -EWOULDBLOCK);
	CHECK(block == NULL);
	block = NOWHERE;
	CHECK_EQ(rt_heap_alloc(&heap, 0, MS, &block), -ETIMEDOUT);
	CHECK(block == NULL);
	CHECK(kit_now() - start >= MS);
	CHECK_EQ(rt_heap_alloc_timed(&heap, 0, &past, &block), -ETIMEDOUT);
	CHECK_EQ(rt_heap_alloc_timed(&heap, 0, &bad, &block), -EINVAL);
	CHECK_HEAP(&heap, 0, 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* heap.md 3, the table; 8.5 */
static void costs_follow_the_table(void)
{
	size_t size, base;
	void *block, *anchor;

	CHECK_EQ(block_of(100), 128);
	MAKE_HEAP(&heap, 100000, H_FIFO);
	anchor = MUST_ALLOC(&heap, 20);
	base = heap_used(&heap);
	CHECK_EQ(base, 32);
	for (size = 1; size <= 3000; size++) {
		size_t want = size <= 16 ? 16 : size <= 32 ? 32 : size <= 64 ? 64 : size <= 128 ? 128 : size <= 256 ? 256 :
			(size + 511) / 512 * 512;

		block = MUST_ALLOC(&heap, size);
		CHECK_EQ(heap_used(&heap) - base, want);
		CHECK_EQ(rt_heap_free(&heap, block), 0);
		CHECK_EQ(heap_used(&heap), base);
	}
	CHECK_EQ(rt_heap_free(&heap, anchor), 0);
	CHECK_HEAP(&heap, 0, 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* heap.md 3, 8.6: of every size until nothing is left, none in another's; then all of it comes back. */
static void memory_serves_any_size_again_and_again(void)
{
	static const size_t sizes[] = { 1, 16, 17, 32, 33, 64, 100, 128, 200, 256, 257, 511, 512, 513, 1024, 5000, 65536 };
	int count[2], round;
	unsigned i;

	MAKE_HEAP(&heap, 65536, H_FIFO);
	for (round = 0; round < 2; round++)
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			count[0] = exhaust(sizes[i]);
			CHECK(count[0] > 0);
			release(count[0], sizes[i]);
			count[1] = exhaust(sizes[i]);
			CHECK_EQ(count[1], count[0]);
			release(count[1], sizes[i]);
		}
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* heap.md 8.20 */
static void pages_in_part_use_give_no_page(void)
{
	void *block;
	int count, i;

	MAKE_HEAP(&heap, 10240, H_FIFO);
	count = exhaust(16);
	CHECK_EQ(count, 640);
	/* One of each 32, the least that may be a page's worth. */
	for (i = 0; i < count; i += 32)
		CHECK_EQ(rt_heap_free(&heap, held[i]), 0);
	CHECK(heap_usable(&heap) - heap_used(&heap) >= 320);
	CHECK(poll_block(&heap, 512) == NULL);
	for (i = 0; i < count; i++)
		if (i % 32)
			CHECK_EQ(rt_heap_free(&heap, held[i]), 0);
	CHECK_HEAP(&heap, 0, 0);
	block = MUST_ALLOC(&heap, 10240);
	CHECK_EQ(rt_heap_free(&heap, block), 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* heap.md 3: whatever the order they are freed in, they grow together again. */
static void free_space_is_coalesced(void)
{
	enum { SLOTS = 64 };
	unsigned long long state = 88172645463325252ULL;
	size_t sizes[SLOTS] = { 0 }, used = 0;
	unsigned char *blocks[SLOTS] = { 0 };
	int i, slot, round;
	void *all;

	MAKE_HEAP(&heap, 30720, H_FIFO);
	for (round = 0; round < 50; round++) {
		for (i = 0; i < 2000; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			slot = (int)(state % SLOTS);
			if (blocks[slot]) {
				CHECK_EQ(blocks[slot][0], slot);
				CHECK_EQ(blocks[slot][sizes[slot] - 1], slot);
				CHECK_EQ(rt_heap_free(&heap, blocks[slot]), 0);
				used -= block_of(sizes[slot]);
				blocks[slot] = NULL;
			} else {
				sizes[slot] = (state >> 20) % ((state >> 16) % 8 ? 300 : 3000) + 1;
				blocks[slot] = (unsigned char *)poll_block(&heap, sizes[slot]);
				if (blocks[slot]) {
					memset(blocks[slot], slot, sizes[slot]);
					used += block_of(sizes[slot]);
				}
			}
		}
		CHECK_EQ(heap_used(&heap), used);
		for (i = 0; i < SLOTS; i++) {
			slot = (i * 37 + round) % SLOTS;
			if (blocks[slot])
				CHECK_EQ(rt_heap_free(&heap, blocks[slot]), 0);
			blocks[slot] = NULL;
		}
		used = 0;
		CHECK_HEAP(&heap, 0, 0);
		all = MUST_ALLOC(&heap, 30720);
		CHECK_EQ(rt_heap_free(&heap, all), 0);
	}
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* ---- What is no block --------------------------------------------------------------------------------------------- */

static void refused(void *block)
{
	size_t used = heap_used(&heap);

	CHECK_EQ(rt_heap_free(&heap, block), -EINVAL);
	CHECK_HEAP(&heap, 0, used);
}

/* heap.md 8.8, H3 */
static void try_foreign_addresses(void *arg)
{
	static const size_t sizes[] = { 1, 20, 100, 400, 600, 5000 };
	static char data[64];
	RT_HEAP other;
	char local[64], *all[6];
	void *foreign;
	long offset;
	unsigned i, k;

	(void)arg;
	MAKE_HEAP(&heap, 30000, H_FIFO);
	MAKE_HEAP(&other, 30000, H_FIFO);
	foreign = MUST_ALLOC(&other, 100);
	for (i = 0; i < 6; i++)
		all[i] = (char *)MUST_ALLOC(&heap, sizes[i]);
	refused(NULL);
	refused(local);
	refused(data);
	refused(&heap);
	refused((void *)(uintptr_t)try_foreign_addresses);
	refused(foreign);
	for (i = 0; i < 64; i++) {
		refused((void *)((uintptr_t)1 << i));
		refused((void *)~((uintptr_t)1 << i));
		refused((void *)(uintptr_t)(i + 1));
		refused((void *)-(uintptr_t)(i + 1));
	}
	for (i = 0; i < 6; i++)
		for (offset = -2048; offset <= 6000; offset += offset >= -80 && offset < 80 ? 1 : 8) {
			int is_one = 0;

			for (k = 0; k < 6; k++)
				is_one |= all[i] + offset == all[k];
			if (!is_one)
				refused(all[i] + offset);
		}
	for (i = 0; i < 6; i++)
		CHECK_EQ(rt_heap_free(&heap, all[i]), 0);
	CHECK_HEAP(&heap, 0, 0);
	CHECK_HEAP(&other, 0, 128);
	CHECK_EQ(rt_heap_free(&other, foreign), 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
	CHECK_EQ(rt_heap_delete(&other), 0);
}

static void addresses_that_are_no_block(void)
{
	try_foreign_addresses(NULL);
	kit_plain(try_foreign_addresses, NULL);
	as_task(10, try_foreign_addresses, NULL);
}

/* heap.md 8.7, H3 */
static void second_free_is_refused(void)
{
	static const size_t sizes[] = { 1, 20, 100, 400, 600, 5000 };
	void *block, *anchor;
	unsigned i;

	MAKE_HEAP(&heap, 30000, H_FIFO);
	for (i = 0; i < 6; i++) {
		block = MUST_ALLOC(&heap, sizes[i]);
		anchor = MUST_ALLOC(&heap, sizes[i]); /* keeps the page in use */
		CHECK_EQ(rt_heap_free(&heap, block), 0);
		refused(block);
		CHECK_EQ(heap_used(&heap), block_of(sizes[i]));
		CHECK_EQ(rt_heap_free(&heap, anchor), 0);
		refused(block);
		refused(anchor);
	}
	CHECK_HEAP(&heap, 0, 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* A page that was cut for one size and then serves another has no starts of the former. */
static void starts_of_former_blocks_are_refused(void)
{
	unsigned char *whole;
	int count, i;

	MAKE_HEAP(&heap, 2048, H_FIFO);
	count = exhaust(32);
	release(count, 32);
	whole = (unsigned char *)MUST_ALLOC(&heap, 2048);
	for (i = 0; i < count; i++)
		if (held[i] != whole)
			refused(held[i]);
	CHECK_EQ(rt_heap_free(&heap, whole), 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* heap.md 7: what the heap knows lies outside, so overruns of one block, and writes after its end, spoil contents only. */
static void overruns_spoil_no_accounts(void)
{
	static const int fillings[] = { 0x00, 0xff, 0x5a, 0x01 };
	unsigned char *low, *high;
	int count, i, k;
	size_t size;

	MAKE_HEAP(&heap, 20480, H_FIFO);
	for (size = 16; size <= 1024; size *= 2)
		for (k = 0; k < 4; k++) {
			count = exhaust(size);
			low = high = held[0];
			for (i = 1; i < count; i++) {
				low = held[i] < low ? held[i] : low;
				high = held[i] > high ? held[i] : high;
			}
			/* All of the heap at once, over every border there is. */
			memset(low, fillings[k], (size_t)(high - low) + size);
			for (i = 0; i < count; i += 2)
				CHECK_EQ(rt_heap_free(&heap, held[i]), 0);
			memset(low, ~fillings[k] & 0xff, (size_t)(high - low) + size);
			for (i = 0; i < count; i += 2)
				refused(held[i]);
			for (i = 0; i < count; i += 2)
				held[i] = (unsigned char *)MUST_ALLOC(&heap, size);
			CHECK_EQ(heap_used(&heap), (size_t)count * size);
			CHECK(poll_block(&heap, size) == NULL);
			for (i = 0; i < count; i++)
				CHECK_EQ(rt_heap_free(&heap, held[i]), 0);
			CHECK_HEAP(&heap, 0, 0);
		}
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* ---- Callers ------------------------------------------------------------------------------------------------------ */

/* heap.md 8.18: what is there is given, whatever the time-out, to whomever. */
static void take_in_every_form(void *arg)
{
	static const struct timespec dates[] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { -1, 0 }, { 1, 2000000000 }, { 1, -1 } };
	static const RTIME limits[] = { TM_INFINITE, TM_NONBLOCK, 1 };
	void *block;
	unsigned i;

	(void)arg;
	for (i = 0; i < 3; i++) {
		CHECK_EQ(rt_heap_alloc(&heap, 100, limits[i], &block), 0);
		CHECK_EQ(rt_heap_free(&heap, block), 0);
		CHECK_EQ(rt_heap_alloc_until(&heap, 100, limits[i], &block), 0);
		CHECK_EQ(rt_heap_free(&heap, block), 0);
	}
	for (i = 0; i <= sizeof(dates) / sizeof(dates[0]); i++) {
		CHECK_EQ(rt_heap_alloc_timed(&heap, 100, i < 6 ? &dates[i] : NULL, &block), 0);
		CHECK_EQ(rt_heap_free(&heap, block), 0);
	}
	CHECK_EQ(rt_heap_alloc(&heap, 100, TM_INFINITE, NULL), -EINVAL);
	CHECK_HEAP(&heap, 0, 0);
}

static void block_is_given_whatever_the_date_and_the_caller(void)
{
	MAKE_HEAP(&heap, 1000, H_FIFO);
	take_in_every_form(NULL);
	kit_plain(take_in_every_form, NULL);
	as_task(10, take_in_every_form, NULL);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

KIT_CASES(
	CASE(three_thirds_fit_and_no_more), CASE(heap_gives_all_of_itself), CASE(more_than_the_heap_is_refused_at_once),
	CASE(block_of_nothing_is_never_there), CASE(costs_follow_the_table), CASE(memory_serves_any_size_again_and_again),
	CASE(pages_in_part_use_give_no_page), CASE(free_space_is_coalesced), CASE(addresses_that_are_no_block),
	CASE(second_free_is_refused), CASE(starts_of_former_blocks_are_refused), CASE(overruns_spoil_no_accounts),
	CASE(block_is_given_whatever_the_date_and_the_caller))
