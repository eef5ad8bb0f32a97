/* A wait for a mutex ended or held up by others: unblock, delete, suspend. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"

static RT_MUTEX mutex;
static struct puppet owner, waiter, other;

/* A mutex held by `owner`, and two tasks that may wait for it. */
static void hold_it(void)
{
	needs_interruptible_waits();
	MAKE_MUTEX(&mutex);
	start(&owner, 10, NULL);
	start(&waiter, 20, NULL);
	start(&other, 15, NULL);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
}

/* The mutex is still the owner's; once given back it is as good as ever. */
static void let_it_go(void)
{
	CHECK_OWNER(&mutex, &owner.task);
	CHECK_EQ(poll_for(&other, &mutex), -EWOULDBLOCK);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_UNOWNED(&mutex);
	use_once(&other, &mutex, 0);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	dismiss(&owner);
	dismiss(&other);
}

static void unblock_it(struct puppet *puppet)
{
	CHECK_EQ(rt_task_unblock(&puppet->task), 0);
	CHECK_EQ(outcome(puppet), -EINTR);
	CHECK_EQ(release(puppet, &mutex), -EPERM); /* it got nothing */
}

/* --- Unblock ------------------------------------------------------------------------------------------------------ */

/* mutex.md 10.11, 10.12. An hour: the watchdog is earlier. */
static void unblock_ends_a_wait_in_any_form(void)
{
	hold_it();
	enqueue(&waiter, &mutex, TM_INFINITE);
	unblock_it(&waiter);
	enqueue(&waiter, &mutex, HOUR);
	unblock_it(&waiter);
	tell_to_wait(&waiter, step_acquire_until, &mutex, TM_INFINITE);
	unblock_it(&waiter);
	tell_to_wait(&waiter, step_acquire_until, &mutex, rt_timer_read() + HOUR);
	unblock_it(&waiter);
	let_it_go();
	dismiss(&waiter);
}

static void unblock_works_any_number_of_times(void)
{
	int i;

	hold_it();
	for (i = 0; i < 300; i++) {
		enqueue(&waiter, &mutex, i % 2 ? HOUR : (long long)TM_INFINITE);
		unblock_it(&waiter);
		if (i % 3 == 0) {
			enqueue(&waiter, &mutex, TM_INFINITE);
			CHECK_EQ(release(&owner, &mutex), 0);
			CHECK_EQ(outcome(&waiter), 0);
			CHECK_EQ(release(&waiter, &mutex), 0);
			CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
		}
	}
	let_it_go();
	dismiss(&waiter);
}

/* mutex.md 10.13 */
static void unblock_hits_one_waiter_only(void)
{
	hold_it();
	enqueue(&waiter, &mutex, TM_INFINITE);
	enqueue(&other, &mutex, HOUR);
	unblock_it(&waiter);
	CHECK(is_queued(&other));
	CHECK_OWNER(&mutex, &owner.task);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&other), 0);
	CHECK_EQ(release(&other, &mutex), 0);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	let_it_go();
	dismiss(&waiter);
}

static int running, unblocked;

static int step_run_then_wait(RT_MUTEX *target, RTIME limit)
{
	__atomic_store_n(&running, 1, __ATOMIC_RELEASE);
	until(__atomic_load_n(&unblocked, __ATOMIC_ACQUIRE)); /* sleeps, but not in the library */
	return rt_mutex_acquire(target, limit);
}

static void unblock_is_not_remembered(void)
{
	hold_it();
	tell(&waiter, step_run_then_wait, &mutex, 20 * MS);
	until(__atomic_load_n(&running, __ATOMIC_ACQUIRE));
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	__atomic_store_n(&unblocked, 1, __ATOMIC_RELEASE);
	CHECK_EQ(outcome(&waiter), -ETIMEDOUT);
	let_it_go();
	dismiss(&waiter);
}

/* The hand-over came first, though the waiter has not run yet: it wins, and the next wait is not hit either. */
static void release_then_unblock(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), 0);
	enqueue(&waiter, &mutex, TM_INFINITE);
	CHECK_EQ(rt_mutex_release(&mutex), 0);
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
}

static void handed_over_mutex_stays_with_an_unblocked_waiter(void)
{
	hold_it();
	CHECK_EQ(release(&owner, &mutex), 0);
	kit_boss(release_then_unblock);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_OWNER(&mutex, &waiter.task);
	CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	CHECK_EQ(acquire(&waiter, &mutex, 10 * MS), -ETIMEDOUT);
	let_it_go();
	dismiss(&waiter);
}

/* --- Unblock and delete while a handler of the program runs on the waiter ----------------------------------------- */

static int in_handler, leave;

static void linger(int signal)
{
	(void)signal;
	__atomic_store_n(&in_handler, 1, __ATOMIC_RELEASE);
	until(__atomic_load_n(&leave, __ATOMIC_ACQUIRE));
}

static void enqueue_and_catch_a_signal(int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = linger;
	action.sa_flags = flags;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	in_handler = leave = 0;
	enqueue(&waiter, &mutex, TM_INFINITE);
	CHECK_EQ(pthread_kill(waiter.task.thread, SIGUSR1), 0);
	until(__atomic_load_n(&in_handler, __ATOMIC_ACQUIRE));
}

static void unblock_reaches_a_waiter_in_a_signal_handler(void)
{
	int flags;

	hold_it();
	for (flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		enqueue_and_catch_a_signal(flags);
		CHECK_EQ(rt_task_unblock(&waiter.task), 0);
		__atomic_store_n(&leave, 1, __ATOMIC_RELEASE);
		CHECK_EQ(outcome(&waiter), -EINTR);
		CHECK_EQ(release(&waiter, &mutex), -EPERM);
	}
	let_it_go();
	dismiss(&waiter);
}

static int step_delete_waiter(RT_MUTEX *unused, RTIME unused_too)
{
	(void)unused;
	(void)unused_too;
	return rt_task_delete(&waiter.task);
}

static void delete_reaches_a_waiter_in_a_signal_handler(void)
{
	hold_it();
	enqueue_and_catch_a_signal(0);
	tell(&other, step_delete_waiter, NULL, 0);
	kit_nap(5 * MS); /* the deletion is under way, or comes: both must work */
	__atomic_store_n(&leave, 1, __ATOMIC_RELEASE);
	CHECK_EQ(outcome(&other), 0);
	CHECK_EQ(rt_task_join(&waiter.task), 0);
	let_it_go();
}

/* --- Delete ------------------------------------------------------------------------------------------------------- */

static void note_cleanup(void *arg)
{
	(void)arg;
	mark("cleanup");
}

static int step_wait_with_cleanup(RT_MUTEX *target, RTIME timeout)
{
	int result = 1;

	pthread_cleanup_push(note_cleanup, NULL);
	result = rt_mutex_acquire(target, timeout);
	mark("returned");
	pthread_cleanup_pop(0);
	return result;
}

/* The victim is gone, left nothing behind and got nothing. */
static void check_dead(void)
{
	expect_marks("cleanup deleted");
	CHECK_EQ(rt_task_inquire(&waiter.task, NULL), -EINVAL);
	CHECK_EQ(rt_task_join(&waiter.task), 0);
}

/* mutex.md 10.26 */
static void owner_deletes_a_waiter(void)
{
	hold_it();
	owner.tag = "deleted";
	tell_to_wait(&waiter, step_wait_with_cleanup, &mutex, TM_INFINITE);
	CHECK_EQ(ask(&owner, step_delete_waiter, NULL, 0), 0);
	check_dead();
	owner.tag = NULL;
	let_it_go();
}

static void timed_waiter_is_deleted_by_a_third_party(void)
{
	hold_it();
	tell_to_wait(&waiter, step_wait_with_cleanup, &mutex, HOUR);
	CHECK_EQ(rt_task_delete(&waiter.task), 0);
	mark("deleted");
	check_dead();
	let_it_go();
}

static void deleted_waiter_leaves_the_others_queued(void)
{
	hold_it();
	tell_to_wait(&waiter, step_wait_with_cleanup, &mutex, TM_INFINITE);
	enqueue(&other, &mutex, TM_INFINITE);
	CHECK_EQ(rt_task_delete(&waiter.task), 0);
	mark("deleted");
	check_dead();
	CHECK(is_queued(&other));
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&other), 0);
	CHECK_EQ(release(&other, &mutex), 0);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	let_it_go();
}

/* --- Suspend ------------------------------------------------------------------------------------------------------ */

/* mutex.md 10.27 */
static void suspended_waiter_is_passed_over(void)
{
	hold_it();
	enqueue(&waiter, &mutex, TM_INFINITE);
	enqueue(&other, &mutex, TM_INFINITE);
	suspend_waiter(&waiter);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&other), 0);
	CHECK_OWNER(&mutex, &other.task);
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	until(is_queued(&waiter)); /* again */
	CHECK_OWNER(&mutex, &other.task);
	CHECK_EQ(release(&other, &mutex), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_OWNER(&mutex, &waiter.task);
	CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	let_it_go();
	dismiss(&waiter);
}

static void suspended_waiter_does_not_get_a_free_mutex(void)
{
	hold_it();
	enqueue(&waiter, &mutex, TM_INFINITE);
	suspend_waiter(&waiter);
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_UNOWNED(&mutex);
	use_once(&other, &mutex, 0);
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_OWNER(&mutex, &waiter.task);
	CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	let_it_go();
	dismiss(&waiter);
}

/* common.md 14.13: its date holds, and is told after the resume. */
static void date_passes_during_the_suspension(void)
{
	RTIME date;

	hold_it();
	date = rt_timer_read() + 500 * MS;
	tell_to_wait(&waiter, step_acquire_until, &mutex, date);
	suspend_waiter(&waiter);
	until(rt_timer_read() > date + 10 * MS);
	CHECK_EQ(__atomic_load_n(&waiter.stage, __ATOMIC_ACQUIRE), BUSY);
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	CHECK_EQ(outcome(&waiter), -ETIMEDOUT);
	let_it_go();
	dismiss(&waiter);
}

/* mutex.md 4: a free mutex wins over an expired date. */
static void resumed_waiter_takes_a_free_mutex_though_its_date_has_passed(void)
{
	RTIME date;

	hold_it();
	date = rt_timer_read() + 500 * MS;
	tell_to_wait(&waiter, step_acquire_until, &mutex, date);
	suspend_waiter(&waiter);
	CHECK_EQ(release(&owner, &mutex), 0);
	until(rt_timer_read() > date + 10 * MS);
	CHECK_UNOWNED(&mutex);
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_OWNER(&mutex, &waiter.task);
	CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	let_it_go();
	dismiss(&waiter);
}

static void unblocked_waiter_returns_after_its_resume(void)
{
	hold_it();
	enqueue(&waiter, &mutex, TM_INFINITE);
	suspend_waiter(&waiter);
	CHECK_EQ(rt_task_unblock(&waiter.task), 0);
	kit_nap(5 * MS);
	CHECK_EQ(__atomic_load_n(&waiter.stage, __ATOMIC_ACQUIRE), BUSY);
	CHECK_EQ(rt_task_resume(&waiter.task), 0);
	CHECK_EQ(outcome(&waiter), -EINTR);
	let_it_go();
	dismiss(&waiter);
}

static void suspended_waiter_is_deleted(void)
{
	hold_it();
	tell_to_wait(&waiter, step_wait_with_cleanup, &mutex, TM_INFINITE);
	suspend_waiter(&waiter);
	CHECK_EQ(rt_task_delete(&waiter.task), 0);
	mark("deleted");
	check_dead();
	let_it_go();
}

static void suspending_and_resuming_keeps_the_wait_alive(void)
{
	int i;

	hold_it();
	enqueue(&waiter, &mutex, TM_INFINITE);
	for (i = 0; i < 200; i++) {
		CHECK_EQ(rt_task_suspend(&waiter.task), 0);
		CHECK_EQ(rt_task_resume(&waiter.task), 0);
	}
	until(is_queued(&waiter));
	CHECK_EQ(release(&owner, &mutex), 0);
	CHECK_EQ(outcome(&waiter), 0);
	CHECK_EQ(release(&waiter, &mutex), 0);
	CHECK_EQ(release(&waiter, &mutex), -EPERM);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	let_it_go();
	dismiss(&waiter);
}

KIT_CASES(
	CASE(unblock_ends_a_wait_in_any_form), CASE(unblock_works_any_number_of_times),
	CASE(unblock_hits_one_waiter_only), CASE(unblock_is_not_remembered),
	CASE_FIFO(handed_over_mutex_stays_with_an_unblocked_waiter),
	CASE(unblock_reaches_a_waiter_in_a_signal_handler), CASE(delete_reaches_a_waiter_in_a_signal_handler),
	CASE(owner_deletes_a_waiter), CASE(timed_waiter_is_deleted_by_a_third_party),
	CASE(deleted_waiter_leaves_the_others_queued), CASE(suspended_waiter_is_passed_over),
	CASE(suspended_waiter_does_not_get_a_free_mutex), CASE(date_passes_during_the_suspension),
	CASE(resumed_waiter_takes_a_free_mutex_though_its_date_has_passed),
	CASE(unblocked_waiter_returns_after_its_resume), CASE(suspended_waiter_is_deleted),
	CASE(suspending_and_resuming_keeps_the_wait_alive))
