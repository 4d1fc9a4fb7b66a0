/* Names of references: the graph's own statements give them to newest versions, and so do the functions that
 * statements call. */
#include "ir/parse/impl.h"

static int shown(const ir_token *name) { return (int)(name->length > 40 ? 40 : name->length); }

bool ir_parse_name_value(ir_parser *p, const ir_token *name, ir_ref value) {
  int64_t id = ir_parse_intern(p, name);
  if (id < 0) return ir_parse_memory(p);
  ir_symbol *s = &p->symbols[id];
  if (s->value_epoch != p->epoch || s->reference_epoch != p->epoch) return ir_parse_define(p, name, value);
  ir_graph *g = p->graph;
  if (!ir_parse_same_type(p, s->value, value)) {
    ir_text have, want;
    ir_text_init(&have, g->mem), ir_text_init(&want, g->mem);
    ir_print_type(g, value, &have), ir_print_type(g, s->value, &want);
    ir_lex_fail_at(
        &p->lex, name->line, name->column,
        "a version of the reference '%%%.*s' of another type, found %.100s, expected %.100s%s", shown(name),
        name->text, ir_text_get(&have), ir_text_get(&want),
        ir_batch(g, value) == ir_batch(g, s->value)
            ? ""
            : "; each element of a batch would leave another version: write the reference outside");
    ir_text_free(&have), ir_text_free(&want);
    return false;
  }
  s->value = value;
  return true;
}

bool ir_attr_writes(const ir_attr *attrs, size_t count, uint32_t param) {
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < attrs[i].written_count; k++)
      if (attrs[i].written[k] == param) return true;
  return false;
}

/* Operands in front of those that functions take, such as a predicate. Operands that are too few have none:
 * the operation refuses them. */
static size_t operands_in_front(const ir_parser *p, const ir_attr *attrs, size_t count) {
  size_t most = 0;
  for (size_t i = 0; i < count; i++) {
    size_t params = attrs[i].kind == IR_ATTR_GRAPH ? ir_function_of(p->graph, attrs[i].expr).param_count : 0;
    if (params > most) most = params;
  }
  return p->operand_count > most ? p->operand_count - most : 0;
}

/* Is the operand the name of a reference, which no earlier one of those that are written is? */
static bool is_reference(ir_parser *p, const ir_attr *attrs, size_t count, size_t front, uint32_t param) {
  const ir_token *t = &p->written[front + param];
  int64_t id = t->kind == IR_TOKEN_NAME ? ir_parse_intern(p, t) : 0;
  if (id < 0) return ir_parse_memory(p);
  if (t->kind != IR_TOKEN_NAME || p->symbols[id].reference_epoch != p->epoch)
    return ir_lex_fail_at(&p->lex, t->line, t->column,
                          "a function writes operand %zu, found '%s%.*s', expected a reference, a parameter "
                          "of this graph as in '%%a: ref f32[4]'; for a part of one, give the reference and "
                          "take the view in the function",
                          front + param + 1, t->kind == IR_TOKEN_NAME ? "%" : "", shown(t), t->text);
  for (uint32_t i = 0; i < param; i++) {
    const ir_token *other = &p->written[front + i];
    if (!ir_attr_writes(attrs, count, i) || ir_parse_intern(p, other) != id) continue;
    return ir_lex_fail_at(&p->lex, t->line, t->column,
                          "functions write operands %zu and %zu, found '%%%.*s' for both, expected "
                          "references that are not the same",
                          front + i + 1, front + param + 1, shown(t), t->text);
  }
  return true;
}

bool ir_parse_written(ir_parser *p, const ir_attr *attrs, size_t count, ir_written *written) {
  *written = (ir_written){0};
  size_t front = operands_in_front(p, attrs, count);
  for (uint32_t i = 0; front + i < p->operand_count; i++) {
    if (!ir_attr_writes(attrs, count, i)) continue;
    if (!written->operands) written->operands = ir_parse_alloc(p, p->operand_count * sizeof(uint32_t));
    if (!written->operands || !is_reference(p, attrs, count, front, i)) return false;
    written->operands[written->count++] = (uint32_t)front + i;
  }
  return true;
}

bool ir_parse_name_written(ir_parser *p, const ir_written *written, ir_ref made) {
  uint32_t first = written->count ? ir_get(p->graph, made)->nsrc - written->count : 0;
  for (uint32_t i = 0; i < written->count; i++)
    if (!ir_parse_name_value(p, &p->written[written->operands[i]], ir_src(p->graph, made, first + i)))
      return false;
  return true;
}
