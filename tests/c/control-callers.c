/* Who may control tasks: the matrix of common.md 3 for tasks, the initial thread and plain threads; which descriptors
 * are refused to all of them. */
#include "kit.h"
#include "control-kit.h"

struct caller {
	int is_task;    /* "NULL = me" makes sense */
	int is_initial; /* no task, but the initial thread */
};

static const struct caller a_task = { 1, 0 };

/* Services on oneself, by NULL. */
static void control_oneself(const struct caller *who)
{
	int own = who->is_task ? 0 : -EPERM, mode = 77;
	unsigned long overruns = 77;

	CHECK_EQ(rt_task_set_priority(NULL, 0), own);
	CHECK_EQ(rt_task_slice(NULL, 0), own);
	CHECK_EQ(rt_task_set_priority(NULL, 5), own);
	CHECK_EQ(rt_task_slice(NULL, MS), own);
	CHECK_EQ(rt_task_slice(NULL, 0), own);
	CHECK_EQ(rt_task_set_mode(0, T_LOCK, &mode), own);
	CHECK_EQ(rt_task_set_mode(T_LOCK, 0, &mode), own);
	CHECK_EQ(mode, who->is_task ? T_LOCK : 77);

	CHECK_EQ(rt_task_wait_period(&overruns), who->is_task || who->is_initial ? -EWOULDBLOCK : -EPERM);
	CHECK_EQ(rt_task_wait_period(NULL), who->is_task || who->is_initial ? -EWOULDBLOCK : -EPERM);
	CHECK_EQ(overruns, 77);
	CHECK_EQ(rt_task_set_periodic(NULL, TM_NOW, MS), own);
	if (who->is_task) {
		int result = rt_task_wait_period(&overruns);

		CHECK(result == 0 || result == -ETIMEDOUT);
		CHECK_EQ(result, overruns == 0 ? 0 : -ETIMEDOUT);
	}
	CHECK_EQ(rt_task_set_periodic(NULL, TM_NOW, TM_INFINITE), own);
	CHECK_EQ(rt_task_set_periodic(NULL, 1, MS), who->is_task ? -ETIMEDOUT : -EPERM);

	CHECK_EQ(rt_task_resume(NULL), -EINVAL);
	CHECK_EQ(rt_task_unblock(NULL), -EINVAL);
	if (!who->is_task) {
		CHECK_EQ(rt_task_suspend(NULL), -EPERM);
		CHECK_EQ(rt_task_delete(NULL), -EPERM);
	}
}

static RT_SEM sem;

static void take_and_stop(void *result)
{
	*(int *)result = rt_sem_p(&sem, TM_INFINITE);
	CHECK_EQ(rt_task_suspend(NULL), 0);
}

/* Services on another task are open to everybody. */
static void control_another(void)
{
	RT_TASK_INFO info;
	int result = 1;
	RT_TASK task;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	CHECK_EQ(rt_task_create(&task, "callee", 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_set_priority(&task, 10), 0);
	CHECK_EQ(rt_task_slice(&task, MS), 0);
	CHECK_EQ(rt_task_slice(&task, 0), 0);
	CHECK_EQ(rt_task_set_periodic(&task, TM_NOW, 1000 * MS), 0);
	CHECK_EQ(kit_status(&task), DORMANT | PERIODIC);
	CHECK_EQ(rt_task_set_periodic(&task, TM_NOW, TM_INFINITE), 0);
	CHECK_EQ(rt_task_suspend(&task), 0);
	CHECK_EQ(rt_task_start(&task, take_and_stop, &result), 0);
	CHECK_EQ(kit_status(&task), 0x10021);
	CHECK_EQ(rt_task_resume(&task), 0);
	until(kit_blocked(&task));
	CHECK_EQ(rt_task_inquire(&task, &info), 0);
	CHECK_EQ(info.prio, 10);
	CHECK_EQ(rt_task_unblock(&task), 0);
	until(kit_status(&task) == 0x31);
	CHECK_EQ(result, -EINTR);
	CHECK_EQ(rt_task_delete(&task), 0);
	CHECK_EQ(rt_task_delete(&task), -EINVAL);
	CHECK_EQ(rt_task_join(&task), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void control_everything(void *arg)
{
	const struct caller *who = (const struct caller *)arg;

	control_oneself(who);
	control_another();
	/* At last: whoever is no task becomes one, with all its rights. */
	CHECK_EQ(rt_task_shadow(NULL, "caller", 0, 0), who->is_task ? -EBUSY : 0);
	control_oneself(&a_task);
	control_another();
}

static void from_a_task(void)
{
	struct caller task = { 1, 0 };

	as_task(0, control_everything, &task);
	as_task(10, control_everything, &task);
	as_task(60, control_everything, &task);
}

static void from_the_initial_thread(void)
{
	struct caller initial = { 0, 1 };

	control_everything(&initial);
}

static void from_a_plain_thread(void)
{
	struct caller plain = { 0, 0 };

	kit_plain(control_everything, &plain);
}

/* task.md 7.39 */
static void initial_thread_is_no_task(void)
{
	CHECK(rt_task_self() == NULL);
	CHECK_EQ(rt_task_suspend(NULL), -EPERM);
	CHECK_EQ(rt_task_set_priority(NULL, 1), -EPERM);
	CHECK_EQ(rt_task_inquire(NULL, NULL), -EPERM);
	CHECK_EQ(rt_task_delete(NULL), -EPERM);
	CHECK_EQ(rt_task_sleep(1000), 0);
}

static void suspend_oneself(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_suspend(NULL), 0);
	CHECK_EQ(rt_task_suspend(NULL), 0);
}

static void resume_twice(void *task)
{
	int i;

	for (i = 0; i < 2; i++) {
		until(kit_status((RT_TASK *)task) & SUSPENDED);
		CHECK_EQ(rt_task_resume((RT_TASK *)task), 0);
	}
	kit_join((RT_TASK *)task);
}

static void everybody_may_resume(void)
{
	RT_TASK task;

	kit_spawn(&task, 20, suspend_oneself, NULL);
	resume_twice(&task);
	kit_spawn(&task, 20, suspend_oneself, NULL);
	as_task(5, resume_twice, &task);
	kit_spawn(&task, 20, suspend_oneself, NULL);
	kit_plain(resume_twice, &task);
}

/* ---- Descriptors ---------------------------------------------------------------------------------------------- */

static void null_is_not_myself_everywhere(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_resume(NULL), -EINVAL);
	CHECK_EQ(rt_task_unblock(NULL), -EINVAL);
}

static void try_bad_descriptors(void *arg)
{
	RT_TASK task, bad, two[2], *askew;
	RT_SEM foreign;
	int offset;

	(void)arg;
	memset(&bad, 0, sizeof(bad));
	check_refused(&bad);
	memset(&bad, 0xff, sizeof(bad));
	check_refused(&bad);
	memset(&bad, 0x5a, sizeof(bad));
	check_refused(&bad);

	CHECK_EQ(rt_sem_create(&foreign, NULL, 3, S_FIFO), 0);
	memset(&bad, 0, sizeof(bad));
	bad.handle = foreign.handle;
	check_refused(&bad);
	CHECK_SEM(&foreign, 3, 0);
	CHECK_EQ(rt_sem_delete(&foreign), 0);

	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	for (offset = 1; offset < 8; offset++) {
		/* It holds a good handle all the same. */
		askew = (RT_TASK *)(void *)((char *)two + offset);
		memcpy((void *)askew, &task, sizeof(task));
		check_refused(askew);
	}
	CHECK_EQ(kit_status(&task), DORMANT);
	finish(&task);
	check_refused(&task);
}

static void bad_descriptors_are_refused_to_all(void)
{
	try_bad_descriptors(NULL);
	kit_plain(try_bad_descriptors, NULL);
	as_task(20, try_bad_descriptors, NULL);
	as_task(20, null_is_not_myself_everywhere, NULL);
}

/* An ended, a deleted and a deleted unstarted task, also when their slots are used again. */
static void stale_descriptors_stay_refused(void)
{
	RT_TASK stale[3], other;
	int i, k;

	kit_spawn(&stale[0], 10, nothing, NULL);
	kit_join(&stale[0]);
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_FIFO), 0);
	kit_spawn_blocked(&stale[1], 10, take, &sem);
	CHECK_EQ(rt_task_delete(&stale[1]), 0);
	kit_join(&stale[1]);
	CHECK_EQ(rt_task_create(&stale[2], NULL, 0, 10, 0), 0);
	CHECK_EQ(rt_task_delete(&stale[2]), 0);
	for (i = 0; i < 300; i++) {
		CHECK_EQ(rt_task_create(&other, NULL, 0, 0, 0), 0);
		for (k = 0; k < 3; k++)
			check_refused(&stale[k]);
		CHECK_EQ(kit_status(&other), DORMANT);
		CHECK_EQ(rt_task_delete(&other), 0);
	}
}

static void deleted_name_binds_no_more(void)
{
	RT_TASK task, bound;

	CHECK_EQ(rt_task_create(&task, "short-lived", 0, 10, 0), 0);
	CHECK_EQ(rt_task_bind(&bound, "short-lived", TM_NONBLOCK), 0);
	CHECK_EQ(rt_task_suspend(&bound), 0);
	CHECK_EQ(rt_task_set_priority(&bound, 20), 0);
	CHECK_EQ(rt_task_delete(&bound), 0);
	check_refused(&task);
	check_refused(&bound);
	check_absent("short-lived");
	CHECK_EQ(rt_task_create(&task, "short-lived", 0, 10, T_JOINABLE), 0);
	check_refused(&bound);
	finish(&task);
}

KIT_CASES(
	CASE(from_a_task), CASE(from_the_initial_thread), CASE(from_a_plain_thread), CASE(initial_thread_is_no_task),
	CASE(everybody_may_resume), CASE(bad_descriptors_are_refused_to_all), CASE(stale_descriptors_stay_refused),
	CASE(deleted_name_binds_no_more))
