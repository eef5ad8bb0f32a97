/*
 * <trank/native/event.h> - <native/event.h> by its name in the transition kit.
 */
#ifndef _TRANK_NATIVE_EVENT_H
#define _TRANK_NATIVE_EVENT_H

#include <native/event.h>

#endif /* !_TRANK_NATIVE_EVENT_H */
