/* Sizes, offsets and constants of the 3.x interface (abi.md 7.1, 7.4), as far as it exists. */
#include "kit.h"
#include <alchemy/cond.h>
#include <alchemy/event.h>
#include <alchemy/heap.h>
#include <alchemy/alarm.h>
#include <alchemy/buffer.h>
#include <alchemy/mutex.h>
#include <alchemy/queue.h>
#include <alchemy/sem.h>
#include <alchemy/timer.h>

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

/* Tags are the typedef names (C++ programs declare them forward), members have these very types. */
static void tags_and_types(void)
{
	struct RT_TASK task = { 0, pthread_self() };
	struct RT_SEM sem = { 0 };
	struct RT_MUTEX mutex = { 0 };
	struct RT_EVENT event = { 0 };
	struct RT_COND cond = { 0 };
	struct RT_QUEUE queue = { 0 };
	struct RT_HEAP heap = { 0 };
	struct RT_EVENT_INFO event_info;
	struct RT_COND_INFO cond_info;
	struct RT_ALARM alarm = { 0 };
	struct RT_BUFFER buffer = { 0 };
	struct RT_TASK_MCB mcb = { 1, 2, NULL, 3 };
	struct RT_ALARM_INFO alarm_info;
	struct RT_BUFFER_INFO buffer_info;
	struct RT_TASK_INFO info;
	struct RT_SEM_INFO sem_info;
	struct RT_MUTEX_INFO mutex_info;
	struct RT_QUEUE_INFO queue_info;
	struct RT_HEAP_INFO heap_info;
	struct rt_timer_info timer_info;
	RT_TASK *task_typedef = &task;
	RT_SEM *sem_typedef = &sem;
	RT_TASK_INFO *info_typedef = &info;
	RT_SEM_INFO *sem_info_typedef = &sem_info;
	RT_MUTEX *mutex_typedef = &mutex;
	RT_MUTEX_INFO *mutex_info_typedef = &mutex_info;
	RT_TASK *owner = &mutex_info.owner;
	uintptr_t *mutex_handle = &mutex.handle;
	RT_EVENT *event_typedef = &event;
	RT_EVENT_INFO *event_info_typedef = &event_info;
	RT_COND *cond_typedef = &cond;
	RT_COND_INFO *cond_info_typedef = &cond_info;
	uintptr_t *event_handle = &event.handle, *cond_handle = &cond.handle;
	unsigned int *flags = &event_info.value;
	int *event_waiters = &event_info.nwaiters;
	RT_QUEUE *queue_typedef = &queue;
	RT_QUEUE_INFO *queue_info_typedef = &queue_info;
	uintptr_t *queue_handle = &queue.handle;
	int *nmessages = &queue_info.nmessages;
	size_t *qlimit = &queue_info.qlimit, *poolsize = &queue_info.poolsize;
	RT_HEAP *heap_typedef = &heap;
	RT_HEAP_INFO *heap_info_typedef = &heap_info;
	uintptr_t *heap_handle = &heap.handle;
	int *heap_mode = &heap_info.mode;
	size_t *heapsize = &heap_info.heapsize, *usablemem = &heap_info.usablemem;
	RT_ALARM *alarm_typedef = &alarm;
	RT_BUFFER *buffer_typedef = &buffer;
	RT_TASK_MCB *mcb_typedef = &mcb;
	RT_ALARM_INFO *alarm_info_typedef = &alarm_info;
	RT_BUFFER_INFO *buffer_info_typedef = &buffer_info;
	uintptr_t *alarm_handle = &alarm.handle, *buffer_handle = &buffer.handle;
	unsigned long *expiries = &alarm_info.expiries;
	int *active = &alarm_info.active, *iwaiters = &buffer_info.iwaiters, *owaiters = &buffer_info.owaiters;
	size_t *totalmem = &buffer_info.totalmem, *availmem = &buffer_info.availmem;
	int *flowid = &mcb.flowid, *opcode = &mcb.opcode;
	void **data = &mcb.data;
	ssize_t *size = &mcb.size;
	RT_TIMER_INFO *timer_info_typedef = &timer_info;
	struct threadobj_stat *stat = &info.stat;
	unsigned long long *timeout = &stat->timeout;
	uintptr_t *handle = &task.handle;
	pthread_t *thread = &task.thread;
	unsigned long *count = &sem_info.count;
	unsigned int *status = &stat->status;
	unsigned long long *date = &timer_info.date;
	pid_t *pid = &info.pid;
	RTIME ticks = ~0ULL;
	SRTIME difference = -1;

	CHECK(task_typedef && sem_typedef && info_typedef && sem_info_typedef && timer_info_typedef);
	CHECK(mutex_typedef && mutex_info_typedef && owner && mutex_handle);
	CHECK(event_typedef && event_info_typedef && event_handle && flags && event_waiters);
	CHECK(cond_typedef && cond_info_typedef && cond_handle);
	CHECK(queue_typedef && queue_info_typedef && queue_handle && nmessages && qlimit && poolsize);
	CHECK(heap_typedef && heap_info_typedef && heap_handle && heap_mode && heapsize && usablemem);
	CHECK(timeout && handle && thread && count && status && date && pid);
	CHECK(alarm_typedef && buffer_typedef && mcb_typedef && alarm_info_typedef && buffer_info_typedef);
	CHECK(alarm_handle && buffer_handle && expiries && active && iwaiters && owaiters && totalmem && availmem);
	CHECK(data && *flowid == 1 && *opcode == 2 && *size == 3);
	CHECK(ticks > 0);
	CHECK(difference < 0);
}

static void times(void)
{
	CHECK_TYPE(RTIME, 8, 8);
	CHECK_TYPE(SRTIME, 8, 8);
	CHECK_EQ(TM_INFINITE, 0);
	CHECK_EQ(TM_NOW, 0);
	CHECK(TM_NONBLOCK == 18446744073709551615ULL);
	CHECK(TM_NONBLOCK > 0); /* unsigned */
	CHECK_EQ(sizeof(TM_INFINITE), 8);
}

static void tasks(void)
{
	CHECK_TYPE(RT_TASK, 16, 8);
	CHECK_FIELD(RT_TASK, handle, 0, 8);
	CHECK_FIELD(RT_TASK, thread, 8, 8);

	CHECK_TYPE(RT_TASK_INFO, 72, 8);
	CHECK_FIELD(RT_TASK_INFO, prio, 0, 4);
	CHECK_FIELD(RT_TASK_INFO, stat, 8, 24);
	CHECK_FIELD(RT_TASK_INFO, stat.timeout, 8, 8);
	CHECK_FIELD(RT_TASK_INFO, stat.cpu, 16, 4);
	CHECK_FIELD(RT_TASK_INFO, stat.schedlock, 20, 4);
	CHECK_FIELD(RT_TASK_INFO, stat.status, 24, 4);
	CHECK_FIELD(RT_TASK_INFO, name, 32, 32);
	CHECK_FIELD(RT_TASK_INFO, pid, 64, 4);
	CHECK_TYPE(struct threadobj_stat, 24, 8);

	CHECK_TYPE(RT_TASK_MCB, 24, 8);
	CHECK_FIELD(RT_TASK_MCB, flowid, 0, 4);
	CHECK_FIELD(RT_TASK_MCB, opcode, 4, 4);
	CHECK_FIELD(RT_TASK_MCB, data, 8, 8);
	CHECK_FIELD(RT_TASK_MCB, size, 16, 8);

	CHECK_EQ(NO_ALCHEMY_TASK.handle, 0);
	CHECK_EQ(NO_ALCHEMY_TASK.thread, 0);
}

static void task_constants(void)
{
	CHECK_EQ(T_LOPRIO, 0);
	CHECK_EQ(T_HIPRIO, 99);
	CHECK_EQ(T_LOCK, 0x1);
	CHECK_EQ(T_WARNSW, 0x2);
	CHECK_EQ(T_CONFORMING, 0x4);
	CHECK_EQ(T_JOINABLE, 0x10000);
	CHECK_EQ(__THREAD_M_SPARE0, 1 << 16);
	CHECK_EQ(__THREAD_M_SPARE1, 1 << 17);
	CHECK_EQ(__THREAD_M_SPARE2, 1 << 18);
	CHECK_EQ(__THREAD_M_SPARE3, 1 << 19);
	CHECK_EQ(__THREAD_M_SPARE4, 1 << 20);
	CHECK_EQ(__THREAD_M_SPARE5, 1 << 21);
	CHECK_EQ(__THREAD_M_SPARE6, 1 << 22);
	CHECK_EQ(__THREAD_M_SPARE7, 1 << 23);
}

static void status_bits(void)
{
	CHECK_EQ(__THREAD_S_STARTED, 0x1);
	CHECK_EQ(__THREAD_S_WARMUP, 0x2);
	CHECK_EQ(__THREAD_S_ABORTED, 0x4);
	CHECK_EQ(__THREAD_S_LOCKED, 0x8);
	CHECK_EQ(__THREAD_S_ACTIVE, 0x10);
	CHECK_EQ(__THREAD_S_SUSPENDED, 0x20);
	CHECK_EQ(__THREAD_S_SAFE, 0x40);
	CHECK_EQ(__THREAD_S_PERIODIC, 0x80);
	CHECK_EQ((unsigned)__THREAD_S_DEBUG, 0x80000000u);
	CHECK_EQ(__THREAD_S_RUNNING, 0);
	CHECK_EQ(__THREAD_S_DORMANT, 0x10000);
	CHECK_EQ(__THREAD_S_WAIT, 0x20000);
	CHECK_EQ(__THREAD_S_TIMEDWAIT, 0x40000);
	CHECK_EQ(__THREAD_S_DELAYED, 0x80000);
	CHECK_EQ(__THREAD_S_BREAK, 0x180000);
}

static void semaphores(void)
{
	CHECK_TYPE(RT_SEM, 8, 8);
	CHECK_FIELD(RT_SEM, handle, 0, 8);
	CHECK_TYPE(RT_SEM_INFO, 48, 8);
	CHECK_FIELD(RT_SEM_INFO, count, 0, 8);
	CHECK_FIELD(RT_SEM_INFO, nwaiters, 8, 4);
	CHECK_FIELD(RT_SEM_INFO, name, 12, 32);
	CHECK_EQ(S_FIFO, 0);
	CHECK_EQ(S_PRIO, 1);
	CHECK_EQ(S_PULSE, 2);
}

static void mutexes(void)
{
	CHECK_TYPE(RT_MUTEX, 8, 8);
	CHECK_FIELD(RT_MUTEX, handle, 0, 8);
	CHECK_TYPE(RT_MUTEX_INFO, 48, 8);
	CHECK_FIELD(RT_MUTEX_INFO, owner, 0, 16);
	CHECK_FIELD(RT_MUTEX_INFO, owner.handle, 0, 8);
	CHECK_FIELD(RT_MUTEX_INFO, owner.thread, 8, 8);
	CHECK_FIELD(RT_MUTEX_INFO, name, 16, 32);
}

static void queues(void)
{
	CHECK_TYPE(RT_QUEUE, 8, 8);
	CHECK_FIELD(RT_QUEUE, handle, 0, 8);
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
}

static void heaps(void)
{
	CHECK_TYPE(RT_HEAP, 8, 8);
	CHECK_FIELD(RT_HEAP, handle, 0, 8);
	CHECK_TYPE(RT_HEAP_INFO, 64, 8);
	CHECK_FIELD(RT_HEAP_INFO, nwaiters, 0, 4);
	CHECK_FIELD(RT_HEAP_INFO, mode, 4, 4);
	CHECK_FIELD(RT_HEAP_INFO, heapsize, 8, 8);
	CHECK_FIELD(RT_HEAP_INFO, usablemem, 16, 8);
	CHECK_FIELD(RT_HEAP_INFO, usedmem, 24, 8);
	CHECK_FIELD(RT_HEAP_INFO, name, 32, 32);
	CHECK_EQ(H_FIFO, 0);
	CHECK_EQ(H_PRIO, 1);
	CHECK_EQ(H_SINGLE, 4);
}

/* So that a program which is only compiled notices, too. */
_Static_assert(sizeof(RT_MUTEX) == 8 && sizeof(RT_MUTEX_INFO) == 48, "mutex.md 1");
_Static_assert(offsetof(RT_MUTEX_INFO, owner) == 0 && offsetof(RT_MUTEX_INFO, name) == 16, "mutex.md 1");
_Static_assert(sizeof(RT_QUEUE) == 8 && sizeof(RT_QUEUE_INFO) == 72, "queue.md 2");
_Static_assert(offsetof(RT_QUEUE_INFO, qlimit) == 16 && offsetof(RT_QUEUE_INFO, name) == 40, "queue.md 2");
_Static_assert(sizeof(RT_HEAP) == 8 && sizeof(RT_HEAP_INFO) == 64, "heap.md 2");
_Static_assert(offsetof(RT_HEAP_INFO, heapsize) == 8 && offsetof(RT_HEAP_INFO, name) == 32, "heap.md 2");

static void events(void)
{
	CHECK_TYPE(RT_EVENT, 8, 8);
	CHECK_FIELD(RT_EVENT, handle, 0, 8);
	CHECK_TYPE(RT_EVENT_INFO, 40, 4);
	CHECK_FIELD(RT_EVENT_INFO, value, 0, 4);
	CHECK_FIELD(RT_EVENT_INFO, nwaiters, 4, 4);
	CHECK_FIELD(RT_EVENT_INFO, name, 8, 32);
	CHECK_EQ(EV_FIFO, 0);
	CHECK_EQ(EV_PRIO, 1);
	CHECK_EQ(EV_ALL, 0);
	CHECK_EQ(EV_ANY, 1);
}

static void conditions(void)
{
	CHECK_TYPE(RT_COND, 8, 8);
	CHECK_FIELD(RT_COND, handle, 0, 8);
	CHECK_TYPE(RT_COND_INFO, 32, 1);
	CHECK_FIELD(RT_COND_INFO, name, 0, 32);
}

_Static_assert(sizeof(RT_EVENT) == 8 && sizeof(RT_EVENT_INFO) == 40, "event.md 1");
_Static_assert(offsetof(RT_EVENT_INFO, nwaiters) == 4 && offsetof(RT_EVENT_INFO, name) == 8, "event.md 1");
_Static_assert(sizeof(RT_COND) == 8 && sizeof(RT_COND_INFO) == 32, "cond.md 1");

static void alarms(void)
{
	CHECK_TYPE(RT_ALARM, 8, 8);
	CHECK_FIELD(RT_ALARM, handle, 0, 8);
	CHECK_TYPE(RT_ALARM_INFO, 48, 8);
	CHECK_FIELD(RT_ALARM_INFO, expiries, 0, 8);
	CHECK_FIELD(RT_ALARM_INFO, name, 8, 32);
	CHECK_FIELD(RT_ALARM_INFO, active, 40, 4);
}

static void buffers(void)
{
	CHECK_TYPE(RT_BUFFER, 8, 8);
	CHECK_FIELD(RT_BUFFER, handle, 0, 8);
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
_Static_assert(sizeof(RT_ALARM) == 8 && sizeof(RT_ALARM_INFO) == 48, "alarm.md 1");
_Static_assert(sizeof(RT_BUFFER) == 8 && sizeof(RT_BUFFER_INFO) == 56, "buffer.md 2");
_Static_assert(sizeof(RT_TASK_MCB) == 24, "task.md 1");

static void timers(void)
{
	CHECK_TYPE(RT_TIMER_INFO, 16, 8);
	CHECK_FIELD(RT_TIMER_INFO, period, 0, 8);
	CHECK_FIELD(RT_TIMER_INFO, date, 8, 8);
}

static void names(void)
{
	CHECK_EQ(XNOBJECT_NAME_LEN, 32);
}

/* Real functions: their addresses can be taken, and have these types. */
static void functions(void)
{
	int (*create)(RT_TASK *, const char *, int, int, int) = rt_task_create;
	int (*start)(RT_TASK *, void (*)(void *), void *) = rt_task_start;
	int (*spawn)(RT_TASK *, const char *, int, int, int, void (*)(void *), void *) = rt_task_spawn;
	int (*shadow)(RT_TASK *, const char *, int, int) = rt_task_shadow;
	int (*join)(RT_TASK *) = rt_task_join;
	int (*sleep_for)(RTIME) = rt_task_sleep, (*sleep_until)(RTIME) = rt_task_sleep_until;
	int (*yield)(void) = rt_task_yield;
	int (*set_affinity)(RT_TASK *, const cpu_set_t *) = rt_task_set_affinity;
	int (*inquire)(RT_TASK *, RT_TASK_INFO *) = rt_task_inquire;
	int (*same)(RT_TASK *, RT_TASK *) = rt_task_same;
	RT_TASK *(*self)(void) = rt_task_self;
	int (*bind)(RT_TASK *, const char *, RTIME) = rt_task_bind;
	int (*unbind)(RT_TASK *) = rt_task_unbind;
	int (*sem_create)(RT_SEM *, const char *, unsigned long, int) = rt_sem_create;
	int (*sem_p)(RT_SEM *, RTIME) = rt_sem_p, (*sem_p_until)(RT_SEM *, RTIME) = rt_sem_p_until;
	int (*sem_p_timed)(RT_SEM *, const struct timespec *) = rt_sem_p_timed;
	int (*sem_v)(RT_SEM *) = rt_sem_v, (*broadcast)(RT_SEM *) = rt_sem_broadcast;
	int (*sem_delete)(RT_SEM *) = rt_sem_delete;
	int (*sem_inquire)(RT_SEM *, RT_SEM_INFO *) = rt_sem_inquire;
	int (*sem_bind)(RT_SEM *, const char *, RTIME) = rt_sem_bind;
	int (*sem_unbind)(RT_SEM *) = rt_sem_unbind;
	int (*mutex_create)(RT_MUTEX *, const char *) = rt_mutex_create;
	int (*acquire)(RT_MUTEX *, RTIME) = rt_mutex_acquire, (*acquire_until)(RT_MUTEX *, RTIME) = rt_mutex_acquire_until;
	int (*acquire_timed)(RT_MUTEX *, const struct timespec *) = rt_mutex_acquire_timed;
	int (*release)(RT_MUTEX *) = rt_mutex_release, (*mutex_delete)(RT_MUTEX *) = rt_mutex_delete;
	int (*mutex_inquire)(RT_MUTEX *, RT_MUTEX_INFO *) = rt_mutex_inquire;
	int (*mutex_bind)(RT_MUTEX *, const char *, RTIME) = rt_mutex_bind;
	int (*mutex_unbind)(RT_MUTEX *) = rt_mutex_unbind;
	int (*event_create)(RT_EVENT *, const char *, unsigned int, int) = rt_event_create;
	int (*event_wait)(RT_EVENT *, unsigned int, unsigned int *, int, RTIME) = rt_event_wait;
	int (*event_wait_until)(RT_EVENT *, unsigned int, unsigned int *, int, RTIME) = rt_event_wait_until;
	int (*event_wait_timed)(RT_EVENT *, unsigned int, unsigned int *, int, const struct timespec *) = rt_event_wait_timed;
	int (*event_signal)(RT_EVENT *, unsigned int) = rt_event_signal;
	int (*event_clear)(RT_EVENT *, unsigned int, unsigned int *) = rt_event_clear;
	int (*event_delete)(RT_EVENT *) = rt_event_delete, (*event_unbind)(RT_EVENT *) = rt_event_unbind;
	int (*event_inquire)(RT_EVENT *, RT_EVENT_INFO *) = rt_event_inquire;
	int (*event_bind)(RT_EVENT *, const char *, RTIME) = rt_event_bind;
	int (*cond_create)(RT_COND *, const char *) = rt_cond_create;
	int (*cond_wait)(RT_COND *, RT_MUTEX *, RTIME) = rt_cond_wait;
	int (*cond_wait_until)(RT_COND *, RT_MUTEX *, RTIME) = rt_cond_wait_until;
	int (*cond_wait_timed)(RT_COND *, RT_MUTEX *, const struct timespec *) = rt_cond_wait_timed;
	int (*cond_signal)(RT_COND *) = rt_cond_signal, (*cond_broadcast)(RT_COND *) = rt_cond_broadcast;
	int (*cond_delete)(RT_COND *) = rt_cond_delete, (*cond_unbind)(RT_COND *) = rt_cond_unbind;
	int (*cond_inquire)(RT_COND *, RT_COND_INFO *) = rt_cond_inquire;
	int (*cond_bind)(RT_COND *, const char *, RTIME) = rt_cond_bind;
	int (*queue_create)(RT_QUEUE *, const char *, size_t, size_t, int) = rt_queue_create;
	int (*queue_delete)(RT_QUEUE *) = rt_queue_delete, (*queue_flush)(RT_QUEUE *) = rt_queue_flush;
	void *(*queue_alloc)(RT_QUEUE *, size_t) = rt_queue_alloc;
	int (*queue_free)(RT_QUEUE *, void *) = rt_queue_free;
	int (*queue_send)(RT_QUEUE *, const void *, size_t, int) = rt_queue_send;
	int (*queue_write)(RT_QUEUE *, const void *, size_t, int) = rt_queue_write;
	ssize_t (*queue_receive)(RT_QUEUE *, void **, RTIME) = rt_queue_receive;
	ssize_t (*queue_receive_until)(RT_QUEUE *, void **, RTIME) = rt_queue_receive_until;
	ssize_t (*queue_receive_timed)(RT_QUEUE *, void **, const struct timespec *) = rt_queue_receive_timed;
	ssize_t (*queue_read)(RT_QUEUE *, void *, size_t, RTIME) = rt_queue_read;
	ssize_t (*queue_read_until)(RT_QUEUE *, void *, size_t, RTIME) = rt_queue_read_until;
	ssize_t (*queue_read_timed)(RT_QUEUE *, void *, size_t, const struct timespec *) = rt_queue_read_timed;
	int (*queue_inquire)(RT_QUEUE *, RT_QUEUE_INFO *) = rt_queue_inquire;
	int (*queue_bind)(RT_QUEUE *, const char *, RTIME) = rt_queue_bind, (*queue_unbind)(RT_QUEUE *) = rt_queue_unbind;
	int (*heap_create)(RT_HEAP *, const char *, size_t, int) = rt_heap_create;
	int (*heap_delete)(RT_HEAP *) = rt_heap_delete, (*heap_free)(RT_HEAP *, void *) = rt_heap_free;
	int (*heap_alloc)(RT_HEAP *, size_t, RTIME, void **) = rt_heap_alloc;
	int (*alloc_until)(RT_HEAP *, size_t, RTIME, void **) = rt_heap_alloc_until;
	int (*alloc_timed)(RT_HEAP *, size_t, const struct timespec *, void **) = rt_heap_alloc_timed;
	int (*heap_inquire)(RT_HEAP *, RT_HEAP_INFO *) = rt_heap_inquire;
	int (*heap_bind)(RT_HEAP *, const char *, RTIME) = rt_heap_bind, (*heap_unbind)(RT_HEAP *) = rt_heap_unbind;
	int (*alarm_create)(RT_ALARM *, const char *, void (*)(void *), void *) = rt_alarm_create;
	int (*alarm_start)(RT_ALARM *, RTIME, RTIME) = rt_alarm_start;
	int (*alarm_stop)(RT_ALARM *) = rt_alarm_stop, (*alarm_delete)(RT_ALARM *) = rt_alarm_delete;
	int (*alarm_inquire)(RT_ALARM *, RT_ALARM_INFO *) = rt_alarm_inquire;
	int (*buffer_create)(RT_BUFFER *, const char *, size_t, int) = rt_buffer_create;
	ssize_t (*read_bytes)(RT_BUFFER *, void *, size_t, RTIME) = rt_buffer_read, (*read_until)(RT_BUFFER *, void *, size_t, RTIME) = rt_buffer_read_until;
	ssize_t (*read_timed)(RT_BUFFER *, void *, size_t, const struct timespec *) = rt_buffer_read_timed;
	ssize_t (*write_bytes)(RT_BUFFER *, const void *, size_t, RTIME) = rt_buffer_write, (*write_until)(RT_BUFFER *, const void *, size_t, RTIME) = rt_buffer_write_until;
	ssize_t (*write_timed)(RT_BUFFER *, const void *, size_t, const struct timespec *) = rt_buffer_write_timed;
	int (*buffer_clear)(RT_BUFFER *) = rt_buffer_clear, (*buffer_delete)(RT_BUFFER *) = rt_buffer_delete;
	int (*buffer_inquire)(RT_BUFFER *, RT_BUFFER_INFO *) = rt_buffer_inquire;
	int (*buffer_bind)(RT_BUFFER *, const char *, RTIME) = rt_buffer_bind, (*buffer_unbind)(RT_BUFFER *) = rt_buffer_unbind;
	ssize_t (*send)(RT_TASK *, RT_TASK_MCB *, RT_TASK_MCB *, RTIME) = rt_task_send, (*send_until)(RT_TASK *, RT_TASK_MCB *, RT_TASK_MCB *, RTIME) = rt_task_send_until;
	ssize_t (*send_timed)(RT_TASK *, RT_TASK_MCB *, RT_TASK_MCB *, const struct timespec *) = rt_task_send_timed;
	int (*receive)(RT_TASK_MCB *, RTIME) = rt_task_receive, (*receive_until)(RT_TASK_MCB *, RTIME) = rt_task_receive_until;
	int (*receive_timed)(RT_TASK_MCB *, const struct timespec *) = rt_task_receive_timed;
	int (*reply)(int, RT_TASK_MCB *) = rt_task_reply;
	RTIME (*now)(void) = rt_timer_read;
	SRTIME (*ns2ticks)(SRTIME) = rt_timer_ns2ticks, (*ticks2ns)(SRTIME) = rt_timer_ticks2ns;
	void (*timer_inquire)(RT_TIMER_INFO *) = rt_timer_inquire;
	void (*spin)(RTIME) = rt_timer_spin;

	CHECK(create && start && spawn && shadow && join && sleep_for && sleep_until && yield && set_affinity);
	CHECK(inquire && same && self && bind && unbind && sem_create && sem_p && sem_p_until && sem_p_timed);
	CHECK(sem_v && broadcast && sem_delete && sem_inquire && sem_bind && sem_unbind);
	CHECK(mutex_create && acquire && acquire_until && acquire_timed && release && mutex_delete);
	CHECK(mutex_inquire && mutex_bind && mutex_unbind);
	CHECK(event_create && event_wait && event_wait_until && event_wait_timed && event_signal && event_clear);
	CHECK(event_delete && event_unbind && event_inquire && event_bind);
	CHECK(cond_create && cond_wait && cond_wait_until && cond_wait_timed && cond_signal && cond_broadcast);
	CHECK(cond_delete && cond_unbind && cond_inquire && cond_bind);
	CHECK(queue_create && queue_delete && queue_flush && queue_alloc && queue_free && queue_send && queue_write);
	CHECK(queue_receive && queue_receive_until && queue_receive_timed && queue_read && queue_read_until && queue_read_timed);
	CHECK(queue_inquire && queue_bind && queue_unbind);
	CHECK(heap_create && heap_delete && heap_free && heap_alloc && alloc_until && alloc_timed);
	CHECK(heap_inquire && heap_bind && heap_unbind);
	CHECK(alarm_create && alarm_start && alarm_stop && alarm_delete && alarm_inquire);
	CHECK(buffer_create && read_bytes && read_until && read_timed && write_bytes && write_until && write_timed);
	CHECK(buffer_clear && buffer_delete && buffer_inquire && buffer_bind && buffer_unbind);
	CHECK(send && send_until && send_timed && receive && receive_until && receive_timed && reply);
	CHECK(now() > 0);
	CHECK_EQ(ns2ticks(7), 7);
	CHECK_EQ(ticks2ns(7), 7);
	CHECK(timer_inquire && spin);
}

KIT_CASES(
	CASE(tags_and_types), CASE(times), CASE(tasks), CASE(task_constants), CASE(status_bits), CASE(semaphores),
	CASE(mutexes), CASE(events), CASE(conditions), CASE(queues), CASE(heaps), CASE(buffers), CASE(alarms), CASE(timers), CASE(names),
	CASE(functions))
