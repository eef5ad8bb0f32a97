/* Condition variables under contention, on all CPUs: no signal is lost, whatever is late, unblocked, deleted. */
#define KIT_STORM
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include "cond-kit.h"
#include "child.h"

/* Threads of priority 0, but for the case about priorities: they share the CPUs fairly whatever their number. */

#ifdef __SANITIZE_THREAD__
enum { SCALE = 10 };
#else
enum { SCALE = 1 };
#endif

static int stop;

static int stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

static unsigned next_random(unsigned *state)
{
	*state = *state * 1103515245U + 12345U;
	return *state >> 16;
}

/* --- Producers and consumers -------------------------------------------------------------------------------------- */

enum { PRODUCERS = 2, PATIENT = 2, HASTY = 3, ITEMS = 12000 / SCALE, ROOM = 1 };

static RT_COND space;
static volatile int items; /* changed by the owner of the mutex only, in two steps */
static long taken, late, interrupted, signalled;
static int producers_left;

static void add_to_items(int change)
{
	int seen = items;

	if (next_random(&(unsigned){ (unsigned)taken }) % 16 == 0)
		sched_yield();
	items = seen + change;
	CHECK(items >= 0 && items <= ROOM);
}

static void lock(void)
{
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
}

/* For tasks that are unblocked at random. */
static void lock_at_last(void)
{
	int result;

	while ((result = rt_mutex_acquire(&mutex, TM_INFINITE)) == -EINTR)
		;
	CHECK_EQ(result, 0);
}

static void unlock(void)
{
	CHECK_EQ(rt_mutex_release(&mutex), 0);
}

static void produce(void *seed)
{
	unsigned state = (unsigned)(uintptr_t)seed;
	int i;

	for (i = 0; i < ITEMS; i++) {
		int owning = next_random(&state) % 2;

		lock();
		while (items == ROOM)
			CHECK_EQ(rt_cond_wait(&space, &mutex, TM_INFINITE), 0);
		add_to_items(1);
		if (owning)
			CHECK_EQ(rt_cond_signal(&cond), 0);
		unlock();
		if (!owning)
			CHECK_EQ(rt_cond_signal(&cond), 0);
	}
	__atomic_fetch_sub(&producers_left, 1, __ATOMIC_RELEASE);
}

static void take_one(void)
{
	add_to_items(-1);
	taken++;
	CHECK_EQ(rt_cond_signal(&space), 0);
}

/* Waits without limit while there is nothing: asleep with an item to be had it is for good, and the producers as well. */
static void consume_patiently(void *arg)
{
	(void)arg;
	for (;;) {
		lock();
		while (items == 0 && !stopped())
			CHECK_EQ(rt_cond_wait(&cond, &mutex, TM_INFINITE), 0);
		if (items == 0)
			break;
		take_one();
		unlock();
	}
	unlock();
}

/* Takes an item only if it was signalled. If it was not, though the signal was spent on it, the item is left over. */
static void consume_hastily(void *seed)
{
	unsigned state = (unsigned)(uintptr_t)seed;

	while (!stopped()) {
		int result, depth = (int)(next_random(&state) % 3) + 1, i;

		for (i = 0; i < depth; i++)
			lock_at_last();
		result = rt_cond_wait(&cond, &mutex, next_random(&state) % 60000 + 1);
		CHECK(result == 0 || result == -ETIMEDOUT || result == -EINTR);
		signalled += result == 0;
		late += result == -ETIMEDOUT;
		interrupted += result == -EINTR;
		if (result == 0 && items > 0)
			take_one();
		for (i = 0; i < depth; i++)
			unlock();
	}
}

static void stop_consumers(void *arg)
{
	(void)arg;
	lock();
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	CHECK_EQ(rt_cond_broadcast(&cond), 0);
	unlock();
}

/* cond.md 9.26. There is room for one item: a single signal lost, and nobody goes on. */
static void no_signal_is_lost_amid_timeouts_and_unblocks(void)
{
	RT_TASK producers[PRODUCERS], patient[PATIENT], hasty[HASTY];
	unsigned state = 23;
	int i;

	kit_unpin();
	make_cond_and_mutex();
	MAKE_COND(&space);
	producers_left = PRODUCERS;
	for (i = 0; i < PATIENT; i++)
		kit_spawn(&patient[i], 0, consume_patiently, NULL);
	for (i = 0; i < HASTY; i++)
		kit_spawn(&hasty[i], 0, consume_hastily, (void *)(uintptr_t)(i + 1));
	for (i = 0; i < PRODUCERS; i++)
		kit_spawn(&producers[i], 0, produce, (void *)(uintptr_t)(i + 1));
	while (__atomic_load_n(&producers_left, __ATOMIC_ACQUIRE) > 0) {
		CHECK_EQ(rt_task_unblock(&hasty[next_random(&state) % HASTY]), 0);
		kit_nap(next_random(&state) % 16 * 2000);
	}
	for (i = 0; i < PRODUCERS; i++)
		kit_join(&producers[i]);
	as_task(0, stop_consumers, NULL);
	for (i = 0; i < HASTY; i++)
		kit_join(&hasty[i]);
	for (i = 0; i < PATIENT; i++)
		kit_join(&patient[i]);
	CHECK_EQ(items, 0);
	CHECK_EQ(taken, (long)PRODUCERS * ITEMS);
	/* Not a test of nothing. */
	CHECK(late > 0 && signalled > 0);
#ifndef __SANITIZE_THREAD__
	CHECK(interrupted > 0);
#endif
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_cond_delete(&space), 0);
	delete_cond_and_mutex();
}

/* --- Broadcast ---------------------------------------------------------------------------------------------------- */

enum { MEMBERS = 4, ROUNDS = 4000 / SCALE };

static volatile int arrived, generation;

/* The last of a round lets the others go. */
static void meet(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		lock();
		CHECK_EQ(generation, i);
		if (++arrived == MEMBERS) {
			arrived = 0;
			generation++;
			CHECK_EQ(rt_cond_broadcast(&cond), 0);
		} else {
			while (generation == i)
				CHECK_EQ(rt_cond_wait(&cond, &mutex, i % 2 ? HOUR : (long long)TM_INFINITE), 0);
		}
		CHECK_EQ(generation, i + 1);
		unlock();
	}
}

static void broadcast_forgets_nobody(void)
{
	RT_TASK members[MEMBERS];
	int i;

	kit_unpin();
	make_cond_and_mutex();
	for (i = 0; i < MEMBERS; i++)
		kit_spawn(&members[i], 0, meet, NULL);
	for (i = 0; i < MEMBERS; i++)
		kit_join(&members[i]);
	CHECK_EQ(generation, ROUNDS);
	delete_cond_and_mutex();
}

/* --- Deletion, of tasks and of variables -------------------------------------------------------------------------- */

/* Whoever was ended in the midst leaves an orphan. */
static void own_or_inherit(int result)
{
	CHECK(result == 0 || result == -EOWNERDEAD);
}

static void wait_for_ever(void *seed)
{
	unsigned state = (unsigned)(uintptr_t)seed;

	while (!stopped()) {
		int result;

		own_or_inherit(rt_mutex_acquire(&mutex, TM_INFINITE));
		result = rt_cond_wait(&cond, &mutex, next_random(&state) % 300000 + 1);
		CHECK(result == 0 || result == -ETIMEDOUT || result == -EOWNERDEAD);
		CHECK_OWNER(&mutex, rt_task_self());
		CHECK_EQ(rt_mutex_release(&mutex), 0);
	}
}

static void signal_all_the_time(void *arg)
{
	unsigned state = 3;

	(void)arg;
	while (!stopped()) {
		CHECK_EQ(next_random(&state) % 4 ? rt_cond_signal(&cond) : rt_cond_broadcast(&cond), 0);
		if (next_random(&state) % 4 == 0)
			kit_nap(20000);
	}
}

/* Deleted while they wait, have been signalled, wait for the mutex, own it, come or go. */
static void waiters_are_deleted_at_random(void)
{
	RT_TASK signaller, steady, victim;
	struct puppet heir;
	unsigned state = 11;
	int i;

	needs_interruptible_waits();
	kit_unpin();
	make_cond_and_mutex();
	kit_spawn(&signaller, 0, signal_all_the_time, NULL);
	kit_spawn(&steady, 0, wait_for_ever, (void *)1);
	for (i = 0; i < 300; i++) {
		kit_spawn(&victim, 0, wait_for_ever, (void *)(uintptr_t)(i + 2));
		kit_nap(next_random(&state) % 64 * 5000);
		if (i % 4 == 0)
			CHECK_EQ(rt_task_suspend(&victim), 0);
		CHECK_EQ(rt_task_delete(&victim), 0);
		kit_join(&victim);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	kit_join(&signaller);
	kit_join(&steady);
	start(&heir, 0, NULL);
	own_or_inherit(acquire(&heir, &mutex, TM_INFINITE));
	CHECK_EQ(release(&heir, &mutex), 0);
	use_once(&heir, &mutex, 0);
	dismiss(&heir);
	delete_cond_and_mutex();
}

static uintptr_t current;

/* Uses whatever variable was last announced, dead or not, with a mutex that lives. */
static void hammer(void *seed)
{
	unsigned i;

	for (i = (unsigned)(uintptr_t)seed; !stopped(); i++) {
		RT_COND mine = { __atomic_load_n(&current, __ATOMIC_ACQUIRE) };
		RT_COND_INFO info;
		int result;

		switch (i % 4) {
		case 0:
			result = rt_cond_signal(&mine);
			CHECK(result == 0 || result == -EINVAL);
			break;
		case 1:
			lock();
			result = rt_cond_wait(&mine, &mutex, 20000);
			CHECK(result == 0 || result == -ETIMEDOUT || result == -EINVAL);
			unlock();
			break;
		case 2:
			result = rt_cond_broadcast(&mine);
			CHECK(result == 0 || result == -EINVAL);
			break;
		default:
			result = rt_cond_inquire(&mine, &info);
			CHECK(result == 0 || result == -EINVAL);
			if (result == 0)
				CHECK_STR(info.name, "target");
			break;
		}
	}
}

static void only_variables_nobody_waits_for_are_deleted(void)
{
	RT_TASK hammers[3];
	RT_COND target;
	long busy = 0;
	int i, result;

	kit_unpin();
	MAKE_MUTEX(&mutex);
	for (i = 0; i < 3; i++)
		kit_spawn(&hammers[i], 0, hammer, (void *)(uintptr_t)i);
	for (i = 0; i < 2000 / SCALE; i++) {
		CHECK_EQ(rt_cond_create(&target, "target"), 0);
		__atomic_store_n(&current, target.handle, __ATOMIC_RELEASE);
		kit_nap(i % 8 * 10000);
		while ((result = rt_cond_delete(&target)) == -EBUSY) {
			busy++;
			sched_yield();
		}
		CHECK_EQ(result, 0);
		CHECK_EQ(rt_cond_delete(&target), -EINVAL);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 3; i++)
		kit_join(&hammers[i]);
	CHECK(busy > 0); /* else there was no load */
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

/* --- Three priorities --------------------------------------------------------------------------------------------- */

enum { TRIES = 200 };

static RT_SEM wake_high;
static int high_has_run;
static long low_turns;

/* Each has a mutex of its own: what they share is the variable's lock. */
static void queue_and_leave(RT_MUTEX *own, RTIME timeout)
{
	CHECK_EQ(rt_mutex_acquire(own, TM_INFINITE), 0);
	CHECK_EQ(rt_cond_wait(&cond, own, timeout), -ETIMEDOUT);
	CHECK_EQ(rt_mutex_release(own), 0);
}

static void use_the_variable(void *arg)
{
	long long start_time = kit_now();
	RT_MUTEX own;

	(void)arg;
	MAKE_MUTEX(&own);
	while (!stopped()) {
		queue_and_leave(&own, 1);
		low_turns++;
		if (kit_now() - start_time > 10000 * MS)
			kit_fail(__FILE__, __LINE__, "nobody stops this task");
	}
}

static void use_the_variable_when_woken(void *arg)
{
	RT_MUTEX own;
	int i;

	(void)arg;
	MAKE_MUTEX(&own);
	for (i = 1; i <= TRIES; i++) {
		CHECK_EQ(rt_sem_p(&wake_high, TM_INFINITE), 0);
		queue_and_leave(&own, 1);
		__atomic_store_n(&high_has_run, i, __ATOMIC_RELEASE);
	}
}

/* Interrupts the low task anywhere, wakes the high one, and keeps the CPU until that has used the variable. */
static void interrupt_and_compute(void *arg)
{
	unsigned state = 17;
	int i;

	(void)arg;
	for (i = 1; i <= TRIES; i++) {
		long long start_time;

		CHECK_EQ(rt_task_sleep(100000 + next_random(&state) % 100000), 0);
		CHECK_EQ(rt_sem_v(&wake_high), 0);
		start_time = kit_now();
		while (__atomic_load_n(&high_has_run, __ATOMIC_ACQUIRE) != i)
			if (kit_now() - start_time > 3000 * MS)
				kit_fail(__FILE__, __LINE__, "the low task holds up the high one, and runs not itself");
	}
	/* Here: on this one CPU the low task leaves no time to threads without a priority. */
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
}

static void holder_of_the_lock_inherits_priority(void)
{
	RT_TASK low, medium, high;

	MAKE_COND(&cond);
	CHECK_EQ(rt_sem_create(&wake_high, NULL, 0, S_FIFO), 0);
	kit_spawn(&high, 30, use_the_variable_when_woken, NULL);
	kit_spawn(&medium, 20, interrupt_and_compute, NULL);
	kit_spawn(&low, 10, use_the_variable, NULL);
	kit_join(&medium);
	kit_join(&high);
	kit_join(&low);
	CHECK(low_turns > 0);
	CHECK_EQ(rt_cond_delete(&cond), 0);
}

KIT_CASES(
	CASE(no_signal_is_lost_amid_timeouts_and_unblocks), CASE(broadcast_forgets_nobody),
	CASE(waiters_are_deleted_at_random), CASE(only_variables_nobody_waits_for_are_deleted),
	CASE_KERNEL(holder_of_the_lock_inherits_priority))
