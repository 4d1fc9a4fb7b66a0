/* How an operand of a contraction lies in memory, and what of it a tile finds in the caches. */
#include "choice.h"

#include "passes/index/affine.h"
#include "passes/index/index.h"

enum {
  L2_WAYS = 16, /* lines of one set of the L2 cache */
  /* pages whose addresses are translated without delay, or nearly: a first level has 64 to 96 */
  TLB_ENTRIES = 128
};

bool pack_is_plain(const ir_graph *g, const pass_operand *o) {
  const ir_node *n = ir_get(g, o->base);
  if (o->epilogue) return true;
  switch ((ir_class)ir_ops[n->op].cls) {
  case IR_CLASS_LEAF: return n->op != IR_OP_IOTA && n->op != IR_OP_CONST;
  case IR_CLASS_REDUCE:
  case IR_CLASS_ORDERED:
  case IR_CLASS_EXCHANGE:
  case IR_CLASS_CUSTOM: return true;
  default: return n->op == IR_OP_STORED || n->op == IR_OP_RESULT || n->op == IR_OP_ASSIGN;
  }
}

int64_t pack_axis_stride(const pass_contraction *c, const pass_operand *o, uint32_t axis) {
  int64_t step;
  if (!pack_has_axis(o->varies, axis)) return 0;
  if (!affine_stride(c->g, o->index, c->range[axis], &step)) return INT64_MAX;
  return step < 0 ? -step : step;
}

/* The same where it is a variable: the most, if that is not much more than the least. */
static int64_t most_stride(const pass_contraction *c, const pass_operand *o, uint32_t axis) {
  int64_t step = pack_axis_stride(c, o, axis), most;
  return step == INT64_MAX && pass_about_stride(c->g, o->index, c->range[axis], &most) ? most : step;
}

/* The stride along the longest summed axis. *count: indices of that axis; *least: the least stride along any
 * summed axis. */
int64_t pack_longest_stride(const pass_contraction *c, const pass_operand *o, int64_t *count,
                            int64_t *least) {
  int64_t step = 0;
  *count = 1, *least = INT64_MAX;
  for (uint32_t i = 0; i < c->rank; i++) {
    if (!pack_has_axis(c->reduced & o->varies, i) || c->size[i] == 1) continue;
    int64_t here = most_stride(c, o, i);
    if (c->size[i] > *count) *count = c->size[i], step = here;
    if (here < *least) *least = here;
  }
  return step;
}

/* Do `count` cache lines, `step` elements apart, stay in the cache while other data stream through? A cache
 * of L2_WAYS ways has PACK_L2_BYTES / L2_WAYS / IR_CACHE_LINE_BYTES sets, most of which a step with a large
 * power of two as a factor never reaches. */
bool pack_stays_in_cache(const pass_contraction *c, int64_t count, int64_t step) {
  int64_t bytes = ir_dtypes[c->dtype].bytes, way = PACK_L2_BYTES / L2_WAYS, apart;
  if (step > INT32_MAX) return false;
  apart = step * bytes;
  if (apart < IR_CACHE_LINE_BYTES) return true;
  if (apart >= IR_PAGE_BYTES && count > TLB_ENTRIES) return false;
  int64_t common = apart & -apart; /* sets reached: way / the greatest power of two in the step */
  int64_t sets = common >= way ? 1 : way / (common > IR_CACHE_LINE_BYTES ? common : IR_CACHE_LINE_BYTES);
  return count <= sets * L2_WAYS / 2;
}

bool pack_is_window(const pass_contraction *c, const pass_operand *o) {
  int64_t size = pass_contraction_size(c, o->varies);
  double inside; /* where padding is what makes it larger, nothing is read several times */
  return pack_elements(c->g, o->base) < size / 2 && pack_masked_elements(c, o, &inside) < size;
}

/* Is the view a pad with elements of its operand? */
static bool repeats_edges(const ir_graph *g, ir_ref view) {
  const ir_node *n = ir_get(g, view);
  return n->op == IR_OP_PAD && ir_arg_mode(n) != IR_PAD_CONSTANT;
}

bool pack_has_edges(const pass_contraction *c, const pass_operand *o) {
  bool repeats = false, affine = true;
  if (!ir_is_true(c->g, o->valid)) return true;
  for (ir_ref r = o->value; r != o->base && !repeats; r = ir_src(c->g, r, 0))
    repeats = repeats_edges(c->g, r);
  for (uint32_t i = 0; i < c->rank && repeats && affine; i++)
    affine = c->size[i] == 1 || pack_axis_stride(c, o, i) != INT64_MAX;
  return repeats && !affine;
}

bool pack_is_masked(const pass_contraction *c, const pass_operand *o) {
  return !pack_is_plain(c->g, o) || pack_has_edges(c, o);
}
