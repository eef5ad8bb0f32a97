/* Waits on a buffer that end otherwise: deletion of the buffer or the task, unblock, time-out, suspension, a new priority
 * (buffer.md 6 rules 5 and 8, 7, 9.15, 9.20, 9.21; common.md 9). */
#include "kit.h"
#include "buffer-kit.h"
#include "tasks.h"

static RT_BUFFER bf;
static struct mover r, r2, r3, w, w2, w3;

/* --- The first leaves: the others get their chance ---------------------------------------------------------------- */

static int waits_still(struct mover *mover)
{
	return !is_over(mover);
}

/* buffer.md 9.15 */
static void second_reader_is_served_when_the_first_times_out(void)
{
	MAKE_BUFFER(&bf, 8, B_FIFO);
	start_timed_reader(&r, &bf, 10, NULL, 8, 300 * MS);
	PUT(&bf, "a");
	start_reader(&r2, &bf, 10, NULL, 2);
	PUT(&bf, "b");
	CHECK_EQ(end_mover(&r), -ETIMEDOUT);
	CHECK_EQ(end_mover(&r2), 2);
	CHECK_GOT(&r, "");
	CHECK_GOT(&r2, "ab");
	CHECK_BUFFER(&bf, 0, 0, 0);
}

/* buffer.md 6, rule 2: the second alone would fit, but is behind. */
static void second_reader_arrives_behind_the_first(void)
{
	MAKE_BUFFER(&bf, 8, B_FIFO);
	start_reader(&r, &bf, 10, NULL, 8);
	start_reader(&r2, &bf, 10, NULL, 2);
	PUT(&bf, "ab");
	CHECK_BUFFER(&bf, 2, 2, 0);
	CHECK(waits_still(&r2));
	CHECK_EQ(rt_task_unblock(&r.task), 0);
	CHECK_EQ(end_mover(&r), -EINTR);
	CHECK_EQ(end_mover(&r2), 2);
	CHECK_GOT(&r2, "ab");
	CHECK_BUFFER(&bf, 0, 0, 0);
}

static void second_reader_is_served_when_the_first_is_deleted(void)
{
	MAKE_BUFFER(&bf, 8, B_FIFO);
	start_reader(&r, &bf, 10, NULL, 8);
	start_reader(&r2, &bf, 10, NULL, 2);
	PUT(&bf, "ab");
	CHECK_EQ(rt_task_delete(&r.task), 0);
	CHECK_EQ(end_mover(&r2), 2);
	CHECK_GOT(&r2, "ab");
	CHECK_BUFFER(&bf, 0, 0, 0);
	kit_join(&r.task);
	CHECK(!is_over(&r));
}

static void two_writers_behind_each_other(RTIME timeout)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	PUT(&bf, "abc");
	start_timed_writer(&w, &bf, 10, NULL, "1234", timeout);
	/* Room for one: the second would fit, so it has to come while there is none. */
	PUT(&bf, "d");
	start_writer(&w2, &bf, 10, NULL, "5");
	GET(&bf, "a");
	CHECK(waits_still(&w2));
	CHECK_BUFFER(&bf, 3, 0, 2);
}

static void second_writer_is_served_when_the_first_leaves(void)
{
	two_writers_behind_each_other(TM_INFINITE);
	CHECK_EQ(rt_task_unblock(&w.task), 0);
	CHECK_EQ(end_mover(&w), -EINTR);
	CHECK_EQ(end_mover(&w2), 1);
	GET(&bf, "bcd5");

	CHECK_EQ(rt_buffer_delete(&bf), 0);
	two_writers_behind_each_other(TM_INFINITE);
	CHECK_EQ(rt_task_delete(&w.task), 0);
	CHECK_EQ(end_mover(&w2), 1);
	GET(&bf, "bcd5");
	CHECK_BUFFER(&bf, 0, 0, 0);
	kit_join(&w.task);
}

static void second_writer_is_served_when_the_first_times_out(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	PUT(&bf, "abcd");
	start_timed_writer(&w, &bf, 10, NULL, "1234", 300 * MS);
	start_writer(&w2, &bf, 10, NULL, "5");
	GET(&bf, "a");
	CHECK_EQ(end_mover(&w), -ETIMEDOUT);
	CHECK_EQ(end_mover(&w2), 1);
	GET(&bf, "bcd5");
}

/* A priority moves the first behind the second: the gate opens (rules 1 and 5). */
static void new_priority_opens_the_gate(void)
{
	MAKE_BUFFER(&bf, 8, B_PRIO);
	start_reader(&r, &bf, 30, NULL, 8);
	start_reader(&r2, &bf, 20, NULL, 2);
	PUT(&bf, "ab");
	CHECK(waits_still(&r2));
	CHECK_EQ(rt_task_set_priority(&r.task, 10), 0);
	CHECK_EQ(end_mover(&r2), 2);
	CHECK_GOT(&r2, "ab");
	PUT(&bf, "12345678");
	CHECK_EQ(end_mover(&r), 8);
}

/* --- Deletion of the buffer --------------------------------------------------------------------------------------- */

/* buffer.md 9.20 */
static void deletion_ends_all_waits(void)
{
	RT_BUFFER full;

	MAKE_BUFFER(&bf, 4, B_FIFO);
	start_reader(&r, &bf, 10, NULL, 4);
	start_reader(&r2, &bf, 20, NULL, 1);
	MAKE_BUFFER(&full, 4, B_FIFO);
	PUT(&full, "abcd");
	start_writer(&w, &full, 10, NULL, "1");
	start_writer(&w2, &full, 20, NULL, "2");
	CHECK_EQ(rt_buffer_delete(&bf), 0);
	CHECK_EQ(rt_buffer_delete(&full), 0);
	CHECK_EQ(end_mover(&r), -EIDRM);
	CHECK_EQ(end_mover(&r2), -EIDRM);
	CHECK_EQ(end_mover(&w), -EIDRM);
	CHECK_EQ(end_mover(&w2), -EIDRM);
	CHECK_GOT(&r, "");
	CHECK_EQ(rt_buffer_read(&bf, r.data, 1, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_buffer_write(&full, "x", 1, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_buffer_clear(&full), -EINVAL);
	CHECK_EQ(rt_buffer_delete(&bf), -EINVAL);
}

static void delete_under_three(void *arg)
{
	(void)arg;
	start_reader(&r, &bf, 60, "60", 1);
	start_reader(&r2, &bf, 80, "80", 1);
	start_reader(&r3, &bf, 70, "70", 1);
	CHECK_EQ(rt_buffer_delete(&bf), 0);
	mark("deleted");
}

static void deletion_readies_in_queue_order(void)
{
	int mode;

	for (mode = B_FIFO; mode <= B_PRIO; mode++) {
		MAKE_BUFFER(&bf, 4, mode);
		kit_boss(delete_under_three);
		CHECK_EQ(end_mover(&r), -EIDRM);
		CHECK_EQ(end_mover(&r2), -EIDRM);
		CHECK_EQ(end_mover(&r3), -EIDRM);
		expect_marks(mode == B_PRIO ? "80 70 60 deleted" : "60 80 70 deleted");
		clear_marks();
	}
}

static void grant_and_delete(void *arg)
{
	(void)arg;
	start_reader(&r, &bf, 10, NULL, 4);
	PUT(&bf, "abcd");
	CHECK_EQ(rt_buffer_delete(&bf), 0);
	mark("deleted");
}

/* decisions.md 32: what was granted carries its data. */
static void grant_survives_the_deletion(void)
{
	RT_BUFFER other;

	CHECK_EQ(rt_buffer_create(&bf, "grave", 4, B_FIFO), 0);
	kit_boss(grant_and_delete);
	CHECK_EQ(end_mover(&r), 4);
	CHECK_GOT(&r, "abcd");
	CHECK_EQ(rt_buffer_create(&other, "grave", 4, B_FIFO), 0);
	CHECK_BUFFER(&other, 0, 0, 0);
}

/* --- Unblock ------------------------------------------------------------------------------------------------------ */

/* buffer.md 9.21, 7 B1 */
static void unblock_reaches_its_target_only(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	PUT(&bf, "abcd");
	start_writer(&w, &bf, 10, NULL, "12");
	start_writer(&w2, &bf, 10, NULL, "34");
	start_writer(&w3, &bf, 10, NULL, "56");
	CHECK_EQ(rt_task_unblock(&w2.task), 0);
	CHECK_EQ(end_mover(&w2), -EINTR);
	CHECK_BUFFER(&bf, 4, 0, 2);
	CHECK(waits_still(&w) && waits_still(&w3));
	GET(&bf, "abcd");
	CHECK_EQ(end_mover(&w), 2);
	CHECK_EQ(end_mover(&w3), 2);
	GET(&bf, "1256");
}

static void unblock_a_reader_beside_others(void)
{
	MAKE_BUFFER(&bf, 8, B_FIFO);
	PUT(&bf, "ab");
	start_reader(&r, &bf, 10, NULL, 8);
	start_reader(&r2, &bf, 10, NULL, 4);
	CHECK_BUFFER(&bf, 2, 2, 0);
	CHECK_EQ(rt_task_unblock(&r2.task), 0);
	CHECK_EQ(end_mover(&r2), -EINTR);
	CHECK_GOT(&r2, "");
	CHECK_BUFFER(&bf, 2, 1, 0);
	CHECK(waits_still(&r));
	PUT(&bf, "cdefgh");
	CHECK_EQ(end_mover(&r), 8);
	CHECK_GOT(&r, "abcdefgh");
}

static void grant_then_unblock(void *arg)
{
	(void)arg;
	start_reader(&r, &bf, 10, NULL, 2);
	PUT(&bf, "ab");
	CHECK_EQ(rt_task_unblock(&r.task), 0);
	mark("done");
}

/* rule 8 */
static void grant_beats_unblock(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	kit_boss(grant_then_unblock);
	CHECK_EQ(end_mover(&r), 2);
	CHECK_GOT(&r, "ab");
}

static void grant_and_outlast_the_date(void *arg)
{
	RTIME date;

	(void)arg;
	start_timed_reader(&r, &bf, 10, NULL, 2, 200 * MS);
	date = rt_timer_read() + 200 * MS;
	PUT(&bf, "ab");
	while (rt_timer_read() < date + 10 * MS)
		;
}

static void grant_beats_the_date(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	kit_boss(grant_and_outlast_the_date);
	CHECK_EQ(end_mover(&r), 2);
	CHECK_GOT(&r, "ab");
}

/* --- Suspension --------------------------------------------------------------------------------------------------- */

static void suspended_reader_is_served(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	start_reader(&r, &bf, 10, NULL, 2);
	CHECK_EQ(rt_task_suspend(&r.task), 0);
	CHECK_BUFFER(&bf, 0, 1, 0);
	PUT(&bf, "ab");
	CHECK_BUFFER(&bf, 0, 0, 0);
	PUT(&bf, "cdef");
	kit_nap(2 * MS);
	CHECK(!is_over(&r));
	CHECK_EQ(rt_buffer_clear(&bf), 0);
	CHECK_EQ(rt_task_resume(&r.task), 0);
	CHECK_EQ(end_mover(&r), 2);
	CHECK_GOT(&r, "ab");
}

static void suspended_writer_is_served(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	PUT(&bf, "abcd");
	start_writer(&w, &bf, 10, NULL, "12");
	CHECK_EQ(rt_task_suspend(&w.task), 0);
	GET(&bf, "abcd");
	GET(&bf, "12");
	CHECK(!is_over(&w));
	CHECK_EQ(rt_task_resume(&w.task), 0);
	CHECK_EQ(end_mover(&w), 2);
	CHECK_BUFFER(&bf, 0, 0, 0);
}

static void suspended_waiter_times_out_and_is_unblocked(void)
{
	long long start = kit_now();

	MAKE_BUFFER(&bf, 4, B_FIFO);
	start_timed_reader(&r, &bf, 10, NULL, 2, 100 * MS);
	CHECK_EQ(rt_task_suspend(&r.task), 0);
	until(kit_now() - start > 130 * (long long)MS);
	CHECK(!is_over(&r));
	CHECK_EQ(rt_task_resume(&r.task), 0);
	CHECK_EQ(end_mover(&r), -ETIMEDOUT);
	start_reader(&r, &bf, 10, NULL, 2);
	CHECK_EQ(rt_task_suspend(&r.task), 0);
	CHECK_EQ(rt_task_unblock(&r.task), 0);
	CHECK_BUFFER(&bf, 0, 0, 0);
	PUT(&bf, "ab");
	CHECK(!is_over(&r));
	CHECK_EQ(rt_task_resume(&r.task), 0);
	CHECK_EQ(end_mover(&r), -EINTR);
	GET(&bf, "ab");
}

/* --- Deletion of a waiter ----------------------------------------------------------------------------------------- */

static void deleted_waiters_leave_no_trace(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	start_reader(&r, &bf, 10, NULL, 4);
	start_reader(&r2, &bf, 10, NULL, 2);
	CHECK_EQ(rt_task_delete(&r.task), 0);
	CHECK_BUFFER(&bf, 0, 1, 0);
	PUT(&bf, "ab");
	CHECK_EQ(end_mover(&r2), 2);
	CHECK_GOT(&r, "");
	kit_join(&r.task);

	PUT(&bf, "abcd");
	start_writer(&w, &bf, 10, NULL, "12");
	CHECK_EQ(rt_task_delete(&w.task), 0);
	CHECK_BUFFER(&bf, 4, 0, 0);
	GET(&bf, "abcd");
	CHECK_BUFFER(&bf, 0, 0, 0);
	kit_join(&w.task);
}

static void delete_while_suspended(void)
{
	MAKE_BUFFER(&bf, 4, B_FIFO);
	start_reader(&r, &bf, 10, NULL, 4);
	CHECK_EQ(rt_task_suspend(&r.task), 0);
	CHECK_EQ(rt_task_delete(&r.task), 0);
	kit_join(&r.task);
	CHECK_BUFFER(&bf, 0, 0, 0);
	PUT(&bf, "abcd");
	GET(&bf, "abcd");
}

/* --- Priorities --------------------------------------------------------------------------------------------------- */

static void raised_reader_moves_ahead(void)
{
	MAKE_BUFFER(&bf, 4, B_PRIO);
	start_reader(&r, &bf, 10, "r", 1);
	start_reader(&r2, &bf, 20, "r2", 1);
	start_reader(&r3, &bf, 30, "r3", 1);
	CHECK_EQ(rt_task_set_priority(&r.task, 40), 0);
	CHECK_EQ(rt_task_set_priority(&r3.task, 20), 0); /* behind its new equals */
	PUT(&bf, "a");
	until(mark_count() == 1);
	PUT(&bf, "b");
	until(mark_count() == 2);
	PUT(&bf, "c");
	CHECK_EQ(end_mover(&r), 1);
	CHECK_EQ(end_mover(&r2), 1);
	CHECK_EQ(end_mover(&r3), 1);
	expect_marks("r r2 r3");
}

static void raised_writer_moves_ahead(void)
{
	MAKE_BUFFER(&bf, 3, B_PRIO);
	PUT(&bf, "xyz");
	start_writer(&w, &bf, 10, NULL, "1");
	start_writer(&w2, &bf, 20, NULL, "2");
	start_writer(&w3, &bf, 30, NULL, "3");
	CHECK_EQ(rt_task_set_priority(&w.task, 40), 0);
	CHECK_EQ(rt_task_set_priority(&w3.task, 20), 0);
	GET(&bf, "xyz");
	CHECK_EQ(end_mover(&w), 1);
	CHECK_EQ(end_mover(&w2), 1);
	CHECK_EQ(end_mover(&w3), 1);
	GET(&bf, "123");
}

static void fifo_ignores_priorities(void)
{
	MAKE_BUFFER(&bf, 3, B_FIFO);
	PUT(&bf, "xyz");
	start_writer(&w, &bf, 10, NULL, "1");
	start_writer(&w2, &bf, 20, NULL, "2");
	CHECK_EQ(rt_task_set_priority(&w2.task, 60), 0);
	GET(&bf, "xyz");
	CHECK_EQ(end_mover(&w), 1);
	CHECK_EQ(end_mover(&w2), 1);
	GET(&bf, "12");
}

KIT_CASES(
	CASE(second_reader_is_served_when_the_first_times_out), CASE(second_reader_arrives_behind_the_first),
	CASE(second_reader_is_served_when_the_first_is_deleted), CASE(second_writer_is_served_when_the_first_leaves),
	CASE(second_writer_is_served_when_the_first_times_out), CASE(new_priority_opens_the_gate),
	CASE(deletion_ends_all_waits), CASE_FIFO(deletion_readies_in_queue_order), CASE(grant_survives_the_deletion),
	CASE(unblock_reaches_its_target_only), CASE(unblock_a_reader_beside_others), CASE_FIFO(grant_beats_unblock),
	CASE_FIFO(grant_beats_the_date), CASE(suspended_reader_is_served), CASE(suspended_writer_is_served),
	CASE(suspended_waiter_times_out_and_is_unblocked), CASE(deleted_waiters_leave_no_trace), CASE(delete_while_suspended),
	CASE(raised_reader_moves_ahead), CASE(raised_writer_moves_ahead), CASE(fifo_ignores_priorities))
