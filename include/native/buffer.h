/*
 * <native/buffer.h> - bounded streams of bytes of the 2.x interface.
 *
 * For the conventions see <alchemy/timer.h>.
 */
#ifndef _NATIVE_BUFFER_H
#define _NATIVE_BUFFER_H

#include <native/types.h>

#if _ALCHEMY_FLAVOUR == 3
#include <alchemy/buffer.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/* Creation modes. */
#define B_FIFO	0x0	/**< Waiters queue in order of arrival. */
#define B_PRIO	0x1	/**< Waiters queue by base priority, equals by arrival. */

/** Descriptor of a buffer. */
__extension__ typedef struct RT_BUFFER {
	union {
		unsigned long opaque;	/**< Opaque; 0 in an unbound descriptor. */
		uintptr_t handle;	/**< The same by its 3.x name. */
	};
} RT_BUFFER, RT_BUFFER_PLACEHOLDER;

/** What rt_buffer_inquire() tells. */
typedef struct RT_BUFFER_INFO {
	int iwaiters;			/**< Number of waiting readers. */
	int owaiters;			/**< Number of waiting writers. */
	size_t totalmem;		/**< Size in bytes. */
	size_t availmem;		/**< Room left in bytes. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
} RT_BUFFER_INFO;

/**
 * Create a buffer, empty.
 *
 * Never waits. Callers: all but alarm handlers.
 *
 * @param bf    filled in on success, untouched on failure
 * @param name  name, or NULL or "" for a generated one
 * @param bufsz number of bytes it can store, at least 1, taken exactly
 * @param mode  B_FIFO or B_PRIO, for readers and writers alike; other bits are
 *              ignored
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a bufsz is 0, or @a bf is NULL
 * @retval -ENOMEM no memory left
 * @retval -EEXIST a buffer of that name exists
 */
int rt_buffer_create(RT_BUFFER *bf, const char *name, size_t bufsz, int mode)
	__asm__("__native_rt_buffer_create");

/**
 * Get at a buffer by its name, wait for its creation if need be.
 *
 * Callers: any; only tasks and the initial thread wait.
 *
 * @param bf      filled in on success, untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a bf or @a name is NULL
 * @retval -EWOULDBLOCK no such buffer, and TM_NONBLOCK or a caller that may not
 *                      wait
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_buffer_bind(RT_BUFFER *bf, const char *name, RTIME timeout)
	__asm__("__native_rt_buffer_bind");

/* The same functions as in <alchemy/buffer.h>, where they are explained. */

/** Delete a buffer; waiters return -EIDRM. Callers: all but alarm handlers. */
int rt_buffer_delete(RT_BUFFER *bf);

/** Take @a size bytes out, wait at most so many ticks. */
ssize_t rt_buffer_read(RT_BUFFER *bf, void *ptr, size_t size,
		       RTIME timeout);

/** Take @a size bytes out, wait until a date in ticks; TM_INFINITE is no limit. */
ssize_t rt_buffer_read_until(RT_BUFFER *bf, void *ptr, size_t size,
			     RTIME date);

/** Put @a size bytes in, wait at most so many ticks. */
ssize_t rt_buffer_write(RT_BUFFER *bf, const void *ptr, size_t size,
			RTIME timeout);

/** Put @a size bytes in, wait until a date in ticks; TM_INFINITE is no limit. */
ssize_t rt_buffer_write_until(RT_BUFFER *bf, const void *ptr, size_t size,
			      RTIME date);

/** Forget all bytes stored. Callers: any. */
int rt_buffer_clear(RT_BUFFER *bf);

/** Tell size, room left, numbers of waiters and name. Callers: any. */
int rt_buffer_inquire(RT_BUFFER *bf, RT_BUFFER_INFO *info);

/** Clear a descriptor; the buffer itself is not touched. Callers: any. */
int rt_buffer_unbind(RT_BUFFER *bf);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_NATIVE_BUFFER_H */
