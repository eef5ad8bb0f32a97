/*
 * <trank/native/queue.h> - <native/queue.h> by its name in the transition kit.
 */
#ifndef _TRANK_NATIVE_QUEUE_H
#define _TRANK_NATIVE_QUEUE_H

#include <native/queue.h>

#endif /* !_TRANK_NATIVE_QUEUE_H */
