/* Reductions of transposed views, in the order of memory.
 *
 * The results of a reduction are computed in the order of their axes. Where its operand is a transposed view,
 * so that the results lie in another order in memory than they are numbered, lanes that run along
 * neighbouring results read elements that are far apart. A permutation may as well be applied behind: with p
 * a permutation of axes, and p' what it does to the axes that a reduction leaves,
 *
 *   reduce(permute(x, p))  ->  permute(reduce(x), p')
 *
 * and the same through elementwise operations, whose other operands are permuted the other way, as long as
 * nothing reads their elements but reductions, and permutations that bring them back in the order of memory,
 * as in x.permute().softmax().permute(). The means and variances of f32[54,300,171], a view of [300,171,54],
 * over the last axis take 0.4 ms in place of 5.2 (Zen 4, one thread). Sums of products stay as they are:
 * their tiles have an order of their own. */
#include "lower.h"

#include "passes/ops/compose/impl.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

#include <string.h>

/* A node as permute(base, order): its axis i is axis order[i] of the base. base 0: it is no such view. */
typedef struct permuted {
  ir_ref base;
  uint8_t order[IR_MAX_RANK];
} permuted;

typedef struct reordering {
  ir_graph *g;
  ir_ref *map;  /* what a node has become */
  permuted *as; /* the same as a permuted node */
  ir_ref *view; /* the permutation that the node's axes are of, through elementwise operations; 0: none */
  bool *is_permuted; /* the node's elements come from a transposed view */
  bool *is_read;     /* something reads elements of the node in the order of its axes */
} reordering;

/* permute(x, order), or its inverse. */
static ir_ref permute(ir_graph *g, ir_ref x, const uint8_t *order, bool inverse) {
  ir_ref axes[IR_MAX_RANK];
  uint32_t rank = ir_rank(g, x);
  for (uint32_t i = 0; i < rank; i++) axes[inverse ? order[i] : i] = ir_index(g, inverse ? i : order[i]);
  return op_permute(g, x, axes, rank);
}

static void see_permute(reordering *r, ir_ref node) {
  const ir_node *n = ir_get(r->g, node);
  const permuted *below = &r->as[n->src[0]];
  permuted *p = &r->as[node];
  p->base = below->base ? below->base : r->map[n->src[0]];
  for (uint32_t i = 0; i < ir_rank(r->g, node); i++) {
    uint32_t axis = (uint32_t)ir_get(r->g, n->src[1 + i])->arg;
    p->order[i] = below->base ? below->order[axis] : (uint8_t)axis;
  }
}

/* Axes of one element that a view inserts are the last ones of the base. */
static void see_inserted(reordering *r, ir_ref node) {
  ir_graph *g = r->g;
  const permuted *below = &r->as[ir_src(g, node, 0)];
  ir_ref dims[IR_MAX_RANK];
  uint32_t inner = ir_rank(g, ir_src(g, node, 0)), rank = ir_rank(g, node), last = inner, at = 0;
  permuted p = {0};
  if (!below->base || rank < inner) return;
  for (uint32_t i = 0; i < inner; i++) dims[i] = ir_dim(g, below->base, i);
  for (uint32_t i = 0; i < rank; i++) {
    ir_ref size = ir_dim(g, node, i);
    if (at < inner && size == ir_dim(g, below->base, below->order[at])) {
      p.order[i] = below->order[at++];
    } else {
      int64_t one;
      if (last == rank || !ir_is_const(g, size, &one) || one != 1) return;
      dims[last] = size, p.order[i] = (uint8_t)last++;
    }
  }
  if (at < inner || last != rank) return;
  p.base = op_reshape_known(g, below->base, dims, rank);
  r->as[node] = p;
}

static void see_expand(reordering *r, ir_ref node) {
  ir_graph *g = r->g;
  permuted p = r->as[ir_src(g, node, 0)];
  ir_ref dims[IR_MAX_RANK];
  uint32_t rank = ir_rank(g, node);
  if (!p.base || rank != ir_rank(g, p.base)) return;
  for (uint32_t i = 0; i < rank; i++) dims[p.order[i]] = ir_dim(g, node, i);
  p.base = op_expand(g, p.base, dims, rank);
  r->as[node] = p;
}

/* The operand in the order of the base; 0 where it lies in memory in another order of its own. */
static ir_ref in_order(reordering *r, ir_ref operand, const permuted *p, uint32_t rank) {
  ir_graph *g = r->g;
  const permuted *own = &r->as[operand];
  ir_ref made = r->map[operand], axes[IR_MAX_RANK];
  if (ir_rank(g, made) == 0) return made;
  if (!own->base) return ir_op_of(g, made) == IR_OP_EXPAND ? permute(g, made, p->order, true) : 0;
  if (!memcmp(own->order, p->order, rank)) return own->base;
  for (uint32_t i = 0; i < rank; i++) axes[p->order[i]] = ir_index(g, own->order[i]);
  return ir_op_of(g, own->base) == IR_OP_EXPAND ? op_permute(g, own->base, axes, rank) : 0;
}

static void see_stored(reordering *r, ir_ref node) {
  permuted p = r->as[ir_src(r->g, node, 0)];
  if (!p.base) return;
  p.base = ir_unary(r->g, IR_OP_STORED, p.base);
  r->as[node] = p;
}

static void see_elementwise(reordering *r, ir_ref node) {
  ir_graph *g = r->g;
  const ir_node *n = ir_get(g, node);
  uint32_t rank = ir_rank(g, node), count = ir_operand_count(n);
  const permuted *p = NULL;
  ir_ref src[3];
  for (uint32_t k = 0; k < count; k++) { /* the order of what is no broadcast */
    const permuted *own = &r->as[n->src[k]];
    if (own->base && (!p || ir_op_of(g, p->base) == IR_OP_EXPAND)) p = own;
  }
  if (!p || n->nsrc > sizeof src / sizeof *src || count != n->nsrc) return;
  for (uint32_t k = 0; k < count; k++)
    if (!(src[k] = in_order(r, n->src[k], p, rank))) return;
  r->as[node] = *p;
  r->as[node].base =
      ir_make_tensor(g, (ir_op)n->op, (ir_dtype)n->dtype, ir_shape(g, p->base), n->arg, src, n->nsrc);
}

/* Are axes of more than one element in another order than in memory? */
static bool reorders(ir_graph *g, ir_ref x, const permuted *p) {
  int last = -1;
  for (uint32_t i = 0; i < ir_rank(g, x); i++) {
    if (ir_bounds_of(g, ir_dim(g, x, i)).hi <= 1) continue;
    if ((int)p->order[i] < last) return true;
    last = (int)p->order[i];
  }
  return false;
}

bool lower_is_contraction(ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node), *x = ir_get(g, n->src[0]);
  if (n->op != IR_OP_SUM) return false;
  return pass_is_product(g, n->src[0]) ||
         (x->op == IR_OP_MUL && x->src[0] != x->src[1] && pass_is_contraction(g, node));
}

/* The reduction of the base, permuted; 0: it stays as it is, or memory is short. */
static ir_ref reduce_base(reordering *r, ir_ref node) {
  ir_graph *g = r->g;
  const ir_node *n = ir_get(g, node);
  const permuted *p = &r->as[n->src[0]];
  uint32_t rank = ir_rank(g, n->src[0]), count = 0, place[IR_MAX_RANK], left = 0;
  ir_ref axes[IR_MAX_RANK];
  bool reduced[IR_MAX_RANK] = {false};
  if (!p->base || lower_is_contraction(g, node) || !reorders(g, n->src[0], p)) return 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (!ir_reduces_axis(g, n, i)) continue;
    reduced[p->order[i]] = true;
    axes[count++] = ir_index(g, p->order[i]);
  }
  for (uint32_t i = 0; i < rank; i++)
    if (!reduced[i]) place[i] = left++;
  permuted *made = &r->as[node];
  made->base = op_reduce(g, (ir_op)n->op, p->base, axes, count, false);
  for (uint32_t i = 0, at = 0; i < rank; i++)
    if (!ir_reduces_axis(g, n, i)) made->order[at++] = (uint8_t)place[p->order[i]];
  return made->base ? permute(g, made->base, made->order, false) : 0;
}

static bool is_reduction(const ir_node *n) {
  return ir_ops[n->op].cls == IR_CLASS_REDUCE && n->op != IR_OP_ARGMAX && n->op != IR_OP_ARGMIN;
}

/* Is it the value of an elementwise operation, stored? A stored view is a copy that someone wants in its own
 * order. */
static bool is_stored_value(const ir_graph *g, const ir_node *n) {
  return n->op == IR_OP_STORED && pass_is_elementwise(ir_get(g, n->src[0]));
}

/* May such a node be a permuted base, if operands are? */
static bool keeps_order(const ir_graph *g, const ir_node *n) {
  return pass_is_elementwise(n) || is_stored_value(g, n) || n->op == IR_OP_PERMUTE ||
         n->op == IR_OP_RESHAPE || n->op == IR_OP_EXPAND;
}

bool lower_brings_back(ir_graph *g, ir_ref permute, ir_ref view) {
  permuted p;
  uint32_t rank = ir_rank(g, permute);
  if (rank != ir_rank(g, view)) return false;
  for (uint32_t i = 0; i < rank; i++) {
    uint32_t axis = (uint32_t)ir_get(g, ir_src(g, permute, 1 + i))->arg;
    p.order[i] = (uint8_t)ir_get(g, ir_src(g, view, 1 + axis))->arg;
  }
  return !reorders(g, permute, &p);
}

/* Marks what comes from transposed views. Does a reduction read such elements? live: operands before their
 * users. */
static bool find_permuted(reordering *r, const ir_ref *live, size_t count) {
  bool found = false;
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(r->g, live[i]);
    bool permuted = n->op == IR_OP_PERMUTE;
    if (!keeps_order(r->g, n) && !is_reduction(n)) continue;
    r->view[live[i]] = permuted ? live[i] : 0;
    bool same = pass_is_elementwise(n) || is_stored_value(r->g, n);
    for (uint32_t k = 0; same && k < n->nsrc && !r->view[live[i]]; k++) r->view[live[i]] = r->view[n->src[k]];
    for (uint32_t k = 0; k < ir_operand_count(n) && !permuted; k++) permuted = r->is_permuted[n->src[k]];
    r->is_permuted[live[i]] = permuted;
    found |= permuted && is_reduction(n);
  }
  return found;
}

/* Marks what is read in the order of its axes. live: operands before their users. */
static void find_read(reordering *r, const ir_ref *live, size_t count) {
  for (size_t i = count; i-- > 0;) {
    const ir_node *n = ir_get(r->g, live[i]);
    if (is_reduction(n) && (!r->is_permuted[live[i]] || !lower_is_contraction(r->g, live[i]))) continue;
    if (keeps_order(r->g, n) && !r->is_read[live[i]]) continue;
    ir_ref view = n->op == IR_OP_PERMUTE ? r->view[n->src[0]] : 0;
    if (view && lower_brings_back(r->g, live[i], view)) continue;
    for (uint32_t k = 0; k < n->nsrc; k++) r->is_read[n->src[k]] = true;
  }
}

/* The base, if the permutation brings elements that are computed back in its order; otherwise 0. */
static ir_ref permute_back(const reordering *r, ir_ref node) {
  const ir_node *n = ir_get(r->g, node);
  const permuted *p = &r->as[n->src[0]];
  if (!p->base || r->view[n->src[0]] == n->src[0]) return 0;
  for (uint32_t i = 0; i < ir_rank(r->g, node); i++)
    if (p->order[ir_get(r->g, n->src[1 + i])->arg] != i) return 0;
  return p->base;
}

static ir_ref reorder(reordering *r, ir_ref node) {
  const ir_node *n = ir_get(r->g, node);
  ir_ref made = is_reduction(n) && ir_shape(r->g, node) ? reduce_base(r, node) : 0;
  if (n->op == IR_OP_PERMUTE) made = permute_back(r, node);
  if (r->g->error->status) return 0;
  r->map[node] = made ? made : ir_remake_mapped(r->g, node, r->map);
  if (!r->map[node] || !ir_shape(r->g, node)) return r->map[node];
  if (r->is_read[node]) r->as[node].base = 0;
  else if (n->op == IR_OP_PERMUTE) see_permute(r, node);
  else if (n->op == IR_OP_RESHAPE) see_inserted(r, node);
  else if (n->op == IR_OP_EXPAND) see_expand(r, node);
  else if (is_stored_value(r->g, n)) see_stored(r, node);
  else if (pass_is_elementwise(n)) see_elementwise(r, node);
  return r->map[node];
}

ir_ref pass_order_reductions(ir_graph *g, ir_ref results) {
  size_t nodes = (size_t)results + 1, count = 0, cap = 0;
  ir_ref *live = NULL, root = results;
  reordering r = {.g = g,
                  .map = ir_alloc(g->mem, nodes * sizeof *r.map),
                  .as = ir_alloc(g->mem, nodes * sizeof *r.as),
                  .view = ir_alloc(g->mem, nodes * sizeof *r.view),
                  .is_permuted = ir_alloc(g->mem, 2 * nodes * sizeof *r.is_permuted)};
  bool ready = r.map && r.as && r.view && r.is_permuted &&
               ir_reachable_inside(g, &results, 1, &live, &count, &cap) == IR_OK;
  if (ready) memset(r.is_permuted, 0, 2 * nodes * sizeof *r.is_permuted);
  if (ready) memset(r.view, 0, nodes * sizeof *r.view);
  if (ready && find_permuted(&r, live, count)) {
    memset(r.as, 0, nodes * sizeof *r.as);
    r.is_read = r.is_permuted + nodes;
    find_read(&r, live, count);
    for (size_t i = 0; i < count && root; i++) {
      ir_cause before = ir_cause_enter(g, live[i]);
      root = ir_cause_leave(g, before, live[i], reorder(&r, live[i]));
    }
  }
  if (!ready || !root) ir_fail(g->error, IR_ERR_MEMORY, "out of memory reordering reductions");
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, r.map, r.map ? nodes * sizeof *r.map : 0);
  ir_free(g->mem, r.as, r.as ? nodes * sizeof *r.as : 0);
  ir_free(g->mem, r.view, r.view ? nodes * sizeof *r.view : 0);
  ir_free(g->mem, r.is_permuted, r.is_permuted ? 2 * nodes * sizeof *r.is_permuted : 0);
  return ready ? root : 0;
}
