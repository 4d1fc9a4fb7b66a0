/* The folder frontend/onnx/operators. Operators of ONNX, a table for each family.
 *
 *   in      a node: its inputs, attributes, and operator set
 *   out     values of the graph, or what is known of them
 *   holds   an operator is right for all values of its attributes in all operator sets, or refuses the node
 * and says what it takes */

/* Sliding windows as ONNX has them: attributes of convolutions and pooling. */
#ifndef VIEWFOLD_FRONTEND_ONNX_WINDOWS_H
#define VIEWFOLD_FRONTEND_ONNX_WINDOWS_H

#include "frontend/onnx/import.h"

/* The windows of the axes of x behind the first two. extents: of those axes, NULL: the attribute
 * kernel_shape. Returns how many there are, -1 after an error. */
int onnx_windows_of(onnx_node *n, ir_ref x, const int64_t *extents, op_window w[IR_MAX_RANK]);
/* A convolution of these operands with the attributes of the node. bias may be 0. */
ir_ref onnx_conv(onnx_node *n, ir_ref x, ir_ref weight, ir_ref bias);

/* resizing.c: the cubic convolution kernel with parameter a (Keys 1981) at distances d >= 0. */
ir_ref onnx_cubic(onnx_node *n, ir_ref d, double a);

#endif
