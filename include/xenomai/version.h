/*
 * <xenomai/version.h> - versions as numbers.
 */
#ifndef _XENOMAI_VERSION_H
#define _XENOMAI_VERSION_H

#include <xeno_config.h>

/** A version as a number that compares as versions do. */
#ifndef XENO_VERSION
#define XENO_VERSION(maj, min, rev)	(((maj) << 16) | ((min) << 8) | (rev))
#endif

/** The version of this interface; see <xeno_config.h>. */
#ifndef XENO_VERSION_CODE
#define XENO_VERSION_CODE	\
	XENO_VERSION(CONFIG_XENO_VERSION_MAJOR, CONFIG_XENO_VERSION_MINOR, (CONFIG_XENO_REVISION_LEVEL + 0))
#endif
#ifndef XENO_VERSION_STRING
#define XENO_VERSION_STRING	CONFIG_XENO_VERSION_STRING
#endif

#endif /* !_XENOMAI_VERSION_H */
