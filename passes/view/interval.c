/* The interval of the values of an index expression, whose ends are expressions of a device's coordinates.
 *
 * Sums, products, quotients, remainders and extrema of intervals; where a remainder begins anew within the
 * interval it is taken to be anything. So the interval holds all values, and it is exact for affine
 * expressions of ranges that vary apart. */
#include "interval.h"

#include "passes/index/index.h"

static view_interval of_constants(ir_graph *g, int64_t lo, int64_t hi) {
  return (view_interval){ir_index(g, lo), ir_index(g, hi)};
}

/* By a factor that is the same for all values, and at least 0. */
static view_interval scaled(ir_graph *g, view_interval x, ir_ref factor) {
  int64_t value;
  if (ir_is_const(g, factor, &value) && value < 0)
    return (view_interval){pass_mul(g, x.hi, factor), pass_mul(g, x.lo, factor)};
  return (view_interval){pass_mul(g, x.lo, factor), pass_mul(g, x.hi, factor)};
}

static bool is_fixed(view_interval x) { return x.lo == x.hi; }

static view_interval remainder_of(ir_graph *g, view_interval x, ir_ref divisor) {
  ir_ref first = pass_div(g, x.lo, divisor), last = pass_div(g, x.hi, divisor);
  ir_ref zero = ir_index(g, 0), most = pass_add_int(g, divisor, -1);
  if (!first || !last || !most) return (view_interval){0, 0};
  ir_ref same = pass_compare(g, IR_OP_EQ, first, last);
  return (view_interval){pass_where(g, same, pass_mod(g, x.lo, divisor), zero),
                         pass_where(g, same, pass_mod(g, x.hi, divisor), most)};
}

static view_interval by_operation(ir_graph *g, ir_op op, view_interval x, view_interval y, bool *known) {
  switch ((int)op) {
  case IR_OP_ADD: return (view_interval){pass_add(g, x.lo, y.lo), pass_add(g, x.hi, y.hi)};
  case IR_OP_MIN: return (view_interval){pass_min(g, x.lo, y.lo), pass_min(g, x.hi, y.hi)};
  case IR_OP_MAX: return (view_interval){pass_max(g, x.lo, y.lo), pass_max(g, x.hi, y.hi)};
  case IR_OP_MUL:
    if (is_fixed(x)) {
      view_interval swapped = x;
      x = y, y = swapped;
    }
    *known = is_fixed(y) && (ir_is_const(g, y.lo, NULL) || ir_bounds_of(g, y.lo).lo >= 0);
    return *known ? scaled(g, x, y.lo) : x;
  case IR_OP_FLOORDIV:
    *known = is_fixed(y) && ir_bounds_of(g, y.lo).lo >= 1;
    return *known ? (view_interval){pass_div(g, x.lo, y.lo), pass_div(g, x.hi, y.lo)} : x;
  case IR_OP_MOD:
    *known = is_fixed(y) && ir_bounds_of(g, y.lo).lo >= 1;
    return *known ? remainder_of(g, x, y.lo) : x;
  default: *known = false; return x;
  }
}

/* Does the expression have a range? */
static bool varies(const ir_graph *g, ir_ref e) {
  const ir_node *n = ir_get(g, e);
  bool some = n->op == IR_OP_RANGE;
  for (uint32_t i = 0; i < n->nsrc && !some && n->op != IR_OP_VAR; i++) some = varies(g, n->src[i]);
  return some;
}

view_interval view_interval_of(ir_graph *g, ir_ref e, const view_interval *ranges) {
  const ir_node *n = e ? ir_get(g, e) : NULL;
  if (!n) return (view_interval){0, 0};
  if (n->op == IR_OP_RANGE) return ranges[ir_arg_int(n)];
  if (n->nsrc == 0 || !varies(g, e)) return (view_interval){e, e};
  bool known = n->dtype == IR_INDEX;
  view_interval all = known ? view_interval_of(g, n->src[0], ranges) : (view_interval){e, e};
  for (uint32_t i = 1; i < n->nsrc && known && all.lo && all.hi; i++)
    all = by_operation(g, ir_op_of(g, e), all, view_interval_of(g, n->src[i], ranges), &known);
  ir_bounds b = ir_bounds_of(g, e);
  return known ? all : of_constants(g, b.lo, b.hi);
}

/* The most that the interval of an index holds. */
static int64_t width(ir_graph *g, ir_ref index, const view_interval *ranges) {
  view_interval all = view_interval_of(g, index, ranges);
  ir_ref size = all.lo && all.hi ? pass_sub(g, all.hi, all.lo) : 0;
  return size ? ir_bounds_of(g, size).hi : 0;
}

static bool is_one(const ir_graph *g, ir_ref size) {
  int64_t value;
  return ir_is_const(g, size, &value) && value == 1;
}

int view_followed(ir_graph *g, ir_ref index, const ir_ref *dims, uint32_t rank, uint32_t taken) {
  view_interval ranges[IR_MAX_RANK] = {{0}};
  int best = -1;
  int64_t most = 0;
  for (uint32_t d = 0; d < rank; d++)
    ranges[d] = (view_interval){ir_index(g, 0), pass_add_int(g, dims[d], -1)};
  int64_t all = width(g, index, ranges);
  for (uint32_t d = 0; d < rank; d++) {
    ir_ref last = ranges[d].hi;
    if (taken >> d & 1 || is_one(g, dims[d])) continue;
    ranges[d].hi = pass_add_int(g, pass_div_int(g, pass_add_int(g, dims[d], 1), 2), -1);
    int64_t saved = all - width(g, index, ranges);
    if (saved > most) most = saved, best = (int)d;
    ranges[d].hi = last;
  }
  return best;
}

void view_ranges(ir_graph *g, const ir_ref *dims, uint32_t rank, ir_ref *out) {
  for (uint32_t d = 0; d < rank; d++)
    out[d] = is_one(g, dims[d]) ? ir_index(g, 0)
                                : ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(d, 0), &dims[d], 1);
}
