/* What made the code: the part of a cache key that says which viewfold and which LLVM. */
#ifndef VIEWFOLD_RUNTIME_CACHE_IDENTITY_H
#define VIEWFOLD_RUNTIME_CACHE_IDENTITY_H

#include "ir/base.h"

/* The GNU build-id of an ELF file as hexadecimal text; false when there is none to be had. Reads a few pages
 * and loads nothing. */
bool rt_build_id(const char *path, char *hex, size_t size);

/* The same of the bytes of a PT_NOTE segment. */
bool rt_build_id_notes(const uint8_t *notes, size_t size, char *hex, size_t room);

/* The digest of the sources that shape code, which this library was built from. */
const char *rt_source_id(void);

/* "source=DIGEST llvm=BUILD-ID": of the sources this library was built from, and of the libLLVM that its code
 * generator was linked with, "none" where that file is not to be found. */
void rt_identity_text(ir_text *text);

#endif
