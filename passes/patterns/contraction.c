/* Finding contractions. Each operand is traced from the product's axes down through views and elementwise
 * operations to the values that it is made of. The axes that their indices and masks still contain are those
 * along which the operand varies. */
#include "contraction.h"

#include "epilogue.h"
#include "passes/index/affine.h"
#include "passes/index/index.h"
#include "passes/ops/check.h"
#include "passes/view/index_map.h"

#include <string.h>

int64_t pass_contraction_size(const pass_contraction *c, uint32_t axes) {
  int64_t size = 1;
  for (uint32_t i = 0; i < c->rank; i++) {
    if (!(axes >> i & 1) || c->size[i] == 0) continue;
    size = size > INT64_MAX / c->size[i] ? INT64_MAX : size * c->size[i];
  }
  return size;
}

/* Values to be traced, each at a point; the first `done` have been. They are the nodes that are fused into
 * the product, which is few: more are stored before (passes/fuse/recomputed.c). */
typedef struct visit {
  ir_ref node;
  pass_point at;
} visit;

typedef struct visits {
  const ir_mem *mem;
  visit *all;
  size_t count, done, cap;
} visits;

static bool same_point(const pass_point *a, const pass_point *b) {
  return a->rank == b->rank && memcmp(a->at, b->at, a->rank * sizeof *a->at) == 0;
}

/* Values that several others are made of are traced once. False when memory is short. */
static bool visit_node(visits *v, ir_ref node, const pass_point *at) {
  for (size_t i = 0; i < v->count; i++)
    if (v->all[i].node == node && same_point(&v->all[i].at, at)) return true;
  if (!IR_RESERVE(v->mem, v->all, v->cap, v->count + 1)) return false;
  v->all[v->count++] = (visit){node, *at};
  return true;
}

static uint32_t axes_in(const pass_contraction *c, ir_ref e) {
  ir_ref found[IR_MAX_RANK];
  uint32_t axes = 0, count = affine_find_range(c->g, e, IR_OP_RANGE, found, IR_MAX_RANK);
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t a = 0; a < c->rank; a++)
      if (found[i] == c->range[a]) axes |= (uint32_t)1 << a;
  return axes;
}

/* The node below the views on top of a value, its point, and where that is valid; 0 on failure. */
static ir_ref below_views(const pass_contraction *c, ir_ref node, pass_point *p, ir_ref *valid) {
  ir_graph *g = c->g;
  *valid = ir_bool(g, true);
  for (;; node = ir_src(g, node, 0)) {
    const ir_node *n = ir_get(g, node);
    if (ir_ops[n->op].cls != IR_CLASS_VIEW || n->op == IR_OP_CONCAT || n->op == IR_OP_STACK) return node;
    *valid = pass_and_deferred(g, *valid, pass_view_index(g, &pass_canonical, node, p));
    if (!*valid) return 0;
  }
}

/* Follows the value at a point down to what is in memory; more values to be traced go to v. */
static bool follow(const pass_contraction *c, pass_operand *o, visits *v, ir_ref node, pass_point p) {
  ir_graph *g = c->g;
  ir_ref valid;
  node = below_views(c, node, &p, &valid);
  if (!node || !(valid = pass_finalize_clauses(g, valid))) return false;
  const ir_node *n = ir_get(g, node);
  if (!o->base) {
    o->base = node;
    o->valid = valid;
    o->index = pass_simplify_given(g, pass_flatten(g, &pass_canonical, ir_shape(g, node), &p), valid);
    if (!o->index) return false;
  }
  o->varies |= axes_in(c, valid);
  if (n->op == IR_OP_CONST) return true;
  if (!pass_is_elementwise(n)) {
    for (uint32_t i = 0; i < p.rank; i++) o->varies |= axes_in(c, p.at[i]);
    return true;
  }
  for (uint32_t i = 0; i < ir_operand_count(n); i++) /* a scalar varies along no axis */
    if (ir_rank(g, n->src[i]) > 0 && !visit_node(v, n->src[i], &p)) return false;
  return true;
}

static bool follow_views(const pass_contraction *c, pass_operand *o) {
  visits v = {.mem = c->g->mem};
  pass_point p = {.rank = c->rank};
  for (uint32_t i = 0; i < c->rank; i++) p.at[i] = c->range[i];
  bool good = visit_node(&v, o->value, &p);
  for (; good && v.done < v.count; v.done++) good = follow(c, o, &v, v.all[v.done].node, v.all[v.done].at);
  ir_free(v.mem, v.all, v.cap * sizeof *v.all);
  return good;
}

/* The two operands of a term: of fma(a, b, 0), of a*b, or of what packing makes of several. */
static bool factors(const ir_graph *g, ir_ref product, ir_ref *a, ir_ref *b) {
  const ir_node *n = ir_get(g, product);
  bool fused = pass_is_product(g, product);
  if (!fused && n->op != IR_OP_MUL && n->op != IR_OP_DOT2 && n->op != IR_OP_DOT4) return false;
  *a = n->src[0], *b = n->src[1];
  return *a != *b && ir_shape(g, *a) == ir_shape(g, product) && ir_shape(g, *b) == ir_shape(g, product);
}

bool pass_is_contraction(ir_graph *g, ir_ref sum) {
  const ir_node *n = ir_get(g, sum);
  ir_ref a, b;
  if (n->op != IR_OP_SUM || n->dtype == IR_BOOL || ir_dtype_of(g, n->src[0]) != n->dtype ||
      !factors(g, n->src[0], &a, &b))
    return false;
  for (uint32_t i = 0; i < ir_rank(g, n->src[0]); i++)
    if (ir_bounds_of(g, ir_dim(g, n->src[0], i)).lo < 1) return false;
  return true;
}

bool pass_contraction_of(ir_graph *g, ir_ref node, pass_contraction *out) {
  const ir_node *n = ir_get(g, node);
  *out = (pass_contraction){.g = g, .sum = node, .dtype = (ir_dtype)n->dtype};
  if (!pass_is_contraction(g, node) || !factors(g, n->src[0], &out->operand[0].value, &out->operand[1].value))
    return false;
  out->term = ir_op_of(g, n->src[0]);
  out->rank = ir_rank(g, n->src[0]);
  for (uint32_t i = 1; i < n->nsrc; i++) out->reduced |= (uint32_t)1 << ir_get(g, n->src[i])->arg;
  for (uint32_t i = 0; i < out->rank; i++) {
    ir_ref dim = ir_dim(g, n->src[0], i);
    out->size[i] = ir_bounds_of(g, dim).hi;
    out->range[i] =
        out->size[i] == 1 ? ir_index(g, 0) : ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(i, 0), &dim, 1);
    if (!out->range[i]) return false;
  }
  for (int i = 0; i < 2; i++)
    if (!follow_views(out, &out->operand[i])) return false;
  return true;
}

bool pass_contraction_reuses(const pass_contraction *c) {
  uint32_t a = c->operand[0].varies & ~c->reduced, b = c->operand[1].varies & ~c->reduced;
  return pass_contraction_size(c, a & ~b) > 1 && pass_contraction_size(c, b & ~a) > 1;
}

bool pass_contraction_in_sequence(const pass_contraction *c) {
  uint32_t axis = c->rank;
  while (axis-- > 0 && (c->reduced >> axis & 1 || c->size[axis] == 1)) {}
  bool found = false;
  for (int k = 0; k < 2 && axis < c->rank && !found; k++) {
    int64_t stride;
    found =
        affine_stride(c->g, c->operand[k].index, c->range[axis], &stride) && (stride == 1 || stride == -1);
  }
  return found;
}

bool pass_contraction_is_fixed(const pass_contraction *c, ir_ref value) {
  ir_graph *g = c->g;
  pass_point p = {.rank = c->rank};
  for (uint32_t i = 0; i < c->rank; i++) p.at[i] = c->range[i];
  for (;;) {
    const ir_node *n = ir_get(g, value);
    bool view = ir_ops[n->op].cls == IR_CLASS_VIEW && n->op != IR_OP_CONCAT && n->op != IR_OP_STACK;
    if (!view && n->op != IR_OP_STORED) break;
    if (view && !pass_view_index(g, &pass_canonical, value, &p)) return false;
    value = n->src[0];
  }
  if (ir_op_of(g, value) == IR_OP_CONST) return true;
  ir_ref index = pass_flatten(g, &pass_canonical, ir_shape(g, value), &p);
  for (uint32_t i = 0; i < c->rank && index; i++)
    if (c->reduced >> i & 1 && affine_depends(g, index, c->range[i])) return false;
  return index != 0;
}

ir_ref pass_contraction_kept(const pass_contraction *c, ir_ref value) {
  ir_ref bounds[2 * IR_MAX_RANK], kept[IR_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < c->rank; i++) {
    ir_ref size = ir_dim(c->g, value, i);
    bounds[2 * i] = ir_index(c->g, 0), bounds[2 * i + 1] = c->reduced >> i & 1 ? ir_index(c->g, 1) : size;
    if (!(c->reduced >> i & 1)) kept[rank++] = size;
  }
  ir_ref x = op_shrink_known(c->g, value, bounds);
  return x ? op_reshape_known(c->g, x, kept, rank) : 0;
}

ir_ref pass_below_views(const ir_graph *g, ir_ref r) {
  for (;; r = ir_src(g, r, 0)) {
    ir_op op = ir_op_of(g, r);
    if (ir_ops[op].cls != IR_CLASS_VIEW || op == IR_OP_CONCAT || op == IR_OP_STACK) return r;
  }
}

double pass_elements(ir_graph *g, ir_ref tensor) {
  double elements = 1;
  for (uint32_t a = 0; a < ir_rank(g, tensor); a++) {
    ir_bounds size = ir_bounds_of(g, ir_dim(g, tensor, a));
    elements *= size.hi < 1 ? 1 : (double)size.hi;
  }
  return elements;
}

bool pass_may_reuse(ir_graph *g, ir_ref sum) {
  const ir_node *n = ir_get(g, sum);
  ir_ref operand[2];
  if (n->op != IR_OP_SUM || n->dtype == IR_BOOL || !factors(g, n->src[0], &operand[0], &operand[1]))
    return false;
  double terms = pass_elements(g, n->src[0]);
  for (int i = 0; i < 2; i++) {
    ir_ref below = operand[i];
    while (ir_ops[ir_op_of(g, below)].cls == IR_CLASS_VIEW || ir_op_of(g, below) == IR_OP_CAST)
      below = ir_src(g, below, 0);
    if (pass_elements(g, below) >= terms) return false;
  }
  return true;
}

bool pass_is_product(const ir_graph *g, ir_ref value) {
  const ir_node *n = ir_get(g, value);
  return (n->op == IR_OP_FMA || n->op == IR_OP_FMA2) && ir_op_of(g, n->src[2]) == IR_OP_CONST &&
         ir_const_value(g, n->src[2]).f == 0;
}
