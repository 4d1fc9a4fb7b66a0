/* Shared objects held in memory, loaded as libraries of their own. */
#ifndef VIEWFOLD_RUNTIME_NATIVE_LIBRARY_H
#define VIEWFOLD_RUNTIME_NATIVE_LIBRARY_H

#include "runtime/cache/digest.h"
#include "runtime/runtime.h"

/* The option of `cc` that makes `id` the build-id of a shared object, which is how a loaded library says what
 * it is.
 */
#define RT_LIBRARY_ID_ROOM (sizeof "-Wl,--build-id=0x" + RT_DIGEST_HEX)
void rt_library_id_option(rt_digest id, char option[RT_LIBRARY_ID_ROOM]);

/* Load the `size` bytes of a shared object; *function is its code at `symbol`. No descriptor stays open.
 * IR_ERR_IO: it cannot be loaded, or what the dynamic linker gave has another build-id than `id`;
 * IR_ERR_COMPILE: it defines no such function. */
ir_status rt_library_load(const char *who, const void *object, size_t size, rt_digest id, const char *symbol,
                          void **handle, void (**function)(void), ir_error *error);
void rt_library_close(void **handle);

#endif
