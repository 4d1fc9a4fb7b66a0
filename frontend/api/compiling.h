/* Settings of code generation from the environment: in which process, and within what limits. */
#ifndef VIEWFOLD_FRONTEND_API_COMPILING_H
#define VIEWFOLD_FRONTEND_API_COMPILING_H

#include "runtime/runtime.h"

typedef struct fe_compile_settings {
  bool forbidden; /* VIEWFOLD_COMPILE=0 */
  bool given;     /* VIEWFOLD_COMPILE says in which process */
  rt_compiling how;
} fe_compile_settings;

/* Read VIEWFOLD_COMPILE, VIEWFOLD_COMPILE_SECONDS and VIEWFOLD_COMPILE_BYTES; an empty one counts as unset.
 * IR_ERR_INVALID where a value is malformed or out of range. */
ir_status fe_compiling_read(fe_compile_settings *out, ir_error *error);
/* Read VIEWFOLD_PRECISION, exact or relaxed; unset and empty: exact. IR_ERR_INVALID where it is another word.
 */
ir_status fe_precision_read(bool *relaxed, ir_error *error);

#endif
