/* Mutexes under contention, on all CPUs: one owner at a time, whatever is unblocked, suspended, deleted or late. */
#define KIT_STORM
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"

/* Threads of priority 0 throughout, but for the case about priorities: they share the CPUs fairly. */

enum { USERS = 8 };

static RT_MUTEX mutex;
static RT_TASK users[USERS];
static volatile long counter; /* changed by the owner only, in two steps */
static long successes, interrupted, late;
static int users_left, stop, rounds;

static void count_one(void)
{
	long seen = counter;

	if (seen % 64 == 0)
		sched_yield();
	counter = seen + 1;
}

static unsigned next_random(unsigned *state)
{
	*state = *state * 1103515245U + 12345U;
	return *state >> 16;
}

/* Acquires in all forms; what the form cannot give fails the case. */
static void use_it(void *seed)
{
	unsigned state = (unsigned)(uintptr_t)seed;
	int i, result;

	for (i = 0; i < rounds; i++) {
		unsigned form = next_random(&state) % 8;

		if (form == 0) {
			result = rt_mutex_acquire(&mutex, TM_NONBLOCK);
			CHECK(result == 0 || result == -EWOULDBLOCK);
		} else if (form == 1) {
			result = rt_mutex_acquire(&mutex, next_random(&state) % 50000 + 1);
			CHECK(result == 0 || result == -ETIMEDOUT || result == -EINTR);
		} else if (form == 2) {
			result = rt_mutex_acquire_until(&mutex, rt_timer_read() + next_random(&state) % 200);
			CHECK(result == 0 || result == -ETIMEDOUT || result == -EINTR);
		} else {
			result = rt_mutex_acquire(&mutex, TM_INFINITE);
			CHECK(result == 0 || result == -EINTR);
		}
		__atomic_fetch_add(&interrupted, result == -EINTR, __ATOMIC_RELAXED);
		__atomic_fetch_add(&late, result == -ETIMEDOUT, __ATOMIC_RELAXED);
		if (result != 0) {
			CHECK(i % 64 != 0 || rt_mutex_release(&mutex) == -EPERM);
			continue;
		}
		if (form == 7)
			CHECK_EQ(rt_mutex_acquire(&mutex, TM_NONBLOCK), 0);
		count_one();
		__atomic_fetch_add(&successes, 1, __ATOMIC_RELAXED);
		if (form == 7)
			CHECK_EQ(rt_mutex_release(&mutex), 0);
		CHECK_EQ(rt_mutex_release(&mutex), 0);
	}
	/* Joinable tasks: the descriptor is refused once they have ended, which is what the disturbers expect. */
	__atomic_fetch_sub(&users_left, 1, __ATOMIC_RELEASE);
}

static void start_users(int count, int each)
{
	int i;

	kit_unpin();
	MAKE_MUTEX(&mutex);
	rounds = each;
	users_left = count;
	for (i = 0; i < count; i++)
		kit_spawn(&users[i], 0, use_it, (void *)(uintptr_t)(i + 1));
}

static void end_users(int count)
{
	int i;

	for (i = 0; i < count; i++)
		kit_join(&users[i]);
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(counter, successes);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

static int users_run(void)
{
	return __atomic_load_n(&users_left, __ATOMIC_ACQUIRE) > 0;
}

/* A service on a task that runs, or has just ended. */
static void check_task_service(int result)
{
	CHECK(result == 0 || result == -EINVAL);
}

/* mutex.md 10.30 */
static void counter_equals_the_successful_acquires(void)
{
	unsigned state = 99;

	start_users(USERS, 20000);
	while (users_run()) {
		check_task_service(rt_task_unblock(&users[next_random(&state) % USERS]));
		kit_nap(next_random(&state) % 16 * 1000);
	}
	end_users(USERS);
	CHECK(successes > 0);
	/* Not a test of nothing. */
	CHECK(late > 0);
#ifndef __SANITIZE_THREAD__
	CHECK(interrupted > 0);
#endif
}

static void counter_survives_suspensions(void)
{
	unsigned state = 7;
	RT_TASK *victim;

	needs_interruptible_waits();
	start_users(4, 5000);
	while (users_run()) {
		victim = &users[next_random(&state) % 4];
		check_task_service(rt_task_suspend(victim));
		kit_nap(next_random(&state) % 32 * 1000);
		check_task_service(rt_task_resume(victim));
		kit_nap(next_random(&state) % 32 * 1000);
	}
	end_users(4);
}

static void counter_survives_changes_of_priority(void)
{
	unsigned state = 3;
	int prio;

	start_users(4, 5000);
	while (users_run()) {
		prio = (int)(next_random(&state) % 4);
		check_task_service(rt_task_set_priority(&users[next_random(&state) % 4], prio));
		kit_nap(next_random(&state) % 16 * 1000);
	}
	end_users(4);
}

static void on_signal(int signal)
{
	(void)signal;
}

static void counter_survives_signals_and_unblocks(void)
{
	struct sigaction action;
	unsigned state = 5;
	int i;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	action.sa_flags = SA_RESTART;
	CHECK_EQ(sigaction(SIGUSR2, &action, NULL), 0);
	start_users(4, 10000);
	while (users_run()) {
		i = (int)(next_random(&state) % 4);
		/* Joinable and not joined yet: the thread is there to take a signal, or has just ended. */
		pthread_kill(users[i].thread, next_random(&state) % 2 ? SIGUSR1 : SIGUSR2);
		check_task_service(rt_task_unblock(&users[i]));
		kit_nap(next_random(&state) % 16 * 1000);
	}
	end_users(4);
}

/* --- Deaths ------------------------------------------------------------------------------------------------------- */

enum { DEATHS = 1000 };

static long inherited;
static int inside; /* somebody is between acquire and release, or died there */

static void note(int result)
{
	CHECK(result == 0 || result == -EOWNERDEAD);
	__atomic_fetch_add(&inherited, result == -EOWNERDEAD, __ATOMIC_RELAXED);
}

static void acquire_and_end(void *arg)
{
	(void)arg;
	note(rt_mutex_acquire(&mutex, TM_INFINITE));
}

static void use_until_stopped(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		note(rt_mutex_acquire(&mutex, TM_INFINITE));
		CHECK_EQ(rt_mutex_release(&mutex), 0);
	}
}

static void each_death_is_told_once(void)
{
	struct puppet last;
	int i;

	kit_unpin();
	MAKE_MUTEX(&mutex);
	for (i = 0; i < 2; i++)
		kit_spawn(&users[i], 0, use_until_stopped, NULL);
	for (i = 0; i < DEATHS; i++)
		as_task(0, acquire_and_end, NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 2; i++)
		kit_join(&users[i]);
	start(&last, 0, NULL);
	note(poll_for(&last, &mutex));
	CHECK_EQ(inherited, DEATHS);
	CHECK_EQ(release(&last, &mutex), 0);
	use_once(&last, &mutex, 0);
	dismiss(&last);
}

/* Whoever gets the mutex with 0 finds nobody inside; who is told of a death may. */
static void enter_until_stopped(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		int result = rt_mutex_acquire(&mutex, TM_INFINITE);

		CHECK(result == 0 || result == -EOWNERDEAD);
		CHECK(result != 0 || !__atomic_load_n(&inside, __ATOMIC_RELAXED));
		__atomic_store_n(&inside, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&inside, 0, __ATOMIC_RELAXED);
		CHECK_EQ(rt_mutex_release(&mutex), 0);
	}
}

/* Deleted while it waits, owns, comes or goes. */
static void users_are_deleted_at_random(void)
{
	unsigned state = 11;
	RT_TASK victim;
	int i;

	needs_interruptible_waits();
	kit_unpin();
	MAKE_MUTEX(&mutex);
	for (i = 0; i < 2; i++)
		kit_spawn(&users[i], 0, enter_until_stopped, NULL);
	for (i = 0; i < 300; i++) {
		kit_spawn(&victim, 0, enter_until_stopped, NULL);
		kit_nap(next_random(&state) % 64 * 5000);
		CHECK_EQ(rt_task_delete(&victim), 0);
		kit_join(&victim);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 2; i++)
		kit_join(&users[i]);
}

/* --- Create and delete under load --------------------------------------------------------------------------------- */

enum { HAMMERS = 3 };

static uintptr_t current;

/* Uses whatever mutex was last announced, dead or not. What it owns nobody deletes: the release must succeed. */
static void hammer(void *seed)
{
	unsigned state = (unsigned)(uintptr_t)seed;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		RT_MUTEX mine = { __atomic_load_n(&current, __ATOMIC_ACQUIRE) };
		RT_MUTEX_INFO info;
		int result;

		switch (next_random(&state) % 4) {
		case 0:
			result = rt_mutex_acquire(&mine, TM_NONBLOCK);
			CHECK(result == 0 || result == -EWOULDBLOCK || result == -EINVAL);
			break;
		case 1:
			result = rt_mutex_acquire(&mine, 20000);
			CHECK(result == 0 || result == -ETIMEDOUT || result == -EINVAL);
			break;
		case 2:
			result = rt_mutex_acquire(&mine, TM_INFINITE);
			CHECK(result == 0 || result == -EINVAL);
			break;
		default:
			result = rt_mutex_inquire(&mine, &info);
			CHECK(result == 0 || result == -EINVAL);
			if (result == 0)
				CHECK_STR(info.name, "target");
			CHECK_EQ(rt_mutex_release(&mine) == 0, 0); /* it never is the owner here */
			continue;
		}
		if (result != 0)
			continue;
		CHECK_EQ(rt_mutex_delete(&mine), -EBUSY);
		CHECK_OWNER(&mine, rt_task_self());
		CHECK_EQ(rt_mutex_release(&mine), 0);
		/* Lest they hand it round for ever, and it is never unused. */
		if (next_random(&state) % 4 == 0)
			kit_nap(200000);
	}
}

static void only_unused_mutexes_are_deleted(void)
{
	RT_TASK hammers[HAMMERS];
	long busy = 0;
	int i, result;

	kit_unpin();
	for (i = 0; i < HAMMERS; i++)
		kit_spawn(&hammers[i], 0, hammer, (void *)(uintptr_t)(i + 1));
	for (i = 0; i < 2000; i++) {
		CHECK_EQ(rt_mutex_create(&mutex, "target"), 0);
		__atomic_store_n(&current, mutex.handle, __ATOMIC_RELEASE);
		kit_nap(i % 8 * 10000);
		while ((result = rt_mutex_delete(&mutex)) == -EBUSY) {
			busy++;
			sched_yield();
		}
		CHECK_EQ(result, 0);
		CHECK_EQ(rt_mutex_delete(&mutex), -EINVAL);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < HAMMERS; i++)
		kit_join(&hammers[i]);
	CHECK(busy > 0); /* else there was no load */
}

KIT_CASES(
	CASE(counter_equals_the_successful_acquires), CASE(counter_survives_suspensions),
	CASE(counter_survives_changes_of_priority), CASE(counter_survives_signals_and_unblocks),
	CASE(each_death_is_told_once), CASE(users_are_deleted_at_random), CASE(only_unused_mutexes_are_deleted))
