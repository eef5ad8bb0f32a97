/* rt_task_delete and the others: tokens of semaphores, deleters side by side, the deleter's priority. */
#include "kit.h"
#include "control-kit.h"

static RT_SEM sem;
static RT_TASK task;

static void spawn_victim(int prio, void (*body)(void *), void *arg)
{
	CHECK_EQ(rt_task_spawn(&task, "victim", 0, prio, T_JOINABLE, body, arg), 0);
}

/* ---- Tokens --------------------------------------------------------------------------------------------------- */

/* sem.md 9.11 */
static void deleted_waiter_swallows_no_token(void)
{
	struct waiter first, second;

	MAKE_SEM(&sem, 0, S_PRIO);
	start_waiter(&first, &sem, 30, "first");
	start_waiter(&second, &sem, 20, "second");
	CHECK_EQ(rt_task_delete(&first.task), 0);
	CHECK_SEM(&sem, 0, 1);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(end_waiter(&second), 0);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 1, 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
	kit_join(&first.task);
	expect_marks("second");
}

static struct waiter grantee, next;

static void delete_the_grantee(void *count)
{
	start_waiter(&grantee, &sem, 10, "grantee");
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_task_delete(&grantee.task), 0);
	CHECK_SEM(&sem, *(unsigned long *)count, 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 2 * *(unsigned long *)count, 0);
	kit_join(&grantee.task);
}

/* sem.md 9.12, 5: it had not run yet. */
static void token_of_a_deleted_grantee_goes_back_to_the_count(void)
{
	unsigned long one = 1;

	MAKE_SEM(&sem, 0, S_PRIO);
	as_task(KIT_BOSS_PRIO, delete_the_grantee, &one);
	expect_marks("");
}

static void pulse_of_a_deleted_grantee_is_dropped(void)
{
	unsigned long none = 0;

	MAKE_SEM(&sem, 0, S_PULSE);
	as_task(KIT_BOSS_PRIO, delete_the_grantee, &none);
	expect_marks("");
}

static void delete_the_grantee_before_another(void *arg)
{
	(void)arg;
	start_waiter(&grantee, &sem, 20, "grantee");
	start_waiter(&next, &sem, 10, "next");
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 0, 1);
	CHECK_EQ(rt_task_delete(&grantee.task), 0);
	CHECK_EQ(end_waiter(&next), 0);
	CHECK_SEM(&sem, 0, 0);
	kit_join(&grantee.task);
}

static void token_of_a_deleted_grantee_goes_to_the_next_waiter(void)
{
	MAKE_SEM(&sem, 0, S_PRIO);
	kit_boss(delete_the_grantee_before_another);
	expect_marks("next");
}

static void suspended_grantee_returns_its_token(void)
{
	MAKE_SEM(&sem, 0, S_FIFO);
	start_waiter(&grantee, &sem, 20, "grantee");
	CHECK_EQ(rt_task_suspend(&grantee.task), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_task_delete(&grantee.task), 0);
	CHECK_SEM(&sem, 1, 0);
	kit_join(&grantee.task);
	expect_marks("");
}

/* ---- Deleters ------------------------------------------------------------------------------------------------- */

static int entered, go;

static void clean_up_slowly(void *arg)
{
	mark("cleanup");
	set_flag(&entered);
	until(__atomic_load_n(&go, __ATOMIC_ACQUIRE));
	mark((const char *)arg);
}

static void wait_with_a_slow_handler(void *text)
{
	pthread_cleanup_push(clean_up_slowly, text);
	rt_sem_p(&sem, TM_INFINITE);
	pthread_cleanup_pop(0);
}

static void delete_the_victim(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_delete(&task), 0);
	mark("deleted");
}

/* task.md 7.33: from the moment the first is in, nobody else knows the task. */
static void second_deleter_is_refused_at_once(void)
{
	RT_TASK deleter;

	MAKE_SEM(&sem, 0, S_FIFO);
	spawn_victim(20, wait_with_a_slow_handler, (void *)"end");
	until(kit_blocked(&task));
	kit_spawn(&deleter, 10, delete_the_victim, NULL);
	until(__atomic_load_n(&entered, __ATOMIC_ACQUIRE));
	check_refused(&task);
	CHECK_EQ(rt_task_inquire(&task, NULL), -EINVAL);
	CHECK_EQ(rt_task_unblock(&deleter), 0); /* no wait to end */
	kit_nap(10 * MS);
	mark("go");
	set_flag(&go);
	kit_join(&deleter);
	kit_join(&task);
	expect_marks("cleanup go end deleted");
}

static void see_priority(void *prio)
{
	*(int *)prio = kernel_prio(gettid());
}

static void wait_and_see(void *prio)
{
	pthread_cleanup_push(see_priority, prio);
	rt_sem_p(&sem, TM_INFINITE);
	pthread_cleanup_pop(0);
}

static struct spinner spinner;

static void delete_past_a_spinner(void *prio)
{
	spawn_victim(10, wait_and_see, prio);
	until(kit_blocked(&task));
	start_spinner(&spinner, 30);
	CHECK_EQ(rt_task_delete(&task), 0);
	/* One below: at the same level a task that computes would keep the deleter from asking again. */
	CHECK_EQ(*(int *)prio, KIT_BOSS_PRIO - 1);
	end_spinner(&spinner);
	kit_join(&task);
}

/* Else a task in between would hold the deleter up. */
static void target_inherits_the_deleters_priority(void)
{
	int prio = -1;

	MAKE_SEM(&sem, 0, S_FIFO);
	as_task(KIT_BOSS_PRIO, delete_past_a_spinner, &prio);
}

/* ---- Hundreds of times ---------------------------------------------------------------------------------------- */

enum { ROUNDS = 300 };

static RT_TASK prey;

static void exit_at_once(void *arg)
{
	(void)arg;
	rt_task_delete(NULL);
	mark("alive");
}

static void tasks_that_delete_themselves(void)
{
	int i, threads;

	as_task(10, exit_at_once, NULL);
	threads = count_threads();
	for (i = 0; i < ROUNDS; i++) {
		CHECK_EQ(rt_task_spawn(&prey, "prey", 0, i % 2 ? 10 : 0, T_JOINABLE, exit_at_once, NULL), 0);
		CHECK_EQ(rt_task_join(&prey), 0);
		check_absent("prey");
	}
	until(count_threads() <= threads);
	expect_marks("");
}

static int made, answered, deleted, refused;

static void delete_once(void)
{
	int result = rt_task_delete(&prey);

	CHECK(result == 0 || result == -EINVAL);
	__atomic_add_fetch(result == 0 ? &deleted : &refused, 1, __ATOMIC_RELAXED);
}

static void delete_each(void *arg)
{
	int i;

	(void)arg;
	for (i = 1; i <= ROUNDS; i++) {
		while (__atomic_load_n(&made, __ATOMIC_ACQUIRE) < i)
			sched_yield();
		delete_once();
		__atomic_store_n(&answered, i, __ATOMIC_RELEASE);
	}
}

static void stand_somewhere(void *how)
{
	static struct spinner spinner;

	switch (*(int *)how) {
	case 0:
		spin(&spinner);
		break;
	case 1:
		rt_sem_p(&sem, TM_INFINITE);
		break;
	case 2:
		rt_task_sleep_until(TM_INFINITE);
		break;
	default:
		rt_task_suspend(NULL);
		break;
	}
	kit_fail(__FILE__, __LINE__, "nobody has ended this task");
}

/* task.md 7.33; every fifth has not been started. */
static void one_of_two_deleters_wins(void)
{
	RT_TASK other;
	int i, how, start;

	needs_shared_library();
	kit_unpin();
	MAKE_SEM(&sem, 0, S_FIFO);
	kit_spawn(&other, 0, delete_each, NULL);
	for (i = 1; i <= ROUNDS; i++) {
		how = i % 5;
		CHECK_EQ(rt_task_create(&prey, "prey", 0, 0, T_JOINABLE), 0);
		if (how < 4)
			CHECK_EQ(rt_task_start(&prey, stand_somewhere, &how), 0);
		__atomic_store_n(&made, i, __ATOMIC_RELEASE);
		for (start = 0; start < i * 37 % 500; start++)
			__atomic_load_n(&made, __ATOMIC_SEQ_CST);
		delete_once();
		while (__atomic_load_n(&answered, __ATOMIC_ACQUIRE) < i)
			sched_yield();
		CHECK_EQ(deleted, i);
		CHECK_EQ(refused, i);
		CHECK_EQ(rt_task_join(&prey), 0);
		check_absent("prey");
	}
	kit_join(&other);
	CHECK_SEM(&sem, 0, 0);
}

KIT_CASES(
	CASE(deleted_waiter_swallows_no_token), CASE_FIFO(token_of_a_deleted_grantee_goes_back_to_the_count),
	CASE_FIFO(pulse_of_a_deleted_grantee_is_dropped), CASE_FIFO(token_of_a_deleted_grantee_goes_to_the_next_waiter),
	CASE(suspended_grantee_returns_its_token), CASE(second_deleter_is_refused_at_once),
	CASE_KERNEL(target_inherits_the_deleters_priority), CASE(tasks_that_delete_themselves),
	CASE(one_of_two_deleters_wins))
