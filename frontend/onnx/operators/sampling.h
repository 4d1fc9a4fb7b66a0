/* Elements at places between those of a tensor: sums of its elements times weights. */
#ifndef VIEWFOLD_FRONTEND_ONNX_SAMPLING_H
#define VIEWFOLD_FRONTEND_ONNX_SAMPLING_H

#include "frontend/onnx/import.h"

/* The elements of one axis that an element of the result takes, at most 4. */
typedef struct onnx_taps {
  int count;
  ir_ref at[4];     /* indices along the axis, floats that are whole numbers */
  ir_ref weight[4]; /* 0: 1 */
  ir_ref inside[4]; /* bool: is there such an element? Where not it counts as 0. 0: always */
} onnx_taps;

/* What is sampled: images whose axes come last. */
typedef struct onnx_source {
  ir_ref x;     /* [channels, images * elements of an image] */
  ir_ref image; /* i64: which image an element of the result is of, broadcasts with the taps */
  int axes;
  ir_ref sizes[IR_MAX_RANK]; /* of an image */
  ir_dtype inner;            /* that weights and sums have */
} onnx_source;

/* The source of x, [images, channels, sizes...]. */
onnx_source onnx_source_of(onnx_node *n, ir_ref x, int axes, ir_ref image);
/* [channels, places...]: elements times the weights of all axes, joined by ADD or MAX. */
ir_ref onnx_sampled(onnx_node *n, const onnx_source *s, const onnx_taps *taps, ir_op join);
/* Of two neighbours; outside there is nothing. size: a float of rank 0 in the dtype of the place. */
onnx_taps onnx_linear_taps(onnx_node *n, ir_ref place, ir_ref size);
/* A size as a float. */
ir_ref onnx_real_size(onnx_node *n, ir_ref size, ir_dtype dtype);

#endif
