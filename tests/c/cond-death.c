/* Owners that die while a wait is over and its mutex wanted: -EOWNERDEAD; waiters that die as owners. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include "cond-kit.h"

static struct puppet waiter, owner, other;

static void begin(void)
{
	make_cond_and_mutex();
	start(&waiter, 20, NULL);
	start(&owner, 10, NULL);
	start(&other, 15, NULL);
}

static void end(void)
{
	use_once(&other, &mutex, 0);
	delete_cond_and_mutex();
	dismiss(&waiter);
	dismiss(&other);
}

/* `waiter` has acquired that often and waits, `owner` has got the mutex from it. */
static void wait_and_hand_over(int depth, RTIME timeout)
{
	while (depth-- > 0)
		CHECK_EQ(acquire(&waiter, &mutex, TM_INFINITE), 0);
	enqueue(&owner, &mutex, TM_INFINITE);
	tell(&waiter, step_wait, &mutex, timeout);
	CHECK_EQ(outcome(&owner), 0);
	until(is_queued(&waiter)); /* for the signal, or for the mutex already if the time is over */
}

/* As deep as before, told once. */
static void end_as_heir(int depth)
{
	CHECK_EQ(outcome(&waiter), -EOWNERDEAD);
	CHECK_OWNER(&mutex, &waiter.task);
	while (depth-- > 0) {
		CHECK_EQ(poll_for(&other, &mutex), -EWOULDBLOCK);
		CHECK_EQ(release(&waiter, &mutex), 0);
	}
	CHECK_EQ(release(&waiter, &mutex), -EPERM);
	use_once(&other, &mutex, 0);
	use_once(&waiter, &mutex, 0);
}

/* cond.md 9.24: over a signal, a time-out, an unblock. */
static void death_of_the_owner_is_told_to_the_waiter(void)
{
	int how, depth;

	begin();
	for (how = 0; how < 3; how++) {
		depth = how + 1;
		wait_and_hand_over(depth, how == 1 ? MS : HOUR);
		if (how == 0)
			CHECK_EQ(rt_cond_signal(&cond), 0);
		else if (how == 2)
			CHECK_EQ(rt_task_unblock(&waiter.task), 0);
		until(rt_cond_delete(&cond) == 0);
		MAKE_COND(&cond);
		until(is_queued(&waiter)); /* for the mutex */
		dismiss(&owner);
		end_as_heir(depth);
		start(&owner, 10, NULL);
	}
	dismiss(&owner);
	end();
}

/* The owner is gone before the wait is over: the mutex is an orphan by then. */
static void waiter_comes_back_to_an_orphan(void)
{
	begin();
	wait_and_hand_over(2, TM_INFINITE);
	dismiss(&owner);
	CHECK(is_queued(&waiter));
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY); /* the waiter will want it */
	CHECK_EQ(rt_cond_signal(&cond), 0);
	end_as_heir(2);
	end();
}

/* Told to the first who acquires it, which need not be the waiter. */
static void another_may_be_told_first(void)
{
	begin();
	wait_and_hand_over(1, TM_INFINITE);
	dismiss(&owner);
	use_once(&other, &mutex, -EOWNERDEAD);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	end_wait(&waiter, 0);
	end();
}

/* A task that ends with what a wait gave back to it leaves an orphan like any other. */
static void waiter_dies_as_the_owner_after_the_wait(void)
{
	begin();
	wait_and_hand_over(3, TM_INFINITE);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_OWNER(&mutex, &waiter.task);
	dismiss(&waiter);
	CHECK_UNOWNED(&mutex);
	use_once(&other, &mutex, -EOWNERDEAD);
	start(&waiter, 20, NULL);
	dismiss(&owner);
	end();
}

static int step_wait_owning_more(RT_MUTEX *target, RTIME timeout)
{
	RT_MUTEX own;

	MAKE_MUTEX(&own);
	CHECK_EQ(rt_mutex_acquire(&own, TM_INFINITE), 0);
	CHECK_EQ(rt_mutex_acquire(target, TM_INFINITE), 0);
	CHECK_EQ(rt_cond_wait(&cond, target, timeout), -ETIMEDOUT);
	CHECK_OWNER(&own, rt_task_self());
	CHECK_OWNER(target, rt_task_self());
	CHECK_EQ(rt_mutex_release(target), 0);
	CHECK_EQ(rt_mutex_release(&own), 0);
	CHECK_EQ(rt_mutex_delete(&own), 0);
	return 0;
}

/* Other mutexes of the waiter stay its own, and become orphans with it. */
static void other_mutexes_are_kept(void)
{
	RT_MUTEX kept;

	needs_interruptible_waits();
	begin();
	CHECK_EQ(ask(&waiter, step_wait_owning_more, &mutex, MS), 0);
	MAKE_MUTEX(&kept);
	CHECK_EQ(acquire(&waiter, &kept, TM_INFINITE), 0);
	wait_for_signal(&waiter, TM_INFINITE);
	CHECK_OWNER(&kept, &waiter.task);
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_task_delete(&waiter.task), 0);
	kit_join(&waiter.task);
	use_once(&other, &mutex, 0);
	use_once(&other, &kept, -EOWNERDEAD);
	CHECK_EQ(rt_mutex_delete(&kept), 0);
	start(&waiter, 20, NULL);
	dismiss(&owner);
	end();
}

/* The new owner of the mutex waits for another one that the waiter has kept. The waiter, which closes the cycle, does not get its
 * mutex back; a signal for it is the next waiter's. */
static void waiter_would_come_back_into_a_deadlock(void)
{
	int signalled;
	RT_MUTEX kept;

	for (signalled = 0; signalled < 2; signalled++) {
		begin();
		MAKE_MUTEX(&kept);
		CHECK_EQ(acquire(&waiter, &kept, TM_INFINITE), 0);
		wait_for_signal(&waiter, TM_INFINITE);
		visit(&other, TM_INFINITE);
		CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
		enqueue(&owner, &kept, TM_INFINITE);
		CHECK_EQ(signalled ? rt_cond_signal(&cond) : rt_task_unblock(&waiter.task), 0);
		CHECK_EQ(outcome(&waiter), -EDEADLK);
		CHECK_OWNER(&mutex, &owner.task);
		CHECK_EQ(release(&waiter, &mutex), -EPERM);
		CHECK_EQ(release(&waiter, &kept), 0);
		CHECK_EQ(outcome(&owner), 0);
		CHECK_EQ(release(&owner, &kept), 0);
		CHECK_EQ(release(&owner, &mutex), 0);
		if (!signalled)
			CHECK_EQ(rt_cond_signal(&cond), 0);
		CHECK_EQ(outcome(&other), 0);
		CHECK_EQ(rt_mutex_delete(&kept), 0);
		dismiss(&owner);
		end();
	}
}

KIT_CASES(
	CASE(death_of_the_owner_is_told_to_the_waiter), CASE(waiter_comes_back_to_an_orphan), CASE(another_may_be_told_first),
	CASE(waiter_dies_as_the_owner_after_the_wait), CASE(other_mutexes_are_kept),
	CASE(waiter_would_come_back_into_a_deadlock))
