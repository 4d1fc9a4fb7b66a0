/* Casts of which one end is a float: compiled for several sets of features, as scalars and as vectors of
 * several lengths, against what long double says, which holds every operand exactly. All f16 and bf16; f32
 * and f64 about the ends of all ranges of integers, about what lies halfway between adjacent narrow floats,
 * and random ones; integers about what lies halfway between adjacent floats of each format. */
#include <math.h>

#include "runtime/cpu/target.h"
#include "test/lib/kernels.h"
#include "test/lib/level.h"
#include "test/lib/unit.h"

enum { NARROW = 1 << 16, MAX_POINTS = 4 * NARROW, DTYPES = IR_F64 + 1 };

static ir_graph *const g = &k_graph;

static uint64_t seed = 88172645463325252u;
static uint64_t random64(void) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return seed;
}

/* formats: value of a float's bits, and the bits of the nearest float */

typedef struct format {
  int bits, fraction, bias;
} format;
static format format_of(ir_dtype dtype) {
  switch (dtype) {
  case IR_F16: return (format){16, 10, 15};
  case IR_BF16: return (format){16, 7, 127};
  case IR_F32: return (format){32, 23, 127};
  default: return (format){64, 52, 1023};
  }
}

static long double float_of(ir_dtype dtype, uint64_t bits) {
  format f = format_of(dtype);
  uint64_t significand = bits & (((uint64_t)1 << f.fraction) - 1);
  int exponent = (int)(bits >> f.fraction) & ((1 << (f.bits - 1 - f.fraction)) - 1);
  bool special = exponent == 2 * f.bias + 1;
  long double size =
      special && significand ? (long double)NAN
      : special              ? (long double)INFINITY
                : ldexpl((long double)(exponent ? significand | (uint64_t)1 << f.fraction : significand),
                         (exponent ? exponent : 1) - f.bias - f.fraction);
  return bits >> (f.bits - 1) & 1 ? -size : size;
}

/* Halfway between a float and the next one; what follows the greatest float is the power of two. */
static long double halfway(ir_dtype dtype, uint64_t bits) {
  long double here = float_of(dtype, bits), before = float_of(dtype, bits - 1),
              next = float_of(dtype, bits + 1);
  return isinf(next) ? here + (here - before) / 2 : here + (next - here) / 2;
}

/* The bits of the nearest float: the size in units of its last place, rounded to an integer, added to the
 * exponent below, so that a carry goes into the exponent */
static uint64_t nearest(ir_dtype dtype, long double x) {
  format f = format_of(dtype);
  uint64_t sign = (uint64_t)(signbit(x) != 0) << (f.bits - 1);
  uint64_t infinity = (uint64_t)(2 * f.bias + 1) << f.fraction;
  if (isnan(x)) return infinity + 1;
  if (isinf(x)) return sign | infinity;
  long double size = fabsl(x);
  int exponent = size < ldexpl(1, 1 - f.bias) ? 1 - f.bias : ilogbl(size);
  uint64_t units = (uint64_t)rintl(ldexpl(size, f.fraction - exponent));
  if (exponent > f.bias) return sign | infinity;
  uint64_t bits = ((uint64_t)(exponent + f.bias - 1) << f.fraction) + units;
  return sign | (bits < infinity ? bits : infinity);
}

/* The ends of an integer's range */
static long double least_of(ir_dtype dtype) {
  return ir_dtypes[dtype].kind == IR_KIND_SIGNED ? -ldexpl(1, 8 * ir_dtypes[dtype].bytes - 1) : 0;
}
static long double greatest_of(ir_dtype dtype) {
  return least_of(dtype) + ldexpl(1, 8 * ir_dtypes[dtype].bytes) - 1;
}

/* The bits of x as dtype */
static uint64_t cast(long double x, ir_dtype dtype) {
  if (dtype == IR_BOOL) return x != 0;
  if (ir_is_float(dtype)) return nearest(dtype, x);
  if (isnan(x)) return 0;
  x = truncl(fminl(fmaxl(x, least_of(dtype)), greatest_of(dtype)));
  return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

/* operands */

typedef struct column {
  ir_dtype dtype;
  int count;
  uint8_t *elements;
} column;

static void put(column *c, uint64_t bits) {
  int bytes = ir_dtypes[c->dtype].bytes;
  assert_true(c->count < MAX_POINTS);
  memcpy(c->elements + c->count++ * bytes, &bits, (size_t)bytes);
}
static uint64_t get(const column *c, int i) {
  uint64_t bits = 0;
  int bytes = ir_dtypes[c->dtype].bytes;
  memcpy(&bits, c->elements + i * bytes, (size_t)bytes);
  return bits;
}
static long double value_of(const column *c, int i) {
  uint64_t bits = get(c, i);
  if (ir_is_float(c->dtype)) return float_of(c->dtype, bits);
  int unused = 64 - 8 * ir_dtypes[c->dtype].bytes;
  return ir_dtypes[c->dtype].kind == IR_KIND_SIGNED ? (long double)((int64_t)(bits << unused) >> unused)
                                                    : (long double)bits;
}

/* x and its neighbours, of both signs */
static void put_about(column *c, long double x) {
  uint64_t bits = nearest(c->dtype, x), sign = (uint64_t)1 << (8 * ir_dtypes[c->dtype].bytes - 1);
  for (int step = bits ? -1 : 0; step <= 1; step++)
    put(c, bits + (uint64_t)step), put(c, (bits + (uint64_t)step) | sign);
}

/* About halfway between narrow floats, of which `quarter` (0 to 3) says a quarter */
static void put_halfway(column *c, ir_dtype narrow, int quarter) {
  uint64_t infinity = nearest(narrow, (long double)INFINITY);
  for (uint64_t bits = 1 + (uint64_t)quarter; bits < infinity; bits += 4) {
    uint64_t middle = nearest(c->dtype, halfway(narrow, bits)), sign = (uint64_t)(bits >> 2 & 1)
                                                                       << (8 * ir_dtypes[c->dtype].bytes - 1);
    for (int step = -1; step <= 1; step++) put(c, (middle + (uint64_t)step) | sign);
  }
}

static void fill_floats(column *c) {
  for (int k = 0; k <= 64; k++)
    for (int half = -2; half <= 2; half++) put_about(c, fabsl(ldexpl(1, k) + 0.5L * half));
  for (ir_dtype narrow = IR_F16; narrow <= IR_BF16; narrow++)
    for (int quarter = 0; quarter < 4; quarter += level_step(4)) put_halfway(c, narrow, quarter);
  while (c->count % NARROW) put(c, random64() >> (64 - 8 * ir_dtypes[c->dtype].bytes));
}

/* Each is halfway between floats of 8, 11, 24 or 53 digits, or one beside. */
static void fill_integers(column *c) {
  static const int digits[] = {8, 11, 24, 53};
  int bits = 8 * ir_dtypes[c->dtype].bytes;
  while (bits > digits[0] && c->count < NARROW / 2) {
    int of = digits[random64() % 4];
    if (of >= bits) continue;
    uint64_t halves = (uint64_t)1 << of | random64() >> (64 - of) | 1; /* `of` digits and a half */
    uint64_t at = (halves << random64() % (uint64_t)(bits - of)) + random64() % 3 - 1;
    put(c, random64() % 2 ? at : 0 - at);
  }
  while (c->count < NARROW) put(c, random64() >> random64() % 64);
}

static void fill(column *c, ir_dtype dtype) {
  *c = (column){.dtype = dtype, .elements = unit_keep(malloc((size_t)MAX_POINTS * 8), free)};
  if (ir_dtypes[dtype].bytes == 2)
    for (uint32_t i = 0; i < NARROW; i++) put(c, i);
  else if (ir_is_float(dtype)) fill_floats(c);
  else fill_integers(c);
}

/* kernels */

static bool is_cast(ir_dtype from, ir_dtype to) {
  return to != from && (ir_is_float(from) || ir_is_float(to));
}

static ir_ref kernel_of(ir_dtype from, int64_t count, int lanes, uint32_t targets) {
  ir_ref params[DTYPES + 1] = {k_param(g, from, 0, count)}, stores[DTYPES];
  ir_ref block = k_range(g, ir_index(g, count / lanes), 0), lane = k_range(g, ir_index(g, lanes), 1);
  ir_ref at = k_sum(g, k_times(g, block, lanes), lane), x = k_load(g, params[0], at);
  uint32_t n = 0;
  for (ir_dtype to = IR_BOOL; to <= IR_F64; to++) {
    if (!(targets >> to & 1)) continue;
    params[n + 1] = k_param(g, to, (int)n + 1, count);
    stores[n] = k_store(g, params[n + 1], at, ir_make(g, IR_OP_CAST, to, 0, &x, 1));
    n++;
  }
  ir_ref effects = ir_make(g, IR_OP_SEQ, IR_NONE, 0, stores, n);
  ir_ref loop = k_loop(g, block, IR_SERIAL, k_loop(g, lane, lanes > 1 ? IR_VECTOR : IR_SERIAL, effects));
  return k_kernel(g, loop, params, n + 1);
}

static uint32_t casts_of(ir_dtype from) {
  uint32_t targets = 0;
  for (ir_dtype to = IR_BOOL; to <= IR_F64; to++)
    if (is_cast(from, to)) targets |= 1u << to;
  return targets;
}

/* Targets of k_target_at, and AVX-512 without the conversions of 64-bit integers, where this processor has
 * it */
static bool target_at(int index, k_target *t) {
  if (index > 0) return k_target_at(index - 1, t);
  ir_error error = {0};
  k_target_at(0, t);
  if (t->target.vector_bytes < 64) return target_at(1, t);
  t->name = "AVX-512F";
  assert_int_equal(
      rt_target_override(&t->target, "features=+avx512f,+avx512bw,+avx512vl,+fma,+f16c,+bmi,+bmi2", &error),
      IR_OK);
  return true;
}

static void compare(const char *name, int lanes, const column *x, const column *out, const column *want) {
  bool is_float = ir_is_float(out->dtype);
  for (int i = 0; i < x->count; i++) {
    uint64_t got = get(out, i), expected = get(want, i);
    if (got == expected) continue;
    if (is_float && isnan(float_of(out->dtype, got)) && isnan(float_of(out->dtype, expected))) continue;
    fail_msg("%s, %d lanes: %s of %s %La gives %#llx, not %#llx", name, lanes, ir_dtypes[out->dtype].name,
             ir_dtypes[x->dtype].name, value_of(x, i), (unsigned long long)got, (unsigned long long)expected);
  }
}

static void run(const k_target *t, int lanes, const column *x, uint32_t targets, column *out,
                const column *want) {
  k_begin();
  k_code code = k_compile(g, kernel_of(x->dtype, x->count, lanes, targets), &t->target);
  void *buffers[DTYPES + 2] = {x->elements};
  int64_t status = 0;
  int n = 1;
  for (int to = 0; to < DTYPES; to++)
    if (targets >> to & 1)
      buffers[n++] = memset(out[to].elements, 0xa5, (size_t)x->count * (size_t)ir_dtypes[to].bytes);
  buffers[n] = &status;
  code.run(buffers, NULL, 0, 0, code.scratch);
  for (int to = 0; to < DTYPES; to++)
    if (targets >> to & 1) compare(t->name, lanes, x, &out[to], &want[to]);
}

static void test_values(void **state) {
  static const int lanes[] = {1, 2, 4, 8, 16, 64};
  enum { LANES = sizeof lanes / sizeof *lanes };
  int step = level_step(LANES);
  for (ir_dtype from = IR_I8; from <= IR_F64; from++) {
    column x, out[DTYPES], want[DTYPES];
    uint32_t targets = casts_of(from);
    fill(&x, from);
    for (ir_dtype to = IR_BOOL; to <= IR_F64; to++) {
      if (!(targets >> to & 1)) continue;
      out[to] = want[to] = (column){.dtype = to, .count = 0};
      out[to].elements = unit_keep(malloc((size_t)x.count * 8), free);
      want[to].elements = unit_keep(malloc((size_t)x.count * 8), free);
      for (int i = 0; i < x.count; i++) put(&want[to], cast(value_of(&x, i), to));
    }
    k_target t;
    for (int number = 0; target_at(number, &t); number++)
      for (int k = 0; k < LANES; k++)
        if ((k + number + (int)from) % step == 0) run(&t, lanes[k], &x, targets, out, want);
  }
}

/* No element of a vector is converted alone, but 64 bits where vectors have two of them. */
static void test_code(void **state) {
  static const char *const alone[] = {"cvttss2", "cvttsd2", "cvtsi2s", "cvtusi2s"};
  k_target t;
  for (int number = 0; target_at(number, &t); number++)
    for (ir_dtype from = IR_I8; from <= IR_F64; from++) {
      uint32_t targets = casts_of(from);
      if (t.target.vector_bytes == 16) targets &= ~(1u << IR_I64 | 1u << IR_U64);
      if (t.target.vector_bytes == 16 && (from == IR_I64 || from == IR_U64)) continue;
      k_begin();
      char *text = k_text(g, kernel_of(from, 64, 16, targets), &t.target, CG_ASM);
      for (size_t k = 0; k < sizeof alone / sizeof *alone; k++)
        if (strstr(text, alone[k]))
          fail_msg("%s: casts of %s use %s", t.name, ir_dtypes[from].name, alone[k]);
      free(text);
    }
}

UNIT_TESTS_EACH(k_enter, k_leave, test_values, test_code)
