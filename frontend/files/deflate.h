/* Compressing text. */
#ifndef VIEWFOLD_FRONTEND_FILES_DEFLATE_H
#define VIEWFOLD_FRONTEND_FILES_DEFLATE_H

#include "ir/base.h"

/* Appends the bytes, compressed (RFC 1950), to out, which is marked as failed when memory is short. */
void fe_deflate(const char *bytes, size_t count, ir_text *out);

#endif
