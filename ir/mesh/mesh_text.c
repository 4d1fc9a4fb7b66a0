/* Meshes as text. */
#include "mesh.h"

#include <stdio.h>
#include <string.h>

/* After `(`: m, `)`, k. */
static bool read_digit(ir_lexer *lx, const ir_mesh *mesh, ir_subaxis *out, int line, int column) {
  static const char wrong[] = "wrong sub-axis of a mesh", expected[] = "x:(m)k, both at least 1";
  uint64_t number[2] = {0};
  for (int i = 0; i < 2; i++) {
    if (lx->token.kind != IR_TOKEN_INT || lx->token.integer < 1 || lx->token.integer > IR_MESH_DEVICES)
      return ir_lex_fail(lx, wrong, expected);
    number[i] = lx->token.integer;
    ir_lex_next(lx);
    if (i == 0 && !ir_lex_expect(lx, ')', wrong)) return false;
  }
  *out = (ir_subaxis){.axis = out->axis, .pre = (int32_t)number[0], .size = (int32_t)number[1]};
  const ir_mesh_axis *axis = &mesh->axes[out->axis];
  out->weighted = axis->before != NULL;
  if (ir_subaxis_fits(mesh, *out)) return true;
  if (axis->before)
    return ir_lex_fail_at(lx, line, column,
                          "no sub-axis of a mesh, found %s:(%d)%d, expected %s as a whole, since it has "
                          "weights",
                          axis->name, out->pre, out->size, axis->name);
  return ir_lex_fail_at(lx, line, column,
                        "no sub-axis of a mesh, found %s:(%d)%d, expected (m)k whose product divides %s=%d",
                        axis->name, out->pre, out->size, axis->name, axis->size);
}

/* Says of xy, where there are axes x and y, that both are x.y. */
static void put_several(const ir_lexer *lx, const ir_mesh *mesh, char *out, size_t size) {
  const char *at = lx->token.text, *end = at + lx->token.length;
  size_t used = 0;
  while (lx->token.kind == IR_TOKEN_WORD && at < end) {
    size_t length = (size_t)(end - at);
    while (length && ir_mesh_find(mesh, at, length) < 0) length--;
    if (!length || used + length + 32 > size) break;
    used +=
        (size_t)snprintf(out + used, size - used, "%s%.*s", used ? "." : "; along several ", (int)length, at);
    at += length;
  }
  if (at < end) *out = '\0';
}

bool ir_subaxis_read(ir_lexer *lx, const ir_mesh *mesh, ir_subaxis *out) {
  int line = lx->token.line, column = lx->token.column;
  char expected[2 * IR_MESH_AXES * (IR_MESH_NAME + 1) + 64];
  int axis = lx->token.kind == IR_TOKEN_WORD ? ir_mesh_find(mesh, lx->token.text, lx->token.length) : -1;
  if (axis < 0) {
    int n = snprintf(expected, sizeof expected, mesh->axis_count ? "one of" : "nothing: it has no axes");
    for (uint32_t i = 0; i < mesh->axis_count; i++)
      n += snprintf(expected + n, sizeof expected - (size_t)n, " %s", mesh->axes[i].name);
    put_several(lx, mesh, expected + n, sizeof expected - (size_t)n);
    return ir_lex_fail(lx, "no axis of the mesh", expected);
  }
  *out = ir_whole_axis(mesh, (uint32_t)axis);
  ir_lex_next(lx);
  if (!ir_lex_accept(lx, ':')) return true;
  if (!ir_lex_accept(lx, '('))
    return ir_lex_fail(lx, "wrong sub-axis of a mesh", "x:(m)k, as in x:(1)2: part 2 of x, behind m");
  return read_digit(lx, mesh, out, line, column);
}

/* In the caller's words, at a place. */
static bool fail_here(ir_lexer *lx, const ir_error *why, int line, int column) {
  return ir_lex_fail_at(lx, line, column, "%s", why->text);
}

/* After `x=`: the size, or the weights of the devices, 3:1. */
static bool read_sizes(ir_lexer *lx, ir_mesh *mesh, const ir_token *name) {
  ir_error why = {0};
  int64_t *list = NULL;
  size_t count = 0, cap = 0;
  bool good = true;
  do {
    if (lx->token.kind != IR_TOKEN_INT) good = ir_lex_fail(lx, "missing weight of a device", "a number");
    else if (!IR_RESERVE(mesh->mem, list, cap, count + 1))
      good = ir_fail(lx->error, IR_ERR_MEMORY, "out of memory for the weights of a mesh") == IR_OK;
    else {
      uint64_t w = lx->token.integer;
      list[count++] = w > INT64_MAX ? INT64_MAX : (int64_t)w;
      ir_lex_next(lx);
    }
  } while (good && ir_lex_accept(lx, ':'));
  bool size = count == 1; /* a number alone is the size */
  if (good && (!ir_mesh_add(mesh, name->text, name->length,
                            !size                 ? (int64_t)count
                            : list[0] > INT32_MAX ? INT32_MAX
                                                  : list[0],
                            &why) ||
               (!size && !ir_mesh_weigh(mesh, list, count, &why))))
    good = fail_here(lx, &why, name->line, name->column);
  ir_free(mesh->mem, list, cap * sizeof *list);
  return good;
}

static bool read_axis(ir_lexer *lx, ir_mesh *mesh) {
  ir_error why = {0};
  ir_token name = lx->token;
  size_t length = name.length;
  if (name.kind != IR_TOKEN_WORD) return ir_lex_fail(lx, "missing axis of a mesh", "a name, as in [x=2,y=4]");
  ir_lex_next(lx);
  uint64_t size = 0;
  if (ir_lex_accept(lx, '=')) {
    if (lx->token.kind != IR_TOKEN_INT) return ir_lex_fail(lx, "missing size of an axis", "a number");
    return read_sizes(lx, mesh, &name);
  }
  uint64_t unit = 1; /* x2 */
  for (; length && name.text[length - 1] >= '0' && name.text[length - 1] <= '9'; unit *= 10) {
    if (unit > IR_MESH_DEVICES) break;
    size += unit * (uint64_t)(name.text[--length] - '0');
  }
  if (length == name.length) return ir_lex_fail(lx, "missing size of an axis", "'=' and a number");
  return ir_mesh_add(mesh, name.text, length, size > INT32_MAX ? INT32_MAX : (int64_t)size, &why) ||
         fail_here(lx, &why, name.line, name.column);
}

static bool read_number(ir_lexer *lx, double *out) {
  if (lx->token.kind != IR_TOKEN_INT && lx->token.kind != IR_TOKEN_FLOAT)
    return ir_lex_fail(lx, "missing number", "a number that is not negative");
  *out = lx->token.kind == IR_TOKEN_INT ? (double)lx->token.integer : lx->token.number;
  ir_lex_next(lx);
  return true;
}

/* "cpu", "opencl:1", "cpu@3" */
static bool read_device(ir_lexer *lx, ir_mesh_device *out) {
  const ir_token *t = &lx->token;
  const char *at = t->kind == IR_TOKEN_STRING ? memchr(t->text, '@', t->length) : NULL;
  size_t length = at ? (size_t)(at - t->text) : t->length;
  unsigned long number = 0;
  bool good = t->kind == IR_TOKEN_STRING && length > 0 && length < sizeof out->name;
  for (size_t i = 0; i < length && good; i++) good = t->text[i] > ' ' && t->text[i] != '\\';
  if (at) {
    size_t digits = t->length - length - 1;
    good = good && digits > 0 && digits < 7;
    for (size_t i = 0; i < digits && good; i++) {
      good = at[1 + i] >= '0' && at[1 + i] <= '9';
      number = number * 10 + (unsigned long)(at[1 + i] - '0');
    }
  }
  if (!good) return ir_lex_fail(lx, "wrong device", "\"cpu\", \"opencl:0\", or \"cpu@1\" on rank 1");
  *out = (ir_mesh_device){.rank = (uint32_t)number};
  memcpy(out->name, t->text, length);
  ir_lex_next(lx);
  return true;
}

static bool read_devices(ir_lexer *lx, ir_mesh *mesh) {
  int line = lx->token.line, column = lx->token.column;
  ir_mesh_device *list = NULL;
  size_t count = 0, cap = 0;
  ir_error why = {0};
  bool good = ir_lex_expect(lx, '[', "missing devices of a mesh");
  while (good && count <= mesh->device_count && !ir_lex_is(lx, ']')) {
    if (!IR_RESERVE(mesh->mem, list, cap, count + 1)) {
      ir_fail(lx->error, IR_ERR_MEMORY, "out of memory for the devices of a mesh");
      good = false;
    } else {
      good = read_device(lx, &list[count++]) && (ir_lex_is(lx, ']') || ir_lex_expect(lx, ',', "missing ','"));
    }
  }
  if (good && !ir_mesh_place(mesh, list, count, &why)) good = fail_here(lx, &why, line, column);
  ir_free(mesh->mem, list, cap * sizeof *list);
  return good && ir_lex_expect(lx, ']', "missing end of a list");
}

/* `latency` or `bandwidth`, one of each axis. */
static bool read_of_axes(ir_lexer *lx, ir_mesh *mesh, bool latency) {
  if (!ir_lex_expect(lx, '[', "missing list of a mesh")) return false;
  for (uint32_t i = 0; i < mesh->axis_count; i++) {
    if (i && !ir_lex_expect(lx, ',', "one number for each axis of the mesh")) return false;
    if (!read_number(lx, latency ? &mesh->axes[i].latency : &mesh->axes[i].bandwidth)) return false;
  }
  return ir_lex_expect(lx, ']', "one number for each axis of the mesh");
}

static bool read_attribute(ir_lexer *lx, ir_mesh *mesh) {
  static const char *const names[] = {"devices", "latency", "bandwidth", "memory"};
  uint32_t which = 0;
  while (which < 4 && !ir_lex_is_word(lx, names[which])) which++;
  if (which == 4)
    return ir_lex_fail(lx, "unknown word behind a mesh", "devices, latency, bandwidth or memory");
  ir_lex_next(lx);
  if (!ir_lex_expect(lx, '=', "missing value")) return false;
  if (which == 0) return read_devices(lx, mesh);
  if (which == 3) return read_number(lx, &mesh->memory);
  return read_of_axes(lx, mesh, which == 1);
}

bool ir_mesh_read(ir_lexer *lx, ir_mesh *mesh) {
  if (!ir_lex_expect(lx, '[', "missing axes of a mesh")) return false;
  while (!ir_lex_is(lx, ']')) {
    if (!read_axis(lx, mesh)) return false;
    if (!ir_lex_is(lx, ']') && !ir_lex_expect(lx, ',', "missing ',' or ']' of a mesh")) return false;
  }
  ir_lex_next(lx);
  while (lx->token.kind == IR_TOKEN_WORD && !lx->token.first)
    if (!read_attribute(lx, mesh)) return false;
  return lx->error->status == IR_OK;
}

bool ir_mesh_parse(ir_mesh *mesh, const char *text, size_t length, ir_error *error) {
  ir_lexer lx;
  if (length && *text >= '0' && *text <= '9') /* 2x4, as elsewhere */
    return ir_fail(error, IR_ERR_INVALID,
                   "mesh:1:1: error: missing axis of a mesh, found '%.*s', expected names and sizes, as in "
                   "x=2,y=4",
                   length < 40 ? (int)length : 40, text) == IR_OK;
  ir_lex_start(&lx, error, "mesh", text, length);
  if (ir_lex_is(&lx, '['))
    return ir_mesh_read(&lx, mesh) &&
           (lx.token.kind == IR_TOKEN_END || ir_lex_fail(&lx, "more behind a mesh", "nothing"));
  while (lx.token.kind != IR_TOKEN_END && lx.error->status == IR_OK) {
    if (!read_axis(&lx, mesh)) return false;
    if (lx.token.kind != IR_TOKEN_END && !ir_lex_expect(&lx, ',', "missing ','")) return false;
  }
  return error->status == IR_OK;
}

void ir_subaxis_print(const ir_mesh *mesh, ir_subaxis s, ir_text *out) {
  const ir_mesh_axis *axis = s.axis < mesh->axis_count ? &mesh->axes[s.axis] : NULL;
  ir_text_str(out, axis ? axis->name : "?");
  if (!axis || s.pre != 1 || s.size != axis->size) ir_textf(out, ":(%d)%d", s.pre, s.size);
}

static void print_of_axes(const ir_mesh *mesh, bool latency, ir_text *out) {
  bool known = false;
  for (uint32_t i = 0; i < mesh->axis_count; i++)
    known |= (latency ? mesh->axes[i].latency : mesh->axes[i].bandwidth) != 0;
  if (!known) return;
  ir_text_str(out, latency ? " latency=[" : " bandwidth=[");
  for (uint32_t i = 0; i < mesh->axis_count; i++) {
    if (i) ir_text_str(out, ",");
    ir_print_double(out, latency ? mesh->axes[i].latency : mesh->axes[i].bandwidth, IR_F64);
  }
  ir_text_str(out, "]");
}

static void print_axis(const ir_mesh_axis *axis, bool more, ir_text *out) {
  ir_textf(out, "%s%s=", more ? "," : "", axis->name);
  if (!axis->before) ir_textf(out, "%d", axis->size);
  for (int32_t c = 0; c < axis->size && axis->before; c++)
    ir_textf(out, "%s%d", c ? ":" : "", axis->before[c + 1] - axis->before[c]);
}

void ir_mesh_print(const ir_mesh *mesh, ir_text *out) {
  ir_text_str(out, "mesh @");
  ir_lex_print_name(out, mesh->name, strlen(mesh->name));
  ir_text_str(out, " [");
  for (uint32_t i = 0; i < mesh->axis_count; i++) print_axis(&mesh->axes[i], i > 0, out);
  ir_text_str(out, "]");
  if (mesh->devices) {
    ir_text_str(out, " devices=[");
    for (uint32_t i = 0; i < mesh->device_count; i++) {
      ir_textf(out, "%s\"%s", i ? "," : "", mesh->devices[i].name);
      if (mesh->devices[i].rank) ir_textf(out, "@%u", (unsigned)mesh->devices[i].rank);
      ir_text_str(out, "\"");
    }
    ir_text_str(out, "]");
  }
  print_of_axes(mesh, true, out);
  print_of_axes(mesh, false, out);
  if (mesh->memory) ir_text_str(out, " memory="), ir_print_double(out, mesh->memory, IR_F64);
}
