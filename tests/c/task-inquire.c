/* rt_task_inquire: every state a task can be seen in now, and the rest of RT_TASK_INFO. */
#include "kit.h"
#include "tasks.h"

#define MS 1000000LL
#define LONG (1000000 * MS) /* a wait that does not end in a test */

static RT_SEM sem;

static void make_sem(void)
{
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
}

static void take_in_time(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_sem_p(&sem, LONG), 0);
}

static void take_before(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_sem_p_until(&sem, rt_timer_read() + LONG), 0);
}

static void take_timed(void *arg)
{
	struct timespec date;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &date);
	date.tv_sec += 1000;
	CHECK_EQ(rt_sem_p_timed(&sem, &date), 0);
}

static void take_without_limit(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_sem_p_timed(&sem, NULL), 0);
}

static RT_TASK bound;

static void bind_in_time(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_bind(&bound, "awaited", LONG), 0);
}

static void bind_without_limit(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_bind(&bound, "awaited", TM_INFINITE), 0);
}

/* Spawns a task that waits; what it looks like then. */
static void wait_and_look(RT_TASK *task, void (*body)(void *), void *arg, unsigned status)
{
	RT_TASK_INFO first, second;

	kit_spawn_blocked(task, 30, body, arg);
	CHECK_EQ(rt_task_inquire(task, &first), 0);
	CHECK_EQ(first.stat.status, status);
	CHECK_EQ(first.prio, 30);
	kit_nap(2 * MS);
	CHECK_EQ(rt_task_inquire(task, &second), 0);
	CHECK_EQ(second.stat.status, status);
	if (status == 0x20011) {
		CHECK_EQ(first.stat.timeout, 0);
		CHECK_EQ(second.stat.timeout, 0);
		return;
	}
	/* What is left of it, in nanoseconds. */
	CHECK(first.stat.timeout >= 1);
	CHECK(first.stat.timeout <= (ticks_t)LONG);
	CHECK(second.stat.timeout >= 1);
	CHECK(second.stat.timeout <= first.stat.timeout - 2 * MS);
}

static void semaphore_waits(void)
{
	static const struct {
		void (*body)(void *);
		unsigned status;
	} waits[] = {
		{ take_in_time, 0x40011 }, { take_before, 0x40011 }, { take_timed, 0x40011 }, { take_without_limit, 0x20011 },
	};
	RT_TASK task;
	size_t i;

	make_sem();
	for (i = 0; i < 4; i++) {
		wait_and_look(&task, waits[i].body, NULL, waits[i].status);
		CHECK_EQ(rt_sem_v(&sem), 0);
		kit_join(&task);
	}
	wait_and_look(&task, take, &sem, 0x20011);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
}

static void bind_waits(void)
{
	RT_TASK task, awaited;

	wait_and_look(&task, bind_in_time, NULL, 0x40011);
	CHECK_EQ(rt_task_create(&awaited, "awaited", 0, 0, T_JOINABLE), 0);
	kit_join(&task);
	finish(&awaited);

	wait_and_look(&task, bind_without_limit, NULL, 0x20011);
	CHECK_EQ(rt_task_create(&awaited, "awaited", 0, 0, T_JOINABLE), 0);
	kit_join(&task);
	finish(&awaited);
}

static void sleep_long(void *arg)
{
	(void)arg;
	rt_task_sleep(LONG);
}

static void sleep_until_late(void *arg)
{
	(void)arg;
	rt_task_sleep_until(rt_timer_read() + LONG);
}

/* The sleepers outlive the case. */
static void sleeps(void)
{
	RT_TASK task;

	wait_and_look(&task, sleep_long, NULL, 0x80011);
	wait_and_look(&task, sleep_until_late, NULL, 0x80011);
}

static void sleep_for_ever(void *arg)
{
	(void)arg;
	rt_task_sleep_until(TM_INFINITE);
}

static void infinite_sleep_has_no_timeout(void)
{
	RT_TASK_INFO info;
	RT_TASK task;

	kit_spawn_blocked(&task, 30, sleep_for_ever, NULL);
	CHECK_EQ(rt_task_inquire(&task, &info), 0);
	CHECK_EQ(info.stat.status, 0x80011);
	CHECK_EQ(info.stat.timeout, 0);
}

static void look_at_oneself(void *name)
{
	RT_TASK_INFO info, same;

	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	CHECK_EQ(info.prio, 30);
	CHECK_EQ(info.stat.status, 0x11);
	CHECK_EQ(info.stat.timeout, 0);
	CHECK_EQ(info.stat.schedlock, 0);
	CHECK_EQ(info.stat.cpu, sched_getcpu());
	CHECK_EQ(info.pid, gettid());
	CHECK_STR(info.name, (const char *)name);
	CHECK_EQ(rt_task_inquire(rt_task_self(), &same), 0);
	CHECK_EQ(same.pid, info.pid);
	CHECK_EQ(same.stat.status, 0x11);
	CHECK_EQ(rt_task_inquire(NULL, NULL), 0);
}

static void look_after_waits(void *name)
{
	look_at_oneself(name);
	CHECK_EQ(rt_sem_p(&sem, 2 * MS), -ETIMEDOUT);
	look_at_oneself(name);
	CHECK_EQ(rt_task_sleep(2 * MS), 0);
	look_at_oneself(name);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_bind(&bound, "awaited", 2 * MS), -ETIMEDOUT);
	look_at_oneself(name);
}

static void running_task_sees_itself(void)
{
	RT_TASK task;

	make_sem();
	CHECK_EQ(rt_task_spawn(&task, "mirror", 0, 30, T_JOINABLE, look_after_waits, (void *)"mirror"), 0);
	kit_join(&task);
}

static void look_at_ready(void *arg)
{
	RT_TASK *task = (RT_TASK *)arg;

	/* Woken, but this task has the CPU. */
	CHECK_EQ(kit_status(task), 0x20011);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(kit_status(task), 0x11);
	mark("seen");
}

static void take_and_mark(void *arg)
{
	take(arg);
	mark("taken");
}

static void granted_task_is_ready_at_once(void)
{
	RT_TASK task;

	make_sem();
	kit_spawn_blocked(&task, 20, take_and_mark, &sem);
	as_task(40, look_at_ready, &task);
	kit_join(&task);
	expect_marks("seen taken");
}

static void without_identity(void *arg)
{
	RT_TASK_INFO info, before;

	memset(&info, 0x5a, sizeof(info));
	before = info;
	(void)arg;
	CHECK_EQ(rt_task_inquire(NULL, &info), -EPERM);
	CHECK_EQ(rt_task_inquire(NULL, NULL), -EPERM);
	CHECK_SAME_BYTES(&info, &before, sizeof(info));
}

/* task.md 7.39 */
static void who_is_no_task_is_refused(void)
{
	without_identity(NULL);
	kit_plain(without_identity, NULL);
}

/* task.md 7.50 */
static void probe_without_info(void)
{
	RT_TASK_INFO info, before;
	RT_TASK task;

	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_inquire(&task, NULL), 0);
	finish(&task);
	CHECK_EQ(rt_task_inquire(&task, NULL), -EINVAL);
	memset(&info, 0x5a, sizeof(info));
	before = info;
	CHECK_EQ(rt_task_inquire(&task, &info), -EINVAL);
	CHECK_SAME_BYTES(&info, &before, sizeof(info));
}

static void look_from_outside(void *task)
{
	RT_TASK_INFO info;

	CHECK_EQ(rt_task_inquire((RT_TASK *)task, &info), 0);
	CHECK_EQ(info.stat.status, 0x20011);
	CHECK_EQ(info.prio, 17);
	CHECK_STR(info.name, "outside");
	CHECK(info.pid > 0);
	CHECK(info.pid != getpid() && info.pid != gettid());
}

static void any_thread_may_look(void)
{
	RT_TASK task;

	make_sem();
	CHECK_EQ(rt_task_spawn(&task, "outside", 0, 17, T_JOINABLE, take, &sem), 0);
	until(kit_blocked(&task));
	look_from_outside(&task);
	kit_plain(look_from_outside, &task);
	as_task(5, look_from_outside, &task);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
}

static int stop;

static void wait_and_run(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		CHECK_EQ(rt_sem_p(&sem, 20000), -ETIMEDOUT);
		CHECK_EQ(rt_task_sleep(20000), 0);
	}
}

/* Never a mixture of two moments, never a bit of the machinery. */
static void snapshots_are_consistent(void)
{
	RT_TASK_INFO info;
	RT_TASK task;
	int i;

	make_sem();
	kit_spawn(&task, 0, wait_and_run, NULL);
	for (i = 0; i < 20000; i++) {
		CHECK_EQ(rt_task_inquire(&task, &info), 0);
		switch (info.stat.status) {
		case 0x10001:
		case 0x11:
			CHECK_EQ(info.stat.timeout, 0);
			break;
		case 0x40011:
		case 0x80011:
			CHECK(info.stat.timeout >= 1);
			CHECK(info.stat.timeout <= 20000);
			break;
		default:
			CHECK_EQ(info.stat.status, 0x11);
		}
		CHECK_EQ(info.prio, 0);
		CHECK_EQ(info.stat.schedlock, 0);
		if (i % 16 == 0)
			sched_yield();
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	kit_join(&task);
}

KIT_CASES(
	CASE(semaphore_waits), CASE(bind_waits), CASE(sleeps), CASE(infinite_sleep_has_no_timeout),
	CASE(running_task_sees_itself), CASE_FIFO(granted_task_is_ready_at_once), CASE(who_is_no_task_is_refused),
	CASE(probe_without_info), CASE(any_thread_may_look), CASE(snapshots_are_consistent))
