/* rt_task_suspend, rt_task_resume: on tasks that compute, wait, sleep, have not started; nesting; signals. */
#include "kit.h"
#include "control-kit.h"

static RT_SEM sem;
static RT_TASK task;
static int result = 1;

static void suspend_oneself(void *arg)
{
	(void)arg;
	result = rt_task_suspend(NULL);
	mark("goes-on");
}

/* A task that has suspended itself. */
static void stop_a_task(int prio)
{
	result = 1;
	kit_spawn(&task, prio, suspend_oneself, NULL);
	until(kit_status(&task) == 0x31);
}

/* It has time to run, and does not. */
static void check_stays_suspended(RT_TASK *stopped)
{
	int marks = mark_count();

	kit_nap(10 * MS);
	CHECK(kit_status(stopped) & SUSPENDED);
	CHECK_EQ(mark_count(), marks);
}

/* ---- Before the start ----------------------------------------------------------------------------------------- */

/* task.md 7.6 */
static void start_does_not_wait_for_a_suspended_task(void)
{
	CHECK_EQ(rt_task_create(&task, NULL, 0, 60, T_JOINABLE), 0);
	CHECK_EQ(rt_task_suspend(&task), 0);
	CHECK_EQ(kit_status(&task), 0x10020);
	CHECK_EQ(rt_task_start(&task, mark_it, (void *)"runs"), 0);
	mark("started");
	CHECK_EQ(kit_status(&task), 0x10021);
	check_stays_suspended(&task);
	mark("resume");
	CHECK_EQ(rt_task_resume(&task), 0);
	kit_join(&task);
	expect_marks("started resume runs");
}

static void dormant_task_resumed_before_its_start_runs(void)
{
	CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_JOINABLE), 0);
	CHECK_EQ(rt_task_suspend(&task), 0);
	CHECK_EQ(rt_task_suspend(&task), 0);
	CHECK_EQ(rt_task_resume(&task), 0);
	CHECK_EQ(kit_status(&task), 0x10020);
	CHECK_EQ(rt_task_resume(&task), 0);
	CHECK_EQ(kit_status(&task), 0x10000);
	CHECK_EQ(rt_task_resume(&task), 0);
	CHECK_EQ(rt_task_start(&task, mark_it, (void *)"runs"), 0);
	kit_join(&task);
	expect_marks("runs");
}

/* ---- Nesting -------------------------------------------------------------------------------------------------- */

/* task.md 7.7 */
static void each_suspend_takes_one_resume(void)
{
	struct waiter waiter;
	int i;

	MAKE_SEM(&sem, 0, S_FIFO);
	start_waiter(&waiter, &sem, 60, "granted");
	for (i = 0; i < 3; i++)
		CHECK_EQ(rt_task_suspend(&waiter.task), 0);
	CHECK_EQ(kit_status(&waiter.task), 0x20031);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 0, 0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(rt_task_resume(&waiter.task), 0);
		check_stays_suspended(&waiter.task);
	}
	mark("third");
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	CHECK_EQ(end_waiter(&waiter), 0);
	expect_marks("third granted");
}

/* task.md 7.8 */
static void own_suspension_counts_like_anothers(void)
{
	stop_a_task(20);
	CHECK_EQ(rt_task_suspend(&task), 0);
	CHECK_EQ(rt_task_resume(&task), 0);
	check_stays_suspended(&task);
	mark("second");
	CHECK_EQ(rt_task_resume(&task), 0);
	kit_join(&task);
	CHECK_EQ(result, 0);
	expect_marks("second goes-on");
}

static void resume_then_suspend_oneself(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
	CHECK_EQ(rt_task_resume(rt_task_self()), 0);
	suspend_oneself(NULL);
}

/* task.md 7.9 */
static void resume_is_not_remembered(void)
{
	int i;

	MAKE_SEM(&sem, 0, S_FIFO);
	kit_spawn_blocked(&task, 20, resume_then_suspend_oneself, NULL);
	for (i = 0; i < 3; i++)
		CHECK_EQ(rt_task_resume(&task), 0);
	CHECK(kit_blocked(&task));
	CHECK_EQ(rt_sem_v(&sem), 0);
	until(kit_status(&task) == 0x31);
	check_stays_suspended(&task);
	CHECK_EQ(rt_task_resume(&task), 0);
	kit_join(&task);
	CHECK_EQ(result, 0);
}

static void suspend_by_descriptor(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_suspend(&task), 0);
	CHECK_EQ(rt_task_suspend(rt_task_self()), 0);
}

static void own_descriptor_means_oneself(void)
{
	int i;

	CHECK_EQ(rt_task_create(&task, NULL, 0, 20, T_JOINABLE), 0);
	CHECK_EQ(rt_task_start(&task, suspend_by_descriptor, NULL), 0);
	for (i = 0; i < 2; i++) {
		until(kit_status(&task) == 0x31);
		CHECK_EQ(rt_task_resume(&task), 0);
	}
	kit_join(&task);
}

/* ---- Order ---------------------------------------------------------------------------------------------------- */

static void resumed_higher_task_runs_before_resume_returns(void)
{
	stop_a_task(60);
	mark("resume");
	CHECK_EQ(rt_task_resume(&task), 0);
	mark("resumed");
	kit_join(&task);
	expect_marks("resume goes-on resumed");
}

static void resume_a_lower_task(void *arg)
{
	(void)arg;
	stop_a_task(10);
	CHECK_EQ(rt_task_resume(&task), 0);
	mark("resumed");
	kit_join(&task);
}

static void resumed_lower_task_runs_later(void)
{
	kit_boss(resume_a_lower_task);
	expect_marks("resumed goes-on");
}

/* ---- Signals and rt_task_unblock ------------------------------------------------------------------------------ */

/* task.md 7.10; the handler runs when the task does. */
static void signals_and_unblock_do_not_resume(void)
{
	no_held_back_signals();
	count_sigusr1();
	stop_a_task(20);
	send_sigusr1(&task);
	check_stays_suspended(&task);
	CHECK_EQ(signal_count(), 0);
	CHECK_EQ(rt_task_unblock(&task), 0);
	check_stays_suspended(&task);
	mark("resume");
	CHECK_EQ(rt_task_resume(&task), 0);
	kit_join(&task);
	CHECK_EQ(result, 0);
	CHECK_EQ(signal_count(), 1);
	expect_marks("resume goes-on");
}

static void ignore_everything_and_nap(void *count)
{
	long long start = kit_now();
	sigset_t all;

	sigfillset(&all);
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, &all, NULL), 0);
	while (__atomic_add_fetch((int *)count, 1, __ATOMIC_RELAXED) > 0 && since(start) < SPIN_LIMIT)
		CHECK_EQ(rt_task_sleep(100000), 0);
	mark("ends");
}

/* Decision 35: it stops at its next wait at the latest. */
static void task_that_blocks_all_signals_stops(void)
{
	int count = 0, before;

	kit_spawn(&task, 10, ignore_everything_and_nap, &count);
	until(__atomic_load_n(&count, __ATOMIC_RELAXED) > 3);
	CHECK_EQ(rt_task_suspend(&task), 0);
	do {
		before = __atomic_load_n(&count, __ATOMIC_RELAXED);
		kit_nap(20 * MS);
		CHECK_EQ(mark_count(), 0);
	} while (__atomic_load_n(&count, __ATOMIC_RELAXED) != before);
	CHECK(kit_status(&task) & SUSPENDED);
	CHECK_EQ(rt_task_resume(&task), 0);
	until(__atomic_load_n(&count, __ATOMIC_RELAXED) > before + 1);
	__atomic_store_n(&count, -1, __ATOMIC_RELAXED);
	kit_join(&task);
}

/* ---- Tasks that compute --------------------------------------------------------------------------------------- */

/* On one CPU: not one more turn. */
static void stop_spinner_often(void *arg)
{
	struct spinner spinner;
	unsigned long turns;
	int i;

	(void)arg;
	start_spinner(&spinner, 10);
	for (i = 0, turns = 0; i < 100; i++) {
		until(turns_of(&spinner) > turns);
		CHECK_EQ(rt_task_suspend(&spinner.task), 0);
		turns = turns_of(&spinner);
		CHECK_EQ(kit_status(&spinner.task), 0x31);
		kit_nap(MS);
		CHECK_EQ(turns_of(&spinner), turns);
		CHECK_EQ(rt_task_resume(&spinner.task), 0);
	}
	end_spinner(&spinner);
}

static void spinner_stops_before_suspend_returns(void)
{
	no_held_back_signals();
	kit_boss(stop_spinner_often);
}

static void spinner_on_another_cpu_stops(void)
{
	struct spinner spinner;
	unsigned long turns;
	int i;

	no_held_back_signals();
	kit_unpin();
	start_spinner(&spinner, 0);
	for (i = 0, turns = 0; i < 100; i++) {
		until(turns_of(&spinner) > turns);
		CHECK_EQ(rt_task_suspend(&spinner.task), 0);
		kit_nap(MS);
		turns = turns_of(&spinner);
		kit_nap(2 * MS);
		CHECK_EQ(turns_of(&spinner), turns);
		CHECK_EQ(rt_task_resume(&spinner.task), 0);
	}
	end_spinner(&spinner);
}

static long long spin_start;
static RTIME spin_took, spin_cpu_time;

static void spin_300_ms(void *arg)
{
	RTIME cpu_time = own_cpu_time();

	(void)arg;
	__atomic_store_n(&spin_start, kit_now(), __ATOMIC_RELEASE);
	rt_timer_spin(300 * MS);
	spin_took = since(spin_start);
	spin_cpu_time = own_cpu_time() - cpu_time;
}

static void suspend_the_spin(void *arg)
{
	RTIME before;

	(void)arg;
	kit_spawn(&task, 10, spin_300_ms, NULL);
	until(__atomic_load_n(&spin_start, __ATOMIC_ACQUIRE) != 0);
	CHECK_EQ(rt_task_suspend(&task), 0);
	before = since(spin_start);
	kit_nap(400 * MS);
	CHECK_EQ(rt_task_resume(&task), 0);
	kit_join(&task);
	CHECK(spin_took >= 400 * MS);
	/* It does not make up for the time it was stopped. */
	CHECK(before > 150 * MS || spin_cpu_time < 280 * MS);
}

/* timer.md 5.10 */
static void suspended_time_counts_for_a_spin(void)
{
	no_held_back_signals();
	kit_boss(suspend_the_spin);
}

/* ---- Races ---------------------------------------------------------------------------------------------------- */

enum { STOPS = 3000, HALTS = 2000 };

static int stops;

static void suspend_oneself_often(void *arg)
{
	(void)arg;
	while (stops < STOPS) {
		CHECK_EQ(rt_task_suspend(NULL), 0);
		__atomic_add_fetch(&stops, 1, __ATOMIC_RELEASE);
	}
}

/* One resume as soon as the count is seen to be up, the task having stopped or not. */
static void resume_of_a_task_about_to_stop_is_not_lost(void)
{
	int i;

	kit_unpin();
	kit_spawn(&task, 0, suspend_oneself_often, NULL);
	for (i = 0; i < STOPS; i++) {
		while (!(kit_status(&task) & SUSPENDED))
			sched_yield();
		CHECK_EQ(rt_task_resume(&task), 0);
		while (__atomic_load_n(&stops, __ATOMIC_ACQUIRE) == i)
			sched_yield();
	}
	kit_join(&task);
}

static int done;

static void take_and_give_back(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
		int got = rt_sem_p(&sem, 20000);

		CHECK(got == 0 || got == -ETIMEDOUT);
		if (got == 0)
			CHECK_EQ(rt_sem_v(&sem), 0);
	}
}

/* Stopped anywhere, a task leaves its semaphores usable for others, and no token is lost. */
static void stopped_task_holds_nothing_up(void)
{
	RT_TASK busy[3];
	int i;

	kit_unpin();
	MAKE_SEM(&sem, 1, S_PRIO);
	for (i = 0; i < 3; i++)
		kit_spawn(&busy[i], 0, take_and_give_back, NULL);
	for (i = 0; i < HALTS; i++) {
		CHECK_EQ(rt_task_suspend(&busy[i % 3]), 0);
		CHECK_EQ(rt_sem_v(&sem), 0);
		CHECK(sem_waiters(&sem) <= 3);
		if (rt_sem_p(&sem, TM_NONBLOCK) == 0)
			CHECK_EQ(rt_sem_v(&sem), 0);
		CHECK_EQ(rt_task_resume(&busy[i % 3]), 0);
	}
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 3; i++)
		kit_join(&busy[i]);
	CHECK_SEM(&sem, 1 + HALTS, 0);
}

KIT_CASES(
	CASE(start_does_not_wait_for_a_suspended_task), CASE(dormant_task_resumed_before_its_start_runs),
	CASE(each_suspend_takes_one_resume), CASE(own_suspension_counts_like_anothers), CASE(resume_is_not_remembered),
	CASE(own_descriptor_means_oneself), CASE_FIFO(resumed_higher_task_runs_before_resume_returns),
	CASE_FIFO(resumed_lower_task_runs_later), CASE(signals_and_unblock_do_not_resume),
	CASE(task_that_blocks_all_signals_stops), CASE(spinner_stops_before_suspend_returns),
	CASE(spinner_on_another_cpu_stops), CASE(suspended_time_counts_for_a_spin),
	CASE(resume_of_a_task_about_to_stop_is_not_lost), CASE(stopped_task_holds_nothing_up))
