/* rt_cond_wait and its forms: what it does to the mutex, dates, what signals are for; deletion. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include "cond-kit.h"

static struct puppet waiter, other, third;

static void begin(void)
{
	make_cond_and_mutex();
	start(&waiter, 20, NULL);
	start(&other, 10, NULL);
}

static void end(void)
{
	use_once(&waiter, &mutex, 0);
	use_once(&other, &mutex, 0);
	delete_cond_and_mutex();
	dismiss(&waiter);
	dismiss(&other);
}

/* --- Failures leave the mutex owned ------------------------------------------------------------------------------- */

static const struct timespec poll_date = { 0, 0 };
static const struct timespec bad_dates[] = {
	{ 0, -1 }, { 0, 1000000000 }, { 1, 2000000000 }, { 1, LONG_MAX }, { 1, LONG_MIN }, { LONG_MAX, 1000000000 },
	{ -1, -1 }, { -1, 1000000000 },
};

static int step_wait_in_vain(RT_MUTEX *target, RTIME unused)
{
	RT_COND none = { 0 };
	RT_MUTEX nobodys;
	unsigned i;

	(void)unused;
	/* cond.md 9.1 */
	CHECK_EQ(rt_cond_wait(&cond, target, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_wait_until(&cond, target, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_wait_timed(&cond, target, &poll_date), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_wait_timed(NULL, target, &poll_date), -EWOULDBLOCK);
	/* cond.md 9.3 */
	CHECK_EQ(rt_cond_wait(&none, target, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_cond_wait(&cond, NULL, TM_INFINITE), -EINVAL);
	/* cond.md 9.4 */
	for (i = 0; i < sizeof(bad_dates) / sizeof(bad_dates[0]); i++)
		CHECK_EQ(rt_cond_wait_timed(&cond, target, &bad_dates[i]), -EINVAL);
	MAKE_MUTEX(&nobodys);
	CHECK_EQ(rt_cond_wait(&cond, &nobodys, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_mutex_delete(&nobodys), 0);
	return 0;
}

/* Another task waits for the mutex all the while: it would get it at the slightest release. */
static void failed_wait_does_not_release_the_mutex(void)
{
	begin();
	CHECK_EQ(acquire(&waiter, &mutex, TM_INFINITE), 0);
	CHECK_EQ(acquire(&waiter, &mutex, TM_INFINITE), 0);
	enqueue(&other, &mutex, TM_INFINITE);
	CHECK_EQ(ask(&waiter, step_wait_in_vain, &mutex, 0), 0);
	CHECK_OWNER(&mutex, &waiter.task);
	CHECK(is_queued(&other));
	CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK(is_queued(&other));
	CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK_EQ(outcome(&other), 0);
	CHECK_EQ(release(&other, &mutex), 0);
	end();
}

/* --- Signals ------------------------------------------------------------------------------------------------------ */

static int step_signal_owning(RT_MUTEX *target, RTIME unused)
{
	(void)unused;
	CHECK_EQ(rt_mutex_acquire(target, TM_NONBLOCK), 0);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	CHECK_OWNER(target, rt_task_self());
	CHECK_EQ(rt_mutex_release(target), 0);
	return 0;
}

static void signal_it(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_cond_signal(&cond), 0);
}

static void broadcast_it(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_cond_broadcast(&cond), 0);
}

/* Owning the mutex or not, from a task, a plain thread, the initial thread. cond.md 6 */
static void any_thread_ends_a_wait(void)
{
	int round;

	begin();
	for (round = 0; round < 7; round++) {
		wait_for_signal(&waiter, round % 2 ? HOUR : (long long)TM_INFINITE);
		CHECK_UNOWNED(&mutex);
		switch (round) {
		case 0: CHECK_EQ(ask(&other, step_signal_owning, &mutex, 0), 0); break;
		case 1: CHECK_EQ(ask(&other, step_signal, &mutex, 0), 0); break;
		case 2: CHECK_EQ(ask(&other, step_broadcast, &mutex, 0), 0); break;
		case 3: kit_plain(signal_it, NULL); break;
		case 4: kit_plain(broadcast_it, NULL); break;
		case 5: signal_it(NULL); break;
		default: broadcast_it(NULL); break;
		}
		end_wait(&waiter, 0);
	}
	end();
}

/* cond.md 9.6; the date of rt_cond_wait_until, too */
static void signal_without_a_waiter_is_forgotten(void)
{
	long long start_time;

	begin();
	CHECK_EQ(rt_cond_signal(&cond), 0);
	CHECK_EQ(rt_cond_broadcast(&cond), 0);
	start_time = kit_now();
	tell(&waiter, step_acquire_wait, &mutex, 50 * MS);
	end_wait(&waiter, -ETIMEDOUT);
	CHECK(kit_now() - start_time >= 50 * MS);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	start_time = kit_now();
	tell(&waiter, step_acquire_wait_until, &mutex, rt_timer_read() + 20 * MS);
	end_wait(&waiter, -ETIMEDOUT);
	CHECK(kit_now() - start_time >= 20 * MS);
	end();
}

static int step_wait_timed(RT_MUTEX *target, RTIME limit)
{
	long long date = kit_now() + (long long)limit;
	struct timespec spec;

	spec.tv_sec = date / 1000000000;
	spec.tv_nsec = date % 1000000000;
	CHECK_EQ(rt_cond_wait_timed(&cond, target, limit ? &spec : NULL), limit ? -ETIMEDOUT : 0);
	CHECK(limit == 0 || kit_now() >= date);
	CHECK_OWNER(target, rt_task_self());
	return 0;
}

static void timespec_form(void)
{
	begin();
	CHECK_EQ(acquire(&waiter, &mutex, TM_INFINITE), 0);
	CHECK_EQ(ask(&waiter, step_wait_timed, &mutex, 20 * MS), 0);
	tell_to_wait(&waiter, step_wait_timed, &mutex, 0);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	end_wait(&waiter, 0);
	CHECK_EQ(acquire(&waiter, &mutex, TM_INFINITE), 0);
	tell_to_wait(&waiter, step_wait_until, &mutex, TM_INFINITE);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	end_wait(&waiter, 0);
	end();
}

static void huge_timeouts_saturate(void)
{
	static const RTIME values[] = { TM_NONBLOCK - 1, TM_NONBLOCK / 2, TM_NONBLOCK / 2 + 1 };
	unsigned i;

	begin();
	for (i = 0; i < 6; i++) {
		tell_to_wait(&waiter, i % 2 ? step_acquire_wait : step_acquire_wait_until, &mutex, values[i / 2]);
		CHECK_WAITED_FOR(&cond);
		CHECK_EQ(rt_cond_signal(&cond), 0);
		end_wait(&waiter, 0);
	}
	end();
}

/* --- The mutex ---------------------------------------------------------------------------------------------------- */

static const struct timespec past_dates[] = { { 0, 1 }, { 1, 0 }, { -1, 0 }, { -1, 999999999 }, { LONG_MIN, 0 } };
static const struct timespec *past_date;

static int step_wait_past(RT_MUTEX *target, RTIME unused)
{
	(void)unused;
	return past_date ? rt_cond_wait_timed(&cond, target, past_date) : rt_cond_wait_until(&cond, target, 1);
}

/* cond.md 9.5: `other`, of higher priority here, was let in. */
static void past_date_lets_others_have_the_mutex(void)
{
	unsigned i;

	make_cond_and_mutex();
	start(&waiter, 10, "waiter");
	start(&other, 20, "other");
	for (i = 0; i <= sizeof(past_dates) / sizeof(past_dates[0]); i++) {
		past_date = i ? &past_dates[i - 1] : NULL;
		CHECK_EQ(acquire(&waiter, &mutex, TM_INFINITE), 0);
		enqueue(&other, &mutex, TM_INFINITE);
		clear_marks();
		tell(&waiter, step_wait_past, &mutex, 0);
		CHECK_EQ(outcome(&other), 0);
		until(is_queued(&waiter)); /* for the mutex, now */
		CHECK_OWNER(&mutex, &other.task);
		CHECK_EQ(rt_cond_signal(&cond), 0); /* too late */
		other.tag = NULL;
		CHECK_EQ(release(&other, &mutex), 0);
		CHECK_EQ(outcome(&waiter), -ETIMEDOUT);
		CHECK_OWNER(&mutex, &waiter.task);
		expect_marks("other waiter");
		other.tag = "other";
		CHECK_EQ(release(&waiter, &mutex), 0);
	}
	end();
}

static int step_signal_and_release(RT_MUTEX *target, RTIME unused)
{
	(void)unused;
	CHECK_EQ(rt_cond_signal(&cond), 0);
	return rt_mutex_release(target);
}

/* cond.md 9.7 */
static void wait_releases_whatever_the_depth(void)
{
	int depth, i;

	begin();
	for (depth = 1; depth <= 4; depth++) {
		for (i = 0; i < depth; i++)
			CHECK_EQ(acquire(&waiter, &mutex, TM_INFINITE), 0);
		enqueue(&other, &mutex, TM_INFINITE); /* it gets it from the wait */
		tell(&waiter, step_wait, &mutex, depth % 2 ? (long long)TM_INFINITE : HOUR);
		CHECK_EQ(outcome(&other), 0);
		CHECK_OWNER(&mutex, &other.task);
		until(is_queued(&waiter));
		CHECK_WAITED_FOR(&cond);
		CHECK_EQ(acquire(&other, &mutex, TM_INFINITE), 0); /* depths do not mix */
		CHECK_EQ(release(&other, &mutex), 0);
		CHECK_EQ(ask(&other, step_signal_and_release, &mutex, 0), 0);
		CHECK_EQ(outcome(&waiter), 0);
		CHECK_OWNER(&mutex, &waiter.task);
		for (i = 0; i < depth; i++) {
			CHECK_EQ(poll_for(&other, &mutex), -EWOULDBLOCK);
			CHECK_EQ(release(&waiter, &mutex), 0);
		}
		CHECK_EQ(release(&waiter, &mutex), -EPERM);
		use_once(&other, &mutex, 0);
	}
	/* A wait that times out restores it as well. */
	for (i = 0; i < 3; i++)
		CHECK_EQ(acquire(&waiter, &mutex, TM_INFINITE), 0);
	CHECK_EQ(ask(&waiter, step_wait, &mutex, MS), -ETIMEDOUT);
	for (i = 0; i < 3; i++)
		CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK_EQ(release(&waiter, &mutex), -EPERM);
	end();
}

/* cond.md 9.21, 9.12 in small: nothing returns without the mutex, and its owner is the one who has it. */
static void waiter_comes_back_as_the_owner(void)
{
	begin();
	wait_for_signal(&waiter, TM_INFINITE);
	CHECK_EQ(acquire(&other, &mutex, TM_INFINITE), 0);
	CHECK_EQ(ask(&other, step_signal, &mutex, 0), 0);
	until(is_queued(&waiter)); /* for the mutex, now */
	CHECK_OWNER(&mutex, &other.task);
	CHECK_EQ(release(&other, &mutex), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_OWNER(&mutex, &waiter.task);
	CHECK_EQ(poll_for(&other, &mutex), -EWOULDBLOCK);
	CHECK_EQ(release(&waiter, &mutex), 0);
	end();
}

/* cond.md 7: no inheritance while it waits for the signal, but while it waits for the mutex. */
static void waiter_lends_its_priority_for_the_mutex_only(void)
{
	begin();
	wait_for_signal(&waiter, TM_INFINITE);
	CHECK_EQ(acquire(&other, &mutex, TM_INFINITE), 0);
	check_prio(&other, 10, 10);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	until(effective_prio(&other) == 20);
	check_prio(&other, 20, 10);
	CHECK_EQ(release(&other, &mutex), 0);
	end_wait(&waiter, 0);
	check_prio(&other, 10, 10);
	end();
}

/* --- Time-outs against signals ------------------------------------------------------------------------------------ */

/* `waiter` waits, `other` owns the mutex: it gets it in the very moment of the release. */
static void wait_and_hand_over(RTIME timeout)
{
	CHECK_EQ(acquire(&waiter, &mutex, TM_INFINITE), 0);
	enqueue(&other, &mutex, TM_INFINITE);
	tell(&waiter, step_wait, &mutex, timeout);
	CHECK_EQ(outcome(&other), 0);
	until(is_queued(&waiter)); /* for the signal, or for the mutex already if the time is over */
}

/* cond.md 9.14 */
static void time_out_returns_with_the_mutex_however_late(void)
{
	begin();
	wait_and_hand_over(20 * MS);
	until(rt_cond_delete(&cond) == 0); /* it has given up waiting for a signal */
	MAKE_COND(&cond);
	until(is_queued(&waiter));
	kit_nap(50 * MS);
	CHECK(is_queued(&waiter));
	CHECK_EQ(rt_cond_signal(&cond), 0);
	CHECK_OWNER(&mutex, &other.task);
	CHECK_EQ(release(&other, &mutex), 0);
	end_wait(&waiter, -ETIMEDOUT);
	end();
}

/* cond.md 9.15 */
static void signal_before_the_date_stands_however_late_the_mutex(void)
{
	long long start_time = kit_now();

	begin();
	wait_and_hand_over(500 * MS);
	if (rt_cond_delete(&cond) == 0)
		SKIP("too slow a machine: the date has passed already");
	CHECK_EQ(rt_cond_signal(&cond), 0);
	until(kit_now() - start_time > 600 * MS);
	CHECK(is_queued(&waiter));
	CHECK_EQ(release(&other, &mutex), 0);
	end_wait(&waiter, 0);
	end();
}

/* --- Deletion ----------------------------------------------------------------------------------------------------- */

/* cond.md 9.16 */
static void variable_is_busy_until_the_signal(void)
{
	RT_COND bound;

	CHECK_EQ(rt_cond_create(&cond, "busy"), 0);
	MAKE_MUTEX(&mutex);
	start(&waiter, 20, NULL);
	start(&other, 10, NULL);
	wait_for_signal(&waiter, TM_INFINITE);
	CHECK_EQ(rt_cond_delete(&cond), -EBUSY);
	CHECK_EQ(acquire(&other, &mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_cond_delete(&cond), -EBUSY);
	CHECK_EQ(rt_cond_create(&bound, "busy"), -EEXIST);
	CHECK(is_queued(&waiter));
	CHECK_EQ(rt_cond_signal(&cond), 0);
	CHECK_EQ(rt_cond_delete(&cond), 0); /* though the waiter wants its mutex still */
	CHECK_EQ(rt_cond_signal(&cond), -EINVAL);
	CHECK_EQ(rt_cond_bind(&bound, "busy", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_create(&cond, "busy"), 0);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	until(is_queued(&waiter));
	CHECK_EQ(release(&other, &mutex), 0);
	end_wait(&waiter, 0);
	end();
}

/* mutex.md 10.9 */
static void mutex_is_busy_while_a_waiter_will_want_it(void)
{
	begin();
	wait_for_signal(&waiter, TM_INFINITE);
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY);
	use_once(&other, &mutex, 0);
	CHECK_EQ(acquire(&other, &mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	until(is_queued(&waiter));
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY);
	CHECK_EQ(release(&other, &mutex), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY); /* owned */
	CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	MAKE_MUTEX(&mutex);
	/* Nor does a wait that failed leave it busy. */
	tell(&waiter, step_acquire_wait, &mutex, MS);
	end_wait(&waiter, -ETIMEDOUT);
	CHECK_EQ(acquire(&waiter, &mutex, TM_INFINITE), 0);
	CHECK_EQ(ask(&waiter, step_wait_in_vain, &mutex, 0), 0);
	CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	MAKE_MUTEX(&mutex);
	end();
}

/* --- Several of them ---------------------------------------------------------------------------------------------- */

static RT_COND second_cond;
static RT_MUTEX second_mutex;

static int step_acquire_wait_second(RT_MUTEX *target, RTIME timeout)
{
	CHECK_EQ(rt_mutex_acquire(target, TM_INFINITE), 0);
	return rt_cond_wait(&second_cond, target, timeout);
}

/* cond.md 9.23 */
static void variables_and_mutexes_combine_freely(void)
{
	begin();
	start(&third, 15, NULL);
	MAKE_COND(&second_cond);
	MAKE_MUTEX(&second_mutex);
	/* Two variables, one mutex. */
	wait_for_signal(&waiter, TM_INFINITE);
	tell_to_wait(&third, step_acquire_wait_second, &mutex, TM_INFINITE);
	CHECK_EQ(rt_cond_broadcast(&second_cond), 0);
	end_wait(&third, 0);
	CHECK(is_queued(&waiter));
	CHECK_EQ(rt_cond_delete(&second_cond), 0);
	CHECK_EQ(rt_cond_broadcast(&cond), 0);
	end_wait(&waiter, 0);
	/* One variable, two mutexes. */
	wait_for_signal(&waiter, TM_INFINITE);
	tell_to_wait(&third, step_acquire_wait, &second_mutex, TM_INFINITE);
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY);
	CHECK_EQ(rt_mutex_delete(&second_mutex), -EBUSY);
	CHECK_EQ(rt_cond_broadcast(&cond), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_EQ(outcome(&third), 0);
	CHECK_OWNER(&mutex, &waiter.task);
	CHECK_OWNER(&second_mutex, &third.task);
	CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK_EQ(release(&third, &second_mutex), 0);
	CHECK_EQ(rt_mutex_delete(&second_mutex), 0);
	dismiss(&third);
	end();
}

KIT_CASES(
	CASE(failed_wait_does_not_release_the_mutex), CASE(any_thread_ends_a_wait),
	CASE(signal_without_a_waiter_is_forgotten), CASE(timespec_form), CASE(huge_timeouts_saturate),
	CASE(past_date_lets_others_have_the_mutex), CASE(wait_releases_whatever_the_depth),
	CASE(waiter_comes_back_as_the_owner), CASE_KERNEL(waiter_lends_its_priority_for_the_mutex_only),
	CASE(time_out_returns_with_the_mutex_however_late), CASE(signal_before_the_date_stands_however_late_the_mutex),
	CASE(variable_is_busy_until_the_signal), CASE(mutex_is_busy_while_a_waiter_will_want_it),
	CASE(variables_and_mutexes_combine_freely))
