/* Events, queues, buffers and heaps of which nobody waits: uncontended operations against two bare swaps. */
#include "pair.h"

#include <alchemy/buffer.h>
#include <alchemy/cond.h>
#include <alchemy/event.h>
#include <alchemy/heap.h>
#include <alchemy/queue.h>

enum { MESSAGE = 64 };

static struct {
	RT_EVENT event __attribute__((aligned(128)));
	RT_COND cond __attribute__((aligned(128)));
	RT_QUEUE queue __attribute__((aligned(128)));
	RT_BUFFER buffer __attribute__((aligned(128)));
	RT_HEAP heap __attribute__((aligned(128)));
	char out[MESSAGE] __attribute__((aligned(128)));
	char in[MESSAGE] __attribute__((aligned(128)));
} shared;

static inline void wait_and_clear(void)
{
	unsigned mask;

	rt_event_wait(&shared.event, 1, &mask, EV_ALL, TM_INFINITE);
	rt_event_clear(&shared.event, 1, NULL);
}

static inline void alloc_and_free(void)
{
	void *block;

	rt_heap_alloc(&shared.heap, MESSAGE, TM_NONBLOCK, &block);
	rt_heap_free(&shared.heap, block);
}

static inline void receive_and_free(void)
{
	void *message;

	rt_queue_receive(&shared.queue, &message, TM_INFINITE);
	rt_queue_free(&shared.queue, message);
}

LOOP(bare, bare_take(), bare_give(), NOTHING)
LOOP(event, rt_event_signal(&shared.event, 1), wait_and_clear(), NOTHING)
LOOP(cond, rt_cond_signal(&shared.cond), rt_cond_signal(&shared.cond), NOTHING)
LOOP(queue, rt_queue_write(&shared.queue, shared.out, MESSAGE, Q_NORMAL),
     rt_queue_read(&shared.queue, shared.in, MESSAGE, TM_INFINITE), NOTHING)
LOOP(zero_copy, rt_queue_send(&shared.queue, rt_queue_alloc(&shared.queue, MESSAGE), MESSAGE, Q_NORMAL), receive_and_free(),
     NOTHING)
LOOP(buffer, rt_buffer_write(&shared.buffer, shared.out, MESSAGE, TM_INFINITE),
     rt_buffer_read(&shared.buffer, shared.in, MESSAGE, TM_INFINITE), NOTHING)
LOOP(heap, alloc_and_free(), (void)0, NOTHING)

enum { BARE, EVENT, COND, QUEUE, ZERO_COPY, BUFFER, HEAP, KINDS };

static void (*const loops[KINDS])(void) = { bare, event, cond, queue, zero_copy, buffer, heap };

static struct series series[KINDS] = {
	{ .name = "2 CAS" },
	{ .name = "rt_event_signal, _wait, _clear" },
	{ .name = "2 rt_cond_signal" },
	{ .name = "rt_queue_write + _read, 64 bytes" },
	{ .name = "_alloc, _send, _receive, _free" },
	{ .name = "rt_buffer_write + _read, 64 bytes" },
	{ .name = "rt_heap_alloc + _free, 64 bytes" },
};

static void set_up(void)
{
	MUST(rt_event_create(&shared.event, NULL, 0, EV_PRIO) == 0);
	MUST(rt_cond_create(&shared.cond, NULL) == 0);
	MUST(rt_queue_create(&shared.queue, NULL, 64 * MESSAGE, 64, Q_PRIO) == 0);
	MUST(rt_buffer_create(&shared.buffer, NULL, 64 * MESSAGE, B_PRIO) == 0);
	MUST(rt_heap_create(&shared.heap, NULL, 64 * 1024, H_PRIO) == 0);
}

int main(int argc, char **argv)
{
	struct pairs pairs = { "Objects of which nobody waits", KINDS, loops, series, set_up, 0 };

	run_pairs(&pairs, argc, argv);
	row(&series[EVENT], &series[BARE], ALL, 2.2);
	row(&series[COND], &series[BARE], ALL, 0);
	row(&series[QUEUE], &series[BARE], ALL, 5);
	row(&series[ZERO_COPY], &series[BARE], ALL, 0);
	row(&series[BUFFER], &series[BARE], ALL, 4);
	row(&series[HEAP], &series[BARE], ALL, 4.5);
	return 0;
}
