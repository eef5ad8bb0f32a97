/* What handlers do, to their own alarm and to others; handlers that take long (alarm.md 2, 7.9 to 7.18, 7.24). */
#include "kit.h"
#include "alarm-kit.h"
#include "sem-kit.h"

static int flag_is(int *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE); }
static void set(int *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }

/* Computes; a handler may not sleep in the library. */
static void burn(long long ns)
{
	long long end = kit_now() + ns;

	while (kit_now() < end)
		;
}

/* --- Its own alarm ------------------------------------------------------------------------------------------------ */

static void stop_in_the_third(struct diary *diary)
{
	if (entries_of(diary) == 3) {
		CHECK_EQ(rt_alarm_stop(&diary->alarm), 0);
		CHECK_EQ(is_active(&diary->alarm), 0);
		CHECK_EQ(rt_alarm_stop(&diary->alarm), 0);
	}
}

/* alarm.md 7.9 */
static void handler_stops_its_alarm(void)
{
	struct diary diary;

	make_diary(&diary, NULL, stop_in_the_third);
	CHECK_EQ(rt_alarm_start(&diary.alarm, 0, 2 * MS), 0);
	until(calls_of(&diary) >= 3);
	check_silent(&diary, 20 * MS);
	CHECK_EQ(calls_of(&diary), 3);
	CHECK_EQ(is_active(&diary.alarm), 0);
	CHECK_EQ(rt_alarm_start(&diary.alarm, 0, TM_INFINITE), 0);
	until(calls_of(&diary) == 4);
}

static void arm_again(struct diary *diary)
{
	if (entries_of(diary) < 4) {
		CHECK_EQ(is_active(&diary->alarm), 0);
		CHECK_EQ(rt_alarm_start(&diary->alarm, 5 * MS, TM_INFINITE), 0);
		CHECK_EQ(is_active(&diary->alarm), 1);
	}
}

/* alarm.md 7.10 */
static void one_shot_arms_itself_again(void)
{
	struct diary diary;
	int i;

	make_diary(&diary, NULL, arm_again);
	CHECK_EQ(rt_alarm_start(&diary.alarm, 5 * MS, TM_INFINITE), 0);
	until(calls_of(&diary) == 4);
	for (i = 0; i < 4; i++) {
		CHECK_EQ(diary.active[i], 0);
		CHECK_EQ(diary.expiries[i], i + 1);
		CHECK(i == 0 || diary.when[i] >= diary.when[i - 1] + 5 * (long long)MS);
	}
	CHECK_ALARM(&diary.alarm, 4, 0);
}

static void become_periodic(struct diary *diary)
{
	if (entries_of(diary) == 1)
		CHECK_EQ(rt_alarm_start(&diary->alarm, MS, MS), 0);
	if (entries_of(diary) == 5)
		CHECK_EQ(rt_alarm_start(&diary->alarm, MS, TM_INFINITE), 0);
}

static void handler_changes_its_interval(void)
{
	struct diary diary;

	make_diary(&diary, NULL, become_periodic);
	CHECK_EQ(rt_alarm_start(&diary.alarm, 0, TM_INFINITE), 0);
	until(!is_active(&diary.alarm) && calls_of(&diary) >= 6);
	check_silent(&diary, 20 * MS);
	CHECK_EQ(calls_of(&diary), 6);
}

static void delete_itself(struct diary *diary)
{
	RT_ALARM_INFO info;

	CHECK_EQ(rt_alarm_delete(&diary->alarm), 0);
	CHECK_EQ(rt_alarm_delete(&diary->alarm), -EINVAL);
	CHECK_EQ(rt_alarm_inquire(&diary->alarm, &info), -EINVAL);
	CHECK_EQ(rt_alarm_start(&diary->alarm, 0, 0), -EINVAL);
}

/* alarm.md 7.16 */
static void handler_deletes_its_alarm(void)
{
	struct diary diary;
	RT_ALARM again;
	int i;

	for (i = 0; i < 50; i++) {
		make_diary_named(&diary, "brief", NULL, delete_itself);
		CHECK_EQ(rt_alarm_start(&diary.alarm, 0, i % 2 ? TM_INFINITE : MS), 0);
		until(calls_of(&diary) == 1);
		CHECK_EQ(rt_alarm_create(&again, "brief", no_call, NULL), 0);
		CHECK_EQ(rt_alarm_delete(&again), 0);
	}
	check_silent(&diary, 5 * MS);
	CHECK_EQ(calls_of(&diary), 1);
}

static struct diary born;

static void create_another(struct diary *diary)
{
	RT_ALARM twin;

	(void)diary;
	make_diary_named(&born, "born in a handler", NULL, NULL);
	CHECK_EQ(rt_alarm_create(&twin, "born in a handler", no_call, NULL), -EEXIST);
	CHECK_EQ(rt_alarm_create(&twin, NULL, NULL, NULL), -EINVAL);
	CHECK_EQ(rt_alarm_start(&born.alarm, MS, TM_INFINITE), 0);
	CHECK_EQ(entries_of(&born), 0); /* not within this handler */
	CHECK_EQ(rt_alarm_create(&twin, NULL, no_call, NULL), 0);
	CHECK_EQ(rt_alarm_start(&twin, 0, 0), 0);
	CHECK_EQ(rt_alarm_delete(&twin), 0);
}

/* alarm.md 7.16 */
static void handler_creates_and_deletes_alarms(void)
{
	struct diary diary;

	make_diary(&diary, NULL, create_another);
	CHECK_EQ(rt_alarm_start(&diary.alarm, 0, TM_INFINITE), 0);
	until(calls_of(&diary) == 1);
	until(calls_of(&born) == 1);
	CHECK_EQ(rt_alarm_delete(&born.alarm), 0);
}

/* --- Several alarms ----------------------------------------------------------------------------------------------- */

static struct diary a, b, c;

static int started_within(long long start, long long ns)
{
	return kit_now() - start < ns;
}

/* alarm.md 7.11. The second 20 ms alarm is started after the first: its date is no earlier, and equal dates go in order of
 * start. */
static void handlers_run_in_order_of_date(void)
{
	long long start;

	make_diary(&a, "a", NULL);
	make_diary(&b, "b", NULL);
	make_diary(&c, "c", NULL);
	do {
		CHECK_EQ(rt_alarm_stop(&a.alarm), 0);
		CHECK_EQ(rt_alarm_stop(&b.alarm), 0);
		CHECK_EQ(rt_alarm_stop(&c.alarm), 0);
		until(entries_of(&a) == calls_of(&a) && entries_of(&b) == calls_of(&b));
		kit_nap(MS);
		clear_marks();
		start = kit_now();
		CHECK_EQ(rt_alarm_start(&a.alarm, 20 * MS, 0), 0);
		CHECK_EQ(rt_alarm_start(&b.alarm, 10 * MS, 0), 0);
		CHECK_EQ(rt_alarm_start(&c.alarm, 20 * MS, 0), 0);
	} while (!started_within(start, 5 * MS));
	until(mark_count() >= 3);
	expect_marks("b a c");
}

static void start_all_at_one_date(struct diary *diary)
{
	(void)diary;
	/* Dates are passed while this runs, so all are due at once, in this order. */
	CHECK_EQ(rt_alarm_start(&c.alarm, 0, 0), 0);
	CHECK_EQ(rt_alarm_start(&a.alarm, 0, 0), 0);
	CHECK_EQ(rt_alarm_start(&b.alarm, 0, 0), 0);
	mark("first");
	burn(2 * MS);
}

static void alarms_due_together_run_in_order_of_start(void)
{
	struct diary starter;

	make_diary(&a, "a", NULL);
	make_diary(&b, "b", NULL);
	make_diary(&c, "c", NULL);
	make_diary(&starter, NULL, start_all_at_one_date);
	CHECK_EQ(rt_alarm_start(&starter.alarm, 0, 0), 0);
	until(mark_count() == 4);
	expect_marks("first c a b");
}

static int in_progress;

static void long_handler(struct diary *diary)
{
	(void)diary;
	CHECK_EQ(__atomic_add_fetch(&in_progress, 1, __ATOMIC_ACQ_REL), 1);
	mark("long");
	burn(30 * MS);
	mark("end");
	__atomic_sub_fetch(&in_progress, 1, __ATOMIC_ACQ_REL);
}

static void short_handler(struct diary *diary)
{
	(void)diary;
	CHECK_EQ(__atomic_load_n(&in_progress, __ATOMIC_ACQUIRE), 0);
}

/* alarm.md 7.13 */
static void handlers_never_overlap(void)
{
	long long start;

	kit_unpin();
	make_diary(&a, NULL, long_handler);
	make_diary(&b, "other", short_handler);
	do {
		int before = mark_count();

		start = kit_now();
		CHECK_EQ(rt_alarm_start(&b.alarm, 15 * MS, 0), 0);
		CHECK_EQ(rt_alarm_start(&a.alarm, 5 * MS, 0), 0);
		if (started_within(start, 5 * MS))
			break;
		/* Too slow to know which comes first: once more. */
		until(mark_count() == before + 3);
		until(entries_of(&a) == calls_of(&a) && entries_of(&b) == calls_of(&b));
		clear_marks();
	} while (1);
	until(mark_count() == 3);
	expect_marks("long end other");
}

/* --- Slow handlers ------------------------------------------------------------------------------------------------ */

static void burn_55(struct diary *diary)
{
	(void)diary;
	burn(55 * MS);
}

/* alarm.md 7.12: periods are counted, calls are not made up for; lower threads run, others are served. */
static void slow_handler_starves_nobody(void)
{
	struct diary slow, other;
	unsigned long expiries;
	int calls;

	make_diary(&slow, NULL, burn_55);
	make_diary(&other, NULL, NULL);
	CHECK_EQ(rt_alarm_start(&slow.alarm, 20 * MS, 20 * MS), 0);
	CHECK_EQ(rt_alarm_start(&other.alarm, 30 * MS, 30 * MS), 0);
	/* This thread has priority 0: that it sees three calls means that it runs. */
	until(calls_of(&slow) >= 3);
	CHECK(calls_of(&other) >= 1);
	CHECK_EQ(rt_alarm_stop(&slow.alarm), 0);
	CHECK_EQ(rt_alarm_stop(&other.alarm), 0);
	check_silent(&slow, 100 * MS);
	calls = calls_of(&slow);
	expiries = expiries_of(&slow.alarm);
	/* Calls 1..n-1 took 55 ms each, more than two periods. */
	CHECK(expiries >= (unsigned long)(1 + 2 * (calls - 1)));
	CHECK_EQ(is_active(&slow.alarm), 0);
}

static void take_long_once(struct diary *diary)
{
	if (entries_of(diary) == 1)
		burn(20 * MS);
}

/* A handler that once took so long that others have to get the CPU is called again when they have had it, however often its alarm
 * is started anew meanwhile. */
static void restarts_do_not_put_a_call_off(void)
{
	struct diary diary;
	int tries;

	make_diary(&diary, NULL, take_long_once);
	for (tries = 0; calls_of(&diary) < 20; tries++) {
		if (tries == 10000)
			kit_fail(__FILE__, __LINE__, "started %d times, called %d times", tries, calls_of(&diary));
		CHECK_EQ(rt_alarm_start(&diary.alarm, 0, TM_INFINITE), 0);
		kit_nap(100000);
	}
	CHECK_EQ(rt_alarm_delete(&diary.alarm), 0);
}

static int release_it, running;

static void spin_until_released(struct diary *diary)
{
	long long end = kit_now() + 5000 * (long long)MS;

	(void)diary;
	set(&running);
	while (!flag_is(&release_it) && kit_now() < end)
		;
}

static void needs_two_cpus(void)
{
	if (CPU_COUNT(&kit_cpus) < 2)
		SKIP("needs two CPUs");
}

/* Leaves the CPU on which the server will spin. The server is made here, with the first alarm: on this CPU. */
static void start_spinning_elsewhere(struct diary *diary, RTIME interval)
{
	cpu_set_t rest = kit_cpus;
	int cpu = sched_getcpu();

	needs_two_cpus();
	make_diary_named(diary, "spinning", NULL, spin_until_released);
	/* The server's CPUs are those of its creator. */
	CPU_CLR(cpu, &rest);
	CHECK_EQ(sched_setaffinity(0, sizeof(rest), &rest), 0);
	release_it = running = 0;
	CHECK_EQ(rt_alarm_start(&diary->alarm, 0, interval), 0);
	until(flag_is(&running));
}

/* alarm.md 7.24 */
static void stop_does_not_wait_for_the_handler(void)
{
	struct diary diary;

	start_spinning_elsewhere(&diary, MS);
	CHECK_EQ(calls_of(&diary), 0);
	CHECK_EQ(rt_alarm_stop(&diary.alarm), 0);
	CHECK_EQ(calls_of(&diary), 0); /* still in it */
	CHECK_EQ(is_active(&diary.alarm), 0);
	CHECK_EQ(rt_alarm_stop(&diary.alarm), 0);
	set(&release_it);
	until(calls_of(&diary) == 1);
	check_silent(&diary, 20 * MS);
	CHECK_EQ(calls_of(&diary), 1);
}

/* alarm.md 7.18 */
static void delete_does_not_wait_for_the_handler(void)
{
	struct diary diary;
	RT_ALARM again;

	start_spinning_elsewhere(&diary, MS);
	CHECK_EQ(rt_alarm_delete(&diary.alarm), 0);
	CHECK_EQ(calls_of(&diary), 0);
	CHECK_EQ(rt_alarm_delete(&diary.alarm), -EINVAL);
	CHECK_EQ(rt_alarm_create(&again, "spinning", no_call, NULL), 0);
	CHECK_EQ(rt_alarm_start(&again, 0, MS), 0);
	set(&release_it);
	until(calls_of(&diary) == 1);
	until(expiries_of(&again) > 2);
	CHECK_EQ(rt_alarm_delete(&again), 0);
	CHECK_EQ(calls_of(&diary), 1);
}

/* A start from elsewhere does not touch the call in progress, and is served after it. */
static void start_while_the_handler_runs(void)
{
	struct diary diary;

	start_spinning_elsewhere(&diary, TM_INFINITE);
	CHECK_ALARM(&diary.alarm, 1, 0);
	CHECK_EQ(rt_alarm_start(&diary.alarm, 0, TM_INFINITE), 0);
	CHECK_EQ(is_active(&diary.alarm), 1);
	CHECK_EQ(calls_of(&diary), 0);
	set(&release_it);
	until(calls_of(&diary) == 2);
	CHECK_ALARM(&diary.alarm, 2, 0);
}

/* A handler that is due, but has to wait for another to end, is not called after a stop. */
static void stop_of_a_pending_call(void)
{
	struct diary diary, pending, deleted;

	needs_two_cpus();
	make_diary(&pending, NULL, NULL);
	make_diary(&deleted, NULL, NULL);
	start_spinning_elsewhere(&diary, TM_INFINITE);
	CHECK_EQ(rt_alarm_start(&pending.alarm, 0, TM_INFINITE), 0);
	CHECK_EQ(rt_alarm_start(&deleted.alarm, 0, TM_INFINITE), 0);
	kit_nap(2 * MS);
	CHECK_EQ(entries_of(&pending), 0);
	CHECK_EQ(rt_alarm_stop(&pending.alarm), 0);
	CHECK_EQ(rt_alarm_delete(&deleted.alarm), 0);
	set(&release_it);
	until(calls_of(&diary) == 1);
	kit_nap(10 * MS);
	CHECK_EQ(entries_of(&pending), 0);
	CHECK_EQ(entries_of(&deleted), 0);
	CHECK_EQ(is_active(&pending.alarm), 0);
}

/* --- Tasks -------------------------------------------------------------------------------------------------------- */

static RT_TASK sleeper;

static void suspend_itself(void *result)
{
	*(int *)result = rt_task_suspend(NULL);
	mark("resumed");
}

static void resume_in_the_third(struct diary *diary)
{
	if (entries_of(diary) == 3) {
		mark("resume");
		CHECK_EQ(rt_task_resume(&sleeper), 0);
		burn(MS);
		mark("end");
		CHECK_EQ(rt_alarm_stop(&diary->alarm), 0);
	}
}

static void resume_at_the_third_expiry(void)
{
	struct diary diary;
	int result = 1;

	make_diary(&diary, NULL, resume_in_the_third);
	kit_spawn(&sleeper, 98, suspend_itself, &result);
	until(kit_status(&sleeper) & 0x20);
	CHECK_EQ(rt_alarm_start(&diary.alarm, 0, MS), 0);
	kit_join(&sleeper);
	CHECK_EQ(result, 0);
	until(calls_of(&diary) == 3);
}

/* alarm.md 7.17 */
static void handler_resumes_a_task(void)
{
	resume_at_the_third_expiry();
	CHECK_EQ(mark_count(), 3);
}

/* The task runs when the handler has ended: handlers are above all tasks. */
static void resumed_task_runs_after_the_handler(void)
{
	resume_at_the_third_expiry();
	expect_marks("resume end resumed");
}

static void lock_and_wait(void *flag)
{
	long long end = kit_now() + 3000 * (long long)MS;

	CHECK_EQ(rt_task_set_mode(0, T_LOCK, NULL), 0);
	while (!flag_is((int *)flag) && kit_now() < end)
		;
	mark(flag_is((int *)flag) ? "called" : "missed");
	CHECK_EQ(rt_task_set_mode(T_LOCK, 0, NULL), 0);
}

static int called;

static void note_call(void *arg)
{
	(void)arg;
	set(&called);
}

/* alarm.md 4 */
static void handlers_run_over_a_scheduler_lock(void)
{
	RT_ALARM alarm;
	RT_TASK task;

	CHECK_EQ(rt_alarm_create(&alarm, NULL, note_call, NULL), 0);
	CHECK_EQ(rt_alarm_start(&alarm, 20 * MS, TM_INFINITE), 0);
	kit_spawn(&task, 10, lock_and_wait, &called);
	kit_join(&task);
	expect_marks("called");
}

KIT_CASES(
	CASE(handler_stops_its_alarm), CASE(one_shot_arms_itself_again), CASE(handler_changes_its_interval),
	CASE(handler_deletes_its_alarm), CASE(handler_creates_and_deletes_alarms), CASE(handlers_run_in_order_of_date),
	CASE(alarms_due_together_run_in_order_of_start), CASE(handlers_never_overlap), CASE(slow_handler_starves_nobody),
	CASE(restarts_do_not_put_a_call_off),
	CASE(stop_does_not_wait_for_the_handler), CASE(delete_does_not_wait_for_the_handler),
	CASE(start_while_the_handler_runs), CASE(stop_of_a_pending_call), CASE(handler_resumes_a_task),
	CASE_FIFO(resumed_task_runs_after_the_handler), CASE_KERNEL(handlers_run_over_a_scheduler_lock))
