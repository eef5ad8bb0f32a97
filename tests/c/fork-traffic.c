/* Forks while other threads send messages, move bytes and start alarms: the child finds nothing half done, and none of the parent's
 * tasks. Each child runs the whole of a small use. */
#define KIT_SECONDS 60
#include "kit.h"
#include <alchemy/buffer.h>
#include "message-kit.h"
#include "alarm-kit.h"
#include "child.h"

enum { FORKS = 100, CLIENTS = 3 };

static int stop;

static int goes_on(void)
{
	return !__atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

/* --- Messages ----------------------------------------------------------------------------------------------------- */

static RT_TASK server, clients[CLIENTS];
static int open_flow, answered, forked, no_clients;

/* Limits that pass at about the rate of the replies. */
static void call(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	while (goes_on()) {
		char data[ROOM] = "question", room[ROOM] = "";
		RT_TASK_MCB mcb = { 0, 7, data, 8 }, reply = { 0, 0, room, ROOM };
		ssize_t result = rt_task_send(&server, &mcb, &reply, 20000 + (RTIME)(rand_r(&seed) % 200000));

		CHECK(result == 6 || result == -ETIMEDOUT);
		if (result == 6) {
			CHECK_STR(room, "answer");
			__atomic_fetch_add(&answered, 1, __ATOMIC_RELAXED);
		}
	}
}

static void start_clients(void)
{
	uintptr_t i;

	for (i = 0; i < CLIENTS; i++)
		kit_spawn(&clients[i], 0, call, (void *)(i + 1));
}

/* The clients first: they do not expect an end of the server. */
static void end_messages(void)
{
	int i;

	until(__atomic_load_n(&answered, __ATOMIC_RELAXED) > 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < CLIENTS; i++)
		kit_join(&clients[i]);
	__atomic_store_n(&no_clients, 1, __ATOMIC_RELEASE);
	kit_join(&server);
}

static int receive_question(RTIME timeout)
{
	char data[ROOM] = "";
	RT_TASK_MCB mcb = { 0, 0, data, ROOM };
	int flow = rt_task_receive(&mcb, timeout);

	if (flow == -ETIMEDOUT)
		return 0;
	CHECK(flow > 0);
	CHECK_EQ(mcb.opcode, 7);
	CHECK_STR(data, "question");
	return flow;
}

static void answer_question(int flow)
{
	int result = rt_task_reply(flow, &(RT_TASK_MCB){ 0, 1, (char[]){ "answer" }, 6 });

	CHECK(result == 0 || result == -ENXIO);
}

static void serve(void *arg)
{
	int flow;

	(void)arg;
	while (!__atomic_load_n(&no_clients, __ATOMIC_ACQUIRE)) {
		flow = receive_question(5 * MS);
		if (flow)
			answer_question(flow);
	}
}

static void exchange(void *arg)
{
	struct client c;

	(void)arg;
	check_no_message();
	start_client(&c, rt_task_self(), 10, "child's", 4, TM_INFINITE);
	REPLY(RECEIVE("child's"), 1, "yes");
	CHECK_EQ(end_client(&c), 3);
}

static void no_server_here(void *arg)
{
	RT_TASK_MCB mcb = { 0, 7, NULL, 0 };

	(void)arg;
	CHECK_EQ(rt_task_send(&server, &mcb, NULL, TM_INFINITE), -EINVAL);
	kit_boss(exchange);
}

static void fork_beside_messages(void)
{
	int i;

	no_thread_sanitizer();
	kit_unpin();
	kit_spawn(&server, 0, serve, NULL);
	start_clients();
	for (i = 0; i < FORKS; i++)
		CHECK_EQ(in_child(no_server_here, NULL), 0);
	end_messages();
}

/* The server's queue is empty: nobody waits for an answer here, and what was received is no flow any more. */
static void no_client_here(void *arg)
{
	if (open_flow)
		CHECK_EQ(rt_task_reply(open_flow, NULL), -ENXIO);
	exchange(arg);
}

static void serve_and_fork(void *arg)
{
	int i;

	for (i = 0; i < FORKS; i++) {
		open_flow = i % 2 ? receive_question(TM_INFINITE) : 0;
		CHECK_EQ(in_child(no_client_here, NULL), 0);
		if (open_flow)
			answer_question(open_flow);
	}
	__atomic_store_n(&forked, 1, __ATOMIC_RELEASE);
	serve(arg);
}

static void fork_of_a_server_amid_messages(void)
{
	no_thread_sanitizer();
	kit_unpin();
	kit_spawn(&server, 0, serve_and_fork, NULL);
	start_clients();
	until(__atomic_load_n(&forked, __ATOMIC_ACQUIRE));
	end_messages();
}

/* --- Buffers ------------------------------------------------------------------------------------------------------ */

enum { SIZE = 50 };

static RT_BUFFER bf;

static void move_bytes(void *write)
{
	unsigned seed = 3;
	char data[ROOM] = "";

	while (goes_on()) {
		size_t size = 1 + (size_t)rand_r(&seed) % 20;
		RTIME limit = 20000 + (RTIME)(rand_r(&seed) % 100000);
		ssize_t result = write ? rt_buffer_write(&bf, data, size, limit) : rt_buffer_read(&bf, data, size, limit);

		CHECK((result > 0 && result <= (ssize_t)size) || result == -ETIMEDOUT);
	}
}

static void read_five(void *data)
{
	CHECK_EQ(rt_buffer_read(&bf, (char *)data, 5, TM_INFINITE), 5);
}

/* Whatever it holds can be read, and then all of its room is there. */
static void empty_and_use(void *arg)
{
	RT_BUFFER_INFO info;
	char data[SIZE] = "";
	RT_TASK reader;

	(void)arg;
	CHECK_EQ(rt_buffer_inquire(&bf, &info), 0);
	CHECK_EQ(info.iwaiters, 0);
	CHECK_EQ(info.owaiters, 0);
	CHECK_EQ(info.totalmem, SIZE);
	CHECK(info.availmem <= SIZE);
	if (info.availmem < SIZE)
		CHECK_EQ(rt_buffer_read(&bf, data, SIZE - info.availmem, TM_NONBLOCK), SIZE - info.availmem);
	CHECK_EQ(rt_buffer_read(&bf, data, 1, TM_NONBLOCK), -EWOULDBLOCK);
	memset(data, 'x', SIZE);
	CHECK_EQ(rt_buffer_write(&bf, data, SIZE, TM_NONBLOCK), SIZE);
	CHECK_EQ(rt_buffer_write(&bf, data, 1, MS), -ETIMEDOUT);
	CHECK_EQ(rt_buffer_read(&bf, data, SIZE, TM_NONBLOCK), SIZE);
	CHECK_EQ(data[SIZE - 1], 'x');
	kit_spawn_blocked(&reader, 10, read_five, data);
	CHECK_EQ(rt_buffer_write(&bf, "child", 5, TM_NONBLOCK), 5);
	kit_join(&reader);
	CHECK_SAME_BYTES(data, "child", 5);
	CHECK_EQ(rt_buffer_delete(&bf), 0);
}

static void fork_beside_moving_bytes(void)
{
	RT_TASK movers[4];
	uintptr_t i;

	no_thread_sanitizer();
	kit_unpin();
	CHECK_EQ(rt_buffer_create(&bf, NULL, SIZE, B_PRIO), 0);
	for (i = 0; i < 4; i++)
		kit_spawn(&movers[i], 0, move_bytes, (void *)(i % 2));
	for (i = 0; i < FORKS; i++)
		CHECK_EQ(in_child(empty_and_use, NULL), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 4; i++)
		kit_join(&movers[i]);
}

/* --- Alarms ------------------------------------------------------------------------------------------------------- */

enum { ALARMS = 16 };

static RT_ALARM alarms[ALARMS];
static int calls;

static void count_call(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

/* The names are always there, the alarms not. */
static void arm_make_and_delete(void *number)
{
	unsigned seed = (unsigned)(uintptr_t)number;
	RT_ALARM brief;

	while (goes_on()) {
		RT_ALARM *alarm = &alarms[rand_r(&seed) % ALARMS];

		if (rand_r(&seed) % 4)
			CHECK_EQ(rt_alarm_start(alarm, (RTIME)(rand_r(&seed) % 50000), rand_r(&seed) % 2 ? 50000 : TM_INFINITE), 0);
		else
			CHECK_EQ(rt_alarm_stop(alarm), 0);
		CHECK_EQ(rt_alarm_create(&brief, NULL, count_call, NULL), 0);
		CHECK_EQ(rt_alarm_start(&brief, 0, 10000), 0);
		CHECK_EQ(rt_alarm_delete(&brief), 0);
		kit_nap(20000);
	}
}

static void all_are_stopped_and_work(void *arg)
{
	RT_ALARM_INFO info;
	int i;

	(void)arg;
	__atomic_store_n(&calls, 0, __ATOMIC_RELAXED);
	for (i = 0; i < ALARMS; i++) {
		CHECK_EQ(rt_alarm_inquire(&alarms[i], &info), 0);
		CHECK_EQ(info.active, 0);
		CHECK_EQ(rt_alarm_start(&alarms[i], (RTIME)(ALARMS - i) * 1000, TM_INFINITE), 0);
	}
	until(__atomic_load_n(&calls, __ATOMIC_RELAXED) == ALARMS);
	for (i = 0; i < ALARMS; i++)
		CHECK_EQ(rt_alarm_delete(&alarms[i]), 0);
	CHECK_EQ(rt_alarm_create(&alarms[0], NULL, count_call, NULL), 0);
	CHECK_EQ(rt_alarm_start(&alarms[0], 0, MS), 0);
	until(__atomic_load_n(&calls, __ATOMIC_RELAXED) > ALARMS);
	CHECK_EQ(rt_alarm_delete(&alarms[0]), 0);
}

static void start_arming(RT_TASK *tasks)
{
	uintptr_t i;

	for (i = 0; i < ALARMS; i++)
		CHECK_EQ(rt_alarm_create(&alarms[i], NULL, count_call, NULL), 0);
	for (i = 0; i < 2; i++)
		kit_spawn(&tasks[i], 0, arm_make_and_delete, (void *)(i + 1));
}

static void end_arming(RT_TASK *tasks)
{
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	kit_join(&tasks[0]);
	kit_join(&tasks[1]);
}

static void fork_beside_starting_alarms(void)
{
	RT_TASK tasks[2];
	int i;

	no_thread_sanitizer();
	kit_unpin();
	start_arming(tasks);
	for (i = 0; i < FORKS; i++)
		CHECK_EQ(in_child(all_are_stopped_and_work, NULL), 0);
	end_arming(tasks);
}

KIT_CASES(
	CASE(fork_beside_messages), CASE(fork_of_a_server_amid_messages), CASE(fork_beside_moving_bytes),
	CASE(fork_beside_starting_alarms))
