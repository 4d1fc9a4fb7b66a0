/* References that the functions of control flow write. Each function begins with the newest versions of where
 * it is called, or, of what a loop carries, with parameters; what it leaves are further results. */
#ifndef VIEWFOLD_FRONTEND_API_VALUE_UPDATES_H
#define VIEWFOLD_FRONTEND_API_VALUE_UPDATES_H

#include "frontend/api/api.h"

typedef struct fe_updates {
  vf_graph *graph;
  size_t count;     /* references that there are where the functions are called */
  ir_ref *versions; /* three for each: before the call, and after each of two functions; 0: released */
  uint32_t *list;   /* those that some function writes, by number; room for all */
  uint32_t found;
} fe_updates;

/* Notes the newest versions. False when memory is short, after failing. */
bool fe_updates_begin(fe_updates *w, vf_graph *graph);
void fe_updates_free(fe_updates *w);
ir_ref fe_updates_before(const fe_updates *w, uint32_t place); /* of entry `place` of the list */
ir_ref fe_updates_after(const fe_updates *w, int function, uint32_t place);
/* A function begins: versions of the list are params, those of the call where params is NULL. */
void fe_updates_enter(fe_updates *w, const ir_ref *params);
/* It has ended: notes what it leaves, and adds to the list what it is the first to write. The newest versions
 * are those of before again. */
void fe_updates_leave(fe_updates *w, int function);
/* The call has been recorded as the TUPLE `made`, whose results from `first` on are the newest versions of
 * the list. Each has the batch of its reference: false after refusing another. */
bool fe_updates_end(fe_updates *w, fe_call *call, ir_ref made, uint32_t first);

/* reference.c: the newest versions of references by number; NULL where one has been released */
size_t fe_reference_count(const vf_graph *graph);
ir_ref *fe_reference_newest(vf_graph *graph, size_t number);

#endif
