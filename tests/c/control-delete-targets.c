/* rt_task_delete: targets inside libc, with signals or cancellation off, holding the scheduler lock. */
#include "kit.h"
#include "control-kit.h"
#include <poll.h>

static RT_SEM sem;
static RT_TASK task;

static void spawn_victim(int prio, int mode, void (*body)(void *), void *arg)
{
	CHECK_EQ(rt_task_spawn(&task, "victim", 0, prio, mode, body, arg), 0);
}

static void delete_and_join(void)
{
	CHECK_EQ(rt_task_delete(&task), 0);
	mark("deleted");
	check_gone(&task, "victim");
	CHECK_EQ(rt_task_join(&task), 0);
}

/* ---- In libc -------------------------------------------------------------------------------------------------- */

static int ends[2];

static void in_read(void)
{
	char byte;

	CHECK(read(ends[0], &byte, 1) < 0);
}

static void in_nanosleep(void)
{
	struct timespec long_time = { 1000000, 0 };

	nanosleep(&long_time, NULL);
}

static void in_pause(void)
{
	pause();
}

static void in_poll(void)
{
	struct pollfd end = { .fd = ends[0], .events = POLLIN };

	poll(&end, 1, -1);
}

static void in_sem_wait(void)
{
	sem_t posix;

	CHECK_EQ(sem_init(&posix, 0, 0), 0);
	sem_wait(&posix);
}

static void unlock(void *mutex)
{
	CHECK_EQ(pthread_mutex_unlock((pthread_mutex_t *)mutex), 0);
}

static void in_cond_wait(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	pthread_cleanup_push(unlock, &mutex);
	pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
}

struct call {
	void (*call)(void);
};

static void call_libc(void *call)
{
	pthread_cleanup_push(mark_it, (void *)"cleanup");
	((struct call *)call)->call();
	mark("after-the-call");
	pthread_cleanup_pop(0);
}

/* task.md 7.34 and its like */
static void targets_in_libc_calls_end(void)
{
	static struct call calls[] = {
		{ in_read }, { in_nanosleep }, { in_pause }, { in_poll }, { in_sem_wait }, { in_cond_wait },
	};
	size_t i;
	int locked;

	CHECK_EQ(pipe(ends), 0);
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		for (locked = 0; locked < 2; locked++) {
			clear_marks();
			spawn_victim(i % 2 ? 20 : 0, locked ? T_LOCK | T_JOINABLE : T_JOINABLE, call_libc, &calls[i]);
			until(kernel_state(tid_of(&task)) == 'S');
			CHECK_EQ(kit_status(&task), 0x11);
			delete_and_join();
			expect_marks("cleanup deleted");
		}
	}
}

static void suspended_target_in_a_libc_call_ends(void)
{
	static struct call reading = { in_read };

	no_held_back_signals();
	CHECK_EQ(pipe(ends), 0);
	spawn_victim(20, T_JOINABLE, call_libc, &reading);
	until(kernel_state(tid_of(&task)) == 'S');
	CHECK_EQ(rt_task_suspend(&task), 0);
	delete_and_join();
	expect_marks("cleanup deleted");
}

static int entered;

static void block_all_signals_and_nap(void *arg)
{
	long long start = kit_now();
	sigset_t all;

	(void)arg;
	sigfillset(&all);
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, &all, NULL), 0);
	set_flag(&entered);
	while (since(start) < SPIN_LIMIT)
		CHECK_EQ(rt_task_sleep(100000), 0);
	mark("end-of-patience");
}

/* Decision 35 */
static void target_with_all_signals_blocked_ends(void)
{
	spawn_victim(20, T_JOINABLE, block_all_signals_and_nap, NULL);
	until(__atomic_load_n(&entered, __ATOMIC_ACQUIRE));
	delete_and_join();
	expect_marks("deleted");
}

static void compute_uncancellably(void *arg)
{
	long long start = kit_now();

	(void)arg;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	mark("off");
	/* Its own descriptor is stale from the moment on at which somebody deletes it. */
	while (rt_task_inquire(NULL, NULL) == 0 && since(start) < SPIN_LIMIT)
		;
	start = kit_now();
	while (since(start) < 150 * MS)
		;
	mark("on");
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	pthread_testcancel();
	mark("after-the-end");
}

static void delete_uncancellable(void *arg)
{
	(void)arg;
	spawn_victim(20, T_JOINABLE, compute_uncancellably, NULL);
	until(mark_count() == 1);
	delete_and_join();
}

static void target_that_disabled_cancellation_is_waited_for(void)
{
	kit_boss(delete_uncancellable);
	expect_marks("off on deleted");
}

static void cancelled_sleeper(void *arg)
{
	set_flag(arg);
	rt_task_sleep_until(TM_INFINITE);
	mark("after-the-sleep");
}

/* common.md 10: pthread_cancel does not wake a sleeper, rt_task_delete does. */
static void cancelled_sleeper_sleeps_on_until_deleted(void)
{
	spawn_victim(20, T_JOINABLE, cancelled_sleeper, &entered);
	until(kit_blocked(&task));
	CHECK_EQ(pthread_cancel(task.thread), 0);
	kit_nap(10 * MS);
	CHECK_EQ(kit_status(&task), 0x80011);
	delete_and_join();
	expect_marks("deleted");
}

static struct spinner spinner;

static void delete_lock_holder(void *arg)
{
	unsigned long turns;

	(void)arg;
	spinner.turns = 0;
	spawn_victim(20, T_LOCK | T_JOINABLE, spin, &spinner);
	until(turns_of(&spinner) > 0);
	CHECK_EQ(rt_task_delete(&task), 0);
	turns = turns_of(&spinner);
	check_gone(&task, "victim");
	CHECK_EQ(rt_task_join(&task), 0);
	CHECK_EQ(turns_of(&spinner), turns);
}

/* Nobody below 99 gets at it on this CPU. */
static void computing_holder_of_the_scheduler_lock_ends(void)
{
	needs_shared_library();
	as_task(99, delete_lock_holder, NULL);
}

static void control_with_a_full_signal_queue(void *arg)
{
	unsigned long turns;

	(void)arg;
	set_limit(RLIMIT_SIGPENDING, 0, 0);
	spinner.turns = 0;
	spawn_victim(20, T_JOINABLE, spin, &spinner);
	until(turns_of(&spinner) > 0);
	CHECK_EQ(rt_task_suspend(&task), 0);
	turns = turns_of(&spinner);
	kit_nap(5 * MS);
	CHECK_EQ(turns_of(&spinner), turns);
	CHECK_EQ(rt_task_resume(&task), 0);
	until(turns_of(&spinner) > turns);
	delete_and_join();
}

/* tgkill with a real-time signal fails beyond RLIMIT_SIGPENDING; the services do not. */
static void full_signal_queue_does_not_matter(void)
{
	SKIP("Linux refuses thread-directed real-time signals beyond RLIMIT_SIGPENDING");
	no_held_back_signals();
	kit_boss(control_with_a_full_signal_queue);
	expect_marks("deleted");
}

/* ---- Deleters ------------------------------------------------------------------------------------------------- */

static void plain_delete(void *arg)
{
	(void)arg;
	delete_and_join();
}

static void plain_thread_deletes(void)
{
	MAKE_SEM(&sem, 0, S_FIFO);
	spawn_victim(20, T_JOINABLE, take, &sem);
	until(kit_blocked(&task));
	kit_plain(plain_delete, NULL);
	expect_marks("deleted");
}

KIT_CASES(
	CASE(targets_in_libc_calls_end), CASE(suspended_target_in_a_libc_call_ends),
	CASE(target_with_all_signals_blocked_ends), CASE(target_that_disabled_cancellation_is_waited_for),
	CASE(cancelled_sleeper_sleeps_on_until_deleted), CASE(computing_holder_of_the_scheduler_lock_ends),
	CASE(full_signal_queue_does_not_matter), CASE(plain_thread_deletes))
