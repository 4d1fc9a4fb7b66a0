/* Chain expressions: the steps, and the parser. */
#include "frontend/text/chain.h"

#include <string.h>

#include "frontend/text/nearest.h"
#include "ir/parse/parse.h"
#include "passes/index/index.h"
#include "passes/ops/foreign.h"
#include "passes/ops/ops.h"

static const fe_step steps[] = {
    {"permute", FE_FORM_LIST, {"order"}},
    {"reshape", FE_FORM_LIST, {"shape"}},
    {"expand", FE_FORM_LIST, {"shape"}},
    {"pad", FE_FORM_PAIRS, {"pads"}},
    {"shrink", FE_FORM_PAIRS, {"bounds"}},
    {"flip", FE_FORM_LIST, {"axes"}},
    {"stride", FE_FORM_LIST, {"steps"}},
    {"unsqueeze", FE_FORM_EACH, {"axis"}},
    {"squeeze", FE_FORM_LIST, {"axes"}},
    {"point", FE_FORM_EACH, {"axis", "index"}},
    {"gather", FE_FORM_EACH, {"axis", "indices"}},
    {"take", FE_FORM_EACH, {"axis", "indices"}},
    {"broadcast_to", FE_FORM_LIST, {"shape"}},
    {"slice", FE_FORM_PAIRS, {"bounds"}},
    {"swap_axes", FE_FORM_EACH, {"axis1", "axis2"}},
    {"transpose", FE_FORM_EACH, {"axis1", "axis2"}},
    {"moveaxis", FE_FORM_EACH, {"source", "destination"}},
    {"flatten", FE_FORM_EACH, {"start_dim", "end_dim"}},
};
enum { STEP_COUNT = sizeof steps / sizeof *steps, MAX_ATTRS = 4, MAX_VALUES = 2 * IR_MAX_RANK };

const fe_step *fe_step_find(const char *name, size_t length) {
  for (size_t i = 0; i < STEP_COUNT; i++)
    if (strlen(steps[i].name) == length && memcmp(steps[i].name, name, length) == 0) return &steps[i];
  return NULL;
}

const char *fe_step_nearest(const char *name, size_t length) {
  const char *names[STEP_COUNT];
  size_t bytes;
  const char *operation = op_foreign_operation(name, length, &bytes);
  const fe_step *step = operation ? fe_step_find(operation, bytes) : NULL;
  if (step) return step->name;
  for (size_t i = 0; i < STEP_COUNT; i++) names[i] = steps[i].name;
  return fe_nearest(name, length, names, STEP_COUNT);
}

/* applying */

static const ir_attr *attr_named(const ir_attr *attrs, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (attrs[i].name_length == strlen(name) && memcmp(attrs[i].name, name, attrs[i].name_length) == 0)
      return &attrs[i];
  return NULL;
}

static ir_ref refuse_index(ir_graph *g, ir_ref x, int64_t index, uint32_t axis, const char *remedy) {
  ir_text type;
  ir_text_init(&type, g->mem);
  ir_print_type(g, x, &type);
  ir_fail(g->error, IR_ERR_INVALID, "gather: index %lld is out of range of axis %u; x has shape %.300s; %s",
          (long long)index, axis, ir_text_get(&type), remedy);
  ir_text_free(&type);
  return 0;
}

/* The literal indices with negative ones counted from the end, all proven to lie inside the axis. */
static ir_ref checked_indices(ir_graph *g, ir_ref x, uint32_t axis, ir_ref data) {
  ir_ref size = ir_dim(g, x, axis);
  int64_t name = ir_get(g, data)->arg, exact = 0;
  bool fixed = ir_is_const(g, size, &exact);
  int64_t least = fixed ? exact : ir_bounds_of(g, size).lo;
  size_t bytes = ir_name_length(g, name);
  char *values = ir_alloc(g->mem, bytes);
  if (!values) {
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory reading indices");
    return 0;
  }
  memcpy(values, ir_name_text(g, name), bytes);
  bool good = true;
  for (size_t at = 0; at < bytes && good; at += sizeof(int64_t)) {
    int64_t index = ir_value_load(values + at, IR_I64).i;
    good = index < least && (index >= 0 || (fixed && index >= -exact));
    if (!good)
      refuse_index(g, x, index, axis,
                   fixed ? "an index lies in -size .. size-1"
                         : "an index into a size that varies is >= 0 and less than the least size");
    if (good && index < 0) ir_value_store(values + at, IR_I64, (ir_value){.i = index + exact});
  }
  const ir_node *shape = ir_get(g, ir_shape(g, data));
  ir_ref made = good ? op_data(g, IR_I64, shape->src, shape->nsrc, values, bytes) : 0;
  ir_free(g->mem, values, bytes);
  return made;
}

static ir_ref apply_gather(ir_graph *g, ir_ref x, const ir_attr *attrs, size_t count) {
  const ir_attr *axis = attr_named(attrs, count, "axis"), *indices = attr_named(attrs, count, "indices");
  if (count != 2 || !axis || !indices || indices->kind != IR_ATTR_LIST) {
    ir_fail(g->error, IR_ERR_INVALID, "gather: takes an axis and a list of indices, as in gather(0,[2,0,2])");
    return 0;
  }
  ir_attr literal[2] = {
      *indices, {.name = "dtype", .name_length = 5, .kind = IR_ATTR_WORD, .word = "i64", .word_length = 3}};
  literal[0].name = "values", literal[0].name_length = 6;
  ir_ref operands[2] = {x, op_apply(g, "data", 4, NULL, 0, literal, 2)};
  ir_ref made = op_apply(g, "gather", 6, operands, 2, axis, 1);
  if (!made) return 0;
  uint32_t along = (uint32_t)ir_arg_int(ir_get(g, made));
  ir_ref inside = checked_indices(g, x, along, operands[1]);
  return inside ? op_gather(g, x, inside, along, IR_GATHER_CHECK) : 0;
}

/* expand keeps the rank; broadcast_to is the one that adds axes. */
static ir_ref refuse_rank(ir_graph *g, ir_ref x, size_t sizes) {
  ir_text type;
  ir_text_init(&type, g->mem);
  ir_print_type(g, x, &type);
  ir_fail(g->error, IR_ERR_INVALID,
          "expand: %zu size%s given; x has shape %.300s; each of its %u axes takes one, and broadcast_to "
          "adds leading axes",
          sizes, sizes == 1 ? "" : "s", ir_text_get(&type), ir_rank(g, x));
  ir_text_free(&type);
  return 0;
}

ir_ref fe_step_apply(ir_graph *g, const fe_step *step, ir_ref x, const ir_attr *attrs, size_t count) {
  if (!x || g->error->status) return 0;
  if (strcmp(step->name, "gather") == 0 || strcmp(step->name, "take") == 0)
    return apply_gather(g, x, attrs, count);
  const ir_attr *sizes = strcmp(step->name, "expand") == 0 ? attr_named(attrs, count, "shape") : NULL;
  if (sizes && sizes->kind == IR_ATTR_LIST && sizes->count != ir_rank(g, x))
    return refuse_rank(g, x, sizes->count);
  return op_apply(g, step->name, strlen(step->name), &x, 1, attrs, count);
}

/* parsing */

typedef struct chain_parser {
  ir_parser p;
  ir_attr attrs[MAX_ATTRS]; /* of the step being read */
  size_t attr_count;
  ir_attr values[MAX_VALUES]; /* entries of its list, or pairs */
  ir_attr halves[2 * MAX_VALUES];
  size_t value_count;
} chain_parser;

static ir_ref canonical(void *user, ir_graph *g, ir_op op, const ir_ref *src, uint32_t n) {
  uint32_t floor = g->count; /* the operands are canonical already */
  return pass_simplify_new(g, ir_expr_raw(user, g, op, src, n), floor);
}

static const ir_builder chain_builder = {.expr = canonical};

/* Is the token a WORD followed by `=`, the name of an attribute? With bounds behind the `=` it declares a
 * variable instead. */
static bool at_keyword(const ir_parser *p) {
  if (p->lex.token.kind != IR_TOKEN_WORD) return false;
  ir_lexer ahead = p->lex;
  ir_error ignored = {0};
  ahead.error = &ignored;
  ir_lex_next(&ahead);
  if (!ir_lex_is(&ahead, '=')) return false;
  ir_lex_next(&ahead);
  ir_lex_accept(&ahead, '-');
  if (ahead.token.kind != IR_TOKEN_INT) return true;
  ir_lex_next(&ahead);
  return !ir_lex_is(&ahead, IR_SIGN2('.', '.'));
}

static bool add_attr(chain_parser *c, const char *name, size_t length, const ir_token *at, ir_attr value) {
  if (c->attr_count == MAX_ATTRS)
    return ir_lex_fail_at(&c->p.lex, at->line, at->column,
                          "too many attributes, found %.*s, expected at most %d",
                          (int)(length > 40 ? 40 : length), name, MAX_ATTRS);
  value.name = name;
  value.name_length = length;
  c->attrs[c->attr_count++] = value;
  return true;
}

static bool keyword(chain_parser *c) {
  ir_token name = c->p.lex.token;
  ir_attr value;
  ir_lex_next(&c->p.lex);
  ir_lex_next(&c->p.lex);
  return ir_parse_value(&c->p, &value) && add_attr(c, name.text, name.length, &name, value);
}

/* Parse a value without a name: an expression or a list. */
static bool plain_value(chain_parser *c, ir_attr *out) {
  ir_token at = c->p.lex.token;
  if (!ir_parse_value(&c->p, out)) return false;
  if (out->kind == IR_ATTR_EXPR || out->kind == IR_ATTR_LIST) return true;
  return ir_lex_fail_at(
      &c->p.lex, at.line, at.column,
      "bad value of a step, found '%.*s', expected an integer or a variable of the buffer's shape, as in "
      "f32[n=1..8]",
      (int)(at.length > 40 ? 40 : at.length), at.text);
}

/* `(lo,hi)` */
static bool parse_pair(chain_parser *c) {
  ir_attr *two = &c->halves[2 * c->value_count], *out = &c->values[c->value_count];
  *out = (ir_attr){.name = "", .kind = IR_ATTR_LIST, .items = two, .count = 2};
  out->line = c->p.lex.token.line, out->column = c->p.lex.token.column;
  if (!ir_lex_is(&c->p.lex, '('))
    return ir_lex_fail(&c->p.lex, "bad pair", "'(', a pair for each axis, as in pad((1,0),(0,2))");
  if (!ir_lex_expect(&c->p.lex, '(', "bad pair")) return false;
  for (int i = 0; i < 2; i++) {
    if (i && !ir_lex_expect(&c->p.lex, ',', "bad pair")) return false;
    if (!plain_value(c, &two[i])) return false;
  }
  c->value_count++;
  return ir_lex_expect(&c->p.lex, ')', "bad pair");
}

/* More values than the step has names for, the first of which is the token. */
static bool refuse_value(chain_parser *c, const fe_step *step) {
  const ir_token *t = &c->p.lex.token;
  const char *first = t->text, *last = t->text, *end = c->p.lex.text + c->p.lex.length;
  while (first > c->p.lex.text && first[-1] != '(') first--;
  while (last < end && *last != ')') last++;
  int length = (int)(last - first < 60 ? last - first : 60);
  bool order = strcmp(step->params[0], "axis1") == 0 && length < 60 && last < end;
  return ir_lex_fail_at(
      &c->p.lex, t->line, t->column, "too many values, found '%.*s', expected ')': %s takes %s%s%s%s%.*s%s",
      (int)(t->length > 40 ? 40 : t->length), t->text, step->name, step->params[0],
      step->params[1] ? " and " : "", step->params[1] ? step->params[1] : "",
      order ? "; an order of all axes is permute(" : "", order ? length : 0, first, order ? ")" : "");
}

static bool positional(chain_parser *c, const fe_step *step) {
  if (c->value_count >= MAX_VALUES) return ir_lex_fail(&c->p.lex, "too many values", "')'");
  if (step->form == FE_FORM_PAIRS) return parse_pair(c);
  if (step->form == FE_FORM_LIST) return plain_value(c, &c->values[c->value_count++]);
  const char *name = c->value_count < 2 ? step->params[c->value_count] : NULL;
  ir_token at = c->p.lex.token;
  ir_attr value;
  if (!name) return refuse_value(c, step);
  c->value_count++;
  return plain_value(c, &value) && add_attr(c, name, strlen(name), &at, value);
}

/* Parse the values between the parentheses as attributes. */
static bool arguments(chain_parser *c, const fe_step *step) {
  ir_token open = c->p.lex.token;
  c->attr_count = c->value_count = 0;
  bool named = false;
  while (!ir_lex_is(&c->p.lex, ')')) {
    if ((c->value_count || c->attr_count) && !ir_lex_accept(&c->p.lex, ','))
      return ir_lex_fail(&c->p.lex, "bad values of a step", "',' or ')'");
    bool key = at_keyword(&c->p);
    if (named && !key) return ir_lex_fail(&c->p.lex, "a value after a named one", "name=value");
    if (!(key ? keyword(c) : positional(c, step))) return false;
    named |= key;
  }
  /* permute() of a scalar has an empty order; squeeze() takes every axis of size 1 */
  bool none = c->value_count == 0 && (c->attr_count || strcmp(step->name, "squeeze") == 0);
  if (step->form != FE_FORM_EACH && !none) {
    bool lone_list = c->value_count == 1 && step->form == FE_FORM_LIST && c->values[0].kind == IR_ATTR_LIST;
    ir_attr list = {.kind = IR_ATTR_LIST,
                    .items = c->values,
                    .count = c->value_count,
                    .line = open.line,
                    .column = open.column};
    if (!add_attr(c, step->params[0], strlen(step->params[0]), &open, lone_list ? c->values[0] : list))
      return false;
  }
  ir_lex_next(&c->p.lex);
  return !c->p.lex.error->status;
}

static bool unknown_step(chain_parser *c, const ir_token *name) {
  const char *near = fe_step_nearest(name->text, name->length);
  if (ir_token_is(name, "T"))
    return ir_lex_fail_at(
        &c->p.lex, name->line, name->column,
        "unknown view, found 'T', expected permute with the order of the axes, as in permute(1,0)");
  return ir_lex_fail_at(&c->p.lex, name->line, name->column, "unknown view, found '%.*s'%s%s%s",
                        (int)(name->length > 40 ? 40 : name->length), name->text,
                        near ? "; did you mean " : ", expected one such as ",
                        near ? near : "permute, reshape, expand, pad, shrink, flip, stride", near ? "?" : "");
}

static ir_ref next_step(chain_parser *c, ir_ref x) {
  ir_token name = c->p.lex.token;
  if (name.kind != IR_TOKEN_WORD)
    return ir_lex_fail(&c->p.lex, "missing view after '.'", "a name such as permute");
  const fe_step *step = fe_step_find(name.text, name.length);
  if (!step) return unknown_step(c, &name);
  ir_lex_next(&c->p.lex);
  if (!ir_lex_expect(&c->p.lex, '(', "missing values of a step") || !arguments(c, step)) return 0;
  ir_ref made = fe_step_apply(c->p.graph, step, x, c->attrs, c->attr_count);
  if (!made) ir_lex_prefix_error(&c->p.lex, name.line, name.column);
  ir_parse_release(&c->p);
  return made;
}

ir_ref fe_chain_parse(ir_graph *g, const char *file, const char *text, size_t length) {
  chain_parser c;
  ir_dtype dtype;
  ir_ref shape, x = 0;
  bool ok = ir_parser_init(&c.p, g, &chain_builder, file, text, length) == IR_OK &&
            ir_parse_type(&c.p, &dtype, NULL, &shape);
  if (ok) {
    const ir_node *dims = ir_get(g, shape);
    x = op_input(g, "x", 1, dtype, dims->src, dims->nsrc);
    if (!x) ok = ir_lex_prefix_error(&c.p.lex, 1, 1);
  }
  while (ok && ir_lex_accept(&c.p.lex, '.')) ok = (x = next_step(&c, x)) != 0;
  if (ok && c.p.lex.token.kind != IR_TOKEN_END)
    ok = ir_lex_is(&c.p.lex, '[')
             ? ir_lex_fail(&c.p.lex, "brackets in a chain",
                           "'.' and a view; [1:, ::2] elsewhere is .shrink((1,3),(0,2)).stride(1,2) here")
             : ir_lex_fail(&c.p.lex, "unexpected text in a chain", "'.' and a view, or the end");
  if (c.p.lex.error->status) ok = false;
  ir_parser_free(&c.p);
  return ok ? x : 0;
}
