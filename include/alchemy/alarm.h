/*
 * <alchemy/alarm.h> - alarms: functions called at a date, once or periodically.
 *
 * Handlers run one at a time, in order of date, on a thread of the library above
 * all tasks (SCHED_FIFO 99): one that takes long delays all others. A handler may
 * do whatever does not wait: give units, signal, write, resume, unblock, start and
 * stop alarms, its own included. It must not end its thread. Alarms are private to
 * the process, and have no owner: they go on when the thread that started them
 * ends or is suspended.
 * For the conventions (results, ticks, time-outs, callers, names) see
 * <alchemy/timer.h>.
 */
#ifndef _ALCHEMY_ALARM_H
#define _ALCHEMY_ALARM_H

#include <alchemy/timer.h>

#if _ALCHEMY_FLAVOUR == 2
#include <native/alarm.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/** Descriptor of an alarm. */
struct RT_ALARM {
	uintptr_t handle;	/**< Opaque; 0 in an unbound descriptor. */
};

typedef struct RT_ALARM RT_ALARM;

/** What rt_alarm_inquire() tells. */
struct RT_ALARM_INFO {
	unsigned long expiries;		/**< Expiries since creation, missed periods included. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
	int active;			/**< 1 if an expiry is to come, else 0. */
};

typedef struct RT_ALARM_INFO RT_ALARM_INFO;

/**
 * Create an alarm, stopped.
 *
 * Never waits, except for the thread of all handlers at the first call in a
 * process. Callers: any.
 *
 * @param alarm   filled in on success, untouched on failure
 * @param name    name, or NULL or "" for a generated one ("alarm@1", ...)
 * @param handler called at each expiry
 * @param arg     passed to @a handler
 * @retval 0       done
 * @retval -EINVAL @a alarm or @a handler is NULL
 * @retval -ENOMEM no memory left
 * @retval -EEXIST an alarm of that name exists
 * @retval -EAGAIN the thread of the handlers could not be made
 */
int rt_alarm_create(RT_ALARM *alarm, const char *name,
		    void (*handler)(void *arg), void *arg);

/**
 * Delete an alarm.
 *
 * No call of its handler begins after the return. One in progress goes on to its
 * end and is not waited for; the handler may delete its own alarm. The name is
 * free again. Never waits. Callers: any.
 *
 * @param alarm alarm
 * @retval 0       done
 * @retval -EINVAL @a alarm is invalid
 */
int rt_alarm_delete(RT_ALARM *alarm);

/**
 * Start an alarm, or start it anew.
 *
 * Replaces what was set before, expiries not yet served included; the count of
 * expiries goes on. Periods do not drift. Where handlers take longer than a
 * period, all periods are counted but the handler is called only once for those
 * past. Never waits. Callers: any.
 *
 * @param alarm    alarm
 * @param value    ticks from now to the first expiry; 0 is at once
 * @param interval ticks from one expiry to the next; TM_INFINITE for one only
 * @retval 0       done
 * @retval -EINVAL @a alarm is invalid
 */
int rt_alarm_start(RT_ALARM *alarm, RTIME value, RTIME interval);

/**
 * Stop an alarm.
 *
 * No call of its handler begins after the return. One in progress goes on to its
 * end and is not waited for. It can be started again. Never waits. Callers: any.
 *
 * @param alarm alarm
 * @retval 0       done, also if it was not started
 * @retval -EINVAL @a alarm is invalid
 */
int rt_alarm_stop(RT_ALARM *alarm);

/**
 * Tell number of expiries, name and whether more are to come.
 *
 * All of one moment. In the handler its own expiry is counted already, and an
 * alarm without interval is inactive already. Never waits. Callers: any.
 *
 * @param alarm alarm
 * @param info  filled in
 * @retval 0       done
 * @retval -EINVAL @a alarm is invalid or @a info is NULL
 */
int rt_alarm_inquire(RT_ALARM *alarm, RT_ALARM_INFO *info);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_ALCHEMY_ALARM_H */
