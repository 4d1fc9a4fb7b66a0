/* Types of ONNX that viewfold has no dtype for: floats of 8 and 4 bits, integers of 4 and 2. They are
 * storage: an integer takes an element of i8 or u8, a float an element of u8 that holds its bits. Values know
 * which of them they are (onnx_value.narrow); they can be moved, cast, quantised and dequantised. */
#ifndef VIEWFOLD_FRONTEND_ONNX_NARROW_H
#define VIEWFOLD_FRONTEND_ONNX_NARROW_H

#include "frontend/onnx/import.h"

/* A float has, from the highest bit on, a sign, an exponent and `mantissa` bits. Its value is (1 + fraction)
 * * 2^(exponent - bias), or, with the exponent 0, fraction * 2^(1 - bias). */
typedef struct onnx_narrow {
  const char *name;
  uint8_t bits;
  bool is_float, has_sign;
  int8_t mantissa, bias;
  uint8_t most; /* floats: the greatest number */
  uint8_t
      infinity;  /* what is beyond it becomes; `nan` where there is none, and `most` where there is neither */
  uint8_t nan;   /* what a NaN becomes */
  bool one_zero; /* no negative zero: its bits are the NaN */
  int8_t low, high; /* of integers */
} onnx_narrow;

/* Of the number of a type in onnx.proto; NULL: no such type. */
const onnx_narrow *onnx_narrow_of(int64_t number);
ir_dtype onnx_narrow_storage(const onnx_narrow *t);
size_t onnx_narrow_bytes(const onnx_narrow *t, int64_t count); /* packed */
/* Elements from packed bytes, the low bits first. */
ir_ref onnx_narrow_unpack(onnx_import *m, const onnx_narrow *t, ir_ref packed, int rank,
                          const int64_t *shape);

/* May the node take the values of such types that it is given? False after an error. */
bool onnx_narrow_ready(onnx_node *n);
/* After recording: outputs that the operator only moved are of the type of the first input. */
void onnx_narrow_moved(onnx_node *n);
/* The type of an input; 0 where viewfold has its dtype. */
int64_t onnx_narrow_in(const onnx_node *n, int input);

/* operators/narrowing.c. Of storage, as the dtype; exact in f32. */
ir_ref onnx_widened(onnx_node *n, ir_ref x, int64_t from, ir_dtype to);
/* To storage: rounded to nearest even. Of a float beyond the greatest number, `saturate` or not as Cast has
 * it. */
ir_ref onnx_narrowed(onnx_node *n, ir_ref x, int64_t to, bool saturate);
/* As onnx_in, in a dtype that is computed with: f32 where the input is narrow. */
ir_ref onnx_wide_in(onnx_node *n, int input);
/* Puts storage of that type. */
bool onnx_put_narrow(onnx_node *n, int output, ir_ref value, int64_t type);

#endif
