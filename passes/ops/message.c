/* Fragments of messages: types, expressions, lists of sizes. */
#include "check.h"

#include <stdio.h>
#include <string.h>

/* Bytes of a type, an expression or a list in a message, which holds about five; longer ones are cut. */
enum { FRAGMENT_BYTES = 200 };

/* Copies at most `room` bytes of the text to out, and frees it. */
static const char *end_text(ir_text *text, size_t room, op_words *out) {
  const char *all = text->failed ? "?" : ir_text_get(text);
  size_t length = strlen(all);
  if (length <= room) memcpy(out->text, all, length + 1);
  else snprintf(out->text, sizeof out->text, "%.*s...", (int)room - 3, all);
  ir_text_free(text);
  return out->text;
}

const char *op_words_type(ir_graph *g, ir_ref ref, op_words *out) {
  ir_text text;
  ir_text_init(&text, g->mem);
  ir_print_type(g, ref, &text);
  return end_text(&text, FRAGMENT_BYTES, out);
}

const char *op_words_expr(ir_graph *g, ir_ref ref, op_words *out) {
  ir_text text;
  ir_text_init(&text, g->mem);
  ir_print_expr(g, ref, &text);
  return end_text(&text, FRAGMENT_BYTES, out);
}

const char *op_words_list(ir_graph *g, const ir_ref *refs, size_t n, op_words *out) {
  ir_text text;
  ir_text_init(&text, g->mem);
  ir_text_str(&text, "[");
  for (size_t i = 0; i < n && text.len <= FRAGMENT_BYTES; i++) {
    if (i > 0) ir_text_str(&text, ",");
    if (refs[i]) ir_print_expr(g, refs[i], &text);
  }
  ir_text_str(&text, "]");
  return end_text(&text, FRAGMENT_BYTES, out);
}

void op_words_join(ir_text *first, size_t room, ir_text *second, op_words *out) {
  op_words tail;
  end_text(first, room, out);
  strcat(out->text, end_text(second, sizeof out->text - room - 1, &tail));
}

ir_ref op_refuse(ir_graph *g, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ir_vfail(g->error, IR_ERR_INVALID, format, args);
  va_end(args);
  return 0;
}
