/* Who may call what: the matrix of common.md 3 for tasks, the initial thread and plain threads. */
#include "kit.h"
#include "tasks.h"

#define MS 1000000LL

struct caller {
	int is_task;   /* "NULL = me" makes sense */
	int may_block;
};

static void call_task_services(const struct caller *who)
{
	int own = who->is_task ? 0 : -EPERM;
	RT_TASK_INFO info;
	RT_TASK task;
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	CHECK_EQ(rt_task_self() != NULL, who->is_task);
	CHECK_EQ(rt_task_inquire(NULL, &info), own);
	CHECK_EQ(rt_task_inquire(NULL, NULL), own);
	CHECK_EQ(rt_task_set_affinity(NULL, &here), own);

	CHECK_EQ(rt_task_create(&task, "callee", 0, 10, T_JOINABLE), 0);
	CHECK_EQ(rt_task_inquire(&task, &info), 0);
	CHECK_EQ(rt_task_set_affinity(&task, &here), 0);
	CHECK_EQ(rt_task_same(&task, &task), 1);
	CHECK_EQ(rt_task_start(&task, nothing, NULL), 0);
	CHECK_EQ(rt_task_join(&task), 0);
	CHECK_EQ(rt_task_spawn(&task, "callee", 0, 0, T_JOINABLE, nothing, NULL), 0);
	CHECK_EQ(rt_task_join(&task), 0);
}

static void call_time_services(const struct caller *who)
{
	int wait = who->may_block ? 0 : -EPERM;
	RT_TIMER_INFO info;

	CHECK_EQ(rt_task_sleep(0), wait);
	CHECK_EQ(rt_task_sleep(1000), wait);
	CHECK_EQ(rt_task_sleep_until(1), who->may_block ? -ETIMEDOUT : -EPERM);
	/* 200 ms: no hiccup of the machine makes that date a past one. */
	CHECK_EQ(rt_task_sleep_until(rt_timer_read() + 200 * MS), wait);
	CHECK_EQ(rt_task_yield(), wait);
	if (!who->may_block)
		CHECK_EQ(rt_task_sleep_until(TM_INFINITE), -EPERM);

	CHECK(rt_timer_read() > 0);
	CHECK_EQ(rt_timer_ns2ticks(rt_timer_ticks2ns(7)), 7);
	rt_timer_inquire(&info);
	CHECK(info.date > 0);
	rt_timer_spin(1000);
}

static void call_semaphore_services(const struct caller *who)
{
	static const struct timespec past = { 0, 1 }, poll = { 0, 0 }, malformed = { 1, 2000000000 };
	RT_SEM_INFO info;
	RT_SEM sem, bound;

	CHECK_EQ(rt_sem_create(&sem, "callee", 0, S_PRIO), 0);
	/* Complete at once, poll, have to wait. */
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_sem_p_timed(&sem, &past), 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_p_until(&sem, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_p_timed(&sem, &poll), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_p(&sem, MS), who->may_block ? -ETIMEDOUT : -EPERM);
	CHECK_EQ(rt_sem_p_until(&sem, rt_timer_read() + MS), who->may_block ? -ETIMEDOUT : -EPERM);
	CHECK_EQ(rt_sem_p_timed(&sem, &past), who->may_block ? -ETIMEDOUT : -EPERM);
	CHECK_EQ(rt_sem_p_timed(&sem, &malformed), who->may_block ? -EINVAL : -EPERM);
	if (!who->may_block) {
		CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), -EPERM);
		CHECK_EQ(rt_sem_p_until(&sem, TM_INFINITE), -EPERM);
		CHECK_EQ(rt_sem_p_timed(&sem, NULL), -EPERM);
	}
	CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
	CHECK_EQ(info.count, 0);
	CHECK_EQ(info.nwaiters, 0);
	CHECK_EQ(rt_sem_broadcast(&sem), 0);

	CHECK_EQ(rt_sem_bind(&bound, "callee", TM_INFINITE), 0);
	CHECK_EQ(rt_sem_bind(&bound, "absent", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_bind(&bound, "absent", MS), who->may_block ? -ETIMEDOUT : -EPERM);
	CHECK_EQ(rt_sem_unbind(&bound), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void call_bind_services(const struct caller *who)
{
	RT_TASK task, bound;

	CHECK_EQ(rt_task_create(&task, "callee", 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_bind(&bound, "callee", TM_INFINITE), 0);
	CHECK_EQ(rt_task_bind(&bound, "callee", TM_NONBLOCK), 0);
	CHECK_EQ(rt_task_bind(&bound, "absent", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_bind(&bound, "absent", MS), who->may_block ? -ETIMEDOUT : -EPERM);
	if (!who->may_block)
		CHECK_EQ(rt_task_bind(&bound, "absent", TM_INFINITE), -EPERM);
	CHECK_EQ(rt_task_unbind(&bound), 0);
	finish(&task);
}

static void call_everything(void *arg)
{
	const struct caller *who = (const struct caller *)arg;
	const struct caller task = { 1, 1 };

	call_task_services(who);
	call_time_services(who);
	call_semaphore_services(who);
	call_bind_services(who);
	/* At last: whoever is no task becomes one, with all its rights. */
	CHECK_EQ(rt_task_shadow(NULL, "caller", 0, 0), who->is_task ? -EBUSY : 0);
	call_task_services(&task);
	call_time_services(&task);
	call_semaphore_services(&task);
	call_bind_services(&task);
}

static void from_a_task(void)
{
	struct caller task = { 1, 1 };

	as_task(0, call_everything, &task);
	as_task(10, call_everything, &task);
	as_task(60, call_everything, &task);
}

static void from_the_initial_thread(void)
{
	struct caller initial = { 0, 1 };

	call_everything(&initial);
}

static void from_a_plain_thread(void)
{
	struct caller plain = { 0, 0 };

	kit_plain(call_everything, &plain);
}

static RT_SEM sem;

static void take_from_main(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_sem_v(&sem), 0);
	mark("given");
}

/* task.md 7.39: the initial thread waits like a task, but is none. */
static void initial_thread_waits(void)
{
	RT_TASK task;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_start(&task, take_from_main, NULL), 0);
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
	CHECK(rt_task_self() == NULL);
	kit_join(&task);
	expect_marks("given");
}

static void mark_taken(void *text)
{
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
	mark((const char *)text);
}

static int waiters(void)
{
	RT_SEM_INFO info;

	CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
	return info.nwaiters;
}

static void *add_tasks_and_release(void *arg)
{
	struct sched_param param = { .sched_priority = 5 };
	RT_TASK task[2];
	int i;

	until(waiters() == 1); /* the initial thread */
	kit_spawn_blocked(&task[0], 1, mark_taken, (void *)"one");
	kit_spawn_blocked(&task[1], 2, mark_taken, (void *)"two");
	CHECK_EQ(pthread_setschedparam(pthread_self(), SCHED_FIFO, &param), 0);
	for (i = 0; i < 3; i++)
		CHECK_EQ(rt_sem_v(&sem), 0);
	for (i = 0; i < 2; i++)
		kit_join(&task[i]);
	return arg;
}

/* It queues with priority 0, behind tasks that come later. */
static void initial_thread_ranks_lowest(void)
{
	pthread_t thread;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	thread = start_thread(add_tasks_and_release, NULL);
	mark_taken((void *)"initial");
	CHECK_EQ(pthread_join(thread, NULL), 0);
	expect_marks("two one initial");
}

KIT_CASES(
	CASE(from_a_task), CASE(from_the_initial_thread), CASE(from_a_plain_thread), CASE(initial_thread_waits),
	CASE_KERNEL(initial_thread_ranks_lowest))
