#include "test/lib/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/compiler/cc.h"
#include "runtime/cpu/target.h"

enum { GUARD = 64, MARK = 0x5a };

bool built_as_c(void) {
  const char *device = getenv("VIEWFOLD_DEVICE");
  return device && !strcmp(device, "c");
}

static ir_status link_any(const void *bytes, size_t size, const ir_target *target, rt_flat *image,
                          ir_error *error) {
  ir_target here;
  cg_blob object = {.bytes = (char *)(uintptr_t)bytes, .size = size};
  bool is_text = size < 4 || memcmp(bytes, "\177ELF", 4) != 0;
  if (!target) rt_target_host(&here);
  if (is_text && rt_cc_object(bytes, size, target ? target : &here, &ir_mem_libc, &object, error) != IR_OK)
    return error->status;
  ir_status status = rt_image_link(object.bytes, object.size, (rt_terms){0}, &ir_mem_libc, image, error);
  if (is_text) cg_blob_free(&object);
  return status;
}

bool built_object_link(const void *bytes, size_t size, const char *name, const ir_target *target,
                       built_object *out, ir_error *error) {
  rt_flat image;
  *out = (built_object){0};
  snprintf(out->name, sizeof out->name, "%s", name);
  if (link_any(bytes, size, target, &image, error) != IR_OK) return false;
  rt_image_map(image.bytes, image.size, &out->code, error);
  rt_flat_free(&ir_mem_libc, &image);
  return error->status == IR_OK;
}

static void *function_of(const built_object *o, const char *what) {
  char name[80];
  snprintf(name, sizeof name, "%s_%s", o->name, what);
  return rt_code_find(&o->code, name);
}

typedef int run_fixed(void *const *arrays, void *arena);
typedef int run_sized(void *const *arrays, const int64_t *sizes, void *arena);
typedef int64_t bytes_of_sizes(const int64_t *sizes);

int built_object_run(const built_object *o, void *const *arrays, const int64_t *sizes, int64_t arena_bytes,
                     size_t offset) {
  bool sized = arena_bytes < 0;
  void *run = function_of(o, "run"), *measure = function_of(o, "arena_bytes");
  if (!run || (sized && !measure)) return -1;
  if (sized) arena_bytes = ((bytes_of_sizes *)measure)(sizes);
  if (arena_bytes < 0) return IR_ERR_INVALID;
  size_t bytes = (size_t)arena_bytes;
  unsigned char *block = aligned_alloc(64, (offset + bytes + GUARD + 63) / 64 * 64);
  if (!block) return -1;
  memset(block, MARK, offset + bytes + GUARD);
  int status =
      sized ? ((run_sized *)run)(arrays, sizes, block + offset) : ((run_fixed *)run)(arrays, block + offset);
  for (size_t i = 0; i < GUARD; i++)
    if (block[offset + bytes + i] != MARK) status = -1;
  for (size_t i = 0; i < offset; i++)
    if (block[i] != MARK) status = -1;
  free(block);
  return status;
}

int64_t built_object_constant(const char *header, const char *macro) {
  char line[160];
  snprintf(line, sizeof line, "#define %s ", macro);
  const char *at = strstr(header, line);
  return at ? strtoll(at + strlen(line), NULL, 10) : -1;
}
