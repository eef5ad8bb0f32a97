/*
 * <nucleus/version.h> - versions as numbers, for 2.x sources.
 */
#ifndef _NUCLEUS_VERSION_H
#define _NUCLEUS_VERSION_H

#include <nucleus/types.h>
#include <xenomai/version.h>

#endif /* !_NUCLEUS_VERSION_H */
