/* Every operation on every dtype, and every conversion, against a model written from the numeric contract: on
 * corner values and seeded random ones, as vectors and as scalars, for each set of features. Results are
 * bit-equal, NaNs as a class. */
#include <float.h>
#include <math.h>

#include "ir/elementary/elementary.h"
#include "test/lib/kernels.h"
#include "test/lib/unit.h"

enum { N = 2048, LANES = 16, MAX_EFFECTS = 40 };

static ir_graph *const g = &k_graph;

typedef struct column {
  ir_dtype type;
  uint8_t bytes[N * 8];
} column;

static uint64_t seed;
static uint64_t random64(void) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return seed;
}

/* values */

static ir_value get(const column *c, int i) {
  return ir_value_load(c->bytes + i * ir_dtypes[c->type].bytes, c->type);
}
static void put(column *c, int i, ir_value v) {
  ir_value_store(c->bytes + i * ir_dtypes[c->type].bytes, c->type, v);
}

#define BIT(n) (1ll << (n))

static ir_value corner(ir_dtype type, int k) {
  static const double reals[] = {0.0,        -0.0,
                                 1,          -1,
                                 0.5,        -0.5,
                                 1.5,        2.5,
                                 -2.5,       3,
                                 -7,         INFINITY,
                                 -INFINITY,  NAN,
                                 65504,      65520,
                                 65519.9375, -65536,
                                 0x1p-14,    0x1.ffcp-15,
                                 0x1p-24,    0x1p-25,
                                 0x1.8p-25,  0x1p-126,
                                 0x1p-149,   -0x1p-150,
                                 FLT_MAX,    0x1.ffp127,
                                 0x1p31,     2147483647.5,
                                 -0x1p31,    0x1p63,
                                 0x1p64,     0x1p63 - 1024,
                                 255.5,      -128.5,
                                 0x1p-1074,  DBL_MAX,
                                 8388607.5,  1 + DBL_EPSILON};
  static const int64_t ints[] = {
      0,         1,         -1,         2,         -2,        3,   7,    -7,  8,     15,     16,    31,
      32,        63,        64,         127,       -128,      128, 255,  256, 32767, -32768, 65535, 65536,
      INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN, 100, -100, 10,  2049,  2051};
  /* which are rounded as floats */
  static const int64_t long_ints[] = {BIT(24) + 1,  BIT(53) + 1,           BIT(60) + BIT(36) + 1,
                                      -BIT(40) - 1, BIT(60) + BIT(52) + 1, -BIT(62) - BIT(54) - 1};
  enum { INTS = sizeof ints / sizeof *ints };
  _Static_assert(sizeof reals / sizeof *reals == 40 && INTS + sizeof long_ints / sizeof *ints == 40,
                 "corners");
  if (ir_is_float(type)) return ir_value_cast((ir_value){.f = reals[k % 40]}, IR_F64, type);
  k %= 40;
  return ir_value_cast((ir_value){.i = k < INTS ? ints[k] : long_ints[k - INTS]}, IR_I64, type);
}

/* Random: half with random bits, half of moderate size; floats also halfway between adjacent values of
 * narrower formats. */
static ir_value anything(ir_dtype type) {
  uint64_t bits = random64();
  int kind = (int)(random64() % 4);
  if (!ir_is_float(type))
    return ir_value_cast((ir_value){.i = (int64_t)bits >> (random64() % 64)}, IR_I64, type);
  if (kind == 0) return ir_value_load(&bits, type);
  if (kind == 1) return ir_value_cast((ir_value){.f = (double)(int64_t)bits * 0x1p-60}, IR_F64, type);
  if (kind == 2) return ir_value_cast((ir_value){.f = (double)(int64_t)(bits % 4096) - 2048}, IR_F64, type);
  /* 13 significant bits: ties when rounded to 8 or 11 */
  double size = ldexp((double)(bits % 4096 + 4096), (int)(random64() % 60) - 40);
  double nudge = random64() % 3 == 0 ? 0 : ldexp(random64() % 2 ? 1 : -1, -(int)(random64() % 25) - 27);
  return ir_value_cast((ir_value){.f = (bits >> 63 ? -1 : 1) * (size + size * nudge)}, IR_F64, type);
}

static void fill(column *c, ir_dtype type, int role) {
  c->type = type;
  for (int i = 0; i < N; i++) {
    bool cross = i < 40 * 40;
    put(c, i, cross ? corner(type, role == 0 ? i / 40 : role == 1 ? i % 40 : i * 7 / 3) : anything(type));
  }
  if (role == 2)
    for (int i = 0; i < N; i += 3) put(c, i, anything(type));
}

/* the model: from the contract alone */

static ir_value real(double v) { return (ir_value){.f = v}; }
static ir_value integer(int64_t v) { return (ir_value){.i = v}; }
static ir_value rounded(ir_dtype type, double f32_or_f64) {
  return ir_value_cast(real(f32_or_f64), IR_F64, type);
}

static double least(double a, double b, bool greatest) {
  if (isnan(a) || isnan(b)) return NAN;
  if (a == b) return greatest == (bool)signbit(a) ? b : a;
  return (a < b) != greatest ? a : b;
}

/* NumPy's, in double for f64, else in float: % is the exact remainder, with the divisor's sign, and // is (a
 * - remainder) / b, rounded to an integer. */
#define MODEL_DIVIDE(name, type, f)                                                                          \
  static type name(bool want_quotient, type a, type b) {                                                     \
    type r = fmod##f(a, b), q = (a - r) / b;                                                                 \
    bool down = r != 0 && (r < 0) != (b < 0);                                                                \
    if (!want_quotient) return down ? r + b : r == 0 ? copysign##f(0, b) : r;                                \
    if (b == 0) return a / b;                                                                                \
    if (down) q -= 1;                                                                                        \
    return q == 0 ? copysign##f(0, a / b) : q - floor##f(q) > (type)0.5 ? floor##f(q) + 1 : floor##f(q);     \
  }
MODEL_DIVIDE(divide_wide, double, )
MODEL_DIVIDE(divide_single, float, f)

static ir_value model_real(ir_op op, ir_dtype type, double a, double b, double c) {
  if (type == IR_F64) {
    switch (op) {
    case IR_OP_ADD: return real(a + b);
    case IR_OP_SUB: return real(a - b);
    case IR_OP_MUL: return real(a * b);
    case IR_OP_DIV: return real(a / b);
    case IR_OP_FLOORDIV: return real(divide_wide(true, a, b));
    case IR_OP_MOD: return real(divide_wide(false, a, b));
    case IR_OP_FMA: return real(fma(a, b, c));
    case IR_OP_SQRT: return real(sqrt(a));
    default: break;
    }
  }
  float x = (float)a, y = (float)b, z = (float)c;
  switch (op) {
  case IR_OP_ADD: return rounded(type, x + y);
  case IR_OP_SUB: return rounded(type, x - y);
  case IR_OP_MUL: return rounded(type, x * y);
  case IR_OP_DIV: return rounded(type, x / y);
  case IR_OP_FLOORDIV: return rounded(type, divide_single(true, x, y));
  case IR_OP_MOD: return rounded(type, divide_single(false, x, y));
  case IR_OP_FMA: return rounded(type, fmaf(x, y, z));
  case IR_OP_SQRT: return rounded(type, sqrtf(x));
  case IR_OP_MIN: return real(least(a, b, false));
  case IR_OP_MAX: return real(least(a, b, true));
  case IR_OP_NEG: return real(-a);
  case IR_OP_ABS: return real(fabs(a));
  case IR_OP_FLOOR: return real(floor(a));
  case IR_OP_CEIL: return real(ceil(a));
  case IR_OP_TRUNC: return real(trunc(a));
  case IR_OP_ROUND: return real(nearbyint(a));
  default: fail_msg("no model of %s", ir_ops[op].text); return real(0);
  }
}

static int64_t model_divide(bool want_quotient, bool is_unsigned, int64_t a, int64_t b) {
  if (b == 0) return want_quotient ? 0 : a;
  if (is_unsigned) return (int64_t)(want_quotient ? (uint64_t)a / (uint64_t)b : (uint64_t)a % (uint64_t)b);
  if (b == -1) return want_quotient ? (int64_t)(0 - (uint64_t)a) : 0;
  int64_t q = a / b, r = a % b;
  if (r != 0 && (r < 0) != (b < 0)) q--, r += b;
  return want_quotient ? q : r;
}

/* The high or low half of the bits as a signed integer, by floor division. */
static uint64_t model_half(int64_t a, int bits, int high) {
  __int128 m = (__int128)1 << bits / 2, value = a, low = (value % m + m) % m;
  if (high) value = (value - low) / m, low = (value % m + m) % m;
  return (uint64_t)(int64_t)(low >= m / 2 ? low - m : low);
}

/* Sums the products of the quarters of the bits, unsigned of a and signed of b, by floor division. */
static uint64_t model_quarters(int64_t a, int64_t b, int bits) {
  __int128 m = (__int128)1 << bits / 4, x = a, y = b, sum = 0;
  for (int i = 0; i < 4; i++) {
    __int128 u = (x % m + m) % m, v = (y % m + m) % m;
    sum += u * (v >= m / 2 ? v - m : v), x = (x - u) / m, y = (y - v) / m;
  }
  return (uint64_t)sum;
}

static ir_value model_int(ir_op op, ir_dtype type, int64_t a, int64_t b, int64_t c) {
  bool is_unsigned = ir_dtypes[type].kind != IR_KIND_SIGNED,
       less = is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;
  int bits = type == IR_BOOL ? 1 : 8 * ir_dtypes[type].bytes;
  uint64_t x = (uint64_t)a, y = (uint64_t)b, r;
  bool negative = !is_unsigned && b < 0, wide = negative || y >= (uint64_t)bits;
  switch (op) {
  case IR_OP_ADD: r = type == IR_BOOL ? x | y : x + y; break;
  case IR_OP_SUB: r = x - y; break;
  case IR_OP_MUL: r = x * y; break;
  case IR_OP_FMA: r = type == IR_BOOL ? (x & y) | (uint64_t)c : x * y + (uint64_t)c; break;
  case IR_OP_FLOORDIV: r = (uint64_t)model_divide(true, is_unsigned, a, b); break;
  case IR_OP_MOD: r = (uint64_t)model_divide(false, is_unsigned, a, b); break;
  case IR_OP_MIN: r = less ? x : y; break;
  case IR_OP_MAX: r = less ? y : x; break;
  case IR_OP_AND: r = x & y; break;
  case IR_OP_OR: r = x | y; break;
  case IR_OP_XOR: r = x ^ y; break;
  case IR_OP_SHL: r = wide ? 0 : x << y; break;
  case IR_OP_DOT2:
    r = model_half(a, bits, 0) * model_half(b, bits, 0) + model_half(a, bits, 1) * model_half(b, bits, 1);
    break;
  case IR_OP_DOT4: r = model_quarters(a, b, bits); break;
  case IR_OP_SHR:
    r = negative ? 0 : is_unsigned ? (wide ? 0 : x >> y) : (uint64_t)(a >> (wide ? 63 : b));
    break;
  case IR_OP_NEG: r = 0 - x; break;
  case IR_OP_ABS: r = !is_unsigned && a < 0 ? 0 - x : x; break;
  case IR_OP_NOT: r = type == IR_BOOL ? !x : ~x; break;
  case IR_OP_FLOOR:
  case IR_OP_CEIL:
  case IR_OP_TRUNC:
  case IR_OP_ROUND: r = x; break;
  default: fail_msg("no model of %s", ir_ops[op].text); return integer(0);
  }
  return type == IR_BOOL ? integer(r & 1) : ir_value_cast(integer((int64_t)r), IR_I64, type);
}

static ir_value model_compare(ir_op op, ir_dtype type, ir_value a, ir_value b) {
  bool eq, lt, unordered = false;
  if (ir_is_float(type)) eq = a.f == b.f, lt = a.f < b.f, unordered = isnan(a.f) || isnan(b.f);
  else if (ir_dtypes[type].kind == IR_KIND_SIGNED) eq = a.i == b.i, lt = a.i < b.i;
  else eq = a.i == b.i, lt = (uint64_t)a.i < (uint64_t)b.i;
  switch (op) {
  case IR_OP_EQ: return integer(eq);
  case IR_OP_NE: return integer(!eq);
  case IR_OP_LT: return integer(lt);
  case IR_OP_LE: return integer(lt || eq);
  case IR_OP_GT: return integer(!lt && !eq && !unordered);
  default: return integer(!lt && !unordered);
  }
}

static ir_value model(ir_op op, ir_dtype type, ir_value a, ir_value b, ir_value c) {
  if (ir_ops[op].cls == IR_CLASS_COMPARE) return model_compare(op, type, a, b);
  return ir_is_float(type) ? model_real(op, type, a.f, b.f, c.f) : model_int(op, type, a.i, b.i, c.i);
}

/* running */

typedef struct batch {
  ir_ref index, params[MAX_EFFECTS + 3], effects[MAX_EFFECTS];
  uint32_t inputs, count;
  column *in[3];
  column *out[MAX_EFFECTS];
  ir_op ops[MAX_EFFECTS];
} batch;

static ir_ref loops(batch *b, bool vector) {
  ir_ref effects = ir_make(g, IR_OP_SEQ, IR_NONE, 0, b->effects, b->count);
  ir_ref block = k_range(g, ir_index(g, N / LANES), 0), lane = k_range(g, ir_index(g, LANES), 1);
  return k_loop(g, block, IR_SERIAL, k_loop(g, lane, vector ? IR_VECTOR : IR_SERIAL, effects));
}

/* Begins a batch over `inputs` columns, which are filled already; returns the loads. */
static void open_batch(batch *b, uint32_t inputs, ir_ref loads[3]) {
  ir_ref block = k_range(g, ir_index(g, N / LANES), 0), lane = k_range(g, ir_index(g, LANES), 1);
  b->index = k_sum(g, k_times(g, block, LANES), lane);
  b->inputs = inputs;
  b->count = 0;
  for (uint32_t i = 0; i < inputs; i++) {
    b->params[i] = k_param(g, b->in[i]->type, (int)i, N);
    loads[i] = k_load(g, b->params[i], b->index);
  }
}

static void add_output(batch *b, ir_op op, ir_ref value) {
  uint32_t slot = b->inputs + b->count;
  ir_dtype type = ir_dtype_of(g, value);
  b->params[slot] = k_param(g, type, (int)slot, N);
  b->effects[b->count] = k_store(g, b->params[slot], b->index, value);
  if (!b->out[b->count]) b->out[b->count] = malloc(sizeof(column));
  b->out[b->count]->type = type;
  b->ops[b->count++] = op;
}

static void run_batch(batch *b, bool vector, const ir_target *target) {
  k_code code = k_compile(g, k_kernel(g, loops(b, vector), b->params, b->inputs + b->count), target);
  void *buffers[MAX_EFFECTS + 4];
  int64_t status = 0;
  for (uint32_t i = 0; i < b->inputs; i++) buffers[i] = b->in[i]->bytes;
  for (uint32_t i = 0; i < b->count; i++) buffers[b->inputs + i] = memset(b->out[i]->bytes, 0xa5, N * 8);
  buffers[b->inputs + b->count] = &status;
  code.run(buffers, NULL, 0, 0, code.scratch);
}

static void free_columns(batch *b) {
  for (size_t i = 0; i < sizeof b->in / sizeof *b->in; i++) free(b->in[i]);
  for (size_t i = 0; i < sizeof b->out / sizeof *b->out; i++) free(b->out[i]);
  *b = (batch){0};
}

static void show(char *text, size_t size, ir_dtype type, ir_value v) {
  if (ir_is_float(type)) snprintf(text, size, "%a", v.f);
  else snprintf(text, size, "%lld", (long long)v.i);
}

static void same(const char *where, const char *what, ir_dtype from, ir_value a, ir_value b,
                 const column *out, int i, ir_value want) {
  ir_value got = get(out, i);
  column expected = {.type = out->type};
  put(&expected, 0, want);
  int bytes = ir_dtypes[out->type].bytes;
  if (ir_is_float(out->type) && isnan(got.f) && isnan(want.f)) return;
  if (!memcmp(expected.bytes, out->bytes + i * bytes, (size_t)bytes)) return;
  char text[4][64];
  show(text[0], 64, from, a), show(text[1], 64, from, b), show(text[2], 64, out->type, got),
      show(text[3], 64, out->type, want);
  fail_msg("%s: %s of %s: (%s, %s) gives %s, not %s", where, what, ir_dtypes[from].name, text[0], text[1],
           text[2], text[3]);
}

static bool has(ir_op op, ir_dtype type) {
  bool is_float = ir_is_float(type), is_bool = type == IR_BOOL;
  switch (op) {
  case IR_OP_ADD:
  case IR_OP_MUL:
  case IR_OP_MIN:
  case IR_OP_MAX: return true;
  case IR_OP_AND:
  case IR_OP_OR:
  case IR_OP_XOR:
  case IR_OP_NOT: return !is_float;
  case IR_OP_SHL:
  case IR_OP_SHR:
  case IR_OP_DOT2:
  case IR_OP_DOT4: return !is_float && !is_bool;
  case IR_OP_DIV:
  case IR_OP_SQRT: return is_float;
  case IR_OP_SUB:
  case IR_OP_FMA: return true;
  default: return !is_bool || ir_ops[op].cls == IR_CLASS_COMPARE;
  }
}

static void test_operations(void **state) {
  static const ir_op ops[] = {IR_OP_NEG,      IR_OP_ABS, IR_OP_SQRT, IR_OP_FLOOR, IR_OP_CEIL, IR_OP_TRUNC,
                              IR_OP_ROUND,    IR_OP_NOT, IR_OP_ADD,  IR_OP_SUB,   IR_OP_MUL,  IR_OP_DIV,
                              IR_OP_FLOORDIV, IR_OP_MOD, IR_OP_MIN,  IR_OP_MAX,   IR_OP_EQ,   IR_OP_NE,
                              IR_OP_LT,       IR_OP_LE,  IR_OP_GT,   IR_OP_GE,    IR_OP_AND,  IR_OP_OR,
                              IR_OP_XOR,      IR_OP_SHL, IR_OP_SHR,  IR_OP_FMA,   IR_OP_DOT2, IR_OP_DOT4};
  static batch b;
  for (int k = 0; k < 3; k++)
    if (!b.in[k]) b.in[k] = malloc(sizeof(column));
  for (ir_dtype type = IR_BOOL; type <= IR_F64; type++) {
    seed = 88172645463325252u + type;
    for (int k = 0; k < 3; k++) fill(b.in[k], type, k);
    K_SOME_TARGETS(t)
    for (int vector = 0; vector < 2; vector++) {
      k_begin();
      ir_ref x[3];
      open_batch(&b, 3, x);
      for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        if (!has(ops[k], type)) continue;
        ir_dtype result = ir_ops[ops[k]].cls == IR_CLASS_COMPARE ? IR_BOOL : type;
        ir_ref made = ir_make(g, ops[k], result, 0, x, (uint32_t)ir_ops[ops[k]].operands);
        add_output(&b, ops[k], ir_elementary(g, made));
      }
      run_batch(&b, vector, &t.target);
      for (uint32_t e = 0; e < b.count; e++)
        for (int i = 0; i < N; i++) {
          ir_value v[3] = {get(b.in[0], i), get(b.in[1], i), get(b.in[2], i)};
          same(t.name, ir_ops[b.ops[e]].text, type, v[0], v[1], b.out[e], i,
               model(b.ops[e], type, v[0], v[1], v[2]));
        }
    }
  }
  free_columns(&b);
}

/* Division and shifts by constants have their own paths in the code generator. */
static void test_constants(void **state) {
  static const ir_op ops[] = {IR_OP_FLOORDIV, IR_OP_MOD, IR_OP_SHL, IR_OP_SHR};
  static const int64_t constants[] = {0, 1, -1, 3, -7, 8, 200};
  static batch b;
  if (!b.in[0]) b.in[0] = malloc(sizeof(column));
  for (ir_dtype type = IR_I8; type <= IR_U64; type++) {
    seed = 362436069u + type;
    fill(b.in[0], type, 1);
    K_SOME_TARGETS(t)
    for (int vector = 0; vector < 2; vector++) {
      k_begin();
      ir_ref x[3];
      open_batch(&b, 1, x);
      for (int o = 0; o < 4; o++)
        for (int c = 0; c < 7; c++)
          add_output(&b, ops[o], ir_binary(g, ops[o], x[0], ir_int(g, type, constants[c])));
      run_batch(&b, vector, &t.target);
      for (uint32_t e = 0; e < b.count; e++)
        for (int i = 0; i < N; i++) {
          ir_value v = get(b.in[0], i), c = ir_value_cast(integer(constants[e % 7]), IR_I64, type);
          same(t.name, ir_ops[b.ops[e]].text, type, v, c, b.out[e], i, model(b.ops[e], type, v, c, c));
        }
    }
  }
  free_columns(&b);
}

static void test_conversions(void **state) {
  static batch b;
  if (!b.in[0]) b.in[0] = malloc(sizeof(column));
  for (ir_dtype from = IR_BOOL; from <= IR_F64; from++) {
    seed = 521288629u + from;
    fill(b.in[0], from, 2);
    K_SOME_TARGETS(t)
    for (int vector = 0; vector < 2; vector++) {
      k_begin();
      ir_ref x[3];
      open_batch(&b, 1, x);
      for (ir_dtype to = IR_BOOL; to <= IR_F64; to++)
        add_output(&b, IR_OP_CAST, to == from ? x[0] : ir_make(g, IR_OP_CAST, to, 0, x, 1));
      for (ir_dtype to = IR_I8; to <= IR_F64; to++)
        if (from != IR_BOOL && ir_dtypes[to].bytes == ir_dtypes[from].bytes)
          add_output(&b, IR_OP_BITCAST, ir_make(g, IR_OP_BITCAST, to, 0, x, 1));
      run_batch(&b, vector, &t.target);
      for (uint32_t e = 0; e < b.count; e++)
        for (int i = 0; i < N; i++) {
          ir_dtype to = b.out[e]->type;
          ir_value v = get(b.in[0], i), want = ir_value_cast(v, from, to);
          if (b.ops[e] == IR_OP_BITCAST) want = ir_value_load(b.in[0]->bytes + i * ir_dtypes[from].bytes, to);
          bool nan_bits = b.ops[e] == IR_OP_BITCAST && ir_is_float(from) && isnan(v.f);
          if (!nan_bits) same(t.name, ir_dtypes[to].name, from, v, v, b.out[e], i, want);
        }
    }
  }
  free_columns(&b);
}

/* Index expressions of every sign, as vectors (32 and 64 bits wide) and scalars, stored as data */
static void test_indices(void **state) {
  enum { OPS = 7 };
  static batch b;
  K_EACH_TARGET(t)
  for (int vector = 0; vector < 2; vector++)
    for (int huge = 0; huge < 2; huge++) {
      k_begin();
      ir_ref none[3];
      open_batch(&b, 0, none);
      int64_t scale = huge ? 3000000001 : 3;
      ir_ref i = k_sum(g, k_times(g, k_sum(g, b.index, ir_index(g, -N / 2)), scale), ir_index(g, 5));
      ir_ref d[] = {ir_index(g, 8), ir_index(g, 7),
                    k_sum(g, ir_make(g, IR_OP_MOD, IR_INDEX, 0, (ir_ref[]){b.index, ir_index(g, 11)}, 2),
                          ir_index(g, 1))};
      for (int k = 0; k < 3; k++) {
        add_output(&b, IR_OP_FLOORDIV,
                   ir_make(g, IR_OP_CAST, IR_I64, 0,
                           (ir_ref[]){ir_make(g, IR_OP_FLOORDIV, IR_INDEX, 0, (ir_ref[]){i, d[k]}, 2)}, 1));
        add_output(&b, IR_OP_MOD,
                   ir_make(g, IR_OP_CAST, IR_I64, 0,
                           (ir_ref[]){ir_make(g, IR_OP_MOD, IR_INDEX, 0, (ir_ref[]){i, d[k]}, 2)}, 1));
      }
      ir_ref inside = ir_binary(g, IR_OP_LT, i, ir_index(g, 100));
      ir_ref chosen = ir_make(
          g, IR_OP_WHERE, IR_INDEX, 0,
          (ir_ref[]){inside, ir_make(g, IR_OP_MAX, IR_INDEX, 0, (ir_ref[]){i, ir_index(g, -50)}, 2), b.index},
          3);
      add_output(&b, IR_OP_WHERE, ir_make(g, IR_OP_CAST, IR_F32, 0, &chosen, 1));
      run_batch(&b, vector, &t.target);
      for (int k = 0; k < N; k++) {
        int64_t v = (int64_t)(k - N / 2) * scale + 5, div[] = {8, 7, k % 11 + 1};
        for (int e = 0; e < 3; e++) {
          same(t.name, "//", IR_I64, integer(v), integer(div[e]), b.out[2 * e], k,
               integer(model_divide(true, false, v, div[e])));
          same(t.name, "%", IR_I64, integer(v), integer(div[e]), b.out[2 * e + 1], k,
               integer(model_divide(false, false, v, div[e])));
        }
        same(t.name, "where", IR_I64, integer(v), integer(0), b.out[6], k,
             real((float)(v < 100 ? (v > -50 ? v : -50) : k)));
      }
    }
  free_columns(&b);
}

static double half_of(ir_value word, bool high) {
  uint64_t bits = (uint64_t)word.i >> (high ? 16 : 0) & 0xffff;
  return ir_value_load(&bits, IR_BF16).f;
}

static bool is_subnormal(double v) { return v != 0 && fabs(v) < 0x1p-126; }

/* Two words of bf16: the products of both halves are added one after the other, those of the upper halves
 * first, as fma of f32 adds them. Where an operand or a sum is subnormal an instruction may take it as 0. */
static void test_words(void **state) {
  static batch b;
  for (int k = 0; k < 3; k++) {
    if (!b.in[k]) b.in[k] = malloc(sizeof(column));
    b.in[k]->type = k < 2 ? IR_U32 : IR_F32;
    for (int i = 0; i < N; i++) {
      ir_value high = k < 2 ? ir_value_cast(anything(IR_F32), IR_F32, IR_BF16) : anything(IR_F32);
      ir_value low = i < 40 ? corner(IR_BF16, i + k) : ir_value_cast(anything(IR_F32), IR_F32, IR_BF16);
      uint16_t half[2];
      ir_value_store(&half[0], IR_BF16, low), ir_value_store(&half[1], IR_BF16, high);
      put(b.in[k], i, k < 2 ? integer((int64_t)((uint32_t)half[1] << 16 | half[0])) : high);
    }
  }
  K_SOME_TARGETS(t)
  for (int vector = 0; vector < 2; vector++) {
    k_begin();
    ir_ref x[3];
    open_batch(&b, 3, x);
    add_output(&b, IR_OP_FMA2, ir_make(g, IR_OP_FMA2, IR_F32, 0, x, 3));
    run_batch(&b, vector, &t.target);
    for (int i = 0; i < N; i++) {
      float sum = (float)get(b.in[2], i).f;
      bool small = is_subnormal(sum), large = false;
      for (int high = 1; high >= 0; high--) {
        double p = half_of(get(b.in[0], i), high), q = half_of(get(b.in[1], i), high);
        sum = fmaf((float)p, (float)q, sum);
        small |= is_subnormal(p) || is_subnormal(q) || is_subnormal(sum) || is_subnormal(p * q);
        large |= fabs(p * q) > FLT_MAX; /* which is infinite where there is no fma */
      }
      if (!small && (!large || t.target.has_fma))
        same(t.name, "fma2", IR_U32, get(b.in[0], i), get(b.in[1], i), b.out[0], i, real(sum));
    }
  }
  free_columns(&b);
}

UNIT_TESTS_EACH(k_enter, k_leave, test_operations, test_constants, test_conversions, test_words, test_indices)
