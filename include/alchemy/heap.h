/*
 * <alchemy/heap.h> - memory heaps.
 *
 * A heap has a fixed amount of memory, and tasks may wait for some of it. Blocks
 * belong to nobody: any task may free them, and the end of a task frees none. A
 * heap made with H_SINGLE is one block that all callers share.
 *
 * For the conventions (results, ticks, time-outs, callers, names) see
 * <alchemy/timer.h>.
 */
#ifndef _ALCHEMY_HEAP_H
#define _ALCHEMY_HEAP_H

#include <alchemy/timer.h>

#if _ALCHEMY_FLAVOUR == 2
#include <native/heap.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/* Creation modes. */
#define H_FIFO		0x0	/**< Waiters queue in order of arrival. */
#define H_PRIO		0x1	/**< Waiters queue by base priority, equals by arrival. */
#define H_SINGLE	0x4	/**< One block, the same for all callers. */

/** Descriptor of a heap. */
struct RT_HEAP {
	uintptr_t handle;	/**< Opaque; 0 in an unbound descriptor. */
};

typedef struct RT_HEAP RT_HEAP;

/** What rt_heap_inquire() tells. */
struct RT_HEAP_INFO {
	int nwaiters;			/**< Number of waiters. */
	int mode;			/**< Creation mode. */
	size_t heapsize;		/**< Size asked for at creation, in bytes. */
	size_t usablemem;		/**< Bytes that blocks can have in all. */
	size_t usedmem;			/**< Bytes that blocks have now, rounding included. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
};

typedef struct RT_HEAP_INFO RT_HEAP_INFO;

/**
 * Create a heap, all of it free.
 *
 * A request for all of @a heapsize fits in; so do k requests for a k-th of it,
 * where that is a multiple of 512. The heap never grows. Never waits. Callers: all
 * but alarm handlers.
 *
 * @param heap     filled in on success, untouched on failure
 * @param name     name, or NULL or "" for a generated one ("heap@1", ...)
 * @param heapsize size in bytes, 1..2147483647
 * @param mode     H_FIFO or H_PRIO, possibly with H_SINGLE
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a heapsize out of range, unknown bit in @a mode, or @a heap is
 *                 NULL
 * @retval -ENOMEM no memory left for the heap or its memory
 * @retval -EEXIST a heap of that name exists
 */
int rt_heap_create(RT_HEAP *heap, const char *name, size_t heapsize, int mode);

/**
 * Delete a heap with all its memory.
 *
 * All waiters return -EIDRM, and are ready to run when this call returns; the
 * name is free again. Addresses of blocks must not be used any more. Never waits.
 * Callers: all but alarm handlers.
 *
 * @param heap heap
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a heap is invalid
 */
int rt_heap_delete(RT_HEAP *heap);

/**
 * Allocate a block, wait for the memory at most so many ticks.
 *
 * A block takes its size rounded up: to 16 bytes, then to the next power of two,
 * from 512 on to a multiple of 512. Its content is undefined, its address a
 * multiple of 16. Who asks for something that is there gets it, whatever the
 * time-out and whoever waits for more.
 *
 * With H_SINGLE the block is the whole heap, filled with zeroes at first. The
 * first call must ask for 0 bytes or for the size of the heap; later ones get the
 * same block, whatever they ask for. Nobody waits.
 *
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread, which queues with priority 0.
 *
 * @param heap    heap
 * @param size    bytes; without H_SINGLE a block of 0 bytes is never there
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @param blockp  address of the block on success; NULL after failures, but
 *                untouched after -EPERM, -EIDRM, and where @a heap is invalid
 * @retval 0            done
 * @retval -EINVAL      @a heap is invalid, @a blockp is NULL, or @a size is above
 *                      all that the heap can give; the first call with H_SINGLE
 *                      asked for less than all of it
 * @retval -EWOULDBLOCK TM_NONBLOCK and no such block
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   no such block in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       heap deleted while waiting, or before the caller could run
 *                      again
 */
int rt_heap_alloc(RT_HEAP *heap, size_t size, RTIME timeout, void **blockp);

/**
 * Allocate a block, wait for the memory until a date.
 *
 * As rt_heap_alloc(), but for the time-out.
 *
 * @param heap   heap
 * @param size   bytes; without H_SINGLE a block of 0 bytes is never there
 * @param date   date in ticks, TM_INFINITE or TM_NONBLOCK
 * @param blockp address of the block on success, else as for rt_heap_alloc()
 * @retval 0            done
 * @retval -EINVAL      as for rt_heap_alloc()
 * @retval -EWOULDBLOCK TM_NONBLOCK and no such block
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   no such block before @a date, or @a date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       heap deleted while waiting, or before the caller could run
 *                      again
 */
int rt_heap_alloc_until(RT_HEAP *heap, size_t size, RTIME date, void **blockp);

/**
 * Allocate a block, wait for the memory until a date given as a timespec.
 *
 * As rt_heap_alloc(), but for the time-out.
 *
 * @param heap        heap
 * @param size        bytes; without H_SINGLE a block of 0 bytes is never there
 * @param abs_timeout CLOCK_MONOTONIC date, NULL for no limit, {0,0} for a poll;
 *                    looked at only if there is no such block
 * @param blockp      address of the block on success, else as for rt_heap_alloc()
 * @retval 0            done
 * @retval -EINVAL      as for rt_heap_alloc()
 * @retval -EWOULDBLOCK poll and no such block
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -EINVAL      tv_nsec is outside 0..999999999
 * @retval -ETIMEDOUT   no such block before the date, or the date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       heap deleted while waiting, or before the caller could run
 *                      again
 */
int rt_heap_alloc_timed(RT_HEAP *heap, size_t size,
			const struct timespec *abs_timeout, void **blockp);

/**
 * Free a block.
 *
 * Then all waiters are gone through, in queue order: each whose request can be
 * met now gets its block, the others keep their places. With H_SINGLE this does
 * nothing. Never waits. Callers: any.
 *
 * @param heap  heap
 * @param block what rt_heap_alloc() gave; with H_SINGLE anything
 * @retval 0       done
 * @retval -EINVAL @a heap is invalid, or @a block is no block of this heap, or is
 *                 freed already
 */
int rt_heap_free(RT_HEAP *heap, void *block);

/**
 * Tell waiters, memory, what was asked for at creation, and name.
 *
 * All of one moment. Never waits. Callers: any.
 *
 * @param heap heap
 * @param info filled in
 * @retval 0       done
 * @retval -EINVAL @a heap is invalid or @a info is NULL
 */
int rt_heap_inquire(RT_HEAP *heap, RT_HEAP_INFO *info);

/**
 * Get at a heap by its name, wait for its creation if need be.
 *
 * Callers: any if there is no need to wait; otherwise tasks and the initial
 * thread.
 *
 * @param heap    filled in on success, untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a heap or @a name is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no such heap
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_heap_bind(RT_HEAP *heap, const char *name, RTIME timeout);

/**
 * Clear a descriptor; the heap itself is not touched, nor its blocks.
 *
 * Never waits. Callers: any.
 *
 * @param heap descriptor, bound or filled in at creation
 * @retval 0       done
 * @retval -EINVAL @a heap is NULL
 */
int rt_heap_unbind(RT_HEAP *heap);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_ALCHEMY_HEAP_H */
