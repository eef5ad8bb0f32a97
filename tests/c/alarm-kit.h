/*
 * What the alarm tests share: handlers that keep a diary, a way to run anything in a handler. Include it after kit.h.
 *
 * Handlers are called in order of date, so a one-shot alarm whose date lies between two expiries of another alarm is an exact
 * clock: when its handler runs, the earlier expiries have been served, however late the server is.
 */
#ifndef ALARM_KIT_H
#define ALARM_KIT_H

#include <alchemy/alarm.h>

#ifndef MS
#define MS 1000000ULL
#endif

enum { DIARY = 512 };

/* An alarm that notes when its handler was called. */
struct diary {
	RT_ALARM alarm;
	const char *tag;                 /* a mark at each call, unless NULL */
	void (*more)(struct diary *);    /* called at the end of each call, unless NULL */
	int calls;                       /* how many have ended */
	int entered;
	long long when[DIARY];           /* the first of them, at entry */
	unsigned long expiries[DIARY];   /* what inquire told there */
	int active[DIARY];
};

KIT_UNUSED static void keep_diary(void *diary_)
{
	struct diary *diary = (struct diary *)diary_;
	int i = __atomic_fetch_add(&diary->entered, 1, __ATOMIC_ACQ_REL);
	RT_ALARM_INFO info;

	if (i < DIARY) {
		diary->when[i] = kit_now();
		/* Somebody may have deleted it meanwhile. */
		if (rt_alarm_inquire(&diary->alarm, &info) == 0) {
			diary->expiries[i] = info.expiries;
			diary->active[i] = info.active;
		}
	}
	if (diary->tag)
		mark(diary->tag);
	if (diary->more)
		diary->more(diary);
	__atomic_add_fetch(&diary->calls, 1, __ATOMIC_ACQ_REL);
}

KIT_UNUSED static void make_diary_named(struct diary *diary, const char *name, const char *tag, void (*more)(struct diary *))
{
	memset(diary, 0, sizeof(*diary));
	diary->tag = tag;
	diary->more = more;
	CHECK_EQ(rt_alarm_create(&diary->alarm, name, keep_diary, diary), 0);
}

KIT_UNUSED static void make_diary(struct diary *diary, const char *tag, void (*more)(struct diary *))
{
	make_diary_named(diary, NULL, tag, more);
}

KIT_UNUSED static int calls_of(struct diary *diary)
{
	return __atomic_load_n(&diary->calls, __ATOMIC_ACQUIRE);
}

KIT_UNUSED static int entries_of(struct diary *diary)
{
	return __atomic_load_n(&diary->entered, __ATOMIC_ACQUIRE);
}

KIT_UNUSED static unsigned long expiries_of(RT_ALARM *alarm)
{
	RT_ALARM_INFO info;

	CHECK_EQ(rt_alarm_inquire(alarm, &info), 0);
	return info.expiries;
}

KIT_UNUSED static int is_active(RT_ALARM *alarm)
{
	RT_ALARM_INFO info;

	CHECK_EQ(rt_alarm_inquire(alarm, &info), 0);
	return info.active != 0;
}

/* The alarm shows exactly this. */
#define CHECK_ALARM(alarm, expiries_, active_) \
	do { \
		RT_ALARM_INFO info_; \
		CHECK_EQ(rt_alarm_inquire((alarm), &info_), 0); \
		CHECK_EQ(info_.expiries, (expiries_)); \
		CHECK_EQ(info_.active != 0, (active_)); \
	} while (0)

/* No call came before its date, which is known to be no earlier than `first`. */
KIT_UNUSED static void check_never_early(struct diary *diary, long long first, RTIME interval)
{
	int i, count = calls_of(diary);

	for (i = 0; i < count && i < DIARY; i++) {
		CHECK(diary->expiries[i] >= (unsigned long)i + 1);
		CHECK(diary->when[i] >= first + (long long)interval * (long long)(diary->expiries[i] - 1));
		CHECK(i == 0 || diary->expiries[i] > diary->expiries[i - 1]);
	}
}

/* No further call starts: `ns` pass without one. A call in progress has a moment to end before. */
KIT_UNUSED static void check_silent(struct diary *diary, long long ns)
{
	int before;

	until(entries_of(diary) == calls_of(diary));
	if (!kit_fifo())
		kit_nap(10 * MS);
	before = entries_of(diary);
	kit_nap(ns);
	CHECK_EQ(entries_of(diary), before);
}

/* ---- Anything in a handler ------------------------------------------------------------------------------------ */

struct errand {
	void (*run)(void *arg);
	void *arg;
	int over;
};

KIT_UNUSED static void run_errand(void *errand_)
{
	struct errand *errand = (struct errand *)errand_;

	errand->run(errand->arg);
	__atomic_store_n(&errand->over, 1, __ATOMIC_RELEASE);
}

/* Runs `run(arg)` in an alarm handler, once; returns when it has ended. */
KIT_UNUSED static void in_handler(void (*run)(void *), void *arg)
{
	struct errand errand = { run, arg, 0 };
	RT_ALARM alarm;

	CHECK_EQ(rt_alarm_create(&alarm, NULL, run_errand, &errand), 0);
	CHECK_EQ(rt_alarm_start(&alarm, 0, TM_INFINITE), 0);
	until(__atomic_load_n(&errand.over, __ATOMIC_ACQUIRE));
	CHECK_EQ(rt_alarm_delete(&alarm), 0);
}

KIT_UNUSED static void no_call(void *arg)
{
	(void)arg;
}

#endif /* ALARM_KIT_H */
