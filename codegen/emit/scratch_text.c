/* Text of expressions, in chunks of memory that are freed together. */
#include "codegen/emit/scratch_text.h"

#include <stdio.h>

struct cg_text_chunk {
  struct cg_text_chunk *next;
  size_t used, size;
  char text[];
};

static char *room_for(cg_scratch_text *scratch, cg_order *order, size_t size) {
  enum { CHUNK = 16384 }; /* bytes: the whole text of a product in OpenCL C has 14,058 */
  struct cg_text_chunk *c = scratch->chunks;
  if (!c || c->size - c->used < size) {
    size_t all = size > CHUNK ? size : CHUNK;
    c = ir_alloc(order->nest->mem, sizeof *c + all);
    if (!c) {
      cg_order_fail(order, IR_ERR_MEMORY, "out of memory emitting a kernel");
      return NULL;
    }
    *c = (struct cg_text_chunk){scratch->chunks, 0, all};
    scratch->chunks = c;
  }
  c->used += size;
  return c->text + c->used - size;
}

const char *cg_scratch_format(cg_scratch_text *scratch, cg_order *order, const char *format, va_list args) {
  va_list measure;
  va_copy(measure, args);
  int length = vsnprintf(NULL, 0, format, measure);
  va_end(measure);
  char *text = length < 0 ? NULL : room_for(scratch, order, (size_t)length + 1);
  if (!text) return "0";
  vsnprintf(text, (size_t)length + 1, format, args);
  return text;
}

void cg_scratch_free(cg_scratch_text *scratch, const ir_mem *mem) {
  for (struct cg_text_chunk *c = scratch->chunks, *next; c; c = next) {
    next = c->next;
    ir_free(mem, c, sizeof *c + c->size);
  }
  scratch->chunks = NULL;
}
