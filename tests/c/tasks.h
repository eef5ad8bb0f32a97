/* Small steps the tests of tasks share. Include it after kit.h. */
#ifndef TASKS_H
#define TASKS_H

#include <alchemy/sem.h>
#include <dirent.h>

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

/* Starts a plain thread. Its stack is small: where memory is locked, all of it counts against RLIMIT_MEMLOCK. */
KIT_UNUSED static pthread_t start_thread(void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	CHECK_EQ(pthread_create(&thread, &attr, run, arg), 0);
	pthread_attr_destroy(&attr);
	return thread;
}

/* Runs a joinable task that was only created to its end. */
KIT_UNUSED static void finish(RT_TASK *task)
{
	CHECK_EQ(rt_task_start(task, nothing, NULL), 0);
	kit_join(task);
}

/* Runs `body(arg)` as a task of that priority, to its end. */
KIT_UNUSED static void as_task(int prio, void (*body)(void *), void *arg)
{
	RT_TASK task;

	kit_spawn(&task, prio, body, arg);
	kit_join(&task);
}

/* No task has this name. */
KIT_UNUSED static void check_absent(const char *name)
{
	RT_TASK task;

	CHECK_EQ(rt_task_bind(&task, name, TM_NONBLOCK), -EWOULDBLOCK);
}

/* A fresh joinable task may have this name. */
KIT_UNUSED static void check_free(const char *name)
{
	RT_TASK task;

	CHECK_EQ(rt_task_create(&task, name, 0, 0, T_JOINABLE), 0);
	finish(&task);
}

/* The descriptor has become worthless: every service but join refuses it. */
KIT_UNUSED static void check_stale(RT_TASK *task)
{
	RT_TASK_INFO info;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	CHECK_EQ(rt_task_inquire(task, &info), -EINVAL);
	CHECK_EQ(rt_task_inquire(task, NULL), -EINVAL);
	CHECK_EQ(rt_task_start(task, nothing, NULL), -EINVAL);
	CHECK_EQ(rt_task_set_affinity(task, &cpus), -EINVAL);
}

/* The effective name of a live task. */
KIT_UNUSED static const char *name_of(RT_TASK *task)
{
	static RT_TASK_INFO info;

	CHECK_EQ(rt_task_inquire(task, &info), 0);
	return info.name;
}

/* The kernel's id of a live task. */
KIT_UNUSED static pid_t tid_of(RT_TASK *task)
{
	RT_TASK_INFO info;

	CHECK_EQ(rt_task_inquire(task, &info), 0);
	return info.pid;
}

/* Policy and priority the kernel runs the thread with: 0 is SCHED_OTHER, else SCHED_FIFO and the priority. */
KIT_UNUSED static int kernel_prio(pid_t tid)
{
	struct sched_param param;
	int policy = sched_getscheduler(tid);

	CHECK(policy == SCHED_OTHER || policy == SCHED_FIFO);
	CHECK_EQ(sched_getparam(tid, &param), 0);
	return policy == SCHED_OTHER ? 0 : param.sched_priority;
}

/* Threads of this process, helpers of the library included. */
KIT_UNUSED static int count_threads(void)
{
	DIR *directory = opendir("/proc/self/task");
	struct dirent *entry;
	int count = 0;

	CHECK(directory != NULL);
	while ((entry = readdir(directory)) != NULL)
		count += entry->d_name[0] != '.';
	closedir(directory);
	return count;
}

#endif /* TASKS_H */
