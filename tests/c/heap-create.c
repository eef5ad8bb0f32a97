/* rt_heap_create, rt_heap_delete, rt_heap_inquire: arguments, names, what a failure leaves behind (heap.md 4). */
#include "kit.h"
#include "heap-kit.h"
#include "tasks.h"
#include <limits.h>

/* A descriptor with a pattern no library writes. */
static const RT_HEAP pattern = { 0x5a5a5a5a5a5a5a5aUL };

#define CHECK_UNTOUCHED(heap) CHECK_SAME_BYTES((heap), &pattern, sizeof(pattern))

/* No heap has this name. */
static void check_no_heap(const char *name)
{
	RT_HEAP heap = pattern;

	CHECK_EQ(rt_heap_bind(&heap, name, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_UNTOUCHED(&heap);
}

/* heap.md 8.23, H2 */
static void create_shows_initial_state(void)
{
	static const int modes[] = { H_FIFO, H_PRIO, H_SINGLE, H_PRIO | H_SINGLE };
	static const size_t sizes[] = { 1, 511, 512, 513, 1000, 16384, 100000 };
	RT_HEAP heap;
	RT_HEAP_INFO info;
	unsigned i, k;

	CHECK_EQ(H_PRIO | H_SINGLE, 5);
	for (i = 0; i < 4; i++)
		for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			memset(&info, 0xff, sizeof(info));
			CHECK_EQ(rt_heap_create(&heap, "initial", sizes[k], modes[i]), 0);
			CHECK(heap.handle != 0);
			CHECK_EQ(rt_heap_inquire(&heap, &info), 0);
			CHECK_EQ(info.nwaiters, 0);
			CHECK_EQ(info.mode, modes[i]);
			CHECK_EQ(info.heapsize, sizes[k]);
			CHECK(info.usablemem >= (sizes[k] + 511) / 512 * 512);
			CHECK_EQ(info.usedmem, 0);
			CHECK_STR(info.name, "initial");
			CHECK_EQ(rt_heap_delete(&heap), 0);
		}
}

/* heap.md 8.1 */
static void create_refuses_unknown_mode_bits(void)
{
	static const int modes[] = { 2, 3, 6, 7, 8, 0x10, 0x100, 0x200, 0x400, 0x600, 0x10000, 0x40000000, -1, -8, INT_MIN, INT_MAX };
	RT_HEAP heap = pattern;
	unsigned i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		CHECK_EQ(rt_heap_create(&heap, "bits", 1000, modes[i]), -EINVAL);
		CHECK_UNTOUCHED(&heap);
	}
	check_no_heap("bits");
}

/* heap.md 8.1, H7, H10 */
static void create_refuses_sizes_out_of_range(void)
{
	static const size_t sizes[] = {
		0, 0x80000000UL, 0x80000001UL, UINT_MAX, (size_t)UINT_MAX + 1, (size_t)UINT_MAX + 2, (size_t)LONG_MAX,
		(size_t)LONG_MAX + 1, ULONG_MAX - 511, ULONG_MAX - 1, ULONG_MAX,
	};
	static const int modes[] = { H_FIFO, H_PRIO, H_SINGLE };
	RT_HEAP heap = pattern;
	unsigned i, k;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (k = 0; k < 3; k++) {
			CHECK_EQ(rt_heap_create(&heap, "sizes", sizes[i], modes[k]), -EINVAL);
			CHECK_UNTOUCHED(&heap);
		}
	check_no_heap("sizes");
}

/* Megabytes that the machine can give away without anybody noticing; 0 if unknown. */
static long available(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[128];
	long kib = 0;

	CHECK(file != NULL);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %ld", &kib) == 1)
			break;
	fclose(file);
	return kib / 1024;
}

/* heap.md 4, H9, H10: 2 GiB - 1, not a byte less than asked for. */
static void largest_heap(void)
{
	const size_t size = 0x7fffffff;
	RT_HEAP heap;
	void *block;
	int result;

	if (available() < 3072)
		SKIP("less than 3 GiB of memory available");
	result = rt_heap_create(&heap, NULL, size, H_FIFO);
	if (result == -ENOMEM)
		SKIP("no 2 GiB for this process"); /* locked memory is limited */
	CHECK_EQ(result, 0);
	CHECK(heap_usable(&heap) >= 0x80000000UL);
	block = MUST_ALLOC(&heap, size);
	CHECK_EQ(heap_used(&heap), 0x80000000UL);
	((volatile char *)block)[0] = 1;
	((volatile char *)block)[size - 1] = 2;
	CHECK_EQ(rt_heap_free(&heap, block), 0);
	CHECK_HEAP(&heap, 0, 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

static void create_without_descriptor_is_refused(void)
{
	CHECK_EQ(rt_heap_create(NULL, "nowhere", 1000, H_FIFO), -EINVAL);
	CHECK_EQ(rt_heap_create(NULL, NULL, 1000, H_FIFO), -EINVAL);
	check_no_heap("nowhere");
}

static void live_name_is_refused_and_both_stay_as_they_were(void)
{
	RT_HEAP first, second = pattern, again;
	void *block;

	CHECK_EQ(rt_heap_create(&first, "taken", 1000, H_FIFO), 0);
	block = MUST_ALLOC(&first, 100);
	memset(block, 0x11, 100);
	CHECK_EQ(rt_heap_create(&second, "taken", 2000, H_PRIO), -EEXIST);
	CHECK_UNTOUCHED(&second);

	/* The same descriptor once more: it still names the old object. */
	again = first;
	CHECK_EQ(rt_heap_create(&first, "taken", 1000, H_FIFO), -EEXIST);
	CHECK_SAME_BYTES(&first, &again, sizeof(first));
	CHECK_HEAP(&first, 0, 128);
	CHECK_EQ(((char *)block)[99], 0x11);
	CHECK_EQ(rt_heap_free(&first, block), 0);
	CHECK_EQ(rt_heap_delete(&first), 0);
	CHECK_EQ(rt_heap_create(&second, "taken", 1000, H_PRIO), 0);
	CHECK_EQ(rt_heap_delete(&second), 0);
}

/* Errors are told in the order of the table: size, mode, memory, name. */
static void other_errors_come_before_taken_name(void)
{
	RT_HEAP first, second = pattern;

	CHECK_EQ(rt_heap_create(&first, "order", 1000, H_FIFO), 0);
	CHECK_EQ(rt_heap_create(&second, "order", 0, H_FIFO), -EINVAL);
	CHECK_EQ(rt_heap_create(&second, "order", 0x80000000UL, H_FIFO), -EINVAL);
	CHECK_EQ(rt_heap_create(&second, "order", 1000, 2), -EINVAL);
	CHECK_EQ(rt_heap_create(NULL, "order", 1000, H_FIFO), -EINVAL);
	CHECK_UNTOUCHED(&second);
	CHECK_EQ(rt_heap_delete(&first), 0);
}

/* Address space of this process in bytes. */
static long address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long pages;

	CHECK(file != NULL);
	CHECK_EQ(fscanf(file, "%ld", &pages), 1);
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}

enum { AREA = 1 << 20, TURNS = 200 };

/* Runs the step often; that may not take the memory of more than a few heaps. */
static void takes_no_memory(void (*step)(void))
{
	long before;
	int i;

	for (i = 0; i < 10; i++)
		step();
	before = address_space();
	for (i = 0; i < TURNS; i++)
		step();
	CHECK(address_space() - before < TURNS / 4 * (long)AREA);
}

static void create_in_vain(void)
{
	RT_HEAP heap = pattern;

	CHECK_EQ(rt_heap_create(&heap, "taken", AREA, H_FIFO), -EEXIST);
	CHECK_UNTOUCHED(&heap);
}

static void refused_creations_keep_no_memory(void)
{
	RT_HEAP heap;

	CHECK_EQ(rt_heap_create(&heap, "taken", 1000, H_FIFO), 0);
	takes_no_memory(create_in_vain);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

static void create_use_and_delete(void)
{
	RT_HEAP heap;

	MAKE_HEAP(&heap, AREA, H_FIFO);
	MUST_ALLOC(&heap, 100);
	MUST_ALLOC(&heap, 10000);
	CHECK_EQ(rt_heap_delete(&heap), 0);
	MAKE_HEAP(&heap, AREA, H_SINGLE);
	MUST_ALLOC(&heap, 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* H5 */
static void deleted_heaps_keep_no_memory(void)
{
	takes_no_memory(create_use_and_delete);
}

static const char *heap_name(RT_HEAP *heap)
{
	static RT_HEAP_INFO info;

	CHECK_EQ(rt_heap_inquire(heap, &info), 0);
	return info.name;
}

static void unnamed_heaps_get_counted_names(void)
{
	RT_HEAP heaps[4], failed = pattern;
	int i;

	CHECK_EQ(rt_heap_create(&failed, NULL, 0, H_FIFO), -EINVAL); /* generates none */
	CHECK_EQ(rt_heap_create(&heaps[0], NULL, 100, H_FIFO), 0);
	CHECK_EQ(rt_heap_create(&heaps[1], "explicit", 100, H_FIFO), 0);
	CHECK_EQ(rt_heap_create(&heaps[2], "", 100, H_SINGLE), 0);
	CHECK_STR(heap_name(&heaps[0]), "heap@1");
	CHECK_STR(heap_name(&heaps[1]), "explicit");
	CHECK_STR(heap_name(&heaps[2]), "heap@2");
	/* Numbers are not used again, and chosen names stepped over. */
	CHECK_EQ(rt_heap_delete(&heaps[2]), 0);
	CHECK_EQ(rt_heap_create(&heaps[2], "heap@3", 100, H_FIFO), 0);
	CHECK_EQ(rt_heap_create(&heaps[3], NULL, 100, H_FIFO), 0);
	CHECK_STR(heap_name(&heaps[3]), "heap@4");
	for (i = 0; i < 4; i++)
		CHECK_EQ(rt_heap_delete(&heaps[i]), 0);
}

/* common.md 14.2 */
static void long_names_are_cut(void)
{
	static const char longer[] = "a-name-of-forty-characters-is-too-long-1";
	static const char cut[] = "a-name-of-forty-characters-is-t";
	RT_HEAP heap, other = pattern;

	CHECK_EQ(rt_heap_create(&heap, longer, 100, H_FIFO), 0);
	CHECK_STR(heap_name(&heap), cut);
	CHECK_EQ(rt_heap_create(&other, cut, 100, H_FIFO), -EEXIST);
	CHECK_UNTOUCHED(&other);
	CHECK_EQ(rt_heap_bind(&other, longer, TM_NONBLOCK), 0);
	CHECK_EQ(other.handle, heap.handle);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

static void delete_kills_whatever_is_allocated(void)
{
	RT_HEAP heap, copy;
	void *block;

	CHECK_EQ(rt_heap_create(&heap, "full", 1000, H_FIFO), 0);
	copy = heap;
	block = MUST_ALLOC(&heap, 100);
	CHECK_EQ(rt_heap_delete(&heap), 0);
	CHECK_EQ(rt_heap_delete(&heap), -EINVAL);
	CHECK_EQ(rt_heap_free(&copy, block), -EINVAL);
	check_no_heap("full");
	/* The addresses of the dead heap are none of a new one, wherever that is. */
	CHECK_EQ(rt_heap_create(&heap, "full", 1000, H_FIFO), 0);
	CHECK_EQ(rt_heap_free(&heap, block), -EINVAL);
	CHECK_HEAP(&heap, 0, 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

static void inquire_without_room_is_refused(void)
{
	RT_HEAP_INFO info, before;
	RT_HEAP heap;

	MAKE_HEAP(&heap, 100, H_FIFO);
	CHECK_EQ(rt_heap_inquire(&heap, NULL), -EINVAL);
	CHECK_HEAP(&heap, 0, 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
	CHECK_EQ(rt_heap_inquire(&heap, NULL), -EINVAL);
	memset(&info, 0x5a, sizeof(info));
	before = info;
	CHECK_EQ(rt_heap_inquire(&heap, &info), -EINVAL);
	CHECK_SAME_BYTES(&info, &before, sizeof(info));
}

/* Many alive at once, each with memory of its own. */
static void many_heaps_do_not_disturb_each_other(void)
{
	enum { MANY = 500 };
	static RT_HEAP heaps[MANY];
	static char *blocks[MANY];
	char name[32];
	RT_HEAP bound;
	int i;

	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many-%d", i);
		CHECK_EQ(rt_heap_create(&heaps[i], name, 512, i % 2 ? H_PRIO : H_FIFO), 0);
		blocks[i] = (char *)MUST_ALLOC(&heaps[i], 512);
		memset(blocks[i], i & 0x7f, 512);
	}
	for (i = 1; i < MANY; i += 2)
		CHECK_EQ(rt_heap_delete(&heaps[i]), 0);
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many-%d", i);
		CHECK_EQ(rt_heap_bind(&bound, name, TM_NONBLOCK), i % 2 ? -EWOULDBLOCK : 0);
		if (i % 2)
			continue;
		CHECK_EQ(blocks[i][0] + blocks[i][511], 2 * (i & 0x7f));
		CHECK_EQ(rt_heap_free(&heaps[(i + 2) % MANY], blocks[i]), -EINVAL);
		CHECK_EQ(rt_heap_free(&bound, blocks[i]), 0);
		CHECK_EQ(rt_heap_delete(&bound), 0);
	}
}

static void create_and_delete(void *arg)
{
	RT_HEAP heap;

	(void)arg;
	CHECK_EQ(rt_heap_create(&heap, "anybody's", 1000, H_PRIO), 0);
	CHECK_EQ(rt_heap_free(&heap, MUST_ALLOC(&heap, 1000)), 0);
	CHECK_EQ(rt_heap_delete(&heap), 0);
}

/* H8 */
static void any_thread_may_create(void)
{
	create_and_delete(NULL);
	kit_plain(create_and_delete, NULL);
	as_task(10, create_and_delete, NULL);
}

KIT_CASES(
	CASE(create_shows_initial_state), CASE(create_refuses_unknown_mode_bits), CASE(create_refuses_sizes_out_of_range),
	CASE(largest_heap), CASE(create_without_descriptor_is_refused), CASE(live_name_is_refused_and_both_stay_as_they_were),
	CASE(other_errors_come_before_taken_name), CASE(refused_creations_keep_no_memory), CASE(deleted_heaps_keep_no_memory),
	CASE(unnamed_heaps_get_counted_names), CASE(long_names_are_cut), CASE(delete_kills_whatever_is_allocated),
	CASE(inquire_without_room_is_refused), CASE(many_heaps_do_not_disturb_each_other), CASE(any_thread_may_create))
