/* A message sent, received and replied to by two tasks on one CPU, against bare futexes that hand over there and back. */
#include "bench.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#define ROUNDS 5000
#define TRIPS 200 /* round trips, in each round */

enum { OURS, BARE, KINDS };

static struct series series[KINDS] = {
	{ .name = "rt_task_send, _receive, _reply" },
	{ .name = "futex wait, wake" },
};

/* 0: the client waits here, 1: the server does. */
static struct {
	unsigned word __attribute__((aligned(128)));
} futexes[2];

static void bare_p(int side)
{
	unsigned *word = &futexes[side].word, one = 1;

	while (!__atomic_compare_exchange_n(word, &one, 0, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL);
		one = 1;
	}
}

static void bare_v(int side)
{
	unsigned *word = &futexes[side].word;

	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
}

static void serve(void)
{
	char request[16];
	RT_TASK_MCB message = { .data = request, .size = sizeof(request) };
	RT_TASK_MCB answer = { .data = request, .size = 4, .opcode = 1 };
	int flow;

	flow = rt_task_receive(&message, TM_INFINITE);
	MUST(flow > 0);
	MUST(rt_task_reply(flow, &answer) == 0);
}

static void partner(void *arg)
{
	(void)arg;
	for (int round = 0; round < ROUNDS; round++) {
		for (int n = 0; n < TRIPS; n++)
			serve();
		for (int n = 0; n < TRIPS; n++) {
			bare_p(1);
			bare_v(0);
		}
	}
}

static void measure(void *arg)
{
	char request[4] = "abc", reply[4];
	RT_TASK server;

	(void)arg;
	MUST(rt_task_spawn(&server, NULL, 0, 50, T_JOINABLE, partner, NULL) == 0);
	for (int round = 0; round < ROUNDS; round++) {
		double start, middle, end;

		progress("messages", round, ROUNDS);
		start = now();
		for (int n = 0; n < TRIPS; n++) {
			RT_TASK_MCB message = { .opcode = 1, .data = request, .size = sizeof(request) };
			RT_TASK_MCB answer = { .data = reply, .size = sizeof(reply) };

			MUST(rt_task_send(&server, &message, &answer, TM_INFINITE) == 4);
		}
		middle = now();
		for (int n = 0; n < TRIPS; n++) {
			bare_v(1);
			bare_p(0);
		}
		end = now();
		series[OURS].ns[round] = (middle - start) / TRIPS;
		series[BARE].ns[round] = (end - middle) / TRIPS;
	}
	progress("messages", ROUNDS, ROUNDS);
	MUST(rt_task_join(&server) == 0);
}

int main(void)
{
	pin();
	table("Synchronous messages on one CPU: one round trip");
	if (!fifo_usable("left out"))
		return 0;
	run_task(measure);
	row(&series[OURS], &series[BARE], ROUNDS, 1.25);
	return 0;
}
