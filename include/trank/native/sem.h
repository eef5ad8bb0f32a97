/*
 * <trank/native/sem.h> - <native/sem.h> by its name in the transition kit.
 */
#ifndef _TRANK_NATIVE_SEM_H
#define _TRANK_NATIVE_SEM_H

#include <native/sem.h>

#endif /* !_TRANK_NATIVE_SEM_H */
