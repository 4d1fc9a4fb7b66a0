/* Sums of squared deviations (variances) over more elements than a cache holds, with each element fetched
 * once.
 *
 * Squares of deviations from the mean need the mean first: two passes over all elements. So both sums go
 * block by block, x[.., outer, block]. With s, q and r the sums over a block of x, of (x - c)^2 and of x - c,
 * and c = s / n for a block of n elements,
 *
 *   sum of x           = sum over the blocks of s
 *   sum of (x - m)^2   = sum over the blocks of q + e * (2 * r + n * e),   e = c - m
 *
 * The second is an identity, whatever c and m are: how c was rounded does not matter, as r says how far it is
 * from the mean. The sums over a block read it while it is in the L1 cache (passes/fuse/row_group.c,
 * passes/loops/jam.c).
 *
 * Error, in units of u. The sums over a block, blocked like others (passes/loops/reduce.c), make k roundings
 * at most, those of the deviations, the products and the term included: k * q of q, k * 2 * |e| * sqrt(n * q)
 * of 2 * e * r, since |x - c| sums up to sqrt(n * q) at most, and 5 * n * e^2 of the remaining n * e^2. c is
 * so close to the mean of the block that q + n * e^2 is the true term, so the greater eigenvalue of [k, k; k,
 * 5] times the term bounds the error. With one more rounding, and those of the sum over the blocks, it stays
 * below 128 times the result: blocks and their number are chosen for that, and beyond about 2^22 elements
 * there are none.
 *
 * Where q overflows the term is q: r may be infinite then, too. */
#include "lower.h"

#include <math.h>

#include "passes/ops/check.h"
#include "passes/ops/ops.h"

/* The same on all machines, as they decide the order of additions. Half and twice
 * MIN_BLOCK and LONG_ROW_BYTES change no workload's loops. */
enum {
  MIN_BLOCK = 256,  /* elements: each block costs three results, a share of 1 % */
  MAX_BLOCK = 4096, /* elements: 16 KiB of f32, half of an L1 cache, where both passes over a block find it */
  /* rows that are split: the second pass finds shorter ones in the L1 or L2 cache. If elements have other
   * uses, only rows that no fused group holds (PASS_GROUP_BYTES) */
  LONG_ROW_BYTES = 64 << 10,
  MAX_ROUNDINGS = 128 /* the error bound of sums, in units of u (docs/accuracy.md) */
};

/* x - m, where `reduce` is a sum or mean of (x - m)^2 with an expanded m; else 0. *m: m not expanded. */
static ir_ref deviation_of(const ir_graph *g, ir_ref reduce, ir_ref *m) {
  const ir_node *n = ir_get(g, reduce);
  if ((n->op != IR_OP_SUM && n->op != IR_OP_MEAN) || (n->dtype != IR_F32 && n->dtype != IR_F64)) return 0;
  const ir_node *square = ir_get(g, n->src[0]);
  if (square->op != IR_OP_MUL || square->src[0] != square->src[1] || square->dtype != n->dtype) return 0;
  const ir_node *off = ir_get(g, square->src[0]);
  if (off->op != IR_OP_SUB || !ir_shape(g, off->src[1]) || ir_op_of(g, off->src[1]) != IR_OP_EXPAND) return 0;
  *m = ir_src(g, off->src[1], 0);
  return square->src[0];
}

static uint32_t axes_of(const ir_graph *g, ir_ref reduce) {
  const ir_node *n = ir_get(g, reduce);
  uint32_t set = 0;
  for (uint32_t i = 1; i < n->nsrc; i++) set |= 1u << ir_get(g, n->src[i])->arg;
  return set;
}

static bool is_sum_of(const ir_graph *g, ir_ref node, ir_ref x, uint32_t set) {
  const ir_node *n = ir_get(g, node);
  return (n->op == IR_OP_SUM || n->op == IR_OP_MEAN) && n->src[0] == x && axes_of(g, node) == set;
}

/* blocks */

/* Roundings of one accumulator: 31, and 7 for each further level of runs (passes/loops/reduce.c). */
static double roundings_of_sum(int64_t terms) {
  double roundings = 31;
  for (int64_t runs = 32; runs < terms; runs *= 8) roundings += 7;
  return roundings;
}

static bool is_bounded(int64_t block, int64_t outer) {
  double k = roundings_of_sum(block) + 4, inside = (k + 5 + sqrt((k - 5) * (k - 5) + 4 * k * k)) / 2;
  return inside + 1 + roundings_of_sum(outer) <= MAX_ROUNDINGS;
}

/* The largest divisor of the size that makes blocks of at most MAX_BLOCK elements of bounded error, or 1. */
static int64_t block_divisor(int64_t size, int64_t inner, int64_t terms) {
  for (int64_t block_size = size < MAX_BLOCK / inner ? size : MAX_BLOCK / inner; block_size > 1; block_size--)
    if (size % block_size == 0 && is_bounded(block_size * inner, terms / (block_size * inner)))
      return block_size;
  return 1;
}

/* Chooses blocks of the last axes, all of which are reduced; only the outermost of these may be split.
 * Returns the bytes of a row; 0: there are no good blocks. */
static int64_t choose_blocks(const ir_graph *g, lower_centred *c) {
  ir_ref x = c->x;
  uint32_t a = ir_rank(g, x), place[IR_MAX_RANK];
  int64_t size[IR_MAX_RANK], terms = 1, block = 1;
  if (a + 1 > IR_MAX_RANK) return 0;
  lower_places(g, x, place);
  for (uint32_t i = 0; i < a; i++) {
    if (place[i] != i || !ir_is_const(g, ir_dim(g, x, i), &size[i]) || size[i] < 1) return 0;
    if (c->axes >> i & 1) terms *= size[i];
  }
  while (a > 0 && c->axes >> (a - 1) & 1) {
    int64_t block_size = block_divisor(size[--a], block, terms);
    block *= block_size;
    if (block_size != size[a]) break;
  }
  if (block < MIN_BLOCK || terms == block) return 0;
  c->elements = block;
  return terms * ir_dtypes[ir_dtype_of(g, x)].bytes;
}

/* Has x other uses than these sums and the deviations, or have the deviations other uses than the squares? */
static bool is_wanted(const ir_graph *g, const ir_ref *live, size_t count, const lower_centred *c) {
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(g, live[i]);
    for (uint32_t k = 0; k < n->nsrc; k++) {
      if (n->src[k] == c->x && live[i] != c->off && !is_sum_of(g, live[i], c->x, c->axes)) return true;
      if (n->src[k] == c->off && (n->op != IR_OP_MUL || n->src[0] != n->src[1])) return true;
    }
  }
  return false;
}

/* Has m the shape that a reduction of x with keepdims has? */
static bool is_of_results(ir_graph *g, ir_ref m, ir_ref x, uint32_t set) {
  if (ir_rank(g, m) != ir_rank(g, x)) return false;
  for (uint32_t a = 0; a < ir_rank(g, x); a++)
    if (ir_dim(g, m, a) != (set >> a & 1 ? ir_index(g, 1) : ir_dim(g, x, a))) return false;
  return true;
}

static bool is_known(const lower_centreds *all, const lower_centred *c) {
  for (uint32_t i = 0; i < all->count; i++)
    if (all->found[i].x == c->x && all->found[i].axes == c->axes) return true;
  return false;
}

void pass_find_centred(ir_graph *g, const ir_ref *live, size_t count, lower_centreds *out) {
  out->count = 0;
  for (size_t i = 0; i < count && out->count < LOWER_CENTRED; i++) {
    ir_ref m, off = deviation_of(g, live[i], &m);
    if (!off) continue;
    lower_centred c = {.x = ir_src(g, off, 0), .off = off, .mean = m, .axes = axes_of(g, live[i])};
    bool summed = false;
    if (is_known(out, &c) || !is_of_results(g, m, c.x, c.axes)) continue;
    int64_t row = choose_blocks(g, &c);
    if (row <= LONG_ROW_BYTES && row <= PASS_GROUP_BYTES) continue; /* before all nodes are looked at */
    for (size_t k = 0; k < count && !summed; k++) summed = is_sum_of(g, live[k], c.x, c.axes);
    if (!summed) continue;
    c.wanted = is_wanted(g, live, count, &c);
    if (row > (c.wanted ? PASS_GROUP_BYTES : LONG_ROW_BYTES)) out->found[out->count++] = c;
  }
}

/* the sums by blocks */

static ir_ref sum_over(ir_graph *g, ir_ref x, uint32_t set) {
  ir_ref axes[IR_MAX_RANK];
  uint32_t count = 0;
  for (uint32_t i = 0; i < IR_MAX_RANK; i++)
    if (set >> i & 1) axes[count++] = ir_index(g, i);
  return x ? op_reduce(g, IR_OP_SUM, x, axes, count, false) : 0;
}

/* x as [.., outer, block], and the sets of axes of both. */
static ir_ref in_blocks(ir_graph *g, const lower_centred *c, ir_ref x, uint32_t *outer, uint32_t *block) {
  uint32_t rank = ir_rank(g, x), at = 0;
  int64_t size[IR_MAX_RANK], block_size[IR_MAX_RANK], left = c->elements;
  ir_ref dims[IR_MAX_RANK];
  for (uint32_t a = rank; a-- > 0;) {
    ir_is_const(g, ir_dim(g, x, a), &size[a]);
    block_size[a] = left % size[a] == 0 ? size[a] : left;
    if (!(c->axes >> a & 1)) block_size[a] = 1, left = 1;
    left /= block_size[a];
  }
  *outer = *block = 0;
  for (uint32_t a = 0; a < rank; a++) {
    if (block_size[a] != size[a] || block_size[a] == 1) {
      if (c->axes >> a & 1) *outer |= 1u << at;
      dims[at++] = ir_index(g, size[a] / block_size[a]);
    }
    if (block_size[a] == 1) continue;
    *block |= 1u << at;
    dims[at++] = ir_index(g, block_size[a]);
  }
  return op_reshape_known(g, x, dims, at);
}

/* x, which has the axes of `like` except those of the set, expanded along these. */
static ir_ref broadcast_over(ir_graph *g, ir_ref x, ir_ref like, uint32_t set) {
  ir_ref dims[IR_MAX_RANK] = {0};
  uint32_t rank = ir_rank(g, like);
  for (uint32_t i = 0; i < rank; i++) dims[i] = set >> i & 1 ? ir_index(g, 1) : ir_dim(g, like, i);
  x = x ? op_reshape_known(g, x, dims, rank) : 0;
  for (uint32_t i = 0; i < rank; i++) dims[i] = ir_dim(g, like, i);
  return x ? op_expand(g, x, dims, rank) : 0;
}

/* a * b, to be added up with one rounding for each term */
static ir_ref product_term(ir_graph *g, ir_ref a, ir_ref b) {
  ir_dtype t = ir_dtype_of(g, a);
  return ir_make_tensor(g, IR_OP_FMA, t, ir_shape(g, a), 0, (ir_ref[]){a, b, ir_float(g, t, 0)}, 3);
}

/* Stores sums over a block: what is computed from them needs the mean of all elements, after all blocks. */
static ir_ref mark_stored(ir_graph *g, ir_ref x) { return x ? ir_unary(g, IR_OP_STORED, x) : 0; }

/* q + e * (2 * r + n * e) */
static ir_ref moved(ir_graph *g, ir_ref q, ir_ref r, ir_ref e, ir_ref n) {
  ir_ref two = ir_float(g, ir_dtype_of(g, q), 2), infinite = ir_float(g, ir_dtype_of(g, q), INFINITY);
  ir_ref inner = op_binary(g, IR_OP_ADD, op_binary(g, IR_OP_MUL, r, two), op_binary(g, IR_OP_MUL, e, n));
  ir_ref t = op_binary(g, IR_OP_ADD, q, op_binary(g, IR_OP_MUL, inner, e));
  return op_where(g, op_binary(g, IR_OP_LT, q, infinite), t, q);
}

/* The terms that remain to be summed over the set of axes *outer. */
static ir_ref terms_of(ir_graph *g, const lower_centred *c, bool squares, ir_ref x, ir_ref mean,
                       uint32_t *outer) {
  uint32_t block;
  ir_dtype t = ir_dtype_of(g, x);
  ir_ref blocks = in_blocks(g, c, x, outer, &block), s = sum_over(g, blocks, block);
  if (!squares || !s) return s;
  ir_ref one = ir_float(g, t, 1), n = ir_float(g, t, (double)c->elements),
         centre = op_binary(g, IR_OP_DIV, s, n),
         off = op_binary(g, IR_OP_SUB, blocks, broadcast_over(g, centre, blocks, block));
  if (!off) return 0;
  ir_ref q = mark_stored(g, sum_over(g, product_term(g, off, off), block)),
         r = mark_stored(g, sum_over(g, product_term(g, off, one), block)),
         e = op_binary(g, IR_OP_SUB, centre, broadcast_over(g, mean, s, *outer));
  return q && r && e ? moved(g, q, r, e, n) : 0;
}

bool pass_lower_centred(ir_graph *g, const lower_centreds *all, ir_ref old, const ir_ref *map, ir_ref *terms,
                        uint32_t *outer) {
  for (uint32_t i = 0; i < all->count; i++) {
    const lower_centred *c = &all->found[i];
    ir_ref m = 0;
    bool squares = deviation_of(g, old, &m) == c->off && axes_of(g, old) == c->axes;
    if (!squares && !is_sum_of(g, old, c->x, c->axes)) continue;
    *terms = terms_of(g, c, squares, map[c->x], map[c->mean], outer);
    return true;
  }
  return false;
}
