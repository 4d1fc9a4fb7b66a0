/* The versions of the tools that make code: the part of a cache key that says which viewfold and which
 * LLVM. */
#ifndef VIEWFOLD_RUNTIME_CACHE_IDENTITY_H
#define VIEWFOLD_RUNTIME_CACHE_IDENTITY_H

#include "ir/base.h"

/* The GNU build-id of an ELF file as hexadecimal text; false when the file has none or cannot be read. Reads
 * a few pages and loads nothing. */
bool rt_build_id(const char *path, char *hex, size_t size);

/* The same for the bytes of a PT_NOTE segment. */
bool rt_build_id_notes(const uint8_t *notes, size_t size, char *hex, size_t room);

/* The digest of those sources of this library that determine the code it generates. */
const char *rt_source_id(void);

/* "source=DIGEST llvm=BUILD-ID": rt_source_id, and the build-id of the libLLVM that the code generator was
 * linked with, "none" where its file is not found. */
void rt_identity_text(ir_text *text);

#endif
