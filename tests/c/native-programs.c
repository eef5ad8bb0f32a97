/*
 * Programs as they were written for 2.x (native2.md 11.1, 11.3), with no other header than those two: printf, errno,
 * mlockall, rt_timer_read and the rest must come with them. The kit follows below.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <native/task.h>
#include <native/sem.h>

#define ROUNDS 1000

static RT_TASK ping_task, pong_task, main_task, worker_task[5];
static RT_SEM ping_sem, pong_sem, barrier;
/* Of the main program and the workers; ping's and pong's own, since they run at once. */
static int pings, pongs, failures, ping_failures, pong_failures, passed[5], order;

static void ping(void *cookie)
{
	int i;

	(void)cookie;
	for (i = 0; i < ROUNDS; i++) {
		ping_failures += rt_sem_v(&pong_sem) != 0;
		ping_failures += rt_sem_p(&ping_sem, TM_INFINITE) != 0;
		pings++;
		ping_failures += pings != pongs;
	}
}

static void pong(void *cookie)
{
	int i;

	(void)cookie;
	for (i = 0; i < ROUNDS; i++) {
		pong_failures += rt_sem_p(&pong_sem, TM_INFINITE) != 0;
		pong_failures += pings != pongs;
		pongs++;
		pong_failures += rt_sem_v(&ping_sem) != 0;
	}
}

static int ping_pong_program(void)
{
	RTIME start, end;
	int err;

	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		perror("mlockall"); /* most of them go on */

	if (rt_sem_create(&ping_sem, "PING", 0, S_PRIO) || rt_sem_create(&pong_sem, "PONG", 0, S_PRIO))
		return 1;
	start = rt_timer_read();
	err = rt_task_create(&ping_task, "ping", 0, 50, T_JOINABLE);
	if (err) {
		fprintf(stderr, "rt_task_create: %s\n", strerror(-err));
		return 2;
	}
	if (rt_task_create(&pong_task, "pong", 0, 51, T_JOINABLE | T_FPU))
		return 3;
	if (rt_task_start(&ping_task, &ping, NULL) || rt_task_start(&pong_task, &pong, NULL))
		return 4;
	if (rt_task_join(&ping_task) || rt_task_join(&pong_task))
		return 5;
	end = rt_timer_read();
	printf("%d rounds in %llu us\n", pings, (end - start) / 1000);
	if (rt_sem_delete(&ping_sem) || rt_sem_delete(&pong_sem))
		return 6;
	return ping_failures || pong_failures || pings != ROUNDS || pongs != ROUNDS || end <= start ? 7 : 0;
}

static void worker(void *cookie)
{
	RT_TASK_INFO info;
	long number = (long)cookie;
	char name[16];

	if (rt_sem_p(&barrier, TM_INFINITE) || rt_task_inquire(NULL, &info))
		failures++;
	snprintf(name, sizeof(name), "worker%ld", number);
	if (strcmp(info.name, name) || info.bprio != 10 + number || info.cprio != info.bprio)
		failures++;
	passed[number] = __sync_add_and_fetch(&order, 1);
	printf("%s: %d %d\n", info.name, info.bprio, info.cprio);
}

static int barrier_program(void)
{
	RT_SEM_INFO info;
	char name[16];
	long i;

	if (rt_task_shadow(NULL, "main", 1, T_FPU | T_CPU(0)))
		return 1;
	main_task = *rt_task_self();
	if (!rt_task_same(&main_task, rt_task_self()))
		return 2;
	if (rt_sem_create(&barrier, "barrier", 0, S_PRIO))
		return 3;
	for (i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "worker%ld", i);
		if (rt_task_spawn(&worker_task[i], name, 8192, (int)(10 + i), T_FPU | T_JOINABLE, &worker, (void *)i))
			return 4;
	}
	do {
		rt_task_sleep(rt_timer_ns2ticks(1000000));
		if (rt_sem_inquire(&barrier, &info))
			return 5;
	} while (info.nwaiters < 5);
	if (rt_sem_broadcast(&barrier))
		return 6;
	for (i = 0; i < 5; i++)
		if (rt_task_join(&worker_task[i]))
			return 7;
	if (rt_sem_inquire(&barrier, &info) || info.count != 0 || info.nwaiters != 0)
		return 8;
	usleep(1);
	return failures ? 9 : 0;
}

#define KIT_NO_ALCHEMY
#include "kit.h"

static void ping_pong(void)
{
	CHECK_EQ(ping_pong_program(), 0);
}

static void barrier_and_broadcast(void)
{
	CHECK_EQ(barrier_program(), 0);
}

/* On one CPU the highest goes first, since the broadcast has readied all of them. */
static void barrier_in_order_of_priority(void)
{
	int i;

	CHECK_EQ(barrier_program(), 0);
	for (i = 0; i < 5; i++)
		CHECK_EQ(passed[i], 5 - i);
}

KIT_CASES(CASE(ping_pong), CASE(barrier_and_broadcast), CASE_FIFO(barrier_in_order_of_priority))
