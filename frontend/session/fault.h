/* Which index of the session's operations was out of range. */
#ifndef VIEWFOLD_FRONTEND_SESSION_FAULT_H
#define VIEWFOLD_FRONTEND_SESSION_FAULT_H

#include "frontend/session/walk.h"

/* The statements of all copies that the walk has made, or of those alone whose indices are checked, for the
 * graph that it makes: to be freed, and the graph has causes until then. False when memory is short: there is
 * nothing to free. */
bool fe_session_statements(vf_context *context, fe_walk *walk, bool all, fe_statements *out);

/* Lets the error of a run, IR_ERR_RANGE, of the copies of roots that the walk has made, say which index it
 * was and where the user's code asked for it. */
void fe_session_blame(vf_context *context, fe_walk *walk, size_t root_count, ir_error *error);

#endif
