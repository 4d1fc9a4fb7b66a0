/* Custom operations; part of viewfold.h. */
#ifndef VIEWFOLD_H
#include "viewfold.h" /* which includes this one in its place */
#endif
#ifndef VIEWFOLD_CUSTOM_H
#define VIEWFOLD_CUSTOM_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------- custom operations */
/* A custom operation is defined by the user and registered in a context by name. It is used like any other:
 * in text graphs, by vf_apply and vf_apply_all, under vf_vjp and vf_jvp, in compiled programs and by
 * vf_evaluate. It is a function of its operands and attributes alone: equal uses may become one call, and a
 * use whose results are not needed is not called. */

/* The value of an attribute: of VF_I64 and VF_BOOL in i, of VF_F64 in f. */
typedef union vf_op_scalar {
  int64_t i;
  double f;
} vf_op_scalar;

typedef struct vf_op_attribute {
  const char *name;
  vf_dtype dtype; /* VF_BOOL, VF_I64 or VF_F64 */
  bool optional;
  vf_op_scalar value; /* where it is optional and not given */
} vf_op_attribute;

/* One use of the operation, for the functions below. They record into the graph, and return false after
 * failing: for a reason that a builder has noted in the graph, or that they write to `message`, which has
 * room for 256 bytes. */
typedef struct vf_op_call {
  vf_graph *graph;
  void *user; /* of the description */
  const vf_value *operands;
  const vf_op_scalar *attributes; /* as the description lists them */
  char *message;
} vf_op_call;

/* The type of a result. Sizes are expressions of variables and integers, from vf_integer or, for an operand's
 * size, vf_op_size. */
typedef struct vf_op_type {
  vf_dtype dtype;
  int rank;
  vf_value shape[16];
} vf_op_type;
VF_API vf_value vf_op_size(vf_value operand, int axis); /* the size of an axis, as an expression */

/* Which operands may be partial sums, which are still to be summed over devices, so that the results are
 * partial sums, too: none; the only operand; all operands together; any one while the others are not; the
 * first. */
typedef enum vf_op_partial {
  VF_PARTIAL_NEVER = 0,
  VF_PARTIAL_ALWAYS = 1,
  VF_PARTIAL_ALL = 2,
  VF_PARTIAL_ONE = 3,
  VF_PARTIAL_FIRST = 4
} vf_op_partial;

/* A member that is zero is absent. Strings and lists are copied. Exactly one of function, source and compose
 * says what the operation computes (opencl may be given in addition to function or source).
 *
 * signature says how `function`, cast to void (*)(void), or the function `symbol` (default: name) in the C
 * text `source` is called: what it returns, void or int (not 0: it has failed, and so has the run, with
 * VF_ERR_DEVICE), and what it takes, such as "int(in0, out0, i64 in0.count, f32 factor, user, message)":
 * - in0, out0: const pointer to the elements of operand 0, pointer to those of result 0. Every result is
 *   among the parameters, and all of it is to be written;
 * - TYPE in0, TYPE out0: the same, and a use with an operand or result of another dtype is refused;
 * - TYPE in0[1]: size of axis 1 of operand 0; TYPE in0.count: number of its elements; TYPE in0.rank;
 *   in0.shape: const int64_t pointer to its sizes; the same of results;
 * - TYPE name: the attribute of that name;
 * - user: void pointer;
 * - message: char pointer to 256 bytes, for the reason of a failure.
 * TYPE is a dtype (not f16 or bf16), or char, short, int, long, size_t, float, double. Elements have the
 * dtype of the operand: a function for one dtype says so, as in "void(f32 in0, f32 out0)"; bf16 and f16 can
 * be said there. A function may be called from several threads at once, and must not realise, make or collect
 * tensors. A source is compiled by the system's `cc` at its first use, and kept in the cache on disk.
 *
 * opencl is OpenCL C 1.2 for contexts whose device is an OpenCL one, which otherwise call the function on the
 * host between the device's kernels. It defines a function (no kernel) called `symbol`, with the same
 * signature but for user and message, which are left out. It is called once for each element of the first
 * result, by a separate work-item: get_global_id(0) is the element's number. in0 and out0 are
 * `global const T *` and `global T *` with T as elements are stored: bool is uchar, f16 half, bf16 ushort;
 * in0.shape is a `const long *` to private memory; numbers have OpenCL's types of their size, bool is uchar.
 * If it returns int, a value other than 0 for any element is a failure, as above. It does not see other
 * OpenCL texts of the program. */
typedef struct vf_op_description {
  size_t size;           /* sizeof(vf_op_description) */
  const char *name;      /* letters, digits and _, at most 47; not the name of an operation */
  int operands, results; /* 0 to 16, 1 to 16 */
  int attribute_count;   /* at most 16 */
  const vf_op_attribute *attributes;
  void *user;
  void (*release)(void *user); /* called when the context is freed */
  /* dtype and shape of every result; NULL: those of the first operand. */
  bool (*shape)(const vf_op_call *call, vf_op_type *results);
  void (*function)(void);
  const char *signature;
  const char *source, *symbol;
  const char *opencl; /* for OpenCL devices; the CPU does not run it */
  /* Records the results with other builders: batches and derivatives follow. */
  bool (*compose)(const vf_op_call *call, vf_value *results);
  /* What the cotangents of all results contribute to the cotangent of each operand, of its shape and dtype;
   * the error value stands for no contribution. vf_vjp and vf_grad need it. */
  bool (*vjp)(const vf_op_call *call, const vf_value *results, const vf_value *cotangents,
              vf_value *gradients);
  /* How the results vary when the operands vary by the tangents. vf_jvp needs it. */
  bool (*jvp)(const vf_op_call *call, const vf_value *results, const vf_value *tangents, vf_value *varied);
  /* Factors of axes, such as "m k, k n -> m n" (docs/operations.md): on a mesh the function is called for the
   * parts of axes that a factor is divided in. Results are summands where no result has the factor; an axis
   * that is needed whole is written 1. Without a rule operands are whole on every device. */
  const char *sharding;
  vf_op_partial partial;
  int64_t flops; /* for each element of all results */
  /* For operands in a batch: the operands of the call are arrays whose first batch_dims axes are the batch,
   * the same for all. Records the results, with these axes first, by other builders, or by the operation
   * itself where it takes such arrays. Without it the function is called for each element. */
  bool (*batch)(const vf_op_call *call, int batch_dims, vf_value *results);
} vf_op_description;

/* VF_ERR_INVALID: a name that is taken or is no name, counts out of range, a signature or sharding rule that
 * cannot be read, not exactly one way to compute. Programs that use the operation are kept on disk by its
 * name: a process that runs one must register it first. */
VF_API vf_status vf_register_op(vf_context *context, const vf_op_description *description, vf_error *error);

#ifdef __cplusplus
}
#endif
#endif
