/* Functions from C source text: compiled by the system's `cc` into a shared object, which the cache on disk
 * keeps. */
#ifndef VIEWFOLD_RUNTIME_NATIVE_SOURCE_H
#define VIEWFOLD_RUNTIME_NATIVE_SOURCE_H

#include "runtime/runtime.h"

typedef struct rt_library {
  void *handle; /* of dlopen */
  int fd;       /* of its file; the loader knows libraries by the number while they are loaded */
} rt_library;

/* Compile, or find in the cache, and load; *function is the symbol. IR_ERR_COMPILE: what `cc` says, no `cc`,
 * no such symbol, or the context forbids compiling and the cache has nothing. */
ir_status rt_library_open(rt_context *context, const char *who, const char *source, const char *symbol,
                          rt_library *out, void (**function)(void), ir_error *error);
void rt_library_close(rt_library *library);

#endif
