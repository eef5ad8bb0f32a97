/* Waiting for a mutex: polls, dates, states, and the program's own signals. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include <limits.h>
#include <sys/syscall.h>

static const struct timespec bad_dates[] = {
	{ 0, -1 }, { 0, 1000000000 }, { 1, 2000000000 }, { 1, LONG_MAX }, { 1, LONG_MIN }, { LONG_MAX, 1000000000 },
	{ -1, -1 }, { -1, 1000000000 },
};
#define BAD_DATES (sizeof(bad_dates) / sizeof(bad_dates[0]))

static const struct timespec past_dates[] = { { 0, 1 }, { 1, 0 }, { -1, 0 }, { -1, 999999999 }, { LONG_MIN, 0 } };
#define PAST_DATES (sizeof(past_dates) / sizeof(past_dates[0]))

static const struct timespec poll = { 0, 0 };

static RT_MUTEX mutex;
static struct puppet owner, waiter;

/* A mutex held by `owner`, and a task that may wait for it. */
static void hold_it(void)
{
	MAKE_MUTEX(&mutex);
	start(&owner, 10, NULL);
	start(&waiter, 20, NULL);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
}

/* The mutex is still the owner's; once given back it is as good as ever. */
static void let_it_go(void)
{
	CHECK_OWNER(&mutex, &owner.task);
	CHECK_EQ(poll_for(&waiter, &mutex), -EWOULDBLOCK);
	CHECK_EQ(release(&owner, &mutex), 0);
	use_once(&waiter, &mutex, 0);
	dismiss(&owner);
	dismiss(&waiter);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

static struct timespec date_of(long long ns)
{
	struct timespec date;

	date.tv_sec = ns / 1000000000LL;
	date.tv_nsec = ns % 1000000000LL;
	return date;
}

/* --- Results that need no wait ------------------------------------------------------------------------------------ */

static int step_poll(RT_MUTEX *target, RTIME unused)
{
	(void)unused;
	CHECK_EQ(rt_mutex_acquire(target, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_mutex_acquire_until(target, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_mutex_acquire_timed(target, &poll), -EWOULDBLOCK);
	return 0;
}

/* mutex.md 10.2 */
static void held_mutex_refuses_polls(void)
{
	hold_it();
	CHECK_EQ(ask(&waiter, step_poll, &mutex, 0), 0);
	let_it_go();
}

static int step_late(RT_MUTEX *target, RTIME unused)
{
	unsigned i;

	(void)unused;
	for (i = 0; i < PAST_DATES; i++)
		CHECK_EQ(rt_mutex_acquire_timed(target, &past_dates[i]), -ETIMEDOUT);
	CHECK_EQ(rt_mutex_acquire_until(target, 1), -ETIMEDOUT);
	CHECK_EQ(rt_mutex_acquire_until(target, rt_timer_read()), -ETIMEDOUT);
	return 0;
}

/* mutex.md 10.3 */
static void held_mutex_and_past_date(void)
{
	hold_it();
	CHECK_EQ(ask(&waiter, step_late, &mutex, 0), 0);
	let_it_go();
}

static int step_malformed(RT_MUTEX *target, RTIME unused)
{
	unsigned i;

	(void)unused;
	for (i = 0; i < BAD_DATES; i++)
		CHECK_EQ(rt_mutex_acquire_timed(target, &bad_dates[i]), -EINVAL);
	return 0;
}

static void held_mutex_and_malformed_date(void)
{
	hold_it();
	CHECK_EQ(ask(&waiter, step_malformed, &mutex, 0), 0);
	let_it_go();
}

static void take_and_give(int result)
{
	CHECK_EQ(result, 0);
	CHECK_OWNER(&mutex, rt_task_self());
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_UNOWNED(&mutex);
}

static void take_with_every_date(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < PAST_DATES; i++)
		take_and_give(rt_mutex_acquire_timed(&mutex, &past_dates[i]));
	for (i = 0; i < BAD_DATES; i++)
		take_and_give(rt_mutex_acquire_timed(&mutex, &bad_dates[i]));
	take_and_give(rt_mutex_acquire_timed(&mutex, &poll));
	take_and_give(rt_mutex_acquire_timed(&mutex, NULL));
	take_and_give(rt_mutex_acquire_until(&mutex, 1));
	take_and_give(rt_mutex_acquire_until(&mutex, TM_NONBLOCK));
	take_and_give(rt_mutex_acquire_until(&mutex, TM_INFINITE));
	take_and_give(rt_mutex_acquire(&mutex, 1));
	take_and_give(rt_mutex_acquire(&mutex, TM_NONBLOCK));
	take_and_give(rt_mutex_acquire(&mutex, TM_INFINITE));
}

/* mutex.md 10.3 */
static void free_mutex_is_taken_whatever_the_date(void)
{
	MAKE_MUTEX(&mutex);
	as_task(10, take_with_every_date, NULL);
	as_task(0, take_with_every_date, NULL);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

/* --- Time --------------------------------------------------------------------------------------------------------- */

static int step_timed_forms(RT_MUTEX *target, RTIME limit)
{
	struct timespec date;
	long long begin;

	begin = kit_now();
	CHECK_EQ(rt_mutex_acquire(target, limit), -ETIMEDOUT);
	CHECK(kit_now() - begin >= (long long)limit);

	begin = kit_now();
	CHECK_EQ(rt_mutex_acquire_until(target, rt_timer_read() + limit), -ETIMEDOUT);
	CHECK(kit_now() - begin >= (long long)limit);

	begin = kit_now();
	date = date_of(begin + (long long)limit);
	CHECK_EQ(rt_mutex_acquire_timed(target, &date), -ETIMEDOUT);
	CHECK(kit_now() - begin >= (long long)limit);
	return 0;
}

/* mutex.md 10.2 */
static void timed_wait_is_never_short(void)
{
	hold_it();
	CHECK_EQ(ask(&waiter, step_timed_forms, &mutex, 100 * MS), 0);
	CHECK_EQ(ask(&waiter, step_timed_forms, &mutex, 1), 0);
	CHECK_EQ(ask(&waiter, step_timed_forms, &mutex, 3 * MS), 0);
	let_it_go();
}

static int step_timed_null(RT_MUTEX *target, RTIME unused)
{
	(void)unused;
	return rt_mutex_acquire_timed(target, NULL);
}

static int step_timed_last(RT_MUTEX *target, RTIME unused)
{
	static const struct timespec last = { LONG_MAX, 999999999 };

	(void)unused;
	return rt_mutex_acquire_timed(target, &last);
}

/* Waits in that form until the mutex is handed over. */
static void wait_and_get(int (*step)(RT_MUTEX *, RTIME), RTIME timeout, unsigned status)
{
	RT_TASK_INFO info;

	tell_to_wait(&waiter, step, &mutex, timeout);
	kit_nap(MS); /* a date that wrapped would have passed */
	CHECK_EQ(rt_task_inquire(&waiter.task, &info), 0);
	CHECK_EQ(info.stat.status, status);
	CHECK(status == 0x20011 ? info.stat.timeout == 0 : info.stat.timeout >= 1);
	CHECK(is_queued(&waiter));
	CHECK_OWNER(&mutex, &owner.task);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_OWNER(&mutex, &waiter.task);
	CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
}

static void zero_and_null_wait_without_limit(void)
{
	hold_it();
	wait_and_get(step_acquire, TM_INFINITE, 0x20011);
	wait_and_get(step_acquire_until, TM_INFINITE, 0x20011);
	wait_and_get(step_timed_null, 0, 0x20011);
	let_it_go();
}

static void timed_waiter_gets_the_mutex_in_time(void)
{
	hold_it();
	wait_and_get(step_acquire, HOUR, 0x40011);
	wait_and_get(step_acquire_until, rt_timer_read() + HOUR, 0x40011);
	let_it_go();
}

static void huge_time_limits_saturate(void)
{
	static const RTIME values[] = {
		TM_NONBLOCK - 1, TM_NONBLOCK - 2, TM_NONBLOCK / 2, TM_NONBLOCK / 2 + 1, TM_NONBLOCK - 1000000000ULL,
	};
	unsigned i;

	hold_it();
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		wait_and_get(step_acquire, values[i], 0x40011);
		wait_and_get(step_acquire_until, values[i], 0x40011);
	}
	wait_and_get(step_timed_last, 0, 0x40011);
	let_it_go();
}

/* mutex.md 10.29 without touching the wall clock: a sleeper on CLOCK_REALTIME shows in its system call. */
static void timed_wait_sleeps_on_the_monotonic_clock(void)
{
	enum { LOCK_PI = 6, LOCK_PI2 = 13, WAIT_BITSET = 9, CLOCK_BIT = 256, PRIVATE_BIT = 128 };
	unsigned long word, operation, value, limit;
	char path[64], line[256];
	FILE *file;
	long number;

	hold_it();
	enqueue(&waiter, &mutex, HOUR);
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)waiter.tid);
	file = fopen(path, "r");
	if (!file || !fgets(line, sizeof(line), file))
		SKIP("cannot see the system call of a thread");
	fclose(file);
	if (sscanf(line, "%ld %lx %lx %lx %lx", &number, &word, &operation, &value, &limit) != 5)
		SKIP("the waiter is in no system call: %s", line);
	CHECK_EQ(number, SYS_futex);
	CHECK(limit != 0);
	CHECK_EQ(operation & CLOCK_BIT, 0);
	operation &= ~(unsigned long)PRIVATE_BIT;
	if (operation == LOCK_PI)
		SKIP("no FUTEX_LOCK_PI2 in this kernel");
	CHECK(operation == LOCK_PI2 || operation == WAIT_BITSET);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_EQ(release(&waiter, &mutex), 0);
}

/* --- Signals of the program --------------------------------------------------------------------------------------- */

static int handled;

static void on_signal(int signal)
{
	(void)signal;
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void handle_usr1(int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	action.sa_flags = flags;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
}

static int step_timed_wait(RT_MUTEX *target, RTIME limit)
{
	long long begin = kit_now();
	int result = rt_mutex_acquire(target, limit);

	if (result == -ETIMEDOUT)
		CHECK(kit_now() - begin >= (long long)limit);
	return result;
}

/* mutex.md 10.14 */
static void signals_leave_wait_and_deadline_alone(void)
{
	int flags, i;

	needs_interruptible_waits();
	hold_it();
	for (flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		handle_usr1(flags);
		__atomic_store_n(&handled, 0, __ATOMIC_RELAXED);
		tell_to_wait(&waiter, step_timed_wait, &mutex, 1000 * MS);
		for (i = 1; i <= 3; i++) {
			kit_nap(20 * MS);
			CHECK_EQ(pthread_kill(waiter.task.thread, SIGUSR1), 0);
			until(__atomic_load_n(&handled, __ATOMIC_RELAXED) == i);
		}
		CHECK_EQ(outcome(&waiter), -ETIMEDOUT);
		/* Nor does one keep the mutex away. */
		enqueue(&waiter, &mutex, TM_INFINITE);
		CHECK_EQ(pthread_kill(waiter.task.thread, SIGUSR1), 0);
		until(__atomic_load_n(&handled, __ATOMIC_RELAXED) == 4);
		until(is_queued(&waiter));
		CHECK_EQ(release(&owner, &mutex), 0);
		CHECK_EQ(outcome(&waiter), 0);
		CHECK_EQ(release(&waiter, &mutex), 0);
		CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	}
	let_it_go();
}

enum { STORM = 2000 };

/* Signals in a row, without a pause between two but that the first has been handled. */
static void storm(void *thread)
{
	int i;

	for (i = 1; i <= STORM; i++) {
		CHECK_EQ(pthread_kill(*(pthread_t *)thread, SIGUSR1), 0);
		while (__atomic_load_n(&handled, __ATOMIC_RELAXED) < i)
			sched_yield();
	}
}

static void weather_a_storm(int flags)
{
	kit_unpin();
	handle_usr1(flags);
	needs_interruptible_waits();
	hold_it();
	tell_to_wait(&waiter, step_timed_wait, &mutex, 500 * MS);
	kit_plain(storm, &waiter.task.thread);
	CHECK_EQ(outcome(&waiter), -ETIMEDOUT);
	__atomic_store_n(&handled, 0, __ATOMIC_RELAXED);
	enqueue(&waiter, &mutex, TM_INFINITE);
	kit_plain(storm, &waiter.task.thread);
	until(is_queued(&waiter));
	CHECK_OWNER(&mutex, &owner.task);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK_EQ(release(&waiter, &mutex), -EPERM);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	let_it_go();
}

static void storm_of_signals_ends_no_wait(void)
{
	weather_a_storm(0);
}

static void storm_of_restarting_signals_ends_no_wait(void)
{
	weather_a_storm(SA_RESTART);
}

KIT_CASES(
	CASE(held_mutex_refuses_polls), CASE(held_mutex_and_past_date), CASE(held_mutex_and_malformed_date),
	CASE(free_mutex_is_taken_whatever_the_date), CASE(timed_wait_is_never_short),
	CASE(zero_and_null_wait_without_limit), CASE(timed_waiter_gets_the_mutex_in_time),
	CASE(huge_time_limits_saturate), CASE(timed_wait_sleeps_on_the_monotonic_clock),
	CASE(signals_leave_wait_and_deadline_alone), CASE(storm_of_signals_ends_no_wait),
	CASE(storm_of_restarting_signals_ends_no_wait))
