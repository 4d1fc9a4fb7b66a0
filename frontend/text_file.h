/* A whole text file in memory. */
#ifndef VIEWFOLD_FRONTEND_TEXT_FILE_H
#define VIEWFOLD_FRONTEND_TEXT_FILE_H

#include "ir/base.h"

/* Append the bytes of a file, and a NUL that does not count; `-` is standard input. */
ir_status fe_text_read(const char *path, ir_text *out, ir_error *error);
/* What messages call the file. */
const char *fe_text_name(const char *path);

#endif
