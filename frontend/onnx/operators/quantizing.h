/* What quantised operators of ONNX and of ONNX Runtime share. */
#ifndef VIEWFOLD_FRONTEND_ONNX_QUANTIZING_H
#define VIEWFOLD_FRONTEND_ONNX_QUANTIZING_H

#include "frontend/onnx/import.h"

/* x as i32, minus its zero point; 0: none. */
ir_ref onnx_centred(onnx_node *n, ir_ref x, ir_ref zero);
/* A vector with an entry for each row of a left operand, or for each column of a right one. */
ir_ref onnx_of_rows(onnx_node *n, ir_ref value);
ir_ref onnx_of_columns(onnx_node *n, ir_ref value);
/* The zero points of an input: one where all are known to be equal, so that their operation is one of numbers
 * (per-channel weights have a zero for each channel). 0: none, or one that is 0. */
ir_ref onnx_zero_points(onnx_node *n, int input, ir_ref zero);
/* A quotient rounded, with the zero point added, which may be 0 for none, and saturated to the dtype. */
ir_ref onnx_saturated(onnx_node *n, ir_ref quotient, ir_ref zero, ir_dtype dtype);
/* Puts integers whose scale is the product of two scales, converted to the result's scale. */
bool onnx_requantized(onnx_node *n, ir_ref y, ir_ref scale_a, ir_ref scale_b, ir_ref scale, ir_ref zero);
/* x quantised by its least and greatest element, 0 included. */
ir_ref onnx_quantized_by_range(onnx_node *n, ir_ref x, ir_ref *scale, ir_ref *zero);

#endif
