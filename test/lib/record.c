/* One-line cases: see record.h. */
#include "record.h"

#include "passes/index/index.h"

#include <ctype.h>
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

static ir_ref variable(recorder *r, char name) {
  switch (name) {
  case 'n': return ir_var(&r->g, "n", 1, 1, 8, 1);
  case 'm': return ir_var(&r->g, "m", 1, 4, 64, 4);
  default: return ir_var(&r->g, "z", 1, 0, 5, 1);
  }
}

/* An integer, a variable, or a variable with + - * // and an integer. */
static ir_ref read_expr(recorder *r) {
  char *end;
  if (!islower((unsigned char)*r->at)) {
    int64_t value = strtoll(r->at, &end, 10);
    r->at = end;
    return ir_index(&r->g, value);
  }
  ir_ref a = variable(r, *r->at++);
  if (!*r->at || !strchr("+-*/", *r->at)) return a;
  char sign = *r->at++;
  if (sign == '/') r->at++;
  int64_t value = strtoll(r->at, &end, 10);
  r->at = end;
  if (sign == '*') return pass_mul_int(&r->g, a, value);
  if (sign == '/') return pass_div_int(&r->g, a, value);
  return pass_add_int(&r->g, a, sign == '-' ? -value : value);
}

static bool is_float_literal(const char *s) {
  size_t n = strcspn(s, " ,]");
  for (size_t i = 0; i < n; i++)
    if (s[i] == '.' || s[i] == 'e') return *s == '-' || isdigit((unsigned char)*s);
  return strncmp(s, "inf", 3) == 0 || strncmp(s, "-inf", 4) == 0 || strncmp(s, "nan", 3) == 0;
}

static void read_value(recorder *r, ir_attr *out) {
  if (*r->at == '[') {
    size_t count = 0;
    ir_attr items[64];
    for (r->at++; *r->at != ']'; r->at += *r->at == ',') {
      assert_true(count < 64);
      items[count] = (ir_attr){0};
      read_value(r, &items[count++]);
    }
    r->at++;
    ir_attr *kept = r->pool + r->used;
    assert_true(r->used + count <= RECORD_ITEMS);
    memcpy(kept, items, count * sizeof *items);
    r->used += count;
    out->kind = IR_ATTR_LIST, out->items = kept, out->count = count;
  } else if (*r->at == '"') {
    out->kind = IR_ATTR_WORD, out->word = ++r->at, out->word_length = strcspn(r->at, "\"");
    r->at += out->word_length + 1;
  } else if (is_float_literal(r->at)) {
    char *end;
    out->kind = IR_ATTR_FLOAT, out->number = strtod(r->at, &end);
    r->at = end;
  } else if (*r->at == '-' || (isdigit((unsigned char)*r->at) && strcspn(r->at, " ,]") < 20) ||
             (strchr("nmz", *r->at) && !isalpha((unsigned char)r->at[1]))) {
    out->kind = IR_ATTR_EXPR, out->expr = read_expr(r);
  } else {
    out->kind = IR_ATTR_WORD, out->word = r->at, out->word_length = strcspn(r->at, " ,]");
    r->at += out->word_length;
  }
}

static ir_ref read_operand(recorder *r) {
  if (isdigit((unsigned char)*r->at) && !is_float_literal(r->at)) {
    char *end;
    int64_t value = strtoll(r->at, &end, 10);
    r->at = end;
    return op_literal_int(&r->g, value);
  }
  if (isdigit((unsigned char)*r->at) || *r->at == '-') {
    ir_attr v = {0};
    read_value(r, &v);
    return v.kind == IR_ATTR_FLOAT ? op_literal_float(&r->g, v.number)
                                   : op_literal_int(&r->g, ir_get(&r->g, v.expr)->arg);
  }
  if (*r->at == '$') { /* an index expression in the place of a tensor */
    r->at++;
    return read_expr(r);
  }
  size_t length = strcspn(r->at, "[");
  ir_dtype dtype = ir_dtype_parse(r->at, length);
  ir_ref shape[20];
  size_t rank = 0;
  for (r->at += length + 1; *r->at != ']'; r->at += *r->at == ',') shape[rank++] = read_expr(r);
  r->at++;
  char name = (char)('a' + r->inputs++);
  return op_input(&r->g, &name, 1, dtype, shape, rank);
}

ir_ref record_line(recorder *r, const char *line) {
  ir_ref operands[20];
  ir_attr attrs[8];
  size_t n = 0, count = 0, length = strcspn(line, " ");
  for (r->at = line + length; *r->at == ' ';) {
    r->at++;
    size_t name = strcspn(r->at, "=[ ");
    if (r->at[name] != '=') {
      operands[n++] = read_operand(r);
      continue;
    }
    attrs[count] = (ir_attr){.name = r->at, .name_length = name};
    r->at += name + 1;
    read_value(r, &attrs[count++]);
  }
  return op_apply(&r->g, line, length, operands, n, attrs, count);
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
