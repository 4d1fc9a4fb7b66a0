/* Parsing of a statement's operands and attributes. */
#include "ir/parse/impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LIST_DEPTH = 32 };

/* Is the word at the current token part of an expression? Otherwise it is a value by itself. */
static bool word_is_expression(ir_parser *p) {
  ir_token word = p->lex.token;
  int64_t axis, id;
  if (ir_range_axis(word.text, word.length, &axis)) return true;
  if ((id = ir_parse_intern(p, &word)) >= 0 && p->symbols[id].var_epoch == p->epoch) return true;
  ir_lexer ahead = p->lex; /* one token of lookahead, without reporting errors */
  ir_error ignored = {0};
  ahead.error = &ignored;
  ir_lex_next(&ahead);
  if (ahead.token.kind != IR_TOKEN_SIGN || (ahead.token.first && p->lex.by_line)) return false;
  return !strchr(",]):}", ahead.token.sign & 255);
}

static bool word_value(ir_parser *p, ir_attr *out) {
  ir_token t = p->lex.token;
  out->kind = IR_ATTR_WORD;
  out->word = t.text;
  out->word_length = t.length;
  if (ir_token_is(&t, "True")) out->word = "true";
  if (ir_token_is(&t, "False")) out->word = "false";
  if (t.kind == IR_TOKEN_STRING) {
    char *copy = ir_parse_alloc(p, t.length + 1);
    if (!copy) return false;
    out->word = copy;
    out->word_length = ir_lex_unescape(&t, copy);
  }
  ir_lex_next(&p->lex);
  return true;
}

static bool graph_value(ir_parser *p, ir_attr *out) {
  ir_token name;
  if (!ir_parse_name(p, '@', &name, "bad attribute")) return false;
  char *copy = ir_parse_alloc(p, name.length + 2);
  if (!copy) return false;
  copy[0] = '@';
  out->kind = IR_ATTR_GRAPH;
  out->word = copy;
  out->word_length = 1 + ir_lex_unescape(&name, copy + 1);
  return (out->expr = ir_parse_function(p, &name, out)) != 0;
}

/* An integer above INT64_MAX, which no index expression can hold, becomes a WORD of its digits. */
static bool large_value(ir_parser *p, ir_attr *out) {
  enum { ROOM = 24 };
  char *digits = ir_parse_alloc(p, ROOM);
  if (!digits) return false;
  out->kind = IR_ATTR_WORD;
  out->word = digits;
  out->word_length = (size_t)snprintf(digits, ROOM, "%" PRIu64, p->lex.token.integer);
  ir_lex_next(&p->lex);
  return !p->lex.error->status;
}

/* a value that is not a list */
static bool simple_value(ir_parser *p, ir_attr *out) {
  const ir_token *t = &p->lex.token;
  *out = (ir_attr){.line = t->line, .column = t->column, .name = ""};
  bool number = t->kind == IR_TOKEN_FLOAT || ir_token_is(t, "inf") || ir_token_is(t, "nan");
  if (ir_lex_is(&p->lex, '-')) {
    ir_lexer ahead = p->lex;
    ir_error ignored = {0};
    ahead.error = &ignored;
    ir_lex_next(&ahead);
    t = &ahead.token;
    number = t->kind == IR_TOKEN_FLOAT || ir_token_is(t, "inf") || ir_token_is(t, "nan");
  }
  if (number) {
    ir_literal l;
    if (!ir_parse_literal(p, &l)) return false;
    out->kind = IR_ATTR_FLOAT;
    out->number = l.number;
    return true;
  }
  if (p->lex.token.kind == IR_TOKEN_STRING || (p->lex.token.kind == IR_TOKEN_WORD && !word_is_expression(p)))
    return word_value(p, out);
  if (ir_lex_is(&p->lex, '@')) return graph_value(p, out);
  if (ir_lex_is(&p->lex, '{'))
    return ir_lex_fail(&p->lex, "a list in braces", "brackets around it, as in shape=[2,3]");
  if (p->lex.token.kind == IR_TOKEN_INT && p->lex.token.integer > INT64_MAX) return large_value(p, out);
  out->kind = IR_ATTR_EXPR;
  return (out->expr = ir_parse_expression(p)) != 0;
}

static bool pool_push(ir_parser *p, const ir_attr *item) {
  if (!IR_RESERVE(p->graph->mem, p->pool, p->pool_cap, p->pool_count + 1)) return ir_parse_memory(p);
  p->pool[p->pool_count++] = *item;
  return true;
}

/* replaces the items from `start` on by one list */
static bool pool_fold(ir_parser *p, size_t start, int line, int column) {
  size_t count = p->pool_count - start;
  ir_attr *items = ir_parse_alloc(p, count * sizeof *items);
  if (!items) return false;
  if (count) memcpy(items, p->pool + start, count * sizeof *items);
  p->pool_count = start;
  return pool_push(
      p,
      &(ir_attr){
          .name = "", .kind = IR_ATTR_LIST, .items = items, .count = count, .line = line, .column = column});
}

static bool list_value(ir_parser *p) {
  struct {
    size_t start;
    int line, column;
  } open[MAX_LIST_DEPTH];
  int depth = 0;
  bool wants_item = true;
  do {
    if (wants_item && ir_lex_is(&p->lex, '[')) {
      if (depth == MAX_LIST_DEPTH) return ir_lex_fail(&p->lex, "lists nested too deep", "at most 32 levels");
      open[depth].start = p->pool_count;
      open[depth].line = p->lex.token.line;
      open[depth++].column = p->lex.token.column;
      ir_lex_next(&p->lex);
    } else if (ir_lex_is(&p->lex, ']') && (!wants_item || p->pool_count == open[depth - 1].start)) {
      depth--;
      if (!pool_fold(p, open[depth].start, open[depth].line, open[depth].column)) return false;
      ir_lex_next(&p->lex);
      wants_item = false;
    } else if (!wants_item) {
      if (!ir_lex_accept(&p->lex, ','))
        return ir_lex_fail(&p->lex, "bad list",
                           ir_lex_is(&p->lex, ':')
                               ? "',' or ']'; a pair is a list, as in [[0,1],[0,3]] for 0:1,0:3"
                               : "',' or ']'");
      wants_item = true;
    } else {
      ir_attr item;
      if (!simple_value(p, &item) || !pool_push(p, &item)) return false;
      wants_item = false;
    }
  } while (depth > 0);
  return true;
}

bool ir_parse_value(ir_parser *p, ir_attr *out) {
  if (!ir_lex_is(&p->lex, '[')) return simple_value(p, out);
  bool by_line = p->lex.by_line;
  p->lex.by_line = false;
  size_t base = p->pool_count;
  bool ok = list_value(p);
  p->lex.by_line = by_line;
  if (ok) *out = p->pool[base];
  p->pool_count = base;
  return ok;
}

bool ir_parse_value_of(ir_parser *p, const ir_token *name, ir_attr *out) {
  bool spec = (ir_token_is(name, "to") || ir_token_is(name, "over") || ir_token_is(name, "spec")) &&
              ir_lex_is(&p->lex, '['); /* spec: the message is then that shard calls it `to` */
  return spec ? ir_parse_spec_value(p, out) : ir_parse_value(p, out);
}

/* The dtype that a word means, here or elsewhere; NULL: it means none. */
static const char *dtype_said(const ir_token *t) {
  ir_dtype own = ir_parse_dtype_word(t);
  return own != IR_NONE ? ir_dtypes[own].name : ir_parse_dtype_meant(t->text, t->length);
}

/* float32(2), where a constant is written f32(2) */
static bool refuse_constant(ir_parser *p, const ir_token *name, const char *dtype) {
  return ir_lex_fail_at(
      &p->lex, name->line, name->column,
      "bad constant, found '%.*s', expected a number, or %s(0.5), as its dtype is called here",
      (int)name->length, name->text, dtype);
}

/* file=w.npy, without quotes */
static bool refuse_bare_file(ir_parser *p, const ir_token *name) {
  static const char *const files[] = {"file", "path", "filename", "filepath"};
  const ir_token *t = &p->lex.token;
  bool file = false;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) file |= ir_token_is(name, files[i]);
  if (!file || t->kind == IR_TOKEN_STRING || t->kind == IR_TOKEN_INT) return false;
  const char *at = t->text, *end = p->lex.text + p->lex.length;
  while (at < end && !strchr(" \t\r\n,}", *at)) at++;
  int length = (int)(at - t->text);
  return !ir_lex_fail_at(&p->lex, t->line, t->column,
                         "a text without quotes, found '%.*s', expected \"%.*s\"", length > 60 ? 60 : length,
                         t->text, length > 60 ? 60 : length, t->text);
}

bool ir_parse_attributes(ir_parser *p, ir_attr **attrs, size_t *count, size_t *cap) {
  *count = 0;
  while (p->lex.token.kind == IR_TOKEN_WORD && !p->lex.token.first) {
    ir_token name = p->lex.token;
    int shown = (int)(name.length > 40 ? 40 : name.length);
    if (ir_parse_in_equation(p)) return ir_lex_fail(&p->lex, "a text without quotes", IR_PARSE_EQUATION);
    if (ir_token_is(&name, "return"))
      return ir_lex_fail(&p->lex, "return behind a statement", "it on a line of its own");
    ir_lex_next(&p->lex);
    for (size_t i = 0; i < *count; i++)
      if ((*attrs)[i].name_length == name.length && memcmp((*attrs)[i].name, name.text, name.length) == 0)
        return ir_lex_fail_at(&p->lex, name.line, name.column,
                              "attribute given twice, found '%.*s' again, expected each once", shown,
                              name.text);
    if (ir_lex_is(&p->lex, ':')) return ir_lex_fail(&p->lex, "bad attribute", "'=', as in axes=[1]");
    const char *dtype = dtype_said(&name);
    if (dtype && ir_lex_is(&p->lex, '(')) return refuse_constant(p, &name, dtype);
    if (dtype && !ir_lex_is(&p->lex, '='))
      return ir_parse_about_attributes(
          p, ir_lex_fail_at(&p->lex, name.line, name.column,
                            "a dtype without a name, found '%.*s', expected an attribute, as in dtype=%s",
                            shown, name.text, dtype));
    if (!ir_lex_is(&p->lex, '='))
      return ir_parse_about_attributes(
          p,
          ir_lex_fail_at(&p->lex, name.line, name.column,
                         "'%.*s' is no value and no attribute; values are named with %%, as in %%%.*s, and "
                         "attributes are NAME=VALUE, as in axis=0",
                         shown, name.text, shown, name.text));
    ir_lex_next(&p->lex);
    if (p->lex.token.first) return ir_lex_fail(&p->lex, "bad attribute", "its value");
    if (!IR_RESERVE(p->graph->mem, *attrs, *cap, *count + 1)) return ir_parse_memory(p);
    ir_attr *a = &(*attrs)[*count];
    if (refuse_bare_file(p, &name) || !ir_parse_value_of(p, &name, a)) return false;
    a->name = name.text;
    a->name_length = name.length;
    ++*count;
  }
  return !p->lex.error->status;
}

static bool at_operand(const ir_parser *p) {
  const ir_token *t = &p->lex.token;
  if (t->first && p->lex.by_line) return false;
  if (ir_parse_at_literal(p) || ir_lex_is(&p->lex, '%') || ir_lex_is(&p->lex, '(')) return true;
  return t->kind == IR_TOKEN_WORD && ir_parse_dtype_word(t) != IR_NONE;
}

/* Is the word a size that varies? */
static bool is_variable(ir_parser *p) {
  int64_t id = ir_parse_intern(p, &p->lex.token);
  return id >= 0 && p->symbols[id].var_epoch == p->epoch;
}

/* Is the word the name of a value? */
static bool is_value(ir_parser *p) {
  int64_t id = ir_parse_intern(p, &p->lex.token);
  return id >= 0 && p->symbols[id].value_epoch == p->epoch;
}

/* Does a parenthesis stand right behind the token? */
static bool is_called(const ir_parser *p) {
  const char *behind = p->lex.token.text + p->lex.token.length;
  return behind < p->lex.text + p->lex.length && *behind == '(';
}

bool ir_parse_operand(ir_parser *p, ir_ref *out) {
  const ir_token *t = &p->lex.token;
  *out = 0;
  p->operand = *t;
  if (!at_operand(p) && !t->first && ir_parse_refuse_number(p)) return false;
  bool is_word = t->kind == IR_TOKEN_WORD && !t->first && !ir_parse_at_literal(p);
  if (is_word && is_called(p) && !at_operand(p) && dtype_said(t)) return refuse_constant(p, t, dtype_said(t));
  if (is_word && !is_called(p) && !is_value(p) && !is_variable(p) && dtype_said(t))
    return ir_parse_about_attributes(
        p, ir_lex_fail(
               &p->lex, "a dtype in place of an operand",
               "%NAME or a number; a dtype is an attribute, as in cast %x dtype=i32, and a constant of one "
               "f32(0.5)"));
  if (!at_operand(p) && t->kind == IR_TOKEN_WORD && !t->first && is_variable(p))
    return ir_lex_fail(&p->lex, "a size in place of an operand",
                       "%NAME or a number; the value of a size is the sum of ones, as in %o = ones shape=[n] "
                       "dtype=i64; %s = sum %o");
  if (!at_operand(p) && t->kind == IR_TOKEN_WORD && !t->first && p->operand_count)
    return ir_lex_fail(
        &p->lex, "bad operand",
        ir_parse_before_value(p)
            ? "%NAME or a number; an operation has a line of its own, as in %t = neg %x"
            : "%NAME or a number; attributes follow the operands without a comma, as in sum %x axes=[0]");
  if (t->kind == IR_TOKEN_STRING) return ir_parse_refuse_text(p);
  if (!at_operand(p) && ir_lex_is(&p->lex, '.'))
    return ir_lex_fail(&p->lex, "bad number", "digits on both sides of the point, as in 0.5 and 5.0");
  if (ir_lex_is(&p->lex, '['))
    return ir_parse_about_attributes(
        p,
        ir_lex_fail(&p->lex, "a list in place of an operand",
                    "%NAME or a number; a list is an attribute, as in shape=[2,3], and an array of numbers "
                    "%i = data values=[0,2]"));
  if (!at_operand(p) && t->kind == IR_TOKEN_WORD && !t->first && is_value(p))
    return ir_lex_fail_at(
        &p->lex, t->line, t->column, "bad operand, found '%.*s', expected %%%.*s, as values are named",
        t->length > 40 ? 40 : (int)t->length, t->text, t->length > 40 ? 40 : (int)t->length, t->text);
  if (ir_lex_is(&p->lex, '+'))
    return ir_lex_fail(&p->lex, "bad operand", "%NAME or a number, which has no sign where it is positive");
  if (!at_operand(p))
    return ir_lex_fail(&p->lex, "bad operand",
                       "%NAME, a number, true, false or an index expression in parentheses");
  if (ir_lex_is(&p->lex, '%')) {
    return ir_parse_name(p, '%', &p->operand, "bad operand") && (*out = ir_parse_lookup(p, &p->operand)) != 0;
  }
  if (ir_lex_is(&p->lex, '(')) { /* the operand ends at its closing parenthesis */
    ir_lex_next(&p->lex);
    bool by_line = p->lex.by_line;
    p->lex.by_line = false;
    *out = ir_parse_expression(p);
    p->lex.by_line = by_line;
    if (*out && ir_lex_is(&p->lex, ','))
      return ir_lex_fail(&p->lex, "operands in parentheses", "operands without them, as in add %x, %y");
    return *out && ir_lex_expect(&p->lex, ')', "bad operand");
  }
  if (t->kind == IR_TOKEN_WORD && !ir_parse_at_literal(p)) { /* f32(0.5) */
    ir_literal l;
    ir_dtype dtype;
    ir_value value;
    if (!ir_parse_dtype(p, &dtype) || !ir_lex_expect(&p->lex, '(', "bad constant") ||
        !ir_parse_literal(p, &l) || !ir_literal_value(p, &l, dtype, &value) ||
        !ir_lex_expect(&p->lex, ')', "bad constant"))
      return false;
    *out = ir_make_tensor(p->graph, IR_OP_CONST, dtype, ir_tuple(p->graph, NULL, 0), value.i, NULL, 0);
    return *out != 0;
  }
  return (*out = ir_parse_weak(p)) != 0;
}

bool ir_parse_operands(ir_parser *p) {
  p->operand_count = 0;
  if (!at_operand(p)) return !p->lex.error->status;
  do {
    ir_ref operand;
    if (!ir_parse_operand(p, &operand)) return false;
    if (!IR_RESERVE(p->graph->mem, p->operands, p->operand_cap, p->operand_count + 1) ||
        !IR_RESERVE(p->graph->mem, p->written, p->written_cap, p->operand_count + 1))
      return ir_parse_memory(p);
    p->written[p->operand_count] = p->operand;
    p->operands[p->operand_count++] = operand;
  } while (ir_lex_accept(&p->lex, ','));
  return true;
}
