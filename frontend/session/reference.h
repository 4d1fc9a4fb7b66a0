/* References of the session: arrays with an identity, which realising writes changes in their memory. */
#ifndef VIEWFOLD_FRONTEND_SESSION_REFERENCE_H
#define VIEWFOLD_FRONTEND_SESSION_REFERENCE_H

#include "frontend/api/session_state.h"
#include "frontend/viewfold.h"

/* The newest version; NULL: there is no such reference, or it has been released. */
ir_ref *fe_session_newest(fe_lazy *lazy, int number);
/* The number + 1 under which the session keeps a target as it moves to other graphs; 0: it does not, since
 * the target gathers by elements, or memory is short. */
int fe_session_keep_target(struct vf_context *context, ir_ref target);
/* Bring the target up to date, if its number was kept. */
void fe_session_update_target(vf_ref *reference);

#endif
