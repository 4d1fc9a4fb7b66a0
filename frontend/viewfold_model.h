/* Models: constants, which are the weights of one; part of viewfold.h. */
#ifndef VIEWFOLD_MODEL_H
#define VIEWFOLD_MODEL_H

#include "viewfold.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------- constants */
/* A constant is an array whose elements belong to somebody: the context, for vf_data of more than 1,024
 * bytes, or the caller of vf_constant_borrow. A graph has only a digest of them, so printing and compiling it
 * take the same time whatever its size, and programs of graphs that differ in elements alone are the same
 * code. Each call makes a constant of its own; equal elements are kept once in a context. */

/* As vf_data, of elements that stay where they are: weights that are mapped from a file, an array of another
 * library. They are read once now, for a digest. Nobody may change them until release(elements, user) is
 * called, once: when no graph and no program uses them any more, or before this call returns, where the
 * context holds equal elements already and where it fails. On any thread; it may be NULL. The elements are
 * aligned as their dtype requires. */
typedef void (*vf_release)(const void *elements, void *user);
VF_API vf_value vf_constant_borrow(vf_graph *graph, vf_dtype dtype, int rank, const int64_t *shape,
                                   const void *elements, vf_release release, void *user);

/* Other elements, of the same dtype and shape, for a constant of the graph that the program was compiled
 * from: a value of vf_data (of more than 1,024 bytes) or vf_constant_borrow. Nothing is compiled. They belong
 * to the program from now on, as vf_constant_borrow says. No run of the program may be in progress. */
VF_API vf_status vf_program_set_constant(vf_program *program, vf_value constant, const void *elements,
                                         vf_release release, void *user, vf_error *error);

/* ---------------------------------------------------------------------------------------- models */

/* A symbolic size of a model, by the name that it has there: low <= size <= high. Equal bounds fix it. */
typedef struct vf_import_size {
  const char *name;
  int64_t low, high;
} vf_import_size;

/* The value of an input, which is then a constant of the graph and no input: what operators need to know when
 * the graph is made, such as a shape. */
typedef struct vf_import_value {
  const char *name;
  vf_dtype dtype;
  int rank;
  const int64_t *shape;
  const void *elements; /* copied */
} vf_import_value;

typedef struct vf_import_options {
  size_t size; /* sizeof(vf_import_options) */
  int size_count, value_count;
  const vf_import_size *sizes; /* of sizes that are not listed: 1 to 65,536 */
  const vf_import_value *values;
} vf_import_options;

/* The graph of an ONNX model: a file of operator sets 7 to 26, with its weights inside or in files beside it,
 * which are mapped and stay so as long as the graph or a program of it uses them. Inputs and outputs have the
 * names that the model gives them; symbolic sizes are variables. options may be NULL. NULL after failing:
 * VF_ERR_IO, VF_ERR_INVALID (a damaged file, a model that breaks a rule), VF_ERR_UNSUPPORTED (an operator or
 * dtype that viewfold lacks); the message names the file, the node, its operator and its inputs. */
VF_API vf_graph *vf_import_onnx(vf_context *context, const char *path, const vf_import_options *options,
                                vf_error *error);

#ifdef __cplusplus
}
#endif

#endif
