/* The arena of mutexes is full: -ENOMEM, those there are work, and everything is to be had again after deletions. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include "child.h"

#define MIB (1024ULL * 1024)
#define MOST (1 << 20)

static RT_MUTEX mutex[MOST];

static void small_address_space(void)
{
	set_limit(RLIMIT_AS, 96 * MIB, 1);
}

static void small_lockable_memory(void)
{
	lock_at_most(8 * MIB);
	set_limit(RLIMIT_AS, 96 * MIB, 1);
}

static void check_full(void)
{
	RT_MUTEX one, before, bound;
	RT_SEM sem;

	memset(&one, 0x5a, sizeof(one));
	before = one;
	CHECK_EQ(rt_mutex_create(&one, NULL), -ENOMEM);
	CHECK_EQ(rt_mutex_create(&one, "full"), -ENOMEM);
	CHECK_SAME_BYTES(&one, &before, sizeof(one));
	CHECK_EQ(rt_mutex_bind(&bound, "full", TM_NONBLOCK), -EWOULDBLOCK);
	/* Other types are not concerned. */
	CHECK_EQ(rt_sem_create(&sem, "full", 1, S_PRIO), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

/* Creates until it fails, every second one with a name of its own; tells how many there are. */
static int fill(void)
{
	char name[32];
	int count, error = 0;

	for (count = 0; count < MOST; count++) {
		snprintf(name, sizeof(name), "number-%d", count);
		error = rt_mutex_create(&mutex[count], count % 2 ? name : NULL);
		if (error)
			break;
	}
	CHECK_EQ(error, -ENOMEM);
	return count;
}

static void check_unowned(int count)
{
	int i;

	for (i = 0; i < count; i++)
		CHECK_UNOWNED(&mutex[i]);
}

static void delete_all(int count)
{
	int i;

	for (i = 0; i < count; i++)
		CHECK_EQ(rt_mutex_delete(&mutex[i]), 0);
}

/* As a task: owns them all at once, which the kernel's limit of what it looks at when a thread dies does not touch. */
static void own_all(void *count_)
{
	int i, count = *(int *)count_;

	for (i = 0; i < count; i++)
		CHECK_EQ(rt_mutex_acquire(&mutex[i], TM_NONBLOCK), 0);
	check_full();
	for (i = 0; i < count; i++) {
		CHECK_OWNER(&mutex[i], rt_task_self());
		CHECK_EQ(rt_mutex_delete(&mutex[i]), -EBUSY);
	}
	/* The odd ones are left to whoever comes next. */
	for (i = 0; i < count; i += 2)
		CHECK_EQ(rt_mutex_release(&mutex[i]), 0);
}

static void take_over(void *count_)
{
	int i, count = *(int *)count_;

	for (i = 0; i < count; i++) {
		CHECK_EQ(rt_mutex_acquire(&mutex[i], TM_INFINITE), i % 2 ? -EOWNERDEAD : 0);
		CHECK_EQ(rt_mutex_release(&mutex[i]), 0);
	}
}

static void fill_and_empty(void)
{
	RT_MUTEX bound;
	int count, again;

	count = fill();
	CHECK(count >= 1000);
	check_full();
	as_task(0, own_all, &count);
	check_unowned(count);
	as_task(0, take_over, &count);
	CHECK_EQ(rt_mutex_bind(&bound, "number-999", TM_NONBLOCK), 0);
	/* One goes, one comes. */
	CHECK_EQ(rt_mutex_delete(&mutex[7]), 0);
	CHECK_EQ(rt_mutex_create(&mutex[7], "seven"), 0);
	check_full();
	delete_all(count);
	CHECK_EQ(rt_mutex_bind(&bound, "number-999", TM_NONBLOCK), -EWOULDBLOCK);
	again = fill();
	CHECK(again >= count);
	check_unowned(again);
	/* Orphans are deleted as well as free ones. */
	as_task(0, own_all, &again);
	delete_all(again);
	CHECK(fill() >= count);
}

static void little_address_space(void)
{
	struct rerun how = { .prepare = small_address_space };

	no_sanitizer();
	if (rerunning())
		fill_and_empty();
	else
		rerun_passes(&how);
}

static void little_lockable_memory(void)
{
	struct rerun how = { .prepare = small_lockable_memory };

	no_sanitizer();
	if (rerunning())
		fill_and_empty();
	else
		rerun_passes(&how);
}

/* What a program may count on where memory is not short. */
static void sixty_five_thousand_fit(void)
{
	struct rlimit limit;
	int i, count = 65536;

	CHECK_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
	if (geteuid() != 0 && limit.rlim_cur != RLIM_INFINITY)
		SKIP("not with this limit of locked memory");
	for (i = 0; i < count; i++)
		MAKE_MUTEX(&mutex[i]);
	check_unowned(count);
	delete_all(count);
}

/* Each creation that fails for its name gives its slot back. */
static void refused_names_cost_nothing(void)
{
	RT_MUTEX first, second, last;
	int i;

	CHECK_EQ(rt_mutex_create(&first, "taken"), 0);
	for (i = 0; i < 200000; i++)
		CHECK_EQ(rt_mutex_create(&second, "taken"), -EEXIST);
	MAKE_MUTEX(&last);
	CHECK_EQ(rt_mutex_delete(&last), 0);
	CHECK_EQ(rt_mutex_delete(&first), 0);
}

KIT_CASES(
	CASE(little_address_space), CASE(little_lockable_memory), CASE(sixty_five_thousand_fit),
	CASE(refused_names_cost_nothing))
