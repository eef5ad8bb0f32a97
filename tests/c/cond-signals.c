/* Waits for a condition variable go on after the handlers of signals of Linux. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include "cond-kit.h"
#include "child.h"

static int signals_seen;

static void count_signal(int signal)
{
	(void)signal;
	__atomic_add_fetch(&signals_seen, 1, __ATOMIC_RELAXED);
}

static void count_sigusr1(int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = count_signal;
	action.sa_flags = flags;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
}

static void send_and_see_handled(struct puppet *puppet)
{
	int seen = __atomic_load_n(&signals_seen, __ATOMIC_RELAXED);

	CHECK_EQ(pthread_kill(puppet->task.thread, SIGUSR1), 0);
	until(__atomic_load_n(&signals_seen, __ATOMIC_RELAXED) == seen + 1);
}

/* cond.md 9.22: for the signal and for the mutex. */
static void handlers_do_not_end_the_wait(void)
{
	struct puppet waiter, owner;
	long long start_time;
	int flags, i;

	no_held_back_signals();
	make_cond_and_mutex();
	start(&waiter, 20, NULL);
	start(&owner, 10, NULL);
	for (flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		count_sigusr1(flags);
		wait_for_signal(&waiter, TM_INFINITE);
		for (i = 0; i < 5; i++) {
			send_and_see_handled(&waiter);
			until(is_queued(&waiter));
			CHECK_WAITED_FOR(&cond);
		}
		CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
		CHECK_EQ(rt_cond_signal(&cond), 0);
		for (i = 0; i < 5; i++) {
			until(is_queued(&waiter));
			send_and_see_handled(&waiter);
		}
		CHECK_EQ(release(&owner, &mutex), 0);
		end_wait(&waiter, 0);

		start_time = kit_now();
		tell(&waiter, step_acquire_wait, &mutex, 100 * MS);
		until(__atomic_load_n(&waiter.stage, __ATOMIC_ACQUIRE) != TOLD);
		send_and_see_handled(&waiter);
		end_wait(&waiter, -ETIMEDOUT);
		CHECK(kit_now() - start_time >= 100 * MS);
	}
	delete_cond_and_mutex();
	dismiss(&waiter);
	dismiss(&owner);
}

KIT_CASES(CASE(handlers_do_not_end_the_wait))
