/* Which axes of the mesh divide the factors of one operation. */
#ifndef VIEWFOLD_PASSES_SHARD_FACTORS_H
#define VIEWFOLD_PASSES_SHARD_FACTORS_H

#include "impl.h"

typedef struct shard_factors {
  shard_state *s;
  const op_sharding *rule;
  shard_axes axes[OP_FACTORS_MAX];
  bool whole[OP_FACTORS_MAX]; /* never split here */
  bool even[OP_FACTORS_MAX];  /* only into equal parts: an axis has it beside others */
  bool contracted[OP_FACTORS_MAX];
  shard_axes late; /* along which operands stay pending: no factor takes them */
} shard_factors;

/* assign.c. Does a factor, other than `except`, have an axis that overlaps this one? */
bool shard_is_used(const shard_factors *f, ir_subaxis x, int except);
/* Fills in whole, even and contracted; whole_index: of a gather, the indexed axis is whole. */
void shard_find_whole(shard_factors *f, ir_ref node, bool whole_index);
/* Takes the axes from factors inside of an axis whose outer factors are not divided into single indices.
 * False: some had axes. */
bool shard_drop_inner(shard_factors *f);
void shard_spec_of_term(const shard_factors *f, const op_term *term, ir_spec *out);
/* The operation that joins the pending results of the node. */
ir_op shard_joined_by(const ir_graph *g, ir_ref node);
/* pending.c. Operands that are pending stay so, in *out, where the operation commutes with the sum. */
void shard_choose_pending(shard_factors *f, ir_ref node, const ir_spec *const *specs, shard_choice *out);

#endif
