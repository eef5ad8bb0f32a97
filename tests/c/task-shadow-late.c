/* rt_task_shadow in a thread that is ending: whichever round of destructors it is called in, the task ends with the thread. */
#include "kit.h"
#include "control-kit.h"

/* The thread sanitizer leaves a thread in its last round. */
#ifdef __SANITIZE_THREAD__
#define ROUNDS (PTHREAD_DESTRUCTOR_ITERATIONS - 1)
#else
#define ROUNDS PTHREAD_DESTRUCTOR_ITERATIONS
#endif

static pthread_key_t key;
static int rounds, in_round;
static void (*act)(void);

/* The destructor: puts itself off to the round that is asked for. */
static void in_some_round(void *value)
{
	if (++rounds == in_round)
		act();
	else
		CHECK_EQ(pthread_setspecific(key, value), 0);
}

static void *set_key(void *value)
{
	CHECK_EQ(pthread_setspecific(key, value), 0);
	return NULL;
}

static void *shadow_and_set_key(void *value)
{
	CHECK_EQ(rt_task_shadow(NULL, "early", 0, 0), 0);
	return set_key(value);
}

/* A thread that calls `what` in that round, the first being 1. */
static pthread_t start_to_end(void *(*body)(void *), int round, void (*what)(void))
{
	rounds = 0;
	in_round = round;
	act = what;
	return start_thread(body, &key);
}

static void become_a_task(void)
{
	CHECK_EQ(rt_task_shadow(NULL, "late", 0, 0), 0);
	CHECK_STR(name_of(NULL), "late");
	CHECK_EQ(kit_status(NULL), 0x11);
	CHECK_EQ(rt_task_sleep(1000), 0);
	CHECK_EQ(rt_task_shadow(NULL, "later", 0, 0), -EBUSY);
}

static void ends_in_every_round(void)
{
	int round;

	for (round = 1; round <= ROUNDS; round++) {
		CHECK_EQ(pthread_join(start_to_end(set_key, round, become_a_task), NULL), 0);
		CHECK_EQ(rounds, round);
		check_absent("late");
		check_free("late");
	}
}

/* Destructors of one round run in the order in which their keys were made, the library's among them. */
static void with_a_key_older_than_the_library(void)
{
	CHECK_EQ(pthread_key_create(&key, in_some_round), 0);
	ends_in_every_round();
}

static void with_a_key_younger_than_the_library(void)
{
	as_task(0, nothing, NULL);
	CHECK_EQ(pthread_key_create(&key, in_some_round), 0);
	ends_in_every_round();
}

static void with_the_youngest_of_many_keys(void)
{
	int i;

	as_task(0, nothing, NULL);
	for (i = 0; i < 500; i++)
		CHECK_EQ(pthread_key_create(&key, in_some_round), 0);
	ends_in_every_round();
}

static void with_a_task_that_ended_before(void)
{
	int round;

	CHECK_EQ(pthread_key_create(&key, in_some_round), 0);
	for (round = 2; round <= ROUNDS; round++) {
		CHECK_EQ(pthread_join(start_to_end(shadow_and_set_key, round, become_a_task), NULL), 0);
		check_absent("early");
		check_absent("late");
	}
}

static void see_the_task(void)
{
	CHECK_STR(name_of(NULL), "early");
}

static void see_no_task(void)
{
	CHECK(rt_task_self() == NULL);
	CHECK_EQ(rt_task_sleep(1000), -EPERM);
	check_absent("early");
}

/* The program's destructors run in the task, unless they put themselves off. */
static void ends_after_the_first_round(void)
{
	CHECK_EQ(pthread_key_create(&key, in_some_round), 0);
	CHECK_EQ(pthread_join(start_to_end(shadow_and_set_key, 1, see_the_task), NULL), 0);
	CHECK_EQ(pthread_join(start_to_end(shadow_and_set_key, 2, see_no_task), NULL), 0);
	CHECK_EQ(rounds, 2);
}

static void see_the_created_task(void)
{
	CHECK_STR(name_of(NULL), "created");
}

static void run_as_created(void *value)
{
	set_key(value);
}

/* A created task's do so in any round. */
static void created_task_lasts_to_the_end(void)
{
	RT_TASK task;
	int round;

#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer leaves a thread in the last round");
#endif
	CHECK_EQ(pthread_key_create(&key, in_some_round), 0);
	for (round = 1; round <= ROUNDS; round++) {
		rounds = 0;
		in_round = round;
		act = see_the_created_task;
		CHECK_EQ(rt_task_spawn(&task, "created", 0, 0, T_JOINABLE, run_as_created, &key), 0);
		kit_join(&task);
		CHECK_EQ(rounds, round);
		check_absent("created");
	}
}

static struct spinner spinner;

static void spin_as_a_task(void)
{
	CHECK_EQ(rt_task_shadow(NULL, "late", 0, 0), 0);
	spin(&spinner);
}

/* Whoever was a task before and is one again can be stopped and ended like any other. */
static void is_within_reach_of_requests(void)
{
	RT_TASK late;
	pthread_t thread;
	unsigned long turns;

	needs_shared_library();
	CHECK_EQ(pthread_key_create(&key, in_some_round), 0);
	thread = start_to_end(shadow_and_set_key, 2, spin_as_a_task);
	CHECK_EQ(rt_task_bind(&late, "late", TM_INFINITE), 0);
	until(turns_of(&spinner) > 0);
	CHECK_EQ(rt_task_suspend(&late), 0);
	turns = turns_of(&spinner);
	kit_nap(10 * MS);
	CHECK_EQ(turns_of(&spinner), turns);
	CHECK_EQ(rt_task_resume(&late), 0);
	until(turns_of(&spinner) > turns);
	CHECK_EQ(rt_task_delete(&late), 0);
	check_gone(&late, "late");
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

KIT_CASES(
	CASE(with_a_key_older_than_the_library), CASE(with_a_key_younger_than_the_library),
	CASE(with_the_youngest_of_many_keys), CASE(with_a_task_that_ended_before), CASE(ends_after_the_first_round),
	CASE(created_task_lasts_to_the_end), CASE(is_within_reach_of_requests))
