/* Names of mutexes: given, generated, in use; bind. */
#include "kit.h"
#include "tasks.h"
#include "mutex-kit.h"

#define THIRTY_ONE "a-name-of-one-and-thirty-bytes!"
#define FORTY THIRTY_ONE "and-nine."

static const RT_MUTEX pattern = { 0x5a5a5a5a5a5a5a5aUL };

static const char *mutex_name(RT_MUTEX *mutex)
{
	static RT_MUTEX_INFO info;

	memset(&info, 0x5a, sizeof(info));
	CHECK_EQ(rt_mutex_inquire(mutex, &info), 0);
	return info.name;
}

static void generated_names_count_up(void)
{
	RT_MUTEX first, named, second, third, fourth;

	MAKE_MUTEX(&first);
	CHECK_STR(mutex_name(&first), "mutex@1");
	CHECK_EQ(rt_mutex_create(&named, "given"), 0);
	CHECK_STR(mutex_name(&named), "given");
	CHECK_EQ(rt_mutex_create(&second, ""), 0);
	CHECK_STR(mutex_name(&second), "mutex@2");
	CHECK_EQ(rt_mutex_delete(&second), 0);
	MAKE_MUTEX(&third);
	CHECK_STR(mutex_name(&third), "mutex@3"); /* numbers are not used twice */
	CHECK_EQ(rt_mutex_create(&second, "mutex@4"), 0);
	MAKE_MUTEX(&fourth);
	CHECK_STR(mutex_name(&fourth), "mutex@5");
}

static void names_are_cut_at_31_bytes(void)
{
	RT_MUTEX mutex, bound, other = pattern;

	CHECK_EQ(rt_mutex_create(&mutex, FORTY), 0);
	CHECK_STR(mutex_name(&mutex), THIRTY_ONE);
	CHECK_EQ(rt_mutex_bind(&bound, FORTY, TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, mutex.handle);
	CHECK_EQ(rt_mutex_bind(&bound, THIRTY_ONE, TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, mutex.handle);
	CHECK_EQ(rt_mutex_create(&other, THIRTY_ONE), -EEXIST);
	CHECK_EQ(rt_mutex_create(&other, THIRTY_ONE "x"), -EEXIST);
	CHECK_SAME_BYTES(&other, &pattern, sizeof(other));
}

/* mutex.md 10.28 */
static void used_name_leaves_the_descriptor_alone(void)
{
	RT_MUTEX mutex, other = pattern, before;
	struct puppet user;

	CHECK_EQ(rt_mutex_create(&mutex, "used"), 0);
	before = mutex;
	CHECK_EQ(rt_mutex_create(&mutex, "used"), -EEXIST);
	CHECK_SAME_BYTES(&mutex, &before, sizeof(mutex));
	CHECK_EQ(rt_mutex_create(&other, "used"), -EEXIST);
	CHECK_SAME_BYTES(&other, &pattern, sizeof(other));
	start(&user, 10, NULL);
	use_once(&user, &mutex, 0);
	CHECK_EQ(acquire(&user, &mutex, TM_INFINITE), 0);
	CHECK_EQ(rt_mutex_create(&mutex, "used"), -EEXIST);
	CHECK_OWNER(&mutex, &user.task);
	CHECK_EQ(release(&user, &mutex), 0);
	dismiss(&user);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	CHECK_EQ(rt_mutex_create(&mutex, "used"), 0);
}

static void other_types_have_names_of_their_own(void)
{
	RT_MUTEX mutex, missing = pattern;
	RT_SEM sem, bound;

	CHECK_EQ(rt_sem_create(&sem, "both", 1, S_FIFO), 0);
	CHECK_EQ(rt_mutex_bind(&missing, "both", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_SAME_BYTES(&missing, &pattern, sizeof(missing));
	CHECK_EQ(rt_mutex_create(&mutex, "both"), 0);
	CHECK_EQ(rt_sem_bind(&bound, "both", TM_NONBLOCK), 0);
	CHECK_EQ(bound.handle, sem.handle);
	CHECK_EQ(rt_mutex_delete(&mutex), 0);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
}

static void bind_at_once(void *arg)
{
	RT_MUTEX mutex = pattern;

	(void)arg;
	CHECK_EQ(rt_mutex_bind(&mutex, "absent", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_mutex_bind(&mutex, "", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_mutex_bind(&mutex, NULL, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_mutex_bind(&mutex, NULL, TM_INFINITE), -EINVAL);
	CHECK_SAME_BYTES(&mutex, &pattern, sizeof(mutex));
	CHECK_EQ(rt_mutex_bind(&mutex, "present", TM_INFINITE), 0);
	CHECK_STR(mutex_name(&mutex), "present");
	CHECK_EQ(rt_mutex_bind(&mutex, "present", MS), 0);
	CHECK_EQ(rt_mutex_bind(&mutex, "present", TM_NONBLOCK), 0);
}

static void bind_without_waiting_is_open_to_all(void)
{
	RT_MUTEX mutex;

	CHECK_EQ(rt_mutex_create(&mutex, "present"), 0);
	bind_at_once(NULL);
	kit_plain(bind_at_once, NULL);
	as_task(10, bind_at_once, NULL);
}

static void bind_may_not_wait(void *arg)
{
	RT_MUTEX mutex = pattern;

	(void)arg;
	CHECK_EQ(rt_mutex_bind(&mutex, "absent", MS), -EPERM);
	CHECK_EQ(rt_mutex_bind(&mutex, "absent", TM_INFINITE), -EPERM);
	CHECK_SAME_BYTES(&mutex, &pattern, sizeof(mutex));
}

static void bind_waits_its_time(void *arg)
{
	RT_MUTEX mutex = pattern;
	long long begin = kit_now();

	(void)arg;
	CHECK_EQ(rt_mutex_bind(&mutex, "absent", 10 * MS), -ETIMEDOUT);
	CHECK(kit_now() - begin >= 10 * MS);
	CHECK_SAME_BYTES(&mutex, &pattern, sizeof(mutex));
}

static void bind_waits_where_the_caller_may(void)
{
	kit_plain(bind_may_not_wait, NULL);
	bind_waits_its_time(NULL);
	as_task(10, bind_waits_its_time, NULL);
}

static RT_MUTEX early, late;

static int step_bind(RT_MUTEX *mutex, RTIME timeout)
{
	return rt_mutex_bind(mutex, "awaited", timeout);
}

static void creation_ends_the_wait_for_a_name(void)
{
	struct puppet binder, poller;
	RT_SEM sem;

	start(&binder, 10, NULL);
	start(&poller, 20, NULL);
	early = late = pattern;
	tell_to_wait(&binder, step_bind, &early, TM_INFINITE);
	CHECK_EQ(rt_sem_create(&sem, "awaited", 0, S_FIFO), 0); /* of another type */
	CHECK(is_queued(&binder));
	CHECK_EQ(rt_mutex_create(&late, "awaited"), 0);
	CHECK_EQ(outcome(&binder), 0);
	CHECK_EQ(early.handle, late.handle);
	use_once(&binder, &early, 0);
	use_once(&poller, &late, 0);
	dismiss(&binder);
	dismiss(&poller);
}

static void unblock_ends_the_wait_for_a_name(void)
{
	struct puppet binder;

	start(&binder, 10, NULL);
	early = pattern;
	tell_to_wait(&binder, step_bind, &early, TM_INFINITE);
	CHECK_EQ(rt_task_unblock(&binder.task), 0);
	CHECK_EQ(outcome(&binder), -EINTR);
	CHECK_SAME_BYTES(&early, &pattern, sizeof(early));
	dismiss(&binder);
}

KIT_CASES(
	CASE(generated_names_count_up), CASE(names_are_cut_at_31_bytes), CASE(used_name_leaves_the_descriptor_alone),
	CASE(other_types_have_names_of_their_own), CASE(bind_without_waiting_is_open_to_all),
	CASE(bind_waits_where_the_caller_may), CASE(creation_ends_the_wait_for_a_name),
	CASE(unblock_ends_the_wait_for_a_name))
