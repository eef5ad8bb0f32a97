/* rt_task_delete: tasks that wait, sleep, stand still, sit in libc; what has happened when it returns. */
#include "kit.h"
#include "control-kit.h"

static RT_SEM sem;
static RT_TASK task;
static pthread_key_t key;

static void spawn_victim(int prio, int mode, void (*body)(void *), void *arg)
{
	CHECK_EQ(rt_task_spawn(&task, "victim", 0, prio, mode, body, arg), 0);
}

/* Deletes the joinable victim and looks for remains. */
static void delete_victim(void)
{
	CHECK_EQ(rt_task_delete(&task), 0);
	mark("deleted");
	check_gone(&task, "victim");
	CHECK_EQ(rt_task_join(&task), 0);
	CHECK_EQ(rt_task_join(&task), -ESRCH);
	check_gone(&task, "victim");
}

/* ---- Handlers and destructors --------------------------------------------------------------------------------- */

static void mark_cleanup(void *text)
{
	CHECK(rt_task_self() != NULL);
	mark((const char *)text);
}

static void destroy(void *value)
{
	CHECK_STR((const char *)value, "value");
	CHECK(rt_task_self() != NULL);
	mark("destructor");
}

/* Calls `wait` with things to clean up. */
static void wait_with_handlers(void (*wait)(void))
{
	CHECK_EQ(pthread_setspecific(key, "value"), 0);
	pthread_cleanup_push(mark_cleanup, (void *)"outer");
	pthread_cleanup_push(mark_cleanup, (void *)"inner");
	wait();
	mark("after-the-wait");
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
}

static void p_for_ever(void)
{
	rt_sem_p(&sem, TM_INFINITE);
}

static void sleep_for_ever(void)
{
	rt_task_sleep_until(TM_INFINITE);
}

static void exit_by_null(void)
{
	rt_task_delete(NULL);
}

static void exit_by_descriptor(void)
{
	rt_task_delete(&task);
}

static void p_body(void *arg)
{
	(void)arg;
	wait_with_handlers(p_for_ever);
}

static void sleep_body(void *arg)
{
	(void)arg;
	wait_with_handlers(sleep_for_ever);
}

/* task.md 7.31 */
static void handlers_and_destructors_run_before_delete_returns(void)
{
	CHECK_EQ(pthread_key_create(&key, destroy), 0);
	MAKE_SEM(&sem, 0, S_PRIO);
	spawn_victim(20, T_JOINABLE, p_body, NULL);
	until(kit_blocked(&task));
	delete_victim();
	expect_marks("inner outer destructor deleted");
	CHECK_SEM(&sem, 0, 0);
	clear_marks();

	spawn_victim(0, T_JOINABLE, sleep_body, NULL);
	until(kit_blocked(&task));
	delete_victim();
	expect_marks("inner outer destructor deleted");
}

static void wait_in_a_handler(void *arg)
{
	long long start = kit_now();

	(void)arg;
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
	CHECK_EQ(rt_task_sleep(5 * MS), 0);
	CHECK(since(start) >= 5 * MS);
	CHECK_EQ(rt_sem_p(&sem, MS), -ETIMEDOUT);
	mark("cleanup");
}

static void p_with_a_slow_handler(void *arg)
{
	pthread_cleanup_push(wait_in_a_handler, arg);
	rt_sem_p(&sem, TM_INFINITE);
	pthread_cleanup_pop(0);
}

/* A task being ended is a task still: common.md 10, as after pthread_exit. */
static void handlers_may_wait(void)
{
	MAKE_SEM(&sem, 0, S_PRIO);
	spawn_victim(20, T_JOINABLE, p_with_a_slow_handler, NULL);
	until(kit_blocked(&task));
	delete_victim();
	expect_marks("cleanup deleted");
	CHECK_SEM(&sem, 0, 0);
}

/* ---- Waiting, sleeping, standing still ------------------------------------------------------------------------ */

static void bind_for_ever(void *arg)
{
	RT_TASK bound;

	(void)arg;
	rt_task_bind(&bound, "nobody", TM_INFINITE);
	mark("after-the-wait");
}

static void p_long(void *arg)
{
	(void)arg;
	rt_sem_p(&sem, 1000000 * MS);
	mark("after-the-wait");
}

static void sleep_long(void *arg)
{
	(void)arg;
	rt_task_sleep(1000000 * MS);
	mark("after-the-wait");
}

static void suspend_oneself(void *arg)
{
	(void)arg;
	rt_task_suspend(NULL);
	mark("after-the-wait");
}

/* task.md 7.35 among them */
static void every_standstill_ends(void)
{
	static void (*const bodies[])(void *) = { p_long, sleep_long, bind_for_ever, suspend_oneself };
	size_t i;
	int more;

	MAKE_SEM(&sem, 0, S_PRIO);
	for (i = 0; i < 4; i++) {
		for (more = 0; more < 3; more++) { /* suspensions on top */
			int suspensions;

			clear_marks();
			spawn_victim(i % 2 ? 20 : 0, more == 1 ? T_LOCK | T_JOINABLE : T_JOINABLE, bodies[i], NULL);
			until(kit_status(&task) & (0xe0000 | SUSPENDED));
			for (suspensions = 0; suspensions < more; suspensions++)
				CHECK_EQ(rt_task_suspend(&task), 0);
			delete_victim();
			expect_marks("deleted");
			CHECK_SEM(&sem, 0, 0);
		}
	}
}

/* task.md 7.2, 7.35 */
static void dormant_task_never_runs(void)
{
	int suspensions, i;

	for (suspensions = 0; suspensions < 3; suspensions++) {
		clear_marks();
		CHECK_EQ(rt_task_create(&task, "victim", 0, 20, T_JOINABLE), 0);
		CHECK(tid_of(&task) > 0);
		for (i = 0; i < suspensions; i++)
			CHECK_EQ(rt_task_suspend(&task), 0);
		delete_victim();
		expect_marks("deleted");
	}
	/* Started, but never run. */
	CHECK_EQ(rt_task_create(&task, "victim", 0, 20, T_JOINABLE), 0);
	CHECK_EQ(rt_task_suspend(&task), 0);
	CHECK_EQ(rt_task_start(&task, mark_it, (void *)"ran"), 0);
	delete_victim();
	expect_marks("deleted deleted");
}

static void task_that_is_not_joinable(void)
{
	int before;

	MAKE_SEM(&sem, 0, S_FIFO);
	before = count_threads();
	spawn_victim(20, 0, p_long, NULL);
	until(kit_blocked(&task));
	CHECK_EQ(rt_task_delete(&task), 0);
	check_gone(&task, "victim");
	CHECK_EQ(rt_task_join(&task), -ESRCH);
	until(count_threads() <= before + 1); /* the library may have got a helper */
}

/* task.md 7.32 */
static void second_deletion_is_refused(void)
{
	RT_TASK copy;

	MAKE_SEM(&sem, 0, S_FIFO);
	spawn_victim(20, 0, p_long, NULL);
	until(kit_blocked(&task));
	copy = task;
	CHECK_EQ(rt_task_delete(&copy), 0);
	CHECK_EQ(rt_task_delete(&copy), -EINVAL);
	CHECK_EQ(rt_task_delete(&task), -EINVAL);
}

static void join_the_other(void *other)
{
	rt_task_join((RT_TASK *)other);
	mark("after-the-wait");
}

static void deleted_joiner_leaves_the_other_joinable(void)
{
	RT_TASK other;

	MAKE_SEM(&sem, 0, S_FIFO);
	kit_spawn_blocked(&other, 20, take, &sem);
	spawn_victim(20, T_JOINABLE, join_the_other, &other);
	until(kernel_state(tid_of(&task)) == 'S');
	delete_victim();
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&other);
	expect_marks("deleted");
}

/* ---- Oneself -------------------------------------------------------------------------------------------------- */

static void exit_by_null_body(void *arg)
{
	(void)arg;
	wait_with_handlers(exit_by_null);
}

static void exit_by_descriptor_body(void *arg)
{
	(void)arg;
	wait_with_handlers(exit_by_descriptor);
}

static void deletion_of_oneself_does_not_return(void)
{
	static void (*const bodies[])(void *) = { exit_by_null_body, exit_by_descriptor_body };
	int i;

	CHECK_EQ(pthread_key_create(&key, destroy), 0);
	for (i = 0; i < 4; i++) {
		clear_marks();
		CHECK_EQ(rt_task_create(&task, "victim", 0, 20, i < 2 ? T_JOINABLE : T_JOINABLE | T_LOCK), 0);
		CHECK_EQ(rt_task_start(&task, bodies[i % 2], NULL), 0);
		CHECK_EQ(rt_task_join(&task), 0);
		expect_marks("inner outer destructor");
		check_gone(&task, "victim");
	}
}

static void *shadow_and_exit(void *arg)
{
	CHECK_EQ(rt_task_shadow(&task, "victim", 0, 0), 0);
	rt_task_delete(NULL);
	mark("after-the-exit");
	return arg;
}

static void shadowed_thread_exits(void)
{
	void *value = &task;

	CHECK_EQ(pthread_join(start_thread(shadow_and_exit, &task), &value), 0);
	CHECK(value == NULL);
	check_gone(&task, "victim");
	expect_marks("");
}

static void *shadow_and_wait(void *arg)
{
	CHECK_EQ(rt_task_shadow(&task, "victim", 20, T_LOCK), 0);
	set_flag(arg);
	rt_sem_p(&sem, TM_INFINITE);
	mark("after-the-wait");
	return arg;
}

static void shadowed_thread_is_deleted(void)
{
	pthread_t thread;
	int shadowed = 0;

	MAKE_SEM(&sem, 0, S_FIFO);
	thread = start_thread(shadow_and_wait, &shadowed);
	until(__atomic_load_n(&shadowed, __ATOMIC_ACQUIRE) && kit_blocked(&task));
	CHECK_EQ(rt_task_delete(&task), 0);
	check_gone(&task, "victim");
	CHECK_EQ(pthread_join(thread, NULL), 0);
	expect_marks("");
	CHECK_SEM(&sem, 0, 0);
}

static void *delete_the_initial_thread(void *arg)
{
	until(kit_blocked(&task));
	CHECK_EQ(rt_task_delete(&task), 0);
	check_gone(&task, "first");
	expect_marks("cleanup");
	_exit(0); /* the case has passed */
	return arg;
}

/* The process goes on. */
static void shadowed_initial_thread_is_deleted(void)
{
	MAKE_SEM(&sem, 0, S_FIFO);
	CHECK_EQ(rt_task_shadow(&task, "first", 10, 0), 0);
	start_thread(delete_the_initial_thread, NULL);
	pthread_cleanup_push(mark_cleanup, (void *)"cleanup");
	rt_sem_p(&sem, TM_INFINITE);
	mark("after-the-wait");
	pthread_cleanup_pop(0);
}

KIT_CASES(
	CASE(handlers_and_destructors_run_before_delete_returns), CASE(handlers_may_wait), CASE(every_standstill_ends),
	CASE(dormant_task_never_runs), CASE(task_that_is_not_joinable), CASE(second_deletion_is_refused),
	CASE(deleted_joiner_leaves_the_other_joinable), CASE(deletion_of_oneself_does_not_return),
	CASE(shadowed_thread_exits), CASE(shadowed_thread_is_deleted), CASE(shadowed_initial_thread_is_deleted))
