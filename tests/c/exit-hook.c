/* The end of main: started tasks of priority above 0 get as far as they would have on a one-processor target
 * (decision 17). Each case runs once more, without SCHED_FIFO, so that main is ahead of its tasks; its output is a pipe
 * that is looked at when it has ended. */
#include "kit.h"
#include "control-kit.h"
#include "output-kit.h"

/* True in the new process. In the first one: its output is `want`, its exit status `status`. */
static int in_quick_main(const char *grace, const char *want, int status)
{
	if (in_new_process(grace, no_fifo, status))
		return 1;
	CHECK_STR(output, want);
	return 0;
}

/* Long enough for any machine; who waits for nothing does not notice. */
#define PATIENT "ALCHEMY_EXIT_GRACE_MS=15000"

static RT_TASK task[3];

static void start(int i, int prio, void (*body)(void *), void *arg)
{
	CHECK_EQ(rt_task_spawn(&task[i], NULL, 0, prio, 0, body, arg), 0);
}

/* Some work, so that main is at its end long before. */
static void print_slowly(void *text)
{
	rt_timer_spin(20 * MS);
	printf("%s\n", (const char *)text);
}

static void output_of_tasks_that_end(void)
{
	if (in_quick_main(PATIENT, "one\n", 0))
		start(0, 10, print_slowly, (void *)"one");
}

static void print_many_lines(void *arg)
{
	int i;

	for (i = 0; i < 300; i++) {
		rt_timer_spin(50000);
		printf("%s%d\n", (const char *)arg, i);
	}
}

static void output_is_complete(void)
{
	static char want[8192];
	int i;

	for (i = 0; i < 300; i++)
		sprintf(want + strlen(want), "line %d\n", i);
	if (in_quick_main(PATIENT, want, 0))
		start(0, 1, print_many_lines, (void *)"line ");
}

static void print_for_others(void *arg)
{
	(void)arg;
	print_slowly((void *)"first");
	start(1, 20, print_slowly, (void *)"second");
}

static void tasks_started_by_tasks(void)
{
	if (in_quick_main(PATIENT, "first\nsecond\n", 0))
		start(0, 10, print_for_others, NULL);
}

static RT_SEM sem;

static void print_then_wait(void *arg)
{
	(void)arg;
	print_slowly((void *)"before");
	rt_sem_p(&sem, TM_INFINITE);
	printf("after\n");
}

static void print_then_sleep(void *arg)
{
	(void)arg;
	print_slowly((void *)"before");
	rt_task_sleep(1000000 * MS);
	printf("after\n");
}

static void print_then_stop(void *arg)
{
	(void)arg;
	print_slowly((void *)"before");
	rt_task_suspend(NULL);
	printf("after\n");
}

static void print_then_read(void *arg)
{
	int ends[2];
	char byte;

	(void)arg;
	CHECK_EQ(pipe(ends), 0);
	print_slowly((void *)"before");
	CHECK(read(ends[0], &byte, 1) < 0);
	printf("after\n");
}

static void print_then_nap(void *arg)
{
	(void)arg;
	print_slowly((void *)"before");
	sleep(1000000);
	printf("after\n");
}

/* A minute: whoever waits for more than the first block is ended by the watchdog. */
static void until_blocked_in(void (*body)(void *))
{
	if (in_quick_main("ALCHEMY_EXIT_GRACE_MS=60000", "before\n", 0)) {
		MAKE_SEM(&sem, 0, S_FIFO);
		start(0, 10, body, NULL);
	}
}

static void output_before_a_wait(void)
{
	until_blocked_in(print_then_wait);
}

static void output_before_a_sleep(void)
{
	until_blocked_in(print_then_sleep);
}

static void output_before_a_suspension(void)
{
	until_blocked_in(print_then_stop);
}

static void output_before_a_read(void)
{
	until_blocked_in(print_then_read);
}

static void output_before_a_nap_in_libc(void)
{
	until_blocked_in(print_then_nap);
}

static void exit_is_like_return(void)
{
	if (in_quick_main(PATIENT, "one\n", 5)) {
		start(0, 10, print_slowly, (void *)"one");
		exit(5);
	}
}

static void print_and_exit(void *arg)
{
	(void)arg;
	printf("caller\n");
	start(1, 20, print_slowly, (void *)"other");
	exit(6);
}

/* It does not wait for itself, and main is in its way no more than another. */
static void exit_in_a_task(void)
{
	if (in_quick_main("ALCHEMY_EXIT_GRACE_MS=60000", "caller\nother\n", 6)) {
		start(0, 10, print_and_exit, NULL);
		for (;;)
			pause();
	}
}

static int printed;

static void print_and_compute(void *arg)
{
	static struct spinner spinner;

	(void)arg;
	printf("before\n");
	set_flag(&printed);
	spin(&spinner);
}

static void wait_for_first_line(void)
{
	until(__atomic_load_n(&printed, __ATOMIC_ACQUIRE));
}

/* It would fail by itself after 5 s. */
static void patience_is_limited(void)
{
	if (in_quick_main("ALCHEMY_EXIT_GRACE_MS=50", "before\n", 0)) {
		start(0, 10, print_and_compute, NULL);
		wait_for_first_line();
	}
}

static void patience_is_limited_by_default(void)
{
	if (in_quick_main("ALCHEMY_EXIT_GRACE_MS", "before\n", 0)) {
		start(0, 10, print_and_compute, NULL);
		wait_for_first_line();
	}
}

static void zero_turns_it_off(void)
{
	if (in_quick_main("ALCHEMY_EXIT_GRACE_MS=0", "before\n", 0)) {
		start(0, 10, print_and_compute, NULL);
		wait_for_first_line();
	}
}

static void priority_zero_is_not_waited_for(void)
{
	if (in_quick_main("ALCHEMY_EXIT_GRACE_MS=60000", "before\n", 0)) {
		start(0, 0, print_and_compute, NULL);
		wait_for_first_line();
	}
}

static void unstarted_and_suspended_tasks_are_not_waited_for(void)
{
	if (in_quick_main("ALCHEMY_EXIT_GRACE_MS=60000", "", 0)) {
		CHECK_EQ(rt_task_create(&task[0], NULL, 0, 10, 0), 0);
		CHECK_EQ(rt_task_create(&task[1], NULL, 0, 10, 0), 0);
		CHECK_EQ(rt_task_suspend(&task[1]), 0);
		CHECK_EQ(rt_task_start(&task[1], print_slowly, (void *)"never"), 0);
	}
}

static void print_in_real_time(void *text)
{
	rt_timer_spin(20 * MS);
	rt_printf("%s\n", (const char *)text);
}

/* Flushed last. */
static void rt_printf_of_started_tasks(void)
{
	if (in_quick_main(PATIENT, "quick\n", 0))
		start(0, 10, print_in_real_time, (void *)"quick");
}

KIT_CASES(
	CASE(output_of_tasks_that_end), CASE(output_is_complete), CASE(tasks_started_by_tasks),
	CASE(output_before_a_wait),
	CASE(output_before_a_sleep), CASE(output_before_a_suspension), CASE(output_before_a_read),
	CASE(output_before_a_nap_in_libc), CASE(exit_is_like_return), CASE(exit_in_a_task), CASE(patience_is_limited),
	CASE(patience_is_limited_by_default), CASE(zero_turns_it_off), CASE(priority_zero_is_not_waited_for),
	CASE(unstarted_and_suspended_tasks_are_not_waited_for), CASE(rt_printf_of_started_tasks))
