#include "frontend/weights/blocks.h"

#include <string.h>

typedef struct blocks {
  fe_weights *weights;
  ir_graph *g;
  fe_weights_file *file;
  size_t index;
  ir_origin origin;
  const fe_stored *stored;
} blocks;

enum { SCALE_BYTES = 2 /* of a block, an f16 before its elements */ };

/* The blocks as elements of a dtype: the last axis is `bytes` of a block in them, of which `from` to `to` are
 * taken. [.., blocks, to - from] */
static ir_ref part(const blocks *b, ir_dtype dtype, int64_t bytes, int64_t from, int64_t to) {
  const fe_stored *s = b->stored;
  ir_graph *g = b->g;
  int64_t shape[IR_MAX_RANK + 1];
  ir_ref bounds[2 * (IR_MAX_RANK + 1)];
  int rank = s->rank;
  memcpy(shape, s->shape, (size_t)rank * sizeof *shape);
  shape[rank - 1] = s->shape[rank - 1] / FE_BLOCK;
  shape[rank] = bytes / ir_dtypes[dtype].bytes;
  ir_ref whole = fe_weights_node(b->weights, g, b->file, b->index, &b->origin, dtype, shape, rank + 1);
  for (int i = 0; i <= rank; i++) {
    bounds[2 * i] = ir_index(g, i == rank ? from : 0);
    bounds[2 * i + 1] = ir_index(g, i == rank ? to : shape[i]);
  }
  return op_shrink(g, whole, bounds, (size_t)rank + 1);
}

/* 32 i8 in each block. */
static ir_ref eight_bits(const blocks *b) {
  return op_cast(b->g, part(b, IR_I8, FE_Q8_0_BYTES, SCALE_BYTES, FE_Q8_0_BYTES), IR_F32);
}

/* Byte i of a block has element i in its low half, and element 16 + i in its high one; both have 8 added. */
static ir_ref four_bits(const blocks *b) {
  ir_graph *g = b->g;
  int rank = b->stored->rank;
  ir_ref sizes[IR_MAX_RANK + 2], halves = ir_index(g, 2);
  ir_ref bytes = part(b, IR_U8, FE_Q4_0_BYTES, SCALE_BYTES, FE_Q4_0_BYTES);
  ir_ref shift = op_iota(g, IR_U8, (ir_ref[]){halves, ir_index(g, 1)}, 2, 0);
  shift = op_binary(g, IR_OP_MUL, shift, ir_int(g, IR_U8, 4));
  ir_ref value = op_binary(g, IR_OP_SHR, op_unsqueeze(g, bytes, -2), shift);
  value = op_binary(g, IR_OP_AND, value, ir_int(g, IR_U8, 15));
  value = op_binary(g, IR_OP_SUB, op_cast(g, value, IR_F32), ir_float(g, IR_F32, 8));
  for (int i = 0; i < rank; i++) sizes[i] = ir_index(g, b->stored->shape[i] / (i == rank - 1 ? FE_BLOCK : 1));
  sizes[rank] = ir_index(g, FE_BLOCK);
  return op_reshape(g, value, sizes, (size_t)rank + 1);
}

ir_ref fe_blocks_value(fe_weights *w, ir_graph *g, fe_weights_file *f, size_t index,
                       const ir_origin *origin) {
  blocks b = {w, g, f, index, *origin, &f->arrays.items[index]};
  const fe_stored *s = b.stored;
  bool q8 = s->encoding == FE_Q8_0;
  ir_ref sizes[IR_MAX_RANK];
  b.origin.raw = true;
  if (s->rank > IR_MAX_RANK - 2) {
    ir_fail(g->error, IR_ERR_INVALID, "data: blocks of an array of %d axes; expected at most %d", s->rank,
            IR_MAX_RANK - 2);
    return 0;
  }
  ir_ref scale = part(&b, IR_F16, q8 ? FE_Q8_0_BYTES : FE_Q4_0_BYTES, 0, 1);
  ir_ref value = op_binary(g, IR_OP_MUL, q8 ? eight_bits(&b) : four_bits(&b), op_cast(g, scale, IR_F32));
  for (int i = 0; i < s->rank; i++) sizes[i] = ir_index(g, s->shape[i]);
  return op_reshape(g, value, sizes, (size_t)s->rank);
}
