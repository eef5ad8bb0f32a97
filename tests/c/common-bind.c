/* Bind: who may wait, for how long, who is woken. */
#include "kit.h"
#include <alchemy/sem.h>

#define MS 1000000ULL
#define STATUS_WAIT 0x20011
#define STATUS_TIMEDWAIT 0x40011

static const RT_SEM pattern = { 0x5a5a5a5a5a5a5a5aUL };
static const RT_TASK task_pattern = { 0x5a5a5a5a5a5a5a5aUL, 0x5a5a5a5a5a5a5a5aUL };

#define CHECK_UNTOUCHED(sem) CHECK_SAME_BYTES((sem), &pattern, sizeof(pattern))

/* A task that binds once and leaves its tag. */
struct binder {
	RT_TASK task;
	RT_SEM sem;
	const char *name;
	RTIME timeout;
	const char *tag;
	int result;
};

static void binder_body(void *binder_)
{
	struct binder *binder = (struct binder *)binder_;

	binder->result = rt_sem_bind(&binder->sem, binder->name, binder->timeout);
	mark(binder->tag);
}

static void start_timed_binder(struct binder *binder, const char *name, int prio, const char *tag, RTIME timeout)
{
	binder->sem = pattern;
	binder->name = name;
	binder->timeout = timeout;
	binder->tag = tag;
	binder->result = 1;
	kit_spawn_blocked(&binder->task, prio, binder_body, binder);
}

static void start_binder(struct binder *binder, const char *name, int prio, const char *tag)
{
	start_timed_binder(binder, name, prio, tag, TM_INFINITE);
}

static int end_binder(struct binder *binder)
{
	kit_join(&binder->task);
	return binder->result;
}

static void bind_needs_descriptor_and_name(void)
{
	RT_SEM sem, bound = pattern;
	RT_TASK task = task_pattern;

	CHECK_EQ(rt_sem_create(&sem, "present", 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_bind(NULL, "present", TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_sem_bind(NULL, "present", TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_sem_bind(&bound, NULL, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_sem_bind(&bound, NULL, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_sem_bind(NULL, NULL, TM_INFINITE), -EINVAL);
	CHECK_UNTOUCHED(&bound);
	CHECK_EQ(rt_task_bind(NULL, "present", TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_task_bind(&task, NULL, TM_INFINITE), -EINVAL);
	CHECK_SAME_BYTES(&task, &task_pattern, sizeof(task));
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void bind_present_and_missing(void *arg)
{
	RT_SEM sem = pattern;

	(void)arg;
	CHECK_EQ(rt_sem_bind(&sem, "missing", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_UNTOUCHED(&sem);
	CHECK_EQ(rt_sem_bind(&sem, "present", TM_INFINITE), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	sem = pattern;
	CHECK_EQ(rt_sem_bind(&sem, "present", TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	sem = pattern;
	CHECK_EQ(rt_sem_bind(&sem, "present", MS), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
}

static void present_name_is_bound_at_once_by_any_caller(void)
{
	RT_SEM sem;
	RT_SEM_INFO info;
	RT_TASK task;

	CHECK_EQ(rt_sem_create(&sem, "present", 0, S_FIFO), 0);
	bind_present_and_missing(NULL);
	kit_plain(bind_present_and_missing, NULL);
	kit_spawn(&task, 10, bind_present_and_missing, NULL);
	kit_join(&task);
	CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
	CHECK_EQ(info.count, 9);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void bind_from_plain_thread(void *arg)
{
	RT_SEM sem = pattern;
	RT_TASK task = task_pattern;

	(void)arg;
	CHECK_EQ(rt_sem_bind(&sem, "missing", MS), -EPERM);
	CHECK_EQ(rt_sem_bind(&sem, "missing", TM_INFINITE), -EPERM);
	CHECK_EQ(rt_sem_bind(&sem, "missing", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_UNTOUCHED(&sem);
	CHECK_EQ(rt_task_bind(&task, "missing", MS), -EPERM);
	CHECK_EQ(rt_task_bind(&task, "missing", TM_INFINITE), -EPERM);
	CHECK_EQ(rt_task_bind(&task, "missing", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_SAME_BYTES(&task, &task_pattern, sizeof(task));
}

static void plain_thread_may_not_wait_for_a_name(void)
{
	kit_plain(bind_from_plain_thread, NULL);
}

static void bind_waits_its_time(void *arg)
{
	RT_SEM sem = pattern;
	RT_TASK task = task_pattern;
	long long start = kit_now();

	(void)arg;
	CHECK_EQ(rt_sem_bind(&sem, "missing", MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 1000000);
	CHECK_UNTOUCHED(&sem);
	start = kit_now();
	CHECK_EQ(rt_task_bind(&task, "missing", 10 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 10000000);
	CHECK_SAME_BYTES(&task, &task_pattern, sizeof(task));
}

static void initial_thread_and_task_wait_for_a_name(void)
{
	RT_TASK task;

	bind_waits_its_time(NULL);
	kit_spawn(&task, 10, bind_waits_its_time, NULL);
	kit_join(&task);
}

static void empty_name_matches_nothing(void)
{
	RT_SEM sem, bound = pattern;

	CHECK_EQ(rt_sem_create(&sem, "", 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_bind(&bound, "", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_bind(&bound, "", MS), -ETIMEDOUT);
	CHECK_UNTOUCHED(&bound);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void deleted_name_is_missing(void)
{
	RT_SEM sem, bound = pattern;

	CHECK_EQ(rt_sem_create(&sem, "gone", 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
	CHECK_EQ(rt_sem_bind(&bound, "gone", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_bind(&bound, "gone", MS), -ETIMEDOUT);
	CHECK_UNTOUCHED(&bound);
}

static void creation_wakes_all_who_wait_for_that_name_only(void)
{
	struct binder first, second, other;
	RT_SEM sem, late;

	start_binder(&first, "A", 10, "a");
	start_binder(&other, "Z", 30, "z");
	start_binder(&second, "A", 20, "a");
	CHECK_EQ(rt_sem_create(&sem, "A", 0, S_FIFO), 0);
	CHECK_EQ(end_binder(&first), 0);
	CHECK_EQ(end_binder(&second), 0);
	CHECK_EQ(first.sem.handle, sem.handle);
	CHECK_EQ(second.sem.handle, sem.handle);
	expect_marks("a a");
	CHECK(kit_blocked(&other.task));
	CHECK_EQ(rt_sem_create(&late, "Z", 0, S_FIFO), 0);
	CHECK_EQ(end_binder(&other), 0);
	CHECK_EQ(other.sem.handle, late.handle);
	expect_marks("a a z");
	CHECK_EQ(rt_sem_delete(&sem), 0);
	CHECK_EQ(rt_sem_delete(&late), 0);
}

static void bind_shows_as_a_wait(void)
{
	struct binder binder;
	RT_SEM sem;

	start_binder(&binder, "awaited", 10, "b");
	CHECK_EQ(kit_status(&binder.task), STATUS_WAIT);
	CHECK_EQ(rt_sem_create(&sem, "awaited", 0, S_FIFO), 0);
	CHECK_EQ(end_binder(&binder), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
	start_timed_binder(&binder, "awaited", 10, "b", 3600000 * MS);
	CHECK_EQ(kit_status(&binder.task), STATUS_TIMEDWAIT);
	CHECK_EQ(rt_sem_create(&sem, "awaited", 0, S_FIFO), 0);
	CHECK_EQ(end_binder(&binder), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void huge_delay_saturates(void)
{
	static const RTIME delays[] = { TM_NONBLOCK - 1, TM_NONBLOCK / 2, TM_NONBLOCK / 2 + 1 };
	struct binder binder;
	RT_SEM sem;
	unsigned i;

	for (i = 0; i < 3; i++) {
		start_timed_binder(&binder, "remote", 10, "b", delays[i]);
		kit_nap(1000000);
		CHECK(kit_blocked(&binder.task)); /* a wrapped date would have passed */
		CHECK_EQ(rt_sem_create(&sem, "remote", 0, S_FIFO), 0);
		CHECK_EQ(end_binder(&binder), 0);
		CHECK_EQ(rt_sem_delete(&sem), 0);
	}
}

static void waited_for_name_is_cut_too(void)
{
	struct binder binder;
	RT_SEM sem;

	start_binder(&binder, "abcdefghijklmnopqrstuvwxyz01234-and-more", 10, "b");
	CHECK_EQ(rt_sem_create(&sem, "abcdefghijklmnopqrstuvwxyz01234", 0, S_FIFO), 0);
	CHECK_EQ(end_binder(&binder), 0);
	CHECK_EQ(binder.sem.handle, sem.handle);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void finish(void *arg)
{
	(void)arg;
}

static void object_of_another_type_does_not_end_the_wait(void)
{
	struct binder binder;
	RT_TASK task;
	RT_SEM sem;

	start_binder(&binder, "homonym", 10, "b");
	CHECK_EQ(rt_task_create(&task, "homonym", 0, 0, T_JOINABLE), 0);
	kit_nap(1000000);
	CHECK(kit_blocked(&binder.task));
	CHECK_EQ(rt_sem_create(&sem, "homonym", 0, S_FIFO), 0);
	CHECK_EQ(end_binder(&binder), 0);
	CHECK_EQ(binder.sem.handle, sem.handle);
	CHECK_EQ(rt_task_start(&task, finish, NULL), 0);
	kit_join(&task);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

/* --- Order under SCHED_FIFO --------------------------------------------------------------------------------------- */

static RT_SEM made;
static struct binder low;

static void use_at_once(void *arg)
{
	RT_SEM sem;

	(void)arg;
	CHECK_EQ(rt_sem_bind(&sem, "fresh", TM_INFINITE), 0);
	CHECK_EQ(sem.handle, made.handle);
	CHECK_EQ(rt_sem_v(&sem), 0);
	mark("bound");
}

static void create_fresh(void *binder)
{
	RT_SEM_INFO info;

	kit_spawn_blocked((RT_TASK *)binder, 60, use_at_once, NULL);
	made = pattern;
	CHECK_EQ(rt_sem_create(&made, "fresh", 2, S_FIFO), 0);
	mark("created");
	CHECK_EQ(rt_sem_inquire(&made, &info), 0);
	CHECK_EQ(info.count, 3);
}

/* The waiter runs inside the create call: object and creator's descriptor are complete by then. */
static void object_is_usable_when_a_bind_waiter_sees_it(void)
{
	RT_TASK creator, binder;

	CHECK_EQ(rt_task_spawn(&creator, NULL, 0, 50, T_JOINABLE, create_fresh, &binder), 0);
	kit_join(&creator);
	kit_join(&binder);
	expect_marks("bound created");
	CHECK_EQ(rt_sem_delete(&made), 0);
}

static void create_and_delete(void *arg)
{
	(void)arg;
	start_binder(&low, "brief", 10, "bound");
	CHECK_EQ(rt_sem_create(&made, "brief", 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_delete(&made), 0);
	kit_nap(5000000); /* the binder may run now */
	CHECK_EQ(mark_count(), 0);
	CHECK(kit_blocked(&low.task));
	mark("again");
	CHECK_EQ(rt_sem_create(&made, "brief", 0, S_FIFO), 0);
}

static void object_deleted_before_the_waiter_runs_is_waited_for_again(void)
{
	kit_boss(create_and_delete);
	CHECK_EQ(end_binder(&low), 0);
	CHECK_EQ(low.sem.handle, made.handle);
	expect_marks("again bound");
	CHECK_EQ(rt_sem_delete(&made), 0);
}

static struct binder yardstick;

static void create_and_delete_shortly_before_the_date(void *arg)
{
	(void)arg;
	start_timed_binder(&low, "brief", 10, "timed-out", 200 * MS);
	start_timed_binder(&yardstick, "never", 10, "yardstick", 300 * MS);
	kit_nap(150000000);
	CHECK_EQ(rt_sem_create(&made, "brief", 0, S_FIFO), 0);
	CHECK_EQ(rt_sem_delete(&made), 0);
}

/* A wait begun anew would end after 350 ms, and after the yardstick. */
static void waiting_again_keeps_the_first_date(void)
{
	kit_boss(create_and_delete_shortly_before_the_date);
	CHECK_EQ(end_binder(&low), -ETIMEDOUT);
	CHECK_EQ(end_binder(&yardstick), -ETIMEDOUT);
	expect_marks("timed-out yardstick");
	CHECK_UNTOUCHED(&low.sem);
}

/* --- Tasks by name ------------------------------------------------------------------------------------------------ */

static void bind_task(void *bound)
{
	CHECK_EQ(rt_task_bind((RT_TASK *)bound, "worker", TM_INFINITE), 0);
	mark("bound");
}

static void bind_finds_tasks_with_their_thread(void)
{
	RT_TASK worker, waiter, late, bound = task_pattern, dormant = task_pattern;

	kit_spawn_blocked(&waiter, 10, bind_task, &bound);
	CHECK_EQ(rt_task_create(&worker, "worker", 0, 5, T_JOINABLE), 0);
	kit_join(&waiter);
	CHECK_EQ(rt_task_same(&bound, &worker), 1);
	CHECK(pthread_equal(bound.thread, worker.thread));
	CHECK_EQ(rt_task_bind(&dormant, "worker", TM_NONBLOCK), 0);
	CHECK_EQ(dormant.handle, worker.handle);
	CHECK(pthread_equal(dormant.thread, worker.thread));
	CHECK_EQ(rt_task_unbind(&dormant), 0);
	memset(&late, 0, sizeof(late));
	CHECK_SAME_BYTES(&dormant, &late, sizeof(late));
	CHECK_EQ(rt_task_unbind(NULL), -EINVAL);
	CHECK_EQ(rt_task_start(&bound, finish, NULL), 0);
	kit_join(&bound); /* a bound descriptor will do */
	CHECK_EQ(rt_task_bind(&late, "worker", TM_NONBLOCK), -EWOULDBLOCK);
}

/* --- Races -------------------------------------------------------------------------------------------------------- */

enum { RACES = 50000 };

static int creator_at, binder_at;

/* Both reach round i before either goes on. */
static void meet(int *mine, int *other, int i)
{
	__atomic_store_n(mine, i, __ATOMIC_RELEASE);
	while (__atomic_load_n(other, __ATOMIC_ACQUIRE) < i)
		sched_yield();
}

static void pass_time(long long ns)
{
	long long when = kit_now() + ns;

	while (kit_now() < when)
		;
}

static void bind_each(void *arg)
{
	int i;

	(void)arg;
	for (i = 1; i <= RACES; i++) {
		RT_SEM sem;

		meet(&binder_at, &creator_at, i);
		pass_time(i % 64 * 30);
		CHECK_EQ(rt_sem_bind(&sem, "race", TM_INFINITE), 0);
		CHECK_EQ(rt_sem_v(&sem), 0);
	}
}

/* A creation that slips between the binder's look and its wait would leave it asleep for ever. The binder comes later
 * by some tens of nanoseconds from round to round. */
static void no_creation_slips_past_a_bind(void)
{
	RT_TASK binder;
	int i;

	kit_unpin();
	kit_spawn(&binder, 0, bind_each, NULL);
	for (i = 1; i <= RACES; i++) {
		RT_SEM sem;

		meet(&creator_at, &binder_at, i);
		CHECK_EQ(rt_sem_create(&sem, "race", 0, S_FIFO), 0);
		CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
		CHECK_EQ(rt_sem_delete(&sem), 0);
	}
	kit_join(&binder);
}

KIT_CASES(
	CASE(bind_needs_descriptor_and_name),
	CASE(present_name_is_bound_at_once_by_any_caller),
	CASE(plain_thread_may_not_wait_for_a_name),
	CASE(initial_thread_and_task_wait_for_a_name),
	CASE(empty_name_matches_nothing),
	CASE(deleted_name_is_missing),
	CASE(creation_wakes_all_who_wait_for_that_name_only),
	CASE(bind_shows_as_a_wait),
	CASE(huge_delay_saturates),
	CASE(waited_for_name_is_cut_too),
	CASE(object_of_another_type_does_not_end_the_wait),
	CASE_FIFO(object_is_usable_when_a_bind_waiter_sees_it),
	CASE_FIFO(object_deleted_before_the_waiter_runs_is_waited_for_again),
	CASE_FIFO(waiting_again_keeps_the_first_date),
	CASE(bind_finds_tasks_with_their_thread),
	CASE(no_creation_slips_past_a_bind)
)
