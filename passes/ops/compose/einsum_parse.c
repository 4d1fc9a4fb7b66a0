/* Parser of einsum equations. */
#include "einsum_parse.h"

#include <stdio.h>
#include <string.h>

typedef struct reader {
  ir_graph *g;
  const char *all; /* the whole equation, for messages */
  int length;
} reader;

const char *einsum_label(uint8_t label, char text[4]) {
  if (label >= EINSUM_LETTERS) return "...";
  memcpy(text, "' '", 4);
  text[1] = (char)(label < 26 ? 'A' + label : 'a' + label - 26);
  return text;
}

static bool refuse_equation(const reader *r, const char *reason) {
  op_refuse(r->g, "einsum: equation '%.*s': %s; an equation is like 'ij,jk->ik' or '...ii->...i'",
            r->length > 100 ? 100 : r->length, r->all, reason);
  return false;
}

/* The labels of one term, as letters, with -1 for an ellipsis. */
typedef struct word {
  int8_t label[IR_MAX_RANK + 1];
  uint32_t count; /* the ellipsis included */
  bool ellipsis;
} word;

static bool read_word(const reader *r, const char *text, size_t length, word *w) {
  *w = (word){.count = 0};
  for (size_t i = 0; i < length; i++) {
    char c = text[i];
    if (c == ' ') continue;
    bool dots = length - i >= 3 && memcmp(text + i, "...", 3) == 0, upper = c >= 'A' && c <= 'Z';
    if (!dots && !upper && !(c >= 'a' && c <= 'z'))
      return refuse_equation(r, "labels are letters, or ... once for any axes");
    if (dots && w->ellipsis) return refuse_equation(r, "a term has more than one ...");
    if (w->count - w->ellipsis == IR_MAX_RANK && !dots)
      return refuse_equation(r, "a term has more labels than a tensor has axes");
    w->label[w->count++] = (int8_t)(dots ? -1 : upper ? c - 'A' : c - 'a' + 26);
    w->ellipsis |= dots;
    if (dots) i += 2;
  }
  return true;
}

/* Assigns a label to each axis, `spare` of them for the ellipsis. */
static void read_labels(const word *w, uint32_t spare, einsum_term *t) {
  t->rank = 0;
  for (uint32_t i = 0; i < w->count; i++) {
    if (w->label[i] >= 0) t->label[t->rank++] = (uint8_t)w->label[i];
    for (uint32_t k = 0; w->label[i] < 0 && k < spare; k++)
      t->label[t->rank++] = (uint8_t)(EINSUM_LABELS - spare + k);
  }
}

static bool read_operand(const reader *r, const char *text, size_t length, einsum *e, uint32_t *spare) {
  einsum_term *t = &e->terms[e->count++];
  ir_graph *g = r->g;
  word w;
  if (!read_word(r, text, length, &w)) return false;
  uint32_t rank = ir_rank(g, t->x), named = w.count - w.ellipsis;
  if (w.ellipsis ? rank < named : rank != named) {
    op_refuse(
        r->g,
        "einsum: equation '%.*s' has %u label%s for operand %zu, which has shape %s; each axis takes one%s",
        r->length > 100 ? 100 : r->length, r->all, named, named == 1 ? "" : "s", e->count, OP_TYPE(t->x),
        w.ellipsis ? "" : ", and ... any others");
    return false;
  }
  read_labels(&w, rank - named, t);
  if (rank - named > *spare) *spare = rank - named;
  return true;
}

/* The result of an equation without ->: the axes of the ellipses, then the letters that occur once, in
 * order. */
static bool implied(const reader *r, einsum *e, uint32_t spare) {
  unsigned seen[EINSUM_LABELS] = {0};
  for (size_t i = 0; i < e->count; i++)
    for (uint32_t k = 0; k < e->terms[i].rank; k++) seen[e->terms[i].label[k]]++;
  e->out.rank = 0;
  for (uint32_t k = 0; k < spare; k++) e->out.label[e->out.rank++] = (uint8_t)(EINSUM_LABELS - spare + k);
  for (int l = 0; l < EINSUM_LETTERS; l++) {
    if (seen[l] != 1) continue;
    if (e->out.rank == IR_MAX_RANK)
      return refuse_equation(r, "the result has more labels than a tensor has axes");
    e->out.label[e->out.rank++] = (uint8_t)l;
  }
  return true;
}

/* A label of the result, which is of no operand or comes twice. */
static bool refuse_label(const reader *r, uint8_t label, bool twice) {
  char why[96], letter[4];
  snprintf(why, sizeof why,
           twice ? "the result has %s twice; it may have each label once"
                 : "the result has %s, which no operand has",
           einsum_label(label, letter));
  return refuse_equation(r, why);
}

static bool read_result(const reader *r, const char *text, size_t length, einsum *e, uint32_t spare) {
  word w;
  bool seen[EINSUM_LABELS] = {false};
  if (!read_word(r, text, length, &w)) return false;
  if (spare && !w.ellipsis)
    return refuse_equation(r, "operands have axes under ... and the result has no ...");
  if (w.count - w.ellipsis + (w.ellipsis ? spare : 0) > IR_MAX_RANK)
    return refuse_equation(r, "the result has more labels than a tensor has axes");
  read_labels(&w, spare, &e->out);
  for (size_t i = 0; i < e->count; i++)
    for (uint32_t k = 0; k < e->terms[i].rank; k++) seen[e->terms[i].label[k]] = true;
  for (uint32_t k = 0; k < e->out.rank; k++) {
    uint8_t label = e->out.label[k];
    bool twice = false;
    for (uint32_t i = 0; i < k; i++) twice |= e->out.label[i] == label;
    if (!seen[label] || twice) return refuse_label(r, label, twice);
  }
  return true;
}

bool einsum_parse(ir_graph *g, const char *equation, size_t length, const ir_ref *x, size_t n, einsum *e) {
  reader r = {g, equation, length < 1000 ? (int)length : 1000};
  const char *end = equation + length, *arrow = equation;
  while (arrow < end && !(end - arrow >= 2 && arrow[0] == '-' && arrow[1] == '>')) arrow++;
  e->count = 0;
  uint32_t spare = 0;
  size_t terms = 1;
  for (const char *c = equation; c < arrow; c++) terms += *c == ',';
  if (terms != n) {
    op_refuse(g, "einsum: equation '%.*s' has %zu term%s; the operands number %zu; each takes one",
              r.length > 100 ? 100 : r.length, equation, terms, terms == 1 ? "" : "s", n);
    return false;
  }
  for (const char *from = equation; e->count < n;) {
    const char *to = from;
    while (to < arrow && *to != ',') to++;
    e->terms[e->count].x = x[e->count];
    if (!read_operand(&r, from, (size_t)(to - from), e, &spare)) return false;
    from = to + 1;
  }
  return arrow < end ? read_result(&r, arrow + 2, (size_t)(end - arrow - 2), e, spare)
                     : implied(&r, e, spare);
}
