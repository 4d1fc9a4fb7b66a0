/* Operations by name, with attributes as text. */
#include <stdio.h>
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/text/reader.h"
#include "passes/ops/ops.h"

enum { MAX_ATTRIBUTES = 8 };

/* Make the graph's variables known to the parser, by a text that declares them. */
static bool declare_variables(ir_parser *p, const vf_graph *g, ir_text *text) {
  const ir_graph *ir = &g->ir;
  for (size_t i = 0; i < g->variable_count; i++) {
    const ir_node *n = ir_get(ir, g->variables[i].ref);
    ir_text_str(text, g->variables[i].name);
    ir_textf(text, "=%lld..%lld:%lld ", (long long)ir_get(ir, n->src[0])->arg,
             (long long)ir_get(ir, n->src[1])->arg, (long long)ir_get(ir, n->src[2])->arg);
  }
  ir_lex_start(&p->lex, ir->error, "variables", ir_text_get(text), text->len);
  bool good = !text->failed;
  for (size_t i = 0; i < g->variable_count && good; i++) good = ir_parse_expression(p) != 0;
  return good;
}

/* What does not begin as an attribute does; those of the operation are said. */
static bool refuse_attribute(ir_parser *p, const char *operation) {
  ir_text expected;
  ir_text_init(&expected, p->graph->mem);
  ir_text_str(&expected, ir_lex_is(&p->lex, ',')
                             ? "a blank before the next one; several values are a list, as in axes=[0,1]"
                             : "name=value");
  size_t length = expected.len;
  ir_text_str(&expected, "; attributes: ");
  size_t named = expected.len;
  op_put_attributes(operation, strlen(operation), &expected);
  if (expected.len == named && expected.data) expected.data[length] = '\0';
  ir_lex_fail(&p->lex, "bad attribute", ir_text_get(&expected));
  ir_text_free(&expected);
  return false;
}

static bool attribute(ir_parser *p, const char *operation, ir_attr *out) {
  ir_token name = p->lex.token;
  if (name.kind != IR_TOKEN_WORD) return refuse_attribute(p, operation);
  ir_lex_next(&p->lex);
  if (!ir_lex_expect(&p->lex, '=', "bad attribute") || !ir_parse_value_of(p, &name, out)) return false;
  out->name = name.text;
  out->name_length = name.length;
  return true;
}

static ir_ref parse_and_apply(fe_call *c, ir_parser *p, const char *operation, const ir_ref *operands,
                              size_t count, const char *text) {
  ir_attr attrs[MAX_ATTRIBUTES];
  size_t n = 0, known = p->var_count;
  ir_lex_start(&p->lex, c->ir->error, operation, text, strlen(text));
  while (p->lex.token.kind != IR_TOKEN_END) {
    if (n == MAX_ATTRIBUTES) return (ir_ref)ir_lex_fail(&p->lex, "too many attributes", "the end");
    if (!attribute(p, operation, &attrs[n++])) return 0;
  }
  if (c->ir->error->status) return 0;
  if (p->var_count > known) {
    const ir_node *var = ir_get(c->ir, p->vars[known]);
    fe_refuse(c, "variable %.60s is declared by an attribute; declare it with vf_variable",
              ir_name_text(c->ir, var->arg));
    return 0;
  }
  return op_apply(c->ir, operation, strlen(operation), operands, count, attrs, n);
}

/* Behind the message that nothing is known of an operation, which may be one that a program has registered.
 */
static void say_registered(ir_error *error) {
  static const char unknown[] = "docs/operations.md and `viewfold ops` list them";
  size_t used = strlen(error->text), length = strlen(unknown);
  if (used >= length && strcmp(error->text + used - length, unknown) == 0)
    snprintf(error->text + used, sizeof error->text - used,
             "; those of vf_register_op are of the context in which they are registered, which is not this "
             "graph's");
}

/* What the operation makes, several results as a TUPLE; 0 after failing. */
static ir_ref apply_named(fe_call *c, vf_graph *g, const char *operation, const vf_value *operands, int count,
                          const char *attributes) {
  ir_ref made = 0, *refs = NULL;
  ir_parser p = {0};
  ir_text text;
  size_t n = operands && count > 0 ? (size_t)count : 0;
  int64_t name = g && operation ? ir_name(&g->ir, operation, strlen(operation)) : -1; /* which is kept */
  bool good = fe_begin_in(c, name < 0 ? "apply" : ir_name_text(&g->ir, name), g);
  if (good && !operation) good = fe_refuse(c, "the name of the operation is NULL");
  good = good && fe_operands(c, operands, n) && (refs = ir_alloc(c->ir->mem, n * sizeof *refs));
  if (!good) return 0;
  for (size_t i = 0; i < n; i++) refs[i] = operands[i].id;
  ir_text_init(&text, c->ir->mem);
  if (ir_parser_init(&p, c->ir, &fe_builder, operation, "", 0) == IR_OK && declare_variables(&p, g, &text))
    made = parse_and_apply(c, &p, operation, refs, n, attributes ? attributes : "");
  ir_parser_free(&p);
  ir_text_free(&text);
  ir_free(c->ir->mem, refs, n * sizeof *refs);
  if (!made) say_registered(c->ir->error);
  return made;
}

vf_value vf_apply(vf_graph *g, const char *operation, const vf_value *operands, int count,
                  const char *attributes) {
  fe_call c;
  ir_ref made = apply_named(&c, g, operation, operands, count, attributes);
  if (made && ir_op_of(c.ir, made) == IR_OP_TUPLE) {
    uint32_t results = ir_get(c.ir, made)->nsrc;
    if (results != 1) fe_refuse(&c, "has %u results; vf_apply_all returns them all", results);
    made = results == 1 ? ir_src(c.ir, made, 0) : 0;
  }
  return fe_end(&c, made);
}

int vf_apply_all(vf_graph *g, const char *operation, const vf_value *operands, int count,
                 const char *attributes, int room, vf_value *results) {
  fe_call c;
  ir_ref made = apply_named(&c, g, operation, operands, count, attributes);
  return fe_end_all(&c, made, room, results);
}
