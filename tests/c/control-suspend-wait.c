/* Suspension of tasks that wait or sleep: the wait goes on, its result comes after the resume. */
#include "kit.h"
#include "control-kit.h"

static RT_SEM sem;
static RT_TASK task;
static int result;
static RTIME slept;

static void sleep_100_ms(void *arg)
{
	long long start = kit_now();

	(void)arg;
	result = rt_task_sleep(100 * MS);
	slept = since(start);
	mark("woken");
}

static void sleep_until_100_ms(void *arg)
{
	RTIME date = rt_timer_read() + 100 * MS;

	(void)arg;
	result = rt_task_sleep_until(date);
	CHECK(rt_timer_read() >= date);
	mark("woken");
}

/* task.md 7.11 */
static void sleep_lasts_through_signals_and_suspension(void)
{
	no_held_back_signals();
	count_sigusr1();
	kit_spawn_blocked(&task, 20, sleep_100_ms, NULL);
	send_sigusr1(&task);
	CHECK_EQ(rt_task_suspend(&task), 0);
	CHECK_EQ(kit_status(&task), 0x80031);
	kit_nap(10 * MS);
	CHECK_EQ(rt_task_resume(&task), 0);
	kit_join(&task);
	CHECK_EQ(result, 0);
	CHECK(slept >= 100 * MS);
	CHECK_EQ(signal_count(), 1);
}

static void oversleep(void (*body)(void *))
{
	clear_marks();
	result = 1;
	kit_spawn_blocked(&task, 20, body, NULL);
	CHECK_EQ(rt_task_suspend(&task), 0);
	kit_nap(150 * MS);
	CHECK(kit_status(&task) & SUSPENDED);
	mark("resume");
	CHECK_EQ(rt_task_resume(&task), 0);
	kit_join(&task);
	CHECK_EQ(result, 0);
	expect_marks("resume woken");
}

static void date_of_a_sleep_may_pass_in_suspension(void)
{
	oversleep(sleep_100_ms);
	oversleep(sleep_until_100_ms);
}

static void sleep_as_a_witness(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_sleep(100 * MS), 0);
	mark("witness");
}

static void resume_sleeper_beside_a_witness(void *arg)
{
	RT_TASK witness;

	(void)arg;
	kit_spawn_blocked(&task, 30, sleep_100_ms, NULL);
	CHECK_EQ(rt_task_suspend(&task), 0);
	kit_nap(200 * MS);
	kit_spawn_blocked(&witness, 20, sleep_as_a_witness, NULL);
	CHECK_EQ(rt_task_resume(&task), 0);
	kit_join(&task);
	kit_join(&witness);
}

/* The delay does not start anew: who sleeps as long from now on wakes later. */
static void overslept_task_runs_at_once(void)
{
	kit_boss(resume_sleeper_beside_a_witness);
	expect_marks("woken witness");
}

/* common.md 14.13, sem.md 9.23 */
static void wait_times_out_in_suspension(void)
{
	struct waiter waiter;

	MAKE_SEM(&sem, 0, S_PRIO);
	start_timed_waiter(&waiter, &sem, 20, "woken", 100 * MS);
	CHECK_EQ(rt_task_suspend(&waiter.task), 0);
	CHECK_EQ(kit_status(&waiter.task), 0x40031);
	kit_nap(200 * MS);
	CHECK(kit_status(&waiter.task) & SUSPENDED);
	mark("resume");
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	CHECK_EQ(end_waiter(&waiter), -ETIMEDOUT);
	expect_marks("resume woken");
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 1, 0);
}

/* common.md 14.14 */
static void grant_in_suspension_outlives_the_date(void)
{
	struct waiter waiter;

	MAKE_SEM(&sem, 0, S_PRIO);
	start_timed_waiter(&waiter, &sem, 20, "woken", 500 * MS);
	CHECK_EQ(rt_task_suspend(&waiter.task), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 0, 0);
	kit_nap(600 * MS);
	mark("resume");
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	CHECK_EQ(end_waiter(&waiter), 0);
	expect_marks("resume woken");
	CHECK_SEM(&sem, 0, 0);
}

/* sem.md 9.22 */
static void suspended_head_of_the_queue_gets_the_token(void)
{
	struct waiter head, other;

	MAKE_SEM(&sem, 0, S_PRIO);
	start_waiter(&head, &sem, 30, "head");
	start_waiter(&other, &sem, 20, "other");
	CHECK_EQ(rt_task_suspend(&head.task), 0);
	CHECK_SEM(&sem, 0, 2);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 0, 1);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), -EWOULDBLOCK);
	kit_nap(10 * MS);
	CHECK_EQ(kit_status(&other.task), 0x20011);
	mark("resume");
	CHECK_EQ(rt_task_resume(&head.task), 0);
	CHECK_EQ(end_waiter(&head), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(end_waiter(&other), 0);
	expect_marks("resume head other");
}

static void suspended_waiter_alone_leaves_the_queue_at_once(void)
{
	struct waiter waiter;

	MAKE_SEM(&sem, 0, S_FIFO);
	start_waiter(&waiter, &sem, 30, "woken");
	CHECK_EQ(rt_task_suspend(&waiter.task), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 0, 0);
	kit_nap(10 * MS);
	mark("resume");
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	CHECK_EQ(end_waiter(&waiter), 0);
	expect_marks("resume woken");
	CHECK_SEM(&sem, 0, 0);
}

static void deletion_of_the_semaphore_reaches_a_suspended_waiter(void)
{
	struct waiter waiter;

	CHECK_EQ(rt_sem_create(&sem, "doomed", 0, S_PRIO), 0);
	start_waiter(&waiter, &sem, 30, "woken");
	CHECK_EQ(rt_task_suspend(&waiter.task), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
	CHECK_EQ(rt_sem_create(&sem, "doomed", 0, S_PRIO), 0);
	CHECK(kit_status(&waiter.task) & SUSPENDED);
	mark("resume");
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	CHECK_EQ(end_waiter(&waiter), -EIDRM);
	expect_marks("resume woken");
}

/* task.md 7.15 */
static void suspended_sleeper_is_unblocked(void)
{
	kit_spawn_blocked(&task, 20, sleep_100_ms, NULL);
	CHECK_EQ(rt_task_suspend(&task), 0);
	CHECK_EQ(rt_task_unblock(&task), 0);
	kit_nap(10 * MS);
	CHECK(kit_status(&task) & SUSPENDED);
	mark("resume");
	CHECK_EQ(rt_task_resume(&task), 0);
	kit_join(&task);
	CHECK_EQ(result, -EINTR);
	expect_marks("resume woken");
}

/* sem.md 5 */
static void suspended_waiter_is_unblocked(void)
{
	struct waiter waiter;

	MAKE_SEM(&sem, 0, S_PRIO);
	start_waiter(&waiter, &sem, 20, "woken");
	CHECK_EQ(rt_task_suspend(&waiter.task), 0);
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 1, 0);
	kit_nap(10 * MS);
	mark("resume");
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	CHECK_EQ(end_waiter(&waiter), -EINTR);
	CHECK_SEM(&sem, 1, 0);
	expect_marks("resume woken");
}

static RT_SEM named;

static void bind_late(void *arg)
{
	(void)arg;
	result = rt_sem_bind(&named, "late", TM_INFINITE);
	mark("bound");
}

static void suspended_bind_waiter_binds(void)
{
	kit_spawn_blocked(&task, 20, bind_late, NULL);
	CHECK_EQ(rt_task_suspend(&task), 0);
	CHECK_EQ(rt_sem_create(&sem, "late", 0, S_FIFO), 0);
	kit_nap(10 * MS);
	mark("resume");
	CHECK_EQ(rt_task_resume(&task), 0);
	kit_join(&task);
	CHECK_EQ(result, 0);
	CHECK_EQ(named.handle, sem.handle);
	expect_marks("resume bound");
}

static void wait_twice(void *arg)
{
	(void)arg;
	take(&sem);
	mark("first");
	take(&sem);
	mark("second");
}

/* A count of suspensions that comes and goes while the task waits leaves the wait alone. */
static void waiter_does_not_notice_a_suspension_that_is_over(void)
{
	int i;

	MAKE_SEM(&sem, 0, S_FIFO);
	kit_spawn_blocked(&task, 20, wait_twice, NULL);
	for (i = 0; i < 50; i++) {
		CHECK_EQ(rt_task_suspend(&task), 0);
		CHECK_EQ(rt_task_resume(&task), 0);
	}
	kit_nap(5 * MS);
	CHECK_EQ(kit_status(&task), 0x20011);
	CHECK_SEM(&sem, 0, 1);
	CHECK_EQ(rt_sem_v(&sem), 0);
	until(mark_count() == 1 && kit_blocked(&task));
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
	expect_marks("first second");
}

static void deadline_shows_while_suspended(void)
{
	struct waiter waiter;
	RT_TASK_INFO info;

	MAKE_SEM(&sem, 0, S_PRIO);
	start_timed_waiter(&waiter, &sem, 20, "woken", 1000000 * MS);
	CHECK_EQ(rt_task_suspend(&waiter.task), 0);
	CHECK_EQ(rt_task_inquire(&waiter.task, &info), 0);
	CHECK(info.stat.timeout > 0 && info.stat.timeout <= 1000000 * MS);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	CHECK_EQ(end_waiter(&waiter), 0);
}

KIT_CASES(
	CASE(sleep_lasts_through_signals_and_suspension), CASE(date_of_a_sleep_may_pass_in_suspension),
	CASE_FIFO(overslept_task_runs_at_once), CASE(wait_times_out_in_suspension),
	CASE(grant_in_suspension_outlives_the_date), CASE(suspended_head_of_the_queue_gets_the_token),
	CASE(suspended_waiter_alone_leaves_the_queue_at_once), CASE(deletion_of_the_semaphore_reaches_a_suspended_waiter),
	CASE(suspended_sleeper_is_unblocked), CASE(suspended_waiter_is_unblocked), CASE(suspended_bind_waiter_binds),
	CASE(waiter_does_not_notice_a_suspension_that_is_over), CASE(deadline_shows_while_suspended))
