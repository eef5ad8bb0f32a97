/* rt_task_set_priority: who runs, who is served first, what the kernel and rt_task_inquire show. */
#include "kit.h"
#include "control-kit.h"

static RT_SEM sem;
static RT_TASK task;

/* Base priority, and the kernel's class where it may follow. */
static void check_prio(RT_TASK *of, int prio)
{
	RT_TASK_INFO info;

	CHECK_EQ(rt_task_inquire(of, &info), 0);
	CHECK_EQ(info.prio, prio);
	CHECK_EQ(kernel_prio(info.pid), kit_fifo() ? prio : 0);
}

static void change_oneself(void *arg)
{
	static const int prios[] = { 20, 1, 99, 0, 0, 50, 50 };
	size_t i;

	(void)arg;
	for (i = 0; i < sizeof(prios) / sizeof(prios[0]); i++) {
		CHECK_EQ(rt_task_set_priority(i % 2 ? NULL : rt_task_self(), prios[i]), 0);
		check_prio(NULL, prios[i]);
	}
}

static void task_changes_its_own(void)
{
	as_task(0, change_oneself, NULL);
	as_task(60, change_oneself, NULL);
}

static void another_changes_it(void)
{
	static const int prios[] = { 40, 0, 1, 99, 98, 97, 5 };
	size_t i;

	MAKE_SEM(&sem, 0, S_PRIO);
	kit_spawn_blocked(&task, 10, take, &sem);
	for (i = 0; i < sizeof(prios) / sizeof(prios[0]); i++) {
		CHECK_EQ(rt_task_set_priority(&task, prios[i]), 0);
		check_prio(&task, prios[i]);
		CHECK_EQ(kit_status(&task), 0x20011);
	}
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
}

static void see_priority_30(void *arg)
{
	(void)arg;
	check_prio(NULL, 30);
	mark("ran");
}

static void unstarted_task_starts_with_it(void)
{
	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_set_priority(&task, 30), 0);
	check_prio(&task, 30);
	CHECK_EQ(kit_status(&task), DORMANT);
	CHECK_EQ(rt_task_start(&task, see_priority_30, NULL), 0);
	kit_join(&task);
	expect_marks("ran");
}

static void suspended_task_resumes_with_it(void)
{
	CHECK_EQ(rt_task_create(&task, NULL, 0, 20, T_JOINABLE), 0);
	CHECK_EQ(rt_task_suspend(&task), 0);
	CHECK_EQ(rt_task_start(&task, see_priority_30, NULL), 0);
	CHECK_EQ(rt_task_set_priority(&task, 30), 0);
	CHECK_EQ(kit_status(&task), 0x10021);
	expect_marks("");
	CHECK_EQ(rt_task_resume(&task), 0);
	kit_join(&task);
	expect_marks("ran");
}

static void shadowed_thread_has_one_too(void)
{
	CHECK_EQ(rt_task_shadow(&task, "main", 5, 0), 0);
	check_prio(&task, 5);
	CHECK_EQ(rt_task_set_priority(NULL, 15), 0);
	check_prio(NULL, 15);
	CHECK_EQ(rt_task_set_priority(&task, 0), 0);
	check_prio(NULL, 0);
}

/* ---- Who runs ------------------------------------------------------------------------------------------------- */

static void raise_a_ready_task(void *arg)
{
	(void)arg;
	kit_spawn(&task, 40, mark_it, (void *)"raised");
	mark("started");
	CHECK_EQ(rt_task_set_priority(&task, 60), 0);
	mark("set");
	kit_join(&task);
}

/* task.md 7.30 */
static void ready_task_raised_above_the_caller_runs_at_once(void)
{
	kit_boss(raise_a_ready_task);
	expect_marks("started raised set");
}

static void raise_a_ready_task_a_little(void *arg)
{
	(void)arg;
	kit_spawn(&task, 40, mark_it, (void *)"raised");
	CHECK_EQ(rt_task_set_priority(&task, 49), 0);
	mark("set");
	kit_join(&task);
}

static void ready_task_raised_below_the_caller_waits(void)
{
	kit_boss(raise_a_ready_task_a_little);
	expect_marks("set raised");
}

static void step_down(void *arg)
{
	(void)arg;
	kit_spawn(&task, 40, mark_it, (void *)"other");
	mark("started");
	CHECK_EQ(rt_task_set_priority(NULL, 30), 0);
	mark("set");
	kit_join(&task);
}

static void caller_lowered_below_a_ready_task_gives_way(void)
{
	kit_boss(step_down);
	expect_marks("started other set");
}

static void step_up(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_set_priority(NULL, 70), 0);
	kit_spawn(&task, 60, mark_it, (void *)"other");
	mark("started");
	kit_join(&task);
}

static void caller_raised_above_another_goes_on(void)
{
	kit_boss(step_up);
	expect_marks("started other");
}

static void set_the_same(void *arg)
{
	RT_TASK lower;

	(void)arg;
	/* Creation waits for the new thread, which lets others run; starting one that is not above the caller does not. */
	CHECK_EQ(rt_task_create(&task, NULL, 0, KIT_BOSS_PRIO, T_JOINABLE), 0);
	CHECK_EQ(rt_task_create(&lower, NULL, 0, KIT_BOSS_PRIO - 1, T_JOINABLE), 0);
	CHECK_EQ(rt_task_start(&task, mark_it, (void *)"equal"), 0);
	CHECK_EQ(rt_task_start(&lower, mark_it, (void *)"lower"), 0);
	mark("started");
	CHECK_EQ(rt_task_set_priority(NULL, KIT_BOSS_PRIO), 0);
	mark("set");
	kit_join(&task);
	kit_join(&lower);
}

/* task.md 7.29 */
static void same_priority_again_lets_equals_run(void)
{
	kit_boss(set_the_same);
	expect_marks("started equal set lower");
}

static void set_the_same_on_another(void *arg)
{
	(void)arg;
	kit_spawn(&task, KIT_BOSS_PRIO, mark_it, (void *)"equal");
	CHECK_EQ(rt_task_set_priority(&task, KIT_BOSS_PRIO), 0);
	mark("set");
	kit_join(&task);
}

static void same_priority_on_another_does_nothing(void)
{
	kit_boss(set_the_same_on_another);
	expect_marks("set equal");
}

/* ---- Who is served first -------------------------------------------------------------------------------------- */

static struct waiter waiters[3];

static void queue_waiters(int first, int second, int third, int mode)
{
	clear_marks();
	MAKE_SEM(&sem, 0, mode);
	start_waiter(&waiters[0], &sem, first, "first");
	start_waiter(&waiters[1], &sem, second, "second");
	start_waiter(&waiters[2], &sem, third, "third");
}

static void serve(const char *order)
{
	int i;

	for (i = 0; i < 3; i++) {
		CHECK_EQ(rt_sem_v(&sem), 0);
		until(mark_count() == i + 1);
	}
	expect_marks(order);
	for (i = 0; i < 3; i++)
		CHECK_EQ(end_waiter(&waiters[i]), 0);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

/* sem.md 9.8 */
static void raised_waiter_moves_up(void)
{
	queue_waiters(10, 15, 12, S_PRIO);
	CHECK_EQ(rt_task_set_priority(&waiters[0].task, 50), 0);
	serve("first second third");
	queue_waiters(10, 15, 12, S_PRIO);
	CHECK_EQ(rt_task_set_priority(&waiters[0].task, 13), 0);
	serve("second first third");
}

static void lowered_waiter_moves_down(void)
{
	queue_waiters(30, 20, 10, S_PRIO);
	CHECK_EQ(rt_task_set_priority(&waiters[0].task, 15), 0);
	serve("second first third");
	queue_waiters(30, 20, 10, S_PRIO);
	CHECK_EQ(rt_task_set_priority(&waiters[0].task, 0), 0);
	serve("second third first");
}

/* common.md 9 */
static void changed_waiter_goes_behind_its_new_equals(void)
{
	queue_waiters(10, 20, 5, S_PRIO);
	CHECK_EQ(rt_task_set_priority(&waiters[0].task, 20), 0);
	serve("second first third");
	queue_waiters(30, 20, 20, S_PRIO);
	CHECK_EQ(rt_task_set_priority(&waiters[0].task, 20), 0);
	serve("second third first");
}

static void unchanged_waiter_keeps_its_place(void)
{
	queue_waiters(20, 20, 20, S_PRIO);
	CHECK_EQ(rt_task_set_priority(&waiters[0].task, 20), 0);
	serve("first second third");
}

static void fifo_queue_does_not_care(void)
{
	queue_waiters(10, 20, 30, S_FIFO);
	CHECK_EQ(rt_task_set_priority(&waiters[2].task, 90), 0);
	CHECK_EQ(rt_task_set_priority(&waiters[0].task, 0), 0);
	serve("first second third");
}

static void suspended_waiter_moves_too(void)
{
	queue_waiters(10, 20, 30, S_PRIO);
	CHECK_EQ(rt_task_suspend(&waiters[0].task), 0);
	CHECK_EQ(rt_task_set_priority(&waiters[0].task, 40), 0);
	CHECK_EQ(rt_task_resume(&waiters[0].task), 0);
	CHECK_SEM(&sem, 0, 3);
	serve("first third second");
}

/* ---- Refusals ------------------------------------------------------------------------------------------------- */

/* In this order. */
static void range_then_caller_then_descriptor(void)
{
	RT_TASK stale;

	CHECK_EQ(rt_task_set_priority(NULL, 100), -EINVAL);
	CHECK_EQ(rt_task_set_priority(NULL, -1), -EINVAL);
	CHECK_EQ(rt_task_set_priority(NULL, 1), -EPERM);
	CHECK_EQ(rt_task_create(&task, NULL, 0, 20, T_JOINABLE), 0);
	CHECK_EQ(rt_task_set_priority(&task, 100), -EINVAL);
	CHECK_EQ(rt_task_set_priority(&task, -1), -EINVAL);
	CHECK_EQ(rt_task_set_priority(&task, 0x7fffffff), -EINVAL);
	check_prio(&task, 20);
	stale = task;
	finish(&task);
	CHECK_EQ(rt_task_set_priority(&stale, 20), -EINVAL);
}

static void see_strictness(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_set_priority(NULL, 20), -EPERM);
	check_prio(NULL, 0);
	CHECK_EQ(rt_task_set_priority(NULL, 0), 0);
}

static void strict_mode_refuses_without_the_right(void)
{
	struct rerun how = { .environment = { "ALCHEMY_SCHED=strict" }, .prepare = no_fifo };

	if (!rerunning()) {
		rerun_passes(&how);
		return;
	}
	if (kit_fifo())
		SKIP("the right to SCHED_FIFO cannot be given up here");
	as_task(0, see_strictness, NULL);
	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_set_priority(&task, 1), -EPERM);
	check_prio(&task, 0);
	finish(&task);
}

KIT_CASES(
	CASE(task_changes_its_own), CASE(another_changes_it), CASE(unstarted_task_starts_with_it),
	CASE(suspended_task_resumes_with_it), CASE(shadowed_thread_has_one_too),
	CASE_FIFO(ready_task_raised_above_the_caller_runs_at_once), CASE_FIFO(ready_task_raised_below_the_caller_waits),
	CASE_FIFO(caller_lowered_below_a_ready_task_gives_way), CASE_FIFO(caller_raised_above_another_goes_on),
	CASE_FIFO(same_priority_again_lets_equals_run), CASE_FIFO(same_priority_on_another_does_nothing),
	CASE(raised_waiter_moves_up), CASE(lowered_waiter_moves_down), CASE(changed_waiter_goes_behind_its_new_equals),
	CASE(unchanged_waiter_keeps_its_place), CASE(fifo_queue_does_not_care), CASE(suspended_waiter_moves_too),
	CASE(range_then_caller_then_descriptor), CASE(strict_mode_refuses_without_the_right))
