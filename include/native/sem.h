/*
 * <native/sem.h> - counting semaphores of the 2.x interface.
 *
 * For the conventions see <alchemy/timer.h>.
 */
#ifndef _NATIVE_SEM_H
#define _NATIVE_SEM_H

#include <native/types.h>

#if _ALCHEMY_FLAVOUR == 3
#include <alchemy/sem.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/* Creation modes. */
#define S_FIFO	0x0	/**< Waiters queue in order of arrival. */
#define S_PRIO	0x1	/**< Waiters queue by base priority, equals by arrival. */
#define S_PULSE	0x100	/**< A V that nobody waits for is lost. */

/** Descriptor of a semaphore. */
__extension__ typedef struct RT_SEM {
	union {
		unsigned long opaque;	/**< Opaque; 0 in an unbound descriptor. */
		uintptr_t handle;	/**< The same by its 3.x name. */
	};
} RT_SEM, RT_SEM_PLACEHOLDER;

/** What rt_sem_inquire() tells. */
typedef struct RT_SEM_INFO {
	unsigned long count;		/**< Units available; 0 while anybody waits. */
	int nwaiters;			/**< Number of waiters. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
} RT_SEM_INFO;

/**
 * Create a semaphore.
 *
 * Never waits. Callers: all but alarm handlers.
 *
 * @param sem    filled in on success, untouched on failure
 * @param name   name, or NULL or "" for a generated one
 * @param icount initial number of units, 0..2147483647; 0 with S_PULSE
 * @param mode   S_FIFO or S_PRIO, possibly with S_PULSE; other bits are ignored
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL S_PULSE with @a icount above 0, @a icount out of range, or
 *                 @a sem is NULL
 * @retval -ENOMEM no memory left
 * @retval -EEXIST a semaphore of that name exists
 */
int rt_sem_create(RT_SEM *sem, const char *name,
		  unsigned long icount, int mode)
	__asm__("__native_rt_sem_create");

/**
 * Get at a semaphore by its name, wait for its creation if need be.
 *
 * Callers: any; only tasks and the initial thread wait.
 *
 * @param sem     filled in on success, untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a sem or @a name is NULL
 * @retval -EWOULDBLOCK no such semaphore, and TM_NONBLOCK or a caller that may
 *                      not wait
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_sem_bind(RT_SEM *sem, const char *name, RTIME timeout)
	__asm__("__native_rt_sem_bind");

/* The same functions as in <alchemy/sem.h>, where they are explained. */

/** Delete a semaphore; waiters return -EIDRM. Callers: all but alarm handlers. */
int rt_sem_delete(RT_SEM *sem);

/** Take one unit, wait for it at most so many ticks (P). */
int rt_sem_p(RT_SEM *sem, RTIME timeout);

/** Take one unit, wait for it until a date in ticks; TM_INFINITE is no limit. */
int rt_sem_p_until(RT_SEM *sem, RTIME date);

/** Give one unit (V). Callers: any. */
int rt_sem_v(RT_SEM *sem);

/** Release all waiters and set the count to 0. Callers: any. */
int rt_sem_broadcast(RT_SEM *sem);

/** Tell count, number of waiters and name. Callers: any. */
int rt_sem_inquire(RT_SEM *sem, RT_SEM_INFO *info);

/** Clear a descriptor; the semaphore itself is not touched. Callers: any. */
int rt_sem_unbind(RT_SEM *sem);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_NATIVE_SEM_H */
