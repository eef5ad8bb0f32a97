/*
 * <trank/native/types.h> - <native/types.h> by its name in the transition kit.
 */
#ifndef _TRANK_NATIVE_TYPES_H
#define _TRANK_NATIVE_TYPES_H

#include <native/types.h>

#endif /* !_TRANK_NATIVE_TYPES_H */
