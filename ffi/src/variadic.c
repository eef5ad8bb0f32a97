/* The variadic functions, which Rust cannot define: they collect their arguments and go on in Rust. A function of a C file is not
 * exported by a Rust library; print.rs exports jumps to these. */
#include <stdarg.h>
#include <stdio.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* Defined in print.rs. */
HIDDEN int alchemy_print(FILE *stream, const char *format, va_list arguments);
HIDDEN void alchemy_log(int priority, const char *format, va_list arguments);

HIDDEN int alchemy_printf(const char *format, ...);
HIDDEN int alchemy_fprintf(FILE *stream, const char *format, ...);
HIDDEN void alchemy_syslog(int priority, const char *format, ...);

int alchemy_printf(const char *format, ...)
{
	va_list arguments;
	int result;

	va_start(arguments, format);
	result = alchemy_print(stdout, format, arguments);
	va_end(arguments);
	return result;
}

int alchemy_fprintf(FILE *stream, const char *format, ...)
{
	va_list arguments;
	int result;

	va_start(arguments, format);
	result = alchemy_print(stream, format, arguments);
	va_end(arguments);
	return result;
}

void alchemy_syslog(int priority, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	alchemy_log(priority, format, arguments);
	va_end(arguments);
}
