/* Watching rewrites: count them, and refuse all after the first `limit`, so that bisection finds a wrong
 * one. */
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

/* Must not move after fe_watch_init. Graphs may share one, on several threads if `tell` is thread-safe. */
typedef struct fe_watch {
  ir_observer observer;
  atomic_ullong count;
  uint64_t limit;                        /* rewrites allowed */
  bool bisects;                          /* there is a limit */
  void (*tell)(const fe_rewrite *taken); /* or NULL */
} fe_watch;

void fe_watch_init(fe_watch *watch, const fe_debug *debug); /* takes the limit from debug */
/* For ir_graph.observer: NULL where rewrites are neither limited nor told. */
const ir_observer *fe_watch_observer(const fe_watch *watch);
/* The rewrite as text: `(x//2)//5 => x//10`, fully parenthesised, with ` given VALIDITY`. */
void fe_watch_print(const fe_rewrite *rewrite, ir_text *out);

#endif
