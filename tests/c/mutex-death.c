/* Owners that end without a release: the next one learns of it, once, and the mutex lives on. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"

static RT_MUTEX mutex;
static struct puppet owner, heir, other;

/* --- Ways to end -------------------------------------------------------------------------------------------------- */

static void return_owning(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
}

static void exit_owning(void *arg)
{
	return_owning(arg);
	pthread_exit(NULL);
}

static void delete_self_owning(void *arg)
{
	return_owning(arg);
	rt_task_delete(NULL);
	kit_fail(__FILE__, __LINE__, "rt_task_delete(NULL) returned");
}

static void delete_own_descriptor_owning(void *arg)
{
	return_owning(arg);
	rt_task_delete(rt_task_self());
	kit_fail(__FILE__, __LINE__, "rt_task_delete(rt_task_self()) returned");
}

static void cancel_self_owning(void *arg)
{
	return_owning(arg);
	pthread_cancel(pthread_self());
	pthread_testcancel();
	kit_fail(__FILE__, __LINE__, "not cancelled");
}

static void shadow_and_end_owning(void *arg)
{
	CHECK_EQ(rt_task_shadow(NULL, NULL, 0, 0), 0);
	return_owning(arg);
}

/* mutex.md 10.21: what the others find, whatever way the owner went. */
static void check_orphan(void)
{
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
	CHECK_EQ(release(&other, &mutex), -EPERM);
	CHECK_EQ(acquire(&heir, &mutex, TM_INFINITE), -EOWNERDEAD);
	CHECK_OWNER(&mutex, &heir.task);
	CHECK_EQ(poll_for(&other, &mutex), -EWOULDBLOCK);
	CHECK_EQ(release(&other, &mutex), -EPERM);
	CHECK_EQ(release(&heir, &mutex), 0);
	CHECK_UNOWNED(&mutex);
	use_once(&other, &mutex, 0);
	use_once(&heir, &mutex, 0);
}

static void every_end_of_the_owner_leaves_an_orphan(void)
{
	static void (*const ends[])(void *) = {
		return_owning, exit_owning, delete_self_owning, delete_own_descriptor_owning, cancel_self_owning,
	};
	unsigned i;

	MAKE_MUTEX(&mutex);
	start(&heir, 10, NULL);
	start(&other, 20, NULL);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		as_task(15, ends[i], NULL);
		check_orphan();
	}
	kit_plain(shadow_and_end_owning, NULL);
	check_orphan();
	dismiss(&heir);
	dismiss(&other);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

static void deleted_owner_leaves_an_orphan(void)
{
	int suspended;

	MAKE_MUTEX(&mutex);
	start(&heir, 10, NULL);
	start(&other, 20, NULL);
	for (suspended = 0; suspended <= 1; suspended++) {
		start(&owner, 15, NULL);
		CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
		if (suspended)
			CHECK_EQ(rt_task_suspend(&owner.task), 0);
		CHECK_EQ(rt_task_delete(&owner.task), 0); /* it waits for its next step */
		check_orphan();
		kit_join(&owner.task);
	}
	dismiss(&heir);
	dismiss(&other);
}

/* common.md 10: cleanup handlers run before owned mutexes become orphans. */
static void release_in_cleanup(void *unused)
{
	(void)unused;
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	mark("cleanup");
}

static int step_acquire_and_sleep(RT_MUTEX *target, RTIME unused)
{
	(void)unused;
	CHECK_EQ(rt_mutex_acquire(target, TM_INFINITE), 0);
	pthread_cleanup_push(release_in_cleanup, NULL);
	rt_task_sleep_until(TM_INFINITE);
	pthread_cleanup_pop(0);
	return 1;
}

static void cleanup_handler_may_release(void)
{
	MAKE_MUTEX(&mutex);
	start(&owner, 15, NULL);
	start(&heir, 10, NULL);
	tell_to_wait(&owner, step_acquire_and_sleep, &mutex, 0);
	enqueue(&heir, &mutex, TM_INFINITE);
	CHECK_EQ(rt_task_delete(&owner.task), 0);
	CHECK_EQ(outcome(&heir), 0);
	expect_marks("cleanup");
	CHECK_EQ(release(&heir, &mutex), 0);
	kit_join(&owner.task);
	dismiss(&heir);
}

static void owner_that_released_leaves_no_orphan(void)
{
	MAKE_MUTEX(&mutex);
	start(&owner, 15, NULL);
	start(&heir, 10, NULL);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(release(&owner, &mutex), 0);
	dismiss(&owner);
	use_once(&heir, &mutex, 0);
	dismiss(&heir);
}

/* --- What the next one gets --------------------------------------------------------------------------------------- */

static void make_orphan(int depth)
{
	start(&owner, 15, NULL);
	while (depth-- > 0)
		CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	dismiss(&owner);
	CHECK_UNOWNED(&mutex);
}

static void depth_of_the_dead_owner_is_forgotten(void)
{
	MAKE_MUTEX(&mutex);
	start(&heir, 10, NULL);
	start(&other, 20, NULL);
	make_orphan(3);
	use_once(&heir, &mutex, -EOWNERDEAD);
	use_once(&other, &mutex, 0);
	make_orphan(2);
	CHECK_EQ(poll_for(&heir, &mutex), -EOWNERDEAD);
	CHECK_EQ(acquire(&heir, &mutex, TM_INFINITE), 0); /* told once; nests as ever */
	CHECK_EQ(release(&heir, &mutex), 0);
	CHECK_EQ(poll_for(&other, &mutex), -EWOULDBLOCK);
	CHECK_EQ(release(&heir, &mutex), 0);
	use_once(&other, &mutex, 0);
	dismiss(&heir);
	dismiss(&other);
}

static int step_acquire_malformed(RT_MUTEX *target, RTIME unused)
{
	static const struct timespec malformed = { 1, 2000000000 };

	(void)unused;
	return rt_mutex_acquire_timed(target, &malformed);
}

static int step_acquire_zero(RT_MUTEX *target, RTIME unused)
{
	static const struct timespec poll = { 0, 0 };

	(void)unused;
	return rt_mutex_acquire_timed(target, &poll);
}

static void orphan_is_taken_whatever_the_date(void)
{
	MAKE_MUTEX(&mutex);
	start(&heir, 10, NULL);
	make_orphan(1);
	CHECK_EQ(ask(&heir, step_acquire_malformed, &mutex, 0), -EOWNERDEAD);
	CHECK_EQ(release(&heir, &mutex), 0);
	make_orphan(1);
	CHECK_EQ(ask(&heir, step_acquire_zero, &mutex, 0), -EOWNERDEAD);
	CHECK_EQ(release(&heir, &mutex), 0);
	make_orphan(1);
	CHECK_EQ(ask(&heir, step_acquire_until, &mutex, 1), -EOWNERDEAD);
	CHECK_EQ(release(&heir, &mutex), 0);
	make_orphan(1);
	CHECK_EQ(acquire(&heir, &mutex, HOUR), -EOWNERDEAD);
	CHECK_EQ(release(&heir, &mutex), 0);
	use_once(&heir, &mutex, 0);
	dismiss(&heir);
}

/* mutex.md 10.22; -EOWNERDEAD is told to the first of the waiters only. */
static void first_waiter_inherits_at_the_moment_of_death(int depth, RTIME limit)
{
	MAKE_MUTEX(&mutex);
	start(&owner, 15, NULL);
	start(&other, 10, NULL);
	start(&heir, 20, NULL);
	while (depth-- > 0)
		CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	enqueue(&other, &mutex, TM_INFINITE);
	enqueue(&heir, &mutex, limit);
	CHECK_EQ(rt_task_delete(&owner.task), 0);
	CHECK_EQ(outcome(&heir), -EOWNERDEAD);
	CHECK_OWNER(&mutex, &heir.task);
	CHECK(is_queued(&other));
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY);
	CHECK_EQ(release(&heir, &mutex), 0);
	CHECK_EQ(outcome(&other), 0);
	CHECK_EQ(release(&heir, &mutex), -EPERM);
	CHECK_EQ(release(&other, &mutex), 0);
	CHECK_EQ(release(&other, &mutex), -EPERM);
	use_once(&heir, &mutex, 0);
	kit_join(&owner.task);
	dismiss(&heir);
	dismiss(&other);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

static void queued_waiter_inherits_at_once(void)
{
	first_waiter_inherits_at_the_moment_of_death(1, TM_INFINITE);
	first_waiter_inherits_at_the_moment_of_death(1, HOUR);
	first_waiter_inherits_at_the_moment_of_death(3, TM_INFINITE);
}

static void heir_that_dies_too_leaves_an_orphan_again(void)
{
	MAKE_MUTEX(&mutex);
	make_orphan(1);
	start(&heir, 20, NULL);
	start(&other, 10, NULL);
	CHECK_EQ(acquire(&heir, &mutex, TM_INFINITE), -EOWNERDEAD);
	enqueue(&other, &mutex, TM_INFINITE);
	dismiss(&heir);
	CHECK_EQ(outcome(&other), -EOWNERDEAD);
	CHECK_OWNER(&mutex, &other.task);
	CHECK_EQ(release(&other, &mutex), 0);
	use_once(&other, &mutex, 0);
	dismiss(&other);
}

static void owner_dies_waiting_for_another_mutex(void)
{
	RT_MUTEX wanted;

	needs_interruptible_waits();
	MAKE_MUTEX(&mutex);
	MAKE_MUTEX(&wanted);
	start(&owner, 15, NULL);
	start(&other, 10, NULL);
	start(&heir, 20, NULL);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	CHECK_EQ(acquire(&other, &wanted, TM_INFINITE), 0);
	enqueue(&owner, &wanted, TM_INFINITE);
	enqueue(&heir, &mutex, TM_INFINITE);
	CHECK_EQ(rt_task_delete(&owner.task), 0);
	CHECK_EQ(outcome(&heir), -EOWNERDEAD);
	CHECK_OWNER(&wanted, &other.task);
	CHECK_EQ(release(&other, &wanted), 0);
	CHECK_EQ(release(&heir, &mutex), 0);
	use_once(&heir, &wanted, 0);
	kit_join(&owner.task);
	dismiss(&heir);
	dismiss(&other);
}

KIT_CASES(
	CASE(every_end_of_the_owner_leaves_an_orphan), CASE(deleted_owner_leaves_an_orphan),
	CASE(cleanup_handler_may_release), CASE(owner_that_released_leaves_no_orphan),
	CASE(depth_of_the_dead_owner_is_forgotten), CASE(orphan_is_taken_whatever_the_date),
	CASE(queued_waiter_inherits_at_once), CASE(heir_that_dies_too_leaves_an_orphan_again),
	CASE(owner_dies_waiting_for_another_mutex))
