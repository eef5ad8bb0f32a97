/*
 * <nucleus/timer.h> - for 2.x sources that include it; the core's timers are not for
 * programs.
 */
#ifndef _NUCLEUS_TIMER_H
#define _NUCLEUS_TIMER_H

#include <nucleus/types.h>

#endif /* !_NUCLEUS_TIMER_H */
