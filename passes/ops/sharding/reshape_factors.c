/* The factors of a reshape: the mixed-radix digits that both sides have in common.
 *
 * Both lists of sizes are split into blocks, wherever the products up to there are equal. Inside a block,
 * each step takes the two axes that are not used up and gives them a factor of the smaller remaining size,
 * which must divide the larger. Where it does not, no digit of one side is a digit of the other, and the
 * whole block has no factors. */
#include "sharding.h"

#include <stdio.h>

typedef struct side {
  const ir_ref *sizes;
  op_term *term;
  uint32_t end, at; /* the block is axes at..end-1 */
  ir_ref product;   /* product of its sizes */
} side;

/* Sizes of 1 have no factor, and are in no block. */
static void skip_ones(ir_graph *g, side *s) {
  while (s->end < s->term->rank && op_is_one(g, s->sizes[s->end])) s->end++;
  s->at = s->end;
  s->product = ir_index(g, 1);
}

static bool grow_block(ir_graph *g, side *s) {
  if (s->end < s->term->rank) s->product = pass_mul(g, s->product, s->sizes[s->end++]);
  return s->product != 0;
}

/* The shortest block with equal products, or all remaining axes. */
static bool find_block(ir_graph *g, side *a, side *b) {
  skip_ones(g, a), skip_ones(g, b);
  if (!grow_block(g, a) || !grow_block(g, b)) return false;
  while (!op_decided(g, IR_OP_EQ, a->product, b->product)) {
    side *small = op_decided(g, IR_OP_LT, b->product, a->product) ? b : a;
    if (small->end == small->term->rank) small = small == a ? b : a;
    if (small->end == small->term->rank) return true;
    if (!grow_block(g, small)) return false;
  }
  return true;
}

static bool add_factor(ir_graph *g, op_sharding *rule, side *a, side *b, ir_ref size) {
  char name[OP_FACTOR_NAME];
  int length = snprintf(name, sizeof name, "d%u", (unsigned)rule->factor_count);
  int factor = op_sharding_factor(g, "reshape", rule, name, (size_t)length, size);
  if (factor < 0) return false;
  op_split *x = &a->term->axes[a->at], *y = &b->term->axes[b->at];
  if (x->count == IR_MAX_RANK || y->count == IR_MAX_RANK) return false;
  x->factors[x->count++] = (uint8_t)factor;
  y->factors[y->count++] = (uint8_t)factor;
  return true;
}

/* Moves to the next axis of the block when the remaining size of the last one is 1. */
static void advance_axis(ir_graph *g, side *s, ir_ref *left) {
  if (*left && !op_is_one(g, *left)) return;
  s->at += *left != 0;
  while (s->at < s->end && op_is_one(g, s->sizes[s->at])) s->at++;
  *left = s->at < s->end ? s->sizes[s->at] : 0;
}

/* Factors of one block; false where sizes do not nest. */
static bool nest(ir_graph *g, op_sharding *rule, side *a, side *b) {
  ir_ref x = 0, y = 0; /* remaining sizes of the two axes; 0: no axis */
  for (;;) {
    advance_axis(g, a, &x), advance_axis(g, b, &y);
    if (!x || !y) return !x && !y;
    ir_ref size = x == y || pass_divides(g, x, y) ? x : pass_divides(g, y, x) ? y : 0;
    if (!size || !add_factor(g, rule, a, b, size)) return false;
    x = x == size ? ir_index(g, 1) : pass_div(g, x, size);
    y = y == size ? ir_index(g, 1) : pass_div(g, y, size);
    if (!x || !y) return false;
  }
}

static void forget_factors(op_sharding *rule, uint32_t factors, side *a, uint32_t from) {
  for (uint32_t i = from; i < a->end; i++) a->term->axes[i].count = 0;
  rule->factor_count = factors;
}

bool op_sharding_refine(ir_graph *g, op_sharding *rule, ir_ref from, ir_ref to) {
  side a = {.sizes = ir_get(g, from)->src, .term = &rule->terms[0]};
  side b = {.sizes = ir_get(g, to)->src, .term = &rule->terms[1]};
  a.term->rank = ir_get(g, from)->nsrc, b.term->rank = ir_get(g, to)->nsrc;
  while (a.end < a.term->rank || b.end < b.term->rank) {
    if (!find_block(g, &a, &b)) return false;
    uint32_t factors = rule->factor_count, starts[] = {a.at, b.at};
    if (nest(g, rule, &a, &b)) continue;
    if (g->error->status != IR_OK) return false;
    forget_factors(rule, factors, &a, starts[0]);
    forget_factors(rule, factors, &b, starts[1]);
  }
  return true;
}
