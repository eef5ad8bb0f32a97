/* What the tests of task control share: tasks that compute, signals, descriptors that are refused. Include it after
 * kit.h. */
#ifndef CONTROL_KIT_H
#define CONTROL_KIT_H

#include "tasks.h"
#include "sem-kit.h"
#include "child.h"

/* State bits of RT_TASK_INFO.stat.status. */
#define DORMANT 0x10000U
#define SUSPENDED 0x20U
#define PERIODIC 0x80U

/* The longest a task computes before it fails the case: a SCHED_FIFO task that computes starves its CPU. */
#define SPIN_LIMIT (5000 * MS)

/* Nanoseconds since `start`, a value of kit_now(). */
KIT_UNUSED static RTIME since(long long start)
{
	return (RTIME)(kit_now() - start);
}

/* CPU time of the calling thread in nanoseconds. */
KIT_UNUSED static RTIME own_cpu_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (RTIME)now.tv_sec * 1000 * MS + (RTIME)now.tv_nsec;
}

KIT_UNUSED static void mark_it(void *text)
{
	mark((const char *)text);
}

/* ---- Tasks that compute --------------------------------------------------------------------------------------- */

/* Counts its turns until told to stop. */
struct spinner {
	RT_TASK task;
	unsigned long turns;
	int stop;
};

KIT_UNUSED static void spin(void *spinner_)
{
	struct spinner *spinner = (struct spinner *)spinner_;
	long long start = kit_now();

	while (!__atomic_load_n(&spinner->stop, __ATOMIC_ACQUIRE)) {
		unsigned long turns = __atomic_load_n(&spinner->turns, __ATOMIC_RELAXED) + 1;

		__atomic_store_n(&spinner->turns, turns, __ATOMIC_RELAXED);
		if (turns % 0x10000 == 0 && since(start) > SPIN_LIMIT)
			kit_fail(__FILE__, __LINE__, "nobody has ended this spinner");
	}
}

KIT_UNUSED static unsigned long turns_of(struct spinner *spinner)
{
	return __atomic_load_n(&spinner->turns, __ATOMIC_ACQUIRE);
}

/* Starts one; it may not have come to its first turn yet. */
KIT_UNUSED static void start_spinner(struct spinner *spinner, int prio)
{
	spinner->turns = 0;
	spinner->stop = 0;
	kit_spawn(&spinner->task, prio, spin, spinner);
}

KIT_UNUSED static void end_spinner(struct spinner *spinner)
{
	__atomic_store_n(&spinner->stop, 1, __ATOMIC_RELEASE);
	kit_join(&spinner->task);
}

/* Computes until `*flag` is set by somebody else. */
KIT_UNUSED static void spin_until(const int *flag, const char *whose)
{
	long long start = kit_now();

	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
		if (since(start) > SPIN_LIMIT)
			kit_fail(__FILE__, __LINE__, "%s has not run", whose);
}

KIT_UNUSED static void set_flag(void *flag)
{
	__atomic_store_n((int *)flag, 1, __ATOMIC_RELEASE);
}

/* ---- The kernel's view ---------------------------------------------------------------------------------------- */

/* Its state letter for a thread of this process; '?' if there is none. */
KIT_UNUSED static char kernel_state(pid_t tid)
{
	char path[64], text[512], *at;
	size_t got;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	file = fopen(path, "r");
	if (!file)
		return '?';
	got = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[got] = '\0';
	at = strrchr(text, ')');
	return at && at[1] ? at[2] : '?';
}

/* ---- Signals -------------------------------------------------------------------------------------------------- */

static int signals_seen;

KIT_UNUSED static void count_signal(int signal)
{
	(void)signal;
	__atomic_add_fetch(&signals_seen, 1, __ATOMIC_RELAXED);
}

KIT_UNUSED static int signal_count(void)
{
	return __atomic_load_n(&signals_seen, __ATOMIC_RELAXED);
}

/* SIGUSR1 is counted; system calls it interrupts are not restarted. */
KIT_UNUSED static void count_sigusr1(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = count_signal;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
}

KIT_UNUSED static void send_sigusr1(RT_TASK *task)
{
	CHECK_EQ(tgkill(getpid(), tid_of(task), SIGUSR1), 0);
}

/* ---- Descriptors ---------------------------------------------------------------------------------------------- */

/* Every service of task control refuses this descriptor, which is not NULL. */
KIT_UNUSED static void check_refused(RT_TASK *task)
{
	RTIME future = rt_timer_read() + 1000000 * MS;

	CHECK_EQ(rt_task_suspend(task), -EINVAL);
	CHECK_EQ(rt_task_resume(task), -EINVAL);
	CHECK_EQ(rt_task_unblock(task), -EINVAL);
	CHECK_EQ(rt_task_set_priority(task, 10), -EINVAL);
	CHECK_EQ(rt_task_set_priority(task, 0), -EINVAL);
	CHECK_EQ(rt_task_slice(task, MS), -EINVAL);
	CHECK_EQ(rt_task_slice(task, 0), -EINVAL);
	CHECK_EQ(rt_task_set_periodic(task, TM_NOW, MS), -EINVAL);
	CHECK_EQ(rt_task_set_periodic(task, future, MS), -EINVAL);
	CHECK_EQ(rt_task_set_periodic(task, TM_NOW, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_task_delete(task), -EINVAL);
}

/* A deleted task has left nothing but what a joiner is to get. */
KIT_UNUSED static void check_gone(RT_TASK *task, const char *name)
{
	check_stale(task);
	check_refused(task);
	check_absent(name);
	check_free(name);
}

#endif /* CONTROL_KIT_H */
