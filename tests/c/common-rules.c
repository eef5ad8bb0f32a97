/* Rules common to all services that have no better place: foreign and stale handles, forms of a date, logical priorities.
 * Names and bind have files of their own; caller classes are in task-callers.c, the clock in timer.c. */
#include "kit.h"
#include <alchemy/sem.h>

static void nothing(void *arg)
{
	(void)arg;
}

/* --- Descriptors ------------------------------------------------------------------------------------------------ */

/* Those that name no task: every service refuses them. */
static void refused_by_task_services(RT_TASK *task)
{
	RT_TASK before = *task;
	RT_TASK_INFO info;
	cpu_set_t cpus;

	memset(&info, 0x5a, sizeof(info));
	CHECK_EQ(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	CHECK_EQ(rt_task_inquire(task, &info), -EINVAL);
	CHECK_EQ(info.prio, 0x5a5a5a5a);
	CHECK_EQ(rt_task_inquire(task, NULL), -EINVAL);
	CHECK_EQ(rt_task_start(task, nothing, NULL), -EINVAL);
	CHECK_EQ(rt_task_set_affinity(task, &cpus), -EINVAL);
	CHECK_SAME_BYTES(task, &before, sizeof(before));
}

static void semaphore_is_no_task(void)
{
	RT_SEM sem;
	RT_TASK task;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_FIFO), 0);
	memset(&task, 0, sizeof(task));
	memcpy(&task, &sem, sizeof(sem));
	refused_by_task_services(&task);
	CHECK_EQ(rt_task_join(&task), -EINVAL);
	task.thread = pthread_self();
	refused_by_task_services(&task);
	CHECK_EQ(rt_task_join(&task), -EINVAL);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void ended_task_is_stale_for_good(void)
{
	enum { LATER = 300 };
	RT_TASK first, later;
	int i;

	kit_spawn(&first, 10, nothing, NULL);
	until(rt_task_inquire(&first, NULL) == -EINVAL);
	refused_by_task_services(&first);
	kit_join(&first);
	for (i = 0; i < LATER; i++) {
		CHECK_EQ(rt_task_create(&later, NULL, 0, 10, T_JOINABLE), 0);
		CHECK_EQ(rt_task_same(&first, &later), 0);
		refused_by_task_services(&first);
		CHECK_EQ(rt_task_start(&later, nothing, NULL), 0);
		kit_join(&later);
	}
}

/* --- Dates ------------------------------------------------------------------------------------------------------ */

static void timespec_forms_tell_past_poll_and_malformed(void)
{
	static const struct timespec past = { 0, 1 }, poll = { 0, 0 }, malformed = { 1, 2000000000 };
	RT_SEM sem;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_p_timed(&sem, &past), -ETIMEDOUT);
	CHECK_EQ(rt_sem_p_timed(&sem, &poll), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_p_timed(&sem, &malformed), -EINVAL);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

/* --- Priorities ------------------------------------------------------------------------------------------------- */

static RT_SEM gate;

static void mark_after_wait(void *tag)
{
	CHECK_EQ(rt_sem_p(&gate, TM_INFINITE), 0);
	mark((const char *)tag);
}

/* With the rights for SCHED_FIFO or without them. */
static void queue_order_follows_the_requested_priority(void)
{
	static char tag_10[] = "10", tag_50[] = "50";
	RT_TASK low, high;
	RT_TASK_INFO info;

	CHECK_EQ(rt_sem_create(&gate, NULL, 0, S_PRIO), 0);
	kit_spawn_blocked(&low, 10, mark_after_wait, tag_10);
	kit_spawn_blocked(&high, 50, mark_after_wait, tag_50);
	CHECK_EQ(rt_task_inquire(&low, &info), 0);
	CHECK_EQ(info.prio, 10);
	CHECK_EQ(rt_task_inquire(&high, &info), 0);
	CHECK_EQ(info.prio, 50);
	CHECK_EQ(rt_sem_v(&gate), 0);
	kit_join(&high);
	CHECK(kit_blocked(&low));
	CHECK_EQ(rt_sem_v(&gate), 0);
	kit_join(&low);
	expect_marks("50 10");
	CHECK_EQ(rt_sem_delete(&gate), 0);
}

KIT_CASES(
	CASE(semaphore_is_no_task),
	CASE(ended_task_is_stale_for_good),
	CASE(timespec_forms_tell_past_poll_and_malformed),
	CASE(queue_order_follows_the_requested_priority)
)
