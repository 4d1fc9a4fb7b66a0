/* Which views are stored in memory, because what reads them, or what they read, goes over long rows
 * repeatedly.
 *
 * A view is index arithmetic in its users, whose lanes run along what is contiguous in memory. Where a view
 * transposes rows so that they lie across the lanes, several rows are processed at once, and a cache has to
 * hold all of them: softmax and cumulative operations return to them, in steps that are rows of memory. Where
 * the cache cannot hold them, one copy that transposes the rows costs less:
 *
 *   before   a transposed view that a cumulative operation reads, or that is combined with its own
 *            reduction (x - max(x)), when rows are long; in the latter case also when few rows are
 *            contiguous, or the contiguous ones are not those that are processed together; in the former
 *            also when rows are contiguous, and are not in what is stored. Not where all that is combined is
 *            reduced again, as of a variance, or permuted back: both go over memory as it lies
 *   behind   a cumulative operation, and elementwise operations on its result, that a view transposes, or
 *            of which a view reads every n-th element: blocks are computed in contiguous lanes */
#include "lower.h"

#include "passes/patterns/epilogue.h"

#include <string.h>

enum { ROWS_TOGETHER = 64 }; /* rows that are processed together: four of the widest vectors of f32 */

/* The origins of a node's elements; 0 where there is none. */
typedef struct origins {
  ir_ref permuted_view; /* the transposed view that they come from */
  ir_ref reduced;       /* the reduction of such a view */
  ir_ref scan;          /* the cumulative operation */
  ir_ref combined;      /* the transposed view that this combines with its own reduction, at a cost */
  bool alone;           /* it is made of the transposed view, of what is broadcast, and of nothing else */
  bool broadcast;       /* a view that repeats its operand */
} origins;

typedef struct copies {
  ir_graph *g;
  origins *of;
  int64_t rows_bytes; /* that rows processed together may take */
  bool *stored;
  bool *needed; /* elements of the node, not only sums of them, are read by views, products, or as results */
} copies;

/* The axis of more than one element with the innermost place; rank where there is none. */
static uint32_t innermost(ir_graph *g, ir_ref x, const uint32_t *place) {
  uint32_t rank = ir_rank(g, x), last = rank;
  for (uint32_t i = 0; i < rank; i++)
    if (ir_bounds_of(g, ir_dim(g, x, i)).hi > 1 && (last == rank || place[i] > place[last])) last = i;
  return last;
}

bool lower_transposes(ir_graph *g, ir_ref view) {
  uint32_t place[IR_MAX_RANK], logical[IR_MAX_RANK];
  for (uint32_t i = 0; i < ir_rank(g, view); i++) logical[i] = i;
  lower_places(g, view, place);
  return innermost(g, view, place) != innermost(g, view, logical);
}

/* Does the permutation have another innermost axis than its operand? */
static bool moves_innermost(ir_graph *g, ir_ref permute) {
  uint32_t place[IR_MAX_RANK], logical[IR_MAX_RANK];
  for (uint32_t i = 0; i < ir_rank(g, permute); i++) {
    logical[i] = i;
    place[i] = (uint32_t)ir_get(g, ir_src(g, permute, 1 + i))->arg;
  }
  return innermost(g, permute, place) != innermost(g, permute, logical);
}

/* Are ROWS_TOGETHER rows, along the axes that the node reduces or accumulates, too long? */
static bool is_long(const copies *c, ir_ref node) {
  ir_graph *g = c->g;
  const ir_node *n = ir_get(g, node);
  int64_t bytes = (int64_t)ROWS_TOGETHER * ir_dtypes[ir_dtype_of(g, n->src[0])].bytes;
  bool one = ir_ops[n->op].cls == IR_CLASS_ORDERED || n->op == IR_OP_ARGMAX || n->op == IR_OP_ARGMIN;
  for (uint32_t i = one ? 0 : 1; i < (one ? 1 : n->nsrc) && bytes <= c->rows_bytes; i++) {
    uint32_t axis = (uint32_t)(one ? ir_arg_int(n) : ir_get(g, n->src[i])->arg);
    int64_t size = ir_bounds_of(g, ir_dim(g, n->src[0], axis)).hi;
    bytes = size > c->rows_bytes ? c->rows_bytes + 1 : bytes * size;
  }
  return bytes > c->rows_bytes;
}

/* Rows are processed together along the innermost axis that is not reduced. Is another axis contiguous in
 * memory, or are few rows contiguous, so that they fill no whole number of vectors? */
static bool is_narrow(ir_graph *g, ir_ref view, ir_ref reduce) {
  uint32_t place[IR_MAX_RANK], rank = ir_rank(g, view), last = rank;
  lower_places(g, view, place);
  uint32_t inner = innermost(g, view, place);
  if (inner == rank || ir_rank(g, ir_src(g, reduce, 0)) != rank ||
      ir_reduces_axis(g, ir_get(g, reduce), inner))
    return false;
  for (uint32_t i = 0; i < rank; i++)
    if (!ir_reduces_axis(g, ir_get(g, reduce), i) && ir_bounds_of(g, ir_dim(g, view, i)).hi > 1) last = i;
  return last != inner || ir_bounds_of(g, ir_dim(g, view, inner)).hi < 2 * ROWS_TOGETHER;
}

/* Is the axis along which the operation accumulates contiguous in memory, and another one in what it stores?
 * Lanes along either are apart in the other. cummin of i64[16,36,39], transposed, takes 0.014 ms in place of
 * 0.10. */
static bool goes_across(ir_graph *g, ir_ref ordered) {
  uint32_t place[IR_MAX_RANK], logical[IR_MAX_RANK];
  ir_ref x = ir_src(g, ordered, 0);
  uint32_t axis = (uint32_t)ir_arg_int(ir_get(g, ordered));
  lower_places(g, x, place);
  for (uint32_t i = 0; i < ir_rank(g, x); i++) logical[i] = i;
  return innermost(g, x, place) == axis && innermost(g, x, logical) != axis;
}

/* Is it a permutation that brings elements of a transposed view back in the order of memory? */
static bool is_permuted_back(const copies *c, ir_ref node) {
  const ir_node *n = ir_get(c->g, node);
  const origins *from = n->nsrc ? &c->of[n->src[0]] : NULL;
  return n->op == IR_OP_PERMUTE && from->alone && ir_op_of(c->g, from->permuted_view) == IR_OP_PERMUTE &&
         lower_brings_back(c->g, node, from->permuted_view);
}

static void find_in_view(const copies *c, ir_ref node) {
  const ir_node *n = ir_get(c->g, node);
  origins *o = &c->of[node];
  *o = c->of[n->src[0]];
  if (is_permuted_back(c, node)) o->combined = 0;
  if (n->op == IR_OP_PERMUTE) o->permuted_view = lower_transposes(c->g, node) ? node : 0;
  o->alone = n->op == IR_OP_PERMUTE, o->broadcast = n->op == IR_OP_EXPAND;
  bool apart = n->op == IR_OP_STRIDE || (n->op == IR_OP_PERMUTE && moves_innermost(c->g, node));
  if (!o->scan || !apart) return;
  c->stored[n->src[0]] = true;
  o->scan = 0;
}

/* Passes on the first origin of each kind, and finds views that are combined with their own reductions. */
static void find_in_elements(const copies *c, ir_ref node) {
  const ir_node *n = ir_get(c->g, node);
  origins *o = &c->of[node];
  for (uint32_t i = 0; i < n->nsrc; i++) {
    const origins *from = &c->of[n->src[i]];
    if (!o->permuted_view) o->permuted_view = from->permuted_view;
    if (!o->reduced) o->reduced = from->reduced;
    if (!o->scan) o->scan = from->scan;
  }
  o->alone = o->permuted_view != 0;
  for (uint32_t i = 0; i < n->nsrc && o->alone; i++) {
    const origins *from = &c->of[n->src[i]];
    o->alone = ir_rank(c->g, n->src[i]) == 0 || from->broadcast ||
               (from->alone && from->permuted_view == o->permuted_view);
  }
  ir_ref view = o->reduced ? c->of[ir_src(c->g, o->reduced, 0)].permuted_view : 0;
  if (view && view == o->permuted_view && (is_long(c, o->reduced) || is_narrow(c->g, view, o->reduced)))
    o->combined = view;
}

/* Is it reduced in the order of memory (reduction_order.c)? */
static bool is_reordered(const copies *c, ir_ref reduce) {
  return c->of[ir_src(c->g, reduce, 0)].alone && !lower_is_contraction(c->g, reduce);
}

/* live: in the order in which operands stand before their users */
static void store_combined(const copies *c, const ir_ref *live, size_t count) {
  if (count) c->needed[live[count - 1]] = true;
  for (size_t i = count; i-- > 0;) {
    const ir_node *n = ir_get(c->g, live[i]);
    if (ir_ops[n->op].cls == IR_CLASS_REDUCE && is_reordered(c, live[i])) continue;
    if (is_permuted_back(c, live[i])) continue;
    if (pass_is_elementwise(n) && !c->needed[live[i]]) continue;
    for (uint32_t k = 0; k < n->nsrc; k++) c->needed[n->src[k]] = true;
  }
  for (size_t i = 0; i < count; i++)
    if (c->needed[live[i]] && c->of[live[i]].combined) c->stored[c->of[live[i]].combined] = true;
}

static void find_in(const copies *c, ir_ref node) {
  const ir_node *n = ir_get(c->g, node);
  const origins *from = n->nsrc ? &c->of[n->src[0]] : NULL;
  if (n->op == IR_OP_STORED) return; /* stored in the order of its axes */
  switch ((int)ir_ops[n->op].cls) {
  case IR_CLASS_VIEW:
    if (n->op != IR_OP_CONCAT && n->op != IR_OP_STACK) find_in_view(c, node);
    break;
  case IR_CLASS_UNARY:
  case IR_CLASS_BINARY:
  case IR_CLASS_COMPARE:
  case IR_CLASS_TERNARY: find_in_elements(c, node); break;
  case IR_CLASS_REDUCE:
    if (from->permuted_view) c->of[node].reduced = node;
    break;
  case IR_CLASS_ORDERED:
    if (from->permuted_view && (is_long(c, node) || goes_across(c->g, node)))
      c->stored[from->permuted_view] = true;
    c->of[node].scan = node;
    break;
  default: break;
  }
}

bool pass_find_copies(ir_graph *g, const ir_ref *live, size_t count, size_t nodes, int64_t rows_bytes,
                      bool *stored) {
  copies c = {.g = g,
              .of = ir_alloc(g->mem, nodes * sizeof *c.of),
              .rows_bytes = rows_bytes,
              .stored = stored,
              .needed = ir_alloc(g->mem, nodes * sizeof *c.needed)};
  bool ready = c.of && c.needed;
  if (ready) {
    memset(c.of, 0, nodes * sizeof *c.of);
    memset(c.needed, 0, nodes * sizeof *c.needed);
    for (size_t i = 0; i < count; i++)
      if (ir_shape(g, live[i])) find_in(&c, live[i]);
    store_combined(&c, live, count);
  }
  ir_free(g->mem, c.of, nodes * sizeof *c.of);
  ir_free(g->mem, c.needed, nodes * sizeof *c.needed);
  return ready;
}
