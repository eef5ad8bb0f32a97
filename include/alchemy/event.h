/*
 * <alchemy/event.h> - event flag groups.
 *
 * A group is a set of 32 flags, and the tasks that wait until some of them are
 * set. Waiting clears nothing: a flag stays set until rt_event_clear(), so one
 * rt_event_signal() may release any number of waiters.
 *
 * For the conventions (results, ticks, time-outs, callers, names) see
 * <alchemy/timer.h>.
 */
#ifndef _ALCHEMY_EVENT_H
#define _ALCHEMY_EVENT_H

#include <alchemy/timer.h>

#if _ALCHEMY_FLAVOUR == 2
#include <native/event.h>
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
struct RT_EVENT {
	uintptr_t handle;	/**< Opaque; 0 in an unbound descriptor. */
};

typedef struct RT_EVENT RT_EVENT;

/** What rt_event_inquire() tells. */
struct RT_EVENT_INFO {
	unsigned int value;		/**< Flags that are set. */
	int nwaiters;			/**< Number of waiters. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
};

typedef struct RT_EVENT_INFO RT_EVENT_INFO;

/**
 * Create an event flag group.
 *
 * Never waits. Callers: all but alarm handlers.
 *
 * @param event  filled in on success, untouched on failure
 * @param name   name, or NULL or "" for a generated one ("event@1", ...)
 * @param ivalue flags set from the beginning, any of the 32
 * @param mode   EV_FIFO or EV_PRIO: in which order a signal readies those whom it
 *               releases; it does not change who they are
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a mode is neither, or @a event is NULL
 * @retval -ENOMEM no memory left
 * @retval -EEXIST an event flag group of that name exists
 */
int rt_event_create(RT_EVENT *event, const char *name,
		    unsigned int ivalue, int mode);

/**
 * Delete an event flag group.
 *
 * All waiters return -EIDRM, and are ready to run when this call returns; the
 * name is free again. Never waits. Callers: all but alarm handlers.
 *
 * @param event group
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a event is invalid
 */
int rt_event_delete(RT_EVENT *event);

/**
 * Wait for flags at most so many ticks.
 *
 * Flags that are set already are reported at once whatever the time-out. The
 * flags stay set. What is reported is of the moment at which the wait was over:
 * signals and clears between that moment and the return change nothing.
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread, which queues with priority 0.
 *
 * @param event   group
 * @param mask    flags to wait for; 0 reads all flags and never waits
 * @param mask_r  set to those flags of @a mask that are set, on success only; if
 *                @a mask is 0, to all flags that are set. May be NULL
 * @param mode    EV_ALL: wait until all flags of @a mask are set, be it by several
 *                signals; EV_ANY: until one of them is
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            the flags are set, or @a mask is 0
 * @retval -EINVAL      @a mode is neither, or @a event is invalid
 * @retval -EWOULDBLOCK TM_NONBLOCK and the flags are not set
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   not set in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       group deleted while waiting
 */
int rt_event_wait(RT_EVENT *event, unsigned int mask, unsigned int *mask_r,
		  int mode, RTIME timeout);

/**
 * Wait for flags until a date.
 *
 * As rt_event_wait(), but for the time-out.
 *
 * @param event  group
 * @param mask   flags to wait for; 0 reads all flags and never waits
 * @param mask_r as for rt_event_wait()
 * @param mode   EV_ALL or EV_ANY
 * @param date   date in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            the flags are set, or @a mask is 0
 * @retval -EINVAL      @a mode is neither, or @a event is invalid
 * @retval -EWOULDBLOCK TM_NONBLOCK and the flags are not set
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   not set before @a date, or @a date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       group deleted while waiting
 */
int rt_event_wait_until(RT_EVENT *event, unsigned int mask,
			unsigned int *mask_r, int mode, RTIME date);

/**
 * Wait for flags until a date given as a timespec.
 *
 * As rt_event_wait(), but for the time-out.
 *
 * @param event       group
 * @param mask        flags to wait for; 0 reads all flags and never waits
 * @param mask_r      as for rt_event_wait()
 * @param mode        EV_ALL or EV_ANY
 * @param abs_timeout CLOCK_MONOTONIC date, NULL for no limit, {0,0} for a poll;
 *                    looked at only if the flags are not set
 * @retval 0            the flags are set, or @a mask is 0
 * @retval -EINVAL      @a mode is neither, or @a event is invalid
 * @retval -EWOULDBLOCK poll and the flags are not set
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -EINVAL      tv_nsec is outside 0..999999999
 * @retval -ETIMEDOUT   not set before the date, or the date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       group deleted while waiting
 */
int rt_event_wait_timed(RT_EVENT *event, unsigned int mask,
			unsigned int *mask_r, int mode,
			const struct timespec *abs_timeout);

/**
 * Set flags.
 *
 * Releases all waiters whose condition the flags now meet, those set before
 * included, in queue order; in one step with the setting. Never waits. Callers:
 * any.
 *
 * @param event group
 * @param mask  flags to set; 0 does nothing
 * @retval 0       done
 * @retval -EINVAL @a event is invalid
 */
int rt_event_signal(RT_EVENT *event, unsigned int mask);

/**
 * Clear flags.
 *
 * Does not touch a waiter that a signal has released. Never waits. Callers: any.
 *
 * @param event  group
 * @param mask   flags to clear; 0 only reads
 * @param mask_r set to all flags that were set before. May be NULL
 * @retval 0       done
 * @retval -EINVAL @a event is invalid
 */
int rt_event_clear(RT_EVENT *event, unsigned int mask, unsigned int *mask_r);

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
int rt_event_inquire(RT_EVENT *event, RT_EVENT_INFO *info);

/**
 * Get at an event flag group by its name, wait for its creation if need be.
 *
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread.
 *
 * @param event   filled in on success, untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a event or @a name is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no such group
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_event_bind(RT_EVENT *event, const char *name, RTIME timeout);

/**
 * Clear a descriptor; the group itself is not touched.
 *
 * Never waits. Callers: any.
 *
 * @param event descriptor, bound or filled in at creation
 * @retval 0       done
 * @retval -EINVAL @a event is NULL
 */
int rt_event_unbind(RT_EVENT *event);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_ALCHEMY_EVENT_H */
