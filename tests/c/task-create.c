/* rt_task_create: names, and what the new thread is like before it is started. */
#include "kit.h"
#include "tasks.h"

/* task.md 7.2 */
static void created_task_is_dormant(void)
{
	RT_TASK_INFO info;
	RT_TASK task;

	CHECK_EQ(rt_task_create(&task, "dormant", 0, 20, T_JOINABLE), 0);
	CHECK_EQ(rt_task_inquire(&task, &info), 0);
	CHECK_EQ(info.stat.status, 0x10000);
	CHECK_EQ(info.prio, 20);
	CHECK_EQ(info.stat.timeout, 0);
	CHECK_STR(info.name, "dormant");
	CHECK(info.pid > 0);
	CHECK(info.pid != getpid());
	finish(&task);
	check_absent("dormant");
}

static void thread_is_there_before_start(void)
{
	char path[64], comm[32], name[32];
	RT_TASK task;
	FILE *file;

	CHECK_EQ(rt_task_create(&task, "fifteen-bytes-are-seen", 0, 0, T_JOINABLE), 0);
	CHECK(task.handle != 0);
	CHECK_EQ(tgkill(getpid(), tid_of(&task), 0), 0);
	CHECK_EQ(pthread_kill(task.thread, 0), 0);
	CHECK_EQ(pthread_getname_np(task.thread, name, sizeof(name)), 0);
	CHECK_STR(name, "fifteen-bytes-a");

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", (int)tid_of(&task));
	file = fopen(path, "r");
	CHECK(file != NULL);
	CHECK(fgets(comm, sizeof(comm), file) != NULL);
	fclose(file);
	CHECK_STR(comm, "fifteen-bytes-a\n");
	finish(&task);
}

static void signal_to_unstarted_task_is_delivered_to_it(void)
{
	sigset_t set, pending;
	RT_TASK task;

	/* Blocked in the creator, hence in the task: it stays pending there and nowhere else. */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	CHECK_EQ(tgkill(getpid(), tid_of(&task), SIGUSR1), 0);
	CHECK_EQ(sigpending(&pending), 0);
	CHECK(!sigismember(&pending, SIGUSR1));
	finish(&task);
}

static void class_follows_priority(void)
{
	static const int prios[] = { 0, 1, 50, 98, 99 };
	RT_TASK task;
	size_t i;

	for (i = 0; i < sizeof(prios) / sizeof(prios[0]); i++) {
		CHECK_EQ(rt_task_create(&task, NULL, 0, prios[i], T_JOINABLE), 0);
		CHECK_EQ(kernel_prio(tid_of(&task)), prios[i]);
		finish(&task);
	}
}

static void create_an_ordinary_one(void *arg)
{
	RT_TASK task;

	(void)arg;
	CHECK_EQ(kernel_prio(0), 30);
	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	CHECK_EQ(kernel_prio(tid_of(&task)), 0);
	finish(&task);
}

/* Decision 40. */
static void class_is_not_inherited_from_the_creator(void)
{
	as_task(30, create_an_ordinary_one, NULL);
}

static void see_the_lock(void *arg)
{
	RT_TASK_INFO info;

	(void)arg;
	CHECK_EQ(kernel_prio(0), 98);
	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	CHECK_EQ(info.prio, 20); /* task.md 7.26: the base, not 98 */
	CHECK_EQ(info.stat.schedlock, 1);
}

static void lock_is_taken_before_the_entry(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_spawn(&task, NULL, 0, 20, T_JOINABLE | T_LOCK, see_the_lock, NULL), 0);
	kit_join(&task);
}

static void warnsw_is_accepted(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_create(&task, NULL, 0, 5, T_JOINABLE | T_WARNSW), 0);
	finish(&task);
}

static int affinity_is(const cpu_set_t *want, pid_t tid)
{
	cpu_set_t got;

	CHECK_EQ(sched_getaffinity(tid, sizeof(got), &got), 0);
	return CPU_EQUAL(&got, want);
}

static void affinity_is_the_creators(void)
{
	cpu_set_t mine;
	RT_TASK task;

	CHECK_EQ(sched_getaffinity(0, sizeof(mine), &mine), 0);
	CHECK_EQ(CPU_COUNT(&mine), 1);
	CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_JOINABLE), 0);
	CHECK(affinity_is(&mine, tid_of(&task)));
	finish(&task);
}

/* common.md 14.1 */
static void generated_names_count_up(void)
{
	RT_TASK task[5];
	int i;

	CHECK_EQ(rt_task_create(&task[0], NULL, 0, 0, T_JOINABLE), 0);
	CHECK_STR(name_of(&task[0]), "task@1");
	CHECK_EQ(rt_task_create(&task[1], "named", 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_create(&task[2], "", 0, 0, T_JOINABLE), 0);
	CHECK_STR(name_of(&task[2]), "task@2");
	CHECK_EQ(rt_task_create(&task[3], "also", 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_create(&task[4], "", 0, 0, T_JOINABLE), 0);
	CHECK_STR(name_of(&task[4]), "task@3");
	for (i = 0; i < 5; i++)
		finish(&task[i]);
	/* Never reused. */
	CHECK_EQ(rt_task_create(&task[0], NULL, 0, 0, T_JOINABLE), 0);
	CHECK_STR(name_of(&task[0]), "task@4");
	finish(&task[0]);
}

/* common.md 14.4 */
static void generated_name_skips_a_chosen_one(void)
{
	RT_TASK chosen, generated;

	CHECK_EQ(rt_task_create(&chosen, "task@1", 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_create(&generated, NULL, 0, 0, T_JOINABLE), 0);
	CHECK_STR(name_of(&generated), "task@2");
	finish(&chosen);
	finish(&generated);
}

/* common.md 14.2 */
static void long_name_is_cut(void)
{
	static const char forty[] = "0123456789abcdefghijklmnopqrstuvwxyzABCD";
	char cut[32];
	RT_TASK task, bound;

	memcpy(cut, forty, 31);
	cut[31] = '\0';
	CHECK_EQ(rt_task_create(&task, forty, 0, 0, T_JOINABLE), 0);
	CHECK_STR(name_of(&task), cut);
	CHECK_EQ(rt_task_bind(&bound, cut, TM_NONBLOCK), 0);
	CHECK_EQ(rt_task_same(&bound, &task), 1);
	CHECK_EQ(rt_task_bind(&bound, forty, TM_NONBLOCK), 0);
	CHECK_EQ(rt_task_same(&bound, &task), 1);
	/* Equal after the cut. */
	CHECK_EQ(rt_task_create(&bound, "0123456789abcdefghijklmnopqrstu-other", 0, 0, 0), -EEXIST);
	finish(&task);
}

static void any_byte_is_allowed_in_a_name(void)
{
	static const char odd[] = "a/b [c]\n\xff%s";
	RT_TASK task, bound;

	CHECK_EQ(rt_task_create(&task, odd, 0, 0, T_JOINABLE), 0);
	CHECK_STR(name_of(&task), odd);
	CHECK_EQ(rt_task_bind(&bound, odd, TM_NONBLOCK), 0);
	finish(&task);
}

/* common.md 14.3 */
static void name_of_a_live_task_is_refused(void)
{
	RT_TASK task, other, before;
	RT_SEM sem;

	CHECK_EQ(rt_task_create(&task, "X", 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_sem_create(&sem, "X", 0, S_PRIO), 0); /* names are per type */

	memset(&other, 0x5a, sizeof(other));
	before = other;
	CHECK_EQ(rt_task_create(&other, "X", 0, 0, T_JOINABLE), -EEXIST);
	CHECK_SAME_BYTES(&other, &before, sizeof(other));

	/* Programs create a duplicate on a live descriptor and go on using it. */
	before = task;
	CHECK_EQ(rt_task_create(&task, "X", 0, 0, T_JOINABLE), -EEXIST);
	CHECK_SAME_BYTES(&task, &before, sizeof(task));
	finish(&task);
	check_free("X");
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void refused_duplicate_leaves_no_thread(void)
{
	int i, before;
	RT_TASK task, other;

	CHECK_EQ(rt_task_create(&task, "only", 0, 0, T_JOINABLE), 0);
	before = count_threads();
	for (i = 0; i < 20; i++)
		CHECK_EQ(rt_task_create(&other, "only", 0, 0, 0), -EEXIST);
	until(count_threads() == before);
	finish(&task);
}

static RT_TASK creators;

static void see_oneself(void *arg)
{
	RT_TASK *self = rt_task_self();

	(void)arg;
	CHECK(self != NULL);
	CHECK(self != &creators);
	CHECK_EQ(self->handle, creators.handle);
	CHECK(pthread_equal(self->thread, creators.thread));
	CHECK(pthread_equal(self->thread, pthread_self()));
	CHECK_EQ(rt_task_same(self, &creators), 1);
	CHECK(rt_task_self() == self);
	CHECK_EQ(rt_task_sleep(1000000), 0);
	CHECK(rt_task_self() == self);
}

static void self_is_what_the_creator_got(void)
{
	CHECK(rt_task_self() == NULL);
	CHECK_EQ(rt_task_create(&creators, NULL, 0, 10, T_JOINABLE), 0);
	CHECK_EQ(rt_task_start(&creators, see_oneself, NULL), 0);
	kit_join(&creators);
	CHECK(rt_task_self() == NULL);
}

static void see_the_argument(void *arg)
{
	*(int *)arg += 1;
}

static void thousand_tasks_leave_nothing(void)
{
	static uintptr_t handles[1000];
	int i, k, runs = 0, before;
	RT_TASK task;

	kit_spawn(&task, 0, see_the_argument, &runs);
	kit_join(&task);
	before = count_threads();
	for (i = 0; i < 1000; i++) {
		CHECK_EQ(rt_task_spawn(&task, "again", 0, 0, T_JOINABLE, see_the_argument, &runs), 0);
		handles[i] = task.handle;
		kit_join(&task);
	}
	CHECK_EQ(runs, 1001);
	until(count_threads() <= before);
	/* common.md 14.11: an old copy names none of the later tasks. */
	for (i = 0; i < 1000; i++)
		for (k = i + 1; k < 1000; k++)
			CHECK(handles[i] != handles[k]);
	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	for (i = 0; i < 1000; i++) {
		RT_TASK old = { handles[i], pthread_self() };

		CHECK_EQ(rt_task_inquire(&old, NULL), -EINVAL);
	}
	finish(&task);
}

KIT_CASES(
	CASE(created_task_is_dormant), CASE(thread_is_there_before_start),
	CASE(signal_to_unstarted_task_is_delivered_to_it), CASE_KERNEL(class_follows_priority),
	CASE_KERNEL(class_is_not_inherited_from_the_creator), CASE_KERNEL(lock_is_taken_before_the_entry),
	CASE(warnsw_is_accepted), CASE(affinity_is_the_creators), CASE(generated_names_count_up),
	CASE(generated_name_skips_a_chosen_one), CASE(long_name_is_cut), CASE(any_byte_is_allowed_in_a_name),
	CASE(name_of_a_live_task_is_refused), CASE(refused_duplicate_leaves_no_thread),
	CASE(self_is_what_the_creator_got), CASE(thousand_tasks_leave_nothing))
