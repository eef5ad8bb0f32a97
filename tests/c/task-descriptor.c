/* Task descriptors that are not (or no longer) good: -EINVAL from every service, never a crash. */
#include "kit.h"
#include "tasks.h"

/* All services that take a descriptor, with one that never was a task. */
static void check_never_a_task(RT_TASK *task)
{
	check_stale(task);
	CHECK_EQ(rt_task_join(task), -EINVAL);
}

static void zeroed_descriptor(void)
{
	RT_TASK zeroed = NO_ALCHEMY_TASK;

	check_never_a_task(&zeroed);
	zeroed.thread = pthread_self();
	check_never_a_task(&zeroed);
}

static void null_pointer(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_create(NULL, "null", 0, 0, 0), -EINVAL);
	check_absent("null");
	CHECK_EQ(rt_task_spawn(NULL, "null", 0, 0, 0, nothing, NULL), -EINVAL);
	check_absent("null");
	/* Not "myself" here. */
	CHECK_EQ(rt_task_start(NULL, nothing, NULL), -EINVAL);
	CHECK_EQ(rt_task_join(NULL), -EINVAL);
	CHECK_EQ(rt_task_bind(NULL, "null", TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_task_bind(&task, NULL, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_task_unbind(NULL), -EINVAL);
}

static void start_oneself_by_null(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_start(NULL, nothing, NULL), -EINVAL);
	CHECK_EQ(rt_task_join(NULL), -EINVAL);
}

static void null_is_not_self_for_start_and_join(void)
{
	as_task(0, start_oneself_by_null, NULL);
}

static void misaligned_pointer(void)
{
	char room[2 * sizeof(RT_TASK)] __attribute__((aligned(16)));
	int offset;
	RT_TASK task;

	CHECK_EQ(rt_task_create(&task, "aligned", 0, 0, T_JOINABLE), 0);
	for (offset = 1; offset < 8; offset++) {
		RT_TASK *crooked = (RT_TASK *)(void *)(room + offset);

		/* The bytes are a good descriptor, only the place is wrong. */
		memcpy(room + offset, &task, sizeof(task));
		check_never_a_task(crooked);
		CHECK_EQ(rt_task_create(crooked, "crooked", 0, 0, 0), -EINVAL);
		CHECK_EQ(rt_task_bind(crooked, "aligned", TM_NONBLOCK), -EINVAL);
		CHECK_EQ(rt_task_unbind(crooked), -EINVAL);
		CHECK_SAME_BYTES(room + offset, &task, sizeof(task));
	}
	check_absent("crooked");
	finish(&task);
}

static void garbage_handles(void)
{
	uint64_t noise = 88172645463325252ULL;
	RT_TASK task = { 0, pthread_self() };
	int i;

	for (i = 0; i < 64; i++) {
		task.handle = (uintptr_t)1 << i;
		check_never_a_task(&task);
		task.handle = ~task.handle;
		check_never_a_task(&task);
	}
	task.handle = (uintptr_t)&task; /* what the original put there: an address */
	check_never_a_task(&task);
	for (i = 0; i < 10000; i++) {
		noise ^= noise << 13;
		noise ^= noise >> 7;
		noise ^= noise << 17;
		task.handle = (uintptr_t)noise;
		CHECK_EQ(rt_task_inquire(&task, NULL), -EINVAL);
	}
}

static void neighbours_of_a_good_handle(void)
{
	RT_TASK task, wrong;
	int bit;

	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	for (bit = 0; bit < 64; bit++) {
		wrong = task;
		wrong.handle ^= (uintptr_t)1 << bit;
		CHECK_EQ(rt_task_inquire(&wrong, NULL), -EINVAL);
		CHECK_EQ(rt_task_start(&wrong, nothing, NULL), -EINVAL);
	}
	finish(&task);
}

/* common.md 14.12 */
static void semaphore_in_a_task_descriptor(void)
{
	RT_TASK task = NO_ALCHEMY_TASK;
	RT_SEM sem;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	memcpy(&task, &sem, sizeof(sem));
	check_never_a_task(&task);
	CHECK_EQ(rt_sem_delete(&sem), 0);

	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	memcpy(&sem, &task, sizeof(sem));
	CHECK_EQ(rt_sem_v(&sem), -EINVAL);
	CHECK_EQ(rt_sem_delete(&sem), -EINVAL);
	finish(&task);
}

/* task.md 7.3 */
static void ended_task_is_stale(void)
{
	RT_TASK task, copy;

	CHECK_EQ(rt_task_create(&task, "gone", 0, 0, T_JOINABLE), 0);
	copy = task;
	CHECK_EQ(rt_task_start(&task, nothing, NULL), 0);
	until(rt_task_inquire(&task, NULL) != 0);
	/* Not joined yet, stale all the same; the name is free. */
	check_stale(&task);
	check_stale(&copy);
	check_absent("gone");
	check_free("gone");
	kit_join(&task);
	check_stale(&task);
	CHECK_EQ(rt_task_join(&task), -ESRCH);
	CHECK_EQ(rt_task_join(&copy), -ESRCH);
}

static void ended_task_that_nobody_can_join(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_spawn(&task, "alone", 0, 0, 0, nothing, NULL), 0);
	until(rt_task_inquire(&task, NULL) != 0);
	check_stale(&task);
	CHECK_EQ(rt_task_join(&task), -ESRCH);
	check_free("alone");
}

static void old_copy_never_reaches_the_namesake(void)
{
	RT_TASK old, task;
	RT_SEM sem;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	CHECK_EQ(rt_task_spawn(&old, "heir", 0, 0, T_JOINABLE, nothing, NULL), 0);
	kit_join(&old);
	CHECK_EQ(rt_task_spawn(&task, "heir", 0, 0, T_JOINABLE, take, &sem), 0);
	check_stale(&old);
	CHECK_EQ(rt_task_same(&old, &task), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
}

static void copies_are_equivalent(void)
{
	RT_TASK task, copy;

	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	copy = task;
	memset(&task, 0xff, sizeof(task));
	CHECK_EQ(rt_task_inquire(&copy, NULL), 0);
	finish(&copy);
}

static void same(void)
{
	RT_TASK a, b, copy, zeroed = NO_ALCHEMY_TASK, blank = NO_ALCHEMY_TASK;

	CHECK_EQ(rt_task_create(&a, NULL, 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_create(&b, NULL, 0, 0, T_JOINABLE), 0);
	copy = a;
	copy.thread = b.thread; /* the handle alone counts */
	CHECK_EQ(rt_task_same(&a, &a), 1);
	CHECK_EQ(rt_task_same(&a, &copy), 1);
	CHECK_EQ(rt_task_same(&a, &b), 0);
	CHECK_EQ(rt_task_same(&a, &zeroed), 0);
	CHECK_EQ(rt_task_same(&blank, &zeroed), 1);
	CHECK_EQ(rt_task_same(NULL, &a), 0);
	CHECK_EQ(rt_task_same(&a, NULL), 0);
	CHECK_EQ(rt_task_same(NULL, NULL), 0);
	finish(&a);
	finish(&b);
	CHECK_EQ(rt_task_same(&a, &copy), 1); /* nothing is looked up */
}

KIT_CASES(
	CASE(zeroed_descriptor), CASE(null_pointer), CASE(null_is_not_self_for_start_and_join), CASE(misaligned_pointer),
	CASE(garbage_handles), CASE(neighbours_of_a_good_handle), CASE(semaphore_in_a_task_descriptor),
	CASE(ended_task_is_stale), CASE(ended_task_that_nobody_can_join), CASE(old_copy_never_reaches_the_namesake),
	CASE(copies_are_equivalent), CASE(same))
