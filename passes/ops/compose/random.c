/* Random numbers: Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
 * as 1, 2, 3", 2011), a function of a key (the seed) and a counter (the index of an element). An element
 * depends on nothing else, so it is computed where it is used, in any order, and is the same on every backend
 * and in every layout. */
#include "impl.h"

#include <math.h>

/* Threefry-2x32-20 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011): ROUNDS of mixing, and
 * PARITY, the word that makes the third key not zero where the others are. */
enum { ROUNDS = 20, PARITY = 0x1bd11bda };

/* Both operands are u32; folded where they are constants. */
static ir_ref word(ir_graph *g, ir_op op, ir_ref a, ir_ref b) {
  if (!a || !b || !op_is_const(g, a) || !op_is_const(g, b)) return op_binary(g, op, a, b);
  uint32_t x = (uint32_t)ir_const_value(g, a).i, y = (uint32_t)ir_const_value(g, b).i;
  return ir_int(g, IR_U32, op == IR_OP_ADD ? x + y : x ^ y);
}

static ir_ref rotated(ir_graph *g, ir_ref x, int left) {
  ir_ref up = op_binary(g, IR_OP_SHL, x, ir_int(g, IR_U32, left));
  return op_binary(g, IR_OP_OR, up, op_binary(g, IR_OP_SHR, x, ir_int(g, IR_U32, 32 - left)));
}

/* Replaces the counter x by two random words. */
static void scramble(ir_graph *g, const ir_ref key[2], ir_ref x[2]) {
  /* bits by which a round rotates, from the same paper */
  static const uint8_t rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  ir_ref both = word(g, IR_OP_XOR, key[0], key[1]);
  const ir_ref keys[3] = {key[0], key[1], word(g, IR_OP_XOR, both, ir_int(g, IR_U32, PARITY))};
  for (int i = 0; i < 2; i++) x[i] = word(g, IR_OP_ADD, x[i], keys[i]);
  for (int round = 0, step = 1; round < ROUNDS; round++) {
    x[0] = word(g, IR_OP_ADD, x[0], x[1]);
    x[1] = word(g, IR_OP_XOR, rotated(g, x[1], rotations[round % 8]), x[0]);
    if (round % 4 < 3) continue;
    x[0] = word(g, IR_OP_ADD, x[0], keys[step % 3]);
    x[1] = word(g, IR_OP_ADD, x[1], word(g, IR_OP_ADD, keys[(step + 1) % 3], ir_int(g, IR_U32, step)));
    step++;
  }
}

ir_ref op_threefry(ir_graph *g, const ir_ref operands[4]) {
  const char *who = "threefry2x32";
  ir_ref x[4], dims[IR_MAX_RANK];
  size_t rank;
  if (g->error->status || !op_tensors(g, who, operands, 4)) return 0;
  for (int i = 0; i < 4; i++) {
    x[i] = ir_get(g, operands[i])->weak ? op_convert(g, who, operands[i], IR_U32) : operands[i];
    if (!x[i]) return 0;
    if (ir_dtype_of(g, x[i]) != IR_U32)
      return op_refuse(g, "%s: operand %d has shape %s; keys and counters must be u32: cast it", who, i + 1,
                       OP_TYPE(x[i]));
  }
  if (!op_broadcast(g, who, x, 4, dims, &rank)) return 0;
  scramble(g, x, x + 2);
  return x[2] && x[3] ? ir_tuple(g, x + 2, 2) : op_compose_end(g, who, 0);
}

/* The 64 bits of the seed, its value modulo 2^64, as two words. False after failing. */
static bool key_of(ir_graph *g, const char *who, ir_ref seed, ir_ref key[2]) {
  seed = op_default_dtype(g, seed);
  if (g->error->status || !op_tensors(g, who, &seed, 1)) return false;
  if (!ir_is_data_int(ir_dtype_of(g, seed)) || ir_rank(g, seed) > 0) {
    op_refuse(g, "%s: the seed has shape %s; a seed must be a scalar of an integer dtype", who,
              OP_TYPE(seed));
    return false;
  }
  seed = op_cast(g, seed, IR_U64);
  for (int half = 0; half < 2; half++) {
    bool known = seed && op_is_const(g, seed);
    uint64_t bits = known ? (uint64_t)ir_const_value(g, seed).i >> 32 * half : 0;
    ir_ref moved = half && !known ? op_binary(g, IR_OP_SHR, seed, ir_int(g, IR_U64, 32)) : seed;
    key[half] = known ? ir_int(g, IR_U32, (uint32_t)bits) : op_cast(g, moved, IR_U32);
  }
  return key[0] && key[1];
}

/* Writes the two words of i // per_counter, where i is the row-major index of each element; *place: i as u32,
 * its low word. */
static void counters(ir_graph *g, const op_draw *d, const ir_ref *dims, int per_counter, ir_ref out[2],
                     ir_ref *place) {
  ir_ref count = op_numel(g, dims, d->rank);
  int64_t most = 0;
  if (count && !ir_is_const(g, count, &most)) most = ir_bounds_of(g, count).hi;
  ir_dtype dtype = most <= UINT32_MAX ? IR_U32 : IR_U64;
  ir_ref i = count ? op_iota(g, dtype, &count, 1, 0) : 0;
  i = i ? op_reshape_known(g, i, dims, d->rank) : 0;
  *place = op_cast(g, i, IR_U32);
  if (per_counter == 2) i = op_binary(g, IR_OP_SHR, i, ir_int(g, dtype, 1));
  out[0] = op_cast(g, i, IR_U32);
  out[1] = dtype == IR_U32 ? ir_int(g, IR_U32, 0)
                           : op_cast(g, op_binary(g, IR_OP_SHR, i, ir_int(g, dtype, 32)), IR_U32);
}

/* Random integers k, uniform in 0..2^digits - 1: 24 bits in u32, or 53 bits in u64 for f64. False after
 * failing. */
typedef struct draw {
  ir_ref k;
  int digits;
  ir_dtype wide, whole; /* the float dtype to compute in, and a signed integer that holds 2k + 1 */
} draw;

static bool draw_of(ir_graph *g, const char *who, const op_draw *d, draw *r) {
  ir_ref dims[IR_MAX_RANK], key[2], x[2], place;
  if (!key_of(g, who, d->seed, key)) return false;
  if (!ir_is_float(d->dtype)) {
    op_refuse(g, "%s: draws are floats, not %s; use f16, bf16, f32 or f64", who,
              d->dtype > IR_NONE && d->dtype < IR_INDEX ? ir_dtypes[d->dtype].name : "none of a tensor");
    return false;
  }
  if (!op_sizes(g, who, d->shape, d->rank, dims)) return false;
  bool both = d->dtype == IR_F64;
  *r = both ? (draw){0, 53, IR_F64, IR_I64} : (draw){0, 24, IR_F32, IR_I32};
  counters(g, d, dims, both ? 1 : 2, x, &place);
  scramble(g, key, x);
  if (both) {
    ir_ref high = op_binary(g, IR_OP_SHL, op_cast(g, x[1], IR_U64), ir_int(g, IR_U64, 32));
    ir_ref bits = op_binary(g, IR_OP_OR, high, op_cast(g, x[0], IR_U64));
    r->k = op_binary(g, IR_OP_SHR, bits, ir_int(g, IR_U64, 11));
  } else {
    ir_ref zero = ir_int(g, IR_U32, 0), odd = op_binary(g, IR_OP_AND, place, ir_int(g, IR_U32, 1));
    ir_ref one = op_where(g, op_binary(g, IR_OP_EQ, odd, zero), x[0], x[1]);
    r->k = op_binary(g, IR_OP_SHR, one, ir_int(g, IR_U32, 8));
  }
  r->k = op_cast(g, r->k, r->whole);
  if (!r->k) op_compose_end(g, who, 0);
  return r->k != 0;
}

/* x * 2^-digits; x is an integer of no more bits than the float holds, so both steps are exact */
static ir_ref fraction(ir_graph *g, const draw *r, ir_ref x) {
  return op_mul(g, op_cast(g, x, r->wide), ir_float(g, r->wide, ldexp(1, -r->digits)));
}

static double round_to_dtype(double value, ir_dtype dtype) {
  return ir_value_cast((ir_value){.f = value}, IR_F64, dtype).f;
}

/* The next float of the dtype below a finite one: its bits minus 1 if positive, plus 1 if negative, where 0
 * counts as -0. */
static double next_below(double value, ir_dtype dtype) {
  static const ir_dtype bits[] = {[2] = IR_U16, [4] = IR_U32, [8] = IR_U64};
  unsigned char element[8];
  ir_dtype whole = bits[ir_dtypes[dtype].bytes];
  ir_value_store(element, dtype, (ir_value){.f = value == 0 ? -0.0 : value});
  ir_value v = ir_value_load(element, whole);
  v.i += value > 0 ? -1 : 1;
  ir_value_store(element, whole, v);
  return ir_value_load(element, dtype).f;
}

ir_ref op_uniform(ir_graph *g, const op_draw *d, double low, double high) {
  draw r;
  if (!draw_of(g, "uniform", d, &r)) return 0;
  low = round_to_dtype(low, d->dtype), high = round_to_dtype(high, d->dtype);
  double distance = round_to_dtype(high - low, r.wide);
  if (!(low < high && isfinite(distance)))
    return op_refuse(
        g,
        "uniform: cannot draw numbers from %g to below %g in %s; takes finite numbers low < high, at a "
        "finite distance",
        low, high, ir_dtypes[d->dtype].name);
  ir_ref x = fraction(g, &r, r.k);
  if (low != 0 || high != 1)
    x = op_add(g, op_mul(g, x, ir_float(g, r.wide, distance)), ir_float(g, r.wide, low));
  else if (d->dtype == r.wide) return op_compose_end(g, "uniform", x);
  x = op_cast(g, x, d->dtype);
  ir_ref reached = op_binary(g, IR_OP_GE, x, ir_float(g, d->dtype, high));
  return op_compose_end(g, "uniform",
                        op_where(g, reached, ir_float(g, d->dtype, next_below(high, d->dtype)), x));
}

/* erfinv of the midpoints of 2^digits equal intervals of (-1, 1): odd multiples of 2^-digits, which are
 * exact, never 0 and never 1. */
ir_ref op_normal(ir_graph *g, const op_draw *d, double mean, double std) {
  draw r;
  if (!draw_of(g, "normal", d, &r)) return 0;
  mean = round_to_dtype(mean, r.wide), std = round_to_dtype(std, r.wide);
  if (!(isfinite(mean) && std >= 0 && isfinite(std)))
    return op_refuse(g,
                     "normal: there is no distribution of mean %g and standard deviation %g; takes finite "
                     "numbers, std >= 0",
                     mean, std);
  int64_t span = (int64_t)1 << r.digits;
  ir_ref odd = op_add(g, op_binary(g, IR_OP_SHL, r.k, ir_int(g, r.whole, 1)), ir_int(g, r.whole, 1 - span));
  ir_ref x = op_unary(g, IR_OP_ERFINV, fraction(g, &r, odd));
  x = op_mul(g, x, ir_float(g, r.wide, 1.41421356237309504880));
  if (mean != 0 || std != 1) x = op_add(g, op_mul(g, x, ir_float(g, r.wide, std)), ir_float(g, r.wide, mean));
  return op_compose_end(g, "normal", op_cast(g, x, d->dtype));
}

ir_ref op_bernoulli(ir_graph *g, const op_draw *d, double p) {
  draw r;
  op_draw single = *d;
  single.dtype = IR_F32;
  if (!draw_of(g, "bernoulli", &single, &r)) return 0;
  if (!(p >= 0 && p <= 1)) return op_refuse(g, "bernoulli: p is %g; a probability lies in 0..1", p);
  ir_ref x = op_binary(g, IR_OP_LT, fraction(g, &r, r.k), ir_float(g, r.wide, p));
  return op_compose_end(g, "bernoulli", x);
}
