/* Collectives in C. */
#include <string.h>

#include "frontend/api/api.h"
#include "passes/ops/compose/compose.h"
#include "passes/ops/mesh.h"

static op_over over_of(const char *text) { return (op_over){text, text ? strlen(text) : 0}; }

static vf_value collective(ir_op op, vf_value x, const char *over, const int64_t *axes, size_t n) {
  fe_call c;
  bool good = fe_begin(&c, ir_ops[op].text, &x, 1);
  return fe_end(&c, good ? op_collective(c.ir, op, x.id, over_of(over), axes, n) : 0);
}

vf_value vf_all_reduce(vf_value x, const char *over) {
  return collective(IR_OP_ALL_REDUCE, x, over, NULL, 0);
}
vf_value vf_all_gather(vf_value x, int axis, const char *over) {
  return collective(IR_OP_ALL_GATHER, x, over, &(int64_t){axis}, 1);
}
vf_value vf_reduce_scatter(vf_value x, int axis, const char *over) {
  return collective(IR_OP_REDUCE_SCATTER, x, over, &(int64_t){axis}, 1);
}
vf_value vf_all_to_all(vf_value x, int split, int concat, const char *over) {
  return collective(IR_OP_ALL_TO_ALL, x, over, (int64_t[]){split, concat}, 2);
}

/* A call whose node is `made` of x.id in the graph c.ir. */
#define BUILD(name, made)                                                                                    \
  fe_call c;                                                                                                 \
  bool good = fe_begin(&c, name, &x, 1);                                                                     \
  return fe_end(&c, good ? made : 0)

vf_value vf_gather_all_axes(vf_value x) {
  BUILD("gather_all_axes", op_replicated(c.ir, "gather_all_axes", x.id));
}
vf_value vf_transfer_to(vf_value x, const char *device, const char *spec) {
  BUILD("transfer_to", op_transfer(c.ir, x.id, over_of(spec), over_of(device)));
}
vf_value vf_pmean(vf_value x, const char *over) { BUILD("pmean", op_pmean(c.ir, x.id, over_of(over))); }
vf_value vf_all_to_all_stacked(vf_value x, int split, int concat, const char *over) {
  BUILD("all_to_all", op_all_to_all_stacked(c.ir, x.id, over_of(over), split, concat));
}
vf_value vf_distributed_broadcast(vf_value x, int axis, const char *over) {
  BUILD("distributed_broadcast", op_first_block(c.ir, x.id, over_of(over), axis));
}

vf_value vf_all_reduce_blocks(vf_value x, int axis, const char *over, const char *reduce) {
  fe_call c;
  int by = 0;
  bool good = fe_begin(&c, "all_reduce", &x, 1);
  while (by < OP_REARRANGE_REDUCTIONS && (!reduce || strcmp(op_rearrange_reductions[by], reduce) != 0)) by++;
  if (good && (by == OP_REARRANGE_REDUCTIONS || op_block_reductions[by] == IR_OP_ERROR))
    good =
        fe_refuse(&c, "reduce is '%.40s'; it is sum, mean, max, min, prod, any or all", reduce ? reduce : "");
  return fe_end(&c, good ? op_reduce_blocks(c.ir, op_block_reductions[by], x.id, over_of(over), axis) : 0);
}

vf_value vf_ppermute(vf_value x, int axis, const char *over, int count, const int64_t *pairs) {
  BUILD("ppermute", op_ppermute(c.ir, x.id, over_of(over), axis, pairs, count > 0 ? (size_t)count : 0));
}

vf_value vf_axis_index(vf_graph *g, const char *over) {
  fe_call c;
  bool good = fe_begin_in(&c, "axis_index", g);
  return fe_end(&c, good ? op_axis_index(c.ir, over_of(over)) : 0);
}
