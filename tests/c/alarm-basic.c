/* Alarms: creation, names, descriptors, dates (alarm.md 7). */
#include "kit.h"
#include "alarm-kit.h"

/* --- Creation and names ------------------------------------------------------------------------------------------- */

/* alarm.md 7.1; common.md 14.1 */
static void new_alarm_is_stopped(void)
{
	RT_ALARM_INFO info;
	RT_ALARM alarm[4];

	CHECK_EQ(rt_alarm_create(&alarm[0], "given", no_call, NULL), 0);
	CHECK(alarm[0].handle != 0);
	CHECK_EQ(rt_alarm_inquire(&alarm[0], &info), 0);
	CHECK_STR(info.name, "given");
	CHECK_EQ(info.expiries, 0);
	CHECK_EQ(info.active, 0);
	CHECK_EQ(rt_alarm_create(&alarm[1], NULL, no_call, NULL), 0);
	CHECK_EQ(rt_alarm_inquire(&alarm[1], &info), 0);
	CHECK_STR(info.name, "alarm@1");
	CHECK_EQ(rt_alarm_create(&alarm[2], "between", no_call, NULL), 0);
	CHECK_EQ(rt_alarm_create(&alarm[3], "", no_call, NULL), 0);
	CHECK_EQ(rt_alarm_inquire(&alarm[3], &info), 0);
	CHECK_STR(info.name, "alarm@2");
	CHECK_ALARM(&alarm[3], 0, 0);
}

/* common.md 14.4 */
static void generated_name_avoids_a_given_one(void)
{
	RT_ALARM_INFO info;
	RT_ALARM alarm[2];

	CHECK_EQ(rt_alarm_create(&alarm[0], "alarm@1", no_call, NULL), 0);
	CHECK_EQ(rt_alarm_create(&alarm[1], NULL, no_call, NULL), 0);
	CHECK_EQ(rt_alarm_inquire(&alarm[1], &info), 0);
	CHECK_STR(info.name, "alarm@2");
}

/* alarm.md 7.2 */
static void duplicate_name(void)
{
	RT_ALARM second, before;
	struct diary first;

	make_diary_named(&first, "same", NULL, NULL);
	memset(&second, 0x5a, sizeof(second));
	before = second;
	CHECK_EQ(rt_alarm_create(&second, "same", no_call, NULL), -EEXIST);
	CHECK_SAME_BYTES(&second, &before, sizeof(second));
	/* On the live descriptor itself, as peers do. */
	before = first.alarm;
	CHECK_EQ(rt_alarm_create(&first.alarm, "same", no_call, NULL), -EEXIST);
	CHECK_SAME_BYTES(&first.alarm, &before, sizeof(before));
	CHECK_EQ(rt_alarm_start(&first.alarm, MS, TM_INFINITE), 0);
	until(calls_of(&first) == 1);
	CHECK_EQ(rt_alarm_delete(&first.alarm), 0);
	CHECK_EQ(rt_alarm_create(&second, "same", no_call, NULL), 0);
}

static void long_names_are_cut(void)
{
	RT_ALARM_INFO info;
	RT_ALARM alarm, other;

	CHECK_EQ(rt_alarm_create(&alarm, "0123456789012345678901234567890123456789", no_call, NULL), 0);
	CHECK_EQ(rt_alarm_inquire(&alarm, &info), 0);
	CHECK_STR(info.name, "0123456789012345678901234567890");
	CHECK_EQ(rt_alarm_create(&other, "0123456789012345678901234567890", no_call, NULL), -EEXIST);
	CHECK_EQ(rt_alarm_create(&other, "012345678901234567890123456789", no_call, NULL), 0);
}

/* Every type has names of its own. */
static void a_task_may_have_the_same_name(void)
{
	RT_ALARM alarm;
	RT_TASK task;

	CHECK_EQ(rt_alarm_create(&alarm, "twin", no_call, NULL), 0);
	CHECK_EQ(rt_task_create(&task, "twin", 0, 0, 0), 0);
	CHECK_EQ(rt_task_delete(&task), 0);
	CHECK_ALARM(&alarm, 0, 0);
}

/* alarm.md 7.21, 3 */
static void null_arguments(void)
{
	RT_ALARM alarm, before;
	RT_ALARM_INFO info;

	memset(&alarm, 0x5a, sizeof(alarm));
	before = alarm;
	CHECK_EQ(rt_alarm_create(&alarm, "none", NULL, NULL), -EINVAL);
	CHECK_SAME_BYTES(&alarm, &before, sizeof(alarm));
	CHECK_EQ(rt_alarm_create(NULL, "none", no_call, NULL), -EINVAL);
	CHECK_EQ(rt_alarm_create(NULL, NULL, NULL, NULL), -EINVAL);
	/* Neither has taken the name, nor a number. */
	CHECK_EQ(rt_alarm_create(&alarm, "none", no_call, NULL), 0);
	CHECK_EQ(rt_alarm_inquire(&alarm, NULL), -EINVAL);
	CHECK_EQ(rt_alarm_create(&alarm, NULL, no_call, NULL), 0);
	CHECK_EQ(rt_alarm_inquire(&alarm, &info), 0);
	CHECK_STR(info.name, "alarm@1");
}

static void create_and_use(void *arg)
{
	struct diary diary;

	(void)arg;
	make_diary_named(&diary, "anybody's", NULL, NULL);
	CHECK_EQ(rt_alarm_start(&diary.alarm, 0, TM_INFINITE), 0);
	until(calls_of(&diary) == 1);
	CHECK_EQ(rt_alarm_stop(&diary.alarm), 0);
	CHECK_ALARM(&diary.alarm, 1, 0);
	CHECK_EQ(rt_alarm_delete(&diary.alarm), 0);
}

static void any_thread_uses_alarms(void)
{
	RT_TASK task;

	kit_plain(create_and_use, NULL);
	create_and_use(NULL);
	kit_spawn(&task, 10, create_and_use, NULL);
	kit_join(&task);
}

/* --- Descriptors -------------------------------------------------------------------------------------------------- */

static void refused(RT_ALARM *alarm)
{
	RT_ALARM_INFO info, info_before;
	RT_ALARM before;

	if (alarm)
		memcpy(&before, alarm, sizeof(before));
	memset(&info, 0x5a, sizeof(info));
	info_before = info;
	CHECK_EQ(rt_alarm_start(alarm, 0, 0), -EINVAL);
	CHECK_EQ(rt_alarm_start(alarm, MS, MS), -EINVAL);
	CHECK_EQ(rt_alarm_stop(alarm), -EINVAL);
	CHECK_EQ(rt_alarm_inquire(alarm, &info), -EINVAL);
	CHECK_SAME_BYTES(&info, &info_before, sizeof(info));
	CHECK_EQ(rt_alarm_delete(alarm), -EINVAL);
	if (alarm)
		CHECK_SAME_BYTES(alarm, &before, sizeof(before));
}

static void body(void *arg)
{
	(void)arg;
	rt_task_sleep_until(TM_INFINITE);
}

/* alarm.md 7.20 */
static void bad_descriptors(void)
{
	unsigned long long state = 88172645463325252ULL;
	RT_ALARM stale, zeroed = { 0 }, other, at[2];
	struct diary live;
	RT_TASK task;
	int i;

	make_diary(&live, NULL, NULL);
	CHECK_EQ(rt_alarm_create(&stale, "stale", no_call, NULL), 0);
	CHECK_EQ(rt_alarm_start(&stale, 1000 * MS, MS), 0);
	CHECK_EQ(rt_alarm_delete(&stale), 0);
	refused(&stale);
	CHECK_EQ(rt_alarm_create(&other, "stale", no_call, NULL), 0);
	refused(&stale);
	refused(&zeroed);
	refused(NULL);
	for (i = 1; i < 8; i++) {
		memcpy((char *)at + i, &live.alarm, sizeof(live.alarm));
		refused((RT_ALARM *)(void *)((char *)at + i));
	}
	kit_spawn_blocked(&task, 10, body, NULL);
	memcpy(&other, &task, sizeof(other));
	refused(&other);
	for (i = 0; i < 64; i++) {
		other.handle = live.alarm.handle ^ ((uintptr_t)1 << i);
		if (other.handle != live.alarm.handle)
			refused(&other);
	}
	other.handle = (uintptr_t)&live;
	refused(&other);
	for (i = 0; i < 2000; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		other.handle = (uintptr_t)state;
		refused(&other);
	}
	CHECK_EQ(rt_task_unblock(&task), 0);
	kit_join(&task);
	CHECK_ALARM(&live.alarm, 0, 0);
	CHECK_EQ(entries_of(&live), 0);
}

static void copies_are_as_good(void)
{
	struct diary diary;
	RT_ALARM copy;

	make_diary(&diary, NULL, NULL);
	copy = diary.alarm;
	CHECK_EQ(rt_alarm_start(&copy, 0, TM_INFINITE), 0);
	until(calls_of(&diary) == 1);
	CHECK_ALARM(&copy, 1, 0);
	CHECK_EQ(rt_alarm_delete(&copy), 0);
	refused(&diary.alarm);
}

/* --- Dates -------------------------------------------------------------------------------------------------------- */

/* alarm.md 7.3 */
static void one_shot(void)
{
	struct diary diary;
	long long start;

	make_diary(&diary, NULL, NULL);
	start = kit_now();
	CHECK_EQ(rt_alarm_start(&diary.alarm, 20 * MS, TM_INFINITE), 0);
	CHECK_EQ(is_active(&diary.alarm), calls_of(&diary) == 0);
	until(calls_of(&diary) == 1);
	check_never_early(&diary, start + 20 * MS, 0);
	CHECK_EQ(diary.expiries[0], 1);
	CHECK_EQ(diary.active[0], 0);
	CHECK_ALARM(&diary.alarm, 1, 0);
	check_silent(&diary, 30 * MS);
	CHECK_ALARM(&diary.alarm, 1, 0);
}

/* alarm.md 7.4 */
static void periodic(void)
{
	struct diary diary;
	long long start;

	make_diary(&diary, NULL, NULL);
	start = kit_now();
	CHECK_EQ(rt_alarm_start(&diary.alarm, 10 * MS, 10 * MS), 0);
	CHECK_EQ(is_active(&diary.alarm), 1);
	until(calls_of(&diary) >= 3);
	CHECK_EQ(is_active(&diary.alarm), 1);
	CHECK_EQ(rt_alarm_stop(&diary.alarm), 0);
	check_never_early(&diary, start + 10 * MS, 10 * MS);
	CHECK_EQ(diary.active[0], 1);
	check_silent(&diary, 50 * MS);
	CHECK_EQ(is_active(&diary.alarm), 0);
	CHECK(expiries_of(&diary.alarm) >= (unsigned long)calls_of(&diary));
}

static struct diary *watched;
static unsigned long seen;

static void look_at_the_other(struct diary *clock)
{
	(void)clock;
	__atomic_store_n(&seen, expiries_of(&watched->alarm), __ATOMIC_RELEASE);
}

/* Starts both such that the clock's date lies in the gap behind the `periods`th expiry. */
static void start_with_clock(struct diary *diary, RTIME value, RTIME interval, struct diary *clock, RTIME date, RTIME gap)
{
	long long start;

	watched = diary;
	for (;;) {
		start = kit_now();
		CHECK_EQ(rt_alarm_start(&diary->alarm, value, interval), 0);
		CHECK_EQ(rt_alarm_start(&clock->alarm, date, TM_INFINITE), 0);
		if (kit_now() - start < (long long)gap)
			return;
		CHECK_EQ(rt_alarm_stop(&diary->alarm), 0);
		CHECK_EQ(rt_alarm_stop(&clock->alarm), 0);
		CHECK_EQ(rt_alarm_delete(&diary->alarm), 0);
		CHECK_EQ(rt_alarm_delete(&clock->alarm), 0);
		make_diary(diary, NULL, NULL);
		make_diary(clock, NULL, look_at_the_other);
	}
}

/* alarm.md 7.5 */
static void periodic_from_now(void)
{
	struct diary diary, clock;
	long long start = kit_now();

	make_diary(&diary, NULL, NULL);
	make_diary(&clock, NULL, look_at_the_other);
	start_with_clock(&diary, 0, 10 * MS, &clock, 25 * MS, 5 * MS);
	until(calls_of(&clock) == 1);
	CHECK_EQ(rt_alarm_stop(&diary.alarm), 0);
	CHECK(seen >= 3); /* 0, 10, 20 */
	check_never_early(&diary, start, 10 * MS);
}

/* alarm.md 7.14: the hundredth of all 10 ms periods comes before a date 1 ms later. */
static void periods_do_not_drift(void)
{
	struct diary diary, clock;
	long long start = kit_now();

	make_diary(&diary, NULL, NULL);
	make_diary(&clock, NULL, look_at_the_other);
	start_with_clock(&diary, 10 * MS, 10 * MS, &clock, 1001 * MS, MS);
	until(calls_of(&clock) == 1);
	CHECK_EQ(rt_alarm_stop(&diary.alarm), 0);
	CHECK(seen >= 100);
	check_never_early(&diary, start + 10 * MS, 10 * MS);
	/* Ordinary lateness is far below a second. */
	CHECK(clock.when[0] >= start + 1001 * (long long)MS);
	CHECK((long long)seen <= (clock.when[0] - start) / (long long)(10 * MS) + 1 || !kit_fifo());
}

/* alarm.md 7.6 */
static void at_once_and_once(void)
{
	struct diary diary;

	make_diary(&diary, NULL, NULL);
	CHECK_EQ(rt_alarm_start(&diary.alarm, 0, 0), 0);
	until(calls_of(&diary) == 1);
	check_silent(&diary, 20 * MS);
	CHECK_ALARM(&diary.alarm, 1, 0);
	/* Each start is another one. */
	CHECK_EQ(rt_alarm_start(&diary.alarm, 0, 0), 0);
	until(calls_of(&diary) == 2);
	CHECK_ALARM(&diary.alarm, 2, 0);
}

/* On one CPU the handler has run before start returns. */
static void at_once_is_before_start_returns(void)
{
	struct diary diary;

	make_diary(&diary, "called", NULL);
	mark("start");
	CHECK_EQ(rt_alarm_start(&diary.alarm, 0, 0), 0);
	mark("started");
	CHECK_EQ(calls_of(&diary), 1);
	expect_marks("start called started");
}

/* alarm.md 7.7 */
static void restart_replaces_the_setting(void)
{
	long long before, after;
	int i, late = 0, between = 0;
	struct diary diary;
	unsigned long old;

	make_diary(&diary, NULL, NULL);
	CHECK_EQ(rt_alarm_start(&diary.alarm, 5 * MS, 5 * MS), 0);
	until(calls_of(&diary) >= 2);
	before = kit_now();
	CHECK_EQ(rt_alarm_start(&diary.alarm, 50 * MS, TM_INFINITE), 0);
	after = kit_now();
	old = expiries_of(&diary.alarm);
	CHECK(old >= 2);
	until(!is_active(&diary.alarm));
	check_silent(&diary, 20 * MS);
	for (i = 0; i < calls_of(&diary); i++) {
		late += diary.when[i] >= before + 50 * (long long)MS;
		between += diary.when[i] > after && diary.when[i] < before + 50 * (long long)MS;
	}
	CHECK_EQ(late, 1);
	CHECK(between <= !kit_fifo()); /* the call in progress */
	CHECK_EQ(expiries_of(&diary.alarm), old + 1);
}

/* A pending expiry of the old setting is dropped. */
static void restart_moves_the_date(void)
{
	long long first, start;
	struct diary diary;
	int i;

	do {
		make_diary(&diary, NULL, NULL);
		first = kit_now();
		for (i = 0; i < 20; i++) {
			start = kit_now();
			CHECK_EQ(rt_alarm_start(&diary.alarm, 100 * MS, TM_INFINITE), 0);
			kit_nap(MS);
		}
		if (kit_now() - first < 100 * (long long)MS)
			break;
		/* Too slow: a date may have passed before the next start. */
		CHECK_EQ(rt_alarm_delete(&diary.alarm), 0);
		until(entries_of(&diary) == calls_of(&diary));
	} while (1);
	until(calls_of(&diary) == 1);
	check_never_early(&diary, start + 100 * MS, 0);
	/* Earlier, too: it would take an hour otherwise. */
	CHECK_EQ(rt_alarm_start(&diary.alarm, 3600 * 1000 * MS, TM_INFINITE), 0);
	CHECK_EQ(rt_alarm_start(&diary.alarm, MS, TM_INFINITE), 0);
	until(calls_of(&diary) == 2);
	CHECK_ALARM(&diary.alarm, 2, 0);
}

/* alarm.md 7.8 */
static void stop_when_stopped(void)
{
	struct diary diary;

	make_diary(&diary, NULL, NULL);
	CHECK_EQ(rt_alarm_stop(&diary.alarm), 0);
	CHECK_EQ(rt_alarm_stop(&diary.alarm), 0);
	CHECK_EQ(rt_alarm_start(&diary.alarm, 20 * MS, 20 * MS), 0);
	CHECK_EQ(rt_alarm_stop(&diary.alarm), 0);
	CHECK_EQ(rt_alarm_stop(&diary.alarm), 0);
	CHECK_EQ(is_active(&diary.alarm), 0);
	check_silent(&diary, 50 * MS);
	/* It works again. */
	CHECK_EQ(rt_alarm_start(&diary.alarm, 0, TM_INFINITE), 0);
	until(calls_of(&diary) >= 1);
	CHECK_EQ(rt_alarm_stop(&diary.alarm), 0); /* after its only expiry */
	CHECK_EQ(is_active(&diary.alarm), 0);
}

/* alarm.md 7.22 */
static void huge_values_saturate(void)
{
	static const RTIME huge[] = { ~0ULL, ~0ULL - 1, 1ULL << 63, (1ULL << 63) - 1 };
	struct diary diary;
	int i;

	make_diary(&diary, NULL, NULL);
	for (i = 0; i < 4; i++) {
		CHECK_EQ(rt_alarm_start(&diary.alarm, huge[i], 0), 0);
		kit_nap(5 * MS);
		CHECK_ALARM(&diary.alarm, 0, 1);
		CHECK_EQ(rt_alarm_start(&diary.alarm, huge[i], huge[i]), 0);
		kit_nap(5 * MS);
		CHECK_ALARM(&diary.alarm, 0, 1);
	}
	CHECK_EQ(entries_of(&diary), 0);
	for (i = 0; i < 4; i++) {
		CHECK_EQ(rt_alarm_start(&diary.alarm, 10 * MS, huge[i]), 0);
		until(calls_of(&diary) == i + 1);
		check_silent(&diary, 10 * MS);
		CHECK_ALARM(&diary.alarm, (unsigned long)i + 1, 1);
	}
}

KIT_CASES(
	CASE(new_alarm_is_stopped), CASE(generated_name_avoids_a_given_one), CASE(duplicate_name), CASE(long_names_are_cut),
	CASE(a_task_may_have_the_same_name), CASE(null_arguments), CASE(any_thread_uses_alarms), CASE(bad_descriptors),
	CASE(copies_are_as_good), CASE(one_shot), CASE(periodic), CASE(periodic_from_now), CASE(periods_do_not_drift),
	CASE(at_once_and_once), CASE_FIFO(at_once_is_before_start_returns), CASE(restart_replaces_the_setting),
	CASE(restart_moves_the_date), CASE(stop_when_stopped), CASE(huge_values_saturate))
