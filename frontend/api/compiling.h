/* Where and how code is made, as the environment says. */
#ifndef VIEWFOLD_FRONTEND_API_COMPILING_H
#define VIEWFOLD_FRONTEND_API_COMPILING_H

#include "runtime/runtime.h"

typedef struct fe_compiling {
  bool forbidden; /* VIEWFOLD_COMPILE=0 */
  bool given;     /* VIEWFOLD_COMPILE says in which process */
  rt_compiling how;
} fe_compiling;

/* VIEWFOLD_COMPILE, VIEWFOLD_COMPILE_SECONDS, VIEWFOLD_COMPILE_BYTES; empty ones are not there.
 * IR_ERR_INVALID where one of them says what it cannot. */
ir_status fe_compiling_read(fe_compiling *out, ir_error *error);

#endif
