/* Condition variables of the 2.x interface: what differs from 3.x (native2.md 5, 6, 7.4; abi.md 7.2). */
#include "native-kit.h"
#include "mutex-kit.h"
#include "cond-kit.h"

static struct puppet waiter, other, third;

static void check_cond(int nwaiters)
{
	RT_COND_INFO info;

	memset(&info, 0x5a, sizeof(info));
	CHECK_EQ(rt_cond_inquire(&cond, &info), 0);
	CHECK_STR(info.name, "the variable");
	CHECK_EQ(info.nwaiters, nwaiters);
}

/* The mutex is owned by that task ("" for none), so many times. */
static void check_mutex(const char *owner, int locked)
{
	RT_MUTEX_INFO info;

	CHECK_EQ(rt_mutex_inquire(&mutex, &info), 0);
	CHECK_STR(info.owner, owner);
	CHECK_EQ(info.locked, locked);
}

static void begin(void)
{
	CHECK_EQ(rt_cond_create(&cond, "the variable"), 0);
	CHECK_EQ(rt_mutex_create(&mutex, NULL), 0);
	start_named(&waiter, "the waiter", 20, NULL);
	start_named(&other, "the other", 10, NULL);
	start_named(&third, "the third", 15, NULL);
}

static void end_wait(struct puppet *puppet, const char *name, int result)
{
	CHECK_EQ(outcome(puppet), result);
	check_mutex(name, 1);
	CHECK_EQ(release(puppet, &mutex), 0);
	CHECK_EQ(release(puppet, &mutex), -EPERM);
}

/* --- Waiting ------------------------------------------------------------------------------------------------------ */

static void waiters_are_counted_and_served_by_priority(void)
{
	begin();
	check_cond(0);
	wait_for_signal(&other, TM_INFINITE);
	check_cond(1);
	wait_for_signal(&waiter, HOUR);
	wait_for_signal(&third, TM_INFINITE);
	check_cond(3);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	end_wait(&waiter, "the waiter", 0);
	check_cond(2);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	end_wait(&third, "the third", 0);
	CHECK_EQ(rt_cond_broadcast(&cond), 0);
	end_wait(&other, "the other", 0);
	check_cond(0);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	CHECK_EQ(rt_cond_broadcast(&cond), 0);
	CHECK_EQ(rt_cond_delete(&cond), 0);
}

static void depth_is_released_and_restored(void)
{
	int i;

	begin();
	for (i = 0; i < 3; i++)
		CHECK_EQ(acquire(&waiter, &mutex, TM_INFINITE), 0);
	tell_to_wait(&waiter, step_wait, &mutex, TM_INFINITE);
	check_mutex("", 0);
	CHECK_EQ(acquire(&other, &mutex, TM_INFINITE), 0);
	CHECK_EQ(ask(&other, step_signal, NULL, 0), 0);
	until(is_queued(&waiter));
	check_cond(0);
	check_mutex("the other", 1);
	CHECK_EQ(release(&other, &mutex), 0);
	CHECK_EQ(outcome(&waiter), 0);
	check_mutex("the waiter", 3);
	for (i = 0; i < 3; i++)
		CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK_EQ(release(&waiter, &mutex), -EPERM);
}

static int step_timed_waits(RT_MUTEX *target, RTIME limit)
{
	long long start_time = kit_now();

	CHECK_EQ(rt_mutex_acquire(target, TM_INFINITE), 0);
	CHECK_EQ(rt_cond_wait(&cond, target, limit), -ETIMEDOUT);
	CHECK(kit_now() - start_time >= (long long)limit);
	start_time = kit_now();
	CHECK_EQ(rt_cond_wait_until(&cond, target, rt_timer_read() + limit), -ETIMEDOUT);
	CHECK(kit_now() - start_time >= (long long)limit);
	CHECK_EQ(rt_cond_wait_until(&cond, target, 1), -ETIMEDOUT);
	CHECK_EQ(rt_cond_wait(&cond, target, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_wait_until(&cond, target, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_wait(NULL, NULL, TM_NONBLOCK), -EWOULDBLOCK);
	check_mutex("the waiter", 1);
	return rt_mutex_release(target);
}

static void timeouts(void)
{
	begin();
	CHECK_EQ(ask(&waiter, step_timed_waits, &mutex, 10 * MS), 0);
	check_mutex("", 0);
	check_cond(0);
}

static void no_task(void *arg)
{
	RT_COND bound;

	(void)arg;
	CHECK_EQ(rt_cond_wait(&cond, &mutex, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_cond_wait(&cond, &mutex, MS), -EPERM);
	CHECK_EQ(rt_cond_wait(&cond, &mutex, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_bind(&bound, "the variable", TM_INFINITE), 0);
	CHECK_EQ(bound.opaque, cond.opaque);
}

static void bind_in_vain(void *arg)
{
	RT_COND bound;

	(void)arg;
	CHECK_EQ(rt_cond_bind(&bound, "absent", MS), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_bind(&bound, "absent", TM_INFINITE), -EWOULDBLOCK);
}

static void only_owners_wait(void)
{
	begin();
	no_task(NULL);
	kit_plain(no_task, NULL);
	kit_plain(bind_in_vain, NULL);
	as_task(10, no_task, NULL);
	check_cond(0);
	check_mutex("", 0);
}

/* --- Deletion ----------------------------------------------------------------------------------------------------- */

/* With waiters it is legal: each comes back with -EIDRM, and with the mutex. */
static void deletion_tells_every_waiter(void)
{
	int owned;

	for (owned = 0; owned <= 1; owned++) {
		begin();
		if (owned) {
			wait_for_signal(&waiter, TM_INFINITE);
			wait_for_signal(&third, HOUR);
			CHECK_EQ(acquire(&other, &mutex, TM_INFINITE), 0);
		} else {
			visit(&waiter, TM_INFINITE);
			visit(&third, HOUR);
		}
		check_cond(2);
		CHECK_EQ(rt_cond_delete(&cond), 0);
		CHECK_EQ(rt_cond_signal(&cond), -EINVAL);
		CHECK_EQ(rt_cond_delete(&cond), -EINVAL);
		CHECK_EQ(rt_cond_bind(&cond, "the variable", TM_NONBLOCK), -EWOULDBLOCK);
		CHECK_EQ(rt_cond_create(&cond, "the variable"), 0); /* they leave it alone */
		check_cond(0);
		if (owned) {
			until(is_queued(&waiter) && is_queued(&third)); /* for the mutex */
			CHECK_EQ(release(&other, &mutex), 0);
			end_wait(&waiter, "the waiter", -EIDRM);
			end_wait(&third, "the third", -EIDRM);
		} else {
			CHECK_EQ(outcome(&waiter), -EIDRM);
			CHECK_EQ(outcome(&third), -EIDRM);
		}
		check_mutex("", 0);
		CHECK_EQ(rt_cond_delete(&cond), 0);
		CHECK_EQ(rt_mutex_delete(&mutex), 0);
		dismiss(&waiter);
		dismiss(&other);
		dismiss(&third);
	}
}

static int step_signal_and_delete(RT_MUTEX *unused, RTIME unused_too)
{
	(void)unused;
	(void)unused_too;
	CHECK_EQ(rt_cond_signal(&cond), 0);
	return rt_cond_delete(&cond);
}

/* Who was signalled before, returns 0 though the variable is gone. */
static void signal_before_the_deletion_stands(void)
{
	struct puppet boss;

	begin();
	start(&boss, 50, NULL);
	wait_for_signal(&waiter, TM_INFINITE);
	CHECK_EQ(ask(&boss, step_signal_and_delete, NULL, 0), 0);
	end_wait(&waiter, "the waiter", 0);
	dismiss(&boss);
}

/* The mutex deleted by force while a waiter will want it back, or wants it: the wait ends, without it. */
static void mutex_of_a_waiter_is_deleted(void)
{
	int owned, result;

	needs_interruptible_waits();
	for (owned = 0; owned <= 1; owned++) {
		begin();
		wait_for_signal(&waiter, TM_INFINITE);
		if (owned) {
			CHECK_EQ(acquire(&other, &mutex, TM_INFINITE), 0);
			CHECK_EQ(rt_cond_signal(&cond), 0);
			until(is_queued(&waiter));
		}
		CHECK_EQ(rt_mutex_delete(&mutex), 0);
		CHECK_EQ(rt_cond_signal(&cond), 0);
		result = outcome(&waiter);
		CHECK(result == -EIDRM || result == -EINVAL);
		check_cond(0);
		CHECK_EQ(rt_cond_delete(&cond), 0);
		CHECK_EQ(release(&waiter, &mutex), -EINVAL);
		dismiss(&waiter);
		dismiss(&other);
		dismiss(&third);
	}
}

static void unblock_ends_one_wait(void)
{
	needs_interruptible_waits();
	begin();
	wait_for_signal(&waiter, TM_INFINITE);
	wait_for_signal(&third, TM_INFINITE);
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	check_cond(1);
	end_wait(&waiter, "the waiter", -EINTR);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	end_wait(&third, "the third", 0);
}

/* --- Names -------------------------------------------------------------------------------------------------------- */

static void names_and_descriptors(void)
{
	RT_COND bound, before, zeroed, generated;
	RT_COND_INFO info, untouched;

	memset(&zeroed, 0, sizeof(zeroed));
	CHECK_EQ(rt_cond_create(&generated, NULL), 0);
	CHECK_EQ(rt_cond_inquire(&generated, &info), 0);
	CHECK_STR(info.name, "cond@1");
	begin();
	memset(&bound, 0x5a, sizeof(bound));
	before = bound;
	CHECK_EQ(rt_cond_create(&bound, "the variable"), -EEXIST);
	CHECK_SAME_BYTES(&bound, &before, sizeof(bound));
	CHECK_EQ(rt_cond_bind(&bound, "the variable", TM_NONBLOCK), 0);
	CHECK_EQ(bound.opaque, cond.opaque);
	CHECK_EQ(rt_cond_unbind(&bound), 0);
	CHECK_EQ(bound.opaque, 0);
	memset(&info, 0x5a, sizeof(info));
	untouched = info;
	CHECK_EQ(rt_cond_inquire(&bound, &info), -EINVAL);
	CHECK_EQ(rt_cond_inquire(NULL, &info), -EINVAL);
	CHECK_SAME_BYTES(&info, &untouched, sizeof(info));
	CHECK_EQ(rt_cond_inquire(&cond, NULL), -EINVAL);
	CHECK_EQ(rt_cond_create(NULL, NULL), -EINVAL);
	CHECK_EQ(rt_cond_delete(NULL), -EINVAL);
	CHECK_EQ(rt_cond_delete(&zeroed), -EINVAL);
	CHECK_EQ(rt_cond_signal(NULL), -EINVAL);
	CHECK_EQ(rt_cond_broadcast(&zeroed), -EINVAL);
	CHECK_EQ(rt_cond_bind(NULL, "the variable", TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_cond_unbind(NULL), -EINVAL);
	check_cond(0);
}

KIT_CASES(
	CASE(waiters_are_counted_and_served_by_priority), CASE(depth_is_released_and_restored), CASE(timeouts),
	CASE(only_owners_wait), CASE(deletion_tells_every_waiter), CASE_FIFO(signal_before_the_deletion_stands),
	CASE(mutex_of_a_waiter_is_deleted), CASE(unblock_ends_one_wait), CASE(names_and_descriptors))
