/*
 * <alchemy/compat.h> - 2.x names for programs that use the 3.x interface.
 *
 * Included by the native/ headers in translation units that started with an
 * alchemy/ header. For the conventions see <alchemy/timer.h>.
 */
#ifndef _ALCHEMY_COMPAT_H
#define _ALCHEMY_COMPAT_H

#include <alchemy/timer.h>

#if _ALCHEMY_FLAVOUR == 2
#include <native/task.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/* Clock. */

#ifndef TM_ONESHOT
#define TM_ONESHOT	((RTIME)0)	/**< Ask for a clock without ticks. */
#endif

/**
 * Ask for a clock resolution.
 *
 * A 3.x process cannot change its tick at run time: this only tells whether
 * the tick is what the caller expects. Never waits. Callers: any.
 *
 * @param nstick tick in nanoseconds, or TM_ONESHOT to accept any
 * @retval 0       the clock suits
 * @retval -ENODEV the tick has another length
 */
int rt_timer_set_mode(RTIME nstick);

/* Task modes. The plain rt_task_* calls refuse T_SUSP and T_CPU() (-EINVAL). */

#ifndef T_FPU
#define T_FPU		0		/**< No effect. */
#endif
#ifndef T_NOSIG
#define T_NOSIG		0		/**< No effect. */
#endif
#ifndef T_SUSP
#define T_SUSP		0x800000	/**< Start suspended. */
#endif
#ifndef T_CPU
#define T_CPU(cpu)	((int)(1U << (24 + ((cpu) & 7))))	/**< Run on CPU 0..7. */
#endif
#ifndef T_CPUMASK
#define T_CPUMASK	0xff000000	/**< All of T_CPU(). */
#endif

/* Queue modes. */

#ifndef Q_SHARED
#define Q_SHARED	0		/**< No effect. */
#endif
#ifndef Q_DMA
#define Q_DMA		0		/**< No effect. */
#endif

/* Heap modes. */

#ifndef H_MAPPABLE
#define H_MAPPABLE	0		/**< No effect. */
#endif
#ifndef H_SHARED
#define H_SHARED	0x4		/**< One block for all, as it was in 2.x: H_SINGLE. */
#endif
#ifndef H_NONCACHED
#define H_NONCACHED	0		/**< No effect. */
#endif
#ifndef H_DMA
#define H_DMA		0		/**< No effect. */
#endif
#ifndef H_DMA32
#define H_DMA32		0		/**< No effect. */
#endif

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_ALCHEMY_COMPAT_H */
