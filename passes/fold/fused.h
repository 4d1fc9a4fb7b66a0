/* Inside folding slabs: fused.c, and key_blocks.c for those that go over keys in blocks. */
#ifndef VIEWFOLD_PASSES_FOLD_FUSED_H
#define VIEWFOLD_PASSES_FOLD_FUSED_H

#include "fold.h"

typedef struct fold_row_group {
  const ir_row_group *row_group;
  ir_ref iteration;
  ir_ref start[IR_MAX_RANK]; /* by shared loop: its position, of the innermost that of the first row */
  ir_ref rows;               /* number of rows in this round */
  uint64_t done;             /* set of the values whose locals are stored */
  ir_ref *effects;
  uint32_t effect_count;
  /* of the blocks of keys: */
  ir_ref block, first, keys; /* the range over them; the first key of this one, and how many there are */
  ir_ref zero;               /* a node that is 0 wherever it is asked for; or 0 */
  uint32_t next_local;
} fold_row_group;

/* The value's position in this round and block, over ranges of its own. */
pass_point fold_value_point(folder *f, const fold_row_group *s, const ir_fused_value *v);
/* Where a position of the value lies in its local; that local; elements in it. */
ir_ref fold_local_index(folder *f, const fold_row_group *s, const ir_fused_value *v, const pass_point *p);
ir_ref fold_local_of(folder *f, const fold_row_group *s, uint32_t number);
int64_t fold_local_size(folder *f, const fold_row_group *s, const ir_fused_value *v);
/* Adds a store to the effects. */
bool fold_effect(folder *f, fold_row_group *s, ir_ref buffer, ir_ref index, ir_ref value);
/* The effects of value number i: into its local, and from there to memory, or right to memory. */
bool fold_value(folder *f, fold_row_group *s, uint32_t i);
/* The same for a value whose local is stored. */
bool fold_stored(folder *f, fold_row_group *s, uint32_t i);

/* key_blocks.c: the effects of all values of a slab with blocks of keys, and how many those are at most */
bool fold_blocks(folder *f, fold_row_group *s);
uint32_t fold_blocks_most(const ir_row_group *row_group);

#endif
