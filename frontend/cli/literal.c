/* Arrays and numbers written on the command line. */
#include "frontend/cli/bind.h"

#include <string.h>

#include "frontend/text/reader.h"
#include "passes/ops/ops.h"

/* Is the value the array itself rather than the name of a file? */
bool cli_is_literal(const char *text) {
  static const char *const words[] = {"true", "false", "inf", "-inf", "nan"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(text, words[i]) == 0) return true;
  if (*text == '[') return true;
  const char *digits = text + (*text == '-');
  digits += *digits == '.';
  return *digits >= '0' && *digits <= '9' && text[strspn(text, "0123456789abcdefxABCDEF+-.")] == '\0';
}

static ir_attr word_attr(const char *name, const char *word) {
  return (ir_attr){.name = name,
                   .name_length = strlen(name),
                   .kind = IR_ATTR_WORD,
                   .word = word,
                   .word_length = strlen(word)};
}

/* Parse a literal under the rules of text graphs, as a constant of g. */
static ir_ref parse_literal(ir_graph *g, const char *source, const char *text, ir_dtype dtype) {
  ir_parser p;
  ir_attr attrs[2];
  ir_ref made = 0;
  bool ok = ir_parser_init(&p, g, &fe_builder, source, text, strlen(text)) == IR_OK &&
            ir_parse_value(&p, &attrs[0]);
  if (ok && p.lex.token.kind != IR_TOKEN_END)
    ok = ir_lex_fail(&p.lex, "unexpected text after a value", "its end");
  if (ok) {
    bool list = attrs[0].kind == IR_ATTR_LIST;
    const char *op = list ? "data" : "const";
    attrs[0].name = list ? "values" : "value";
    attrs[0].name_length = strlen(attrs[0].name);
    attrs[1] = word_attr("dtype", ir_dtypes[dtype].name);
    made = op_apply(g, op, strlen(op), NULL, 0, attrs, 2);
    if (!made) ir_lex_prefix_error(&p.lex, 1, 1);
  }
  ir_parser_free(&p);
  return made;
}

static void copy_literal(const ir_graph *g, ir_ref constant, fe_array *out) {
  const ir_node *n = ir_get(g, constant), *shape = ir_get(g, ir_shape(g, constant));
  bool list = n->op == IR_OP_DATA;
  out->dtype = (ir_dtype)n->dtype;
  out->rank = (int)shape->nsrc;
  for (uint32_t i = 0; i < shape->nsrc; i++) ir_is_const(g, shape->src[i], &out->shape[i]);
  out->bytes = list ? ir_name_length(g, n->arg) : ir_dtypes[n->dtype].bytes;
  out->data = ir_alloc(&cli_array_mem, out->bytes);
  if (!out->data) ir_fail(g->error, IR_ERR_MEMORY, "out of memory for %zu bytes", out->bytes);
  else if (list) memcpy(out->data, ir_name_text(g, n->arg), out->bytes);
  else ir_value_store(out->data, out->dtype, ir_const_value(g, constant));
}

bool cli_read_literal(const char *source, const char *text, ir_dtype dtype, fe_array *out, ir_error *error) {
  ir_graph g;
  *out = (fe_array){0};
  if (ir_graph_init(&g, &ir_mem_libc, error) == IR_OK) {
    ir_ref made = parse_literal(&g, source, text, dtype);
    if (made) copy_literal(&g, made, out);
  }
  ir_graph_free(&g);
  return error->status == IR_OK;
}
