/* Names: generated ones, length, bytes, scope, life time. */
#include "kit.h"
#include <alchemy/sem.h>

#define CHARS_31 "abcdefghijklmnopqrstuvwxyz01234"
#define CHARS_40 CHARS_31 "56789ABCD"

static const RT_TASK task_pattern = { 0x5a5a5a5a5a5a5a5aUL, 0x5a5a5a5a5a5a5a5aUL };
static const RT_SEM sem_pattern = { 0x5a5a5a5a5a5a5a5aUL };

static void nothing(void *arg)
{
	(void)arg;
}

static void create_task(RT_TASK *task, const char *name)
{
	CHECK_EQ(rt_task_create(task, name, 0, 0, T_JOINABLE), 0);
}

/* Dormant tasks end by running. */
static void end_task(RT_TASK *task)
{
	CHECK_EQ(rt_task_start(task, nothing, NULL), 0);
	kit_join(task);
}

static void check_task_name(RT_TASK *task, const char *name)
{
	RT_TASK_INFO info;

	CHECK_EQ(rt_task_inquire(task, &info), 0);
	CHECK_STR(info.name, name);
}

static void check_sem_name(RT_SEM *sem, const char *name)
{
	RT_SEM_INFO info;

	CHECK_EQ(rt_sem_inquire(sem, &info), 0);
	CHECK_STR(info.name, name);
}

static void unnamed_tasks_get_counted_names(void)
{
	RT_TASK tasks[5], failed = task_pattern;
	int i;

	CHECK_EQ(rt_task_create(&failed, NULL, 0, 100, 0), -EINVAL); /* generates none */
	create_task(&tasks[0], NULL);
	create_task(&tasks[1], "explicit");
	create_task(&tasks[2], "");
	create_task(&tasks[3], "task@x");
	create_task(&tasks[4], "");
	check_task_name(&tasks[0], "task@1");
	check_task_name(&tasks[1], "explicit");
	check_task_name(&tasks[2], "task@2");
	check_task_name(&tasks[3], "task@x");
	check_task_name(&tasks[4], "task@3");
	for (i = 0; i < 5; i++)
		end_task(&tasks[i]);

	/* Numbers are not used again. */
	create_task(&tasks[0], NULL);
	check_task_name(&tasks[0], "task@4");
	end_task(&tasks[0]);
}

static void each_type_counts_for_itself(void)
{
	RT_TASK task;
	RT_SEM sem;

	create_task(&task, NULL);
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_FIFO), 0);
	check_task_name(&task, "task@1");
	check_sem_name(&sem, "sem@1");
	CHECK_EQ(rt_sem_delete(&sem), 0);
	end_task(&task);
}

static void generated_name_steps_over_chosen_ones(void)
{
	RT_TASK chosen[2], unnamed[2];

	create_task(&chosen[0], "task@1");
	create_task(&chosen[1], "task@3");
	create_task(&unnamed[0], NULL);
	create_task(&unnamed[1], NULL);
	check_task_name(&unnamed[0], "task@2");
	check_task_name(&unnamed[1], "task@4");
	end_task(&chosen[0]);
	end_task(&chosen[1]);
	end_task(&unnamed[0]);
	end_task(&unnamed[1]);
}

static void generated_name_can_be_bound(void)
{
	RT_SEM sem, bound;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_bind(&bound, "sem@1", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, sem.handle);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void name_counts_for_31_characters_in_create_and_bind(void)
{
	RT_SEM sem, bound_31, bound_40, other = sem_pattern;
	RT_TASK task, task_31, task_40, second = task_pattern;

	CHECK_EQ(strlen(CHARS_31), 31);
	CHECK_EQ(strlen(CHARS_40), 40);

	CHECK_EQ(rt_sem_create(&sem, CHARS_40, 0, S_FIFO), 0);
	check_sem_name(&sem, CHARS_31);
	CHECK_EQ(rt_sem_bind(&bound_31, CHARS_31, TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_bind(&bound_40, CHARS_40, TM_NONBLOCK), 0);
	CHECK_EQ(bound_31.handle, sem.handle);
	CHECK_EQ(bound_40.handle, sem.handle);
	CHECK_EQ(rt_sem_bind(&other, "abcdefghijklmnopqrstuvwxyz0123", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_create(&other, CHARS_31, 0, S_FIFO), -EEXIST);
	CHECK_EQ(rt_sem_create(&other, CHARS_31 "!", 0, S_FIFO), -EEXIST);
	CHECK_SAME_BYTES(&other, &sem_pattern, sizeof(other));
	CHECK_EQ(rt_sem_delete(&sem), 0);

	create_task(&task, CHARS_40);
	check_task_name(&task, CHARS_31);
	CHECK_EQ(rt_task_bind(&task_31, CHARS_31, TM_NONBLOCK), 0);
	CHECK_EQ(rt_task_bind(&task_40, CHARS_40, TM_NONBLOCK), 0);
	CHECK_EQ(rt_task_same(&task, &task_31), 1);
	CHECK_EQ(rt_task_same(&task, &task_40), 1);
	CHECK_EQ(rt_task_create(&second, CHARS_31 "!", 0, 0, T_JOINABLE), -EEXIST);
	CHECK_SAME_BYTES(&second, &task_pattern, sizeof(second));
	end_task(&task);
}

static void name_may_fill_a_page_and_more(void)
{
	static char name[20000];
	RT_SEM sem, bound;

	memset(name, 'n', sizeof(name) - 1);
	CHECK_EQ(rt_sem_create(&sem, name, 0, S_FIFO), 0);
	check_sem_name(&sem, "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn");
	CHECK_EQ(rt_sem_bind(&bound, name, TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, sem.handle);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void name_may_hold_any_byte(void)
{
	static RT_SEM sems[256];
	char name[4] = "a?z";
	RT_SEM bound;
	int byte;

	for (byte = 1; byte < 256; byte++) {
		name[1] = (char)byte;
		CHECK_EQ(rt_sem_create(&sems[byte], name, 0, S_FIFO), 0);
	}
	for (byte = 1; byte < 256; byte++) {
		name[1] = (char)byte;
		check_sem_name(&sems[byte], name);
		CHECK_EQ(rt_sem_bind(&bound, name, TM_NONBLOCK), 0);
		CHECK_EQ(bound.handle, sems[byte].handle);
	}
	for (byte = 1; byte < 256; byte++)
		CHECK_EQ(rt_sem_delete(&sems[byte]), 0);
}

static void odd_names_are_plain_text(void)
{
	static const char *const names[] = { "/", "../../etc/passwd", "%s%n%s", " ", "\n", "-", "a/b", ".", "sem@", "sem@0", "\xff" };
	RT_SEM sem, bound;
	RT_TASK task;
	unsigned i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CHECK_EQ(rt_sem_create(&sem, names[i], 0, S_FIFO), 0);
		check_sem_name(&sem, names[i]);
		CHECK_EQ(rt_sem_bind(&bound, names[i], TM_NONBLOCK), 0);
		CHECK_EQ(bound.handle, sem.handle);
		CHECK_EQ(rt_sem_delete(&sem), 0);
		create_task(&task, names[i]);
		check_task_name(&task, names[i]);
		end_task(&task);
	}
}

static void case_matters(void)
{
	RT_SEM lower, upper, bound;

	CHECK_EQ(rt_sem_create(&lower, "name", 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_create(&upper, "Name", 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_bind(&bound, "Name", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, upper.handle);
	CHECK_EQ(rt_sem_delete(&lower), 0);
	CHECK_EQ(rt_sem_delete(&upper), 0);
}

static void name_is_copied(void)
{
	char name[] = "original";
	RT_SEM sem, bound;

	CHECK_EQ(rt_sem_create(&sem, name, 0, S_FIFO), 0);
	memset(name, 'x', sizeof(name) - 1);
	check_sem_name(&sem, "original");
	CHECK_EQ(rt_sem_bind(&bound, "original", TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void types_do_not_share_names(void)
{
	RT_TASK task, second = task_pattern, bound_task;
	RT_SEM sem, second_sem = sem_pattern, bound;

	create_task(&task, "X");
	CHECK_EQ(rt_sem_bind(&second_sem, "X", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_create(&sem, "X", 0, S_FIFO), 0);
	CHECK_EQ(rt_task_create(&second, "X", 0, 0, T_JOINABLE), -EEXIST);
	CHECK_EQ(rt_task_spawn(&second, "X", 0, 0, T_JOINABLE, nothing, NULL), -EEXIST);
	CHECK_SAME_BYTES(&second, &task_pattern, sizeof(second));
	CHECK_EQ(rt_sem_create(&second_sem, "X", 0, S_FIFO), -EEXIST);
	CHECK_SAME_BYTES(&second_sem, &sem_pattern, sizeof(second_sem));
	CHECK_EQ(rt_task_bind(&bound_task, "X", TM_NONBLOCK), 0);
	CHECK_EQ(rt_task_same(&bound_task, &task), 1);
	CHECK_EQ(rt_sem_bind(&bound, "X", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, sem.handle);
	end_task(&task);
	CHECK_EQ(rt_sem_bind(&bound, "X", TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void taken_name_may_be_tried_with_the_live_descriptor(void)
{
	RT_TASK task, before;

	create_task(&task, "live");
	before = task;
	CHECK_EQ(rt_task_create(&task, "live", 0, 0, T_JOINABLE), -EEXIST);
	CHECK_SAME_BYTES(&task, &before, sizeof(task));
	end_task(&task);
}

static void failed_create_leaves_no_name(void)
{
	RT_TASK task = task_pattern;

	CHECK_EQ(rt_task_create(&task, "N", -1, 10, T_JOINABLE), -EINVAL);
	CHECK_EQ(rt_task_create(&task, "N", 0, 100, T_JOINABLE), -EINVAL);
	CHECK_EQ(rt_task_create(&task, "N", 0, -1, T_JOINABLE), -EINVAL);
	CHECK_EQ(rt_task_create(&task, "N", 0, 10, 0x8), -EINVAL);
	CHECK_EQ(rt_task_create(&task, "N", 0, 10, -1), -EINVAL);
	CHECK_EQ(rt_task_spawn(&task, "N", 0, 10, T_JOINABLE, NULL, NULL), -EINVAL);
	CHECK_EQ(rt_task_create(NULL, "N", 0, 10, T_JOINABLE), -EINVAL);
	CHECK_SAME_BYTES(&task, &task_pattern, sizeof(task));
	CHECK_EQ(rt_task_bind(&task, "N", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_SAME_BYTES(&task, &task_pattern, sizeof(task));
	create_task(&task, "N");
	check_task_name(&task, "N");
	end_task(&task);
}

static void ended_task_gives_its_name_back_before_it_is_joined(void)
{
	RT_TASK first, second, bound;

	CHECK_EQ(rt_task_spawn(&first, "reborn", 0, 10, T_JOINABLE, nothing, NULL), 0);
	until(rt_task_inquire(&first, NULL) == -EINVAL);
	CHECK_EQ(rt_task_bind(&bound, "reborn", TM_NONBLOCK), -EWOULDBLOCK);
	create_task(&second, "reborn");
	CHECK_EQ(rt_task_same(&first, &second), 0);
	kit_join(&first);
	check_task_name(&second, "reborn");
	end_task(&second);
	CHECK_EQ(rt_task_bind(&bound, "reborn", TM_NONBLOCK), -EWOULDBLOCK);
}

KIT_CASES(
	CASE(unnamed_tasks_get_counted_names),
	CASE(each_type_counts_for_itself),
	CASE(generated_name_steps_over_chosen_ones),
	CASE(generated_name_can_be_bound),
	CASE(name_counts_for_31_characters_in_create_and_bind),
	CASE(name_may_fill_a_page_and_more),
	CASE(name_may_hold_any_byte),
	CASE(odd_names_are_plain_text),
	CASE(case_matters),
	CASE(name_is_copied),
	CASE(types_do_not_share_names),
	CASE(taken_name_may_be_tried_with_the_live_descriptor),
	CASE(failed_create_leaves_no_name),
	CASE(ended_task_gives_its_name_back_before_it_is_joined)
)
