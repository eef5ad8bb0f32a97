/*
 * <trank/native/buffer.h> - <native/buffer.h> by its name in the transition kit.
 */
#ifndef _TRANK_NATIVE_BUFFER_H
#define _TRANK_NATIVE_BUFFER_H

#include <native/buffer.h>

#endif /* !_TRANK_NATIVE_BUFFER_H */
