/* Images stored with their channels last.
 *
 * Each image of a group (image_groups.c) is computed in that order: elementwise operations on their operands
 * in that order, joins along the axis that the channels then are, others as a view of what they were. Where
 * others than elementwise operations read it, it is stored so, and they read a view that puts the channels
 * first again; pads are below that view, so that a padded copy has the channels last as well. Views of sums
 * of products are moved in front of these afterwards (passes/lower/result_order.c). */
#include "layout.h"

#include "ir/target.h"
#include "passes/index/index.h"
#include "passes/ops/check.h"
#include "passes/ops/ops.h"
#include "passes/passes.h"
#include "passes/patterns/epilogue.h"

#include <string.h>

typedef struct rewriter {
  ir_graph *g;
  layout_groups groups;
  ir_ref *map;  /* by node: what has become of it */
  ir_ref *last; /* the same with channels last, of images and of pads of these; 0: it is none */
} rewriter;

/* The axis of the value that axis `i` with channels last is. */
static uint32_t axis_before(uint32_t i, uint32_t rank) {
  return i + 1 == rank ? LAYOUT_CHANNEL : i < LAYOUT_CHANNEL ? i : i + 1;
}

static ir_ref channels_last(ir_graph *g, ir_ref x) {
  ir_ref order[IR_MAX_RANK];
  uint32_t rank = ir_rank(g, x);
  for (uint32_t i = 0; i < rank; i++) order[i] = ir_index(g, axis_before(i, rank));
  return x ? op_permute(g, x, order, rank) : 0;
}

static ir_ref channels_first(ir_graph *g, ir_ref x) {
  ir_ref order[IR_MAX_RANK];
  uint32_t rank = ir_rank(g, x);
  for (uint32_t i = 0; i < rank; i++) order[axis_before(i, rank)] = ir_index(g, i);
  return x ? op_permute(g, x, order, rank) : 0;
}

/* What has become of an operand of an image, with channels last. Scalars have no layout. */
static ir_ref operand_last(const rewriter *w, ir_ref operand) {
  if (w->last[operand]) return w->last[operand];
  return ir_rank(w->g, operand) ? channels_last(w->g, w->map[operand]) : w->map[operand];
}

/* An elementwise operation, or a join, of operands with channels last. */
static ir_ref remade_last(const rewriter *w, ir_ref image) {
  ir_graph *g = w->g;
  const ir_node *n = ir_get(g, image);
  uint32_t count = ir_operand_count(n), rank = ir_rank(g, image), join = 0;
  ir_ref few[3], *src = few, dims[IR_MAX_RANK], made;
  if (count > 3 && !(src = ir_alloc(g->mem, count * sizeof *src))) return 0;
  bool good = true;
  for (uint32_t k = 0; k < count; k++) good = (src[k] = operand_last(w, n->src[k])) != 0 && good;
  if (n->op == IR_OP_CONCAT) {
    while (axis_before(join, rank) != (uint32_t)ir_arg_int(n)) join++;
    made = good ? op_concat(g, src, count, join) : 0;
  } else {
    for (uint32_t i = 0; i < rank; i++) dims[i] = ir_dim(g, image, axis_before(i, rank));
    made = good ? ir_make_tensor(g, (ir_op)n->op, (ir_dtype)n->dtype, ir_tuple(g, dims, rank), n->arg, src,
                                 count)
                : 0;
  }
  if (src != few) ir_free(g->mem, src, count * sizeof *src);
  return made;
}

/* Channels between the positions of a padded image that is copied, besides its own. A window has 9 positions
 * or more, and a tile several windows: of channels that take a multiple of SET_BYTES all these lie in two of
 * the 64 sets of an L1 cache. 512 channels, 3 x 3 with stride 2, from 14 x 14 to 7 x 7 positions, take 2.2 ms
 * in place of 2.6. */
static int64_t channels_between(ir_graph *g, ir_ref pad) {
  enum { SET_BYTES = 2048 }; /* 32 lines, half the sets of an L1 cache [2.6 ms, 2.2 apart] */
  const ir_node *n = ir_get(g, pad);
  int64_t channels, bytes = ir_dtypes[n->dtype].bytes;
  bool one_set = ir_arg_mode(n) == IR_PAD_CONSTANT &&
                 ir_is_const(g, ir_dim(g, pad, LAYOUT_CHANNEL), &channels) &&
                 channels * bytes % SET_BYTES == 0;
  return one_set ? IR_CACHE_LINE_BYTES / bytes : 0;
}

/* A pad of what has its channels last. */
static ir_ref padded_last(const rewriter *w, ir_ref pad) {
  ir_graph *g = w->g;
  const ir_node *n = ir_get(g, pad);
  uint32_t rank = ir_rank(g, pad), channel = rank - 1;
  int64_t between = channels_between(g, pad);
  ir_ref src[2 + 2 * IR_MAX_RANK] = {w->last[n->src[0]], n->src[1]}, dims[IR_MAX_RANK],
                     bounds[2 * IR_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) {
    uint32_t from = axis_before(i, rank);
    dims[i] = ir_dim(g, pad, from);
    src[2 + 2 * i] = n->src[2 + 2 * from], src[3 + 2 * i] = n->src[3 + 2 * from];
    bounds[2 * i] = ir_index(g, 0), bounds[2 * i + 1] = dims[i];
  }
  dims[channel] = pass_add_int(g, dims[channel], between);
  src[3 + 2 * channel] = pass_add_int(g, src[3 + 2 * channel], between);
  ir_ref made =
      ir_make_tensor(g, IR_OP_PAD, (ir_dtype)n->dtype, ir_tuple(g, dims, rank), n->arg, src, n->nsrc);
  return made && between ? op_shrink_known(g, made, bounds) : made;
}

/* The node with channels last; 0: it is no image, or memory is short. */
static ir_ref made_last(const rewriter *w, ir_ref node) {
  ir_graph *g = w->g;
  const ir_node *n = ir_get(g, node);
  if (n->op == IR_OP_PAD && w->last[n->src[0]]) return padded_last(w, node);
  if (!layout_is_last(&w->groups, node)) return 0;
  bool extremum = ir_ops[n->op].cls == IR_CLASS_REDUCE;
  ir_ref made = extremum ? channels_last(g, ir_remake_mapped(g, node, w->map)) : remade_last(w, node);
  bool stored = made && n->op != IR_OP_CONCAT && layout_is_stored(&w->groups, node) &&
                ir_op_of(g, made) != IR_OP_STORED;
  return stored ? ir_unary(g, IR_OP_STORED, made) : made;
}

static bool rewrite(rewriter *w) {
  ir_graph *g = w->g;
  bool good = true;
  for (size_t i = 0; i < w->groups.count && good; i++) {
    ir_ref node = w->groups.live[i];
    ir_cause before = ir_cause_enter(g, node);
    w->last[node] = made_last(w, node);
    ir_ref made = w->last[node] ? channels_first(g, w->last[node]) : ir_remake_mapped(g, node, w->map);
    good = (w->map[node] = ir_cause_leave(g, before, node, made)) != 0;
  }
  return good;
}

static bool has_images(const layout_groups *s) {
  bool any = false;
  for (size_t i = 0; i < s->count && !any; i++) any = layout_is_last(s, s->live[i]);
  return any;
}

ir_ref pass_channels_last(ir_graph *g, ir_ref results) {
  size_t nodes = (size_t)results + 1, cap = 0;
  rewriter w = {.g = g, .groups = {.g = g, .nodes = nodes}};
  ir_ref *live = NULL, root = 0;
  w.map = ir_alloc(g->mem, nodes * sizeof *w.map);
  w.last = ir_alloc(g->mem, nodes * sizeof *w.last);
  if (w.map && w.last && ir_reachable_inside(g, &results, 1, &live, &w.groups.count, &cap) == IR_OK) {
    w.groups.live = live;
    memset(w.last, 0, nodes * sizeof *w.last);
    if (layout_find_groups(&w.groups))
      root = has_images(&w.groups) ? rewrite(&w) ? w.map[results] : 0 : results;
  }
  if (!root) ir_fail(g->error, IR_ERR_MEMORY, "out of memory choosing the layouts of images");
  layout_free_groups(&w.groups);
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, w.map, w.map ? nodes * sizeof *w.map : 0);
  ir_free(g->mem, w.last, w.last ? nodes * sizeof *w.last : 0);
  return root;
}
