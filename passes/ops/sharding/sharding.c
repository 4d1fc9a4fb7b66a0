/* Makes rules from templates: a term is read once for each operand or result that it stands for. */
#include "sharding.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* A template being read, for tensor number `at`. */
typedef struct reader {
  ir_graph *g;
  const op_sharding_ask *ask;
  op_sharding *out;
  const char *next;
  uint32_t at;
  uint32_t axes_of_d, axes_of_i;
} reader;

static const ir_node *shape_at(const reader *r, uint32_t tensor) {
  return ir_get(r->g, r->ask->shapes[tensor]);
}

static bool refuse_rule(const reader *r, const char *what) {
  return op_refuse(r->g, "%s: sharding rule '%s': %s", r->ask->who, r->ask->rule, what) != 0;
}

static void skip_blanks(const char **p) {
  while (**p == ' ') ++*p;
}
static bool ends_term(const char *p) { return *p == '\0' || *p == ',' || (p[0] == '-' && p[1] == '>'); }

/* One token. `text`: a name, `...`, `1` or `*`; `pick`: the text in brackets, or empty. */
typedef struct token {
  const char *text, *pick;
  size_t length, pick_length;
} token;
static bool is(const char *text, size_t length, const char *word) {
  return strlen(word) == length && memcmp(text, word, length) == 0;
}

static bool next_token(const reader *r, const char **p, token *t) {
  const char *s = *p;
  while (isalnum((unsigned char)*s) || *s == '_' || *s == '.' || *s == '*') s++;
  *t = (token){.text = *p, .length = (size_t)(s - *p)};
  if (t->length > 0 && *s == '[') {
    t->pick = s + 1;
    s = strchr(s, ']');
    if (!s) return refuse_rule(r, "']' is missing");
    t->pick_length = (size_t)(s++ - t->pick);
  }
  bool known = (isalpha((unsigned char)*t->text) && !memchr(t->text, '.', t->length)) ||
               is(t->text, t->length, "1") || is(t->text, t->length, "...") || is(t->text, t->length, "*");
  if (t->pick && !is(t->text, t->length, "d") && !is(t->text, t->length, "i"))
    return refuse_rule(r, "only d and i take axes in brackets, such as d[:]");
  if (t->length == 0 || !known || t->length >= OP_FACTOR_NAME)
    return refuse_rule(
        r, "an axis is a name of at most 15 letters and digits, '1', '...', or names in parentheses");
  *p = s;
  return true;
}

int op_sharding_factor(ir_graph *g, const char *who, op_sharding *rule, const char *name, size_t length,
                       ir_ref size) {
  uint32_t i = 0;
  while (i < rule->factor_count && !is(name, length, rule->factors[i].name)) i++;
  if (i == rule->factor_count) {
    if (i == OP_FACTORS_MAX) {
      op_refuse(g, "%s: a sharding rule has at most %d factors", who, OP_FACTORS_MAX);
      return -1;
    }
    op_factor *f = &rule->factors[rule->factor_count++];
    memcpy(f->name, name, length);
    f->name[length] = '\0';
    f->size = size;
  } else if (size && !rule->factors[i].size) {
    rule->factors[i].size = size;
  } else if (size && op_decided(g, IR_OP_NE, size, rule->factors[i].size)) {
    op_refuse(g, "%s: factor %s of the sharding rule stands for axes of sizes %s and %s; they must be equal",
              who, rule->factors[i].name, OP_EXPR(rule->factors[i].size), OP_EXPR(size));
    return -1;
  }
  return (int)i;
}

/* The next axis of the term's tensor, or 0 after failing. */
static op_split *next_axis(reader *r) {
  op_term *term = &r->out->terms[r->at];
  if (term->rank < shape_at(r, r->at)->nsrc) return &term->axes[term->rank++];
  char words[80];
  snprintf(words, sizeof words, "term %u has more axes than its operand or result, of rank %u", r->at + 1,
           term->rank);
  refuse_rule(r, words);
  return NULL;
}

static bool add_named(reader *r, op_split *axis, const char *name, size_t length, ir_ref size) {
  int factor = op_sharding_factor(r->g, r->ask->who, r->out, name, length, size);
  if (factor < 0) return false;
  for (uint32_t i = 0; i < axis->count; i++)
    if (axis->factors[i] == factor) return refuse_rule(r, "a factor occurs twice in one axis");
  if (axis->count == IR_MAX_RANK) return refuse_rule(r, "an axis has too many factors");
  axis->factors[axis->count++] = (uint8_t)factor;
  return true;
}

/* Adds an axis with the factor `letter` and number; -1: without a factor. */
static bool add_numbered(reader *r, char letter, int64_t number) {
  char name[OP_FACTOR_NAME];
  uint32_t at = r->out->terms[r->at].rank;
  op_split *axis = next_axis(r);
  if (!axis || number < 0) return axis != NULL;
  int length = snprintf(name, sizeof name, "%c%u", letter, (unsigned)number);
  return add_named(r, axis, name, (size_t)length, shape_at(r, r->at)->src[at]);
}

static bool add_range(reader *r, char letter, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i++)
    if (!add_numbered(r, letter, i)) return false;
  return true;
}

/* d[~] and d[-] */
static bool add_changed(reader *r, char letter, uint32_t from, uint32_t to, bool stay) {
  for (uint32_t i = from; i < to; i++) {
    bool changed = r->ask->changed >> i & 1;
    if ((!changed || stay) && !add_numbered(r, letter, changed ? -1 : (int64_t)i)) return false;
  }
  return true;
}

static bool add_unsplit(reader *r, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i++)
    if (!add_numbered(r, 'd', -1)) return false;
  return true;
}

/* d[bcast]: axis k of the tensor is axis k + shift of the result. */
static bool add_grown(reader *r, char letter) {
  const ir_node *from = shape_at(r, r->at), *to = shape_at(r, r->ask->operands);
  uint32_t shift = to->nsrc - from->nsrc;
  if (to->nsrc < from->nsrc) return refuse_rule(r, "the result has fewer axes than the operand");
  for (uint32_t k = 0; k < from->nsrc; k++) {
    char name[OP_FACTOR_NAME];
    if (op_decided(r->g, IR_OP_EQ, from->src[k], to->src[k + shift])) {
      if (!add_numbered(r, letter, k + shift)) return false;
      continue;
    }
    int length = snprintf(name, sizeof name, "bcast_%u", (unsigned)(k + shift));
    op_split *axis = next_axis(r);
    if (!axis || !add_named(r, axis, name, (size_t)length, from->src[k])) return false;
  }
  return true;
}

static bool add_ordered(reader *r, char letter, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i++) {
    int64_t axis = -1;
    ir_is_const(r->g, r->ask->order[i], &axis);
    if (!add_numbered(r, letter, axis)) return false;
  }
  return true;
}

/* Adds the axes that a token in brackets stands for. Tensors of rank 0 broadcast: they have no axes. */
static bool add_picked(reader *r, const token *t) {
  char letter = *t->text;
  uint32_t from = r->ask->batch, to = letter == 'd' ? r->axes_of_d : r->axes_of_i, axis = r->ask->axis;
  if (shape_at(r, r->at)->nsrc == 0) return true;
  struct {
    const char *pick;
    uint32_t from, to;
  } const ranges[] = {{":", from, to}, {":a", from, axis}, {"a:", axis, to}, {"a+1:", axis + 1, to}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (is(t->pick, t->pick_length, ranges[i].pick))
      return add_range(r, letter, ranges[i].from, ranges[i].to);
  if (is(t->pick, t->pick_length, "1")) return add_unsplit(r, from, to);
  if (is(t->pick, t->pick_length, "~")) return add_changed(r, letter, from, to, true);
  if (is(t->pick, t->pick_length, "-")) return add_changed(r, letter, from, to, r->ask->kept);
  if (is(t->pick, t->pick_length, "bcast")) return add_grown(r, letter);
  if (is(t->pick, t->pick_length, "order") && r->ask->order) return add_ordered(r, letter, from, to);
  return refuse_rule(r, "expected one of : :a a: a+1: 1 ~ - order bcast in brackets");
}

/* The number of axes that the remaining tokens of a term stand for; -1 if one has brackets. */
static int64_t rest_of_term(const reader *r, const char *p) {
  int64_t axes = 0;
  token t;
  for (skip_blanks(&p); !ends_term(p); skip_blanks(&p), axes++) {
    if (*p == '(') {
      p = strchr(p, ')');
      if (!p) return 0;
      p++;
    } else if (!next_token(r, &p, &t)) {
      return 0;
    } else if (t.pick) {
      return -1;
    }
  }
  return axes;
}

static bool read_compound(reader *r) {
  token t;
  op_split *axis = next_axis(r);
  if (!axis) return false;
  r->next++;
  for (skip_blanks(&r->next); *r->next != ')'; skip_blanks(&r->next)) {
    if (!next_token(r, &r->next, &t)) return false;
    if (!isalpha((unsigned char)*t.text) || t.pick) return refuse_rule(r, "expected names in parentheses");
    if (!add_named(r, axis, t.text, t.length, 0)) return false;
  }
  r->next++;
  if (axis->count == 0) return refuse_rule(r, "expected names in parentheses");
  ir_ref size = shape_at(r, r->at)->src[r->out->terms[r->at].rank - 1];
  return axis->count > 1 ||
         op_sharding_factor(r->g, r->ask->who, r->out, r->out->factors[axis->factors[0]].name,
                            strlen(r->out->factors[axis->factors[0]].name), size) >= 0;
}

static bool read_token(reader *r) {
  token t;
  if (*r->next == '(') return read_compound(r);
  if (!next_token(r, &r->next, &t)) return false;
  if (t.pick) return add_picked(r, &t);
  uint32_t rank = shape_at(r, r->at)->nsrc, done = r->out->terms[r->at].rank;
  if (is(t.text, t.length, "...")) {
    int64_t rest = rest_of_term(r, r->next);
    if (done > 0) return refuse_rule(r, "'...' must be the first axis of a term");
    return add_range(r, 'b', 0, rest < 0 ? r->ask->batch : rest < rank ? rank - (uint32_t)rest : 0);
  }
  if (is(t.text, t.length, "*")) return refuse_rule(r, "'*' must be a term by itself, after another term");
  if (is(t.text, t.length, "1")) return rank == 0 || next_axis(r) != NULL;
  op_split *axis = next_axis(r);
  return axis && add_named(r, axis, t.text, t.length, shape_at(r, r->at)->src[done]);
}

static bool read_term(reader *r) {
  r->out->terms[r->at].rank = 0;
  for (skip_blanks(&r->next); !ends_term(r->next); skip_blanks(&r->next))
    if (!read_token(r)) return false;
  char words[80];
  snprintf(words, sizeof words, "term %u has %u axes; its operand or result has rank %u", r->at + 1,
           r->out->terms[r->at].rank, shape_at(r, r->at)->nsrc);
  return r->out->terms[r->at].rank == shape_at(r, r->at)->nsrc || refuse_rule(r, words);
}

/* The terms of one side, for tensors from..to-1. */
static bool read_side(reader *r, uint32_t from, uint32_t to) {
  const char *term = r->next;
  r->at = from;
  for (skip_blanks(&r->next); r->at < to; r->next++, skip_blanks(&r->next)) {
    const char *again = *r->next == '*' && r->at > from ? r->next + 1 : NULL;
    if (!again) term = r->next;
    do {
      if (again) r->next = term;
      if (!read_term(r)) return false;
      r->at++;
    } while (again && r->at < to);
    if (again) r->next = again;
    skip_blanks(&r->next);
    if (*r->next != ',') break;
  }
  if (*r->next == '*' && r->at == to) { /* after the last comma, with no operands left for it */
    r->next++;
    skip_blanks(&r->next);
  }
  return r->at == to || refuse_rule(r, "it has fewer terms than there are operands or results");
}

/* Sets the number of axes that d and i count. */
static void count_axes(reader *r) {
  const op_sharding_ask *ask = r->ask;
  uint32_t first = 0;
  while (first < ask->operands && shape_at(r, first)->nsrc == 0) first++;
  if (strstr(ask->rule, "[bcast]")) first = ask->operands;
  bool scalars = ask->operands > 0 && first == ask->operands && !strstr(ask->rule, "[bcast]");
  r->axes_of_d = !scalars && first < ask->operands + ask->results ? shape_at(r, first)->nsrc : 0;
  r->axes_of_i = ask->operands > 1 ? shape_at(r, 1)->nsrc : 0;
}

bool op_sharding_make(ir_graph *g, const op_sharding_ask *ask, op_sharding *out) {
  uint32_t count = ask->operands + ask->results;
  reader r = {.g = g, .ask = ask, .out = out, .next = ask->rule};
  *out = (op_sharding){.operands = ask->operands, .results = ask->results, .mem = g->mem};
  if (!(out->terms = ir_alloc(g->mem, (count + 1) * sizeof *out->terms))) {
    ir_fail(g->error, IR_ERR_MEMORY, "%s: out of memory for a sharding rule", ask->who);
    return false;
  }
  memset(out->terms, 0, (count + 1) * sizeof *out->terms);
  bool done;
  if (strstr(ask->rule, "[refine]")) {
    done = op_sharding_refine(g, out, ask->shapes[0], ask->shapes[1]);
  } else {
    count_axes(&r);
    done = read_side(&r, 0, ask->operands) && strncmp(r.next, "->", 2) == 0;
    if (done) r.next += 2;
    done = done && read_side(&r, ask->operands, count) && *r.next == '\0';
    if (!done) refuse_rule(&r, "it is the terms of the operands, '->', and the terms of the results");
    done = done && op_sharding_solve(g, ask, out);
  }
  if (!done) op_sharding_free(out);
  return done;
}

void op_sharding_free(op_sharding *rule) {
  ir_free(rule->mem, rule->terms,
          rule->terms ? (rule->operands + rule->results + 1) * sizeof *rule->terms : 0);
  rule->terms = NULL;
}

static void print_axis(const op_sharding *rule, const op_split *axis, ir_text *out) {
  if (axis->count == 0) ir_text_str(out, "1");
  if (axis->count > 1) ir_text_str(out, "(");
  for (uint32_t i = 0; i < axis->count; i++) {
    if (i > 0) ir_text_str(out, " ");
    ir_text_str(out, rule->factors[axis->factors[i]].name);
  }
  if (axis->count > 1) ir_text_str(out, ")");
}

void op_sharding_print(const op_sharding *rule, ir_text *out) {
  for (uint32_t t = 0; t < rule->operands + rule->results; t++) {
    const op_term *term = &rule->terms[t];
    if (t == rule->operands) ir_text_str(out, t ? " -> " : "-> ");
    else if (t > 0) ir_text_str(out, ", ");
    if (term->rank == 0) ir_text_str(out, "1");
    for (uint32_t i = 0; i < term->rank; i++) {
      if (i > 0) ir_text_str(out, " ");
      print_axis(rule, &term->axes[i], out);
    }
  }
}
