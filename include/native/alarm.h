/*
 * <native/alarm.h> - alarms of the 2.x interface: there are no handlers, tasks wait.
 *
 * For the conventions see <alchemy/timer.h>.
 */
#ifndef _NATIVE_ALARM_H
#define _NATIVE_ALARM_H

#include <native/types.h>

#if _ALCHEMY_FLAVOUR == 3
#include <alchemy/alarm.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/** Descriptor of an alarm. */
__extension__ typedef struct RT_ALARM {
	union {
		unsigned long opaque;	/**< Opaque; 0 in an unbound descriptor. */
		uintptr_t handle;	/**< The same by its 3.x name. */
	};
} RT_ALARM, RT_ALARM_PLACEHOLDER;

/** What rt_alarm_inquire() tells. */
typedef struct RT_ALARM_INFO {
	RTIME expiration;		/**< Ticks to the next expiry; 0 if none is to come. */
	unsigned long expiries;		/**< Expiries since creation. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
} RT_ALARM_INFO;

/**
 * Create an alarm, stopped.
 *
 * Never waits, except for the thread that serves alarms at the first call in a
 * process. Callers: any.
 *
 * @param alarm filled in on success, untouched on failure
 * @param name  name, or NULL or "" for a generated one
 * @retval 0       done
 * @retval -EINVAL @a alarm is NULL
 * @retval -ENOMEM no memory left
 * @retval -EEXIST an alarm of that name exists
 * @retval -EAGAIN the thread that serves alarms could not be made
 */
int rt_alarm_create(RT_ALARM *alarm, const char *name)
	__asm__("__native_rt_alarm_create");

/**
 * Start an alarm, or start it anew.
 *
 * Replaces what was set before; the count of expiries goes on. Periods do not
 * drift. Never waits. Callers: any.
 *
 * @param alarm    alarm
 * @param value    ticks from now to the first expiry; TM_INFINITE stops the alarm
 * @param interval ticks from one expiry to the next; TM_INFINITE for one only
 * @retval 0       done
 * @retval -EINVAL @a alarm is invalid
 */
int rt_alarm_start(RT_ALARM *alarm, RTIME value, RTIME interval)
	__asm__("__native_rt_alarm_start");

/**
 * Wait for the next expiry of an alarm.
 *
 * All that wait are released by it. Expiries that nobody waits for are counted,
 * but not remembered; an alarm that is stopped may be waited for. The caller gets
 * the priority T_HIPRIO and keeps it. Callers: tasks.
 *
 * @param alarm alarm
 * @retval 0       it has expired
 * @retval -EPERM  the caller may not wait
 * @retval -EINVAL @a alarm is invalid
 * @retval -EINTR  rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM  alarm deleted while waiting
 */
int rt_alarm_wait(RT_ALARM *alarm)
	__asm__("__native_rt_alarm_wait");

/**
 * Tell time left, number of expiries and name.
 *
 * All of one moment. Never waits. Callers: any.
 *
 * @param alarm alarm
 * @param info  filled in
 * @retval 0       done
 * @retval -EINVAL @a alarm is invalid or @a info is NULL
 */
int rt_alarm_inquire(RT_ALARM *alarm, RT_ALARM_INFO *info)
	__asm__("__native_rt_alarm_inquire");

/* The same functions as in <alchemy/alarm.h>, where they are explained. */

/** Delete an alarm; waiters return -EIDRM. Callers: any. */
int rt_alarm_delete(RT_ALARM *alarm);

/** Stop an alarm; waiters go on waiting. Callers: any. */
int rt_alarm_stop(RT_ALARM *alarm);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_NATIVE_ALARM_H */
