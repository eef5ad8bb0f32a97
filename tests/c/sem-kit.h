/* What the semaphore tests share: waiters, and a look at a semaphore's state. */
#ifndef SEM_KIT_H
#define SEM_KIT_H

#include <alchemy/sem.h>

#define MS 1000000ULL
#define MAX_COUNT 2147483647UL

/* A task that waits once on a semaphore, leaves its tag as a mark and ends. */
struct waiter {
	RT_TASK task;
	RT_SEM *sem;
	RTIME timeout;
	const char *tag;
	int result;
};

KIT_UNUSED static void waiter_body(void *waiter_)
{
	struct waiter *waiter = (struct waiter *)waiter_;

	waiter->result = rt_sem_p(waiter->sem, waiter->timeout);
	mark(waiter->tag);
}

/* Starts a waiter and returns when it is queued. */
KIT_UNUSED static void start_timed_waiter(struct waiter *waiter, RT_SEM *sem, int prio, const char *tag, RTIME timeout)
{
	waiter->sem = sem;
	waiter->timeout = timeout;
	waiter->tag = tag;
	waiter->result = 1;
	kit_spawn_blocked(&waiter->task, prio, waiter_body, waiter);
}

KIT_UNUSED static void start_waiter(struct waiter *waiter, RT_SEM *sem, int prio, const char *tag)
{
	start_timed_waiter(waiter, sem, prio, tag, TM_INFINITE);
}

/* What its P returned. */
KIT_UNUSED static int end_waiter(struct waiter *waiter)
{
	kit_join(&waiter->task);
	return waiter->result;
}

KIT_UNUSED static int sem_waiters(RT_SEM *sem)
{
	RT_SEM_INFO info;

	CHECK_EQ(rt_sem_inquire(sem, &info), 0);
	return info.nwaiters;
}

/* The semaphore shows exactly this. */
#define CHECK_SEM(sem, count_, nwaiters_) \
	do { \
		RT_SEM_INFO info_; \
		CHECK_EQ(rt_sem_inquire((sem), &info_), 0); \
		CHECK_EQ(info_.count, (count_)); \
		CHECK_EQ(info_.nwaiters, (nwaiters_)); \
	} while (0)

/* A live unnamed semaphore. */
#define MAKE_SEM(sem, icount, mode) CHECK_EQ(rt_sem_create((sem), NULL, (icount), (mode)), 0)

#endif /* SEM_KIT_H */
