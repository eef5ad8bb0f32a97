/*
 * Bind by name in a process with 64,000 semaphores against one with 1,000, names in random order; and the memory that
 * 60,000 semaphores take.
 *
 * The two processes take turns on one CPU, a round each, as the parent tells them over pipes. Afterwards both do
 * about as much other work for each of as many cells of their own, and load a single word of the cell: what the caches
 * alone make of the difference. The largest cache is shared with whatever else the machine does; where this second row
 * is far above 1.3, others use it up, and binds, which need several words, suffer all the more.
 */
#include "bench.h"

#include <sys/wait.h>

#define ROUNDS 300
#define BINDS 64000 /* in each round */
#define MANY 64000
#define FEW 1000

enum { CROWD, HANDFUL, KINDS };

static struct series binds[KINDS] = {
	{ .name = "rt_sem_bind, 64,000 names" },
	{ .name = "rt_sem_bind, 1,000 names" },
};
static struct series loads[KINDS] = {
	{ .name = "work and one load, 64,000 cells" },
	{ .name = "work and one load, 1,000 cells" },
};

static struct {
	int order, result; /* our ends of the pipes */
} crowds[KINDS];

/* What the parent orders. */
#define BIND 'b'
#define FOLLOW 'f'

/* "name" and five digits. */
static const char *name_of(unsigned number)
{
	static char name[] = "name00000";

	for (char *digit = name + 8; digit > name + 3; digit--) {
		*digit = (char)('0' + number % 10);
		number /= 10;
	}
	return name;
}

static unsigned random_below(unsigned limit)
{
	static unsigned long long state = 1;

	state = state * 6364136223846793005 + 1442695040888963407;
	return (unsigned)((state >> 33) % limit);
}

/* Writable bytes of the segment. */
static long segment_bytes(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512], access[8];
	long sum = 0;

	MUST(maps);
	while (fgets(line, sizeof(line), maps)) {
		MUST(sscanf(line, "%lx-%lx %7s", &from, &to, access) == 3);
		if (strstr(line, "/memfd:alchemy") && access[1] == 'w')
			sum += (long)(to - from);
	}
	fclose(maps);
	return sum;
}

/* Whether there was room for all of them. */
static int create(unsigned from, unsigned to)
{
	RT_SEM sem;

	for (unsigned i = from; i < to; i++) {
		if (rt_sem_create(&sem, name_of(i), 0, S_PRIO) != 0)
			return 0;
	}
	return 1;
}

/* One round. */
static double bind_all(const unsigned short *order)
{
	double start = now();
	RT_SEM sem;

	for (int i = 0; i < BINDS; i++)
		MUST(rt_sem_bind(&sem, name_of(order[i]), TM_NONBLOCK) == 0);
	return (now() - start) / BINDS;
}

/* A cell for each name, as large as a semaphore. Each leads to another, in random order, through all of them. */
static struct cell {
	struct cell *next;
	long fill[11];
} cells[MANY];

static void link_cells(unsigned count)
{
	static unsigned short order[MANY];

	for (unsigned i = 0; i < count; i++) {
		unsigned j = random_below(i + 1);

		order[i] = order[j];
		order[j] = (unsigned short)i;
	}
	for (unsigned i = 0; i < count; i++)
		cells[order[i]].next = &cells[order[(i + 1) % count]];
}

static double follow(void)
{
	static volatile unsigned long one = 1;
	unsigned long factor = one, address = (unsigned long)cells;
	double start = now();

	for (int i = 0; i < BINDS; i++) {
		address = (unsigned long)((struct cell *)address)->next;
		/* About 50 ns that nothing overlaps with. */
		for (int n = 0; n < 60; n++)
			address *= factor;
	}
	one = address - (unsigned long)cells == 1 ? 0 : 1; /* so that it is used */
	return (now() - start) / BINDS;
}

static struct {
	unsigned names;
	int order, result;
} me;

static void serve(void *arg)
{
	static unsigned short order[BINDS];
	double value;
	char what;

	(void)arg;
	MUST(create(0, FEW));
	if (me.names > FEW) {
		MUST(create(FEW, MANY - 60000));
		value = (double)segment_bytes();
		if (create(MANY - 60000, MANY))
			value = ((double)segment_bytes() - value) / 60000;
		else
			value = 0;
		MUST(write(me.result, &value, sizeof(value)) == sizeof(value));
	}
	while (read(me.order, &what, 1) == 1) {
		for (unsigned i = 0; i < BINDS; i++)
			order[i] = (unsigned short)random_below(me.names);
		if (what == BIND) {
			value = bind_all(order);
		} else {
			if (!cells[0].next)
				link_cells(me.names);
			value = follow();
		}
		MUST(write(me.result, &value, sizeof(value)) == sizeof(value));
	}
}

static void start(int kind, unsigned names)
{
	int order[2], result[2];

	MUST(pipe(order) == 0 && pipe(result) == 0);
	fflush(stdout);
	switch (fork()) {
	case 0:
		me.names = names;
		me.order = order[0];
		me.result = result[1];
		/* A child that keeps a writing end would never see the end of its orders. */
		for (int i = 0; i < kind; i++)
			close(crowds[i].order);
		close(order[1]);
		run_task(serve);
		_exit(0);
	case -1:
		MUST(!"fork");
	}
	close(order[0]);
	close(result[1]);
	crowds[kind].order = order[1];
	crowds[kind].result = result[0];
}

static double answer(int kind)
{
	double value;

	MUST(read(crowds[kind].result, &value, sizeof(value)) == sizeof(value));
	return value;
}

static void take_turns(struct series *series, const char *what, char order)
{
	for (int round = 0; round < ROUNDS; round++) {
		progress(what, round, ROUNDS);
		for (int kind = 0; kind < KINDS; kind++) {
			MUST(write(crowds[kind].order, &order, 1) == 1);
			series[kind].ns[round] = answer(kind);
		}
	}
	progress(what, ROUNDS, ROUNDS);
	row(&series[CROWD], &series[HANDFUL], ROUNDS, order == BIND ? 3.00 : 0);
}

int main(void)
{
	double bytes;

	pin();
	table("Bind by name, and memory");
	fifo_usable("other processes disturb the figures");
	start(CROWD, MANY);
	start(HANDFUL, FEW);
	bytes = answer(CROWD);
	if (bytes == 0) {
		printf("  the limits of this process (ulimit -l, -v) do not allow %d semaphores: left out\n", MANY);
		return 0;
	}
	take_turns(binds, "bind by name", BIND);
	take_turns(loads, "loads", FOLLOW);
	for (int kind = 0; kind < KINDS; kind++)
		close(crowds[kind].order);
	while (wait(NULL) > 0)
		;
	printf("  segment, bytes per semaphore: %.1f, budget 128  %s\n", bytes, bytes <= 128 ? "ok" : "over");
	return 0;
}
