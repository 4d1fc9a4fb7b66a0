/* Which images have their channels last.
 *
 * An image is a value [batch, channels, spatial...] that is computed elementwise, by a maximum or minimum of
 * windows, or joined of others. Where a convolution sums over its channels, these are best neighbours: the
 * tile reads one line of the cache after another, its lanes run along the channels of the result, which fill
 * vectors whatever the width of the image, and the next convolution reads it as it was stored. So nothing is
 * transposed between convolutions, and windows of pooling and of convolutions channel by channel are whole
 * vectors that nothing shifts.
 *
 * Images that meet in an elementwise operation or a join, and those between which there is a window of each
 * channel, are a group with one layout: another one for a part of them would be a transposing copy. A group
 * stays as it is where something reads it whose lanes would then lie apart: a view that makes one axis of
 * channels and positions, a product that keeps channels as its rows, a result of the graph. Norms over the
 * channels often stand between two views, which put these last and first again: what is computed between them
 * is no image, and says nothing of layouts. */
#include "layout.h"

#include "passes/passes.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"
#include "passes/strategy.h"

#include <string.h>

enum {
  CONVOLVED = 1,          /* of a group: a convolution sums over its channels */
  AS_IT_IS = 2,           /* of a group: it keeps its layout */
  IN_MEMORY = 4,          /* of a node: others than elementwise operations read it */
  MULTIPLIED = 8,         /* of a node: a product with a weight, whose sum is read */
  CHANNELS_LAST = 16,     /* of a node: it is computed with its channels last in any case */
  CONTRACTED = 32,        /* of a node: the terms of a product of two values, which are in no memory */
  NO_CHANNEL = UINT8_MAX, /* in place of an axis */
  /* from which on lanes are filled. 1 x 1 convolutions of 8 channels have half vectors along them, and whole
   * ones along positions */
  MIN_CHANNELS = 16
};

static int64_t size_of(ir_graph *g, ir_ref x, uint32_t axis) {
  return ir_bounds_of(g, ir_dim(g, x, axis)).hi;
}

/* The axis of the view along which the axis of its operand goes; NO_CHANNEL: it is split, or a part of one.
 */
static uint8_t axis_above(ir_graph *g, ir_ref view, uint8_t axis) {
  const ir_node *n = ir_get(g, view);
  ir_ref below = n->src[0];
  uint8_t rank = (uint8_t)ir_rank(g, view), at = axis;
  if (axis == NO_CHANNEL) return NO_CHANNEL;
  switch ((int)n->op) {
  case IR_OP_SHRINK:
  case IR_OP_STRIDE:
  case IR_OP_PAD:
  case IR_OP_FLIP: return axis;
  case IR_OP_EXPAND: return (uint8_t)(axis + rank - ir_rank(g, below));
  case IR_OP_PERMUTE:
    for (at = 0; ir_get(g, n->src[1 + at])->arg != axis;) at++;
    return at;
  case IR_OP_GATHER:
    at = (uint8_t)ir_arg_int(n);
    return at == axis ? NO_CHANNEL : at < axis ? (uint8_t)(axis + rank - ir_rank(g, below)) : axis;
  case IR_OP_RESHAPE:
  case IR_OP_SQUEEZE:
  case IR_OP_UNSQUEEZE:
    for (at = 0; at < rank; at++)
      if (size_of(g, view, at) == size_of(g, below, axis) &&
          pass_axis_step(g, view, at) == pass_axis_step(g, below, axis))
        return at;
    return NO_CHANNEL;
  default: return NO_CHANNEL;
  }
}

/* The axis of a reduction's result; NO_CHANNEL: the reduction is over it. */
static uint8_t axis_kept(const ir_graph *g, ir_ref reduce, uint8_t axis) {
  const ir_node *n = ir_get(g, reduce);
  uint8_t kept = 0;
  if (axis == NO_CHANNEL || ir_reduces_axis(g, n, axis)) return NO_CHANNEL;
  for (uint8_t i = 0; i < axis; i++) kept += !ir_reduces_axis(g, n, i);
  return kept;
}

static bool is_elementwise(const ir_node *n) { return pass_is_elementwise(n) || n->op == IR_OP_STORED; }

static bool has_shape_of_image(ir_graph *g, ir_ref r) {
  uint32_t rank = ir_rank(g, r);
  int64_t positions = 1;
  if (rank < 3 || ir_dtype_of(g, r) == IR_BOOL || size_of(g, r, LAYOUT_CHANNEL) < MIN_CHANNELS) return false;
  for (uint32_t i = LAYOUT_CHANNEL + 1; i < rank; i++) positions = pass_times(positions, size_of(g, r, i));
  return positions > 1;
}

static bool may_be_image(const layout_groups *s, ir_ref r) {
  const ir_node *n = ir_get(s->g, r);
  bool sampled =
      n->op == IR_OP_SUM && s->image[r] && s->marks[r] & IN_MEMORY && s->marks[n->src[0]] & MULTIPLIED;
  bool op = sampled || (is_elementwise(n) && ir_operand_count(n) == n->nsrc) || n->op == IR_OP_REDUCE_MAX ||
            n->op == IR_OP_REDUCE_MIN || n->op == IR_OP_CONCAT;
  return op && !(s->marks[r] & (MULTIPLIED | CONTRACTED)) && has_shape_of_image(s->g, r);
}

static ir_ref group_of(const layout_groups *s, ir_ref image) {
  while (s->group[image] != image) image = s->group[image] = s->group[s->group[image]];
  return image;
}

static void mark(layout_groups *s, ir_ref image, uint8_t what) { s->marks[group_of(s, image)] |= what; }

static void join(layout_groups *s, ir_ref a, ir_ref b) {
  a = group_of(s, a), b = group_of(s, b);
  s->group[a] = b;
  s->marks[b] |= s->marks[a] & (CONVOLVED | AS_IT_IS);
}

/* Does the operand of a product vary along the axis? Those that are broadcast are expanded. */
static bool varies_along(ir_graph *g, ir_ref operand, uint8_t axis) {
  const ir_node *n = ir_get(g, operand);
  if (n->op != IR_OP_EXPAND) return true;
  uint32_t more = ir_rank(g, operand) - ir_rank(g, n->src[0]);
  return axis >= more && size_of(g, n->src[0], axis - more) > 1;
}

/* Is there an axis of the sum along which the factor of its terms is the same? */
static bool is_used_again(ir_graph *g, ir_ref sum, ir_ref factor) {
  bool again = false;
  for (uint8_t a = 0; a < ir_rank(g, factor) && !again; a++)
    again =
        !ir_reduces_axis(g, ir_get(g, sum), a) && size_of(g, factor, a) > 1 && !varies_along(g, factor, a);
  return again;
}

/* Positions that are gathered are whole lines of channels that are last, as those that views take. */
static bool is_view(const ir_node *n) {
  return (ir_ops[n->op].cls == IR_CLASS_VIEW && n->op != IR_OP_CONCAT && n->op != IR_OP_STACK) ||
         n->op == IR_OP_GATHER;
}

/* Is it what a caller or a file supplies, or computed from constants alone, as weights are? */
static bool is_weight(layout_groups *s, ir_ref operand) {
  ir_ref base = pass_below_views(s->g, operand);
  return ir_ops[ir_op_of(s->g, base)].cls == IR_CLASS_LEAF || pass_is_known_value(&s->constants, s->g, base);
}

/* Has the operand of an image, which shows none, as many elements and another origin than a sum? Its layout
 * is given. */
static bool has_own_layout(ir_graph *g, ir_ref operand, ir_ref image) {
  ir_ref base = pass_below_views(g, operand);
  return ir_op_of(g, base) != IR_OP_SUM && pass_elements(g, base) >= pass_elements(g, image);
}

/* The axis of the channels that a convolution, a sum over windows, makes: that of its weight; NO_CHANNEL: it
 * is none. */
static uint8_t channel_made(layout_groups *s, ir_ref sum) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, sum);
  ir_ref product = ir_src(g, sum, 0);
  uint8_t found = NO_CHANNEL, reduced = 0;
  for (uint8_t a = 0; a < ir_rank(g, product); a++) reduced += ir_reduces_axis(g, n, a);
  for (int k = 0; k < 2 && reduced > 1; k++) {
    ir_ref weight = ir_src(g, product, k), other = ir_src(g, product, 1 - k);
    for (uint8_t a = 0; a < ir_rank(g, product) && is_weight(s, weight); a++)
      if (!ir_reduces_axis(g, n, a) && size_of(g, weight, a) > 1 && !varies_along(g, other, a))
        found = axis_kept(g, sum, a);
  }
  return found;
}

/* Ties the layout of a result to that of the image, of which it shows no channels; 0: to what is no image. */
static void tie(layout_groups *s, ir_ref result, ir_ref image) {
  s->image[result] = image ? image : (s->group[result] = result);
  s->channel[result] = NO_CHANNEL;
  mark(s, s->image[result], AS_IT_IS);
}

/* Does the sum, with several weights, make so few channels of the image that lanes along them fill no half of
 * a vector, and those along lines of positions do? 3 channels of 64 x 56 x 56, with windows of 3 x 3, take
 * 0.24 ms in place of 0.57, 4 of 24 x 112 x 112 0.18 in place of 0.26 (Zen 4); 8 and more, or of short lines,
 * 0.9 to 1.18 times as long. */
static bool has_lanes_along_lines(ir_graph *g, ir_ref sum, ir_ref factor, ir_ref weight, ir_ref image) {
  int64_t made = 1;
  for (uint8_t a = 0; a < ir_rank(g, factor); a++)
    if (!ir_reduces_axis(g, ir_get(g, sum), a) && varies_along(g, weight, a) && !varies_along(g, factor, a))
      made = pass_times(made, size_of(g, weight, a));
  return made < PASS_HALF_VECTOR && size_of(g, image, ir_rank(g, image) - 1) >= 2 * PASS_HALF_VECTOR;
}

/* Does each image have products with a weight of its own, as a batch of matrices has? */
static bool is_batch_of_products(ir_graph *g, ir_ref sum, ir_ref factor, ir_ref weight) {
  return !ir_reduces_axis(g, ir_get(g, sum), 0) && size_of(g, factor, 0) > 1 && varies_along(g, factor, 0) &&
         varies_along(g, weight, 0);
}

/* What a sum of products reads. Its result shows the channels of the image that they are kept of. Windows of
 * which no element is used with several weights are read in the order of their results. */
static void read_by_products(layout_groups *s, ir_ref sum) {
  ir_graph *g = s->g;
  ir_ref product = ir_src(g, sum, 0);
  const ir_ref *factor = ir_get(g, product)->src;
  for (int k = 0; k < 2; k++) {
    ir_ref image = s->image[factor[k]], other = factor[1 - k];
    uint8_t channel = s->channel[factor[k]];
    if (!image) continue;
    bool last = s->marks[pass_below_views(g, factor[k])] & CHANNELS_LAST; /* it reads lines as they are */
    if (is_batch_of_products(g, sum, factor[k], other)) mark(s, image, AS_IT_IS);
    else if (channel != NO_CHANNEL && ir_reduces_axis(g, ir_get(g, sum), channel))
      mark(s, image, last || has_lanes_along_lines(g, sum, factor[k], other, image) ? 0 : CONVOLVED);
    else if (channel == NO_CHANNEL || (!varies_along(g, other, channel) && is_used_again(g, sum, factor[k])))
      mark(s, image, AS_IT_IS);
    else s->image[sum] = image, s->channel[sum] = axis_kept(g, sum, channel);
  }
  if (!s->image[sum] && !(is_used_again(g, sum, factor[0]) && is_used_again(g, sum, factor[1])))
    tie(s, sum, s->image[factor[0]] ? s->image[factor[0]] : s->image[factor[1]]);
  else if (!s->image[sum]) s->channel[sum] = channel_made(s, sum);
}

static void find_in_view(layout_groups *s, ir_ref r) {
  const ir_node *n = ir_get(s->g, r);
  ir_ref below = n->src[0], index = n->op == IR_OP_GATHER ? n->src[1] : 0;
  if (index && s->image[index]) mark(s, s->image[index], AS_IT_IS);
  s->image[r] = s->image[below];
  s->channel[r] = axis_above(s->g, r, s->channel[below]);
}

static void find_in_reduction(layout_groups *s, ir_ref r) {
  ir_ref below = ir_src(s->g, r, 0);
  if (s->marks[below] & MULTIPLIED) {
    read_by_products(s, r);
    return;
  }
  if (!s->image[below]) {
    if (has_shape_of_image(s->g, r) && !pass_is_known_value(&s->constants, s->g, r)) tie(s, r, 0);
    return;
  }
  s->channel[r] = axis_kept(s->g, r, s->channel[below]);
  if (s->channel[below] == NO_CHANNEL) mark(s, s->image[below], AS_IT_IS);
  s->image[r] = s->channel[r] == NO_CHANNEL ? 0 : s->image[below];
}

/* Is it made element by element of values whose channels are last, as a norm over them reads a convolution?
 * Its lanes run along them whatever the layout of images. It shows them where they are; all such images have
 * one layout. */
static bool is_made_last(layout_groups *s, ir_ref r) {
  const ir_node *n = ir_get(s->g, r);
  uint8_t rank = (uint8_t)ir_rank(s->g, r);
  ir_ref image = 0;
  bool last = false;
  if (rank < 3 || !is_elementwise(n)) return false;
  for (uint32_t k = 0; k < ir_operand_count(n); k++) {
    ir_ref x = n->src[k], below = s->image[x];
    if (s->channel[x] == NO_CHANNEL && !below) continue;
    if (s->channel[x] != rank - 1 || ir_rank(s->g, x) != rank) return false;
    if (image && below) join(s, image, below);
    if (below) image = below;
    last = true;
  }
  if (last) s->image[r] = image, s->channel[r] = (uint8_t)(rank - 1), s->marks[r] |= CHANNELS_LAST;
  return last;
}

/* An image is in one group with all that it is made of element by element. */
static void find_in_elements(layout_groups *s, ir_ref r) {
  const ir_node *n = ir_get(s->g, r);
  if (is_made_last(s, r)) return;
  ir_ref shown = ir_ops[n->op].cls == IR_CLASS_REDUCE ? s->image[r] : 0;
  bool image = may_be_image(s, r), fits = s->channel[r] == LAYOUT_CHANNEL;
  if (image) s->image[r] = s->group[r] = r, s->channel[r] = LAYOUT_CHANNEL;
  if (image && shown) join(s, shown, r);
  if (image && shown && !fits) mark(s, r, AS_IT_IS);
  for (uint32_t k = 0; k < ir_operand_count(n) && !shown; k++) {
    ir_ref below = s->image[n->src[k]];
    bool restored =
        !below && s->channel[n->src[k]] == LAYOUT_CHANNEL; /* channels that a view put first again */
    if (!below && image && !restored && has_own_layout(s->g, n->src[k], r)) mark(s, r, AS_IT_IS);
    if (!below) continue;
    if (image) join(s, below, r);
    if (s->channel[n->src[k]] != LAYOUT_CHANNEL || ir_rank(s->g, n->src[k]) != ir_rank(s->g, r))
      mark(s, below, AS_IT_IS);
  }
}

static void find_in(layout_groups *s, ir_ref r) {
  const ir_node *n = ir_get(s->g, r);
  ir_class cls = (ir_class)ir_ops[n->op].cls;
  bool tensor = ir_shape(s->g, r) != 0, view = is_view(n);
  if (!tensor || !(view || cls == IR_CLASS_REDUCE || is_elementwise(n) || n->op == IR_OP_CONCAT)) {
    for (uint32_t k = 0; k < n->nsrc; k++) /* a result, or an operand of something else */
      if (s->image[n->src[k]]) mark(s, s->image[n->src[k]], AS_IT_IS);
    return;
  }
  if (s->marks[r] & (MULTIPLIED | CONTRACTED)) return;
  if (view) find_in_view(s, r);
  else if (cls == IR_CLASS_REDUCE) find_in_reduction(s, r);
  if (!view && (cls != IR_CLASS_REDUCE || s->image[r])) find_in_elements(s, r);
}

static void mark_uses(layout_groups *s) {
  for (size_t i = 0; i < s->count; i++) {
    const ir_node *n = ir_get(s->g, s->live[i]);
    if (!ir_shape(s->g, s->live[i])) continue;
    for (uint32_t k = 0; k < ir_operand_count(n); k++)
      if (!pass_is_elementwise(n)) s->marks[n->src[k]] |= IN_MEMORY;
    if (n->op != IR_OP_SUM) continue;
    ir_ref term = n->src[0];
    bool product = ir_op_of(s->g, term) == IR_OP_MUL || pass_is_product(s->g, term);
    pass_contraction c;
    if (product && pass_contraction_of(s->g, s->live[i], &c) && pass_contraction_reuses(&c))
      s->marks[term] |= CONTRACTED;
    if (product && (is_weight(s, ir_src(s->g, term, 0)) || is_weight(s, ir_src(s->g, term, 1))))
      s->marks[term] |= MULTIPLIED;
  }
}

bool layout_find_groups(layout_groups *s) {
  const ir_mem *mem = s->g->mem;
  s->image = ir_alloc(mem, s->nodes * sizeof *s->image);
  s->channel = ir_alloc(mem, s->nodes);
  s->group = ir_alloc(mem, s->nodes * sizeof *s->group);
  s->marks = ir_alloc(mem, s->nodes);
  if (!s->image || !s->channel || !s->group || !s->marks) return false;
  memset(s->image, 0, s->nodes * sizeof *s->image);
  memset(s->channel, NO_CHANNEL, s->nodes);
  memset(s->group, 0, s->nodes * sizeof *s->group);
  memset(s->marks, 0, s->nodes);
  mark_uses(s);
  for (size_t i = 0; i < s->count; i++) find_in(s, s->live[i]);
  return true;
}

void layout_free_groups(layout_groups *s) {
  const ir_mem *mem = s->g->mem;
  ir_free(mem, s->image, s->image ? s->nodes * sizeof *s->image : 0);
  ir_free(mem, s->channel, s->channel ? s->nodes : 0);
  ir_free(mem, s->group, s->group ? s->nodes * sizeof *s->group : 0);
  ir_free(mem, s->marks, s->marks ? s->nodes : 0);
  pass_constant_values_free(&s->constants, s->g);
}

bool layout_is_last(const layout_groups *s, ir_ref node) {
  return node < s->nodes && s->group[node] &&
         (s->marks[group_of(s, node)] & (CONVOLVED | AS_IT_IS)) == CONVOLVED;
}

bool layout_is_stored(const layout_groups *s, ir_ref node) { return s->marks[node] & IN_MEMORY; }
