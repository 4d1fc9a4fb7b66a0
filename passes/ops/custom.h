/* Recording, differentiating and describing custom operations. A context registers an op_custom, whose first
 * member is its ir_custom. */
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

/* Functions return false, or 0, after failing; the reason is in the graph's error or otherwise in `why`. */
enum { OP_CUSTOM_WHY = 256 };
typedef struct op_custom {
  ir_custom base;
  const char *sharding; /* in the language of passes/ops/sharding/sharding.h */
  uint8_t partial;      /* op_partial_rule */
  /* dtype and sizes of every result; NULL: those of the first operand */
  bool (*types)(const op_custom_site *site, ir_dtype *dtypes, uint32_t *ranks, ir_ref (*dims)[IR_MAX_RANK],
                char *why);
  /* records the results by other builders; NULL: the operation has a function to run */
  bool (*compose)(const op_custom_site *site, ir_ref *results, char *why);
  /* for operands in a batch: the operands are arrays whose first `lead` axes are the batch; the results,
   * recorded by other builders, have them too. NULL: the operation is called for each batch element */
  bool (*batched)(const op_custom_site *site, uint32_t lead, ir_ref *results, char *why);
  /* the cotangents of the operands from those of the results (0 for a result that is no float); 0 in parts:
   * no contribution. NULL: there is no such rule, here and below */
  bool (*pull)(const op_custom_site *site, const ir_ref *results, const ir_ref *cotangents, ir_ref *parts,
               char *why);
  /* the tangents of the results, 0 for one that does not vary, from those of the operands */
  bool (*push)(const op_custom_site *site, const ir_ref *results, const ir_ref *tangents, ir_ref *parts,
               char *why);
  int64_t flops; /* operations per element of all results */
} op_custom;

/* As op_apply: one result, or a TUPLE of several. */
ir_ref op_custom_apply(ir_graph *g, const op_custom *custom, const ir_ref *operands, size_t n,
                       const ir_attr *attrs, size_t attr_count);
const op_custom *op_custom_find(const ir_graph *g, const char *name, size_t length); /* NULL: not found */

/* Both directions of a CUSTOM node. cotangents, tangents and parts are indexed by result or by operand, 0
 * where there is none; each entry of parts has the type of its operand (pull) or result (push). False after
 * failing. */
bool op_custom_pull(ir_graph *g, ir_ref node, const ir_ref *cotangents, ir_ref *parts);
bool op_custom_push(ir_graph *g, ir_ref node, const ir_ref *tangents, ir_ref *parts);
/* From the registration of a CUSTOM node: its sharding rule, which operands may be partial, and the
 * operations for all its results. False, or 0, where it is not registered. */
struct op_sharding;
bool op_custom_sharding(ir_graph *g, ir_ref node, struct op_sharding *out);
/* Has the registration a rule by which this call is divided? Those of batches are not. */
bool op_custom_divides(const ir_graph *g, ir_ref node);
bool op_custom_partial(ir_graph *g, ir_ref node, op_partial_rule *out);
ir_ref op_custom_flops(ir_graph *g, ir_ref node);

#endif
