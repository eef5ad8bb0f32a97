/*
 * <trank/native/alarm.h> - <native/alarm.h> by its name in the transition kit.
 */
#ifndef _TRANK_NATIVE_ALARM_H
#define _TRANK_NATIVE_ALARM_H

#include <native/alarm.h>

#endif /* !_TRANK_NATIVE_ALARM_H */
