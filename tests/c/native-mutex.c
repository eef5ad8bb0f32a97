/* Mutexes of the 2.x interface: what differs from 3.x (native2.md 2, 5, 6, 7.3; abi.md 7.2). */
#include "native-kit.h"
#include "mutex-kit.h"
#include <stddef.h>

_Static_assert(sizeof(RT_MUTEX) == 24 && offsetof(RT_MUTEX, opaque) == 0, "RT_MUTEX");
_Static_assert(offsetof(RT_MUTEX, handle) == 0, "RT_MUTEX by its 3.x name");
_Static_assert(sizeof(RT_MUTEX_PLACEHOLDER) == 24, "RT_MUTEX_PLACEHOLDER");
_Static_assert(sizeof(RT_MUTEX_INFO) == 72 && _Alignof(RT_MUTEX_INFO) == 4, "RT_MUTEX_INFO");
_Static_assert(offsetof(RT_MUTEX_INFO, locked) == 0 && offsetof(RT_MUTEX_INFO, lockcnt) == 0, "locked");
_Static_assert(offsetof(RT_MUTEX_INFO, nwaiters) == 4 && offsetof(RT_MUTEX_INFO, name) == 8, "nwaiters, name");
_Static_assert(offsetof(RT_MUTEX_INFO, owner) == 40 && sizeof(((RT_MUTEX_INFO *)0)->owner) == 32, "owner");

static RT_MUTEX mutex;
static struct puppet owner, waiter, other;

/* The mutex shows that owner ("" for none) and that many waiters. */
static void check_mutex(const char *owner_name, int nwaiters)
{
	RT_MUTEX_INFO info;

	memset(&info, 0x5a, sizeof(info));
	CHECK_EQ(rt_mutex_inquire(&mutex, &info), 0);
	CHECK_STR(info.name, "the mutex");
	CHECK_STR(info.owner, owner_name);
	CHECK_EQ(info.nwaiters, nwaiters);
	CHECK_EQ(info.locked > 0, owner_name[0] != '\0');
	CHECK_EQ(info.lockcnt, info.locked);
}

static void begin(void)
{
	CHECK_EQ(rt_mutex_create(&mutex, "the mutex"), 0);
	start_named(&owner, "the owner", 10, NULL);
	start_named(&waiter, "the waiter", 20, NULL);
	start_named(&other, "the other", 15, NULL);
}

static int step_lock(RT_MUTEX *target, RTIME timeout)
{
	return rt_mutex_lock(target, timeout);
}

static int step_unlock(RT_MUTEX *target, RTIME unused)
{
	(void)unused;
	return rt_mutex_unlock(target);
}

/* --- lock, unlock ------------------------------------------------------------------------------------------------- */

/* They are acquire and release by their old names: the calls mix. */
static void old_names_acquire_and_release(void)
{
	begin();
	CHECK_EQ(ask(&owner, step_lock, &mutex, TM_INFINITE), 0);
	CHECK_EQ(ask(&owner, step_lock, &mutex, TM_NONBLOCK), 0);
	CHECK_EQ(acquire(&owner, &mutex, TM_NONBLOCK), 0);
	check_mutex("the owner", 0);
	CHECK_EQ(ask(&other, step_lock, &mutex, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(poll_for(&other, &mutex), -EWOULDBLOCK);
	CHECK_EQ(ask(&other, step_unlock, &mutex, 0), -EPERM);
	CHECK_EQ(release(&other, &mutex), -EPERM);
	CHECK_EQ(ask(&owner, step_unlock, &mutex, 0), 0);
	CHECK_EQ(ask(&owner, step_unlock, &mutex, 0), 0);
	check_mutex("the owner", 0);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(ask(&owner, step_unlock, &mutex, 0), -EPERM);
	check_mutex("", 0);
}

static int step_timed_lock(RT_MUTEX *target, RTIME limit)
{
	long long start_time = kit_now();

	CHECK_EQ(rt_mutex_lock(target, limit), -ETIMEDOUT);
	CHECK(kit_now() - start_time >= (long long)limit);
	start_time = kit_now();
	CHECK_EQ(rt_mutex_acquire_until(target, rt_timer_read() + limit), -ETIMEDOUT);
	CHECK(kit_now() - start_time >= (long long)limit);
	CHECK_EQ(rt_mutex_acquire_until(target, 1), -ETIMEDOUT);
	CHECK_EQ(rt_mutex_acquire_until(target, TM_NONBLOCK), -EWOULDBLOCK);
	return 0;
}

static void lock_waits_its_time_and_is_handed_over(void)
{
	begin();
	CHECK_EQ(ask(&owner, step_lock, &mutex, TM_INFINITE), 0);
	CHECK_EQ(ask(&other, step_timed_lock, &mutex, 10 * MS), 0);
	check_mutex("the owner", 0);
	tell_to_wait(&other, step_lock, &mutex, HOUR);
	check_mutex("the owner", 1);
	tell_to_wait(&waiter, step_lock, &mutex, TM_INFINITE);
	check_mutex("the owner", 2);
	CHECK_EQ(ask(&owner, step_unlock, &mutex, 0), 0);
	CHECK_EQ(outcome(&waiter), 0);
	check_mutex("the waiter", 1);
	CHECK_EQ(ask(&waiter, step_unlock, &mutex, 0), 0);
	CHECK_EQ(outcome(&other), 0);
	check_mutex("the other", 0);
	CHECK_EQ(ask(&other, step_unlock, &mutex, 0), 0);
	check_mutex("", 0);
}

static void unblock_ends_a_lock(void)
{
	needs_interruptible_waits();
	begin();
	CHECK_EQ(ask(&owner, step_lock, &mutex, TM_INFINITE), 0);
	tell_to_wait(&waiter, step_lock, &mutex, TM_INFINITE);
	tell_to_wait(&other, step_lock, &mutex, TM_INFINITE);
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	CHECK_EQ(outcome(&waiter), -EINTR);
	check_mutex("the owner", 1);
	CHECK_EQ(ask(&owner, step_unlock, &mutex, 0), 0);
	CHECK_EQ(outcome(&other), 0);
}

static void no_task(void *arg)
{
	RT_MUTEX bound;

	(void)arg;
	CHECK_EQ(rt_mutex_lock(&mutex, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_mutex_lock(&mutex, TM_NONBLOCK), -EPERM);
	CHECK_EQ(rt_mutex_acquire(&mutex, MS), -EPERM);
	CHECK_EQ(rt_mutex_unlock(&mutex), -EPERM);
	CHECK_EQ(rt_mutex_bind(&bound, "absent", MS), -EWOULDBLOCK);
	CHECK_EQ(rt_mutex_bind(&bound, "absent", TM_INFINITE), -EWOULDBLOCK);
	CHECK_EQ(rt_mutex_bind(&bound, "the mutex", TM_INFINITE), 0);
	CHECK_EQ(bound.opaque, mutex.opaque);
}

static void plain_thread_neither_locks_nor_waits(void)
{
	begin();
	kit_plain(no_task, NULL);
	check_mutex("", 0);
	CHECK_EQ(ask(&owner, step_lock, &mutex, TM_INFINITE), 0);
	kit_plain(no_task, NULL);
	check_mutex("the owner", 0);
}

/* --- Deletion ----------------------------------------------------------------------------------------------------- */

/* Of the deleted mutex nothing is left but the descriptor: the 3.x code (native2.md 6). */
static void check_gone(struct puppet *puppet)
{
	RT_MUTEX_INFO info;

	CHECK_EQ(ask(puppet, step_unlock, &mutex, 0), -EINVAL);
	CHECK_EQ(ask(puppet, step_lock, &mutex, TM_INFINITE), -EINVAL);
	CHECK_EQ(poll_for(puppet, &mutex), -EINVAL);
	CHECK_EQ(ask(puppet, step_delete, &mutex, 0), -EINVAL);
	CHECK_EQ(rt_mutex_inquire(&mutex, &info), -EINVAL);
	CHECK_EQ(rt_mutex_bind(&mutex, "the mutex", TM_NONBLOCK), -EWOULDBLOCK);
}

/* A new mutex of that name has nothing of the old one. */
static void check_new_one(void)
{
	CHECK_EQ(rt_mutex_create(&mutex, "the mutex"), 0);
	check_mutex("", 0);
	CHECK_EQ(release(&owner, &mutex), -EPERM);
	CHECK_EQ(poll_for(&other, &mutex), 0);
	check_mutex("the other", 0);
	CHECK_EQ(poll_for(&owner, &mutex), -EWOULDBLOCK);
	CHECK_EQ(release(&other, &mutex), 0);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

static void locked_mutex_is_deleted(void)
{
	begin();
	CHECK_EQ(ask(&owner, step_lock, &mutex, TM_INFINITE), 0);
	CHECK_EQ(ask(&owner, step_lock, &mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	check_gone(&owner);
	check_new_one();
	dismiss(&owner);
	start(&owner, 10, NULL);
	check_new_one();
}

static void deletion_tells_every_waiter(void)
{
	begin();
	CHECK_EQ(ask(&owner, step_lock, &mutex, TM_INFINITE), 0);
	tell_to_wait(&waiter, step_lock, &mutex, TM_INFINITE);
	tell_to_wait(&other, step_acquire, &mutex, HOUR);
	check_mutex("the owner", 2);
	CHECK_EQ(ask(&owner, step_delete, &mutex, 0), 0); /* by the owner itself */
	CHECK_EQ(outcome(&waiter), -EIDRM);
	CHECK_EQ(outcome(&other), -EIDRM);
	check_gone(&owner);
	check_gone(&waiter);
	check_new_one();
}

/* By a task above them all: nobody runs between deletion and re-creation. */
static void delete_and_create(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	CHECK_EQ(rt_mutex_create(&mutex, "the mutex"), 0);
	mark("created");
	check_mutex("", 0);
}

static void name_is_free_before_the_removed_waiters_run(void)
{
	begin();
	waiter.tag = "waiter";
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	tell_to_wait(&waiter, step_lock, &mutex, TM_INFINITE);
	as_task(50, delete_and_create, NULL);
	CHECK_EQ(outcome(&waiter), -EIDRM);
	expect_marks("created waiter");
	waiter.tag = NULL;
	check_mutex("", 0);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	check_new_one();
}

static void removed_waiters_run_in_queue_order(void)
{
	struct puppet first;

	needs_interruptible_waits();
	begin();
	start(&first, 30, "30");
	waiter.tag = "20";
	other.tag = "15";
	CHECK_EQ(ask(&owner, step_lock, &mutex, TM_INFINITE), 0);
	enqueue(&other, &mutex, TM_INFINITE);
	enqueue(&first, &mutex, TM_INFINITE);
	enqueue(&waiter, &mutex, TM_INFINITE);
	CHECK_EQ(ask(&owner, step_delete, &mutex, 0), 0);
	CHECK_EQ(outcome(&first), -EIDRM);
	CHECK_EQ(outcome(&waiter), -EIDRM);
	CHECK_EQ(outcome(&other), -EIDRM);
	expect_marks("30 20 15");
}

static void deletion_ends_the_boost(void)
{
	begin();
	CHECK_EQ(ask(&owner, step_lock, &mutex, TM_INFINITE), 0);
	tell_to_wait(&waiter, step_lock, &mutex, TM_INFINITE);
	CHECK_EQ(effective_prio(&owner), 20);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	CHECK_EQ(outcome(&waiter), -EIDRM);
	CHECK_EQ(effective_prio(&owner), 10);
}

static void orphan_is_shown_without_an_owner_and_deleted(void)
{
	begin();
	CHECK_EQ(ask(&owner, step_lock, &mutex, TM_INFINITE), 0);
	dismiss(&owner);
	check_mutex("", 0);
	CHECK_EQ(ask(&other, step_lock, &mutex, TM_INFINITE), -EOWNERDEAD);
	check_mutex("the other", 0);
	dismiss(&other);
	check_mutex("", 0);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

/* --- Names -------------------------------------------------------------------------------------------------------- */

static void names_and_descriptors(void)
{
	RT_MUTEX bound, before, third, zeroed;
	RT_MUTEX_INFO info;

	memset(&zeroed, 0, sizeof(zeroed));
	CHECK_EQ(rt_mutex_create(&third, NULL), 0);
	CHECK_EQ(rt_mutex_inquire(&third, &info), 0);
	CHECK_STR(info.name, "mutex@1");
	begin();
	memset(&bound, 0x5a, sizeof(bound));
	before = bound;
	CHECK_EQ(rt_mutex_create(&bound, "the mutex"), -EEXIST);
	CHECK_SAME_BYTES(&bound, &before, sizeof(bound));
	CHECK_EQ(rt_mutex_bind(&bound, "the mutex", TM_NONBLOCK), 0);
	CHECK_EQ(bound.opaque, mutex.opaque);
	CHECK_EQ(ask(&owner, step_lock, &bound, TM_INFINITE), 0);
	check_mutex("the owner", 0);
	CHECK_EQ(ask(&owner, step_unlock, &mutex, 0), 0);
	CHECK_EQ(rt_mutex_unbind(&bound), 0);
	CHECK_EQ(bound.opaque, 0);
	CHECK_EQ(ask(&owner, step_lock, &bound, TM_INFINITE), -EINVAL);
	CHECK_EQ(ask(&owner, step_lock, &zeroed, TM_INFINITE), -EINVAL);
	CHECK_EQ(ask(&owner, step_lock, NULL, TM_INFINITE), -EINVAL);
	CHECK_EQ(ask(&owner, step_unlock, NULL, 0), -EINVAL);
	CHECK_EQ(rt_mutex_delete(&zeroed), -EINVAL);
	CHECK_EQ(rt_mutex_delete(NULL), -EINVAL);
	CHECK_EQ(rt_mutex_create(NULL, NULL), -EINVAL);
	CHECK_EQ(rt_mutex_inquire(&mutex, NULL), -EINVAL);
	memset(&info, 0x5a, sizeof(info));
	CHECK_EQ(rt_mutex_inquire(&zeroed, &info), -EINVAL);
	CHECK_EQ(info.locked, 0x5a5a5a5a);
}

KIT_CASES(
	CASE(old_names_acquire_and_release), CASE(lock_waits_its_time_and_is_handed_over), CASE(unblock_ends_a_lock),
	CASE(plain_thread_neither_locks_nor_waits), CASE(locked_mutex_is_deleted), CASE(deletion_tells_every_waiter),
	CASE_FIFO(name_is_free_before_the_removed_waiters_run), CASE_FIFO(removed_waiters_run_in_queue_order),
	CASE_KERNEL(deletion_ends_the_boost), CASE(orphan_is_shown_without_an_owner_and_deleted),
	CASE(names_and_descriptors))
