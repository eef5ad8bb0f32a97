/* rt_timer_*: reading, converting, spinning; ticks of other lengths in processes started for that. */
#include "kit.h"
#include "tasks.h"
#include "child.h"

#include <alchemy/timer.h>
#include <sys/time.h>

#define MS 1000000LL

static void use_all_cpus(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	CHECK_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* ---- The clock ------------------------------------------------------------------------------------------------ */

static void read_it(void *arg)
{
	long long before, after, ticks;
	int i;

	(void)arg;
	for (i = 0; i < 1000; i++) {
		before = kit_now();
		ticks = (long long)rt_timer_read();
		after = kit_now();
		CHECK(before <= ticks);
		CHECK(ticks <= after);
	}
}

/* timer.md 5.1 */
static void reads_the_monotonic_clock(void)
{
	read_it(NULL);
	kit_plain(read_it, NULL);
	as_task(10, read_it, NULL);
}

/* The half of timer.md 5.12 that needs no change of the wall clock: it is not what is read. */
static void is_not_the_wall_clock(void)
{
	struct timespec wall;
	long long ns;

	CHECK_EQ(clock_gettime(CLOCK_REALTIME, &wall), 0);
	ns = wall.tv_sec * 1000000000LL + wall.tv_nsec;
	if (llabs(ns - kit_now()) < 3600 * 1000 * MS)
		SKIP("the wall clock shows the time since boot");
	CHECK(llabs(ns - (long long)rt_timer_read()) >= 3600 * 1000 * MS);
}

static RTIME latest;

static void *read_and_publish(void *arg)
{
	RTIME seen, now;
	int i;

	for (i = 0; i < 1000000; i++) {
		seen = __atomic_load_n(&latest, __ATOMIC_SEQ_CST);
		now = rt_timer_read();
		CHECK(now >= seen);
		while (seen < now && !__atomic_compare_exchange_n(&latest, &seen, now, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			;
	}
	return arg;
}

/* timer.md 5.2 */
static void never_decreases_across_threads(void)
{
	pthread_t thread[4];
	int i;

	use_all_cpus();
	for (i = 0; i < 4; i++)
		thread[i] = start_thread(read_and_publish, NULL);
	for (i = 0; i < 4; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
}

static void inquire_it(void *arg)
{
	RT_TIMER_INFO info;
	RTIME before, after;

	(void)arg;
	before = rt_timer_read();
	rt_timer_inquire(&info);
	after = rt_timer_read();
	CHECK_EQ(info.period, 1);
	CHECK(before <= info.date);
	CHECK(info.date <= after);
	rt_timer_inquire(NULL);
}

/* timer.md 5.7 */
static void inquire_tells_tick_and_date(void)
{
	inquire_it(NULL);
	kit_plain(inquire_it, NULL);
	as_task(10, inquire_it, NULL);
}

/* timer.md 5.3 */
static void conversions_are_the_identity(void)
{
	static const SRTIME values[] = { -7, 0, 1, 1999, -1999, 1LL << 40, 9223372036854775807LL, -9223372036854775807LL - 1 };
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		CHECK_EQ(rt_timer_ns2ticks(values[i]), values[i]);
		CHECK_EQ(rt_timer_ticks2ns(values[i]), values[i]);
	}
}

/* ---- Spinning ------------------------------------------------------------------------------------------------- */

static void spin_5ms(void *arg)
{
	long long start = kit_now();

	(void)arg;
	rt_timer_spin(5 * MS);
	CHECK(kit_now() - start >= 5 * MS);
}

static void spins_its_time(void)
{
	spin_5ms(NULL);
	kit_plain(spin_5ms, NULL);
	as_task(0, spin_5ms, NULL);
	as_task(10, spin_5ms, NULL);
}

static void spin_zero(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 1000; i++)
		rt_timer_spin(0);
}

/* timer.md 5.9 (without the alarm handler): comes back, from everywhere. */
static void spin_of_zero(void)
{
	spin_zero(NULL);
	kit_plain(spin_zero, NULL);
	as_task(10, spin_zero, NULL);
}

static int signals;

static void count_signal(int signal)
{
	(void)signal;
	signals++;
}

/* timer.md 5.11 (without rt_task_unblock) */
static void signals_do_not_end_it(void)
{
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	long long start = kit_now();

	signal(SIGALRM, count_signal);
	CHECK_EQ(setitimer(ITIMER_REAL, &every, NULL), 0);
	rt_timer_spin(50 * MS);
	CHECK(kit_now() - start >= 50 * MS);
	CHECK(signals > 0);
}

static void mark_it(void *text)
{
	mark((const char *)text);
}

static void spin_beside_equals(void *arg)
{
	RT_TASK *task = (RT_TASK *)arg;

	CHECK_EQ(rt_task_start(&task[0], mark_it, (void *)"equal"), 0);
	CHECK_EQ(rt_task_start(&task[1], mark_it, (void *)"lower"), 0);
	mark("spin");
	rt_timer_spin(10 * MS);
	mark("spun");
}

static void equals_do_not_run_meanwhile(void)
{
	static const int prios[] = { 50, 40 };
	RT_TASK task[2];
	int i;

	for (i = 0; i < 2; i++)
		CHECK_EQ(rt_task_create(&task[i], NULL, 0, prios[i], T_JOINABLE), 0);
	as_task(50, spin_beside_equals, task);
	for (i = 0; i < 2; i++)
		kit_join(&task[i]);
	expect_marks("spin spun equal lower");
}

static void *spin_for_ever(void *ns)
{
	mark("spin");
	rt_timer_spin(*(RTIME *)ns);
	mark("spun");
	return NULL;
}

/* now + ns would overflow. The threads outlive the case. */
static void huge_values_do_not_wrap(void)
{
	static RTIME values[] = { ~0ULL, ~0ULL - 1000, 1ULL << 63 };
	int i;

	for (i = 0; i < 3; i++)
		start_thread(spin_for_ever, &values[i]);
	until(mark_count() >= 3);
	kit_nap(50 * MS);
	expect_marks("spin spin spin");
}

/* ---- Helpers of the header ------------------------------------------------------------------------------------ */

static long long ns_of(const struct timespec *ts)
{
	CHECK(ts->tv_nsec >= 0 && ts->tv_nsec < 1000000000);
	return ts->tv_sec * 1000000000LL + ts->tv_nsec;
}

static void timeouts_become_timespecs(void)
{
	struct timespec ts, *result;
	long long before;

	CHECK(alchemy_abs_timeout(TM_INFINITE, &ts) == NULL);
	CHECK(alchemy_rel_timeout(TM_INFINITE, &ts) == NULL);

	memset(&ts, 0x5a, sizeof(ts));
	result = alchemy_abs_timeout(TM_NONBLOCK, &ts);
	CHECK(result == &ts && ts.tv_sec == 0 && ts.tv_nsec == 0);
	memset(&ts, 0x5a, sizeof(ts));
	result = alchemy_rel_timeout(TM_NONBLOCK, &ts);
	CHECK(result == &ts && ts.tv_sec == 0 && ts.tv_nsec == 0);

	result = alchemy_abs_timeout(5000000007ULL, &ts);
	CHECK(result == &ts);
	CHECK_EQ(ts.tv_sec, 5);
	CHECK_EQ(ts.tv_nsec, 7);

	before = kit_now();
	result = alchemy_rel_timeout(3 * MS, &ts);
	CHECK(result == &ts);
	CHECK(ns_of(&ts) >= before + 3 * MS);
	CHECK(ns_of(&ts) <= kit_now() + 3 * MS);
}

static void poll_mode(void)
{
	static const struct timespec zero = { 0, 0 }, second = { 1, 0 }, nanosecond = { 0, 1 };

	CHECK(!alchemy_poll_mode(NULL));
	CHECK(alchemy_poll_mode(&zero));
	CHECK(!alchemy_poll_mode(&second));
	CHECK(!alchemy_poll_mode(&nanosecond));
}

KIT_CASES(
	CASE(reads_the_monotonic_clock), CASE(is_not_the_wall_clock), CASE(never_decreases_across_threads),
	CASE(inquire_tells_tick_and_date), CASE(conversions_are_the_identity), CASE(spins_its_time), CASE(spin_of_zero),
	CASE(signals_do_not_end_it), CASE_FIFO(equals_do_not_run_meanwhile), CASE(huge_values_do_not_wrap),
	CASE(timeouts_become_timespecs), CASE(poll_mode))
