/* Fragments of messages: types, expressions, lists of sizes, facts that could not be decided. */
#include "check.h"

#include <stdio.h>
#include <string.h>

static const char *cut(ir_text *text, op_words *out) {
  const char *all = text->failed ? "?" : ir_text_get(text);
  size_t room = sizeof out->text - 1, length = strlen(all);
  if (length <= room) memcpy(out->text, all, length + 1);
  else snprintf(out->text, sizeof out->text, "%.*s...", (int)room - 3, all);
  ir_text_free(text);
  return out->text;
}

const char *op_words_type(ir_graph *g, ir_ref ref, op_words *out) {
  ir_text text;
  ir_text_init(&text, g->mem);
  ir_print_type(g, ref, &text);
  return cut(&text, out);
}

const char *op_words_expr(ir_graph *g, ir_ref ref, op_words *out) {
  ir_text text;
  ir_text_init(&text, g->mem);
  ir_print_expr(g, ref, &text);
  return cut(&text, out);
}

const char *op_words_list(ir_graph *g, const ir_ref *refs, size_t n, op_words *out) {
  ir_text text;
  ir_text_init(&text, g->mem);
  ir_text_str(&text, "[");
  for (size_t i = 0; i < n && text.len < sizeof out->text; i++) {
    if (i > 0) ir_text_str(&text, ",");
    if (refs[i]) ir_print_expr(g, refs[i], &text);
  }
  ir_text_str(&text, "]");
  return cut(&text, out);
}

static void known(ir_graph *g, ir_ref a, const char *lead, ir_text *text) {
  if (ir_is_const(g, a, NULL)) return;
  ir_bounds b = ir_bounds_of(g, a);
  ir_text_str(text, lead);
  if (b.lo != INT64_MIN) ir_textf(text, "%lld <= ", (long long)b.lo);
  ir_print_expr(g, a, text);
  if (b.hi != INT64_MAX) ir_textf(text, " <= %lld", (long long)b.hi);
  if (b.div > 1 && b.rem == 0) ir_textf(text, " in steps of %lld", (long long)b.div);
}

const char *op_words_fact(ir_graph *g, ir_op cmp, ir_ref a, ir_ref b, op_words *out) {
  static const uint8_t opposite[IR_OP_COUNT] = {
      [IR_OP_EQ] = IR_OP_NE, [IR_OP_NE] = IR_OP_EQ, [IR_OP_LT] = IR_OP_GE,
      [IR_OP_GE] = IR_OP_LT, [IR_OP_LE] = IR_OP_GT, [IR_OP_GT] = IR_OP_LE};
  if (!a || !b || pass_proves(g, (ir_op)opposite[cmp], a, b)) return "";
  ir_text text;
  ir_text_init(&text, g->mem);
  ir_text_str(&text, "; needs ");
  ir_print_expr(g, a, &text);
  ir_textf(&text, " %s ", ir_ops[cmp].infix);
  ir_print_expr(g, b, &text);
  known(g, a, ", known: ", &text);
  known(g, b, ir_is_const(g, a, NULL) ? ", known: " : ", ", &text);
  return cut(&text, out);
}

ir_ref op_refuse(ir_graph *g, const char *format, ...) {
  char text[sizeof g->error->text];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  ir_fail(g->error, IR_ERR_INVALID, "%s", text);
  return 0;
}
