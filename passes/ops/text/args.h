/* The folder passes/ops/text. Operations by name.
 *
 *   in      a name, operands, and attributes as text gives them
 *   out     the result of the builder
 *   holds   names, aliases and attributes come from names.def and attributes.def */

/* A call of an operation as text gives it: operands, and attributes indexed by their number. */
#ifndef VIEWFOLD_PASSES_OPS_TEXT_ARGS_H
#define VIEWFOLD_PASSES_OPS_TEXT_ARGS_H

#include "passes/ops/check.h"

enum {
#define ATTRIBUTE(name, takes) OP_ATTR_##name,
#include "passes/ops/attributes.def"
#undef ATTRIBUTE
  OP_ATTR_COUNT
};
/* A set of attributes. */
enum { OP_ATTR_WORDS = 2 };
typedef struct op_attr_set {
  uint64_t word[OP_ATTR_WORDS];
} op_attr_set;
_Static_assert(OP_ATTR_COUNT <= 64 * OP_ATTR_WORDS, "sets of attributes have a bit for each");
static inline bool op_attr_in(const op_attr_set *set, int k) { return set->word[k / 64] >> k % 64 & 1; }
enum { OP_LIST_MAX = 2 * IR_MAX_RANK }; /* entries, or pairs, of a list; more are refused */

typedef struct op_args {
  ir_graph *g;
  const char *who; /* as written: messages keep an alias */
  ir_op op;
  const ir_ref *x;
  size_t n;
  const ir_attr *at[OP_ATTR_COUNT]; /* NULL where absent */
} op_args;

typedef struct op_list {
  ir_ref items[2 * OP_LIST_MAX]; /* pairs take two entries each */
  size_t n;                      /* entries, or pairs */
} op_list;

/* forms.c: one function per value of the column `form` of names.def */
typedef ir_ref (*op_form)(const op_args *a);
#define FORM(name) ir_ref op_form_##name(const op_args *a)
FORM(constant);
FORM(data);
FORM(iota);
FORM(full);
FORM(zeros);
FORM(ones);
FORM(unary);
FORM(binary);
FORM(logical);
FORM(logical_not);
FORM(cast);
FORM(bitcast);
FORM(stop_gradient);
FORM(ternary);
FORM(permute);
FORM(swap_axes);
FORM(moveaxis);
FORM(reshape);
FORM(flatten);
FORM(expand);
FORM(unsqueeze);
FORM(squeeze);
FORM(shrink);
FORM(slice);
FORM(stride);
FORM(flip);
FORM(point);
FORM(pad);
FORM(concat);
FORM(stack);
FORM(rebatch);
FORM(incr_batch_dims);
FORM(decr_batch_dims);
FORM(batch);
FORM(unbatch);
FORM(move_axis_to_batch_dims);
FORM(move_axis_from_batch_dims);
FORM(broadcast_batch_dims);
FORM(unsqueeze_physical);
FORM(squeeze_physical);
FORM(broadcast_to_physical);
FORM(moveaxis_physical);
FORM(reduce);
FORM(extremum);
FORM(argreduce);
FORM(matmul);
FORM(gather);
FORM(scatter);
/* ordered_forms.c */
FORM(cumulative);
FORM(sort);
FORM(topk);
/* compose_forms.c */
FORM(softmax);
FORM(log_softmax);
FORM(logsumexp);
FORM(attention);
FORM(var);
FORM(std);
FORM(layer_norm);
FORM(rms_norm);
FORM(split);
FORM(chunk);
FORM(unbind);
FORM(minmax);
FORM(arange);
FORM(linspace);
FORM(eye);
FORM(tril);
FORM(triu);
FORM(einsum);
/* activation_forms.c */
FORM(silu);
FORM(gelu);
FORM(softplus);
FORM(leaky_relu);
FORM(elu);
FORM(reciprocal);
FORM(square);
FORM(sign);
FORM(clip);
/* random_forms.c */
FORM(threefry2x32);
FORM(uniform);
FORM(normal);
FORM(bernoulli);
/* indirect_forms.c */
FORM(take);
FORM(take_along_axis);
FORM(scatter_along_axis);
FORM(slice_update);
/* window_forms.c */
FORM(conv);
FORM(conv_transpose);
FORM(max_pool);
FORM(avg_pool);
/* control_forms.c */
FORM(cond);
FORM(while);
FORM(scan);
FORM(checkpoint);
#undef FORM

/* args.c. An absent attribute leaves *out unchanged. False after failing, silently where an expression is
 * 0. */
bool op_args_collect(op_args *a, const ir_attr *attrs, size_t count, const op_attr_set *accepted,
                     const op_attr_set *required);
bool op_args_int(const op_args *a, int attr, int64_t *out);
bool op_args_expr(const op_args *a, int attr, ir_ref *out);
bool op_args_number(const op_args *a, int attr, double *out);
bool op_args_bool(const op_args *a, int attr, bool *out);
bool op_args_dtype(const op_args *a, int attr, ir_dtype *out);
bool op_args_choice(const op_args *a, int attr, const char *const *words, int count, int *out);
bool op_args_list(const op_args *a, int attr, op_list *out); /* a single expression is a list of one */
bool op_args_pairs(const op_args *a, int attr, op_list *out);
bool op_args_graph(const op_args *a, int attr, ir_ref *func);
/* `axes`, or `axis` with one axis or a list; *given: was either present? */
bool op_args_axes(const op_args *a, op_list *axes, bool *given);
/* The value of a number, true or false, with dtype I64, U64, F64 or BOOL. */
bool op_args_literal(const op_args *a, int attr, const ir_attr *item, ir_value *value, ir_dtype *kind);
bool op_args_wrong(const op_args *a, int attr,
                   const ir_attr *item); /* fails: the value is not what the attribute takes */

#endif
