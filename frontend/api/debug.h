/* The words of VIEWFOLD_DEBUG: a list, separated by commas and blanks. */
#ifndef VIEWFOLD_FRONTEND_API_DEBUG_H
#define VIEWFOLD_FRONTEND_API_DEBUG_H

#include "ir/base.h"

typedef struct fe_debug {
  bool perf;      /* tell Linux perf about generated code */
  bool time;      /* `viewfold run` tells how long the parts of a compilation took */
  bool cache;     /* tell what the cache on disk ignores, and why */
  bool bisects;   /* bisect=N: */
  uint64_t limit; /* so many rewrites are allowed */
} fe_debug;

/* words: of the variable; or NULL. IR_ERR_INVALID names a word that is none: words are compared whole. error
 * may be NULL. */
ir_status fe_debug_read(const char *words, fe_debug *out, ir_error *error);

/* What VIEWFOLD_DEBUG=cache asks for, as an rt_disk_report: a line on standard error. */
void fe_debug_cache(void *context, const char *path, const char *why);

#endif
