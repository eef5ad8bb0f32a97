/* Who may do what with a mutex: tasks, the initial thread, plain threads; the owner and others. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"

static RT_MUTEX mutex;

/* mutex.md 10.4; -EPERM comes before anything is looked at. */
static void no_task_acquires(void *arg)
{
	static const struct timespec dates[] = { { 0, 0 }, { 0, 1 }, { 1, 2000000000 }, { 1000000000, 0 } };
	RT_MUTEX zeroed = { 0 }, garbage = { 0x12345678 }, *const targets[] = { &mutex, NULL, &zeroed, &garbage };
	unsigned i, k;

	(void)arg;
	for (i = 0; i < 4; i++) {
		CHECK_EQ(rt_mutex_acquire(targets[i], TM_NONBLOCK), -EPERM);
		CHECK_EQ(rt_mutex_acquire(targets[i], TM_INFINITE), -EPERM);
		CHECK_EQ(rt_mutex_acquire(targets[i], MS), -EPERM);
		CHECK_EQ(rt_mutex_acquire_until(targets[i], TM_NONBLOCK), -EPERM);
		CHECK_EQ(rt_mutex_acquire_until(targets[i], TM_INFINITE), -EPERM);
		CHECK_EQ(rt_mutex_acquire_until(targets[i], 1), -EPERM);
		CHECK_EQ(rt_mutex_acquire_timed(targets[i], NULL), -EPERM);
		for (k = 0; k < 4; k++)
			CHECK_EQ(rt_mutex_acquire_timed(targets[i], &dates[k]), -EPERM);
	}
	CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
	CHECK_EQ(rt_mutex_release(NULL), -EINVAL);
	CHECK_EQ(rt_mutex_release(&zeroed), -EINVAL);
	CHECK_EQ(rt_mutex_release(&garbage), -EINVAL);
}

static void only_tasks_acquire(void)
{
	struct puppet owner;

	start(&owner, 10, NULL);
	MAKE_MUTEX(&mutex);
	no_task_acquires(NULL);
	kit_plain(no_task_acquires, NULL);
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	no_task_acquires(NULL);
	kit_plain(no_task_acquires, NULL);
	CHECK_OWNER(&mutex, &owner.task);
	CHECK_EQ(release(&owner, &mutex), 0);
	dismiss(&owner);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

static void use_as_shadow(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_task_shadow(NULL, NULL, 0, 0), 0);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_NONBLOCK), 0);
	CHECK_OWNER(&mutex, rt_task_self());
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
	CHECK_UNOWNED(&mutex);
}

static void shadowed_threads_acquire(void)
{
	MAKE_MUTEX(&mutex);
	kit_plain(use_as_shadow, NULL);
	use_as_shadow(NULL);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

static void create_inquire_delete(void *arg)
{
	RT_MUTEX mine;

	(void)arg;
	CHECK_EQ(rt_mutex_create(&mine, "of anybody"), 0);
	CHECK_UNOWNED(&mine);
	CHECK_EQ(rt_mutex_delete(&mine), 0);
	CHECK_EQ(rt_mutex_inquire(&mine, NULL), -EINVAL);
}

static void any_thread_creates_inquires_and_deletes(void)
{
	create_inquire_delete(NULL);
	kit_plain(create_inquire_delete, NULL);
	as_task(10, create_inquire_delete, NULL);
}

static void release_in_vain(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
}

/* mutex.md 10.5 */
static void only_the_owner_releases(void)
{
	struct puppet owner, other;

	MAKE_MUTEX(&mutex);
	start(&owner, 10, NULL);
	start(&other, 20, NULL);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	CHECK_EQ(release(&other, &mutex), -EPERM);
	release_in_vain(NULL);
	kit_plain(release_in_vain, NULL);
	CHECK_OWNER(&mutex, &owner.task);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(release(&other, &mutex), -EPERM);
	CHECK_EQ(poll_for(&other, &mutex), -EWOULDBLOCK);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(release(&owner, &mutex), -EPERM);
	use_once(&other, &mutex, 0);
	dismiss(&owner);
	dismiss(&other);
}

KIT_CASES(
	CASE(only_tasks_acquire), CASE(shadowed_threads_acquire), CASE(any_thread_creates_inquires_and_deletes),
	CASE(only_the_owner_releases))
