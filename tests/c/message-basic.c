/* Messages: exchange, sizes, errors, callers, polls (task.md 4, 7.41, 7.42, 7.44 to 7.46). */
#include "kit.h"
#include "message-kit.h"

static struct client c;
static RT_TASK server;

static const struct timespec zero = { 0, 0 }, past = { 0, 1 }, bad = { 1, 2000000000 };

/* --- Exchange ----------------------------------------------------------------------------------------------------- */

static void serve_once(void *arg)
{
	int flow;

	(void)arg;
	flow = RECEIVE("ping");
	REPLY(flow, 42, "pong");
	CHECK_EQ(reply_text(flow, 42, "pong"), -ENXIO); /* answered */
}

/* task.md 7.41: the server waits first. */
static void server_waits(void)
{
	kit_spawn_blocked(&server, 10, serve_once, NULL);
	prepare_client(&c, &server, "ping", 8, TM_INFINITE);
	kit_spawn(&c.task, 20, client_body, &c);
	CHECK_EQ(end_client(&c), 4);
	CHECK_ANSWER(&c, "pong", 42);
	CHECK_EQ(c.mcb_r.size, 4);
	kit_join(&server);
}

static void answer_the_waiting(void *arg)
{
	int flow;

	(void)arg;
	start_client(&c, rt_task_self(), 10, "hello", ROOM - 1, TM_INFINITE);
	flow = RECEIVE_NOW("hello");
	CHECK(!client_over(&c));
	REPLY(flow, 1, "a longer reply");
	CHECK_EQ(end_client(&c), 14);
	CHECK_ANSWER(&c, "a longer reply", 1);
	CHECK_EQ(c.mcb_r.size, 14);
	check_no_message();
}

static void client_waits(void)
{
	kit_boss(answer_the_waiting);
}

/* The initial thread may send. */
static void initial_thread_sends(void)
{
	char answer[8] = "";
	RT_TASK_MCB mcb_s = { 0, 7, (void *)"ping", 4 }, mcb_r = { 0, 0, answer, 8 };

	kit_spawn_blocked(&server, 10, serve_once, NULL);
	CHECK_EQ(rt_task_send(&server, &mcb_s, &mcb_r, TM_INFINITE), 4);
	CHECK_STR(answer, "pong");
	CHECK_EQ(mcb_r.opcode, 42);
	kit_join(&server);
}

static void empty_messages(void *arg)
{
	RT_TASK_MCB mcb = { 0, 9, NULL, 0 };
	int flow;

	(void)arg;
	/* No data either way; data pointers are not looked at. */
	prepare_client(&c, rt_task_self(), "", 0, TM_INFINITE);
	c.mcb_s.data = (void *)8;
	c.mcb_r.data = (void *)8;
	kit_spawn_blocked(&c.task, 10, client_body, &c);
	flow = rt_task_receive(&mcb, TM_NONBLOCK);
	CHECK(flow > 0);
	CHECK_EQ(mcb.size, 0);
	CHECK_EQ(mcb.opcode, 7);
	CHECK_EQ(rt_task_reply(flow, NULL), 0);
	CHECK_EQ(end_client(&c), 0);
	CHECK_EQ(c.mcb_r.opcode, 0);
	CHECK_EQ(c.mcb_r.size, 0);
	/* An empty reply to no block at all (task.md 7.44). */
	start_client(&c, rt_task_self(), 10, "x", -1, TM_INFINITE);
	flow = RECEIVE("x");
	CHECK_EQ(rt_task_reply(flow, NULL), 0);
	CHECK_EQ(end_client(&c), 0);
	start_client(&c, rt_task_self(), 10, "x", -1, TM_INFINITE);
	flow = RECEIVE("x");
	CHECK_EQ(rt_task_reply(flow, &(RT_TASK_MCB){ 0, 5, NULL, 0 }), 0);
	CHECK_EQ(end_client(&c), 0);
	/* Opcode of an empty reply. */
	start_client(&c, rt_task_self(), 10, "x", 4, TM_INFINITE);
	flow = RECEIVE("x");
	CHECK_EQ(rt_task_reply(flow, &(RT_TASK_MCB){ 0, 5, NULL, 0 }), 0);
	CHECK_EQ(end_client(&c), 0);
	CHECK_ANSWER(&c, "", 5);
}

static void empty_messages_and_replies(void)
{
	kit_boss(empty_messages);
}

static void send_large(void *arg)
{
	enum { LARGE = 1 << 20 };
	static char request[LARGE], got[LARGE], answer[LARGE];
	RT_TASK_MCB mcb = { 0, 0, got, LARGE }, reply = { 0, 3, got, LARGE };
	int flow, i;

	(void)arg;
	for (i = 0; i < LARGE; i++)
		request[i] = (char)(i * 31 + i / 997);
	prepare_client(&c, rt_task_self(), "", LARGE, TM_INFINITE);
	c.mcb_s.data = request;
	c.mcb_s.size = LARGE;
	c.mcb_r.data = answer;
	kit_spawn_blocked(&c.task, 10, client_body, &c);
	flow = rt_task_receive(&mcb, TM_NONBLOCK);
	CHECK(flow > 0);
	CHECK_EQ(mcb.size, LARGE);
	CHECK_SAME_BYTES(got, request, LARGE);
	CHECK_EQ(rt_task_reply(flow, &reply), 0);
	CHECK_EQ(end_client(&c), LARGE);
	CHECK_SAME_BYTES(answer, request, LARGE);
}

static void large_messages(void)
{
	kit_boss(send_large);
}

/* --- Sizes that do not fit ---------------------------------------------------------------------------------------- */

static void receive_with_little_room(void *arg)
{
	char data[ROOM] = "zzzzzz";
	RT_TASK_MCB mcb = { 0, 13, data, 2 };
	int flow;

	(void)arg;
	start_client(&c, rt_task_self(), 10, "ping", 8, TM_INFINITE);
	CHECK_EQ(rt_task_receive(&mcb, TM_INFINITE), -ENOBUFS);
	CHECK_EQ(mcb.size, 4);
	CHECK_EQ(mcb.opcode, 13);
	CHECK_STR(data, "zzzzzz");
	CHECK(!client_over(&c));
	/* Room of exactly that size. */
	flow = rt_task_receive(&mcb, TM_NONBLOCK);
	CHECK(flow > 0);
	CHECK_STR(data, "pingzz");
	CHECK_EQ(mcb.opcode, 7);
	/* The same flow. */
	CHECK_EQ(RECEIVE("ping"), flow);
	REPLY(flow, 0, "");
	CHECK_EQ(end_client(&c), 0);
	/* A message that did not fit has not been received: its flow cannot be answered. */
	start_client(&c, rt_task_self(), 10, "ping", 8, TM_INFINITE);
	mcb.size = 0;
	CHECK_EQ(rt_task_receive(&mcb, TM_NONBLOCK), -ENOBUFS);
	CHECK_EQ(rt_task_reply(flow + 1, NULL), -ENXIO);
	flow = RECEIVE("ping");
	REPLY(flow, 0, "");
	CHECK_EQ(end_client(&c), 0);
}

/* task.md 7.42 */
static void message_longer_than_the_room(void)
{
	kit_boss(receive_with_little_room);
}

static void reply_with_too_much(void *arg)
{
	int flow;

	(void)arg;
	start_client(&c, rt_task_self(), 10, "ping", 2, TM_INFINITE);
	flow = RECEIVE("ping");
	CHECK_EQ(reply_text(flow, 42, "pong"), -ENOBUFS);
	CHECK_EQ(end_client(&c), -ENOBUFS);
	CHECK_ANSWER(&c, "", 42);
	CHECK_EQ(reply_text(flow, 42, "po"), -ENXIO); /* the flow is over */
	check_no_message();
	start_client(&c, rt_task_self(), 10, "ping", -1, TM_INFINITE);
	flow = RECEIVE("ping");
	CHECK_EQ(reply_text(flow, 42, "p"), -ENOBUFS);
	CHECK_EQ(end_client(&c), -ENOBUFS);
	start_client(&c, rt_task_self(), 10, "ping", 4, TM_INFINITE);
	flow = RECEIVE("ping");
	REPLY(flow, 42, "pong"); /* exactly */
	CHECK_EQ(end_client(&c), 4);
	CHECK_ANSWER(&c, "pong", 42);
}

/* task.md 7.44 */
static void reply_longer_than_the_room(void)
{
	kit_boss(reply_with_too_much);
}

/* --- Flows that are not there ------------------------------------------------------------------------------------- */

static void reply_to_nobody(void *arg)
{
	int flow;

	(void)arg;
	CHECK_EQ(rt_task_reply(0, NULL), -EINVAL);
	CHECK_EQ(rt_task_reply(-1, NULL), -EINVAL);
	CHECK_EQ(reply_text(-2147483647 - 1, 0, "x"), -EINVAL);
	CHECK_EQ(rt_task_reply(1, NULL), -ENXIO);
	CHECK_EQ(rt_task_reply(2147483647, NULL), -ENXIO);
	/* Delivered, but gone. */
	start_client(&c, rt_task_self(), 10, "ping", 8, 200 * MS);
	flow = RECEIVE("ping");
	CHECK(flow > 0);
	CHECK_EQ(rt_task_reply(flow + 1, NULL), -ENXIO);
	CHECK_EQ(end_client(&c), -ETIMEDOUT);
	CHECK_EQ(reply_text(flow, 1, "late"), -ENXIO);
	CHECK_ANSWER(&c, "", -77);
	check_no_message();
	/* Never delivered (task.md 4, R!=). */
	start_client(&c, rt_task_self(), 10, "one", 8, TM_INFINITE);
	CHECK_EQ(rt_task_reply(flow + 1, NULL), -ENXIO);
	CHECK_EQ(rt_task_reply(flow + 2, NULL), -ENXIO);
	CHECK(!client_over(&c));
	flow = RECEIVE("one");
	REPLY(flow, 0, "");
	CHECK_EQ(end_client(&c), 0);
}

/* task.md 7.45 */
static void flows_that_are_not_there(void)
{
	kit_boss(reply_to_nobody);
}

static int others_flow;

static void reply_for_another(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_reply(others_flow, NULL), -ENXIO);
}

static void flows_belong_to_the_receiver(void *arg)
{
	(void)arg;
	start_client(&c, rt_task_self(), 10, "mine", 8, TM_INFINITE);
	others_flow = RECEIVE("mine");
	as_task(10, reply_for_another, NULL);
	CHECK(!client_over(&c));
	REPLY(others_flow, 0, "");
	CHECK_EQ(end_client(&c), 0);
}

static void nobody_else_answers(void)
{
	kit_boss(flows_belong_to_the_receiver);
}

static void count_flows(void *arg)
{
	int i;

	(void)arg;
	for (i = 1; i <= 5; i++) {
		start_client(&c, rt_task_self(), 10, "x", 4, TM_INFINITE);
		CHECK_EQ(RECEIVE("x"), i);
		REPLY(i, 0, "");
		CHECK_EQ(end_client(&c), 0);
	}
}

/* task.md 4: a counter per task, from 1. */
static void flow_ids_count_from_one(void)
{
	kit_boss(count_flows);
	kit_boss(count_flows);
}

/* --- Polls and dates ---------------------------------------------------------------------------------------------- */

static void sleep_until_unblocked(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_task_sleep_until(TM_INFINITE), -EINTR);
	check_no_message();
}

/* task.md 7.46, first half */
static void poll_of_a_busy_task(void)
{
	RT_TASK_MCB mcb = { 0, 7, (void *)"ping", 4 };
	RT_TASK dormant;

	kit_spawn_blocked(&server, 10, sleep_until_unblocked, NULL);
	CHECK_EQ(rt_task_send(&server, &mcb, NULL, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_send_until(&server, &mcb, NULL, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_send_timed(&server, &mcb, NULL, &zero), -EWOULDBLOCK);
	CHECK_EQ(rt_task_unblock(&server), 0);
	kit_join(&server);
	CHECK_EQ(rt_task_create(&dormant, NULL, 0, 10, T_JOINABLE), 0);
	CHECK_EQ(rt_task_send(&dormant, &mcb, NULL, TM_NONBLOCK), -EWOULDBLOCK);
	finish(&dormant);
}

static void serve_slowly(void *arg)
{
	int flow;

	(void)arg;
	flow = RECEIVE("ping");
	CHECK_EQ(rt_task_sleep(50 * MS), 0);
	REPLY(flow, 42, "pong");
}

/* task.md 7.46, second half */
static void poll_of_a_waiting_receiver_waits_for_the_reply(void)
{
	long long start;

	kit_spawn_blocked(&server, 10, serve_slowly, NULL);
	start = kit_now();
	prepare_client(&c, &server, "ping", 8, TM_NONBLOCK);
	kit_spawn(&c.task, 20, client_body, &c);
	CHECK_EQ(end_client(&c), 4);
	CHECK(kit_now() - start >= 50 * (long long)MS);
	CHECK_ANSWER(&c, "pong", 42);
	kit_join(&server);
}

static void send_late(void *arg)
{
	RT_TASK_MCB mcb = { 0, 7, (void *)"ping", 4 };
	long long start = kit_now();

	(void)arg;
	CHECK_EQ(rt_task_send(&server, &mcb, NULL, 5 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 5 * (long long)MS);
	start = kit_now();
	CHECK_EQ(rt_task_send_until(&server, &mcb, NULL, rt_timer_read() + 5 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 5 * (long long)MS);
	CHECK_EQ(rt_task_send_until(&server, &mcb, NULL, 1), -ETIMEDOUT);
	CHECK_EQ(rt_task_send_timed(&server, &mcb, NULL, &past), -ETIMEDOUT);
	CHECK_EQ(rt_task_send_timed(&server, &mcb, NULL, &bad), -EINVAL);
}

static void send_times_out(void)
{
	kit_spawn_blocked(&server, 10, sleep_until_unblocked, NULL);
	send_late(NULL);
	as_task(10, send_late, NULL);
	CHECK_EQ(rt_task_unblock(&server), 0);
	kit_join(&server);
}

static void receive_late(void *arg)
{
	char data[ROOM] = "zz";
	RT_TASK_MCB mcb = { 3, -77, data, ROOM };
	long long start = kit_now();
	struct timespec date;

	(void)arg;
	CHECK_EQ(rt_task_receive(&mcb, 5 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 5 * (long long)MS);
	start = kit_now();
	CHECK_EQ(rt_task_receive_until(&mcb, rt_timer_read() + 5 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 5 * (long long)MS);
	start = kit_now();
	CHECK_EQ(rt_task_receive_timed(&mcb, alchemy_rel_timeout(5 * MS, &date)), -ETIMEDOUT);
	CHECK(kit_now() - start >= 5 * (long long)MS);
	CHECK_EQ(rt_task_receive_until(&mcb, 1), -ETIMEDOUT);
	CHECK_EQ(rt_task_receive_until(&mcb, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_receive_timed(&mcb, &zero), -EWOULDBLOCK);
	CHECK_EQ(rt_task_receive_timed(&mcb, &past), -ETIMEDOUT);
	CHECK_EQ(rt_task_receive_timed(&mcb, &bad), -EINVAL);
	CHECK_EQ(mcb.opcode, -77);
	CHECK_EQ(mcb.size, ROOM);
	CHECK_STR(data, "zz");
	/* The condition true: dates do not matter. */
	start_client(&c, rt_task_self(), 10, "x", 4, TM_INFINITE);
	CHECK_EQ(rt_task_receive_until(&mcb, 1), 1);
	CHECK_EQ(rt_task_receive_timed(&mcb, &past), 1);
	CHECK_EQ(rt_task_receive_timed(&mcb, &bad), 1);
	REPLY(1, 0, "");
	CHECK_EQ(end_client(&c), 0);
	CHECK_EQ(rt_task_receive(NULL, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_task_receive(NULL, TM_INFINITE), -EINVAL);
}

static void receive_times_out(void)
{
	kit_boss(receive_late);
}

static void send_to_myself(void *arg)
{
	RT_TASK_MCB mcb = { 0, 7, (void *)"self", 4 };
	long long start = kit_now();

	(void)arg;
	CHECK_EQ(rt_task_send(rt_task_self(), &mcb, NULL, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_send(rt_task_self(), &mcb, NULL, 5 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 5 * (long long)MS);
	check_no_message();
}

static void sending_to_oneself(void)
{
	kit_boss(send_to_myself);
}

/* --- Callers and descriptors -------------------------------------------------------------------------------------- */

static void no_task(void *may_send)
{
	RT_TASK_MCB mcb = { 0, 7, (void *)"ping", 4 };
	int unsent = *(int *)may_send ? -EWOULDBLOCK : -EPERM;

	CHECK_EQ(rt_task_send(&server, &mcb, NULL, TM_NONBLOCK), unsent);
	if (!*(int *)may_send) {
		CHECK_EQ(rt_task_send(&server, &mcb, NULL, TM_INFINITE), -EPERM);
		CHECK_EQ(rt_task_send(NULL, NULL, NULL, MS), -EPERM); /* tested first */
		CHECK_EQ(rt_task_send_until(&server, &mcb, NULL, 1), -EPERM);
		CHECK_EQ(rt_task_send_timed(&server, &mcb, NULL, &bad), -EPERM);
	}
	CHECK_EQ(rt_task_receive(&mcb, TM_NONBLOCK), -EPERM);
	CHECK_EQ(rt_task_receive(NULL, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_task_receive_until(&mcb, 1), -EPERM);
	CHECK_EQ(rt_task_receive_timed(&mcb, &bad), -EPERM);
	CHECK_EQ(rt_task_reply(1, &mcb), -EPERM);
	CHECK_EQ(rt_task_reply(0, NULL), -EPERM);
}

/* task.md 7.39; common.md 3 */
static void who_may_send_and_receive(void)
{
	int yes = 1, no = 0;

	kit_spawn_blocked(&server, 10, sleep_until_unblocked, NULL);
	no_task(&yes);
	kit_plain(no_task, &no);
	CHECK_EQ(rt_task_unblock(&server), 0);
	kit_join(&server);
}

static void bad_targets(void)
{
	RT_TASK_MCB mcb = { 0, 7, (void *)"ping", 4 }, negative = { 0, 7, (void *)"ping", -1 };
	RT_TASK stale, zeroed = { 0, 0 }, garbage = { 0x12345678, 0 }, *const targets[] = { NULL, &zeroed, &garbage, &stale };
	int i;

	kit_spawn(&stale, 10, nothing, NULL);
	kit_join(&stale);
	for (i = 0; i < 4; i++) {
		CHECK_EQ(rt_task_send(targets[i], &mcb, NULL, TM_NONBLOCK), -EINVAL);
		CHECK_EQ(rt_task_send(targets[i], &mcb, NULL, TM_INFINITE), -EINVAL);
		CHECK_EQ(rt_task_send_until(targets[i], &mcb, NULL, 1), -EINVAL);
		CHECK_EQ(rt_task_send_timed(targets[i], &mcb, &mcb, NULL), -EINVAL);
	}
	kit_spawn_blocked(&server, 10, sleep_until_unblocked, NULL);
	CHECK_EQ(rt_task_send(&server, NULL, NULL, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_task_send(&server, NULL, &mcb, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_task_send(&server, &negative, NULL, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_task_unblock(&server), 0);
	kit_join(&server);
}

KIT_CASES(
	CASE(server_waits), CASE(client_waits), CASE(initial_thread_sends), CASE(empty_messages_and_replies), CASE(large_messages),
	CASE(message_longer_than_the_room), CASE(reply_longer_than_the_room), CASE(flows_that_are_not_there),
	CASE(nobody_else_answers), CASE(flow_ids_count_from_one), CASE(poll_of_a_busy_task),
	CASE(poll_of_a_waiting_receiver_waits_for_the_reply), CASE(send_times_out), CASE(receive_times_out),
	CASE(sending_to_oneself), CASE(who_may_send_and_receive), CASE(bad_targets))
