/* Clauses whose forms vary independently of one another: which of them may bounds of another form imply? That
 * is decided without a proof, and leaves out most forms.
 *
 * Let the clauses bound forms f1, f2, ... of different ranges, and let F = sum of k_i*f_i + others. From a
 * point where f_i is as large as its clauses allow, single steps of its ranges lead to one where it is
 * larger, by at most the largest coefficient c_i in it. F is then no larger than it may be as long as the
 * other terms can make up for it: where |k_i|*c_i is no more than the difference between their maximum and
 * minimum, F's bounds do not exclude that point, and imply nothing of f_i. */
#include "cheapest.h"

static int64_t magnitude(int64_t c) { return c < 0 ? -c : c; }

/* The clauses as bounds of forms without common ranges; false where they are something else. */
static bool add_group(clause_groups *out, const pass_linear *form, pass_interval in, pass_interval all) {
  uint32_t at = 0;
  while (at < out->count && !pass_linear_same(&out->group[at].form, form)) at++;
  if (at == out->count) {
    if (at == CHEAPEST_CLAUSES) return false;
    for (uint32_t k = 0; k < at; k++)
      for (uint32_t i = 0; i < form->count; i++)
        if (pass_linear_coef(&out->group[k].form, form->term[i].atom)) return false;
    out->group[out->count++] = (clause_group){.form = *form, .in = all};
  }
  clause_group *g = &out->group[at];
  if (in.lo > g->in.lo) g->in.lo = in.lo, g->ends++;
  if (in.hi < g->in.hi) g->in.hi = in.hi, g->ends++;
  return true;
}

/* Is it a sum of ranges of constant sizes, whose bounds and coefficients are small? */
static bool is_over_ranges(ir_graph *g, const pass_linear *form, pass_interval *all) {
  *all = (pass_interval){0, 0};
  for (uint32_t i = 0; i < form->count; i++) {
    const ir_node *n = ir_get(g, form->term[i].atom);
    int64_t size, c = form->term[i].coef, end;
    if (n->op != IR_OP_RANGE || !ir_is_const(g, n->src[0], &size) || size > CHEAPEST_LARGEST || size < 1 ||
        magnitude(c) > CHEAPEST_LARGEST || !ir_add_ok(c > 0 ? all->hi : all->lo, c * (size - 1), &end))
      return false;
    *(c > 0 ? &all->hi : &all->lo) = end;
  }
  return true;
}

void cheapest_group_clauses(ir_graph *g, const ir_ref *clauses, uint32_t count, clause_groups *out) {
  pass_linear form;
  pass_interval in, all;
  out->count = 0;
  out->independent = true;
  for (uint32_t i = 0; i < count && out->independent; i++)
    out->independent = cheapest_bound_of(g, clauses[i], &form, &in) && form.constant == 0 &&
                       is_over_ranges(g, &form, &all) && add_group(out, &form, in, all);
}

/* The factor of a group's form in F, which loses these terms; false where it has them in other proportions.
 */
static bool take_factor(ir_graph *g, const clause_group *group, pass_linear *form, int64_t *factor) {
  int64_t has = pass_linear_coef(form, group->form.term[0].atom), by = group->form.term[0].coef;
  uint32_t before = form->count;
  *factor = has / by;
  if (has == 0) { /* then none of its terms may be in F */
    for (uint32_t i = 1; i < group->form.count; i++)
      if (pass_linear_coef(form, group->form.term[i].atom)) return false;
    return true;
  }
  return has % by == 0 && pass_linear_add(g, form, &group->form, -*factor) &&
         form->count == before - group->form.count;
}

bool cheapest_may_imply(ir_graph *g, const clause_groups *groups, const pass_linear *of) {
  pass_linear form = *of;
  pass_interval other;
  int64_t step[CHEAPEST_CLAUSES], span[CHEAPEST_CLAUSES], sum = 0;
  if (!groups->independent) return true;
  form.constant = 0;
  for (uint32_t i = 0; i < groups->count; i++) {
    const clause_group *group = &groups->group[i];
    int64_t factor, largest = 0;
    if (!take_factor(g, group, &form, &factor)) return true;
    for (uint32_t k = 0; k < group->form.count; k++)
      if (magnitude(group->form.term[k].coef) > largest) largest = magnitude(group->form.term[k].coef);
    /* the values next to its ends that it takes may be so much further inside */
    int64_t size = group->in.hi - group->in.lo - (int64_t)group->ends * (largest - 1);
    if (!ir_mul_ok(magnitude(factor), largest, &step[i]) ||
        !ir_mul_ok(magnitude(factor), size > 0 ? size : 0, &span[i]) || !ir_add_ok(sum, span[i], &sum))
      return true;
  }
  if (!is_over_ranges(g, &form, &other) || !ir_add_ok(sum, other.hi - other.lo, &sum)) return true;
  for (uint32_t i = 0; i < groups->count; i++)
    if (step[i] > sum - span[i]) return true;
  return false;
}
