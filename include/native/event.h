/*
 * <native/event.h> - event flag groups of the 2.x interface.
 *
 * Masks are unsigned long, but a group has 32 flags: higher bits are refused in
 * arguments and 0 in results.
 *
 * For the conventions see <alchemy/timer.h>.
 */
#ifndef _NATIVE_EVENT_H
#define _NATIVE_EVENT_H

#include <native/types.h>

#if _ALCHEMY_FLAVOUR == 3
#include <alchemy/event.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/* Creation modes. */
#define EV_FIFO	0x0	/**< Waiters queue in order of arrival. */
#define EV_PRIO	0x1	/**< Waiters queue by base priority, equals by arrival. */

/* What a wait is for. */
#define EV_ALL	0x0	/**< All of the flags. */
#define EV_ANY	0x1	/**< One or more of the flags. */

/** Descriptor of an event flag group. */
__extension__ typedef struct RT_EVENT {
	union {
		unsigned long opaque;	/**< Opaque; 0 in an unbound descriptor. */
		uintptr_t handle;	/**< The same by its 3.x name. */
	};
} RT_EVENT, RT_EVENT_PLACEHOLDER;

/** What rt_event_inquire() tells. */
typedef struct RT_EVENT_INFO {
	unsigned long value;		/**< Flags that are set. */
	int nwaiters;			/**< Number of waiters. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
} RT_EVENT_INFO;

/**
 * Create an event flag group.
 *
 * Never waits. Callers: all but alarm handlers.
 *
 * @param event  filled in on success, untouched on failure
 * @param name   name, or NULL or "" for a generated one
 * @param ivalue flags set from the beginning, 0..0xffffffff
 * @param mode   EV_FIFO or EV_PRIO; other bits are ignored
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a ivalue is above 0xffffffff, or @a event is NULL
 * @retval -ENOMEM no memory left
 * @retval -EEXIST an event flag group of that name exists
 */
int rt_event_create(RT_EVENT *event, const char *name,
		    unsigned long ivalue, int mode)
	__asm__("__native_rt_event_create");

/**
 * Wait for flags at most so many ticks.
 *
 * Flags that are set already are reported at once whatever the time-out. The
 * flags stay set.
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread, which queues with priority 0.
 *
 * @param event   group
 * @param mask    flags to wait for, 0..0xffffffff; 0 reads all flags and never
 *                waits
 * @param mask_r  set to those flags of @a mask that are set, on success only; if
 *                @a mask is 0, to all flags that are set. May be NULL
 * @param mode    EV_ALL or EV_ANY; other bits are ignored
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            the flags are set, or @a mask is 0
 * @retval -EINVAL      @a mask is above 0xffffffff, or @a event is invalid
 * @retval -EWOULDBLOCK TM_NONBLOCK and the flags are not set
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   not set in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       group deleted while waiting
 */
int rt_event_wait(RT_EVENT *event, unsigned long mask, unsigned long *mask_r,
		  int mode, RTIME timeout)
	__asm__("__native_rt_event_wait");

/**
 * Wait for flags until a date.
 *
 * As rt_event_wait(), but for the time-out.
 *
 * @param event  group
 * @param mask   flags to wait for, 0..0xffffffff; 0 reads all flags and never
 *               waits
 * @param mask_r as for rt_event_wait()
 * @param mode   EV_ALL or EV_ANY; other bits are ignored
 * @param date   date in ticks, TM_INFINITE (no limit) or TM_NONBLOCK
 * @retval 0            the flags are set, or @a mask is 0
 * @retval -EINVAL      @a mask is above 0xffffffff, or @a event is invalid
 * @retval -EWOULDBLOCK TM_NONBLOCK and the flags are not set
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   not set before @a date, or @a date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       group deleted while waiting
 */
int rt_event_wait_until(RT_EVENT *event, unsigned long mask,
			unsigned long *mask_r, int mode, RTIME date)
	__asm__("__native_rt_event_wait_until");

/**
 * Set flags.
 *
 * Releases all waiters whose condition the flags now meet, those set before
 * included, in queue order. Never waits. Callers: any.
 *
 * @param event group
 * @param mask  flags to set, 0..0xffffffff; 0 does nothing
 * @retval 0       done
 * @retval -EINVAL @a mask is above 0xffffffff, or @a event is invalid
 */
int rt_event_signal(RT_EVENT *event, unsigned long mask)
	__asm__("__native_rt_event_signal");

/**
 * Clear flags.
 *
 * Does not touch a waiter that a signal has released. Never waits. Callers: any.
 *
 * @param event  group
 * @param mask   flags to clear, 0..0xffffffff; 0 only reads
 * @param mask_r set to all flags that were set before. May be NULL
 * @retval 0       done
 * @retval -EINVAL @a mask is above 0xffffffff, or @a event is invalid
 */
int rt_event_clear(RT_EVENT *event, unsigned long mask, unsigned long *mask_r)
	__asm__("__native_rt_event_clear");

/**
 * Tell flags, number of waiters and name.
 *
 * Flags and waiters are of one moment. Never waits. Callers: any.
 *
 * @param event group
 * @param info  filled in
 * @retval 0       done
 * @retval -EINVAL @a event is invalid or @a info is NULL
 */
int rt_event_inquire(RT_EVENT *event, RT_EVENT_INFO *info)
	__asm__("__native_rt_event_inquire");

/**
 * Get at an event flag group by its name, wait for its creation if need be.
 *
 * Callers: any; only tasks and the initial thread wait.
 *
 * @param event   filled in on success, untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a event or @a name is NULL
 * @retval -EWOULDBLOCK no such group, and TM_NONBLOCK or a caller that may not
 *                      wait
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_event_bind(RT_EVENT *event, const char *name, RTIME timeout)
	__asm__("__native_rt_event_bind");

/* The same functions as in <alchemy/event.h>, where they are explained. */

/** Delete a group; waiters return -EIDRM. Callers: all but alarm handlers. */
int rt_event_delete(RT_EVENT *event);

/** Clear a descriptor; the group itself is not touched. Callers: any. */
int rt_event_unbind(RT_EVENT *event);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_NATIVE_EVENT_H */
