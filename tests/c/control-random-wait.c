/* Random requests to tasks that use event flags, condition variables, messages and alarms: see random-kit.h. Of most of these there
 * are two: one that lasts; one that is deleted and replaced, where a call may come too late. */
#define KIT_STORM
#include "kit.h"
#include "random-kit.h"
#include <alchemy/alarm.h>
#include <alchemy/cond.h>
#include <alchemy/event.h>

/* Of the 2.x interface, which has no handlers; here for alarms that have one. */
int __native_rt_alarm_wait(RT_ALARM *alarm);

/* ---- With event flags ----------------------------------------------------------------------------------------- */

/* Waits are for some of WANTED. TOKEN is set by those who want to see it cleared once. */
enum { WANTED = 0xff, TOKEN = 0x100 };

static RT_EVENT flags;
static uintptr_t brief_flags;
static long given, taken; /* counted before the one and after the other */

static uintptr_t make_flags(RT_EVENT *event)
{
	CHECK_EQ(rt_event_create(event, NULL, 0, EV_PRIO), 0);
	return event->handle;
}

static void open_flags(void)
{
	RT_EVENT event;

	make_flags(&flags);
	brief_flags = make_flags(&event);
}

static void look_at_flags(RT_EVENT_INFO *info)
{
	CHECK_EQ(rt_event_inquire(&flags, info), 0);
	CHECK((info->value & ~(unsigned)(WANTED | TOKEN)) == 0);
	/* Nobody waits for what is there. */
	CHECK(info->nwaiters == 0 || (info->value & WANTED) != WANTED);
}

static void wait_for_flags(void)
{
	unsigned mask = 1 + (unsigned)chance(WANTED), got = ~0U;
	int mode = chance(2) ? EV_ANY : EV_ALL, result;
	RTIME timeout = some_time();

	result = rt_event_wait(&flags, mask, &got, mode, timeout);
	if (result != 0) {
		check_in_vain(result, timeout);
		CHECK_EQ(got, ~0U);
	} else {
		CHECK(got != 0 && (got & ~mask) == 0);
		CHECK(mode == EV_ANY || got == mask);
	}
}

static void take_token(void)
{
	unsigned old;

	CHECK_EQ(rt_event_clear(&flags, TOKEN | (unsigned)chance(WANTED), &old), 0);
	if (old & TOKEN)
		bump(&taken);
}

static void use_brief_flags(void)
{
	RT_EVENT event = { current(&brief_flags) };
	RTIME timeout = 1000 + chance(20000);
	unsigned mask = 1U << chance(4), got;

	switch (chance(3)) {
	case 0:
		found(rt_event_signal(&event, mask), TM_NONBLOCK);
		break;
	case 1:
		found(rt_event_clear(&event, mask, &got), TM_NONBLOCK);
		break;
	default:
		if (found(rt_event_wait(&event, mask, &got, EV_ANY, timeout), timeout))
			CHECK_EQ(got, mask);
		break;
	}
}

static void use_flags(void)
{
	RT_EVENT_INFO info;
	int i;

	for (i = 0; i < 5; i++) {
		switch (chance(12)) {
		case 0: case 1: case 2:
			CHECK_EQ(rt_event_signal(&flags, (unsigned)chance(WANTED + 1)), 0);
			break;
		case 3: case 4:
			bump(&given);
			CHECK_EQ(rt_event_signal(&flags, TOKEN), 0);
			break;
		case 5: case 6:
			take_token();
			break;
		case 7: case 8: case 9:
			wait_for_flags();
			break;
		case 10:
			use_brief_flags();
			break;
		default:
			look_at_flags(&info);
			break;
		}
	}
}

static void upset_flags(void)
{
	RT_EVENT event;

	make_flags(&event);
	event.handle = exchange(&brief_flags, event.handle);
	CHECK_EQ(rt_event_delete(&event), 0);
}

static void feed_flags(void)
{
	CHECK_EQ(rt_event_signal(&flags, WANTED), 0);
}

static void check_flags(long dead)
{
	RT_EVENT event = { brief_flags };
	RT_EVENT_INFO info;
	unsigned got;

	(void)dead;
	look_at_flags(&info);
	CHECK_EQ(info.nwaiters, 0);
	CHECK(value(&taken) > 0);
	CHECK(value(&taken) + !!(info.value & TOKEN) <= value(&given));
	CHECK_EQ(rt_event_clear(&flags, ~0U, &got), 0);
	CHECK_EQ(got, info.value);
	CHECK_EQ(rt_event_signal(&flags, 3), 0);
	CHECK_EQ(rt_event_wait(&flags, 7, &got, EV_ALL, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_event_delete(&flags), 0);
	CHECK_EQ(rt_event_delete(&event), 0);
}

/* ---- With a condition variable -------------------------------------------------------------------------------- */

enum { FULL = 8 };

static RT_MUTEX gate;
static RT_COND changed;
static uintptr_t brief_cond;
static long made, used, stock;    /* equal sums, under the gate */
static long offered, consumed;    /* counted before the one and after the other */
static int closing;               /* nothing is made any more */

static uintptr_t make_cond(RT_COND *cond)
{
	CHECK_EQ(rt_cond_create(cond, NULL), 0);
	return cond->handle;
}

static void open_gate(void)
{
	RT_COND cond;

	CHECK_EQ(rt_mutex_create(&gate, NULL), 0);
	make_cond(&changed);
	brief_cond = make_cond(&cond);
}

/* The caller has the gate. Whoever had it may have ended before it told others of the stock. */
static void enter(int got)
{
	if (got == -EOWNERDEAD) {
		made = used + stock;
		CHECK_EQ(rt_cond_broadcast(&changed), 0);
	}
	CHECK_EQ(made, used + stock);
}

static int lock_gate(void)
{
	int got = rt_mutex_acquire(&gate, TM_INFINITE);

	CHECK(got == 0 || got == -EINTR || got == -EOWNERDEAD);
	if (got != -EINTR)
		enter(got);
	return got != -EINTR;
}

/* Back from a wait, in which the gate was given up. */
static void come_back(int got, RTIME timeout)
{
	if (got != 0 && got != -EOWNERDEAD)
		check_in_vain(got, timeout);
	enter(got);
}

static void make_one(void)
{
	bump(&offered);
	made++;
	stock++;
	if (chance(4))
		CHECK_EQ(rt_cond_signal(&changed), 0);
	else
		CHECK_EQ(rt_cond_broadcast(&changed), 0);
}

static void use_one(void)
{
	RTIME timeout;

	while (stock == 0) {
		int got;

		do
			timeout = __atomic_load_n(&closing, __ATOMIC_RELAXED) ? TM_INFINITE : some_time();
		while (timeout == TM_NONBLOCK);
		got = rt_cond_wait(&changed, &gate, timeout);
		come_back(got, timeout);
		if (got == -EINTR || got == -ETIMEDOUT)
			return;
	}
	stock--;
	used++;
	bump(&consumed);
}

static void wait_for_brief_cond(void)
{
	RT_COND cond = { current(&brief_cond) };
	RTIME timeout = 1000 + chance(20000);
	int got = rt_cond_wait(&cond, &gate, timeout);

	/* Not given up if it was gone. */
	come_back(got == -EINVAL ? 0 : got, timeout);
}

static void use_gate(void)
{
	int twice = chance(4) == 0;

	if (!lock_gate())
		return;
	if (twice)
		CHECK_EQ(rt_mutex_acquire(&gate, TM_NONBLOCK), 0);
	if (__atomic_load_n(&closing, __ATOMIC_RELAXED) || (stock < FULL ? chance(5) < 2 : 1))
		use_one();
	else if (chance(4) == 0)
		wait_for_brief_cond();
	else
		make_one();
	if (twice)
		CHECK_EQ(rt_mutex_release(&gate), 0);
	CHECK_EQ(rt_mutex_release(&gate), 0);
	CHECK_EQ(rt_mutex_release(&gate), -EPERM);
}

/* Deletion is refused as long as somebody waits; those who still know the handle may do so once each. */
static void upset_gate(void)
{
	int result, tries = 0;
	RT_COND cond;

	make_cond(&cond);
	cond.handle = exchange(&brief_cond, cond.handle);
	do {
		CHECK_EQ(rt_cond_broadcast(&cond), 0);
		result = rt_cond_delete(&cond);
		CHECK(result == 0 || (result == -EBUSY && tries++ < VICTIMS));
	} while (result != 0);
}

static void look_at_stock(void *left)
{
	while (!lock_gate())
		;
	*(long *)left = stock;
	CHECK_EQ(rt_mutex_release(&gate), 0);
}

static void make_one_by_the_way(void *unused)
{
	(void)unused;
	while (!lock_gate())
		;
	make_one();
	CHECK_EQ(rt_mutex_release(&gate), 0);
}

static void feed_gate(void)
{
	as_task(0, make_one_by_the_way, NULL);
}

/* Whoever waits has been told of what is there. */
static void empty_stock(void)
{
	long left;

	__atomic_store_n(&closing, 1, __ATOMIC_RELAXED);
	do {
		kit_nap(1000000);
		as_task(0, look_at_stock, &left);
	} while (left > 0);
}

static void check_gate(long dead)
{
	long expected = value(&offered) - value(&consumed), left;
	RT_COND cond = { brief_cond };
	RT_MUTEX_INFO info;

	as_task(30, look_at_stock, &left);
	CHECK(left <= expected);
	CHECK(left >= expected - dead);
	CHECK_EQ(rt_mutex_inquire(&gate, &info), 0);
	CHECK_EQ(info.owner.handle, 0);
	CHECK_EQ(rt_cond_delete(&changed), 0);
	CHECK_EQ(rt_cond_delete(&cond), 0);
	CHECK_EQ(rt_mutex_delete(&gate), 0);
}

/* ---- With messages -------------------------------------------------------------------------------------------- */

static long next_question, served, answered; /* both counted after the act */
static struct once questions, answers;

static long answer_to(long question)
{
	return 3 * question + 1;
}

static void ask_somebody(void)
{
	long question = bump(&next_question), answer = -1;
	RT_TASK_MCB ask = { 0, (int)(question & 0xffff), &question, sizeof(question) };
	RT_TASK_MCB reply = { 0, -7, &answer, sizeof(answer) };
	struct victim *whom = &victims[chance(VICTIMS)];
	RTIME timeout = chance(4) ? 1000 + chance(100000) : some_time();
	ssize_t size;
	RT_TASK task;

	if (whom == me || whom->trade != me->trade || rt_task_bind(&task, whom->name, TM_NONBLOCK) != 0)
		return;
	size = rt_task_send(&task, &ask, &reply, timeout);
	if (size == sizeof(answer)) {
		CHECK_EQ(answer, answer_to(question));
		CHECK_EQ(reply.opcode, answer & 0xffff);
		check_once(&answers, question);
		bump(&answered);
		return;
	}
	CHECK_EQ(answer, -1);
	CHECK_EQ(reply.opcode, -7);
	/* A poll that found somebody waits like any other. */
	if (size != -EINTR && size != -EIDRM && size != -EINVAL)
		check_in_vain(size, timeout);
}

static void serve_somebody(void)
{
	long question = -1, answer;
	RT_TASK_MCB mcb = { 0, -7, &question, sizeof(question) }, reply = { 0, 0, &answer, sizeof(answer) };
	RTIME timeout = some_time();
	int flow = rt_task_receive(&mcb, timeout), result;

	if (flow <= 0) {
		check_in_vain(flow, timeout);
		CHECK_EQ(question, -1);
		return;
	}
	CHECK_EQ(mcb.size, sizeof(question));
	CHECK_EQ(mcb.opcode, question & 0xffff);
	/* Then it stays there. */
	if (chance(8) == 0)
		return;
	answer = answer_to(question);
	reply.opcode = (int)(answer & 0xffff);
	result = rt_task_reply(flow, &reply);
	CHECK(result == 0 || result == -ENXIO);
	if (result == 0) {
		check_once(&questions, question);
		bump(&served);
	}
	CHECK_EQ(rt_task_reply(flow, &reply), -ENXIO);
}

static void use_messages(void)
{
	int i;

	for (i = 0; i < 4; i++) {
		if (chance(2))
			ask_somebody();
		else
			serve_somebody();
	}
}

static void ask_for_ever(void *name)
{
	long answer;
	RT_TASK_MCB ask = { 0, 0, NULL, 0 }, reply = { 0, 0, &answer, sizeof(answer) };
	RT_TASK task;

	(void)name;
	CHECK_EQ(rt_task_bind(&task, (const char *)name, TM_INFINITE), 0);
	CHECK_EQ(rt_task_send(&task, &ask, &reply, TM_INFINITE), sizeof(answer));
	CHECK_EQ(answer, 4711);
}

static void serve_all(void *unused)
{
	long answer = 4711;
	RT_TASK_MCB reply = { 0, 0, &answer, sizeof(answer) };
	int i;

	(void)unused;
	for (i = 0; i < 3; i++) {
		RT_TASK_MCB mcb = { 0, 0, NULL, 0 };
		int flow = rt_task_receive(&mcb, TM_INFINITE);

		CHECK(flow > 0);
		CHECK_EQ(rt_task_reply(flow, &reply), 0);
	}
}

/* One each may have been lost with those who had served, or been answered, and were about to count it. */
static void check_messages(long dead)
{
	RT_TASK server, clients[3];
	char name[] = "server";
	int i;

	CHECK(value(&answered) > 0);
	CHECK(value(&answered) <= value(&served) + dead);
	CHECK(value(&served) <= value(&answered) + dead);
	CHECK_EQ(rt_task_spawn(&server, name, 0, 0, T_JOINABLE, serve_all, NULL), 0);
	for (i = 0; i < 3; i++)
		kit_spawn(&clients[i], 0, ask_for_ever, name);
	for (i = 0; i < 3; i++)
		kit_join(&clients[i]);
	kit_join(&server);
}

/* ---- With alarms ---------------------------------------------------------------------------------------------- */

static RT_ALARM pulse;
static uintptr_t brief_alarm;
static long pulses;

static void count_pulse(void *unused)
{
	(void)unused;
	bump(&pulses);
}

/* Replaces its alarm now and then, in the middle of its own call. */
static void replace_alarm(void *chance_)
{
	RT_ALARM alarm;

	if (chance(*(unsigned long *)chance_) != 0)
		return;
	CHECK_EQ(rt_alarm_create(&alarm, NULL, replace_alarm, chance_), 0);
	alarm.handle = exchange(&brief_alarm, alarm.handle);
	CHECK_EQ(rt_alarm_delete(&alarm), 0);
}

static unsigned long always = 1, sometimes = 4;

static void open_alarms(void)
{
	RT_ALARM alarm;

	CHECK_EQ(rt_alarm_create(&pulse, NULL, count_pulse, NULL), 0);
	CHECK_EQ(rt_alarm_create(&alarm, NULL, replace_alarm, &sometimes), 0);
	brief_alarm = alarm.handle;
}

static void start_pulse(void)
{
	CHECK_EQ(rt_alarm_start(&pulse, chance(100000), chance(4) ? TM_INFINITE : 200000 + chance(1000000)), 0);
}

/* The wait has raised the caller above all: back to where others can get on. Who is being deleted is no task any more. */
static void step_down(void)
{
	int result = rt_task_set_priority(NULL, 0);

	CHECK(result == 0 || result == -EINVAL);
}

static void wait_for_pulse(void)
{
	int result;

	start_pulse();
	result = __native_rt_alarm_wait(&pulse);
	CHECK(result == 0 || result == -EINTR);
	step_down();
}

static void use_brief_alarm(void)
{
	RT_ALARM alarm = { current(&brief_alarm) };

	if (!found(rt_alarm_start(&alarm, chance(30000), chance(2) ? TM_INFINITE : 100000), TM_NONBLOCK) || chance(2))
		return;
	found(__native_rt_alarm_wait(&alarm), TM_INFINITE);
	step_down();
	found(rt_alarm_stop(&alarm), TM_NONBLOCK);
}

static void count_call(void *victim)
{
	bump(&((struct victim *)victim)->calls);
}

/* Nobody else touches it: once it is stopped, or deleted, only a call in progress may come to its count. */
static void use_own_alarm(void)
{
	RT_ALARM_INFO info;
	RT_ALARM alarm;
	long calls;

	CHECK_EQ(rt_alarm_create((RT_ALARM *)&me->handle, NULL, count_call, me), 0);
	alarm.handle = me->handle;
	CHECK_EQ(rt_alarm_start(&alarm, chance(50000), chance(2) ? TM_INFINITE : 50000 + chance(50000)), 0);
	rt_task_sleep(chance(50000));
	CHECK_EQ(rt_alarm_stop(&alarm), 0);
	calls = value(&me->calls);
	CHECK_EQ(rt_alarm_inquire(&alarm, &info), 0);
	CHECK_EQ(info.active, 0);
	rt_task_sleep(chance(50000));
	CHECK(value(&me->calls) <= calls + 1);
	CHECK_EQ(rt_alarm_start(&alarm, chance(20000), 50000), 0);
	rt_task_sleep(chance(20000));
	CHECK_EQ(rt_alarm_delete(&alarm), 0);
	calls = value(&me->calls);
	rt_task_sleep(chance(50000));
	CHECK(value(&me->calls) <= calls + 1);
}

static void use_alarms(void)
{
	switch (chance(6)) {
	case 0:
		start_pulse();
		break;
	case 1:
		CHECK_EQ(rt_alarm_stop(&pulse), 0);
		break;
	case 2:
		wait_for_pulse();
		break;
	case 3: case 4:
		use_brief_alarm();
		break;
	default:
		use_own_alarm();
		break;
	}
}

static void upset_alarms(void)
{
	RT_ALARM alarm;

	if (chance(2)) {
		CHECK_EQ(rt_alarm_stop(&pulse), 0);
		start_pulse();
		return;
	}
	CHECK_EQ(rt_alarm_create(&alarm, NULL, replace_alarm, chance(8) ? &sometimes : &always), 0);
	alarm.handle = exchange(&brief_alarm, alarm.handle);
	CHECK_EQ(rt_alarm_delete(&alarm), 0);
}

static void mourn_alarm_user(struct victim *victim)
{
	RT_ALARM alarm = { victim->handle };

	found(rt_alarm_delete(&alarm), TM_NONBLOCK);
}

static void feed_alarms(void)
{
	RT_ALARM alarm = { current(&brief_alarm) };

	CHECK_EQ(rt_alarm_start(&pulse, 0, TM_INFINITE), 0);
	found(rt_alarm_start(&alarm, 0, TM_INFINITE), TM_NONBLOCK);
}

static void wait_once(void *alarm)
{
	CHECK_EQ(__native_rt_alarm_wait((RT_ALARM *)alarm), 0);
}

static void check_alarms(long dead)
{
	RT_ALARM alarm = { exchange(&brief_alarm, 0) };
	RT_ALARM_INFO info;
	RT_TASK task;
	long calls;

	(void)dead;
	CHECK_EQ(rt_alarm_stop(&pulse), 0);
	calls = value(&pulses);
	CHECK(calls > 0);
	CHECK_EQ(rt_alarm_inquire(&pulse, &info), 0);
	CHECK(calls <= (long)info.expiries);
	kit_spawn_blocked(&task, 0, wait_once, &pulse);
	CHECK_EQ(rt_alarm_start(&pulse, 0, TM_INFINITE), 0);
	kit_join(&task);
	until(value(&pulses) > calls);
	CHECK_EQ(rt_alarm_delete(&pulse), 0);
	CHECK_EQ(rt_alarm_stop(&alarm), 0);
	CHECK_EQ(rt_alarm_delete(&alarm), 0);
}

RANDOM_TRADES(
	{ .open = open_flags, .work = use_flags, .close = check_flags, .upset = upset_flags, .feed = feed_flags },
	{ .open = open_gate, .work = use_gate, .close = check_gate, .upset = upset_gate,
	  .rest = empty_stock, .feed = feed_gate },
	{ .work = use_messages, .close = check_messages },
	{ .open = open_alarms, .work = use_alarms, .close = check_alarms, .upset = upset_alarms,
	  .mourn = mourn_alarm_user, .feed = feed_alarms })

KIT_CASES(RANDOM_CASES, CASE_FIFO(a_short_reign))
