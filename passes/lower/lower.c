/* Lowering: composite tensor operations become primitive ones, so that later passes know few operations.
 *
 *   mean            sum of the accumulator's dtype, divided by the count
 *   scatter, scatter_add            writes, scatter.c
 *   found           its operand
 *   writes          of no updates: their first operand
 *   sum, prod       of f16 and bf16: in f32, rounded once; of integers: operand cast to the result's dtype
 *                   first
 *   any, all        max, min of bool
 *   keepdims        the reduction without it, then reshape
 *   matmul          product of two expanded views, summed over the shared axis
 *
 *   sums of squared deviations              block by block where they are long, centred_sums.c
 *   scan            without slices of what is the same in each iteration, scan_slices.c
 *   cumsum, cumprod, cummax, cummin         by blocks, cumulative.c
 *   sort, argsort                           a bitonic network where the target does not sort, sort.c
 *   views that transpose long rows          stored in memory, materialize.c */
#include "lower.h"

#include <string.h>

#include "ir/mesh/sharding.h"
#include "passes/index/index.h"
#include "passes/ops/check.h"

typedef struct lowering {
  ir_graph *g;
  const pass_strategy *strategy;
  bool sorts;   /* as in ir_target */
  ir_ref *map;  /* by old node */
  bool *stored; /* by old node: the result is stored in memory */
  lower_centreds centred;
} lowering;

static ir_ref view_to(ir_graph *g, ir_op op, ir_ref x, const ir_ref *dims, uint32_t rank) {
  ir_ref src[IR_MAX_RANK + 1] = {x};
  for (uint32_t i = 0; i < rank; i++) src[i + 1] = dims[i];
  ir_ref shape = ir_tuple(g, dims, rank);
  return shape == ir_shape(g, x) ? x : ir_make_tensor(g, op, ir_dtype_of(g, x), shape, 0, src, rank + 1);
}

static ir_ref scalar(ir_graph *g, ir_dtype dtype, double value) { return ir_float(g, dtype, value); }

/* The reduction of x over n's axes in x's dtype (i64 for argmax and argmin), without keepdims, reshaped to
 * n's shape. */
static ir_ref reduce_axes_of(const lowering *l, const ir_node *n, ir_op op, ir_ref x, ir_dtype dtype,
                             ir_ref shape) {
  ir_graph *g = l->g;
  ir_ref src[IR_MAX_RANK + 1] = {x}, kept[IR_MAX_RANK];
  bool gone[IR_MAX_RANK] = {false}, is_index_reduction = op == IR_OP_ARGMAX || op == IR_OP_ARGMIN;
  if (is_index_reduction) gone[ir_arg_int(n)] = true;
  for (uint32_t i = 1; i < n->nsrc; i++) gone[ir_get(g, src[i] = n->src[i])->arg] = true;
  uint32_t rank = 0;
  for (uint32_t i = 0; i < ir_rank(g, x); i++)
    if (!gone[i]) kept[rank++] = ir_dim(g, x, i);
  int64_t arg = ir_pack_arg(is_index_reduction ? ir_arg_int(n) : 0, 0);
  ir_ref r = x ? ir_make_tensor(g, op, dtype, ir_tuple(g, kept, rank), arg, src, n->nsrc) : 0;
  return r ? view_to(g, IR_OP_RESHAPE, r, ir_get(g, shape)->src, ir_get(g, shape)->nsrc) : 0;
}

/* The sum of x over the axes of `old`, reshaped to the shape. */
static ir_ref summed(const lowering *l, ir_ref old, ir_ref x, ir_dtype dtype, ir_ref shape) {
  ir_graph *g = l->g;
  ir_node over = *ir_get(g, old);
  ir_ref terms;
  uint32_t outer_axes;
  if (!pass_lower_centred(g, &l->centred, old, l->map, &terms, &outer_axes))
    return reduce_axes_of(l, ir_get(g, old), IR_OP_SUM, x, dtype, shape);
  ir_ref src[1 + IR_MAX_RANK] = {terms};
  over.nsrc = 1;
  for (uint32_t i = 0; i < IR_MAX_RANK; i++)
    if (outer_axes >> i & 1) src[over.nsrc++] = ir_index(g, i);
  over.src = src;
  return terms ? reduce_axes_of(l, &over, IR_OP_SUM, terms, dtype, shape) : 0;
}

/* The number of elements that go into each result, as a constant of dtype, or a scalar expanded to the
 * shape. */
static ir_ref reduce_count(ir_graph *g, const ir_node *n, ir_ref x, ir_ref shape, ir_dtype dtype) {
  ir_ref count = ir_index(g, 1);
  for (uint32_t i = 1; i < n->nsrc; i++)
    count = pass_mul(g, count, ir_dim(g, x, (uint32_t)ir_get(g, n->src[i])->arg));
  int64_t value;
  if (ir_is_const(g, count, &value)) return scalar(g, dtype, (double)value);
  const ir_node *dims = ir_get(g, shape);
  ir_ref ones[IR_MAX_RANK], each = ir_make_tensor(g, IR_OP_CAST, dtype, ir_tuple(g, NULL, 0), 0, &count, 1);
  for (uint32_t i = 0; i < dims->nsrc; i++) ones[i] = ir_index(g, 1);
  each = each ? view_to(g, IR_OP_RESHAPE, each, ones, dims->nsrc) : 0;
  return each ? view_to(g, IR_OP_EXPAND, each, dims->src, dims->nsrc) : 0;
}

static ir_ref lower_reduce(const lowering *l, ir_ref old, ir_ref x) {
  ir_graph *g = l->g;
  const ir_node *n = ir_get(g, old);
  ir_dtype dtype = (ir_dtype)n->dtype, wide = dtype == IR_F16 || dtype == IR_BF16 ? IR_F32 : dtype;
  ir_ref shape = ir_shape(g, old);
  switch ((int)n->op) {
  case IR_OP_MEAN: {
    ir_ref total = summed(l, old, ir_cast(g, x, wide), wide, shape),
           count = reduce_count(g, n, x, shape, wide);
    return ir_cast(g, ir_binary(g, IR_OP_DIV, total, count), dtype);
  }
  case IR_OP_SUM: return ir_cast(g, summed(l, old, ir_cast(g, x, wide), wide, shape), dtype);
  case IR_OP_PROD:
    return ir_cast(g, reduce_axes_of(l, n, (ir_op)n->op, ir_cast(g, x, wide), wide, shape), dtype);
  case IR_OP_ANY:
  case IR_OP_ALL: return reduce_axes_of(l, n, (ir_op)n->op, ir_cast(g, x, IR_BOOL), IR_BOOL, shape);
  default: return reduce_axes_of(l, n, (ir_op)n->op, x, dtype, shape);
  }
}

/* One operand of a product as [batch..., rows, cols, k], with size 1 where the other operand supplies the
 * axis, expanded to dims. The left one comes as [batch..., rows, k], the right one as [batch..., k, cols]. */
static ir_ref matmul_side(ir_graph *g, ir_ref x, bool left, const ir_ref *dims, uint32_t rank) {
  uint32_t r = rank - 1;
  ir_ref shaped[IR_MAX_RANK];
  if (!left) { /* [..., k, cols] -> [..., cols, k] */
    ir_ref src[IR_MAX_RANK + 1] = {x}, permuted_dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < r; i++) {
      uint32_t from = i == r - 1 ? r - 2 : i == r - 2 ? r - 1 : i;
      src[i + 1] = ir_index(g, from);
      permuted_dims[i] = ir_dim(g, x, from);
    }
    x = ir_make_tensor(g, IR_OP_PERMUTE, ir_dtype_of(g, x), ir_tuple(g, permuted_dims, r), 0, src, r + 1);
  }
  for (uint32_t i = 0; i < rank; i++) shaped[i] = dims[i];
  shaped[left ? rank - 2 : rank - 3] = ir_index(g, 1);
  x = x ? view_to(g, IR_OP_RESHAPE, x, shaped, rank) : 0;
  return x ? view_to(g, IR_OP_EXPAND, x, dims, rank) : 0;
}

/* Operands have equal ranks >= 2 and the same batch axes, as recording leaves them. */
static ir_ref lower_matmul(ir_graph *g, ir_ref old, ir_ref a, ir_ref b) {
  ir_dtype dtype = ir_dtype_of(g, old), wide = dtype == IR_F16 || dtype == IR_BF16 ? IR_F32 : dtype;
  uint32_t out_rank = ir_rank(g, old), rank = out_rank + 1;
  ir_ref dims[IR_MAX_RANK];
  if (rank > IR_MAX_RANK) {
    ir_fail(g->error, IR_ERR_UNSUPPORTED,
            "matmul: operands of %s and %s have %u axes; it takes at most %d, as its products have one more: "
            "reshape "
            "some into one",
            OP_TYPE(a), OP_TYPE(b), out_rank, IR_MAX_RANK - 1);
    return 0;
  }
  for (uint32_t i = 0; i < out_rank; i++) dims[i] = ir_dim(g, old, i);
  dims[out_rank] = ir_dim(g, a, out_rank - 1);
  ir_ref left = matmul_side(g, ir_cast(g, a, wide), true, dims, rank);
  ir_ref right = matmul_side(g, ir_cast(g, b, wide), false, dims, rank);
  if (!left || !right) return 0;
  ir_ref product = ir_is_float(wide) ? ir_make_tensor(g, IR_OP_FMA, wide, ir_shape(g, left), 0,
                                                      (ir_ref[]){left, right, scalar(g, wide, 0)}, 3)
                                     : ir_binary(g, IR_OP_MUL, left, right);
  ir_ref src[] = {product, ir_index(g, out_rank)};
  return ir_cast(g, ir_make_tensor(g, IR_OP_SUM, wide, ir_shape(g, old), 0, src, 2), dtype);
}

/* A CONCAT or STACK of `count` of n's operands. */
static ir_ref join_some(ir_graph *g, const ir_node *n, const ir_ref *operands, uint32_t count, ir_ref shape) {
  ir_ref dims[IR_MAX_RANK], size = ir_index(g, n->op == IR_OP_STACK ? count : 0);
  uint32_t rank = ir_get(g, shape)->nsrc, axis = (uint32_t)ir_arg_int(n);
  for (uint32_t i = 0; i < count && n->op == IR_OP_CONCAT; i++)
    size = pass_add(g, size, ir_dim(g, operands[i], axis));
  for (uint32_t i = 0; i < rank; i++) dims[i] = i == axis ? size : ir_get(g, shape)->src[i];
  return ir_make_tensor(g, (ir_op)n->op, (ir_dtype)n->dtype, ir_tuple(g, dims, rank), n->arg, operands,
                        count);
}

/* A CONCAT or STACK of many operands as a tree of joins of PASS_MAX_JOINED each. parts has room for n->nsrc
 * refs and is overwritten. */
static ir_ref lower_join(ir_graph *g, const ir_node *n, ir_ref *operands, ir_ref shape) {
  ir_node level = *n;
  uint32_t count = n->nsrc;
  while (count > 2 * PASS_MAX_JOINED) {
    uint32_t made = 0;
    for (uint32_t i = 0; i < count; i += PASS_MAX_JOINED) {
      uint32_t some = count - i < PASS_MAX_JOINED ? count - i : PASS_MAX_JOINED;
      if (!(operands[made++] = join_some(g, &level, operands + i, some, shape))) return 0;
    }
    count = made;
    level.op = IR_OP_CONCAT; /* stacked operands have the axis by now */
  }
  return join_some(g, &level, operands, count, shape);
}

/* Is this a scatter or a write of which it is known that there are no updates? */
static bool scatters_nothing(const ir_graph *g, const ir_node *n) {
  if (!ir_is_scatter((ir_op)n->op)) return false;
  for (uint32_t a = 0; a < ir_rank(g, n->src[2]); a++) {
    int64_t size;
    if (ir_is_const(g, ir_dim(g, n->src[2], a), &size) && size == 0) return true;
  }
  return false;
}

/* Is this a sort of at most one element at a time? */
static bool sorts_nothing(ir_graph *g, const ir_node *n) {
  bool is_sort = n->op == IR_OP_SORT || n->op == IR_OP_ARGSORT;
  return is_sort && ir_bounds_of(g, ir_dim(g, n->src[0], (uint32_t)ir_arg_int(n))).hi <= 1;
}

/* Element 0 comes first. */
static ir_ref lower_no_sort(lowering *l, ir_ref old) {
  const ir_node *n = ir_get(l->g, old);
  if (n->op == IR_OP_SORT) return l->map[n->src[0]];
  return op_iota(l->g, IR_I64, op_dims(l->g, old), ir_rank(l->g, old), (uint32_t)ir_arg_int(n));
}

static ir_ref lower_node(lowering *l, ir_ref old) {
  ir_graph *g = l->g;
  const ir_node *n = ir_get(g, old);
  if (ir_ops[n->op].cls == IR_CLASS_REDUCE) return lower_reduce(l, old, l->map[n->src[0]]);
  bool is_sort = n->op == IR_OP_SORT || n->op == IR_OP_ARGSORT;
  if (sorts_nothing(g, n)) return lower_no_sort(l, old);
  if (is_sort && !l->sorts) return pass_lower_sort(g, old, l->map[n->src[0]]);
  bool of_sort = n->op == IR_OP_SHRINK &&
                 (ir_op_of(g, n->src[0]) == IR_OP_SORT || ir_op_of(g, n->src[0]) == IR_OP_ARGSORT);
  if (of_sort && l->sorts) {
    ir_ref made = pass_lower_first_sorted(g, old, l->map[ir_src(g, n->src[0], 0)]);
    if (made || g->error->status) return made;
  }
  if (ir_ops[n->op].cls == IR_CLASS_ORDERED && !is_sort)
    return pass_lower_cumulative(g, old, l->map[n->src[0]]);
  if (n->op == IR_OP_MATMUL) return lower_matmul(g, old, l->map[n->src[0]], l->map[n->src[1]]);
  if (n->op == IR_OP_GATHER) {
    ir_ref made = pass_lower_known_gather(g, old, l->map[n->src[0]]);
    if (made || g->error->status) return made;
  }
  if (n->op == IR_OP_FOUND || ir_only_divides((ir_op)n->op)) return l->map[n->src[0]];
  if (scatters_nothing(g, n)) return l->map[n->src[0]];
  if (ir_is_scatter((ir_op)n->op))
    return pass_lower_scatter(g, old, l->map[n->src[0]], l->map[n->src[1]], l->map[n->src[2]]);
  if (n->op == IR_OP_SCAN) {
    ir_ref scan = ir_remake_mapped(g, old, l->map);
    return scan ? pass_lower_scan(g, scan) : 0;
  }
  if ((n->op != IR_OP_CONCAT && n->op != IR_OP_STACK) || n->nsrc <= 2 * PASS_MAX_JOINED)
    return ir_remake_mapped(g, old, l->map);
  ir_ref *src = ir_alloc(g->mem, n->nsrc * sizeof *src), made;
  if (!src) return ir_fail(g->error, IR_ERR_MEMORY, "out of memory lowering a graph"), 0;
  for (uint32_t i = 0; i < n->nsrc; i++) src[i] = l->map[n->src[i]];
  made = lower_join(g, n, src, ir_shape(g, old));
  ir_free(g->mem, src, n->nsrc * sizeof *src);
  return made;
}

static bool find_copies(lowering *l, const ir_ref *live, size_t count, size_t nodes) {
  memset(l->stored, 0, nodes * sizeof *l->stored);
  int64_t rows_bytes = l->strategy->transposed_rows_bytes;
  if (!rows_bytes || pass_find_copies(l->g, live, count, nodes, rows_bytes, l->stored)) return true;
  ir_fail(l->g->error, IR_ERR_MEMORY, "out of memory lowering a graph");
  return false;
}

ir_ref pass_lower(ir_graph *g, ir_ref results, const pass_strategy *strategy, bool sorts) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0, map_size = (size_t)results + 1;
  lowering l = {.g = g,
                .strategy = strategy,
                .sorts = sorts,
                .map = ir_alloc(g->mem, map_size * sizeof *l.map),
                .stored = ir_alloc(g->mem, map_size * sizeof *l.stored)};
  ir_ref root = 0;
  if (!l.map || !l.stored) {
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory lowering a graph");
  } else if (ir_reachable_inside(g, &results, 1, &live, &count, &cap) == IR_OK) {
    root = find_copies(&l, live, count, map_size) ? results : 0;
    pass_find_centred(g, live, count, &l.centred);
    for (size_t i = 0; i < count && root; i++) {
      ir_cause before = ir_cause_enter(g, live[i]);
      root = lower_node(&l, live[i]);
      if (root && l.stored[live[i]]) root = ir_unary(g, IR_OP_STORED, root);
      l.map[live[i]] = ir_cause_leave(g, before, live[i], root);
    }
  }
  ir_free(g->mem, l.map, map_size * sizeof *l.map);
  ir_free(g->mem, l.stored, map_size * sizeof *l.stored);
  ir_free(g->mem, live, cap * sizeof *live);
  return root;
}
