/* Questions that emitters ask about a nest: how an index changes along its loops, and which operands a node
 * needs. */
#include "codegen/emit/nest.h"
#include "ir/arith.h"

static bool vector_term(const cg_nest *nest, ir_ref ref, int64_t *stride) {
  const ir_graph *g = &nest->graph;
  *stride = 1;
  if (ir_op_of(g, ref) == IR_OP_RANGE) return nest->width[ref] > 1;
  if (ir_op_of(g, ref) != IR_OP_MUL) return false;
  ir_ref a = ir_src(g, ref, 0), b = ir_src(g, ref, 1);
  if (ir_is_const(g, a, stride)) a = b;
  else if (!ir_is_const(g, b, stride)) return false;
  return ir_op_of(g, a) == IR_OP_RANGE && nest->width[a] > 1;
}

/* The factor f of lane_term = f * range * times, where range is the vector lanes and f has no lanes; else 0.
 */
static ir_ref factor_of(const cg_nest *nest, ir_ref lane_term, int64_t *times) {
  const ir_graph *g = &nest->graph;
  *times = 1;
  if (ir_op_of(g, lane_term) != IR_OP_MUL) return 0;
  ir_ref a = ir_src(g, lane_term, 0), b = ir_src(g, lane_term, 1);
  if (ir_is_const(g, a, times)) lane_term = b;
  else if (ir_is_const(g, b, times)) lane_term = a;
  for (uint32_t i = 0; i < 2 && ir_op_of(g, lane_term) == IR_OP_MUL; i++) {
    ir_ref range = ir_src(g, lane_term, i), other = ir_src(g, lane_term, 1 - i);
    if (ir_op_of(g, range) == IR_OP_RANGE && nest->width[range] > 1 &&
        cg_set_next(nest, cg_lanes(nest, other), -1) < 0)
      return other;
  }
  return 0;
}

cg_access cg_access_of(const cg_nest *nest, ir_ref index) {
  const ir_graph *g = &nest->graph;
  cg_access access = {.affine = true, .base = index};
  if (nest->width[index] == 1) return access;
  access.base = 0;
  if (vector_term(nest, index, &access.stride)) return access;
  if (ir_op_of(g, index) == IR_OP_ADD) {
    access.base = ir_src(g, index, 0);
    if (nest->width[access.base] == 1 && vector_term(nest, ir_src(g, index, 1), &access.stride))
      return access;
  }
  bool split = ir_op_of(g, index) == IR_OP_ADD && nest->width[access.base] == 1;
  access = split ? (cg_access){.base = access.base, .lane_term = ir_src(g, index, 1)}
                 : (cg_access){.lane_term = index};
  access.factor = factor_of(nest, access.lane_term, &access.times);
  return access;
}

/* Terms of one index still to be looked at: as many as a sum has that simplification makes (PASS_TERMS). The
 * stride of a deeper sum is not known, and its access has no vectors. */
enum { MAX_TODO = 32 }; /* terms */

/* clamped: of min(a, constant) it is the stride of a. */
static bool stride_along(const cg_nest *nest, ir_ref index, uint32_t loop, bool clamped, int64_t *stride) {
  const ir_graph *g = &nest->graph;
  ir_ref todo[MAX_TODO] = {index};
  uint32_t count = 1;
  *stride = 0;
  while (count) {
    ir_ref ref = todo[--count], range = ref;
    const ir_node *n = ir_get(g, ref);
    int64_t factor = 1;
    if (!cg_set_has(cg_lanes(nest, ref), loop) && !cg_set_has(cg_deps(nest, ref), loop)) continue;
    if (n->op == IR_OP_ADD && count + 2 <= MAX_TODO) {
      todo[count++] = n->src[0], todo[count++] = n->src[1];
      continue;
    }
    if (clamped && n->op == IR_OP_MIN && ir_is_const(g, n->src[1], NULL)) {
      todo[count++] = n->src[0];
      continue;
    }
    if (n->op == IR_OP_MUL) {
      if (ir_is_const(g, n->src[0], &factor)) range = n->src[1];
      else if (ir_is_const(g, n->src[1], &factor)) range = n->src[0];
    }
    if (range != nest->loops[loop].range) return false;
    *stride += factor;
  }
  return true;
}

bool cg_stride(const cg_nest *nest, ir_ref index, uint32_t loop, int64_t *stride) {
  return stride_along(nest, index, loop, false, stride);
}

bool cg_clamped_stride(const cg_nest *nest, ir_ref index, uint32_t loop, int64_t *stride) {
  return stride_along(nest, index, loop, true, stride);
}

/* The bounds of an index for the current values of unrolled loops. */
static ir_bounds bounds_at(cg_nest *nest, const int64_t *lane, ir_ref index) {
  ir_graph *g = &nest->graph;
  const ir_node *n = ir_get(g, index);
  ir_bounds all = ir_bounds_of(g, index), a, b;
  uint32_t loop = nest->loop_of[index];
  if (n->op == IR_OP_RANGE && loop && nest->loops[loop - 1].binding == IR_UNROLL)
    all.lo = all.hi = lane[loop - 1];
  if (n->op != IR_OP_ADD || all.lo == INT64_MIN || all.hi == INT64_MAX) return all;
  a = bounds_at(nest, lane, n->src[0]), b = bounds_at(nest, lane, n->src[1]);
  int64_t lo, hi;
  if (ir_add_ok(a.lo, b.lo, &lo) && lo > all.lo) all.lo = lo;
  if (ir_add_ok(a.hi, b.hi, &hi) && hi < all.hi) all.hi = hi;
  return all;
}

int cg_decided(cg_nest *nest, const int64_t *lane, ir_ref compare) {
  const ir_node *n = ir_get(&nest->graph, compare);
  ir_bounds a = bounds_at(nest, lane, n->src[0]), b = bounds_at(nest, lane, n->src[1]);
  switch ((int)n->op) {
  case IR_OP_LT: return a.hi < b.lo ? 1 : a.lo >= b.hi ? 0 : -1;
  case IR_OP_LE: return a.hi <= b.lo ? 1 : a.lo > b.hi ? 0 : -1;
  case IR_OP_GT: return a.lo > b.hi ? 1 : a.hi <= b.lo ? 0 : -1;
  case IR_OP_GE: return a.lo >= b.hi ? 1 : a.hi < b.lo ? 0 : -1;
  default: return -1;
  }
}

static bool is_multiple(const ir_graph *g, ir_ref ref, int64_t of) {
  const ir_node *n = ir_get(g, ref);
  int64_t value;
  if (ir_is_const(g, ref, &value)) return value % of == 0;
  for (uint32_t i = 0; n->op == IR_OP_MUL && i < n->nsrc; i++)
    if (ir_is_const(g, n->src[i], &value) && value % of == 0) return true;
  return false;
}

bool cg_is_multiple(const ir_graph *g, ir_ref index, ir_ref but, int64_t of) {
  ir_ref todo[MAX_TODO] = {index};
  uint32_t count = 1;
  while (count) {
    ir_ref ref = todo[--count];
    const ir_node *n = ir_get(g, ref);
    if (ref == but || is_multiple(g, ref, of)) continue;
    if (n->op != IR_OP_ADD || count + 2 > MAX_TODO) return false;
    todo[count++] = n->src[0], todo[count++] = n->src[1];
  }
  return true;
}

ir_ref cg_lane_body(const cg_nest *nest, const cg_loop *loop, uint32_t slot) {
  const ir_graph *g = &nest->graph;
  ir_ref next = ir_src(g, loop->node, 1 + loop->carries + slot), carry = loop->carry[slot];
  const ir_node *n = ir_get(g, next);
  if (!carry || n->nsrc != 2 || (n->src[0] != carry && n->src[1] != carry)) return 0;
  return n->src[0] == carry ? n->src[1] : n->src[0];
}

static void loop_operands(const cg_nest *nest, ir_ref ref, bool inside, void (*visit)(void *, ir_ref),
                          void *user) {
  const ir_graph *g = &nest->graph;
  const ir_node *n = ir_get(g, ref);
  const cg_loop *loop = &nest->loops[nest->loop_of[ref] - 1];
  if (cg_is_lane(loop) && n->dtype == IR_NONE) {
    visit(user, n->src[1]);
  } else if (cg_is_lane(loop)) {
    for (uint32_t i = 0; i < loop->carries; i++) {
      ir_ref body = cg_lane_body(nest, loop, i);
      visit(user, n->src[1 + i]);
      if (body) visit(user, body);
    }
  } else {
    if (loop->binding != IR_THREAD) visit(user, ir_src(g, loop->range, 0));
    for (uint32_t i = 1; i < n->nsrc; i++)
      if (inside || i <= loop->carries) visit(user, n->src[i]);
  }
}

bool cg_aligned_together(const cg_nest *nest, ir_ref store, int64_t alternating, int64_t bytes,
                         int64_t vector_bytes) {
  const uint64_t *lanes = cg_lanes(nest, store);
  for (int64_t l = -1; (l = cg_set_next(nest, lanes, l)) >= 0;) {
    int64_t step;
    if (nest->loops[l].binding != IR_UNROLL || l == alternating) continue;
    if (!cg_stride(nest, ir_src(&nest->graph, store, 1), (uint32_t)l, &step) ||
        step * bytes % vector_bytes != 0)
      return false;
  }
  return true;
}

bool cg_never_aligned_together(const cg_nest *nest, ir_ref store, int64_t alternating, int64_t bytes,
                               int64_t vector_bytes) {
  const uint64_t *lanes = cg_lanes(nest, store);
  for (int64_t l = -1, step; (l = cg_set_next(nest, lanes, l)) >= 0;)
    if (nest->loops[l].binding == IR_UNROLL && l != alternating && nest->loops[l].extent > 1 &&
        cg_stride(nest, ir_src(&nest->graph, store, 1), (uint32_t)l, &step) &&
        step * bytes % vector_bytes != 0)
      return true;
  return false;
}

void cg_operands(const cg_nest *nest, ir_ref ref, bool inside, void (*visit)(void *, ir_ref), void *user) {
  const ir_graph *g = &nest->graph;
  const ir_node *n = ir_get(g, ref);
  ir_op op = (ir_op)n->op;
  if (cg_is_leaf(op) || op == IR_OP_RANGE || op == IR_OP_CARRY || op == IR_OP_LOCAL) return;
  if (op == IR_OP_LOOP) {
    loop_operands(nest, ref, inside, visit, user);
    return;
  }
  if (op == IR_OP_RARE && !inside) { /* the first value is needed behind a branch only */
    visit(user, n->src[0]);
    visit(user, n->src[2]);
    return;
  }
  bool memory = op == IR_OP_LOAD || op == IR_OP_STORE || op == IR_OP_UPDATE;
  uint32_t count = op == IR_OP_UPDATE ? 4 : n->nsrc; /* UPDATE: further sources are the ranges of `over` */
  for (uint32_t i = 0; i < count; i++) {
    if (!memory || i != 1) {
      visit(user, n->src[i]);
      continue;
    }
    cg_access access = cg_access_of(nest, n->src[i]);
    if (access.base) visit(user, access.base);
    if (access.lane_term) visit(user, access.lane_term);
  }
}

bool cg_fits_32_bits(ir_graph *g, ir_ref index) {
  ir_bounds bounds = ir_bounds_of(g, index);
  return bounds.lo >= INT32_MIN && bounds.hi <= INT32_MAX;
}

bool cg_operands_fit_32_bits(ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  for (uint32_t i = 0; i < n->nsrc; i++)
    if (ir_dtype_of(g, n->src[i]) == IR_INDEX && !cg_fits_32_bits(g, n->src[i])) return false;
  return true;
}
