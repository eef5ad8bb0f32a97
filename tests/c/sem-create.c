/* rt_sem_create, rt_sem_delete, rt_sem_inquire: arguments, names, what a failure leaves behind. */
#include "kit.h"
#include "sem-kit.h"
#include <limits.h>

/* A descriptor with a pattern no library writes. */
static const RT_SEM pattern = { 0x5a5a5a5a5a5a5a5aUL };

#define CHECK_UNTOUCHED(sem) CHECK_SAME_BYTES((sem), &pattern, sizeof(pattern))

static void create_shows_initial_state(void)
{
	static const int modes[] = { S_FIFO, S_PRIO };
	RT_SEM sem;
	RT_SEM_INFO info;
	unsigned i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		memset(&info, 0xff, sizeof(info));
		CHECK_EQ(rt_sem_create(&sem, "initial", 3, modes[i]), 0);
		CHECK(sem.handle != 0);
		CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
		CHECK_EQ(info.count, 3);
		CHECK_EQ(info.nwaiters, 0);
		CHECK_STR(info.name, "initial");
		CHECK_EQ(rt_sem_delete(&sem), 0);
	}
}

static void create_refuses_unknown_mode_bits(void)
{
	static const int modes[] = { 4, 5, 6, 7, 8, 0x10, 0x100, 0x10000, 0x40000000, -1, -2, -4, INT_MIN, INT_MAX };
	RT_SEM sem = pattern;
	unsigned i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		CHECK_EQ(rt_sem_create(&sem, "bits", 0, modes[i]), -EINVAL);
		CHECK_UNTOUCHED(&sem);
		CHECK_EQ(rt_sem_bind(&sem, "bits", TM_NONBLOCK), -EWOULDBLOCK);
		CHECK_UNTOUCHED(&sem);
	}
}

static void create_accepts_every_known_mode(void)
{
	int mode;

	for (mode = 0; mode <= (S_PRIO | S_PULSE); mode++) {
		RT_SEM sem;

		CHECK_EQ(rt_sem_create(&sem, "known", 0, mode), 0);
		CHECK_EQ(rt_sem_delete(&sem), 0);
	}
}

static void pulse_refuses_initial_count(void)
{
	RT_SEM sem = pattern;

	CHECK_EQ(rt_sem_create(&sem, "p", 1, S_PULSE), -EINVAL);
	CHECK_EQ(rt_sem_create(&sem, "p", MAX_COUNT, S_PULSE | S_PRIO), -EINVAL);
	CHECK_UNTOUCHED(&sem);
	CHECK_EQ(rt_sem_create(&sem, "p", 0, S_PULSE | S_PRIO), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void create_refuses_counts_above_maximum(void)
{
	static const unsigned long counts[] = {
		MAX_COUNT + 1, MAX_COUNT + 2, 4294967295UL, 4294967296UL, 4294967297UL, LONG_MAX, (unsigned long)LONG_MIN,
		ULONG_MAX,
	};
	RT_SEM sem = pattern;
	unsigned i;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		CHECK_EQ(rt_sem_create(&sem, "absurd", counts[i], S_FIFO), -EINVAL);
		CHECK_UNTOUCHED(&sem);
	}
	CHECK_EQ(rt_sem_bind(&sem, "absurd", TM_NONBLOCK), -EWOULDBLOCK);
}

static void post_at_maximum_is_refused(void)
{
	RT_SEM sem;

	MAKE_SEM(&sem, MAX_COUNT, S_FIFO);
	CHECK_SEM(&sem, MAX_COUNT, 0);
	CHECK_EQ(rt_sem_v(&sem), -EINVAL);
	CHECK_EQ(rt_sem_v(&sem), -EINVAL);
	CHECK_SEM(&sem, MAX_COUNT, 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
	CHECK_SEM(&sem, MAX_COUNT - 1, 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, MAX_COUNT, 0);
	CHECK_EQ(rt_sem_broadcast(&sem), 0);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void create_without_descriptor_is_refused(void)
{
	RT_SEM sem = pattern;

	CHECK_EQ(rt_sem_create(NULL, "nowhere", 0, S_FIFO), -EINVAL);
	CHECK_EQ(rt_sem_create(NULL, NULL, 0, S_FIFO), -EINVAL);
	CHECK_EQ(rt_sem_bind(&sem, "nowhere", TM_NONBLOCK), -EWOULDBLOCK);
}

static void live_name_is_refused_and_both_stay_as_they_were(void)
{
	RT_SEM first, second = pattern, again;

	CHECK_EQ(rt_sem_create(&first, "taken", 2, S_FIFO), 0);
	CHECK_EQ(rt_sem_create(&second, "taken", 0, S_PRIO), -EEXIST);
	CHECK_UNTOUCHED(&second);

	/* The same descriptor once more: it still names the old object. */
	again = first;
	CHECK_EQ(rt_sem_create(&first, "taken", 0, S_FIFO), -EEXIST);
	CHECK_SAME_BYTES(&first, &again, sizeof(first));
	CHECK_SEM(&first, 2, 0);
	CHECK_EQ(rt_sem_p(&first, TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_delete(&first), 0);
	CHECK_EQ(rt_sem_create(&second, "taken", 0, S_PRIO), 0);
	CHECK_EQ(rt_sem_delete(&second), 0);
}

/* Errors are told in the order of the table: mode, count, name. */
static void bad_mode_and_count_come_before_taken_name(void)
{
	RT_SEM first, second = pattern;

	CHECK_EQ(rt_sem_create(&first, "order", 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_create(&second, "order", 0, 4), -EINVAL);
	CHECK_EQ(rt_sem_create(&second, "order", 1, S_PULSE), -EINVAL);
	CHECK_EQ(rt_sem_create(&second, "order", MAX_COUNT + 1, S_FIFO), -EINVAL);
	CHECK_EQ(rt_sem_create(NULL, "order", 0, S_FIFO), -EINVAL);
	CHECK_UNTOUCHED(&second);
	CHECK_EQ(rt_sem_delete(&first), 0);
}

static void unnamed_semaphores_get_counted_names(void)
{
	RT_SEM sems[4], failed = pattern;
	RT_SEM_INFO info;

	CHECK_EQ(rt_sem_create(&failed, NULL, 0, 4), -EINVAL); /* generates none */
	CHECK_EQ(rt_sem_create(&sems[0], NULL, 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_create(&sems[1], "explicit", 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_create(&sems[2], "", 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_inquire(&sems[0], &info), 0);
	CHECK_STR(info.name, "sem@1");
	CHECK_EQ(rt_sem_inquire(&sems[1], &info), 0);
	CHECK_STR(info.name, "explicit");
	CHECK_EQ(rt_sem_inquire(&sems[2], &info), 0);
	CHECK_STR(info.name, "sem@2");

	/* Numbers are not used again. */
	CHECK_EQ(rt_sem_delete(&sems[2]), 0);
	CHECK_EQ(rt_sem_create(&sems[3], NULL, 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_inquire(&sems[3], &info), 0);
	CHECK_STR(info.name, "sem@3");
	CHECK_EQ(rt_sem_delete(&sems[0]), 0);
	CHECK_EQ(rt_sem_delete(&sems[1]), 0);
	CHECK_EQ(rt_sem_delete(&sems[3]), 0);
}

static void generated_name_steps_over_a_chosen_one(void)
{
	RT_SEM chosen, unnamed;
	RT_SEM_INFO info;

	CHECK_EQ(rt_sem_create(&chosen, "sem@1", 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_create(&unnamed, NULL, 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_inquire(&unnamed, &info), 0);
	CHECK_STR(info.name, "sem@2");
	CHECK_EQ(rt_sem_delete(&chosen), 0);
	CHECK_EQ(rt_sem_delete(&unnamed), 0);
}

static void delete_kills_whatever_the_count(void)
{
	RT_SEM sem, copy;

	CHECK_EQ(rt_sem_create(&sem, "full", 7, S_FIFO), 0);
	copy = sem;
	CHECK_EQ(rt_sem_delete(&sem), 0);
	CHECK_EQ(rt_sem_delete(&sem), -EINVAL);
	CHECK_EQ(rt_sem_p(&copy, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_sem_bind(&copy, "full", TM_NONBLOCK), -EWOULDBLOCK);
}

static void deleted_name_is_free_at_once(void)
{
	RT_SEM sem;
	int i;

	for (i = 0; i < 100; i++) {
		CHECK_EQ(rt_sem_create(&sem, "phoenix", i, S_FIFO), 0);
		CHECK_SEM(&sem, i, 0);
		CHECK_EQ(rt_sem_delete(&sem), 0);
	}
}

static void inquire_without_room_is_refused(void)
{
	RT_SEM sem;

	MAKE_SEM(&sem, 1, S_FIFO);
	CHECK_EQ(rt_sem_inquire(&sem, NULL), -EINVAL);
	CHECK_SEM(&sem, 1, 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
	CHECK_EQ(rt_sem_inquire(&sem, NULL), -EINVAL);
}

static void failed_inquire_writes_nothing(void)
{
	RT_SEM sem;
	RT_SEM_INFO info, before;

	MAKE_SEM(&sem, 1, S_FIFO);
	CHECK_EQ(rt_sem_delete(&sem), 0);
	memset(&info, 0x5a, sizeof(info));
	before = info;
	CHECK_EQ(rt_sem_inquire(&sem, &info), -EINVAL);
	CHECK_SAME_BYTES(&info, &before, sizeof(info));
}

/* Thousands alive at once, each with a state of its own. */
static void many_semaphores_do_not_disturb_each_other(void)
{
	enum { MANY = 3000 };
	static RT_SEM sems[MANY];
	char name[32];
	RT_SEM bound;
	int i;

	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many-%d", i);
		CHECK_EQ(rt_sem_create(&sems[i], name, i, i % 2 ? S_PRIO : S_FIFO), 0);
	}
	for (i = 0; i < MANY; i++)
		CHECK_EQ(rt_sem_v(&sems[i]), 0);
	for (i = MANY - 1; i >= 0; i--) {
		snprintf(name, sizeof(name), "many-%d", i);
		CHECK_EQ(rt_sem_bind(&bound, name, TM_NONBLOCK), 0);
		CHECK_EQ(bound.handle, sems[i].handle);
		CHECK_SEM(&bound, i + 1, 0);
	}
	/* Odd ones first: what stays must stay as it is. */
	for (i = 1; i < MANY; i += 2)
		CHECK_EQ(rt_sem_delete(&sems[i]), 0);
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many-%d", i);
		CHECK_EQ(rt_sem_bind(&bound, name, TM_NONBLOCK), i % 2 ? -EWOULDBLOCK : 0);
		if (i % 2 == 0) {
			CHECK_SEM(&bound, i + 1, 0);
			CHECK_EQ(rt_sem_delete(&sems[i]), 0);
		}
	}
}

KIT_CASES(
	CASE(create_shows_initial_state),
	CASE(create_refuses_unknown_mode_bits),
	CASE(create_accepts_every_known_mode),
	CASE(pulse_refuses_initial_count),
	CASE(create_refuses_counts_above_maximum),
	CASE(post_at_maximum_is_refused),
	CASE(create_without_descriptor_is_refused),
	CASE(live_name_is_refused_and_both_stay_as_they_were),
	CASE(bad_mode_and_count_come_before_taken_name),
	CASE(unnamed_semaphores_get_counted_names),
	CASE(generated_name_steps_over_a_chosen_one),
	CASE(delete_kills_whatever_the_count),
	CASE(deleted_name_is_free_at_once),
	CASE(inquire_without_room_is_refused),
	CASE(failed_inquire_writes_nothing),
	CASE(many_semaphores_do_not_disturb_each_other)
)
