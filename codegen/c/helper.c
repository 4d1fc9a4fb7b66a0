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

void cc_define(tx_emitter *e, const char *format, ...) {
  cc_file *file = cc_of(e)->file;
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
