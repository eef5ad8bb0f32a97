/*
 * Random suspensions, resumes, unblocks, priorities and deletions of tasks that are busy with whatever could be left locked
 * or half done, and what all of it looks like afterwards.
 *
 * KIT_REQUESTS: how many requests a case makes (50,000); if set, it says how far it is. Raise KIT_SECONDS with it.
 */
#define KIT_STORM
#include "kit.h"
#include "control-kit.h"
#include <alchemy/mutex.h>
#include <malloc.h>

static long deletions;

static long bump(long *count)
{
	return __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
}

static long value(const long *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

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
static void check_semaphore(void)
{
	long expected = 1 + value(&posted) - value(&taken);
	RT_SEM_INFO info;

	CHECK_EQ(rt_sem_inquire(&shared, &info), 0);
	CHECK_EQ(info.nwaiters, 0);
	CHECK((long)info.count <= expected);
	CHECK((long)info.count >= expected - value(&deletions));
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

static void check_heap(void)
{
	struct mallinfo2 info;
	int i;

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

static void check_stream(void)
{
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

static void check_mutexes(void)
{
	RT_MUTEX_INFO info;
	RT_TASK task;

	CHECK_EQ(rt_mutex_inquire(&outer, &info), 0);
	CHECK_EQ(info.owner.handle, 0);
	CHECK_EQ(rt_mutex_inquire(&inner, &info), 0);
	CHECK_EQ(info.owner.handle, 0);
	CHECK_EQ(rt_task_spawn(&task, NULL, 0, 10, T_JOINABLE, use_mutexes_once, NULL), 0);
	CHECK_EQ(rt_task_join(&task), 0);
	CHECK_EQ(rt_mutex_delete(&outer), 0);
	CHECK_EQ(rt_mutex_delete(&inner), 0);
}

/* ---- Trades: what victims do, over and over ------------------------------------------------------------------- */

static const struct trade {
	void (*open)(void);
	void (*work)(void);  /* once; the victim may be stopped, interrupted or ended anywhere in it */
	void (*close)(void); /* nobody is at work any more: finds nothing lost and nothing locked */
} trades[] = {
	{ make_semaphore, use_semaphore, check_semaphore },
	{ make_mutexes, use_mutexes, check_mutexes },
	{ NULL, use_heap, check_heap },
	{ open_stream, use_stream, check_stream },
};

enum { TRADES = sizeof(trades) / sizeof(trades[0]), VICTIMS = 2 * TRADES };

static struct victim {
	RT_TASK task;
	const struct trade *trade;
	char name[16];
	int suspensions;
	long turns, stopped_at;
} victims[VICTIMS];

static int most_prio; /* what victims may be set to */
static int in_order;  /* one CPU, SCHED_FIFO: who is suspended has stopped when the call returns */

/* Where priorities differ, long enough for the lower ones, which may hold what others need. */
static void pause_briefly(void)
{
	int slept = rt_task_sleep(most_prio > 0 ? 300000 : 5000);

	CHECK(slept == 0 || slept == -EINTR);
}

static void live(void *victim_)
{
	struct victim *victim = (struct victim *)victim_;

	for (;;) {
		bump(&victim->turns);
		victim->trade->work();
		bump(&victim->turns);
		pause_briefly();
	}
}

/* ---- Rulers --------------------------------------------------------------------------------------------------- */

struct ruler {
	RT_TASK task;
	unsigned long seed;
	struct victim *mine; /* nobody else touches them; NULL: they are everybody's */
	int count;
};

static long requests, wanted;

static unsigned long draw(struct ruler *ruler, unsigned long below)
{
	ruler->seed ^= ruler->seed << 13;
	ruler->seed ^= ruler->seed >> 7;
	ruler->seed ^= ruler->seed << 17;
	return (ruler->seed >> 11) % below;
}

static int draw_prio(struct ruler *ruler)
{
	return (int)draw(ruler, (unsigned long)most_prio + 1);
}

static void revive(struct ruler *ruler, struct victim *victim)
{
	int spawned;

	victim->suspensions = 0;
	spawned = rt_task_spawn(&victim->task, victim->name, 0, draw_prio(ruler), T_JOINABLE, live, victim);
	/* Found by its name and deleted between creation and start: then it is the other ruler's to revive. */
	CHECK(spawned == 0 || (spawned == -EINVAL && !ruler->mine));
}

/* Not with stdio: who is stopped in malloc would keep the ruler from resuming it. */
static void say_how_far(long done)
{
	char text[80];
	int length;

	if (!getenv("KIT_REQUESTS") || done % 100000 != 0)
		return;
	length = snprintf(text, sizeof(text), "%s: %ld of %ld requests\n", kit_name, done, wanted);
	CHECK_EQ(write(STDOUT_FILENO, text, (size_t)length), length);
}

static void suspend(struct victim *victim)
{
	CHECK_EQ(rt_task_suspend(&victim->task), 0);
	CHECK(kit_status(&victim->task) & SUSPENDED);
	if (victim->suspensions++ == 0)
		victim->stopped_at = value(&victim->turns);
}

static void resume(struct victim *victim)
{
	CHECK(!in_order || victim->suspensions == 0 || value(&victim->turns) == victim->stopped_at);
	CHECK_EQ(rt_task_resume(&victim->task), 0);
	if (victim->suspensions > 0)
		victim->suspensions--;
	CHECK_EQ(!!(kit_status(&victim->task) & SUSPENDED), victim->suspensions > 0);
}

/* Who is stopped in malloc or printf keeps the victim, and pthread_create, from going on: only the victim itself may
 * be suspended at its deletion, and nobody at a creation. */
static void replace(struct ruler *ruler, struct victim *victim)
{
	int i;

	for (i = 0; i < ruler->count; i++)
		while (&ruler->mine[i] != victim && ruler->mine[i].suspensions > 0)
			resume(&ruler->mine[i]);
	CHECK_EQ(rt_task_delete(&victim->task), 0);
	bump(&deletions);
	CHECK_EQ(rt_task_delete(&victim->task), -EINVAL);
	check_absent(victim->name);
	CHECK_EQ(rt_task_join(&victim->task), 0);
	revive(ruler, victim);
}

static void command(struct ruler *ruler)
{
	struct victim *victim = &ruler->mine[draw(ruler, (unsigned long)ruler->count)];

	switch (draw(ruler, 16)) {
	case 0: case 1: case 2:
		suspend(victim);
		break;
	case 3: case 4: case 5: case 6: case 7:
		resume(victim);
		break;
	case 8: case 9: case 10: case 11:
		CHECK_EQ(rt_task_unblock(&victim->task), 0);
		break;
	case 12: case 13: case 14:
		CHECK_EQ(rt_task_set_priority(&victim->task, draw_prio(ruler)), 0);
		break;
	default:
		replace(ruler, victim);
		break;
	}
}

static int done_or_late(int result)
{
	CHECK(result == 0 || result == -EINVAL);
	return result == 0;
}

/* As `command`, where others do the same to the same victims: any request may come too late. */
static void compete(struct ruler *ruler)
{
	struct victim *victim = &victims[draw(ruler, VICTIMS)];
	int found;
	RT_TASK task;

	found = rt_task_bind(&task, victim->name, TM_NONBLOCK);
	CHECK(found == 0 || found == -EWOULDBLOCK);
	if (found != 0)
		return;
	switch (draw(ruler, 16)) {
	case 0: case 1: case 2: case 3: case 4:
		/* At once, since another ruler may be about to create a task. */
		if (done_or_late(rt_task_suspend(&task)))
			done_or_late(rt_task_resume(&task));
		break;
	case 5: case 6: case 7: case 8: case 9: case 10:
		done_or_late(rt_task_unblock(&task));
		break;
	case 11: case 12: case 13: case 14:
		done_or_late(rt_task_set_priority(&task, draw_prio(ruler)));
		break;
	default:
		if (!done_or_late(rt_task_delete(&task)))
			break;
		bump(&deletions);
		CHECK_EQ(rt_task_join(&task), 0);
		revive(ruler, victim);
		break;
	}
}

static void rule(void *ruler_)
{
	struct ruler *ruler = (struct ruler *)ruler_;
	int i;

	for (i = 0; i < ruler->count; i++)
		revive(ruler, &ruler->mine[i]);
	for (;;) {
		long done = bump(&requests);

		if (done > wanted)
			break;
		if (ruler->mine)
			command(ruler);
		else
			compete(ruler);
		say_how_far(done);
		/* In bursts, between which the victims get on. */
		if (draw(ruler, 8) == 0)
			kit_nap((long long)draw(ruler, 100000));
	}
	for (i = 0; i < ruler->count; i++)
		while (ruler->mine[i].suspensions > 0)
			resume(&ruler->mine[i]);
}

/* ---- A reign, from beginning to end --------------------------------------------------------------------------- */

enum { RULERS = 2, SLOTS = 64 };

/* All slots that were in use, the oldest of the free ones first: each can be locked, named, started and ended. */
static void no_slot_is_locked(void)
{
	static RT_TASK tasks[SLOTS];
	int i;

	for (i = 0; i < SLOTS; i++)
		CHECK_EQ(rt_task_create(&tasks[i], NULL, 0, 0, T_JOINABLE), 0);
	for (i = 0; i < SLOTS; i++) {
		CHECK_EQ(kit_status(&tasks[i]), DORMANT);
		CHECK_EQ(rt_task_suspend(&tasks[i]), 0);
		CHECK_EQ(rt_task_resume(&tasks[i]), 0);
		CHECK_EQ(rt_task_unblock(&tasks[i]), 0);
		finish(&tasks[i]);
	}
}

static void bury(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < VICTIMS; i++) {
		CHECK_EQ(rt_task_bind(&victims[i].task, victims[i].name, TM_NONBLOCK), 0);
		CHECK_EQ(rt_task_delete(&victims[i].task), 0);
		bump(&deletions);
		CHECK_EQ(rt_task_join(&victims[i].task), 0);
		check_absent(victims[i].name);
		check_refused(&victims[i].task);
	}
}

static void reign(int rulers, int share)
{
	static struct ruler ruler[RULERS];
	const char *number = getenv("KIT_REQUESTS");
	int i, threads;

	wanted = number ? atol(number) : 50000;
	for (i = 0; i < TRADES; i++)
		if (trades[i].open)
			trades[i].open();
	as_task(30, nothing, NULL);
	threads = count_threads();
	for (i = 0; i < VICTIMS; i++) {
		victims[i].trade = &trades[i % TRADES];
		snprintf(victims[i].name, sizeof(victims[i].name), "victim-%d", i);
	}
	for (i = 0; i < rulers; i++) {
		ruler[i].seed = 88172645463325252UL + (unsigned long)i;
		if (share)
			continue;
		ruler[i].count = VICTIMS / rulers;
		ruler[i].mine = &victims[i * ruler[i].count];
	}
	for (i = 0; share && i < VICTIMS; i++)
		revive(&ruler[0], &victims[i]);
	for (i = 0; i < rulers; i++)
		kit_spawn(&ruler[i].task, most_prio > 0 ? 30 : 0, rule, &ruler[i]);
	for (i = 0; i < rulers; i++)
		kit_join(&ruler[i].task);
	as_task(30, bury, NULL);
	CHECK(value(&requests) >= wanted);
	CHECK(value(&deletions) > VICTIMS);
	for (i = 0; i < VICTIMS; i++)
		CHECK(value(&victims[i].turns) > 0);

	until(count_threads() <= threads + 1); /* one helper of the library's, for slices or deadlines */
	for (i = 0; i < TRADES; i++)
		trades[i].close();
	no_slot_is_locked();
	check_heap();
}

/* Who rules preempts its victims anywhere; they preempt each other. */
static void one_ruler_on_one_cpu(void)
{
	no_sanitizer();
	most_prio = 3;
	in_order = kit_fifo();
	reign(1, 0);
}

static void two_rulers_on_all_cpus(void)
{
	no_sanitizer();
	kit_unpin();
	reign(2, 0);
}

static void two_rulers_of_the_same_victims(void)
{
	no_sanitizer();
	kit_unpin();
	reign(2, 1);
}

KIT_CASES(
	CASE(one_ruler_on_one_cpu), CASE(two_rulers_on_all_cpus), CASE(two_rulers_of_the_same_victims))
