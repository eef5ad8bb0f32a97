/*
 * <native/queue.h> - message queues of the 2.x interface.
 *
 * For the conventions see <alchemy/timer.h>.
 */
#ifndef _NATIVE_QUEUE_H
#define _NATIVE_QUEUE_H

#include <native/types.h>

#if _ALCHEMY_FLAVOUR == 3
#include <alchemy/queue.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/* Creation modes. */
#define Q_FIFO		0x0	/**< Waiters queue in order of arrival. */
#define Q_PRIO		0x1	/**< Waiters queue by base priority, equals by arrival. */
#define Q_DMA		0x100	/**< No effect. */
#define Q_SHARED	0x200	/**< No effect. */

#define Q_UNLIMITED	0	/**< As many queued messages as the pool has room for. */

/* Modes of rt_queue_send() and rt_queue_write(). */
#define Q_NORMAL	0x0	/**< Queue the message behind all others. */
#define Q_URGENT	0x1	/**< Queue the message in front of all others. */
#define Q_BROADCAST	0x2	/**< Give the message to all who wait now; never queue it. */

/** Descriptor of a queue. */
__extension__ typedef struct RT_QUEUE {
	union {
		unsigned long opaque;	/**< Opaque; 0 in an unbound descriptor. */
		uintptr_t handle;	/**< The same by its 3.x name. */
	};
	void *opaque2;			/**< Not used, 0. */
	void *mapbase;			/**< Not used, 0. */
	size_t mapsize;			/**< Not used, 0. */
	unsigned long area;		/**< Not used, 0. */
} RT_QUEUE, RT_QUEUE_PLACEHOLDER;

/** What rt_queue_inquire() tells. */
typedef struct RT_QUEUE_INFO {
	int nwaiters;			/**< Number of waiters. */
	int nmessages;			/**< Messages queued; those held by somebody do not count. */
	int mode;			/**< Creation mode. */
	size_t qlimit;			/**< Most messages queued at a time; Q_UNLIMITED: no limit. */
	size_t poolsize;		/**< Size of the pool in bytes, no less than asked for. */
	size_t usedmem;			/**< Bytes of the pool taken by messages, queued or held. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
} RT_QUEUE_INFO;

/**
 * Create a queue, empty.
 *
 * Never waits. Callers: all but alarm handlers.
 *
 * @param queue    filled in on success, untouched on failure
 * @param name     name, or NULL or "" for a generated one
 * @param poolsize size of the pool in bytes, above 0
 * @param qlimit   most messages queued at a time, 1..2147483647, or Q_UNLIMITED
 * @param mode     Q_FIFO or Q_PRIO; Q_SHARED, Q_DMA and other bits are ignored
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a poolsize is 0, @a qlimit out of range, or @a queue is NULL
 * @retval -ENOMEM no memory left for the queue or its pool
 * @retval -EEXIST a queue of that name exists
 */
int rt_queue_create(RT_QUEUE *queue, const char *name,
		    size_t poolsize, size_t qlimit, int mode)
	__asm__("__native_rt_queue_create");

/**
 * Copy the first message, wait for one at most so many ticks.
 *
 * What does not fit is cut off and lost, but counts in the result. With a @a size
 * of 0 nothing at all is done, nor is @a queue looked at. A message that is there
 * is taken whatever the time-out. Callers: any if there is no need to wait;
 * otherwise tasks and the initial thread.
 *
 * @param queue   queue
 * @param buf     receives the content
 * @param size    room there, in bytes
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @return size of the message in bytes, which may be above @a size; 0 if @a size
 *         is 0
 * @retval -EINVAL      @a queue is invalid or @a buf is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no message
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   no message in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       queue deleted while waiting
 */
ssize_t rt_queue_read(RT_QUEUE *queue, void *buf, size_t size, RTIME timeout)
	__asm__("__native_rt_queue_read");

/**
 * Copy the first message, wait for one until a date.
 *
 * As rt_queue_read(), but for the time-out.
 *
 * @param queue queue
 * @param buf   receives the content
 * @param size  room there, in bytes
 * @param date  date in ticks; TM_INFINITE is no limit; or TM_NONBLOCK
 * @return size of the message in bytes, which may be above @a size; 0 if @a size
 *         is 0
 * @retval -EINVAL      @a queue is invalid or @a buf is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no message
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   no message before @a date, or @a date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       queue deleted while waiting
 */
ssize_t rt_queue_read_until(RT_QUEUE *queue, void *buf, size_t size, RTIME date)
	__asm__("__native_rt_queue_read_until");

/**
 * Get at a queue by its name, wait for its creation if need be.
 *
 * Callers: any; only tasks and the initial thread wait.
 *
 * @param queue   filled in on success, untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a queue or @a name is NULL
 * @retval -EWOULDBLOCK no such queue, and TM_NONBLOCK or a caller that may not
 *                      wait
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_queue_bind(RT_QUEUE *queue, const char *name, RTIME timeout)
	__asm__("__native_rt_queue_bind");

/* The same functions as in <alchemy/queue.h>, where they are explained. */

/** Delete a queue; waiters return -EIDRM. Callers: all but alarm handlers. */
int rt_queue_delete(RT_QUEUE *queue);

/** Allocate a message, or NULL; the caller holds it. Callers: any. */
void *rt_queue_alloc(RT_QUEUE *queue, size_t size);

/** Let go of a message. Callers: any. */
int rt_queue_free(RT_QUEUE *queue, void *buf);

/** Send a message that the caller holds. Callers: any. */
int rt_queue_send(RT_QUEUE *queue, void *buf, size_t size, int mode);

/** Send a copy of the caller's data. Callers: any. */
int rt_queue_write(RT_QUEUE *queue, const void *buf, size_t size, int mode);

/** Receive the first message, wait for one at most so many ticks. */
ssize_t rt_queue_receive(RT_QUEUE *queue, void **bufp, RTIME timeout);

/** Receive the first message, wait for one until a date in ticks; TM_INFINITE is no limit. */
ssize_t rt_queue_receive_until(RT_QUEUE *queue, void **bufp, RTIME date);

/** Remove all queued messages; tells how many. Callers: any. */
int rt_queue_flush(RT_QUEUE *queue);

/** Tell waiters, messages, memory and name. Callers: any. */
int rt_queue_inquire(RT_QUEUE *queue, RT_QUEUE_INFO *info);

/** Clear a descriptor; the queue itself is not touched. Callers: any. */
int rt_queue_unbind(RT_QUEUE *queue);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

/* Names that 3.x has no more. */

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Receive the first message: rt_queue_receive() by its name before 2.2.
 *
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread.
 *
 * @param queue   queue
 * @param bufp    address of the content, written on success only
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @return as rt_queue_receive()
 */
ssize_t rt_queue_recv(RT_QUEUE *queue, void **bufp, RTIME timeout);

#ifdef __cplusplus
}
#endif

#endif /* !_NATIVE_QUEUE_H */
