/* The choice within the memory of a device. Bytes have a price: the smallest one at which what is chosen fits
 * is looked for. It is paid by values that are there where most is held, and at other places that turn out to
 * hold too much. Whatever the price, the least sum of time and prices, less the price of all bytes that there
 * are, is a bound. The next price is that at which the best that fits and the best that does not cost the
 * same: only there may something between them cost less. */
#include "impl.h"

#include <math.h>
#include <string.h>

enum {
  PLACES = 8,   /* of too much at a time: one for each phase of a program, of which there are few */
  RAISES = 24,  /* of the price, by 8: from nothing to more than any time */
  STEADY = 3,   /* raises after which as much is held as before: the last price then, or nothing holds less */
  PARTS = 1024, /* of the limit: as many bytes have the last price of more than any time */
  BETWEEN = 6   /* prices between one that fits and one that does not: few choices lie there */
};
/* Times what messages leave above the bound without a limit: where solving takes long, that is near enough.
 */
static const double enough = 1.005;

/* What does not fit, or does, at the price that is nearest to the other. */
typedef struct budget_end {
  double price, cost;
  uint32_t *chosen;
} budget_end;

typedef struct budget {
  auto_model *m;
  const choice_problem *p;
  choice_problem priced;
  size_t entries, places[PLACES], place_count, total;
  double limit, **cost, *costs, *room; /* cost: by variable, into costs */
  uint32_t *chosen, *best;
  budget_end low, high;
  double *saved;       /* by variable: bytes that `high` holds less than `low`, at all places together */
  double gap;          /* times the bound: what was chosen without a limit */
  choice_pair *pairs;  /* those of the problem, some with tables of their own */
  double least, bound; /* of what fits */
  double peak;         /* of what was chosen last */
  bool exact;          /* so it was solved */
  double smallest;     /* peak so far, and where it was reached: */
  ir_ref largest;      /* the value of most bytes there */
  double largest_bytes;
} budget;

static uint32_t times_held(const budget *b, const auto_life *life) {
  uint32_t count = 0;
  for (size_t i = 0; i < b->place_count; i++)
    count += b->places[i] >= life->first && b->places[i] < life->behind;
  return count;
}

static void put_prices(budget *b, double price) {
  for (size_t v = 0; v < b->p->count; v++)
    memcpy(b->cost[v], b->p->cost[v], b->p->counts[v] * sizeof **b->cost);
  for (size_t i = 0; i < b->m->live_count; i++) {
    uint32_t held = auto_holds(b->m, i) ? times_held(b, &b->m->lives[i]) : 0;
    uint32_t v = held ? auto_source(b->m, b->m->lives[i].node) : 0;
    for (uint32_t k = 0; held && k < b->p->counts[v]; k++)
      b->cost[v][k] += price * held * auto_held(b->m, i, k);
  }
}

/* Copies at the places cost as well: their pairs get tables of their own. False: no memory. */
static bool price_copies(budget *b, double price) {
  const choice_problem *p = b->p;
  for (size_t e = 0; e < p->pair_count; e++) {
    const choice_pair *pair = &p->pairs[e];
    uint32_t rows = p->counts[pair->a], columns = p->counts[pair->b];
    size_t place;
    bool priced = false;
    b->pairs[e] = *pair;
    auto_copied(b->m, pair, 0, 0, &place);
    for (size_t i = 0; i < b->place_count; i++) priced |= b->places[i] == place;
    if (!priced) continue;
    double *cost = ir_alloc(p->mem, (size_t)rows * columns * sizeof *cost);
    if (!cost) return false;
    for (uint32_t i = 0; i < rows; i++)
      for (uint32_t k = 0; k < columns; k++) {
        size_t at = (size_t)i * columns + k;
        cost[at] = pair->cost[at] + price * auto_copied(b->m, pair, i, k, &place);
      }
    b->pairs[e].cost = cost;
  }
  return true;
}

static void free_copies(budget *b) {
  for (size_t e = 0; e < b->p->pair_count; e++) {
    const choice_pair *pair = &b->p->pairs[e];
    if (b->pairs[e].cost != pair->cost)
      ir_free(b->p->mem, (void *)b->pairs[e].cost,
              (size_t)b->p->counts[pair->a] * b->p->counts[pair->b] * sizeof(double));
    b->pairs[e].cost = pair->cost;
  }
}

static void note_largest(budget *b, size_t place) {
  b->largest_bytes = 0;
  for (size_t i = 0; i < b->m->live_count; i++) {
    const auto_life *life = &b->m->lives[i];
    if (!auto_holds(b->m, i) || place < life->first || place >= life->behind) continue;
    double bytes = auto_held(b->m, i, b->chosen[auto_source(b->m, life->node)]);
    if (bytes > b->largest_bytes) b->largest_bytes = bytes, b->largest = life->node;
  }
}

/* Chooses at that price. *fits: within the limit; *again: there is another place of too much. False after
 * failing. */
static bool try_price(budget *b, double price, bool *fits, bool *again) {
  choice_result result;
  size_t worst;
  bool known = false;
  put_prices(b, price);
  bool good = price_copies(b, price) && choice_solve(&b->priced, b->entries, b->chosen, &result);
  free_copies(b);
  if (!good) return auto_no_memory(b->m);
  double bound = result.bound - price * (double)b->place_count * b->limit;
  if (bound > b->bound) b->bound = bound;
  b->exact = result.exact;
  double peak = b->peak = auto_peak(b->m, b->chosen, b->room, &worst), cost = choice_cost(b->p, b->chosen);
  if (peak < b->smallest) b->smallest = peak, note_largest(b, worst);
  *fits = peak <= b->limit;
  for (size_t i = 0; i < b->place_count; i++) known |= b->places[i] == worst;
  *again = !*fits && !known && b->place_count < PLACES;
  if (*again) b->places[b->place_count++] = worst;
  if (*fits && cost < b->least) b->least = cost, memcpy(b->best, b->chosen, b->p->count * sizeof *b->best);
  return true;
}

/* Adds `sign` times what is held at the places, by variable; returns all of it. */
static double add_held(budget *b, const uint32_t *chosen, double sign) {
  const auto_model *m = b->m;
  double sum = 0;
  for (size_t i = 0; i < m->live_count; i++) {
    uint32_t held = auto_holds(m, i) ? times_held(b, &m->lives[i]) : 0, v;
    if (!held) continue;
    v = auto_source(m, m->lives[i].node);
    double bytes = held * auto_held(m, i, chosen[v]);
    b->saved[v] += sign * bytes, sum += bytes;
  }
  for (size_t e = 0; e < m->pair_count; e++) {
    const choice_pair *pair = &m->pairs[e];
    size_t place;
    double bytes = auto_copied(m, pair, chosen[pair->a], chosen[pair->b], &place);
    for (size_t i = 0; i < b->place_count && bytes > 0; i++)
      if (b->places[i] == place) b->saved[pair->a] += sign * bytes, sum += bytes;
  }
  return sum;
}

/* What was chosen is the nearest so far that fits, or does not. */
static void note_end(budget *b, budget_end *end, double price) {
  end->price = price, end->cost = choice_cost(b->p, b->chosen);
  memcpy(end->chosen, b->chosen, b->p->count * sizeof *end->chosen);
}

/* Is what lies between them better? *price: at which both ends cost the same. */
static bool mix_ends(budget *b, double *price) {
  memset(b->saved, 0, b->p->count * sizeof *b->saved);
  double low = add_held(b, b->low.chosen, 1), high = add_held(b, b->high.chosen, -1);
  *price = low > high ? (b->high.cost - b->low.cost) / (low - high) : 0;
  return auto_mix(b->m, b->p, b->low.chosen, b->high.chosen, b->saved, b->limit, b->room, b->best,
                  &b->least) ||
         auto_no_memory(b->m);
}

/* Between two prices at which it fits and does not. Where both ends stay as they are, halfway. */
static bool refine_price(budget *b) {
  bool fits = false, again = false;
  int same = 0; /* prices in a row at which an end stayed as it was */
  for (int i = 0; i < BETWEEN && same < 2; i++) {
    double price;
    if (!mix_ends(b, &price)) return false;
    if (!b->exact && b->least <= enough * b->gap * b->bound) break;
    double low = fmax(b->low.price, b->high.price / 64); /* without a limit the price was 0 */
    if (same || price <= low || price >= b->high.price) price = sqrt(low * b->high.price);
    if (!try_price(b, price, &fits, &again)) return false;
    budget_end *end = fits ? &b->high : &b->low;
    bool stayed = !memcmp(end->chosen, b->chosen, b->p->count * sizeof *b->chosen);
    same = stayed ? same + 1 : 0;
    note_end(b, end, price);
  }
  return true;
}

/* No assignment takes longer. */
static double longest(const choice_problem *p) {
  double sum = 0;
  for (size_t v = 0; v < p->count; v++) {
    double most = 0;
    for (uint32_t i = 0; i < p->counts[v]; i++)
      if (p->cost[v][i] < CHOICE_NEVER) most = fmax(most, p->cost[v][i]);
    sum += most;
  }
  for (size_t e = 0; e < p->pair_count; e++) {
    double most = 0;
    for (size_t i = 0; i < (size_t)p->counts[p->pairs[e].a] * p->counts[p->pairs[e].b]; i++)
      if (p->pairs[e].cost[i] < CHOICE_NEVER) most = fmax(most, p->pairs[e].cost[i]);
    sum += most;
  }
  return sum;
}

static bool find_price(budget *b, double seconds) {
  double price = seconds / b->limit / 1024, last = 0, ends = PARTS * longest(b->p) / b->limit;
  bool fits = false, again = false;
  for (int i = 0, steady = 0; i < RAISES && !fits && (again || last < ends); i++) {
    double peak = b->peak;
    if (!try_price(b, price, &fits, &again)) return false;
    steady = b->peak == peak && !again ? steady + 1 : 0;
    note_end(b, fits ? &b->high : &b->low, price);
    last = price;
    if (!fits && !again) price = steady < STEADY && 8 * price < ends ? 8 * price : ends;
  }
  return b->least >= CHOICE_NEVER || refine_price(b);
}

static bool refuse(const budget *b) {
  ir_graph *g = b->m->g;
  const ir_node *n = ir_get(g, b->largest);
  bool input = n->op == IR_OP_INPUT;
  return ir_fail(
             g->error, IR_ERR_INVALID,
             "automatic choice: nothing keeps within the %.0f bytes of a device; of %.0f that are held at "
             "once %s%.60s takes %.0f; a memory of %.0f, or a larger mesh, would do",
             b->limit, b->smallest, input ? "%" : "", input ? ir_name_text(g, n->arg) : ir_ops[n->op].text,
             b->largest_bytes, b->smallest) == IR_OK;
}

static bool begin(budget *b) {
  const ir_mem *mem = b->m->g->mem;
  for (size_t v = 0; v < b->p->count; v++) b->total += b->p->counts[v];
  b->cost = ir_alloc(mem, b->p->count * sizeof *b->cost);
  b->costs = ir_alloc(mem, b->total * sizeof *b->costs);
  b->room = ir_alloc(mem, 2 * (b->m->live_count + 2) * sizeof *b->room);
  b->best = ir_alloc(mem, b->p->count * sizeof *b->best);
  b->pairs = ir_alloc(mem, b->p->pair_count * sizeof *b->pairs);
  b->saved = ir_alloc(mem, b->p->count * sizeof *b->saved);
  b->low.chosen = ir_alloc(mem, b->p->count * sizeof *b->low.chosen);
  b->high.chosen = ir_alloc(mem, b->p->count * sizeof *b->high.chosen);
  if (!b->saved || !b->low.chosen || !b->high.chosen) return auto_no_memory(b->m);
  if (!b->cost || !b->costs || !b->room || !b->best || !b->pairs) return auto_no_memory(b->m);
  if (b->p->pair_count) memcpy(b->pairs, b->p->pairs, b->p->pair_count * sizeof *b->pairs);
  for (size_t v = 0, at = 0; v < b->p->count; at += b->p->counts[v++]) b->cost[v] = b->costs + at;
  b->priced = *b->p;
  b->priced.pairs = b->pairs;
  b->priced.cost = (const double *const *)b->cost;
  return true;
}

static void end(budget *b) {
  const ir_mem *mem = b->m->g->mem;
  ir_free(mem, b->cost, b->p->count * sizeof *b->cost);
  ir_free(mem, b->costs, b->total * sizeof *b->costs);
  ir_free(mem, b->room, 2 * (b->m->live_count + 2) * sizeof *b->room);
  ir_free(mem, b->best, b->p->count * sizeof *b->best);
  ir_free(mem, b->pairs, b->p->pair_count * sizeof *b->pairs);
  ir_free(mem, b->saved, b->p->count * sizeof *b->saved);
  ir_free(mem, b->low.chosen, b->p->count * sizeof *b->low.chosen);
  ir_free(mem, b->high.chosen, b->p->count * sizeof *b->high.chosen);
}

bool auto_choose(auto_model *m, const choice_problem *p, size_t entries, double limit, uint32_t *chosen,
                 choice_result *out) {
  budget b = {.m = m, .p = p, .entries = entries, .limit = limit, .chosen = chosen, .least = CHOICE_NEVER};
  bool good = begin(&b), solved = good && choice_solve(p, entries, chosen, out);
  if (good && !solved) good = auto_no_memory(m);
  if (good && limit > 0) {
    b.smallest = auto_peak(m, chosen, b.room, &b.places[0]);
    b.place_count = 1, b.bound = out->bound, b.gap = out->cost / out->bound;
    memcpy(b.low.chosen, chosen, p->count * sizeof *chosen);
    b.low.cost = out->cost;
    note_largest(&b, b.places[0]);
    if (b.smallest > limit) {
      good = find_price(&b, out->cost);
      if (good && b.least >= CHOICE_NEVER) good = refuse(&b);
      if (good) memcpy(chosen, b.best, p->count * sizeof *chosen);
      *out = (choice_result){.cost = b.least, .bound = fmin(b.bound, b.least)};
      out->exact = out->bound >= out->cost * (1 - 1e-9);
    }
  }
  end(&b);
  return good;
}
