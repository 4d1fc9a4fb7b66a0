/* What the sharding rules of the registry say, tried out on data.
 *
 * Each node of a graph is evaluated as it is, and once more in parts, for every factor of its rule that may
 * be split: operands are cut along the axes that have the factor (ceil(n/k) positions each, the last part
 * what is left), the operation is evaluated on each part with its sizes and windows those of the part, and
 * the results are put together along the factor's axes, or, where the factor is contracted, as
 * op_sharding_joined_by says. An operand without the factor is there as a whole in every part. That must be
 * the value of the whole node. Every node of a graph being right, so is the graph, however each of them is
 * split.
 *
 * Partial sums likewise: where op_defers allows it, the operation on one summand plus that on the other is
 * the operation on their sum. Where it does not, some graph must show that it is not. */
#ifndef VIEWFOLD_TEST_SHARDED_H
#define VIEWFOLD_TEST_SHARDED_H

#include "ir/eval/eval.h"

enum { SHARDED_OPERANDS = 4, SHARDED_MASKS = 1 << SHARDED_OPERANDS };

typedef struct sharded {
  ir_graph *g;
  const ir_binding_input *inputs;
  const ir_var_value *vars;
  size_t input_count, var_count;
  int parts; /* into which a factor is split, at least 2 */
  /* results, to be zero at first */
  long nodes, factors, contracted, sums;
  bool out_of_range; /* the graph has no value: nothing was checked */
  long tried[IR_OP_COUNT][SHARDED_MASKS],
      refuted[IR_OP_COUNT][SHARDED_MASKS]; /* of what may not be deferred */
  char shapes[128]; /* of the results of all parts, of the first factor of the last node: "[2,6] [2,6]" */
  char what[1024];  /* is wrong, "" for nothing */
} sharded;

/* All nodes that roots[0..n) are made of; false with `what` set if a rule is wrong. */
bool sharded_check(sharded *s, const ir_ref *roots, size_t n);

#endif
