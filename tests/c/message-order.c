/* Messages: whose comes first; waits that end otherwise; ends of tasks (task.md 4, 7.43, 7.47, 7.48; common.md 9). */
#include "kit.h"
#include "message-kit.h"

static struct client c[4];

/* --- Order -------------------------------------------------------------------------------------------------------- */

static void receive_twice(void *arg)
{
	int flow;

	(void)arg;
	start_client(&c[0], rt_task_self(), 60, "sixty", 4, TM_INFINITE);
	start_client(&c[1], rt_task_self(), 61, "sixty-one", 4, TM_INFINITE);
	flow = RECEIVE("sixty-one");
	CHECK_EQ(RECEIVE("sixty-one"), flow);
	CHECK(!client_over(&c[1]));
	REPLY(flow, 1, "61");
	CHECK_EQ(end_client(&c[1]), 2);
	flow = RECEIVE("sixty");
	REPLY(flow, 1, "60");
	CHECK_EQ(end_client(&c[0]), 2);
	check_no_message();
}

/* task.md 7.43 */
static void message_stays_first_until_answered(void)
{
	kit_boss(receive_twice);
}

static void receive_in_turn(void *arg)
{
	static const int prios[] = { 10, 20, 15, 20 };
	static const char *const texts[] = { "10", "20a", "15", "20b" }, *const order[] = { "20a", "20b", "15", "10" };
	int i;

	(void)arg;
	for (i = 0; i < 4; i++)
		start_client(&c[i], rt_task_self(), prios[i], texts[i], 4, TM_INFINITE);
	for (i = 0; i < 4; i++)
		REPLY(RECEIVE(order[i]), 0, "");
	for (i = 0; i < 4; i++)
		CHECK_EQ(end_client(&c[i]), 0);
}

static void senders_queue_by_priority(void)
{
	kit_boss(receive_in_turn);
}

static void overtake(void *arg)
{
	int low, high;

	(void)arg;
	start_client(&c[0], rt_task_self(), 10, "low", 4, TM_INFINITE);
	low = RECEIVE("low");
	start_client(&c[1], rt_task_self(), 20, "high", 4, TM_INFINITE);
	high = RECEIVE("high");
	CHECK(high != low);
	/* Both flows are open; in any order. */
	REPLY(low, 0, "lo");
	CHECK_EQ(end_client(&c[0]), 2);
	CHECK_EQ(RECEIVE("high"), high);
	REPLY(high, 0, "hi");
	CHECK_EQ(end_client(&c[1]), 2);
	CHECK_ANSWER(&c[0], "lo", 0);
	CHECK_ANSWER(&c[1], "hi", 0);
}

static void higher_sender_comes_before_an_open_flow(void)
{
	kit_boss(overtake);
}

static void change_priorities(void *arg)
{
	int flow;

	(void)arg;
	start_client(&c[0], rt_task_self(), 10, "a", 4, TM_INFINITE);
	start_client(&c[1], rt_task_self(), 20, "b", 4, TM_INFINITE);
	start_client(&c[2], rt_task_self(), 30, "c", 4, TM_INFINITE);
	CHECK_EQ(rt_task_set_priority(&c[0].task, 40), 0);
	CHECK_EQ(rt_task_set_priority(&c[2].task, 20), 0); /* behind its new equals */
	flow = RECEIVE("a");
	CHECK_EQ(rt_task_set_priority(&c[0].task, 5), 0); /* received, and still in the queue */
	REPLY(RECEIVE("b"), 0, "");
	REPLY(RECEIVE("c"), 0, "");
	CHECK_EQ(RECEIVE("a"), flow);
	REPLY(flow, 0, "");
	CHECK_EQ(end_client(&c[0]), 0);
	CHECK_EQ(end_client(&c[1]), 0);
	CHECK_EQ(end_client(&c[2]), 0);
}

static void new_priority_moves_a_sender(void)
{
	kit_boss(change_priorities);
}

static void serve_all(void *count_)
{
	int i;

	for (i = 0; i < *(int *)count_; i++) {
		char data[ROOM] = "";
		RT_TASK_MCB mcb = { 0, 0, data, ROOM - 1 };
		int flow = rt_task_receive(&mcb, TM_INFINITE);

		CHECK(flow > 0);
		mark(data);
		REPLY(flow, 0, "");
	}
}

/* A task not started, or suspended, gets its messages later. */
static void messages_to_dormant_and_suspended_tasks(void)
{
	RT_TASK server;
	int count = 2;

	CHECK_EQ(rt_task_create(&server, NULL, 0, 30, T_JOINABLE), 0);
	start_client(&c[0], &server, 10, "one", 4, TM_INFINITE);
	CHECK_EQ(rt_task_suspend(&server), 0);
	start_client(&c[1], &server, 20, "two", 4, TM_INFINITE);
	CHECK_EQ(rt_task_start(&server, serve_all, &count), 0);
	kit_nap(2 * MS);
	CHECK(!client_over(&c[0]) && !client_over(&c[1]));
	CHECK_EQ(rt_task_resume(&server), 0);
	kit_join(&server);
	CHECK_EQ(end_client(&c[0]), 0);
	CHECK_EQ(end_client(&c[1]), 0);
	expect_marks("two one");
}

static void serve_then_mark(void *arg)
{
	int flow;

	(void)arg;
	flow = RECEIVE("m");
	mark("received");
	REPLY(flow, 0, "");
	mark("replied");
}

static void exchange_on_one_cpu(int server_prio, int client_prio, const char *order)
{
	RT_TASK server;

	kit_spawn_blocked(&server, server_prio, serve_then_mark, NULL);
	prepare_client(&c[0], &server, "m", 4, TM_INFINITE);
	c[0].tag = "client";
	kit_spawn(&c[0].task, client_prio, client_body, &c[0]);
	CHECK_EQ(end_client(&c[0]), 0);
	kit_join(&server);
	expect_marks(order);
	clear_marks();
}

static void higher_side_runs_first(void)
{
	exchange_on_one_cpu(20, 10, "received replied client");
	exchange_on_one_cpu(10, 20, "received client replied");
}

/* --- Ends --------------------------------------------------------------------------------------------------------- */

static void return_with_senders(void *received)
{
	start_client(&c[0], rt_task_self(), 10, "one", 4, TM_INFINITE);
	start_client(&c[1], rt_task_self(), 20, "two", 4, TM_INFINITE);
	if (received)
		RECEIVE("two");
}

/* task.md 7.47 */
static void end_of_the_receiver(void)
{
	int received = 1;

	as_task(50, return_with_senders, NULL);
	CHECK_EQ(end_client(&c[0]), -EIDRM);
	CHECK_EQ(end_client(&c[1]), -EIDRM);
	as_task(50, return_with_senders, &received);
	CHECK_EQ(end_client(&c[0]), -EIDRM);
	CHECK_EQ(end_client(&c[1]), -EIDRM);
	CHECK_ANSWER(&c[1], "", -77);
}

static void receive_and_sleep(void *arg)
{
	(void)arg;
	RECEIVE("two");
	rt_task_sleep_until(TM_INFINITE);
}

static void deletion_of_the_receiver(void)
{
	RT_TASK server, dormant;

	kit_spawn_blocked(&server, 50, receive_and_sleep, NULL);
	start_client(&c[0], &server, 20, "two", 4, TM_INFINITE);
	start_client(&c[1], &server, 10, "one", 4, TM_INFINITE);
	CHECK_EQ(rt_task_delete(&server), 0);
	CHECK_EQ(end_client(&c[0]), -EIDRM);
	CHECK_EQ(end_client(&c[1]), -EIDRM);
	kit_join(&server);
	CHECK_EQ(rt_task_create(&dormant, NULL, 0, 10, 0), 0);
	start_client(&c[0], &dormant, 10, "x", 4, 10000 * MS);
	CHECK_EQ(rt_task_delete(&dormant), 0);
	CHECK_EQ(end_client(&c[0]), -EIDRM);
}

static void lose_a_received_one(void *arg)
{
	int flow;

	(void)arg;
	start_client(&c[0], rt_task_self(), 10, "gone", 4, TM_INFINITE);
	start_client(&c[1], rt_task_self(), 5, "next", 4, TM_INFINITE);
	flow = RECEIVE("gone");
	CHECK_EQ(rt_task_unblock(&c[0].task), 0);
	CHECK_EQ(end_client(&c[0]), -EINTR);
	CHECK_EQ(reply_text(flow, 1, "late"), -ENXIO);
	CHECK_ANSWER(&c[0], "", -77);
	/* The other was not disturbed. */
	CHECK(!client_over(&c[1]));
	flow = RECEIVE("next");
	REPLY(flow, 0, "");
	CHECK_EQ(end_client(&c[1]), 0);
}

/* task.md 7.48 */
static void unblock_of_a_received_sender(void)
{
	kit_boss(lose_a_received_one);
}

static void lose_queued_ones(void *arg)
{
	(void)arg;
	start_client(&c[0], rt_task_self(), 10, "unblocked", 4, TM_INFINITE);
	start_client(&c[1], rt_task_self(), 20, "deleted", 4, TM_INFINITE);
	start_client(&c[2], rt_task_self(), 30, "timed", 4, 100 * MS);
	start_client(&c[3], rt_task_self(), 5, "stays", 4, TM_INFINITE);
	CHECK_EQ(rt_task_unblock(&c[0].task), 0);
	CHECK_EQ(end_client(&c[0]), -EINTR);
	CHECK_EQ(rt_task_delete(&c[1].task), 0);
	kit_join(&c[1].task);
	CHECK_EQ(end_client(&c[2]), -ETIMEDOUT);
	REPLY(RECEIVE("stays"), 0, "");
	CHECK_EQ(end_client(&c[3]), 0);
	check_no_message();
}

static void senders_that_leave_take_their_message(void)
{
	kit_boss(lose_queued_ones);
}

static void lose_a_deleted_one(void *arg)
{
	int flow;

	(void)arg;
	start_client(&c[0], rt_task_self(), 10, "doomed", 4, TM_INFINITE);
	flow = RECEIVE("doomed");
	CHECK_EQ(rt_task_delete(&c[0].task), 0);
	CHECK_EQ(reply_text(flow, 0, "x"), -ENXIO);
	kit_join(&c[0].task);
	check_no_message();
}

static void deletion_of_a_received_sender(void)
{
	kit_boss(lose_a_deleted_one);
}

static int receive_result;

static void receive_in_vain(void *arg)
{
	char data[4];
	RT_TASK_MCB mcb = { 0, 0, data, 4 };

	(void)arg;
	receive_result = rt_task_receive(&mcb, TM_INFINITE);
}

static void unblock_and_deletion_of_a_receiver(void)
{
	RT_TASK server;

	kit_spawn_blocked(&server, 10, receive_in_vain, NULL);
	CHECK_EQ(rt_task_unblock(&server), 0);
	kit_join(&server);
	CHECK_EQ(receive_result, -EINTR);
	receive_result = 77;
	kit_spawn_blocked(&server, 10, receive_in_vain, NULL);
	CHECK_EQ(rt_task_delete(&server), 0);
	kit_join(&server);
	CHECK_EQ(receive_result, 77);
}

static void reply_and_outdo(void *arg)
{
	(void)arg;
	start_client(&c[0], rt_task_self(), 10, "x", 4, TM_INFINITE);
	REPLY(RECEIVE("x"), 5, "done");
	CHECK_EQ(rt_task_unblock(&c[0].task), 0);
}

/* common.md 9: a grant stands. decisions.md 32: also when the receiver ends before the sender runs. */
static void reply_beats_unblock_and_end(void)
{
	kit_boss(reply_and_outdo);
	CHECK_EQ(end_client(&c[0]), 4);
	CHECK_ANSWER(&c[0], "done", 5);
}

static void suspend_the_sender(void *arg)
{
	int flow;

	(void)arg;
	start_client(&c[0], rt_task_self(), 10, "x", 4, TM_INFINITE);
	CHECK_EQ(rt_task_suspend(&c[0].task), 0);
	flow = RECEIVE("x");
	REPLY(flow, 5, "done");
	kit_nap(2 * MS);
	CHECK(!client_over(&c[0]));
	CHECK_EQ(rt_task_resume(&c[0].task), 0);
	CHECK_EQ(end_client(&c[0]), 4);
	CHECK_ANSWER(&c[0], "done", 5);
}

static void suspended_sender_is_answered(void)
{
	kit_boss(suspend_the_sender);
}

static void suspended_receiver_gets_its_message(void)
{
	RT_TASK server;
	int count = 1;

	kit_spawn_blocked(&server, 30, serve_all, &count);
	CHECK_EQ(rt_task_suspend(&server), 0);
	start_client(&c[0], &server, 10, "later", 4, TM_INFINITE);
	kit_nap(2 * MS);
	CHECK(!client_over(&c[0]));
	CHECK_EQ(mark_count(), 0);
	CHECK_EQ(rt_task_resume(&server), 0);
	kit_join(&server);
	CHECK_EQ(end_client(&c[0]), 0);
	expect_marks("later");
}

static void states(void *arg)
{
	(void)arg;
	start_client(&c[0], rt_task_self(), 10, "x", 4, TM_INFINITE);
	start_client(&c[1], rt_task_self(), 10, "y", 4, 1000000 * MS);
	CHECK(kit_status(&c[0].task) & 0x20000);
	CHECK(kit_status(&c[1].task) & 0x40000);
	REPLY(RECEIVE("x"), 0, "");
	REPLY(RECEIVE("y"), 0, "");
	CHECK_EQ(end_client(&c[0]), 0);
	CHECK_EQ(end_client(&c[1]), 0);
}

/* task.md 4: WAIT or TIMEDWAIT until replied. */
static void status_of_senders(void)
{
	kit_boss(states);
}

KIT_CASES(
	CASE(message_stays_first_until_answered), CASE(senders_queue_by_priority), CASE(higher_sender_comes_before_an_open_flow),
	CASE(new_priority_moves_a_sender), CASE(messages_to_dormant_and_suspended_tasks), CASE_FIFO(higher_side_runs_first),
	CASE(end_of_the_receiver), CASE(deletion_of_the_receiver), CASE(unblock_of_a_received_sender),
	CASE(senders_that_leave_take_their_message), CASE(deletion_of_a_received_sender),
	CASE(unblock_and_deletion_of_a_receiver), CASE_FIFO(reply_beats_unblock_and_end), CASE(suspended_sender_is_answered),
	CASE(suspended_receiver_gets_its_message), CASE(status_of_senders))
