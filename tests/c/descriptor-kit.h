/*
 * Descriptors that name no object of the type at hand: every service refuses them and leaves their bytes alone. Include it
 * after kit.h and tasks.h.
 *
 *     static const struct service services[] = { { "rt_event_signal", call_signal, -EINVAL }, ... };
 *     TRY_SERVICES(services);
 *     refused_by_every_service(&foreign, "a semaphore's handle");
 */
#ifndef DESCRIPTOR_KIT_H
#define DESCRIPTOR_KIT_H

struct service {
	const char *name;
	int (*call)(void *descriptor);
	int want;
};

static const struct service *services_tried;
static unsigned services_count;

/* The services tried from here on. */
#define TRY_SERVICES(table) (services_tried = (table), services_count = sizeof(table) / sizeof((table)[0]))

KIT_UNUSED static void refused_by_every_service(void *descriptor, const char *what)
{
	unsigned i;

	CHECK(services_count > 0);
	for (i = 0; i < services_count; i++) {
		unsigned char before[sizeof(uintptr_t)];
		int result;

		if (descriptor)
			memcpy(before, descriptor, sizeof(before));
		result = services_tried[i].call(descriptor);
		if (result != services_tried[i].want)
			kit_fail(__FILE__, __LINE__, "%s on %s gave %d%s", services_tried[i].name, what, result,
				 kit_errno_name(result));
		if (descriptor)
			CHECK_SAME_BYTES(descriptor, before, sizeof(before));
	}
}

/* A good handle in a bad place. */
KIT_UNUSED static void refused_if_misaligned(uintptr_t live)
{
	uintptr_t at[2];
	int offset;

	for (offset = 1; offset < (int)sizeof(live); offset++) {
		memset(at, 0x5a, sizeof(at));
		memcpy((char *)at + offset, &live, sizeof(live));
		refused_by_every_service((char *)at + offset, "a misaligned descriptor");
	}
}

/* The same generation and neighbours of it under the other kinds: fast paths compare all bits at once. */
KIT_UNUSED static void refused_as_other_kinds(uintptr_t handle, unsigned generations, const char *what)
{
	const int top = (int)(8 * sizeof(handle)) - 4, generation = sizeof(handle) == 8 ? 32 : 16;
	uintptr_t rest = (handle & (((uintptr_t)1 << top) - 1)) + ((uintptr_t)generations << generation);
	uintptr_t kind;
	char text[80];

	for (kind = 0; kind < 16; kind++) {
		uintptr_t other = rest | kind << top;

		if (generations == 0 && other == handle)
			continue;
		snprintf(text, sizeof(text), "%s, kind %d", what, (int)kind);
		refused_by_every_service(&other, text);
	}
}

/* With one object of the type alive, no other value is a handle. */
KIT_UNUSED static void refused_unless_live(uintptr_t live)
{
	unsigned long long state = 88172645463325252ULL;
	uintptr_t other = 0;
	int i;

	refused_by_every_service(NULL, "NULL");
	refused_by_every_service(&other, "a zeroed descriptor");
	refused_if_misaligned(live);
	refused_as_other_kinds(live, 0, "a live handle");
	for (i = 0; i < 2 * (int)(8 * sizeof(live)); i++) {
		other = live ^ ((uintptr_t)1 << i / 2) ^ (uintptr_t)(i % 2 ? 1 : 0);
		if (other != live)
			refused_by_every_service(&other, "a handle with one or two bits flipped");
	}
	for (i = 1; i < 64; i++) {
		other = live + (uintptr_t)i;
		refused_by_every_service(&other, "a handle plus a little");
		other = live - (uintptr_t)i;
		refused_by_every_service(&other, "a handle minus a little");
	}
	for (i = 0; i < 2048; i++) {
		other = (uintptr_t)i;
		if (other != live)
			refused_by_every_service(&other, "a small number");
		other = ~(uintptr_t)i;
		refused_by_every_service(&other, "a small negative number");
	}
	other = (uintptr_t)&other;
	refused_by_every_service(&other, "an address on the stack");
	other = (uintptr_t)&services_tried;
	refused_by_every_service(&other, "an address of data");
	other = (uintptr_t)refused_by_every_service;
	refused_by_every_service(&other, "an address of code");
	for (i = 0; i < 10000; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		other = (uintptr_t)state;
		if (other != live)
			refused_by_every_service(&other, "a random number");
	}
}

/* The same answers for the initial thread, a plain thread and a task. */
KIT_UNUSED static void for_every_caller(void (*body)(void *))
{
	body(NULL);
	kit_plain(body, NULL);
	as_task(10, body, NULL);
}

#endif /* DESCRIPTOR_KIT_H */
