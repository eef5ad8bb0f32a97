/*
 * <alchemy/task.h> - tasks.
 *
 * For the conventions (results, ticks, time-outs, callers, names) see
 * <alchemy/timer.h>.
 */
#ifndef _ALCHEMY_TASK_H
#define _ALCHEMY_TASK_H

#include <alchemy/timer.h>

#if _ALCHEMY_FLAVOUR == 2
#include <native/task.h>
#else

#ifdef __cplusplus
extern "C" {
#endif

/* Priorities: 0 is time-shared (SCHED_OTHER), 1..99 are SCHED_FIFO. */
#define T_LOPRIO	0
#define T_HIPRIO	99

/* Mode bits. */
#define T_LOCK		0x1	/**< Hold the scheduler lock. */
#define T_WARNSW	0x2	/**< Accepted, no effect. */
#define T_CONFORMING	0x4	/**< Accepted by rt_task_set_mode(), no effect. */
#define T_JOINABLE	0x10000	/**< rt_task_join() will be called. */

/* Mode bits set aside for compatibility layers. */
#define __THREAD_M_SPARE0	(1 << 16)
#define __THREAD_M_SPARE1	(1 << 17)
#define __THREAD_M_SPARE2	(1 << 18)
#define __THREAD_M_SPARE3	(1 << 19)
#define __THREAD_M_SPARE4	(1 << 20)
#define __THREAD_M_SPARE5	(1 << 21)
#define __THREAD_M_SPARE6	(1 << 22)
#define __THREAD_M_SPARE7	(1 << 23)

/* RT_TASK_INFO.stat.status: any of the state bits ... */
#define __THREAD_S_STARTED	(1 << 0)	/**< rt_task_start() was called. */
#define __THREAD_S_WARMUP	(1 << 1)	/**< Being set up; never reported. */
#define __THREAD_S_ABORTED	(1 << 2)	/**< Deleted before it was started. */
#define __THREAD_S_LOCKED	(1 << 3)	/**< Never reported. */
#define __THREAD_S_ACTIVE	(1 << 4)	/**< In its entry routine. */
#define __THREAD_S_SUSPENDED	(1 << 5)	/**< Held by rt_task_suspend(). */
#define __THREAD_S_SAFE		(1 << 6)	/**< Never reported. */
#define __THREAD_S_PERIODIC	(1 << 7)	/**< Periodic timing is on. */
#define __THREAD_S_DEBUG	0x80000000	/**< Never reported. */
/* ... and one run state. */
#define __THREAD_S_RUNNING	0		/**< Running or ready to run. */
#define __THREAD_S_DORMANT	(1 << 16)	/**< Not started yet. */
#define __THREAD_S_WAIT		(1 << 17)	/**< Waits without limit. */
#define __THREAD_S_TIMEDWAIT	(1 << 18)	/**< Waits with a time-out. */
#define __THREAD_S_DELAYED	(1 << 19)	/**< Sleeps or waits for its period. */
#define __THREAD_S_BREAK	(__THREAD_S_DELAYED | (1 << 20)) /**< Sleep being ended. */

/** Descriptor of a task. */
struct RT_TASK {
	uintptr_t handle;	/**< Opaque; 0 in an unbound descriptor. */
	pthread_t thread;	/**< The thread that runs the task. */
};

typedef struct RT_TASK RT_TASK;

/** Descriptor of no task. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define NO_ALCHEMY_TASK		(RT_TASK{ 0, 0 })
#else
#define NO_ALCHEMY_TASK		(__extension__ (RT_TASK){ 0, 0 })
#endif

/** Run-time state of a task. */
struct threadobj_stat {
	ticks_t timeout;	/**< Nanoseconds left of a timed wait or sleep, else 0. */
	int cpu;		/**< CPU it ran on last. */
	int schedlock;		/**< 1 while it holds the scheduler lock, else 0. */
	unsigned int status;	/**< Set of __THREAD_S_* bits. */
};

/** What rt_task_inquire() tells. */
struct RT_TASK_INFO {
	int prio;			/**< Base priority, 0..99. */
	struct threadobj_stat stat;	/**< Run-time state. */
	char name[XNOBJECT_NAME_LEN];	/**< Name, NUL-terminated. */
	pid_t pid;			/**< Thread id as gettid() gives it. */
};

typedef struct RT_TASK_INFO RT_TASK_INFO;

/** Message control block. */
struct RT_TASK_MCB {
	int flowid;	/**< Not looked at: flow ids are results of calls. */
	int opcode;	/**< Free for the program, carried with the message. */
	void *data;	/**< Message, or room for one; not looked at if size is 0. */
	ssize_t size;	/**< Bytes at data. */
};

typedef struct RT_TASK_MCB RT_TASK_MCB;

/* Life of a task */

/**
 * Create a task, to be started by rt_task_start().
 *
 * On return its thread exists, has its name, id and scheduling class, and holds
 * at a barrier. It inherits signal mask and CPU affinity of the caller. Without
 * the right to real-time scheduling the priority still orders all queues and a
 * warning is printed, unless ALCHEMY_SCHED=strict is in the environment.
 * Waits only for the thread to set itself up. Callers: all but alarm handlers.
 *
 * @param task    filled in on success, untouched on failure
 * @param name    name, or NULL or "" for a generated one ("task@1", ...)
 * @param stksize least stack size in bytes; 0 for the default
 * @param prio    base priority, T_LOPRIO..T_HIPRIO
 * @param mode    any of T_LOCK, T_WARNSW, T_JOINABLE
 * @retval 0       done
 * @retval -EINVAL @a task is NULL, or unknown bit in @a mode
 * @retval -EPERM  called from an alarm handler
 * @retval -EINVAL @a prio out of range, @a stksize negative or more than can
 *                 be had
 * @retval -ENOMEM no memory left
 * @retval -EEXIST a task of that name exists
 * @retval -EAGAIN too many threads
 * @retval -EPERM  strict mode and real-time scheduling refused
 */
int rt_task_create(RT_TASK *task, const char *name,
		   int stksize, int prio, int mode);

/**
 * Start a task.
 *
 * A task of higher priority than the caller's is about to call @a entry, or
 * further, when this returns; one that is suspended is not waited for. Starting
 * a task twice has no effect. No cancellation point. Callers: any.
 *
 * @param task  task
 * @param entry routine to run; the task ends when it returns
 * @param arg   passed to @a entry
 * @retval 0       started, now or before
 * @retval -EINVAL @a task is invalid, or @a entry is NULL
 */
int rt_task_start(RT_TASK *task, void (*entry)(void *arg), void *arg);

/**
 * Create and start a task: rt_task_create(), then rt_task_start().
 *
 * @a task is filled in before the new task can run; if it cannot be started
 * nothing is left behind. Callers: all but alarm handlers.
 *
 * @param task    filled in on success, untouched on failure
 * @param name    name, or NULL or "" for a generated one
 * @param stksize least stack size in bytes; 0 for the default
 * @param prio    base priority, T_LOPRIO..T_HIPRIO
 * @param mode    any of T_LOCK, T_WARNSW, T_JOINABLE
 * @param entry   routine to run
 * @param arg     passed to @a entry
 * @retval 0       done
 * @retval -EINVAL @a task or @a entry is NULL, or unknown bit in @a mode
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
		  void (*entry)(void *arg), void *arg);

/**
 * Make the calling thread a task.
 *
 * It gets the name and the scheduling class that belongs to @a prio, and stays
 * a task until it ends. It cannot be joined by rt_task_join(). A failed call
 * changes nothing. Never waits. Callers: initial thread, plain threads.
 *
 * @param task filled in on success; may be NULL
 * @param name name, or NULL or "" for a generated one
 * @param prio base priority, T_LOPRIO..T_HIPRIO
 * @param mode any of T_LOCK, T_WARNSW
 * @retval 0       done
 * @retval -EINVAL unknown bit in @a mode
 * @retval -EPERM  called from an alarm handler
 * @retval -EBUSY  the caller is a task already
 * @retval -EINVAL @a prio out of range
 * @retval -EPERM  strict mode and real-time scheduling refused
 * @retval -ENOMEM no memory left
 * @retval -EEXIST a task of that name exists
 */
int rt_task_shadow(RT_TASK *task, const char *name, int prio, int mode);

/**
 * End a task.
 *
 * On return its cleanup handlers and thread-specific destructors have run, its
 * name is free, and the mutexes it owned are left to their waiters. It is ended
 * whatever it does: wait, stay suspended or unstarted, hold the scheduler lock,
 * or compute without a call. In the last case, if C++ destructors are in the way,
 * it is stopped for good after 100 ms instead, and a warning is printed. A task
 * that disabled cancellation ends when it enables it, a task written in Rust when
 * its next wait tells it to. A T_JOINABLE task has still to be joined.
 * Does not return if the task is the caller. Otherwise waits for the task to end,
 * lending it the caller's priority; rt_task_unblock() has no effect on this wait.
 * Callers: all but alarm handlers; with NULL, tasks.
 *
 * @param task task, or NULL for the caller
 * @retval 0       the task has ended
 * @retval -EPERM  called from an alarm handler, or @a task is NULL and the caller
 *                 is no task
 * @retval -EINVAL @a task is invalid, has ended or is being deleted
 */
int rt_task_delete(RT_TASK *task);

/**
 * Wait for a task to end.
 *
 * For tasks created with T_JOINABLE, once each, also after their deletion; by
 * any descriptor, bound ones included. Deleting the caller ends the wait and
 * leaves the task joinable; rt_task_unblock() has no effect on it. Callers: all but
 * alarm handlers.
 *
 * @param task task
 * @retval 0        the task has ended
 * @retval -EINVAL  @a task is NULL or was never a task
 * @retval -EPERM   called from an alarm handler
 * @retval -EDEADLK the caller is that task
 * @retval -EINVAL  the task is not joinable, or somebody else waits for it
 * @retval -ESRCH   joined before, or ended without T_JOINABLE
 */
int rt_task_join(RT_TASK *task);

/* Stopping and waking */

/**
 * Stop a task until rt_task_resume().
 *
 * Calls nest: it takes as many resumes. On return another task executes no more
 * code of its own; a service of this library it is in is not left half done. A
 * task that waits keeps its place and its time-out, and returns after the resume;
 * one that waits for a mutex leaves the queue and tries anew after the resume.
 * A task not yet started stops at its start. Mutexes and the scheduler lock are
 * kept. Signals and rt_task_unblock() do not end this; signal handlers of the
 * program run after the resume.
 * Waits only if the task is the caller. Callers: any; with NULL, tasks.
 *
 * @param task task, or NULL for the caller
 * @retval 0       the task is suspended; for the caller: it was, and is resumed
 * @retval -EPERM  @a task is NULL and the caller is no task
 * @retval -EINVAL @a task is invalid or has ended
 */
int rt_task_suspend(RT_TASK *task);

/**
 * Undo one rt_task_suspend().
 *
 * The task goes on when all are undone; with a higher priority, on the caller's
 * CPU, it runs before this returns. Resuming a task that is not suspended has no
 * effect and is not remembered. Never waits. Callers: any.
 *
 * @param task task
 * @retval 0       done
 * @retval -EINVAL @a task is invalid or has ended
 */
int rt_task_resume(RT_TASK *task);

/**
 * End the wait a task is in.
 *
 * Its call returns -EINTR: a sleep, a wait for a period, a wait for any object,
 * its name or a message. If it is suspended too, it returns after the resume.
 * What was granted to it already stays granted. Nobody else is affected. Has no
 * effect, and is not remembered, if the task does not wait; rt_task_suspend(), a
 * start not yet given, rt_task_join() and rt_task_delete() are no such waits.
 * Never waits. Callers: any.
 *
 * @param task task
 * @retval 0       done
 * @retval -EINVAL @a task is invalid or has ended
 */
int rt_task_unblock(RT_TASK *task);

/* Time */

/**
 * Sleep for a delay.
 *
 * Signals and suspension do not lengthen or end the sleep. Callers: tasks, the
 * initial thread.
 *
 * @param delay ticks; 0 returns at once
 * @retval 0      the time is over, never early
 * @retval -EPERM the caller may not wait, whatever the delay
 * @retval -EINTR ended by rt_task_unblock()
 */
int rt_task_sleep(RTIME delay);

/**
 * Sleep until a date.
 *
 * Callers: tasks, the initial thread.
 *
 * @param date ticks; TM_INFINITE sleeps until unblocked
 * @retval 0          the date is reached, never early
 * @retval -EPERM     the caller may not wait, whatever the date
 * @retval -ETIMEDOUT the date is not in the future
 * @retval -EINTR     ended by rt_task_unblock()
 */
int rt_task_sleep_until(RTIME date);

/**
 * Make a task periodic, for rt_task_wait_period().
 *
 * Releases come at @a idate, then every @a period, without drift. With TM_NOW the
 * first comes after one period; if the task was periodic, at the end of the old
 * period. Releases of the old setting not yet waited for are forgotten. Also
 * before the task is started. Never waits. Callers: any; with NULL, tasks.
 *
 * @param task   task, or NULL for the caller
 * @param idate  date of the first release in ticks, or TM_NOW
 * @param period ticks; TM_INFINITE ends periodic timing, if any
 * @retval 0          done
 * @retval -EPERM     @a task is NULL and the caller is no task
 * @retval -EINVAL    @a task is invalid or has ended
 * @retval -ETIMEDOUT @a idate is past; nothing is changed
 */
int rt_task_set_periodic(RT_TASK *task, RTIME idate, RTIME period);

/**
 * Wait for the next release of the caller.
 *
 * Returns at once if that is past already. Signals and suspension do not end the
 * wait. If periodic timing ends meanwhile, the wait goes on until it is set again.
 * Callers: tasks.
 *
 * @param overruns_r number of further releases missed: 0 if the result is 0, more
 *                   if it is -ETIMEDOUT, otherwise untouched; may be NULL
 * @retval 0            the release is reached, never early
 * @retval -EPERM       called from a plain thread or an alarm handler
 * @retval -EWOULDBLOCK the caller is not periodic, or is the initial thread
 * @retval -ETIMEDOUT   further releases have passed; the next wait ends at the
 *                      first to come
 * @retval -EINTR       ended by rt_task_unblock(); missed releases are forgotten
 */
int rt_task_wait_period(unsigned long *overruns_r);

/* Scheduling */

/**
 * Let ready tasks of the same priority run first.
 *
 * Never waits. Callers: tasks, the initial thread.
 *
 * @retval 0      done
 * @retval -EPERM called from a plain thread or an alarm handler
 */
int rt_task_yield(void);

/**
 * Change the base priority of a task.
 *
 * In force on return: a task raised above the caller on the same CPU has run, and
 * a waiting task has moved behind those of its new priority. Setting the priority
 * it has makes the caller let its equals run, and does nothing to another task.
 * A holder of the scheduler lock changes when it releases the lock. Priority lent
 * by a mutex is kept; time slices end at priority 0 only. Privileges are those of
 * rt_task_create(). Never waits. Callers: any; with NULL, tasks.
 *
 * @param task task, or NULL for the caller
 * @param prio base priority, T_LOPRIO..T_HIPRIO
 * @retval 0       done
 * @retval -EINVAL @a prio out of range
 * @retval -EPERM  @a task is NULL and the caller is no task
 * @retval -EINVAL @a task is invalid or has ended
 * @retval -EPERM  strict mode and real-time scheduling refused
 */
int rt_task_set_priority(RT_TASK *task, int prio);

/**
 * Change the mode of the caller.
 *
 * With T_LOCK, no task of priority 97 or less takes the CPU from it; other CPUs go
 * on. It may wait: others run, and the lock is back when it goes on. The lock does
 * not nest: clearing T_LOCK once releases it. Never waits.
 * Callers: tasks; in alarm handlers T_LOCK is ignored.
 *
 * @param clrmask bits to clear, any of T_LOCK, T_WARNSW, T_CONFORMING
 * @param setmask bits to set then, any of the same
 * @param mode_r  mode before the call, T_LOCK or 0; may be NULL
 * @retval 0       done; in an alarm handler nothing is, and @a mode_r is untouched
 * @retval -EPERM  called from an alarm handler with a bit other than T_LOCK
 * @retval -EINVAL unknown bit in @a clrmask or @a setmask
 * @retval -EPERM  the caller is no task
 * @retval -EPERM  strict mode and real-time scheduling refused
 */
int rt_task_set_mode(int clrmask, int setmask, int *mode_r);

/**
 * Share the CPU among tasks of the same priority.
 *
 * Each time the task has used so much CPU time, its equals run first. Every call
 * gives it a full slice. Also before the task is started. Never waits.
 * Callers: any; with NULL, tasks.
 *
 * @param task    task, or NULL for the caller
 * @param quantum ticks of CPU time; 0 ends slicing, if any
 * @retval 0       done
 * @retval -EPERM  @a task is NULL and the caller is no task
 * @retval -EINVAL @a task is invalid or has ended, it holds the scheduler lock, or
 *                 @a quantum is above 0 and its base priority is 0
 */
int rt_task_slice(RT_TASK *task, RTIME quantum);

/* cpu_set_t: always there with glibc; other C libraries want _GNU_SOURCE. */
#if defined(__GLIBC__) || defined(CPU_SETSIZE)
/**
 * Choose the CPUs a task may run on.
 *
 * Takes effect at once, also before the task is started. Never waits.
 * Callers: any; with NULL, tasks.
 *
 * @param task task, or NULL for the caller
 * @param cpus CPUs
 * @retval 0       done
 * @retval -EPERM  @a task is NULL and the caller is no task
 * @retval -EINVAL @a task is invalid, @a cpus is NULL or holds no usable CPU
 */
int rt_task_set_affinity(RT_TASK *task, const cpu_set_t *cpus);
#endif

/* Messages between tasks */

/**
 * Send a message to a task and wait for its reply, at most so many ticks.
 *
 * Senders queue by base priority, equals by arrival; a task not started or
 * suspended gets its messages later. The message is copied when it is received,
 * the reply when it is given: until this returns, neither block nor data may
 * change. A caller that leaves early takes its message back, received or not.
 * A poll only asks whether @a task waits in rt_task_receive(); if so, the wait for
 * the reply has no limit. Nobody inherits a priority.
 * Callers: tasks, the initial thread, which queues with priority 0.
 *
 * @param task    receiver
 * @param mcb_s   message: opcode, data and size
 * @param mcb_r   data and size: room for the reply; its opcode is stored here, and
 *                its size; NULL if none but an empty reply is expected
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @return size of the reply, 0 or above; or
 * @retval -EPERM       called from a plain thread or an alarm handler
 * @retval -EINVAL      @a task is invalid or has ended, @a mcb_s is NULL, or a size
 *                      is negative
 * @retval -EWOULDBLOCK TM_NONBLOCK and @a task does not wait in rt_task_receive()
 * @retval -ETIMEDOUT   no reply in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       @a task has ended
 * @retval -ENOBUFS     the reply is longer than the room in @a mcb_r, or not empty
 *                      and @a mcb_r is NULL; only its opcode is stored
 */
ssize_t rt_task_send(RT_TASK *task, RT_TASK_MCB *mcb_s,
		     RT_TASK_MCB *mcb_r, RTIME timeout);

/**
 * Send a message to a task and wait for its reply until a date.
 *
 * As rt_task_send(), but for the time-out.
 *
 * @param task  receiver
 * @param mcb_s message: opcode, data and size
 * @param mcb_r room for the reply, or NULL
 * @param date  date in ticks, TM_INFINITE or TM_NONBLOCK
 * @return size of the reply, 0 or above; or
 * @retval -EPERM       called from a plain thread or an alarm handler
 * @retval -EINVAL      @a task is invalid or has ended, @a mcb_s is NULL, or a size
 *                      is negative
 * @retval -EWOULDBLOCK TM_NONBLOCK and @a task does not wait in rt_task_receive()
 * @retval -ETIMEDOUT   no reply before @a date, or @a date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       @a task has ended
 * @retval -ENOBUFS     the reply is longer than the room in @a mcb_r, or not empty
 *                      and @a mcb_r is NULL; only its opcode is stored
 */
ssize_t rt_task_send_until(RT_TASK *task, RT_TASK_MCB *mcb_s,
			   RT_TASK_MCB *mcb_r, RTIME date);

/**
 * Send a message to a task and wait for its reply until a date given as a timespec.
 *
 * As rt_task_send(), but for the time-out.
 *
 * @param task        receiver
 * @param mcb_s       message: opcode, data and size
 * @param mcb_r       room for the reply, or NULL
 * @param abs_timeout CLOCK_MONOTONIC date, NULL for no limit, {0,0} for a poll
 * @return size of the reply, 0 or above; or
 * @retval -EPERM       called from a plain thread or an alarm handler
 * @retval -EINVAL      @a task is invalid or has ended, @a mcb_s is NULL, or a size
 *                      is negative
 * @retval -EWOULDBLOCK poll and @a task does not wait in rt_task_receive()
 * @retval -EINVAL      tv_nsec is outside 0..999999999
 * @retval -ETIMEDOUT   no reply before the date, or the date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -EIDRM       @a task has ended
 * @retval -ENOBUFS     the reply is longer than the room in @a mcb_r, or not empty
 *                      and @a mcb_r is NULL; only its opcode is stored
 */
ssize_t rt_task_send_timed(RT_TASK *task, RT_TASK_MCB *mcb_s,
			   RT_TASK_MCB *mcb_r,
			   const struct timespec *abs_timeout);

/**
 * Receive a message, wait for one at most so many ticks.
 *
 * Takes the message of the sender of highest priority, which goes on waiting for
 * rt_task_reply(). The message stays first in the queue until then: receiving
 * again gives the same message and flow, unless a sender of higher priority has
 * come. Flows may be answered in any order.
 * Callers: tasks.
 *
 * @param mcb_r   data and size: room for the message; opcode and size of the
 *                message are stored here
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @return flow id for rt_task_reply(), above 0; or
 * @retval -EPERM       the caller is no task
 * @retval -EINVAL      @a mcb_r is NULL or its size is negative
 * @retval -EWOULDBLOCK TM_NONBLOCK and no message
 * @retval -ETIMEDOUT   no message in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -ENOBUFS     the message is longer than the room; the size it takes is
 *                      stored in @a mcb_r, nothing else, and it stays in the queue
 */
int rt_task_receive(RT_TASK_MCB *mcb_r, RTIME timeout);

/**
 * Receive a message, wait for one until a date.
 *
 * As rt_task_receive(), but for the time-out.
 *
 * @param mcb_r room for the message
 * @param date  date in ticks, TM_INFINITE or TM_NONBLOCK
 * @return flow id for rt_task_reply(), above 0; or
 * @retval -EPERM       the caller is no task
 * @retval -EINVAL      @a mcb_r is NULL or its size is negative
 * @retval -EWOULDBLOCK TM_NONBLOCK and no message
 * @retval -ETIMEDOUT   no message before @a date, or @a date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -ENOBUFS     the message is longer than the room; the size it takes is
 *                      stored in @a mcb_r, nothing else, and it stays in the queue
 */
int rt_task_receive_until(RT_TASK_MCB *mcb_r, RTIME date);

/**
 * Receive a message, wait for one until a date given as a timespec.
 *
 * As rt_task_receive(), but for the time-out.
 *
 * @param mcb_r       room for the message
 * @param abs_timeout CLOCK_MONOTONIC date, NULL for no limit, {0,0} for a poll;
 *                    looked at only if there is no message
 * @return flow id for rt_task_reply(), above 0; or
 * @retval -EPERM       the caller is no task
 * @retval -EINVAL      @a mcb_r is NULL or its size is negative
 * @retval -EWOULDBLOCK poll and no message
 * @retval -EINVAL      tv_nsec is outside 0..999999999
 * @retval -ETIMEDOUT   no message before the date, or the date is past
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 * @retval -ENOBUFS     the message is longer than the room; the size it takes is
 *                      stored in @a mcb_r, nothing else, and it stays in the queue
 */
int rt_task_receive_timed(RT_TASK_MCB *mcb_r,
			  const struct timespec *abs_timeout);

/**
 * Reply to a message, which ends the wait of its sender.
 *
 * Never waits. Callers: tasks.
 *
 * @param flowid what rt_task_receive() returned to the caller
 * @param mcb_s  reply: opcode, data and size; NULL for an empty one, opcode 0
 * @retval 0        done
 * @retval -EPERM   the caller is no task
 * @retval -EINVAL  @a flowid is not above 0, or the size is negative
 * @retval -ENXIO   no such flow of the caller: not received, answered already, or
 *                  its sender has left
 * @retval -ENOBUFS the reply is longer than the sender has room for; the sender
 *                  gets the same error, and the flow is over
 */
int rt_task_reply(int flowid, RT_TASK_MCB *mcb_s);

/* Information */

/**
 * Tell priority, state, name and thread id.
 *
 * All of one moment. Never waits. Callers: any; with NULL, tasks.
 *
 * @param task task, or NULL for the caller
 * @param info filled in; NULL only asks whether the task exists
 * @retval 0       done
 * @retval -EPERM  @a task is NULL and the caller is no task
 * @retval -EINVAL @a task is invalid or has ended
 */
int rt_task_inquire(RT_TASK *task, RT_TASK_INFO *info);

/**
 * Compare two descriptors.
 *
 * Looks at the descriptors only: the task may be gone. Never waits.
 * Callers: any.
 *
 * @param task1 descriptor
 * @param task2 descriptor
 * @return 1 if both name the same task (or both are zeroed), otherwise 0;
 *         0 if either is NULL
 */
int rt_task_same(RT_TASK *task1, RT_TASK *task2);

/**
 * Find the task that is running this code.
 *
 * Never waits. Callers: any.
 *
 * @return the caller's descriptor, at the same address as long as the task
 *         lives and not to be written to; NULL if the caller is no task
 */
RT_TASK *rt_task_self(void);

/* Names */

/**
 * Get at a task by its name, wait for its creation if need be.
 *
 * Finds started, unstarted and shadowed tasks. Callers: any if there is no need
 * to wait; otherwise tasks and the initial thread.
 *
 * @param task    filled in on success (thread included), untouched on failure
 * @param name    name; "" matches nothing
 * @param timeout delay in ticks, TM_INFINITE or TM_NONBLOCK
 * @retval 0            bound
 * @retval -EINVAL      @a task or @a name is NULL
 * @retval -EWOULDBLOCK TM_NONBLOCK and no such task
 * @retval -EPERM       the caller would have to wait but may not
 * @retval -ETIMEDOUT   not created in time
 * @retval -EINTR       rt_task_unblock() hit the caller while waiting
 */
int rt_task_bind(RT_TASK *task, const char *name, RTIME timeout);

/**
 * Clear a descriptor; the task itself is not touched.
 *
 * Never waits. Callers: any.
 *
 * @param task descriptor, bound or filled in at creation
 * @retval 0       done
 * @retval -EINVAL @a task is NULL
 */
int rt_task_unbind(RT_TASK *task);

#ifdef __cplusplus
}
#endif

#endif /* _ALCHEMY_FLAVOUR */

#endif /* !_ALCHEMY_TASK_H */
