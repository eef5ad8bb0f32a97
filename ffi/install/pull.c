/* In front of the library in the linker scripts by which programs name it: a reference, so that a linker that comes by before the
 * program's own objects, or is told --as-needed, does not drop the library. */
extern int rt_timer_inquire();

__attribute__((used)) static int (*const alchemy)() = rt_timer_inquire;
