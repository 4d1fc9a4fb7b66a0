/* Calls of custom operations in a batch: one call for each element. The node counts the batch among its
 * leading axes. */
#include "physicalize.h"

#include "ir/custom.h"
#include "passes/ops/check.h"

#include <string.h>

ir_ref pass_physical_custom(physical *p, ir_ref node) {
  ir_graph *g = p->g;
  ir_custom_call own, call;
  ir_ref x[IR_CUSTOM_MAX], results[IR_CUSTOM_MAX], flat[IR_CUSTOM_MAX * IR_MAX_RANK], *dims = flat;
  ir_custom_of(g, node, &own);
  call = own;
  for (uint32_t i = 0; i < call.operands; i++)
    if (!(x[i] = pass_physical_aligned(p, ir_src(g, node, i)))) return 0;
  for (uint32_t i = 0; i < call.results; i++) {
    if (own.ranks[i] + p->rank > IR_MAX_RANK)
      return op_refuse(g,
                       "%s: result %u has rank %u in a batch of %u axes; a tensor has at most %d axes in all",
                       call.name, i + 1, own.ranks[i], p->rank, IR_MAX_RANK);
    memcpy(dims, ir_get(g, p->batch)->src, p->rank * sizeof *dims);
    if (own.ranks[i]) memcpy(dims + p->rank, ir_custom_dims(g, node, &own, i), own.ranks[i] * sizeof *dims);
    call.ranks[i] = (uint8_t)(own.ranks[i] + p->rank);
    dims += call.ranks[i];
  }
  call.batch += p->rank;
  ir_ref made = ir_custom_make(g, &call, x, flat, (uint32_t)(dims - flat));
  for (uint32_t i = 0; i < call.results && made; i++)
    if (!(results[i] = ir_custom_result(g, made, &call, i))) return 0;
  return made ? ir_tuple(g, results, call.results) : 0;
}
