/* Tests an operation under failing allocations: one allocation after the other fails (or some of them, see
 * level.h) until an attempt succeeds without reaching the failing one. */
#ifndef VIEWFOLD_TEST_SHORT_MEMORY_H
#define VIEWFOLD_TEST_SHORT_MEMORY_H

#include "frontend/viewfold.h"

/* Each attempt runs in a context of its own and returns whether it succeeded; if it did not, it has set
 * *error, whose status must be VF_ERR_MEMORY. Checks that nothing stays allocated and that all sizes passed
 * to the allocator are right. */
void short_memory_everywhere(bool (*attempt)(vf_context *context), const vf_error *error);

#endif
