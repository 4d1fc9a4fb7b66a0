/* What forward and reverse mode share: checks, the list of nodes, sums. */
#include "derive.h"

#include "passes/index/index.h"
#include "passes/ops/derivative/derivative.h"

#include <string.h>

static bool check_differentiable(ir_graph *g, const char *who, const char *what, size_t number, ir_ref x) {
  if (!x) return false;
  if (!op_tensors(g, who, &x, 1)) return false;
  if (op_is_const(g, x))
    op_refuse(g, "%s: %s %zu is a constant, %s; a constant does not vary: use an input, or expand it", who,
              what, number + 1, OP_TYPE(x));
  else if (!ir_is_float(ir_dtype_of(g, x)))
    op_refuse(g, "%s: %s %zu has shape %s; only floats have derivatives: cast it to a float dtype first", who,
              what, number + 1, OP_TYPE(x));
  else return true;
  return false;
}

static bool check_inputs(ir_graph *g, const pass_derivative *of) {
  for (size_t i = 0; i < of->input_count; i++)
    if (!check_differentiable(g, of->who, "input", i, of->inputs[i])) return false;
  for (size_t i = 0; i < of->output_count; i++) {
    ir_ref y = of->outputs[i];
    if (y && op_is_const(g, y) && ir_is_float(ir_dtype_of(g, y))) continue; /* its derivative is zero */
    if (!check_differentiable(g, of->who, "output", i, y)) return false;
  }
  return true;
}

ir_ref pass_differentiation_leaf(const pass_differentiation *w, ir_ref node) {
  return w->of->leaf ? w->of->leaf(w->of->user, node) : node;
}

bool pass_differentiation_varies(const ir_node *n) {
  if (op_registry[n->op].derivative <= OP_DERIVATIVE_NONE) return false;
  return ir_is_float((ir_dtype)n->dtype) || ir_has_results((ir_op)n->op);
}

static void mark_active(pass_differentiation *w) {
  for (size_t i = 0; i < w->of->input_count; i++)
    w->active[pass_differentiation_leaf(w, w->of->inputs[i])] = 1;
  for (size_t i = 0; i < w->live_count; i++) {
    ir_ref node = w->live[i];
    const ir_node *n = ir_get(w->g, node);
    bool varies = pass_differentiation_varies(n) && pass_differentiation_leaf(w, node) == node;
    for (uint32_t k = 0; varies && k < ir_operand_count(n); k++)
      w->active[node] |= w->active[pass_differentiation_leaf(w, n->src[k])];
  }
}

/* Levels are numbers: a vmap that has ended may have had the same number as one that the caller is inside
 * of. */
static bool check_levels(const pass_differentiation *w) {
  for (size_t i = 0; i < w->live_count && w->of->levels; i++) {
    const ir_node *n = ir_get(w->g, w->live[i]);
    if (n->op != IR_OP_UNBATCH || !w->active[w->live[i]] || w->of->levels >> (ir_arg_mode(n) - 1) == 0)
      continue;
    op_refuse(w->g,
              "%s: inside a vmap, an output depends on an input through another vmap, which has ended; pass "
              "the input to this vmap as an argument and compute the dependence inside",
              w->of->who);
    return false;
  }
  return true;
}

bool pass_differentiation_begin(pass_differentiation *w, ir_graph *g, const pass_derivative *of,
                                uint32_t keep) {
  *w = (pass_differentiation){.g = g, .of = of, .nodes = g->count, .keep = keep};
  pass_index_begin(g);
  if (!check_inputs(g, of)) return false;
  w->sums = ir_alloc(g->mem, w->nodes * sizeof *w->sums);
  w->active = ir_alloc(g->mem, w->nodes);
  if (!w->sums || !w->active) {
    ir_fail(g->error, IR_ERR_MEMORY, "%s: out of memory", of->who);
    return false;
  }
  memset(w->sums, 0, w->nodes * sizeof *w->sums);
  memset(w->active, 0, w->nodes);
  if (ir_reachable(g, of->outputs, of->output_count, &w->live, &w->live_count, &w->live_cap) != IR_OK)
    return false;
  mark_active(w);
  return check_levels(w);
}

void pass_differentiation_results(const pass_differentiation *w, size_t at, ir_ref *results, uint32_t count) {
  uint32_t found = 0;
  memset(results, 0, count * sizeof *results);
  for (size_t i = at + 1; i < w->live_count && found < count; i++) {
    const ir_node *n = ir_get(w->g, w->live[i]);
    if (n->op != IR_OP_RESULT || n->src[0] != w->live[at]) continue;
    results[ir_arg_int(n)] = w->live[i];
    found++;
  }
}

void pass_differentiation_end(pass_differentiation *w) {
  ir_free(w->g->mem, w->live, w->live_cap * sizeof *w->live);
  ir_free(w->g->mem, w->sums, w->sums ? w->nodes * sizeof *w->sums : 0);
  ir_free(w->g->mem, w->active, w->active ? w->nodes : 0);
}

/* `to` with what `part` adds to zeros at some indices; 0 where it is no such sum. */
static ir_ref scattered_to(ir_graph *g, ir_ref to, ir_ref part) {
  const ir_node *n = ir_get(g, part);
  if (n->op != IR_OP_SCATTER_ADD || ir_batch_rank(g, to) || ir_batch_rank(g, part)) return 0;
  ir_ref indices = n->src[1], updates = n->src[2];
  int64_t axis = ir_arg_int(n), batch = ir_arg_small(n);
  int mode = ir_arg_mode(n);
  if (n->src[0] != op_zeros_like(g, part)) return 0;
  return op_scatter(g, IR_OP_SCATTER_ADD, to, indices, updates, axis, mode, batch);
}

/* The sum of two parts. One that has few elements that are not zero is added to the other where they are: in
 * a loop, this is done in place. */
static ir_ref add_parts(ir_graph *g, ir_ref a, ir_ref b) {
  ir_ref sum = scattered_to(g, a, b);
  if (!sum) sum = scattered_to(g, b, a);
  return sum ? sum : op_binary(g, IR_OP_ADD, a, b);
}

bool pass_differentiation_add(pass_differentiation *w, ir_ref node, ir_ref part) {
  ir_ref *sum = &w->sums[pass_differentiation_leaf(w, node)];
  if (w->g->batches_cap) part = op_in_batch_of(w->g, part, node, w->keep);
  *sum = *sum && part ? add_parts(w->g, *sum, part) : part;
  return *sum != 0;
}

ir_ref pass_differentiation_sum(pass_differentiation *w, ir_ref node) {
  ir_ref sum = w->sums[pass_differentiation_leaf(w, node)];
  return sum ? sum : op_in_batch_of(w->g, op_zeros_like(w->g, node), node, w->keep);
}

/* Does `given` have the batch of the node? Sizes of 1 fit as well, and along levels that the caller is inside
 * of any size does where the node's is 1 or missing. */
static bool batch_fits(const pass_differentiation *w, ir_ref given, ir_ref node) {
  ir_graph *g = w->g;
  uint32_t lead = ir_batch_rank(g, given), want = ir_batch_rank(g, node);
  for (uint32_t level = 1; level <= lead; level++) {
    ir_ref own = ir_src(g, ir_batch(g, given), lead - level);
    ir_ref wanted = level <= want ? ir_src(g, ir_batch(g, node), want - level) : ir_index(g, 1);
    bool inside = w->of->levels >> (level - 1) & 1;
    if (op_is_one(g, own) || op_decided(g, IR_OP_EQ, own, wanted) || (inside && op_is_one(g, wanted)))
      continue;
    return false;
  }
  return true;
}

ir_ref pass_differentiation_given(pass_differentiation *w, const char *what, size_t number, ir_ref given,
                                  ir_ref node) {
  ir_graph *g = w->g;
  const char *who = w->of->who;
  if (!given || !op_tensors(g, who, &given, 1)) return 0;
  if (ir_get(g, given)->weak) given = op_convert(g, who, given, ir_dtype_of(g, node));
  if (given && ir_dtype_of(g, given) == ir_dtype_of(g, node) && ir_shape(g, given) == ir_shape(g, node) &&
      batch_fits(w, given, node))
    return given;
  if (!given) return 0;
  return op_refuse(
      g, "%s: %s %zu has shape %s; the value that it is for has %s; both must have the same shape and dtype",
      who, what, number + 1, OP_TYPE(given), OP_TYPE(node));
}
