/*
 * <nucleus/heap.h> - for 2.x sources that include it; the core's heaps are not for
 * programs.
 */
#ifndef _NUCLEUS_HEAP_H
#define _NUCLEUS_HEAP_H

#include <nucleus/types.h>

#endif /* !_NUCLEUS_HEAP_H */
