/* Recursive-descent parser of rule expressions: | & comparisons + - * / // %, then ! ( ) functions,
 * variables, numbers. */
#include "rulec.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const kind_info rulec_kinds[KINDS] = {[NUMBER] = {"", "", 0},        [TRUTH] = {"", "", 0},
                                      [CONSTANT] = {"", "", 0},      [EXPRESSION] = {"", "", 0},
                                      [ADD] = {"+", "ADD", 2},       [SUB] = {"-", "SUB", 2},
                                      [MUL] = {"*", "MUL", 2},       [EXACT] = {"/", "", 2},
                                      [DIV] = {"//", "FLOORDIV", 2}, [MOD] = {"%", "MOD", 2},
                                      [LT] = {"<", "LT", 2},         [LE] = {"<=", "LE", 2},
                                      [GT] = {">", "GT", 2},         [GE] = {">=", "GE", 2},
                                      [EQ] = {"==", "EQ", 2},        [NE] = {"!=", "NE", 2},
                                      [AND] = {"&", "AND", 2},       [OR] = {"|", "OR", 2},
                                      [NOT] = {"!", "NOT", 1},       [MIN] = {"min", "MIN", 2},
                                      [MAX] = {"max", "MAX", 2},     [WHERE] = {"where", "WHERE", 3},
                                      [GCD] = {"gcd", "", 2},        [LO] = {"lo", "", 1},
                                      [HI] = {"hi", "", 1},          [KNOWN] = {"known", "", 2}};

static const char *at; /* the next character */

static expr *make_expr(kind k, expr *a, expr *b, expr *c) {
  expr *e = calloc(1, sizeof *e);
  if (!e) rulec_fail("out of memory");
  *e = (expr){k, 0, NULL, {a, b, c}};
  return e;
}

static void space(void) {
  while (isspace((unsigned char)*at)) at++;
}

static bool accept_token(const char *token) {
  space();
  size_t n = strlen(token);
  if (strncmp(at, token, n) != 0) return false;
  char after = at[n];
  if (n == 1 && ((*token == '/' && after == '/') || (strchr("<>!", *token) && after == '='))) return false;
  at += n;
  return true;
}

static void expect_token(const char *token) {
  if (!accept_token(token)) rulec_fail("expected '%s' before '%s'", token, *at ? at : "end of line");
}

static expr *parse(int level);

/* Variables are single letters: a-k constants, p-r conditions, s-z expressions. */
static expr *variable(char letter) {
  if (strchr("lmno", letter))
    rulec_fail("'%c' is no variable: a-k are constants, p-r conditions, s-z expressions", letter);
  expr *e = make_expr(letter <= 'k' ? CONSTANT : EXPRESSION, NULL, NULL, NULL);
  e->value = letter;
  return e;
}

static expr *parse_call(const char *name) {
  for (int k = MIN; k <= KNOWN; k++) {
    if (strcmp(rulec_kinds[k].text, name) != 0) continue;
    expr *e = make_expr((kind)k, NULL, NULL, NULL);
    for (int i = 0; i < rulec_kinds[k].arity; i++) {
      expect_token(i ? "," : "(");
      e->arg[i] = parse(0);
    }
    expect_token(")");
    return e;
  }
  rulec_fail("unknown function '%s'", name);
}

static expr *primary(void) {
  space();
  if (isdigit((unsigned char)*at)) {
    expr *e = make_expr(NUMBER, NULL, NULL, NULL);
    e->value = strtoll(at, (char **)&at, 10);
    return e;
  }
  if (accept_token("(")) {
    expr *e = parse(0);
    expect_token(")");
    return e;
  }
  if (accept_token("!")) return make_expr(NOT, primary(), NULL, NULL);
  char name[16];
  size_t n = 0;
  while (isalpha((unsigned char)*at) && n + 1 < sizeof name) name[n++] = *at++;
  name[n] = '\0';
  if (strcmp(name, "True") == 0 || strcmp(name, "False") == 0) {
    expr *e = make_expr(TRUTH, NULL, NULL, NULL);
    e->value = *name == 'T';
    return e;
  }
  if (n == 1 && islower((unsigned char)*name)) return variable(*name);
  if (n == 0) rulec_fail("expected an expression before '%s'", *at ? at : "end of line");
  return parse_call(name);
}

static expr *parse(int level) {
  static const kind by_level[][7] = {
      {OR}, {AND}, {LE, GE, EQ, NE, LT, GT}, {ADD, SUB}, {MUL, DIV, EXACT, MOD}};
  if (level == 5) return primary();
  expr *left = parse(level + 1);
  for (bool again = true; again;) {
    again = false;
    for (int i = 0; i < 7 && by_level[level][i] && !again; i++) {
      kind k = by_level[level][i];
      space();
      if (strncmp(at, "=>", 2) == 0 || !accept_token(rulec_kinds[k].text)) continue;
      left = make_expr(k, left, parse(level + 1), NULL);
      again = true;
    }
  }
  return left;
}

expr *rulec_parse(const char *text, const char *what) {
  at = text;
  expr *e = parse(0);
  space();
  if (*at) rulec_fail("unexpected '%s' after the %s", at, what);
  return e;
}
