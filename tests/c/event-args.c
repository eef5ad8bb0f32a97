/* Event services and their arguments: descriptors that name no group, modes; failures touch nothing. */
#include "kit.h"
#include "tasks.h"
#include "event-kit.h"
#include "descriptor-kit.h"

/* --- Every service with a descriptor ------------------------------------------------------------------------------ */

#define GROUP ((RT_EVENT *)descriptor)

static const struct timespec poll_date = { 0, 0 }, past_date = { 1, 0 }, malformed_date = { 1, 2000000000 };

/* The result of a failed call leaves the output alone. */
static int untouched(int result, unsigned got)
{
	if (result != 0)
		CHECK_EQ(got, UNTOUCHED);
	return result;
}

#define WAIT_SERVICE(name, call) \
	static int name(void *descriptor) \
	{ \
		unsigned got = UNTOUCHED; \
		int result = call; \
		return untouched(result, got); \
	}

WAIT_SERVICE(call_poll, rt_event_wait(GROUP, 1, &got, EV_ALL, TM_NONBLOCK))
WAIT_SERVICE(call_infinite, rt_event_wait(GROUP, 1, &got, EV_ANY, TM_INFINITE))
WAIT_SERVICE(call_delay, rt_event_wait(GROUP, 1, &got, EV_ALL, MS))
WAIT_SERVICE(call_no_mask, rt_event_wait(GROUP, 0, &got, EV_ALL, TM_INFINITE))
WAIT_SERVICE(call_until_infinite, rt_event_wait_until(GROUP, 1, &got, EV_ALL, TM_INFINITE))
WAIT_SERVICE(call_until_poll, rt_event_wait_until(GROUP, 1, &got, EV_ALL, TM_NONBLOCK))
WAIT_SERVICE(call_until_past, rt_event_wait_until(GROUP, 1, &got, EV_ALL, 1))
WAIT_SERVICE(call_timed_infinite, rt_event_wait_timed(GROUP, 1, &got, EV_ALL, NULL))
WAIT_SERVICE(call_timed_poll, rt_event_wait_timed(GROUP, 1, &got, EV_ALL, &poll_date))
WAIT_SERVICE(call_timed_past, rt_event_wait_timed(GROUP, 1, &got, EV_ALL, &past_date))
WAIT_SERVICE(call_timed_malformed, rt_event_wait_timed(GROUP, 1, &got, EV_ALL, &malformed_date))
WAIT_SERVICE(call_clear, rt_event_clear(GROUP, ~0U, &got))

static int call_no_result(void *descriptor) { return rt_event_wait(GROUP, 1, NULL, EV_ALL, TM_INFINITE); }
static int call_clear_no_result(void *descriptor) { return rt_event_clear(GROUP, 1, NULL); }
static int call_clear_nothing(void *descriptor) { return rt_event_clear(GROUP, 0, NULL); }
static int call_signal(void *descriptor) { return rt_event_signal(GROUP, 1); }
static int call_signal_nothing(void *descriptor) { return rt_event_signal(GROUP, 0); }
static int call_delete(void *descriptor) { return rt_event_delete(GROUP); }
static int call_inquire_null(void *descriptor) { return rt_event_inquire(GROUP, NULL); }

static int call_inquire(void *descriptor)
{
	RT_EVENT_INFO info, before;
	int result;

	memset(&info, 0x5a, sizeof(info));
	before = info;
	result = rt_event_inquire(GROUP, &info);
	if (result != 0)
		CHECK_SAME_BYTES(&info, &before, sizeof(info));
	return result;
}

static const struct service services[] = {
	{ "rt_event_wait poll", call_poll, -EINVAL },
	{ "rt_event_wait infinite", call_infinite, -EINVAL },
	{ "rt_event_wait delay", call_delay, -EINVAL },
	{ "rt_event_wait mask 0", call_no_mask, -EINVAL },
	{ "rt_event_wait NULL", call_no_result, -EINVAL },
	{ "rt_event_wait_until infinite", call_until_infinite, -EINVAL },
	{ "rt_event_wait_until poll", call_until_poll, -EINVAL },
	{ "rt_event_wait_until past", call_until_past, -EINVAL },
	{ "rt_event_wait_timed infinite", call_timed_infinite, -EINVAL },
	{ "rt_event_wait_timed poll", call_timed_poll, -EINVAL },
	{ "rt_event_wait_timed past", call_timed_past, -EINVAL },
	{ "rt_event_wait_timed malformed", call_timed_malformed, -EINVAL },
	{ "rt_event_signal", call_signal, -EINVAL },
	{ "rt_event_signal mask 0", call_signal_nothing, -EINVAL },
	{ "rt_event_clear", call_clear, -EINVAL },
	{ "rt_event_clear NULL", call_clear_no_result, -EINVAL },
	{ "rt_event_clear mask 0", call_clear_nothing, -EINVAL },
	{ "rt_event_inquire", call_inquire, -EINVAL },
	{ "rt_event_inquire NULL", call_inquire_null, -EINVAL },
	{ "rt_event_delete", call_delete, -EINVAL },
};

/* --- Descriptors -------------------------------------------------------------------------------------------------- */

static void try_garbage(void *arg)
{
	RT_EVENT live, at[2], before[2];
	int offset;

	(void)arg;
	MAKE_EVENT(&live, 3, EV_FIFO);
	refused_unless_live(live.handle);
	CHECK_EVENT(&live, 3, 0);
	CHECK_EQ(rt_event_create(NULL, "nowhere", 0, EV_FIFO), -EINVAL);
	CHECK_EQ(rt_event_create(NULL, NULL, 0, EV_FIFO), -EINVAL);
	CHECK_EQ(rt_event_unbind(NULL), -EINVAL);
	CHECK_EQ(rt_event_bind(NULL, "nowhere", TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_event_bind(NULL, "nowhere", TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_event_bind(NULL, NULL, TM_INFINITE), -EINVAL);
	memset(at, 0x5a, sizeof(at));
	memcpy(before, at, sizeof(at));
	for (offset = 1; offset < 8; offset++) {
		RT_EVENT *misaligned = (RT_EVENT *)(void *)((char *)at + offset);

		CHECK_EQ(rt_event_create(misaligned, "askew", 0, EV_FIFO), -EINVAL);
		CHECK_EQ(rt_event_bind(misaligned, "askew", TM_NONBLOCK), -EINVAL);
		CHECK_EQ(rt_event_unbind(misaligned), -EINVAL);
	}
	CHECK_SAME_BYTES(at, before, sizeof(at));
	CHECK_EQ(rt_event_bind(&at[0], "askew", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_event_bind(&at[0], "nowhere", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_event_delete(&live), 0);
}

static void garbage_descriptor(void)
{
	TRY_SERVICES(services);
	for_every_caller(try_garbage);
}

static void descriptor_of_another_type(void)
{
	RT_EVENT event, foreign;
	RT_SEM sem, of_event;
	RT_TASK task;

	TRY_SERVICES(services);
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_FIFO), 0);
	memcpy(&foreign, &sem, sizeof(foreign));
	refused_by_every_service(&foreign, "a semaphore's handle");
	kit_spawn_blocked(&task, 10, take, &sem);
	memcpy(&foreign, &task, sizeof(foreign));
	refused_by_every_service(&foreign, "a task's handle");
	MAKE_EVENT(&event, 1, EV_PRIO);
	memcpy(&of_event, &event, sizeof(of_event));
	CHECK_EQ(rt_sem_v(&of_event), -EINVAL);
	CHECK_EQ(rt_sem_p(&of_event, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_sem_broadcast(&of_event), -EINVAL);
	CHECK_EQ(rt_sem_delete(&of_event), -EINVAL);
	CHECK_EVENT(&event, 1, 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
	refused_by_every_service(&foreign, "a dead task's handle");
}

static void try_stale(void *arg)
{
	RT_EVENT event, copy, other;

	(void)arg;
	CHECK_EQ(rt_event_create(&event, "gone", 1, EV_FIFO), 0);
	copy = event;
	CHECK_EQ(rt_event_delete(&event), 0);
	refused_by_every_service(&event, "a stale descriptor");
	refused_by_every_service(&copy, "a copy of a stale descriptor");
	refused_as_other_kinds(event.handle, 1, "a dead slot's next handle");
	CHECK_EQ(rt_event_create(&other, "gone", 1, EV_FIFO), 0);
	CHECK(other.handle != event.handle);
	refused_by_every_service(&event, "a stale descriptor beside a new group");
	CHECK_EVENT(&other, 1, 0);
	CHECK_EQ(rt_event_delete(&other), 0);
}

static void stale_descriptor(void)
{
	TRY_SERVICES(services);
	for_every_caller(try_stale);
}

/* Each generation of a slot has a handle of its own: none of the older ones reaches the live group. */
static void handles_of_old_generations_stay_dead(void)
{
	enum { GENERATIONS = 1500 };
	static RT_EVENT old[GENERATIONS];
	int i, k;

	for (i = 0; i < GENERATIONS; i++) {
		MAKE_EVENT(&old[i], 1, EV_FIFO);
		for (k = 0; k < i; k++) {
			CHECK(old[k].handle != old[i].handle);
			CHECK_EQ(rt_event_signal(&old[k], 2), -EINVAL);
			CHECK_EQ(rt_event_clear(&old[k], 1, NULL), -EINVAL);
			CHECK_EQ(rt_event_delete(&old[k]), -EINVAL);
		}
		CHECK_EVENT(&old[i], 1, 0);
		CHECK_EQ(rt_event_delete(&old[i]), 0);
	}
	TRY_SERVICES(services);
	for (k = 0; k < GENERATIONS; k++)
		refused_by_every_service(&old[k], "a handle of an old generation");
}

static void other_kinds_of_a_group_with_a_waiter(void)
{
	struct event_waiter waiter;
	RT_EVENT event;

	TRY_SERVICES(services);
	MAKE_EVENT(&event, 2, EV_PRIO);
	await(&waiter, &event, 1, EV_ALL, 10, "w");
	refused_as_other_kinds(event.handle, 0, "the handle of a group waited on");
	refused_if_misaligned(event.handle);
	CHECK_EQ(rt_event_inquire(&event, NULL), -EINVAL);
	CHECK_EVENT(&event, 2, 1);
	CHECK(kit_blocked(&waiter.task));
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_ENDED(&waiter, 0, 1);
	CHECK_EVENT(&event, 3, 0);
	CHECK_EQ(rt_event_delete(&event), 0);
}

static void copies_are_as_good_as_the_original(void)
{
	RT_EVENT event, copy, bound;

	TRY_SERVICES(services);
	CHECK_EQ(rt_event_create(&event, "shared", 0, EV_FIFO), 0);
	copy = event;
	CHECK_EQ(rt_event_bind(&bound, "shared", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, event.handle);
	CHECK_EQ(rt_event_signal(&copy, 4), 0);
	CHECK_EVENT(&bound, 4, 0);
	CHECK_EQ(rt_event_clear(&bound, 4, NULL), 0);
	CHECK_EVENT(&event, 0, 0);
	CHECK_EQ(rt_event_delete(&copy), 0);
	refused_by_every_service(&event, "the creator's descriptor after a copy deleted it");
	refused_by_every_service(&bound, "a bound descriptor after a copy deleted it");
}

static void unbind_forgets_the_descriptor_only(void)
{
	struct event_waiter waiter;
	RT_EVENT event, copy;

	TRY_SERVICES(services);
	CHECK_EQ(rt_event_create(&event, "unbound", 2, EV_FIFO), 0);
	copy = event;
	await(&waiter, &event, 1, EV_ALL, 10, "w");
	CHECK_EQ(rt_event_unbind(&event), 0);
	CHECK_EQ(event.handle, 0);
	refused_by_every_service(&event, "an unbound descriptor");
	CHECK(kit_blocked(&waiter.task));
	CHECK_EVENT(&copy, 2, 1);
	CHECK_EQ(rt_event_bind(&event, "unbound", TM_NONBLOCK), 0);
	CHECK_EQ(event.handle, copy.handle);
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_ENDED(&waiter, 0, 1);
	/* Works on any descriptor. */
	CHECK_EQ(rt_event_unbind(&copy), 0);
	CHECK_EQ(rt_event_unbind(&copy), 0);
	copy.handle = 0xdeadbeef;
	CHECK_EQ(rt_event_unbind(&copy), 0);
	CHECK_EQ(copy.handle, 0);
	CHECK_EQ(rt_event_delete(&event), 0);
}

/* --- Modes -------------------------------------------------------------------------------------------------------- */

static const int bad_modes[] = { 2, 3, 4, 0x100, 0x10000, -1, -2, (int)0x80000000, (int)0x80000001 };
#define BAD_MODES (sizeof(bad_modes) / sizeof(bad_modes[0]))

static void refuse_modes(void *arg)
{
	RT_EVENT event, made, before, zeroed = { 0 };
	unsigned i, got = UNTOUCHED;

	(void)arg;
	memset(&event, 0x5a, sizeof(event));
	before = event;
	MAKE_EVENT(&made, 3, EV_FIFO);
	for (i = 0; i < BAD_MODES; i++) {
		CHECK_EQ(rt_event_create(&event, "with a mode", 0, bad_modes[i]), -EINVAL);
		CHECK_SAME_BYTES(&event, &before, sizeof(event));
		/* Whether satisfied or not, whatever the mask, the date, the descriptor. */
		CHECK_EQ(rt_event_wait(&made, 1, &got, bad_modes[i], TM_INFINITE), -EINVAL);
		CHECK_EQ(rt_event_wait(&made, 4, &got, bad_modes[i], TM_NONBLOCK), -EINVAL);
		CHECK_EQ(rt_event_wait(&made, 4, &got, bad_modes[i], TM_INFINITE), -EINVAL);
		CHECK_EQ(rt_event_wait(&made, 0, &got, bad_modes[i], TM_INFINITE), -EINVAL);
		CHECK_EQ(rt_event_wait_until(&made, 1, &got, bad_modes[i], 1), -EINVAL);
		CHECK_EQ(rt_event_wait_timed(&made, 1, &got, bad_modes[i], &malformed_date), -EINVAL);
		CHECK_EQ(rt_event_wait(&zeroed, 1, &got, bad_modes[i], TM_NONBLOCK), -EINVAL);
		CHECK_EQ(got, UNTOUCHED);
	}
	CHECK_EVENT(&made, 3, 0);
	CHECK_EQ(rt_event_delete(&made), 0);
	CHECK_EQ(rt_event_bind(&event, "with a mode", TM_NONBLOCK), -EWOULDBLOCK);
}

/* event.md 9.8 */
static void unknown_modes_are_refused(void)
{
	for_every_caller(refuse_modes);
}

static void any_initial_value_is_legal(void)
{
	static const unsigned values[] = { 0, 1, 0x80000000U, 0x7fffffffU, 0xffffffffU, 0xa5a5a5a5U };
	RT_EVENT event;
	unsigned i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		MAKE_EVENT(&event, values[i], (int)i % 2);
		CHECK_EVENT(&event, values[i], 0);
		CHECK_EQ(rt_event_delete(&event), 0);
	}
}

static void create_use_delete(void *arg)
{
	RT_EVENT event;
	unsigned old = UNTOUCHED;

	(void)arg;
	CHECK_EQ(rt_event_create(&event, "of anybody", 8, EV_PRIO), 0);
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_EQ(rt_event_clear(&event, 8, &old), 0);
	CHECK_EQ(old, 9);
	CHECK_EVENT(&event, 1, 0);
	CHECK_EQ(rt_event_delete(&event), 0);
	CHECK_EQ(rt_event_delete(&event), -EINVAL);
}

/* event.md 6 */
static void any_thread_creates_uses_and_deletes(void)
{
	for_every_caller(create_use_delete);
}

KIT_CASES(
	CASE(garbage_descriptor), CASE(descriptor_of_another_type), CASE(stale_descriptor),
	CASE(handles_of_old_generations_stay_dead), CASE(other_kinds_of_a_group_with_a_waiter),
	CASE(copies_are_as_good_as_the_original), CASE(unbind_forgets_the_descriptor_only),
	CASE(unknown_modes_are_refused), CASE(any_initial_value_is_legal), CASE(any_thread_creates_uses_and_deletes))
