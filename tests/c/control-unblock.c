/* rt_task_unblock: which waits it ends, of whom, and that it is not remembered. */
#include "kit.h"
#include "control-kit.h"

static RT_SEM sem;
static RT_TASK task;
static int result = 1;

/* ---- Every kind of wait --------------------------------------------------------------------------------------- */

static int sleep_long(void)
{
	return rt_task_sleep(1000000 * MS);
}

static int sleep_until_far(void)
{
	return rt_task_sleep_until(rt_timer_read() + 1000000 * MS);
}

static int sleep_for_ever(void)
{
	return rt_task_sleep_until(TM_INFINITE);
}

static int p_for_ever(void)
{
	return rt_sem_p(&sem, TM_INFINITE);
}

static int p_long(void)
{
	return rt_sem_p(&sem, 1000000 * MS);
}

static int p_until_far(void)
{
	return rt_sem_p_until(&sem, rt_timer_read() + 1000000 * MS);
}

static int bind_a_task(void)
{
	RT_TASK bound;

	return rt_task_bind(&bound, "absent", TM_INFINITE);
}

static int bind_a_semaphore(void)
{
	RT_SEM bound;

	return rt_sem_bind(&bound, "absent", 1000000 * MS);
}

struct wait {
	int (*call)(void);
};

static void wait_and_mark(void *wait)
{
	result = ((struct wait *)wait)->call();
	mark("woken");
}

static void every_wait_ends(void)
{
	static struct wait waits[] = {
		{ sleep_long }, { sleep_until_far }, { sleep_for_ever }, { p_for_ever }, { p_long }, { p_until_far },
		{ bind_a_task }, { bind_a_semaphore },
	};
	size_t i;

	MAKE_SEM(&sem, 0, S_PRIO);
	for (i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		result = 1;
		kit_spawn_blocked(&task, i % 2 ? 20 : 0, wait_and_mark, &waits[i]);
		CHECK_EQ(rt_task_unblock(&task), 0);
		kit_join(&task);
		CHECK_EQ(result, -EINTR);
		CHECK_SEM(&sem, 0, 0);
	}
}

/* task.md 7.12 */
static void signal_does_not_end_an_infinite_sleep_but_unblock_does(void)
{
	static struct wait infinite = { sleep_for_ever };

	no_held_back_signals();
	count_sigusr1();
	kit_spawn_blocked(&task, 20, wait_and_mark, &infinite);
	send_sigusr1(&task);
	until(signal_count() == 1);
	kit_nap(10 * MS);
	CHECK_EQ(kit_status(&task), 0x80011);
	expect_marks("");
	mark("unblock");
	CHECK_EQ(rt_task_unblock(&task), 0);
	kit_join(&task);
	CHECK_EQ(result, -EINTR);
	expect_marks("unblock woken");
}

static void unblocked_higher_task_runs_before_unblock_returns(void)
{
	static struct wait infinite = { p_for_ever };

	MAKE_SEM(&sem, 0, S_FIFO);
	kit_spawn_blocked(&task, 20, wait_and_mark, &infinite);
	mark("unblock");
	CHECK_EQ(rt_task_unblock(&task), 0);
	mark("unblocked");
	kit_join(&task);
	CHECK_EQ(result, -EINTR);
	expect_marks("unblock woken unblocked");
}

/* ---- The target alone ----------------------------------------------------------------------------------------- */

static void unblock_one_of_three(int which, int mode)
{
	struct waiter waiters[3];
	int i;

	clear_marks();
	MAKE_SEM(&sem, 0, mode);
	for (i = 0; i < 3; i++)
		start_waiter(&waiters[i], &sem, 30 - i, "woken");
	CHECK_EQ(rt_task_unblock(&waiters[which].task), 0);
	CHECK_SEM(&sem, 0, 2);
	CHECK_EQ(end_waiter(&waiters[which]), -EINTR);
	kit_nap(5 * MS);
	CHECK_EQ(mark_count(), 1);
	for (i = 0; i < 3; i++) {
		if (i == which)
			continue;
		CHECK_EQ(rt_sem_v(&sem), 0);
		CHECK_EQ(end_waiter(&waiters[i]), 0);
	}
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

/* sem.md 9.9 */
static void one_of_three_waiters_leaves(void)
{
	int which;

	for (which = 0; which < 3; which++) {
		unblock_one_of_three(which, S_PRIO);
		unblock_one_of_three(which, S_FIFO);
	}
}

static int results[2] = { 1, 1 };

static void bind_y(void *arg)
{
	RT_TASK bound;

	(void)arg;
	results[0] = rt_task_bind(&bound, "Y", TM_INFINITE);
}

static void bind_z(void *arg)
{
	RT_TASK bound;

	(void)arg;
	results[1] = rt_task_bind(&bound, "Z", TM_INFINITE);
}

/* common.md 14.9 */
static void one_of_two_bind_waiters_leaves(void)
{
	RT_TASK y, z;

	kit_spawn_blocked(&y, 20, bind_y, NULL);
	kit_spawn_blocked(&z, 20, bind_z, NULL);
	CHECK_EQ(rt_task_unblock(&y), 0);
	kit_join(&y);
	CHECK_EQ(results[0], -EINTR);
	kit_nap(5 * MS);
	CHECK_EQ(results[1], 1);
	CHECK_EQ(kit_status(&z), 0x20011);
	CHECK_EQ(rt_task_create(&task, "Z", 0, 0, T_JOINABLE), 0);
	kit_join(&z);
	CHECK_EQ(results[1], 0);
	finish(&task);
}

/* ---- Before the target can run: from a boss ------------------------------------------------------------------- */

static struct waiter waiter;

static void unblock_then_post(void *arg)
{
	(void)arg;
	start_waiter(&waiter, &sem, 10, "woken");
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 1, 0);
	mark("posted");
	CHECK_EQ(end_waiter(&waiter), -EINTR);
	CHECK_SEM(&sem, 1, 0);
}

/* sem.md 5 */
static void unblock_then_post_keeps_the_token(void)
{
	MAKE_SEM(&sem, 0, S_FIFO);
	kit_boss(unblock_then_post);
	expect_marks("posted woken");
}

struct release {
	int (*all)(RT_SEM *sem);
};

/* Nobody is there to be released. */
static void unblock_then_release(void *release)
{
	start_waiter(&waiter, &sem, 10, "woken");
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	CHECK_EQ(((struct release *)release)->all(&sem), 0);
	CHECK_SEM(&sem, 0, 0);
	mark("released");
	CHECK_EQ(end_waiter(&waiter), -EINTR);
	CHECK_SEM(&sem, 0, 0);
}

static void broadcast_or_pulse_after_unblock_leaves_no_token(void)
{
	static struct release broadcast = { rt_sem_broadcast }, pulse = { rt_sem_v };

	MAKE_SEM(&sem, 0, S_FIFO);
	as_task(KIT_BOSS_PRIO, unblock_then_release, &broadcast);
	expect_marks("released woken");
	clear_marks();
	MAKE_SEM(&sem, 0, S_PULSE);
	as_task(KIT_BOSS_PRIO, unblock_then_release, &pulse);
	expect_marks("released woken");
}

static void post_then_unblock(void *arg)
{
	(void)arg;
	start_waiter(&waiter, &sem, 10, "woken");
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	CHECK_EQ(end_waiter(&waiter), 0);
	CHECK_SEM(&sem, 0, 0);
}

static void grant_made_before_wins(void)
{
	MAKE_SEM(&sem, 0, S_FIFO);
	kit_boss(post_then_unblock);
}

static void wait_twice(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), -EINTR);
	mark("first");
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
	mark("second");
}

static void unblock_twice(void *arg)
{
	(void)arg;
	kit_spawn_blocked(&task, 10, wait_twice, NULL);
	CHECK_EQ(rt_task_unblock(&task), 0);
	CHECK_EQ(rt_task_unblock(&task), 0);
	until(sem_waiters(&sem) == 1);
	kit_nap(5 * MS);
	expect_marks("first");
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
	expect_marks("first second");
}

static void second_unblock_does_not_hit_the_next_wait(void)
{
	MAKE_SEM(&sem, 0, S_FIFO);
	kit_boss(unblock_twice);
}

/* ---- Nothing to end ------------------------------------------------------------------------------------------- */

static int unblocked;

static void compute_then_wait(void *arg)
{
	long long start;

	(void)arg;
	mark("runs");
	spin_until(&unblocked, "the one who unblocks");
	start = kit_now();
	CHECK_EQ(rt_task_sleep(50 * MS), 0);
	CHECK(since(start) >= 50 * MS);
	CHECK_EQ(rt_task_unblock(rt_task_self()), 0);
	start = kit_now();
	CHECK_EQ(rt_sem_p(&sem, 20 * MS), -ETIMEDOUT);
	CHECK(since(start) >= 20 * MS);
}

static void unblock_a_computing_task(void *arg)
{
	(void)arg;
	kit_spawn(&task, 10, compute_then_wait, NULL);
	until(mark_count() == 1);
	CHECK_EQ(rt_task_unblock(&task), 0);
	set_flag(&unblocked);
	kit_join(&task);
}

/* task.md 7.14; the last part: aimed at oneself. */
static void unblock_is_not_remembered(void)
{
	MAKE_SEM(&sem, 0, S_FIFO);
	kit_boss(unblock_a_computing_task);
}

static void unstarted_task_is_not_touched(void)
{
	struct waiter later = { .sem = &sem, .timeout = TM_INFINITE, .tag = "woken" };

	MAKE_SEM(&sem, 0, S_FIFO);
	CHECK_EQ(rt_task_create(&later.task, NULL, 0, 20, T_JOINABLE), 0);
	CHECK_EQ(rt_task_unblock(&later.task), 0);
	CHECK_EQ(kit_status(&later.task), DORMANT);
	CHECK_EQ(rt_task_start(&later.task, waiter_body, &later), 0);
	until(sem_waiters(&sem) == 1);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(end_waiter(&later), 0);
}

static void join_the_other(void *other)
{
	result = rt_task_join((RT_TASK *)other);
}

static void joiner_goes_on_waiting(void)
{
	struct waiter other;

	MAKE_SEM(&sem, 0, S_FIFO);
	start_waiter(&other, &sem, 10, "woken");
	kit_spawn(&task, 20, join_the_other, &other.task);
	until(kernel_state(tid_of(&task)) == 'S');
	CHECK_EQ(rt_task_unblock(&task), 0);
	kit_nap(10 * MS);
	CHECK_EQ(result, 1);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
	CHECK_EQ(result, 0);
}

static void spin_50_ms(void *arg)
{
	long long start = kit_now();

	(void)arg;
	mark("runs");
	rt_timer_spin(50 * MS);
	CHECK(since(start) >= 50 * MS);
}

static void disturb_the_spin(void *arg)
{
	(void)arg;
	kit_spawn(&task, 10, spin_50_ms, NULL);
	until(mark_count() == 1);
	CHECK_EQ(rt_task_unblock(&task), 0);
	send_sigusr1(&task);
	CHECK_EQ(rt_task_unblock(&task), 0);
	kit_join(&task);
	CHECK_EQ(signal_count(), 1);
}

/* timer.md 5.11 */
static void spin_lasts_its_full_time(void)
{
	no_held_back_signals();
	count_sigusr1();
	kit_boss(disturb_the_spin);
}

KIT_CASES(
	CASE(every_wait_ends), CASE(signal_does_not_end_an_infinite_sleep_but_unblock_does),
	CASE_FIFO(unblocked_higher_task_runs_before_unblock_returns), CASE(one_of_three_waiters_leaves),
	CASE(one_of_two_bind_waiters_leaves), CASE_FIFO(unblock_then_post_keeps_the_token),
	CASE_FIFO(broadcast_or_pulse_after_unblock_leaves_no_token),
	CASE_FIFO(grant_made_before_wins), CASE_FIFO(second_unblock_does_not_hit_the_next_wait),
	CASE(unblock_is_not_remembered), CASE(unstarted_task_is_not_touched), CASE(joiner_goes_on_waiting),
	CASE(spin_lasts_its_full_time))
