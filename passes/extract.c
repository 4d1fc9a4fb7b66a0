/* The cheapest way of writing index expressions: a small search over the ways of writing each quotient, each
 * combination priced with what its sums share. */
#include "extract.h"

#include "extract_impl.h"

const pass_extract_costs pass_print_costs = {.add = 8,
                                             .mul = 8,
                                             .div = 40,
                                             .mod = 40,
                                             .power2_mul = 8,
                                             .power2_div = 40,
                                             .compare = 8,
                                             .choice = 8,
                                             .minus = 1};
const pass_extract_costs pass_machine_costs = {.add = 8,
                                               .mul = 12,
                                               .div = 48,
                                               .mod = 64,
                                               .power2_mul = 8,
                                               .power2_div = 8,
                                               .compare = 8,
                                               .choice = 8,
                                               .minus = 1};

/* The best plan so far and the one being tried change places rather than being copied. */
typedef struct search {
  extraction *x;
  extract_plan plan[2];
  int best; /* which; -1: none yet */
  int trials;
} search;

/* Price the ways in the plan that is not the best; keep it if it is cheaper. */
static bool try_ways(search *s) {
  extract_plan *p = &s->plan[s->best == 0];
  s->trials++;
  if (!extract_plan_make(s->x, p)) return false;
  extract_share(s->x, p);
  if (s->best >= 0 && p->cost >= s->plan[s->best].cost) return false;
  s->best = s->best == 0;
  return true;
}

/* One quotient written another way. */
static bool try_way(search *s, uint32_t quotient, uint32_t way) {
  const extract_plan *from = &s->plan[s->best];
  extract_plan *p = &s->plan[s->best == 0];
  for (uint32_t i = 0; i < s->x->quotients; i++) p->way[i] = from->way[i];
  p->way[quotient] = (uint8_t)way;
  return try_ways(s);
}

static void improve(search *s) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (uint32_t i = s->x->quotients; i-- > 0;)
      for (uint32_t w = 0; w < s->x->quotient[i].ways; w++) {
        if (s->trials >= EXTRACT_TRIALS) return;
        if (w != s->plan[s->best].way[i]) changed |= try_way(s, i, w);
      }
  }
}

/* Nodes beyond 64 bits would mean something else in a machine. */
static bool all_fit(ir_graph *g, uint32_t from) {
  const int64_t most = INT64_MAX / 2;
  for (uint32_t i = from; i < g->count; i++) {
    ir_bounds b = ir_bounds_of(g, i);
    if (ir_dtype_of(g, i) == IR_INDEX && ir_op_of(g, i) != IR_OP_CONST && (b.lo < -most || b.hi > most))
      return false;
  }
  return true;
}

bool pass_extract(ir_graph *g, const pass_extract_costs *costs, ir_ref *roots, uint32_t count) {
  extraction x;
  search s;
  ir_ref made[EXTRACT_NEEDS];
  if (count > EXTRACT_NEEDS) return true;
  for (uint32_t i = 0; i < count; i++)
    if (!(made[i] = roots[i])) return false;
  x.g = g;
  x.costs = costs;
  if (!extract_read(&x, roots, count)) return g->error->status != IR_ERR_MEMORY;
  extract_ways(&x);
  s.x = &x;
  s.best = -1;
  s.trials = 0;
  for (uint32_t i = 0; i < x.quotients; i++) s.plan[1].way[i] = 0;
  s.best = 0; /* the first trial goes to plan[1] */
  s.plan[0].cost = INT32_MAX;
  if (!try_ways(&s)) return true;
  improve(&s);
  if (s.plan[s.best].cost >= x.cost) return true;
  uint32_t before = g->count;
  if (!extract_emit(&x, &s.plan[s.best], made, count)) return g->error->status != IR_ERR_MEMORY;
  for (uint32_t i = 0; i < count && all_fit(g, before); i++) roots[i] = made[i];
  return g->error->status != IR_ERR_MEMORY;
}
