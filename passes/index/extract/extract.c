/* The cheapest form of index expressions: a local search over the alternatives of each quotient; each
 * combination is priced after common subexpressions of its sums are found. */
#include "extract.h"

#include "impl.h"

/* Costs in eighths of an addition; a minus sign breaks ties. What is printed counts operations, a division as
 * five, and has no choices. A machine divides by a constant in a multiplication of twice the width, shifts
 * and additions, six in all, and two more for the remainder; a comparison and a selection are one each. */
const pass_extract_costs pass_print_costs = {.add = 8,
                                             .mul = 8,
                                             .div = 40,
                                             .mod = 40,
                                             .power2_mul = 8,
                                             .power2_div = 40,
                                             .compare = 8,
                                             .choice = 1000,
                                             .minus = 1};
/* costs on a machine, as said above */
const pass_extract_costs pass_machine_costs = {.add = 8,
                                               .mul = 12,
                                               .div = 48,
                                               .mod = 64,
                                               .power2_mul = 8,
                                               .power2_div = 8,
                                               .compare = 8,
                                               .choice = 8,
                                               .minus = 1};

/* The best plan so far and the one being tried are swapped rather than copied. */
typedef struct search {
  extraction *x;
  extract_plan plan[2];
  int best; /* index of the best plan */
  int trials;
} search;

/* Prices the plan that is not the best; makes it the best if it is cheaper. */
static bool price_alternatives(search *s) {
  extract_plan *p = &s->plan[s->best == 0];
  s->trials++;
  if (!extract_plan_make(s->x, p, s->plan[s->best].cost)) return false;
  extract_share(s->x, p);
  if (p->cost >= s->plan[s->best].cost) return false;
  s->best = s->best == 0;
  return true;
}

/* The best plan with another alternative for one quotient. */
static bool try_alternative(search *s, uint32_t quotient, uint32_t alternative) {
  const extract_plan *from = &s->plan[s->best];
  extract_plan *p = &s->plan[s->best == 0];
  for (uint32_t i = 0; i < s->x->quotients; i++) p->alternative[i] = from->alternative[i];
  p->alternative[quotient] = (uint8_t)alternative;
  return price_alternatives(s);
}

/* Every quotient in lowest terms; false where even this plan exceeds the limits. */
static bool first_plan(search *s) {
  s->best = 0;
  s->plan[0].cost = INT32_MAX;
  for (uint32_t i = 0; i < s->x->quotients; i++) s->plan[1].alternative[i] = 0;
  return price_alternatives(s);
}

static void improve_plan(search *s) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (uint32_t i = s->x->quotients; i-- > 0;)
      for (uint32_t w = 0; w < s->x->quotient[i].alternatives; w++) {
        if (s->trials >= EXTRACT_TRIALS) return;
        if (w != s->plan[s->best].alternative[i]) changed |= try_alternative(s, i, w);
      }
  }
}

/* Machine integers represent a node only if its values fit. */
static bool all_fit(extraction *x, const ir_ref *roots, uint32_t count) {
  const int64_t most = INT64_MAX / 2;
  if (!extract_collect(x, roots, count)) return false;
  for (uint32_t i = 0; i < x->items; i++) {
    ir_bounds b = ir_bounds_of(x->g, x->item[i].node);
    if (ir_dtype_of(x->g, x->item[i].node) == IR_INDEX && (b.lo < -most || b.hi > most)) return false;
  }
  return true;
}

/* What a search works on: too large for the stack. */
typedef struct workspace {
  extraction x;
  search s;
} workspace;

/* One search. *again: it replaced the roots, and another search may improve them further. */
static bool extract_once(workspace *w, ir_graph *g, const pass_extract_costs *costs, ir_ref *roots,
                         uint32_t count, bool *again) {
  extraction *x = &w->x; /* unused entries stay uninitialized */
  search *s = &w->s;
  x->g = g;
  x->costs = costs;
  s->x = x;
  s->trials = 0;
  ir_ref made[EXTRACT_NEEDS];
  *again = false;
  for (uint32_t i = 0; i < count; i++) made[i] = roots[i];
  if (!extract_read(x, roots, count)) return !ir_gives_up(g->error->status);
  extract_find_alternatives(x);
  if (!first_plan(s)) return true;
  improve_plan(s);
  if (s->plan[s->best].cost >= x->cost) return true;
  if (!extract_emit(x, &s->plan[s->best], made, count)) return !ir_gives_up(g->error->status);
  if (!all_fit(x, made, count)) return !ir_gives_up(g->error->status);
  for (uint32_t i = 0; i < count; i++) roots[i] = made[i];
  *again = true;
  return true;
}

bool pass_extract(ir_graph *g, const pass_extract_costs *costs, ir_ref *roots, uint32_t count) {
  bool again = count <= EXTRACT_NEEDS, good = true;
  for (uint32_t i = 0; i < count; i++)
    if (!roots[i]) return false;
  if (!again) return true;
  workspace *w = ir_alloc(g->mem, sizeof *w);
  if (!w) {
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory searching for cheaper index expressions");
    return false;
  }
  for (int iteration = 0; good && again && iteration < EXTRACT_ITERATIONS; iteration++)
    good = extract_once(w, g, costs, roots, count, &again);
  ir_free(g->mem, w, sizeof *w);
  return good;
}
