/*
 * <trank/native/mutex.h> - <native/mutex.h> by its name in the transition kit.
 */
#ifndef _TRANK_NATIVE_MUTEX_H
#define _TRANK_NATIVE_MUTEX_H

#include <native/mutex.h>

#endif /* !_TRANK_NATIVE_MUTEX_H */
