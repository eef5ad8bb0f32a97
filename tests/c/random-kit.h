/*
 * Random suspensions, resumes, unblocks, priorities and deletions of tasks that are busy with what the including file says
 * (its trades), and what all of it looks like afterwards. Include it after kit.h, with KIT_STORM defined.
 *
 * KIT_REQUESTS: how many requests a case makes (50,000); if set, it says how far it is. Raise KIT_SECONDS with it.
 * KIT_SEED: another sequence of requests; the seed is the first of the marks, which a failure shows.
 */
#ifndef RANDOM_KIT_H
#define RANDOM_KIT_H

#include "control-kit.h"

static long deletions;

KIT_UNUSED static long bump(long *count)
{
	return __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
}

static long value(const long *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

KIT_UNUSED static void add(long *count, long by)
{
	__atomic_add_fetch(count, by, __ATOMIC_RELAXED);
}

/* ---- Chance --------------------------------------------------------------------------------------------------- */

static unsigned long dice;

/* For victims and handlers, who share one sequence: below `below`. */
KIT_UNUSED static unsigned long chance(unsigned long below)
{
	unsigned long drawn = __atomic_fetch_add(&dice, 0x9e3779b97f4a7c15UL, __ATOMIC_RELAXED);

	drawn = (drawn ^ (drawn >> 30)) * 0xbf58476d1ce4e5b9UL;
	return (drawn ^ (drawn >> 27)) % below;
}

/* Mostly short; sometimes until somebody does something about it. */
KIT_UNUSED static RTIME some_time(void)
{
	switch (chance(16)) {
	case 0:
		return TM_INFINITE;
	case 1: case 2: case 3: case 4: case 5: case 6:
		return TM_NONBLOCK;
	default:
		return 1000 + chance(30000);
	}
}

/* A wait that has come to nothing, its object alive. */
KIT_UNUSED static void check_in_vain(long got, RTIME timeout)
{
	if (timeout == TM_NONBLOCK)
		CHECK_EQ(got, -EWOULDBLOCK);
	else if (got != -EINTR || timeout == TM_INFINITE)
		CHECK_EQ(got, timeout == TM_INFINITE ? -EINTR : -ETIMEDOUT);
}

/* At an object that may be gone: whether it was there, and all went well. */
KIT_UNUSED static int found(long got, RTIME timeout)
{
	if (got == -EINVAL || got == -EIDRM)
		return 0;
	if (got < 0)
		check_in_vain(got, timeout);
	return got >= 0;
}

/* Handles of such objects. */
KIT_UNUSED static uintptr_t current(const uintptr_t *handle)
{
	return __atomic_load_n(handle, __ATOMIC_ACQUIRE);
}

KIT_UNUSED static uintptr_t exchange(uintptr_t *handle, uintptr_t fresh)
{
	return __atomic_exchange_n(handle, fresh, __ATOMIC_ACQ_REL);
}

enum { NUMBERS = 1 << 20 };

/* A set of numbers, from which each is taken once; those that are too large do not count. */
struct once {
	unsigned long seen[NUMBERS / (8 * sizeof(long))];
};

KIT_UNUSED static void check_once(struct once *once, long number)
{
	unsigned long bit = 1UL << (number & 63);

	CHECK(number > 0);
	if (number < NUMBERS)
		CHECK(!(__atomic_fetch_or(&once->seen[number / 64], bit, __ATOMIC_RELAXED) & bit));
}

/* ---- Trades: what victims do, over and over ------------------------------------------------------------------- */

enum { VICTIMS = 12, HELD = 3 };

struct victim;

struct trade {
	void (*open)(void);
	void (*work)(void);  /* once; the victim may be stopped, interrupted or ended anywhere in it */
	/* `dead` of its victims have been deleted, and nobody is at work any more: finds nothing lost and nothing locked. */
	void (*close)(long dead);
	/* May be missing, as `open` may: */
	void (*upset)(void); /* what a ruler does to the objects; nobody interrupts it */
	void (*mourn)(struct victim *victim); /* it has been ended in its work */
	void (*rest)(void);  /* no more requests will be made: finds who waits for something that is there */
	void (*feed)(void);  /* gives those who wait without limit something, until all of them have got on */
};

struct victim {
	RT_TASK task;
	const struct trade *trade;
	char name[16];
	int suspensions;
	long turns, stopped_at;
	void *held[HELD]; /* what it has and others may want, for its trade; outlives it */
	size_t sizes[HELD];
	uintptr_t handle;
	long calls, deaths;
};

static struct victim victims[VICTIMS];
static const struct trade *trades;
static int trade_count;

/* Sets both. */
static void take_up_trades(void);

/* In a victim: itself. */
static __thread struct victim *me;

static int most_prio; /* what victims may be set to */
static int in_order;  /* one CPU, SCHED_FIFO: who is suspended has stopped when the call returns */

/* Where priorities differ, long enough for the lower ones, which may hold what others need; in lockstep they take longer. */
static void pause_briefly(void)
{
	int slept = rt_task_sleep(kit_lockstep() ? 20 * MS : most_prio == 0 ? 5000 : kit_fifo() ? 300000 : MS);

	CHECK(slept == 0 || slept == -EINTR);
}

static void live(void *victim_)
{
	struct victim *victim = (struct victim *)victim_;

	me = victim;
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

static void mourn(struct victim *victim)
{
	bump(&deletions);
	bump(&victim->deaths);
	if (victim->trade->mourn)
		victim->trade->mourn(victim);
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
	CHECK_EQ(rt_task_delete(&victim->task), -EINVAL);
	check_absent(victim->name);
	CHECK_EQ(rt_task_join(&victim->task), 0);
	mourn(victim);
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
		CHECK_EQ(rt_task_join(&task), 0);
		mourn(victim);
		revive(ruler, victim);
		break;
	}
}

static void upset(const struct trade *trade)
{
	if (trade->upset)
		trade->upset();
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
		if (draw(ruler, 16) == 0)
			upset(&trades[draw(ruler, (unsigned long)trade_count)]);
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
		CHECK_EQ(rt_task_join(&victims[i].task), 0);
		mourn(&victims[i]);
		check_absent(victims[i].name);
		check_refused(&victims[i].task);
	}
}

static long deaths(const struct trade *trade)
{
	long sum = 0;
	int i;

	for (i = 0; i < VICTIMS; i++)
		if (victims[i].trade == trade)
			sum += victims[i].deaths;
	return sum;
}

/* Each gets on without being interrupted. */
static void check_nobody_is_stuck(const struct trade *trade)
{
	long turns[VICTIMS];
	int i, stuck;

	for (i = 0; i < VICTIMS; i++)
		turns[i] = value(&victims[i].turns);
	do {
		trade->feed();
		kit_nap(1000000);
		stuck = 0;
		for (i = 0; i < VICTIMS; i++)
			stuck += victims[i].trade == trade && value(&victims[i].turns) < turns[i] + 4;
	} while (stuck > 0);
}

/* What a failure is to show. */
static unsigned long choose_seed(void)
{
	const char *number = getenv("KIT_SEED");
	unsigned long seed = number ? strtoul(number, NULL, 0) : 88172645463325252UL;
	char text[KIT_MARK_LEN];

	CHECK(seed != 0);
	snprintf(text, sizeof(text), "seed=0x%lx", seed);
	mark(text);
	return seed;
}

static void reign(int rulers, int share)
{
	static struct ruler ruler[RULERS];
	const char *number = getenv("KIT_REQUESTS");
	unsigned long seed;
	int i, threads;

	if (wanted == 0)
		wanted = number ? atol(number) : 50000;
	take_up_trades();
	seed = dice = choose_seed();
	for (i = 0; i < trade_count; i++)
		if (trades[i].open)
			trades[i].open();
	as_task(30, nothing, NULL);
	threads = count_threads();
	for (i = 0; i < VICTIMS; i++) {
		victims[i].trade = &trades[i % trade_count];
		snprintf(victims[i].name, sizeof(victims[i].name), "victim-%d", i);
	}
	for (i = 0; i < rulers; i++) {
		ruler[i].seed = seed + (unsigned long)i;
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
	for (i = 0; i < trade_count; i++)
		if (trades[i].feed)
			check_nobody_is_stuck(&trades[i]);
	for (i = 0; i < trade_count; i++)
		if (trades[i].rest)
			trades[i].rest();
	as_task(30, bury, NULL);
	CHECK(value(&requests) >= wanted);
	CHECK(value(&deletions) > VICTIMS);
	for (i = 0; i < VICTIMS; i++)
		CHECK(value(&victims[i].turns) > 0);

	until(count_threads() <= threads + 1); /* one helper of the library's, for slices or deadlines */
	no_slot_is_locked();
	for (i = 0; i < trade_count; i++)
		trades[i].close(deaths(&trades[i]));
}

/* Who rules preempts its victims anywhere; they preempt each other. */
static void one_ruler_on_one_cpu(void)
{
	no_sanitizer();
	most_prio = 3;
	in_order = kit_fifo();
	reign(1, 0);
}

/* As one of the cases that run in lockstep, where each step takes long. Not for trades in which a victim may be stopped while it
 * has a lock of the C library: whoever wants that keeps the pretended processor. */
KIT_UNUSED static void a_short_reign(void)
{
	no_sanitizer();
	most_prio = 3;
	in_order = 1;
	wanted = 1500;
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

/* The table of trades, whose number divides that of the victims. */
#define RANDOM_TRADES(...) \
	static const struct trade own_trades[] = { __VA_ARGS__ }; \
	static void take_up_trades(void) \
	{ \
		trades = own_trades; \
		trade_count = sizeof(own_trades) / sizeof(own_trades[0]); \
	}

#define RANDOM_CASES \
	CASE(one_ruler_on_one_cpu), CASE(two_rulers_on_all_cpus), CASE(two_rulers_of_the_same_victims)

#endif /* RANDOM_KIT_H */
