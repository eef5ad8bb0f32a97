/* fork from, and amid, the program's own hooks: fork handlers, exit handlers, destructors of thread-specific data, joins. */
#include "kit.h"
#include "tasks.h"
#include "child.h"

static RT_SEM sem;

static void make_sem(unsigned long count)
{
	CHECK_EQ(rt_sem_create(&sem, NULL, count, S_PRIO), 0);
}

static void check_count(unsigned long count)
{
	RT_SEM_INFO info;

	CHECK_EQ(rt_sem_inquire(&sem, &info), 0);
	CHECK_EQ(info.count, count);
	CHECK_EQ(info.nwaiters, 0);
}

static void take_unit(void *arg)
{
	(void)arg;
	check_count(1);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
	check_count(0);
}

/* ---- Fork handlers ----------------------------------------------------------------------------------------------- */

static void lock_sem(void)
{
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
}

static void unlock_sem(void)
{
	CHECK_EQ(rt_sem_v(&sem), 0);
}

static void fork_and_look(void *arg)
{
	take_unit(arg);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(in_child(take_unit, NULL), 0);
	check_count(1);
}

/* Each process releases what it took: handlers registered before the first call run with the right one's objects too. */
static void fork_handlers_of_the_program(void)
{
	int i;

	CHECK_EQ(pthread_atfork(lock_sem, unlock_sem, unlock_sem), 0);
	make_sem(1);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(in_child(fork_and_look, NULL), 0);
		check_count(1);
	}
}

/* ---- The end of a process, and of a thread ----------------------------------------------------------------------- */

static void fork_at_exit(void)
{
	CHECK_EQ(in_child(take_unit, NULL), 0);
	check_count(1);
	_exit(42);
}

static void exit_with_a_handler(void *arg)
{
	(void)arg;
	CHECK_EQ(atexit(fork_at_exit), 0);
	exit(0);
}

static void fork_in_an_exit_handler(void)
{
	make_sem(1);
	CHECK_EQ(in_child(take_unit, NULL), 0);
	CHECK_EQ(in_child(exit_with_a_handler, NULL), 42);
}

/* Of destructors; the thread sanitizer leaves a thread in the last one. */
#ifdef __SANITIZE_THREAD__
#define ROUNDS 3
#else
#define ROUNDS 4
#endif

static pthread_key_t key;
static int forks;

static void fork_in_each_round(void *arg)
{
	static __thread int round;

	CHECK_EQ(in_child(take_unit, NULL), 0);
	check_count(1);
	forks++;
	if (++round < ROUNDS)
		CHECK_EQ(pthread_setspecific(key, arg), 0);
}

static void set_key(void *arg)
{
	CHECK_EQ(in_child(take_unit, NULL), 0);
	CHECK_EQ(pthread_setspecific(key, arg), 0);
}

static void fork_in_a_destructor(void)
{
	make_sem(1);
	CHECK_EQ(pthread_key_create(&key, fork_in_each_round), 0);
	kit_plain(set_key, &key);
	CHECK_EQ(forks, ROUNDS);
	as_task(0, set_key, &key);
	CHECK_EQ(forks, 2 * ROUNDS);
}

/* ---- Joins ------------------------------------------------------------------------------------------------------- */

static RT_TASK forker;

static void *join_and_exit(void *arg)
{
	CHECK_EQ(rt_task_join(&forker), 0);
	CHECK_EQ(rt_task_join(&forker), -ESRCH);
	_exit(42);
	return arg;
}

static void fork_when_told(void *arg)
{
	pid_t pid;

	(void)arg;
	CHECK_EQ(rt_sem_p(&sem, TM_INFINITE), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		kit_watch();
		start_thread(join_and_exit, NULL);
		return; /* the child has its only task end */
	}
	CHECK_EQ(child_status(pid), 42);
}

static pid_t joiner_tid;

static void *join_forker(void *arg)
{
	__atomic_store_n(&joiner_tid, gettid(), __ATOMIC_RELEASE);
	CHECK_EQ(rt_task_join(&forker), 0);
	return arg;
}

/* The kernel's view of a thread: 'S' if it sleeps. */
static char state_of(pid_t tid)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	file = fopen(path, "r");
	CHECK(file != NULL);
	CHECK_EQ(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
	fclose(file);
	return state;
}

/* Whoever was joining it in the parent is not in the child. */
static void forking_task_can_be_joined_in_the_child(void)
{
	pthread_t joiner;

	no_thread_sanitizer();
	make_sem(0);
	kit_spawn(&forker, 0, fork_when_told, NULL);
	joiner = start_thread(join_forker, NULL);
	until(__atomic_load_n(&joiner_tid, __ATOMIC_ACQUIRE) != 0);
	until(state_of(joiner_tid) == 'S');
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(pthread_join(joiner, NULL), 0);
}

KIT_CASES(
	CASE(fork_handlers_of_the_program), CASE(fork_in_an_exit_handler), CASE(fork_in_a_destructor),
	CASE(forking_task_can_be_joined_in_the_child))
