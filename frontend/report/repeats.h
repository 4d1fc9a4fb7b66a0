/* The best repeat of a list of tokens: a range of several that is worth being one. */
#ifndef VIEWFOLD_FRONTEND_REPORT_REPEATS_H
#define VIEWFOLD_FRONTEND_REPORT_REPEATS_H

#include "frontend/report/parts.h"

/* A stretch of the list of operations that counts as one token. */
typedef struct fe_token {
  uint64_t what;
  uint32_t from, end; /* operations */
} fe_token;

typedef struct fe_repeat {
  uint32_t *starts; /* of the repeats, indices of tokens, ascending; they do not overlap */
  size_t count, cap;
  uint32_t length; /* tokens; 0: nothing repeats */
} fe_repeat;

/* Finds the range whose repeats save most tokens, divided by how many values cross its borders (`crossing`,
 * by operation), among those that are joined alike. False when memory is short. Free `starts`. */
bool fe_repeat_find(const ir_mem *mem, const fe_list *list, const uint32_t *crossing, const fe_token *tokens,
                    size_t count, fe_repeat *out);

/* A digest of what the operations of a range are, and which of them each reads. */
uint64_t fe_range_digest(const fe_list *list, uint32_t from, uint32_t end);

#endif
