/* The words of VIEWFOLD_DEBUG: a list, separated by commas and blanks. */
#ifndef VIEWFOLD_FRONTEND_API_DEBUG_H
#define VIEWFOLD_FRONTEND_API_DEBUG_H

#include "ir/base.h"

typedef struct fe_debug {
  bool perf;      /* tell Linux perf about generated code */
  bool time;      /* `viewfold run` prints the time of each phase of a compilation */
  bool cache;     /* report the files that the cache on disk ignores, and why */
  bool nan, inf;  /* runs stop where one is made */
  bool bisects;   /* bisect=N: */
  uint64_t limit; /* number of rewrites that are allowed */
} fe_debug;

/* words: the value of the variable, or NULL. IR_ERR_INVALID names an unknown word; words are compared whole.
 * error may be NULL. */
ir_status fe_debug_read(const char *words, fe_debug *out, ir_error *error);

/* The rt_disk_report of VIEWFOLD_DEBUG=cache: prints a line to standard error. */
void fe_debug_cache(void *context, const char *path, const char *why);

#endif
