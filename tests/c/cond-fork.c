/* Condition variables across a fork: nobody waits in the child; the parent notices nothing. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include "cond-kit.h"
#include "child.h"

static struct puppet waiter, other;

static void wait_and_be_signalled_here(void)
{
	struct puppet here;

	start(&here, 0, NULL);
	wait_for_signal(&here, TM_INFINITE);
	CHECK_WAITED_FOR(&cond);
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	end_wait(&here, 0);
	tell(&here, step_acquire_wait, &mutex, MS);
	end_wait(&here, -ETIMEDOUT);
	dismiss(&here);
}

static void use_in_child(void *arg)
{
	RT_COND bound;
	RT_COND_INFO info;

	(void)arg;
	CHECK_EQ(rt_cond_inquire(&cond, &info), 0);
	CHECK_STR(info.name, "shared?");
	CHECK_EQ(rt_cond_signal(&cond), 0);
	CHECK_EQ(rt_cond_broadcast(&cond), 0);
	wait_and_be_signalled_here();
	CHECK_EQ(rt_cond_bind(&bound, "shared?", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, cond.handle);
	/* The waiter has not come along, and does not keep anything busy. */
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	CHECK_EQ(rt_cond_delete(&bound), 0);
	CHECK_EQ(rt_cond_signal(&cond), -EINVAL);
	CHECK_EQ(rt_cond_create(&bound, "shared?"), 0);
	CHECK_EQ(rt_cond_create(&bound, "child's"), 0);
}

static void deletes_at_once(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_cond_delete(&cond), 0);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

static void fork_here(void *child)
{
	CHECK_EQ(in_child((void (*)(void *))(uintptr_t)child, NULL), 0);
}

static void child_has_no_waiter(void)
{
	RT_COND bound;

	no_thread_sanitizer();
	CHECK_EQ(rt_cond_create(&cond, "shared?"), 0);
	MAKE_MUTEX(&mutex);
	start(&waiter, 20, NULL);
	start(&other, 10, NULL);
	wait_for_signal(&waiter, TM_INFINITE);
	CHECK_EQ(in_child(use_in_child, NULL), 0);
	as_task(0, fork_here, (void *)(uintptr_t)use_in_child);
	CHECK_EQ(in_child(deletes_at_once, NULL), 0);
	CHECK(is_queued(&waiter));
	CHECK_WAITED_FOR(&cond);
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY);
	CHECK_EQ(rt_cond_bind(&bound, "child's", TM_NONBLOCK), -EWOULDBLOCK);
	use_once(&other, &mutex, 0);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	end_wait(&waiter, 0);
	delete_cond_and_mutex();
	dismiss(&waiter);
	dismiss(&other);
}

/* One that has been signalled and waits for the mutex has not come along either. */
static void alone_with_the_mutex(void *arg)
{
	(void)arg;
	CHECK_OWNER(&mutex, rt_task_self());
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_UNOWNED(&mutex);
	wait_and_be_signalled_here();
	delete_cond_and_mutex();
}

static int step_fork(RT_MUTEX *target, RTIME unused)
{
	(void)target;
	(void)unused;
	return in_child(alone_with_the_mutex, NULL);
}

static void waiter_for_the_mutex_stays_in_the_parent(void)
{
	no_thread_sanitizer();
	make_cond_and_mutex();
	start(&waiter, 20, NULL);
	start(&other, 0, NULL);
	wait_for_signal(&waiter, TM_INFINITE);
	CHECK_EQ(acquire(&other, &mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	until(is_queued(&waiter));
	CHECK_EQ(ask(&other, step_fork, &mutex, 0), 0);
	CHECK(is_queued(&waiter));
	CHECK_EQ(release(&other, &mutex), 0);
	end_wait(&waiter, 0);
	delete_cond_and_mutex();
	dismiss(&waiter);
	dismiss(&other);
}

static int stop;

static void churn(void *number)
{
	unsigned i;

	for (i = (unsigned)(uintptr_t)number; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		int result;

		CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
		result = rt_cond_wait(&cond, &mutex, 20000);
		CHECK(result == 0 || result == -ETIMEDOUT);
		CHECK_EQ(i % 2 ? rt_cond_signal(&cond) : rt_cond_broadcast(&cond), 0);
		CHECK_EQ(rt_mutex_release(&mutex), 0);
	}
}

static int step_inherit(RT_MUTEX *target, RTIME unused)
{
	int result = rt_mutex_acquire(target, TM_INFINITE);

	(void)unused;
	CHECK(result == 0 || result == -EOWNERDEAD);
	return rt_mutex_release(target);
}

static void nothing_is_stuck(void *arg)
{
	struct puppet heir;

	(void)arg;
	start(&heir, 0, NULL);
	CHECK_EQ(ask(&heir, step_inherit, &mutex, 0), 0);
	dismiss(&heir);
	wait_and_be_signalled_here();
	delete_cond_and_mutex();
}

static void fork_amid_contention(void)
{
	RT_TASK task[3];
	int i;

	no_thread_sanitizer();
	kit_unpin();
	make_cond_and_mutex();
	for (i = 0; i < 3; i++)
		kit_spawn(&task[i], 0, churn, (void *)(uintptr_t)i);
	for (i = 0; i < 60; i++)
		CHECK_EQ(in_child(nothing_is_stuck, NULL), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		kit_join(&task[i]);
	delete_cond_and_mutex();
}

KIT_CASES(CASE(child_has_no_waiter), CASE(waiter_for_the_mutex_stays_in_the_parent), CASE(fork_amid_contention))
