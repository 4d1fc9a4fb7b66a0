/* Products of narrow integers, two at a time.
 *
 * Where both operands of a contraction hold integers of at most 16 bits, two consecutive terms fit in a word
 * of 32 bits: word = (low & 0xffff) | high << 16, and DOT2 of two words is the sum of both products. On
 * targets that have the instruction, it does twice as many multiplications as one of 32 bits. The products
 * and their sum wrap, so that the result is the same in any order.
 *
 * The values that an operand can hold are bounded by interval arithmetic over the elementwise operations and
 * views that compute it, from the dtypes that casts begin with: a quantised tensor minus its zero point is
 * narrow, too. */
#include "pack.h"

#include "passes/ops/check.h"

enum {
  MIN_TERMS = 8, /* of the summed axis: making the pairs costs about as much as multiplying shorter ones */
  MAX_DEPTH = 8 /* operations between an operand and the values whose interval is known [2 in the tests]; of a
                   longer chain nothing is known, and its terms are not paired */
};

typedef struct interval {
  int64_t lo, hi; /* lo > hi: not known */
} interval;

static const interval unknown = {1, 0}; /* lo > hi: any interval without values */

static bool is_narrow(interval a) { return a.lo <= a.hi && a.lo >= INT16_MIN && a.hi <= INT16_MAX; }

static interval of_dtype(ir_dtype dtype) {
  switch (dtype) {
  case IR_BOOL: return (interval){0, 1};
  case IR_I8: return (interval){INT8_MIN, INT8_MAX};
  case IR_U8: return (interval){0, UINT8_MAX};
  case IR_I16: return (interval){INT16_MIN, INT16_MAX};
  default: return unknown;
  }
}

static interval add_intervals(interval a, interval b) { return (interval){a.lo + b.lo, a.hi + b.hi}; }
static interval negate_interval(interval a) { return (interval){-a.hi, -a.lo}; }
static interval interval_hull(interval a, interval b) {
  return (interval){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

/* The interval of values of an integer of 32 bits, if all values that it is computed from are narrow. */
static interval values_of(const ir_graph *g, ir_ref value, int depth) {
  const ir_node *n = ir_get(g, value);
  bool view = n->op == IR_OP_STORED ||
              (ir_ops[n->op].cls == IR_CLASS_VIEW && n->op != IR_OP_CONCAT && n->op != IR_OP_STACK);
  if (n->op == IR_OP_CONST) return (interval){ir_const_value(g, value).i, ir_const_value(g, value).i};
  if (n->op == IR_OP_CAST) return of_dtype(ir_dtype_of(g, n->src[0]));
  if (depth == MAX_DEPTH || !(view || n->op == IR_OP_ADD || n->op == IR_OP_SUB || n->op == IR_OP_NEG))
    return unknown;
  interval first = values_of(g, n->src[0], depth + 1), second = first;
  if (n->op == IR_OP_PAD || !(view || n->op == IR_OP_NEG)) second = values_of(g, n->src[1], depth + 1);
  if (!is_narrow(first) || !is_narrow(second)) return unknown;
  switch ((int)n->op) {
  case IR_OP_ADD: return add_intervals(first, second);
  case IR_OP_SUB: return add_intervals(first, negate_interval(second));
  case IR_OP_NEG: return negate_interval(first);
  default: return interval_hull(first, second);
  }
}

bool pack_longest_axis(const pass_contraction *c, int64_t least, uint32_t *axis) {
  int64_t longest = least - 1, size;
  for (uint32_t i = 0; i < c->rank; i++) {
    uint32_t both = c->reduced & c->operand[0].varies & c->operand[1].varies;
    if (!(both >> i & 1) || !ir_is_const(c->g, ir_dim(c->g, c->operand[0].value, i), &size)) continue;
    if (size > longest) longest = size, *axis = i;
  }
  return longest >= least;
}

/* Part `which` of the axis behind `axis`, which is dropped. */
static ir_ref part(ir_graph *g, ir_ref parts, uint32_t axis, int64_t words, int which) {
  ir_ref bounds[2 * (IR_MAX_RANK + 1)];
  for (uint32_t i = 0; parts && i < ir_rank(g, parts); i++)
    bounds[2 * i] = ir_index(g, 0), bounds[2 * i + 1] = ir_dim(g, parts, i);
  bounds[2 * axis + 2] = ir_index(g, which), bounds[2 * axis + 3] = ir_index(g, which + 1);
  return parts ? pack_reshaped(g, op_shrink_known(g, parts, bounds), axis, words, 1, false) : 0;
}

ir_ref pack_words_along(ir_graph *g, ir_ref x, uint32_t axis, int64_t size, int parts, bool first_on_top) {
  int64_t words = (size + parts - 1) / parts;
  int bits = 32 / parts;
  ir_dtype dtype = ir_dtype_of(g, x);
  ir_ref edges[2 * IR_MAX_RANK], word = 0;
  for (uint32_t i = 0; i < 2 * ir_rank(g, x); i++) edges[i] = ir_index(g, 0);
  edges[2 * axis + 1] = ir_index(g, parts * words - size);
  if (size % parts) x = op_pad_known(g, x, edges, 0);
  x = pack_reshaped(g, x, axis, words, parts, true);
  for (int i = 0; i < parts; i++) {
    int below = first_on_top ? parts - 1 - i : i;
    ir_ref one = part(g, x, axis, words, i);
    if (one && below < parts - 1)
      one = ir_binary(g, IR_OP_AND, one, ir_int(g, dtype, ((int64_t)1 << bits) - 1));
    if (one && below) one = ir_binary(g, IR_OP_SHL, one, ir_int(g, dtype, below * bits));
    word = i && one ? ir_binary(g, IR_OP_OR, word, one) : one;
    if (!word) return 0;
  }
  return word;
}

/* The axes of the operand as they lie in memory, the outermost first. *at: the place of `axis`. */
static void sort_by_stride(const pass_contraction *c, const pass_operand *o, uint32_t axis, uint32_t *order,
                           uint32_t *at) {
  int64_t stride[IR_MAX_RANK];
  for (uint32_t i = 0; i < c->rank; i++) {
    uint32_t k = i;
    int64_t here = o->varies >> i & 1 ? pack_memory_stride(c, o, i) : INT64_MAX;
    for (; k > 0 && stride[k - 1] < here; k--) stride[k] = stride[k - 1], order[k] = order[k - 1];
    stride[k] = here, order[k] = i;
  }
  for (uint32_t i = 0; i < c->rank; i++)
    if (order[i] == axis) *at = i;
}

ir_ref pack_words(const pass_contraction *c, const pass_operand *o, uint32_t axis, int parts) {
  ir_graph *g = c->g;
  int64_t size = c->size[axis], words = (size + parts - 1) / parts;
  uint32_t order[IR_MAX_RANK], at = axis;
  ir_ref dims[IR_MAX_RANK];
  sort_by_stride(c, o, axis, order, &at);
  bool floats = ir_is_float(ir_dtype_of(g, o->value));
  ir_ref x = pack_permuted(g, pack_unexpanded(c, o), order, c->rank);
  if (x && floats) x = pack_bf16_bits(g, x);
  ir_ref word = x ? pack_words_along(g, x, at, size, parts, floats) : 0;
  if (!word) return 0;
  for (uint32_t i = 0; i < c->rank; i++) dims[i] = i == axis ? ir_index(g, words) : ir_dim(g, o->value, i);
  return op_grow(g, pack_permuted_back(g, word, order, c->rank), dims, c->rank);
}

ir_ref pack_pairs(const pass_contraction *c) {
  uint32_t axis;
  if ((c->dtype != IR_I32 && c->dtype != IR_U32) || c->term != IR_OP_MUL || c->rank == IR_MAX_RANK)
    return c->sum;
  if (!is_narrow(values_of(c->g, c->operand[0].value, 0)) ||
      !is_narrow(values_of(c->g, c->operand[1].value, 0)) || !pack_longest_axis(c, MIN_TERMS, &axis))
    return c->sum;
  ir_ref a = pack_words(c, &c->operand[0], axis, 2), b = pack_words(c, &c->operand[1], axis, 2);
  return a && b ? pack_sum(c, ir_binary(c->g, IR_OP_DOT2, a, b), c->reduced) : 0;
}
