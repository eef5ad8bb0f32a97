/* What an operation costs when there are few and when there are many: objects, messages queued, alarms armed. */
#include "bench.h"

#include <alchemy/alarm.h>
#include <alchemy/buffer.h>
#include <alchemy/event.h>
#include <alchemy/heap.h>
#include <alchemy/queue.h>

#define ROUNDS 400
#define STEPS 100 /* operations, in each round */
#define MOST 10000

static const int sizes[] = { 10, 1000, 10000 };
enum { SIZES = 3 };

static RT_SEM sems[MOST];
static RT_EVENT events[MOST];
static RT_BUFFER buffers[MOST];
static RT_ALARM alarms[MOST];
static RT_QUEUE queue;
static RT_HEAP heap;
static void *blocks[MOST];
static unsigned state = 1;

static int draw(int below)
{
	state = state * 1664525u + 1013904223u;
	return (int)((state >> 8) % (unsigned)below);
}

static void semaphore(int among)
{
	RT_SEM *sem = &sems[draw(among)];

	rt_sem_v(sem);
	rt_sem_p(sem, TM_INFINITE);
}

static void event(int among)
{
	RT_EVENT *event = &events[draw(among)];

	rt_event_signal(event, 1);
	rt_event_clear(event, 1, NULL);
}

static void buffer(int among)
{
	RT_BUFFER *buffer = &buffers[draw(among)];
	char byte = 1;

	rt_buffer_write(buffer, &byte, 1, TM_INFINITE);
	rt_buffer_read(buffer, &byte, 1, TM_INFINITE);
}

/* `among` messages are queued already. */
static void message(int among)
{
	char text[16] = "";

	(void)among;
	rt_queue_write(&queue, text, sizeof(text), Q_NORMAL);
	rt_queue_read(&queue, text, sizeof(text), TM_INFINITE);
}

/* `among` blocks are live. */
static void block(int among)
{
	int which = draw(among);

	rt_heap_free(&heap, blocks[which]);
	rt_heap_alloc(&heap, 16 + (size_t)draw(200), TM_NONBLOCK, &blocks[which]);
}

/* `among` alarms are armed. */
static void alarm_(int among)
{
	RT_ALARM *alarm = &alarms[draw(among)];

	rt_alarm_stop(alarm);
	rt_alarm_start(alarm, 3600000000000ULL + (RTIME)draw(1000000) * 1000, TM_INFINITE);
}

static void ring(void *arg)
{
	(void)arg;
}

static struct kind {
	const char *name;
	void (*step)(int among);
	struct series series[SIZES];
} kinds[] = {
	{ .name = "P, V: semaphores", .step = semaphore },
	{ .name = "signal, clear: events", .step = event },
	{ .name = "write, read: buffers", .step = buffer },
	{ .name = "write, read: messages queued", .step = message },
	{ .name = "free, alloc: live blocks", .step = block },
	{ .name = "stop, start: armed alarms", .step = alarm_ },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* From `have` to `want` of everything. */
static void grow(int have, int want)
{
	char text[16] = "";

	for (int i = have; i < want; i++) {
		MUST(rt_sem_create(&sems[i], NULL, 0, S_PRIO) == 0);
		MUST(rt_event_create(&events[i], NULL, 0, EV_PRIO) == 0);
		MUST(rt_buffer_create(&buffers[i], NULL, 16, B_PRIO) == 0);
		MUST(rt_alarm_create(&alarms[i], NULL, ring, NULL) == 0);
		MUST(rt_alarm_start(&alarms[i], 3600000000000ULL + (RTIME)draw(1000000) * 1000, TM_INFINITE) == 0);
		MUST(rt_queue_write(&queue, text, sizeof(text), Q_NORMAL) == 0);
		MUST(rt_heap_alloc(&heap, 16 + (size_t)draw(200), TM_NONBLOCK, &blocks[i]) == 0);
	}
}

static void measure(void *arg)
{
	int have = 0;

	(void)arg;
	MUST(rt_queue_create(&queue, NULL, MOST * 64, MOST + 1, Q_PRIO) == 0);
	MUST(rt_heap_create(&heap, NULL, 8 << 20, H_PRIO) == 0);
	for (int size = 0; size < SIZES; size++) {
		grow(have, sizes[size]);
		have = sizes[size];
		for (int round = 0; round < ROUNDS; round++) {
			progress("growth", size * ROUNDS + round, SIZES * ROUNDS);
			for (int kind = 0; kind < KINDS; kind++) {
				double start = now();

				for (int n = 0; n < STEPS; n++)
					kinds[kind].step(have);
				kinds[kind].series[size].ns[round] = (now() - start) / STEPS;
			}
		}
	}
	progress("growth", 1, 1);
}

int main(void)
{
	pin();
	fifo_usable("other processes disturb the figures");
	run_task(measure);
	printf("\nGrowth: nanoseconds where there are so many\n  %-32s", "operation: among");
	for (int size = 0; size < SIZES; size++)
		printf(" %8d", sizes[size]);
	printf("  most / fewest\n");
	for (int kind = 0; kind < KINDS; kind++) {
		double median[SIZES];

		printf("  %-32s", kinds[kind].name);
		for (int size = 0; size < SIZES; size++) {
			median[size] = percentile(kinds[kind].series[size].ns, ROUNDS, 50);
			printf(" %8.1f", median[size]);
		}
		printf("  %13.2f\n", median[SIZES - 1] / median[0]);
	}
	return 0;
}
