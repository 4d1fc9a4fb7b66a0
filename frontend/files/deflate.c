#include "frontend/files/deflate.h"

#include <zlib.h>

void fe_deflate(const char *bytes, size_t count, ir_text *out) {
  uLongf size = compressBound(count);
  char *room = ir_alloc(out->mem, size);
  bool good = room && compress2((Bytef *)room, &size, (const Bytef *)bytes, count, Z_BEST_SPEED) == Z_OK;
  if (good) ir_text_add(out, room, size);
  out->failed |= !good;
  ir_free(out->mem, room, compressBound(count));
}
