/* Semaphores of the 2.x interface: what differs from 3.x (native2.md 3.2, 6, 7.2). */
#include "native-kit.h"

static RT_SEM sem;

static void check_count(unsigned long count, int waiters)
{
	RT_SEM_INFO info;

	CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
	CHECK_EQ(info.count, count);
	CHECK_EQ(info.nwaiters, waiters);
}

static void pulse_is_0x100(void)
{
	RT_SEM before;
	RT_TASK task;

	CHECK_EQ(rt_sem_create(&sem, "pulse", 0, S_PRIO | S_PULSE), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	check_count(0, 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), -EWOULDBLOCK);
	spawn_blocked(&task, 10, take, &sem);
	check_count(0, 1);
	CHECK_EQ(rt_sem_v(&sem), 0);
	join(&task);
	check_count(0, 0);
	CHECK_EQ(rt_sem_delete(&sem), 0);

	memset(&sem, 0x5a, sizeof(sem));
	before = sem;
	CHECK_EQ(rt_sem_create(&sem, "pulse", 1, S_PRIO | S_PULSE), -EINVAL);
	CHECK_SAME_BYTES(&sem, &before, sizeof(sem));
	CHECK_EQ(rt_sem_bind(&sem, "pulse", TM_NONBLOCK), -EWOULDBLOCK);
}

/* Among them 0x2, which is S_PULSE in 3.x. */
static void unknown_bits_are_ignored(void)
{
	static const int modes[] = { 0x2, 0x4, 0x10, 0x200, 0x400, 0x10000, -1 & ~S_PULSE };
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		CHECK_EQ(rt_sem_create(&sem, NULL, 1, modes[i]), 0);
		CHECK_EQ(rt_sem_v(&sem), 0);
		check_count(2, 0);
		CHECK_EQ(rt_sem_delete(&sem), 0);
	}
}

static void take_and_mark(void *text)
{
	take(&sem);
	mark((const char *)text);
}

/* The two modes mean what they do in 3.x. */
static void order_of_service(int mode, const char *want)
{
	RT_TASK task[3];
	int i;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, mode), 0);
	spawn_blocked(&task[0], 10, take_and_mark, (void *)"ten");
	spawn_blocked(&task[1], 30, take_and_mark, (void *)"thirty");
	spawn_blocked(&task[2], 20, take_and_mark, (void *)"twenty");
	check_count(0, 3);
	for (i = 0; i < 3; i++)
		CHECK_EQ(rt_sem_v(&sem), 0);
	for (i = 0; i < 3; i++)
		join(&task[i]);
	expect_marks(want);
	CHECK_EQ(rt_sem_delete(&sem), 0);
	clear_marks();
}

static void modes(void)
{
	order_of_service(S_PRIO, "thirty twenty ten");
	order_of_service(S_FIFO, "ten thirty twenty");
	order_of_service(S_PRIO | 0x400, "thirty twenty ten");
}

static void broadcast_resets_the_count(void)
{
	RT_TASK task[2];

	CHECK_EQ(rt_sem_create(&sem, NULL, 5, S_PRIO), 0);
	CHECK_EQ(rt_sem_broadcast(&sem), 0);
	check_count(0, 0);
	spawn_blocked(&task[0], 10, take, &sem);
	spawn_blocked(&task[1], 10, take, &sem);
	CHECK_EQ(rt_sem_broadcast(&sem), 0);
	join(&task[0]);
	join(&task[1]);
	check_count(0, 0);
}

static int result;

static void take_in_vain(void *arg)
{
	(void)arg;
	result = rt_sem_p(&sem, TM_INFINITE);
}

static void deletion_ends_waits(void)
{
	RT_TASK task;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	spawn_blocked(&task, 10, take_in_vain, NULL);
	CHECK_EQ(rt_sem_delete(&sem), 0);
	join(&task);
	CHECK_EQ(result, -EIDRM);
	/* Later calls: the 3.x code. */
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_sem_v(&sem), -EINVAL);
	CHECK_EQ(rt_sem_delete(&sem), -EINVAL);
}

static void timeouts(void)
{
	long long start = kit_now();

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	CHECK_EQ(rt_sem_p(&sem, 5 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 5 * MS);
	start = kit_now();
	CHECK_EQ(rt_sem_p_until(&sem, rt_timer_read() + 5 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 5 * MS);
	CHECK_EQ(rt_sem_p_until(&sem, 1), -ETIMEDOUT);
	CHECK_EQ(rt_sem_p_until(&sem, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), -EWOULDBLOCK);
	check_count(0, 0);
}

static void wait_outside_a_task(void *arg)
{
	RT_SEM bound;

	(void)arg;
	CHECK_EQ(rt_sem_p(&sem, MS), -EPERM);
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), -EPERM);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_bind(&bound, "absent", MS), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_bind(&bound, "absent", TM_INFINITE), -EWOULDBLOCK);
	CHECK_EQ(rt_sem_bind(&bound, "present", TM_INFINITE), 0);
	CHECK_EQ(bound.opaque, sem.opaque);
}

static void plain_thread(void)
{
	CHECK_EQ(rt_sem_create(&sem, "present", 0, S_PRIO), 0);
	kit_plain(wait_outside_a_task, NULL);
	check_count(0, 0);
}

static void names(void)
{
	RT_SEM_INFO info;
	RT_SEM other, before;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PRIO), 0);
	CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
	CHECK_STR(info.name, "sem@1");
	CHECK_EQ(rt_sem_delete(&sem), 0);
	CHECK_EQ(rt_sem_create(&sem, "with space [1]", 3, S_FIFO), 0);
	memset(&other, 0x5a, sizeof(other));
	before = other;
	CHECK_EQ(rt_sem_create(&other, "with space [1]", 3, S_FIFO), -EEXIST);
	CHECK_SAME_BYTES(&other, &before, sizeof(other));
	CHECK_EQ(rt_sem_bind(&other, "with space [1]", TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_p(&other, TM_NONBLOCK), 0);
	check_count(2, 0);
	CHECK_EQ(rt_sem_unbind(&other), 0);
	CHECK_EQ(other.opaque, 0);
	CHECK_EQ(rt_sem_v(&other), -EINVAL);
}

KIT_CASES(
	CASE(pulse_is_0x100), CASE(unknown_bits_are_ignored), CASE_FIFO(modes), CASE(broadcast_resets_the_count),
	CASE(deletion_ends_waits), CASE(timeouts), CASE(plain_thread), CASE(names))
