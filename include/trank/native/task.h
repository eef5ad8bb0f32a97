/*
 * <trank/native/task.h> - <native/task.h> by its name in the transition kit.
 */
#ifndef _TRANK_NATIVE_TASK_H
#define _TRANK_NATIVE_TASK_H

#include <native/task.h>

#endif /* !_TRANK_NATIVE_TASK_H */
