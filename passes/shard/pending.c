/* Which operations leave a reduction of their operands pending: those that commute with it, round no summand
 * by itself to few bits, and make no NaN of one. */
#include "factors.h"

#include <math.h>

static bool only_moves(const ir_graph *g, ir_ref node) {
  ir_op op = ir_op_of(g, node);
  return ir_ops[op].cls == IR_CLASS_VIEW || op == IR_OP_GATHER || op == IR_OP_STORED;
}

/* Would each summand be rounded, in a dtype of few bits? What only moves elements rounds nothing. */
static bool rounds_narrowly(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  return !only_moves(g, node) && n->op != IR_OP_NEG && (n->dtype == IR_F16 || n->dtype == IR_BF16);
}

/* Does the operation commute with what joins the parts? What only moves elements commutes with selecting
 * them, as with a sum. */
static bool commutes(const ir_graph *g, ir_ref node, ir_op by) {
  return by == IR_OP_ADD || (by == IR_OP_WHERE && only_moves(g, node));
}

static bool is_finite_constant(const ir_graph *g, ir_ref x) {
  while (ir_op_of(g, x) == IR_OP_RESHAPE || ir_op_of(g, x) == IR_OP_EXPAND) x = ir_src(g, x, 0);
  if (ir_op_of(g, x) != IR_OP_CONST || !ir_is_float(ir_dtype_of(g, x))) return false;
  double value = ir_const_value(g, x).f;
  return isfinite(value) && value != 0;
}

/* May a summand become NaN where the sum does not? A factor or divisor that is not finite, or 0, makes NaN of
 * a summand that is 0; only constants are known not to be. */
static bool may_be_nan(const ir_graph *g, ir_ref node, const bool *partial) {
  const ir_node *n = ir_get(g, node);
  bool multiplies = n->op == IR_OP_MUL || n->op == IR_OP_DIV || n->op == IR_OP_MATMUL || n->op == IR_OP_FMA;
  bool safe = true;
  for (uint32_t i = 0; i < ir_operand_count(n) && multiplies; i++)
    safe = safe && (partial[i] || is_finite_constant(g, n->src[i]));
  return !safe && ir_is_float((ir_dtype)n->dtype);
}

/* Would joining the operands move less than joining the result? One that others read as well is joined for
 * them in any case. */
static bool joins_cheaper(const shard_state *s, ir_ref node, const bool *partial) {
  const ir_node *n = ir_get(s->g, node);
  double bytes = 0;
  ir_class cls = (ir_class)ir_ops[n->op].cls;
  if (!s->readers) return false; /* of a strategy, which is weighed as a whole */
  const ir_spec *asked = ir_spec_of(s->g, node);
  if (asked && s->given[node] && ir_spec_count(asked, IR_PLACE_PENDING)) return false;
  if (cls != IR_CLASS_UNARY && cls != IR_CLASS_BINARY && cls != IR_CLASS_TERNARY) return false;
  for (uint32_t i = 0; i < ir_operand_count(n); i++)
    if (partial[i] && s->readers[n->src[i]] < 2) bytes += shard_least_bytes(s->g, n->src[i]);
  return bytes < shard_least_bytes(s->g, node);
}

/* Operands stay pending where the operation commutes with the sum, and nothing is divided along its axes. */
void shard_choose_pending(shard_factors *f, ir_ref node, const ir_spec *const *specs, shard_choice *out) {
  bool partial[SHARD_OPERANDS] = {0};
  const ir_spec *first = NULL;
  bool defers = true;
  for (uint32_t i = 0; i < f->rule->operands; i++) {
    if (!(partial[i] = ir_spec_count(specs[i], IR_PLACE_PENDING) > 0)) continue;
    uint32_t n, m;
    const ir_subaxis *x = ir_spec_axes(specs[i], IR_PLACE_PENDING, &n);
    const ir_subaxis *y = ir_spec_axes(first ? first : specs[i], IR_PLACE_PENDING, &m);
    defers = defers && n == m && commutes(f->s->g, node, (ir_op)specs[i]->joined_by) &&
             (!first || specs[i]->joined_by == first->joined_by);
    for (uint32_t k = 0; k < n && defers; k++)
      defers = ir_subaxes_equal(x[k], y[k]) && !shard_is_used(f, x[k], -1);
    if (!first) first = specs[i];
  }
  if (!first || !defers || rounds_narrowly(f->s->g, node) || may_be_nan(f->s->g, node, partial) ||
      op_sharding_joined_by(ir_op_of(f->s->g, node)) != IR_OP_ADD || !op_defers(f->s->g, node, partial) ||
      joins_cheaper(f->s, node, partial))
    return;
  if (ir_spec_count(&out->result, IR_PLACE_PENDING) && out->result.joined_by != first->joined_by) return;
  uint32_t n;
  const ir_subaxis *x = ir_spec_axes(first, IR_PLACE_PENDING, &n);
  out->result.joined_by = first->joined_by;
  for (uint32_t k = 0; k < n; k++) {
    for (uint32_t i = 0; i < f->rule->operands; i++)
      if (partial[i]) out->operands[i].joined_by = first->joined_by;
    ir_spec_add(&out->result, IR_PLACE_PENDING, x[k]);
    for (uint32_t i = 0; i < f->rule->operands; i++)
      if (partial[i]) ir_spec_add(&out->operands[i], IR_PLACE_PENDING, x[k]);
  }
}
