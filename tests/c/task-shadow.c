/* rt_task_shadow: a thread becomes a task, or stays exactly what it was. */
#include "kit.h"
#include "tasks.h"

#include <limits.h>

static RT_TASK task;

static void check_shadowed(const RT_TASK *made, const char *name, int prio)
{
	char comm[32];
	RT_TASK_INFO info;
	RT_TASK bound, *self = rt_task_self();

	CHECK(self != NULL);
	CHECK_EQ(self->handle, made->handle);
	CHECK(pthread_equal(self->thread, pthread_self()));
	CHECK(pthread_equal(made->thread, pthread_self()));
	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	CHECK_EQ(info.stat.status, 0x11); /* not 0x10011 */
	CHECK_EQ(info.prio, prio);
	CHECK_EQ(info.pid, gettid());
	CHECK_STR(info.name, name);
	CHECK_EQ(pthread_getname_np(pthread_self(), comm, sizeof(comm)), 0);
	CHECK(strncmp(comm, name, 15) == 0);
	CHECK_EQ(rt_task_bind(&bound, name, TM_NONBLOCK), 0);
	CHECK_EQ(rt_task_same(&bound, self), 1);
	if (kit_fifo())
		CHECK_EQ(kernel_prio(0), prio);
}

/* task.md 7.40 */
static void initial_thread_becomes_a_task(void)
{
	CHECK(rt_task_self() == NULL);
	CHECK_EQ(rt_task_shadow(&task, "a-main-thread-with-a-long-name", 30, 0), 0);
	check_shadowed(&task, "a-main-thread-with-a-long-name", 30);
	CHECK_EQ(rt_task_shadow(&task, "other", 30, 0), -EBUSY);
	CHECK_EQ(rt_task_shadow(NULL, NULL, 0, 0), -EBUSY);
	check_absent("other");
	check_shadowed(&task, "a-main-thread-with-a-long-name", 30);
}

static void shadow_me(void *arg)
{
	RT_TASK mine;

	(void)arg;
	CHECK(rt_task_self() == NULL);
	CHECK_EQ(rt_task_shadow(&mine, "plain", 20, T_WARNSW), 0);
	check_shadowed(&mine, "plain", 20);
	CHECK_EQ(rt_task_shadow(&mine, "other", 20, 0), -EBUSY);
	CHECK_EQ(rt_task_sleep(1000000), 0); /* -EPERM before */
}

static void plain_thread_becomes_a_task(void)
{
	kit_plain(shadow_me, NULL);
	check_free("plain");
	CHECK(rt_task_self() == NULL);
}

static void shadow_from_a_task(void *arg)
{
	RT_TASK mine, before;

	(void)arg;
	memset(&mine, 0x5a, sizeof(mine));
	before = mine;
	CHECK_EQ(rt_task_shadow(&mine, "twice", 0, 0), -EBUSY);
	/* The order of the checks: mode, then busy, then priority. */
	CHECK_EQ(rt_task_shadow(&mine, "twice", 0, 0x8), -EINVAL);
	CHECK_EQ(rt_task_shadow(&mine, "twice", 100, 0), -EBUSY);
	CHECK_SAME_BYTES(&mine, &before, sizeof(mine));
	check_absent("twice");
}

static void created_task_is_busy(void)
{
	as_task(0, shadow_from_a_task, NULL);
}

static void without_a_descriptor(void)
{
	CHECK_EQ(rt_task_shadow(NULL, "bare", 0, 0), 0);
	CHECK(rt_task_self() != NULL);
	CHECK_STR(name_of(NULL), "bare");
}

static void name_is_generated(void)
{
	CHECK_EQ(rt_task_shadow(&task, NULL, 0, 0), 0);
	CHECK_STR(name_of(NULL), "task@1");
}

/* Nothing of the calling thread has changed. */
static void check_untouched(const RT_TASK *descriptor, const char *comm, int prio)
{
	RT_TASK pattern;
	char now[32];

	memset(&pattern, 0x5a, sizeof(pattern));
	CHECK_SAME_BYTES(descriptor, &pattern, sizeof(pattern));
	CHECK(rt_task_self() == NULL);
	CHECK_EQ(rt_task_inquire(NULL, NULL), -EPERM);
	CHECK_EQ(pthread_getname_np(pthread_self(), now, sizeof(now)), 0);
	CHECK_STR(now, comm);
	CHECK_EQ(kernel_prio(0), prio);
}

/* task.md 7.40: the class of the thread included. */
static void used_name_changes_nothing(void)
{
	RT_TASK holder, mine;
	char comm[32];

	CHECK_EQ(pthread_getname_np(pthread_self(), comm, sizeof(comm)), 0);
	CHECK_EQ(rt_task_create(&holder, "used", 0, 0, T_JOINABLE), 0);
	memset(&mine, 0x5a, sizeof(mine));
	CHECK_EQ(rt_task_shadow(&mine, "used", 40, 0), -EEXIST);
	check_untouched(&mine, comm, 0);
	CHECK_EQ(rt_task_shadow(&mine, "used", 40, T_LOCK), -EEXIST);
	check_untouched(&mine, comm, 0);
	finish(&holder);
	/* And it may try again. */
	CHECK_EQ(rt_task_shadow(&mine, "used", 40, 0), 0);
	check_shadowed(&mine, "used", 40);
}

static void bad_arguments_change_nothing(void)
{
	static const int modes[] = { 0x4, 0x8, 0x10000, 0x800000, 0x1000000, -1 };
	RT_TASK mine;
	char comm[32];
	size_t i;

	CHECK_EQ(pthread_getname_np(pthread_self(), comm, sizeof(comm)), 0);
	memset(&mine, 0x5a, sizeof(mine));
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		CHECK_EQ(rt_task_shadow(&mine, "bad", 10, modes[i]), -EINVAL);
	CHECK_EQ(rt_task_shadow(&mine, "bad", 100, 0), -EINVAL);
	CHECK_EQ(rt_task_shadow(&mine, "bad", -1, 0), -EINVAL);
	check_untouched(&mine, comm, 0);
	check_absent("bad");
}

static void fifo_thread_becomes_an_ordinary_task(void)
{
	struct sched_param param = { .sched_priority = 20 };

	CHECK_EQ(pthread_setschedparam(pthread_self(), SCHED_FIFO, &param), 0);
	CHECK_EQ(rt_task_shadow(&task, "lowered", 0, 0), 0);
	check_shadowed(&task, "lowered", 0);
}

static void lock_is_taken(void)
{
	RT_TASK_INFO info;

	CHECK_EQ(rt_task_shadow(&task, "locker", 10, T_LOCK), 0);
	CHECK_EQ(kernel_prio(0), 98);
	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	CHECK_EQ(info.prio, 10);
	CHECK_EQ(info.stat.schedlock, 1);
}

static void self_is_stable(void)
{
	RT_TASK *self;

	CHECK_EQ(rt_task_shadow(&task, "stable", 0, 0), 0);
	self = rt_task_self();
	CHECK(self != NULL && self != &task);
	memset(&task, 0, sizeof(task)); /* the caller's copy does not matter */
	CHECK_EQ(rt_task_sleep(1000000), 0);
	CHECK(rt_task_self() == self);
	CHECK_EQ(rt_task_inquire(self, NULL), 0);
}

static RT_SEM sem;

static void *shadow_and_take(void *arg)
{
	CHECK_EQ(rt_task_shadow(NULL, (const char *)arg, 0, 0), 0);
	take(&sem);
	return NULL;
}

/* Seen by others: 0x20011 while it waits, stale afterwards. */
static void others_see_it_wait(void)
{
	pthread_t thread;
	RT_TASK bound;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	thread = start_thread(shadow_and_take, (void *)"seen");
	CHECK_EQ(rt_task_bind(&bound, "seen", TM_INFINITE), 0);
	CHECK(pthread_equal(bound.thread, thread));
	until(kit_blocked(&bound));
	CHECK_EQ(kit_status(&bound), 0x20011);
	/* It has been started already. */
	CHECK_EQ(rt_task_start(&bound, nothing, NULL), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	check_stale(&bound);
	check_free("seen");
}

static void thousand_threads_are_shadowed(void)
{
	pthread_t thread;
	int i;

	CHECK_EQ(rt_sem_create(&sem, NULL, 1000, S_PRIO), 0);
	for (i = 0; i < 1000; i++) {
		thread = start_thread(shadow_and_take, (void *)"again");
		CHECK_EQ(pthread_join(thread, NULL), 0);
	}
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), -EWOULDBLOCK);
}

static pthread_key_t key;

static void shadow_late(void *arg)
{
	CHECK_EQ(rt_task_shadow(NULL, (const char *)arg, 0, 0), 0);
	CHECK_STR(name_of(NULL), (const char *)arg);
}

static void *set_key(void *arg)
{
	CHECK_EQ(pthread_setspecific(key, arg), 0);
	return NULL;
}

/* A thread that becomes a task in a destructor of its own data is as short-lived a task. */
static void shadow_in_a_destructor_ends(void)
{
	RT_TASK bound;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	CHECK_EQ(pthread_key_create(&key, shadow_late), 0);
	CHECK_EQ(pthread_join(start_thread(set_key, (void *)"late"), NULL), 0);
	CHECK_EQ(rt_task_bind(&bound, "late", TM_NONBLOCK), -EWOULDBLOCK);
	check_free("late");
}

/* In the last round of destructors, after the library's own. */
static void outlive_the_task(void *arg)
{
	static int round;
	RT_SEM_INFO info;

	if (++round < PTHREAD_DESTRUCTOR_ITERATIONS) {
		CHECK_EQ(pthread_setspecific(key, arg), 0);
		return;
	}
	CHECK(rt_task_self() == NULL);
	check_free("main");
	/* The next task may have the slot; its wait is not to be disturbed. */
	kit_spawn_blocked(&task, 0, take, &sem);
	CHECK_EQ(rt_task_sleep(1000), -EPERM);
	CHECK_EQ(rt_task_sleep(0), -EPERM);
	CHECK_EQ(rt_sem_p(&sem, 1000), -EPERM);
	CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
	CHECK_EQ(info.nwaiters, 1);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
	_exit(0);
}

static void dead_shadowed_initial_thread_is_a_plain_one(void)
{
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	/* Made after the library's key, so its destructor runs after that one in each round. */
	CHECK_EQ(pthread_key_create(&key, outlive_the_task), 0);
	set_key(&key);
	CHECK_EQ(rt_task_shadow(NULL, "main", 0, 0), 0);
	pthread_exit(NULL);
}

KIT_CASES(
	CASE(initial_thread_becomes_a_task), CASE(plain_thread_becomes_a_task), CASE(created_task_is_busy),
	CASE(without_a_descriptor), CASE(name_is_generated), CASE(used_name_changes_nothing),
	CASE(bad_arguments_change_nothing), CASE_KERNEL(fifo_thread_becomes_an_ordinary_task), CASE_KERNEL(lock_is_taken),
	CASE(self_is_stable), CASE(others_see_it_wait), CASE(thousand_threads_are_shadowed),
	CASE(shadow_in_a_destructor_ends), CASE(dead_shadowed_initial_thread_is_a_plain_one))
