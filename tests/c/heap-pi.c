/* A task that uses a heap is not held up by one of middle priority through another that uses it, too. One CPU. */
#define KIT_STORM
#include "kit.h"
#include "heap-kit.h"
#include "inversion-kit.h"

static RT_HEAP heap;

static void small(void)
{
	CHECK_EQ(rt_heap_free(&heap, MUST_ALLOC(&heap, 64)), 0);
}

static void large(void)
{
	CHECK_EQ(rt_heap_free(&heap, MUST_ALLOC(&heap, 20000)), 0);
}

static void ask(void)
{
	CHECK(heap_waiters(&heap) >= 0);
}

static void middle_does_not_hold_up_a_small_block(void)
{
	MAKE_HEAP(&heap, 100000, H_PRIO);
	no_inversion(small, small, 8000);
}

static void middle_does_not_hold_up_a_large_block(void)
{
	MAKE_HEAP(&heap, 100000, H_PRIO);
	no_inversion(large, small, 8000);
}

static void middle_does_not_hold_up_a_look(void)
{
	MAKE_HEAP(&heap, 100000, H_PRIO);
	no_inversion(small, ask, 8000);
}

KIT_CASES(
	CASE_KERNEL(middle_does_not_hold_up_a_small_block), CASE_KERNEL(middle_does_not_hold_up_a_large_block),
	CASE_KERNEL(middle_does_not_hold_up_a_look))
