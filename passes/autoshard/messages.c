/* Sequential reweighted message passing (V. Kolmogorov, Convergent tree-reweighted message passing, 2006): a
 * bound, and assignments near it, in time that grows with the tables.
 *
 * A message of a pair to one of its variables is taken from the pair and added to the variable, which
 * changes no sum. Going over the variables in order, a variable hands what it has, in equal shares, to the
 * pairs with later ones; going back, to those with earlier ones; and a pair hands to its other variable the
 * least that there is for each of its strategies. Sums of least numbers are a bound, and do not fall. Where a
 * variable comes to its turn with the earlier ones chosen, its least is a good choice. */
#include "problem.h"

#include <string.h>

enum {
  SWEEPS = 60, /* because the bound is within a ten thousandth after 20 in blocks of transformers */
  SETTLED = 4  /* sweeps without progress end it */
};
static const double progress = 1e-5; /* of the bound, in one sweep */

typedef struct passing {
  const choice_problem *p;
  choice_neighbours near;
  double **to[2]; /* by pair: messages to its first and to its second variable */
  double *numbers, *share, *most, *least;
  double *behind; /* by pair: what was taken from it in the last sweep back */
  size_t total;
} passing;

static bool is_later(const choice_pair *pair, uint32_t v) { return choice_other(pair, v) > v; }

/* What v has: its costs and the messages that it got. Returns in how many shares it is handed on. */
static uint32_t gather(const passing *s, uint32_t v, double *out) {
  const choice_problem *p = s->p;
  uint32_t later = 0, count = s->near.first[v + 1] - s->near.first[v];
  memcpy(out, p->cost[v], p->counts[v] * sizeof *out);
  for (uint32_t e = s->near.first[v]; e < s->near.first[v + 1]; e++) {
    uint32_t number = s->near.list[e];
    const double *message = s->to[p->pairs[number].b == v][number];
    later += is_later(&p->pairs[number], v);
    for (uint32_t i = 0; i < p->counts[v]; i++) out[i] += message[i];
  }
  uint32_t shares = later > count - later ? later : count - later;
  return shares ? shares : 1;
}

static double take_least(double *numbers, uint32_t count) {
  double least = numbers[0];
  for (uint32_t i = 1; i < count; i++) least = numbers[i] < least ? numbers[i] : least;
  for (uint32_t i = 0; i < count; i++) {
    numbers[i] -= least;
    if (numbers[i] > CHOICE_NEVER / 2) numbers[i] = CHOICE_NEVER;
  }
  return least;
}

/* out: for each strategy of the other variable the least of given[i] and the table, over those of v. */
static void least_over(const choice_problem *p, const choice_pair *pair, uint32_t v, const double *given,
                       double *out) {
  uint32_t rows = p->counts[pair->a], columns = p->counts[pair->b];
  const double *row = pair->cost;
  if (pair->a == v) {
    for (uint32_t k = 0; k < columns; k++) out[k] = CHOICE_NEVER;
    for (uint32_t i = 0; i < rows; i++, row += columns)
      for (uint32_t k = 0; k < columns; k++) out[k] = row[k] + given[i] < out[k] ? row[k] + given[i] : out[k];
    return;
  }
  for (uint32_t i = 0; i < rows; i++, row += columns) {
    double least[4] = {CHOICE_NEVER, CHOICE_NEVER, CHOICE_NEVER,
                       CHOICE_NEVER}; /* do not wait for one another */
    uint32_t k = 0;
    for (; k + 4 <= columns; k += 4)
      for (uint32_t j = 0; j < 4; j++) {
        double sum = row[k + j] + given[k + j];
        least[j] = sum < least[j] ? sum : least[j];
      }
    for (; k < columns; k++) least[0] = row[k] + given[k] < least[0] ? row[k] + given[k] : least[0];
    least[0] = least[1] < least[0] ? least[1] : least[0];
    least[2] = least[3] < least[2] ? least[3] : least[2];
    out[i] = least[2] < least[0] ? least[2] : least[0];
  }
}

/* Hands the share of v to the pair, and its least to the other variable. Returns what every strategy costs.
 */
static double send(passing *s, uint32_t number, uint32_t v, const double *has, double share) {
  const choice_problem *p = s->p;
  const choice_pair *pair = &p->pairs[number];
  uint32_t other = choice_other(pair, v);
  const double *got = s->to[pair->b == v][number];
  double *out = s->to[pair->b != v][number];
  for (uint32_t i = 0; i < p->counts[v]; i++)
    s->share[i] = has[i] > CHOICE_NEVER / 2 ? CHOICE_NEVER : share * has[i] - got[i];
  least_over(p, pair, v, s->share, out);
  return take_least(out, p->counts[other]);
}

/* Earlier variables are chosen. */
static uint32_t choose(const passing *s, uint32_t v, const uint32_t *chosen) {
  const choice_problem *p = s->p;
  uint32_t count = p->counts[v], best = 0;
  memcpy(s->most, p->cost[v], count * sizeof *s->most);
  for (uint32_t e = s->near.first[v]; e < s->near.first[v + 1]; e++) {
    uint32_t number = s->near.list[e];
    const choice_pair *pair = &p->pairs[number];
    uint32_t other = choice_other(pair, v);
    for (uint32_t i = 0; i < count; i++)
      s->most[i] +=
          is_later(pair, v) ? s->to[pair->b == v][number][i] : choice_pair_cost(p, pair, v, i, chosen[other]);
  }
  for (uint32_t i = 1; i < count; i++)
    if (s->most[i] < s->most[best]) best = i;
  return best;
}

static void forwards(passing *s, uint32_t *chosen) {
  for (uint32_t v = 0; v < s->p->count; v++) {
    chosen[v] = choose(s, v, chosen);
    double share = 1.0 / gather(s, v, s->most);
    take_least(s->most, s->p->counts[v]);
    for (uint32_t e = s->near.first[v]; e < s->near.first[v + 1]; e++)
      if (is_later(&s->p->pairs[s->near.list[e]], v)) send(s, s->near.list[e], v, s->most, share);
  }
}

/* Returns the bound. */
static double backwards(passing *s) {
  double bound = 0;
  for (uint32_t v = (uint32_t)s->p->count; v-- > 0;) {
    double share = 1.0 / gather(s, v, s->most);
    bound += take_least(s->most, s->p->counts[v]);
    for (uint32_t e = s->near.first[v]; e < s->near.first[v + 1]; e++) {
      uint32_t number = s->near.list[e];
      if (is_later(&s->p->pairs[number], v)) continue;
      bound += s->behind[number] = send(s, number, v, s->most, share);
    }
  }
  return bound;
}

/* What each strategy costs at least, after a sweep back. A variable keeps of what it has what it does not
 * hand on; of a pair with a later variable every strategy has the same least; of one with an earlier variable
 * there is what lies above it. */
static void find_least(passing *s, choice_messages *m) {
  const choice_problem *p = s->p;
  for (uint32_t v = 0; v < p->count; v++) {
    uint32_t shares = gather(s, v, s->most), earlier = 0;
    take_least(s->most, p->counts[v]);
    for (uint32_t i = 0; i < p->counts[v]; i++) m->least[v][i] = m->bound;
    for (uint32_t e = s->near.first[v]; e < s->near.first[v + 1]; e++) {
      uint32_t number = s->near.list[e];
      const choice_pair *pair = &p->pairs[number];
      if (is_later(pair, v)) continue;
      uint32_t other = choice_other(pair, v);
      const double *theirs = s->to[pair->b == other][number], *own = s->to[pair->b == v][number];
      earlier++;
      for (uint32_t k = 0; k < p->counts[other]; k++)
        s->share[k] = theirs[k] > CHOICE_NEVER / 2 ? CHOICE_NEVER : -theirs[k];
      least_over(p, pair, other, s->share, s->least);
      for (uint32_t i = 0; i < p->counts[v]; i++)
        m->least[v][i] += s->least[i] - own[i] + s->most[i] / shares - s->behind[number];
    }
    for (uint32_t i = 0; i < p->counts[v]; i++) {
      m->least[v][i] += s->most[i] * (1 - (double)earlier / shares);
      if (s->most[i] > CHOICE_NEVER / 2) m->least[v][i] = CHOICE_NEVER;
    }
  }
}

static bool begin(passing *s, choice_messages *m) {
  const choice_problem *p = s->p;
  uint32_t most = 1;
  for (size_t e = 0; e < p->pair_count; e++) s->total += p->counts[p->pairs[e].a] + p->counts[p->pairs[e].b];
  for (size_t v = 0; v < p->count; v++) most = p->counts[v] > most ? p->counts[v] : most;
  for (size_t v = 0; v < p->count; v++) m->total += p->counts[v];
  s->total += 3 * (size_t)most;
  s->numbers = ir_alloc(p->mem, s->total * sizeof *s->numbers);
  for (int end = 0; end < 2; end++) s->to[end] = ir_alloc(p->mem, p->pair_count * sizeof **s->to);
  s->behind = ir_alloc(p->mem, p->pair_count * sizeof *s->behind);
  m->least = ir_alloc(p->mem, p->count * sizeof *m->least);
  m->numbers = ir_alloc(p->mem, m->total * sizeof *m->numbers);
  m->chosen = ir_alloc(p->mem, p->count * sizeof *m->chosen);
  if (!choice_neighbours_make(p, &s->near) || !s->numbers || !s->to[0] || !s->to[1] || !s->behind ||
      !m->least || !m->numbers || !m->chosen)
    return false;
  memset(s->numbers, 0, s->total * sizeof *s->numbers);
  double *at = s->numbers;
  s->share = at, s->most = at + most, s->least = at + 2 * (size_t)most, at += 3 * (size_t)most;
  for (size_t e = 0; e < p->pair_count; e++) {
    s->to[0][e] = at, at += p->counts[p->pairs[e].a];
    s->to[1][e] = at, at += p->counts[p->pairs[e].b];
  }
  at = m->numbers;
  for (size_t v = 0; v < p->count; at += p->counts[v++]) m->least[v] = at;
  return true;
}

bool choice_pass_messages(const choice_problem *p, choice_messages *m) {
  passing s = {.p = p};
  *m = (choice_messages){.cost = CHOICE_NEVER};
  uint32_t *now = ir_alloc(p->mem, p->count * sizeof *now);
  bool good = begin(&s, m) && now;
  double last = 0;
  for (int i = 0, settled = 0; i < SWEEPS && settled < SETTLED && good; i++) {
    forwards(&s, now);
    m->bound = backwards(&s);
    double cost = choice_cost(p, now);
    settled = m->bound - last > progress * m->bound || cost < m->cost ? 0 : settled + 1;
    last = m->bound;
    if (cost < m->cost) m->cost = cost, memcpy(m->chosen, now, p->count * sizeof *now);
  }
  if (good) find_least(&s, m);
  ir_free(p->mem, now, p->count * sizeof *now);
  ir_free(p->mem, s.numbers, s.total * sizeof *s.numbers);
  for (int end = 0; end < 2; end++) ir_free(p->mem, s.to[end], p->pair_count * sizeof **s.to);
  ir_free(p->mem, s.behind, p->pair_count * sizeof *s.behind);
  choice_neighbours_free(p, &s.near);
  return good;
}

void choice_messages_free(const choice_problem *p, choice_messages *m) {
  ir_free(p->mem, m->least, p->count * sizeof *m->least);
  ir_free(p->mem, m->numbers, m->total * sizeof *m->numbers);
  ir_free(p->mem, m->chosen, p->count * sizeof *m->chosen);
  *m = (choice_messages){0};
}
