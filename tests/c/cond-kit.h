/*
 * What the tests of condition variables share: steps for the puppets of mutex-kit.h, all about one condition variable and
 * one mutex. Include it after mutex-kit.h.
 *
 *     start(&waiter, 20, NULL);
 *     wait_for_signal(&waiter, TM_INFINITE);            acquires and waits; returns when it is queued
 *     CHECK_EQ(rt_cond_signal(&cond), 0);
 *     CHECK_EQ(outcome(&waiter), 0);                    it owns the mutex
 *     CHECK_EQ(release(&waiter, &mutex), 0);
 */
#ifndef COND_KIT_H
#define COND_KIT_H

#ifdef KIT_NO_ALCHEMY
#include <native/cond.h>
#else
#include <alchemy/cond.h>
#endif

static RT_COND cond;
static RT_MUTEX mutex;

/* --- Steps -------------------------------------------------------------------------------------------------------- */

/* For a task that owns the mutex. */
KIT_UNUSED static int step_wait(RT_MUTEX *target, RTIME timeout)
{
	return rt_cond_wait(&cond, target, timeout);
}

KIT_UNUSED static int step_wait_until(RT_MUTEX *target, RTIME date)
{
	return rt_cond_wait_until(&cond, target, date);
}

KIT_UNUSED static int step_signal(RT_MUTEX *unused, RTIME unused_too)
{
	(void)unused;
	(void)unused_too;
	return rt_cond_signal(&cond);
}

KIT_UNUSED static int step_broadcast(RT_MUTEX *unused, RTIME unused_too)
{
	(void)unused;
	(void)unused_too;
	return rt_cond_broadcast(&cond);
}

/* The step of a whole visit: what the wait gave. */
KIT_UNUSED static int step_acquire_wait(RT_MUTEX *target, RTIME timeout)
{
	CHECK_EQ(rt_mutex_acquire(target, TM_INFINITE), 0);
	return rt_cond_wait(&cond, target, timeout);
}

KIT_UNUSED static int step_acquire_wait_until(RT_MUTEX *target, RTIME date)
{
	CHECK_EQ(rt_mutex_acquire(target, TM_INFINITE), 0);
	return rt_cond_wait_until(&cond, target, date);
}

KIT_UNUSED static int step_acquire_wait_release(RT_MUTEX *target, RTIME timeout)
{
	int result;

	CHECK_EQ(rt_mutex_acquire(target, TM_INFINITE), 0);
	result = rt_cond_wait(&cond, target, timeout);
	CHECK_EQ(rt_mutex_release(target), 0);
	return result;
}

/* --- Puppets ------------------------------------------------------------------------------------------------------ */

/* Acquires the mutex, which must be free, and waits; leaves it owned. */
KIT_UNUSED static void wait_for_signal(struct puppet *puppet, RTIME timeout)
{
	tell_to_wait(puppet, step_acquire_wait, &mutex, timeout);
}

/* The same, but releases at the end. */
KIT_UNUSED static void visit(struct puppet *puppet, RTIME timeout)
{
	tell_to_wait(puppet, step_acquire_wait_release, &mutex, timeout);
}

#define MAKE_COND(cond) CHECK_EQ(rt_cond_create((cond), NULL), 0)

#ifndef KIT_NO_ALCHEMY
KIT_UNUSED static void make_cond_and_mutex(void)
{
	MAKE_COND(&cond);
	MAKE_MUTEX(&mutex);
}

/* Somebody waits for a signal, or nobody does. */
#define CHECK_WAITED_FOR(cond) CHECK_EQ(rt_cond_delete(cond), -EBUSY)

/* Its wait has ended with this result; it owns the mutex, once, and gives it back. */
KIT_UNUSED static void end_wait(struct puppet *puppet, int result)
{
	CHECK_EQ(outcome(puppet), result);
	CHECK_OWNER(&mutex, &puppet->task);
	CHECK_EQ(release(puppet, &mutex), 0);
	CHECK_EQ(release(puppet, &mutex), -EPERM);
}

/* Nobody waits, the mutex is free and works: all of it is deleted. */
KIT_UNUSED static void delete_cond_and_mutex(void)
{
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_cond_delete(&cond), 0);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}
#endif

#endif /* COND_KIT_H */
