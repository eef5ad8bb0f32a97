/* Many alarms, from many threads; owners that end; limits; fork (alarm.md 7.19, 7.23, 7.25). */
#define KIT_STORM
#include "kit.h"
#include "alarm-kit.h"
#include "tasks.h"
#include "child.h"

/* --- Create, start, delete from all sides ------------------------------------------------------------------------- */

enum { THREADS = 4, CYCLES = 10000 / THREADS, RING = 64 };

struct life {
	RT_ALARM alarm;
	int dead;     /* rt_alarm_delete() has returned */
	int entered;
	int ghost;    /* a call began after that */
};

static void live(void *life_)
{
	struct life *life = (struct life *)life_;

	/* In progress before the deletion, this may still be slow to come here: what counts is a second entry. */
	if (__atomic_load_n(&life->dead, __ATOMIC_ACQUIRE))
		__atomic_add_fetch(&life->ghost, 1, __ATOMIC_ACQ_REL);
	__atomic_add_fetch(&life->entered, 1, __ATOMIC_ACQ_REL);
}

static struct life lives[THREADS][CYCLES];
static int all_calls;

static void cycle(void *row_)
{
	struct life *row = (struct life *)row_;
	unsigned seed = (unsigned)(row - lives[0]) + 12345;
	int i;

	for (i = 0; i < CYCLES; i++) {
		RTIME value, interval;

		CHECK_EQ(rt_alarm_create(&row[i].alarm, NULL, live, &row[i]), 0);
		value = (RTIME)(rand_r(&seed) % 200000);
		interval = (RTIME)(rand_r(&seed) % 3) * 50000;
		CHECK_EQ(rt_alarm_start(&row[i].alarm, value, interval), 0);
		if (i % 4 == 0)
			sched_yield();
		if (i % 64 == 0)
			kit_nap(rand_r(&seed) % 300000);
		CHECK_EQ(rt_alarm_delete(&row[i].alarm), 0);
		__atomic_store_n(&row[i].dead, 1, __ATOMIC_RELEASE);
		CHECK_EQ(rt_alarm_start(&row[i].alarm, 0, 0), -EINVAL);
	}
}

/* alarm.md 7.19 */
static void ten_thousand_lives(void)
{
	RT_TASK tasks[THREADS];
	RT_ALARM_INFO info;
	RT_ALARM alarm;
	int i, k;

	kit_unpin();
	for (i = 0; i < THREADS; i++)
		kit_spawn(&tasks[i], 0, cycle, lives[i]);
	for (i = 0; i < THREADS; i++)
		kit_join(&tasks[i]);
	kit_nap(20 * MS);
	for (i = 0; i < THREADS; i++) {
		for (k = 0; k < CYCLES; k++) {
			all_calls += __atomic_load_n(&lives[i][k].entered, __ATOMIC_ACQUIRE);
			/* At most the one in progress. */
			CHECK(__atomic_load_n(&lives[i][k].ghost, __ATOMIC_ACQUIRE) <= 1);
		}
	}
	CHECK(all_calls > 0);
	CHECK_EQ(rt_alarm_create(&alarm, NULL, no_call, NULL), 0);
	CHECK_EQ(rt_alarm_inquire(&alarm, &info), 0);
	CHECK_STR(info.name, "alarm@10001");
}

static size_t resident_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long total, resident;

	CHECK(file != NULL);
	CHECK_EQ(fscanf(file, "%lu %lu", &total, &resident), 2);
	fclose(file);
	return resident;
}

static void dead_alarms_leave_no_memory(void)
{
	size_t before = 0;
	RT_ALARM alarm;
	int i;

	no_sanitizer();
	for (i = 0; i < 60000; i++) {
		if (i == 10000)
			before = resident_pages();
		CHECK_EQ(rt_alarm_create(&alarm, "again", no_call, NULL), 0);
		CHECK_EQ(rt_alarm_start(&alarm, 3600 * 1000 * MS, MS), 0);
		CHECK_EQ(rt_alarm_delete(&alarm), 0);
	}
	CHECK(resident_pages() < before + 256); /* 50,000 alarms of 20 bytes each would not fit */
}

/* --- Many at once ------------------------------------------------------------------------------------------------- */

enum { MANY = 10000 };

static RT_ALARM many[MANY];
static int order[MANY], served;

static void note_order(void *index)
{
	order[served] = (int)(intptr_t)index;
	__atomic_store_n(&served, served + 1, __ATOMIC_RELEASE);
}

/* Armed in reverse order of their dates, or in order; each is served, but for the half that is stopped. */
static void many_at_once(void)
{
	RT_ALARM_INFO info;
	int i, round;

	for (i = 0; i < MANY; i++) {
		if (rt_alarm_create(&many[i], NULL, note_order, (void *)(intptr_t)i) == 0)
			continue;
		CHECK_EQ(rt_alarm_create(&many[i], NULL, note_order, (void *)(intptr_t)i), -ENOMEM);
		SKIP("memory for %d alarms only", i);
	}
	for (round = 0; round < 2; round++) {
		long long base = kit_now() + 300 * (long long)MS;

		served = 0;
		for (i = 0; i < MANY; i++) {
			int k = round ? i : MANY - 1 - i;
			long long left = base + (long long)k * 1000 * 100 - kit_now();

			CHECK_EQ(rt_alarm_start(&many[k], left > 0 ? (RTIME)left : 0, TM_INFINITE), 0);
			if (k % 2)
				CHECK_EQ(rt_alarm_stop(&many[k]), 0);
		}
		until(__atomic_load_n(&served, __ATOMIC_ACQUIRE) == MANY / 2);
		for (i = 0; i < MANY / 2; i++)
			CHECK(order[i] % 2 == 0);
		for (i = 0; i < MANY; i++) {
			CHECK_EQ(rt_alarm_inquire(&many[i], &info), 0);
			CHECK_EQ(info.active, 0);
			CHECK_EQ(info.expiries, i % 2 ? 0 : round + 1);
		}
	}
	for (i = 0; i < MANY; i++)
		CHECK_EQ(rt_alarm_delete(&many[i]), 0);
}

/* Dates far apart, started at random: the order of service is that of the dates. */
static void random_dates_are_served_in_order(void)
{
	enum { SOME = 200 };
	int place[SOME], i, k;
	unsigned seed = 7;

	for (i = 0; i < SOME; i++) {
		place[i] = i;
		CHECK_EQ(rt_alarm_create(&many[i], NULL, note_order, (void *)(intptr_t)i), 0);
	}
	for (i = SOME - 1; i > 0; i--) {
		k = (int)(rand_r(&seed) % (unsigned)(i + 1));
		int swap = place[i];

		place[i] = place[k];
		place[k] = swap;
	}
	for (;;) {
		long long start;

		for (i = 0; i < SOME; i++)
			CHECK_EQ(rt_alarm_stop(&many[i]), 0);
		kit_nap(10 * MS);
		served = 0;
		start = kit_now();
		/* 4 ms apart, so that starting all of them within that keeps the order. */
		for (i = 0; i < SOME; i++)
			CHECK_EQ(rt_alarm_start(&many[place[i]], 20 * MS + (RTIME)place[i] * 4 * MS, TM_INFINITE), 0);
		if (kit_now() - start < 4 * (long long)MS)
			break;
	}
	until(__atomic_load_n(&served, __ATOMIC_ACQUIRE) == SOME);
	for (i = 0; i < SOME; i++)
		CHECK_EQ(order[i], i);
}

static void limit_signals(void)
{
	set_limit(RLIMIT_SIGPENDING, 100, 1);
}

/* alarm.md 7.25 */
static void no_kernel_timer_per_alarm(void)
{
	struct rerun how;
	int i;

	if (!rerunning()) {
		memset(&how, 0, sizeof(how));
		how.prepare = limit_signals;
		rerun_passes(&how);
		return;
	}
	for (i = 0; i < 300; i++) {
		CHECK_EQ(rt_alarm_create(&many[i], NULL, note_order, (void *)(intptr_t)i), 0);
		CHECK_EQ(rt_alarm_start(&many[i], MS, TM_INFINITE), 0);
	}
	until(__atomic_load_n(&served, __ATOMIC_ACQUIRE) == 300);
}

/* --- Owners, threads, clocks -------------------------------------------------------------------------------------- */

static struct diary diary;

static void start_and_end(void *arg)
{
	(void)arg;
	make_diary(&diary, NULL, NULL);
	CHECK_EQ(rt_alarm_start(&diary.alarm, 10 * MS, 5 * MS), 0);
}

/* alarm.md 4: it has no owner. */
static void alarm_outlives_its_creator(void)
{
	int before;

	as_task(10, start_and_end, NULL);
	until(calls_of(&diary) >= 2);
	CHECK_EQ(rt_alarm_delete(&diary.alarm), 0);
	kit_plain(start_and_end, NULL);
	until(calls_of(&diary) >= 2);
	before = calls_of(&diary);
	until(calls_of(&diary) > before);
	CHECK_EQ(rt_alarm_delete(&diary.alarm), 0);
}

static void start_and_stop_running(void *arg)
{
	start_and_end(arg);
	rt_task_suspend(NULL);
}

static void alarm_goes_on_while_its_starter_is_suspended_and_deleted(void)
{
	RT_TASK task;
	int before;

	kit_spawn(&task, 10, start_and_stop_running, NULL);
	until(kit_status(&task) & 0x20);
	until(calls_of(&diary) >= 2);
	CHECK_EQ(rt_task_delete(&task), 0);
	kit_join(&task);
	before = calls_of(&diary);
	until(calls_of(&diary) > before);
	CHECK_EQ(rt_alarm_stop(&diary.alarm), 0);
}

/* All handlers share one thread; SCHED_FIFO 99 if possible. */
static void one_server_thread(void)
{
	int i, before, after;

	CHECK_EQ(rt_alarm_create(&many[0], NULL, no_call, NULL), 0);
	before = count_threads();
	for (i = 1; i < 100; i++) {
		CHECK_EQ(rt_alarm_create(&many[i], NULL, no_call, NULL), 0);
		CHECK_EQ(rt_alarm_start(&many[i], 0, MS), 0);
	}
	kit_nap(10 * MS);
	after = count_threads();
	CHECK_EQ(after, before);
	for (i = 0; i < 100; i++)
		CHECK_EQ(rt_alarm_delete(&many[i]), 0);
	CHECK_EQ(count_threads(), before); /* kept for ever */
}

static pid_t handler_tid;

static void tell_thread(void *arg)
{
	char name[17] = "";

	(void)arg;
	handler_tid = gettid();
	prctl(PR_GET_NAME, name);
	CHECK_STR(name, "timer-internal");
}

static void server_has_the_highest_priority(void)
{
	in_handler(tell_thread, NULL);
	CHECK_EQ(kernel_prio(handler_tid), kit_fifo() ? 99 : 0);
}

/* alarm.md 7.23 */
static void wall_clock_does_not_matter(void)
{
	struct timespec now, stepped;
	long long start;

	if (!getenv("KIT_MAY_SET_CLOCK"))
		SKIP("KIT_MAY_SET_CLOCK is not set");
	make_diary(&diary, NULL, NULL);
	start = kit_now();
	CHECK_EQ(rt_alarm_start(&diary.alarm, 20 * MS, TM_INFINITE), 0);
	clock_gettime(CLOCK_REALTIME, &now);
	stepped = now;
	stepped.tv_sec += 3600;
	if (clock_settime(CLOCK_REALTIME, &stepped) != 0)
		SKIP("may not set the clock");
	until(calls_of(&diary) == 1);
	clock_settime(CLOCK_REALTIME, &now);
	check_never_early(&diary, start + 20 * (long long)MS, 0);
}

/* --- fork --------------------------------------------------------------------------------------------------------- */

static void use_alarms(void *arg)
{
	struct diary mine;

	(void)arg;
	make_diary(&mine, NULL, NULL);
	CHECK_EQ(rt_alarm_start(&mine.alarm, MS, MS), 0);
	until(calls_of(&mine) >= 3);
	CHECK_EQ(rt_alarm_stop(&mine.alarm), 0);
	CHECK_EQ(rt_alarm_delete(&mine.alarm), 0);
}

/* Alarms are private to the process: the child can make its own, and disturbs none of the parent's. */
static void child_has_alarms_of_its_own(void)
{
	int before;

	no_thread_sanitizer();
	make_diary(&diary, NULL, NULL);
	CHECK_EQ(rt_alarm_start(&diary.alarm, 0, 2 * MS), 0);
	until(calls_of(&diary) >= 1);
	CHECK_EQ(in_child(use_alarms, NULL), 0);
	before = calls_of(&diary);
	until(calls_of(&diary) > before);
	CHECK_EQ(rt_alarm_stop(&diary.alarm), 0);
	use_alarms(NULL);
	CHECK_EQ(in_child(use_alarms, NULL), 0);
}

static void alarms_of_the_parent_are_silent(void *arg)
{
	int before = entries_of(&diary);

	(void)arg;
	kit_nap(20 * MS);
	CHECK_EQ(entries_of(&diary), before);
}

static void parents_alarms_do_not_run_in_the_child(void)
{
	no_thread_sanitizer();
	make_diary(&diary, NULL, NULL);
	CHECK_EQ(rt_alarm_start(&diary.alarm, MS, MS), 0);
	CHECK_EQ(in_child(alarms_of_the_parent_are_silent, NULL), 0);
	CHECK_EQ(rt_alarm_stop(&diary.alarm), 0);
}

KIT_CASES(
	CASE(ten_thousand_lives), CASE(dead_alarms_leave_no_memory), CASE(many_at_once), CASE(random_dates_are_served_in_order),
	CASE(no_kernel_timer_per_alarm), CASE(alarm_outlives_its_creator),
	CASE(alarm_goes_on_while_its_starter_is_suspended_and_deleted), CASE(one_server_thread),
	CASE(server_has_the_highest_priority), CASE(wall_clock_does_not_matter), CASE(child_has_alarms_of_its_own),
	CASE(parents_alarms_do_not_run_in_the_child))
