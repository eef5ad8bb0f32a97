/* rt_sem_p and its forms: tokens, polls, dates, who may wait. */
#include "kit.h"
#include "sem-kit.h"
#include <limits.h>

/* Every form of P that would have to wait on an empty semaphore for a given outcome. */
static const struct timespec bad_dates[] = {
	{ 0, -1 }, { 0, 1000000000 }, { 1, 2000000000 }, { 1, LONG_MAX }, { 1, LONG_MIN }, { LONG_MAX, 1000000000 },
	{ -1, -1 }, { -1, 1000000000 },
};
#define BAD_DATES (sizeof(bad_dates) / sizeof(bad_dates[0]))

static const struct timespec past_dates[] = { { 0, 1 }, { 1, 0 }, { -1, 0 }, { -1, 999999999 }, { LONG_MIN, 0 } };
#define PAST_DATES (sizeof(past_dates) / sizeof(past_dates[0]))

static struct timespec date_of(long long ns)
{
	struct timespec date;

	date.tv_sec = ns / 1000000000LL;
	date.tv_nsec = ns % 1000000000LL;
	return date;
}

static void p_takes_and_v_gives(void)
{
	RT_SEM sem;

	MAKE_SEM(&sem, 2, S_FIFO);
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
	CHECK_SEM(&sem, 1, 0);
	CHECK_EQ(rt_sem_p_until(&sem, TM_INFINITE), 0);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 2, 0);
	CHECK_EQ(rt_sem_p_timed(&sem, NULL), 0);
	CHECK_EQ(rt_sem_p(&sem, 1), 0);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void poll_forms(void *sem_)
{
	static const struct timespec poll = { 0, 0 };
	RT_SEM *sem = (RT_SEM *)sem_;

	CHECK_EQ(rt_sem_p(sem, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_p_until(sem, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_p_timed(sem, &poll), -EWOULDBLOCK);
	CHECK_SEM(sem, 0, 0);
	CHECK_EQ(rt_sem_v(sem), 0);
	CHECK_EQ(rt_sem_v(sem), 0);
	CHECK_EQ(rt_sem_v(sem), 0);
	CHECK_EQ(rt_sem_p(sem, TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_p_until(sem, TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_p_timed(sem, &poll), 0);
	CHECK_SEM(sem, 0, 0);
}

static void poll_never_waits_for_any_caller(void)
{
	RT_SEM sem;
	RT_TASK task;

	MAKE_SEM(&sem, 0, S_PRIO);
	poll_forms(&sem);
	kit_plain(poll_forms, &sem);
	kit_spawn(&task, 10, poll_forms, &sem);
	kit_join(&task);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void take_with_every_date(void *sem_)
{
	RT_SEM *sem = (RT_SEM *)sem_;
	unsigned i;

	for (i = 0; i < PAST_DATES; i++) {
		CHECK_EQ(rt_sem_v(sem), 0);
		CHECK_EQ(rt_sem_p_timed(sem, &past_dates[i]), 0);
	}
	for (i = 0; i < BAD_DATES; i++) {
		CHECK_EQ(rt_sem_v(sem), 0);
		CHECK_EQ(rt_sem_p_timed(sem, &bad_dates[i]), 0);
	}
	CHECK_EQ(rt_sem_v(sem), 0);
	CHECK_EQ(rt_sem_p_until(sem, 1), 0);
	CHECK_SEM(sem, 0, 0);
}

static void available_token_is_taken_whatever_the_date(void)
{
	RT_SEM sem;
	RT_TASK task;

	MAKE_SEM(&sem, 0, S_FIFO);
	take_with_every_date(&sem);
	kit_plain(take_with_every_date, &sem);
	kit_spawn(&task, 10, take_with_every_date, &sem);
	kit_join(&task);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void miss_every_date(void *sem_)
{
	RT_SEM *sem = (RT_SEM *)sem_;
	unsigned i;

	for (i = 0; i < PAST_DATES; i++)
		CHECK_EQ(rt_sem_p_timed(sem, &past_dates[i]), -ETIMEDOUT);
	CHECK_EQ(rt_sem_p_until(sem, 1), -ETIMEDOUT);
	CHECK_EQ(rt_sem_p_until(sem, rt_timer_read()), -ETIMEDOUT);
	for (i = 0; i < BAD_DATES; i++)
		CHECK_EQ(rt_sem_p_timed(sem, &bad_dates[i]), -EINVAL);
	CHECK_SEM(sem, 0, 0);
	CHECK_EQ(rt_sem_v(sem), 0);
	CHECK_SEM(sem, 1, 0);
	CHECK_EQ(rt_sem_p(sem, TM_NONBLOCK), 0);
}

static void empty_with_past_or_malformed_date(void)
{
	RT_SEM sem;
	RT_TASK task;

	MAKE_SEM(&sem, 0, S_FIFO);
	miss_every_date(&sem);
	kit_spawn(&task, 10, miss_every_date, &sem);
	kit_join(&task);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void take_unlimited(void *sem)
{
	CHECK_EQ(rt_sem_p((RT_SEM *)sem, TM_INFINITE), 0);
}

static void plain_thread_takes_available_token(void)
{
	RT_SEM sem;

	MAKE_SEM(&sem, 1, S_FIFO);
	kit_plain(take_unlimited, &sem);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void refused_waits(void *sem_)
{
	RT_SEM *sem = (RT_SEM *)sem_;
	struct timespec date = date_of(kit_now() + 1000000);
	unsigned i;

	CHECK_EQ(rt_sem_p(sem, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_sem_p(sem, MS), -EPERM);
	CHECK_EQ(rt_sem_p_until(sem, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_sem_p_until(sem, rt_timer_read() + MS), -EPERM);
	CHECK_EQ(rt_sem_p_timed(sem, NULL), -EPERM);
	CHECK_EQ(rt_sem_p_timed(sem, &date), -EPERM);
	/* Who asks is looked at before the date is. */
	for (i = 0; i < BAD_DATES; i++)
		CHECK_EQ(rt_sem_p_timed(sem, &bad_dates[i]), -EPERM);
	for (i = 0; i < PAST_DATES; i++)
		CHECK_EQ(rt_sem_p_timed(sem, &past_dates[i]), -EPERM);
}

static void plain_thread_may_not_wait_and_leaves_no_trace(void)
{
	RT_SEM sem;

	MAKE_SEM(&sem, 0, S_FIFO);
	kit_plain(refused_waits, &sem);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_SEM(&sem, 1, 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void shadow_and_wait(void *sem)
{
	CHECK_EQ(rt_task_shadow(NULL, NULL, 0, 0), 0);
	CHECK_EQ(rt_sem_p((RT_SEM *)sem, MS), -ETIMEDOUT);
}

static void shadowed_thread_may_wait(void)
{
	RT_SEM sem;

	MAKE_SEM(&sem, 0, S_FIFO);
	kit_plain(shadow_and_wait, &sem);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

/* Each form waits at least as long as it was told, and no trace stays. */
static void timed_forms(void *sem_)
{
	RT_SEM *sem = (RT_SEM *)sem_;
	struct timespec date;
	long long start;

	start = kit_now();
	CHECK_EQ(rt_sem_p(sem, 20 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 20000000);

	start = kit_now();
	CHECK_EQ(rt_sem_p_until(sem, rt_timer_read() + 20 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 20000000);

	start = kit_now();
	date = date_of(start + 20000000);
	CHECK_EQ(rt_sem_p_timed(sem, &date), -ETIMEDOUT);
	CHECK(kit_now() - start >= 20000000);

	CHECK_EQ(rt_sem_p(sem, 1), -ETIMEDOUT);
	CHECK_SEM(sem, 0, 0);
	CHECK_EQ(rt_sem_v(sem), 0);
	CHECK_SEM(sem, 1, 0);
	CHECK_EQ(rt_sem_p(sem, TM_NONBLOCK), 0);
}

static void timed_wait_is_never_short(void)
{
	RT_SEM sem;
	RT_TASK task;

	MAKE_SEM(&sem, 0, S_FIFO);
	timed_forms(&sem); /* the initial thread, never shadowed, may wait */
	kit_spawn(&task, 10, timed_forms, &sem);
	kit_join(&task);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

/* The waits of a task, one after the other; -EIDRM ends it. */
struct wait_form {
	RT_SEM *sem;
	enum { RELATIVE, ABSOLUTE, TIMESPEC } form;
	RTIME value;
	const struct timespec *date;
};

static void wait_in_form(void *form_)
{
	struct wait_form *form = (struct wait_form *)form_;

	switch (form->form) {
	case RELATIVE:
		CHECK_EQ(rt_sem_p(form->sem, form->value), 0);
		break;
	case ABSOLUTE:
		CHECK_EQ(rt_sem_p_until(form->sem, form->value), 0);
		break;
	case TIMESPEC:
		CHECK_EQ(rt_sem_p_timed(form->sem, form->date), 0);
		break;
	}
}

#define STATUS_WAIT 0x20011
#define STATUS_TIMEDWAIT 0x40011

static void zero_and_null_wait_without_limit(void)
{
	RT_SEM sem;
	RT_TASK task;
	RT_TASK_INFO info;
	struct wait_form forms[] = { { &sem, RELATIVE, 0, NULL }, { &sem, ABSOLUTE, 0, NULL }, { &sem, TIMESPEC, 0, NULL } };
	unsigned i;

	MAKE_SEM(&sem, 0, S_FIFO);
	for (i = 0; i < 3; i++) {
		kit_spawn_blocked(&task, 10, wait_in_form, &forms[i]);
		CHECK_EQ(rt_task_inquire(&task, &info), 0);
		CHECK_EQ(info.stat.status, STATUS_WAIT);
		CHECK_EQ(info.stat.timeout, 0);
		CHECK_SEM(&sem, 0, 1);
		CHECK_EQ(rt_sem_v(&sem), 0);
		kit_join(&task);
		CHECK_SEM(&sem, 0, 0);
	}
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void huge_timeouts_saturate(void)
{
	static const RTIME values[] = {
		TM_NONBLOCK - 1, TM_NONBLOCK - 2, TM_NONBLOCK / 2, TM_NONBLOCK / 2 + 1, TM_NONBLOCK - 1000000000ULL,
	};
	static const struct timespec last = { LONG_MAX, 999999999 };
	RT_SEM sem;
	RT_TASK task;
	struct wait_form form = { &sem, RELATIVE, 0, &last };
	unsigned i;

	MAKE_SEM(&sem, 0, S_FIFO);
	for (i = 0; i <= 2 * sizeof(values) / sizeof(values[0]); i++) {
		form.value = values[i / 2 % (sizeof(values) / sizeof(values[0]))];
		form.form = i % 2 ? ABSOLUTE : RELATIVE;
		if (i == 2 * sizeof(values) / sizeof(values[0]))
			form.form = TIMESPEC;
		kit_spawn_blocked(&task, 10, wait_in_form, &form);
		kit_nap(1000000);
		CHECK_SEM(&sem, 0, 1); /* a wrapped date would have passed */
		CHECK_EQ(rt_sem_v(&sem), 0);
		kit_join(&task);
	}
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void timed_waiter_takes_a_token_in_time(void)
{
	RT_SEM sem;
	struct waiter waiter;
	RT_TASK_INFO info;

	MAKE_SEM(&sem, 0, S_FIFO);
	start_timed_waiter(&waiter, &sem, 10, "w", 3600000 * MS);
	CHECK_EQ(rt_task_inquire(&waiter.task, &info), 0);
	CHECK_EQ(info.stat.status, STATUS_TIMEDWAIT);
	CHECK(info.stat.timeout >= 1 && info.stat.timeout <= 3600000 * MS);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(end_waiter(&waiter), 0);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void post_after_ms(void *sem)
{
	CHECK_EQ(rt_task_sleep(5 * MS), 0);
	mark("post");
	CHECK_EQ(rt_sem_v((RT_SEM *)sem), 0);
}

static void initial_thread_waits_like_a_task(void)
{
	RT_SEM sem;
	RT_TASK task;

	MAKE_SEM(&sem, 0, S_PRIO);
	CHECK(rt_task_self() == NULL);
	CHECK_EQ(rt_sem_p(&sem, MS), -ETIMEDOUT);
	kit_spawn(&task, 10, post_after_ms, &sem);
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
	mark("main");
	kit_join(&task);
	expect_marks("post main");
	CHECK(rt_task_self() == NULL);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static int handled;

static void on_signal(int signal)
{
	(void)signal;
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

struct interrupted {
	RT_SEM sem;
	int result;
	long long took;
};

static void wait_600_ms(void *arg_)
{
	struct interrupted *arg = (struct interrupted *)arg_;
	long long start = kit_now();

	arg->result = rt_sem_p(&arg->sem, 600 * MS);
	arg->took = kit_now() - start;
}

static void linux_signals_do_not_end_a_wait(void)
{
	struct sigaction action;
	struct interrupted arg;
	RT_TASK task;
	int i;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal; /* no SA_RESTART */
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	MAKE_SEM(&arg.sem, 0, S_FIFO);
	kit_spawn_blocked(&task, 10, wait_600_ms, &arg);
	for (i = 1; i <= 3; i++) {
		kit_nap(20000000);
		CHECK_SEM(&arg.sem, 0, 1);
		CHECK_EQ(pthread_kill(task.thread, SIGUSR1), 0);
		until(__atomic_load_n(&handled, __ATOMIC_RELAXED) == i);
	}
	kit_join(&task);
	CHECK_EQ(arg.result, -ETIMEDOUT);
	CHECK(arg.took >= 600000000);
	CHECK_SEM(&arg.sem, 0, 0);

	/* Nor does one keep a token away. */
	MAKE_SEM(&arg.sem, 0, S_FIFO);
	kit_spawn_blocked(&task, 10, wait_600_ms, &arg);
	CHECK_EQ(pthread_kill(task.thread, SIGUSR1), 0);
	until(__atomic_load_n(&handled, __ATOMIC_RELAXED) == 4);
	CHECK_EQ(rt_sem_v(&arg.sem), 0);
	kit_join(&task);
	CHECK_EQ(arg.result, 0);
}

static void pulse_without_waiter_is_lost(void)
{
	RT_SEM sem;
	int i;

	MAKE_SEM(&sem, 0, S_PULSE);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(rt_sem_v(&sem), 0);
		CHECK_SEM(&sem, 0, 0);
	}
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_p(&sem, MS), -ETIMEDOUT);
	CHECK_EQ(rt_sem_broadcast(&sem), 0);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void broadcast_without_waiter_empties(void)
{
	RT_SEM sem;

	MAKE_SEM(&sem, 5, S_FIFO);
	CHECK_EQ(rt_sem_broadcast(&sem), 0);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_broadcast(&sem), 0);
	CHECK_SEM(&sem, 0, 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

KIT_CASES(
	CASE(p_takes_and_v_gives),
	CASE(poll_never_waits_for_any_caller),
	CASE(available_token_is_taken_whatever_the_date),
	CASE(empty_with_past_or_malformed_date),
	CASE(plain_thread_takes_available_token),
	CASE(plain_thread_may_not_wait_and_leaves_no_trace),
	CASE(shadowed_thread_may_wait),
	CASE(timed_wait_is_never_short),
	CASE(zero_and_null_wait_without_limit),
	CASE(huge_timeouts_saturate),
	CASE(timed_waiter_takes_a_token_in_time),
	CASE(initial_thread_waits_like_a_task),
	CASE(linux_signals_do_not_end_a_wait),
	CASE(pulse_without_waiter_is_lost),
	CASE(broadcast_without_waiter_empties)
)
