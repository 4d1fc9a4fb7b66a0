/* Parsing of kernel listings. Nodes are made exactly as written; nothing is simplified.
 *
 * Open loops are frames on an explicit stack. The effects of all open bodies are on one stack, in which each
 * frame knows where its effects begin; likewise the initial values of loops with carried values. */
#include "ir/parse/impl.h"

#include <string.h>

typedef enum { FRAME_BODY, FRAME_EFFECT, FRAME_VALUE } frame_kind;

typedef struct frame {
  frame_kind kind;
  ir_ref range;
  int binding;
  size_t effects, inits; /* where those of this frame begin on their stacks */
  ir_token name;         /* of a VALUE loop's result */
} frame;

typedef struct kernel_parser {
  ir_parser *p;
  frame *frames;
  size_t frame_count, frame_cap;
  ir_ref *effects;
  size_t effect_count, effect_cap;
  ir_ref *inits;
  size_t init_count, init_cap;
  ir_ref *sources; /* of the node being made */
  size_t source_count, source_cap;
  ir_attr *attrs;
  size_t attr_count, attr_cap;
} kernel_parser;

#define PUSH(k, list, count, cap, item)                                                                      \
  (IR_RESERVE((k)->p->graph->mem, (k)->list, (k)->cap, (k)->count + 1)                                       \
       ? ((k)->list[(k)->count++] = (item), true)                                                            \
       : ir_parse_memory((k)->p))

static bool push_source(kernel_parser *k, ir_ref ref) {
  return PUSH(k, sources, source_count, source_cap, ref);
}
static bool push_effect(kernel_parser *k, ir_ref ref) {
  return ref && PUSH(k, effects, effect_count, effect_cap, ref);
}

static ir_ref make_node(kernel_parser *k, ir_op op, ir_dtype dtype, int64_t arg) {
  return ir_make(k->p->graph, op, dtype, arg, k->sources, (uint32_t)k->source_count);
}

static bool expect_word(ir_parser *p, const char *word, const char *wrong) {
  if (!ir_lex_is_word(&p->lex, word) || p->lex.token.first) return ir_lex_fail(&p->lex, wrong, word);
  ir_lex_next(&p->lex);
  return true;
}

static bool accept_word(ir_parser *p, const char *word) {
  if (!ir_lex_is_word(&p->lex, word) || p->lex.token.first) return false;
  ir_lex_next(&p->lex);
  return true;
}

/* p0, p1, ... or, with the letter 'l', locals l0, l1, ... */
static bool is_buffer_word(const ir_token *t, char letter, int64_t *slot) {
  *slot = 0;
  if (t->kind != IR_TOKEN_WORD || t->length < 2 || t->length > 10 || t->text[0] != letter ||
      (t->text[1] == '0' && t->length > 2))
    return false;
  for (size_t i = 1; i < t->length; i++) {
    if (t->text[i] < '0' || t->text[i] > '9') return false;
    *slot = *slot * 10 + t->text[i] - '0';
  }
  return true;
}

/* Declares a range, parameter or local. They share a table, since ridxN, pN and lN never collide. */
static bool define_word(ir_parser *p, const ir_token *word, ir_ref ref) {
  int64_t id = ir_parse_intern(p, word);
  if (id < 0 || !ref) return id < 0 ? ir_parse_memory(p) : false;
  ir_symbol *s = &p->symbols[id];
  if (s->range_epoch == p->epoch)
    return ir_lex_fail_at(&p->lex, word->line, word->column,
                          "name declared twice, found '%.*s', expected a new one", (int)word->length,
                          word->text);
  s->range_epoch = p->epoch;
  s->range = ref;
  return true;
}

static ir_ref parse_buffer_ref(ir_parser *p) {
  ir_token word = p->lex.token;
  int64_t slot, id;
  bool local = is_buffer_word(&word, 'l', &slot);
  if ((!local && !is_buffer_word(&word, 'p', &slot)) || word.first)
    return ir_lex_fail(&p->lex, "bad parameter", "p0, p1, ... or l0, l1, ...");
  if ((id = ir_parse_intern(p, &word)) < 0) return ir_parse_memory(p);
  if (p->symbols[id].range_epoch != p->epoch)
    return ir_lex_fail(&p->lex, local ? "unknown local" : "unknown parameter",
                       local ? "one declared above" : "one from the list above");
  ir_lex_next(&p->lex);
  return p->symbols[id].range;
}

/* an expression of dtype index or bool, as `dtype` says */
static ir_ref parse_typed(ir_parser *p, ir_dtype dtype) {
  int line = p->lex.token.line, column = p->lex.token.column;
  ir_ref ref = ir_parse_expression(p);
  if (ref && ir_dtype_of(p->graph, ref) != dtype)
    return ir_lex_fail_at(&p->lex, line, column, "bad expression, found dtype %s, expected %s",
                          ir_dtypes[ir_dtype_of(p->graph, ref)].name, ir_dtypes[dtype].name);
  return ref;
}

/* `ridxN in 0..EXTENT` */
static ir_ref parse_range(ir_parser *p) {
  ir_token word = p->lex.token;
  int64_t axis, zero;
  if (word.kind != IR_TOKEN_WORD || word.first || !ir_range_axis(word.text, word.length, &axis))
    return ir_lex_fail(&p->lex, "bad range", "ridx0, ridx1, ...");
  ir_lex_next(&p->lex);
  if (!expect_word(p, "in", "bad range") || !ir_parse_int(p, &zero, "bad range")) return 0;
  if (zero != 0)
    return ir_lex_fail_at(&p->lex, word.line, word.column,
                          "bad range, found a range that begins at %lld, expected 0", (long long)zero);
  if (!ir_lex_expect(&p->lex, IR_SIGN2('.', '.'), "bad range")) return 0;
  ir_ref extent = parse_typed(p, IR_INDEX);
  ir_ref range = extent ? ir_make(p->graph, IR_OP_RANGE, IR_INDEX, ir_pack_arg(axis, 0), &extent, 1) : 0;
  return define_word(p, &word, range) ? range : 0;
}

static bool parse_carries(kernel_parser *k, frame *f) {
  ir_parser *p = k->p;
  do {
    ir_token name;
    ir_ref init;
    int64_t slot = (int64_t)(k->init_count - f->inits);
    if (!ir_parse_name(p, '%', &name, "bad carried value") ||
        !ir_lex_expect(&p->lex, '=', "bad carried value") || !ir_parse_operand(p, &init) ||
        !PUSH(k, inits, init_count, init_cap, init))
      return false;
    ir_ref carry =
        ir_make(p->graph, IR_OP_CARRY, ir_dtype_of(p->graph, init), ir_pack_arg(slot, 0), &f->range, 1);
    if (!carry || !ir_parse_define(p, &name, carry)) return false;
  } while (ir_lex_accept(&p->lex, ','));
  return true;
}

/* parses from `for` to `{`; name is the result's name, or NULL for a loop that runs for its effect */
static bool parse_for(kernel_parser *k, const ir_token *name) {
  ir_parser *p = k->p;
  frame f = {.kind = name ? FRAME_VALUE : FRAME_EFFECT, .effects = k->effect_count, .inits = k->init_count};
  if (name) f.name = *name;
  ir_lex_next(&p->lex);
  if (!(f.range = parse_range(p))) return false;
  for (int i = 0; i < 4; i++)
    if (accept_word(p, ir_bindings[i])) {
      f.binding = i;
      break;
    }
  if (name && (!expect_word(p, "with", "missing carried values") || !parse_carries(k, &f))) return false;
  p->lex.by_line = false;
  return ir_lex_expect(&p->lex, '{', "missing body of a loop") && PUSH(k, frames, frame_count, frame_cap, f);
}

static bool end_line(ir_parser *p) {
  bool ok = ir_parse_statement_end(p);
  p->lex.by_line = false;
  return ok;
}

/* `: dtype`, which ends every line that defines a value */
static bool parse_dtype_suffix(ir_parser *p, ir_dtype *dtype) {
  if (p->lex.token.first || !ir_lex_expect(&p->lex, ':', "missing dtype"))
    return ir_lex_fail(&p->lex, "missing dtype", "': dtype'");
  *dtype = p->lex.token.kind == IR_TOKEN_WORD ? ir_parse_dtype_word(&p->lex.token) : IR_NONE;
  if (*dtype == IR_NONE) return ir_lex_fail(&p->lex, "unknown dtype", "index or a data dtype");
  ir_lex_next(&p->lex);
  return true;
}

static bool parse_subscript(kernel_parser *k) {
  ir_parser *p = k->p;
  ir_ref param, index;
  k->source_count = 0;
  return (param = parse_buffer_ref(p)) && ir_lex_expect(&p->lex, '[', "missing index") &&
         (index = parse_typed(p, IR_INDEX)) && ir_lex_expect(&p->lex, ']', "bad index") &&
         push_source(k, param) && push_source(k, index);
}

/* optional `ahead ELEMENTS`, then `fetched` or, of a load, optional `stream`: the arg of a load, or of a
 * store */
static bool parse_ahead(kernel_parser *k, bool load, int64_t *out) {
  ir_parser *p = k->p;
  int64_t count;
  *out = ir_pack_arg(0, IR_NO_STREAM);
  if (!accept_word(p, "ahead")) return true;
  ir_ref elements = parse_typed(p, IR_INDEX);
  if (!elements) return false;
  if (!ir_is_const(p->graph, elements, &count) || count <= 0 || count > INT32_MAX)
    return ir_lex_fail(&p->lex, load ? "bad load" : "bad store", "after ahead a number of elements");
  bool fetched = accept_word(p, "fetched");
  if (!fetched && !load) return ir_lex_fail(&p->lex, "bad store", "after the number of elements: fetched");
  *out = ir_pack_arg(count, fetched ? IR_FETCHED : accept_word(p, "stream") ? IR_STREAM : IR_NO_STREAM);
  return true;
}

static bool parse_load(kernel_parser *k, ir_ref *out) {
  ir_parser *p = k->p;
  ir_dtype dtype;
  ir_ref valid, other = 0;
  int64_t arg;
  if (!parse_subscript(k)) return false;
  valid = accept_word(p, "if") ? parse_typed(p, IR_BOOL) : ir_bool(p->graph, true);
  if (!valid || (accept_word(p, "else") && !ir_parse_operand(p, &other)) || !parse_ahead(k, true, &arg) ||
      !parse_dtype_suffix(p, &dtype))
    return false;
  if (dtype == IR_INDEX) return ir_lex_fail(&p->lex, "bad dtype of a load", "a data dtype");
  if (!other) other = ir_const(p->graph, dtype, (ir_value){.i = 0}); /* the same bits as 0.0 */
  return other && push_source(k, valid) && push_source(k, other) &&
         (*out = make_node(k, IR_OP_LOAD, dtype, arg)) != 0;
}

/* after the word: `SUBSCRIPT = VALUE`, then optional `stream`, `stream most`, or `ahead ELEMENTS fetched` */
static bool parse_store(kernel_parser *k) {
  ir_parser *p = k->p;
  ir_ref value;
  ir_lex_next(&p->lex);
  if (!parse_subscript(k) || !ir_lex_expect(&p->lex, '=', "bad store") || !ir_parse_operand(p, &value))
    return false;
  bool streams = accept_word(p, "stream"), most = streams && accept_word(p, "most");
  int64_t arg = ir_pack_arg(0, most ? IR_STREAM_MOST : IR_STREAM);
  if (!streams && !parse_ahead(k, false, &arg)) return false;
  return push_source(k, value) && push_effect(k, make_node(k, IR_OP_STORE, IR_NONE, arg)) && end_line(p);
}

/* after the word: `lN: DTYPE[SIZE]`, then optional `over INDEX, ...`, then optional `kept` or `kept ahead` */
static bool parse_local(kernel_parser *k) {
  ir_parser *p = k->p;
  ir_lex_next(&p->lex);
  ir_token word = p->lex.token;
  int64_t number;
  ir_dtype dtype;
  ir_ref shape, position;
  if (word.first || !is_buffer_word(&word, 'l', &number))
    return ir_lex_fail(&p->lex, "bad local", "l0, l1, ...");
  ir_lex_next(&p->lex);
  if (!ir_lex_expect(&p->lex, ':', "missing type of a local") || !ir_parse_type(p, &dtype, NULL, &shape))
    return false;
  const ir_node *dims = ir_get(p->graph, shape);
  if (dims->nsrc != 1)
    return ir_lex_fail_at(&p->lex, word.line, word.column, "bad local, found %u sizes, expected one",
                          dims->nsrc);
  k->source_count = 0;
  if (!push_source(k, dims->src[0])) return false;
  if (accept_word(p, "over")) do
      if (!(position = parse_typed(p, IR_INDEX)) || !push_source(k, position)) return false;
    while (ir_lex_accept(&p->lex, ','));
  int mode = accept_word(p, "kept") ? IR_LOCAL_KEPT : IR_LOCAL_ONCE;
  if (mode && accept_word(p, "ahead")) mode = IR_LOCAL_AHEAD;
  int64_t arg = ir_pack_arg(number, mode);
  return define_word(p, &word, make_node(k, IR_OP_LOCAL, dtype, arg)) && end_line(p);
}

/* after the word: `SUBSCRIPT = VALUE` or `add VALUE`, then optional `if VALID` and `over INDEX, ...` */
static bool parse_update(kernel_parser *k) {
  ir_parser *p = k->p;
  ir_ref value, valid, position;
  ir_lex_next(&p->lex);
  if (!parse_subscript(k)) return false;
  bool adds = accept_word(p, ir_ops[IR_OP_ADD].text);
  if ((!adds && !ir_lex_expect(&p->lex, '=', "bad update")) || !ir_parse_operand(p, &value)) return false;
  valid = accept_word(p, "if") ? parse_typed(p, IR_BOOL) : ir_bool(p->graph, true);
  if (!valid || !push_source(k, valid) || !push_source(k, value)) return false;
  if (accept_word(p, "over")) do
      if (!(position = parse_typed(p, IR_INDEX)) || !push_source(k, position)) return false;
    while (ir_lex_accept(&p->lex, ','));
  return push_effect(k, make_node(k, IR_OP_UPDATE, IR_NONE, adds ? IR_OP_ADD : 0)) && end_line(p);
}

/* What follows the word `reduce`, `prefix` or `suffix`. */
static bool parse_reduce(kernel_parser *k, ir_op kind, int64_t mode, ir_ref *out) {
  ir_parser *p = k->p;
  ir_token word = p->lex.token;
  ir_dtype dtype;
  ir_op op = word.kind == IR_TOKEN_WORD && !word.first ? ir_op_find(word.text, word.length, 2) : IR_OP_ERROR;
  if (op == IR_OP_ERROR && word.kind == IR_TOKEN_WORD && !word.first)
    op = ir_op_find(word.text, word.length, 1);
  if (op == IR_OP_ERROR)
    return ir_lex_fail(&p->lex, "bad reduction", "add, mul, min, max, and, or, argmax or argmin");
  ir_lex_next(&p->lex);
  k->source_count = 0;
  if (!ir_parse_operands(p)) return false;
  for (size_t i = 0; i < p->operand_count; i++)
    if (!push_source(k, p->operands[i])) return false;
  if (!expect_word(p, "over", "missing ranges of a reduction")) return false;
  do {
    ir_token range = p->lex.token;
    int64_t axis;
    if (range.kind != IR_TOKEN_WORD || range.first || !ir_range_axis(range.text, range.length, &axis))
      return ir_lex_fail(&p->lex, "bad range of a reduction", "ridx0, ridx1, ...");
    ir_lex_next(&p->lex);
    ir_ref ref = ir_parse_range_lookup(p, &range);
    if (!ref || !push_source(k, ref)) return false;
  } while (ir_lex_accept(&p->lex, ','));
  return parse_dtype_suffix(p, &dtype) && (*out = make_node(k, kind, dtype, ir_pack_arg(op, mode))) != 0;
}

static int find_word(const ir_attr *a, const char *const *words, int count) {
  for (int i = 0; i < count; i++)
    if (strlen(words[i]) == a->word_length && memcmp(words[i], a->word, a->word_length) == 0) return i;
  return -1;
}

/* stores one attribute, of the kind that ops.def gives, in the node's arg or sources */
static bool read_attribute(kernel_parser *k, const ir_attr *a, const char *kind, int64_t *number, int *mode) {
  static const char *const truth[] = {"false", "true"};
  int64_t value;
  if (strcmp(kind, "int") == 0 && a->kind == IR_ATTR_EXPR && ir_is_const(k->p->graph, a->expr, &value) &&
      value >= INT32_MIN && value <= INT32_MAX) {
    *number = value;
    return true;
  }
  if (strcmp(kind, "expr") == 0 && a->kind == IR_ATTR_EXPR) return push_source(k, a->expr);
  if (a->kind == IR_ATTR_WORD) {
    if (strcmp(kind, "dtype") == 0) return true; /* the same as the dtype that ends the line */
    *mode = strcmp(kind, "gather_mode") == 0 ? find_word(a, ir_gather_modes, 3)
            : strcmp(kind, "binding") == 0   ? find_word(a, ir_bindings, 4)
            : strcmp(kind, "bool") == 0      ? find_word(a, truth, 2)
                                             : -1;
    if (*mode >= 0) return true;
  }
  return ir_lex_fail_at(&k->p->lex, a->line, a->column,
                        "bad value of attribute %.*s, found another kind, expected %s", (int)a->name_length,
                        a->name, kind);
}

static bool parse_generic(kernel_parser *k, const ir_token *word, ir_ref *out) {
  ir_parser *p = k->p;
  ir_dtype dtype;
  int64_t number = 0;
  int mode = 0;
  int shown = (int)(word->length > 40 ? 40 : word->length);
  if (!ir_parse_operands(p) || !ir_parse_attributes(p, &k->attrs, &k->attr_count, &k->attr_cap) ||
      !parse_dtype_suffix(p, &dtype))
    return false;
  ir_op op = ir_op_find(word->text, word->length, (uint32_t)p->operand_count);
  if (op == IR_OP_ERROR || !(ir_ops[op].level & IR_LEVEL_LOOP) || ir_ops[op].operands < 1)
    return ir_lex_fail_at(&p->lex, word->line, word->column,
                          "unknown operation, found '%.*s' of %zu operands, expected an operation of kernels",
                          shown, word->text, p->operand_count);
  k->source_count = 0;
  for (size_t i = 0; i < p->operand_count; i++)
    if (!push_source(k, p->operands[i])) return false;
  for (size_t i = 0; i < k->attr_count; i++) {
    char name[16], kind[16];
    const char *at = ir_ops[op].attributes;
    bool found = false;
    while (!found && ir_next_attribute(&at, name, kind, sizeof name))
      found = strlen(name) == k->attrs[i].name_length &&
              memcmp(name, k->attrs[i].name, k->attrs[i].name_length) == 0;
    if (!found)
      return ir_lex_fail_at(&p->lex, k->attrs[i].line, k->attrs[i].column,
                            "unknown attribute of %.*s, found %.*s, expected those of the operation: %s",
                            shown, word->text, (int)k->attrs[i].name_length, k->attrs[i].name,
                            ir_ops[op].attributes);
    if (!read_attribute(k, &k->attrs[i], kind, &number, &mode)) return false;
  }
  return (*out = make_node(k, op, dtype, ir_pack_arg(number, mode))) != 0;
}

static bool parse_value(kernel_parser *k) {
  ir_parser *p = k->p;
  ir_token name;
  ir_ref value = 0;
  if (!ir_parse_name(p, '%', &name, "bad statement") || !ir_lex_expect(&p->lex, '=', "bad statement"))
    return false;
  ir_token word = p->lex.token;
  if (ir_lex_is(&p->lex, '(')) {
    ir_dtype dtype;
    if (!ir_parse_operand(p, &value) || !parse_dtype_suffix(p, &dtype)) return false;
    if (dtype != ir_dtype_of(p->graph, value))
      return ir_lex_fail_at(&p->lex, word.line, word.column,
                            "wrong dtype of an expression, found %s, expected %s", ir_dtypes[dtype].name,
                            ir_dtypes[ir_dtype_of(p->graph, value)].name);
  } else {
    if (word.kind != IR_TOKEN_WORD || word.first)
      return ir_lex_fail(&p->lex, "bad statement", "an operation");
    if (ir_token_is(&word, "for")) return parse_for(k, &name);
    ir_lex_next(&p->lex);
    bool ok = ir_token_is(&word, "load")     ? parse_load(k, &value)
              : ir_token_is(&word, "reduce") ? parse_reduce(k, IR_OP_REDUCE, 0, &value)
              : ir_token_is(&word, "prefix") ? parse_reduce(k, IR_OP_PREFIX, 0, &value)
              : ir_token_is(&word, "suffix") ? parse_reduce(k, IR_OP_PREFIX, 1, &value)
                                             : parse_generic(k, &word, &value);
    ir_parse_release(p);
    if (!ok) return false;
  }
  return ir_parse_define(p, &name, value) && end_line(p);
}

/* The effects of the innermost body, as one effect. */
static ir_ref close_body(kernel_parser *k, const frame *f) {
  size_t count = k->effect_count - f->effects;
  k->effect_count = f->effects;
  if (count == 1) return k->effects[f->effects];
  return ir_make(k->p->graph, IR_OP_SEQ, IR_NONE, 0, count ? k->effects + f->effects : NULL, (uint32_t)count);
}

/* `next VALUES` and the `}` of a loop with carried values */
static bool parse_next(kernel_parser *k) {
  ir_parser *p = k->p;
  frame f = k->frames[k->frame_count - 1];
  size_t carries = k->init_count - f.inits;
  if (f.kind != FRAME_VALUE)
    return ir_lex_fail(&p->lex, "next outside a loop of carried values", "a statement or '}'");
  ir_lex_next(&p->lex);
  if (!ir_parse_operands(p)) return false;
  if (p->operand_count != carries)
    return ir_lex_fail_at(&p->lex, f.name.line, f.name.column,
                          "wrong number of next values, found %zu, expected %zu", p->operand_count, carries);
  if (!end_line(p) || !ir_lex_expect(&p->lex, '}', "unexpected text after next")) return false;
  k->source_count = 0;
  if (!push_source(k, f.range)) return false;
  for (size_t i = 0; i < carries; i++)
    if (!push_source(k, k->inits[f.inits + i])) return false;
  for (size_t i = 0; i < carries; i++)
    if (!push_source(k, p->operands[i])) return false;
  if (k->effect_count > f.effects && !push_source(k, close_body(k, &f))) return false;
  k->init_count = f.inits;
  k->frame_count--;
  ir_dtype dtype = ir_dtype_of(p->graph, k->sources[1]);
  ir_ref loop = make_node(k, IR_OP_LOOP, dtype, ir_pack_arg((int64_t)carries, f.binding));
  return loop && ir_parse_define(p, &f.name, loop);
}

/* at `}`; *root is the kernel's effect when this closes the last body */
static bool parse_close(kernel_parser *k, ir_ref *root) {
  ir_parser *p = k->p;
  frame f = k->frames[--k->frame_count];
  if (f.kind == FRAME_VALUE) return ir_lex_fail(&p->lex, "missing next values", "'next VALUE, ...'");
  ir_ref effect = close_body(k, &f);
  if (!effect) return false;
  ir_lex_next(&p->lex);
  if (f.kind == FRAME_BODY) return (*root = effect) != 0;
  k->source_count = 0;
  return push_source(k, f.range) && push_source(k, effect) &&
         push_effect(k, make_node(k, IR_OP_LOOP, IR_NONE, ir_pack_arg(0, f.binding)));
}

static bool parse_line(kernel_parser *k, ir_ref *root) {
  ir_parser *p = k->p;
  p->lex.by_line = false;
  if (ir_lex_is(&p->lex, '}')) return parse_close(k, root);
  bool value = ir_lex_is(&p->lex, '%');
  ir_token word = p->lex.token;
  if (value) {
    /* the % of the name may begin the line; all that follows must be on the same line */
    p->lex.token.first = false;
    p->lex.by_line = true;
    return parse_value(k);
  }
  p->lex.by_line = true;
  p->lex.token.first = false;
  if (ir_token_is(&word, "for")) return parse_for(k, NULL);
  if (ir_token_is(&word, "store")) return parse_store(k);
  if (ir_token_is(&word, "update")) return parse_update(k);
  if (ir_token_is(&word, "local")) return parse_local(k);
  if (ir_token_is(&word, "next")) return parse_next(k);
  if (ir_token_is(&word, "range")) {
    ir_lex_next(&p->lex);
    return parse_range(p) && end_line(p);
  }
  p->lex.token.first = true;
  p->lex.by_line = false;
  return ir_lex_fail(&p->lex, "bad statement",
                     "'%NAME = ...', for, store, update, local, range, next or '}'");
}

static bool parse_header_item(ir_parser *p, ir_parsed_graph *out) {
  ir_token word = p->lex.token;
  int64_t slot, id;
  ir_lexer ahead = p->lex;
  ir_error ignored = {0};
  ahead.error = &ignored;
  ir_lex_next(&ahead);
  if (!is_buffer_word(&word, 'p', &slot) || !ir_lex_is(&ahead, ':')) {
    if (word.kind != IR_TOKEN_WORD || !ir_lex_is(&ahead, '='))
      return ir_lex_fail(&p->lex, "bad parameter", "'p0: dtype[size]' or a variable 'n=1..8'");
    size_t before = p->var_count;
    return ir_parse_expression(p) &&
           (p->var_count == before + 1 || ir_lex_fail(&p->lex, "bad variable", "a new name"));
  }
  ir_dtype dtype;
  ir_ref shape;
  ir_lex_next(&p->lex);
  ir_lex_next(&p->lex);
  if (!ir_parse_type(p, &dtype, NULL, &shape)) return false;
  const ir_node *dims = ir_get(p->graph, shape);
  if (dims->nsrc != 1)
    return ir_lex_fail_at(&p->lex, word.line, word.column, "bad parameter, found %u sizes, expected one",
                          dims->nsrc);
  ir_ref ref = ir_make(p->graph, IR_OP_PARAM, dtype, ir_pack_arg(slot, 0), dims->src, 1);
  return define_word(p, &word, ref) && (id = ir_parse_intern(p, &word)) >= 0 &&
         ir_parse_add_named(p, &out->params, &out->param_count, &out->param_cap, id, ref);
}

static bool finish_kernel(kernel_parser *k, ir_parsed_graph *out, ir_ref effect) {
  out->root = effect;
  if (out->kind == IR_BLOCK_INDEX) return true;
  k->source_count = 0;
  if (!push_source(k, effect)) return false;
  for (size_t i = 0; i < out->param_count; i++)
    if (!push_source(k, out->params[i].ref)) return false;
  for (size_t i = 0; i < k->p->var_count; i++)
    if (!push_source(k, k->p->vars[i])) return false;
  return (out->root = make_node(k, IR_OP_KERNEL, IR_NONE, (int64_t)out->param_count)) != 0;
}

bool ir_parse_kernel(ir_parser *p, ir_parsed_graph *out) {
  kernel_parser k = {.p = p};
  ir_ref root = 0;
  p->as_written = true;
  bool ok = ir_lex_expect(&p->lex, '(', "missing parameters");
  for (size_t n = 0; ok && !ir_lex_is(&p->lex, ')'); n++)
    ok = (!n || ir_lex_expect(&p->lex, ',', "bad parameters")) && parse_header_item(p, out);
  ok = ok && ir_lex_expect(&p->lex, ')', "bad parameters") &&
       ir_lex_expect(&p->lex, '{', "missing body of the kernel") &&
       PUSH(&k, frames, frame_count, frame_cap, (frame){.kind = FRAME_BODY});
  while (ok && !root) ok = parse_line(&k, &root) && !p->lex.error->status;
  ok = ok && finish_kernel(&k, out, root);
  p->as_written = false;
  const ir_mem *mem = p->graph->mem;
  ir_free(mem, k.frames, k.frame_cap * sizeof *k.frames);
  ir_free(mem, k.effects, k.effect_cap * sizeof *k.effects);
  ir_free(mem, k.inits, k.init_cap * sizeof *k.inits);
  ir_free(mem, k.sources, k.source_cap * sizeof *k.sources);
  ir_free(mem, k.attrs, k.attr_cap * sizeof *k.attrs);
  return ok;
}
