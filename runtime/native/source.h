/* Functions from C source text: compiled by the system's `cc` into a shared object, which the cache on disk
 * keeps. */
#ifndef VIEWFOLD_RUNTIME_NATIVE_SOURCE_H
#define VIEWFOLD_RUNTIME_NATIVE_SOURCE_H

#include "runtime/runtime.h"

/* Compile the source, or find it in the cache, and load it. *function is the address of `symbol`;
 * rt_library_close closes *library. IR_ERR_COMPILE: `cc` fails (the message says why) or is missing, the
 * symbol is missing, or the context forbids compiling and the cache does not hold the object. */
ir_status rt_source_load(rt_context *context, const char *who, const char *source, const char *symbol,
                         void **library, void (**function)(void), ir_error *error);

#endif
