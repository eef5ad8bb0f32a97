/* What the tests of event groups share: waiters, and a look at a group's state. Include it after kit.h. */
#ifndef EVENT_KIT_H
#define EVENT_KIT_H

#include <alchemy/event.h>

#ifndef MS
#define MS 1000000LL
#endif

/* Whole seconds that no case lives to see: the watchdog is earlier. */
#define HOUR (3600000LL * MS)

/* What `got` holds before a wait, and after one that failed. */
#define UNTOUCHED 0xdeadbeefU

/* A task that waits once for flags, leaves its tag as a mark and ends. */
struct event_waiter {
	RT_TASK task;
	RT_EVENT *event;
	unsigned mask;
	int mode;
	RTIME timeout;
	const char *tag;
	unsigned got;
	int result;
};

KIT_UNUSED static void event_waiter_body(void *waiter_)
{
	struct event_waiter *waiter = (struct event_waiter *)waiter_;

	waiter->result = rt_event_wait(waiter->event, waiter->mask, &waiter->got, waiter->mode, waiter->timeout);
	mark(waiter->tag);
}

/* Starts a waiter and returns when it is queued. */
KIT_UNUSED static void await_for(struct event_waiter *waiter, RT_EVENT *event, unsigned mask, int mode, int prio,
				 const char *tag, RTIME timeout)
{
	waiter->event = event;
	waiter->mask = mask;
	waiter->mode = mode;
	waiter->timeout = timeout;
	waiter->tag = tag;
	waiter->got = UNTOUCHED;
	waiter->result = 1;
	kit_spawn_blocked(&waiter->task, prio, event_waiter_body, waiter);
}

KIT_UNUSED static void await(struct event_waiter *waiter, RT_EVENT *event, unsigned mask, int mode, int prio,
			     const char *tag)
{
	await_for(waiter, event, mask, mode, prio, tag, TM_INFINITE);
}

/* Its wait has ended with this result and these flags. */
#define CHECK_ENDED(waiter, result_, got_) \
	do { \
		kit_join(&(waiter)->task); \
		CHECK_EQ((waiter)->result, (result_)); \
		CHECK_EQ((waiter)->got, (got_)); \
	} while (0)

/* The group shows exactly this. */
#define CHECK_EVENT(event, value_, nwaiters_) \
	do { \
		RT_EVENT_INFO info_; \
		CHECK_EQ(rt_event_inquire((event), &info_), 0); \
		CHECK_EQ(info_.value, (value_)); \
		CHECK_EQ(info_.nwaiters, (nwaiters_)); \
	} while (0)

KIT_UNUSED static int event_waiters(RT_EVENT *event)
{
	RT_EVENT_INFO info;

	CHECK_EQ(rt_event_inquire(event, &info), 0);
	return info.nwaiters;
}

/* A live unnamed group. */
#define MAKE_EVENT(event, ivalue, mode) CHECK_EQ(rt_event_create((event), NULL, (ivalue), (mode)), 0)

#endif /* EVENT_KIT_H */
