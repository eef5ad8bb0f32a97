/* Mutex services and their arguments: descriptors that name no mutex, names, bind; failures touch nothing. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"

/* --- Every service with a descriptor ------------------------------------------------------------------------------ */

static RT_MUTEX_INFO info, info_before;

static int call_release(RT_MUTEX *mutex) { return rt_mutex_release(mutex); }
static int call_delete(RT_MUTEX *mutex) { return rt_mutex_delete(mutex); }
static int call_inquire_null(RT_MUTEX *mutex) { return rt_mutex_inquire(mutex, NULL); }
static int call_poll(RT_MUTEX *mutex) { return rt_mutex_acquire(mutex, TM_NONBLOCK); }
static int call_infinite(RT_MUTEX *mutex) { return rt_mutex_acquire(mutex, TM_INFINITE); }
static int call_delay(RT_MUTEX *mutex) { return rt_mutex_acquire(mutex, MS); }
static int call_until_infinite(RT_MUTEX *mutex) { return rt_mutex_acquire_until(mutex, TM_INFINITE); }
static int call_until_poll(RT_MUTEX *mutex) { return rt_mutex_acquire_until(mutex, TM_NONBLOCK); }
static int call_until_past(RT_MUTEX *mutex) { return rt_mutex_acquire_until(mutex, 1); }
static int call_timed_infinite(RT_MUTEX *mutex) { return rt_mutex_acquire_timed(mutex, NULL); }

static int call_timed_poll(RT_MUTEX *mutex)
{
	struct timespec poll = { 0, 0 };

	return rt_mutex_acquire_timed(mutex, &poll);
}

static int call_timed_malformed(RT_MUTEX *mutex)
{
	struct timespec malformed = { 1, 2000000000 };

	return rt_mutex_acquire_timed(mutex, &malformed);
}

static int call_inquire(RT_MUTEX *mutex)
{
	int result;

	memset(&info, 0x5a, sizeof(info));
	info_before = info;
	result = rt_mutex_inquire(mutex, &info);
	if (result != 0)
		CHECK_SAME_BYTES(&info, &info_before, sizeof(info));
	return result;
}

static const struct service {
	const char *name;
	int (*call)(RT_MUTEX *mutex);
	int needs_task;
} services[] = {
	{ "rt_mutex_release", call_release, 0 },
	{ "rt_mutex_inquire", call_inquire, 0 },
	{ "rt_mutex_inquire NULL", call_inquire_null, 0 },
	{ "rt_mutex_delete", call_delete, 0 },
	{ "rt_mutex_acquire poll", call_poll, 1 },
	{ "rt_mutex_acquire infinite", call_infinite, 1 },
	{ "rt_mutex_acquire delay", call_delay, 1 },
	{ "rt_mutex_acquire_until infinite", call_until_infinite, 1 },
	{ "rt_mutex_acquire_until poll", call_until_poll, 1 },
	{ "rt_mutex_acquire_until past", call_until_past, 1 },
	{ "rt_mutex_acquire_timed infinite", call_timed_infinite, 1 },
	{ "rt_mutex_acquire_timed poll", call_timed_poll, 1 },
	{ "rt_mutex_acquire_timed malformed", call_timed_malformed, 1 },
};

/* Every service refuses the descriptor and leaves its bytes alone. */
static void refused_by_every_service(RT_MUTEX *mutex, const char *what)
{
	unsigned i;

	for (i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
		int result, want = services[i].needs_task && !rt_task_self() ? -EPERM : -EINVAL;
		RT_MUTEX before;

		if (mutex)
			memcpy(&before, mutex, sizeof(before));
		result = services[i].call(mutex);
		if (result != want)
			kit_fail(__FILE__, __LINE__, "%s on %s gave %d%s", services[i].name, what, result,
				 kit_errno_name(result));
		if (mutex)
			CHECK_SAME_BYTES(mutex, &before, sizeof(before));
	}
}

/* The same answers for the initial thread, a plain thread and a task. */
static void for_every_caller(void (*body)(void *))
{
	body(NULL);
	kit_plain(body, NULL);
	as_task(10, body, NULL);
}

/* --- Descriptors -------------------------------------------------------------------------------------------------- */

static void try_null_and_zeroed(void *arg)
{
	RT_MUTEX zeroed = { 0 };

	(void)arg;
	refused_by_every_service(NULL, "NULL");
	refused_by_every_service(&zeroed, "a zeroed descriptor");
	CHECK_EQ(rt_mutex_create(NULL, "nowhere"), -EINVAL);
	CHECK_EQ(rt_mutex_create(NULL, NULL), -EINVAL);
	CHECK_EQ(rt_mutex_unbind(NULL), -EINVAL);
	CHECK_EQ(rt_mutex_bind(NULL, "nowhere", TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_mutex_bind(NULL, "nowhere", TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_mutex_bind(NULL, NULL, TM_INFINITE), -EINVAL);
}

static void null_or_zeroed_descriptor(void)
{
	RT_MUTEX mutex;

	for_every_caller(try_null_and_zeroed);
	CHECK_EQ(rt_mutex_bind(&mutex, "nowhere", TM_NONBLOCK), -EWOULDBLOCK);
}

static void try_misaligned(void *arg)
{
	RT_MUTEX mutex, at[2];
	int offset;

	(void)arg;
	MAKE_MUTEX(&mutex);
	for (offset = 1; offset < 8; offset++) {
		RT_MUTEX *misaligned = (RT_MUTEX *)(void *)((char *)at + offset);
		RT_MUTEX before[2];

		/* It holds a good handle all the same. */
		memcpy(misaligned, &mutex, sizeof(mutex));
		refused_by_every_service(misaligned, "a misaligned descriptor");
		memcpy(before, at, sizeof(at));
		CHECK_EQ(rt_mutex_create(misaligned, "askew"), -EINVAL);
		CHECK_EQ(rt_mutex_bind(misaligned, "askew", TM_NONBLOCK), -EINVAL);
		CHECK_EQ(rt_mutex_unbind(misaligned), -EINVAL);
		CHECK_SAME_BYTES(at, before, sizeof(at));
	}
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

static void misaligned_descriptor(void)
{
	for_every_caller(try_misaligned);
}

static void try_foreign(void *arg)
{
	struct puppet puppet;
	RT_MUTEX foreign;
	RT_SEM sem, of_mutex;

	(void)arg;
	CHECK_EQ(rt_sem_create(&sem, NULL, 1, S_FIFO), 0);
	memcpy(&foreign, &sem, sizeof(foreign));
	refused_by_every_service(&foreign, "a semaphore's handle");
	start(&puppet, 10, NULL);
	memcpy(&foreign, &puppet.task, sizeof(foreign));
	refused_by_every_service(&foreign, "a task's handle");
	dismiss(&puppet);
	refused_by_every_service(&foreign, "a dead task's handle");
	MAKE_MUTEX(&foreign);
	memcpy(&of_mutex, &foreign, sizeof(of_mutex));
	CHECK_EQ(rt_sem_v(&of_mutex), -EINVAL);
	CHECK_EQ(rt_sem_p(&of_mutex, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_sem_delete(&of_mutex), -EINVAL);
	CHECK_UNOWNED(&foreign);
	CHECK_EQ(rt_mutex_delete(&foreign), 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void descriptor_of_another_type(void)
{
	try_foreign(NULL);
	as_task(20, try_foreign, NULL);
}

/* mutex.md 10.10 */
static void try_stale(void *arg)
{
	RT_MUTEX mutex, copy, other;

	(void)arg;
	CHECK_EQ(rt_mutex_create(&mutex, "gone"), 0);
	copy = mutex;
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	refused_by_every_service(&mutex, "a stale descriptor");
	refused_by_every_service(&copy, "a copy of a stale descriptor");
	CHECK_EQ(rt_mutex_create(&other, "gone"), 0);
	CHECK(other.handle != mutex.handle);
	refused_by_every_service(&mutex, "a stale descriptor beside a new mutex");
	CHECK_UNOWNED(&other);
	CHECK_EQ(rt_mutex_delete(&other), 0);
}

static void stale_descriptor(void)
{
	for_every_caller(try_stale);
}

static void try_garbage(void *arg)
{
	unsigned long long state = 88172645463325252ULL;
	RT_MUTEX mutex, live;
	int i;

	(void)arg;
	MAKE_MUTEX(&live);
	for (i = 0; i < 2 * (int)(8 * sizeof(live.handle)); i++) {
		mutex.handle = live.handle ^ ((uintptr_t)1 << i / 2) ^ (uintptr_t)(i % 2 ? 1 : 0);
		if (mutex.handle != live.handle)
			refused_by_every_service(&mutex, "a handle with one or two bits flipped");
	}
	for (i = 0; i < 4096; i++) {
		mutex.handle = (uintptr_t)i;
		refused_by_every_service(&mutex, "a small number");
		mutex.handle = ~(uintptr_t)i;
		refused_by_every_service(&mutex, "a small negative number");
	}
	mutex.handle = (uintptr_t)&mutex;
	refused_by_every_service(&mutex, "an address on the stack");
	mutex.handle = (uintptr_t)&info;
	refused_by_every_service(&mutex, "an address of data");
	mutex.handle = (uintptr_t)try_garbage;
	refused_by_every_service(&mutex, "an address of code");
	for (i = 0; i < 20000; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		mutex.handle = (uintptr_t)state;
		if (mutex.handle != live.handle)
			refused_by_every_service(&mutex, "a random number");
	}
	CHECK_UNOWNED(&live);
	CHECK_EQ(rt_mutex_delete(&live), 0);
}

static void garbage_descriptor(void)
{
	as_task(10, try_garbage, NULL);
}

/* Each generation of a slot has a handle of its own: none of the older ones reaches the live mutex. */
static void outlive_generations(void *arg)
{
	enum { GENERATIONS = 2000 };
	static RT_MUTEX old[GENERATIONS];
	int i, k;

	(void)arg;
	for (i = 0; i < GENERATIONS; i++) {
		MAKE_MUTEX(&old[i]);
		CHECK_EQ(rt_mutex_acquire(&old[i], TM_INFINITE), 0);
		for (k = 0; k < i; k++) {
			CHECK(old[k].handle != old[i].handle);
			CHECK_EQ(rt_mutex_acquire(&old[k], TM_NONBLOCK), -EINVAL);
			CHECK_EQ(rt_mutex_release(&old[k]), -EINVAL);
		}
		for (k = i % 16; k < i; k += 16)
			CHECK_EQ(rt_mutex_delete(&old[k]), -EINVAL);
		CHECK_OWNER(&old[i], rt_task_self());
		CHECK_EQ(rt_mutex_release(&old[i]), 0);
		CHECK_EQ(rt_mutex_delete(&old[i]), 0);
	}
	for (k = 0; k < GENERATIONS; k++)
		refused_by_every_service(&old[k], "a handle of an old generation");
}

static void handles_of_2000_generations_stay_dead(void)
{
	as_task(10, outlive_generations, NULL);
}

/* --- Kinds -------------------------------------------------------------------------------------------------------- */

/* Fast paths compare many bits at once, the kind's included: a handle of another kind must not come out as good. */
static void refused_as_other_kinds(const RT_MUTEX *mutex, unsigned generations, const char *what)
{
	const int top = (int)(8 * sizeof(mutex->handle)) - 4, generation = sizeof(mutex->handle) == 8 ? 32 : 16;
	uintptr_t rest = (mutex->handle & (((uintptr_t)1 << top) - 1)) + ((uintptr_t)generations << generation);
	uintptr_t kind;
	char text[80];
	RT_MUTEX other;

	for (kind = 0; kind < 16; kind++) {
		other.handle = rest | kind << top;
		if (generations == 0 && other.handle == mutex->handle)
			continue;
		snprintf(text, sizeof(text), "%s, kind %d", what, (int)kind);
		refused_by_every_service(&other, text);
	}
}

static void try_kinds_of_a_free_mutex(void *mutex)
{
	refused_as_other_kinds((RT_MUTEX *)mutex, 0, "a free mutex's handle");
	CHECK_UNOWNED((RT_MUTEX *)mutex);
}

static void try_kinds_of_ones_own_mutex(void *mutex_)
{
	RT_MUTEX *mutex = (RT_MUTEX *)mutex_;

	CHECK_EQ(rt_mutex_acquire(mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_mutex_acquire(mutex, TM_INFINITE), 0);
	refused_as_other_kinds(mutex, 0, "the handle of the caller's mutex");
	refused_as_other_kinds(mutex, 1, "the next handle of the caller's mutex");
	CHECK_OWNER(mutex, rt_task_self());
	CHECK_EQ(rt_mutex_release(mutex), 0);
	CHECK_EQ(rt_mutex_release(mutex), 0);
	CHECK_EQ(rt_mutex_release(mutex), -EPERM);
}

static void other_kinds_of_a_live_mutex(void)
{
	RT_MUTEX mutex;

	MAKE_MUTEX(&mutex);
	try_kinds_of_a_free_mutex(&mutex);
	as_task(10, try_kinds_of_a_free_mutex, &mutex);
	as_task(10, try_kinds_of_ones_own_mutex, &mutex);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

static void try_kinds_of_a_contended_mutex(void *mutex)
{
	refused_as_other_kinds((RT_MUTEX *)mutex, 0, "the handle of a mutex waited for");
}

static void other_kinds_of_a_mutex_with_a_waiter(void)
{
	struct puppet owner, waiter;
	RT_MUTEX mutex;

	MAKE_MUTEX(&mutex);
	start(&owner, 10, NULL);
	start(&waiter, 10, NULL);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	enqueue(&waiter, &mutex, TM_INFINITE);
	try_kinds_of_a_contended_mutex(&mutex);
	as_task(10, try_kinds_of_a_contended_mutex, &mutex);
	CHECK(is_queued(&waiter));
	CHECK_OWNER(&mutex, &owner.task);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&waiter), 0);
	dismiss(&waiter);
	/* Without an owner that lives. */
	as_task(10, try_kinds_of_a_contended_mutex, &mutex);
	use_once(&owner, &mutex, -EOWNERDEAD);
	dismiss(&owner);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

static void try_kinds_of_a_dead_slot(void *arg)
{
	RT_MUTEX mutex;

	(void)arg;
	MAKE_MUTEX(&mutex);
	if (rt_task_self()) {
		CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
		CHECK_EQ(rt_mutex_release(&mutex), 0);
	}
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	refused_as_other_kinds(&mutex, 1, "a dead slot's next handle");
}

static void any_kind_of_a_dead_slot(void)
{
	for_every_caller(try_kinds_of_a_dead_slot);
}

/* --- Arguments ---------------------------------------------------------------------------------------------------- */

static void inquire_needs_room_for_the_answer(void)
{
	struct puppet owner;
	RT_MUTEX mutex;

	MAKE_MUTEX(&mutex);
	start(&owner, 10, NULL);
	CHECK_EQ(rt_mutex_inquire(&mutex, NULL), -EINVAL);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_mutex_inquire(&mutex, NULL), -EINVAL);
	CHECK_OWNER(&mutex, &owner.task);
	CHECK_EQ(release(&owner, &mutex), 0);
	dismiss(&owner);
}

static void copies_are_as_good_as_the_original(void)
{
	RT_MUTEX mutex, copy, bound;
	struct puppet user;

	CHECK_EQ(rt_mutex_create(&mutex, "shared"), 0);
	copy = mutex;
	CHECK_EQ(rt_mutex_bind(&bound, "shared", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, mutex.handle);
	start(&user, 10, NULL);
	CHECK_EQ(acquire(&user, &mutex, TM_INFINITE), 0);
	CHECK_EQ(acquire(&user, &copy, TM_NONBLOCK), 0);
	CHECK_EQ(acquire(&user, &bound, TM_NONBLOCK), 0);
	CHECK_OWNER(&copy, &user.task);
	CHECK_EQ(release(&user, &bound), 0);
	CHECK_EQ(release(&user, &copy), 0);
	CHECK_EQ(release(&user, &copy), 0);
	CHECK_EQ(release(&user, &mutex), -EPERM);
	dismiss(&user);
	CHECK_EQ(rt_mutex_delete(&copy), 0);
	refused_by_every_service(&mutex, "the creator's descriptor after a copy deleted it");
	refused_by_every_service(&bound, "a bound descriptor after a copy deleted it");
}

static void unbind_forgets_the_descriptor_only(void)
{
	struct puppet owner, waiter;
	RT_MUTEX mutex, copy;

	CHECK_EQ(rt_mutex_create(&mutex, "unbound"), 0);
	copy = mutex;
	start(&owner, 10, NULL);
	start(&waiter, 20, NULL);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	enqueue(&waiter, &mutex, TM_INFINITE);
	CHECK_EQ(rt_mutex_unbind(&mutex), 0);
	CHECK_EQ(mutex.handle, 0);
	CHECK_EQ(release(&owner, &mutex), -EINVAL);
	CHECK(is_queued(&waiter));
	CHECK_OWNER(&copy, &owner.task);
	CHECK_EQ(rt_mutex_bind(&mutex, "unbound", TM_NONBLOCK), 0);
	CHECK_EQ(mutex.handle, copy.handle);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_EQ(release(&waiter, &copy), 0);
	CHECK_EQ(rt_mutex_delete(&copy), 0);
	/* Works on any descriptor. */
	CHECK_EQ(rt_mutex_unbind(&copy), 0);
	CHECK_EQ(rt_mutex_unbind(&copy), 0);
	copy.handle = 0xdeadbeef;
	CHECK_EQ(rt_mutex_unbind(&copy), 0);
	CHECK_EQ(copy.handle, 0);
	dismiss(&owner);
	dismiss(&waiter);
}

KIT_CASES(
	CASE(null_or_zeroed_descriptor), CASE(misaligned_descriptor), CASE(descriptor_of_another_type),
	CASE(stale_descriptor), CASE(garbage_descriptor), CASE(handles_of_2000_generations_stay_dead),
	CASE(other_kinds_of_a_live_mutex), CASE(other_kinds_of_a_mutex_with_a_waiter), CASE(any_kind_of_a_dead_slot),
	CASE(inquire_needs_room_for_the_answer), CASE(copies_are_as_good_as_the_original),
	CASE(unbind_forgets_the_descriptor_only))
