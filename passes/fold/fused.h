/* Internal to folding fused row groups: fused.c, and key_blocks.c for those that compute keys in blocks. */
#ifndef VIEWFOLD_PASSES_FOLD_FUSED_H
#define VIEWFOLD_PASSES_FOLD_FUSED_H

#include "fold.h"

typedef struct fold_row_group {
  const ir_row_group *row_group;
  ir_ref iteration;
  ir_ref start[IR_MAX_RANK]; /* by shared loop: its index; of the innermost one, the index of the first row */
  ir_ref rows;               /* number of rows in this iteration */
  ir_ref each;               /* number of rows in all iterations but the last */
  /* Ranges of whole axes that stand for the indices of shared loops while a value is folded, and what they
   * stand for in this iteration. */
  ir_ref whole[IR_MAX_RANK], index[IR_MAX_RANK];
  uint32_t whole_count;
  uint64_t done; /* set of the values whose locals are stored */
  ir_ref *effects;
  uint32_t effect_count;
  /* for blocks of keys: */
  ir_ref block, first,
      keys;    /* the range over blocks; the first key of this block, and the number of its keys */
  ir_ref zero; /* a node to be read as 0; 0: there is none */
  uint32_t next_local;
} fold_row_group;

/* The points of the value in this iteration and block, over ranges of their own. */
pass_point fold_value_point(folder *f, const fold_row_group *s, const ir_fused_value *v);
/* The index in the value's local of a point of the value; the local of value `number`; its elements. A local
 * is row-major in the axes of its value, where the row axis has `rows` elements, and goes last if the value
 * is transposed; the other shared axes are left out. */
ir_ref fold_local_index(folder *f, const fold_row_group *s, const ir_fused_value *v, const pass_point *p);
ir_ref fold_local_of(folder *f, const fold_row_group *s, uint32_t number);
int64_t fold_local_size(folder *f, const fold_row_group *s, const ir_fused_value *v);
/* Appends a store to the effects; false on failure. */
bool fold_effect(folder *f, fold_row_group *s, ir_ref buffer, ir_ref index, ir_ref value);
/* Appends the effects of value number i: into its local, and from there to memory, or directly to memory. */
bool fold_value(folder *f, fold_row_group *s, uint32_t i);
/* The same where the effect that fills the local is there already. */
bool fold_stored(folder *f, fold_row_group *s, uint32_t i);

/* key_blocks.c: the effects of all values of a row group with blocks of keys, and their number at most */
bool fold_blocks(folder *f, fold_row_group *s);
uint32_t fold_blocks_most(const ir_row_group *row_group);

#endif
