/*
 * <trank/native/heap.h> - <native/heap.h> by its name in the transition kit.
 */
#ifndef _TRANK_NATIVE_HEAP_H
#define _TRANK_NATIVE_HEAP_H

#include <native/heap.h>

#endif /* !_TRANK_NATIVE_HEAP_H */
