/* Functions from C source text: compiled by the system's `cc` into a shared object, which the cache on disk
 * keeps. */
#ifndef VIEWFOLD_RUNTIME_NATIVE_SOURCE_H
#define VIEWFOLD_RUNTIME_NATIVE_SOURCE_H

#include "runtime/runtime.h"

/* Compile, or find in the cache, and load; *function is the symbol, rt_library_close ends *library.
 * IR_ERR_COMPILE: what `cc` says, no `cc`, no such symbol, or the context forbids compiling and the cache has
 * nothing. */
ir_status rt_source_load(rt_context *context, const char *who, const char *source, const char *symbol,
                         void **library, void (**function)(void), ir_error *error);

#endif
