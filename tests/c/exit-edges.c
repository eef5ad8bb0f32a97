/* The end of the process where it is hard: tasks that wake each other, exits from handlers, in children, by several at once. */
#include "kit.h"
#include "control-kit.h"
#include "output-kit.h"
#include <sys/time.h>

/* Who waits to the end is ended by the watchdog. */
#define PATIENT "ALCHEMY_EXIT_GRACE_MS=60000"

static int in_quick_main(const char *want, int status)
{
	if (in_new_process(PATIENT, no_fifo, status))
		return 1;
	CHECK_STR(output, want);
	return 0;
}

static RT_TASK task;

static void start(int prio, void (*body)(void *), void *arg)
{
	CHECK_EQ(rt_task_spawn(&task, NULL, 0, prio, 0, body, arg), 0);
}

/* ---- Who wakes whom ------------------------------------------------------------------------------------------- */

enum { LINKS = 12, TURNS = 4000 };
static RT_SEM chain[LINKS];

/* Five and twelve have no common divisor: it comes to all of them. */
static int after(int link)
{
	return (link + 5) % LINKS;
}

static void pass_on(void *number)
{
	int me = *(int *)number, turn;

	for (turn = 0; turn < TURNS; turn++) {
		rt_sem_p(&chain[me], TM_INFINITE);
		if (turn == TURNS - 1)
			printf("%d ", me);
		rt_sem_v(&chain[after(me)]);
	}
	rt_sem_p(&chain[me], TM_INFINITE);
}

/* At each moment one of them runs and all others wait in the library: nobody must take that for the end. */
static void all_wait_but_one(void)
{
	static int numbers[LINKS];
	static char want[64];
	int i, at;

	for (i = 0, at = 0; i < LINKS; i++, at = after(at))
		sprintf(want + strlen(want), "%d ", at);
	if (!in_quick_main(want, 0))
		return;
	kit_unpin();
	for (i = 0; i < LINKS; i++) {
		numbers[i] = i;
		CHECK_EQ(rt_sem_create(&chain[i], NULL, 0, S_PRIO), 0);
	}
	for (i = 0; i < LINKS; i++)
		start(10 + i, pass_on, &numbers[i]);
	CHECK_EQ(rt_sem_v(&chain[0]), 0);
}

static int ends[2][2];

static void pass_bytes(void *number)
{
	int me = *(int *)number, turn;
	char byte;

	for (turn = 0; turn < 50; turn++) {
		CHECK_EQ(read(ends[me][0], &byte, 1), 1);
		rt_timer_spin(100000);
		printf("%d", me);
		CHECK_EQ(write(ends[!me][1], &byte, 1), 1);
	}
}

/* The same, where only the kernel knows who waits. */
static void both_wait_in_the_kernel_by_turns(void)
{
	static int numbers[2] = { 0, 1 };
	static char want[256];
	int i;

	for (i = 0; i < 50; i++)
		strcat(want, "01");
	if (!in_quick_main(want, 0))
		return;
	kit_unpin();
	CHECK_EQ(pipe(ends[0]), 0);
	CHECK_EQ(pipe(ends[1]), 0);
	start(10, pass_bytes, &numbers[0]);
	start(10, pass_bytes, &numbers[1]);
	CHECK_EQ(write(ends[0][1], "x", 1), 1);
}

/* ---- Who ends it ---------------------------------------------------------------------------------------------- */

static void exit_in_handler(int signal)
{
	(void)signal;
	exit(3);
}

static RT_SEM ping, pong;

static void answer(void *arg)
{
	(void)arg;
	while (rt_sem_p(&ping, TM_INFINITE) == 0 && rt_sem_v(&pong) == 0)
		;
}

static void work_until_the_signal(void *delay)
{
	struct itimerval once = { { 0, 0 }, { 0, *(int *)delay } };
	FILE *nowhere = fopen("/dev/null", "w");

	signal(SIGALRM, exit_in_handler);
	CHECK_EQ(rt_sem_create(&ping, NULL, 0, S_PRIO), 0);
	CHECK_EQ(rt_sem_create(&pong, NULL, 0, S_PRIO), 0);
	start(10, answer, NULL);
	CHECK_EQ(setitimer(ITIMER_REAL, &once, NULL), 0);
	for (;;) {
		rt_fprintf(nowhere, "%s\n", "text");
		rt_print_flush_buffers();
		CHECK_EQ(rt_sem_v(&ping), 0);
		CHECK_EQ(rt_sem_p(&pong, TM_INFINITE), 0);
	}
}

/* It may find the initial thread anywhere in the library. */
static void exit_from_a_handler(void)
{
	int i, delay;

	no_thread_sanitizer();
	for (i = 0; i < 200; i++) {
		delay = 200 + i * 37 % 1000;
		CHECK_EQ(in_child(work_until_the_signal, &delay), 3);
	}
}

static struct spinner spinner;

static void compute(void *arg)
{
	(void)arg;
	spin(&spinner);
}

static void start_computing(void)
{
	start(10, compute, NULL);
	until(turns_of(&spinner) > 0);
}

static void children_have_no_tasks_to_wait_for(void)
{
	pid_t pid;

	if (!in_quick_main("", 0))
		return;
	kit_unpin();
	start_computing();
	pid = fork();
	if (pid == 0)
		exit(4);
	CHECK_EQ(child_status(pid), 4);
	/* Without the C library's knowledge. */
	pid = _Fork();
	if (pid == 0)
		exit(5);
	CHECK_EQ(child_status(pid), 5);
	_exit(0);
}

static void child_of_a_task_ends(void)
{
	no_thread_sanitizer(); /* the child gets a helper thread */
	if (!in_quick_main("child\n", 0))
		return;
	kit_unpin();
	start_computing();
	CHECK_EQ(rt_task_shadow(NULL, NULL, 10, 0), 0);
	if (fork() == 0) {
		rt_printf("child\n");
		exit(0);
	}
	wait(NULL);
	_exit(0);
}

static void print_and_exit(void *arg)
{
	(void)arg;
	rt_timer_spin(20 * MS);
	rt_printf("task\n");
	exit(7);
}

/* Whoever comes second, nothing is lost. */
static void two_exits(void)
{
	if (!in_quick_main("main\ntask\n", 7))
		return;
	kit_unpin();
	start(10, print_and_exit, NULL);
	rt_printf("main\n");
	exit(7);
}

static void print_slowly(void *arg)
{
	(void)arg;
	rt_timer_spin(20 * MS);
	printf("other\n");
}

static void exit_with_another(void *arg)
{
	RT_TASK other;

	(void)arg;
	CHECK_EQ(rt_task_spawn(&other, NULL, 0, 20, 0, print_slowly, NULL), 0);
	mark("exit");
	exit(6);
}

/* A task that is on its way out with the process does not end alone. */
static void exit_of_a_task_that_is_deleted(void)
{
	if (!in_quick_main("other\n", 6))
		return;
	kit_unpin();
	start(10, exit_with_another, NULL);
	until(mark_count() == 1);
	kit_nap(2 * MS);
	rt_task_delete(&task);
	for (;;)
		pause();
}

static void exit_again(void)
{
	printf("handler\n");
	exit(9);
}

static void exit_in_an_exit_handler(void)
{
	if (!in_quick_main("handler\nother\n", 9))
		return;
	start(10, print_slowly, NULL);
	CHECK_EQ(atexit(exit_again), 0);
	exit(8);
}

KIT_CASES(
	CASE(all_wait_but_one), CASE(both_wait_in_the_kernel_by_turns), CASE(exit_from_a_handler),
	CASE(children_have_no_tasks_to_wait_for), CASE(child_of_a_task_ends), CASE(two_exits),
	CASE(exit_of_a_task_that_is_deleted), CASE(exit_in_an_exit_handler))
