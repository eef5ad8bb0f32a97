/* rt_queue_create, rt_queue_delete, rt_queue_inquire: arguments, names, what a failure leaves behind (queue.md 5). */
#include "kit.h"
#include "queue-kit.h"
#include "tasks.h"
#include <limits.h>

/* A descriptor with a pattern no library writes. */
static const RT_QUEUE pattern = { 0x5a5a5a5a5a5a5a5aUL };

#define CHECK_UNTOUCHED(queue) CHECK_SAME_BYTES((queue), &pattern, sizeof(pattern))

/* No queue has this name. */
static void check_no_queue(const char *name)
{
	RT_QUEUE queue = pattern;

	CHECK_EQ(rt_queue_bind(&queue, name, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_UNTOUCHED(&queue);
}

static void create_shows_initial_state(void)
{
	static const int modes[] = { Q_FIFO, Q_PRIO };
	RT_QUEUE queue;
	RT_QUEUE_INFO info;
	unsigned i;

	for (i = 0; i < 4; i++) {
		size_t limit = i < 2 ? 7 : Q_UNLIMITED;

		memset(&info, 0xff, sizeof(info));
		CHECK_EQ(rt_queue_create(&queue, "initial", 1000, limit, modes[i % 2]), 0);
		CHECK(queue.handle != 0);
		CHECK_EQ(rt_queue_inquire(&queue, &info), 0);
		CHECK_EQ(info.nwaiters, 0);
		CHECK_EQ(info.nmessages, 0);
		CHECK_EQ(info.mode, modes[i % 2]);
		CHECK_EQ(info.qlimit, limit);
		CHECK(info.poolsize >= 1000);
		CHECK_EQ(info.usedmem, 0);
		CHECK_STR(info.name, "initial");
		EXPECT_EMPTY(&queue);
		CHECK_EQ(rt_queue_delete(&queue), 0);
	}
}

/* queue.md 11.1 */
static void create_refuses_unknown_mode_bits(void)
{
	static const int modes[] = { 2, 3, 4, 5, 8, 0x10, 0x100, 0x200, 0x10000, 0x40000000, -1, -2, INT_MIN, INT_MAX };
	RT_QUEUE queue = pattern;
	unsigned i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		CHECK_EQ(rt_queue_create(&queue, "bits", 1000, 0, modes[i]), -EINVAL);
		CHECK_UNTOUCHED(&queue);
	}
	check_no_queue("bits");
}

/* queue.md 11.1 */
static void create_refuses_an_empty_pool(void)
{
	RT_QUEUE queue = pattern;

	CHECK_EQ(rt_queue_create(&queue, "nothing", 0, 0, Q_FIFO), -EINVAL);
	CHECK_EQ(rt_queue_create(&queue, "nothing", 0, 10, Q_PRIO), -EINVAL);
	CHECK_UNTOUCHED(&queue);
	check_no_queue("nothing");
}

static void create_refuses_limits_above_maximum(void)
{
	static const size_t limits[] = {
		(size_t)INT_MAX + 1, (size_t)INT_MAX + 2, UINT_MAX, (size_t)UINT_MAX + 1, (size_t)UINT_MAX + 2, (size_t)LONG_MAX,
		(size_t)LONG_MAX + 1, ULONG_MAX,
	};
	RT_QUEUE queue = pattern;
	unsigned i;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		CHECK_EQ(rt_queue_create(&queue, "limits", 1000, limits[i], Q_FIFO), -EINVAL);
		CHECK_UNTOUCHED(&queue);
	}
	check_no_queue("limits");
}

/* Q7: no sum of sizes wraps. */
static void create_refuses_pools_that_no_machine_has(void)
{
	static const size_t pools[] = {
		(size_t)1 << 62, (size_t)LONG_MAX, (size_t)LONG_MAX + 1, ULONG_MAX / 105 * 100, ULONG_MAX / 105 * 100 + 100,
		ULONG_MAX - 511, ULONG_MAX - 32, ULONG_MAX - 1, ULONG_MAX,
	};
	static const size_t limits[] = { 0, 1, 2, 3, 1000, 65536, INT_MAX };
	RT_QUEUE queue = pattern;
	unsigned i, k;

	for (i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
		for (k = 0; k < sizeof(limits) / sizeof(limits[0]); k++) {
			CHECK_EQ(rt_queue_create(&queue, "vast", pools[i], limits[k], Q_FIFO), -ENOMEM);
			CHECK_UNTOUCHED(&queue);
		}
	check_no_queue("vast");
	CHECK_EQ(rt_queue_create(&queue, "vast", 1000, 0, Q_FIFO), 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

static void create_without_descriptor_is_refused(void)
{
	CHECK_EQ(rt_queue_create(NULL, "nowhere", 1000, 0, Q_FIFO), -EINVAL);
	CHECK_EQ(rt_queue_create(NULL, NULL, 1000, 0, Q_FIFO), -EINVAL);
	check_no_queue("nowhere");
}

/* queue.md 11.2 */
static void live_name_is_refused_and_both_stay_as_they_were(void)
{
	RT_QUEUE first, second = pattern, again;

	CHECK_EQ(rt_queue_create(&first, "taken", 1000, 3, Q_FIFO), 0);
	CHECK_EQ(write_text(&first, "kept", Q_NORMAL), 0);
	CHECK_EQ(rt_queue_create(&second, "taken", 2000, 0, Q_PRIO), -EEXIST);
	CHECK_UNTOUCHED(&second);

	/* The same descriptor once more: it still names the old object. */
	again = first;
	CHECK_EQ(rt_queue_create(&first, "taken", 1000, 0, Q_FIFO), -EEXIST);
	CHECK_SAME_BYTES(&first, &again, sizeof(first));
	CHECK_QUEUE(&first, 0, 1, cost_of(4));
	EXPECT_READ(&first, "kept");
	CHECK_EQ(rt_queue_delete(&first), 0);
	CHECK_EQ(rt_queue_create(&second, "taken", 1000, 0, Q_PRIO), 0);
	CHECK_EQ(rt_queue_delete(&second), 0);
}

/* Errors are told in the order of the table: size, mode, limit, memory, name. */
static void other_errors_come_before_taken_name(void)
{
	RT_QUEUE first, second = pattern;

	CHECK_EQ(rt_queue_create(&first, "order", 1000, 0, Q_FIFO), 0);
	CHECK_EQ(rt_queue_create(&second, "order", 0, 0, Q_FIFO), -EINVAL);
	CHECK_EQ(rt_queue_create(&second, "order", 1000, 0, 2), -EINVAL);
	CHECK_EQ(rt_queue_create(&second, "order", 1000, (size_t)INT_MAX + 1, Q_FIFO), -EINVAL);
	CHECK_EQ(rt_queue_create(&second, "order", ULONG_MAX, (size_t)INT_MAX + 1, Q_FIFO), -EINVAL);
	CHECK_EQ(rt_queue_create(&second, "order", ULONG_MAX, 0, 2), -EINVAL);
	CHECK_EQ(rt_queue_create(NULL, "order", 1000, 0, Q_FIFO), -EINVAL);
	CHECK_EQ(rt_queue_create(&second, "order", ULONG_MAX, 0, Q_FIFO), -ENOMEM);
	CHECK_UNTOUCHED(&second);
	CHECK_EQ(rt_queue_delete(&first), 0);
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

enum { POOL = 1 << 20, TURNS = 200 };

/* Runs the step often; that may not take the memory of more than a few pools. */
static void takes_no_memory(void (*step)(void))
{
	long before;
	int i;

	for (i = 0; i < 10; i++)
		step();
	before = address_space();
	for (i = 0; i < TURNS; i++)
		step();
	CHECK(address_space() - before < TURNS / 4 * (long)POOL);
}

static void create_in_vain(void)
{
	RT_QUEUE queue = pattern;

	CHECK_EQ(rt_queue_create(&queue, "taken", POOL, 0, Q_FIFO), -EEXIST);
	CHECK_UNTOUCHED(&queue);
}

static void refused_creations_keep_no_memory(void)
{
	RT_QUEUE queue;

	CHECK_EQ(rt_queue_create(&queue, "taken", 1000, 0, Q_FIFO), 0);
	takes_no_memory(create_in_vain);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

static void create_fill_and_delete(void)
{
	RT_QUEUE queue;

	MAKE_QUEUE(&queue, POOL, 0, Q_FIFO);
	CHECK(rt_queue_alloc(&queue, 100) != NULL);
	CHECK_EQ(write_text(&queue, "queued", Q_NORMAL), 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* Q11 */
static void deleted_queues_keep_no_memory(void)
{
	takes_no_memory(create_fill_and_delete);
}

static const char *queue_name(RT_QUEUE *queue)
{
	static RT_QUEUE_INFO info;

	CHECK_EQ(rt_queue_inquire(queue, &info), 0);
	return info.name;
}

static void unnamed_queues_get_counted_names(void)
{
	RT_QUEUE queues[4], failed = pattern;
	int i;

	CHECK_EQ(rt_queue_create(&failed, NULL, 0, 0, Q_FIFO), -EINVAL); /* generates none */
	CHECK_EQ(rt_queue_create(&queues[0], NULL, 100, 0, Q_FIFO), 0);
	CHECK_EQ(rt_queue_create(&queues[1], "explicit", 100, 0, Q_FIFO), 0);
	CHECK_EQ(rt_queue_create(&queues[2], "", 100, 0, Q_FIFO), 0);
	CHECK_STR(queue_name(&queues[0]), "queue@1");
	CHECK_STR(queue_name(&queues[1]), "explicit");
	CHECK_STR(queue_name(&queues[2]), "queue@2");
	/* Numbers are not used again, and chosen names stepped over. */
	CHECK_EQ(rt_queue_delete(&queues[2]), 0);
	CHECK_EQ(rt_queue_create(&queues[2], "queue@3", 100, 0, Q_FIFO), 0);
	CHECK_EQ(rt_queue_create(&queues[3], NULL, 100, 0, Q_FIFO), 0);
	CHECK_STR(queue_name(&queues[3]), "queue@4");
	for (i = 0; i < 4; i++)
		CHECK_EQ(rt_queue_delete(&queues[i]), 0);
}

/* common.md 14.2 */
static void long_names_are_cut(void)
{
	static const char longer[] = "a-name-of-forty-characters-is-too-long-1";
	static const char cut[] = "a-name-of-forty-characters-is-t";
	RT_QUEUE queue, other = pattern;

	CHECK_EQ(sizeof(longer), 41);
	CHECK_EQ(sizeof(cut), 32);
	CHECK_EQ(rt_queue_create(&queue, longer, 100, 0, Q_FIFO), 0);
	CHECK_STR(queue_name(&queue), cut);
	CHECK_EQ(rt_queue_create(&other, cut, 100, 0, Q_FIFO), -EEXIST);
	CHECK_UNTOUCHED(&other);
	CHECK_EQ(rt_queue_bind(&other, cut, TM_NONBLOCK), 0);
	CHECK_EQ(other.handle, queue.handle);
	other = pattern;
	CHECK_EQ(rt_queue_bind(&other, longer, TM_NONBLOCK), 0);
	CHECK_EQ(other.handle, queue.handle);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* Each type has its own names. */
static void names_of_other_types_do_not_matter(void)
{
	RT_QUEUE queue;
	RT_SEM sem;

	CHECK_EQ(rt_sem_create(&sem, "same", 0, S_FIFO), 0);
	check_no_queue("same");
	CHECK_EQ(rt_queue_create(&queue, "same", 100, 0, Q_FIFO), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

static void delete_kills_whatever_is_queued_or_held(void)
{
	RT_QUEUE queue, copy;
	void *held;

	CHECK_EQ(rt_queue_create(&queue, "full", 1000, 0, Q_FIFO), 0);
	copy = queue;
	held = make_message(&queue, "held");
	CHECK_EQ(write_text(&queue, "queued", Q_NORMAL), 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
	CHECK_EQ(rt_queue_delete(&queue), -EINVAL);
	CHECK_EQ(rt_queue_free(&copy, held), -EINVAL);
	CHECK_EQ(rt_queue_send(&copy, held, 1, Q_NORMAL), -EINVAL);
	check_no_queue("full");
	/* The addresses of the dead pool are none of a new one, wherever that is. */
	CHECK_EQ(rt_queue_create(&queue, "full", 1000, 0, Q_FIFO), 0);
	CHECK_EQ(rt_queue_free(&queue, held), -EINVAL);
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

static void inquire_without_room_is_refused(void)
{
	RT_QUEUE_INFO info, before;
	RT_QUEUE queue;

	MAKE_QUEUE(&queue, 100, 0, Q_FIFO);
	CHECK_EQ(rt_queue_inquire(&queue, NULL), -EINVAL);
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
	CHECK_EQ(rt_queue_inquire(&queue, NULL), -EINVAL);
	memset(&info, 0x5a, sizeof(info));
	before = info;
	CHECK_EQ(rt_queue_inquire(&queue, &info), -EINVAL);
	CHECK_SAME_BYTES(&info, &before, sizeof(info));
}

/* Many alive at once, each with a state of its own. */
static void many_queues_do_not_disturb_each_other(void)
{
	enum { MANY = 500 };
	static RT_QUEUE queues[MANY];
	char name[32];
	RT_QUEUE bound;
	int i;

	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many-%d", i);
		CHECK_EQ(rt_queue_create(&queues[i], name, 512, i % 3 + 1, i % 2 ? Q_PRIO : Q_FIFO), 0);
		CHECK_EQ(write_text(&queues[i], name, Q_NORMAL), 0);
	}
	for (i = 1; i < MANY; i += 2)
		CHECK_EQ(rt_queue_delete(&queues[i]), 0);
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many-%d", i);
		CHECK_EQ(rt_queue_bind(&bound, name, TM_NONBLOCK), i % 2 ? -EWOULDBLOCK : 0);
		if (i % 2)
			continue;
		CHECK_QUEUE(&bound, 0, 1, cost_of(strlen(name)));
		EXPECT_READ(&bound, name);
		CHECK_EQ(rt_queue_delete(&queues[i]), 0);
	}
}

static void create_and_delete(void *arg)
{
	RT_QUEUE queue;

	(void)arg;
	CHECK_EQ(rt_queue_create(&queue, "anybody's", 1000, 0, Q_PRIO), 0);
	CHECK_EQ(write_text(&queue, "text", Q_NORMAL), 0);
	EXPECT_READ(&queue, "text");
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

/* Q10 */
static void any_thread_may_create(void)
{
	create_and_delete(NULL);
	kit_plain(create_and_delete, NULL);
	as_task(10, create_and_delete, NULL);
}

KIT_CASES(
	CASE(create_shows_initial_state), CASE(create_refuses_unknown_mode_bits), CASE(create_refuses_an_empty_pool),
	CASE(create_refuses_limits_above_maximum), CASE(create_refuses_pools_that_no_machine_has),
	CASE(create_without_descriptor_is_refused), CASE(live_name_is_refused_and_both_stay_as_they_were),
	CASE(other_errors_come_before_taken_name), CASE(refused_creations_keep_no_memory),
	CASE(deleted_queues_keep_no_memory), CASE(unnamed_queues_get_counted_names), CASE(long_names_are_cut),
	CASE(names_of_other_types_do_not_matter), CASE(delete_kills_whatever_is_queued_or_held),
	CASE(inquire_without_room_is_refused), CASE(many_queues_do_not_disturb_each_other), CASE(any_thread_may_create))
