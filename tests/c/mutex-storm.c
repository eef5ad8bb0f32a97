/* Everything at once: tasks that acquire, nest, close cycles, are unblocked, suspended, re-ranked and deleted wherever they
 * are; mutexes that are made and deleted, by force too, while stale descriptors of them are in use. What must hold at the end
 * does not depend on what met what. */
#define KIT_STORM
#define KIT_SECONDS 60
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"

enum { USERS = 8, FIXED = 3, PASSING = 2 };

/* With the acquisitions, releases and looks of each round, a million operations and more. */
enum { ROUNDS = 40000 };

/* On a machine that is slow or busy the users stop here. */
#define TIME_LIMIT (12000LL * MS)

/* More mutexes than there ever are at a time: those that live, those on their way in or out, one for each that a user may
 * hold or wait for while it is deleted. */
enum { MOST_SLOTS = 64 };

/* 2.x: whatever uses the mutex. */
extern int delete_by_force(RT_MUTEX *mutex) __asm__("__native_rt_mutex_delete");

static struct fixed {
	RT_MUTEX mutex;
	volatile long counter; /* changed by the owner only, in two steps */
	long counted;
	int inside; /* somebody is between acquire and release, or ended there */
} fixed[FIXED];

static struct user {
	RT_TASK task;
	unsigned state;
	long rounds; /* over all its lives */
} users[USERS];

static uintptr_t passing[PASSING];
static long created, deleted, forced, busy;
static long outcomes[5];
static unsigned most_slot;
static long long end;
static int most_prio;

static unsigned next_random(unsigned *state)
{
	*state = *state * 1103515245U + 12345U;
	return *state >> 16;
}

static void add(long *total)
{
	__atomic_fetch_add(total, 1, __ATOMIC_RELAXED);
}

/* The user is not deleted before `enable`. */
static void disable_deletion(void)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
}

static void enable_deletion(void)
{
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
}

/* ---- Users -------------------------------------------------------------------------------------------------------- */

/* Acquires in one of all forms; fails the case if that form cannot give this result. `owns`: the user owns something. */
static int acquire_somehow(RT_MUTEX *mutex, unsigned *state, int owns)
{
	unsigned form = next_random(state) % 8;
	RTIME timeout = next_random(state) % 50000 + 1;
	int result;

	if (form == 0)
		result = rt_mutex_acquire(mutex, TM_NONBLOCK);
	else if (form < 3)
		result = rt_mutex_acquire(mutex, timeout);
	else if (form == 3)
		result = rt_mutex_acquire_until(mutex, rt_timer_read() + timeout % 200);
	else
		result = rt_mutex_acquire(mutex, TM_INFINITE);
	switch (result) {
	case 0:
		break;
	case -EOWNERDEAD:
		add(&outcomes[0]);
		break;
	case -EWOULDBLOCK:
		CHECK_EQ(form, 0);
		break;
	case -ETIMEDOUT:
		CHECK(form > 0 && form < 4);
		add(&outcomes[1]);
		break;
	case -EDEADLK:
		if (form == 0 || !owns) kit_fail(__FILE__, __LINE__, "deadlock: form %u owns %d", form, owns);
		add(&outcomes[2]);
		break;
	case -EINTR:
		CHECK(form > 0);
		add(&outcomes[3]);
		break;
	case -EINVAL:
	case -EIDRM:
		add(&outcomes[4]);
		break;
	default:
		kit_fail(__FILE__, __LINE__, "form %u gave %d%s", form, result, kit_errno_name(result));
	}
	return result;
}

/* Just acquired, for the first time in a row. */
static void enter(struct fixed *at, int result)
{
	/* Who is told of a death may find anything. */
	CHECK(result == -EOWNERDEAD || !__atomic_load_n(&at->inside, __ATOMIC_RELAXED));
	__atomic_store_n(&at->inside, 1, __ATOMIC_RELAXED);
}

static void count(struct fixed *at)
{
	long seen;

	disable_deletion();
	seen = at->counter;
	if (seen % 64 == 0)
		sched_yield();
	at->counter = seen + 1;
	add(&at->counted);
	enable_deletion();
}

static void leave(struct fixed *at)
{
	__atomic_store_n(&at->inside, 0, __ATOMIC_RELAXED);
	CHECK_EQ(rt_mutex_release(&at->mutex), 0);
}

static int is_acquired(int result)
{
	CHECK(result != -EINVAL && result != -EIDRM);
	return result == 0 || result == -EOWNERDEAD;
}

/* While it owns one: another one, in any order, or the same once more. */
static void nest(struct fixed *outer, unsigned *state)
{
	struct fixed *inner = &fixed[next_random(state) % FIXED];
	int result;

	if (inner == outer) {
		CHECK_EQ(rt_mutex_acquire(&outer->mutex, next_random(state) % 2 ? TM_NONBLOCK : TM_INFINITE), 0);
		count(outer);
		CHECK_EQ(rt_mutex_release(&outer->mutex), 0);
		return;
	}
	result = acquire_somehow(&inner->mutex, state, 1);
	if (!is_acquired(result))
		return;
	enter(inner, result);
	count(inner);
	leave(inner);
}

static void use_fixed(unsigned *state)
{
	struct fixed *at = &fixed[next_random(state) % FIXED];
	int result = acquire_somehow(&at->mutex, state, 0);

	if (!is_acquired(result))
		return;
	enter(at, result);
	if (next_random(state) % 4 == 0)
		nest(at, state);
	count(at);
	leave(at);
}

static RT_MUTEX make(void)
{
	unsigned slot, most;
	RT_MUTEX made;

	MAKE_MUTEX(&made);
	add(&created);
	slot = (unsigned)made.handle;
	most = __atomic_load_n(&most_slot, __ATOMIC_RELAXED);
	while (slot > most &&
	       !__atomic_compare_exchange_n(&most_slot, &most, slot, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return made;
}

/* Replaces one of the passing mutexes; who takes a descriptor out deletes its mutex. */
static void replace(unsigned *state)
{
	int by_force = next_random(state) % 2, result = -EBUSY;
	RT_MUTEX mutex;

	disable_deletion();
	mutex = make();
	mutex.handle = __atomic_exchange_n(&passing[next_random(state) % PASSING], mutex.handle, __ATOMIC_ACQ_REL);
	if (!by_force)
		result = rt_mutex_delete(&mutex);
	if (result == -EBUSY) {
		add(by_force ? &forced : &busy);
		result = delete_by_force(&mutex);
	}
	CHECK_EQ(result, 0);
	add(&deleted);
	CHECK_EQ(rt_mutex_delete(&mutex), -EINVAL);
	CHECK_EQ(delete_by_force(&mutex), -EINVAL);
	CHECK_EQ(rt_mutex_acquire(&mutex, TM_NONBLOCK), -EINVAL);
	enable_deletion();
}

/* Whatever mutex was there last: it may be gone, and its slot another's, at any moment. */
static void use_passing(unsigned *state)
{
	RT_MUTEX mutex = { __atomic_load_n(&passing[next_random(state) % PASSING], __ATOMIC_ACQUIRE) };
	int result = acquire_somehow(&mutex, state, 0), depth = 1;
	RT_MUTEX_INFO info;

	if (result != 0 && result != -EOWNERDEAD)
		return;
	if (next_random(state) % 4 == 0) {
		result = rt_mutex_acquire(&mutex, TM_INFINITE);
		CHECK(result == 0 || result == -EINVAL);
		depth += result == 0;
	}
	result = rt_mutex_inquire(&mutex, &info);
	CHECK(result == -EINVAL || (result == 0 && rt_task_same(&info.owner, rt_task_self())));
	if (next_random(state) % 8 == 0) {
		/* As long as its owner has not let go, the slot is no other mutex. */
		int i;

		for (i = 0; i < 20; i++)
			sched_yield();
	}
	for (; depth > 0; depth--) {
		result = rt_mutex_release(&mutex);
		CHECK(result == 0 || result == -EINVAL);
	}
	result = rt_mutex_release(&mutex);
	CHECK(result == -EPERM || result == -EINVAL);
}

static void live(void *user_)
{
	struct user *user = (struct user *)user_;

	while (user->rounds < ROUNDS) {
		unsigned what = next_random(&user->state) % 16;

		user->rounds++;
		if (user->rounds % 64 == 0 && kit_now() > end)
			user->rounds = ROUNDS;
		if (what < 10)
			use_fixed(&user->state);
		else if (what < 15)
			use_passing(&user->state);
		else
			replace(&user->state);
	}
}

/* ---- The one who disturbs them ------------------------------------------------------------------------------------ */

/* A service on a task that lives, or has just ended. */
static void check_service(int result)
{
	CHECK(result == 0 || result == -EINVAL);
}

static void delete_and_revive(struct user *user)
{
	check_service(rt_task_delete(&user->task));
	kit_join(&user->task);
	/* Joined: nobody else touches it. A user that has ended does so once more. */
	kit_spawn(&user->task, 0, live, user);
}

static void disturb(unsigned *state)
{
	struct user *user = &users[next_random(state) % USERS];

	switch (next_random(state) % 16) {
	case 0:
		delete_and_revive(user);
		break;
	case 1:
	case 2:
	case 3:
		check_service(rt_task_suspend(&user->task));
		if (next_random(state) % 2)
			kit_nap(next_random(state) % 32 * 1000);
		check_service(rt_task_resume(&user->task));
		break;
	case 4:
	case 5:
		check_service(rt_task_set_priority(&user->task, (int)(next_random(state) % (unsigned)(most_prio + 1))));
		break;
	default:
		check_service(rt_task_unblock(&user->task));
		break;
	}
	kit_nap(next_random(state) % 16 * 1000);
}

static int everybody_is_done(void)
{
	int i, done = 1;

	for (i = 0; i < USERS; i++)
		done &= __atomic_load_n(&users[i].rounds, __ATOMIC_RELAXED) >= ROUNDS;
	return done;
}

/* Nobody owns it, and any task can have it. */
static void check_usable(struct puppet *puppet, RT_MUTEX *mutex)
{
	int result;

	CHECK_UNOWNED(mutex);
	result = poll_for(puppet, mutex);
	CHECK(result == 0 || result == -EOWNERDEAD);
	CHECK_OWNER(mutex, &puppet->task);
	CHECK_EQ(release(puppet, mutex), 0);
	use_once(puppet, mutex, 0);
	CHECK_EQ(rt_mutex_delete(mutex), 0);
}

static void settle(void)
{
	struct puppet puppet;
	RT_MUTEX mutex;
	int i;

	start(&puppet, 0, NULL);
	for (i = 0; i < FIXED; i++) {
		CHECK_EQ(fixed[i].counter, fixed[i].counted);
		check_usable(&puppet, &fixed[i].mutex);
	}
	for (i = 0; i < PASSING; i++) {
		mutex.handle = passing[i];
		check_usable(&puppet, &mutex);
		deleted++;
	}
	CHECK_EQ(created, deleted);
	CHECK(most_slot < MOST_SLOTS);
	/* Every slot that ever was in use is to be had again: none is a new one. */
	for (i = 0; i < MOST_SLOTS; i++) {
		MAKE_MUTEX(&mutex);
		CHECK((unsigned)mutex.handle <= MOST_SLOTS);
		use_once(&puppet, &mutex, 0);
	}
	dismiss(&puppet);
}

static void storm(int prio)
{
	unsigned state = 12345;
	int i;

	needs_interruptible_waits();
	most_prio = prio;
	end = kit_now() + TIME_LIMIT;
	for (i = 0; i < FIXED; i++)
		MAKE_MUTEX(&fixed[i].mutex);
	for (i = 0; i < PASSING; i++)
		passing[i] = make().handle;
	for (i = 0; i < USERS; i++) {
		users[i].state = (unsigned)i + 1;
		kit_spawn(&users[i].task, 0, live, &users[i]);
	}
	while (!everybody_is_done())
		disturb(&state);
	for (i = 0; i < USERS; i++)
		kit_join(&users[i].task);
	settle();
	printf("%ld %ld %ld counted; %ld deaths told, %ld late, %ld cycles, %ld unblocked, %ld stale; "
	       "%ld made, %ld by force, %ld busy\n", fixed[0].counted, fixed[1].counted, fixed[2].counted,
	       outcomes[0], outcomes[1], outcomes[2], outcomes[3], outcomes[4], created, forced, busy);
}

static void storm_on_all_cpus(void)
{
	kit_unpin();
	storm(0);
}

static void storm_of_priorities_on_all_cpus(void)
{
	kit_unpin();
	storm(2);
}

static void storm_on_one_cpu(void)
{
	storm(0);
}

KIT_CASES(CASE(storm_on_all_cpus), CASE(storm_of_priorities_on_all_cpus), CASE(storm_on_one_cpu))
