/* A regression test with <alchemy-test.h>: who runs when, on any machine. */
#include <alchemy-test.h>
#include <alchemy/mutex.h>
#include <alchemy/sem.h>

static RT_SEM sem;
static RT_MUTEX mutex;

static void consumer(void *name)
{
	at_check_eq(rt_sem_p(&sem, TM_INFINITE), 0);
	at_mark((const char *)name);
}

static void waiters_are_served_by_priority(void)
{
	RT_TASK low, high;

	at_check_eq(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	at_check_eq(rt_task_spawn(&low, NULL, 0, 10, T_JOINABLE, consumer, (void *)"low"), 0);
	at_check_eq(rt_task_spawn(&high, NULL, 0, 20, T_JOINABLE, consumer, (void *)"high"), 0);
	at_mark("post");
	at_check_eq(rt_sem_v(&sem), 0);
	at_mark("post");
	at_check_eq(rt_sem_v(&sem), 0);
	at_check_eq(rt_task_join(&low), 0);
	at_check_eq(rt_task_join(&high), 0);
	at_expect("post high post low");
}

static void owner(void *arg)
{
	(void)arg;
	at_check_eq(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	at_mark("owned");
	at_check_eq(rt_sem_p(&sem, TM_INFINITE), 0);
	at_mark("release");
	at_check_eq(rt_mutex_release(&mutex), 0);
	at_mark("released");
}

static void contender(void *arg)
{
	(void)arg;
	at_mark("wants");
	at_check_eq(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	at_mark("got");
	at_check_eq(rt_mutex_release(&mutex), 0);
}

static void release_lets_the_higher_task_run(void)
{
	RT_TASK low, high;

	at_check_eq(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	at_check_eq(rt_mutex_create(&mutex, NULL), 0);
	at_check_eq(rt_task_spawn(&low, NULL, 0, 10, T_JOINABLE, owner, NULL), 0);
	at_check_eq(rt_task_spawn(&high, NULL, 0, 20, T_JOINABLE, contender, NULL), 0);
	at_check_eq(rt_sem_v(&sem), 0);
	at_check_eq(rt_task_join(&low), 0);
	at_check_eq(rt_task_join(&high), 0);
	at_expect("owned wants release got released");
}

AT_CASES(AT_CASE(waiters_are_served_by_priority), AT_CASE(release_lets_the_higher_task_run))
