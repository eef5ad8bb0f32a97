/*
 * Priority inversion through a lock of the library, for the tests of objects that have one. Include it after kit.h.
 *
 * Three tasks on one CPU: `low` uses an object all the time, `high` wakes now and then, in the midst of that, and uses it
 * too, having made `mid` ready, which computes. Mid may run when high has come back, never while high is within its
 * call: then high waits for low, and low for mid.
 */
#ifndef INVERSION_KIT_H
#define INVERSION_KIT_H

#include <alchemy/sem.h>

struct inversion {
	void (*use_low)(void);   /* what low does over and over; never waits */
	void (*use_high)(void);  /* what high does; never waits */
	int rounds;
};

static struct inversion inversion;
static int inversion_calling, inversion_over, inversion_rounds;
static RT_SEM inversion_ready;

KIT_UNUSED static void inversion_low(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&inversion_over, __ATOMIC_ACQUIRE))
		inversion.use_low();
}

KIT_UNUSED static void inversion_mid(void *arg)
{
	long long end;

	(void)arg;
	for (;;) {
		CHECK_EQ(rt_sem_p(&inversion_ready, TM_INFINITE), 0);
		if (__atomic_load_n(&inversion_over, __ATOMIC_ACQUIRE))
			return;
		end = kit_now() + 20000;
		do {
			if (__atomic_load_n(&inversion_calling, __ATOMIC_ACQUIRE))
				kit_fail(__FILE__, __LINE__, "round %d: mid runs while high waits for low",
					 __atomic_load_n(&inversion_rounds, __ATOMIC_ACQUIRE));
		} while (kit_now() < end);
	}
}

KIT_UNUSED static void inversion_high(void *arg)
{
	unsigned state = 4711;
	int i;

	(void)arg;
	for (i = 0; i < inversion.rounds; i++) {
		/* Mid is done by then as a rule, and low at work: at any point, so the delay differs. */
		state = state * 1103515245U + 12345U;
		CHECK_EQ(rt_task_sleep(40000 + (state >> 16) % 40000), 0);
		__atomic_store_n(&inversion_rounds, i, __ATOMIC_RELEASE);
		CHECK_EQ(rt_sem_v(&inversion_ready), 0);
		__atomic_store_n(&inversion_calling, 1, __ATOMIC_RELEASE);
		inversion.use_high();
		__atomic_store_n(&inversion_calling, 0, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&inversion_over, 1, __ATOMIC_RELEASE);
	CHECK_EQ(rt_sem_v(&inversion_ready), 0);
}

/* Needs SCHED_FIFO, and the pin to one CPU that every case has. */
KIT_UNUSED static void no_inversion(void (*use_low)(void), void (*use_high)(void), int rounds)
{
	RT_TASK low, mid, high;

	inversion.use_low = use_low;
	inversion.use_high = use_high;
	inversion.rounds = rounds;
	CHECK_EQ(rt_sem_create(&inversion_ready, NULL, 0, S_FIFO), 0);
	kit_spawn(&mid, 20, inversion_mid, NULL);
	kit_spawn(&high, 30, inversion_high, NULL);
	kit_spawn(&low, 10, inversion_low, NULL);
	kit_join(&high);
	kit_join(&mid);
	kit_join(&low);
}

#endif /* INVERSION_KIT_H */
