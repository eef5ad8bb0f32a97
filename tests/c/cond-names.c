/* Names of condition variables: given, generated, in use; bind. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include "cond-kit.h"

#define THIRTY_ONE "a-name-of-one-and-thirty-bytes!"
#define FORTY THIRTY_ONE "and-nine."

static const RT_COND pattern = { 0x5a5a5a5a5a5a5a5aUL };

static const char *cond_name(RT_COND *made)
{
	static RT_COND_INFO info;

	memset(&info, 0x5a, sizeof(info));
	CHECK_EQ(rt_cond_inquire(made, &info), 0);
	return info.name;
}

static void generated_names_count_up(void)
{
	RT_COND first, named, second, third, fourth;

	MAKE_COND(&first);
	CHECK_STR(cond_name(&first), "cond@1");
	CHECK_EQ(rt_cond_create(&named, "given"), 0);
	CHECK_STR(cond_name(&named), "given");
	CHECK_EQ(rt_cond_create(&second, ""), 0);
	CHECK_STR(cond_name(&second), "cond@2");
	CHECK_EQ(rt_cond_delete(&second), 0);
	MAKE_COND(&third);
	CHECK_STR(cond_name(&third), "cond@3"); /* numbers are not used twice */
	CHECK_EQ(rt_cond_create(&second, "cond@4"), 0);
	MAKE_COND(&fourth);
	CHECK_STR(cond_name(&fourth), "cond@5");
}

static void names_are_cut_at_31_bytes(void)
{
	RT_COND made, bound, other = pattern;

	CHECK_EQ(rt_cond_create(&made, FORTY), 0);
	CHECK_STR(cond_name(&made), THIRTY_ONE);
	CHECK_EQ(rt_cond_bind(&bound, FORTY, TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, made.handle);
	CHECK_EQ(rt_cond_bind(&bound, THIRTY_ONE, TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, made.handle);
	CHECK_EQ(rt_cond_create(&other, THIRTY_ONE), -EEXIST);
	CHECK_EQ(rt_cond_create(&other, THIRTY_ONE "x"), -EEXIST);
	CHECK_SAME_BYTES(&other, &pattern, sizeof(other));
}

/* cond.md 9.25 */
static void used_name_leaves_the_descriptor_alone(void)
{
	RT_COND made, other = pattern, before;

	CHECK_EQ(rt_cond_create(&made, "used"), 0);
	before = made;
	CHECK_EQ(rt_cond_create(&made, "used"), -EEXIST);
	CHECK_SAME_BYTES(&made, &before, sizeof(made));
	CHECK_EQ(rt_cond_create(&other, "used"), -EEXIST);
	CHECK_SAME_BYTES(&other, &pattern, sizeof(other));
	CHECK_EQ(rt_cond_signal(&made), 0);
	CHECK_EQ(rt_cond_delete(&made), 0);
	CHECK_EQ(rt_cond_create(&made, "used"), 0);
	CHECK_EQ(rt_cond_signal(&made), 0);
}

static void other_types_have_names_of_their_own(void)
{
	RT_COND made, missing = pattern;
	RT_SEM sem, bound;

	CHECK_EQ(rt_sem_create(&sem, "both", 1, S_FIFO), 0);
	CHECK_EQ(rt_cond_bind(&missing, "both", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_SAME_BYTES(&missing, &pattern, sizeof(missing));
	CHECK_EQ(rt_mutex_create(&mutex, "both"), 0);
	CHECK_EQ(rt_cond_bind(&missing, "both", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_create(&made, "both"), 0);
	CHECK_EQ(rt_sem_bind(&bound, "both", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, sem.handle);
	CHECK_EQ(rt_cond_delete(&made), 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
}

static void bind_at_once(void *arg)
{
	RT_COND made = pattern;

	(void)arg;
	CHECK_EQ(rt_cond_bind(&made, "absent", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_bind(&made, "", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_cond_bind(&made, NULL, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_cond_bind(&made, NULL, TM_INFINITE), -EINVAL);
	CHECK_SAME_BYTES(&made, &pattern, sizeof(made));
	CHECK_EQ(rt_cond_bind(&made, "present", TM_INFINITE), 0);
	CHECK_STR(cond_name(&made), "present");
	CHECK_EQ(rt_cond_bind(&made, "present", MS), 0);
	CHECK_EQ(rt_cond_bind(&made, "present", TM_NONBLOCK), 0);
}

static void bind_without_waiting_is_open_to_all(void)
{
	RT_COND made;

	CHECK_EQ(rt_cond_create(&made, "present"), 0);
	bind_at_once(NULL);
	kit_plain(bind_at_once, NULL);
	as_task(10, bind_at_once, NULL);
}

static void bind_may_not_wait(void *arg)
{
	RT_COND made = pattern;

	(void)arg;
	CHECK_EQ(rt_cond_bind(&made, "absent", MS), -EPERM);
	CHECK_EQ(rt_cond_bind(&made, "absent", TM_INFINITE), -EPERM);
	CHECK_SAME_BYTES(&made, &pattern, sizeof(made));
}

static void bind_waits_its_time(void *arg)
{
	RT_COND made = pattern;
	long long begin = kit_now();

	(void)arg;
	CHECK_EQ(rt_cond_bind(&made, "absent", 10 * MS), -ETIMEDOUT);
	CHECK(kit_now() - begin >= 10 * MS);
	CHECK_SAME_BYTES(&made, &pattern, sizeof(made));
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
	RT_COND made;
	const char *name;
	int result;
};

static void binder_body(void *binder_)
{
	struct binder *binder = (struct binder *)binder_;

	binder->result = rt_cond_bind(&binder->made, binder->name, TM_INFINITE);
}

static void start_binder(struct binder *binder, const char *name)
{
	binder->made = pattern;
	binder->name = name;
	binder->result = 1;
	kit_spawn_blocked(&binder->task, 10, binder_body, binder);
}

static void creation_ends_the_wait_for_a_name(void)
{
	struct binder first, second, third;
	RT_COND made, unrelated;
	RT_SEM sem;

	start_binder(&first, "awaited");
	start_binder(&second, "awaited");
	start_binder(&third, "never");
	CHECK_EQ(rt_sem_create(&sem, "awaited", 0, S_FIFO), 0); /* of another type */
	MAKE_COND(&unrelated);
	CHECK(kit_blocked(&first.task));
	CHECK_EQ(rt_cond_create(&made, "awaited"), 0);
	kit_join(&first.task);
	kit_join(&second.task);
	CHECK_EQ(first.result, 0);
	CHECK_EQ(second.result, 0);
	CHECK_EQ(first.made.handle, made.handle);
	CHECK_EQ(second.made.handle, made.handle);
	CHECK_EQ(rt_cond_signal(&first.made), 0);
	CHECK(kit_blocked(&third.task));
	CHECK_EQ(rt_task_unblock(&third.task), 0);
	kit_join(&third.task);
	CHECK_EQ(third.result, -EINTR);
	CHECK_SAME_BYTES(&third.made, &pattern, sizeof(pattern));
}

KIT_CASES(
	CASE(generated_names_count_up), CASE(names_are_cut_at_31_bytes), CASE(used_name_leaves_the_descriptor_alone),
	CASE(other_types_have_names_of_their_own), CASE(bind_without_waiting_is_open_to_all),
	CASE(bind_waits_where_the_caller_may), CASE(creation_ends_the_wait_for_a_name))
