/* The parts of a dequantized value, s (q - z), of bytes q with a zero point z and a scale s, through views
 * and copies of it. q - z is exact in f32, as all integers of 24 bits are. */
#include "dequantized.h"

#include "passes/ops/check.h"
#include "passes/patterns/epilogue.h"

#include <math.h>
#include <string.h>

static bool is_byte(ir_dtype dtype) { return dtype == IR_I8 || dtype == IR_U8; }

static int64_t least(ir_dtype dtype) { return dtype == IR_I8 ? INT8_MIN : 0; }
static int64_t most(ir_dtype dtype) { return dtype == IR_I8 ? INT8_MAX : UINT8_MAX; }

ir_ref lower_view_on(ir_graph *g, ir_ref view, ir_ref x) {
  const ir_node *n = ir_get(g, view);
  ir_ref src[2 + 2 * IR_MAX_RANK];
  if (!x || ir_rank(g, x) == 0) return x;
  memcpy(src, n->src, n->nsrc * sizeof *src);
  src[0] = x;
  if (n->op == IR_OP_PAD) src[1] = ir_int(g, ir_dtype_of(g, x), 0);
  return ir_make_tensor(g, (ir_op)n->op, ir_dtype_of(g, x), ir_shape(g, view), n->arg, src, n->nsrc);
}

/* Padding with zeros is that of the bytes with their zero point. */
static bool pad_parts(ir_graph *g, ir_ref pad, lower_dequantized *d) {
  const ir_node *n = ir_get(g, pad);
  ir_ref src[2 + 2 * IR_MAX_RANK], fill = n->src[1];
  ir_dtype dtype = ir_dtype_of(g, d->bytes);
  if (ir_arg_mode(n) != IR_PAD_CONSTANT || ir_op_of(g, fill) != IR_OP_CONST ||
      (ir_is_float(ir_dtype_of(g, fill)) ? ir_const_value(g, fill).f != 0 : ir_const_value(g, fill).i != 0) ||
      (d->zero && ir_op_of(g, d->zero) != IR_OP_CONST) || (d->scale && ir_op_of(g, d->scale) != IR_OP_CONST))
    return false;
  int64_t zero = d->zero ? ir_const_value(g, d->zero).i : 0;
  if (zero < least(dtype) || zero > most(dtype)) return false;
  memcpy(src, n->src, n->nsrc * sizeof *src);
  src[0] = d->bytes, src[1] = ir_int(g, dtype, zero);
  d->bytes = src[1] ? ir_make_tensor(g, IR_OP_PAD, dtype, ir_shape(g, pad), n->arg, src, n->nsrc) : 0;
  d->padded = true;
  return d->bytes != 0;
}

/* The integers of 32 bits that a value holds: a constant, or cast from bytes and seen through views; 0:
 * others. */
static ir_ref integers_of(ir_graph *g, ir_ref value, int64_t *low, int64_t *high) {
  const ir_node *n = ir_get(g, value);
  if (n->op == IR_OP_CONST) {
    bool is_float = ir_is_float((ir_dtype)n->dtype);
    ir_value v = ir_const_value(g, value);
    double number = is_float ? v.f : (double)v.i;
    if (!(fabs(number) <= UINT8_MAX) || number != floor(number)) return 0;
    *low = *high = (int64_t)number;
    return ir_int(g, IR_I32, *low);
  }
  if (n->op == IR_OP_CAST) {
    ir_dtype from = ir_dtype_of(g, n->src[0]);
    *low = least(from), *high = most(from);
    return is_byte(from) ? ir_cast(g, n->src[0], IR_I32) : 0;
  }
  if (ir_ops[n->op].cls != IR_CLASS_VIEW || n->op == IR_OP_CONCAT || n->op == IR_OP_STACK ||
      n->op == IR_OP_PAD)
    return 0;
  ir_ref below = integers_of(g, n->src[0], low, high);
  return below ? lower_view_on(g, value, below) : 0;
}

static bool subtract(ir_graph *g, ir_ref number, bool subtracted, lower_dequantized *d) {
  int64_t low = 0, high = 0;
  ir_ref zero = integers_of(g, number, &low, &high);
  if (!zero || d->scale) return false;
  bool literal = ir_op_of(g, zero) == IR_OP_CONST;
  if (literal && low == 0) return true;
  if (d->zero || (!subtracted && !literal)) return false;
  d->zero = subtracted ? zero : ir_int(g, IR_I32, -low);
  if (subtracted) d->low -= high, d->high -= low;
  else d->low += low, d->high += low;
  return d->zero != 0;
}

/* scaled: a scale stands above, so that there is none below. */
static bool parts_of(ir_graph *g, ir_ref value, int depth, bool scaled, lower_dequantized *d) {
  const ir_node *n = ir_get(g, value);
  ir_dtype dtype = (ir_dtype)n->dtype;
  if (depth == LOWER_MAX_VIEWS || (dtype != IR_F32 && dtype != IR_I32)) return false;
  if (n->op == IR_OP_STORED) {
    d->stored = true;
    return parts_of(g, n->src[0], depth + 1, scaled, d);
  }
  if (n->op == IR_OP_CAST) {
    ir_dtype from = ir_dtype_of(g, n->src[0]);
    if (from == IR_I32 && dtype == IR_F32) return parts_of(g, n->src[0], depth + 1, scaled, d);
    *d = (lower_dequantized){.bytes = n->src[0], .low = least(from), .high = most(from), .stored = d->stored};
    return is_byte(from);
  }
  if (ir_ops[n->op].cls == IR_CLASS_VIEW) {
    if (n->op == IR_OP_CONCAT || n->op == IR_OP_STACK || !parts_of(g, n->src[0], depth + 1, scaled, d))
      return false;
    if (n->op == IR_OP_PAD) return pad_parts(g, value, d);
    ir_ref had[3] = {d->bytes, d->zero, d->scale};
    d->bytes = lower_view_on(g, value, had[0]), d->zero = lower_view_on(g, value, had[1]);
    d->scale = lower_view_on(g, value, had[2]);
    return d->bytes && !d->zero == !had[1] && !d->scale == !had[2];
  }
  if (n->op == IR_OP_SUB || (n->op == IR_OP_ADD && !ir_rank(g, n->src[1])))
    return parts_of(g, n->src[0], depth + 1, scaled, d) && subtract(g, n->src[1], n->op == IR_OP_SUB, d);
  if (n->op != IR_OP_MUL || dtype != IR_F32 || scaled) return false;
  bool second = ir_rank(g, n->src[0]) && parts_of(g, n->src[0], depth + 1, true, d);
  if (!second && (!ir_rank(g, n->src[1]) || !parts_of(g, n->src[1], depth + 1, true, d))) return false;
  d->scale = n->src[second];
  return true;
}

bool lower_dequantized_of(ir_graph *g, ir_ref value, lower_dequantized *out) {
  *out = (lower_dequantized){0};
  return parts_of(g, value, 0, false, out);
}

ir_ref lower_centred_bytes(ir_graph *g, const lower_dequantized *d, ir_dtype dtype) {
  ir_ref wide = ir_cast(g, d->bytes, dtype), zero = d->zero;
  if (!zero || !wide) return wide;
  if (dtype != IR_I32)
    zero = ir_op_of(g, zero) == IR_OP_CONST ? ir_float(g, dtype, (double)ir_const_value(g, zero).i)
                                            : ir_cast(g, zero, dtype);
  return zero ? ir_binary(g, IR_OP_SUB, wide, zero) : 0;
}
