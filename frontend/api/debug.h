/* The words of VIEWFOLD_DEBUG: a list, separated by commas and blanks. */
#ifndef VIEWFOLD_FRONTEND_API_DEBUG_H
#define VIEWFOLD_FRONTEND_API_DEBUG_H

#include "ir/base.h"
#include "ir/log.h"

typedef struct fe_debug {
  bool perf;      /* tell Linux perf about generated code */
  bool time;      /* `viewfold run` prints the time of each phase of a compilation */
  bool cache;     /* print what the cache on disk says (vf_set_log), such as the files that it ignores */
  bool log;       /* print what all parts say */
  bool nan, inf;  /* runs stop where one is made */
  bool bisects;   /* bisect=N: */
  uint64_t limit; /* number of rewrites that are allowed */
} fe_debug;

/* words: the value of the variable, or NULL. IR_ERR_INVALID names an unknown word; words are compared whole.
 * error may be NULL. */
ir_status fe_debug_read(const char *words, fe_debug *out, ir_error *error);

/* Prints lines to standard error: of the words `log` and `cache` all that is said, by all parts or by the
 * cache; of the command in any case what it warns of. */
ir_log fe_debug_log(const fe_debug *debug, bool is_command);

#endif
