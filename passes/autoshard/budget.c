/* The choice within the memory of a device. Bytes have a price, which is looked for by bisection: the
 * smallest one at which what is chosen fits. It is paid by values that are there where most is held, and at
 * other places that turn out to hold too much. Whatever the price, the least sum of time and prices, less the
 * price of all bytes that there are, is a bound. */
#include "impl.h"

#include <math.h>
#include <string.h>

enum {
  PLACES = 8,  /* of too much at a time: one for each phase of a program, of which there are few */
  RAISES = 24, /* of the price, by 8: from nothing to more than any time */
  STEADY = 3,  /* raises after which as much is held as before: nothing holds less */
  HALVINGS = 6 /* of the power of 8 in between: to a thirtieth of the price */
};
/* Times the bound: where solving takes long, prices are not refined below one hundredth above it. */
static const double enough = 1.01;

typedef struct budget {
  auto_model *m;
  const choice_problem *p;
  choice_problem priced;
  size_t entries, places[PLACES], place_count, total;
  double limit, **cost, *costs, *room; /* cost: by variable, into costs */
  uint32_t *chosen, *best;
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

static bool find_price(budget *b, double seconds) {
  double high = seconds / b->limit / 1024, low = high / 8, last = 0;
  bool fits = false, again = false;
  for (int i = 0, steady = 0; i < RAISES && !fits && steady < STEADY; i++) {
    if (!try_price(b, high, &fits, &again)) return false;
    steady = b->peak == last && !again ? steady + 1 : 0;
    last = b->peak;
    if (!fits && !again) low = high, high *= 8;
  }
  for (int i = 0; i < HALVINGS && b->least < CHOICE_NEVER; i++) {
    if (!b->exact && b->least <= enough * b->bound) break;
    double price = sqrt(low * high);
    if (!try_price(b, price, &fits, &again)) return false;
    if (fits) high = price;
    else low = price;
  }
  return true;
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
}

bool auto_choose(auto_model *m, const choice_problem *p, size_t entries, double limit, uint32_t *chosen,
                 choice_result *out) {
  budget b = {.m = m, .p = p, .entries = entries, .limit = limit, .chosen = chosen, .least = CHOICE_NEVER};
  bool good = begin(&b), solved = good && choice_solve(p, entries, chosen, out);
  if (good && !solved) good = auto_no_memory(m);
  if (good && limit > 0) {
    b.smallest = auto_peak(m, chosen, b.room, &b.places[0]);
    b.place_count = 1, b.bound = out->bound;
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
