/* Random requests to tasks that use semaphores, mutexes, the heap and streams of the C library: see random-kit.h. */
#define KIT_STORM
#include "kit.h"
#include "random-kit.h"
#include <alchemy/mutex.h>
#include <malloc.h>

/* ---- At a semaphore ------------------------------------------------------------------------------------------- */

static RT_SEM shared;
static long posted, taken; /* counted before the one and after the other */

static void make_semaphore(void)
{
	MAKE_SEM(&shared, 1, S_PRIO);
}

static void post(void)
{
	bump(&posted);
	CHECK_EQ(rt_sem_v(&shared), 0);
}

static void take_one(RTIME timeout)
{
	int got = rt_sem_p(&shared, timeout);

	CHECK(got == 0 || got == -EINTR || (got == -EWOULDBLOCK && timeout == TM_NONBLOCK) ||
	      (got == -ETIMEDOUT && timeout != TM_INFINITE));
	if (got == 0)
		bump(&taken);
}

static void use_semaphore(void)
{
	int i;

	for (i = 0; i < 20; i++) {
		post();
		take_one(i % 4 ? TM_NONBLOCK : 10000);
	}
	take_one(10000);
	/* Until somebody else posts, or unblocks or deletes it. */
	if (value(&posted) % 8 == 0)
		take_one(TM_INFINITE);
}

/* A deletion may come between an act and its count: one unit each. None is lost otherwise, none comes from nowhere. */
static void check_semaphore(long dead)
{
	long expected = 1 + value(&posted) - value(&taken);
	RT_SEM_INFO info;

	CHECK_EQ(rt_sem_inquire(&shared, &info), 0);
	CHECK_EQ(info.nwaiters, 0);
	CHECK((long)info.count <= expected);
	CHECK((long)info.count >= expected - dead);
	CHECK_EQ(rt_sem_v(&shared), 0);
	CHECK_SEM(&shared, info.count + 1, 0);
	CHECK_EQ(rt_sem_p(&shared, TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_delete(&shared), 0);
}

/* ---- In the heap ---------------------------------------------------------------------------------------------- */

/* What the dead leave behind is never freed: little, for the sake of those who may lock but little memory. */
static void use_heap(void)
{
	unsigned char *block[8];
	size_t i, size;

	for (i = 0; i < 8; i++) {
		size = 10 + i * 130;
		block[i] = (unsigned char *)malloc(size);
		CHECK(block[i] != NULL);
		memset(block[i], (int)i, size);
	}
	for (i = 0; i < 8; i++) {
		CHECK(block[i][0] == i && block[i][9 + i * 130] == i);
		free(block[i]);
	}
}

static void check_heap(long dead)
{
	struct mallinfo2 info;
	int i;

	(void)dead;
	for (i = 0; i < 100; i++)
		use_heap();
	/* Both take the lock of every arena; the first walks all that is free. */
	info = mallinfo2();
	CHECK(info.arena >= info.uordblks);
	CHECK_EQ(malloc_trim(0) & ~1, 0);
}

/* ---- On a stream ---------------------------------------------------------------------------------------------- */

static FILE *sink;

static void open_stream(void)
{
	sink = fopen("/dev/null", "w");
	CHECK(sink != NULL);
}

static void use_stream(void)
{
	int i;

	for (i = 0; i < 20; i++)
		CHECK(fprintf(sink, "%d %s %g\n", i, "text", i / 7.0) > 0);
}

static void check_stream(long dead)
{
	(void)dead;
	use_stream();
	CHECK_EQ(fclose(sink), 0);
}

/* ---- Under mutexes -------------------------------------------------------------------------------------------- */

static RT_MUTEX outer, inner;
static long first, second; /* equal while nobody is inside */

static void make_mutexes(void)
{
	CHECK_EQ(rt_mutex_create(&outer, NULL), 0);
	CHECK_EQ(rt_mutex_create(&inner, NULL), 0);
}

/* Whether it is the caller's now; whoever had it may have ended inside. */
static int lock(RT_MUTEX *mutex, RTIME timeout)
{
	int got = rt_mutex_acquire(mutex, timeout);

	CHECK(got == 0 || got == -EOWNERDEAD || got == -EINTR || (got == -EWOULDBLOCK && timeout == TM_NONBLOCK) ||
	      (got == -ETIMEDOUT && timeout != TM_INFINITE));
	if (got == -EOWNERDEAD && mutex == &inner)
		second = first;
	return got == 0 || got == -EOWNERDEAD;
}

static void use_mutexes(void)
{
	int i;

	for (i = 0; i < 10; i++) {
		if (!lock(&outer, i % 2 ? TM_INFINITE : 20000))
			continue;
		CHECK_EQ(rt_mutex_acquire(&outer, TM_NONBLOCK), 0);
		if (lock(&inner, i % 3 ? TM_INFINITE : TM_NONBLOCK)) {
			CHECK_EQ(first, second);
			first++;
			second++;
			CHECK_EQ(rt_mutex_release(&inner), 0);
		}
		CHECK_EQ(rt_mutex_release(&outer), 0);
		CHECK_EQ(rt_mutex_release(&outer), 0);
		CHECK_EQ(rt_mutex_release(&outer), -EPERM);
	}
}

static void use_mutexes_once(void *unused)
{
	(void)unused;
	use_mutexes();
	CHECK_EQ(rt_mutex_acquire(&inner, TM_NONBLOCK), 0);
	CHECK_EQ(rt_mutex_release(&inner), 0);
}

static void check_mutexes(long dead)
{
	RT_MUTEX_INFO info;
	RT_TASK task;

	(void)dead;
	CHECK_EQ(rt_mutex_inquire(&outer, &info), 0);
	CHECK_EQ(info.owner.handle, 0);
	CHECK_EQ(rt_mutex_inquire(&inner, &info), 0);
	CHECK_EQ(info.owner.handle, 0);
	CHECK_EQ(rt_task_spawn(&task, NULL, 0, 10, T_JOINABLE, use_mutexes_once, NULL), 0);
	CHECK_EQ(rt_task_join(&task), 0);
	CHECK_EQ(rt_mutex_delete(&outer), 0);
	CHECK_EQ(rt_mutex_delete(&inner), 0);
}

RANDOM_TRADES(
	{ .open = make_semaphore, .work = use_semaphore, .close = check_semaphore },
	{ .open = make_mutexes, .work = use_mutexes, .close = check_mutexes },
	{ .work = use_heap, .close = check_heap },
	{ .open = open_stream, .work = use_stream, .close = check_stream })

KIT_CASES(RANDOM_CASES)
