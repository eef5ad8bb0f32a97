/* A task does something, and main waits for it. */
#include <stdio.h>
#include <alchemy/task.h>
#include <alchemy/sem.h>

static RT_SEM ready;

static void worker(void *arg)
{
	(void)arg;
	puts("working");
	rt_sem_v(&ready);
}

int main(void)
{
	RT_TASK task;
	int error;

	error = rt_sem_create(&ready, "ready", 0, S_PRIO);
	if (!error)
		error = rt_task_spawn(&task, "worker", 0, 50, T_JOINABLE, worker, NULL);
	if (!error)
		error = rt_sem_p(&ready, TM_INFINITE);
	if (!error)
		error = rt_task_join(&task);
	return error ? 1 : 0;
}
