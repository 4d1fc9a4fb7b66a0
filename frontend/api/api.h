/* The folder frontend/api. The C API except for values (frontend/api/value), views (frontend/views) and
 * tensors (frontend/session).
 *
 *   in      calls of viewfold.h
 *   out     graphs, programs, contexts
 *   holds   no call ends the process; a graph keeps its first error */

/* Declarations that the files behind viewfold.h share. */
#ifndef VIEWFOLD_FRONTEND_API_API_H
#define VIEWFOLD_FRONTEND_API_API_H

#include <stdatomic.h>

#include "frontend/api/compile.h"
#include "frontend/api/custom.h"
#include "frontend/api/session_state.h"
#include "frontend/api/taps.h"
#include "frontend/api/watch.h"
#include "frontend/text/statements.h"
#include "frontend/api/handle.h"
#include "frontend/viewfold.h"
#include "ir/parse/parse.h"
#include "ir/resource.h"

struct vf_context {
  uint32_t kind;
  ir_mem mem; /* calls `allocator`, and counts failures */
  vf_allocator allocator;
  void *allocator_user;
  atomic_uint failures; /* allocations that failed so far */
  atomic_uint uses;     /* references: the user's, and one of each graph, program and tensor */
  rt_context *runtime;
  fe_watch watch;    /* observes the rewrites of every graph */
  vf_graph *session; /* NULL until first used */
  fe_lazy lazy;
  fe_customs customs; /* registered operations */
  unsigned watched;   /* rt_watch.kinds of runs */
  bool relaxed;       /* of its graphs (ir_graph) */
  ir_log log;
  vf_log_function told; /* what log calls, after vf_set_log */
  void *told_user;
  ir_progress own_progress, *progress; /* &own_progress, or of the command, for all its contexts */
};

/* A constant that a graph uses, and its RESOURCE node. */
typedef struct fe_constant {
  ir_ref ref;
  rt_constant *constant;
} fe_constant;

/* vmap_values.c: which vmap a value with batch axes is of. Vmaps are numbered from 1 in order of their
 * beginning. */
typedef struct fe_vmap_values {
  uint32_t *of; /* by node: number of the vmap that has handed it out last; 0: unknown */
  size_t count, cap;
  uint32_t epoch;                     /* of the nodes */
  uint32_t begun;                     /* number of the latest vmap */
  uint32_t at_level[IR_MAX_RANK + 1]; /* numbers of the vmaps being recorded */
} fe_vmap_values;

struct vf_graph {
  uint32_t kind;
  vf_context *context;
  ir_graph ir;
  ir_error error; /* the first failure of a builder */
  uint32_t epoch; /* values with another epoch are refused */
  fe_statements statements;
  uint32_t calls;       /* of builders so far */
  uint32_t ended;       /* statement of the latest one that has ended */
  bool said_call;       /* the error names its call */
  bool error_placeable; /* and was noted by the latest call, whose place is not known yet */
  bool is_session;
  uint32_t level, levels; /* level: of the innermost vmap being recorded, 0: none. levels: the set of all
                             enclosing ones (bit 0: level 1) */
  ir_ref level_sizes[IR_MAX_RANK + 1]; /* of the mapped axes, by level */
  uint32_t explicit_batch;             /* largest batch rank of values with batch axes that no vmap added */
  fe_vmap_values vmap_values;
  unsigned recording;       /* functions being recorded; unless 0, no tensor may be realised */
  size_t outer_references;  /* how many there were before the innermost of these functions */
  uint32_t recording_level; /* level there */
  unsigned visits;          /* nested calls of functions of custom operations */
  char missed[48];          /* the latest name that vf_graph_find did not find */
  const char *name;         /* names are interned in ir */
  size_t name_length;
  ir_named *inputs, *outputs, *variables; /* in order of declaration */
  size_t input_count, input_cap, output_count, output_cap, variable_count, variable_cap;
  ir_named *references; /* of inputs that a run changes: their newest versions, in order of declaration */
  size_t reference_count, reference_cap;
  fe_constant *constants;
  size_t constant_count, constant_cap;
  ir_task task;       /* of the call in progress that may take long; ir.task is NULL between them */
  fe_pending pending; /* taps of the function that is being recorded, or of the graph itself */
};

/* graph.c: the epoch of what vf_graph_find returns for a name that there is not */
enum { FE_NOT_FOUND = UINT32_MAX - 1 };
/* value/view.c: the epoch of what vf_concat returns for no values */
enum { FE_GIVEN_NOTHING = 4 };
/* "of vf_graph_find for 'y', a name that ...; it has x", for a message. */
const char *fe_graph_missed(const vf_graph *g, char *out, size_t size);

/* context.c */
/* One more reference to the context, and one less: the last frees it, with its session. */
/* vf_context_create with settings for rt_target_override, where NULL stands for the device as it is; and with
 * a progress that outlives it, in place of its own. */
vf_context *fe_context_create(const vf_options *options, const char *target, ir_progress *progress,
                              vf_error *error);
void fe_context_retain(vf_context *context);
void fe_context_release(vf_context *context);
/* Copy the error to the caller's record `out`, which may be NULL. Returns the status. */
vf_status fe_report(vf_error *out, const ir_error *error);
/* If allocations have failed since fe_failures() returned `failures`, report the error as VF_ERR_MEMORY: an
 * error of another kind may only be a consequence. */
void fe_report_as_memory(const vf_context *context, unsigned failures, ir_error *error);
unsigned fe_failures(const vf_context *context);
/* Move a text into memory that vf_text_free frees; `text` is freed. NULL, with error set, when memory is
 * short. */
char *fe_text_out(vf_context *context, ir_text *text, ir_error *error);

/* graph.c */
vf_graph *fe_graph_make(vf_context *context, const char *name, size_t length,
                        ir_error *error); /* takes no reference to the context */
/* Frees the graph, and releases no reference to the context. */
void fe_graph_free(vf_graph *graph);
/* The entry of that name; NULL where there is none. */
const ir_named *fe_graph_named(const ir_named *list, size_t count, const char *name, size_t length);
/* Appends to a list of the graph, which keeps a copy of the name. False, with the graph's error, when memory
 * is short. */
bool fe_graph_add(vf_graph *graph, ir_named **list, size_t *count, size_t *cap, const char *name,
                  size_t length, ir_ref ref);
/* What is compiled: the outputs, then the newest versions of references that have been written; the first of
 * them after the taps that nothing else needs. The caller frees the list, of *count entries; NULL when memory
 * is short. */
ir_named *fe_graph_results(vf_graph *graph, size_t *count);
/* Begin and end a call that may take long: the task of the graph, which vf_cancel ends. */
void fe_graph_begin_task(vf_graph *graph);
void fe_graph_end_task(vf_graph *graph);
/* The request that compiles them, as the task of the graph until it is freed. False after failing: a
 * builder's error, or no outputs. Free the request before adding names to the graph, whose counts give its
 * size. */
bool fe_graph_request(vf_graph *graph, fe_request *out, ir_error *error);
void fe_graph_request_free(vf_graph *graph, fe_request *request);

/* value/constant.c. A use of the constant of each RESOURCE node from `first` on; one that the context does
 * not have is left to fe_compile. False when memory is short. */
bool fe_graph_use_constants(vf_graph *graph, ir_ref first);
/* A use of the constant with these elements, by the rules of vf_constant_borrow; NULL after failing. */
rt_constant *fe_constant_borrow(vf_context *context, const void *elements, size_t bytes, vf_release release,
                                void *user, ir_error *error);
/* A value of the graph that is the constant, of which the caller gives its use away. origin: where the text
 * of the graph says that it is; or NULL. */
vf_value fe_graph_constant(vf_graph *graph, vf_dtype dtype, int rank, const int64_t *shape,
                           rt_constant *constant, const ir_origin *origin);
void fe_graph_release_constants(vf_graph *graph);

/* frontend/session/tensor.c. fe_tensor_make: a realised tensor with a copy of the elements, which are unset
 * where `elements` is NULL. fe_tensor_memory: the elements of a realised tensor; valid until another tensor
 * is made or realised. fe_tensor_clear: sets the elements of a realised tensor to zero; false when memory is
 * short. */
vf_tensor *fe_tensor_make(vf_context *context, vf_dtype dtype, int rank, const int64_t *shape,
                          const void *elements, ir_error *error);
rt_memory *fe_tensor_memory(const vf_tensor *tensor);
bool fe_tensor_clear(vf_tensor *tensor, ir_error *error);

/* program.c: vf_program_run with addresses on the device (rt_program_run_placed), none of them NULL */
ir_status fe_program_run_placed(const vf_program *program, const void *const *inputs, void *const *outputs,
                                const int64_t *variables, ir_error *error);
/* vf_program_run that a profile notes; the program's plan; was it compiled from this graph? */
struct fe_profile;
ir_status fe_program_run_profiled(const vf_program *p, struct fe_profile *profile, const void *const *inputs,
                                  void *const *outputs, const int64_t *variables, ir_error *error);
vf_context *fe_program_context(const vf_program *p);
const rt_program *fe_program_runtime(const vf_program *p);
bool fe_program_is_of(const vf_program *p, const vf_graph *graph);
/* Copy a struct of `size` bytes, which begins with its size as a size_t, to a caller who may have been
 * compiled with an earlier version and has `room` bytes: as many bytes as fit, and `room` as their size.
 * False where to is NULL or has room for the size alone. */
bool fe_copy_sized(void *to, size_t room, const void *from, size_t size);

/* Note the batch rank of a value: the level of a later vmap is larger than the batch rank of any value. */
void fe_graph_note_batch(vf_graph *graph, ir_ref value);
/* Has the value batch axes that neither this level nor the caller has added, as those of a vmap that has
 * ended? */
bool fe_graph_has_other_batch(const vf_graph *graph, ir_ref value);

/* vmap_values.c: node x as a value that is handed to the caller. An error value where memory is short, or
 * graph is NULL. */
vf_value fe_vmap_value(vf_graph *graph, ir_ref x);
/* Is x of a vmap that has ended, and has its axes at the level of one that is being recorded? */
bool fe_vmap_has_ended(const vf_graph *graph, ir_ref x);
void fe_vmap_values_free(vf_graph *graph);

/* frontend/api/value/builder.c: one call of a builder */
typedef struct fe_call {
  vf_graph *graph; /* NULL: no operand has one, and errors cannot be noted */
  ir_graph *ir;
  const char *who;
  unsigned failures;
  bool failed_before;
  uint32_t number;      /* 1: the graph's first call */
  uint32_t statement;   /* 0: results are none of this call */
  uint32_t given_count; /* operands, of which messages name the first few */
  ir_ref given[FE_FEW_GIVEN];
} fe_call;
/* Find the graph of the operands and check them. False: return fe_end(call, 0). */
bool fe_begin(fe_call *call, const char *who, const vf_value *operands, size_t count);
bool fe_begin_in(fe_call *call, const char *who, vf_graph *graph);       /* an operation without operands */
bool fe_operands(fe_call *call, const vf_value *operands, size_t count); /* check further operands */
/* Check one other value; `what` and number, such as "result" and 1, name it in messages. */
bool fe_is_value(fe_call *call, const char *what, size_t number, vf_value value);
bool fe_refuse(fe_call *call, const char *format, ...) IR_PRINTF(2, 3); /* always false */
/* Go on with the call after a function of the user's, which has made calls of its own. */
void fe_resume(fe_call *call);
vf_value fe_end(fe_call *call, ir_ref made);
/* End a call that made a TUPLE, or one value. results[0..room) receives its results; entries without a result
 * are error values. Returns the number of results, -1 after failing. */
int fe_end_all(fe_call *call, ir_ref made, int room, vf_value *results);

enum { FE_LIST_MAX = 2 * IR_MAX_RANK };
/* A list of integers as index constants; `what` names it in messages. */
bool fe_list(fe_call *call, const char *what, int count, const int64_t *list, ir_ref out[FE_LIST_MAX]);
/* A list of sizes: expressions of variables and integers. */
bool fe_list_sized(fe_call *call, const char *what, int count, const vf_value *list, ir_ref out[FE_LIST_MAX]);
/* Define the builder vf_NAME: `begun` begins call c and may fill refs, a list; `made` is the node. */
#define FE_BUILDER(name, parameters, begun, made)                                                            \
  vf_value vf_##name parameters {                                                                            \
    fe_call c;                                                                                               \
    ir_ref refs[FE_LIST_MAX];                                                                                \
    (void)refs;                                                                                              \
    return fe_end(&c, (begun) ? (made) : 0);                                                                 \
  }
/* The same of an operation called NAME on the value x. */
#define FE_BUILDER_OF_X(name, parameters, made) FE_BUILDER(name, parameters, fe_begin(&c, #name, &x, 1), made)
ir_ref fe_as_size(ir_graph *g, ir_ref value); /* 0 when value is no size, or memory is short */

/* Why a BUFFER without elements cannot be read. */
#define FE_ESCAPED                                                                                           \
  "an argument of a function is used outside of that function (of a scan, a cond, a loop, a checkpoint), "   \
  "where it has no value; use the results of the function"

/* frontend/api/value/size.c: arithmetic on sizes. True when this is an operation on sizes: *made is its
 * result, or 0 after failing. */
bool fe_size_unary(ir_graph *g, ir_op op, ir_ref x, ir_ref *made);
bool fe_size_binary(ir_graph *g, ir_op op, ir_ref a, ir_ref b, ir_ref *made);

#endif
