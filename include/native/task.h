/*
 * <native/task.h> - tasks of the 2.x interface.
 *
 * For the conventions see <alchemy/timer.h>.
 */
#ifndef _NATIVE_TASK_H
#define _NATIVE_TASK_H

#include <native/types.h>

/** Largest message the old kernel copied through a buffer of its own. */
#ifndef RT_MCB_FSTORE_LIMIT
#define RT_MCB_FSTORE_LIMIT	64
#endif

#if _ALCHEMY_FLAVOUR == 3
#include <alchemy/task.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/* Priorities: 0 is time-shared (SCHED_OTHER), 1..99 are SCHED_FIFO. */
#define T_LOPRIO	0
#define T_HIPRIO	99

/* Bits for create, spawn and shadow; these ignore all others. */
#define T_SUSP		0x00000001	/**< Start suspended. Status: suspended. */
#define T_JOINABLE	0x00000400	/**< rt_task_join() will be called. */
#define T_FPU		0x00100000	/**< No effect, always on. */
#define T_CPU(cpu)	((int)(1U << (24 + ((cpu) & 7))))	/**< Run on CPU 0..7. */
#define T_CPUMASK	0xff000000	/**< All of T_CPU(). */
#define T_WARNSW	0x00040000	/**< No effect. */

/* Bits for rt_task_set_mode(); only T_LOCK and T_RRB act. */
#define T_CONFORMING	0x00000200	/**< Formerly T_PRIMARY. */
#define T_PRIMARY	0x00000200
#define T_LOCK		0x00004000	/**< Hold the scheduler lock. */
#define T_RRB		0x00008000	/**< Round-robin among equals. */
#define T_NOSIG		0x00010000
#define T_RPIOFF	0x00080000
#define T_SHIELD	0

/* Further bits in RT_TASK_INFO.status. */
#define T_BLOCKED	0x00000002	/**< Waits for a resource. */
#define T_DELAYED	0x00000004	/**< Sleeps; with T_BLOCKED: waits with a time-out. */
#define T_READY		0x00000008	/**< Ready to run. */
#define T_DORMANT	0x00000010	/**< Not started yet. */
#define T_STARTED	0x00000080	/**< rt_task_start() was called. */
#define T_BOOST		0x00001000	/**< Runs with an inherited priority. */

/** Descriptor of a task. */
__extension__ typedef struct RT_TASK {
	union {
		unsigned long opaque;	/**< Opaque; 0 in an unbound descriptor. */
		uintptr_t handle;	/**< The same by its 3.x name. */
	};
	union {
		unsigned long opaque2;	/**< The thread; 0 in a bound descriptor. */
		pthread_t thread;	/**< The same by its 3.x name. */
	};
} RT_TASK, RT_TASK_PLACEHOLDER;

/** What rt_task_inquire() tells. */
typedef struct RT_TASK_INFO {
	int bprio;			/**< Base priority, 0..99. */
	int cprio;			/**< Current priority: boosts and locks count. */
	unsigned int status;		/**< Set of T_ bits. */
	RTIME relpoint;			/**< Next periodic release in ticks, or 0. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
	RTIME exectime;			/**< CPU time used, nanoseconds. */
	int modeswitches;		/**< 0 on plain Linux. */
	int ctxswitches;		/**< Context switches. */
	int pagefaults;			/**< Page faults. */
} RT_TASK_INFO;

/** Message control block. */
typedef struct RT_TASK_MCB {
	int flowid;	/**< Not looked at: flow ids are results of calls. */
	int opcode;	/**< Free for the program, carried with the message. */
	char *data;	/**< Message, or room for one; not looked at if size is 0. */
	size_t size;	/**< Bytes at data. */
} RT_TASK_MCB;

/* Life of a task */

/**
 * Create a task, to be started by rt_task_start().
 *
 * With T_SUSP the task will not enter its routine before rt_task_resume().
 * T_CPU() bits that name no CPU of this machine are ignored. Otherwise as in
 * <alchemy/task.h>, privileges included. Waits only for the thread to set
 * itself up. Callers: all but alarm handlers.
 *
 * @param task    filled in on success, untouched on failure
 * @param name    name, or NULL or "" for a generated one
 * @param stksize least stack size in bytes; 0 for the default
 * @param prio    base priority, T_LOPRIO..T_HIPRIO
 * @param mode    any of T_SUSP, T_CPU(), T_JOINABLE; other bits are ignored,
 *                T_LOCK among them
 * @retval 0       done
 * @retval -EINVAL @a task is NULL
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a prio out of range, @a stksize negative or more than can
 *                 be had
 * @retval -ENOMEM no memory left
 * @retval -EEXIST a task of that name exists
 * @retval -EAGAIN too many threads
 * @retval -EPERM  strict mode and real-time scheduling refused
 */
int rt_task_create(RT_TASK *task, const char *name,
		   int stksize, int prio, int mode)
	__asm__("__native_rt_task_create");

/**
 * Start a task.
 *
 * A task of higher priority than the caller's is about to call @a entry, or
 * further, when this returns; one that is suspended is not waited for. No
 * cancellation point. Callers: any.
 *
 * @param task   task
 * @param entry  routine to run; the task ends when it returns
 * @param cookie passed to @a entry
 * @retval 0       started
 * @retval -EINVAL @a task is invalid, or @a entry is NULL
 * @retval -EBUSY  started before
 */
int rt_task_start(RT_TASK *task, void (*entry)(void *cookie), void *cookie)
	__asm__("__native_rt_task_start");

/**
 * Create and start a task: rt_task_create(), then rt_task_start().
 *
 * Callers: all but alarm handlers.
 *
 * @param task    filled in on success, untouched on failure
 * @param name    name, or NULL or "" for a generated one
 * @param stksize least stack size in bytes; 0 for the default
 * @param prio    base priority, T_LOPRIO..T_HIPRIO
 * @param mode    any of T_SUSP, T_CPU(), T_JOINABLE; other bits are ignored
 * @param entry   routine to run
 * @param cookie  passed to @a entry
 * @retval 0       done
 * @retval -EINVAL @a task or @a entry is NULL
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a prio out of range, @a stksize negative or more than can
 *                 be had
 * @retval -ENOMEM no memory left
 * @retval -EEXIST a task of that name exists
 * @retval -EAGAIN too many threads
 * @retval -EPERM  strict mode and real-time scheduling refused
 */
int rt_task_spawn(RT_TASK *task, const char *name,
		  int stksize, int prio, int mode,
		  void (*entry)(void *cookie), void *cookie)
	__asm__("__native_rt_task_spawn");

/**
 * Make the calling thread a task.
 *
 * T_CPU() moves it to the CPUs named; with T_SUSP it stops at once, until
 * rt_task_resume(). It cannot be joined by rt_task_join(). Waits only with
 * T_SUSP. Callers: initial thread, plain threads.
 *
 * @param task filled in on success; may be NULL
 * @param name name, or NULL or "" for a generated one
 * @param prio base priority, T_LOPRIO..T_HIPRIO
 * @param mode any of T_SUSP, T_CPU(); other bits are ignored
 * @retval 0       done
 * @retval -EPERM  called from an alarm handler
 * @retval -EBUSY  the caller is a task already
 * @retval -EINVAL @a prio out of range
 * @retval -EPERM  strict mode and real-time scheduling refused
 * @retval -ENOMEM no memory left
 * @retval -EEXIST a task of that name exists
 */
int rt_task_shadow(RT_TASK *task, const char *name, int prio, int mode)
	__asm__("__native_rt_task_shadow");

/**
 * Wait for a task to end.
 *
 * For tasks created with T_JOINABLE, once each, by the descriptor filled in at
 * creation or a copy of it; also after their deletion. Deleting the caller ends
 * the wait and leaves the task joinable; rt_task_unblock() has no effect on it.
 * Callers: all but alarm handlers.
 *
 * @param task task
 * @retval 0        the task has ended
 * @retval -EINVAL  @a task is NULL or was never a task
 * @retval -ESRCH   @a task comes from rt_task_bind()
 * @retval -EPERM   called from an alarm handler
 * @retval -EDEADLK the caller is that task
 * @retval -EINVAL  the task is not joinable, or somebody else waits for it
 * @retval -ESRCH   joined before, or ended without T_JOINABLE
 */
int rt_task_join(RT_TASK *task)
	__asm__("__native_rt_task_join");

/* Stopping, time, scheduling */

/**
 * Stop a task until rt_task_resume().
 *
 * As in <alchemy/task.h>, except that rt_task_unblock() ends a suspension that the
 * caller put on itself. That undoes this one call: if others suspended it too, it
 * goes on after their resumes. Waits only if the task is the caller.
 * Callers: any; with NULL, tasks.
 *
 * @param task task, or NULL for the caller
 * @retval 0       the task is suspended; for the caller: it was, and is resumed
 * @retval -EPERM  @a task is NULL and the caller is no task
 * @retval -EINVAL @a task is invalid or has ended
 * @retval -EINTR  the caller suspended itself, and rt_task_unblock() ended that
 */
int rt_task_suspend(RT_TASK *task)
	__asm__("__native_rt_task_suspend");

/**
 * Make a task periodic, for rt_task_wait_period().
 *
 * Releases come at @a idate, then every @a period, without drift. The caller waits
 * here for the one at @a idate, so that its first rt_task_wait_period() ends one
 * period later; another task waits for it in its first rt_task_wait_period(). With
 * TM_NOW nobody waits and the first release comes after one period; if the task
 * was periodic, at the end of the old period.
 * Waits only if the task is the caller and @a idate is not TM_NOW.
 * Callers: any; with NULL, tasks.
 *
 * @param task   task, or NULL for the caller
 * @param idate  date of the first release in ticks, or TM_NOW
 * @param period ticks; TM_INFINITE ends periodic timing, if any, without a wait
 * @retval 0          done
 * @retval -EPERM     @a task is NULL and the caller is no task
 * @retval -EINVAL    @a task is invalid or has ended
 * @retval -ETIMEDOUT @a idate is past; nothing is changed
 * @retval -EINTR     rt_task_unblock() ended the wait for @a idate; timing is on
 */
int rt_task_set_periodic(RT_TASK *task, RTIME idate, RTIME period)
	__asm__("__native_rt_task_set_periodic");

/**
 * Wait for the next release of the caller.
 *
 * Returns at once if that is past already. Signals and suspension do not end the
 * wait. If periodic timing ends meanwhile, the wait goes on until it is set again.
 * Callers: tasks.
 *
 * @param overruns_r written whatever the result: with -ETIMEDOUT the number of
 *                   releases missed since, else 0; may be NULL
 * @retval 0            the release is reached, never early
 * @retval -EPERM       called from a plain thread or an alarm handler
 * @retval -EWOULDBLOCK the caller is not periodic, or is the initial thread
 * @retval -ETIMEDOUT   further releases have passed; the next wait ends at the
 *                      first to come
 * @retval -EINTR       ended by rt_task_unblock(); missed releases are forgotten
 */
int rt_task_wait_period(unsigned long *overruns_r)
	__asm__("__native_rt_task_wait_period");

/**
 * Change the base priority of a task.
 *
 * As in <alchemy/task.h>, except for the result. Never waits.
 * Callers: any; with NULL, tasks.
 *
 * @param task task, or NULL for the caller
 * @param prio base priority, T_LOPRIO..T_HIPRIO
 * @return the base priority before, 0..99, or
 * @retval -EINVAL @a prio out of range
 * @retval -EPERM  @a task is NULL and the caller is no task
 * @retval -EINVAL @a task is invalid or has ended
 * @retval -EPERM  strict mode and real-time scheduling refused
 */
int rt_task_set_priority(RT_TASK *task, int prio)
	__asm__("__native_rt_task_set_priority");

/**
 * Change the mode of the caller.
 *
 * T_LOCK acts as in <alchemy/task.h>. T_RRB starts time slices of a default
 * length, or ends them as rt_task_slice() does; at priority 0 it is ignored.
 * T_NOSIG, T_WARNSW, T_RPIOFF and T_CONFORMING are remembered without effect; all
 * other bits are ignored. Never waits. Callers: tasks.
 *
 * @param clrmask bits to clear
 * @param setmask bits to set then
 * @param mode_r  bits in force or remembered before the call; may be NULL
 * @retval 0      done
 * @retval -EPERM the caller is no task
 * @retval -EPERM strict mode and real-time scheduling refused
 */
int rt_task_set_mode(int clrmask, int setmask, int *mode_r)
	__asm__("__native_rt_task_set_mode");

/* Information and names */

/**
 * Tell priorities, state, name and statistics.
 *
 * Never waits. Callers: any; with NULL, tasks.
 *
 * @param task task, or NULL for the caller
 * @param info filled in; NULL only asks whether the task exists
 * @retval 0       done
 * @retval -EPERM  @a task is NULL and the caller is no task
 * @retval -EINVAL @a task is invalid or has ended
 */
int rt_task_inquire(RT_TASK *task, RT_TASK_INFO *info)
	__asm__("__native_rt_task_inquire");

/**
 * Get at a task by its name, wait for its creation if need be.
 *
 * Callers: any; only tasks and the initial thread wait.
 *
 * @param task    filled in on success with opaque2 0, untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a task or @a name is NULL
 * @retval -EWOULDBLOCK no such task, and TM_NONBLOCK or a caller that may not
 *                      wait
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_task_bind(RT_TASK *task, const char *name, RTIME timeout)
	__asm__("__native_rt_task_bind");

/* The same functions as in <alchemy/task.h>, where they are explained. */

/** End a task and wait for that; NULL exits. Callers: all but alarm handlers. */
int rt_task_delete(RT_TASK *task);

/** Undo one rt_task_suspend(). Callers: any. */
int rt_task_resume(RT_TASK *task);

/** End the wait or self-suspension of a task, with -EINTR. Callers: any. */
int rt_task_unblock(RT_TASK *task);

/** Share the CPU among equals; 0 ends it. Callers: any; with NULL, tasks. */
int rt_task_slice(RT_TASK *task, RTIME quantum);

/** Clear a descriptor; the task itself is not touched. Callers: any. */
int rt_task_unbind(RT_TASK *task);

/** Send a message, wait for the reply at most so many ticks; gives its size. */
ssize_t rt_task_send(RT_TASK *task, RT_TASK_MCB *mcb_s,
		     RT_TASK_MCB *mcb_r, RTIME timeout);

/** Receive a message, wait for one at most so many ticks; gives its flow id. */
int rt_task_receive(RT_TASK_MCB *mcb_r, RTIME timeout);

/** Reply to a message, which ends the wait of its sender. Callers: tasks. */
int rt_task_reply(int flowid, RT_TASK_MCB *mcb_s);

/** Sleep for some ticks. Callers: tasks, the initial thread. */
int rt_task_sleep(RTIME delay);

/** Sleep until a date in ticks. Callers: tasks, the initial thread. */
int rt_task_sleep_until(RTIME date);

/** Let ready tasks of the same priority run. Callers: tasks, the initial thread. */
int rt_task_yield(void);

/** Compare two descriptors: 1 if they name the same task. Callers: any. */
int rt_task_same(RT_TASK *task1, RT_TASK *task2);

/** Find the caller's descriptor, NULL if it is no task. Callers: any. */
RT_TASK *rt_task_self(void);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

/* Names that 3.x has no more. */

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Send in-kernel signals to a task, of which none has a handler here.
 *
 * Never waits. Callers: any; with NULL, tasks.
 *
 * @param task    task, or NULL for the caller
 * @param signals set of signals
 * @retval -EPERM  @a task is NULL and the caller is no task
 * @retval -EINVAL @a task is invalid or has ended
 * @retval -ESRCH  otherwise: the task handles no such signals
 */
int rt_task_notify(RT_TASK *task, rt_sigset_t signals);

#ifdef __cplusplus
}
#endif

#endif /* !_NATIVE_TASK_H */
