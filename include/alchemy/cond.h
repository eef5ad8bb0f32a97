/*
 * <alchemy/cond.h> - condition variables.
 *
 * A task that owns a mutex waits for a condition to become true: it releases the
 * mutex while it waits, and owns it again when the wait is over. A condition
 * variable has no memory: a signal that nobody waits for is lost. As another task
 * may get the mutex first, and make the condition false again, waits belong into
 * a loop that tests it.
 *
 * For the conventions (results, ticks, time-outs, callers, names) see
 * <alchemy/timer.h>.
 */
#ifndef _ALCHEMY_COND_H
#define _ALCHEMY_COND_H

#include <alchemy/timer.h>
#include <alchemy/mutex.h>

#if _ALCHEMY_FLAVOUR == 2
#include <native/cond.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/** Descriptor of a condition variable. */
struct RT_COND {
	uintptr_t handle;	/**< Opaque; 0 in an unbound descriptor. */
};

typedef struct RT_COND RT_COND;

/** What rt_cond_inquire() tells. */
struct RT_COND_INFO {
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
};

typedef struct RT_COND_INFO RT_COND_INFO;

/**
 * Create a condition variable.
 *
 * It belongs to no mutex: each wait names one, and waits with different mutexes
 * may go on at a time. Never waits. Callers: all but alarm handlers.
 *
 * @param cond filled in on success, untouched on failure
 * @param name name, or NULL or "" for a generated one ("cond@1", ...)
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a cond is NULL
 * @retval -ENOMEM no memory left
 * @retval -EEXIST a condition variable of that name exists
 */
int rt_cond_create(RT_COND *cond, const char *name);

/**
 * Delete a condition variable that nobody waits for.
 *
 * Tasks that were signalled and have not got their mutex back yet are no
 * obstacle. The name is free again. Never waits. Callers: all but alarm handlers.
 *
 * @param cond condition variable
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a cond is invalid
 * @retval -EBUSY  a task waits for a signal; nothing is changed
 */
int rt_cond_delete(RT_COND *cond);

/**
 * Wait for a signal at most so many ticks.
 *
 * Queues the caller and releases the mutex, however often the caller has acquired
 * it, in one step for whoever acquires it next; after the wait acquires it again
 * as often. Waiters queue by base priority, equals by arrival; a change of it
 * moves them. Neither time-out nor rt_task_unblock() limits the acquisition at the
 * end: the call returns late if others own the mutex for long, with the result
 * that was settled before. Except for TM_NONBLOCK the mutex is released even if
 * the time is over at the beginning. Callers: tasks that own the mutex.
 *
 * @param cond    condition variable
 * @param mutex   mutex
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval -EWOULDBLOCK TM_NONBLOCK, whatever the other arguments and the caller;
 *                      the mutex was not released
 * @retval -EINVAL      @a cond or @a mutex is invalid; the mutex was not released
 * @retval -EPERM       the caller does not own @a mutex
 * @retval 0            signalled; the mutex is owned
 * @retval -ETIMEDOUT   not signalled in time; the mutex is owned
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting for the
 *                      signal; the mutex is owned
 * @retval -EIDRM       condition variable deleted while waiting, which only the
 *                      2.x interface does; the mutex is owned
 * @retval -EOWNERDEAD  the last owner ended without a release, signalled or not:
 *                      as for rt_mutex_acquire(); the mutex is owned
 * @retval -EDEADLK     the mutex is owned by a task that waits, perhaps through others,
 *                      for one that the caller owns; @a mutex is not owned
 */
int rt_cond_wait(RT_COND *cond, RT_MUTEX *mutex, RTIME timeout);

/**
 * Wait for a signal until a date.
 *
 * As rt_cond_wait(), but for the time-out.
 *
 * @param cond  condition variable
 * @param mutex mutex
 * @param date  date in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval -EWOULDBLOCK TM_NONBLOCK, whatever the other arguments and the caller;
 *                      the mutex was not released
 * @retval -EINVAL      @a cond or @a mutex is invalid; the mutex was not released
 * @retval -EPERM       the caller does not own @a mutex
 * @retval 0            signalled; the mutex is owned
 * @retval -ETIMEDOUT   not signalled before @a date, or @a date is past; the mutex
 *                      is owned
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting for the
 *                      signal; the mutex is owned
 * @retval -EIDRM       condition variable deleted while waiting, which only the
 *                      2.x interface does; the mutex is owned
 * @retval -EOWNERDEAD  the last owner ended without a release, signalled or not;
 *                      the mutex is owned
 * @retval -EDEADLK     the mutex is owned by a task that waits, perhaps through others,
 *                      for one that the caller owns; @a mutex is not owned
 */
int rt_cond_wait_until(RT_COND *cond, RT_MUTEX *mutex, RTIME date);

/**
 * Wait for a signal until a date given as a timespec.
 *
 * As rt_cond_wait(), but for the time-out.
 *
 * @param cond        condition variable
 * @param mutex       mutex
 * @param abs_timeout CLOCK_MONOTONIC date, NULL for no limit, {0,0} for a poll
 * @retval -EWOULDBLOCK poll, whatever the other arguments and the caller; the
 *                      mutex was not released
 * @retval -EINVAL      @a cond or @a mutex is invalid, or tv_nsec is outside
 *                      0..999999999; the mutex was not released
 * @retval -EPERM       the caller does not own @a mutex
 * @retval 0            signalled; the mutex is owned
 * @retval -ETIMEDOUT   not signalled before the date, or the date is past; the
 *                      mutex is owned
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting for the
 *                      signal; the mutex is owned
 * @retval -EIDRM       condition variable deleted while waiting, which only the
 *                      2.x interface does; the mutex is owned
 * @retval -EOWNERDEAD  the last owner ended without a release, signalled or not;
 *                      the mutex is owned
 * @retval -EDEADLK     the mutex is owned by a task that waits, perhaps through others,
 *                      for one that the caller owns; @a mutex is not owned
 */
int rt_cond_wait_timed(RT_COND *cond, RT_MUTEX *mutex,
		       const struct timespec *abs_timeout);

/**
 * End the wait of the first waiter.
 *
 * It returns 0 once it owns its mutex again. The caller need not own the mutex.
 * Never waits. Callers: any.
 *
 * @param cond condition variable
 * @retval 0       done, also with nobody waiting
 * @retval -EINVAL @a cond is invalid
 */
int rt_cond_signal(RT_COND *cond);

/**
 * End the waits of all who wait at this moment.
 *
 * They return 0, one at a time, as they get their mutex. The caller need not own
 * the mutex. Never waits. Callers: any.
 *
 * @param cond condition variable
 * @retval 0       done, also with nobody waiting
 * @retval -EINVAL @a cond is invalid
 */
int rt_cond_broadcast(RT_COND *cond);

/**
 * Tell the name.
 *
 * Never waits. Callers: any.
 *
 * @param cond condition variable
 * @param info filled in
 * @retval 0       done
 * @retval -EINVAL @a cond is invalid or @a info is NULL
 */
int rt_cond_inquire(RT_COND *cond, RT_COND_INFO *info);

/**
 * Get at a condition variable by its name, wait for its creation if need be.
 *
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread.
 *
 * @param cond    filled in on success, untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a cond or @a name is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no such condition variable
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_cond_bind(RT_COND *cond, const char *name, RTIME timeout);

/**
 * Clear a descriptor; the condition variable itself is not touched.
 *
 * Never waits. Callers: any.
 *
 * @param cond descriptor, bound or filled in at creation
 * @retval 0       done
 * @retval -EINVAL @a cond is NULL
 */
int rt_cond_unbind(RT_COND *cond);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_ALCHEMY_COND_H */
