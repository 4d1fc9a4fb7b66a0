/* Operators on known values (import.h). Each puts its results and sets *done, or leaves the node to be
 * recorded; false after an error. */
#ifndef VIEWFOLD_FRONTEND_ONNX_FOLD_H
#define VIEWFOLD_FRONTEND_ONNX_FOLD_H

#include "frontend/onnx/import.h"

/* Are the inputs first..end-1 known, of few elements and of a dtype that is folded? */
bool onnx_foldable(onnx_node *n, int first, int end);

/* known.c: element by element */
bool onnx_fold_binary(onnx_node *n, bool *done);
bool onnx_fold_unary(onnx_node *n, bool *done);
bool onnx_fold_cast_to(onnx_node *n, ir_dtype to, bool *done);
bool onnx_fold_where(onnx_node *n, bool *done);
bool onnx_fold_reduce(onnx_node *n, bool *done);

/* known_moves.c: elements that move */
bool onnx_fold_reshape(onnx_node *n, bool *done); /* Reshape, Squeeze, Unsqueeze, Flatten, Identity */
bool onnx_fold_concat(onnx_node *n, bool *done);
bool onnx_fold_gather(onnx_node *n, bool *done);
bool onnx_fold_slice(onnx_node *n, bool *done);
bool onnx_fold_split(onnx_node *n, bool *done);
bool onnx_fold_transpose(onnx_node *n, bool *done);
bool onnx_fold_expand(onnx_node *n, bool *done);
bool onnx_fold_constant_of_shape(onnx_node *n, bool *done);
bool onnx_fold_range(onnx_node *n, bool *done);
bool onnx_fold_nonzero(onnx_node *n, bool *done);

#endif
