/* Dequantized values: bytes with a zero point and a scale. */
#ifndef VIEWFOLD_PASSES_LOWER_DEQUANTIZED_H
#define VIEWFOLD_PASSES_LOWER_DEQUANTIZED_H

#include "ir/ir.h"

enum { LOWER_MAX_VIEWS = 96 }; /* because windows have nine for an axis, below elementwise operations */

/* scale * (bytes - zero) */
typedef struct lower_dequantized {
  ir_ref bytes;      /* i8 or u8, of the shape of the value */
  ir_ref zero;       /* i32, of that shape or a CONST; 0: none */
  ir_ref scale;      /* f32, the same */
  int64_t low, high; /* bounds of bytes - zero */
  bool padded;       /* the bytes are padded, where the value was */
  bool stored;       /* below a STORED, which is left out */
} lower_dequantized;

/* The parts of a value of f32 or i32. False: it is computed in another way, or memory is short. */
bool lower_dequantized_of(ir_graph *g, ir_ref value, lower_dequantized *out);
/* bytes - zero in this dtype, i32 or f32; 0 on failure. */
ir_ref lower_centred_bytes(ir_graph *g, const lower_dequantized *d, ir_dtype dtype);

/* The view, of x; x where it is a number. Padding is with zeros. */
ir_ref lower_view_on(ir_graph *g, ir_ref view, ir_ref x);

#endif
