/* What a program of the 2.x interface sees of versions, and of the core's headers (setup.md 7.4; native2.md 3, 4.3). */
#include <xeno_config.h>
#define KIT_NO_ALCHEMY
#include "kit.h"
#include <trank/native/task.h>
#include <nucleus/heap.h>
#include <nucleus/thread.h>
#include <nucleus/timer.h>
#include <nucleus/trace.h>
#include <nucleus/version.h>

#if XENO_VERSION_CODE < XENO_VERSION(2, 6, 0) || XENO_VERSION_CODE >= XENO_VERSION(2, 7, 0)
#error "not 2.6"
#endif

static void versions(void)
{
	CHECK_EQ(XENO_VERSION_CODE, 0x20605);
	CHECK_STR(XENO_VERSION_STRING, "2.6.5");
	CHECK_EQ(CONFIG_XENO_VERSION_MAJOR, 2);
	CHECK_EQ(CONFIG_XENO_VERSION_MINOR, 6);
	CHECK_EQ(T_SUSP, 1);
	CHECK_EQ(XNOBJECT_NAME_LEN, 32);
}

static void status_bits(void)
{
	CHECK_EQ(XNSUSP, T_SUSP);
	CHECK_EQ(XNPEND, T_BLOCKED);
	CHECK_EQ(XNDELAY, T_DELAYED);
	CHECK_EQ(XNREADY, T_READY);
	CHECK_EQ(XNDORMANT, T_DORMANT);
	CHECK_EQ(XNSTARTED, T_STARTED);
	CHECK_EQ(XNBOOST, T_BOOST);
	CHECK_EQ(XNLOCK, T_LOCK);
	CHECK_EQ(XNRRB, T_RRB);
}

static void no_tracer(void)
{
	CHECK_EQ(xntrace_user_freeze(1, 1), -ENOSYS);
}

KIT_CASES(CASE(versions), CASE(status_bits), CASE(no_tracer))
