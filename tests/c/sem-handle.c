/* Descriptors that name no semaphore: every service answers -EINVAL, and touches nothing. */
#include "kit.h"
#include "sem-kit.h"

/* --- Every service with a descriptor ------------------------------------------------------------------------------ */

static RT_SEM_INFO info, info_before;

static int call_delete(RT_SEM *sem) { return rt_sem_delete(sem); }
static int call_v(RT_SEM *sem) { return rt_sem_v(sem); }
static int call_broadcast(RT_SEM *sem) { return rt_sem_broadcast(sem); }
static int call_p_poll(RT_SEM *sem) { return rt_sem_p(sem, TM_NONBLOCK); }
static int call_p_infinite(RT_SEM *sem) { return rt_sem_p(sem, TM_INFINITE); }
static int call_p_delay(RT_SEM *sem) { return rt_sem_p(sem, MS); }
static int call_p_until_infinite(RT_SEM *sem) { return rt_sem_p_until(sem, TM_INFINITE); }
static int call_p_until_poll(RT_SEM *sem) { return rt_sem_p_until(sem, TM_NONBLOCK); }
static int call_p_until_past(RT_SEM *sem) { return rt_sem_p_until(sem, 1); }
static int call_p_timed_infinite(RT_SEM *sem) { return rt_sem_p_timed(sem, NULL); }

static int call_p_timed_poll(RT_SEM *sem)
{
	struct timespec poll = { 0, 0 };

	return rt_sem_p_timed(sem, &poll);
}

static int call_p_timed_past(RT_SEM *sem)
{
	struct timespec past = { 1, 0 };

	return rt_sem_p_timed(sem, &past);
}

static int call_inquire(RT_SEM *sem)
{
	int result;

	memset(&info, 0x5a, sizeof(info));
	info_before = info;
	result = rt_sem_inquire(sem, &info);
	if (result != 0)
		CHECK_SAME_BYTES(&info, &info_before, sizeof(info));
	return result;
}

static const struct service {
	const char *name;
	int (*call)(RT_SEM *sem);
} services[] = {
	{ "rt_sem_v", call_v },
	{ "rt_sem_broadcast", call_broadcast },
	{ "rt_sem_p poll", call_p_poll },
	{ "rt_sem_p infinite", call_p_infinite },
	{ "rt_sem_p delay", call_p_delay },
	{ "rt_sem_p_until infinite", call_p_until_infinite },
	{ "rt_sem_p_until poll", call_p_until_poll },
	{ "rt_sem_p_until past", call_p_until_past },
	{ "rt_sem_p_timed infinite", call_p_timed_infinite },
	{ "rt_sem_p_timed poll", call_p_timed_poll },
	{ "rt_sem_p_timed past", call_p_timed_past },
	{ "rt_sem_inquire", call_inquire },
	{ "rt_sem_delete", call_delete },
};

/* Every service refuses the descriptor and leaves its bytes alone. */
static void refused_by_every_service(RT_SEM *sem, const char *what)
{
	unsigned i;

	for (i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
		RT_SEM before;
		int result;

		if (sem)
			memcpy(&before, sem, sizeof(before));
		result = services[i].call(sem);
		if (result != -EINVAL)
			kit_fail(__FILE__, __LINE__, "%s on %s gave %d%s", services[i].name, what, result,
				 kit_errno_name(result));
		if (sem)
			CHECK_SAME_BYTES(sem, &before, sizeof(before));
	}
}

/* --- Cases -------------------------------------------------------------------------------------------------------- */

static void null_descriptor(void)
{
	refused_by_every_service(NULL, "NULL");
	CHECK_EQ(rt_sem_unbind(NULL), -EINVAL);
	CHECK_EQ(rt_sem_bind(NULL, "x", TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_sem_bind(NULL, "x", TM_INFINITE), -EINVAL);
}

static void zeroed_descriptor(void)
{
	RT_SEM sem = { 0 };

	refused_by_every_service(&sem, "a zeroed descriptor");
}

static void misaligned_descriptor(void)
{
	RT_SEM sem, at[2];
	int offset;

	MAKE_SEM(&sem, 1, S_FIFO);
	for (offset = 1; offset < 8; offset++) {
		RT_SEM *misaligned = (RT_SEM *)(void *)((char *)at + offset);
		RT_SEM before[2];

		/* It holds a good handle all the same. */
		memcpy(misaligned, &sem, sizeof(sem));
		refused_by_every_service(misaligned, "a misaligned descriptor");
		memcpy(before, at, sizeof(at));
		CHECK_EQ(rt_sem_create(misaligned, "askew", 0, S_FIFO), -EINVAL);
		CHECK_EQ(rt_sem_bind(misaligned, "askew", TM_NONBLOCK), -EINVAL);
		CHECK_EQ(rt_sem_unbind(misaligned), -EINVAL);
		CHECK_SAME_BYTES(at, before, sizeof(at));
	}
	CHECK_SEM(&sem, 1, 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void wait_for_signal(void *sem)
{
	CHECK_EQ(rt_sem_p((RT_SEM *)sem, TM_INFINITE), 0);
}

/* A live task's handle is no semaphore, whatever state the task is in. */
static void descriptor_of_a_task(void)
{
	RT_SEM sem, foreign;
	RT_TASK task;
	RT_TASK_INFO task_info;

	MAKE_SEM(&sem, 0, S_FIFO);
	CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_JOINABLE), 0);
	memcpy(&foreign, &task, sizeof(foreign));
	refused_by_every_service(&foreign, "a dormant task's handle");
	CHECK_EQ(rt_task_start(&task, wait_for_signal, &sem), 0);
	until(kit_blocked(&task));
	refused_by_every_service(&foreign, "a waiting task's handle");
	CHECK_EQ(rt_task_inquire(&task, &task_info), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void stale_descriptor(void)
{
	RT_SEM sem, copy, other;

	MAKE_SEM(&sem, 3, S_FIFO);
	copy = sem;
	CHECK_EQ(rt_sem_delete(&sem), 0);
	refused_by_every_service(&sem, "a stale descriptor");
	refused_by_every_service(&copy, "a copy of a stale descriptor");
	MAKE_SEM(&other, 3, S_FIFO);
	refused_by_every_service(&sem, "a stale descriptor beside a new semaphore");
	CHECK_SEM(&other, 3, 0);
	CHECK_EQ(rt_sem_delete(&other), 0);
}

/* With one semaphore alive, no other value is a handle. */
static void neighbours_of_a_live_handle(void)
{
	RT_SEM sem, other;
	int bit;

	MAKE_SEM(&sem, 3, S_FIFO);
	for (bit = 0; bit < (int)(8 * sizeof(sem.handle)); bit++) {
		other.handle = sem.handle ^ ((uintptr_t)1 << bit);
		refused_by_every_service(&other, "a handle with one bit flipped");
	}
	for (bit = 1; bit < 64; bit++) {
		other.handle = sem.handle + (uintptr_t)bit;
		refused_by_every_service(&other, "a handle plus a little");
		other.handle = sem.handle - (uintptr_t)bit;
		refused_by_every_service(&other, "a handle minus a little");
	}
	CHECK_SEM(&sem, 3, 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void garbage_descriptor(void)
{
	unsigned long long state = 88172645463325252ULL;
	RT_SEM sem, live;
	int i;

	MAKE_SEM(&live, 3, S_FIFO);
	for (i = 0; i < 4096; i++) {
		sem.handle = (uintptr_t)i;
		if (sem.handle != live.handle)
			refused_by_every_service(&sem, "a small number");
		sem.handle = ~(uintptr_t)i;
		refused_by_every_service(&sem, "a small negative number");
	}
	sem.handle = (uintptr_t)&sem;
	refused_by_every_service(&sem, "an address on the stack");
	sem.handle = (uintptr_t)&info;
	refused_by_every_service(&sem, "an address of data");
	sem.handle = (uintptr_t)garbage_descriptor;
	refused_by_every_service(&sem, "an address of code");
	for (i = 0; i < 20000; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		sem.handle = (uintptr_t)state;
		if (sem.handle != live.handle)
			refused_by_every_service(&sem, "a random number");
	}
	CHECK_SEM(&live, 3, 0);
	CHECK_EQ(rt_sem_delete(&live), 0);
}

/* Each generation of a slot has a handle of its own: none of the older ones reaches the live semaphore. */
static void handles_of_2000_generations_stay_dead(void)
{
	enum { GENERATIONS = 2000 };
	static RT_SEM old[GENERATIONS];
	int i, k;

	for (i = 0; i < GENERATIONS; i++) {
		RT_SEM sem;

		MAKE_SEM(&sem, 1, S_FIFO);
		for (k = 0; k < i; k++) {
			CHECK(old[k].handle != sem.handle);
			CHECK_EQ(rt_sem_v(&old[k]), -EINVAL);
			CHECK_EQ(rt_sem_p(&old[k], TM_NONBLOCK), -EINVAL);
			CHECK_EQ(rt_sem_delete(&old[k]), -EINVAL);
		}
		CHECK_SEM(&sem, 1, 0);
		old[i] = sem;
		CHECK_EQ(rt_sem_delete(&sem), 0);
	}
	for (k = 0; k < GENERATIONS; k++)
		refused_by_every_service(&old[k], "a handle of an old generation");
}

static void stale_handle_misses_1000_later_semaphores(void)
{
	enum { LATER = 1000 };
	static RT_SEM later[LATER];
	RT_SEM sem, copy;
	int i;

	CHECK_EQ(rt_sem_create(&sem, "gone", 1, S_FIFO), 0);
	copy = sem;
	CHECK_EQ(rt_sem_delete(&sem), 0);
	for (i = 0; i < LATER; i++) {
		MAKE_SEM(&later[i], 1, S_FIFO);
		CHECK(later[i].handle != copy.handle);
	}
	refused_by_every_service(&copy, "a handle older than 1000 live semaphores");
	for (i = 0; i < LATER; i++) {
		CHECK_SEM(&later[i], 1, 0);
		CHECK_EQ(rt_sem_delete(&later[i]), 0);
	}
	refused_by_every_service(&copy, "a handle older than 1000 dead semaphores");
}

static void copies_are_as_good_as_the_original(void)
{
	RT_SEM sem, copy, bound;

	CHECK_EQ(rt_sem_create(&sem, "shared", 0, S_FIFO), 0);
	copy = sem;
	CHECK_EQ(rt_sem_bind(&bound, "shared", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, sem.handle);
	CHECK_EQ(rt_sem_v(&copy), 0);
	CHECK_SEM(&bound, 1, 0);
	CHECK_EQ(rt_sem_p(&bound, TM_NONBLOCK), 0);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_delete(&copy), 0);
	refused_by_every_service(&sem, "the creator's descriptor after a copy deleted it");
	refused_by_every_service(&bound, "a bound descriptor after a copy deleted it");
}

static void unbind_forgets_the_descriptor_only(void)
{
	RT_SEM sem, bound;

	CHECK_EQ(rt_sem_create(&sem, "unbound", 1, S_FIFO), 0);
	CHECK_EQ(rt_sem_bind(&bound, "unbound", TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_unbind(&sem), 0);
	CHECK_EQ(sem.handle, 0);
	refused_by_every_service(&sem, "an unbound descriptor");
	CHECK_EQ(rt_sem_p(&bound, TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_v(&bound), 0);
	CHECK_EQ(rt_sem_bind(&sem, "unbound", TM_NONBLOCK), 0);
	CHECK_EQ(sem.handle, bound.handle);
	CHECK_EQ(rt_sem_delete(&sem), 0);

	/* Works on any descriptor. */
	CHECK_EQ(rt_sem_unbind(&bound), 0);
	CHECK_EQ(bound.handle, 0);
	CHECK_EQ(rt_sem_unbind(&bound), 0);
	bound.handle = (uintptr_t)0xdeadbeef;
	CHECK_EQ(rt_sem_unbind(&bound), 0);
	CHECK_EQ(bound.handle, 0);
}

static void unbind_leaves_waiters_alone(void)
{
	struct waiter waiter;
	RT_SEM sem, copy;

	MAKE_SEM(&sem, 0, S_FIFO);
	copy = sem;
	start_waiter(&waiter, &sem, 10, "w");
	CHECK_EQ(rt_sem_unbind(&sem), 0);
	CHECK_SEM(&copy, 0, 1);
	CHECK(kit_blocked(&waiter.task));
	CHECK_EQ(rt_sem_v(&copy), 0);
	CHECK_EQ(end_waiter(&waiter), 0);
	CHECK_EQ(rt_sem_delete(&copy), 0);
}

/* --- Kinds -------------------------------------------------------------------------------------------------------- */

/* The fast path compares all bits at once, the kind's included: with the right one of another kind that came out as good. */
static void refused_as_other_kinds(const RT_SEM *sem, unsigned generations, const char *what)
{
	const int top = (int)(8 * sizeof(sem->handle)) - 4, generation = sizeof(sem->handle) == 8 ? 32 : 16;
	uintptr_t rest = (sem->handle & (((uintptr_t)1 << top) - 1)) + ((uintptr_t)generations << generation);
	uintptr_t kind;
	char text[80];
	RT_SEM other;

	for (kind = 0; kind < 16; kind++) {
		other.handle = rest | kind << top;
		if (generations == 0 && other.handle == sem->handle)
			continue;
		snprintf(text, sizeof(text), "%s, kind %d", what, (int)kind);
		refused_by_every_service(&other, text);
	}
}

static void other_kinds_of_a_live_semaphore(void)
{
	RT_SEM sem, pulse;

	MAKE_SEM(&sem, 3, S_FIFO);
	refused_as_other_kinds(&sem, 0, "a live handle");
	CHECK_SEM(&sem, 3, 0);
	MAKE_SEM(&pulse, 0, S_PULSE);
	refused_as_other_kinds(&pulse, 0, "a pulse semaphore's handle");
	CHECK_SEM(&pulse, 0, 0);
	CHECK_EQ(rt_sem_delete(&pulse), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void other_kinds_of_a_semaphore_with_a_waiter(void)
{
	struct waiter waiter;
	RT_SEM sem;

	MAKE_SEM(&sem, 0, S_PRIO);
	start_waiter(&waiter, &sem, 10, "w");
	refused_as_other_kinds(&sem, 0, "a handle waited on");
	CHECK_SEM(&sem, 0, 1);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(end_waiter(&waiter), 0);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void any_kind_of_a_dead_slot(void)
{
	RT_SEM sem;

	MAKE_SEM(&sem, 3, S_PRIO);
	CHECK_EQ(rt_sem_delete(&sem), 0);
	refused_as_other_kinds(&sem, 1, "a dead slot's next handle");
	MAKE_SEM(&sem, 0, S_PULSE);
	CHECK_EQ(rt_sem_delete(&sem), 0);
	refused_as_other_kinds(&sem, 1, "a dead pulse slot's next handle");
}

KIT_CASES(
	CASE(null_descriptor),
	CASE(zeroed_descriptor),
	CASE(misaligned_descriptor),
	CASE(descriptor_of_a_task),
	CASE(stale_descriptor),
	CASE(neighbours_of_a_live_handle),
	CASE(garbage_descriptor),
	CASE(handles_of_2000_generations_stay_dead),
	CASE(stale_handle_misses_1000_later_semaphores),
	CASE(copies_are_as_good_as_the_original),
	CASE(unbind_forgets_the_descriptor_only),
	CASE(unbind_leaves_waiters_alone),
	CASE(other_kinds_of_a_live_semaphore),
	CASE(other_kinds_of_a_semaphore_with_a_waiter),
	CASE(any_kind_of_a_dead_slot)
)
