/* A wait for a signal ended or held up by others: unblock, suspend, delete, signals of Linux; the death of owners. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include "cond-kit.h"

static struct puppet waiter, other, third;

static void begin(void)
{
	needs_interruptible_waits();
	make_cond_and_mutex();
	start(&waiter, 20, NULL);
	start(&other, 10, NULL);
	start(&third, 15, NULL);
}

static void end(void)
{
	use_once(&other, &mutex, 0);
	use_once(&third, &mutex, 0);
	delete_cond_and_mutex();
	dismiss(&other);
	dismiss(&third);
}

/* `waiter` waits for the mutex, having been signalled or not, and `other` owns it. */
static void move_on_to_the_mutex(void)
{
	CHECK_EQ(acquire(&other, &mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	CHECK_EQ(rt_cond_delete(&cond), 0);
	MAKE_COND(&cond);
	until(is_queued(&waiter));
	CHECK_OWNER(&mutex, &other.task);
}

/* --- Unblock ------------------------------------------------------------------------------------------------------ */

/* cond.md 9.13 */
static void unblock_hits_one_waiter_only(void)
{
	begin();
	wait_for_signal(&third, TM_INFINITE);
	wait_for_signal(&other, HOUR);
	wait_for_signal(&waiter, TM_INFINITE);
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	end_wait(&waiter, -EINTR);
	CHECK(is_queued(&other));
	CHECK(is_queued(&third));
	CHECK_EQ(rt_task_unblock(&other.task), 0);
	end_wait(&other, -EINTR);
	CHECK(is_queued(&third));
	CHECK_WAITED_FOR(&cond);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	end_wait(&third, 0);
	dismiss(&waiter);
	end();
}

/* cond.md 3, 5: it leaves the queue at once, but returns with the mutex only. */
static void unblocked_waiter_returns_with_the_mutex_however_late(void)
{
	int i;

	begin();
	wait_for_signal(&waiter, HOUR);
	CHECK_EQ(acquire(&other, &mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	CHECK_EQ(rt_cond_delete(&cond), 0);
	MAKE_COND(&cond);
	until(is_queued(&waiter));
	for (i = 0; i < 3; i++) {
		CHECK_EQ(rt_task_unblock(&waiter.task), 0);
		kit_nap(2 * MS);
		until(is_queued(&waiter));
	}
	CHECK_EQ(release(&other, &mutex), 0);
	end_wait(&waiter, -EINTR);
	dismiss(&waiter);
	end();
}

/* cond.md 5: a result settled stays. */
static void unblock_for_the_mutex_changes_nothing(void)
{
	begin();
	wait_for_signal(&waiter, TM_INFINITE);
	move_on_to_the_mutex();
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	kit_nap(2 * MS);
	until(is_queued(&waiter));
	CHECK_EQ(release(&other, &mutex), 0);
	end_wait(&waiter, 0);
	/* The time is over, likewise. */
	CHECK_EQ(acquire(&waiter, &mutex, TM_INFINITE), 0);
	enqueue(&other, &mutex, TM_INFINITE);
	tell(&waiter, step_wait, &mutex, MS);
	CHECK_EQ(outcome(&other), 0);
	until(rt_cond_delete(&cond) == 0);
	MAKE_COND(&cond);
	until(is_queued(&waiter));
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	kit_nap(2 * MS);
	until(is_queued(&waiter));
	CHECK_EQ(release(&other, &mutex), 0);
	end_wait(&waiter, -ETIMEDOUT);
	/* And the next wait is not hit. */
	tell(&waiter, step_acquire_wait, &mutex, 5 * MS);
	end_wait(&waiter, -ETIMEDOUT);
	dismiss(&waiter);
	end();
}

static int step_unblock_and_signal(RT_MUTEX *unused, RTIME signal_first)
{
	(void)unused;
	if (signal_first)
		CHECK_EQ(rt_cond_signal(&cond), 0);
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	if (!signal_first)
		CHECK_EQ(rt_cond_signal(&cond), 0);
	return 0;
}

/* The first wins; a signal is not lost on who was unblocked while others wait. */
static void signal_goes_to_who_waits(void)
{
	struct puppet boss;

	begin();
	start(&boss, 50, NULL);
	wait_for_signal(&waiter, TM_INFINITE);
	wait_for_signal(&third, TM_INFINITE);
	CHECK_EQ(ask(&boss, step_unblock_and_signal, NULL, 0), 0);
	/* Either may get the mutex first, and keeps it until told otherwise. */
	CHECK_EQ(outcome(&waiter), -EINTR);
	CHECK_EQ(release(&waiter, &mutex), 0);
	end_wait(&third, 0);
	wait_for_signal(&waiter, TM_INFINITE);
	wait_for_signal(&third, TM_INFINITE);
	CHECK_EQ(ask(&boss, step_unblock_and_signal, NULL, 1), 0);
	end_wait(&waiter, 0);
	CHECK(is_queued(&third));
	CHECK_EQ(rt_cond_signal(&cond), 0);
	end_wait(&third, 0);
	dismiss(&boss);
	dismiss(&waiter);
	end();
}

/* --- Suspend ------------------------------------------------------------------------------------------------------ */

static void check_still_waits(struct puppet *puppet)
{
	if (!kit_fifo())
		kit_nap(5 * MS);
	CHECK_EQ(__atomic_load_n(&puppet->stage, __ATOMIC_ACQUIRE), BUSY);
}

/* cond.md 9.20: it keeps its place, and is first for the signal. */
static void suspended_waiter_is_signalled(void)
{
	begin();
	wait_for_signal(&third, TM_INFINITE);
	wait_for_signal(&waiter, TM_INFINITE);
	CHECK_EQ(rt_task_suspend(&waiter.task), 0);
	CHECK_WAITED_FOR(&cond);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	check_still_waits(&waiter);
	CHECK(is_queued(&third)); /* the signal was not its */
	/* The mutex is not held up: not handed to a suspended task. */
	use_once(&other, &mutex, 0);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	end_wait(&third, 0);
	CHECK_EQ(rt_cond_delete(&cond), 0);
	MAKE_COND(&cond);
	check_still_waits(&waiter);
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	end_wait(&waiter, 0);
	dismiss(&waiter);
	end();
}

static void date_passes_during_the_suspension(void)
{
	long long start_time;

	begin();
	start_time = kit_now();
	tell(&waiter, step_acquire_wait, &mutex, 200 * MS);
	until(is_queued(&waiter) || kit_now() - start_time > 200 * MS);
	CHECK_EQ(rt_task_suspend(&waiter.task), 0);
	if (rt_cond_delete(&cond) != -EBUSY)
		SKIP("too slow a machine: the date passed before the suspension");
	until(kit_now() - start_time > 300 * MS);
	CHECK_EQ(__atomic_load_n(&waiter.stage, __ATOMIC_ACQUIRE), BUSY);
	use_once(&other, &mutex, 0);
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	end_wait(&waiter, -ETIMEDOUT);
	dismiss(&waiter);
	end();
}

static void suspended_waiter_is_unblocked(void)
{
	begin();
	wait_for_signal(&waiter, TM_INFINITE);
	CHECK_EQ(rt_task_suspend(&waiter.task), 0);
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	CHECK_EQ(rt_cond_delete(&cond), 0); /* it has left the queue */
	MAKE_COND(&cond);
	check_still_waits(&waiter);
	use_once(&other, &mutex, 0);
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	end_wait(&waiter, -EINTR);
	dismiss(&waiter);
	end();
}

/* While it wants the mutex the rules for mutexes hold: it is passed over. */
static void waiter_suspended_for_the_mutex_is_passed_over(void)
{
	begin();
	wait_for_signal(&waiter, TM_INFINITE);
	move_on_to_the_mutex();
	enqueue(&third, &mutex, TM_INFINITE);
	suspend_waiter(&waiter);
	CHECK_EQ(release(&other, &mutex), 0);
	CHECK_EQ(outcome(&third), 0);
	CHECK_OWNER(&mutex, &third.task);
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY);
	CHECK_EQ(release(&third, &mutex), 0);
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY); /* it will want it */
	check_still_waits(&waiter);
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	end_wait(&waiter, 0);
	dismiss(&waiter);
	end();
}

/* --- Delete ------------------------------------------------------------------------------------------------------- */

static void note_cleanup(void *arg)
{
	(void)arg;
	mark("cleanup");
}

static int step_wait_with_cleanup(RT_MUTEX *target, RTIME timeout)
{
	int result = 1;

	CHECK_EQ(rt_mutex_acquire(target, TM_INFINITE), 0);
	CHECK_EQ(rt_mutex_acquire(target, TM_INFINITE), 0);
	pthread_cleanup_push(note_cleanup, NULL);
	result = rt_cond_wait(&cond, target, timeout);
	mark("returned");
	pthread_cleanup_pop(0);
	return result;
}

/* The victim has died without the mutex. */
static void check_dead(void)
{
	expect_marks("cleanup");
	CHECK_EQ(rt_task_inquire(&waiter.task, NULL), -EINVAL);
	CHECK_EQ(rt_task_join(&waiter.task), 0);
}

/* cond.md 9.17 */
static void deleted_waiter_dies_without_the_mutex(void)
{
	int suspended;

	begin();
	for (suspended = 0; suspended <= 1; suspended++) {
		clear_marks();
		tell_to_wait(&waiter, step_wait_with_cleanup, &mutex, suspended ? HOUR : (long long)TM_INFINITE);
		if (suspended)
			CHECK_EQ(rt_task_suspend(&waiter.task), 0);
		CHECK_EQ(rt_task_delete(&waiter.task), 0);
		check_dead();
		CHECK_UNOWNED(&mutex);
		use_once(&other, &mutex, 0);
		CHECK_EQ(rt_cond_delete(&cond), 0);
		CHECK_EQ(rt_mutex_delete(&mutex), 0);
		make_cond_and_mutex();
		start(&waiter, 20, NULL);
	}
	dismiss(&waiter);
	end();
}

static int step_delete_waiter(RT_MUTEX *unused, RTIME unused_too)
{
	(void)unused;
	(void)unused_too;
	return rt_task_delete(&waiter.task);
}

/* The deleter may be who owns the mutex: it waits for nobody. The other waiters stay. */
static void owner_deletes_a_waiter(void)
{
	begin();
	wait_for_signal(&third, TM_INFINITE);
	tell_to_wait(&waiter, step_wait_with_cleanup, &mutex, TM_INFINITE);
	CHECK_EQ(acquire(&other, &mutex, TM_INFINITE), 0);
	CHECK_EQ(ask(&other, step_delete_waiter, NULL, 0), 0);
	check_dead();
	CHECK_OWNER(&mutex, &other.task);
	CHECK(is_queued(&third));
	CHECK_EQ(ask(&other, step_signal, NULL, 0), 0);
	CHECK_EQ(release(&other, &mutex), 0);
	end_wait(&third, 0);
	end();
}

static int step_signal_and_delete(RT_MUTEX *unused, RTIME unused_too)
{
	(void)unused;
	(void)unused_too;
	CHECK_EQ(rt_cond_signal(&cond), 0);
	CHECK_EQ(rt_task_delete(&waiter.task), 0);
	return 0;
}

/* cond.md 9.18: the signal is passed on. */
static void signal_of_a_deleted_waiter_goes_to_the_next(void)
{
	struct puppet boss;

	begin();
	start(&boss, 50, NULL);
	wait_for_signal(&third, TM_INFINITE);
	tell_to_wait(&waiter, step_wait_with_cleanup, &mutex, TM_INFINITE);
	CHECK_EQ(ask(&boss, step_signal_and_delete, NULL, 0), 0);
	check_dead();
	end_wait(&third, 0);
	dismiss(&boss);
	end();
}

/* The same where it had come as far as the mutex; with the deleter the owner of it. */
static void waiter_for_the_mutex_is_deleted(void)
{
	begin();
	wait_for_signal(&third, TM_INFINITE);
	tell_to_wait(&waiter, step_wait_with_cleanup, &mutex, TM_INFINITE);
	CHECK_EQ(acquire(&other, &mutex, TM_INFINITE), 0);
	CHECK_EQ(ask(&other, step_signal, NULL, 0), 0);
	until(is_queued(&waiter));
	CHECK(is_queued(&third));
	CHECK_EQ(ask(&other, step_delete_waiter, NULL, 0), 0);
	check_dead();
	CHECK_OWNER(&mutex, &other.task);
	CHECK_EQ(release(&other, &mutex), 0);
	end_wait(&third, 0); /* "T deleted after having been signalled, before return": passed on */
	end();
}

KIT_CASES(
	CASE(unblock_hits_one_waiter_only), CASE(unblocked_waiter_returns_with_the_mutex_however_late),
	CASE(unblock_for_the_mutex_changes_nothing), CASE_FIFO(signal_goes_to_who_waits), CASE(suspended_waiter_is_signalled),
	CASE(date_passes_during_the_suspension), CASE(suspended_waiter_is_unblocked),
	CASE(waiter_suspended_for_the_mutex_is_passed_over), CASE(deleted_waiter_dies_without_the_mutex),
	CASE(owner_deletes_a_waiter), CASE_FIFO(signal_of_a_deleted_waiter_goes_to_the_next),
	CASE(waiter_for_the_mutex_is_deleted))
