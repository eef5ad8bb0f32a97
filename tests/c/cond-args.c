/* Condition variables and their arguments: descriptors that name none, who may call what; failures touch nothing. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include "cond-kit.h"
#include "descriptor-kit.h"

/* --- Every service with a descriptor ------------------------------------------------------------------------------ */

#define COND ((RT_COND *)descriptor)
#define MUTEX ((RT_MUTEX *)descriptor)

static const struct timespec poll_date = { 0, 0 }, past_date = { 1, 0 }, malformed_date = { 1, 2000000000 };

static int call_wait_poll(void *descriptor) { return rt_cond_wait(COND, &mutex, TM_NONBLOCK); }
static int call_wait_infinite(void *descriptor) { return rt_cond_wait(COND, &mutex, TM_INFINITE); }
static int call_wait_delay(void *descriptor) { return rt_cond_wait(COND, &mutex, MS); }
static int call_until_infinite(void *descriptor) { return rt_cond_wait_until(COND, &mutex, TM_INFINITE); }
static int call_until_poll(void *descriptor) { return rt_cond_wait_until(COND, &mutex, TM_NONBLOCK); }
static int call_until_past(void *descriptor) { return rt_cond_wait_until(COND, &mutex, 1); }
static int call_timed_infinite(void *descriptor) { return rt_cond_wait_timed(COND, &mutex, NULL); }
static int call_timed_poll(void *descriptor) { return rt_cond_wait_timed(COND, &mutex, &poll_date); }
static int call_timed_past(void *descriptor) { return rt_cond_wait_timed(COND, &mutex, &past_date); }
static int call_timed_malformed(void *descriptor) { return rt_cond_wait_timed(COND, &mutex, &malformed_date); }
static int call_signal(void *descriptor) { return rt_cond_signal(COND); }
static int call_broadcast(void *descriptor) { return rt_cond_broadcast(COND); }
static int call_delete(void *descriptor) { return rt_cond_delete(COND); }
static int call_inquire_null(void *descriptor) { return rt_cond_inquire(COND, NULL); }

static int call_inquire(void *descriptor)
{
	RT_COND_INFO info, before;
	int result;

	memset(&info, 0x5a, sizeof(info));
	before = info;
	result = rt_cond_inquire(COND, &info);
	if (result != 0)
		CHECK_SAME_BYTES(&info, &before, sizeof(info));
	return result;
}

/* The mutex is at fault, and the variable good. */
static int call_mutex_poll(void *descriptor) { return rt_cond_wait(&cond, MUTEX, TM_NONBLOCK); }
static int call_mutex_infinite(void *descriptor) { return rt_cond_wait(&cond, MUTEX, TM_INFINITE); }
static int call_mutex_until(void *descriptor) { return rt_cond_wait_until(&cond, MUTEX, 1); }
static int call_mutex_timed(void *descriptor) { return rt_cond_wait_timed(&cond, MUTEX, NULL); }
static int call_mutex_malformed(void *descriptor) { return rt_cond_wait_timed(&cond, MUTEX, &malformed_date); }

/* cond.md 9.1: a poll is one before anything is looked at. */
static const struct service of_cond[] = {
	{ "rt_cond_wait poll", call_wait_poll, -EWOULDBLOCK },
	{ "rt_cond_wait infinite", call_wait_infinite, -EINVAL },
	{ "rt_cond_wait delay", call_wait_delay, -EINVAL },
	{ "rt_cond_wait_until infinite", call_until_infinite, -EINVAL },
	{ "rt_cond_wait_until poll", call_until_poll, -EWOULDBLOCK },
	{ "rt_cond_wait_until past", call_until_past, -EINVAL },
	{ "rt_cond_wait_timed infinite", call_timed_infinite, -EINVAL },
	{ "rt_cond_wait_timed poll", call_timed_poll, -EWOULDBLOCK },
	{ "rt_cond_wait_timed past", call_timed_past, -EINVAL },
	{ "rt_cond_wait_timed malformed", call_timed_malformed, -EINVAL },
	{ "rt_cond_signal", call_signal, -EINVAL },
	{ "rt_cond_broadcast", call_broadcast, -EINVAL },
	{ "rt_cond_inquire", call_inquire, -EINVAL },
	{ "rt_cond_inquire NULL", call_inquire_null, -EINVAL },
	{ "rt_cond_delete", call_delete, -EINVAL },
};

static const struct service of_mutex[] = {
	{ "rt_cond_wait poll, mutex", call_mutex_poll, -EWOULDBLOCK },
	{ "rt_cond_wait infinite, mutex", call_mutex_infinite, -EINVAL },
	{ "rt_cond_wait_until past, mutex", call_mutex_until, -EINVAL },
	{ "rt_cond_wait_timed infinite, mutex", call_mutex_timed, -EINVAL },
	{ "rt_cond_wait_timed malformed, mutex", call_mutex_malformed, -EINVAL },
};

/* --- Descriptors -------------------------------------------------------------------------------------------------- */

static void try_garbage(void *arg)
{
	RT_COND at[2], before[2];
	int offset;

	(void)arg;
	MAKE_COND(&cond);
	TRY_SERVICES(of_cond);
	refused_unless_live(cond.handle);
	CHECK_EQ(rt_cond_create(NULL, "nowhere"), -EINVAL);
	CHECK_EQ(rt_cond_create(NULL, NULL), -EINVAL);
	CHECK_EQ(rt_cond_unbind(NULL), -EINVAL);
	CHECK_EQ(rt_cond_bind(NULL, "nowhere", TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_cond_bind(NULL, "nowhere", TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_cond_bind(NULL, NULL, TM_INFINITE), -EINVAL);
	memset(at, 0x5a, sizeof(at));
	memcpy(before, at, sizeof(at));
	for (offset = 1; offset < 8; offset++) {
		RT_COND *misaligned = (RT_COND *)(void *)((char *)at + offset);

		CHECK_EQ(rt_cond_create(misaligned, "askew"), -EINVAL);
		CHECK_EQ(rt_cond_bind(misaligned, "askew", TM_NONBLOCK), -EINVAL);
		CHECK_EQ(rt_cond_unbind(misaligned), -EINVAL);
	}
	CHECK_SAME_BYTES(at, before, sizeof(at));
	CHECK_EQ(rt_cond_bind(&at[0], "askew", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_bind(&at[0], "nowhere", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_inquire(&cond, NULL), -EINVAL);
	CHECK_EQ(rt_cond_delete(&cond), 0);
}

static void garbage_descriptor(void)
{
	MAKE_MUTEX(&mutex);
	for_every_caller(try_garbage);
	CHECK_UNOWNED(&mutex);
}

static int depth;

static void try_garbage_as_owner(void *arg)
{
	int i;

	for (depth = 1; depth <= 3; depth += 2) {
		for (i = 0; i < depth; i++)
			CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
		try_garbage(arg);
		MAKE_COND(&cond);
		TRY_SERVICES(of_mutex);
		refused_unless_live(mutex.handle);
		CHECK_EQ(rt_cond_delete(&cond), 0);
		CHECK_OWNER(&mutex, rt_task_self());
		for (i = 0; i < depth; i++)
			CHECK_EQ(rt_mutex_release(&mutex), 0);
		CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
	}
}

/* cond.md 9.3: still owned, as often as before. */
static void garbage_does_not_release_the_mutex(void)
{
	MAKE_MUTEX(&mutex);
	as_task(10, try_garbage_as_owner, NULL);
	CHECK_UNOWNED(&mutex);
}

static void try_foreign(void *arg)
{
	RT_SEM sem;
	RT_COND foreign;
	RT_MUTEX foreign_mutex;

	(void)arg;
	MAKE_COND(&cond);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_sem_create(&sem, NULL, 1, S_FIFO), 0);
	TRY_SERVICES(of_cond);
	memcpy(&foreign, &sem, sizeof(foreign));
	refused_by_every_service(&foreign, "a semaphore's handle");
	memcpy(&foreign, &mutex, sizeof(foreign));
	refused_by_every_service(&foreign, "a mutex's handle");
	memcpy(&foreign, rt_task_self(), sizeof(foreign));
	refused_by_every_service(&foreign, "a task's handle");
	TRY_SERVICES(of_mutex);
	memcpy(&foreign_mutex, &sem, sizeof(foreign_mutex));
	refused_by_every_service(&foreign_mutex, "a semaphore's handle");
	memcpy(&foreign_mutex, &cond, sizeof(foreign_mutex));
	refused_by_every_service(&foreign_mutex, "a condition variable's handle");
	CHECK_EQ(rt_mutex_release(&foreign_mutex), -EINVAL);
	CHECK_EQ(rt_mutex_delete(&foreign_mutex), -EINVAL);
	memcpy(&sem, &cond, sizeof(sem));
	CHECK_EQ(rt_sem_v(&sem), -EINVAL);
	CHECK_EQ(rt_sem_delete(&sem), -EINVAL);
	CHECK_OWNER(&mutex, rt_task_self());
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_EQ(rt_cond_delete(&cond), 0);
}

static void descriptor_of_another_type(void)
{
	MAKE_MUTEX(&mutex);
	as_task(10, try_foreign, NULL);
}

static void try_stale(void *arg)
{
	RT_COND copy, other;
	RT_MUTEX gone;

	(void)arg;
	CHECK_EQ(rt_cond_create(&cond, "gone"), 0);
	copy = cond;
	CHECK_EQ(rt_cond_delete(&cond), 0);
	TRY_SERVICES(of_cond);
	refused_by_every_service(&cond, "a stale descriptor");
	refused_by_every_service(&copy, "a copy of a stale descriptor");
	refused_as_other_kinds(cond.handle, 1, "a dead slot's next handle");
	CHECK_EQ(rt_cond_create(&other, "gone"), 0);
	CHECK(other.handle != cond.handle);
	refused_by_every_service(&copy, "a stale descriptor beside a new variable");
	cond = other;
	MAKE_MUTEX(&gone);
	CHECK_EQ(rt_mutex_delete(&gone), 0);
	TRY_SERVICES(of_mutex);
	refused_by_every_service(&gone, "a stale mutex");
	CHECK_EQ(rt_cond_delete(&other), 0);
}

static void stale_descriptor(void)
{
	MAKE_MUTEX(&mutex);
	for_every_caller(try_stale);
}

static void handles_of_old_generations_stay_dead(void)
{
	enum { GENERATIONS = 1500 };
	static RT_COND old[GENERATIONS];
	int i, k;

	for (i = 0; i < GENERATIONS; i++) {
		MAKE_COND(&old[i]);
		for (k = 0; k < i; k++) {
			CHECK(old[k].handle != old[i].handle);
			CHECK_EQ(rt_cond_signal(&old[k]), -EINVAL);
			CHECK_EQ(rt_cond_delete(&old[k]), -EINVAL);
		}
		CHECK_EQ(rt_cond_signal(&old[i]), 0);
		CHECK_EQ(rt_cond_delete(&old[i]), 0);
	}
	MAKE_MUTEX(&mutex);
	TRY_SERVICES(of_cond);
	for (k = 0; k < GENERATIONS; k++)
		refused_by_every_service(&old[k], "a handle of an old generation");
}

static void garbage_beside_a_waiter(void)
{
	struct puppet waiter;

	make_cond_and_mutex();
	start(&waiter, 10, NULL);
	wait_for_signal(&waiter, TM_INFINITE);
	TRY_SERVICES(of_cond);
	refused_as_other_kinds(cond.handle, 0, "the handle of a variable waited for");
	refused_if_misaligned(cond.handle);
	CHECK(is_queued(&waiter));
	CHECK_WAITED_FOR(&cond);
	CHECK_EQ(rt_cond_signal(&cond), 0);
	end_wait(&waiter, 0);
	delete_cond_and_mutex();
	dismiss(&waiter);
}

static void copies_and_unbind(void)
{
	RT_COND copy, bound;
	struct puppet waiter;

	CHECK_EQ(rt_cond_create(&cond, "shared"), 0);
	MAKE_MUTEX(&mutex);
	copy = cond;
	CHECK_EQ(rt_cond_bind(&bound, "shared", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, cond.handle);
	start(&waiter, 10, NULL);
	wait_for_signal(&waiter, TM_INFINITE);
	CHECK_EQ(rt_cond_unbind(&cond), 0);
	CHECK_EQ(cond.handle, 0);
	CHECK(is_queued(&waiter));
	CHECK_WAITED_FOR(&copy);
	CHECK_EQ(rt_cond_signal(&cond), -EINVAL);
	CHECK_EQ(rt_cond_signal(&bound), 0);
	end_wait(&waiter, 0);
	dismiss(&waiter);
	CHECK_EQ(rt_cond_delete(&copy), 0);
	TRY_SERVICES(of_cond);
	refused_by_every_service(&bound, "a bound descriptor after a copy deleted it");
	CHECK_EQ(rt_cond_unbind(&bound), 0);
	CHECK_EQ(rt_cond_unbind(&bound), 0);
	bound.handle = 0xdeadbeef;
	CHECK_EQ(rt_cond_unbind(&bound), 0);
	CHECK_EQ(bound.handle, 0);
}

/* --- Callers ------------------------------------------------------------------------------------------------------ */

/* cond.md 9.1, 9.2, 9.4: neither the initial thread nor a plain one nor a task owns it. */
static void wait_without_owning(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_cond_wait(NULL, NULL, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_wait(&cond, &mutex, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_wait_until(NULL, &mutex, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_wait_timed(&cond, NULL, &poll_date), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_wait(&cond, &mutex, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_cond_wait(&cond, &mutex, MS), -EPERM);
	CHECK_EQ(rt_cond_wait_until(&cond, &mutex, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_cond_wait_until(&cond, &mutex, 1), -EPERM);
	CHECK_EQ(rt_cond_wait_timed(&cond, &mutex, NULL), -EPERM);
	CHECK_EQ(rt_cond_wait_timed(&cond, &mutex, &past_date), -EPERM);
	/* The date is looked at before the owner is. */
	CHECK_EQ(rt_cond_wait_timed(&cond, &mutex, &malformed_date), -EINVAL);
	CHECK_EQ(rt_cond_wait(NULL, &mutex, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_cond_wait(&cond, NULL, TM_INFINITE), -EINVAL);
}

static void only_the_owner_waits(void)
{
	struct puppet owner;

	make_cond_and_mutex();
	start(&owner, 10, NULL);
	for_every_caller(wait_without_owning);
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	for_every_caller(wait_without_owning);
	CHECK_OWNER(&mutex, &owner.task);
	CHECK_EQ(release(&owner, &mutex), 0);
	/* An orphan has no owner either, and stays one. */
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	dismiss(&owner);
	for_every_caller(wait_without_owning);
	start(&owner, 10, NULL);
	use_once(&owner, &mutex, -EOWNERDEAD);
	dismiss(&owner);
	delete_cond_and_mutex();
}

static void create_use_delete(void *arg)
{
	RT_COND mine;

	(void)arg;
	CHECK_EQ(rt_cond_create(&mine, "of anybody"), 0);
	CHECK_EQ(rt_cond_signal(&mine), 0);
	CHECK_EQ(rt_cond_broadcast(&mine), 0);
	CHECK_EQ(rt_cond_inquire(&mine, NULL), -EINVAL);
	CHECK_EQ(rt_cond_delete(&mine), 0);
	CHECK_EQ(rt_cond_delete(&mine), -EINVAL);
}

/* cond.md 6 */
static void any_thread_creates_uses_and_deletes(void)
{
	for_every_caller(create_use_delete);
}

KIT_CASES(
	CASE(garbage_descriptor), CASE(garbage_does_not_release_the_mutex), CASE(descriptor_of_another_type),
	CASE(stale_descriptor), CASE(handles_of_old_generations_stay_dead), CASE(garbage_beside_a_waiter),
	CASE(copies_and_unbind), CASE(only_the_owner_waits), CASE(any_thread_creates_uses_and_deletes))
