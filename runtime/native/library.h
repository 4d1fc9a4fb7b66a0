/* Loading shared objects from memory, each as a library of its own. */
#ifndef VIEWFOLD_RUNTIME_NATIVE_LIBRARY_H
#define VIEWFOLD_RUNTIME_NATIVE_LIBRARY_H

#include "runtime/cache/digest.h"
#include "runtime/runtime.h"

/* The option of `cc` that makes `id` the build-id of a shared object, by which rt_library_load recognises
 * it. */
#define RT_LIBRARY_ID_ROOM (sizeof "-Wl,--build-id=0x" + RT_DIGEST_HEX)
void rt_library_id_option(rt_digest id, char option[RT_LIBRARY_ID_ROOM]);

/* Load a shared object of `size` bytes; *function is the address of `symbol`. No descriptor stays open. `who`
 * begins the messages. IR_ERR_IO: it cannot be loaded, or the library that the dynamic linker returned has
 * another build-id than `id`; IR_ERR_COMPILE: it does not define the function. */
ir_status rt_library_load(const char *who, const void *object, size_t size, rt_digest id, const char *symbol,
                          void **handle, void (**function)(void), ir_error *error);
void rt_library_close(void **handle);

#endif
