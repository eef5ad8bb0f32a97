/* Buffers of the 2.x interface: what differs from 3.x (native2.md 1.5, 3.2, 6, 7.7). */
#include "native-kit.h"
#include <native/buffer.h>

static RT_BUFFER bf;

static void check_buffer(size_t stored, int readers, int writers)
{
	RT_BUFFER_INFO info;

	CHECK_EQ(rt_buffer_inquire(&bf, &info), 0);
	CHECK_EQ(info.totalmem - info.availmem, stored);
	CHECK_EQ(info.iwaiters, readers);
	CHECK_EQ(info.owaiters, writers);
}

static void unknown_bits_are_ignored(void)
{
	static const int modes[] = { 0x2, 0x4, 0x100, 0x200, 0x400, 0x10000, -1 };
	char data[4] = "";
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		CHECK_EQ(rt_buffer_create(&bf, NULL, 4, modes[i]), 0);
		CHECK(bf.opaque != 0);
		CHECK_EQ(rt_buffer_write(&bf, "abc", 3, TM_NONBLOCK), 3);
		check_buffer(3, 0, 0);
		CHECK_EQ(rt_buffer_read(&bf, data, 3, TM_NONBLOCK), 3);
		CHECK_STR(data, "abc");
		CHECK_EQ(rt_buffer_delete(&bf), 0);
	}
}

static void refusals(void)
{
	RT_BUFFER before;

	memset(&bf, 0x5a, sizeof(bf));
	before = bf;
	CHECK_EQ(rt_buffer_create(&bf, "b", 0, B_PRIO), -EINVAL);
	CHECK_SAME_BYTES(&bf, &before, sizeof(bf));
	CHECK_EQ(rt_buffer_create(NULL, "b", 4, B_PRIO), -EINVAL);
	CHECK_EQ(rt_buffer_create(&bf, "b", 4, B_PRIO), 0);
	before = bf;
	CHECK_EQ(rt_buffer_create(&bf, "b", 4, 0x200), -EEXIST);
	CHECK_SAME_BYTES(&bf, &before, sizeof(bf));
}

static void read_one(void *text)
{
	char data[2] = "";

	CHECK_EQ(rt_buffer_read(&bf, data, 1, TM_INFINITE), 1);
	mark((const char *)text);
}

static void order_of_service(int mode, const char *want)
{
	RT_TASK task[3];
	int i;

	CHECK_EQ(rt_buffer_create(&bf, NULL, 4, mode), 0);
	spawn_blocked(&task[0], 10, read_one, (void *)"ten");
	spawn_blocked(&task[1], 30, read_one, (void *)"thirty");
	spawn_blocked(&task[2], 20, read_one, (void *)"twenty");
	check_buffer(0, 3, 0);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(rt_buffer_write(&bf, "x", 1, TM_NONBLOCK), 1);
		until(mark_count() == i + 1);
	}
	for (i = 0; i < 3; i++)
		join(&task[i]);
	expect_marks(want);
	clear_marks();
	CHECK_EQ(rt_buffer_delete(&bf), 0);
}

static void modes(void)
{
	order_of_service(B_FIFO, "ten thirty twenty");
	order_of_service(B_PRIO, "thirty twenty ten");
	order_of_service(B_PRIO | 0x200, "thirty twenty ten");
}

static void times(void)
{
	long long start = kit_now();
	char data[8];

	CHECK_EQ(rt_buffer_create(&bf, NULL, 4, B_PRIO), 0);
	CHECK_EQ(rt_buffer_read(&bf, data, 1, 5 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 5 * MS);
	start = kit_now();
	CHECK_EQ(rt_buffer_read_until(&bf, data, 1, rt_timer_read() + 5 * MS), -ETIMEDOUT);
	CHECK(kit_now() - start >= 5 * MS);
	CHECK_EQ(rt_buffer_read_until(&bf, data, 1, 1), -ETIMEDOUT);
	CHECK_EQ(rt_buffer_write_until(&bf, "abcd", 4, 1), 4);
	CHECK_EQ(rt_buffer_write_until(&bf, "e", 1, TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_buffer_write(&bf, "e", 1, 5 * MS), -ETIMEDOUT);
	CHECK_EQ(rt_buffer_write(&bf, "abcde", 5, TM_NONBLOCK), -EINVAL);
	CHECK_EQ(rt_buffer_clear(&bf), 0);
	check_buffer(0, 0, 0);
}

static ssize_t result;

static void read_in_vain(void *arg)
{
	char data[4];

	(void)arg;
	result = rt_buffer_read(&bf, data, 4, TM_INFINITE);
}

static void deletion_ends_waits(void)
{
	RT_TASK task;

	CHECK_EQ(rt_buffer_create(&bf, NULL, 4, B_PRIO), 0);
	spawn_blocked(&task, 10, read_in_vain, NULL);
	CHECK_EQ(rt_buffer_delete(&bf), 0);
	join(&task);
	CHECK_EQ(result, -EIDRM);
	CHECK_EQ(rt_buffer_clear(&bf), -EINVAL);
	CHECK_EQ(rt_buffer_delete(&bf), -EINVAL);
}

static void bind_outside_a_task(void *arg)
{
	RT_BUFFER bound;

	(void)arg;
	CHECK_EQ(rt_buffer_bind(&bound, "absent", MS), -EWOULDBLOCK);
	CHECK_EQ(rt_buffer_bind(&bound, "absent", TM_INFINITE), -EWOULDBLOCK);
	CHECK_EQ(rt_buffer_bind(&bound, "absent", TM_NONBLOCK), -EWOULDBLOCK);
	CHECK_EQ(rt_buffer_bind(&bound, "present", TM_INFINITE), 0);
	CHECK_EQ(bound.opaque, bf.opaque);
	CHECK_EQ(rt_buffer_unbind(&bound), 0);
	CHECK_EQ(bound.opaque, 0);
}

static void binding(void)
{
	RT_BUFFER bound;

	CHECK_EQ(rt_buffer_create(&bf, "present", 4, B_PRIO), 0);
	kit_plain(bind_outside_a_task, NULL);
	CHECK_EQ(rt_buffer_bind(&bound, "absent", MS), -ETIMEDOUT);
	CHECK_EQ(rt_buffer_bind(&bound, "present", MS), 0);
}

KIT_CASES(
	CASE(unknown_bits_are_ignored), CASE(refusals), CASE(modes), CASE(times), CASE(deletion_ends_waits), CASE(binding))
