/*
 * <nucleus/trace.h> - the kernel's latency tracer, for 2.x sources: there is none.
 */
#ifndef _NUCLEUS_TRACE_H
#define _NUCLEUS_TRACE_H

#include <nucleus/types.h>
#include <boilerplate/trace.h>

#endif /* !_NUCLEUS_TRACE_H */
