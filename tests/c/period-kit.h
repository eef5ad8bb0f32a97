/* A periodic task's time line. What a wait returns is compared with what the clock around it allows, so that a machine
 * that is late somewhere fails nothing. Include it after control-kit.h. */
#ifndef PERIOD_KIT_H
#define PERIOD_KIT_H

/* The oldest release not yet waited for lies between `from` and `to`. */
struct line {
	RTIME from, to, period;
};

KIT_UNUSED static RTIME periods_between(RTIME early, RTIME late, RTIME period)
{
	return late > early ? (late - early) / period : 0;
}

/* Waits for the next release; the overruns. */
KIT_UNUSED static unsigned long wait_on(struct line *line)
{
	RTIME before = rt_timer_read(), after;
	unsigned long overruns = 77, least, most;
	int result = rt_task_wait_period(&overruns);

	after = rt_timer_read();
	CHECK(result == 0 || result == -ETIMEDOUT);
	CHECK(after >= line->from);
	least = periods_between(line->to, before, line->period);
	most = periods_between(line->from, after, line->period);
	CHECK(overruns >= least && overruns <= most);
	CHECK_EQ(result, overruns == 0 ? 0 : -ETIMEDOUT);
	line->from += (overruns + 1) * line->period;
	line->to += (overruns + 1) * line->period;
	return overruns;
}

/* Makes the caller periodic from a date that is some way off. */
KIT_UNUSED static struct line start_line(RTIME delay, RTIME period)
{
	struct line line = { 0, 0, period };
	int result, tries = 0;

	do {
		line.from = line.to = rt_timer_read() + delay;
		result = rt_task_set_periodic(NULL, line.from, period);
	} while (result == -ETIMEDOUT && rt_timer_read() >= line.from && ++tries < 10); /* held up on the way */
	CHECK_EQ(result, 0);
	return line;
}

KIT_UNUSED static struct line start_now(RTIME period)
{
	struct line line = { rt_timer_read() + period, 0, period };

	CHECK_EQ(rt_task_set_periodic(NULL, TM_NOW, period), 0);
	line.to = rt_timer_read() + period;
	return line;
}

KIT_UNUSED static void check_not_periodic(void)
{
	unsigned long overruns = 77;

	CHECK_EQ(rt_task_wait_period(&overruns), -EWOULDBLOCK);
	CHECK_EQ(rt_task_wait_period(NULL), -EWOULDBLOCK);
	CHECK_EQ(overruns, 77);
	CHECK_EQ(kit_status(rt_task_self()), 0x11);
}

/* As tasks with and without SCHED_FIFO. */
KIT_UNUSED static void as_tasks(void (*body)(void *))
{
	as_task(0, body, NULL);
	as_task(20, body, NULL);
}

#endif /* PERIOD_KIT_H */
