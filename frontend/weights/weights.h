/* The folder frontend/weights. Arrays of files as constants of graphs.
 *
 *   in      names of files, and of arrays in them
 *   out     nodes, and the constants that they name
 *   holds   an array is not read where its digest is known; a graph can say where its constants come from */

/* Constants from files: `data file="w.safetensors" name="encoder.weight"` (frontend/files/arrays.h says which
 * files). Arrays that lie in the file as kernels read them are mapped; others are converted into memory.
 * Blocks of GGUF (Q8_0, Q4_0) are mapped and become elements by operations of the graph. */
#ifndef VIEWFOLD_FRONTEND_WEIGHTS_WEIGHTS_H
#define VIEWFOLD_FRONTEND_WEIGHTS_WEIGHTS_H

#include "frontend/files/arrays.h"
#include "ir/resource.h"
#include "runtime/cache/range_digests.h"
#include "runtime/runtime.h"

typedef struct fe_weights_file {
  struct fe_weights_file *next;
  fe_arrays arrays;
  rt_range_digests digests; /* when `digesting` */
  bool digesting;
  size_t allocated; /* bytes of this allocation */
  char path[];
} fe_weights_file;

/* Files that are open, each once, and the constants that were made from them. */
typedef struct fe_weights {
  const ir_mem *mem;
  rt_context *context; /* NULL: there are no constants, and nodes say only where theirs come from */
  fe_weights_file *files;
  rt_constant **held; /* so that the context has them until a graph does */
  size_t held_count, held_cap;
} fe_weights;

/* No file is open yet. */
void fe_weights_init(fe_weights *weights, const ir_mem *mem, rt_context *context);
/* Closes the files, and stores digests that are new. */
void fe_weights_close(fe_weights *weights);
/* The file, which is opened at the first call with this path; NULL after failing. bytes: one of no format,
 * for arrays at offsets. */
fe_weights_file *fe_weights_open(fe_weights *weights, const char *path, size_t length, bool bytes,
                                 ir_error *error);
/* A use of the constant with the bytes of an array: its elements, or its blocks. Needs a context. */
ir_status fe_weights_constant(fe_weights *weights, fe_weights_file *file, size_t index, rt_constant **out,
                              ir_error *error);
/* The same for a node that came from a file. IR_ERR_INVALID where the array is not of its type any more. */
ir_status fe_weights_resolve(fe_weights *weights, const ir_graph *graph, ir_ref resource, rt_constant **out,
                             ir_error *error);

/* What a text says of an array beside its name. */
typedef struct fe_declared {
  ir_dtype dtype; /* none: not said */
  int rank;       /* -1: not said */
  int64_t shape[IR_MAX_RANK];
} fe_declared;

/* The array as a value: a RESOURCE node, or the elements of such nodes' blocks. Blocks may be declared to be
 * the elements of another dtype that their bytes are. 0 after failing, with graph->error. */
ir_ref fe_weights_value(fe_weights *weights, ir_graph *graph, const ir_origin *origin,
                        const fe_declared *declared);

#endif
