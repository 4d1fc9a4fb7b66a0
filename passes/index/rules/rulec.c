/* rulec RULES OUTPUT: compiles rewrite rules to a C matcher and a table of their text. docs/rules.md
 * describes the language. A tool of the build: it reports FILE:LINE: error and exits with 1. */
#include "rulec.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *rulec_file;
int rulec_line;
static rule_file all;

void rulec_fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "%s:%d: error: ", rulec_file, rulec_line);
  vfprintf(stderr, format, args);
  fprintf(stderr, "\n");
  va_end(args);
  exit(1);
}

/* Splits `text` at the word or sign `mark`; returns what follows it, or NULL. */
static char *split_at(char *text, const char *mark) {
  size_t n = strlen(mark);
  for (char *p = text; *p; p++)
    if (strncmp(p, mark, n) == 0) {
      *p = '\0';
      return p + n;
    }
  return NULL;
}

static void keep_trimmed(char *to, const char *from, size_t size) {
  while (isspace((unsigned char)*from)) from++;
  size_t n = strlen(from);
  while (n && isspace((unsigned char)from[n - 1])) n--;
  if (n >= size) rulec_fail("line too long");
  memcpy(to, from, n);
  to[n] = '\0';
}

static void read_rule(char *text) {
  if (all.rule_count == RULEC_RULES) rulec_fail("more than %d rules", RULEC_RULES);
  rule *r = &all.rules[all.rule_count];
  r->line = rulec_line;
  char *reason = split_at(text, ";"), *right = split_at(text, "=>");
  if (!right) rulec_fail("expected '=>'");
  char *witness = split_at(right, " by "), *condition = split_at(right, " if ");
  size_t n = strcspn(text, " \t");
  if (n == 0 || n >= sizeof r->name) rulec_fail("expected the name of a rule");
  for (size_t i = 0; i < n; i++)
    if (!islower((unsigned char)text[i]) && text[i] != '_')
      rulec_fail("a rule's name is of lower-case letters and underscores");
  memcpy(r->name, text, n);
  if (!reason) rulec_fail("rule '%s' gives no reason: write '; why' at its end", r->name);
  keep_trimmed(r->left, text + n, RULEC_LINE);
  keep_trimmed(r->right, right, RULEC_LINE);
  keep_trimmed(r->condition, condition ? condition : "", RULEC_LINE);
  keep_trimmed(r->witness, witness ? witness : "", RULEC_LINE);
  keep_trimmed(r->reason, reason, RULEC_LINE);
  if (!*r->reason) rulec_fail("rule '%s' gives no reason: write '; why' at its end", r->name);
  r->lhs = rulec_parse(r->left, "left side");
  r->rhs = rulec_parse(r->right, "right side");
  r->cond = condition ? rulec_parse(r->condition, "condition") : NULL;
  if (witness) rulec_check_bound(rulec_parse(r->witness, "witness"), r->lhs, "witness");
  rulec_check_rule(r, all.rules);
  all.rule_count++;
}

static void read_measure(char *text) { /* measure x // y = polynomial */
  if (all.measure_count == RULEC_RULES) rulec_fail("more than %d measures", RULEC_RULES);
  rule *m = &all.measures[all.measure_count++];
  char *weight = split_at(text, " = ");
  if (!weight) rulec_fail("expected ' = '");
  keep_trimmed(m->left, text, RULEC_LINE);
  keep_trimmed(m->right, weight, RULEC_LINE);
  m->lhs = rulec_parse(m->left, "operation");
  m->rhs = rulec_parse(m->right, "weight");
  rulec_check_bound(m->rhs, m->lhs, "weight");
}

static void read_file(FILE *in) {
  char line[RULEC_LINE];
  while (fgets(line, sizeof line, in)) {
    rulec_line++;
    if (!strchr(line, '\n') && !feof(in)) rulec_fail("line too long");
    char *start = line + strspn(line, " \t\r\n");
    start[strcspn(start, "\r\n")] = '\0';
    if (*start == '\0' || *start == '#') continue;
    if (strncmp(start, "measure ", 8) == 0) read_measure(start + 8);
    else read_rule(start);
  }
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: rulec RULEC_RULES OUTPUT\n");
    return 2;
  }
  all.name = rulec_file = argv[1];
  FILE *in = fopen(rulec_file, "r");
  if (!in) rulec_fail("cannot be read");
  read_file(in);
  fclose(in);
  char set[64];
  const char *base = strrchr(rulec_file, '/');
  snprintf(set, sizeof set, "%s", base ? base + 1 : rulec_file);
  set[strcspn(set, ".")] = '\0';
  FILE *out = fopen(argv[2], "w");
  if (!out) rulec_fail("cannot write %s", argv[2]);
  rulec_emit(&all, set, out);
  bool written = fclose(out) == 0;
  if (!written) remove(argv[2]);
  return written ? 0 : 1;
}
