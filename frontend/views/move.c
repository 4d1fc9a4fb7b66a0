/* Movement operations on one view: permute, expand, shrink, pad, stride, reduce. */
#include "impl.h"
#include "passes/ops/check.h"

static pass_view_status arity(ir_graph *g, const char *who, const char *what, uint32_t count,
                              const pass_view *v) {
  if (count == v->rank) return PASS_VIEW_DONE;
  return view_refuse(g, "%s: %u %s for a view of shape %s; one for each of its %u axes is needed", who, count,
                     what, OP_LIST(v->shape, v->rank), v->rank);
}

pass_view_status pass_view_permute(ir_graph *g, const pass_view *v, const int64_t *order, uint32_t count,
                                   pass_view *out) {
  pass_view from = *v, to = from;
  uint32_t seen = 0;
  if (arity(g, "permute", "axes", count, v)) return PASS_VIEW_FAILED;
  for (uint32_t i = 0; i < count; i++) {
    int64_t axis = order[i] < 0 ? order[i] + count : order[i];
    if (axis < 0 || axis >= count || seen >> axis & 1)
      return view_refuse(g,
                         "permute: axis %lld in entry %u of the order; the view has shape %s; an order lists "
                         "each of the axes 0..%u exactly once",
                         (long long)order[i], i, OP_LIST(v->shape, v->rank), count - 1);
    seen |= 1u << axis;
    to.shape[i] = from.shape[axis];
    to.stride[i] = from.stride[axis];
    to.begin[i] = from.begin[axis];
    to.end[i] = from.end[axis];
  }
  *out = to;
  return PASS_VIEW_DONE;
}

pass_view_status pass_view_expand(ir_graph *g, const pass_view *v, const ir_ref *shape, uint32_t count,
                                  pass_view *out) {
  pass_view to = *v;
  if (arity(g, "expand", "sizes", count, v)) return PASS_VIEW_FAILED;
  for (uint32_t i = 0; i < count; i++) {
    if (view_same(g, to.shape[i], shape[i])) continue;
    if (!view_same(g, to.shape[i], ir_index(g, 1)) || !view_at_most(g, ir_index(g, 0), shape[i]))
      return view_refuse(g,
                         "expand: size %s cannot become %s at axis %u; the view has shape %s, the result %s; "
                         "only sizes of 1 can be expanded, to sizes >= 0%s",
                         OP_EXPR(v->shape[i]), OP_EXPR(shape[i]), i, OP_LIST(v->shape, count),
                         OP_LIST(shape, count), VIEW_FACT(IR_OP_EQ, v->shape[i], shape[i]));
    to.begin[i] = pass_mul(g, to.begin[i], shape[i]); /* the mask leaves all indices, or none */
    to.end[i] = pass_mul(g, to.end[i], shape[i]);
    to.stride[i] = ir_index(g, 0);
    to.shape[i] = shape[i];
  }
  *out = to;
  return view_canonical(g, "expand", out);
}

static ir_ref clamp(ir_graph *g, ir_ref x, ir_ref hi) {
  return pass_max(g, pass_min(g, x, hi), ir_index(g, 0));
}

pass_view_status pass_view_shrink(ir_graph *g, const pass_view *v, const ir_ref *begin, const ir_ref *end,
                                  uint32_t count, pass_view *out) {
  pass_view to = *v;
  if (arity(g, "shrink", "pairs", count, v)) return PASS_VIEW_FAILED;
  for (uint32_t i = 0; i < count; i++) {
    bool whole = view_is(g, begin[i], 0) && view_same(g, end[i], v->shape[i]);
    if (!whole && (!view_at_most(g, ir_index(g, 0), begin[i]) || !view_at_most(g, begin[i], end[i]) ||
                   !view_at_most(g, end[i], v->shape[i])))
      return view_refuse(
          g,
          "shrink: bounds (%s,%s) at axis %u; the view has shape %s; bounds are half-open, 0 <= "
          "begin <= end <= %s%s%s%s",
          OP_EXPR(begin[i]), OP_EXPR(end[i]), i, OP_LIST(v->shape, count), OP_EXPR(v->shape[i]),
          VIEW_FACT(IR_OP_GE, begin[i], ir_index(g, 0)), VIEW_FACT(IR_OP_LE, begin[i], end[i]),
          VIEW_FACT(IR_OP_LE, end[i], v->shape[i]));
    to.shape[i] = pass_sub(g, end[i], begin[i]);
    to.begin[i] = clamp(g, pass_sub(g, v->begin[i], begin[i]), to.shape[i]);
    to.end[i] = clamp(g, pass_sub(g, v->end[i], begin[i]), to.shape[i]);
    view_move_offset(g, &to, begin[i], to.stride[i]);
  }
  *out = to;
  return view_canonical(g, "shrink", out);
}

pass_view_status pass_view_pad(ir_graph *g, const pass_view *v, const ir_ref *before, const ir_ref *after,
                               uint32_t count, pass_view *out) {
  pass_view to = *v;
  ir_ref zero = ir_index(g, 0);
  bool changes = false;
  if (arity(g, "pad", "pairs", count, v)) return PASS_VIEW_FAILED;
  for (uint32_t i = 0; i < count; i++) {
    if (!view_at_most(g, zero, before[i]) || !view_at_most(g, zero, after[i]))
      return view_refuse(
          g,
          "pad: (%s,%s) at axis %u; the view has shape %s; numbers of elements before and after an "
          "axis are >= 0%s%s",
          OP_EXPR(before[i]), OP_EXPR(after[i]), i, OP_LIST(v->shape, count),
          VIEW_FACT(IR_OP_GE, before[i], zero), VIEW_FACT(IR_OP_GE, after[i], zero));
    changes |= !view_is(g, before[i], 0) || !view_is(g, after[i], 0);
    to.shape[i] = pass_add(g, pass_add(g, to.shape[i], before[i]), after[i]);
    to.begin[i] = pass_add(g, to.begin[i], before[i]);
    to.end[i] = pass_add(g, to.end[i], before[i]);
    view_move_offset(g, &to, pass_mul_int(g, before[i], -1), to.stride[i]);
  }
  *out = to;
  return changes ? view_canonical(g, "pad", out) : PASS_VIEW_DONE;
}

pass_view_status pass_view_stride(ir_graph *g, const pass_view *v, const int64_t *steps, uint32_t count,
                                  pass_view *out) {
  pass_view to = *v;
  if (arity(g, "stride", "steps", count, v)) return PASS_VIEW_FAILED;
  for (uint32_t i = 0; i < count; i++) {
    ir_ref size = to.shape[i], begin = to.begin[i], end = to.end[i];
    if (steps[i] == 0 || steps[i] == INT64_MIN)
      return view_refuse(g, "stride: step %lld at axis %u; the view has shape %s; a step is any number but 0",
                         (long long)steps[i], i, OP_LIST(v->shape, count));
    ir_ref step = ir_index(g, steps[i] < 0 ? -steps[i] : steps[i]);
    if (steps[i] < 0) {
      if (!view_is(g, size, 0)) view_move_offset(g, &to, pass_add_int(g, size, -1), to.stride[i]);
      to.begin[i] = pass_sub(g, size, end);
      to.end[i] = pass_sub(g, size, begin);
    }
    to.shape[i] = pass_ceil_div(g, size, step); /* the least k with k*step >= size */
    to.begin[i] = pass_ceil_div(g, to.begin[i], step);
    to.end[i] = pass_ceil_div(g, to.end[i], step);
    if (!view_is(g, to.shape[i], 1)) to.stride[i] = pass_mul_int(g, to.stride[i], steps[i]);
  }
  *out = to;
  return view_canonical(g, "stride", out);
}

static uint32_t highest(uint32_t set) {
  uint32_t i = 0;
  while (set >>= 1) i++;
  return i;
}

pass_view_status pass_view_reduce(ir_graph *g, const pass_view *v, uint32_t axes, pass_view *out) {
  ir_ref shape[IR_MAX_RANK];
  if ((uint64_t)axes >> v->rank)
    return view_refuse(g, "reduce: axis %u; the view has shape %s, axes 0..%d", highest(axes),
                       OP_LIST(v->shape, v->rank), (int)v->rank - 1);
  for (uint32_t i = 0; i < v->rank; i++) shape[i] = axes >> i & 1 ? ir_index(g, 1) : v->shape[i];
  return view_plain(g, "reduce", v->rank, shape, out);
}
