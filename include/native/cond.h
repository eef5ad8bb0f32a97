/*
 * <native/cond.h> - condition variables of the 2.x interface.
 *
 * For the conventions see <alchemy/timer.h>.
 */
#ifndef _NATIVE_COND_H
#define _NATIVE_COND_H

#include <native/types.h>
#include <native/mutex.h>

#if _ALCHEMY_FLAVOUR == 3
#include <alchemy/cond.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/** Descriptor of a condition variable. */
__extension__ typedef struct RT_COND {
	union {
		unsigned long opaque;	/**< Opaque; 0 in an unbound descriptor. */
		uintptr_t handle;	/**< The same by its 3.x name. */
	};
} RT_COND, RT_COND_PLACEHOLDER;

/** What rt_cond_inquire() tells. */
typedef struct RT_COND_INFO {
	int nwaiters;			/**< Number of tasks that wait for a signal. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
} RT_COND_INFO;

/**
 * Delete a condition variable, be it waited for or not.
 *
 * All waiters return -EIDRM, each once it owns its mutex again. The name is free
 * again. Never waits. Callers: all but alarm handlers.
 *
 * @param cond condition variable
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a cond is invalid
 */
int rt_cond_delete(RT_COND *cond)
	__asm__("__native_rt_cond_delete");

/**
 * Tell number of waiters and name.
 *
 * Never waits. Callers: any.
 *
 * @param cond condition variable
 * @param info filled in
 * @retval 0       done
 * @retval -EINVAL @a cond is invalid or @a info is NULL
 */
int rt_cond_inquire(RT_COND *cond, RT_COND_INFO *info)
	__asm__("__native_rt_cond_inquire");

/**
 * Get at a condition variable by its name, wait for its creation if need be.
 *
 * Callers: any; only tasks and the initial thread wait.
 *
 * @param cond    filled in on success, untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a cond or @a name is NULL
 * @retval -EWOULDBLOCK no such condition variable, and TM_NONBLOCK or a caller
 *                      that may not wait
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_cond_bind(RT_COND *cond, const char *name, RTIME timeout)
	__asm__("__native_rt_cond_bind");

/*
 * The same functions as in <alchemy/cond.h>, where they are explained. There as
 * here, main() must call rt_task_shadow() before it can own a mutex, and so wait.
 */

/** Create a condition variable. Callers: all but alarm handlers. */
int rt_cond_create(RT_COND *cond, const char *name);

/** Wait for a signal at most so many ticks. Callers: tasks that own the mutex. */
int rt_cond_wait(RT_COND *cond, RT_MUTEX *mutex, RTIME timeout);

/** Wait for a signal until a date in ticks; TM_INFINITE is no limit. */
int rt_cond_wait_until(RT_COND *cond, RT_MUTEX *mutex, RTIME date);

/** End the wait of the first waiter. Callers: any. */
int rt_cond_signal(RT_COND *cond);

/** End the waits of all who wait at this moment. Callers: any. */
int rt_cond_broadcast(RT_COND *cond);

/** Clear a descriptor; the variable itself is not touched. Callers: any. */
int rt_cond_unbind(RT_COND *cond);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_NATIVE_COND_H */
