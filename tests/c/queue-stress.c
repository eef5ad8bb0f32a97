/* Queues under contention, on all CPUs: no message is lost or doubled, all memory comes back, whatever meets what. */
#define KIT_STORM
#define KIT_SECONDS 60
#include "kit.h"
#include "queue-kit.h"
#include "tasks.h"
#include "child.h"

/* Threads of priority 0 throughout: they share the CPUs fairly whatever their number. */

static RT_QUEUE queue;
static int stop;

static unsigned next_random(unsigned *state)
{
	*state = *state * 1103515245U + 12345U;
	return *state >> 16;
}

static void add(long long *total, long long value)
{
	__atomic_fetch_add(total, value, __ATOMIC_RELAXED);
}

/* ---- Conservation ------------------------------------------------------------------------------------------------- */

enum { PRODUCERS = 3, CONSUMERS = 3, EACH = 6000 };

/* A message: its number over and over, so that a torn one shows. */
enum { WORDS = 16 };

static long long sent, sent_sum, got, got_sum;
static int producers_left;
static unsigned char seen[PRODUCERS * EACH];

static void fill(unsigned *words, unsigned number, unsigned count)
{
	unsigned i;

	for (i = 0; i < count; i++)
		words[i] = number;
}

static void produce(void *number_)
{
	unsigned number = (unsigned)(uintptr_t)number_, state = number, words[WORDS], i;

	for (i = 0; i < EACH; i++) {
		unsigned tag = number * EACH + i, count = next_random(&state) % WORDS + 1;
		int mode = next_random(&state) % 8 ? Q_NORMAL : Q_URGENT, result;

		for (;;) {
			void *buf = i % 2 ? rt_queue_alloc(&queue, count * sizeof(unsigned)) : NULL;

			if (buf) {
				fill((unsigned *)buf, tag, count);
				result = rt_queue_send(&queue, buf, count * sizeof(unsigned), mode);
				if (result < 0)
					CHECK_EQ(rt_queue_free(&queue, buf), 0);
			} else {
				fill(words, tag, count);
				result = rt_queue_write(&queue, words, count * sizeof(unsigned), mode);
			}
			if (result >= 0)
				break;
			CHECK_EQ(result, -ENOMEM);
			sched_yield();
		}
		CHECK(result <= 1);
		add(&sent, 1);
		add(&sent_sum, tag);
	}
	__atomic_fetch_sub(&producers_left, 1, __ATOMIC_RELEASE);
}

static void account(const unsigned *words, ssize_t size)
{
	size_t i;

	CHECK(size > 0 && size % sizeof(unsigned) == 0 && size <= (ssize_t)(WORDS * sizeof(unsigned)));
	for (i = 1; i < (size_t)size / sizeof(unsigned); i++)
		CHECK_EQ(words[i], words[0]);
	CHECK(words[0] < PRODUCERS * EACH);
	CHECK_EQ(__atomic_fetch_add(&seen[words[0]], 1, __ATOMIC_RELAXED), 0);
	add(&got, 1);
	add(&got_sum, words[0]);
}

/* Polls, waits for about as long as it takes for the next to come, waits for a date; ends when nothing can come. */
static void consume(void *number)
{
	unsigned state = (unsigned)(uintptr_t)number + 100, words[WORDS];

	for (;;) {
		int last = __atomic_load_n(&producers_left, __ATOMIC_ACQUIRE) == 0;
		unsigned way = next_random(&state) % 6;
		RTIME delay = next_random(&state) % 20000 + 1;
		void *buf = NOWHERE;
		ssize_t size;

		if (way == 0)
			size = rt_queue_read(&queue, words, sizeof(words), TM_NONBLOCK);
		else if (way == 1)
			size = rt_queue_receive(&queue, &buf, TM_NONBLOCK);
		else if (way == 2)
			size = rt_queue_read_until(&queue, words, sizeof(words), rt_timer_read() + delay / 10);
		else if (way == 3)
			size = rt_queue_receive_until(&queue, &buf, rt_timer_read() + delay / 10);
		else if (way == 4)
			size = rt_queue_read(&queue, words, sizeof(words), delay);
		else
			size = rt_queue_receive(&queue, &buf, delay);
		if (size < 0) {
			CHECK_EQ(size, way < 2 ? -EWOULDBLOCK : -ETIMEDOUT);
			CHECK(buf == NOWHERE);
			if (last)
				return;
		} else if (way % 2) {
			account((unsigned *)buf, size);
			CHECK_EQ(rt_queue_free(&queue, buf), 0);
		} else {
			account(words, size);
		}
	}
}

static void conserve(int mode, size_t pool, size_t limit)
{
	RT_TASK tasks[PRODUCERS + CONSUMERS];
	int i;

	kit_unpin();
	MAKE_QUEUE(&queue, pool, limit, mode);
	producers_left = PRODUCERS;
	for (i = 0; i < CONSUMERS; i++)
		kit_spawn(&tasks[i], 0, consume, (void *)(uintptr_t)i);
	for (; i < CONSUMERS + PRODUCERS; i++)
		kit_spawn(&tasks[i], 0, produce, (void *)(uintptr_t)(i - CONSUMERS));
	for (i = 0; i < PRODUCERS + CONSUMERS; i++)
		kit_join(&tasks[i]);
	CHECK_EQ(sent, PRODUCERS * EACH);
	CHECK_EQ(got, sent);
	CHECK_EQ(got_sum, sent_sum);
	CHECK_QUEUE(&queue, 0, 0, 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
}

static void messages_are_conserved_in_a_short_queue(void)
{
	conserve(Q_FIFO, 1000, 3);
}

static void messages_are_conserved_in_a_small_pool(void)
{
	conserve(Q_PRIO, 2000, Q_UNLIMITED);
}

static void messages_are_conserved_with_room_for_all(void)
{
	conserve(Q_FIFO, 4 << 20, Q_UNLIMITED);
}

/* ---- Broadcast ---------------------------------------------------------------------------------------------------- */

static long long served, taken;

static void take_broadcasts(void *number)
{
	unsigned state = (unsigned)(uintptr_t)number, way = state % 3;
	unsigned words[WORDS];
	void *buf;

	for (;;) {
		RTIME delay = way == 2 ? next_random(&state) % 20000 + 1 : TM_INFINITE;
		ssize_t size = state % 2 ? rt_queue_read(&queue, words, sizeof(words), delay)
					 : rt_queue_receive(&queue, &buf, delay);
		int receives = !(state % 2);

		if (way != 2)
			next_random(&state);
		if (size == -EIDRM || size == -EINVAL)
			return;
		if (size == -ETIMEDOUT && way == 2)
			continue;
		CHECK_EQ(size, sizeof(words));
		add(&taken, 1);
		if (receives) {
			CHECK_EQ(((unsigned *)buf)[0], ((unsigned *)buf)[WORDS - 1]);
			CHECK_EQ(rt_queue_free(&queue, buf), 0);
		} else {
			CHECK_EQ(words[0], words[WORDS - 1]);
		}
	}
}

/* As many take a message as a broadcast counted, each time. */
static void broadcasts_reach_as_many_as_they_say(void)
{
	long long end = kit_now() + 1500 * MS;
	unsigned words[WORDS], i;
	RT_TASK tasks[5];
	int result;

	kit_unpin();
	MAKE_QUEUE(&queue, 3000, Q_UNLIMITED, Q_PRIO);
	for (i = 0; i < 5; i++)
		kit_spawn(&tasks[i], 0, take_broadcasts, (void *)(uintptr_t)(i + 1));
	for (i = 0; kit_now() < end; i++) {
		fill(words, i, WORDS);
		if (i % 2) {
			void *buf = rt_queue_alloc(&queue, sizeof(words));

			if (!buf)
				continue;
			memcpy(buf, words, sizeof(words));
			result = rt_queue_send(&queue, buf, sizeof(words), Q_BROADCAST);
			if (result == 0)
				CHECK_EQ(rt_queue_free(&queue, buf), 0);
		} else {
			result = rt_queue_write(&queue, words, sizeof(words), Q_BROADCAST);
		}
		CHECK((result >= 0 && result <= 5) || result == -ENOMEM);
		if (result > 0)
			add(&served, result);
		if (i % 16 == 0)
			kit_nap(10000);
	}
	until(__atomic_load_n(&taken, __ATOMIC_RELAXED) == served);
	until(queue_used(&queue) == 0);
	CHECK(served > 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
	for (i = 0; i < 5; i++)
		kit_join(&tasks[i]);
	CHECK_EQ(taken, served);
}

/* ---- Frees that are none of theirs -------------------------------------------------------------------------------- */

enum { FREERS = 4, BLOCKS = 64, ROUNDS = 300 };

static void *blocks[BLOCKS];
static int round_open, round_done;
static long long freed;

static void free_all(void *arg)
{
	char local[64];
	int i, round;

	(void)arg;
	for (round = 1; round <= ROUNDS; round++) {
		while (__atomic_load_n(&round_open, __ATOMIC_ACQUIRE) < round)
			sched_yield();
		for (i = 0; i < BLOCKS; i++) {
			int result = rt_queue_free(&queue, blocks[i]);

			CHECK(result == 0 || result == -EINVAL);
			if (result == 0)
				add(&freed, 1);
			CHECK_EQ(rt_queue_free(&queue, local), -EINVAL);
			CHECK_EQ(rt_queue_free(&queue, (char *)blocks[i] + 8), -EINVAL);
			CHECK_EQ(rt_queue_send(&queue, local, 8, Q_NORMAL), -EINVAL);
		}
		__atomic_fetch_add(&round_done, 1, __ATOMIC_RELEASE);
	}
}

/* Who all free the same blocks: exactly one is told that it did. */
static void one_of_many_frees_wins(void)
{
	RT_TASK tasks[FREERS];
	int i, round;

	kit_unpin();
	MAKE_QUEUE(&queue, 100000, Q_UNLIMITED, Q_FIFO);
	for (i = 0; i < FREERS; i++)
		kit_spawn(&tasks[i], 0, free_all, NULL);
	for (round = 1; round <= ROUNDS; round++) {
		for (i = 0; i < BLOCKS; i++) {
			blocks[i] = rt_queue_alloc(&queue, (size_t)i * 20);
			CHECK(blocks[i] != NULL);
		}
		__atomic_store_n(&round_open, round, __ATOMIC_RELEASE);
		while (__atomic_load_n(&round_done, __ATOMIC_ACQUIRE) < round * FREERS)
			sched_yield();
		CHECK_EQ(freed, (long long)round * BLOCKS);
		CHECK_QUEUE(&queue, 0, 0, 0);
	}
	for (i = 0; i < FREERS; i++)
		kit_join(&tasks[i]);
}

/* ---- Waiters that are unblocked, suspended, deleted ---------------------------------------------------------------- */

static void read_for_ever(void *number)
{
	unsigned state = (unsigned)(uintptr_t)number, words[WORDS];

	for (;;) {
		RTIME delay = next_random(&state) % 4 ? TM_INFINITE : 1000;
		ssize_t size = rt_queue_read(&queue, words, sizeof(words), delay);

		if (size == -EIDRM || size == -EINVAL)
			return;
		CHECK(size == (ssize_t)sizeof(words) || size == -EINTR || size == -ETIMEDOUT);
		if (size > 0)
			CHECK_EQ(words[0], words[WORDS - 1]);
	}
}

static void *send_for_ever(void *arg)
{
	unsigned words[WORDS], i;

	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); i++) {
		int mode = i % 3 ? Q_NORMAL : Q_BROADCAST, result;

		fill(words, i, WORDS);
		result = rt_queue_write(&queue, words, sizeof(words), mode);
		CHECK(result >= 0 || result == -ENOMEM);
		if (result == -ENOMEM)
			sched_yield();
	}
	return arg;
}

/* Readers hold nothing: whatever becomes of them, all memory comes back. */
static void no_memory_is_lost_with_its_reader(void)
{
	long long end = kit_now() + 2000 * MS;
	unsigned state = 4711;
	RT_TASK tasks[4];
	pthread_t sender;
	int i;

	kit_unpin();
	MAKE_QUEUE(&queue, 4000, 10, Q_PRIO);
	for (i = 0; i < 4; i++)
		kit_spawn(&tasks[i], 0, read_for_ever, (void *)(uintptr_t)i);
	sender = start_thread(send_for_ever, NULL);
	while (kit_now() < end) {
		i = (int)(next_random(&state) % 4);
		switch (next_random(&state) % 4) {
		case 0:
			CHECK_EQ(rt_task_delete(&tasks[i]), 0);
			kit_join(&tasks[i]);
			kit_spawn(&tasks[i], 0, read_for_ever, (void *)(uintptr_t)i);
			break;
		case 1:
			CHECK_EQ(rt_task_suspend(&tasks[i]), 0);
			kit_nap(20000);
			CHECK_EQ(rt_task_resume(&tasks[i]), 0);
			break;
		case 2:
			CHECK_EQ(rt_task_unblock(&tasks[i]), 0);
			break;
		default:
			kit_nap(10000);
		}
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	CHECK_EQ(pthread_join(sender, NULL), 0);
	until(queue_waiters(&queue) == 4);
	CHECK_QUEUE(&queue, 4, 0, 0);
	CHECK_EQ(rt_queue_delete(&queue), 0);
	for (i = 0; i < 4; i++)
		kit_join(&tasks[i]);
}

/* ---- Deletion ----------------------------------------------------------------------------------------------------- */

static uintptr_t current;

/* Uses whatever queue was last announced, dead or not. */
static void hammer(void *number)
{
	unsigned state = (unsigned)(uintptr_t)number;
	char room[64];

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		RT_QUEUE_INFO info;
		RT_QUEUE mine;
		ssize_t result;
		void *buf;

		mine.handle = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
		switch (next_random(&state) % 6) {
		case 0:
			result = rt_queue_write(&mine, room, sizeof(room), (int)(next_random(&state) % 4));
			CHECK((result >= 0 && result <= 3) || result == -EINVAL || result == -ENOMEM);
			break;
		case 1:
			/* Not written to: the queue may be gone by now, and its memory with it. */
			buf = rt_queue_alloc(&mine, 40);
			result = buf ? rt_queue_send(&mine, buf, 40, Q_NORMAL) : 0;
			CHECK(result == 0 || result == 1 || result == -EINVAL || result == -ENOMEM);
			if (result == -ENOMEM)
				CHECK((result = rt_queue_free(&mine, buf)) == 0 || result == -EINVAL);
			break;
		case 2:
			result = rt_queue_read(&mine, room, sizeof(room), 20000);
			CHECK((result > 0 && result <= 64) || result == -ETIMEDOUT || result == -EINVAL || result == -EIDRM);
			break;
		case 3:
			result = rt_queue_receive(&mine, &buf, 20000);
			CHECK((result > 0 && result <= 64) || result == -ETIMEDOUT || result == -EINVAL || result == -EIDRM);
			if (result > 0)
				CHECK((result = rt_queue_free(&mine, buf)) == 0 || result == -EINVAL);
			break;
		case 4:
			result = rt_queue_flush(&mine);
			CHECK(result >= 0 || result == -EINVAL);
			break;
		default:
			result = rt_queue_inquire(&mine, &info);
			CHECK(result == 0 || result == -EINVAL);
			if (result == 0) {
				CHECK_STR(info.name, "target");
				CHECK(info.nwaiters >= 0 && info.nwaiters <= 3);
				CHECK(info.nmessages >= 0 && info.nmessages <= 5);
				CHECK(info.nwaiters == 0 || info.nmessages == 0); /* one snapshot */
				CHECK(info.usedmem <= info.poolsize);
			}
		}
	}
}

static void services_stand_a_deletion_at_any_time(void)
{
	long long end = kit_now() + 2000 * MS;
	RT_TASK hammers[3];
	RT_QUEUE target;
	int i;

	kit_unpin();
	for (i = 0; i < 3; i++)
		kit_spawn(&hammers[i], 0, hammer, (void *)(uintptr_t)i);
	for (i = 0; kit_now() < end; i++) {
		CHECK_EQ(rt_queue_create(&target, "target", 2000, 5, i % 2 ? Q_PRIO : Q_FIFO), 0);
		__atomic_store_n(&current, target.handle, __ATOMIC_RELEASE);
		kit_nap(i % 8 * 10000);
		CHECK_EQ(rt_queue_delete(&target), 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 3; i++)
		kit_join(&hammers[i]);
}

KIT_CASES(
	CASE(messages_are_conserved_in_a_short_queue), CASE(messages_are_conserved_in_a_small_pool),
	CASE(messages_are_conserved_with_room_for_all), CASE(broadcasts_reach_as_many_as_they_say), CASE(one_of_many_frees_wins),
	CASE(no_memory_is_lost_with_its_reader), CASE(services_stand_a_deletion_at_any_time))
