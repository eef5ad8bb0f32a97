/* Messages of the 2.x interface (native2.md 5, 7.1): data is a char pointer, sizes are unsigned; the rest is as in 3.x. */
#include "native-kit.h"

static RT_TASK server;

static void serve(void *arg)
{
	char data[16] = "";
	RT_TASK_MCB mcb, reply;
	int flow;

	(void)arg;
	mcb.data = data;
	mcb.size = 2;
	CHECK_EQ(rt_task_receive(&mcb, TM_INFINITE), -ENOBUFS);
	CHECK_EQ(mcb.size, 4);
	mcb.size = sizeof(data);
	flow = rt_task_receive(&mcb, TM_NONBLOCK);
	CHECK(flow > 0);
	CHECK_EQ(mcb.size, 4);
	CHECK_EQ(mcb.opcode, 7);
	CHECK_STR(data, "ping");
	reply.opcode = 42;
	reply.data = data;
	data[1] = 'o';
	reply.size = 4;
	CHECK_EQ(rt_task_reply(flow, &reply), 0);
	CHECK_EQ(rt_task_reply(flow, &reply), -ENXIO);
	CHECK_EQ(rt_task_reply(0, &reply), -EINVAL);
	CHECK_EQ(rt_task_receive(&mcb, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_receive(&mcb, MS), -ETIMEDOUT);
}

static void send(void *arg)
{
	char request[8] = "ping", answer[8] = "";
	RT_TASK_MCB mcb, reply;

	(void)arg;
	mcb.opcode = 7;
	mcb.data = request;
	mcb.size = 4;
	reply.opcode = 0;
	reply.data = answer;
	reply.size = sizeof(answer);
	CHECK_EQ(rt_task_send(&server, &mcb, &reply, TM_INFINITE), 4);
	CHECK_STR(answer, "pong");
	CHECK_EQ(reply.opcode, 42);
	CHECK_EQ(reply.size, 4);
}

static void exchange(void)
{
	spawn_blocked(&server, 10, serve, NULL);
	as_task(20, send, NULL);
	join(&server);
	spawn_blocked(&server, 10, serve, NULL);
	send(NULL);
	join(&server);
}

static void send_in_vain(void *arg)
{
	RT_TASK_MCB mcb = { 0, 7, NULL, 0 };

	(void)arg;
	CHECK_EQ(rt_task_send(&server, &mcb, NULL, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_send(&server, &mcb, NULL, MS), -ETIMEDOUT);
	CHECK_EQ(rt_task_send(NULL, &mcb, NULL, MS), -EINVAL);
}

static void plain_thread(void *arg)
{
	RT_TASK_MCB mcb = { 0, 7, NULL, 0 };

	(void)arg;
	CHECK_EQ(rt_task_send(&server, &mcb, NULL, TM_NONBLOCK), -EPERM);
	CHECK_EQ(rt_task_receive(&mcb, TM_NONBLOCK), -EPERM);
	CHECK_EQ(rt_task_reply(1, &mcb), -EPERM);
}

static void errors(void)
{
	RT_SEM sem;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	spawn_blocked(&server, 10, take, &sem);
	send_in_vain(NULL);
	as_task(20, send_in_vain, NULL);
	kit_plain(plain_thread, NULL);
	CHECK_EQ(rt_sem_v(&sem), 0);
	join(&server);
}

KIT_CASES(CASE(exchange), CASE(errors))
