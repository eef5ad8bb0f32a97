/*
 * What the mutex tests share: puppets, tasks that do one thing at a time when told to; a look at a mutex's owner and at
 * the priority the kernel gives a thread. Include it after kit.h and tasks.h, or after native-kit.h.
 *
 *     start(&low, 10, "low");
 *     CHECK_EQ(acquire(&low, &mutex, TM_INFINITE), 0);
 *     enqueue(&high, &mutex, TM_INFINITE);              returns when it waits
 *     CHECK_EQ(release(&low, &mutex), 0);
 *     CHECK_EQ(outcome(&high), 0);                      the wait's result
 *
 * All of this holds with and without SCHED_FIFO: the initial thread pulls the strings and waits for what it needs. With
 * SCHED_FIFO a puppet of higher priority than its puller has done its step, or blocks, when tell() returns.
 */
#ifndef MUTEX_KIT_H
#define MUTEX_KIT_H

#ifdef KIT_NO_ALCHEMY
#include <native/mutex.h>
#else
#include <alchemy/mutex.h>
#include <alchemy/sem.h>
#define MS 1000000LL
#endif

#define HOUR (3600000LL * MS)

/* --- Puppets ------------------------------------------------------------------------------------------------------ */

enum stage { IDLE, TOLD, BUSY, OVER };

struct puppet {
	RT_TASK task;
	pid_t tid;
	const char *tag; /* a mark after each step, unless NULL */
	RT_SEM go, done;
	int (*step)(RT_MUTEX *mutex, RTIME timeout);
	RT_MUTEX *mutex;
	RTIME timeout;
	int stage;
	int result;
};

KIT_UNUSED static void puppet_body(void *puppet_)
{
	struct puppet *puppet = (struct puppet *)puppet_;

	__atomic_store_n(&puppet->tid, gettid(), __ATOMIC_RELEASE);
	for (;;) {
		CHECK_EQ(rt_sem_p(&puppet->go, TM_INFINITE), 0);
		if (!puppet->step)
			return;
		__atomic_store_n(&puppet->stage, BUSY, __ATOMIC_RELEASE);
		puppet->result = puppet->step(puppet->mutex, puppet->timeout);
		if (puppet->tag)
			mark(puppet->tag);
		__atomic_store_n(&puppet->stage, OVER, __ATOMIC_RELEASE);
		CHECK_EQ(rt_sem_v(&puppet->done), 0);
	}
}

KIT_UNUSED static int task_waits(RT_TASK *task)
{
#ifdef KIT_NO_ALCHEMY
	return (status_of(task) & (T_BLOCKED | T_DELAYED)) != 0;
#else
	return kit_blocked(task);
#endif
}

/* A joinable task, named or not, that waits for its first step. */
KIT_UNUSED static void start_named(struct puppet *puppet, const char *name, int prio, const char *tag)
{
	memset(puppet, 0, sizeof(*puppet));
	puppet->tag = tag;
	CHECK_EQ(rt_sem_create(&puppet->go, NULL, 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_create(&puppet->done, NULL, 0, S_FIFO), 0);
	CHECK_EQ(rt_task_spawn(&puppet->task, name, 0, prio, T_JOINABLE, puppet_body, puppet), 0);
	until(task_waits(&puppet->task));
}

KIT_UNUSED static void start(struct puppet *puppet, int prio, const char *tag)
{
	start_named(puppet, NULL, prio, tag);
}

/* Lets it take a step; does not wait for it. */
KIT_UNUSED static void tell(struct puppet *puppet, int (*step)(RT_MUTEX *, RTIME), RT_MUTEX *mutex, RTIME timeout)
{
	puppet->step = step;
	puppet->mutex = mutex;
	puppet->timeout = timeout;
	__atomic_store_n(&puppet->stage, TOLD, __ATOMIC_RELEASE);
	CHECK_EQ(rt_sem_v(&puppet->go), 0);
}

/* Waits for the end of the step; what it gave. */
KIT_UNUSED static int outcome(struct puppet *puppet)
{
	CHECK_EQ(rt_sem_p(&puppet->done, TM_INFINITE), 0);
	return puppet->result;
}

KIT_UNUSED static int ask(struct puppet *puppet, int (*step)(RT_MUTEX *, RTIME), RT_MUTEX *mutex, RTIME timeout)
{
	tell(puppet, step, mutex, timeout);
	return outcome(puppet);
}

/* State letter and effective priority the kernel shows: 0 is SCHED_OTHER, 1..99 SCHED_FIFO, inheritance included. */
KIT_UNUSED static char kernel_state(pid_t tid, int *prio)
{
	char path[64], line[512], state = '?', *fields;
	FILE *file;
	int value = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	file = fopen(path, "r");
	CHECK(file != NULL);
	CHECK(fgets(line, sizeof(line), file) != NULL);
	fclose(file);
	fields = strrchr(line, ')'); /* the name may contain anything */
	CHECK(fields != NULL);
	/* Fields 3 and 18 of proc(5). */
	CHECK_EQ(sscanf(fields + 1,
			" %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %d", &state, &value), 2);
	if (prio)
		*prio = value < 0 ? -1 - value : 0;
	return state;
}

KIT_UNUSED static int effective_prio(struct puppet *puppet)
{
	int prio;

	kernel_state(puppet->tid, &prio);
	return prio;
}

/* Whether its step waits in the library, and not just about to. */
KIT_UNUSED static int is_queued(struct puppet *puppet)
{
	int stage = __atomic_load_n(&puppet->stage, __ATOMIC_ACQUIRE);

	if (stage == OVER)
		kit_fail(__FILE__, __LINE__, "the step should wait, but gave %d%s", puppet->result,
			 kit_errno_name(puppet->result));
	return stage == BUSY && task_waits(&puppet->task) && kernel_state(puppet->tid, NULL) == 'S';
}

/* Lets it take a step that has to wait; returns when it does. */
KIT_UNUSED static void tell_to_wait(struct puppet *puppet, int (*step)(RT_MUTEX *, RTIME), RT_MUTEX *mutex,
				    RTIME timeout)
{
	tell(puppet, step, mutex, timeout);
	until(is_queued(puppet));
}

/* Has it return from its body, with whatever it owns. */
KIT_UNUSED static void dismiss(struct puppet *puppet)
{
	puppet->step = NULL;
	CHECK_EQ(rt_sem_v(&puppet->go), 0);
	CHECK_EQ(rt_task_join(&puppet->task), 0);
}

/* --- Steps -------------------------------------------------------------------------------------------------------- */

KIT_UNUSED static int step_acquire(RT_MUTEX *mutex, RTIME timeout)
{
	return rt_mutex_acquire(mutex, timeout);
}

KIT_UNUSED static int step_acquire_until(RT_MUTEX *mutex, RTIME date)
{
	return rt_mutex_acquire_until(mutex, date);
}

KIT_UNUSED static int step_release(RT_MUTEX *mutex, RTIME unused)
{
	(void)unused;
	return rt_mutex_release(mutex);
}

KIT_UNUSED static int step_delete(RT_MUTEX *mutex, RTIME unused)
{
	(void)unused;
	return rt_mutex_delete(mutex);
}

KIT_UNUSED static int acquire(struct puppet *puppet, RT_MUTEX *mutex, RTIME timeout)
{
	return ask(puppet, step_acquire, mutex, timeout);
}

KIT_UNUSED static int poll_for(struct puppet *puppet, RT_MUTEX *mutex)
{
	return ask(puppet, step_acquire, mutex, TM_NONBLOCK);
}

KIT_UNUSED static void enqueue(struct puppet *puppet, RT_MUTEX *mutex, RTIME timeout)
{
	tell_to_wait(puppet, step_acquire, mutex, timeout);
}

KIT_UNUSED static int release(struct puppet *puppet, RT_MUTEX *mutex)
{
	return ask(puppet, step_release, mutex, 0);
}

/* --- Mutexes ------------------------------------------------------------------------------------------------------ */

/* A live unnamed mutex. */
#define MAKE_MUTEX(mutex) CHECK_EQ(rt_mutex_create((mutex), NULL), 0)

#ifndef KIT_NO_ALCHEMY
/* The mutex is owned by that task. */
#define CHECK_OWNER(mutex, task) \
	do { \
		RT_MUTEX_INFO info_; \
		CHECK_EQ(rt_mutex_inquire((mutex), &info_), 0); \
		CHECK_EQ(info_.owner.handle, (task)->handle); \
		CHECK_EQ(rt_task_same(&info_.owner, (task)), 1); \
	} while (0)

/* The mutex is owned by nobody. */
#define CHECK_UNOWNED(mutex) \
	do { \
		RT_MUTEX_INFO info_; \
		CHECK_EQ(rt_mutex_inquire((mutex), &info_), 0); \
		CHECK_EQ(info_.owner.handle, 0); \
	} while (0)

/* A puppet takes the mutex, with the expected result, and gives it back: it is usable, and was free or an orphan. */
KIT_UNUSED static void use_once(struct puppet *puppet, RT_MUTEX *mutex, int result)
{
	CHECK_EQ(poll_for(puppet, mutex), result);
	CHECK_OWNER(mutex, &puppet->task);
	CHECK_EQ(release(puppet, mutex), 0);
	CHECK_EQ(release(puppet, mutex), -EPERM);
}

/* What the kernel runs the task with, and what the library says of it. */
KIT_UNUSED static void check_prio(struct puppet *puppet, int effective, int base)
{
	RT_TASK_INFO info;

	CHECK_EQ(effective_prio(puppet), effective);
	CHECK_EQ(rt_task_inquire(&puppet->task, &info), 0);
	CHECK_EQ(info.prio, base);
}

/* Suspends a task that waits for a mutex. It leaves the queue by itself: with SCHED_FIFO, on the one CPU, it has done
 * so when the initial thread goes on; elsewhere nothing tells, and this gives it time. */
KIT_UNUSED static void suspend_waiter(struct puppet *puppet)
{
	CHECK_EQ(rt_task_suspend(&puppet->task), 0);
	if (!kit_fifo())
		kit_nap(100 * MS);
}
#endif

/* For cases that end the wait of a thread from outside: the library does that by changing the context a signal returns
 * to, and the thread sanitizer neither delivers that signal in time nor honours the change. */
KIT_UNUSED static void needs_interruptible_waits(void)
{
#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer loses the changed signal context");
#endif
}

#endif /* MUTEX_KIT_H */
