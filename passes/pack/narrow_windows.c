/* Words of narrow integers of an operand that reads windows: elements of its base are in several terms, so
 * the words are made of the base, and the views of windows are those of the words. They leave the axis along
 * which terms are in words as it is. */
#include "pack.h"

#include "passes/index/index.h"
#include "passes/ops/check.h"
#include "passes/ops/ops.h"

#include <string.h>

enum { NO_AXIS = IR_MAX_RANK }; /* the axis is split, or a part of one that has no words */

/* An axis of a value that is split into words: its size, and that in words. */
typedef struct worded {
  uint32_t axis;
  int64_t size, words;
} worded;

static bool has_size(ir_graph *g, ir_ref x, uint32_t axis, int64_t size) {
  int64_t known;
  return ir_is_const(g, ir_dim(g, x, axis), &known) && known == size;
}

static bool is_index(const ir_graph *g, ir_ref x, int64_t value) {
  int64_t known;
  return ir_is_const(g, x, &known) && known == value;
}

/* The axis of the view's result; NO_AXIS: another one has its elements as well. */
static uint32_t axis_above(ir_graph *g, ir_ref view, uint32_t axis) {
  const ir_node *n = ir_get(g, view);
  ir_ref below = n->src[0];
  uint32_t rank = ir_rank(g, view);
  switch ((int)n->op) {
  case IR_OP_SHRINK:
  case IR_OP_STRIDE:
  case IR_OP_PAD: return axis;
  case IR_OP_EXPAND: return axis + rank - ir_rank(g, below);
  case IR_OP_PERMUTE:
    for (uint32_t i = 0; i < rank; i++)
      if (ir_get(g, n->src[1 + i])->arg == axis) return i;
    return NO_AXIS;
  case IR_OP_RESHAPE:
  case IR_OP_SQUEEZE:
  case IR_OP_UNSQUEEZE:
    for (uint32_t i = 0; i < rank; i++)
      if (ir_dim(g, view, i) == ir_dim(g, below, axis) &&
          pass_axis_step(g, view, i) == pass_axis_step(g, below, axis))
        return i;
    return NO_AXIS;
  default: return NO_AXIS;
  }
}

/* The axis behind the view, of which words can be made if they can be of the axis before it. */
static bool step_up(ir_graph *g, ir_ref view, int parts, worded *w) {
  const ir_node *n = ir_get(g, view);
  uint32_t from = w->axis;
  int64_t high;
  w->axis = axis_above(g, view, from);
  if (w->axis == NO_AXIS) return false;
  switch ((int)n->op) {
  case IR_OP_SHRINK:
    if (!is_index(g, n->src[1 + 2 * from], 0) || !ir_is_const(g, n->src[2 + 2 * from], &high)) return false;
    if (high != w->size && high % parts) return false;
    w->size = high, w->words = (high + parts - 1) / parts;
    return true;
  case IR_OP_STRIDE: return is_index(g, n->src[1 + from], 1);
  case IR_OP_PAD:
    return ir_arg_mode(n) == IR_PAD_CONSTANT && is_index(g, n->src[2 + 2 * from], 0) &&
           is_index(g, n->src[3 + 2 * from], 0);
  default: return has_size(g, view, w->axis, w->size);
  }
}

/* The view, of words. Behind it they are along the axis `above`. */
static ir_ref view_of_words(ir_graph *g, ir_ref view, ir_ref x, worded below, worded above) {
  const ir_node *n = ir_get(g, view);
  ir_ref src[2 + 2 * IR_MAX_RANK], dims[IR_MAX_RANK];
  uint32_t rank = ir_rank(g, view), count = n->nsrc;
  memcpy(src, n->src, count * sizeof *src);
  src[0] = x;
  for (uint32_t i = 0; i < rank; i++)
    dims[i] = i == above.axis ? ir_index(g, above.words) : ir_dim(g, view, i);
  ir_op op = (ir_op)n->op;
  if (op == IR_OP_SHRINK) src[2 + 2 * below.axis] = ir_index(g, above.words);
  if (op == IR_OP_PAD && ir_is_float((ir_dtype)n->dtype)) src[1] = ir_int(g, ir_dtype_of(g, x), 0);
  if (op == IR_OP_SQUEEZE || op == IR_OP_UNSQUEEZE) op = IR_OP_RESHAPE;
  if (op == IR_OP_RESHAPE || op == IR_OP_EXPAND) {
    memcpy(src + 1, dims, rank * sizeof *src);
    count = 1 + rank;
  }
  return ir_make_tensor(g, op, ir_dtype_of(g, x), ir_tuple(g, dims, rank), op == IR_OP_RESHAPE ? 0 : n->arg,
                        src, count);
}

/* The views on top of a value, the nearest to it first, and what is below them. */
typedef struct chain {
  ir_ref views[PASS_MAX_VIEWS], below;
  uint32_t count;
} chain;

static bool find_chain(const ir_graph *g, ir_ref value, chain *out) {
  out->count = 0;
  for (; ir_ops[ir_op_of(g, value)].cls == IR_CLASS_VIEW; value = ir_src(g, value, 0)) {
    if (out->count == PASS_MAX_VIEWS || ir_op_of(g, value) == IR_OP_CONCAT ||
        ir_op_of(g, value) == IR_OP_STACK)
      return false;
    out->views[out->count++] = value;
  }
  out->below = value;
  for (uint32_t i = 0; i < out->count / 2; i++) {
    ir_ref swap = out->views[i];
    out->views[i] = out->views[out->count - 1 - i], out->views[out->count - 1 - i] = swap;
  }
  return true;
}

/* Does the axis below the views become `axis` behind them? */
static bool leads_to(ir_graph *g, const chain *k, int parts, worded at, uint32_t axis) {
  for (uint32_t i = 0; i < k->count; i++)
    if (!step_up(g, k->views[i], parts, &at)) return false;
  return at.axis == axis;
}

static bool find_axis(ir_graph *g, const chain *k, int parts, uint32_t axis, worded *out) {
  for (uint32_t i = 0; i < ir_rank(g, k->below); i++) {
    int64_t size;
    if (!ir_is_const(g, ir_dim(g, k->below, i), &size)) continue;
    *out = (worded){i, size, (size + parts - 1) / parts};
    if (leads_to(g, k, parts, *out, axis)) return true;
  }
  return false;
}

bool pack_has_window_words(const pass_contraction *c, ir_ref value, uint32_t axis, int parts) {
  chain k;
  worded w;
  return find_chain(c->g, value, &k) && find_axis(c->g, &k, parts, axis, &w) &&
         pack_elements(c->g, k.below) <= INT32_MAX;
}

ir_ref pack_window_words(const pass_contraction *c, ir_ref value, int64_t shift, uint32_t axis, int parts) {
  ir_graph *g = c->g;
  chain k;
  worded at, above;
  if (!find_chain(g, value, &k) || !find_axis(g, &k, parts, axis, &at)) return 0;
  ir_ref x = shift ? ir_binary(g, IR_OP_SUB, k.below, ir_int(g, c->dtype, shift)) : k.below;
  bool floats = x && ir_is_float(ir_dtype_of(g, x));
  x = floats ? pack_bf16_bits(g, x) : x;
  x = x ? pack_words_along(g, x, at.axis, at.size, parts, floats) : 0;
  x = x ? ir_unary(g, IR_OP_STORED, x) : 0;
  for (uint32_t i = 0; i < k.count && x; i++, at = above) {
    above = at;
    if (!step_up(g, k.views[i], parts, &above)) return 0;
    x = view_of_words(g, k.views[i], x, at, above);
  }
  return x;
}
