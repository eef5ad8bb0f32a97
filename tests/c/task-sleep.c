/* rt_task_sleep, rt_task_sleep_until, rt_task_yield. */
#include "kit.h"
#include "tasks.h"
#include "child.h"

#define MS 1000000LL

static void sleep_ms(void *ms)
{
	long long delay = *(int *)ms * MS, start = kit_now();

	CHECK_EQ(rt_task_sleep((RTIME)delay), 0);
	CHECK(kit_now() - start >= delay);
}

static void sleep_until_ms(void *ms)
{
	RTIME date = rt_timer_read() + (RTIME)(*(int *)ms * MS);

	CHECK_EQ(rt_task_sleep_until(date), 0);
	CHECK(rt_timer_read() >= date);
}

static void never_wakes_early(void)
{
	static const int delays[] = { 1, 7, 20 };
	size_t i;

	for (i = 0; i < 3; i++) {
		int ms = delays[i];

		sleep_ms(&ms);
		sleep_until_ms(&ms);
		as_task(0, sleep_ms, &ms);
		as_task(40, sleep_ms, &ms);
		as_task(0, sleep_until_ms, &ms);
		as_task(40, sleep_until_ms, &ms);
	}
}

static void sleep_briefly(void *arg)
{
	long long start;
	int i;

	(void)arg;
	for (i = 1; i < 200; i++) {
		start = kit_now();
		CHECK_EQ(rt_task_sleep((RTIME)i), 0);
		CHECK(kit_now() - start >= i);
	}
}

static void delays_of_some_nanoseconds(void)
{
	sleep_briefly(NULL);
	as_task(20, sleep_briefly, NULL);
}

static void degenerate_values(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_sleep(0), 0);
	CHECK_EQ(rt_task_sleep_until(rt_timer_read()), -ETIMEDOUT);
	CHECK_EQ(rt_task_sleep_until(rt_timer_read() - 1), -ETIMEDOUT);
	CHECK_EQ(rt_task_sleep_until(1), -ETIMEDOUT);
}

/* task.md 7.13 */
static void zero_delay_and_past_date(void)
{
	degenerate_values(NULL);
	as_task(0, degenerate_values, NULL);
	as_task(40, degenerate_values, NULL);
}

static void sleep_without_identity(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_sleep(0), -EPERM);
	CHECK_EQ(rt_task_sleep(MS), -EPERM);
	CHECK_EQ(rt_task_sleep_until(TM_INFINITE), -EPERM);
	CHECK_EQ(rt_task_sleep_until(1), -EPERM);
	CHECK_EQ(rt_task_sleep_until(rt_timer_read() + MS), -EPERM);
	CHECK_EQ(rt_task_yield(), -EPERM);
}

/* task.md 7.13 */
static void plain_thread_may_not(void)
{
	kit_plain(sleep_without_identity, NULL);
}

static void sleep_ticks(void *ticks)
{
	rt_task_sleep(*(RTIME *)ticks);
	mark("woken");
}

static void sleep_until_date(void *date)
{
	rt_task_sleep_until(*(RTIME *)date);
	mark("woken");
}

static void check_asleep(RT_TASK *task)
{
	kit_nap(30 * MS);
	CHECK_EQ(kit_status(task), 0x80011);
	expect_marks("");
}

/* Values whose sum with the present would overflow. They outlive the case. */
static void huge_values_sleep_for_ever(void)
{
	static RTIME values[] = { ~0ULL, ~0ULL - 1, 1ULL << 63, (1ULL << 63) - 1, ~0ULL - 1000000000 };
	static RT_TASK task[10];
	size_t i;

	for (i = 0; i < 5; i++) {
		CHECK_EQ(rt_task_spawn(&task[i], NULL, 0, 10, 0, sleep_ticks, &values[i]), 0);
		CHECK_EQ(rt_task_spawn(&task[5 + i], NULL, 0, 10, 0, sleep_until_date, &values[i]), 0);
	}
	for (i = 0; i < 10; i++)
		until(kit_blocked(&task[i]));
	for (i = 0; i < 10; i++)
		check_asleep(&task[i]);
}

static int signals;

static void count_signal(int signal)
{
	(void)signal;
	__atomic_add_fetch(&signals, 1, __ATOMIC_RELAXED);
}

static void handle_sigusr1(int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = count_signal;
	action.sa_flags = flags;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
}

static void send_until_handled(RT_TASK *task, int times)
{
	int i, target = __atomic_load_n(&signals, __ATOMIC_RELAXED);

	for (i = 0; i < times; i++) {
		CHECK_EQ(tgkill(getpid(), tid_of(task), SIGUSR1), 0);
		target++;
		until(__atomic_load_n(&signals, __ATOMIC_RELAXED) == target);
	}
}

static void sleep_infinitely(void *arg)
{
	(void)arg;
	rt_task_sleep_until(TM_INFINITE);
	mark("woken");
}

/* task.md 7.12, its first half; the sleeper outlives the case. */
static void signals_do_not_end_an_infinite_sleep(void)
{
	RT_TASK task;

	no_held_back_signals();
	handle_sigusr1(0);
	CHECK_EQ(rt_task_spawn(&task, NULL, 0, 10, 0, sleep_infinitely, NULL), 0);
	until(kit_blocked(&task));
	send_until_handled(&task, 3);
	check_asleep(&task);
	handle_sigusr1(SA_RESTART);
	send_until_handled(&task, 3);
	check_asleep(&task);
}

static long long nap_start, nap_end;

static void sleep_and_measure(void *arg)
{
	(void)arg;
	nap_start = kit_now();
	CHECK_EQ(rt_task_sleep(500 * MS), 0);
	nap_end = kit_now();
}

/* task.md 7.11 without its suspension. */
static void signals_do_not_shorten_a_sleep(void)
{
	RT_TASK task;

	handle_sigusr1(0);
	kit_spawn_blocked(&task, 10, sleep_and_measure, NULL);
	send_until_handled(&task, 5);
	CHECK_EQ(kit_status(&task), 0x80011);
	kit_join(&task);
	CHECK(nap_end - nap_start >= 500 * MS);
}

static void on_alarm(int signal)
{
	count_signal(signal);
}

static void initial_thread_sleeps_through_signals(void)
{
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } };
	long long start = kit_now();

	signal(SIGALRM, on_alarm);
	CHECK_EQ(setitimer(ITIMER_REAL, &every, NULL), 0);
	CHECK_EQ(rt_task_sleep(50 * MS), 0);
	CHECK(kit_now() - start >= 50 * MS);
	CHECK_EQ(rt_task_sleep_until(rt_timer_read() + 20 * MS), 0);
	CHECK(kit_now() - start >= 70 * MS);
	CHECK(signals > 0);
}

static RTIME base;
static int too_late;

static void sleep_until_and_mark(void *arg)
{
	static const char *const names[] = { "first", "second", "third" };
	int place = *(int *)arg;
	int result = rt_task_sleep_until(base + (RTIME)(place * 10 * MS));

	if (result == -ETIMEDOUT)
		__atomic_store_n(&too_late, 1, __ATOMIC_RELAXED);
	else
		CHECK_EQ(result, 0);
	mark(names[place]);
}

static void sleepers_wake_in_order_of_their_dates(void)
{
	static int place[3] = { 2, 0, 1 };
	RT_TASK task[3];
	RTIME lead = 300 * MS;
	int i;

	/* All have to sleep before the first date comes: later, if the machine is too busy for that. */
	do {
		clear_marks();
		__atomic_store_n(&too_late, 0, __ATOMIC_RELAXED);
		base = rt_timer_read() + lead;
		for (i = 0; i < 3; i++)
			kit_spawn(&task[i], 10, sleep_until_and_mark, &place[i]);
		for (i = 0; i < 3; i++)
			kit_join(&task[i]);
		lead *= 4;
	} while (__atomic_load_n(&too_late, __ATOMIC_RELAXED));
	expect_marks("first second third");
}

static void mark_it(void *text)
{
	mark((const char *)text);
}

static void yield_once(void *arg)
{
	RT_TASK *task = (RT_TASK *)arg;

	CHECK_EQ(rt_task_start(&task[0], mark_it, (void *)"equal"), 0);
	CHECK_EQ(rt_task_start(&task[1], mark_it, (void *)"lower"), 0);
	mark("started");
	CHECK_EQ(rt_task_sleep(0), 0);
	mark("no-sleep");
	CHECK_EQ(rt_task_sleep_until(1), -ETIMEDOUT);
	mark("no-date");
	CHECK_EQ(rt_task_yield(), 0);
	mark("yielded");
}

/* Equals run during a yield, lower ones do not; a delay of zero and a past date yield nothing. */
static void yield_lets_equals_run(void)
{
	static const int prios[] = { 50, 40 };
	RT_TASK task[2];
	int i;

	for (i = 0; i < 2; i++)
		CHECK_EQ(rt_task_create(&task[i], NULL, 0, prios[i], T_JOINABLE), 0);
	as_task(50, yield_once, task);
	for (i = 0; i < 2; i++)
		kit_join(&task[i]);
	expect_marks("started no-sleep no-date equal yielded lower");
}

static void sleep_beside_a_lower_task(void *arg)
{
	RT_TASK *task = (RT_TASK *)arg;

	CHECK_EQ(rt_task_start(task, mark_it, (void *)"lower"), 0);
	mark("started");
	CHECK_EQ(rt_task_sleep(5 * MS), 0);
	mark("woken");
}

static void sleeper_gives_the_cpu_away(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_create(&task, NULL, 0, 40, T_JOINABLE), 0);
	as_task(50, sleep_beside_a_lower_task, &task);
	kit_join(&task);
	expect_marks("started lower woken");
}

static void yield_in_vain(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 100; i++)
		CHECK_EQ(rt_task_yield(), 0);
}

static void yield_alone(void)
{
	yield_in_vain(NULL);
	as_task(0, yield_in_vain, NULL);
	as_task(40, yield_in_vain, NULL);
}

KIT_CASES(
	CASE(never_wakes_early), CASE(delays_of_some_nanoseconds), CASE(zero_delay_and_past_date),
	CASE(plain_thread_may_not), CASE(huge_values_sleep_for_ever), CASE(signals_do_not_end_an_infinite_sleep),
	CASE(signals_do_not_shorten_a_sleep), CASE(initial_thread_sleeps_through_signals),
	CASE_FIFO(sleepers_wake_in_order_of_their_dates), CASE_FIFO(yield_lets_equals_run),
	CASE_FIFO(sleeper_gives_the_cpu_away), CASE(yield_alone))
