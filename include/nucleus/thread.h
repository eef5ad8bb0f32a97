/*
 * <nucleus/thread.h> - status bits of 2.x tasks by their names in the core.
 *
 * The values are those of the T_ names in <native/task.h>, as RT_TASK_INFO shows
 * them.
 */
#ifndef _NUCLEUS_THREAD_H
#define _NUCLEUS_THREAD_H

#include <nucleus/types.h>

#define XNSUSP		0x00000001	/**< Suspended. */
#define XNPEND		0x00000002	/**< Waits for a resource. */
#define XNDELAY		0x00000004	/**< Sleeps, or waits with a limit. */
#define XNREADY		0x00000008	/**< Could run. */
#define XNDORMANT	0x00000010	/**< Not started, or has ended. */
#define XNZOMBIE	0x00000020	/**< Has ended, and is about to go. */
#define XNRESTART	0x00000040	/**< Never set here. */
#define XNSTARTED	0x00000080	/**< Has been started. */
#define XNMAPPED	0x00000100	/**< Has a thread of the system. */
#define XNRELAX		0x00000200	/**< Runs as the system schedules it. */
#define XNMIGRATE	0x00000400	/**< Never set here. */
#define XNHELD		0x00000800	/**< Never set here. */
#define XNBOOST		0x00001000	/**< Has a priority that it inherited. */
#define XNDEBUG		0x00002000	/**< Never set here. */
#define XNLOCK		0x00004000	/**< Keeps others from the CPU. */
#define XNRRB		0x00008000	/**< Shares the CPU by time slices. */

#endif /* !_NUCLEUS_THREAD_H */
