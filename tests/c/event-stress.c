/* Event groups under contention, on all CPUs: no release is lost, flags and data arrive together, deletion at any time. */
#define KIT_STORM
#include "kit.h"
#include "tasks.h"
#include "event-kit.h"
#include "child.h"

/* Threads of priority 0, but for the case about priorities: they share the CPUs fairly whatever their number. */

#ifdef __SANITIZE_THREAD__
enum { SCALE = 10 };
#else
enum { SCALE = 1 };
#endif

static RT_EVENT event;
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

/* --- Pulses ------------------------------------------------------------------------------------------------------- */

static long passes;

static void wait_and_count(void *arg)
{
	(void)arg;
	while (!stopped()) {
		unsigned got = UNTOUCHED;

		CHECK_EQ(rt_event_wait(&event, 1, &got, EV_ANY, TM_INFINITE), 0);
		CHECK_EQ(got, 1);
		__atomic_fetch_add(&passes, 1, __ATOMIC_RELEASE);
		if (rt_event_clear(&event, 1, NULL) != 0)
			kit_fail(__FILE__, __LINE__, "clear");
	}
}

static void clear_all_the_time(void *arg)
{
	(void)arg;
	while (!stopped()) {
		unsigned old = UNTOUCHED;

		CHECK_EQ(rt_event_clear(&event, 1, &old), 0);
		CHECK(old <= 3);
		CHECK_EQ(rt_event_signal(&event, 2), 0);
		CHECK_EQ(rt_event_clear(&event, 2, NULL), 0);
		if (old & 1)
			sched_yield();
	}
}

/* event.md 9.20: a signal that finds the waiter queued releases it, however soon the flag is cleared by others. */
static void every_signal_reaches_who_is_queued(void)
{
	RT_TASK waiter, clearer;
	int i;

	kit_unpin();
	MAKE_EVENT(&event, 0, EV_PRIO);
	kit_spawn(&waiter, 0, wait_and_count, NULL);
	kit_spawn(&clearer, 0, clear_all_the_time, NULL);
	for (i = 0; i < 10000 / SCALE; i++) {
		long before;

		while (event_waiters(&event) != 1)
			sched_yield();
		before = __atomic_load_n(&passes, __ATOMIC_ACQUIRE);
		CHECK_EQ(rt_event_signal(&event, 1), 0);
		while (__atomic_load_n(&passes, __ATOMIC_ACQUIRE) == before)
			sched_yield();
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	kit_join(&clearer);
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	kit_join(&waiter);
	CHECK_EQ(event_waiters(&event), 0);
}

/* --- Conservation ------------------------------------------------------------------------------------------------- */

enum { CONSUMERS = 4, ITEMS = 8000 / SCALE };

static long produced[CONSUMERS], consumed[CONSUMERS], late, interrupted;
static int cell[CONSUMERS];

/* One flag each: set means that there is an item in the cell. */
static void consume(void *number)
{
	int k = (int)(uintptr_t)number;
	unsigned state = (unsigned)k + 1, bit = 1U << k, other = 1U << (k + 8);

	while (consumed[k] < ITEMS) {
		unsigned got = UNTOUCHED, old;
		int mode = next_random(&state) % 2 ? EV_ALL : EV_ANY;
		RTIME delay = next_random(&state) % 4 ? next_random(&state) % 60000 + 1 : TM_NONBLOCK;
		int result = rt_event_wait(&event, bit | (mode == EV_ANY ? other : 0), &got, mode, delay);

		if (result == 0) {
			CHECK_EQ(got, bit);
			consumed[k]++;
			CHECK_EQ(cell[k], consumed[k]);
			CHECK_EQ(rt_event_clear(&event, bit, &old), 0);
			CHECK(old & bit);
			continue;
		}
		CHECK_EQ(got, UNTOUCHED);
		CHECK(result == -ETIMEDOUT || result == -EINTR || result == -EWOULDBLOCK);
		__atomic_fetch_add(&late, result == -ETIMEDOUT, __ATOMIC_RELAXED);
		__atomic_fetch_add(&interrupted, result == -EINTR, __ATOMIC_RELAXED);
	}
}

static void produce(void *first_)
{
	int first = (int)(uintptr_t)first_, k;
	long left = 2 * ITEMS;

	while (left > 0) {
		for (k = first; k < first + 2; k++) {
			unsigned value;

			CHECK_EQ(rt_event_clear(&event, 0, &value), 0);
			if (value & 1U << k || produced[k] == ITEMS)
				continue;
			produced[k]++;
			cell[k] = (int)produced[k];
			CHECK_EQ(rt_event_signal(&event, 1U << k), 0);
			left--;
		}
		sched_yield();
	}
}

static void items_are_conserved(int mode)
{
	RT_TASK consumers[CONSUMERS], producers[2];
	unsigned state = 5;
	int i, ended = 0;

	memset(produced, 0, sizeof(produced));
	memset(consumed, 0, sizeof(consumed));
	MAKE_EVENT(&event, 0, mode);
	for (i = 0; i < CONSUMERS; i++)
		kit_spawn(&consumers[i], 0, consume, (void *)(uintptr_t)i);
	for (i = 0; i < 2; i++)
		kit_spawn(&producers[i], 0, produce, (void *)(uintptr_t)(2 * i));
	while (!ended) {
		int result = rt_task_unblock(&consumers[next_random(&state) % CONSUMERS]);

		CHECK(result == 0 || result == -EINVAL);
		ended = result == -EINVAL && event_waiters(&event) == 0 && rt_task_unblock(&producers[0]) == -EINVAL;
		kit_nap(next_random(&state) % 16 * 1000);
	}
	for (i = 0; i < 2; i++)
		kit_join(&producers[i]);
	for (i = 0; i < CONSUMERS; i++) {
		kit_join(&consumers[i]);
		CHECK_EQ(produced[i], ITEMS);
		CHECK_EQ(consumed[i], ITEMS);
	}
	CHECK_EVENT(&event, 0, 0);
	CHECK(late > 0); /* not a test of nothing */
	CHECK_EQ(rt_event_delete(&event), 0);
}

static void items_are_conserved_amid_timeouts_and_unblocks(void)
{
	kit_unpin();
	items_are_conserved(EV_FIFO);
	items_are_conserved(EV_PRIO);
}

/* --- Rendezvous --------------------------------------------------------------------------------------------------- */

enum { WORKERS = 4, ROUNDS = 4000 / SCALE };

#define ALL_ARRIVED ((1U << WORKERS) - 1)

static int board[WORKERS];

static void work(void *number)
{
	int k = (int)(uintptr_t)number, i;

	for (i = 1; i <= ROUNDS; i++) {
		CHECK_EQ(rt_event_wait(&event, 0x10000U << k, NULL, k % 2 ? EV_ALL : EV_ANY, TM_INFINITE), 0);
		CHECK_EQ(rt_event_clear(&event, 0x10000U << k, NULL), 0);
		board[k] = i;
		CHECK_EQ(rt_event_signal(&event, 1U << k), 0);
	}
}

/* Waits without limit for all of several signallers: one release lost and this hangs; one too early, and the board tells. */
static void nobody_is_forgotten_at_a_rendezvous(void)
{
	RT_TASK workers[WORKERS];
	unsigned got;
	int i, k;

	kit_unpin();
	MAKE_EVENT(&event, 0, EV_FIFO);
	for (k = 0; k < WORKERS; k++)
		kit_spawn(&workers[k], 0, work, (void *)(uintptr_t)k);
	for (i = 1; i <= ROUNDS; i++) {
		CHECK_EQ(rt_event_signal(&event, ALL_ARRIVED << 16), 0);
		CHECK_EQ(rt_event_wait(&event, ALL_ARRIVED, &got, EV_ALL, TM_INFINITE), 0);
		CHECK_EQ(got, ALL_ARRIVED);
		for (k = 0; k < WORKERS; k++)
			CHECK_EQ(board[k], i);
		CHECK_EQ(rt_event_clear(&event, ALL_ARRIVED, NULL), 0);
	}
	for (k = 0; k < WORKERS; k++)
		kit_join(&workers[k]);
	CHECK_EVENT(&event, 0, 0);
	CHECK_EQ(rt_event_delete(&event), 0);
}

/* --- Deletion, of tasks and of groups ----------------------------------------------------------------------------- */

static void wait_for_ever(void *seed)
{
	unsigned state = (unsigned)(uintptr_t)seed;

	while (!stopped()) {
		int result = rt_event_wait(&event, next_random(&state) % 3 + 1, NULL, (int)next_random(&state) % 2, 500000);

		CHECK(result == 0 || result == -ETIMEDOUT);
	}
}

static void signal_all_the_time(void *arg)
{
	unsigned state = 3;

	(void)arg;
	while (!stopped()) {
		CHECK_EQ(rt_event_signal(&event, next_random(&state) % 4), 0);
		CHECK_EQ(rt_event_clear(&event, next_random(&state) % 4, NULL), 0);
		if (next_random(&state) % 8 == 0)
			kit_nap(20000);
	}
}

/* Deleted while they wait, are released, time out, come or go. */
static void waiters_are_deleted_at_random(void)
{
	RT_TASK signaller, steady, victim;
	unsigned state = 11;
	int i;

	kit_unpin();
	MAKE_EVENT(&event, 0, EV_PRIO);
	kit_spawn(&signaller, 0, signal_all_the_time, NULL);
	kit_spawn(&steady, 0, wait_for_ever, (void *)1);
	for (i = 0; i < 300 / SCALE; i++) {
		kit_spawn(&victim, 0, wait_for_ever, (void *)(uintptr_t)(i + 2));
		kit_nap(next_random(&state) % 64 * 5000);
		if (i % 4 == 0)
			CHECK_EQ(rt_task_suspend(&victim), 0);
		CHECK_EQ(rt_task_delete(&victim), 0);
		CHECK(event_waiters(&event) <= 1);
		kit_join(&victim);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	kit_join(&signaller);
	kit_join(&steady);
	CHECK_EQ(event_waiters(&event), 0);
	CHECK_EQ(rt_event_delete(&event), 0);
}

static uintptr_t current;

/* Uses whatever group was last announced, dead or not. */
static void hammer(void *seed)
{
	unsigned i;

	for (i = (unsigned)(uintptr_t)seed; !stopped(); i++) {
		RT_EVENT mine = { __atomic_load_n(&current, __ATOMIC_ACQUIRE) };
		unsigned got = UNTOUCHED;
		RT_EVENT_INFO info;
		int result;

		switch (i % 5) {
		case 0:
			result = rt_event_signal(&mine, 1U << i % 32);
			CHECK(result == 0 || result == -EINVAL);
			break;
		case 1:
			result = rt_event_wait(&mine, 3, &got, EV_ALL, TM_NONBLOCK);
			CHECK(result == 0 || result == -EWOULDBLOCK || result == -EINVAL);
			break;
		case 2:
			result = rt_event_wait(&mine, 3, &got, EV_ALL, 20000);
			CHECK(result == 0 || result == -ETIMEDOUT || result == -EINVAL || result == -EIDRM);
			break;
		case 3:
			CHECK((result = rt_event_clear(&mine, ~0U, NULL)) == 0 || result == -EINVAL);
			continue;
		default:
			result = rt_event_inquire(&mine, &info);
			CHECK(result == 0 || result == -EINVAL);
			if (result == 0) {
				CHECK_STR(info.name, "target");
				CHECK(info.nwaiters >= 0 && info.nwaiters <= 3);
				CHECK(info.nwaiters == 0 || (info.value & 3) != 3); /* one snapshot */
			}
			continue;
		}
		CHECK(result == 0 ? got == 3 || i % 5 == 0 : got == UNTOUCHED);
	}
}

static void services_stand_a_deletion_at_any_time(void)
{
	RT_TASK hammers[3];
	RT_EVENT target;
	int i;

	kit_unpin();
	for (i = 0; i < 3; i++)
		kit_spawn(&hammers[i], 0, hammer, (void *)(uintptr_t)i);
	for (i = 0; i < 2000 / SCALE; i++) {
		CHECK_EQ(rt_event_create(&target, "target", 0, i % 2 ? EV_PRIO : EV_FIFO), 0);
		__atomic_store_n(&current, target.handle, __ATOMIC_RELEASE);
		kit_nap(i % 8 * 10000);
		CHECK_EQ(rt_event_delete(&target), 0);
		CHECK_EQ(rt_event_delete(&target), -EINVAL);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 3; i++)
		kit_join(&hammers[i]);
}

/* --- Three priorities --------------------------------------------------------------------------------------------- */

enum { TRIES = 200 };

static RT_SEM wake_high;
static int high_has_run, low_turns;

/* Is inside the group's lock most of the time: somebody waits, so that signal and clear have to look at the queue. */
static void use_the_group(void *arg)
{
	long long start = kit_now();

	(void)arg;
	while (!stopped()) {
		CHECK_EQ(rt_event_signal(&event, 2), 0);
		CHECK_EQ(rt_event_clear(&event, 2, NULL), 0);
		low_turns++;
		if (kit_now() - start > 10000 * MS)
			kit_fail(__FILE__, __LINE__, "nobody stops this task");
	}
}

static void use_the_group_when_woken(void *arg)
{
	int i;

	(void)arg;
	for (i = 1; i <= TRIES; i++) {
		CHECK_EQ(rt_sem_p(&wake_high, TM_INFINITE), 0);
		CHECK_EQ(rt_event_signal(&event, 4), 0);
		CHECK_EQ(rt_event_clear(&event, 4, NULL), 0);
		__atomic_store_n(&high_has_run, i, __ATOMIC_RELEASE);
	}
}

/* Interrupts the low task anywhere, wakes the high one, and keeps the CPU until that has used the group. */
static void interrupt_and_compute(void *arg)
{
	unsigned state = 17;
	int i;

	(void)arg;
	for (i = 1; i <= TRIES; i++) {
		long long start;

		CHECK_EQ(rt_task_sleep(100000 + next_random(&state) % 100000), 0);
		CHECK_EQ(rt_sem_v(&wake_high), 0);
		start = kit_now();
		while (__atomic_load_n(&high_has_run, __ATOMIC_ACQUIRE) != i)
			if (kit_now() - start > 3000 * MS)
				kit_fail(__FILE__, __LINE__, "the low task holds up the high one, and runs not itself");
	}
	/* Here: on this one CPU the low task leaves no time to threads without a priority. */
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
}

static void holder_of_the_lock_inherits_priority(void)
{
	RT_TASK low, medium, high;
	struct event_waiter waiter;

	MAKE_EVENT(&event, 0, EV_PRIO);
	CHECK_EQ(rt_sem_create(&wake_high, NULL, 0, S_FIFO), 0);
	await(&waiter, &event, 1, EV_ALL, 5, "waiter");
	kit_spawn(&high, 30, use_the_group_when_woken, NULL);
	kit_spawn(&medium, 20, interrupt_and_compute, NULL);
	kit_spawn(&low, 10, use_the_group, NULL);
	kit_join(&medium);
	kit_join(&high);
	kit_join(&low);
	CHECK(low_turns > TRIES);
	CHECK_EVENT(&event, 0, 1);
	CHECK_EQ(rt_event_signal(&event, 1), 0);
	CHECK_ENDED(&waiter, 0, 1);
}

KIT_CASES(
	CASE(every_signal_reaches_who_is_queued), CASE(items_are_conserved_amid_timeouts_and_unblocks),
	CASE(nobody_is_forgotten_at_a_rendezvous), CASE(waiters_are_deleted_at_random),
	CASE(services_stand_a_deletion_at_any_time), CASE_KERNEL(holder_of_the_lock_inherits_priority))
