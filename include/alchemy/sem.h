/*
 * <alchemy/sem.h> - counting semaphores.
 *
 * For the conventions (results, ticks, time-outs, callers, names) see
 * <alchemy/timer.h>.
 */
#ifndef _ALCHEMY_SEM_H
#define _ALCHEMY_SEM_H

#include <alchemy/timer.h>

#if _ALCHEMY_FLAVOUR == 2
#include <native/sem.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/* Creation modes. */
#define S_FIFO	0x0	/**< Waiters queue in order of arrival. */
#define S_PRIO	0x1	/**< Waiters queue by base priority, equals by arrival. */
#define S_PULSE	0x2	/**< A V that nobody waits for is lost. */

/** Descriptor of a semaphore. */
struct RT_SEM {
	uintptr_t handle;	/**< Opaque; 0 in an unbound descriptor. */
};

typedef struct RT_SEM RT_SEM;

/** What rt_sem_inquire() tells. */
struct RT_SEM_INFO {
	unsigned long count;		/**< Units available; 0 while anybody waits. */
	int nwaiters;			/**< Number of waiters. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
};

typedef struct RT_SEM_INFO RT_SEM_INFO;

/**
 * Create a semaphore.
 *
 * Never waits. Callers: all but alarm handlers.
 *
 * @param sem    filled in on success, untouched on failure
 * @param name   name, or NULL or "" for a generated one ("sem@1", ...)
 * @param icount initial number of units, 0..2147483647; 0 with S_PULSE
 * @param mode   S_FIFO or S_PRIO, possibly with S_PULSE
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL unknown bit in @a mode, S_PULSE with @a icount above 0,
 *                 @a icount out of range, or @a sem is NULL
 * @retval -ENOMEM no memory left
 * @retval -EEXIST a semaphore of that name exists
 */
int rt_sem_create(RT_SEM *sem, const char *name,
		  unsigned long icount, int mode);

/**
 * Delete a semaphore.
 *
 * All waiters return -EIDRM, and are ready to run when this call returns; the
 * name is free again. Never waits. Callers: all but alarm handlers.
 *
 * @param sem semaphore
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a sem is invalid
 */
int rt_sem_delete(RT_SEM *sem);

/**
 * Take one unit, wait for it at most so many ticks (P).
 *
 * A unit that is available is taken whatever the time-out. While others wait
 * there is none: nobody overtakes the queue.
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread, which queues with priority 0.
 *
 * @param sem     semaphore
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            unit taken, or rt_sem_broadcast() released the caller
 * @retval -EINVAL      @a sem is invalid
 * @retval -EWOULDBLOCK TM_NONBLOCK and no unit available
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   no unit in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       semaphore deleted while waiting
 */
int rt_sem_p(RT_SEM *sem, RTIME timeout);

/**
 * Take one unit, wait for it until a date.
 *
 * As rt_sem_p(), but for the time-out.
 *
 * @param sem  semaphore
 * @param date date in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            as for rt_sem_p()
 * @retval -EINVAL      @a sem is invalid
 * @retval -EWOULDBLOCK TM_NONBLOCK and no unit available
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   no unit before @a date, or @a date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       semaphore deleted while waiting
 */
int rt_sem_p_until(RT_SEM *sem, RTIME date);

/**
 * Take one unit, wait for it until a date given as a timespec.
 *
 * As rt_sem_p(), but for the time-out.
 *
 * @param sem         semaphore
 * @param abs_timeout CLOCK_MONOTONIC date, NULL for no limit, {0,0} for a poll;
 *                    looked at only if no unit is available
 * @retval 0            as for rt_sem_p()
 * @retval -EINVAL      @a sem is invalid
 * @retval -EWOULDBLOCK poll and no unit available
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -EINVAL      tv_nsec is outside 0..999999999
 * @retval -ETIMEDOUT   no unit before the date, or the date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       semaphore deleted while waiting
 */
int rt_sem_p_timed(RT_SEM *sem, const struct timespec *abs_timeout);

/**
 * Give one unit (V).
 *
 * The unit goes to the first waiter if there is one; else it is added to the
 * count, or dropped by an S_PULSE semaphore. Never waits. Callers: any.
 *
 * @param sem semaphore
 * @retval 0       done
 * @retval -EINVAL @a sem is invalid, or the count is at 2147483647 already
 */
int rt_sem_v(RT_SEM *sem);

/**
 * Release all waiters and set the count to 0.
 *
 * Those waiting at this moment return 0, in queue order. Units nobody took are
 * lost. Never waits. Callers: any.
 *
 * @param sem semaphore
 * @retval 0       done, also with nobody waiting
 * @retval -EINVAL @a sem is invalid
 */
int rt_sem_broadcast(RT_SEM *sem);

/**
 * Tell count, number of waiters and name.
 *
 * Count and waiters are of one moment. Never waits. Callers: any.
 *
 * @param sem  semaphore
 * @param info filled in
 * @retval 0       done
 * @retval -EINVAL @a sem is invalid or @a info is NULL
 */
int rt_sem_inquire(RT_SEM *sem, RT_SEM_INFO *info);

/**
 * Get at a semaphore by its name, wait for its creation if need be.
 *
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread.
 *
 * @param sem     filled in on success, untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a sem or @a name is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no such semaphore
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_sem_bind(RT_SEM *sem, const char *name, RTIME timeout);

/**
 * Clear a descriptor; the semaphore itself is not touched.
 *
 * Never waits. Callers: any.
 *
 * @param sem descriptor, bound or filled in at creation
 * @retval 0       done
 * @retval -EINVAL @a sem is NULL
 */
int rt_sem_unbind(RT_SEM *sem);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_ALCHEMY_SEM_H */
