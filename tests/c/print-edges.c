/* rt_printf where it is hard: forks, handlers, the end of threads and of the process, streams that somebody keeps. */
#include "kit.h"
#include "control-kit.h"
#include "output-kit.h"
#include <fcntl.h>
#include <sys/time.h>
#include <syslog.h>

static RT_TASK task;

static int in_process(const char *want, int status)
{
	if (in_new_process("RT_PRINT_BUFFER", NULL, status))
		return 1;
	CHECK_STR(output, want);
	return 0;
}

/* ---- Arguments ------------------------------------------------------------------------------------------------ */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wnonnull"

static void null_is_refused(void)
{
	const char *volatile nothing = NULL;

	errno = 0;
	CHECK_EQ(rt_printf(nothing), -1);
	CHECK_EQ(errno, EINVAL);
	errno = 0;
	CHECK_EQ(rt_fprintf(NULL, "%s\n", "text"), -1);
	CHECK_EQ(errno, EINVAL);
	errno = 0;
	CHECK_EQ(rt_puts(nothing), -1);
	CHECK_EQ(errno, EINVAL);
	errno = 0;
	CHECK_EQ(rt_fputs(nothing, stdout), -1);
	CHECK_EQ(errno, EINVAL);
	errno = 0;
	CHECK_EQ(rt_fputc('x', NULL), -1);
	CHECK_EQ(errno, EINVAL);
	errno = 0;
	CHECK_EQ(rt_fwrite(nothing, 1, 1, stdout), 0);
	CHECK_EQ(errno, EINVAL);
	rt_syslog(LOG_INFO, nothing); /* nothing to tell it by */
}

#pragma GCC diagnostic pop

static void absurd_sizes_are_refused(void)
{
	CHECK_EQ(rt_print_init((size_t)-1, NULL), ENOMEM);
	CHECK_EQ(rt_print_init((size_t)1 << 60, NULL), ENOMEM);
	CHECK(rt_print_buffer_name() == NULL);
	CHECK_EQ(rt_print_init(0, NULL), 0);
	CHECK_EQ(rt_print_init((size_t)-1, "other"), ENOMEM);
	CHECK_STR(rt_print_buffer_name() + 8, " ");
}

static void text_that_cannot_be_formatted(void)
{
	static const wchar_t odd[] = { 0x7fffffff, 0 };

	errno = 0;
	CHECK_EQ(rt_printf("%ls", odd), -1);
	CHECK_EQ(errno, EILSEQ);
}

static void text_longer_than_the_default(void)
{
	static char text[40001], want[40001];

	memset(text, 'y', 40000);
	memset(want, 'y', 40000);
	if (!in_process(want, 0))
		return;
	CHECK_EQ(rt_print_init(50000, NULL), 0);
	CHECK_EQ(rt_printf("%s", text), 40000);
}

/* ---- Streams -------------------------------------------------------------------------------------------------- */

static void streams_without_a_descriptor(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	CHECK(stream != NULL);
	fprintf(stream, "a");
	CHECK_EQ(rt_fprintf(stream, "%d", 1), 1);
	rt_print_flush_buffers();
	fprintf(stream, "b");
	CHECK_EQ(rt_fprintf(stream, "%d", 2), 1);
	rt_print_flush_buffers();
	CHECK_STR(text, "a1b2");
	fclose(stream);
	free(text);
}

/* What printf() has left in the stream's buffer comes first. */
static void printf_before_comes_before(void)
{
	if (!in_process("one two three four ", 0))
		return;
	printf("one ");
	rt_printf("two ");
	rt_print_flush_buffers();
	printf("three ");
	rt_printf("four ");
}

static FILE *kept;
static int is_kept;

static void keep_stream(void *arg)
{
	(void)arg;
	flockfile(kept);
	set_flag(&is_kept);
	for (;;)
		rt_task_sleep(1000 * MS);
}

/* Runs after the library's exit handler, since it is registered before. */
static void leave(void)
{
	syscall(SYS_exit_group, 0); /* a sanitizer's _exit() waits for the stream, too */
}

/* A task that was stopped in the middle of a printf() keeps the lock of its stream: the library's part of the end comes to an
 * end all the same. What follows, newer C libraries and sanitizers do wait for. */
static void stopped_user_of_a_stream_does_not_stop_the_end(void)
{
	if (!in_process("text\n", 0))
		return;
	CHECK_EQ(atexit(leave), 0);
	kept = stdout;
	CHECK_EQ(rt_task_spawn(&task, NULL, 0, 10, 0, keep_stream, NULL), 0);
	until(__atomic_load_n(&is_kept, __ATOMIC_ACQUIRE));
	rt_printf("text\n");
}

static void flush_for_ever(void *arg)
{
	(void)arg;
	rt_fprintf(kept, "text\n");
	mark("flush");
	rt_print_flush_buffers();
	mark("unreachable");
}

static void flusher_of_a_kept_stream_can_be_deleted(void)
{
	kept = fopen("/dev/null", "w");
	CHECK(kept != NULL);
	flockfile(kept);
	kit_spawn(&task, 10, flush_for_ever, NULL);
	until(mark_count() == 1);
	kit_nap(5 * MS);
	CHECK_EQ(rt_task_delete(&task), 0);
	kit_join(&task);
	funlockfile(kept);
	rt_print_flush_buffers();
	expect_marks("flush");
}

static void broken_pipe_ends_the_program_as_with_printf(void)
{
	int ends[2];
	FILE *stream;

	if (!in_process("", 256 + SIGPIPE))
		return;
	CHECK_EQ(pipe(ends), 0);
	close(ends[0]);
	stream = fdopen(ends[1], "w");
	CHECK(stream != NULL);
	rt_fprintf(stream, "nobody reads this\n");
	for (;;)
		pause();
}

static void output_that_does_not_block_is_complete(void)
{
	static char text[16000];
	int ends[2], i;
	size_t all = 0;
	ssize_t got;
	FILE *stream;
	pid_t reader;

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
	fflush(stdout);
	reader = _Fork();
	if (reader == 0) {
		close(ends[1]);
		while ((got = read(ends[0], text, 1000)) > 0)
			all += (size_t)got;
		_exit(all == 10 * 15000 ? 0 : 1);
	}
	close(ends[0]);
	CHECK_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	stream = fdopen(ends[1], "w");
	memset(text, 'z', 15000);
	for (i = 0; i < 10; i++) {
		CHECK_EQ(rt_fprintf(stream, "%.15000s", text), 15000);
		rt_print_flush_buffers();
	}
	fclose(stream);
	CHECK_EQ(child_status(reader), 0);
}

/* ---- Threads -------------------------------------------------------------------------------------------------- */

static void print_number(void *number)
{
	rt_printf("%d\n", *(int *)number);
}

/* Many short ones: their rings are used again, with the text of those before still in them. */
static void no_line_of_many_short_tasks_is_lost(void)
{
	static char want[4096];
	int i, mappings;
	FILE *maps;
	char line[512];

	no_sanitizer(); /* they map a lot */
	for (i = 0; i < 600; i++)
		sprintf(want + strlen(want), "%d\n", i);
	if (!in_process(want, 0))
		return;
	for (i = 0; i < 600; i++)
		as_task(10, print_number, &i);
	maps = fopen("/proc/self/maps", "r");
	CHECK(maps != NULL);
	for (mappings = 0; fgets(line, sizeof(line), maps);)
		mappings++;
	fclose(maps);
	CHECK(mappings < 200);
}

static pthread_key_t key;
static int rounds;

static void print_at_the_end(void *number)
{
	rt_printf("end %d\n", *(int *)number);
	if (++*(int *)number <= rounds)
		pthread_setspecific(key, number);
}

static void print_and_leave_a_value(void *arg)
{
	static int number = 1;

	(void)arg;
	rt_printf("body\n");
	CHECK_EQ(pthread_setspecific(key, &number), 0);
}

static void destructors_of_threads_print(void)
{
	if (!in_process("body\nend 1\nend 2\nend 3\nend 4\nmain\n", 0))
		return;
	rounds = 4;
	CHECK_EQ(pthread_key_create(&key, print_at_the_end), 0);
	kit_plain(print_and_leave_a_value, NULL);
	rt_printf("main\n");
}

static void print_late(void *arg)
{
	(void)arg;
	rt_task_sleep(20 * MS);
	rt_printf("last\n");
	rt_task_delete(NULL);
}

/* The helper alone does not keep the process alive. */
static void process_ends_with_its_last_task(void)
{
	no_thread_sanitizer(); /* it has a thread of its own */
	if (!in_process("first\nlast\n", 0))
		return;
	rt_printf("first\n");
	CHECK_EQ(rt_task_spawn(&task, NULL, 0, 10, 0, print_late, NULL), 0);
	pthread_exit(NULL);
}

static void process_ends_with_a_deleted_main(void)
{
	no_thread_sanitizer(); /* it has a thread of its own */
	if (!in_process("main\n", 0))
		return;
	CHECK_EQ(rt_task_shadow(NULL, "main", 10, 0), 0);
	rt_printf("main\n");
	rt_task_delete(NULL);
}

/* ---- Handlers ------------------------------------------------------------------------------------------------- */

static void print_in_handler(int signal)
{
	static int count;
	int before = errno;

	(void)signal;
	rt_printf("handler %d\n", count++);
	errno = before;
}

static void handlers_print_in_the_middle_of_a_print(void)
{
	struct itimerval often = { { 0, 100 }, { 0, 100 } }, off = { { 0, 0 }, { 0, 0 } };
	struct sigaction action;
	long long begun;
	int i, body = 0, handler = 0, number;
	char *at, *end;

	if (in_new_process("RT_PRINT_BUFFER=4000000", NULL, 0)) {
		memset(&action, 0, sizeof(action));
		action.sa_handler = print_in_handler;
		CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
		rt_printf("body 0\n");
		CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
		for (begun = kit_now(), i = 1; i < 1000; i++) {
			CHECK(rt_printf("body %d\n", i) > 0);
			kit_nap(1);
		}
		while (kit_now() - begun < 10 * (long long)MS)
			rt_printf("%s", "");
		CHECK_EQ(setitimer(ITIMER_REAL, &off, NULL), 0);
		return;
	}
	for (at = output; *at; at = end + 1) {
		end = strchr(at, '\n');
		CHECK(end != NULL);
		if (sscanf(at, "body %d\n", &number) == 1)
			CHECK_EQ(number, body++);
		else if (sscanf(at, "handler %d\n", &number) == 1)
			CHECK_EQ(number, handler++);
		else
			kit_fail(__FILE__, __LINE__, "torn: %.30s", at);
	}
	CHECK_EQ(body, 1000);
	CHECK(handler > 0);
}

/* ---- Forks ---------------------------------------------------------------------------------------------------- */

static void text_is_not_doubled_by_a_fork(void)
{
	pid_t pid;

	no_thread_sanitizer(); /* the child gets a helper thread */
	if (!in_process("before\nchild\nparent\n", 0))
		return;
	rt_printf("before\n");
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		/* After what the parent has yet to write. */
		kit_nap(300 * MS);
		rt_printf("child\n");
		exit(0);
	}
	CHECK_EQ(child_status(pid), 0);
	rt_printf("parent\n");
}

/* The child has a helper of its own. */
static void text_of_a_child_comes_out_by_itself(void)
{
	char text[32] = "";
	size_t used = 0;
	int ends[2];
	FILE *stream;
	pid_t pid;

	no_thread_sanitizer(); /* the child gets a helper thread */
	CHECK_EQ(rt_print_init(1000, "parent"), 0);
	CHECK_EQ(pipe(ends), 0);
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		kit_watch();
		stream = fdopen(ends[1], "w");
		rt_fprintf(stream, "%s\n", rt_print_buffer_name() + 9);
		for (;;)
			pause();
	}
	while (used < 7 && read(ends[0], text + used, 1) == 1)
		used++;
	CHECK_STR(text, "parent\n");
	kill(pid, SIGKILL);
	CHECK_EQ(child_status(pid), 256 + SIGKILL);
}

static int stop_printing;

static void print_much(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop_printing, __ATOMIC_ACQUIRE)) {
		rt_fprintf(kept, "%s %d\n", "text", 1);
		rt_print_flush_buffers();
	}
}

/* Whoever was printing, or writing out, is not there any more: the child prints and ends all the same. */
static void child_of_busy_printers_prints(void)
{
	RT_TASK printers[2];
	char text[8];
	int ends[2], i, turn;
	FILE *stream;
	pid_t pid;

	no_thread_sanitizer(); /* the child gets a helper thread */
	kit_unpin();
	kept = fopen("/dev/null", "w");
	for (i = 0; i < 2; i++)
		kit_spawn(&printers[i], 0, print_much, NULL);
	for (turn = 0; turn < 50; turn++) {
		CHECK_EQ(pipe(ends), 0);
		fflush(stdout);
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			stream = fdopen(ends[1], "w");
			rt_fprintf(stream, "child");
			exit(0);
		}
		close(ends[1]);
		CHECK_EQ(child_status(pid), 0);
		CHECK_EQ(read(ends[0], text, sizeof(text)), 5);
		close(ends[0]);
	}
	__atomic_store_n(&stop_printing, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 2; i++)
		kit_join(&printers[i]);
	fclose(kept);
}

/* ---- The end -------------------------------------------------------------------------------------------------- */

static void print_at_exit(void)
{
	rt_printf("handler\n");
}

/* Registered before the library is used: it runs after the library's own handler. */
static void early_exit_handlers_print(void)
{
	if (!in_process("main\nhandler\n", 0))
		return;
	CHECK_EQ(atexit(print_at_exit), 0);
	rt_printf("main\n");
}

static void late_exit_handlers_print(void)
{
	if (!in_process("main\nhandler\n", 0))
		return;
	rt_printf("main\n");
	CHECK_EQ(atexit(print_at_exit), 0);
}

static void only_exit_handlers_print(void)
{
	if (!in_process("handler\n", 0))
		return;
	CHECK_EQ(atexit(print_at_exit), 0);
}

static void print_and_suspend_others(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 100; i++)
		CHECK(rt_fprintf(kept, "%s %d\n", "text", i) > 0);
	for (;;)
		CHECK(rt_fprintf(kept, "%s\n", "text") >= 0);
}

/* A printer stopped wherever it is: others print and flush. */
static void suspended_printers_hold_nothing_up(void)
{
	int i;

	kept = fopen("/dev/null", "w");
	for (i = 0; i < 50; i++) {
		kit_spawn(&task, 0, print_and_suspend_others, NULL);
		kit_nap(100000 + i * 7919);
		CHECK_EQ(rt_task_suspend(&task), 0);
		CHECK(rt_fprintf(kept, "main\n") > 0);
		rt_print_flush_buffers();
		CHECK_EQ(rt_task_delete(&task), 0);
		kit_join(&task);
	}
	rt_print_flush_buffers(); /* what a deleted one printed last */
	fclose(kept);
}

KIT_CASES(
	CASE(null_is_refused), CASE(absurd_sizes_are_refused), CASE(text_that_cannot_be_formatted),
	CASE(text_longer_than_the_default), CASE(streams_without_a_descriptor), CASE(printf_before_comes_before),
	CASE(stopped_user_of_a_stream_does_not_stop_the_end), CASE(flusher_of_a_kept_stream_can_be_deleted),
	CASE(broken_pipe_ends_the_program_as_with_printf), CASE(output_that_does_not_block_is_complete),
	CASE(no_line_of_many_short_tasks_is_lost), CASE(destructors_of_threads_print),
	CASE(process_ends_with_its_last_task), CASE(process_ends_with_a_deleted_main),
	CASE(handlers_print_in_the_middle_of_a_print), CASE(text_is_not_doubled_by_a_fork),
	CASE(text_of_a_child_comes_out_by_itself), CASE(child_of_busy_printers_prints), CASE(early_exit_handlers_print),
	CASE(late_exit_handlers_print), CASE(only_exit_handlers_print), CASE(suspended_printers_hold_nothing_up))
