/* Small steps the tests of the 2.x interface share; includes kit.h without <alchemy/task.h>. */
#ifndef NATIVE_KIT_H
#define NATIVE_KIT_H

#define KIT_NO_ALCHEMY
#include "kit.h"
#include <native/sem.h>
#include <native/task.h>
#include <native/timer.h>

#define MS 1000000LL

/* The bits of RT_TASK_INFO.status whose meaning is fixed. */
#define STATUS_BITS (T_BLOCKED | T_DELAYED | T_DORMANT | T_STARTED)

/* The body of a task that only has to exist. */
KIT_UNUSED static void nothing(void *arg)
{
	(void)arg;
}

/* The body of a task that waits for a semaphore. */
KIT_UNUSED static void take(void *sem)
{
	CHECK_EQ(rt_sem_p((RT_SEM *)sem, TM_INFINITE), 0);
}

KIT_UNUSED static unsigned status_of(RT_TASK *task)
{
	RT_TASK_INFO info;

	CHECK_EQ(rt_task_inquire(task, &info), 0);
	return info.status & STATUS_BITS;
}

/* An unnamed joinable task, started. */
KIT_UNUSED static void spawn(RT_TASK *task, int prio, void (*body)(void *), void *arg)
{
	CHECK_EQ(rt_task_spawn(task, NULL, 0, prio, T_JOINABLE, body, arg), 0);
}

/* The same, waiting in the library when this returns. */
KIT_UNUSED static void spawn_blocked(RT_TASK *task, int prio, void (*body)(void *), void *arg)
{
	spawn(task, prio, body, arg);
	until(status_of(task) & (T_BLOCKED | T_DELAYED));
}

KIT_UNUSED static void join(RT_TASK *task)
{
	CHECK_EQ(rt_task_join(task), 0);
}

/* Runs `body(arg)` as a task of that priority, to its end. */
KIT_UNUSED static void as_task(int prio, void (*body)(void *), void *arg)
{
	RT_TASK task;

	spawn(&task, prio, body, arg);
	join(&task);
}

/* Runs a joinable task that was only created to its end. */
KIT_UNUSED static void finish(RT_TASK *task)
{
	CHECK_EQ(rt_task_start(task, nothing, NULL), 0);
	join(task);
}

/* No task has this name. */
KIT_UNUSED static void check_absent(const char *name)
{
	RT_TASK task;

	CHECK_EQ(rt_task_bind(&task, name, TM_NONBLOCK), -EWOULDBLOCK);
}

#endif /* NATIVE_KIT_H */
