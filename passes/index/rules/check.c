/* Checks of a rule before it is compiled: every variable is bound, the left side is canonical, no rule is
 * repeated, none is shadowed by an earlier rule that matches whenever it does. */
#include "rulec.h"

#include <string.h>

static bool equal(const expr *a, const expr *b) {
  if (!a || !b) return a == b;
  if (a->kind != b->kind || a->value != b->value) return false;
  for (int i = 0; i < 3; i++)
    if (!equal(a->arg[i], b->arg[i])) return false;
  return true;
}

bool rulec_is_constant(const expr *e) {
  if (e->kind == LO || e->kind == HI || e->kind == KNOWN) return true;
  if (e->kind == EXPRESSION || e->kind == TRUTH || e->kind >= WHERE) return e->kind == GCD;
  for (int i = 0; i < rulec_kinds[e->kind].arity; i++)
    if (!rulec_is_constant(e->arg[i])) return false;
  return e->kind < LT || e->kind == MIN || e->kind == MAX;
}

bool rulec_mentions(const expr *e, int letter) {
  if (!e) return false;
  if (e->kind == CONSTANT || e->kind == EXPRESSION) return e->value == letter;
  return rulec_mentions(e->arg[0], letter) || rulec_mentions(e->arg[1], letter) ||
         rulec_mentions(e->arg[2], letter);
}

void rulec_check_bound(const expr *e, const expr *left, const char *where) {
  if (!e) return;
  if ((e->kind == CONSTANT || e->kind == EXPRESSION) && !rulec_mentions(left, (int)e->value))
    rulec_fail("variable '%c' of the %s is not bound by the left side", (int)e->value, where);
  for (int i = 0; i < 3; i++) rulec_check_bound(e->arg[i], left, where);
}

bool rulec_is_leaf_constant(const expr *e) { return e->kind == CONSTANT || e->kind == NUMBER; }
bool rulec_is_compare(kind k) { return k >= LT && k <= NE; }

/* Terms of a sum, left to right. */
int rulec_terms(expr *e, expr **out, int n) {
  if (e->kind != ADD) {
    if (n < RULEC_TERMS) out[n] = e;
    return n + 1;
  }
  return rulec_terms(e->arg[1], out, rulec_terms(e->arg[0], out, n));
}

static void check_sum(expr *e) {
  expr *term[RULEC_TERMS];
  int n = rulec_terms(e, term, 0);
  if (n > 4) rulec_fail("a sum in a left side has at most four terms");
  for (int i = 0; i < n; i++) {
    bool last = i == n - 1;
    if (rulec_is_leaf_constant(term[i]) && !last)
      rulec_fail("left side is not in canonical form: the constant of a sum comes last");
    bool alone = n == 2 && i == 0 && rulec_is_leaf_constant(term[1]); /* x + c */
    if (term[i]->kind == EXPRESSION && !last && !alone)
      rulec_fail("left side is not in canonical form: a bare variable in a sum stands for the remaining "
                 "terms and comes last");
  }
}

static void check_canonical(expr *e) {
  kind k = e->kind;
  if (k == SUB)
    rulec_fail(
        "left side is not in canonical form: there is no subtraction, write x + y*a with a constant a");
  if (k == LE || k == GT) rulec_fail("left side is not in canonical form: comparisons are < >= == !=");
  if (k == EXACT || k >= GCD)
    rulec_fail("left side is not in canonical form: '%s' is for constants", rulec_kinds[k].text);
  if (k >= ADD && rulec_is_constant(e)) rulec_fail("left side is not in canonical form: constants fold");
  if (k == ADD) check_sum(e);
  if (k == MUL && !rulec_is_leaf_constant(e->arg[1]))
    rulec_fail("left side is not in canonical form: a product is x * constant");
  if (k == MUL && (e->arg[0]->kind == MUL || e->arg[0]->kind == ADD))
    rulec_fail("left side is not in canonical form: constants distribute over sums and products");
  if (rulec_is_compare(k) && !rulec_is_leaf_constant(e->arg[1]))
    rulec_fail("left side is not in canonical form: the right of a comparison is constant");
  if (k == NOT && (rulec_is_compare(e->arg[0]->kind) || e->arg[0]->kind == NOT))
    rulec_fail("left side is not in canonical form: ! of a comparison is the opposite comparison");
  if (k == AND || k == OR)
    rulec_fail("left side is not in canonical form: & and | are simplified as a whole, not by rules");
  for (int i = 0; i < rulec_kinds[k].arity; i++) check_canonical(e->arg[i]);
}

/* Equal up to the names of variables? to[] maps letters of a to letters of b, from[] back. */
static bool is_same_pattern(const expr *a, const expr *b, char *to, char *from) {
  if (a->kind != b->kind) return false;
  if (a->kind == CONSTANT || a->kind == EXPRESSION) {
    if (!to[a->value] && !from[b->value]) to[a->value] = (char)b->value, from[b->value] = (char)a->value;
    return to[a->value] == b->value && from[b->value] == a->value;
  }
  if (a->value != b->value) return false;
  for (int i = 0; i < rulec_kinds[a->kind].arity; i++)
    if (!is_same_pattern(a->arg[i], b->arg[i], to, from)) return false;
  return true;
}

/* Does pattern a match whatever pattern b matches? An expression variable of a covers any subpattern, the
 * same at each occurrence; a constant variable covers constants. */
static bool covers(const expr *a, const expr *b, const expr **bound) {
  bool binds = a->kind == EXPRESSION || (a->kind == CONSTANT && rulec_is_leaf_constant(b));
  if (binds && bound[a->value]) return equal(bound[a->value], b);
  if (binds) {
    bound[a->value] = b;
    return true;
  }
  if (a->kind != b->kind || a->value != b->value) return false;
  for (int i = 0; i < rulec_kinds[a->kind].arity; i++)
    if (!covers(a->arg[i], b->arg[i], bound)) return false;
  return true;
}

void rulec_check_rule(const rule *r, const rule *earlier) {
  if (r->lhs->kind < ADD) rulec_fail("the left side is a single variable or constant");
  if (r->lhs->kind == ADD || r->lhs->kind == MUL)
    rulec_fail("sums and products are normalised before rules are tried: no rule may start with one");
  check_canonical(r->lhs);
  rulec_check_bound(r->rhs, r->lhs, "right side");
  if (r->cond) rulec_check_bound(r->cond, r->lhs, "condition");
  if (equal(r->lhs, r->rhs)) rulec_fail("both sides of '%s' are the same", r->name);
  for (const rule *o = earlier; o < r; o++) {
    char to[128] = {0}, from[128] = {0};
    if (strcmp(o->name, r->name) == 0)
      rulec_fail("rule '%s' is already defined on line %d", r->name, o->line);
    const expr *bound[128] = {NULL};
    if (!o->cond && covers(o->lhs, r->lhs, bound))
      rulec_fail("'%s' is shadowed by '%s' on line %d, which matches whatever it matches", r->name, o->name,
                 o->line);
    if (!is_same_pattern(o->lhs, r->lhs, to, from)) continue;
    if (r->cond && is_same_pattern(o->cond, r->cond, to, from))
      rulec_fail("'%s' repeats '%s' on line %d", r->name, o->name, o->line);
  }
}
