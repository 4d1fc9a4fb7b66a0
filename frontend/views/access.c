/* The index expression of a chain, built on the way from its result down to its leaf. */
#include "access.h"

#include "passes/index/index.h"

/* The range of an axis; 0 for size 1. */
static ir_ref range_of(ir_graph *g, ir_ref size, uint32_t axis) {
  int64_t value;
  if (ir_is_const(g, size, &value) && value == 1) return ir_index(g, 0);
  return ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(axis, 0), &size, 1);
}

static bool is_empty(const ir_graph *g, ir_ref tensor) {
  const ir_node *shape = ir_get(g, ir_shape(g, tensor));
  int64_t size;
  for (uint32_t i = 0; i < shape->nsrc; i++)
    if (ir_is_const(g, shape->src[i], &size) && size == 0) return true;
  return false;
}

/* data[at]: the element when the index is constant, else a variable with the text of the look-up as its
 * name. */
static ir_ref look_up(ir_graph *g, ir_ref data, ir_ref at) {
  int64_t name = ir_get(g, data)->arg, position, lo = INT64_MAX, hi = INT64_MIN;
  const char *bytes = ir_name_text(g, name);
  size_t count = ir_name_length(g, name) / sizeof(int64_t);
  if (ir_is_const(g, at, &position) && position >= 0 && (size_t)position < count)
    return ir_index(g, ir_value_load(bytes + (size_t)position * sizeof(int64_t), IR_I64).i);
  ir_text text;
  ir_text_init(&text, g->mem);
  for (size_t i = 0; i < count; i++) {
    int64_t value = ir_value_load(bytes + i * sizeof(int64_t), IR_I64).i;
    if (value < lo) lo = value;
    if (value > hi) hi = value;
    ir_textf(&text, "%s%lld", i ? "," : "[", (long long)value);
  }
  ir_text_str(&text, "][");
  ir_print_expr(g, at, &text);
  ir_text_str(&text, "]");
  ir_ref made = text.failed ? 0 : ir_var(g, text.data, text.len, lo, hi, 1);
  if (text.failed) ir_fail(g->error, IR_ERR_MEMORY, "out of memory folding views");
  ir_text_free(&text);
  return made;
}

static ir_ref gather_at(ir_graph *g, const pass_arith *a, ir_ref node, pass_point *p) {
  const ir_node *n = ir_get(g, node);
  ir_ref indices = n->src[1];
  uint32_t axis = (uint32_t)ir_arg_int(n), taken = ir_rank(g, indices);
  pass_point where = {.rank = taken}, from = {.rank = p->rank + 1 - taken};
  for (uint32_t i = 0; i < taken; i++) where.at[i] = p->at[axis + i];
  for (uint32_t i = 0; i < from.rank; i++) from.at[i] = p->at[i < axis ? i : i + taken - 1];
  ir_ref flat = pass_flatten(g, a, ir_shape(g, indices), &where);
  from.at[axis] = flat ? look_up(g, indices, flat) : 0;
  *p = from;
  return from.at[axis] ? ir_bool(g, true) : 0;
}

static bool is_literal_gather(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  return n->op == IR_OP_GATHER && ir_arg_small(n) == 0 && ir_op_of(g, n->src[1]) == IR_OP_DATA &&
         ir_dtype_of(g, n->src[1]) == IR_I64;
}

static bool is_step(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  return (ir_ops[n->op].cls == IR_CLASS_VIEW && n->op != IR_OP_CONCAT && n->op != IR_OP_STACK) ||
         is_literal_gather(g, node);
}

bool pass_has_gather(const ir_graph *g, ir_ref chain) {
  for (; is_step(g, chain); chain = ir_src(g, chain, 0))
    if (ir_op_of(g, chain) == IR_OP_GATHER) return true;
  return false;
}

bool pass_access(ir_graph *g, const pass_arith *a, ir_ref chain, ir_ref *index, ir_ref *valid) {
  pass_index_begin(g);
  pass_point p = {.rank = ir_rank(g, chain)};
  for (uint32_t i = 0; i < p.rank; i++) p.at[i] = range_of(g, ir_dim(g, chain, i), i);
  ir_ref node = chain;
  bool empty = is_empty(g, node);
  for (*valid = ir_bool(g, true); *valid && !empty && is_step(g, node); node = ir_src(g, node, 0)) {
    ir_ref inside =
        ir_op_of(g, node) == IR_OP_GATHER ? gather_at(g, a, node, &p) : pass_view_index(g, a, node, &p);
    *valid = a->both(g, *valid, inside);
    empty = is_empty(g, ir_src(g, node, 0)) || (*valid && ir_is_false(g, *valid));
  }
  if (a == &pass_canonical && *valid && !empty) {
    *valid = pass_finalize_clauses(g, *valid);
    empty = *valid && ir_is_false(g, *valid);
  }
  if (empty) *index = ir_index(g, 0), *valid = ir_bool(g, false);
  else *index = pass_flatten(g, a, ir_shape(g, node), &p);
  if (a == &pass_canonical && *index && *valid && !empty) *index = pass_simplify_given(g, *index, *valid);
  return *index && *valid;
}
