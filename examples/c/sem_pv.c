/*
 * What do P and V on a free semaphore cost?
 *
 * In 2007 somebody measured 4,800 ns a pair on Xenomai, where each call entered the kernel although nobody was waiting.
 * This is the same measurement: a task takes and gives a semaphore that is always free. In the same run it does so with
 * a semaphore of the C library, and with the least that any semaphore has to do: two compare-and-swaps.
 * `make demo` builds and runs it.
 */
#include <native/task.h>
#include <native/sem.h>
#include <semaphore.h>

#define ROUNDS 1001 /* the operations take turns, so that a disturbance hits them all; the median of the rounds counts */
#define PAIRS 500   /* in each round */

static RT_SEM sem;
static sem_t posix_sem;
static unsigned long word = 1;

static void alchemy(void)
{
	for (int i = 0; i < PAIRS; i++) {
		rt_sem_p(&sem, TM_INFINITE);
		rt_sem_v(&sem);
	}
}

static void posix(void)
{
	for (int i = 0; i < PAIRS; i++) {
		sem_wait(&posix_sem);
		sem_post(&posix_sem);
	}
}

static void bare(void)
{
	for (int i = 0; i < PAIRS; i++) {
		unsigned long available = 1, taken = 0;

		__atomic_compare_exchange_n(&word, &available, 0, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
		__atomic_compare_exchange_n(&word, &taken, 1, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
}

static struct {
	const char *name;
	void (*pairs)(void);
	double ns[ROUNDS]; /* of one pair, in each round */
} operations[] = {
	{ .name = "two compare-and-swaps", .pairs = bare },
	{ .name = "sem_wait + sem_post", .pairs = posix },
	{ .name = "rt_sem_p + rt_sem_v", .pairs = alchemy },
};

/* In a task of its own: while there is only one thread, the C library saves itself the atomic operations. */
static void measure(void *cookie)
{
	(void)cookie;
	for (int turn = 0; turn < 3 * ROUNDS; turn++) {
		RTIME start = rt_timer_tsc();

		operations[turn % 3].pairs();
		operations[turn % 3].ns[turn / 3] = (double)(rt_timer_tsc() - start) / PAIRS;
	}
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	RT_TASK task;
	double ns = 0;

	sem_init(&posix_sem, 0, 1);
	if (rt_sem_create(&sem, "free", 1, S_PRIO) != 0 ||
	    rt_task_spawn(&task, "measure", 0, 81, T_JOINABLE, measure, NULL) != 0)
		return EXIT_FAILURE;
	rt_task_join(&task);
	rt_sem_delete(&sem);

	printf("%-24s %12s %16s\n", "operation", "ns per pair", "ratio to 2 CAS");
	for (int i = 0; i < 3; i++) {
		qsort(operations[i].ns, ROUNDS, sizeof(double), ascending);
		ns = operations[i].ns[ROUNDS / 2];
		printf("%-24s %12.1f %16.2f\n", operations[i].name, ns, ns / operations[0].ns[ROUNDS / 2]);
	}
	printf("In 2007 a pair took 4,800 ns, on the hardware of its day: %.0f times as long.\n", 4800 / ns);
	return EXIT_SUCCESS;
}
