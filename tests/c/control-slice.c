/* rt_task_slice: computing tasks of one priority share their CPU; who is refused. */
#include "kit.h"
#include "control-kit.h"

static RT_TASK task;

static void slice_of_base_priority_zero(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_slice(NULL, MS), -EINVAL);
	CHECK_EQ(rt_task_slice(rt_task_self(), 1), -EINVAL);
	CHECK_EQ(rt_task_slice(NULL, 0), 0);
	CHECK_EQ(rt_task_slice(rt_task_self(), 0), 0);
	CHECK_EQ(rt_task_set_priority(NULL, 1), 0);
	CHECK_EQ(rt_task_slice(NULL, MS), 0);
}

/* task.md 7.28 */
static void priority_zero_gets_none(void)
{
	as_task(0, slice_of_base_priority_zero, NULL);
	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_slice(&task, MS), -EINVAL);
	CHECK_EQ(rt_task_slice(&task, 0), 0);
	finish(&task);
}

static void slice_on_and_off(void *arg)
{
	static const RTIME quanta[] = { 1, 1000, MS, 1000000 * MS, ~0ULL - 1, ~0ULL, 0, 0, MS };
	size_t i;

	(void)arg;
	for (i = 0; i < sizeof(quanta) / sizeof(quanta[0]); i++) {
		CHECK_EQ(rt_task_slice(NULL, quanta[i]), 0);
		CHECK_EQ(rt_task_slice(rt_task_self(), quanta[i]), 0);
		CHECK_EQ(rt_task_slice(&task, quanta[i]), 0);
	}
}

static void slices_come_and_go(void)
{
	CHECK_EQ(rt_task_create(&task, NULL, 0, 30, T_JOINABLE), 0);
	as_task(20, slice_on_and_off, NULL);
	CHECK_EQ(kit_status(&task), DORMANT);
	finish(&task);
}

/* ---- Sharing: all on one CPU, under SCHED_FIFO ---------------------------------------------------------------- */

static int flag;

/* One who would keep the CPU for ever, and one who would let it go. */
static void share(int prio, void (*hog)(void *), RTIME quantum)
{
	RT_TASK other;

	flag = 0;
	CHECK_EQ(rt_task_create(&task, NULL, 0, prio, T_JOINABLE), 0);
	CHECK_EQ(rt_task_slice(&task, quantum), 0);
	CHECK_EQ(rt_task_start(&task, hog, &other), 0);
	kit_join(&task);
	kit_join(&other);
}

static void start_an_equal_and_wait_for_it(void *other)
{
	kit_spawn((RT_TASK *)other, 20, set_flag, &flag);
	mark("started");
	spin_until(&flag, "the equal task");
	mark("shared");
}

static void equal_task_runs_when_the_slice_is_over(void)
{
	share(20, start_an_equal_and_wait_for_it, 2 * MS);
	share(20, start_an_equal_and_wait_for_it, 1000);
	share(20, start_an_equal_and_wait_for_it, 50 * MS);
	expect_marks("started shared started shared started shared");
}

static void slice_and_start_an_equal(void *other)
{
	CHECK_EQ(rt_task_slice(NULL, 2 * MS), 0);
	start_an_equal_and_wait_for_it(other);
}

static void task_slices_itself(void)
{
	share(20, slice_and_start_an_equal, 0);
	expect_marks("started shared");
}

/* Each of the two computes until the other has been at the same point. */
static int reached[2];

static void take_turns(void *who_)
{
	int who = *(int *)who_, i;
	long long start = kit_now();

	for (i = 1; i <= 20; i++) {
		__atomic_store_n(&reached[who], i, __ATOMIC_RELEASE);
		while (__atomic_load_n(&reached[!who], __ATOMIC_ACQUIRE) < i)
			if (since(start) > SPIN_LIMIT)
				kit_fail(__FILE__, __LINE__, "the other has not run");
	}
}

static void start_two_who_take_turns(void *arg)
{
	static int who[2] = { 0, 1 };
	RT_TASK both[2];
	int i;

	(void)arg;
	for (i = 0; i < 2; i++) {
		CHECK_EQ(rt_task_create(&both[i], NULL, 0, 20, T_JOINABLE), 0);
		CHECK_EQ(rt_task_slice(&both[i], 2 * MS), 0);
		CHECK_EQ(rt_task_start(&both[i], take_turns, &who[i]), 0);
	}
	for (i = 0; i < 2; i++)
		kit_join(&both[i]);
	CHECK_EQ(reached[0], 20);
	CHECK_EQ(reached[1], 20);
}

static void two_tasks_take_turns(void)
{
	kit_boss(start_two_who_take_turns);
}

static void spin_beside(void *other, int prio)
{
	kit_spawn((RT_TASK *)other, prio, mark_it, (void *)"other");
	mark("started");
	rt_timer_spin(30 * MS);
	mark("spun");
}

static void spin_beside_an_equal(void *other)
{
	spin_beside(other, 20);
}

static void spin_beside_a_lower_task(void *other)
{
	spin_beside(other, 19);
}

static void without_a_slice_nobody_shares(void)
{
	share(20, spin_beside_an_equal, 0);
	expect_marks("started spun other");
}

static void lower_tasks_get_nothing(void)
{
	share(20, spin_beside_a_lower_task, MS);
	expect_marks("started spun other");
}

static void end_slices_and_spin(void *other)
{
	CHECK_EQ(rt_task_slice(NULL, MS), 0);
	CHECK_EQ(rt_task_slice(NULL, 0), 0);
	spin_beside_an_equal(other);
}

static void quantum_zero_ends_it(void)
{
	share(20, end_slices_and_spin, MS);
	expect_marks("started spun other");
}

/* Adopted: the priority changes, the slice stays. */
static void change_priority_and_share(void *other)
{
	CHECK_EQ(rt_task_set_priority(NULL, 20), 0);
	start_an_equal_and_wait_for_it(other);
}

static void slice_outlives_a_change_of_priority(void)
{
	share(30, change_priority_and_share, 2 * MS);
	share(10, change_priority_and_share, 2 * MS);
	share(20, change_priority_and_share, 2 * MS);
	expect_marks("started shared started shared started shared");
}

static void visit_priority_zero_and_spin(void *other)
{
	CHECK_EQ(rt_task_set_priority(NULL, 0), 0);
	CHECK_EQ(rt_task_set_priority(NULL, 20), 0);
	spin_beside_an_equal(other);
}

static void priority_zero_ends_it(void)
{
	share(20, visit_priority_zero_and_spin, MS);
	expect_marks("started spun other");
}

/* Decision 36: under a limit that timer_create exceeds. */
static void slice_without_a_kernel_timer(void)
{
	struct sigevent nothing_to_send;
	timer_t timer;

	set_limit(RLIMIT_SIGPENDING, 0, 0);
	memset(&nothing_to_send, 0, sizeof(nothing_to_send));
	nothing_to_send.sigev_notify = SIGEV_NONE;
	if (timer_create(CLOCK_MONOTONIC, &nothing_to_send, &timer) == 0)
		SKIP("timer_create does not fail here");
	share(20, start_an_equal_and_wait_for_it, 2 * MS);
	expect_marks("started shared");
}

static void sleep_between(void *other)
{
	int i;

	for (i = 0; i < 20; i++)
		CHECK_EQ(rt_task_sleep(MS), 0);
	spin_beside_an_equal(other);
}

/* A quantum is CPU time: 1 s of it does not end while the task sleeps or spins for less. */
static void sleep_does_not_use_it_up(void)
{
	share(20, sleep_between, 1000 * MS);
	expect_marks("started spun other");
}

static void slice_ends_with_its_task(void)
{
	int i;

	for (i = 0; i < 200; i++) {
		CHECK_EQ(rt_task_create(&task, NULL, 0, 20, T_JOINABLE), 0);
		CHECK_EQ(rt_task_slice(&task, 10000), 0);
		finish(&task);
		CHECK_EQ(rt_task_slice(&task, 10000), -EINVAL);
	}
	as_task(20, nothing, NULL);
}

KIT_CASES(
	CASE(priority_zero_gets_none), CASE(slices_come_and_go), CASE_KERNEL(equal_task_runs_when_the_slice_is_over),
	CASE_KERNEL(task_slices_itself), CASE_KERNEL(two_tasks_take_turns), CASE_FIFO(without_a_slice_nobody_shares),
	CASE_FIFO(lower_tasks_get_nothing), CASE_FIFO(quantum_zero_ends_it), CASE_KERNEL(slice_outlives_a_change_of_priority),
	CASE_FIFO(priority_zero_ends_it), CASE_KERNEL(slice_without_a_kernel_timer), CASE_FIFO(sleep_does_not_use_it_up),
	CASE(slice_ends_with_its_task))
