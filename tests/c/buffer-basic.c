/* Reading and writing where nobody else waits: order, limits, time-outs, callers (buffer.md 4, 9.2 to 9.8, 9.22, 9.23). */
#include "kit.h"
#include "buffer-kit.h"
#include "tasks.h"

static RT_BUFFER bf;

static const struct timespec zero = { 0, 0 }, past = { 0, 1 }, far = { 1000000000, 0 }, negative = { -5, 0 };
static const struct timespec bad[] = { { 1, 1000000000 }, { 1, 2000000000 }, { 1, -1 }, { 0, -1 } };

/* --- Size zero ---------------------------------------------------------------------------------------------------- */

static void move_nothing(void *arg)
{
	RT_BUFFER zeroed = { 0 }, garbage = { 0x12345678 }, *const targets[] = { &bf, NULL, &zeroed, &garbage };
	char data[1] = "x";
	int i, k;

	(void)arg;
	for (i = 0; i < 4; i++) {
		CHECK_EQ(rt_buffer_read(targets[i], NULL, 0, TM_INFINITE), 0);
		CHECK_EQ(rt_buffer_read(targets[i], data, 0, TM_NONBLOCK), 0);
		CHECK_EQ(rt_buffer_read(targets[i], NULL, 0, MS), 0);
		CHECK_EQ(rt_buffer_read_until(targets[i], NULL, 0, 1), 0);
		CHECK_EQ(rt_buffer_read_timed(targets[i], NULL, 0, NULL), 0);
		CHECK_EQ(rt_buffer_write(targets[i], NULL, 0, TM_INFINITE), 0);
		CHECK_EQ(rt_buffer_write(targets[i], data, 0, TM_NONBLOCK), 0);
		CHECK_EQ(rt_buffer_write(targets[i], NULL, 0, MS), 0);
		CHECK_EQ(rt_buffer_write_until(targets[i], NULL, 0, 1), 0);
		CHECK_EQ(rt_buffer_write_timed(targets[i], NULL, 0, NULL), 0);
		for (k = 0; k < 4; k++) {
			CHECK_EQ(rt_buffer_read_timed(targets[i], NULL, 0, &bad[k]), 0);
			CHECK_EQ(rt_buffer_write_timed(targets[i], NULL, 0, &bad[k]), 0);
		}
	}
}

/* buffer.md 9.2 */
static void size_zero_is_zero(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	move_nothing(NULL);
	kit_plain(move_nothing, NULL);
	as_task(10, move_nothing, NULL);
	CHECK_BUFFER(&bf, 0, 0, 0);
	PUT(&bf, "full");
	kit_plain(move_nothing, NULL);
	CHECK_BUFFER(&bf, 4, 0, 0);
	GET(&bf, "full");
	CHECK_EQ(rt_buffer_delete(&bf), 0);
	move_nothing(NULL);
}

/* --- Limits ------------------------------------------------------------------------------------------------------- */

static void move_too_much(void *arg)
{
	static const size_t sizes[] = { 9, 10, 1000, (size_t)1 << 31, (size_t)1 << 32, ((size_t)1 << 32) + 1, SIZE_MAX / 2, SIZE_MAX };
	static char data[16];
	int i;

	(void)arg;
	for (i = 0; i < 8; i++) {
		CHECK_EQ(rt_buffer_read(&bf, data, sizes[i], TM_NONBLOCK), -EINVAL);
		CHECK_EQ(rt_buffer_read(&bf, data, sizes[i], TM_INFINITE), -EINVAL);
		CHECK_EQ(rt_buffer_read_until(&bf, data, sizes[i], 1), -EINVAL);
		CHECK_EQ(rt_buffer_read_timed(&bf, data, sizes[i], &bad[0]), -EINVAL);
		CHECK_EQ(rt_buffer_write(&bf, data, sizes[i], TM_NONBLOCK), -EINVAL);
		CHECK_EQ(rt_buffer_write(&bf, data, sizes[i], MS), -EINVAL);
		CHECK_EQ(rt_buffer_write_until(&bf, data, sizes[i], TM_INFINITE), -EINVAL);
		CHECK_EQ(rt_buffer_write_timed(&bf, data, sizes[i], &zero), -EINVAL);
	}
}

/* buffer.md 9.3 */
static void more_than_the_buffer(void)
{
	MAKE_BUFFER(&bf, 8, B_FIFO);
	move_too_much(NULL);
	PUT(&bf, "12345678");
	move_too_much(NULL);
	kit_plain(move_too_much, NULL);
	CHECK_BUFFER(&bf, 8, 0, 0);
	GET(&bf, "12345678");
}

static void no_pointer(void)
{
	MAKE_BUFFER(&bf, 8, B_FIFO);
	PUT(&bf, "1234");
	CHECK_EQ(rt_buffer_read(&bf, NULL, 4, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_buffer_write(&bf, NULL, 4, TM_NONBLOCK), -EINVAL);
	CHECK_BUFFER(&bf, 4, 0, 0);
	GET(&bf, "1234");
}

/* buffer.md 9.4 */
static void full_to_the_last_byte(void)
{
	RT_BUFFER_INFO info;

	MAKE_BUFFER(&bf, 8, B_FIFO);
	PUT(&bf, "12345678");
	CHECK_EQ(rt_buffer_write(&bf, "9", 1, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_buffer_inquire(&bf, &info), 0);
	CHECK_EQ(info.availmem, 0);
	CHECK_EQ(info.totalmem, 8);
	GET(&bf, "12345678");
	PUT(&bf, "123456");
	CHECK_EQ(rt_buffer_write(&bf, "789", 3, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_BUFFER(&bf, 6, 0, 0); /* nothing of it */
	PUT(&bf, "78");
	GET(&bf, "12345678");
}

/* buffer.md 9.5, and any other place of the seam */
static void records_wrap_intact(void)
{
	char record[ROOM], got[ROOM];
	size_t size, length;
	unsigned i, k, serial = 0, expected = 0;

	for (size = 1; size <= 17; size++) {
		for (length = 1; length <= size; length++) {
			MAKE_BUFFER(&bf, size, B_FIFO);
			for (i = 0; i < 40; i++) {
				for (k = 0; k < length; k++)
					record[k] = (char)serial++;
				CHECK_EQ(rt_buffer_write(&bf, record, length, TM_NONBLOCK), length);
				memset(got, 0x5a, sizeof(got));
				CHECK_EQ(rt_buffer_read(&bf, got, length, TM_NONBLOCK), length);
				for (k = 0; k < length; k++)
					CHECK_EQ((unsigned char)got[k], (unsigned char)expected++);
				CHECK_EQ(got[length], 0x5a);
			}
			CHECK_BUFFER(&bf, 0, 0, 0);
			CHECK_EQ(rt_buffer_delete(&bf), 0);
		}
	}
}

/* buffer.md 9.6 */
static void poll_reads_all_or_nothing(void)
{
	char data[8] = "abcdefg";

	MAKE_BUFFER(&bf, 8, B_FIFO);
	PUT(&bf, "123");
	CHECK_EQ(rt_buffer_read(&bf, data, 4, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_buffer_read_until(&bf, data, 4, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_buffer_read_timed(&bf, data, 4, &zero), -EWOULDBLOCK);
	CHECK_STR(data, "abcdefg");
	CHECK_BUFFER(&bf, 3, 0, 0);
	GET(&bf, "123");
}

/* buffer.md 9.7 */
static void timed_read_consumes_nothing(void)
{
	char data[8] = "abcdefg";
	long long start = kit_now();
	struct timespec date;

	MAKE_BUFFER(&bf, 8, B_FIFO);
	PUT(&bf, "123");
	CHECK_EQ(rt_buffer_read(&bf, data, 4, 10 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= (long long)(10 * MS));
	start = kit_now();
	CHECK_EQ(rt_buffer_read_until(&bf, data, 4, rt_timer_read() + 5 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= (long long)(5 * MS));
	clock_gettime(CLOCK_MONOTONIC, &date);
	date.tv_sec += 1;
	CHECK_EQ(rt_buffer_read_timed(&bf, data, 3, &date), 3);
	memset(data, 0, 8);
	PUT(&bf, "123");
	start = kit_now();
	CHECK_EQ(rt_buffer_read_timed(&bf, data, 4, alchemy_rel_timeout(5 * MS, &date)), -ETIMEDOUT);
	CHECK(kit_now() - start >= (long long)(5 * MS));
	CHECK_EQ(data[0], 0);
	CHECK_BUFFER(&bf, 3, 0, 0);
	GET(&bf, "123");
}

static void timed_write_stores_nothing(void)
{
	long long start = kit_now();
	struct timespec date;

	MAKE_BUFFER(&bf, 4, B_FIFO);
	PUT(&bf, "123");
	CHECK_EQ(rt_buffer_write(&bf, "ab", 2, 10 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= (long long)(10 * MS));
	start = kit_now();
	CHECK_EQ(rt_buffer_write_until(&bf, "ab", 2, rt_timer_read() + 5 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= (long long)(5 * MS));
	start = kit_now();
	CHECK_EQ(rt_buffer_write_timed(&bf, "ab", 2, alchemy_rel_timeout(5 * MS, &date)), -ETIMEDOUT);
	CHECK(kit_now() - start >= (long long)(5 * MS));
	CHECK_BUFFER(&bf, 3, 0, 0);
	PUT(&bf, "4");
	GET(&bf, "1234");
}

/* buffer.md 9.8 */
static void no_borders_between_records(void)
{
	char data[8] = "";
	int i;

	MAKE_BUFFER(&bf, 8, B_FIFO);
	PUT(&bf, "abcd");
	PUT(&bf, "ef");
	GET(&bf, "abcdef");
	PUT(&bf, "abcd");
	PUT(&bf, "ef");
	for (i = 0; i < 6; i++)
		CHECK_EQ(rt_buffer_read(&bf, &data[i], 1, TM_INFINITE), 1);
	CHECK_STR(data, "abcdef");
}

/* --- Dates -------------------------------------------------------------------------------------------------------- */

/* buffer.md 9.23; common.md 14.16 */
static void dates_count_only_when_waiting(void)
{
	char data[8];
	int i;

	MAKE_BUFFER(&bf, 4, B_FIFO);
	CHECK_EQ(rt_buffer_write_until(&bf, "a", 1, 1), 1);
	CHECK_EQ(rt_buffer_write_timed(&bf, "b", 1, &past), 1);
	CHECK_EQ(rt_buffer_write_timed(&bf, "c", 1, &negative), 1);
	CHECK_EQ(rt_buffer_write_timed(&bf, "d", 1, &bad[0]), 1);
	CHECK_EQ(rt_buffer_write_until(&bf, "e", 1, 1), -ETIMEDOUT);
	CHECK_EQ(rt_buffer_write_timed(&bf, "e", 1, &past), -ETIMEDOUT);
	CHECK_EQ(rt_buffer_write_timed(&bf, "e", 1, &negative), -ETIMEDOUT);
	CHECK_EQ(rt_buffer_write_timed(&bf, "e", 1, &zero), -EWOULDBLOCK);
	for (i = 0; i < 3; i++)
		CHECK_EQ(rt_buffer_write_timed(&bf, "e", 1, &bad[i]), -EINVAL);
	CHECK_BUFFER(&bf, 4, 0, 0);
	CHECK_EQ(rt_buffer_read_until(&bf, data, 1, 1), 1);
	CHECK_EQ(rt_buffer_read_timed(&bf, data, 1, &past), 1);
	CHECK_EQ(rt_buffer_read_timed(&bf, data, 1, &bad[1]), 1);
	CHECK_EQ(rt_buffer_read_timed(&bf, data, 1, &far), 1);
	CHECK_EQ(rt_buffer_read_until(&bf, data, 1, 1), -ETIMEDOUT);
	CHECK_EQ(rt_buffer_read_timed(&bf, data, 1, &past), -ETIMEDOUT);
	CHECK_EQ(rt_buffer_read_timed(&bf, data, 1, &negative), -ETIMEDOUT);
	CHECK_EQ(rt_buffer_read_timed(&bf, data, 1, &zero), -EWOULDBLOCK);
	for (i = 0; i < 3; i++)
		CHECK_EQ(rt_buffer_read_timed(&bf, data, 1, &bad[i]), -EINVAL);
	CHECK_BUFFER(&bf, 0, 0, 0);
}

/* --- Callers ------------------------------------------------------------------------------------------------------ */

static void plain_thread(void *arg)
{
	RT_BUFFER mine, bound;
	char data[8] = "";

	(void)arg;
	CHECK_EQ(rt_buffer_create(&mine, "plain", 4, B_PRIO), 0);
	CHECK_EQ(rt_buffer_read(&mine, data, 1, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_buffer_read(&mine, data, 1, MS), -EPERM);
	CHECK_EQ(rt_buffer_read(&mine, data, 1, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_buffer_read_until(&mine, data, 1, rt_timer_read() + MS), -EPERM);
	CHECK_EQ(rt_buffer_read_timed(&mine, data, 1, NULL), -EPERM);
	CHECK_EQ(rt_buffer_write(&mine, "1234", 4, TM_INFINITE), 4);
	CHECK_EQ(rt_buffer_write(&mine, "5", 1, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_buffer_write(&mine, "5", 1, MS), -EPERM);
	CHECK_EQ(rt_buffer_write(&mine, "5", 1, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_buffer_write_timed(&mine, "5", 1, &far), -EPERM);
	CHECK_BUFFER(&mine, 4, 0, 0);
	CHECK_EQ(rt_buffer_read(&mine, data, 4, TM_INFINITE), 4);
	CHECK_STR(data, "1234");
	CHECK_EQ(rt_buffer_read(NULL, data, 4, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_buffer_clear(&mine), 0);
	CHECK_EQ(rt_buffer_bind(&bound, "plain", TM_INFINITE), 0);
	CHECK_EQ(rt_buffer_bind(&bound, "absent", TM_INFINITE), -EPERM);
	CHECK_EQ(rt_buffer_bind(&bound, "absent", MS), -EPERM);
	CHECK_EQ(rt_buffer_bind(&bound, "absent", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_buffer_delete(&mine), 0);
}

/* buffer.md 9.22 */
static void plain_threads_do_not_wait(void)
{
	kit_plain(plain_thread, NULL);
}

static int readers(void)
{
	RT_BUFFER_INFO info;

	CHECK_EQ(rt_buffer_inquire(&bf, &info), 0);
	return info.iwaiters;
}

static void give_four(void *arg)
{
	(void)arg;
	until(readers() == 1);
	PUT(&bf, "1234");
}

static void initial_thread_waits(void)
{
	char data[8] = "";
	RT_TASK task;

	MAKE_BUFFER(&bf, 4, B_PRIO);
	kit_spawn(&task, 0, give_four, NULL);
	CHECK_EQ(rt_buffer_read(&bf, data, 4, TM_INFINITE), 4);
	CHECK_STR(data, "1234");
	kit_join(&task);
}

static void clear_of_an_idle_buffer(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	CHECK_EQ(rt_buffer_clear(&bf), 0);
	PUT(&bf, "123");
	CHECK_EQ(rt_buffer_clear(&bf), 0);
	CHECK_BUFFER(&bf, 0, 0, 0);
	PUT(&bf, "abcd");
	GET(&bf, "abcd");
}

KIT_CASES(
	CASE(size_zero_is_zero), CASE(more_than_the_buffer), CASE(no_pointer), CASE(full_to_the_last_byte),
	CASE(records_wrap_intact), CASE(poll_reads_all_or_nothing), CASE(timed_read_consumes_nothing),
	CASE(timed_write_stores_nothing), CASE(no_borders_between_records), CASE(dates_count_only_when_waiting),
	CASE(plain_threads_do_not_wait), CASE(initial_thread_waits), CASE(clear_of_an_idle_buffer))
