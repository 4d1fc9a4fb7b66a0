/* From views to index expressions, and back. */
#include <string.h>

#include "impl.h"
#include "passes/view/index_map.h"

static ir_ref range_of(ir_graph *g, ir_ref size, uint32_t axis) {
  if (view_is(g, size, 1)) return ir_index(g, 0);
  return ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(axis, 0), &size, 1);
}

static bool ranges_of(ir_graph *g, const pass_view *v, ir_ref *out) {
  bool made = true;
  for (uint32_t i = 0; i < v->rank; i++) made &= (out[i] = range_of(g, v->shape[i], i)) != 0;
  return made;
}

static bool lower_one(ir_graph *g, const pass_view *v, const ir_ref *at, ir_ref *index, ir_ref *valid) {
  *index = v->offset;
  for (uint32_t i = 0; i < v->rank; i++) {
    *index = pass_add(g, *index, pass_mul(g, at[i], v->stride[i]));
    if (!v->masked) continue;
    *valid = pass_and(g, *valid, pass_compare(g, IR_OP_GE, at[i], v->begin[i]));
    *valid = pass_and(g, *valid, pass_compare(g, IR_OP_LT, at[i], v->end[i]));
  }
  return *index && *valid;
}

/* Split the row-major number of an element of v into an index on each axis: place//unit % size. */
static bool split_place(ir_graph *g, const pass_view *v, ir_ref place, ir_ref *at) {
  bool made = true;
  for (uint32_t i = v->rank; i-- > 0;) {
    ir_ref size = v->shape[i];
    if (ir_bounds_of(g, size).lo < 1)
      size = pass_max(g, size, ir_index(g, 1)); /* nothing is read where it is 0 */
    at[i] = i > 0 ? pass_mod(g, place, size) : place;
    place = i > 0 ? pass_div(g, place, size) : place;
    if (view_is(g, v->shape[i], 1)) at[i] = ir_index(g, 0);
    made = made && at[i] && place;
  }
  return made;
}

/* Merge adjacent axes of v, since fewer axes need fewer divisions. Only views of numbers: the axes of others
 * are merged by lowering, which would recurse. */
static bool merge_axes(ir_graph *g, pass_view *v) {
  pass_view_numbers known;
  return !pass_view_numbers_of(g, v, &known) || pass_view_minify(g, v, v) == PASS_VIEW_DONE;
}

bool pass_view_chain_lower(ir_graph *g, const pass_view_chain *c, const ir_ref *at, ir_ref *index,
                           ir_ref *valid) {
  ir_ref here[IR_MAX_RANK];
  *index = ir_index(g, 0), *valid = ir_bool(g, c->count > 0);
  bool made = *index && *valid;
  for (size_t i = c->count; i-- > 0 && made;) {
    pass_view v = c->views[i];
    if (pass_view_empty(g, &v)) *valid = ir_bool(g, false);
    if (ir_is_false(g, *valid)) break;
    if (i + 1 < c->count) made = merge_axes(g, &v) && split_place(g, &v, *index, here);
    else if (at) view_copy(here, at, v.rank);
    else made = ranges_of(g, &v, here);
    made = made && lower_one(g, &v, here, index, valid);
  }
  if (!made) return false;
  if (*valid && ir_is_false(g, *valid)) *index = ir_index(g, 0);
  else if (*index && *valid) *index = pass_simplify_given(g, *index, *valid);
  return *index && *valid;
}

/* recognition */

typedef struct reading {
  ir_graph *g;
  uint32_t rank;
  const ir_ref *shape;
  bool sound;
} reading;

/* The set of axes whose ranges occur in the expression; the highest bit stands for any other range. */
static uint32_t axes_in(reading *r, ir_ref ref) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  uint32_t axes = 0;
  if (ir_reachable(r->g, &ref, 1, &live, &count, &cap) != IR_OK) r->sound = false;
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(r->g, live[i]);
    if (n->op != IR_OP_RANGE) continue;
    axes |= ir_arg_int(n) < r->rank ? 1u << ir_arg_int(n) : 1u << 31;
  }
  ir_free(r->g->mem, live, cap * sizeof *live);
  return axes;
}

/* Add one term of a sum, a product of at most one range and expressions without ranges, to rate[axis] or to
 * rest. False: it is no such product. */
static bool read_term(reading *r, ir_ref term, ir_ref *rate, ir_ref *rest) {
  const ir_node *n = ir_get(r->g, term);
  ir_ref factor = ir_index(r->g, 1);
  int axis = -1;
  bool product = n->op == IR_OP_MUL;
  for (uint32_t i = 0; i < (product ? n->nsrc : 1); i++) {
    ir_ref f = product ? n->src[i] : term;
    const ir_node *fn = ir_get(r->g, f);
    if (fn->op == IR_OP_RANGE && axis < 0 && ir_arg_int(fn) < r->rank) axis = (int)ir_arg_int(fn);
    else if (axes_in(r, f) || !r->sound) return false;
    else factor = pass_mul(r->g, factor, f);
  }
  ir_ref *to = axis < 0 ? rest : &rate[axis];
  return (*to = pass_add(r->g, *to, factor)) != 0;
}

static bool read_sum(reading *r, ir_ref sum, ir_ref *rate, ir_ref *rest) {
  const ir_node *n = ir_get(r->g, sum);
  bool read = true;
  *rest = ir_index(r->g, 0);
  for (uint32_t i = 0; i < r->rank; i++) rate[i] = *rest;
  if (n->op != IR_OP_ADD) return read_term(r, sum, rate, rest);
  for (uint32_t i = 0; i < n->nsrc && read; i++) read = read_term(r, n->src[i], rate, rest);
  return read;
}

static void limit_begin(ir_graph *g, ir_ref *begin, ir_ref bound) { *begin = pass_max(g, *begin, bound); }
static void limit_end(ir_graph *g, ir_ref *end, ir_ref bound) { *end = pass_min(g, *end, bound); }

/* Read a clause rate*x + rest `op` limit as bounds of the x of one axis. False: it is no such clause. */
static bool read_clause(reading *r, ir_ref clause, ir_ref *begin, ir_ref *end) {
  ir_graph *g = r->g;
  const ir_node *n = ir_get(g, clause);
  ir_ref rate[IR_MAX_RANK], rest;
  int64_t step = 0;
  int axis = -1;
  if (n->nsrc != 2 || (n->op != IR_OP_LT && n->op != IR_OP_GE && n->op != IR_OP_EQ)) return false;
  ir_ref limit = n->src[1];
  if (ir_dtype_of(g, limit) != IR_INDEX || axes_in(r, limit) || !read_sum(r, n->src[0], rate, &rest))
    return false;
  for (uint32_t i = 0; i < r->rank; i++) {
    if (view_is(g, rate[i], 0)) continue;
    if (axis >= 0 || !ir_is_const(g, rate[i], &step)) return false;
    axis = (int)i;
  }
  if (axis < 0 || step == INT64_MIN) return false;
  ir_ref distance = pass_sub(g, limit, rest), length = ir_index(g, step < 0 ? -step : step);
  ir_ref up = pass_ceil_div(g, distance, length); /* x < up, or x >= up, where step > 0 */
  ir_ref down =
      pass_add_int(g, pass_div(g, pass_mul_int(g, distance, -1), length), 1); /* -x < .. is x >= down */
  if (n->op == IR_OP_EQ && step != 1 && step != -1) return false;
  if (n->op == IR_OP_LT) step > 0 ? limit_end(g, &end[axis], up) : limit_begin(g, &begin[axis], down);
  if (n->op == IR_OP_GE) step > 0 ? limit_begin(g, &begin[axis], up) : limit_end(g, &end[axis], down);
  if (n->op == IR_OP_EQ) {
    ir_ref only = step > 0 ? distance : pass_mul_int(g, distance, -1);
    limit_begin(g, &begin[axis], only);
    limit_end(g, &end[axis], pass_add_int(g, only, 1));
  }
  return begin[axis] && end[axis];
}

pass_view_status pass_view_recognise(ir_graph *g, uint32_t rank, const ir_ref *shape, ir_ref index,
                                     ir_ref valid, pass_view *out) {
  reading r = {g, rank, shape, true};
  pass_view v = {.rank = rank};
  view_copy(v.shape, shape, rank);
  view_drop_mask(g, &v);
  if (ir_is_false(g, valid)) {
    if (rank == 0) return PASS_VIEW_NONE;
    view_mask_everything(g, &v);
    *out = v;
    return view_canonical(g, "view", out);
  }
  if (!read_sum(&r, index, v.stride, &v.offset)) return r.sound ? PASS_VIEW_NONE : PASS_VIEW_FAILED;
  const ir_node *n = ir_get(g, valid);
  bool many = n->op == IR_OP_AND, box = true;
  for (uint32_t i = 0; i < (many ? n->nsrc : 1) && box && !ir_is_true(g, valid); i++)
    box = read_clause(&r, many ? n->src[i] : valid, v.begin, v.end);
  if (!box) return r.sound ? PASS_VIEW_NONE : PASS_VIEW_FAILED;
  for (uint32_t i = 0; i < rank; i++) {
    v.begin[i] = pass_min(g, v.begin[i], v.shape[i]);
    v.end[i] = pass_max(g, v.end[i], ir_index(g, 0));
  }
  *out = v;
  return view_canonical(g, "view", out);
}
