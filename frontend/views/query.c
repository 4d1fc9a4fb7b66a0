/* Queries about a chain of views: real strides, the elements of the buffer that it needs, masked axes,
 * variables. */
#include <string.h>

#include "impl.h"

/* The set of axes whose ranges occur in the expression. */
static bool axes_in(ir_graph *g, ir_ref ref, uint32_t *axes) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool done = ir_reachable(g, &ref, 1, &live, &count, &cap) == IR_OK;
  *axes = 0;
  for (size_t i = 0; i < count && done; i++)
    if (ir_op_of(g, live[i]) == IR_OP_RANGE) *axes |= 1u << ir_arg_int(ir_get(g, live[i]));
  ir_free(g->mem, live, cap * sizeof *live);
  return done;
}

/* Read one term of the index. A range times expressions without ranges adds to the stride of its axis; the
 * axes of any other term have no known stride. */
static bool stride_of_term(ir_graph *g, ir_ref term, ir_ref *out, uint32_t *unknown) {
  const ir_node *n = ir_get(g, term);
  ir_ref factor = ir_index(g, 1);
  int axis = -1;
  uint32_t axes, others = 0;
  for (uint32_t i = 0; i < (n->op == IR_OP_MUL ? n->nsrc : 1); i++) {
    ir_ref f = n->op == IR_OP_MUL ? n->src[i] : term;
    if (!axes_in(g, f, &axes)) return false;
    if (ir_op_of(g, f) == IR_OP_RANGE && axis < 0) axis = (int)ir_arg_int(ir_get(g, f));
    else if (axes) others |= axes;
    else factor = pass_mul(g, factor, f);
  }
  if (others) *unknown |= others | (axis < 0 ? 0 : 1u << axis);
  else if (axis >= 0) out[axis] = pass_add(g, out[axis], factor);
  return axis < 0 || out[axis];
}

bool pass_view_real_strides(ir_graph *g, const pass_view_chain *c, bool ignore_valid,
                            ir_ref out[IR_MAX_RANK]) {
  ir_ref index, valid;
  uint32_t unknown = 0, masked = 0, rank = pass_view_last(c)->rank;
  if (!pass_view_chain_lower(g, c, NULL, &index, &valid) || !axes_in(g, valid, &masked)) return false;
  const ir_node *n = ir_get(g, index);
  bool sum = n->op == IR_OP_ADD;
  for (uint32_t i = 0; i < rank; i++) out[i] = ir_index(g, 0);
  for (uint32_t i = 0; i < (sum ? n->nsrc : 1); i++)
    if (!stride_of_term(g, sum ? n->src[i] : index, out, &unknown)) return false;
  if (!ignore_valid) unknown |= masked;
  for (uint32_t i = 0; i < rank; i++)
    if (unknown >> i & 1) out[i] = 0;
  return true;
}

bool pass_view_unit_axes(ir_graph *g, const pass_view_chain *c, bool ignore_valid, uint32_t *axes) {
  ir_ref strides[IR_MAX_RANK];
  *axes = 0;
  if (!pass_view_real_strides(g, c, ignore_valid, strides)) return false;
  for (uint32_t i = 0; i < pass_view_last(c)->rank; i++)
    if (strides[i] && view_is(g, strides[i], 1)) *axes |= 1u << i;
  return true;
}

bool pass_view_masked_axes(ir_graph *g, const pass_view_chain *c, uint32_t *axes) {
  ir_ref index, valid;
  return pass_view_chain_lower(g, c, NULL, &index, &valid) && axes_in(g, valid, axes);
}

/* The greatest element that the first view reads within its mask. Exact for a view of numbers, since it reads
 * both ends of its mask. */
static int64_t greatest_of(ir_graph *g, const pass_view *v) {
  ir_ref sum = v->offset;
  for (uint32_t i = 0; i < v->rank; i++) {
    bool falls = pass_proves(g, IR_OP_LE, v->stride[i], ir_index(g, 0));
    ir_ref at = falls ? v->begin[i] : pass_add_int(g, v->end[i], -1);
    sum = pass_add(g, sum, pass_mul(g, at, v->stride[i]));
  }
  return sum ? ir_bounds_of(g, sum).hi : INT64_MAX;
}

bool pass_view_real_size(ir_graph *g, const pass_view_chain *c, int64_t *size) {
  ir_ref index, valid;
  *size = 0;
  if (pass_view_empty(g, pass_view_last(c))) return true;
  if (!pass_view_chain_lower(g, c, NULL, &index, &valid)) return false;
  if (ir_is_false(g, valid)) return true;
  int64_t last = greatest_of(g, &c->views[0]), bound = ir_bounds_of(g, index).hi;
  if (c->count > 1 && bound < last) last = bound;
  if (last == INT64_MAX) {
    ir_fail(g->error, IR_ERR_UNSUPPORTED, "view: the size of its buffer exceeds 64 bits");
    return false;
  }
  *size = last + 1;
  return true;
}

/* every field of the chain */
static size_t fields_of(const pass_view_chain *c, ir_ref *out) {
  size_t count = 0;
  for (size_t k = 0; k < c->count; k++) {
    const pass_view *v = &c->views[k];
    const ir_ref *const lists[] = {v->shape, v->stride, v->begin, v->end};
    out[count++] = v->offset;
    for (int l = 0; l < 4; l++)
      for (uint32_t i = 0; i < v->rank; i++) out[count++] = lists[l][i];
  }
  return count;
}

bool pass_view_variables(ir_graph *g, const pass_view_chain *c, ir_ref **out, size_t *count) {
  size_t room = c->count * (4 * IR_MAX_RANK + 1), live_count = 0, cap = 0;
  ir_ref *fields = ir_alloc(g->mem, room * sizeof *fields), *live = NULL;
  *out = NULL, *count = 0;
  bool done = fields && ir_reachable(g, fields, fields_of(c, fields), &live, &live_count, &cap) == IR_OK;
  for (size_t i = 0; i < live_count && done; i++) *count += ir_op_of(g, live[i]) == IR_OP_VAR;
  *out = done ? ir_alloc(g->mem, *count * sizeof **out) : NULL;
  for (size_t i = 0, at = 0; i < live_count && *out; i++)
    if (ir_op_of(g, live[i]) == IR_OP_VAR) (*out)[at++] = live[i];
  if (fields) ir_free(g->mem, fields, room * sizeof *fields);
  ir_free(g->mem, live, cap * sizeof *live);
  if (!*out) ir_fail(g->error, IR_ERR_MEMORY, "out of memory listing variables");
  return *out != NULL;
}

bool pass_view_bind(ir_graph *g, pass_view_chain *c, const ir_ref *from, const ir_ref *to, size_t count) {
  for (size_t k = 0; k < c->count; k++) {
    pass_view *v = &c->views[k];
    ir_ref *const lists[] = {v->shape, v->stride, v->begin, v->end};
    for (int l = 0; l < 4; l++)
      for (uint32_t i = 0; i < v->rank; i++) lists[l][i] = pass_substitute(g, lists[l][i], from, to, count);
    v->offset = pass_substitute(g, v->offset, from, to, count);
    if (view_canonical(g, "view", v)) return false;
  }
  return true;
}
