/* Turns C source text into a function: compiled in a temporary directory, or found in the cache on disk. */
#include "runtime/native/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cache/digest.h"
#include "runtime/context.h"
#include "runtime/native/library.h"
#include "runtime/system/command.h"
#include "runtime/system/files.h"

enum { PATH_ROOM = 512, SAID_ROOM = 600 };
static const char kind[] = "shared";

typedef struct bytes {
  const ir_mem *mem;
  uint8_t *at;
  size_t size;
} bytes;

/* Runs `cc`, with its messages in the file `said`. Returns its wait status, or -1 if it cannot be run. */
static int run_compiler(const char *source, const char *object, const char *said, rt_digest id) {
  char identity[RT_LIBRARY_ID_ROOM];
  rt_library_id_option(id, identity);
  char *arguments[] = {"cc",           "-shared",      "-fPIC", "-O2", "-ffp-contract=off", identity, "-o",
                       (char *)object, (char *)source, "-lm",   NULL};
  return rt_run_command(arguments, said);
}

static ir_status compile_source(const char *who, const char *source, rt_digest id, bytes *object,
                                ir_error *error) {
  char place[PATH_ROOM], from[PATH_ROOM + 16], to[PATH_ROOM + 16], said[PATH_ROOM + 16],
      words[SAID_ROOM] = "";
  if (rt_make_temporary_directory(who, place, sizeof place, error) != IR_OK) return error->status;
  snprintf(from, sizeof from, "%s/kernel.c", place);
  snprintf(to, sizeof to, "%s/kernel.so", place);
  snprintf(said, sizeof said, "%s/said", place);
  bool written = rt_write_new_file(from, source, strlen(source));
  int status = written ? run_compiler(from, to, said, id) : -1;
  rt_read_beginning(said, words, sizeof words);
  if (!written) ir_fail(error, IR_ERR_IO, "%s: cannot write %.200s: %s", who, from, strerror(errno));
  else if (status == -1) ir_fail(error, IR_ERR_COMPILE, "%s: cannot run the compiler `cc`; install one", who);
  else if (status != 0) ir_fail(error, IR_ERR_COMPILE, "%s: `cc` cannot compile its source: %s", who, words);
  else if (!(object->at = rt_read_file(to, object->mem, &object->size)))
    ir_fail(error, IR_ERR_COMPILE, "%s: `cc` left no shared object", who);
  unlink(from), unlink(to), unlink(said), rmdir(place);
  return error->status;
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
