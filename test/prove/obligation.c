#include "test/prove/obligation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const term_texts[TERM_OPS] = {"",   "",   "+",  "-", "*", "//", "%",   "<",   "<=",    ">",
                                          ">=", "==", "!=", "&", "|", "!",  "min", "max", "where", "gcd"};

/* Makes room for one more element; proofs exit when memory is short. */
static void *grow(void *list, int count, int *cap, size_t size) {
  if (count < *cap) return list;
  *cap = *cap ? 2 * *cap : 32;
  list = realloc(list, (size_t)*cap * size);
  if (list) return list;
  fprintf(stderr, "prove: out of memory\n");
  exit(2);
}

void obligation_init(obligation *o, const char *name) {
  *o = (obligation){.left = -1, .right = -1, .witness_left = -1, .witness_right = -1};
  snprintf(o->name, sizeof o->name, "%s", name);
}

void obligation_free(obligation *o) {
  free(o->terms);
  free(o->variables);
  free(o->facts);
  free(o->demands);
  *o = (obligation){0};
}

static int add(obligation *o, term t) {
  for (int i = 0; i < o->term_count; i++)
    if (memcmp(&o->terms[i], &t, sizeof t) == 0) return i;
  o->terms = grow(o->terms, o->term_count, &o->term_cap, sizeof t);
  o->terms[o->term_count] = t;
  return o->term_count++;
}

static term blank(term_op op) {
  term t;
  memset(&t, 0, sizeof t); /* terms are compared byte by byte */
  t.op = (uint8_t)op;
  t.arg[0] = t.arg[1] = t.arg[2] = -1;
  return t;
}

int obligation_number(obligation *o, int64_t value) {
  term t = blank(TERM_NUMBER);
  t.constant = 1;
  t.value = value;
  return add(o, t);
}

int obligation_truth(obligation *o, bool value) {
  term t = blank(TERM_NUMBER);
  t.truth = 1;
  t.value = value;
  return add(o, t);
}

int obligation_variable(obligation *o, const variable *fields) {
  term t = blank(TERM_VARIABLE);
  int i = 0;
  while (i < o->variable_count && strcmp(o->variables[i].name, fields->name) != 0) i++;
  if (i == o->variable_count) {
    o->variables = grow(o->variables, i, &o->variable_cap, sizeof *fields);
    o->variables[o->variable_count++] = *fields;
  }
  t.truth = fields->truth;
  t.constant = fields->constant;
  t.value = i;
  return add(o, t);
}

static bool is_number(const obligation *o, int at) { return at < 0 || o->terms[at].op == TERM_NUMBER; }

/* Folds an operation on numbers; a division by less than 1 is left alone. */
static bool fold(obligation *o, const term *t, int *out) {
  int64_t v[3] = {0}, value;
  term same = *t;
  if (!is_number(o, t->arg[0]) || !is_number(o, t->arg[1]) || !is_number(o, t->arg[2])) return false;
  for (int i = 0; i < 3 && t->arg[i] >= 0; i++) v[i] = o->terms[t->arg[i]].value, same.arg[i] = i;
  if ((t->op == TERM_DIV || t->op == TERM_MOD) && v[1] < 1) return false;
  if (!term_value(&same, v, &value)) return false;
  *out = t->truth ? obligation_truth(o, value) : obligation_number(o, value);
  return true;
}

int obligation_term(obligation *o, term_op op, int a, int b, int c) {
  term t = blank(op);
  int arg[3] = {a, b, c}, folded;
  t.constant = op < TERM_LT || op == TERM_MIN || op == TERM_MAX || op == TERM_GCD;
  for (int i = 0; i < 3; i++) {
    t.arg[i] = arg[i];
    t.constant = t.constant && (arg[i] < 0 || o->terms[arg[i]].constant);
  }
  t.truth = (op >= TERM_LT && op <= TERM_NOT) || (op == TERM_WHERE && o->terms[b].truth);
  return fold(o, &t, &folded) ? folded : add(o, t);
}

static int copy_term(const obligation *from, const term *t, const int *map, int number, int64_t value,
                     obligation *to) {
  int arg[3] = {-1, -1, -1};
  for (int i = 0; i < 3 && t->arg[i] >= 0; i++) arg[i] = map[t->arg[i]];
  if (t->op == TERM_NUMBER)
    return t->truth ? obligation_truth(to, t->value) : obligation_number(to, t->value);
  if (t->op != TERM_VARIABLE) return obligation_term(to, (term_op)t->op, arg[0], arg[1], arg[2]);
  return t->value == number ? obligation_number(to, value)
                            : obligation_variable(to, &from->variables[t->value]);
}

void obligation_with(const obligation *o, int number, int64_t value, obligation *out) {
  int *map = malloc((size_t)(o->term_count + 1) * sizeof *map);
  if (!map) exit(2);
  obligation_init(out, o->name);
  for (int i = 0; i < o->term_count; i++) map[i] = copy_term(o, &o->terms[i], map, number, value, out);
  for (int i = 0; i < o->fact_count; i++) obligation_fact(out, map[o->facts[i].term], o->facts[i].conjunct);
  for (int i = 0; i < o->demand_count; i++) obligation_demand(out, map[o->demands[i]]);
  out->left = map[o->left];
  out->right = map[o->right];
  if (o->witness_left >= 0) {
    out->witness_left = map[o->witness_left];
    out->witness_right = map[o->witness_right];
  }
  free(map);
}

void obligation_fact(obligation *o, int term, int conjunct) {
  for (int i = 0; i < o->fact_count; i++)
    if (o->facts[i].term == term && o->facts[i].conjunct == conjunct) return;
  o->facts = grow(o->facts, o->fact_count, &o->fact_cap, sizeof *o->facts);
  o->facts[o->fact_count++] = (fact){term, conjunct};
}

void obligation_demand(obligation *o, int term) {
  o->demands = grow(o->demands, o->demand_count, &o->demand_cap, sizeof *o->demands);
  o->demands[o->demand_count++] = term;
}

/* messages */

typedef struct writer {
  const obligation *o;
  char *out;
  size_t left;
} writer;

static void put(writer *w, const char *text) {
  size_t n = strlen(text);
  if (n >= w->left) n = w->left - 1;
  memcpy(w->out, text, n);
  w->out += n;
  w->left -= n;
  *w->out = '\0';
}

/* Prints a term. Terms can be nested as deep as messages are long: subterms that do not fit are not
 * visited. */
static void print(writer *w, int at) {
  const term *t = &w->o->terms[at];
  char number[32];
  if (w->left < 2) return;
  if (t->op == TERM_VARIABLE) {
    put(w, w->o->variables[t->value].name);
  } else if (t->op == TERM_NUMBER) {
    snprintf(number, sizeof number, "%" PRId64, t->value);
    put(w, t->truth ? (t->value ? "True" : "False") : number);
  } else if (t->op == TERM_NOT) {
    put(w, "!");
    print(w, t->arg[0]);
  } else {
    bool call = t->op >= TERM_MIN;
    put(w, call ? term_texts[t->op] : "");
    put(w, "(");
    for (int i = 0; i < 3 && t->arg[i] >= 0; i++) {
      if (i) put(w, call ? ", " : term_texts[t->op]);
      print(w, t->arg[i]);
    }
    put(w, ")");
  }
}

void obligation_print(const obligation *o, int at, char *out, size_t size) {
  *out = '\0';
  print(&(writer){o, out, size}, at);
}

void obligation_show(const obligation *o) {
  static char text[4096];
  printf("%s:\n", o->name);
  obligation_print(o, o->left, text, sizeof text);
  printf("  %s\n", text);
  obligation_print(o, o->right, text, sizeof text);
  printf("  => %s\n", text);
  for (int i = 0; i < o->fact_count; i++) {
    obligation_print(o, o->facts[i].term, text, sizeof text);
    printf("  given %s\n", text);
  }
  for (int i = 0; i < o->variable_count; i++) {
    const variable *v = &o->variables[i];
    if (v->lo == INT64_MIN && v->hi == INT64_MAX) continue;
    printf("  where %" PRId64 " <= %s <= %" PRId64 "\n", v->lo, v->name, v->hi);
  }
}
