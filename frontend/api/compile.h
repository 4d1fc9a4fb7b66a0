/* From a recorded graph to a program, through the caches: the one way in for the C API, lazy tensors and the
 * command. */
#ifndef VIEWFOLD_FRONTEND_API_COMPILE_H
#define VIEWFOLD_FRONTEND_API_COMPILE_H

#include "passes/passes.h"
#include "runtime/runtime.h"

typedef struct fe_request {
  ir_graph *graph;
  ir_ref results;       /* TUPLE of tensors */
  const ir_ref *inputs; /* leaves in the order in which a run supplies them; others follow in node order */
  size_t input_count;
  const ir_ref
      *vars; /* variables that the caller declares; the program lists those that it uses, with their names */
  size_t var_count;
  const char *name;            /* for messages; not part of the key */
  const ir_observer *observer; /* of rewrites while compiling, or NULL: sizes were recorded without */
  const char *schedule;  /* how loops are shaped (frontend/text/loop_schedule.h), or NULL; part of the key */
  pass_shaping *shaping; /* or this shapes them, and the program is not kept; or NULL */
} fe_request;

/* Find the program in memory, then on disk; else run the passes, generate code and store both. The look-up
 * prints the graph and touches nothing else. Without a schedule, kernels have the moves that tuning found for
 * them, where it did. */
ir_status fe_compile(rt_context *context, const fe_request *request, rt_program **program, ir_error *error);

/* The canonical text that identifies the request. */
void fe_request_text(const fe_request *request, ir_text *out);

/* A request on a graph of its own, which passes may add to. The copied request refers to the fe_copy. */
typedef struct fe_copy {
  ir_graph graph;
  fe_request request;
  ir_ref *refs;
  size_t count;
} fe_copy;
ir_status fe_request_copy(const fe_request *request, fe_copy *out,
                          ir_error *error); /* nothing to free after failing */
void fe_copy_free(fe_copy *copy);

/* The options that every compilation of a request has; target must outlive them. */
pass_options fe_pass_options(const fe_request *request, const ir_target *target);

#endif
