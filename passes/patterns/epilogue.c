#include "epilogue.h"

/* the most that the other bits count; one use or several is what counts */
enum { MAX_USES = PASS_EPILOGUE - 1 };

static void count_use(uint8_t *table, ir_ref r) {
  if (table[r] < MAX_USES) table[r]++;
}

/* Does node u extend the epilogue of operand r: is r a reduction or in an epilogue, used by u alone, and the
 * result no wider? */
static bool extends_epilogue(const ir_graph *g, const uint8_t *table, const ir_node *u, ir_ref r) {
  bool epilogue = ir_ops[ir_op_of(g, r)].cls == IR_CLASS_REDUCE || table[r] & PASS_EPILOGUE;
  return epilogue && (table[r] & MAX_USES) == 1 &&
         ir_dtypes[u->dtype].bytes <= ir_dtypes[ir_dtype_of(g, r)].bytes;
}

void pass_epilogues(ir_graph *g, const ir_ref *live, size_t count, const ir_ref *results,
                    uint32_t result_count, uint8_t *table) {
  for (size_t i = 0; i < count; i++) table[live[i]] = 0;
  for (uint32_t k = 0; k < result_count; k++) count_use(table, results[k]);
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(g, live[i]);
    uint32_t taken = ir_shape(g, live[i]) ? ir_operand_count(n) : n->nsrc; /* or a function's results */
    for (uint32_t k = 0; k < taken; k++) count_use(table, n->src[k]);
  }
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(g, live[i]);
    uint32_t reductions = 0;
    /* Readers have to see masks, since their loops may end where a mask begins (passes/fold/causal_end.c). */
    if (!pass_is_elementwise(n) || n->op == IR_OP_WHERE || !ir_shape(g, live[i])) continue;
    for (uint32_t k = 0; k < ir_operand_count(n); k++)
      reductions +=
          ir_shape(g, n->src[k]) == ir_shape(g, live[i]) && extends_epilogue(g, table, n, n->src[k]);
    if (reductions == 1) table[live[i]] |= PASS_EPILOGUE;
  }
}
