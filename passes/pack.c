/* Packing: operands of contractions laid out in memory as their register tiles read them.
 *
 * A contraction has one operand along whose kept axis the lanes run (the columns), and one that is broadcast
 * to them (the rows). A copy of an operand is a STORED node, a kernel of its own, into which all views of the
 * operand fold; the contraction reads it back through the inverse views.
 *
 *   panels   columns [N, K] as [N/W, K, W], W the columns of a tile, filled up with zeros: a tile reads its
 *            panel from end to end. The index of the copy divides the column by W, which a loop over tiles of
 *            W columns does away with
 *   rows     [M, K], where the operand's own order walks over memory with large steps along K
 *   plain    masks and elementwise work in front of an operand, done once and not in every tile
 *   turned   where the last axis of the result fills lanes badly (short, or a convolution's width) the lanes
 *            run along an axis of the other operand, and the result is turned back by a copy
 *
 * None of this changes what is added to what in which order. Sizes decide, and caches: a column of K elements
 * `step` bytes apart stays in the cache only if enough sets hold it. */
#include "contract.h"
#include "index.h"
#include "loops.h"
#include "ops/check.h"
#include "ops/ops.h"

#include <string.h>

enum {
  MIN_WORK = 1 << 20,     /* multiplications that are worth a copy */
  MIN_REUSE = 32,         /* rows over which a copy of columns pays that lie side by side as they are */
  MIN_REUSE_GATHERED = 8, /* the same for columns that do not */
  NEAR = 8,               /* elements between neighbours along K that share cache lines */
  WAYS = 16,              /* of the second-level cache */
  LINE = 64,
  VECTOR = 64,
  PAGE = 4096,
  TLB_ENTRIES = 64,
  FEW_TERMS = 32, /* of which an error of one rounding each is within that of any sum */
  MAX_VIEWS = 64
};

typedef struct packing {
  const pass_contraction *c;
  const ir_target *target;
  pass_tile tile;
  uint32_t column;                   /* the axis of the lanes */
  const pass_operand *across, *down; /* the operand with the columns, that with the rows */
} packing;

static bool has(uint32_t set, uint32_t axis) { return set >> axis & 1; }

/* how an operand lies in memory */

static bool is_plain(const ir_graph *g, const pass_operand *o) {
  const ir_node *n = ir_get(g, o->base);
  switch ((ir_class)ir_ops[n->op].cls) {
  case IR_CLASS_LEAF: return n->op != IR_OP_IOTA && n->op != IR_OP_CONST;
  case IR_CLASS_REDUCE:
  case IR_CLASS_ORDERED:
  case IR_CLASS_CUSTOM: return true;
  default: return n->op == IR_OP_STORED || n->op == IR_OP_RESULT || ir_scatters((ir_op)n->op);
  }
}

/* Elements between neighbours along the axis; a huge number where that is not the same everywhere. */
static int64_t step_along(const pass_contraction *c, const pass_operand *o, uint32_t axis) {
  int64_t step;
  if (!has(o->along, axis)) return 0;
  if (!loop_stride(c->g, o->index, c->range[axis], &step)) return INT64_MAX;
  return step < 0 ? -step : step;
}

/* The summed axis with the most positions, and the least step along any. */
static int64_t longest_step(const packing *k, const pass_operand *o, int64_t *count, int64_t *least) {
  int64_t step = 0;
  *count = 1, *least = INT64_MAX;
  for (uint32_t i = 0; i < k->c->rank; i++) {
    if (!has(k->c->reduced & o->along, i) || k->c->size[i] == 1) continue;
    int64_t here = step_along(k->c, o, i);
    if (k->c->size[i] > *count) *count = k->c->size[i], step = here;
    if (here < *least) *least = here;
  }
  return step;
}

/* Do `count` pieces of memory, `step` elements apart, stay in the cache while others pass through? A cache of
 * WAYS ways has bytes / WAYS / LINE sets, of which a power of two in the step leaves out most. */
static bool stays_in_cache(const packing *k, int64_t count, int64_t step) {
  int64_t bytes = ir_dtypes[k->c->dtype].bytes, way = k->target->l2_bytes / WAYS, apart;
  if (step > INT32_MAX) return false;
  apart = step * bytes;
  if (apart < LINE) return true;
  if (apart >= PAGE && count > TLB_ENTRIES) return false;
  int64_t common = apart & -apart; /* sets that are met: way / the greatest power of two in the step */
  int64_t sets = common >= way ? 1 : way / (common > LINE ? common : LINE);
  return count <= sets * WAYS / 2;
}

/* views */

static ir_ref permuted(ir_graph *g, ir_ref x, const uint32_t *order, uint32_t rank) {
  ir_ref axes[IR_MAX_RANK];
  bool same = true;
  for (uint32_t i = 0; i < rank; i++) same &= order[i] == i, axes[i] = ir_index(g, order[i]);
  return !x || same ? x : op_permute(g, x, axes, rank);
}

static ir_ref permuted_back(ir_graph *g, ir_ref x, const uint32_t *order, uint32_t rank) {
  uint32_t back[IR_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) back[order[i]] = i;
  return permuted(g, x, back, rank);
}

/* The operand with one position for each axis that it does not vary along. */
static ir_ref essence(const pass_contraction *c, const pass_operand *o) {
  ir_ref bounds[2 * IR_MAX_RANK];
  for (uint32_t i = 0; i < c->rank; i++) {
    bounds[2 * i] = ir_index(c->g, 0);
    bounds[2 * i + 1] = has(o->along, i) ? ir_dim(c->g, o->value, i) : ir_index(c->g, 1);
  }
  return op_shrink_known(c->g, o->value, bounds);
}

static ir_ref expanded(const pass_contraction *c, const pass_operand *o, ir_ref x) {
  const ir_node *shape = ir_get(c->g, ir_shape(c->g, o->value));
  return x ? op_grow(c->g, x, shape->src, shape->nsrc) : 0;
}

static ir_ref stored(ir_graph *g, ir_ref x) { return x ? ir_unary(g, IR_OP_STORED, x) : 0; }

/* Axes in an order for memory: kept ones, then those summed over; `column` last of the kept ones. */
static void memory_order(const pass_contraction *c, uint32_t column, uint32_t *order) {
  uint32_t count = 0;
  for (int reduced = 0; reduced < 2; reduced++) {
    for (uint32_t i = 0; i < c->rank; i++)
      if (has(c->reduced, i) == (reduced == 1) && i != column) order[count++] = i;
    if (!reduced && column < c->rank) order[count++] = column;
  }
}

/* copies */

static ir_ref rows_copy(const pass_contraction *c, const pass_operand *o) {
  uint32_t order[IR_MAX_RANK];
  memory_order(c, UINT32_MAX, order);
  ir_ref x = stored(c->g, permuted(c->g, essence(c, o), order, c->rank));
  return expanded(c, o, permuted_back(c->g, x, order, c->rank));
}

/* Splits axis `at` of x in two, or merges it with the one behind: in the shape the axis is `outer`, `inner`.
 */
static ir_ref reshaped(ir_graph *g, ir_ref x, uint32_t at, int64_t outer, int64_t inner, bool split) {
  ir_ref dims[IR_MAX_RANK + 1];
  uint32_t count = 0, rank = x ? ir_rank(g, x) : 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (i != at) {
      dims[count++] = ir_dim(g, x, i);
      continue;
    }
    dims[count++] = ir_index(g, split ? outer : outer * inner);
    if (split) dims[count++] = ir_index(g, inner);
    else i++;
  }
  return x ? op_reshape_known(g, x, dims, count) : 0;
}

/* [kept..., N/W, summed..., W] */
static ir_ref panels_copy(const packing *k, const pass_operand *o) {
  const pass_contraction *c = k->c;
  ir_graph *g = c->g;
  uint32_t order[IR_MAX_RANK], count = 0, col = k->column, rank = c->rank + 1;
  int64_t size = c->size[col], width = (int64_t)k->tile.lanes * k->tile.columns;
  int64_t panels = (size + width - 1) / width;
  ir_ref edges[2 * IR_MAX_RANK], zero = ir_index(g, 0);
  for (uint32_t i = 0; i < 2 * c->rank; i++) edges[i] = zero;
  edges[2 * col + 1] = ir_index(g, panels * width - size);
  for (int reduced = 0; reduced < 2; reduced++)
    for (uint32_t i = 0; i < c->rank; i++)
      if (has(c->reduced, i) == (reduced == 1)) order[count++] = i + (i > col);
  order[count] = col + 1;
  ir_ref x = reshaped(g, op_pad_known(g, essence(c, o), edges, 0), col, panels, width, true);
  x = permuted_back(g, stored(g, permuted(g, x, order, rank)), order, rank);
  x = reshaped(g, x, col, panels, width, false);
  for (uint32_t i = 0; i < c->rank && x; i++) edges[2 * i] = zero, edges[2 * i + 1] = ir_dim(g, x, i);
  edges[2 * col + 1] = ir_index(g, size);
  return expanded(c, o, x ? op_shrink_known(g, x, edges) : 0);
}

/* The views on top of the base, the nearest to the base first. */
static uint32_t views_above(ir_graph *g, const pass_operand *o, ir_ref views[MAX_VIEWS]) {
  uint32_t count = 0;
  for (ir_ref r = o->value; r != o->base && count < MAX_VIEWS; r = ir_src(g, r, 0)) views[count++] = r;
  for (uint32_t i = 0; i < count / 2; i++) {
    ir_ref swap = views[i];
    views[i] = views[count - 1 - i], views[count - 1 - i] = swap;
  }
  return count;
}

static int64_t elements(ir_graph *g, ir_ref x) {
  int64_t count = 1;
  for (uint32_t i = 0; i < ir_rank(g, x); i++) {
    int64_t size = ir_bounds_of(g, ir_dim(g, x, i)).hi;
    count = size > 0 && count > INT64_MAX / size ? INT64_MAX : count * size;
  }
  return count;
}

/* The base with its masks, in memory: the last pad with a constant is where a copy is made, and the views
 * behind it stay. Where they lose elements again that they added, or a copy of the operand as it is would be
 * no larger, it is copied whole. */
static ir_ref plain_copy(const pass_contraction *c, const pass_operand *o) {
  ir_graph *g = c->g;
  ir_ref views[MAX_VIEWS], made = o->base;
  uint32_t count = views_above(g, o, views), from = 0;
  if (!ir_is_true(g, o->valid))
    while (from < count && ir_op_of(g, views[from]) != IR_OP_PAD) made = views[from++];
  if (from < count && !ir_is_true(g, o->valid)) made = views[from++];
  if (count == MAX_VIEWS || elements(g, made) >= pass_contraction_size(c, o->along)) return rows_copy(c, o);
  made = stored(g, made);
  for (uint32_t i = from; i < count && made; i++) {
    const ir_node *n = ir_get(g, views[i]);
    ir_ref src[2 * IR_MAX_RANK + 2];
    memcpy(src, n->src, n->nsrc * sizeof *src);
    src[0] = made;
    made = ir_remake(g, views[i], src, n->nsrc);
  }
  return made;
}

/* choosing */

/* Does the operand read most elements of its base several times? */
static bool is_window(const pass_contraction *c, const pass_operand *o) {
  return elements(c->g, o->base) < pass_contraction_size(c, o->along) / 2;
}

/* What part of vectors of VECTOR bytes does work along this axis? The same on every machine, since where the
 * lanes run may decide about the order of additions. */
static double filled(const packing *k, const pass_operand *o, uint32_t axis) {
  int64_t size = k->c->size[axis], lanes = VECTOR / ir_dtypes[k->c->dtype].bytes;
  int64_t vectors = (size + lanes - 1) / lanes;
  double part = (double)size / (double)(vectors * lanes);
  return is_window(k->c, o) ? part * 0.9 : part; /* its vectors are not aligned, and cannot be packed */
}

/* The axis of the lanes: the last kept one, or a longer one of the other operand. */
static bool choose_column(packing *k, bool *turned) {
  const pass_contraction *c = k->c;
  uint32_t last = c->rank;
  while (last > 0 && (has(c->reduced, last - 1) || c->size[last - 1] == 1)) last--;
  if (last-- == 0) return false;
  const pass_operand *a = &c->operand[0], *b = &c->operand[1];
  if (has(a->along, last) == has(b->along, last)) return false;
  k->across = has(a->along, last) ? a : b, k->down = has(a->along, last) ? b : a;
  k->column = last;
  double best = 1.1 * filled(k, k->across, last);
  const pass_operand *down = k->down;
  *turned = false;
  for (uint32_t i = c->rank; i-- > 0;) {
    if (has(c->reduced, i) || !has(down->along, i) || has(k->across->along, i)) continue;
    if (*turned || filled(k, down, i) <= best) continue;
    k->column = i, *turned = true;
  }
  if (*turned) k->down = k->across, k->across = down;
  return true;
}

/* The operand with the columns, as it is to be read. */
static ir_ref packed_across(const packing *k) {
  const pass_contraction *c = k->c;
  const pass_operand *o = k->across;
  int64_t count, least, step = longest_step(k, o, &count, &least), fixed,
                        reuse = pass_contraction_size(c, ~c->reduced & ~o->along);
  bool plain = is_plain(c->g, o) && ir_is_true(c->g, o->valid);
  if (is_window(c, o)) return plain ? o->value : plain_copy(c, o);
  if (!ir_is_const(c->g, ir_dim(c->g, o->value, k->column), &fixed)) return o->value;
  bool beside = plain && step_along(c, o, k->column) == 1;
  if (beside && (reuse < MIN_REUSE || stays_in_cache(k, count, step))) return o->value;
  if (reuse < MIN_REUSE_GATHERED || c->rank == IR_MAX_RANK) return o->value;
  return panels_copy(k, o);
}

/* The operand with the rows. */
static ir_ref packed_down(const packing *k) {
  const pass_contraction *c = k->c;
  const pass_operand *o = k->down;
  int64_t count, least, step = longest_step(k, o, &count, &least);
  if (!is_plain(c->g, o) || !ir_is_true(c->g, o->valid)) return plain_copy(c, o);
  if (least <= NEAR || is_window(c, o)) return o->value;
  return stays_in_cache(k, count, step) ? o->value : rows_copy(c, o);
}

static ir_ref product_of(ir_graph *g, ir_dtype dtype, ir_ref a, ir_ref b) {
  if (!a || !b) return 0;
  if (!ir_is_float(dtype)) return ir_binary(g, IR_OP_MUL, a, b);
  return ir_make_tensor(g, IR_OP_FMA, dtype, ir_shape(g, a), 0, (ir_ref[]){a, b, ir_float(g, dtype, 0)}, 3);
}

/* The sum over the axes that are summed over now, in their order. */
static ir_ref sum_of(const pass_contraction *c, ir_ref product, uint32_t reduced) {
  ir_graph *g = c->g;
  ir_ref src[IR_MAX_RANK + 1] = {product}, kept[IR_MAX_RANK];
  uint32_t count = 1, rank = 0;
  for (uint32_t i = 0; i < c->rank && product; i++) {
    if (has(reduced, i)) src[count++] = ir_index(g, i);
    else kept[rank++] = ir_dim(g, product, i);
  }
  if (!product) return 0;
  return ir_make_tensor(g, IR_OP_SUM, c->dtype, ir_tuple(g, kept, rank), ir_get(g, c->sum)->arg, src, count);
}

/* With the column last of the kept axes, and turned back in memory. */
static ir_ref turned_sum(const packing *k, ir_ref a, ir_ref b) {
  const pass_contraction *c = k->c;
  ir_graph *g = c->g;
  uint32_t order[IR_MAX_RANK], kept[IR_MAX_RANK], place[IR_MAX_RANK], rank = 0, reduced = 0;
  memory_order(c, k->column, order);
  for (uint32_t i = 0; i < c->rank; i++)
    if (!has(c->reduced, i)) place[i] = rank++;
  for (uint32_t i = 0; i < c->rank; i++) {
    if (has(c->reduced, order[i])) reduced |= (uint32_t)1 << i;
    else kept[i] = place[order[i]]; /* kept axes come first */
  }
  ir_ref product = product_of(g, c->dtype, permuted(g, a, order, c->rank), permuted(g, b, order, c->rank));
  return permuted_back(g, stored(g, sum_of(c, product, reduced)), kept, rank);
}

/* A window of few terms that nothing else is multiplied with: masks in front of it are done before. */
static ir_ref unmasked(const pass_contraction *c) {
  ir_ref made[2];
  for (int i = 0; i < 2; i++) {
    const pass_operand *o = &c->operand[i];
    made[i] = is_window(c, o) && !ir_is_true(c->g, o->valid) ? plain_copy(c, o) : o->value;
  }
  return sum_of(c, product_of(c->g, c->dtype, made[0], made[1]), c->reduced);
}

/* As loop_tile.c counts them; 0: not known. */
static int64_t known_terms(const pass_contraction *c) {
  int64_t terms = 1, size;
  for (uint32_t i = 0; i < c->rank; i++) {
    if (!has(c->reduced, i)) continue;
    bool known = ir_is_const(c->g, ir_dim(c->g, ir_src(c->g, c->sum, 0), i), &size);
    terms = known && terms <= INT32_MAX ? terms * size : 0;
  }
  return terms;
}

static ir_ref packed(ir_graph *g, const ir_target *target, ir_ref sum) {
  pass_contraction c;
  bool turned;
  if (!pass_contraction_of(g, sum, &c)) return sum;
  bool much = pass_contraction_size(&c, UINT32_MAX) >= MIN_WORK;
  if (!pass_contraction_reuses(&c))
    return much && pass_contraction_size(&c, c.reduced) <= FEW_TERMS ? unmasked(&c) : sum;
  packing k = {.c = &c, .target = target, .tile = pass_tile_of(target, c.dtype, known_terms(&c))};
  ir_ref a = c.operand[0].value, b = c.operand[1].value;
  if (much && choose_column(&k, &turned)) {
    ir_ref across = packed_across(&k), down = packed_down(&k);
    bool swapped = k.across == &c.operand[0];
    a = swapped ? across : down, b = swapped ? down : across;
    if (turned) return turned_sum(&k, a, b);
  }
  return sum_of(&c, product_of(g, c.dtype, a, b), c.reduced);
}

ir_ref pass_pack(ir_graph *g, ir_ref results, const ir_target *target) {
  ir_ref *live = NULL, *map = NULL, *src = NULL, root = 0;
  size_t count = 0, cap = 0, map_cap = 0, src_cap = 0;
  bool good = ir_reachable_inside(g, &results, 1, &live, &count, &cap) == IR_OK &&
              IR_RESERVE(g->mem, map, map_cap, (size_t)results + 1);
  for (size_t i = 0; i < count && good; i++) {
    const ir_node *n = ir_get(g, live[i]);
    bool changed = false;
    if (!IR_RESERVE(g->mem, src, src_cap, n->nsrc)) break;
    for (uint32_t s = 0; s < n->nsrc; s++) changed |= (src[s] = map[n->src[s]]) != n->src[s];
    root = changed ? ir_remake(g, live[i], src, n->nsrc) : live[i];
    if (root && n->op == IR_OP_SUM) root = packed(g, target, root);
    if (!(map[live[i]] = root)) break;
  }
  if (!root) ir_fail(g->error, IR_ERR_MEMORY, "out of memory packing the operands of a product");
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, map, map_cap * sizeof *map);
  ir_free(g->mem, src, src_cap * sizeof *src);
  return root;
}
