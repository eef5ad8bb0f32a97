/* A task that uses alarms, and their server, are not held up by a task of middle priority through another one that uses alarms,
 * too. One CPU. */
#define KIT_STORM
#include "kit.h"
#include "alarm-kit.h"
#include "inversion-kit.h"

enum { MANY = 64 };

static RT_ALARM many[MANY], own;

static void make_alarms(void)
{
	int i;

	for (i = 0; i < MANY; i++)
		CHECK_EQ(rt_alarm_create(&many[i], NULL, no_call, NULL), 0);
	CHECK_EQ(rt_alarm_create(&own, NULL, no_call, NULL), 0);
}

/* Far dates, each before all that are armed: every start and stop moves something in the heap. */
static void arm_and_disarm(void)
{
	static unsigned turn;
	RT_ALARM *alarm = &many[turn++ % MANY];

	CHECK_EQ(rt_alarm_start(alarm, 3600 * 1000 * MS - turn % 4096 * MS, TM_INFINITE), 0);
	if (turn % 3 == 0)
		CHECK_EQ(rt_alarm_stop(&many[turn / 2 % MANY]), 0);
}

static void arm_own(void)
{
	CHECK_EQ(rt_alarm_start(&own, 3600 * 1000 * MS, MS), 0);
	CHECK_EQ(rt_alarm_stop(&own), 0);
}

static void ask(void)
{
	RT_ALARM_INFO info;

	CHECK_EQ(rt_alarm_inquire(&own, &info), 0);
}

static void middle_does_not_hold_up_a_start(void)
{
	make_alarms();
	no_inversion(arm_and_disarm, arm_own, 8000);
}

static void middle_does_not_hold_up_a_look(void)
{
	make_alarms();
	no_inversion(arm_and_disarm, ask, 8000);
}

static int called;

static void note_call(void *arg)
{
	(void)arg;
	__atomic_add_fetch(&called, 1, __ATOMIC_ACQ_REL);
}

/* Mid wakes in the midst of what low does, and computes; the date of an alarm comes meanwhile. The server preempts mid, but may
 * have to wait for low. */
static void compute_until_called(void *arg)
{
	enum { ROUNDS = 3000 };
	unsigned state = 4711;
	long long end;
	RTIME delay;
	int i;

	(void)arg;
	for (i = 1; i <= ROUNDS; i++) {
		state = state * 1103515245U + 12345U;
		delay = 40000 + (state >> 16) % 40000;
		CHECK_EQ(rt_alarm_start(&own, delay + 30000, TM_INFINITE), 0);
		CHECK_EQ(rt_task_sleep(delay), 0);
		end = kit_now() + 1000 * (long long)MS;
		while (__atomic_load_n(&called, __ATOMIC_ACQUIRE) < i)
			if (kit_now() > end)
				kit_fail(__FILE__, __LINE__, "round %d: the server waits for low, which waits for mid", i);
	}
	__atomic_store_n(&inversion_over, 1, __ATOMIC_RELEASE);
}

static void middle_does_not_hold_up_the_server(void)
{
	RT_TASK low, mid;

	make_alarms();
	CHECK_EQ(rt_alarm_delete(&own), 0);
	CHECK_EQ(rt_alarm_create(&own, NULL, note_call, NULL), 0);
	inversion.use_low = arm_and_disarm;
	kit_spawn(&mid, 20, compute_until_called, NULL);
	kit_spawn(&low, 10, inversion_low, NULL);
	kit_join(&mid);
	kit_join(&low);
}

KIT_CASES(
	CASE_KERNEL(middle_does_not_hold_up_a_start), CASE_KERNEL(middle_does_not_hold_up_a_look),
	CASE_KERNEL(middle_does_not_hold_up_the_server))
