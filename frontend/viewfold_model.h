/* Models: constants, which are the weights of one, and files of them; part of viewfold.h. */
#ifndef VIEWFOLD_H
#include "viewfold.h" /* which includes this one in its place */
#endif
#ifndef VIEWFOLD_MODEL_H
#define VIEWFOLD_MODEL_H

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------- constants */
/* A constant is an array whose elements belong to somebody: the context, for vf_data of more than 1,024
 * bytes, or the caller of vf_constant_borrow. A graph has only a digest of them, so printing and compiling it
 * take the same time whatever its size, and programs of graphs that differ in elements alone are the same
 * code. Each call makes a constant of its own; equal elements are kept once in a context. */

/* As vf_data, of elements that stay where they are: weights that are mapped from a file, an array of another
 * library. They are read once now, for a digest, and once more when what a program computes from them alone
 * is stored in the cache on disk. Nobody may change them until release(elements, user) is called, once: when
 * no graph and no program uses them any more, or before this call returns, where the context holds equal
 * elements already and where it fails. On any thread; it may be NULL. The elements may lie at any address. */
typedef void (*vf_release)(const void *elements, void *user);
VF_API vf_value vf_constant_borrow(vf_graph *graph, vf_dtype dtype, int rank, const int64_t *shape,
                                   const void *elements, vf_release release, void *user);

/* Other elements, of the same dtype and shape, for a constant of the graph that the program was compiled
 * from: a value of vf_data (of more than 1,024 bytes) or vf_constant_borrow. Nothing is compiled. They belong
 * to the program from now on, as vf_constant_borrow says. No run of the program may be in progress. */
VF_API vf_status vf_program_set_constant(vf_program *program, vf_value constant, const void *elements,
                                         vf_release release, void *user, vf_error *error);

/* The constants of a graph, of vf_data and vf_constant_borrow, of files that its text names, the weights of a
 * model: how many there are, and of each, by a number below that, its value, whose dtype and shape
 * vf_value_dtype and its kin tell, and its name: that of the array in the file, or the file's where the array
 * has none; of a model, that of the initialiser; "" of those that are in memory alone. The name is valid
 * until the graph is changed. Without such a constant: an error value, NULL. */
VF_API size_t vf_constant_count(const vf_graph *graph);
VF_API vf_value vf_constant_at(vf_graph *graph, size_t number);
VF_API const char *vf_constant_name(const vf_graph *graph, size_t number);
/* The number of the first constant of that name; vf_constant_count where there is none. So
 * vf_program_set_constant(program, vf_constant_at(graph, vf_constant_find(graph, "encoder.weight")), ...)
 * gives a program other weights by name. */
VF_API size_t vf_constant_find(const vf_graph *graph, const char *name);

/* ------------------------------------------------------------------------------- files of arrays */
/* safetensors, .npz, .npy and GGUF (versions 2 and 3), told by their first bytes. The file is mapped: its
 * arrays are constants that all processes share, of which nothing is read before a program runs, once their
 * digests are known; these are kept in the cache on disk, by the file's identity: device, inode, size, times
 * in nanoseconds. Arrays that do not lie in the file as programs read them (compressed, bools, big-endian, in
 * Fortran's order) are converted into memory; they may lie at any offset. Blocks of GGUF, Q8_0 and Q4_0, stay
 * what they are in memory too: operations of the graph make f32 of them where they are used, bit for bit as
 * GGUF's own package.
 *
 * A file must stay as it is while programs use it. One that is written to, or becomes shorter, is noticed:
 * the run gives VF_ERR_IO with the file's name, its results are unspecified, and so does any later run of
 * that program; the file is to be opened again. Replacing a file by another of its name changes nothing:
 * programs keep the one that they have. While a file is mapped, or an entry of the cache on disk with what is
 * computed from constants alone (docs/cache.md), the process has a handler for SIGBUS, which passes signals
 * on that concern neither; one that a program installs later should do the same.
 *
 * Files need not be trusted: sizes, offsets, overlaps, holes of safetensors, names and checksums of
 * compressed arrays are checked. */
typedef struct vf_arrays vf_arrays;
enum { VF_MAX_RANK = 16 }; /* axes of an array */

/* Open a file. NULL after failing: VF_ERR_IO, VF_ERR_INVALID for contents, VF_ERR_MEMORY. Closing it is
 * allowed while its constants are in use; it stores the digests that are new. */
VF_API vf_arrays *vf_arrays_open(vf_context *context, const char *path, vf_error *error);
VF_API void vf_arrays_close(vf_arrays *arrays); /* accepts NULL */

/* The format, "safetensors", ".npz", ".npy" or "GGUF"; the number of arrays, and of each, by a number below
 * that, in the order of the file: its name ("" of .npy), its type as the format calls it ("F32", "<f4",
 * "Q8_0"), its dtype (f32 of Q8_0 and Q4_0; VF_NONE: viewfold cannot read it), and its rank, with the sizes
 * written to `shape` unless that is NULL. Strings are valid until the file is closed. Without such an array:
 * NULL, VF_NONE, -1. */
VF_API const char *vf_arrays_format(const vf_arrays *arrays);
VF_API size_t vf_arrays_count(const vf_arrays *arrays);
VF_API const char *vf_arrays_name(const vf_arrays *arrays, size_t number);
VF_API const char *vf_arrays_type(const vf_arrays *arrays, size_t number);
VF_API vf_dtype vf_arrays_dtype(const vf_arrays *arrays, size_t number);
VF_API int vf_arrays_shape(const vf_arrays *arrays, size_t number, int64_t shape[VF_MAX_RANK]);
/* The number of the array of that name; vf_arrays_count where there is none. */
VF_API size_t vf_arrays_find(const vf_arrays *arrays, const char *name);

/* An array of the file as a value of the graph; name NULL: the only one. The graph's text says
 * `data file="PATH" name="NAME"`, which vf_graph_parse reads, with PATH beside the text's own file. A program
 * that depends on it may be given another by vf_program_set_constant, unless it is of blocks. */
VF_API vf_value vf_arrays_constant(vf_graph *graph, vf_arrays *arrays, const char *name);

/* The elements of array `number`, row-major, into memory of exactly as many bytes. VF_ERR_INVALID: there is
 * no such array, or it has other bytes; VF_ERR_UNSUPPORTED: blocks, and elements that viewfold does not know.
 */
VF_API vf_status vf_arrays_read(vf_arrays *arrays, size_t number, void *elements, size_t bytes,
                                vf_error *error);

/* Write arrays to a file, which appears whole or not at all, called NAME.safetensors or NAME.npz, or of one
 * array NAME.npy. Elements are contiguous and row-major; they are aligned in the file. Names are UTF-8, none
 * empty, no two equal. */
typedef struct vf_named_array {
  const char *name;
  vf_dtype dtype;
  int rank;
  const int64_t *shape;
  const void *elements;
} vf_named_array;
VF_API vf_status vf_arrays_write(vf_context *context, const char *path, size_t count,
                                 const vf_named_array *arrays, vf_error *error);

/* A .npy file, or the only array of another one, as a realised tensor; NULL after failing. And the elements
 * of a tensor, which is realised, as a .npy file. */
VF_API vf_tensor *vf_npy_read(vf_context *context, const char *path, vf_error *error);
VF_API vf_status vf_npy_write(vf_tensor *tensor, const char *path, vf_error *error);

/* -------------------------------------------------------------------------------------- learning */
/* One step of an optimiser, as compositions: weights[i] and what is kept beside them become the values after
 * the step; gradients come from vf_grad, rate is a scalar. What fails is noted in the graph.
 *
 *   vf_grad(loss, count, weights, gradients);
 *   vf_sgd(count, weights, gradients, speeds, rate, 0.9);
 */

/* vf_grad by all leaves of a tree of parameters, into a tree of the same form, as a dictionary of layers in
 * Python. False after failing, with the reason noted in the graph. */
VF_API bool vf_grad_tree(vf_value output, const vf_tree *parameters, vf_tree *gradients);

/* Gradient descent: speed = momentum * speed + gradient; weight -= rate * speed. speeds NULL: without, and
 * momentum is 0. */
VF_API void vf_sgd(int count, vf_value *weights, const vf_value *gradients, vf_value *speeds, vf_value rate,
                   double momentum);
/* Adam (Kingma & Ba 2015), with the weight decay of Loshchilov & Hutter (2019). step counts from 1, a scalar
 * of any dtype. means and squares begin as zeros. A member of options that is zero, or options NULL: beta1
 * 0.9, beta2 0.999, epsilon 1e-8, no decay. */
typedef struct vf_adam_options {
  size_t size; /* sizeof(vf_adam_options) */
  double beta1, beta2, epsilon, decay;
} vf_adam_options;
VF_API void vf_adam(int count, vf_value *weights, const vf_value *gradients, vf_value *means,
                    vf_value *squares, vf_value rate, vf_value step, const vf_adam_options *options);

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

/* The shape that an input is to have, for a model that leaves it open, or that is right for some sizes alone:
 * its symbolic sizes are these numbers wherever the model names them. */
typedef struct vf_import_shape {
  const char *name;
  int rank;
  const int64_t *shape;
} vf_import_shape;

typedef struct vf_import_options {
  size_t size; /* sizeof(vf_import_options) */
  int size_count, value_count, shape_count;
  const vf_import_size *sizes; /* of sizes that are not listed: 1 to 65,536 */
  const vf_import_value *values;
  const vf_import_shape *shapes;
  /* Told how many of the model's nodes are recorded, with the weights that they read; `user` is passed on.
   * May be NULL. */
  void (*progress)(void *user, size_t done, size_t nodes);
  void *user;
} vf_import_options;

/* The graph of an ONNX model: a file of operator sets 1 to 28, with its weights inside or in files beside it,
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
