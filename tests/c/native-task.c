/* Tasks of the 2.x interface: what differs from 3.x (native2.md 5, 6, 7.1). */
#include "native-kit.h"

static RT_SEM sem;

static void make_sem(void)
{
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
}

static cpu_set_t cpus_of(RT_TASK *task)
{
	cpu_set_t set;

	CHECK_EQ(pthread_getaffinity_np(task->thread, sizeof(set), &set), 0);
	return set;
}

/* CPUs 0..7 this process may use. */
static int usable_cpus(void)
{
	cpu_set_t mine, one;
	int cpu, bits = 0;

	CHECK_EQ(sched_getaffinity(0, sizeof(mine), &mine), 0);
	for (cpu = 0; cpu < 8; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one) == 0)
			bits |= 1 << cpu;
	}
	CHECK_EQ(sched_setaffinity(0, sizeof(mine), &mine), 0);
	return bits;
}

static void check_cpus(cpu_set_t set, int bits)
{
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		CHECK_EQ(!!CPU_ISSET(cpu, &set), cpu < 8 && (bits >> cpu & 1));
}

static void mode_bits_are_never_refused(void)
{
	static const int modes[] = {
		T_FPU, T_WARNSW, T_LOCK, T_PRIMARY, T_CONFORMING, T_NOSIG, T_RPIOFF, T_FPU | T_WARNSW | T_CPU(0),
		0x2, 0x8, 0x800, 0x10000, 0x8000, 0x200000, 0x800000,
	};
	RT_TASK task;
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		CHECK_EQ(rt_task_create(&task, "lenient", 0, 10, modes[i] | T_JOINABLE), 0);
		CHECK_EQ(status_of(&task), T_DORMANT);
		finish(&task);
	}
}

static void see_no_lock(void *arg)
{
	struct sched_param param;
	RT_TASK_INFO info;

	(void)arg;
	CHECK_EQ(sched_getparam(0, &param), 0);
	CHECK_EQ(param.sched_priority, 20);
	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	CHECK_EQ(info.bprio, 20);
	CHECK_EQ(info.cprio, 20);
}

/* Not a creation flag in 2.x. */
static void lock_is_ignored_at_creation(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_spawn(&task, NULL, 0, 20, T_JOINABLE | T_LOCK, see_no_lock, NULL), 0);
	join(&task);
}

static void bad_arguments(void)
{
	RT_TASK task, before;

	memset(&task, 0x5a, sizeof(task));
	before = task;
	CHECK_EQ(rt_task_create(NULL, "bad", 0, 10, 0), -EINVAL);
	CHECK_EQ(rt_task_create(&task, "bad", 0, 100, 0), -EINVAL);
	CHECK_EQ(rt_task_create(&task, "bad", 0, -1, 0), -EINVAL);
	CHECK_EQ(rt_task_create(&task, "bad", -1, 10, 0), -EINVAL);
	CHECK_EQ(rt_task_spawn(&task, "bad", 0, 10, 0, NULL, NULL), -EINVAL);
	CHECK_SAME_BYTES(&task, &before, sizeof(task));
	check_absent("bad");
	CHECK_EQ(rt_task_create(&task, "bad", 0, 10, T_JOINABLE), 0);
	CHECK_EQ(rt_task_create(&before, "bad", 0, 10, T_JOINABLE), -EEXIST);
	finish(&task);
}

static void cpu_bits_choose_cpus(void)
{
	int usable = usable_cpus(), cpu;
	RT_TASK task;

	if (!usable)
		SKIP("none of CPUs 0..7 may be used");
	for (cpu = 0; cpu < 8; cpu++) {
		if (!(usable >> cpu & 1))
			continue;
		CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_CPU(cpu) | T_FPU | T_JOINABLE), 0);
		check_cpus(cpus_of(&task), 1 << cpu);
		finish(&task);
	}
	CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_CPUMASK | T_JOINABLE), 0);
	check_cpus(cpus_of(&task), usable);
	finish(&task);
}

static void cpus_that_do_not_exist_are_ignored(void)
{
	int usable = usable_cpus(), cpu;
	cpu_set_t mine, got;
	RT_TASK task;

	for (cpu = 7; cpu >= 0 && cpu >= sysconf(_SC_NPROCESSORS_CONF); cpu--) {
		CHECK(!(usable >> cpu & 1));
		CHECK_EQ(sched_getaffinity(0, sizeof(mine), &mine), 0);
		CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_CPU(cpu) | T_JOINABLE), 0);
		got = cpus_of(&task);
		CHECK(CPU_EQUAL(&got, &mine));
		finish(&task);
	}
	if (cpu == 7)
		SKIP("this machine has eight CPUs or more");
}

static void mark_it(void *text)
{
	mark((const char *)text);
	take(&sem);
}

static void second_start_is_busy(void)
{
	RT_TASK task;

	make_sem();
	CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_JOINABLE), 0);
	CHECK_EQ(rt_task_start(&task, NULL, NULL), -EINVAL);
	CHECK_EQ(rt_task_start(&task, mark_it, (void *)"first"), 0);
	CHECK_EQ(rt_task_start(&task, mark_it, (void *)"second"), -EBUSY);
	until(status_of(&task) & T_BLOCKED);
	CHECK_EQ(rt_task_start(&task, mark_it, (void *)"third"), -EBUSY);
	CHECK_EQ(rt_sem_v(&sem), 0);
	join(&task);
	CHECK_EQ(rt_task_start(&task, mark_it, (void *)"fourth"), -EINVAL);
	expect_marks("first");
}

static void shadow_takes_any_mode(void)
{
	RT_TASK_INFO info;

	CHECK_EQ(rt_task_shadow(NULL, "main", 1, T_FPU | T_CPU(0) | T_JOINABLE | T_WARNSW | T_PRIMARY | 0x8), 0);
	CHECK(rt_task_self() != NULL);
	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	CHECK_STR(info.name, "main");
	CHECK_EQ(info.bprio, 1);
	CHECK_EQ(rt_task_shadow(NULL, "again", 1, T_FPU), -EBUSY);
	check_absent("again");
}

static void shadow_moves_the_caller(void)
{
	int usable = usable_cpus(), cpu;
	RT_TASK task;

	for (cpu = 7; cpu > 0 && !(usable >> cpu & 1); cpu--)
		;
	if (cpu == 0)
		SKIP("there is only one CPU");
	CHECK_EQ(rt_task_shadow(&task, NULL, 0, T_CPU(cpu)), 0);
	check_cpus(cpus_of(&task), 1 << cpu);
	CHECK_EQ(sched_getcpu(), cpu);
}

static void shadow_arguments(void)
{
	RT_TASK task, holder;

	CHECK_EQ(rt_task_shadow(&task, "bad", 100, 0), -EINVAL);
	CHECK_EQ(rt_task_create(&holder, "held", 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_shadow(&task, "held", 10, T_FPU), -EEXIST);
	CHECK(rt_task_self() == NULL);
	finish(&holder);
	CHECK_EQ(rt_task_shadow(&task, "held", 10, T_FPU), 0);
	CHECK_EQ(rt_task_same(&task, rt_task_self()), 1);
}

static void take_timed(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_sem_p(&sem, 1000000 * MS), 0);
}

static void sleep_long(void *arg)
{
	(void)arg;
	rt_task_sleep(1000000 * MS);
}

static void see_running(void *arg)
{
	(void)arg;
	CHECK_EQ(status_of(NULL), T_STARTED);
}

static void statuses(void)
{
	RT_TASK task;

	make_sem();
	CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_JOINABLE), 0);
	CHECK_EQ(status_of(&task), T_DORMANT);
	finish(&task);
	spawn_blocked(&task, 10, take, &sem);
	CHECK_EQ(status_of(&task), T_STARTED | T_BLOCKED);
	CHECK_EQ(rt_sem_v(&sem), 0);
	join(&task);
	spawn_blocked(&task, 10, take_timed, NULL);
	CHECK_EQ(status_of(&task), T_STARTED | T_BLOCKED | T_DELAYED);
	CHECK_EQ(rt_sem_v(&sem), 0);
	join(&task);
	as_task(10, see_running, NULL);
	spawn_blocked(&task, 10, sleep_long, NULL);
	CHECK_EQ(status_of(&task), T_STARTED | T_DELAYED);
}

static void see_oneself(void *arg)
{
	volatile char *pages = (volatile char *)malloc(64 * 4096);
	RT_TASK_INFO first, second;
	size_t i;

	(void)arg;
	CHECK(pages != NULL);
	CHECK_EQ(rt_task_inquire(NULL, &first), 0);
	CHECK_STR(first.name, "mirror");
	CHECK_EQ(first.bprio, 33);
	CHECK_EQ(first.cprio, 33);
	CHECK_EQ(first.relpoint, 0);
	CHECK_EQ(first.modeswitches, 0);
	rt_timer_spin(20 * MS);
	for (i = 0; i < 64; i++)
		pages[i * 4096] = 1;
	free((void *)(uintptr_t)pages);
	for (i = 0; i < 5; i++)
		CHECK_EQ(rt_task_sleep(MS), 0);
	CHECK_EQ(rt_task_inquire(NULL, &second), 0);
	/* Its own CPU time, not the process's; the spin may have been preempted, hence no equality. */
	CHECK(second.exectime > first.exectime);
	CHECK(second.ctxswitches >= first.ctxswitches + 5);
	CHECK(second.pagefaults >= first.pagefaults);
}

static void information(void)
{
	RT_TASK_INFO info, before;
	RT_TASK task;

	CHECK_EQ(rt_task_spawn(&task, "mirror", 0, 33, T_JOINABLE, see_oneself, NULL), 0);
	join(&task);
	memset(&info, 0x5a, sizeof(info));
	before = info;
	CHECK_EQ(rt_task_inquire(&task, &info), -EINVAL);
	CHECK_EQ(rt_task_inquire(NULL, &info), -EPERM);
	CHECK_SAME_BYTES(&info, &before, sizeof(info));
}

static void probe_without_info(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_task_inquire(&task, NULL), 0);
	finish(&task);
	CHECK_EQ(rt_task_inquire(&task, NULL), -EINVAL);
	CHECK_EQ(rt_task_inquire(NULL, NULL), -EPERM);
}

static void join_oneself(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_join(rt_task_self()), -EDEADLK);
}

static void joins(void)
{
	RT_TASK task, bound;

	make_sem();
	CHECK_EQ(rt_task_spawn(&task, "joined", 0, 0, T_JOINABLE, take, &sem), 0);
	/* bind leaves the second word zero, and such a descriptor does not join. */
	memset(&bound, 0x5a, sizeof(bound));
	CHECK_EQ(rt_task_bind(&bound, "joined", TM_NONBLOCK), 0);
	CHECK_EQ(bound.opaque, task.opaque);
	CHECK_EQ(bound.opaque2, 0);
	CHECK_EQ(rt_task_join(&bound), -ESRCH);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_task_join(&task), 0);
	CHECK_EQ(rt_task_join(&task), -ESRCH);
	CHECK_EQ(rt_task_join(NULL), -EINVAL);

	as_task(10, join_oneself, NULL);

	CHECK_EQ(rt_task_spawn(&task, NULL, 0, 0, 0, take, &sem), 0);
	CHECK_EQ(rt_task_join(&task), -EINVAL);
	CHECK_EQ(rt_sem_v(&sem), 0);
	until(rt_task_inquire(&task, NULL) != 0);
	CHECK_EQ(rt_task_join(&task), -ESRCH);
}

static void bind_absent(void *arg)
{
	RT_TASK bound;

	(void)arg;
	CHECK_EQ(rt_task_bind(&bound, "absent", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_bind(&bound, "absent", MS), -EWOULDBLOCK);
	CHECK_EQ(rt_task_bind(&bound, "absent", TM_INFINITE), -EWOULDBLOCK);
	CHECK_EQ(rt_task_bind(&bound, "present", TM_INFINITE), 0);
	CHECK_EQ(rt_task_sleep(0), -EPERM);
}

/* 3.x says -EPERM. */
static void bind_in_a_plain_thread_never_waits(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_create(&task, "present", 0, 0, T_JOINABLE), 0);
	kit_plain(bind_absent, NULL);
	finish(&task);
}

static void bind_in_time(void *arg)
{
	long long start = kit_now();
	RT_TASK bound;

	CHECK_EQ(rt_task_bind(&bound, "absent", 5 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 5 * MS);
	CHECK_EQ(rt_task_bind(&bound, "late", TM_INFINITE), 0);
	CHECK_EQ(rt_task_inquire(&bound, NULL), 0);
	CHECK_EQ(rt_task_unbind(&bound), 0);
	CHECK_EQ(bound.opaque, 0);
	CHECK_EQ(rt_sem_v((RT_SEM *)arg), 0);
}

static void bind_in_a_task_waits(void)
{
	RT_TASK waiter, task;

	make_sem();
	spawn_blocked(&waiter, 10, bind_in_time, &sem);
	kit_nap(10 * MS);
	CHECK_EQ(rt_task_create(&task, "late", 0, 0, T_JOINABLE), 0);
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
	join(&waiter);
	finish(&task);
}

KIT_CASES(
	CASE(mode_bits_are_never_refused), CASE_KERNEL(lock_is_ignored_at_creation), CASE(bad_arguments),
	CASE(cpu_bits_choose_cpus), CASE(cpus_that_do_not_exist_are_ignored), CASE(second_start_is_busy),
	CASE(shadow_takes_any_mode), CASE(shadow_moves_the_caller), CASE(shadow_arguments), CASE(statuses),
	CASE(information), CASE(probe_without_info), CASE(joins), CASE(bind_in_a_plain_thread_never_waits),
	CASE(bind_in_a_task_waits))
