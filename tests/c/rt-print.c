/* rt_printf and its family: what comes out, in which order, when, and what the calls return. */
#include "kit.h"
#include "tasks.h"
#include "child.h"
#include "output-kit.h"
#include <fcntl.h>
#include <poll.h>
#include <syslog.h>

static RT_TASK task;

static int by_vprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int by_vfprintf(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int by_vprintf(const char *format, ...)
{
	va_list arguments;
	int result;

	va_start(arguments, format);
	result = rt_vprintf(format, arguments);
	va_end(arguments);
	return result;
}

static int by_vfprintf(FILE *stream, const char *format, ...)
{
	va_list arguments;
	int result;

	va_start(arguments, format);
	result = rt_vfprintf(stream, format, arguments);
	va_end(arguments);
	return result;
}

/* ---- At exit -------------------------------------------------------------------------------------------------- */

static void print_with_each(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_printf("%s %d %c\n", "one", 1, 'x'), 8);
	CHECK_EQ(by_vprintf("two %5.2f %lld\n", 2.5, 1LL << 40), 24);
	CHECK_EQ(rt_fprintf(stdout, "three %s %p\n", "3", (void *)0), 14);
	CHECK_EQ(by_vfprintf(stdout, "four %d%%\n", 4), 8);
	CHECK_EQ(rt_puts("five"), 5);
	CHECK_EQ(rt_printf("%s", ""), 0);
	CHECK_EQ(rt_printf("six"), 3);
}

static const char all_six[] = "one 1 x\ntwo  2.50 1099511627776\nthree 3 (nil)\nfour 4%\nfive\nsix";

static void task_prints(void)
{
	if (in_new_process("RT_PRINT_BUFFER", NULL, 0))
		as_task(10, print_with_each, NULL);
	else
		CHECK_STR(output, all_six);
}

static void initial_thread_prints(void)
{
	if (in_new_process("RT_PRINT_BUFFER", NULL, 0))
		print_with_each(NULL);
	else
		CHECK_STR(output, all_six);
}

static void plain_thread_prints(void)
{
	if (in_new_process("RT_PRINT_BUFFER", NULL, 0))
		kit_plain(print_with_each, NULL);
	else
		CHECK_STR(output, all_six);
}

/* Those that take no format; native2.md 8. */
static void bytes_and_characters(void)
{
	static const char four[] = { 'f', 'o', '\0', 'r' };

	if (in_new_process("RT_PRINT_BUFFER", NULL, 0)) {
		CHECK_EQ(rt_fputs("one ", stdout), 4);
		CHECK_EQ(rt_fputs("", stdout), 0);
		CHECK_EQ(rt_fputc('t', stdout), 't');
		CHECK_EQ(rt_putchar('w' + 256), 'w');
		CHECK_EQ(rt_fputc(-1, stdout), 255);
		CHECK_EQ(rt_fwrite(" three three", 6, 2, stdout), 2);
		CHECK_EQ(rt_fwrite(four, 1, sizeof(four), stdout), 4);
		CHECK_EQ(rt_fwrite("x", 0, 5, stdout), 0);
		CHECK_EQ(rt_fwrite("x", 5, 0, stdout), 0);
		CHECK_EQ(rt_fwrite("x", (size_t)-1, 3, stdout), 0);
		assert_nrt();
	} else {
		CHECK_SAME_BYTES(output, "one tw\377 three threefo\0r", 24);
	}
}

/* What finds no room: whole items count. */
static void items_of_a_full_buffer(void)
{
	char bytes[1000];
	size_t items;

	if (!in_new_process("RT_PRINT_BUFFER", NULL, 0)) {
		CHECK(strspn(output, "b") == strlen(output) && strlen(output) < 256);
		return;
	}
	memset(bytes, 'b', sizeof(bytes));
	CHECK_EQ(rt_print_init(256, NULL), 0);
	items = rt_fwrite(bytes, 10, 100, stdout);
	CHECK(items > 0 && items < 26);
	CHECK_EQ(rt_putchar('b'), -1);
	CHECK_EQ(rt_fwrite(bytes, 1, 1, stdout), 0);
}

static void log_all(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void log_all(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	rt_vsyslog(LOG_USER | LOG_INFO, format, arguments);
	va_end(arguments);
}

/* Entries of the log, by way of the standard error output; in order with the rest. */
static void entries_of_the_log(void)
{
	static const char *volatile with_error = "%s: %m"; /* not known to ISO C */

	if (in_new_process("RT_PRINT_BUFFER", NULL, 0)) {
		dup2(STDOUT_FILENO, STDERR_FILENO);
		openlog("kit", LOG_PERROR, LOG_USER);
		rt_puts("before");
		rt_syslog(LOG_WARNING, "%d %s", 1, "entry");
		errno = ENOENT;
		log_all(with_error, "two");
		rt_puts("behind");
		rt_print_flush_buffers();
	} else {
		CHECK_STR(output, "before\nkit: 1 entry\nkit: two: No such file or directory\nbehind\n");
	}
}

/* What programs call that were compiled with _FORTIFY_SOURCE against the original's headers. */
extern int __rt_vfprintf_chk(FILE *stream, int level, const char *format, va_list arguments);
extern void __rt_vsyslog_chk(int priority, int level, const char *format, va_list arguments);

static int by_checked(int to_log, const char *format, ...)
{
	va_list arguments;
	int result = 0;

	va_start(arguments, format);
	if (to_log)
		__rt_vsyslog_chk(LOG_INFO, 1, format, arguments);
	else
		result = __rt_vfprintf_chk(stdout, 1, format, arguments);
	va_end(arguments);
	return result;
}

static void checked_variants(void)
{
	if (in_new_process("RT_PRINT_BUFFER", NULL, 0)) {
		dup2(STDOUT_FILENO, STDERR_FILENO);
		openlog("kit", LOG_PERROR, LOG_USER);
		CHECK_EQ(by_checked(0, "%d %s\n", 12, "ab"), 6);
		by_checked(1, "%d", 3);
	} else {
		CHECK_STR(output, "12 ab\nkit: 3\n");
	}
}

/* Nine arguments and more: some of them on the stack. */
static void many_arguments_arrive(void)
{
	if (in_new_process("RT_PRINT_BUFFER", NULL, 0))
		rt_printf("%d %d %d %d %d %d %d %d %g %g %g %g %g %g %g %g %g %s\n", 1, 2, 3, 4, 5, 6, 7, 8, 1.5, 2.5,
			  3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, "end");
	else
		CHECK_STR(output, "1 2 3 4 5 6 7 8 1.5 2.5 3.5 4.5 5.5 6.5 7.5 8.5 9.5 end\n");
}

enum { PRINTERS = 3, LINES = 200 };

static void print_lines(void *who)
{
	int i;

	for (i = 0; i < LINES; i++) {
		CHECK(rt_printf("%d %d\n", *(int *)who, i) > 0);
		if (i % 16 == 0)
			CHECK_EQ(rt_task_sleep(1000), 0);
	}
}

static void each_tasks_lines_keep_their_order(void)
{
	static int who[PRINTERS] = { 0, 1, 2 };
	int next[PRINTERS] = { 0 }, i, line;
	RT_TASK printers[PRINTERS];
	char *at, *end;

	if (in_new_process("RT_PRINT_BUFFER", NULL, 0)) {
		kit_unpin();
		for (i = 0; i < PRINTERS; i++)
			kit_spawn(&printers[i], 0, print_lines, &who[i]);
		for (i = 0; i < PRINTERS; i++)
			kit_join(&printers[i]);
		return;
	}
	for (at = output; *at; at = end + 1) {
		end = strchr(at, '\n');
		CHECK(end != NULL);
		CHECK(sscanf(at, "%d %d\n", &i, &line) == 2 && i >= 0 && i < PRINTERS);
		CHECK_EQ(line, next[i]);
		next[i]++;
	}
	for (i = 0; i < PRINTERS; i++)
		CHECK_EQ(next[i], LINES);
}

static RT_SEM turn[2];

static void print_in_turn(void *arg)
{
	int i;

	(void)arg;
	for (i = 1; i < 40; i += 2) {
		CHECK_EQ(rt_sem_p(&turn[1], TM_INFINITE), 0);
		rt_printf("%d ", i);
		CHECK_EQ(rt_sem_v(&turn[0]), 0);
	}
}

static void order_among_tasks_is_that_of_the_calls(void)
{
	char want[256] = "";
	int i;

	if (in_new_process("RT_PRINT_BUFFER", NULL, 0)) {
		CHECK_EQ(rt_sem_create(&turn[0], NULL, 1, S_FIFO), 0);
		CHECK_EQ(rt_sem_create(&turn[1], NULL, 0, S_FIFO), 0);
		kit_spawn(&task, 10, print_in_turn, NULL);
		for (i = 0; i < 40; i += 2) {
			CHECK_EQ(rt_sem_p(&turn[0], TM_INFINITE), 0);
			rt_printf("%d ", i);
			CHECK_EQ(rt_sem_v(&turn[1]), 0);
		}
		kit_join(&task);
		return;
	}
	for (i = 0; i < 40; i++)
		sprintf(want + strlen(want), "%d ", i);
	CHECK_STR(output, want);
}

/* A full buffer cuts; the result tells how much is left. */
static void full_buffer_cuts_the_text(void)
{
	char text[1000];
	int queued;

	memset(text, 'x', sizeof(text));
	text[999] = '\0';
	if (in_new_process("RT_PRINT_BUFFER", NULL, 0)) {
		CHECK_EQ(rt_print_init(256, "small"), 0);
		queued = rt_printf("%s", text);
		CHECK(queued >= 0 && queued <= 256);
		rt_print_flush_buffers();
		printf("|%d", queued);
		return;
	}
	CHECK(strchr(output, '|') != NULL);
	CHECK_EQ(strspn(output, "x"), atoi(strchr(output, '|') + 1));
}

static void exit_by_exit_is_complete_too(void)
{
	if (in_new_process("RT_PRINT_BUFFER", NULL, 3)) {
		rt_printf("last words\n");
		exit(3);
	}
	CHECK_STR(output, "last words\n");
}

/* ---- Before the exit: streams into a pipe --------------------------------------------------------------------- */

static int ends[2];
static FILE *stream;

static void open_stream(void)
{
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	stream = fdopen(ends[1], "w");
	CHECK(stream != NULL);
}

/* What is in the pipe now. */
static const char *arrived(void)
{
	static char text[4096];
	ssize_t got = read(ends[0], text, sizeof(text) - 1);

	text[got > 0 ? got : 0] = '\0';
	return text;
}

static void print_and_exit(void *text)
{
	CHECK(rt_fprintf(stream, "%s\n", (const char *)text) > 0);
	rt_task_delete(NULL);
}

/* Also what tasks that have ended left in their buffers. */
static void flush_hands_everything_over(void)
{
	open_stream();
	as_task(10, print_and_exit, (void *)"from a task");
	CHECK_EQ(rt_fprintf(stream, "from main\n"), 10);
	rt_print_flush_buffers();
	CHECK_STR(arrived(), "from a task\nfrom main\n");
	rt_print_flush_buffers();
	CHECK_STR(arrived(), "");
	CHECK_EQ(rt_fprintf(stream, "more\n"), 5);
	rt_print_cleanup();
	CHECK_STR(arrived(), "more\n");
	CHECK_EQ(rt_fprintf(stream, "still possible\n"), 15);
	rt_print_flush_buffers();
	CHECK_STR(arrived(), "still possible\n");
}

/* Nobody flushes, nobody ends. */
static void text_comes_out_by_itself(void)
{
	struct pollfd end;

	open_stream();
	setvbuf(stream, NULL, _IONBF, 0);
	CHECK_EQ(rt_fprintf(stream, "text\n"), 5);
	end.fd = ends[0];
	end.events = POLLIN;
	CHECK_EQ(poll(&end, 1, -1), 1);
	CHECK_STR(arrived(), "text\n");
}

static void print_to_a_full_pipe(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 50; i++) {
		CHECK_EQ(rt_fprintf(stream, "%02d\n", i), 3);
		CHECK_EQ(rt_task_sleep(10000000), 0);
	}
	mark("printed");
}

/* Over half a second: the helper has long run into the pipe, and stays there. */
static void printer_does_not_wait_for_the_output(void)
{
	static char block[4096];

	open_stream();
	CHECK_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	while (write(ends[1], block, sizeof(block)) > 0)
		;
	CHECK_EQ(fcntl(ends[1], F_SETFL, 0), 0);
	as_task(10, print_to_a_full_pipe, NULL);
	expect_marks("printed");
	_exit(0); /* at exit it would have to wait */
}

/* ---- Buffers -------------------------------------------------------------------------------------------------- */

static void check_name(const char *given, const char *want)
{
	const char *name;

	CHECK_EQ(rt_print_init(0, given), 0);
	name = rt_print_buffer_name();
	CHECK(name != NULL);
	CHECK_EQ(strspn(name, "0123456789abcdefABCDEF"), 8);
	CHECK_EQ(name[8], ' ');
	CHECK_STR(name + 9, want);
}

static void name_buffers(void *arg)
{
	(void)arg;
	CHECK(rt_print_buffer_name() == NULL);
	CHECK(rt_printf("%s", "\n") == 1);
	CHECK(rt_print_buffer_name() != NULL);
	check_name("mine", "mine");
	check_name("a name of more than thirty-one characters", "a name of more than th");
	/* Neither negated nor without effect on nothing. */
	CHECK_EQ(rt_print_init(1, "small"), EINVAL);
	CHECK_EQ(rt_print_init(255, "small"), EINVAL);
	CHECK_STR(rt_print_buffer_name() + 9, "a name of more than th");
	CHECK_EQ(rt_print_init(256, "fits"), 0);
	CHECK_EQ(rt_print_init(100000, NULL), 0);
	rt_print_auto_init(1);
	rt_print_auto_init(0);
	CHECK(rt_printf("%s", "\n") == 1);
}

static void buffers_have_names(void)
{
	kit_plain(name_buffers, NULL);
	as_task(10, name_buffers, NULL);
}

static void new_buffer_keeps_the_text(void)
{
	open_stream();
	CHECK_EQ(rt_fprintf(stream, "old "), 4);
	CHECK_EQ(rt_print_init(512, "other"), 0);
	CHECK_EQ(rt_fprintf(stream, "new\n"), 4);
	rt_print_flush_buffers();
	CHECK_STR(arrived(), "old new\n");
}

static void print_for_ever(void *arg)
{
	struct timespec used = { 0, 0 };
	unsigned i;

	(void)arg;
	for (i = 1; i % 256 || (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0 && used.tv_sec < 5); i++)
		CHECK(rt_fprintf(stream, "%u %s\n", i, "text") >= 0);
	kit_fail(__FILE__, __LINE__, "nobody has ended this loop");
}

static void hunt_printers(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 100; i++) {
		kit_spawn(&task, 10, print_for_ever, NULL);
		kit_nap(200000 + i * 7919 % 300000);
		CHECK_EQ(rt_task_delete(&task), 0);
		kit_join(&task);
	}
}

/* Who dies while printing locks nobody out. */
static void deleted_printers_leave_no_lock(void)
{
	no_sanitizer();
	stream = fopen("/dev/null", "w");
	CHECK(stream != NULL);
	kit_boss(hunt_printers);
	open_stream();
	CHECK_EQ(rt_fprintf(stream, "after\n"), 6);
	rt_print_flush_buffers();
	CHECK_STR(arrived(), "after\n");
}

KIT_CASES(
	CASE(task_prints), CASE(initial_thread_prints), CASE(plain_thread_prints), CASE(many_arguments_arrive), CASE(bytes_and_characters), CASE(items_of_a_full_buffer),
	CASE(entries_of_the_log), CASE(checked_variants),
	CASE(each_tasks_lines_keep_their_order), CASE(order_among_tasks_is_that_of_the_calls),
	CASE(full_buffer_cuts_the_text), CASE(exit_by_exit_is_complete_too), CASE(flush_hands_everything_over),
	CASE(text_comes_out_by_itself), CASE(printer_does_not_wait_for_the_output), CASE(buffers_have_names),
	CASE(new_buffer_keeps_the_text), CASE(deleted_printers_leave_no_lock))
