/* Folding fused row groups that compute keys in blocks: sums of weights exp(x - s), where s follows the
 * maximum of x over all keys, without storing a whole row of x.
 *
 *   before       no key has been seen: m = -inf, r = the least finite number, every sum is 0
 *   each block   x, the values over rows and keys
 *                m' = max(m, x...);  r' = r where m' <= r + SLACK, else m'
 *                w = exp(x - r');  each sum: z' = z*exp(r - r') + the terms of the block, with weight w
 *   after        each sum is z*exp(r - s)
 *
 * exp(x - r) = exp(x - s) * exp(s - r), so any reference r gives the same sums; it follows the maximum so
 * that nothing overflows and no sum becomes 0 by rounding. r is finite as long as m is finite or -inf, so
 * that a row that is masked in some blocks, or in all, needs no special case; s is what the graph computes
 * for such a row. NaN and +inf in x reach m, then r, and from there every sum.
 *
 * Error. Moving the reference multiplies a sum by exp(r - r') <= exp(-SLACK), with at most 3 roundings. A
 * term that was moved j times is at most exp(-SLACK*(j - 1)) where the largest term is 1. So of n terms,
 * those moved more than J = 1 + ln(n*J)/SLACK times add up to at most one rounding of the largest, and the
 * others have 3*J roundings: 40 for 2^31 terms. Additions of blocks are compensated (Knuth's TwoSum) where
 * the sum has to stay within the error bound of sums; within the bound of products of k terms there are few
 * of them.
 *
 * State that a block leaves for the next lies in kept locals of two halves: blocks of even number write the
 * first half and read the second, blocks of odd number the other way round. Blocks that a mask empties for
 * all rows of an iteration are skipped: their weights would be 0, so that the other factors of their terms
 * matter only where these are not finite. Such terms are added once, with weight 0, when all blocks are done.
 */
#include "fused.h"

#include "mask_end.h"
#include "passes/index/affine.h"
#include "passes/index/index.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/online_softmax.h"

#include <float.h>
#include <math.h>

/* In the exponent: a reference that is behind by up to 2 lets weights be up to e^2, 8 with what a sum loses
 * to overflow (docs/decisions.md); a smaller one moves the reference more often, with three roundings each
 * time. */
static const double SLACK = 2;

/* A local that outlives a block: one half belongs to this block, one to the block before. */
typedef struct carried_local {
  ir_dtype t;
  int64_t number, size; /* elements of one half */
} carried_local;

typedef struct fold_sum {
  uint32_t value;             /* number of the value in the row group */
  carried_local total, error; /* error: the sum of the rounding errors of total */
  bool compensated;
  ir_ref block_sum; /* a local: the sum of the block's terms; 0: they are added to total directly */
} fold_sum;

typedef struct blocks {
  folder *f;
  fold_row_group *s;
  ir_graph *g;
  ir_dtype t;
  const ir_fused_value *weight, *greatest;
  ir_ref scores, shift;             /* x and s */
  carried_local maximum, reference; /* m and r */
  ir_ref scale;                     /* a local: exp(r - r'), and after all blocks exp(r - s) */
  fold_sum sums[KEY_BLOCK_SUMS];
  uint32_t sum_count;
  ir_ref end; /* the first key that is skipped */
  ir_ref blocks, this_half,
      previous_half; /* how many blocks; the half of this block, and of the one before */
} blocks;

uint32_t fold_blocks_most(const ir_row_group *row_group) { return 16 + 10 * row_group->count; }

/* nodes */

static ir_ref float_constant(const blocks *w, double x) { return ir_float(w->g, w->t, x); }
static ir_ref op1(const blocks *w, ir_op op, ir_ref a) { return ir_unary(w->g, op, a); }
static ir_ref op2(const blocks *w, ir_op op, ir_ref a, ir_ref b) { return ir_binary(w->g, op, a, b); }

static ir_ref load_local(const blocks *w, ir_ref local, ir_ref index) {
  ir_dtype t = ir_dtype_of(w->g, local);
  return ir_make(w->g, IR_OP_LOAD, t, 0, (ir_ref[]){local, index, ir_bool(w->g, true), ir_float(w->g, t, 0)},
                 4);
}

static ir_ref new_local(blocks *w, int64_t size, bool of_block) {
  ir_ref src[] = {ir_index(w->g, size), w->s->iteration, w->s->block};
  return ir_make(w->g, IR_OP_LOCAL, w->t, ir_pack_arg(w->s->next_local++, 0), src, of_block ? 3 : 2);
}

static carried_local new_kept(blocks *w, int64_t size) {
  return (carried_local){.t = w->t, .number = w->s->next_local++, .size = size};
}

static ir_ref kept_local(const blocks *w, const carried_local *k) {
  return ir_make(w->g, IR_OP_LOCAL, k->t, ir_pack_arg(k->number, 1),
                 (ir_ref[]){ir_index(w->g, 2 * k->size), w->s->iteration}, 2);
}

static ir_ref kept_index(const blocks *w, const carried_local *k, ir_ref half, ir_ref index) {
  return pass_add(w->g, pass_mul_int(w->g, half, k->size), index);
}

static ir_ref kept_load(const blocks *w, const carried_local *k, ir_ref half, ir_ref index) {
  return load_local(w, kept_local(w, k), kept_index(w, k, half, index));
}

static bool store_kept(blocks *w, const carried_local *k, ir_ref half, ir_ref index, ir_ref value) {
  return fold_effect(w->f, w->s, kept_local(w, k), kept_index(w, k, half, index), value);
}

static ir_ref make_reduce(const blocks *w, ir_op op, ir_ref body, ir_ref range) {
  return ir_make(w->g, IR_OP_REDUCE, w->t, ir_pack_arg(op, 0), (ir_ref[]){body, range}, 2);
}

/* points and keys */

/* The row of a point of the value, counted from the first row of the iteration. */
static ir_ref row_of(const blocks *w, const ir_fused_value *v, const pass_point *p) {
  uint32_t inner = w->s->row_group->loops - 1;
  return pass_sub(w->g, p->at[v->axes[inner]], w->s->start[inner]);
}

static pass_point with_axis(const pass_point *p, uint32_t axis, ir_ref at) {
  pass_point more = {.rank = p->rank + 1};
  for (uint32_t a = 0; a < more.rank; a++) more.at[a] = a == axis ? at : p->at[a > axis ? a - 1 : a];
  return more;
}

/* A range over the keys of the block, and the key there. */
static ir_ref keys_of(blocks *w, ir_ref *range) {
  *range = fold_range(w->f, w->s->keys);
  return pass_add(w->g, w->s->first, *range);
}

/* keys that a mask skips */

/* How many keys the rows of the iteration look at, or more. */
static ir_ref last_key(blocks *w, int64_t keys) {
  ir_ref range = fold_range(w->f, ir_index(w->g, keys)), start, end = 0;
  pass_point p = fold_value_point(w->f, w->s, w->greatest);
  p = with_axis(&p, w->weight->keys, range);
  ir_ref value = fold_at(w->f, w->scores, &p);
  fold_discard_answers(w->f);
  if (value && fold_masked_from(w->g, value, range, &start))
    end = fold_last_unmasked(w->g, start, w->s->iteration, keys);
  return end ? end : ir_index(w->g, keys);
}

/* steps */

static bool start_state(blocks *w) {
  const ir_row_group *row_group = w->s->row_group;
  for (uint32_t i = 0; i < row_group->count; i++) {
    const ir_fused_value *v = &row_group->values[i];
    if (v->role == IR_FUSED_WEIGHT) w->weight = v;
    if (v->role == IR_FUSED_MAXIMUM) w->greatest = v;
  }
  const ir_node *difference = ir_get(w->g, ir_src(w->g, w->weight->value, 0));
  w->t = (ir_dtype)difference->dtype;
  w->scores = difference->src[0], w->shift = difference->src[1];
  w->s->next_local = row_group->count;
  w->maximum = new_kept(w, row_group->rows), w->reference = new_kept(w, row_group->rows);
  for (uint32_t i = 0; i < row_group->count; i++) {
    const ir_fused_value *v = &row_group->values[i];
    if (v->role != IR_FUSED_SUM) continue;
    int64_t size = fold_local_size(w->f, w->s, v);
    fold_sum *sum = &w->sums[w->sum_count++];
    *sum = (fold_sum){.value = i, .total = new_kept(w, size)};
    sum->compensated = !pass_is_product(w->g, ir_src(w->g, v->value, 0));
    if (sum->compensated) sum->error = new_kept(w, size);
  }
  return true;
}

static bool keep_first(blocks *w, const carried_local *k, const ir_fused_value *v, double value) {
  pass_point p = fold_value_point(w->f, w->s, v);
  return store_kept(w, k, ir_index(w->g, 1), fold_local_index(w->f, w->s, v, &p), float_constant(w, value));
}

static bool fold_before(blocks *w) {
  double least = w->t == IR_F64 ? -DBL_MAX : -(double)FLT_MAX;
  bool good =
      keep_first(w, &w->maximum, w->greatest, -INFINITY) && keep_first(w, &w->reference, w->greatest, least);
  for (uint32_t i = 0; i < w->sum_count && good; i++) {
    const fold_sum *sum = &w->sums[i];
    const ir_fused_value *v = &w->s->row_group->values[sum->value];
    good = keep_first(w, &sum->total, v, 0) && (!sum->compensated || keep_first(w, &sum->error, v, 0));
  }
  return good;
}

static bool start_blocks(blocks *w) {
  ir_graph *g = w->g;
  fold_row_group *s = w->s;
  int64_t keys, size = s->row_group->block;
  if (!ir_is_const(g, ir_dim(g, w->weight->value, w->weight->keys), &keys)) return false;
  w->end = last_key(w, keys);
  w->blocks = pass_ceil_div(g, w->end, ir_index(g, size));
  s->block = fold_range(w->f, w->blocks);
  s->first = pass_mul_int(g, s->block, size);
  s->keys = ir_index(g, size);
  if (keys % size || ir_op_of(g, w->end) != IR_OP_CONST)
    s->keys = pass_min(g, s->keys, pass_sub(g, w->end, s->first));
  w->this_half = pass_mod_int(g, s->block, 2),
  w->previous_half = pass_mod_int(g, pass_add_int(g, s->block, 1), 2);
  return w->this_half && w->previous_half && s->keys;
}

/* The effects that update the running maximum and the reference, and the factor of the sums so far. */
static bool fold_reference(blocks *w) {
  fold_row_group *s = w->s;
  ir_ref range, body, row, largest = new_local(w, s->row_group->rows, true);
  pass_point p = fold_value_point(w->f, s, w->greatest);
  pass_point at = with_axis(&p, w->weight->keys, keys_of(w, &range));
  if (!(body = fold_at(w->f, w->scores, &at))) return false;
  if (!fold_effect(w->f, s, largest, row_of(w, w->greatest, &p), make_reduce(w, IR_OP_MAX, body, range)))
    return false;
  p = fold_value_point(w->f, s, w->greatest), row = row_of(w, w->greatest, &p);
  ir_ref all =
      op2(w, IR_OP_MAX, kept_load(w, &w->maximum, w->previous_half, row), load_local(w, largest, row));
  if (!store_kept(w, &w->maximum, w->this_half, row, all)) return false;
  p = fold_value_point(w->f, s, w->greatest), row = row_of(w, w->greatest, &p);
  ir_ref most = kept_load(w, &w->maximum, w->this_half, row),
         old = kept_load(w, &w->reference, w->previous_half, row);
  ir_ref stays = op2(w, IR_OP_LE, most, op2(w, IR_OP_ADD, old, float_constant(w, SLACK)));
  if (!store_kept(w, &w->reference, w->this_half, row, pass_where(w->g, stays, old, most))) return false;
  p = fold_value_point(w->f, s, w->greatest), row = row_of(w, w->greatest, &p);
  ir_ref moved = op2(w, IR_OP_SUB, kept_load(w, &w->reference, w->previous_half, row),
                     kept_load(w, &w->reference, w->this_half, row));
  w->scale = new_local(w, s->row_group->rows, true);
  return fold_effect(w->f, s, w->scale, row, op1(w, IR_OP_EXP, moved));
}

static bool fold_weight(blocks *w) {
  uint32_t number = (uint32_t)(w->weight - w->s->row_group->values);
  pass_point p = fold_value_point(w->f, w->s, w->weight);
  ir_ref scores = fold_at(w->f, w->scores, &p);
  ir_ref r = kept_load(w, &w->reference, w->this_half, row_of(w, w->weight, &p));
  ir_ref value = op1(w, IR_OP_EXP, op2(w, IR_OP_SUB, scores, r));
  return fold_effect(w->f, w->s, fold_local_of(w->f, w->s, number),
                     fold_local_index(w->f, w->s, w->weight, &p), value) &&
         fold_stored(w->f, w->s, number);
}

/* The sum of the terms over a range of keys, at a point of the sum. */
static ir_ref terms_at(blocks *w, const ir_fused_value *v, const pass_point *p, ir_ref key, ir_ref range,
                       ir_ref *body) {
  pass_point at = with_axis(p, v->keys, key);
  *body = fold_at(w->f, ir_src(w->g, v->value, 0), &at);
  return *body ? make_reduce(w, IR_OP_ADD, *body, range) : 0;
}

/* z' = z*scale + terms; rounding errors are summed separately. */
static bool add_compensated(blocks *w, fold_sum *sum, const ir_fused_value *v) {
  pass_point p = fold_value_point(w->f, w->s, v);
  ir_ref i = fold_local_index(w->f, w->s, v, &p), scale = load_local(w, w->scale, row_of(w, v, &p));
  ir_ref a = op2(w, IR_OP_MUL, kept_load(w, &sum->total, w->previous_half, i), scale),
         b = load_local(w, sum->block_sum, i);
  if (!store_kept(w, &sum->total, w->this_half, i, op2(w, IR_OP_ADD, a, b))) return false;
  p = fold_value_point(w->f, w->s, v);
  i = fold_local_index(w->f, w->s, v, &p), scale = load_local(w, w->scale, row_of(w, v, &p));
  a = op2(w, IR_OP_MUL, kept_load(w, &sum->total, w->previous_half, i), scale),
  b = load_local(w, sum->block_sum, i);
  ir_ref z = op2(w, IR_OP_ADD, a, b), c = op2(w, IR_OP_SUB, z, a);
  ir_ref error = op2(w, IR_OP_ADD, op2(w, IR_OP_SUB, a, op2(w, IR_OP_SUB, z, c)), op2(w, IR_OP_SUB, b, c));
  ir_ref previous_error = op2(w, IR_OP_MUL, kept_load(w, &sum->error, w->previous_half, i), scale);
  return store_kept(w, &sum->error, w->this_half, i, op2(w, IR_OP_ADD, previous_error, error));
}

static bool fold_terms(blocks *w, fold_sum *sum) {
  const ir_fused_value *v = &w->s->row_group->values[sum->value];
  pass_point p = fold_value_point(w->f, w->s, v);
  ir_ref range, body, key = keys_of(w, &range), i = fold_local_index(w->f, w->s, v, &p);
  ir_ref terms = terms_at(w, v, &p, key, range, &body);
  if (!terms) return false;
  if (sum->compensated) {
    sum->block_sum = new_local(w, sum->total.size, true);
    return fold_effect(w->f, w->s, sum->block_sum, i, terms) && add_compensated(w, sum, v);
  }
  ir_ref old = kept_load(w, &sum->total, w->previous_half, i),
         scale = load_local(w, w->scale, row_of(w, v, &p));
  return store_kept(w, &sum->total, w->this_half, i, op2(w, IR_OP_ADD, op2(w, IR_OP_MUL, old, scale), terms));
}

static bool fold_block(blocks *w) {
  bool good = true;
  for (uint32_t i = 0; i < w->s->row_group->count && good; i++)
    if (w->s->row_group->values[i].role == IR_FUSED_BLOCK) good = fold_value(w->f, w->s, i);
  good = good && fold_reference(w) && fold_weight(w);
  for (uint32_t i = 0; i < w->sum_count && good; i++) good = fold_terms(w, &w->sums[i]);
  return good;
}

/* The index in the local of skipped terms of a point of the sum; any_row: of the first row in place of its
 * own. */
static ir_ref left_out_index(blocks *w, const ir_fused_value *v, const pass_point *p, bool any_row) {
  pass_point at = *p;
  uint32_t inner = w->s->row_group->loops - 1;
  if (any_row) at.at[v->axes[inner]] = w->s->start[inner];
  return fold_local_index(w->f, w->s, v, &at);
}

/* What skipped keys add to the sum, 0 or NaN: into a local, once where it is the same for all rows
 * (*any_row). *local 0: there is nothing to add. */
static bool fold_left_out(blocks *w, const ir_fused_value *v, ir_ref *local, bool *any_row) {
  ir_graph *g = w->g;
  fold_row_group *s = w->s;
  int64_t keys = 0;
  *local = 0;
  ir_is_const(g, ir_dim(g, w->weight->value, w->weight->keys), &keys);
  ir_ref count = pass_sub(g, ir_index(g, keys), w->end), body;
  if (ir_bounds_of(g, count).hi <= 0) return true;
  pass_point p = fold_value_point(w->f, s, v);
  ir_ref range = fold_range(w->f, count), row = row_of(w, v, &p);
  s->zero = w->weight->value;
  fold_discard_answers(w->f);
  ir_ref terms = terms_at(w, v, &p, pass_add(g, w->end, range), range, &body);
  s->zero = 0;
  fold_discard_answers(w->f);
  if (!terms) return false;
  if (ir_op_of(g, body) == IR_OP_CONST) return true;
  *any_row = ir_op_of(g, row) == IR_OP_RANGE && !affine_depends(g, body, row);
  *local = new_local(w, fold_local_size(w->f, s, v), false);
  return fold_effect(w->f, s, *local, left_out_index(w, v, &p, *any_row), terms);
}

static bool fold_total(blocks *w, const fold_sum *sum) {
  const ir_fused_value *v = &w->s->row_group->values[sum->value];
  ir_ref left_out;
  bool any_row = false;
  if (!fold_left_out(w, v, &left_out, &any_row)) return false;
  pass_point p = fold_value_point(w->f, w->s, v);
  ir_ref i = fold_local_index(w->f, w->s, v, &p), z = kept_load(w, &sum->total, w->this_half, i);
  if (sum->compensated) z = op2(w, IR_OP_ADD, z, kept_load(w, &sum->error, w->this_half, i));
  z = op2(w, IR_OP_MUL, z, load_local(w, w->scale, row_of(w, v, &p)));
  if (left_out) z = op2(w, IR_OP_ADD, z, load_local(w, left_out, left_out_index(w, v, &p, any_row)));
  return fold_effect(w->f, w->s, fold_local_of(w->f, w->s, sum->value), i, z) &&
         fold_stored(w->f, w->s, sum->value);
}

/* The plain values: those computed from the maximum alone, from which s may be made; or, after_sums, the
 * others. */
static bool fold_plain(blocks *w, bool after_sums) {
  bool good = true;
  for (uint32_t i = 0; i < w->s->row_group->count && good; i++) {
    const ir_fused_value *v = &w->s->row_group->values[i];
    if (v->role == IR_FUSED_PLAIN && (v->value > w->weight->value) == after_sums)
      good = fold_value(w->f, w->s, i);
  }
  return good;
}

static bool fold_after(blocks *w) {
  fold_row_group *s = w->s;
  ir_graph *g = w->g;
  uint32_t number = (uint32_t)(w->greatest - s->row_group->values);
  s->done = 0;
  w->this_half = pass_mod_int(g, pass_add_int(g, w->blocks, 1), 2); /* the half of the last block */
  pass_point p = fold_value_point(w->f, s, w->greatest);
  ir_ref row = row_of(w, w->greatest, &p);
  if (!fold_effect(w->f, s, fold_local_of(w->f, s, number), row,
                   kept_load(w, &w->maximum, w->this_half, row)) ||
      !fold_stored(w->f, s, number))
    return false;
  if (!fold_plain(w, false)) return false;
  p = fold_value_point(w->f, s, w->greatest), row = row_of(w, w->greatest, &p);
  pass_point at = with_axis(&p, w->weight->keys, ir_index(g, 0)); /* s is the same for all keys */
  ir_ref shift = fold_at(w->f, w->shift, &at);
  ir_ref moved = op2(w, IR_OP_SUB, kept_load(w, &w->reference, w->this_half, row), shift);
  w->scale = new_local(w, s->row_group->rows, false);
  bool good = fold_effect(w->f, s, w->scale, row, op1(w, IR_OP_EXP, moved));
  for (uint32_t i = 0; i < w->sum_count && good; i++) good = fold_total(w, &w->sums[i]);
  return good && fold_plain(w, true);
}

bool fold_blocks(folder *f, fold_row_group *s) {
  blocks w = {.f = f, .s = s, .g = f->g};
  return start_state(&w) && fold_before(&w) && start_blocks(&w) && fold_block(&w) && fold_after(&w);
}
