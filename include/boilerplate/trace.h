/*
 * <boilerplate/trace.h> - the kernel's latency tracer: there is none, and each call
 * says so.
 */
#ifndef _BOILERPLATE_TRACE_H
#define _BOILERPLATE_TRACE_H

#include <errno.h>
#include <stdint.h>

/** Begin of a stretch to be measured. @return -ENOSYS */
static __inline__ int xntrace_max_begin(unsigned long v)
{
	(void)v;
	return -ENOSYS;
}

/** End of it. @return -ENOSYS */
static __inline__ int xntrace_max_end(unsigned long v)
{
	(void)v;
	return -ENOSYS;
}

/** Forget the longest. @return -ENOSYS */
static __inline__ int xntrace_max_reset(void)
{
	return -ENOSYS;
}

/** Begin to trace. @return -ENOSYS */
static __inline__ int xntrace_user_start(void)
{
	return -ENOSYS;
}

/** End it. @return -ENOSYS */
static __inline__ int xntrace_user_stop(unsigned long v)
{
	(void)v;
	return -ENOSYS;
}

/** Keep what was traced last. @return -ENOSYS */
static __inline__ int xntrace_user_freeze(unsigned long v, int once)
{
	(void)v;
	(void)once;
	return -ENOSYS;
}

/** Note a value. @return -ENOSYS */
static __inline__ int xntrace_special(unsigned char id, unsigned long v)
{
	(void)id;
	(void)v;
	return -ENOSYS;
}

/** Note a value of 64 bits. @return -ENOSYS */
static __inline__ int xntrace_special_u64(unsigned char id, uint64_t v)
{
	(void)id;
	(void)v;
	return -ENOSYS;
}

#endif /* !_BOILERPLATE_TRACE_H */
