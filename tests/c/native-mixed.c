/* A unit that includes an alchemy/ header first stays 3.x; native/ headers add the names it lacks (native2.md 2). */
#include "kit.h"
#include <native/cond.h>
#include <native/event.h>
#include <native/heap.h>
#include <native/queue.h>
#include <native/sem.h>
#include <native/task.h>
#include <native/timer.h>

static void types_are_those_of_3(void)
{
	RT_TASK_INFO info;

	CHECK_EQ(sizeof(RT_TASK_INFO), 72);
	CHECK_EQ(sizeof(RT_TIMER_INFO), 16);
	CHECK_EQ(sizeof(RT_SEM), 8);
	CHECK_EQ(sizeof(RT_MUTEX), 8);
	CHECK_EQ(sizeof(RT_EVENT_INFO), 40);
	CHECK_EQ(sizeof(RT_COND_INFO), 32);
	CHECK_EQ(sizeof(info.stat.timeout), 8);
	CHECK_EQ(T_JOINABLE, 0x10000);
	CHECK_EQ(T_LOCK, 0x1);
	CHECK_EQ(T_WARNSW, 0x2);
	CHECK_EQ(S_PULSE, 0x2);
	CHECK_EQ(sizeof(RT_QUEUE), 8);
	CHECK_EQ(sizeof(RT_HEAP), 8);
	CHECK_EQ(sizeof(RT_HEAP_INFO), 64);
	CHECK_EQ(H_SINGLE, 0x4);
}

static void missing_names_are_added(void)
{
	CHECK_EQ(T_FPU, 0);
	CHECK_EQ(T_NOSIG, 0);
	CHECK_EQ(T_SUSP, 0x800000);
	CHECK_EQ(T_CPU(0), 0x1000000);
	CHECK_EQ(T_CPU(9), 0x2000000);
	CHECK_EQ((unsigned)T_CPUMASK, 0xff000000u);
	CHECK_EQ(TM_ONESHOT, 0);
	CHECK_EQ(RT_MCB_FSTORE_LIMIT, 64);
	CHECK_EQ(Q_SHARED, 0);
	CHECK_EQ(Q_DMA, 0);
	CHECK_EQ(H_MAPPABLE, 0);
	CHECK_EQ(H_NONCACHED, 0);
	CHECK_EQ(H_DMA, 0);
	CHECK_EQ(H_SHARED, H_SINGLE); /* native2.md 1.8 */
}

static void body(void *arg)
{
	CHECK_EQ(rt_sem_p((RT_SEM *)arg, TM_INFINITE), 0);
}

static void services_are_those_of_3(void)
{
	RT_TIMER_INFO info;
	RT_TASK task, bound;
	RT_SEM sem;

	CHECK_EQ(rt_sem_create(&sem, NULL, 0, 0x100), -EINVAL);
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_PULSE), 0);
	CHECK_EQ(rt_task_create(&task, "mixed", 0, 10, T_JOINABLE | T_FPU | T_NOSIG), 0);
	CHECK_EQ(rt_task_start(&task, body, &sem), 0);
	CHECK_EQ(rt_task_start(&task, body, &sem), 0); /* 2.x: -EBUSY */
	until(kit_blocked(&task));
	CHECK_EQ(kit_status(&task), 0x20011);
	CHECK_EQ(rt_task_bind(&bound, "mixed", TM_NONBLOCK), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_task_join(&bound), 0); /* 2.x: -ESRCH */
	CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_SUSP), -EINVAL);
	CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_CPU(0)), -EINVAL);
	rt_timer_inquire(&info);
	CHECK_EQ(info.period, 1);
}

static void queues_and_heaps_are_those_of_3(void)
{
	RT_QUEUE queue;
	RT_HEAP heap;
	char room[4];
	void *buf;

	CHECK_EQ(rt_queue_create(&queue, NULL, 1000, 0, 0x200), -EINVAL);
	CHECK_EQ(rt_queue_create(&queue, NULL, 1000, 0, Q_PRIO | Q_SHARED), 0);
	CHECK_EQ(rt_queue_write(&queue, "0123456789", 10, Q_NORMAL), 0);
	CHECK_EQ(rt_queue_read(&queue, room, 4, TM_NONBLOCK), 4); /* 2.x: 10 */
	CHECK_EQ(rt_queue_recv(&queue, &buf, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_heap_create(&heap, NULL, 1000, 0x400), -EINVAL);
	CHECK_EQ(rt_heap_create(&heap, NULL, 1000, H_SHARED), 0);
	CHECK_EQ(rt_heap_alloc(&heap, 0, TM_NONBLOCK, &buf), 0);
	CHECK_EQ(rt_heap_free(&heap, NULL), 0); /* 2.x: -EINVAL */
}

/* timer.md 3, compatibility */
static void set_mode_only_compares(void)
{
	CHECK_EQ(rt_timer_set_mode(TM_ONESHOT), 0);
	CHECK_EQ(rt_timer_set_mode(1), 0);
	CHECK_EQ(rt_timer_set_mode(1000000), -ENODEV);
	CHECK_EQ(rt_timer_ns2ticks(1999), 1999);
	CHECK(rt_timer_tsc() > 0);
	CHECK_EQ(rt_timer_tsc2ns(rt_timer_ns2tsc(5)), 5);
}

KIT_CASES(
	CASE(types_are_those_of_3), CASE(missing_names_are_added), CASE(services_are_those_of_3),
	CASE(queues_and_heaps_are_those_of_3), CASE(set_mode_only_compares))
