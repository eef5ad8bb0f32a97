/*
 * <alchemy/mutex.h> - mutexes.
 *
 * A mutex is free, or owned by one task, which may acquire it again: it then
 * takes as many releases. While others wait, the owner runs with the highest
 * priority among them, through chains of owners too. A task that ends as the
 * owner leaves the mutex to the next: see -EOWNERDEAD of rt_mutex_acquire().
 *
 * For the conventions (results, ticks, time-outs, callers, names) see
 * <alchemy/timer.h>.
 */
#ifndef _ALCHEMY_MUTEX_H
#define _ALCHEMY_MUTEX_H

#include <alchemy/timer.h>
#include <alchemy/task.h>

#if _ALCHEMY_FLAVOUR == 2
#include <native/mutex.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/** Descriptor of a mutex. */
struct RT_MUTEX {
	uintptr_t handle;	/**< Opaque; 0 in an unbound descriptor. */
};

typedef struct RT_MUTEX RT_MUTEX;

/** What rt_mutex_inquire() tells. */
struct RT_MUTEX_INFO {
	RT_TASK owner;			/**< Owner; NO_ALCHEMY_TASK if there is none. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
};

typedef struct RT_MUTEX_INFO RT_MUTEX_INFO;

/**
 * Create a mutex, free.
 *
 * Never waits. Callers: all but alarm handlers.
 *
 * @param mutex filled in on success, untouched on failure
 * @param name  name, or NULL or "" for a generated one ("mutex@1", ...)
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a mutex is NULL
 * @retval -ENOMEM no memory left
 * @retval -EEXIST a mutex of that name exists
 */
int rt_mutex_create(RT_MUTEX *mutex, const char *name);

/**
 * Delete a mutex that nobody uses.
 *
 * The name is free again. Never waits. Callers: all but alarm handlers.
 *
 * @param mutex mutex
 * @retval 0       done, also if the owner has ended
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a mutex is invalid
 * @retval -EBUSY  a task, maybe the caller, owns it, waits for it, or will get it
 *                 back from a wait for a condition variable; nothing is changed
 */
int rt_mutex_delete(RT_MUTEX *mutex);

/**
 * Acquire a mutex, wait for it at most so many ticks.
 *
 * A mutex that is free, or owned by the caller, is acquired whatever the
 * time-out. Waiters queue by current priority, lent priority included, equals by
 * arrival; a change of it moves them. A waiter that is suspended leaves the queue
 * and tries anew after the resume. Callers: tasks.
 *
 * @param mutex   mutex
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            acquired
 * @retval -EPERM       the caller is no task, even if there is no need to wait
 * @retval -EINVAL      @a mutex is invalid
 * @retval -EAGAIN      the caller owns it 4294967295 times already
 * @retval -EOWNERDEAD  acquired, but the last owner ended without a release: what
 *                      the mutex protects may be half done. Told once, the mutex
 *                      is an ordinary one from now on
 * @retval -EWOULDBLOCK TM_NONBLOCK and another task owns it
 * @retval -EDEADLK     its owner waits, maybe through others, for a mutex of the
 *                      caller
 * @retval -ETIMEDOUT   not released in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       mutex deleted while waiting; only the 2.x interface does so
 */
int rt_mutex_acquire(RT_MUTEX *mutex, RTIME timeout);

/**
 * Acquire a mutex, wait for it until a date.
 *
 * As rt_mutex_acquire(), but for the time-out.
 *
 * @param mutex mutex
 * @param date  date in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            acquired
 * @retval -EPERM       the caller is no task, even if there is no need to wait
 * @retval -EINVAL      @a mutex is invalid
 * @retval -EAGAIN      the caller owns it 4294967295 times already
 * @retval -EOWNERDEAD  acquired, but the last owner ended without a release
 * @retval -EWOULDBLOCK TM_NONBLOCK and another task owns it
 * @retval -EDEADLK     its owner waits, maybe through others, for a mutex of the
 *                      caller
 * @retval -ETIMEDOUT   not released before @a date, or @a date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       mutex deleted while waiting; only the 2.x interface does so
 */
int rt_mutex_acquire_until(RT_MUTEX *mutex, RTIME date);

/**
 * Acquire a mutex, wait for it until a date given as a timespec.
 *
 * As rt_mutex_acquire(), but for the time-out.
 *
 * @param mutex       mutex
 * @param abs_timeout CLOCK_MONOTONIC date, NULL for no limit, {0,0} for a poll;
 *                    looked at only if another task owns the mutex
 * @retval 0            acquired
 * @retval -EPERM       the caller is no task, even if there is no need to wait
 * @retval -EINVAL      @a mutex is invalid
 * @retval -EAGAIN      the caller owns it 4294967295 times already
 * @retval -EOWNERDEAD  acquired, but the last owner ended without a release
 * @retval -EWOULDBLOCK poll and another task owns it
 * @retval -EINVAL      tv_nsec is outside 0..999999999
 * @retval -EDEADLK     its owner waits, maybe through others, for a mutex of the
 *                      caller
 * @retval -ETIMEDOUT   not released before the date, or the date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       mutex deleted while waiting; only the 2.x interface does so
 */
int rt_mutex_acquire_timed(RT_MUTEX *mutex,
			   const struct timespec *abs_timeout);

/**
 * Release a mutex.
 *
 * The release that undoes the first acquisition makes the first waiter the owner
 * at once, or the mutex free. Never waits. Callers: tasks.
 *
 * @param mutex mutex
 * @retval 0       done
 * @retval -EINVAL @a mutex is invalid
 * @retval -EPERM  the caller does not own it
 */
int rt_mutex_release(RT_MUTEX *mutex);

/**
 * Tell owner and name.
 *
 * Never waits, acquires nothing. Callers: all but alarm handlers.
 *
 * @param mutex mutex
 * @param info  filled in; its owner is for rt_task_same() and for services
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a mutex is invalid or @a info is NULL
 */
int rt_mutex_inquire(RT_MUTEX *mutex, RT_MUTEX_INFO *info);

/**
 * Get at a mutex by its name, wait for its creation if need be.
 *
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread.
 *
 * @param mutex   filled in on success, untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a mutex or @a name is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no such mutex
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_mutex_bind(RT_MUTEX *mutex, const char *name, RTIME timeout);

/**
 * Clear a descriptor; the mutex itself is not touched.
 *
 * Never waits. Callers: any.
 *
 * @param mutex descriptor, bound or filled in at creation
 * @retval 0       done
 * @retval -EINVAL @a mutex is NULL
 */
int rt_mutex_unbind(RT_MUTEX *mutex);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_ALCHEMY_MUTEX_H */
