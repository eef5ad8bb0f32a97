/* rt_task_bind and rt_task_unbind: waiting for names. */
#include "kit.h"
#include "tasks.h"

#define MS 1000000LL

static void binds_a_dormant_task(void)
{
	RT_TASK task, bound;

	CHECK_EQ(rt_task_create(&task, "dormant", 0, 0, T_JOINABLE), 0);
	memset(&bound, 0x5a, sizeof(bound));
	CHECK_EQ(rt_task_bind(&bound, "dormant", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, task.handle);
	CHECK(pthread_equal(bound.thread, task.thread));
	CHECK_EQ(rt_task_bind(&bound, "dormant", TM_INFINITE), 0);
	CHECK_EQ(rt_task_bind(&bound, "dormant", MS), 0);
	CHECK_EQ(kit_status(&bound), 0x10000);
	/* As good as the creator's. */
	CHECK_EQ(rt_task_start(&bound, nothing, NULL), 0);
	CHECK_EQ(rt_task_join(&bound), 0);
	check_stale(&bound);
	check_stale(&task);
}

static void absent_name(void *arg)
{
	RT_TASK bound, before;
	long long start = kit_now();

	(void)arg;
	memset(&bound, 0x5a, sizeof(bound));
	before = bound;
	CHECK_EQ(rt_task_bind(&bound, "absent", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_bind(&bound, "absent", 5 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 5 * MS);
	CHECK_SAME_BYTES(&bound, &before, sizeof(bound));
}

/* common.md 14.7 */
static void absent_name_times_out(void)
{
	absent_name(NULL);
	as_task(10, absent_name, NULL);
}

static void names_without_an_object(void)
{
	RT_TASK task, bound;

	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_bind(&bound, "", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_bind(&bound, "", 2 * MS), -ETIMEDOUT);
	CHECK_EQ(rt_task_bind(&bound, "task@2", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_bind(&bound, "TASK@1", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_bind(&bound, "task", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_bind(&bound, "task@1", TM_NONBLOCK), 0);
	finish(&task);
}

static void names_are_per_type(void)
{
	RT_TASK bound;
	RT_SEM sem;

	CHECK_EQ(rt_sem_create(&sem, "semaphore", 0, S_PRIO), 0);
	CHECK_EQ(rt_task_bind(&bound, "semaphore", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_bind(&bound, "semaphore", 2 * MS), -ETIMEDOUT);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void bind_from_a_plain_thread(void *task)
{
	RT_TASK bound, before;

	memset(&bound, 0x5a, sizeof(bound));
	before = bound;
	CHECK_EQ(rt_task_bind(&bound, "absent", MS), -EPERM);
	CHECK_EQ(rt_task_bind(&bound, "absent", TM_INFINITE), -EPERM);
	CHECK_EQ(rt_task_bind(&bound, "absent", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_SAME_BYTES(&bound, &before, sizeof(bound));
	CHECK_EQ(rt_task_bind(&bound, "present", TM_INFINITE), 0);
	CHECK_EQ(rt_task_same(&bound, (RT_TASK *)task), 1);
	CHECK_EQ(rt_task_bind(&bound, "present", MS), 0);
}

/* common.md 14.6 */
static void plain_thread_cannot_wait(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_create(&task, "present", 0, 0, T_JOINABLE), 0);
	kit_plain(bind_from_a_plain_thread, &task);
	finish(&task);
}

struct wish {
	const char *name;
	RTIME timeout;
	RT_TASK bound;
	int result;
};

static void bind_wish(void *arg)
{
	struct wish *wish = (struct wish *)arg;

	wish->result = rt_task_bind(&wish->bound, wish->name, wish->timeout);
	if (wish->result == 0) /* usable at once */
		CHECK_EQ(rt_task_inquire(&wish->bound, NULL), 0);
	mark(wish->result == 0 ? wish->name : "failed");
}

/* common.md 14.8 */
static void all_who_wait_for_the_name_get_it(void)
{
	struct wish wish[3] = {
		{ .name = "A", .timeout = TM_INFINITE }, { .name = "A", .timeout = 1000000 * MS }, { .name = "Z", .timeout = 600 * MS },
	};
	RT_TASK waiter[3], task, other;
	int i;

	for (i = 0; i < 3; i++)
		kit_spawn_blocked(&waiter[i], 10 + i, bind_wish, &wish[i]);
	CHECK_EQ(rt_task_create(&other, "B", 0, 0, T_JOINABLE), 0);
	for (i = 0; i < 3; i++)
		CHECK(kit_blocked(&waiter[i]));
	CHECK_EQ(rt_task_create(&task, "A", 0, 0, T_JOINABLE), 0);
	kit_join(&waiter[0]);
	kit_join(&waiter[1]);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(wish[i].result, 0);
		CHECK_EQ(wish[i].bound.handle, task.handle);
		CHECK(pthread_equal(wish[i].bound.thread, task.thread));
	}
	kit_join(&waiter[2]);
	CHECK_EQ(wish[2].result, -ETIMEDOUT);
	expect_marks("A A failed");
	finish(&task);
	finish(&other);
}

static RT_TASK created;

static void bind_and_compare(void *arg)
{
	struct wish *wish = (struct wish *)arg;

	CHECK_EQ(rt_task_bind(&wish->bound, wish->name, wish->timeout), 0);
	CHECK_EQ(wish->bound.handle, created.handle); /* the creator's is filled in before anybody can see the name */
	mark("bound");
}

static void waiter_runs_before_create_returns(void)
{
	struct wish wish = { .name = "prompt", .timeout = TM_INFINITE };
	RT_TASK waiter;

	kit_spawn_blocked(&waiter, 20, bind_and_compare, &wish);
	CHECK_EQ(rt_task_create(&created, "prompt", 0, 0, T_JOINABLE), 0);
	mark("created");
	kit_join(&waiter);
	finish(&created);
	expect_marks("bound created");
}

static void create_and_finish(void *arg)
{
	RT_TASK task;

	(void)arg;
	CHECK_EQ(rt_task_spawn(&task, "brief", 0, 60, T_JOINABLE, nothing, NULL), 0);
	kit_join(&task);
	mark("gone");
}

/* common.md 6: created and gone before the waiter could run. It waits on, until its date. */
static void name_that_is_gone_again(void)
{
	struct wish wish = { .name = "brief", .timeout = 100 * MS };
	long long start = kit_now();
	RT_TASK waiter;

	kit_spawn_blocked(&waiter, 10, bind_wish, &wish);
	as_task(50, create_and_finish, NULL);
	kit_join(&waiter);
	CHECK_EQ(wish.result, -ETIMEDOUT);
	CHECK(kit_now() - start >= 100 * MS);
	expect_marks("gone failed");
}

static RT_SEM sem;

static void shadow_later(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_shadow(&created, "shadowed", 0, 0), 0);
	take(&sem);
}

static void shadowing_serves_waiters(void)
{
	struct wish wish = { .name = "shadowed", .timeout = TM_INFINITE };
	RT_TASK waiter;

	CHECK_EQ(rt_sem_create(&sem, NULL, 1, S_PRIO), 0);
	kit_spawn_blocked(&waiter, 20, bind_wish, &wish);
	kit_plain(shadow_later, NULL);
	kit_join(&waiter);
	CHECK_EQ(wish.result, 0);
	CHECK_EQ(wish.bound.handle, created.handle);
	check_stale(&wish.bound);
}

static void shadowed_initial_thread_serves_waiters(void)
{
	struct wish wish = { .name = "main", .timeout = TM_INFINITE };
	RT_TASK waiter;

	kit_spawn_blocked(&waiter, 20, bind_wish, &wish);
	CHECK_EQ(rt_task_shadow(NULL, "main", 0, 0), 0);
	kit_join(&waiter);
	CHECK_EQ(wish.result, 0);
	CHECK_EQ(rt_task_same(&wish.bound, rt_task_self()), 1);
	CHECK(pthread_equal(wish.bound.thread, pthread_self()));
}

static void unbind_clears_the_descriptor_only(void)
{
	static const RT_TASK zeroed;
	RT_TASK task, copy, bound;

	CHECK_EQ(rt_task_create(&task, "unbound", 0, 0, T_JOINABLE), 0);
	copy = task;
	CHECK_EQ(rt_task_bind(&bound, "unbound", TM_NONBLOCK), 0);
	CHECK_EQ(rt_task_unbind(&bound), 0);
	CHECK_SAME_BYTES(&bound, &zeroed, sizeof(zeroed));
	CHECK_EQ(rt_task_unbind(&bound), 0);
	check_stale(&bound);
	CHECK_EQ(rt_task_inquire(&task, NULL), 0);
	/* The creator's as well. */
	CHECK_EQ(rt_task_unbind(&task), 0);
	CHECK_SAME_BYTES(&task, &zeroed, sizeof(zeroed));
	CHECK_EQ(rt_task_bind(&task, "unbound", TM_NONBLOCK), 0);
	CHECK_EQ(rt_task_same(&task, &copy), 1);
	finish(&copy);
	memset(&bound, 0x5a, sizeof(bound));
	CHECK_EQ(rt_task_unbind(&bound), 0); /* any descriptor */
	CHECK_SAME_BYTES(&bound, &zeroed, sizeof(zeroed));
}

static void bind_hundred(void *arg)
{
	RT_TASK bound;
	char name[16];
	int i;

	(void)arg;
	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "rendezvous-%d", i);
		CHECK_EQ(rt_task_bind(&bound, name, TM_INFINITE), 0);
		CHECK_EQ(rt_sem_v(&sem), 0);
	}
}

/* No creation slips between the look-up and the wait. */
static void no_name_is_missed(void)
{
	RT_TASK waiter[4], task;
	char name[16];
	int i, k;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	for (k = 0; k < 4; k++)
		kit_spawn(&waiter[k], 0, bind_hundred, NULL);
	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "rendezvous-%d", i);
		CHECK_EQ(rt_task_create(&task, name, 0, 0, T_JOINABLE), 0);
		for (k = 0; k < 4; k++)
			CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
		finish(&task);
	}
	for (k = 0; k < 4; k++)
		kit_join(&waiter[k]);
}

KIT_CASES(
	CASE(binds_a_dormant_task), CASE(absent_name_times_out), CASE(names_without_an_object), CASE(names_are_per_type),
	CASE(plain_thread_cannot_wait), CASE(all_who_wait_for_the_name_get_it),
	CASE_FIFO(waiter_runs_before_create_returns), CASE_FIFO(name_that_is_gone_again),
	CASE_FIFO(shadowing_serves_waiters), CASE(shadowed_initial_thread_serves_waiters),
	CASE(unbind_clears_the_descriptor_only), CASE(no_name_is_missed))
