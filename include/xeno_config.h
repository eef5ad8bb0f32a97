/*
 * <xeno_config.h> - which Xenomai this stands in for.
 *
 * Programs test these to choose between the 2.x and the 3.x interface. 3.3, but
 * 2.6 in translation units that include a native/ header.
 */
#ifndef _XENO_CONFIG_H
#define _XENO_CONFIG_H

/* Else a native/ header came first. */
#ifndef CONFIG_XENO_VERSION_MAJOR
#define CONFIG_XENO_VERSION_MAJOR	3
#define CONFIG_XENO_VERSION_MINOR	3
#define CONFIG_XENO_REVISION_LEVEL
#define CONFIG_XENO_VERSION_STRING	"3.3"
#define CONFIG_XENO_UAPI_LEVEL		15
#endif

#define CONFIG_XENO_MERCURY			1	/**< No co-kernel. */
#define CONFIG_XENO_LORES_CLOCK_DISABLED	1	/**< A tick is a nanosecond unless asked otherwise. */

#ifndef CONFIG_SMP
#define CONFIG_SMP	1
#endif
#ifndef CONFIG_MMU
#define CONFIG_MMU	1
#endif

#endif /* !_XENO_CONFIG_H */
