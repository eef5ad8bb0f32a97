/* rt_task_delete: C++ tasks with destructors in scope. Where they wait or print they are unwound, destructors included;
 * where they compute they cannot be, and are parked (decision 13). */
#include "kit.h"
#include "control-kit.h"

static RT_SEM sem;
static RT_TASK task;
static int turns, never;

struct guard {
	~guard()
	{
		mark("destroyed");
	}
};

/* Inline, like the next one: where a task computes, which function it is in matters. */
__attribute__((always_inline)) static inline void turn(void)
{
	__atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED);
}

static int turns_now(void)
{
	return __atomic_load_n(&turns, __ATOMIC_RELAXED);
}

/* A function has an exception table only if it has a destructor and something that may throw. */
__attribute__((always_inline)) static inline void perhaps_throw(void)
{
	if (__atomic_load_n(&never, __ATOMIC_RELAXED))
		throw 1;
}

/* Turns until a loop ends by itself: some seconds. */
#define PATIENCE 1000000000

/* ---- Unwound -------------------------------------------------------------------------------------------------- */

static void in_a_wait(void)
{
	rt_sem_p(&sem, TM_INFINITE);
}

static void in_a_sleep(void)
{
	rt_task_sleep_until(TM_INFINITE);
}

static void suspended_by_itself(void)
{
	rt_task_suspend(NULL);
}

static void in_read(void)
{
	int ends[2];
	char byte;

	CHECK_EQ(pipe(ends), 0);
	CHECK(read(ends[0], &byte, 1) < 0);
}

static void in_nanosleep(void)
{
	struct timespec long_time = { 1000000, 0 };

	nanosleep(&long_time, NULL);
}

static void under_a_guard(void *call)
{
	guard outer;

	turn();
	{
		guard inner;

		(*(void (**)(void))call)();
	}
	mark("after-the-call");
}

static void waiting_task_is_unwound_with_its_destructors(void)
{
	static void (*calls[])(void) = { in_a_wait, in_a_sleep, suspended_by_itself, in_read, in_nanosleep };
	size_t i;

	MAKE_SEM(&sem, 0, S_PRIO);
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		clear_marks();
		CHECK_EQ(rt_task_spawn(&task, "c++", 0, 10, T_JOINABLE, under_a_guard, &calls[i]), 0);
		until(kernel_state(tid_of(&task)) == 'S' && turns_now() == (int)i + 1);
		CHECK_EQ(rt_task_delete(&task), 0);
		check_gone(&task, "c++");
		CHECK_EQ(rt_task_join(&task), 0);
		expect_marks("destroyed destroyed");
	}
	CHECK_SEM(&sem, 0, 0);
}

/* A task may end itself, too. */
static void exit_by_null(void)
{
	rt_task_delete(NULL);
}

static void task_that_deletes_itself_is_unwound_with_its_destructors(void)
{
	static void (*call)(void) = exit_by_null;

	as_task(10, under_a_guard, &call);
	expect_marks("destroyed destroyed");
}

/* Some calls on the way are cancellation points. */
static void allocate_and_print(void *sink)
{
	guard outer;
	int i;

	for (i = 0; i < PATIENCE / 100; i++) {
		char *text = (char *)malloc(100);

		CHECK(text != NULL);
		snprintf(text, 100, "%d", turns_now());
		fprintf((FILE *)sink, "%s\n", text);
		free(text);
		turn();
		if (i % 64 == 0)
			fflush((FILE *)sink);
	}
	mark("end-of-patience");
}

static void printing_task_is_unwound_with_its_destructors(void)
{
	FILE *sink = fopen("/dev/null", "w");
	int i;

	CHECK(sink != NULL);
	for (i = 0; i < 100; i++) {
		int before = turns_now();

		clear_marks();
		CHECK_EQ(rt_task_spawn(&task, "c++", 0, 0, T_JOINABLE, allocate_and_print, sink), 0);
		until(turns_now() > before);
		CHECK_EQ(rt_task_delete(&task), 0);
		check_absent("c++");
		CHECK_EQ(rt_task_join(&task), 0);
		expect_marks("destroyed");
	}
	CHECK_EQ(fclose(sink), 0);
}

/* ---- Parked --------------------------------------------------------------------------------------------------- */

static void compute(void *arg)
{
	guard outer;
	int i;

	(void)arg;
	for (i = 0; i < PATIENCE; i++) {
		turn();
		perhaps_throw();
	}
}

/* Without a destructor of its own, and it throws nothing: its caller's table does not list the call. */
__attribute__((noinline)) static void leaf(void)
{
	int i;

	for (i = 0; i < PATIENCE; i++)
		turn();
}

static void compute_in_a_leaf(void *arg)
{
	guard outer;

	(void)arg;
	perhaps_throw();
	leaf();
}

static void compute_for(int signal)
{
	(void)signal;
	leaf();
}

/* The C library's functions are unwound at their cancellation points only; here a handler interrupts one elsewhere. */
static void compute_in_a_handler(void *arg)
{
	struct sigaction action;

	(void)arg;
	memset(&action, 0, sizeof(action));
	action.sa_handler = compute_for;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_EQ(raise(SIGUSR1), 0);
}

static void is_parked(void (*body)(void *))
{
	long long start;
	int stopped_at;

	CHECK_EQ(rt_task_spawn(&task, "c++", 0, 0, T_JOINABLE, body, NULL), 0);
	until(turns_now() > 0);
	start = kit_now();
	CHECK_EQ(rt_task_delete(&task), 0);
	CHECK(since(start) >= 100 * MS);
	stopped_at = turns_now();
	check_gone(&task, "c++");
	CHECK_EQ(rt_task_join(&task), 0);
	CHECK_EQ(rt_task_join(&task), -ESRCH);
	kit_nap(20 * MS);
	CHECK_EQ(turns_now(), stopped_at);
	expect_marks("");
}

/* In a process of its own: its standard error is looked at. */
static void parks_with_a_warning(void (*body)(void *))
{
	struct rerun how;
	const char *line;

	no_sanitizer();
	if (rerunning()) {
		is_parked(body);
		return;
	}
	memset(&how, 0, sizeof(how));
	rerun_passes(&how);
	line = strstr(how.text, "parked for good");
	CHECK(line != NULL);
	CHECK(strstr(line + 1, "parked for good") == NULL);
}

static void computing_task_is_parked(void)
{
	parks_with_a_warning(compute);
}

static void task_that_computes_under_a_guard_is_parked(void)
{
	parks_with_a_warning(compute_in_a_leaf);
}

static void task_that_computes_in_a_handler_is_parked(void)
{
	parks_with_a_warning(compute_in_a_handler);
}

/* The interrupted function has no destructor, and its caller's table lists the call: both are unwound. */
__attribute__((noinline)) static void leaf_that_may_throw(void)
{
	int i;

	for (i = 0; i < PATIENCE; i++)
		turn();
	perhaps_throw();
}

static void compute_in_a_leaf_that_may_throw(void *arg)
{
	guard outer;

	(void)arg;
	leaf_that_may_throw();
	mark("end-of-patience");
}

static void computing_leaf_is_unwound_with_its_callers_destructors(void)
{
	no_sanitizer();
	CHECK_EQ(rt_task_spawn(&task, "c++", 0, 0, T_JOINABLE, compute_in_a_leaf_that_may_throw, NULL), 0);
	until(turns_now() > 0);
	CHECK_EQ(rt_task_delete(&task), 0);
	check_gone(&task, "c++");
	CHECK_EQ(rt_task_join(&task), 0);
	expect_marks("destroyed");
}

KIT_CASES(
	CASE(waiting_task_is_unwound_with_its_destructors), CASE(task_that_deletes_itself_is_unwound_with_its_destructors),
	CASE(printing_task_is_unwound_with_its_destructors), CASE(computing_task_is_parked),
	CASE(task_that_computes_under_a_guard_is_parked), CASE(task_that_computes_in_a_handler_is_parked),
	CASE(computing_leaf_is_unwound_with_its_callers_destructors))
