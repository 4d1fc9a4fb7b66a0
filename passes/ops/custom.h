/* Recording, differentiating and describing custom operations. What a context registers is an op_custom,
 * which begins with its ir_custom. */
#ifndef VIEWFOLD_PASSES_OPS_CUSTOM_H
#define VIEWFOLD_PASSES_OPS_CUSTOM_H

#include "check.h"
#include "ir/custom.h"

/* One use of the operation in a graph. */
typedef struct op_custom_site {
  ir_graph *g;
  const struct op_custom *custom;
  const ir_ref *operands;
  const ir_value *values; /* of the attributes */
} op_custom_site;

/* Functions return false, or 0, after failing; then the graph's error may say why, and else `why` does. */
enum { OP_CUSTOM_WHY = 256 };
typedef struct op_custom {
  ir_custom base;
  const char *sharding; /* in the language of passes/ops/sharding/sharding.h */
  uint8_t partial;      /* op_partial_rule */
  /* dtype and sizes of every result; NULL: those of the first operand */
  bool (*types)(const op_custom_site *site, ir_dtype *dtypes, uint32_t *ranks, ir_ref (*dims)[IR_MAX_RANK],
                char *why);
  /* the results recorded by other builders; NULL: the operation has a function to run */
  bool (*compose)(const op_custom_site *site, ir_ref *results, char *why);
  /* for operands in a batch: they are arrays whose first `lead` axes are the batch, which the results,
   * recorded by other builders, have as well; NULL: the operation is called for each element */
  bool (*batched)(const op_custom_site *site, uint32_t lead, ir_ref *results, char *why);
  /* what the cotangents of the results (0: of one that is no float) add to those of the operands; 0: nothing.
   * NULL: there is no such rule, here and below */
  bool (*pull)(const op_custom_site *site, const ir_ref *results, const ir_ref *cotangents, ir_ref *parts,
               char *why);
  /* the tangents of the results, 0 for one that does not vary, from those of the operands */
  bool (*push)(const op_custom_site *site, const ir_ref *results, const ir_ref *tangents, ir_ref *parts,
               char *why);
  int64_t flops; /* operations for each element of all results */
} op_custom;

/* As op_apply: the result, or a TUPLE of several. */
ir_ref op_custom_apply(ir_graph *g, const op_custom *custom, const ir_ref *operands, size_t n,
                       const ir_attr *attrs, size_t attr_count);
const op_custom *op_custom_find(const ir_graph *g, const char *name, size_t length); /* NULL: there is none */

/* Both directions of a CUSTOM node. cotangents, tangents and parts are by result or by operand, 0 where there
 * is none; parts have the type of what they belong to. False after failing. */
bool op_custom_pull(ir_graph *g, ir_ref node, const ir_ref *cotangents, ir_ref *parts);
bool op_custom_push(ir_graph *g, ir_ref node, const ir_ref *tangents, ir_ref *parts);
/* What the registration of a CUSTOM node says; false, or 0, where there is none: the rule for sharding, which
 * operands may be parts of a sum, and what its results cost in all. */
struct op_sharding;
bool op_custom_sharding(ir_graph *g, ir_ref node, struct op_sharding *out);
bool op_custom_partial(ir_graph *g, ir_ref node, op_partial_rule *out);
ir_ref op_custom_flops(ir_graph *g, ir_ref node);

#endif
