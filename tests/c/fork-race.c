/* fork while other threads make, delete, grow and set up. The moments are met by chance: each case tries many, for a bounded
 * time. */
#include "kit.h"
#include "tasks.h"
#include "child.h"

#define US 1000LL
#define MS 1000000LL
#define TRYING (1500 * MS)

static RT_SEM sem;
static int stop;

static int stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

static void stop_thread(pthread_t thread)
{
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* ---- Processes that have not used the library yet ---------------------------------------------------------------- */

/* Runs `body(&round)` in new processes, one after the other. */
static void in_fresh_processes(void (*body)(void *))
{
	long long end = kit_now() + TRYING;
	int round;

	no_thread_sanitizer();
	kit_unpin();
	for (round = 0; kit_now() < end; round++)
		CHECK_EQ(in_child(body, &round), 0);
}

static void *grow(void *arg)
{
	RT_SEM made;

	while (!stopped() && rt_sem_create(&made, NULL, 0, S_FIFO) == 0)
		;
	return arg;
}

static void use_all_slots(void *arg)
{
	RT_SEM made;
	int i, error = 0;

	(void)arg;
	for (i = 0; i < 8192 && error == 0; i++)
		error = rt_sem_create(&made, NULL, 0, S_FIFO);
	CHECK(error == 0 || error == -ENOMEM);
}

static void fork_a_growing_process(void *arg)
{
	pthread_t thread;
	int i;

	(void)arg;
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	thread = start_thread(grow, NULL);
	for (i = 0; i < 3; i++)
		CHECK_EQ(in_child(use_all_slots, NULL), 0);
	stop_thread(thread);
}

/* The child may use every slot it counts, those included that were opened after its copy was made. */
static void fork_amid_growth(void)
{
	in_fresh_processes(fork_a_growing_process);
}

static int about_to_call;

static void *call_first(void *arg)
{
	__atomic_store_n(&about_to_call, 1, __ATOMIC_RELEASE);
	CHECK_EQ(rt_sem_create(&sem, "first", 0, S_PRIO), 0);
	return arg;
}

static void make_one(void *arg)
{
	RT_SEM made;

	(void)arg;
	alarm(2); /* sooner than the watchdog */
	CHECK_EQ(rt_sem_create(&made, "own", 0, S_PRIO), 0);
	CHECK_EQ(rt_sem_p(&made, 1000), -ETIMEDOUT);
}

static void fork_amid_the_first_call(void *round)
{
	pthread_t thread = start_thread(call_first, NULL);
	long long then;

	while (!__atomic_load_n(&about_to_call, __ATOMIC_ACQUIRE))
		sched_yield();
	then = kit_now() + *(int *)round % 100 * 10 * US;
	while (kit_now() < then)
		;
	CHECK_EQ(in_child(make_one, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* No child finds the library half set up by a thread that it does not have. */
static void fork_amid_set_up(void)
{
	in_fresh_processes(fork_amid_the_first_call);
}

/* ---- The copy is older than the child ---------------------------------------------------------------------------- */

/* More semaphores, or as many as fit, than are copied in an instant. */
static void make_many(int most, RT_SEM *first, RT_SEM *last)
{
	RT_SEM made;
	int error = 0;

	CHECK_EQ(rt_sem_create(first, NULL, 0, S_PRIO), 0);
	for (; most > 0 && error == 0; most--) {
		error = rt_sem_create(&made, NULL, 0, S_PRIO);
		if (error == 0)
			*last = made;
	}
	CHECK(error == 0 || error == -ENOMEM);
}

static void fork_repeatedly(void *(*meanwhile)(void *), void (*child)(void *))
{
	long long end = kit_now() + TRYING;
	pthread_t thread;

	no_thread_sanitizer();
	kit_unpin();
	thread = start_thread(meanwhile, NULL);
	while (kit_now() < end)
		CHECK_EQ(in_child(child, NULL), 0);
	stop_thread(thread);
}

static uintptr_t latest;

static void *make_and_delete(void *arg)
{
	while (!stopped()) {
		RT_SEM made;

		CHECK_EQ(rt_sem_create(&made, NULL, 5, S_FIFO), 0);
		__atomic_store_n(&latest, made.handle, __ATOMIC_RELEASE);
		kit_nap(500 * US);
		CHECK_EQ(rt_sem_delete(&made), 0);
		kit_nap(500 * US);
	}
	return arg;
}

static void once_stale_always_stale(void *arg)
{
	RT_SEM old, made;
	int i;

	(void)arg;
	old.handle = __atomic_load_n(&latest, __ATOMIC_ACQUIRE);
	if (rt_sem_inquire(&old, NULL) != -EINVAL || rt_sem_v(&old) != -EINVAL)
		return;
	for (i = 0; i < 40; i++) {
		CHECK_EQ(rt_sem_create(&made, NULL, 77, S_FIFO), 0);
		CHECK(made.handle != old.handle);
	}
	CHECK_EQ(rt_sem_v(&old), -EINVAL);
}

/* What was made between the copy and the fork is unknown to the child; its handle is not given out again. */
static void stale_handles_do_not_come_to_life(void)
{
	RT_SEM first, last;

	make_many(2000, &first, &last);
	fork_repeatedly(make_and_delete, once_stale_always_stale);
}

static void *make_again_and_again(void *arg)
{
	while (!stopped()) {
		RT_SEM made;

		CHECK_EQ(rt_sem_create(&made, "same", 5, S_FIFO), 0);
		kit_nap(50 * US);
		CHECK_EQ(rt_sem_delete(&made), 0);
	}
	return arg;
}

static void has_at_most_one(void *arg)
{
	RT_SEM bound;

	(void)arg;
	if (rt_sem_bind(&bound, "same", TM_NONBLOCK) == 0)
		CHECK_EQ(rt_sem_delete(&bound), 0);
	CHECK_EQ(rt_sem_bind(&bound, "same", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_create(&bound, "same", 0, S_FIFO), 0);
}

/* While the copy is made, one is deleted after its turn and another made before its own. */
static void names_are_unique_in_the_child(void)
{
	RT_SEM first, last;

	make_many(20000, &first, &last);
	/* The next ones get the slots at either end, in turn. */
	CHECK_EQ(rt_sem_delete(&last), 0);
	CHECK_EQ(rt_sem_delete(&first), 0);
	fork_repeatedly(make_again_and_again, has_at_most_one);
}

KIT_CASES(
	CASE(fork_amid_growth), CASE(fork_amid_set_up), CASE(stale_handles_do_not_come_to_life),
	CASE(names_are_unique_in_the_child))
