/* A check of the registry's sharding rules on data.
 *
 * Each node of a graph is evaluated whole, and again in shards for every factor of its rule that may be
 * split: operands are split along the axes that have the factor (ceil(n/k) indices each, fewer in the last
 * shard), the operation is evaluated on each shard with the shard's sizes and windows, and the results are
 * combined along the factor's axes or, if the factor is contracted, as op_sharding_joined_by says. An operand
 * without the factor is whole in every shard. The combined value must be that of the whole node. If every
 * node is right, so is the graph, however each of its nodes is split.
 *
 * The same for partial sums: if op_defers allows it, the operation on one summand plus the operation on the
 * other must be the operation on their sum. If op_defers does not allow it, some graph must refute that
 * equation. */
#ifndef VIEWFOLD_TEST_SHARDED_H
#define VIEWFOLD_TEST_SHARDED_H

#include "ir/eval/eval.h"

enum { SHARDED_OPERANDS = 4, SHARDED_MASKS = 1 << SHARDED_OPERANDS };

typedef struct sharded {
  ir_graph *g;
  const ir_binding_input *inputs;
  const ir_var_value *vars;
  size_t input_count, var_count;
  int shards; /* number of shards per factor, at least 2 */
  /* results, zero before the first check */
  long nodes, factors, contracted, sums;
  bool out_of_range; /* the graph has no value: nothing was checked */
  long tried[IR_OP_COUNT][SHARDED_MASKS],
      refuted[IR_OP_COUNT][SHARDED_MASKS]; /* of what op_defers does not allow */
  char shapes[128]; /* of the results of all shards, for the first factor of the last node: "[2,6] [2,6]" */
  char what[1024];  /* the error, "" if there is none */
} sharded;

/* Checks all nodes that roots[0..n) depend on; false, with `what` set, if a rule is wrong. */
bool sharded_check(sharded *s, const ir_ref *roots, size_t n);

#endif
