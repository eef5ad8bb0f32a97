/* Alarms of the 2.x interface: no handlers, tasks wait (native2.md 5, 7.8, 11.5; alarm.md 6). */
#include "native-kit.h"
#include <native/alarm.h>

static RT_ALARM alarm_;

static unsigned long expiries(void)
{
	RT_ALARM_INFO info;

	CHECK_EQ(rt_alarm_inquire(&alarm_, &info), 0);
	return info.expiries;
}

static RTIME expiration(void)
{
	RT_ALARM_INFO info;

	CHECK_EQ(rt_alarm_inquire(&alarm_, &info), 0);
	return info.expiration;
}

static void create_and_inquire(void)
{
	RT_ALARM_INFO info;
	RT_ALARM other, before;

	CHECK_EQ(rt_alarm_create(&alarm_, "al"), 0);
	CHECK(alarm_.opaque != 0);
	memset(&info, 0x5a, sizeof(info));
	CHECK_EQ(rt_alarm_inquire(&alarm_, &info), 0);
	CHECK_STR(info.name, "al");
	CHECK_EQ(info.expiration, 0);
	CHECK_EQ(info.expiries, 0);
	memset(&other, 0x5a, sizeof(other));
	before = other;
	CHECK_EQ(rt_alarm_create(&other, "al"), -EEXIST);
	CHECK_SAME_BYTES(&other, &before, sizeof(other));
	CHECK_EQ(rt_alarm_create(NULL, "x"), -EINVAL);
	CHECK_EQ(rt_alarm_create(&other, NULL), 0);
	CHECK_EQ(rt_alarm_inquire(&other, &info), 0);
	CHECK_STR(info.name, "alarm@1");
	CHECK_EQ(rt_alarm_inquire(&other, NULL), -EINVAL);
	CHECK_EQ(rt_alarm_delete(&other), 0);
	CHECK_EQ(rt_alarm_delete(&other), -EINVAL);
	CHECK_EQ(rt_alarm_start(&other, 1, 1), -EINVAL);
	CHECK_EQ(rt_alarm_stop(&other), -EINVAL);
	CHECK_EQ(rt_alarm_inquire(&other, &info), -EINVAL);
	CHECK_EQ(rt_alarm_stop(&alarm_), 0);
}

static void time_left(void)
{
	RTIME left;

	CHECK_EQ(rt_alarm_create(&alarm_, NULL), 0);
	CHECK_EQ(rt_alarm_start(&alarm_, 1000000 * MS, TM_INFINITE), 0);
	left = expiration();
	CHECK(left > 0 && left <= 1000000 * (RTIME)MS);
	CHECK(expiration() <= left);
	CHECK_EQ(rt_alarm_stop(&alarm_), 0);
	CHECK_EQ(expiration(), 0);
	CHECK_EQ(rt_alarm_start(&alarm_, MS, TM_INFINITE), 0);
	until(expiries() == 1);
	CHECK_EQ(expiration(), 0); /* one shot */
	/* A start with TM_INFINITE stops it: 3.x would call at once. */
	CHECK_EQ(rt_alarm_start(&alarm_, 1000000 * MS, MS), 0);
	CHECK_EQ(rt_alarm_start(&alarm_, TM_INFINITE, MS), 0);
	CHECK_EQ(expiration(), 0);
	kit_nap(5 * MS);
	CHECK_EQ(expiries(), 1);
}

struct waiter {
	int waits;
	int results[4];
	long long when[4];
	int cprio;
};

static void wait_some(void *waiter_)
{
	struct waiter *waiter = (struct waiter *)waiter_;
	RT_TASK_INFO info;
	int i;

	for (i = 0; i < waiter->waits; i++) {
		waiter->results[i] = rt_alarm_wait(&alarm_);
		waiter->when[i] = kit_now();
	}
	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	waiter->cprio = info.cprio;
}

/* native2.md 11.5 */
static void server_loop(void)
{
	struct waiter waiter = { 4, { 1, 1, 1, 1 }, { 0 }, 0 };
	long long start;
	RT_TASK task;
	int i;

	CHECK_EQ(rt_alarm_create(&alarm_, "al"), 0);
	spawn_blocked(&task, 10, wait_some, &waiter); /* not started: may be waited for */
	start = kit_now();
	CHECK_EQ(rt_alarm_start(&alarm_, 5 * MS, 5 * MS), 0);
	join(&task);
	CHECK_EQ(rt_alarm_stop(&alarm_), 0);
	for (i = 0; i < 4; i++) {
		CHECK_EQ(waiter.results[i], 0);
		CHECK(waiter.when[i] >= start + 5 * (i + 1) * MS);
	}
	CHECK(expiries() >= 4);
	CHECK_EQ(waiter.cprio, T_HIPRIO); /* raised, and left there */
}

static void all_waiters_wake_at_the_next_expiry(void)
{
	struct waiter waiters[3];
	RT_TASK tasks[3];
	long long start;
	int i;

	CHECK_EQ(rt_alarm_create(&alarm_, NULL), 0);
	for (i = 0; i < 3; i++) {
		memset(&waiters[i], 1, sizeof(waiters[i]));
		waiters[i].waits = 1;
		spawn_blocked(&tasks[i], i, wait_some, &waiters[i]);
	}
	start = kit_now();
	CHECK_EQ(rt_alarm_start(&alarm_, 2 * MS, TM_INFINITE), 0);
	for (i = 0; i < 3; i++) {
		join(&tasks[i]);
		CHECK_EQ(waiters[i].results[0], 0);
		CHECK(waiters[i].when[0] >= start + 2 * MS);
	}
	CHECK_EQ(expiries(), 1);
}

/* Expiries nobody waits for are not remembered. */
static void expiries_are_not_remembered(void)
{
	struct waiter waiter = { 1, { 1 }, { 0 }, 0 };
	long long start;
	RT_TASK task;

	CHECK_EQ(rt_alarm_create(&alarm_, NULL), 0);
	CHECK_EQ(rt_alarm_start(&alarm_, MS, MS), 0);
	until(expiries() >= 3);
	CHECK_EQ(rt_alarm_stop(&alarm_), 0);
	spawn_blocked(&task, 10, wait_some, &waiter);
	start = kit_now();
	CHECK_EQ(rt_alarm_start(&alarm_, 5 * MS, TM_INFINITE), 0);
	join(&task);
	CHECK_EQ(waiter.results[0], 0);
	CHECK(waiter.when[0] >= start + 5 * MS);
}

static void waits_that_end_otherwise(void)
{
	struct waiter first = { 1, { 1 }, { 0 }, 0 }, second = { 1, { 1 }, { 0 }, 0 };
	RT_TASK task[2];

	CHECK_EQ(rt_alarm_create(&alarm_, NULL), 0);
	spawn_blocked(&task[0], 10, wait_some, &first);
	spawn_blocked(&task[1], 10, wait_some, &second);
	CHECK_EQ(rt_task_unblock(&task[0]), 0);
	join(&task[0]);
	CHECK_EQ(first.results[0], -EINTR);
	CHECK(status_of(&task[1]) & T_BLOCKED);
	CHECK_EQ(rt_alarm_delete(&alarm_), 0);
	join(&task[1]);
	CHECK_EQ(second.results[0], -EIDRM);
	as_task(10, wait_some, &first);
	CHECK_EQ(first.results[0], -EINVAL);
	/* A waiter that is deleted leaves no trace. */
	CHECK_EQ(rt_alarm_create(&alarm_, NULL), 0);
	spawn_blocked(&task[0], 10, wait_some, &first);
	spawn_blocked(&task[1], 10, wait_some, &second);
	CHECK_EQ(rt_task_delete(&task[0]), 0);
	join(&task[0]);
	CHECK_EQ(rt_alarm_start(&alarm_, MS, TM_INFINITE), 0);
	join(&task[1]);
	CHECK_EQ(second.results[0], 0);
}

static void wait_outside_a_task(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_alarm_wait(&alarm_), -EPERM);
}

static void plain_threads_do_not_wait(void)
{
	CHECK_EQ(rt_alarm_create(&alarm_, NULL), 0);
	CHECK_EQ(rt_alarm_start(&alarm_, 1000000 * MS, TM_INFINITE), 0);
	kit_plain(wait_outside_a_task, NULL);
}

KIT_CASES(
	CASE(create_and_inquire), CASE(time_left), CASE(server_loop), CASE(all_waiters_wake_at_the_next_expiry),
	CASE(expiries_are_not_remembered), CASE(waits_that_end_otherwise), CASE(plain_threads_do_not_wait))
