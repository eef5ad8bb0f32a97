/*
 * <native/timer.h> - clock services of the 2.x interface.
 *
 * For the conventions see <alchemy/timer.h>.
 */
#ifndef _NATIVE_TIMER_H
#define _NATIVE_TIMER_H

#include <native/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if _ALCHEMY_FLAVOUR == 2

/** What rt_timer_inquire() tells. */
typedef struct rt_timer_info {
	RTIME period;	/**< Tick in nanoseconds; TM_ONESHOT if the clock has none. */
	RTIME date;	/**< Current date in ticks. */
	RTIME tsc;	/**< rt_timer_tsc() of the same moment. */
} RT_TIMER_INFO;

/**
 * Tell clock mode and current date.
 *
 * Never waits. Callers: any.
 *
 * @param info filled in
 * @retval 0       done
 * @retval -EINVAL @a info is NULL
 */
int rt_timer_inquire(RT_TIMER_INFO *info)
	__asm__("__native_rt_timer_inquire");

/**
 * Set the tick of this process.
 *
 * From now on all delays, dates and periods count ticks of this length, in the
 * 3.x services too. Best called before anything else. Never waits. Callers: any.
 *
 * @param nstick tick in nanoseconds, or TM_ONESHOT for a clock without ticks,
 *               where all values are nanoseconds
 * @retval 0       done
 * @retval -EINVAL @a nstick is above 1000000000
 */
int rt_timer_set_mode(RTIME nstick)
	__asm__("__native_rt_timer_set_mode");

/* The same functions as in <alchemy/timer.h>, where they are explained. */

/** Read the clock, in ticks. Callers: any. */
RTIME rt_timer_read(void);

/** Convert nanoseconds to ticks, rounding toward zero. Callers: any. */
SRTIME rt_timer_ns2ticks(SRTIME ns);

/** Convert ticks to nanoseconds. Callers: any. */
SRTIME rt_timer_ticks2ns(SRTIME ticks);

/** Keep the CPU busy for some nanoseconds. Callers: any. */
void rt_timer_spin(RTIME ns);

#endif /* _ALCHEMY_FLAVOUR */

/* Names that 3.x has no more. */

/**
 * Read the high-resolution counter: CLOCK_MONOTONIC in nanoseconds, whatever
 * the tick.
 *
 * Never waits. Callers: any.
 *
 * @return nanoseconds
 */
RTIME rt_timer_tsc(void);

/**
 * Convert nanoseconds to counter units, which are nanoseconds.
 *
 * Never waits. Callers: any.
 *
 * @param ns nanoseconds
 * @return @a ns
 */
SRTIME rt_timer_ns2tsc(SRTIME ns);

/**
 * Convert counter units to nanoseconds, which is what they are.
 *
 * Never waits. Callers: any.
 *
 * @param ticks counter units
 * @return @a ticks
 */
SRTIME rt_timer_tsc2ns(SRTIME ticks);

/**
 * Start the clock, which always runs: set the tick of this process if possible.
 *
 * Never waits. Callers: any.
 *
 * @param nstick tick in nanoseconds, or TM_ONESHOT; out of range it is ignored
 * @retval 0 always
 */
int rt_timer_start(RTIME nstick);

/** Stop the clock: no effect. Callers: any. */
void rt_timer_stop(void);

#ifdef __cplusplus
}
#endif

#endif /* !_NATIVE_TIMER_H */
