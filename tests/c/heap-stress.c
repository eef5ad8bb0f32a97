/* Heaps under contention, on all CPUs: no block is given twice, all memory comes back, whatever meets what. */
#define KIT_STORM
#define KIT_SECONDS 60
#include "kit.h"
#include "heap-kit.h"
#include "tasks.h"
#include "child.h"

/* Threads of priority 0 throughout: they share the CPUs fairly whatever their number. */

static RT_HEAP heap;
static int stop;

static unsigned next_random(unsigned *state)
{
	*state = *state * 1103515245U + 12345U;
	return *state >> 16;
}

static void add(long long *total, long long value)
{
	__atomic_fetch_add(total, value, __ATOMIC_RELAXED);
}

/* ---- Conservation ------------------------------------------------------------------------------------------------- */

enum { USERS = 6, KEPT = 4 };

static long long granted, returned, timed_out;

/* Takes blocks in every form, keeps a few, writes all over them, and finds them as it left them. */
static void take_and_give(void *number_)
{
	unsigned number = (unsigned)(uintptr_t)number_, state = number;
	unsigned char *kept[KEPT] = { 0 };
	size_t sizes[KEPT] = { 0 }, k;
	int i;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		void *block = NOWHERE;
		unsigned way = next_random(&state) % 4;
		RTIME delay = next_random(&state) % 30000 + 1;
		int result;

		i = (int)(next_random(&state) % KEPT);
		if (kept[i]) {
			for (k = 0; k < sizes[i]; k++)
				CHECK_EQ(kept[i][k], number);
			CHECK_EQ(rt_heap_free(&heap, kept[i]), 0);
			kept[i] = NULL;
			add(&returned, 1);
		}
		sizes[i] = next_random(&state) % (next_random(&state) % 4 ? 100 : 2000) + 1;
		if (way == 0)
			result = rt_heap_alloc(&heap, sizes[i], TM_NONBLOCK, &block);
		else if (way == 1)
			result = rt_heap_alloc_until(&heap, sizes[i], rt_timer_read() + delay / 10, &block);
		else
			result = rt_heap_alloc(&heap, sizes[i], delay, &block);
		if (result == 0) {
			CHECK(block && block != NOWHERE && (uintptr_t)block % 16 == 0);
			memset(block, (int)number, sizes[i]);
			kept[i] = (unsigned char *)block;
			add(&granted, 1);
		} else {
			CHECK_EQ(result, way == 0 ? -EWOULDBLOCK : -ETIMEDOUT);
			CHECK(block == NULL);
			add(&timed_out, way != 0);
		}
	}
	for (i = 0; i < KEPT; i++)
		if (kept[i]) {
			CHECK_EQ(rt_heap_free(&heap, kept[i]), 0);
			add(&returned, 1);
		}
}

static void conserve(int mode, size_t size)
{
	RT_TASK tasks[USERS];
	int i;

	kit_unpin();
	MAKE_HEAP(&heap, size, mode);
	for (i = 0; i < USERS; i++)
		kit_spawn(&tasks[i], 0, take_and_give, (void *)(uintptr_t)(i + 1));
	kit_nap(1500 * MS);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < USERS; i++)
		kit_join(&tasks[i]);
	CHECK(granted > 0);
	CHECK_EQ(granted, returned);
	CHECK_HEAP(&heap, 0, 0);
	CHECK_EQ(rt_heap_free(&heap, MUST_ALLOC(&heap, size)), 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

static void blocks_are_conserved_fifo(void)
{
	conserve(H_FIFO, 4096);
	CHECK(timed_out > 0);
}

static void blocks_are_conserved_prio(void)
{
	conserve(H_PRIO, 8192);
}

static void blocks_are_conserved_with_room_for_all(void)
{
	conserve(H_FIFO, 1 << 20);
}

/* ---- Wake-ups ----------------------------------------------------------------------------------------------------- */

enum { EACH = 10000 };

static void take_exactly(void *size)
{
	void *block;
	int i;

	for (i = 0; i < EACH; i++) {
		CHECK_EQ(rt_heap_alloc(&heap, (size_t)(uintptr_t)size, TM_INFINITE, &block), 0);
		CHECK_EQ(rt_heap_free(&heap, block), 0);
	}
}

/* Unlimited waits for a heap that holds two blocks of four takers: one lost wake-up and this hangs. */
static void no_wake_up_is_lost(void)
{
	RT_TASK tasks[4];
	int i;

	kit_unpin();
	MAKE_HEAP(&heap, 1024, H_FIFO);
	for (i = 0; i < 4; i++)
		kit_spawn(&tasks[i], 0, take_exactly, (void *)(uintptr_t)(i == 0 ? 1024 : 512));
	for (i = 3; i >= 0; i--)
		kit_join(&tasks[i]);
	CHECK_HEAP(&heap, 0, 0);
}

/* ---- Frees that are none of theirs -------------------------------------------------------------------------------- */

enum { FREERS = 4, BLOCKS = 64, ROUNDS = 300 };

static void *blocks[BLOCKS];
static int round_open, round_done;
static long long freed;

static void free_all(void *arg)
{
	char local[64];
	int i, round;

	(void)arg;
	for (round = 1; round <= ROUNDS; round++) {
		while (__atomic_load_n(&round_open, __ATOMIC_ACQUIRE) < round)
			sched_yield();
		for (i = 0; i < BLOCKS; i++) {
			int result = rt_heap_free(&heap, blocks[i]);

			CHECK(result == 0 || result == -EINVAL);
			if (result == 0)
				add(&freed, 1);
			CHECK_EQ(rt_heap_free(&heap, local), -EINVAL);
			CHECK_EQ(rt_heap_free(&heap, (char *)blocks[i] + 8), -EINVAL);
			CHECK_EQ(rt_heap_free(&heap, NULL), -EINVAL);
		}
		__atomic_fetch_add(&round_done, 1, __ATOMIC_RELEASE);
	}
}

/* Who all free the same blocks: exactly one is told that it did. */
static void one_of_many_frees_wins(void)
{
	RT_TASK tasks[FREERS];
	int i, round;

	kit_unpin();
	MAKE_HEAP(&heap, 100000, H_FIFO);
	for (i = 0; i < FREERS; i++)
		kit_spawn(&tasks[i], 0, free_all, NULL);
	for (round = 1; round <= ROUNDS; round++) {
		for (i = 0; i < BLOCKS; i++)
			blocks[i] = MUST_ALLOC(&heap, (size_t)i * 20 + 1);
		__atomic_store_n(&round_open, round, __ATOMIC_RELEASE);
		while (__atomic_load_n(&round_done, __ATOMIC_ACQUIRE) < round * FREERS)
			sched_yield();
		CHECK_EQ(freed, (long long)round * BLOCKS);
		CHECK_HEAP(&heap, 0, 0);
	}
	for (i = 0; i < FREERS; i++)
		kit_join(&tasks[i]);
}

/* ---- Waiters that are unblocked, suspended, deleted ---------------------------------------------------------------- */

/* Between the grant and the free it cannot be deleted: what it has been granted before is given back by the library. */
static void take_while_hunted(void *number)
{
	unsigned state = (unsigned)(uintptr_t)number;
	void *block;

	for (;;) {
		int result;

		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
		result = rt_heap_alloc(&heap, next_random(&state) % 1000 + 1, TM_NONBLOCK, &block);
		CHECK(result == 0 || result == -EWOULDBLOCK || result == -EINVAL);
		if (result == -EINVAL)
			return;
		if (result == 0)
			CHECK_EQ(rt_heap_free(&heap, block), 0);
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
		/* Never there: what ends it is unblock, a date, deletion. */
		result = rt_heap_alloc(&heap, 0, next_random(&state) % 2 ? TM_INFINITE : 20000, &block);
		if (result == -EIDRM || result == -EINVAL)
			return;
		CHECK(result == -EINTR || result == -ETIMEDOUT);
	}
}

/* Bystanders, who wait and are never hunted, lose nothing. */
static void use_all_of_it(void *arg)
{
	void *block;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		CHECK_EQ(rt_heap_alloc(&heap, 2048, TM_INFINITE, &block), 0);
		CHECK_EQ(rt_heap_free(&heap, block), 0);
	}
}

static void no_memory_is_lost_with_its_waiter(void)
{
	long long end = kit_now() + 2000 * MS;
	RT_TASK hunted[3], bystanders[2];
	unsigned state = 4711;
	int i;

	kit_unpin();
	MAKE_HEAP(&heap, 2048, H_PRIO);
	for (i = 0; i < 3; i++)
		kit_spawn(&hunted[i], 0, take_while_hunted, (void *)(uintptr_t)i);
	for (i = 0; i < 2; i++)
		kit_spawn(&bystanders[i], 0, use_all_of_it, NULL);
	while (kit_now() < end) {
		i = (int)(next_random(&state) % 3);
		switch (next_random(&state) % 4) {
		case 0:
			CHECK_EQ(rt_task_delete(&hunted[i]), 0);
			kit_join(&hunted[i]);
			kit_spawn(&hunted[i], 0, take_while_hunted, (void *)(uintptr_t)i);
			break;
		case 1:
			CHECK_EQ(rt_task_suspend(&hunted[i]), 0);
			kit_nap(20000);
			CHECK_EQ(rt_task_resume(&hunted[i]), 0);
			break;
		case 2:
			CHECK_EQ(rt_task_unblock(&hunted[i]), 0);
			break;
		default:
			kit_nap(10000);
		}
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 2; i++)
		kit_join(&bystanders[i]);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(rt_task_delete(&hunted[i]), 0);
		kit_join(&hunted[i]);
	}
	CHECK_HEAP(&heap, 0, 0);
	CHECK_EQ(rt_heap_free(&heap, MUST_ALLOC(&heap, 2048)), 0);
}

/* ---- Deletion ----------------------------------------------------------------------------------------------------- */

static uintptr_t current;

/* Uses whatever heap was last announced, dead or not. Blocks are not written to: the memory may be gone by now. */
static void hammer(void *number)
{
	unsigned state = (unsigned)(uintptr_t)number;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		RTIME delay = next_random(&state) % 2 ? TM_NONBLOCK : 20000;
		RT_HEAP_INFO info;
		RT_HEAP mine;
		void *block;
		int result;

		mine.handle = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
		if (next_random(&state) % 4) {
			result = rt_heap_alloc(&mine, next_random(&state) % 1024, delay, &block);
			CHECK(result == 0 || result == -EINVAL || result == (delay == 20000 ? -ETIMEDOUT : -EWOULDBLOCK) ||
			      (delay == 20000 && result == -EIDRM));
			if (result == 0) {
				result = rt_heap_free(&mine, block);
				CHECK(result == 0 || result == -EINVAL);
			}
		} else {
			result = rt_heap_inquire(&mine, &info);
			CHECK(result == 0 || result == -EINVAL);
			if (result == 0) {
				CHECK_STR(info.name, "target");
				CHECK(info.nwaiters >= 0 && info.nwaiters <= 3);
				CHECK(info.usedmem <= info.usablemem);
			}
		}
	}
}

static void services_stand_a_deletion_at_any_time(void)
{
	long long end = kit_now() + 2000 * MS;
	RT_TASK hammers[3];
	RT_HEAP target;
	int i;

	kit_unpin();
	for (i = 0; i < 3; i++)
		kit_spawn(&hammers[i], 0, hammer, (void *)(uintptr_t)i);
	for (i = 0; kit_now() < end; i++) {
		CHECK_EQ(rt_heap_create(&target, "target", 1024, i % 2 ? H_PRIO : H_FIFO), 0);
		__atomic_store_n(&current, target.handle, __ATOMIC_RELEASE);
		kit_nap(i % 8 * 10000);
		CHECK_EQ(rt_heap_delete(&target), 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 3; i++)
		kit_join(&hammers[i]);
}

KIT_CASES(
	CASE(blocks_are_conserved_fifo), CASE(blocks_are_conserved_prio), CASE(blocks_are_conserved_with_room_for_all),
	CASE(no_wake_up_is_lost), CASE(one_of_many_frees_wins), CASE(no_memory_is_lost_with_its_waiter),
	CASE(services_stand_a_deletion_at_any_time))
