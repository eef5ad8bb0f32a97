/* What an alarm handler may call: tasks, semaphores, mutexes, the clock, alarms (common.md 3, alarm.md 4, 7.15). Other
 * objects: alarm-objects. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"
#include "alarm-kit.h"

static RT_SEM sem;
static RT_TASK task, dormant;
static RT_MUTEX mutex;

static const struct timespec poll_date = { 0, 0 }, past_date = { 0, 1 }, far_date = { 1000000000, 0 }, bad_date = { 1, 2000000000 };

static void sleep_for_ever(void *arg)
{
	(void)arg;
	while (rt_task_sleep_until(TM_INFINITE) == -EINTR)
		mark("unblocked");
}

/* --- All at once -------------------------------------------------------------------------------------------------- */

static void the_list_of_the_specification(void *arg)
{
	RT_TASK other;
	RT_SEM made;

	(void)arg;
	CHECK(rt_task_self() == NULL);
	CHECK_EQ(rt_task_sleep(MS), -EPERM);
	CHECK_EQ(rt_task_create(&other, NULL, 0, 10, 0), -EPERM);
	CHECK_EQ(rt_sem_create(&made, NULL, 0, S_FIFO), -EPERM);
	CHECK_EQ(rt_sem_p(&sem, MS), -EPERM);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_task_resume(&task), 0);
}

/* alarm.md 7.15, common.md 14.15 */
static void list_of_the_specification(void)
{
	RT_SEM_INFO info;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_FIFO), 0);
	kit_spawn_blocked(&task, 10, sleep_for_ever, NULL);
	in_handler(the_list_of_the_specification, NULL);
	CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
	CHECK_EQ(info.count, 1);
	CHECK_EQ(info.nwaiters, 0);
	CHECK_EQ(rt_task_delete(&task), 0);
	kit_join(&task);
}

/* --- Tasks -------------------------------------------------------------------------------------------------------- */

static void make_tasks(void *arg)
{
	RT_TASK before, mine;

	(void)arg;
	memset(&mine, 0x5a, sizeof(mine));
	before = mine;
	CHECK_EQ(rt_task_create(&mine, "handler's", 0, 10, 0), -EPERM);
	CHECK_EQ(rt_task_spawn(&mine, "handler's", 0, 10, 0, nothing, NULL), -EPERM);
	CHECK_EQ(rt_task_shadow(&mine, "handler's", 10, 0), -EPERM);
	CHECK_EQ(rt_task_shadow(NULL, NULL, 0, 0), -EPERM);
	CHECK_SAME_BYTES(&mine, &before, sizeof(mine));
	CHECK_EQ(rt_task_delete(&task), -EPERM);
	CHECK_EQ(rt_task_delete(NULL), -EPERM);
	CHECK_EQ(rt_task_join(&task), -EPERM);
	CHECK(rt_task_self() == NULL);
}

static void tasks_are_not_made_or_ended(void)
{
	kit_spawn_blocked(&task, 10, sleep_for_ever, NULL);
	in_handler(make_tasks, NULL);
	CHECK(kit_blocked(&task));
	check_absent("handler's");
	CHECK_EQ(rt_task_delete(&task), 0);
	kit_join(&task);
}

static int server_policy, server_prio;

static void note_server(void *arg)
{
	struct sched_param param;

	(void)arg;
	server_policy = sched_getscheduler(0);
	CHECK_EQ(sched_getparam(0, &param), 0);
	server_prio = param.sched_priority;
}

/* alarm.md 4: the Reference demotes the timer thread in a refused shadow. */
static void refused_shadow_leaves_the_server_alone(void)
{
	int policy, prio;

	in_handler(note_server, NULL);
	policy = server_policy;
	prio = server_prio;
	kit_spawn_blocked(&task, 10, sleep_for_ever, NULL);
	in_handler(make_tasks, NULL);
	in_handler(note_server, NULL);
	CHECK_EQ(server_policy, policy);
	CHECK_EQ(server_prio, prio);
	CHECK_EQ(rt_task_delete(&task), 0);
	kit_join(&task);
}

static void run_dormant(void *flag)
{
	*(int *)flag = 1;
}

static void control(void *started)
{
	RT_TASK_INFO info;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	CHECK_EQ(rt_task_suspend(&task), 0);
	CHECK(kit_status(&task) & 0x20);
	CHECK_EQ(rt_task_unblock(&task), 0);
	CHECK_EQ(rt_task_set_priority(&task, 12), 0);
	CHECK_EQ(rt_task_slice(&task, 10 * MS), 0);
	CHECK_EQ(rt_task_slice(&task, 0), 0);
	CHECK_EQ(rt_task_set_periodic(&task, TM_NOW, 1000 * MS), 0);
	CHECK_EQ(rt_task_set_periodic(&task, TM_NOW, TM_INFINITE), 0);
	CHECK_EQ(rt_task_set_affinity(&task, &cpus), 0);
	CHECK_EQ(rt_task_inquire(&task, &info), 0);
	CHECK_EQ(info.prio, 12);
	CHECK_EQ(rt_task_inquire(&task, NULL), 0);
	CHECK_EQ(rt_task_resume(&task), 0);
	CHECK_EQ(rt_task_start(&dormant, run_dormant, started), 0);
	CHECK_EQ(rt_task_same(&task, &task), 1);
	CHECK_EQ(rt_task_same(&task, &dormant), 0);
}

static void tasks_are_controlled(void)
{
	int started = 0;

	kit_spawn_blocked(&task, 10, sleep_for_ever, NULL);
	CHECK_EQ(rt_task_create(&dormant, NULL, 0, 10, T_JOINABLE), 0);
	in_handler(control, &started);
	kit_join(&dormant);
	CHECK_EQ(started, 1);
	until(mark_count() == 1);
	expect_marks("unblocked");
	CHECK_EQ(rt_task_delete(&task), 0);
	kit_join(&task);
}

static void control_nobody(void *arg)
{
	RT_TASK_INFO info;
	cpu_set_t cpus;

	(void)arg;
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	CHECK_EQ(rt_task_suspend(NULL), -EPERM);
	CHECK_EQ(rt_task_set_priority(NULL, 1), -EPERM);
	CHECK_EQ(rt_task_slice(NULL, MS), -EPERM);
	CHECK_EQ(rt_task_set_periodic(NULL, TM_NOW, MS), -EPERM);
	CHECK_EQ(rt_task_set_affinity(NULL, &cpus), -EPERM);
	CHECK_EQ(rt_task_inquire(NULL, &info), -EPERM);
	CHECK_EQ(rt_task_inquire(NULL, NULL), -EPERM);
	CHECK_EQ(rt_task_resume(NULL), -EINVAL);
	CHECK_EQ(rt_task_unblock(NULL), -EINVAL);
	CHECK_EQ(rt_task_start(NULL, nothing, NULL), -EINVAL);
}

static void a_handler_is_no_task(void)
{
	in_handler(control_nobody, NULL);
}

static void wait_as_handler(void *arg)
{
	unsigned long overruns = 77;

	(void)arg;
	CHECK_EQ(rt_task_sleep(0), -EPERM);
	CHECK_EQ(rt_task_sleep(MS), -EPERM);
	CHECK_EQ(rt_task_sleep_until(TM_INFINITE), -EPERM);
	CHECK_EQ(rt_task_sleep_until(1), -EPERM);
	CHECK_EQ(rt_task_sleep_until(rt_timer_read() + MS), -EPERM);
	CHECK_EQ(rt_task_yield(), -EPERM);
	CHECK_EQ(rt_task_wait_period(&overruns), -EPERM);
	CHECK_EQ(rt_task_wait_period(NULL), -EPERM);
	CHECK_EQ(overruns, 77);
}

static void handlers_do_not_sleep(void)
{
	in_handler(wait_as_handler, NULL);
}

static void change_mode(void *arg)
{
	int mode = 77;

	(void)arg;
	CHECK_EQ(rt_task_set_mode(0, T_LOCK, &mode), 0);
	CHECK_EQ(rt_task_set_mode(T_LOCK, 0, &mode), 0);
	CHECK_EQ(rt_task_set_mode(T_LOCK, T_LOCK, &mode), 0);
	CHECK_EQ(rt_task_set_mode(0, 0, &mode), 0);
	CHECK_EQ(rt_task_set_mode(0, T_LOCK, NULL), 0);
	CHECK_EQ(rt_task_set_mode(0, T_WARNSW, &mode), -EPERM);
	CHECK_EQ(rt_task_set_mode(T_CONFORMING, 0, &mode), -EPERM);
	CHECK_EQ(rt_task_set_mode(0, T_LOCK | T_WARNSW, &mode), -EPERM);
	CHECK_EQ(rt_task_set_mode(0, 0x40000000, &mode), -EPERM);
	CHECK_EQ(mode, 77);
}

/* task.md, rt_task_set_mode, row 1 */
static void mode_of_a_handler(void)
{
	in_handler(change_mode, NULL);
}

static void bind_task(void *arg)
{
	RT_TASK bound, before;

	(void)arg;
	memset(&bound, 0x5a, sizeof(bound));
	before = bound;
	CHECK_EQ(rt_task_bind(&bound, "absent", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_task_bind(&bound, "absent", MS), -EPERM);
	CHECK_EQ(rt_task_bind(&bound, "absent", TM_INFINITE), -EPERM);
	CHECK_SAME_BYTES(&bound, &before, sizeof(bound));
	CHECK_EQ(rt_task_bind(&bound, "present", TM_INFINITE), 0);
	CHECK_EQ(bound.handle, task.handle);
	CHECK_EQ(rt_task_bind(&bound, "present", TM_NONBLOCK), 0);
	CHECK_EQ(rt_task_unbind(&bound), 0);
	CHECK_EQ(bound.handle, 0);
}

static void binding_tasks(void)
{
	CHECK_EQ(rt_task_create(&task, "present", 0, 10, T_JOINABLE), 0);
	in_handler(bind_task, NULL);
	finish(&task);
}

/* --- Semaphores --------------------------------------------------------------------------------------------------- */

static void use_sem(void *arg)
{
	RT_SEM made, before, bound;
	RT_SEM_INFO info;

	(void)arg;
	memset(&made, 0x5a, sizeof(made));
	before = made;
	CHECK_EQ(rt_sem_create(&made, "handler's", 0, S_FIFO), -EPERM);
	CHECK_EQ(rt_sem_create(NULL, NULL, ~0UL, ~0), -EPERM); /* tested first */
	CHECK_SAME_BYTES(&made, &before, sizeof(made));
	CHECK_EQ(rt_sem_delete(&sem), -EPERM);
	CHECK_EQ(rt_sem_delete(NULL), -EPERM);

	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0); /* a unit is there */
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_p(&sem, MS), -EPERM);
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_sem_p_until(&sem, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_p_until(&sem, rt_timer_read() + MS), -EPERM);
	CHECK_EQ(rt_sem_p_timed(&sem, NULL), -EPERM);
	CHECK_EQ(rt_sem_p_timed(&sem, &poll_date), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_p_timed(&sem, &far_date), -EPERM);
	CHECK_EQ(rt_sem_p(NULL, MS), -EINVAL);
	CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
	CHECK_EQ(info.count, 0);
	CHECK_EQ(info.nwaiters, 0);
	CHECK_EQ(rt_sem_broadcast(&sem), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);

	CHECK_EQ(rt_sem_bind(&bound, "absent", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_bind(&bound, "absent", MS), -EPERM);
	CHECK_EQ(rt_sem_bind(&bound, "absent", TM_INFINITE), -EPERM);
	CHECK_EQ(rt_sem_bind(&bound, "present", TM_INFINITE), 0);
	CHECK_EQ(bound.handle, sem.handle);
	CHECK_EQ(rt_sem_unbind(&bound), 0);
}

static void semaphores(void)
{
	RT_SEM_INFO info;
	RT_SEM bound;

	CHECK_EQ(rt_sem_create(&sem, "present", 1, S_PRIO), 0);
	in_handler(use_sem, NULL);
	CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
	CHECK_EQ(info.count, 1);
	CHECK_EQ(rt_sem_bind(&bound, "handler's", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_delete(&sem), 0);
}

static void give_one(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_sem_v(&sem), 0);
	mark("given");
}

static void take_and_mark(void *arg)
{
	(void)arg;
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
	mark("taken");
}

static void a_handlers_v_wakes_a_task(void)
{
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	kit_spawn_blocked(&task, 98, take_and_mark, NULL);
	in_handler(give_one, NULL);
	kit_join(&task);
	if (kit_fifo())
		expect_marks("given taken"); /* the handler is above it */
}

/* --- Mutexes ------------------------------------------------------------------------------------------------------ */

static void use_mutex(void *arg)
{
	RT_MUTEX made, before, bound;
	RT_MUTEX_INFO info;

	(void)arg;
	memset(&made, 0x5a, sizeof(made));
	before = made;
	CHECK_EQ(rt_mutex_create(&made, "handler's"), -EPERM);
	CHECK_SAME_BYTES(&made, &before, sizeof(made));
	CHECK_EQ(rt_mutex_delete(&mutex), -EPERM);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_NONBLOCK), -EPERM);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_mutex_acquire(NULL, MS), -EPERM);
	CHECK_EQ(rt_mutex_acquire_until(&mutex, 1), -EPERM);
	CHECK_EQ(rt_mutex_acquire_timed(&mutex, &poll_date), -EPERM);
	CHECK_EQ(rt_mutex_acquire_timed(&mutex, &past_date), -EPERM);
	CHECK_EQ(rt_mutex_acquire_timed(&mutex, &bad_date), -EPERM);
	CHECK_EQ(rt_mutex_release(&mutex), -EPERM);
	CHECK_EQ(rt_mutex_inquire(&mutex, &info), -EPERM);
	CHECK_EQ(rt_mutex_bind(&bound, "absent", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_mutex_bind(&bound, "absent", MS), -EPERM);
	CHECK_EQ(rt_mutex_bind(&bound, "present", TM_INFINITE), 0);
	CHECK_EQ(rt_mutex_unbind(&bound), 0);
}

static void mutexes(void)
{
	struct puppet owner;

	CHECK_EQ(rt_mutex_create(&mutex, "present"), 0);
	in_handler(use_mutex, NULL);
	CHECK_UNOWNED(&mutex);
	start(&owner, 10, NULL);
	CHECK_EQ(acquire(&owner, &mutex, TM_INFINITE), 0);
	in_handler(use_mutex, NULL);
	CHECK_OWNER(&mutex, &owner.task);
	CHECK_EQ(release(&owner, &mutex), 0);
	dismiss(&owner);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
}

/* --- The clock, alarms, messages ---------------------------------------------------------------------------------- */

static void use_clock(void *arg)
{
	RTIME start = rt_timer_read();
	RT_TIMER_INFO info;

	(void)arg;
	rt_timer_spin(MS);
	CHECK(rt_timer_read() >= start + MS);
	rt_timer_inquire(&info);
	CHECK(info.date >= start);
	CHECK_EQ(rt_timer_ns2ticks(7), 7);
	CHECK_EQ(rt_timer_ticks2ns(7), 7);
}

static void clock_services(void)
{
	in_handler(use_clock, NULL);
}

static void use_alarms(void *other_)
{
	struct diary *other = (struct diary *)other_;

	CHECK_EQ(rt_alarm_start(&other->alarm, 3600 * 1000 * MS, MS), 0);
	CHECK_ALARM(&other->alarm, 0, 1);
	CHECK_EQ(rt_alarm_stop(&other->alarm), 0);
	CHECK_ALARM(&other->alarm, 0, 0);
	CHECK_EQ(rt_alarm_stop(NULL), -EINVAL);
	CHECK_EQ(rt_alarm_start(&other->alarm, MS, TM_INFINITE), 0);
}

static void alarms(void)
{
	struct diary other;

	make_diary(&other, NULL, NULL);
	in_handler(use_alarms, &other);
	until(calls_of(&other) == 1);
}

static void exchange(void *arg)
{
	char text[4] = "abc";
	RT_TASK_MCB mcb = { 0, 1, text, 4 };

	(void)arg;
	CHECK_EQ(rt_task_send(&task, &mcb, NULL, TM_NONBLOCK), -EPERM);
	CHECK_EQ(rt_task_send(&task, &mcb, &mcb, MS), -EPERM);
	CHECK_EQ(rt_task_send(NULL, NULL, NULL, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_task_send_until(&task, &mcb, NULL, 1), -EPERM);
	CHECK_EQ(rt_task_send_timed(&task, &mcb, NULL, &bad_date), -EPERM);
	CHECK_EQ(rt_task_receive(&mcb, TM_NONBLOCK), -EPERM);
	CHECK_EQ(rt_task_receive(NULL, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_task_receive_until(&mcb, 1), -EPERM);
	CHECK_EQ(rt_task_receive_timed(&mcb, NULL), -EPERM);
	CHECK_EQ(rt_task_reply(1, &mcb), -EPERM);
	CHECK_EQ(rt_task_reply(0, NULL), -EPERM);
	CHECK_STR(text, "abc");
}

static void receive_until_unblocked(void *arg)
{
	char room[4];
	RT_TASK_MCB mcb = { 0, 0, room, 4 };

	(void)arg;
	CHECK_EQ(rt_task_receive(&mcb, TM_INFINITE), -EINTR);
}

static void no_messages(void)
{
	kit_spawn_blocked(&task, 10, receive_until_unblocked, NULL);
	in_handler(exchange, NULL);
	CHECK(kit_blocked(&task));
	CHECK_EQ(rt_task_unblock(&task), 0);
	kit_join(&task);
}

KIT_CASES(
	CASE(list_of_the_specification), CASE(tasks_are_not_made_or_ended), CASE(refused_shadow_leaves_the_server_alone),
	CASE(tasks_are_controlled), CASE(a_handler_is_no_task), CASE(handlers_do_not_sleep), CASE(mode_of_a_handler),
	CASE(binding_tasks), CASE(semaphores), CASE(a_handlers_v_wakes_a_task), CASE(mutexes), CASE(clock_services),
	CASE(alarms), CASE(no_messages))
