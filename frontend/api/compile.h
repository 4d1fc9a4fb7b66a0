/* From a recorded graph to a program, through the caches. The C API, lazy tensors and the command all compile
 * through fe_compile. */
#ifndef VIEWFOLD_FRONTEND_API_COMPILE_H
#define VIEWFOLD_FRONTEND_API_COMPILE_H

#include "ir/cause.h"
#include "passes/passes.h"
#include "runtime/runtime.h"

typedef struct fe_request {
  ir_graph *graph;
  ir_ref results;       /* TUPLE of tensors */
  const ir_ref *inputs; /* leaves in the order of a run's arguments; other INPUTs follow in node order */
  size_t input_count;
  const pass_reference *references; /* inputs that a run changes in the caller's memory */
  size_t reference_count;
  const ir_ref *vars; /* variables that the caller declares; the program lists by name those that it uses */
  size_t var_count;
  const char *name;            /* for messages; not part of the key */
  const ir_observer *observer; /* sees the rewrites of compiling, not those of recording; or NULL */
  const char *schedule;        /* moves of loops (frontend/text/loop_schedule.h), or NULL; part of the key */
  /* finds the constants to bind to, in place of fe_find_constants; NULL: that one. After a failure those that
   * were found are in `out` */
  ir_status (*find)(void *user, const ir_ref *resources, size_t count, rt_constant **out, ir_error *error);
  void *find_user;
  uint32_t of_parts;     /* as in rt_program_bind */
  rt_context *constants; /* has constants that the context may lack, and outlives it; or NULL */
  pass_shaping *shaping; /* chooses the moves instead; the program is not cached; or NULL */
  ir_link link;          /* as in pass_options; part of the key */
  bool causes;           /* a copy keeps the causes of nodes (ir/cause.h) */
  const struct fe_statements *statements; /* of the graph, for messages; or NULL; not part of the key */
} fe_request;

/* A use of the constant of each of these RESOURCE nodes: one that the context has, or one from the file that
 * the node names (frontend/weights). `graph` is the name of the graph, for messages. After a failure, those
 * that were found are in `out`, and NULL for the others. */
ir_status fe_find_constants(rt_context *context, const char *graph, const ir_graph *g,
                            const ir_ref *resources, size_t count, rt_constant **out, ir_error *error);

/* A program of the request; the context must have the constants that the graph names, or find them in files,
 * and the program is bound to them. Find it in memory, then on disk; else run the passes, generate code, and
 * store the program in both. The look-up prints the graph and changes nothing. Without a schedule, a kernel
 * that has been tuned has the moves that tuning found. */
ir_status fe_compile(rt_context *context, const fe_request *request, rt_program **program, ir_error *error);

/* A request on a copy of its graph, to which passes may add nodes. The request refers to this struct, which
 * must not move. */
typedef struct fe_copy {
  ir_graph graph;
  ir_causes causes;
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
