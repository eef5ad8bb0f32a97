/* Messages under load: each is answered once, with its own answer; time-outs and ends at any time; priorities; fork. */
#define KIT_STORM
#include "kit.h"
#include "message-kit.h"
#include "child.h"

enum { CLIENTS = 4, CALLS = 10000 };

static RT_TASK server;
static int served, answered, stop;
static RTIME send_timeout;

/* Answers n with 3n+1. */
static void serve(void *arg)
{
	(void)arg;
	for (;;) {
		long long number = 0, answer;
		RT_TASK_MCB mcb = { 0, 0, &number, sizeof(number) }, reply = { 0, 0, &answer, sizeof(answer) };
		int flow = rt_task_receive(&mcb, 20000000), result;

		if (flow == -ETIMEDOUT) {
			if (__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
				return;
			continue;
		}
		CHECK(flow > 0);
		CHECK_EQ(mcb.size, sizeof(number));
		CHECK_EQ(mcb.opcode, (int)(number & 0xffff));
		answer = 3 * number + 1;
		reply.opcode = (int)(answer & 0xffff);
		result = rt_task_reply(flow, &reply);
		CHECK(result == 0 || (result == -ENXIO && send_timeout != TM_INFINITE));
		if (result == 0)
			served++;
	}
}

static void call_often(void *base_)
{
	long long number = (long long)(intptr_t)base_ * 1000000;
	int i;

	for (i = 0; i < CALLS; i++, number++) {
		long long answer = -1;
		RT_TASK_MCB mcb = { 0, (int)(number & 0xffff), &number, sizeof(number) }, reply = { 0, -7, &answer, sizeof(answer) };
		ssize_t result = rt_task_send(&server, &mcb, &reply, send_timeout);

		if (result == -ETIMEDOUT && send_timeout != TM_INFINITE) {
			CHECK_EQ(answer, -1);
			CHECK_EQ(reply.opcode, -7);
			continue;
		}
		CHECK_EQ(result, sizeof(answer));
		CHECK_EQ(answer, 3 * number + 1);
		CHECK_EQ(reply.opcode, (int)(answer & 0xffff));
		__atomic_fetch_add(&answered, 1, __ATOMIC_RELAXED);
	}
}

static void load(RTIME timeout)
{
	RT_TASK clients[CLIENTS];
	int i;

	kit_unpin();
	send_timeout = timeout;
	kit_spawn(&server, 0, serve, NULL);
	for (i = 0; i < CLIENTS; i++)
		kit_spawn(&clients[i], 0, call_often, (void *)(intptr_t)(i + 1));
	for (i = 0; i < CLIENTS; i++)
		kit_join(&clients[i]);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	kit_join(&server);
	CHECK_EQ(served, answered); /* exactly those that got it */
}

static void every_call_gets_its_answer(void)
{
	load(TM_INFINITE);
	CHECK_EQ(answered, CLIENTS * CALLS);
}

/* Time-outs at the rate of the replies: who was answered knows, who was not is gone. */
static void time_outs_are_exact(void)
{
	load(30000);
}

/* --- Servers that end under load ---------------------------------------------------------------------------------- */

static uintptr_t current;

static void call_whoever(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		RT_TASK target = { __atomic_load_n(&current, __ATOMIC_ACQUIRE), 0 };
		int number = 5, answer = -1;
		RT_TASK_MCB mcb = { 0, 1, &number, sizeof(number) }, reply = { 0, 0, &answer, sizeof(answer) };
		ssize_t result = rt_task_send(&target, &mcb, &reply, 1000000);

		if (result == (ssize_t)sizeof(answer)) {
			CHECK_EQ(answer, 6);
			__atomic_fetch_add(&answered, 1, __ATOMIC_RELAXED);
		} else {
			CHECK(result == -EINVAL || result == -EIDRM || result == -ETIMEDOUT);
			CHECK_EQ(answer, -1);
		}
	}
}

static void serve_some(void *count_)
{
	int i, count = *(int *)count_;

	for (i = 0; i < count; i++) {
		int number = 0;
		RT_TASK_MCB mcb = { 0, 0, &number, sizeof(number) };
		int flow = rt_task_receive(&mcb, 2000000);

		if (flow == -ETIMEDOUT)
			continue;
		CHECK(flow > 0);
		CHECK_EQ(number, 5);
		number++;
		if (i == count - 1)
			return; /* received and never answered */
		rt_task_reply(flow, &mcb);
	}
}

static void servers_end_at_any_time(void)
{
	RT_TASK callers[CLIENTS];
	int i;

	kit_unpin();
	for (i = 0; i < CLIENTS; i++)
		kit_spawn(&callers[i], 0, call_whoever, NULL);
	for (i = 0; i < 300; i++) {
		int count = 1 + i % 8;

		CHECK_EQ(rt_task_create(&server, NULL, 0, 0, T_JOINABLE), 0);
		__atomic_store_n(&current, server.handle, __ATOMIC_RELEASE);
		CHECK_EQ(rt_task_start(&server, serve_some, &count), 0);
		if (i % 3 == 0) {
			int result = rt_task_delete(&server);

			CHECK(result == 0 || result == -EINVAL);
		}
		kit_join(&server);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < CLIENTS; i++)
		kit_join(&callers[i]);
	CHECK(answered > 0);
}

/* --- Priority inversion through the library's lock ---------------------------------------------------------------- */

enum { BLOCK = 1 << 20, ROUNDS = 30 };

static char block[BLOCK], room[BLOCK];
static RT_SEM go_middle;
static int high_done, low_stop;

static void send_block(void *arg)
{
	RT_TASK_MCB mcb = { 0, 1, block, BLOCK };

	(void)arg;
	while (!__atomic_load_n(&low_stop, __ATOMIC_ACQUIRE)) {
		ssize_t result = rt_task_send(&server, &mcb, NULL, TM_INFINITE);

		CHECK(result == 0 || result == -EIDRM || result == -EINVAL);
	}
}

/* The low server copies a large message again and again: its queue's lock is held most of the time. */
static void copy_for_ever(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&low_stop, __ATOMIC_ACQUIRE)) {
		RT_TASK_MCB mcb = { 0, 0, room, BLOCK };

		CHECK(rt_task_receive(&mcb, TM_INFINITE) > 0);
	}
}

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

static void poll_now_and_then(void *arg)
{
	RT_TASK_MCB mcb = { 0, 1, NULL, 0 };
	int i;

	(void)arg;
	for (i = 1; i <= ROUNDS; i++) {
		CHECK_EQ(rt_task_sleep((RTIME)(500000 + i * 7777)), 0);
		CHECK_EQ(rt_sem_v(&go_middle), 0);
		CHECK_EQ(rt_task_send(&server, &mcb, NULL, TM_NONBLOCK), -EWOULDBLOCK); /* it computes */
		__atomic_store_n(&high_done, i, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&low_stop, 1, __ATOMIC_RELEASE);
}

static void lock_inherits_priorities(void)
{
	RT_TASK sender, middle, high;

	CHECK_EQ(rt_sem_create(&go_middle, NULL, 0, S_FIFO), 0);
	CHECK_EQ(rt_task_create(&server, NULL, 0, 5, T_JOINABLE), 0);
	kit_spawn_blocked(&sender, 4, send_block, NULL);
	kit_spawn_blocked(&middle, 20, compute, NULL);
	kit_spawn_blocked(&high, 40, poll_now_and_then, NULL);
	CHECK_EQ(rt_task_start(&server, copy_for_ever, NULL), 0);
	kit_join(&high);
	kit_join(&middle);
	kit_join(&server);
	kit_join(&sender);
}

/* --- fork --------------------------------------------------------------------------------------------------------- */

static void talk(void *arg)
{
	struct client c;

	(void)arg;
	check_no_message(); /* senders of the parent have not come along */
	start_client(&c, rt_task_self(), 10, "child's", 4, TM_INFINITE);
	REPLY(RECEIVE("child's"), 1, "yes");
	CHECK_EQ(end_client(&c), 3);
}

static void fork_with_a_sender(void *arg)
{
	struct client c;
	int flow;

	(void)arg;
	start_client(&c, rt_task_self(), 10, "parent's", 4, TM_INFINITE);
	flow = RECEIVE("parent's");
	CHECK_EQ(in_child(talk, NULL), 0);
	CHECK(!client_over(&c));
	CHECK_EQ(RECEIVE("parent's"), flow);
	REPLY(flow, 1, "yes");
	CHECK_EQ(end_client(&c), 3);
}

static void messages_do_not_cross_a_fork(void)
{
	no_thread_sanitizer();
	kit_boss(fork_with_a_sender);
}

KIT_CASES(
	CASE(every_call_gets_its_answer), CASE(time_outs_are_exact), CASE(servers_end_at_any_time),
	CASE_FIFO(lock_inherits_priorities), CASE(messages_do_not_cross_a_fork))
