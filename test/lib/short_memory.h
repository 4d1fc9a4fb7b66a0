/* What happens where an allocation fails: each one in turn, or some of them
 * (level.h), until an attempt comes through without. */
#ifndef VIEWFOLD_TEST_SHORT_MEMORY_H
#define VIEWFOLD_TEST_SHORT_MEMORY_H

#include "frontend/viewfold.h"

/* An attempt is made in a context of its own, and says whether it came through; where it did not, it has set
 * error, and that is VF_ERR_MEMORY. Nothing is left allocated, and no size is told wrong. */
void short_memory_everywhere(bool (*attempt)(vf_context *context), const vf_error *error);

#endif
