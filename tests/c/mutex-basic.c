/* Mutexes without contention for time: owner and depth, inquiry, deletion. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include <stddef.h>

/* abi.md 7.1 */
_Static_assert(sizeof(RT_MUTEX) == 8 && _Alignof(RT_MUTEX) == 8 && offsetof(RT_MUTEX, handle) == 0, "RT_MUTEX");
_Static_assert(sizeof(RT_MUTEX_INFO) == 48 && _Alignof(RT_MUTEX_INFO) == 8, "RT_MUTEX_INFO");
_Static_assert(offsetof(RT_MUTEX_INFO, owner) == 0 && offsetof(RT_MUTEX_INFO, name) == 16, "RT_MUTEX_INFO");

static RT_MUTEX mutex;

/* --- Ownership and depth ------------------------------------------------------------------------------------------ */

/* mutex.md 10.1 */
static void nest_five(void *arg)
{
	int i;

	(void)arg;
	CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
	for (i = 0; i < 5; i++) {
		CHECK_EQ(rt_mutex_acquire(&mutex, TM_NONBLOCK), 0);
		CHECK_OWNER(&mutex, rt_task_self());
	}
	for (i = 0; i < 5; i++) {
		CHECK_OWNER(&mutex, rt_task_self());
		CHECK_EQ(rt_mutex_release(&mutex), 0);
	}
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
	CHECK_UNOWNED(&mutex);
}

static void five_nested_polls_need_five_releases(void)
{
	MAKE_MUTEX(&mutex);
	as_task(10, nest_five, NULL);
	as_task(0, nest_five, NULL);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

/* The owner's own calls never wait, whatever the time limit. */
static void nest_in_every_form(void *arg)
{
	static const struct timespec dates[] = { { 0, 0 }, { 0, 1 }, { -1, 0 }, { 1, 2000000000 }, { 0, -1 } };
	int i, depth = 0;

	(void)arg;
	for (i = 0; i < 2; i++) {
		CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
		CHECK_EQ(rt_mutex_acquire(&mutex, MS), 0);
		CHECK_EQ(rt_mutex_acquire(&mutex, TM_NONBLOCK), 0);
		CHECK_EQ(rt_mutex_acquire_until(&mutex, TM_INFINITE), 0);
		CHECK_EQ(rt_mutex_acquire_until(&mutex, 1), 0);
		CHECK_EQ(rt_mutex_acquire_until(&mutex, TM_NONBLOCK), 0);
		CHECK_EQ(rt_mutex_acquire_timed(&mutex, NULL), 0);
		CHECK_EQ(rt_mutex_acquire_timed(&mutex, &dates[0]), 0);
		CHECK_EQ(rt_mutex_acquire_timed(&mutex, &dates[1]), 0);
		CHECK_EQ(rt_mutex_acquire_timed(&mutex, &dates[2]), 0);
		CHECK_EQ(rt_mutex_acquire_timed(&mutex, &dates[3]), 0);
		CHECK_EQ(rt_mutex_acquire_timed(&mutex, &dates[4]), 0);
		depth += 12;
	}
	while (depth-- > 0) {
		CHECK_OWNER(&mutex, rt_task_self());
		CHECK_EQ(rt_mutex_release(&mutex), 0);
	}
	CHECK_UNOWNED(&mutex);
}

static void owner_acquires_again_in_every_form(void)
{
	MAKE_MUTEX(&mutex);
	as_task(10, nest_in_every_form, NULL);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

static void deep_nesting_is_counted(void)
{
	enum { DEPTH = 100000 };
	struct puppet other;
	int i;

	MAKE_MUTEX(&mutex);
	start(&other, 10, NULL);
	CHECK_EQ(rt_task_shadow(NULL, NULL, 0, 0), 0);
	for (i = 0; i < DEPTH; i++)
		CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	for (i = 0; i < DEPTH - 1; i++)
		CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_EQ(poll_for(&other, &mutex), -EWOULDBLOCK);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
	use_once(&other, &mutex, 0);
	dismiss(&other);
}

enum { MANY = 500 };

static RT_MUTEX many[MANY];

static void hold_many(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < MANY; i++)
		CHECK_EQ(rt_mutex_acquire(&many[i], TM_INFINITE), 0);
	for (i = 0; i < MANY; i++)
		CHECK_OWNER(&many[i], rt_task_self());
	/* Neither the order of acquisition nor its reverse. */
	for (i = 0; i < MANY; i++)
		CHECK_EQ(rt_mutex_release(&many[i * 7 % MANY]), 0);
	for (i = 0; i < MANY; i++)
		CHECK_UNOWNED(&many[i]);
}

static void task_owns_many_mutexes_and_releases_them_in_any_order(void)
{
	int i;

	for (i = 0; i < MANY; i++)
		MAKE_MUTEX(&many[i]);
	as_task(10, hold_many, NULL);
	as_task(10, hold_many, NULL);
	for (i = 0; i < MANY; i++)
		CHECK_EQ(rt_mutex_delete(&many[i]), 0);
}

/* --- Inquire ------------------------------------------------------------------------------------------------------ */

static int step_see_owner(RT_MUTEX *target, RTIME owner_)
{
	RT_TASK *owner = (RT_TASK *)(uintptr_t)owner_;
	RT_MUTEX_INFO info;

	memset(&info, 0x5a, sizeof(info));
	CHECK_EQ(rt_mutex_inquire(target, &info), 0);
	CHECK_EQ(info.owner.handle, owner->handle);
	CHECK(info.owner.thread == 0 || pthread_equal(info.owner.thread, owner->thread));
	CHECK_EQ(rt_task_same(&info.owner, owner), 1);
	CHECK_STR(info.name, "looked at");
	return 0;
}

static void see_owner(void *owner)
{
	step_see_owner(&mutex, (RTIME)(uintptr_t)owner);
}

/* mutex.md 10.6; asking any number of times changes nothing. */
static void everybody_sees_the_owner(void)
{
	struct puppet owner, other, waiter;
	RT_TASK bound;
	int i;

	CHECK_EQ(rt_mutex_create(&mutex, "looked at"), 0);
	start_named(&owner, "owner", 10, NULL);
	start(&other, 20, NULL);
	start(&waiter, 15, NULL);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_task_bind(&bound, "owner", TM_NONBLOCK), 0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(ask(&owner, step_see_owner, &mutex, (RTIME)(uintptr_t)&owner.task), 0);
		CHECK_EQ(ask(&other, step_see_owner, &mutex, (RTIME)(uintptr_t)&owner.task), 0);
		CHECK_EQ(ask(&other, step_see_owner, &mutex, (RTIME)(uintptr_t)&bound), 0);
		see_owner(&owner.task);
		kit_plain(see_owner, &owner.task);
		if (i == 0)
			enqueue(&waiter, &mutex, TM_INFINITE);
	}
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_EQ(ask(&owner, step_see_owner, &mutex, (RTIME)(uintptr_t)&waiter.task), 0);
	CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK_UNOWNED(&mutex);
	dismiss(&owner);
	dismiss(&other);
	dismiss(&waiter);
}

/* mutex.md 10.7 */
static void inquiry_leaves_a_free_mutex_free(void)
{
	RT_MUTEX_INFO info;
	struct puppet user;
	int i;

	CHECK_EQ(rt_mutex_create(&mutex, "free"), 0);
	start(&user, 10, NULL);
	for (i = 0; i < 3; i++) {
		memset(&info, 0x5a, sizeof(info));
		CHECK_EQ(rt_mutex_inquire(&mutex, &info), 0);
		CHECK_EQ(info.owner.handle, 0);
		CHECK_EQ(info.owner.thread, 0);
		CHECK_STR(info.name, "free");
	}
	use_once(&user, &mutex, 0);
	CHECK_UNOWNED(&mutex);
	dismiss(&user);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

/* --- Deletion ----------------------------------------------------------------------------------------------------- */

static void delete_in_vain(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY);
}

/* mutex.md 10.8 */
static void held_mutex_is_not_deleted(void)
{
	struct puppet owner, other;
	int depth;

	CHECK_EQ(rt_mutex_create(&mutex, "held"), 0);
	start(&owner, 10, NULL);
	start(&other, 20, NULL);
	for (depth = 1; depth <= 2; depth++) {
		CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
		CHECK_EQ(ask(&owner, step_delete, &mutex, 0), -EBUSY);
		CHECK_EQ(ask(&other, step_delete, &mutex, 0), -EBUSY);
		delete_in_vain(NULL);
		kit_plain(delete_in_vain, NULL);
		CHECK_OWNER(&mutex, &owner.task);
	}
	CHECK_EQ(rt_mutex_create(&many[0], "held"), -EEXIST); /* and keeps its name */
	enqueue(&other, &mutex, TM_INFINITE);
	CHECK_EQ(ask(&owner, step_delete, &mutex, 0), -EBUSY);
	delete_in_vain(NULL);
	CHECK_EQ(release(&owner, &mutex), 0);
	delete_in_vain(NULL);
	CHECK(is_queued(&other));
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&other), 0);
	CHECK_EQ(ask(&owner, step_delete, &mutex, 0), -EBUSY);
	CHECK_EQ(ask(&other, step_delete, &mutex, 0), -EBUSY);
	CHECK_EQ(release(&other, &mutex), 0);
	use_once(&owner, &mutex, 0);
	CHECK_EQ(ask(&owner, step_delete, &mutex, 0), 0);
	dismiss(&owner);
	dismiss(&other);
}

/* mutex.md 10.10; what the services answer afterwards is in mutex-args. */
static void deletion_frees_the_name(void)
{
	struct puppet user;
	RT_MUTEX old;
	int i;

	start(&user, 10, NULL);
	for (i = 0; i < 100; i++) {
		CHECK_EQ(rt_mutex_create(&mutex, "again"), 0);
		if (i > 0)
			CHECK(mutex.handle != old.handle);
		use_once(&user, &mutex, 0);
		old = mutex;
		CHECK_EQ(i % 2 ? rt_mutex_delete(&old) : ask(&user, step_delete, &mutex, 0), 0);
		CHECK_EQ(poll_for(&user, &old), -EINVAL);
		CHECK_EQ(release(&user, &old), -EINVAL);
		CHECK_EQ(rt_mutex_delete(&mutex), -EINVAL);
		CHECK_EQ(rt_mutex_bind(&mutex, "again", TM_NONBLOCK), -EWOULDBLOCK);
	}
	dismiss(&user);
}

/* --- Suspension of the owner -------------------------------------------------------------------------------------- */

static void suspended_owner_keeps_the_mutex(void)
{
	struct puppet owner, other;

	MAKE_MUTEX(&mutex);
	start(&owner, 20, NULL);
	start(&other, 10, NULL);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_task_suspend(&owner.task), 0);
	CHECK_OWNER(&mutex, &owner.task);
	CHECK_EQ(poll_for(&other, &mutex), -EWOULDBLOCK);
	CHECK_EQ(acquire(&other, &mutex, 10 * MS), -ETIMEDOUT);
	CHECK_EQ(rt_mutex_delete(&mutex), -EBUSY);
	enqueue(&other, &mutex, TM_INFINITE);
	CHECK_EQ(rt_task_resume(&owner.task), 0);
	CHECK(is_queued(&other));
	CHECK_OWNER(&mutex, &owner.task);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&other), 0);
	CHECK_EQ(release(&other, &mutex), 0);
	dismiss(&owner);
	dismiss(&other);
}

KIT_CASES(
	CASE(five_nested_polls_need_five_releases), CASE(owner_acquires_again_in_every_form),
	CASE(deep_nesting_is_counted), CASE(task_owns_many_mutexes_and_releases_them_in_any_order),
	CASE(everybody_sees_the_owner), CASE(inquiry_leaves_a_free_mutex_free), CASE(held_mutex_is_not_deleted),
	CASE(deletion_frees_the_name), CASE(suspended_owner_keeps_the_mutex))
