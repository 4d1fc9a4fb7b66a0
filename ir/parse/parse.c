/* The parser's state, and the parsing of tensor graphs and of files. */
#include "ir/cause.h"
#include "ir/custom.h"
#include "ir/parse/impl.h"

#include <stdio.h>
#include <string.h>

struct ir_parse_block {
  struct ir_parse_block *next;
  size_t size, used;
  _Alignas(8) unsigned char bytes[];
};

enum { BLOCK_BYTES = 4096 };

bool ir_parse_memory(ir_parser *p) {
  ir_fail(p->lex.error, IR_ERR_MEMORY, "out of memory reading %s", p->lex.file);
  return false;
}

ir_status ir_parser_init(ir_parser *p, ir_graph *graph, const ir_builder *builder, const char *file,
                         const char *text, size_t length) {
  *p = (ir_parser){.graph = graph, .builder = builder, .epoch = 1};
  ir_lex_start(&p->lex, graph->error, file, text, length);
  return graph->error->status;
}

void ir_parse_release(ir_parser *p) {
  while (p->blocks) {
    struct ir_parse_block *next = p->blocks->next;
    ir_free(p->graph->mem, p->blocks, sizeof *p->blocks + p->blocks->size);
    p->blocks = next;
  }
}

void ir_parser_free(ir_parser *p) {
  if (!p->graph) return;
  const ir_mem *mem = p->graph->mem;
  ir_parse_release(p);
  ir_free(mem, p->symbols, p->symbol_cap * sizeof *p->symbols);
  ir_free(mem, p->vars, p->var_cap * sizeof *p->vars);
  ir_free(mem, p->values, p->value_cap * sizeof *p->values);
  ir_free(mem, p->operators, p->operator_cap * sizeof *p->operators);
  ir_free(mem, p->operands, p->operand_cap * sizeof *p->operands);
  ir_free(mem, p->written, p->written_cap * sizeof *p->written);
  ir_free(mem, p->pool, p->pool_cap * sizeof *p->pool);
  ir_free(mem, p->bytes, p->bytes_cap);
  *p = (ir_parser){0};
}

void *ir_parse_alloc(ir_parser *p, size_t size) {
  size = (size + 7) & ~(size_t)7;
  struct ir_parse_block *s = p->blocks;
  if (!s || s->size - s->used < size) {
    size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    struct ir_parse_block *fresh = ir_alloc(p->graph->mem, sizeof *fresh + room);
    if (!fresh) {
      ir_parse_memory(p);
      return NULL;
    }
    *fresh = (struct ir_parse_block){.next = s, .size = room};
    p->blocks = s = fresh;
  }
  s->used += size;
  return s->bytes + s->used - size;
}

int64_t ir_parse_intern(ir_parser *p, const ir_token *name) {
  if (!IR_RESERVE(p->graph->mem, p->bytes, p->bytes_cap, name->length + 1)) return -1;
  int64_t id = ir_name(p->graph, p->bytes, ir_lex_unescape(name, p->bytes));
  size_t known = p->symbol_cap;
  if (id < 0 || !IR_RESERVE(p->graph->mem, p->symbols, p->symbol_cap, (size_t)id + 1)) return -1;
  memset(p->symbols + known, 0, (p->symbol_cap - known) * sizeof *p->symbols);
  return id;
}

bool ir_parse_name(ir_parser *p, int sigil, ir_token *name, const char *wrong) {
  if (!ir_lex_is(&p->lex, sigil) || (p->lex.by_line && p->lex.token.first))
    return ir_lex_fail(&p->lex, wrong, sigil == '%' ? "%NAME" : "@NAME");
  if (!ir_lex_name(&p->lex)) return false;
  *name = p->lex.token;
  ir_lex_next(&p->lex);
  return !p->lex.error->status;
}

/* a message about a name, which it quotes */
static bool name_error(ir_parser *p, const ir_token *name, const char *wrong, const char *expected) {
  return ir_lex_fail_at(&p->lex, name->line, name->column, "%s, found '%c%.*s', expected %s", wrong,
                        name->sign, (int)(name->length > 40 ? 40 : name->length), name->text, expected);
}

bool ir_parse_define(ir_parser *p, const ir_token *name, ir_ref value) {
  int64_t id = ir_parse_intern(p, name);
  if (id < 0) return ir_parse_memory(p);
  ir_symbol *s = &p->symbols[id];
  if (s->value_epoch == p->epoch) return name_error(p, name, "name defined twice", ir_parse_new_name(p, s));
  s->value_epoch = p->epoch;
  s->value = value;
  return true;
}

ir_ref ir_parse_lookup(ir_parser *p, const ir_token *name) {
  int64_t id = ir_parse_intern(p, name);
  if (id < 0) return ir_parse_memory(p);
  if (p->symbols[id].value_epoch == p->epoch) return p->symbols[id].value;
  char expected[200];
  ir_parse_say_defined(p, name, p->symbols[id].graph_known || id == p->own_name, expected, sizeof expected);
  return name_error(p, name, "unknown value", expected);
}

bool ir_parse_add_named(ir_parser *p, ir_named **list, size_t *count, size_t *cap, int64_t id, ir_ref ref) {
  if (!IR_RESERVE(p->graph->mem, *list, *cap, *count + 1)) return ir_parse_memory(p);
  (*list)[(*count)++] =
      (ir_named){.name = ir_name_text(p->graph, id), .length = ir_name_length(p->graph, id), .ref = ref};
  return true;
}

/* tensor graphs */

typedef struct statement {
  ir_token *names;
  size_t name_count, name_cap;
  ir_attr *attrs;
  size_t attr_count, attr_cap;
  ir_written written;
  ir_token op; /* the operation; empty: there is none */
} statement;

static bool has_letters(const ir_letters *l) {
  static const ir_letters none;
  return memcmp(l, &none, sizeof none) != 0;
}

static bool is_followed_by(const ir_parser *p, char sign) {
  ir_lexer ahead = p->lex;
  ir_error ignored = {0};
  ahead.error = &ignored;
  ir_lex_next(&ahead);
  return ir_lex_is(&ahead, sign);
}

/* `%x: f32[480,n]`, `%x: ref f32[480,n]`, or a variable declared ahead of its use: `n=1..64` */
static bool parse_param(ir_parser *p, ir_parsed_graph *out) {
  ir_token name = p->lex.token;
  ir_dtype dtype;
  ir_ref batch, shape;
  if (name.kind == IR_TOKEN_WORD && is_followed_by(p, ':'))
    return ir_lex_fail(&p->lex, "bad name of a parameter", "one that begins with %, as in %x: f32[2,3]");
  if (ir_token_is(&name, "ref") && is_followed_by(p, '%'))
    return ir_lex_fail(&p->lex, "bad parameter", "the name first, as in %r: ref f32[3]");
  if (name.kind == IR_TOKEN_WORD && ir_parse_dtype_word(&name) != IR_NONE)
    return ir_lex_fail(&p->lex, "a type without a name", "the name before it, as in %x: f32[2,3]");
  if (name.kind == IR_TOKEN_WORD) {
    p->in_sizes = true;
    ir_ref variable = ir_parse_expression(p);
    p->in_sizes = false;
    if (!variable || ir_op_of(p->graph, variable) == IR_OP_VAR) return variable != 0;
    return ir_lex_fail_at(&p->lex, name.line, name.column,
                          "bad parameters, found an expression, expected a variable as in n=1..8");
  }
  if (!ir_parse_name(p, '%', &name, "bad parameter")) return false;
  if (!ir_lex_accept(&p->lex, ':'))
    return ir_lex_fail(&p->lex, "missing type of a parameter", "':' and a type, as in %x: f32[2,3]");
  bool reference = ir_lex_is_word(&p->lex, "ref");
  if (reference) ir_lex_next(&p->lex);
  if (!ir_parse_type(p, &dtype, &batch, &shape)) return false;
  if (ir_lex_is_word(&p->lex, "ref"))
    return ir_lex_fail(&p->lex, "bad type of a parameter", "ref before the type, as in %r: ref f32[3]");
  if (ir_lex_is(&p->lex, '['))
    return ir_lex_fail(&p->lex, "bad type of a parameter", "all sizes in one list, as in f32[4,3]");
  int64_t id = ir_parse_intern(p, &name);
  if (id < 0) return ir_parse_memory(p);
  ir_letters letters = p->letters;
  ir_ref ref = ir_leaf(p->graph, IR_OP_INPUT, dtype, batch, shape, id);
  if (ref && has_letters(&letters) && !ir_letters_set(p->graph, ref, &letters)) return ir_parse_memory(p);
  if (!ref || !ir_parse_spec_of(p, ref) || !ir_parse_define(p, &name, ref) ||
      !ir_parse_add_named(p, &out->params, &out->param_count, &out->param_cap, id, ref))
    return false;
  out->params[out->param_count - 1].reference = reference;
  if (reference) p->symbols[id].reference_epoch = p->epoch;
  return true;
}

static void fail_type(ir_parser *p, const ir_token *name, ir_ref value, const ir_token *type) {
  ir_text actual;
  size_t length = 0;
  const char *end = p->lex.text + p->lex.length;
  for (const char *c = type->text; c < end && c < p->lex.token.text && *c != '\n' && *c != '#'; c++)
    if (*c != ' ' && *c != '\t' && *c != '\r') length = (size_t)(c - type->text) + 1;
  ir_text_init(&actual, p->graph->mem);
  ir_print_type(p->graph, value, &actual);
  ir_lex_fail_at(&p->lex, type->line, type->column, "wrong type of '%%%.*s', found %.*s, expected %.300s",
                 (int)(name->length > 40 ? 40 : name->length), name->text, (int)(length > 300 ? 300 : length),
                 type->text, ir_text_get(&actual));
  ir_text_free(&actual);
}

/* One node, nodes with one and the same possible value (n with n=1..1 is 1), or two expressions that the
 * builder proves equal. */
static bool same_size(const ir_parser *p, ir_ref a, ir_ref b) {
  ir_bounds x = ir_bounds_of(p->graph, a), y = ir_bounds_of(p->graph, b);
  return a == b || (x.div == 0 && y.div == 0 && x.rem == y.rem) ||
         (p->builder->same_size && p->builder->same_size(p->graph, a, b));
}

static bool same_sizes(const ir_parser *p, ir_ref wanted, ir_ref actual, uint64_t unchecked) {
  if (wanted == 0 || actual == 0) return wanted == actual;
  ir_graph *g = p->graph;
  uint32_t count = ir_get(g, wanted)->nsrc;
  bool same = count == ir_get(g, actual)->nsrc;
  for (uint32_t i = 0; same && i < count; i++)
    same = unchecked >> i & 1 || same_size(p, ir_src(g, wanted, i), ir_src(g, actual, i));
  return same;
}

bool ir_parse_same_type(const ir_parser *p, ir_ref wanted, ir_ref actual) {
  const ir_graph *g = p->graph;
  return ir_dtype_of(g, wanted) == ir_dtype_of(g, actual) &&
         same_sizes(p, ir_batch(g, wanted), ir_batch(g, actual), 0) &&
         same_sizes(p, ir_shape(g, wanted), ir_shape(g, actual), 0);
}

/* `dtype[shape]`, or `index` or `bool` for an index expression; must agree with the value, whose axes get the
 * letters that it has for them. */
static bool check_type(ir_parser *p, const ir_token *name, ir_ref *named) {
  ir_ref value = *named;
  ir_token t = p->lex.token;
  if (t.kind != IR_TOKEN_WORD || t.first || (ir_parse_dtype_word(&t) == IR_NONE && !ir_token_is(&t, "none")))
    return ir_lex_fail(&p->lex, "bad type", "a dtype");
  ir_dtype dtype = ir_parse_dtype_word(&t);
  ir_ref batch = 0, shape = 0;
  uint64_t unchecked = 0;
  ir_lex_next(&p->lex);
  if (ir_lex_is(&p->lex, '[') && !ir_parse_dims(p, &batch, &shape, &unchecked)) return false;
  uint32_t lead = batch ? ir_get(p->graph, batch)->nsrc : 0;
  bool same = dtype == ir_dtype_of(p->graph, value) &&
              same_sizes(p, batch, ir_batch(p->graph, value), unchecked) &&
              same_sizes(p, shape, ir_shape(p->graph, value), unchecked >> lead);
  if (!same) fail_type(p, name, value, &t);
  if (!same || !shape || !has_letters(&p->letters)) return same;
  ir_letters have = ir_letters_of(p->graph, value), wanted = p->letters, both = have;
  for (uint32_t i = 0; i < IR_MAX_RANK; i++) {
    if (!have.axis[i]) both.axis[i] = wanted.axis[i], have.axis[i] = wanted.axis[i];
    if (!have.batch[i]) both.batch[i] = wanted.batch[i], have.batch[i] = wanted.batch[i];
  }
  if (!ir_letters_hold(&have, &wanted)) return fail_type(p, name, value, &t), false;
  *named = ir_with_letters(p->graph, value, &both);
  return *named || ir_parse_memory(p);
}

/* Reads const and data in the form in which they are printed, which represents every value. Other forms are
 * left to the builder: *made is then 0 and the lexer is where it was. */
static bool read_leaf(ir_parser *p, const ir_token *op, ir_ref *made) {
  if (!p->builder->apply || ir_token_is(op, "buffer")) return (*made = ir_parse_leaf(p, op)) != 0;
  ir_lexer before = p->lex;
  ir_error trial = {0};
  p->lex.error = &trial;
  *made = ir_parse_leaf(p, op);
  bool complete =
      *made && !trial.status && (p->lex.token.first || ir_lex_is(&p->lex, ':') || ir_lex_is(&p->lex, '}'));
  p->lex.error = before.error;
  if (complete) return true;
  if (trial.status == IR_ERR_CANCELLED) return ir_cancelled(p->lex.error), false;
  if (trial.status == IR_ERR_MEMORY) return ir_parse_memory(p);
  p->lex = before;
  *made = 0;
  return !p->lex.error->status;
}

/* np.exp: the builder refuses the whole name. */
static ir_ref refuse_prefix(ir_parser *p, const ir_token *op) {
  const char *end = op->text + op->length, *last = p->lex.text + p->lex.length;
  while (end < last && (*end == '.' || *end == '_' || (*end >= '0' && *end <= '9') ||
                        ((*end | 32) >= 'a' && (*end | 32) <= 'z')))
    end++;
  p->builder->apply(p->builder->user, p->graph, op->text, (size_t)(end - op->text), NULL, 0, NULL, 0,
                    op->line, op->column);
  return ir_lex_prefix_error(&p->lex, op->line, op->column);
}

static ir_ref parse_operation(ir_parser *p, statement *s) {
  ir_token op = p->lex.token;
  const ir_token *first = s->name_count ? &s->names[0] : &op;
  ir_ref made = 0;
  bool value_follows = ir_lex_is(&p->lex, '(') || ir_lex_is(&p->lex, '%') || ir_parse_at_literal(p);
  if (value_follows && !op.first) { /* an index expression, or an alias of a value */
    ir_ref value;
    return ir_parse_operand(p, &value) ? value : 0;
  }
  if (ir_lex_is(&p->lex, '@') && !op.first)
    return ir_lex_fail(&p->lex, "a graph in place of an operation",
                       "the name of an operation; a graph is called by its name: %y = call %x do=@f");
  if (ir_lex_is(&p->lex, '[') && !op.first)
    return ir_lex_fail(&p->lex, "bad statement",
                       "the name of an operation; an array of numbers is data values=[0,2]");
  if (op.kind == IR_TOKEN_STRING && !op.first)
    return ir_lex_fail(&p->lex, "bad statement", "the name of an operation, without quotes");
  if (op.kind != IR_TOKEN_WORD || op.first)
    return ir_lex_fail(&p->lex, "bad statement", "the name of an operation");
  s->op = op;
  p->about_attributes = false;
  ir_lex_next(&p->lex);
  if (ir_lex_is(&p->lex, '.') && p->lex.token.text == op.text + op.length && p->builder->apply)
    return refuse_prefix(p, &op);
  if (ir_parse_is_leaf(&op) && !read_leaf(p, &op, &made)) return 0;
  if (made) return made;
  if (!ir_parse_operands(p) || !ir_parse_attributes(p, &s->attrs, &s->attr_count, &s->attr_cap) ||
      !ir_parse_after_attributes(p, s->attr_count > 0) ||
      !ir_parse_written(p, s->attrs, s->attr_count, &s->written)) {
    ir_parse_say_attributes(p, &op);
    return 0;
  }
  if (!p->builder->apply)
    return ir_lex_fail_at(&p->lex, op.line, op.column,
                          "no tensor operations here, found '%.*s', expected a literal",
                          (int)(op.length > 40 ? 40 : op.length), op.text);
  if (p->builder->known && !p->builder->known(p->graph, op.text, op.length) &&
      ir_parse_refuse_no_operation(p, &op, first))
    return 0;
  made = p->builder->apply(p->builder->user, p->graph, op.text, op.length, p->operands, p->operand_count,
                           s->attrs, s->attr_count, op.line, op.column);
  if (made) return made;
  return ir_lex_prefix_error(&p->lex, first->line, first->column);
}

static bool define_results(ir_parser *p, statement *s, const ir_token *at, ir_ref made) {
  bool tuple = ir_op_of(p->graph, made) == IR_OP_TUPLE;
  uint32_t count = (tuple ? ir_get(p->graph, made)->nsrc : 1) - s->written.count;
  if (count != s->name_count)
    return ir_parse_refuse_names(p, at, &s->op, s->attrs, s->attr_count,
                                 (ir_name_count){s->name_count, count, s->written.count > 0});
  bool typed = ir_lex_is(&p->lex, ':') && !p->lex.token.first;
  for (uint32_t i = 0; i < count; i++) {
    ir_ref value = tuple ? ir_src(p->graph, made, i) : made;
    if (typed) {
      if (!ir_lex_expect(&p->lex, i ? ',' : ':', "missing type of a result") ||
          !check_type(p, &s->names[i], &value) || !ir_parse_spec_of(p, value))
        return false;
    }
    if (!ir_parse_name_value(p, &s->names[i], value)) return false;
  }
  return ir_parse_name_written(p, &s->written, made);
}

size_t ir_statement_length(const char *text, const char *end) {
  size_t length = 0;
  for (const char *c = text; c < end && *c != '\n' && *c != '#' && *c != '}'; c++) {
    if (*c == ':' && c > text && c[-1] == ' ') break;
    if (*c != ' ' && *c != '\t' && *c != '\r') length = (size_t)(c - text) + 1;
  }
  return length;
}

/* Note the values that the statement has named, for whoever asks what a node was written as. */
static bool note_values(ir_parser *p, const statement *s, const char *text, ir_ref floor, uint32_t number,
                        ir_parsed_graph *out) {
  ir_graph *g = p->graph;
  int64_t written = ir_name(g, text, ir_statement_length(text, p->lex.text + p->lex.length));
  for (size_t i = 0; i < s->name_count + s->written.count; i++) {
    const ir_token *name =
        i < s->name_count ? &s->names[i] : &p->written[s->written.operands[i - s->name_count]];
    int64_t id = ir_parse_intern(p, name);
    if (id < 0 || written < 0 || !IR_RESERVE(g->mem, out->values, out->value_cap, out->value_count + 1))
      return ir_parse_memory(p);
    out->values[out->value_count++] = (ir_defined){.name = ir_name_text(g, id),
                                                   .text = ir_name_text(g, written),
                                                   .ref = p->symbols[id].value,
                                                   .floor = floor,
                                                   .end = g->count,
                                                   .line = name->line,
                                                   .statement = number};
  }
  return true;
}

/* `%a, %b =` */
static bool parse_names(ir_parser *p, statement *s) {
  p->lex.by_line = false;
  do {
    if (!IR_RESERVE(p->graph->mem, s->names, s->name_cap, s->name_count + 1)) return ir_parse_memory(p);
    if (!ir_parse_name(p, '%', &s->names[s->name_count], "bad statement")) return false;
    s->name_count++;
    p->lex.by_line = true;
  } while (ir_lex_accept(&p->lex, ','));
  return ir_parse_at_assignment(p) && ir_lex_expect(&p->lex, '=', "bad statement");
}

/* A statement without names calls functions that write references, and that return nothing. */
static bool parse_statement(ir_parser *p, statement *s, ir_parsed_graph *out) {
  ir_ref floor = p->graph->count;
  ir_token first = p->lex.token;
  s->name_count = 0;
  s->op = (ir_token){0};
  s->written = (ir_written){0};
  if (ir_lex_is(&p->lex, '%') && !parse_names(p, s)) return false;
  p->lex.by_line = true;
  p->lex.token.first &= s->name_count > 0;
  const char *text = p->lex.token.text;
  uint32_t number = ir_cause_next(p->graph);
  ir_ref made = parse_operation(p, s);
  ir_cause_results(p->graph, made, number);
  ir_cause_resume(p->graph, 0);
  bool ok = made && define_results(p, s, s->name_count ? &s->names[0] : &first, made) &&
            ir_parse_statement_end(p) && note_values(p, s, text, floor, number, out);
  ir_parse_release(p);
  p->lex.by_line = false;
  return ok;
}

/* Does a statement without names begin here? It calls a function. */
static bool at_call(const ir_parser *p) {
  if (p->lex.token.kind != IR_TOKEN_WORD || ir_lex_is_word(&p->lex, "return")) return false;
  ir_lexer ahead = p->lex;
  ir_error ignored = {0};
  ahead.error = &ignored;
  do ir_lex_next(&ahead);
  while (!ahead.token.first && ahead.token.kind != IR_TOKEN_END && !ir_lex_is(&ahead, '@'));
  return !ahead.token.first && ir_lex_is(&ahead, '@');
}

static bool add_result(ir_parser *p, ir_parsed_graph *out, int64_t id, ir_ref value) {
  if (id < 0) return ir_parse_memory(p);
  if (!ir_parse_add_named(p, &out->results, &out->result_count, &out->result_cap, id, value)) return false;
  if (!IR_RESERVE(p->graph->mem, p->operands, p->operand_cap, p->operand_count + 1))
    return ir_parse_memory(p);
  p->operands[p->operand_count++] = value;
  return true;
}

/* The newest versions of references that have one are results of their names, after the others. A parameter
 * that has become another's version is copied, so that it has a line of its own. */
static bool add_references(ir_parser *p, ir_parsed_graph *out) {
  for (size_t i = 0; i < out->param_count; i++) {
    const ir_named *param = &out->params[i];
    int64_t id = param->reference ? ir_get(p->graph, param->ref)->arg : -1;
    ir_ref value = id < 0 ? 0 : p->symbols[id].value;
    if (!value || value == param->ref) continue;
    if (ir_op_of(p->graph, value) == IR_OP_INPUT && p->builder->apply)
      value = p->builder->apply(p->builder->user, p->graph, "stored", 6, &value, 1, NULL, 0, out->line,
                                out->column);
    if (!value || !add_result(p, out, id, value)) return false;
    out->results[out->result_count - 1].reference = true;
  }
  return true;
}

/* Are there newest versions, so that a graph may have no other results? */
static bool writes_references(const ir_parser *p, const ir_parsed_graph *out) {
  for (size_t i = 0; i < out->param_count; i++)
    if (out->params[i].reference &&
        p->symbols[ir_get(p->graph, out->params[i].ref)->arg].value != out->params[i].ref)
      return true;
  return false;
}

/* Values that are named, have an effect and are needed by no result: the first result is computed after them.
 */
static bool keep_effects(ir_parser *p, ir_parsed_graph *out) {
  ir_graph *g = p->graph;
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool good = true;
  for (size_t i = 0; i < out->value_count && good && g->customs && p->builder->apply; i++) {
    ir_ref value = out->values[i].ref;
    if (!ir_custom_has_effect(g, value)) continue;
    if (!live) good = ir_reachable(g, p->operands, p->operand_count, &live, &count, &cap) == IR_OK;
    size_t at = good ? ir_find_ref(live, count, value) : 0;
    if (!good || (at < count && live[at] == value)) continue;
    ir_ref pair[2] = {out->results[0].ref, value};
    pair[0] = p->builder->apply(p->builder->user, g, "after", 5, pair, 2, NULL, 0, out->line, out->column);
    good = pair[0] != 0;
    out->results[0].ref = p->operands[0] = pair[0];
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return good;
}

static bool parse_return(ir_parser *p, ir_parsed_graph *out) {
  p->lex.by_line = true;
  ir_lex_next(&p->lex);
  p->operand_count = 0;
  bool none = ir_lex_is(&p->lex, '}');
  if (none && !writes_references(p, out))
    return ir_lex_fail(&p->lex, "nothing to return", "a result, or a new version of a reference above");
  if (!none) do {
      if (!ir_parse_at_result(p)) return false;
      ir_token name = p->lex.token;
      bool named = ir_lex_is(&p->lex, '%') && !name.first;
      ir_ref value;
      char place[24];
      if (named ? !ir_parse_name(p, '%', &name, "bad result") || !(value = ir_parse_lookup(p, &name))
                : !ir_parse_operand(p, &value))
        return false;
      int64_t id =
          named ? ir_parse_intern(p, &name)
                : ir_name(p->graph, place, (size_t)snprintf(place, sizeof place, "%zu", out->result_count));
      if (named && id >= 0 && p->symbols[id].reference_epoch == p->epoch)
        return name_error(p, &name, "a reference is a result by itself", "a value, or nothing");
      if (!add_result(p, out, id, value)) return false;
    } while (ir_lex_accept(&p->lex, ','));
  if (!add_references(p, out) || !ir_parse_statement_end(p) || !keep_effects(p, out)) return false;
  p->lex.by_line = false;
  out->root = ir_tuple(p->graph, p->operands, (uint32_t)p->operand_count);
  return out->root && ir_lex_expect(&p->lex, '}', ir_parse_behind_return(p));
}

static bool parse_graph(ir_parser *p, ir_parsed_graph *out) {
  statement s = {0};
  bool ok = ir_lex_expect(&p->lex, '(', "missing parameters"), first = true;
  for (; ok && !ir_lex_is(&p->lex, ')'); first = false)
    ok = (first || ir_lex_accept(&p->lex, ',') ||
          ir_lex_fail(&p->lex, "bad parameters", ir_parse_behind_parameter(p))) &&
         parse_param(p, out);
  ok = ok && ir_lex_expect(&p->lex, ')', "bad parameters");
  if (ok && ir_lex_is(&p->lex, '-'))
    ok = ir_lex_fail(&p->lex, "missing body of the graph", "'{'; what a graph returns follows from its body");
  ok = ok && ir_lex_expect(&p->lex, '{', "missing body of the graph");
  while (ok && (ir_lex_is(&p->lex, '%') || at_call(p))) ok = parse_statement(p, &s, out);
  if (ok && !ir_lex_is_word(&p->lex, "return")) ok = ir_parse_refuse_statement(p);
  ok = ok && parse_return(p, out);
  ir_free(p->graph->mem, s.names, s.name_cap * sizeof *s.names);
  ir_free(p->graph->mem, s.attrs, s.attr_cap * sizeof *s.attrs);
  return ok;
}

/* files */

static bool parse_block(ir_parser *p, ir_module *module) {
  static const char *const kinds[] = {"graph", "kernel", "index"};
  int kind = 0;
  while (kind < 3 && !ir_lex_is_word(&p->lex, kinds[kind])) kind++;
  if (kind == 3) return ir_lex_fail(&p->lex, "unexpected text", "'graph', 'kernel', 'index' or 'mesh'");
  if (!IR_RESERVE(module->mem, module->graphs, module->cap, module->count + 1)) return ir_parse_memory(p);
  ir_parsed_graph *out = &module->graphs[module->count++];
  *out = (ir_parsed_graph){.kind = (ir_block_kind)kind};
  ir_token name;
  ir_lex_next(&p->lex);
  if (!ir_parse_name(p, '@', &name, "missing name")) return false;
  int64_t id = ir_parse_intern(p, &name);
  if (id < 0) return ir_parse_memory(p);
  if (p->symbols[id].graph_known) return name_error(p, &name, "name of a graph used twice", "a new name");
  out->name = ir_name_text(p->graph, id);
  out->name_length = ir_name_length(p->graph, id);
  out->line = name.line, out->column = name.column;
  p->own_name = id;
  p->epoch++;
  p->var_count = 0;
  if (!(kind == IR_BLOCK_GRAPH ? parse_graph(p, out) : ir_parse_kernel(p, out))) return false;
  out->vars = p->vars;
  out->var_count = p->var_count, out->var_cap = p->var_cap;
  p->vars = NULL;
  p->var_count = p->var_cap = 0;
  p->symbols[id].graph_known = (uint32_t)module->count;
  return true;
}

ir_status ir_parse_module(ir_graph *graph, const ir_builder *builder, const char *file, const char *text,
                          size_t length, ir_module *module) {
  *module = (ir_module){.mem = graph->mem};
  ir_parser p;
  bool ok = ir_parser_init(&p, graph, builder, file, text, length) == IR_OK;
  p.module = module;
  while (ok && p.lex.token.kind != IR_TOKEN_END)
    ok = ir_lex_is_word(&p.lex, "mesh") ? ir_parse_mesh(&p) : parse_block(&p, module);
  if (ok && module->count == 0) ok = ir_lex_fail(&p.lex, "nothing to read", "'graph @NAME(...) { ... }'");
  if (p.lex.error->status) ok = false;
  if (!ok) ir_module_free(module);
  ir_parser_free(&p);
  return ok ? IR_OK : ir_fail(graph->error, IR_ERR_INTERNAL, "%s: reading failed without a reason", file);
}

void ir_module_free(ir_module *module) {
  for (size_t i = 0; i < module->count; i++) {
    ir_parsed_graph *g = &module->graphs[i];
    ir_free(module->mem, g->params, g->param_cap * sizeof *g->params);
    ir_free(module->mem, g->results, g->result_cap * sizeof *g->results);
    ir_free(module->mem, g->vars, g->var_cap * sizeof *g->vars);
    ir_free(module->mem, g->values, g->value_cap * sizeof *g->values);
  }
  ir_free(module->mem, module->graphs, module->cap * sizeof *module->graphs);
  *module = (ir_module){.mem = module->mem};
}

const ir_defined *ir_defined_find(const ir_parsed_graph *block, const char *name, size_t length) {
  for (size_t i = block->value_count; i-- > 0;)
    if (strlen(block->values[i].name) == length && memcmp(block->values[i].name, name, length) == 0)
      return &block->values[i];
  return NULL;
}

const ir_parsed_graph *ir_module_find(const ir_module *module, const char *name) {
  size_t length = strlen(name);
  for (size_t i = 0; i < module->count; i++)
    if (module->graphs[i].name_length == length && memcmp(module->graphs[i].name, name, length) == 0)
      return &module->graphs[i];
  return NULL;
}
