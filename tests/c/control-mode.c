/* rt_task_set_mode, T_LOCK: mode bits, who is kept from the CPU, what is shown and recorded meanwhile. */
#include "kit.h"
#include "control-kit.h"

static RT_SEM sem;
static RT_TASK task;

/* What inquire and the kernel show of the calling task. */
static void check_lock(int locked, int prio)
{
	RT_TASK_INFO info;

	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	CHECK_EQ(info.prio, prio);
	CHECK_EQ(info.stat.schedlock, locked);
	CHECK_EQ(info.stat.status, 0x11);
	CHECK_EQ(kernel_prio(0), !kit_fifo() ? 0 : locked ? 98 : prio);
}

static int change(int clear, int set)
{
	int mode = 77;

	CHECK_EQ(rt_task_set_mode(clear, set, &mode), 0);
	return mode;
}

/* ---- Bits ----------------------------------------------------------------------------------------------------- */

static void lock_twice_and_unlock_once(void *prio_)
{
	int prio = *(int *)prio_;

	check_lock(0, prio);
	CHECK_EQ(change(0, T_LOCK), 0);
	check_lock(1, prio);
	CHECK_EQ(change(0, T_LOCK), T_LOCK);
	check_lock(1, prio);
	CHECK_EQ(change(T_LOCK, 0), T_LOCK);
	check_lock(0, prio);
	CHECK_EQ(change(T_LOCK, 0), 0);
	check_lock(0, prio);
	CHECK_EQ(rt_task_set_mode(0, T_LOCK, NULL), 0);
	check_lock(1, prio);
	CHECK_EQ(rt_task_set_mode(T_LOCK, 0, NULL), 0);
	check_lock(0, prio);
}

/* task.md 7.25, 7.26 */
static void lock_does_not_nest(void)
{
	static int prios[] = { 0, 1, 20, 97 };
	int i;

	for (i = 0; i < 4; i++)
		as_task(prios[i], lock_twice_and_unlock_once, &prios[i]);
}

static void combine_bits(void *arg)
{
	(void)arg;
	CHECK_EQ(change(0, 0), 0);
	CHECK_EQ(change(T_LOCK, T_LOCK), 0);
	check_lock(1, 20);
	CHECK_EQ(change(T_LOCK, T_LOCK), T_LOCK);
	check_lock(1, 20);
	/* Neither shows nor unlocks. */
	CHECK_EQ(change(0, T_WARNSW | T_CONFORMING), T_LOCK);
	CHECK_EQ(change(T_WARNSW | T_CONFORMING, 0), T_LOCK);
	check_lock(1, 20);
	CHECK_EQ(change(T_LOCK | T_WARNSW, T_CONFORMING), T_LOCK);
	CHECK_EQ(change(T_WARNSW, T_WARNSW), 0);
	check_lock(0, 20);
}

static void bit_in_both_masks_ends_set(void)
{
	as_task(20, combine_bits, NULL);
}

static void try_unknown_bits(void *own)
{
	static const int unknown[] = { 0x8, 0x10, T_JOINABLE, T_JOINABLE | T_LOCK, 0x4000, -1, (int)0x80000000 };
	int refusal = own ? 0 : -EPERM, mode = 77;
	size_t i;

	for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		CHECK_EQ(rt_task_set_mode(unknown[i], 0, &mode), -EINVAL);
		CHECK_EQ(rt_task_set_mode(0, unknown[i], &mode), -EINVAL);
		CHECK_EQ(rt_task_set_mode(0, unknown[i], NULL), -EINVAL);
	}
	CHECK_EQ(rt_task_set_mode(0, T_LOCK, own ? NULL : &mode), refusal);
	CHECK_EQ(rt_task_set_mode(T_LOCK, 0, own ? NULL : &mode), refusal);
	CHECK_EQ(rt_task_set_mode(0, 0, own ? NULL : &mode), refusal);
	CHECK_EQ(mode, 77);
	if (own)
		check_lock(0, 20);
}

static void unknown_bits_and_strangers(void)
{
	try_unknown_bits(NULL);
	kit_plain(try_unknown_bits, NULL);
	as_task(20, try_unknown_bits, (void *)"task");
}

/* ---- Who runs ------------------------------------------------------------------------------------------------- */

static void wake_a_higher_task(void *arg)
{
	(void)arg;
	change(0, T_LOCK);
	CHECK_EQ(rt_sem_v(&sem), 0);
	rt_timer_spin(5 * MS);
	mark("posted");
	change(T_LOCK, 0);
	mark("unlocked");
}

static void wake_and_sleep(void *arg)
{
	(void)arg;
	change(0, T_LOCK);
	CHECK_EQ(rt_sem_v(&sem), 0);
	mark("posted");
	CHECK_EQ(rt_task_sleep(MS), 0);
	mark("slept");
	check_lock(1, 20);
	/* In force again. */
	CHECK_EQ(rt_sem_v(&sem), 0);
	mark("posted");
	change(T_LOCK, 0);
	mark("unlocked");
}

static void take_and_mark(void *arg)
{
	int times = *(int *)arg;

	while (times-- > 0) {
		take(&sem);
		mark("higher");
	}
}

static void beside_a_higher_waiter(int prio, int times, void (*body)(void *), int mode)
{
	RT_TASK higher;

	MAKE_SEM(&sem, 0, S_PRIO);
	kit_spawn_blocked(&higher, prio, take_and_mark, &times);
	CHECK_EQ(rt_task_spawn(&task, NULL, 0, 20, T_JOINABLE | mode, body, NULL), 0);
	kit_join(&task);
	kit_join(&higher);
}

/* task.md 7.27 */
static void higher_task_runs_after_the_unlock(void)
{
	beside_a_higher_waiter(60, 1, wake_a_higher_task, 0);
	expect_marks("posted higher unlocked");
	clear_marks();
	beside_a_higher_waiter(97, 1, wake_a_higher_task, 0);
	expect_marks("posted higher unlocked");
}

static void higher_task_runs_while_the_holder_sleeps(void)
{
	beside_a_higher_waiter(60, 2, wake_and_sleep, 0);
	expect_marks("posted higher slept posted higher unlocked");
}

static void wake_without_a_word(void *arg)
{
	(void)arg;
	check_lock(1, 20);
	CHECK_EQ(rt_sem_v(&sem), 0);
	mark("posted");
	CHECK_EQ(change(T_LOCK, 0), T_LOCK);
	mark("unlocked");
}

static void created_with_the_lock(void)
{
	beside_a_higher_waiter(60, 1, wake_without_a_word, T_LOCK);
	expect_marks("posted higher unlocked");
}

static void wake_and_end(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_sem_v(&sem), 0);
	mark("posted");
}

static void lock_ends_with_its_holder(void)
{
	beside_a_higher_waiter(60, 1, wake_and_end, T_LOCK);
	expect_marks("posted higher");
}

static void shadowed_with_the_lock(void)
{
	CHECK_EQ(rt_task_shadow(NULL, "main", 20, T_LOCK | T_WARNSW), 0);
	check_lock(1, 20);
	CHECK_EQ(change(T_LOCK, 0), T_LOCK);
	check_lock(0, 20);
}

/* ---- Meanwhile ------------------------------------------------------------------------------------------------ */

static void change_priority_under_the_lock(void *arg)
{
	(void)arg;
	change(0, T_LOCK);
	CHECK_EQ(rt_task_set_priority(NULL, 30), 0);
	check_lock(1, 30);
	CHECK_EQ(rt_task_set_priority(NULL, 99), 0);
	check_lock(1, 99);
	CHECK_EQ(rt_task_set_priority(NULL, 0), 0);
	check_lock(1, 0);
	CHECK_EQ(rt_task_set_priority(NULL, 40), 0);
	change(T_LOCK, 0);
	check_lock(0, 40);
	change(0, T_LOCK);
	CHECK_EQ(rt_task_set_priority(NULL, 0), 0);
	change(T_LOCK, 0);
	check_lock(0, 0);
}

static void new_priority_waits_for_the_unlock(void)
{
	as_task(20, change_priority_under_the_lock, NULL);
}

static void slice_under_the_lock(void *arg)
{
	(void)arg;
	change(0, T_LOCK);
	CHECK_EQ(rt_task_slice(NULL, MS), -EINVAL);
	CHECK_EQ(rt_task_slice(rt_task_self(), MS), -EINVAL);
	change(T_LOCK, 0);
	CHECK_EQ(rt_task_slice(NULL, MS), 0);
	change(0, T_LOCK);
	take(&sem);
}

static void holder_gets_no_slice(void)
{
	MAKE_SEM(&sem, 0, S_PRIO);
	kit_spawn_blocked(&task, 20, slice_under_the_lock, NULL);
	CHECK_EQ(rt_task_slice(&task, MS), -EINVAL);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
}

static void lock_and_wait(void *arg)
{
	(void)arg;
	change(0, T_LOCK);
	take(&sem);
	mark("locked");
	check_lock(1, 20);
}

static void holder_queues_with_its_base_priority(void)
{
	struct waiter other;

	MAKE_SEM(&sem, 0, S_PRIO);
	kit_spawn_blocked(&task, 20, lock_and_wait, NULL);
	start_waiter(&other, &sem, 30, "higher");
	CHECK_EQ(rt_sem_v(&sem), 0);
	until(mark_count() == 1);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
	CHECK_EQ(end_waiter(&other), 0);
	expect_marks("higher locked");
}

static void lock_and_stop(void *arg)
{
	(void)arg;
	change(0, T_LOCK);
	CHECK_EQ(rt_task_suspend(NULL), 0);
	check_lock(1, 20);
	mark("resumed");
}

/* Others run, and the lock is back after the resume. */
static void suspended_holder_keeps_the_lock(void)
{
	RT_TASK_INFO info;

	kit_spawn(&task, 20, lock_and_stop, NULL);
	until(kit_status(&task) == 0x31);
	CHECK_EQ(rt_task_inquire(&task, &info), 0);
	CHECK_EQ(info.stat.schedlock, 1);
	CHECK_EQ(info.prio, 20);
	as_task(10, mark_it, (void *)"other");
	CHECK_EQ(rt_task_resume(&task), 0);
	kit_join(&task);
	expect_marks("other resumed");
}

static void others_see_the_lock(void)
{
	RT_TASK_INFO info;

	MAKE_SEM(&sem, 0, S_PRIO);
	kit_spawn_blocked(&task, 20, lock_and_wait, NULL);
	CHECK_EQ(rt_task_inquire(&task, &info), 0);
	CHECK_EQ(info.prio, 20);
	CHECK_EQ(info.stat.schedlock, 1);
	CHECK_EQ(info.stat.status, 0x20011);
	CHECK_EQ(rt_task_set_priority(&task, 30), 0);
	CHECK_EQ(rt_task_inquire(&task, &info), 0);
	CHECK_EQ(info.prio, 30);
	CHECK_EQ(info.stat.schedlock, 1);
	CHECK_EQ(rt_task_set_priority(&task, 20), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
}

static void try_to_lock(void *arg)
{
	int mode = 77;

	(void)arg;
	CHECK_EQ(rt_task_set_mode(0, T_LOCK, &mode), -EPERM);
	CHECK_EQ(mode, 77);
	check_lock(0, 0);
	CHECK_EQ(rt_task_set_mode(T_LOCK, T_WARNSW, &mode), 0);
	CHECK_EQ(mode, 0);
}

static void strict_mode_refuses_without_the_right(void)
{
	struct rerun how = { .environment = { "ALCHEMY_SCHED=strict" }, .prepare = no_fifo };

	if (!rerunning()) {
		rerun_passes(&how);
		return;
	}
	if (kit_fifo())
		SKIP("the right to SCHED_FIFO cannot be given up here");
	as_task(0, try_to_lock, NULL);
}

KIT_CASES(
	CASE(lock_does_not_nest), CASE(bit_in_both_masks_ends_set), CASE(unknown_bits_and_strangers),
	CASE_FIFO(higher_task_runs_after_the_unlock), CASE_KERNEL(higher_task_runs_while_the_holder_sleeps),
	CASE_KERNEL(created_with_the_lock), CASE_FIFO(lock_ends_with_its_holder), CASE(shadowed_with_the_lock),
	CASE(new_priority_waits_for_the_unlock), CASE(holder_gets_no_slice), CASE(holder_queues_with_its_base_priority),
	CASE(suspended_holder_keeps_the_lock), CASE(others_see_the_lock), CASE(strict_mode_refuses_without_the_right))
