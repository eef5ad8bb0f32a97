/* The clock of the 2.x interface (native2.md 7.10). */
#include "native-kit.h"

static void counter_is_nanoseconds(void)
{
	long long before, after;
	RTIME counter;
	int i;

	for (i = 0; i < 1000; i++) {
		before = kit_now();
		counter = rt_timer_tsc();
		after = kit_now();
		CHECK(before <= (long long)counter);
		CHECK((long long)counter <= after);
	}
	CHECK_EQ(rt_timer_ns2tsc(-7), -7);
	CHECK_EQ(rt_timer_tsc2ns(-7), -7);
	CHECK_EQ(rt_timer_ns2tsc(9223372036854775807LL), 9223372036854775807LL);
	CHECK_EQ(rt_timer_tsc2ns(9223372036854775807LL), 9223372036854775807LL);
	/* The idiom found everywhere. */
	CHECK(rt_timer_tsc2ns((SRTIME)rt_timer_tsc()) / 1000 >= before / 1000);
}

/* native2.md 11.9 */
static void tickless_by_default(void)
{
	RT_TIMER_INFO info;
	RTIME date, tsc;

	date = rt_timer_read();
	tsc = rt_timer_tsc();
	CHECK_EQ(rt_timer_inquire(&info), 0);
	CHECK(info.period == TM_ONESHOT);
	CHECK(date <= info.date && info.date <= rt_timer_read());
	CHECK(tsc <= info.tsc && info.tsc <= rt_timer_tsc());
	if (rt_timer_set_mode(TM_ONESHOT))
		CHECK(!"tickless mode was refused");
	CHECK_EQ(rt_timer_inquire(&info), 0);
	CHECK(info.period == TM_ONESHOT);
	CHECK_EQ(rt_timer_ns2ticks(1999), 1999);
	CHECK_EQ(rt_timer_ticks2ns(1999), 1999);
	CHECK_EQ(rt_timer_inquire(NULL), -EINVAL);
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
}

static void check_milliseconds(void)
{
	long long before, ticks, after;
	RT_TIMER_INFO info;
	RT_SEM sem;

	CHECK_EQ(rt_timer_inquire(&info), 0);
	CHECK_EQ(info.period, MS);
	CHECK_EQ(rt_timer_ns2ticks(1999999), 1);
	CHECK_EQ(rt_timer_ticks2ns(3), 3 * MS);
	before = kit_now();
	ticks = (long long)rt_timer_read();
	after = kit_now();
	CHECK(before / MS <= ticks && ticks <= after / MS);

	sleep_20_ticks(NULL);
	as_task(10, sleep_20_ticks, NULL);
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	before = kit_now();
	CHECK_EQ(rt_sem_p(&sem, 20), -ETIMEDOUT);
	CHECK(kit_now() - before >= 20 * MS);
	CHECK_EQ(rt_sem_delete(&sem), 0);

	/* What is not in ticks stays as it is. */
	before = kit_now();
	rt_timer_spin(5 * MS);
	CHECK(kit_now() - before >= 5 * MS);
	before = kit_now();
	CHECK((long long)rt_timer_tsc() >= before);
	CHECK_EQ(rt_timer_tsc2ns(5), 5);
}

static void check_tickless(void)
{
	RT_TIMER_INFO info;
	long long before;

	CHECK_EQ(rt_timer_inquire(&info), 0);
	CHECK_EQ(info.period, 0);
	CHECK_EQ(rt_timer_ns2ticks(1999), 1999);
	before = kit_now();
	CHECK((long long)rt_timer_read() >= before);
}

static void set_mode_sets_the_tick(void)
{
	CHECK_EQ(rt_timer_set_mode(MS), 0);
	check_milliseconds();
	CHECK_EQ(rt_timer_set_mode(TM_ONESHOT), 0);
	check_tickless();
	CHECK_EQ(rt_timer_set_mode(1), 0);
	CHECK_EQ(rt_timer_ns2ticks(1999), 1999);
}

/* rt_timer_start sets the tick too, and never fails; stop only exists. */
static void start_and_stop(void)
{
	CHECK_EQ(rt_timer_start(TM_ONESHOT), 0);
	check_tickless();
	CHECK_EQ(rt_timer_start(MS), 0);
	check_milliseconds();
	rt_timer_stop();
	CHECK(rt_timer_read() > 0);
	CHECK_EQ(rt_timer_start(~0ULL), 0);
	CHECK_EQ(rt_timer_start(TM_ONESHOT), 0);
	check_tickless();
}

static void spin(void *arg)
{
	long long start = kit_now();

	(void)arg;
	rt_timer_spin(0);
	rt_timer_spin(5 * MS);
	CHECK(kit_now() - start >= 5 * MS);
}

static void spins_its_time(void)
{
	spin(NULL);
	kit_plain(spin, NULL);
	as_task(10, spin, NULL);
}

KIT_CASES(
	CASE(counter_is_nanoseconds), CASE(tickless_by_default), CASE(set_mode_sets_the_tick), CASE(start_and_stop),
	CASE(spins_its_time))
