/* Blocks of GGUF as elements: views and elementwise operations, which become part of the kernels that read
 * them. The arithmetic is that of the format's own reader, in f32: bit for bit the same. */
#ifndef VIEWFOLD_FRONTEND_WEIGHTS_BLOCKS_H
#define VIEWFOLD_FRONTEND_WEIGHTS_BLOCKS_H

#include "frontend/weights/weights.h"
#include "passes/ops/ops.h"

/* weights.c: a RESOURCE node for the bytes of an array, as elements of this type. */
ir_ref fe_weights_node(fe_weights *weights, ir_graph *graph, fe_weights_file *file, size_t index,
                       const ir_origin *origin, ir_dtype dtype, const int64_t *shape, int rank);
/* The elements of an array of blocks, f32. 0 after failing. */
ir_ref fe_blocks_value(fe_weights *weights, ir_graph *graph, fe_weights_file *file, size_t index,
                       const ir_origin *origin);

#endif
