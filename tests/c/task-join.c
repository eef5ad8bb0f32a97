/* rt_task_join. */
#include "kit.h"
#include "tasks.h"

static RT_SEM gate;

static void make_gate(void)
{
	CHECK_EQ(rt_sem_create(&gate, NULL, 0, S_PRIO), 0);
}

static void nap_and_mark(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_sleep(20000000), 0);
	mark("ended");
}

static void join_waits_for_the_end(void)
{
	RT_TASK task;

	kit_spawn(&task, 0, nap_and_mark, NULL);
	CHECK_EQ(rt_task_join(&task), 0);
	mark("joined");
	expect_marks("ended joined");
}

/* task.md 7.36 */
static void second_join_finds_nothing(void)
{
	RT_TASK task, copy;

	kit_spawn(&task, 0, nothing, NULL);
	copy = task;
	until(rt_task_inquire(&task, NULL) != 0);
	CHECK_EQ(rt_task_inquire(&task, NULL), -EINVAL);
	CHECK_EQ(rt_task_join(&task), 0);
	CHECK_EQ(rt_task_join(&task), -ESRCH);
	CHECK_EQ(rt_task_join(&copy), -ESRCH);
}

static void join_oneself(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_join(rt_task_self()), -EDEADLK);
}

/* task.md 7.37 */
static void joining_oneself_is_a_deadlock(void)
{
	RT_TASK task;

	as_task(0, join_oneself, NULL);
	/* Also where nobody could join it. */
	CHECK_EQ(rt_task_spawn(&task, NULL, 0, 0, 0, join_oneself, NULL), 0);
	until(rt_task_inquire(&task, NULL) != 0);
}

/* task.md 7.37 */
static void task_without_joinable(void)
{
	RT_TASK task;

	make_gate();
	CHECK_EQ(rt_task_spawn(&task, NULL, 0, 0, 0, take, &gate), 0);
	CHECK_EQ(rt_task_join(&task), -EINVAL);
	CHECK_EQ(rt_sem_v(&gate), 0);
	until(rt_task_inquire(&task, NULL) != 0);
	CHECK_EQ(rt_task_join(&task), -ESRCH);
}

static void join_it(void *task)
{
	CHECK_EQ(rt_task_join((RT_TASK *)task), 0);
	mark("joined");
}

static void join_it_too(void *task)
{
	CHECK_EQ(rt_task_join((RT_TASK *)task), -EINVAL);
	mark("refused");
}

/* task.md 7.37: the second of two concurrent joins. The joiner blocks inside join before start gets back. */
static void second_joiner_is_refused(void)
{
	RT_TASK task, first;

	make_gate();
	kit_spawn_blocked(&task, 0, take, &gate);
	kit_spawn(&first, 50, join_it, &task);
	join_it_too(&task);
	as_task(50, join_it_too, &task);
	kit_plain(join_it_too, &task);
	CHECK_EQ(rt_sem_v(&gate), 0);
	kit_join(&first);
	CHECK_EQ(rt_task_join(&task), -ESRCH);
	expect_marks("refused refused refused joined");
}

static int outcome[2];

static RT_TASK contested;

static void join_the_contested(void *arg)
{
	outcome[*(int *)arg] = rt_task_join(&contested);
}

/* The same without SCHED_FIFO: exactly one of two gets it, whoever comes first. */
static void one_of_two_joiners_succeeds(void)
{
	static int number[2] = { 0, 1 };
	RT_TASK joiner[2];
	int i, round;

	make_gate();
	for (round = 0; round < 50; round++) {
		kit_spawn_blocked(&contested, 0, take, &gate);
		for (i = 0; i < 2; i++)
			kit_spawn(&joiner[i], 0, join_the_contested, &number[i]);
		CHECK_EQ(rt_sem_v(&gate), 0);
		for (i = 0; i < 2; i++)
			kit_join(&joiner[i]);
		CHECK(outcome[0] == 0 || outcome[1] == 0);
		CHECK(outcome[0] != 0 || outcome[1] != 0);
		i = outcome[0] == 0;
		CHECK(outcome[i] == -EINVAL || outcome[i] == -ESRCH);
	}
}

/* task.md 7.38 */
static void bound_descriptor_joins(void)
{
	RT_TASK task, bound;

	make_gate();
	CHECK_EQ(rt_task_spawn(&task, "joined", 0, 0, T_JOINABLE, take, &gate), 0);
	CHECK_EQ(rt_task_bind(&bound, "joined", TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_v(&gate), 0);
	CHECK_EQ(rt_task_join(&bound), 0);
	CHECK_EQ(rt_task_join(&task), -ESRCH);
}

static void handle_alone_joins(void)
{
	RT_TASK task, other = NO_ALCHEMY_TASK;

	kit_spawn(&task, 0, nothing, NULL);
	other.handle = task.handle;
	CHECK_EQ(rt_task_join(&other), 0);
}

static void any_thread_joins(void)
{
	RT_TASK task;

	kit_spawn(&task, 0, nap_and_mark, NULL);
	kit_plain(join_it, &task);
	expect_marks("ended joined");
	clear_marks();

	kit_spawn(&task, 0, nap_and_mark, NULL);
	as_task(0, join_it, &task);
	expect_marks("ended joined");
}

static void dormant_task_is_waited_for(void)
{
	RT_TASK task, joiner;

	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	kit_spawn(&joiner, 50, join_it, &task);
	mark("start");
	CHECK_EQ(rt_task_start(&task, nothing, NULL), 0);
	kit_join(&joiner);
	expect_marks("start joined");
}

static void name_is_free_before_the_join(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_spawn(&task, "short", 0, 0, T_JOINABLE, nothing, NULL), 0);
	until(rt_task_inquire(&task, NULL) != 0);
	check_absent("short");
	check_free("short");
	kit_join(&task);
}

static void shadow_and_wait(void *task)
{
	CHECK_EQ(rt_task_shadow((RT_TASK *)task, "shadow", 0, 0), 0);
	take(&gate);
}

static void *shadow_thread(void *task)
{
	shadow_and_wait(task);
	return NULL;
}

static void shadowed_thread_is_not_joined(void)
{
	pthread_t thread;
	RT_TASK task, bound;

	make_gate();
	thread = start_thread(shadow_thread, &task);
	CHECK_EQ(rt_task_bind(&bound, "shadow", TM_INFINITE), 0);
	CHECK_EQ(rt_task_join(&bound), -EINVAL);
	CHECK_EQ(rt_sem_v(&gate), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	until(rt_task_inquire(&bound, NULL) != 0);
	CHECK_EQ(rt_task_join(&bound), -ESRCH);
}

static void *return_value(void *arg)
{
	return arg;
}

static void many_wait_to_be_joined(void)
{
	static RT_TASK task[200];
	pthread_t thread;
	void *value;
	int i;

	for (i = 0; i < 200; i++)
		kit_spawn(&task[i], 0, nothing, NULL);
	for (i = 0; i < 200; i++)
		until(rt_task_inquire(&task[i], NULL) != 0);
	/* Ended but not joined: they are in nobody's way. */
	thread = start_thread(return_value, task);
	CHECK_EQ(pthread_join(thread, &value), 0);
	CHECK(value == task);
	for (i = 199; i >= 0; i--)
		kit_join(&task[i]);
	for (i = 0; i < 200; i++)
		CHECK_EQ(rt_task_join(&task[i]), -ESRCH);
}

KIT_CASES(
	CASE(join_waits_for_the_end), CASE(second_join_finds_nothing), CASE(joining_oneself_is_a_deadlock),
	CASE(task_without_joinable), CASE_FIFO(second_joiner_is_refused), CASE(one_of_two_joiners_succeeds),
	CASE(bound_descriptor_joins), CASE(handle_alone_joins), CASE(any_thread_joins),
	CASE_FIFO(dormant_task_is_waited_for), CASE(name_is_free_before_the_join), CASE(shadowed_thread_is_not_joined),
	CASE(many_wait_to_be_joined))
