/*
 * <nucleus/types.h> - constants of the 2.x core that programs use.
 *
 * They are those of <native/types.h>; including this makes the translation unit
 * speak 2.6 as that does.
 */
#ifndef _NUCLEUS_TYPES_H
#define _NUCLEUS_TYPES_H

#include <native/types.h>

#endif /* !_NUCLEUS_TYPES_H */
