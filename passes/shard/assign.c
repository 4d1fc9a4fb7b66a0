/* Which axes of the mesh divide which factors of an operation.
 *
 * A spec that the result is to have comes first, then the operands, those with more bytes before others; or
 * the contrary, if that moves less. An axis goes to the first factor that claims it, and a factor to the
 * first list of axes, unless a later one continues it. What loses is divided anew before the operation. */
#include "factors.h"

#include <string.h>

static bool is_late(const shard_factors *f, ir_subaxis x) {
  for (uint32_t k = 0; k < f->late.count; k++)
    if (ir_subaxes_overlap(f->late.axes[k], x)) return true;
  return false;
}

bool shard_is_used(const shard_factors *f, ir_subaxis x, int except) {
  for (uint32_t i = 0; i < f->rule->factor_count; i++)
    for (uint32_t k = 0; k < f->axes[i].count && (int)i != except; k++)
      if (ir_subaxes_overlap(f->axes[i].axes[k], x)) return true;
  return false;
}

/* Does the list continue what the factor has? */
static bool continues(const shard_axes *have, const shard_axes *more) {
  bool same = have->count <= more->count;
  for (uint32_t i = 0; i < have->count && same; i++) same = ir_subaxes_equal(have->axes[i], more->axes[i]);
  return same;
}

/* The factor takes the axes, as far as they are free. */
static void claim(shard_factors *f, uint32_t factor, const shard_axes *axes) {
  shard_axes *have = &f->axes[factor];
  shard_axes taken = {0};
  if (f->whole[factor] || !continues(have, axes)) return;
  for (uint32_t i = 0; i < axes->count && !shard_is_used(f, axes->axes[i], (int)factor); i++) {
    if (is_late(f, axes->axes[i])) break;
    taken.axes[taken.count++] = axes->axes[i];
    if (f->even[factor] && !shard_divides(f->s, f->rule->factors[factor].size, taken.axes, taken.count)) {
      taken.count--;
      break;
    }
  }
  if (taken.count > have->count) *have = taken;
}

/* Splits an axis of the mesh so that its first part divides a factor of which `left` parts are possible. */
static bool split_axis(ir_subaxis x, int64_t left, ir_subaxis *first, ir_subaxis *remainder) {
  if (left <= 1 || left >= x.size || x.size % left || x.weighted) return false;
  *first = (ir_subaxis){.axis = x.axis, .pre = x.pre, .size = (int32_t)left};
  *remainder = (ir_subaxis){.axis = x.axis, .pre = (int32_t)(x.pre * left), .size = (int32_t)(x.size / left)};
  return true;
}

/* An axis with several factors: the outer ones are divided first, and the next one only where those before it
 * are divided into single indices. */
static void claim_compound(shard_factors *f, const op_split *split, const ir_subaxis *axes, uint32_t count) {
  shard_axes all = {.count = count};
  memcpy(all.axes, axes, count * sizeof *axes);
  uint32_t at = 0;
  for (uint32_t i = 0; i < split->count && at < all.count; i++) {
    uint32_t factor = split->factors[i];
    shard_axes mine = {0};
    int64_t size = 0, product = 1;
    bool known = ir_is_const(f->s->g, f->rule->factors[factor].size, &size);
    while (at < all.count) {
      ir_subaxis x = all.axes[at], remainder;
      mine.axes[mine.count] = x;
      if (shard_divides(f->s, f->rule->factors[factor].size, mine.axes, mine.count + 1)) {
        mine.count++, product *= x.size, at++;
      } else if (known && !ir_is_weighted(mine.axes, mine.count) &&
                 split_axis(x, size % product ? 0 : size / product, &x, &remainder)) {
        mine.axes[mine.count++] = x, product *= x.size, all.axes[at] = remainder;
        break;
      } else {
        break;
      }
    }
    if (mine.count) claim(f, factor, &mine);
    const shard_axes *all_of = &f->axes[factor];
    if (!known || product != size || !shard_is_single(all_of->axes, all_of->count, size)) return;
  }
}

static void claim_term(shard_factors *f, const op_term *term, const ir_spec *spec) {
  for (uint32_t d = 0; d < term->rank && d < spec->rank; d++) {
    uint32_t count;
    const ir_subaxis *axes = ir_spec_axes(spec, d, &count);
    const op_split *split = &term->axes[d];
    if (!count || !split->count) continue;
    if (split->count > 1) {
      claim_compound(f, split, axes, count);
      continue;
    }
    shard_axes list = {.count = count};
    memcpy(list.axes, axes, count * sizeof *axes);
    claim(f, split->factors[0], &list);
  }
}

/* The spec of a term: of an axis with several factors, the inner ones count where the outer ones are divided
 * into single indices. *all: is every division of its factors there? */
void shard_spec_of_term(const shard_factors *f, const op_term *term, ir_spec *out) {
  ir_spec_init(out, term->rank);
  for (uint32_t d = 0; d < term->rank; d++)
    for (uint32_t i = 0; i < term->axes[d].count; i++) {
      uint32_t factor = term->axes[d].factors[i];
      const shard_axes *a = &f->axes[factor];
      int64_t size;
      for (uint32_t k = 0; k < a->count; k++) ir_spec_push(out, d, a->axes[k]);
      if (i + 1 < term->axes[d].count && (!ir_is_const(f->s->g, f->rule->factors[factor].size, &size) ||
                                          !shard_is_single(a->axes, a->count, size)))
        break;
    }
}

/* Factors that some axis cannot be divided along with the others: inside of an axis whose outer factors are
 * not divided into single indices. They lose their axes. False: some did. */
bool shard_drop_inner(shard_factors *f) {
  bool kept = true;
  for (uint32_t t = 0; t < f->rule->operands + f->rule->results; t++)
    for (uint32_t d = 0; d < f->rule->terms[t].rank; d++) {
      const op_split *split = &f->rule->terms[t].axes[d];
      bool outer_single = true;
      for (uint32_t i = 0; i < split->count; i++) {
        shard_axes *a = &f->axes[split->factors[i]];
        int64_t size;
        if (!outer_single && a->count) a->count = 0, kept = false;
        outer_single = outer_single &&
                       ir_is_const(f->s->g, f->rule->factors[split->factors[i]].size, &size) &&
                       shard_is_single(a->axes, a->count, size);
      }
    }
  return kept;
}

/* What cannot be done in parts: factors of size 1, and positions of updates that replace each other in order.
 */
void shard_find_whole(shard_factors *f, ir_ref node, bool whole_index) {
  ir_graph *g = f->s->g;
  const ir_node *n = ir_get(g, node);
  const op_sharding *r = f->rule;
  bool in_result[OP_FACTORS_MAX] = {0};
  for (uint32_t t = 0; t < r->operands + r->results; t++)
    for (uint32_t d = 0; d < r->terms[t].rank; d++)
      for (uint32_t i = 0; i < r->terms[t].axes[d].count; i++) {
        uint32_t factor = r->terms[t].axes[d].factors[i];
        in_result[factor] |= t >= r->operands;
        f->even[factor] |= r->terms[t].axes[d].count > 1;
      }
  for (uint32_t i = 0; i < r->factor_count; i++) {
    f->contracted[i] = !in_result[i];
    f->whole[i] = op_is_one(g, r->factors[i].size);
  }
  const op_split *indexed = &r->terms[0].axes[ir_arg_int(n)];
  for (uint32_t i = 0; whole_index && i < indexed->count; i++) f->whole[indexed->factors[i]] = true;
  if (n->op != IR_OP_SCATTER) return;
  const op_term *at = &r->terms[1];
  for (uint32_t d = (uint32_t)ir_arg_small(n); d < at->rank; d++)
    for (uint32_t i = 0; i < at->axes[d].count; i++) f->whole[at->axes[d].factors[i]] = true;
}

/* An extremum of a part needs an element in each. */
static void keep_extrema(shard_factors *f, ir_ref node) {
  ir_op op = ir_op_of(f->s->g, node);
  if (op != IR_OP_REDUCE_MAX && op != IR_OP_REDUCE_MIN) return;
  for (uint32_t i = 0; i < f->rule->factor_count; i++) {
    shard_axes *a = &f->axes[i];
    if (!f->contracted[i] || !a->count) continue;
    ir_ref size = shard_size(f->s, f->rule->factors[i].size, a->axes, a->count);
    if (!size || ir_bounds_of(f->s->g, size).lo < 1) a->count = 0;
  }
}

static void claim_operands(shard_factors *f, ir_ref node, const ir_spec *const *specs) {
  const ir_node *n = ir_get(f->s->g, node);
  uint32_t order[SHARD_OPERANDS], count = f->rule->operands;
  double bytes[SHARD_OPERANDS];
  for (uint32_t i = 0; i < count; i++) {
    uint32_t at = i;
    double b = shard_least_bytes(f->s->g, n->src[i]);
    for (; at > 0 && bytes[at - 1] < b; at--) order[at] = order[at - 1], bytes[at] = bytes[at - 1];
    order[at] = i, bytes[at] = b;
  }
  for (uint32_t i = 0; i < count; i++) claim_term(f, &f->rule->terms[order[i]], specs[order[i]]);
}

ir_op shard_joined_by(const ir_graph *g, ir_ref node) {
  ir_op by = op_sharding_joined_by(ir_op_of(g, node));
  if (ir_op_of(g, node) == IR_OP_GATHER && ir_is_float(ir_dtype_of(g, node))) return IR_OP_WHERE;
  return by == IR_OP_ADD && ir_dtype_of(g, node) == IR_BOOL ? IR_OP_OR : by;
}

/* Ways to choose: what the result is to have before what operands have, or behind; the indexed axis of a
 * gather divided, or whole; operands pending as long as that is possible, or at once divided along these
 * axes. */
typedef struct way {
  bool operands_first, whole_index, late, whole_sum;
} way;

static void find_late(const op_sharding *rule, const ir_spec *const *specs, shard_axes *out) {
  for (uint32_t i = 0; i < rule->operands && !out->count; i++) {
    const ir_subaxis *axes = ir_spec_axes(specs[i], IR_PLACE_PENDING, &out->count);
    memcpy(out->axes, axes, out->count * sizeof *axes);
  }
}

static bool choose(shard_state *s, ir_ref node, const op_sharding *rule, const ir_spec *const *specs,
                   const ir_spec *wanted, way w, shard_choice *out) {
  shard_factors f = {.s = s, .rule = rule};
  shard_find_whole(&f, node, w.whole_index);
  for (uint32_t i = 0; i < rule->factor_count; i++) f.whole[i] |= w.whole_sum && f.contracted[i];
  if (w.late) find_late(rule, specs, &f.late);
  if (wanted && !w.operands_first) claim_term(&f, &rule->terms[rule->operands], wanted);
  claim_operands(&f, node, specs);
  if (wanted && w.operands_first) claim_term(&f, &rule->terms[rule->operands], wanted);
  keep_extrema(&f, node);
  while (!shard_drop_inner(&f)) {}
  for (uint32_t i = 0; i < rule->operands; i++) shard_spec_of_term(&f, &rule->terms[i], &out->operands[i]);
  shard_spec_of_term(&f, &rule->terms[rule->operands], &out->result);
  out->result.joined_by = (uint8_t)shard_joined_by(s->g, node);
  for (uint32_t i = 0; i < rule->factor_count; i++)
    for (uint32_t k = 0; k < f.axes[i].count && f.contracted[i]; k++)
      if (!ir_spec_add(&out->result, IR_PLACE_PENDING, f.axes[i].axes[k])) return false;
  shard_choose_pending(&f, node, specs, out);
  for (uint32_t i = 0; i < rule->operands; i++) {
    ir_spec joined;
    ir_spec_canonical(&out->operands[i], &joined);
    out->operands[i] = joined;
  }
  ir_spec joined;
  ir_spec_canonical(&out->result, &joined);
  out->result = joined;
  return s->g->error->status == IR_OK;
}

bool shard_choose_terms(shard_state *s, ir_ref node, const op_sharding *rule, const ir_spec *const *specs,
                        ir_spec *terms) {
  shard_factors f = {.s = s, .rule = rule};
  shard_find_whole(&f, node, false);
  claim_operands(&f, node, specs);
  while (!shard_drop_inner(&f)) {}
  for (uint32_t t = 0; t < rule->operands + rule->results; t++) {
    ir_spec term;
    shard_spec_of_term(&f, &rule->terms[t], &term);
    for (uint32_t i = 0; i < rule->factor_count && t >= rule->operands; i++)
      for (uint32_t k = 0; k < f.axes[i].count && f.contracted[i]; k++)
        if (!ir_spec_add(&term, IR_PLACE_PENDING, f.axes[i].axes[k])) return false;
    ir_spec_canonical(&term, &terms[t]);
  }
  return s->g->error->status == IR_OK;
}

/* About what it costs: operands, and the result, to what it is to have, or at least not pending. */
static double cost_of(shard_state *s, ir_ref node, const op_sharding *rule, const ir_spec *const *specs,
                      const ir_spec *wanted, const shard_choice *choice) {
  ir_spec to = wanted ? *wanted : choice->result;
  ir_spec_clear(&to, IR_PLACE_PENDING);
  double bytes = shard_move_bytes(s->g, node, &choice->result, &to);
  for (uint32_t i = 0; i < rule->operands; i++)
    bytes += shard_move_bytes(s->g, ir_src(s->g, node, i), specs[i], &choice->operands[i]);
  return bytes;
}

bool shard_choose(shard_state *s, ir_ref node, const op_sharding *rule, const ir_spec *const *specs,
                  const ir_spec *wanted, shard_choice *out) {
  static const way ways[] = {{.late = false},       {.operands_first = true},
                             {.whole_index = true}, {.operands_first = true, .whole_index = true},
                             {.late = true},        {.whole_sum = true}};
  bool pending = false;
  for (uint32_t i = 0; i < rule->operands; i++) pending |= ir_spec_count(specs[i], IR_PLACE_PENDING) > 0;
  double least = 0;
  if (wanted && ir_spec_is_whole(wanted)) wanted = NULL;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    shard_choice other;
    if (ways[i].operands_first && !wanted) continue;
    if (ways[i].late && !pending) continue;
    if (ways[i].whole_sum && ir_op_of(s->g, node) != IR_OP_MATMUL) continue;
    if (ways[i].whole_index && ir_op_of(s->g, node) != IR_OP_GATHER) continue;
    if (!choose(s, node, rule, specs, wanted, ways[i], &other)) return false;
    double bytes = cost_of(s, node, rule, specs, wanted, &other);
    if (i && bytes >= least) continue;
    least = bytes, *out = other;
  }
  return true;
}
