/* Reshaping one view, and merging its adjacent axes. */

#include "impl.h"
#include "passes/ops/check.h"

static bool same_shape(ir_graph *g, const pass_view *v, uint32_t rank, const ir_ref *shape) {
  bool same = v->rank == rank;
  for (uint32_t i = 0; i < rank && same; i++) same = view_same(g, v->shape[i], shape[i]);
  return same;
}

/* Is shape[at] proven to be >= 0, given that all sizes multiply to a number of elements? It is also where the
 * product of the others is >= 1. */
static bool is_size(ir_graph *g, uint32_t rank, const ir_ref *shape, uint32_t at) {
  ir_ref others = ir_index(g, 1);
  if (view_at_most(g, ir_index(g, 0), shape[at])) return true;
  for (uint32_t i = 0; i < rank; i++)
    if (i != at) others = pass_mul(g, others, shape[i]);
  return view_at_most(g, ir_index(g, 1), others);
}

/* A reshape is a row-major view of the elements of v. */
pass_view_status pass_view_reshape(ir_graph *g, const pass_view *v, uint32_t rank, const ir_ref *shape,
                                   pass_view *out) {
  pass_view plain;
  ir_ref zero = ir_index(g, 0), before = pass_view_size(g, v), after = ir_index(g, 1);
  if (rank > IR_MAX_RANK)
    return view_refuse(g, "reshape: rank %u; views have at most %d axes", rank, IR_MAX_RANK);
  if (same_shape(g, v, rank, shape)) {
    *out = *v;
    return PASS_VIEW_DONE;
  }
  for (uint32_t i = 0; i < rank; i++) after = pass_mul(g, after, shape[i]);
  bool same = view_same(g, before, after);
  for (uint32_t i = 0; i < rank; i++)
    if (!(same ? is_size(g, rank, shape, i) : view_at_most(g, zero, shape[i])))
      return view_refuse(g, "reshape: negative dimension %s at axis %u of shape %s; sizes are >= 0%s",
                         OP_EXPR(shape[i]), i, OP_LIST(shape, rank), VIEW_FACT(IR_OP_GE, shape[i], zero));
  if (!same)
    return view_refuse(
        g,
        "reshape: shape %s has %s elements; the view has shape %s, %s elements; a reshape keeps "
        "their number%s",
        OP_LIST(shape, rank), OP_EXPR(after), OP_LIST(v->shape, v->rank), OP_EXPR(before),
        VIEW_FACT(IR_OP_EQ, after, before));
  if (view_plain(g, "reshape", rank, shape, &plain)) return PASS_VIEW_FAILED;
  return pass_view_merge(g, v, &plain, out);
}

uint32_t pass_view_blocks(ir_graph *g, const pass_view *v, pass_view_block out[IR_MAX_RANK]) {
  uint32_t count = 0;
  bool single = false;
  for (uint32_t i = 0; i < v->rank; i++) {
    ir_ref size = v->shape[i], stride = v->stride[i];
    pass_view_block *last = count ? &out[count - 1] : NULL;
    if (last && view_is(g, size, 1)) continue;
    if (last && (single || view_same(g, pass_mul(g, size, stride), last->stride))) {
      ir_ref real = single ? size : pass_mul(g, last->real, size);
      *last = (pass_view_block){pass_mul(g, last->size, size), stride, real};
    } else {
      bool repeats = count == 0 && view_is(g, stride, 0); /* all its indices read the same element */
      out[count++] = (pass_view_block){size, stride, repeats ? ir_index(g, 0) : size};
    }
    single = view_is(g, v->masked ? pass_sub(g, v->end[i], v->begin[i]) : size, 1);
  }
  return count;
}

pass_view_status pass_view_minify(ir_graph *g, const pass_view *v, pass_view *out) {
  pass_view_block blocks[IR_MAX_RANK];
  ir_ref shape[IR_MAX_RANK];
  pass_view small;
  uint32_t count = pass_view_blocks(g, v, blocks);
  for (uint32_t i = 0; i < count; i++) shape[i] = blocks[i].size;
  pass_view_status status = count < v->rank ? pass_view_reshape(g, v, count, shape, &small) : PASS_VIEW_NONE;
  *out = status == PASS_VIEW_DONE ? small : *v;
  return status == PASS_VIEW_FAILED ? status : PASS_VIEW_DONE;
}
