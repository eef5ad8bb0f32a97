/* Readers and writers that wait: short reads, who is served, in which order (buffer.md 5, 6, 9.9 to 9.19). */
#include "kit.h"
#include "buffer-kit.h"

static RT_BUFFER bf;
static struct mover r, r2, r3, w, w2, w3;

/* --- Short reads -------------------------------------------------------------------------------------------------- */

/* S=8, 1 stored, a writer waits with 8. */
static void one_stored_and_a_writer_of_eight(void)
{
	MAKE_BUFFER(&bf, 8, B_FIFO);
	PUT(&bf, "a");
	start_writer(&w, &bf, 10, NULL, "12345678");
	CHECK_BUFFER(&bf, 1, 0, 1);
}

/* buffer.md 9.9 */
static void reader_takes_what_there_is_when_a_writer_waits(void)
{
	char data[ROOM] = "";

	one_stored_and_a_writer_of_eight();
	CHECK_EQ(rt_buffer_read(&bf, data, 8, TM_INFINITE), 1);
	CHECK_STR(data, "a");
	CHECK_EQ(end_mover(&w), 8);
	CHECK_EQ(rt_buffer_read(&bf, data, 8, TM_INFINITE), 8);
	CHECK_STR(data, "12345678");
	CHECK_BUFFER(&bf, 0, 0, 0);
}

/* With a finite time-out, and by date. A past date does not sleep: what has to wait times out, unless it gets a short read. */
static void timed_reads_are_shortened_too(void)
{
	char data[ROOM] = "";

	one_stored_and_a_writer_of_eight();
	CHECK_EQ(rt_buffer_read(&bf, data, 8, 10000 * MS), 1);
	CHECK_EQ(end_mover(&w), 8);
	CHECK_EQ(rt_buffer_clear(&bf), 0);
	PUT(&bf, "ab");
	start_writer(&w, &bf, 10, NULL, "1234567");
	CHECK_EQ(rt_buffer_read_until(&bf, data, 3, rt_timer_read() + 10000 * MS), 2);
	CHECK_STR(data, "ab");
	CHECK_EQ(end_mover(&w), 7);
	CHECK_BUFFER(&bf, 7, 0, 0);
}

/* buffer.md 9.10 */
static void poll_is_never_short(void)
{
	char data[ROOM] = "zz";

	one_stored_and_a_writer_of_eight();
	CHECK_EQ(rt_buffer_read(&bf, data, 8, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_STR(data, "zz");
	CHECK(kit_blocked(&w.task));
	CHECK_BUFFER(&bf, 1, 0, 1);
	GET(&bf, "a");
	CHECK_EQ(end_mover(&w), 8);
}

/* S=8, a reader waits for 6, 4 stored. */
static void a_reader_of_six_and_four_stored(void)
{
	MAKE_BUFFER(&bf, 8, B_FIFO);
	start_reader(&r, &bf, 10, NULL, 6);
	PUT(&bf, "abcd");
	CHECK(kit_blocked(&r.task));
	CHECK_BUFFER(&bf, 4, 1, 0);
}

/* buffer.md 9.11 */
static void writer_that_must_wait_shortens_the_reader(void)
{
	a_reader_of_six_and_four_stored();
	CHECK_EQ(rt_buffer_write(&bf, "123456", 6, TM_INFINITE), 6);
	CHECK_EQ(end_mover(&r), 4);
	CHECK_GOT(&r, "abcd");
	CHECK_BUFFER(&bf, 6, 0, 0);
	GET(&bf, "123456");
}

/* buffer.md 9.12 */
static void polling_writer_disturbs_nobody(void)
{
	a_reader_of_six_and_four_stored();
	CHECK_EQ(rt_buffer_write(&bf, "123456", 6, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK(kit_blocked(&r.task));
	CHECK_BUFFER(&bf, 4, 1, 0);
	PUT(&bf, "xy");
	CHECK_EQ(end_mover(&r), 6);
	CHECK_GOT(&r, "abcdxy");
}

/* Only the first reader is shortened; the others wait on, and are served from what the writer stores. */
static void only_the_first_reader_is_shortened(void)
{
	MAKE_BUFFER(&bf, 8, B_FIFO);
	start_reader(&r, &bf, 10, NULL, 6);
	start_reader(&r2, &bf, 10, NULL, 8);
	PUT(&bf, "abcd");
	CHECK_BUFFER(&bf, 4, 2, 0);
	CHECK_EQ(rt_buffer_write(&bf, "123456", 6, TM_INFINITE), 6);
	CHECK_EQ(end_mover(&r), 4);
	CHECK_GOT(&r, "abcd");
	CHECK(kit_blocked(&r2.task));
	CHECK_BUFFER(&bf, 6, 1, 0);
	PUT(&bf, "78");
	CHECK_EQ(end_mover(&r2), 8);
	CHECK_GOT(&r2, "12345678");
}

/* No writer waits: the reader sleeps, with bytes stored. Nothing is stored: no short read, the writer fits. */
static void no_short_read_without_need(void)
{
	MAKE_BUFFER(&bf, 8, B_FIFO);
	PUT(&bf, "abc");
	start_reader(&r, &bf, 10, NULL, 4);
	CHECK_BUFFER(&bf, 3, 1, 0);
	PUT(&bf, "d");
	CHECK_EQ(end_mover(&r), 4);
	start_reader(&r, &bf, 10, NULL, 8);
	CHECK_EQ(rt_buffer_write(&bf, "1234", 4, TM_INFINITE), 4);
	CHECK(kit_blocked(&r.task));
	CHECK_EQ(rt_buffer_write(&bf, "5678", 4, TM_INFINITE), 4);
	CHECK_EQ(end_mover(&r), 8);
	CHECK_GOT(&r, "12345678");
}

/* --- Readers ------------------------------------------------------------------------------------------------------ */

/* buffer.md 9.13 */
static void small_reader_behind_a_large_one_waits(void)
{
	MAKE_BUFFER(&bf, 8, B_FIFO);
	start_reader(&r, &bf, 10, NULL, 4);
	start_reader(&r2, &bf, 10, NULL, 2);
	PUT(&bf, "ab");
	CHECK_BUFFER(&bf, 2, 2, 0);
	CHECK(!is_over(&r) && !is_over(&r2));
	PUT(&bf, "cd");
	CHECK_EQ(end_mover(&r), 4);
	CHECK_GOT(&r, "abcd");
	CHECK(kit_blocked(&r2.task));
	CHECK_BUFFER(&bf, 0, 1, 0);
	PUT(&bf, "ef");
	CHECK_EQ(end_mover(&r2), 2);
	CHECK_GOT(&r2, "ef");
}

/* buffer.md 9.14 */
static void those_that_fit_behind_the_first_are_served(void)
{
	MAKE_BUFFER(&bf, 8, B_FIFO);
	start_reader(&r, &bf, 10, NULL, 2);
	start_reader(&r2, &bf, 10, NULL, 6);
	start_reader(&r3, &bf, 10, NULL, 2);
	PUT(&bf, "abcd");
	CHECK_EQ(end_mover(&r), 2);
	CHECK_GOT(&r, "ab");
	CHECK_EQ(end_mover(&r3), 2);
	CHECK_GOT(&r3, "cd");
	CHECK(kit_blocked(&r2.task));
	CHECK_BUFFER(&bf, 0, 1, 0);
	/* It has kept its place: first, before a later one that would fit. */
	start_reader(&r, &bf, 10, NULL, 1);
	PUT(&bf, "12345");
	CHECK_BUFFER(&bf, 5, 2, 0);
	PUT(&bf, "6");
	CHECK_EQ(end_mover(&r2), 6);
	CHECK_GOT(&r2, "123456");
	PUT(&bf, "7");
	CHECK_EQ(end_mover(&r), 1);
	CHECK_GOT(&r, "7");
}

/* buffer.md 9.16 */
static void who_need_not_wait_does_not(void)
{
	MAKE_BUFFER(&bf, 8, B_FIFO);
	start_reader(&r, &bf, 10, NULL, 4);
	PUT(&bf, "ab");
	GET(&bf, "ab");
	CHECK_BUFFER(&bf, 0, 1, 0);
	PUT(&bf, "wxyz");
	CHECK_EQ(end_mover(&r), 4);
	CHECK_GOT(&r, "wxyz");
}

/* --- Writers ------------------------------------------------------------------------------------------------------ */

/* buffer.md 9.17 */
static void small_writer_behind_a_large_one_waits(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	PUT(&bf, "abcd");
	start_writer(&w, &bf, 10, NULL, "123");
	start_writer(&w2, &bf, 10, NULL, "4");
	GET(&bf, "a");
	CHECK_BUFFER(&bf, 3, 0, 2);
	GET(&bf, "bc");
	CHECK_EQ(end_mover(&w), 3);
	CHECK(kit_blocked(&w2.task));
	CHECK_BUFFER(&bf, 4, 0, 1);
	GET(&bf, "d1");
	CHECK_EQ(end_mover(&w2), 1);
	GET(&bf, "234");
}

static void those_writers_that_fit_behind_the_first_are_served(void)
{
	MAKE_BUFFER(&bf, 8, B_FIFO);
	PUT(&bf, "abcdefgh");
	start_writer(&w, &bf, 10, NULL, "12");
	start_writer(&w2, &bf, 10, NULL, "345678");
	start_writer(&w3, &bf, 10, NULL, "9");
	GET(&bf, "abc");
	CHECK_EQ(end_mover(&w), 2);
	CHECK_EQ(end_mover(&w3), 1);
	CHECK_BUFFER(&bf, 8, 0, 1);
	GET(&bf, "defgh1");
	CHECK_EQ(end_mover(&w2), 6);
	GET(&bf, "29345678");
}

/* A poll that fits goes before a writer that waits. */
static void writer_that_fits_does_not_wait(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	PUT(&bf, "abc");
	start_writer(&w, &bf, 10, NULL, "12");
	PUT(&bf, "d");
	CHECK_BUFFER(&bf, 4, 0, 1);
	GET(&bf, "ab");
	CHECK_EQ(end_mover(&w), 2);
	GET(&bf, "cd12");
}

/* One writer is served after another until a reader has all it wants, in one call. */
static void serving_goes_back_and_forth(void)
{
	char data[ROOM] = "";

	MAKE_BUFFER(&bf, 4, B_FIFO);
	PUT(&bf, "abcd");
	start_writer(&w, &bf, 10, NULL, "1234");
	start_writer(&w2, &bf, 10, NULL, "5678");
	CHECK_EQ(rt_buffer_read(&bf, data, 4, TM_NONBLOCK), 4);
	CHECK_STR(data, "abcd");
	CHECK_EQ(end_mover(&w), 4);
	CHECK_BUFFER(&bf, 4, 0, 1);
	GET(&bf, "1234");
	CHECK_EQ(end_mover(&w2), 4);
	GET(&bf, "5678");
}

/* buffer.md 9.19 */
static void clear_lets_writers_go_on(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	PUT(&bf, "abc");
	start_writer(&w, &bf, 10, NULL, "12");
	start_writer(&w2, &bf, 10, NULL, "345");
	CHECK_EQ(rt_buffer_clear(&bf), 0);
	CHECK_EQ(end_mover(&w), 2);
	CHECK_BUFFER(&bf, 2, 0, 1);
	GET(&bf, "12");
	CHECK_EQ(end_mover(&w2), 3);
	GET(&bf, "345");
}

/* A clear wakes no reader by itself. */
static void clear_leaves_readers_waiting(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	start_reader(&r, &bf, 10, NULL, 4);
	PUT(&bf, "abc");
	CHECK_EQ(rt_buffer_clear(&bf), 0);
	CHECK_BUFFER(&bf, 0, 1, 0);
	PUT(&bf, "1234");
	CHECK_EQ(end_mover(&r), 4);
	CHECK_GOT(&r, "1234");
}

/* --- Order -------------------------------------------------------------------------------------------------------- */

static void serve_readers(int mode, const char *order)
{
	MAKE_BUFFER(&bf, 4, mode);
	start_reader(&r, &bf, 10, "10", 1);
	start_reader(&r2, &bf, 20, "20", 1);
	start_reader(&r3, &bf, 15, "15", 1);
	PUT(&bf, "a");
	until(mark_count() == 1);
	PUT(&bf, "b");
	until(mark_count() == 2);
	PUT(&bf, "c");
	CHECK_EQ(end_mover(&r), 1);
	CHECK_EQ(end_mover(&r2), 1);
	CHECK_EQ(end_mover(&r3), 1);
	expect_marks(order);
	clear_marks();
	CHECK_EQ(rt_buffer_delete(&bf), 0);
}

static void order_of_readers(void)
{
	serve_readers(B_FIFO, "10 20 15");
	CHECK_GOT(&r, "a");
	CHECK_GOT(&r2, "b");
	CHECK_GOT(&r3, "c");
	serve_readers(B_PRIO, "20 15 10");
	CHECK_GOT(&r2, "a");
	CHECK_GOT(&r3, "b");
	CHECK_GOT(&r, "c");
}

static void serve_writers(int mode, const char *order, const char *stream)
{
	char data[ROOM] = "";

	MAKE_BUFFER(&bf, 3, mode);
	PUT(&bf, "xyz");
	start_writer(&w, &bf, 10, "10", "1");
	start_writer(&w2, &bf, 20, "20", "2");
	start_writer(&w3, &bf, 15, "15", "3");
	GET(&bf, "x");
	until(mark_count() == 1);
	GET(&bf, "y");
	until(mark_count() == 2);
	GET(&bf, "z");
	CHECK_EQ(end_mover(&w), 1);
	CHECK_EQ(end_mover(&w2), 1);
	CHECK_EQ(end_mover(&w3), 1);
	expect_marks(order);
	CHECK_EQ(rt_buffer_read(&bf, data, 3, TM_NONBLOCK), 3);
	CHECK_STR(data, stream);
	clear_marks();
	CHECK_EQ(rt_buffer_delete(&bf), 0);
}

/* buffer.md 9.18, and 7 B4 */
static void order_of_writers(void)
{
	serve_writers(B_FIFO, "10 20 15", "123");
	serve_writers(B_PRIO, "20 15 10", "231");
}

/* Several served by one call become ready in queue order, with the bytes in that order. */
static void release_three(void *arg)
{
	(void)arg;
	PUT(&bf, "abc");
	mark("put");
}

static void served_together(void)
{
	MAKE_BUFFER(&bf, 4, B_PRIO);
	start_reader(&r, &bf, 60, "60", 1);
	start_reader(&r2, &bf, 80, "80", 1);
	start_reader(&r3, &bf, 70, "70", 1);
	kit_boss(release_three);
	CHECK_EQ(end_mover(&r), 1);
	CHECK_EQ(end_mover(&r2), 1);
	CHECK_EQ(end_mover(&r3), 1);
	CHECK_GOT(&r2, "a");
	CHECK_GOT(&r3, "b");
	CHECK_GOT(&r, "c");
	if (kit_fifo())
		expect_marks("80 70 60 put");
}

static void write_then_read_back(void *arg)
{
	(void)arg;
	start_reader(&r, &bf, 10, NULL, 2);
	PUT(&bf, "ab");
	/* Granted already, though the reader has not run. */
	CHECK_BUFFER(&bf, 0, 0, 0);
	CHECK_EQ(rt_buffer_read(&bf, &(char){ 0 }, 1, TM_NONBLOCK), -EWOULDBLOCK);
	PUT(&bf, "cdef");
	CHECK_EQ(rt_buffer_clear(&bf), 0);
	PUT(&bf, "gh");
	mark("done");
}

/* The stream is as if served at once: newcomers neither get nor overwrite what was granted (buffer.md 6, rule 7). */
static void granted_bytes_are_out_of_reach(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	kit_boss(write_then_read_back);
	CHECK_EQ(end_mover(&r), 2);
	CHECK_GOT(&r, "ab");
	CHECK_BUFFER(&bf, 2, 0, 0);
	GET(&bf, "gh");
}

static void read_then_write_more(void *arg)
{
	(void)arg;
	start_writer(&w, &bf, 10, NULL, "123");
	GET(&bf, "abcd");
	/* The writer's bytes are in, though it has not run. */
	CHECK_BUFFER(&bf, 3, 0, 0);
	PUT(&bf, "e");
	GET(&bf, "123e");
}

static void granted_room_holds_the_bytes(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	PUT(&bf, "abcd");
	kit_boss(read_then_write_more);
	CHECK_EQ(end_mover(&w), 3);
	CHECK_BUFFER(&bf, 0, 0, 0);
}

KIT_CASES(
	CASE(reader_takes_what_there_is_when_a_writer_waits), CASE(timed_reads_are_shortened_too), CASE(poll_is_never_short),
	CASE(writer_that_must_wait_shortens_the_reader), CASE(polling_writer_disturbs_nobody),
	CASE(only_the_first_reader_is_shortened), CASE(no_short_read_without_need), CASE(small_reader_behind_a_large_one_waits),
	CASE(those_that_fit_behind_the_first_are_served), CASE(who_need_not_wait_does_not),
	CASE(small_writer_behind_a_large_one_waits), CASE(those_writers_that_fit_behind_the_first_are_served),
	CASE(writer_that_fits_does_not_wait), CASE(serving_goes_back_and_forth), CASE(clear_lets_writers_go_on),
	CASE(clear_leaves_readers_waiting), CASE(order_of_readers), CASE(order_of_writers), CASE(served_together),
	CASE(granted_bytes_are_out_of_reach), CASE(granted_room_holds_the_bytes))
