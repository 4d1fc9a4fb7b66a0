/* Files that are given in place of texts of graphs.
 *   takes   the first bytes of a file
 *   gives   what it is, and what to do, for messages */
#ifndef VIEWFOLD_FRONTEND_TEXT_KINDS_H
#define VIEWFOLD_FRONTEND_TEXT_KINDS_H

#include <stddef.h>

/* NULL: it may be a text, or is of no kind that is known by its first bytes. */
const char *fe_other_kind(const char *bytes, size_t length);
/* The same in place of a model: what the file is. */
const char *fe_kind_name(const char *bytes, size_t length);

#endif
