/* rt_task_start and rt_task_spawn: who runs first, what is run, what is refused. */
#include "kit.h"
#include "tasks.h"

static void mark_it(void *text)
{
	mark((const char *)text);
}

/* Starts three tasks from priority 50. */
static void start_three(void *arg)
{
	RT_TASK *task = (RT_TASK *)arg;

	CHECK_EQ(rt_task_start(&task[0], mark_it, (void *)"high"), 0);
	mark("after-high");
	CHECK_EQ(rt_task_start(&task[1], mark_it, (void *)"equal"), 0);
	mark("after-equal");
	CHECK_EQ(rt_task_start(&task[2], mark_it, (void *)"low"), 0);
	mark("after-low");
}

/* task.md 7.4 */
static void higher_runs_before_start_returns(void)
{
	static const int prios[] = { 60, 50, 40 };
	RT_TASK task[3];
	int i;

	for (i = 0; i < 3; i++)
		CHECK_EQ(rt_task_create(&task[i], NULL, 0, prios[i], T_JOINABLE), 0);
	as_task(50, start_three, task);
	for (i = 0; i < 3; i++)
		kit_join(&task[i]);
	expect_marks("high after-high after-equal after-low equal low");
}

static RT_SEM gate;

static void mark_around_the_gate(void *arg)
{
	(void)arg;
	mark("entered");
	CHECK_EQ(rt_sem_p(&gate, TM_INFINITE), 0);
	mark("left");
}

static void higher_runs_until_it_blocks(void)
{
	RT_TASK task;

	CHECK_EQ(rt_sem_create(&gate, NULL, 0, S_PRIO), 0);
	CHECK_EQ(rt_task_create(&task, NULL, 0, 1, T_JOINABLE), 0);
	CHECK_EQ(rt_task_start(&task, mark_around_the_gate, NULL), 0);
	mark("started");
	CHECK_EQ(rt_sem_v(&gate), 0);
	mark("opened");
	kit_join(&task);
	expect_marks("entered started left opened");
}

static void spawned_higher_runs_until_it_blocks(void)
{
	RT_TASK task;

	CHECK_EQ(rt_sem_create(&gate, NULL, 0, S_PRIO), 0);
	CHECK_EQ(rt_task_spawn(&task, NULL, 0, 1, T_JOINABLE, mark_around_the_gate, NULL), 0);
	mark("started");
	CHECK_EQ(rt_sem_v(&gate), 0);
	mark("opened");
	kit_join(&task);
	expect_marks("entered started left opened");
}

static void plain_starter_is_below_all(void *arg)
{
	(void)arg;
	higher_runs_until_it_blocks();
}

static void plain_thread_starts_a_task(void)
{
	kit_plain(plain_starter_is_below_all, NULL);
}

/* The rendezvous of `start` holds without SCHED_FIFO too: the task is at its entry, or beyond. */
static void higher_is_active_when_start_returns(void)
{
	RT_TASK task;
	int i;

	CHECK_EQ(rt_sem_create(&gate, NULL, 0, S_PRIO), 0);
	for (i = 0; i < 50; i++) {
		CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_JOINABLE), 0);
		CHECK_EQ(rt_task_start(&task, take, &gate), 0);
		CHECK_EQ(kit_status(&task) & 0x11, 0x11);
		CHECK_EQ(rt_sem_v(&gate), 0);
		kit_join(&task);
	}
}

static void start_of_an_ordinary_task(void *arg)
{
	RT_TASK task;

	(void)arg;
	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_start(&task, take, &gate), 0);
	CHECK_EQ(kit_status(&task) & 0x11, 0x11);
	CHECK_EQ(rt_sem_v(&gate), 0);
	kit_join(&task);
}

/* For a plain thread every task is higher, one of priority 0 included. */
static void plain_thread_waits_for_any_task(void)
{
	CHECK_EQ(rt_sem_create(&gate, NULL, 0, S_PRIO), 0);
	kit_plain(start_of_an_ordinary_task, NULL);
}

static void start_a_lower_one(void *arg)
{
	RT_TASK *task = (RT_TASK *)arg;

	CHECK_EQ(rt_task_start(task, mark_it, (void *)"ran"), 0);
	mark("started");
	CHECK_EQ(kit_status(task), 0x10001);
}

static void started_but_not_yet_run(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_create(&task, NULL, 0, 40, T_JOINABLE), 0);
	as_task(50, start_a_lower_one, &task);
	kit_join(&task);
	expect_marks("started ran");
}

static void mark_other(void *text)
{
	(void)text;
	mark("second-entry");
}

static void start_twice(void *arg)
{
	RT_TASK *task = (RT_TASK *)arg;

	CHECK_EQ(rt_task_start(task, mark_it, (void *)"first"), 0);
	CHECK_EQ(rt_task_start(task, mark_it, (void *)"second"), 0);
	CHECK_EQ(rt_task_start(task, mark_other, NULL), 0);
	mark("started");
}

/* task.md 7.5 */
static void first_start_wins(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_create(&task, NULL, 0, 40, T_JOINABLE), 0);
	as_task(50, start_twice, &task);
	kit_join(&task);
	expect_marks("started first");
}

static void start_of_a_running_task_changes_nothing(void)
{
	RT_TASK task;

	CHECK_EQ(rt_sem_create(&gate, NULL, 0, S_PRIO), 0);
	kit_spawn_blocked(&task, 10, mark_around_the_gate, NULL);
	CHECK_EQ(rt_task_start(&task, mark_other, NULL), 0);
	CHECK_EQ(kit_status(&task), 0x20011);
	CHECK_EQ(rt_sem_v(&gate), 0);
	kit_join(&task);
	expect_marks("entered left");
}

static void entry_of_null_is_refused(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_JOINABLE), 0);
	CHECK_EQ(rt_task_start(&task, NULL, NULL), -EINVAL);
	CHECK_EQ(kit_status(&task), 0x10000);
	CHECK_EQ(rt_task_start(&task, mark_it, (void *)"ran"), 0);
	kit_join(&task);
	expect_marks("ran");
}

static void argument_arrives(void *arg)
{
	CHECK_EQ((uintptr_t)arg, 0xfedcba9876543210u);
}

static void argument_is_passed_on(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_start(&task, argument_arrives, (void *)(uintptr_t)0xfedcba9876543210u), 0);
	kit_join(&task);
}

/* The rendezvous must not miss a task that has come and gone. */
static void higher_that_ends_at_once(void)
{
	RT_TASK task;
	int i;

	for (i = 0; i < 200; i++) {
		CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_JOINABLE), 0);
		CHECK_EQ(rt_task_start(&task, nothing, NULL), 0);
		kit_join(&task);
		CHECK_EQ(rt_task_spawn(&task, NULL, 0, 10, 0, nothing, NULL), 0);
	}
}

static RT_TASK spawned;

static void see_own_descriptor(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_same(rt_task_self(), &spawned), 1);
	CHECK(pthread_equal(spawned.thread, pthread_self()));
	mark("seen");
}

static void spawn_fills_the_descriptor_first(void)
{
	CHECK_EQ(rt_task_spawn(&spawned, NULL, 0, 60, T_JOINABLE, see_own_descriptor, NULL), 0);
	mark("spawned");
	kit_join(&spawned);
	expect_marks("seen spawned");
}

static void spawn_refuses_what_create_refuses(void)
{
	RT_TASK task, before;
	RT_SEM sem;
	RT_TASK holder;

	memset(&task, 0x5a, sizeof(task));
	before = task;
	CHECK_EQ(rt_task_spawn(&task, "refused", 0, 10, 0x8, nothing, NULL), -EINVAL);
	CHECK_EQ(rt_task_spawn(&task, "refused", 0, 10, T_CONFORMING, nothing, NULL), -EINVAL);
	CHECK_EQ(rt_task_spawn(&task, "refused", 0, 100, 0, nothing, NULL), -EINVAL);
	CHECK_EQ(rt_task_spawn(&task, "refused", 0, -1, 0, nothing, NULL), -EINVAL);
	CHECK_EQ(rt_task_spawn(&task, "refused", -1, 10, 0, nothing, NULL), -EINVAL);
	/* Fails in the second half, the start: nothing is left behind. */
	CHECK_EQ(rt_task_spawn(&task, "refused", 0, 10, 0, NULL, NULL), -EINVAL);
	CHECK_SAME_BYTES(&task, &before, sizeof(task));
	check_absent("refused");

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	CHECK_EQ(rt_task_spawn(&holder, "held", 0, 0, T_JOINABLE, take, &sem), 0);
	CHECK_EQ(rt_task_spawn(&task, "held", 0, 10, 0, nothing, NULL), -EEXIST);
	CHECK_SAME_BYTES(&task, &before, sizeof(task));
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&holder);
}

static void spawn_without_entry_leaves_no_thread(void)
{
	int i, before = count_threads();
	RT_TASK task;

	for (i = 0; i < 20; i++)
		CHECK_EQ(rt_task_spawn(&task, "refused", 0, 10, 0, NULL, NULL), -EINVAL);
	/* A helper thread of the library may have come to stay, twenty have not. */
	until(count_threads() <= before + 1);
	check_free("refused");
}

static void start_with_a_cancellation_pending(void *arg)
{
	RT_TASK *task = (RT_TASK *)arg;

	pthread_cancel(pthread_self());
	CHECK_EQ(rt_task_start(task, nothing, NULL), 0);
	mark("started");
	pthread_testcancel();
	mark("not-cancelled");
}

static void start_is_no_cancellation_point(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_JOINABLE), 0);
	kit_plain(start_with_a_cancellation_pending, &task);
	kit_join(&task);
	expect_marks("started");
}

KIT_CASES(
	CASE_FIFO(higher_runs_before_start_returns), CASE_FIFO(higher_runs_until_it_blocks),
	CASE_FIFO(spawned_higher_runs_until_it_blocks), CASE_KERNEL(plain_thread_starts_a_task),
	CASE(higher_is_active_when_start_returns), CASE(plain_thread_waits_for_any_task),
	CASE_FIFO(started_but_not_yet_run), CASE_FIFO(first_start_wins), CASE(start_of_a_running_task_changes_nothing),
	CASE(entry_of_null_is_refused), CASE(argument_is_passed_on), CASE(higher_that_ends_at_once),
	CASE_FIFO(spawn_fills_the_descriptor_first), CASE(spawn_refuses_what_create_refuses),
	CASE(spawn_without_entry_leaves_no_thread), CASE(start_is_no_cancellation_point))
