/*
 * <trank/rtdk.h> - <rtdk.h> by its name in the transition kit.
 */
#ifndef _TRANK_RTDK_H
#define _TRANK_RTDK_H

#include <rtdk.h>

#endif /* !_TRANK_RTDK_H */
