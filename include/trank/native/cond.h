/*
 * <trank/native/cond.h> - <native/cond.h> by its name in the transition kit.
 */
#ifndef _TRANK_NATIVE_COND_H
#define _TRANK_NATIVE_COND_H

#include <native/cond.h>

#endif /* !_TRANK_NATIVE_COND_H */
