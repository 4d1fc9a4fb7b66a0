/* Fused row groups in which rows end early: a causal softmax over the keys 0 to i of query i.
 *
 * A mask sets scores beyond the last key of a row to -inf, so that their exponentials are 0. In an iteration
 * of several rows, all scores from some key E on are masked: the values computed from them are known and need
 * not be computed. Below, `beyond` is the mask's condition.
 *
 *   scores    are not read from E on                                  the axis ends at E
 *   greatest  max of where(beyond, -inf, ...)                         the reduction ends at E
 *   weights   exp(where(beyond, -inf, ...) - greatest) is 0           the axis ends at E
 *   sum       of weights                                              the reduction ends at E
 *   results   sum of weights times values                             ends at E, plus 0 times other terms
 *
 * A weight is NaN only in a row whose first weight is NaN as well: the greatest score, NaN or infinite, is
 * what makes it NaN. Zero times the values from E on is 0, or NaN where one of them is not finite, the same
 * for all rows, so that it is computed once. The terms that are computed are the same as before: E is a
 * multiple of FOLD_MASK_TILE, and the masks before it stay. Either all of this is done or nothing: a local
 * without elements from E on has no other readers. */
#include "fold.h"

#include "mask_end.h"
#include "passes/index/index.h"
#include "passes/loops/loops.h"

/* locals that end early [1 in the workloads]: with more, rows are computed as a whole */
enum { MAX_SHORT = 8 };

/* A local that has no elements from E on along its last axis. */
typedef struct shortened {
  ir_ref local;
  bool zero; /* the missing elements would be 0; otherwise they are not read */
} shortened;

typedef struct row_group_mask {
  ir_graph *g;
  loop_stores stores;
  ir_ref iteration, end;
  int64_t size; /* elements of the whole axis */
  shortened locals[MAX_SHORT];
  uint32_t local_count;
} row_group_mask;

static ir_ref latest_of(const row_group_mask *s, ir_ref start) {
  return fold_last_unmasked(s->g, start, s->iteration, s->size);
}

/* In the index of a local: the range of s->size keys that has stride 1; 0: none. */
static ir_ref key_range(const row_group_mask *s, ir_ref index) {
  ir_ref ranges[LOOP_MAX_LOADS];
  int64_t stride, extent;
  uint32_t count = affine_find_range(s->g, index, IR_OP_RANGE, ranges, LOOP_MAX_LOADS);
  for (uint32_t i = 0; i < count; i++)
    if (ir_is_const(s->g, ir_src(s->g, ranges[i], 0), &extent) && extent == s->size &&
        affine_stride(s->g, index, ranges[i], &stride) && stride == 1)
      return ranges[i];
  return 0;
}

static const shortened *local_of(const row_group_mask *s, ir_ref load) {
  for (uint32_t i = 0; i < s->local_count; i++)
    if (s->locals[i].local == ir_src(s->g, load, 0)) return &s->locals[i];
  return NULL;
}

/* Counts loads of shortened locals below root. *range: the one range that walks all of them; false where they
 * have several. */
static bool loads_below(const row_group_mask *s, ir_ref root, ir_ref *range, uint32_t *count) {
  ir_ref loads[LOOP_MAX_LOADS];
  uint32_t found = affine_find_range(s->g, root, IR_OP_LOAD, loads, LOOP_MAX_LOADS);
  *range = 0, *count = 0;
  for (uint32_t i = 0; i < found; i++) {
    if (!local_of(s, loads[i])) continue;
    ir_ref key = key_range(s, ir_src(s->g, loads[i], 1));
    if (!key || (*range && key != *range)) return false;
    *range = key, ++*count;
  }
  return found < LOOP_MAX_LOADS;
}

static bool add_local(row_group_mask *s, ir_ref local, bool zero) {
  if (s->local_count == MAX_SHORT || ir_op_of(s->g, local) != IR_OP_LOCAL) return false;
  s->locals[s->local_count++] = (shortened){local, zero};
  return true;
}

/* Finds the first effect that is the maximum of masked scores. The scores' local becomes the first shortened
 * one. */
static bool find_scores(row_group_mask *s) {
  ir_graph *g = s->g;
  for (uint32_t i = 0; i < s->stores.count; i++) {
    const ir_node *r = ir_get(g, ir_src(g, s->stores.store[i], 2));
    ir_ref start, loads[LOOP_MAX_LOADS];
    if (r->op != IR_OP_REDUCE || ir_arg_int(r) != IR_OP_MAX || r->nsrc != 2) continue;
    if (!ir_is_const(g, ir_src(g, r->src[1], 0), &s->size) || s->size <= FOLD_MASK_TILE ||
        s->size % FOLD_MASK_TILE)
      continue;
    if (!fold_masked_from(g, r->src[0], r->src[1], &start)) continue;
    uint32_t count = affine_find_range(g, r->src[0], IR_OP_LOAD, loads, LOOP_MAX_LOADS);
    for (uint32_t k = 0; k < count; k++) {
      bool scores = ir_op_of(g, ir_src(g, loads[k], 0)) == IR_OP_LOCAL &&
                    key_range(s, ir_src(g, loads[k], 1)) == r->src[1];
      if (!scores) continue;
      s->end = latest_of(s, start);
      return s->end && ir_op_of(g, s->end) != IR_OP_CONST && add_local(s, ir_src(g, loads[k], 0), false);
    }
  }
  return false;
}

/* Is the value -inf from s->end on, or earlier? */
static bool ends_there(row_group_mask *s, ir_ref value, ir_ref range) {
  ir_ref start, end;
  if (!fold_masked_from(s->g, value, range, &start)) return false;
  end = latest_of(s, start);
  return end && (end == s->end || pass_proves(s->g, IR_OP_LE, end, s->end));
}

/* Is the value the maximum of a row that another effect has stored, or that with 0 in place of -inf? */
static bool is_greatest(row_group_mask *s, ir_ref value, ir_ref scores) {
  ir_graph *g = s->g;
  while (ir_op_of(g, value) == IR_OP_BITCAST) value = ir_src(g, value, 0);
  if (ir_op_of(g, value) == IR_OP_WHERE) {
    const ir_node *none = ir_get(g, ir_src(g, value, 0));
    if (none->op != IR_OP_EQ || none->src[0] != ir_src(g, value, 2) || !fold_is_infinite(g, none->src[1]))
      return false;
    value = ir_src(g, value, 2);
  }
  if (ir_op_of(g, value) != IR_OP_LOAD) return false;
  for (uint32_t i = 0; i < s->stores.count; i++) {
    const ir_node *store = ir_get(g, s->stores.store[i]);
    const ir_node *r = ir_get(g, store->src[2]);
    if (store->src[0] != ir_src(g, value, 0)) continue;
    if (r->op != IR_OP_REDUCE || ir_arg_int(r) != IR_OP_MAX || r->nsrc != 2) return false;
    return ir_op_of(g, r->src[0]) == ir_op_of(g, scores) && ends_there(s, r->src[0], r->src[1]);
  }
  return false;
}

/* exp(where(beyond, -inf, ...) - greatest) */
static bool is_weight(row_group_mask *s, ir_ref value, ir_ref range) {
  ir_graph *g = s->g;
  if (ir_op_of(g, value) != IR_OP_EXP || ir_op_of(g, ir_src(g, value, 0)) != IR_OP_SUB) return false;
  const ir_node *sub = ir_get(g, ir_src(g, value, 0));
  return ends_there(s, sub->src[0], range) && is_greatest(s, sub->src[1], sub->src[0]);
}

static ir_ref fresh(row_group_mask *s, ir_ref extent) {
  return ir_make(s->g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(s->stores.next_range++, 0), &extent, 1);
}

/* The sum over the remaining keys of 0 times the factor that the weights are multiplied by. */
static ir_ref masked_remainder(row_group_mask *s, ir_ref factor, ir_ref range) {
  ir_graph *g = s->g;
  ir_ref behind = fresh(s, pass_sub(g, ir_index(g, s->size), s->end)), at = pass_add(g, s->end, behind);
  ir_ref zero = ir_float(g, ir_dtype_of(g, factor), 0);
  ir_ref moved = pass_substitute(g, factor, &range, &at, 1);
  ir_ref term =
      moved ? ir_make(g, IR_OP_FMA, ir_dtype_of(g, factor), 0, (ir_ref[]){moved, zero, zero}, 3) : 0;
  return term ? ir_make(g, IR_OP_REDUCE, ir_dtype_of(g, factor), ir_pack_arg(IR_OP_ADD, 0),
                        (ir_ref[]){term, behind}, 2)
              : 0;
}

/* The reduction with s->end as its extent; 0: it cannot end there. *count: loads of shortened locals in it.
 */
static ir_ref shorten_reduction(row_group_mask *s, ir_ref reduce, ir_ref range, uint32_t *count) {
  ir_graph *g = s->g;
  const ir_node *r = ir_get(g, reduce);
  ir_ref body = r->src[0], key, factor = 0, now = fresh(s, s->end);
  uint32_t other = 0;
  if (r->nsrc != 2 || r->src[1] != range || !loads_below(s, body, &key, count)) return 0;
  if (ir_arg_int(r) == IR_OP_MAX) {
    if (!ends_there(s, body, range)) return 0;
  } else if (ir_arg_int(r) == IR_OP_ADD && ir_is_float((ir_dtype)r->dtype)) {
    const ir_node *b = ir_get(g, body);
    ir_ref weight = b->op == IR_OP_FMA && ir_op_of(g, b->src[2]) == IR_OP_CONST ? b->src[0] : body;
    if (weight != body) {
      bool first = ir_op_of(g, weight) == IR_OP_LOAD && local_of(s, weight);
      factor = b->src[first];
      weight = b->src[!first];
      if (ir_const_value(g, b->src[2]).f != 0 || !loads_below(s, factor, &key, &other) || other) return 0;
    }
    const shortened *local = ir_op_of(g, weight) == IR_OP_LOAD ? local_of(s, weight) : NULL;
    if (!local || !local->zero || !ir_is_true(g, ir_src(g, weight, 2))) return 0;
  } else {
    return 0;
  }
  ir_ref made = pass_substitute(g, reduce, &range, &now, 1),
         remainder = factor ? masked_remainder(s, factor, range) : 0;
  return made && remainder ? ir_binary(g, IR_OP_ADD, made, remainder) : factor ? 0 : made;
}

/* Changes an effect that reads shortened locals so that it does without their missing elements; false where
 * it cannot. */
static bool shorten_reader(row_group_mask *s, ir_ref *store, ir_ref range, uint32_t loads) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, *store);
  if (key_range(s, n->src[1]) == range) { /* it stores the keys' axis itself */
    if (!is_weight(s, n->src[2], range) || !add_local(s, n->src[0], true)) return false;
    ir_ref now = fresh(s, s->end);
    *store = pass_substitute(g, *store, &range, &now, 1);
    return *store != 0;
  }
  ir_ref reduces[LOOP_MAX_LOADS];
  uint32_t count = affine_find_range(g, n->src[2], IR_OP_REDUCE, reduces, LOOP_MAX_LOADS), here = 0, inside;
  ir_ref made[LOOP_MAX_LOADS];
  for (uint32_t i = 0; i < count; i++) {
    made[i] = reduces[i];
    if (!affine_depends(g, reduces[i], range)) continue;
    if (!(made[i] = shorten_reduction(s, reduces[i], range, &inside))) return false;
    here += inside;
  }
  if (count == 0 || count == LOOP_MAX_LOADS || here != loads) return false;
  *store = pass_substitute(g, *store, reduces, made, count);
  return *store != 0;
}

/* Ends the axis of the effect that stores the scores. */
static bool shorten_scores(row_group_mask *s) {
  for (uint32_t i = 0; i < s->stores.count; i++) {
    ir_ref *store = &s->stores.store[i];
    const ir_node *n = ir_get(s->g, *store);
    if (n->src[0] != s->locals[0].local) continue;
    ir_ref range = key_range(s, n->src[1]), now = fresh(s, s->end);
    if (!range) return false;
    *store = pass_substitute(s->g, *store, &range, &now, 1);
    return *store != 0;
  }
  return false;
}

ir_ref pass_row_group_mask(ir_graph *g, ir_ref effect) {
  ir_ref ranges[PASS_ROW_GROUP_RANGES];
  if (pass_row_group_ranges(g, effect, ranges) != 1) return effect;
  row_group_mask s = {.g = g, .iteration = ranges[0]};
  if (!loop_read_stores(g, effect, &s.stores)) return 0;
  if (!find_scores(&s)) return effect;
  for (uint32_t i = 0; i < s.stores.count; i++) {
    ir_ref range;
    uint32_t loads;
    if (!loads_below(&s, ir_src(g, s.stores.store[i], 2), &range, &loads)) return effect;
    if (loads && !shorten_reader(&s, &s.stores.store[i], range, loads)) return effect;
  }
  return shorten_scores(&s) ? ir_make(g, IR_OP_SEQ, IR_NONE, 0, s.stores.store, s.stores.count) : effect;
}
