/*
 * What the message tests share: tasks that send once, and short ways to receive and reply. Include it after kit.h.
 *
 * A case's receiver is a task of its own, kit_boss() or as_task(): the initial thread cannot receive.
 *
 *     start_client(&c, rt_task_self(), 60, "ping", 4, TM_INFINITE);    returns when it waits
 *     flow = RECEIVE("ping");
 *     REPLY(flow, 42, "pong");
 *     CHECK_EQ(end_client(&c), 4);
 */
#ifndef MESSAGE_KIT_H
#define MESSAGE_KIT_H

#include "tasks.h"

#ifndef MS
#define MS 1000000LL
#endif

enum { ROOM = 64 };

struct client {
	RT_TASK task, target;
	char data[ROOM], answer[ROOM];
	RT_TASK_MCB mcb_s, mcb_r;
	int no_answer;    /* passes NULL for mcb_r */
	RTIME timeout;
	const char *tag;  /* a mark when it is through, unless NULL */
	ssize_t result;
	int over;
};

KIT_UNUSED static void client_body(void *client_)
{
	struct client *client = (struct client *)client_;

	client->result = rt_task_send(&client->target, &client->mcb_s, client->no_answer ? NULL : &client->mcb_r, client->timeout);
	if (client->tag)
		mark(client->tag);
	__atomic_store_n(&client->over, 1, __ATOMIC_RELEASE);
}

/* A client with room for `room` bytes of reply; room -1: none, no block either. */
KIT_UNUSED static void prepare_client(struct client *client, RT_TASK *target, const char *text, int room, RTIME timeout)
{
	memset(client, 0, sizeof(*client));
	client->target = *target;
	strcpy(client->data, text);
	memset(client->answer, '.', ROOM - 1);
	client->mcb_s.opcode = 7;
	client->mcb_s.data = client->data;
	client->mcb_s.size = (ssize_t)strlen(text);
	client->mcb_r.opcode = -77;
	client->mcb_r.data = client->answer;
	client->mcb_r.size = room;
	client->no_answer = room < 0;
	client->timeout = timeout;
	client->result = -1000;
}

/* Starts one; it waits when this returns. */
KIT_UNUSED static void start_client(struct client *client, RT_TASK *target, int prio, const char *text, int room, RTIME timeout)
{
	prepare_client(client, target, text, room, timeout);
	kit_spawn_blocked(&client->task, prio, client_body, client);
}

KIT_UNUSED static ssize_t end_client(struct client *client)
{
	kit_join(&client->task);
	return client->result;
}

KIT_UNUSED static int client_over(struct client *client)
{
	return __atomic_load_n(&client->over, __ATOMIC_ACQUIRE);
}

/* The reply is this, in the block and in the room, of which nothing else was touched. */
#define CHECK_ANSWER(client, text, code) \
	do { \
		char want_[ROOM]; \
		memset(want_, '.', ROOM - 1); \
		want_[ROOM - 1] = '\0'; \
		memcpy(want_, (text), strlen(text)); \
		CHECK_STR((client)->answer, want_); \
		CHECK_EQ((client)->mcb_r.opcode, (code)); \
	} while (0)

/* Receives a message, which must be this; gives the flow id. */
KIT_UNUSED static int receive_text(const char *file, int line, const char *text, RTIME timeout)
{
	char data[ROOM] = "";
	RT_TASK_MCB mcb = { 0, -77, data, ROOM - 1 };
	int flow = rt_task_receive(&mcb, timeout);

	if (flow <= 0)
		kit_fail(file, line, "receive gave %d%s", flow, kit_errno_name(flow));
	kit_check_str(file, line, "message", data, "text", text);
	kit_check_eq(file, line, "size", mcb.size, "length", (long long)strlen(text));
	kit_check_eq(file, line, "opcode", mcb.opcode, "opcode of clients", 7);
	return flow;
}

#define RECEIVE(text) receive_text(__FILE__, __LINE__, (text), TM_INFINITE)
#define RECEIVE_NOW(text) receive_text(__FILE__, __LINE__, (text), TM_NONBLOCK)

KIT_UNUSED static int reply_text(int flow, int opcode, const char *text)
{
	char data[ROOM];
	RT_TASK_MCB mcb = { 0, opcode, data, (ssize_t)strlen(text) };

	strcpy(data, text);
	return rt_task_reply(flow, &mcb);
}

#define REPLY(flow, opcode, text) CHECK_EQ(reply_text((flow), (opcode), (text)), 0)

/* Nobody's message is there for the caller. */
KIT_UNUSED static void check_no_message(void)
{
	char data[ROOM] = "";
	RT_TASK_MCB mcb = { 0, -77, data, ROOM };

	CHECK_EQ(rt_task_receive(&mcb, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(mcb.opcode, -77);
	CHECK_EQ(mcb.size, ROOM);
}

#endif /* MESSAGE_KIT_H */
