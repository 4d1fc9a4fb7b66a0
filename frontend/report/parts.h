/* Parts of a long list of operations, by structure: the layers of a network.
 *
 * The list is in an order in which operands come first. A part is a range of it; parts nest. Ranges that are
 * alike (the same operations, joined in the same way; sizes may differ) are parts of one class. What repeats
 * nowhere is divided where the fewest values cross, so that no part, and not the list itself, has more than
 * FE_PARTS_SHOWN entries. */
#ifndef VIEWFOLD_FRONTEND_REPORT_PARTS_H
#define VIEWFOLD_FRONTEND_REPORT_PARTS_H

#include "ir/base.h"

/* Entries of a part: what a person can look over, and a layout library places in a few hundredths of a
 * second. */
enum { FE_PARTS_SHOWN = 60 };

typedef struct fe_list {
  size_t count;
  const uint64_t *tokens;   /* what each operation is; equal ones may be told apart by their operands alone */
  const uint32_t *first;    /* count + 1 entries: where each operation's operands begin */
  const uint32_t *operands; /* indices in the list; UINT32_MAX: none of the list */
} fe_list;

typedef enum fe_part_kind {
  FE_PART_LAYER, /* there are others like it */
  FE_PART_PIECE  /* of a list that would be too long; `class` is 0 */
} fe_part_kind;

typedef struct fe_part {
  fe_part_kind kind;
  uint32_t parent;    /* index of the part around it, which comes before it; UINT32_MAX: none */
  uint32_t from, end; /* its operations */
  uint32_t class;     /* of its kind, from 0 on, in the order in which they appear */
} fe_part;

typedef struct fe_parts {
  fe_part *list; /* in the order of `from`, outer parts first */
  size_t count, cap;
} fe_parts;

/* False when memory is short. Call fe_parts_free in either case. */
bool fe_parts_find(const ir_mem *mem, const fe_list *list, fe_parts *out);
void fe_parts_free(const ir_mem *mem, fe_parts *parts);

#endif
