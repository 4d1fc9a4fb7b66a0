/* Attributes: which ones an operation takes, and their conversion to C values. */
#include "args.h"

#include "ir/lex/lex.h"
#include "ir/parse/parse.h"

#include <string.h>

static const struct {
  const char *name, *takes;
} attributes[OP_ATTR_COUNT] = {
#define ATTRIBUTE(name, takes) {#name, takes},
#include "passes/ops/attributes.def"
#undef ATTRIBUTE
};

const char *op_attr_name(int attr) { return attributes[attr].name; }
const char *op_attr_takes(int attr) { return attributes[attr].takes; }

void op_attr_put_names(const op_attr_set *set, ir_text *text) {
  const char *lead = "";
  for (int i = 0; i < OP_ATTR_COUNT; i++) {
    if (!op_attr_in(set, i)) continue;
    ir_textf(text, "%s%s", lead, attributes[i].name);
    lead = ", ";
  }
  if (!*lead) ir_text_str(text, "none");
}

/* The number of an attribute; OP_ATTR_COUNT: there is none of that name. */
static int find_attribute(const char *name, size_t length) {
  int k = 0;
  while (k < OP_ATTR_COUNT &&
         !(strlen(attributes[k].name) == length && memcmp(attributes[k].name, name, length) == 0))
    k++;
  return k;
}

static bool refuse_attribute(op_args *a, const ir_attr *attr, int k, const op_attr_set *accepted) {
  ir_text names;
  ir_text_init(&names, a->g->mem);
  op_attr_put_names(accepted, &names);
  const char *other = k < OP_ATTR_COUNT ? op_other_with(a, k) : NULL;
  if (!op_put_foreign_attribute(a->who, attr->name, attr->name_length, accepted, &names) && other)
    ir_textf(&names, "; %s is an attribute of %s", attributes[k].name, other);
  op_refuse(a->g, "%s: there is no attribute %.*s; attributes: %s", a->who, (int)attr->name_length,
            attr->name, ir_text_get(&names));
  ir_text_free(&names);
  return false;
}

/* The letters of one of the two patterns of einops, without blanks: `b h w` is bhw. False: it has names, of
 * several letters. */
static bool pattern_letters(const char *at, const char *end, char *out, size_t size) {
  size_t used = 0;
  while (at < end && *at == ' ') at++;
  while (at < end && end[-1] == ' ') end--;
  bool blanks = memchr(at, ' ', (size_t)(end - at)) != NULL; /* between names */
  for (bool word = false; at < end; at++) {
    bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
    if (*at != ' ' && used + 1 < size) out[used++] = *at;
    if (letter && word) return false;
    word = letter && blanks;
  }
  out[used] = '\0';
  return true;
}

/* Appends what from= and to= are where the one that is given has both, with an arrow between. */
static void say_patterns(const op_args *a, ir_text *out) {
  char from[64], to[64];
  for (int k = 0; k < OP_ATTR_COUNT; k++) {
    const ir_attr *v = a->at[k];
    const char *arrow = NULL, *end = v && v->kind == IR_ATTR_WORD ? v->word + v->word_length : NULL;
    if (k != OP_ATTR_from && k != OP_ATTR_to) continue;
    for (const char *at = end ? v->word : NULL; at && at + 1 < end && !arrow; at++)
      if (at[0] == '-' && at[1] == '>') arrow = at;
    if (!arrow) continue;
    bool plain =
        pattern_letters(v->word, arrow, from, sizeof from) && pattern_letters(arrow + 2, end, to, sizeof to);
    ir_textf(out, "; what stands before and behind the arrow is from=\"%s\" to=\"%s\"", plain ? from : "ab",
             plain ? to : "ba");
    if (!plain) ir_text_str(out, ", a letter for each axis");
  }
}

bool op_args_collect(op_args *a, const ir_attr *attrs, size_t count, const op_attr_set *accepted,
                     const op_attr_set *required) {
  bool good = true;
  for (size_t i = 0; i < count && good; i++) {
    int k = find_attribute(attrs[i].name, attrs[i].name_length);
    if (k == OP_ATTR_COUNT || !op_attr_in(accepted, k)) return refuse_attribute(a, &attrs[i], k, accepted);
    good = !a->at[k];
    a->at[k] = &attrs[i];
    if (!good) op_refuse(a->g, "%s: attribute %s is given twice; give it once", a->who, attributes[k].name);
  }
  for (int k = 0; k < OP_ATTR_COUNT && good; k++) {
    if (!op_attr_in(required, k) || a->at[k]) continue;
    ir_text patterns;
    ir_text_init(&patterns, a->g->mem);
    say_patterns(a, &patterns);
    op_refuse(a->g, "%s: attribute %s is missing; it is %s%s", a->who, attributes[k].name,
              attributes[k].takes, ir_text_get(&patterns));
    ir_text_free(&patterns);
    good = false;
  }
  return good;
}

/* A value as text. */
static void describe_value(const op_args *a, const ir_attr *v, ir_text *text) {
  switch (v->kind) {
  case IR_ATTR_EXPR: ir_print_expr(a->g, v->expr, text); break;
  case IR_ATTR_FLOAT: ir_print_double(text, v->number, IR_F64); break;
  case IR_ATTR_WORD:
  case IR_ATTR_GRAPH: ir_text_add(text, v->word, v->word_length < 60 ? v->word_length : 60); break;
  case IR_ATTR_LIST: ir_textf(text, "a list of %zu", v->count); break;
  }
}

bool op_args_wrong(const op_args *a, int attr, const ir_attr *item) {
  ir_text text;
  ir_text_init(&text, a->g->mem);
  describe_value(a, item, &text);
  op_refuse(a->g, "%s: attribute %s %s %s; it is %s", a->who, attributes[attr].name,
            item == a->at[attr] ? "is" : "holds", ir_text_get(&text), attributes[attr].takes);
  ir_text_free(&text);
  return false;
}

/* An entry of a list of expressions that is none. */
static bool wrong_entry(const op_args *a, int attr, const ir_attr *item) {
  if (item->kind != IR_ATTR_WORD || item == a->at[attr]) return op_args_wrong(a, attr, item);
  op_refuse(a->g, "%s: attribute %s holds %.*s, which is no size variable of the graph; it is %s", a->who,
            attributes[attr].name, item->word_length < 60 ? (int)item->word_length : 60, item->word,
            attributes[attr].takes);
  return false;
}

bool op_args_expr(const op_args *a, int attr, ir_ref *out) {
  const ir_attr *v = a->at[attr];
  if (!v) return true;
  if (v->kind != IR_ATTR_EXPR) return op_args_wrong(a, attr, v);
  return (*out = v->expr) != 0;
}

/* Does the attribute name axes of the first operand, and the value as letters? */
static bool is_letters(const op_args *a, int attr, const ir_attr *v) {
  bool axes = attr == OP_ATTR_axis || attr == OP_ATTR_axes || attr == OP_ATTR_order ||
              attr == OP_ATTR_axis1 || attr == OP_ATTR_axis2 || attr == OP_ATTR_source ||
              attr == OP_ATTR_destination || attr == OP_ATTR_start_dim || attr == OP_ATTR_end_dim;
  return axes && v->kind == IR_ATTR_WORD && v->word_length && a->n && ir_shape(a->g, a->x[0]);
}

bool op_args_int(const op_args *a, int attr, int64_t *out) {
  const ir_attr *v = a->at[attr];
  if (!v) return true;
  if (is_letters(a, attr, v) && v->word_length == 1)
    return (*out = op_letter_axis(a->g, a->who, a->x[0], v->word[0])) >= 0;
  if (v->kind == IR_ATTR_EXPR && v->expr == 0) return false;
  return (v->kind == IR_ATTR_EXPR && ir_is_const(a->g, v->expr, out)) || op_args_wrong(a, attr, v);
}

bool op_args_number(const op_args *a, int attr, double *out) {
  ir_value value;
  ir_dtype kind;
  if (!a->at[attr]) return true;
  if (!op_args_literal(a, attr, a->at[attr], &value, &kind)) return false;
  if (kind == IR_BOOL) return op_args_wrong(a, attr, a->at[attr]);
  *out = ir_value_cast(value, kind, IR_F64).f;
  return true;
}

static bool is_word(const ir_attr *v, const char *word) {
  return v->kind == IR_ATTR_WORD && v->word_length == strlen(word) &&
         memcmp(v->word, word, v->word_length) == 0;
}

bool op_args_bool(const op_args *a, int attr, bool *out) {
  const ir_attr *v = a->at[attr];
  if (!v) return true;
  *out = is_word(v, "true");
  return *out || is_word(v, "false") || op_args_wrong(a, attr, v);
}

bool op_args_dtype(const op_args *a, int attr, ir_dtype *out) {
  const ir_attr *v = a->at[attr];
  if (!v) return true;
  *out = v->kind == IR_ATTR_WORD ? ir_dtype_parse(v->word, v->word_length) : IR_NONE;
  if (*out != IR_NONE && *out != IR_INDEX) return true;
  const char *meant = v->kind == IR_ATTR_WORD ? ir_parse_dtype_meant(v->word, v->word_length) : NULL;
  if (meant)
    op_refuse(a->g, "%s: attribute %s is %.*s; that is %s, as it is called here", a->who,
              attributes[attr].name, (int)v->word_length, v->word, meant);
  return !meant && op_args_wrong(a, attr, v);
}

bool op_args_choice(const op_args *a, int attr, const char *const *words, int count, int *out) {
  const ir_attr *v = a->at[attr];
  for (int i = 0; v && i < count; i++)
    if (is_word(v, words[i])) {
      *out = i;
      return true;
    }
  if (!v) return true;
  ir_text text, all;
  ir_text_init(&text, a->g->mem);
  ir_text_init(&all, a->g->mem);
  describe_value(a, v, &text);
  for (int i = 0; i < count; i++) ir_textf(&all, "%s%s", i ? " " : "", words[i]);
  op_refuse(a->g, "%s: attribute %s is %s; it is one of %s", a->who, attributes[attr].name,
            ir_text_get(&text), ir_text_get(&all));
  ir_text_free(&text);
  ir_text_free(&all);
  return false;
}

bool op_args_graph(const op_args *a, int attr, ir_ref *func) {
  const ir_attr *v = a->at[attr];
  if (!v) return true;
  if (v->kind != IR_ATTR_GRAPH) return op_args_wrong(a, attr, v);
  return (*func = v->expr) != 0;
}

static bool too_long(const op_args *a, int attr, size_t count) {
  op_refuse(a->g, "%s: attribute %s lists %zu entries; a tensor has at most %d axes", a->who,
            attributes[attr].name, count, IR_MAX_RANK);
  return false;
}

bool op_args_list(const op_args *a, int attr, op_list *out) {
  const ir_attr *v = a->at[attr];
  if (!v) return true;
  if (is_letters(a, attr, v)) {
    if (v->word_length > OP_LIST_MAX) return too_long(a, attr, v->word_length);
    for (out->n = 0; out->n < v->word_length; out->n++) {
      int64_t axis = op_letter_axis(a->g, a->who, a->x[0], v->word[out->n]);
      if (axis < 0) return false;
      out->items[out->n] = ir_index(a->g, axis);
    }
    return true;
  }
  bool lone = v->kind == IR_ATTR_EXPR;
  if (!lone && v->kind != IR_ATTR_LIST) return op_args_wrong(a, attr, v);
  out->n = lone ? 1 : v->count;
  if (out->n > OP_LIST_MAX) return too_long(a, attr, out->n);
  for (size_t i = 0; i < out->n; i++) {
    const ir_attr *item = lone ? v : &v->items[i];
    if (item->kind != IR_ATTR_EXPR) return wrong_entry(a, attr, item);
    if (!(out->items[i] = item->expr)) return false;
  }
  return true;
}

bool op_args_pairs(const op_args *a, int attr, op_list *out) {
  const ir_attr *v = a->at[attr];
  if (!v) return true;
  if (v->kind != IR_ATTR_LIST) return op_args_wrong(a, attr, v);
  out->n = v->count;
  if (out->n > OP_LIST_MAX) return too_long(a, attr, out->n);
  for (size_t i = 0; i < v->count; i++) {
    const ir_attr *pair = &v->items[i];
    if (pair->kind != IR_ATTR_LIST || pair->count != 2) return op_args_wrong(a, attr, pair);
    for (int k = 0; k < 2; k++) {
      if (pair->items[k].kind != IR_ATTR_EXPR) return wrong_entry(a, attr, &pair->items[k]);
      if (!(out->items[2 * i + (size_t)k] = pair->items[k].expr)) return false;
    }
  }
  return true;
}

bool op_args_axes(const op_args *a, op_list *axes, bool *given) {
  *given = a->at[OP_ATTR_axes] || a->at[OP_ATTR_axis];
  if (a->at[OP_ATTR_axes] && a->at[OP_ATTR_axis]) {
    op_refuse(a->g, "%s: both axis and axes are given; give one of them", a->who);
    return false;
  }
  return op_args_list(a, a->at[OP_ATTR_axes] ? OP_ATTR_axes : OP_ATTR_axis, axes);
}

/* Parses the decimal digits of a number up to 2^64 - 1. */
static bool digits(const ir_attr *v, uint64_t *out) {
  *out = 0;
  for (size_t i = 0; i < v->word_length; i++) {
    unsigned digit = (unsigned char)v->word[i] - (unsigned)'0';
    if (digit > 9 || *out > (UINT64_MAX - digit) / 10) return false;
    *out = *out * 10 + digit;
  }
  return v->word_length > 0;
}

bool op_args_literal(const op_args *a, int attr, const ir_attr *item, ir_value *value, ir_dtype *kind) {
  uint64_t large;
  *value = (ir_value){.i = 0};
  if (item->kind == IR_ATTR_EXPR && item->expr == 0) return false;
  if (item->kind == IR_ATTR_EXPR && ir_is_const(a->g, item->expr, &value->i)) *kind = IR_I64;
  else if (item->kind == IR_ATTR_FLOAT) *kind = IR_F64, value->f = item->number;
  else if (is_word(item, "true") || is_word(item, "false")) *kind = IR_BOOL, value->i = item->word[0] == 't';
  else if (item->kind == IR_ATTR_WORD && digits(item, &large))
    *kind = large > INT64_MAX ? IR_U64 : IR_I64, value->i = (int64_t)large;
  else return op_args_wrong(a, attr, item);
  return true;
}
