/*
 * <trank/native/timer.h> - <native/timer.h> by its name in the transition kit.
 */
#ifndef _TRANK_NATIVE_TIMER_H
#define _TRANK_NATIVE_TIMER_H

#include <native/timer.h>

#endif /* !_TRANK_NATIVE_TIMER_H */
