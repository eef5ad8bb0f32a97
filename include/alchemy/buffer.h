/*
 * <alchemy/buffer.h> - bounded streams of bytes.
 *
 * Reading and writing move whole blocks, but a buffer keeps no borders between
 * them: what was written in two pieces may be read in one, or in six.
 * For the conventions (results, ticks, time-outs, callers, names) see
 * <alchemy/timer.h>.
 */
#ifndef _ALCHEMY_BUFFER_H
#define _ALCHEMY_BUFFER_H

#include <alchemy/timer.h>

#if _ALCHEMY_FLAVOUR == 2
#include <native/buffer.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/* Creation modes. */
#define B_FIFO	0x0	/**< Waiters queue in order of arrival. */
#define B_PRIO	0x1	/**< Waiters queue by base priority, equals by arrival. */

/** Descriptor of a buffer. */
struct RT_BUFFER {
	uintptr_t handle;	/**< Opaque; 0 in an unbound descriptor. */
};

typedef struct RT_BUFFER RT_BUFFER;

/** What rt_buffer_inquire() tells. */
struct RT_BUFFER_INFO {
	int iwaiters;			/**< Number of waiting readers. */
	int owaiters;			/**< Number of waiting writers. */
	size_t totalmem;		/**< Size in bytes. */
	size_t availmem;		/**< Room left in bytes. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
};

typedef struct RT_BUFFER_INFO RT_BUFFER_INFO;

/**
 * Create a buffer, empty.
 *
 * Never waits. Callers: all but alarm handlers.
 *
 * @param bf    filled in on success, untouched on failure
 * @param name  name, or NULL or "" for a generated one ("buffer@1", ...)
 * @param bufsz number of bytes it can store, at least 1, taken exactly
 * @param mode  B_FIFO or B_PRIO, for readers and writers alike
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a bufsz is 0, unknown bit in @a mode, or @a bf is NULL
 * @retval -ENOMEM no memory left
 * @retval -EEXIST a buffer of that name exists
 */
int rt_buffer_create(RT_BUFFER *bf, const char *name, size_t bufsz, int mode);

/**
 * Delete a buffer, and what it stores.
 *
 * All waiters return -EIDRM, and are ready to run when this call returns; the
 * name is free again. Never waits. Callers: all but alarm handlers.
 *
 * @param bf buffer
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a bf is invalid
 */
int rt_buffer_delete(RT_BUFFER *bf);

/**
 * Take bytes out of a buffer, wait at most so many ticks.
 *
 * All or nothing: if fewer bytes than @a size are stored, the call waits for the
 * rest and takes none before. There is one exception: when a writer waits too and
 * something is stored, each would wait for the other, so the first reader takes
 * all there is and returns how much that was. A poll does not cause this.
 * A call that need not wait does not, even if others do. It may let writers go on.
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread, which queues with priority 0.
 *
 * @param bf      buffer
 * @param ptr     room for @a size bytes
 * @param size    number of bytes; if 0 nothing else is looked at
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @return number of bytes taken: @a size, or less in the case told above; or
 * @retval 0            @a size is 0
 * @retval -EINVAL      @a bf is invalid, @a size exceeds the size of the buffer,
 *                      or @a ptr is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and fewer than @a size bytes are stored
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   not enough bytes in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       buffer deleted while waiting
 */
ssize_t rt_buffer_read(RT_BUFFER *bf, void *ptr, size_t size,
		       RTIME timeout);

/**
 * Take bytes out of a buffer, wait until a date.
 *
 * As rt_buffer_read(), but for the time-out.
 *
 * @param bf   buffer
 * @param ptr  room for @a size bytes
 * @param size number of bytes; if 0 nothing else is looked at
 * @param date date in ticks, TM_INFINITE or TM_NONBLOCK
 * @return as rt_buffer_read(); or
 * @retval 0            @a size is 0
 * @retval -EINVAL      @a bf is invalid, @a size exceeds the size of the buffer,
 *                      or @a ptr is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and fewer than @a size bytes are stored
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   not enough bytes before @a date, or @a date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       buffer deleted while waiting
 */
ssize_t rt_buffer_read_until(RT_BUFFER *bf, void *ptr, size_t size,
			     RTIME date);

/**
 * Take bytes out of a buffer, wait until a date given as a timespec.
 *
 * As rt_buffer_read(), but for the time-out.
 *
 * @param bf          buffer
 * @param ptr         room for @a size bytes
 * @param size        number of bytes; if 0 nothing else is looked at
 * @param abs_timeout CLOCK_MONOTONIC date, NULL for no limit, {0,0} for a poll;
 *                    looked at only if there is need to wait
 * @return as rt_buffer_read(); or
 * @retval 0            @a size is 0
 * @retval -EINVAL      @a bf is invalid, @a size exceeds the size of the buffer,
 *                      or @a ptr is NULL
 * @retval -EWOULDBLOCK poll and fewer than @a size bytes are stored
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -EINVAL      tv_nsec is outside 0..999999999
 * @retval -ETIMEDOUT   not enough bytes before the date, or the date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       buffer deleted while waiting
 */
ssize_t rt_buffer_read_timed(RT_BUFFER *bf, void *ptr, size_t size,
			     const struct timespec *abs_timeout);

/**
 * Put bytes into a buffer, wait at most so many ticks.
 *
 * All or nothing: if there is no room for all @a size bytes, the call waits for it
 * and stores none before. When readers wait for more than is stored, the first of
 * them takes what there is: neither waits for the other.
 * A call that need not wait does not, even if others do. It may let readers go on.
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread, which queues with priority 0.
 *
 * @param bf      buffer
 * @param ptr     the bytes
 * @param size    number of bytes; if 0 nothing else is looked at
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @return @a size, or
 * @retval 0            @a size is 0
 * @retval -EINVAL      @a bf is invalid, @a size exceeds the size of the buffer,
 *                      or @a ptr is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no room for @a size bytes
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   no room in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       buffer deleted while waiting
 */
ssize_t rt_buffer_write(RT_BUFFER *bf, const void *ptr, size_t size,
		        RTIME timeout);

/**
 * Put bytes into a buffer, wait until a date.
 *
 * As rt_buffer_write(), but for the time-out.
 *
 * @param bf   buffer
 * @param ptr  the bytes
 * @param size number of bytes; if 0 nothing else is looked at
 * @param date date in ticks, TM_INFINITE or TM_NONBLOCK
 * @return as rt_buffer_write(); or
 * @retval 0            @a size is 0
 * @retval -EINVAL      @a bf is invalid, @a size exceeds the size of the buffer,
 *                      or @a ptr is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no room for @a size bytes
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   no room before @a date, or @a date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       buffer deleted while waiting
 */
ssize_t rt_buffer_write_until(RT_BUFFER *bf, const void *ptr, size_t size,
			      RTIME date);

/**
 * Put bytes into a buffer, wait until a date given as a timespec.
 *
 * As rt_buffer_write(), but for the time-out.
 *
 * @param bf          buffer
 * @param ptr         the bytes
 * @param size        number of bytes; if 0 nothing else is looked at
 * @param abs_timeout CLOCK_MONOTONIC date, NULL for no limit, {0,0} for a poll;
 *                    looked at only if there is need to wait
 * @return as rt_buffer_write(); or
 * @retval 0            @a size is 0
 * @retval -EINVAL      @a bf is invalid, @a size exceeds the size of the buffer,
 *                      or @a ptr is NULL
 * @retval -EWOULDBLOCK poll and no room for @a size bytes
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -EINVAL      tv_nsec is outside 0..999999999
 * @retval -ETIMEDOUT   no room before the date, or the date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       buffer deleted while waiting
 */
ssize_t rt_buffer_write_timed(RT_BUFFER *bf, const void *ptr, size_t size,
			      const struct timespec *abs_timeout);

/**
 * Forget all bytes stored.
 *
 * Waiting writers go on as far as there is room then. Never waits. Callers: any.
 *
 * @param bf buffer
 * @retval 0       done
 * @retval -EINVAL @a bf is invalid
 */
int rt_buffer_clear(RT_BUFFER *bf);

/**
 * Tell size, room left, numbers of waiters and name.
 *
 * All of one moment. Never waits. Callers: any.
 *
 * @param bf   buffer
 * @param info filled in
 * @retval 0       done
 * @retval -EINVAL @a bf is invalid or @a info is NULL
 */
int rt_buffer_inquire(RT_BUFFER *bf, RT_BUFFER_INFO *info);

/**
 * Get at a buffer by its name, wait for its creation if need be.
 *
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread.
 *
 * @param bf      filled in on success, untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a bf or @a name is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no such buffer
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_buffer_bind(RT_BUFFER *bf, const char *name, RTIME timeout);

/**
 * Clear a descriptor; the buffer itself is not touched.
 *
 * Never waits. Callers: any.
 *
 * @param bf descriptor, bound or filled in at creation
 * @retval 0       done
 * @retval -EINVAL @a bf is NULL
 */
int rt_buffer_unbind(RT_BUFFER *bf);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_ALCHEMY_BUFFER_H */
