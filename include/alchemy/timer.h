/*
 * <alchemy/timer.h> - time base, clock services, and what all headers share.
 *
 * Conventions of the C interface
 *
 * Results   Services return 0 or a positive result on success and a negated
 *           errno code on failure; errno itself is left alone. Conditions are
 *           tested in the order in which the codes are listed. Outputs are
 *           written on success only, unless the text says otherwise.
 * Ticks     RTIME values count clock ticks of CLOCK_MONOTONIC. A tick is 1 ns
 *           unless --alchemy-clock-resolution=NS says otherwise.
 * Time-outs X(..., timeout) takes a delay in ticks from now, X_until(..., date)
 *           a date comparable with rt_timer_read(), X_timed(..., ts) an absolute
 *           CLOCK_MONOTONIC date as a timespec. Wait without limit: TM_INFINITE,
 *           or a NULL timespec. Poll, that is never wait: TM_NONBLOCK, or a
 *           timespec of all zeroes. A date in the past is no poll: the call
 *           succeeds if it need not wait, otherwise it times out at once.
 * Callers   task            made by rt_task_create() or rt_task_shadow()
 *           initial thread  runs main(); may wait, but is not a task, so a NULL
 *                           task argument ("myself") is -EPERM there
 *           plain thread    any other thread; may not wait
 *           alarm handler   runs on the alarm server; may not wait
 *           No service may be called from a signal handler.
 *           "Callers: any" means all four.
 * Objects   A descriptor belongs to the caller; copies of it are equivalent.
 *           A descriptor that is NULL, zeroed, foreign, or whose object is gone
 *           is called invalid below and gives -EINVAL. Only calls already
 *           waiting when their object is deleted return -EIDRM.
 * Names     At most 31 characters count, the rest is cut off. NULL or "" makes
 *           the library choose a unique name. Every type of object has its own
 *           set of names.
 * Waiting   Waits go on after a signal handler has run. rt_task_delete() ends
 *           them. A pthread_cancel() by the program itself does not: it is
 *           honoured when a call that may wait begins, and when a wait ends with
 *           an error. Services that never wait are no cancellation points.
 * End       When main() returns or exit() is called, started tasks of a priority
 *           above 0 first get as far as they would have on one processor: until
 *           each waits or has ended, 200 ms at most (ALCHEMY_EXIT_GRACE_MS in the
 *           environment; 0 is off). Then what rt_printf() holds is written. Nothing
 *           else is cleaned up. _exit() and quick_exit() do none of this.
 *
 * A translation unit speaks the 3.x interface (alchemy/ headers) or the 2.x one
 * (native/ headers): the first of these headers it includes decides, and
 * __XENO_COMPAT__ on the command line selects 2.x in any case. Headers of the
 * other kind then give the chosen interface.
 */
#ifndef _ALCHEMY_TIMER_H
#define _ALCHEMY_TIMER_H

#ifndef _ALCHEMY_FLAVOUR
#ifdef __XENO_COMPAT__
#define _ALCHEMY_FLAVOUR 2
#else
#define _ALCHEMY_FLAVOUR 3
#endif
#endif

/* Existing programs rely on getting all of these from any of our headers. */
#include <alloca.h>
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <rtdk.h>

#if _ALCHEMY_FLAVOUR == 2
#include <native/timer.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/** Ticks, unsigned: dates, delays, periods. */
__extension__ typedef unsigned long long RTIME;

/** Ticks or nanoseconds, signed: differences and conversions. */
__extension__ typedef long long SRTIME;

/* Names of the same types seen in programs. */
typedef RTIME ticks_t;
typedef SRTIME sticks_t;

/** The clock behind all services. */
#define CLOCK_COPPERPLATE	CLOCK_MONOTONIC

#define TM_INFINITE	((RTIME)0)	/**< Wait without limit. */
#define TM_NOW		((RTIME)0)	/**< Start at once. */
#define TM_NONBLOCK	((RTIME)-1)	/**< Do not wait. */

/** Size of an object name, final NUL included. */
#ifndef XNOBJECT_NAME_LEN
#define XNOBJECT_NAME_LEN	32
#endif

/** What rt_timer_inquire() tells. */
typedef struct rt_timer_info {
	RTIME period;	/**< Length of a tick in nanoseconds. */
	RTIME date;	/**< Current date in ticks. */
} RT_TIMER_INFO;

/**
 * Read the clock.
 *
 * Never waits. Callers: any.
 *
 * @return ticks since an arbitrary origin, the same for all threads and
 *         processes; never decreases.
 */
RTIME rt_timer_read(void);

/**
 * Convert nanoseconds to ticks, rounding toward zero.
 *
 * Never waits. Callers: any.
 *
 * @param ns nanoseconds, may be negative
 * @return ticks
 */
SRTIME rt_timer_ns2ticks(SRTIME ns);

/**
 * Convert ticks to nanoseconds.
 *
 * Never waits. Callers: any.
 *
 * @param ticks ticks, may be negative; the result must fit an SRTIME
 * @return nanoseconds
 */
SRTIME rt_timer_ticks2ns(SRTIME ticks);

/**
 * Tell tick length and current date.
 *
 * Never waits. Callers: any.
 *
 * @param info filled in; NULL is ignored
 */
void rt_timer_inquire(RT_TIMER_INFO *info);

/**
 * Keep the CPU busy for a while.
 *
 * Measures elapsed time, not CPU time: preemption and suspension count.
 * Neither signals nor rt_task_unblock() end it. Never sleeps. Callers: any.
 *
 * @param ns nanoseconds (not ticks); 0 returns at once
 */
void rt_timer_spin(RTIME ns);

/* Helpers for the _timed forms. */

/**
 * Turn a date into the argument of a _timed service.
 *
 * @param date ticks, TM_INFINITE or TM_NONBLOCK
 * @param ts   storage for the result
 * @return NULL for TM_INFINITE, otherwise @a ts
 */
static __inline__ struct timespec *
alchemy_abs_timeout(RTIME date, struct timespec *ts)
{
	const RTIME most = ~(RTIME)0;
	RTIME tick, ns = 0;

	if (date == TM_INFINITE)
		return NULL;

	if (date != TM_NONBLOCK) {
		tick = (RTIME)rt_timer_ticks2ns(1);
		ns = date > most / tick ? most : date * tick;
	}

	ts->tv_sec = (time_t)(ns / 1000000000);
	ts->tv_nsec = (long)(ns % 1000000000);

	return ts;
}

/**
 * Turn a delay into the argument of a _timed service.
 *
 * The date is never earlier than asked for, and less than one tick later.
 *
 * @param delay ticks from now, TM_INFINITE or TM_NONBLOCK
 * @param ts    storage for the result
 * @return NULL for TM_INFINITE, otherwise @a ts
 */
static __inline__ struct timespec *
alchemy_rel_timeout(RTIME delay, struct timespec *ts)
{
	const RTIME last = TM_NONBLOCK - 1;
	RTIME now;

	if (delay == TM_INFINITE || delay == TM_NONBLOCK)
		return alchemy_abs_timeout(delay, ts);

	/* With ticks above 1 ns the reading is rounded down: make up for it. */
	now = rt_timer_read();
	if (rt_timer_ticks2ns(1) > 1)
		now++;

	return alchemy_abs_timeout(delay > last - now ? last : now + delay, ts);
}

/**
 * Tell whether the argument of a _timed service means "do not wait".
 *
 * @param ts may be NULL
 * @return 1 for a timespec of all zeroes, otherwise 0
 */
static __inline__ int alchemy_poll_mode(const struct timespec *ts)
{
	return ts != NULL && ts->tv_sec == 0 && ts->tv_nsec == 0;
}

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_ALCHEMY_TIMER_H */
