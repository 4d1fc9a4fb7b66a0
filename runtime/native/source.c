/* Turns C source text into a function: compiled in a temporary directory, or found in the cache on disk. */
#include "runtime/native/source.h"

#include <string.h>

#include "runtime/cache/digest.h"
#include "runtime/context.h"
#include "runtime/native/library.h"
#include "runtime/system/tool.h"

static const char kind[] = "shared";

typedef struct bytes {
  const ir_mem *mem;
  uint8_t *at;
  size_t size;
} bytes;

static ir_status compile_source(const char *who, const char *source, rt_digest id, bytes *object,
                                ir_error *error) {
  char identity[RT_LIBRARY_ID_ROOM];
  rt_library_id_option(id, identity);
  const char *const words[] = {"cc",     "-shared", "-fPIC",        "-O2",         "-ffp-contract=off",
                               identity, "-o",      RT_TOOL_OUTPUT, RT_TOOL_INPUT, "-lm",
                               NULL};
  rt_tool compiler = {.who = who,
                      .words = words,
                      .input_name = "kernel.c",
                      .input = source,
                      .input_size = strlen(source),
                      .output_name = "kernel.so",
                      .missing = "cannot run the compiler `cc`; install one",
                      .failed = "`cc` cannot compile its source"};
  return rt_tool_run(&compiler, object->mem, &object->at, &object->size, error);
}

/* Load the object that the cache on disk holds for the key. False if it must be compiled. `only`: compiling
 * is forbidden, so a failure to load is final. */
static bool load_kept(rt_disk *disk, const rt_full_key *key, rt_digest id, const char *who,
                      const char *symbol, bool only, void **library, void (**function)(void),
                      ir_error *error) {
  rt_found found = {0};
  if (!disk || !rt_disk_get(disk, kind, key->bytes, key->size, &found)) return false;
  ir_status status = rt_library_load(who, found.payload, found.size, id, symbol, library, function, error);
  rt_disk_release(&found);
  if (status != IR_ERR_IO || only) return true;
  *error = (ir_error){0};
  return false;
}

ir_status rt_source_load(rt_context *context, const char *who, const char *source, const char *symbol,
                         void **library, void (**function)(void), ir_error *error) {
  rt_full_key key = {0};
  bytes object = {.mem = rt_context_mem(context)};
  rt_disk *disk = rt_context_disk(context, error);
  bool only = context->options.no_compile;
  *library = NULL;
  if (error->status || rt_full_key_make(context, source, strlen(source), &key, error) != IR_OK)
    return error->status;
  rt_digest id = rt_digest_of(key.bytes, key.size);
  if (load_kept(disk, &key, id, who, symbol, only, library, function, error)) {
    /* loaded or refused, with a message */
  } else if (only) {
    ir_fail(error, IR_ERR_COMPILE, "%s: its source is not compiled yet, and compiling is forbidden", who);
  } else if (compile_source(who, source, id, &object, error) == IR_OK) {
    if (rt_library_load(who, object.at, object.size, id, symbol, library, function, error) == IR_OK && disk)
      rt_disk_put(disk, kind, key.bytes, key.size, object.at, object.size);
  }
  if (object.at) ir_free(object.mem, object.at, object.size + 1);
  rt_full_key_free(&key);
  return error->status;
}
