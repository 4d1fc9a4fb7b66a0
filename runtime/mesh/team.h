/* Threads that do one piece of work together, each its own part, all at the same time. */
#ifndef VIEWFOLD_RUNTIME_MESH_TEAM_H
#define VIEWFOLD_RUNTIME_MESH_TEAM_H

#include "ir/base.h"

typedef struct rt_team rt_team;
typedef void (*rt_team_work)(void *user, uint32_t member);

/* A team of `members`, which has no threads yet. NULL when memory is short. */
rt_team *rt_team_make(const ir_mem *mem, uint32_t members);
void rt_team_free(rt_team *team); /* ends the threads; accepts NULL */
/* Calls work(user, m) for each member m, 0 on the calling thread and each other one on a thread of its own,
 * and returns when all have returned. One call at a time. IR_ERR_DEVICE: the system starts no more threads;
 * then nothing has been called. A child process made by fork starts threads of its own. */
ir_status rt_team_run(rt_team *team, rt_team_work work, void *user, ir_error *error);

#endif
