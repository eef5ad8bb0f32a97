/* rt_task_set_affinity. Cases that move a task need a second CPU. */
#include "kit.h"
#include "tasks.h"

/* The CPU the case is pinned to, and another one; skips if there is none. */
static int this_cpu, other_cpu;

static cpu_set_t just(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return set;
}

static void find_other_cpu(void)
{
	cpu_set_t mine, set;

	this_cpu = sched_getcpu();
	CHECK_EQ(sched_getaffinity(0, sizeof(mine), &mine), 0);
	for (other_cpu = 0; other_cpu < CPU_SETSIZE; other_cpu++) {
		set = just(other_cpu);
		if (other_cpu != this_cpu && sched_setaffinity(0, sizeof(set), &set) == 0)
			break;
	}
	if (other_cpu == CPU_SETSIZE)
		SKIP("there is only one CPU");
	CHECK_EQ(sched_setaffinity(0, sizeof(mine), &mine), 0);
}

static void check_cpus(pid_t tid, cpu_set_t want)
{
	cpu_set_t got;

	CHECK_EQ(sched_getaffinity(tid, sizeof(got), &got), 0);
	CHECK(CPU_EQUAL(&got, &want));
}

static void see_other_cpu(void *arg)
{
	RT_TASK_INFO info;

	(void)arg;
	CHECK_EQ(sched_getcpu(), other_cpu);
	CHECK_EQ(rt_task_inquire(NULL, &info), 0);
	CHECK_EQ(info.stat.cpu, other_cpu);
}

/* task.md 7.49 */
static void dormant_task_is_moved(void)
{
	cpu_set_t set;
	RT_TASK task;

	find_other_cpu();
	set = just(other_cpu);
	CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_JOINABLE), 0);
	CHECK_EQ(rt_task_set_affinity(&task, &set), 0);
	check_cpus(tid_of(&task), set);
	check_cpus(0, just(this_cpu));
	CHECK_EQ(rt_task_start(&task, see_other_cpu, NULL), 0);
	kit_join(&task);
}

static void move_oneself(void *arg)
{
	cpu_set_t set = just(other_cpu);

	CHECK_EQ(sched_getcpu(), this_cpu);
	CHECK_EQ(rt_task_set_affinity(NULL, &set), 0);
	see_other_cpu(arg);
	check_cpus(0, set);
	set = just(this_cpu);
	CHECK_EQ(rt_task_set_affinity(rt_task_self(), &set), 0);
	CHECK_EQ(sched_getcpu(), this_cpu);
}

static void task_moves_itself(void)
{
	find_other_cpu();
	as_task(0, move_oneself, NULL);
	as_task(30, move_oneself, NULL);
}

static RT_SEM sem;

static void wait_and_see(void *arg)
{
	take(&sem);
	see_other_cpu(arg);
}

static void waiting_task_is_moved(void)
{
	cpu_set_t set;
	RT_TASK task;

	find_other_cpu();
	set = just(other_cpu);
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	kit_spawn_blocked(&task, 10, wait_and_see, NULL);
	CHECK_EQ(rt_task_set_affinity(&task, &set), 0);
	check_cpus(tid_of(&task), set);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
}

static void set_from_outside(void *arg)
{
	RT_TASK *task = (RT_TASK *)arg;
	cpu_set_t set = just(sched_getcpu());

	CHECK_EQ(rt_task_set_affinity(task, &set), 0);
	check_cpus(tid_of(task), set);
	CHECK_EQ(rt_task_set_affinity(NULL, &set), rt_task_self() ? 0 : -EPERM);
}

static void any_thread_may_set_it(void)
{
	RT_TASK task;

	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	set_from_outside(&task);
	kit_plain(set_from_outside, &task);
	as_task(0, set_from_outside, &task);
	finish(&task);
}

/* task.md 7.49 */
static void unusable_sets_are_refused(void)
{
	cpu_set_t before, empty, far = just(1000), mixed;
	RT_TASK task;

	CPU_ZERO(&empty);
	CHECK_EQ(rt_task_create(&task, NULL, 0, 0, T_JOINABLE), 0);
	CHECK_EQ(sched_getaffinity(tid_of(&task), sizeof(before), &before), 0);
	CHECK_EQ(rt_task_set_affinity(&task, &empty), -EINVAL);
	CHECK_EQ(rt_task_set_affinity(&task, &far), -EINVAL);
	CHECK_EQ(rt_task_set_affinity(&task, NULL), -EINVAL);
	check_cpus(tid_of(&task), before);
	/* One usable CPU suffices. */
	CPU_OR(&mixed, &before, &far);
	CHECK_EQ(rt_task_set_affinity(&task, &mixed), 0);
	check_cpus(tid_of(&task), before);
	finish(&task);
	CHECK_EQ(rt_task_set_affinity(&task, &before), -EINVAL);
}

static void refused_to_oneself(void *arg)
{
	cpu_set_t empty;

	(void)arg;
	CPU_ZERO(&empty);
	CHECK_EQ(rt_task_set_affinity(NULL, &empty), -EINVAL);
	CHECK_EQ(rt_task_set_affinity(NULL, NULL), -EINVAL);
}

static void unusable_sets_are_refused_to_oneself(void)
{
	as_task(0, refused_to_oneself, NULL);
}

static void who_is_no_task_has_no_affinity_here(void)
{
	cpu_set_t set = just(sched_getcpu()), empty;

	CPU_ZERO(&empty);
	CHECK_EQ(rt_task_set_affinity(NULL, &set), -EPERM);
	CHECK_EQ(rt_task_set_affinity(NULL, &empty), -EPERM);
}

static void shadow_and_move(void *arg)
{
	cpu_set_t set = just(other_cpu);

	CHECK_EQ(rt_task_shadow(NULL, NULL, 0, 0), 0);
	CHECK_EQ(rt_task_set_affinity(NULL, &set), 0);
	see_other_cpu(arg);
}

static void shadowed_thread_is_moved(void)
{
	find_other_cpu();
	kit_plain(shadow_and_move, NULL);
	check_cpus(0, just(this_cpu));
}

static void create_another(void *task)
{
	cpu_set_t set = just(other_cpu);

	CHECK_EQ(rt_task_set_affinity(NULL, &set), 0);
	CHECK_EQ(rt_task_create((RT_TASK *)task, NULL, 0, 10, T_JOINABLE), 0);
}

static void moved_creator_passes_it_on(void)
{
	RT_TASK task;

	find_other_cpu();
	as_task(0, create_another, &task);
	check_cpus(tid_of(&task), just(other_cpu));
	CHECK_EQ(rt_task_start(&task, see_other_cpu, NULL), 0);
	kit_join(&task);
}

KIT_CASES(
	CASE(dormant_task_is_moved), CASE(task_moves_itself), CASE(waiting_task_is_moved), CASE(any_thread_may_set_it),
	CASE(unusable_sets_are_refused), CASE(unusable_sets_are_refused_to_oneself),
	CASE(who_is_no_task_has_no_affinity_here), CASE(shadowed_thread_is_moved), CASE(moved_creator_passes_it_on))
