/* Buffers under load: the stream stays intact, nothing is lost or doubled, nobody hangs; deletion at any time; the lock of a
 * buffer inherits priorities; fork (buffer.md 9.24). */
#define KIT_STORM
#include "kit.h"
#include "buffer-kit.h"
#include "tasks.h"
#include "child.h"

static RT_BUFFER bf;

/* Priority 0 throughout, unless the case is about priorities: tasks share the CPUs fairly. */

/* --- One writer, one reader --------------------------------------------------------------------------------------- */

enum { BYTES = 200000 };

static unsigned char byte_at(unsigned long i)
{
	return (unsigned char)(i * 7 + i / 251);
}

static RTIME writer_timeout, reader_timeout;

static void write_stream(void *most_)
{
	unsigned most = (unsigned)(uintptr_t)most_, seed = 1;
	unsigned long sent = 0;
	char data[ROOM];
	size_t size, i;
	ssize_t result;

	while (sent < BYTES) {
		size = 1 + (size_t)rand_r(&seed) % most;
		if (size > BYTES - sent)
			size = BYTES - sent;
		for (i = 0; i < size; i++)
			data[i] = (char)byte_at(sent + i);
		result = rt_buffer_write(&bf, data, size, writer_timeout);
		if (result == -ETIMEDOUT && writer_timeout != TM_INFINITE)
			continue;
		CHECK_EQ(result, size);
		sent += size;
	}
}

static void read_stream(void *most_)
{
	unsigned most = (unsigned)(uintptr_t)most_, seed = 2;
	unsigned long got = 0;
	char data[ROOM];
	size_t size, i;
	ssize_t result;

	while (got < BYTES) {
		size = 1 + (size_t)rand_r(&seed) % most;
		if (size > BYTES - got)
			size = BYTES - got;
		result = rt_buffer_read(&bf, data, size, reader_timeout);
		if (result == -ETIMEDOUT && reader_timeout != TM_INFINITE)
			continue;
		CHECK(result > 0 && result <= (ssize_t)size);
		for (i = 0; i < (size_t)result; i++)
			CHECK_EQ((unsigned char)data[i], byte_at(got + i));
		got += (size_t)result;
	}
}

static void stream(size_t size, unsigned most, RTIME timeout_w, RTIME timeout_r)
{
	RT_TASK writer, reader;

	writer_timeout = timeout_w;
	reader_timeout = timeout_r;
	MAKE_BUFFER(&bf, size, B_FIFO);
	kit_spawn(&writer, 0, write_stream, (void *)(uintptr_t)most);
	kit_spawn(&reader, 0, read_stream, (void *)(uintptr_t)most);
	kit_join(&writer);
	kit_join(&reader);
	CHECK_BUFFER(&bf, 0, 0, 0);
	CHECK_EQ(rt_buffer_delete(&bf), 0);
}

/* buffer.md 9.24, also where every byte counts */
static void stream_is_intact(void)
{
	stream(16, 16, TM_INFINITE, TM_INFINITE);
	kit_unpin();
	stream(16, 16, TM_INFINITE, TM_INFINITE);
	stream(7, 7, TM_INFINITE, TM_INFINITE);
}

/* Time-outs at the rate of the grants: a byte is either moved or not. */
static void stream_is_intact_with_time_outs(void)
{
	kit_unpin();
	stream(16, 16, 20000, 20000);
	stream(16, 16, TM_INFINITE, 5000);
	stream(16, 16, 5000, TM_INFINITE);
}

/* --- Many of both ------------------------------------------------------------------------------------------------- */

/* A record of 8 bytes: who and what. Records are never torn, since all sizes are multiples of 8, nor reordered per writer. */
enum { WRITERS = 4, READERS = 4, RECORDS = 8000 };

struct record {
	unsigned writer, serial;
};

static unsigned taken[WRITERS], total, stop_reading;
static RTIME many_timeout;

static void write_records(void *number_)
{
	struct record record = { (unsigned)(uintptr_t)number_, 0 };

	while (record.serial < RECORDS) {
		ssize_t result = rt_buffer_write(&bf, &record, sizeof(record), many_timeout);

		if (result == -ETIMEDOUT && many_timeout != TM_INFINITE)
			continue;
		CHECK_EQ(result, sizeof(record));
		record.serial++;
	}
}

static unsigned char seen[WRITERS][RECORDS];

static void read_records(void *unused)
{
	unsigned last[WRITERS] = { 0 }, any[WRITERS] = { 0 };

	(void)unused;
	for (;;) {
		struct record record;
		ssize_t result = rt_buffer_read(&bf, &record, sizeof(record), 20000000);

		if (result == -ETIMEDOUT) {
			if (__atomic_load_n(&stop_reading, __ATOMIC_ACQUIRE))
				return;
			continue;
		}
		CHECK_EQ(result, sizeof(record));
		CHECK(record.writer < WRITERS && record.serial < RECORDS);
		CHECK(!any[record.writer] || record.serial > last[record.writer]);
		any[record.writer] = 1;
		last[record.writer] = record.serial;
		CHECK_EQ(__atomic_fetch_add(&seen[record.writer][record.serial], 1, __ATOMIC_RELAXED), 0);
		__atomic_fetch_add(&taken[record.writer], 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&total, 1, __ATOMIC_RELAXED);
	}
}

static void records(size_t size, int mode, RTIME timeout)
{
	RT_TASK writers[WRITERS], readers[READERS];
	int i;

	kit_unpin();
	many_timeout = timeout;
	MAKE_BUFFER(&bf, size, mode);
	for (i = 0; i < READERS; i++)
		kit_spawn(&readers[i], 0, read_records, NULL);
	for (i = 0; i < WRITERS; i++)
		kit_spawn(&writers[i], 0, write_records, (void *)(intptr_t)i);
	for (i = 0; i < WRITERS; i++)
		kit_join(&writers[i]);
	__atomic_store_n(&stop_reading, 1, __ATOMIC_RELEASE);
	for (i = 0; i < READERS; i++)
		kit_join(&readers[i]);
	for (i = 0; i < WRITERS; i++)
		CHECK_EQ(taken[i], RECORDS);
	CHECK_EQ(total, WRITERS * RECORDS);
	CHECK_BUFFER(&bf, 0, 0, 0);
}

static void records_are_conserved_fifo(void)
{
	records(24, B_FIFO, TM_INFINITE);
}

static void records_are_conserved_prio(void)
{
	records(8, B_PRIO, TM_INFINITE);
}

static void records_are_conserved_with_time_outs(void)
{
	records(16, B_PRIO, 10000);
}

/* --- Deletion at any time ----------------------------------------------------------------------------------------- */

static uintptr_t current;
static int stop;

static void hammer(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); i++) {
		RT_BUFFER_INFO info;
		RT_BUFFER mine;
		char data[8] = "abcdefg";
		ssize_t result;

		mine.handle = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
		switch (i % 6) {
		case 0:
			result = rt_buffer_write(&mine, data, 1 + i % 8, TM_NONBLOCK);
			CHECK(result > 0 || result == -EWOULDBLOCK || result == -EINVAL);
			break;
		case 1:
			result = rt_buffer_read(&mine, data, 1 + i % 8, TM_NONBLOCK);
			CHECK(result > 0 || result == -EWOULDBLOCK || result == -EINVAL);
			break;
		case 2:
			result = rt_buffer_read(&mine, data, 1 + i % 8, 20000);
			CHECK(result > 0 || result == -ETIMEDOUT || result == -EINVAL || result == -EIDRM);
			break;
		case 3:
			result = rt_buffer_write(&mine, data, 1 + i % 8, 20000);
			CHECK(result > 0 || result == -ETIMEDOUT || result == -EINVAL || result == -EIDRM);
			break;
		case 4:
			result = rt_buffer_clear(&mine);
			CHECK(result == 0 || result == -EINVAL);
			break;
		default:
			result = rt_buffer_inquire(&mine, &info);
			CHECK(result == 0 || result == -EINVAL);
			if (result == 0) {
				CHECK_STR(info.name, "target");
				CHECK_EQ(info.totalmem, 12);
				CHECK(info.availmem <= 12);
				CHECK(info.iwaiters >= 0 && info.owaiters >= 0 && info.iwaiters + info.owaiters <= 3);
			}
			break;
		}
	}
}

static void services_stand_a_deletion_at_any_time(void)
{
	RT_TASK hammers[4];
	RT_BUFFER target;
	int i;

	kit_unpin();
	for (i = 0; i < 4; i++)
		kit_spawn(&hammers[i], 0, hammer, NULL);
	for (i = 0; i < 2000; i++) {
		CHECK_EQ(rt_buffer_create(&target, "target", 12, i % 2 ? B_PRIO : B_FIFO), 0);
		__atomic_store_n(&current, target.handle, __ATOMIC_RELEASE);
		kit_nap(i % 8 * 10000);
		CHECK_EQ(rt_buffer_delete(&target), 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 4; i++)
		kit_join(&hammers[i]);
}

/* Unblocks rain on a stream; each call is either done or not. */
static void read_interrupted(void *unused)
{
	unsigned long got = 0;
	unsigned seed = 2;
	char data[ROOM];
	ssize_t result, i;

	(void)unused;
	while (got < BYTES / 4) {
		size_t size = 1 + (size_t)rand_r(&seed) % 16;

		if (size > BYTES / 4 - got)
			size = BYTES / 4 - got;
		result = rt_buffer_read(&bf, data, size, TM_INFINITE);
		if (result == -EINTR)
			continue;
		CHECK(result > 0);
		for (i = 0; i < result; i++)
			CHECK_EQ((unsigned char)data[i], byte_at(got + (unsigned long)i));
		got += (unsigned long)result;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
}

static void write_uninterrupted(void *unused)
{
	unsigned long sent;
	char data[5];
	int i;

	(void)unused;
	for (sent = 0; sent < BYTES / 4; sent += 5) {
		for (i = 0; i < 5; i++)
			data[i] = (char)byte_at(sent + (unsigned long)i);
		CHECK_EQ(rt_buffer_write(&bf, data, 5, TM_INFINITE), 5);
	}
}

static void unblocks_lose_nothing(void)
{
	RT_TASK writer, reader;

	kit_unpin();
	MAKE_BUFFER(&bf, 16, B_FIFO);
	kit_spawn(&reader, 0, read_interrupted, NULL);
	kit_spawn(&writer, 0, write_uninterrupted, NULL);
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		int result = rt_task_unblock(&reader);

		CHECK(result == 0 || result == -EINVAL);
		sched_yield();
	}
	kit_join(&writer);
	kit_join(&reader);
	CHECK_BUFFER(&bf, 0, 0, 0);
}

/* --- Priority inversion through the library's lock ---------------------------------------------------------------- */

enum { BLOCK = 1 << 20, ROUNDS = 40 };

static char block[BLOCK], other_block[BLOCK], third_block[BLOCK + 1];
static RT_SEM go_middle;
static int high_done, low_stop;

/* Has the buffer's lock most of the time. */
static void copy_for_ever(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&low_stop, __ATOMIC_ACQUIRE)) {
		CHECK_EQ(rt_buffer_write(&bf, block, BLOCK, TM_NONBLOCK), BLOCK);
		CHECK_EQ(rt_buffer_read(&bf, other_block, BLOCK, TM_NONBLOCK), BLOCK);
	}
}

/* Would keep the low task from giving the lock back. */
static void compute(void *arg)
{
	int i;

	(void)arg;
	for (i = 1; i <= ROUNDS; i++) {
		long long end;

		CHECK_EQ(rt_sem_p(&go_middle, TM_INFINITE), 0);
		end = kit_now() + 300 * (long long)MS;
		while (__atomic_load_n(&high_done, __ATOMIC_ACQUIRE) < i && kit_now() < end)
			;
		if (__atomic_load_n(&high_done, __ATOMIC_ACQUIRE) < i)
			kit_fail(__FILE__, __LINE__, "round %d: the middle task holds up the high one", i);
	}
}

static void ask_now_and_then(void *arg)
{
	RT_BUFFER_INFO info;
	int i;

	(void)arg;
	for (i = 1; i <= ROUNDS; i++) {
		CHECK_EQ(rt_task_sleep((RTIME)(500000 + i * 7777)), 0);
		CHECK_EQ(rt_sem_v(&go_middle), 0);
		if (i % 2)
			CHECK_EQ(rt_buffer_inquire(&bf, &info), 0);
		else
			CHECK_EQ(rt_buffer_read(&bf, third_block, BLOCK + 1, TM_NONBLOCK), -EWOULDBLOCK);
		__atomic_store_n(&high_done, i, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&low_stop, 1, __ATOMIC_RELEASE);
}

static void lock_inherits_priorities(void)
{
	RT_TASK low, middle, high;

	MAKE_BUFFER(&bf, BLOCK + 1, B_PRIO);
	CHECK_EQ(rt_sem_create(&go_middle, NULL, 0, S_FIFO), 0);
	memset(block, 'b', sizeof(block));
	kit_spawn_blocked(&middle, 20, compute, NULL);
	kit_spawn_blocked(&high, 40, ask_now_and_then, NULL);
	kit_spawn(&low, 5, copy_for_ever, NULL);
	kit_join(&high);
	kit_join(&middle);
	kit_join(&low);
}

/* --- fork --------------------------------------------------------------------------------------------------------- */

static void use_in_child(void *arg)
{
	(void)arg;
	CHECK_BUFFER(&bf, 3, 0, 0); /* the waiters have not come along */
	GET(&bf, "abc");
	PUT(&bf, "12345678");
	GET(&bf, "12345678");
	CHECK_EQ(rt_buffer_delete(&bf), 0);
	CHECK_EQ(rt_buffer_create(&bf, "forked", 4, B_FIFO), 0);
}

static void child_has_buffers_of_its_own(void)
{
	struct mover r;

	no_thread_sanitizer();
	CHECK_EQ(rt_buffer_create(&bf, "forked", 8, B_FIFO), 0);
	start_reader(&r, &bf, 10, NULL, 5);
	PUT(&bf, "abc");
	CHECK_EQ(in_child(use_in_child, NULL), 0);
	CHECK_BUFFER(&bf, 3, 1, 0);
	PUT(&bf, "de");
	CHECK_EQ(end_mover(&r), 5);
	CHECK_GOT(&r, "abcde");
}

KIT_CASES(
	CASE(stream_is_intact), CASE(stream_is_intact_with_time_outs), CASE(records_are_conserved_fifo),
	CASE(records_are_conserved_prio), CASE(records_are_conserved_with_time_outs),
	CASE(services_stand_a_deletion_at_any_time), CASE(unblocks_lose_nothing), CASE_FIFO(lock_inherits_priorities),
	CASE(child_has_buffers_of_its_own))
