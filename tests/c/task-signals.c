/* Tasks and Linux signals: masks, who runs a handler, what the library leaves alone. */
#include "kit.h"
#include "tasks.h"
#include "child.h"

static RT_SEM sem;

static int is_blocked(int signal)
{
	sigset_t set;

	CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &set), 0);
	return sigismember(&set, signal);
}

static void set_blocked(int signal, int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	CHECK_EQ(pthread_sigmask(how, &set, NULL), 0);
}

static void see_masks(void *arg)
{
	(void)arg;
	CHECK(is_blocked(SIGUSR2));
	CHECK(is_blocked(SIGRTMAX));
	CHECK(!is_blocked(SIGUSR1));
	CHECK(!is_blocked(SIGALRM));
	CHECK(!is_blocked(SIGINT));
}

/* The mask is the creator's at creation; what it does later is its own affair. */
static void mask_is_the_creators(void)
{
	RT_TASK task;

	set_blocked(SIGUSR1, SIG_UNBLOCK);
	set_blocked(SIGALRM, SIG_UNBLOCK);
	set_blocked(SIGINT, SIG_UNBLOCK);
	set_blocked(SIGUSR2, SIG_BLOCK);
	set_blocked(SIGRTMAX, SIG_BLOCK);
	CHECK_EQ(rt_task_create(&task, NULL, 0, 10, T_JOINABLE), 0);
	CHECK(is_blocked(SIGUSR2) && is_blocked(SIGRTMAX) && !is_blocked(SIGUSR1) && !is_blocked(SIGINT));
	set_blocked(SIGUSR2, SIG_UNBLOCK);
	set_blocked(SIGRTMAX, SIG_UNBLOCK);
	set_blocked(SIGUSR1, SIG_BLOCK);
	CHECK_EQ(rt_task_start(&task, see_masks, NULL), 0);
	kit_join(&task);
	CHECK(!is_blocked(SIGUSR2) && !is_blocked(SIGRTMAX) && is_blocked(SIGUSR1));
}

static void shadow_keeps_the_mask(void)
{
	set_blocked(SIGUSR1, SIG_UNBLOCK);
	set_blocked(SIGUSR2, SIG_BLOCK);
	CHECK_EQ(rt_task_shadow(NULL, NULL, 10, 0), 0);
	CHECK(is_blocked(SIGUSR2));
	CHECK(!is_blocked(SIGUSR1));
}

static pid_t handled_by;

static void note_thread(int signal)
{
	(void)signal;
	__atomic_store_n(&handled_by, gettid(), __ATOMIC_RELEASE);
}

static void unblock_and_wait(void *arg)
{
	(void)arg;
	set_blocked(SIGUSR1, SIG_UNBLOCK);
	take(&sem);
}

static void run_helpers(void)
{
	/* Whatever makes the library start threads of its own. */
	CHECK_EQ(rt_task_sleep(1000000), 0);
	CHECK_EQ(rt_sem_p(&sem, 1000000), -ETIMEDOUT);
}

/* Decision 39: a signal to the process finds the one thread that does not block it; its wait goes on. */
static void process_signal_reaches_the_task_that_takes_it(void)
{
	RT_TASK deaf, task;

	signal(SIGUSR1, note_thread);
	set_blocked(SIGUSR1, SIG_BLOCK);
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_FIFO), 0);
	run_helpers();
	kit_spawn_blocked(&deaf, 20, take, &sem);
	kit_spawn_blocked(&task, 10, unblock_and_wait, NULL);
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	until(__atomic_load_n(&handled_by, __ATOMIC_ACQUIRE) != 0);
	CHECK_EQ(handled_by, tid_of(&task));
	until(kit_status(&task) == 0x20011);
	CHECK_EQ(kit_status(&deaf), 0x20011);
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&deaf);
	kit_join(&task);
}

static void process_signal_nobody_takes_stays_pending(void)
{
	sigset_t pending;
	RT_TASK task;

	signal(SIGUSR1, note_thread);
	set_blocked(SIGUSR1, SIG_BLOCK);
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_FIFO), 0);
	run_helpers();
	kit_spawn_blocked(&task, 20, take, &sem);
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	kit_nap(20000000);
	CHECK_EQ(handled_by, 0);
	CHECK_EQ(sigpending(&pending), 0);
	CHECK(sigismember(&pending, SIGUSR1));
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
	set_blocked(SIGUSR1, SIG_UNBLOCK);
	CHECK_EQ(handled_by, getpid());
}

static void wait_in_sem(void *arg)
{
	*(int *)arg = rt_sem_p(&sem, TM_INFINITE);
}

static void thread_signal_leaves_the_wait_alone(void)
{
	int result = 1;
	RT_TASK task;

	signal(SIGUSR1, note_thread);
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_FIFO), 0);
	kit_spawn_blocked(&task, 20, wait_in_sem, &result);
	CHECK_EQ(pthread_kill(task.thread, SIGUSR1), 0);
	until(__atomic_load_n(&handled_by, __ATOMIC_ACQUIRE) != 0);
	CHECK_EQ(handled_by, tid_of(&task));
	kit_nap(5000000);
	CHECK_EQ(kit_status(&task), 0x20011);
	CHECK_EQ(result, 1);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
	CHECK_EQ(result, 0);
}

/* Signals the library may claim, glibc's own, the kit's; under AddressSanitizer the faults. */
static int is_spoken_for(int signal)
{
#ifdef __SANITIZE_ADDRESS__
	if (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL)
		return 1;
#endif
	return (signal >= 32 && signal < SIGRTMIN) || (signal >= 42 && signal <= 49) || signal == KIT_WATCHDOG_SIGNAL;
}

static void programs_signals_are_not_touched(void)
{
	struct sigaction action;
	RT_TASK task;
	int signal;

	no_held_back_signals();
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_FIFO), 0);
	kit_spawn_blocked(&task, 20, take, &sem);
	run_helpers();
	for (signal = 1; signal <= SIGRTMAX; signal++) {
		if (is_spoken_for(signal))
			continue;
		CHECK_EQ(sigaction(signal, NULL, &action), 0);
		CHECK(action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
		CHECK(!is_blocked(signal));
	}
	CHECK_EQ(rt_sem_v(&sem), 0);
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
}

static void end_on_default_action(void *arg)
{
	(void)arg;
	raise(SIGTERM);
}

/* A default action still ends the process. */
static void sigterm_in_a_task_ends_the_process(void)
{
	if (rerunning()) {
		as_task(0, end_on_default_action, NULL);
		kit_nap(1000000000);
	} else {
		struct rerun how = { .argument = NULL };

		CHECK_EQ(rerun(&how), 256 + SIGTERM);
	}
}

static void tell_child_status(int signal)
{
	(void)signal;
	mark("child");
}

static void sigchld_is_the_programs(void)
{
	RT_TASK task;
	pid_t pid;

	signal(SIGCHLD, tell_child_status);
	CHECK_EQ(rt_sem_create(&sem, NULL, 0, S_FIFO), 0);
	kit_spawn_blocked(&task, 20, take, &sem);
	pid = _Fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(5);
	CHECK_EQ(child_status(pid), 5);
	expect_marks("child");
	CHECK_EQ(rt_sem_v(&sem), 0);
	kit_join(&task);
}

KIT_CASES(
	CASE(mask_is_the_creators), CASE(shadow_keeps_the_mask), CASE(process_signal_reaches_the_task_that_takes_it),
	CASE(process_signal_nobody_takes_stays_pending), CASE(thread_signal_leaves_the_wait_alone),
	CASE(programs_signals_are_not_touched), CASE(sigterm_in_a_task_ends_the_process), CASE(sigchld_is_the_programs))
