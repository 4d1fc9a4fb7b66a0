/* The inverse of a chain of views.
 *
 * A view that reads each element once, up to its mask, is inverted by taking the valid part of an array of
 * its shape, reversing the axes with negative strides, and sorting the axes by stride. The result is then
 * tested: it is the inverse exactly when the chain followed by it reads every element in order. */
#include "impl.h"

static bool is_backwards(ir_graph *g, ir_ref stride) { return ir_bounds_of(g, stride).hi < 0; }
static ir_ref magnitude(ir_graph *g, ir_ref stride) {
  return is_backwards(g, stride) ? pass_mul_int(g, stride, -1) : stride;
}

/* The view of an array of v's shape that has the elements in the order of the array that v views. */
static pass_view_status invert_view(ir_graph *g, const pass_view *v, pass_view *out) {
  int64_t steps[IR_MAX_RANK], order[IR_MAX_RANK];
  pass_view_status status = view_plain(g, "invert", v->rank, v->shape, out);
  if (status == PASS_VIEW_DONE && v->masked)
    status = pass_view_shrink(g, out, v->begin, v->end, v->rank, out);
  for (uint32_t i = 0; i < v->rank; i++) {
    uint32_t at = i;
    steps[i] = is_backwards(g, v->stride[i]) ? -1 : 1;
    for (; at > 0 && view_below(g, magnitude(g, v->stride[order[at - 1]]), magnitude(g, v->stride[i])); at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  if (status == PASS_VIEW_DONE) status = pass_view_stride(g, out, steps, v->rank, out);
  return status == PASS_VIEW_DONE ? pass_view_permute(g, out, order, v->rank, out) : status;
}

/* DONE: chain `there` followed by `back` reads an array of this shape in order. NONE: it is not shown to. */
static pass_view_status is_identity(ir_graph *g, const pass_view_chain *there, const pass_view_chain *back,
                                    uint32_t rank, const ir_ref *shape) {
  pass_view_chain both;
  bool done = pass_view_chain_copy(g, there, &both), same = false;
  for (size_t i = 0; i < back->count && done; i++) done = pass_view_chain_add(g, &both, &back->views[i]);
  done = done && pass_view_chain_simplify(g, &both);
  if (done && both.count == 1 && both.views[0].rank == rank) same = pass_view_contiguous(g, &both.views[0]);
  for (uint32_t i = 0; i < rank && same; i++) same = view_same(g, both.views[0].shape[i], shape[i]);
  pass_view_chain_free(&both);
  return !done ? PASS_VIEW_FAILED : same ? PASS_VIEW_DONE : PASS_VIEW_NONE;
}

static bool same_count(ir_graph *g, const pass_view *v, uint32_t rank, const ir_ref *shape) {
  ir_ref count = ir_index(g, 1);
  for (uint32_t i = 0; i < rank; i++) count = pass_mul(g, count, shape[i]);
  return view_same(g, pass_view_size(g, v), count);
}

pass_view_status pass_view_invert(ir_graph *g, const pass_view_chain *c, uint32_t rank, const ir_ref *shape,
                                  pass_view_chain *out) {
  pass_view_status status = PASS_VIEW_DONE;
  *out = (pass_view_chain){.mem = g->mem};
  for (size_t i = c->count; i-- > 0 && status == PASS_VIEW_DONE;) {
    const pass_view *before = i ? &c->views[i - 1] : NULL;
    uint32_t to_rank = before ? before->rank : rank;
    const ir_ref *to_shape = before ? before->shape : shape;
    pass_view v;
    status = invert_view(g, &c->views[i], &v);
    if (status == PASS_VIEW_DONE && !same_count(g, &v, to_rank, to_shape)) status = PASS_VIEW_NONE;
    if (status == PASS_VIEW_DONE &&
        !(pass_view_chain_add(g, out, &v) && pass_view_chain_reshape(g, out, to_rank, to_shape)))
      status = PASS_VIEW_FAILED;
  }
  if (status == PASS_VIEW_DONE) status = is_identity(g, c, out, rank, shape);
  if (status == PASS_VIEW_DONE && !pass_view_chain_simplify(g, out)) status = PASS_VIEW_FAILED;
  if (status != PASS_VIEW_DONE) pass_view_chain_free(out);
  return status;
}
