/* What the tests of priority inheritance share. Include it after mutex-kit.h. */
#ifndef MUTEX_PI_KIT_H
#define MUTEX_PI_KIT_H

static RT_MUTEX m1, m2;
static struct puppet low, mid, high;

KIT_UNUSED static void make_both(void)
{
	MAKE_MUTEX(&m1);
	MAKE_MUTEX(&m2);
}

/* `low` (5) owns m1, `high` (40) waits for it. */
KIT_UNUSED static void boost_it(void)
{
	make_both();
	start(&low, 5, NULL);
	start(&high, 40, NULL);
	CHECK_EQ(acquire(&low, &m1, TM_INFINITE), 0);
	check_prio(&low, 5, 5);
	enqueue(&high, &m1, TM_INFINITE);
	check_prio(&low, 40, 5);
}

KIT_UNUSED static void end_both(void)
{
	check_prio(&low, 5, 5);
	CHECK_EQ(rt_mutex_delete(&m1), 0);
	dismiss(&low);
	dismiss(&high);
}

#endif /* MUTEX_PI_KIT_H */
