/* The folder runtime/image. Machine code as bytes.
 *
 *   in      object files
 *   out     images, found by name and mapped
 *   holds   position-independent; never writable and executable at once */

/* Machine code as position-independent bytes: made from an object file, found by name, mapped executable.
 *
 * An image is a header, a table of entries, then code and constants, all addressed relative to one another.
 * The same bytes are what the cache stores and what is mapped; they need an address that is a multiple of
 * RT_IMAGE_ALIGN. Mapped code is never writable and executable at once. */
#ifndef VIEWFOLD_RUNTIME_IMAGE_IMAGE_H
#define VIEWFOLD_RUNTIME_IMAGE_IMAGE_H

#include "ir/base.h"

#define RT_IMAGE_ALIGN 64

/* An image in plain memory. */
typedef struct rt_flat {
  uint8_t *bytes;
  size_t size;
} rt_flat;

/* What a caller has to know of a function: as cg_blob states it, and whether it checks indices, where calls
 * do not answer at once (device.h). */
typedef struct rt_terms {
  uint64_t scratch;
  uint32_t in_place;
  bool checks;
} rt_terms;

/* One function of an image: `offset` from its first byte, `size` of the code in bytes. */
typedef struct rt_entry {
  const char *name;
  uint32_t offset, size;
  rt_terms terms;
} rt_entry;

/* Link one ELF64 relocatable object for x86-64 (position-independent, small code model, one that refers to
 * nothing outside itself) into an image. Entries are its global functions in symbol order. Refused with
 * IR_ERR_COMPILE and a message that names the culprit: undefined symbols, absolute relocations, writable
 * data, thread-local storage, anything malformed. The object is not trusted. `terms` are noted for each of
 * them. The same object always gives the same bytes. */
ir_status rt_image_link(const void *object, size_t size, rt_terms terms, const ir_mem *mem, rt_flat *out,
                        ir_error *error);
void rt_flat_free(const ir_mem *mem, rt_flat *flat);

/* Entry `index` of an image, or by name. False when there is none; the bytes are not trusted. */
bool rt_image_entry(const void *bytes, size_t size, uint32_t index, rt_entry *out);
bool rt_image_find(const void *bytes, size_t size, const char *name, rt_entry *out);

/* An image of one function: these bytes as they are. */
ir_status rt_image_wrap(const ir_mem *mem, const char *name, const void *bytes, size_t size, rt_terms terms,
                        rt_flat *out, ir_error *error);

/* An image mapped readable and executable. `base` is its first byte; `map` and `map_size` are what to unmap.
 * Of another device than the CPU: its bytes, and in `made` what the device made of them. */
typedef struct rt_code {
  const uint8_t *base;
  size_t size;
  void *map;
  size_t map_size;
  void *made;
} rt_code;

/* Map a copy of an image: in private anonymous memory that becomes executable once it is written and stops
 * being writable by that, or where the system refuses this in a sealed memory file. IR_ERR_INVALID when the
 * bytes are no image; IR_ERR_MEMORY or IR_ERR_DEVICE when the system refuses. */
ir_status rt_image_map(const void *bytes, size_t size, rt_code *out, ir_error *error);

/* Make the image at `offset` (a multiple of RT_IMAGE_ALIGN) of private anonymous memory, such as holds a
 * cache entry, executable in place, and the memory no longer writable: out->map is then `map`, taken over.
 * Where the system forbids it, map a copy instead. In that case and on failure the memory stays the caller's.
 */
ir_status rt_image_adopt(void *map, size_t map_size, size_t offset, size_t size, rt_code *out,
                         ir_error *error);

void rt_image_unmap(rt_code *code);

/* Address of a function by name, NULL when there is none. */
void *rt_code_find(const rt_code *code, const char *name);

/* Tell perf about every function of mapped code: lines appended to /tmp/perf-PID.map, a file of this user's.
 * Does nothing unless `enabled`; false when the file could not be written. */
bool rt_image_perf_map(const rt_code *code, bool enabled);

#endif
