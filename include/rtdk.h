/*
 * <rtdk.h> - printing without waiting for the output.
 *
 * Text goes to a buffer of the calling thread, made when first used, and is
 * written by a helper thread of low priority some 100 ms later (RT_PRINT_PERIOD
 * in the environment, in ms), and at the end of the process by exit() or from
 * main(); _exit() and quick_exit() lose it. Order is kept, within a thread and
 * among threads; what printf() writes meanwhile may come first. Text that finds
 * the buffer full is cut. From exit() on, each text is written at once.
 *
 * After a fork() the parent writes what was printed before. A closed pipe raises
 * SIGPIPE for the process. Unlike other services these set errno, as printf()
 * does, and printing works in signal handlers, as far as the C library formats
 * without asking for memory there.
 *
 * Part of the 3.x and of the 2.x interface: all alchemy/ and native/ headers
 * include this one.
 */
#ifndef _RTDK_H
#define _RTDK_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Print to the standard output, as printf() does.
 *
 * Never waits. Callers: any.
 *
 * @param format format of printf()
 * @return number of bytes put into the buffer, or
 * @retval -1 the text cannot be formatted (errno as printf() sets it), a pointer
 *            is NULL (EINVAL), or there is no memory for a buffer (EIO)
 */
int rt_printf(const char *format, ...)
	__attribute__((__format__(__printf__, 1, 2)));

/**
 * Print to the standard output, as vprintf() does.
 *
 * Never waits. Callers: any.
 *
 * @param format format of printf()
 * @param args   its arguments
 * @return number of bytes put into the buffer, or
 * @retval -1 as for rt_printf()
 */
int rt_vprintf(const char *format, va_list args)
	__attribute__((__format__(__printf__, 1, 0)));

/**
 * Print to a stream, as fprintf() does.
 *
 * The stream must stay open until the text is written, see
 * rt_print_flush_buffers(). Never waits. Callers: any.
 *
 * @param stream stream
 * @param format format of printf()
 * @return number of bytes put into the buffer, or
 * @retval -1 as for rt_printf()
 */
int rt_fprintf(FILE *stream, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/**
 * Print to a stream, as vfprintf() does.
 *
 * The stream must stay open until the text is written. Never waits. Callers: any.
 *
 * @param stream stream
 * @param format format of printf()
 * @param args   its arguments
 * @return number of bytes put into the buffer, or
 * @retval -1 as for rt_printf()
 */
int rt_vfprintf(FILE *stream, const char *format, va_list args)
	__attribute__((__format__(__printf__, 2, 0)));

/**
 * Print a line to the standard output, as puts() does.
 *
 * Never waits. Callers: any.
 *
 * @param s text; a newline is added
 * @return number of bytes put into the buffer, newline included, or
 * @retval -1 @a s is NULL (errno is EINVAL), or there is no memory for a buffer
 *            (EIO)
 */
int rt_puts(const char *s);

/**
 * Print a string to a stream, as fputs() does.
 *
 * The stream must stay open until the text is written. Never waits. Callers: any.
 *
 * @param s      text
 * @param stream stream
 * @return number of bytes put into the buffer, or
 * @retval -1 as for rt_puts()
 */
int rt_fputs(const char *s, FILE *stream);

/**
 * Print a character to a stream, as fputc() does.
 *
 * The stream must stay open until it is written. Never waits. Callers: any.
 *
 * @param c      character
 * @param stream stream
 * @return the character as an unsigned char, or
 * @retval -1 the buffer is full, the stream is NULL (errno is EINVAL), or there is
 *            no memory for a buffer (EIO)
 */
int rt_fputc(int c, FILE *stream);

/**
 * Print a character to the standard output, as putchar() does.
 *
 * Never waits. Callers: any.
 *
 * @param c character
 * @return the character as an unsigned char, or
 * @retval -1 as for rt_fputc()
 */
int rt_putchar(int c);

/**
 * Print bytes to a stream, as fwrite() does.
 *
 * The stream must stay open until they are written. Never waits. Callers: any.
 *
 * @param ptr    bytes
 * @param size   bytes of an item
 * @param nmemb  number of items
 * @param stream stream
 * @return number of items put into the buffer: fewer if it is full; 0 also if a
 *         pointer is NULL (errno is EINVAL), or there is no memory for a buffer (EIO)
 */
size_t rt_fwrite(const void *ptr, size_t size, size_t nmemb, FILE *stream);

/**
 * Make an entry in the system's log, as syslog() does.
 *
 * By the helper thread, some 100 ms later; what openlog() says then counts. Never
 * waits. Callers: any.
 *
 * @param priority facility and level, as for syslog()
 * @param format   format of printf(); %m is the error message of errno
 */
void rt_syslog(int priority, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/**
 * Make an entry in the system's log, as vsyslog() does; see rt_syslog().
 *
 * @param priority facility and level, as for syslog()
 * @param format   format of printf(); %m is the error message of errno
 * @param args     its arguments
 */
void rt_vsyslog(int priority, const char *format, va_list args)
	__attribute__((__format__(__printf__, 2, 0)));

/**
 * Check that the caller is not in the real-time domain of a co-kernel: there is none.
 *
 * No effect. Callers: any.
 */
void assert_nrt(void);

/**
 * Choose whether threads get a buffer when they print first: they always do.
 *
 * No effect. Callers: any.
 *
 * @param enable ignored
 */
void rt_print_auto_init(int enable);

/**
 * Make the buffer of the calling thread, or give it another size or name.
 *
 * Not needed before printing; it saves the first print the work. Text in the old
 * buffer is not lost. Callers: all but alarm handlers.
 *
 * @param buffer_size bytes, at least 256; 0 for the default, 16384 unless
 *                    RT_PRINT_BUFFER in the environment says otherwise
 * @param name        name of the buffer, or NULL; see rt_print_buffer_name()
 * @retval 0      done
 * @retval EINVAL @a buffer_size is 1..255; mind that the code is not negated
 * @retval ENOMEM no memory left; not negated
 */
int rt_print_init(size_t buffer_size, const char *name);

/**
 * Write out what all threads have printed, as rt_print_flush_buffers() does.
 *
 * Usual as the last call of a program; printing is possible still. May wait for
 * the output. Callers: all but alarm handlers.
 */
void rt_print_cleanup(void);

/**
 * Tell the name of the calling thread's buffer.
 *
 * Eight hexadecimal digits of pthread_self(), a blank and the name given to
 * rt_print_init(), at most 31 characters in all. Never waits. Callers: any.
 *
 * @return the name, good until the thread ends or calls rt_print_init(); NULL if
 *         it has no buffer yet
 */
const char *rt_print_buffer_name(void);

/**
 * Write out what all threads have printed.
 *
 * On return all that was printed before the call has been handed to its streams,
 * and they are flushed. May wait for the output. Callers: all but alarm handlers.
 */
void rt_print_flush_buffers(void);

#ifdef __cplusplus
}
#endif

#endif /* !_RTDK_H */
