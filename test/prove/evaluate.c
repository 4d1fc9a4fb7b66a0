/* Obligations evaluated at points: the oracle that is independent of solvers. */
#include "test/prove/obligation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/lib/random_graph.h"

static int64_t floor_div(int64_t a, int64_t d) { return a / d - (a % d < 0); }

static int64_t gcd(int64_t a, int64_t b) {
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Facts and demands ensure that no divisor is less than 1. */
bool term_value(const term *t, const int64_t *v, int64_t *out) {
  int64_t a = t->arg[0] < 0 ? 0 : v[t->arg[0]], b = t->arg[1] < 0 ? 0 : v[t->arg[1]];
  switch ((term_op)t->op) {
  case TERM_NUMBER: *out = t->value; return true;
  case TERM_VARIABLE: return true;
  case TERM_ADD: return !__builtin_add_overflow(a, b, out);
  case TERM_SUB: return !__builtin_sub_overflow(a, b, out);
  case TERM_MUL: return !__builtin_mul_overflow(a, b, out);
  case TERM_DIV: *out = b < 1 ? 0 : floor_div(a, b); return true;
  case TERM_MOD: *out = b < 1 ? 0 : a - b * floor_div(a, b); return true;
  case TERM_LT: *out = a < b; return true;
  case TERM_LE: *out = a <= b; return true;
  case TERM_GT: *out = a > b; return true;
  case TERM_GE: *out = a >= b; return true;
  case TERM_EQ: *out = a == b; return true;
  case TERM_NE: *out = a != b; return true;
  case TERM_AND: *out = a & b; return true;
  case TERM_OR: *out = a | b; return true;
  case TERM_NOT: *out = !a; return true;
  case TERM_MIN: *out = a < b ? a : b; return true;
  case TERM_MAX: *out = a > b ? a : b; return true;
  case TERM_WHERE: *out = a ? b : v[t->arg[2]]; return true;
  case TERM_GCD: *out = gcd(a, b); return true;
  default: return false;
  }
}

static bool evaluate(const obligation *o, int *from, int to, int64_t *v) {
  for (; *from <= to; ++*from)
    if (!term_value(&o->terms[*from], v, &v[*from])) return false;
  return true;
}

void obligation_set(const obligation *o, int64_t *values, int number, int64_t value) {
  for (int i = 0; i < o->term_count; i++)
    if (o->terms[i].op == TERM_VARIABLE && o->terms[i].value == number) values[i] = value;
}

point obligation_at(const obligation *o, int without, int64_t *v) {
  int from = 0;
  for (int i = 0; i < o->fact_count; i++) {
    const fact *f = &o->facts[i];
    if (without >= 0 && f->conjunct == without) continue;
    if (!evaluate(o, &from, f->term, v) || !v[f->term]) return POINT_OUTSIDE;
  }
  if (!evaluate(o, &from, o->term_count - 1, v)) return POINT_OUTSIDE;
  for (int i = 0; i < o->demand_count; i++)
    if (!v[o->demands[i]]) return POINT_FAILS;
  return v[o->left] == v[o->right] ? POINT_HOLDS : POINT_FAILS;
}

/* The next point: all points in turn, or a random one. */
static void step(const obligation *o, const int *place, bool sampled, uint64_t *state, int64_t *v) {
  for (int i = 0; i < o->variable_count; i++) {
    const variable *x = &o->variables[i];
    int64_t *at = &v[place[i]];
    if (sampled) {
      *at = random_between(state, x->small_lo, x->small_hi);
    } else {
      if (++*at <= x->small_hi) return;
      *at = x->small_lo;
    }
  }
}

point obligation_try(const obligation *o, int without, trial *t, int64_t *v) {
  int place[32];
  uint64_t total = 1, state = t->seed;
  if (o->variable_count > 32) return POINT_OUTSIDE;
  for (int i = 0; i < o->term_count; i++)
    if (o->terms[i].op == TERM_VARIABLE) place[o->terms[i].value] = i;
  for (int i = 0; i < o->variable_count; i++) {
    const variable *x = &o->variables[i];
    v[place[i]] = x->small_lo;
    if (total <= t->limit) total *= (uint64_t)(x->small_hi - x->small_lo + 1);
  }
  t->sampled = total > t->limit;
  t->points = 0;
  for (uint64_t n = t->sampled ? t->sample : total; n-- > 0; step(o, place, t->sampled, &state, v)) {
    point p = obligation_at(o, without, v);
    t->points += p != POINT_OUTSIDE;
    if (p == POINT_FAILS) return p;
  }
  return t->points ? POINT_HOLDS : POINT_OUTSIDE;
}

void obligation_show_point(const obligation *o, const int64_t *v) {
  printf("  at");
  for (int i = 0; i < o->term_count; i++)
    if (o->terms[i].op == TERM_VARIABLE) printf(" %s=%" PRId64, o->variables[o->terms[i].value].name, v[i]);
  printf(": %" PRId64 " and %" PRId64 "\n", v[o->left], v[o->right]);
}
