/*
 * Waiters for a mutex that have been told to leave, or are late, and have not run since: on one CPU whoever told them has it
 * all to itself. Waiters whose program blocks every signal, and those that are to end while its handlers run.
 */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"

#include <fcntl.h>
#include <signal.h>

static RT_MUTEX mutex, own;
static struct puppet owner, waiter, other;

static void hold_it(void)
{
	needs_interruptible_waits();
	MAKE_MUTEX(&mutex);
	MAKE_MUTEX(&own);
	start(&owner, 50, "owner");
	start(&waiter, 20, "waiter");
	start(&other, 15, "other");
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
}

static int step_unblock_and_release(RT_MUTEX *target, RTIME unused)
{
	(void)unused;
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	return rt_mutex_release(target);
}

/* mutex.md 10.13. */
static void unblocked_waiter_is_passed_over(void)
{
	hold_it();
	enqueue(&waiter, &mutex, TM_INFINITE);
	enqueue(&other, &mutex, TM_INFINITE);
	CHECK_EQ(ask(&owner, step_unblock_and_release, &mutex, 0), 0);
	CHECK_EQ(outcome(&waiter), -EINTR);
	CHECK_EQ(outcome(&other), 0);
	CHECK_OWNER(&mutex, &other.task);
	CHECK_EQ(release(&other, &mutex), 0);
	use_once(&waiter, &mutex, 0);
}

static int step_suspend_and_release(RT_MUTEX *target, RTIME unused)
{
	(void)unused;
	CHECK_EQ(rt_task_suspend(&waiter.task), 0);
	return rt_mutex_release(target);
}

/* mutex.md 10.27. */
static void suspended_waiter_is_passed_over(void)
{
	hold_it();
	enqueue(&waiter, &mutex, TM_INFINITE);
	enqueue(&other, &mutex, TM_INFINITE);
	CHECK_EQ(ask(&owner, step_suspend_and_release, &mutex, 0), 0);
	CHECK_EQ(outcome(&other), 0);
	CHECK_OWNER(&mutex, &other.task);
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	until(is_queued(&waiter));
	CHECK_EQ(release(&other, &mutex), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_EQ(release(&waiter, &mutex), 0);
}

/* Owns one, wants another one, and gives back what it has. */
static int step_cross(RT_MUTEX *target, RTIME limit)
{
	int result = rt_mutex_acquire(target, limit);

	if (result == 0)
		CHECK_EQ(rt_mutex_release(target), 0);
	CHECK_EQ(rt_mutex_release(&own), 0);
	return result;
}

static int step_unblock_and_want(RT_MUTEX *target, RTIME unused)
{
	(void)unused;
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	return rt_mutex_acquire(target, HOUR);
}

static int step_spin_and_want(RT_MUTEX *target, RTIME limit)
{
	rt_timer_spin(2 * limit);
	return rt_mutex_acquire(target, HOUR);
}

/* A cycle that somebody is about to leave is none. */
static void cycle_of_a_waiter_that_leaves(void)
{
	int late;

	hold_it();
	for (late = 0; late <= 1; late++) {
		CHECK_EQ(acquire(&waiter, &own, TM_INFINITE), 0);
		tell_to_wait(&waiter, step_cross, &mutex, late ? 20 * MS : TM_INFINITE);
		CHECK_EQ(ask(&owner, late ? step_spin_and_want : step_unblock_and_want, &own, 20 * MS), 0);
		CHECK_EQ(outcome(&waiter), late ? -ETIMEDOUT : -EINTR);
		CHECK_EQ(release(&owner, &own), 0);
	}
}

/* Lowering an owner that was handed the mutex changes nothing for those who wait. */
static void lowered_owner_keeps_the_order(void)
{
	static struct puppet last;

	hold_it();
	start(&last, 15, "last");
	enqueue(&waiter, &mutex, TM_INFINITE);
	enqueue(&other, &mutex, TM_INFINITE);
	enqueue(&last, &mutex, TM_INFINITE);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_EQ(rt_task_set_priority(&waiter.task, 5), 0);
	check_prio(&waiter, 15, 5);
	CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK_EQ(outcome(&other), 0);
	CHECK_OWNER(&mutex, &other.task);
	CHECK_EQ(release(&other, &mutex), 0);
	CHECK_EQ(outcome(&last), 0);
	CHECK_EQ(release(&last, &mutex), 0);
}

/* --- Signals ------------------------------------------------------------------------------------------------------ */

static int step_acquire_deaf(RT_MUTEX *target, RTIME limit)
{
	sigset_t all, before, after;
	int result;

	sigfillset(&all);
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
	result = rt_mutex_acquire(target, limit);
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, &before, &after), 0);
	CHECK_EQ(sigismember(&after, SIGUSR1), 1);
	CHECK_EQ(sigismember(&after, SIGRTMIN + 8), 1);
	return result;
}

static void waiter_that_blocks_all_signals(void)
{
	hold_it();
	tell_to_wait(&waiter, step_acquire_deaf, &mutex, TM_INFINITE);
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	CHECK_EQ(outcome(&waiter), -EINTR);

	tell_to_wait(&waiter, step_acquire_deaf, &mutex, TM_INFINITE);
	enqueue(&other, &mutex, TM_INFINITE);
	suspend_waiter(&waiter);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&other), 0);
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	until(is_queued(&waiter));
	/* Its owner does not take part. */
	CHECK_EQ(rt_task_delete(&waiter.task), 0);
	CHECK_OWNER(&mutex, &other.task);
	CHECK_EQ(release(&other, &mutex), 0);
	CHECK_UNOWNED(&mutex);
}

static int handled, null;

/* Goes through a cancellation point. */
static void on_usr1(int signal)
{
	(void)signal;
	CHECK_EQ(write(null, "x", 1), 1);
	__atomic_store_n(&handled, 1, __ATOMIC_RELEASE);
}

/* Whoever cancels a waiter, and has it run a handler, does not end it in the middle of the wait. */
static void cancelled_waiter_in_a_handler(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_usr1;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	null = open("/dev/null", O_WRONLY);
	CHECK(null >= 0);
	hold_it();
	enqueue(&waiter, &mutex, TM_INFINITE);
	CHECK_EQ(pthread_cancel(waiter.task.thread), 0);
	CHECK_EQ(pthread_kill(waiter.task.thread, SIGUSR1), 0);
	until(__atomic_load_n(&handled, __ATOMIC_ACQUIRE));
	until(is_queued(&waiter));
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY);
	/* What it is handed it keeps until its next wait, where it ends. */
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(rt_task_join(&waiter.task), 0);
	use_once(&other, &mutex, -EOWNERDEAD);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

KIT_CASES(
	CASE_FIFO(unblocked_waiter_is_passed_over), CASE_FIFO(suspended_waiter_is_passed_over),
	CASE_FIFO(cycle_of_a_waiter_that_leaves), CASE_KERNEL(lowered_owner_keeps_the_order),
	CASE(waiter_that_blocks_all_signals), CASE(cancelled_waiter_in_a_handler))
