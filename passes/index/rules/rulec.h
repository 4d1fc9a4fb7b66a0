/* The folder passes/index/rules. The rewrite rules of the index algebra, and the program that compiles them
 * when viewfold is built.
 *
 *   in      index.rules
 *   out     a C file: a matcher, and the rules as text
 *   holds   the build fails unless every rule's variables are bound, its left side is canonical, and no
 * earlier rule shadows it */

/* The rule compiler's private interface: expressions of rules, and the steps from text to C. */
#ifndef VIEWFOLD_PASSES_INDEX_RULES_RULEC_H
#define VIEWFOLD_PASSES_INDEX_RULES_RULEC_H

#include <stdbool.h>
#include <stdio.h>

/* Capacities of the build's rule compiler, which stops with a message where a file has more: characters of a
 * line and of its parts; rules, and measures, of a file; operands of one sum, product or conjunction on a
 * left side. */
enum {
  RULEC_LINE = 1024, /* characters; the longest line has 237 */
  RULEC_RULES = 512, /* rules; index.rules has 66 lines */
  RULEC_TERMS = 64   /* operands; a left side may have four */
};

typedef enum kind {
  NUMBER, /* leaves: a literal, True or False, a constant variable, an expression variable */
  TRUTH,
  CONSTANT,
  EXPRESSION,
  ADD,
  SUB,
  MUL,
  EXACT,
  DIV,
  MOD,
  LT,
  LE,
  GT,
  GE,
  EQ,
  NE,
  AND,
  OR,
  NOT,
  MIN,
  MAX,
  WHERE,
  GCD, /* of constants only */
  LO,
  HI,
  KNOWN,
  KINDS
} kind;

typedef struct kind_info {
  const char *text; /* in the rule language */
  const char *op;   /* name in the IR; "" when there is none */
  int arity;
} kind_info;
extern const kind_info rulec_kinds[KINDS];

typedef struct expr {
  kind kind;
  long long value; /* NUMBER, TRUTH; the letter of a variable */
  char *text;      /* C text of a constant expression already computed */
  struct expr *arg[3];
} expr;

typedef struct rule {
  char name[64], left[RULEC_LINE], right[RULEC_LINE], condition[RULEC_LINE], witness[RULEC_LINE],
      reason[RULEC_LINE];
  expr *lhs, *rhs, *cond;
  int line;
} rule;

typedef struct rule_file {
  const char *name; /* name of the file */
  rule rules[RULEC_RULES], measures[RULEC_RULES];
  int rule_count, measure_count;
} rule_file;

/* The place that messages name; set by the reader and, for errors found late, by the emitter. */
extern const char *rulec_file;
extern int rulec_line;
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2), noreturn))
#endif
void rulec_fail(const char *format, ...);

/* parse.c: `what` names the text in messages */
expr *rulec_parse(const char *text, const char *what);

/* check.c: refuses rules that are unbound, repeated, shadowed or not canonical; `earlier`: array of the rules
 * before r */
void rulec_check_bound(const expr *e, const expr *left, const char *where);
void rulec_check_rule(const rule *r, const rule *earlier);
bool rulec_is_constant(const expr *e); /* an expression of constants and of known bounds */
bool rulec_mentions(const expr *e, int letter);
bool rulec_is_compare(kind k);
bool rulec_is_leaf_constant(const expr *e);
/* Appends the terms of a sum to out[n..], left to right; returns the new count. */
int rulec_terms(expr *e, expr **out, int n);

/* emit.c */
/* Writes the rules of the set as C: a function for each rule, and what finds them. The caller checks the
 * stream for errors. */
void rulec_emit(const rule_file *rules, const char *set, FILE *out);

#endif
