/* The folder ir/eval. The reference evaluator.
 *
 *   in      a graph before any pass, values of its leaves
 *   out     values of its results
 *   holds   each node is evaluated by itself, by the definition of its operation; neither passes nor code
 *           generators are involved */

/* The reference evaluator, with which every other way of running a graph must agree.
 *
 * It does not fold. Each tensor node is evaluated completely into a dense row-major buffer of its own, in
 * topological order; a buffer is freed after its last use. Views are loops over coordinates; elementary
 * functions are the expressions of ir/elementary/elementary.h. Every float operation is rounded to the node's
 * dtype (f16 and bf16: computed in f32, then rounded). Sums, products and contractions accumulate in long
 * double and round once, so they are more accurate than compiled code. A function is evaluated at each call;
 * of two branches only the selected one is. Recursion goes as deep as functions nest, at most IR_MAX_DEPTH.
 * No globals. */
#ifndef VIEWFOLD_IR_EVAL_EVAL_H
#define VIEWFOLD_IR_EVAL_EVAL_H

#include "ir/ir.h"

typedef struct ir_binding_input {
  ir_ref ref;       /* an INPUT or BUFFER; another tensor outside of functions has these elements, too */
  const void *data; /* its elements, dense and row-major; may be NULL when there are none */
} ir_binding_input;

typedef struct ir_var_value {
  ir_ref ref; /* a VAR */
  int64_t value;
} ir_var_value;

typedef struct ir_eval_result {
  ir_dtype dtype;
  uint32_t rank;
  int64_t shape[IR_MAX_RANK];
  int64_t count; /* elements */
  size_t bytes;  /* of data */
  void *data;    /* allocated from the graph's ir_mem */
} ir_eval_result;

/* Evaluate roots[0..n) into out[0..n). On failure nothing stays allocated. Fails when an input or variable is
 * unbound or outside its declared range (IR_ERR_INVALID), when sizes are negative, too large or do not match,
 * when a root depends on an out-of-range index (IR_ERR_RANGE), when a node is not a tensor operation
 * (IR_ERR_UNSUPPORTED), or when memory is short. */
ir_status ir_eval(const ir_graph *g, const ir_ref *roots, size_t n, const ir_binding_input *inputs,
                  size_t input_count, const ir_var_value *vars, size_t var_count, ir_eval_result *out,
                  ir_error *error);
/* An index that is out of range. */
typedef struct ir_eval_fault {
  ir_ref node;         /* the GATHER or SCATTER; 0: none */
  int64_t index, size; /* its value, and the elements of the axis */
  uint32_t axis;
  bool is_unsigned;        /* the index is of an unsigned dtype */
  uint32_t rank;           /* of the indices, without their batch */
  int64_t at[IR_MAX_RANK]; /* where the index stands in them */
} ir_eval_fault;
/* The same, and where it fails with IR_ERR_RANGE, *fault tells more. at_once: at the first index out of
 * range, whether or not a root depends on it: a loop may never end after one. */
ir_status ir_eval_finding(const ir_graph *g, const ir_ref *roots, size_t n, const ir_binding_input *inputs,
                          size_t input_count, const ir_var_value *vars, size_t var_count, bool at_once,
                          ir_eval_result *out, ir_eval_fault *fault, ir_error *error);

/* exchange.c: the graph on several devices, which have parts of arrays (ir/exchange.h), each with inputs and
 * values of variables of its own. Device d leaves its results in out[d * n] to out[d * n + n - 1]. Fails as
 * ir_eval, and where an exchange asks for an element that no device holds, or that devices hold different
 * values of, or not all devices come to it (IR_ERR_INVALID). */
typedef struct ir_eval_device {
  const ir_binding_input *inputs;
  const ir_var_value *vars;
  size_t input_count, var_count;
} ir_eval_device;
ir_status ir_eval_devices(const ir_graph *g, const ir_ref *roots, size_t n, const ir_eval_device *devices,
                          size_t count, ir_eval_result *out, ir_error *error);

/* A value that the evaluator has computed, and those that it was computed from. Arrays are dense, with batch
 * axes in front, and valid during the call. */
typedef struct ir_eval_array {
  ir_dtype dtype;
  uint32_t rank;
  const int64_t *shape;
  int64_t count;
  const void *data;
} ir_eval_array;
typedef struct ir_eval_seen {
  ir_ref node;
  bool result;                   /* of the graph, or of the function that is evaluated */
  ir_eval_array value;           /* of a CUSTOM node: one of its results */
  const ir_eval_array *operands; /* of the first sources; of a RESULT: none */
  uint32_t operand_count;
} ir_eval_seen;
enum { IR_EVAL_SEEN = 16 }; /* operands at most */
typedef struct ir_eval_observer {
  void *user;
  /* After each node, leaves included, in the order of evaluation. A status other than IR_OK ends it. */
  ir_status (*see)(void *user, const ir_eval_seen *seen, ir_error *error);
  const struct ir_customs *customs; /* in place of those of the graph */
} ir_eval_observer;
/* As ir_eval, for the observer alone: results are not kept. */
ir_status ir_eval_observed(const ir_graph *g, const ir_ref *roots, size_t n, const ir_binding_input *inputs,
                           size_t input_count, const ir_var_value *vars, size_t var_count,
                           const ir_eval_observer *observer, ir_error *error);
void ir_eval_free(const ir_graph *g, ir_eval_result *results, size_t n);

/* One element of an elementwise operation under the numeric contract. `type` is the dtype of the result,
 * `from` that of the first operand; operands of arithmetic in another dtype are converted to `type` first.
 * The result is 0 for elementary functions, which ir_elementary expands, and for operations that are not
 * elementwise. */
ir_value ir_scalar_apply(ir_op op, ir_dtype type, ir_dtype from, const ir_value *operands);

/* Index and bool expressions over VARs and RANGEs, compiled for repeated evaluation. Results of dtype bool
 * are 0 or 1. ADD, MUL, MIN, MAX, AND, OR and XOR take any number of operands. Not for concurrent use: the
 * slots are part of the program. */
typedef struct ir_index_program {
  const ir_mem *mem;
  struct ir_index_step *steps;
  uint32_t *args;
  int64_t *slots, *scratch;
  uint32_t *roots;
  size_t step_count, step_cap, arg_count, arg_cap, slot_count, scratch_count, root_count;
} ir_index_program;
ir_status ir_index_compile(const ir_graph *g, const ir_ref *roots, size_t n, const ir_var_value *vars,
                           size_t var_count, ir_index_program *out, ir_error *error);
/* ranges[a] is the value of the RANGE of axis a; out receives one value per root. Fails on overflow, on a
 * divisor < 1, or on a RANGE whose axis is not below range_count. */
ir_status ir_index_run(const ir_index_program *program, const int64_t *ranges, size_t range_count,
                       int64_t *out, ir_error *error);
void ir_index_free(ir_index_program *program);
/* Compile, run and free. */
ir_status ir_eval_index(const ir_graph *g, ir_ref expr, const ir_var_value *vars, size_t var_count,
                        const int64_t *ranges, size_t range_count, int64_t *out, ir_error *error);

#endif
