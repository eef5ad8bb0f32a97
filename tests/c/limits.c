/* Bad and extreme arguments, exhausted resources: an error, no crash, and nothing left behind. */
#include "kit.h"
#include "tasks.h"
#include "child.h"

#include <sys/mman.h>

#define KIB 1024ULL
#define MIB (1024 * KIB)

/* Fails with `error`, the descriptor keeps its bytes, no task has the name. */
static void check_refused(int stack, int prio, int mode, int error)
{
	RT_TASK task, before;

	memset(&task, 0x5a, sizeof(task));
	before = task;
	CHECK_EQ(rt_task_create(&task, "refused", stack, prio, mode), error);
	CHECK_SAME_BYTES(&task, &before, sizeof(task));
	check_absent("refused");
}

/* ---- Arguments ------------------------------------------------------------------------------------------------ */

/* task.md 7.1 */
static void priorities_out_of_range(void)
{
	static const int bad[] = { -1, 100, 257, 0x10000, -2147483647 - 1, 2147483647 };
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_refused(0, bad[i], T_JOINABLE, -EINVAL);
	check_free("refused");
}

/* task.md 7.1 */
static void unknown_mode_bits(void)
{
	int bit;

	for (bit = 0; bit < 32; bit++) {
		int mode = (int)(1U << bit);

		if (mode & (T_LOCK | T_WARNSW | T_JOINABLE))
			continue;
		check_refused(0, 10, mode, -EINVAL);
		check_refused(0, 10, mode | T_JOINABLE, -EINVAL);
	}
	check_refused(0, 10, -1, -EINVAL);
	check_refused(0, 10, T_CONFORMING, -EINVAL);
	check_free("refused");
}

/* common.md 14.5 */
static void negative_stack(void)
{
	check_refused(-1, 0, T_JOINABLE, -EINVAL);
	check_refused(-2147483647 - 1, 10, 0, -EINVAL);
	check_free("refused");
}

static size_t stack_size(RT_TASK *task)
{
	pthread_attr_t attr;
	size_t size;

	CHECK_EQ(pthread_getattr_np(task->thread, &attr), 0);
	CHECK_EQ(pthread_attr_getstacksize(&attr, &size), 0);
	pthread_attr_destroy(&attr);
	return size;
}

/* Writes to `*size` bytes of its stack, from the far end. */
static void use_stack(void *size)
{
	size_t i, room = *(size_t *)size;
	volatile char *block = (volatile char *)__builtin_alloca(room);

	for (i = 0; i < room; i += 4096)
		block[i] = 1;
	block[room - 1] = 1;
}

static void use_stack_and_print(void *size)
{
	char text[64];

	use_stack(size);
	snprintf(text, sizeof(text), "%.3f %s", 3.25, "printf with a float");
	CHECK_STR(text, "3.250 printf with a float");
}

static void tiny_stack_becomes_a_usable_one(void)
{
	static const int sizes[] = { 0, 1, 4096, 16384 };
	size_t use = 40 * KIB, i;
	RT_TASK task;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CHECK_EQ(rt_task_create(&task, NULL, sizes[i], 10, T_JOINABLE), 0);
		CHECK(stack_size(&task) >= 64 * KIB);
		CHECK_EQ(rt_task_start(&task, use_stack_and_print, &use), 0);
		kit_join(&task);
	}
}

static void stack_is_at_least_what_was_asked_for(void)
{
	size_t use = 3 * MIB;
	RT_TASK task;

	no_sanitizer();
	CHECK_EQ(rt_task_create(&task, NULL, 3 * MIB + 64 * KIB, 10, T_JOINABLE), 0);
	CHECK(stack_size(&task) >= 3 * MIB + 64 * KIB);
	CHECK_EQ(rt_task_start(&task, use_stack, &use), 0);
	kit_join(&task);
}

static void touch_far_end(void *size)
{
	volatile char *block = (volatile char *)__builtin_alloca(*(size_t *)size);

	block[0] = 1;
}

static void stack_of_one_gib(void)
{
	size_t use = 1023 * MIB;
	RT_TASK task;

	no_sanitizer();
	CHECK_EQ(rt_task_create(&task, NULL, 1024 * MIB, 10, T_JOINABLE), 0);
	CHECK(stack_size(&task) >= 1024 * MIB);
	CHECK_EQ(rt_task_start(&task, touch_far_end, &use), 0);
	kit_join(&task);
}

/* ---- Threads -------------------------------------------------------------------------------------------------- */

static size_t address_space(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file != NULL);
	CHECK_EQ(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void no_more_threads(void)
{
	size_t before;
	int i, threads;
	RT_TASK task;

	if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
		SKIP("cannot become an ordinary user: %s", strerror(errno));
	check_free("refused"); /* what is made lazily is there now */
	threads = count_threads();
	set_limit(RLIMIT_NPROC, 1, 0);
	for (i = 0; i < 20; i++)
		check_refused(0, 0, T_JOINABLE, -EAGAIN);
	CHECK_EQ(rt_task_spawn(&task, "refused", 0, 0, T_JOINABLE, nothing, NULL), -EAGAIN);
	check_absent("refused");
	CHECK_EQ(count_threads(), threads);
	before = address_space();
	for (i = 0; i < 1000; i++)
		check_refused(0, 0, T_JOINABLE, -EAGAIN);
	CHECK(address_space() <= before + 16 * MIB); /* a leaked stack each would be 64 MiB and more */
	CHECK_EQ(count_threads(), threads);
	set_limit(RLIMIT_NPROC, RLIM_INFINITY, 0);
	CHECK_EQ(rt_task_create(&task, "refused", 0, 0, T_JOINABLE), 0);
	CHECK_STR(name_of(&task), "refused");
	finish(&task);
}

/* ---- Address space -------------------------------------------------------------------------------------------- */

static void check_some_error(int stack, const char *name)
{
	RT_TASK task, before;
	int error;

	memset(&task, 0x5a, sizeof(task));
	before = task;
	error = rt_task_create(&task, name, stack, 0, T_JOINABLE);
	CHECK(error == -EINVAL || error == -ENOMEM || error == -EAGAIN);
	CHECK_SAME_BYTES(&task, &before, sizeof(task));
	check_absent(name);
}

static void stack_does_not_fit_the_address_space(void)
{
	int i;

	no_sanitizer();
	check_free("refused");
	set_limit(RLIMIT_AS, address_space() + 16 * MIB, 0);
	for (i = 0; i < 100; i++)
		check_some_error(256 * MIB, "refused");
	set_limit(RLIMIT_AS, RLIM_INFINITY, 0);
	check_free("refused");
}

/* pthread_create calls it EAGAIN, which would invite to try again. */
static void unobtainable_stack_is_invalid(void)
{
	RT_TASK task;

	no_sanitizer();
	check_free("refused");
	set_limit(RLIMIT_AS, 512 * MIB, 0);
	check_refused(1024 * MIB, 0, T_JOINABLE, -EINVAL);
	check_refused(1024 * MIB, 10, 0, -EINVAL);
	CHECK_EQ(rt_task_spawn(&task, "refused", 1024 * MIB, 0, T_JOINABLE, nothing, NULL), -EINVAL);
	check_free("refused");
}

static void tasks_until_the_address_space_is_full(void)
{
	static RT_TASK task[1000];
	int count, first = 0, round, error = 0;
	RT_TASK before;

	no_sanitizer();
	check_free("early");
	for (round = 0; round < 3; round++) {
		set_limit(RLIMIT_AS, address_space() + 24 * MIB, 0);
		for (count = 0; count < 1000; count++) {
			memset(&task[count], 0x5a, sizeof(task[count]));
			before = task[count];
			error = rt_task_create(&task[count], NULL, 512 * KIB, 0, T_JOINABLE);
			if (error)
				break;
		}
		CHECK(count > 0 && count < 1000);
		CHECK(error == -EINVAL || error == -ENOMEM || error == -EAGAIN);
		CHECK_SAME_BYTES(&task[count], &before, sizeof(before));
		set_limit(RLIMIT_AS, RLIM_INFINITY, 0);
		if (round == 0)
			first = count;
		/* Round after round the same room, give or take what glibc keeps. */
		CHECK(count >= first / 2);
		while (count > 0)
			finish(&task[--count]);
	}
	check_free("early");
}

static void small_address_space(void)
{
	set_limit(RLIMIT_AS, 128 * MIB, 1);
}

static void starts_in_a_small_address_space(void)
{
	struct rerun how = { .prepare = small_address_space };
	RT_SEM sem;
	RT_TASK task[8];
	int i;

	no_sanitizer();
	if (!rerunning()) {
		rerun_passes(&how);
		return;
	}
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	for (i = 0; i < 8; i++)
		CHECK_EQ(rt_task_spawn(&task[i], NULL, 0, 0, T_JOINABLE, take, &sem), 0);
	for (i = 0; i < 8; i++)
		CHECK_EQ(rt_sem_v(&sem), 0);
	for (i = 0; i < 8; i++)
		kit_join(&task[i]);
}

/* ---- Locked memory -------------------------------------------------------------------------------------------- */

static void run_twenty_tasks(void)
{
	RT_TASK task[20];
	RT_SEM sem;
	int i;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	for (i = 0; i < 20; i++)
		CHECK_EQ(rt_task_spawn(&task[i], NULL, 0, 10, T_JOINABLE, take, &sem), 0);
	for (i = 0; i < 20; i++)
		CHECK_EQ(rt_sem_v(&sem), 0);
	for (i = 0; i < 20; i++)
		kit_join(&task[i]);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void lock_64_kib(void)
{
	lock_at_most(64 * KIB);
}

static void lock_nothing(void)
{
	lock_at_most(0);
}

static void lock_8_mib(void)
{
	lock_at_most(8 * MIB);
}

/* The program's own mlockall may fail; everything works all the same. */
static void mlockall_under_a_tiny_limit(void)
{
	struct rerun tiny = { .prepare = lock_64_kib }, none = { .prepare = lock_nothing };

	no_sanitizer();
	if (rerunning()) {
		CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0 || errno == ENOMEM || errno == EPERM);
		run_twenty_tasks();
		return;
	}
	rerun_passes(&tiny);
	rerun_passes(&none);
}

/* The usual limit of users: what the library reserves must leave room for the program's own mlockall, and threads
 * are made although their stacks do not fit beside it. */
static void mlockall_first_under_the_usual_limit(void)
{
	struct rerun how = { .prepare = lock_8_mib };

	no_sanitizer();
	if (rerunning()) {
		CHECK_EQ(mlockall(MCL_CURRENT | MCL_FUTURE), 0);
		run_twenty_tasks();
		run_twenty_tasks();
		return;
	}
	rerun_passes(&how);
}

static void mlockall_first_with_the_right(void)
{
	if (geteuid() != 0)
		SKIP("needs the right to lock memory");
	CHECK_EQ(mlockall(MCL_CURRENT | MCL_FUTURE), 0);
	run_twenty_tasks();
}

KIT_CASES(
	CASE(priorities_out_of_range), CASE(unknown_mode_bits), CASE(negative_stack),
	CASE(tiny_stack_becomes_a_usable_one), CASE(stack_is_at_least_what_was_asked_for), CASE(stack_of_one_gib),
	CASE(no_more_threads), CASE(stack_does_not_fit_the_address_space),
	CASE(unobtainable_stack_is_invalid), CASE(tasks_until_the_address_space_is_full),
	CASE(starts_in_a_small_address_space), CASE(mlockall_under_a_tiny_limit),
	CASE(mlockall_first_under_the_usual_limit), CASE(mlockall_first_with_the_right))
