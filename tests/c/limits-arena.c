/* The arena of a type is full: -ENOMEM, and everything is to be had again after deletions. */
#include "kit.h"
#include <alchemy/sem.h>
#include "child.h"

#define MIB (1024ULL * 1024)
#define MOST (1 << 20)

static RT_SEM sem[MOST];

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
	RT_SEM one, before, bound;

	memset(&one, 0x5a, sizeof(one));
	before = one;
	CHECK_EQ(rt_sem_create(&one, NULL, 0, S_PRIO), -ENOMEM);
	CHECK_EQ(rt_sem_create(&one, "full", 0, S_PRIO), -ENOMEM);
	CHECK_SAME_BYTES(&one, &before, sizeof(one));
	CHECK_EQ(rt_sem_bind(&bound, "full", TM_NONBLOCK), -EWOULDBLOCK);
}

/* Creates until it fails, every second one with a name of its own; tells how many there are. */
static int fill(void)
{
	char name[32];
	int count, error = 0;

	for (count = 0; count < MOST; count++) {
		snprintf(name, sizeof(name), "number-%d", count);
		error = rt_sem_create(&sem[count], count % 2 ? name : NULL, (unsigned long)count, S_PRIO);
		if (error)
			break;
	}
	CHECK_EQ(error, -ENOMEM);
	return count;
}

static void check_all(int count)
{
	RT_SEM_INFO info;
	int i;

	for (i = 0; i < count; i++) {
		CHECK_EQ(rt_sem_inquire(&sem[i], &info), 0);
		CHECK_EQ(info.count, i);
	}
}

static void delete_all(int count)
{
	int i;

	for (i = 0; i < count; i++)
		CHECK_EQ(rt_sem_delete(&sem[i]), 0);
}

static void fill_and_empty(void)
{
	RT_SEM bound;
	int count, again;

	count = fill();
	CHECK(count >= 1000);
	check_full();
	check_all(count);
	CHECK_EQ(rt_sem_bind(&bound, "number-999", TM_NONBLOCK), 0);
	/* One goes, one comes. */
	CHECK_EQ(rt_sem_delete(&sem[7]), 0);
	CHECK_EQ(rt_sem_create(&sem[7], "seven", 7, S_PRIO), 0);
	check_full();
	check_all(count);
	delete_all(count);
	CHECK_EQ(rt_sem_bind(&bound, "number-999", TM_NONBLOCK), -EWOULDBLOCK);
	again = fill();
	CHECK(again >= count);
	check_all(again);
	delete_all(again);
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
	int i;

	CHECK_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
	if (geteuid() != 0 && limit.rlim_cur != RLIM_INFINITY)
		SKIP("not with this limit of locked memory");
	for (i = 0; i < 65536; i++)
		CHECK_EQ(rt_sem_create(&sem[i], NULL, (unsigned long)i, S_FIFO), 0);
	check_all(65536);
	delete_all(65536);
}

KIT_CASES(CASE(little_address_space), CASE(little_lockable_memory), CASE(sixty_five_thousand_fit))
