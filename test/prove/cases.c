/* Case distinctions: an obligation with products of variables of small range, or one that takes too long
 * otherwise, becomes one simpler question for each value of such a variable. */
#include "test/prove/obligation.h"

#include <stdlib.h>
#include <string.h>

enum { CASES = 4096 };

static bool is_number(const obligation *o, int at) { return o->terms[at].op == TERM_NUMBER; }

/* The set of variables that occur in a product with, or as a divisor of, another non-constant term; all
 * variables where there are none. Variables beyond the 64th are not in the set. */
static uint64_t multiplied(const obligation *o) {
  uint64_t *in = calloc((size_t)o->term_count + 1, sizeof *in), found = 0;
  if (!in) exit(2);
  for (int i = 0; i < o->term_count; i++) {
    const term *t = &o->terms[i];
    if (t->op == TERM_VARIABLE && t->value < 64) in[i] = (uint64_t)1 << t->value;
    for (int k = 0; k < 3 && t->arg[k] >= 0; k++) in[i] |= in[t->arg[k]];
    bool divides = t->op == TERM_DIV || t->op == TERM_MOD;
    bool product = t->op == TERM_MUL && !is_number(o, t->arg[0]);
    if ((divides || product) && !is_number(o, t->arg[1])) found |= in[t->arg[1]];
    if (product && !is_number(o, t->arg[1])) found |= in[t->arg[0]];
  }
  free(in);
  return found ? found : ~(uint64_t)0;
}

/* The variable with the smallest range; -1: none. *range: the number of its values. */
static int choose(const obligation *o, uint64_t *range) {
  uint64_t set = multiplied(o);
  int best = -1;
  for (int i = 0; i < o->variable_count && i < 64; i++) {
    const variable *v = &o->variables[i];
    uint64_t size = (uint64_t)v->hi - (uint64_t)v->lo + 1;
    if (!(set >> i & 1) || v->lo == INT64_MIN || v->hi == INT64_MAX || (best >= 0 && size >= *range))
      continue;
    best = i;
    *range = size;
  }
  return best;
}

/* Converts a counterexample of a case into one of the whole obligation, whose other terms are computed
 * anew. */
static verdict keep_point(const obligation *o, const obligation *sub_case, int number, int64_t value,
                          const int64_t *from, int64_t *values) {
  for (int i = 0; i < sub_case->term_count; i++) {
    if (sub_case->terms[i].op != TERM_VARIABLE) continue;
    for (int k = 0; k < o->term_count; k++)
      if (o->terms[k].op == TERM_VARIABLE && strcmp(o->variables[o->terms[k].value].name,
                                                    sub_case->variables[sub_case->terms[i].value].name) == 0)
        values[k] = from[i];
  }
  obligation_set(o, values, number, value);
  return obligation_at(o, CONJUNCT_NONE, values) == POINT_FAILS ? VERDICT_REFUTED : VERDICT_UNKNOWN;
}

static verdict by_cases(solver *s, const obligation *o, uint64_t cases, int64_t *values) {
  uint64_t range = 0;
  verdict v = solver_ask(s, o, values);
  if (v != VERDICT_UNKNOWN) return v;
  int number = choose(o, &range);
  if (number < 0 || range > cases) return VERDICT_UNKNOWN;
  v = VERDICT_PROVEN;
  for (uint64_t i = 0; i < range && v == VERDICT_PROVEN; i++) {
    obligation sub_case;
    int64_t value = o->variables[number].lo + (int64_t)i;
    obligation_with(o, number, value, &sub_case);
    int64_t *at = calloc((size_t)sub_case.term_count + 1, sizeof *at);
    if (!at) exit(2);
    v = by_cases(s, &sub_case, cases / range, at);
    if (v == VERDICT_REFUTED) v = keep_point(o, &sub_case, number, value, at, values);
    free(at);
    obligation_free(&sub_case);
  }
  return v;
}

verdict solver_prove(solver *s, const obligation *o, int64_t *values) {
  return by_cases(s, o, CASES, values);
}
