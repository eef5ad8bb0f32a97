/* Without the right to SCHED_FIFO: best effort with one warning, or ALCHEMY_SCHED=strict, or =other. */
#include "kit.h"
#include "tasks.h"
#include "child.h"

/* In the new process: it must really be without the right. */
static void check_no_fifo(void)
{
	if (kit_fifo())
		SKIP("the right to SCHED_FIFO cannot be given up here");
}

static int count_lines(const char *text)
{
	int lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static RT_SEM sem;

static void see_prio(void *arg)
{
	RT_TASK_INFO info;

	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	CHECK_EQ(info.prio, *(int *)arg);
	CHECK_EQ(kernel_prio(0), 0);
}

/* Everything that asks for a class, several times. */
static void ask_for(int prio)
{
	RT_TASK_INFO info;
	RT_TASK task;
	int i;

	for (i = 0; i < 3; i++) {
		CHECK_EQ(rt_task_create(&task, "asker", 0, prio, T_JOINABLE), 0);
		CHECK_EQ(rt_task_inquire(&task, &info), 0);
		CHECK_EQ(info.prio, prio);
		CHECK_EQ(rt_task_start(&task, see_prio, &prio), 0);
		kit_join(&task);
		CHECK_EQ(rt_task_spawn(&task, NULL, 0, prio, T_JOINABLE, see_prio, &prio), 0);
		kit_join(&task);
	}
	CHECK_EQ(rt_task_shadow(NULL, "main", prio, 0), 0);
	see_prio(&prio);
	CHECK_EQ(rt_task_sleep(1000000), 0);
}

/* Runs this case in a new process, without the right unless `privileged`; tells the lines on its stderr. */
static int lines_of(const char *sched, const char *prio, int privileged)
{
	struct rerun how = { .environment = { sched, prio }, .prepare = privileged ? NULL : no_fifo };

	rerun_passes(&how);
	return count_lines(how.text);
}

static void one_warning_per_process(void)
{
	int ordinary;

	if (rerunning()) {
		check_no_fifo();
		ask_for(atoi(getenv("CASE_PRIO")));
		return;
	}
	/* What is printed for other reasons, memory that cannot be locked for one, is the same in all runs. */
	ordinary = lines_of("ALCHEMY_SCHED", "CASE_PRIO=0", 0);
	CHECK_EQ(lines_of("ALCHEMY_SCHED", "CASE_PRIO=50", 0), ordinary + 1);
	CHECK_EQ(lines_of("ALCHEMY_SCHED=other", "CASE_PRIO=50", 0), ordinary);
}

static void other_never_asks_though_it_could(void)
{
	if (rerunning()) {
		CHECK(kit_fifo());
		ask_for(atoi(getenv("CASE_PRIO")));
		return;
	}
	CHECK_EQ(lines_of("ALCHEMY_SCHED=other", "CASE_PRIO=50", 1), lines_of("ALCHEMY_SCHED=other", "CASE_PRIO=0", 1));
}

static void refused_without_a_trace(void *arg)
{
	RT_TASK task, before;
	char comm[32], now[32];

	(void)arg;
	memset(&task, 0x5a, sizeof(task));
	before = task;
	CHECK_EQ(pthread_getname_np(pthread_self(), comm, sizeof(comm)), 0);
	CHECK_EQ(rt_task_create(&task, "strict", 0, 50, T_JOINABLE), -EPERM);
	CHECK_EQ(rt_task_create(&task, "strict", 0, 1, T_JOINABLE), -EPERM);
	CHECK_EQ(rt_task_spawn(&task, "strict", 0, 50, T_JOINABLE, nothing, NULL), -EPERM);
	check_absent("strict");
	CHECK_EQ(rt_task_shadow(&task, "strict", 50, 0), rt_task_self() ? -EBUSY : -EPERM);
	check_absent("strict");
	CHECK_SAME_BYTES(&task, &before, sizeof(task));
	CHECK_EQ(pthread_getname_np(pthread_self(), now, sizeof(now)), 0);
	CHECK_STR(now, comm);
	CHECK_EQ(kernel_prio(0), 0);
	/* Other errors keep their place before it. */
	CHECK_EQ(rt_task_create(&task, "strict", 0, 50, 0x8), -EINVAL);
	CHECK_EQ(rt_task_create(&task, "strict", 0, 100, 0), -EINVAL);
	/* What needs no right is granted. */
	CHECK_EQ(rt_task_create(&task, "strict", 0, 0, T_JOINABLE), 0);
	finish(&task);
}

static void refuse_everywhere(void)
{
	int i, threads;

	check_no_fifo();
	refused_without_a_trace(NULL);
	CHECK(rt_task_self() == NULL);
	threads = count_threads();
	for (i = 0; i < 20; i++)
		refused_without_a_trace(NULL);
	until(count_threads() <= threads);
	as_task(0, refused_without_a_trace, NULL);
	kit_plain(refused_without_a_trace, NULL);
	CHECK_EQ(rt_task_shadow(NULL, "strict", 0, 0), 0);
}

static void strict_refuses(void)
{
	struct rerun how = { .environment = { "ALCHEMY_SCHED=strict" }, .prepare = no_fifo };
	struct rlimit limit;
	int status;

	if (rerunning()) {
		refuse_everywhere();
		return;
	}
	status = rerun(&how);
	CHECK_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
	/* Decision 3: strict mode makes a failed mlockall fatal, before main. */
	if (status == 1 && !strstr(how.text, "case ") && geteuid() != 0 && limit.rlim_cur != RLIM_INFINITY)
		SKIP("strict mode needs more lockable memory than this user has");
	if (status != 0)
		fputs(how.text, stderr);
	if (status == KIT_EXIT_SKIPPED)
		_exit(KIT_EXIT_SKIPPED);
	CHECK_EQ(status, 0);
}

static void see_fifo(void *arg)
{
	CHECK_EQ(kernel_prio(0), *(int *)arg);
}

static void strict_grants_what_is_allowed(void)
{
	int prio = 50;

	if (rerun_with("ALCHEMY_SCHED=strict"))
		as_task(prio, see_fifo, &prio);
}

static void take_and_mark(void *text)
{
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
	mark((const char *)text);
	CHECK_EQ(rt_sem_v(&sem), 0);
}

/* common.md 14.18: the requested priority orders the queues all the same. */
static void queue_by_priority(void)
{
	static const struct {
		int prio;
		const char *name;
	} tasks[] = { { 10, "ten" }, { 50, "fifty" }, { 0, "zero" }, { 20, "twenty" } };
	RT_TASK task[4];
	RT_TASK_INFO info;
	int i;

	check_no_fifo();
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	for (i = 0; i < 4; i++) {
		kit_spawn_blocked(&task[i], tasks[i].prio, take_and_mark, (void *)(uintptr_t)tasks[i].name);
		CHECK_EQ(rt_task_inquire(&task[i], &info), 0);
		CHECK_EQ(info.prio, tasks[i].prio);
	}
	/* Each hands the unit on after its mark, so the marks are in the order of service. */
	CHECK_EQ(rt_sem_v(&sem), 0);
	for (i = 0; i < 4; i++)
		kit_join(&task[i]);
	expect_marks("fifty twenty ten zero");
}

static void priority_orders_queues_without_the_right(void)
{
	struct rerun how = { .environment = { "ALCHEMY_SCHED" }, .prepare = no_fifo };

	if (rerunning())
		queue_by_priority();
	else
		rerun_passes(&how);
}

KIT_CASES(
	CASE(one_warning_per_process), CASE_FIFO(other_never_asks_though_it_could), CASE(strict_refuses),
	CASE_KERNEL(strict_grants_what_is_allowed), CASE(priority_orders_queues_without_the_right))
