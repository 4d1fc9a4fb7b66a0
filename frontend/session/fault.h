/* Which index of the session's operations was out of range. */
#ifndef VIEWFOLD_FRONTEND_SESSION_FAULT_H
#define VIEWFOLD_FRONTEND_SESSION_FAULT_H

#include "frontend/session/walk.h"

/* Lets the error of a run, IR_ERR_RANGE, of the copies of roots that the walk has made, say which index it
 * was and where the user's code asked for it. */
void fe_session_blame(vf_context *context, fe_walk *walk, size_t root_count, ir_error *error);

#endif
