/* Packing several images into one, which is copying because an image is position-independent; and wrapping
 * bytes other than machine code as an image. */
#include "runtime/image/bundle.h"

#include <string.h>

#include "runtime/image/format.h"

static size_t aligned(size_t at) { return (at + RT_IMAGE_ALIGN - 1) & ~(size_t)(RT_IMAGE_ALIGN - 1); }

ir_status rt_image_pack(const ir_mem *mem, const rt_flat *images, size_t count, rt_flat *out,
                        ir_error *error) {
  *out = (rt_flat){0};
  size_t names = sizeof(rt_image_head) + count * sizeof(rt_image_row), code = names, size;
  rt_entry entry;
  for (size_t i = 0; i < count; i++) {
    if (!rt_image_entry(images[i].bytes, images[i].size, 0, &entry))
      return ir_fail(error, IR_ERR_INVALID, "code: image %zu of %zu has no function", i, count);
    code += strlen(entry.name) + 1;
  }
  code = size = aligned(code);
  for (size_t i = 0; i < count; i++) size += aligned(images[i].size);
  if (size > UINT32_MAX)
    return ir_fail(error, IR_ERR_UNSUPPORTED, "code: %zu bytes; at most 4 GiB go into one program", size);
  uint8_t *bytes = ir_alloc(mem, size);
  if (!bytes) return ir_fail(error, IR_ERR_MEMORY, "out of memory packing %zu bytes of code", size);
  memset(bytes, 0, size);
  rt_image_head head = {RT_IMAGE_MAGIC, size, (uint32_t)count, (uint32_t)code};
  memcpy(bytes, &head, sizeof head);
  size_t name = names, at = code;
  for (size_t i = 0; i < count; i++) {
    rt_image_entry(images[i].bytes, images[i].size, 0, &entry);
    rt_image_row row = {(uint32_t)name,      (uint32_t)(at + entry.offset),
                        entry.size,          entry.terms.in_place,
                        entry.terms.scratch, entry.terms.checks,
                        entry.terms.uses,    0};
    memcpy(bytes + sizeof head + i * sizeof row, &row, sizeof row);
    memcpy(bytes + name, entry.name, strlen(entry.name) + 1);
    memcpy(bytes + at, images[i].bytes, images[i].size);
    name += strlen(entry.name) + 1;
    at += aligned(images[i].size);
  }
  *out = (rt_flat){bytes, size};
  return IR_OK;
}

ir_status rt_image_wrap(const ir_mem *mem, const char *name, const void *bytes, size_t size, rt_terms terms,
                        rt_flat *out, ir_error *error) {
  *out = (rt_flat){0};
  size_t names = sizeof(rt_image_head) + sizeof(rt_image_row), code = aligned(names + strlen(name) + 1),
         whole = aligned(code + size);
  if (size > UINT32_MAX / 2)
    return ir_fail(error, IR_ERR_UNSUPPORTED, "code: %s has %zu bytes, which is more than 2 GiB", name, size);
  uint8_t *made = ir_alloc(mem, whole);
  if (!made) return ir_fail(error, IR_ERR_MEMORY, "out of memory keeping %zu bytes of code", size);
  memset(made, 0, whole);
  rt_image_head head = {RT_IMAGE_MAGIC, whole, 1, (uint32_t)code};
  rt_image_row row = {(uint32_t)names, (uint32_t)code, (uint32_t)size, terms.in_place,
                      terms.scratch,   terms.checks,   terms.uses,     0};
  memcpy(made, &head, sizeof head);
  memcpy(made + sizeof head, &row, sizeof row);
  memcpy(made + names, name, strlen(name) + 1);
  if (size) memcpy(made + code, bytes, size);
  *out = (rt_flat){made, whole};
  return IR_OK;
}
