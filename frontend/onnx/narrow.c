/* Types that are storage: what they are, and which operators take them. */
#include "frontend/onnx/narrow.h"

/* https://onnx.ai/onnx/technical/float8.html, float4.html, int4.html, int2.html */
enum { FIRST = 17 };
/* clang-format off */
static const onnx_narrow types[] = {
    {.name = "float8e4m3fn", .bits = 8, .is_float = true, .has_sign = true, .mantissa = 3, .bias = 7,
     .most = 0x7e, .infinity = 0x7f, .nan = 0x7f},
    {.name = "float8e4m3fnuz", .bits = 8, .is_float = true, .has_sign = true, .mantissa = 3, .bias = 8,
     .most = 0x7f, .infinity = 0x80, .nan = 0x80, .one_zero = true},
    {.name = "float8e5m2", .bits = 8, .is_float = true, .has_sign = true, .mantissa = 2, .bias = 15,
     .most = 0x7b, .infinity = 0x7c, .nan = 0x7e},
    {.name = "float8e5m2fnuz", .bits = 8, .is_float = true, .has_sign = true, .mantissa = 2, .bias = 16,
     .most = 0x7f, .infinity = 0x80, .nan = 0x80, .one_zero = true},
    {.name = "uint4", .bits = 4, .low = 0, .high = 15},
    {.name = "int4", .bits = 4, .low = -8, .high = 7},
    {.name = "float4e2m1", .bits = 4, .is_float = true, .has_sign = true, .mantissa = 1, .bias = 1,
     .most = 0x7, .infinity = 0x7, .nan = 0x8},
    {.name = "float8e8m0", .bits = 8, .is_float = true, .mantissa = 0, .bias = 127,
     .most = 0xfe, .infinity = 0xff, .nan = 0xff},
    {.name = "uint2", .bits = 2, .low = 0, .high = 3},
    {.name = "int2", .bits = 2, .low = -2, .high = 1}};
/* clang-format on */
enum { TYPES = sizeof types / sizeof *types };

const onnx_narrow *onnx_narrow_of(int64_t number) {
  return number >= FIRST && number < FIRST + TYPES ? &types[number - FIRST] : NULL;
}

ir_dtype onnx_narrow_storage(const onnx_narrow *t) { return t->low < 0 ? IR_I8 : IR_U8; }

size_t onnx_narrow_bytes(const onnx_narrow *t, int64_t count) {
  size_t each = 8 / t->bits;
  return ((size_t)count + each - 1) / each;
}

/* Byte b holds elements b * each, b * each + 1, ..., from its low bits up; negative integers are in two's
 * complement: (x XOR half) - half, where half is the weight of the sign. */
ir_ref onnx_narrow_unpack(onnx_import *m, const onnx_narrow *t, ir_ref packed, int rank,
                          const int64_t *shape) {
  ir_graph *g = m->g;
  ir_ref dims[IR_MAX_RANK], all = ir_index(g, 1), zero = ir_index(g, 0);
  int each = 8 / t->bits;
  for (int i = 0; i < rank; i++) dims[i] = ir_index(g, shape[i]), all = pass_mul(g, all, dims[i]);
  if (each > 1 && packed) {
    ir_ref pairs[2] = {ir_dim(g, packed, 0), ir_index(g, each)}, flat = ir_index(g, -1),
           bounds[2] = {zero, all};
    ir_ref shift =
        op_binary(g, IR_OP_MUL, op_iota(g, IR_U8, pairs, 2, 1), op_const(g, IR_U8, (ir_value){.i = t->bits}));
    packed = op_binary(g, IR_OP_SHR, op_expand(g, op_unsqueeze(g, packed, 1), pairs, 2), shift);
    packed = op_binary(g, IR_OP_AND, packed, op_const(g, IR_U8, (ir_value){.i = (1 << t->bits) - 1}));
    packed = op_shrink(g, op_reshape(g, packed, &flat, 1), bounds, 1);
  }
  if (t->low < 0) {
    ir_ref half = op_const(g, IR_I8, (ir_value){.i = 1 << (t->bits - 1)});
    packed = op_binary(g, IR_OP_SUB, op_binary(g, IR_OP_XOR, op_cast(g, packed, IR_I8), half), half);
  }
  return op_reshape(g, packed, dims, (size_t)rank);
}

/* which operators */

enum { MOVES = 1, OWN };
static const struct {
  const char *name;
  int how; /* MOVES: the outputs are elements of the inputs; OWN: it says itself what they are */
} takers[] = {{"Identity", OWN},
              {"Cast", OWN},
              {"CastLike", OWN},
              {"QuantizeLinear", OWN},
              {"Shape", OWN},
              {"Size", OWN},
              {"DequantizeLinear", OWN},
              {"If", OWN},
              {"Reshape", MOVES},
              {"Flatten", MOVES},
              {"Squeeze", MOVES},
              {"Unsqueeze", MOVES},
              {"Transpose", MOVES},
              {"Expand", MOVES},
              {"Tile", MOVES},
              {"Slice", MOVES},
              {"Split", MOVES},
              {"Concat", MOVES},
              {"Gather", MOVES},
              {"GatherND", MOVES},
              {"GatherElements", MOVES},
              {"SpaceToDepth", MOVES},
              {"DepthToSpace", MOVES}};

static int how_taken(const onnx_node *n) {
  for (size_t i = 0; i < sizeof takers / sizeof *takers; i++)
    if (wire_is(n->proto->op, takers[i].name)) return takers[i].how;
  return 0;
}

int64_t onnx_narrow_in(const onnx_node *n, int input) {
  return input < n->input_count && n->inputs[input] ? n->inputs[input]->narrow : 0;
}

bool onnx_narrow_ready(onnx_node *n) {
  int64_t first = onnx_narrow_in(n, 0);
  for (int i = 0; i < n->input_count; i++) {
    int64_t type = onnx_narrow_in(n, i);
    int how = type ? how_taken(n) : OWN;
    if (!how)
      return onnx_lacks(n,
                        "input %d is of dtype %s, which is storage; takes it cast or dequantised before, or "
                        "operators that move elements",
                        i, onnx_dtype_name(type));
    if (how == MOVES && type != first)
      return onnx_refuse(n, "inputs of dtype %s and another one", onnx_dtype_name(type));
  }
  return true;
}

void onnx_narrow_moved(onnx_node *n) {
  int64_t type = onnx_narrow_in(n, 0);
  if (!type || how_taken(n) != MOVES) return;
  for (int i = 0; i < n->output_count; i++)
    if (n->outputs[i]) n->outputs[i]->narrow = type;
}
