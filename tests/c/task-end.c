/* How tasks end: by return, pthread_exit, or as a shadowed thread. What runs before the name is free. */
#include "kit.h"
#include "tasks.h"

static RT_TASK task;
static pthread_key_t key;

/* At this point the task still is one. */
static void check_still_a_task(void)
{
	RT_TASK bound, other;

	CHECK(rt_task_self() != NULL);
	CHECK_EQ(rt_task_inquire(NULL, NULL), 0);
	CHECK_EQ(rt_task_bind(&bound, "ending", TM_NONBLOCK), 0);
	CHECK_EQ(rt_task_same(&bound, rt_task_self()), 1);
	CHECK_EQ(rt_task_create(&other, "ending", 0, 0, 0), -EEXIST);
}

static void cleanup(void *text)
{
	check_still_a_task();
	mark((const char *)text);
}

static void destroy(void *value)
{
	CHECK_STR((const char *)value, "value");
	check_still_a_task();
	/* Time to be found half-ended, if that were possible. */
	CHECK_EQ(rt_task_sleep(5000000), 0);
	mark("destructor");
}

static void leave_through_pthread_exit(void)
{
	pthread_cleanup_push(cleanup, (void *)"outer");
	pthread_cleanup_push(cleanup, (void *)"inner");
	mark("exit");
	pthread_exit((void *)1);
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
}

static void exit_from_below(void *arg)
{
	(void)arg;
	CHECK_EQ(pthread_setspecific(key, "value"), 0);
	leave_through_pthread_exit();
}

static void name_waiter(void *arg)
{
	/* Polls until the name is gone: by then everything has run. */
	(void)arg;
	for (;;) {
		RT_TASK bound;
		int error = rt_task_bind(&bound, "ending", TM_NONBLOCK);

		if (error == -EWOULDBLOCK)
			break;
		CHECK_EQ(error, 0);
		kit_nap(500000);
	}
	mark("free");
}

static void pthread_exit_runs_handlers_and_destructors(void)
{
	CHECK_EQ(pthread_key_create(&key, destroy), 0);
	CHECK_EQ(rt_task_create(&task, "ending", 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_start(&task, exit_from_below, NULL), 0);
	kit_plain(name_waiter, NULL);
	kit_join(&task);
	check_stale(&task);
	check_free("ending");
	expect_marks("exit inner outer destructor free");
}

static void return_with_a_value(void *arg)
{
	(void)arg;
	CHECK_EQ(pthread_setspecific(key, "value"), 0);
	mark("return");
}

static void return_runs_destructors(void)
{
	CHECK_EQ(pthread_key_create(&key, destroy), 0);
	CHECK_EQ(rt_task_create(&task, "ending", 0, 10, T_JOINABLE), 0);
	CHECK_EQ(rt_task_start(&task, return_with_a_value, NULL), 0);
	kit_join(&task);
	mark("joined");
	check_stale(&task);
	check_free("ending");
	expect_marks("return destructor joined");
}

static void join_sees_the_destructors_done(void)
{
	int i;

	CHECK_EQ(pthread_key_create(&key, destroy), 0);
	for (i = 0; i < 5; i++) {
		CHECK_EQ(rt_task_spawn(&task, "ending", 0, 0, T_JOINABLE, exit_from_below, NULL), 0);
		kit_join(&task);
		expect_marks("exit inner outer destructor");
		clear_marks();
	}
}

static void *shadow_and_exit(void *arg)
{
	(void)arg;
	CHECK_EQ(pthread_setspecific(key, "value"), 0);
	CHECK_EQ(rt_task_shadow(&task, "ending", 0, 0), 0);
	leave_through_pthread_exit();
	return NULL;
}

static void *shadow_and_return(void *arg)
{
	CHECK_EQ(pthread_setspecific(key, "value"), 0);
	CHECK_EQ(rt_task_shadow(&task, "ending", 0, 0), 0);
	mark("return");
	return arg;
}

static void shadowed_thread_ends_with_its_thread(void)
{
	pthread_t thread;
	void *value;

	CHECK_EQ(pthread_key_create(&key, destroy), 0);
	thread = start_thread(shadow_and_exit, NULL);
	CHECK_EQ(pthread_join(thread, &value), 0);
	CHECK_EQ((uintptr_t)value, 1);
	mark("joined");
	check_stale(&task);
	check_free("ending");
	expect_marks("exit inner outer destructor joined");
	clear_marks();

	thread = start_thread(shadow_and_return, &task);
	CHECK_EQ(pthread_join(thread, &value), 0);
	CHECK(value == &task);
	mark("joined");
	check_stale(&task);
	check_free("ending");
	expect_marks("return destructor joined");
}

static void *pass_away_at_last(void *arg)
{
	until(rt_task_inquire(&task, NULL) == -EINVAL);
	check_free("first");
	_exit(0); /* the case has passed */
	return arg;
}

/* The process goes on. */
static void shadowed_initial_thread_ends(void)
{
	CHECK_EQ(rt_task_shadow(&task, "first", 10, 0), 0);
	start_thread(pass_away_at_last, NULL);
	pthread_exit(NULL);
}

static RT_SEM sem;

static void take_with_timeout(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_sem_p(&sem, 1000000), -ETIMEDOUT);
	pthread_exit(NULL);
}

/* What a task has waited for does not remember it. */
static void ended_waiter_leaves_no_trace(void)
{
	RT_SEM_INFO info;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	as_task(10, take_with_timeout, NULL);
	CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
	CHECK_EQ(info.nwaiters, 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static int exiting;

static void exit_without_handlers(void *arg)
{
	(void)arg;
	__atomic_add_fetch(&exiting, 1, __ATOMIC_RELAXED);
	pthread_exit(NULL);
}

static void thousand_exits(void)
{
	int i, before;

	as_task(0, exit_without_handlers, NULL);
	before = count_threads();
	for (i = 1; i < 1000; i++) {
		CHECK_EQ(rt_task_spawn(&task, "ending", 0, 0, T_JOINABLE, exit_without_handlers, NULL), 0);
		kit_join(&task);
	}
	CHECK_EQ(exiting, 1000);
	until(count_threads() <= before);
}

KIT_CASES(
	CASE(pthread_exit_runs_handlers_and_destructors), CASE(return_runs_destructors),
	CASE(join_sees_the_destructors_done), CASE(shadowed_thread_ends_with_its_thread),
	CASE(shadowed_initial_thread_ends), CASE(ended_waiter_leaves_no_trace), CASE(thousand_exits))
