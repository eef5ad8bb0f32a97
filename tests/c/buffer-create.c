/* Buffers: creation, names, inquiry, deletion, descriptors (buffer.md 3, 9.1). */
#include "kit.h"
#include "buffer-kit.h"
#include "tasks.h"

#include <limits.h>

/* --- Creation ----------------------------------------------------------------------------------------------------- */

static void refuse(const char *name, size_t size, int mode, int want)
{
	RT_BUFFER bf, before;

	memset(&bf, 0x5a, sizeof(bf));
	before = bf;
	CHECK_EQ(rt_buffer_create(&bf, name, size, mode), want);
	CHECK_SAME_BYTES(&bf, &before, sizeof(bf));
}

/* buffer.md 9.1 */
static void bad_arguments(void)
{
	RT_BUFFER bf;
	int bit;

	refuse("refused", 0, B_FIFO, -EINVAL);
	refuse("refused", 0, B_PRIO, -EINVAL);
	for (bit = 1; bit < 32; bit++) {
		refuse("refused", 8, (int)(1U << bit), -EINVAL);
		refuse("refused", 8, (int)(1U << bit | B_PRIO), -EINVAL);
	}
	refuse("refused", 8, -1, -EINVAL);
	CHECK_EQ(rt_buffer_create(NULL, "refused", 8, B_FIFO), -EINVAL);
	/* No trace is left. */
	CHECK_EQ(rt_buffer_bind(&bf, "refused", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_buffer_create(&bf, "refused", 8, B_FIFO), 0);
	CHECK_EQ(rt_buffer_delete(&bf), 0);
}

/* Too large is an error like any other, whatever the number: -ENOMEM, or -EINVAL above INT_MAX (buffer.md 7, B5). */
static void impossible_sizes(void)
{
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 7, SIZE_MAX / 2, SIZE_MAX / 2 + 1, (size_t)1 << 62, (size_t)1 << 48 };
	RT_BUFFER bf, before;
	size_t i;
	int result;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(&bf, 0x5a, sizeof(bf));
		before = bf;
		result = rt_buffer_create(&bf, "huge", sizes[i], B_FIFO);
		CHECK(result == -ENOMEM || result == -EINVAL);
		CHECK_SAME_BYTES(&bf, &before, sizeof(bf));
		CHECK_EQ(rt_buffer_bind(&bf, "huge", TM_NONBLOCK), -EWOULDBLOCK);
	}
	CHECK_EQ(rt_buffer_create(&bf, "huge", 1, B_FIFO), 0);
	CHECK_EQ(rt_buffer_delete(&bf), 0);
}

static void any_size_is_exact(void)
{
	static const size_t sizes[] = { 1, 2, 3, 5, 7, 8, 9, 31, 63, 64, 65, 1000, 4095, 4096, 4097, 65536, 100001 };
	static char data[100001];
	RT_BUFFER_INFO info;
	RT_BUFFER bf;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		MAKE_BUFFER(&bf, sizes[i], i % 2 ? B_PRIO : B_FIFO);
		CHECK_EQ(rt_buffer_inquire(&bf, &info), 0);
		CHECK_EQ(info.totalmem, sizes[i]);
		CHECK_EQ(info.availmem, sizes[i]);
		CHECK_EQ(info.iwaiters, 0);
		CHECK_EQ(info.owaiters, 0);
		memset(data, (int)i + 1, sizeof(data));
		CHECK_EQ(rt_buffer_write(&bf, data, sizes[i], TM_NONBLOCK), sizes[i]);
		CHECK_EQ(rt_buffer_write(&bf, data, 1, TM_NONBLOCK), -EWOULDBLOCK);
		memset(data, 0, sizeof(data));
		CHECK_EQ(rt_buffer_read(&bf, data, sizes[i], TM_NONBLOCK), sizes[i]);
		CHECK_EQ(data[0], i + 1);
		CHECK_EQ(data[sizes[i] - 1], i + 1);
		CHECK_EQ(rt_buffer_delete(&bf), 0);
	}
}

/* Memory comes back: more in all than could be had at once. */
static void memory_is_given_back(void)
{
	RT_BUFFER bf[3];
	int i;

	for (i = 0; i < 3000; i++) {
		size_t k = (size_t)i % 3;

		if (i >= 3)
			CHECK_EQ(rt_buffer_delete(&bf[k]), 0);
		MAKE_BUFFER(&bf[k], 1000 + (size_t)i * 7, B_FIFO);
		PUT(&bf[k], "x");
	}
}

static void out_of_memory_and_back(void)
{
	static RT_BUFFER bf[1024];
	int count = 0, i, result = 0;
	RT_BUFFER last;

	/* As much as there is, up to 256 MiB. */
	while (count < 1024 && (result = rt_buffer_create(&bf[count], NULL, 256 * 1024, B_FIFO)) == 0)
		count++;
	CHECK(result == 0 || result == -ENOMEM);
	CHECK(count > 0);
	if (result == -ENOMEM)
		refuse("late", 256 * 1024, B_FIFO, -ENOMEM);
	for (i = 0; i < count; i++) {
		CHECK_BUFFER(&bf[i], 0, 0, 0);
		CHECK_EQ(rt_buffer_delete(&bf[i]), 0);
	}
	CHECK_EQ(rt_buffer_create(&last, "late", 256 * 1024, B_FIFO), 0);
	CHECK_EQ(rt_buffer_delete(&last), 0);
}

/* --- Names -------------------------------------------------------------------------------------------------------- */

static void names(void)
{
	RT_BUFFER_INFO info;
	RT_BUFFER bf[5];

	CHECK_EQ(rt_buffer_create(&bf[0], NULL, 8, B_FIFO), 0);
	CHECK_EQ(rt_buffer_inquire(&bf[0], &info), 0);
	CHECK_STR(info.name, "buffer@1");
	CHECK_EQ(rt_buffer_create(&bf[1], "mine", 8, B_FIFO), 0);
	CHECK_EQ(rt_buffer_inquire(&bf[1], &info), 0);
	CHECK_STR(info.name, "mine");
	CHECK_EQ(rt_buffer_create(&bf[2], "", 8, B_FIFO), 0);
	CHECK_EQ(rt_buffer_inquire(&bf[2], &info), 0);
	CHECK_STR(info.name, "buffer@2");
	CHECK_EQ(rt_buffer_create(&bf[3], "0123456789012345678901234567890123456789", 8, B_FIFO), 0);
	CHECK_EQ(rt_buffer_inquire(&bf[3], &info), 0);
	CHECK_STR(info.name, "0123456789012345678901234567890");
	CHECK_EQ(rt_buffer_bind(&bf[4], "0123456789012345678901234567890", TM_NONBLOCK), 0);
	CHECK_EQ(bf[4].handle, bf[3].handle);
	CHECK_EQ(rt_buffer_bind(&bf[4], "0123456789012345678901234567890123456789", TM_NONBLOCK), 0);
	CHECK_EQ(bf[4].handle, bf[3].handle);
	CHECK_EQ(rt_buffer_bind(&bf[4], "", TM_NONBLOCK), -EWOULDBLOCK);
}

static void duplicate_name(void)
{
	RT_BUFFER bf, copy;

	CHECK_EQ(rt_buffer_create(&bf, "same", 8, B_FIFO), 0);
	PUT(&bf, "abc");
	refuse("same", 8, B_FIFO, -EEXIST);
	refuse("same", 0, B_FIFO, -EINVAL); /* the name is looked at last */
	copy = bf;
	CHECK_EQ(rt_buffer_create(&bf, "same", 4, B_PRIO), -EEXIST);
	CHECK_SAME_BYTES(&bf, &copy, sizeof(bf));
	GET(&bf, "abc");
	CHECK_EQ(rt_buffer_delete(&bf), 0);
	CHECK_EQ(rt_buffer_create(&bf, "same", 4, B_PRIO), 0);
}

static void binding(void)
{
	RT_BUFFER bf, bound, before;
	long long start;

	CHECK_EQ(rt_buffer_create(&bf, "present", 8, B_FIFO), 0);
	CHECK_EQ(rt_buffer_bind(&bound, "present", TM_INFINITE), 0);
	CHECK_EQ(bound.handle, bf.handle);
	PUT(&bound, "via");
	GET(&bf, "via");
	memset(&bound, 0x5a, sizeof(bound));
	before = bound;
	CHECK_EQ(rt_buffer_bind(&bound, "absent", TM_NONBLOCK), -EWOULDBLOCK);
	start = kit_now();
	CHECK_EQ(rt_buffer_bind(&bound, "absent", 3 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= (long long)(3 * MS));
	CHECK_EQ(rt_buffer_bind(&bound, NULL, TM_NONBLOCK), -EINVAL);
	CHECK_SAME_BYTES(&bound, &before, sizeof(bound));
	CHECK_EQ(rt_buffer_bind(NULL, "present", TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_buffer_unbind(NULL), -EINVAL);
	CHECK_EQ(rt_buffer_unbind(&bound), 0);
	CHECK_EQ(bound.handle, 0);
	CHECK_EQ(rt_buffer_unbind(&bf), 0);
	CHECK_EQ(rt_buffer_bind(&bf, "present", TM_NONBLOCK), 0);
	CHECK_BUFFER(&bf, 0, 0, 0);
}

static RT_BUFFER awaited;
static int bind_result;

static void bind_it(void *name)
{
	bind_result = rt_buffer_bind(&awaited, (const char *)name, TM_INFINITE);
}

static void binding_waits_for_creation(void)
{
	RT_BUFFER other, bf;
	RT_TASK task, victim;

	kit_spawn_blocked(&task, 10, bind_it, (void *)"later");
	CHECK_EQ(rt_buffer_create(&other, "other", 8, B_FIFO), 0);
	CHECK(kit_blocked(&task));
	CHECK_EQ(rt_buffer_create(&bf, "later", 8, B_FIFO), 0);
	kit_join(&task);
	CHECK_EQ(bind_result, 0);
	CHECK_EQ(awaited.handle, bf.handle);
	kit_spawn_blocked(&victim, 10, bind_it, (void *)"never");
	CHECK_EQ(rt_task_unblock(&victim), 0);
	kit_join(&victim);
	CHECK_EQ(bind_result, -EINTR);
}

/* --- Descriptors -------------------------------------------------------------------------------------------------- */

static void refused(RT_BUFFER *bf)
{
	static const struct timespec zero = { 0, 0 }, past = { 1, 0 };
	char data[4] = "abc", untouched[4] = "abc";
	RT_BUFFER_INFO info, info_before;
	RT_BUFFER before;

	if (bf)
		memcpy(&before, bf, sizeof(before));
	memset(&info, 0x5a, sizeof(info));
	info_before = info;
	CHECK_EQ(rt_buffer_read(bf, data, 1, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_buffer_read(bf, data, 1, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_buffer_read(bf, data, 4, MS), -EINVAL);
	CHECK_EQ(rt_buffer_read_until(bf, data, 1, 1), -EINVAL);
	CHECK_EQ(rt_buffer_read_timed(bf, data, 1, NULL), -EINVAL);
	CHECK_EQ(rt_buffer_read_timed(bf, data, 1, &zero), -EINVAL);
	CHECK_EQ(rt_buffer_write(bf, data, 1, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_buffer_write(bf, data, 1, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_buffer_write(bf, data, 4, MS), -EINVAL);
	CHECK_EQ(rt_buffer_write_until(bf, data, 1, TM_INFINITE), -EINVAL);
	CHECK_EQ(rt_buffer_write_timed(bf, data, 1, &past), -EINVAL);
	CHECK_EQ(rt_buffer_clear(bf), -EINVAL);
	CHECK_EQ(rt_buffer_inquire(bf, &info), -EINVAL);
	CHECK_EQ(rt_buffer_delete(bf), -EINVAL);
	CHECK_SAME_BYTES(data, untouched, sizeof(data));
	CHECK_SAME_BYTES(&info, &info_before, sizeof(info));
	if (bf)
		CHECK_SAME_BYTES(bf, &before, sizeof(before));
}

static void bad_descriptors(void)
{
	unsigned long long state = 88172645463325252ULL;
	RT_BUFFER live, stale, zeroed = { 0 }, other, at[2];
	RT_SEM sem;
	int i;

	CHECK_EQ(rt_buffer_create(&live, "live", 8, B_FIFO), 0);
	PUT(&live, "abc");
	CHECK_EQ(rt_buffer_create(&stale, "stale", 8, B_FIFO), 0);
	PUT(&stale, "abc");
	CHECK_EQ(rt_buffer_delete(&stale), 0);
	refused(&stale);
	CHECK_EQ(rt_buffer_create(&other, "stale", 8, B_FIFO), 0);
	refused(&stale);
	CHECK_EQ(rt_buffer_delete(&other), 0);
	refused(&zeroed);
	refused(NULL);
	for (i = 1; i < 8; i++) {
		memcpy((char *)at + i, &live, sizeof(live));
		refused((RT_BUFFER *)(void *)((char *)at + i));
		CHECK_EQ(rt_buffer_create((RT_BUFFER *)(void *)((char *)at + i), "askew", 8, B_FIFO), -EINVAL);
		CHECK_EQ(rt_buffer_bind((RT_BUFFER *)(void *)((char *)at + i), "live", TM_NONBLOCK), -EINVAL);
	}
	CHECK_EQ(rt_sem_create(&sem, NULL, 1, S_FIFO), 0);
	memcpy(&other, &sem, sizeof(other));
	refused(&other);
	CHECK_EQ(rt_sem_p(&sem, TM_NONBLOCK), 0);
	for (i = 0; i < 64; i++) {
		other.handle = live.handle ^ ((uintptr_t)1 << i);
		refused(&other);
	}
	other.handle = (uintptr_t)&live;
	refused(&other);
	for (i = 0; i < 2000; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		other.handle = (uintptr_t)state;
		refused(&other);
	}
	CHECK_BUFFER(&live, 3, 0, 0);
	GET(&live, "abc");
	CHECK_EQ(rt_buffer_inquire(&live, NULL), -EINVAL);
}

static void stale_handles_stay_dead(void)
{
	enum { GENERATIONS = 1000 };
	static RT_BUFFER old[GENERATIONS];
	RT_BUFFER bf;
	int i, k;

	for (i = 0; i < GENERATIONS; i++) {
		MAKE_BUFFER(&bf, 8, B_FIFO);
		PUT(&bf, "z");
		for (k = 0; k < i; k++)
			CHECK(old[k].handle != bf.handle);
		if (i > 0)
			refused(&old[i - 1]);
		refused(&old[i / 2]);
		GET(&bf, "z");
		old[i] = bf;
		CHECK_EQ(rt_buffer_delete(&bf), 0);
	}
	for (k = 0; k < GENERATIONS; k++)
		refused(&old[k]);
}

KIT_CASES(
	CASE(bad_arguments), CASE(impossible_sizes), CASE(any_size_is_exact), CASE(memory_is_given_back),
	CASE(out_of_memory_and_back), CASE(names), CASE(duplicate_name), CASE(binding), CASE(binding_waits_for_creation),
	CASE(bad_descriptors), CASE(stale_handles_stay_dead))
