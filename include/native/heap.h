/*
 * <native/heap.h> - memory heaps of the 2.x interface.
 *
 * For the conventions see <alchemy/timer.h>.
 */
#ifndef _NATIVE_HEAP_H
#define _NATIVE_HEAP_H

#include <native/types.h>

#if _ALCHEMY_FLAVOUR == 3
#include <alchemy/heap.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/* Creation modes. */
#define H_FIFO		0x0	/**< Waiters queue in order of arrival. */
#define H_PRIO		0x1	/**< Waiters queue by base priority, equals by arrival. */
#define H_SINGLE	0x400	/**< One block, the same for all callers. */
#define H_MAPPABLE	0x200	/**< No effect: every heap is in reach of user space. */
#define H_SHARED	(H_MAPPABLE | H_SINGLE)	/**< One block, shared. */
#define H_DMA		0x100	/**< No effect. */
#define H_NONCACHED	0x800	/**< No effect. */
#define H_DMA32		0x1000	/**< No effect. */

/** Descriptor of a heap. */
__extension__ typedef struct RT_HEAP {
	union {
		unsigned long opaque;	/**< Opaque; 0 in an unbound descriptor. */
		uintptr_t handle;	/**< The same by its 3.x name. */
	};
	void *opaque2;			/**< Not used, 0. */
	void *mapbase;			/**< Not used, 0. */
	size_t mapsize;			/**< Not used, 0. */
	unsigned long area;		/**< Not used, 0. */
} RT_HEAP, RT_HEAP_PLACEHOLDER;

/** What rt_heap_inquire() tells. */
typedef struct RT_HEAP_INFO {
	int nwaiters;			/**< Number of waiters. */
	int mode;			/**< Creation mode: H_PRIO, H_SINGLE. */
	size_t heapsize;		/**< Size asked for at creation, in bytes. */
	size_t usablemem;		/**< Bytes that blocks can have in all. */
	size_t usedmem;			/**< Bytes that blocks have now, rounding included. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
	unsigned long phys_addr;	/**< Not known, 0. */
} RT_HEAP_INFO;

/**
 * Create a heap, all of it free.
 *
 * Never waits. Callers: all but alarm handlers.
 *
 * @param heap     filled in on success, untouched on failure
 * @param name     name, or NULL or "" for a generated one
 * @param heapsize size in bytes, 1..2147483647
 * @param mode     H_FIFO or H_PRIO, possibly with H_SINGLE, which H_SHARED
 *                 includes; other bits are ignored
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a heapsize out of range, or @a heap is NULL
 * @retval -ENOMEM no memory left for the heap or its memory
 * @retval -EEXIST a heap of that name exists
 */
int rt_heap_create(RT_HEAP *heap, const char *name, size_t heapsize, int mode)
	__asm__("__native_rt_heap_create");

/**
 * Delete a heap with all its memory, and clear the descriptor.
 *
 * All waiters return -EIDRM, and are ready to run when this call returns; the
 * name is free again. Addresses of blocks must not be used any more. Never waits.
 * Callers: all but alarm handlers.
 *
 * @param heap heap; cleared on success
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a heap is invalid
 */
int rt_heap_delete(RT_HEAP *heap)
	__asm__("__native_rt_heap_delete");

/**
 * Allocate a block, wait for the memory at most so many ticks.
 *
 * With H_SINGLE the block is the whole heap, filled with zeroes at first, its
 * address that of a page; all calls get the same one, and nobody waits. Otherwise
 * as in <alchemy/heap.h>. Callers: any if there is no need to wait; otherwise
 * tasks and the initial thread.
 *
 * @param heap    heap
 * @param size    bytes; with H_SINGLE 0 or the size of the heap, without it a block
 *                of 0 bytes is never there
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @param blockp  address of the block on success; NULL after failures, but
 *                untouched after -EPERM, -EIDRM, and where @a heap is invalid
 * @retval 0            done
 * @retval -EINVAL      @a heap is invalid, @a blockp is NULL, @a size is above all
 *                      that the heap can give, or, with H_SINGLE, neither 0 nor the
 *                      size of the heap
 * @retval -EWOULDBLOCK TM_NONBLOCK and no such block
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   no such block in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       heap deleted while waiting, or before the caller could run
 *                      again
 */
int rt_heap_alloc(RT_HEAP *heap, size_t size, RTIME timeout, void **blockp)
	__asm__("__native_rt_heap_alloc");

/**
 * Free a block.
 *
 * Then all waiters are gone through, in queue order: each whose request can be
 * met now gets its block, the others keep their places. With H_SINGLE this does
 * nothing. Never waits. Callers: any.
 *
 * @param heap  heap
 * @param block what rt_heap_alloc() gave; with H_SINGLE anything but NULL
 * @retval 0       done
 * @retval -EINVAL @a block is NULL, @a heap is invalid, or @a block is no block of
 *                 this heap, or is freed already
 */
int rt_heap_free(RT_HEAP *heap, void *block)
	__asm__("__native_rt_heap_free");

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
int rt_heap_inquire(RT_HEAP *heap, RT_HEAP_INFO *info)
	__asm__("__native_rt_heap_inquire");

/**
 * Get at a heap by its name, wait for its creation if need be.
 *
 * Callers: any; only tasks and the initial thread wait.
 *
 * @param heap    filled in on success, untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a heap or @a name is NULL
 * @retval -EWOULDBLOCK no such heap, and TM_NONBLOCK or a caller that may not
 *                      wait
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_heap_bind(RT_HEAP *heap, const char *name, RTIME timeout)
	__asm__("__native_rt_heap_bind");

/* The same function as in <alchemy/heap.h>, where it is explained. */

/** Clear a descriptor; the heap itself is not touched. Callers: any. */
int rt_heap_unbind(RT_HEAP *heap);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_NATIVE_HEAP_H */
