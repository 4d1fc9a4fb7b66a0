/* The folder frontend/api. The C API but for values, views and the session.
 *
 *   in      calls of viewfold.h
 *   out     graphs, programs, contexts
 *   holds   no call ends the process; the first error of a graph stays */

/* What the files behind viewfold.h share. */
#ifndef VIEWFOLD_FRONTEND_API_API_H
#define VIEWFOLD_FRONTEND_API_API_H

#include <stdatomic.h>

#include "frontend/api/compile.h"
#include "frontend/api/custom.h"
#include "frontend/api/session_state.h"
#include "frontend/api/watch.h"
#include "frontend/viewfold.h"
#include "ir/parse/parse.h"

struct vf_context {
  ir_mem mem; /* the hook below, which counts failures */
  vf_allocator allocator;
  void *allocator_user;
  atomic_uint failures; /* allocations that failed so far */
  atomic_uint uses;     /* the user, and each graph, program and tensor */
  rt_context *runtime;
  fe_watch watch;    /* of every graph */
  vf_graph *session; /* NULL until first used */
  fe_lazy lazy;
  fe_customs customs; /* registered operations */
};

struct vf_graph {
  vf_context *context;
  ir_graph ir;
  ir_error error; /* of builders: the first stays */
  uint32_t epoch; /* values of an earlier one are refused */
  bool is_session;
  uint32_t level,
      levels; /* of the vmap whose function is being called, 0 outside; all that are around (bit 0: 1) */
  uint32_t explicit_batch; /* most batch axes of values that no vmap gave them */
  unsigned recording;      /* functions: nothing may be realised meanwhile */
  unsigned visits;         /* of functions of custom operations, one in another */
  const char *name;        /* names are interned in ir */
  size_t name_length;
  ir_named *inputs, *outputs, *variables; /* in order of declaration */
  size_t input_count, input_cap, output_count, output_cap, variable_count, variable_cap;
};

/* context.c */
void fe_context_retain(vf_context *context);
void fe_context_release(vf_context *context);
/* Copy what happened to the caller's record, which may be NULL. */
vf_status fe_report(vf_error *out, const ir_error *error);
/* A failure during which allocations failed is one of memory, whatever was made of it. `failures` is from
 * before. */
void fe_blame_memory(const vf_context *context, unsigned failures, ir_error *error);
unsigned fe_failures(const vf_context *context);
/* Bytes that vf_text_free frees; takes text over. NULL, with error set, when memory is short. */
char *fe_text_out(vf_context *context, ir_text *text, ir_error *error);

/* graph.c */
vf_graph *fe_graph_make(vf_context *context, const char *name, size_t length,
                        ir_error *error); /* no reference taken */
void fe_graph_free(vf_graph *graph);
const ir_named *fe_graph_named(const ir_named *list, size_t count, const char *name, size_t length);
bool fe_graph_add(vf_graph *graph, ir_named **list, size_t *count, size_t *cap, const char *name,
                  size_t length, ir_ref ref);
/* What compiling the outputs takes. False after failing: a builder's error, no outputs. Free it before adding
 * names. */
bool fe_graph_request(vf_graph *graph, fe_request *out, ir_error *error);
void fe_graph_request_free(vf_graph *graph, fe_request *request);

/* frontend/session/tensor.c: a realised tensor with a copy of elements, NULL: not set yet; where those of a
 * realised one are, until a further tensor is made or realised */
vf_tensor *fe_tensor_make(vf_context *context, vf_dtype dtype, int rank, const int64_t *shape,
                          const void *elements, ir_error *error);
rt_memory *fe_tensor_memory(const vf_tensor *tensor);

/* program.c: vf_program_run with addresses (rt_program_run_placed), all of which are there */
ir_status fe_program_run_placed(const vf_program *program, const void *const *inputs, void *const *outputs,
                                const int64_t *variables, ir_error *error);
/* The part of a result, which begins with its size, that the caller has room for */
bool fe_hand_out(void *to, size_t room, const void *from, size_t size);

/* Note a value's batch: that of vmaps begins behind any other. */
void fe_graph_note_batch(vf_graph *graph, ir_ref value);

/* frontend/api/value/builder.c: one call of a builder */
typedef struct fe_call {
  vf_graph *graph; /* NULL: there is none to note an error in */
  ir_graph *ir;
  const char *who;
  unsigned failures;
  bool failed_before;
} fe_call;
/* Find the graph of the operands and check them. False: return fe_end(call, 0). */
bool fe_begin(fe_call *call, const char *who, const vf_value *operands, size_t count);
bool fe_begin_in(fe_call *call, const char *who, vf_graph *graph);       /* an operation without operands */
bool fe_operands(fe_call *call, const vf_value *operands, size_t count); /* further ones */
/* The same of one other value: `what` and number, such as "result" and 1, name it in messages. */
bool fe_is_value(fe_call *call, const char *what, size_t number, vf_value value);
bool fe_refuse(fe_call *call, const char *format, ...) IR_PRINTF(2, 3); /* always false */
vf_value fe_end(fe_call *call, ir_ref made);
/* Of a TUPLE, or one value: as many results as there is room for, error values in the rest of the room.
 * Returns how many there are, -1 after failing. */
int fe_end_all(fe_call *call, ir_ref made, int room, vf_value *results);

enum { FE_LIST_MAX = 2 * IR_MAX_RANK };
/* A list of integers as index constants; `what` names it in messages. */
bool fe_list(fe_call *call, const char *what, int count, const int64_t *list, ir_ref out[FE_LIST_MAX]);
/* A list of sizes: expressions of variables and integers. */
bool fe_list_sized(fe_call *call, const char *what, int count, const vf_value *list, ir_ref out[FE_LIST_MAX]);
ir_ref fe_as_size(ir_graph *g, ir_ref value); /* 0 when it is none, or memory is short */

/* Why a BUFFER without elements cannot be read. */
#define FE_ESCAPED                                                                                           \
  "an argument of a function is used outside of that function (of a scan, a cond, a loop, a checkpoint), "   \
  "where it has no value; take what the function returns"

/* frontend/api/value/size.c: arithmetic on sizes. True when the operation is one: *made is its result, or 0
 * after failing. */
bool fe_size_unary(ir_graph *g, ir_op op, ir_ref x, ir_ref *made);
bool fe_size_binary(ir_graph *g, ir_op op, ir_ref a, ir_ref b, ir_ref *made);

#endif
