/* Control of tasks in the 2.x interface: what differs from 3.x (native2.md 7.1). */
#include "native-kit.h"

static RT_SEM sem;
static RT_TASK task;
static int result = 1;

/* Status bits, T_SUSP included. */
static unsigned state_of(RT_TASK *of)
{
	RT_TASK_INFO info;

	CHECK_EQ(rt_task_inquire(of, &info), 0);
	return info.status & (STATUS_BITS | T_SUSP);
}

static void mark_it(void *text)
{
	mark((const char *)text);
}

/* ---- T_SUSP --------------------------------------------------------------------------------------------------- */

static void created_suspended(void)
{
	CHECK_EQ(rt_task_create(&task, NULL, 0, 20, T_SUSP | T_FPU | T_JOINABLE), 0);
	CHECK(state_of(&task) & T_SUSP);
	CHECK_EQ(rt_task_start(&task, mark_it, (void *)"runs"), 0);
	CHECK(state_of(&task) & T_SUSP);
	kit_nap(10 * MS);
	mark("resume");
	CHECK_EQ(rt_task_resume(&task), 0);
	join(&task);
	expect_marks("resume runs");
}

static void spawned_suspended(void)
{
	CHECK_EQ(rt_task_spawn(&task, NULL, 0, 20, T_SUSP | T_JOINABLE, mark_it, (void *)"runs"), 0);
	CHECK(state_of(&task) & T_SUSP);
	kit_nap(10 * MS);
	mark("resume");
	CHECK_EQ(rt_task_resume(&task), 0);
	join(&task);
	expect_marks("resume runs");
}

static void *resume_the_shadow(void *arg)
{
	until(state_of(&task) & T_SUSP);
	mark("resume");
	CHECK_EQ(rt_task_resume(&task), 0);
	return arg;
}

static void *wait_for_the_name(void *arg)
{
	while (rt_task_bind(&task, "shadow", TM_NONBLOCK) != 0)
		kit_nap(MS);
	return resume_the_shadow(arg);
}

static void shadowed_suspended(void)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, wait_for_the_name, NULL), 0);
	CHECK_EQ(rt_task_shadow(NULL, "shadow", 0, T_SUSP), 0);
	mark("resumed");
	CHECK_EQ(pthread_join(thread, NULL), 0);
	expect_marks("resume resumed");
}

/* ---- Suspension ----------------------------------------------------------------------------------------------- */

static void suspend_oneself(void *arg)
{
	(void)arg;
	result = rt_task_suspend(NULL);
	mark("goes-on");
}

static void unblock_interrupts_a_suspension_of_oneself(void)
{
	spawn(&task, 20, suspend_oneself, NULL);
	until(state_of(&task) & T_SUSP);
	CHECK_EQ(rt_task_unblock(&task), 0);
	join(&task);
	CHECK_EQ(result, -EINTR);
}

static void resumed_suspension_gives_0(void)
{
	spawn(&task, 20, suspend_oneself, NULL);
	until(state_of(&task) & T_SUSP);
	CHECK_EQ(rt_task_suspend(&task), 0);
	CHECK_EQ(rt_task_resume(&task), 0);
	kit_nap(5 * MS);
	expect_marks("");
	CHECK_EQ(rt_task_resume(&task), 0);
	join(&task);
	CHECK_EQ(result, 0);
}

/* ---- Deletion ------------------------------------------------------------------------------------------------- */

static void deleted_task_is_still_to_be_joined(void)
{
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	CHECK_EQ(rt_task_spawn(&task, "victim", 0, 20, T_JOINABLE, take, &sem), 0);
	until(status_of(&task) & T_BLOCKED);
	CHECK_EQ(rt_task_delete(&task), 0);
	check_absent("victim");
	CHECK(rt_task_delete(&task) < 0);
	CHECK_EQ(rt_task_suspend(&task), -EINVAL);
	CHECK_EQ(rt_task_join(&task), 0);
	CHECK_EQ(rt_task_join(&task), -ESRCH);
}

static unsigned long turns;

/* No call, hence no clock: some seconds, then it fails. */
static void count_on(void *arg)
{
	(void)arg;
	while (__atomic_load_n(&turns, __ATOMIC_RELAXED) < 2000000000)
		__atomic_store_n(&turns, __atomic_load_n(&turns, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
	kit_fail(__FILE__, __LINE__, "nobody has ended this loop");
}

static void delete_the_loop(void *arg)
{
	unsigned long before;

	(void)arg;
	spawn(&task, 10, count_on, NULL);
	until(__atomic_load_n(&turns, __ATOMIC_RELAXED) > 0);
	CHECK_EQ(rt_task_delete(&task), 0);
	before = __atomic_load_n(&turns, __ATOMIC_RELAXED);
	join(&task);
	kit_nap(5 * MS);
	CHECK_EQ(__atomic_load_n(&turns, __ATOMIC_RELAXED), before);
}

/* native2.md 6: tasks of 2.x could be cancelled anywhere. */
static void computing_task_is_deleted(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	SKIP("linked statically: a task that computes is not ended");
#endif
	as_task(50, delete_the_loop, NULL);
}

static void delete_oneself(void *arg)
{
	(void)arg;
	rt_task_delete(NULL);
	mark("alive");
}

static void deletion_of_oneself_does_not_return(void)
{
	as_task(20, delete_oneself, NULL);
	expect_marks("");
	CHECK_EQ(rt_task_delete(NULL), -EPERM);
}

/* ---- Priority and mode ---------------------------------------------------------------------------------------- */

static void set_priorities(void *arg)
{
	RT_TASK_INFO info;

	(void)arg;
	CHECK_EQ(rt_task_set_priority(NULL, 30), 20);
	CHECK_EQ(rt_task_set_priority(NULL, 30), 30);
	CHECK_EQ(rt_task_set_priority(NULL, 0), 30);
	CHECK_EQ(rt_task_set_priority(rt_task_self(), 40), 0);
	CHECK_EQ(rt_task_set_priority(NULL, 100), -EINVAL);
	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	CHECK_EQ(info.bprio, 40);
	CHECK_EQ(info.cprio, 40);
}

static void set_priority_returns_the_old_one(void)
{
	as_task(20, set_priorities, NULL);
	CHECK_EQ(rt_task_create(&task, NULL, 0, 7, T_JOINABLE), 0);
	CHECK_EQ(rt_task_set_priority(&task, 8), 7);
	CHECK_EQ(rt_task_set_priority(&task, -1), -EINVAL);
	CHECK_EQ(rt_task_set_priority(NULL, 8), -EPERM);
	finish(&task);
	CHECK_EQ(rt_task_set_priority(&task, 8), -EINVAL);
}

static int change(int clear, int set)
{
	int mode = -1;

	CHECK_EQ(rt_task_set_mode(clear, set, &mode), 0);
	return mode;
}

static void set_modes(void *arg)
{
	RT_TASK_INFO info;

	(void)arg;
	CHECK_EQ(change(0, T_LOCK) & (T_LOCK | T_RRB | T_NOSIG | T_WARNSW | T_RPIOFF), 0);
	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	CHECK_EQ(info.bprio, 20);
	CHECK(!kit_fifo() || info.cprio >= 98);
	CHECK(change(0, T_LOCK) & T_LOCK);
	CHECK(change(T_LOCK, 0) & T_LOCK);
	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	CHECK_EQ(info.cprio, 20);
	/* Remembered without effect. */
	CHECK_EQ(change(0, T_NOSIG | T_WARNSW | T_RPIOFF) & (T_LOCK | T_NOSIG | T_WARNSW | T_RPIOFF), 0);
	CHECK_EQ(change(T_NOSIG, 0) & (T_LOCK | T_NOSIG | T_WARNSW | T_RPIOFF), T_NOSIG | T_WARNSW | T_RPIOFF);
	CHECK_EQ(change(T_WARNSW | T_RPIOFF, 0) & (T_NOSIG | T_WARNSW | T_RPIOFF), T_WARNSW | T_RPIOFF);
	CHECK_EQ(change(0, 0) & (T_NOSIG | T_WARNSW | T_RPIOFF), 0);
	/* To be found in programs for 2.4 and 2.5. */
	CHECK_EQ(rt_task_set_mode(0, T_PRIMARY, NULL), 0);
	CHECK_EQ(rt_task_set_mode(T_PRIMARY, 0, NULL), 0);
	CHECK_EQ(rt_task_set_mode(0, T_PRIMARY | T_WARNSW, NULL), 0);
}

static void mode_bits_are_accepted_and_remembered(void)
{
	as_task(20, set_modes, NULL);
	CHECK_EQ(rt_task_set_mode(0, T_LOCK, NULL), -EPERM);
}

static int flag;

static void set_flag(void *arg)
{
	(void)arg;
	__atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
}

static void go_round_robin(void *equal)
{
	long long start = kit_now();

	CHECK_EQ(change(0, T_RRB) & T_RRB, 0);
	CHECK(change(0, 0) & T_RRB);
	spawn((RT_TASK *)equal, 20, set_flag, NULL);
	while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
		if (kit_now() - start > 5000 * MS)
			kit_fail(__FILE__, __LINE__, "the equal task has not run");
}

/* Both on one CPU. */
static void round_robin_mode_shares_the_cpu(void)
{
	RT_TASK equal;

	as_task(20, go_round_robin, &equal);
	join(&equal);
}

/* ---- Periods -------------------------------------------------------------------------------------------------- */

static void wait_once(unsigned long *overruns)
{
	int waited;

	*overruns = 77;
	waited = rt_task_wait_period(overruns);
	CHECK(waited == 0 || waited == -ETIMEDOUT);
	CHECK_EQ(waited, *overruns == 0 ? 0 : -ETIMEDOUT);
}

static void be_periodic(void *arg)
{
	unsigned long overruns;
	RT_TASK_INFO info;
	RTIME date;

	(void)arg;
	CHECK_EQ(rt_task_wait_period(&overruns), -EWOULDBLOCK);
	date = rt_timer_read() + 200 * MS;
	CHECK_EQ(rt_task_set_periodic(NULL, date, 50 * MS), 0);
	/* Here and not in wait_period. */
	CHECK(rt_timer_read() >= date);
	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	CHECK(info.relpoint > date);
	CHECK_EQ((info.relpoint - date) % (50 * MS), 0);
	wait_once(&overruns);
	CHECK(rt_timer_read() >= date + 50 * MS);

	CHECK_EQ(rt_task_set_periodic(NULL, rt_timer_read() - 1, MS), -ETIMEDOUT);
	CHECK_EQ(rt_task_set_periodic(NULL, TM_NOW, TM_INFINITE), 0);
	CHECK_EQ(rt_task_wait_period(NULL), -EWOULDBLOCK);
	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	CHECK_EQ(info.relpoint, 0);

	date = rt_timer_read();
	CHECK_EQ(rt_task_set_periodic(NULL, TM_NOW, 20 * MS), 0);
	wait_once(&overruns);
	CHECK(rt_timer_read() >= date + 20 * MS);
}

static void set_periodic_waits_for_the_start_date(void)
{
	as_task(0, be_periodic, NULL);
	as_task(20, be_periodic, NULL);
}

static RTIME start_date;

static void wait_from_the_start(void *arg)
{
	unsigned long overruns;

	(void)arg;
	wait_once(&overruns);
	CHECK(rt_timer_read() >= start_date);
	mark("released");
}

static void another_task_waits_for_its_start_date_itself(void)
{
	CHECK_EQ(rt_task_create(&task, NULL, 0, 20, T_JOINABLE), 0);
	start_date = rt_timer_read() + 5000 * MS;
	CHECK_EQ(rt_task_set_periodic(&task, start_date, 50 * MS), 0);
	CHECK(rt_timer_read() < start_date);
	start_date = rt_timer_read() + 200 * MS;
	CHECK_EQ(rt_task_set_periodic(&task, start_date, 50 * MS), 0);
	CHECK_EQ(rt_task_start(&task, wait_from_the_start, NULL), 0);
	join(&task);
	expect_marks("released");
}

KIT_CASES(
	CASE(created_suspended), CASE(spawned_suspended), CASE(shadowed_suspended),
	CASE(unblock_interrupts_a_suspension_of_oneself), CASE(resumed_suspension_gives_0),
	CASE(deleted_task_is_still_to_be_joined), CASE(computing_task_is_deleted),
	CASE(deletion_of_oneself_does_not_return), CASE(set_priority_returns_the_old_one),
	CASE(mode_bits_are_accepted_and_remembered), CASE_KERNEL(round_robin_mode_shares_the_cpu),
	CASE(set_periodic_waits_for_the_start_date), CASE(another_task_waits_for_its_start_date_itself))
