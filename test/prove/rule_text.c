#include "test/prove/rule_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum side { SIDE_CONDITION, SIDE_LEFT, SIDE_RIGHT } side;

typedef struct reader {
  obligation *o;
  const char *at;
  const int *letters; /* NULL: letters are variables */
  side side;
  int conjunct;
  bool wrong;
} reader;

static int parse(reader *r, int level);

static bool accept(reader *r, const char *token) {
  while (*r->at == ' ') r->at++;
  size_t n = strlen(token);
  if (strncmp(r->at, token, n) != 0) return false;
  if (n == 1 && ((*token == '/' && r->at[1] == '/') || (strchr("<>!", *token) && r->at[1] == '=')))
    return false;
  r->at += n;
  return true;
}

static int wrong(reader *r, const char *what) {
  if (!r->wrong) printf("%s: %s before '%s'\n", r->o->name, what, r->at);
  r->wrong = true;
  return obligation_number(r->o, 0);
}

/* A quotient or remainder. Divisors give a fact, a condition or a demand, depending on the side. */
static int divide(reader *r, term_op op, int a, int d) {
  obligation *o = r->o;
  if (o->terms[d].op != TERM_NUMBER || o->terms[d].value < 1) {
    bool constant = o->terms[a].constant && o->terms[d].constant;
    int some = obligation_term(o, TERM_GE, d, obligation_number(o, 1), -1);
    if (r->side == SIDE_RIGHT && !constant) obligation_demand(o, some);
    else obligation_fact(o, some, r->side == SIDE_CONDITION ? r->conjunct : CONJUNCT_NONE);
  }
  if (r->side == SIDE_LEFT && o->terms[d].op == TERM_VARIABLE) o->variables[o->terms[d].value].small_lo = 1;
  return obligation_term(o, op, a, d, -1);
}

static int letter(reader *r, char name) {
  if (r->letters)
    return r->letters[(int)name] ? r->letters[(int)name] - 1 : wrong(r, "a letter that means nothing here");
  variable v = {.name = {name}, .lo = INT64_MIN, .hi = INT64_MAX};
  v.truth = name >= 'p' && name <= 'r';
  v.constant = name <= 'k';
  v.small_hi = v.truth ? 1 : name <= 'k' ? 9 : 16;
  v.small_lo = v.truth ? 0 : -v.small_hi;
  return obligation_variable(r->o, &v);
}

/* The name lo(x) or hi(x) in a rule: an unknown constant that is a lower or an upper bound of x. */
static int bound(reader *r, const char *name, int x) {
  obligation *o = r->o;
  variable v = {.constant = 1, .lo = INT64_MIN, .hi = INT64_MAX, .small_lo = -16, .small_hi = 16};
  char of[8];
  obligation_print(o, x, of, sizeof of);
  snprintf(v.name, sizeof v.name, "%.2s(%s)", name, of);
  int t = obligation_variable(o, &v);
  obligation_fact(o, obligation_term(o, *name == 'l' ? TERM_LE : TERM_GE, t, x, -1), CONJUNCT_NONE);
  return t;
}

static int call(reader *r, const char *name) {
  int arg[3] = {-1, -1, -1}, n = 0;
  if (!accept(r, "(")) return wrong(r, "expected '('");
  do arg[n++] = parse(r, 0);
  while (n < 3 && accept(r, ","));
  if (!accept(r, ")")) return wrong(r, "expected ')'");
  if (n == 2 && strcmp(name, "min") == 0) return obligation_term(r->o, TERM_MIN, arg[0], arg[1], -1);
  if (n == 2 && strcmp(name, "max") == 0) return obligation_term(r->o, TERM_MAX, arg[0], arg[1], -1);
  if (n == 2 && strcmp(name, "gcd") == 0) return obligation_term(r->o, TERM_GCD, arg[0], arg[1], -1);
  if (n == 3 && strcmp(name, "where") == 0) return obligation_term(r->o, TERM_WHERE, arg[0], arg[1], arg[2]);
  if (n == 1 && (strcmp(name, "lo") == 0 || strcmp(name, "hi") == 0)) return bound(r, name, arg[0]);
  if (n == 2 && strcmp(name, "known") == 0) { /* a known remainder: equal to this one, and a constant */
    r->o->terms[arg[0]].constant++;
    int t = divide(r, TERM_MOD, arg[0], arg[1]);
    r->o->terms[arg[0]].constant--;
    return t;
  }
  return wrong(r, "an unknown function");
}

static int primary(reader *r) {
  if (accept(r, "(")) {
    int t = parse(r, 0);
    return accept(r, ")") ? t : wrong(r, "expected ')'");
  }
  if (accept(r, "!")) return obligation_term(r->o, TERM_NOT, primary(r), -1, -1);
  if (isdigit((unsigned char)*r->at)) return obligation_number(r->o, strtoll(r->at, (char **)&r->at, 10));
  char name[16];
  size_t n = 0;
  while (isalpha((unsigned char)*r->at) && n + 1 < sizeof name) name[n++] = *r->at++;
  name[n] = '\0';
  if (strcmp(name, "True") == 0 || strcmp(name, "False") == 0) return obligation_truth(r->o, *name == 'T');
  if (n == 0) return wrong(r, "expected an expression");
  return n == 1 ? letter(r, *name) : call(r, name);
}

static int apply(reader *r, const char *text, int a, int b) {
  if (strcmp(text, "/") == 0 || strcmp(text, "//") == 0) return divide(r, TERM_DIV, a, b);
  if (strcmp(text, "%") == 0) return divide(r, TERM_MOD, a, b);
  for (int op = TERM_ADD; op < TERM_NOT; op++)
    if (strcmp(term_texts[op], text) == 0) return obligation_term(r->o, (term_op)op, a, b, -1);
  return wrong(r, "an unknown operator");
}

static int parse(reader *r, int level) {
  static const char *const ops[][7] = {
      {"|"}, {"&"}, {"<=", ">=", "==", "!=", "<", ">"}, {"+", "-"}, {"*", "//", "/", "%"}};
  if (level == 5) return primary(r);
  int left = parse(r, level + 1);
  for (int i = 0; ops[level][i] && !r->wrong;) {
    const char *op = ops[level][i++];
    if (!accept(r, op)) continue;
    left = apply(r, op, left, parse(r, level + 1));
    i = 0;
  }
  return left;
}

static int whole(reader *r, const char *text) {
  r->at = text;
  int t = parse(r, 0);
  while (*r->at == ' ') r->at++;
  return *r->at ? wrong(r, "nothing is expected") : t;
}

static void conjuncts(reader *r, const char *text) {
  r->at = text;
  r->side = SIDE_CONDITION;
  bool alone = true; /* a disjunction at the top is one conjunct */
  for (int depth = 0, i = 0; text[i]; i++) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    alone = alone && (depth || text[i] != '|');
  }
  do {
    obligation_fact(r->o, parse(r, alone ? 2 : 0), r->conjunct);
    r->conjunct++;
  } while (accept(r, "&"));
  r->o->conjuncts = r->conjunct;
  r->conjunct = CONJUNCT_NONE;
  if (*r->at) wrong(r, "nothing is expected");
}

bool rule_obligation(const pass_rule *rule, obligation *o) {
  obligation_init(o, rule->name);
  reader r = {.o = o};
  if (*rule->condition) conjuncts(&r, rule->condition);
  r.side = SIDE_LEFT;
  o->left = whole(&r, rule->left);
  r.side = SIDE_RIGHT;
  o->right = whole(&r, rule->right);
  if (*rule->witness && !r.wrong) {
    int equality = whole(&r, rule->witness);
    const term *t = &o->terms[equality];
    if (t->op != TERM_EQ) wrong(&r, "a witness is an equality:");
    o->witness_left = t->arg[0], o->witness_right = t->arg[1];
  }
  return !r.wrong;
}

int rule_expression(obligation *o, const char *text, const int *letters) {
  reader r = {.o = o, .letters = letters, .side = SIDE_RIGHT};
  int t = whole(&r, text);
  return r.wrong ? -1 : t;
}

bool rule_operation(const char *text, term_op *op, char letters[4]) {
  obligation o;
  obligation_init(&o, text);
  reader r = {.o = &o, .side = SIDE_LEFT};
  int t = whole(&r, text), n = 0;
  memset(letters, 0, 4);
  *op = (term_op)o.terms[t].op;
  if (*op == TERM_VARIABLE) letters[n++] = o.variables[o.terms[t].value].name[0];
  for (int i = 0; i < 3 && o.terms[t].arg[i] >= 0; i++) {
    const term *operand = &o.terms[o.terms[t].arg[i]];
    if (operand->op != TERM_VARIABLE) wrong(&r, "an operation of variables is expected");
    else letters[n++] = o.variables[operand->value].name[0];
  }
  obligation_free(&o);
  return !r.wrong;
}
