/* The pool of a queue: what fits, what it costs, whose blocks are freed (queue.md 3, 4; Q2, Q4, Q7). */
#include "kit.h"
#include "queue-kit.h"
#include "tasks.h"
#include <limits.h>

static RT_QUEUE queue;

/* ---- What fits -------------------------------------------------------------------------------------------------- */

enum { MOST = 4096 };

static void *held[MOST];

/* Allocates until the pool has no room, at most MOST; returns how many there are. Every block is written to its end. */
static int exhaust(size_t size)
{
	int count;

	for (count = 0; count < MOST; count++) {
		held[count] = rt_queue_alloc(&queue, size);
		if (!held[count])
			break;
		CHECK_EQ((uintptr_t)held[count] % 16, 0);
		memset(held[count], count & 0xff, size);
		CHECK_EQ(queue_used(&queue), cost_of(size) * (size_t)(count + 1));
	}
	return count;
}

/* Frees them; nobody has written to another's block. */
static void release(int count, size_t size)
{
	size_t k;
	int i;

	for (i = 0; i < count; i++) {
		for (k = 0; k < size; k++)
			CHECK_EQ(((unsigned char *)held[i])[k], i & 0xff);
		CHECK_EQ(rt_queue_free(&queue, held[i]), 0);
	}
	CHECK_QUEUE(&queue, 0, 0, 0);
}

/* Promise 1; queue.md 11.3 */
static void as_many_messages_as_the_limit_fit(void)
{
	static const size_t pools[] = { 1, 2, 15, 16, 31, 32, 33, 100, 511, 512, 513, 1000, 4096, 10007, 65536, 300000 };
	static const size_t limits[] = { 1, 2, 3, 5, 7, 8, 10, 16, 31, 64, 100, 333, 1000 };
	unsigned i, k;

	for (i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
		for (k = 0; k < sizeof(limits) / sizeof(limits[0]); k++) {
			size_t size = pools[i] / limits[k], n;

			MAKE_QUEUE(&queue, pools[i], limits[k], Q_FIFO);
			CHECK(queue_pool(&queue) >= pools[i]);
			for (n = 0; n < limits[k]; n++) {
				held[n] = rt_queue_alloc(&queue, size);
				if (!held[n])
					kit_fail(__FILE__, __LINE__, "pool %zu, limit %zu: message %zu does not fit", pools[i],
						 limits[k], n);
				memset(held[n], (int)n & 0xff, size);
			}
			CHECK_EQ(queue_used(&queue), limits[k] * cost_of(size));
			release((int)limits[k], size);
			CHECK_EQ(rt_queue_delete(&queue), 0);
		}
}

/* Promise 1: a message without content, at the very end of a pool that fills its memory to the last byte. */
static void empty_messages_fill_a_pool_to_its_end(void)
{
	static const size_t limits[] = { 128, 256, 1024, 4096 };
	size_t n, used;
	unsigned i;
	void *buf;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		MAKE_QUEUE(&queue, 1, limits[i], Q_FIFO);
		CHECK_EQ(exhaust(0), limits[i]);
		used = queue_used(&queue);
		CHECK_EQ(used, queue_pool(&queue));
		for (n = 0; n < limits[i]; n++)
			CHECK_EQ(rt_queue_send(&queue, held[n], 0, Q_NORMAL), 0);
		CHECK_QUEUE(&queue, 0, limits[i], used);
		for (n = 0; n < limits[i]; n++) {
			CHECK_EQ(rt_queue_receive(&queue, &buf, TM_NONBLOCK), 0);
			CHECK(buf == held[n]);
		}
		release((int)limits[i], 0);
		for (n = 0; n < limits[i]; n++)
			CHECK_EQ(rt_queue_write(&queue, NULL, 0, Q_URGENT), 0);
		for (n = 0; n < limits[i]; n++) {
			CHECK_EQ(rt_queue_receive(&queue, &buf, TM_NONBLOCK), 0);
			CHECK_EQ(rt_queue_free(&queue, buf), 0);
		}
		CHECK_QUEUE(&queue, 0, 0, 0);
		CHECK_EQ(rt_queue_delete(&queue), 0);
	}
}

/* The same by writing, the queue full to its limit, again and again. */
static void as_many_messages_as_the_limit_are_written(void)
{
	static const size_t limits[] = { 1, 2, 3, 7, 100 };
	static char data[5000];
	unsigned k;
	int round;

	for (k = 0; k < sizeof(limits) / sizeof(limits[0]); k++) {
		MAKE_QUEUE(&queue, 5000, limits[k], Q_FIFO);
		for (round = 0; round < 3; round++) {
			size_t n, size = 5000 / limits[k];

			for (n = 0; n < limits[k]; n++)
				CHECK_EQ(rt_queue_write(&queue, data, size, Q_NORMAL), 0);
			CHECK_EQ(rt_queue_write(&queue, data, size, Q_NORMAL), -ENOMEM);
			CHECK_EQ(rt_queue_write(&queue, NULL, 0, Q_URGENT), -ENOMEM);
			CHECK_QUEUE(&queue, 0, limits[k], limits[k] * cost_of(size));
			for (n = 0; n < limits[k]; n++)
				CHECK_EQ(rt_queue_read(&queue, data, sizeof(data), TM_NONBLOCK), size);
			CHECK_QUEUE(&queue, 0, 0, 0);
		}
		CHECK_EQ(rt_queue_delete(&queue), 0);
	}
}

/* queue.md 4: what programs have come to rely on. */
static void unlimited_pools_hold_as_many_small_messages_as_ever(void)
{
	static const struct { size_t pool; int messages; } table[] = { { 1, 8 }, { 10, 8 }, { 100, 8 }, { 1000, 24 }, { 10000, 168 } };
	unsigned i;
	int count;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		MAKE_QUEUE(&queue, table[i].pool, Q_UNLIMITED, Q_FIFO);
		CHECK(queue_pool(&queue) >= table[i].pool);
		count = exhaust(4);
		CHECK(count >= table[i].messages && count < MOST);
		release(count, 4);
		CHECK_EQ(rt_queue_delete(&queue), 0);
	}
}

/* Promises 3, 4, 5: of every size until nothing is left, then all of it comes back and serves another size. */
static void pool_serves_any_size_again_and_again(void)
{
	static const size_t sizes[] = { 0, 1, 32, 33, 96, 97, 224, 225, 480, 481, 992, 1000, 5000, 20000 };
	int count[2], round;
	unsigned i;

	MAKE_QUEUE(&queue, 65536, Q_UNLIMITED, Q_FIFO);
	for (round = 0; round < 2; round++)
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			count[0] = exhaust(sizes[i]);
			CHECK(count[0] > 0 && count[0] < MOST);
			CHECK(rt_queue_alloc(&queue, sizes[i]) == NULL);
			CHECK_EQ(queue_used(&queue), (size_t)count[0] * cost_of(sizes[i]));
			release(count[0], sizes[i]);
			count[1] = exhaust(sizes[i]);
			CHECK_EQ(count[1], count[0]);
			release(count[1], sizes[i]);
		}
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* Promise 5: longer than a fair share. */
static void one_message_may_take_the_whole_pool(void)
{
	static char data[4096];
	void *buf;

	MAKE_QUEUE(&queue, 4096, 4, Q_FIFO);
	buf = rt_queue_alloc(&queue, 4096);
	CHECK(buf != NULL);
	memset(buf, 0x11, 4096);
	CHECK_EQ(rt_queue_send(&queue, buf, 4096, Q_NORMAL), 0);
	CHECK_QUEUE(&queue, 0, 1, cost_of(4096));
	CHECK_EQ(rt_queue_read(&queue, data, 4096, TM_NONBLOCK), 4096);
	CHECK_EQ(data[0] + data[4095], 0x22);
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* queue.md 4, the table of costs. */
static void costs_follow_the_table(void)
{
	size_t size, base = 0;
	void *buf, *anchor;

	MAKE_QUEUE(&queue, 100000, Q_UNLIMITED, Q_FIFO);
	anchor = rt_queue_alloc(&queue, 50);
	base = queue_used(&queue);
	CHECK_EQ(base, 128);
	for (size = 0; size <= 3000; size++) {
		size_t want = size == 0 ? 32 : size <= 32 ? 64 : size <= 96 ? 128 : size <= 224 ? 256 : size <= 480 ? 512 :
			(size + 32 + 511) / 512 * 512;

		buf = rt_queue_alloc(&queue, size);
		CHECK(buf != NULL);
		CHECK_EQ(queue_used(&queue) - base, want);
		CHECK_EQ(rt_queue_free(&queue, buf), 0);
		CHECK_EQ(queue_used(&queue), base);
	}
	CHECK_EQ(rt_queue_free(&queue, anchor), 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* queue.md 3, 11.29: up to its room, which may be above the size asked for, and no further. */
static void room_of_a_message_ends_with_its_block(void)
{
	static const struct { size_t size, room; } table[] = {
		{ 0, 0 }, { 1, 32 }, { 32, 32 }, { 33, 96 }, { 200, 224 }, { 225, 480 }, { 481, 992 }, { 1000, 1504 },
	};
	unsigned i;

	MAKE_QUEUE(&queue, 10000, 1, Q_FIFO);
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		size_t room = table[i].room;
		void *buf = rt_queue_alloc(&queue, table[i].size), *again = NULL;

		CHECK(buf != NULL);
		CHECK_EQ(rt_queue_send(&queue, buf, room + 1, Q_NORMAL), -EINVAL);
		CHECK_EQ(rt_queue_send(&queue, buf, room + 1, Q_BROADCAST), -EINVAL);
		CHECK_EQ(rt_queue_send(&queue, buf, (size_t)-1, Q_NORMAL), -EINVAL);
		CHECK_EQ(rt_queue_send(&queue, buf, (size_t)-32, Q_URGENT), -EINVAL);
		CHECK_QUEUE(&queue, 0, 0, cost_of(table[i].size));
		CHECK_EQ(rt_queue_send(&queue, buf, room, Q_NORMAL), 0);
		CHECK_EQ(rt_queue_receive(&queue, &again, TM_NONBLOCK), room);
		CHECK(again == buf);
		CHECK_EQ(rt_queue_free(&queue, buf), 0);
		CHECK_QUEUE(&queue, 0, 0, 0);
	}
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* Q7 */
static void absurd_sizes_do_not_fit(void)
{
	static const size_t sizes[] = {
		(size_t)-1, (size_t)-2, (size_t)-16, (size_t)-31, (size_t)-32, (size_t)-33, (size_t)-64, (size_t)-512,
		(size_t)-543, (size_t)-544, (size_t)-545, (size_t)LONG_MAX, (size_t)LONG_MAX + 1, (size_t)1 << 32,
		((size_t)1 << 32) - 32, ((size_t)1 << 32) + 4, 1000000,
	};
	char data[16];
	unsigned i;

	MAKE_QUEUE(&queue, 1000, Q_UNLIMITED, Q_FIFO);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CHECK(rt_queue_alloc(&queue, sizes[i]) == NULL);
		CHECK_EQ(rt_queue_write(&queue, data, sizes[i], Q_NORMAL), -ENOMEM);
		CHECK_EQ(rt_queue_write(&queue, data, sizes[i], Q_URGENT), -ENOMEM);
		CHECK_EQ(rt_queue_write(&queue, data, sizes[i], Q_BROADCAST), 0); /* to nobody */
		CHECK_QUEUE(&queue, 0, 0, 0);
	}
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* Pages that one size has freed serve another, in whatever order they were freed. */
static void no_memory_is_lost_to_a_mix_of_sizes(void)
{
	enum { SLOTS = 64 };
	unsigned long long state = 88172645463325252ULL;
	size_t sizes[SLOTS] = { 0 }, used = 0;
	void *bufs[SLOTS] = { 0 };
	int i, slot, whole;

	MAKE_QUEUE(&queue, 30000, Q_UNLIMITED, Q_FIFO);
	whole = exhaust(480);
	release(whole, 480);
	for (i = 0; i < 100000; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		slot = (int)(state % SLOTS);
		if (bufs[slot]) {
			CHECK_EQ(((unsigned char *)bufs[slot])[0], slot);
			CHECK_EQ(((unsigned char *)bufs[slot])[sizes[slot] - 1], slot);
			CHECK_EQ(rt_queue_free(&queue, bufs[slot]), 0);
			used -= cost_of(sizes[slot]);
			bufs[slot] = NULL;
		} else {
			sizes[slot] = (state >> 20) % ((state >> 16) % 8 ? 300 : 3000) + 1;
			bufs[slot] = rt_queue_alloc(&queue, sizes[slot]);
			if (bufs[slot]) {
				memset(bufs[slot], slot, sizes[slot]);
				used += cost_of(sizes[slot]);
			}
		}
		if (i % 64 == 0)
			CHECK_EQ(queue_used(&queue), used);
	}
	for (slot = 0; slot < SLOTS; slot++)
		if (bufs[slot])
			CHECK_EQ(rt_queue_free(&queue, bufs[slot]), 0);
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(exhaust(480), whole);
	release(whole, 480);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* ---- Addresses that are no message ------------------------------------------------------------------------------- */

static void refused_everywhere(void *buf)
{
	size_t used = queue_used(&queue);

	CHECK_EQ(rt_queue_free(&queue, buf), -EINVAL);
	CHECK_EQ(rt_queue_send(&queue, buf, 0, Q_NORMAL), -EINVAL);
	CHECK_EQ(rt_queue_send(&queue, buf, 0, Q_URGENT), -EINVAL);
	CHECK_EQ(rt_queue_send(&queue, buf, 0, Q_BROADCAST), -EINVAL);
	CHECK_QUEUE(&queue, 0, 0, used);
}

/* queue.md 11.14, Q3, Q4 */
static void try_foreign_addresses(void *arg)
{
	static const size_t sizes[] = { 0, 1, 100, 400, 600, 5000 };
	static char data[64];
	RT_QUEUE other;
	char local[64];
	void *foreign, *all[6];
	long offset;
	unsigned i, k;

	(void)arg;
	MAKE_QUEUE(&queue, 30000, Q_UNLIMITED, Q_FIFO);
	MAKE_QUEUE(&other, 30000, Q_UNLIMITED, Q_FIFO);
	foreign = make_message(&other, "foreign");
	for (i = 0; i < 6; i++) {
		all[i] = rt_queue_alloc(&queue, sizes[i]);
		CHECK(all[i] != NULL);
		memset(all[i], 0x5a, sizes[i]);
	}
	refused_everywhere(NULL);
	refused_everywhere(local);
	refused_everywhere(data);
	refused_everywhere(&queue);
	refused_everywhere((void *)(uintptr_t)try_foreign_addresses);
	refused_everywhere(foreign);
	for (i = 0; i < 64; i++) {
		refused_everywhere((void *)((uintptr_t)1 << i));
		refused_everywhere((void *)~((uintptr_t)1 << i));
		refused_everywhere((void *)(uintptr_t)(i + 1));
		refused_everywhere((void *)-(uintptr_t)(i + 1));
	}
	/* All around each block, and all through it: nothing but its very start will do. */
	for (i = 0; i < 6; i++)
		for (offset = -2048; offset <= 6000; offset += offset >= -80 && offset < 80 ? 1 : 8) {
			char *near = (char *)all[i] + offset;
			int is_one = 0;

			for (k = 0; k < 6; k++)
				is_one |= near == (char *)all[k];
			if (!is_one)
				refused_everywhere(near);
		}
	for (i = 0; i < 6; i++)
		CHECK_EQ(rt_queue_free(&queue, all[i]), 0);
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_QUEUE(&other, 0, 0, cost_of(7));
	CHECK_EQ(rt_queue_free(&other, foreign), 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
	CHECK_EQ(rt_queue_delete(&other), 0);
}

static void addresses_that_are_no_message(void)
{
	try_foreign_addresses(NULL);
	kit_plain(try_foreign_addresses, NULL);
	as_task(10, try_foreign_addresses, NULL);
}

/* queue.md 11.13 */
static void second_free_is_refused(void)
{
	static const size_t sizes[] = { 0, 1, 100, 400, 600, 5000 };
	void *buf, *anchor;
	unsigned i;

	MAKE_QUEUE(&queue, 30000, Q_UNLIMITED, Q_FIFO);
	for (i = 0; i < 6; i++) {
		buf = rt_queue_alloc(&queue, sizes[i]);
		anchor = rt_queue_alloc(&queue, sizes[i]); /* keeps the page in use */
		CHECK(buf && anchor);
		CHECK_EQ(rt_queue_free(&queue, buf), 0);
		refused_everywhere(buf);
		CHECK_EQ(queue_used(&queue), cost_of(sizes[i]));
		CHECK_EQ(rt_queue_free(&queue, anchor), 0);
		refused_everywhere(buf);
		refused_everywhere(anchor);
		CHECK_QUEUE(&queue, 0, 0, 0);
	}
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* A page that was cut for one size and then serves another has no starts of the former. */
static void starts_of_former_blocks_are_refused(void)
{
	int count, i;
	void *whole;

	MAKE_QUEUE(&queue, 2000, Q_UNLIMITED, Q_FIFO);
	count = exhaust(16);
	release(count, 16);
	whole = rt_queue_alloc(&queue, 1500);
	CHECK(whole != NULL);
	memset(whole, 0x01, 1500);
	for (i = 0; i < count; i++)
		if (held[i] != whole)
			refused_everywhere(held[i]);
	CHECK_EQ(rt_queue_free(&queue, whole), 0);
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

KIT_CASES(
	CASE(as_many_messages_as_the_limit_fit), CASE(empty_messages_fill_a_pool_to_its_end),
	CASE(as_many_messages_as_the_limit_are_written),
	CASE(unlimited_pools_hold_as_many_small_messages_as_ever), CASE(pool_serves_any_size_again_and_again),
	CASE(one_message_may_take_the_whole_pool), CASE(costs_follow_the_table), CASE(room_of_a_message_ends_with_its_block),
	CASE(absurd_sizes_do_not_fit), CASE(no_memory_is_lost_to_a_mix_of_sizes), CASE(addresses_that_are_no_message),
	CASE(second_free_is_refused), CASE(starts_of_former_blocks_are_refused))
