/* Names of event groups: given, generated, in use; bind. */
#include "kit.h"
#include "tasks.h"
#include "event-kit.h"

#define THIRTY_ONE "a-name-of-one-and-thirty-bytes!"
#define FORTY THIRTY_ONE "and-nine."

static const RT_EVENT pattern = { 0x5a5a5a5a5a5a5a5aUL };

static const char *event_name(RT_EVENT *event)
{
	static RT_EVENT_INFO info;

	memset(&info, 0x5a, sizeof(info));
	CHECK_EQ(rt_event_inquire(event, &info), 0);
	return info.name;
}

static void generated_names_count_up(void)
{
	RT_EVENT first, named, second, third, fourth;

	MAKE_EVENT(&first, 0, EV_FIFO);
	CHECK_STR(event_name(&first), "event@1");
	CHECK_EQ(rt_event_create(&named, "given", 0, EV_FIFO), 0);
	CHECK_STR(event_name(&named), "given");
	CHECK_EQ(rt_event_create(&second, "", 0, EV_PRIO), 0);
	CHECK_STR(event_name(&second), "event@2");
	CHECK_EQ(rt_event_delete(&second), 0);
	MAKE_EVENT(&third, 0, EV_FIFO);
	CHECK_STR(event_name(&third), "event@3"); /* numbers are not used twice */
	CHECK_EQ(rt_event_create(&second, "event@4", 0, EV_FIFO), 0);
	MAKE_EVENT(&fourth, 0, EV_FIFO);
	CHECK_STR(event_name(&fourth), "event@5");
}

static void names_are_cut_at_31_bytes(void)
{
	RT_EVENT event, bound, other = pattern;

	CHECK_EQ(rt_event_create(&event, FORTY, 0, EV_FIFO), 0);
	CHECK_STR(event_name(&event), THIRTY_ONE);
	CHECK_EQ(rt_event_bind(&bound, FORTY, TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, event.handle);
	CHECK_EQ(rt_event_bind(&bound, THIRTY_ONE, TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, event.handle);
	CHECK_EQ(rt_event_create(&other, THIRTY_ONE, 0, EV_FIFO), -EEXIST);
	CHECK_EQ(rt_event_create(&other, THIRTY_ONE "x", 0, EV_FIFO), -EEXIST);
	CHECK_SAME_BYTES(&other, &pattern, sizeof(other));
}

/* event.md 9.27 */
static void used_name_leaves_the_descriptor_alone(void)
{
	RT_EVENT event, other = pattern, before;

	CHECK_EQ(rt_event_create(&event, "used", 5, EV_FIFO), 0);
	before = event;
	CHECK_EQ(rt_event_create(&event, "used", 7, EV_PRIO), -EEXIST);
	CHECK_SAME_BYTES(&event, &before, sizeof(event));
	CHECK_EQ(rt_event_create(&other, "used", 7, EV_PRIO), -EEXIST);
	CHECK_SAME_BYTES(&other, &pattern, sizeof(other));
	/* The mode is looked at first. */
	CHECK_EQ(rt_event_create(&other, "used", 7, 2), -EINVAL);
	CHECK_EVENT(&event, 5, 0);
	CHECK_EQ(rt_event_delete(&event), 0);
	CHECK_EQ(rt_event_create(&event, "used", 7, EV_PRIO), 0);
	CHECK_EVENT(&event, 7, 0);
}

static void other_types_have_names_of_their_own(void)
{
	RT_EVENT event, missing = pattern;
	RT_SEM sem, bound;

	CHECK_EQ(rt_sem_create(&sem, "both", 1, S_FIFO), 0);
	CHECK_EQ(rt_event_bind(&missing, "both", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_SAME_BYTES(&missing, &pattern, sizeof(missing));
	CHECK_EQ(rt_event_create(&event, "both", 0, EV_FIFO), 0);
	CHECK_EQ(rt_sem_bind(&bound, "both", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, sem.handle);
	CHECK_EQ(rt_event_delete(&event), 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
}

static void bind_at_once(void *arg)
{
	RT_EVENT event = pattern;

	(void)arg;
	CHECK_EQ(rt_event_bind(&event, "absent", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_event_bind(&event, "", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_event_bind(&event, NULL, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_event_bind(&event, NULL, TM_INFINITE), -EINVAL);
	CHECK_SAME_BYTES(&event, &pattern, sizeof(event));
	CHECK_EQ(rt_event_bind(&event, "present", TM_INFINITE), 0);
	CHECK_STR(event_name(&event), "present");
	CHECK_EQ(rt_event_bind(&event, "present", MS), 0);
	CHECK_EQ(rt_event_bind(&event, "present", TM_NONBLOCK), 0);
}

static void bind_without_waiting_is_open_to_all(void)
{
	RT_EVENT event;

	CHECK_EQ(rt_event_create(&event, "present", 0, EV_FIFO), 0);
	bind_at_once(NULL);
	kit_plain(bind_at_once, NULL);
	as_task(10, bind_at_once, NULL);
}

static void bind_may_not_wait(void *arg)
{
	RT_EVENT event = pattern;

	(void)arg;
	CHECK_EQ(rt_event_bind(&event, "absent", MS), -EPERM);
	CHECK_EQ(rt_event_bind(&event, "absent", TM_INFINITE), -EPERM);
	CHECK_SAME_BYTES(&event, &pattern, sizeof(event));
}

static void bind_waits_its_time(void *arg)
{
	RT_EVENT event = pattern;
	long long begin = kit_now();

	(void)arg;
	CHECK_EQ(rt_event_bind(&event, "absent", 10 * MS), -ETIMEDOUT);
	CHECK(kit_now() - begin >= 10 * MS);
	CHECK_SAME_BYTES(&event, &pattern, sizeof(event));
}

static void bind_waits_where_the_caller_may(void)
{
	kit_plain(bind_may_not_wait, NULL);
	bind_waits_its_time(NULL);
	as_task(10, bind_waits_its_time, NULL);
}

/* --- Waiting for a name ------------------------------------------------------------------------------------------- */

struct binder {
	RT_TASK task;
	RT_EVENT event;
	const char *name;
	int result;
};

static void binder_body(void *binder_)
{
	struct binder *binder = (struct binder *)binder_;

	binder->result = rt_event_bind(&binder->event, binder->name, TM_INFINITE);
}

static void start_binder(struct binder *binder, const char *name)
{
	binder->event = pattern;
	binder->name = name;
	binder->result = 1;
	kit_spawn_blocked(&binder->task, 10, binder_body, binder);
}

static void creation_ends_the_wait_for_a_name(void)
{
	struct binder first, second, third;
	RT_EVENT event, unrelated;
	RT_SEM sem;

	start_binder(&first, "awaited");
	start_binder(&second, "awaited");
	start_binder(&third, "never");
	CHECK_EQ(rt_sem_create(&sem, "awaited", 0, S_FIFO), 0); /* of another type */
	MAKE_EVENT(&unrelated, 0, EV_FIFO);
	CHECK(kit_blocked(&first.task));
	CHECK_EQ(rt_event_create(&event, "awaited", 6, EV_FIFO), 0);
	kit_join(&first.task);
	kit_join(&second.task);
	CHECK_EQ(first.result, 0);
	CHECK_EQ(second.result, 0);
	CHECK_EQ(first.event.handle, event.handle);
	CHECK_EQ(second.event.handle, event.handle);
	CHECK_EVENT(&first.event, 6, 0);
	CHECK(kit_blocked(&third.task));
	CHECK_EQ(rt_task_unblock(&third.task), 0);
	kit_join(&third.task);
	CHECK_EQ(third.result, -EINTR);
	CHECK_SAME_BYTES(&third.event, &pattern, sizeof(pattern));
}

KIT_CASES(
	CASE(generated_names_count_up), CASE(names_are_cut_at_31_bytes), CASE(used_name_leaves_the_descriptor_alone),
	CASE(other_types_have_names_of_their_own), CASE(bind_without_waiting_is_open_to_all),
	CASE(bind_waits_where_the_caller_may), CASE(creation_ends_the_wait_for_a_name))
