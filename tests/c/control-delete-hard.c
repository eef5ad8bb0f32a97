/* rt_task_delete, thousands of times: tasks that compute, allocate, print or use semaphores without a pause. Heap and
 * streams are usable afterwards. */
#include "kit.h"
#include "control-kit.h"
#include <alchemy/mutex.h>
#include <malloc.h>

enum { ROUNDS = 3000 };

static RT_TASK prey;
static RT_SEM sem;
static FILE *sink;

/* ---- What the prey does --------------------------------------------------------------------------------------- */

static unsigned long turns;

/* No call at all, hence no clock either: some seconds, then it fails. */
static void count_on(void)
{
	unsigned long i;

	for (i = 0; i < 5000000000; i++)
		__atomic_store_n(&turns, __atomic_load_n(&turns, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

static void use_clock(void)
{
	long long start = kit_now();

	while (since(start) < SPIN_LIMIT)
		;
}

static void fill(void *block_, size_t size)
{
	volatile char *block = (volatile char *)block_;
	size_t i;

	for (i = 0; i < size && i < 256; i++)
		block[i] = (char)i;
}

/* What the dead leave behind is never freed: little, for the sake of those who may lock but little memory. */
static void use_malloc(void)
{
	long long start = kit_now();
	unsigned i;

	for (i = 0; i % 1024 || since(start) < SPIN_LIMIT; i++) {
		size_t size = i % 64 == 0 ? 20000 : 1 + i * 37 % 5000;
		void *first = malloc(size), *second = malloc(size / 2 + 1);

		CHECK(first && second);
		fill(first, size);
		free(first);
		second = realloc(second, size + 64);
		CHECK(second);
		free(second);
	}
}

static void use_printf(void)
{
	long long start = kit_now();
	char text[64];
	unsigned i;

	for (i = 0; i % 1024 || since(start) < SPIN_LIMIT; i++) {
		fprintf(sink, "%u %s %g\n", i, "text", i / 3.0);
		fill(text, sizeof(text));
	}
}

static void use_semaphore(void)
{
	long long start = kit_now();
	unsigned i;

	for (i = 0; i % 1024 || since(start) < SPIN_LIMIT; i++) {
		CHECK_EQ(rt_sem_v(&sem), 0);
		CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
		CHECK(rt_task_self() != NULL);
		if (i % 8 == 0) {
			int got = rt_sem_p(&sem, 1000);

			CHECK(got == 0 || got == -ETIMEDOUT);
			if (got == 0)
				CHECK_EQ(rt_sem_v(&sem), 0);
		}
	}
}

static RT_MUTEX mutex, kept;

static void use_mutex(void)
{
	long long start = kit_now();
	unsigned i;

	for (i = 0; i % 1024 || since(start) < SPIN_LIMIT; i++) {
		int got = rt_mutex_acquire(&mutex, TM_INFINITE);

		CHECK(got == 0 || got == -EOWNERDEAD);
		CHECK_EQ(rt_mutex_acquire(&mutex, TM_NONBLOCK), 0);
		CHECK_EQ(rt_mutex_release(&mutex), 0);
		CHECK_EQ(rt_mutex_release(&mutex), 0);
		CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
		if (i % 8 == 0)
			CHECK_EQ(rt_mutex_acquire(&kept, 1000), -ETIMEDOUT);
	}
}

static void read_nothing(void)
{
	static int ends[2] = { -1, -1 };
	char byte;

	if (ends[0] < 0)
		CHECK_EQ(pipe(ends), 0);
	CHECK(read(ends[0], &byte, 1) < 0);
}

static void nap_often(void)
{
	long long start = kit_now();

	while (since(start) < SPIN_LIMIT) {
		struct timespec delay = { 0, 1000 };

		nanosleep(&delay, NULL);
	}
}

/* ---- The hunt ------------------------------------------------------------------------------------------------- */

struct hunt {
	void (*loop)(void);
	void (*usable)(void); /* what must work after each deletion, or NULL */
	int rounds; /* 0: ROUNDS */
	int mode;
	int suspend_first;
	int strict; /* not one more turn once delete is called; under SCHED_FIFO */
};

static int begun, cleaned;

static void count_cleanup(void *arg)
{
	(void)arg;
	__atomic_add_fetch(&cleaned, 1, __ATOMIC_RELAXED);
}

static void run_prey(void *hunt)
{
	pthread_cleanup_push(count_cleanup, NULL);
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
	((struct hunt *)hunt)->loop();
	kit_fail(__FILE__, __LINE__, "nobody has ended this loop");
	pthread_cleanup_pop(0);
}

static void hunt(void *hunt_)
{
	struct hunt *how = (struct hunt *)hunt_;
	int i, rounds = how->rounds ? how->rounds : ROUNDS;
	unsigned long before;

	for (i = 0; i < rounds; i++) {
		CHECK_EQ(rt_task_spawn(&prey, "prey", 0, 10, T_JOINABLE | how->mode, run_prey, how), 0);
		while (__atomic_load_n(&begun, __ATOMIC_RELAXED) <= i)
			kit_nap(20000);
		kit_nap(i * 7919L % 100000); /* so that it is found anywhere in its loop */
		if (how->suspend_first) {
			CHECK_EQ(rt_task_suspend(&prey), 0);
			kit_nap(20000);
		}
		before = __atomic_load_n(&turns, __ATOMIC_RELAXED);
		CHECK_EQ(rt_task_delete(&prey), 0);
		if (how->strict && kit_fifo())
			CHECK_EQ(__atomic_load_n(&turns, __ATOMIC_RELAXED), before);
		before = __atomic_load_n(&turns, __ATOMIC_RELAXED);
		CHECK_EQ(__atomic_load_n(&cleaned, __ATOMIC_RELAXED), i + 1);
		CHECK_EQ(rt_task_delete(&prey), -EINVAL);
		check_absent("prey");
		CHECK_EQ(rt_task_join(&prey), 0);
		if (how->usable)
			how->usable();
		CHECK_EQ(__atomic_load_n(&turns, __ATOMIC_RELAXED), before);
	}
}

static void go_hunting(struct hunt how)
{
	int threads;

	as_task(how.mode & T_LOCK ? 99 : KIT_BOSS_PRIO, hunt, &how);
	threads = count_threads();
	as_task(10, nothing, NULL);
	until(count_threads() <= threads);
}

static void heap_works(void)
{
	void *block[100];
	size_t i;

	for (i = 0; i < 100; i++) {
		size_t size = 1 + i * i;

		block[i] = malloc(size);
		CHECK(block[i] != NULL);
		memset(block[i], (int)i, size);
	}
	for (i = 0; i < 100; i++) {
		CHECK(*(unsigned char *)block[i] == i);
		free(block[i]);
	}
	CHECK_EQ(malloc_trim(0) & ~1, 0); /* takes the lock of every arena */
}

static void stream_works(void)
{
	CHECK(fprintf(sink, "still here %d %g\n", 1, 2.5) > 0);
	CHECK_EQ(fflush(sink), 0);
}

static void semaphore_works(void)
{
	RT_SEM_INFO info;

	CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
	CHECK_EQ(info.nwaiters, 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, info.count + 1, 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
}

/* Without the units that the dead have left: the next one waits for more. */
static void semaphore_runs_dry(void)
{
	semaphore_works();
	while (rt_sem_p(&sem, TM_NONBLOCK) == 0)
		;
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), -EWOULDBLOCK);
}

static void use_mutex_once(void *unused)
{
	int got = rt_mutex_acquire(&mutex, TM_NONBLOCK);

	(void)unused;
	CHECK(got == 0 || got == -EOWNERDEAD);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_EQ(rt_mutex_acquire(&kept, TM_NONBLOCK), -EWOULDBLOCK);
}

static void mutex_works(void)
{
	RT_MUTEX_INFO info;
	RT_TASK task;

	CHECK_EQ(rt_mutex_inquire(&mutex, &info), 0);
	CHECK_EQ(info.owner.handle, 0);
	kit_spawn(&task, 20, use_mutex_once, NULL);
	kit_join(&task);
}

/* One arena: who dies holding its lock locks everybody out. */
static void hunt_in_the_heap(int suspend_first)
{
	no_sanitizer();
	CHECK_EQ(mallopt(M_ARENA_MAX, 1), 1);
	go_hunting((struct hunt){ .loop = use_malloc, .usable = heap_works, .suspend_first = suspend_first });
}

static void hunt_on_a_stream(int suspend_first)
{
	no_sanitizer();
	sink = fopen("/dev/null", "w");
	CHECK(sink != NULL);
	go_hunting((struct hunt){ .loop = use_printf, .usable = stream_works, .suspend_first = suspend_first });
	CHECK_EQ(fclose(sink), 0);
}

static void hunt_at_a_semaphore(int suspend_first)
{
	no_sanitizer();
	MAKE_SEM(&sem, 0, S_PRIO);
	go_hunting((struct hunt){ .loop = use_semaphore, .usable = semaphore_runs_dry, .suspend_first = suspend_first });
}

static int keeps;

static void keep_it(void *unused)
{
	(void)unused;
	CHECK_EQ(rt_mutex_acquire(&kept, TM_INFINITE), 0);
	__atomic_store_n(&keeps, 1, __ATOMIC_RELEASE);
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
	CHECK_EQ(rt_mutex_release(&kept), 0);
}

static void hunt_at_a_mutex(int suspend_first)
{
	RT_TASK keeper;

	no_sanitizer();
	MAKE_SEM(&sem, 0, S_PRIO);
	CHECK_EQ(rt_mutex_create(&mutex, NULL), 0);
	CHECK_EQ(rt_mutex_create(&kept, NULL), 0);
	kit_spawn(&keeper, 10, keep_it, NULL);
	until(__atomic_load_n(&keeps, __ATOMIC_ACQUIRE));
	go_hunting((struct hunt){ .loop = use_mutex, .usable = mutex_works, .suspend_first = suspend_first });
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&keeper);
	CHECK_EQ(rt_mutex_delete(&kept), 0);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

/* Not a single further turn: a peer program relies on it. */
static void tasks_that_only_compute(void)
{
	no_sanitizer();
	go_hunting((struct hunt){ .loop = count_on, .strict = 1 });
}

static void suspended_tasks_that_only_compute(void)
{
	no_sanitizer();
	go_hunting((struct hunt){ .loop = count_on, .suspend_first = 1, .strict = 1 });
}

static void computing_holders_of_the_scheduler_lock(void)
{
	no_sanitizer();
	go_hunting((struct hunt){ .loop = count_on, .mode = T_LOCK, .strict = 1 });
}

/* Fewer: in the vDSO nearly all the time, such a task is asked many times until it is found elsewhere. */
static void tasks_that_read_the_clock(void)
{
	no_sanitizer();
	go_hunting((struct hunt){ .loop = use_clock, .rounds = ROUNDS / 20 });
}

static void tasks_that_allocate(void)
{
	hunt_in_the_heap(0);
}

static void suspended_tasks_that_allocate(void)
{
	hunt_in_the_heap(1);
}

static void tasks_that_print(void)
{
	hunt_on_a_stream(0);
}

static void suspended_tasks_that_print(void)
{
	hunt_on_a_stream(1);
}

static void tasks_at_a_semaphore(void)
{
	hunt_at_a_semaphore(0);
}

static void suspended_tasks_at_a_semaphore(void)
{
	hunt_at_a_semaphore(1);
}

static void tasks_at_a_mutex(void)
{
	hunt_at_a_mutex(0);
}

static void suspended_tasks_at_a_mutex(void)
{
	hunt_at_a_mutex(1);
}

/* There is always a unit, so no call is one at which a task ends; and next to nothing of the loop is the program's own. */
static void tasks_that_never_wait_at_a_semaphore(void)
{
	no_sanitizer();
	MAKE_SEM(&sem, 2, S_PRIO);
	go_hunting((struct hunt){ .loop = use_semaphore, .usable = semaphore_works, .rounds = ROUNDS / 100 });
}

static void tasks_in_system_calls(void)
{
	go_hunting((struct hunt){ .loop = read_nothing });
}

static void tasks_in_and_out_of_system_calls(void)
{
	go_hunting((struct hunt){ .loop = nap_often });
}

/* All of these with hunter and prey in parallel. */

static void tasks_that_allocate_on_another_cpu(void)
{
	kit_unpin();
	hunt_in_the_heap(0);
}

static void tasks_that_print_on_another_cpu(void)
{
	kit_unpin();
	hunt_on_a_stream(0);
}

static void tasks_at_a_semaphore_on_another_cpu(void)
{
	kit_unpin();
	hunt_at_a_semaphore(0);
}

static void tasks_at_a_mutex_on_another_cpu(void)
{
	kit_unpin();
	hunt_at_a_mutex(0);
}

static void tasks_that_compute_on_another_cpu(void)
{
	no_sanitizer();
	kit_unpin();
	go_hunting((struct hunt){ .loop = count_on });
}

KIT_CASES(
	CASE(tasks_that_only_compute), CASE(suspended_tasks_that_only_compute),
	CASE(computing_holders_of_the_scheduler_lock), CASE(tasks_that_read_the_clock), CASE(tasks_that_allocate),
	CASE(suspended_tasks_that_allocate), CASE(tasks_that_print), CASE(suspended_tasks_that_print),
	CASE(tasks_at_a_semaphore), CASE(suspended_tasks_at_a_semaphore),
	CASE(tasks_that_never_wait_at_a_semaphore), CASE(tasks_in_system_calls),
	CASE(tasks_in_and_out_of_system_calls), CASE(tasks_that_allocate_on_another_cpu),
	CASE(tasks_that_print_on_another_cpu), CASE(tasks_at_a_semaphore_on_another_cpu),
	CASE(tasks_that_compute_on_another_cpu), CASE(tasks_at_a_mutex), CASE(suspended_tasks_at_a_mutex),
	CASE(tasks_at_a_mutex_on_another_cpu))
