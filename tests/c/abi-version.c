/* What a program of the 3.x interface sees of versions (setup.md 7.4; abi.md 2.7, 7.4). */
#include <xeno_config.h>
#if CONFIG_XENO_VERSION_MAJOR != 3 || CONFIG_XENO_VERSION_MINOR != 3
#error "not 3.3"
#endif

#include "kit.h"
#include <boilerplate/trace.h>
#include <trank/native/task.h>
#include <xenomai/version.h>

#if XENO_VERSION_CODE < XENO_VERSION(3, 3, 0) || XENO_VERSION_CODE >= XENO_VERSION(3, 4, 0)
#error "not 3.3"
#endif

static void versions(void)
{
	CHECK_EQ(XENO_VERSION_CODE, 0x30300);
	CHECK_STR(XENO_VERSION_STRING, "3.3");
	CHECK_EQ(CONFIG_XENO_VERSION_MAJOR, 3);
	CHECK_EQ(CONFIG_XENO_MERCURY, 1);
	/* The native header came second. */
	CHECK_EQ(T_SUSP, 0x800000);
	CHECK_EQ(T_JOINABLE, 0x10000);
}

static void no_tracer(void)
{
	CHECK_EQ(xntrace_max_begin(1), -ENOSYS);
	CHECK_EQ(xntrace_max_end(1), -ENOSYS);
	CHECK_EQ(xntrace_max_reset(), -ENOSYS);
	CHECK_EQ(xntrace_user_start(), -ENOSYS);
	CHECK_EQ(xntrace_user_stop(1), -ENOSYS);
	CHECK_EQ(xntrace_user_freeze(1, 1), -ENOSYS);
	CHECK_EQ(xntrace_special(1, 1), -ENOSYS);
	CHECK_EQ(xntrace_special_u64(1, 1), -ENOSYS);
}

KIT_CASES(CASE(versions), CASE(no_tracer))
