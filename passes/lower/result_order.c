/* Products in the order in which their results are read.
 *
 * Where a view makes another axis of a product's result the innermost one, the kernel stores the result in
 * the view's order, while tiles would follow the product's. A view of kept axes is the same before a sum as
 * behind it, and before elementwise operations as behind them:
 *
 *   view(sum(a * b) + c)  =  sum(view(a) * view(b)) + view(c)
 *
 * The same goes for views that read a part of the result alone, of which the other elements need not be
 * computed, whatever reads that part: the last row of scores, of which a softmax is taken.
 *
 * Then packing (passes/pack/pack.c) sees the order of the result, and chooses between lanes along its
 * innermost axis and a copy that transposes it. Each value on the way has to have one use; what is added up
 * in which order stays the same. */
#include "lower.h"

#include "passes/index/affine.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

#include <string.h>

enum {
  /* nodes between a sum and the view [6 in the tests]: below more, nothing is changed */
  MAX_PATH = 32
};

/* The way from a view down to a sum of products. */
typedef struct path {
  ir_ref node[MAX_PATH]; /* from the view, the sum excluded: views, and elementwise operations */
  uint8_t through[MAX_PATH];
  uint32_t count;
  ir_ref sum;
  bool cut;      /* the view reads a part of the sum */
  bool reorders; /* there is another view on the way */
} path;

/* Uses of each node of the new graph, at most MANY; nodes that are no copies of old ones have none. */
enum {
  MANY = 2,
  COUNT = 3,          /* the bits of the number */
  READ_OTHERWISE = 4, /* a bit: not only elementwise operations use it, and what stores it as it is */
  LEADS_TO_SUM = 8    /* a bit: it is a sum of products, or made of one by views and elementwise operations */
};
typedef struct use_counts {
  uint8_t *of;
  size_t cap;
} use_counts;

static bool is_used_once(const use_counts *u, ir_ref r) { return r < u->cap && (u->of[r] & COUNT) == 1; }

static bool leads_to_sum(const use_counts *u, ir_ref r) { return r < u->cap && u->of[r] & LEADS_TO_SUM; }

/* Do the kernels that read it store their results in its order? */
static bool is_stored_by_readers(const use_counts *u, ir_ref r) {
  return r < u->cap && !(u->of[r] & READ_OTHERWISE);
}

static uint8_t sum_of_uses(uint8_t a, uint8_t b) {
  int count = (a & COUNT) + (b & COUNT);
  return (uint8_t)((count < MANY ? count : MANY) | ((a | b) & ~COUNT));
}

static bool add_uses(ir_graph *g, use_counts *u, ir_ref r, uint8_t uses) {
  size_t had = u->cap;
  if (!IR_RESERVE(g->mem, u->of, u->cap, (size_t)r + 1)) return false;
  memset(u->of + had, 0, u->cap - had);
  u->of[r] = sum_of_uses(u->of[r], uses);
  return true;
}

static bool is_cutting(ir_op op) { return op == IR_OP_SHRINK || op == IR_OP_STRIDE; }

static bool is_reordering(ir_op op) {
  return op == IR_OP_PERMUTE || op == IR_OP_RESHAPE || op == IR_OP_UNSQUEEZE || op == IR_OP_SQUEEZE ||
         is_cutting(op);
}

static int64_t size_of(ir_graph *g, ir_ref x, uint32_t axis) {
  return ir_bounds_of(g, ir_dim(g, x, axis)).hi;
}

/* The innermost axis of more than one element; the rank where there is none. */
static uint32_t innermost(ir_graph *g, ir_ref x) {
  uint32_t axis = ir_rank(g, x);
  while (axis > 0 && size_of(g, x, axis - 1) == 1) axis--;
  return axis > 0 ? axis - 1 : ir_rank(g, x);
}

/* The axis of the view's operand that the axis of the view goes along; the operand's rank where it is only a
 * part of one. */
static uint32_t axis_below(ir_graph *g, ir_ref view, uint32_t axis) {
  const ir_node *n = ir_get(g, view);
  if (n->op == IR_OP_PERMUTE) return (uint32_t)ir_get(g, n->src[1 + axis])->arg;
  if (is_cutting((ir_op)n->op)) return axis;
  uint32_t below = 0, rank = ir_rank(g, n->src[0]);
  int64_t step = pass_axis_step(g, view, axis);
  while (below < rank && (pass_axis_step(g, n->src[0], below) != step || size_of(g, n->src[0], below) == 1))
    below++;
  return below;
}

/* The operand that a path goes on to: the only one that is used once and leads to a sum; n->nsrc: none. */
static uint32_t operand_below(const ir_node *n, const use_counts *uses) {
  uint32_t found = n->nsrc;
  for (uint32_t k = 0; k < ir_operand_count(n); k++) {
    if (!is_used_once(uses, n->src[k]) || !leads_to_sum(uses, n->src[k])) continue;
    if (found < n->nsrc) return n->nsrc;
    found = k;
  }
  return found;
}

/* Would the lanes along the innermost axis of the results fill less than half of a vector of f32, and more
 * along that of the sum? */
static bool loses_lanes(ir_graph *g, ir_ref sum, ir_ref results) {
  uint32_t own = innermost(g, sum), other = innermost(g, results);
  int64_t left = other < ir_rank(g, results) ? size_of(g, results, other) : 1;
  return left < PASS_HALF_VECTOR && own < ir_rank(g, sum) && size_of(g, sum, own) > left;
}

/* Is there a path, and another axis of the sum the innermost one in the view, or a part of that axis apart
 * from its other elements, or only a part of the sum in it? */
static bool find_path(ir_graph *g, ir_ref view, const use_counts *uses, path *p) {
  uint32_t axis = innermost(g, view);
  bool permutes = false;
  *p = (path){.count = 0};
  for (ir_ref at = view; p->count < MAX_PATH;) {
    const ir_node *n = ir_get(g, at);
    if (n->op == IR_OP_SUM) {
      p->sum = at;
      return (p->cut || axis != innermost(g, at) || (permutes && loses_lanes(g, at, view))) &&
             pass_may_reuse(g, at);
    }
    if (!is_reordering((ir_op)n->op) && !pass_is_elementwise(n)) return false;
    uint32_t k = operand_below(n, uses);
    if (k == n->nsrc || (pass_is_elementwise(n) && ir_shape(g, n->src[k]) != ir_shape(g, at))) return false;
    if (axis < ir_rank(g, at) && is_reordering((ir_op)n->op)) axis = axis_below(g, at, axis);
    else if (axis >= ir_rank(g, at)) axis = IR_MAX_RANK; /* a part of an axis that is not the innermost one */
    p->cut |= is_cutting((ir_op)n->op);
    p->reorders |= is_reordering((ir_op)n->op) && !is_cutting((ir_op)n->op);
    permutes |= n->op == IR_OP_PERMUTE;
    p->through[p->count] = (uint8_t)k;
    p->node[p->count++] = at;
    at = n->src[k];
  }
  return false;
}

/* The view, of a value x of its operand's shape, but for further axes behind those of the shape. */
static ir_ref apply(ir_graph *g, ir_ref view, ir_ref x) {
  const ir_node *n = ir_get(g, view);
  uint32_t inner = ir_rank(g, n->src[0]), rank = ir_rank(g, view), more = ir_rank(g, x) - inner, count = 1;
  ir_ref src[1 + 2 * IR_MAX_RANK] = {x}, dims[IR_MAX_RANK];
  if (rank + more > IR_MAX_RANK) return 0;
  for (uint32_t i = 0; i < rank; i++) dims[i] = ir_dim(g, view, i);
  for (uint32_t i = 0; i < more; i++) dims[rank + i] = ir_dim(g, x, inner + i);
  bool same =
      n->op == IR_OP_PERMUTE || is_cutting((ir_op)n->op); /* attributes by axis, and none of the shape */
  for (uint32_t i = 1; i < n->nsrc && same; i++) src[count++] = n->src[i];
  for (uint32_t i = 0; i < more && same; i++) {
    if (n->op == IR_OP_SHRINK) src[count++] = ir_index(g, 0);
    src[count++] = n->op == IR_OP_SHRINK   ? dims[rank + i]
                   : n->op == IR_OP_STRIDE ? ir_index(g, 1)
                                           : ir_index(g, inner + i);
  }
  for (uint32_t i = 0; i < rank + more && !same; i++) src[count++] = dims[i];
  return ir_make_tensor(g, same ? (ir_op)n->op : IR_OP_RESHAPE, ir_dtype_of(g, x),
                        ir_tuple(g, dims, rank + more), 0, src, count);
}

/* All views of the path's first `count` nodes, the innermost first. */
static ir_ref apply_all(ir_graph *g, const path *p, uint32_t count, ir_ref x) {
  while (count-- > 0 && x)
    if (!pass_is_elementwise(ir_get(g, p->node[count]))) {
      ir_cause before = ir_cause_enter(g, p->node[count]);
      x = apply(g, p->node[count], x);
      ir_cause_leave(g, before, p->node[count], 0);
    }
  return x;
}

/* x, of the rank of the sum's terms, with the axes that are summed over behind the others. */
static ir_ref terms_last(ir_graph *g, ir_ref sum, ir_ref x) {
  const ir_node *n = ir_get(g, sum);
  ir_ref src[1 + IR_MAX_RANK] = {x}, dims[IR_MAX_RANK];
  uint32_t rank = ir_rank(g, x), count = 0;
  bool moved = false;
  for (int reduced = 0; reduced < 2; reduced++)
    for (uint32_t i = 0; i < rank; i++) {
      if (ir_reduces_axis(g, n, i) != (reduced == 1)) continue;
      moved |= i != count;
      dims[count] = ir_dim(g, x, i);
      src[++count] = ir_index(g, i);
    }
  return moved
             ? ir_make_tensor(g, IR_OP_PERMUTE, ir_dtype_of(g, x), ir_tuple(g, dims, rank), 0, src, rank + 1)
             : x;
}

/* The sum with the path's views before it. 0: more axes than there may be, or memory is short. */
static ir_ref reordered_sum(ir_graph *g, const path *p) {
  const ir_node *sum = ir_get(g, p->sum), *term = ir_get(g, sum->src[0]);
  ir_ref src[3] = {0}, axes[1 + IR_MAX_RANK], dims[IR_MAX_RANK];
  for (uint32_t k = 0; k < term->nsrc; k++) {
    bool literal = ir_op_of(g, term->src[k]) == IR_OP_CONST;
    src[k] = literal ? term->src[k] : apply_all(g, p, p->count, terms_last(g, p->sum, term->src[k]));
    if (!src[k]) return 0;
  }
  uint32_t summed = sum->nsrc - 1, kept = ir_rank(g, src[0]) - summed;
  ir_ref made = ir_make_tensor(g, (ir_op)term->op, (ir_dtype)term->dtype, ir_shape(g, src[0]), term->arg, src,
                               term->nsrc);
  axes[0] = made;
  for (uint32_t i = 0; i < kept; i++) dims[i] = ir_dim(g, src[0], i);
  for (uint32_t i = 0; i < summed; i++) axes[1 + i] = ir_index(g, kept + i);
  return made ? ir_make_tensor(g, IR_OP_SUM, (ir_dtype)sum->dtype, ir_tuple(g, dims, kept), sum->arg, axes,
                               sum->nsrc)
              : 0;
}

/* Elements along the kept axes of both operands. */
static int64_t batch_of(const pass_contraction *c) {
  return pass_contraction_size(c, ~c->reduced & c->operand[0].varies & c->operand[1].varies);
}

/* Does the view make one axis of several, or several of one? Axes of one element do not count. */
static bool regroups_axes(ir_graph *g, ir_ref view) {
  const ir_node *n = ir_get(g, view);
  uint32_t above = 0, below = 0, rank = ir_rank(g, view), inner = ir_rank(g, n->src[0]);
  if (n->op != IR_OP_RESHAPE) return false;
  for (;; above++, below++) {
    while (above < rank && size_of(g, view, above) == 1) above++;
    while (below < inner && size_of(g, n->src[0], below) == 1) below++;
    if (above == rank || below == inner) return above != rank || below != inner;
    if (size_of(g, view, above) != size_of(g, n->src[0], below)) return true;
  }
}

/* Do the path's views make one axis of a row and a column, as those that interleave the phases of a
 * transposed convolution do? Then tiles would use elements less often, or only once. */
static bool joins_row_and_column(const pass_contraction *own, const path *p, ir_ref reordered_sum) {
  ir_graph *g = own->g;
  pass_contraction other;
  bool regroups = false;
  for (uint32_t i = 0; i < p->count && !regroups; i++)
    regroups = !pass_is_elementwise(ir_get(g, p->node[i])) && regroups_axes(g, p->node[i]);
  return regroups && pass_contraction_of(g, reordered_sum, &other) && batch_of(&other) > batch_of(own);
}

/* The first node of the path, with the sum stored. */
static ir_ref stored_below(ir_graph *g, const path *p) {
  ir_ref made = ir_unary(g, IR_OP_STORED, p->sum);
  for (uint32_t i = p->count; i-- > 0 && made;) {
    const ir_node *n = ir_get(g, p->node[i]);
    ir_ref src[1 + 2 * IR_MAX_RANK];
    for (uint32_t k = 0; k < n->nsrc; k++) src[k] = k == p->through[i] ? made : n->src[k];
    made = ir_remake(g, p->node[i], src, n->nsrc);
  }
  return made;
}

/* Do its results have no rows and columns, so that no tile can have lanes along either, as of a depthwise
 * convolution, and is an operand read in sequence along the innermost axis of the sum, but of the reordered
 * sum none? */
static bool loses_sequence(const pass_contraction *own, ir_ref reordered_sum) {
  pass_contraction other;
  return !pass_contraction_reuses(own) && pass_contraction_in_sequence(own) &&
         pass_contraction_of(own->g, reordered_sum, &other) && !pass_contraction_in_sequence(&other);
}

/* Would few rows, for which packing copies no columns, gather single columns that are contiguous in the sum,
 * and does it take less to compute all of these and copy those that are wanted? 3 rows of 17 terms by every
 * other one of 3072 columns of bytes take 2.9 times as long as the product and a copy. */
static bool gathers_columns(const pass_contraction *own, ir_ref reordered_sum) {
  ir_graph *g = own->g;
  pass_contraction other;
  double all = (double)pass_contraction_size(own, UINT32_MAX),
         wanted = pass_elements(g, ir_src(g, reordered_sum, 0));
  if (all + PASS_TRANSPOSE_COST * pass_elements(g, reordered_sum) >= PASS_GATHERED_COST * wanted ||
      !pass_contraction_in_sequence(own))
    return false;
  uint32_t axis = own->rank;
  while (axis-- > 0 && (own->reduced >> axis & 1 || own->size[axis] == 1)) {}
  const pass_operand *columns = &own->operand[own->operand[1].varies >> axis & 1];
  int64_t rows = pass_contraction_size(own, ~own->reduced & ~columns->varies);
  return rows < PASS_REUSE_GATHERED && pass_contraction_of(g, reordered_sum, &other) &&
         !pass_contraction_in_sequence(&other);
}

static bool is_slower(ir_graph *g, const path *p, ir_ref reordered_sum) {
  pass_contraction own;
  bool product = pass_contraction_of(g, p->sum, &own);
  if (product && (joins_row_and_column(&own, p, reordered_sum) || gathers_columns(&own, reordered_sum)))
    return true;
  return !p->cut &&
         ((product && loses_sequence(&own, reordered_sum)) || loses_lanes(g, p->sum, reordered_sum));
}

/* The first node of the path, with its views before the sum or, where these would join rows and columns or
 * there are none, with the sum stored in its own order. Adds the uses of what it is made of. */
static ir_ref reordered(ir_graph *g, const path *p, use_counts *uses) {
  ir_cause before = ir_cause_enter(g, p->sum);
  ir_ref made = ir_cause_leave(g, before, p->sum, reordered_sum(g, p));
  if (made && is_slower(g, p, made)) return stored_below(g, p);
  for (uint32_t i = p->count; i-- > 0 && made;) {
    const ir_node *n = ir_get(g, p->node[i]);
    ir_ref src[3];
    if (!pass_is_elementwise(n)) continue;
    if (!add_uses(g, uses, made, 1 | LEADS_TO_SUM)) return 0;
    for (uint32_t k = 0; k < n->nsrc; k++) {
      bool same = ir_rank(g, n->src[k]) == 0;
      src[k] = k == p->through[i] ? made : same ? n->src[k] : apply_all(g, p, i, n->src[k]);
      if (!src[k]) return 0;
    }
    before = ir_cause_enter(g, p->node[i]);
    made = ir_make_tensor(g, (ir_op)n->op, (ir_dtype)n->dtype, ir_shape(g, made), n->arg, src, n->nsrc);
    ir_cause_leave(g, before, p->node[i], made);
  }
  return made;
}

/* Is it a sum of products, or a view or an elementwise operation on what leads to one? */
static bool is_sum_or_made_of(const ir_graph *g, ir_ref r, const use_counts *uses) {
  const ir_node *n = ir_get(g, r);
  bool leads = false;
  if (n->op == IR_OP_SUM) return pass_is_product(g, n->src[0]) || ir_op_of(g, n->src[0]) == IR_OP_MUL;
  if (!is_reordering((ir_op)n->op) && !pass_is_elementwise(n)) return false;
  for (uint32_t k = 0; k < ir_operand_count(n); k++) leads |= leads_to_sum(uses, n->src[k]);
  return leads;
}

/* The node, with its views before a product where they reorder its result. */
static ir_ref order_result(ir_graph *g, ir_ref node, use_counts *uses) {
  path p;
  ir_op op = ir_op_of(g, node);
  bool ordered = is_stored_by_readers(uses, node);
  if (!(ordered ? is_reordering(op) : is_cutting(op)) || !find_path(g, node, uses, &p) ||
      (!ordered && p.reorders))
    return node;
  ir_ref made = reordered(g, &p, uses);
  return made || ir_gives_up(g->error->status) ? made : node;
}

ir_ref pass_order_results(ir_graph *g, ir_ref results) {
  size_t nodes = (size_t)results + 1, count = 0, cap = 0;
  ir_ref *live = NULL, *map = ir_alloc(g->mem, nodes * sizeof *map), root = 0;
  uint8_t *used = ir_alloc(g->mem, nodes);
  use_counts uses = {NULL, 0};
  if (map && used && ir_reachable_inside(g, &results, 1, &live, &count, &cap) == IR_OK) root = results;
  if (used) memset(used, 0, nodes);
  for (size_t i = 0; i < count && root; i++) {
    const ir_node *n = ir_get(g, live[i]);
    bool stores = !ir_shape(g, live[i]) || n->op == IR_OP_STORED || pass_is_elementwise(n);
    for (uint32_t k = 0; k < n->nsrc; k++)
      used[n->src[k]] = sum_of_uses(used[n->src[k]], stores ? 1 : 1 | READ_OTHERWISE);
  }
  for (size_t i = 0; i < count && root; i++) {
    root = ir_remake_mapped(g, live[i], map);
    uint8_t leads = root && is_sum_or_made_of(g, root, &uses) ? LEADS_TO_SUM : 0;
    if (root && !add_uses(g, &uses, root, used[live[i]] | leads)) root = 0;
    ir_cause before = ir_cause_enter(g, live[i]);
    ir_ref as_it_was = root;
    if (root) root = order_result(g, root, &uses);
    if (root && root != as_it_was && !add_uses(g, &uses, root, used[live[i]] | LEADS_TO_SUM)) root = 0;
    map[live[i]] = ir_cause_leave(g, before, live[i], root);
  }
  if (!root) ir_fail(g->error, IR_ERR_MEMORY, "out of memory reordering the results of products");
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, map, map ? nodes * sizeof *map : 0);
  ir_free(g->mem, used, used ? nodes : 0);
  ir_free(g->mem, uses.of, uses.cap);
  return root;
}
