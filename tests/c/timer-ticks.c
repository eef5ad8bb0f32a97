/* Ticks longer than a nanosecond: each case runs in a process started with ALCHEMY_CLOCK_RESOLUTION. */
#include "kit.h"
#include "tasks.h"
#include "child.h"

#define MS 1000000LL

/* timer.md 5.4 */
static void microseconds(void)
{
	RT_TIMER_INFO info;
	RTIME before, after;

	if (!rerun_with("ALCHEMY_CLOCK_RESOLUTION=1000"))
		return;
	CHECK_EQ(rt_timer_ns2ticks(1999), 1);
	CHECK_EQ(rt_timer_ns2ticks(-1999), -1);
	CHECK_EQ(rt_timer_ns2ticks(-1500), -1);
	CHECK_EQ(rt_timer_ns2ticks(999), 0);
	CHECK_EQ(rt_timer_ns2ticks(-999), 0);
	CHECK_EQ(rt_timer_ns2ticks(1000), 1);
	CHECK_EQ(rt_timer_ns2ticks(9223372036854775807LL), 9223372036854775LL);
	CHECK_EQ(rt_timer_ns2ticks(-9223372036854775807LL - 1), -9223372036854775LL);
	CHECK_EQ(rt_timer_ticks2ns(3), 3000);
	CHECK_EQ(rt_timer_ticks2ns(-3), -3000);
	CHECK_EQ(rt_timer_ticks2ns(0), 0);
	before = rt_timer_read();
	rt_timer_inquire(&info);
	after = rt_timer_read();
	CHECK_EQ(info.period, 1000);
	CHECK(before <= info.date && info.date <= after);
}

static void overflow_does_not_trap(void)
{
	volatile SRTIME sink;

	if (!rerun_with("ALCHEMY_CLOCK_RESOLUTION=1000000000"))
		return;
	sink = rt_timer_ticks2ns(9223372036854775807LL);
	sink = rt_timer_ticks2ns(-9223372036854775807LL - 1);
	sink = rt_timer_ns2ticks(-9223372036854775807LL - 1);
	CHECK_EQ(sink, -9223372036LL);
}

/* The clock is monotonic nanoseconds divided by the tick, rounded down. */
static void check_read(long long tick)
{
	long long before, after, ticks;
	int i;

	for (i = 0; i < 1000; i++) {
		before = kit_now();
		ticks = (long long)rt_timer_read();
		after = kit_now();
		CHECK(ticks >= before / tick);
		CHECK(ticks <= after / tick);
		CHECK_EQ(rt_timer_ticks2ns(ticks), ticks * tick);
		CHECK_EQ(rt_timer_ns2ticks(rt_timer_ticks2ns(ticks)), ticks);
	}
}

static void reading_microseconds(void)
{
	if (rerun_with("ALCHEMY_CLOCK_RESOLUTION=1000"))
		check_read(1000);
}

static void reading_seconds(void)
{
	if (rerun_with("ALCHEMY_CLOCK_RESOLUTION=1000000000"))
		check_read(1000000000);
}

static void reading_a_tick_that_does_not_divide_a_second(void)
{
	if (rerun_with("ALCHEMY_CLOCK_RESOLUTION=300"))
		check_read(300);
}

static void sleep_until_in_300ns_ticks(void *arg)
{
	RTIME date = rt_timer_read() + (RTIME)rt_timer_ns2ticks(10 * MS);

	(void)arg;
	CHECK_EQ(rt_task_sleep_until(date), 0);
	CHECK(kit_now() >= (long long)date * 300);
	CHECK(rt_timer_read() >= date);
}

/* timer.md 5.5 */
static void dates_in_300ns_ticks(void)
{
	struct timespec ts;

	if (!rerun_with("ALCHEMY_CLOCK_RESOLUTION=300"))
		return;
	sleep_until_in_300ns_ticks(NULL);
	as_task(0, sleep_until_in_300ns_ticks, NULL);
	as_task(40, sleep_until_in_300ns_ticks, NULL);
	/* Exact: no 100 ns lost each second. */
	CHECK(alchemy_abs_timeout(10000000000ULL, &ts) == &ts);
	CHECK_EQ(ts.tv_sec, 3000);
	CHECK_EQ(ts.tv_nsec, 0);
	CHECK(alchemy_abs_timeout(10000000001ULL, &ts) == &ts);
	CHECK_EQ(ts.tv_sec, 3000);
	CHECK_EQ(ts.tv_nsec, 300);
}

/* timer.md 5.6; exit status 0 of --list would mean that main was reached. */
static void check_refused(const char *setting)
{
	struct rerun how = { .environment = { setting }, .argument = "--list" };

	CHECK_EQ(rerun(&how), 1);
	CHECK(how.text[0] != '\0'); /* with a message */
}

static void bad_resolutions_are_refused_before_main(void)
{
	check_refused("ALCHEMY_CLOCK_RESOLUTION=0");
	check_refused("ALCHEMY_CLOCK_RESOLUTION=abc");
	check_refused("ALCHEMY_CLOCK_RESOLUTION=2000000000");
	check_refused("ALCHEMY_CLOCK_RESOLUTION=1000000001");
	check_refused("ALCHEMY_CLOCK_RESOLUTION=-1");
	check_refused("ALCHEMY_CLOCK_RESOLUTION=1000x");
	check_refused("ALCHEMY_CLOCK_RESOLUTION=18446744073709551617");
}

static void good_resolutions_are_accepted(void)
{
	struct rerun one = { .environment = { "ALCHEMY_CLOCK_RESOLUTION=1" } };
	struct rerun most = { .environment = { "ALCHEMY_CLOCK_RESOLUTION=1000000000" } };
	RT_TIMER_INFO info;

	if (rerunning()) {
		rt_timer_inquire(&info);
		CHECK_EQ(info.period, atoll(getenv("ALCHEMY_CLOCK_RESOLUTION")));
		return;
	}
	rerun_passes(&one);
	rerun_passes(&most);
}

/* timer.md 5.8 */
static void spin_counts_nanoseconds(void)
{
	long long start;

	if (!rerun_with("ALCHEMY_CLOCK_RESOLUTION=1000"))
		return;
	start = kit_now();
	rt_timer_spin(5000000);
	CHECK(kit_now() - start >= 5 * MS);
	/* Not 5,000 s, or the watchdog would have come. */
	start = kit_now();
	rt_timer_spin(5); /* nor is it rounded to ticks: no upper bound can be tested, but it comes back */
	CHECK(kit_now() - start >= 5);
}

static void sleep_20_ticks(void *arg)
{
	long long start = kit_now();

	(void)arg;
	CHECK_EQ(rt_task_sleep(20), 0);
	CHECK(kit_now() - start >= 20 * MS);
	start = kit_now();
	CHECK_EQ(rt_task_sleep_until(rt_timer_read() + 20), 0);
	CHECK(kit_now() - start > 19 * MS);
	CHECK_EQ(rt_task_sleep_until(rt_timer_read()), -ETIMEDOUT);
	CHECK_EQ(rt_task_sleep(0), 0);
}

/* timer.md 5.13 */
static void sleeping_milliseconds(void)
{
	if (!rerun_with("ALCHEMY_CLOCK_RESOLUTION=1000000"))
		return;
	sleep_20_ticks(NULL);
	as_task(0, sleep_20_ticks, NULL);
	as_task(40, sleep_20_ticks, NULL);
}

/* timer.md 4: every timeout is scaled, timespecs are not. */
static void timeouts_of_milliseconds(void)
{
	struct timespec date;
	RT_TASK task;
	RT_SEM sem;
	long long start;

	if (!rerun_with("ALCHEMY_CLOCK_RESOLUTION=1000000"))
		return;
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	start = kit_now();
	CHECK_EQ(rt_sem_p(&sem, 20), -ETIMEDOUT);
	CHECK(kit_now() - start >= 20 * MS);
	start = kit_now();
	CHECK_EQ(rt_sem_p_until(&sem, rt_timer_read() + 20), -ETIMEDOUT);
	CHECK(kit_now() - start > 19 * MS);
	start = kit_now();
	CHECK_EQ(rt_task_bind(&task, "absent", 20), -ETIMEDOUT);
	CHECK(kit_now() - start >= 20 * MS);
	start = kit_now();
	CHECK_EQ(rt_sem_bind(&sem, "absent", 20), -ETIMEDOUT);
	CHECK(kit_now() - start >= 20 * MS);

	/* In ticks this date is 10^6 times as far away: the watchdog would come. */
	clock_gettime(CLOCK_MONOTONIC, &date);
	date.tv_nsec = 0;
	date.tv_sec += 1;
	CHECK_EQ(rt_sem_p_timed(&sem, &date), -ETIMEDOUT);
	CHECK(kit_now() >= date.tv_sec * 1000000000LL);
	/* The special values stay what they are. */
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_p_until(&sem, TM_NONBLOCK), -EWOULDBLOCK);
}

static void sleep_1000_s(void *arg)
{
	(void)arg;
	rt_task_sleep(1000000);
}

/* stat.timeout is in nanoseconds whatever the tick. */
static void time_left_is_in_nanoseconds(void)
{
	RT_TASK_INFO info;
	RT_TASK task;

	if (!rerun_with("ALCHEMY_CLOCK_RESOLUTION=1000000"))
		return;
	kit_spawn_blocked(&task, 10, sleep_1000_s, NULL);
	CHECK_EQ(rt_task_inquire(&task, &info), 0);
	CHECK(info.stat.timeout <= 1000000 * (ticks_t)MS);
	CHECK(info.stat.timeout > 900000 * (ticks_t)MS);
}

static void take_with_huge_delay(void *sem)
{
	CHECK_EQ(rt_sem_p((RT_SEM *)sem, TM_NONBLOCK - 1), 0);
}

static void take_before_huge_date(void *sem)
{
	CHECK_EQ(rt_sem_p_until((RT_SEM *)sem, TM_NONBLOCK - 1), 0);
}

/* Ticks that do not fit 64 bits of nanoseconds are very late, not early. */
static void huge_values_saturate(void)
{
	RT_TASK task[2];
	RT_SEM sem;
	int i;

	if (!rerun_with("ALCHEMY_CLOCK_RESOLUTION=1000"))
		return;
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	kit_spawn_blocked(&task[0], 10, take_with_huge_delay, &sem);
	kit_spawn_blocked(&task[1], 10, take_before_huge_date, &sem);
	kit_nap(20 * MS);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(kit_status(&task[i]), 0x40011);
		CHECK_EQ(rt_sem_v(&sem), 0);
	}
	for (i = 0; i < 2; i++)
		kit_join(&task[i]);
}

KIT_CASES(
	CASE(microseconds), CASE(overflow_does_not_trap), CASE(reading_microseconds), CASE(reading_seconds),
	CASE(reading_a_tick_that_does_not_divide_a_second), CASE(dates_in_300ns_ticks),
	CASE(bad_resolutions_are_refused_before_main), CASE(good_resolutions_are_accepted),
	CASE(spin_counts_nanoseconds), CASE(sleeping_milliseconds), CASE(timeouts_of_milliseconds),
	CASE(time_left_is_in_nanoseconds), CASE(huge_values_saturate))
