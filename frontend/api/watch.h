/* Watching rewrites: counting them, and refusing all after the first so many, to find the one that is wrong.
 */
#ifndef VIEWFOLD_FRONTEND_API_WATCH_H
#define VIEWFOLD_FRONTEND_API_WATCH_H

#include <stdatomic.h>

#include "frontend/api/debug.h"
#include "ir/ir.h"

typedef struct fe_rewrite {
  uint64_t number; /* from 1 */
  const ir_graph *graph;
  const char *rule;
  ir_ref given; /* the validity that it relies on; 0: none */
  ir_op op;
  const ir_ref *src;
  uint32_t nsrc;
  ir_ref result;
} fe_rewrite;

/* Stays where it was initialised. Graphs may share one, on several threads if tell allows it. */
typedef struct fe_watch {
  ir_observer observer;
  atomic_ullong count;
  uint64_t limit;                        /* rewrites allowed */
  bool bisects;                          /* there is a limit */
  void (*tell)(const fe_rewrite *taken); /* or NULL */
} fe_watch;

void fe_watch_init(fe_watch *watch, const fe_debug *debug); /* with the limit that is in there */
/* For ir_graph.observer: NULL when there is nothing to do. */
const ir_observer *fe_watch_observer(const fe_watch *watch);
/* The rewrite as text: `(x//2)//5 => x//10`, fully parenthesised, with ` given VALIDITY`. */
void fe_watch_print(const fe_rewrite *rewrite, ir_text *out);

#endif
