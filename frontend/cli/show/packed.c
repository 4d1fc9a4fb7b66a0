/* Long texts of the page, compressed: code repeats itself, and is looked at seldom. */
#include "frontend/cli/show/show.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/files/deflate.h"

enum { PLAIN_MOST = 1 << 16 }; /* bytes: below, what compression saves is nothing to wait for */

static json_t *base64(const uint8_t *bytes, size_t count) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t length = (count + 2) / 3 * 4;
  char *text = malloc(length + 1), *at = text;
  for (size_t i = 0; text && i < count; i += 3) {
    uint32_t three = (uint32_t)bytes[i] << 16;
    if (i + 1 < count) three |= (uint32_t)bytes[i + 1] << 8;
    if (i + 2 < count) three |= bytes[i + 2];
    for (int k = 0; k < 4; k++) *at++ = digits[three >> (18 - 6 * k) & 63];
    for (ptrdiff_t k = (ptrdiff_t)(count - i); k < 3; k++) at[k - 3] = '=';
  }
  json_t *made = text ? json_stringn_nocheck(text, length) : NULL;
  free(text);
  return made;
}

json_t *show_packed(show *s, json_t *value) {
  char *text = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII);
  size_t length = text ? strlen(text) : 0;
  if (!text) s->failed = true;
  if (length > PLAIN_MOST) {
    ir_text packed;
    ir_text_init(&packed, &ir_mem_libc);
    fe_deflate(text, length, &packed);
    json_decref(value);
    value = packed.failed ? NULL : base64((const uint8_t *)packed.data, packed.len);
    ir_text_free(&packed);
    if (!value) s->failed = true;
  }
  free(text);
  return value;
}
