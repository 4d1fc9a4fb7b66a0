#include "frontend/blame/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/lex/lex.h"
#include "runtime/runtime.h"

enum { PENDING = 0x40 }; /* of a mark: the node made one, and nobody has taken it over yet */

typedef struct pending {
  ir_ref node;
  size_t from, end; /* of its text */
} pending;

typedef struct finder {
  const fe_blamed *b;
  unsigned kinds;
  uint8_t *marks; /* by node: the kinds that its latest value has */
  bool given;     /* a leaf has one */
  pending *list;  /* nodes that made one, in order */
  size_t count, cap;
  ir_text texts; /* what is to be said of them */
} finder;

/* words */

static void put_index(const ir_eval_array *a, int64_t at, ir_text *out) {
  int64_t index[IR_MAX_RANK];
  for (uint32_t k = a->rank; k-- > 0; at /= a->shape[k]) index[k] = at % a->shape[k];
  for (uint32_t k = 0; k < a->rank; k++) ir_textf(out, k ? ",%" PRId64 : "[%" PRId64, index[k]);
  ir_text_str(out, a->rank ? "]" : "");
}

static void put_element(const ir_eval_array *a, int64_t at, ir_text *out) {
  const char *element = (const char *)a->data + (size_t)at * ir_dtypes[a->dtype].bytes;
  ir_value value = ir_value_load(element, a->dtype);
  if (ir_is_float(a->dtype) && isnan(value.f)) ir_text_str(out, "nan"); /* without its bits */
  else ir_print_value(out, value, a->dtype);
}

static bool is_elementwise(const fe_blamed *b, ir_ref node) {
  ir_class cls = (ir_class)ir_ops[ir_op_of(b->graph, node)].cls;
  return cls == IR_CLASS_UNARY || cls == IR_CLASS_BINARY || cls == IR_CLASS_COMPARE ||
         cls == IR_CLASS_TERNARY;
}

static bool same_shape(const ir_eval_array *a, const ir_eval_array *b) {
  return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

/* Writes the name of an operand: the user's, or else what it is. */
static void write_name(const fe_blamed *b, const fe_blamed_statement *s, const ir_node *n, uint32_t number,
                       char out[FE_BLAMED_WORD]) {
  char what[FE_BLAMED_WORD], written[FE_BLAMED_WORD];
  const char *name = fe_statements_name_of(b->statements, b->graph, n->src[number]);
  snprintf(what, sizeof what, "its %s", ir_ops[ir_op_of(b->graph, n->src[number])].text);
  if (name) snprintf(out, FE_BLAMED_WORD, "%%%.60s", name);
  else snprintf(out, FE_BLAMED_WORD, "%s", fe_blame_operand(s, (int)number, what, written));
}

/* "%a[3] is 0.0": the element that was computed with, where that has the same place; else what is there. */
static void put_operand(const fe_blamed *b, const char *name, const ir_eval_array *a,
                        const ir_eval_seen *seen, int64_t at, ir_text *out) {
  ir_text_str(out, name);
  if (is_elementwise(b, seen->node) && same_shape(a, &seen->value)) {
    put_index(a, at, out);
    ir_text_str(out, " is ");
    put_element(a, at, out);
    return;
  }
  int64_t least = 0, most = 0;
  for (int64_t i = 1; i < a->count; i++) {
    ir_value x = ir_value_load((const char *)a->data + (size_t)i * ir_dtypes[a->dtype].bytes, a->dtype),
             lo = ir_value_load((const char *)a->data + (size_t)least * ir_dtypes[a->dtype].bytes, a->dtype),
             hi = ir_value_load((const char *)a->data + (size_t)most * ir_dtypes[a->dtype].bytes, a->dtype);
    bool real = ir_is_float(a->dtype);
    if (real ? x.f < lo.f : x.i < lo.i) least = i;
    if (real ? x.f > hi.f : x.i > hi.i) most = i;
  }
  ir_text_str(out, " is");
  if (!a->count) ir_text_str(out, " empty");
  for (int k = 0; k < (a->count > 1 ? 2 : a->count > 0); k++) {
    ir_text_str(out, k ? " to " : " ");
    put_element(a, k ? most : least, out);
  }
}

static void put_made(const fe_blamed *b, const ir_eval_seen *seen, int64_t at, unsigned made, ir_text *out) {
  fe_blamed_statement s;
  const ir_node *n = ir_get(b->graph, seen->node);
  const char *what = ir_ops[n->op].text;
  fe_blame_statement(b, seen->node, &s);
  ir_textf(out, "graph @%.60s: ", b->name);
  const char *name = fe_statements_name_of(b->statements, b->graph, seen->node);
  if (name && s.direct) ir_textf(out, "%%%.60s = ", name);
  ir_textf(out, "%.200s%s", *s.text ? s.text : what, s.place.text);
  ir_textf(out, " makes %s: ", made & RT_WATCH_NAN ? "a NaN" : "an infinity");
  if (name && s.direct) ir_textf(out, "%%%.60s", name);
  else if (*s.text && !s.direct) ir_textf(out, "its %s", what);
  else ir_text_str(out, "the result");
  put_index(&seen->value, at, out);
  ir_text_str(out, " is ");
  put_element(&seen->value, at, out);
  const char *between = ", where ";
  for (uint32_t i = 0; i < seen->operand_count; i++) {
    char name[FE_BLAMED_WORD];
    if (ir_op_of(b->graph, n->src[i]) == IR_OP_CONST) continue; /* the statement says what it is */
    ir_text_str(out, between);
    write_name(b, &s, n, i, name);
    put_operand(b, name, &seen->operands[i], seen, at, out);
    between = " and ";
  }
}

/* search */

static ir_status blame(const finder *f, size_t number, ir_error *error) {
  const pending *p = &f->list[number];
  return ir_fail(error, IR_ERR_VALUE, "%.*s", (int)(p->end - p->from), ir_text_get(&f->texts) + p->from);
}

static size_t number_of(const finder *f, ir_ref node) {
  size_t i = 0;
  while (i < f->count && f->list[i].node != node) i++;
  return i;
}

/* Notes what the node made. */
static ir_status note(finder *f, const ir_eval_seen *seen, int64_t at, unsigned made, ir_error *error) {
  size_t from = f->texts.len, number = f->count;
  put_made(f->b, seen, at, made, &f->texts);
  if (f->texts.failed || !IR_RESERVE(f->b->graph->mem, f->list, f->cap, number + 1))
    return ir_fail(error, IR_ERR_MEMORY, "out of memory");
  f->list[f->count++] = (pending){seen->node, from, f->texts.len};
  f->marks[seen->node] |= PENDING;
  return seen->result ? blame(f, number, error) : IR_OK;
}

static bool is_leaf(const ir_node *n) { return ir_ops[n->op].cls == IR_CLASS_LEAF; }

static ir_status see(void *user, const ir_eval_seen *seen, ir_error *error) {
  finder *f = user;
  const ir_node *n = ir_get(f->b->graph, seen->node);
  int64_t at = 0;
  unsigned kinds = rt_watched_kinds(seen->value.data, seen->value.count, seen->value.dtype, f->kinds, &at);
  uint8_t *mark = &f->marks[seen->node];
  unsigned had = 0;
  *mark = (uint8_t)((*mark & PENDING) | kinds);
  if (!kinds) return IR_OK;
  if (is_leaf(n)) f->given = true;
  if (is_leaf(n)) return IR_OK;
  for (uint32_t i = 0; i < n->nsrc && (i < seen->operand_count || n->op == IR_OP_RESULT); i++) {
    had |= f->marks[n->src[i]];
    if (f->marks[n->src[i]] & PENDING) return blame(f, number_of(f, n->src[i]), error);
  }
  unsigned made = kinds & ~had;
  bool calls = n->op == IR_OP_RESULT && ir_op_of(f->b->graph, n->src[0]) != IR_OP_CUSTOM;
  bool known = *mark & PENDING || !made || calls; /* what functions made has been seen inside of them */
  return known ? IR_OK : note(f, seen, at, made, error);
}

fe_made fe_blame_value(const fe_blamed *b, unsigned kinds, const ir_customs *customs, ir_error *error) {
  const ir_mem *mem = b->graph->mem;
  size_t nodes = b->graph->count;
  finder f = {.b = b, .kinds = kinds, .marks = ir_alloc(mem, nodes)};
  ir_error found = {0};
  fe_made answer = FE_MADE_NOT_FOUND;
  ir_text_init(&f.texts, mem);
  if (f.marks) {
    memset(f.marks, 0, nodes);
    ir_eval_observer observer = {&f, see, customs};
    ir_eval_observed(b->graph, b->roots, b->root_count, b->inputs, b->input_count, b->vars, b->var_count,
                     &observer, &found);
    if (!found.status && f.count) blame(&f, 0, &found);
    if (!found.status) answer = f.given ? FE_MADE_GIVEN : FE_MADE_NOT_FOUND;
    if (found.status == IR_ERR_VALUE) answer = FE_MADE_FOUND;
  }
  if (answer == FE_MADE_FOUND) *error = found;
  ir_text_free(&f.texts);
  ir_free(mem, f.list, f.cap * sizeof *f.list);
  ir_free(mem, f.marks, nodes);
  return answer;
}
