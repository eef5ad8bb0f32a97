/*
 * <native/mutex.h> - mutexes of the 2.x interface.
 *
 * For the conventions see <alchemy/timer.h>.
 */
#ifndef _NATIVE_MUTEX_H
#define _NATIVE_MUTEX_H

#include <native/types.h>

#if _ALCHEMY_FLAVOUR == 3
#include <alchemy/mutex.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/** Descriptor of a mutex. */
__extension__ typedef struct RT_MUTEX {
	union {
		unsigned long opaque;	/**< Opaque; 0 in an unbound descriptor. */
		uintptr_t handle;	/**< The same by its 3.x name. */
	};
	void *fastlock;			/**< Not used, 0. */
	int lockcnt;			/**< Not used, 0. */
} RT_MUTEX, RT_MUTEX_PLACEHOLDER;

/** What rt_mutex_inquire() tells. */
__extension__ typedef struct RT_MUTEX_INFO {
	union {
		int locked;		/**< Acquisitions by the owner; 0 if it has none. */
		int lockcnt;		/**< The same by its name before 2.5. */
	};
	int nwaiters;			/**< Number of waiters. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
	char owner[XNOBJECT_NAME_LEN];	/**< Name of the owner, or "". */
} RT_MUTEX_INFO;

/**
 * Create a mutex, free.
 *
 * Never waits. Callers: all but alarm handlers.
 *
 * @param mutex filled in on success, untouched on failure
 * @param name  name, or NULL or "" for a generated one
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a mutex is NULL
 * @retval -ENOMEM no memory left
 * @retval -EEXIST a mutex of that name exists
 */
int rt_mutex_create(RT_MUTEX *mutex, const char *name)
	__asm__("__native_rt_mutex_create");

/**
 * Delete a mutex, be it free, owned or waited for.
 *
 * All waiters return -EIDRM, and are ready to run when this call returns; the
 * owner loses what priority they lent it, and its release will be -EINVAL. The
 * name is free again. Never waits. Callers: all but alarm handlers.
 *
 * @param mutex mutex
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a mutex is invalid
 */
int rt_mutex_delete(RT_MUTEX *mutex)
	__asm__("__native_rt_mutex_delete");

/**
 * Tell depth, owner, number of waiters and name.
 *
 * Never waits, acquires nothing. Callers: all but alarm handlers.
 *
 * @param mutex mutex
 * @param info  filled in
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a mutex is invalid or @a info is NULL
 */
int rt_mutex_inquire(RT_MUTEX *mutex, RT_MUTEX_INFO *info)
	__asm__("__native_rt_mutex_inquire");

/**
 * Get at a mutex by its name, wait for its creation if need be.
 *
 * Callers: any; only tasks and the initial thread wait.
 *
 * @param mutex   filled in on success, untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a mutex or @a name is NULL
 * @retval -EWOULDBLOCK no such mutex, and TM_NONBLOCK or a caller that may not
 *                      wait
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_mutex_bind(RT_MUTEX *mutex, const char *name, RTIME timeout)
	__asm__("__native_rt_mutex_bind");

/*
 * The same functions as in <alchemy/mutex.h>, where they are explained. There as
 * here, main() must call rt_task_shadow() before it can own a mutex (else -EPERM).
 */

/** Acquire a mutex, wait for it at most so many ticks. Callers: tasks. */
int rt_mutex_acquire(RT_MUTEX *mutex, RTIME timeout);

/** Acquire a mutex, wait for it until a date in ticks; TM_INFINITE is no limit. */
int rt_mutex_acquire_until(RT_MUTEX *mutex, RTIME date);

/** Release a mutex. Callers: tasks. */
int rt_mutex_release(RT_MUTEX *mutex);

/** Clear a descriptor; the mutex itself is not touched. Callers: any. */
int rt_mutex_unbind(RT_MUTEX *mutex);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

/* Names that 3.x has no more. */

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Acquire a mutex: rt_mutex_acquire() by its name before 2.3.
 *
 * Callers: tasks.
 *
 * @param mutex   mutex
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @return as rt_mutex_acquire()
 */
int rt_mutex_lock(RT_MUTEX *mutex, RTIME timeout);

/**
 * Release a mutex: rt_mutex_release() by its name before 2.3.
 *
 * Never waits. Callers: tasks.
 *
 * @param mutex mutex
 * @return as rt_mutex_release()
 */
int rt_mutex_unlock(RT_MUTEX *mutex);

#ifdef __cplusplus
}
#endif

#endif /* !_NATIVE_MUTEX_H */
