/* The system refuses what the library needs at start-up or at a fork: -ENOMEM, and the next call tries again. */
#include "kit.h"
#include "tasks.h"
#include "child.h"

#define KIB 1024ULL

static RT_SEM sem;

/* Nothing can be made; descriptors keep their bytes. */
static void check_no_objects(void)
{
	RT_SEM made, before;
	RT_TASK task;

	memset(&made, 0x5a, sizeof(made));
	before = made;
	CHECK_EQ(rt_sem_create(&made, "any", 1, S_PRIO), -ENOMEM);
	CHECK_EQ(rt_sem_create(&made, NULL, 1, S_FIFO), -ENOMEM);
	CHECK_SAME_BYTES(&made, &before, sizeof(made));
	CHECK_EQ(rt_sem_bind(&made, "any", TM_NONBLOCK), -ENOMEM);
	CHECK_SAME_BYTES(&made, &before, sizeof(made));
	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), -ENOMEM);
}

static void check_objects(void)
{
	RT_TASK task;

	CHECK_EQ(rt_sem_create(&sem, "any", 0, S_PRIO), 0);
	CHECK_EQ(rt_task_spawn(&task, NULL, 0, 0, T_JOINABLE, take, &sem), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
}

/* ---- RLIMIT_FSIZE, which counts for memory files too, and is else answered by SIGXFSZ ---------------------------- */

static void start_below_the_file_size_limit(rlim_t bytes)
{
	/* Its output goes through a pipe, which has no such limit. */
	struct rerun how = { .prepare = NULL };

	if (!rerunning()) {
		rerun_passes(&how);
		return;
	}
	set_limit(RLIMIT_FSIZE, bytes, 0);
	check_no_objects();
	set_limit(RLIMIT_FSIZE, RLIM_INFINITY, 0);
	check_objects();
}

static void start_without_any_file(void)
{
	start_below_the_file_size_limit(0);
}

static void start_with_files_of_8_kib(void)
{
	start_below_the_file_size_limit(8 * KIB);
}

static void has_no_objects(void *arg)
{
	RT_SEM_INFO info;

	(void)arg;
	CHECK_EQ(rt_sem_inquire(&sem, &info), -EINVAL);
	CHECK_EQ(rt_sem_v(&sem), -EINVAL);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), -EINVAL);
	check_no_objects();
}

static void takes_the_unit(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
}

/* The limit that counts is the one at the fork. */
static void fork_after_lowering_the_file_size_limit(void)
{
	struct rerun how = { .prepare = NULL };
	static const rlim_t limits[] = { 0, 8 * KIB };
	int i;

	if (!rerunning()) {
		rerun_passes(&how);
		return;
	}
	CHECK_EQ(rt_sem_create(&sem, "any", 1, S_PRIO), 0);
	for (i = 0; i < 2; i++) {
		set_limit(RLIMIT_FSIZE, limits[i], 0);
		CHECK_EQ(in_child(has_no_objects, NULL), 0);
		set_limit(RLIMIT_FSIZE, RLIM_INFINITY, 0);
		CHECK_EQ(in_child(takes_the_unit, NULL), 0);
	}
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

/* ---- A second try ------------------------------------------------------------------------------------------------ */

static long locked_kib(void)
{
	char line[128];
	long kib = -1;
	FILE *file = fopen("/proc/self/status", "r");

	CHECK(file != NULL);
	while (kib < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmLck: %ld", &kib) != 1)
			kib = -1;
	fclose(file);
	return kib;
}

/* What was left undone by a first call that failed is done by the second. */
static void second_try_locks_memory(void)
{
	struct rlimit files;

	no_sanitizer();
	if (geteuid() != 0)
		SKIP("needs the right to lock memory");
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
	set_limit(RLIMIT_NOFILE, 0, 0);
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), -ENOMEM);
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), -ENOMEM);
	set_limit(RLIMIT_NOFILE, files.rlim_cur, 0);
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	CHECK(locked_kib() > 0);
}

/* ---- A refusal --------------------------------------------------------------------------------------------------- */

static void lock_nothing(void)
{
	lock_at_most(0);
}

static void use_the_library(void)
{
	RT_SEM made;

	fputs("exit handler\n", stderr);
	rt_sem_create(&made, NULL, 0, S_PRIO);
	kit_fail(__FILE__, __LINE__, "it was not refused");
}

/* The program's exit handlers run while the library ends it; one that calls the library neither hangs nor crashes. */
static void strict_refusal_met_again_in_an_exit_handler(void)
{
	struct rerun how = { .environment = { "ALCHEMY_SCHED=strict" }, .prepare = lock_nothing };
	const char *refusal;

	no_sanitizer();
	if (rerunning()) {
		CHECK_EQ(atexit(use_the_library), 0);
		rt_sem_create(&sem, NULL, 0, S_PRIO);
		kit_fail(__FILE__, __LINE__, "it was not refused");
	}
	CHECK_EQ(rerun(&how), 1);
	refusal = strstr(how.text, "ALCHEMY_SCHED=strict");
	CHECK(refusal != NULL);
	CHECK(strstr(refusal + 1, "ALCHEMY_SCHED=strict") == NULL);
	CHECK(strstr(refusal, "exit handler") != NULL);
	CHECK(strstr(how.text, "not refused") == NULL);
	CHECK(strstr(how.text, "panicked") == NULL);
	CHECK(strstr(how.text, "watchdog") == NULL);
}

KIT_CASES(
	CASE(start_without_any_file), CASE(start_with_files_of_8_kib), CASE(fork_after_lowering_the_file_size_limit),
	CASE(second_try_locks_memory), CASE(strict_refusal_met_again_in_an_exit_handler))
