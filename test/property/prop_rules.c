/* Every index rule by enumeration: a second oracle, which shares nothing with the compiled matcher but the
 * rule's text.
 *
 *   prop_rules --seed S --count N
 *
 * The text of each rule is parsed and both sides are evaluated: constants in -9...9, expressions in -16...16,
 * conditions in 0, 1, divisors at least 1. A rule with more than N points is sampled at N seeded random ones.
 * Where the side condition holds the sides must agree and divide by nothing below 1. Then each part of a
 * condition is dropped in turn: some point must show that it was needed. */
#include "passes/rule.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
  const char *at;
  const int64_t *value; /* by letter */
  bool undefined;       /* a divisor below 1 */
} reader;

static int64_t parse(reader *r, int level);

static bool accept(reader *r, const char *token) {
  while (*r->at == ' ') r->at++;
  size_t n = strlen(token);
  if (strncmp(r->at, token, n) != 0) return false;
  if (n == 1 && ((*token == '/' && r->at[1] == '/') || (strchr("<>!", *token) && r->at[1] == '=')))
    return false;
  r->at += n;
  return true;
}

static int64_t divide(reader *r, int64_t a, int64_t d) {
  if (d < 1) r->undefined = true;
  return d < 1 ? 0 : a / d - (a % d < 0);
}

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

static int64_t call(reader *r, const char *name) {
  int64_t v[3] = {0};
  int n = 0;
  accept(r, "(");
  do v[n++] = parse(r, 0);
  while (accept(r, ","));
  accept(r, ")");
  if (strcmp(name, "min") == 0) return v[0] < v[1] ? v[0] : v[1];
  if (strcmp(name, "max") == 0) return v[0] > v[1] ? v[0] : v[1];
  if (strcmp(name, "gcd") == 0) return gcd(v[0], v[1]);
  if (strcmp(name, "where") == 0) return v[0] ? v[1] : v[2];
  if (strcmp(name, "known") == 0)
    return v[0] - v[1] * divide(r, v[0], v[1]); /* where it is known, it is this */
  printf("prop_rules: no meaning for '%s'\n", name);
  exit(1);
}

static int64_t primary(reader *r) {
  if (accept(r, "(")) {
    int64_t v = parse(r, 0);
    accept(r, ")");
    return v;
  }
  if (accept(r, "!")) return !primary(r);
  if (isdigit((unsigned char)*r->at)) return strtoll(r->at, (char **)&r->at, 10);
  char name[16];
  size_t n = 0;
  while (isalpha((unsigned char)*r->at) && n + 1 < sizeof name) name[n++] = *r->at++;
  name[n] = '\0';
  if (strcmp(name, "True") == 0) return 1;
  if (strcmp(name, "False") == 0) return 0;
  if (n == 1) return r->value[(unsigned char)*name];
  return call(r, name);
}

static int64_t apply(reader *r, const char *op, int64_t a, int64_t b) {
  switch (*op) {
  case '|': return a | b;
  case '&': return a & b;
  case '+': return a + b;
  case '-': return a - b;
  case '*': return a * b;
  case '/': return divide(r, a, b);
  case '%': return a - b * divide(r, a, b);
  case '<': return op[1] ? a <= b : a < b;
  case '>': return op[1] ? a >= b : a > b;
  default: return *op == '=' ? a == b : a != b;
  }
}

static int64_t parse(reader *r, int level) {
  static const char *const ops[][7] = {
      {"|"}, {"&"}, {"<=", ">=", "==", "!=", "<", ">"}, {"+", "-"}, {"*", "//", "/", "%"}};
  if (level == 5) return primary(r);
  int64_t left = parse(r, level + 1);
  for (int i = 0; ops[level][i];) {
    if (!accept(r, ops[level][i])) {
      i++;
      continue;
    }
    left = apply(r, ops[level][i], left, parse(r, level + 1));
    i = 0;
  }
  return left;
}

static int64_t evaluate(const char *text, const int64_t *value, bool *undefined) {
  reader r = {text, value, false};
  int64_t v = parse(&r, 0);
  while (*r.at == ' ') r.at++;
  if (*r.at) {
    printf("prop_rules: cannot read '%s' at '%s'\n", text, r.at);
    exit(1);
  }
  *undefined = *undefined || r.undefined;
  return v;
}

/* the variables of a left side, and which of them divide */
typedef struct domain {
  int count;
  unsigned char letter[16];
  int64_t lo[16], hi[16];
} domain;

static domain domain_of(const char *left) {
  domain d = {0};
  for (const char *p = left; *p; p++) {
    if (!islower((unsigned char)*p)) continue;
    if (islower((unsigned char)p[1])) { /* a function's name */
      while (islower((unsigned char)p[1])) p++;
      continue;
    }
    int i = 0;
    while (i < d.count && d.letter[i] != (unsigned char)*p) i++;
    if (i == d.count) {
      d.letter[d.count++] = (unsigned char)*p;
      d.hi[i] = *p <= 'k' ? 9 : *p <= 'r' ? 1 : 16;
      d.lo[i] = *p <= 'k' ? -9 : *p <= 'r' ? 0 : -16;
    }
    const char *before = p;
    while (before > left && before[-1] == ' ') before--;
    bool divides = before > left && (before[-1] == '%' || before[-1] == '/');
    if (divides) d.lo[i] = 1;
  }
  return d;
}

static uint64_t state;
static uint64_t next(void) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* The next point: all of them in turn, or a random one. False after the last. */
static bool step(const domain *d, int64_t *value, bool sampled) {
  for (int i = 0; i < d->count; i++) {
    int64_t *v = &value[d->letter[i]];
    if (sampled) {
      *v = d->lo[i] + (int64_t)(next() % (uint64_t)(d->hi[i] - d->lo[i] + 1));
      continue;
    }
    if (++*v <= d->hi[i]) return true;
    *v = d->lo[i];
  }
  return sampled;
}

/* Points where the condition holds and the sides differ; stops at the first. */
static bool refuted(const pass_rule *rule, const char *condition, uint64_t limit, uint64_t *points,
                    int64_t *value) {
  domain d = domain_of(rule->left);
  uint64_t total = 1;
  for (int i = 0; i < d.count; i++) {
    value[d.letter[i]] = d.lo[i];
    if (total <= limit) total *= (uint64_t)(d.hi[i] - d.lo[i] + 1);
  }
  bool sampled = total > limit;
  for (uint64_t n = sampled ? limit : total; n-- > 0; step(&d, value, sampled)) {
    bool unmet = false, undefined = false;
    if (*condition && (!evaluate(condition, value, &unmet) || unmet)) continue;
    int64_t left = evaluate(rule->left, value, &undefined), right = evaluate(rule->right, value, &undefined);
    ++*points;
    if (undefined || left != right) return true;
  }
  return false;
}

static void show(const pass_rule *rule, const int64_t *value) {
  domain d = domain_of(rule->left);
  printf("%s: %s => %s %s%s is wrong at", rule->name, rule->left, rule->right, *rule->condition ? "if " : "",
         rule->condition);
  for (int i = 0; i < d.count; i++) printf(" %c=%" PRId64, d.letter[i], value[d.letter[i]]);
  printf("\n");
}

/* The condition without its part number `which`; false when it has fewer parts. */
static bool without(const char *condition, int which, char *out) {
  int part = 0, depth = 0;
  *out = '\0';
  for (const char *p = condition, *start = p;; p++) {
    depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
    if (*p && (*p != '&' || depth)) continue;
    if (part++ != which) {
      if (*out) strcat(out, " & ");
      strncat(out, start, (size_t)(p - start));
    }
    if (!*p) return which < part;
    start = p + 1;
  }
}

int main(int argc, char **argv) {
  uint64_t seed = 1, count = 100000, points = 0, unneeded = 0;
  int failed = 0, caught = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--seed") == 0) seed = strtoull(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--count") == 0) count = strtoull(argv[i + 1], NULL, 10);
  }
  const pass_rule_set *set = &pass_index_rule_set;
  for (size_t i = 0; i < set->rule_count; i++) {
    const pass_rule *rule = &set->rules[i];
    int64_t value[128] = {0};
    char weaker[1024];
    state = seed;
    if (refuted(rule, rule->condition, count, &points, value)) {
      show(rule, value);
      failed++;
    }
    for (int part = 0; *rule->condition && without(rule->condition, part, weaker); part++) {
      if (refuted(rule, weaker, count, &unneeded, value)) {
        caught++;
      } else {
        printf("%s: a part of '%s' is not needed: '%s' does\n", rule->name, rule->condition, weaker);
        failed++;
      }
    }
  }
  printf("prop_rules: %zu rules at %" PRIu64 " points, %d conditions needed, %d failed, seed %" PRIu64 "\n",
         set->rule_count, points, caught, failed, seed);
  return failed != 0;
}
