/* fork in a private run: the child has objects of its own, and of the tasks only the one that forked. */
#include "kit.h"
#include "tasks.h"
#include "child.h"

#define MS 1000000LL

static RT_SEM sem;
static RT_TASK waiter;

static void make_sem(unsigned long count)
{
	CHECK_EQ(rt_sem_create(&sem, "shared?", count, S_PRIO), 0);
}

static void check_sem(unsigned long count, int waiters)
{
	RT_SEM_INFO info;

	CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
	CHECK_STR(info.name, "shared?");
	CHECK_EQ(info.count, count);
	CHECK_EQ(info.nwaiters, waiters);
}

static void take_unit(void *arg)
{
	(void)arg;
	check_sem(1, 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
	check_sem(0, 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), -EWOULDBLOCK);
}

static void childs_p_takes_nothing_from_the_parent(void)
{
	make_sem(1);
	CHECK_EQ(in_child(take_unit, NULL), 0);
	check_sem(1, 0);
	CHECK_EQ(in_child(take_unit, NULL), 0); /* nor from the next child */
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
}

static void give_twice(void *arg)
{
	(void)arg;
	check_sem(0, 0); /* the waiter has not come along */
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	check_sem(2, 0);
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
}

static void childs_v_wakes_nobody_in_the_parent(void)
{
	make_sem(0);
	kit_spawn_blocked(&waiter, 10, take, &sem);
	CHECK_EQ(in_child(give_twice, NULL), 0);
	kit_nap(5 * MS);
	check_sem(0, 1);
	CHECK(kit_blocked(&waiter));
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&waiter);
	check_sem(0, 0);
}

static void delete_and_recreate(void *arg)
{
	RT_SEM_INFO info;
	RT_SEM bound;

	(void)arg;
	CHECK_EQ(rt_sem_bind(&bound, "shared?", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, sem.handle);
	CHECK_EQ(rt_sem_delete(&bound), 0);
	CHECK_EQ(rt_sem_inquire(&sem, &info), -EINVAL);
	CHECK_EQ(rt_sem_bind(&bound, "shared?", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_create(&bound, "shared?", 9, S_FIFO), 0);
	CHECK_EQ(rt_sem_create(&bound, "child's", 0, S_FIFO), 0);
}

static void childs_names_are_its_own(void)
{
	RT_SEM bound;

	make_sem(3);
	CHECK_EQ(in_child(delete_and_recreate, NULL), 0);
	check_sem(3, 0);
	CHECK_EQ(rt_sem_bind(&bound, "child's", TM_NONBLOCK), -EWOULDBLOCK);
}

static void count_up(void *arg)
{
	CHECK_EQ(rt_task_sleep(1000), 0);
	*(int *)arg += 1;
	CHECK_EQ(rt_sem_v(&sem), 0);
}

static void use_everything(void *arg)
{
	RT_TASK task, bound;
	int i, runs = 0;

	(void)arg;
	for (i = 0; i < 10; i++) {
		CHECK_EQ(rt_task_spawn(&task, "worker", 0, 10, T_JOINABLE, count_up, &runs), 0);
		CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
		CHECK_EQ(rt_task_join(&task), 0);
	}
	CHECK_EQ(runs, 10);
	CHECK_EQ(rt_sem_p(&sem, MS), -ETIMEDOUT);
	CHECK_EQ(rt_task_bind(&bound, "absent", MS), -ETIMEDOUT);
	CHECK_EQ(rt_task_sleep(MS), 0);
}

static void child_can_do_everything(void)
{
	make_sem(0);
	CHECK_EQ(in_child(use_everything, NULL), 0);
	use_everything(NULL);
	CHECK_EQ(in_child(use_everything, NULL), 0);
}

static void fork_again(void *arg)
{
	use_everything(arg);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(in_child(take_unit, NULL), 0);
	check_sem(1, 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
	CHECK_EQ(in_child(use_everything, NULL), 0);
}

static void grandchildren(void)
{
	make_sem(0);
	CHECK_EQ(in_child(fork_again, NULL), 0);
	check_sem(0, 0);
}

static RT_TASK dormant, sleeper;

static void sleep_long(void *arg)
{
	(void)arg;
	rt_task_sleep(1000000 * MS);
}

static void others_are_gone(void *arg)
{
	RT_TASK *gone[] = { &waiter, &dormant, &sleeper };
	static const char *const names[] = { "waiter", "dormant", "sleeper" };
	int i;

	(void)arg;
	for (i = 0; i < 3; i++) {
		check_stale(gone[i]);
		check_absent(names[i]);
		check_free(names[i]);
		check_stale(gone[i]);
	}
	check_sem(0, 0);
}

static void child_has_no_other_tasks(void)
{
	no_thread_sanitizer();
	make_sem(0);
	CHECK_EQ(rt_task_create(&dormant, "dormant", 0, 5, T_JOINABLE), 0);
	CHECK_EQ(rt_task_spawn(&sleeper, "sleeper", 0, 5, 0, sleep_long, NULL), 0);
	CHECK_EQ(rt_task_spawn(&waiter, "waiter", 0, 5, T_JOINABLE, take, &sem), 0);
	until(kit_blocked(&waiter) && kit_blocked(&sleeper));
	CHECK_EQ(in_child(others_are_gone, NULL), 0);
	/* They are all still here. */
	CHECK(kit_blocked(&waiter));
	CHECK(kit_blocked(&sleeper));
	CHECK_EQ(kit_status(&dormant), 0x10000);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&waiter);
	finish(&dormant);
}

static void am_still_myself(void *before_)
{
	const RT_TASK *before = (const RT_TASK *)before_;
	RT_TASK_INFO info;
	RT_TASK bound;

	CHECK(rt_task_self() != NULL);
	CHECK_EQ(rt_task_self()->handle, before->handle);
	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	CHECK_EQ(info.prio, 15);
	CHECK_EQ(info.stat.status, 0x11);
	CHECK_STR(info.name, "forker");
	CHECK_EQ(info.pid, gettid());
	CHECK_EQ(info.pid, getpid());
	CHECK_EQ(rt_task_bind(&bound, "forker", TM_NONBLOCK), 0);
	CHECK_EQ(rt_task_same(&bound, rt_task_self()), 1);
	CHECK_EQ(rt_task_shadow(NULL, NULL, 0, 0), -EBUSY);
	check_stale(&waiter);
	CHECK_EQ(rt_task_join(rt_task_self()), -EDEADLK);
	use_everything(NULL);
}

static void fork_as_a_task(void *arg)
{
	RT_TASK before = *rt_task_self();
	pid_t tid = gettid();

	(void)arg;
	CHECK_EQ(in_child(am_still_myself, &before), 0);
	CHECK_EQ(tid_of(NULL), tid);
	CHECK(kit_blocked(&waiter));
}

static void forking_task_keeps_its_identity(void)
{
	RT_TASK task;
	RT_SEM other;

	no_thread_sanitizer();
	make_sem(0);
	CHECK_EQ(rt_sem_create(&other, NULL, 0, S_PRIO), 0);
	kit_spawn_blocked(&waiter, 10, take, &other);
	CHECK_EQ(rt_task_spawn(&task, "forker", 0, 15, T_JOINABLE, fork_as_a_task, NULL), 0);
	kit_join(&task);
	CHECK_EQ(rt_sem_v(&other), 0);
	kit_join(&waiter);
}

static void initial_in_the_child(void *arg)
{
	(void)arg;
	CHECK(rt_task_self() == NULL);
	CHECK_EQ(rt_task_inquire(NULL, NULL), -EPERM);
	CHECK_EQ(rt_sem_p(&sem, MS), -ETIMEDOUT);
	CHECK_EQ(rt_task_sleep(1000), 0);
	CHECK_EQ(rt_task_shadow(NULL, "child", 0, 0), 0);
	CHECK_EQ(tid_of(NULL), getpid());
}

static void initial_thread_stays_initial(void)
{
	make_sem(0);
	CHECK_EQ(in_child(initial_in_the_child, NULL), 0);
	CHECK(rt_task_self() == NULL);
	check_absent("child");
}

static int stop;

static void churn(void *arg)
{
	RT_SEM own;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		CHECK_EQ(rt_sem_v(&sem), 0);
		CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
		CHECK_EQ(rt_sem_create(&own, NULL, 0, S_FIFO), 0);
		rt_sem_p(&own, 1000);
		CHECK_EQ(rt_sem_delete(&own), 0);
	}
}

static void nothing_is_stuck(void *arg)
{
	RT_SEM_INFO info;
	RT_TASK task;
	RT_SEM own;

	(void)arg;
	CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
	CHECK_EQ(info.nwaiters, 0);
	CHECK(info.count <= 3);
	CHECK_EQ(rt_sem_broadcast(&sem), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
	CHECK_EQ(rt_sem_create(&own, NULL, 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_p(&own, 1000), -ETIMEDOUT);
	CHECK_EQ(rt_sem_delete(&own), 0);
	CHECK_EQ(rt_task_spawn(&task, NULL, 0, 0, T_JOINABLE, nothing, NULL), 0);
	CHECK_EQ(rt_task_join(&task), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

/* Others are in the middle of things, locks held: the child finds everything in order. */
static void fork_amid_other_tasks(void)
{
	RT_TASK task[3];
	int i;

	no_thread_sanitizer();
	make_sem(0);
	for (i = 0; i < 3; i++)
		kit_spawn(&task[i], 0, churn, NULL);
	for (i = 0; i < 100; i++)
		CHECK_EQ(in_child(nothing_is_stuck, NULL), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		kit_join(&task[i]);
	check_sem(0, 0);
}

static void system_and_popen_work(void)
{
	char line[16] = "";
	FILE *pipe;

	make_sem(1);
	kit_spawn_blocked(&sleeper, 10, sleep_long, NULL);
	CHECK_EQ(WEXITSTATUS(system("exit 3")), 3);
	pipe = popen("echo through", "r");
	CHECK(pipe != NULL);
	CHECK(fgets(line, sizeof(line), pipe) != NULL);
	CHECK_EQ(pclose(pipe), 0);
	CHECK_STR(line, "through\n");
	check_sem(1, 0);
	CHECK(kit_blocked(&sleeper));
}

static long locked_kib(void)
{
	char line[128];
	long kib = -1;
	FILE *file = fopen("/proc/self/status", "r");

	CHECK(file != NULL);
	while (kib < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmLck: %ld", &kib) != 1)
			kib = -1;
	fclose(file);
	return kib;
}

static void memory_is_locked(void *arg)
{
	(void)arg;
	CHECK(locked_kib() > 0);
}

static void memory_is_locked_again(void)
{
	no_sanitizer();
	if (geteuid() != 0)
		SKIP("needs the right to lock memory");
	make_sem(0);
	CHECK(locked_kib() > 0); /* the library did that at start-up, or now */
	CHECK_EQ(in_child(memory_is_locked, NULL), 0);
}

KIT_CASES(
	CASE(childs_p_takes_nothing_from_the_parent), CASE(childs_v_wakes_nobody_in_the_parent),
	CASE(childs_names_are_its_own), CASE(child_can_do_everything), CASE(grandchildren),
	CASE(child_has_no_other_tasks), CASE(forking_task_keeps_its_identity), CASE(initial_thread_stays_initial),
	CASE(fork_amid_other_tasks), CASE(system_and_popen_work), CASE(memory_is_locked_again))
