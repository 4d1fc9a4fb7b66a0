/* Archives of one object, in the format of `ar` with the symbol table of System V (ar(5)): "!<arch>\n", then
 * members, each behind a header of 60 characters and at an even place. The first, called "/", lists the
 * symbols: how many, then where the member of each begins, 32 bits each with the most significant byte first,
 * then their names. The header of a member has its name, and with `ar D` zeros for time, user and group. */
#include "frontend/build/build.h"

#include <string.h>

enum { MAGIC = 8, HEADER = 60, MOST_NAMES = 3 };

static void put_header(ir_text *out, const char *name, const char *mode, size_t size) {
  ir_textf(out, "%-16s%-12d%-6d%-6d%-8s%-10zu`\n", name, 0, 0, 0, mode, size);
}

static void put_number(ir_text *out, size_t number) {
  char bytes[4];
  for (int i = 0; i < 4; i++) bytes[i] = (char)(number >> (24 - 8 * i) & 0xff);
  ir_text_add(out, bytes, sizeof bytes);
}

static void put_even(ir_text *out) {
  if (out->len % 2) ir_text_add(out, "\n", 1);
}

ir_status fe_archive(const fe_built *built, ir_text *out, ir_error *error) {
  static const char *const functions[MOST_NAMES] = {"run", "shapes", "arena_bytes"};
  size_t count = built->sized ? MOST_NAMES : 1, names = 0;
  const char *name = ir_text_get((ir_text *)(uintptr_t)&built->name);
  for (size_t i = 0; i < count; i++) names += strlen(name) + 1 + strlen(functions[i]) + 1;
  size_t table = 4 + 4 * count + names, place = MAGIC + HEADER + table + table % 2;
  ir_text_str(out, "!<arch>\n");
  put_header(out, "/", "0", table);
  put_number(out, count);
  for (size_t i = 0; i < count; i++) put_number(out, place);
  for (size_t i = 0; i < count; i++) {
    ir_textf(out, "%s_%s", name, functions[i]);
    ir_text_add(out, "", 1);
  }
  put_even(out);
  put_header(out, "model.o/", "644", built->object.size);
  ir_text_add(out, built->object.bytes, built->object.size);
  put_even(out);
  if (!out->failed) return IR_OK;
  return ir_fail(error, IR_ERR_MEMORY, "build: out of memory for the archive of %s", name);
}
