/* Folding slabs that go over keys in blocks: sums of weights exp(x - s), where s follows the maximum of x
 * over all keys, without a row of x ever being whole.
 *
 *   before     nothing has been seen: m = -inf, r = the least number, every sum is 0
 *   for each   x, the values over rows and keys
 *   block      m' = max(m, x...);  r' = r where m' <= r + SLACK, else m'
 *              w = exp(x - r');  each sum: z' = z*exp(r - r') + the terms of the block, with w as the weight
 *   after      each sum is z*exp(r - s)
 *
 * exp(x - r) = exp(x - s) * exp(s - r), so the reference r may be anything; what keeps it near the maximum is
 * that nothing overflows and no sum becomes 0 by rounding. It is a finite number as long as m is, or is -inf,
 * so a row that is masked in some blocks, or in all, needs no care; s is what the graph says for such a row.
 * NaN and +inf in x reach m, r, and from there every sum.
 *
 * Error. Moving the reference multiplies by exp(r - r') <= exp(-SLACK), with at most 3 roundings. What was
 * moved j times is a term of exp(-SLACK*(j - 1)) at most where the largest is 1: of n terms those moved more
 * than J = 1 + ln(n*J)/SLACK times add up to no more than one rounding of that one, and the others have 3*J:
 * 40 for 2^31 terms. Additions of blocks are compensated (Knuth's TwoSum) where the sum is to stay within the
 * bound of sums; within that of products of k terms they are few.
 *
 * What a block leaves for the next lies in kept locals, in two halves: blocks of even numbers write the first
 * and read the second one. Blocks that a mask empties for all rows of a round are left out: their weights
 * would be 0, so that what is multiplied with them counts only where it is not finite. It is added once,
 * times 0, when all blocks are done. */
#include "fused.h"

#include "mask_end.h"
#include "passes/index/affine.h"
#include "passes/index/index.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/online_softmax.h"

#include <float.h>
#include <math.h>

static const double SLACK = 2;

/* Half of it belongs to the block at hand, half to the one before. */
typedef struct kept {
  ir_dtype t;
  int64_t number, size; /* of one half */
} kept;

typedef struct fold_sum {
  uint32_t value;   /* by number */
  kept total, lost; /* lost: what rounding has taken from the total */
  bool compensated;
  ir_ref alone; /* a local: the terms of the block; 0: they are added as they are computed */
} fold_sum;

typedef struct blocks {
  folder *f;
  fold_slab *s;
  ir_graph *g;
  ir_dtype t;
  const ir_slab_value *weight, *greatest;
  ir_ref scores, shift; /* x and s */
  kept most, reference; /* m and r */
  ir_ref scale;         /* a local: exp(r - r'), and later exp(r - s) */
  fold_sum sums[KEY_BLOCK_SUMS];
  uint32_t sum_count;
  ir_ref end;                 /* keys from here on are left out */
  ir_ref blocks, now, before; /* how many; the half of this one, and of the one before */
} blocks;

uint32_t fold_blocks_most(const ir_slab *slab) { return 16 + 10 * slab->count; }

/* nodes */

static ir_ref constant(const blocks *w, double x) { return ir_float(w->g, w->t, x); }
static ir_ref op1(const blocks *w, ir_op op, ir_ref a) { return ir_unary(w->g, op, a); }
static ir_ref op2(const blocks *w, ir_op op, ir_ref a, ir_ref b) { return ir_binary(w->g, op, a, b); }

static ir_ref load(const blocks *w, ir_ref local, ir_ref index) {
  ir_dtype t = ir_dtype_of(w->g, local);
  return ir_make(w->g, IR_OP_LOAD, t, 0, (ir_ref[]){local, index, ir_bool(w->g, true), ir_float(w->g, t, 0)},
                 4);
}

static ir_ref new_local(blocks *w, int64_t size, bool of_block) {
  ir_ref src[] = {ir_index(w->g, size), w->s->round, w->s->block};
  return ir_make(w->g, IR_OP_LOCAL, w->t, ir_pack_arg(w->s->next_local++, 0), src, of_block ? 3 : 2);
}

static kept new_kept(blocks *w, int64_t size) {
  return (kept){.t = w->t, .number = w->s->next_local++, .size = size};
}

static ir_ref kept_local(const blocks *w, const kept *k) {
  return ir_make(w->g, IR_OP_LOCAL, k->t, ir_pack_arg(k->number, 1),
                 (ir_ref[]){ir_index(w->g, 2 * k->size), w->s->round}, 2);
}

static ir_ref kept_index(const blocks *w, const kept *k, ir_ref half, ir_ref index) {
  return pass_add(w->g, pass_mul_int(w->g, half, k->size), index);
}

static ir_ref kept_load(const blocks *w, const kept *k, ir_ref half, ir_ref index) {
  return load(w, kept_local(w, k), kept_index(w, k, half, index));
}

static bool keep(blocks *w, const kept *k, ir_ref half, ir_ref index, ir_ref value) {
  return fold_effect(w->f, w->s, kept_local(w, k), kept_index(w, k, half, index), value);
}

static ir_ref reduce(const blocks *w, ir_op op, ir_ref body, ir_ref range) {
  return ir_make(w->g, IR_OP_REDUCE, w->t, ir_pack_arg(op, 0), (ir_ref[]){body, range}, 2);
}

/* positions */

/* The row of a position of the value, counted from the first one of the round. */
static ir_ref row_of(const blocks *w, const ir_slab_value *v, const pass_position *p) {
  uint32_t inner = w->s->slab->loops - 1;
  return pass_sub(w->g, p->at[v->axes[inner]], w->s->start[inner]);
}

static pass_position with_axis(const pass_position *p, uint32_t axis, ir_ref at) {
  pass_position more = {.rank = p->rank + 1};
  for (uint32_t a = 0; a < more.rank; a++) more.at[a] = a == axis ? at : p->at[a > axis ? a - 1 : a];
  return more;
}

/* A range over the keys of the block, and the key there. */
static ir_ref keys_of(blocks *w, ir_ref *range) {
  *range = fold_range(w->f, w->s->keys);
  return pass_add(w->g, w->s->first, *range);
}

/* what a mask leaves out */

/* The number of keys that some row of the round looks at, or more. */
static ir_ref last_key(blocks *w, int64_t keys) {
  ir_ref range = fold_range(w->f, ir_index(w->g, keys)), start, end = 0;
  pass_position p = fold_own_position(w->f, w->s, w->greatest);
  p = with_axis(&p, w->weight->keys, range);
  ir_ref value = fold_at(w->f, w->scores, &p);
  fold_forget(w->f);
  if (value && slab_ends(w->g, value, range, &start)) end = slab_latest(w->g, start, w->s->round, keys);
  return end ? end : ir_index(w->g, keys);
}

/* steps */

static bool start_state(blocks *w) {
  const ir_slab *slab = w->s->slab;
  for (uint32_t i = 0; i < slab->count; i++) {
    const ir_slab_value *v = &slab->values[i];
    if (v->role == IR_SLAB_WEIGHT) w->weight = v;
    if (v->role == IR_SLAB_GREATEST) w->greatest = v;
  }
  const ir_node *difference = ir_get(w->g, ir_src(w->g, w->weight->value, 0));
  w->t = (ir_dtype)difference->dtype;
  w->scores = difference->src[0], w->shift = difference->src[1];
  w->s->next_local = slab->count;
  w->most = new_kept(w, slab->rows), w->reference = new_kept(w, slab->rows);
  for (uint32_t i = 0; i < slab->count; i++) {
    const ir_slab_value *v = &slab->values[i];
    if (v->role != IR_SLAB_SUM) continue;
    int64_t size = fold_local_size(w->f, w->s, v);
    fold_sum *sum = &w->sums[w->sum_count++];
    *sum = (fold_sum){.value = i, .total = new_kept(w, size)};
    sum->compensated = !loop_is_product(w->g, ir_src(w->g, v->value, 0));
    if (sum->compensated) sum->lost = new_kept(w, size);
  }
  return true;
}

static bool keep_first(blocks *w, const kept *k, const ir_slab_value *v, double value) {
  pass_position p = fold_own_position(w->f, w->s, v);
  return keep(w, k, ir_index(w->g, 1), fold_local_index(w->f, w->s, v, &p), constant(w, value));
}

static bool fold_before(blocks *w) {
  double least = w->t == IR_F64 ? -DBL_MAX : -(double)FLT_MAX;
  bool good =
      keep_first(w, &w->most, w->greatest, -INFINITY) && keep_first(w, &w->reference, w->greatest, least);
  for (uint32_t i = 0; i < w->sum_count && good; i++) {
    const fold_sum *sum = &w->sums[i];
    const ir_slab_value *v = &w->s->slab->values[sum->value];
    good = keep_first(w, &sum->total, v, 0) && (!sum->compensated || keep_first(w, &sum->lost, v, 0));
  }
  return good;
}

static bool start_blocks(blocks *w) {
  ir_graph *g = w->g;
  fold_slab *s = w->s;
  int64_t keys, size = s->slab->block;
  if (!ir_is_const(g, ir_dim(g, w->weight->value, w->weight->keys), &keys)) return false;
  w->end = last_key(w, keys);
  w->blocks = pass_ceil_div(g, w->end, ir_index(g, size));
  s->block = fold_range(w->f, w->blocks);
  s->first = pass_mul_int(g, s->block, size);
  s->keys = ir_index(g, size);
  if (keys % size || ir_op_of(g, w->end) != IR_OP_CONST)
    s->keys = pass_min(g, s->keys, pass_sub(g, w->end, s->first));
  w->now = pass_mod_int(g, s->block, 2), w->before = pass_mod_int(g, pass_add_int(g, s->block, 1), 2);
  return w->now && w->before && s->keys;
}

/* The maximum so far, the reference, and the factor of what was summed before. */
static bool fold_reference(blocks *w) {
  fold_slab *s = w->s;
  ir_ref range, body, row, largest = new_local(w, s->slab->rows, true);
  pass_position p = fold_own_position(w->f, s, w->greatest);
  pass_position at = with_axis(&p, w->weight->keys, keys_of(w, &range));
  if (!(body = fold_at(w->f, w->scores, &at))) return false;
  if (!fold_effect(w->f, s, largest, row_of(w, w->greatest, &p), reduce(w, IR_OP_MAX, body, range)))
    return false;
  p = fold_own_position(w->f, s, w->greatest), row = row_of(w, w->greatest, &p);
  ir_ref all = op2(w, IR_OP_MAX, kept_load(w, &w->most, w->before, row), load(w, largest, row));
  if (!keep(w, &w->most, w->now, row, all)) return false;
  p = fold_own_position(w->f, s, w->greatest), row = row_of(w, w->greatest, &p);
  ir_ref most = kept_load(w, &w->most, w->now, row), old = kept_load(w, &w->reference, w->before, row);
  ir_ref stays = op2(w, IR_OP_LE, most, op2(w, IR_OP_ADD, old, constant(w, SLACK)));
  if (!keep(w, &w->reference, w->now, row, pass_where(w->g, stays, old, most))) return false;
  p = fold_own_position(w->f, s, w->greatest), row = row_of(w, w->greatest, &p);
  ir_ref moved = op2(w, IR_OP_SUB, kept_load(w, &w->reference, w->before, row),
                     kept_load(w, &w->reference, w->now, row));
  w->scale = new_local(w, s->slab->rows, true);
  return fold_effect(w->f, s, w->scale, row, op1(w, IR_OP_EXP, moved));
}

static bool fold_weight(blocks *w) {
  uint32_t number = (uint32_t)(w->weight - w->s->slab->values);
  pass_position p = fold_own_position(w->f, w->s, w->weight);
  ir_ref scores = fold_at(w->f, w->scores, &p);
  ir_ref r = kept_load(w, &w->reference, w->now, row_of(w, w->weight, &p));
  ir_ref value = op1(w, IR_OP_EXP, op2(w, IR_OP_SUB, scores, r));
  return fold_effect(w->f, w->s, fold_local_of(w->f, w->s, number),
                     fold_local_index(w->f, w->s, w->weight, &p), value) &&
         fold_stored(w->f, w->s, number);
}

/* The sum of the terms over a range of keys, at a position of the sum. */
static ir_ref terms_at(blocks *w, const ir_slab_value *v, const pass_position *p, ir_ref key, ir_ref range,
                       ir_ref *body) {
  pass_position at = with_axis(p, v->keys, key);
  *body = fold_at(w->f, ir_src(w->g, v->value, 0), &at);
  return *body ? reduce(w, IR_OP_ADD, *body, range) : 0;
}

/* z' = z*scale + terms; what rounding takes is added up apart. */
static bool add_compensated(blocks *w, fold_sum *sum, const ir_slab_value *v) {
  pass_position p = fold_own_position(w->f, w->s, v);
  ir_ref i = fold_local_index(w->f, w->s, v, &p), scale = load(w, w->scale, row_of(w, v, &p));
  ir_ref a = op2(w, IR_OP_MUL, kept_load(w, &sum->total, w->before, i), scale), b = load(w, sum->alone, i);
  if (!keep(w, &sum->total, w->now, i, op2(w, IR_OP_ADD, a, b))) return false;
  p = fold_own_position(w->f, w->s, v);
  i = fold_local_index(w->f, w->s, v, &p), scale = load(w, w->scale, row_of(w, v, &p));
  a = op2(w, IR_OP_MUL, kept_load(w, &sum->total, w->before, i), scale), b = load(w, sum->alone, i);
  ir_ref z = op2(w, IR_OP_ADD, a, b), c = op2(w, IR_OP_SUB, z, a);
  ir_ref error = op2(w, IR_OP_ADD, op2(w, IR_OP_SUB, a, op2(w, IR_OP_SUB, z, c)), op2(w, IR_OP_SUB, b, c));
  ir_ref lost = op2(w, IR_OP_MUL, kept_load(w, &sum->lost, w->before, i), scale);
  return keep(w, &sum->lost, w->now, i, op2(w, IR_OP_ADD, lost, error));
}

static bool fold_terms(blocks *w, fold_sum *sum) {
  const ir_slab_value *v = &w->s->slab->values[sum->value];
  pass_position p = fold_own_position(w->f, w->s, v);
  ir_ref range, body, key = keys_of(w, &range), i = fold_local_index(w->f, w->s, v, &p);
  ir_ref terms = terms_at(w, v, &p, key, range, &body);
  if (!terms) return false;
  if (sum->compensated) {
    sum->alone = new_local(w, sum->total.size, true);
    return fold_effect(w->f, w->s, sum->alone, i, terms) && add_compensated(w, sum, v);
  }
  ir_ref old = kept_load(w, &sum->total, w->before, i), scale = load(w, w->scale, row_of(w, v, &p));
  return keep(w, &sum->total, w->now, i, op2(w, IR_OP_ADD, op2(w, IR_OP_MUL, old, scale), terms));
}

static bool fold_block(blocks *w) {
  bool good = true;
  for (uint32_t i = 0; i < w->s->slab->count && good; i++)
    if (w->s->slab->values[i].role == IR_SLAB_BLOCK) good = fold_value(w->f, w->s, i);
  good = good && fold_reference(w) && fold_weight(w);
  for (uint32_t i = 0; i < w->sum_count && good; i++) good = fold_terms(w, &w->sums[i]);
  return good;
}

/* Where a position of the sum lies in the local of what was left out: of its row, or of any. */
static ir_ref left_out_index(blocks *w, const ir_slab_value *v, const pass_position *p, bool any_row) {
  pass_position at = *p;
  uint32_t inner = w->s->slab->loops - 1;
  if (any_row) at.at[v->axes[inner]] = w->s->start[inner];
  return fold_local_index(w->f, w->s, v, &at);
}

/* What keys that were left out add to the sum, 0 or NaN: into a local, once where that is the same for all
 * rows. *local 0: there is nothing. */
static bool fold_left_out(blocks *w, const ir_slab_value *v, ir_ref *local, bool *any_row) {
  ir_graph *g = w->g;
  fold_slab *s = w->s;
  int64_t keys = 0;
  *local = 0;
  ir_is_const(g, ir_dim(g, w->weight->value, w->weight->keys), &keys);
  ir_ref count = pass_sub(g, ir_index(g, keys), w->end), body;
  if (ir_bounds_of(g, count).hi <= 0) return true;
  pass_position p = fold_own_position(w->f, s, v);
  ir_ref range = fold_range(w->f, count), row = row_of(w, v, &p);
  s->zero = w->weight->value;
  fold_forget(w->f);
  ir_ref terms = terms_at(w, v, &p, pass_add(g, w->end, range), range, &body);
  s->zero = 0;
  fold_forget(w->f);
  if (!terms) return false;
  if (ir_op_of(g, body) == IR_OP_CONST) return true;
  *any_row = ir_op_of(g, row) == IR_OP_RANGE && !loop_depends(g, body, row);
  *local = new_local(w, fold_local_size(w->f, s, v), false);
  return fold_effect(w->f, s, *local, left_out_index(w, v, &p, *any_row), terms);
}

static bool fold_total(blocks *w, const fold_sum *sum) {
  const ir_slab_value *v = &w->s->slab->values[sum->value];
  ir_ref left_out;
  bool any_row = false;
  if (!fold_left_out(w, v, &left_out, &any_row)) return false;
  pass_position p = fold_own_position(w->f, w->s, v);
  ir_ref i = fold_local_index(w->f, w->s, v, &p), z = kept_load(w, &sum->total, w->now, i);
  if (sum->compensated) z = op2(w, IR_OP_ADD, z, kept_load(w, &sum->lost, w->now, i));
  z = op2(w, IR_OP_MUL, z, load(w, w->scale, row_of(w, v, &p)));
  if (left_out) z = op2(w, IR_OP_ADD, z, load(w, left_out, left_out_index(w, v, &p, any_row)));
  return fold_effect(w->f, w->s, fold_local_of(w->f, w->s, sum->value), i, z) &&
         fold_stored(w->f, w->s, sum->value);
}

/* The values made of the maximum alone, which s may be made of; then the others. */
static bool fold_plain(blocks *w, bool after_sums) {
  bool good = true;
  for (uint32_t i = 0; i < w->s->slab->count && good; i++) {
    const ir_slab_value *v = &w->s->slab->values[i];
    if (v->role == IR_SLAB_PLAIN && (v->value > w->weight->value) == after_sums)
      good = fold_value(w->f, w->s, i);
  }
  return good;
}

static bool fold_after(blocks *w) {
  fold_slab *s = w->s;
  ir_graph *g = w->g;
  uint32_t number = (uint32_t)(w->greatest - s->slab->values);
  s->done = 0;
  w->now = pass_mod_int(g, pass_add_int(g, w->blocks, 1), 2); /* that of the last block */
  pass_position p = fold_own_position(w->f, s, w->greatest);
  ir_ref row = row_of(w, w->greatest, &p);
  if (!fold_effect(w->f, s, fold_local_of(w->f, s, number), row, kept_load(w, &w->most, w->now, row)) ||
      !fold_stored(w->f, s, number))
    return false;
  if (!fold_plain(w, false)) return false;
  p = fold_own_position(w->f, s, w->greatest), row = row_of(w, w->greatest, &p);
  pass_position at = with_axis(&p, w->weight->keys, ir_index(g, 0)); /* it is the same for all keys */
  ir_ref shift = fold_at(w->f, w->shift, &at);
  ir_ref moved = op2(w, IR_OP_SUB, kept_load(w, &w->reference, w->now, row), shift);
  w->scale = new_local(w, s->slab->rows, false);
  bool good = fold_effect(w->f, s, w->scale, row, op1(w, IR_OP_EXP, moved));
  for (uint32_t i = 0; i < w->sum_count && good; i++) good = fold_total(w, &w->sums[i]);
  return good && fold_plain(w, true);
}

bool fold_blocks(folder *f, fold_slab *s) {
  blocks w = {.f = f, .s = s, .g = f->g};
  return start_state(&w) && fold_before(&w) && start_blocks(&w) && fold_block(&w) && fold_after(&w);
}
