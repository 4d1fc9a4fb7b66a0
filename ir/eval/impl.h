/* Internals of the evaluator: one run over a graph, and the values of its nodes. */
#ifndef VIEWFOLD_IR_EVAL_IMPL_H
#define VIEWFOLD_IR_EVAL_IMPL_H

#include "eval.h"

/* The value of one node. An out-of-range index is an error only if a root depends on it, so each element may
 * carry a taint: 0, or 1 + the number of a range error (such an index) on which the element depends. */
typedef struct ir_slot {
  ir_dtype dtype; /* an index scalar is held as i64 */
  uint32_t rank;
  int64_t shape[IR_MAX_RANK];
  int64_t count;
  unsigned char *data;
  size_t bytes;
  uint32_t *taint; /* NULL: none */
  uint32_t uses;   /* reads that are still to come */
  bool needed, borrowed;
  struct ir_slot *results; /* of a node with several results: result_count values, each moved to its RESULT */
  uint32_t result_count;
} ir_slot;

/* The primitive operations for one element: values[0..3) are the operands, then one value per step. */
typedef struct ir_scalar_step {
  uint8_t op, type, from;
  uint32_t arg[3], result;
} ir_scalar_step;
typedef struct ir_scalar_program {
  uint8_t op, type, from[3];
  ir_scalar_step *steps;
  ir_value *values;
  size_t step_count, step_cap, value_count;
  uint32_t root;
} ir_scalar_program;

typedef struct ir_eval_run {
  const ir_graph *g;
  const ir_mem *mem;
  ir_error *error;
  const ir_binding_input *inputs;
  const ir_var_value *vars;
  size_t input_count, var_count;
  ir_ref *live; /* ascending */
  size_t live_count, live_cap;
  ir_slot *slots;        /* slots[i] belongs to live[i] */
  uint32_t *slot_number; /* of a live ref; undefined for others */
  int64_t *index;        /* by ref, for index expressions */
  uint8_t *index_known;
  size_t table_count;               /* length of the three tables by ref */
  ir_eval_fault *fault;             /* of the caller; or NULL */
  bool at_once;                     /* fail at the first range error */
  const ir_eval_observer *observer; /* or NULL */
  struct ir_eval_mesh *mesh;        /* exchange.c: the devices that run the graph; NULL: one alone */
  ir_eval_fault *range_errors;
  size_t range_error_count, range_error_cap;
  ir_scalar_program *programs;
  size_t program_count, program_cap;
  /* One run per function, prepared at its first call. Functions do not recurse, so a run is never
   * reentered. */
  struct ir_eval_run **calls;
  size_t call_count, call_cap;
  ir_ref func;            /* the function that this run evaluates; 0: the whole graph */
  const ir_slot **params; /* arguments of func, bound by the caller for each call */
} ir_eval_run;

/* The value of source i of a live node. The run owns it and keeps its elements until the last of its uses. */
static inline const ir_slot *ir_eval_operand(const ir_eval_run *run, ir_ref ref, uint32_t i) {
  return &run->slots[run->slot_number[ir_src(run->g, ref, i)]];
}
/* The value of an index attribute; IR_OK for every source of a live node that is an index expression. */
ir_status ir_eval_attribute(ir_eval_run *run, ir_ref ref, uint32_t source, int64_t *out);
/* Checks the shape set in `out` against the node's recorded shape and allocates its elements (and taints). */
ir_status ir_eval_alloc(ir_eval_run *run, ir_ref ref, ir_slot *out, bool tainted);
ir_status ir_eval_no_memory(ir_eval_run *run, ir_ref ref);
ir_status ir_eval_range_fails(ir_eval_run *run, const ir_eval_fault *wrong);
ir_status ir_eval_count(const int64_t *shape, uint32_t rank, size_t element,
                        int64_t *count); /* IR_OK or overflow */
void ir_eval_strides(const int64_t *shape, uint32_t rank, int64_t *strides);
/* The next coordinate in row-major order; false after the last. Start from zeros with no size 0. */
bool ir_eval_next(int64_t *coord, const int64_t *shape, uint32_t rank);
/* "[2,3]" into a buffer of IR_SHAPE_TEXT bytes */
enum { IR_SHAPE_TEXT = 22 * IR_MAX_RANK + 3 };
const char *ir_eval_shape_text(const int64_t *shape, uint32_t rank, char *text);

/* Evaluate a node whose operands have values: an elementwise one, a view, one of IR_CLASS_INDIRECT, a
 * reduction, MATMUL, CUSTOM, EXCHANGE, or one of IR_CLASS_ORDERED. They set shape, elements and taints of
 * *out, which comes with the node's dtype; ir_eval_custom makes out->results instead. A failure is recorded
 * in run->error. In any case the run owns what *out holds. */
ir_status ir_eval_elementwise(ir_eval_run *run, ir_ref ref, ir_slot *out);
ir_status ir_eval_view(ir_eval_run *run, ir_ref ref, ir_slot *out);
ir_status ir_eval_gather(ir_eval_run *run, ir_ref ref, ir_slot *out);
ir_status ir_eval_scatter(ir_eval_run *run, ir_ref ref, ir_slot *out);
ir_status ir_eval_assign(ir_eval_run *run, ir_ref ref, ir_slot *out);
/* The sum in the accumulation dtype: f32 for narrower floats, held as double. */
ir_value ir_eval_add(ir_value a, ir_value b, ir_dtype dtype);
ir_status ir_eval_reduce(ir_eval_run *run, ir_ref ref, ir_slot *out);
ir_status ir_eval_matmul(ir_eval_run *run, ir_ref ref, ir_slot *out);
ir_status ir_eval_custom(ir_eval_run *run, ir_ref ref, ir_slot *out);
ir_status ir_eval_ordered(ir_eval_run *run, ir_ref ref, ir_slot *out);
/* exchange.c: an EXCHANGE, among the devices of run->mesh, or of one device alone. */
typedef struct ir_eval_mesh ir_eval_mesh;
ir_status ir_eval_exchange(ir_eval_run *run, ir_ref ref, ir_slot *out);
/* eval.c: as ir_eval, on a device of a mesh. */
ir_status ir_eval_on(const ir_graph *g, const ir_ref *roots, size_t n, const ir_eval_device *device,
                     ir_eval_mesh *mesh, ir_eval_result *out, ir_error *error);
/* Frees the scalar programs that ir_eval_elementwise keeps for the nodes of the run; to be called once, at
 * its end. */
void ir_eval_free_programs(ir_eval_run *run);

/* batch.c. The slot of a batched value holds the whole batch, with batch sizes in front of the shape. */
typedef ir_status (*ir_eval_one)(ir_eval_run *run, ir_ref ref,
                                 ir_slot *out); /* evaluates a node on unbatched operands */
bool ir_eval_is_batched(const ir_eval_run *run, ir_ref ref);
/* out has the node's dtype and shape. */
ir_status ir_eval_batched(ir_eval_run *run, ir_ref ref, ir_eval_one one, ir_slot *out);
/* A node that calls functions; operands may be batched. */
ir_status ir_eval_call(ir_eval_run *run, ir_ref ref, ir_eval_one one, ir_slot *out);
/* Inserts the batch sizes in front of the shape in `out`. */
ir_status ir_eval_physical(ir_eval_run *run, ir_ref ref, ir_slot *out);
/* eval.c: the steps of a run */
ir_status ir_eval_prepare(ir_eval_run *run, const ir_ref *roots, size_t n);
ir_status ir_eval_nodes(ir_eval_run *run, const ir_ref *roots, size_t n); /* releases earlier values first */
void ir_eval_run_free(ir_eval_run *run);
/* observe.c: shows the value of a node to the observer. result: it is a result of the run. */
ir_status ir_eval_show(ir_eval_run *run, ir_ref ref, uint32_t operands, bool result);
void ir_eval_release(ir_eval_run *run, ir_slot *slot);
/* control.c */
/* Evaluates COND, WHILE or SCAN on operands that have values, into out->results, which the run owns after a
 * failure too. */
ir_status ir_eval_control(ir_eval_run *run, ir_ref ref, ir_slot *out);
ir_status ir_eval_result_of(ir_eval_run *run, ir_ref ref, ir_slot *out); /* a RESULT */
/* *out, with dtype and shape of the parameter `ref`, borrows the elements of the argument, which has to have
 * the same, and copies its taints. */
ir_status ir_eval_param(ir_eval_run *run, ir_ref ref, const ir_slot *given, ir_slot *out);
/* Frees the runs of called functions; to be called once, at the end of the run. */
void ir_eval_free_calls(ir_eval_run *run);

/* index.c */
/* Can ir_index_apply evaluate the operation with so many operands? */
bool ir_index_supported(ir_op op, uint32_t operands);
/* *out: the operation on integers or on truth values, 0 and 1; is_index: of dtype index. IR_ERR_INVALID where
 * the result exceeds 64 bits or a divisor is below 1. */
ir_status ir_index_apply(ir_op op, bool is_index, const int64_t *v, uint32_t count, int64_t *out,
                         ir_error *error);
/* The value that vars has for a VAR. IR_ERR_INVALID where it has none, or one out of the declared range, or
 * no multiple of the declared divisor. */
ir_status ir_var_lookup(const ir_graph *g, ir_ref ref, const ir_var_value *vars, size_t count, int64_t *out,
                        ir_error *error);

#endif
