/* Sizes, offsets and constants of the 2.6 interface (abi.md 7.2, 7.5; native2.md 3, 5), as far as it exists. */
#define KIT_NO_ALCHEMY
#include "kit.h"
#include <native/cond.h>
#include <native/event.h>
#include <native/heap.h>
#include <native/alarm.h>
#include <native/buffer.h>
#include <native/mutex.h>
#include <native/queue.h>
#include <native/sem.h>
#include <native/task.h>
#include <native/timer.h>

#include <stddef.h>

#define CHECK_FIELD(type, field, offset, size) \
	do { \
		CHECK_EQ(offsetof(type, field), (offset)); \
		CHECK_EQ(sizeof(((type *)NULL)->field), (size)); \
	} while (0)

#define CHECK_TYPE(type, size, align) \
	do { \
		CHECK_EQ(sizeof(type), (size)); \
		CHECK_EQ(_Alignof(type), (align)); \
	} while (0)

static void times(void)
{
	RTIME ticks = ~0ULL;
	SRTIME difference = -1;

	CHECK_TYPE(RTIME, 8, 8);
	CHECK_TYPE(SRTIME, 8, 8);
	CHECK(ticks > 0);
	CHECK(difference < 0);
	CHECK_EQ(TM_INFINITE, 0);
	CHECK_EQ(TM_NOW, 0);
	CHECK_EQ(TM_ONESHOT, 0);
	CHECK(TM_NONBLOCK == 18446744073709551615ULL);
	CHECK(TM_UNSET == 18446744073709551615ULL);
	CHECK_EQ(XN_INFINITE, 0);
	CHECK((RTIME)XN_NONBLOCK == TM_NONBLOCK);
}

static void tasks(void)
{
	RT_TASK_PLACEHOLDER placeholder;
	RT_TASK task;

	CHECK_TYPE(RT_TASK, 16, 8);
	CHECK_FIELD(RT_TASK, opaque, 0, 8);
	CHECK_FIELD(RT_TASK, opaque2, 8, 8);
	/* The same by their 3.x names. */
	CHECK_FIELD(RT_TASK, handle, 0, 8);
	CHECK_FIELD(RT_TASK, thread, 8, 8);
	task.opaque = 5;
	CHECK_EQ(task.handle, 5);
	CHECK_EQ(sizeof(placeholder), 16);

	CHECK_TYPE(RT_TASK_INFO, 80, 8);
	CHECK_FIELD(RT_TASK_INFO, bprio, 0, 4);
	CHECK_FIELD(RT_TASK_INFO, cprio, 4, 4);
	CHECK_FIELD(RT_TASK_INFO, status, 8, 4);
	CHECK_FIELD(RT_TASK_INFO, relpoint, 16, 8);
	CHECK_FIELD(RT_TASK_INFO, name, 24, 32);
	CHECK_FIELD(RT_TASK_INFO, exectime, 56, 8);
	CHECK_FIELD(RT_TASK_INFO, modeswitches, 64, 4);
	CHECK_FIELD(RT_TASK_INFO, ctxswitches, 68, 4);
	CHECK_FIELD(RT_TASK_INFO, pagefaults, 72, 4);

	CHECK_TYPE(RT_TASK_MCB, 24, 8);
	CHECK_FIELD(RT_TASK_MCB, flowid, 0, 4);
	CHECK_FIELD(RT_TASK_MCB, opcode, 4, 4);
	CHECK_FIELD(RT_TASK_MCB, data, 8, 8);
	CHECK_FIELD(RT_TASK_MCB, size, 16, 8);
}

static void task_constants(void)
{
	CHECK_EQ(T_LOPRIO, 0);
	CHECK_EQ(T_HIPRIO, 99);
	CHECK_EQ(T_FPU, 0x100000);
	CHECK_EQ(T_SUSP, 0x1);
	CHECK_EQ(T_JOINABLE, 0x400);
	CHECK_EQ(T_PRIMARY, 0x200);
	CHECK_EQ(T_CONFORMING, 0x200);
	CHECK_EQ(T_LOCK, 0x4000);
	CHECK_EQ(T_NOSIG, 0x10000);
	CHECK_EQ(T_WARNSW, 0x40000);
	CHECK_EQ(T_RPIOFF, 0x80000);
	CHECK_EQ(T_BLOCKED, 0x2);
	CHECK_EQ(T_DELAYED, 0x4);
	CHECK_EQ(T_READY, 0x8);
	CHECK_EQ(T_DORMANT, 0x10);
	CHECK_EQ(T_STARTED, 0x80);
	CHECK_EQ(T_BOOST, 0x1000);
	CHECK_EQ((unsigned)T_CPUMASK, 0xff000000u);
	CHECK_EQ(RT_MCB_FSTORE_LIMIT, 64);
}

static void cpu_bits(void)
{
	int cpu, all = T_CPU(0);

	CHECK_EQ(T_CPU(0), 0x1000000);
	CHECK_EQ(T_CPU(1), 0x2000000);
	CHECK_EQ((unsigned)T_CPU(7), 0x80000000u);
	CHECK(T_CPU(7) < 0);
	CHECK_EQ(T_CPU(8), T_CPU(0));
	for (cpu = 1; cpu < 8; cpu++)
		all |= T_CPU(cpu);
	CHECK_EQ((unsigned)all, (unsigned)T_CPUMASK);
}

static void semaphores(void)
{
	RT_SEM_PLACEHOLDER placeholder;

	CHECK_TYPE(RT_SEM, 8, 8);
	CHECK_FIELD(RT_SEM, opaque, 0, 8);
	CHECK_FIELD(RT_SEM, handle, 0, 8);
	CHECK_EQ(sizeof(placeholder), 8);
	CHECK_TYPE(RT_SEM_INFO, 48, 8);
	CHECK_FIELD(RT_SEM_INFO, count, 0, 8);
	CHECK_FIELD(RT_SEM_INFO, nwaiters, 8, 4);
	CHECK_FIELD(RT_SEM_INFO, name, 12, 32);
	CHECK_EQ(S_FIFO, 0);
	CHECK_EQ(S_PRIO, 1);
	CHECK_EQ(S_PULSE, 0x100);
}

static void mutexes(void)
{
	RT_MUTEX_PLACEHOLDER placeholder;
	RT_MUTEX_INFO info;
	RT_MUTEX mutex;

	CHECK_TYPE(RT_MUTEX, 24, 8);
	CHECK_FIELD(RT_MUTEX, opaque, 0, 8);
	CHECK_FIELD(RT_MUTEX, handle, 0, 8);
	CHECK_FIELD(RT_MUTEX, fastlock, 8, 8);
	CHECK_FIELD(RT_MUTEX, lockcnt, 16, 4);
	CHECK_EQ(sizeof(placeholder), 24);
	mutex.opaque = 5;
	CHECK_EQ(mutex.handle, 5);

	CHECK_TYPE(RT_MUTEX_INFO, 72, 4);
	CHECK_FIELD(RT_MUTEX_INFO, locked, 0, 4);
	CHECK_FIELD(RT_MUTEX_INFO, nwaiters, 4, 4);
	CHECK_FIELD(RT_MUTEX_INFO, name, 8, 32);
	CHECK_FIELD(RT_MUTEX_INFO, owner, 40, 32);
	/* The same by its name before 2.5. */
	CHECK_FIELD(RT_MUTEX_INFO, lockcnt, 0, 4);
	info.locked = 5;
	CHECK_EQ(info.lockcnt, 5);
}

/* Both descriptors. */
#define CHECK_MAPPED(type) \
	do { \
		CHECK_TYPE(type, 40, 8); \
		CHECK_FIELD(type, opaque, 0, 8); \
		CHECK_FIELD(type, handle, 0, 8); \
		CHECK_FIELD(type, opaque2, 8, 8); \
		CHECK_FIELD(type, mapbase, 16, 8); \
		CHECK_FIELD(type, mapsize, 24, 8); \
		CHECK_FIELD(type, area, 32, 8); \
		CHECK_EQ(sizeof(type ## _PLACEHOLDER), 40); \
	} while (0)

static void queues(void)
{
	CHECK_MAPPED(RT_QUEUE);
	CHECK_TYPE(RT_QUEUE_INFO, 72, 8);
	CHECK_FIELD(RT_QUEUE_INFO, nwaiters, 0, 4);
	CHECK_FIELD(RT_QUEUE_INFO, nmessages, 4, 4);
	CHECK_FIELD(RT_QUEUE_INFO, mode, 8, 4);
	CHECK_FIELD(RT_QUEUE_INFO, qlimit, 16, 8);
	CHECK_FIELD(RT_QUEUE_INFO, poolsize, 24, 8);
	CHECK_FIELD(RT_QUEUE_INFO, usedmem, 32, 8);
	CHECK_FIELD(RT_QUEUE_INFO, name, 40, 32);
	CHECK_EQ(Q_FIFO, 0);
	CHECK_EQ(Q_PRIO, 1);
	CHECK_EQ(Q_UNLIMITED, 0);
	CHECK_EQ(Q_NORMAL, 0);
	CHECK_EQ(Q_URGENT, 1);
	CHECK_EQ(Q_BROADCAST, 2);
	CHECK_EQ(Q_DMA, 0x100);
	CHECK_EQ(Q_SHARED, 0x200);
}

static void heaps(void)
{
	CHECK_MAPPED(RT_HEAP);
	CHECK_TYPE(RT_HEAP_INFO, 72, 8);
	CHECK_FIELD(RT_HEAP_INFO, nwaiters, 0, 4);
	CHECK_FIELD(RT_HEAP_INFO, mode, 4, 4);
	CHECK_FIELD(RT_HEAP_INFO, heapsize, 8, 8);
	CHECK_FIELD(RT_HEAP_INFO, usablemem, 16, 8);
	CHECK_FIELD(RT_HEAP_INFO, usedmem, 24, 8);
	CHECK_FIELD(RT_HEAP_INFO, name, 32, 32);
	CHECK_FIELD(RT_HEAP_INFO, phys_addr, 64, 8);
	CHECK_EQ(H_FIFO, 0);
	CHECK_EQ(H_PRIO, 1);
	CHECK_EQ(H_SINGLE, 0x400);
	CHECK_EQ(H_DMA, 0x100);
	CHECK_EQ(H_MAPPABLE, 0x200);
	CHECK_EQ(H_SHARED, 0x600);
	CHECK_EQ(H_NONCACHED, 0x800);
	CHECK_EQ(H_DMA32, 0x1000);
}

/* So that a program which is only compiled notices, too. */
_Static_assert(sizeof(RT_MUTEX) == 24 && sizeof(RT_MUTEX_INFO) == 72, "native2.md 3, 5");
_Static_assert(offsetof(RT_MUTEX_INFO, name) == 8 && offsetof(RT_MUTEX_INFO, owner) == 40, "native2.md 5");
_Static_assert(sizeof(RT_QUEUE) == 40 && sizeof(RT_QUEUE_INFO) == 72, "native2.md 2, 5");
_Static_assert(sizeof(RT_HEAP) == 40 && sizeof(RT_HEAP_INFO) == 72, "native2.md 2, 5");

static void events(void)
{
	RT_EVENT_PLACEHOLDER placeholder;
	RT_EVENT_INFO info;
	RT_EVENT event;
	unsigned long *value = &info.value;

	CHECK_TYPE(RT_EVENT, 8, 8);
	CHECK_FIELD(RT_EVENT, opaque, 0, 8);
	CHECK_FIELD(RT_EVENT, handle, 0, 8);
	CHECK_EQ(sizeof(placeholder), 8);
	event.opaque = 5;
	CHECK_EQ(event.handle, 5);
	CHECK_TYPE(RT_EVENT_INFO, 48, 8);
	CHECK_FIELD(RT_EVENT_INFO, value, 0, 8);
	CHECK_FIELD(RT_EVENT_INFO, nwaiters, 8, 4);
	CHECK_FIELD(RT_EVENT_INFO, name, 12, 32);
	CHECK(value != NULL);
	CHECK_EQ(EV_FIFO, 0);
	CHECK_EQ(EV_PRIO, 1);
	CHECK_EQ(EV_ALL, 0);
	CHECK_EQ(EV_ANY, 1);
}

static void conditions(void)
{
	RT_COND_PLACEHOLDER placeholder;
	RT_COND cond;

	CHECK_TYPE(RT_COND, 8, 8);
	CHECK_FIELD(RT_COND, opaque, 0, 8);
	CHECK_FIELD(RT_COND, handle, 0, 8);
	CHECK_EQ(sizeof(placeholder), 8);
	cond.opaque = 5;
	CHECK_EQ(cond.handle, 5);
	CHECK_TYPE(RT_COND_INFO, 36, 4);
	CHECK_FIELD(RT_COND_INFO, nwaiters, 0, 4);
	CHECK_FIELD(RT_COND_INFO, name, 4, 32);
}

_Static_assert(sizeof(RT_EVENT_INFO) == 48 && offsetof(RT_EVENT_INFO, name) == 12, "native2.md 5");
_Static_assert(sizeof(RT_COND_INFO) == 36 && offsetof(RT_COND_INFO, name) == 4, "native2.md 5");

static void alarms(void)
{
	RT_ALARM_PLACEHOLDER placeholder;

	CHECK_TYPE(RT_ALARM, 8, 8);
	CHECK_FIELD(RT_ALARM, opaque, 0, 8);
	CHECK_FIELD(RT_ALARM, handle, 0, 8);
	CHECK_EQ(sizeof(placeholder), 8);
	CHECK_TYPE(RT_ALARM_INFO, 48, 8);
	CHECK_FIELD(RT_ALARM_INFO, expiration, 0, 8);
	CHECK_FIELD(RT_ALARM_INFO, expiries, 8, 8);
	CHECK_FIELD(RT_ALARM_INFO, name, 16, 32);
}

static void buffers(void)
{
	RT_BUFFER_PLACEHOLDER placeholder;

	CHECK_TYPE(RT_BUFFER, 8, 8);
	CHECK_FIELD(RT_BUFFER, opaque, 0, 8);
	CHECK_FIELD(RT_BUFFER, handle, 0, 8);
	CHECK_EQ(sizeof(placeholder), 8);
	CHECK_TYPE(RT_BUFFER_INFO, 56, 8);
	CHECK_FIELD(RT_BUFFER_INFO, iwaiters, 0, 4);
	CHECK_FIELD(RT_BUFFER_INFO, owaiters, 4, 4);
	CHECK_FIELD(RT_BUFFER_INFO, totalmem, 8, 8);
	CHECK_FIELD(RT_BUFFER_INFO, availmem, 16, 8);
	CHECK_FIELD(RT_BUFFER_INFO, name, 24, 32);
	CHECK_EQ(B_FIFO, 0);
	CHECK_EQ(B_PRIO, 1);
}

/* So that a program which is only compiled notices, too. */
_Static_assert(sizeof(RT_ALARM_INFO) == 48 && offsetof(RT_ALARM_INFO, name) == 16, "native2.md 5");

static void timers(void)
{
	CHECK_TYPE(RT_TIMER_INFO, 24, 8);
	CHECK_FIELD(RT_TIMER_INFO, period, 0, 8);
	CHECK_FIELD(RT_TIMER_INFO, date, 8, 8);
	CHECK_FIELD(RT_TIMER_INFO, tsc, 16, 8);
}

static void general_names(void)
{
	CHECK_EQ(XNOBJECT_NAME_LEN, 32);
	CHECK_EQ(BITS_PER_LONG, 64);
	CHECK_EQ(sizeof(rt_sigset_t), sizeof(unsigned long));
	CHECK_EQ(sizeof(rt_alarm_t), sizeof(void (*)(void)));
	CHECK_EQ(sizeof(rt_isr_t), sizeof(void (*)(void)));
	CHECK_EQ(sizeof(rt_iack_t), sizeof(void (*)(void)));
	CHECK_EQ(CONFIG_XENO_VERSION_MAJOR, 2);
	CHECK_EQ(CONFIG_XENO_VERSION_MINOR, 6);
	CHECK(strncmp(CONFIG_XENO_VERSION_STRING, "2.6", 3) == 0);
	CHECK_EQ(SIGDEBUG, SIGXCPU);
	CHECK_EQ(SIGDEBUG_UNDEFINED, 0);
	CHECK_EQ(SIGDEBUG_NOMLOCK, 5);
}

/* Function addresses can be taken; the types are those of 2.6. */
static void functions(void)
{
	int (*create)(RT_TASK *, const char *, int, int, int) = rt_task_create;
	int (*start)(RT_TASK *, void (*)(void *), void *) = rt_task_start;
	int (*spawn)(RT_TASK *, const char *, int, int, int, void (*)(void *), void *) = rt_task_spawn;
	int (*shadow)(RT_TASK *, const char *, int, int) = rt_task_shadow;
	int (*join)(RT_TASK *) = rt_task_join;
	int (*inquire)(RT_TASK *, RT_TASK_INFO *) = rt_task_inquire;
	int (*bind)(RT_TASK *, const char *, RTIME) = rt_task_bind;
	int (*timer_inquire)(RT_TIMER_INFO *) = rt_timer_inquire;
	int (*set_mode)(RTIME) = rt_timer_set_mode, (*timer_start)(RTIME) = rt_timer_start;
	void (*timer_stop)(void) = rt_timer_stop;
	RTIME (*now)(void) = rt_timer_read, (*tsc)(void) = rt_timer_tsc;
	SRTIME (*ns2tsc)(SRTIME) = rt_timer_ns2tsc, (*tsc2ns)(SRTIME) = rt_timer_tsc2ns;
	int (*sem_create)(RT_SEM *, const char *, unsigned long, int) = rt_sem_create;
	int (*mutex_create)(RT_MUTEX *, const char *) = rt_mutex_create;
	int (*acquire)(RT_MUTEX *, RTIME) = rt_mutex_acquire, (*acquire_until)(RT_MUTEX *, RTIME) = rt_mutex_acquire_until;
	int (*lock)(RT_MUTEX *, RTIME) = rt_mutex_lock, (*unlock)(RT_MUTEX *) = rt_mutex_unlock;
	int (*release)(RT_MUTEX *) = rt_mutex_release, (*mutex_delete)(RT_MUTEX *) = rt_mutex_delete;
	int (*mutex_inquire)(RT_MUTEX *, RT_MUTEX_INFO *) = rt_mutex_inquire;
	int (*mutex_bind)(RT_MUTEX *, const char *, RTIME) = rt_mutex_bind;
	int (*event_create)(RT_EVENT *, const char *, unsigned long, int) = rt_event_create;
	int (*event_wait)(RT_EVENT *, unsigned long, unsigned long *, int, RTIME) = rt_event_wait;
	int (*event_wait_until)(RT_EVENT *, unsigned long, unsigned long *, int, RTIME) = rt_event_wait_until;
	int (*event_signal)(RT_EVENT *, unsigned long) = rt_event_signal;
	int (*event_clear)(RT_EVENT *, unsigned long, unsigned long *) = rt_event_clear;
	int (*event_delete)(RT_EVENT *) = rt_event_delete, (*event_unbind)(RT_EVENT *) = rt_event_unbind;
	int (*event_inquire)(RT_EVENT *, RT_EVENT_INFO *) = rt_event_inquire;
	int (*event_bind)(RT_EVENT *, const char *, RTIME) = rt_event_bind;
	int (*cond_create)(RT_COND *, const char *) = rt_cond_create;
	int (*cond_wait)(RT_COND *, RT_MUTEX *, RTIME) = rt_cond_wait;
	int (*cond_wait_until)(RT_COND *, RT_MUTEX *, RTIME) = rt_cond_wait_until;
	int (*cond_signal)(RT_COND *) = rt_cond_signal, (*cond_broadcast)(RT_COND *) = rt_cond_broadcast;
	int (*cond_delete)(RT_COND *) = rt_cond_delete, (*cond_unbind)(RT_COND *) = rt_cond_unbind;
	int (*cond_inquire)(RT_COND *, RT_COND_INFO *) = rt_cond_inquire;
	int (*cond_bind)(RT_COND *, const char *, RTIME) = rt_cond_bind;
	int (*queue_create)(RT_QUEUE *, const char *, size_t, size_t, int) = rt_queue_create;
	int (*queue_send)(RT_QUEUE *, void *, size_t, int) = rt_queue_send;
	int (*queue_write)(RT_QUEUE *, const void *, size_t, int) = rt_queue_write;
	ssize_t (*queue_read)(RT_QUEUE *, void *, size_t, RTIME) = rt_queue_read;
	ssize_t (*queue_read_until)(RT_QUEUE *, void *, size_t, RTIME) = rt_queue_read_until;
	ssize_t (*queue_receive)(RT_QUEUE *, void **, RTIME) = rt_queue_receive, (*queue_recv_)(RT_QUEUE *, void **, RTIME) = rt_queue_recv;
	ssize_t (*queue_receive_until)(RT_QUEUE *, void **, RTIME) = rt_queue_receive_until;
	void *(*queue_alloc)(RT_QUEUE *, size_t) = rt_queue_alloc;
	int (*queue_free)(RT_QUEUE *, void *) = rt_queue_free, (*queue_flush)(RT_QUEUE *) = rt_queue_flush;
	int (*queue_inquire)(RT_QUEUE *, RT_QUEUE_INFO *) = rt_queue_inquire, (*queue_delete)(RT_QUEUE *) = rt_queue_delete;
	int (*queue_bind)(RT_QUEUE *, const char *, RTIME) = rt_queue_bind, (*queue_unbind)(RT_QUEUE *) = rt_queue_unbind;
	int (*heap_create)(RT_HEAP *, const char *, size_t, int) = rt_heap_create;
	int (*heap_alloc)(RT_HEAP *, size_t, RTIME, void **) = rt_heap_alloc;
	int (*heap_free)(RT_HEAP *, void *) = rt_heap_free, (*heap_delete)(RT_HEAP *) = rt_heap_delete;
	int (*heap_inquire)(RT_HEAP *, RT_HEAP_INFO *) = rt_heap_inquire;
	int (*heap_bind)(RT_HEAP *, const char *, RTIME) = rt_heap_bind, (*heap_unbind)(RT_HEAP *) = rt_heap_unbind;
	int (*alarm_create)(RT_ALARM *, const char *) = rt_alarm_create;
	int (*alarm_start)(RT_ALARM *, RTIME, RTIME) = rt_alarm_start;
	int (*alarm_wait)(RT_ALARM *) = rt_alarm_wait, (*alarm_stop)(RT_ALARM *) = rt_alarm_stop;
	int (*alarm_delete)(RT_ALARM *) = rt_alarm_delete;
	int (*alarm_inquire)(RT_ALARM *, RT_ALARM_INFO *) = rt_alarm_inquire;
	int (*buffer_create)(RT_BUFFER *, const char *, size_t, int) = rt_buffer_create;
	ssize_t (*read_bytes)(RT_BUFFER *, void *, size_t, RTIME) = rt_buffer_read;
	ssize_t (*write_bytes)(RT_BUFFER *, const void *, size_t, RTIME) = rt_buffer_write;
	ssize_t (*read_until)(RT_BUFFER *, void *, size_t, RTIME) = rt_buffer_read_until;
	ssize_t (*write_until)(RT_BUFFER *, const void *, size_t, RTIME) = rt_buffer_write_until;
	int (*buffer_clear)(RT_BUFFER *) = rt_buffer_clear, (*buffer_delete)(RT_BUFFER *) = rt_buffer_delete;
	int (*buffer_inquire)(RT_BUFFER *, RT_BUFFER_INFO *) = rt_buffer_inquire;
	int (*buffer_bind)(RT_BUFFER *, const char *, RTIME) = rt_buffer_bind;
	int (*buffer_unbind)(RT_BUFFER *) = rt_buffer_unbind;
	ssize_t (*send)(RT_TASK *, RT_TASK_MCB *, RT_TASK_MCB *, RTIME) = rt_task_send;
	int (*receive)(RT_TASK_MCB *, RTIME) = rt_task_receive, (*reply)(int, RT_TASK_MCB *) = rt_task_reply;
	RT_TIMER_INFO info;

	CHECK(queue_create && queue_send && queue_write && queue_read && queue_read_until && queue_receive && queue_recv_);
	CHECK(queue_receive_until && queue_alloc && queue_free && queue_flush && queue_inquire && queue_delete && queue_bind);
	CHECK(queue_unbind && heap_create && heap_alloc && heap_free && heap_delete && heap_inquire && heap_bind && heap_unbind);
	CHECK(alarm_create && alarm_start && alarm_wait && alarm_stop && alarm_delete && alarm_inquire);
	CHECK(buffer_create && read_bytes && write_bytes && read_until && write_until);
	CHECK(buffer_clear && buffer_delete && buffer_inquire && buffer_bind && buffer_unbind);
	CHECK(send && receive && reply);
	CHECK(mutex_create && acquire && acquire_until && lock && unlock && release && mutex_delete);
	CHECK(mutex_inquire && mutex_bind);
	CHECK(event_create && event_wait && event_wait_until && event_signal && event_clear && event_delete);
	CHECK(event_unbind && event_inquire && event_bind);
	CHECK(cond_create && cond_wait && cond_wait_until && cond_signal && cond_broadcast && cond_delete);
	CHECK(cond_unbind && cond_inquire && cond_bind);
	CHECK(create && start && spawn && shadow && join && inquire && bind && sem_create);
	CHECK_EQ(timer_inquire(&info), 0);
	CHECK_EQ(set_mode(TM_ONESHOT), 0);
	CHECK_EQ(timer_start(TM_ONESHOT), 0);
	timer_stop();
	CHECK(now() > 0 && tsc() > 0);
	CHECK_EQ(tsc2ns(ns2tsc(5)), 5);
}

KIT_CASES(
	CASE(times), CASE(tasks), CASE(task_constants), CASE(cpu_bits), CASE(semaphores), CASE(mutexes), CASE(events), CASE(conditions),
	CASE(queues), CASE(heaps), CASE(buffers), CASE(alarms), CASE(timers),
	CASE(general_names), CASE(functions))
