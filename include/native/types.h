/*
 * <native/types.h> - types and constants of the 2.x interface.
 *
 * Including a native/ header first makes the translation unit speak 2.6: its
 * constants, its structure layouts, and, where a service changed its meaning
 * since, the old meaning (bound to symbols of their own, __native_*). Where
 * nothing changed the same function serves both interfaces. After an alchemy/
 * header the unit stays with the 3.x interface, and native/ headers only add
 * names that 3.x lacks. The conventions of <alchemy/timer.h> hold here too.
 */
#ifndef _NATIVE_TYPES_H
#define _NATIVE_TYPES_H

#ifndef _ALCHEMY_FLAVOUR
#define _ALCHEMY_FLAVOUR 2
#endif

/* Existing programs rely on getting all of these from any of our headers. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
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
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <rtdk.h>

#if _ALCHEMY_FLAVOUR == 3
#include <alchemy/timer.h>
#include <alchemy/compat.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if _ALCHEMY_FLAVOUR == 2

/** Ticks, unsigned: dates, delays, periods. */
__extension__ typedef unsigned long long RTIME;

/** Ticks or nanoseconds, signed: differences and conversions. */
__extension__ typedef long long SRTIME;

#define TM_INFINITE	((RTIME)0)	/**< Wait without limit. */
#define TM_NOW		((RTIME)0)	/**< Start at once. */
#define TM_NONBLOCK	((RTIME)-1)	/**< Do not wait. */
#define TM_ONESHOT	((RTIME)0)	/**< A clock without ticks. */

/** Size of an object name, final NUL included. */
#ifndef XNOBJECT_NAME_LEN
#define XNOBJECT_NAME_LEN	32
#endif

/* Whatever <xeno_config.h> said before. */
#undef CONFIG_XENO_VERSION_MAJOR
#undef CONFIG_XENO_VERSION_MINOR
#undef CONFIG_XENO_REVISION_LEVEL
#undef CONFIG_XENO_VERSION_STRING
#undef CONFIG_XENO_UAPI_LEVEL
#define CONFIG_XENO_VERSION_MAJOR	2
#define CONFIG_XENO_VERSION_MINOR	6
#define CONFIG_XENO_REVISION_LEVEL	5
#define CONFIG_XENO_VERSION_STRING	"2.6.5"

#endif /* _ALCHEMY_FLAVOUR */

#ifndef TM_UNSET
#define TM_UNSET	((RTIME)-1)	/**< Clock not started; never reported. */
#endif
#ifndef XN_INFINITE
#define XN_INFINITE	((RTIME)0)
#endif
#ifndef XN_NONBLOCK
#define XN_NONBLOCK	((RTIME)-1)
#endif
#ifndef BITS_PER_LONG
#define BITS_PER_LONG	(__SIZEOF_LONG__ * 8)
#endif

/** Set of the in-kernel signals of a task. */
typedef unsigned long rt_sigset_t;

/* Callbacks of in-kernel code, for declarations only. */
struct rt_alarm;
struct xnintr;
typedef void (*rt_alarm_t)(struct rt_alarm *alarm, void *cookie);
typedef int (*rt_isr_t)(struct xnintr *cookie);
typedef int (*rt_iack_t)(unsigned int irq);

/* Reports of the dual kernel; never sent here. */
#ifndef SIGDEBUG
#define SIGDEBUG			SIGXCPU
#define SIGDEBUG_UNDEFINED		0
#define SIGDEBUG_MIGRATE_SIGNAL		1
#define SIGDEBUG_MIGRATE_SYSCALL	2
#define SIGDEBUG_MIGRATE_FAULT		3
#define SIGDEBUG_MIGRATE_PRIOINV	4
#define SIGDEBUG_NOMLOCK		5
#define SIGDEBUG_WATCHDOG		6
#define SIGDEBUG_RESCNT_IMBALANCE	7
#endif

#ifdef __cplusplus
}
#endif

#include <native/timer.h>

#endif /* !_NATIVE_TYPES_H */
