/* Who gets the memory that is freed: queue order, requests that are skipped, deletion (heap.md 4, 5, 8.9-8.13). */
#include "kit.h"
#include "heap-kit.h"
#include "tasks.h"

static RT_HEAP heap;
static struct asker askers[6];

static void free_block(void *block)
{
	CHECK_EQ(rt_heap_free(&heap, block), 0);
}

/* ---- Turns -------------------------------------------------------------------------------------------------------- */

/* Equal requests on a full heap; blocks are freed one after the other, the next after the last one's mark. */
static void serve_in_turn(int mode, const int *prios, const char *const *tags, int count, const char *order)
{
	void *blocks[6];
	int i;

	MAKE_HEAP(&heap, 512 * (size_t)count, mode);
	for (i = 0; i < count; i++)
		blocks[i] = MUST_ALLOC(&heap, 512);
	for (i = 0; i < count; i++) {
		start_asker(&askers[i], &heap, 512, prios[i], tags[i]);
		CHECK_HEAP(&heap, i + 1, 512 * (size_t)count);
	}
	for (i = 0; i < count; i++) {
		free_block(blocks[i]);
		/* Granted on the spot: nothing is free in between. */
		CHECK_HEAP(&heap, count - i - 1, 512 * (size_t)count);
		until(mark_count() == i + 1);
	}
	expect_marks(order);
	for (i = 0; i < count; i++) {
		expect_block(&askers[i]);
		free_block(askers[i].block);
	}
	CHECK_HEAP(&heap, 0, 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
	clear_marks();
}

/* heap.md 8.10 */
static void waiters_are_served_in_queue_order(void)
{
	static const int two[] = { 10, 20 }, prios[] = { 10, 20, 15, 20 }, extremes[] = { 0, 99, 1, 0 };
	static const char *const twos[] = { "10", "20" }, *const tags[] = { "10", "20a", "15", "20b" };
	static const char *const ends[] = { "0a", "99", "1", "0b" };

	serve_in_turn(H_PRIO, two, twos, 2, "20 10");
	serve_in_turn(H_FIFO, two, twos, 2, "10 20");
	serve_in_turn(H_PRIO, prios, tags, 4, "20a 20b 15 10");
	serve_in_turn(H_FIFO, prios, tags, 4, "10 20a 15 20b");
	serve_in_turn(H_PRIO, extremes, ends, 4, "99 1 0a 0b");
}

/* heap.md 8.9 */
static void request_that_does_not_fit_is_skipped(void)
{
	void *blocks[4];
	int i;

	MAKE_HEAP(&heap, 2048, H_FIFO);
	for (i = 0; i < 4; i++)
		blocks[i] = MUST_ALLOC(&heap, 512);
	start_asker(&askers[0], &heap, 1024, 10, "A");
	start_asker(&askers[1], &heap, 300, 10, "B");
	free_block(blocks[0]);
	expect_block(&askers[1]);
	CHECK_HEAP(&heap, 1, 2048);
	CHECK(kit_blocked(&askers[0].task));
	for (i = 1; i < 4; i++)
		free_block(blocks[i]);
	expect_block(&askers[0]);
	expect_marks("B A");
	free_block(askers[0].block);
	free_block(askers[1].block);
	CHECK_HEAP(&heap, 0, 0);
}

/* heap.md 5: the skipped one keeps its place before those that came later. */
static void skipped_request_keeps_its_place(void)
{
	void *blocks[4];
	int i;

	MAKE_HEAP(&heap, 2048, H_FIFO);
	for (i = 0; i < 4; i++)
		blocks[i] = MUST_ALLOC(&heap, 512);
	start_asker(&askers[0], &heap, 2048, 10, "all");
	start_asker(&askers[1], &heap, 512, 10, "some");
	free_block(blocks[0]);
	expect_block(&askers[1]);
	start_asker(&askers[2], &heap, 2048, 10, "later");
	free_block(askers[1].block);
	for (i = 1; i < 4; i++)
		free_block(blocks[i]);
	expect_block(&askers[0]);
	CHECK_HEAP(&heap, 1, 2048);
	free_block(askers[0].block);
	expect_block(&askers[2]);
	expect_marks("some all later");
	free_block(askers[2].block);
	CHECK_HEAP(&heap, 0, 0);
}

/* heap.md 8.11, and more. */
static void one_free_serves_all_that_fit(void)
{
	void *block;
	int i;

	MAKE_HEAP(&heap, 2048, H_FIFO);
	block = MUST_ALLOC(&heap, 512);
	MUST_ALLOC(&heap, 1536);
	start_asker(&askers[0], &heap, 256, 10, "A");
	start_asker(&askers[1], &heap, 256, 10, "B");
	free_block(block);
	expect_block(&askers[0]);
	expect_block(&askers[1]);
	CHECK_HEAP(&heap, 0, 2048);
	CHECK_EQ(rt_heap_delete(&heap), 0);

	MAKE_HEAP(&heap, 4096, H_PRIO);
	block = MUST_ALLOC(&heap, 4096);
	for (i = 0; i < 6; i++)
		start_asker(&askers[i], &heap, i % 2 ? 1024 : 512, 10, "C");
	free_block(block);
	/* 512, 1024, 512, 1024, 512, then 512 are left: the last does not fit. */
	CHECK_HEAP(&heap, 1, 3584);
	for (i = 0; i < 5; i++)
		expect_block(&askers[i]);
	CHECK(kit_blocked(&askers[5].task));
	free_block(askers[0].block);
	free_block(askers[1].block);
	expect_block(&askers[5]);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* heap.md 5: it takes what those who wait could not use. */
static void newcomer_may_take_what_waiters_cannot_use(void)
{
	void *block, *rest;

	MAKE_HEAP(&heap, 2048, H_FIFO);
	block = MUST_ALLOC(&heap, 1536);
	start_asker(&askers[0], &heap, 1024, 10, "w");
	rest = MUST_ALLOC(&heap, 512);
	CHECK_HEAP(&heap, 1, 2048);
	free_block(rest);
	CHECK_HEAP(&heap, 1, 1536);
	rest = MUST_ALLOC(&heap, 500);
	free_block(block);
	expect_block(&askers[0]);
	CHECK_HEAP(&heap, 0, 1024 + block_of(500));
	free_block(rest);
}

/* heap.md 4: a request of 0 waits, and no free ends that; nor does it stand in the way of others. */
static void request_for_nothing_waits_on(void)
{
	void *block;

	MAKE_HEAP(&heap, 1024, H_FIFO);
	block = MUST_ALLOC(&heap, 1024);
	start_asker(&askers[0], &heap, 0, 20, "nothing");
	start_asker(&askers[1], &heap, 512, 10, "w");
	free_block(block);
	expect_block(&askers[1]);
	free_block(askers[1].block);
	CHECK_HEAP(&heap, 1, 0);
	CHECK(kit_blocked(&askers[0].task));
	CHECK_EQ(rt_task_unblock(&askers[0].task), 0);
	expect_failure(&askers[0], -EINTR, NULL);
	expect_marks("w nothing");
	CHECK_HEAP(&heap, 0, 0);
}

static void higher_waiter_runs_before_free_returns(void)
{
	void *block;

	MAKE_HEAP(&heap, 512, H_FIFO);
	block = MUST_ALLOC(&heap, 512);
	start_asker(&askers[0], &heap, 512, 10, "woken");
	mark("free");
	free_block(block);
	mark("freed");
	expect_block(&askers[0]);
	expect_marks("free woken freed");
}

static void *stolen;

static void free_then_poll(void *block)
{
	start_asker(&askers[0], &heap, 512, 10, "woken");
	free_block(block);
	stolen = poll_block(&heap, 16);
	mark("polled");
}

/* The block is the waiter's from the moment it is freed, though it has not run yet. */
static void freed_memory_goes_to_the_waiter_not_to_a_newcomer(void)
{
	void *block;

	MAKE_HEAP(&heap, 512, H_FIFO);
	block = MUST_ALLOC(&heap, 512);
	as_task(KIT_BOSS_PRIO, free_then_poll, block);
	expect_block(&askers[0]);
	CHECK(stolen == NULL);
	if (kit_fifo())
		expect_marks("polled woken");
	CHECK_HEAP(&heap, 0, 512);
}

static void free_and_outlast_the_date(void *block)
{
	RTIME date;

	start_timed_asker(&askers[0], &heap, 512, 10, "woken", 100 * MS);
	date = rt_timer_read() + 100 * MS;
	free_block(block);
	while (rt_timer_read() < date + 10 * MS)
		;
	mark("late");
}

static void grant_stands_though_the_date_passes_before_the_waiter_runs(void)
{
	MAKE_HEAP(&heap, 512, H_FIFO);
	as_task(KIT_BOSS_PRIO, free_and_outlast_the_date, MUST_ALLOC(&heap, 512));
	expect_block(&askers[0]);
	expect_marks("late woken");
	CHECK_HEAP(&heap, 0, 512);
}

/* H3: a free that is refused serves nobody. */
static void refused_free_serves_nobody(void)
{
	char *block;
	int offset;

	MAKE_HEAP(&heap, 1024, H_FIFO);
	block = (char *)MUST_ALLOC(&heap, 1024);
	start_asker(&askers[0], &heap, 512, 10, "w");
	for (offset = 8; offset <= 1024; offset += 8)
		CHECK_EQ(rt_heap_free(&heap, block + offset), -EINVAL);
	CHECK_EQ(rt_heap_free(&heap, NULL), -EINVAL);
	CHECK_EQ(rt_heap_free(&heap, &heap), -EINVAL);
	CHECK_HEAP(&heap, 1, 1024);
	CHECK(kit_blocked(&askers[0].task));
	free_block(block);
	expect_block(&askers[0]);
	CHECK_HEAP(&heap, 0, 512);
}

/* ---- Deletion ----------------------------------------------------------------------------------------------------- */

static void delete_under_three(void *arg)
{
	static const int prios[] = { 60, 80, 70 };
	static const char *const tags[] = { "60", "80", "70" };
	void *block;
	int i;

	(void)arg;
	MUST_ALLOC(&heap, 1024);
	for (i = 0; i < 3; i++)
		start_asker(&askers[i], &heap, i == 2 ? 0 : 512, prios[i], tags[i]);
	CHECK_EQ(rt_heap_delete(&heap), 0);
	mark("deleted");
	CHECK_EQ(rt_heap_alloc(&heap, 1, TM_INFINITE, &block), -EINVAL);
	CHECK_EQ(rt_heap_delete(&heap), -EINVAL);
}

/* heap.md 8.13 */
static void delete_tells_every_waiter(void)
{
	static const int modes[] = { H_FIFO, H_PRIO };
	int i, k;

	for (i = 0; i < 2; i++) {
		MAKE_HEAP(&heap, 1024, modes[i]);
		kit_boss(delete_under_three);
		for (k = 0; k < 3; k++)
			expect_failure(&askers[k], -EIDRM, NOWHERE);
		if (kit_fifo())
			expect_marks(i == 0 ? "60 80 70 deleted" : "80 70 60 deleted");
		clear_marks();
	}
}

KIT_CASES(
	CASE(waiters_are_served_in_queue_order), CASE(request_that_does_not_fit_is_skipped), CASE(skipped_request_keeps_its_place),
	CASE(one_free_serves_all_that_fit), CASE(newcomer_may_take_what_waiters_cannot_use), CASE(request_for_nothing_waits_on),
	CASE_FIFO(higher_waiter_runs_before_free_returns), CASE(freed_memory_goes_to_the_waiter_not_to_a_newcomer),
	CASE_FIFO(grant_stands_though_the_date_passes_before_the_waiter_runs), CASE(refused_free_serves_nobody),
	CASE(delete_tells_every_waiter))
