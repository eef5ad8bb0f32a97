/*
 * <alchemy/queue.h> - message queues.
 *
 * A queue has a pool of its own, from which the memory of its messages comes. A
 * message is a block of that pool: rt_queue_alloc() gives one to the caller, who
 * then holds it; rt_queue_send() links it to the queue; rt_queue_receive() gives
 * it to another holder, without a copy; rt_queue_free() returns it to the pool.
 * Or else rt_queue_write() and rt_queue_read() copy between the message and the
 * caller's own memory, and nobody holds anything.
 *
 * For the conventions (results, ticks, time-outs, callers, names) see
 * <alchemy/timer.h>.
 */
#ifndef _ALCHEMY_QUEUE_H
#define _ALCHEMY_QUEUE_H

#include <alchemy/timer.h>

#if _ALCHEMY_FLAVOUR == 2
#include <native/queue.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/* Creation modes. */
#define Q_FIFO		0x0	/**< Waiters queue in order of arrival. */
#define Q_PRIO		0x1	/**< Waiters queue by base priority, equals by arrival. */

#define Q_UNLIMITED	0	/**< As many queued messages as the pool has room for. */

/* Modes of rt_queue_send() and rt_queue_write(). */
#define Q_NORMAL	0x0	/**< Queue the message behind all others. */
#define Q_URGENT	0x1	/**< Queue the message in front of all others. */
#define Q_BROADCAST	0x2	/**< Give the message to all who wait now; never queue it. */

/** Descriptor of a queue. */
struct RT_QUEUE {
	uintptr_t handle;	/**< Opaque; 0 in an unbound descriptor. */
};

typedef struct RT_QUEUE RT_QUEUE;

/** What rt_queue_inquire() tells. */
struct RT_QUEUE_INFO {
	int nwaiters;			/**< Number of waiters. */
	int nmessages;			/**< Messages queued; those held by somebody do not count. */
	int mode;			/**< Creation mode. */
	size_t qlimit;			/**< Most messages queued at a time; Q_UNLIMITED: no limit. */
	size_t poolsize;		/**< Size of the pool in bytes, no less than asked for. */
	size_t usedmem;			/**< Bytes of the pool taken by messages, queued or held. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
};

typedef struct RT_QUEUE_INFO RT_QUEUE_INFO;

/**
 * Create a queue, empty.
 *
 * With a limit N, N messages of @a poolsize / N bytes fit at once, whatever is
 * lost to rounding. A message may be longer if the pool has room for it. Without
 * a limit small messages take more than their size: 64 bytes up to a size of 32,
 * 128 up to 96, 256 up to 224. The pool never grows.
 *
 * Never waits. Callers: all but alarm handlers.
 *
 * @param queue    filled in on success, untouched on failure
 * @param name     name, or NULL or "" for a generated one ("queue@1", ...)
 * @param poolsize size of the pool in bytes, above 0
 * @param qlimit   most messages queued at a time, 1..2147483647, or Q_UNLIMITED
 * @param mode     Q_FIFO or Q_PRIO
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a poolsize is 0, unknown bit in @a mode, @a qlimit out of
 *                 range, or @a queue is NULL
 * @retval -ENOMEM no memory left for the queue or its pool
 * @retval -EEXIST a queue of that name exists
 */
int rt_queue_create(RT_QUEUE *queue, const char *name,
		    size_t poolsize, size_t qlimit, int mode);

/**
 * Delete a queue with all its messages.
 *
 * All waiters return -EIDRM, and are ready to run when this call returns; the
 * name is free again. The pool is gone: the addresses of messages that are still
 * held must not be used any more. Never waits. Callers: all but alarm handlers.
 *
 * @param queue queue
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a queue is invalid
 */
int rt_queue_delete(RT_QUEUE *queue);

/**
 * Allocate a message; the caller holds it.
 *
 * The limit of the queue plays no part. The content is undefined. Never waits.
 * Callers: any.
 *
 * @param queue queue
 * @param size  room for the content in bytes; 0 is fine
 * @return address of the content, a multiple of 16; NULL if @a queue is invalid
 *         or the pool has no room
 */
void *rt_queue_alloc(RT_QUEUE *queue, size_t size);

/**
 * Let go of a message; the last holder's call returns it to the pool.
 *
 * Never waits, and wakes nobody. Callers: any.
 *
 * @param queue queue
 * @param buf   what rt_queue_alloc() or rt_queue_receive() gave
 * @retval 0       done
 * @retval -EINVAL @a buf is NULL, @a queue is invalid, @a buf is no message of
 *                 this queue, or nobody holds it: it is queued, or freed already
 */
int rt_queue_free(RT_QUEUE *queue, void *buf);

/**
 * Send a message that the caller holds.
 *
 * It goes to the first waiter, or to all of them with Q_BROADCAST; without any it
 * is queued. On success the caller holds it no longer, but for one case: nobody
 * got a Q_BROADCAST. After a failure the caller holds it still. What comes from
 * rt_queue_receive() can be sent again, with any size it has room for.
 * Never waits. Callers: any.
 *
 * @param queue queue
 * @param buf   what rt_queue_alloc() or rt_queue_receive() gave
 * @param size  size of the content in bytes; 0 is fine
 * @param mode  Q_NORMAL or Q_URGENT, possibly with Q_BROADCAST, where Q_URGENT
 *              means nothing
 * @return number of waiters who got it; 0 if it was queued, or if it is a
 *         Q_BROADCAST that nobody waited for, which the caller still holds
 * @retval -EINVAL @a buf is NULL, or unknown bit in @a mode
 * @retval -EINVAL @a queue is invalid
 * @retval -ENOMEM the limit of the queue is reached, be it a Q_BROADCAST or not
 * @retval -EINVAL @a buf is no message of this queue, nobody holds it, it is
 *                 queued, or @a size is above its room
 */
int rt_queue_send(RT_QUEUE *queue, const void *buf, size_t size, int mode);

/**
 * Send a copy of the caller's data.
 *
 * It goes to the first waiter, or to all of them with Q_BROADCAST; without any it
 * is queued, but a Q_BROADCAST is dropped. If the first waiter is in
 * rt_queue_read() and this is no Q_BROADCAST, the data goes straight to the
 * waiter's memory, as much as there is room for: that needs nothing of the pool.
 * Never waits. Callers: any.
 *
 * @param queue queue
 * @param buf   data; may be NULL if @a size is 0
 * @param size  size of the data in bytes
 * @param mode  Q_NORMAL or Q_URGENT, possibly with Q_BROADCAST, where Q_URGENT
 *              means nothing
 * @return number of waiters who got it; 0 if it was queued, or if it is a
 *         Q_BROADCAST that nobody waited for
 * @retval -EINVAL unknown bit in @a mode, or @a buf is NULL with @a size above 0
 * @retval -EINVAL @a queue is invalid
 * @retval -ENOMEM the limit of the queue is reached, or the pool has no room
 */
int rt_queue_write(RT_QUEUE *queue, const void *buf, size_t size, int mode);

/**
 * Receive the first message, wait for one at most so many ticks.
 *
 * The caller then holds the message and must give it to rt_queue_free() or
 * rt_queue_send() one day, even if its size is 0. A message that is there is taken
 * whatever the time-out. While others wait there is none: nobody overtakes them.
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread, which queues with priority 0.
 *
 * @param queue   queue
 * @param bufp    address of the content, written on success only; never NULL
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @return size of the message in bytes, 0 included
 * @retval -EINVAL      @a queue is invalid or @a bufp is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no message
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   no message in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       queue deleted while waiting, or before the caller could
 *                      run again
 */
ssize_t rt_queue_receive(RT_QUEUE *queue, void **bufp, RTIME timeout);

/**
 * Receive the first message, wait for one until a date.
 *
 * As rt_queue_receive(), but for the time-out.
 *
 * @param queue queue
 * @param bufp  address of the content, written on success only; never NULL
 * @param date  date in ticks, TM_INFINITE or TM_NONBLOCK
 * @return size of the message in bytes, 0 included
 * @retval -EINVAL      @a queue is invalid or @a bufp is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no message
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   no message before @a date, or @a date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       queue deleted while waiting, or before the caller could
 *                      run again
 */
ssize_t rt_queue_receive_until(RT_QUEUE *queue, void **bufp, RTIME date);

/**
 * Receive the first message, wait for one until a date given as a timespec.
 *
 * As rt_queue_receive(), but for the time-out.
 *
 * @param queue       queue
 * @param bufp        address of the content, written on success only; never NULL
 * @param abs_timeout CLOCK_MONOTONIC date, NULL for no limit, {0,0} for a poll;
 *                    looked at only if there is no message
 * @return size of the message in bytes, 0 included
 * @retval -EINVAL      @a queue is invalid or @a bufp is NULL
 * @retval -EWOULDBLOCK poll and no message
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -EINVAL      tv_nsec is outside 0..999999999
 * @retval -ETIMEDOUT   no message before the date, or the date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       queue deleted while waiting, or before the caller could
 *                      run again
 */
ssize_t rt_queue_receive_timed(RT_QUEUE *queue, void **bufp,
			       const struct timespec *abs_timeout);

/**
 * Copy the first message, wait for one at most so many ticks.
 *
 * What does not fit is cut off and lost: the message is taken as a whole. With a
 * @a size of 0 nothing at all is done, nor is @a queue looked at. A message that
 * is there is taken whatever the time-out.
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread, which queues with priority 0.
 *
 * @param queue   queue
 * @param buf     receives the content
 * @param size    room there, in bytes
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @return number of bytes copied, 0 for an empty message; 0 if @a size is 0
 * @retval -EINVAL      @a queue is invalid or @a buf is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no message
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   no message in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       queue deleted while waiting
 */
ssize_t rt_queue_read(RT_QUEUE *queue, void *buf, size_t size, RTIME timeout);

/**
 * Copy the first message, wait for one until a date.
 *
 * As rt_queue_read(), but for the time-out.
 *
 * @param queue queue
 * @param buf   receives the content
 * @param size  room there, in bytes
 * @param date  date in ticks, TM_INFINITE or TM_NONBLOCK
 * @return number of bytes copied, 0 for an empty message; 0 if @a size is 0
 * @retval -EINVAL      @a queue is invalid or @a buf is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no message
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   no message before @a date, or @a date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       queue deleted while waiting
 */
ssize_t rt_queue_read_until(RT_QUEUE *queue, void *buf, size_t size, RTIME date);

/**
 * Copy the first message, wait for one until a date given as a timespec.
 *
 * As rt_queue_read(), but for the time-out.
 *
 * @param queue       queue
 * @param buf         receives the content
 * @param size        room there, in bytes
 * @param abs_timeout CLOCK_MONOTONIC date, NULL for no limit, {0,0} for a poll;
 *                    looked at only if there is no message
 * @return number of bytes copied, 0 for an empty message; 0 if @a size is 0
 * @retval -EINVAL      @a queue is invalid or @a buf is NULL
 * @retval -EWOULDBLOCK poll and no message
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -EINVAL      tv_nsec is outside 0..999999999
 * @retval -ETIMEDOUT   no message before the date, or the date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       queue deleted while waiting
 */
ssize_t rt_queue_read_timed(RT_QUEUE *queue, void *buf, size_t size,
			    const struct timespec *abs_timeout);

/**
 * Remove all queued messages.
 *
 * What somebody holds is not touched. Never waits, and wakes nobody. Callers: any.
 *
 * @param queue queue
 * @return number of messages removed
 * @retval -EINVAL @a queue is invalid
 */
int rt_queue_flush(RT_QUEUE *queue);

/**
 * Tell waiters, messages, memory, what was asked for at creation, and name.
 *
 * All of one moment. Never waits. Callers: any.
 *
 * @param queue queue
 * @param info  filled in
 * @retval 0       done
 * @retval -EINVAL @a queue is invalid or @a info is NULL
 */
int rt_queue_inquire(RT_QUEUE *queue, RT_QUEUE_INFO *info);

/**
 * Get at a queue by its name, wait for its creation if need be.
 *
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread.
 *
 * @param queue   filled in on success, untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a queue or @a name is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no such queue
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_queue_bind(RT_QUEUE *queue, const char *name, RTIME timeout);

/**
 * Clear a descriptor; the queue itself is not touched, nor what anybody holds.
 *
 * Never waits. Callers: any.
 *
 * @param queue descriptor, bound or filled in at creation
 * @retval 0       done
 * @retval -EINVAL @a queue is NULL
 */
int rt_queue_unbind(RT_QUEUE *queue);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_ALCHEMY_QUEUE_H */
