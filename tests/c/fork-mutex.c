/* Mutexes across a fork: what the forking task owns it owns in the child, what others own is without an owner there, and
 * nobody waits. The parent notices nothing. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include "child.h"

static RT_MUTEX mutex, second;

/* The child: acquires as a task of its own, with this result, and releases. */
static void use_in_child(RT_MUTEX *target, int result)
{
	struct puppet user;

	start(&user, 0, NULL);
	use_once(&user, target, result);
	use_once(&user, target, 0);
	dismiss(&user);
}

/* The body of a task that forks. */
static void fork_here(void *child)
{
	CHECK_EQ(in_child((void (*)(void *))(uintptr_t)child, NULL), 0);
}

static void fork_as_task(void (*child)(void *))
{
	as_task(0, fork_here, (void *)(uintptr_t)child);
}

/* ---- What the forking task owns ----------------------------------------------------------------------------------- */

static void owns_it_three_times(void *arg)
{
	(void)arg;
	CHECK_OWNER(&mutex, rt_task_self());
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_OWNER(&mutex, rt_task_self());
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
	CHECK_UNOWNED(&mutex);
	use_in_child(&mutex, 0);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_NONBLOCK), 0);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_NONBLOCK), -EINVAL);
}

static void acquire_thrice_and_fork(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 3; i++)
		CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	for (i = 0; i < 2; i++)
		CHECK_EQ(in_child(owns_it_three_times, NULL), 0);
	for (i = 0; i < 3; i++) {
		CHECK_OWNER(&mutex, rt_task_self());
		CHECK_EQ(rt_mutex_release(&mutex), 0);
	}
	CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
}

static void own_mutex_is_owned_as_deep_in_the_child(void)
{
	no_thread_sanitizer();
	MAKE_MUTEX(&mutex);
	as_task(0, acquire_thrice_and_fork, NULL);
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

/* Under the id it has there, waiters find it. */
static void hands_over_in_child(void *arg)
{
	struct puppet heir;

	(void)arg;
	start(&heir, 5, NULL);
	CHECK_EQ(poll_for(&heir, &mutex), -EWOULDBLOCK);
	enqueue(&heir, &mutex, TM_INFINITE);
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_EQ(outcome(&heir), 0);
	CHECK_OWNER(&mutex, &heir.task);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(release(&heir, &mutex), 0);
	/* And it waits itself. */
	CHECK_EQ(poll_for(&heir, &mutex), 0);
	CHECK_EQ(rt_mutex_acquire(&mutex, MS), -ETIMEDOUT);
	dismiss(&heir);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), -EOWNERDEAD);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
}

static void acquire_and_fork(void *child)
{
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	fork_here(child);
	CHECK_OWNER(&mutex, rt_task_self());
	CHECK_EQ(rt_mutex_release(&mutex), 0);
}

static void own_mutex_is_contended_in_the_child(void)
{
	no_thread_sanitizer();
	MAKE_MUTEX(&mutex);
	as_task(0, acquire_and_fork, (void *)(uintptr_t)hands_over_in_child);
	CHECK_UNOWNED(&mutex);
}

static void exit_as_heir(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), -EOWNERDEAD);
	CHECK_OWNER(&mutex, rt_task_self());
	CHECK_EQ(rt_mutex_acquire(&second, TM_INFINITE), -EOWNERDEAD);
	_exit(0);
}

/* The child's list of what its thread owns was made anew: its end must find all of it. */
static void ends_as_owner_in_child(void *arg)
{
	RT_TASK heir;

	(void)arg;
	CHECK_EQ(rt_mutex_acquire(&second, TM_INFINITE), 0);
	CHECK_EQ(rt_task_spawn(&heir, NULL, 0, 0, 0, exit_as_heir, NULL), 0);
	until(kit_blocked(&heir));
	pthread_exit(NULL);
}

static void owner_may_end_in_the_child(void)
{
	no_thread_sanitizer();
	MAKE_MUTEX(&mutex);
	MAKE_MUTEX(&second);
	as_task(0, acquire_and_fork, (void *)(uintptr_t)ends_as_owner_in_child);
	CHECK_UNOWNED(&mutex);
	CHECK_UNOWNED(&second);
}

static void owns_it_twice(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_OWNER(&mutex, rt_task_self());
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_UNOWNED(&mutex);
	use_in_child(&mutex, 0);
}

static void acquires_and_forks_again(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	CHECK_EQ(in_child(owns_it_twice, NULL), 0);
	owns_it_twice(NULL);
}

static void grandchild_inherits_from_the_child(void)
{
	no_thread_sanitizer();
	MAKE_MUTEX(&mutex);
	as_task(0, acquire_and_fork, (void *)(uintptr_t)acquires_and_forks_again);
	CHECK_UNOWNED(&mutex);
}

/* ---- What others own ---------------------------------------------------------------------------------------------- */

static struct puppet owner, waiter;

static void start_owner_and_waiter(int depth)
{
	MAKE_MUTEX(&mutex);
	start(&owner, 0, NULL);
	start(&waiter, 20, NULL);
	while (depth-- > 0)
		CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	enqueue(&waiter, &mutex, TM_INFINITE);
}

/* In the parent nothing has happened. */
static void end_owner_and_waiter(int depth)
{
	CHECK_OWNER(&mutex, &owner.task);
	CHECK(is_queued(&waiter));
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY);
	while (--depth > 0)
		CHECK_EQ(release(&owner, &mutex), 0);
	CHECK(is_queued(&waiter));
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_OWNER(&mutex, &waiter.task);
	CHECK_EQ(release(&waiter, &mutex), 0);
	use_once(&owner, &mutex, 0);
	dismiss(&owner);
	dismiss(&waiter);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

static void finds_an_orphan(void *arg)
{
	(void)arg;
	CHECK_UNOWNED(&mutex);
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
	if (rt_task_self()) {
		CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), -EOWNERDEAD);
		CHECK_OWNER(&mutex, rt_task_self());
		CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
		CHECK_EQ(rt_mutex_release(&mutex), 0);
		CHECK_EQ(rt_mutex_release(&mutex), 0);
		CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
		use_in_child(&mutex, 0);
	} else {
		use_in_child(&mutex, -EOWNERDEAD);
	}
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

static void deletes_it_at_once(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	CHECK_EQ(rt_mutex_delete(&mutex), -EINVAL);
	CHECK_EQ(rt_mutex_release(&mutex), -EINVAL);
}

static void mutex_of_another_is_an_orphan_in_the_child(void)
{
	no_thread_sanitizer();
	start_owner_and_waiter(2);
	CHECK_EQ(in_child(finds_an_orphan, NULL), 0);
	fork_as_task(finds_an_orphan);
	CHECK_EQ(in_child(deletes_it_at_once, NULL), 0);
	fork_as_task(deletes_it_at_once);
	end_owner_and_waiter(2);
}

static void is_alone_with_it(void *arg)
{
	(void)arg;
	CHECK_OWNER(&mutex, rt_task_self());
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	/* Nobody has got it. */
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_NONBLOCK), 0);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	use_in_child(&mutex, 0);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

static int step_fork(RT_MUTEX *target, RTIME unused)
{
	(void)target;
	(void)unused;
	return in_child(is_alone_with_it, NULL);
}

static void waiters_are_gone_in_the_child(void)
{
	no_thread_sanitizer();
	start_owner_and_waiter(1);
	CHECK_EQ(ask(&owner, step_fork, &mutex, 0), 0);
	end_owner_and_waiter(1);
}

static void finds_the_orphan(void *arg)
{
	(void)arg;
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_NONBLOCK), -EOWNERDEAD);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	use_in_child(&mutex, 0);
}

static void orphan_is_told_to_each_process(void)
{
	no_thread_sanitizer();
	MAKE_MUTEX(&mutex);
	start(&owner, 10, NULL);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	dismiss(&owner);
	fork_as_task(finds_the_orphan);
	fork_as_task(finds_the_orphan);
	start(&waiter, 10, NULL);
	use_once(&waiter, &mutex, -EOWNERDEAD);
	use_once(&waiter, &mutex, 0);
	dismiss(&waiter);
}

/* ---- Amid contention ---------------------------------------------------------------------------------------------- */

enum { CHURNERS = 3 };

static int stop;

static void churn(void *seed)
{
	unsigned round = (unsigned)(uintptr_t)seed;
	RT_MUTEX own;

	for (; !__atomic_load_n(&stop, __ATOMIC_RELAXED); round++) {
		int result = rt_mutex_acquire(&mutex, round % 3 ? TM_INFINITE : 1000);

		CHECK(result == 0 || (result == -ETIMEDOUT && round % 3 == 0));
		if (result == 0) {
			CHECK_EQ(rt_mutex_acquire(&second, TM_INFINITE), 0);
			CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
			CHECK_EQ(rt_mutex_release(&mutex), 0);
			CHECK_EQ(rt_mutex_release(&mutex), 0);
			CHECK_EQ(rt_mutex_release(&second), 0);
		}
		MAKE_MUTEX(&own);
		CHECK_EQ(rt_mutex_acquire(&own, 1000), 0);
		CHECK_EQ(rt_mutex_release(&own), 0);
		CHECK_EQ(rt_mutex_delete(&own), 0);
	}
}

static void use_once_or_as_heir(RT_MUTEX *target)
{
	int result = rt_mutex_acquire(target, TM_INFINITE);

	CHECK(result == 0 || result == -EOWNERDEAD);
	CHECK_OWNER(target, rt_task_self());
	CHECK_EQ(rt_mutex_release(target), 0);
	CHECK_EQ(rt_mutex_acquire(target, TM_NONBLOCK), 0);
	CHECK_EQ(rt_mutex_release(target), 0);
}

static void nothing_is_stuck(void *arg)
{
	RT_MUTEX own;

	(void)arg;
	use_once_or_as_heir(&mutex);
	use_once_or_as_heir(&second);
	use_in_child(&mutex, 0);
	MAKE_MUTEX(&own);
	use_in_child(&own, 0);
	CHECK_EQ(rt_mutex_delete(&own), 0);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	CHECK_EQ(rt_mutex_delete(&second), 0);
}

static void fork_amid_contention(void)
{
	RT_TASK task[CHURNERS];
	int i;

	no_thread_sanitizer();
	kit_unpin();
	MAKE_MUTEX(&mutex);
	MAKE_MUTEX(&second);
	for (i = 0; i < CHURNERS; i++)
		kit_spawn(&task[i], 0, churn, (void *)(uintptr_t)i);
	for (i = 0; i < 100; i++)
		as_task(0, fork_here, (void *)(uintptr_t)nothing_is_stuck);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < CHURNERS; i++)
		kit_join(&task[i]);
	CHECK_UNOWNED(&mutex);
	CHECK_UNOWNED(&second);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	CHECK_EQ(rt_mutex_delete(&second), 0);
}

KIT_CASES(
	CASE(own_mutex_is_owned_as_deep_in_the_child), CASE(own_mutex_is_contended_in_the_child),
	CASE(owner_may_end_in_the_child), CASE(grandchild_inherits_from_the_child),
	CASE(mutex_of_another_is_an_orphan_in_the_child), CASE(waiters_are_gone_in_the_child),
	CASE(orphan_is_told_to_each_process), CASE(fork_amid_contention))
