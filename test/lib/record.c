/* One-line cases: see record.h. */
#include "record.h"

#include "frontend/text/reader.h"
#include "ir/parse/impl.h"

#include <limits.h>

#include "test/lib/unit.h"

bool record_start(recorder *r, long budget) {
  memset(r, 0, sizeof *r);
  r->budget.left = budget < 0 ? LONG_MAX : budget;
  r->mem = (ir_mem){test_budget_hook, &r->budget};
  return ir_graph_init(&r->g, &r->mem, &r->error) == IR_OK;
}

void record_stop(recorder *r) {
  ir_graph_free(&r->g);
  assert_int_equal(r->budget.live, 0);
}

static void end(void *r) {
  record_stop(r);
  free(r);
}

recorder *record_begin(void) {
  recorder *r = malloc(sizeof *r);
  assert_non_null(r);
  assert_true(record_start(r, -1));
  return unit_keep(r, end);
}

void record_short_of_memory(bool (*record)(recorder *r, const char *line), const char *const *lines,
                            size_t count, bool accepted) {
  static recorder r;
  for (size_t i = 0; i < count; i++)
    for (long budget = 0, enough = 0; !enough; budget++) {
      assert_true(budget < 20000);
      bool made = record_start(&r, budget) && record(&r, lines[i]);
      enough = r.budget.left > 0;
      if (!made) assert_int_not_equal(r.error.status, IR_OK);
      if (enough && made != accepted) fail_msg("%s: %s", lines[i], r.error.text);
      record_stop(&r);
    }
}

static bool at_type(const ir_parser *p) {
  ir_dtype dtype = ir_parse_dtype_word(&p->lex.token);
  return dtype != IR_NONE && dtype != IR_INDEX;
}

/* Neither at the end of the operation nor at an attribute */
static bool at_operand(const ir_parser *p) {
  ir_token_kind kind = p->lex.token.kind;
  if (kind == IR_TOKEN_END || ir_lex_is(&p->lex, '}')) return false;
  return kind != IR_TOKEN_WORD || ir_parse_at_literal(p) || at_type(p);
}

/* Numbers, converted to the dtype */
static ir_ref array(ir_graph *g, ir_dtype dtype, const ir_ref *shape, size_t rank, const ir_attr *values) {
  unsigned char bytes[64 * 8];
  size_t each = ir_dtypes[dtype].bytes;
  assert_true(values->count <= 64);
  for (size_t i = 0; i < values->count; i++) {
    const ir_attr *v = &values->items[i];
    bool is_float = v->kind == IR_ATTR_FLOAT;
    ir_value value = is_float ? (ir_value){.f = v->number} : (ir_value){.i = ir_get(g, v->expr)->arg};
    ir_value_store(bytes + i * each, dtype, ir_value_cast(value, is_float ? IR_F64 : IR_I64, dtype));
  }
  int64_t name = ir_name(g, (char *)bytes, values->count * each);
  return ir_make_tensor(g, IR_OP_DATA, dtype, ir_tuple(g, shape, (uint32_t)rank), name, shape,
                        (uint32_t)rank);
}

static ir_ref read_operation(recorder *r, ir_parser *p);

/* Without the parser's checks of sizes, so that op_input's are tried. */
static bool read_operand(recorder *r, ir_parser *p, ir_ref *out) {
  ir_dtype dtype;
  ir_attr sizes, values;
  ir_ref shape[20];
  if (ir_lex_accept(&p->lex, '{'))
    return (*out = read_operation(r, p)) != 0 && ir_lex_expect(&p->lex, '}', "bad operand");
  if (!at_type(p)) return ir_parse_operand(p, out);
  if (!ir_parse_dtype(p, &dtype) || !ir_parse_value(p, &sizes)) return false;
  for (size_t i = 0; i < sizes.count; i++) shape[i] = sizes.items[i].expr;
  bool given = ir_lex_accept(&p->lex, '=');
  if (given && !ir_parse_value(p, &values)) return false;
  *out = given ? array(&r->g, dtype, shape, sizes.count, &values)
               : op_input(&r->g, (char[]){(char)('a' + r->input_count)}, 1, dtype, shape, sizes.count);
  if (!given) r->inputs[r->input_count++] = *out;
  return true;
}

static ir_ref read_operation(recorder *r, ir_parser *p) {
  ir_attr attrs[8];
  ir_ref operands[20];
  size_t n = 0, count = 0;
  bool good = true;
  ir_token name = p->lex.token;
  ir_lex_next(&p->lex);
  while (good && at_operand(p)) good = read_operand(r, p, &operands[n++]);
  for (; good && p->lex.token.kind == IR_TOKEN_WORD;
       count++) { /* op_apply refuses those that are given twice */
    ir_token attribute = p->lex.token;
    ir_lex_next(&p->lex);
    good = ir_lex_expect(&p->lex, '=', "bad attribute") && ir_parse_value(p, &attrs[count]);
    attrs[count].name = attribute.text, attrs[count].name_length = attribute.length;
  }
  return good ? op_apply(&r->g, name.text, name.length, operands, n, attrs, count) : 0;
}

ir_ref record_line(recorder *r, const char *line) {
  char text[2000];
  ir_parser p;
  ir_attr declared;
  snprintf(text, sizeof text, "[n=1..8,m=4..64:4,z=0..5] %s", line);
  bool good = ir_parser_init(&p, &r->g, &fe_builder, "line", text, strlen(text)) == IR_OK &&
              ir_parse_value(&p, &declared);
  ir_ref made = good ? read_operation(r, &p) : 0;
  ir_parser_free(&p);
  return made;
}

/* `op(sources)`, with `;arg` if arg is an axis or a mode. */
static void show(const ir_graph *g, ir_ref ref, ir_text *out) {
  const ir_node *n = ir_get(g, ref);
  if (n->op == IR_OP_INPUT) {
    ir_text_str(out, ir_name_text(g, n->arg));
  } else if (n->op == IR_OP_CONST && n->dtype != IR_INDEX) {
    assert_false(n->weak);
    if (ir_is_float((ir_dtype)n->dtype))
      ir_textf(out, "%.9g:%s", ir_const_value(g, ref).f, ir_dtypes[n->dtype].name);
    else ir_textf(out, "%lld:%s", (long long)n->arg, ir_dtypes[n->dtype].name);
  } else if (ir_dtype_of(g, ref) == IR_INDEX) {
    ir_print_expr(g, ref, out);
  } else {
    ir_textf(out, "%s(", ir_ops[n->op].text);
    for (uint32_t i = 0; i < n->nsrc; i++) {
      if (i > 0) ir_text_str(out, ",");
      show(g, n->src[i], out);
    }
    if (n->op == IR_OP_CAST) ir_textf(out, ":%s", ir_dtypes[n->dtype].name);
    if (n->arg && n->op != IR_OP_DATA)
      ir_textf(out, ";%d", ir_arg_mode(n) ? ir_arg_mode(n) : (int)ir_arg_int(n));
    ir_text_str(out, ")");
  }
}

void check_accepted(const record_accepted *c) {
  recorder *r = record_begin();
  ir_ref x = record_line(r, c->line);
  if (!x) fail_msg("%s: refused: %s", c->line, r->error.text);
  ir_text text;
  ir_text_init(&text, &r->mem);
  ir_print_type(&r->g, x, &text);
  ir_text_str(&text, " ");
  show(&r->g, x, &text);
  char expected[1024];
  snprintf(expected, sizeof expected, "%s %s", c->type, c->nodes);
  if (strcmp(expected, ir_text_get(&text)) != 0)
    fail_msg("%s:\n  expected %s\n  found    %s", c->line, expected, ir_text_get(&text));
  ir_text_free(&text);
}

void check_refused(const record_refused *c) {
  recorder *r = record_begin();
  ir_ref x = record_line(r, c->line);
  if (x || r->error.status != IR_ERR_INVALID || strcmp(r->error.text, c->message) != 0)
    fail_msg("%s:\n  expected %s\n  found    %s", c->line, c->message, x ? "no error" : r->error.text);
}
