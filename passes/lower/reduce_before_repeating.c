/* Maxima and minima over one axis before views repeat what is combined.
 *
 * Overlapping windows of several axes are views that repeat elements, one axis after another: a k x l window
 * of stride 1 reads each element k*l times. A view that leaves an axis as it is, index by index, is the same
 * before a maximum over this axis as behind it:
 *
 *   max(view(x), axes a and b)  =  max(view'(stored max(x, axis a')), axis b)
 *
 * with a' the axis of x that a goes along, and view' the view without it. k + l elements take the place of
 * k*l. What a pad fills in is the maximum of equal elements. Maxima and minima are exact, NaN and signed
 * zeros included, so that each result has the same bits; sums would not.
 *
 * Floats are combined as keys (passes/patterns/float_key.h), each of which is made once, and which are kept
 * between the two maxima: 5 x 5 windows of 64 x 20 x 20 take 0.012 ms in place of 0.040, by floats 0.019
 * (Zen 4, one thread). */
#include "lower.h"

#include "passes/index/affine.h"
#include "passes/ops/compose/impl.h"
#include "passes/patterns/float_key.h"
#include "passes/view/index_map.h"
#include "passes/view/interval.h"

#include <string.h>

enum {
  MAX_VIEWS = 32, /* views of one operand [13 in pooling over two axes, 19 over three]; below more, nothing is
                     looked at */
  /* gain at least, in quarters: 3 x 3 of 14 x 14 reads 1.4 times as little and takes 0.6 of the time, of
     stride 2 it reads as much and takes 1.1 */
  MIN_GAIN = 5,
  /* of an array, at most, whose keys are stored: 5 x 5 windows of 64 x 112 x 112 f32 take 0.6 ms by floats,
     1.3 by keys, which leave the L2 cache; of 64 x 56 x 56 f64 0.20 by keys, 0.22 by floats */
  KEY_BYTES = 2 << 20
};

/* Views from the operand of a reduction downwards. */
typedef struct view_path {
  ir_ref view[MAX_VIEWS];
  uint32_t axis[MAX_VIEWS]; /* that goes along the reduced one, in the result of the view */
  uint32_t count;
  ir_ref x; /* below the last view */
  uint32_t x_axis;
  int64_t elements; /* of x */
} view_path;

/* All elements of x, and those of one index of the axes behind `from`; 0: a size is not known. */
static int64_t elements_from(ir_graph *g, ir_ref x, uint32_t from) {
  int64_t all = 1, size;
  for (uint32_t i = from; i < ir_rank(g, x); i++) {
    if (!ir_is_const(g, ir_dim(g, x, i), &size)) return 0;
    all = pass_times(all, size);
  }
  return all;
}

static bool is_number(ir_graph *g, ir_ref index, int64_t wanted) {
  int64_t value;
  return ir_is_const(g, index, &value) && value == wanted;
}

/* The axis of the operand of a reshape of the same size, with as many elements behind it. */
static uint32_t reshaped_axis(ir_graph *g, ir_ref view, uint32_t axis) {
  ir_ref x = ir_src(g, view, 0);
  int64_t behind = elements_from(g, view, axis + 1);
  uint32_t below = 0, rank = ir_rank(g, x);
  while (below < rank &&
         (ir_dim(g, x, below) != ir_dim(g, view, axis) || elements_from(g, x, below + 1) != behind))
    below++;
  return behind && behind < PASS_FAR_TOO_MANY ? below : rank;
}

/* The axis of the view's operand that the axis goes along, index by index, at all indices of the others; the
 * operand's rank where there is none. */
static uint32_t same_axis_below(ir_graph *g, ir_ref view, uint32_t axis) {
  const ir_node *n = ir_get(g, view);
  ir_ref x = n->src[0];
  uint32_t none = ir_rank(g, x);
  bool same = false;
  switch (n->op) {
  case IR_OP_PERMUTE: return (uint32_t)ir_get(g, n->src[1 + axis])->arg;
  case IR_OP_RESHAPE:
  case IR_OP_UNSQUEEZE:
  case IR_OP_SQUEEZE: return reshaped_axis(g, view, axis);
  case IR_OP_EXPAND: same = ir_dim(g, x, axis) == ir_dim(g, view, axis); break;
  case IR_OP_SHRINK: same = ir_dim(g, x, axis) == ir_dim(g, view, axis); break;
  case IR_OP_STRIDE: same = is_number(g, n->src[1 + axis], 1); break;
  case IR_OP_PAD:
    same = is_number(g, n->src[2 + 2 * axis], 0) && is_number(g, n->src[3 + 2 * axis], 0);
    break;
  default: break;
  }
  return same ? axis : none;
}

/* From x downwards as far as views leave the axis as it is; to where there are the fewest elements. */
static view_path path_below(ir_graph *g, ir_ref x, uint32_t axis) {
  view_path p = {.x = x, .x_axis = axis, .elements = elements_from(g, x, 0)};
  uint32_t count = 0;
  while (count < MAX_VIEWS && p.elements) {
    uint32_t below = ir_shape(g, x) ? same_axis_below(g, x, axis) : IR_MAX_RANK;
    if (ir_ops[ir_op_of(g, x)].cls != IR_CLASS_VIEW || below >= ir_rank(g, ir_src(g, x, 0))) break;
    p.view[count] = x, p.axis[count++] = axis;
    x = ir_src(g, x, 0), axis = below;
    int64_t elements = elements_from(g, x, 0);
    if (elements >= p.elements || !elements) continue;
    p.elements = elements, p.x = x, p.x_axis = axis, p.count = count;
  }
  return p;
}

enum { NO_AXIS = IR_MAX_RANK };

/* The view of x, whose shape is that of its operand without the axis that goes along `axis` of the view, and
 * whose elements are those of the operand, or their keys for the operation `op`. */
static ir_ref view_of(ir_graph *g, ir_ref view, uint32_t axis, ir_ref x, ir_op op) {
  const ir_node *n = ir_get(g, view);
  ir_ref dims[IR_MAX_RANK], list[2 * IR_MAX_RANK];
  uint32_t rank = 0, pairs = n->op == IR_OP_PAD ? 2 : 1;
  int64_t removed = n->op == IR_OP_PERMUTE && axis != NO_AXIS ? ir_get(g, n->src[1 + axis])->arg : NO_AXIS;
  for (uint32_t i = 0; i < ir_rank(g, view); i++) {
    if (i == axis) continue;
    dims[rank] = ir_dim(g, view, i);
    if (n->op == IR_OP_PERMUTE) {
      int64_t from = ir_get(g, n->src[1 + i])->arg;
      list[rank] = ir_index(g, from - (from > removed));
    } else if (n->op == IR_OP_STRIDE) {
      list[rank] = n->src[1 + i];
    } else if (n->op == IR_OP_SHRINK || n->op == IR_OP_PAD) {
      list[2 * rank] = n->src[pairs + 2 * i], list[2 * rank + 1] = n->src[pairs + 1 + 2 * i];
    }
    rank++;
  }
  ir_ref fill = n->op == IR_OP_PAD ? n->src[1] : 0;
  if (fill && x && ir_dtype_of(g, x) != ir_dtype_of(g, fill)) fill = pass_constant_key(g, op, fill);
  switch (n->op) {
  case IR_OP_PERMUTE: return op_permute(g, x, list, rank);
  case IR_OP_EXPAND: return op_expand(g, x, dims, rank);
  case IR_OP_SHRINK: return op_shrink_known(g, x, list);
  case IR_OP_STRIDE: return op_stride(g, x, list, rank);
  case IR_OP_PAD: return op_pad(g, x, list, rank, fill, ir_arg_mode(n));
  default: return op_reshape_known(g, x, dims, rank);
  }
}

static bool is_rebuilt(ir_op op) {
  return op == IR_OP_PERMUTE || op == IR_OP_EXPAND || op == IR_OP_SHRINK || op == IR_OP_STRIDE ||
         op == IR_OP_PAD || op == IR_OP_RESHAPE || op == IR_OP_UNSQUEEZE || op == IR_OP_SQUEEZE;
}

/* The key that x is the value of: bitcast(xor(key plus or minus a number, ...)); 0: it is none. */
static ir_ref key_below(ir_graph *g, ir_op op, ir_ref x) {
  ir_ref bits = ir_op_of(g, x) == IR_OP_BITCAST ? ir_src(g, x, 0) : 0,
         order = bits && ir_op_of(g, bits) == IR_OP_XOR ? ir_src(g, bits, 0) : 0;
  bool moved = order && ir_op_of(g, order) == (op == IR_OP_MAX ? IR_OP_ADD : IR_OP_SUB);
  ir_ref key = moved ? ir_src(g, order, 0) : 0;
  return key && pass_key_value(g, op, key, ir_dtype_of(g, x)) == x ? key : 0;
}

/* The views of the keys of x in place of x; of what the views read, each key is made once, and stored. 0:
 * there are others among the views, or too many keys, or the keys would have to be made, and `make` is
 * false. */
static ir_ref keys_of(ir_graph *g, ir_op op, ir_ref x, bool make) {
  ir_ref view[MAX_VIEWS];
  uint32_t count = 0;
  for (; count < MAX_VIEWS && is_rebuilt(ir_op_of(g, x)); x = ir_src(g, x, 0)) view[count++] = x;
  if (count == MAX_VIEWS || (ir_ops[ir_op_of(g, x)].cls == IR_CLASS_VIEW)) return 0;
  if (elements_from(g, x, 0) > KEY_BYTES / ir_dtypes[ir_dtype_of(g, x)].bytes) return 0;
  ir_ref key = key_below(g, op, x);
  if (!key && make) key = pass_float_key(g, op, x);
  key = key ? ir_unary(g, IR_OP_STORED, key) : 0;
  while (count-- > 0 && key) key = view_of(g, view[count], NO_AXIS, key, op);
  return key;
}

/* Places of the elements of x that a step along each axis is apart in the memory that its views read; 0 where
 * this is not the same everywhere. False when memory is short. */
static bool memory_steps(ir_graph *g, ir_ref x, int64_t *step) {
  ir_ref dims[IR_MAX_RANK], ranges[IR_MAX_RANK];
  pass_point at = {.rank = ir_rank(g, x)};
  uint32_t rank = at.rank;
  for (uint32_t i = 0; i < rank; i++) dims[i] = ir_dim(g, x, i);
  view_ranges(g, dims, rank, ranges);
  for (uint32_t i = 0; i < rank; i++) at.at[i] = ranges[i];
  while (ir_ops[ir_op_of(g, x)].cls == IR_CLASS_VIEW && ir_operand_count(ir_get(g, x)) == 1) {
    if (!pass_view_index(g, &pass_canonical, x, &at)) return false;
    x = ir_src(g, x, 0);
  }
  ir_ref flat = pass_flatten(g, &pass_canonical, ir_shape(g, x), &at);
  for (uint32_t i = 0; i < rank && flat; i++) {
    bool known = ir_op_of(g, ranges[i]) == IR_OP_RANGE && affine_stride(g, flat, ranges[i], &step[i]);
    if (!known) step[i] = 0;
    else if (step[i] < 0) step[i] = -step[i];
  }
  return flat != 0;
}

/* The pad with a constant that x has along the axis: views between it and x leave the axis as it is and fill
 * nothing in. 0: there is none. */
static ir_ref pad_along(ir_graph *g, ir_ref x, uint32_t *axis) {
  ir_ref dims[IR_MAX_RANK];
  pass_point at = {.rank = ir_rank(g, x)};
  for (uint32_t i = 0; i < at.rank; i++) dims[i] = ir_dim(g, x, i);
  view_ranges(g, dims, at.rank, at.at);
  while (is_rebuilt(ir_op_of(g, x))) {
    const ir_node *n = ir_get(g, x);
    uint32_t below = same_axis_below(g, x, *axis);
    bool pads = n->op == IR_OP_PAD && below == ir_rank(g, n->src[0]);
    if (pads) return ir_arg_mode(n) == IR_PAD_CONSTANT ? x : 0;
    ir_ref valid = pass_view_index(g, &pass_canonical, x, &at);
    if (!valid || !ir_is_true(g, valid) || below >= ir_rank(g, ir_src(g, x, 0))) return 0;
    x = ir_src(g, x, 0), *axis = below;
  }
  return 0;
}

/* x without what constant pads fill in along axes other than `axis`. pads: these, by axis of x; fill: the
 * element. */
static ir_ref without_pads(ir_graph *g, ir_ref x, uint32_t axis, ir_ref *pads, ir_ref *fill) {
  ir_ref bounds[2 * IR_MAX_RANK];
  *fill = 0;
  for (uint32_t i = 0; i < ir_rank(g, x); i++) {
    uint32_t there = i;
    ir_ref pad = i == axis ? 0 : pad_along(g, x, &there), own = pad ? ir_src(g, pad, 1) : 0;
    bool taken = own && (!*fill || own == *fill);
    if (taken) *fill = own;
    pads[2 * i] = taken ? ir_src(g, pad, 2 + 2 * there) : ir_index(g, 0);
    pads[2 * i + 1] = taken ? ir_src(g, pad, 3 + 2 * there) : ir_index(g, 0);
    bounds[2 * i] = pads[2 * i];
    bounds[2 * i + 1] = pass_sub(g, ir_dim(g, x, i), pads[2 * i + 1]);
  }
  return *fill ? op_shrink_known(g, x, bounds) : x;
}

/* The reduction over `axis` of x, stored with the axes in the order of the memory that x reads: those of x
 * that are left, in their order. */
static ir_ref reduced_and_stored(ir_graph *g, ir_op op, ir_ref x, uint32_t axis) {
  ir_ref order[IR_MAX_RANK], back[IR_MAX_RANK], reduced = ir_index(g, axis), pads[2 * IR_MAX_RANK], fill;
  int64_t step[IR_MAX_RANK];
  uint32_t rank = 0, sorted[IR_MAX_RANK];
  x = without_pads(g, x, axis, pads, &fill);
  if (!x || !memory_steps(g, x, step)) return 0;
  for (uint32_t i = 0; i < ir_rank(g, x); i++) {
    if (i == axis) continue;
    int64_t own =
        is_number(g, ir_dim(g, x, i), 1) ? INT64_MAX : step[i]; /* where it does not matter: first */
    uint32_t at = rank;
    step[rank] = own; /* rank <= i */
    for (; at > 0 && step[sorted[at - 1]] < own && own > 0; at--) sorted[at] = sorted[at - 1];
    sorted[at] = rank++;
  }
  for (uint32_t i = 0; i < rank; i++) order[i] = ir_index(g, sorted[i]), back[sorted[i]] = ir_index(g, i);
  x = op_permute(g, op_reduce(g, op, x, &reduced, 1, false), order, rank);
  x = x ? op_permute(g, ir_unary(g, IR_OP_STORED, x), back, rank) : 0;
  memmove(pads + 2 * axis, pads + 2 * axis + 2, 2 * (rank - axis) * sizeof *pads);
  return x && fill ? op_pad_known(g, x, pads, fill) : x;
}

/* The path down from the operand of the reduction below which it goes over fewest elements, with what is left
 * to be reduced; false where this gains little. */
static bool find_path(ir_graph *g, ir_ref one, view_path *best) {
  const ir_node *n = ir_get(g, one);
  ir_ref x = n->src[0];
  int64_t all = n->nsrc > 2 ? elements_from(g, x, 0) : 0, least = all, size;
  for (uint32_t i = 1; i < n->nsrc && all && all < PASS_FAR_TOO_MANY; i++) {
    uint32_t axis = (uint32_t)ir_get(g, n->src[i])->arg;
    view_path p = path_below(g, x, axis);
    if (!ir_is_const(g, ir_dim(g, x, axis), &size) || size < 2 || !p.count) continue;
    if (p.elements + all / size >= least) continue;
    least = p.elements + all / size;
    *best = p;
  }
  return 4 * all >= MIN_GAIN * least && least < all;
}

/* The reduction of `one`, over the axis of the path before its views. x: the operand of the path, or its
 * keys.
 */
static ir_ref reduce_below(ir_graph *g, ir_ref one, const view_path *p, ir_ref x, ir_op op) {
  const ir_node *n = ir_get(g, one);
  ir_ref axes[IR_MAX_RANK], made = reduced_and_stored(g, (ir_op)n->op, x, p->x_axis);
  uint32_t count = 0;
  for (uint32_t i = p->count; i-- > 0 && made;) made = view_of(g, p->view[i], p->axis[i], made, op);
  for (uint32_t i = 1; i < n->nsrc; i++) {
    uint32_t axis = (uint32_t)ir_get(g, n->src[i])->arg;
    if (axis != p->axis[0]) axes[count++] = ir_index(g, axis - (axis > p->axis[0]));
  }
  return made ? op_reduce(g, (ir_op)n->op, made, axes, count, false) : 0;
}

/* The reduction, over all of its axes. */
static ir_ref reduce_all(ir_graph *g, ir_ref one, ir_ref x) {
  const ir_node *n = ir_get(g, one);
  ir_ref axes[IR_MAX_RANK];
  for (uint32_t i = 1; i < n->nsrc; i++) axes[i - 1] = n->src[i];
  return op_reduce(g, (ir_op)n->op, x, axes, n->nsrc - 1, false);
}

ir_ref lower_reduce_before_repeating(ir_graph *g, ir_ref one) {
  view_path p = {.count = 0};
  ir_op op = ir_op_of(g, one) == IR_OP_REDUCE_MAX ? IR_OP_MAX : IR_OP_MIN;
  ir_dtype dtype = ir_dtype_of(g, one);
  ir_ref keys = 0;
  bool found = false;
  if (ir_op_of(g, one) != IR_OP_REDUCE_MAX && ir_op_of(g, one) != IR_OP_REDUCE_MIN) return one;
  while (one && find_path(g, one, &p)) {
    ir_ref x = p.x;
    bool keyed = ir_dtype_of(g, one) == IR_F32 || ir_dtype_of(g, one) == IR_F64;
    keys = keyed ? keys_of(g, op, x, true) : 0;
    if (g->error->status) return 0;
    one = reduce_below(g, one, &p, keys ? keys : x, op);
    found = true;
  }
  if (!found && (dtype == IR_F32 || dtype == IR_F64)) { /* what another maximum has left */
    keys = keys_of(g, op, ir_src(g, one, 0), false);
    if (keys) one = reduce_all(g, one, keys);
  }
  if (g->error->status) return 0;
  return one && ir_dtype_of(g, one) != dtype ? pass_key_value(g, op, one, dtype) : one;
}
