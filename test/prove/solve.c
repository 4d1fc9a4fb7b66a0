/* Obligations for Z3.
 *
 * A quotient x//d becomes fresh q and r with x = d*q + r and 0 <= r <= d-1; x%d is that r. Comparisons and
 * the negated goal are tightened for integers: a < b is a <= b-1, a != b is a <= b-1 or a >= b+1. If this is
 * unsatisfiable over the reals, it is so over the integers, and the theory of the reals is decidable,
 * products included. Where the reals have a solution, the integers are asked, for which products of variables
 * are uninterpreted; then the reals once more, with branching: each unknown whose value was a fraction must
 * be at most its floor or at least one more. */
#include "test/prove/obligation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <z3.h>

enum { REFRESH = 256 };   /* obligations for each context, which never forgets what it is told */
enum { ITERATIONS = 40 }; /* of branching at fractions */

struct solver {
  Z3_context z;
  unsigned solver_budget, asked, fresh;
  Z3_sort number;
  Z3_solver solver;
  bool reals;
  Z3_ast *of; /* by term */
  int cap;
  Z3_ast *unknowns; /* all of these are integers */
  int unknown_count, unknown_cap;
};

static void context_new(solver *s) {
  Z3_config config = Z3_mk_config();
  s->z = Z3_mk_context(config);
  Z3_del_config(config);
  Z3_set_error_handler(s->z, NULL);
  s->asked = 0;
}

solver *solver_new(unsigned solver_budget) {
  solver *s = calloc(1, sizeof *s);
  if (!s) exit(2);
  s->solver_budget = solver_budget;
  context_new(s);
  return s;
}

void solver_free(solver *s) {
  Z3_del_context(s->z);
  free(s->of);
  free(s->unknowns);
  free(s);
}

static Z3_ast number(solver *s, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%" PRId64, value);
  return Z3_mk_numeral(s->z, text, s->number);
}
static Z3_ast unknown(solver *s, int name) {
  if (s->unknown_count == s->unknown_cap) {
    s->unknown_cap = s->unknown_cap ? 2 * s->unknown_cap : 64;
    s->unknowns = realloc(s->unknowns, (size_t)s->unknown_cap * sizeof *s->unknowns);
    if (!s->unknowns) exit(2);
  }
  return s->unknowns[s->unknown_count++] = Z3_mk_const(s->z, Z3_mk_int_symbol(s->z, name), s->number);
}
static Z3_ast fresh(solver *s) { return unknown(s, (int)(1000000 + s->fresh++)); }
static void tell(solver *s, Z3_ast a) { Z3_solver_assert(s->z, s->solver, a); }
static Z3_ast add(solver *s, Z3_ast a, Z3_ast b) { return Z3_mk_add(s->z, 2, (Z3_ast[]){a, b}); }
static Z3_ast sub(solver *s, Z3_ast a, Z3_ast b) { return Z3_mk_sub(s->z, 2, (Z3_ast[]){a, b}); }
static Z3_ast mul(solver *s, Z3_ast a, Z3_ast b) {
  bool linear = Z3_is_numeral_ast(s->z, a) || Z3_is_numeral_ast(s->z, b);
  return linear || s->reals ? Z3_mk_mul(s->z, 2, (Z3_ast[]){a, b}) : fresh(s);
}
static Z3_ast either(solver *s, Z3_ast a, Z3_ast b) { return Z3_mk_or(s->z, 2, (Z3_ast[]){a, b}); }
static Z3_ast both(solver *s, Z3_ast a, Z3_ast b) { return Z3_mk_and(s->z, 2, (Z3_ast[]){a, b}); }
static Z3_ast less(solver *s, Z3_ast a, Z3_ast b) { return Z3_mk_le(s->z, a, sub(s, b, number(s, 1))); }
static Z3_ast differ(solver *s, Z3_ast a, Z3_ast b) { return either(s, less(s, a, b), less(s, b, a)); }

/* A bool that implies `yes` and whose negation implies `no`: over the reals both may fail. */
static Z3_ast decided(solver *s, Z3_ast yes, Z3_ast no) {
  Z3_ast p = Z3_mk_const(s->z, Z3_mk_int_symbol(s->z, (int)(1000000 + s->fresh++)), Z3_mk_bool_sort(s->z));
  tell(s, Z3_mk_implies(s->z, p, yes));
  tell(s, Z3_mk_implies(s->z, Z3_mk_not(s->z, p), no));
  return p;
}

static Z3_ast variable_of(solver *s, const obligation *o, const term *t) {
  const variable *v = &o->variables[t->value];
  if (v->truth) return Z3_mk_const(s->z, Z3_mk_int_symbol(s->z, (int)t->value), Z3_mk_bool_sort(s->z));
  Z3_ast x = unknown(s, (int)t->value);
  if (v->lo != INT64_MIN) tell(s, Z3_mk_ge(s->z, x, number(s, v->lo)));
  if (v->hi != INT64_MAX) tell(s, Z3_mk_le(s->z, x, number(s, v->hi)));
  return x;
}

/* g divides both a and b; the cofactors are integers. */
static Z3_ast greatest_divisor(solver *s, Z3_ast a, Z3_ast b, Z3_ast *cofactors) {
  Z3_ast g = fresh(s), zero = number(s, 0);
  tell(s, Z3_mk_ge(s->z, g, zero));
  tell(s,
       either(s, both(s, Z3_mk_eq(s->z, a, zero), Z3_mk_eq(s->z, b, zero)), Z3_mk_ge(s->z, g, number(s, 1))));
  for (int i = 0; i < 2; i++) {
    Z3_ast c = cofactors[i] = fresh(s);
    tell(s, Z3_mk_eq(s->z, i ? b : a, mul(s, g, c)));
    tell(s, either(s, Z3_mk_eq(s->z, c, zero), differ(s, c, zero)));
  }
  return g;
}

/* q and r of x = d*q + r. For a common divisor the quotient is the cofactor. */
typedef struct division {
  int x, d;
  Z3_ast q, r;
} division;
typedef struct divisions {
  division *list;
  int count;
} divisions;

static division *divide(solver *s, divisions *all, int x, int d) {
  for (int i = 0; i < all->count; i++)
    if (all->list[i].x == x && all->list[i].d == d) return &all->list[i];
  division *made = &all->list[all->count++];
  *made = (division){x, d, fresh(s), fresh(s)};
  Z3_ast one = number(s, 1);
  tell(s, Z3_mk_eq(s->z, s->of[x], add(s, mul(s, s->of[d], made->q), made->r)));
  tell(s, Z3_mk_ge(s->z, made->r, number(s, 0)));
  tell(s, Z3_mk_le(s->z, made->r, sub(s, s->of[d], one)));
  return made;
}

static Z3_ast of_gcd(solver *s, divisions *all, const term *t, int at) {
  Z3_ast cofactors[2];
  Z3_ast g = greatest_divisor(s, s->of[t->arg[0]], s->of[t->arg[1]], cofactors);
  for (int i = 0; i < 2; i++) all->list[all->count++] = (division){t->arg[i], at, cofactors[i], number(s, 0)};
  return g;
}

static Z3_ast compare(solver *s, term_op op, Z3_ast a, Z3_ast b) {
  switch (op) {
  case TERM_LT: return decided(s, less(s, a, b), Z3_mk_ge(s->z, a, b));
  case TERM_LE: return decided(s, Z3_mk_le(s->z, a, b), less(s, b, a));
  case TERM_GT: return decided(s, less(s, b, a), Z3_mk_le(s->z, a, b));
  case TERM_GE: return decided(s, Z3_mk_ge(s->z, a, b), less(s, a, b));
  case TERM_EQ: return decided(s, Z3_mk_eq(s->z, a, b), differ(s, a, b));
  default: return decided(s, differ(s, a, b), Z3_mk_eq(s->z, a, b));
  }
}

static Z3_ast encode(solver *s, const obligation *o, divisions *all, int at) {
  const term *t = &o->terms[at];
  Z3_ast a = t->arg[0] < 0 ? NULL : s->of[t->arg[0]], b = t->arg[1] < 0 ? NULL : s->of[t->arg[1]];
  switch ((term_op)t->op) {
  case TERM_NUMBER:
    if (!t->truth) return number(s, t->value);
    return t->value ? Z3_mk_true(s->z) : Z3_mk_false(s->z);
  case TERM_VARIABLE: return variable_of(s, o, t);
  case TERM_ADD: return add(s, a, b);
  case TERM_SUB: return sub(s, a, b);
  case TERM_MUL: return mul(s, a, b);
  case TERM_DIV: return divide(s, all, t->arg[0], t->arg[1])->q;
  case TERM_MOD: return divide(s, all, t->arg[0], t->arg[1])->r;
  case TERM_AND: return both(s, a, b);
  case TERM_OR: return either(s, a, b);
  case TERM_NOT: return Z3_mk_not(s->z, a);
  case TERM_MIN: return Z3_mk_ite(s->z, Z3_mk_le(s->z, a, b), a, b);
  case TERM_MAX: return Z3_mk_ite(s->z, Z3_mk_ge(s->z, a, b), a, b);
  case TERM_WHERE: return Z3_mk_ite(s->z, a, b, s->of[t->arg[2]]);
  case TERM_GCD: return of_gcd(s, all, t, at);
  case TERM_EQ:
    if (o->terms[t->arg[0]].truth) return Z3_mk_iff(s->z, a, b);
    return compare(s, TERM_EQ, a, b);
  case TERM_NE:
    if (o->terms[t->arg[0]].truth) return Z3_mk_xor(s->z, a, b);
    return compare(s, TERM_NE, a, b);
  default: return compare(s, (term_op)t->op, a, b);
  }
}

/* Adds the terms before `end` and the facts about them. */
static void tell_terms(solver *s, const obligation *o, int end) {
  divisions all = {malloc(sizeof(division) * (size_t)(2 * o->term_count + 1)), 0};
  if (s->cap < o->term_count) {
    s->cap = 2 * o->term_count;
    s->of = realloc(s->of, (size_t)s->cap * sizeof *s->of);
  }
  if (!all.list || !s->of) exit(2);
  for (int i = 0; i < o->term_count; i++) s->of[i] = i < end ? encode(s, o, &all, i) : NULL;
  for (int i = 0; i < o->fact_count; i++)
    if (o->facts[i].term < end) tell(s, s->of[o->facts[i].term]);
  free(all.list);
}

static bool is_linear(const obligation *o) {
  for (int i = 0; i < o->term_count; i++) {
    const term *t = &o->terms[i];
    bool product = t->op == TERM_MUL || t->op == TERM_DIV || t->op == TERM_MOD || t->op == TERM_GCD;
    bool number_right = product && o->terms[t->arg[1]].op == TERM_NUMBER;
    bool number_left = t->op == TERM_MUL && o->terms[t->arg[0]].op == TERM_NUMBER;
    if (product && !number_left && !number_right) return false;
  }
  return true;
}

static void begin(solver *s, bool simple, bool reals) {
  s->reals = reals;
  s->unknown_count = 0;
  s->number = reals ? Z3_mk_real_sort(s->z) : Z3_mk_int_sort(s->z);
  s->solver =
      simple ? Z3_mk_simple_solver(s->z) : Z3_mk_solver_for_logic(s->z, Z3_mk_string_symbol(s->z, "QF_NRA"));
  Z3_solver_inc_ref(s->z, s->solver);
  Z3_params p = Z3_mk_params(s->z);
  Z3_params_inc_ref(s->z, p);
  Z3_params_set_uint(s->z, p, Z3_mk_string_symbol(s->z, "rlimit"), s->solver_budget);
  Z3_solver_set_params(s->z, s->solver, p);
  Z3_params_dec_ref(s->z, p);
}

/* Reads the solver's point, if its unknowns are integers and evaluation confirms it. */
static bool read_point(solver *s, const obligation *o, int64_t *values) {
  Z3_model m = Z3_solver_get_model(s->z, s->solver);
  bool whole = m != NULL;
  if (m) Z3_model_inc_ref(s->z, m);
  for (int i = 0; i < o->term_count && whole; i++) {
    Z3_ast v;
    if (o->terms[i].op != TERM_VARIABLE || !s->of[i]) continue;
    whole = Z3_model_eval(s->z, m, s->of[i], true, &v);
    if (whole && o->terms[i].truth) values[i] = Z3_get_bool_value(s->z, v) == Z3_L_TRUE;
    else if (whole) whole = Z3_is_numeral_ast(s->z, v) && Z3_get_numeral_int64(s->z, v, &values[i]);
  }
  if (m) Z3_model_dec_ref(s->z, m);
  return whole && obligation_at(o, CONJUNCT_NONE, values) == POINT_FAILS;
}

/* Branches: each unknown that is a fraction in the solver's point must be at most its floor or at least one
 * more. Returns how many there were. */
static int split(solver *s) {
  Z3_model m = Z3_solver_get_model(s->z, s->solver);
  int fractions = 0;
  if (!m) return 0;
  Z3_model_inc_ref(s->z, m);
  for (int i = 0; i < s->unknown_count; i++) {
    Z3_ast v;
    int64_t top, bottom, whole;
    if (!Z3_model_eval(s->z, m, s->unknowns[i], true, &v)) continue;
    if (Z3_is_algebraic_number(s->z, v)) v = Z3_get_algebraic_number_lower(s->z, v, 10);
    if (!Z3_is_numeral_ast(s->z, v) || Z3_get_numeral_int64(s->z, v, &whole)) continue;
    if (!Z3_get_numeral_rational_int64(s->z, v, &top, &bottom)) continue;
    int64_t floor = top / bottom - (top % bottom < 0);
    fractions++;
    tell(s, either(s, Z3_mk_le(s->z, s->unknowns[i], number(s, floor)),
                   Z3_mk_ge(s->z, s->unknowns[i], number(s, floor + 1))));
  }
  Z3_model_dec_ref(s->z, m);
  return fractions;
}

static verdict check(solver *s, const obligation *o, int iterations, int64_t *values) {
  for (;; iterations--) {
    Z3_lbool found = Z3_solver_check(s->z, s->solver);
    if (found == Z3_L_FALSE) return VERDICT_PROVEN;
    if (found == Z3_L_UNDEF) return VERDICT_UNKNOWN;
    if (values && read_point(s, o, values)) return VERDICT_REFUTED;
    if (iterations == 0 || split(s) == 0) return VERDICT_UNKNOWN;
  }
}

/* demand -1: asks whether the two sides are equal; else for that demand. */
static verdict ask(solver *s, const obligation *o, bool simple, bool reals, int iterations, int demand,
                   int64_t *values) {
  begin(s, simple, reals);
  tell_terms(s, o, demand < 0 ? o->term_count : o->demands[demand] + 1);
  if (demand >= 0) {
    tell(s, Z3_mk_not(s->z, s->of[o->demands[demand]]));
  } else {
    Z3_ast l = s->of[o->left], r = s->of[o->right];
    if (o->witness_left >= 0) { /* integers: equal, or at least 1 apart */
      Z3_ast a = s->of[o->witness_left], b = s->of[o->witness_right];
      tell(s, either(s, Z3_mk_eq(s->z, a, b), differ(s, a, b)));
    }
    tell(s, o->terms[o->left].truth ? Z3_mk_xor(s->z, l, r) : differ(s, l, r));
  }
  verdict v = check(s, o, iterations, values);
  Z3_solver_dec_ref(s->z, s->solver);
  return v;
}

verdict solver_ask(solver *s, const obligation *o, int64_t *values) {
  bool linear = is_linear(o);
  if (o->left == o->right && !o->demand_count) return VERDICT_PROVEN;
  if (s->asked++ == REFRESH) {
    Z3_del_context(s->z);
    context_new(s);
  }
  for (int demand = -1; demand < o->demand_count; demand++) {
    verdict v = ask(s, o, linear, true, 0, demand, values);
    if (v == VERDICT_UNKNOWN) v = ask(s, o, true, false, 0, demand, values);
    if (v == VERDICT_UNKNOWN && !linear) v = ask(s, o, false, true, ITERATIONS, demand, values);
    if (v != VERDICT_PROVEN) return v;
  }
  return VERDICT_PROVEN;
}
