/* rt_task_wait_period: release points, overruns, what happens to a task that waits for its period. */
#include "kit.h"
#include "control-kit.h"
#include "period-kit.h"

static RT_TASK task;

/* ---- Releases ------------------------------------------------------------------------------------------------- */

static void switch_on_and_off(void *arg)
{
	(void)arg;
	check_not_periodic();
	CHECK_EQ(rt_task_set_periodic(NULL, TM_NOW, TM_INFINITE), 0);
	check_not_periodic();
	start_now(MS);
	CHECK_EQ(kit_status(rt_task_self()), 0x91);
	CHECK_EQ(rt_task_set_periodic(rt_task_self(), 12345, TM_INFINITE), 0);
	check_not_periodic();
}

/* task.md 7.16 */
static void not_periodic_means_no_wait(void)
{
	unsigned long overruns = 77;

	as_tasks(switch_on_and_off);
	CHECK_EQ(rt_task_wait_period(&overruns), -EWOULDBLOCK);
	CHECK_EQ(overruns, 77);
}

static void twenty_releases(void *arg)
{
	struct line line = start_now(20 * MS);
	int i;

	(void)arg;
	wait_on(&line);
	CHECK_EQ(rt_task_set_periodic(NULL, TM_NOW, TM_INFINITE), 0);
	line = start_now(5 * MS);
	for (i = 0; i < 20; i++)
		wait_on(&line);
	CHECK_EQ(rt_task_set_periodic(NULL, TM_NOW, TM_INFINITE), 0);
	line = start_line(10 * MS, 2 * MS);
	for (i = 0; i < 50; i++)
		wait_on(&line);
}

/* task.md 7.17: never early, no drift, and the count is written. */
static void releases_come_every_period(void)
{
	as_tasks(twenty_releases);
}

static void be_late(void *arg)
{
	struct line line = start_line(20 * MS, 100 * MS);
	RTIME release = line.from;

	(void)arg;
	wait_on(&line);
	/* 1.25 periods: the next release is past, the one after is not. */
	rt_task_sleep_until(release + 125 * MS);
	wait_on(&line);
	wait_on(&line);

	line = start_line(20 * MS, 40 * MS);
	release = line.from;
	wait_on(&line);
	/* 3.75 periods: two more than the next. */
	rt_task_sleep_until(release + 150 * MS);
	CHECK(wait_on(&line) >= 2);
	wait_on(&line);
	wait_on(&line);
}

/* task.md 7.18, 7.19 */
static void late_waits_count_overruns_and_stay_on_the_grid(void)
{
	as_tasks(be_late);
}

static void wait_late_beside_a_witness(void *arg)
{
	struct line line = start_line(10 * MS, 200 * MS);
	RTIME release = line.from;

	(void)arg;
	wait_on(&line);
	kit_spawn(&task, 10, mark_it, (void *)"witness");
	while (rt_timer_read() < release + 250 * MS)
		;
	mark("late");
	if (wait_on(&line) == 0)
		mark("at-once");
	else
		SKIP("this machine was too slow");
	CHECK_EQ(rt_task_set_periodic(NULL, TM_NOW, TM_INFINITE), 0);
}

/* task.md 7.18: a lower task gets no chance in between. */
static void past_release_is_returned_without_a_wait(void)
{
	as_task(20, wait_late_beside_a_witness, NULL);
	kit_join(&task);
	expect_marks("late at-once witness");
}

/* ---- While somebody waits ------------------------------------------------------------------------------------- */

static struct line shared;

static void wait_on_shared(void *delay)
{
	shared = start_line(*(RTIME *)delay, 50 * MS);
	wait_on(&shared);
	mark("released");
}

/* A task that waits for a release `delay` from now. */
static void start_periodic(RTIME delay)
{
	static RTIME kept;

	kept = delay;
	kit_spawn(&task, 20, wait_on_shared, &kept);
	until(kit_status(&task) == 0x80091);
}

/* task.md 7.20; wait_on sees that it is not ended early. */
static void signals_and_suspension_do_not_end_the_wait(void)
{
	RT_TASK_INFO info;

	no_held_back_signals();
	count_sigusr1();
	start_periodic(1000 * MS);
	CHECK_EQ(rt_task_inquire(&task, &info), 0);
	CHECK(info.stat.timeout > 0 && info.stat.timeout <= 1000 * MS);
	send_sigusr1(&task);
	until(signal_count() == 1);
	CHECK_EQ(rt_task_suspend(&task), 0);
	CHECK_EQ(kit_status(&task), 0x800b1);
	kit_nap(5 * MS);
	CHECK_EQ(rt_task_resume(&task), 0);
	kit_join(&task);
	expect_marks("released");
}

static void wait_interrupted(void *arg)
{
	struct line line = start_line(500 * MS, 50 * MS);
	unsigned long overruns = 77;

	(void)arg;
	CHECK_EQ(rt_task_wait_period(&overruns), -EINTR);
	CHECK_EQ(overruns, 77);
	mark("interrupted");
	wait_on(&line);
	mark("released");
	wait_on(&line);
}

/* task.md 7.21 */
static void unblocked_wait_is_followed_by_the_next_release(void)
{
	kit_spawn(&task, 20, wait_interrupted, NULL);
	until(kit_status(&task) == 0x80091);
	CHECK_EQ(rt_task_unblock(&task), 0);
	kit_join(&task);
	expect_marks("interrupted released");
}

/* The wait goes on until timing is on again, and follows the new line. */
static void timing_may_end_during_the_wait(void)
{
	start_periodic(500 * MS);
	CHECK_EQ(rt_task_set_periodic(&task, TM_NOW, TM_INFINITE), 0);
	kit_nap(600 * MS);
	CHECK(kit_blocked(&task));
	expect_marks("");
	shared.from = shared.to = rt_timer_read() + 200 * MS;
	mark("armed");
	CHECK_EQ(rt_task_set_periodic(&task, shared.from, shared.period), 0);
	kit_join(&task);
	expect_marks("armed released");
}

static void wait_in_vain(void *arg)
{
	unsigned long overruns = 77;

	(void)arg;
	start_line(1000000 * MS, MS);
	CHECK_EQ(rt_task_wait_period(&overruns), -EINTR);
	CHECK_EQ(overruns, 77);
	check_not_periodic();
}

static void wait_without_timing_is_unblocked(void)
{
	kit_spawn(&task, 20, wait_in_vain, NULL);
	until(kit_status(&task) == 0x80091);
	CHECK_EQ(rt_task_set_periodic(&task, TM_NOW, TM_INFINITE), 0);
	kit_nap(5 * MS);
	CHECK_EQ(rt_task_unblock(&task), 0);
	kit_join(&task);
}

KIT_CASES(
	CASE(not_periodic_means_no_wait), CASE(releases_come_every_period),
	CASE(late_waits_count_overruns_and_stay_on_the_grid), CASE_FIFO(past_release_is_returned_without_a_wait),
	CASE(signals_and_suspension_do_not_end_the_wait), CASE(unblocked_wait_is_followed_by_the_next_release),
	CASE(timing_may_end_during_the_wait), CASE(wait_without_timing_is_unblocked))
