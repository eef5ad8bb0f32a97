/* rt_task_set_periodic: future and past dates, another period, extreme values. */
#include "kit.h"
#include "control-kit.h"
#include "period-kit.h"

static RT_TASK task;

static void set_periodic_far_away(void *arg)
{
	RTIME date = rt_timer_read() + 10000 * MS;
	struct line line;

	(void)arg;
	CHECK_EQ(rt_task_set_periodic(NULL, date, MS), 0);
	CHECK(rt_timer_read() < date);
	line = start_line(50 * MS, 10 * MS);
	wait_on(&line);
	wait_on(&line);
}

/* task.md 7.24 */
static void future_date_is_not_waited_for(void)
{
	as_tasks(set_periodic_far_away);
}

static void try_a_past_date(void *arg)
{
	struct line line;

	(void)arg;
	CHECK_EQ(rt_task_set_periodic(NULL, rt_timer_read() - 50 * MS, 7 * MS), -ETIMEDOUT);
	CHECK_EQ(rt_task_set_periodic(NULL, 1, 7 * MS), -ETIMEDOUT);
	check_not_periodic();
	line = start_line(30 * MS, 30 * MS);
	CHECK_EQ(rt_task_set_periodic(NULL, rt_timer_read() - 50 * MS, 7 * MS), -ETIMEDOUT);
	wait_on(&line);
	CHECK_EQ(rt_task_set_periodic(rt_task_self(), rt_timer_read() - 1, 7 * MS), -ETIMEDOUT);
	wait_on(&line);
	wait_on(&line);
}

/* task.md 7.23 */
static void past_date_changes_nothing(void)
{
	as_tasks(try_a_past_date);
}

static void shorten_the_period(void *arg)
{
	struct line line = start_line(20 * MS, 400 * MS);

	(void)arg;
	wait_on(&line);
	CHECK_EQ(rt_task_set_periodic(NULL, TM_NOW, 20 * MS), 0);
	if (rt_timer_read() >= line.from)
		SKIP("this machine was too slow");
	line.period = 20 * MS;
	/* Not after 20 ms: the old period ends first. */
	wait_on(&line);
	wait_on(&line);
	wait_on(&line);
}

/* task.md 7.22, the other way round: too early can be told for certain. */
static void new_period_follows_the_end_of_the_old_one(void)
{
	as_tasks(shorten_the_period);
}

static void sleep_until_date(void *date)
{
	CHECK_EQ(rt_task_sleep_until(*(RTIME *)date), 0);
	mark("witness");
}

static void lengthen_the_period(void *arg)
{
	struct line line = start_line(20 * MS, 200 * MS);
	RTIME date = line.from + 300 * MS;

	(void)arg;
	kit_spawn(&task, 10, sleep_until_date, &date);
	wait_on(&line);
	CHECK_EQ(rt_task_set_periodic(NULL, TM_NOW, 400 * MS), 0);
	if (rt_timer_read() >= line.from)
		SKIP("this machine was too slow");
	line.period = 400 * MS;
	wait_on(&line); /* after 200 ms, before the witness */
	mark("release");
	wait_on(&line); /* 400 ms later, behind it */
	mark("release");
	kit_join(&task);
}

/* task.md 7.22 */
static void longer_period_too(void)
{
	as_task(20, lengthen_the_period, NULL);
	expect_marks("release witness release");
}

static void arm_when_late(void *arg)
{
	struct line line = start_line(MS, 10 * MS);

	(void)arg;
	wait_on(&line);
	rt_task_sleep(50 * MS);
	line = start_line(50 * MS, 1000 * MS);
	CHECK_EQ(wait_on(&line), 0);
}

static void arming_forgets_missed_releases(void)
{
	as_tasks(arm_when_late);
}

static void wait_from_the_start(void *line)
{
	wait_on((struct line *)line);
	wait_on((struct line *)line);
	mark("released");
}

static void unstarted_task_is_armed(void)
{
	struct line line = { 0, 0, 20 * MS };

	CHECK_EQ(rt_task_create(&task, NULL, 0, 20, T_JOINABLE), 0);
	line.from = line.to = rt_timer_read() + 200 * MS;
	CHECK_EQ(rt_task_set_periodic(&task, line.from, line.period), 0);
	CHECK_EQ(kit_status(&task) & (DORMANT | PERIODIC), DORMANT | PERIODIC);
	CHECK_EQ(rt_task_start(&task, wait_from_the_start, &line), 0);
	kit_join(&task);
	expect_marks("released");
}

static void never_released(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_set_periodic(NULL, TM_NOW, ~0ULL - 1), 0);
	CHECK_EQ(rt_task_wait_period(NULL), -EINTR);
	CHECK_EQ(rt_task_set_periodic(NULL, ~0ULL - 1, ~0ULL - 1), 0);
	CHECK_EQ(rt_task_wait_period(NULL), -EINTR);
	mark("interrupted");
}

static void huge_values_do_not_wrap(void)
{
	int i;

	kit_spawn(&task, 20, never_released, NULL);
	for (i = 0; i < 2; i++) {
		until(kit_status(&task) == 0x80091);
		kit_nap(10 * MS);
		CHECK_EQ(kit_status(&task), 0x80091);
		CHECK_EQ(rt_task_unblock(&task), 0);
	}
	kit_join(&task);
	expect_marks("interrupted");
}

/* 20,000 ticks are 20 ms. */
static void periods_count_ticks(void)
{
	long long start;

	if (!rerun_with("ALCHEMY_CLOCK_RESOLUTION=1000"))
		return;
	start = kit_now();
	CHECK_EQ(rt_task_shadow(NULL, NULL, 0, 0), 0);
	CHECK_EQ(rt_task_set_periodic(NULL, TM_NOW, 20000), 0);
	rt_task_wait_period(NULL);
	CHECK(since(start) >= 20 * MS);
}

KIT_CASES(
	CASE(future_date_is_not_waited_for), CASE(past_date_changes_nothing), CASE(new_period_follows_the_end_of_the_old_one),
	CASE_FIFO(longer_period_too), CASE(arming_forgets_missed_releases), CASE(unstarted_task_is_armed),
	CASE(huge_values_do_not_wrap), CASE(periods_count_ticks))
