/* The functions of vectors that a file uses: each is defined by one line, a macro of the prelude. */
#include "codegen/c/c.h"

#include <stdio.h>
#include <string.h>

/* files */

void cc_file_init(cc_file *file, const ir_mem *mem) {
  *file = (cc_file){.mem = mem};
  ir_text_init(&file->helpers, mem);
  ir_text_init(&file->body, mem);
}

void cc_file_free(cc_file *file) {
  ir_text_free(&file->helpers);
  ir_text_free(&file->body);
  if (file->known) ir_free(file->mem, file->known, file->known_cap * sizeof *file->known);
  *file = (cc_file){0};
}

ir_status cc_file_text(cc_file *file, const char *head, char **bytes, size_t *size, ir_error *error) {
  ir_text all;
  ir_text_init(&all, file->mem);
  ir_text_str(&all, head);
  cc_put_prelude(&all);
  ir_text_str(&all, "\n/* functions that the kernels use */\n");
  ir_text_str(&all, ir_text_get(&file->helpers));
  ir_text_str(&all, "\n");
  ir_text_str(&all, ir_text_get(&file->body));
  bool failed = all.failed || file->helpers.failed || file->body.failed;
  char *copy = failed ? NULL : ir_alloc(file->mem, all.len + 1);
  if (copy) memcpy(copy, ir_text_get(&all), all.len + 1);
  *bytes = copy, *size = all.len;
  ir_text_free(&all);
  return copy ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "out of memory keeping %zu bytes of code", *size);
}

/* FNV-1a; 0 is for free places. */
static uint64_t digest_of(const char *text) {
  uint64_t digest = UINT64_C(0xcbf29ce484222325);
  for (; *text; text++) digest = (digest ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  return digest ? digest : 1;
}

static bool grow(cc_file *file) {
  enum { FIRST = 256 }; /* places, of which half are used at most: a kernel defines 4 to 48 helpers */
  size_t cap = file->known_cap ? 2 * file->known_cap : FIRST;
  uint64_t *wider = ir_alloc(file->mem, cap * sizeof *wider);
  if (!wider) return false;
  memset(wider, 0, cap * sizeof *wider);
  for (size_t i = 0; i < file->known_cap; i++) {
    size_t at = (size_t)file->known[i] & (cap - 1);
    while (file->known[i] && wider[at]) at = (at + 1) & (cap - 1);
    if (file->known[i]) wider[at] = file->known[i];
  }
  if (file->known) ir_free(file->mem, file->known, file->known_cap * sizeof *file->known);
  file->known = wider, file->known_cap = cap;
  return true;
}

void cc_define(cc_emitter *e, const char *format, ...) {
  cc_file *file = e->file;
  char line[4096]; /* VF_splat(f64, 128), or so */
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (file->known_count * 2 >= file->known_cap && !grow(file)) {
    cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
    return;
  }
  uint64_t digest = digest_of(line);
  size_t at = (size_t)digest & (file->known_cap - 1);
  for (; file->known[at]; at = (at + 1) & (file->known_cap - 1))
    if (file->known[at] == digest) return;
  file->known[at] = digest;
  file->known_count++;
  ir_text_str(&file->helpers, line);
  ir_text_str(&file->helpers, "\n");
}

/* functions */

static const char *name_of(unsigned kind) {
  static const char *const names[] = {"bool", "i8",  "u8",  "i16", "u16", "i32",
                                      "u32",  "i64", "u64", "f32", "f64", ""};
  return names[kind];
}

void cc_use_type(cc_emitter *e, unsigned kind, uint32_t width) {
  if (width > 1) cc_define(e, "VF_TYPE(%s, %u)", name_of(kind), cc_padded(width));
}

static uint32_t widest(const cc_value *operands, unsigned count) {
  uint32_t width = 1;
  for (unsigned i = 0; i < count; i++)
    if (operands[i].width > width) width = operands[i].width;
  return width;
}

cc_value cc_mapped(cc_emitter *e, const char *name, unsigned count, const cc_value *operands) {
  uint32_t width = widest(operands, count);
  unsigned kind = operands[0].kind;
  const char *list = "";
  for (unsigned i = 0; i < count; i++)
    list = cc_text(e, "%s%s%s", list, i ? ", " : "", cc_splat(e, operands[i], width).text);
  if (width > 1) {
    cc_use_type(e, kind, width);
    cc_define(e, "VF_%s(%s, %u)", name, name_of(kind), cc_padded(width));
  }
  return cc_make(e, kind, width, CC_ATOM, "%s_%s(%s)", name, cc_type(kind, width).text, list);
}

/* The line VF_`line`(T, other, n) defines `name`. */
static cc_value paired(cc_emitter *e, const char *line, const char *name, unsigned other, cc_value a,
                       cc_value b, unsigned kind) {
  cc_value both[] = {a, b};
  uint32_t width = widest(both, 2);
  a = cc_splat(e, a, width), b = cc_splat(e, b, width);
  cc_use_type(e, a.kind, width);
  cc_use_type(e, other, width);
  cc_define(e, "VF_%s(%s, %s, %u)", line, name_of(a.kind), name_of(other), cc_padded(width));
  return cc_make(e, kind, width, CC_ATOM, "%s_%s(%s, %s)", name, cc_type(a.kind, width).text, a.text, b.text);
}

cc_value cc_infix(cc_emitter *e, const char *what, const char *op, cc_value a, cc_value b) {
  bool compares = op[0] == '<' || op[0] == '>' || op[0] == '=' || op[0] == '!';
  if (op[1] && !compares) compares = false;
  if (a.width > 1 || b.width > 1) {
    unsigned other = compares ? cc_signed(a.kind) : cc_is_real(a.kind) ? a.kind : cc_unsigned(a.kind);
    if ((op[0] == '/' || op[0] == '%') && !cc_is_real(a.kind)) other = a.kind;
    return paired(e, what, what, other, a, b, compares ? cc_signed(a.kind) : a.kind);
  }
  return cc_make(e, compares ? CC_BOOL : a.kind, 1, CC_LOOSE, "%s %s %s", cc_parenthesised(e, a, CC_UNARY),
                 op, cc_parenthesised(e, b, CC_UNARY));
}

cc_value cc_extremum(cc_emitter *e, bool greatest, cc_value a, cc_value b) {
  cc_value both[] = {a, b};
  const char *name = greatest ? "max" : "min";
  if (widest(both, 2) == 1)
    return cc_make(e, a.kind, 1, CC_ATOM, "%s_%s(%s, %s)", name, name_of(a.kind), a.text, b.text);
  return paired(e, cc_text(e, "%c%s", cc_is_real(a.kind) ? 'f' : 'i', name), name, cc_signed(a.kind), a, b,
                a.kind);
}

cc_value cc_selected(cc_emitter *e, cc_value mask, cc_value a, cc_value b) {
  cc_use_type(e, a.kind, a.width);
  cc_use_type(e, mask.kind, a.width);
  cc_define(e, "VF_select(%s, %s, %u)", name_of(a.kind), name_of(mask.kind), cc_padded(a.width));
  return cc_make(e, a.kind, a.width, CC_ATOM, "select_%s(%s, %s, %s)", cc_type(a.kind, a.width).text,
                 mask.text, a.text, b.text);
}

cc_value cc_negated(cc_emitter *e, cc_value a) {
  if (a.width == 1)
    return cc_is_signed(a.kind) || cc_bytes(a.kind) < 4 || a.kind == CC_U32 || a.kind == CC_U64
               ? cc_make(e, a.kind, 1, CC_ATOM, "neg_%s(%s)", name_of(a.kind), a.text)
               : cc_make(e, a.kind, 1, CC_UNARY, "-%s", cc_parenthesised(e, a, CC_ATOM));
  unsigned other = cc_is_real(a.kind) ? a.kind : cc_unsigned(a.kind);
  cc_use_type(e, a.kind, a.width);
  cc_use_type(e, other, a.width);
  cc_define(e, "VF_neg(%s, %s, %u)", name_of(a.kind), name_of(other), cc_padded(a.width));
  return cc_make(e, a.kind, a.width, CC_ATOM, "neg_%s(%s)", cc_type(a.kind, a.width).text, a.text);
}

cc_value cc_inverted(cc_emitter *e, cc_value a) {
  if (a.width == 1)
    return cc_make(e, a.kind, 1, CC_UNARY, "(%s)~%s", name_of(a.kind), cc_parenthesised(e, a, CC_ATOM));
  cc_use_type(e, a.kind, a.width);
  cc_define(e, "VF_not(%s, %u)", name_of(a.kind), cc_padded(a.width));
  return cc_make(e, a.kind, a.width, CC_ATOM, "not_%s(%s)", cc_type(a.kind, a.width).text, a.text);
}

cc_value cc_shifted(cc_emitter *e, bool left, cc_value a, int64_t count) {
  const char *name = left ? "shlby" : "shrby";
  cc_value by = cc_literal(e, a.kind, count);
  if (a.width > 1) return paired(e, name, name, cc_unsigned(a.kind), a, by, a.kind);
  return cc_make(e, a.kind, 1, CC_ATOM, "%s_%s(%s, %d)", name, name_of(a.kind), a.text, (int)count);
}

/* The sign bit, or the sign: VF_fabs, VF_iabs. */
cc_value cc_absolute(cc_emitter *e, cc_value a) {
  if (a.width > 1) {
    unsigned other = cc_unsigned(a.kind);
    cc_use_type(e, a.kind, a.width);
    cc_use_type(e, other, a.width);
    cc_define(e, "VF_%cabs(%s, %s, %u)", cc_is_real(a.kind) ? 'f' : 'i', name_of(a.kind), name_of(other),
              cc_padded(a.width));
  }
  return cc_make(e, a.kind, a.width, CC_ATOM, "abs_%s(%s)", cc_type(a.kind, a.width).text, a.text);
}

cc_value cc_dot2(cc_emitter *e, cc_value a, cc_value b) {
  unsigned kind = a.kind;
  cc_value both[] = {cc_reinterpret(e, a, cc_signed(kind)), cc_reinterpret(e, b, cc_signed(kind))};
  cc_value r = widest(both, 2) == 1
                   ? cc_make(e, both[0].kind, 1, CC_ATOM, "dot2_%s(%s, %s)", name_of(both[0].kind),
                             both[0].text, both[1].text)
                   : paired(e, "dot2", "dot2", cc_unsigned(kind), both[0], both[1], both[0].kind);
  return cc_reinterpret(e, r, kind);
}

cc_value cc_function_to(cc_emitter *e, const char *name, unsigned kind, cc_value a) {
  if (a.width > 1) {
    cc_use_type(e, kind, a.width);
    cc_use_type(e, a.kind, a.width);
    cc_define(e, "VF_TO(%s, %s, %s, %u)", name_of(kind), name, name_of(a.kind), cc_padded(a.width));
  }
  return cc_make(e, kind, a.width, CC_ATOM, "%s_%s(%s)", name, cc_type(a.kind, a.width).text, a.text);
}

/* as cc_function_to, where the prelude has a macro VF_name(n) */
cc_value cc_function_of(cc_emitter *e, const char *name, unsigned kind, cc_value a) {
  if (a.width > 1) {
    cc_use_type(e, CC_F32, a.width);
    cc_use_type(e, CC_U16, a.width);
    cc_use_type(e, CC_I16, a.width);
    cc_use_type(e, CC_U32, a.width);
    cc_use_type(e, CC_I32, a.width);
    cc_define(e, "VF_%s(%u)", name, cc_padded(a.width));
  }
  return cc_make(e, kind, a.width, CC_ATOM, "%s_%s(%s)", name, cc_type(a.kind, a.width).text, a.text);
}

/* elements */

cc_value cc_splat(cc_emitter *e, cc_value v, uint32_t width) {
  if (v.width == width) return v;
  cc_use_type(e, v.kind, width);
  cc_define(e, "VF_splat(%s, %u)", name_of(v.kind), cc_padded(width));
  cc_value all = cc_make(e, v.kind, width, CC_ATOM, "splat_%s(%s)", cc_type(v.kind, width).text, v.text);
  all.literal = v.literal;
  all.number = v.number;
  return all;
}

/* VF_MAKE of `width` numbers, which number_of gives; zeros beyond them. */
static cc_value made(cc_emitter *e, unsigned kind, uint32_t width, int64_t first, int64_t stride) {
  const char *list = "";
  for (uint32_t i = 0; i < cc_padded(width); i++)
    list = cc_text(e, "%s, %s", list, cc_literal(e, kind, i < width ? first + stride * i : 0).text);
  cc_use_type(e, kind, width);
  return cc_make(e, kind, width, CC_ATOM, "VF_MAKE(%s%s)", cc_type(kind, width).text, list);
}

cc_value cc_lanes(cc_emitter *e, unsigned kind, uint32_t width, int64_t stride) {
  return made(e, kind, width, 0, stride);
}

cc_value cc_element(cc_emitter *e, cc_value v, uint32_t i) {
  if (v.width == 1) return v;
  return cc_make(e, v.kind, 1, CC_ATOM, "VF_AT(%s, %u)", v.text, i);
}

cc_value cc_lane(cc_emitter *e, ir_dtype dtype, cc_value v, uint32_t i) {
  cc_value lane = cc_element(e, v, i);
  if (dtype != IR_BOOL || v.width == 1) return lane;
  return cc_make(e, CC_BOOL, 1, CC_LOOSE, "%s != 0", lane.text);
}

cc_value cc_convert(cc_emitter *e, cc_value v, unsigned kind) {
  if (v.kind == kind) return v;
  if (v.width == 1)
    return cc_make(e, kind, 1, CC_UNARY, "(%s)%s", name_of(kind), cc_parenthesised(e, v, CC_UNARY));
  cc_use_type(e, kind, v.width);
  cc_use_type(e, v.kind, v.width);
  cc_define(e, "VF_convert(%s, %s, %u)", name_of(kind), name_of(v.kind), cc_padded(v.width));
  return cc_make(e, kind, v.width, CC_ATOM, "%s_of_%s(%s)", cc_type(kind, v.width).text,
                 cc_type(v.kind, v.width).text, v.text);
}

cc_value cc_reinterpret(cc_emitter *e, cc_value v, unsigned kind) {
  if (v.kind == kind) return v;
  if (v.width > 1) {
    cc_use_type(e, kind, v.width);
    cc_use_type(e, v.kind, v.width);
    cc_define(e, "VF_as(%s, %s, %u)", name_of(kind), name_of(v.kind), cc_padded(v.width));
  }
  return cc_make(e, kind, v.width, CC_ATOM, "as_%s_%s(%s)", cc_type(kind, v.width).text,
                 cc_type(v.kind, v.width).text, v.text);
}

cc_value cc_mask(cc_emitter *e, cc_value v, unsigned kind, uint32_t width) {
  if (v.width == width) return width > 1 ? cc_convert(e, v, kind) : v;
  if (v.literal) return cc_splat(e, cc_literal(e, kind, v.text[0] == 't' ? -1 : 0), width);
  return cc_splat(e, cc_make(e, kind, 1, CC_LOOSE, "%s ? -1 : 0", cc_parenthesised(e, v, CC_UNARY)), width);
}

cc_value cc_any(cc_emitter *e, cc_value condition) {
  uint32_t width = condition.width, padded = cc_padded(width);
  if (width == 1) return condition;
  if (padded > width) {
    cc_value all = made(e, condition.kind, width, -1, 0);
    all.width = condition.width;
    condition = cc_infix(e, "and", "&", condition, all);
  }
  cc_use_type(e, condition.kind, width);
  cc_define(e, "VF_any(%s, %u, %u)", name_of(condition.kind), padded,
            (padded * cc_bytes(condition.kind) + 7) / 8);
  return cc_make(e, CC_BOOL, 1, CC_ATOM, "any_%s(%s)", cc_type(condition.kind, width).text, condition.text);
}

cc_value cc_shuffle(cc_emitter *e, cc_value a, cc_value b, const uint32_t *order, uint32_t width) {
  const char *list = "";
  if (width == 1)
    return order[0] < a.width ? cc_element(e, a, order[0]) : cc_element(e, b, order[0] - a.width);
  uint32_t padded = cc_padded(a.width);
  for (uint32_t i = 0; i < cc_padded(width); i++) {
    uint32_t from = i < width ? order[i] : order[0];
    list = cc_text(e, "%s, %u", list, from < a.width ? from : padded + from - a.width);
  }
  cc_use_type(e, a.kind, width);
  cc_use_type(e, a.kind, a.width);
  cc_define(e, "VF_shuffle(%s, %u, %u)", name_of(a.kind), cc_padded(width), padded);
  return cc_make(e, a.kind, width, CC_ATOM, "VF_SHUFFLE(%s, %s, %s, %s%s)", cc_type(a.kind, width).text,
                 cc_type(a.kind, a.width).text, a.text, b.text, list);
}
