/* Mutexes whose owner has ended, while nobody wants them: inquiry, deletion, many at once, thread ids used again. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"

static RT_MUTEX mutex;
static struct puppet owner, heir;

static void make_orphan(int depth)
{
	start(&owner, 15, NULL);
	while (depth-- > 0)
		CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	dismiss(&owner);
	CHECK_UNOWNED(&mutex);
}

/* mutex.md 10.23 */
static void orphan_is_inquired_and_deleted(void)
{
	RT_MUTEX_INFO info;
	RT_MUTEX again;
	int i;

	CHECK_EQ(rt_mutex_create(&mutex, "orphan"), 0);
	make_orphan(2);
	for (i = 0; i < 2; i++) {
		memset(&info, 0x5a, sizeof(info));
		CHECK_EQ(rt_mutex_inquire(&mutex, &info), 0);
		CHECK_EQ(info.owner.handle, 0);
		CHECK_STR(info.name, "orphan");
	}
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	CHECK_EQ(rt_mutex_delete(&mutex), -EINVAL);
	/* The next one has no dead owner. */
	CHECK_EQ(rt_mutex_create(&again, "orphan"), 0);
	start(&heir, 10, NULL);
	use_once(&heir, &again, 0);
	CHECK_EQ(poll_for(&heir, &mutex), -EINVAL);
	dismiss(&heir);
}

static void inquiry_leaves_the_orphan_an_orphan(void)
{
	RT_MUTEX_INFO info;

	MAKE_MUTEX(&mutex);
	make_orphan(1);
	CHECK_EQ(rt_mutex_inquire(&mutex, &info), 0);
	CHECK_EQ(rt_mutex_inquire(&mutex, &info), 0);
	start(&heir, 10, NULL);
	use_once(&heir, &mutex, -EOWNERDEAD);
	use_once(&heir, &mutex, 0);
	dismiss(&heir);
}

enum { MANY = 500 };

static RT_MUTEX many[MANY];

static void acquire_many(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < MANY; i++)
		CHECK_EQ(rt_mutex_acquire(&many[i * 7 % MANY], TM_INFINITE), 0);
}

static void inherit_many(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < MANY; i++) {
		CHECK_UNOWNED(&many[i]);
		CHECK_EQ(rt_mutex_acquire(&many[i], TM_NONBLOCK), -EOWNERDEAD);
		CHECK_EQ(rt_mutex_release(&many[i]), 0);
		CHECK_EQ(rt_mutex_acquire(&many[i], TM_NONBLOCK), 0);
		CHECK_EQ(rt_mutex_release(&many[i]), 0);
	}
}

static void all_mutexes_of_a_dead_owner_are_orphans(void)
{
	int i;

	for (i = 0; i < MANY; i++)
		MAKE_MUTEX(&many[i]);
	as_task(10, acquire_many, NULL);
	as_task(10, inherit_many, NULL);
}

/* --- The same thread id once more --------------------------------------------------------------------------------- */

static pid_t dead_tid;
static int met;

/* Not the owner: its release is refused, and it is not let in as if it nested. */
static void pose_as_owner(void *arg)
{
	(void)arg;
	if (gettid() != dead_tid)
		return;
	met = 1;
	CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_NONBLOCK), -EOWNERDEAD);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
}

/* Has the kernel give out `tid` next, if nobody else takes it. */
static int ask_for_tid(pid_t tid)
{
	FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "w");
	int written;

	if (!file)
		return 0;
	written = fprintf(file, "%d", (int)tid - 1) > 0;
	return fclose(file) == 0 && written;
}

/* mutex.md 10.24 */
static void newcomer_with_the_dead_owners_tid_is_not_the_owner(void)
{
	int i;

	MAKE_MUTEX(&mutex);
	start(&owner, 15, NULL);
	dead_tid = owner.tid;
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	dismiss(&owner);
	for (i = 0; i < 1000 && !met; i++) {
		if (!ask_for_tid(dead_tid))
			SKIP("no say in the choice of thread ids");
		as_task(15, pose_as_owner, NULL);
	}
	if (!met)
		SKIP("the thread id did not come again in 1000 attempts");
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

KIT_CASES(
	CASE(all_mutexes_of_a_dead_owner_are_orphans), CASE(orphan_is_inquired_and_deleted),
	CASE(inquiry_leaves_the_orphan_an_orphan), CASE(newcomer_with_the_dead_owners_tid_is_not_the_owner))
