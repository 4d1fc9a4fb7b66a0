/* The folder runtime/image. Machine code as bytes.
 *
 *   in      object files
 *   out     images, whose functions are found by name and which are mapped
 *   holds   images are position-independent; mapped code is never writable and executable at once */

/* Machine code as position-independent bytes: linked from an object file, mapped executable, its functions
 * found by name.
 *
 * An image is a header, a table of entries, then code and constants, which refer to each other by relative
 * addresses. The cache stores the same bytes that are mapped; they may lie at any address that is a multiple
 * of RT_IMAGE_ALIGN. Mapped code is never writable and executable at once. */
#ifndef VIEWFOLD_RUNTIME_IMAGE_IMAGE_H
#define VIEWFOLD_RUNTIME_IMAGE_IMAGE_H

#include "codegen/emit/blocks.h"

#define RT_IMAGE_ALIGN 64

/* An image in plain memory. */
typedef struct rt_flat {
  uint8_t *bytes;
  size_t size;
} rt_flat;

/* What the caller of a function must know: scratch, in_place and uses as in cg_blob; checks: the kernel
 * checks indices, which matters on devices where a launch returns before the kernel has run. */
typedef struct rt_terms {
  uint64_t scratch;
  uint32_t in_place;
  cg_uses uses;
  bool checks;
} rt_terms;

/* One function of an image: `offset` in the image and `size` of its code, in bytes. */
typedef struct rt_entry {
  const char *name;
  uint32_t offset, size;
  rt_terms terms;
} rt_entry;

/* Link one ELF64 relocatable object for x86-64, AArch64 or RISC-V (position-independent, small code model,
 * without references to anything outside the object) into an image. Its entries are the object's global
 * functions in symbol order, each with these `terms`. Refused with IR_ERR_COMPILE and a message that names
 * the symbol or section: undefined symbols, absolute relocations, writable data, thread-local storage,
 * anything malformed. The object is not trusted. The same object always gives the same bytes. */
ir_status rt_image_link(const void *object, size_t size, rt_terms terms, const ir_mem *mem, rt_flat *out,
                        ir_error *error);
void rt_flat_free(const ir_mem *mem, rt_flat *flat);

/* The entry of an image at this index, or of this name. False when there is none. The bytes are not
 * trusted. */
bool rt_image_entry(const void *bytes, size_t size, uint32_t index, rt_entry *out);
bool rt_image_find(const void *bytes, size_t size, const char *name, rt_entry *out);

/* Make an image with one entry, `name`, that holds these bytes unchanged. */
ir_status rt_image_wrap(const ir_mem *mem, const char *name, const void *bytes, size_t size, rt_terms terms,
                        rt_flat *out, ir_error *error);

/* An image mapped readable and executable. `base` is its first byte; `map` and `map_size` are the mapping to
 * unmap. On a device other than the CPU: `base` is the image's bytes, and `made` is the device's object. */
typedef struct rt_code {
  const uint8_t *base;
  size_t size;
  void *map;
  size_t map_size;
  void *made;
  bool in_file; /* a copy in a memory file, since no anonymous memory may become executable */
} rt_code;

/* Map a copy of an image: in private anonymous memory that is written and then made executable instead of
 * writable, or where the system refuses this, in a sealed memory file. IR_ERR_INVALID when the bytes are no
 * image; IR_ERR_MEMORY or IR_ERR_DEVICE when the system refuses. */
ir_status rt_image_map(const void *bytes, size_t size, rt_code *out, ir_error *error);

/* Make private anonymous memory that contains an image at `offset` (a multiple of RT_IMAGE_ALIGN), such as a
 * cache entry, executable in place and no longer writable. out->map is then `map`, which now belongs to *out.
 * Where the system forbids this, a copy is mapped instead. In that case and on failure the caller keeps the
 * memory. */
ir_status rt_image_adopt(void *map, size_t map_size, size_t offset, size_t size, rt_code *out,
                         ir_error *error);

/* Unmaps code, of which no function may be running or called again, and clears *code, which may be all zero.
 * It does not release `made`. */
void rt_image_unmap(rt_code *code);

/* Address of a function by name, NULL when there is none. */
void *rt_code_find(const rt_code *code, const char *name);

/* List every function of mapped code for perf: lines appended to /tmp/perf-PID.map, a file of this user's.
 * Does nothing unless `enabled`; false when the file could not be written. */
bool rt_image_perf_map(const rt_code *code, bool enabled);

#endif
