/* rustc's instrumentation calls these; gcc's older runtime knows only the intercepted libc functions. */
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

void *__tsan_memcpy(void *to, const void *from, size_t len);
void *__tsan_memmove(void *to, const void *from, size_t len);
void *__tsan_memset(void *to, int value, size_t len);

void *__tsan_memcpy(void *to, const void *from, size_t len)
{
	return memcpy(to, from, len);
}

void *__tsan_memmove(void *to, const void *from, size_t len)
{
	return memmove(to, from, len);
}

void *__tsan_memset(void *to, int value, size_t len)
{
	return memset(to, value, len);
}

#ifdef __cplusplus
}
#endif
