/* Cumulative operations as views and reductions, by blocks (Blelloch 1990): the axis is split into blocks of
 * BLOCK elements; each block is reduced to its total; the totals form a shorter axis, treated in the same
 * way; and each element combines its block's elements up to itself with all earlier blocks.
 *
 * Within a block every element reads the whole block and selects the elements up to itself. Loops make fewer
 * operations of that (passes/loops/prefix.c). Selecting, and never multiplying by a mask, keeps infinities
 * and NaNs where they belong.
 *
 * Error of a sum. A level adds BLOCK - 1 roundings to those of its totals, and one where earlier blocks are
 * added. An axis of BLOCK^k elements has k levels, so each sum has at most 15 k + k - 1 roundings: 127 for
 * 2^32 elements, within the bound of 128 u times the sum of |x|. */
#include "lower.h"

#include "passes/ops/compose/impl.h"
#include "passes/patterns/identity.h"

enum {
  /* elements: of 32, sums of 2^32 elements would make 223 roundings; of fewer, there are more levels */
  BLOCK = 16,
  /* levels of blocks: 16^17 elements are more than there can be; more are refused (IR_ERR_INTERNAL) */
  MAX_LEVELS = 17
};
/* lines in blocks: [before, count, size, behind] */
enum { BEFORE, COUNT, WITHIN, BEHIND, AXES };

typedef struct scan {
  ir_graph *g;
  ir_op combine, reduce;
  ir_ref identity;
} scan;

typedef struct level {
  ir_ref lines, blocks; /* [before, size, behind]; the same padded and in blocks */
} level;

static scan scan_of(ir_graph *g, ir_op op, ir_dtype dtype) {
  static const struct {
    ir_op combine, reduce;
  } rows[] = {{IR_OP_ADD, IR_OP_SUM},
              {IR_OP_MUL, IR_OP_PROD},
              {IR_OP_MAX, IR_OP_REDUCE_MAX},
              {IR_OP_MIN, IR_OP_REDUCE_MIN}};
  ir_op combine = rows[op - IR_OP_CUMSUM].combine;
  return (scan){g, combine, rows[op - IR_OP_CUMSUM].reduce, pass_identity(g, combine, dtype)};
}

/* Pads the middle axis of lines with the identity: `before` elements before x, `after` behind it. */
static ir_ref margin(const scan *s, ir_ref x, ir_ref before, ir_ref after) {
  ir_ref zero = ir_index(s->g, 0);
  return x && before && after
             ? op_pad_known(s->g, x, (ir_ref[]){zero, zero, before, after, zero, zero}, s->identity)
             : 0;
}

/* The first `size` elements of the middle axis. */
static ir_ref first(ir_graph *g, ir_ref x, ir_ref size) {
  if (!x || !size) return 0;
  ir_ref zero = ir_index(g, 0);
  return op_shrink_known(g, x, (ir_ref[]){zero, ir_dim(g, x, 0), zero, size, zero, ir_dim(g, x, 2)});
}

/* One block for a constant number of at most BLOCK elements, else blocks of BLOCK. */
static ir_ref in_blocks(const scan *s, ir_ref x) {
  ir_graph *g = s->g;
  ir_ref size = ir_dim(g, x, 1), count = ir_index(g, 1), within = size;
  int64_t known;
  if (!ir_is_const(g, size, &known) || known > BLOCK) {
    within = ir_index(g, BLOCK);
    count = within ? pass_ceil_div(g, size, within) : 0;
    ir_ref all = pass_mul(g, count, within);
    x = margin(s, x, ir_index(g, 0), pass_sub(g, all, size));
  }
  if (!x || !count) return 0;
  return op_reshape_known(g, x, (ir_ref[]){ir_dim(g, x, 0), count, within, ir_dim(g, x, 2)}, AXES);
}

/* The totals of all blocks that are followed by another one. Where sizes are constants the last block is left
 * out, and the others need no padding. */
static ir_ref totals(const scan *s, const level *l) {
  ir_graph *g = s->g;
  ir_ref axis = ir_index(g, WITHIN), blocks = l->blocks;
  int64_t count;
  if (ir_is_const(g, ir_dim(g, blocks, COUNT), &count) && count > 1) {
    ir_ref shape[] = {ir_dim(g, blocks, BEFORE), ir_index(g, count - 1), ir_index(g, BLOCK),
                      ir_dim(g, blocks, BEHIND)};
    ir_ref whole = first(g, l->lines, ir_index(g, (count - 1) * BLOCK));
    blocks = whole ? op_reshape_known(g, whole, shape, AXES) : 0;
  }
  return blocks ? op_reduce(g, s->reduce, blocks, &axis, 1, false) : 0;
}

/* The inclusive prefixes inside each block: the reduction of each element and all before it. */
static ir_ref prefixes(const scan *s, ir_ref blocks) {
  ir_graph *g = s->g;
  ir_ref one = ir_index(g, 1), size = ir_dim(g, blocks, WITHIN), axis = ir_index(g, WITHIN + 1);
  ir_ref dims[] = {one, one, size, size, one};
  ir_ref to = op_iota(g, IR_I32, dims, AXES + 1, WITHIN),
         from = op_iota(g, IR_I32, dims, AXES + 1, WITHIN + 1);
  ir_ref here = op_unsqueeze(g, blocks, WITHIN);
  here = op_where(g, op_binary(g, IR_OP_LE, from, to), here, s->identity);
  return here ? op_reduce(g, s->reduce, here, &axis, 1, false) : 0;
}

/* Each block's prefixes combined with the result of all blocks before it. earlier: the inclusive prefixes of
 * the blocks' totals; 0: there is one block. */
static ir_ref continued(const scan *s, const level *l, ir_ref earlier) {
  ir_graph *g = s->g;
  ir_ref inside = prefixes(s, l->blocks);
  if (inside && earlier) {
    ir_ref before = margin(s, earlier, ir_index(g, 1), ir_index(g, 0));
    before = op_unsqueeze(g, first(g, before, ir_dim(g, l->blocks, COUNT)), WITHIN);
    inside = op_binary(g, s->combine, inside, before);
  }
  if (!inside) return 0;
  const ir_ref *dims = op_dims(g, inside);
  ir_ref flat[] = {dims[BEFORE], pass_mul(g, dims[COUNT], dims[WITHIN]), dims[BEHIND]};
  return flat[1] ? first(g, op_reshape_known(g, inside, flat, 3), ir_dim(g, l->lines, 1)) : 0;
}

ir_ref pass_lower_cumulative(ir_graph *g, ir_ref node, ir_ref x) {
  const ir_node *n = ir_get(g, node);
  ir_dtype dtype = (ir_dtype)n->dtype;
  bool sums = n->op == IR_OP_CUMSUM || n->op == IR_OP_CUMPROD;
  ir_dtype wide = sums && (dtype == IR_F16 || dtype == IR_BF16) ? IR_F32 : dtype;
  scan s = scan_of(g, (ir_op)n->op, wide);
  level levels[MAX_LEVELS];
  int count = 0;
  ir_ref lines = op_lines(g, ir_cast(g, x, wide), ir_arg_int(n)), made = 0;
  if (lines && ir_dim(g, lines, 1) == ir_index(g, 0)) return x;
  if (lines) /* the totals of its blocks fit in memory */
    ir_bounds_tighten(g, ir_dim(g, lines, 1), 0, BLOCK * OP_MOST_ELEMENTS);
  for (bool more = true; more; count++) {
    if (!lines) return 0;
    if (count == MAX_LEVELS) {
      ir_fail(g->error, IR_ERR_INTERNAL, "%s: the axis needs more than %d levels of blocks",
              ir_ops[n->op].text, MAX_LEVELS);
      return 0;
    }
    more = ir_bounds_of(g, ir_dim(g, lines, 1)).hi > BLOCK;
    ir_ref blocks = in_blocks(&s, lines);
    if (!blocks) return 0;
    levels[count] = (level){lines, blocks};
    lines = more ? totals(&s, &levels[count]) : blocks;
  }
  while (count-- > 0) {
    if (!(made = continued(&s, &levels[count], made))) return 0;
    if (count > 0) made = ir_unary(g, IR_OP_STORED, made);
  }
  return ir_cast(g, op_unlines(g, made, node), dtype);
}
