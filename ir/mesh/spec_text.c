/* Specs as text. */
#include "spec.h"

#include <stdio.h>
#include <string.h>

const struct ir_pending_name ir_pending_names[IR_PENDING_KINDS] = {
    {"sum", IR_OP_ADD}, {"prod", IR_OP_MUL}, {"max", IR_OP_MAX},     {"min", IR_OP_MIN},
    {"any", IR_OP_OR},  {"all", IR_OP_AND},  {"select", IR_OP_WHERE}};

/* x.y:(1)2 */
static bool read_axes(ir_lexer *lx, const ir_mesh *mesh, ir_spec *out, uint32_t place) {
  do {
    ir_subaxis s;
    if (!ir_subaxis_read(lx, mesh, &s)) return false;
    if (!ir_spec_add(out, place, s)) { /* a mesh has fewer sub-axes than a spec has room for */
      ir_fail(lx->error, IR_ERR_INTERNAL, "spec: too many axes");
      return false;
    }
  } while (ir_lex_accept(lx, '.'));
  return true;
}

/* p1 */
static bool read_priority(ir_lexer *lx, uint16_t *out) {
  const ir_token *t = &lx->token;
  uint32_t number = 0;
  bool good = t->length >= 2 && t->length <= 4 && t->text[0] == 'p';
  for (size_t i = 1; i < t->length && good; i++) {
    good = t->text[i] >= '0' && t->text[i] <= '9';
    number = number * 10 + (uint32_t)(t->text[i] - '0');
  }
  if (!good) return ir_lex_fail(lx, "wrong end of a dimension", "p0 to p999, ',' or ']'");
  *out = (uint16_t)number;
  ir_lex_next(lx);
  return true;
}

static bool read_dimension(ir_lexer *lx, const ir_mesh *mesh, ir_spec *out) {
  uint32_t d = out->rank;
  if (d == IR_MAX_RANK) return ir_lex_fail(lx, "too many dimensions", "at most 16");
  out->rank++;
  if (lx->token.kind == IR_TOKEN_WORD && !read_axes(lx, mesh, out, d)) return false;
  bool axes = ir_spec_count(out, d) > 0;
  out->open[d] = ir_lex_accept(lx, '?');
  if (!axes && !out->open[d] && !ir_lex_expect(lx, '-', "a dimension has axes of the mesh, '-' or '?'"))
    return false;
  return lx->token.kind != IR_TOKEN_WORD || read_priority(lx, &out->priority[d]);
}

/* After `+`: x.y, or max(x.y). */
static bool read_pending(ir_lexer *lx, const ir_mesh *mesh, ir_spec *out) {
  const ir_token *t = &lx->token;
  for (size_t i = 0; i < IR_PENDING_KINDS; i++) {
    if (!ir_token_is(t, ir_pending_names[i].text) || ir_mesh_find(mesh, t->text, t->length) >= 0) continue;
    out->joined_by = (uint8_t)ir_pending_names[i].joined_by;
    ir_lex_next(lx);
    return ir_lex_expect(lx, '(', "missing axes of a pending reduction") &&
           read_axes(lx, mesh, out, IR_PLACE_PENDING) &&
           ir_lex_expect(lx, ')', "missing end of the axes of a pending reduction");
  }
  if (t->kind == IR_TOKEN_WORD && ir_mesh_find(mesh, t->text, t->length) < 0)
    return ir_lex_fail(
        lx, "no axis of the mesh, and no reduction that is pending",
        "an axis to sum over, as in +x, or one of sum prod max min any all select with its axes, "
        "as in +max(x)");
  return read_axes(lx, mesh, out, IR_PLACE_PENDING);
}

static bool read_spec(ir_lexer *lx, const ir_mesh *mesh, ir_spec *out) {
  int line = lx->token.line, column = lx->token.column;
  ir_error why = {0};
  ir_spec_init(out, 0);
  if (!(ir_lex_is(lx, '[') || ir_lex_fail(lx, "missing spec",
                                          "'['; a spec has an axis of the mesh, or -, for each axis of the "
                                          "array, as in [-,x]")) ||
      !ir_lex_expect(lx, '[', "missing spec"))
    return false;
  while (!ir_lex_is(lx, ']')) {
    if (!read_dimension(lx, mesh, out)) return false;
    if (!ir_lex_is(lx, ']') && !ir_lex_expect(lx, ',', "missing ',' or ']' of a spec")) return false;
  }
  ir_lex_next(lx);
  if (ir_lex_accept(lx, '!') && !read_axes(lx, mesh, out, IR_PLACE_REPLICATED)) return false;
  if (ir_lex_accept(lx, '+') && !read_pending(lx, mesh, out)) return false;
  if (lx->error->status) return false;
  return ir_spec_check(mesh, out, &why) || ir_lex_fail_at(lx, line, column, "%s", why.text);
}

bool ir_spec_read(ir_lexer *lx, const ir_mesh *mesh, ir_spec *out) {
  char meant[IR_SPEC_MEANT];
  ir_error *error = lx->error;
  const char *text = lx->token.text;
  if (lx->token.kind == IR_TOKEN_STRING) text--;
  bool good = read_spec(lx, mesh, out);
  size_t used = strlen(error->text);
  if (!good && error->status == IR_ERR_INVALID &&
      ir_spec_meant(mesh, text, (size_t)(lx->text + lx->length - text), meant) &&
      strncmp(text, meant, strlen(meant)) != 0)
    snprintf(error->text + used, sizeof error->text - used, "; as it is written here: %s", meant);
  return good;
}

bool ir_spec_parse(const ir_mesh *mesh, const char *text, size_t length, ir_spec *out, ir_error *error) {
  ir_lexer lx;
  ir_lex_start(&lx, error, "spec", text, length);
  if (!ir_spec_read(&lx, mesh, out)) return false;
  return lx.token.kind == IR_TOKEN_END || ir_lex_fail(&lx, "more behind a spec", "nothing");
}

static void print_axes(const ir_mesh *mesh, const ir_spec *spec, uint32_t place, ir_text *out) {
  uint32_t count;
  const ir_subaxis *axes = ir_spec_axes(spec, place, &count);
  for (uint32_t i = 0; i < count; i++) {
    if (i) ir_text_str(out, ".");
    ir_subaxis_print(mesh, axes[i], out);
  }
}

void ir_spec_print(const ir_mesh *mesh, const ir_spec *spec, ir_text *out) {
  ir_text_str(out, "[");
  for (uint32_t d = 0; d < spec->rank; d++) {
    if (d) ir_text_str(out, ",");
    print_axes(mesh, spec, d, out);
    if (spec->open[d]) ir_text_str(out, "?");
    else if (!ir_spec_count(spec, d)) ir_text_str(out, "-");
    if (spec->priority[d]) ir_textf(out, " p%u", (unsigned)spec->priority[d]);
  }
  ir_text_str(out, "]");
  if (ir_spec_count(spec, IR_PLACE_REPLICATED))
    ir_text_str(out, "!"), print_axes(mesh, spec, IR_PLACE_REPLICATED, out);
  if (!ir_spec_count(spec, IR_PLACE_PENDING)) return;
  for (size_t i = 0; i < IR_PENDING_KINDS; i++)
    if (spec->joined_by == ir_pending_names[i].joined_by)
      ir_textf(out, i ? "+%s(" : "+", ir_pending_names[i].text);
  print_axes(mesh, spec, IR_PLACE_PENDING, out);
  if (spec->joined_by != IR_OP_ADD) ir_text_str(out, ")");
}
